//! BQL through the ord servlet: finds out how the station wants to be asked, then streams rows.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::cell::{Cell, CellFormat};
use super::csv::{CsvError, CsvReader, Ending, Record};
use super::ord_url::{QuestionMark, UrlForm};
use super::query::{BaseKind, TableQuery};
use super::session::{WebRequest, WebSession, WebStream, is_login_page};
use crate::station::error::{AuthCause, StationError};
use crate::station::http::{CallScope, HttpBody};

const EXPORTER: &str = "|view:file:ITableToCsv";
const MACHINE_PARAMETERS: &str = "?encodeToString=true;includeBOM=false";
/// A query that every station answers with one row (Station web specification §3.2).
const PROBE: &str = "station:|slot:/|bql:select name from baja:Station";
/// Error pages are read this far for their heading.
const ERROR_PAGE_BYTES: usize = 64 << 10;

/// What is known about a station's ord servlet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// The URL form that works.
    pub form: UrlForm,
    /// How it wants a `?` inside the ORD.
    pub question_mark: QuestionMark,
    /// The exporter accepts its parameters, so cells come in machine encodings.
    pub machine: bool,
    question_mark_seen: bool,
    history: Support,
    alarm: Support,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Support {
    Unknown,
    Yes,
    No,
}

impl Dialect {
    fn machine_on(&self, kind: BaseKind) -> Support {
        match kind {
            _ if !self.machine => Support::No,
            BaseKind::Component => Support::Yes,
            BaseKind::History => self.history,
            BaseKind::Alarm => self.alarm,
        }
    }

    fn learn(&mut self, kind: BaseKind, machine: bool) {
        let seen = if machine { Support::Yes } else { Support::No };
        match kind {
            BaseKind::Component => {}
            BaseKind::History => self.history = seen,
            BaseKind::Alarm => self.alarm = seen,
        }
    }
}

/// One way to ask a query.
#[derive(Debug, Clone, Copy)]
struct Asking {
    machine: bool,
    question_mark: QuestionMark,
}

/// Asks BQL queries over one session; clones share what was learnt about the station.
#[derive(Debug, Clone)]
pub struct Bql {
    session: WebSession,
    dialect: Arc<Mutex<Option<Dialect>>>,
    probing: Arc<tokio::sync::Mutex<()>>,
}

impl Bql {
    /// A client over a session; the station is probed at the first query.
    pub fn new(session: WebSession) -> Self {
        Self {
            session,
            dialect: Arc::default(),
            probing: Arc::default(),
        }
    }

    /// The session under it.
    pub fn session(&self) -> &WebSession {
        &self.session
    }

    /// How this station wants to be asked; probes it unless already known.
    ///
    /// Errors: [`StationError::InterfaceMissing`] when no URL form works.
    pub async fn dialect(&self, scope: &CallScope) -> Result<Dialect, StationError> {
        if let Some(dialect) = self.known() {
            return Ok(dialect);
        }
        let _only = scope
            .run("the BQL probe", async { Ok(self.probing.lock().await) })
            .await?;
        if let Some(dialect) = self.known() {
            return Ok(dialect);
        }
        let dialect = self.probe(scope).await?;
        tracing::debug!(form = %dialect.form, machine = dialect.machine, "found the station's BQL dialect");
        self.remember(Some(dialect));
        Ok(dialect)
    }

    /// Forgets what was learnt, for example after the station was restarted with another version.
    pub fn forget(&self) {
        self.remember(None);
    }

    /// Asks a query and hands the rows over as they arrive.
    ///
    /// Errors: [`StationError::BadQuery`] for HTTP 400, [`StationError::NotFound`] for 404,
    /// [`StationError::PermissionDenied`] for 403, and those of the session.
    pub async fn stream(
        &self,
        query: &TableQuery,
        scope: &CallScope,
    ) -> Result<Rows, StationError> {
        let dialect = self.dialect(scope).await?;
        let mut refused = None;
        for asking in askings(&dialect, query) {
            let (answer, ord) = self.ask(query, dialect.form, asking, scope).await?;
            if answer.status == 200 {
                let rows = Rows::begin(answer, query, asking.machine, scope.clone(), &self.session)
                    .await?;
                self.confirm(query, asking);
                return Ok(rows);
            }
            let status = answer.status;
            let error = self.failure(answer, &ord, scope).await?;
            refused.get_or_insert(error);
            if !matches!(status, 400 | 404) {
                break;
            }
        }
        Err(refused.unwrap_or_else(|| StationError::Protocol {
            target: query.ord(),
            expected: "a table",
            found: "no answer".to_owned(),
        }))
    }

    /// Asks a query and collects its rows up to the query's limit.
    ///
    /// Rows that arrived before the deadline or before a broken end are kept, and [`Table::end`] says so.
    pub async fn query(
        &self,
        query: &TableQuery,
        scope: &CallScope,
    ) -> Result<Table, StationError> {
        self.stream(query, scope).await?.collect().await
    }

    fn known(&self) -> Option<Dialect> {
        *self.dialect.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, dialect: Option<Dialect>) {
        *self.dialect.lock().unwrap_or_else(PoisonError::into_inner) = dialect;
    }

    fn confirm(&self, query: &TableQuery, asking: Asking) {
        let mut dialect = self.dialect.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(dialect) = dialect.as_mut() else {
            return;
        };
        if query.machine && dialect.machine_on(query.base_kind()) == Support::Unknown {
            dialect.learn(query.base_kind(), asking.machine);
        }
        if !dialect.question_mark_seen && has_question_mark(query, asking.machine) {
            dialect.question_mark = asking.question_mark;
            dialect.question_mark_seen = true;
        }
    }

    /// Tries the forms with a query that must work, so that a refusal can only mean the form.
    async fn probe(&self, scope: &CallScope) -> Result<Dialect, StationError> {
        let mut refusals = Vec::new();
        for form in UrlForm::IN_ORDER {
            let question_mark = form.question_mark();
            match self.try_probe(form, question_mark, "", scope).await? {
                Ok(()) => {
                    let machine_mark = self.probe_machine(form, scope).await?;
                    return Ok(Dialect {
                        form,
                        question_mark: machine_mark.unwrap_or(question_mark),
                        machine: machine_mark.is_some(),
                        question_mark_seen: machine_mark.is_some(),
                        history: Support::Unknown,
                        alarm: Support::Unknown,
                    });
                }
                Err(refusal) => refusals.push(format!("form {form}: {refusal}")),
            }
        }
        Err(StationError::InterfaceMissing {
            station: self.session.station(),
            needs: "BQL over the ord servlet",
            detail: format!(
                "{}; the account needs read permission on the station and the table exporter must be allowed",
                refusals.join(", ")
            ),
        })
    }

    async fn probe_machine(
        &self,
        form: UrlForm,
        scope: &CallScope,
    ) -> Result<Option<QuestionMark>, StationError> {
        let default = form.question_mark();
        for question_mark in [default, default.other()] {
            if self
                .try_probe(form, question_mark, MACHINE_PARAMETERS, scope)
                .await?
                .is_ok()
            {
                return Ok(Some(question_mark));
            }
        }
        Ok(None)
    }

    /// Inner error: the station answered, but not with a table.
    async fn try_probe(
        &self,
        form: UrlForm,
        question_mark: QuestionMark,
        parameters: &str,
        scope: &CallScope,
    ) -> Result<Result<(), String>, StationError> {
        let ord = format!("{PROBE}{EXPORTER}{parameters}");
        let request = WebRequest::read(scope);
        let answer = self
            .session
            .get(&form.target(&ord, question_mark), &request)
            .await?;
        Ok(match answer.status {
            200 if begins_like_markup(&answer.body) => {
                Err("an HTML page instead of CSV".to_owned())
            }
            200 => Ok(()),
            status => Err(format!("HTTP {status}")),
        })
    }

    async fn ask(
        &self,
        query: &TableQuery,
        form: UrlForm,
        asking: Asking,
        scope: &CallScope,
    ) -> Result<(WebStream, String), StationError> {
        let parameters = if asking.machine {
            MACHINE_PARAMETERS
        } else {
            ""
        };
        let ord = query.ord();
        let target = form.target(
            &format!("{ord}{EXPORTER}{parameters}"),
            asking.question_mark,
        );
        let request = WebRequest::read(scope).timeout(query.timeout);
        let answer = self.session.get_stream(&target, &request).await?;
        Ok((answer, ord))
    }

    /// Turns an error answer into a sentence; only its heading is read (Station web specification §3.1).
    async fn failure(
        &self,
        answer: WebStream,
        ord: &str,
        scope: &CallScope,
    ) -> Result<StationError, StationError> {
        let status = answer.status;
        let page = scope
            .run(ord, answer.body.first_bytes(ERROR_PAGE_BYTES))
            .await?;
        let detail = heading(&page).unwrap_or_else(|| format!("HTTP {status}"));
        let target = ord.to_owned();
        Ok(match status {
            400 => StationError::BadQuery {
                query: target,
                detail,
            },
            403 => StationError::PermissionDenied {
                user: self.session.user().to_owned(),
                target,
                detail,
            },
            404 => StationError::NotFound { target, detail },
            413 | 414 | 431 => StationError::BadQuery {
                query: target,
                detail: format!("it is too long for the station (HTTP {status})"),
            },
            500.. => StationError::Server {
                target,
                status,
                detail,
            },
            _ => StationError::Protocol {
                target,
                expected: "CSV",
                found: format!("HTTP {status}"),
            },
        })
    }
}

/// The ways to ask a query, the most promising first. Once a station has shown what it accepts there is one.
fn askings(dialect: &Dialect, query: &TableQuery) -> Vec<Asking> {
    let support = if query.machine {
        dialect.machine_on(query.base_kind())
    } else {
        Support::No
    };
    let modes: &[bool] = match support {
        Support::Yes => &[true],
        Support::No => &[false],
        Support::Unknown => &[true, false],
    };
    let mut askings = Vec::new();
    for &machine in modes {
        askings.push(Asking {
            machine,
            question_mark: dialect.question_mark,
        });
        if !dialect.question_mark_seen && has_question_mark(query, machine) {
            askings.push(Asking {
                machine,
                question_mark: dialect.question_mark.other(),
            });
        }
    }
    askings
}

fn has_question_mark(query: &TableQuery, machine: bool) -> bool {
    machine || query.ord().contains('?')
}

/// One row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Line of the document, from 1.
    pub line: u64,
    /// Trimmed texts by select position.
    pub cells: Vec<String>,
}

impl Row {
    /// The cell at a select position; empty beyond the last.
    pub fn cell(&self, position: usize) -> Cell<'_> {
        Cell(self.cells.get(position).map_or("", String::as_str))
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
    async fn begin(
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
        rows.header = header.cells;
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

fn begins_like_markup(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    body.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'<')
}

/// Title or first heading of an error page, cut to one line.
fn heading(page: &[u8]) -> Option<String> {
    let page = String::from_utf8_lossy(page);
    let lower = page.to_ascii_lowercase();
    ["title", "h1", "h2"].iter().find_map(|tag| {
        let open = lower.find(&format!("<{tag}"))?;
        let from = open + lower.get(open..)?.find('>')? + 1;
        let to = from + lower.get(from..)?.find(&format!("</{tag}"))?;
        let text: String = page
            .get(from..to)?
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        let text: String = text.chars().filter(|c| !c.is_control()).take(200).collect();
        (!text.is_empty()).then_some(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_page_gives_its_heading_and_nothing_else() {
        let page =
            b"<html><head><TITLE>Error 400\n Bad ORD</TITLE></head><body>stack trace</body></html>";
        assert_eq!(heading(page).as_deref(), Some("Error 400 Bad ORD"));
        assert_eq!(
            heading(b"<html><h1 class='x'>Oops</h1>").as_deref(),
            Some("Oops")
        );
        assert_eq!(heading(b"plain text"), None);
    }

    #[test]
    fn a_station_that_has_shown_its_ways_is_asked_once() {
        let mut dialect = Dialect {
            form: UrlForm::PathLiteral,
            question_mark: QuestionMark::Literal,
            machine: true,
            question_mark_seen: true,
            history: Support::Unknown,
            alarm: Support::Unknown,
        };
        let component = TableQuery::new("slot:/", "select name from baja:Station").unwrap();
        let history = TableQuery::new("history:", "select id").unwrap();
        assert_eq!(askings(&dialect, &component).len(), 1);
        assert_eq!(askings(&dialect, &history).len(), 2);
        dialect.learn(BaseKind::History, true);
        assert_eq!(askings(&dialect, &history).len(), 1);
    }
}
