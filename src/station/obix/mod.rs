//! oBIX: values, batch, watches, the component tree, histories and alarms as a Niagara station serves them.
//!
//! - [`decode`], [`encode`], [`object`], [`scalar`]: documents ↔ objects and their values; [`href`]: references between them.
//! - [`display`], [`diagnose`]: what texts and errors of the station mean.
//! - [`client`]: documents over the web session, lobby, about.
//! - [`point`], [`batch`], [`watch`], [`folder`], [`history`], [`alarm`]: what callers ask; [`write`]: commands of points; [`record`] and [`paging`] serve histories.

pub mod alarm;
pub mod batch;
pub mod client;
pub mod decode;
pub mod diagnose;
pub mod display;
pub mod encode;
pub mod folder;
pub mod history;
pub mod href;
pub mod object;
pub mod paging;
pub mod point;
pub mod record;
pub mod scalar;
pub mod watch;
pub mod write;

#[cfg(test)]
mod client_tests;
#[cfg(test)]
mod scripted;

pub use client::ObixClient;
pub use href::ObixPath;
pub use object::Object;
pub use point::ValueReading;
pub use scalar::Scalar;
pub use watch::Watch;
