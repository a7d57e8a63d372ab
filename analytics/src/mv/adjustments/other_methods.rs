//! Ledgers on savings that are not told by forecast (M&V §9.1): backcast, standard conditions, chaining.
//!
//! Rows of a baseline, or of a normal year, have no dates of the reporting period: an entry counts for the share of the
//! reporting days on which it goes on.

use super::indicator::{IndicatorFit, days_of};
use super::{Adjusted, Proportion, excluded_caveat, metered_caveats, variance, without_excluded};
use crate::mv::baseline::Baseline;
use crate::mv::daily::DailyFrame;
use crate::mv::forecast::{Kernel, Projection, student_t};
use crate::mv::ledger::{Change, Ledger, LedgerEntry, LedgerRefusal};
use crate::mv::methods::{known_rhos, parameter_variance};
use crate::numeric::{round, share_of};
use crate::run_config::Period;

/// A saving by another method that is to be adjusted.
#[derive(Debug, Clone, Copy)]
pub struct OtherSaving<'a> {
    pub baseline: &'a Baseline,
    /// Rows that the baseline was fitted on.
    pub fitted: &'a DailyFrame,
    /// The model that was fitted for the method: of the reporting period, or of the one between.
    pub model: &'a Baseline,
    pub reporting: &'a DailyFrame,
    pub kernel: Kernel,
    /// Energy of the baseline's side and of the reporting side, as they are told.
    pub sides: (f64, f64),
    /// Half the width of the band.
    pub band: Option<f64>,
    /// First stamp of the reporting period.
    pub reporting_start: i64,
}

/// Days of the reporting rows from a stamp on, as a share of all.
fn share_from(reporting: &DailyFrame, start: i64) -> f64 {
    days_of(reporting, &|day| day >= start) / reporting.total_days()
}

fn is_material(amount: f64, error: f64, ledger: &Ledger) -> usize {
    usize::from(amount.abs() >= ledger.materiality.max(2.0 * error))
}

/// What is told of both sides.
struct Told {
    baseline: f64,
    reported: f64,
    band: f64,
    enpi: f64,
    enpi_uncertainty: Option<f64>,
    material: usize,
}

impl Told {
    fn adjusted(self, ledger: &Ledger, caveats: Vec<String>) -> Adjusted {
        let finite = |value: f64, decimals| value.is_finite().then(|| round(value, decimals));
        Adjusted {
            baseline: round(self.baseline, 2),
            savings: round(self.baseline - self.reported, 2),
            savings_share: finite(1.0 - self.enpi, 4),
            uncertainty: finite(self.band, 2),
            enpi: finite(self.enpi, 6),
            enpi_uncertainty: self.enpi_uncertainty.and_then(|band| finite(band, 6)),
            entries: ledger.entries.len(),
            material: self.material,
            caveats: caveats.into_iter().chain(metered_caveats(ledger)).collect(),
        }
    }
}

/// A ledger on a saving by backcast: the baseline is measured, the reporting model is projected.
///
/// # Errors
/// The whole ledger is refused, because one entry is.
pub fn backcast(saving: OtherSaving<'_>, ledger: &Ledger) -> Result<Adjusted, LedgerRefusal> {
    ledger.check()?;
    let (model, reporting) = (saving.model, saving.reporting);
    let indicators = || {
        let entries = ledger.entries.iter();
        entries.filter(|entry| entry.change == Change::Indicator)
    };
    if indicators().any(|entry| entry.start < saving.reporting_start) {
        return Err(LedgerRefusal::MeasuredBaseline);
    }
    let mut free = model.model.degrees_of_freedom();
    let mut variance_now = (saving.band.ok_or(LedgerRefusal::NoBand)? / student_t(free)).powi(2);
    let (mut baseline, mut reported) = saving.sides;
    let mut caveats = Vec::new();
    let mut rows = saving.fitted.clone();
    if let Some(kept) = without_excluded(&rows, ledger)? {
        let before = Projection::of(model, &rows);
        let after = Projection::of(model, &kept);
        variance_now = match saving.kernel {
            Kernel::Exact => variance(&after),
            Kernel::Guideline14 => {
                variance_now * (after.projected / before.projected).powi(2) * share_of(rows.len())
                    / share_of(kept.len())
            }
        };
        baseline -= before.actual - after.actual;
        reported -= before.projected - after.projected;
        caveats.push(excluded_caveat(rows.len(), kept.len()));
        rows = kept;
    }
    let days = rows.total_days();
    // A single event is taken out of the reporting model; several are told beside it, at the width of the model with them.
    let mut refitted = None;
    if let (Some(entry), 1) = (indicators().next(), indicators().count()) {
        let fit = IndicatorFit::of(&model.model, reporting, entry)?;
        let (projected, sums) = fit.without_event(&rows);
        reported = projected + fit.rate * fit.event_share * days;
        variance_now = fit.scatter * (fit.variance_of(&sums) + model.mean_days * days);
        free = fit.degrees_of_freedom;
        caveats.push(
            "the reporting model was fitted again with the indicator; the band is the exact one of that fit"
                .to_owned(),
        );
        refitted = Some(fit);
    }
    let mut material = 0;
    for entry in &ledger.entries {
        let (amount, own) = match &entry.change {
            Change::Exclude => continue,
            Change::Amount { amount, error } => {
                variance_now += error * error;
                (*amount, *error)
            }
            Change::Indicator => match &refitted {
                Some(fit) => {
                    let of_event = fit.event_share * days;
                    (fit.rate * of_event, fit.rate_error * of_event)
                }
                None => {
                    let (amount, own, of_fit) = told_event(model, reporting, entry, days)?;
                    variance_now += own * own;
                    free = free.min(of_fit);
                    (amount, own)
                }
            },
            change @ Change::Proportional { .. } => {
                let weight = share_from(reporting, entry.start);
                let Some(part) = Proportion::of(change, weight, baseline) else {
                    continue;
                };
                // The baseline is measured, so that only the factor's own errors widen the band.
                variance_now += part.variance;
                (part.amount, part.variance.sqrt())
            }
        };
        baseline += amount;
        material += is_material(amount, own, ledger);
    }
    if refitted.is_none() && indicators().next().is_some() {
        caveats.push(
            "several events are told beside the reporting model, which was not fitted again: its band holds their scatter and \
             is too wide rather than too narrow"
                .to_owned(),
        );
    }
    let band = student_t(free) * variance_now.sqrt();
    let enpi = reported / baseline;
    let told = Told {
        baseline,
        reported,
        band,
        enpi,
        enpi_uncertainty: Some(enpi.abs() * band / baseline.abs()),
        material,
    };
    Ok(told.adjusted(ledger, caveats))
}

/// The energy of an event over so many days like those of the reporting period, its standard error, and the degrees of
/// freedom of its fit.
fn told_event(
    model: &Baseline,
    reporting: &DailyFrame,
    entry: &LedgerEntry,
    days: f64,
) -> Result<(f64, f64, usize), LedgerRefusal> {
    let fit = IndicatorFit::of(&model.model, reporting, entry)?;
    let of_event = fit.event_share * days;
    Ok((
        fit.rate * of_event,
        fit.rate_error * of_event,
        fit.degrees_of_freedom,
    ))
}

/// A ledger on a saving under standard conditions: both models are projected on a normal year.
///
/// # Errors
/// The whole ledger is refused, because one entry is.
pub fn standard_conditions(
    saving: OtherSaving<'_>,
    normal_year: &DailyFrame,
    ledger: &Ledger,
) -> Result<Adjusted, LedgerRefusal> {
    ledger.check()?;
    if ledger
        .entries
        .iter()
        .any(|entry| entry.change == Change::Exclude)
    {
        return Err(LedgerRefusal::NoDates("exclude", "standard_conditions"));
    }
    let (mut baseline, reported) = saving.sides;
    let of_baseline = saving.baseline.model.degrees_of_freedom();
    let of_reporting = saving.model.model.degrees_of_freedom();
    let mut free = of_baseline.min(of_reporting);
    let whole = (saving.band.ok_or(LedgerRefusal::NoBand)? / student_t(free)).powi(2);
    let mut caveats = Vec::new();
    let mut has_enpi_band = saving.kernel == Kernel::Exact;
    let (before, after) = match saving.kernel {
        Kernel::Exact => {
            let (rho_before, rho_after, _) = known_rhos(saving.baseline.rho, saving.model.rho);
            let of = |model, rho| parameter_variance(&Projection::of(model, normal_year), rho);
            (of(saving.baseline, rho_before), of(saving.model, rho_after))
        }
        Kernel::Guideline14 => {
            caveats.push(
                "the band was split between the two models as if both were equally uncertain for their energy".to_owned(),
            );
            (baseline.powi(2), reported.powi(2))
        }
    };
    // The told band is that of both sides; how it is divided follows their variances.
    let mut variance_before = whole * before / (before + after);
    let variance_after = whole * after / (before + after);
    let days = normal_year.total_days();
    let is_of_baseline = |entry: &LedgerEntry| {
        entry.change == Change::Indicator && entry.start < saving.reporting_start
    };
    let mut material = 0;
    let mut of_fit = ledger.entries.iter().filter(|entry| is_of_baseline(entry));
    if let Some(entry) = of_fit.next() {
        if of_fit.next().is_some() {
            return Err(LedgerRefusal::TwoOfBaseline);
        }
        let fit = IndicatorFit::of(&saving.baseline.model, saving.fitted, entry)?;
        let (projected, sums) = fit.without_event(normal_year);
        material += is_material(projected - baseline, fit.rate_error, ledger);
        baseline = projected;
        variance_before = fit.scatter * fit.variance_of(&sums);
        free = fit.degrees_of_freedom.min(of_reporting);
        has_enpi_band = true;
    }
    for entry in &ledger.entries {
        let (amount, own) = match &entry.change {
            Change::Exclude => continue,
            Change::Indicator if is_of_baseline(entry) => continue,
            Change::Amount { amount, error } => (*amount, *error),
            Change::Indicator => {
                let (amount, own, of_fit) =
                    told_event(saving.baseline, saving.reporting, entry, days)?;
                free = free.min(of_fit);
                (amount, own)
            }
            change @ Change::Proportional { .. } => {
                let weight = share_from(saving.reporting, entry.start);
                let Some(part) = Proportion::of(change, weight, baseline) else {
                    continue;
                };
                variance_before *= part.scale().powi(2);
                (part.amount, part.variance.sqrt())
            }
        };
        baseline += amount;
        variance_before += own * own;
        material += is_material(amount, own, ledger);
    }
    let t = student_t(free);
    let enpi = reported / baseline;
    let relative = variance_before / baseline.powi(2) + variance_after / reported.powi(2);
    let told = Told {
        baseline,
        reported,
        band: t * (variance_before + variance_after).sqrt(),
        enpi,
        enpi_uncertainty: has_enpi_band.then(|| t * enpi.abs() * relative.sqrt()),
        material,
    };
    Ok(told.adjusted(ledger, caveats))
}

/// One link of a chain: its own baseline's side and reporting side.
struct Link {
    baseline: f64,
    reported: f64,
    /// By what entries multiplied its baseline's side.
    scale: f64,
    /// What the entries' own errors add.
    variance: f64,
}

impl Link {
    fn of(baseline: f64, reported: f64) -> Self {
        Self {
            baseline,
            reported,
            scale: 1.0,
            variance: 0.0,
        }
    }

    fn multiply(&mut self, part: Proportion) {
        self.scale *= part.scale();
        self.variance = self.variance * part.scale().powi(2) + part.variance;
        self.baseline += part.amount;
    }

    fn add(&mut self, amount: f64, error: f64) {
        self.baseline += amount;
        self.variance += error * error;
    }
}

/// A ledger on a chained saving: entries before the intermediate period belong to the link back, those after it to the link
/// forward.
///
/// # Errors
/// The whole ledger is refused, because one entry is.
pub fn chaining(
    saving: OtherSaving<'_>,
    intermediate: Period,
    ledger: &Ledger,
) -> Result<Adjusted, LedgerRefusal> {
    ledger.check()?;
    let model = saving.model;
    let back = Projection::of(model, saving.fitted);
    let forth = Projection::of(model, saving.reporting);
    let mut links = [
        Link::of(back.actual, back.projected),
        Link::of(forth.projected, forth.actual),
    ];
    let [first, second] = &mut links;
    let mut free = model.model.degrees_of_freedom();
    let mut material = 0;
    for (number, entry) in ledger.entries.iter().enumerate() {
        let is_back = entry.start < intermediate.start;
        if !is_back && entry.start <= intermediate.end {
            return Err(LedgerRefusal::Intermediate {
                number,
                reason: entry.reason.clone(),
                period: intermediate.to_string(),
            });
        }
        let link = if is_back { &mut *first } else { &mut *second };
        let (amount, own) = match &entry.change {
            Change::Exclude => return Err(LedgerRefusal::InLink("exclude")),
            Change::Indicator if entry.start < saving.reporting_start => {
                return Err(LedgerRefusal::InLink("indicator"));
            }
            Change::Amount { amount, error } => (*amount, *error),
            Change::Indicator => {
                let (amount, own, of_fit) = told_event(
                    model,
                    saving.reporting,
                    entry,
                    saving.reporting.total_days(),
                )?;
                free = free.min(of_fit);
                (amount, own)
            }
            change @ Change::Proportional { .. } => {
                let weight = match is_back {
                    true => 1.0,
                    false => projected_share_from(&forth, entry.start),
                };
                if let Some(part) = Proportion::of(change, weight, link.baseline) {
                    link.multiply(part);
                    material += is_material(part.amount, part.variance.sqrt(), ledger);
                }
                continue;
            }
        };
        link.add(amount, own);
        material += is_material(amount, own, ledger);
    }
    let scatter = back.scatter();
    let sums = |of_back: f64, of_forth: f64| -> f64 {
        let pairs = back.terms.iter().zip(&forth.terms);
        let apart: Vec<f64> = pairs.map(|(b, f)| of_forth * f - of_back * b).collect();
        model.model.variance_of(&apart)
    };
    let noise = |of_back: f64, of_forth: f64| {
        of_back.powi(2) * back.scatters() + of_forth.powi(2) * forth.scatters()
    };
    let t = student_t(free);
    let whole = scatter * (sums(1.0, second.scale) + noise(first.scale, 1.0))
        + first.variance
        + second.variance;
    let enpi = first.reported / first.baseline * (second.reported / second.baseline);
    let relative = scatter
        * (sums(1.0 / first.reported, second.scale / second.baseline)
            + noise(first.scale / first.baseline, 1.0 / second.reported))
        + first.variance / first.baseline.powi(2)
        + second.variance / second.baseline.powi(2);
    let told = Told {
        baseline: first.baseline + second.baseline,
        reported: first.reported + second.reported,
        band: t * whole.sqrt(),
        enpi,
        enpi_uncertainty: Some(t * enpi.abs() * relative.sqrt()),
        material,
    };
    Ok(told.adjusted(ledger, Vec::new()))
}

/// Share of the projected energy of days from a stamp on.
pub(super) fn projected_share_from(projection: &Projection<'_>, start: i64) -> f64 {
    let (model, frame) = (&projection.baseline.model, projection.frame);
    let (mut later, mut all) = (0.0, 0.0);
    for (row, day) in frame.days.iter().enumerate() {
        let projected = model.at(&model.drivers(frame, row)) * frame.service_days(row);
        all += projected;
        if *day >= start {
            later += projected;
        }
    }
    if all == 0.0 { 0.0 } else { later / all }
}
