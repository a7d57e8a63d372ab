//! A file that one process holds at a time, and a file beside it that says who.
//!
//! `flock` on Unix, a range lock on Windows; the kernel drops it when the holder dies.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// Why a lock is not held.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("it is in use by {holder}")]
    Held { holder: String },
    #[error("{path} cannot be {action}: {source}; check the rights of the folder", path = path.display())]
    Failed {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

/// Held while this value lives.
#[derive(Debug)]
pub struct ProcessLock {
    // Closing the file releases the lock, also when the process dies.
    _file: File,
}

impl ProcessLock {
    /// Takes the lock `lock` and writes into `holder` who has it; `purpose` follows the number of the process there.
    ///
    /// # Errors
    /// Another process holds it, who is named, or a file cannot be written.
    pub fn take(lock: &Path, holder: &Path, purpose: &str) -> Result<Self, LockError> {
        let failed = |action, path: &Path| {
            let path = path.to_owned();
            move |source| LockError::Failed {
                action,
                path,
                source,
            }
        };
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(lock)
            .map_err(failed("written", lock))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                // Just after it took the lock the other process has not yet written who it is.
                let told = std::fs::read_to_string(holder).unwrap_or_default();
                let told = told.trim();
                return Err(LockError::Held {
                    holder: if told.is_empty() {
                        "another process"
                    } else {
                        told
                    }
                    .to_owned(),
                });
            }
            Err(TryLockError::Error(error)) => return Err(failed("locked", lock)(error)),
        }
        let line = format!("process {}{purpose}\n", std::process::id());
        std::fs::write(holder, line).map_err(failed("written", holder))?;
        Ok(Self { _file: file })
    }
}
