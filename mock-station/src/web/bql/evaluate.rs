//! The value of an expression on a row.

use std::borrow::Cow;
use std::cmp::Ordering;

use chrono::{DateTime, Utc};

use super::QueryError;
use super::ast::{Expression, Literal, Operator, Step};
use super::node::{Node, Scope, component_text, follow};
use crate::model::registry::{self, TypeDef};
use crate::model::value::Value;
use crate::web::time_range::{self, TimeRange};
use crate::web::wire_time;

/// Evaluates an expression without aggregates on one row.
pub(crate) fn evaluate<'a>(
    scope: &Scope<'a>,
    row: &Node<'a>,
    expression: &Expression,
) -> Result<Node<'a>, QueryError> {
    match expression {
        Expression::Literal(literal) => constant(literal),
        Expression::Path(steps) => follow(scope, row, steps),
        Expression::Not(inner) => Ok(boolean(!truth(scope, row, inner)?)),
        Expression::Negative(inner) => {
            let value = evaluate(scope, row, inner)?;
            Ok(number(&value).map_or(Node::Null, |n| real(-n)))
        }
        Expression::Binary(operator, left, right) => binary(scope, row, *operator, left, right),
        Expression::Aggregate(function, _) => Err(QueryError::invalid(format!(
            "{} stands where only a row's own values can",
            function.name()
        ))),
    }
}

/// Whether an expression holds on a row; a value that is no boolean does not.
pub(crate) fn truth<'a>(
    scope: &Scope<'a>,
    row: &Node<'a>,
    expression: &Expression,
) -> Result<bool, QueryError> {
    Ok(match evaluate(scope, row, expression)? {
        Node::Value(value, _) => value.as_bool().unwrap_or(false),
        _ => false,
    })
}

fn boolean<'a>(value: bool) -> Node<'a> {
    Node::Value(Cow::Owned(Value::Boolean(value)), None)
}

fn real<'a>(value: f64) -> Node<'a> {
    Node::Value(Cow::Owned(Value::Double(value)), None)
}

/// A literal as a value; unknown types, tags and encodings are errors of the query.
pub(crate) fn constant<'a>(literal: &Literal) -> Result<Node<'a>, QueryError> {
    let value = match literal {
        Literal::Null => return Ok(Node::Null),
        Literal::Boolean(value) => Value::Boolean(*value),
        Literal::Number(value) => Value::Double(*value),
        Literal::Text(text) => Value::from(text.as_str()),
        Literal::Type(spec) => {
            known_type(spec)?;
            Value::TypeSpec(spec.as_str().into())
        }
        Literal::Enum { type_spec, tag } => decode(type_spec, tag)?,
        Literal::Simple {
            type_spec,
            encoding,
        } => decode(type_spec, encoding)?,
    };
    Ok(Node::Value(Cow::Owned(value), None))
}

fn known_type(spec: &str) -> Result<&'static TypeDef, QueryError> {
    registry::find(spec).ok_or_else(|| QueryError::invalid(format!("unknown type `{spec}`")))
}

fn decode(type_spec: &str, encoding: &str) -> Result<Value, QueryError> {
    Value::decode(known_type(type_spec)?, encoding)
        .ok_or_else(|| QueryError::invalid(format!("`{encoding}` is no {type_spec}")))
}

fn binary<'a>(
    scope: &Scope<'a>,
    row: &Node<'a>,
    operator: Operator,
    left: &Expression,
    right: &Expression,
) -> Result<Node<'a>, QueryError> {
    match operator {
        Operator::And => {
            return Ok(boolean(
                truth(scope, row, left)? && truth(scope, row, right)?,
            ));
        }
        Operator::Or => {
            return Ok(boolean(
                truth(scope, row, left)? || truth(scope, row, right)?,
            ));
        }
        Operator::In => {
            let range = named_range(scope, right)?;
            let value = evaluate(scope, row, left)?;
            let inside = instant(scope, &value).is_some_and(|at| range.contains(at));
            return Ok(boolean(inside));
        }
        _ => {}
    }
    let left = evaluate(scope, row, left)?;
    let right = evaluate(scope, row, right)?;
    Ok(match operator {
        Operator::Equal => boolean(equal(scope, &left, &right)),
        Operator::NotEqual => boolean(!equal(scope, &left, &right)),
        Operator::Less => boolean(ordered(scope, &left, &right, Ordering::is_lt)),
        Operator::LessOrEqual => boolean(ordered(scope, &left, &right, Ordering::is_le)),
        Operator::Greater => boolean(ordered(scope, &left, &right, Ordering::is_gt)),
        Operator::GreaterOrEqual => boolean(ordered(scope, &left, &right, Ordering::is_ge)),
        Operator::Like => boolean(like(scope, &left, &right)),
        _ => arithmetic(scope, operator, &left, &right),
    })
}

fn ordered(
    scope: &Scope<'_>,
    left: &Node<'_>,
    right: &Node<'_>,
    fits: fn(Ordering) -> bool,
) -> bool {
    compare(scope, left, right).is_some_and(fits)
}

fn arithmetic<'a>(
    scope: &Scope<'a>,
    operator: Operator,
    left: &Node<'_>,
    right: &Node<'_>,
) -> Node<'a> {
    let (Some(a), Some(b)) = (number(left), number(right)) else {
        return match (operator, text_of(scope, left), text_of(scope, right)) {
            (Operator::Add, Some(a), Some(b)) => {
                Node::Value(Cow::Owned(Value::from(format!("{a}{b}"))), None)
            }
            _ => Node::Null,
        };
    };
    real(match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide => a / b,
        _ => a % b,
    })
}

/// `bqltime.today` and its siblings.
pub(crate) fn named_range(
    scope: &Scope<'_>,
    expression: &Expression,
) -> Result<TimeRange, QueryError> {
    if let Expression::Path(steps) = expression
        && let [Step { name: base, .. }, Step { name, .. }] = steps.as_slice()
        && base.eq_ignore_ascii_case("bqltime")
        && let Some(range) = time_range::named(name, scope.now, scope.zone)
    {
        return Ok(range);
    }
    Err(QueryError::invalid(format!(
        "`{expression}` is no time range; use bqltime.today or one of its siblings"
    )))
}

/// The number behind a node, taking a status value's value.
pub(crate) fn number(node: &Node<'_>) -> Option<f64> {
    match node {
        Node::Value(value, _) => match value.as_ref() {
            Value::AbsTime(_) | Value::String(_) => None,
            other => other.as_f64(),
        },
        _ => None,
    }
}

/// The instant behind a node; text is read as ISO time, in the user's zone if it has no offset.
pub(crate) fn instant(scope: &Scope<'_>, node: &Node<'_>) -> Option<DateTime<Utc>> {
    let Node::Value(value, _) = node else {
        return None;
    };
    match value.as_ref() {
        Value::AbsTime(time) => time.map(|time| time.to_utc()),
        Value::String(text) => wire_time::parse(text, scope.zone),
        _ => None,
    }
}

/// The text a node compares by: enum tags, type specs, encodings of other simples.
pub(crate) fn text_of<'t>(scope: &Scope<'_>, node: &'t Node<'_>) -> Option<Cow<'t, str>> {
    match node {
        Node::Missing | Node::Null => None,
        Node::Component(handle) => Some(component_text(scope, *handle).into()),
        Node::Fields(fields) => Some(fields.text().into()),
        Node::Value(value, _) => Some(simple_text(value)),
    }
}

fn simple_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::DynamicEnum(entry) => entry.tag().into(),
        Value::FrozenEnum(entry) => entry.tag().into(),
        Value::Struct(_) => match value.as_status_value() {
            Some((inner, _)) => simple_text(inner),
            None => value.encode().into(),
        },
        other => match other.as_str() {
            Some(text) => text.into(),
            None => other.encode().into(),
        },
    }
}

fn plain_number(value: &Value) -> Option<f64> {
    match value {
        Value::Double(_) | Value::Float(_) | Value::Integer(_) | Value::Long(_) => value.as_f64(),
        _ => None,
    }
}

fn inner(value: &Value) -> &Value {
    value.as_status_value().map_or(value, |(inner, _)| inner)
}

fn equal(scope: &Scope<'_>, left: &Node<'_>, right: &Node<'_>) -> bool {
    let absent = |node: &Node<'_>| match node {
        Node::Missing | Node::Null => true,
        Node::Value(value, _) => matches!(value.as_ref(), Value::AbsTime(None)),
        _ => false,
    };
    if absent(left) || absent(right) {
        return absent(left) && absent(right);
    }
    if let (Node::Component(a), Node::Component(b)) = (left, right) {
        return a == b;
    }
    compare(scope, left, right) == Some(Ordering::Equal)
}

/// The order of two values of comparable kinds.
pub(crate) fn compare(scope: &Scope<'_>, left: &Node<'_>, right: &Node<'_>) -> Option<Ordering> {
    if let (Node::Value(a, _), Node::Value(b, _)) = (left, right) {
        let (a, b) = (inner(a), inner(b));
        let is_time = |value: &Value| matches!(value, Value::AbsTime(_));
        if is_time(a) || is_time(b) {
            return Some(instant(scope, left)?.cmp(&instant(scope, right)?));
        }
        let is_text = |value: &Value| value.as_str().is_some();
        match (a, b) {
            (Value::Boolean(a), Value::Boolean(b)) => return Some(a.cmp(b)),
            (Value::Boolean(_), Value::String(_)) | (Value::String(_), Value::Boolean(_)) => {}
            (Value::Boolean(_), _) | (_, Value::Boolean(_)) => return None,
            _ => {}
        }
        if !is_text(a)
            && !is_text(b)
            && let (Some(a), Some(b)) = (number(left), number(right))
        {
            return a.partial_cmp(&b);
        }
        // A number in quotes compares as a number, any other text not at all.
        match (plain_number(a), plain_number(b)) {
            (Some(a), None) => return a.partial_cmp(&b.as_str()?.trim().parse().ok()?),
            (None, Some(b)) => return a.as_str()?.trim().parse::<f64>().ok()?.partial_cmp(&b),
            _ => {}
        }
    }
    Some(text_of(scope, left)?.cmp(&text_of(scope, right)?))
}

fn like(scope: &Scope<'_>, left: &Node<'_>, right: &Node<'_>) -> bool {
    match (text_of(scope, left), text_of(scope, right)) {
        (Some(text), Some(pattern)) => matches(&text, &pattern),
        _ => false,
    }
}

/// Whole-text match with `*` as the only wildcard.
pub(crate) fn matches(text: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut middle: Vec<&str> = parts.collect();
    let Some(last) = middle.pop() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn like_matches_the_whole_text_with_stars_only() {
        for (text, pattern, expected) in [
            ("AHU1", "AHU*", true),
            ("ahu1", "AHU*", false),
            ("xAHU1", "AHU*", false),
            ("xAHU1", "*AHU*", true),
            ("AHU1", "AHU1", true),
            ("AHU12", "AHU1", false),
            ("abab", "a*b", true),
            ("ab", "a*b*b", false),
            ("a?c", "a?c", true),
            ("abc", "a?c", false),
            ("", "*", true),
            ("", "", true),
            ("aa", "a*a", true),
            ("a", "a*a", false),
        ] {
            assert_eq!(matches(text, pattern), expected, "{text} like {pattern}");
        }
    }
}
