//! A heat pump that falls short beside another one that works against it (Plant rules §2.22, room-fight deferral).

use std::collections::HashMap;

use serde_json::Value;

use super::outcome::Finding;
use crate::finding::Severity;

const CAPACITY: &str = "hp_capacity_shortfall";
const IMBALANCE: &str = "hp_room_imbalance";

/// Whether findings of a rule depend on what another one found.
pub fn takes_part(rule: &str) -> bool {
    rule == CAPACITY
}

/// The room of a unit, and how much it fights.
struct Fight {
    room: String,
    percent: Option<f64>,
}

/// Capacity findings of units in a room that fights say so, and leave the cause to the room's own finding; their severity
/// stays. Nothing happens unless both rules ran.
pub fn defer(findings: &mut [Finding]) {
    let fights = fights(findings);
    if fights.is_empty() {
        return;
    }
    for finding in findings
        .iter_mut()
        .filter(|finding| finding.rule == CAPACITY)
    {
        let is_bad = matches!(finding.severity(), Severity::Fault | Severity::Warn);
        let verdict = word(finding, "verdict");
        let (true, Some(fight)) = (is_bad, fights.get(&finding.equip)) else {
            continue;
        };
        if !["capacity", "mixed"].contains(&verdict.as_str()) {
            continue;
        }
        let side = word(finding, "side");
        let outside = finding
            .verdict
            .metrics
            .as_number(&format!("{side}_outside_pct"))
            .unwrap_or(f64::NAN);
        let metrics = &mut finding.verdict.metrics;
        metrics
            .set("verdict", "room_fight")
            .set("verdict_alone", verdict)
            .set("deferred_to", IMBALANCE)
            .set("room", fight.room.clone());
        let share = fight
            .percent
            .map(|percent| format!(" in {percent:.1} % of the shared hours"))
            .unwrap_or_default();
        finding.verdict.summary = format!(
            "The zone is outside its band in {outside:.0} % of occupied samples on the {side} side, while the units of room \
             {} work against each other{share}.",
            fight.room
        );
        finding.verdict.caveats.push(format!(
            "The cause is left to {IMBALANCE}: settle the room's units before a larger one is considered."
        ));
    }
}

fn word(finding: &Finding, name: &str) -> String {
    finding
        .verdict
        .metrics
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// Units of rooms that fight.
fn fights(findings: &[Finding]) -> HashMap<String, Fight> {
    let mut fights = HashMap::new();
    let rooms = findings
        .iter()
        .filter(|finding| finding.rule == IMBALANCE)
        .filter_map(|finding| finding.verdict.metrics.get("rooms")?.as_object())
        .flatten();
    for (room, figures) in rooms {
        if figures.get("fights").and_then(Value::as_bool) != Some(true) {
            continue;
        }
        let units = figures.get("units").and_then(Value::as_array);
        for unit in units.into_iter().flatten().filter_map(Value::as_str) {
            fights.insert(
                unit.to_owned(),
                Fight {
                    room: room.clone(),
                    percent: figures.get("fight_pct").and_then(Value::as_f64),
                },
            );
        }
    }
    fights
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::finding::{Metrics, Verdict};

    fn finding(rule: &str, equip: &str, severity: Severity, metrics: Value) -> Finding {
        let mut figures = Metrics::new();
        for (name, value) in metrics.as_object().unwrap() {
            figures.set(name, value.clone());
        }
        Finding {
            id: format!("{rule}@{equip}"),
            rule: rule.to_owned(),
            equip: equip.to_owned(),
            place: None,
            verdict: Verdict::new(severity, figures, "alone"),
            untrusted: Vec::new(),
        }
    }

    #[test]
    fn a_unit_of_a_fighting_room_leaves_the_cause_to_the_room() {
        let capacity = |equip: &str, verdict: &str| {
            let metrics =
                json!({"verdict": verdict, "side": "heating", "heating_outside_pct": 36.36});
            finding(CAPACITY, equip, Severity::Fault, metrics)
        };
        let rooms = json!({"rooms": {
            "R1": {"units": ["HP1", "HP2"], "fights": true, "fight_pct": 100.0},
            "R2": {"units": ["HP3"], "fights": false, "fight_pct": 0.0},
        }});
        let mut findings = [
            capacity("HP1", "capacity"),
            capacity("HP2", "control"),
            capacity("HP3", "capacity"),
            finding(IMBALANCE, "fleet", Severity::Fault, rooms),
        ];
        defer(&mut findings);
        let [first, second, third, _] = &findings;
        assert_eq!(word(first, "verdict"), "room_fight");
        assert_eq!(word(first, "verdict_alone"), "capacity");
        assert_eq!(word(first, "room"), "R1");
        assert_eq!(first.severity(), Severity::Fault);
        let told = &first.verdict.summary;
        assert!(told.contains("36 %") && told.contains("100.0 %"), "{told}");
        assert_eq!(first.verdict.caveats.len(), 1);
        assert_eq!(word(second, "verdict"), "control");
        assert_eq!(word(third, "verdict"), "capacity");
    }
}
