//! Both sides of a chiller, and its charge (Drift §6).

use serde_json::{Value, json};

use super::{Own, Signals, goes_down};
use crate::drift::detectors::chiller::approach::FLOORS;
use crate::drift::detectors::chiller::head_pressure::WATER_CONFOUND;
use crate::drift::outcome::Diagnosis;
use crate::drift::shift::Direction;
use crate::finding::Severity;

const CONDENSER: &str = "condenser";
const EVAPORATOR: &str = "evaporator";
const CHARGE: &str = "charge";

/// The severity of one leg of the approach, out of its figures.
fn leg(own: &Own<'_>, prefix: &str) -> Option<Severity> {
    let metrics = &own.first("chiller_approach_drift")?.verdict.metrics;
    let drift = metrics.as_number(&format!("{prefix}_drift_f"))?;
    let sigmas = metrics
        .as_number(&format!("{prefix}_drift_sigma"))
        .unwrap_or(f64::NAN);
    Some(FLOORS.judge(drift, sigmas, Direction::Up)).filter(|severity| *severity <= Severity::Warn)
}

pub(super) fn condenser(own: &Own<'_>) -> Signals {
    let mut signals = Signals::default();
    if let Some(severity) = leg(own, "cond") {
        signals.add_as(
            severity,
            CONDENSER,
            "the condenser's approach has grown at the same load, consistent with fouled or scaled tubes, gas that does not condense, \
             less water or a drifted sensor of the approach",
        );
    }
    if let Some(range) = own.degraded("chiller_cw_range_drift") {
        let cause = match goes_down(range, "cw_range_drift_direction") {
            true => {
                "the condenser water's range has fallen at the same load, consistent with water that bypasses the machine, more flow or a \
                     drifted water-temperature sensor"
            }
            false => {
                "the condenser water's range has risen at the same load, consistent with less water or a drifted water-temperature sensor"
            }
        };
        signals.add(range, CONDENSER, cause);
    }
    let tower = own.degraded("cooling_tower_approach_drift");
    if let Some(tower) = tower {
        signals.add(tower, CONDENSER, "the cooling tower comes less near the wet-bulb temperature, consistent with a tower that does less or a drifted \
             temperature or humidity sensor");
    }
    if let Some(head) = own.degraded("chiller_head_pressure_drift") {
        signals.add(
            head,
            CONDENSER,
            "the head pressure has risen at the same load, consistent with fouling, gas that does not condense or a drifted pressure \
             sensor",
        );
        let water = head.verdict.metrics.as_number("cw_supply_shift_f");
        if water.is_some_and(|shift| shift >= WATER_CONFOUND) {
            signals.caveats.push(match tower.is_some() {
                true => "Warmer condenser water goes with the tower's own drift.".to_owned(),
                false => "Condenser water was warmer too: the head pressure may be the weather's."
                    .to_owned(),
            });
        }
    }
    signals
}

pub(super) fn evaporator(own: &Own<'_>) -> Signals {
    let mut signals = Signals::default();
    if let Some(severity) = leg(own, "evap") {
        signals.add_as(severity, EVAPORATOR, "the evaporator's approach has grown at the same load, consistent with fouled tubes, a low charge or a drifted sensor of \
             the approach");
    }
    // Whether each says that the evaporator gets too much refrigerant.
    let superheat = own.degraded("chiller_superheat_drift");
    let overfed = superheat.map(|finding| goes_down(finding, "superheat_drift_direction"));
    if let (Some(finding), Some(overfed)) = (superheat, overfed) {
        let cause = match overfed {
            true => {
                "superheat fell, consistent with an overfed evaporator or a drifted superheat signal"
            }
            false => {
                "superheat rose, consistent with a starved evaporator or a drifted superheat signal"
            }
        };
        signals.add(finding, EVAPORATOR, cause);
    }
    let suction = own.degraded("chiller_suction_pressure_drift");
    let flooded = suction.map(|finding| !goes_down(finding, "suction_pressure_drift_direction"));
    if let (Some(finding), Some(flooded)) = (suction, flooded) {
        let cause = match flooded {
            true => {
                "suction pressure rose, consistent with an overfed evaporator or a drifted pressure sensor"
            }
            false => {
                "suction pressure fell, consistent with less heat taken up, a low charge or a drifted pressure sensor"
            }
        };
        signals.add(finding, EVAPORATOR, cause);
    }
    if let Some((overfed, flooded)) = overfed.zip(flooded) {
        signals.caveats.push(match overfed == flooded {
            true => "Superheat and suction pressure agree on how the evaporator is fed.".to_owned(),
            false => {
                "Superheat and suction pressure disagree on how the evaporator is fed.".to_owned()
            }
        });
    }
    signals
}

fn charge(own: &Own<'_>) -> Signals {
    let mut signals = Signals::default();
    if let Some(subcooling) = own.degraded("chiller_subcooling_drift") {
        let cause = match goes_down(subcooling, "subcooling_drift_direction") {
            true => {
                "subcooling fell, consistent with too little refrigerant or a drifted subcooling signal"
            }
            false => {
                "subcooling rose, consistent with too much refrigerant or a drifted subcooling signal"
            }
        };
        signals.add(subcooling, CHARGE, cause);
    }
    signals
}

pub(super) fn of(own: &Own<'_>) -> Diagnosis {
    let sides = [
        (CONDENSER, condenser(own)),
        (EVAPORATOR, evaporator(own)),
        (CHARGE, charge(own)),
    ];
    let is_degraded = |name: &str| {
        sides
            .iter()
            .any(|(side, signals)| *side == name && !signals.is_empty())
    };
    let wide = is_degraded(CONDENSER) && is_degraded(EVAPORATOR);
    let locus = if wide {
        "whole-machine"
    } else {
        [CONDENSER, EVAPORATOR, CHARGE]
            .into_iter()
            .find(|side| is_degraded(side))
            .unwrap_or("steady")
    };
    let charged = match is_degraded(CHARGE) {
        true => json!({"severity": sides[2].1.severity().word(), "causes": sides[2].1.sorted()}),
        false => Value::Null,
    };
    let mut ordered: Vec<(&str, Signals)> = sides.into();
    ordered.sort_by_key(|(_, signals)| signals.severity());
    let mut all = Signals::default();
    let mut causes = Vec::new();
    for (side, signals) in ordered {
        causes.extend(
            signals
                .sorted()
                .into_iter()
                .map(|cause| format!("{side}: {cause}")),
        );
        all.caveats.extend(signals.caveats);
        all.causes.extend(signals.causes);
    }
    let mut diagnosis = all.into_diagnosis(own, locus, &[("machine_wide", wide)]);
    if !causes.is_empty() {
        diagnosis.summary = format!("{}: drift ({locus}): {}", own.equip, causes.join("; "));
    }
    diagnosis.causes = causes;
    diagnosis.detail.remove("corroborated");
    diagnosis.detail.set("locus", locus).set("charge", charged);
    diagnosis
}
