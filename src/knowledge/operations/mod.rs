//! Edits of a knowledge document as pure functions: each leaves the document as it should become, or says why not.
//!
//! A function that fails may leave its document half changed: callers hand in a copy and drop it on an error.
//!
//! - [`checks`]: what every entry must be, whichever way it came in.
//! - [`create`]: new entries, one at a time or many at once.
//! - [`update`]: fields of entries that exist, roles of equipment.
//! - [`remove`], [`rename`]: entries and roles, with what refers to them.
//! - [`import`]: another document merged in or put in the place of this one.
//! - [`error`]: why an edit is refused.

mod checks;
pub mod create;
pub mod error;
pub mod import;
mod lineage;
mod references;
pub mod remove;
pub mod rename;
mod section;
pub mod update;

pub use create::{
    check_place, create_all_equipment, create_equipment, create_equipment_type, create_space,
    create_standalone_point,
};
pub use error::{Holder, OperationError};
pub use import::{ImportMode, Imported, SectionCount, UnknownKey, import};
pub use references::{Change, Referers};
pub use remove::{Target, remove};
pub use rename::rename;
pub use section::EntryKind;
pub use update::{
    EquipmentTypeUpdate, EquipmentUpdate, SpaceUpdate, assign_point, update_equipment,
    update_equipment_type, update_space,
};

#[cfg(test)]
mod tests;
