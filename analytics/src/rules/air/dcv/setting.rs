//! What demand-controlled ventilation is judged by (Air rules §2.8).

use serde_json::Value;

use crate::occupancy::Schedule;
use crate::parameters::{ParameterError, Parameters};

/// CO2 from which ventilation should have answered, when no setpoint tells it (ppm).
const DEFAULT_ENGAGE: f64 = 800.0;
/// Distance of that level below a setpoint (ppm).
const ENGAGE_BELOW_SETPOINT: f64 = 200.0;
/// CO2 that no occupied space should have without outdoor air, when no setpoint tells it (ppm).
const DEFAULT_UNVENTILATED: f64 = 1100.0;

/// The parameters of the rule.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub min_modulation: f64,
    pub co2_setpoint: Option<f64>,
    pub occupied_only: bool,
    pub engage_ppm: f64,
    pub min_demand_span: f64,
    pub min_lift_ppm: f64,
    pub econ_high_limit_f: f64,
    floor_cfm: Value,
    pub breach_fault_pct: f64,
    pub below_floor_fault_pct: f64,
    pub excess_warn_pct: f64,
    pub min_samples: usize,
    pub schedule: Schedule,
    pub unventilated_ppm: f64,
    pub unventilated_fault_hours: f64,
    pub full_outdoor_air: bool,
    pub stratify_hour: bool,
    pub below_floor_fault_hours: Option<f64>,
    pub fan_off_speed_pct: f64,
}

impl Setting {
    pub(super) fn of(parameters: &Parameters) -> Self {
        let number = |name: &str| parameters.number(name);
        let co2_setpoint = parameters.optional("co2_setpoint");
        Self {
            min_modulation: number("min_modulation"),
            co2_setpoint,
            occupied_only: parameters.flag("occupied_only"),
            engage_ppm: parameters.optional("dcv_engage_ppm").unwrap_or_else(|| {
                co2_setpoint.map_or(DEFAULT_ENGAGE, |setpoint| setpoint - ENGAGE_BELOW_SETPOINT)
            }),
            min_demand_span: number("min_demand_span"),
            min_lift_ppm: number("min_lift_ppm"),
            econ_high_limit_f: number("econ_high_limit_f"),
            floor_cfm: parameters.value("oa_floor_cfm").clone(),
            breach_fault_pct: number("breach_fault_pct"),
            below_floor_fault_pct: number("below_floor_fault_pct"),
            excess_warn_pct: number("excess_warn_pct"),
            min_samples: parameters.count("min_samples"),
            schedule: Schedule::of(parameters),
            unventilated_ppm: parameters
                .optional("unventilated_co2_ppm")
                .or(co2_setpoint)
                .unwrap_or(DEFAULT_UNVENTILATED),
            unventilated_fault_hours: number("unventilated_fault_hours"),
            full_outdoor_air: parameters.flag("full_outdoor_air"),
            stratify_hour: parameters.flag("stratify_hour"),
            below_floor_fault_hours: parameters.optional("below_floor_fault_hours"),
            fan_off_speed_pct: number("fan_off_speed_pct"),
        }
    }

    /// Least outdoor air of an equipment (cfm).
    pub(super) fn floor(&self, equip: &str) -> Option<f64> {
        match &self.floor_cfm {
            Value::Object(floors) => floors.get(equip).and_then(Value::as_f64),
            floor => floor.as_f64(),
        }
    }
}

/// Refuses a floor that is neither a number nor a map of numbers.
pub(super) fn check(parameters: &Parameters) -> Result<(), ParameterError> {
    let is_wrong = match parameters.value("oa_floor_cfm") {
        Value::Object(floors) => floors.values().any(|floor| !floor.is_number()),
        floor => !floor.is_null() && !floor.is_number(),
    };
    if is_wrong {
        return Err(parameters.refuse(
            "oa_floor_cfm",
            "it must be a number, or a map of equipment to numbers (cfm)",
        ));
    }
    Ok(())
}
