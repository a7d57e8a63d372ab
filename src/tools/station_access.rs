//! How tools reach the station: the caller's facade, the call's scope, and station errors in the codes of the surface.

use std::sync::Arc;

use super::request_progress::RequestProgress;
use super::{Arguments, CallContext, ErrorCode, Principal, ToolError};
use crate::station::echo::shortened;
use crate::station::error::StationError;
use crate::station::facade::{FacadeError, StationFacade};
use crate::station::http::CallScope;
use crate::station::ord::Ord;

/// Where an ord becomes a query.
const BQL: &str = "|bql:";

/// Finds the station session that acts for a caller.
pub trait StationDirectory: Send + Sync {
    /// The facade whose station account is the caller's.
    ///
    /// # Errors
    /// −32011 when the station credential of this user cannot be used.
    fn for_caller(&self, principal: &Principal) -> Result<Arc<StationFacade>, ToolError>;

    /// The address of the caller's station, as errors name it.
    fn station_of(&self, principal: &Principal) -> Option<String> {
        let facade = self.for_caller(principal).ok()?;
        Some(facade.station())
    }

    /// Whether the station can be changed in the caller's name.
    ///
    /// # Errors
    /// Why not, and what to do, for a user whose station password the bridge does not have (Tool surface §3).
    fn may_change_station(&self, _principal: &Principal) -> Result<(), String> {
        Ok(())
    }

    /// The facade that changes the station in the caller's own name; never the service account's for a user.
    ///
    /// # Errors
    /// −32011 when there is none.
    fn for_writing(&self, principal: &Principal) -> Result<Arc<StationFacade>, ToolError> {
        self.may_change_station(principal)
            .map_err(|reason| super::write_gate::cannot_write(&reason))?;
        self.for_caller(principal)
    }
}

/// A directory handed around by reference count.
pub type SharedStations = Arc<dyn StationDirectory>;

/// One station account for every caller: the configured service account.
pub struct ServiceStation(pub Arc<StationFacade>);

impl StationDirectory for ServiceStation {
    fn for_caller(&self, _principal: &Principal) -> Result<Arc<StationFacade>, ToolError> {
        Ok(self.0.clone())
    }
}

/// Deadline, cancellation and progress of the call, as station requests take them.
pub fn scope(context: &CallContext) -> CallScope {
    let scope = CallScope::until(context.deadline.into()).with_cancel(context.cancel.clone());
    if context.progress.wanted() {
        scope.with_count(Arc::new(RequestProgress::new(context.progress.clone())))
    } else {
        scope
    }
}

/// The component that a caller's ord names (Tool surface §13.5.1, `P`).
///
/// # Errors
/// −32006 when the text is no ord of a component.
pub fn component_ord(text: &str) -> Result<Ord, ToolError> {
    Ord::component(text).map_err(|error| station_error(StationError::from(error), text))
}

/// A call about the one component that its argument `ord` names.
pub struct ComponentCall<'a> {
    /// The ord as it was given; answers and errors repeat it.
    pub text: &'a str,
    pub ord: Ord,
    pub station: Arc<StationFacade>,
    pub scope: CallScope,
}

impl<'a> ComponentCall<'a> {
    /// Finds the component's ord and the caller's station.
    ///
    /// # Errors
    /// −32006 when the text is no ord of a component, −32011 when the caller has no station account.
    pub fn of(
        stations: &SharedStations,
        context: &CallContext,
        arguments: &'a Arguments,
    ) -> Result<Self, ToolError> {
        let text = arguments.string("ord")?;
        Ok(Self {
            text,
            ord: component_ord(text)?,
            station: stations.for_caller(&context.principal)?,
            scope: scope(context),
        })
    }

    /// What the station told, or its error with the ord as it was given.
    ///
    /// # Errors
    /// The station's error in the codes of the surface.
    pub fn told<T>(&self, outcome: Result<T, impl Into<FacadeError>>) -> Result<T, ToolError> {
        outcome.map_err(|error| station_error(error, self.text))
    }
}

/// An error of an operation on one ord.
pub fn station_error(error: impl Into<FacadeError>, ord: &str) -> ToolError {
    match about_ord(error.into(), ord) {
        FacadeError::Station(error @ (StationError::NotFound { .. } | StationError::Ord(_))) => {
            ToolError::new(ErrorCode::OrdNotResolvable, sentence(&error)).with("ord", ord)
        }
        FacadeError::Station(error @ StationError::PermissionDenied { .. }) => {
            common(error).with("ord", ord)
        }
        FacadeError::Station(error) => common(error),
        error @ FacadeError::NoHistory { .. } => {
            ToolError::new(ErrorCode::HistoryExtMissing, sentence(&error)).with("ord", ord)
        }
        FacadeError::UnknownType { type_name } => unknown_type(&type_name),
        // The ord leads somewhere, but to the wrong kind of object: −32006 by its definition.
        error @ FacadeError::NotAComponent { .. } => {
            ToolError::new(ErrorCode::OrdNotResolvable, sentence(&error)).with("ord", ord)
        }
        error @ (FacadeError::NotAPoint { .. }
        | FacadeError::NotASchedule { .. }
        | FacadeError::NoSlots { .. }) => {
            ToolError::invalid_params(sentence(&error)).with("ord", ord)
        }
    }
}

/// What was not found is the ord that the caller gave, not the query that the bridge made of it.
fn about_ord(error: FacadeError, ord: &str) -> FacadeError {
    match error {
        FacadeError::Station(StationError::NotFound { target, detail })
            if target.contains(BQL) && !ord.contains("bql:") =>
        {
            let error = StationError::NotFound {
                target: target.clone(),
                detail,
            };
            FacadeError::Station(error.about_query(&target, ord.trim()))
        }
        other => other,
    }
}

/// An error of a caller's own query; `sent` is the query that the bridge made of it.
pub fn query_error(error: impl Into<FacadeError>, query: &str, sent: &str) -> ToolError {
    let error = match error.into() {
        FacadeError::Station(error) => FacadeError::Station(error.about_query(sent, query.trim())),
        other => other,
    };
    match error {
        FacadeError::Station(
            error @ (StationError::BadQuery { .. } | StationError::InvalidInput { .. }),
        ) => ToolError::invalid_params(sentence(&error)).with("query", query),
        other => station_error(other, query),
    }
}

/// An error of a search below a component; the query for it is the bridge's own and tells the caller nothing.
pub fn subtree_error(error: impl Into<FacadeError>, ord: &str) -> ToolError {
    let error = error.into();
    let is_of_query = match &error {
        FacadeError::Station(StationError::BadQuery { .. }) => true,
        FacadeError::Station(StationError::NotFound { target, .. }) => target.contains(BQL),
        _ => false,
    };
    if !is_of_query {
        return station_error(error, ord);
    }
    ToolError::new(
        ErrorCode::OrdNotResolvable,
        format!(
            "The station finds no component {} to look below: nothing lies below a property. Give the ord of a folder or \
             component as listChildren shows it.",
            shortened(ord)
        ),
    )
    .with("ord", ord)
}

/// An error of an alarm query; a base that is not there means that the station has no alarm service.
pub fn alarm_error(error: impl Into<FacadeError>) -> ToolError {
    match error.into() {
        FacadeError::Station(error @ StationError::NotFound { .. }) => {
            ToolError::new(ErrorCode::AlarmServiceMissing, sentence(&error))
        }
        other => station_error(other, "alarm:"),
    }
}

fn unknown_type(type_name: &str) -> ToolError {
    let error = FacadeError::UnknownType {
        type_name: type_name.to_owned(),
    };
    ToolError::new(ErrorCode::SchemaValidation, sentence(&error)).with("type", type_name)
}

/// A station error by its own kind: refusals, and `errorData{kind}` for whatever stands between bridge and station.
fn common(error: StationError) -> ToolError {
    let text = sentence(&error);
    match &error {
        StationError::PermissionDenied {
            user,
            target,
            detail,
        } => ToolError::new(ErrorCode::PermissionDenied, text)
            .with("user", user.clone())
            .with("target", target.clone())
            .with("detail", detail.clone()),
        StationError::InterfaceMissing { station, needs, .. } => {
            ToolError::station(error.kind(), text)
                .with("needs", *needs)
                .with("station", station.clone())
        }
        StationError::Unreachable { station, .. }
        | StationError::Cut { station, .. }
        | StationError::Certificate { station, .. }
        | StationError::Auth { station, .. }
        | StationError::LoginTimeout { station, .. }
        | StationError::Busy { station, .. } => {
            ToolError::station(error.kind(), text).with("station", station.clone())
        }
        StationError::Latched {
            station, remaining, ..
        } => ToolError::station(error.kind(), text)
            .with("station", station.clone())
            .with("retryAfterSeconds", remaining.as_secs().max(1)),
        StationError::BadQuery { query, .. } => {
            ToolError::invalid_params(text).with("query", query.clone())
        }
        StationError::InvalidInput { .. } => ToolError::invalid_params(text),
        _ => ToolError::station(error.kind(), text),
    }
}

/// Names the station in an error of whatever stands between it and the bridge, where the error does not do so itself.
pub(super) fn naming_station(
    error: ToolError,
    stations: &SharedStations,
    principal: &Principal,
) -> ToolError {
    let kind = error.data.get("kind").and_then(|kind| kind.as_str());
    if !kind.is_some_and(is_of_station) || error.data.contains_key("station") {
        return error;
    }
    match stations.station_of(principal) {
        Some(station) => error.with("station", station),
        None => error,
    }
}

/// Kinds of [`StationError::kind`] that tell of the station or of the way to it, not of the caller's request.
fn is_of_station(kind: &str) -> bool {
    kind.starts_with("station-")
        || matches!(
            kind,
            "bridge-busy" | "interface-missing" | "too-large" | "outcome-unknown"
        )
}

/// The error as a sentence of its own. A first word that is no plain word (an ord, a URL, a name) is text to copy and
/// keeps its letters.
pub(super) fn sentence(error: &impl std::fmt::Display) -> String {
    let text = error.to_string();
    let end = if text.ends_with('.') { "" } else { "." };
    let first = text.split_whitespace().next().unwrap_or_default();
    let mut characters = text.chars();
    let is_word = first
        .trim_end_matches([',', ':'])
        .chars()
        .all(|character| character.is_ascii_lowercase());
    match characters.next() {
        Some(letter) if is_word => {
            format!(
                "{}{}{end}",
                letter.to_ascii_uppercase(),
                characters.as_str()
            )
        }
        _ => format!("{text}{end}"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::station::error::AuthCause;

    #[test]
    fn what_stands_between_bridge_and_station_is_named_by_kind() {
        let station = "http://st1".to_owned();
        let latched = StationError::Latched {
            station: station.clone(),
            user: "bridge".into(),
            remaining: Duration::from_secs(12),
            reason: "HTTP 401".into(),
            cause: AuthCause::Refused,
        };
        let error = station_error(latched, "slot:/");
        assert_eq!(error.code, ErrorCode::Internal);
        assert_eq!(error.data["kind"], "station-auth");
        assert_eq!(error.data["retryAfterSeconds"], 12);

        let unreachable = StationError::Unreachable {
            station,
            cause: "refused".into(),
        };
        let error = query_error(unreachable, "q", "q");
        assert_eq!(
            (error.code, &error.data["kind"]),
            (ErrorCode::Internal, &"station-unreachable".into())
        );
        assert!(
            error.message.starts_with("The station http://st1"),
            "{}",
            error.message
        );
    }

    #[test]
    fn a_sentence_begins_with_a_capital_unless_its_first_word_is_to_be_copied() {
        for (text, expected) in [
            ("the station is gone", "The station is gone."),
            ("sorry, no", "Sorry, no."),
            ("already ended.", "Already ended."),
            (
                "station:|slot:/No was not found",
                "station:|slot:/No was not found.",
            ),
            ("slot:/a is no point", "slot:/a is no point."),
            ("h:2f1 is gone", "h:2f1 is gone."),
            ("history:/st/h is gone", "history:/st/h is gone."),
            ("http://st1/obix is closed", "http://st1/obix is closed."),
            ("https://st1 is closed", "https://st1 is closed."),
            (
                "control:NumericPoint is unknown",
                "control:NumericPoint is unknown.",
            ),
            (
                "defaultAlarmClass is unknown",
                "defaultAlarmClass is unknown.",
            ),
            ("/ord/x is closed", "/ord/x is closed."),
            ("'x' is odd", "'x' is odd."),
            ("", "."),
        ] {
            assert_eq!(sentence(&text), expected);
        }
    }

    #[test]
    fn no_error_changes_the_ord_that_it_begins_with() {
        let ord = "station:|slot:/no";
        let named = |error: FacadeError| station_error(error, ord).message;
        let messages = [
            named(FacadeError::NotAPoint {
                ord: ord.into(),
                type_spec: "baja:Folder".into(),
            }),
            named(FacadeError::NoSlots {
                ord: ord.into(),
                type_spec: "baja:Double".into(),
            }),
            named(FacadeError::NoHistory { ord: ord.into() }),
            named(
                StationError::NotFound {
                    target: ord.into(),
                    detail: "unresolved".into(),
                }
                .into(),
            ),
            named(
                StationError::Timeout {
                    what: ord.into(),
                    after: Duration::from_secs(9),
                    call: None,
                }
                .into(),
            ),
            named(StationError::Cancelled { what: ord.into() }.into()),
            named(
                StationError::Protocol {
                    target: ord.into(),
                    expected: "CSV",
                    found: "HTML".into(),
                }
                .into(),
            ),
        ];
        for message in messages {
            assert!(message.starts_with("station:|slot:/no "), "{message}");
        }
        let missing = StationError::NotFound {
            target: "http://st1/obix/x".into(),
            detail: "HTTP 404".into(),
        };
        assert!(
            query_error(missing, "q", "q")
                .message
                .starts_with("http://st1/obix/x ")
        );
    }

    #[test]
    fn a_missing_target_is_an_ord_a_history_or_the_alarm_service() {
        let missing = || StationError::NotFound {
            target: "slot:/X".into(),
            detail: "unresolved".into(),
        };
        assert_eq!(
            station_error(missing(), "slot:/X").code,
            ErrorCode::OrdNotResolvable
        );
        assert_eq!(alarm_error(missing()).code, ErrorCode::AlarmServiceMissing);
        let bad = StationError::BadQuery {
            query: "q".into(),
            detail: "type".into(),
        };
        assert_eq!(query_error(bad, "q", "q").code, ErrorCode::InvalidParams);
        let unknown = FacadeError::UnknownType {
            type_name: "x:Y".into(),
        };
        let error = station_error(unknown, "slot:/");
        assert_eq!(
            (error.code, &error.data["type"]),
            (ErrorCode::SchemaValidation, &"x:Y".into())
        );
        let none = FacadeError::NoHistory {
            ord: "slot:/P".into(),
        };
        assert_eq!(
            station_error(none, "slot:/P").code,
            ErrorCode::HistoryExtMissing
        );
    }
}
