//! The BOX servlet over HTTP, as its clients meet it.

mod client;
mod frames;
mod garbage;
mod merged;
mod nodes;
mod registry;
mod sessions;
mod tables;
