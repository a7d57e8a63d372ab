//! Text of a configuration → tree of values, each read as its key wants it.
//!
//! Texts and secrets are taken letter for letter: a password `1.10` is not the number 1.1. YAML keeps the letters of a
//! plain value; JSON does not, so there they must stand in quotes.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Value};

use super::keys::{Kind, find, is_block, secret_of_file};
use super::load::{ConfigError, line_of};
use crate::knowledge::format::{DocumentFormat, find_reference};

/// Reads the text of `origin`; an empty text is an empty map.
///
/// # Errors
/// Text that is neither YAML nor JSON, a setting that stands twice, a value that its key cannot take.
pub fn parse(origin: &str, text: &str) -> Result<Value, ConfigError> {
    let text = text.trim_start_matches('\u{feff}');
    let blank = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    if text.lines().all(blank) {
        return Ok(Value::Object(Map::new()));
    }
    let mut twice = None;
    let outcome = match DocumentFormat::sniff(text) {
        DocumentFormat::Json => {
            // Comment lines may stand before the document; blanking them keeps its line numbers.
            let lines = text.lines().map(|line| if blank(line) { "" } else { line });
            let body = zeroize::Zeroizing::new(lines.collect::<Vec<_>>().join("\n"));
            let mut reader = serde_json::Deserializer::from_str(&body);
            Block::root(true, &mut twice)
                .deserialize(&mut reader)
                .and_then(|tree| reader.end().map(|()| tree))
                .map_err(|error| error.to_string())
        }
        DocumentFormat::Yaml => {
            if let Some((line, what)) = find_reference(text) {
                return Err(ConfigError::Syntax(format!(
                    "{origin} line {line}: a YAML {what} is not allowed; write the value out, or put the text in quotes."
                )));
            }
            Block::root(false, &mut twice)
                .deserialize(serde_yaml::Deserializer::from_str(text))
                .map_err(|error| error.to_string())
        }
    };
    if let Some(path) = twice {
        return Err(ConfigError::Value {
            place: match line_of(text, &path, 1) {
                Some(line) => format!("{origin} line {line}"),
                None => origin.to_owned(),
            },
            key: path,
            problem: "it stands there twice; keep one of the lines".to_owned(),
        });
    }
    outcome.map_err(|error| ConfigError::Syntax(format!("{origin}: {error}.")))
}

/// A block of settings.
struct Block<'a> {
    path: String,
    json: bool,
    /// The first setting that was met a second time.
    twice: &'a mut Option<String>,
}

impl<'a> Block<'a> {
    fn root(json: bool, twice: &'a mut Option<String>) -> Self {
        Self {
            path: String::new(),
            json,
            twice,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Block<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Block<'_> {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => out.write_str("the file to hold 'name: value' lines"),
            path => write!(out, "'{path}' to hold 'name: value' lines"),
        }
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    // The text is not shown: a secret may have been written to the wrong line.
    fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<Value, E> {
        Err(E::invalid_type(
            serde::de::Unexpected::Other("a text"),
            &self,
        ))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut block = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let path = match self.path.as_str() {
                "" => name.clone(),
                outer => format!("{outer}.{name}"),
            };
            if block.contains_key(&name) {
                self.twice.get_or_insert(path);
                members.next_value::<IgnoredAny>()?;
                continue;
            }
            let json = self.json;
            let kind = find(&path)
                .or_else(|| secret_of_file(&path))
                .map(|key| key.kind);
            let value = if is_block(&path) {
                let twice = &mut *self.twice;
                members.next_value_seed(Block { path, json, twice })?
            } else {
                match kind {
                    Some(Kind::Text | Kind::Secret | Kind::Choice(_)) => {
                        members.next_value_seed(Letters {
                            json,
                            optional: true,
                        })?
                    }
                    Some(Kind::List) => members.next_value_seed(Texts { json })?,
                    _ => members.next_value()?,
                }
            };
            block.insert(name, value);
        }
        Ok(Value::Object(block))
    }
}

/// A text, letter for letter; nothing counts as not set.
struct Letters {
    json: bool,
    optional: bool,
}

impl<'de> DeserializeSeed<'de> for Letters {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match (self.json, self.optional) {
            (true, _) => deserializer.deserialize_any(self),
            (false, true) => deserializer.deserialize_option(self),
            (false, false) => deserializer.deserialize_str(self),
        }
    }
}

fn in_quotes<E: serde::de::Error>() -> E {
    E::custom("a number or true/false stands where a text is wanted; put it in quotes")
}

impl<'de> Visitor<'de> for Letters {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a text")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_str(self)
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    // The value itself is never shown: it may be a secret.
    fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<Value, E> {
        Err(in_quotes())
    }

    fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<Value, E> {
        Err(in_quotes())
    }

    fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<Value, E> {
        Err(in_quotes())
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<Value, E> {
        Err(in_quotes())
    }
}

/// A list of texts, or one text with commas.
struct Texts {
    json: bool,
}

impl<'de> DeserializeSeed<'de> for Texts {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Texts {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list of texts")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut texts = Vec::new();
        let json = self.json;
        let item = || Letters {
            json,
            optional: false,
        };
        while let Some(text) = items.next_element_seed(item())? {
            if text.is_null() {
                return Err(A::Error::custom("every item of the list must be a text"));
            }
            texts.push(text);
        }
        Ok(Value::Array(texts))
    }
}
