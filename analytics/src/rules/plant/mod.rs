//! Rules of plant (CAMBER plant-side rules).
//!
//! - [`run_gates`], [`trend_interval`], [`start_count`], [`change_count`]: what runs, how finely it is trended, how often it
//!   starts and changes.
//! - [`hot_water`], [`chilled_water`]: figures of plants that several rules share.

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
pub mod hot_water;
pub mod hw_plant_deltat;
pub mod pump_dp_reset;
pub mod run_gates;
pub mod short_cycle;
pub mod start_count;
pub mod trend_interval;

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
    change_rate::DEFROST,
    hw_plant_deltat::RULE,
    pump_dp_reset::HOT_WATER,
];
