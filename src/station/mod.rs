//! Everything that talks to a Niagara station. Nothing in here knows MCP.
//!
//! Vocabulary ([`ord`], [`value`], [`status`], [`facets`], [`units`], [`time`]) knows no wire format; each protocol folder has
//! a codec (bytes ↔ documents), a session (login, retry, keep-alive) and operations (what a tool asks);
//! [`facade`] routes an operation to the interface that answers it best.

pub mod boxp;
pub mod echo;
pub mod error;
pub mod facade;
pub mod facets;
pub mod fox;
pub mod http;
pub mod obix;
pub mod ord;
pub mod permissions;
pub mod priority;
pub mod status;
pub mod time;
pub mod units;
pub mod value;
pub mod web;

pub use error::{AuthCause, StationError};
