//! BOX, the JSON protocol of the station's own browser pages: everything about single components.
//!
//! - [`frame`], [`node`]: the codec.
//! - [`types`], [`contract`]: type ancestry; slots and defaults of types.
//! - [`client`]: frames over the web session, `ord/resolve`, user properties; [`registry`], [`table`],
//!   [`tree`] and [`point`] build on it.
//! - [`encode`], [`write`]: values as the station takes them, and the operations that change something; [`structure`]
//!   and [`links`]: slots and links that come and go.
//! - [`alarm`]: acknowledging alarms.
//! - [`session`]: the server session with its load–poll handshake; [`subscription`]: components watched in it.
//!
//! Named `boxp` because `box` is a word of the language.

pub mod alarm;
pub mod client;
pub mod contract;
pub mod encode;
pub mod frame;
pub mod links;
pub mod node;
pub mod point;
pub mod registry;
pub mod session;
pub mod structure;
pub mod subscription;
pub mod table;
pub mod tree;
pub mod types;
pub mod write;

#[cfg(test)]
mod operation_tests;
#[cfg(test)]
mod scripted;
#[cfg(test)]
mod session_tests;

pub use client::BoxClient;
pub use contract::Contract;
pub use node::{Knob, Node, SlotKind};
pub use point::PointView;
pub use types::{Ancestry, TypeCache};
