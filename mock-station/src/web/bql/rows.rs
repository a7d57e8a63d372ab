//! From rows to a table: filter, projection, distinct, order, top.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::QueryError;
use super::aggregates;
use super::ast::{Expression, Item, Operator, OrderKey, Projection, Select, Step};
use super::evaluate::{constant, evaluate, number, text_of, truth};
use super::node::{Node, Scope, component_text};
use crate::model::facets::Facets;
use crate::model::flags::Flags;
use crate::model::slot_name::friendly;
use crate::model::value::Value;
use crate::web::table::{Cell, Column, Table};

/// Facets that hold for the whole column of a name.
pub(super) type ColumnFacets<'f> = &'f dyn Fn(&str) -> Option<Arc<Facets>>;

/// Runs a query over rows.
///
/// `all_columns` is what `*` stands for; `column_facets` gives the facets that hold for a whole column.
pub(super) fn table<'a>(
    scope: &Scope<'a>,
    select: &Select,
    rows: impl Iterator<Item = Node<'a>>,
    all_columns: &[String],
    column_facets: Option<ColumnFacets<'_>>,
) -> Result<Table, QueryError> {
    let items = projected(select, all_columns);
    check_literals(select)?;
    if items.iter().any(|item| item.expression.has_aggregate()) {
        return aggregates::table(scope, select, rows, &items);
    }
    let having = select.having.as_ref().map(|having| resolve(having, &items));
    let order: Vec<OrderKey> = select
        .order
        .iter()
        .map(|key| OrderKey {
            expression: resolve(&key.expression, &items),
            descending: key.descending,
        })
        .collect();
    let limit = select.top.unwrap_or(usize::MAX);
    let mut seen = HashSet::new();
    let mut keyed = Vec::new();
    for row in rows {
        if order.is_empty() && keyed.len() >= limit {
            break;
        }
        if !passes(scope, &row, select.filter.as_ref())? || !passes(scope, &row, having.as_ref())? {
            continue;
        }
        let cells = cells(scope, &row, &items)?;
        if select.distinct && !seen.insert(identity(&cells)) {
            continue;
        }
        let keys = order
            .iter()
            .map(|key| sort_key(scope, &row, &key.expression))
            .collect::<Result<Vec<_>, _>>()?;
        keyed.push((keys, cells));
    }
    if !order.is_empty() {
        keyed.sort_by(|(left, _), (right, _)| compare_keys(left, right, &order));
        keyed.truncate(limit);
    }
    let rows: Vec<Vec<Cell>> = keyed.into_iter().map(|(_, cells)| cells).collect();
    Ok(Table {
        columns: columns(&items, &rows, column_facets),
        rows,
    })
}

pub(super) fn passes<'a>(
    scope: &Scope<'a>,
    row: &Node<'a>,
    condition: Option<&Expression>,
) -> Result<bool, QueryError> {
    condition.map_or(Ok(true), |condition| truth(scope, row, condition))
}

fn projected(select: &Select, all_columns: &[String]) -> Vec<Item> {
    let plain = |name: &str| Item {
        expression: Expression::Path(vec![Step {
            name: name.to_owned(),
            arguments: None,
        }]),
        alias: None,
    };
    match &select.projection {
        Projection::Columns(items) => items.clone(),
        Projection::All if !all_columns.is_empty() => {
            all_columns.iter().map(|name| plain(name)).collect()
        }
        Projection::All | Projection::Whole => vec![plain("toString")],
    }
}

/// An unknown type is an error of the query, also when no row comes by to find out.
fn check_literals(select: &Select) -> Result<(), QueryError> {
    let mut pending: Vec<&Expression> = Vec::new();
    if let Projection::Columns(items) = &select.projection {
        pending.extend(items.iter().map(|item| &item.expression));
    }
    pending.extend(select.filter.iter().chain(select.having.iter()));
    pending.extend(select.order.iter().map(|key| &key.expression));
    while let Some(expression) = pending.pop() {
        match expression {
            Expression::Literal(literal) => {
                constant(literal)?;
            }
            Expression::Path(steps) => pending.extend(
                steps
                    .iter()
                    .flat_map(|step| step.arguments.iter().flatten()),
            ),
            Expression::Not(inner) | Expression::Negative(inner) => pending.push(inner),
            Expression::Binary(Operator::In, left, _) => pending.push(left),
            Expression::Binary(_, left, right) => pending.extend([left.as_ref(), right]),
            Expression::Aggregate(_, argument) => pending.extend(argument.as_deref()),
        }
    }
    Ok(())
}

/// Puts the projected expression where its alias stands.
pub(super) fn resolve(expression: &Expression, items: &[Item]) -> Expression {
    match expression {
        Expression::Path(steps) => {
            if let [
                Step {
                    name,
                    arguments: None,
                },
            ] = steps.as_slice()
                && let Some(item) = items
                    .iter()
                    .find(|item| item.alias.as_deref() == Some(name.as_str()))
            {
                return item.expression.clone();
            }
            expression.clone()
        }
        Expression::Not(inner) => Expression::Not(Box::new(resolve(inner, items))),
        Expression::Negative(inner) => Expression::Negative(Box::new(resolve(inner, items))),
        Expression::Binary(operator, left, right) => Expression::Binary(
            *operator,
            Box::new(resolve(left, items)),
            Box::new(resolve(right, items)),
        ),
        Expression::Literal(_) | Expression::Aggregate(..) => expression.clone(),
    }
}

fn cells<'a>(scope: &Scope<'a>, row: &Node<'a>, items: &[Item]) -> Result<Vec<Cell>, QueryError> {
    items
        .iter()
        .map(|item| Ok(cell(scope, evaluate(scope, row, &item.expression)?)))
        .collect()
}

pub(super) fn cell(scope: &Scope<'_>, node: Node<'_>) -> Cell {
    let text = |text: String| Cell::Value {
        value: Value::from(text),
        facets: Arc::default(),
    };
    match node {
        Node::Missing => Cell::Missing,
        Node::Null => Cell::Null,
        Node::Component(handle) => text(component_text(scope, handle)),
        Node::Fields(fields) => text(fields.text()),
        Node::Value(value, facets) => Cell::Value {
            value: value.into_owned(),
            facets: facets.unwrap_or_default(),
        },
    }
}

fn identity(cells: &[Cell]) -> Vec<String> {
    cells
        .iter()
        .map(|cell| match cell {
            Cell::Missing => "m".to_owned(),
            Cell::Null => "n".to_owned(),
            Cell::Value { value, .. } => format!("v{}", full_encoding(value)),
        })
        .collect()
}

fn full_encoding(value: &Value) -> String {
    match value {
        Value::Struct(body) => {
            let members: Vec<String> = body
                .members
                .iter()
                .map(|member| format!("{}={}", member.name, full_encoding(&member.value)))
                .collect();
            members.join(";")
        }
        simple => simple.encode(),
    }
}

pub(super) fn columns(
    items: &[Item],
    rows: &[Vec<Cell>],
    column_facets: Option<ColumnFacets<'_>>,
) -> Vec<Column> {
    items
        .iter()
        .enumerate()
        .map(|(index, item)| {
            let name = item.expression.to_string();
            let type_spec = rows
                .iter()
                .find_map(|row| row.get(index)?.value().map(Value::type_spec))
                .unwrap_or("baja:String");
            Column {
                display: display_name(item, &name),
                facets: column_facets.and_then(|of| of(&name)).unwrap_or_default(),
                type_spec: type_spec.to_owned(),
                flags: Flags::default(),
                name,
            }
        })
        .collect()
}

/// The alias, else the last step of a path made friendly, else the expression.
fn display_name(item: &Item, name: &str) -> String {
    match (&item.alias, &item.expression) {
        (Some(alias), _) => alias.clone(),
        (None, Expression::Path(steps)) => steps
            .last()
            .map_or_else(|| name.to_owned(), |step| friendly(&step.name)),
        _ => name.to_owned(),
    }
}

/// A total order over values of all kinds: absent, numbers, times, texts.
#[derive(Clone, Debug)]
enum SortKey {
    Absent,
    Number(f64),
    Time(DateTime<Utc>),
    Text(String),
}

fn sort_key<'a>(
    scope: &Scope<'a>,
    row: &Node<'a>,
    expression: &Expression,
) -> Result<SortKey, QueryError> {
    let node = evaluate(scope, row, expression)?;
    if let Node::Value(value, _) = &node {
        match value.as_ref() {
            Value::AbsTime(time) => {
                return Ok(time.map_or(SortKey::Absent, |time| SortKey::Time(time.to_utc())));
            }
            Value::FrozenEnum(_) | Value::DynamicEnum(_) | Value::String(_) => {}
            _ => {
                if let Some(number) = number(&node) {
                    return Ok(SortKey::Number(number));
                }
            }
        }
    }
    Ok(text_of(scope, &node).map_or(SortKey::Absent, |text| SortKey::Text(text.into_owned())))
}

fn compare_keys(left: &[SortKey], right: &[SortKey], order: &[OrderKey]) -> Ordering {
    left.iter()
        .zip(right)
        .zip(order)
        .map(|((left, right), key)| {
            let ordering = compare_key(left, right);
            if key.descending {
                ordering.reverse()
            } else {
                ordering
            }
        })
        .find(|ordering| ordering.is_ne())
        .unwrap_or(Ordering::Equal)
}

fn compare_key(left: &SortKey, right: &SortKey) -> Ordering {
    let kind = |key: &SortKey| match key {
        SortKey::Absent => 0,
        SortKey::Number(_) => 1,
        SortKey::Time(_) => 2,
        SortKey::Text(_) => 3,
    };
    match (left, right) {
        (SortKey::Number(a), SortKey::Number(b)) => a.total_cmp(b),
        (SortKey::Time(a), SortKey::Time(b)) => a.cmp(b),
        (SortKey::Text(a), SortKey::Text(b)) => a.cmp(b),
        _ => kind(left).cmp(&kind(right)),
    }
}
