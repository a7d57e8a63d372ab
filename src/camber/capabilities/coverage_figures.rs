//! How complete a point is: its interval, its share of the samples that it should have, its gaps (CAMBER core §12.3).

use std::collections::HashMap;

use crate::camber::python_text::rounded;
use crate::trends::store::StampRuns;
use crate::trends::store::wall_clock::HOUR;

/// What one pass over a point's samples leaves: enough for any window around them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PointSamples {
    pub count: u64,
    pub first: Option<i64>,
    pub last: Option<i64>,
    step: i64,
    /// Neighbours more than one and a half intervals apart.
    gaps: Vec<(i64, i64)>,
}

/// One gap within a window, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    pub start: i64,
    pub end: i64,
    pub missing: i128,
}

impl Gap {
    /// The missing time in hours.
    pub fn hours(self) -> f64 {
        self.missing as f64 / HOUR as f64
    }
}

/// The figures of one point within a window.
#[derive(Debug, Clone, PartialEq)]
pub struct PointCoverage {
    pub samples: PointSamples,
    /// 0 to 1, rounded to four decimals.
    pub coverage: f64,
    pub gaps: Vec<Gap>,
}

impl PointSamples {
    /// Counts the samples.
    pub fn of(stamps: &StampRuns) -> Self {
        let step = interval(stamps);
        // Neighbours further apart than 1.5 steps, in whole nanoseconds.
        let limit = step.saturating_add(step / 2);
        Self {
            count: stamps.len(),
            first: stamps.first(),
            last: stamps.last(),
            step,
            gaps: stamps.leaps(limit).collect(),
        }
    }

    /// The interval in minutes; none without samples.
    pub fn interval_minutes(&self) -> Option<f64> {
        /// Nanoseconds of a minute.
        const MINUTE: f64 = 60e9;
        (self.count > 0).then(|| rounded(self.step as f64 / MINUTE, 3))
    }

    /// The figures in the window from `start` to `end`; a missing bound is unknown.
    pub fn within(self, start: Option<i64>, end: Option<i64>) -> PointCoverage {
        let (Some(w0), Some(w1)) = (start, end) else {
            return PointCoverage {
                samples: self,
                coverage: 0.0,
                gaps: Vec::new(),
            };
        };
        let (Some(first), Some(last)) = (self.first, self.last) else {
            let gap = Gap {
                start: w0,
                end: w1,
                missing: between(w0, w1),
            };
            return PointCoverage {
                samples: self,
                coverage: 0.0,
                gaps: vec![gap],
            };
        };
        let step = i128::from(self.step);
        let expected = between(w0, w1).div_euclid(step) + 1;
        let share = self.count as f64 / expected.max(1) as f64;
        // Before the first and behind the last sample a window has a gap when more than half an interval is missing.
        let edge = |from: i64, to: i64| {
            let missing = between(from, to);
            (2 * (missing + step) > 3 * step).then_some(Gap {
                start: from,
                end: to,
                missing: missing.max(0),
            })
        };
        let inner = self.gaps.iter().map(|(from, to)| Gap {
            start: *from,
            end: *to,
            missing: between(*from, *to) - step,
        });
        let gaps = edge(w0, first)
            .into_iter()
            .chain(inner)
            .chain(edge(last, w1))
            .collect();
        PointCoverage {
            coverage: rounded(share.min(1.0), 4),
            gaps,
            samples: self,
        }
    }
}

impl PointCoverage {
    /// Hours of the longest gap, rounded to two decimals; 0 without gaps.
    pub fn longest_hours(&self) -> f64 {
        let longest = self.gaps.iter().map(|gap| gap.missing).max();
        longest.map_or(0.0, |missing| rounded(missing as f64 / HOUR as f64, 2))
    }
}

fn between(from: i64, to: i64) -> i128 {
    i128::from(to) - i128::from(from)
}

/// The most frequent difference of neighbours, the smallest of equally frequent ones; an hour for fewer than three samples.
fn interval(stamps: &StampRuns) -> i64 {
    if stamps.len() < 3 {
        return HOUR;
    }
    let mut counts: HashMap<i64, u64> = HashMap::new();
    for (difference, times) in stamps.differences() {
        *counts.entry(difference).or_default() += times;
    }
    counts
        .into_iter()
        .max_by(|(a, times_a), (b, times_b)| times_a.cmp(times_b).then(b.cmp(a)))
        .map(|(difference, _)| difference)
        .filter(|difference| *difference > 0)
        .unwrap_or(HOUR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trends::store::wall_clock::parse_bound;

    fn at(clock: &str) -> i64 {
        parse_bound(&format!("2024-03-01T{clock}")).unwrap()
    }

    fn judged(stamps: &[i64]) -> PointCoverage {
        PointSamples::of(&StampRuns::from_stamps(stamps.to_vec()))
            .within(Some(at("00:00")), Some(at("23:45")))
    }

    fn hours(found: &PointCoverage) -> Vec<f64> {
        found.gaps.iter().map(|gap| gap.hours()).collect()
    }

    #[test]
    fn nine_missing_quarters_are_a_gap() {
        let quarter = 15 * 60 * 1_000_000_000;
        let stamps: Vec<i64> = (0..96)
            .filter(|place| !(20..29).contains(place))
            .map(|place| at("00:00") + place * quarter)
            .collect();
        let found = judged(&stamps);
        assert_eq!(found.samples.interval_minutes(), Some(15.0));
        assert_eq!(found.coverage, 0.9062);
        assert_eq!(hours(&found), [2.25]);
        assert_eq!(
            (found.gaps[0].start, found.gaps[0].end),
            (at("04:45"), at("07:15"))
        );
        let wider = PointSamples::of(&StampRuns::from_stamps(stamps))
            .within(parse_bound("2024-02-29"), parse_bound("2024-03-02"));
        assert_eq!(wider.coverage, 0.4508);
        assert_eq!(hours(&wider), [24.0, 2.25, 0.25]);
    }

    #[test]
    fn few_samples_count_as_hourly() {
        let found = judged(&[at("01:00")]);
        assert_eq!(
            (found.samples.interval_minutes(), found.coverage),
            (Some(60.0), 0.0417)
        );
        assert_eq!(hours(&found), [1.0, 22.75]);
        assert_eq!(judged(&[at("01:00"), at("02:00")]).coverage, 0.0833);
    }

    #[test]
    fn a_tie_of_intervals_goes_to_the_smaller() {
        let stamps = ["01:00", "02:00", "02:30", "03:30", "04:00", "15:00"].map(at);
        let found = judged(&stamps);
        assert_eq!(found.samples.interval_minutes(), Some(30.0));
        assert_eq!((found.coverage, found.gaps.len()), (0.125, 5));
        assert_eq!(found.longest_hours(), 10.5);
    }

    #[test]
    fn the_end_of_the_window_counts_too() {
        let stamps: Vec<i64> = (0..24).map(|hour| at("00:00") + hour * HOUR).collect();
        let found = judged(&stamps);
        assert_eq!((found.coverage, hours(&found)), (1.0, vec![0.75]));
    }

    #[test]
    fn a_point_without_samples_misses_the_whole_window() {
        let found = judged(&[]);
        assert_eq!(
            (found.coverage, found.samples.interval_minutes()),
            (0.0, None)
        );
        assert_eq!(hours(&found), [23.75]);
        let unknown = PointSamples::default().within(None, Some(at("01:00")));
        assert!(unknown.gaps.is_empty());
    }
}
