//! The data folder: made on demand, used by one process at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

const LOCK_NAME: &str = "bridge.lock";
const HOLDER_NAME: &str = "bridge.holder";

/// A folder that no other bridge uses while this value lives.
#[derive(Debug)]
pub struct DataFolder {
    path: PathBuf,
    // Closing the file releases the lock, also when the process dies.
    _lock: File,
}

impl DataFolder {
    /// Makes the folder if needed and takes its lock.
    ///
    /// # Errors
    /// The folder cannot be made or written, or another process holds it; that one is named.
    pub fn take(path: &Path) -> anyhow::Result<Self> {
        std::fs::create_dir_all(path).with_context(|| {
            format!(
                "the data folder {} cannot be made; set dataDir to another place",
                path.display()
            )
        })?;
        let lock_path = path.join(LOCK_NAME);
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&lock_path)
            .with_context(|| {
                format!(
                    "{} cannot be written; check the rights of the folder",
                    lock_path.display()
                )
            })?;
        let holder_path = path.join(HOLDER_NAME);
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                // Just after it took the lock the other process has not yet written who it is.
                let holder = std::fs::read_to_string(&holder_path)
                    .ok()
                    .filter(|holder| !holder.trim().is_empty())
                    .unwrap_or_else(|| "another process".to_owned());
                bail!(
                    "the data folder {} is in use by {}; stop it, choose another dataDir, or use \
                     `niagara-bridge stdio --url …` to reach the bridge that runs",
                    path.display(),
                    holder.trim()
                );
            }
            Err(TryLockError::Error(error)) => {
                return Err(error)
                    .with_context(|| format!("{} cannot be locked", lock_path.display()));
            }
        }
        std::fs::write(&holder_path, format!("process {}\n", std::process::id()))
            .with_context(|| format!("{} cannot be written", holder_path.display()))?;
        Ok(Self {
            path: path.to_owned(),
            _lock: lock,
        })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_bridge_is_refused_and_told_who_holds_the_folder() {
        let parent = tempfile::tempdir().expect("folder");
        let path = parent.path().join("a/b");
        let first = DataFolder::take(&path).expect("free");
        let message = DataFolder::take(&path).expect_err("in use").to_string();
        assert!(
            message.contains(&format!("process {}", std::process::id())),
            "{message}"
        );
        assert!(message.contains(&path.display().to_string()), "{message}");
        std::fs::write(path.join(HOLDER_NAME), "")
            .expect("a holder that has not yet said who it is");
        let message = DataFolder::take(&path).expect_err("in use").to_string();
        assert!(message.contains("in use by another process"), "{message}");
        drop(first);
        assert_eq!(DataFolder::take(&path).expect("free again").path(), path);
    }
}
