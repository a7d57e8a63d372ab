//! The MCP surface over real HTTP: sessions, checks, errors, replies (Tool surface §1, §2, §5, §14).

mod answers;
mod checks;
mod endings;
mod sessions;
mod streams;
#[path = "../support/mod.rs"]
mod support;
