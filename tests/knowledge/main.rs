//! The knowledge model over its tools and its file.

mod desk;
mod editing;
mod importing;
mod saving;
#[path = "../support/mod.rs"]
mod support;
