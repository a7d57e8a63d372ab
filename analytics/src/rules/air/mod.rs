//! Rules of air handlers and zones (CAMBER air-side and zone-side rules).

pub mod actuator_stuck;
pub mod airflow_tracking;
pub mod co2_ventilation;
pub mod cohort;
pub mod cohort_starvation;
pub mod control_hunting;
pub mod damper_census;
pub mod dcv;
pub mod economizer_high_limit;
mod economizer_mode;
pub mod filter_fouling;
pub mod g36_afdd;
pub mod grouping;
pub mod leaking_valve;
pub mod minimum_airflow;
pub mod monthly;
pub mod night_weekend_setback;
pub mod outdoor_air_cost;
pub mod outdoor_air_fraction;
pub mod overcooling_min_flow;
pub mod overcooling_severity;
pub mod reheat_capacity_shortfall;
pub mod reheat_minimization_g36;
pub mod reheat_penalty;
pub mod reheat_valve;
pub mod reset_effectiveness;
pub mod reset_requests;
pub mod rogue_zone_census;
pub mod simultaneous_heat_cool;
pub mod static_pressure_reset;
pub mod supply_air_control;
pub mod supply_air_reset;
pub mod supply_air_reset_compliance;
pub mod trim_respond;
pub mod unmet_setpoint_hours;
pub mod zones_heat_cool_census;

use super::RuleCode;

/// All of them, by id.
pub const RULES: &[RuleCode] = &[
    actuator_stuck::RULE,
    airflow_tracking::RULE,
    co2_ventilation::RULE,
    co2_ventilation::SYSTEM,
    cohort::AIRFLOW,
    cohort::SPACE_TEMP,
    control_hunting::RULE,
    damper_census::RULE,
    dcv::RULE,
    dcv::SYSTEM,
    economizer_high_limit::RULE,
    filter_fouling::RULE,
    g36_afdd::RULE,
    leaking_valve::RULE,
    night_weekend_setback::RULE,
    outdoor_air_fraction::RULE,
    overcooling_min_flow::RULE,
    overcooling_severity::RULE,
    reheat_capacity_shortfall::RULE,
    reheat_minimization_g36::RULE,
    reheat_penalty::RULE,
    cohort_starvation::SUPPLY_AIR_RULE,
    reset_effectiveness::SUPPLY_AIR_RULE,
    rogue_zone_census::SUPPLY_AIR_RULE,
    simultaneous_heat_cool::RULE,
    cohort_starvation::DUCT_STATIC_RULE,
    static_pressure_reset::RULE,
    reset_effectiveness::DUCT_STATIC_RULE,
    rogue_zone_census::DUCT_STATIC_RULE,
    supply_air_control::RULE,
    supply_air_reset::RULE,
    supply_air_reset_compliance::RULE,
    unmet_setpoint_hours::RULE,
    zones_heat_cool_census::RULE,
];
