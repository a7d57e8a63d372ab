//! The site model that integrators map: spaces, equipment types, equipment, points without equipment.
//!
//! - [`error`]: what can be wrong with a knowledge file, where, and what to do about it.
//! - [`format`]: bytes ↔ tree; YAML and JSON within fixed limits, format sniffing.
//! - [`document`]: the entries of a document, keys unknown to this version kept.
//! - [`shipped`]: tables and standard types that come with the bridge; [`kinds`]: the catalogue of point kinds.
//! - [`camber_roles`]: what roles and types are called in CAMBER.
//! - [`demo_model`]: the demo site, mapped.
//! - [`export`]: the model as a Project Haystack grid or a Brick graph.
//! - [`haystack_import`]: Haystack tags found on a station as entries of the model.
//! - [`decode`]: tree → document, with warnings for what was tolerated.
//! - [`model`]: a document indexed by id, equipment types with their `extends` chain resolved.
//! - [`operations`]: edits as pure functions on a document: create, update, remove, rename, import.
//! - [`pattern`]: the points of one piece of equipment looked for on its siblings.
//! - [`suggestion`]: equipment, types and roles proposed from names, units and types of points.
//! - [`validation`]: what is wrong in a model, entry by entry.
//! - [`change`]: what an edit changed, for the log of edits.
//! - [`completion`]: ids that fit what somebody has typed so far.
//! - [`search`]: equipment, points and the content of spaces found in a model.
//! - [`mapped`]: the ords that a model refers to, and what they cover.
//! - [`difference`]: what changed on the station since the model was verified.
//! - [`store`]: the file behind the model: shared snapshots for readers, one edit at a time, saved before it is seen.

pub mod camber_roles;
pub mod change;
pub mod completion;
pub mod decode;
pub mod demo_model;
pub mod difference;
pub mod document;
pub mod error;
pub mod export;
pub mod format;
pub mod haystack_import;
pub mod kinds;
pub mod mapped;
pub mod model;
pub mod operations;
pub mod pattern;
pub mod search;
pub mod shipped;
pub mod store;
pub mod suggestion;
pub mod validation;

#[cfg(test)]
mod round_trip_tests;

pub use document::{
    Equipment, EquipmentType, KnowledgeDocument, Space, StandalonePoint, TypicalPoint,
};
pub use error::{EditError, KnowledgeError, KnowledgeUnreadable};
pub use format::DocumentFormat;
pub use model::KnowledgeModel;
pub use shipped::STANDARD_TYPES;
pub use store::{
    Edited, Editor, KnowledgeChanges, KnowledgeFileFacts, KnowledgeSnapshot, KnowledgeState,
    KnowledgeStore, StoreOptions,
};
pub use validation::{KnowledgeWarning, validate};

/// The standard equipment types offered as a start for a new site, YAML text (tool surface §9.2).
pub const STANDARD_SAMPLE: &str = include_str!("../../knowledge/standard-sample.yaml");
