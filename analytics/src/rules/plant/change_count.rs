//! How often a stage or a valve changed (Plant rules §1.4).

use super::trend_interval::interval_minutes;
use crate::numeric::{nanos, share_of};
use crate::wall_clock::DAY;

/// Values this close to a whole number are one.
const WHOLE: f64 = 1e-6;

/// The changes of a trend.
#[derive(Debug, Clone, PartialEq)]
pub struct Changes {
    /// From the first to the last sample.
    pub span_days: f64,
    pub interval_min: Option<f64>,
    /// Samples part-way between two states.
    pub n_partial: usize,
    /// Greatest sample.
    pub largest: f64,
    /// When it changed, ascending; a change that took several samples at their first.
    pub stamps: Vec<i64>,
}

impl Changes {
    /// Changes of a stage while something runs before and after, values per row; none below two samples.
    pub fn of_stage(stamps: &[i64], stage: &[f64]) -> Option<Self> {
        let samples = samples(stamps, stage);
        let changed = level_changes(&samples, |before, after| before > 0.0 && after > 0.0);
        Self::over(&samples, count_between_levels(&samples), changed)
    }

    /// Changes of something with two states, 0 and 1, values per row; none below two samples.
    pub fn of_two_states(stamps: &[i64], state: &[f64]) -> Option<Self> {
        let samples = samples(stamps, state);
        if samples
            .iter()
            .any(|(_, value)| *value < -WHOLE || *value > 1.0 + WHOLE)
        {
            let changed = level_changes(&samples, |_, _| true);
            return Self::over(&samples, count_between_levels(&samples), changed);
        }
        let (n_partial, changed) = walk(&samples);
        Self::over(&samples, n_partial, changed)
    }

    fn over(samples: &[(i64, f64)], n_partial: usize, stamps: Vec<i64>) -> Option<Self> {
        let times: Vec<i64> = samples.iter().map(|(stamp, _)| *stamp).collect();
        let span = nanos(times.last()?.saturating_sub(*times.first()?));
        (span > 0.0).then(|| Self {
            span_days: span / nanos(DAY),
            interval_min: interval_minutes(&times),
            n_partial,
            largest: samples
                .iter()
                .map(|(_, value)| *value)
                .fold(f64::NEG_INFINITY, f64::max),
            stamps,
        })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.stamps.len()
    }

    /// Per day; a shorter trend is read as one day.
    pub fn per_day(&self) -> f64 {
        share_of(self.count()) / self.span_days.max(1.0)
    }

    /// What has to be said of a trend that is shorter than a day.
    pub fn short_trend_caveat(&self) -> Option<String> {
        (self.span_days < 1.0).then(|| {
            format!(
                "The trend covers {:.1} h; the rate is read as that of a whole day.",
                self.span_days * 24.0
            )
        })
    }
}

fn samples(stamps: &[i64], values: &[f64]) -> Vec<(i64, f64)> {
    stamps
        .iter()
        .zip(values)
        .filter(|(_, value)| !value.is_nan())
        .map(|(stamp, value)| (*stamp, *value))
        .collect()
}

fn level_changes(samples: &[(i64, f64)], counts: impl Fn(f64, f64) -> bool) -> Vec<i64> {
    samples
        .iter()
        .zip(samples.iter().skip(1))
        .map(|((_, before), (stamp, after))| {
            (*stamp, before.round_ties_even(), after.round_ties_even())
        })
        .filter(|(_, before, after)| before != after && counts(*before, *after))
        .map(|(stamp, ..)| stamp)
        .collect()
}

fn count_between_levels(samples: &[(i64, f64)]) -> usize {
    samples
        .iter()
        .filter(|(_, value)| (value - value.round_ties_even()).abs() > WHOLE)
        .count()
}

/// The number of part-way samples, and the fewest changes that lead through them.
fn walk(samples: &[(i64, f64)]) -> (usize, Vec<i64>) {
    let mut n_partial = 0;
    let mut changed = Vec::new();
    let mut last_state = None;
    let mut part_way_since = None;
    for (stamp, value) in samples {
        let is_whole = *value <= WHOLE || *value >= 1.0 - WHOLE;
        if !is_whole {
            n_partial += 1;
            part_way_since.get_or_insert(*stamp);
            continue;
        }
        let state = *value >= 0.5;
        match (part_way_since.take(), last_state) {
            // There and back.
            (Some(since), Some(last)) if last == state => changed.extend([since, *stamp]),
            (Some(since), _) => changed.push(since),
            (None, Some(last)) if last != state => changed.push(*stamp),
            (None, _) => {}
        }
        last_state = Some(state);
    }
    changed.extend(part_way_since);
    (n_partial, changed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wall_clock::HOUR;

    fn two_states(values: &[f64]) -> (usize, usize) {
        let stamps: Vec<i64> = (0..)
            .take(values.len())
            .map(|row: i64| row * HOUR)
            .collect();
        let changes = Changes::of_two_states(&stamps, values).unwrap();
        (changes.count(), changes.n_partial)
    }

    #[test]
    fn part_way_samples_are_the_fewest_changes_through_them() {
        assert_eq!(two_states(&[1.0, 0.6, 1.0]), (2, 1));
        assert_eq!(two_states(&[1.0, 0.6, 0.3, 0.0]), (1, 2));
        assert_eq!(two_states(&[0.4, 1.0]), (1, 1));
        assert_eq!(two_states(&[1.0, 0.6]), (1, 1));
        assert_eq!(two_states(&[1.0, 0.0, 0.0, 1.0]), (2, 0));
        // No command of two states: every rounded level counts.
        assert_eq!(two_states(&[0.0, 2.0, 1.4, 1.0]), (2, 1));
    }

    #[test]
    fn a_stage_changes_only_while_it_runs() {
        let stamps: Vec<i64> = (0..6).map(|row| row * HOUR).collect();
        let changes = Changes::of_stage(&stamps, &[0.0, 1.0, 2.0, f64::NAN, 1.0, 0.0]).unwrap();
        assert_eq!((changes.count(), changes.largest), (2, 2.0));
        assert_eq!(changes.stamps, [2 * HOUR, 4 * HOUR]);
        assert_eq!(changes.per_day(), 2.0);
        assert!(changes.short_trend_caveat().unwrap().contains("5.0 h"));
        assert!(Changes::of_stage(&stamps[..1], &[1.0]).is_none());
    }
}
