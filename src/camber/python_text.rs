//! Numbers as the reference writes them: its token and its citation check compare texts (CAMBER core §4.2, §9.1).

use serde_json::{Number, Value};

/// A number: whole ones exactly, others in the shortest form that reads back, with an exponent below 1e-4 and from 1e16.
///
/// ```
/// use niagara_bridge::camber::python_text::number;
/// use serde_json::Number;
/// let text = |value: f64| number(&Number::from_f64(value).unwrap());
/// assert_eq!(number(&Number::from(3)), "3");
/// assert_eq!([text(3.0), text(0.1), text(1e-7), text(1e16)], ["3.0", "0.1", "1e-07", "1e+16"]);
/// ```
pub fn number(number: &Number) -> String {
    match number.as_f64() {
        Some(value) if number.is_f64() => float(value),
        _ => number.to_string(),
    }
}

/// See [`number`].
pub fn float(value: f64) -> String {
    if !value.is_finite() {
        return match value {
            _ if value.is_nan() => "nan",
            _ if value > 0.0 => "inf",
            _ => "-inf",
        }
        .to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if value != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.unsigned_abs());
    }
    let plain = value.to_string();
    match plain.contains('.') {
        true => plain,
        false => format!("{plain}.0"),
    }
}

/// Compact JSON with sorted keys and unescaped text, numbers as above: what the token is made of.
pub fn canonical_json(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Number(value) => out.push_str(&number(value)),
        Value::Array(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut keys: Vec<&String> = members.keys().collect();
            keys.sort_unstable();
            out.push('{');
            for (place, key) in keys.into_iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_canonical(members.get(key).unwrap_or(&Value::Null), out);
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}

/// The scalars of a value as text, keys ignored, joined by blanks (CAMBER core §9.1).
pub fn spoken(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(value) => number(value),
        Value::String(text) => text.clone(),
        Value::Array(items) => joined(items.iter()),
        Value::Object(members) => joined(members.values()),
    }
}

fn joined<'a>(values: impl Iterator<Item = &'a Value>) -> String {
    values.map(spoken).collect::<Vec<_>>().join(" ")
}

/// A share in percent with one decimal, rounded half to even on the exact binary value (CAMBER core §12).
pub fn one_decimal(value: f64) -> String {
    format!("{value:.1}")
}

pub use niagara_analytics::numeric::round as rounded;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn floats_read_as_the_reference_writes_them() {
        for (value, text) in [
            (2897.0, "2897.0"),
            (-0.0, "-0.0"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.5e16, "1.5e+16"),
            (123456789012345.0, "123456789012345.0"),
            (9999999999999998.0, "9999999999999998.0"),
            (5e-324, "5e-324"),
        ] {
            assert_eq!(float(value), text);
        }
    }

    #[test]
    fn rounding_is_that_of_the_binary_value() {
        assert_eq!(rounded(0.90625, 4), 0.9062);
        assert_eq!(rounded(2.675, 2), 2.67);
        assert_eq!(rounded(0.5, 0), 0.0);
        assert_eq!(one_decimal(31.25), "31.2");
    }

    #[test]
    fn canonical_json_sorts_keys_and_keeps_text() {
        let value = json!({"b": [1, 2.0, null], "a": "é\n", "c": true});
        assert_eq!(
            canonical_json(&value),
            "{\"a\":\"é\\n\",\"b\":[1,2.0,null],\"c\":true}"
        );
    }

    #[test]
    fn spoken_values_leave_keys_out() {
        let value = json!({"value": 12.5, "metrics": {"n": 3, "ok": true}, "none": [null, "x"]});
        assert_eq!(spoken(&value), "12.5 3 True None x");
    }
}
