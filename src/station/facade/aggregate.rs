//! Aggregation of history samples on this side of the wire (Tool surface §8.9, §13.5.3).
//!
//! Only samples with a valid status and a finite number take part; what was left out is counted by reason.

use super::sample::{HistorySample, SampleValue};
use crate::station::status::StatusBits;

/// Samples that took no part, by the first reason that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Excluded {
    /// Status holds the null bit, or the record has no value.
    pub null: u64,
    /// Status holds disabled, fault, down or stale.
    pub fault: u64,
    /// The value is NaN or infinite.
    pub non_finite: u64,
    /// Trend flag `hidden`.
    pub hidden: u64,
}

/// Count, extremes and mean of the samples that took part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Samples that took part.
    pub used: u64,
    pub min: f64,
    pub max: f64,
    pub sum: f64,
}

impl Summary {
    fn of(value: f64) -> Self {
        Self {
            used: 1,
            min: value,
            max: value,
            sum: value,
        }
    }

    fn add(&mut self, value: f64) {
        self.used += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum += value;
    }

    /// Sum over the samples that took part.
    pub fn average(&self) -> f64 {
        self.sum / self.used as f64
    }
}

/// A half-open interval `[start, start + length)` that holds at least one sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bucket {
    /// Epoch milliseconds of the interval's start.
    pub start_ms: i64,
    /// All samples of the interval.
    pub count: u64,
    /// None when no sample of the interval took part.
    pub summary: Option<Summary>,
}

/// Folds samples in any order into one summary and, when wanted, into buckets.
#[derive(Debug, Clone)]
pub struct Aggregator {
    from_ms: i64,
    bucket_ms: Option<i64>,
    count: u64,
    excluded: Excluded,
    summary: Option<Summary>,
    buckets: std::collections::BTreeMap<i64, Bucket>,
}

impl Aggregator {
    /// Buckets are aligned to `from_ms`; `bucket_seconds` must be at least 1.
    pub fn new(from_ms: i64, bucket_seconds: Option<u32>) -> Self {
        Self {
            from_ms,
            bucket_ms: bucket_seconds.map(|seconds| i64::from(seconds.max(1)) * 1000),
            count: 0,
            excluded: Excluded::default(),
            summary: None,
            buckets: std::collections::BTreeMap::new(),
        }
    }

    /// Takes one sample.
    pub fn add(&mut self, sample: &HistorySample) {
        self.count += 1;
        let value = self.usable(sample);
        if let Some(value) = value {
            merge(&mut self.summary, value);
        }
        if let Some(length) = self.bucket_ms {
            let offset = (sample.timestamp.timestamp_millis() - self.from_ms).div_euclid(length);
            let start_ms = self.from_ms + offset * length;
            let bucket = self.buckets.entry(start_ms).or_insert(Bucket {
                start_ms,
                count: 0,
                summary: None,
            });
            bucket.count += 1;
            if let Some(value) = value {
                merge(&mut bucket.summary, value);
            }
        }
    }

    fn usable(&mut self, sample: &HistorySample) -> Option<f64> {
        if let Some(status) = sample.status {
            if status.contains(StatusBits::NULL) {
                self.excluded.null += 1;
                return None;
            }
            if !status.is_valid() {
                self.excluded.fault += 1;
                return None;
            }
        }
        if sample.is_hidden() {
            self.excluded.hidden += 1;
            return None;
        }
        match sample.value {
            SampleValue::Number(number) if number.is_finite() => Some(number),
            SampleValue::Number(_) => {
                self.excluded.non_finite += 1;
                None
            }
            SampleValue::Boolean(flag) => Some(f64::from(u8::from(flag))),
            SampleValue::Missing => {
                self.excluded.null += 1;
                None
            }
            SampleValue::Enum { .. } | SampleValue::Text(_) => None,
        }
    }

    /// All samples taken.
    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn excluded(&self) -> Excluded {
        self.excluded
    }

    /// None when no sample took part.
    pub fn summary(&self) -> Option<Summary> {
        self.summary
    }

    /// Buckets in order of time; empty intervals are absent. None when no buckets were wanted.
    pub fn buckets(&self) -> Option<impl Iterator<Item = &Bucket>> {
        self.bucket_ms.map(|_| self.buckets.values())
    }
}

fn merge(summary: &mut Option<Summary>, value: f64) {
    match summary {
        Some(summary) => summary.add(value),
        None => *summary = Some(Summary::of(value)),
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    fn sample(seconds: i64, value: SampleValue, status: u32) -> HistorySample {
        HistorySample {
            timestamp: DateTime::from_timestamp(seconds, 0).unwrap().fixed_offset(),
            value,
            status: Some(StatusBits::new(status)),
            trend_flags: Vec::new(),
        }
    }

    fn folded(samples: &[HistorySample], bucket: Option<u32>) -> Aggregator {
        let mut aggregator = Aggregator::new(0, bucket);
        samples.iter().for_each(|sample| aggregator.add(sample));
        aggregator
    }

    #[test]
    fn three_good_values_give_the_documented_summary() {
        let values = [20.0, 22.0, 21.0].map(SampleValue::Number);
        let samples: Vec<_> = (0..)
            .zip(values)
            .map(|(at, value)| sample(at, value, 0))
            .collect();
        let aggregator = folded(&samples, None);
        let summary = aggregator.summary().unwrap();
        assert_eq!(
            (summary.min, summary.max, summary.sum, summary.average()),
            (20.0, 22.0, 63.0, 21.0)
        );
        assert_eq!(aggregator.count(), 3);
        assert!(aggregator.buckets().is_none());
    }

    #[test]
    fn bad_samples_are_counted_by_reason_and_change_nothing() {
        let mut hidden = sample(8, SampleValue::Number(1e9), 0);
        hidden.trend_flags.push("hidden".to_owned());
        let samples = [
            sample(1, SampleValue::Number(10.0), 0x08),
            sample(2, SampleValue::Number(1e9), 0x02),
            sample(3, SampleValue::Number(1e9), 0x14),
            sample(4, SampleValue::Number(1e9), 0x40),
            sample(5, SampleValue::Number(f64::NAN), 0),
            sample(6, SampleValue::Number(f64::INFINITY), 0),
            sample(7, SampleValue::Number(1e9), 0x01),
            hidden,
            sample(9, SampleValue::Missing, 0),
            sample(10, SampleValue::Text("x".into()), 0),
        ];
        let aggregator = folded(&samples, None);
        assert_eq!(
            aggregator.excluded(),
            Excluded {
                null: 2,
                fault: 3,
                non_finite: 2,
                hidden: 1
            }
        );
        let summary = aggregator.summary().unwrap();
        assert_eq!(
            (summary.used, summary.min, summary.max, summary.average()),
            (1, 10.0, 10.0, 10.0)
        );
        assert_eq!(aggregator.count(), 10);
    }

    #[test]
    fn buckets_are_half_open_aligned_and_skip_empty_intervals() {
        let samples = [
            sample(0, SampleValue::Boolean(true), 0),
            sample(59, SampleValue::Boolean(false), 0),
            sample(60, SampleValue::Boolean(true), 0),
            sample(200, SampleValue::Number(5.0), 0x40),
        ];
        let aggregator = folded(&samples, Some(60));
        let buckets: Vec<_> = aggregator.buckets().unwrap().copied().collect();
        assert_eq!(
            buckets
                .iter()
                .map(|b| (b.start_ms, b.count))
                .collect::<Vec<_>>(),
            [(0, 2), (60_000, 1), (180_000, 1)]
        );
        assert_eq!(buckets[0].summary.unwrap().average(), 0.5);
        assert!(buckets[2].summary.is_none());
    }
}
