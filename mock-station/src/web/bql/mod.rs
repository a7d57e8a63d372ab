//! BQL: parsing and evaluation against the component model, histories and alarms (Station web specification §3.4–3.6).

mod aggregates;
mod alarms;
pub mod ast;
mod evaluate;
mod histories;
pub mod lexer;
mod node;
pub mod parser;
mod rows;

use chrono_tz::Tz;
use http::StatusCode;
use thiserror::Error;

use super::ord::{self, OrdQuery};
use super::table::Table;
use crate::model::component::Handle;
use crate::model::display::{DisplayContext, display};
use crate::model::error::ModelError;
use crate::model::facets::Facets;
use crate::model::registry;
use crate::model::station::Station;
use crate::model::users::User;
use crate::model::value::Value;
use crate::switches::ExportSwitches;
use ast::{ExtentTarget, Select};
use node::{Node, Scope};

/// Why a query gives no table.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum QueryError {
    /// The text is no query, or names an unknown type.
    #[error("{0}")]
    Invalid(String),
    /// The ord leads nowhere, or its target is no table.
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    Forbidden(String),
    /// The query is well-formed and fails while it runs.
    #[error("{0}")]
    Failed(String),
}

impl QueryError {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid(message.into())
    }

    /// The HTTP status that the ord servlet answers (§3.1).
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Invalid(_) => StatusCode::BAD_REQUEST,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// Runs the query, history or alarm ord with the user's permissions and default switches.
///
/// # Errors
/// When the ord is no table for this user; see [`QueryError`].
pub fn run(station: &Station, user: &User, ord_text: &str) -> Result<Table, QueryError> {
    run_with(station, user, ord_text, &ExportSwitches::default())
}

/// [`run`] under the station's switches (bases, `.millis` columns, time zone).
pub fn run_with(
    station: &Station,
    user: &User,
    ord_text: &str,
    switches: &ExportSwitches,
) -> Result<Table, QueryError> {
    let queries = ord::parse(ord_text).map_err(|error| QueryError::invalid(error.to_string()))?;
    let scope = Scope {
        station,
        user,
        now: station.now(),
        zone: user_zone(station, user, switches),
        millis: switches.millis_columns,
    };
    let (base, rest) = split_base(&queries)?;
    let select = match rest {
        [] => None,
        [query] if query.scheme == "bql" => Some(
            parser::parse(&query.body).map_err(|error| QueryError::invalid(error.to_string()))?,
        ),
        [query, ..] if query.scheme == "neql" => {
            return Err(QueryError::invalid(
                "NEQL needs a tag dictionary, and none is installed",
            ));
        }
        [query, ..] => {
            return Err(QueryError::invalid(format!(
                "`{}:` cannot follow here",
                query.scheme
            )));
        }
    };
    if !scope.millis && select.as_ref().is_some_and(asks_millis) {
        return Err(QueryError::invalid("unknown property `millis`"));
    }
    match base {
        Base::Component(text) => components(&scope, &text, select.as_ref()),
        Base::History(_) if !switches.history_base => Err(QueryError::NotFound(
            "the scheme `history:` is unknown".into(),
        )),
        Base::History(body) => histories::table(&scope, body, select.as_ref()),
        Base::Alarm(_) if !switches.alarm_base => Err(QueryError::NotFound(
            "the scheme `alarm:` is unknown".into(),
        )),
        Base::Alarm(body) => alarms::table(&scope, body, select.as_ref()),
    }
}

/// The zone of a user's display times: the switch, the user's own, the station's.
pub(crate) fn user_zone(station: &Station, user: &User, switches: &ExportSwitches) -> Tz {
    switches
        .time_zone
        .or(user.time_zone)
        .unwrap_or_else(|| station.zone())
}

fn asks_millis(select: &Select) -> bool {
    select.to_string().contains(".millis")
}

enum Base<'q> {
    Component(String),
    History(&'q str),
    Alarm(&'q str),
}

/// What an ord queries, and the queries behind it.
fn split_base(queries: &[OrdQuery]) -> Result<(Base<'_>, &[OrdQuery]), QueryError> {
    let Some(first) = queries.first() else {
        return Err(QueryError::invalid("the ord is empty"));
    };
    match first.scheme.as_str() {
        "history" => return Ok((Base::History(&first.body), &queries[1..])),
        "alarm" => return Ok((Base::Alarm(&first.body), &queries[1..])),
        _ => {}
    }
    let length = queries
        .iter()
        .take_while(|query| matches!(query.scheme.as_str(), "station" | "slot" | "h" | "service"))
        .count();
    let (base, rest) = queries.split_at(length);
    if base.is_empty() {
        return Err(QueryError::NotFound(format!(
            "the scheme `{}:` is unknown",
            first.scheme
        )));
    }
    let text: Vec<String> = base
        .iter()
        .filter(|query| query.scheme != "station")
        .map(|query| format!("{}:{}", query.scheme, query.body))
        .collect();
    let text = if text.is_empty() {
        "slot:/".to_owned()
    } else {
        text.join("|")
    };
    Ok((Base::Component(text), rest))
}

/// The component an ord names, if the user may see it.
pub(crate) fn readable_component(
    station: &Station,
    user: &User,
    ord_text: &str,
) -> Result<Handle, QueryError> {
    let handle = station
        .resolve_component(ord_text)
        .map_err(|error| match error {
            ModelError::PermissionDenied { .. } => QueryError::Forbidden(error.to_string()),
            _ => QueryError::NotFound(error.to_string()),
        })?;
    if station.can_read(user, handle) {
        Ok(handle)
    } else {
        Err(QueryError::Forbidden(format!(
            "{} may not read {ord_text}",
            user.name
        )))
    }
}

fn components(scope: &Scope<'_>, base: &str, select: Option<&Select>) -> Result<Table, QueryError> {
    let handle = readable_component(scope.station, scope.user, base)?;
    let select =
        select.ok_or_else(|| QueryError::NotFound(format!("{base} is no table; add a query")))?;
    let extent = select
        .extent
        .as_ref()
        .ok_or_else(|| QueryError::invalid("a query on components needs `from`"))?;
    let wanted = match &extent.target {
        ExtentTarget::Everything => None,
        ExtentTarget::Type(spec) => Some(
            registry::find(spec)
                .ok_or_else(|| QueryError::invalid(format!("unknown type `{spec}`")))?,
        ),
        ExtentTarget::History(name) | ExtentTarget::Named(name) => {
            return Err(QueryError::invalid(format!(
                "`from {name}` needs the base history: or alarm:"
            )));
        }
    };
    let is_wanted = |component: &crate::model::component::Component| {
        wanted.is_none_or(|wanted| component.ty().is_a(wanted))
    };
    let walk = if extent.stop {
        scope.station.descendants_until(handle, &is_wanted)
    } else {
        scope.station.descendants(handle)
    };
    let found = walk
        .filter(|component| is_wanted(component))
        .map(|component| component.handle())
        .filter(|handle| scope.station.can_read(scope.user, *handle))
        .map(Node::Component);
    let columns = wanted.map_or_else(Vec::new, |wanted| {
        wanted
            .slots()
            .iter()
            .filter(|slot| slot.default_value().is_some())
            .map(|slot| slot.name.to_string())
            .collect()
    });
    rows::table(scope, select, found, &columns, None)
}

/// A value as text in the scope's zone, for methods such as `toString`.
fn display_text(scope: &Scope<'_>, value: &Value, facets: &Facets) -> String {
    let mut context = DisplayContext::of(scope.user, scope.station);
    context.time_zone = scope.zone;
    display(value, facets, &context)
}
