//! The data folder: made on demand, used by one process at a time.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::process_lock::{LockError, ProcessLock};

const LOCK_NAME: &str = "bridge.lock";
const HOLDER_NAME: &str = "bridge.holder";

/// A folder that no other bridge uses while this value lives.
#[derive(Debug)]
pub struct DataFolder {
    path: PathBuf,
    _lock: ProcessLock,
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
        let lock = ProcessLock::take(&path.join(LOCK_NAME), &path.join(HOLDER_NAME), "");
        let lock = match lock {
            Ok(lock) => lock,
            Err(LockError::Held { holder }) => bail!(
                "the data folder {} is in use by {holder}; stop it, choose another dataDir, or use \
                 `niagara-bridge stdio --url …` to reach the bridge that runs",
                path.display(),
            ),
            Err(error) => return Err(error.into()),
        };
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
