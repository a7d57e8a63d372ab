//! Whole numbers of more digits than a JSON value of this program holds, kept as texts: the check compares numbers digit by
//! digit (CAMBER core §9.1, "integers exactly, of any size").

use std::borrow::Cow;

use serde_json::{Map, Value};

/// A whole number with fewer digits fits into 64 bits.
const FEWEST_DIGITS: usize = 19;

/// The call of `check_citations` in a JSON text, `arguments` being what was read of it: numbers of its facts that lost digits
/// when the text was read are put back as texts.
///
/// `of` finds the arguments in the whole value that the text stands for.
pub fn restore(text: &str, arguments: &mut Value, of: impl Fn(Value) -> Option<Value>) {
    let Cow::Owned(exact) = quoted(text) else {
        return;
    };
    let exact = serde_json::from_str(&exact).ok().and_then(of);
    let exact = exact
        .as_ref()
        .and_then(|exact| exact.get("facts"))
        .and_then(Value::as_array);
    let facts = arguments.get_mut("facts").and_then(Value::as_array_mut);
    let (Some(exact), Some(facts)) = (exact, facts) else {
        return;
    };
    for (fact, exact) in facts.iter_mut().zip(exact) {
        if let (Value::Object(fact), Value::Object(exact)) = (fact, exact) {
            restore_members(fact, exact);
        }
    }
}

fn restore_members(fact: &mut Map<String, Value>, exact: &Map<String, Value>) {
    for (key, value) in fact {
        // A number in the place of these two is refused as the wrong type.
        if !matches!(key.as_str(), "id" | "text")
            && let Some(exact) = exact.get(key)
        {
            value.clone_from(exact);
        }
    }
}

/// The text with quotes around every whole number that 64 bits do not hold.
///
/// ```
/// use niagara_bridge::camber::citations::wide_integers::quoted;
/// assert_eq!(quoted(r#"[18446744073709551615, 18446744073709551616]"#), r#"[18446744073709551615, "18446744073709551616"]"#);
/// ```
pub fn quoted(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut exact: Option<String> = None;
    // Up to here everything is in `exact`.
    let mut copied = 0;
    let mut place = 0;
    while let Some(byte) = bytes.get(place) {
        match byte {
            b'"' => place = string_end(bytes, place + 1),
            b'-' | b'0'..=b'9' => {
                let end = number_end(bytes, place);
                if let Some(number) = text.get(place..end).filter(|number| is_wide(number)) {
                    let exact = exact.get_or_insert_default();
                    exact.push_str(text.get(copied..place).unwrap_or_default());
                    exact.push('"');
                    exact.push_str(number);
                    exact.push('"');
                    copied = end;
                }
                place = end;
            }
            _ => place += 1,
        }
    }
    match exact {
        Some(mut exact) => {
            exact.push_str(text.get(copied..).unwrap_or_default());
            Cow::Owned(exact)
        }
        None => Cow::Borrowed(text),
    }
}

/// The place behind the closing quote.
fn string_end(bytes: &[u8], mut place: usize) -> usize {
    while let Some(byte) = bytes.get(place) {
        match byte {
            b'"' => return place + 1,
            b'\\' => place += 2,
            _ => place += 1,
        }
    }
    bytes.len()
}

fn number_end(bytes: &[u8], begin: usize) -> usize {
    let is_of_number =
        |byte: &&u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
    let length = bytes
        .get(begin..)
        .unwrap_or_default()
        .iter()
        .take_while(is_of_number)
        .count();
    begin + length
}

fn is_wide(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    digits.len() >= FEWEST_DIGITS
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && number.parse::<i64>().is_err()
        && number.parse::<u64>().is_err()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_whole_numbers_beyond_64_bits_are_quoted() {
        for kept in [
            "-9223372036854775808",
            "18446744073709551615",
            "18446744073709551616.0",
            "18446744073709551616e1",
            r#"{"99999999999999999999": "a \" 99999999999999999999"}"#,
            "",
            "\"open 99999999999999999999",
        ] {
            assert!(
                matches!(quoted(kept), Cow::Borrowed(text) if text == kept),
                "{kept}"
            );
        }
        for (wide, exact) in [
            ("-9223372036854775809", r#""-9223372036854775809""#),
            (
                "{\"n\":18446744073709551616}",
                r#"{"n":"18446744073709551616"}"#,
            ),
            (
                "[1,340282366920938463463374607431768211456 ,2]",
                r#"[1,"340282366920938463463374607431768211456" ,2]"#,
            ),
        ] {
            assert_eq!(quoted(wide), exact);
        }
    }

    #[test]
    fn facts_get_their_digits_back_and_nothing_else_changes() {
        let text = r#"{"text": "x", "facts": [{"id": 99999999999999999999, "value": [99999999999999999999, 1.5]}], "limit": 99999999999999999999}"#;
        let mut arguments: Value = serde_json::from_str(text).expect("JSON");
        let before = arguments.clone();
        restore(text, &mut arguments, Some);
        assert_eq!(
            arguments["facts"][0]["value"],
            json!(["99999999999999999999", 1.5])
        );
        assert_eq!(arguments["facts"][0]["id"], before["facts"][0]["id"]);
        assert_eq!(arguments["limit"], before["limit"]);
    }
}
