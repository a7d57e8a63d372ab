//! Writes against the stand-in station, by the station facade and by the tools behind their gate: what reached the
//! station, how often, and what is recorded of it.

#[path = "../mock/mod.rs"]
mod mock;

mod action_tool;
mod alarms;
mod crew;
mod doubt;
mod gate;
mod links;
mod lost_links;
mod meanwhile;
mod office;
mod override_tools;
mod plans;
mod point_tool;
mod records;
mod removal;
mod schedule_failures;
mod schedules;
mod site;
mod slot_tools;
mod slot_values;
mod structure;
mod structure_tools;
mod values;
