//! The knowledge model over its tools and its file.

mod desk;
mod editing;
mod importing;
mod kill;
mod saving;
#[path = "../support/mod.rs"]
mod support;
