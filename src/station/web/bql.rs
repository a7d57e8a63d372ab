//! BQL through the ord servlet: finds out how the station wants to be asked, then streams rows.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::markup::{ERROR_PAGE_BYTES, begins_like_markup, heading};
use super::ord_url::{QuestionMark, UrlForm};
use super::query::{BaseKind, TableQuery};
use super::request::{WebRequest, WebStream};
use super::session::WebSession;
pub use super::table::{Row, Rows, Table, TableEnd};
use crate::station::error::StationError;
use crate::station::http::CallScope;

const EXPORTER: &str = "|view:file:ITableToCsv";
const MACHINE_PARAMETERS: &str = "?encodeToString=true;includeBOM=false";
/// A query that every station answers with one row (Station web specification §3.2).
const PROBE: &str = "station:|slot:/|bql:select name from baja:Station";

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
    failed: Arc<Mutex<FailedProbes>>,
}

/// Probes that found no way to ask; who waited for one takes its outcome over.
#[derive(Debug, Default)]
struct FailedProbes {
    count: u64,
    last: Option<StationError>,
}

impl Bql {
    /// A client over a session; the station is probed at the first query.
    pub fn new(session: WebSession) -> Self {
        Self {
            session,
            dialect: Arc::default(),
            probing: Arc::default(),
            failed: Arc::default(),
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
        let before = self.failed().count;
        let _only = scope
            .run("the BQL probe", async { Ok(self.probing.lock().await) })
            .await?;
        if let Some(dialect) = self.known() {
            return Ok(dialect);
        }
        let shared = {
            let failed = self.failed();
            failed.last.clone().filter(|_| failed.count != before)
        };
        if let Some(error) = shared {
            return Err(error);
        }
        let outcome = self.probe(scope).await;
        if let Err(error @ StationError::InterfaceMissing { .. }) = &outcome {
            let mut failed = self.failed();
            failed.count = failed.count.wrapping_add(1);
            failed.last = Some(error.clone());
        }
        let dialect = outcome?;
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
        let known = self.known();
        let dialect = self.dialect(scope).await?;
        let refused = match self.ask_in(dialect, query, scope).await {
            Err(error @ (StationError::BadQuery { .. } | StationError::NotFound { .. })) => error,
            outcome => return outcome,
        };
        if known.is_none() || self.still_takes(dialect, scope).await? {
            return Err(refused);
        }
        tracing::info!(form = %dialect.form, "the station takes the known form of BQL no longer");
        self.forget();
        let dialect = self.dialect(scope).await?;
        self.ask_in(dialect, query, scope).await
    }

    /// Whether a query that must work is still answered in this form: a refusal may mean the form, not the query.
    async fn still_takes(&self, dialect: Dialect, scope: &CallScope) -> Result<bool, StationError> {
        let mark = dialect.question_mark;
        Ok(self.try_probe(dialect.form, mark, "", scope).await?.is_ok())
    }

    async fn ask_in(
        &self,
        dialect: Dialect,
        query: &TableQuery,
        scope: &CallScope,
    ) -> Result<Rows, StationError> {
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

    fn failed(&self) -> MutexGuard<'_, FailedProbes> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
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

#[cfg(test)]
mod tests {
    use super::*;

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
