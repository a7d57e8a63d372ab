//! Ids of removed facilities, which are never given out again (Store §6.4).

use std::collections::BTreeMap;
use std::path::Path;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::registry::{FacilityEntry, read_object, stamp, write_json};
use super::{FacilityId, StoreError};

/// Name of the file in the root.
pub const FILE: &str = "_tombstones.json";

/// The tombstones of a store by facility id.
///
/// # Errors
/// The file is damaged: without it nobody knows which ids are taken.
pub fn read(root: &Path) -> Result<BTreeMap<String, Value>, StoreError> {
    let path = root.join(FILE);
    match read_object(&path) {
        Ok(found) => Ok(found.unwrap_or_default().into_iter().collect()),
        Err(problem) => Err(StoreError::RegistryDamaged { path, problem }),
    }
}

/// Buries a facility, before its entry is dropped.
///
/// # Errors
/// The file is damaged or cannot be replaced.
pub(super) fn bury(
    root: &Path,
    facility: &FacilityId,
    entry: Option<&FacilityEntry>,
    reason: &str,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let mut tombstones = read(root)?;
    if tombstones.contains_key(facility.as_str()) {
        return Ok(());
    }
    let mut stone = Map::new();
    let name = entry
        .and_then(FacilityEntry::name)
        .unwrap_or(facility.as_str());
    stone.insert("name".to_owned(), name.into());
    let state = entry.map_or("active", FacilityEntry::state_word);
    stone.insert("state".to_owned(), state.into());
    stone.insert("removed_at".to_owned(), stamp(now).into());
    stone.insert("reason".to_owned(), reason.into());
    if let Some(entry) = entry {
        let dataset_id = entry
            .dataset()
            .and_then(|dataset| dataset.get("dataset_id"));
        for (key, value) in [
            ("display_name", entry.fields().get("display_name")),
            ("dataset_id", dataset_id),
        ] {
            if let Some(text) = value.and_then(Value::as_str) {
                stone.insert(key.to_owned(), text.into());
            }
        }
    }
    tombstones.insert(facility.as_str().to_owned(), Value::Object(stone));
    write_json(
        &root.join(FILE),
        &Value::Object(tombstones.into_iter().collect()),
    )?;
    Ok(())
}
