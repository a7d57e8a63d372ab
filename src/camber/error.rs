//! How a capability refuses or fails (CAMBER core §1.2).

use std::fmt;

use niagara_analytics::run_config::section::close_names;
use serde_json::{Map, Value, json};

/// Most problems of arguments that an error lists, and that its message repeats.
const LISTED_PROBLEMS: usize = 50;
const TOLD_PROBLEMS: usize = 5;

/// Most stored names that an error lists, and that its message repeats.
const LISTED_NAMES: usize = 50;
const TOLD_NAMES: usize = 10;

/// What kind of refusal or failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureCode {
    InvalidParams,
    UnknownCapability,
    NotFound,
    NotAllowed,
    RefusedLicence,
    TooLarge,
    Timeout,
    Unavailable,
    Internal,
}

impl FailureCode {
    /// The word on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::InvalidParams => "invalid_params",
            Self::UnknownCapability => "unknown_capability",
            Self::NotFound => "not_found",
            Self::NotAllowed => "not_allowed",
            Self::RefusedLicence => "refused_licence",
            Self::TooLarge => "too_large",
            Self::Timeout => "timeout",
            Self::Unavailable => "unavailable",
            Self::Internal => "internal",
        }
    }
}

impl fmt::Display for FailureCode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

/// A refused or failed call.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct CapabilityError {
    pub code: FailureCode,
    pub message: String,
    /// Left out of the answer when empty.
    pub data: Map<String, Value>,
    /// Made of schema pointers only, which look like paths and are none.
    pub(super) pointers_only: bool,
}

impl CapabilityError {
    /// An error without data.
    pub fn new(code: FailureCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: Map::new(),
            pointers_only: false,
        }
    }

    /// Adds one key of `data`.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.data.insert(key.to_owned(), value.into());
        self
    }

    /// Arguments that make no sense together.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(FailureCode::InvalidParams, message)
    }

    /// Arguments that fail the input schema; every problem is `<pointer>: <problem>`.
    pub(super) fn schema(problems: Vec<String>) -> Self {
        let told: Vec<&str> = problems
            .iter()
            .take(TOLD_PROBLEMS)
            .map(String::as_str)
            .collect();
        let mut error = Self::invalid(told.join("; "));
        error.pointers_only = true;
        let listed: Vec<String> = problems.into_iter().take(LISTED_PROBLEMS).collect();
        error.with("errors", listed)
    }

    /// The capability found nothing.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(FailureCode::NotFound, message)
    }

    /// Values of one argument that the facility does not store; `quote` writes a name from the data.
    pub fn unknown_values(
        argument: &str,
        unknown: &[String],
        available: &[String],
        quote: impl Fn(&str) -> String,
    ) -> Self {
        let list = |names: &[String], most: usize| {
            let told: Vec<String> = names.iter().take(most).map(|name| quote(name)).collect();
            match names.len().saturating_sub(most) {
                0 => told.join(", "),
                more => format!("{} and {more} more", told.join(", ")),
            }
        };
        let stored = match available.is_empty() {
            true => "the facility stores none".to_owned(),
            false => format!("stored are {}", list(available, TOLD_NAMES)),
        };
        let known = || available.iter().map(String::as_str);
        let mut close: Vec<String> = unknown
            .iter()
            .take(TOLD_NAMES)
            .filter_map(|name| close_names(name, known()).first().map(|near| quote(near)))
            .collect();
        close.dedup();
        let offer = match close.is_empty() {
            true => String::new(),
            false => format!(" (did you mean {}?)", close.join(", ")),
        };
        let message = format!(
            "{argument} {} not stored{offer}; {stored}",
            list(unknown, TOLD_NAMES)
        );
        let available: Vec<&String> = available.iter().take(LISTED_NAMES).collect();
        Self::not_found(message)
            .with("argument", argument)
            .with("unknown", unknown)
            .with("available", json!(available))
    }

    /// The error as `{code, message, data?}`.
    pub fn to_json(&self) -> Value {
        let mut error = json!({ "code": self.code.word(), "message": self.message });
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
    fn a_schema_refusal_tells_five_problems_and_lists_fifty() {
        let problems: Vec<String> = (0..60).map(|n| format!("/{n}: wrong")).collect();
        let error = CapabilityError::schema(problems);
        assert_eq!(error.message.matches("wrong").count(), 5);
        assert_eq!(error.data["errors"].as_array().unwrap().len(), 50);
        assert!(
            error
                .to_string()
                .starts_with("invalid_params: /0: wrong; /1")
        );
    }

    #[test]
    fn unknown_values_come_with_what_is_stored() {
        let stored: Vec<String> = (0..60).map(|n| format!("VAV-{n}")).collect();
        let error = CapabilityError::unknown_values("equip", &["AHU-9".into()], &stored, |name| {
            format!("\"{name}\"")
        });
        assert!(error.message.contains("\"AHU-9\"") && error.message.contains("and 50 more"));
        assert_eq!(error.data["available"].as_array().unwrap().len(), 50);
        assert_eq!(error.data["argument"], "equip");
        let near = CapabilityError::unknown_values("equips", &["vav_7".into()], &stored, |name| {
            format!("\"{name}\"")
        });
        assert!(
            near.message
                .starts_with("equips \"vav_7\" not stored (did you mean \"VAV-7\"?); stored are"),
            "{}",
            near.message
        );
    }
}
