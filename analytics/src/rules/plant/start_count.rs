//! How often a machine started, from its status or from the duties of intervals (Plant rules §1.3).

use std::collections::HashMap;

use super::trend_interval::interval_minutes;
use crate::numeric::{self, nanos, share_of};
use crate::wall_clock::DAY;

const MIN_SAMPLES: usize = 10;
/// Duties this close to 0 or 1 are off or on.
const WHOLE: f64 = 1e-6;
/// Gaps of more than so many steps were not observed.
const LONGEST_STEP: f64 = 3.0;

/// The starts of a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Starts {
    /// Per observed day, 2 decimals.
    pub per_day: f64,
    /// Share of the time it ran, 1 decimal.
    pub runtime_pct: f64,
    /// From the first to the last sample, at least 1; 1 decimal.
    pub days: f64,
    /// Without the gaps, at least 1; 1 decimal.
    pub days_observed: f64,
    pub interval_min: Option<f64>,
    /// Samples in which the machine ran for a part of the interval.
    pub n_partial: usize,
    /// When it started.
    pub stamps: Vec<i64>,
}

impl Starts {
    /// Counts the starts of a status per row, NaN where there is none; none below ten samples.
    pub fn of(stamps: &[i64], status: &[f64]) -> Option<Self> {
        let samples = duties(stamps, status);
        if samples.len() < MIN_SAMPLES {
            return None;
        }
        let (times, duties): (Vec<i64>, Vec<f64>) = samples.iter().copied().unzip();
        let observed = observed_days(&times);
        let started = started(&samples);
        Some(Self {
            per_day: numeric::round(share_of(started.len()) / observed, 2),
            runtime_pct: numeric::round(100.0 * numeric::mean(&duties), 1),
            days: numeric::round(span_days(&times), 1),
            days_observed: numeric::round(observed, 1),
            interval_min: interval_minutes(&times),
            n_partial: samples.iter().filter(|(_, duty)| is_partial(*duty)).count(),
            stamps: started,
        })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.stamps.len()
    }

    /// What has to be said when less than half of the period was observed.
    pub fn coverage_caveat(&self) -> Option<String> {
        (self.days_observed < 0.5 * self.days).then(|| {
            format!(
                "Only {} of {} days have samples ({:.0} %): the rate is that of the observed days.",
                self.days_observed,
                self.days,
                100.0 * self.days_observed / self.days
            )
        })
    }
}

/// The rows with a start on a day with at least `limit` starts; any number of samples will do.
pub fn starts_of_busy_days(stamps: &[i64], status: &[f64], limit: f64) -> Vec<bool> {
    let started = started(&duties(stamps, status));
    let mut per_day: HashMap<i64, usize> = HashMap::new();
    for stamp in &started {
        *per_day.entry(stamp.div_euclid(DAY)).or_default() += 1;
    }
    stamps
        .iter()
        .map(|stamp| {
            started.binary_search(stamp).is_ok()
                && per_day
                    .get(&stamp.div_euclid(DAY))
                    .is_some_and(|count| share_of(*count) >= limit)
        })
        .collect()
}

fn duties(stamps: &[i64], status: &[f64]) -> Vec<(i64, f64)> {
    stamps
        .iter()
        .zip(status)
        .filter(|(_, value)| !value.is_nan())
        .map(|(stamp, value)| (*stamp, value.clamp(0.0, 1.0)))
        .collect()
}

fn is_partial(duty: f64) -> bool {
    duty > WHOLE && duty < 1.0 - WHOLE
}

fn span_days(times: &[i64]) -> f64 {
    let span = match (times.first(), times.last()) {
        (Some(first), Some(last)) => nanos(last.saturating_sub(*first)),
        _ => 0.0,
    };
    (span / nanos(DAY)).max(1.0)
}

fn observed_days(times: &[i64]) -> f64 {
    let longest = LONGEST_STEP * numeric::median_step(times).unwrap_or(0.0);
    let observed: f64 = times
        .iter()
        .zip(times.iter().skip(1))
        .map(|(one, next)| nanos(next.saturating_sub(*one)))
        .filter(|step| *step > 0.0 && *step <= longest)
        .sum();
    (observed / nanos(DAY)).max(1.0)
}

/// The stamps at which the machine started, ascending.
fn started(samples: &[(i64, f64)]) -> Vec<i64> {
    if samples.iter().any(|(_, duty)| is_partial(*duty)) {
        return fewest_starts(samples);
    }
    let mut was_on = false;
    let mut started = Vec::new();
    for (stamp, duty) in samples {
        let is_on = *duty > 0.5;
        if is_on && !was_on {
            started.push(*stamp);
        }
        was_on = is_on;
    }
    started
}

/// How an interval may begin and end, and whether the machine then started within it.
type Course = (bool, bool, bool);

const OFF: &[Course] = &[(false, false, false)];
const ON: &[Course] = &[(true, true, false)];
/// In the order in which equal costs are settled.
const PART_WAY: &[Course] = &[
    (false, false, true),
    (false, true, true),
    (true, false, false),
    (true, true, true),
];

/// The cheapest way to the end of an interval in one of the two states.
#[derive(Debug, Clone, Copy)]
struct Way {
    came_from: bool,
    is_start: bool,
}

/// The fewest starts that agree with the duties of the intervals: a walk over the two states at each border, cheapest
/// first, and back.
fn fewest_starts(samples: &[(i64, f64)]) -> Vec<i64> {
    let state = usize::from;
    let unreachable = u64::MAX / 2;
    // To be on before the first interval costs more than any count of starts.
    let mut costs = [0, u64::try_from(samples.len()).unwrap_or(unreachable) + 1];
    let mut ways: Vec<[Option<Way>; 2]> = Vec::with_capacity(samples.len());
    for (_, duty) in samples {
        let courses = match duty {
            duty if *duty <= WHOLE => OFF,
            duty if *duty >= 1.0 - WHOLE => ON,
            _ => PART_WAY,
        };
        let mut best = [unreachable; 2];
        let mut way = [None; 2];
        for (entry, exit, starts_within) in courses {
            for came_from in [false, true] {
                let starts_at_border = !came_from && *entry;
                let cost = costs[state(came_from)]
                    + u64::from(starts_at_border)
                    + u64::from(*starts_within);
                if cost < best[state(*exit)] {
                    best[state(*exit)] = cost;
                    way[state(*exit)] = Some(Way {
                        came_from,
                        is_start: starts_at_border || *starts_within,
                    });
                }
            }
        }
        costs = best;
        ways.push(way);
    }
    let mut at = costs[1] < costs[0];
    let mut started = Vec::new();
    for ((stamp, _), way) in samples.iter().zip(&ways).rev() {
        let Some(way) = way[state(at)] else {
            break;
        };
        if way.is_start {
            started.push(*stamp);
        }
        at = way.came_from;
    }
    started.reverse();
    started
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wall_clock::{HOUR, MINUTE};

    fn every(step: i64, values: impl IntoIterator<Item = f64>) -> (Vec<i64>, Vec<f64>) {
        (0..)
            .zip(values)
            .map(|(row, value)| (row * step, value))
            .unzip()
    }

    #[test]
    fn a_whole_status_starts_where_it_comes_on_the_first_sample_included() {
        let (stamps, status) = every(
            15 * MINUTE,
            (0..96).map(|row| f64::from(u8::from(row % 8 < 2))),
        );
        let starts = Starts::of(&stamps, &status).unwrap();
        assert_eq!((starts.count(), starts.per_day), (12, 12.0));
        assert_eq!(
            (starts.runtime_pct, starts.interval_min),
            (25.0, Some(15.0))
        );
        let busy = starts_of_busy_days(&stamps, &status, 12.0);
        assert_eq!(busy.iter().filter(|set| **set).count(), 12);
        assert!(!starts_of_busy_days(&stamps, &status, 13.0).contains(&true));
    }

    #[test]
    fn duties_give_the_fewest_starts_that_they_allow() {
        let count = |known: &[f64]| {
            let (stamps, status) = every(HOUR, known.iter().copied());
            started(&duties(&stamps, &status)).len()
        };
        // One run over a border, two halves of one run, runs that cannot be joined.
        assert_eq!(count(&[0.0, 0.5, 0.5, 0.0]), 1);
        assert_eq!(count(&[0.5, 1.0, 0.5]), 1);
        assert_eq!(count(&[0.25, 0.0, 0.25]), 2);
        assert_eq!(count(&[0.25; 48]), 24);
        assert_eq!(count(&[1.0, 0.5, 1.0]), 2);
    }

    #[test]
    fn gaps_are_not_observed() {
        let on = |row: i64| f64::from(u8::from(row % 96 < 48));
        let (mut stamps, mut status) = every(5 * MINUTE, (0..288).map(on));
        let (second, again) = every(5 * MINUTE, (0..288).map(on));
        stamps.extend(second.iter().map(|stamp| stamp + 10 * DAY));
        status.extend(again);
        let starts = Starts::of(&stamps, &status).unwrap();
        assert_eq!((starts.days, starts.days_observed), (11.0, 2.0));
        assert_eq!((starts.per_day, starts.count()), (3.01, 6));
        assert!(starts.coverage_caveat().unwrap().contains("2 of 11 days"));
    }

    #[test]
    fn nothing_breaks_on_odd_values() {
        assert!(Starts::of(&[], &[]).is_none());
        let (stamps, status) = every(
            HOUR,
            [f64::INFINITY, -1e300, 1e300, 0.5, f64::NAN].repeat(4),
        );
        assert!(Starts::of(&stamps, &status).unwrap().count() > 0);
    }
}
