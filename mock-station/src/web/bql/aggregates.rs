//! Aggregates: one row of totals over all rows of a query (Station web specification §3.4).

use std::borrow::Cow;

use chrono::{DateTime, Utc};

use super::QueryError;
use super::ast::{Aggregate, Expression, Item, Literal, Select};
use super::evaluate::{constant, evaluate, instant, number, text_of};
use super::node::{Node, Scope};
use super::rows::{cell, columns, passes, resolve};
use crate::model::value::Value;
use crate::web::table::{Cell, Table};

/// One row of totals over all rows that pass the filter.
pub(super) fn table<'a>(
    scope: &Scope<'a>,
    select: &Select,
    rows: impl Iterator<Item = Node<'a>>,
    items: &[Item],
) -> Result<Table, QueryError> {
    if let Some(item) = items.iter().find(|item| !item.expression.has_aggregate()) {
        return Err(QueryError::invalid(format!(
            "`{item}` stands beside an aggregate, and BQL has no GROUP BY"
        )));
    }
    let mut kept = Vec::new();
    for row in rows {
        if passes(scope, &row, select.filter.as_ref())? {
            kept.push(row);
        }
    }
    let total = |expression: &Expression| totals(scope, &kept, expression);
    let holds = match &select.having {
        Some(having) => {
            let node = total(&resolve(having, items))?;
            matches!(node, Node::Value(value, _) if value.as_bool() == Some(true))
        }
        None => true,
    };
    let mut rows = Vec::new();
    if holds && select.top != Some(0) {
        let row = items
            .iter()
            .map(|item| Ok(cell(scope, total(&item.expression)?)))
            .collect::<Result<Vec<Cell>, QueryError>>()?;
        rows.push(row);
    }
    Ok(Table {
        columns: columns(items, &rows, None),
        rows,
    })
}

/// An expression whose aggregates run over all rows.
fn totals<'a>(
    scope: &Scope<'a>,
    rows: &[Node<'a>],
    expression: &Expression,
) -> Result<Node<'a>, QueryError> {
    match expression {
        Expression::Aggregate(function, argument) => {
            aggregate(scope, rows, *function, argument.as_deref())
        }
        Expression::Literal(literal) => constant(literal),
        other => {
            let replaced = with_totals(scope, rows, other)?;
            evaluate(scope, &Node::Missing, &replaced)
        }
    }
}

/// The expression with each aggregate replaced by its value.
fn with_totals<'a>(
    scope: &Scope<'a>,
    rows: &[Node<'a>],
    expression: &Expression,
) -> Result<Expression, QueryError> {
    let inside = |inner: &Expression| with_totals(scope, rows, inner).map(Box::new);
    Ok(match expression {
        Expression::Aggregate(function, argument) => {
            let node = aggregate(scope, rows, *function, argument.as_deref())?;
            Expression::Literal(literal_of(scope, &node))
        }
        Expression::Not(inner) => Expression::Not(inside(inner)?),
        Expression::Negative(inner) => Expression::Negative(inside(inner)?),
        Expression::Binary(operator, left, right) => {
            Expression::Binary(*operator, inside(left)?, inside(right)?)
        }
        other => other.clone(),
    })
}

fn literal_of(scope: &Scope<'_>, node: &Node<'_>) -> Literal {
    if let Some(number) = number(node) {
        return Literal::Number(number);
    }
    match node {
        Node::Value(value, _) => Literal::Simple {
            type_spec: value.type_spec().to_owned(),
            encoding: value.encode(),
        },
        _ => text_of(scope, node).map_or(Literal::Null, |text| Literal::Text(text.into_owned())),
    }
}

fn aggregate<'a>(
    scope: &Scope<'a>,
    rows: &[Node<'a>],
    function: Aggregate,
    argument: Option<&Expression>,
) -> Result<Node<'a>, QueryError> {
    let found = |value: Value| Node::Value(Cow::Owned(value), None);
    let Some(argument) = argument else {
        return match function {
            Aggregate::Count => Ok(found(count(rows.len()))),
            _ => Err(QueryError::invalid(format!(
                "{}(*) has no value; name a column",
                function.name()
            ))),
        };
    };
    let mut values = Vec::new();
    for row in rows {
        match evaluate(scope, row, argument)? {
            Node::Missing | Node::Null => {}
            present => values.push(present),
        }
    }
    if function == Aggregate::Count {
        return Ok(found(count(values.len())));
    }
    let times: Vec<DateTime<Utc>> = values.iter().filter_map(|v| time_of(scope, v)).collect();
    if !times.is_empty() && matches!(function, Aggregate::Min | Aggregate::Max) {
        let picked = match function {
            Aggregate::Min => times.iter().min(),
            _ => times.iter().max(),
        };
        let local = picked.map(|time| time.with_timezone(&scope.zone).fixed_offset());
        return Ok(found(Value::AbsTime(local)));
    }
    let numbers: Vec<f64> = values
        .iter()
        .filter_map(number)
        .filter(|n| !n.is_nan())
        .collect();
    if numbers.is_empty() && function != Aggregate::Sum {
        return Ok(Node::Null);
    }
    let sum: f64 = numbers.iter().sum();
    Ok(found(Value::Double(match function {
        Aggregate::Avg => sum / numbers.len() as f64,
        Aggregate::Min => numbers.iter().copied().fold(f64::INFINITY, f64::min),
        Aggregate::Max => numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        Aggregate::Sum | Aggregate::Count => sum,
    })))
}

fn count(rows: usize) -> Value {
    Value::Integer(i32::try_from(rows).unwrap_or(i32::MAX))
}

fn time_of(scope: &Scope<'_>, node: &Node<'_>) -> Option<DateTime<Utc>> {
    match node {
        Node::Value(value, _) if matches!(value.as_ref(), Value::AbsTime(_)) => {
            instant(scope, node)
        }
        _ => None,
    }
}
