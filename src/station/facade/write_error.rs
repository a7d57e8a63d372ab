//! Why a write was not made, or is not known to have been made (Tool surface §5.3, §13.2).

use super::error::FacadeError;
use super::write_point::PointObserved;
use crate::station::echo::shortened;
use crate::station::error::StationError;
use crate::station::value::Value;

/// A write that did not end with success.
///
/// With every variant but [`WriteError::InDoubt`] the station has changed nothing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WriteError {
    /// The target could not be read, or the station refuses for want of permission.
    #[error(transparent)]
    Facade(#[from] FacadeError),
    /// The object is there, but nobody can command it.
    #[error(
        "{} is no writable point but {type_spec}; choose a numeric, boolean, enum or string writable",
        shortened(ord)
    )]
    NotWritable { ord: String, type_spec: String },
    /// A value that does not fit type, facets or range.
    #[error(
        "the value {} does not fit {}: {reason}",
        shortened(given),
        shortened(target)
    )]
    BadValue {
        target: String,
        given: String,
        reason: String,
    },
    /// The component has no property of this name.
    #[error(
        "{} has no property {}; getSlots lists those that it has",
        shortened(ord),
        shortened(slot)
    )]
    NoSlot { ord: String, slot: String },
    /// The component has no action of this name.
    #[error(
        "{} has no action {}; {}",
        shortened(ord),
        shortened(action),
        told_actions(actions)
    )]
    NoAction {
        ord: String,
        action: String,
        /// Names of those that it has.
        actions: Vec<String>,
    },
    /// The slot holds a component or struct.
    #[error(
        "the slot {} of {} holds {type_spec}, which is no simple value; {}",
        shortened(slot),
        shortened(ord),
        holding.remedy()
    )]
    NotSimple {
        ord: String,
        slot: String,
        type_spec: String,
        holding: Holding,
    },
    /// Putting the default there would take the component away with everything below it.
    #[error(
        "the slot {} of {} holds the component {type_spec}, and its default would replace it: everything below it would be \
         lost; clear the slots of that component instead",
        shortened(slot),
        shortened(ord)
    )]
    HoldsComponent {
        ord: String,
        slot: String,
        type_spec: String,
    },
    /// What was to be written is a secret, whatever its slot is called.
    #[error("{0}")]
    OfSecret(Box<WriteError>),
    /// The action takes a struct or component.
    #[error(
        "the action {} of {} takes {type_spec}, which is no simple value; leave the argument out to use its default",
        shortened(action),
        shortened(ord)
    )]
    ComplexParameter {
        ord: String,
        action: String,
        type_spec: String,
    },
    /// The station declares the slot read-only.
    #[error(
        "the slot {} of {} is read-only; {remedy}",
        shortened(slot),
        shortened(ord)
    )]
    ReadOnly {
        ord: String,
        slot: String,
        remedy: &'static str,
    },
    /// A link commands the slot and would overwrite the value.
    #[error(
        "the slot {} of {} is commanded by a link from {} of {}; remove the link, or write to another priority",
        shortened(slot),
        shortened(ord),
        shortened(&from.slot),
        shortened(&from.ord)
    )]
    Linked {
        ord: String,
        slot: String,
        from: LinkedFrom,
    },
    /// The station does not do it, and says why in its own words.
    #[error(
        "the station refused to change {}: {}",
        shortened(target),
        shortened(detail)
    )]
    Refused { target: String, detail: String },
    /// The caller's time ends too soon for the station's answer, or the caller gave up; this was not sent.
    #[error(
        "{} was not changed, because the time of the call is over or the call was cancelled",
        shortened(target)
    )]
    OutOfTime { target: String },
    /// The request went out and its answer was lost: the station may have done it or not. It was not repeated.
    #[error(
        "whether the station changed {} is unknown: {}; it was not sent again, {}",
        shortened(target),
        shortened(cause),
        reread.sentence()
    )]
    InDoubt {
        target: String,
        cause: String,
        reread: Reread,
    },
}

/// What a slot holds that is no simple value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holding {
    /// A component: its slots are set with an ord of their own.
    Component,
    /// An input of a writable point.
    Input,
    /// A status value that the action `set` of the point writes.
    Fallback,
    Struct,
}

impl Holding {
    /// What to do instead.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Component => "set a slot of that component, with the component's own ord",
            Self::Input => "use writePoint to command it, and clearSlot to put its default back",
            Self::Fallback => {
                "use invokeAction with the action set, and clearSlot to put its default back"
            }
            Self::Struct => {
                "its parts cannot be set one by one; use the tool made for it, or clearSlot to put its default back"
            }
        }
    }
}

/// Actions that are named; the rest is counted.
const MOST_ACTIONS: usize = 20;

fn told_actions(actions: &[String]) -> String {
    if actions.is_empty() {
        return "it has no action at all".to_owned();
    }
    let named: Vec<&str> = actions
        .iter()
        .take(MOST_ACTIONS)
        .map(String::as_str)
        .collect();
    let more = actions.len().saturating_sub(named.len());
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("it has {}{more}", named.join(", "))
}

impl WriteError {
    /// The refusal itself, and whether the value was a secret.
    pub fn bared(self) -> (Self, bool) {
        match self {
            Self::OfSecret(error) => (error.bared().0, true),
            error => (error, false),
        }
    }

    /// The same refusal of a secret value.
    pub(super) fn of_secret(self) -> Self {
        match self {
            error @ Self::OfSecret(_) => error,
            error => Self::OfSecret(Box::new(error)),
        }
    }
}

/// The source of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedFrom {
    /// Absolute ord of the source component, or the link's own ord of it where it leads nowhere.
    pub ord: String,
    pub slot: String,
}

/// What the target looked like after a write whose answer was lost.
#[derive(Debug, Clone, PartialEq)]
pub enum Reread {
    Point(Box<PointObserved>),
    Slot(Box<Value>),
    /// Whether the slot that was to be added or removed is there now.
    Exists(bool),
    /// The station could not be asked either, and why.
    Failed(String),
    /// There is nothing to read that would tell.
    Nothing,
}

impl Reread {
    fn sentence(&self) -> String {
        match self {
            Self::Point(observed) => format!("and the point now shows {}", observed.reading.out),
            Self::Slot(value) => {
                format!("and the slot now holds {:?}", shortened(&value.encode()))
            }
            Self::Exists(true) => "and it is there now".to_owned(),
            Self::Exists(false) => "and it is not there now".to_owned(),
            Self::Failed(reason) => format!("and reading it back failed: {reason}"),
            Self::Nothing => "look at its effect before trying again".to_owned(),
        }
    }
}

impl From<StationError> for WriteError {
    fn from(error: StationError) -> Self {
        Self::Facade(error.into())
    }
}

impl WriteError {
    /// The station may have carried it out.
    pub fn is_in_doubt(&self) -> bool {
        matches!(self, Self::InDoubt { .. })
    }
}

/// Result of a writing operation.
pub type WriteResult<T> = Result<T, WriteError>;
