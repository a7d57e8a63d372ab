//! Rules of plant (CAMBER plant-side rules).
//!
//! - [`run_gates`], [`trend_interval`], [`start_count`], [`change_count`]: what runs, how finely it is trended, how often it
//!   starts and changes.
//! - [`hot_water`], [`chilled_water`], [`wet_bulb_source`], [`dx_cooling`], [`heat_pump`]: figures that several rules share.

pub mod boiler_summer_lockout;
pub mod change_count;
pub mod change_rate;
pub mod chilled_water;
pub mod chiller_approach_fouling;
pub mod chiller_efficiency;
pub mod chiller_staging;
pub mod chiller_staging_fleet;
pub mod chw_plant_reset;
pub mod chw_supply_tracking;
pub mod condenser_bypass_leak;
pub mod condenser_water_reset;
pub mod cooling_tower_approach;
pub mod dx_cooling;
pub mod dx_indoor_airflow;
pub mod dx_refrigerant_charge;
pub mod free_cooling_missed;
pub mod heat_pump;
pub mod hot_water;
pub mod hp_capacity_shortfall;
pub mod hp_mode_vs_need;
pub mod hp_room_imbalance;
pub mod hw_plant_deltat;
pub mod hw_pump_summer_lockout;
pub mod pump_dp_reset;
pub mod run_gates;
pub mod short_cycle;
pub mod source_loop_deltat;
pub mod start_count;
pub mod trend_interval;
pub mod wet_bulb_source;

use super::RuleCode;

/// All of them, by id.
pub const RULES: &[RuleCode] = &[
    short_cycle::BOILER,
    boiler_summer_lockout::RULE,
    chiller_approach_fouling::RULE,
    chiller_efficiency::RULE,
    chiller_staging::RULE,
    chiller_staging_fleet::RULE,
    chw_plant_reset::RULE,
    pump_dp_reset::CHILLED_WATER,
    chw_supply_tracking::RULE,
    short_cycle::COMPRESSOR,
    change_rate::STAGING,
    condenser_bypass_leak::RULE,
    condenser_water_reset::RULE,
    cooling_tower_approach::RULE,
    dx_indoor_airflow::RULE,
    dx_refrigerant_charge::RULE,
    free_cooling_missed::RULE,
    change_rate::DEFROST,
    hp_capacity_shortfall::RULE,
    hp_mode_vs_need::RULE,
    hp_room_imbalance::RULE,
    hw_plant_deltat::RULE,
    pump_dp_reset::HOT_WATER,
    hw_pump_summer_lockout::RULE,
    source_loop_deltat::RULE,
];
