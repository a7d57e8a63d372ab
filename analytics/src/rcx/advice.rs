//! What an issue is called and what its cause is (RCx report §3.7).

use serde_json::Value;

use super::items::{Item, SENSOR};

/// What to do about findings of a rule, as a heading; none for a rule without advice.
pub(super) fn action(item: &Item<'_>) -> Option<&'static str> {
    let is_below = is_under_ventilated(item);
    Some(match &*item.rule {
        "simultaneous_heat_cool" => "Lock out heating and cooling at the same time",
        "supply_air_reset" if rises_with_load(item) => {
            "Check the cooling capacity behind the supply-air reset"
        }
        "supply_air_reset" if resets_too_little(item) => "Widen the supply-air temperature reset",
        "supply_air_reset" => "Enable the supply-air temperature reset",
        "outdoor_air_fraction" if is_below => "Restore the minimum outdoor air",
        "outdoor_air_fraction" => "Reduce the outdoor air to its minimum",
        "economizer_high_limit" if is_below => "Restore the minimum outdoor air",
        "economizer_high_limit" => "Lock the economizer out above its high limit",
        "free_cooling_missed" => match item.word("missed_cause") {
            Some("damper_not_delivering") => "Repair the outdoor-air damper",
            _ => "Enable free cooling",
        },
        "reheat_penalty" if is_valve_diverging(item) => "Repair the reheat valve",
        "reheat_penalty" => "Minimise reheat",
        "reheat_minimization_g36" => "Minimise reheat with dual maximum airflows",
        "overcooling_min_flow" => "Reduce overcooling at minimum airflow",
        "overcooling_severity" => "Investigate the overcooled zone",
        "night_weekend_setback" => "Add an unoccupied setback",
        "unmet_setpoint_hours" => "Investigate the zone that misses its setpoint",
        "supply_air_control" => "Restore the control of the supply-air temperature",
        "airflow_tracking" => "Restore the airflow of the box",
        "control_hunting" => "Retune the hunting loop",
        "cohort_airflow" | "cohort_space_temp" => {
            "Investigate the units that deviate from their peers"
        }
        "static_pressure_reset" => "Enable the duct pressure reset",
        "condenser_water_reset" => "Reset the condenser-water temperature",
        "chiller_efficiency" => "Improve the efficiency of the chiller",
        "chw_plant_reset" => match chilled_water(item) {
            ChilledWater::LowDifference => {
                "Fix the low temperature difference of the chilled water"
            }
            ChilledWater::Reversed => "Find why the chilled-water supply resets the wrong way",
            ChilledWater::Flat => "Reset the chilled-water supply temperature",
        },
        "chw_supply_tracking" => "Restore the chilled-water supply temperature",
        "chw_pump_dp_reset" | "hw_pump_dp_reset" => match pump(item) {
            Pump::Minimum => "Right-size the pump",
            Pump::NearFull => "Find why the pump rides high",
            Pump::Fixed | Pump::PartLoad => "Reset the pressure of the pump",
        },
        "cooling_tower_approach" => match item.flag("effort_gated") {
            Some(true) => "Restore the cooling tower",
            _ => "Restore the tower or reset the condenser water",
        },
        "boiler_short_cycle" => "Stop the boiler from short-cycling",
        "compressor_short_cycle" => "Stop the compressor from short-cycling",
        "boiler_summer_lockout" | "hw_pump_summer_lockout" => {
            "Lock the hot-water plant out in warm weather"
        }
        "leaking_valve" => "Repair the leaking coil valve",
        "dcv_verification" | "dcv_system_verification" => match ventilation(item) {
            Some(Ventilation::Excess) => "Repair the demand-controlled ventilation",
            _ => "Restore the demand-controlled ventilation",
        },
        "actuator_stuck" => "Check the stuck actuator",
        _ => return None,
    })
}

/// The rule as words.
pub(super) fn humanised(rule: &str) -> String {
    if let Some(role) = rule.strip_prefix(SENSOR) {
        return format!("Sensor drift: {}", role.replace('_', " "));
    }
    let words = rule.replace('_', " ");
    let mut letters = words.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => words,
    }
}

/// The title of an issue with this root.
pub(super) fn title(root: &Item<'_>) -> String {
    action(root).map_or_else(|| humanised(&root.rule), str::to_owned)
}

/// The cause of an issue: of the member of its own equipment that names the faulty part, else of its root.
pub(super) fn cause(members: &[&Item<'_>]) -> String {
    let Some(root) = members.first() else {
        return String::new();
    };
    if !names_part(root) {
        let part = members
            .iter()
            .skip(1)
            .filter(|item| item.equip == root.equip && names_part(item))
            .map(|item| cause_of(item))
            .find(|cause| !cause.is_empty());
        if let Some(cause) = part {
            return cause;
        }
    }
    cause_of(root)
}

/// Whether a finding names the faulty part.
fn names_part(item: &Item<'_>) -> bool {
    match &*item.rule {
        "leaking_valve" | "actuator_stuck" | "economizer_damper_drift" => true,
        "free_cooling_missed" => item.word("missed_cause") == Some("damper_not_delivering"),
        "reheat_penalty" => is_valve_diverging(item),
        _ => false,
    }
}

fn cause_of(item: &Item<'_>) -> String {
    let figure = |name: &str| item.number(name).unwrap_or(0.0);
    match &*item.rule {
        "simultaneous_heat_cool" => "heating and cooling coils are open together".to_owned(),
        "supply_air_reset" => supply_reset(item),
        "outdoor_air_fraction" | "economizer_high_limit" if is_under_ventilated(item) => {
            "outdoor air is below its minimum".to_owned()
        }
        "outdoor_air_fraction" => "more outdoor air than the minimum".to_owned(),
        "economizer_high_limit" => "the economizer stays open above its high limit".to_owned(),
        "free_cooling_missed" => free_cooling(item),
        "reheat_minimization_g36" => "reheat above the heating minimum airflow".to_owned(),
        "reheat_penalty" if is_valve_diverging(item) => {
            "the reheat valve does not follow its command".to_owned()
        }
        "reheat_penalty" => "cooled air is heated again".to_owned(),
        "overcooling_severity" => "the space is driven below its setpoint".to_owned(),
        "overcooling_min_flow" => "the space is overcooled at minimum airflow".to_owned(),
        "night_weekend_setback" => match item.number("fan_run_unoccupied_pct") {
            Some(share) => format!("the fan runs {share:.0} % of the unoccupied hours"),
            None => "there is no setback in unoccupied hours".to_owned(),
        },
        "unmet_setpoint_hours" => {
            let warm = figure("too_hot_pct") >= figure("too_cold_pct");
            format!("the space is too {}", if warm { "warm" } else { "cold" })
        }
        "supply_air_control" => {
            let warm = figure("too_warm_pct") >= figure("too_cold_pct");
            format!(
                "supply air is {} than its setpoint",
                if warm { "warmer" } else { "colder" }
            )
        }
        "airflow_tracking" => {
            let below = figure("undershoot_pct") >= figure("overshoot_pct");
            format!(
                "airflow is {} its setpoint",
                if below { "below" } else { "above" }
            )
        }
        "control_hunting" => match item.word("worst_signal") {
            Some(signal) => format!("{signal} hunts"),
            None => String::new(),
        },
        "cohort_airflow" | "cohort_space_temp" => outliers(item),
        "static_pressure_reset" => "the duct pressure setpoint is not reset".to_owned(),
        "condenser_water_reset" => "the condenser-water setpoint is not reset".to_owned(),
        "chiller_efficiency" => match item.number("kw_per_ton_median") {
            Some(median) => format!("the chiller takes {median:.2} kW per ton"),
            None => String::new(),
        },
        "chw_plant_reset" => match chilled_water(item) {
            ChilledWater::LowDifference => "the temperature difference of the chilled water is low",
            ChilledWater::Reversed => "the chilled-water supply is reset the wrong way",
            ChilledWater::Flat => "the chilled-water supply is not reset",
        }
        .to_owned(),
        "chw_supply_tracking" => "chilled-water supply is warmer than its setpoint".to_owned(),
        "chw_pump_dp_reset" | "hw_pump_dp_reset" => match pump(item) {
            Pump::Minimum => "the pump runs at its minimum speed",
            Pump::NearFull => "the pump runs near full speed although its pressure is reset",
            Pump::Fixed => "the pressure of the pump is fixed",
            Pump::PartLoad => "the pump does not slow down at part load",
        }
        .to_owned(),
        "cooling_tower_approach" => match item.flag("effort_gated") {
            Some(true) => "the approach is high with the fan at full speed",
            _ => "the approach is above its target",
        }
        .to_owned(),
        "boiler_short_cycle" => format!("{:.0} boiler starts a day", figure("starts_per_day")),
        "compressor_short_cycle" => {
            format!("{:.0} compressor starts a day", figure("starts_per_day"))
        }
        "boiler_summer_lockout" => format!(
            "the boiler runs {} % of the hours above {} °F",
            figure("summer_run_pct"),
            figure("lockout_oat_f")
        ),
        "hw_pump_summer_lockout" => {
            let alone = figure("boiler_off_pct") >= 50.0;
            format!(
                "the hot-water pump runs {} % of the hours above {} °F{}",
                figure("summer_run_pct"),
                figure("lockout_oat_f"),
                if alone {
                    ", mostly with the boiler off"
                } else {
                    ""
                }
            )
        }
        "leaking_valve" => match (figure("hw_leak_pct"), figure("chw_leak_pct")) {
            (hot, cold) if hot <= 0.0 && cold <= 0.0 => "a coil valve passes when it is shut",
            (hot, cold) if hot >= cold => "the heating valve passes when it is shut",
            _ => "the cooling valve passes when it is shut",
        }
        .to_owned(),
        "dcv_verification" | "dcv_system_verification" => {
            ventilation(item).map_or("", Ventilation::words).to_owned()
        }
        "actuator_stuck" => stuck(item),
        _ => String::new(),
    }
}

/// Supply air warms as the load grows.
fn rises_with_load(item: &Item<'_>) -> bool {
    item.word("reset_direction") == Some("rising_with_load")
}

/// The setpoint moves, but over too narrow a range or not with the weather.
fn resets_too_little(item: &Item<'_>) -> bool {
    item.word("sp_behaviour") == Some("reset") && item.flag("sp_wrong_direction") != Some(true)
}

fn supply_reset(item: &Item<'_>) -> String {
    if rises_with_load(item) {
        return "supply air warms with the load: the cooling is short of capacity".to_owned();
    }
    if item.flag("sp_wrong_direction") == Some(true) {
        return "the supply-air setpoint resets the wrong way".to_owned();
    }
    if resets_too_little(item) {
        return "the supply-air setpoint resets, but not far enough".to_owned();
    }
    "supply air is held cold without a reset".to_owned()
}

fn is_under_ventilated(item: &Item<'_>) -> bool {
    match item.word("failure_mode") {
        Some(mode) => mode == "under_ventilation",
        None => match (item.number("oaf_median_pct"), item.number("min_oa_pct")) {
            (Some(median), Some(minimum)) => median < minimum - 5.0,
            _ => false,
        },
    }
}

fn free_cooling(item: &Item<'_>) -> String {
    match item.word("missed_cause") {
        Some("damper_not_delivering") => {
            let fraction = item.number("commanded_open_oaf_median_pct");
            match fraction.is_some_and(|fraction| fraction < 30.0) {
                true => "the outdoor-air damper is commanded open and stuck low",
                false => "the outdoor-air damper is commanded open and opens only in part",
            }
        }
        Some("economizer_not_commanded") => {
            "the economizer is not commanded in free-cooling weather"
        }
        _ => "mechanical cooling in free-cooling weather",
    }
    .to_owned()
}

fn is_valve_diverging(item: &Item<'_>) -> bool {
    item.number("valve_divergence_share")
        .is_some_and(|share| share >= 0.25)
}

fn outliers(item: &Item<'_>) -> String {
    const NAMED: usize = 5;
    let names: Vec<&str> = match item.verdict.metrics.get("outliers") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if names.is_empty() {
        return String::new();
    }
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named: Vec<&str> = names.into_iter().take(NAMED).collect();
    format!("{}{more} differ from their peers", named.join(", "))
}

enum ChilledWater {
    LowDifference,
    Reversed,
    Flat,
}

fn chilled_water(item: &Item<'_>) -> ChilledWater {
    let low = item.number("low_deltaT_pct").unwrap_or(0.0);
    let resets = item.flag("chwst_reset_present") != Some(false);
    let constant = item.word("flow_mode") == Some("constant");
    if !constant && (low >= 20.0 || (resets && low > 0.0)) {
        ChilledWater::LowDifference
    } else if item.word("chwst_reset_direction") == Some("reverse") {
        ChilledWater::Reversed
    } else {
        ChilledWater::Flat
    }
}

enum Pump {
    Minimum,
    NearFull,
    Fixed,
    PartLoad,
}

fn pump(item: &Item<'_>) -> Pump {
    let figure = |name: &str| item.number(name).unwrap_or(0.0);
    let full = figure("pct_running_near_full");
    match item.flag("dp_sp_reset_present") {
        _ if figure("pct_running_near_min") >= 50.0 && full < 30.0 => Pump::Minimum,
        Some(true) => Pump::NearFull,
        Some(false) => Pump::Fixed,
        None => Pump::PartLoad,
    }
}

#[derive(Clone, Copy)]
enum Ventilation {
    Unventilated,
    BelowFloor,
    FanOff,
    HighAtMinimum,
    Unrelated,
    Excess,
}

impl Ventilation {
    const fn words(self) -> &'static str {
        match self {
            Self::Unventilated => "occupied hours without outdoor air",
            Self::BelowFloor => "outdoor air is below its floor",
            Self::FanOff => "the fan is off in occupied hours",
            Self::HighAtMinimum => "CO2 is high while outdoor air stays at its minimum",
            Self::Unrelated => "outdoor air does not follow CO2",
            Self::Excess => "more outdoor air than a low demand needs",
        }
    }
}

/// The first of what demand-controlled ventilation can miss.
fn ventilation(item: &Item<'_>) -> Option<Ventilation> {
    let at_least = |name: &str, limit: f64| item.number(name).is_some_and(|value| value >= limit);
    if at_least("unventilated_high_co2_hours", 4.0) {
        Some(Ventilation::Unventilated)
    } else if at_least("below_floor_pct", 10.0) {
        Some(Ventilation::BelowFloor)
    } else if at_least("fan_off_occupied_pct", 10.0) {
        Some(Ventilation::FanOff)
    } else if at_least("co2_breach_at_min_pct", 10.0) {
        Some(Ventilation::HighAtMinimum)
    } else if matches!(item.word("status"), Some("static" | "uncorrelated")) {
        Some(Ventilation::Unrelated)
    } else if at_least("excess_at_low_demand_pct", 50.0) {
        Some(Ventilation::Excess)
    } else {
        None
    }
}

fn stuck(item: &Item<'_>) -> String {
    let role = item.word("role").unwrap_or("actuator");
    let place = item
        .number("value")
        .map(|value| format!(" at {value} %"))
        .unwrap_or_default();
    let reason = item
        .word("reason")
        .map(|reason| format!(" ({})", reason.replace('_', " ")))
        .unwrap_or_default();
    format!("{role} stays{place}{reason}")
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::json;

    use super::*;
    use crate::finding::{Metrics, Severity, Verdict};

    fn item(equip: &'static str, rule: &'static str, figures: Value) -> Item<'static> {
        let mut metrics = Metrics::new();
        for (name, value) in figures.as_object().unwrap() {
            metrics.set(name, value.clone());
        }
        Item {
            id: None,
            rule: Cow::Borrowed(rule),
            equip: Cow::Borrowed(equip),
            place: None,
            verdict: Cow::Owned(Verdict::new(Severity::Warn, metrics, "")),
            chosen: None,
            is_declined: false,
            source: None,
            scope: None,
        }
    }

    fn told(rule: &'static str, figures: Value) -> (String, String) {
        let item = item("E", rule, figures);
        (title(&item), cause(&[&item]))
    }

    #[test]
    fn titles_say_what_to_do_and_causes_what_is_wrong() {
        let both = |title: &str, cause: &str| (title.to_owned(), cause.to_owned());
        assert_eq!(
            told(
                "unmet_setpoint_hours",
                json!({"too_hot_pct": 5.0, "too_cold_pct": 5.0})
            ),
            both(
                "Investigate the zone that misses its setpoint",
                "the space is too warm"
            )
        );
        assert_eq!(
            told(
                "outdoor_air_fraction",
                json!({"oaf_median_pct": 10.0, "min_oa_pct": 20.0, "failure_mode": null})
            ),
            both(
                "Restore the minimum outdoor air",
                "outdoor air is below its minimum"
            )
        );
        assert_eq!(
            told("supply_air_reset", json!({"sp_behaviour": "reset"})),
            both(
                "Widen the supply-air temperature reset",
                "the supply-air setpoint resets, but not far enough"
            )
        );
        assert_eq!(
            told("chiller_efficiency", json!({"kw_per_ton_median": 1.149})),
            both(
                "Improve the efficiency of the chiller",
                "the chiller takes 1.15 kW per ton"
            )
        );
        assert_eq!(
            told(
                "cohort_airflow",
                json!({"outliers": ["a", "b", "c", "d", "e", "f"]})
            )
            .1,
            "a, b, c, d, e and 1 more differ from their peers"
        );
        assert_eq!(
            told(
                "hw_pump_dp_reset",
                json!({"pct_running_near_min": 60.0, "pct_running_near_full": 0.0})
            )
            .0,
            "Right-size the pump"
        );
        assert_eq!(
            told(
                "night_weekend_setback",
                json!({"fan_run_unoccupied_pct": 99.6})
            )
            .1,
            "the fan runs 100 % of the unoccupied hours"
        );
        assert_eq!(
            told(
                "dcv_verification",
                json!({"co2_breach_at_min_pct": 10.0, "status": "static"})
            )
            .1,
            "CO2 is high while outdoor air stays at its minimum"
        );
        assert_eq!(
            told("sensor_drift:oat", json!({})),
            both("Sensor drift: oat", "")
        );
        assert_eq!(told("g36_afdd", json!({})), both("G36 afdd", ""));
    }

    #[test]
    fn a_member_that_names_the_faulty_part_leads_the_cause() {
        let root = item("A", "economizer_high_limit", json!({}));
        let elsewhere = item(
            "B",
            "leaking_valve",
            json!({"hw_leak_pct": 5.0, "chw_leak_pct": 0.0}),
        );
        let here = item(
            "A",
            "free_cooling_missed",
            json!({"missed_cause": "damper_not_delivering", "commanded_open_oaf_median_pct": 12.0}),
        );
        assert_eq!(
            cause(&[&root, &elsewhere, &here]),
            "the outdoor-air damper is commanded open and stuck low"
        );
        assert_eq!(
            cause(&[&root]),
            "the economizer stays open above its high limit"
        );
        assert_eq!(title(&root), "Lock the economizer out above its high limit");
    }
}
