//! Rules of air handlers and zones (CAMBER air-side and zone-side rules).

pub mod grouping;
pub mod supply_air_control;

use super::RuleCode;

/// All of them, by id.
pub const RULES: &[RuleCode] = &[supply_air_control::RULE];
