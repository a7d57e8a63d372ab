//! How well a baseline fits, and whether that is good enough (M&V §5).

use super::daily::DailyFrame;
use super::model::BaselineModel;
use crate::numeric::{self, nanos, pearson, round, share_of};

/// Least share of the variance that an accepted baseline explains.
const LEAST_R2: f64 = 0.75;
/// Greatest bias of an accepted baseline.
const GREATEST_NMBE: f64 = 0.005;
/// Fewest pairs of neighbouring residuals that tell of their correlation.
const FEWEST_PAIRS: usize = 30;
/// Days are neighbours when their distance is the usual one within this share.
const STEP_TOLERANCE: f64 = 0.01;

/// Greatest CV(RMSE) of an accepted baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AcceptanceLimit(f64);

impl AcceptanceLimit {
    /// For daily energies; the reference's own tier.
    pub const DAILY: Self = Self(0.30);
    /// For bills (ASHRAE Guideline 14).
    pub const BILLS: Self = Self(0.15);
}

/// Figures of a fit, not rounded; NaN where the data does not define one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FitStatistics {
    /// Days.
    pub n: usize,
    /// Coefficients.
    pub p: usize,
    /// NaN when the energy never varies.
    pub r2: f64,
    pub adjusted_r2: f64,
    /// In the unit of the energy.
    pub rmse: f64,
    /// Share of the mean energy; NaN when that is 0.
    pub cv_rmse: f64,
    /// Share of the mean energy; NaN when that is 0.
    pub nmbe: f64,
    /// Fisher's statistic of the whole model.
    pub f: f64,
}

impl FitStatistics {
    /// Figures of a model over the days that it was fitted on, or that took their place since.
    ///
    /// Bills count by their days.
    pub fn of(model: &BaselineModel, fitted: &DailyFrame) -> Self {
        let residuals = residuals(model, fitted);
        let weights = fitted.weights().unwrap_or_else(|| vec![1.0; fitted.len()]);
        let weighted = |values: &mut dyn Iterator<Item = f64>| -> f64 {
            values
                .zip(&weights)
                .map(|(value, weight)| value * weight)
                .sum()
        };
        let (n, p) = (fitted.len(), model.parameters());
        let free = share_of(n.saturating_sub(p));
        let mean = weighted(&mut fitted.energy.iter().copied()) / share_of(n);
        let sse = weighted(&mut residuals.iter().map(|residual| residual * residual));
        let sst = weighted(&mut fitted.energy.iter().map(|energy| (energy - mean).powi(2)));
        let r2 = if sst > 0.0 { 1.0 - sse / sst } else { f64::NAN };
        let rmse = (sse / free).sqrt();
        let over_mean = |value: f64| if mean == 0.0 { f64::NAN } else { value / mean };
        Self {
            n,
            p,
            r2,
            adjusted_r2: 1.0 - (1.0 - r2) * (share_of(n) - 1.0) / free,
            rmse,
            cv_rmse: over_mean(rmse),
            nmbe: over_mean(weighted(&mut residuals.iter().copied()) / free),
            f: ((sst - sse) / share_of(p.saturating_sub(1))) / (sse / free),
        }
    }

    /// Whether the baseline is good enough; a figure that is not defined is not.
    pub fn accepted(&self, limit: AcceptanceLimit) -> bool {
        self.cv_rmse <= limit.0 && self.r2 >= LEAST_R2 && self.nmbe.abs() <= GREATEST_NMBE
    }

    /// The figures as they are told; bands are computed from this CV(RMSE).
    pub fn rounded(self) -> Self {
        Self {
            r2: round(self.r2, 4),
            adjusted_r2: round(self.adjusted_r2, 4),
            rmse: round(self.rmse, 4),
            cv_rmse: round(self.cv_rmse, 4),
            nmbe: round(self.nmbe, 5),
            f: round(self.f, 2),
            ..self
        }
    }
}

/// Energy of each row beyond what the model says.
pub fn residuals(model: &BaselineModel, rows: &DailyFrame) -> Vec<f64> {
    rows.energy
        .iter()
        .zip(model.over(rows))
        .map(|(energy, modelled)| energy - modelled)
        .collect()
}

/// Correlation of each residual with that of the day before, at least 0; none when too few days are neighbours or a side
/// never varies.
pub fn lag_one(days: &[i64], residuals: &[f64]) -> Option<f64> {
    let step = numeric::median_step(days)?;
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for (days, residuals) in days.windows(2).zip(residuals.windows(2)) {
        if let ([day, next], [residual, later]) = (days, residuals)
            && (nanos(next.saturating_sub(*day)) - step).abs() <= STEP_TOLERANCE * step
        {
            before.push(*residual);
            after.push(*later);
        }
    }
    if before.len() < FEWEST_PAIRS {
        return None;
    }
    let correlation = pearson(&before, &after);
    correlation.is_finite().then(|| correlation.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mv::ChangePointModel;
    use crate::mv::testing::{since_2023, worked_days};

    #[test]
    fn statistics_of_the_worked_example() {
        let days = worked_days();
        let model =
            BaselineModel::from(ChangePointModel::chosen(&days.temperature, &days.energy).unwrap());
        let statistics = FitStatistics::of(&model, &days);
        assert_eq!(
            FitStatistics {
                nmbe: statistics.rounded().nmbe.abs(),
                ..statistics.rounded()
            },
            FitStatistics {
                n: 12,
                p: 3,
                r2: 0.9956,
                adjusted_r2: 0.9946,
                rmse: 1.2796,
                cv_rmse: 0.0113,
                nmbe: 0.0,
                f: 1017.94,
            }
        );
        assert!(statistics.accepted(AcceptanceLimit::DAILY));
    }

    #[test]
    fn a_meter_that_never_varies_is_not_accepted() {
        let mut days = worked_days();
        days.energy = vec![0.0; 12];
        let model =
            BaselineModel::from(ChangePointModel::chosen(&days.temperature, &days.energy).unwrap());
        let statistics = FitStatistics::of(&model, &days);
        assert!(statistics.r2.is_nan() && statistics.cv_rmse.is_nan() && statistics.nmbe.is_nan());
        assert!(!statistics.accepted(AcceptanceLimit::DAILY));
    }

    #[test]
    fn bills_must_scatter_less_than_days() {
        let statistics = FitStatistics {
            n: 12,
            p: 3,
            r2: 0.75,
            adjusted_r2: 0.7,
            rmse: 2.0,
            cv_rmse: 0.2,
            nmbe: -0.005,
            f: 9.0,
        };
        assert!(statistics.accepted(AcceptanceLimit::DAILY));
        assert!(!statistics.accepted(AcceptanceLimit::BILLS));
        let biased = FitStatistics {
            nmbe: -0.0051,
            ..statistics
        };
        assert!(!biased.accepted(AcceptanceLimit::DAILY));
    }

    #[test]
    fn only_neighbouring_days_tell_of_autocorrelation() {
        let runs = |day: usize| {
            if (day / 4).is_multiple_of(2) {
                1.0
            } else {
                -1.0
            }
        };
        let residuals: Vec<f64> = (0..40).map(runs).collect();
        let daily: Vec<i64> = (0..40).map(since_2023).collect();
        // 39 pairs, of which 9 change sides.
        let rho = lag_one(&daily, &residuals).unwrap();
        assert!((0.52..0.56).contains(&rho), "{rho}");

        // Two of three days: half of the distances are one day, half are two, and none is the usual one.
        let (kept, residuals): (Vec<i64>, Vec<f64>) = (0..120)
            .filter(|day| day % 3 != 0)
            .map(|day| (since_2023(day), f64::from(u8::from(day % 2 == 0))))
            .unzip();
        assert_eq!(lag_one(&kept[..79], &residuals[..79]), None);

        let alternating: Vec<f64> = (0..40).map(|day| f64::from(day % 2)).collect();
        assert_eq!(lag_one(&daily, &alternating), Some(0.0));
        assert_eq!(lag_one(&daily, &[1.0; 40]), None);
        assert_eq!(lag_one(&daily[..30], &alternating[..30]), None);
    }
}
