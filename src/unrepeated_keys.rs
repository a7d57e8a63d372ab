//! JSON or YAML → tree. A key that stands twice in one map is refused: of its values only one could be kept.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Reads JSON.
///
/// # Errors
/// It is none, or a key stands twice; with line and column.
pub fn json(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str::<Tree>(text).map(|tree| tree.0)
}

/// Reads YAML whose scalars mean what they mean in JSON.
///
/// # Errors
/// It is none, or a key stands twice; with line and column.
pub fn yaml(text: &str) -> Result<Value, serde_yaml::Error> {
    serde_yaml::from_str::<Tree>(text).map(|tree| tree.0)
}

struct Tree(Value);

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor).map(Self)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    /// Of YAML without any value.
    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Tree(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key_seed(NewKey(&map))? {
            let Tree(value) = entries.next_value()?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

/// A key that a map does not have yet. It is refused where it is read, so that the error has its line.
struct NewKey<'m>(&'m Map<String, Value>);

impl<'de> DeserializeSeed<'de> for NewKey<'_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for NewKey<'_> {
    type Value = String;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a text as key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<String, E> {
        if self.0.contains_key(key) {
            let key = crate::station::echo::shortened(key);
            return Err(E::custom(format_args!(
                "the key {key:?} stands twice in one map, keep one of them"
            )));
        }
        Ok(key.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_that_stands_twice_is_told_with_its_own_line() {
        for (text, line, key) in [
            ("a: 1\nb: 2\na: 3\n", 3, "a"),
            (
                "rules:\n- name: x\n  params:\n    tol: 1\n    warn: 2\n    tol: 3\n",
                6,
                "tol",
            ),
            ("{a: 1,\n b: 2,\n 'a': 3}", 3, "a"),
        ] {
            let error = yaml(text).unwrap_err();
            assert_eq!(error.location().map(|at| at.line()), Some(line), "{error}");
            assert!(
                error.to_string().contains(&format!("{key:?} stands twice")),
                "{error}"
            );
        }
        let error = json("{\"a\": {\"b\": 1},\n\"c\": {\"b\": 1,\n \"b\": 2}}").unwrap_err();
        assert_eq!(error.line(), 3, "{error}");
    }

    #[test]
    fn both_read_what_the_usual_readers_read() {
        let text = "a: [1, -2, 1.5, 1e-06, true, ~, yes, 012, 07:00, 2024-03-01]\n6: {b: text, c: {b: ''}}\n";
        let usual: Value = serde_yaml::from_str(text).unwrap();
        assert_eq!(yaml(text).unwrap(), usual);
        assert_eq!(yaml("").unwrap(), Value::Null);
        assert_eq!(json(&usual.to_string()).unwrap(), usual);
        assert_eq!(usual["6"], json!({"b": "text", "c": {"b": ""}}));
    }
}
