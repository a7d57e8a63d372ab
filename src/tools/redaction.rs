//! Secrets are never shown: slot names and types whose values are replaced (Tool surface §4.2, §8.5).

use serde_json::Value;

pub use crate::secrecy::REDACTED;
use crate::secrecy::SECRET_WORDS;

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

/// Whether a key or slot of this name may hold a secret: one of the words occurs in it, whatever its case.
///
/// ```
/// use niagara_bridge::tools::redaction::is_secret_name;
/// assert!(is_secret_name("smtpPassword") && is_secret_name("mcp$3atokenHash"));
/// assert!(!is_secret_name("setpoint"));
/// ```
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// Whether values of this type are secrets: password types and the authenticators of users.
pub fn is_secret_type(type_spec: &str) -> bool {
    let name = type_spec
        .rsplit(':')
        .next()
        .unwrap_or(type_spec)
        .to_lowercase();
    name.contains("password") || name.contains("authenticator") || name.contains("credential")
}
