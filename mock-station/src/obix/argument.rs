//! Value elements as station values, by the type of the target (oBIX specification §6.2 "Lenient typing", §6.3).

use super::element::Element;
use super::error::ObixError;
use super::scope::Scope;
use super::time::{parse_duration, parse_instant};
use super::value::named_range;
use crate::model::value::FrozenEnum;
use crate::model::{DynamicEnum, Facets, StructValue, TypeDef, Value};

/// The argument of an op that takes `parameter`; structs are read child by child, by name.
///
/// # Errors
/// When the element cannot be translated.
pub fn of_parameter(
    scope: &Scope<'_>,
    parameter: &'static TypeDef,
    facets: &Facets,
    body: Option<&Element>,
) -> Result<Option<Value>, ObixError> {
    if parameter.is_struct() {
        let Some(body) = body else { return Ok(None) };
        return structure(scope, parameter, facets, body).map(Some);
    }
    let body = body.ok_or_else(|| cannot("nothing", parameter.spec()))?;
    let Some(default) = parameter.default_value() else {
        return Err(cannot(&body.tag, parameter.spec()));
    };
    of_kind(scope, &default, facets, body).map(Some)
}

fn structure(
    scope: &Scope<'_>,
    parameter: &'static TypeDef,
    facets: &Facets,
    body: &Element,
) -> Result<Value, ObixError> {
    if body.tag != "obj" {
        return Err(cannot(&body.tag, parameter.spec()));
    }
    let mut value = StructValue::new(parameter);
    let Some(Value::Struct(defaults)) = Value::struct_of(parameter.spec()) else {
        return Err(cannot(&body.tag, parameter.spec()));
    };
    for member in &defaults.members {
        let Some(child) = body.child(&member.name).filter(|child| !child.is_null()) else {
            continue;
        };
        value.set(&member.name, of_kind(scope, &member.value, facets, child)?);
    }
    let wanted = defaults.get("value").is_some();
    if wanted && body.child("value").is_none_or(Element::is_null) {
        return Err(ObixError::Failed(format!(
            "Cannot translate: {} needs a child named value",
            parameter.spec()
        )));
    }
    Ok(Value::Struct(value))
}

/// A value of the same type as `sample`, whatever the element is called.
///
/// # Errors
/// When the element is null, no value element, or its text does not fit.
pub fn of_kind(
    scope: &Scope<'_>,
    sample: &Value,
    facets: &Facets,
    element: &Element,
) -> Result<Value, ObixError> {
    let refused = || cannot(&shown(element), sample.type_spec());
    if element.is_null() {
        return match sample {
            Value::AbsTime(_) => Ok(Value::AbsTime(None)),
            _ => Err(refused()),
        };
    }
    let text = text_of(element).ok_or_else(refused)?;
    let zone = scope.station.zone();
    let value = match sample {
        Value::Boolean(_) => boolean(text).map(Value::Boolean),
        Value::Double(_) => number(text).map(Value::Double),
        // The cast is the narrowing that a 32-bit slot does.
        Value::Float(_) => number(text).map(|number| Value::Float(number as f32)),
        Value::Integer(_) => whole(text)
            .and_then(|number| i32::try_from(number).ok())
            .map(Value::Integer),
        Value::Long(_) => whole(text).map(Value::Long),
        Value::RelTime(_) => milliseconds(text).map(Value::RelTime),
        Value::AbsTime(_) => {
            parse_instant(text, zone).map(|time| Value::AbsTime(Some(scope.station.local(time))))
        }
        Value::DynamicEnum(held) => {
            let range = named_range(&held.range, facets);
            let ordinal = range.ordinal(text).or_else(|| ordinal(text));
            ordinal.map(|ordinal| {
                Value::DynamicEnum(DynamicEnum {
                    ordinal,
                    range: std::sync::Arc::new(range.clone()),
                })
            })
        }
        Value::FrozenEnum(held) => Value::decode(held.ty, text).or_else(|| {
            let ordinal = ordinal(text)?;
            let member = FrozenEnum {
                ty: held.ty,
                ordinal,
            };
            Value::decode(held.ty, &member.tag())
        }),
        other => Value::decode_as(other.type_spec(), text),
    };
    value.ok_or_else(refused)
}

/// Milliseconds of a duration, also as a bare number (§7.2).
pub fn milliseconds(text: &str) -> Option<i64> {
    parse_duration(text).or_else(|| whole(text))
}

/// The text of a value element; an absent `val` is the default of its kind (§2.1).
pub fn text_of(element: &Element) -> Option<&str> {
    let default = match &*element.tag {
        "bool" => Some("false"),
        "int" => Some("0"),
        "real" => Some("0.0"),
        "str" | "uri" => Some(""),
        "reltime" => Some("PT0S"),
        _ => None,
    };
    element.get("val").or(default)
}

fn boolean(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        other => match number(other)? {
            1.0 => Some(true),
            0.0 => Some(false),
            _ => None,
        },
    }
}

/// The standard's `INF` is read by the language's own parser, in any case and with a sign.
fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok()
}

fn whole(text: &str) -> Option<i64> {
    let number = number(text).filter(|number| number.fract() == 0.0 && number.abs() < 9.0e15)?;
    Some(number as i64)
}

fn ordinal(text: &str) -> Option<i32> {
    whole(text).and_then(|number| i32::try_from(number).ok())
}

fn shown(element: &Element) -> String {
    match element.get("val") {
        Some(text) => format!("{} {text:?}", element.tag),
        None => element.tag.to_string(),
    }
}

/// §9: clients tell a type mismatch by these words.
pub fn cannot(what: &str, spec: &str) -> ObixError {
    ObixError::Failed(format!("Cannot translate {what} to {spec}"))
}
