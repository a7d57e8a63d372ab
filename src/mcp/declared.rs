//! What a request of revision 2026-07-28 declares about itself and its client, in its `_meta`.

use serde_json::{Value, json};

use super::message::Incoming;
use super::protocol::{STATELESS, all_revisions};
use crate::tools::{ErrorCode, LogLevel, RpcError};

const REVISION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// The context of a request that stands alone.
#[derive(Debug, Clone, Default)]
pub struct Declared {
    /// The request's own id, which names its subscription.
    pub id: Value,
    pub revision: String,
    pub capabilities: Value,
    /// The client wants log messages from this level on; none at all without it.
    pub log_level: Option<LogLevel>,
    /// `inputResponses`, as they were sent.
    pub answers: Option<Value>,
    pub state: Option<String>,
}

impl Declared {
    /// Whether a message shows by itself that it belongs to no session.
    pub fn stands_alone(incoming: &Incoming) -> bool {
        match incoming {
            Incoming::Request { method, params, .. }
            | Incoming::Notification { method, params } => {
                method == "server/discover" || meta(params, REVISION).is_some()
            }
            Incoming::Response(_) => false,
        }
    }

    /// Reads what a request declares.
    ///
    /// # Errors
    /// −32602 when `_meta` lacks the revision or the client's capabilities.
    pub fn read(id: &Value, params: &Value) -> Result<Self, RpcError> {
        let revision = meta(params, REVISION).and_then(Value::as_str);
        let capabilities = meta(params, CAPABILITIES).filter(|value| value.is_object());
        let (Some(revision), Some(capabilities)) = (revision, capabilities) else {
            let missing: Vec<&str> = [
                revision.is_none().then_some(REVISION),
                capabilities.is_none().then_some(CAPABILITIES),
            ]
            .into_iter()
            .flatten()
            .collect();
            return Err(RpcError::new(
                ErrorCode::InvalidParams,
                format!("'_meta' lacks {}.", missing.join(" and ")),
            )
            .with("missing", json!(missing)));
        };
        Ok(Self {
            id: id.clone(),
            revision: revision.to_owned(),
            capabilities: capabilities.clone(),
            log_level: meta(params, LOG_LEVEL)
                .and_then(Value::as_str)
                .and_then(LogLevel::from_name),
            answers: params.get("inputResponses").cloned(),
            state: params
                .get("requestState")
                .and_then(Value::as_str)
                .map(str::to_owned),
        })
    }

    /// Refuses a revision that is not spoken without a session.
    ///
    /// # Errors
    /// −32022 with the revisions that are spoken.
    pub fn require_served(&self) -> Result<(), RpcError> {
        if self.revision == STATELESS {
            return Ok(());
        }
        Err(RpcError::new(
            ErrorCode::UnsupportedRevision,
            format!(
                "The protocol revision '{}' is not served without a session.",
                self.revision
            ),
        )
        .with("supported", json!(all_revisions()))
        .with("requested", self.revision.clone()))
    }
}

fn meta<'a>(params: &'a Value, key: &str) -> Option<&'a Value> {
    params.get("_meta")?.get(key)
}
