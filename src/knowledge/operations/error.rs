//! Why an edit of the knowledge is refused.

use std::fmt;

use serde_json::{Map, Value, json};

use super::section::EntryKind;
use crate::knowledge::error::EditError;
use crate::station::echo::shortened;
use crate::station::ord::OrdError;

/// The entry that an edit concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub kind: EntryKind,
    pub id: String,
}

impl Holder {
    pub fn new(kind: EntryKind, id: &str) -> Self {
        Self {
            kind,
            id: id.to_owned(),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} '{}'", self.kind.noun(), self.id)
    }
}

/// Why an edit is refused; every text names the entry and what to do (Tool surface §8.6).
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OperationError {
    #[error("The {} id '{id}' {problem}.", kind.noun())]
    BadId {
        kind: EntryKind,
        id: String,
        problem: String,
    },
    #[error("The name of the {holder} {problem}.")]
    BadName {
        holder: Holder,
        problem: &'static str,
    },
    #[error(
        "The alias {:?} of the {holder} contains a line break or another control character; remove it.",
        shortened(alias)
    )]
    BadAlias { holder: Holder, alias: String },
    #[error(
        "The id of the {holder} is used {} times in the file, at {}; it is not known which of them is meant. Give the \
         others ids of their own in the file, then call reloadKnowledge.",
        places.len(), places.join(", ")
    )]
    AmbiguousId {
        holder: Holder,
        /// Paths of all entries of that id.
        places: Vec<String>,
    },
    #[error("The {holder} exists already; choose another id or update that entry.")]
    DuplicateId { holder: Holder },
    #[error("There is no {holder}{}.", suggestion(nearest))]
    UnknownId {
        holder: Holder,
        /// The id most like it, when one is near.
        nearest: Option<String>,
    },
    #[error("The {holder} names the {} '{target}' as its {field}, which does not exist{}; create it first or leave {field} out.", target_kind.noun(), suggestion(nearest))]
    UnknownReference {
        holder: Holder,
        field: &'static str,
        target_kind: EntryKind,
        target: String,
        nearest: Option<String>,
    },
    #[error("The {holder} cannot have that {field}: it would close the cycle {}.", path.join(" → "))]
    Cycle {
        holder: Holder,
        field: &'static str,
        /// Ids along the cycle, from the entry back to itself.
        path: Vec<String>,
    },
    #[error("The {field} of the {holder} cannot be used: {source}.")]
    Ord {
        holder: Holder,
        field: String,
        ord: String,
        source: Box<OrdError>,
    },
    #[error("A role of the {holder} {problem}.")]
    BadRole {
        holder: Holder,
        role: String,
        problem: String,
    },
    #[error("The {holder} has no role '{role}'{}.", suggestion(nearest))]
    UnknownRole {
        holder: Holder,
        role: String,
        nearest: Option<String>,
    },
    #[error(
        "The {holder} has the role '{role}' already; choose another name or delete that role first."
    )]
    DuplicateRole { holder: Holder, role: String },
    #[error(
        "The {holder} takes the role '{role}' over from the equipment type '{ancestor}'; rename it there."
    )]
    InheritedRole {
        holder: Holder,
        role: String,
        ancestor: String,
    },
    #[error("The {what} is used by {}; change those first, or ask with references = follow.", referers.summary())]
    Referenced {
        what: String,
        holder: Holder,
        referers: super::Referers,
    },
    #[error("There is nothing to create: the list of items is empty.")]
    EmptyBatch,
    #[error("Item {index} of the list is refused and nothing was created: {source}")]
    Item {
        /// Position in the list, from 0.
        index: usize,
        source: Box<OperationError>,
    },
    #[error(
        "The document to import has no id at {place}; give every entry an id. Nothing was imported."
    )]
    ImportWithoutId { place: String },
    #[error(
        "The document to import has the id '{id}' twice, at {first} and {second}; keep one of them. Nothing was imported."
    )]
    ImportDuplicate {
        id: String,
        first: String,
        second: String,
    },
    #[error(
        "The document to import has no entry in spaces, equipment_types, equipment or points{}; check the names of its sections. Nothing was imported.",
        other_keys(keys)
    )]
    ImportNothing {
        /// Keys of its root that are no section.
        keys: Vec<String>,
    },
    #[error(
        "The document to import has the key '{}' at its root, which is no section; write '{section}' if that is what it \
         is. Nothing was imported.",
        shortened(key)
    )]
    ImportMistyped {
        key: String,
        /// The section whose name is nearly that.
        section: &'static str,
    },
    #[error("The document to import is wrong at {place}: {source} Nothing was imported.")]
    ImportEntry {
        place: String,
        source: Box<OperationError>,
    },
}

/// The first few keys that a document has in place of sections.
fn other_keys(keys: &[String]) -> String {
    if keys.is_empty() {
        return String::new();
    }
    let some: Vec<_> = keys.iter().take(5).map(|key| shortened(key)).collect();
    format!(", its keys are {}", some.join(", "))
}

fn suggestion(nearest: &Option<String>) -> String {
    nearest
        .as_ref()
        .map_or_else(String::new, |id| format!("; the nearest is '{id}'"))
}

impl OperationError {
    /// What programs can read of the error: always the `id` when there is one, and what else it names.
    pub fn data(&self) -> Map<String, Value> {
        let value = match self {
            Self::BadId { kind, id, .. } => json!({"id": id, "kind": kind.name()}),
            Self::DuplicateId { holder } => entry(holder),
            Self::UnknownId { holder, nearest } => with(entry(holder), "nearest", nearest),
            Self::UnknownReference {
                holder,
                field,
                target,
                target_kind,
                nearest,
            } => {
                let data = json!({"id": target, "kind": target_kind.name(), "field": field, "of": entry(holder)});
                with(data, "nearest", nearest)
            }
            Self::Cycle {
                holder,
                field,
                path,
            } => with(with(entry(holder), "field", field), "cycle", path),
            Self::Ord {
                holder, field, ord, ..
            } => with(with(entry(holder), "field", field), "ord", ord),
            Self::BadName { holder, .. } => with(entry(holder), "field", "name"),
            Self::BadAlias { holder, .. } => with(entry(holder), "field", "aliases"),
            Self::AmbiguousId { holder, places } => with(entry(holder), "paths", places),
            Self::BadRole { holder, role, .. } => with(entry(holder), "role", role),
            Self::UnknownRole {
                holder,
                role,
                nearest,
            } => with(with(entry(holder), "role", role), "nearest", nearest),
            Self::DuplicateRole { holder, role } => with(entry(holder), "role", role),
            Self::InheritedRole {
                holder,
                role,
                ancestor,
            } => with(with(entry(holder), "role", role), "inheritedFrom", ancestor),
            Self::Referenced {
                holder, referers, ..
            } => with(
                with(entry(holder), "refererCount", referers.count()),
                "referers",
                referers.to_json(),
            ),
            Self::EmptyBatch => json!({"argument": "items"}),
            Self::Item { index, source } => with(Value::Object(source.data()), "item", index),
            Self::ImportMistyped { key, section } => json!({"path": key, "nearest": section}),
            Self::ImportNothing { .. } => json!({"path": "the root"}),
            Self::ImportWithoutId { place } => json!({"path": place}),
            Self::ImportDuplicate { id, first, second } => {
                json!({"id": id, "path": second, "firstPath": first})
            }
            Self::ImportEntry { place, source } => {
                with(Value::Object(source.data()), "path", place)
            }
        };
        match value {
            Value::Object(map) => map,
            _ => Map::new(),
        }
    }
}

impl From<OperationError> for EditError {
    fn from(error: OperationError) -> Self {
        Self::Refused {
            message: error.to_string(),
            data: error.data(),
        }
    }
}

fn entry(holder: &Holder) -> Value {
    json!({"id": holder.id, "kind": holder.kind.name()})
}

fn with(mut value: Value, key: &str, content: impl serde::Serialize) -> Value {
    let content = json!(content);
    if let (Value::Object(map), false) = (&mut value, content.is_null()) {
        map.insert(key.to_owned(), content);
    }
    value
}
