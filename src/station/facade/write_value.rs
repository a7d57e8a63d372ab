//! What callers give as values, made to fit a point or a slot before anything is sent (Tool surface §7, §8.4).

use serde_json::Value as Json;

use crate::station::boxp::contract::EnumTag;
use crate::station::boxp::point::PointKind;
use crate::station::facets::Facets;
use crate::station::obix::scalar::parse_reltime;
use crate::station::value::{DynamicEnum, EnumRange, Value, format_double, parse_double};

/// A value as the caller gave it.
#[derive(Debug, Clone, PartialEq)]
pub enum Given {
    /// Releases a level, or asks for an action's default.
    Null,
    Flag(bool),
    Integer(i64),
    Number(f64),
    Text(String),
}

impl Given {
    /// None for arrays and objects, which no simple value has.
    pub fn of_json(json: &Json) -> Option<Self> {
        Some(match json {
            Json::Null => Self::Null,
            Json::Bool(flag) => Self::Flag(*flag),
            Json::Number(number) => match number.as_i64() {
                Some(integer) => Self::Integer(integer),
                None => Self::Number(number.as_f64()?),
            },
            Json::String(text) => Self::Text(text.clone()),
            Json::Array(_) | Json::Object(_) => return None,
        })
    }

    /// The value by its text.
    pub fn text(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Flag(flag) => flag.to_string(),
            Self::Integer(integer) => integer.to_string(),
            Self::Number(number) => format_double(*number),
            Self::Text(text) => text.clone(),
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(integer) => Some(*integer as f64),
            Self::Number(number) => Some(*number),
            // Stations write NaN as null; a caller who writes null means no number.
            Self::Text(text) if text.trim().eq_ignore_ascii_case("null") => None,
            Self::Text(text) => parse_double(text).ok(),
            Self::Null | Self::Flag(_) => None,
        }
    }

    /// A whole number; a fraction is not cut off.
    fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(integer) => Some(*integer),
            Self::Number(number) if number.fract() == 0.0 && number.abs() < 9.0e15 => {
                Some(*number as i64)
            }
            Self::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    fn flag(&self, on: &[&str], off: &[&str]) -> Option<bool> {
        match self {
            Self::Flag(flag) => Some(*flag),
            Self::Integer(1) => Some(true),
            Self::Integer(0) => Some(false),
            Self::Text(text) => {
                let is_one_of = |words: &[&str]| {
                    words
                        .iter()
                        .any(|word| word.to_lowercase() == text.trim().to_lowercase())
                };
                match (is_one_of(on), is_one_of(off)) {
                    (true, false) => Some(true),
                    (false, true) => Some(false),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// The value that a point is to be commanded to; null releases.
///
/// `range` holds the choices of an enumerated point, empty where the station tells none.
pub(super) fn point_value(
    kind: PointKind,
    given: &Given,
    range: &EnumRange,
    facets: &Facets,
) -> Result<Value, String> {
    if *given == Given::Null {
        return Ok(Value::Null);
    }
    match kind {
        PointKind::Numeric => {
            let number = given
                .number()
                .filter(|number| number.is_finite())
                .ok_or("a finite number is needed")?;
            within(number, facets)?;
            Ok(Value::Double(number))
        }
        PointKind::Boolean => {
            let mut on = vec!["true", "1", "on"];
            let mut off = vec!["false", "0", "off"];
            on.extend(facets.true_text());
            off.extend(facets.false_text());
            given
                .flag(&on, &off)
                .map(Value::Boolean)
                .ok_or_else(|| format!("one of {} or {} is needed", on.join(", "), off.join(", ")))
        }
        PointKind::Enum => choice(given, range).map(Value::Enum),
        PointKind::Text => Ok(Value::String(given.text())),
    }
}

fn choice(given: &Given, range: &EnumRange) -> Result<DynamicEnum, String> {
    let by_tag = |text: &str| {
        range.ordinal(text).or_else(|| {
            let same = |(_, tag): &&(i32, String)| tag.to_lowercase() == text.to_lowercase();
            range.choices().iter().find(same).map(|(known, _)| *known)
        })
    };
    let tag = match given {
        Given::Text(text) => by_tag(text.trim()),
        _ => None,
    };
    let ordinal = tag.or_else(|| {
        given
            .integer()
            .and_then(|integer| i32::try_from(integer).ok())
    });
    let known = || {
        let choices = range.choices().iter().take(50);
        let names: Vec<String> = choices
            .map(|(ordinal, tag)| format!("{tag} ({ordinal})"))
            .collect();
        names.join(", ")
    };
    match ordinal {
        Some(ordinal) if range.choices().is_empty() || range.tag(ordinal).is_some() => {
            Ok(DynamicEnum {
                ordinal,
                range: range.clone(),
            })
        }
        _ if range.choices().is_empty() => Err(
            "the number of a choice is needed, since the station tells no names for them"
                .to_owned(),
        ),
        _ => Err(format!("it is none of the choices {}", known())),
    }
}

/// Inside the limits that facets set.
fn within(number: f64, facets: &Facets) -> Result<(), String> {
    let number_text = format_double(number);
    match (facets.min(), facets.max()) {
        (Some(min), _) if number.is_nan() || number < min => Err(format!(
            "{number_text} is below the minimum {} of its facets",
            format_double(min)
        )),
        (_, Some(max)) if number.is_nan() || number > max => Err(format!(
            "{number_text} is above the maximum {} of its facets",
            format_double(max)
        )),
        _ => Ok(()),
    }
}

/// What is known of a slot that takes a simple value.
#[derive(Debug, Clone, Default)]
pub(super) struct SlotRule<'a> {
    pub type_spec: &'a str,
    /// Encoding of the present value.
    pub current: Option<&'a str>,
    /// Members of a frozen enumeration.
    pub tags: &'a [EnumTag],
    /// Facets of the slot.
    pub facets: Facets,
    /// The value commands something, so a number must be one: NaN and infinities are refused. Slots that only keep
    /// numbers, such as limits, may hold them (Tool surface §7).
    pub commands: bool,
}

/// The encoding of a value for a slot of a simple type.
pub(super) fn slot_text(rule: &SlotRule<'_>, given: &Given) -> Result<String, String> {
    if !rule.tags.is_empty() {
        return frozen_tag(rule.tags, given);
    }
    let text = given.text();
    match rule.type_spec {
        "baja:String" => Ok(text),
        "baja:Boolean" => given
            .flag(&["true", "1"], &["false", "0"])
            .map(|flag| flag.to_string())
            .ok_or_else(|| "true or false is needed".to_owned()),
        "baja:Integer" | "baja:Long" => whole_number(rule, given),
        "baja:Float" | "baja:Double" => {
            let number = given.number().ok_or("a number is needed")?;
            within(number, &rule.facets)?;
            let kept = match rule.type_spec {
                "baja:Float" => f64::from(number as f32),
                _ => number,
            };
            if rule.commands && !kept.is_finite() {
                return Err("a finite number is needed".to_owned());
            }
            if number.is_finite() && !kept.is_finite() {
                return Err("it is outside the range of the slot's type".to_owned());
            }
            decoded(rule.type_spec, &format_double(number))
        }
        "baja:DynamicEnum" if !text.contains('@') => {
            let current: Option<DynamicEnum> = rule.current.and_then(|text| text.parse().ok());
            let own = current.map(|current| current.range).unwrap_or_default();
            let range = match rule.facets.range() {
                Some(range) if own.is_empty() => range,
                _ => &own,
            };
            choice(given, range).map(|choice| choice.to_string())
        }
        "baja:RelTime" if text.trim_start_matches('-').starts_with('P') => parse_reltime(&text)
            .map(|duration| duration.num_milliseconds().to_string())
            .ok_or_else(|| "a duration such as PT15M, or milliseconds, is needed".to_owned()),
        "baja:RelTime" => given
            .integer()
            .map(|milliseconds| milliseconds.to_string())
            .ok_or_else(|| {
                "whole milliseconds, or a duration such as PT15M, are needed".to_owned()
            }),
        "baja:AbsTime" if text.trim() == "null" => Ok("null".to_owned()),
        type_spec => decoded(type_spec, &text),
    }
}

/// Checked by the type's own codec and written in the station's form.
fn decoded(type_spec: &str, text: &str) -> Result<String, String> {
    Value::decode(type_spec, text)
        .map(|value| value.encode())
        .map_err(|error| error.to_string())
}

fn whole_number(rule: &SlotRule<'_>, given: &Given) -> Result<String, String> {
    let number = given
        .integer()
        .ok_or("a whole number is needed; nothing is cut off")?;
    if rule.type_spec == "baja:Integer" && i32::try_from(number).is_err() {
        return Err(format!(
            "it is outside the range {} to {} of the slot's type",
            i32::MIN,
            i32::MAX
        ));
    }
    within(number as f64, &rule.facets)?;
    Ok(number.to_string())
}

fn frozen_tag(tags: &[EnumTag], given: &Given) -> Result<String, String> {
    let text = given.text();
    let wanted = text.trim();
    let named = tags.iter().find(|member| {
        member.tag == wanted
            || member
                .display
                .as_deref()
                .is_some_and(|shown| shown == wanted)
    });
    let numbered = || {
        let ordinal = given.integer()?;
        tags.iter()
            .find(|member| i64::from(member.ordinal) == ordinal)
    };
    named
        .or_else(numbered)
        .map(|member| member.tag.clone())
        .ok_or_else(|| {
            let names: Vec<&str> = tags.iter().map(|member| member.tag.as_str()).collect();
            format!("it is none of {}", names.join(", "))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(type_spec: &str, commands: bool) -> SlotRule<'_> {
        SlotRule {
            type_spec,
            commands,
            ..SlotRule::default()
        }
    }

    #[test]
    fn what_commands_takes_finite_numbers_and_a_slot_that_keeps_takes_all_of_its_type() {
        let text = |text: &str| Given::Text(text.to_owned());
        for type_spec in ["baja:Float", "baja:Double"] {
            for given in ["null", " NULL ", "warm", ""] {
                for commands in [false, true] {
                    let read = slot_text(&rule(type_spec, commands), &text(given));
                    assert!(read.is_err(), "{type_spec} {given:?} {read:?}");
                }
            }
            for (given, kept) in [("nan", "nan"), ("inf", "+inf"), ("-Infinity", "-inf")] {
                let read = slot_text(&rule(type_spec, false), &text(given));
                assert_eq!(read.as_deref(), Ok(kept), "{type_spec}");
                let read = slot_text(&rule(type_spec, true), &text(given));
                assert_eq!(read, Err("a finite number is needed".to_owned()));
            }
            let read = slot_text(&rule(type_spec, true), &text("21.5"));
            assert_eq!(read.as_deref(), Ok("21.5"));
        }
        for given in [Given::Number(1e39), text("-1e39"), Given::Number(3.41e38)] {
            for commands in [false, true] {
                let read = slot_text(&rule("baja:Float", commands), &given);
                assert!(read.is_err(), "{given:?} {read:?}");
            }
        }
        for commands in [false, true] {
            let read = slot_text(&rule("baja:Double", commands), &Given::Number(1e39));
            assert_eq!(read.as_deref(), Ok("1E39"));
            let read = slot_text(&rule("baja:Float", commands), &Given::Number(3.4e38));
            assert_eq!(read.as_deref(), Ok("3.4E38"));
        }
    }

    #[test]
    fn a_point_is_commanded_with_finite_numbers_only() {
        for given in ["null", "nan", "inf", "-inf", "1e999"] {
            let read = point_value(
                PointKind::Numeric,
                &Given::Text(given.to_owned()),
                &EnumRange::default(),
                &Facets::default(),
            );
            assert!(read.is_err(), "{given}: {read:?}");
        }
    }
}
