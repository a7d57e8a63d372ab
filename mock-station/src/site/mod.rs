//! The demo building.

pub mod sim;
