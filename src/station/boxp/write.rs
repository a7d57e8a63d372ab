//! Operations that change something on the station, each one message, sent once (Station web specification §4.6, §4.8).
//!
//! The server session is proven alive by a poll before the message goes out, so that an expired one is renewed
//! without the message; whatever happens afterwards, nothing is sent again.

use serde_json::{Value as Json, json};
use thiserror::Error;

use super::client::{BoxClient, RefusalClass};
use super::frame::Request;
use super::session::SPACE;
use crate::station::error::StationError;
use crate::station::http::{CallScope, TimeoutClass};
use crate::station::web::WebRequest;

/// Why a change was not made, or is not known to have been made.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum BoxWriteError {
    /// [`StationError::OutcomeUnknown`] when the answer was lost; with any other error nothing was changed.
    #[error(transparent)]
    Station(#[from] StationError),
    /// The station's own words for not doing it, which name no permission.
    #[error("{detail}")]
    Refused { detail: String },
}

impl BoxClient {
    /// Sets a property: `syncTo` with the one operation `s`. `value` is a node as the encoder writes it.
    pub async fn set_property(
        &self,
        scope: &CallScope,
        handle: &str,
        slot: &str,
        value: Json,
    ) -> Result<(), BoxWriteError> {
        let operation = json!({"nm": "s", "h": handle, "n": slot, "b": value});
        self.synchronise(scope, &format!("h:{handle}/{slot}"), operation)
            .await
            .map(drop)
    }

    /// Sends one synchronisation operation; the answer lists the names of what was added.
    pub async fn synchronise(
        &self,
        scope: &CallScope,
        target: &str,
        operation: Json,
    ) -> Result<Json, BoxWriteError> {
        let argument = json!({"nm": "sync", "ver": 1.0, "ops": [operation]});
        let request = WebRequest::write(scope);
        self.change(&request, target, "syncTo", argument).await
    }

    /// Invokes an action; the answer is the returned value, null when there is none.
    ///
    /// `timeout` is the patience for the answer: saving a station takes long.
    pub async fn invoke_action(
        &self,
        scope: &CallScope,
        handle: &str,
        action: &str,
        argument: Option<Json>,
        timeout: TimeoutClass,
    ) -> Result<Json, BoxWriteError> {
        let mut body = json!({"h": handle, "a": action});
        if let (Some(argument), Some(fields)) = (argument, body.as_object_mut()) {
            fields.insert("b".to_owned(), argument);
        }
        let request = WebRequest::write(scope).timeout(timeout);
        self.change(
            &request,
            &format!("h:{handle}.{action}"),
            "invokeAction",
            body,
        )
        .await
    }

    /// What an action takes when the caller gives nothing, as a node; a read.
    ///
    /// # Errors
    /// [`StationError::NotFound`] when the station does not tell.
    pub async fn action_default(
        &self,
        scope: &CallScope,
        handle: &str,
        action: &str,
    ) -> Result<Json, StationError> {
        let mut session = self.lock(scope).await?;
        let argument = json!({"h": handle, "a": action});
        self.call_space(scope, &mut session, "getActionParameterDefault", argument)
            .await?
            .map_err(|refusal| self.not_found(&format!("h:{handle}.{action}"), refusal))
    }

    async fn change(
        &self,
        request: &WebRequest,
        target: &str,
        key: &str,
        argument: Json,
    ) -> Result<Json, BoxWriteError> {
        let scope = &request.scope;
        let mut session = self.lock(scope).await?;
        self.drain(scope, &mut session).await?;
        let id = self.open(scope, &mut session).await?;
        let body = json!({"id": id, "scid": SPACE, "sck": key, "scarg": argument});
        let reply = self
            .call_as(request, Request::new("ssession", "callssc", body))
            .await?;
        reply.map_err(|refusal| match refusal.class() {
            RefusalClass::Other => BoxWriteError::Refused {
                detail: refusal.text,
            },
            _ => {
                let named = |target, detail| StationError::NotFound { target, detail };
                BoxWriteError::Station(self.refused(target, refusal, named))
            }
        })
    }
}
