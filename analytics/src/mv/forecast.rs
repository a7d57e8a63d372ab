//! Savings by forecast: the baseline projected onto the reporting period (M&V §6.1).

use super::baseline::Baseline;
use super::coverage::{Coverage, CoverageTier, ExtrapolationPolicy};
use super::daily::DailyFrame;
use super::least_squares::dot;
use crate::numeric::{round, share_of};

/// Two-sided confidence of every band.
pub const CONFIDENCE: f64 = 0.90;

/// Factor of ASHRAE Guideline 14 for models of more than one parameter.
const GUIDELINE_14: f64 = 1.26;

/// Student's t by degrees of freedom, up to and including the first figure.
const STUDENT_T: [(usize, f64); 6] = [
    (5, 2.015),
    (10, 1.812),
    (20, 1.725),
    (30, 1.697),
    (60, 1.671),
    (120, 1.658),
];
/// Student's t beyond the table, and without degrees of freedom.
const STUDENT_T_BEYOND: f64 = 1.645;

/// How a band is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// Fractional savings uncertainty of ASHRAE Guideline 14; known to be too narrow.
    Guideline14,
    /// Variance of the projected total and of the reporting period's scatter.
    Exact,
}

impl Kernel {
    /// The word in a configuration and on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Guideline14 => "g14",
            Self::Exact => "exact",
        }
    }
}

/// Why a saving is not told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SavingDecline {
    /// No reporting day can be used.
    NoReportingDays,
    /// The baseline does not know the weather of the reporting period.
    SevereExtrapolation,
}

/// Totals of a saving, rounded as they are told; energies in the meter's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SavingTotals {
    pub projected: f64,
    /// Projected less actual.
    pub avoided: f64,
    /// Avoided as a share of projected; none when that is 0.
    pub savings_share: Option<f64>,
    /// Half the width of the band, as a share of the avoided energy.
    pub fsu: Option<f64>,
    /// Half the width of the band.
    pub uncertainty: Option<f64>,
    /// Actual as a share of projected (SEP energy performance indicator).
    pub enpi: Option<f64>,
    pub enpi_uncertainty: Option<f64>,
}

/// A saving by forecast.
#[derive(Debug, Clone, PartialEq)]
pub struct ForecastSaving {
    pub kernel: Kernel,
    /// Days that were compared.
    pub report_days: usize,
    /// Energy of the reporting period, rounded; told even when the saving is declined.
    pub actual: f64,
    /// Either the totals, or why there are none.
    pub totals: Result<SavingTotals, SavingDecline>,
    pub coverage: Coverage,
    /// By how much extrapolation widens the band, rounded, whether the policy lets it or not; 1 for the exact kernel, none
    /// where nothing extrapolates.
    pub extrapolation_factor: Option<f64>,
    /// Whether the reporting period's mean temperature is that of the fit (SEP range rule).
    pub range_valid: bool,
}

impl ForecastSaving {
    /// Projects a baseline onto reporting days and compares.
    pub fn of(
        baseline: &Baseline,
        reporting: &DailyFrame,
        kernel: Kernel,
        policy: &ExtrapolationPolicy,
    ) -> Self {
        let projected = baseline.model.over(reporting);
        let usable = reporting.kept(|row| {
            let all = [projected.get(row), reporting.energy.get(row)];
            all.into_iter().flatten().all(|value| value.is_finite())
        });
        let coverage = Coverage::of(&baseline.domain, &baseline.model, &usable, policy);
        let projection = Projection::of(baseline, &usable);
        let widening = projection.widening(kernel, &coverage);
        let applied = widening.filter(|_| policy.widen_fsu);
        let totals = if usable.is_empty() {
            Err(SavingDecline::NoReportingDays)
        } else if coverage.tier == CoverageTier::Severe && policy.decline {
            Err(SavingDecline::SevereExtrapolation)
        } else {
            Ok(projection.totals(kernel, applied))
        };
        Self {
            kernel,
            report_days: usable.len(),
            actual: round(projection.actual, 2),
            totals,
            coverage,
            extrapolation_factor: widening.map(|factor| round(factor, 4)),
            range_valid: baseline.domain.is_near(&baseline.model, &usable),
        }
    }
}

/// A model over the rows of another period, not rounded.
#[derive(Debug, Clone)]
pub struct Projection<'a> {
    pub baseline: &'a Baseline,
    pub frame: &'a DailyFrame,
    /// Energy that the model says of all rows.
    pub projected: f64,
    /// Energy that was metered.
    pub actual: f64,
    /// Sums of the design's columns, each row as often as it has days.
    pub terms: Vec<f64>,
}

impl<'a> Projection<'a> {
    /// Sums a model over rows of which all figures are finite.
    pub fn of(baseline: &'a Baseline, frame: &'a DailyFrame) -> Self {
        let model = &baseline.model;
        let mut projection = Self {
            baseline,
            frame,
            projected: 0.0,
            actual: 0.0,
            terms: vec![0.0; model.coefficients().len()],
        };
        for (row, energy) in frame.energy.iter().enumerate() {
            let days = frame.service_days(row);
            let terms = model.terms(&model.drivers(frame, row));
            projection.projected += days * dot(&terms, model.coefficients());
            projection.actual += days * energy;
            for (sum, term) in projection.terms.iter_mut().zip(terms) {
                *sum += days * term;
            }
        }
        projection
    }

    /// How often the scatter of a fitted row is in the total: the number of days; of bills the days of all bills times
    /// those of a fitted one.
    pub fn scatters(&self) -> f64 {
        self.baseline.mean_days * self.frame.total_days()
    }

    /// Variance of a residual, widened for autocorrelation.
    pub fn scatter(&self) -> f64 {
        self.scatter_with(self.baseline.rho.unwrap_or(0.0))
    }

    /// Variance of a residual, widened for this autocorrelation.
    pub fn scatter_with(&self, rho: f64) -> f64 {
        let model = &self.baseline.model;
        (1.0 + rho) / (1.0 - rho) * model.sse() / share_of(model.degrees_of_freedom())
    }

    /// The saving with its band.
    pub fn totals(&self, kernel: Kernel, widening: Option<f64>) -> SavingTotals {
        let avoided = self.projected - self.actual;
        let share = (self.projected != 0.0).then(|| avoided / self.projected);
        let (fsu, uncertainty) = match kernel {
            Kernel::Guideline14 => {
                let fsu = share
                    .and_then(|share| self.guideline_14(share))
                    .map(|fsu| fsu * widening.map_or(1.0, |factor| factor.max(1.0)));
                (fsu, fsu.map(|fsu| avoided.abs() * fsu))
            }
            Kernel::Exact => {
                let band = share.map(|_| self.exact());
                let fsu = band.filter(|_| avoided != 0.0);
                (fsu.map(|band| band / avoided.abs()), band)
            }
        };
        let told = |value: Option<f64>, decimals| {
            value
                .filter(|value| value.is_finite())
                .map(|value| round(value, decimals))
        };
        let (projected, uncertainty) = (round(self.projected, 2), told(uncertainty, 2));
        let enpi = (projected != 0.0).then(|| round(round(self.actual, 2) / projected, 6));
        SavingTotals {
            projected,
            avoided: round(avoided, 2),
            savings_share: told(share, 4),
            fsu: told(fsu, 4).filter(|_| is_beyond_rounding(avoided, self.projected)),
            uncertainty,
            enpi,
            enpi_uncertainty: enpi
                .zip(uncertainty)
                .map(|(enpi, band)| round(enpi.abs() * band / projected.abs(), 6)),
        }
    }

    /// Fractional savings uncertainty; none when nothing is saved or the days say nothing of each other.
    fn guideline_14(&self, savings_share: f64) -> Option<f64> {
        let statistics = self.baseline.statistics.rounded();
        let n = share_of(statistics.n);
        let independent = match self.baseline.rho {
            Some(rho) if rho > 0.0 => n * (1.0 - rho) / (1.0 + rho),
            _ => n,
        };
        if savings_share == 0.0 || independent == 0.0 {
            return None;
        }
        let spread = (n / independent) * (1.0 + 2.0 / n) / share_of(self.frame.len());
        Some(
            self.student_t() * GUIDELINE_14 * statistics.cv_rmse * spread.sqrt()
                / savings_share.abs(),
        )
    }

    fn exact(&self) -> f64 {
        let parameters = self.baseline.model.variance_of(&self.terms);
        self.student_t() * (self.scatter() * (parameters + self.scatters())).sqrt()
    }

    /// Student's t of the model.
    pub fn student_t(&self) -> f64 {
        student_t(self.baseline.model.degrees_of_freedom())
    }

    /// How much wider the band is than with all weather moved into the support.
    fn widening(&self, kernel: Kernel, coverage: &Coverage) -> Option<f64> {
        if kernel == Kernel::Exact {
            return Some(1.0);
        }
        let extrapolates = matches!(coverage.tier, CoverageTier::Moderate | CoverageTier::Severe);
        if !extrapolates {
            return None;
        }
        let (model, domain) = (&self.baseline.model, &self.baseline.domain);
        let mut moved = vec![0.0; self.terms.len()];
        for row in 0..self.frame.len() {
            let drivers = domain.clipped(&model.drivers(self.frame, row));
            for (sum, term) in moved.iter_mut().zip(model.terms(&drivers)) {
                *sum += self.frame.service_days(row) * term;
            }
        }
        let variance = |terms: &[f64]| self.scatters() + model.variance_of(terms);
        let factor = (variance(&self.terms) / variance(&moved)).sqrt();
        factor.is_finite().then_some(factor)
    }
}

/// Whether a saving of this whole is more than what the order of its sums makes: its share would say nothing.
pub fn is_beyond_rounding(saving: f64, whole: f64) -> bool {
    const ROUNDING: f64 = 1e-11;
    saving.abs() > ROUNDING * whole.abs()
}

/// Student's t at 90 % by the table of the reference.
pub fn student_t(degrees_of_freedom: usize) -> f64 {
    STUDENT_T
        .iter()
        .find(|(most, _)| (1..=*most).contains(&degrees_of_freedom))
        .map_or(STUDENT_T_BEYOND, |(_, t)| *t)
}

#[cfg(test)]
mod tests;
