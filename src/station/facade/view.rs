//! What the facade answers: facts about a station in its own terms, whichever interface told them.

use chrono::{DateTime, FixedOffset};

use crate::station::status::StatusBits;

/// A component in a tree of children.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildNode {
    /// Escaped slot name; empty for the station root.
    pub name: String,
    /// Absolute ord.
    pub ord: String,
    pub display_name: String,
    pub type_spec: String,
    pub is_point: bool,
    /// Child components; none on the last level asked for.
    pub children: Option<Vec<ChildNode>>,
}

/// A tree of child components down to a depth.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildTree {
    pub root: ChildNode,
    /// The node cap was reached; levels are complete down to the one that was cut.
    pub truncated: bool,
}

/// One component by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct ComponentFacts {
    pub name: String,
    pub display_name: String,
    pub type_spec: String,
    pub child_count: usize,
    /// Absolute ord; none for the root.
    pub parent_ord: Option<String>,
}

/// One property of a component or struct.
#[derive(Debug, Clone, PartialEq)]
pub struct SlotFacts {
    pub name: String,
    pub type_spec: Option<String>,
    /// Display text, or the decoded value; none for a component without text.
    pub value: Option<String>,
    pub units: Option<String>,
    pub precision: Option<String>,
}

/// The properties of a component or struct, in slot order.
#[derive(Debug, Clone, PartialEq)]
pub struct SlotList {
    pub slots: Vec<SlotFacts>,
    /// The interface leaves out what is hidden, and what this account may not read.
    pub may_hide_some: bool,
}

/// The value of a point in a typed form.
#[derive(Debug, Clone, PartialEq)]
pub enum PointValue {
    Number(f64),
    Boolean(bool),
    Enum { tag: String, ordinal: Option<i32> },
    Text(String),
}

/// How a point's value is to be shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PointFacets {
    /// Unit symbol; none for the null unit.
    pub units: Option<String>,
    pub unit_name: Option<String>,
    pub precision: Option<String>,
    pub true_text: Option<String>,
    pub false_text: Option<String>,
}

/// The output of a control point.
#[derive(Debug, Clone, PartialEq)]
pub struct PointReading {
    pub display_name: String,
    pub type_spec: String,
    /// Display text of `out`.
    pub out: String,
    /// Text of the inner value.
    pub value: Option<String>,
    pub typed: Option<PointValue>,
    pub status: Option<StatusBits>,
    /// `1`…`16` or `def`; none for a point without a priority array.
    pub active_level: Option<String>,
    pub facets: PointFacets,
}

/// A named component found by a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundComponent {
    pub name: String,
    /// Absolute ord.
    pub ord: String,
    pub display_name: String,
    pub type_spec: String,
}

/// Components found by type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundComponents {
    /// The type asked for in the form `module:Type`.
    pub type_spec: String,
    pub items: Vec<FoundComponent>,
    pub truncated: bool,
    pub truncated_by_timeout: bool,
}

/// A table as the station prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextTable {
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
    pub truncated: bool,
    pub truncated_by_timeout: bool,
    /// The answer was too large or ended in the middle of a row.
    pub incomplete: bool,
}

/// What a station says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StationAbout {
    pub name: Option<String>,
    pub version: Option<String>,
}

/// A child of the station root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopSlot {
    pub name: String,
    pub type_spec: String,
    pub display_name: String,
}

/// The station at a glance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overview {
    pub station_name: String,
    pub top_slots: Vec<TopSlot>,
    /// How many direct children of the top slots have which type, in order of first sight.
    pub type_counts: Vec<(String, usize)>,
}

/// What an ord leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    /// Nothing, or nothing this identity may see.
    Absent {
        reason: String,
        denied: bool,
    },
    Present(PresentOrd),
}

/// An object that an ord resolves to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PresentOrd {
    pub type_spec: String,
    /// For components.
    pub component: Option<ProbedComponent>,
}

/// What is known of a component that an ord resolves to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProbedComponent {
    pub display_name: String,
    pub parent_ord: Option<String>,
    /// All slots: properties, actions, topics and child components; none where the interface does not tell.
    pub slot_count: Option<usize>,
    /// Names of the actions as people read them, in slot order; none where the interface does not tell.
    pub actions: Option<Vec<String>>,
    pub is_control_point: bool,
    pub is_writable: bool,
    pub is_alarm_source: bool,
    /// Slot names of the history extensions.
    pub history_extensions: Vec<String>,
}

/// One alarm record; a field is none when the station did not tell it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AlarmRecord {
    pub uuid: Option<String>,
    pub timestamp: Option<DateTime<FixedOffset>>,
    /// Absolute ords in the station's order.
    pub sources: Vec<String>,
    pub source_name: Option<String>,
    pub priority: Option<i64>,
    pub alarm_class: Option<String>,
    pub ack_state: Option<String>,
    pub transition: Option<String>,
    pub is_open: Option<bool>,
    pub is_acknowledged: Option<bool>,
    pub is_normal: Option<bool>,
    pub alarm_value: Option<String>,
    pub message: Option<String>,
    pub ack_time: Option<DateTime<FixedOffset>>,
    pub normal_time: Option<DateTime<FixedOffset>>,
    pub user: Option<String>,
}

/// Alarms found by a query.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AlarmPage {
    pub alarms: Vec<AlarmRecord>,
    pub truncated: bool,
    pub truncated_by_timeout: bool,
}
