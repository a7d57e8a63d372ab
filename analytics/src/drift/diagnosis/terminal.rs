//! A box, and the duct before it (Drift §6).

use serde_json::Value;

use super::{Own, Signals};
use crate::drift::outcome::Diagnosis;

pub(super) fn of(own: &Own<'_>) -> Diagnosis {
    let mut signals = Signals::default();
    if let Some(damper) = own.degraded("vav_airflow_drift") {
        let starved = damper
            .verdict
            .metrics
            .get("vav_upstream_starvation_suspected")
            == Some(&Value::Bool(true));
        match starved {
            true => signals.add(
                damper,
                "upstream",
                "the box damper opens further for the same air while the duct's pressure is lower, consistent with a duct that is not \
                 held at pressure",
            ),
            false => signals.add(
                damper,
                "airflow",
                "the box damper opens further for the same air, consistent with actuator, linkage or inlet, or with a drifted airflow \
                 sensor",
            ),
        }
    }
    if let Some(valve) = own.degraded("vav_reheat_valve_drift") {
        signals.add(
            valve,
            "reheat",
            "the reheat valve opens further for the same heat, consistent with a fouled coil, the water side, the valve's authority \
             or a drifted temperature or airflow sensor",
        );
    }
    let both = signals.points_to("airflow") && signals.points_to("reheat");
    let locus = if both {
        "box-wide"
    } else if signals.points_to("airflow") {
        "airflow"
    } else if signals.points_to("reheat") {
        "reheat"
    } else if signals.points_to("upstream") {
        "upstream"
    } else {
        "steady"
    };
    let mut diagnosis = signals.into_diagnosis(own, locus, &[("box_wide", both)]);
    diagnosis.detail.set("locus", locus);
    diagnosis
}
