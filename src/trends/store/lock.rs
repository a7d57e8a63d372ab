//! One writer at a time, among bridges and CAMBER (Store §8).
//!
//! `flock` on Unix and a range lock over the whole file on Windows, which covers the byte that CAMBER locks there. The
//! kernel drops it when the holder dies. Readers never take it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use serde_json::json;

use super::registry::{read_object, stamp};
use super::{StoreError, process};
use crate::durable_file::failed;

const FILE: &str = "_lock";
const WORKSPACE_FILE: &str = "_workspace.json";

/// How often a taken lock is tried again.
const POLL: Duration = Duration::from_millis(100);

/// How long a writer waits unless told otherwise.
pub const USUAL_WAIT: Duration = Duration::from_secs(30);

/// A holder's line is short; more is something else.
const LONGEST_HOLDER: u64 = 4096;

/// The wait that the environment asks for in `CAMBER_LOCK_TIMEOUT`, in seconds, else 30 s.
pub fn wait_from_environment() -> Duration {
    std::env::var("CAMBER_LOCK_TIMEOUT")
        .ok()
        .and_then(|text| text.trim().parse::<f64>().ok())
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .unwrap_or(USUAL_WAIT)
}

/// The lock of a store, held while this value lives.
#[derive(Debug)]
pub struct StoreLock {
    // Closing the file releases the lock.
    _file: File,
}

impl StoreLock {
    /// Takes the lock of the store, or of the workspace that the store belongs to.
    ///
    /// # Errors
    /// Somebody else holds it for longer than `wait`, who is named; the file cannot be written.
    pub fn acquire(root: &Path, wait: Duration, now: DateTime<Utc>) -> Result<Self, StoreError> {
        let path = lock_path(root)?;
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(failed("open", &path))?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if begun.elapsed() < wait => {
                    std::thread::sleep(POLL.min(wait));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(StoreError::Locked {
                        holder: holder(&file),
                        path,
                    });
                }
                Err(TryLockError::Error(error)) => return Err(failed("lock", &path)(error).into()),
            }
        }
        // The first byte is the one that is locked; what follows is for messages only.
        let line = format!(
            "\n{}\n",
            json!({"host": process::host(), "pid": std::process::id(), "since": stamp(now)})
        );
        file.set_len(0)
            .and_then(|()| file.seek(SeekFrom::Start(0)))
            .and_then(|_| file.write_all(line.as_bytes()))
            .map_err(failed("write", &path))?;
        Ok(Self { _file: file })
    }
}

/// Whether nobody holds the lock at this moment. It is taken for an instant to find out.
pub(super) fn is_free(root: &Path) -> bool {
    let Ok(path) = lock_path(root) else {
        return false;
    };
    match OpenOptions::new().read(true).write(true).open(path) {
        // Without a lock file there never was a writer.
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        Ok(file) => file.try_lock().is_ok(),
    }
}

/// The lock file of the store, or of the workspace that it names.
fn lock_path(root: &Path) -> Result<PathBuf, StoreError> {
    let path = root.join(WORKSPACE_FILE);
    let workspace = read_object(&path)
        .map_err(|problem| StoreError::RegistryDamaged {
            path: path.clone(),
            problem,
        })?
        .and_then(|object| Some(root.join(object.get("portfolio")?.as_str()?)));
    Ok(workspace.as_deref().unwrap_or(root).join(FILE))
}

fn holder(mut file: &File) -> String {
    let mut text = String::new();
    let read = file
        .seek(SeekFrom::Start(0))
        .and_then(|_| file.take(LONGEST_HOLDER).read_to_string(&mut text));
    let told = read
        .ok()
        .and_then(|_| serde_json::from_str::<serde_json::Value>(text.trim()).ok());
    match told {
        Some(told) => format!(
            "process {} on {} since {}",
            told["pid"],
            told["host"].as_str().unwrap_or("an unknown machine"),
            told["since"].as_str().unwrap_or("an unknown time")
        ),
        None => "another process".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> DateTime<Utc> {
        "2026-03-08T07:00:00Z".parse().unwrap()
    }

    #[test]
    fn a_second_writer_is_told_who_holds_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        assert!(is_free(folder.path()));
        let first = StoreLock::acquire(folder.path(), Duration::ZERO, now()).unwrap();
        assert!(!is_free(folder.path()));
        let error = StoreLock::acquire(folder.path(), Duration::ZERO, now())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(&format!("process {} on ", std::process::id()))
                && error.contains("since 2026-03-08T07:00:00Z"),
            "{error}"
        );
        drop(first);
        StoreLock::acquire(folder.path(), Duration::ZERO, now()).unwrap();
        let content = std::fs::read_to_string(folder.path().join(FILE)).unwrap();
        assert!(content.starts_with("\n{\"host\":"), "{content:?}");
    }

    #[test]
    fn a_store_of_a_workspace_is_locked_there() {
        let workspace = tempfile::tempdir().unwrap();
        let store = workspace.path().join("store");
        std::fs::create_dir(&store).unwrap();
        std::fs::write(store.join(WORKSPACE_FILE), r#"{"portfolio": ".."}"#).unwrap();
        let _lock = StoreLock::acquire(&store, Duration::ZERO, now()).unwrap();
        assert!(workspace.path().join(FILE).exists() && !store.join(FILE).exists());
        assert!(!is_free(workspace.path()));
    }
}
