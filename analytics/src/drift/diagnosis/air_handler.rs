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
        signals.add(filter, AIR_PATH, "the filter is loaded");
    }
    if let Some(pressure) = pressure {
        match pressure_fell {
            true => signals.add(pressure, FAN, "the fan cannot hold the duct's pressure"),
            false => signals.add(pressure, AIR_PATH, "the duct is pressed too hard"),
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
                "the fan draws more power against the resistance of the air path",
            );
        } else if pressure_fell || was_judged {
            signals.add(
                power,
                FAN,
                "the fan itself has got worse: belt, bearing, motor or drive",
            );
        } else {
            signals.add(power, FAN, "the fan draws more power for the same air");
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
            format!("the {which} coil does less for its valve: dirt, water side or the valve's authority"),
        );
    }
    for leak in own
        .judged("coil_leak_drift")
        .filter(|finding| super::is_degraded(finding))
    {
        let which = text(leak, "coil_leak_which").unwrap_or("cooling");
        signals.add(
            leak,
            COIL,
            format!("the {which} coil leaks by its shut valve"),
        );
    }
    if let Some(economizer) = own.degraded("economizer_damper_drift") {
        let cause = match goes_down(economizer, "econ_oa_fraction_drift_direction") {
            true => "the outdoor-air damper delivers less than it is told to",
            false => "the outdoor-air damper delivers more than it is told to",
        };
        signals.add(economizer, OUTDOOR_AIR, cause);
    }
    let locus = signals.locus(WIDE);
    let mut diagnosis = signals.into_diagnosis(own, locus, &[("ahu_wide", locus == WIDE)]);
    diagnosis.detail.set("locus", locus);
    diagnosis
}
