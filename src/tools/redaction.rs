//! Secrets are never shown: slot names and types whose values are replaced (Tool surface §4.2, §8.5).

use serde_json::Value;

pub use crate::secrecy::{REDACTED, is_secret_name, is_secret_type};

/// A longer text in a log line is cut here, in characters.
const LOGGED_TEXT: usize = 200;

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
            let named_secret = ["name", "slot", "slotName"].iter().any(|key| {
                let name = members.get(*key).and_then(Value::as_str);
                name.is_some_and(is_secret_name)
            });
            let shown = members.iter().map(|(key, value)| {
                let hidden = is_secret_name(key) || (named_secret && key == "value");
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
