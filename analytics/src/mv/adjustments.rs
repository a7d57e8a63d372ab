//! A saving with the entries of a ledger applied to it (M&V §9.1).

use super::baseline::Baseline;
use super::change_point::ChangePointModel;
use super::daily::DailyFrame;
use super::forecast::{Kernel, Projection, student_t};
use super::least_squares::{LeastSquares, dot};
use super::ledger::{Change, Ledger, LedgerEntry, LedgerRefusal};
use super::model::BaselineModel;
use super::statistics::lag_one;
use crate::numeric::{round, share_of};

/// Fewest rows of an indicator's period inside, and outside, of its event.
const FEWEST_ROWS: usize = 2;

/// A saving by forecast that is to be adjusted; energies and band as they are told.
#[derive(Debug, Clone, Copy)]
pub struct Unadjusted<'a> {
    pub baseline: &'a Baseline,
    /// Rows that the baseline was fitted on.
    pub fitted: &'a DailyFrame,
    /// Rows of the reporting period that count.
    pub reporting: &'a DailyFrame,
    pub kernel: Kernel,
    /// Energy that the baseline projects.
    pub projected: f64,
    pub actual: f64,
    /// Half the width of the band.
    pub band: Option<f64>,
    /// First stamp of the reporting period.
    pub reporting_start: i64,
}

/// What a ledger makes of a saving, rounded as it is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Adjusted {
    /// Projected, with all entries.
    pub baseline: f64,
    pub savings: f64,
    /// Share of the adjusted baseline; none when that is 0.
    pub savings_share: Option<f64>,
    /// Half the width of the band.
    pub uncertainty: Option<f64>,
    pub enpi: Option<f64>,
    pub enpi_uncertainty: Option<f64>,
    /// Entries that count.
    pub entries: usize,
    /// Entries that are large enough to matter.
    pub material: usize,
    pub caveats: Vec<String>,
}

impl Adjusted {
    /// Applies a ledger to a saving by forecast.
    ///
    /// # Errors
    /// The whole ledger is refused, because one entry is.
    pub fn of(saving: Unadjusted<'_>, ledger: &Ledger) -> Result<Self, LedgerRefusal> {
        ledger.check()?;
        let mut running = Running::start(saving)?;
        running.exclude(ledger)?;
        running.replace_projection(ledger)?;
        for entry in &ledger.entries {
            running.apply(entry, ledger)?;
        }
        Ok(running.told(ledger))
    }

    /// Applies entries that need no rows, as to savings under standard conditions.
    ///
    /// # Errors
    /// The whole ledger is refused, because one entry is.
    pub fn of_totals(
        (baseline, reported): (f64, f64),
        band: Option<f64>,
        degrees_of_freedom: usize,
        method: &'static str,
        ledger: &Ledger,
    ) -> Result<Self, LedgerRefusal> {
        ledger.check()?;
        let t = student_t(degrees_of_freedom);
        let mut totals = Totals {
            baseline,
            reported,
            variance: (band.ok_or(LedgerRefusal::NoBand)? / t).powi(2),
            degrees_of_freedom,
            material: 0,
        };
        for entry in &ledger.entries {
            match &entry.change {
                Change::Amount { amount, error } => totals.add(*amount, *error, ledger),
                Change::Proportional { .. } => {
                    return Err(LedgerRefusal::NoDates("proportional", method));
                }
                Change::Indicator => return Err(LedgerRefusal::NoDates("indicator", method)),
                Change::Exclude => return Err(LedgerRefusal::NoDates("exclude", method)),
            }
        }
        Ok(totals.told(ledger, Vec::new()))
    }
}

/// Sums while entries are applied.
#[derive(Debug, Clone, Copy)]
struct Totals {
    baseline: f64,
    reported: f64,
    variance: f64,
    degrees_of_freedom: usize,
    material: usize,
}

impl Totals {
    fn add(&mut self, amount: f64, error: f64, ledger: &Ledger) {
        self.baseline += amount;
        self.variance += error * error;
        self.count(amount, error, ledger);
    }

    fn count(&mut self, amount: f64, error: f64, ledger: &Ledger) {
        self.material += usize::from(amount.abs() >= ledger.materiality.max(2.0 * error));
    }

    fn told(self, ledger: &Ledger, caveats: Vec<String>) -> Adjusted {
        let finite = |value: f64, decimals| value.is_finite().then(|| round(value, decimals));
        let over_baseline = |value: f64| {
            if self.baseline == 0.0 {
                f64::NAN
            } else {
                value / self.baseline
            }
        };
        let band = student_t(self.degrees_of_freedom) * self.variance.sqrt();
        let enpi = over_baseline(self.reported);
        Adjusted {
            baseline: round(self.baseline, 2),
            savings: round(self.baseline - self.reported, 2),
            savings_share: finite(1.0 - enpi, 4),
            uncertainty: finite(band, 2),
            enpi: finite(enpi, 6),
            enpi_uncertainty: finite(enpi.abs() * over_baseline(band).abs(), 6),
            entries: ledger.entries.len(),
            material: self.material,
            caveats,
        }
    }
}

/// A saving while entries are applied.
struct Running<'a> {
    saving: Unadjusted<'a>,
    reporting: DailyFrame,
    totals: Totals,
    caveats: Vec<String>,
}

impl<'a> Running<'a> {
    fn start(saving: Unadjusted<'a>) -> Result<Self, LedgerRefusal> {
        let degrees_of_freedom = saving.baseline.model.degrees_of_freedom();
        let band = saving.band.ok_or(LedgerRefusal::NoBand)?;
        Ok(Self {
            reporting: saving.reporting.clone(),
            totals: Totals {
                baseline: saving.projected,
                reported: saving.actual,
                variance: (band / student_t(degrees_of_freedom)).powi(2),
                degrees_of_freedom,
                material: 0,
            },
            saving,
            caveats: Vec::new(),
        })
    }

    /// Takes the rows of excluded events from both sides.
    fn exclude(&mut self, ledger: &Ledger) -> Result<(), LedgerRefusal> {
        let excluded = |day: i64| {
            let mut entries = ledger.entries.iter();
            entries.any(|entry| entry.change == Change::Exclude && entry.covers(day))
        };
        if !ledger
            .entries
            .iter()
            .any(|entry| entry.change == Change::Exclude)
        {
            return Ok(());
        }
        let all = self.reporting.len();
        let days = self.reporting.days.clone();
        let kept = self
            .reporting
            .kept(|row| days.get(row).is_some_and(|day| !excluded(*day)));
        if kept.is_empty() {
            return Err(LedgerRefusal::NothingLeft);
        }
        let before = Projection::of(self.saving.baseline, &self.reporting);
        let after = Projection::of(self.saving.baseline, &kept);
        self.totals.variance = match self.saving.kernel {
            Kernel::Exact => variance(&after),
            Kernel::Guideline14 => {
                self.totals.variance * (after.projected / before.projected).powi(2) * share_of(all)
                    / share_of(kept.len())
            }
        };
        self.totals.baseline -= before.projected - after.projected;
        self.totals.reported -= before.actual - after.actual;
        self.caveats.push(format!(
            "{} of {all} rows are excluded as not routine: the adjusted saving is that of the others",
            all - kept.len()
        ));
        self.reporting = kept;
        Ok(())
    }

    /// Replaces the projection by that of a fit with an indicator on the baseline period.
    fn replace_projection(&mut self, ledger: &Ledger) -> Result<(), LedgerRefusal> {
        let mut of_baseline = ledger
            .entries
            .iter()
            .filter(|entry| self.is_of_baseline(entry));
        let Some(entry) = of_baseline.next() else {
            return Ok(());
        };
        if of_baseline.next().is_some() {
            return Err(LedgerRefusal::TwoOfBaseline);
        }
        let fit = IndicatorFit::of(&self.saving.baseline.model, self.saving.fitted, entry)?;
        let (projected, sums) = fit.projected(&self.reporting, entry);
        let parameters = fit.variance_of(&sums);
        let mean_days = self.saving.fitted.total_days() / share_of(self.saving.fitted.len());
        self.totals.variance = fit.scatter * (parameters + mean_days * self.reporting.total_days());
        let amount = projected - self.totals.baseline;
        self.totals.baseline = projected;
        self.totals.degrees_of_freedom = fit.degrees_of_freedom;
        self.totals.count(amount, fit.rate_error, ledger);
        Ok(())
    }

    fn is_of_baseline(&self, entry: &LedgerEntry) -> bool {
        entry.change == Change::Indicator && entry.start < self.saving.reporting_start
    }

    fn apply(&mut self, entry: &LedgerEntry, ledger: &Ledger) -> Result<(), LedgerRefusal> {
        match &entry.change {
            Change::Exclude => {}
            Change::Amount { amount, error } => self.totals.add(*amount, *error, ledger),
            Change::Indicator if self.is_of_baseline(entry) => {}
            Change::Indicator => {
                let rows = self.saving.reporting;
                let fit = IndicatorFit::of(&self.saving.baseline.model, rows, entry)?;
                let days = self.reporting.days.iter().enumerate();
                let event: f64 = days
                    .filter(|(_, day)| entry.covers(**day))
                    .map(|(row, _)| self.reporting.service_days(row))
                    .sum();
                self.totals
                    .add(fit.rate * event, event * fit.rate_error, ledger);
                let own = fit.degrees_of_freedom;
                self.totals.degrees_of_freedom = self.totals.degrees_of_freedom.min(own);
            }
            Change::Proportional {
                ratio,
                ratio_error,
                share,
                share_error,
            } => {
                let weight = self.projected_share_from(entry.start);
                let affected = weight * self.totals.baseline;
                let factor = 1.0 + (ratio - 1.0) * share;
                let own = (affected * share * ratio_error).powi(2)
                    + (affected * (ratio - 1.0) * share_error).powi(2);
                let amount = (factor - 1.0) * affected;
                self.totals.variance =
                    self.totals.variance * (1.0 + (factor - 1.0) * weight).powi(2) + own;
                self.totals.baseline += amount;
                self.totals.count(amount, own.sqrt(), ledger);
            }
        }
        Ok(())
    }

    /// Share of the projected energy of days from a stamp on.
    fn projected_share_from(&self, start: i64) -> f64 {
        let model = &self.saving.baseline.model;
        let (mut later, mut all) = (0.0, 0.0);
        for (row, day) in self.reporting.days.iter().enumerate() {
            let projected =
                model.at(&model.drivers(&self.reporting, row)) * self.reporting.service_days(row);
            all += projected;
            if *day >= start {
                later += projected;
            }
        }
        if all == 0.0 { 0.0 } else { later / all }
    }

    fn told(self, ledger: &Ledger) -> Adjusted {
        let mut caveats = self.caveats;
        let has =
            |kind: fn(&Change) -> bool| ledger.entries.iter().any(|entry| kind(&entry.change));
        if has(|change| *change == Change::Indicator) {
            caveats.push(
                "the standard error of an indicator takes the change points of the model for given"
                    .to_owned(),
            );
        }
        if has(Change::is_metered) {
            caveats.push(
                "an adjustment is taken from the meter whose saving it adjusts; a meter cannot judge a change of its own \
                 site (IPMVP 2012 §8.2), so reckon or sub-meter it where you can"
                    .to_owned(),
            );
        }
        self.totals.told(ledger, caveats)
    }
}

/// Variance of a projected total, with the scatter of its rows; the autocorrelation is the one that is told.
fn variance(projection: &Projection<'_>) -> f64 {
    let parameters = projection.baseline.model.variance_of(&projection.terms);
    let rho = round(projection.baseline.rho.unwrap_or(0.0), 4);
    projection.scatter_with(rho) * (parameters + projection.scatters())
}

/// A model with an indicator of the days of an event.
struct IndicatorFit {
    model: FittedBeside,
    /// Energy a day of the event.
    rate: f64,
    rate_error: f64,
    /// Variance of a residual, widened for autocorrelation.
    scatter: f64,
    degrees_of_freedom: usize,
}

enum FittedBeside {
    /// Change points searched again.
    ChangePoint(BaselineModel),
    /// At the bases of the baseline.
    DegreeDays(BaselineModel, LeastSquares),
}

impl IndicatorFit {
    fn of(
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
        })
    }

    /// Energy of rows, with the event where it goes on among them, and the sums of their terms.
    fn projected(&self, rows: &DailyFrame, entry: &LedgerEntry) -> (f64, Vec<f64>) {
        let coefficients = self.model.coefficients();
        let mut sums = vec![0.0; coefficients.len()];
        for (row, day) in rows.days.iter().enumerate() {
            let days = rows.service_days(row);
            let mut terms = self.model.terms(rows, row);
            terms.push(f64::from(u8::from(entry.covers(*day))));
            for (sum, term) in sums.iter_mut().zip(terms) {
                *sum += days * term;
            }
        }
        (dot(&sums, coefficients), sums)
    }

    fn variance_of(&self, sums: &[f64]) -> f64 {
        self.model.variance_of(sums)
    }
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
            let scale = |column: Vec<f64>| super::change_point::scaled(column, weights);
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

#[cfg(test)]
mod tests;
