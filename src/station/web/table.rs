//! Tables: rows as they arrive, and collected.

use bytes::Bytes;

use super::cell::{Cell, CellFormat};
use super::cells::Cells;
use super::csv::{CsvError, CsvReader, Ending, Record};
use super::expiry::is_login_page;
use super::markup::{ERROR_PAGE_BYTES, begins_like_markup, heading};
use super::query::TableQuery;
use super::request::WebStream;
use super::session::WebSession;
use crate::station::error::{AuthCause, StationError};
use crate::station::http::{CallScope, HttpBody};

/// One row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Line of the document, from 1.
    pub line: u64,
    /// Trimmed texts by select position.
    pub cells: Cells,
}

impl Row {
    /// The cell at a select position; empty beyond the last.
    pub fn cell(&self, position: usize) -> Cell<'_> {
        Cell(self.cells.get(position).unwrap_or_default())
    }
}

/// Why a table has no more rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableEnd {
    /// The station sent everything.
    Complete,
    /// The query's row limit was reached, and there was at least one more row.
    RowLimit,
    /// The time was up.
    Deadline,
    /// The answer reached the size limit.
    SizeLimit,
    /// The document ended in the middle of the record that begins on this line; that record was dropped.
    Torn { line: u64 },
}

/// A collected table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Column headings as sent: display names in the account's language, for show only.
    pub header: Vec<String>,
    /// Rows by select position.
    pub rows: Vec<Row>,
    /// Why there are no more.
    pub end: TableEnd,
    /// Cells are in machine encoding.
    pub machine: bool,
    query: String,
    interruption: Option<StationError>,
}

impl Table {
    /// The table, if nothing but the query's own limit cut it short.
    pub fn complete(self) -> Result<Self, StationError> {
        match (self.interruption, self.end) {
            (Some(error), _) => Err(error),
            (None, TableEnd::Torn { line }) => Err(torn(&self.query, line)),
            (None, _) => Ok(Self {
                header: self.header,
                rows: self.rows,
                end: self.end,
                machine: self.machine,
                query: self.query,
                interruption: None,
            }),
        }
    }
}

/// Rows as they arrive. Dropping this closes the connection.
#[derive(Debug)]
pub struct Rows {
    header: Vec<String>,
    body: Option<HttpBody>,
    reader: CsvReader,
    machine: bool,
    taken: usize,
    most: usize,
    /// How the document ended; said to the caller once the records before it are handed over.
    ending: Option<TableEnd>,
    end: Option<TableEnd>,
    query: String,
    scope: CallScope,
}

impl Rows {
    pub(super) async fn begin(
        answer: WebStream,
        query: &TableQuery,
        machine: bool,
        scope: CallScope,
        session: &WebSession,
    ) -> Result<Self, StationError> {
        let mut rows = Self {
            header: Vec::new(),
            body: Some(answer.body),
            reader: CsvReader::new(),
            machine,
            taken: 0,
            most: query.rows,
            ending: None,
            end: None,
            query: query.ord(),
            scope,
        };
        rows.refuse_markup(session).await?;
        let header = rows
            .next_record()
            .await?
            .ok_or_else(|| StationError::Protocol {
                target: rows.query.clone(),
                expected: "CSV with a header line",
                found: "an empty or broken document".to_owned(),
            })?;
        rows.header = header.cells.to_texts();
        // A station that ignores the exporter parameters also ignores includeBOM=false.
        rows.machine &= !rows.reader.has_bom();
        Ok(rows)
    }

    /// Column headings as sent.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// True when the cells are in machine encoding.
    pub fn is_machine(&self) -> bool {
        self.machine
    }

    /// The cell format for these rows: the account's, in the mode in which they really came.
    pub fn format(&self, account: &CellFormat) -> CellFormat {
        CellFormat {
            machine: self.machine,
            ..account.clone()
        }
    }

    /// Why there are no more rows; none while there may be.
    pub fn end(&self) -> Option<TableEnd> {
        self.end
    }

    /// The next row; none at the end.
    ///
    /// Errors: the session's, [`StationError::Protocol`] for a malformed document, naming the line.
    pub async fn next(&mut self) -> Result<Option<Row>, StationError> {
        if self.end.is_some() {
            return Ok(None);
        }
        let Some(record) = self.next_record().await? else {
            self.end = self.ending.or(Some(TableEnd::Complete));
            return Ok(None);
        };
        if self.taken == self.most {
            self.end = Some(TableEnd::RowLimit);
            self.body = None;
            return Ok(None);
        }
        self.taken += 1;
        self.scope.row();
        Ok(Some(Row {
            line: record.line,
            cells: record.cells,
        }))
    }

    /// Collects the remaining rows; what arrived before a deadline or size limit is kept.
    pub async fn collect(mut self) -> Result<Table, StationError> {
        let mut rows = Vec::new();
        let (end, interruption) = loop {
            match self.next().await {
                Ok(Some(row)) => rows.push(row),
                Ok(None) => break (self.end.unwrap_or(TableEnd::Complete), None),
                Err(error @ StationError::Timeout { .. }) => {
                    break (TableEnd::Deadline, Some(error));
                }
                Err(error @ StationError::TooLarge { .. }) => {
                    break (TableEnd::SizeLimit, Some(error));
                }
                Err(error) => return Err(error),
            }
        };
        Ok(Table {
            header: self.header,
            rows,
            end,
            machine: self.machine,
            query: self.query,
            interruption,
        })
    }

    async fn next_record(&mut self) -> Result<Option<Record>, StationError> {
        loop {
            if let Some(record) = self.reader.record() {
                return Ok(Some(record));
            }
            let Some(body) = self.body.as_mut() else {
                return Ok(None);
            };
            match self.scope.run(&self.query, body.chunk()).await? {
                Some(piece) => self
                    .reader
                    .feed(&piece)
                    .map_err(|error| malformed(&self.query, &error))?,
                None => {
                    self.body = None;
                    let ending = self
                        .reader
                        .finish()
                        .map_err(|error| malformed(&self.query, &error))?;
                    self.ending = match ending {
                        Ending::Complete => Some(TableEnd::Complete),
                        Ending::Torn { line } => Some(TableEnd::Torn { line }),
                    };
                }
            }
        }
    }

    /// A body that begins with `<` is no CSV, whatever its media type says.
    async fn refuse_markup(&mut self, session: &WebSession) -> Result<(), StationError> {
        let Some(mut body) = self.body.take() else {
            return Ok(());
        };
        let first = self
            .scope
            .run(&self.query, body.chunk())
            .await?
            .unwrap_or_else(Bytes::new);
        if !begins_like_markup(&first) {
            if !first.is_empty() {
                body.put_back(first);
            }
            self.body = Some(body);
            return Ok(());
        }
        body.put_back(first);
        let page = self
            .scope
            .run(&self.query, body.first_bytes(ERROR_PAGE_BYTES))
            .await?;
        if is_login_page(&page) {
            return Err(StationError::Auth {
                station: session.station(),
                user: session.user().to_owned(),
                cause: AuthCause::InterfaceRefuses,
                detail: "the login page came instead of CSV".to_owned(),
            });
        }
        let found = match heading(&page) {
            Some(heading) => format!("an HTML page ({heading})"),
            None => "an HTML page".to_owned(),
        };
        Err(StationError::Protocol {
            target: self.query.clone(),
            expected: "CSV",
            found,
        })
    }
}

fn malformed(query: &str, error: &CsvError) -> StationError {
    StationError::Protocol {
        target: query.to_owned(),
        expected: "CSV",
        found: error.to_string(),
    }
}

fn torn(query: &str, line: u64) -> StationError {
    StationError::Protocol {
        target: query.to_owned(),
        expected: "a complete table",
        found: format!("a document that ends in the middle of line {line}"),
    }
}
