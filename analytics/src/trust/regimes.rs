//! Two levels in one series, such as a pump's power off and on (Engine §3.1.1).

use super::spread::{Spread, median_run};
use crate::numeric;

/// Fewer samples are not split.
const FEWEST: usize = 24;
const BINS: usize = 256;

/// A series that was split.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Regimes {
    /// Outliers within their own level, far enough to matter between the levels.
    pub outliers: usize,
}

/// Splits samples without NaN into a low and a high level; none when they are one.
pub(super) fn split(values: &[f64]) -> Option<Regimes> {
    let n = values.len();
    if n < FEWEST {
        return None;
    }
    let threshold = threshold(values)?;
    let high: Vec<bool> = values.iter().map(|value| *value > threshold).collect();
    let (above, below): (Vec<f64>, Vec<f64>) = values.iter().partition(|value| **value > threshold);
    // At least 8 samples and 5 percent on each side; n.div_ceil(20) is ⌈0.05·n⌉.
    if above.len().min(below.len()) < n.div_ceil(20).max(8) {
        return None;
    }
    let lasts = |state| median_run(&high, state).is_some_and(|run| run >= 2.0);
    if !lasts(true) || !lasts(false) {
        return None;
    }
    let (low, top) = (Spread::of(&below), Spread::of(&above));
    let distance = top.median - low.median;
    let spread = low.mad + top.mad;
    if spread != 0.0 && !(distance / spread >= 6.0) {
        return None;
    }
    let outliers = outliers(&below, &low, distance) + outliers(&above, &top, distance);
    Some(Regimes { outliers })
}

fn outliers(values: &[f64], spread: &Spread, distance: f64) -> usize {
    if values.len() < 3 {
        return 0;
    }
    values
        .iter()
        .filter(|value| {
            spread.is_outlier(**value) && (**value - spread.median).abs() > 0.25 * distance
        })
        .count()
}

/// The threshold that separates best by Otsu's criterion, over a histogram of the samples between their 1st and 99th
/// percentile; none when these are all the same.
fn threshold(values: &[f64]) -> Option<f64> {
    let mut clipped: Vec<f64> = values
        .iter()
        .copied()
        .filter(|value| value.is_finite())
        .collect();
    let low = numeric::quantile_in_place(&mut clipped, 0.01);
    let high = numeric::quantile_in_place(&mut clipped, 0.99);
    let width = high - low;
    if !(high > low) || !width.is_finite() {
        return None;
    }
    for value in &mut clipped {
        *value = value.clamp(low, high);
    }
    let edges = edges(low, high);
    let counts = histogram(&clipped, &edges, low, width);
    best_edge(&counts, &edges)
}

/// Equally spaced edges, the last one exactly at `high`.
fn edges(low: f64, high: f64) -> Vec<f64> {
    let step = (high - low) / numeric::share_of(BINS);
    let mut edges: Vec<f64> = (0..BINS)
        .map(|edge| numeric::share_of(edge) * step + low)
        .collect();
    edges.push(high);
    edges
}

/// Counts per bin; a bin holds its lower edge, the last one both.
fn histogram(values: &[f64], edges: &[f64], low: f64, width: f64) -> Vec<f64> {
    let mut counts = vec![0.0; BINS];
    for value in values {
        let place = (value - low) / width * numeric::share_of(BINS);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 to 256"
        )]
        let mut bin = (place as usize).min(BINS - 1);
        // The quotient may round over an edge.
        if edges.get(bin).is_some_and(|edge| value < edge) {
            bin = bin.saturating_sub(1);
        } else if bin < BINS - 1 && edges.get(bin + 1).is_some_and(|edge| value >= edge) {
            bin += 1;
        }
        if let Some(count) = counts.get_mut(bin) {
            *count += 1.0;
        }
    }
    counts
}

/// The upper edge of the first bin that maximises the variance between the levels below and above it.
fn best_edge(counts: &[f64], edges: &[f64]) -> Option<f64> {
    let centres = edges
        .iter()
        .zip(edges.iter().skip(1))
        .map(|(left, right)| (left + right) / 2.0);
    let weighted: Vec<(f64, f64)> = counts
        .iter()
        .zip(centres)
        .map(|(count, centre)| (*count, count * centre))
        .collect();
    let all: f64 = counts.iter().sum();
    let moment: f64 = weighted.iter().map(|(_, weighted)| weighted).sum();
    let mut best: Option<(f64, f64)> = None;
    let (mut low, mut low_moment) = (0.0, 0.0);
    for ((count, weighted), edge) in weighted.iter().zip(edges.iter().skip(1)) {
        low += count;
        low_moment += weighted;
        let high = all - low;
        if low == 0.0 || high == 0.0 {
            continue;
        }
        let distance = low_moment / low - (moment - low_moment) / high;
        let between = low * high * distance.powi(2);
        if best.is_none_or(|(most, _)| between > most) {
            best = Some((between, *edge));
        }
    }
    best.map(|(_, edge)| edge)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn days(value: impl Fn(usize) -> f64) -> Vec<f64> {
        (0..240).map(value).collect()
    }

    #[test]
    fn thresholds_are_those_of_the_worked_pieces() {
        let square = days(|row| if row % 24 < 13 { 0.0 } else { 100.0 });
        assert_eq!(threshold(&square), Some(0.390_625));
        assert_eq!(threshold(&[7.0; 40]), None);
    }

    #[test]
    fn levels_need_mass_distance_and_runs() {
        let square = days(|row| if row % 24 < 13 { 0.0 } else { 100.0 });
        assert_eq!(split(&square), Some(Regimes { outliers: 0 }));
        // Six samples of 240 are no level, nor are single samples that come and go.
        assert_eq!(split(&days(|row| if row < 6 { 100.0 } else { 0.0 })), None);
        assert_eq!(
            split(&days(|row| if row % 2 == 0 { 100.0 } else { 0.0 })),
            None
        );
        assert_eq!(split(&days(numeric::share_of)), None);
        assert_eq!(split(&square[..23]), None);
    }

    #[test]
    fn outliers_are_far_within_their_own_level() {
        let mut power = days(|row| {
            let ripple = numeric::share_of(row % 5);
            if row % 24 < 13 {
                ripple
            } else {
                100.0 + ripple
            }
        });
        power[20] = 190.0;
        power[44] = 104.5;
        assert_eq!(split(&power), Some(Regimes { outliers: 1 }));
    }
}
