//! Fox, the station's own protocol, as far as it is public: is somebody there, and who (Fox specification).
//!
//! - [`frame`]: octets → frames, by length and within limits.
//! - [`hello`]: what a station says of itself; `zone`: its time zone.
//! - [`certificate`], `connection`: Fox over TLS and the facts of its certificate.
//! - [`probe`]: one hello to an allowed target, seldom, and what came of it.
//!
//! Nothing but the hello is ever sent: there is no login, and no credential exists in here.

pub mod certificate;
mod connection;
pub mod frame;
pub mod hello;
pub mod probe;
mod reading;
pub mod zone;

pub use certificate::CertificateFacts;
pub use hello::FoxIdentity;
pub use probe::{FoxAnswer, FoxFailure, FoxProber, FoxProblem, FoxReport, FoxTarget};
pub use zone::FoxTimeZone;
