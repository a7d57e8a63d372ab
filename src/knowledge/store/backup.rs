//! Copies of the knowledge file from before a change (Tool surface §9.5).
//!
//! A copy is a second name of the old file (or a real copy where the file system has no hard links), so the target is
//! never away.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use chrono::{DateTime, NaiveDateTime, Utc};

use super::exchange::{ASIDE, SWAP, rename_to_free};
use super::reading::ContentHash;
use crate::durable_file::{self, FileError, failed, folder_of};

/// The moment in the name of a copy, in UTC (Tool surface §9.5).
const STAMP: &str = "%Y-%m-%dT%H-%M-%S";

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

    /// Removes the oldest copies of the rotation beyond the wanted number.
    ///
    /// One of a file more than twice as large as the present one is set aside instead: it may be the last of a model that
    /// somebody lost.
    pub(super) fn prune(&self) {
        let size = |file: &Path| fs::metadata(file).map_or(0, |facts| facts.len());
        let most = size(&self.target).saturating_mul(2);
        let mut copies = self.siblings(is_rotation);
        copies.sort();
        let surplus = copies.len().saturating_sub(self.count);
        for copy in copies.iter().take(surplus) {
            if size(copy) > most {
                self.set_aside(copy);
            } else {
                remove(copy);
            }
        }
    }

    /// Takes all copies out of the rotation, so that none of them makes room for copies of another model.
    pub(super) fn set_rotation_aside(&self) {
        self.siblings(is_rotation)
            .iter()
            .for_each(|copy| self.set_aside(copy));
    }

    fn set_aside(&self, copy: &Path) {
        let name = copy.file_name().and_then(|name| name.to_str());
        let Some(stamp) = name.and_then(|name| Some(name.rsplit_once(".bak.")?.1)) else {
            return;
        };
        if let Err(error) = self.rename_to_new(copy, "earlier", stamp) {
            tracing::warn!(%error, "a copy of an earlier knowledge file stays in the rotation of backups");
        }
    }

    /// The newest copy of the file; one that could not be used only if there is no other.
    pub(super) fn newest_copy(&self) -> Option<PathBuf> {
        let copies = self.siblings(|suffix| {
            is_rotation(suffix)
                || suffix.ends_with(".bak")
                    && ["earlier.", "outside.", "schema-", "unreadable."]
                        .iter()
                        .any(|kind| suffix.starts_with(kind))
        });
        copies.into_iter().max_by_key(|copy| {
            let is_usable = !copy.to_string_lossy().contains(".unreadable.");
            let modified = fs::metadata(copy).and_then(|facts| facts.modified()).ok();
            (is_usable, modified, copy.clone())
        })
    }

    /// Writes a text beside the file, outside the rotation, and tells where: `<file>.<kind>.<stamp>.bak`.
    pub(super) fn keep_text(
        &self,
        kind: &str,
        text: &[u8],
        now: DateTime<Utc>,
    ) -> Result<PathBuf, FileError> {
        let fresh = sibling(&self.target, "tmp.bak");
        durable_file::replace(&fresh, text)?;
        self.rename_to_new(&fresh, kind, &stamp(now))
    }

    /// Clears what saves left behind that did not come to their end.
    ///
    /// An old file that such a save had not looked at yet may be what an editor wrote: it is kept unless it is also there
    /// as the file itself or as a copy.
    pub(super) fn clear_leftovers(&self, now: DateTime<Utc>) {
        let leftovers = self.siblings(|suffix| {
            suffix
                .strip_prefix("tmp.")
                .is_some_and(|rest| rest == "bak" || is_number(rest))
        });
        leftovers.iter().for_each(|leftover| remove(leftover));
        let displaced = self
            .siblings(|suffix| suffix == ASIDE || suffix.strip_prefix(SWAP).is_some_and(is_number));
        if displaced.is_empty() {
            return;
        }
        let mut known = self.siblings(is_rotation);
        known.push(self.target.clone());
        let known: Vec<ContentHash> = known
            .iter()
            .filter_map(|file| ContentHash::of_file(file).ok().flatten())
            .collect();
        for file in displaced {
            match ContentHash::of_file(&file) {
                Ok(Some(content)) if known.contains(&content) => remove(&file),
                _ => match self.keep_outside(&file, now) {
                    Ok(kept) => {
                        tracing::warn!(file = %kept.display(), "a save that did not come to its end had replaced this file, which is kept");
                    }
                    Err(error) => {
                        tracing::error!(%error, "a file that an interrupted save replaced stays under its name");
                    }
                },
            }
        }
    }

    /// Keeps a file that others wrote and that a save displaced, outside the rotation, and tells where.
    pub(super) fn keep_outside(
        &self,
        file: &Path,
        now: DateTime<Utc>,
    ) -> Result<PathBuf, FileError> {
        self.rename_to_new(file, "outside", &stamp(now))
    }

    /// Gives a file the first free name `<file>.<kind>.<stamp>.bak`, with a number where that one is taken.
    fn rename_to_new(&self, file: &Path, kind: &str, stamp: &str) -> Result<PathBuf, FileError> {
        let mut number = 1;
        loop {
            let suffix = match number {
                1 => format!("{kind}.{stamp}.bak"),
                _ => format!("{kind}.{stamp}-{number}.bak"),
            };
            let kept = sibling(&self.target, &suffix);
            match rename_to_free(file, &kept) {
                Ok(()) => return Ok(kept),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(failed("keep", file)(error)),
            }
        }
    }

    /// The files named `<file>.<suffix>` with a wanted suffix.
    fn siblings(&self, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
        let Some(name) = self.target.file_name().and_then(|name| name.to_str()) else {
            return Vec::new();
        };
        let entries = match fs::read_dir(self.folder()) {
            Ok(entries) => entries,
            // Before the first start.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
            Err(error) => {
                tracing::warn!(folder = %self.folder().display(), %error, "old backups of the knowledge file cannot be listed");
                return Vec::new();
            }
        };
        let suffix = |path: &Path| {
            path.file_name()?
                .to_str()?
                .strip_prefix(name)?
                .strip_prefix('.')
                .map(str::to_owned)
        };
        entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| suffix(path).is_some_and(|suffix| wanted(&suffix)))
            .collect()
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

fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path) {
        tracing::warn!(file = %path.display(), %error, "an old file beside the knowledge file cannot be removed");
    }
}

/// Whether a suffix is one that [`Backups::keep`] gives; copies that people made have others and stay.
fn is_rotation(suffix: &str) -> bool {
    suffix
        .strip_prefix("bak.")
        .is_some_and(|stamp| NaiveDateTime::parse_from_str(stamp, STAMP).is_ok())
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit())
}

fn stamp(now: DateTime<Utc>) -> String {
    now.format(STAMP).to_string()
}
