//! Tables of typed cells: what a query gives before any exporter writes it.

use std::sync::Arc;

use crate::model::facets::Facets;
use crate::model::flags::Flags;
use crate::model::value::Value;

/// A query's result.
#[derive(Clone, Debug, Default)]
pub struct Table {
    pub columns: Vec<Column>,
    /// Each row has one cell per column.
    pub rows: Vec<Vec<Cell>>,
}

/// One column.
#[derive(Clone, Debug)]
pub struct Column {
    /// The projected text, as `out.value`.
    pub name: String,
    /// The header: the alias, else the last step made friendly.
    pub display: String,
    /// The type of the first filled cell; `baja:String` when all are empty.
    pub type_spec: String,
    /// Formatting facets that hold for the whole column, with its unit.
    pub facets: Arc<Facets>,
    pub flags: Flags,
}

/// One cell.
#[derive(Clone, Debug, Default)]
pub enum Cell {
    /// The row has no such slot: an empty cell.
    #[default]
    Missing,
    /// The slot exists and holds nothing.
    Null,
    Value {
        value: Value,
        /// Formatting facets of the point or history the value comes from.
        facets: Arc<Facets>,
    },
}

impl Cell {
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Value { value, .. } => Some(value),
            Self::Missing | Self::Null => None,
        }
    }
}
