//! Users with tokens of their own: bound by the command, served by the bridge, acting as themselves on the station.

mod binding;
mod desk;
mod process;
mod sessions;
#[path = "../support/mod.rs"]
mod support;
mod tags;
mod test_setup;
