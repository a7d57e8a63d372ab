//! The model in the vocabularies of others: Project Haystack and Brick.
//!
//! - [`haystack`]: a Project Haystack 4 grid as JSON.
//! - [`brick`]: a Brick graph as Turtle, written by [`turtle`].
//! - [`view`]: what both have in common: points with role and kind, spaces with their building.
//!
//! Their tables are data: `knowledge/haystack-tags.yaml`, `knowledge/brick-classes.yaml`.

pub mod brick;
pub mod haystack;
mod turtle;
mod view;

use std::collections::HashMap;

use super::kinds::ValueForm;
use crate::station::units::Unit;

/// What the station says about its points, by absolute ord; empty when it was not asked.
pub type StationPoints = HashMap<String, StationPoint>;

/// What the station says about one point.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StationPoint {
    pub unit: Option<Unit>,
    pub value: Option<ValueForm>,
    /// Names of the states of an enum in their order, of a boolean false first.
    pub states: Vec<String>,
    pub writable: bool,
}
