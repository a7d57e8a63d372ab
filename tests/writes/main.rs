//! Writes at the level of the station facade, against the stand-in station: what reached the station, and how often.

#[path = "../mock/mod.rs"]
mod mock;

mod doubt;
mod site;
mod values;
