//! Whole numbers of more than 64 bits, serial numbers and the like, which would lose digits in any reading.

use serde_json::Value;

/// From here on a number that was written without fraction may have lost digits: 2^63.
const FROM: f64 = 9_223_372_036_854_775_808.0;

/// The line of the first number of a document that was written as a whole one and does not fit into 64 bits.
pub(super) fn line_of_long_number(text: &str, tree: &Value) -> Option<usize> {
    let mut large = Vec::new();
    collect(tree, &mut large);
    if large.is_empty() {
        return None;
    }
    line_where(text, |digits| {
        let value: Option<f64> = digits.parse().ok();
        value.is_some_and(|value| large.contains(&value))
    })
}

/// The line where a number with these digits stands.
pub(super) fn line_of_digits(text: &str, wanted: &str) -> Option<usize> {
    line_where(text, |digits| digits == wanted)
}

fn collect(tree: &Value, large: &mut Vec<f64>) {
    match tree {
        Value::Number(number) if number.is_f64() => {
            let value = number.as_f64().unwrap_or_default().abs();
            if value >= FROM {
                large.push(value);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, large)),
        Value::Object(map) => map.values().for_each(|item| collect(item, large)),
        _ => {}
    }
}

/// Runs of digits that are no part of a fraction, an exponent or a word.
fn line_where(text: &str, check: impl Fn(&str) -> bool) -> Option<usize> {
    let is_alone = |line: &str, from: usize, to: usize| {
        let before = line.get(..from).and_then(|head| head.chars().next_back());
        let after = line.get(to..).and_then(|tail| tail.chars().next());
        let joins = |character: Option<char>| {
            character.is_some_and(|character| character.is_alphanumeric() || character == '.')
        };
        !joins(before) && !joins(after)
    };
    text.lines()
        .position(|line| {
            let mut at = 0;
            line.split(|character: char| !character.is_ascii_digit())
                .any(|run| {
                    let from = at;
                    let to = from + run.len();
                    // Each separator between runs is one character, of one byte or more.
                    at = to
                        + line
                            .get(to..)
                            .and_then(|tail| tail.chars().next())
                            .map_or(0, char::len_utf8);
                    run.len() >= 19 && is_alone(line, from, to) && check(run)
                })
        })
        .map(|index| index + 1)
}
