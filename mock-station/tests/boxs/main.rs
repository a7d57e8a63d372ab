//! The BOX servlet over HTTP, as its clients meet it.

mod actions;
mod client;
mod cost;
mod direct;
mod frames;
mod garbage;
mod merged;
mod mirror;
mod nodes;
mod paths;
mod registry;
mod sessions;
mod subscriptions;
mod tables;
mod writes;
