//! What can go wrong with a store, and what of it may be told to a caller who must not learn paths.

use std::path::PathBuf;

use super::FacilityId;
use crate::durable_file::FileError;

/// A failed operation of a trends store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(
        "{path} is no trends store: {problem}; name a folder that holds one, or an empty one",
        path = path.display()
    )]
    NotAStore { path: PathBuf, problem: String },
    #[error(transparent)]
    File(#[from] FileError),
    /// The facility has no folder in this store.
    #[error(
        "facility \"{0}\" has no stored data; `niagara-bridge store list` names those that have"
    )]
    NoData(FacilityId),
    /// Stored data that cannot be read, and will not be until it is repaired.
    #[error(
        "stored data of facility \"{facility}\" is damaged: {path}: {problem}; restore the file from a backup, or ingest \
         the facility again with --force",
        path = path.display()
    )]
    Damaged {
        facility: FacilityId,
        path: PathBuf,
        problem: String,
    },
    /// A file went missing or changed between listing and reading, or the fence changed.
    #[error("files of facility \"{facility}\" were replaced while they were read; ask again")]
    Replaced { facility: FacilityId },
    /// A writer replaces files of the facility just now, or was killed in the middle of it.
    #[error("files of facility \"{facility}\" are being replaced; ask again in a moment")]
    Busy { facility: FacilityId },
    #[error(
        "{path} is damaged: {problem}; restore it from a backup (without it, licences and states of facilities cannot be \
         established)",
        path = path.display()
    )]
    RegistryDamaged { path: PathBuf, problem: String },
    #[error(
        "the store is locked by {holder} (lock {path}); wait until it has finished, or stop it",
        path = path.display()
    )]
    Locked { path: PathBuf, holder: String },
    /// A request that the store's rules forbid.
    #[error("{0}")]
    Refused(String),
    /// The caller gave up.
    #[error("the read was cancelled")]
    Cancelled,
    /// Rows that cannot be written as Parquet.
    #[error("the rows of facility \"{facility}\" cannot be encoded: {problem}")]
    Encode {
        facility: FacilityId,
        problem: String,
    },
}

impl StoreError {
    /// Whether asking again may help, for failed reads of stored data; none for other failures (Core §8.1).
    pub fn retryable(&self) -> Option<bool> {
        match self {
            Self::Replaced { .. } | Self::Busy { .. } => Some(true),
            Self::Damaged { .. } | Self::File(_) | Self::RegistryDamaged { .. } => Some(false),
            Self::NotAStore { .. }
            | Self::NoData(_)
            | Self::Locked { .. }
            | Self::Refused(_)
            | Self::Cancelled
            | Self::Encode { .. } => None,
        }
    }

    /// The facility that the failure is about, when it is about one.
    pub fn facility(&self) -> Option<&FacilityId> {
        match self {
            Self::NoData(facility)
            | Self::Damaged { facility, .. }
            | Self::Replaced { facility }
            | Self::Busy { facility }
            | Self::Encode { facility, .. } => Some(facility),
            _ => None,
        }
    }

    /// The failure in words without any path, for callers who must not learn them.
    ///
    /// It names the facility; whether the caller may see that one is for the policy to judge.
    pub fn public_text(&self) -> String {
        match self {
            Self::NotAStore { .. } => "the trends store cannot be opened".to_owned(),
            Self::File(error) => {
                format!("the trends store cannot be read: {}", error.source.kind())
            }
            Self::Damaged { facility, .. } => format!(
                "stored data of facility \"{facility}\" is damaged; it must be repaired or ingested again"
            ),
            Self::RegistryDamaged { .. } => {
                "the facility registry of the store is damaged; it must be repaired".to_owned()
            }
            Self::Locked { holder, .. } => format!("the trends store is locked by {holder}"),
            other => other.to_string(),
        }
    }
}
