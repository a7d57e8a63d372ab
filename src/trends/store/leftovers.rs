//! What killed writers left behind: finished, taken back or removed by the next one that holds the lock (Store §9).

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::append;
use super::listing::{facility_folder, facility_folders, folder_name};
use super::process::{self, Life};
use super::{FacilityId, StoreError, swap};
use crate::durable_file::failed;

/// Scratch folder of writers in the root.
pub(super) const STAGING: &str = "_staging";

/// Tidies up; returns whether data may have changed by it.
pub(super) fn tidy(root: &Path) -> Result<bool, StoreError> {
    let mut changed = swap::recover_all(root)? > 0;
    for name in staging_names(root)? {
        changed |= tidy_staged(root, &name)?;
    }
    for facility in facility_folders(root)? {
        let folder = facility_folder(root, &facility);
        changed |= swap::recover_all(&folder)? > 0;
        for year in year_folders(&folder)? {
            changed |= swap::recover_all(&year)? > 0;
        }
    }
    // Only an empty folder goes; one with the scratch of a living writer stays.
    let _ = std::fs::remove_dir(root.join(STAGING));
    Ok(changed)
}

/// Everything that the next writer will tidy up, as paths below the root.
pub(super) fn find(root: &Path) -> Result<Vec<String>, StoreError> {
    let mut found = swap::leftovers(root)?;
    for name in staging_names(root)? {
        if is_abandoned(&name) {
            found.push(format!("{STAGING}/{name}"));
        }
    }
    for facility in facility_folders(root)? {
        let folder = facility_folder(root, &facility);
        let mut below = vec![folder.clone()];
        below.extend(year_folders(&folder)?);
        for parent in below {
            let shown = parent.strip_prefix(root).unwrap_or(&parent).display();
            for name in swap::leftovers(&parent)? {
                found.push(format!("{shown}/{name}"));
            }
        }
    }
    Ok(found)
}

fn year_folders(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut years = Vec::new();
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        // Its swap was stopped halfway.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(years),
        Err(error) => return Err(failed("read the folder", folder)(error).into()),
    };
    for entry in entries {
        let entry = entry.map_err(failed("read the folder", folder))?;
        if entry
            .file_name()
            .to_str()
            .is_some_and(|name| name.starts_with("year="))
        {
            years.push(entry.path());
        }
    }
    Ok(years)
}

fn staging_names(root: &Path) -> Result<Vec<String>, StoreError> {
    let folder = root.join(STAGING);
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed("read the folder", &folder)(error).into()),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed("read the folder", &folder))?;
        if let Some(name) = entry.file_name().to_str() {
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Whether the writer of a scratch folder is gone.
///
/// Appends are staged under the lock, so one that is there while the lock is ours belongs to nobody. Others say by their
/// process id; in doubt they stay.
fn is_abandoned(name: &str) -> bool {
    if name.starts_with("append-") {
        return true;
    }
    let pid = match name.rsplit_once(".old-") {
        Some((_, pid)) => pid,
        None => match name
            .strip_prefix("ingest-")
            .and_then(|rest| rest.split('-').next())
        {
            Some(pid) => pid,
            None => return false,
        },
    };
    pid.parse()
        .is_ok_and(|pid: u32| process::life(pid) == Life::Gone)
}

fn tidy_staged(root: &Path, name: &str) -> Result<bool, StoreError> {
    let path = root.join(STAGING).join(name);
    if !is_abandoned(name) {
        return Ok(false);
    }
    if name.starts_with("append-") && append::roll_forward(root, &path)? {
        return Ok(true);
    }
    if let Some((facility, _)) = name.rsplit_once(".old-") {
        let id = facility.strip_prefix("facility_id=").unwrap_or(facility);
        if let Ok(facility) = FacilityId::parse(id)
            && !facility_folder(root, &facility).exists()
        {
            swap::rename(&path, &root.join(folder_name(&facility)))?;
            return Ok(true);
        }
    }
    swap::remove_folder(&path)?;
    Ok(false)
}
