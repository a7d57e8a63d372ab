//! Failed writes in the codes of the surface (Tool surface §4.1, §5.3).

use serde_json::{Value as Json, json};

use super::request::{WriteFailure, WriteRequest};
use crate::audit::Verdict;
use crate::config::writes::Refusal;
use crate::station::error::{AuthCause, StationError};
use crate::station::facade::{FacadeError, Reread, WriteError};
use crate::tools::result_value::{status_text, value_json};
use crate::tools::station_access::{sentence, station_error};
use crate::tools::{ErrorCode, Principal, ToolError};

/// Whose write it was, and what.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    pub principal: &'a Principal,
    pub tool: &'a str,
    pub operation: &'a str,
    pub ord: &'a str,
}

impl<'a> About<'a> {
    pub(super) fn of(principal: &'a Principal, request: &WriteRequest<'a>) -> Self {
        Self {
            principal,
            tool: request.tool,
            operation: request.operation,
            ord: request.ord,
        }
    }

    /// The members that every failure of the gateway carries.
    pub(super) fn on(&self, error: ToolError) -> ToolError {
        error
            .with("user", self.principal.to_string())
            .with("ord", self.ord)
            .with("operation", self.operation)
            .with("tool", self.tool)
    }
}

/// A rule of the bridge that forbids the write: −32010.
pub(super) fn refused(about: &About<'_>, refusal: &Refusal) -> ToolError {
    let error = ToolError::new(ErrorCode::PermissionDenied, sentence(refusal));
    about
        .on(error)
        .with("policy", refusal.policy)
        .with("remedy", refusal.remedy.clone())
}

/// What the station is known to refuse: −32010 without asking it.
pub(super) fn not_permitted(about: &About<'_>) -> ToolError {
    let text = format!(
        "The station does not let '{}' do this to {}: the permissions that it tells for that user are not enough; nothing was \
         sent. The user's role needs the permission.",
        about.principal,
        crate::station::echo::shortened(about.ord)
    );
    about.on(ToolError::new(ErrorCode::PermissionDenied, text))
}

/// What is recorded of the values of a failed write: those before, where they are known, and those read back.
#[derive(Debug, Default)]
pub(super) struct Values {
    pub old: Option<Json>,
    pub new: Option<Json>,
}

/// What a failure is called in the records, what is answered, and what the records tell of the values.
pub(super) fn failed(about: &About<'_>, failure: WriteFailure) -> (Verdict, ToolError, Values) {
    let read_back = |new: Option<Json>| Values { old: None, new };
    match failure {
        WriteFailure::OfSecret(failure) => failed(about, *failure),
        WriteFailure::Tool(error) => (Verdict::Failed, error, Values::default()),
        WriteFailure::InDoubt(error) => {
            let error = about.on(error).with("inDoubt", true);
            let seen = error.data.get("observed").cloned();
            (Verdict::InDoubt, error, read_back(seen))
        }
        WriteFailure::Partly {
            error,
            in_doubt,
            old_value,
            new_value,
        } => {
            let error = about.on(error);
            let (verdict, error) = match in_doubt {
                true => (Verdict::InDoubt, error.with("inDoubt", true)),
                false => (Verdict::Failed, error),
            };
            let values = Values {
                old: old_value.map(|value| *value),
                new: new_value.map(|value| *value),
            };
            (verdict, error, values)
        }
        WriteFailure::Station(error) => {
            let verdict = match is_in_doubt(&error) {
                true => Verdict::InDoubt,
                false => Verdict::Failed,
            };
            let seen = match &error {
                WriteError::InDoubt { reread, .. } => observed(reread),
                _ => None,
            };
            (verdict, write_error(error, about), read_back(seen))
        }
    }
}

/// What is answered for a failure that is not recorded, as in a dry run.
pub fn told(failure: WriteFailure, about: &About<'_>) -> ToolError {
    match failure {
        WriteFailure::Tool(error)
        | WriteFailure::InDoubt(error)
        | WriteFailure::Partly { error, .. } => error,
        WriteFailure::OfSecret(failure) => told(*failure, about),
        WriteFailure::Station(error) => write_error(error, about),
    }
}

/// Whether the station may have done it.
fn is_in_doubt(error: &WriteError) -> bool {
    let lost = matches!(
        error,
        WriteError::Facade(FacadeError::Station(StationError::OutcomeUnknown { .. }))
    );
    lost || error.is_in_doubt()
}

/// A failed write as the surface reports it; tools that owe other data map their own cases first.
pub fn write_error(error: WriteError, about: &About<'_>) -> ToolError {
    let text = sentence(&error);
    let invalid = || ToolError::invalid_params(text.clone()).with("ord", about.ord);
    match error {
        WriteError::Facade(FacadeError::Station(StationError::PermissionDenied {
            detail, ..
        })) => about
            .on(ToolError::new(ErrorCode::PermissionDenied, text))
            .with("detail", detail),
        WriteError::Facade(FacadeError::Station(StationError::OutcomeUnknown {
            cause, ..
        })) => in_doubt(about, text).with("detail", cause),
        WriteError::Facade(FacadeError::Station(StationError::Auth {
            cause: AuthCause::Withdrawn,
            detail,
            ..
        })) => about
            .on(ToolError::new(ErrorCode::UserNotFound, text))
            .with("requiresUserContext", true)
            .with("reason", detail),
        WriteError::Facade(error) => station_error(error, about.ord),
        WriteError::NotWritable { type_spec, .. } => invalid().with("type", type_spec),
        WriteError::BadValue { given, reason, .. } => {
            invalid().with("value", given).with("reason", reason)
        }
        WriteError::NoSlot { slot, .. } => ToolError::new(ErrorCode::OrdNotResolvable, text)
            .with("ord", about.ord)
            .with("slotName", slot),
        WriteError::NoAction {
            action, actions, ..
        } => ToolError::new(ErrorCode::ActionNotFound, text)
            .with("ord", about.ord)
            .with("actionName", action)
            .with("actions", actions),
        WriteError::NotSimple {
            slot,
            type_spec,
            holding,
            ..
        } => invalid()
            .with("slotName", slot)
            .with("existingType", type_spec)
            .with("hint", holding.remedy()),
        WriteError::HoldsComponent {
            slot, type_spec, ..
        } => invalid()
            .with("slotName", slot)
            .with("existingType", type_spec)
            .with("hint", "Clear the slots of that component, by its own ord."),
        WriteError::OfSecret(error) => write_error(*error, about),
        WriteError::ComplexParameter {
            action, type_spec, ..
        } => invalid()
            .with("actionName", action)
            .with("paramType", type_spec)
            .with(
                "hint",
                "Leave 'args' out to use the default of the parameter.",
            ),
        WriteError::ReadOnly { slot, remedy, .. } => about
            .on(ToolError::internal(text))
            .with("slotName", slot)
            .with("detail", format!("The slot is read-only; {remedy}.")),
        WriteError::Linked { slot, from, .. } => invalid()
            .with("slotName", slot)
            .with("linkedFrom", json!({ "ord": from.ord, "slot": from.slot })),
        WriteError::Refused { detail, .. } => {
            about.on(ToolError::internal(text)).with("detail", detail)
        }
        WriteError::OutOfTime { .. } => about.on(ToolError::station("station-timeout", text)),
        WriteError::InDoubt { cause, reread, .. } => {
            let error = in_doubt(about, text).with("detail", cause);
            match (observed(&reread), reread) {
                (Some(seen), _) => error.with("observed", seen),
                (None, Reread::Failed(reason)) => error.with("readBackFailed", reason),
                (None, _) => error,
            }
        }
    }
}

fn in_doubt(about: &About<'_>, text: String) -> ToolError {
    about.on(ToolError::internal(text)).with("inDoubt", true)
}

/// What the target showed after the answer was lost.
fn observed(reread: &Reread) -> Option<Json> {
    match reread {
        Reread::Point(seen) => {
            let input = seen.input.as_ref();
            Some(json!({
                "out": seen.reading.out,
                "status": seen.reading.status.map(status_text),
                "activeLevel": seen.reading.active_level,
                "input": input.and_then(|input| input.valid()).map(value_json),
            }))
        }
        Reread::Slot(value) => Some(value_json(value)),
        Reread::Exists(exists) => Some(json!({ "exists": exists })),
        Reread::Failed(_) | Reread::Nothing => None,
    }
}
