//! Channel `timeZone`: the station's time-zone database (Station web specification §4.3).
//!
//! The key and layout of the real query are not established; key `list` gives one value node per zone.

use serde_json::{Value, json};

use super::call::Call;
use super::error::BoxError;

pub fn answer(call: &Call<'_>) -> Result<Value, BoxError> {
    match call.key {
        "list" => Ok(chrono_tz::TZ_VARIANTS
            .iter()
            .map(|zone| json!({"nm": "p", "t": "baja:TimeZone", "v": zone.name()}))
            .collect()),
        _ => Err(call.unknown_key()),
    }
}
