//! A save, step by step: at each of them the file is the old or the new one (Tool surface §9.5).

use std::fs;
use std::path::{Path, PathBuf};

use super::backup::{Backups, sibling};
use super::reading::ContentHash;
use super::{KnowledgeSnapshot, KnowledgeState, Shared};
use crate::durable_file::{FileError, Staged, failed, folder_of, sync_folder};
use crate::knowledge::document::SCHEMA_VERSION;
use crate::knowledge::error::EditError;

/// A step of a save that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaveStep {
    /// The new file exists, empty, beside the old one.
    Created,
    /// It holds the new content, perhaps not yet on the disk.
    Filled,
    /// It is on the disk.
    Synced,
    /// The old file is known not to have been changed by others.
    Checked,
    /// The old file is also kept as a backup.
    BackedUp,
    /// The new file is in place of the old one.
    Replaced,
    /// That is on the disk.
    FolderSynced,
    /// Backups beyond the wanted number are gone.
    Pruned,
    /// The edit is in the log of edits.
    Logged,
}

impl SaveStep {
    /// Every step in its order.
    pub const ALL: [Self; 9] = [
        Self::Created,
        Self::Filled,
        Self::Synced,
        Self::Checked,
        Self::BackedUp,
        Self::Replaced,
        Self::FolderSynced,
        Self::Pruned,
        Self::Logged,
    ];
}

impl Shared {
    pub(super) fn done(&self, step: SaveStep) {
        (self.options.observer)(step);
    }

    /// Puts `content` in place of the file that `before` was read from.
    pub(super) fn save(
        &self,
        before: &KnowledgeSnapshot,
        content: &[u8],
    ) -> Result<ContentHash, EditError> {
        let target = self.target();
        let folder = folder_of(&target);
        fs::create_dir_all(folder).map_err(failed("make the folder", folder))?;
        refuse_if_protected(&target)?;
        let now = self.options.clock.now();
        let temp = sibling(&target, &format!("tmp.{}", now.timestamp_millis()));
        let mut staged = Staged::create(temp, target.clone())?;
        self.done(SaveStep::Created);
        staged.fill(content)?;
        self.done(SaveStep::Filled);
        staged.sync()?;
        self.done(SaveStep::Synced);
        self.refuse_if_changed(before)?;
        self.done(SaveStep::Checked);
        let backups = Backups::new(target, self.options.backup_count);
        if before.content.is_some() {
            let version = before.model.document().schema_version;
            if matches!(before.state, KnowledgeState::Unreadable(_)) {
                backups.keep_unreadable(now)?;
            } else if version < SCHEMA_VERSION {
                backups.keep_version(version)?;
            }
            if self.options.auto_backup && self.options.backup_count > 0 {
                backups.keep(now);
            }
        }
        self.done(SaveStep::BackedUp);
        staged.commit()?;
        self.done(SaveStep::Replaced);
        if let Err(error) = sync_folder(backups.folder()) {
            // The new file is in place; whoever reads the folder now sees it.
            tracing::warn!(%error, "the saved knowledge may not outlive a power failure");
        }
        self.done(SaveStep::FolderSynced);
        if self.options.auto_backup {
            backups.prune();
        }
        backups.clear_leftovers();
        self.done(SaveStep::Pruned);
        Ok(ContentHash::of(content))
    }

    /// The file itself where the path is a symbolic link, so that the link stays.
    fn target(&self) -> PathBuf {
        fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone())
    }

    /// Nothing may be lost that somebody wrote since the snapshot was read.
    fn refuse_if_changed(&self, before: &KnowledgeSnapshot) -> Result<(), EditError> {
        let now = ContentHash::of_file(&self.path).map_err(failed("read", &self.path))?;
        if now == before.content {
            Ok(())
        } else {
            Err(EditError::ChangedOnDisk {
                path: self.path.clone(),
            })
        }
    }
}

/// A file that is set read-only is to stay as it is, though its folder would let it be replaced.
fn refuse_if_protected(target: &Path) -> Result<(), FileError> {
    match fs::OpenOptions::new().append(true).open(target) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(failed("write", target)(error))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}
