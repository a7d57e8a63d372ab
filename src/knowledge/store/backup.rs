//! Copies of the knowledge file from before a change (Tool surface §9.5).
//!
//! A copy is a second name of the old file (or a real copy where the file system has no hard links), so the target is
//! never away.

use std::fs;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use crate::durable_file::{FileError, failed, folder_of};

/// Makes and prunes the copies of one file.
pub(super) struct Backups {
    target: PathBuf,
    count: usize,
}

impl Backups {
    pub(super) fn new(target: PathBuf, count: usize) -> Self {
        Self { target, count }
    }

    pub(super) fn folder(&self) -> &Path {
        folder_of(&self.target)
    }

    /// Keeps the present file in the rotation; a failure is logged and does not stop the save (Tool surface §9.5).
    pub(super) fn keep(&self, now: DateTime<Utc>) {
        let copy = sibling(&self.target, &format!("bak.{}", stamp(now)));
        if let Err(error) = self.copy_to(&copy) {
            tracing::warn!(%error, "no backup of the knowledge file was made before this change");
        }
    }

    /// Keeps a file that could not be used, outside the rotation.
    pub(super) fn keep_unreadable(&self, now: DateTime<Utc>) -> Result<(), FileError> {
        self.copy_to(&sibling(
            &self.target,
            &format!("unreadable.{}.bak", stamp(now)),
        ))
    }

    /// Keeps a file of an older `schema_version`, outside the rotation.
    pub(super) fn keep_version(&self, version: i64) -> Result<(), FileError> {
        let copy = sibling(&self.target, &format!("schema-{version}.bak"));
        if copy.exists() {
            // The first one is the file as the older program wrote it.
            return Ok(());
        }
        self.copy_to(&copy)
    }

    /// Removes the oldest copies beyond the wanted number, and what saves left behind that did not come to their end.
    pub(super) fn prune(&self) {
        let Some(name) = self.target.file_name().and_then(|name| name.to_str()) else {
            return;
        };
        let entries = match fs::read_dir(self.folder()) {
            Ok(entries) => entries,
            Err(error) => {
                tracing::warn!(folder = %self.folder().display(), %error, "old backups of the knowledge file cannot be listed");
                return;
            }
        };
        let (mut copies, mut leftovers) = (Vec::new(), Vec::new());
        for path in entries.flatten().map(|entry| entry.path()) {
            let Some(rest) = path
                .file_name()
                .and_then(|other| other.to_str())
                .and_then(|other| other.strip_prefix(name))
            else {
                continue;
            };
            if rest.starts_with(".bak.") {
                copies.push(path);
            } else if rest.starts_with(".tmp.") {
                leftovers.push(path);
            }
        }
        copies.sort();
        let surplus = copies.len().saturating_sub(self.count);
        for path in copies.iter().take(surplus).chain(&leftovers) {
            if let Err(error) = fs::remove_file(path) {
                tracing::warn!(file = %path.display(), %error, "an old file beside the knowledge file cannot be removed");
            }
        }
    }

    /// Gives the present file a second name, in one step also where that name exists.
    fn copy_to(&self, copy: &Path) -> Result<(), FileError> {
        let fresh = sibling(&self.target, "tmp.bak");
        if fresh.exists() {
            fs::remove_file(&fresh).map_err(failed("remove", &fresh))?;
        }
        if fs::hard_link(&self.target, &fresh).is_err() {
            fs::copy(&self.target, &fresh).map_err(failed("write", &fresh))?;
        }
        // Two names of one file: POSIX leaves both, so the older name goes first.
        if copy.exists() {
            fs::remove_file(copy).map_err(failed("remove", copy))?;
        }
        fs::rename(&fresh, copy).map_err(failed("create", copy))
    }
}

/// `<file>.<suffix>` in the file's folder.
pub(super) fn sibling(target: &Path, suffix: &str) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    PathBuf::from(name)
}

fn stamp(now: DateTime<Utc>) -> String {
    now.format("%Y-%m-%dT%H-%M-%S").to_string()
}
