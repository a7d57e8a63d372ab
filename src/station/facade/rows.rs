//! Rows of a query, whichever way the station gives them (Tool surface §13.5.1, `CSV` and `TAB`).
//!
//! First choice is CSV in machine encoding; a station that refuses those gives typed cells as BOX tables; CSV with
//! display texts is the last resort.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use super::StationFacade;
use super::error::{FacadeError, FacadeResult};
use super::history::prefer;
use super::interfaces::{Interface, is_interface_refusal};
use super::view::TextTable;
use crate::station::boxp::Node;
use crate::station::boxp::table::MAX_ROWS;
use crate::station::error::StationError;
use crate::station::http::CallScope;
use crate::station::web::bql::{Rows, TableEnd};
use crate::station::web::cell::{Cell, CellFormat};
use crate::station::web::cells::Cells;
use crate::station::web::query::TableQuery;

/// One row; cells are taken by select position.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    pub cells: &'a Cells,
    pub format: &'a CellFormat,
}

impl<'a> Row<'a> {
    /// The cell at a select position; empty beyond the last.
    pub fn cell(&self, at: usize) -> Cell<'a> {
        Cell(self.cells.get(at).unwrap_or_default())
    }
}

/// How the rows ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowsEnd {
    /// The station sent everything.
    Complete,
    /// The reader wanted no more.
    Stopped,
    /// The time was over, the answer too large, or its end missing: rows may be missing.
    Cut,
}

/// Takes rows as they come; a break ends the query.
pub(super) type TakeRow<'t> = &'t mut (dyn FnMut(Row<'_>) -> ControlFlow<()> + Send);

impl StationFacade {
    /// Runs a query written as a whole ord.
    pub(super) async fn rows(
        &self,
        scope: &CallScope,
        query: &str,
        take: TakeRow<'_>,
    ) -> FacadeResult<RowsEnd> {
        let query = TableQuery::parse(query)?;
        self.query_rows(scope, &query, take).await
    }

    /// Runs a query.
    ///
    /// # Errors
    /// Those of the station before the first row; afterwards the end says that rows are missing.
    pub(super) async fn query_rows(
        &self,
        scope: &CallScope,
        query: &TableQuery,
        take: TakeRow<'_>,
    ) -> FacadeResult<RowsEnd> {
        if self.prefers_tables.load(Ordering::Relaxed) {
            match self.table_rows(scope, query, &mut *take).await {
                Err(error) if self.may_fall_back(&error) => {
                    self.prefers_tables.store(false, Ordering::Relaxed)
                }
                outcome => return outcome,
            }
        }
        let opened = self
            .over(Interface::Bql, async {
                Ok(self.bql().stream(query, scope).await?)
            })
            .await;
        let rows = match opened {
            Ok(rows) => rows,
            Err(error) if self.may_ask_box(&error) => {
                return self
                    .table_rows(scope, query, take)
                    .await
                    .map_err(|second| prefer(error, second));
            }
            Err(error) => return Err(error),
        };
        if !rows.is_machine() {
            match self.table_rows(scope, query, &mut *take).await {
                Err(error) if self.may_fall_back(&error) => {}
                Ok(end) => {
                    self.prefers_tables.store(true, Ordering::Relaxed);
                    return Ok(end);
                }
                Err(error) => {
                    tracing::debug!(%error, "a BOX table was refused; display texts are read instead")
                }
            }
        }
        self.stream_rows(scope, rows, take).await
    }

    async fn stream_rows(
        &self,
        scope: &CallScope,
        mut rows: Rows,
        take: TakeRow<'_>,
    ) -> FacadeResult<RowsEnd> {
        let format = if rows.is_machine() {
            CellFormat::machine(self.known_zone_or_utc())
        } else {
            rows.format(&self.display_format(scope).await)
        };
        loop {
            match rows.next().await {
                Ok(Some(row)) => {
                    let row = Row {
                        cells: &row.cells,
                        format: &format,
                    };
                    if take(row).is_break() {
                        return Ok(RowsEnd::Stopped);
                    }
                }
                Ok(None) => return Ok(end_of(rows.end())),
                Err(StationError::Timeout { .. } | StationError::TooLarge { .. }) => {
                    return Ok(RowsEnd::Cut);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn table_rows(
        &self,
        scope: &CallScope,
        query: &TableQuery,
        take: TakeRow<'_>,
    ) -> FacadeResult<RowsEnd> {
        let table = self
            .over_box(async { Ok(self.boxp().table(scope, &query.ord(), MAX_ROWS).await?) })
            .await?;
        let format = CellFormat::machine(self.known_zone_or_utc());
        for row in &table.rows {
            let cells: Cells = row.iter().map(cell_text).collect();
            scope.row();
            if take(Row {
                cells: &cells,
                format: &format,
            })
            .is_break()
            {
                return Ok(RowsEnd::Stopped);
            }
        }
        Ok(if table.is_truncated {
            RowsEnd::Cut
        } else {
            RowsEnd::Complete
        })
    }

    /// A table as the station prints it, at most `limit` rows.
    ///
    /// # Errors
    /// [`StationError::BadQuery`] when the station cannot understand the query.
    pub async fn text_table(
        &self,
        scope: &CallScope,
        query: &TableQuery,
        limit: usize,
    ) -> FacadeResult<TextTable> {
        let query = query.clone().display().rows(limit);
        let opened = self
            .over(Interface::Bql, async {
                Ok(self.bql().stream(&query, scope).await?)
            })
            .await;
        match opened {
            Ok(rows) => {
                let table = rows.collect().await?;
                Ok(TextTable {
                    truncated: table.end == TableEnd::RowLimit,
                    incomplete: matches!(table.end, TableEnd::SizeLimit | TableEnd::Torn { .. }),
                    truncated_by_timeout: table.end == TableEnd::Deadline,
                    header: table.header,
                    rows: table.rows.iter().map(|row| row.cells.to_texts()).collect(),
                })
            }
            Err(error) if self.may_ask_box(&error) => self
                .text_table_by_box(scope, &query, limit)
                .await
                .map_err(|second| prefer(error, second)),
            Err(error) => Err(error),
        }
    }

    async fn text_table_by_box(
        &self,
        scope: &CallScope,
        query: &TableQuery,
        limit: usize,
    ) -> FacadeResult<TextTable> {
        let table = self
            .over_box(async { Ok(self.boxp().table(scope, &query.ord(), limit).await?) })
            .await?;
        Ok(TextTable {
            header: table
                .columns
                .into_iter()
                .map(|column| column.display_name.unwrap_or(column.name))
                .collect(),
            rows: table
                .rows
                .iter()
                .map(|row| row.iter().map(shown_text).collect())
                .collect(),
            truncated: table.is_truncated,
            truncated_by_timeout: false,
            incomplete: false,
        })
    }

    /// Whether another interface may answer what this one refused.
    pub(super) fn may_fall_back(&self, error: &FacadeError) -> bool {
        matches!(error, FacadeError::Station(error) if is_interface_refusal(error))
    }

    /// The same of a query, which BOX answers as a table: also where a page came in place of the table.
    fn may_ask_box(&self, error: &FacadeError) -> bool {
        self.may_fall_back(error)
            || matches!(error, FacadeError::Station(error) if error.is_page_for_table())
    }
}

fn end_of(end: Option<TableEnd>) -> RowsEnd {
    match end {
        None | Some(TableEnd::Complete) => RowsEnd::Complete,
        Some(TableEnd::RowLimit) => RowsEnd::Stopped,
        Some(TableEnd::Deadline | TableEnd::SizeLimit | TableEnd::Torn { .. }) => RowsEnd::Cut,
    }
}

/// The encoded value; structs have display text only.
fn cell_text(cell: &Node) -> String {
    cell.value
        .clone()
        .or_else(|| cell.display.clone())
        .unwrap_or_default()
}

fn shown_text(cell: &Node) -> String {
    cell.display
        .clone()
        .or_else(|| cell.value.clone())
        .unwrap_or_default()
}
