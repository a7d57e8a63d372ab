//! A saving with the entries of a ledger applied to it (M&V §9.1): by forecast here, by [`other_methods`] there.

mod indicator;
pub mod other_methods;

use self::indicator::{IndicatorFit, event_days};
use self::other_methods::projected_share_from;
use super::baseline::Baseline;
use super::daily::DailyFrame;
use super::forecast::{Kernel, Projection, student_t};
use super::ledger::{Change, Ledger, LedgerEntry, LedgerRefusal};
use crate::numeric::{round, share_of};

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
        let Some(kept) = without_excluded(&self.reporting, ledger)? else {
            return Ok(());
        };
        let all = self.reporting.len();
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
        self.caveats.push(excluded_caveat(all, kept.len()));
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
                let event = event_days(&self.reporting, entry);
                self.totals
                    .add(fit.rate * event, event * fit.rate_error, ledger);
                let own = fit.degrees_of_freedom;
                self.totals.degrees_of_freedom = self.totals.degrees_of_freedom.min(own);
            }
            change @ Change::Proportional { .. } => {
                let projection = Projection::of(self.saving.baseline, &self.reporting);
                let weight = projected_share_from(&projection, entry.start);
                if let Some(part) = Proportion::of(change, weight, self.totals.baseline) {
                    self.totals.variance =
                        self.totals.variance * part.scale().powi(2) + part.variance;
                    self.totals.baseline += part.amount;
                    let own = part.variance.sqrt();
                    self.totals.count(part.amount, own, ledger);
                }
            }
        }
        Ok(())
    }

    fn told(self, ledger: &Ledger) -> Adjusted {
        let caveats = self.caveats.into_iter().chain(metered_caveats(ledger));
        self.totals.told(ledger, caveats.collect())
    }
}

/// What is said of entries that the meter itself tells.
fn metered_caveats(ledger: &Ledger) -> Vec<String> {
    let mut caveats = Vec::new();
    let has = |kind: fn(&Change) -> bool| ledger.entries.iter().any(|entry| kind(&entry.change));
    if has(|change| *change == Change::Indicator) {
        caveats.push(
            "the standard error of an indicator takes the change points of the model for given"
                .to_owned(),
        );
    }
    if has(Change::is_metered) {
        caveats.push(
            "an adjustment is taken from the meter whose saving it adjusts; a meter cannot judge a change of its own site \
             (IPMVP 2012 §8.2), so reckon or sub-meter it where you can"
                .to_owned(),
        );
    }
    caveats
}

/// Whether a day is one that an entry excludes.
fn is_excluded(ledger: &Ledger, day: i64) -> bool {
    let mut entries = ledger.entries.iter();
    entries.any(|entry| entry.change == Change::Exclude && entry.covers(day))
}

/// The rows that no entry excludes; none when no entry excludes any.
///
/// # Errors
/// Nothing is left.
fn without_excluded(
    rows: &DailyFrame,
    ledger: &Ledger,
) -> Result<Option<DailyFrame>, LedgerRefusal> {
    let mut entries = ledger.entries.iter();
    if !entries.any(|entry| entry.change == Change::Exclude) {
        return Ok(None);
    }
    let kept = rows.kept(|row| {
        rows.days
            .get(row)
            .is_some_and(|day| !is_excluded(ledger, *day))
    });
    match kept.is_empty() {
        true => Err(LedgerRefusal::NothingLeft),
        false => Ok(Some(kept)),
    }
}

fn excluded_caveat(all: usize, kept: usize) -> String {
    format!(
        "{} of {all} rows are excluded as not routine: the adjusted saving is that of the others",
        all - kept
    )
}

/// What a static factor makes of the share of the energy that follows it.
#[derive(Debug, Clone, Copy)]
struct Proportion {
    /// By what the affected energy is multiplied.
    factor: f64,
    /// Share of all energy that is affected.
    weight: f64,
    amount: f64,
    /// Of the factor's own errors.
    variance: f64,
}

impl Proportion {
    /// Of a change that affects this share of an energy; none for other changes.
    fn of(change: &Change, weight: f64, energy: f64) -> Option<Self> {
        let Change::Proportional {
            ratio,
            ratio_error,
            share,
            share_error,
        } = change
        else {
            return None;
        };
        let affected = weight * energy;
        let factor = 1.0 + (ratio - 1.0) * share;
        Some(Self {
            factor,
            weight,
            amount: (factor - 1.0) * affected,
            variance: (affected * share * ratio_error).powi(2)
                + (affected * (ratio - 1.0) * share_error).powi(2),
        })
    }

    /// By what a standard error of the whole energy is multiplied.
    fn scale(self) -> f64 {
        1.0 + (self.factor - 1.0) * self.weight
    }
}

/// Variance of a projected total, with the scatter of its rows; the autocorrelation is the one that is told.
fn variance(projection: &Projection<'_>) -> f64 {
    let parameters = projection.baseline.model.variance_of(&projection.terms);
    let rho = round(projection.baseline.rho.unwrap_or(0.0), 4);
    projection.scatter_with(rho) * (parameters + projection.scatters())
}

#[cfg(test)]
mod tests;
