//! A model with an indicator of the days of an event (M&V §9.1).

use crate::mv::change_point::{ChangePointModel, scaled};
use crate::mv::daily::DailyFrame;
use crate::mv::least_squares::{LeastSquares, dot};
use crate::mv::ledger::{LedgerEntry, LedgerRefusal};
use crate::mv::model::BaselineModel;
use crate::mv::statistics::lag_one;
use crate::numeric::share_of;

/// Fewest rows of an indicator's period inside, and outside, of its event.
const FEWEST_ROWS: usize = 2;

/// A model with an indicator of the days of an event.
pub(super) struct IndicatorFit {
    model: FittedBeside,
    /// Energy a day of the event.
    pub rate: f64,
    pub rate_error: f64,
    /// Variance of a residual, widened for autocorrelation.
    pub scatter: f64,
    pub degrees_of_freedom: usize,
    /// Share of the fitted days that belong to the event.
    pub event_share: f64,
}

enum FittedBeside {
    /// Change points searched again.
    ChangePoint(BaselineModel),
    /// At the bases of the baseline.
    DegreeDays(BaselineModel, LeastSquares),
}

impl IndicatorFit {
    pub fn of(
        model: &BaselineModel,
        rows: &DailyFrame,
        entry: &LedgerEntry,
    ) -> Result<Self, LedgerRefusal> {
        let indicator: Vec<f64> = rows
            .days
            .iter()
            .map(|day| f64::from(u8::from(entry.covers(*day))))
            .collect();
        let inside = indicator.iter().filter(|value| **value > 0.0).count();
        let outside = rows.len() - inside;
        if inside < FEWEST_ROWS || outside < FEWEST_ROWS {
            return Err(LedgerRefusal::TooFewRows { inside, outside });
        }
        let weights = rows.weights();
        let fitted =
            beside(model, rows, weights.as_deref(), &indicator).ok_or(LedgerRefusal::NotFitted)?;
        let parameters = model.parameters() + 1;
        let degrees_of_freedom = rows.len().saturating_sub(parameters);
        if degrees_of_freedom == 0 {
            return Err(LedgerRefusal::NotFitted);
        }
        let residuals: Vec<f64> = (0..rows.len())
            .zip(&rows.energy)
            .zip(&indicator)
            .map(|((row, energy), inside)| {
                let mut terms = fitted.terms(rows, row);
                terms.push(*inside);
                energy - dot(&terms, fitted.coefficients())
            })
            .collect();
        let rho = lag_one(&rows.days, &residuals).unwrap_or(0.0);
        let scatter = (1.0 + rho) / (1.0 - rho) * fitted.sse() / share_of(degrees_of_freedom);
        let rate = fitted.coefficients().last().copied().unwrap_or(f64::NAN);
        let mut own = vec![0.0; fitted.coefficients().len()];
        if let Some(last) = own.last_mut() {
            *last = 1.0;
        }
        let rate_error = (scatter * fitted.variance_of(&own)).sqrt();
        if !(rate.is_finite() && rate_error.is_finite()) {
            return Err(LedgerRefusal::NotFitted);
        }
        Ok(Self {
            model: fitted,
            rate,
            rate_error,
            scatter,
            degrees_of_freedom,
            event_share: event_days(rows, entry) / rows.total_days(),
        })
    }

    /// Energy of rows, with the event where it goes on among them, and the sums of their terms.
    pub fn projected(&self, rows: &DailyFrame, entry: &LedgerEntry) -> (f64, Vec<f64>) {
        self.summed(rows, &|day| entry.covers(day))
    }

    /// Energy of rows as if there were no event, and the sums of their terms.
    pub fn without_event(&self, rows: &DailyFrame) -> (f64, Vec<f64>) {
        self.summed(rows, &|_| false)
    }

    fn summed(&self, rows: &DailyFrame, is_event: &dyn Fn(i64) -> bool) -> (f64, Vec<f64>) {
        let coefficients = self.model.coefficients();
        let mut sums = vec![0.0; coefficients.len()];
        for (row, day) in rows.days.iter().enumerate() {
            let days = rows.service_days(row);
            let mut terms = self.model.terms(rows, row);
            terms.push(f64::from(u8::from(is_event(*day))));
            for (sum, term) in sums.iter_mut().zip(terms) {
                *sum += days * term;
            }
        }
        (dot(&sums, coefficients), sums)
    }

    pub fn variance_of(&self, sums: &[f64]) -> f64 {
        self.model.variance_of(sums)
    }
}

/// Days of the rows that belong to an event.
pub(super) fn event_days(rows: &DailyFrame, entry: &LedgerEntry) -> f64 {
    days_of(rows, &|day| entry.covers(day))
}

/// Days of the rows of which the first midnight is one of some.
pub(super) fn days_of(rows: &DailyFrame, is_of: &dyn Fn(i64) -> bool) -> f64 {
    let days = rows.days.iter().enumerate();
    days.filter(|(_, day)| is_of(**day))
        .map(|(row, _)| rows.service_days(row))
        .sum()
}

fn beside(
    model: &BaselineModel,
    rows: &DailyFrame,
    weights: Option<&[f64]>,
    indicator: &[f64],
) -> Option<FittedBeside> {
    match model {
        BaselineModel::ChangePoint(model) => {
            let further: Vec<&[f64]> = rows
                .drivers
                .iter()
                .take(model.drivers())
                .map(Vec::as_slice)
                .chain([indicator])
                .collect();
            let (temperature, energy) = (&rows.temperature, &rows.energy);
            ChangePointModel::beside(model.kind(), temperature, energy, weights, &further)
                .map(|model| FittedBeside::ChangePoint(model.into()))
        }
        BaselineModel::DegreeDays(_) => {
            let scale = |column: Vec<f64>| scaled(column, weights);
            let terms: Vec<Vec<f64>> = (0..rows.len())
                .map(|row| model.terms(&model.drivers(rows, row)))
                .collect();
            let width = terms.first().map_or(0, Vec::len);
            let mut columns: Vec<Vec<f64>> = (0..width)
                .map(|column| {
                    let values = terms.iter().filter_map(|row| row.get(column).copied());
                    scale(values.collect())
                })
                .collect();
            columns.push(scale(indicator.to_vec()));
            let design: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
            let fit = LeastSquares::fit(&design, &scale(rows.energy.clone()))?;
            Some(FittedBeside::DegreeDays(model.clone(), fit))
        }
    }
}

impl FittedBeside {
    fn coefficients(&self) -> &[f64] {
        match self {
            Self::ChangePoint(model) => model.coefficients(),
            Self::DegreeDays(_, fit) => &fit.coefficients,
        }
    }

    fn sse(&self) -> f64 {
        match self {
            Self::ChangePoint(model) => model.sse(),
            Self::DegreeDays(_, fit) => fit.sse,
        }
    }

    fn variance_of(&self, sums: &[f64]) -> f64 {
        match self {
            Self::ChangePoint(model) => model.variance_of(sums),
            Self::DegreeDays(_, fit) => fit.variance_of(sums),
        }
    }

    /// Without the indicator.
    fn terms(&self, rows: &DailyFrame, row: usize) -> Vec<f64> {
        match self {
            Self::ChangePoint(model) | Self::DegreeDays(model, _) => {
                model.terms(&model.drivers(rows, row))
            }
        }
    }
}
