//! The one way to replace a file: at every moment its name leads to the old content or the new one, never to neither.
//!
//! Written beside the target, brought to the disk, then renamed over it. `std::fs::rename` replaces an existing file in
//! one step on Unix and, by `FILE_RENAME_FLAG_REPLACE_IF_EXISTS`, on Windows too; there the folder needs no sync.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file operation that failed, with the file and a remedy.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {path}: {source}; check the free space and the rights of the folder", path = path.display())]
pub struct FileError {
    pub action: &'static str,
    pub path: PathBuf,
    #[source]
    pub source: std::io::Error,
}

/// Turns an input/output error into a [`FileError`].
pub fn failed(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> FileError {
    move |source| FileError {
        action,
        path: path.to_owned(),
        source,
    }
}

/// A new content beside its target, not yet in its place; dropped without [`Staged::commit`] it is removed.
#[derive(Debug)]
pub struct Staged {
    temp: PathBuf,
    target: PathBuf,
    file: Option<File>,
}

impl Staged {
    /// Creates the empty file `temp` that is to replace `target`; both must lie in one folder.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(temp: PathBuf, target: PathBuf) -> Result<Self, FileError> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .open(&temp)
            .map_err(failed("create", &temp))?;
        Ok(Self {
            temp,
            target,
            file: Some(file),
        })
    }

    /// Writes the content and gives the file the rights of the one that it replaces.
    ///
    /// # Errors
    /// The content cannot be written, for example because the disk is full.
    pub fn fill(&mut self, content: &[u8]) -> Result<(), FileError> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        file.write_all(content)
            .map_err(failed("write", &self.temp))?;
        if let Ok(facts) = std::fs::metadata(&self.target) {
            file.set_permissions(facts.permissions())
                .map_err(failed("set the rights of", &self.temp))?;
        }
        Ok(())
    }

    /// The open file, for content that comes in portions; [`Staged::fill`] ends it.
    pub fn file(&mut self) -> Option<&mut File> {
        self.file.as_mut()
    }

    /// Brings the content to the disk and closes the file.
    ///
    /// # Errors
    /// The disk reports a failure.
    pub fn sync(&mut self) -> Result<(), FileError> {
        match self.file.take() {
            Some(file) => file.sync_all().map_err(failed("sync", &self.temp)),
            None => Ok(()),
        }
    }

    /// Puts the new content in the target's place.
    ///
    /// # Errors
    /// The file cannot be renamed; the target is as it was.
    pub fn commit(mut self) -> Result<(), FileError> {
        self.sync()?;
        std::fs::rename(&self.temp, &self.target).map_err(failed("replace", &self.target))?;
        self.temp = PathBuf::new();
        Ok(())
    }
}

impl Staged {
    /// Closes the file and hands it over to the caller, who puts it in its place or removes it.
    ///
    /// # Errors
    /// The disk reports a failure; then the file is removed.
    pub fn release(mut self) -> Result<PathBuf, FileError> {
        self.sync()?;
        Ok(std::mem::take(&mut self.temp))
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if self.temp.as_os_str().is_empty() {
            return;
        }
        // Windows removes no open file.
        self.file = None;
        if let Err(error) = std::fs::remove_file(&self.temp) {
            tracing::warn!(file = %self.temp.display(), %error, "a file that was not put in place cannot be removed");
        }
    }
}

/// Brings the names in a folder to the disk, so that a rename outlives a power failure.
///
/// # Errors
/// The folder cannot be synced.
#[cfg(unix)]
pub fn sync_folder(folder: &Path) -> Result<(), FileError> {
    File::open(folder)
        .and_then(|opened| opened.sync_all())
        .map_err(failed("sync the folder", folder))
}

/// Windows brings a rename to the disk by itself.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn sync_folder(_folder: &Path) -> Result<(), FileError> {
    Ok(())
}

/// The folder of a file, `.` for a bare name.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Replaces `target` by `content`, making its folder if needed.
///
/// # Errors
/// What failed; then the target is as it was, or the new content is in place but may not outlive a power failure.
pub fn replace(target: &Path, content: &[u8]) -> Result<(), FileError> {
    let folder = folder_of(target);
    std::fs::create_dir_all(folder).map_err(failed("make the folder", folder))?;
    let mut name = target.as_os_str().to_owned();
    name.push(".new");
    let mut staged = Staged::create(name.into(), target.to_owned())?;
    staged.fill(content)?;
    staged.commit()?;
    sync_folder(folder)
}

/// Replaces `target` by a content that no other account of this machine may read, not even while it is written.
///
/// # Errors
/// As [`replace`].
pub fn replace_private(target: &Path, content: &[u8]) -> Result<(), FileError> {
    let folder = folder_of(target);
    std::fs::create_dir_all(folder).map_err(failed("make the folder", folder))?;
    let mut name = target.as_os_str().to_owned();
    name.push(".new");
    let temp = PathBuf::from(name);
    // One that a killed process left may have other rights.
    match std::fs::remove_file(&temp) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(failed("remove", &temp)(error));
        }
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.create_new(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&temp).map_err(failed("create", &temp))?;
    let mut staged = Staged {
        temp,
        target: target.to_owned(),
        file: Some(file),
    };
    staged.fill(content)?;
    staged.commit()?;
    sync_folder(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_with_its_folder_made_and_nothing_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a/b.json");
        replace(&target, b"one").unwrap();
        replace(&target, b"two").unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"two");
        let names: Vec<_> = std::fs::read_dir(target.parent().unwrap())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["b.json"]);
    }

    #[test]
    fn a_content_that_is_given_up_leaves_the_target_alone() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("kept");
        std::fs::write(&target, "old").unwrap();
        let mut staged = Staged::create(folder.path().join("kept.tmp"), target.clone()).unwrap();
        staged.fill(b"new").unwrap();
        drop(staged);
        assert_eq!(std::fs::read(&target).unwrap(), b"old");
        assert!(!folder.path().join("kept.tmp").exists());
    }

    #[test]
    fn a_failure_names_the_file_and_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let error = replace(folder.path(), b"x").unwrap_err().to_string();
        assert!(
            error.starts_with("cannot replace") && error.contains("check the free space"),
            "{error}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn the_rights_of_the_file_stay() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("private");
        std::fs::write(&target, "old").unwrap();
        std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o640)).unwrap();
        replace(&target, b"new").unwrap();
        assert_eq!(
            std::fs::metadata(&target).unwrap().permissions().mode() & 0o777,
            0o640
        );
    }
}
