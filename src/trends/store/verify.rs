//! Whether a store is whole: every part is read to its last row (Store §3.2, §9).

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::decode::{RowBatch, Wanted, Words};
use super::listing::{Part, folder_name};
use super::registry::RegistryCondition;
use super::view::FacilityView;
use super::{FacilityId, StoreError, TrendStore, leftovers, swap};

/// A part and what is to be said of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartRemark {
    /// Path below the root.
    pub part: String,
    pub remark: String,
}

/// What was found of one facility.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FacilityVerdict {
    pub facility_id: String,
    pub parts: usize,
    pub rows: u64,
    pub bytes: u64,
    /// Parts that cannot be read.
    pub unreadable: Vec<PartRemark>,
    /// Parts that read well but are not in the canonical layout.
    pub non_canonical: Vec<PartRemark>,
    /// Parts with rows outside of the month whose folder they lie in: reads of a window may miss them.
    pub misplaced: Vec<PartRemark>,
}

impl FacilityVerdict {
    fn of(facility: &FacilityId) -> Self {
        Self {
            facility_id: facility.as_str().to_owned(),
            parts: 0,
            rows: 0,
            bytes: 0,
            unreadable: Vec::new(),
            non_canonical: Vec::new(),
            misplaced: Vec::new(),
        }
    }
}

/// What was found of a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoreVerdict {
    pub facilities: Vec<FacilityVerdict>,
    /// What killed writers left; the next writer tidies it up.
    pub leftovers: Vec<String>,
    /// Facilities whose data lie in an interrupted swap, so that readers see none until the next writer.
    pub stranded: Vec<String>,
    /// Registered facilities without parts.
    pub empty: Vec<String>,
    /// What is wrong with the registry.
    pub registry: Option<String>,
}

impl StoreVerdict {
    /// Whether data cannot be read: unreadable parts, stranded data, a damaged registry.
    pub fn is_damaged(&self) -> bool {
        !self.stranded.is_empty()
            || self.registry.is_some()
            || self
                .facilities
                .iter()
                .any(|facility| !facility.unreadable.is_empty())
    }

    /// Whether there is nothing at all to remark.
    pub fn is_clean(&self) -> bool {
        !self.is_damaged()
            && self.leftovers.is_empty()
            && self.empty.is_empty()
            && self
                .facilities
                .iter()
                .all(|facility| facility.non_canonical.is_empty() && facility.misplaced.is_empty())
    }
}

impl TrendStore {
    /// A path of the store without its root, for people.
    fn relative(&self, path: &Path) -> String {
        let below = path.strip_prefix(self.root()).unwrap_or(path);
        below.to_string_lossy().replace('\\', "/")
    }

    /// Reads every part of the store, or of one facility, to its last row. Takes no lock.
    ///
    /// # Errors
    /// The facility is unknown or the store itself cannot be read; damaged parts and folders are findings, not errors.
    pub fn verify(&self, only: Option<&FacilityId>) -> Result<StoreVerdict, StoreError> {
        let registry = self.registry();
        let known = self.facilities()?;
        let stranded: Vec<&FacilityId> = known
            .iter()
            .filter(|facility| {
                !self.has_partition(facility)
                    && swap::is_halfway(self.root(), &folder_name(facility))
            })
            .collect();
        if let Some(only) = only
            && !known.contains(only)
            && registry.entry(only.as_str()).is_none()
        {
            return Err(StoreError::NoData(only.clone()));
        }
        let wanted = |facility: &FacilityId| only.is_none_or(|only| only == facility);
        let mut facilities = Vec::new();
        let readable = |facility: &&FacilityId| wanted(facility) && !stranded.contains(facility);
        for facility in known.iter().filter(readable) {
            facilities.push(match self.read(facility, verdict) {
                // Its folder cannot be listed: the others are looked at all the same.
                Err(StoreError::Damaged { path, problem, .. }) => {
                    unlisted(facility, self.relative(&path), problem)
                }
                verdict => verdict?,
            });
        }
        let parts_of: BTreeMap<&str, usize> = facilities
            .iter()
            .map(|found: &FacilityVerdict| (found.facility_id.as_str(), found.parts))
            .collect();
        let empty = registry
            .entries()
            .keys()
            .filter(|id| only.is_none_or(|only| only.as_str() == *id))
            .filter(|id| parts_of.get(id.as_str()).is_none_or(|parts| *parts == 0))
            .filter(|id| !stranded.iter().any(|facility| facility.as_str() == *id))
            .cloned()
            .collect();
        Ok(StoreVerdict {
            empty,
            leftovers: leftovers::find(self.root())?,
            stranded: stranded
                .iter()
                .filter(|facility| wanted(facility))
                .map(|facility| facility.as_str().to_owned())
                .collect(),
            registry: match registry.condition() {
                RegistryCondition::Damaged(problem) => Some(problem.clone()),
                RegistryCondition::Missing | RegistryCondition::Sound => None,
            },
            facilities,
        })
    }
}

/// What is told of a facility whose folder cannot be listed.
fn unlisted(facility: &FacilityId, part: String, remark: String) -> FacilityVerdict {
    FacilityVerdict {
        unreadable: vec![PartRemark { part, remark }],
        ..FacilityVerdict::of(facility)
    }
}

fn verdict(view: &FacilityView) -> Result<FacilityVerdict, StoreError> {
    let mut found = FacilityVerdict {
        parts: view.parts().len(),
        ..FacilityVerdict::of(view.facility())
    };
    for part in view.parts() {
        found.bytes += part.file.size;
        let remark = |remark: String| PartRemark {
            part: format!("{}/{}", folder_name(view.facility()), part.file.relative),
            remark,
        };
        match read_through(view, part) {
            Ok(rows) => {
                found.rows += rows.count;
                if !rows.departures.is_empty() {
                    found.non_canonical.push(remark(rows.departures.join(", ")));
                }
                if rows.misplaced > 0 {
                    found.misplaced.push(remark(format!(
                        "{} rows belong to another month than the folder says",
                        rows.misplaced
                    )));
                }
            }
            Err(StoreError::Damaged { problem, .. }) => found.unreadable.push(remark(problem)),
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

struct ReadThrough {
    count: u64,
    departures: Vec<&'static str>,
    misplaced: u64,
}

/// What rows are sorted by: stamp, equipment, role, class, value.
type Key<'a> = (i64, &'a str, &'a str, &'a str, f64);

/// The last key of a batch, to compare the first of the next with.
struct OwnedKey {
    stamp: i64,
    equip: String,
    role: String,
    class: String,
    value: f64,
}

impl OwnedKey {
    fn of(key: &Key<'_>) -> Self {
        Self {
            stamp: key.0,
            equip: key.1.to_owned(),
            role: key.2.to_owned(),
            class: key.3.to_owned(),
            value: key.4,
        }
    }

    fn borrowed(&self) -> Key<'_> {
        (self.stamp, &self.equip, &self.role, &self.class, self.value)
    }
}

fn key<'a>(batch: &'a RowBatch<'_>, row: usize) -> Key<'a> {
    let word = |words: &'a Words<'_>| {
        words
            .code(row)
            .and_then(|code| words.words().get(code).copied())
            .unwrap_or_default()
    };
    (
        batch.stamps.get(row).copied().unwrap_or(i64::MIN),
        word(&batch.equip),
        word(&batch.role),
        batch.class.as_ref().map(word).unwrap_or_default(),
        batch.values.get(row).copied().unwrap_or(f64::NAN),
    )
}

fn read_through(view: &FacilityView, part: &Part) -> Result<ReadThrough, StoreError> {
    let facts = view.facts(part)?;
    let mut departures = facts.layout.departures();
    let (start, end) = match (part.year, part.month) {
        (Some(year), Some(month)) => {
            let month = super::wall_clock::Month { year, month };
            (month.start(), month.end())
        }
        _ => (i64::MIN, i64::MAX),
    };
    let mut rows = ReadThrough {
        count: 0,
        departures: Vec::new(),
        misplaced: 0,
    };
    let mut sorted = true;
    let mut before: Option<OwnedKey> = None;
    view.decode(part, Wanted::ALL, &mut |batch| {
        rows.count += batch.rows as u64;
        for row in batch.sound_rows() {
            let Some(stamp) = batch.stamps.get(row) else {
                continue;
            };
            if !(start..end).contains(stamp) {
                rows.misplaced += 1;
            }
            if sorted {
                sorted = match (row.checked_sub(1), &before) {
                    (Some(earlier), _) => is_in_order(&key(batch, earlier), &key(batch, row)),
                    (None, Some(last)) => is_in_order(&last.borrowed(), &key(batch, row)),
                    (None, None) => true,
                };
            }
        }
        before = batch
            .rows
            .checked_sub(1)
            .map(|last| OwnedKey::of(&key(batch, last)));
        Ok(())
    })?;
    if !sorted {
        departures.push("rows not sorted");
    }
    rows.departures = departures;
    Ok(rows)
}

fn is_in_order(a: &Key<'_>, b: &Key<'_>) -> bool {
    (a.0, a.1, a.2, a.3)
        .cmp(&(b.0, b.1, b.2, b.3))
        .then(a.4.partial_cmp(&b.4).unwrap_or(std::cmp::Ordering::Equal))
        .is_le()
}
