//! The station's web interface: login, session, and BQL as CSV through the ord servlet.
//!
//! - [`session`]: one identity's session; every interface of the station is asked through it.
//! - `login`, `scram`, `cookies`: the three login schemes and what they leave behind.
//! - [`bql`]: queries and their URL forms; [`csv`]: the exporter's dialects; [`cell`]: what its cells mean.

pub mod bql;
pub mod cell;
mod cookies;
pub mod csv;
mod login;
pub mod ord_url;
pub mod query;
mod scram;
pub mod session;

pub use bql::{Bql, Row, Rows, Table, TableEnd};
pub use cell::{Cell, CellFormat, DecimalSign, StatusText};
pub use query::TableQuery;
pub use session::{
    LoginScheme, Purpose, Secret, WebOptions, WebRequest, WebResponse, WebSession, WebStream,
};
