//! The rows of savings, and of proposals how to tell them (M&V §6.2).

use serde_json::Value;

use super::{MeterContext, MvFinding, MvRule, grouped};
use crate::finding::{Metrics, Verdict};
use crate::mv::baseline::Baseline;
use crate::mv::coverage::CoverageTier;
use crate::mv::forecast::{CONFIDENCE, ForecastSaving, Kernel, SavingDecline};
use crate::mv::methods::{MethodSaving, ProjectedWith};
use crate::mv::proposal::Proposal;
use crate::mv::sep;
use crate::numeric::round;
use crate::run_config::mv_units::MeterUnit;
use crate::run_config::{MvMethod, MvTerms};

/// Energies of a saving, which are told in the units of the report.
const ENERGIES: [&str; 10] = [
    "avoided_energy",
    "baseline_projected",
    "reporting_actual",
    "abs_uncertainty",
    "savings",
    "projected",
    "measured",
    "adjusted_savings",
    "adjusted_baseline",
    "adjusted_abs_uncertainty",
];

/// A fractional uncertainty from which on it says nothing: the band is a hundred times the saving.
const MEANINGLESS_FSU: f64 = 100.0;

/// The row of a saving by forecast.
pub fn forecast(meter: &MeterContext<'_>, saving: &ForecastSaving) -> MvFinding {
    let coverage = &saving.coverage;
    let mut metrics = Metrics::new();
    let totals = saving.totals.as_ref().ok();
    metrics
        .count("n_report_days", saving.report_days)
        .number_or_null("avoided_energy", totals.map(|totals| totals.avoided))
        .number_or_null("baseline_projected", totals.map(|totals| totals.projected))
        .number("reporting_actual", saving.actual)
        .number_or_null(
            "savings_pct",
            totals.and_then(|totals| totals.savings_share),
        )
        .number_or_null("fsu", totals.and_then(|totals| totals.fsu))
        .number_or_null(
            "abs_uncertainty",
            totals.and_then(|totals| totals.uncertainty),
        )
        .number_or_null("fsu_extrapolation_factor", saving.extrapolation_factor)
        .number_or_null("rho", meter.baseline.rho.map(|rho| round(rho, 4)))
        .rounded("share_points_outside", coverage.share_of_days, 4)
        .number_or_null(
            "share_energy_outside",
            coverage.share_of_energy.map(|share| round(share, 4)),
        )
        .number_or_null(
            "max_beyond_rel",
            coverage.beyond_share.map(|share| round(share, 4)),
        )
        .count("n_outside", coverage.outside)
        .number_or_null("enpi", totals.and_then(|totals| totals.enpi))
        .number_or_null(
            "enpi_uncertainty",
            totals.and_then(|totals| totals.enpi_uncertainty),
        );
    let reason = match saving.totals {
        Ok(_) => None,
        Err(SavingDecline::NoReportingDays) => {
            Some("no reporting day can be compared with the baseline".to_owned())
        }
        Err(SavingDecline::SevereExtrapolation) => Some(format!(
            "severe extrapolation, no defensible saving: {coverage}"
        )),
    };
    let sep = SepVerdict::of(meter.terms, &[("baseline", meter.baseline)]);
    sep.set(&mut metrics);
    common(
        &mut metrics,
        meter,
        coverage.tier,
        saving.range_valid,
        &reason,
    );
    let mut caveats = Vec::new();
    caveats.extend(coverage_caveat(coverage.tier, &coverage.to_string()));
    let is_widened = saving.kernel == Kernel::Guideline14 && meter.terms.extrapolation.widen_fsu;
    if let Some(factor) = saving.extrapolation_factor.filter(|_| is_widened) {
        caveats.push(format!(
            "extrapolation multiplies the fractional uncertainty by {}",
            factor.max(1.0)
        ));
    }
    caveats.extend(kernel_caveat(saving.kernel, MvMethod::Forecast));
    caveats.extend(rho_caveat(meter.baseline.rho));
    caveats.extend(range_caveat(saving.range_valid, ""));
    caveats.extend(sep.caveats);
    let told = Told {
        name: "avoided energy",
        saving: "avoided_energy",
        basis: format!("over {} reporting days", saving.report_days),
        tier: coverage.tier,
        reason,
    };
    finished(meter, metrics, caveats, &told)
}

/// The row of a saving by another method, which projected with these models.
pub fn method(
    meter: &MeterContext<'_>,
    saving: &MethodSaving,
    models: &[(&str, &Baseline)],
) -> MvFinding {
    let mut metrics = Metrics::new();
    let totals = saving.totals.as_ref().ok();
    metrics
        .count("n_report_days", saving.report_days)
        .number_or_null("savings", totals.map(|totals| totals.savings))
        .number_or_null("projected", saving.projected)
        .number_or_null("measured", saving.measured)
        .number_or_null("savings_pct", totals.and_then(|totals| totals.share))
        .number_or_null("fsu", totals.and_then(|totals| totals.fsu))
        .number_or_null(
            "abs_uncertainty",
            totals.and_then(|totals| totals.uncertainty),
        )
        .number_or_null("rho", saving.rho.map(|rho| round(rho, 4)))
        .number_or_null("enpi", totals.and_then(|totals| totals.enpi))
        .number_or_null(
            "enpi_uncertainty",
            totals.and_then(|totals| totals.enpi_uncertainty),
        );
    let (model, r2) = match saving.with {
        ProjectedWith::Reporting => ("reporting_model", "reporting_r2"),
        ProjectedWith::Intermediate => ("intermediate_model", "intermediate_r2"),
    };
    metrics.set(model, saving.model).rounded(r2, saving.r2, 4);
    if meter.drivers.is_some() && meter.terms.method == MvMethod::Backcast {
        metrics.set("reporting_model_form", "cp_driver");
    }
    let sep = SepVerdict::of(meter.terms, models);
    sep.set(&mut metrics);
    let reason = saving.totals.as_ref().err().cloned();
    common(
        &mut metrics,
        meter,
        saving.tier,
        saving.range_valid,
        &reason,
    );
    let told = Told {
        name: match meter.terms.method {
            MvMethod::Backcast => "savings by backcast",
            MvMethod::Chaining => "savings by chaining",
            _ => "savings at standard conditions",
        },
        saving: "savings",
        basis: match totals.and_then(|totals| totals.enpi) {
            Some(enpi) => format!("with an energy performance indicator (SEnPI) of {enpi:.3}"),
            None => "with no energy performance indicator".to_owned(),
        },
        tier: saving.tier,
        reason,
    };
    let caveats = saving.caveats.iter().cloned().chain(sep.caveats).collect();
    finished(meter, metrics, caveats, &told)
}

/// The row of a proposal.
pub fn proposal(meter: &MeterContext<'_>, proposal: &Proposal) -> MvFinding {
    let mut row = proposal.row(meter.equip, meter.terms);
    row.verdict = row
        .verdict
        .with_caveats(meter.short_caveat())
        .with_caveats(meter.dropped_caveat());
    row
}

/// Whether the models of a saving are valid by SEP, where the entry asks.
struct SepVerdict {
    /// None when nobody asks; a figure of none when it cannot be computed.
    valid: Option<Option<bool>>,
    caveats: Vec<String>,
}

impl SepVerdict {
    fn of(terms: &MvTerms, models: &[(&str, &Baseline)]) -> Self {
        if !terms.validity.asks_sep() {
            return Self {
                valid: None,
                caveats: Vec::new(),
            };
        }
        let judged: Vec<(&str, Option<bool>)> = models
            .iter()
            .map(|(name, model)| (*name, sep::is_valid(model)))
            .collect();
        let valid = judged
            .iter()
            .try_fold(true, |all, (_, valid)| valid.map(|valid| all && valid));
        let caveats = judged
            .iter()
            .filter_map(|(name, valid)| match valid {
                Some(true) => None,
                Some(false) => Some(format!(
                    "the {name} model is not valid by SEP: its energy performance indicator may not be reported"
                )),
                None => Some(format!(
                    "whether the {name} model is valid by SEP could not be computed"
                )),
            })
            .collect();
        Self {
            valid: Some(valid),
            caveats,
        }
    }

    fn set(&self, metrics: &mut Metrics) {
        if let Some(valid) = self.valid {
            metrics.set("sep_valid", valid);
        }
    }
}

/// Figures that savings of all methods have.
fn common(
    metrics: &mut Metrics,
    meter: &MeterContext<'_>,
    tier: CoverageTier,
    range_valid: bool,
    reason: &Option<String>,
) {
    let terms = meter.terms;
    metrics
        .number("confidence", CONFIDENCE)
        .set("coverage_tier", tier.word())
        .set("declined", reason.is_some())
        .set("method", terms.method.word())
        .set("method_declared", terms.method_declared)
        .set("basis", basis(terms.method))
        .set("kernel", terms.kernel.word())
        .set("sep_range_valid", range_valid)
        .set("baseline_version", Value::Null)
        .set("validity", terms.validity.word());
    if let Some(reason) = reason {
        metrics.set("declined_reason", reason.clone());
    }
}

/// At which conditions the savings of a method are told.
const fn basis(method: MvMethod) -> &'static str {
    match method {
        MvMethod::Forecast | MvMethod::Auto => "reporting-period conditions",
        MvMethod::Backcast => "baseline-period conditions",
        MvMethod::StandardConditions => "standard conditions",
        MvMethod::Chaining => "intermediate-period model at baseline and reporting conditions",
    }
}

/// How the sentence of a saving is built.
struct Told {
    name: &'static str,
    /// The figure of the saving.
    saving: &'static str,
    basis: String,
    tier: CoverageTier,
    reason: Option<String>,
}

fn finished(
    meter: &MeterContext<'_>,
    mut metrics: Metrics,
    caveats: Vec<String>,
    told: &Told,
) -> MvFinding {
    let unit = in_report_units(&mut metrics, meter.unit);
    let summary = match &told.reason {
        Some(reason) => format!("{} declined: {reason}", told.name),
        None => saving_sentence(&metrics, meter, told, unit),
    };
    let meaningless = told
        .reason
        .is_none()
        .then(|| fsu_caveat(&metrics))
        .flatten();
    let verdict = Verdict::info(metrics, summary)
        .with_caveats(caveats)
        .with_caveats(meaningless)
        .with_caveats(meter.baseline_caveats());
    MvFinding::new(MvRule::Savings, meter.equip, verdict)
}

fn saving_sentence(
    metrics: &Metrics,
    meter: &MeterContext<'_>,
    told: &Told,
    unit: Option<&str>,
) -> String {
    let energy = |name: &str| metrics.as_number(name).map(grouped);
    let of_unit = |energy: String| match unit {
        Some(unit) => format!("{energy} {unit}"),
        None => energy,
    };
    let share = metrics
        .as_number("savings_pct")
        .map(|share| format!(" ({:.1}%)", round(100.0 * share, 1) + 0.0));
    let band = energy("abs_uncertainty").map_or_else(
        || "without a band".to_owned(),
        |band| format!("± {} at 90% confidence", of_unit(band)),
    );
    let zero = match band_includes_zero(metrics, told.saving, "abs_uncertainty") {
        Some(true) => "; the band includes zero, so that no saving is shown",
        _ => "",
    };
    let own_unit = match unit {
        Some(_) => "",
        None => " in the meter's own unit",
    };
    let information = match meter.baseline.accepted() {
        true => "",
        false => "; for information only, since the baseline does not meet the acceptance",
    };
    format!(
        "{} {}{own_unit}{} {band} {}{zero}; coverage {}{information}",
        told.name,
        of_unit(energy(told.saving).unwrap_or_else(|| "undefined".to_owned())),
        share.unwrap_or_default(),
        told.basis,
        told.tier.word().replace('_', " "),
    )
}

/// What is said where a band as a share of its saving says nothing.
fn fsu_caveat(metrics: &Metrics) -> Option<String> {
    let band = metrics.as_number("abs_uncertainty")?;
    match metrics.as_number("fsu") {
        Some(fsu) if fsu < MEANINGLESS_FSU => None,
        Some(_) => Some(
            "the saving is next to nothing beside its band: the fractional uncertainty (fsu) is no statement, only the band is"
                .to_owned(),
        ),
        None => (band > 0.0).then(|| {
            "the saving is zero but for rounding: no fractional uncertainty (fsu) of it is told, only the band".to_owned()
        }),
    }
}

/// Whether a band reaches from its saving to zero; none without one of the two.
pub(super) fn band_includes_zero(metrics: &Metrics, saving: &str, band: &str) -> Option<bool> {
    let (saving, band) = (metrics.as_number(saving)?, metrics.as_number(band)?);
    Some(band >= saving.abs())
}

/// Multiplies the energies and names the units; the unit of the report, when there is one.
fn in_report_units(metrics: &mut Metrics, unit: Option<&MeterUnit>) -> Option<&'static str> {
    let unit = unit?;
    let report = unit.report?;
    for name in ENERGIES {
        if let Some(energy) = metrics.as_number(name) {
            metrics.rounded(name, energy * report.factor, 2);
        }
    }
    metrics
        .set("unit_system", report.system.word())
        .set("meter_unit", unit.energy)
        .set("energy_unit", report.system.energy());
    Some(report.system.energy())
}

/// What is said of a projection that leaves the weather of its fit.
pub fn coverage_caveat(tier: CoverageTier, told: &str) -> Option<String> {
    match tier {
        CoverageTier::Severe => Some(format!(
            "severe extrapolation, no defensible saving: {told}"
        )),
        CoverageTier::Moderate => Some(format!("moderate extrapolation: {told}")),
        CoverageTier::InRange | CoverageTier::NotEvaluated => None,
    }
}

/// What is said of the Guideline 14 bands; the exact ones hold what they promise.
pub fn kernel_caveat(kernel: Kernel, method: MvMethod) -> Option<String> {
    match (kernel, method) {
        (Kernel::Exact, _) => None,
        (Kernel::Guideline14, MvMethod::StandardConditions) => Some(
            "kernel g14 is too wide at standard conditions: far more than 90% of such bands hold the true saving; kernel exact \
             holds what it promises"
                .to_owned(),
        ),
        (Kernel::Guideline14, _) => Some(
            "kernel g14 under-covers: fewer than 90% of such bands hold the true saving even when the model is right; kernel \
             exact holds what it promises"
                .to_owned(),
        ),
    }
}

/// What is said where nobody can tell whether the residuals follow each other.
pub fn rho_caveat(rho: Option<f64>) -> Option<String> {
    rho.is_none().then(|| {
        "the autocorrelation of the residuals could not be told (too few neighbouring days), so that the band takes them for \
         independent; it is too narrow when they are not"
            .to_owned()
    })
}

/// What is said when the SEP range rule fails.
pub fn range_caveat(valid: bool, of: &str) -> Option<String> {
    (!valid).then(|| {
        format!(
            "{of}the SEP range rule fails: the mean of what drives the projection lies outside the fitted range, and more than 3 \
             standard deviations from the mean of the fit"
        )
    })
}
