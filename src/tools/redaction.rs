//! Secrets are never shown: slot names and types whose values are replaced (Tool surface §4.2, §8.5).

use serde_json::{Map, Value, json};

use crate::audit::{NAMING_KEYS, VALUE_KEYS};
pub use crate::secrecy::{REDACTED, is_secret_name, is_secret_type};

/// A longer text in a log line is cut here, in characters.
const LOGGED_TEXT: usize = 200;

/// Arguments that hold what is written, or confirm it: the log of the process tells their sizes only, because the type
/// that makes a value a secret is known to the station alone.
const UNSHOWN: [&str; 3] = ["operations", "confirm", "token"];

/// Arguments of a call for a log line, by the tool's own schema; without one nothing is known of them.
///
/// ```
/// use niagara_bridge::tools::redaction::logged;
/// use serde_json::json;
/// let schema = json!({ "properties": { "ord": {}, "value": {} } });
/// let arguments = json!({ "ord": "slot:/A", "value": "hunter2", "z": 1 });
/// let shown = json!({ "ord": "slot:/A", "value": "<9 bytes>", "undeclared": 1 });
/// assert_eq!(logged(Some(&schema), &arguments), shown);
/// ```
pub fn logged(schema: Option<&Value>, arguments: &Value) -> Value {
    let size = |value: &Value| Value::from(format!("<{} bytes>", value.to_string().len()));
    let (Some(schema), Value::Object(members)) = (schema, arguments) else {
        return size(arguments);
    };
    let is_declared = |name: &str| {
        schema
            .get("properties")
            .and_then(|all| all.get(name))
            .is_some()
    };
    let mut shown = Map::new();
    let mut undeclared = 0;
    for (name, value) in members {
        if !is_declared(name) {
            undeclared += 1;
        } else if VALUE_KEYS.contains(&name.as_str()) || UNSHOWN.contains(&name.as_str()) {
            shown.insert(name.clone(), size(value));
        } else {
            shown.insert(name.clone(), value.clone());
        }
    }
    let mut shown = redacted(&Value::Object(shown));
    if undeclared > 0 {
        shown["undeclared"] = json!(undeclared);
    }
    shown
}

/// A value for a log line: members with secret names are replaced, long texts cut.
///
/// ```
/// use niagara_bridge::tools::redaction::redacted;
/// use serde_json::json;
/// let arguments = json!({ "ord": "slot:/A", "slots": [{ "apiKey": "4711" }] });
/// assert_eq!(redacted(&arguments), json!({ "ord": "slot:/A", "slots": [{ "apiKey": "<redacted>" }] }));
/// ```
pub fn redacted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            // A pair {name: "password", value: …} hides its secret under a plain key.
            let named_secret = NAMING_KEYS.iter().any(|key| {
                let name = members.get(*key).and_then(Value::as_str);
                name.is_some_and(is_secret_name)
            });
            let shown = members.iter().map(|(key, value)| {
                let hidden =
                    is_secret_name(key) || (named_secret && VALUE_KEYS.contains(&key.as_str()));
                let shown = if hidden {
                    Value::from(REDACTED)
                } else {
                    redacted(value)
                };
                (key.clone(), shown)
            });
            Value::Object(shown.collect())
        }
        Value::Array(items) => items.iter().map(redacted).collect(),
        Value::String(text) if text.chars().count() > LOGGED_TEXT => {
            let start: String = text.chars().take(LOGGED_TEXT).collect();
            Value::from(format!("{start}…"))
        }
        other => other.clone(),
    }
}
