//! What a project answers: rows of baselines, savings, triggers and proposals (M&V §1, §5, §6.2, §7).

use std::collections::HashMap;

use serde_json::Value;

use super::baseline::{Baseline, FullYear};
use super::coverage::CoverageTier;
use super::daily::DailyFrame;
use super::forecast::{CONFIDENCE, ForecastSaving, Kernel, SavingDecline};
use super::methods::{MethodSaving, ProjectedWith};
use super::proposal::Proposal;
use super::sep;
use crate::finding::{Metrics, Severity, Verdict};
use crate::numeric::round;
use crate::run_config::mv_drivers::Drivers;
use crate::run_config::mv_units::MeterUnit;
use crate::run_config::{MvMethod, MvTerms, Period};

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

/// Bills that cover fewer days than this cover no year.
const BILLED_YEAR: f64 = 330.0;

/// What a row tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MvRule {
    Baseline,
    Savings,
    Trigger,
    MethodProposal,
    /// A meter whose energies are implausible by orders of magnitude.
    UnitScale,
}

impl MvRule {
    /// The word on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Baseline => "mv_baseline",
            Self::Savings => "mv_savings",
            Self::Trigger => "mv_trigger",
            Self::MethodProposal => "mv_method_proposal",
            Self::UnitScale => "unit_scale",
        }
    }
}

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub struct MvFinding {
    /// `<rule>@<equip>`, with `#2`, `#3` for more of the same; empty until all rows are there.
    pub id: String,
    pub rule: MvRule,
    /// The meter: an equipment, or the name of bills.
    pub equip: String,
    pub verdict: Verdict,
}

impl MvFinding {
    /// A row that has no id yet.
    pub fn new(rule: MvRule, equip: &str, verdict: Verdict) -> Self {
        Self {
            id: String::new(),
            rule,
            equip: equip.to_owned(),
            verdict,
        }
    }

    /// A baseline or saving that is not told, and why (M&V §7).
    pub fn declined(rule: MvRule, equip: &str, reason: &str) -> Self {
        let what = match rule {
            MvRule::Baseline => "no baseline was fitted",
            MvRule::MethodProposal => "no method is proposed",
            _ => "no saving is told",
        };
        let mut metrics = Metrics::new();
        metrics
            .set("declined", true)
            .set("declined_reason", reason.to_owned());
        let verdict = Verdict::info(metrics, format!("declined: {reason}"))
            .with_caveat(format!("{what}: {reason}"));
        Self::new(rule, equip, verdict)
    }

    /// Whether it states no figure.
    pub fn is_declined(&self) -> bool {
        self.verdict.metrics.get("declined") == Some(&Value::Bool(true))
    }

    /// Whether it is a saving that is no greater than its own band, so that none is shown.
    pub fn shows_no_saving(&self) -> bool {
        let saving = ["avoided_energy", "savings"].into_iter().find_map(|name| {
            let metrics = &self.verdict.metrics;
            band_includes_zero(metrics, name, "abs_uncertainty")
        });
        self.rule == MvRule::Savings && saving == Some(true)
    }

    /// How bad it is.
    pub fn severity(&self) -> Severity {
        self.verdict.severity
    }
}

/// Names rows in the order in which they came and sorts them: worst first, then by meter, rule and id.
pub fn named_and_sorted(mut rows: Vec<MvFinding>) -> Vec<MvFinding> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for row in &mut rows {
        let base = format!("{}@{}", row.rule.word(), row.equip);
        let count = seen.entry(base.clone()).or_default();
        *count += 1;
        row.id = match count {
            1 => base,
            more => format!("{base}#{more}"),
        };
    }
    rows.sort_by(|one, other| {
        let key = |row: &MvFinding| (row.severity(), row.equip.clone(), row.rule.word());
        key(one).cmp(&key(other)).then(one.id.cmp(&other.id))
    });
    rows
}

/// What every row of a meter's baseline and savings needs to know.
#[derive(Debug, Clone, Copy)]
pub struct MeterContext<'a> {
    pub equip: &'a str,
    pub terms: &'a MvTerms,
    pub unit: Option<&'a MeterUnit>,
    /// Terms beside the temperature.
    pub drivers: Option<&'a Drivers>,
    pub baseline: &'a Baseline,
    /// The days, or bills, that the baseline was fitted on.
    pub fitted: &'a DailyFrame,
    pub year: FullYear,
}

impl MeterContext<'_> {
    /// Calendar days of the baseline's window.
    pub fn window_days(&self) -> usize {
        let extent = || {
            let (first, last) = (self.fitted.days.first()?, self.fitted.days.last()?);
            let extent = Period {
                start: *first,
                end: *last,
            };
            Some(extent.days())
        };
        match self.terms.period {
            Some(period) => period.days(),
            None => extent().unwrap_or(0),
        }
    }

    /// Whether the baseline is shorter than a year, or has too many gaps.
    pub fn is_short(&self) -> bool {
        if !self.fitted.bills.is_empty() {
            return self.fitted.total_days() < BILLED_YEAR;
        }
        self.year.falls_short(self.window_days(), self.fitted.len())
    }

    pub(super) fn short_caveat(&self) -> Option<String> {
        if self.is_short() && !self.fitted.bills.is_empty() {
            return Some(format!(
                "short baseline: its bills cover {} days of service, less than a year (Guideline 14 expects all conditions of \
                 operation)",
                self.fitted.total_days()
            ));
        }
        self.is_short().then(|| {
            let window = match self.terms.period {
                Some(period) => format!("{period}, "),
                None => String::new(),
            };
            format!(
                "short or gappy baseline: its window ({window}{} days) has {} days with data; a baseline needs {} days in a row of \
                 which at most {:.0}% are missing (SEP 2019, IPMVP 2012, CalTRACK)",
                self.window_days(),
                self.fitted.len(),
                self.year.min_days,
                100.0 * self.year.max_missing
            )
        })
    }

    fn dropped_caveat(&self) -> Option<String> {
        (self.fitted.dropped > 0).then(|| {
            format!(
                "{} days of the baseline were dropped, since the meter's samples cover less than {}% of them (min_coverage)",
                self.fitted.dropped,
                round(100.0 * self.terms.min_coverage, 2)
            )
        })
    }

    fn screened_caveat(&self) -> Option<String> {
        (self.fitted.screened > 0).then(|| {
            format!(
                "{} outdoor temperatures of the baseline lie beyond what outdoor air can have and were left out",
                self.fitted.screened
            )
        })
    }

    /// The model's form and what it knows beside the temperature.
    fn label(&self) -> String {
        let form = self.baseline.model.label();
        match self.drivers {
            None => form.to_owned(),
            Some(drivers) => {
                let words: Vec<&str> = drivers.list.iter().map(|driver| driver.word()).collect();
                format!("{form} + {}", words.join("/"))
            }
        }
    }

    /// What a saving must say of its baseline.
    fn baseline_caveats(&self) -> impl Iterator<Item = String> {
        let undeclared = (!self.terms.method_declared).then(|| {
            "the entry declares no method, so that forecast was used; declare one before the figures are seen".to_owned()
        });
        let unaccepted = (!self.baseline.accepted()).then(|| {
            "the baseline does not meet the acceptance of Guideline 14: the saving is for information only".to_owned()
        });
        [
            undeclared,
            unaccepted,
            self.short_caveat(),
            self.dropped_caveat(),
            self.screened_caveat(),
        ]
        .into_iter()
        .flatten()
    }
}

/// The row of a baseline of days.
pub fn baseline(meter: &MeterContext<'_>) -> MvFinding {
    let (baseline, fitted) = (meter.baseline, meter.fitted);
    let statistics = baseline.statistics.rounded();
    let accepted = baseline.accepted();
    let mut metrics = Metrics::new();
    metrics
        .set("model", baseline.model.code())
        .count("n_days", fitted.len())
        .number("r2", statistics.r2)
        .number("cv_rmse", statistics.cv_rmse)
        .number("nmbe", statistics.nmbe)
        .set("accept", accepted)
        .number_or_null("rho", baseline.rho)
        .number("oat_fit_min", baseline.support.fit_min)
        .number("oat_fit_max", baseline.support.fit_max)
        .number("oat_support_lo", baseline.support.low)
        .number("oat_support_hi", baseline.support.high)
        .set("short_baseline", meter.is_short());
    if meter.drivers.is_some() {
        metrics.set("model_form", "cp_driver");
    }
    let points: Vec<f64> = baseline
        .model
        .change_points()
        .iter()
        .map(|point| round(*point, 2))
        .collect();
    metrics.set("change_points", points);
    if fitted.dropped > 0 {
        metrics.count("n_days_dropped", fitted.dropped);
    }
    if fitted.screened > 0 {
        metrics.count("n_temp_screened", fitted.screened);
    }
    if let Some(unit) = meter.unit
        && let Some(report) = unit.report
    {
        metrics
            .set("unit_system", report.system.word())
            .set("meter_unit", unit.energy);
    }
    let meets = match accepted {
        true => "meets",
        false => "does not meet",
    };
    let short = match meter.is_short() {
        true => "; short baseline",
        false => "",
    };
    let summary = format!(
        "{} baseline over {} days: R² {}, CV(RMSE) {}; {meets} the acceptance for days (criteria of Guideline 14, with the \
         reference's own CV limit of 30% for days){short}",
        meter.label(),
        fitted.len(),
        told(statistics.r2, 2, ""),
        told(100.0 * statistics.cv_rmse, 1, "%"),
    );
    let severity = match accepted {
        true => Severity::Ok,
        false => Severity::Info,
    };
    let caveats = [
        meter.short_caveat(),
        meter.dropped_caveat(),
        meter.screened_caveat(),
    ];
    let verdict =
        Verdict::new(severity, metrics, summary).with_caveats(caveats.into_iter().flatten());
    MvFinding::new(MvRule::Baseline, meter.equip, verdict)
}

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
pub const fn basis(method: MvMethod) -> &'static str {
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
pub fn band_includes_zero(metrics: &Metrics, saving: &str, band: &str) -> Option<bool> {
    let (saving, band) = (metrics.as_number(saving)?, metrics.as_number(band)?);
    Some(band >= saving.abs())
}

/// Multiplies the energies and names the units; the unit of the report, when there is one.
pub fn in_report_units(metrics: &mut Metrics, unit: Option<&MeterUnit>) -> Option<&'static str> {
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

/// A figure as text; "undefined" where there is none.
fn told(value: f64, decimals: usize, unit: &str) -> String {
    match value.is_finite() {
        true => format!("{:.decimals$}{unit}", round(value, decimals) + 0.0),
        false => "undefined".to_owned(),
    }
}

/// A whole number with commas between thousands.
pub fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", round(value.abs(), 0));
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if value < 0.0 && digits != "0" {
        text.push('-');
    }
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(
            [0.4, -0.4, 999.5, 42_543.58, -1_234_567.0].map(grouped),
            ["0", "0", "1,000", "42,544", "-1,234,567"]
        );
    }

    #[test]
    fn rows_are_named_as_they_came_and_sorted_by_how_bad_they_are() {
        let row = |rule, equip: &str, severity| {
            MvFinding::new(rule, equip, Verdict::new(severity, Metrics::new(), ""))
        };
        let sorted = named_and_sorted(vec![
            row(MvRule::Baseline, "M-2", Severity::Ok),
            row(MvRule::Savings, "M-2", Severity::Info),
            row(MvRule::Baseline, "M-2", Severity::Info),
            row(MvRule::Trigger, "M-9", Severity::Warn),
        ]);
        let ids: Vec<&str> = sorted.iter().map(|row| row.id.as_str()).collect();
        assert_eq!(
            ids,
            [
                "mv_trigger@M-9",
                "mv_baseline@M-2#2",
                "mv_savings@M-2",
                "mv_baseline@M-2"
            ]
        );
    }
}
