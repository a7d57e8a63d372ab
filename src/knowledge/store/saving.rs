//! A save, step by step: at each of them the file is the old or the new one (Tool surface §9.5).
//!
//! What others write into the file meanwhile stays: the file that was replaced is looked at afterwards, and put back if
//! it is not the one that was read.

use std::fs;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use super::aftermath::Replaced;
use super::backup::{Backups, sibling};
use super::exchange::{Displaced, SWAP, exchange, rename_to_free};
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
    /// What was replaced is known to be the file that was read.
    Verified,
    /// Backups beyond the wanted number are gone.
    Pruned,
    /// The edit is in the log of edits.
    Logged,
}

impl SaveStep {
    /// Every step in its order.
    pub const ALL: [Self; 10] = [
        Self::Created,
        Self::Filled,
        Self::Synced,
        Self::Checked,
        Self::BackedUp,
        Self::Replaced,
        Self::FolderSynced,
        Self::Verified,
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
        let backups = Backups::new(target.clone(), self.options.backup_count);
        backups.clear_leftovers(now);
        let temp = sibling(&target, &format!("tmp.{}", now.timestamp_millis()));
        let mut staged = Staged::create(temp, target.clone())?;
        self.done(SaveStep::Created);
        staged.fill(content)?;
        self.done(SaveStep::Filled);
        staged.sync()?;
        self.done(SaveStep::Synced);
        self.refuse_if_changed(before)?;
        self.done(SaveStep::Checked);
        if before.content.is_some() {
            let version = before.model.document().schema_version;
            if matches!(before.state, KnowledgeState::Unreadable(_)) {
                backups.keep_unreadable(now)?;
                // They are of the model that was lost, and of no use to the one that begins here.
                backups.set_rotation_aside();
            } else if version < SCHEMA_VERSION {
                backups.keep_version(version)?;
            }
            if self.options.auto_backup && self.options.backup_count > 0 {
                backups.keep(now);
            }
        }
        self.done(SaveStep::BackedUp);
        let content = ContentHash::of(content);
        let fresh = sibling(&target, &format!("{SWAP}{}", now.timestamp_millis()));
        let complete = staged.release()?;
        fs::rename(&complete, &fresh).map_err(failed("rename", &complete))?;
        let displaced = exchange(&fresh, &target).inspect_err(|_| discard(&fresh))?;
        self.done(SaveStep::Replaced);
        bring_to_disk(backups.folder());
        self.done(SaveStep::FolderSynced);
        let replaced = match displaced {
            Displaced::File => {
                Replaced::open(&fresh, before.content, self.options.clock.monotonic())
            }
            Displaced::Nothing | Displaced::Overtaken => None,
        };
        let replacement = Replacement {
            target: &target,
            fresh: &fresh,
            content,
        };
        let undone = replacement.undo_unless(before.content, displaced, &backups, now)?;
        if let Some(Undone { file }) = undone {
            bring_to_disk(backups.folder());
            return Err(EditError::ChangedOnDisk {
                path: self.path.clone(),
                kept: file,
            });
        }
        self.done(SaveStep::Verified);
        if displaced == Displaced::File {
            discard(&fresh);
        }
        if let Some(replaced) = replaced {
            self.keep_in_view(replaced);
        }
        if self.options.auto_backup {
            backups.prune();
        }
        self.done(SaveStep::Pruned);
        Ok(content)
    }

    /// The file itself where the path is a symbolic link, so that the link stays.
    pub(super) fn target(&self) -> PathBuf {
        fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone())
    }

    /// Nothing may be lost that somebody wrote since the snapshot was read.
    pub(super) fn refuse_if_changed(&self, before: &KnowledgeSnapshot) -> Result<(), EditError> {
        let now = ContentHash::of_file(&self.path).map_err(failed("read", &self.path))?;
        if now == before.content {
            Ok(())
        } else {
            Err(EditError::ChangedOnDisk {
                path: self.path.clone(),
                kept: None,
            })
        }
    }
}

/// A new file that took the place of an old one.
struct Replacement<'a> {
    target: &'a Path,
    /// The name of the new file before, of the old one since.
    fresh: &'a Path,
    content: ContentHash,
}

/// A replacement that was taken back.
struct Undone {
    /// A state of the file that the file itself does not hold any more.
    file: Option<PathBuf>,
}

impl Replacement<'_> {
    /// Takes the replacement back if what stood there is not the `expected` file, which an editor saved in the moment
    /// before; whatever others wrote is in place afterwards, or kept beside it.
    fn undo_unless(
        &self,
        expected: Option<ContentHash>,
        displaced: Displaced,
        backups: &Backups,
        now: DateTime<Utc>,
    ) -> Result<Option<Undone>, FileError> {
        // What cannot be read is not what was read before.
        let holds = |content| {
            let found = ContentHash::of_file(self.fresh).ok().flatten();
            found.is_some() && found == content
        };
        match displaced {
            Displaced::File if holds(expected) => return Ok(None),
            Displaced::Nothing if expected.is_none() => return Ok(None),
            Displaced::Overtaken if holds(expected) => {
                discard(self.fresh);
                return Ok(Some(Undone { file: None }));
            }
            Displaced::Overtaken => {
                let file = Some(backups.keep_outside(self.fresh, now)?);
                return Ok(Some(Undone { file }));
            }
            Displaced::Nothing => {
                // The file was taken away: it stays away, unless somebody has put another one there since.
                rename_to_free(self.target, self.fresh).map_err(failed("undo", self.target))?;
                if holds(Some(self.content)) {
                    discard(self.fresh);
                } else {
                    rename_to_free(self.fresh, self.target)
                        .map_err(failed("put back", self.target))?;
                }
                return Ok(Some(Undone { file: None }));
            }
            Displaced::File => {}
        }
        exchange(self.fresh, self.target)?;
        if holds(Some(self.content)) {
            discard(self.fresh);
            return Ok(Some(Undone { file: None }));
        }
        // A second change came on top of the new file: the later one stays in place, the earlier one is kept.
        if exchange(self.fresh, self.target)? == Displaced::Nothing {
            return Ok(Some(Undone { file: None }));
        }
        let file = Some(backups.keep_outside(self.fresh, now)?);
        Ok(Some(Undone { file }))
    }
}

/// The file is in place; whoever reads the folder now sees it, whatever becomes of this.
fn bring_to_disk(folder: &Path) {
    if let Err(error) = sync_folder(folder) {
        tracing::warn!(%error, "the knowledge file may not outlive a power failure as it is now");
    }
}

/// Removes a file of ours that is not needed any more.
fn discard(file: &Path) {
    if let Err(error) = fs::remove_file(file) {
        tracing::warn!(file = %file.display(), %error, "a file that a save needed cannot be removed");
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
