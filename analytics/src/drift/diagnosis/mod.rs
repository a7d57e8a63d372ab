//! What the findings of one equipment mean together (Drift §6).

mod air_handler;
mod chiller;
mod pump;
mod single;
mod terminal;

use super::family::Family;
use super::outcome::Diagnosis;
use crate::finding::{Metrics, Severity};
use crate::runner::Finding;

/// The diagnosis of an equipment with at least one finding that was not declined; findings in the order of the run.
pub fn of(family: Family, equip: &str, findings: &[&Finding]) -> Diagnosis {
    let own = Own { equip, findings };
    let mut diagnosis = match family {
        Family::AirHandler => air_handler::of(&own),
        Family::Terminal => terminal::of(&own),
        Family::Chiller => chiller::of(&own),
        Family::Condenser => chiller::condenser(&own).into_diagnosis(&own, "condenser", &[]),
        Family::Evaporator => chiller::evaporator(&own).into_diagnosis(&own, "evaporator", &[]),
        Family::Pump | Family::HotWaterPump => pump::of(&own),
        Family::Boiler | Family::Tower | Family::Dx => single::of(family, &own),
    };
    diagnosis.family = family;
    let declined: Vec<&str> = findings
        .iter()
        .filter(|finding| finding.is_declined())
        .map(|finding| finding.rule.as_str())
        .collect();
    if !declined.is_empty() {
        diagnosis.caveats.push(format!(
            "Not judged, which is no pass: {}.",
            declined.join(", ")
        ));
    }
    diagnosis
        .detail
        .set("equip", equip)
        .set("severity", diagnosis.severity.word())
        .set("summary", diagnosis.summary.as_str());
    diagnosis
}

/// The findings of one equipment.
struct Own<'a> {
    equip: &'a str,
    findings: &'a [&'a Finding],
}

impl<'a> Own<'a> {
    /// The findings of a rule that were not declined.
    fn judged(&self, rule: &'a str) -> impl Iterator<Item = &'a Finding> + use<'a> {
        self.findings
            .iter()
            .copied()
            .filter(move |finding| is_rule(&finding.rule, rule) && !finding.is_declined())
    }

    /// The first of them.
    fn first(&self, rule: &'a str) -> Option<&'a Finding> {
        self.judged(rule).next()
    }

    /// The first of them that warns or is a fault.
    fn degraded(&self, rule: &'a str) -> Option<&'a Finding> {
        self.judged(rule).find(|finding| is_degraded(finding))
    }
}

/// The rule itself or its twin of the hot water.
fn is_rule(name: &str, rule: &str) -> bool {
    name == rule || name.strip_prefix("hw_") == Some(rule)
}

/// Whether a finding warns or is a fault.
fn is_degraded(finding: &Finding) -> bool {
    finding.severity() <= Severity::Warn
}

/// Whether a figure of direction says that the shift goes down.
fn goes_down(finding: &Finding, figure: &str) -> bool {
    finding
        .verdict
        .metrics
        .get(figure)
        .and_then(|value| value.as_str())
        == Some("down")
}

fn text<'f>(finding: &'f Finding, figure: &str) -> Option<&'f str> {
    finding.verdict.metrics.get(figure)?.as_str()
}

/// Signals that speak against an equipment.
#[derive(Default)]
struct Signals {
    causes: Vec<Signal>,
    caveats: Vec<String>,
}

struct Signal {
    severity: Severity,
    /// Part of the machine that it points to.
    place: &'static str,
    cause: String,
}

impl Signals {
    fn add(&mut self, finding: &Finding, place: &'static str, cause: impl Into<String>) {
        self.add_as(finding.severity(), place, cause);
    }

    fn add_as(&mut self, severity: Severity, place: &'static str, cause: impl Into<String>) {
        self.causes.push(Signal {
            severity,
            place,
            cause: cause.into(),
        });
    }

    /// Worst of the signals; ok without any.
    fn severity(&self) -> Severity {
        self.causes
            .iter()
            .fold(Severity::Ok, |worst, signal| worst.worse(signal.severity))
    }

    fn is_empty(&self) -> bool {
        self.causes.is_empty()
    }

    fn points_to(&self, place: &str) -> bool {
        self.causes.iter().any(|signal| signal.place == place)
    }

    /// Whether two or more signals agree that something is wrong.
    fn corroborated(&self) -> bool {
        self.causes.len() >= 2
    }

    /// The only place that the signals point to, `many` for several, `steady` for none.
    fn locus(&self, many: &'static str) -> &'static str {
        let Some(first) = self.causes.first() else {
            return "steady";
        };
        match self.causes.iter().all(|signal| signal.place == first.place) {
            true => first.place,
            false => many,
        }
    }

    /// The causes, worst first.
    fn sorted(&self) -> Vec<String> {
        let mut causes: Vec<&Signal> = self.causes.iter().collect();
        causes.sort_by_key(|signal| signal.severity);
        causes
            .into_iter()
            .map(|signal| signal.cause.clone())
            .collect()
    }

    /// The diagnosis; its summary says where, and why.
    fn into_diagnosis(self, own: &Own<'_>, at: &str, flags: &[(&str, bool)]) -> Diagnosis {
        let causes = self.sorted();
        let summary = match causes.is_empty() {
            true => format!("{}: no drift was found ({at})", own.equip),
            false => format!("{}: drift ({at}): {}", own.equip, causes.join("; ")),
        };
        let mut detail = Metrics::new();
        detail.set("corroborated", self.corroborated());
        for (name, value) in flags {
            detail.set(name, *value);
        }
        Diagnosis {
            family: Family::AirHandler,
            equip: own.equip.to_owned(),
            severity: self.severity(),
            summary,
            causes,
            caveats: self.caveats,
            detail,
        }
    }
}
