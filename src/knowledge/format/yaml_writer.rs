//! Tree → YAML in the one form that the in-station module reads back: dash alone, two spaces, one line per item (Tool
//! surface §9.4).

use std::fmt::Write;

use serde_json::{Map, Value};

/// YAML readers give up a key in `key: value` after 1024 characters; every byte may be written as six.
const LONGEST_PLAIN_KEY: usize = 160;

/// Writes a document; its reader gives the same tree back.
pub(super) fn write(tree: &Value) -> String {
    let mut out = String::new();
    match tree {
        Value::Object(map) if !map.is_empty() => write_map(&mut out, map, 0),
        Value::Array(items) if !items.is_empty() => write_list(&mut out, items, 0),
        other => {
            write_inline(&mut out, other);
            out.push('\n');
        }
    }
    out
}

fn write_map(out: &mut String, map: &Map<String, Value>, indent: usize) {
    for (key, value) in map {
        pad(out, indent);
        if key.len() > LONGEST_PLAIN_KEY {
            out.push_str("? ");
            write_text(out, key);
            out.push('\n');
            pad(out, indent);
        } else {
            write_text(out, key);
        }
        out.push(':');
        write_value(out, value, indent);
    }
}

fn write_list(out: &mut String, items: &[Value], indent: usize) {
    for item in items {
        pad(out, indent);
        out.push('-');
        write_value(out, item, indent);
    }
}

/// What follows a key's colon or an item's dash: a scalar on the same line, a collection on deeper lines.
fn write_value(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            out.push('\n');
            write_map(out, map, indent + 2);
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            write_list(out, items, indent + 2);
        }
        other => {
            out.push(' ');
            write_inline(out, other);
            out.push('\n');
        }
    }
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

fn write_inline(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_text(out, text),
        Value::Array(_) => out.push_str("[]"),
        Value::Object(_) => out.push_str("{}"),
    }
}

fn write_number(out: &mut String, number: &serde_json::Number) {
    let text = number.to_string();
    // YAML takes `1e20` for a text where the fraction is missing.
    match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) if !mantissa.contains('.') => {
            let sign = if exponent.starts_with(['-', '+']) {
                ""
            } else {
                "+"
            };
            out.push_str(&format!("{mantissa}.0e{sign}{exponent}"));
        }
        _ => out.push_str(&text),
    }
}

fn write_text(out: &mut String, text: &str) {
    if needs_quotes(text) {
        write_quoted(out, text);
    } else {
        out.push_str(text);
    }
}

/// The rule of Tool surface §9.4, and a few texts more that some reader of YAML takes for something else.
fn needs_quotes(text: &str) -> bool {
    let Some(first) = text.chars().next() else {
        return true;
    };
    first.is_whitespace()
        || text.ends_with(char::is_whitespace)
        || "-?*&!|>'\"%@`#,[]{}:~".contains(first)
        || is_reserved(text)
        || looks_numeric(first, text)
        || text.ends_with(':')
        || text.contains(": ")
        || text.contains(" #")
        || confuses_the_scan(text)
        || text.chars().any(is_unprintable)
}

/// Numbers of every base, dates, times and base-60 numbers, infinities.
fn looks_numeric(first: char, text: &str) -> bool {
    (first.is_ascii_digit() || matches!(first, '+' | '.'))
        && text.chars().all(|character| {
            character.is_ascii_hexdigit() || "xXoO_.+-: TZinfaINFA".contains(character)
        })
}

/// Our own reader refuses anchors and aliases by a scan that knows no plain texts of several words; what it could take
/// for one, for a quotation or for the head of a block is quoted.
fn confuses_the_scan(text: &str) -> bool {
    let marks = text.contains(['&', '*', '\'', '"']) && text.contains([',', ':']);
    marks || text.contains(" |") || text.contains(" >")
}

fn is_reserved(text: &str) -> bool {
    const WORDS: [&str; 11] = [
        "null", "true", "false", "yes", "no", "on", "off", "y", "n", "=", "<<",
    ];
    WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Characters that stand escaped: controls, line ends of Unicode, byte order marks and what is no character.
fn is_unprintable(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}

fn write_quoted(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            other if is_unprintable(other) => {
                // Writing to a text cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(other));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}
