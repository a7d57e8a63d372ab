//! What the bridge writes about itself: which request a line belongs to, and that no line, answer or error tells a
//! secret.

mod endings;
mod lines;
mod log;
mod requests;
mod secrets;
#[path = "../support/mod.rs"]
mod support;
mod tap;
