//! Findings that rest on a point which its reference speaks against (Engine §3.8): a sensor problem first.

use std::collections::BTreeSet;

use niagara_analytics::runner::Finding;
use niagara_analytics::trust::references::Comparison;
use serde_json::{Value, json};

use crate::camber::call::Call;
use crate::camber::capability::{list_of, of_type, whole_object};
use crate::camber::engine::{RuleRun, references};
use crate::camber::result::{Facts, counted};

/// Findings that a fact or notice names one by one.
const NAMED: usize = 25;

/// The comparisons that a finding is conditional on: of points that its rule reads on its equipment, not counting those
/// that only cost.
pub(super) fn conditions<'a>(run: &'a RuleRun<'_>, finding: &Finding) -> Vec<&'a Comparison> {
    let Some(rule) = run.rule(finding) else {
        return Vec::new();
    };
    let inputs = &rule.inputs;
    let reads = |role: &str| {
        let mut roles = inputs
            .required
            .iter()
            .chain(inputs.any_of.iter().flatten())
            .chain(&inputs.optional);
        roles.any(|known| known == role)
    };
    run.comparisons.conditional(&finding.equip, reads)
}

/// "conditional on sensor_drift:supply_air_temp warn"; none for a finding that is not.
pub(super) fn told(conditions: &[&Comparison]) -> Option<String> {
    let all: Vec<String> = conditions.iter().map(|made| made.condition()).collect();
    (!all.is_empty()).then(|| format!("conditional on {}", all.join(", ")))
}

/// The schema of `conditional_on`.
pub(super) fn schema() -> Value {
    let text = || of_type(&["string"]);
    let mut schema = list_of(whole_object([
        ("kind", text()),
        ("role", text()),
        (
            "severity",
            json!({"type": "string", "enum": ["fault", "warn"]}),
        ),
        ("bias", of_type(&["number", "null"])),
        ("reference", text()),
        ("text", text()),
    ]));
    schema["description"] =
        "Sensors that the rule reads and that disagree with their reference: a sensor problem first.".into();
    schema
}

/// The notices of a run's comparisons: which findings are conditional, and which points could not be compared.
///
/// `listed` are the findings that the answer shows; of the others fact `C1` tells.
pub(super) fn notices(call: &Call<'_>, run: &RuleRun<'_>, listed: &[&Finding]) -> Vec<String> {
    let mut notices = references::notices(call, &run.comparisons);
    let shown: Vec<&&Finding> = listed
        .iter()
        .filter(|finding| !conditions(run, finding).is_empty())
        .collect();
    let elsewhere = unlisted(run, listed);
    if shown.is_empty() && elsewhere.is_empty() {
        return notices;
    }
    let mut sensors: BTreeSet<String> = BTreeSet::new();
    for finding in shown
        .iter()
        .map(|finding| **finding)
        .chain(elsewhere.iter().copied())
    {
        for made in conditions(run, finding) {
            sensors.insert(format!(
                "{} on {}",
                made.condition(),
                call.quote(&made.equip)
            ));
        }
    }
    let more = match elsewhere.as_slice() {
        [] => String::new(),
        some => format!(
            ", and {} on other pages or below min_severity: {}",
            some.len(),
            names(call, some)
        ),
    };
    notices.push(format!(
        "{} conditional on a sensor that disagrees with its reference{more}; treat {} as a sensor problem first",
        counted(shown.len(), "listed finding is", "listed findings are"),
        sensors.into_iter().collect::<Vec<_>>().join(", "),
    ));
    notices
}

/// The notice of one finding that is conditional.
pub(super) fn notice_of(call: &Call<'_>, run: &RuleRun<'_>, finding: &Finding) -> Option<String> {
    let conditions = conditions(run, finding);
    let told = told(&conditions)?;
    let sensor = conditions.first().map(|made| call.quote(&made.equip))?;
    Some(format!(
        "the finding is {told} on {sensor}: the sensor disagrees with its reference, treat it as a sensor problem first"
    ))
}

/// Fact `C1`: the conditional findings that the answer does not show.
pub(super) fn add_fact(call: &Call<'_>, run: &RuleRun<'_>, listed: &[&Finding], facts: &mut Facts) {
    let elsewhere = unlisted(run, listed);
    if elsewhere.is_empty() {
        return;
    }
    let ids: Vec<&str> = elsewhere
        .iter()
        .map(|finding| finding.id.as_str())
        .collect();
    let told = format!(
        "{} conditional on a sensor that disagrees with its reference, on other pages or below min_severity: {}",
        counted(elsewhere.len(), "finding is", "findings are"),
        names(call, &elsewhere)
    );
    let extra = [("finding_ids", json!(ids))];
    facts.add_under('C', "conditional_findings", elsewhere.len(), told, &extra);
}

fn unlisted<'a>(run: &'a RuleRun<'_>, listed: &[&Finding]) -> Vec<&'a Finding> {
    let shown: BTreeSet<&str> = listed.iter().map(|finding| finding.id.as_str()).collect();
    run.outcome
        .findings
        .iter()
        .filter(|finding| !shown.contains(finding.id.as_str()))
        .filter(|finding| !conditions(run, finding).is_empty())
        .collect()
}

fn names(call: &Call<'_>, findings: &[&Finding]) -> String {
    let told: Vec<String> = findings
        .iter()
        .take(NAMED)
        .map(|finding| call.quote(&finding.id))
        .collect();
    match findings.len().saturating_sub(NAMED) {
        0 => told.join(", "),
        more => format!("{} and {more} more", told.join(", ")),
    }
}
