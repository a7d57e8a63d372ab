//! Errors of a tool call and their codes (Tool surface §5.3).

use std::fmt;

use serde_json::{Map, Value, json};

use crate::station::echo::{shortened, with_short_words};

/// The error codes of the tool surface (Tool surface §5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorCode {
    Parse,
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    Internal,
    SessionNotFound,
    ToolNotFound,
    ResourceNotFound,
    KnowledgeUnreadable,
    SchemaValidation,
    OrdNotResolvable,
    HistoryExtMissing,
    AlarmServiceMissing,
    TransportDisabled,
    PermissionDenied,
    UserNotFound,
    InboundLinks,
    ActionNotFound,
    ExtensionNotApplicable,
    LinkTypeMismatch,
    /// Revision 2026-07-28: headers and body disagree.
    HeaderMismatch,
    /// Revision 2026-07-28: the client cannot do what the call needs.
    MissingClientCapability,
    /// Revision 2026-07-28: not served.
    UnsupportedRevision,
    /// A state that a client sent back is not ours.
    RequestState,
    /// A capability broke its own rules (CAMBER core §11.4).
    CapabilityFault,
}

impl ErrorCode {
    /// The fifteen implementation-defined codes, in code order from −32001 to −32016.
    pub const IMPLEMENTATION_DEFINED: [ErrorCode; 15] = [
        Self::SessionNotFound,
        Self::ToolNotFound,
        Self::ResourceNotFound,
        Self::KnowledgeUnreadable,
        Self::SchemaValidation,
        Self::OrdNotResolvable,
        Self::HistoryExtMissing,
        Self::AlarmServiceMissing,
        Self::TransportDisabled,
        Self::PermissionDenied,
        Self::UserNotFound,
        Self::InboundLinks,
        Self::ActionNotFound,
        Self::ExtensionNotApplicable,
        Self::LinkTypeMismatch,
    ];

    /// The number on the wire.
    pub const fn code(self) -> i32 {
        match self {
            Self::Parse => -32700,
            Self::InvalidRequest => -32600,
            Self::MethodNotFound => -32601,
            Self::InvalidParams => -32602,
            Self::Internal => -32603,
            Self::SessionNotFound => -32001,
            Self::ToolNotFound => -32002,
            Self::ResourceNotFound => -32003,
            Self::KnowledgeUnreadable => -32004,
            Self::SchemaValidation => -32005,
            Self::OrdNotResolvable => -32006,
            Self::HistoryExtMissing => -32007,
            Self::AlarmServiceMissing => -32008,
            Self::TransportDisabled => -32009,
            Self::PermissionDenied => -32010,
            Self::UserNotFound => -32011,
            Self::InboundLinks => -32013,
            Self::ActionNotFound => -32014,
            Self::ExtensionNotApplicable => -32015,
            Self::LinkTypeMismatch => -32016,
            Self::HeaderMismatch => -32020,
            Self::MissingClientCapability => -32021,
            Self::UnsupportedRevision => -32022,
            Self::RequestState => Self::InvalidParams.code(),
            Self::CapabilityFault => Self::Internal.code(),
        }
    }

    /// Whether the failure concerns the protocol: it is told as a JSON-RPC error even when a tool finds it.
    pub const fn is_protocol(self) -> bool {
        matches!(
            self,
            Self::MissingClientCapability | Self::RequestState | Self::CapabilityFault
        )
    }

    /// What the code means, in a few words.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Parse => "unreadable JSON",
            Self::InvalidRequest => "invalid request",
            Self::MethodNotFound => "method not found",
            Self::InvalidParams => "invalid parameters",
            Self::Internal => "internal error",
            Self::SessionNotFound => "session not found",
            Self::ToolNotFound => "tool not found or disabled",
            Self::ResourceNotFound => "resource not found",
            Self::KnowledgeUnreadable => "knowledge file unreadable",
            Self::SchemaValidation => "type or document fails its schema",
            Self::OrdNotResolvable => "ord not resolvable",
            Self::HistoryExtMissing => "point has no history extension",
            Self::AlarmServiceMissing => "alarm service missing",
            Self::TransportDisabled => "transport disabled",
            Self::PermissionDenied => "permission denied",
            Self::UserNotFound => "tool needs a user identity",
            Self::InboundLinks => "component has inbound links",
            Self::ActionNotFound => "action not found",
            Self::ExtensionNotApplicable => "extension not applicable",
            Self::LinkTypeMismatch => "link type mismatch",
            Self::HeaderMismatch => "headers and body disagree",
            Self::MissingClientCapability => "client lacks a capability",
            Self::UnsupportedRevision => "protocol revision not served",
            Self::RequestState => "invalid request state",
            Self::CapabilityFault => "internal error of a capability",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({})", self.meaning(), self.code())
    }
}

/// A failure inside a tool: the call answers with `isError`, `errorCode` and `errorData` (Tool surface §5.1).
///
/// ```
/// use niagara_bridge::tools::{ErrorCode, ToolError};
/// let error = ToolError::ord_not_resolvable("slot:/Nowhere", "the station has no such component");
/// assert_eq!(error.code, ErrorCode::OrdNotResolvable);
/// assert_eq!(error.data["ord"], "slot:/Nowhere");
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    pub code: ErrorCode,
    /// One or two sentences: what was wrong, where, and what to do.
    pub message: String,
    /// `errorData`; left out of the answer when empty.
    pub data: Map<String, Value>,
}

impl ToolError {
    /// An error with a code and a message, without data.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: Map::new(),
        }
    }

    /// Adds one key of `errorData`.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.data.insert(key.to_owned(), value.into());
        self
    }

    /// The same error with long texts of callers shortened: what is answered.
    pub fn brief(self) -> Self {
        let data = self.data.into_iter();
        Self {
            code: self.code,
            message: with_short_words(self.message),
            data: data.map(|(key, value)| (key, echoed(value))).collect(),
        }
    }

    /// −32602.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidParams, message)
    }

    /// −32603.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Internal, message)
    }

    /// −32603 with `errorData{kind}`: the station, an interface or a deadline stands in the way.
    pub fn station(kind: &str, message: impl Into<String>) -> Self {
        Self::internal(message).with("kind", kind)
    }

    /// −32006 with `errorData{ord}`.
    pub fn ord_not_resolvable(ord: &str, reason: impl fmt::Display) -> Self {
        Self::new(
            ErrorCode::OrdNotResolvable,
            format!("The ord '{}' cannot be resolved: {reason}.", shortened(ord)),
        )
        .with("ord", ord)
    }
}

fn echoed(value: Value) -> Value {
    match value {
        Value::String(text) => shortened(&text).into(),
        Value::Array(items) => items.into_iter().map(echoed).collect(),
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .map(|(key, member)| (key, echoed(member)))
                .collect(),
        ),
        other => other,
    }
}

/// A JSON-RPC error: the request was refused before any tool ran (Tool surface §5.2).
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct RpcError {
    pub code: ErrorCode,
    pub message: String,
    pub data: Map<String, Value>,
}

impl RpcError {
    /// An error with a code and a message, without data.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: with_short_words(message.into()),
            data: Map::new(),
        }
    }

    /// Adds one key of `data`; long texts of callers are shortened.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.data.insert(key.to_owned(), echoed(value.into()));
        self
    }

    /// The `error` member of a JSON-RPC answer.
    pub fn to_json(&self) -> Value {
        let mut error = json!({ "code": self.code.code(), "message": self.message });
        if !self.data.is_empty() {
            error["data"] = Value::Object(self.data.clone());
        }
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fifteen_codes_run_in_order_and_skip_32012() {
        let codes: Vec<i32> = ErrorCode::IMPLEMENTATION_DEFINED
            .iter()
            .map(|code| code.code())
            .collect();
        let expected: Vec<i32> = (1..=16).filter(|n| *n != 12).map(|n| -32000 - n).collect();
        assert_eq!(codes, expected);
    }

    #[test]
    fn an_rpc_error_without_data_has_no_data_key() {
        let plain = RpcError::new(ErrorCode::ToolNotFound, "no tool").to_json();
        assert_eq!(plain, json!({"code": -32002, "message": "no tool"}));
        let full = RpcError::new(ErrorCode::ToolNotFound, "no tool")
            .with("toolName", "x")
            .to_json();
        assert_eq!(full["data"], json!({"toolName": "x"}));
    }
}
