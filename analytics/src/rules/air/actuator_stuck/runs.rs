//! Stretches in which an actuator does not move (Air rules §2.1, step 3).

use std::collections::BTreeMap;

use crate::numeric;
use crate::wall_clock::{DAY, HOUR};

/// Active samples of one value that follow each other.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FlatRun {
    pub start: i64,
    pub end: i64,
    pub hours: f64,
    pub value: f64,
    pub rows: Vec<usize>,
}

impl FlatRun {
    /// Calendar day of the start, counted from the epoch.
    pub(super) const fn day(&self) -> i64 {
        self.start.div_euclid(DAY)
    }

    /// Samples of the run in another column.
    pub(super) fn samples<'r>(&'r self, values: &'r [f64]) -> impl Iterator<Item = f64> + 'r {
        self.rows
            .iter()
            .map(|row| values.get(*row).copied().unwrap_or(f64::NAN))
    }

    /// Greatest less least sample in another column; missing without samples.
    pub(super) fn span(&self, values: &[f64]) -> f64 {
        let ends = self
            .samples(values)
            .filter(|value| !value.is_nan())
            .fold((f64::NAN, f64::NAN), |(low, high), value| {
                (value.min(low), value.max(high))
            });
        ends.1 - ends.0
    }

    /// Median sample in another column; missing without samples.
    pub(super) fn median(&self, values: &[f64]) -> f64 {
        let mut kept: Vec<f64> = self
            .samples(values)
            .filter(|value| !value.is_nan())
            .collect();
        numeric::median_in_place(&mut kept)
    }
}

/// Runs of at least so many hours, and the hours of the longest of all. A missing sample within active time does not end a
/// run, an inactive sample does.
pub(super) fn flat_runs(
    stamps: &[i64],
    signal: &[f64],
    active: &[bool],
    min_hours: f64,
) -> (Vec<FlatRun>, f64) {
    let step = numeric::median_step(stamps).unwrap_or(0.0) / numeric::nanos(HOUR);
    let mut collected = Collected {
        step,
        min_hours,
        ..Collected::default()
    };
    let mut run: Option<FlatRun> = None;
    for (row, ((stamp, value), is_active)) in stamps.iter().zip(signal).zip(active).enumerate() {
        if !is_active {
            collected.take(run.take());
            continue;
        }
        if value.is_nan() {
            continue;
        }
        match &mut run {
            Some(run) if run.value == *value => {
                run.end = *stamp;
                run.rows.push(row);
            }
            _ => {
                collected.take(run.take());
                run = Some(FlatRun {
                    start: *stamp,
                    end: *stamp,
                    hours: 0.0,
                    value: *value,
                    rows: vec![row],
                });
            }
        }
    }
    collected.take(run);
    (collected.runs, collected.longest)
}

#[derive(Default)]
struct Collected {
    step: f64,
    min_hours: f64,
    runs: Vec<FlatRun>,
    longest: f64,
}

impl Collected {
    fn take(&mut self, run: Option<FlatRun>) {
        let Some(mut run) = run else { return };
        let width = run.end.saturating_sub(run.start);
        run.hours = numeric::nanos(width) / numeric::nanos(HOUR) + self.step;
        self.longest = self.longest.max(run.hours);
        if run.hours >= self.min_hours {
            self.runs.push(run);
        }
    }
}

/// Valid samples of each calendar day.
pub(super) fn samples_per_day(stamps: &[i64], valid: &[bool]) -> BTreeMap<i64, usize> {
    let mut days = BTreeMap::new();
    for (stamp, _) in stamps.iter().zip(valid).filter(|(_, valid)| **valid) {
        *days.entry(stamp.div_euclid(DAY)).or_insert(0) += 1;
    }
    days
}
