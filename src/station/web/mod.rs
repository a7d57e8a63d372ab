//! The station's web interface: login, session, and BQL as CSV through the ord servlet.
//!
//! - [`session`]: one identity's session; every interface of the station is asked through it.
//! - `login`, `scram`, `cookies`: the three login schemes and what they leave behind.
//! - [`bql`]: queries and their URL forms; [`csv`]: the exporter's dialects; [`cell`]: what its cells mean.

mod cookies;
mod login;
mod scram;
pub mod session;

pub use session::{
    LoginScheme, Purpose, Secret, WebOptions, WebRequest, WebResponse, WebSession, WebStream,
};
