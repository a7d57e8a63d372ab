//! What a project answers: rows of baselines, savings, triggers and proposals (M&V §1, §5, §6.2, §7).

mod savings;

use std::collections::HashMap;

use serde_json::Value;

use self::savings::band_includes_zero;
pub use self::savings::{
    coverage_caveat, forecast, kernel_caveat, method, proposal, range_caveat, rho_caveat,
};
use super::baseline::{Baseline, FullYear};
use super::daily::DailyFrame;
use crate::finding::{Metrics, Severity, Verdict};
use crate::numeric::round;
use crate::run_config::mv_drivers::Drivers;
use crate::run_config::mv_units::MeterUnit;
use crate::run_config::{MvTerms, Period};

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

/// A figure as text; "undefined" where there is none.
fn told(value: f64, decimals: usize, unit: &str) -> String {
    match value.is_finite() {
        true => format!("{:.decimals$}{unit}", round(value, decimals) + 0.0),
        false => "undefined".to_owned(),
    }
}

/// A whole number with commas between thousands.
fn grouped(value: f64) -> String {
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
