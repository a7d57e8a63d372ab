//! How tools reach the station: the caller's facade, the call's scope, and station errors in the codes of the surface.

use std::sync::Arc;

use super::{CallContext, ErrorCode, Principal, ToolError};
use crate::station::error::StationError;
use crate::station::facade::StationFacade;
use crate::station::http::CallScope;
use crate::station::ord::Ord;

/// Finds the station session that acts for a caller.
pub trait StationDirectory: Send + Sync {
    /// The facade whose station account is the caller's.
    ///
    /// # Errors
    /// −32011 when the bridge holds no station credential for this user.
    fn for_caller(&self, principal: &Principal) -> Result<Arc<StationFacade>, ToolError>;
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

/// Deadline and cancellation of the call, as station requests take them.
pub fn scope(context: &CallContext) -> CallScope {
    CallScope::until(context.deadline).with_cancel(context.cancel.clone())
}

/// The component that a caller's ord names (Tool surface §13.5.1, `P`).
///
/// # Errors
/// −32006 when the text is no ord of a component.
pub fn component_ord(text: &str) -> Result<Ord, ToolError> {
    Ord::component(text).map_err(|error| ToolError::ord_not_resolvable(text, error))
}

/// A station error of an operation on one ord.
pub fn station_error(error: StationError, ord: &str) -> ToolError {
    match error {
        StationError::NotFound { .. } | StationError::Ord(_) => {
            ToolError::new(ErrorCode::OrdNotResolvable, sentence(&error)).with("ord", ord)
        }
        StationError::PermissionDenied { .. } => common(error).with("ord", ord),
        other => common(other),
    }
}

/// A station error of a caller's own query.
pub fn query_error(error: StationError, query: &str) -> ToolError {
    match error {
        StationError::BadQuery { .. } | StationError::InvalidInput { .. } => {
            ToolError::invalid_params(sentence(&error)).with("query", query)
        }
        StationError::NotFound { .. } | StationError::Ord(_) => {
            ToolError::new(ErrorCode::OrdNotResolvable, sentence(&error)).with("ord", query)
        }
        other => common(other),
    }
}

/// A station error of a search by type: a refused query means that the type does not load.
pub fn type_error(error: StationError, type_name: &str) -> ToolError {
    match error {
        StationError::BadQuery { .. } | StationError::InvalidInput { .. } => {
            ToolError::new(ErrorCode::SchemaValidation, sentence(&error)).with("type", type_name)
        }
        other => common(other),
    }
}

/// A station error of a history query.
pub fn history_error(error: StationError, ord: &str) -> ToolError {
    match error {
        StationError::InvalidInput { what, .. } if what == crate::station::facade::NO_HISTORY => {
            ToolError::new(ErrorCode::HistoryExtMissing, sentence(&error)).with("ord", ord)
        }
        other => station_error(other, ord),
    }
}

/// A station error of an alarm query.
pub fn alarm_error(error: StationError) -> ToolError {
    match error {
        StationError::NotFound { .. } => ToolError::new(ErrorCode::AlarmServiceMissing, sentence(&error)),
        other => common(other),
    }
}

/// A station error by its own kind: refusals, and `errorData{kind}` for whatever stands between bridge and station.
fn common(error: StationError) -> ToolError {
    let text = sentence(&error);
    match &error {
        StationError::PermissionDenied { user, target, detail } => ToolError::new(ErrorCode::PermissionDenied, text)
            .with("user", user.clone())
            .with("target", target.clone())
            .with("detail", detail.clone()),
        StationError::InterfaceMissing { station, needs, .. } => ToolError::station(error.kind(), text)
            .with("needs", *needs)
            .with("station", station.clone()),
        StationError::Unreachable { station, .. }
        | StationError::Certificate { station, .. }
        | StationError::Auth { station, .. }
        | StationError::Busy { station, .. } => {
            ToolError::station(error.kind(), text).with("station", station.clone())
        }
        StationError::Latched { station, remaining, .. } => ToolError::station(error.kind(), text)
            .with("station", station.clone())
            .with("retryAfterSeconds", remaining.as_secs().max(1)),
        StationError::BadQuery { query, .. } => ToolError::invalid_params(text).with("query", query.clone()),
        StationError::InvalidInput { .. } => ToolError::invalid_params(text),
        _ => ToolError::station(error.kind(), text),
    }
}

/// The error as a sentence of its own.
fn sentence(error: &StationError) -> String {
    let text = error.to_string();
    let mut characters = text.chars();
    let first: String = characters.next().into_iter().flat_map(char::to_uppercase).collect();
    let end = if text.ends_with('.') { "" } else { "." };
    format!("{first}{}{end}", characters.as_str())
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

        let unreachable = StationError::Unreachable { station, cause: "refused".into() };
        let error = query_error(unreachable, "q");
        assert_eq!((error.code, &error.data["kind"]), (ErrorCode::Internal, &"station-unreachable".into()));
        assert!(error.message.starts_with("The station http://st1"), "{}", error.message);
    }

    #[test]
    fn a_missing_target_is_an_ord_a_history_or_the_alarm_service() {
        let missing = || StationError::NotFound { target: "slot:/X".into(), detail: "unresolved".into() };
        assert_eq!(station_error(missing(), "slot:/X").code, ErrorCode::OrdNotResolvable);
        assert_eq!(alarm_error(missing()).code, ErrorCode::AlarmServiceMissing);
        let bad = || StationError::BadQuery { query: "q".into(), detail: "type".into() };
        assert_eq!(type_error(bad(), "x:Y").code, ErrorCode::SchemaValidation);
        assert_eq!(query_error(bad(), "q").code, ErrorCode::InvalidParams);
    }
}
