//! An integrator maps the demo site through an assistant: only MCP calls, in the order in which the prompts ask for them.

mod guide;
mod lists;
mod served;
#[path = "../support/mod.rs"]
mod support;
