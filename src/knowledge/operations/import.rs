//! Another document merged in, or put in the place of this one (Tool surface §8.7).

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use crate::knowledge::document::{
    Equipment, EquipmentType, KnowledgeDocument, Space, StandalonePoint, mistyped_root_key,
    unknown_root_keys,
};

use super::checks::{Checked, check_texts};
use super::error::OperationError;
use super::lineage::refuse_cycle;
use super::section::{Entry, Nested, place};

/// Key of the list of schedules, which has entries with ids although this version does not read them.
const SCHEDULES: &str = "schedules";

/// What becomes of the entries that are there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportMode {
    /// Entries with new ids are added, the others skipped.
    Merge,
    /// The document is put in the place of the present one.
    Replace,
}

impl ImportMode {
    /// The word in arguments and results of tools.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Replace => "replace",
        }
    }
}

/// How many entries of a section came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SectionCount {
    pub added: usize,
    /// Entries whose id was there already.
    pub skipped: usize,
}

/// A key at the root of an imported document that this version does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownKey {
    pub key: String,
    /// Whether it came in as it is; in a merge what is there already stays.
    pub is_kept: bool,
}

/// How many entries of each section came in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Imported {
    pub spaces: SectionCount,
    pub equipment_types: SectionCount,
    pub equipment: SectionCount,
    pub points: SectionCount,
    /// Present when the imported document lists schedules.
    pub schedules: Option<SectionCount>,
    /// Keys at the root of the imported document that this version does not know.
    pub unknown_keys: Vec<UnknownKey>,
}

impl Imported {
    fn sections(&self) -> [SectionCount; 4] {
        [
            self.spaces,
            self.equipment_types,
            self.equipment,
            self.points,
        ]
    }

    /// Entries added to the four sections.
    pub fn added(&self) -> usize {
        self.sections().iter().map(|count| count.added).sum()
    }

    /// Entries of the four sections that were there already.
    pub fn skipped(&self) -> usize {
        self.sections().iter().map(|count| count.skipped).sum()
    }

    /// Counts per section, by the section's key.
    pub fn to_json(&self) -> Value {
        let count = |count: SectionCount| json!({"added": count.added, "skipped": count.skipped});
        let mut sections = json!({
            "spaces": count(self.spaces),
            "equipment_types": count(self.equipment_types),
            "equipment": count(self.equipment),
            "points": count(self.points),
        });
        if let Some(schedules) = self.schedules {
            sections[SCHEDULES] = count(schedules);
        }
        sections
    }
}

/// Brings a document in.
///
/// `names_section` tells whether its root names a section, be it without entries: such a document is meant to be empty.
///
/// Refused: a document with a key that is nearly the name of a section; one that names no section and has other keys or
/// would empty the model; an entry without id or with texts that no edit would take; an id twice in one section; a space or type
/// that closes a cycle. References to entries that do not exist are left for validation to report.
pub fn import(
    document: &mut KnowledgeDocument,
    incoming: KnowledgeDocument,
    mode: ImportMode,
    names_section: bool,
) -> Result<Imported, OperationError> {
    refuse_mistyped(&incoming)?;
    if !names_section {
        refuse_nothing(document, &incoming, mode)?;
    }
    refuse_unclear::<Space>(&incoming)?;
    refuse_unclear::<EquipmentType>(&incoming)?;
    refuse_unclear::<Equipment>(&incoming)?;
    refuse_unclear::<StandalonePoint>(&incoming)?;
    let unknown_keys = unknown_root_keys(&incoming).map(|key| UnknownKey {
        is_kept: mode == ImportMode::Replace || !document.extra.contains_key(key),
        key: key.to_owned(),
    });
    let unknown_keys = unknown_keys.collect();
    let new_spaces = new_places::<Space>(document, &incoming, mode);
    let new_types = new_places::<EquipmentType>(document, &incoming, mode);
    let mut imported = match mode {
        ImportMode::Replace => replace(document, incoming),
        ImportMode::Merge => merge(document, incoming),
    };
    imported.unknown_keys = unknown_keys;
    refuse_cycles::<Space>(document, &new_spaces)?;
    refuse_cycles::<EquipmentType>(document, &new_types)?;
    Ok(imported)
}

fn replace(document: &mut KnowledgeDocument, incoming: KnowledgeDocument) -> Imported {
    fn all<T>(entries: &[T]) -> SectionCount {
        SectionCount {
            added: entries.len(),
            skipped: 0,
        }
    }
    let imported = Imported {
        spaces: all(&incoming.spaces),
        equipment_types: all(&incoming.equipment_types),
        equipment: all(&incoming.equipment),
        points: all(&incoming.points),
        schedules: incoming
            .extra
            .get(SCHEDULES)
            .and_then(Value::as_array)
            .map(|list| all(list)),
        unknown_keys: Vec::new(),
    };
    *document = incoming;
    imported
}

fn merge(document: &mut KnowledgeDocument, incoming: KnowledgeDocument) -> Imported {
    Imported {
        spaces: add(&mut document.spaces, incoming.spaces),
        equipment_types: add(&mut document.equipment_types, incoming.equipment_types),
        equipment: add(&mut document.equipment, incoming.equipment),
        points: add(&mut document.points, incoming.points),
        schedules: merge_extra(&mut document.extra, incoming.extra),
        unknown_keys: Vec::new(),
    }
}

fn add<T: Entry>(entries: &mut Vec<T>, incoming: Vec<T>) -> SectionCount {
    let known: HashSet<String> = entries.iter().map(|entry| entry.id().to_owned()).collect();
    let total = incoming.len();
    let before = entries.len();
    entries.extend(
        incoming
            .into_iter()
            .filter(|entry| !known.contains(entry.id())),
    );
    let added = entries.len() - before;
    SectionCount {
        added,
        skipped: total - added,
    }
}

/// Root keys of other tools: new ones come in, present ones stay; schedules are merged by id.
fn merge_extra(
    extra: &mut Map<String, Value>,
    incoming: Map<String, Value>,
) -> Option<SectionCount> {
    let mut schedules = None;
    for (key, value) in incoming {
        match (extra.get_mut(&key), value) {
            (Some(Value::Array(present)), Value::Array(list)) if key == SCHEDULES => {
                let mut count = SectionCount::default();
                for item in list {
                    if present
                        .iter()
                        .any(|known| known.get("id") == item.get("id"))
                    {
                        count.skipped += 1;
                    } else {
                        count.added += 1;
                        present.push(item);
                    }
                }
                schedules = Some(count);
            }
            (Some(_), _) => {}
            (None, value) => {
                if key == SCHEDULES {
                    schedules = value.as_array().map(|list| SectionCount {
                        added: list.len(),
                        skipped: 0,
                    });
                }
                extra.insert(key, value);
            }
        }
    }
    schedules
}

/// What stands under a mistyped name would be kept and never be seen.
fn refuse_mistyped(incoming: &KnowledgeDocument) -> Result<(), OperationError> {
    for key in unknown_root_keys(incoming) {
        if let Some(section) = mistyped_root_key(key) {
            return Err(OperationError::ImportMistyped {
                key: key.to_owned(),
                section,
            });
        }
    }
    Ok(())
}

/// A mistyped section reads as a document without entries: nobody means to empty a model, or to keep foreign keys, so.
fn refuse_nothing(
    document: &KnowledgeDocument,
    incoming: &KnowledgeDocument,
    mode: ImportMode,
) -> Result<(), OperationError> {
    let is_empty = |document: &KnowledgeDocument| {
        document.spaces.is_empty()
            && document.equipment_types.is_empty()
            && document.equipment.is_empty()
            && document.points.is_empty()
            && !document.extra.contains_key(SCHEDULES)
    };
    let empties = mode == ImportMode::Replace && !is_empty(document);
    let only_foreign = incoming.station.is_empty() && !incoming.extra.is_empty();
    if is_empty(incoming) && (empties || only_foreign) {
        return Err(OperationError::ImportNothing {
            keys: incoming.extra.keys().cloned().collect(),
        });
    }
    Ok(())
}

fn refuse_unclear<T: Checked>(incoming: &KnowledgeDocument) -> Result<(), OperationError> {
    let mut first_places: HashMap<&str, usize> = HashMap::new();
    for (index, entry) in T::all(incoming).iter().enumerate() {
        if entry.id().trim().is_empty() {
            return Err(OperationError::ImportWithoutId {
                place: place::<T>(index),
            });
        }
        if let Some(first) = first_places.insert(entry.id(), index) {
            return Err(OperationError::ImportDuplicate {
                id: entry.id().to_owned(),
                first: place::<T>(first),
                second: place::<T>(index),
            });
        }
        check_texts(entry).map_err(|source| OperationError::ImportEntry {
            place: place::<T>(index),
            source: Box::new(source),
        })?;
    }
    Ok(())
}

/// Id and place in the incoming document of each entry that will be added.
fn new_places<T: Entry>(
    document: &KnowledgeDocument,
    incoming: &KnowledgeDocument,
    mode: ImportMode,
) -> Vec<(String, String)> {
    let known: HashSet<&str> = match mode {
        ImportMode::Merge => T::all(document).iter().map(Entry::id).collect(),
        ImportMode::Replace => HashSet::new(),
    };
    let entries = T::all(incoming).iter().enumerate();
    entries
        .filter(|(_, entry)| !known.contains(entry.id()))
        .map(|(index, entry)| (entry.id().to_owned(), place::<T>(index)))
        .collect()
}

/// Every new cycle leads through an entry that came in, so only those are followed.
fn refuse_cycles<T: Nested>(
    document: &KnowledgeDocument,
    new: &[(String, String)],
) -> Result<(), OperationError> {
    let mut above: HashMap<&str, Option<&str>> = HashMap::new();
    for entry in T::all(document) {
        above.entry(entry.id()).or_insert(entry.above());
    }
    for (id, place) in new {
        let parent = above.get(id.as_str()).copied().flatten();
        refuse_cycle::<T>(id, parent, |id| above.get(id).copied().flatten()).map_err(|source| {
            OperationError::ImportEntry {
                place: format!("{place}.{}", T::FIELD),
                source: Box::new(source),
            }
        })?;
    }
    Ok(())
}
