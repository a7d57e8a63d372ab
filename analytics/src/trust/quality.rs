//! Quality of one series: coverage, gaps, flat lines, outliers (Engine §3.1).

use super::regimes;
use super::spread::{self, Spread};
use crate::numeric;

/// One series: sorted stamps in nanoseconds, and a value each, NaN where there is none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Series<'a> {
    pub stamps: &'a [i64],
    pub values: &'a [f64],
}

impl<'a> Series<'a> {
    /// The rows of a range; nothing beyond the last.
    pub fn rows(self, range: std::ops::Range<usize>) -> Self {
        Self {
            stamps: self.stamps.get(range.clone()).unwrap_or_default(),
            values: self.values.get(range).unwrap_or_default(),
        }
    }

    /// The samples that are there.
    pub fn present(self) -> impl DoubleEndedIterator<Item = (i64, f64)> + 'a {
        self.stamps
            .iter()
            .copied()
            .zip(self.values.iter().copied())
            .filter(|(_, value)| !value.is_nan())
    }
}

/// Fractions are rounded to four decimals.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Quality {
    pub n: usize,
    pub coverage: f64,
    pub gaps: usize,
    /// Share of the longest run of one value.
    pub flatline_frac: f64,
    /// Of all samples together.
    pub outlier_frac: f64,
    /// Within the two levels; none below three samples or without a split.
    pub regime_outlier_frac: Option<f64>,
    /// By the shape of the distribution; none below three samples.
    pub shape_outlier_frac: Option<f64>,
    pub two_regimes: bool,
    pub score: f64,
}

/// Four decimals.
pub(super) fn fraction(value: f64) -> f64 {
    numeric::round(value, 4)
}

/// Part of a whole; 0 of nothing.
pub(super) fn part_of(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        0.0
    } else {
        numeric::share_of(part) / numeric::share_of(whole)
    }
}

/// Assesses `present`, the samples of a series with that many rows. `regime_aware`: the score judges two levels apart.
pub(super) fn assess(
    series: Series<'_>,
    present: &[f64],
    regime_aware: bool,
    floor: Option<f64>,
) -> Quality {
    let n = present.len();
    let coverage = part_of(n, series.values.len());
    let flatline = part_of(longest_run(present), n);
    let reads = Reads::of(present, floor);
    let used = reads.used(regime_aware);
    let score = coverage * (1.0 - (2.0 * used).min(1.0)) * (1.0 - 0.2 * flatline);
    Quality {
        n,
        coverage: fraction(coverage),
        gaps: gaps(series.stamps),
        flatline_frac: fraction(flatline),
        outlier_frac: fraction(reads.pooled),
        regime_outlier_frac: reads.regimes.map(fraction),
        shape_outlier_frac: reads.shape.map(fraction),
        two_regimes: reads.regimes.is_some(),
        score: fraction(score.clamp(0.0, 1.0)),
    }
}

/// Shares of outliers, read in three ways.
struct Reads {
    pooled: f64,
    regimes: Option<f64>,
    shape: Option<f64>,
}

impl Reads {
    fn of(present: &[f64], floor: Option<f64>) -> Self {
        let n = present.len();
        if n < 3 {
            return Self {
                pooled: 0.0,
                regimes: None,
                shape: None,
            };
        }
        let spread = Spread::of(present);
        let pooled = present
            .iter()
            .filter(|value| spread.is_outlier(**value))
            .count();
        // Nothing far in all samples together is nothing far by shape.
        let shape = if pooled == 0 {
            0
        } else {
            count(&spread::shape_outliers(present, &spread, floor))
        };
        Self {
            pooled: part_of(pooled, n),
            regimes: regimes::split(present).map(|regimes| part_of(regimes.outliers, n)),
            shape: Some(part_of(shape, n)),
        }
    }

    fn used(&self, regime_aware: bool) -> f64 {
        self.regimes
            .filter(|_| regime_aware)
            .or(self.shape)
            .unwrap_or(self.pooled)
    }
}

fn count(mask: &[bool]) -> usize {
    mask.iter().filter(|flagged| **flagged).count()
}

/// Length of the longest run of one value.
fn longest_run(present: &[f64]) -> usize {
    present
        .chunk_by(|one, next| one == next)
        .map(<[f64]>::len)
        .max()
        .unwrap_or(0)
}

/// How many gaps are longer than one and a half of the most frequent one.
fn gaps(stamps: &[i64]) -> usize {
    if stamps.len() < 3 || numeric::equal_step(stamps).is_some_and(|step| step >= 0) {
        return 0;
    }
    let mut gaps: Vec<i64> = stamps
        .windows(2)
        .filter_map(|pair| match pair {
            [one, next] => next.checked_sub(*one),
            _ => None,
        })
        .collect();
    gaps.sort_unstable();
    let mut usual = (0, 0);
    for run in gaps.chunk_by(|one, next| one == next) {
        if let (true, Some(gap)) = (run.len() > usual.0, run.first()) {
            usual = (run.len(), *gap);
        }
    }
    let limit = 1.5 * numeric::nanos(usual.1);
    gaps.iter()
        .filter(|gap| numeric::nanos(**gap) > limit)
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wall_clock::HOUR;

    #[test]
    fn gaps_are_longer_than_the_usual_step() {
        let stamps = [0, 1, 2, 3, 9, 10, 30].map(|hour| hour * HOUR);
        assert_eq!(gaps(&stamps), 2);
        // Of two gaps that come equally often, the shorter is the usual one.
        assert_eq!(gaps(&[0, HOUR, 3 * HOUR]), 1);
        assert_eq!(gaps(&[0, 5 * HOUR]), 0);
    }

    #[test]
    fn two_samples_have_no_outlier() {
        let values = [1.0, 1000.0];
        let series = Series {
            stamps: &[0, HOUR],
            values: &values,
        };
        let quality = assess(series, &values, false, None);
        assert_eq!(
            (quality.outlier_frac, quality.shape_outlier_frac),
            (0.0, None)
        );
        assert_eq!(quality.score, 0.9);
    }
}
