//! The trends store: what was written is read again, whatever happens in between.

#[path = "../tools/support.rs"]
mod bench;
mod export_commands;
mod files;
mod ingest;
mod ingest_kill;
mod ingest_preview;
mod ingest_states;
mod ingest_support;
mod store;
mod store_commands;
mod store_damage;
mod store_kill;
mod store_random;
mod store_sharing;
mod store_support;
mod store_upkeep;
