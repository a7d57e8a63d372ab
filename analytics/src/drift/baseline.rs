//! What a machine did at the same load: a line or a level fitted on a known-good window (Drift §3.1).

use serde::Deserialize;

use crate::numeric::{self, nanos, round, share_of};
use crate::wall_clock::{SECOND, iso};

/// Least rows of any fit, whatever is asked for.
const FEWEST_ROWS: usize = 3;
/// Rows and pairs below which no autocorrelation is told.
const FEWEST_CORRELATED: usize = 10;
/// A larger autocorrelation would let no alarm ever sound.
const MOST_CORRELATED: f64 = 0.99;

/// Which rows count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scope {
    pub min_load: f64,
    /// Of the metric, inclusive.
    pub low: f64,
    pub high: f64,
}

/// Metric and load of a window, row by row; NaN where a row does not count.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Signal {
    pub stamps: Vec<i64>,
    pub metric: Vec<f64>,
    pub load: Vec<f64>,
    /// Empty for none.
    pub covariate: Vec<f64>,
}

impl Signal {
    /// A signal without covariate.
    pub fn new(stamps: &[i64], metric: Vec<f64>, load: Vec<f64>) -> Self {
        Self {
            stamps: stamps.to_vec(),
            metric,
            load,
            covariate: Vec::new(),
        }
    }

    /// The same with a covariate.
    #[must_use]
    pub fn with_covariate(&self, covariate: &[f64]) -> Self {
        Self {
            covariate: covariate.to_vec(),
            ..self.clone()
        }
    }

    /// The rows that are complete and within a scope.
    #[must_use]
    pub fn cleaned(&self, scope: &Scope) -> Self {
        let mut clean = Self::default();
        let has_covariate = !self.covariate.is_empty();
        let covariates = self.covariate.iter().copied();
        let covariates = covariates.chain(std::iter::repeat(if has_covariate {
            f64::NAN
        } else {
            0.0
        }));
        let rows = self.stamps.iter().zip(&self.metric).zip(&self.load);
        for (((stamp, metric), load), covariate) in rows.zip(covariates) {
            // Comparisons with NaN are false.
            let counts = *load >= scope.min_load
                && (scope.low..=scope.high).contains(metric)
                && !covariate.is_nan();
            if counts {
                clean.stamps.push(*stamp);
                clean.metric.push(*metric);
                clean.load.push(*load);
                if has_covariate {
                    clean.covariate.push(covariate);
                }
            }
        }
        clean
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.stamps.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.stamps.is_empty()
    }

    /// Median positive gap of the rows in seconds; 0 when there is none.
    pub fn step_seconds(&self) -> f64 {
        let mut stamps = self.stamps.clone();
        stamps.sort_unstable();
        numeric::median_step(&stamps).map_or(0.0, |step| step / nanos(SECOND))
    }
}

/// What a fit needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FitRule {
    pub scope: Scope,
    pub min_samples: usize,
    /// Span of the load below which there is no slope.
    pub min_span: f64,
    /// Without a slope: a level instead of nothing.
    pub level_fallback: bool,
    /// Spread of the covariate below which its effect is not told.
    pub min_covariate_span: f64,
}

impl FitRule {
    /// Rows without which no baseline is fitted.
    pub const FEWEST_SAMPLES: usize = 30;

    /// 30 rows, a span of 10, no level.
    pub fn over(scope: Scope) -> Self {
        Self {
            scope,
            min_samples: Self::FEWEST_SAMPLES,
            min_span: 10.0,
            level_fallback: false,
            min_covariate_span: 0.0,
        }
    }

    /// The same with another span.
    #[must_use]
    pub fn spanning(self, min_span: f64) -> Self {
        Self { min_span, ..self }
    }

    /// The same that takes a level where the load does not vary.
    #[must_use]
    pub fn or_level(self) -> Self {
        Self {
            level_fallback: true,
            ..self
        }
    }

    /// The same with that spread of a covariate.
    #[must_use]
    pub fn with_covariate_span(self, min_covariate_span: f64) -> Self {
        Self {
            min_covariate_span,
            ..self
        }
    }
}

/// How the metric follows the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadModel {
    #[default]
    Linear,
    Level,
}

impl LoadModel {
    /// The word on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Level => "level",
        }
    }
}

/// A second influence beside the load.
#[derive(Debug, Clone, PartialEq)]
pub struct Covariate {
    /// Role slug, or what else names it.
    pub name: String,
    pub slope: f64,
    /// Mean over the fitted rows.
    pub reference: f64,
    pub min: f64,
    pub max: f64,
}

/// A fitted baseline; its figures are rounded, and used as they are rounded.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadBaseline {
    pub n: usize,
    pub slope: f64,
    pub intercept: f64,
    pub sigma: f64,
    /// NaN when the metric is constant.
    pub r_squared: f64,
    pub load_min: f64,
    pub load_max: f64,
    pub first: String,
    pub last: String,
    pub model: LoadModel,
    /// How far beyond the fitted loads a level still holds.
    pub load_band: f64,
    pub covariate: Option<Covariate>,
    /// Lag-1 autocorrelation of the residuals.
    pub residual_lag: f64,
    pub sample_seconds: f64,
    /// What the load was formed of, where there is a choice.
    pub load_source: Option<String>,
}

/// Coefficients of a fit before rounding.
struct Coefficients {
    slope: f64,
    intercept: f64,
    covariate_slope: f64,
}

impl LoadBaseline {
    /// Fits the metric over the load, and over the covariate when the signal has one of that name; none when the rows do
    /// not suffice.
    pub fn fit(signal: &Signal, rule: &FitRule, covariate: Option<&str>) -> Option<Self> {
        let rows = signal.cleaned(&rule.scope);
        let n = rows.len();
        if n < rule.min_samples.max(FEWEST_ROWS) {
            return None;
        }
        let (load_min, load_max) = (numeric::min(&rows.load), numeric::max(&rows.load));
        let span = load_max - load_min;
        let has_slope = span >= rule.min_span;
        if !has_slope && !rule.level_fallback {
            return None;
        }
        let reference = match covariate {
            Some(_) => {
                let spread = covariate_spread(&rows.covariate);
                if !(spread > 0.0 && spread >= rule.min_covariate_span) {
                    return None;
                }
                numeric::mean(&rows.covariate)
            }
            None => 0.0,
        };
        let found = solve(&rows, has_slope, covariate.map(|_| reference))?;
        let parameters = 1 + usize::from(has_slope) + usize::from(covariate.is_some());
        let freedom = n.checked_sub(parameters).filter(|freedom| *freedom > 0)?;
        let residuals: Vec<f64> = rows
            .each()
            .map(|(metric, load, other)| {
                metric
                    - found.intercept
                    - found.slope * load
                    - found.covariate_slope * (other - reference)
            })
            .collect();
        let squares = numeric::pairwise_sum(
            &residuals
                .iter()
                .map(|value| value * value)
                .collect::<Vec<_>>(),
        );
        let mean = numeric::mean(&rows.metric);
        let total = numeric::pairwise_sum(
            &rows
                .metric
                .iter()
                .map(|value| (value - mean).powi(2))
                .collect::<Vec<_>>(),
        );
        let sigma = (squares / share_of(freedom)).sqrt();
        let (residual_lag, sample_seconds) = lag_one(&rows.stamps, &residuals);
        let baseline = Self {
            n,
            slope: round(found.slope, 6),
            intercept: round(found.intercept, 4),
            sigma: round(sigma, 4),
            r_squared: match total > 0.0 {
                true => round(1.0 - squares / total, 4),
                false => f64::NAN,
            },
            load_min: round(load_min, 2),
            load_max: round(load_max, 2),
            first: rows.stamps.first().copied().map(iso).unwrap_or_default(),
            last: rows.stamps.last().copied().map(iso).unwrap_or_default(),
            model: match has_slope {
                true => LoadModel::Linear,
                false => LoadModel::Level,
            },
            load_band: match has_slope {
                true => 0.0,
                false => round((rule.min_span - span).max(0.0) / 2.0, 4),
            },
            covariate: covariate.map(|name| Covariate {
                name: name.to_owned(),
                slope: round(found.covariate_slope, 6),
                reference: round(reference, 4),
                min: round(numeric::min(&rows.covariate), 4),
                max: round(numeric::max(&rows.covariate), 4),
            }),
            residual_lag: round(residual_lag, 4),
            sample_seconds: round(sample_seconds, 3),
            load_source: None,
        };
        baseline.is_finite().then_some(baseline)
    }

    fn is_finite(&self) -> bool {
        let covariate = self
            .covariate
            .iter()
            .flat_map(|one| [one.slope, one.reference]);
        [
            self.slope,
            self.intercept,
            self.sigma,
            self.load_min,
            self.load_max,
        ]
        .into_iter()
        .chain(covariate)
        .all(f64::is_finite)
    }

    /// The metric at a load, with the covariate at its reference.
    pub fn at_load(&self, load: f64) -> f64 {
        self.intercept + self.slope * load
    }

    /// What the covariate adds to the metric; 0 without one.
    pub fn covariate_effect(&self, covariate: f64) -> f64 {
        self.covariate
            .as_ref()
            .map_or(0.0, |one| one.slope * (covariate - one.reference))
    }

    /// The loads for which it may be asked: all of a line, those near the fitted ones of a level.
    pub fn covers(&self, load: f64) -> bool {
        match self.model {
            LoadModel::Linear => true,
            LoadModel::Level => {
                (self.load_min - self.load_band..=self.load_max + self.load_band).contains(&load)
            }
        }
    }
}

impl Signal {
    /// Metric, load and covariate of each row; the covariate is 0 without one.
    pub fn each(&self) -> impl Iterator<Item = (f64, f64, f64)> + '_ {
        let covariates = self.covariate.iter().copied().chain(std::iter::repeat(0.0));
        self.metric
            .iter()
            .zip(&self.load)
            .zip(covariates)
            .map(|((metric, load), covariate)| (*metric, *load, covariate))
    }
}

/// Distance of the 5th and 95th percentile; NaN without values.
pub fn covariate_spread(values: &[f64]) -> f64 {
    numeric::quantile(values, 0.95) - numeric::quantile(values, 0.05)
}

/// Least squares over what varies; none when the columns say the same.
fn solve(rows: &Signal, has_slope: bool, reference: Option<f64>) -> Option<Coefficients> {
    let Some(reference) = reference else {
        if has_slope {
            let line = numeric::least_squares(&rows.load, &rows.metric)?;
            return Some(Coefficients {
                slope: line.slope,
                intercept: line.intercept,
                covariate_slope: 0.0,
            });
        }
        return Some(Coefficients {
            slope: 0.0,
            intercept: numeric::mean(&rows.metric),
            covariate_slope: 0.0,
        });
    };
    let (mean_load, mean_metric) = (numeric::mean(&rows.load), numeric::mean(&rows.metric));
    let mut sums = Sums::default();
    for (metric, load, covariate) in rows.each() {
        let (y, x, z) = (
            metric - mean_metric,
            load - mean_load,
            covariate - reference,
        );
        sums.xx += x * x;
        sums.zz += z * z;
        sums.xz += x * z;
        sums.xy += x * y;
        sums.zy += z * y;
    }
    if !has_slope {
        return (sums.zz > 0.0).then(|| Coefficients {
            slope: 0.0,
            intercept: mean_metric,
            covariate_slope: sums.zy / sums.zz,
        });
    }
    let determinant = sums.xx * sums.zz - sums.xz * sums.xz;
    // Columns that are one but for their last bits have no effects of their own.
    if !(determinant > f64::EPSILON * share_of(rows.len()) * sums.xx * sums.zz) {
        return None;
    }
    let slope = (sums.xy * sums.zz - sums.zy * sums.xz) / determinant;
    let covariate_slope = (sums.zy * sums.xx - sums.xy * sums.xz) / determinant;
    Some(Coefficients {
        slope,
        // The covariate is centred on its mean.
        intercept: mean_metric - slope * mean_load,
        covariate_slope,
    })
}

#[derive(Default)]
struct Sums {
    xx: f64,
    zz: f64,
    xz: f64,
    xy: f64,
    zy: f64,
}

/// Autocorrelation of consecutive residuals, and the step of the samples in seconds.
fn lag_one(stamps: &[i64], residuals: &[f64]) -> (f64, f64) {
    if residuals.len() < FEWEST_CORRELATED {
        return (0.0, 0.0);
    }
    let mut rows: Vec<(i64, f64)> = stamps
        .iter()
        .copied()
        .zip(residuals.iter().copied())
        .collect();
    rows.sort_by_key(|row| row.0);
    let sorted: Vec<i64> = rows.iter().map(|row| row.0).collect();
    let Some(step) = numeric::median_step(&sorted) else {
        return (0.0, 0.0);
    };
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for pair in rows.windows(2) {
        if let [one, next] = pair {
            let gap = nanos(next.0.saturating_sub(one.0));
            if gap > 0.0 && gap <= 1.5 * step {
                before.push(one.1);
                after.push(next.1);
            }
        }
    }
    let seconds = step / nanos(SECOND);
    if before.len() < FEWEST_CORRELATED {
        return (0.0, seconds);
    }
    let rho = numeric::pearson(&before, &after);
    let chance = 2.0 / share_of(before.len()).sqrt();
    // False for NaN: constant residuals do not correlate.
    match rho > chance {
        true => (rho.min(MOST_CORRELATED), seconds),
        false => (0.0, seconds),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::wall_clock::{HOUR, parse_bound};

    /// The executed example: hourly from 2024-01-01, i = 0…39.
    pub(crate) fn worked(metric: impl Fn(u32, f64) -> f64, load: impl Fn(u32) -> f64) -> Signal {
        let start = parse_bound("2024-01-01").unwrap();
        let rows: Vec<u32> = (0..40).collect();
        Signal::new(
            &rows
                .iter()
                .map(|row| start + i64::from(*row) * HOUR)
                .collect::<Vec<_>>(),
            rows.iter().map(|row| metric(*row, load(*row))).collect(),
            rows.iter().map(|row| load(*row)).collect(),
        )
    }

    pub(crate) fn case_a() -> Signal {
        worked(
            |row, load| 5.0 + 0.05 * load + 0.1 * (f64::from(7 * row % 5) - 2.0),
            |row| 100.0 + 10.0 * f64::from(row % 10),
        )
    }

    pub(crate) fn rule() -> FitRule {
        FitRule::over(Scope {
            min_load: 0.0,
            low: -1e9,
            high: 1e9,
        })
    }

    #[test]
    fn the_worked_line_has_its_figures() {
        let fit = LoadBaseline::fit(&case_a(), &rule(), None).unwrap();
        assert_eq!(
            (fit.slope, fit.intercept, fit.sigma, fit.r_squared),
            (0.051212, 4.8242, 0.1406, 0.9914)
        );
        assert_eq!((fit.load_min, fit.load_max), (100.0, 190.0));
        assert_eq!((fit.residual_lag, fit.sample_seconds), (0.0, 3600.0));
        assert_eq!(fit.first, "2024-01-01T00:00:00");
    }

    #[test]
    fn a_covariate_is_told_apart_from_the_load() {
        let mut signal = case_a();
        signal.covariate = (0..40).map(|row| 70.0 + f64::from(row % 4)).collect();
        for (metric, covariate) in signal.metric.iter_mut().zip(&signal.covariate) {
            *metric += 0.3 * (covariate - 71.5);
        }
        let rule = rule().with_covariate_span(2.0);
        let fit = LoadBaseline::fit(&signal, &rule, Some("cw_supply_temp")).unwrap();
        assert_eq!(
            (fit.slope, fit.intercept, fit.sigma),
            (0.05122, 4.8232, 0.1425)
        );
        let covariate = fit.covariate.unwrap();
        assert_eq!((covariate.slope, covariate.reference), (0.297561, 71.5));
        // A covariate that is the load itself has no effect of its own.
        let same = signal.with_covariate(&signal.load);
        assert_eq!(LoadBaseline::fit(&same, &rule, Some("x")), None);
    }

    #[test]
    fn a_load_that_hardly_varies_gives_a_level_where_that_is_allowed() {
        let mut level = case_a();
        level.load = (0..40).map(|row| 100.0 + f64::from(row % 3)).collect();
        assert_eq!(LoadBaseline::fit(&level, &rule(), None), None);
        let fit = LoadBaseline::fit(&level, &rule().or_level(), None).unwrap();
        assert_eq!(
            (fit.model, fit.load_band, fit.slope, fit.intercept),
            (LoadModel::Level, 4.0, 0.0, 12.25)
        );
        assert_eq!(
            (fit.sigma, fit.r_squared, fit.residual_lag),
            (1.4961, 0.0, 0.5038)
        );
        assert!(fit.covers(96.0) && fit.covers(106.0) && !fit.covers(106.1));
    }

    #[test]
    fn slow_residuals_are_told_as_such() {
        let signal = worked(
            |row, load| {
                5.0 + 0.05 * load + 0.3 * (std::f64::consts::TAU * f64::from(row) / 40.0).sin()
            },
            |row| 100.0 + 10.0 * f64::from(row % 10),
        );
        let fit = LoadBaseline::fit(&signal, &rule(), None).unwrap();
        assert_eq!((fit.sigma, fit.residual_lag), (0.2176, 0.9883));
    }

    #[test]
    fn rows_that_are_no_numbers_fit_nothing() {
        let mut wild = case_a();
        wild.load[3] = f64::INFINITY;
        assert_eq!(LoadBaseline::fit(&wild, &rule(), None), None);
        let mut huge = case_a();
        huge.metric[0] = 1e300;
        let scope = Scope {
            high: f64::INFINITY,
            ..rule().scope
        };
        assert_eq!(
            LoadBaseline::fit(&huge, &FitRule { scope, ..rule() }, None),
            None
        );
        let few = LoadBaseline::fit(&Signal::default(), &rule(), None);
        assert_eq!(few, None);
    }
}
