//! How far a sample lies from the others, by medians (Engine §3.1 step 4, §3.1.2, §3.1.3).

use crate::numeric;
use crate::roles::{ScaleFloor, TrustTraits};

/// A score above this is an outlier.
pub(super) const OUTLIER_SCORE: f64 = 3.5;
/// A normal distribution's MAD in standard deviations.
const MAD_OF_NORMAL: f64 = 0.6745;
/// A normal distribution's standard deviation in mean absolute deviations.
const NORMAL_OF_MEAN_DEVIATION: f64 = 1.253_314;

/// Centre and spread of samples.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spread {
    pub median: f64,
    /// Median absolute deviation.
    pub mad: f64,
    /// Mean absolute deviation, formed only where the median one is 0.
    mean: f64,
}

impl Spread {
    /// Of samples without NaN.
    pub fn of(values: &[f64]) -> Self {
        let mut scratch = values.to_vec();
        let median = numeric::median_in_place(&mut scratch);
        scratch.clear();
        scratch.extend(deviations(values, median));
        let mad = numeric::median_in_place(&mut scratch);
        let mean = if mad > 0.0 {
            0.0
        } else {
            numeric::mean_of(scratch.iter().copied())
        };
        Self { median, mad, mean }
    }

    /// The signed score of a sample; 0 when all samples are the same.
    pub fn score(&self, value: f64) -> f64 {
        if self.mad > 0.0 {
            MAD_OF_NORMAL * (value - self.median) / self.mad
        } else if self.mean > 0.0 {
            (value - self.median) / (NORMAL_OF_MEAN_DEVIATION * self.mean)
        } else {
            0.0
        }
    }

    /// Whether a sample is an outlier.
    pub fn is_outlier(&self, value: f64) -> bool {
        self.score(value).abs() > OUTLIER_SCORE
    }
}

/// Infinite samples around an infinite median have no deviation.
fn deviations(values: &[f64], centre: f64) -> impl Iterator<Item = f64> + '_ {
    values
        .iter()
        .map(move |value| (value - centre).abs())
        .filter(|deviation| !deviation.is_nan())
}

/// The least spread that counts for a role, of these samples (Engine §3.1.3).
pub(super) fn scale_floor(traits: &TrustTraits, values: &[f64]) -> Option<f64> {
    match traits.scale_floor {
        ScaleFloor::None => None,
        ScaleFloor::Fixed(floor) => Some(floor),
        ScaleFloor::Relative => {
            let floor = 0.005 * magnitude(values);
            (floor > 0.0).then_some(floor)
        }
    }
}

/// 99th percentile of the magnitudes; NaN without samples.
pub(super) fn magnitude(values: &[f64]) -> f64 {
    let mut magnitudes: Vec<f64> = values.iter().map(|value| value.abs()).collect();
    numeric::quantile_in_place(&mut magnitudes, 0.99)
}

/// Outliers of a distribution that may be skewed (Engine §3.1.2): a sample that only the common spread calls far, and that
/// lies within the spread of its own side, is excused unless such samples stand alone. `spread` is that of all of them.
pub(super) fn shape_outliers(values: &[f64], spread: &Spread, floor: Option<f64>) -> Vec<bool> {
    let far_of_all = |value: f64| {
        let score = spread.score(value).abs();
        let floored = match floor {
            Some(floor) if floor > 0.0 => score.min((value - spread.median).abs() / floor),
            _ => score,
        };
        floored > OUTLIER_SCORE
    };
    let far: Vec<bool> = values.iter().map(|value| far_of_all(*value)).collect();
    if !far.contains(&true) {
        return far;
    }
    let above = side_scale(values, spread.median, floor, |deviation| deviation >= 0.0);
    let below = side_scale(values, spread.median, floor, |deviation| deviation <= 0.0);
    let far_of_side: Vec<bool> = values
        .iter()
        .map(|value| {
            let deviation = value - spread.median;
            let scale = if deviation > 0.0 { above } else { below };
            scale > 0.0 && deviation.abs() / scale > OUTLIER_SCORE
        })
        .collect();
    let excused: Vec<bool> = far
        .iter()
        .zip(&far_of_side)
        .map(|(far, of_side)| *far && !of_side)
        .collect();
    if median_run(&excused, true).is_some_and(|run| run < 2.0) {
        return far;
    }
    far.iter()
        .zip(&far_of_side)
        .map(|(far, of_side)| *far && *of_side)
        .collect()
}

fn side_scale(
    values: &[f64],
    median: f64,
    floor: Option<f64>,
    on_side: impl Fn(f64) -> bool,
) -> f64 {
    let mut deviations: Vec<f64> = values
        .iter()
        .map(|value| value - median)
        .filter(|deviation| on_side(*deviation))
        .map(f64::abs)
        .collect();
    let middle = numeric::median_in_place(&mut deviations);
    let scale = if middle > 0.0 {
        middle / MAD_OF_NORMAL
    } else {
        NORMAL_OF_MEAN_DEVIATION * numeric::mean_of(deviations.iter().copied())
    };
    scale.max(floor.unwrap_or(0.0))
}

/// Median length of the runs of `state` in a mask; none when there is no such run.
pub(super) fn median_run(mask: &[bool], state: bool) -> Option<f64> {
    let mut runs: Vec<f64> = mask
        .chunk_by(|one, next| one == next)
        .filter(|run| run.first() == Some(&state))
        .map(|run| numeric::share_of(run.len()))
        .collect();
    (!runs.is_empty()).then(|| numeric::median_in_place(&mut runs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_those_of_the_worked_pieces() {
        let values = [10.0, 10.1, 9.9, 10.0, 10.2, 9.8, 10.0, 30.0];
        let spread = Spread::of(&values);
        let scores: Vec<f64> = values
            .iter()
            .map(|value| numeric::round(spread.score(*value), 3))
            .collect();
        assert_eq!(scores, [0.0, 0.674, -0.674, 0.0, 1.349, -1.349, 0.0, 134.9]);
        let mut flat = vec![5.0; 9];
        flat.push(6.0);
        assert_eq!(numeric::round(Spread::of(&flat).score(6.0), 3), 7.979);
        assert_eq!(Spread::of(&[5.0; 4]).score(5.0), 0.0);
    }

    #[test]
    fn a_long_tail_in_runs_is_excused_and_a_lone_spike_is_not() {
        // Closed by night, and open for hours on end by day.
        let valve: Vec<f64> = (0..240)
            .map(|row| match row % 24 {
                7..=17 => f64::from(30 + 5 * (row % 4)),
                _ => f64::from(row % 3),
            })
            .collect();
        assert!(Spread::of(&valve).is_outlier(45.0));
        assert!(!shape_outliers(&valve, &Spread::of(&valve), Some(1.0)).contains(&true));
        let mut spiked: Vec<f64> = (0..240).map(|row| 60.0 + f64::from(row % 5)).collect();
        spiked[100] = 900.0;
        let outliers = shape_outliers(&spiked, &Spread::of(&spiked), Some(0.5));
        assert_eq!(outliers.iter().filter(|outlier| **outlier).count(), 1);
        assert!(outliers[100]);
    }

    #[test]
    fn infinite_samples_have_no_spread() {
        let endless = [f64::INFINITY; 30];
        let outliers = shape_outliers(&endless, &Spread::of(&endless), None);
        assert!(!outliers.contains(&true));
        assert!(
            !Spread::of(&[f64::NEG_INFINITY, f64::INFINITY, 1.0])
                .score(1.0)
                .is_infinite()
        );
    }
}
