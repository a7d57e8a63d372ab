//! Whether a shift has lasted: a cumulative sum of residuals beyond their slack (Drift §3.5).

use super::baseline::{LoadBaseline, Signal};
use super::shift::Direction;
use crate::numeric::round;

/// When a sum sounds the alarm; in sigmas of the baseline, widened by its autocorrelation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AlarmRule {
    pub slack_sigma: f64,
    pub limit_sigma: f64,
    pub clip_sigma: f64,
    pub min_consecutive: usize,
}

impl Default for AlarmRule {
    fn default() -> Self {
        Self {
            slack_sigma: 0.5,
            limit_sigma: 8.0,
            clip_sigma: 4.0,
            min_consecutive: 6,
        }
    }
}

/// What the sums came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Alarm {
    /// Place of the first alarming row among the scored ones, its stamp and its direction.
    pub first: Option<(usize, i64, Direction)>,
    /// What a sum must reach.
    pub limit: f64,
    /// Highest sum of shifts upward and downward.
    pub peak_up: f64,
    pub peak_down: f64,
}

impl Alarm {
    /// Follows the scored rows of a window; none when the baseline has no scatter.
    pub fn of(
        baseline: &LoadBaseline,
        rows: &Signal,
        rule: &AlarmRule,
        watched: Direction,
    ) -> Option<Self> {
        // False for NaN.
        if !(baseline.sigma > 0.0) {
            return None;
        }
        let sigma = baseline.sigma * inflation(baseline, rows);
        let (slack, limit, clip) = (
            rule.slack_sigma * sigma,
            rule.limit_sigma * sigma,
            rule.clip_sigma * sigma,
        );
        let mut alarm = Self {
            first: None,
            limit,
            peak_up: 0.0,
            peak_down: 0.0,
        };
        let (mut up, mut down) = (Sum::default(), Sum::default());
        let stamps = rows.stamps.iter().zip(rows.each()).enumerate();
        for (place, (stamp, (metric, load, covariate))) in stamps {
            let referred = metric - baseline.covariate_effect(covariate);
            let expected = baseline.at_load(load);
            // Not `clamp`, which does not bear the NaN of an infinite load.
            let residual = referred.max(expected - clip).min(expected + clip) - expected;
            let rises = up.add(residual, slack, limit);
            let falls = down.add(-residual, slack, limit);
            alarm.peak_up = alarm.peak_up.max(up.total);
            alarm.peak_down = alarm.peak_down.max(down.total);
            let sounds = |counted: usize| counted >= rule.min_consecutive;
            if alarm.first.is_none() {
                let direction = if sounds(rises) && watched != Direction::Down {
                    Some(Direction::Up)
                } else if sounds(falls) && watched != Direction::Up {
                    Some(Direction::Down)
                } else {
                    None
                };
                alarm.first = direction.map(|direction| (place, *stamp, direction));
            }
        }
        Some(alarm)
    }
}

/// One cumulative sum.
#[derive(Default)]
struct Sum {
    total: f64,
    consecutive: usize,
}

impl Sum {
    /// Adds a residual and returns how many rows in a row were over the limit.
    fn add(&mut self, residual: f64, slack: f64, limit: f64) -> usize {
        self.total = (self.total + residual - slack).max(0.0);
        let is_over = round(self.total, 4) >= limit && residual > slack;
        self.consecutive = if is_over { self.consecutive + 1 } else { 0 };
        self.consecutive
    }
}

/// By how much autocorrelated residuals scatter more in their sum than independent ones.
fn inflation(baseline: &LoadBaseline, rows: &Signal) -> f64 {
    let mut rho = baseline.residual_lag;
    let (own, fitted) = (rows.step_seconds(), baseline.sample_seconds);
    #[expect(clippy::float_cmp, reason = "both are medians of whole steps")]
    if own > 0.0 && fitted > 0.0 && own != fitted {
        rho = rho.powf(own / fitted);
    }
    ((1.0 + rho) / (1.0 - rho)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::super::baseline::tests::{case_a, rule, worked};
    use super::*;

    fn raised(mut signal: Signal, by: f64) -> Signal {
        for metric in &mut signal.metric {
            *metric += by;
        }
        signal
    }

    #[test]
    fn the_worked_sum_alarms_at_its_eighth_sample() {
        let baseline = LoadBaseline::fit(&case_a(), &rule(), None).unwrap();
        let rows = raised(case_a(), 0.5);
        let alarm = Alarm::of(&baseline, &rows, &AlarmRule::default(), Direction::Up).unwrap();
        assert_eq!(round(alarm.limit, 4), 1.1248);
        assert_eq!(round(alarm.peak_up, 4), 15.9142);
        assert_eq!(alarm.first, Some((7, rows.stamps[7], Direction::Up)));
        let down = Alarm::of(&baseline, &rows, &AlarmRule::default(), Direction::Down).unwrap();
        assert_eq!(down.first, None);
    }

    #[test]
    fn slow_residuals_need_a_longer_shift() {
        let slow = worked(
            |row, load| {
                5.0 + 0.05 * load + 0.3 * (std::f64::consts::TAU * f64::from(row) / 40.0).sin()
            },
            |row| 100.0 + 10.0 * f64::from(row % 10),
        );
        let baseline = LoadBaseline::fit(&slow, &rule(), None).unwrap();
        let rows = raised(slow, 0.6);
        assert_eq!(round(inflation(&baseline, &rows), 4), 13.0361);
        let alarm = Alarm::of(&baseline, &rows, &AlarmRule::default(), Direction::Up).unwrap();
        assert_eq!((round(alarm.limit, 4), alarm.first), (22.6933, None));
    }

    #[test]
    fn without_scatter_no_sum_is_formed() {
        let exact = worked(|_, load| load, |row| f64::from(row) * 10.0);
        let baseline = LoadBaseline::fit(&exact, &rule(), None).unwrap();
        let alarm = Alarm::of(&baseline, &exact, &AlarmRule::default(), Direction::Both);
        assert_eq!(alarm, None);
    }
}
