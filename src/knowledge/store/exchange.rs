//! Puts a new file in place so that whatever stood there, at that very moment, is still there under another name.
//!
//! A check before a rename leaves a gap in which an editor may save; a file that a rename replaces is gone. So the old
//! and the new file change places in one step, and the old one is looked at afterwards.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use super::backup::sibling;
use crate::durable_file::{FileError, failed};

/// Suffix of the name that the present file has for a moment where two files cannot change places in one step.
pub(super) const ASIDE: &str = "aside";

/// Prefix of the suffix of a new file that is complete, and of the old one after they changed places.
pub(super) const SWAP: &str = "swap.";

/// What stood in the place of the new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Displaced {
    /// A file, which now has the name that the new one had.
    File,
    Nothing,
    /// The new file is gone: somebody put another one in place meanwhile, and what stood there before has its name.
    Overtaken,
}

/// Gives the file `fresh` the name `target`, and what has that name now, if anything, the name of `fresh`.
///
/// # Errors
/// The files cannot be renamed; then both are as they were, or `target` is beside as [`ASIDE`], where [`recover`]
/// finds it.
pub(super) fn exchange(fresh: &Path, target: &Path) -> Result<Displaced, FileError> {
    match swap(fresh, target) {
        Swapped::Done => Ok(Displaced::File),
        Swapped::NoTarget => place(fresh, target),
        Swapped::Unsupported => exchange_by_renames(fresh, target),
    }
}

enum Swapped {
    Done,
    NoTarget,
    Unsupported,
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn swap(fresh: &Path, target: &Path) -> Swapped {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, fresh, CWD, target, RenameFlags::EXCHANGE) {
        Ok(()) => Swapped::Done,
        Err(rustix::io::Errno::NOENT) => Swapped::NoTarget,
        // Not every file system can; what else may be wrong the renames meet too, and tell.
        Err(_) => Swapped::Unsupported,
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn swap(_fresh: &Path, _target: &Path) -> Swapped {
    Swapped::Unsupported
}

/// The same in three steps. Between the first and the second the target is away, but kept under a name that
/// [`recover`] knows, should the process end there.
fn exchange_by_renames(fresh: &Path, target: &Path) -> Result<Displaced, FileError> {
    let aside = sibling(target, ASIDE);
    match rename_to_free(target, &aside) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return place(fresh, target),
        Err(error) => return Err(failed("move aside", target)(error)),
    }
    match rename_to_free(fresh, target) {
        Ok(()) => {
            rename_to_free(&aside, fresh).map_err(failed("move", &aside))?;
            Ok(Displaced::File)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            fs::rename(&aside, fresh).map_err(failed("move", &aside))?;
            Ok(Displaced::Overtaken)
        }
        Err(error) => {
            rename_to_free(&aside, target).map_err(failed("put back", target))?;
            Err(failed("replace", target)(error))
        }
    }
}

/// Gives `fresh` the free name `target`; where somebody just took it, theirs is displaced.
fn place(fresh: &Path, target: &Path) -> Result<Displaced, FileError> {
    match rename_to_free(fresh, target) {
        Ok(()) => Ok(Displaced::Nothing),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => exchange(fresh, target),
        Err(error) => Err(failed("create", target)(error)),
    }
}

/// Renames a file, never over another one.
pub(super) fn rename_to_free(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        Err(error) if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound) => {
            Err(error)
        }
        // A file system without links.
        Err(_) if to.try_exists()? => Err(ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}

/// Brings back a file that a process left aside when it ended between two steps.
pub(super) fn recover(path: &Path) {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let aside = sibling(&target, ASIDE);
    if !aside.is_file() {
        return;
    }
    match rename_to_free(&aside, &target) {
        Ok(()) => {
            tracing::warn!(file = %target.display(), "a save that did not come to its end was undone");
        }
        // The file is there; what is aside is looked at by the next save.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => {
            tracing::error!(file = %aside.display(), %error, "the knowledge file was left aside by a save and cannot be put back");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Exchange = fn(&Path, &Path) -> Result<Displaced, FileError>;

    const WAYS: [(&str, Exchange); 2] = [
        ("in one step", exchange),
        ("by renames", exchange_by_renames),
    ];

    #[test]
    fn two_files_change_places() {
        for (way, exchange) in WAYS {
            let folder = tempfile::tempdir().unwrap();
            let (fresh, target) = (folder.path().join("fresh"), folder.path().join("target"));
            fs::write(&fresh, "new").unwrap();
            fs::write(&target, "old").unwrap();
            assert_eq!(exchange(&fresh, &target).unwrap(), Displaced::File, "{way}");
            assert_eq!(fs::read(&target).unwrap(), b"new", "{way}");
            assert_eq!(fs::read(&fresh).unwrap(), b"old", "{way}");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "{way}");
        }
    }

    #[test]
    fn a_free_name_is_taken_and_nothing_is_displaced() {
        for (way, exchange) in WAYS {
            let folder = tempfile::tempdir().unwrap();
            let (fresh, target) = (folder.path().join("fresh"), folder.path().join("target"));
            fs::write(&fresh, "new").unwrap();
            let displaced = exchange(&fresh, &target).unwrap();
            assert_eq!(displaced, Displaced::Nothing, "{way}");
            assert_eq!(fs::read(&target).unwrap(), b"new", "{way}");
            assert!(!fresh.exists(), "{way}");
        }
    }

    #[test]
    fn a_rename_never_replaces_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::write(&from, "one").unwrap();
        fs::write(&to, "other").unwrap();
        let error = rename_to_free(&from, &to).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&to).unwrap(), b"other");
        assert_eq!(fs::read(&from).unwrap(), b"one");
    }

    #[test]
    fn a_file_that_was_left_aside_is_brought_back_but_replaces_none() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("knowledge.yaml");
        let aside = sibling(&target, ASIDE);
        fs::write(&aside, "old").unwrap();
        recover(&target);
        assert_eq!(fs::read(&target).unwrap(), b"old");
        assert!(!aside.exists());

        fs::write(&aside, "older").unwrap();
        recover(&target);
        assert_eq!(fs::read(&target).unwrap(), b"old");
        assert_eq!(fs::read(&aside).unwrap(), b"older");
    }
}
