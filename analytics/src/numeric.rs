//! Numbers as the reference forms them (Engine §1). NaN is a missing sample and is skipped unless said otherwise.

/// A value rounded to that many decimals, half to even on the exact binary value: 2.675 lies just below and gives 2.67.
///
/// ```
/// use niagara_analytics::numeric::round;
/// assert_eq!((round(2.675, 2), round(0.05, 1), round(0.5, 0)), (2.67, 0.1, 0.0));
/// assert!(round(f64::NAN, 2).is_nan());
/// ```
pub fn round(value: f64, decimals: usize) -> f64 {
    if !value.is_finite() {
        return value;
    }
    // Rust writes the decimal expansion of the exact binary value, half to even.
    format!("{value:.decimals$}").parse().unwrap_or(value)
}

/// A value rounded as array code does it: multiplied, rounded half to even to an integer, divided again.
///
/// ```
/// assert_eq!(niagara_analytics::numeric::round_scaled(2.675, 2), 2.68);
/// ```
pub fn round_scaled(value: f64, decimals: u8) -> f64 {
    let scale = 10_f64.powi(i32::from(decimals));
    (value * scale).round_ties_even() / scale
}

/// The samples that are there.
pub fn present(values: &[f64]) -> impl Iterator<Item = f64> + '_ {
    values.iter().copied().filter(|value| !value.is_nan())
}

/// How many samples are there.
pub fn count(values: &[f64]) -> usize {
    present(values).count()
}

/// Sum of the samples; 0 without any.
pub fn sum(values: &[f64]) -> f64 {
    sum_of(present(values))
}

/// Mean of the samples; NaN without any.
pub fn mean(values: &[f64]) -> f64 {
    mean_of(present(values))
}

/// Mean of an iterator without NaN; NaN when it is empty.
pub fn mean_of(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    pairwise_sum(&values) / share_of(values.len())
}

fn sum_of(values: impl Iterator<Item = f64>) -> f64 {
    pairwise_sum(&values.collect::<Vec<f64>>())
}

/// Length up to which array code sums in eight lanes; longer arrays are halved.
const LANE_BLOCK: usize = 128;

/// A sum in the order of array code: where a figure lies on a rounding boundary, the order decides its last digit.
///
/// ```
/// let tenths = vec![0.1; 1000];
/// assert_eq!(niagara_analytics::numeric::pairwise_sum(&tenths), 100.00000000000001);
/// ```
pub fn pairwise_sum(values: &[f64]) -> f64 {
    if values.len() > LANE_BLOCK {
        let half = values.len() / 2;
        let (first, rest) = values.split_at(half - half % 8);
        return pairwise_sum(first) + pairwise_sum(rest);
    }
    let mut blocks = values.chunks_exact(8);
    let mut lanes = [0.0; 8];
    if let Some(first) = blocks.next() {
        lanes.copy_from_slice(first);
    }
    for block in &mut blocks {
        for (lane, value) in lanes.iter_mut().zip(block) {
            *lane += value;
        }
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    let sum = ((a + b) + (c + d)) + ((e + f) + (g + h));
    blocks
        .remainder()
        .iter()
        .fold(sum, |sum, value| sum + value)
}

/// Least sample; NaN without any.
pub fn min(values: &[f64]) -> f64 {
    present(values).fold(f64::NAN, f64::min)
}

/// Greatest sample; NaN without any.
pub fn max(values: &[f64]) -> f64 {
    present(values).fold(f64::NAN, f64::max)
}

/// Standard deviation with divisor n − 1 (pandas); NaN below two samples.
pub fn std_sample(values: &[f64]) -> f64 {
    spread(values, 1)
}

/// Standard deviation with divisor n (numpy); NaN without samples.
pub fn std_population(values: &[f64]) -> f64 {
    spread(values, 0)
}

fn spread(values: &[f64], lost: usize) -> f64 {
    let n = count(values);
    if n <= lost {
        return f64::NAN;
    }
    let mean = mean(values);
    let squares: f64 = present(values).map(|value| (value - mean).powi(2)).sum();
    (squares / share_of(n - lost)).sqrt()
}

/// A count as a number.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub fn share_of(count: usize) -> f64 {
    count as f64
}

/// `100 · part / whole`; NaN when the whole is 0.
pub fn percent_of(part: usize, whole: usize) -> f64 {
    100.0 * share_of(part) / share_of(whole)
}

/// `100 · (part / whole)`: 100 times the mean of a mask, which differs from [`percent_of`] in the last bit and so in the
/// rounding where a percentage lies half-way; NaN when the whole is 0.
///
/// ```
/// use niagara_analytics::numeric::{percent_by_mean, percent_of, round};
/// assert_eq!((round(percent_by_mean(23, 80), 1), round(percent_of(23, 80), 1)), (28.7, 28.8));
/// ```
pub fn percent_by_mean(part: usize, whole: usize) -> f64 {
    100.0 * (share_of(part) / share_of(whole))
}

/// Median: the mean of the two middle values for an even count; NaN without samples.
pub fn median(values: &[f64]) -> f64 {
    let mut kept: Vec<f64> = present(values).collect();
    median_in_place(&mut kept)
}

/// Median of values without NaN; their order is lost.
pub fn median_in_place(values: &mut [f64]) -> f64 {
    let n = values.len();
    if n == 0 {
        return f64::NAN;
    }
    let (below, upper, _) = values.select_nth_unstable_by(n / 2, f64::total_cmp);
    let upper = *upper;
    if n % 2 == 1 {
        return upper;
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    f64::midpoint(lower, upper)
}

/// Quantile q (0 to 1) by linear interpolation between order statistics; NaN without samples.
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let mut kept: Vec<f64> = present(values).collect();
    quantile_in_place(&mut kept, q)
}

/// [`quantile`] of values without NaN; their order is lost. Several times faster than sorting them.
pub fn quantile_in_place(values: &mut [f64], q: f64) -> f64 {
    let Some((low, weight)) = rank(values.len(), q) else {
        return f64::NAN;
    };
    let (_, at, above) = values.select_nth_unstable_by(low, f64::total_cmp);
    let at = *at;
    if weight == 0.0 || above.is_empty() {
        return at;
    }
    let next = above.iter().copied().fold(f64::INFINITY, f64::min);
    at + weight * (next - at)
}

/// The order statistic below a quantile of that many values, and how far it lies towards the next one.
fn rank(count: usize, q: f64) -> Option<(usize, f64)> {
    let last = count.checked_sub(1)?;
    let position = q.clamp(0.0, 1.0) * share_of(last);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 to len − 1"
    )]
    let low = (position.floor() as usize).min(last);
    Some((low, position - share_of(low)))
}

/// [`quantile`] of values that are sorted and have no NaN.
pub fn quantile_sorted(sorted: &[f64], q: f64) -> f64 {
    let Some((low, weight)) = rank(sorted.len(), q) else {
        return f64::NAN;
    };
    let Some(at) = sorted.get(low) else {
        return f64::NAN;
    };
    match sorted.get(low + 1).filter(|_| weight != 0.0) {
        Some(next) => at + weight * (next - at),
        None => *at,
    }
}

/// Median absolute deviation from the median; NaN without samples.
pub fn mad(values: &[f64]) -> f64 {
    let middle = median(values);
    let mut deviations: Vec<f64> = present(values)
        .map(|value| (value - middle).abs())
        .collect();
    median_in_place(&mut deviations)
}

/// Mean absolute deviation from the median; NaN without samples.
pub fn mean_ad(values: &[f64]) -> f64 {
    let middle = median(values);
    mean_of(present(values).map(|value| (value - middle).abs()))
}

/// Pearson's correlation of the pairs of which both are there; NaN when a side is constant or fewer than 2 pairs.
pub fn pearson(x: &[f64], y: &[f64]) -> f64 {
    let pairs: Vec<(f64, f64)> = x
        .iter()
        .copied()
        .zip(y.iter().copied())
        .filter(|(x, y)| !x.is_nan() && !y.is_nan())
        .collect();
    if pairs.len() < 2 {
        return f64::NAN;
    }
    let mean_x = mean_of(pairs.iter().map(|pair| pair.0));
    let mean_y = mean_of(pairs.iter().map(|pair| pair.1));
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for (x, y) in pairs {
        let (dx, dy) = (x - mean_x, y - mean_y);
        xx += dx * dx;
        yy += dy * dy;
        xy += dx * dy;
    }
    if xx == 0.0 || yy == 0.0 {
        return f64::NAN;
    }
    xy / (xx.sqrt() * yy.sqrt())
}

/// A straight line through points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    pub slope: f64,
    pub intercept: f64,
    /// Share of the variance of y that the line explains; NaN when y is constant.
    pub r_squared: f64,
}

/// The line of least squares through the pairs of which both are there; none below 2 pairs or when x is constant.
///
/// ```
/// use niagara_analytics::numeric::least_squares;
/// let line = least_squares(&[0.0, 1.0, 2.0], &[1.0, 3.0, 5.0]).unwrap();
/// assert_eq!((line.slope, line.intercept, line.r_squared), (2.0, 1.0, 1.0));
/// assert!(least_squares(&[1.0, 1.0], &[1.0, 2.0]).is_none());
/// ```
pub fn least_squares(x: &[f64], y: &[f64]) -> Option<Line> {
    let pairs = || {
        x.iter()
            .copied()
            .zip(y.iter().copied())
            .filter(|(x, y)| !x.is_nan() && !y.is_nan())
    };
    let mean_x = mean_of(pairs().map(|pair| pair.0));
    let mean_y = mean_of(pairs().map(|pair| pair.1));
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for (x, y) in pairs() {
        let (dx, dy) = (x - mean_x, y - mean_y);
        xx += dx * dx;
        yy += dy * dy;
        xy += dx * dy;
    }
    // Comparisons with the NaN of no pair or of infinities are false.
    (xx > 0.0).then(|| Line {
        slope: xy / xx,
        intercept: mean_y - xy / xx * mean_x,
        r_squared: if yy > 0.0 {
            (xy / xx) * (xy / yy)
        } else {
            f64::NAN
        },
    })
}

/// Pairs below which no slope is told.
const MIN_PAIRS_OF_SLOPE: usize = 10;

/// Slope of y over x by least squares; none below ten pairs of which both are there, or when x is constant.
///
/// Where x is constant but for the last bits, the fit of the reference has only one direction left and gives Σxy/(2Σx²);
/// so does this (Plant rules §0.4).
///
/// ```
/// use niagara_analytics::numeric::fitted_slope;
/// let x: Vec<f64> = (0..12).map(f64::from).collect();
/// let y: Vec<f64> = x.iter().map(|x| 3.0 - 0.5 * x).collect();
/// assert_eq!(fitted_slope(&x, &y), Some(-0.5));
/// assert_eq!(fitted_slope(&x[..9], &y[..9]), None);
/// assert_eq!(fitted_slope(&[50.0; 12], &y), None);
/// ```
pub fn fitted_slope(x: &[f64], y: &[f64]) -> Option<f64> {
    let (x, y): (Vec<f64>, Vec<f64>) = x
        .iter()
        .zip(y)
        .filter(|(x, y)| !x.is_nan() && !y.is_nan())
        .unzip();
    if x.len() < MIN_PAIRS_OF_SLOPE {
        return None;
    }
    let pairs = share_of(x.len());
    let middle = mean(&x);
    let squares: Vec<f64> = x.iter().map(|x| (x - middle).powi(2)).collect();
    let std = mean(&squares).sqrt();
    if std == 0.0 {
        return None;
    }
    if std / (2.0 * middle.abs()) <= pairs * f64::EPSILON {
        let of = |other: &[f64]| -> f64 { x.iter().zip(other).map(|(x, other)| x * other).sum() };
        return Some(of(&y) / (2.0 * of(&x)));
    }
    least_squares(&x, &y).map(|line| line.slope)
}

/// Ranks 1…n with the average for ties, of values without NaN.
pub fn average_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| f64::total_cmp(&values[*a], &values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let mut end = start + 1;
        while end < order.len() && values[order[end]] == values[order[start]] {
            end += 1;
        }
        // The mean of the ranks start + 1 … end.
        let rank = share_of(start + 1 + end) / 2.0;
        for place in &order[start..end] {
            ranks[*place] = rank;
        }
        start = end;
    }
    ranks
}

/// Median of the strictly positive gaps between consecutive stamps, in nanoseconds; none below two stamps (Engine §1).
pub fn median_step(stamps: &[i64]) -> Option<f64> {
    if let Some(step) = equal_step(stamps) {
        return (step > 0).then(|| nanos(step));
    }
    let mut gaps: Vec<f64> = stamps
        .windows(2)
        .filter_map(|pair| pair[1].checked_sub(pair[0]))
        .filter(|gap| *gap > 0)
        .map(nanos)
        .collect();
    (!gaps.is_empty()).then(|| median_in_place(&mut gaps))
}

/// The gap between consecutive stamps where all are the same, as on the grid of a run; none below two stamps.
pub fn equal_step(stamps: &[i64]) -> Option<i64> {
    let mut gaps = stamps.windows(2).map(|pair| pair[1].checked_sub(pair[0]));
    let step = gaps.next()??;
    gaps.all(|gap| gap == Some(step)).then_some(step)
}

/// Nanoseconds as a number.
#[expect(clippy::cast_precision_loss, reason = "steps are far below 2^53 ns")]
pub fn nanos(duration: i64) -> f64 {
    duration as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_interpolate_and_skip_what_is_missing() {
        let values = [4.0, f64::NAN, 1.0, 3.0, 2.0];
        assert_eq!(median(&values), 2.5);
        assert_eq!(round(quantile(&values, 0.95), 9), 3.85);
        assert_eq!(quantile(&values, 1.0), 4.0);
        let mut sorted: Vec<f64> = (0..37).map(|row| f64::from(row * row % 29)).collect();
        let mut mixed = sorted.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        for q in [0.0, 0.01, 0.3, 0.5, 0.99, 1.0] {
            assert_eq!(
                quantile_in_place(&mut mixed, q),
                quantile_sorted(&sorted, q)
            );
        }
        assert_eq!(count(&values), 4);
        assert_eq!(std_sample(&values), 1.2909944487358056);
        assert_eq!(std_population(&values), 1.118033988749895);
        assert!(median(&[]).is_nan() && quantile(&[f64::NAN], 0.5).is_nan());
    }

    #[test]
    fn spreads_are_those_of_the_worked_example() {
        let values = [10.0, 10.1, 9.9, 10.0, 10.2, 9.8, 10.0, 30.0];
        assert_eq!(round(mad(&values), 6), 0.1);
        assert_eq!(round(mean_ad(&[5.0, 5.0, 6.0]), 4), 0.3333);
    }

    #[test]
    fn ties_share_their_rank() {
        assert_eq!(
            average_ranks(&[10.0, 20.0, 10.0, 30.0]),
            [1.5, 3.0, 1.5, 4.0]
        );
        assert_eq!(
            round(pearson(&[1.0, 2.0, f64::NAN], &[2.0, 4.0, 9.0]), 9),
            1.0
        );
        assert!(pearson(&[1.0, 2.0], &[5.0, 5.0]).is_nan());
    }

    #[test]
    fn a_driver_that_is_constant_but_for_its_last_bits_gives_half_the_ratio() {
        let x: Vec<f64> = (0..110)
            .map(|row| {
                if row % 3 == 0 {
                    52.3
                } else {
                    52.300_000_000_000_004
                }
            })
            .collect();
        let slope = fitted_slope(&x, &[45.0; 110]).unwrap();
        assert_eq!(round(slope, 2), 0.43);
        assert_eq!(fitted_slope(&[f64::NAN; 20], &[1.0; 20]), None);
        let wild = [
            f64::INFINITY,
            1e300,
            -1e300,
            1.0,
            2.0,
            3.0,
            4.0,
            5.0,
            6.0,
            7.0,
        ];
        assert!(fitted_slope(&wild, &wild).is_none_or(f64::is_nan));
    }

    #[test]
    fn blocks_add_up_to_the_whole() {
        let values: Vec<f64> = (0..1001).map(f64::from).collect();
        assert_eq!(pairwise_sum(&values), 500_500.0);
        assert_eq!(pairwise_sum(&values[..9]), 36.0);
        assert_eq!(pairwise_sum(&[]), 0.0);
    }

    #[test]
    fn the_step_is_the_median_of_the_gaps_forwards() {
        assert_eq!(median_step(&[0, 10, 10, 20, 50]), Some(10.0));
        assert_eq!(median_step(&[5, 5]), None);
        assert_eq!(median_step(&[0, 7, 14, 21]), Some(7.0));
        assert_eq!(median_step(&[21, 14, 7]), None);
        assert_eq!(median_step(&[i64::MIN, i64::MAX]), None);
    }
}
