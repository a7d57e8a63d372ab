//! What can go wrong with one BOX message (Station web specification §4.2, §4.8).

use thiserror::Error;

use crate::model::ModelError;

/// The failure of one message; its text is what a station that does not hide details sends.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum BoxError {
    #[error("{0}")]
    Frame(String),
    #[error("Unknown BOX channel '{channel}'")]
    UnknownChannel { channel: String },
    #[error("Unknown key '{key}' on BOX channel '{channel}'")]
    UnknownKey { channel: String, key: String },
    #[error("Unknown session handler key '{key}' of space '{space}'")]
    UnknownHandlerKey { space: String, key: String },
    #[error("Cannot read the body of '{key}': {wanted}")]
    BadBody { key: String, wanted: String },
    #[error("Cannot resolve ord '{ord}': {reason}")]
    Unresolved { ord: String, reason: String },
    #[error("Unknown handle '{handle}'; it may be from before a restart or a removal")]
    UnknownHandle { handle: String },
    #[error("Unknown type '{spec}': its module is not installed or has no such type")]
    UnknownType { spec: String },
    #[error("No service of type '{spec}' is running")]
    NoService { spec: String },
    #[error("Permission denied: {missing} is required on {place}")]
    Permission { missing: String, place: String },
    #[error("Cannot decode {place}: {reason}")]
    Undecodable { place: String, reason: String },
    /// A refusal whose cause the station does not tell, as that of a node without type.
    #[error("The operation failed on the station")]
    Unexplained,
    /// A refusal of the component model.
    #[error("{0}")]
    Model(ModelError),
    /// Any other refusal, in the words of the part that refused.
    #[error("{0}")]
    Refused(String),
    #[error("Query failed: {0}")]
    Query(String),
    #[error("Unknown server session '{id}'; it may have expired")]
    UnknownSession { id: String },
    #[error("Server session '{id}' belongs to another user; access denied")]
    ForeignSession { id: String },
    #[error("All {limit} BOX server sessions are in use; delete one or wait until one expires")]
    SessionLimit { limit: usize },
    #[error("Server session '{id}' has no space '{space}'; create it with makessc")]
    UnknownSpace { id: String, space: String },
    #[error("The BOX service is not running on this station")]
    NonOperational,
    #[error("The BOX service is in fault: {cause}")]
    FatalFault { cause: String },
}

impl From<ModelError> for BoxError {
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::Unresolvable { ord, reason } => Self::Unresolved { ord, reason },
            ModelError::UnknownHandle { handle } => Self::UnknownHandle {
                handle: format!("{handle:x}"),
            },
            ModelError::UnknownType { spec } => Self::UnknownType { spec },
            ModelError::PermissionDenied {
                needed, component, ..
            } => Self::Permission {
                missing: permission_names(&needed),
                place: component,
            },
            other => Self::Model(other),
        }
    }
}

fn model_type_name(error: &ModelError) -> &'static str {
    match error {
        ModelError::IllegalChild { .. } => "IllegalChildException",
        ModelError::IllegalName { .. } => "IllegalNameException",
        ModelError::DuplicateName { .. } => "DuplicateSlotException",
        ModelError::NoSuchSlot { .. } | ModelError::NoSuchAction { .. } => "NoSuchSlotException",
        ModelError::ActionFailed { .. } | ModelError::BadArgument { .. } => "ActionInvokeException",
        _ => "LocalizableRuntimeException",
    }
}

/// `adminWrite` for `W`: the station's refusals name permissions, not letters (§4.8).
fn permission_names(letters: &str) -> String {
    let names = letters.chars().map(|letter| match letter {
        'r' => "operatorRead",
        'w' => "operatorWrite",
        'i' => "operatorInvoke",
        'R' => "adminRead",
        'W' => "adminWrite",
        'I' => "adminInvoke",
        _ => "permission",
    });
    names.collect::<Vec<_>>().join(", ")
}

impl BoxError {
    /// The error type that clients treat specially (`et`).
    pub fn special_type(&self) -> Option<&'static str> {
        match self {
            Self::SessionLimit { .. } => Some("BoxSessionLimitError"),
            Self::NonOperational => Some("BoxNonOperationalError"),
            Self::FatalFault { .. } => Some("BoxFatalFaultError"),
            _ => None,
        }
    }

    /// The name of the error's type on the station, as AX-style replies carry it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Unresolved { .. } | Self::UnknownHandle { .. } => "UnresolvedException",
            Self::UnknownType { .. } => "TypeNotFoundException",
            Self::NoService { .. } => "ServiceNotFoundException",
            Self::Permission { .. } | Self::ForeignSession { .. } => "PermissionException",
            Self::UnknownSession { .. } | Self::UnknownSpace { .. } => "ServerSessionException",
            Self::Query(_) => "BajaRuntimeException",
            Self::Model(error) => model_type_name(error),
            other => other.special_type().unwrap_or("BoxException"),
        }
    }

    /// Whether a client has to treat its connection as lost (`cf`).
    pub fn ends_connection(&self) -> bool {
        matches!(self, Self::UnknownSession { .. } | Self::NonOperational)
    }
}
