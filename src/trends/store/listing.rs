//! Which files a store and its facilities consist of (Store §1).

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::generation::modified_ns;
use super::part_facts::{self, PartFacts};
use super::wall_clock::Month;
use super::{FacilityId, StoreError, swap};
use crate::durable_file::failed;

const FACILITY_PREFIX: &str = "facility_id=";
const LEGACY_PREFIX: &str = "site=";
const MARKERS: [&str; 7] = [
    "_facilities.json",
    "_tombstones.json",
    "_workspace.json",
    "_catalog.json",
    "_catalog.gen",
    "_migrated.json",
    "_lock",
];

/// Folders below a facility go at most this deep: year and month, and some room for foreign layouts.
const DEEPEST: usize = 8;

/// The folder of a facility.
pub fn facility_folder(root: &Path, facility: &FacilityId) -> PathBuf {
    root.join(folder_name(facility))
}

/// The name of a facility's folder.
pub fn folder_name(facility: &FacilityId) -> String {
    format!("{FACILITY_PREFIX}{facility}")
}

/// Refuses a folder that holds something else than a store; an empty one may become a store.
pub(super) fn check_is_store(root: &Path) -> Result<(), StoreError> {
    let refused = |problem: String| StoreError::NotAStore {
        path: root.to_owned(),
        problem,
    };
    let entries = std::fs::read_dir(root).map_err(|error| refused(error.to_string()))?;
    let mut foreign = None;
    for entry in entries {
        let name = entry
            .map_err(|error| refused(error.to_string()))?
            .file_name();
        let name = name.to_string_lossy();
        if name.starts_with(FACILITY_PREFIX)
            || name.starts_with(LEGACY_PREFIX)
            || MARKERS.contains(&name.as_ref())
        {
            return Ok(());
        }
        if !name.starts_with('.') && foreign.is_none() {
            foreign = Some(name.into_owned());
        }
    }
    match foreign {
        None => Ok(()),
        Some(name) => Err(refused(format!("it holds {name:?} and no facility folder"))),
    }
}

/// The facilities that have a folder, or would have one if a swap had not been stopped halfway; sorted.
///
/// Folders whose name is no facility id belong to nobody.
pub(super) fn facility_folders(root: &Path) -> Result<Vec<FacilityId>, StoreError> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).map_err(failed("read the folder", root))? {
        let entry = entry.map_err(failed("read the folder", root))?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let swapped = swap::name_in_ready_mark(name);
        let Some(Ok(facility)) = swapped
            .unwrap_or(name)
            .strip_prefix(FACILITY_PREFIX)
            .map(FacilityId::parse)
        else {
            continue;
        };
        if swapped.is_some() || entry.path().is_dir() {
            found.push(facility);
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// One visible file below a facility's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFile {
    /// Path below the facility's folder, with `/` between names.
    pub relative: String,
    pub size: u64,
    /// Nanoseconds since 1970.
    pub modified_ns: u128,
}

/// All visible files of a facility in the order of their paths.
///
/// # Errors
/// The facility has no folder, or a folder cannot be read.
pub(super) fn files(folder: &Path, facility: &FacilityId) -> Result<Vec<ListedFile>, StoreError> {
    if !folder.is_dir() {
        return Err(StoreError::NoData(facility.clone()));
    }
    let mut found = Vec::new();
    walk(folder, "", 0, facility, &mut found)?;
    found.sort_unstable_by(|a, b| a.relative.cmp(&b.relative));
    Ok(found)
}

fn walk(
    folder: &Path,
    below: &str,
    depth: usize,
    facility: &FacilityId,
    found: &mut Vec<ListedFile>,
) -> Result<(), StoreError> {
    let unreadable = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => StoreError::Replaced {
            facility: facility.clone(),
        },
        _ => damaged(facility, folder, &error.to_string()),
    };
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            return Err(damaged(
                facility,
                &entry.path(),
                "its name is no Unicode text",
            ));
        };
        if name.starts_with(['_', '.']) {
            continue;
        }
        let relative = if below.is_empty() {
            name.to_owned()
        } else {
            format!("{below}/{name}")
        };
        // Links are followed, as CAMBER follows them.
        let facts = match std::fs::metadata(entry.path()) {
            // Asking again would not help: the link itself is still there.
            Err(error) if error.kind() == ErrorKind::NotFound && entry.path().is_symlink() => {
                let problem = "it is a link that leads nowhere";
                return Err(damaged(facility, &entry.path(), problem));
            }
            facts => facts.map_err(unreadable)?,
        };
        if facts.is_dir() {
            if depth >= DEEPEST {
                return Err(damaged(facility, &entry.path(), "its folders go too deep"));
            }
            walk(&entry.path(), &relative, depth + 1, facility, found)?;
        } else {
            found.push(ListedFile {
                relative,
                size: facts.len(),
                modified_ns: modified_ns(&facts),
            });
        }
    }
    Ok(())
}

fn damaged(facility: &FacilityId, path: &Path, problem: &str) -> StoreError {
    StoreError::Damaged {
        facility: facility.clone(),
        path: path.to_owned(),
        problem: problem.to_owned(),
    }
}

/// One part file with the facts of its footer, or what is wrong with it.
#[derive(Debug, Clone)]
pub struct Part {
    pub file: ListedFile,
    /// From the folders it lies in.
    pub year: Option<i32>,
    /// From the folders it lies in; none for a legacy part of a whole year.
    pub month: Option<u32>,
    pub facts: Result<Arc<PartFacts>, String>,
}

impl Part {
    /// The file's own name.
    pub fn name(&self) -> &str {
        self.file
            .relative
            .rsplit('/')
            .next()
            .unwrap_or(&self.file.relative)
    }

    /// The folder of the part below that of the facility, `""` for the facility's own.
    pub fn partition(&self) -> &str {
        self.file
            .relative
            .rsplit_once('/')
            .map_or("", |(folder, _)| folder)
    }

    /// The month by its folders.
    pub fn calendar_month(&self) -> Option<Month> {
        Some(Month {
            year: self.year?,
            month: self.month?,
        })
    }

    /// First and last stamp that the part may hold: by its statistics, else by its folders.
    pub fn span(&self) -> (i64, i64) {
        if let Ok(facts) = &self.facts
            && let Some(span) = facts.span
        {
            return span;
        }
        match (self.year, self.month) {
            (Some(year), Some(month)) => {
                let month = Month { year, month };
                (month.start(), month.end().saturating_sub(1))
            }
            (Some(year), None) => (
                Month { year, month: 1 }.start(),
                Month { year, month: 12 }.end().saturating_sub(1),
            ),
            (None, _) => (i64::MIN, i64::MAX),
        }
    }
}

/// The parts of one facility in the order of their paths.
#[derive(Debug, Default)]
pub struct IndexedParts {
    pub parts: Vec<Part>,
}

impl IndexedParts {
    /// Lists the parts; footers are read only where `earlier` has no part of that path, size and time.
    pub(super) fn list(
        root: &Path,
        facility: &FacilityId,
        earlier: Option<&Self>,
    ) -> Result<Self, StoreError> {
        let folder = facility_folder(root, facility);
        let known: HashMap<&str, &Part> = earlier
            .iter()
            .flat_map(|earlier| &earlier.parts)
            .map(|part| (part.file.relative.as_str(), part))
            .collect();
        let mut parts = Vec::new();
        for file in files(&folder, facility)? {
            if !file.relative.ends_with(".parquet") {
                continue;
            }
            if let Some(same) = known.get(file.relative.as_str())
                && same.file == file
            {
                parts.push((*same).clone());
                continue;
            }
            let facts = match part_facts::read(&folder.join(&file.relative)) {
                Ok(facts) => Ok(Arc::new(facts)),
                Err(part_facts::Unreadable::Missing) => {
                    return Err(StoreError::Replaced {
                        facility: facility.clone(),
                    });
                }
                Err(part_facts::Unreadable::Damaged(problem)) => Err(problem),
            };
            let number = |key: &str| {
                file.relative
                    .split('/')
                    .find_map(|name| name.strip_prefix(key)?.parse().ok())
            };
            let year = number("year=");
            let month = number("month=")
                .and_then(|month| u32::try_from(month).ok())
                .filter(|month| (1..=12).contains(month));
            parts.push(Part {
                file,
                year,
                month,
                facts,
            });
        }
        Ok(Self { parts })
    }
}
