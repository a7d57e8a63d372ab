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
            "the pump builds less head at the same speed, consistent with a worn impeller, cavitation or a drifted pressure sensor",
        );
    }
    if let Some(flow) = own.degraded("pump_flow_drift") {
        if head.is_some() {
            signals.add(flow, PUMP, "it delivers less too, consistent with wear");
        } else if own.first("pump_head_drift").is_some() {
            signals.add(
                flow,
                DISTRIBUTION,
                "less flows at a steady head, consistent with more resistance of the loop or a drifted flow meter",
            );
        } else {
            signals.add(flow, PUMP, "less flows at the same speed, consistent with a worn pump, more resistance of the loop or a drifted flow meter");
            signals.caveats.push(
                "The head was not judged: less flow may be the loop's resistance as much as the pump.".to_owned(),
            );
        }
    }
    if let Some(difference) = own.degraded("loop_deltat_drift") {
        let cause = match goes_down(difference, "loop_deltat_drift_direction") {
            true => {
                "the loop's temperature difference is low, consistent with water that comes back unused (overpumping, open bypass, \
                     valves that do not shut) or a drifted water-temperature sensor"
            }
            false => {
                "the loop's temperature difference is high, consistent with too little water or a drifted water-temperature sensor"
            }
        };
        signals.add(difference, DISTRIBUTION, cause);
    }
    if let Some(pressure) = own.degraded("loop_dp_drift") {
        let cause = match goes_down(pressure, "loop_dp_drift_direction") {
            true => {
                "the loop's differential pressure fell at the same flow, consistent with an open bypass or a drifted pressure sensor"
            }
            false => {
                "the loop's differential pressure rose at the same flow, consistent with more resistance of the loop or a drifted \
                      pressure sensor"
            }
        };
        signals.add(pressure, DISTRIBUTION, cause);
    }
    if let Some(power) = own.degraded("pump_power_drift") {
        signals.add(power, PUMP, "the pump draws more power for the same flow, consistent with wear, motor or drive, or a drifted flow or power meter");
    }
    let locus = signals.locus(WIDE);
    let mut diagnosis = signals.into_diagnosis(own, locus, &[("loop_wide", locus == WIDE)]);
    diagnosis.detail.set("locus", locus);
    diagnosis
}
