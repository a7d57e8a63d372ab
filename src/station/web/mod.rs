//! The station's web interface: login, session, and BQL as CSV through the ord servlet.
//!
//! - [`session`]: one identity's session; every interface of the station is asked through it. Around it: `request`
//!   (what is asked), `login`, `step`, `challenge`, `scram` and `cookies` (how it begins), `lease` (who shares it),
//!   `expiry` (how it ends).
//! - [`bql`]: queries and how a station wants to be asked; [`query`] and [`ord_url`]: their text and address.
//! - `table`, [`csv`], [`cells`], [`cell`]: rows as they arrive, the exporter's dialects, what a cell means.

pub mod bql;
pub mod cell;
pub mod cells;
mod challenge;
mod cookies;
pub mod csv;
mod expiry;
mod lease;
mod login;
mod markup;
pub mod ord_url;
pub mod query;
mod request;
mod scram;
pub mod session;
mod step;
mod table;

pub use crate::secrecy::Secret;
pub use bql::{Bql, Dialect};
pub use cell::{Cell, CellFormat, DecimalSign, StatusText};
pub use query::TableQuery;
pub use request::{LoginScheme, Purpose, WebOptions, WebRequest, WebResponse, WebStream};
#[doc(hidden)]
pub use scram::scram_messages;
pub use session::WebSession;
pub use table::{Row, Rows, Table, TableEnd};
