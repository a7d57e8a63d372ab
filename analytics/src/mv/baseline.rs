//! The model of a meter's baseline period with all that is told of it (M&V §5).

use super::change_point::ChangePointModel;
use super::coverage::{Domain, ExtrapolationPolicy, Support};
use super::daily::DailyFrame;
use super::degree_days::{BaseSearch, DegreeDayModel};
use super::model::BaselineModel;
use super::statistics::{AcceptanceLimit, FitStatistics, lag_one, residuals};
use crate::numeric::share_of;

/// A year and its gaps (M&V §5; `rebaseline` of an entry may say otherwise).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FullYear {
    /// Fewest days of the baseline window.
    pub min_days: usize,
    /// Largest share of them without data.
    pub max_missing: f64,
}

impl Default for FullYear {
    fn default() -> Self {
        Self {
            min_days: 365,
            max_missing: 0.10,
        }
    }
}

impl FullYear {
    /// Whether a window of so many days, of which so many are fitted, is shorter than a year or has too many gaps.
    pub fn falls_short(self, window_days: usize, fitted_days: usize) -> bool {
        let missing = 1.0 - share_of(fitted_days) / share_of(window_days);
        window_days < self.min_days || missing > self.max_missing
    }
}

/// A fitted baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    pub model: BaselineModel,
    /// Not rounded.
    pub statistics: FitStatistics,
    /// Autocorrelation of the residuals, not rounded; none when it cannot be told, which bands take for 0.
    pub rho: Option<f64>,
    /// Of the outdoor temperature.
    pub support: Support,
    /// Of everything that drives the model.
    pub domain: Domain,
    /// Days for which a fitted row stands in the mean: the scatter of a row is that of so many days.
    pub mean_days: f64,
    /// Bases of the degree days that the bills chose, heating before cooling, in °F, whichever model won.
    pub bases: Option<(Option<f64>, Option<f64>)>,
    limit: AcceptanceLimit,
}

impl Baseline {
    /// Fits the rows of a baseline period, bills weighted by their days; none when no model leaves a degree of freedom.
    pub fn of(rows: &DailyFrame, policy: &ExtrapolationPolicy) -> Option<Self> {
        let drivers: Vec<&[f64]> = rows.drivers.iter().map(Vec::as_slice).collect();
        let model = match rows.weights() {
            _ if !drivers.is_empty() => {
                ChangePointModel::with_drivers(&rows.temperature, &rows.energy, &drivers)?
            }
            Some(weights) => ChangePointModel::weighted(&rows.temperature, &rows.energy, &weights)?,
            None => ChangePointModel::chosen(&rows.temperature, &rows.energy)?,
        };
        Self::with(model.into(), rows, policy)
    }

    /// Fits bills over degree days of the bases that suit them best, or over their temperature where that explains more.
    pub fn of_degree_days(
        bills: &DailyFrame,
        search: &BaseSearch,
        policy: &ExtrapolationPolicy,
    ) -> Option<Self> {
        let over_temperature = Self::of(bills, policy);
        let weights = bills.weights();
        let degree_days = DegreeDayModel::chosen(bills, weights.as_deref(), search);
        let bases = degree_days
            .clone()
            .and_then(|model| BaselineModel::DegreeDays(model).bases());
        let chosen = match (over_temperature, degree_days) {
            (
                Some(Self {
                    model: BaselineModel::ChangePoint(model),
                    ..
                }),
                Some(degree_days),
            ) if model.bic() <= degree_days.bic() => Self::with(model.into(), bills, policy),
            (_, Some(degree_days)) => {
                Self::with(BaselineModel::DegreeDays(degree_days), bills, policy)
            }
            (baseline, None) => baseline,
        };
        chosen.map(|baseline| Self { bases, ..baseline })
    }

    /// A baseline that was fitted before, with the figures that were told of it.
    pub fn known(
        model: BaselineModel,
        statistics: FitStatistics,
        rho: Option<f64>,
        domain: Domain,
        support: Support,
        mean_days: f64,
        limit: AcceptanceLimit,
    ) -> Self {
        Self {
            bases: model.bases(),
            model,
            statistics,
            rho,
            support,
            domain,
            mean_days,
            limit,
        }
    }

    /// The same model, judged by the rows that its period has now.
    #[must_use]
    pub fn judged_by(&self, rows: &DailyFrame) -> Self {
        Self {
            statistics: FitStatistics::of(&self.model, rows),
            rho: lag_one(&rows.days, &residuals(&self.model, rows)),
            ..self.clone()
        }
    }

    /// A model with all that the rows which it was fitted on tell of it.
    pub fn with(
        model: BaselineModel,
        rows: &DailyFrame,
        policy: &ExtrapolationPolicy,
    ) -> Option<Self> {
        Some(Self {
            statistics: FitStatistics::of(&model, rows),
            rho: lag_one(&rows.days, &residuals(&model, rows)),
            support: Support::of(&rows.temperature, policy)?,
            domain: Domain::of(&model, rows, policy),
            mean_days: rows.total_days() / share_of(rows.len()),
            limit: match rows.bills.is_empty() {
                true => AcceptanceLimit::DAILY,
                false => AcceptanceLimit::BILLS,
            },
            bases: None,
            model,
        })
    }

    /// Whether it meets the acceptance of days, or of bills.
    pub fn accepted(&self) -> bool {
        self.statistics.accepted(self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_of_less_than_a_year_or_with_a_tenth_missing_falls_short() {
        let year = FullYear::default();
        assert!(!year.falls_short(365, 329));
        assert!(year.falls_short(365, 328));
        assert!(year.falls_short(364, 364));
    }
}
