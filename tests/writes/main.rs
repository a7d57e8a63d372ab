//! Writes against the stand-in station, by the station facade and by the tools behind their gate: what reached the
//! station, how often, and what is recorded of it.

#[path = "../mock/mod.rs"]
mod mock;

mod crew;
mod doubt;
mod gate;
mod links;
mod office;
mod point_tool;
mod removal;
mod site;
mod structure;
mod values;
