//! What the audit leaves out (Tool surface §4.2): secrets by key, by slot name, by their look; the rest of long texts.

use serde_json::{Map, Value};

use crate::secrecy::{REDACTED, is_secret_name, is_secret_type, mask};

/// Longer texts are cut here, in characters (Tool surface §4.2).
const LONGEST_TEXT: usize = 256;

/// Most bytes of arguments in a record: a caller must not be able to push earlier records out of the log.
const MOST_BYTES: usize = 16 * 1024;

/// Bearer tokens of the bridge and of most services have at least 32 random bytes, 43 characters in Base64.
const TOKEN_LENGTH: usize = 40;

/// Keys of arguments that name what is written.
pub(crate) const NAMING_KEYS: [&str; 6] = [
    "slotName",
    "actionName",
    "name",
    "slot",
    "property",
    "sinkSlot",
];

/// Keys of arguments that hold what is written.
pub(crate) const VALUE_KEYS: [&str; 5] = ["value", "args", "argument", "parameter", "newValue"];

/// Whether the arguments or the ord name a secret: the last slot of the ord, the slot or action, or the type.
pub(super) fn names_secret(ord: &str, arguments: &Map<String, Value>) -> bool {
    let last = ord.rsplit(['/', ':', '|']).next().unwrap_or(ord);
    let text = |key: &&str| arguments.get(*key).and_then(Value::as_str);
    is_secret_name(last)
        || NAMING_KEYS.iter().filter_map(text).any(is_secret_name)
        || ["type"].iter().filter_map(text).any(is_secret_type)
}

/// A copy of the arguments for the audit; `secret_value` hides what is written whatever it looks like.
///
/// ```
/// use niagara_bridge::audit::redacted_arguments;
/// use serde_json::json;
/// let arguments = json!({ "slotName": "pin", "value": 4711, "apiKey": true });
/// let shown = redacted_arguments(arguments.as_object().unwrap(), true);
/// assert_eq!(json!(shown), json!({ "slotName": "pin", "value": "<redacted>", "apiKey": "<redacted>" }));
/// ```
pub fn redacted_arguments(
    arguments: &Map<String, Value>,
    secret_value: bool,
) -> Map<String, Value> {
    let shown = arguments.iter().map(|(key, value)| {
        let hidden = is_secret_name(key) || (secret_value && VALUE_KEYS.contains(&key.as_str()));
        let shown = if hidden {
            REDACTED.into()
        } else {
            redacted(value)
        };
        (key.clone(), shown)
    });
    shown.collect()
}

/// The same within [`MOST_BYTES`]: the longest values give way to their lengths, and then whole arguments to their number.
pub(super) fn capped(mut arguments: Map<String, Value>) -> Map<String, Value> {
    let size = |value: &Value| value.to_string().len();
    let mut total: usize = arguments
        .iter()
        .map(|(key, value)| key.len() + size(value))
        .sum();
    if total <= MOST_BYTES {
        return arguments;
    }
    let mut sizes: Vec<(String, usize)> = arguments
        .iter()
        .map(|(key, value)| (key.clone(), size(value)))
        .collect();
    sizes.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
    for (key, bytes) in sizes {
        let note = Value::from(format!("<left out: {bytes} bytes>"));
        if total <= MOST_BYTES || bytes <= size(&note) {
            break;
        }
        total = total.saturating_sub(bytes) + size(&note);
        arguments.insert(key, note);
    }
    if total > MOST_BYTES {
        let number = arguments.len();
        arguments.clear();
        let note = format!("<{number} arguments, too long to be recorded>");
        arguments.insert("leftOut".to_owned(), note.into());
    }
    arguments
}

/// A value for the audit: members with secret names are replaced, texts pass [`redacted_text`].
pub(super) fn redacted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let secret_value = names_secret("", members);
            Value::Object(redacted_arguments(members, secret_value))
        }
        Value::Array(items) => items.iter().map(redacted).collect(),
        Value::String(text) => redacted_text(text).into(),
        other => other.clone(),
    }
}

/// A text for the audit: known secrets, `password=…`, bearers and whatever looks like a token are replaced, then it is
/// cut to 256 characters and `…+N`.
pub fn redacted_text(text: &str) -> String {
    let masked = masked_text(text);
    let dropped = masked.chars().count().saturating_sub(LONGEST_TEXT);
    if dropped == 0 {
        return masked;
    }
    let start: String = masked.chars().take(LONGEST_TEXT).collect();
    format!("{start}…+{dropped}")
}

/// A text for the audit at its full length, without what [`redacted_text`] replaces: a place that is cut is another
/// place (Tool surface §4.2).
pub(super) fn masked_text(text: &str) -> String {
    without_tokens(&mask(text))
}

fn without_tokens(text: &str) -> String {
    let parts = text.split_inclusive(char::is_whitespace);
    let shown = parts.map(|part| {
        let word = part.trim_end();
        if is_token(word) {
            part.replacen(word, REDACTED, 1)
        } else {
            part.to_owned()
        }
    });
    shown.collect()
}

/// Long, of the letters of Base64, with capitals, small letters and digits: nobody writes such words.
fn is_token(word: &str) -> bool {
    let any = |test: fn(&char) -> bool| word.chars().any(|sign| test(&sign));
    let base64 = |sign: char| sign.is_ascii_alphanumeric() || "-_+=.".contains(sign);
    word.len() >= TOKEN_LENGTH
        && word.chars().all(base64)
        && any(char::is_ascii_uppercase)
        && any(char::is_ascii_lowercase)
        && any(char::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(ord: &str, arguments: Value) -> Value {
        let arguments = arguments.as_object().unwrap();
        json!(redacted_arguments(arguments, names_secret(ord, arguments)))
    }

    #[test]
    fn secrets_are_found_by_key_by_slot_by_type_and_by_the_end_of_the_ord() {
        let hidden = json!("<redacted>");
        let given = shown(
            "",
            json!({ "a": [{ "Api_Token": 7 }], "MYPASSWORD": { "x": 1 } }),
        );
        assert_eq!(
            given,
            json!({ "a": [{ "Api_Token": hidden }], "MYPASSWORD": hidden })
        );
        let given = shown(
            "slot:/A",
            json!({ "slotName": "webPassword", "value": "s" }),
        );
        assert_eq!(given["value"], hidden);
        let given = shown(
            "slot:/A",
            json!({ "actionName": "setPasscode", "args": [1, 2] }),
        );
        assert_eq!(given["args"], hidden);
        let given = shown(
            "slot:/A",
            json!({ "type": "baja:Password", "name": "x", "value": "s" }),
        );
        assert_eq!(given["value"], hidden);
        let given = shown("station:|slot:/A/secretCode", json!({ "value": 1 }));
        assert_eq!(given["value"], hidden);
        let operations = json!({ "operations": [{ "slotName": "pwd", "value": "s" }] });
        assert_eq!(shown("", operations)["operations"][0]["value"], hidden);
        let plain = json!({ "slotName": "setpoint", "value": 21.5, "on": true, "none": null });
        assert_eq!(shown("slot:/A", plain.clone()), plain);
    }

    #[test]
    fn secrets_are_found_by_their_look() {
        for text in [
            "log in with password=hunter2-77 now",
            "Authorization: Bearer abc-123-def-456",
            "use 8Zr4qJ0fXk2mNwT5vY7bC1dE3gH6iL9oPqRsUtVxAyz please",
        ] {
            let shown = redacted_text(text);
            assert!(shown.contains(REDACTED), "{shown}");
            for secret in ["hunter2", "abc-123", "8Zr4q"] {
                assert!(!shown.contains(secret), "{shown}");
            }
        }
        let harmless = "station:|slot:/Drivers/BacnetNetwork/Floor01/AirHandlingUnit/SupplyTemp";
        assert_eq!(redacted_text(harmless), harmless);
    }

    #[test]
    fn long_texts_keep_their_first_256_characters() {
        assert_eq!(redacted_text(&"ü".repeat(256)), "ü".repeat(256));
        assert_eq!(
            redacted_text(&"ü".repeat(300)),
            format!("{}…+44", "ü".repeat(256))
        );
    }
}
