//! Channel `unit`: the station's unit database (Station web specification §4.3).
//!
//! The key and layout of the real query are not established; key `list` gives one value node per unit.

use serde_json::{Value, json};

use super::call::Call;
use super::error::BoxError;
use crate::model::units::Unit;

pub fn answer(call: &Call<'_>) -> Result<Value, BoxError> {
    match call.key {
        "list" => Ok(Unit::all().iter().map(unit_node).collect()),
        _ => Err(call.unknown_key()),
    }
}

fn unit_node(unit: &Unit) -> Value {
    json!({"nm": "p", "t": "baja:Unit", "v": unit.encode(), "d": unit.symbol})
}
