//! Every tool of the registry in every state of the station: which interfaces it offers, and what goes wrong.
//!
//! A new tool enters by itself; it only needs its row in `examples`.

mod agreement;
mod echoes;
mod examples;
mod fallback;
mod faults;
mod soak;
#[path = "../tools/support.rs"]
mod support;
mod watches;
