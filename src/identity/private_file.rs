//! Files that only the account of the bridge may use: read with their rights checked, replaced as a whole, and changed
//! by one process at a time.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::path::Path;

use zeroize::Zeroizing;

use super::error::IdentityError;
use crate::durable_file::{failed, folder_of, replace_private};

const LOCK_NAME: &str = "identity.lock";

/// Rights of everybody but the owner.
#[cfg(unix)]
const OTHERS: u32 = 0o077;

/// Rights of accounts outside owner and group: orchestrators hand secrets over by the group.
#[cfg(unix)]
const STRANGERS: u32 = 0o007;

/// Who besides the owner may read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    Owner,
    OwnerAndGroup,
}

/// The content of a file, none when there is no file.
///
/// # Errors
/// The file cannot be read, or accounts that should not can use it.
pub fn read(path: &Path, readers: Readers) -> Result<Option<Zeroizing<Vec<u8>>>, IdentityError> {
    let unreadable = |source| IdentityError::Unreadable {
        path: path.to_owned(),
        source,
    };
    match std::fs::read(path) {
        Ok(content) => {
            let content = Zeroizing::new(content);
            check_mode(path, readers)?;
            Ok(Some(content))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(error)),
    }
}

#[cfg(unix)]
fn check_mode(path: &Path, readers: Readers) -> Result<(), IdentityError> {
    use std::os::unix::fs::PermissionsExt;
    let facts = std::fs::metadata(path).map_err(|source| IdentityError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    let mode = facts.permissions().mode() & 0o777;
    let (refused, wanted) = match readers {
        Readers::Owner => (OTHERS, 0o600),
        Readers::OwnerAndGroup => (STRANGERS, 0o400),
    };
    if mode & refused != 0 {
        return Err(IdentityError::Mode {
            path: path.to_owned(),
            mode,
            wanted,
        });
    }
    Ok(())
}

/// Windows: files inherit the access list of their folder, and those of the service and of a user's own folders exclude
/// other users.
#[cfg(not(unix))]
fn check_mode(_path: &Path, _readers: Readers) -> Result<(), IdentityError> {
    Ok(())
}

/// Puts a content in place that only the owner may read.
///
/// # Errors
/// The file cannot be written; then the old one is in place.
pub fn write(path: &Path, content: &[u8]) -> Result<(), IdentityError> {
    Ok(replace_private(path, content)?)
}

/// Holds off other processes that change the identity files of a folder, until the value is dropped.
///
/// # Errors
/// The folder cannot be made, or its lock cannot be taken.
pub fn lock(folder: &Path) -> Result<File, IdentityError> {
    std::fs::create_dir_all(folder).map_err(failed("make the folder", folder))?;
    let path = folder.join(LOCK_NAME);
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(failed("open", &path))?;
    file.lock().map_err(failed("lock", &path))?;
    Ok(file)
}

/// Writes a new file that must not exist yet.
///
/// # Errors
/// The file exists, or cannot be written.
pub fn create(path: &Path, content: &[u8]) -> Result<(), IdentityError> {
    use std::io::Write;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).map_err(failed("create", path))?;
    file.write_all(content).map_err(failed("write", path))?;
    file.sync_all().map_err(failed("sync", path))?;
    crate::durable_file::sync_folder(folder_of(path))?;
    Ok(())
}
