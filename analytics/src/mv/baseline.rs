//! The model of a meter's baseline period with all that is told of it (M&V §5).

use super::change_point::ChangePointModel;
use super::coverage::{ExtrapolationPolicy, Support};
use super::daily::DailyFrame;
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
    pub model: ChangePointModel,
    /// Not rounded.
    pub statistics: FitStatistics,
    /// Autocorrelation of the residuals, not rounded; none when it cannot be told, which bands take for 0.
    pub rho: Option<f64>,
    pub support: Support,
}

impl Baseline {
    /// Fits the days of a baseline period; none when no model leaves a degree of freedom.
    pub fn of(days: &DailyFrame, policy: &ExtrapolationPolicy) -> Option<Self> {
        let model = ChangePointModel::chosen(&days.temperature, &days.energy)?;
        Some(Self {
            statistics: FitStatistics::of(&model, days),
            rho: lag_one(&days.days, &residuals(&model, days)),
            support: Support::of(&days.temperature, policy)?,
            model,
        })
    }

    /// Whether it meets the daily acceptance.
    pub fn accepted(&self) -> bool {
        self.statistics.accepted(AcceptanceLimit::DAILY)
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
