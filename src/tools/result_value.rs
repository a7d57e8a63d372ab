//! How numbers, states and times appear in results (Tool surface §7).

use chrono::{DateTime, FixedOffset, SecondsFormat};
use serde_json::{Map, Value, json};

use crate::station::status::StatusBits;
use crate::station::value::Value as StationValue;

/// Adds a number; one that is not finite becomes null with `nonFinite` beside it, since JSON has no such numbers.
pub fn put_number(map: &mut Map<String, Value>, key: &str, number: f64) {
    map.insert(key.to_owned(), json!(number.is_finite().then_some(number)));
    if !number.is_finite() {
        map.insert("nonFinite".to_owned(), json!(name_of(number)));
    }
}

/// The name of a number that is not finite.
fn name_of(number: f64) -> &'static str {
    if number.is_nan() {
        "NaN"
    } else if number > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

/// A value of the station as JSON: numbers, flags and texts as they are, other simple values by their text, a number
/// that JSON does not have as null (Tool surface §7).
///
/// ```
/// use niagara_bridge::{station::value::Value, tools::result_value::value_json};
/// assert_eq!(value_json(&Value::Double(21.0)), serde_json::json!(21.0));
/// assert_eq!(value_json(&Value::RelTime(1500)), serde_json::json!("1500"));
/// ```
pub fn value_json(value: &StationValue) -> Value {
    match value {
        StationValue::Null => Value::Null,
        StationValue::Boolean(flag) => json!(flag),
        StationValue::Integer(number) => json!(number),
        StationValue::Long(number) => json!(number),
        // By its text: 1.1 of 32 bits is not 1.100000023841858 to people.
        StationValue::Float(number) => json!(
            number
                .to_string()
                .parse::<f64>()
                .ok()
                .filter(|number| number.is_finite())
        ),
        StationValue::Double(number) => json!(number.is_finite().then_some(number)),
        StationValue::String(text) => json!(text),
        other => json!(other.encode()),
    }
}

/// Puts a value of the station; a number that JSON does not have is null, with its name under `non_finite`.
pub fn put_value(map: &mut Map<String, Value>, key: &str, non_finite: &str, value: &StationValue) {
    map.insert(key.to_owned(), value_json(value));
    let number = value.as_f64().filter(|number| !number.is_finite());
    if let Some(number) = number {
        map.insert(non_finite.to_owned(), json!(name_of(number)));
    }
}

/// Status words in braces in the order of the bits, `{ok}` when none is set.
///
/// ```
/// use niagara_bridge::{station::status::StatusBits, tools::result_value::status_text};
/// assert_eq!(status_text(StatusBits::new(0x14)), "{down,stale}");
/// assert_eq!(status_text(StatusBits::OK), "{ok}");
/// ```
pub fn status_text(status: StatusBits) -> String {
    if status.is_ok() {
        "{ok}".to_owned()
    } else {
        format!("{{{}}}", status.names().join(","))
    }
}

/// RFC 3339 with milliseconds and the station's offset.
pub fn time_text(time: &DateTime<FixedOffset>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_json_cannot_hold_are_named() {
        for (number, value, name) in [
            (f64::NAN, json!(null), json!("NaN")),
            (f64::NEG_INFINITY, json!(null), json!("-Infinity")),
            (21.5, json!(21.5), Value::Null),
        ] {
            let mut map = Map::new();
            put_number(&mut map, "value", number);
            assert_eq!(map["value"], value);
            assert_eq!(map.get("nonFinite").cloned().unwrap_or_default(), name);
        }
    }

    #[test]
    fn times_keep_the_offset_of_the_station() {
        let time = DateTime::parse_from_rfc3339("2026-11-01T01:30:00-04:00").unwrap();
        assert_eq!(time_text(&time), "2026-11-01T01:30:00.000-04:00");
    }
}
