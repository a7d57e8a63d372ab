//! Facets: ordered, typed attributes of slots and points (Station web specification §5.2).

use super::enums::{DynamicEnum, EnumRange};
use super::slot_name;
use super::units::Unit;
use super::value::Value;
use std::sync::Arc;

/// An ordered list of named simple values.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Facets {
    entries: Vec<(String, Value)>,
}

impl Facets {
    /// No facets.
    pub fn new() -> Self {
        Self::default()
    }

    /// Facets of a numeric point: unit from the units table by name (unknown names become a unit of that name), precision.
    pub fn numeric(unit: &str, precision: i32) -> Self {
        Self::new()
            .with("units", Value::Unit(Unit::named(unit)))
            .with("precision", Value::Integer(precision))
    }

    /// Facets of a boolean point.
    pub fn boolean(true_text: &str, false_text: &str) -> Self {
        Self::new()
            .with("trueText", Value::from(true_text))
            .with("falseText", Value::from(false_text))
    }

    /// Facets of an enum point.
    pub fn range(range: EnumRange) -> Self {
        Self::new().with("range", Value::EnumRange(Arc::new(range)))
    }

    /// These facets with `key` set.
    pub fn with(mut self, key: &str, value: Value) -> Self {
        self.set(key, value);
        self
    }

    /// Sets or replaces `key`, keeping its place.
    pub fn set(&mut self, key: &str, value: Value) {
        match self.entries.iter_mut().find(|(known, _)| known == key) {
            Some(entry) => entry.1 = value,
            None => self.entries.push((key.to_owned(), value)),
        }
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries
            .iter()
            .find(|(known, _)| known == key)
            .map(|(_, value)| value)
    }

    /// All entries in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.entries
            .iter()
            .map(|(key, value)| (key.as_str(), value))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The unit, if it is not the null unit.
    pub fn unit(&self) -> Option<&Unit> {
        match self.get("units")? {
            Value::Unit(unit) if !unit.is_null() => Some(unit),
            _ => None,
        }
    }

    /// Digits after the decimal point.
    pub fn precision(&self) -> Option<usize> {
        match self.get("precision")? {
            Value::Integer(digits) => usize::try_from(*digits).ok(),
            _ => None,
        }
    }

    /// The enum range.
    pub fn enum_range(&self) -> Option<&Arc<EnumRange>> {
        match self.get("range")? {
            Value::EnumRange(range) => Some(range),
            _ => None,
        }
    }

    /// The text of a string facet.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.get(key)? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// `key=code:value` joined by `|`.
    pub fn encode(&self) -> String {
        let parts: Vec<String> = self
            .entries
            .iter()
            .filter_map(|(key, value)| {
                let body = match value {
                    Value::String(text) => slot_name::escape(text),
                    other => other.encode(),
                };
                Some(format!("{key}={}:{body}", facet_code(value)?))
            })
            .collect();
        parts.join("|")
    }

    /// Reads [`Facets::encode`]; `None` if an entry has no code or its value does not parse.
    pub fn decode(text: &str) -> Option<Self> {
        let mut facets = Self::new();
        for entry in text.split('|').filter(|entry| !entry.is_empty()) {
            let (key, coded) = entry.split_once('=')?;
            let (code, body) = coded.split_once(':')?;
            facets.set(key, decode_facet(code, body)?);
        }
        Some(facets)
    }
}

fn facet_code(value: &Value) -> Option<&'static str> {
    Some(match value {
        Value::String(_) => "s",
        Value::Boolean(_) => "b",
        Value::Integer(_) => "i",
        Value::Long(_) => "l",
        Value::Float(_) => "f",
        Value::Double(_) => "d",
        Value::AbsTime(_) => "a",
        Value::EnumRange(_) => "E",
        Value::DynamicEnum(_) => "e",
        Value::RelTime(_) => "r",
        Value::Unit(_) => "u",
        Value::TimeZone(_) => "z",
        _ => return None,
    })
}

fn decode_facet(code: &str, body: &str) -> Option<Value> {
    Some(match code {
        "s" => Value::from(slot_name::unescape(body)),
        "b" => Value::decode_as("baja:Boolean", body)?,
        "i" => Value::decode_as("baja:Integer", body)?,
        "l" => Value::decode_as("baja:Long", body)?,
        "f" => Value::decode_as("baja:Float", body)?,
        "d" => Value::decode_as("baja:Double", body)?,
        "a" => Value::decode_as("baja:AbsTime", body)?,
        "E" => Value::EnumRange(Arc::new(EnumRange::decode(body)?)),
        "e" => Value::DynamicEnum(DynamicEnum::decode(body)?),
        "r" => Value::decode_as("baja:RelTime", body)?,
        "u" => Value::Unit(Unit::decode(body)?),
        "z" => Value::TimeZone(body.into()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_facets_survive_a_round_trip() {
        for text in [
            "units=u:celsius;°C;(K);+273.15;|precision=i:1|min=d:5.0|max=d:35.0",
            "precision=i:1|min=d:-inf|max=d:+inf",
            "trueText=s:Temp$e9rature|falseText=s:not$20occupied",
            "range=E:{Off=0,On=1}",
            "activeLevel=e:10@control:PriorityLevel",
            "showSeconds=b:true|span=r:60000|zone=z:Europe/Paris",
            "",
        ] {
            assert_eq!(Facets::decode(text).unwrap().encode(), text);
        }
        assert_eq!(Facets::decode("a=b"), None);
        assert_eq!(Facets::decode("a=q:1"), None);
    }

    #[test]
    fn string_facets_are_read_unescaped() {
        let facets = Facets::decode("falseText=s:not$20occupied").unwrap();
        assert_eq!(facets.text("falseText"), Some("not occupied"));
    }
}
