//! Query results as `box:BoxTable` nodes and pages of typed cells (Station web specification §4.9).

use serde_json::{Map, Value, json};

use super::call::Argument;
use super::error::BoxError;
use super::node::{self, NodeWriter};
use crate::model::{Station, User};
use crate::switches::ExportSwitches;
use crate::web::bql::{self, QueryError};
use crate::web::table::{Cell, Column, Table};

/// Rows of a page when the client names no limit.
const DEFAULT_LIMIT: usize = 10;

/// A window on the rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Rows before the page.
    pub offset: usize,
    /// Most rows on the page.
    pub limit: usize,
}

impl Default for Page {
    fn default() -> Self {
        Self {
            offset: 0,
            limit: DEFAULT_LIMIT,
        }
    }
}

impl Page {
    /// Reads `of` and `lm`.
    ///
    /// # Errors
    /// When one of them is no whole number of 0 or more.
    pub fn read(argument: &Argument<'_>) -> Result<Self, BoxError> {
        Ok(Self {
            offset: argument.count("of", 0)?,
            limit: argument.count("lm", DEFAULT_LIMIT)?,
        })
    }
}

/// Runs a query, history or alarm ord; every page runs it anew.
///
/// # Errors
/// When the ord is no table for this user.
pub fn run(
    station: &Station,
    user: &User,
    ord: &str,
    switches: &ExportSwitches,
) -> Result<Table, BoxError> {
    bql::run_with(station, user, ord, switches).map_err(|error| match error {
        QueryError::Forbidden(text) => BoxError::Refused(format!("Permission denied: {text}")),
        QueryError::NotFound(reason) => BoxError::Unresolved {
            ord: ord.to_owned(),
            reason,
        },
        QueryError::Invalid(text) | QueryError::Failed(text) => BoxError::Query(text),
    })
}

/// The table node with its first rows.
pub fn first_page(writer: &NodeWriter<'_>, ord: &str, table: &Table, page: Page) -> Value {
    let columns: Vec<Value> = table.columns.iter().map(column).collect();
    let head = json!({"cols": columns, "req": {"o": ord}});
    let mut reply = json!({"o": {"nm": "p", "t": "box:BoxTable", "v": head.to_string()}});
    reply["c"] = rows(writer, table, page);
    reply
}

/// The rows of one page; past the end there are none.
pub fn rows(writer: &NodeWriter<'_>, table: &Table, page: Page) -> Value {
    let window = table.rows.iter().skip(page.offset).take(page.limit);
    window
        .map(|row| {
            row.iter()
                .map(|cell| cell_node(writer, cell))
                .collect::<Value>()
        })
        .collect()
}

fn cell_node(writer: &NodeWriter<'_>, cell: &Cell) -> Value {
    match cell {
        Cell::Missing | Cell::Null => Value::Null,
        Cell::Value { value, facets } => writer.cell(value, facets),
    }
}

fn column(column: &Column) -> Value {
    let mut head = Map::new();
    head.insert("n".to_owned(), json!(column.name));
    head.insert("dn".to_owned(), json!(column.display));
    head.insert("t".to_owned(), json!(column.type_spec));
    node::put_flags(&mut head, column.flags);
    node::put_facets(&mut head, Some(&column.facets));
    Value::Object(head)
}
