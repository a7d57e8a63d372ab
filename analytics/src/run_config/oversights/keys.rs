//! The keys of a configuration that have a meaning, and those that were hardly meant.

use serde_json::{Map, Value};

use super::Oversight;
use crate::run_config::section::did_you_mean;

/// The keys of the objects of a configuration whose unknown keys do not refuse it. `[]` stands for every entry of a list.
const KNOWN: [(&str, &[&str]); 16] = [
    ("", &TOP_LEVEL),
    ("source", &SOURCE),
    ("mapping", &["path", "aliases", "patterns"]),
    (
        "equipment[]",
        &["class", "marker_role", "marker", "equip", "refrigerant"],
    ),
    ("rules[]", &["name", "params", "basis"]),
    ("soo[]", &["class", "library", "spec"]),
    ("trust_gate", &["min_trust"]),
    ("weather", &["privacy", "precision_deg"]),
    ("faults", &["store", "run_id", "auto_resolve_absent"]),
    (
        "drift",
        &["store", "baseline", "current", "run_id", "families"],
    ),
    ("drift.families[]", &DRIFT_FAMILY),
    ("mv[]", &TRENDED_METER),
    ("report", &REPORT),
    (
        "report.benchmark",
        &["site_eui", "peer_median_eui", "unit", "property_type"],
    ),
    ("report.rcx", &RCX),
    ("report.rcx.sequence", &["sat_reset"]),
];

const TOP_LEVEL: [&str; 23] = [
    "site",
    "facility_id",
    "workspace",
    "source",
    "mapping",
    "shared_oat",
    "equipment",
    "rules",
    "soo",
    "topology",
    "ventilation",
    "trust_gate",
    "resample",
    "site_elevation_ft",
    "units",
    "private",
    "weather",
    "include_inactive",
    "mv",
    "mv_store",
    "drift",
    "faults",
    "report",
];
/// Of a store and of folders; a key that only the other kind has is no slip of the pen.
const SOURCE: [&str; 11] = [
    "kind",
    "store",
    "facility_id",
    "start",
    "end",
    "timezone",
    "strict_timezone",
    "include_inactive",
    "folder",
    "folders",
    "globs",
];
const DRIFT_FAMILY: [&str; 11] = [
    "class",
    "family",
    "coils",
    "sustained_alarm",
    "baseline",
    "current",
    "reference",
    "coil_leak",
    "coil_leak_params",
    "plant",
    "params",
];
const TRENDED_METER: [&str; 27] = [
    "class",
    "role",
    "name",
    "period",
    "reporting_period",
    "intermediate_period",
    "interval",
    "min_days",
    "min_coverage",
    "method",
    "kernel",
    "normal_year",
    "validity",
    "model",
    "drivers",
    "occupied_weekdays",
    "holidays",
    "holiday_calendar",
    "extrapolation",
    "adjustments",
    "materiality_threshold",
    "ecm_dates",
    "settle_days",
    "rebaseline",
    "units",
    "heat_content",
    "meter_type",
];
const REPORT: [&str; 14] = [
    "level",
    "climate_zone",
    "title",
    "layout",
    "out_text",
    "out_html",
    "magnitude_key",
    "recommend",
    "ecms",
    "benchmark",
    "price",
    "loads",
    "rcx",
    "prose",
];
const RCX: [&str; 18] = [
    "top_n",
    "week",
    "paper",
    "chart_format",
    "dpi",
    "sections",
    "price",
    "loads",
    "cost_params",
    "occupancy",
    "oat_reference",
    "references",
    "sequence",
    "g36_reference",
    "corroboration",
    "lifecycle",
    "title",
    "prose",
];

/// Keys that people write for themselves.
const REMARKS: [&str; 8] = [
    "comment",
    "comments",
    "description",
    "note",
    "notes",
    "remark",
    "remarks",
    "$schema",
];

/// What people call the trust floor.
const TRUST_FLOOR: [&str; 4] = ["trust_floor", "min_trust", "trust", "trust_gate"];

/// Whether a key is a remark of a person: those that begin like `_note`, `x-owner` or `//`, and the usual words.
fn is_remark(key: &str) -> bool {
    ["_", "x-", "//", "#"]
        .iter()
        .any(|start| key.starts_with(start))
        || REMARKS.contains(&key)
}

/// Keys that no part of the engine reads.
pub(super) fn unknown_keys(content: &Map<String, Value>) -> Vec<Oversight> {
    let mut found = Vec::new();
    for (pattern, known) in KNOWN {
        for (place, fields) in objects(content, pattern) {
            // Bills refuse what they do not know.
            if pattern == "mv[]" && fields.contains_key("bills") {
                continue;
            }
            for key in fields.keys() {
                if !known.contains(&key.as_str()) && !is_remark(key) {
                    let place = match place.is_empty() {
                        true => key.clone(),
                        false => format!("{place}.{key}"),
                    };
                    found.push(Oversight::new(place, unknown_key(pattern, known, key)));
                }
            }
        }
    }
    found
}

fn unknown_key(pattern: &str, known: &[&str], key: &str) -> String {
    if TRUST_FLOOR.contains(&key) && ["", "trust_gate"].contains(&pattern) {
        return "there is no such key, and it has no effect; the trust floor is min_trust under trust_gate".to_owned();
    }
    let hint = did_you_mean(key, known.iter().copied());
    match (hint.is_empty(), pattern.is_empty()) {
        (true, false) => format!(
            "there is no such key here, and it has no effect; known are {}",
            known.join(", ")
        ),
        _ => format!("there is no such key, and it has no effect{hint}"),
    }
}

/// The objects at a place, which is keys joined by `.`, each with `[]` behind it when it is a list.
pub(super) fn objects<'a>(
    content: &'a Map<String, Value>,
    pattern: &str,
) -> Vec<(String, &'a Map<String, Value>)> {
    let mut found = vec![(String::new(), content)];
    for step in pattern.split('.').filter(|step| !step.is_empty()) {
        let (key, is_list) = match step.strip_suffix("[]") {
            Some(key) => (key, true),
            None => (step, false),
        };
        found = found
            .into_iter()
            .filter_map(|(place, fields)| {
                let place = match place.is_empty() {
                    true => key.to_owned(),
                    false => format!("{place}.{key}"),
                };
                Some((place, fields.get(key)?))
            })
            .flat_map(|(place, value)| match value {
                Value::Object(fields) if !is_list => vec![(place, fields)],
                Value::Array(entries) if is_list => entries
                    .iter()
                    .enumerate()
                    .filter_map(|(number, entry)| {
                        Some((format!("{place}[{number}]"), entry.as_object()?))
                    })
                    .collect(),
                _ => Vec::new(),
            })
            .collect();
    }
    found
}
