//! Sides of an air handler: air path, fan, coil, outdoor air (Drift §6).

use super::{Own, Signals, goes_down, text};
use crate::drift::outcome::Diagnosis;

const AIR_PATH: &str = "air-path";
const FAN: &str = "fan";
const COIL: &str = "coil";
const OUTDOOR_AIR: &str = "outdoor-air";
const WIDE: &str = "ahu-wide";

pub(super) fn of(own: &Own<'_>) -> Diagnosis {
    let mut signals = Signals::default();
    let filter = own.degraded("filter_loading_drift");
    let pressure = own.degraded("duct_static_drift");
    let pressure_fell =
        pressure.is_some_and(|finding| goes_down(finding, "duct_static_drift_direction"));
    if let Some(filter) = filter {
        signals.add(filter, AIR_PATH, "the filter's pressure drop has grown for the same air, consistent with a loaded filter or a drifted pressure sensor");
    }
    if let Some(pressure) = pressure {
        match pressure_fell {
            true => signals.add(pressure, FAN, "the duct's pressure has fallen at the same air, consistent with a fan that cannot hold it, a leaking duct or a drifted \
                     pressure sensor"),
            false => signals.add(pressure, AIR_PATH, "the duct's pressure has risen at the same air, consistent with a fan that presses too hard, dampers that shut or a \
                     drifted pressure sensor"),
        }
    }
    if let Some(power) = own.degraded("fan_efficiency_drift") {
        let resisted = filter.is_some() || (pressure.is_some() && !pressure_fell);
        let was_judged = ["filter_loading_drift", "duct_static_drift"]
            .iter()
            .any(|rule| own.first(rule).is_some());
        if resisted {
            signals.add(
                power,
                AIR_PATH,
                "the fan draws more power for the same air, consistent with the resistance of the air path that has moved too",
            );
        } else if pressure_fell || was_judged {
            signals.add(
                power,
                FAN,
                "the fan draws more power for the same air though its air path is steady, consistent with belt, bearing, motor or drive, \
                 or with a drifted airflow or power meter",
            );
        } else {
            signals.add(power, FAN, "the fan draws more power for the same air, consistent with the fan itself, its air path or a drifted airflow or power \
                 meter");
            signals.caveats.push(
                "Neither filter nor duct pressure was judged: the power may be theirs as much as the fan's.".to_owned(),
            );
        }
    }
    for valve in own
        .judged("coil_valve_drift")
        .filter(|finding| super::is_degraded(finding))
    {
        let which = text(valve, "coil_valve_which").unwrap_or("cooling");
        signals.add(
            valve,
            COIL,
            format!("the {which} valve opens further for the same change of the air, consistent with a fouled coil, the water side, the \
                 valve's authority or a drifted air-temperature sensor"),
        );
    }
    for leak in own
        .judged("coil_leak_drift")
        .filter(|finding| super::is_degraded(finding))
    {
        let which = text(leak, "coil_leak_which").unwrap_or("cooling");
        let change = match which {
            "heating" => "warmer",
            _ => "colder",
        };
        signals.add(
            leak,
            COIL,
            format!(
                "air behind the shut {which} coil has got {change}, consistent with a valve that leaks by or with a drifted \
                 air-temperature sensor (mixed or leaving): compare the sensors first"
            ),
        );
    }
    if let Some(economizer) = own.degraded("economizer_damper_drift") {
        let cause = match goes_down(economizer, "econ_oa_fraction_drift_direction") {
            true => {
                "less outdoor air comes in at the same damper command, consistent with the damper or its linkage, or with a drifted \
                      air-temperature sensor"
            }
            false => {
                "more outdoor air comes in at the same damper command, consistent with a damper that leaks or sticks, or with a drifted \
                      air-temperature sensor"
            }
        };
        signals.add(economizer, OUTDOOR_AIR, cause);
    }
    let locus = signals.locus(WIDE);
    let mut diagnosis = signals.into_diagnosis(own, locus, &[("ahu_wide", locus == WIDE)]);
    diagnosis.detail.set("locus", locus);
    diagnosis
}
