//! The knowledge model over its tools and its file.

mod desk;
mod editing;
mod file;
mod importing;
mod kill;
#[path = "../support/mod.rs"]
mod support;
mod vocabularies;
