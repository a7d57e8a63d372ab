//! `~historyRollup`: dense statistics per interval (oBIX specification §10.5).

use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;

use super::filter::Filter;
use super::href;
use crate::model::{History, HistoryRecord, PointKind};
use crate::obix::element::Element;
use crate::obix::error::ObixError;
use crate::obix::scope::Scope;
use crate::obix::time::{abstime, real_text};

/// Intervals of one answer; a year of quarter hours has 35,136.
const BUCKET_LIMIT: i64 = 100_000;

/// Statistics of one interval; without samples all are zero.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bucket {
    start: DateTime<Utc>,
    end: DateTime<Utc>,
    count: usize,
    min: f64,
    max: f64,
    sum: f64,
}

impl Bucket {
    fn empty(start: DateTime<Utc>, end: DateTime<Utc>) -> Self {
        Self {
            start,
            end,
            count: 0,
            min: 0.0,
            max: 0.0,
            sum: 0.0,
        }
    }

    fn add(&mut self, number: f64) {
        self.min = if self.count == 0 {
            number
        } else {
            self.min.min(number)
        };
        self.max = if self.count == 0 {
            number
        } else {
            self.max.max(number)
        };
        self.sum += number;
        self.count += 1;
    }

    fn average(&self) -> f64 {
        if self.count == 0 {
            0.0
        } else {
            self.sum / self.count as f64
        }
    }

    fn record(&self, zone: Tz) -> Element {
        let mut record = Element::new("obj")
            .with_child(abstime(Some(self.start), zone).with_name("start"))
            .with_child(abstime(Some(self.end), zone).with_name("end"))
            .with_child(Element::value("int", "count", self.count.to_string()));
        record.children.extend(
            [
                ("min", self.min),
                ("max", self.max),
                ("avg", self.average()),
                ("sum", self.sum),
            ]
            .map(|(name, number)| Element::value("real", name, real_text(number))),
        );
        record
    }
}

/// One record per interval from the start of the range, empty intervals included.
///
/// # Errors
/// For histories that hold no numbers, and for more intervals than one answer carries.
pub fn answer(
    scope: &Scope<'_>,
    history: &History,
    filter: &Filter,
    interval: i64,
) -> Result<Element, ObixError> {
    if history.kind != PointKind::Numeric {
        return Err(ObixError::Failed(format!(
            "Invalid rollup: {} holds no numbers",
            history.id
        )));
    }
    let bounds = history.bounds(scope.now);
    let start = filter.start.or(bounds.map(|(first, _)| first));
    let end = filter.end.or(bounds.map(|(_, last)| last));
    let buckets = match (start, end) {
        (Some(start), Some(end)) if start <= end => {
            let records = filter.records(history, scope.now);
            buckets(&records, start, end, interval).ok_or_else(|| {
                ObixError::Failed(format!(
                    "Invalid interval: more than {BUCKET_LIMIT} intervals"
                ))
            })?
        }
        _ => Vec::new(),
    };
    let kept = buckets
        .get(..filter.limit.unwrap_or(usize::MAX).min(buckets.len()))
        .unwrap_or_default();
    let zone = history.time_zone;
    let mut data = Element::named("list", "data").with("of", "obix:HistoryRollupRecord");
    data.children
        .extend(kept.iter().map(|bucket| bucket.record(zone)));
    let first = kept.first().map(|bucket| bucket.start);
    let last = kept.last().map(|bucket| bucket.end);
    Ok(Element::new("obj")
        .with("href", format!("{}~historyRollup/", href(scope, history)))
        .with("is", "obix:HistoryQueryOut")
        .with_child(data)
        .with_child(Element::value("int", "count", kept.len().to_string()))
        .with_child(abstime(first, zone).with_name("start"))
        .with_child(abstime(last, zone).with_name("end")))
}

/// Intervals `[start, end)`, the last one with its end: which boundary a station counts in is not established. None for too
/// many of them.
fn buckets(
    records: &[HistoryRecord],
    start: DateTime<Utc>,
    end: DateTime<Utc>,
    interval: i64,
) -> Option<Vec<Bucket>> {
    let span = (end - start).num_milliseconds();
    let wanted = (span / interval) + i64::from(span % interval != 0);
    let wanted = wanted.max(1);
    if wanted > BUCKET_LIMIT {
        return None;
    }
    let edge = |index: i64| {
        let offset = TimeDelta::try_milliseconds(interval.checked_mul(index)?)?;
        start.checked_add_signed(offset)
    };
    let mut buckets = (0..wanted)
        .map(|index| Some(Bucket::empty(edge(index)?, edge(index + 1)?)))
        .collect::<Option<Vec<_>>>()?;
    for record in records {
        let offset = (record.timestamp - start).num_milliseconds();
        let index = (offset / interval).min(wanted - 1);
        let place = usize::try_from(index)
            .ok()
            .and_then(|index| buckets.get_mut(index));
        if let (Some(bucket), Some(number)) = (place, record.value.as_f64())
            && number.is_finite()
        {
            bucket.add(number);
        }
    }
    Some(buckets)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn two_days_of_hours_are_48_dense_intervals() {
        let start = at("2026-08-28T00:00:00Z");
        let end = at("2026-08-29T23:59:59Z");
        let records = [
            HistoryRecord::ok(start, 1.0),
            HistoryRecord::ok(at("2026-08-28T00:59:59Z"), 4.0),
            HistoryRecord::ok(at("2026-08-28T01:00:00Z"), f64::NAN),
            HistoryRecord::ok(at("2026-08-28T02:00:00Z"), -2.0),
            HistoryRecord::ok(end, 7.0),
        ];
        let buckets = buckets(&records, start, end, 3_600_000).unwrap();
        assert_eq!(buckets.len(), 48);
        let first = buckets[0];
        assert_eq!(
            (first.start, first.end),
            (start, at("2026-08-28T01:00:00Z"))
        );
        assert_eq!(
            (first.count, first.min, first.max, first.sum),
            (2, 1.0, 4.0, 5.0)
        );
        assert_eq!(first.average(), 2.5);
        assert_eq!(buckets[1].count, 0, "NaN is no sample");
        assert_eq!((buckets[2].min, buckets[2].max), (-2.0, -2.0));
        assert_eq!(buckets[47].sum, 7.0);
    }

    #[test]
    fn an_instant_is_one_interval_and_too_many_are_refused() {
        let now = at("2026-08-28T00:00:00Z");
        let one = buckets(&[HistoryRecord::ok(now, 3.0)], now, now, 1000).unwrap();
        assert_eq!((one.len(), one[0].count), (1, 1));
        assert!(buckets(&[], now, now + TimeDelta::days(400), 1).is_none());
        assert!(buckets(&[], now, now + TimeDelta::days(1), i64::MAX).is_none());
    }
}
