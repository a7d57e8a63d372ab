//! The stand-in station's component model; it knows nothing of any wire format.
//!
//! - Vocabulary: [`value`], [`encoding`], [`display`], [`status`], [`facets`], [`units`], [`enums`], [`flags`], [`permissions`], [`slot_name`].
//! - Types: [`registry`].
//! - Tree: [`component`], [`station`], [`tree`], [`set`], [`create`], [`replace`], [`attributes`], [`placement`] (changes), [`resolve`] (ords), [`changes`] (the change log).
//! - Behaviour: [`point`] (priority array, feeds), [`link`], [`link_check`], [`kit`], [`schedule`], [`action`], [`pending`], [`restart`].
//! - Around it: [`history`], [`alarm`], [`audit`], [`users`], [`acting`] (operations under a user's name), [`shared`].
//! - Fixtures: [`accounts`], [`sample`].

pub mod accounts;
pub mod acting;
pub mod action;
pub mod alarm;
pub mod attributes;
pub mod audit;
pub mod changes;
pub mod component;
pub mod create;
pub mod display;
pub mod encoding;
pub mod enums;
pub mod error;
pub mod facets;
pub mod flags;
pub mod history;
pub mod kit;
mod letters;
pub mod link;
pub mod link_check;
pub mod pending;
pub mod permissions;
pub mod placement;
pub mod point;
pub mod registry;
pub mod replace;
pub mod resolve;
pub mod restart;
pub mod sample;
pub mod schedule;
pub mod set;
pub mod shared;
pub mod slot_name;
pub mod station;
pub mod status;
pub mod tree;
pub mod units;
pub mod users;
pub mod value;

pub use alarm::{AckState, AlarmDb, AlarmRecord, SourceState};
pub use component::{Component, Handle, SlotContent, SlotView};
pub use create::{NewComponent, NewProperty, SlotMarks};
pub use display::DisplayContext;
pub use enums::{DynamicEnum, EnumRange};
pub use error::ModelError;
pub use facets::Facets;
pub use flags::Flags;
pub use history::{History, HistoryDb, HistoryRecord, HistorySource, StoredHistory};
pub use permissions::Permissions;
pub use point::{FeedSample, PointFeed};
pub use registry::{SlotDef, SlotKind, TypeDef};
pub use resolve::Target;
pub use shared::SharedStation;
pub use station::Station;
pub use status::Status;
pub use units::Unit;
pub use users::User;
pub use value::{PointKind, StructValue, Value};
