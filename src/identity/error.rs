//! What can be wrong with users, tokens and the vault.

use std::path::PathBuf;

use crate::durable_file::FileError;

/// A failure of the identity files; no text holds a token, a hash, a key or a password.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error("{path} cannot be read: {source}; check the rights of the file", path = path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(transparent)]
    File(#[from] FileError),
    #[error(
        "{path} can be used by other accounts of this machine (mode {mode:03o}), and it holds secrets; run: chmod {wanted:03o} {path}",
        path = path.display()
    )]
    Mode {
        path: PathBuf,
        mode: u32,
        wanted: u32,
    },
    #[error("{path} is not usable: {problem}; restore it from a backup, or move it away and bind the users again", path = path.display())]
    Damaged { path: PathBuf, problem: String },
    #[error(
        "there is no user '{name}' here; `niagara-bridge user list` names those that are bound"
    )]
    UnknownUser { name: String },
    #[error(
        "'{name}' is no name of a station user: it must have 1 to 200 characters and no control characters"
    )]
    BadName { name: String },
    #[error(
        "'{name}' is how the records name the holder of apiToken, so no user can be bound under it; use a station user of another name"
    )]
    Reserved { name: String },
    #[error("'{word}' is no right: write read, knowledge or write, and names of tool sets")]
    BadRight { word: String },
    #[error("the operating system gives no random numbers")]
    Random,
    #[error(
        "no key for the vault is known: set identity.vaultKeyFile in the configuration, or NIAGARA_BRIDGE_VAULT_KEY_FILE, \
         or the systemd credential niagara-bridge-vault-key; `niagara-bridge user key FILE` makes a key"
    )]
    NoKey,
    #[error(
        "the vault key from {place} is not usable: it must be 32 bytes, raw or as Base64; `niagara-bridge user key FILE` makes one"
    )]
    BadKey { place: String },
    #[error("the key from {place} does not open {path}; use the key that the vault was made with, or move the vault away and bind the users again", path = path.display())]
    WrongKey { place: String, path: PathBuf },
    #[error("the record of '{name}' in {path} was changed outside the bridge and is not used; bind that user again", path = path.display())]
    Tampered { name: String, path: PathBuf },
    #[error("a password of {length} bytes does not fit into the vault; at most {most} are kept")]
    TooLong { length: usize, most: usize },
}
