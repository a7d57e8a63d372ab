//! Why a change of the component tree was not made (Tool surface §5.3, §8.4).

use super::error::FacadeError;
use super::structure_survey::RemovalSurvey;
use super::write_error::WriteError;
use crate::station::echo::shortened;
use crate::station::error::StationError;

/// A change of components, extensions or links that did not end with success.
///
/// With every variant but [`StructureError::LeftBehind`] and a write in doubt the station is as it was before.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StructureError {
    /// The target could not be read, the station refuses, or the outcome is in doubt.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The source end of a link cannot be read.
    #[error(transparent)]
    Source(FacadeError),
    /// The sink end of a link cannot be read.
    #[error(transparent)]
    Sink(FacadeError),
    /// No slot can have this name.
    #[error("the name {:?} cannot be a slot name: {reason}", shortened(name))]
    BadName { name: String, reason: &'static str },
    /// A slot of this name is there already.
    #[error(
        "{} has a slot {} already; choose another name",
        shortened(parent),
        shortened(name)
    )]
    NameTaken { parent: String, name: String },
    /// The name was taken between the check and the addition, the station chose another, and that slot stayed.
    #[error(
        "the name {} on {} was taken meanwhile; the station named the new slot {}, and removing it failed: {}; remove it",
        shortened(name),
        shortened(parent),
        shortened(found),
        shortened(cause)
    )]
    LeftBehind {
        parent: String,
        name: String,
        found: String,
        cause: String,
    },
    /// No value of this type can be made.
    #[error("the type {} cannot be used: {reason}", shortened(type_spec))]
    UnusableType { type_spec: String, reason: String },
    /// The extension and the component do not go together.
    #[error(
        "{} ({parent_type}) does not take the extension {}: {}",
        shortened(parent),
        shortened(extension_type),
        shortened(reason)
    )]
    NotApplicable {
        parent: String,
        parent_type: String,
        extension_type: String,
        reason: String,
    },
    /// An end of a link names no slot.
    #[error(
        "{} has no slot {}; getSlots and probeOrd list those that it has",
        shortened(ord),
        shortened(slot)
    )]
    NoSlot { ord: String, slot: String },
    /// The type exists, but converts nothing.
    #[error(
        "{} is no converter; choose a type that descends from baja:Converter",
        shortened(type_spec)
    )]
    NotAConverter { type_spec: String },
    /// The station would not link these slots.
    #[error(
        "the station does not link {}/{} to {}/{}: {}{}",
        shortened(&ends.source),
        shortened(&ends.source_slot),
        shortened(&ends.sink),
        shortened(&ends.sink_slot),
        shortened(reason),
        converter_hint(converters)
    )]
    LinkRefused {
        ends: Box<RefusedEnds>,
        reason: String,
        /// Converters whose names fit the types of the two slots, best first.
        converters: Vec<String>,
    },
    /// The sink has no slot of the link's name.
    #[error(
        "{} has no link {}; getSlots lists the slots that it has",
        shortened(sink),
        shortened(name)
    )]
    NoSuchLink { sink: String, name: String },
    /// The slot is there, but it is no link.
    #[error("{} is no link but {type_spec}", shortened(ord))]
    NotALink { ord: String, type_spec: String },
    /// The station itself cannot be removed.
    #[error("the station's root has no parent to remove it from")]
    Root,
    /// The slot belongs to the type of its parent.
    #[error(
        "{} is a part of every {parent_type} and cannot be removed",
        shortened(ord)
    )]
    Frozen { ord: String, parent_type: String },
    /// Links would be cut.
    #[error(
        "{}: removing it would cut {}; use force to remove it all the same",
        shortened(&survey.ord),
        survey.links_text()
    )]
    HasLinks { survey: Box<RemovalSurvey> },
}

/// The ends of a link that the station refuses, by absolute ords.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedEnds {
    pub source: String,
    pub source_slot: String,
    pub sink: String,
    pub sink_slot: String,
}

fn converter_hint(converters: &[String]) -> String {
    if converters.is_empty() {
        return String::new();
    }
    format!("; a converterType may help: {}", converters.join(", "))
}

impl From<FacadeError> for StructureError {
    fn from(error: FacadeError) -> Self {
        Self::Write(error.into())
    }
}

impl From<StationError> for StructureError {
    fn from(error: StationError) -> Self {
        Self::Write(error.into())
    }
}

impl StructureError {
    /// The station may have carried it out.
    pub fn is_in_doubt(&self) -> bool {
        matches!(self, Self::Write(error) if error.is_in_doubt())
    }
}

/// Result of an operation on the component tree.
pub type StructureResult<T> = Result<T, StructureError>;
