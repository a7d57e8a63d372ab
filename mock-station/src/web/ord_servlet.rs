//! The ord servlet: from an ord to a view or an exported file (Station web specification §3.1).

use http::{Method, StatusCode};

use super::authenticate::Caller;
use super::bql::{self, QueryError};
use super::export::{self, ExportParameters, Exporter};
use super::ord::{self, OrdQuery};
use super::{login, ord_url, pages};
use crate::model::component::{Handle, SlotContent};
use crate::model::display::{DisplayContext, display};
use crate::model::station::{Operation, Station};
use crate::model::users::User;
use crate::server::{PlainRequest, PlainResponse, ServerContext};
use crate::switches::Switches;

/// Why an ord gives no page.
#[derive(Debug)]
enum Failure {
    Page(StatusCode, String),
    Query(QueryError),
}

impl From<QueryError> for Failure {
    fn from(error: QueryError) -> Self {
        Self::Query(error)
    }
}

pub(super) fn answer(
    context: &ServerContext,
    caller: &Caller,
    request: &PlainRequest,
) -> PlainResponse {
    let switches = context.switches.get();
    if !matches!(request.method, Method::GET | Method::HEAD | Method::POST) {
        return error_page(StatusCode::METHOD_NOT_ALLOWED, "Use GET.");
    }
    let query = request.raw_query.as_deref();
    let ord_text = match ord_url::ord_of(&request.raw_path, query, &switches.ord) {
        Ok(Some(text)) => text,
        Ok(None) => return PlainResponse::redirect(StatusCode::FOUND, login::HOME),
        Err(error) => return error_page(StatusCode::BAD_REQUEST, &error.to_string()),
    };
    match resolve(context, caller, &switches, &ord_text) {
        Ok(response) => response,
        Err(Failure::Page(status, detail)) => error_page(status, &detail),
        Err(Failure::Query(QueryError::Failed(detail))) => {
            pages::failure(&detail, switches.ord.stack_trace)
        }
        Err(Failure::Query(error)) => error_page(error.status(), &error.to_string()),
    }
}

fn error_page(status: StatusCode, detail: &str) -> PlainResponse {
    pages::error(status, status.canonical_reason().unwrap_or("Error"), detail)
}

fn not_found(detail: String) -> Failure {
    Failure::Page(StatusCode::NOT_FOUND, detail)
}

fn resolve(
    context: &ServerContext,
    caller: &Caller,
    switches: &Switches,
    ord_text: &str,
) -> Result<PlainResponse, Failure> {
    let queries = ord::parse(ord_text)
        .map_err(|error| Failure::Page(StatusCode::BAD_REQUEST, error.to_string()))?;
    let (target, view) = split_view(&queries);
    let station = context.station.read();
    let user = station.users.get(&caller.session.user).ok_or_else(|| {
        Failure::Page(StatusCode::FORBIDDEN, "this account was removed".to_owned())
    })?;
    let page = Page {
        station: &station,
        user,
        switches,
        csrf_token: &caller.session.csrf_token,
    };
    let is_table = target
        .iter()
        .any(|query| matches!(query.scheme.as_str(), "bql" | "history" | "alarm"));
    let target = join(target);
    let (spec, parameters) = view.map_or(("", Vec::new()), |view| ord::with_parameters(&view.body));
    match Exporter::of_view(spec) {
        Some(Exporter::Csv) if !switches.export.csv_exporter => {
            Err(not_found("the type file:ITableToCsv is unknown".into()))
        }
        Some(exporter) => page.export(exporter, &target, &parameters),
        None if !spec.is_empty() => Err(not_found(format!("no view {spec} applies here"))),
        None if is_table && has(&parameters, "fullScreen") => {
            page.export(Exporter::Html, &target, &[])
        }
        None if is_table => page.table_shell(&target),
        None => page.component(&target),
    }
}

fn has(parameters: &[(&str, &str)], name: &str) -> bool {
    parameters
        .iter()
        .any(|(key, value)| *key == name && *value == "true")
}

/// The target's queries, and the view query if it ends the ord.
fn split_view(queries: &[OrdQuery]) -> (&[OrdQuery], Option<&OrdQuery>) {
    match queries.split_last() {
        Some((last, rest)) if last.scheme == "view" => (rest, Some(last)),
        _ => (queries, None),
    }
}

fn join(queries: &[OrdQuery]) -> String {
    let parts: Vec<String> = queries
        .iter()
        .map(|query| format!("{}:{}", query.scheme, query.body))
        .collect();
    parts.join("|")
}

struct Page<'a> {
    station: &'a Station,
    user: &'a User,
    switches: &'a Switches,
    csrf_token: &'a str,
}

impl Page<'_> {
    fn reader(&self) -> DisplayContext {
        let mut reader = DisplayContext::of(self.user, self.station);
        reader.time_zone = bql::user_zone(self.station, self.user, &self.switches.export);
        reader
    }

    fn export(
        &self,
        exporter: Exporter,
        target: &str,
        parameters: &[(&str, &str)],
    ) -> Result<PlainResponse, Failure> {
        let switches = &self.switches.export;
        let parameters = ExportParameters::parse(parameters, switches)
            .map_err(|detail| Failure::Page(StatusCode::BAD_REQUEST, detail))?;
        let table = bql::run_with(self.station, self.user, target, switches)?;
        Ok(export::respond(
            exporter,
            &table,
            &parameters,
            self.reader(),
            switches,
            self.csrf_token,
        ))
    }

    /// The default view of a table is a page whose data its script would load.
    fn table_shell(&self, target: &str) -> Result<PlainResponse, Failure> {
        let table = bql::run_with(self.station, self.user, target, &self.switches.export)?;
        let title = format!("Table of {} columns", table.columns.len());
        let shell = "<div id=\"table\"></div>\n<noscript>This view needs a script.</noscript>\n";
        Ok(pages::fragment(&title, self.csrf_token, shell))
    }

    fn component(&self, target: &str) -> Result<PlainResponse, Failure> {
        let ord_text = if target.is_empty() || target == "station:" {
            "slot:/"
        } else {
            target
        };
        if let Ok(resolved) = self.station.resolve(ord_text)
            && !resolved.property.is_empty()
        {
            return self.property(resolved.component, &resolved.property);
        }
        let handle = bql::readable_component(self.station, self.user, ord_text)?;
        let title = self.station.display_name(handle);
        let rows = self.slot_rows(handle);
        Ok(pages::view(&title, self.csrf_token, rows.into_iter()))
    }

    fn property(&self, handle: Handle, path: &str) -> Result<PlainResponse, Failure> {
        let slot = path.split('/').next().unwrap_or(path);
        let needed = self
            .station
            .slot(handle, slot)
            .map(|slot| Station::needed(slot.flags, Operation::Read));
        let granted = self.station.permissions(self.user, handle);
        if needed.is_some_and(|needed| !granted.contains(needed)) {
            return Err(QueryError::Forbidden(format!("{path} may not be read")).into());
        }
        let value = self
            .station
            .value(handle, path)
            .ok_or_else(|| not_found(format!("{path} has no value")))?;
        let text = display(&value, &self.station.facets(handle), &self.reader());
        let row = (path.to_owned(), text);
        Ok(pages::view(path, self.csrf_token, std::iter::once(row)))
    }

    fn slot_rows(&self, handle: Handle) -> Vec<(String, String)> {
        let permissions = self.station.permissions(self.user, handle);
        let reader = self.reader();
        let facets = self.station.facets(handle);
        self.station
            .slots(handle)
            .into_iter()
            .filter_map(|slot| {
                let text = match &slot.content {
                    SlotContent::Property(value) => {
                        let needed = Station::needed(slot.flags, Operation::Read);
                        permissions
                            .contains(needed)
                            .then(|| display(value, slot.facets.unwrap_or(&facets), &reader))?
                    }
                    SlotContent::Child(child) => {
                        self.station.can_read(self.user, *child).then_some(())?;
                        self.station.component(*child)?.ty().spec().to_owned()
                    }
                    SlotContent::Action(_) | SlotContent::Topic(_) => return None,
                };
                Some((slot.display_name(), text))
            })
            .collect()
    }
}
