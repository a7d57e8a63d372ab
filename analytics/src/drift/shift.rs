//! How far a machine has moved from its baseline, and how bad that is (Drift §3.2, §3.4).

use super::baseline::{LoadBaseline, Scope, Signal};
use crate::finding::Severity;
use crate::numeric::{self, nanos, round, share_of};
use crate::wall_clock::DAY;

/// Days of a mean month.
const DAYS_OF_MONTH: f64 = 30.4375;
/// Share of rows beyond the fitted range from which on a shift is told to be extrapolated.
const EXTRAPOLATED: f64 = 0.10;
/// Rows below which nothing is scored, unless a detector asks for more.
pub const FEWEST_SCORED: usize = 10;

/// A window against a baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Shift {
    pub n_current: usize,
    /// Rows at loads for which a level does not hold.
    pub n_out_of_scope: usize,
    /// Median residual.
    pub drift: f64,
    /// The same in sigmas of the baseline; NaN without scatter.
    pub drift_sigma: f64,
    /// NaN when the rows tell none.
    pub slope_per_month: f64,
    /// Percentage of residuals of two sigmas and more; NaN without scatter.
    pub outside: f64,
    pub extrapolated: bool,
    pub covariate_extrapolated: bool,
    /// The rows that were scored.
    pub rows: Signal,
    /// Their residuals, actual minus expected.
    pub residuals: Vec<f64>,
}

impl Shift {
    /// Scores a window; none below that many rows.
    pub fn of(
        baseline: &LoadBaseline,
        current: &Signal,
        scope: &Scope,
        min_rows: usize,
    ) -> Option<Self> {
        let clean = current.cleaned(scope);
        let (rows, n_out_of_scope) = in_scope(baseline, clean);
        if rows.is_empty() || rows.len() < min_rows {
            return None;
        }
        let residuals: Vec<f64> = rows
            .each()
            .map(|(metric, load, covariate)| {
                metric - (baseline.at_load(load) + baseline.covariate_effect(covariate))
            })
            .collect();
        let sigma = baseline.sigma;
        let drift = numeric::median(&residuals);
        let beyond = |value: f64, low: f64, high: f64| value < low || value > high;
        let share = |count: usize| share_of(count) / share_of(rows.len());
        let n_beyond = rows
            .load
            .iter()
            .filter(|load| beyond(**load, baseline.load_min, baseline.load_max))
            .count();
        let covariate_beyond = baseline.covariate.as_ref().map_or(0, |one| {
            rows.covariate
                .iter()
                .filter(|value| beyond(**value, one.min, one.max))
                .count()
        });
        let outside = residuals
            .iter()
            .filter(|residual| residual.abs() >= 2.0 * sigma)
            .count();
        let has_scatter = sigma > 0.0;
        Some(Self {
            n_current: rows.len(),
            n_out_of_scope,
            drift: round(drift, 4),
            drift_sigma: match has_scatter {
                true => round(drift / sigma, 4),
                false => f64::NAN,
            },
            slope_per_month: slope_per_month(&rows.stamps, &residuals),
            outside: match has_scatter {
                true => round(100.0 * share(outside), 2),
                false => f64::NAN,
            },
            extrapolated: share(n_beyond) > EXTRAPOLATED,
            covariate_extrapolated: share(covariate_beyond) > EXTRAPOLATED,
            rows,
            residuals,
        })
    }
}

/// The rows at loads for which the baseline holds, and how many are left out.
pub fn in_scope(baseline: &LoadBaseline, rows: Signal) -> (Signal, usize) {
    let total = rows.len();
    if rows.load.iter().all(|load| baseline.covers(*load)) {
        return (rows, 0);
    }
    let mut kept = Signal::default();
    let has_covariate = !rows.covariate.is_empty();
    for (stamp, (metric, load, covariate)) in rows.stamps.iter().zip(rows.each()) {
        if baseline.covers(load) {
            kept.stamps.push(*stamp);
            kept.metric.push(metric);
            kept.load.push(load);
            if has_covariate {
                kept.covariate.push(covariate);
            }
        }
    }
    let left_out = total - kept.len();
    (kept, left_out)
}

fn slope_per_month(stamps: &[i64], residuals: &[f64]) -> f64 {
    let Some(first) = stamps.first().filter(|_| stamps.len() >= 3) else {
        return f64::NAN;
    };
    let days: Vec<f64> = stamps
        .iter()
        .map(|stamp| nanos(stamp.saturating_sub(*first)) / nanos(DAY))
        .collect();
    numeric::least_squares(&days, residuals)
        .map_or(f64::NAN, |line| round(line.slope * DAYS_OF_MONTH, 4))
}

/// In which direction a shift speaks against the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Up,
    Down,
    Both,
}

/// What a shift must reach: a size in the unit of the metric, and a number of sigmas of its baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Floors {
    pub warn: f64,
    pub fault: f64,
    pub warn_sigma: f64,
    pub fault_sigma: f64,
}

impl Floors {
    /// Sizes, and sigmas.
    pub const fn of((warn, fault): (f64, f64), (warn_sigma, fault_sigma): (f64, f64)) -> Self {
        Self {
            warn,
            fault,
            warn_sigma,
            fault_sigma,
        }
    }

    /// The severity of a shift. Without scatter (NaN sigmas) the size alone decides.
    pub fn judge(&self, drift: f64, sigmas: f64, direction: Direction) -> Severity {
        let (size, sigmas_towards) = match direction {
            Direction::Up => (drift, sigmas),
            Direction::Down => (-drift, -sigmas),
            Direction::Both => (drift.abs(), sigmas.abs()),
        };
        let reaches =
            |floor: f64, least: f64| size >= floor && (sigmas.is_nan() || sigmas_towards >= least);
        if reaches(self.fault, self.fault_sigma) {
            Severity::Fault
        } else if reaches(self.warn, self.warn_sigma) {
            Severity::Warn
        } else {
            Severity::Ok
        }
    }
}

/// `up` or `down`.
pub fn direction_word(drift: f64) -> &'static str {
    if drift < 0.0 { "down" } else { "up" }
}

#[cfg(test)]
mod tests {
    use super::super::baseline::tests::{case_a, rule, worked};
    use super::*;

    fn later(mut signal: Signal, days: i64, by: f64) -> Signal {
        for stamp in &mut signal.stamps {
            *stamp += days * DAY;
        }
        for metric in &mut signal.metric {
            *metric += by;
        }
        signal
    }

    #[test]
    fn the_worked_shift_has_its_figures() {
        let baseline = LoadBaseline::fit(&case_a(), &rule(), None).unwrap();
        let shift = Shift::of(&baseline, &later(case_a(), 30, 0.5), &rule().scope, 10).unwrap();
        assert_eq!(
            (
                shift.drift,
                shift.drift_sigma,
                shift.slope_per_month,
                shift.outside
            ),
            (0.5122, 3.6428, 0.0001, 100.0)
        );
        assert!(!shift.extrapolated && shift.n_current == 40);
    }

    #[test]
    fn without_scatter_there_are_no_sigmas() {
        let exact = worked(|_, load| 5.0 + 0.05 * load, |row| f64::from(row) * 10.0);
        let baseline = LoadBaseline::fit(&exact, &rule(), None).unwrap();
        let shift = Shift::of(&baseline, &later(exact, 1, 1.0), &rule().scope, 10).unwrap();
        assert_eq!((baseline.sigma, shift.drift), (0.0, 1.0));
        assert!(shift.drift_sigma.is_nan() && shift.outside.is_nan());
        let floors = Floors::of((0.5, 2.0), (2.5, 4.0));
        assert_eq!(
            floors.judge(shift.drift, shift.drift_sigma, Direction::Up),
            Severity::Warn
        );
    }

    #[test]
    fn a_level_scores_only_loads_near_its_own() {
        let level = worked(
            |row, _| 12.0 + f64::from(row % 2),
            |row| 100.0 + f64::from(row % 3),
        );
        let baseline = LoadBaseline::fit(&level, &rule().or_level(), None).unwrap();
        let mut current = level.clone();
        for load in current.load.iter_mut().take(15) {
            *load = 120.0;
        }
        let shift = Shift::of(&baseline, &current, &rule().scope, 10).unwrap();
        assert_eq!((shift.n_current, shift.n_out_of_scope), (25, 15));
        assert!(Shift::of(&baseline, &current, &rule().scope, 26).is_none());
    }

    #[test]
    fn both_floors_and_the_direction_count() {
        let floors = Floors::of((1.0, 2.0), (2.5, 4.0));
        for (drift, sigmas, direction, expected) in [
            (2.0, 4.0, Direction::Up, Severity::Fault),
            (2.0, 3.0, Direction::Up, Severity::Warn),
            (2.0, 2.0, Direction::Up, Severity::Ok),
            (-2.0, -4.0, Direction::Up, Severity::Ok),
            (-2.0, -4.0, Direction::Down, Severity::Fault),
            (-1.5, -9.0, Direction::Both, Severity::Warn),
        ] {
            assert_eq!(
                floors.judge(drift, sigmas, direction),
                expected,
                "{drift} {sigmas}"
            );
        }
    }
}
