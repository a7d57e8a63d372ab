//! The figures of a saving that a ledger adjusts (M&V §9).

use serde_json::Value;

use super::adjustments::other_methods::{self, OtherSaving};
use super::adjustments::{Adjusted, Unadjusted};
use super::baseline::Baseline;
use super::daily::DailyFrame;
use super::forecast::ForecastSaving;
use super::ledger::{Ledger, LedgerRefusal};
use super::methods::MethodSaving;
use super::rows::{MeterContext, MvFinding};
use crate::numeric::round;
use crate::run_config::mv_units::MeterUnit;
use crate::run_config::{MvEntry, MvMethod};

/// Sets the adjusted figures of a row, or why the ledger was refused; an empty ledger leaves the row as it is.
fn apply(
    row: &mut MvFinding,
    unit: Option<&MeterUnit>,
    ledger: &Ledger,
    adjusted: impl FnOnce() -> Result<Adjusted, LedgerRefusal>,
) {
    if ledger.is_empty() {
        return;
    }
    match adjusted() {
        Ok(adjusted) => told(row, unit, &adjusted),
        Err(refusal) => {
            let reason = refusal.to_string();
            row.verdict
                .metrics
                .set("adjusted", Value::Null)
                .set("adjustments_refused", reason.clone());
            row.verdict
                .summary
                .push_str("; the adjustments are refused");
            row.verdict
                .caveats
                .push(format!("no adjustment was applied: {reason}"));
        }
    }
}

/// Adjusts the row of a saving by forecast.
pub fn forecast(
    row: &mut MvFinding,
    entry: &MvEntry,
    context: &MeterContext<'_>,
    reporting: &DailyFrame,
    saving: &ForecastSaving,
) {
    let Ok(totals) = &saving.totals else {
        return decline(row, &entry.ledger);
    };
    let unadjusted = Unadjusted {
        baseline: context.baseline,
        fitted: context.fitted,
        reporting,
        kernel: saving.kernel,
        projected: totals.projected,
        actual: saving.actual,
        band: totals.uncertainty,
        reporting_start: entry
            .terms
            .reporting
            .map_or(i64::MIN, |period| period.start),
    };
    let adjusted = || Adjusted::of(unadjusted, &entry.ledger);
    apply(row, context.unit, &entry.ledger, adjusted);
}

/// What a saving by another method was told with.
#[derive(Clone, Copy)]
pub struct ToldWith<'a> {
    /// Of the reporting period, or of the one between.
    pub model: &'a Baseline,
    pub reporting: &'a DailyFrame,
    /// Of standard conditions; others need none.
    pub normal_year: Option<&'a DailyFrame>,
}

/// Adjusts the row of a saving by another method.
pub fn method(
    row: &mut MvFinding,
    entry: &MvEntry,
    context: &MeterContext<'_>,
    saving: &MethodSaving,
    with: ToldWith<'_>,
) {
    let Ok(totals) = &saving.totals else {
        return decline(row, &entry.ledger);
    };
    let terms = &entry.terms;
    let sides = match terms.method {
        MvMethod::StandardConditions => saving
            .projected
            .map(|projected| (projected, projected - totals.savings)),
        _ => saving.measured.zip(saving.projected),
    };
    let other = OtherSaving {
        baseline: context.baseline,
        fitted: context.fitted,
        model: with.model,
        reporting: with.reporting,
        kernel: terms.kernel,
        sides: sides.unwrap_or_default(),
        band: totals.uncertainty,
        reporting_start: terms.reporting.map_or(i64::MIN, |period| period.start),
    };
    let ledger = &entry.ledger;
    let adjusted = || match (terms.method, with.normal_year, terms.intermediate) {
        (MvMethod::StandardConditions, Some(year), _) => {
            other_methods::standard_conditions(other, year, ledger)
        }
        (MvMethod::Chaining, _, Some(between)) => other_methods::chaining(other, between, ledger),
        _ => other_methods::backcast(other, ledger),
    };
    apply(row, context.unit, ledger, adjusted);
}

/// A declined saving has nothing to adjust.
fn decline(row: &mut MvFinding, ledger: &Ledger) {
    if !ledger.is_empty() {
        row.verdict.metrics.set("adjusted", Value::Null);
    }
}

fn told(row: &mut MvFinding, unit: Option<&MeterUnit>, adjusted: &Adjusted) {
    let factor = unit
        .and_then(|unit| unit.report)
        .map(|report| report.factor);
    let energy = |value: f64| factor.map_or(value, |factor| round(value * factor, 2));
    row.verdict
        .metrics
        .set("adjusted", true)
        .number("adjusted_savings", energy(adjusted.savings))
        .number_or_null("adjusted_savings_pct", adjusted.savings_share)
        .number_or_null("adjusted_abs_uncertainty", adjusted.uncertainty.map(energy))
        .number("adjusted_baseline", energy(adjusted.baseline))
        .number_or_null("adjusted_enpi", adjusted.enpi)
        .number_or_null("adjusted_enpi_uncertainty", adjusted.enpi_uncertainty);
    let band = match adjusted.uncertainty {
        Some(band) => format!(" ± {}", energy(band)),
        None => String::new(),
    };
    let includes_zero = adjusted
        .uncertainty
        .is_some_and(|band| band >= adjusted.savings.abs());
    let zero = match includes_zero {
        true => ", a band that includes zero",
        false => "",
    };
    row.verdict.summary.push_str(&format!(
        "; with {} entries of the ledger ({} of them material) {}{band}{zero}",
        adjusted.entries,
        adjusted.material,
        energy(adjusted.savings),
    ));
    row.verdict.caveats.extend(adjusted.caveats.iter().cloned());
}
