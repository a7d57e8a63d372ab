//! Bytes of the file → snapshot, at start, on request and when another program changed it.

use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

use ring::digest::{Context, Digest, SHA256, digest};

use super::backup::Backups;
use super::{KnowledgeSnapshot, KnowledgeState, KnowledgeStore, Shared};
use crate::knowledge::decode::decode;
use crate::knowledge::difference::BaselineFile;
use crate::knowledge::error::KnowledgeError;
use crate::knowledge::format;
use crate::knowledge::model::KnowledgeModel;

/// SHA-256 of a file's content, by which a change from outside is recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ContentHash([u8; 32]);

impl ContentHash {
    pub(super) fn of(content: &[u8]) -> Self {
        Self::from(digest(&SHA256, content))
    }

    /// That of the file there is now, none when there is no file; takes little memory however large the file is.
    pub(super) fn of_file(path: &Path) -> std::io::Result<Option<Self>> {
        if regular_file(path)?.is_none() {
            return Ok(None);
        }
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut context = Context::new(&SHA256);
        let mut block = vec![0; 64 * 1024];
        loop {
            let length = file.read(&mut block)?;
            match block.get(..length) {
                Some(content) if length > 0 => context.update(content),
                _ => return Ok(Some(Self::from(context.finish()))),
            }
        }
    }
}

impl From<Digest> for ContentHash {
    fn from(digest: Digest) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest.as_ref());
        Self(bytes)
    }
}

impl KnowledgeStore {
    /// Reads the file again and replaces the shared snapshot.
    pub async fn reload(&self) -> KnowledgeSnapshot {
        self.read_again(false).await
    }

    /// Reads the file again if it holds something else than the snapshot; for whoever watches the file.
    pub async fn reload_if_changed(&self) -> KnowledgeSnapshot {
        self.read_again(true).await
    }

    async fn read_again(&self, only_if_changed: bool) -> KnowledgeSnapshot {
        let writer = self.writer.clone().lock_owned().await;
        let shared = self.shared.clone();
        let work = tokio::task::spawn_blocking(move || {
            let _writer = writer;
            shared.read_again(only_if_changed)
        });
        work.await.unwrap_or_else(|error| {
            tracing::error!(%error, "reading the knowledge file stopped unexpectedly");
            self.snapshot()
        })
    }
}

impl Shared {
    /// Reads the file again; a file that is not there leaves an empty model only if somebody asked for the reading.
    pub(super) fn read_again(&self, only_if_changed: bool) -> KnowledgeSnapshot {
        let before = self.snapshot();
        if only_if_changed && self.is_current(&before) {
            return before;
        }
        let fresh = read(&self.path);
        let fresh = match &fresh.state {
            KnowledgeState::Missing
                if !only_if_changed && !matches!(before.state, KnowledgeState::Missing) =>
            {
                missing(&self.path)
            }
            KnowledgeState::Missing if only_if_changed => lost(
                before.clone(),
                Arc::new(KnowledgeError::Gone {
                    path: self.path.clone(),
                }),
            ),
            KnowledgeState::Unreadable(error) if matches!(**error, KnowledgeError::Read { .. }) => {
                let error = error.clone();
                lost(before.clone(), error)
            }
            _ => fresh,
        };
        let fresh = KnowledgeSnapshot {
            is_written_here: before.is_written_here && fresh.content == before.content,
            ..fresh
        };
        self.compare(&fresh);
        self.publish(fresh.clone());
        fresh
    }

    /// Whether the snapshot is that of the file as it is now.
    fn is_current(&self, snapshot: &KnowledgeSnapshot) -> bool {
        let content = ContentHash::of_file(&self.path);
        match (&snapshot.state, content) {
            (KnowledgeState::Loaded | KnowledgeState::Unreadable(_), Ok(Some(now))) => {
                snapshot.content == Some(now)
            }
            (KnowledgeState::Missing, Ok(None)) => true,
            // Nothing is known of a file that was of no use before it went.
            (KnowledgeState::Unreadable(_), Ok(None)) => true,
            (KnowledgeState::Lost(error), Ok(None)) => {
                matches!(**error, KnowledgeError::Gone { .. })
            }
            (KnowledgeState::Lost(error), Err(_)) => matches!(**error, KnowledgeError::Read { .. }),
            (KnowledgeState::Unreadable(error), Err(_)) => {
                matches!(**error, KnowledgeError::Read { .. })
            }
            _ => false,
        }
    }
}

/// What readers see while a file is away or cannot be read that could be: its last model, marked as such.
fn lost(before: KnowledgeSnapshot, error: Arc<KnowledgeError>) -> KnowledgeSnapshot {
    match before.state {
        KnowledgeState::Loaded | KnowledgeState::Lost(_) => {
            tracing::error!(%error, "the knowledge file is lost; answers come from the model as it was, and edits are refused");
            KnowledgeSnapshot {
                state: KnowledgeState::Lost(error),
                ..before
            }
        }
        KnowledgeState::Missing | KnowledgeState::Unreadable(_) => {
            KnowledgeSnapshot::empty(KnowledgeState::Unreadable(error))
        }
    }
}

/// The snapshot of a file that is not there: an empty model, unless something tells that there was a file once.
pub(super) fn missing(path: &Path) -> KnowledgeSnapshot {
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let copy = Backups::new(target, 0).newest_copy();
    let was_verified = BaselineFile::beside(path).path().is_file();
    if copy.is_none() && !was_verified {
        return KnowledgeSnapshot::empty(KnowledgeState::Missing);
    }
    unreadable(KnowledgeError::Absent {
        path: path.to_owned(),
        copy,
    })
}

/// Reads and understands the file; the outcome is in the snapshot's state.
pub(super) fn read(path: &Path) -> KnowledgeSnapshot {
    let bytes = match read_bytes(path) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return KnowledgeSnapshot::empty(KnowledgeState::Missing),
        Err(error) => return unreadable(error),
    };
    let content = Some(ContentHash::of(&bytes));
    let snapshot = understand(path, bytes).unwrap_or_else(unreadable);
    KnowledgeSnapshot {
        content,
        ..snapshot
    }
}

fn unreadable(error: KnowledgeError) -> KnowledgeSnapshot {
    tracing::error!(%error, "the knowledge file cannot be used; the model is empty and edits are refused");
    KnowledgeSnapshot::empty(KnowledgeState::Unreadable(Arc::new(error)))
}

/// Facts about the file, none when there is none; anything else of that name is an error.
pub(super) fn regular_file(path: &Path) -> std::io::Result<Option<Metadata>> {
    match std::fs::metadata(path) {
        Ok(facts) if facts.is_file() => Ok(Some(facts)),
        // A pipe or a device could keep the reader for ever.
        Ok(_) => Err(std::io::Error::new(
            ErrorKind::InvalidInput,
            "it is no regular file",
        )),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, KnowledgeError> {
    let failed = |source| KnowledgeError::Read {
        path: path.to_owned(),
        source,
    };
    let Some(facts) = regular_file(path).map_err(failed)? else {
        return Ok(None);
    };
    if facts.len() > format::MAX_BYTES {
        return Err(KnowledgeError::TooLarge {
            origin: path.display().to_string(),
            size: facts.len(),
            limit: format::MAX_BYTES,
        });
    }
    std::fs::read(path).map(Some).map_err(failed)
}

fn understand(path: &Path, bytes: Vec<u8>) -> Result<KnowledgeSnapshot, KnowledgeError> {
    let origin = path.display().to_string();
    let text = String::from_utf8(bytes).map_err(|error| KnowledgeError::Encoding {
        origin: origin.clone(),
        offset: error.utf8_error().valid_up_to(),
    })?;
    let (format, tree) = format::parse(&origin, &text)?;
    if tree.as_object().is_some_and(serde_json::Map::is_empty) {
        return Err(KnowledgeError::Empty {
            path: path.to_owned(),
        });
    }
    let decoded = decode(&origin, tree)?;
    for warning in &decoded.warnings {
        tracing::warn!(file = %origin, "{warning}");
    }
    Ok(KnowledgeSnapshot {
        model: Arc::new(KnowledgeModel::new(decoded.document)),
        format,
        state: KnowledgeState::Loaded,
        warnings: decoded.warnings.into(),
        content: None,
        is_written_here: false,
    })
}
