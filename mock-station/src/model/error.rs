//! What can go wrong in the component model.

use thiserror::Error;

/// A refused operation; the text names what was wrong, where, and what to do instead.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum ModelError {
    #[error("unknown type {spec:?}: no module of this station declares it")]
    UnknownType { spec: String },
    #[error("type {spec} is abstract or no component: choose a concrete component type")]
    NotCreatable { spec: String },
    #[error("cannot resolve {ord:?}: {reason}")]
    Unresolvable { ord: String, reason: String },
    #[error("no component has the handle h:{handle:x}")]
    UnknownHandle { handle: u32 },
    #[error("{component} has no slot {slot:?}")]
    NoSuchSlot { component: String, slot: String },
    #[error("{component} already has a slot {slot:?}: choose another name")]
    DuplicateName { component: String, slot: String },
    #[error("{name:?} is no legal slot name: escape it first")]
    IllegalName { name: String },
    #[error("illegal child: {child} may not be placed in {parent} ({reason})")]
    IllegalChild {
        parent: String,
        child: String,
        reason: &'static str,
    },
    #[error("{component}/{slot} is frozen: it can be neither removed nor renamed")]
    Frozen { component: String, slot: String },
    #[error("{component}/{slot} is read-only")]
    ReadOnly { component: String, slot: String },
    #[error("{component}/{slot} holds {expected}, not {found}")]
    TypeMismatch {
        component: String,
        slot: String,
        expected: String,
        found: String,
    },
    #[error("{text:?} is no {spec}")]
    Undecodable { spec: String, text: String },
    #[error("{component} has no action {action:?}")]
    NoSuchAction { component: String, action: String },
    #[error("action {action} of {component} needs an argument of type {expected}")]
    BadArgument {
        component: String,
        action: String,
        expected: String,
    },
    #[error("action {action} of {component} failed: {cause}")]
    ActionFailed {
        component: String,
        action: String,
        cause: String,
    },
    #[error("permission denied: {user} needs {needed} on {component}")]
    PermissionDenied {
        user: String,
        needed: String,
        component: String,
    },
    #[error("a station has at most {limit} categories: use fewer users with one of their own")]
    TooManyCategories { limit: usize },
    #[error("no user named {user:?}")]
    UnknownUser { user: String },
    #[error("no alarm {uuid:?}")]
    UnknownAlarm { uuid: String },
    #[error("illegal link: {reason}")]
    IllegalLink { reason: String },
}
