//! The file behind the model, read side.
//!
//! A missing file is an empty model; a file that cannot be read or understood is a state that is reported (tool surface
//! §6, §9.4): the bridge keeps answering, with an empty model and the reason.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::UNIX_EPOCH;

use super::decode::decode;
use super::error::KnowledgeError;
use super::format::{self, DocumentFormat};
use super::model::KnowledgeModel;

/// Name of the log of knowledge edits, beside the knowledge file (tool surface §9.5).
pub const AUDIT_LOG_NAME: &str = "knowledge.audit.log";

/// What became of the knowledge file when it was last read.
#[derive(Debug, Clone)]
pub enum KnowledgeState {
    /// No file: the model is empty and a first save will create it.
    Missing,
    Loaded,
    /// The file exists but cannot be used; edits must be refused until it is repaired.
    Unreadable(Arc<KnowledgeError>),
}

/// One consistent view of the knowledge: model, format, state and remarks of one reading of the file.
#[derive(Debug, Clone)]
pub struct KnowledgeSnapshot {
    pub model: Arc<KnowledgeModel>,
    pub format: DocumentFormat,
    pub state: KnowledgeState,
    pub warnings: Arc<[String]>,
}

impl KnowledgeSnapshot {
    fn empty(state: KnowledgeState) -> Self {
        Self {
            model: Arc::default(),
            format: DocumentFormat::Yaml,
            state,
            warnings: Arc::from([]),
        }
    }
}

/// Facts about the knowledge file as the file system reports them now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnowledgeFileFacts {
    pub path: PathBuf,
    pub exists: bool,
    pub readable: bool,
    pub writable: bool,
    /// Size in bytes; −1 when no file exists.
    pub size: i64,
    /// Last modification in epoch milliseconds; 0 when unknown or no file exists.
    pub last_modified_ms: i64,
}

/// The knowledge file and the snapshot that readers share.
#[derive(Debug)]
pub struct KnowledgeStore {
    path: PathBuf,
    current: RwLock<KnowledgeSnapshot>,
}

impl KnowledgeStore {
    /// Reads the file at `path`; never fails, the outcome is in [`KnowledgeSnapshot::state`].
    pub fn open(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let current = RwLock::new(read(&path));
        Self { path, current }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where edits of the knowledge are logged.
    pub fn audit_log_path(&self) -> PathBuf {
        self.path.with_file_name(AUDIT_LOG_NAME)
    }

    /// The shared snapshot; later readings of the file do not change it.
    pub fn snapshot(&self) -> KnowledgeSnapshot {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Reads the file again and replaces the shared snapshot.
    pub fn reload(&self) -> KnowledgeSnapshot {
        let fresh = read(&self.path);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = fresh.clone();
        fresh
    }

    /// Facts about the file now.
    pub fn file_facts(&self) -> KnowledgeFileFacts {
        let metadata = std::fs::metadata(&self.path).ok();
        KnowledgeFileFacts {
            path: self.path.clone(),
            exists: metadata.is_some(),
            readable: std::fs::File::open(&self.path).is_ok(),
            writable: is_writable(&self.path),
            size: metadata
                .as_ref()
                .map_or(-1, |facts| i64::try_from(facts.len()).unwrap_or(i64::MAX)),
            last_modified_ms: metadata
                .and_then(|facts| facts.modified().ok())
                .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
                .and_then(|age| i64::try_from(age.as_millis()).ok())
                .unwrap_or(0),
        }
    }
}

/// Whether a file can be written: opened for appending, or, while absent, its folder accepts files.
pub fn is_writable(path: &Path) -> bool {
    if path.exists() {
        return std::fs::OpenOptions::new().append(true).open(path).is_ok();
    }
    match path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        Some(folder) => std::fs::metadata(folder)
            .is_ok_and(|facts| facts.is_dir() && !facts.permissions().readonly()),
        None => true,
    }
}

fn read(path: &Path) -> KnowledgeSnapshot {
    match load(path) {
        Ok(Some(snapshot)) => snapshot,
        Ok(None) => KnowledgeSnapshot::empty(KnowledgeState::Missing),
        Err(error) => {
            tracing::error!(%error, "the knowledge file cannot be used; continuing with an empty model");
            KnowledgeSnapshot::empty(KnowledgeState::Unreadable(Arc::new(error)))
        }
    }
}

fn load(path: &Path) -> Result<Option<KnowledgeSnapshot>, KnowledgeError> {
    let failed = |source| KnowledgeError::Read {
        path: path.to_owned(),
        source,
    };
    let origin = path.display().to_string();
    match std::fs::metadata(path) {
        Ok(facts) if facts.len() > format::MAX_BYTES => {
            return Err(KnowledgeError::TooLarge {
                origin,
                size: facts.len(),
                limit: format::MAX_BYTES,
            });
        }
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    }
    let bytes = std::fs::read(path).map_err(failed)?;
    let text = String::from_utf8(bytes).map_err(|error| KnowledgeError::Encoding {
        origin: origin.clone(),
        offset: error.utf8_error().valid_up_to(),
    })?;
    let (format, tree) = format::parse(&origin, &text)?;
    let decoded = decode(&origin, tree)?;
    for warning in &decoded.warnings {
        tracing::warn!(file = %origin, "{warning}");
    }
    Ok(Some(KnowledgeSnapshot {
        model: Arc::new(KnowledgeModel::new(decoded.document)),
        format,
        state: KnowledgeState::Loaded,
        warnings: decoded.warnings.into(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_an_empty_model_and_a_first_file_is_seen_on_reload() {
        let folder = tempfile::tempdir().unwrap();
        let store = KnowledgeStore::open(folder.path().join("knowledge.yaml"));
        assert!(matches!(store.snapshot().state, KnowledgeState::Missing));
        let facts = store.file_facts();
        assert_eq!(
            (facts.exists, facts.readable, facts.writable, facts.size),
            (false, false, true, -1)
        );

        let text = "equipment:\n- id: ahu-1\n";
        std::fs::write(store.path(), text).unwrap();
        let before = store.snapshot();
        let after = store.reload();
        assert!(matches!(after.state, KnowledgeState::Loaded));
        assert!(after.model.equipment("ahu-1").is_some());
        assert!(
            before.model.equipment("ahu-1").is_none(),
            "a snapshot must not change"
        );
        let facts = store.file_facts();
        assert_eq!(
            (facts.exists, facts.readable, facts.size),
            (true, true, text.len() as i64)
        );
        assert!(facts.last_modified_ms > 0);
    }

    #[test]
    fn a_broken_file_is_a_reported_state_and_recovers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("knowledge.yaml");
        std::fs::write(&path, "spaces: 3\n").unwrap();
        let store = KnowledgeStore::open(&path);
        let KnowledgeState::Unreadable(error) = store.snapshot().state else {
            panic!("a broken file must be reported");
        };
        let text = error.to_string();
        assert!(
            text.contains("knowledge.yaml") && text.contains("spaces"),
            "{text}"
        );

        std::fs::write(&path, [0x66, 0xff, 0x66]).unwrap();
        let KnowledgeState::Unreadable(error) = store.reload().state else {
            panic!("a file that is not UTF-8 must be reported");
        };
        assert!(error.to_string().contains("byte 1"));

        std::fs::write(&path, "{\"spaces\": []}").unwrap();
        let snapshot = store.reload();
        assert!(matches!(snapshot.state, KnowledgeState::Loaded));
        assert_eq!(snapshot.format, DocumentFormat::Json);
    }

    #[test]
    fn a_folder_in_place_of_the_file_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let store = KnowledgeStore::open(folder.path());
        assert!(matches!(
            store.snapshot().state,
            KnowledgeState::Unreadable(_)
        ));
    }
}
