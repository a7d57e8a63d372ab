//! Rules of plant (CAMBER plant-side rules).

use super::RuleCode;

/// All of them, by id.
pub const RULES: &[RuleCode] = &[];
