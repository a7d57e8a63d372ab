//! Fences: marks by which readers notice that a writer replaced or removed files of a facility (Core §8.2).
//!
//! `_fence/<facility>` holds `{"token": hex, "busy": null | {"pid", "started", "host"}}`. A writer marks the facility busy
//! for the duration and leaves a fresh token. The mark of a dead writer binds nobody, except between the two renames of a
//! swap, when the facility's folder is not there.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use super::generation::{fresh_token, hex};
use super::listing::{facility_folder, folder_name};
use super::process::{self, Life};
use super::{FacilityId, StoreError, lock, swap};
use crate::durable_file::{self, failed};

const FOLDER: &str = "_fence";

/// The fence of a facility at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FenceState {
    token: String,
    busy: bool,
}

impl FenceState {
    /// Changes with every replacement or removal of files; `""` before the first.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Whether a writer that lives replaces files just now, or a dead one left the facility without its folder.
    pub fn is_busy(&self) -> bool {
        self.busy
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Mark {
    token: String,
    busy: Option<Writer>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Writer {
    pid: u32,
    #[serde(default)]
    started: Option<String>,
    #[serde(default)]
    host: String,
}

impl Writer {
    fn own() -> Self {
        Self {
            pid: std::process::id(),
            started: process::own_start(),
            host: process::host(),
        }
    }

    /// Whether the writer may still be at work. One on another machine is taken to be, as nobody here can tell.
    fn lives(&self, root: &Path) -> bool {
        if self.host != process::host() {
            return true;
        }
        match process::life(self.pid) {
            Life::Gone => false,
            Life::Started(when) => self.started.as_ref() == Some(&when),
            // A writer holds the store's lock from its first mark to its last.
            Life::Unknown => !lock::is_free(root),
        }
    }
}

fn path_of(root: &Path, facility: &FacilityId) -> PathBuf {
    root.join(FOLDER).join(facility.as_str())
}

/// Reads the fence of a facility. One that cannot be parsed is not busy, and its token is the digest of its bytes.
pub(super) fn read(root: &Path, facility: &FacilityId) -> Result<FenceState, StoreError> {
    let path = path_of(root, facility);
    let content = match std::fs::read(&path) {
        Ok(content) => content,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(failed("read", &path)(error).into()),
    };
    let mark = if content.is_empty() {
        Mark {
            token: String::new(),
            busy: None,
        }
    } else {
        serde_json::from_slice(&content).unwrap_or_else(|_| Mark {
            token: hex(digest(&SHA256, &content).as_ref()),
            busy: None,
        })
    };
    let halfway =
        !facility_folder(root, facility).is_dir() && swap::is_halfway(root, &folder_name(facility));
    Ok(FenceState {
        token: mark.token,
        busy: halfway || mark.busy.is_some_and(|writer| writer.lives(root)),
    })
}

/// Waits until the facility is not busy.
pub(super) fn settled(
    root: &Path,
    facility: &FacilityId,
    wait: Duration,
    poll: Duration,
) -> Result<FenceState, StoreError> {
    let begun = Instant::now();
    loop {
        let state = read(root, facility)?;
        if !state.is_busy() {
            return Ok(state);
        }
        if begun.elapsed() >= wait {
            return Err(StoreError::Busy {
                facility: facility.clone(),
            });
        }
        std::thread::sleep(poll);
    }
}

/// A facility marked busy until this value is dropped. Under the store's lock.
#[derive(Debug)]
pub(super) struct Fence {
    root: PathBuf,
    facility: FacilityId,
    open: bool,
}

impl Fence {
    /// Marks the facility busy, with a fresh token: whoever read before the mark notices even if this process is killed.
    pub(super) fn raise(root: &Path, facility: &FacilityId) -> Result<Self, StoreError> {
        write(root, facility, Some(Writer::own()))?;
        Ok(Self {
            root: root.to_owned(),
            facility: facility.clone(),
            open: true,
        })
    }

    /// Lets readers in again.
    pub(super) fn lower(mut self) -> Result<(), StoreError> {
        self.open = false;
        write(&self.root, &self.facility, None)
    }
}

impl Drop for Fence {
    fn drop(&mut self) {
        if self.open
            && let Err(error) = write(&self.root, &self.facility, None)
        {
            tracing::warn!(facility = %self.facility, %error, "the facility stays marked as busy until this process ends");
        }
    }
}

fn write(root: &Path, facility: &FacilityId, busy: Option<Writer>) -> Result<(), StoreError> {
    let mark = Mark {
        token: fresh_token(),
        busy,
    };
    let text = serde_json::to_vec(&mark)
        .map_err(|error| StoreError::Refused(format!("the fence of {facility}: {error}")))?;
    durable_file::replace(&path_of(root, facility), &text)?;
    Ok(())
}

/// Clears marks that dead writers left. Under the store's lock, which a living writer of marks would hold.
pub(super) fn clear_dead(root: &Path) -> Result<(), StoreError> {
    let folder = root.join(FOLDER);
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed("read the folder", &folder)(error).into()),
    };
    for entry in entries {
        let entry = entry.map_err(failed("read the folder", &folder))?;
        let name = entry.file_name();
        let Some(facility) = name.to_str().and_then(|name| FacilityId::parse(name).ok()) else {
            continue;
        };
        let busy = std::fs::read(entry.path())
            .ok()
            .and_then(|content| serde_json::from_slice::<Mark>(&content).ok())
            .is_some_and(|mark| mark.busy.is_some());
        if busy {
            write(root, &facility, None)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facility() -> FacilityId {
        FacilityId::parse("hq").unwrap()
    }

    fn leave(root: &Path, content: &str) {
        std::fs::create_dir_all(root.join(FOLDER)).unwrap();
        std::fs::write(path_of(root, &facility()), content).unwrap();
    }

    #[test]
    fn readers_see_the_mark_while_it_stands_and_another_token_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let before = read(folder.path(), &facility()).unwrap();
        assert!(!before.is_busy() && before.token().is_empty());
        let fence = Fence::raise(folder.path(), &facility()).unwrap();
        assert!(read(folder.path(), &facility()).unwrap().is_busy());
        assert!(matches!(
            settled(folder.path(), &facility(), Duration::ZERO, Duration::ZERO),
            Err(StoreError::Busy { .. })
        ));
        fence.lower().unwrap();
        let after = read(folder.path(), &facility()).unwrap();
        assert!(!after.is_busy());
        assert_ne!(after.token(), before.token());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_mark_of_a_dead_writer_binds_nobody_even_when_its_id_is_used_again() {
        let folder = tempfile::tempdir().unwrap();
        let host = process::host();
        leave(
            folder.path(),
            &format!(
                r#"{{"token":"t","busy":{{"pid":4294967295,"started":"1","host":"{host}"}}}}"#
            ),
        );
        assert!(!read(folder.path(), &facility()).unwrap().is_busy());
        let own = std::process::id();
        leave(
            folder.path(),
            &format!(r#"{{"token":"t","busy":{{"pid":{own},"started":"1","host":"{host}"}}}}"#),
        );
        assert!(!read(folder.path(), &facility()).unwrap().is_busy());
        clear_dead(folder.path()).unwrap();
        let cleared = read(folder.path(), &facility()).unwrap();
        assert!(!cleared.is_busy() && cleared.token() != "t");
    }

    #[test]
    fn a_fence_in_another_format_only_names_a_state() {
        let folder = tempfile::tempdir().unwrap();
        leave(folder.path(), "busy since monday");
        let state = read(folder.path(), &facility()).unwrap();
        assert!(!state.is_busy());
        assert_eq!(state.token().len(), 64);
    }
}
