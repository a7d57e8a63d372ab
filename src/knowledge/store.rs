//! The file behind the model: read into shared snapshots, changed by one writer at a time.
//!
//! A missing file is an empty model, unless copies of it tell that it was lost; a file that cannot be read or understood is a state that is reported, and no edit
//! touches it (Tool surface §6, §9.4). An edit changes a copy of the document; readers see it after it was saved
//! (Tool surface §9.5, §9.6).

mod aftermath;
mod audit;
mod backup;
mod editing;
mod exchange;
mod loss;
mod reading;
mod saving;
mod settling;
mod watching;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, UNIX_EPOCH};

use tokio::sync::watch;

pub use editing::{Edited, Editor};
pub use saving::SaveStep;

use super::error::{KnowledgeError, KnowledgeUnreadable};
use super::format::DocumentFormat;
use super::model::KnowledgeModel;
use crate::clock::{SharedClock, SystemClock};
use aftermath::Aftermath;
use loss::Reference;
use reading::{ContentHash, read};

/// Name of the log of knowledge edits, beside the knowledge file (tool surface §9.5).
pub const AUDIT_LOG_NAME: &str = "knowledge.audit.log";

/// What became of the knowledge file when it was last read.
#[derive(Debug, Clone)]
pub enum KnowledgeState {
    /// No file: the model is empty and a first save will create it.
    Missing,
    Loaded,
    /// The file that the model was read from is gone, or something stands in its place that cannot be read: the model is
    /// the last good one, and edits are refused until the file is back or reloadKnowledge was called.
    Lost(Arc<KnowledgeError>),
    /// The file exists but cannot be used; edits are refused until it is repaired and read again, or replaced.
    Unreadable(Arc<KnowledgeError>),
}

/// One consistent view of the knowledge: model, format, state and remarks of one reading of the file.
#[derive(Debug, Clone)]
pub struct KnowledgeSnapshot {
    pub model: Arc<KnowledgeModel>,
    pub format: DocumentFormat,
    pub state: KnowledgeState,
    pub warnings: Arc<[String]>,
    /// What the file held; none when there was no file or it could not be read.
    content: Option<ContentHash>,
    /// Whether that content was saved by this store.
    is_written_here: bool,
}

impl KnowledgeSnapshot {
    /// What is wrong with the file; none while the model is that of the file, or there is no file yet.
    pub fn problem(&self) -> Option<&Arc<KnowledgeError>> {
        match &self.state {
            KnowledgeState::Lost(error) | KnowledgeState::Unreadable(error) => Some(error),
            KnowledgeState::Missing | KnowledgeState::Loaded => None,
        }
    }

    /// Why the model is not what the file holds now, as part of an answer that comes from it; none while it is.
    pub fn staleness(&self) -> Option<String> {
        match &self.state {
            KnowledgeState::Lost(error) => Some(format!(
                "this is the model as it was last read, and it cannot be changed: {error}. Then call reloadKnowledge."
            )),
            _ => None,
        }
    }

    fn empty(state: KnowledgeState) -> Self {
        Self {
            model: Arc::default(),
            format: DocumentFormat::Yaml,
            state,
            warnings: Arc::from([]),
            content: None,
            is_written_here: false,
        }
    }
}

/// How often the snapshot changed since start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KnowledgeChanges {
    /// Every edit and every reading that found another content.
    pub snapshots: u64,
    /// Those of them after which the ids of spaces, types, equipment and points were others than before.
    pub entries: u64,
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

/// Told of each step of a save; tests end the process there.
pub type SaveObserver = Arc<dyn Fn(SaveStep) + Send + Sync>;

/// Lets time pass.
pub type Pause = Arc<dyn Fn(Duration) + Send + Sync>;

/// How the file is kept.
#[derive(Clone)]
pub struct StoreOptions {
    /// `knowledgeAutoBackup`: a copy of the file is kept before each change.
    pub auto_backup: bool,
    /// `knowledgeBackupCount`: how many copies are kept.
    pub backup_count: usize,
    /// `knowledge.readOnly`, asked at every edit because it changes while the bridge runs.
    pub read_only: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Stamps backups and the log of edits.
    pub clock: SharedClock,
    pub observer: SaveObserver,
    /// How long a file that another program wrote must have been unchanged before an edit is saved on top of it.
    pub rest: Duration,
    /// Waits while the file does not rest; tests let the other program write on there.
    pub pause: Pause,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            auto_backup: true,
            backup_count: 5,
            read_only: Arc::new(|| false),
            clock: SystemClock::shared(),
            observer: Arc::new(|_| {}),
            rest: settling::REST,
            pause: Arc::new(std::thread::sleep),
        }
    }
}

impl fmt::Debug for StoreOptions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("StoreOptions")
            .field("auto_backup", &self.auto_backup)
            .field("backup_count", &self.backup_count)
            .finish_non_exhaustive()
    }
}

/// The knowledge file and the snapshot that readers share.
#[derive(Debug)]
pub struct KnowledgeStore {
    shared: Arc<Shared>,
    /// Held by whoever reads the file into the snapshot or changes it.
    writer: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    options: StoreOptions,
    current: RwLock<KnowledgeSnapshot>,
    changes: watch::Sender<KnowledgeChanges>,
    audit_failure: Mutex<Option<String>>,
    reference: Mutex<Reference>,
    aftermath: Mutex<Aftermath>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.look_at_replaced_files();
    }
}

impl KnowledgeStore {
    /// Reads the file at `path`; never fails, the outcome is in [`KnowledgeSnapshot::state`].
    pub fn open(path: impl Into<PathBuf>) -> Self {
        Self::open_with(path, StoreOptions::default())
    }

    /// The same with other options.
    pub fn open_with(path: impl Into<PathBuf>, options: StoreOptions) -> Self {
        let path = path.into();
        exchange::recover(&path);
        let first = match read(&path) {
            found if matches!(found.state, KnowledgeState::Missing) => reading::missing(&path),
            found => found,
        };
        let shared = Shared {
            path,
            options,
            current: RwLock::new(first.clone()),
            changes: watch::Sender::new(KnowledgeChanges::default()),
            audit_failure: Mutex::default(),
            reference: Mutex::default(),
            aftermath: Mutex::default(),
        };
        shared.refer_to(&first);
        Self {
            shared: Arc::new(shared),
            writer: Arc::default(),
        }
    }

    /// What whoever works with the knowledge must hear of: losses by outside edits, and what was kept of such edits.
    pub fn notices(&self) -> Vec<String> {
        self.shared.notices()
    }

    /// Ends the remarks of [`KnowledgeStore::notices`]: they were read, and the model is meant to be as it is now.
    pub fn accept(&self) {
        self.shared.accept();
    }

    /// Looks once more at files that edits replaced, as the store does by itself from time to time and at its end.
    pub fn look_at_replaced_files(&self) {
        self.shared.look_at_replaced_files();
    }

    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Where edits of the knowledge are logged.
    pub fn audit_log_path(&self) -> PathBuf {
        self.shared.audit_log_path()
    }

    /// Why the last edit could not be logged; none when it was.
    pub fn audit_failure(&self) -> Option<String> {
        self.shared
            .audit_failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The shared snapshot; later edits and readings of the file do not change it.
    pub fn snapshot(&self) -> KnowledgeSnapshot {
        self.shared.snapshot()
    }

    /// The shared snapshot of a file that can be used, or could when it was last there.
    ///
    /// # Errors
    /// The file exists but cannot be understood, or could never be read (Tool surface §5.3, −32004).
    pub fn readable(&self) -> Result<KnowledgeSnapshot, KnowledgeUnreadable> {
        let snapshot = self.snapshot();
        match snapshot.state {
            KnowledgeState::Unreadable(detail) => Err(KnowledgeUnreadable {
                path: self.shared.path.clone(),
                detail,
            }),
            KnowledgeState::Missing | KnowledgeState::Loaded | KnowledgeState::Lost(_) => {
                Ok(snapshot)
            }
        }
    }

    /// What is wrong with the file as far as its name shows it now, before anybody noticed the change and read it again.
    pub fn file_problem(&self) -> Option<String> {
        let snapshot = self.snapshot();
        if let Some(error) = snapshot.problem() {
            return Some(error.to_string());
        }
        let must_exist = matches!(snapshot.state, KnowledgeState::Loaded);
        match reading::regular_file(self.path()) {
            Ok(None) if must_exist => Some(
                KnowledgeError::Gone {
                    path: self.shared.path.clone(),
                }
                .to_string(),
            ),
            Ok(_) => None,
            Err(error) => Some(error.to_string()),
        }
    }

    /// Whether `knowledge.readOnly` forbids to change what is kept in the data folder about the site.
    pub fn is_read_only(&self) -> bool {
        (self.shared.options.read_only)()
    }

    /// Counts the changes of the snapshot; wakes whoever waits after each of them.
    pub fn changes(&self) -> watch::Receiver<KnowledgeChanges> {
        self.shared.changes.subscribe()
    }

    /// Facts about the file now.
    pub fn file_facts(&self) -> KnowledgeFileFacts {
        let path = &self.shared.path;
        let metadata = std::fs::metadata(path).ok();
        let is_file = metadata.as_ref().is_some_and(std::fs::Metadata::is_file);
        KnowledgeFileFacts {
            path: path.clone(),
            exists: metadata.is_some(),
            readable: is_file && std::fs::File::open(path).is_ok(),
            writable: is_writable(path),
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

impl Shared {
    fn snapshot(&self) -> KnowledgeSnapshot {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn audit_log_path(&self) -> PathBuf {
        self.path.with_file_name(AUDIT_LOG_NAME)
    }

    /// Puts a new snapshot in place and tells whoever waits for changes.
    fn publish(&self, fresh: KnowledgeSnapshot) {
        // Whoever changed the model has waited for the disk anyway; whoever searches next does not wait for the index.
        fresh.model.search_index();
        let before = std::mem::replace(
            &mut *self.current.write().unwrap_or_else(PoisonError::into_inner),
            fresh.clone(),
        );
        let same_entries = before.model.same_ids(&fresh.model);
        self.changes.send_modify(|changes| {
            changes.snapshots += 1;
            changes.entries += u64::from(!same_entries);
        });
    }
}

/// Whether a file can be written: opened for appending, or, while absent, its folder accepts files.
pub fn is_writable(path: &Path) -> bool {
    if path.exists() {
        // A pipe would keep whoever opens it waiting.
        return path.is_file() && std::fs::OpenOptions::new().append(true).open(path).is_ok();
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

#[cfg(test)]
mod loss_tests;
#[cfg(test)]
mod outside_tests;
#[cfg(test)]
mod tests;
