//! The knowledge model over its tools and its file.

mod accepting;
mod desk;
mod dumps;
mod editing;
mod file;
mod harborview;
mod importing;
mod integrity;
mod kill;
mod patterns;
mod searching;
#[path = "../tools/support.rs"]
mod station_bench;
mod station_changes;
mod suggestions;
#[path = "../support/mod.rs"]
mod support;
mod typical_points;
mod unmapped;
mod vocabularies;
#[path = "../tools/ways.rs"]
mod ways;
