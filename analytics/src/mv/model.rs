//! What a baseline is fitted with, whatever drives it: outdoor temperature, or degree days of bills (M&V §4, §8).

use super::change_point::ChangePointModel;
use super::daily::DailyFrame;
use super::degree_days::{DegreeDayKind, DegreeDayModel};
use super::least_squares::dot;

/// A fitted model of a meter.
#[derive(Debug, Clone, PartialEq)]
pub enum BaselineModel {
    /// Over the mean outdoor temperature.
    ChangePoint(ChangePointModel),
    /// Over degree days whose bases the bills chose.
    DegreeDays(DegreeDayModel),
}

impl BaselineModel {
    /// The short name on the wire.
    pub fn code(&self) -> &'static str {
        match self {
            Self::ChangePoint(model) => model.kind().code(),
            Self::DegreeDays(model) => model.kind().code(),
        }
    }

    /// The name in sentences.
    pub fn label(&self) -> &'static str {
        match self {
            Self::ChangePoint(model) => model.kind().label(),
            Self::DegreeDays(model) => model.kind().label(),
        }
    }

    /// Parameters, of which degrees of freedom are counted off.
    pub fn parameters(&self) -> usize {
        match self {
            Self::ChangePoint(model) => model.parameters(),
            Self::DegreeDays(model) => model.kind().parameters(),
        }
    }

    /// Rows that were fitted.
    pub fn rows(&self) -> usize {
        match self {
            Self::ChangePoint(model) => model.days(),
            Self::DegreeDays(model) => model.rows(),
        }
    }

    /// Rows beyond the number of parameters; 0 for a fit of fewer rows.
    pub fn degrees_of_freedom(&self) -> usize {
        self.rows().saturating_sub(self.parameters())
    }

    /// Change points in °F, ascending: none, one or two.
    pub fn change_points(&self) -> Vec<f64> {
        match self {
            Self::ChangePoint(model) => model.change_points(),
            Self::DegreeDays(_) => Vec::new(),
        }
    }

    /// Base and slopes.
    pub fn coefficients(&self) -> &[f64] {
        match self {
            Self::ChangePoint(model) => model.coefficients(),
            Self::DegreeDays(model) => &model.fit().coefficients,
        }
    }

    /// Sum of the squared residuals, of bills weighted by their days.
    pub fn sse(&self) -> f64 {
        match self {
            Self::ChangePoint(model) => model.sse(),
            Self::DegreeDays(model) => model.fit().sse,
        }
    }

    /// What drives the energy of a row: its temperature and the columns beside it, or its degree days a day.
    pub fn drivers(&self, frame: &DailyFrame, row: usize) -> Vec<f64> {
        match self {
            Self::ChangePoint(model) => {
                let of_row = |column: &[f64]| column.get(row).copied().unwrap_or(f64::NAN);
                let further = frame.drivers.iter().take(model.drivers());
                [of_row(&frame.temperature)]
                    .into_iter()
                    .chain(further.map(|column| of_row(column)))
                    .collect()
            }
            Self::DegreeDays(model) => model.drivers(frame, row),
        }
    }

    /// The columns of the design for these drivers.
    pub fn terms(&self, drivers: &[f64]) -> Vec<f64> {
        match self {
            Self::ChangePoint(model) => {
                let mut terms = model.terms(drivers.first().copied().unwrap_or(f64::NAN));
                terms.extend(drivers.iter().skip(1));
                terms
            }
            Self::DegreeDays(_) => [1.0].into_iter().chain(drivers.iter().copied()).collect(),
        }
    }

    /// Energy a day of a row with these drivers.
    pub fn at(&self, drivers: &[f64]) -> f64 {
        dot(&self.terms(drivers), self.coefficients())
    }

    /// Energy a day of each row.
    pub fn over(&self, frame: &DailyFrame) -> Vec<f64> {
        (0..frame.len())
            .map(|row| self.at(&self.drivers(frame, row)))
            .collect()
    }

    /// `gᵀ (XᵀX)⁺ g` for sums of terms.
    pub fn variance_of(&self, sums: &[f64]) -> f64 {
        match self {
            Self::ChangePoint(model) => model.variance_of(sums),
            Self::DegreeDays(model) => model.fit().variance_of(sums),
        }
    }

    /// Bases of the degree days in °F, heating before cooling; none of other models.
    pub fn bases(&self) -> Option<(Option<f64>, Option<f64>)> {
        match self {
            Self::ChangePoint(_) => None,
            Self::DegreeDays(model) => Some((
                (model.kind() != DegreeDayKind::Cooling).then(|| model.heating_base()),
                (model.kind() != DegreeDayKind::Heating).then(|| model.cooling_base()),
            )),
        }
    }
}

impl From<ChangePointModel> for BaselineModel {
    fn from(model: ChangePointModel) -> Self {
        Self::ChangePoint(model)
    }
}
