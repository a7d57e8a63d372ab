//! Failures as `<err>` objects (oBIX specification §9).

use thiserror::Error;

use super::decode::DecodeError;
use super::element::Element;
use crate::model::ModelError;

/// Why a request cannot be served; the text becomes `display`.
#[derive(Debug, Error)]
pub enum ObixError {
    /// No such object; the text is the path that leads nowhere.
    #[error("{path}")]
    BadUri { path: String },
    #[error("{0}")]
    Unsupported(String),
    #[error("{0}")]
    Permission(String),
    /// A failure without a contract.
    #[error("{0}")]
    Failed(String),
    #[error("Invalid XML: {0}")]
    Body(#[from] DecodeError),
}

impl ObixError {
    /// The error as an object in the place of `href`.
    pub fn element(&self, href: &str) -> Element {
        let contract = match self {
            Self::BadUri { .. } => Some("obix:BadUriErr"),
            Self::Unsupported(_) => Some("obix:UnsupportedErr"),
            Self::Permission(_) => Some("obix:PermissionErr"),
            Self::Failed(_) | Self::Body(_) => None,
        };
        Element::new("err")
            .with("href", href)
            .with_some("is", contract)
            .with("display", self.to_string())
    }
}

impl From<ModelError> for ObixError {
    fn from(error: ModelError) -> Self {
        let text = error.to_string();
        match error {
            ModelError::PermissionDenied { .. } => Self::Permission(text),
            ModelError::Unresolvable { ord, .. } => Self::BadUri { path: ord },
            ModelError::UnknownAlarm { uuid } => Self::BadUri { path: uuid },
            ModelError::ReadOnly { .. } => Self::Unsupported(text),
            // Clients tell a type mismatch by these words (§9).
            ModelError::BadArgument { .. } | ModelError::TypeMismatch { .. } => {
                Self::Failed(format!("Cannot translate: {text}"))
            }
            _ => Self::Failed(text),
        }
    }
}
