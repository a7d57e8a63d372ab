//! Standard input and output: the bridge itself, the relay to a running bridge, and what both push to their client.

mod pushed;
mod relay;
mod server;
#[path = "../support/mod.rs"]
mod support;
mod talk;
