//! Bytes of the file → snapshot, at start, on request and when another program changed it.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

use ring::digest::{Context, Digest, SHA256, digest};

use super::{KnowledgeSnapshot, KnowledgeState, KnowledgeStore, Shared};
use crate::knowledge::decode::decode;
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
    fn read_again(&self, only_if_changed: bool) -> KnowledgeSnapshot {
        let before = self.snapshot();
        if only_if_changed {
            match ContentHash::of_file(&self.path) {
                // Away, perhaps for the moment of its replacement.
                Ok(None) => return before,
                Ok(content) if content == before.content => return before,
                Ok(_) | Err(_) => {}
            }
        }
        let fresh = read(&self.path);
        self.publish(fresh.clone());
        fresh
    }
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

fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, KnowledgeError> {
    let failed = |source| KnowledgeError::Read {
        path: path.to_owned(),
        source,
    };
    match std::fs::metadata(path) {
        Ok(facts) if facts.len() > format::MAX_BYTES => {
            return Err(KnowledgeError::TooLarge {
                origin: path.display().to_string(),
                size: facts.len(),
                limit: format::MAX_BYTES,
            });
        }
        Ok(facts) if facts.is_file() => {}
        // A pipe or a device could keep the reader for ever.
        Ok(_) => {
            return Err(failed(std::io::Error::new(
                ErrorKind::InvalidInput,
                "it is no regular file",
            )));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
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
    })
}
