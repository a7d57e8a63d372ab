//! Arguments of a call: the conventions all tools share, applied once before validation (Tool surface §7).

use serde_json::{Map, Number, Value};

use super::error::ToolError;

/// The validated arguments of one call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Arguments(Map<String, Value>);

impl Arguments {
    /// Wraps arguments as they are.
    pub fn new(values: Map<String, Value>) -> Self {
        Self(values)
    }

    /// The raw value, none when absent.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// All arguments.
    pub fn values(&self) -> &Map<String, Value> {
        &self.0
    }

    /// A required string.
    ///
    /// # Errors
    /// −32602 with `missing` or `argument` when it is absent or no string.
    pub fn string(&self, name: &str) -> Result<&str, ToolError> {
        match self.0.get(name) {
            Some(Value::String(text)) => Ok(text),
            Some(_) => Err(ToolError::invalid_params(format!(
                "Argument '{name}' must be a string."
            ))
            .with("argument", name)),
            None => Err(
                ToolError::invalid_params(format!("Argument '{name}' is missing."))
                    .with("missing", name),
            ),
        }
    }

    /// An optional string; blank text counts as given.
    pub fn optional_string(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// A whole number, `default` when absent.
    pub fn integer(&self, name: &str, default: i64) -> i64 {
        self.optional_integer(name).unwrap_or(default)
    }

    /// A whole number, none when absent; floats beyond the range of 64 bits saturate.
    pub fn optional_integer(&self, name: &str) -> Option<i64> {
        match self.0.get(name) {
            Some(Value::Number(number)) => whole(number),
            _ => None,
        }
    }

    /// A whole number as a count: negative ones become zero.
    pub fn count(&self, name: &str, default: usize) -> usize {
        self.optional_integer(name).map_or(default, |number| {
            usize::try_from(number.max(0)).unwrap_or(usize::MAX)
        })
    }

    /// True or false, `default` when absent.
    pub fn boolean(&self, name: &str, default: bool) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(default)
    }
}

fn whole(number: &Number) -> Option<i64> {
    // `as` saturates, which is the wanted clamp.
    number
        .as_i64()
        .or_else(|| number.as_u64().map(|_| i64::MAX))
        .or_else(|| number.as_f64().map(|float| float as i64))
}

/// Applies the conventions of Tool surface §7 to the arguments before they are validated.
///
/// A null for an optional argument counts as absent, the words `true` and `false` are accepted for booleans, and
/// whole numbers outside their bounds are clamped unless their name is in `refused_out_of_range`.
pub fn apply_conventions(
    schema: &Value,
    values: &mut Map<String, Value>,
    refused_out_of_range: &[&str],
) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for (name, property) in properties {
        let Some(value) = values.get_mut(name) else {
            continue;
        };
        if value.is_null() {
            if !accepts(property, "null") && !required.contains(&name.as_str()) {
                values.shift_remove(name);
            }
            continue;
        }
        if accepts_only(property, "boolean") {
            match value.as_str() {
                Some("true") => *value = Value::Bool(true),
                Some("false") => *value = Value::Bool(false),
                _ => {}
            }
        }
        if accepts_only(property, "integer") && !refused_out_of_range.contains(&name.as_str()) {
            clamp(property, value);
        }
    }
}

fn accepts(property: &Value, kind: &str) -> bool {
    match property.get("type") {
        None => true,
        Some(Value::String(only)) => only == kind,
        Some(Value::Array(several)) => several.iter().any(|one| one == kind),
        Some(_) => false,
    }
}

fn accepts_only(property: &Value, kind: &str) -> bool {
    property.get("type").is_some_and(|only| only == kind)
}

fn clamp(property: &Value, value: &mut Value) {
    let Some(given) = value.as_f64() else { return };
    let bound = |keyword: &str| property.get(keyword).filter(|bound| bound.is_number());
    if let Some(least) = bound("minimum")
        && least.as_f64().is_some_and(|limit| given < limit)
    {
        *value = least.clone();
    } else if let Some(most) = bound("maximum")
        && most.as_f64().is_some_and(|limit| given > limit)
    {
        *value = most.clone();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn applied(arguments: Value, refused: &[&str]) -> Value {
        let schema = json!({"type": "object", "required": ["ord"], "properties": {
            "ord": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 1000},
            "dryRun": {"type": "boolean"},
            "value": {"type": ["string", "null"]}}});
        let Value::Object(mut values) = arguments else {
            panic!("object")
        };
        apply_conventions(&schema, &mut values, refused);
        Value::Object(values)
    }

    #[test]
    fn null_is_absent_unless_required_or_allowed() {
        assert_eq!(
            applied(json!({"ord": null, "limit": null, "value": null}), &[]),
            json!({"ord": null, "value": null})
        );
    }

    #[test]
    fn numbers_are_clamped_unless_the_tool_refuses() {
        assert_eq!(applied(json!({"limit": 0}), &[]), json!({"limit": 1}));
        assert_eq!(applied(json!({"limit": 1e30}), &[]), json!({"limit": 1000}));
        assert_eq!(
            applied(json!({"limit": 5000}), &["limit"]),
            json!({"limit": 5000})
        );
        assert_eq!(applied(json!({"limit": "12"}), &[]), json!({"limit": "12"}));
    }

    #[test]
    fn the_words_true_and_false_are_booleans() {
        assert_eq!(
            applied(json!({"dryRun": "false"}), &[]),
            json!({"dryRun": false})
        );
        assert_eq!(
            applied(json!({"dryRun": "no"}), &[]),
            json!({"dryRun": "no"})
        );
    }

    #[test]
    fn whole_floats_read_as_integers_and_huge_ones_saturate() {
        let arguments = Arguments::new(
            json!({"a": 5.0, "b": 1e300, "c": -3})
                .as_object()
                .expect("object")
                .clone(),
        );
        assert_eq!(arguments.integer("a", 0), 5);
        assert_eq!(arguments.integer("b", 0), i64::MAX);
        assert_eq!(arguments.count("c", 7), 0);
        assert_eq!(arguments.count("absent", 7), 7);
    }

    #[test]
    fn a_missing_string_is_named() {
        let error = Arguments::default().string("ord").expect_err("missing");
        assert_eq!(error.data["missing"], "ord");
    }
}
