//! A pump, and the loop that it feeds (Drift §6).

use super::{Own, Signals, goes_down};
use crate::drift::outcome::Diagnosis;

const PUMP: &str = "pump";
const DISTRIBUTION: &str = "distribution";
const WIDE: &str = "loop-wide";

pub(super) fn of(own: &Own<'_>) -> Diagnosis {
    let mut signals = Signals::default();
    let head = own.degraded("pump_head_drift");
    if let Some(head) = head {
        signals.add(
            head,
            PUMP,
            "the pump builds less head: a worn impeller, or cavitation",
        );
    }
    if let Some(flow) = own.degraded("pump_flow_drift") {
        if head.is_some() {
            signals.add(flow, PUMP, "the pump delivers less too: it is worn");
        } else if own.first("pump_head_drift").is_some() {
            signals.add(
                flow,
                DISTRIBUTION,
                "less flows at a steady head: the loop's resistance has grown",
            );
        } else {
            signals.add(flow, PUMP, "less flows at the same speed");
            signals.caveats.push(
                "The head was not judged: less flow may be the loop's resistance as much as the pump.".to_owned(),
            );
        }
    }
    if let Some(difference) = own.degraded("loop_deltat_drift") {
        let cause = match goes_down(difference, "loop_deltat_drift_direction") {
            true => "the loop's temperature difference is low: water comes back unused",
            false => "the loop's temperature difference is high: too little water flows",
        };
        signals.add(difference, DISTRIBUTION, cause);
    }
    if let Some(pressure) = own.degraded("loop_dp_drift") {
        let cause = match goes_down(pressure, "loop_dp_drift_direction") {
            true => "the loop's differential pressure fell: a bypass is open",
            false => "the loop's differential pressure rose: its resistance has grown",
        };
        signals.add(pressure, DISTRIBUTION, cause);
    }
    if let Some(power) = own.degraded("pump_power_drift") {
        signals.add(power, PUMP, "the pump draws more power for the same flow");
    }
    let locus = signals.locus(WIDE);
    let mut diagnosis = signals.into_diagnosis(own, locus, &[("loop_wide", locus == WIDE)]);
    diagnosis.detail.set("locus", locus);
    diagnosis
}
