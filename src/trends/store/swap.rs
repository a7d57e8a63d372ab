//! Folders are replaced and removed so that a kill at any moment leaves the old or the new content (Store §9).

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::generation::fresh_token;
use super::writer::{Observer, StoreStep};
use crate::durable_file::{FileError, failed, sync_folder};

const SWAP: &str = "_swap-";
const TRASH: &str = "_trash-";

/// The names that a swap of a folder goes through.
struct Names {
    target: PathBuf,
    new: PathBuf,
    ready: PathBuf,
    old: PathBuf,
}

impl Names {
    fn of(parent: &Path, name: &str) -> Self {
        let beside = |ending: &str| parent.join(format!("{SWAP}{name}.{ending}"));
        Self {
            target: parent.join(name),
            new: beside("new"),
            ready: beside("ready"),
            old: beside("old"),
        }
    }
}

/// Whether a swap was stopped between its two renames, so that the folder is missing.
pub(super) fn is_halfway(parent: &Path, name: &str) -> bool {
    let names = Names::of(parent, name);
    names.ready.exists() && !names.target.exists()
}

/// The folder's name in the name of the mark that its swap is to be finished.
pub(super) fn name_in_ready_mark(mark: &str) -> Option<&str> {
    mark.strip_prefix(SWAP)?.strip_suffix(".ready")
}

/// Puts the folder `built`, complete and on the same file system, in the place of `parent/name`.
///
/// # Errors
/// A file operation failed; recovery then finishes the swap or takes it back.
pub(super) fn replace(
    parent: &Path,
    name: &str,
    built: &Path,
    observer: &Observer,
) -> Result<(), FileError> {
    recover(parent, name)?;
    let names = Names::of(parent, name);
    rename(built, &names.new)?;
    sync_tree(&names.new)?;
    observer.reached(StoreStep::SwapBuilt);
    let ready = std::fs::File::create(&names.ready).map_err(failed("create", &names.ready))?;
    ready.sync_all().map_err(failed("sync", &names.ready))?;
    sync_folder(parent)?;
    observer.reached(StoreStep::SwapReady);
    finish(parent, &names, observer)
}

fn finish(parent: &Path, names: &Names, observer: &Observer) -> Result<(), FileError> {
    if exists(&names.new)? {
        if exists(&names.target)? {
            // An earlier roll-forward may have been stopped after its first rename.
            remove_folder(&names.old)?;
            rename(&names.target, &names.old)?;
            observer.reached(StoreStep::OldMovedAway);
        }
        rename(&names.new, &names.target)?;
        sync_folder(parent)?;
        observer.reached(StoreStep::NewInPlace);
    }
    remove_folder(&names.old)?;
    observer.reached(StoreStep::OldRemoved);
    remove_file(&names.ready)?;
    sync_folder(parent)
}

/// Finishes or takes back an interrupted swap of `parent/name`.
pub(super) fn recover(parent: &Path, name: &str) -> Result<(), FileError> {
    let names = Names::of(parent, name);
    if exists(&names.ready)? {
        return finish(parent, &names, &Observer::default());
    }
    remove_folder(&names.new)?;
    if exists(&names.old)? {
        if exists(&names.target)? {
            remove_folder(&names.old)?;
        } else {
            rename(&names.old, &names.target)?;
        }
        sync_folder(parent)?;
    }
    Ok(())
}

/// Finishes or takes back every interrupted swap and removal in a folder; returns how many there were.
pub(super) fn recover_all(parent: &Path) -> Result<usize, FileError> {
    let mut recovered = 0;
    for name in leftovers(parent)? {
        if let Some(swapped) = name.strip_prefix(SWAP) {
            let target = [".new", ".ready", ".old"]
                .iter()
                .find_map(|ending| swapped.strip_suffix(ending));
            if let Some(target) = target {
                recover(parent, target)?;
                recovered += 1;
            }
        } else {
            let path = parent.join(&name);
            if path.is_dir() {
                remove_folder(&path)?;
            } else {
                remove_file(&path)?;
            }
            recovered += 1;
        }
    }
    Ok(recovered)
}

/// Names of swaps and removals in a folder that were not finished, sorted; none when there is no such folder.
pub(super) fn leftovers(parent: &Path) -> Result<Vec<String>, FileError> {
    let entries = match std::fs::read_dir(parent) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed("read the folder", parent)(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed("read the folder", parent))?;
        if let Some(name) = entry.file_name().to_str()
            && (name.starts_with(SWAP) || name.starts_with(TRASH))
        {
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Takes a folder out of sight in one step, then removes it.
///
/// # Errors
/// A file operation failed; what is out of sight already is removed by recovery.
pub(super) fn remove(parent: &Path, name: &str, observer: &Observer) -> Result<(), FileError> {
    let token = fresh_token();
    let trash = parent.join(format!(
        "{TRASH}{name}-{}",
        token.get(..12).unwrap_or(&token)
    ));
    rename(&parent.join(name), &trash)?;
    sync_folder(parent)?;
    observer.reached(StoreStep::Trashed);
    remove_folder(&trash)
}

pub(super) fn rename(from: &Path, to: &Path) -> Result<(), FileError> {
    std::fs::rename(from, to).map_err(failed("move", from))
}

fn exists(path: &Path) -> Result<bool, FileError> {
    path.try_exists().map_err(failed("look for", path))
}

pub(super) fn remove_folder(path: &Path) -> Result<(), FileError> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(failed("remove", path)(error)),
        _ => Ok(()),
    }
}

fn remove_file(path: &Path) -> Result<(), FileError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(failed("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Brings the names in a folder and in all below it to the disk; the files were synced when they were written.
pub(super) fn sync_tree(folder: &Path) -> Result<(), FileError> {
    for entry in std::fs::read_dir(folder).map_err(failed("read the folder", folder))? {
        let entry = entry.map_err(failed("read the folder", folder))?;
        let kind = entry
            .file_type()
            .map_err(failed("look at", &entry.path()))?;
        if kind.is_dir() {
            sync_tree(&entry.path())?;
        }
    }
    sync_folder(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(parent: &Path, name: &str, content: &str) {
        std::fs::create_dir(parent.join(name)).unwrap();
        std::fs::write(parent.join(name).join("part"), content).unwrap();
    }

    fn content(parent: &Path) -> Option<String> {
        std::fs::read_to_string(parent.join("t").join("part")).ok()
    }

    /// Every state that a stop of the three steps can leave, and what must come of it.
    #[test]
    fn every_interrupted_state_recovers_to_old_or_new() {
        type Case = (&'static [(&'static str, &'static str)], bool, &'static str);
        let cases: [Case; 6] = [
            (&[("t", "old"), ("_swap-t.new", "new")], false, "old"),
            (&[("t", "old"), ("_swap-t.new", "new")], true, "new"),
            (
                &[("_swap-t.old", "old"), ("_swap-t.new", "new")],
                true,
                "new",
            ),
            (&[("t", "new"), ("_swap-t.old", "old")], true, "new"),
            (&[("t", "new")], true, "new"),
            (&[("_swap-t.old", "old")], false, "old"),
        ];
        for (folders, ready, expected) in cases {
            let parent = tempfile::tempdir().unwrap();
            for (name, content) in folders {
                folder_with(parent.path(), name, content);
            }
            if ready {
                std::fs::write(parent.path().join("_swap-t.ready"), "").unwrap();
            }
            recover_all(parent.path()).unwrap();
            assert_eq!(
                content(parent.path()).as_deref(),
                Some(expected),
                "{folders:?}"
            );
            assert!(leftovers(parent.path()).unwrap().is_empty(), "{folders:?}");
        }
    }

    #[test]
    fn a_folder_is_replaced_also_where_there_was_none() {
        let parent = tempfile::tempdir().unwrap();
        for expected in ["one", "two"] {
            folder_with(parent.path(), "built", expected);
            let built = parent.path().join("built");
            replace(parent.path(), "t", &built, &Observer::default()).unwrap();
            assert_eq!(content(parent.path()).as_deref(), Some(expected));
        }
        remove(parent.path(), "t", &Observer::default()).unwrap();
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
