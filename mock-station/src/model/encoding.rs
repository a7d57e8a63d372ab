//! The station's text encoding of simples (Station web specification §5.1).

use super::enums::{DynamicEnum, EnumRange};
use super::facets::Facets;
use super::permissions::Permissions;
use super::registry::TypeDef;
use super::status::Status;
use super::units::Unit;
use super::value::{FrozenEnum, Value};
use chrono::{DateTime, FixedOffset, NaiveDate, NaiveTime};
use std::sync::Arc;

impl Value {
    /// The text encoding of a simple; structs have none and give an empty text.
    pub fn encode(&self) -> String {
        match self {
            Value::Boolean(flag) => flag.to_string(),
            Value::Integer(number) => number.to_string(),
            Value::Long(number) | Value::RelTime(number) => number.to_string(),
            Value::Float(number) => encode_float(f64::from(*number), format!("{number:?}")),
            Value::Double(number) => encode_float(*number, format!("{number:?}")),
            Value::String(text)
            | Value::Ord(text)
            | Value::Format(text)
            | Value::TypeSpec(text)
            | Value::TimeZone(text)
            | Value::Other(_, text) => text.to_string(),
            Value::AbsTime(time) => time
                .as_ref()
                .map_or_else(|| "null".to_owned(), encode_abs_time),
            Value::Date(date) => date.format("%Y-%m-%d").to_string(),
            Value::Time(time) => time.format("%H:%M:%S%.3f").to_string(),
            Value::Status(status) => status.encode(),
            Value::Facets(facets) => facets.encode(),
            Value::Unit(unit) => unit.encode(),
            Value::FrozenEnum(value) => value.tag(),
            Value::DynamicEnum(value) => value.encode(),
            Value::EnumRange(range) => range.encode(),
            Value::OrdList(ords) | Value::Icon(ords) => ords.join("\n"),
            Value::Permissions(permissions) => permissions.encode(),
            Value::Password | Value::Marker | Value::Struct(_) => String::new(),
            Value::NameMap(pairs) => {
                let body: String = pairs
                    .iter()
                    .map(|(key, value)| format!("{key}={value};"))
                    .collect();
                format!("{{{body}}}")
            }
            Value::WsAnnotation { x, y, width } => format!("{x},{y},{width}"),
        }
    }

    /// Reads the encoding of a simple of type `ty`; `None` if the text does not fit the type or the type has no encoding.
    pub fn decode(ty: &'static TypeDef, text: &str) -> Option<Value> {
        if ty.is_frozen_enum() {
            let ordinal = match ty.tags().iter().find(|tag| tag.tag == text) {
                Some(tag) => tag.ordinal,
                None => text
                    .parse()
                    .ok()
                    .filter(|ordinal| ty.tag_of(*ordinal).is_some())?,
            };
            return Some(Value::FrozenEnum(FrozenEnum { ty, ordinal }));
        }
        Self::decode_as(ty.spec(), text).or_else(|| {
            (ty.is_simple() && !is_known_simple(ty.spec())).then(|| Value::Other(ty, text.into()))
        })
    }

    /// Reads the encoding of one of the built-in simples named by `spec`.
    pub fn decode_as(spec: &str, text: &str) -> Option<Value> {
        Some(match spec {
            "baja:Boolean" => Value::Boolean(match text {
                "true" => true,
                "false" => false,
                _ => return None,
            }),
            "baja:Integer" => Value::Integer(text.trim().parse().ok()?),
            "baja:Long" => Value::Long(text.trim().parse().ok()?),
            "baja:Float" => Value::Float(decode_float(text)? as f32),
            "baja:Double" => Value::Double(decode_float(text)?),
            "baja:String" => Value::from(text),
            "baja:RelTime" => Value::RelTime(text.trim().parse().ok()?),
            "baja:AbsTime" => Value::AbsTime(decode_abs_time(text)?),
            "baja:Date" => Value::Date(NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?),
            "baja:Time" => Value::Time(NaiveTime::parse_from_str(text, "%H:%M:%S%.f").ok()?),
            "baja:Status" => Value::Status(Status::decode(text)?),
            "baja:Facets" => Value::Facets(Arc::new(Facets::decode(text)?)),
            "baja:Unit" => Value::Unit(Unit::decode(text)?),
            "baja:DynamicEnum" => Value::DynamicEnum(DynamicEnum::decode(text)?),
            "baja:EnumRange" => Value::EnumRange(Arc::new(EnumRange::decode(text)?)),
            "baja:Ord" => Value::Ord(text.into()),
            "baja:OrdList" => Value::OrdList(Arc::new(decode_lines(text))),
            "baja:Icon" => Value::Icon(Arc::new(decode_lines(text))),
            "baja:Format" => Value::Format(text.into()),
            "baja:TypeSpec" => Value::TypeSpec(text.into()),
            "baja:TimeZone" => Value::TimeZone(text.into()),
            "baja:Permissions" => Value::Permissions(Permissions::decode(text)?),
            "baja:Password" => Value::Password,
            "baja:NameMap" => Value::NameMap(Arc::new(decode_name_map(text)?)),
            "baja:WsAnnotation" => decode_annotation(text)?,
            "baja:Marker" => Value::Marker,
            _ => return None,
        })
    }
}

/// ISO with milliseconds, `Z` or offset.
pub fn encode_abs_time(time: &DateTime<FixedOffset>) -> String {
    if time.offset().local_minus_utc() == 0 {
        time.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
    } else {
        time.format("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string()
    }
}

/// Both spellings of the null time, `null` and the epoch, read as `None`.
fn decode_abs_time(text: &str) -> Option<Option<DateTime<FixedOffset>>> {
    if text == "null" || text.is_empty() {
        return Some(None);
    }
    let time = DateTime::parse_from_rfc3339(text).ok()?;
    Some((time.timestamp_millis() != 0).then_some(time))
}

fn encode_float(number: f64, finite: String) -> String {
    if number.is_nan() {
        "nan".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { "+inf" } else { "-inf" }.to_owned()
    } else {
        finite
    }
}

fn decode_float(text: &str) -> Option<f64> {
    match text.trim() {
        "nan" | "NaN" => Some(f64::NAN),
        "+inf" | "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        digits
            if digits
                .bytes()
                .all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b)) =>
        {
            digits.parse().ok()
        }
        _ => None,
    }
}

fn decode_lines(text: &str) -> Vec<String> {
    text.split('\n')
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

fn decode_name_map(text: &str) -> Option<Vec<(String, String)>> {
    let body = text.strip_prefix('{')?.strip_suffix('}')?;
    body.split(';')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            pair.split_once('=')
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
        })
        .collect()
}

fn decode_annotation(text: &str) -> Option<Value> {
    let mut numbers = text.split(',').map(|part| part.trim().parse::<i32>().ok());
    let annotation = Value::WsAnnotation {
        x: numbers.next()??,
        y: numbers.next()??,
        width: numbers.next()??,
    };
    numbers.next().is_none().then_some(annotation)
}

fn is_known_simple(spec: &str) -> bool {
    matches!(
        spec,
        "baja:Boolean"
            | "baja:Integer"
            | "baja:Long"
            | "baja:Float"
            | "baja:Double"
            | "baja:String"
            | "baja:RelTime"
            | "baja:AbsTime"
            | "baja:Date"
            | "baja:Time"
            | "baja:Status"
            | "baja:Facets"
            | "baja:Unit"
            | "baja:DynamicEnum"
            | "baja:EnumRange"
            | "baja:Ord"
            | "baja:OrdList"
            | "baja:Icon"
            | "baja:Format"
            | "baja:TypeSpec"
            | "baja:TimeZone"
            | "baja:Permissions"
            | "baja:Password"
            | "baja:NameMap"
            | "baja:WsAnnotation"
            | "baja:Marker"
    )
}

#[cfg(test)]
mod tests {
    use super::super::registry;
    use super::*;
    use proptest::prelude::*;

    fn round_trip(spec: &str, text: &str) -> String {
        Value::decode(registry::find(spec).unwrap(), text)
            .unwrap()
            .encode()
    }

    #[test]
    fn specification_examples_survive_a_round_trip() {
        for (spec, text) in [
            ("baja:Double", "12.0"),
            ("baja:Double", "-0.5"),
            ("baja:Double", "nan"),
            ("baja:Double", "-inf"),
            ("baja:Integer", "42"),
            ("baja:RelTime", "60000"),
            ("baja:AbsTime", "2024-03-01T00:00:00.000+01:00"),
            ("baja:AbsTime", "2024-03-01T00:00:00.000Z"),
            ("baja:AbsTime", "null"),
            ("baja:Date", "2024-02-29"),
            ("baja:Time", "07:30:00.000"),
            ("alarm:SourceState", "offnormal"),
            ("control:PriorityLevel", "level_8"),
            ("baja:DynamicEnum", "1@{off=0,on=1}"),
            ("baja:Unit", "percent;%;;;"),
            ("baja:Status", "20;activeLevel=e:8@control:PriorityLevel"),
            ("baja:NameMap", "{k=v;k2=v2;}"),
            ("baja:WsAnnotation", "10,5,8"),
            ("baja:OrdList", "station:|slot:/A\nstation:|slot:/B"),
            ("baja:Permissions", "irw"),
        ] {
            assert_eq!(round_trip(spec, text), text, "{spec}");
        }
    }

    #[test]
    fn the_epoch_is_the_null_time() {
        assert_eq!(
            round_trip("baja:AbsTime", "1970-01-01T00:00:00.000Z"),
            "null"
        );
    }

    #[test]
    fn text_of_the_wrong_type_is_refused() {
        for (spec, text) in [
            ("baja:Double", "warm"),
            ("baja:Boolean", "yes"),
            ("baja:Integer", "1.5"),
            ("alarm:SourceState", "sideways"),
            ("baja:WsAnnotation", "1,2"),
            ("baja:AbsTime", "yesterday"),
        ] {
            assert!(
                Value::decode(registry::find(spec).unwrap(), text).is_none(),
                "{spec} {text}"
            );
        }
    }

    #[test]
    fn a_password_is_never_encoded() {
        let secret = Value::decode_as("baja:Password", "Secret-1").unwrap();
        assert_eq!(secret.encode(), "");
        assert!(!format!("{secret:?}").contains("Secret"));
    }

    proptest! {
        #[test]
        fn every_double_survives(number in any::<f64>()) {
            let text = Value::Double(number).encode();
            let back = Value::decode_as("baja:Double", &text).unwrap();
            prop_assert!(back.same_as(&Value::Double(number)), "{} {:?}", text, back);
        }

        #[test]
        fn decoding_accepts_anything(text in ".{0,40}", spec in "(baja:(Double|AbsTime|Status|Facets|Unit|EnumRange|DynamicEnum|NameMap|WsAnnotation|Time))") {
            let _ = Value::decode_as(&spec, &text);
        }
    }
}
