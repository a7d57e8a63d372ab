//! The BOX servlet over HTTP, as its clients meet it.

mod actions;
mod client;
mod cost;
mod cuts;
mod direct;
mod frames;
mod garbage;
mod links;
mod merged;
mod mirror;
mod nodes;
mod paths;
mod people;
mod registry;
mod sessions;
mod subscriptions;
mod tables;
mod writes;
