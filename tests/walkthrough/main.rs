//! An integrator maps the demo site through an assistant: only MCP calls, in the order in which the prompts ask for them.

mod guide;
mod integrator;
mod lists;
mod mapping;
mod served;
#[path = "../support/mod.rs"]
mod support;
