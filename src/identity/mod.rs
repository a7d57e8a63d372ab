//! Who may come in, and as which station user (Tool surface §3).
//!
//! - [`users`]: the table of users and the digests of their tokens; [`rights`]: what a token may be used for.
//! - [`identities`]: `users.json` of a data folder, read anew whenever it changed.
//! - [`vault`]: `vault.bin`, the sealed station passwords; [`key`]: where its key comes from.
//! - [`stations`]: one station session per user; [`station_tags`]: tokens that the station itself keeps.
//! - `private_file`: files that no other account of the machine may read.
//! - [`error`]: what can be wrong with all of them, told without secrets.

pub mod error;
pub mod identities;
pub mod key;
mod private_file;
pub mod rights;
pub mod station_tags;
pub mod stations;
pub mod users;
pub mod vault;

pub use error::IdentityError;
pub use identities::Identities;
pub use key::VaultKey;
pub use rights::Rights;
pub use station_tags::StationTags;
pub use stations::{Credentials, SessionLimits, UserStations};
pub use users::{SALT_BYTES, UserFacts, check_name};
pub use vault::{Vault, vault_file};
