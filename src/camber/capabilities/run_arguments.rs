//! The arguments of calls that run rules (Engine §6).

use niagara_analytics::run_config::rules::built_in;
use serde_json::{Value, json};

use crate::camber::capability::{wall_clock, word};

/// `facility_id`, `equips`, `start` and `end`.
pub fn selection() -> [(&'static str, Value); 4] {
    [
        (
            "facility_id",
            word("A facility_id of the capability facilities."),
        ),
        (
            "equips",
            json!({"type": "array", "minItems": 1, "maxItems": 200, "items": word("An equipment id."),
                "description": "Only these equipment ids."}),
        ),
        (
            "start",
            wall_clock("First time, in the site's wall clock; a date alone is its midnight."),
        ),
        (
            "end",
            wall_clock("Last time, inclusive; a date alone is its midnight."),
        ),
    ]
}

/// `rules` and `params`.
pub fn rules() -> [(&'static str, Value); 2] {
    [
        (
            "rules",
            json!({"type": "array", "minItems": 1, "maxItems": 100,
                "items": {"type": "string", "enum": built_in()},
                "description": "Only these rules, in place of those of the run configuration; all by default."}),
        ),
        (
            "params",
            json!({"type": "object", "additionalProperties": {"type": "object"},
                "description": "Parameters by rule: {\"supply_air_control\": {\"tol_F\": 3}}. rule_params lists them."}),
        ),
    ]
}
