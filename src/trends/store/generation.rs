//! How readers notice that a store changed: the catalogue's token, and a digest over files (Store §7, Core §4.2).

use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::Path;
use std::time::UNIX_EPOCH;

use ring::digest::{SHA256, digest as hash};

use super::catalogue;
use super::listing::{self, facility_folder};
use super::{FacilityId, StoreError, registry};
use crate::durable_file::{self, failed};

/// Name of the file with the token in the root.
pub const TOKEN_FILE: &str = "_catalog.gen";

/// A fresh token: 32 hex digits.
pub fn fresh_token() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

/// The token that the catalogue must carry to be current: none when there is no file.
///
/// # Errors
/// The file is there and cannot be read; then nothing may be served from the catalogue.
pub(super) fn token(root: &Path) -> Result<Option<String>, StoreError> {
    let path = root.join(TOKEN_FILE);
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("read", &path)(error).into()),
    }
}

/// Tells every reader that the data changed: a new token, then the old catalogue goes. Under the store's lock.
///
/// Without it CAMBER goes on answering from the old catalogue (measured).
///
/// # Errors
/// A file cannot be replaced or removed.
pub(super) fn invalidate(root: &Path) -> Result<(), StoreError> {
    durable_file::replace(&root.join(TOKEN_FILE), fresh_token().as_bytes())?;
    let path = root.join(catalogue::FILE);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(failed("remove", &path)(error).into())
        }
        _ => Ok(()),
    }
}

/// SHA-256 over sorted lines `path \t size \t mtime` of registry, catalogue and every file of the facilities.
pub(super) fn digest(root: &Path, facilities: &[FacilityId]) -> Result<String, StoreError> {
    let mut lines = Vec::new();
    for name in [registry::FILE, catalogue::FILE, TOKEN_FILE] {
        let path = root.join(name);
        match std::fs::metadata(&path) {
            Ok(facts) => lines.push(line(name, facts.len(), modified_ns(&facts))),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(failed("look at", &path)(error).into()),
        }
    }
    for facility in facilities {
        let files = match listing::files(&facility_folder(root, facility), facility) {
            Err(StoreError::NoData(_)) => continue,
            // One facility that cannot be listed keeps nobody from the others; a call on it says so itself.
            Err(StoreError::Damaged { problem, .. }) => {
                lines.push(format!("{facility}\t{problem}"));
                continue;
            }
            files => files?,
        };
        for file in files {
            let name = format!("{facility}/{}", file.relative);
            lines.push(line(&name, file.size, file.modified_ns));
        }
    }
    lines.sort_unstable();
    Ok(hex(hash(&SHA256, lines.join("\n").as_bytes()).as_ref()))
}

fn line(name: &str, size: u64, modified_ns: u128) -> String {
    format!("{name}\t{size}\t{modified_ns}")
}

/// Time of the last change in nanoseconds since 1970; 0 where the file system has none.
pub(super) fn modified_ns(facts: &std::fs::Metadata) -> u128 {
    facts
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .map_or(0, |since| since.as_nanos())
}

/// Lower-case hex digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
