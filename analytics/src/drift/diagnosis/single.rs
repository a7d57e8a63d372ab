//! Families whose worst finding is the diagnosis: boiler, tower, direct expansion (Drift §6).

use super::{Own, is_degraded, text};
use crate::drift::family::Family;
use crate::drift::outcome::Diagnosis;
use crate::finding::{Metrics, Severity};
use crate::runner::Finding;

/// Attributions that say: look at the sensor first.
const SENSOR: [&str; 2] = ["heat_metering", "sensor_offset"];

pub(super) fn of(family: Family, own: &Own<'_>) -> Diagnosis {
    let judged = || {
        own.findings
            .iter()
            .copied()
            .filter(|finding| !finding.is_declined())
    };
    // The first of the worst, in the order of the run; what is no fault and no warning is all alike.
    let rank = |finding: &Finding| finding.severity().min(Severity::Info);
    let worst = judged().fold(None, |worst: Option<&Finding>, finding| match worst {
        Some(known) if rank(known) <= rank(finding) => Some(known),
        _ => Some(finding),
    });
    let degraded = worst.filter(|finding| is_degraded(finding));
    let points_to_sensor = judged()
        .any(|finding| text(finding, "attribution").is_some_and(|word| SENSOR.contains(&word)));
    let locus = match (degraded, family) {
        (Some(finding), Family::Dx) => match text(finding, "attribution") {
            Some("refrigerant_circuit") => "refrigerant_circuit",
            Some("indoor_airflow") => "indoor_airflow",
            _ => "unknown",
        },
        (Some(finding), _) => match text(finding, "attribution") {
            Some(other) if other != family.word() => "unknown",
            _ => family.word(),
        },
        (None, Family::Dx) => "steady",
        (None, _) if points_to_sensor => "sensor",
        (None, _) => "steady",
    };
    let cause = degraded.map(|finding| {
        let told = finding.verdict.summary.trim_end_matches('.');
        let prefix = format!("{}: ", own.equip);
        let told = told.strip_prefix(prefix.as_str()).unwrap_or(told);
        format!("{told}; a drifted sensor of it would look the same")
    });
    let summary = match &cause {
        Some(cause) => format!("{}: drift ({locus}): {cause}", own.equip),
        None if locus == "sensor" => format!(
            "{}: no drift of the machine was found; a sensor has moved and is to be checked",
            own.equip
        ),
        None => format!("{}: no drift was found", own.equip),
    };
    let mut detail = Metrics::new();
    detail.set("locus", locus).set("family", family.word());
    Diagnosis {
        family,
        equip: own.equip.to_owned(),
        // A sensor that has moved is worth telling, though the machine is not what is wrong.
        severity: worst.map_or(Severity::Ok, Finding::severity),
        summary,
        causes: cause.into_iter().collect(),
        caveats: Vec::new(),
        detail,
    }
}
