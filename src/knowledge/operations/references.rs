//! Who names an entry, and giving those another one to name.

use serde_json::{Value, json};

use crate::knowledge::document::{
    Equipment, EquipmentType, KnowledgeDocument, SERVED_BY, Space, StandalonePoint,
};

use super::section::EntryKind;

/// Most referers that are listed; their number is told in full.
const MOST_LISTED: usize = 50;

/// A field of another entry that follows an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub kind: EntryKind,
    pub id: String,
    /// Name of the field, for roles `points.<role>` or `typical_points.<role>`.
    pub field: String,
    pub from: String,
    /// None when the field is cleared.
    pub to: Option<String>,
}

impl Change {
    /// As results carry it.
    pub fn to_json(&self) -> Value {
        json!({"kind": self.kind.name(), "id": self.id, "field": self.field, "from": self.from, "to": self.to})
    }
}

/// Those that name an entry which is to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Referers(Vec<Change>);

impl Referers {
    pub(super) fn new(changes: Vec<Change>) -> Self {
        Self(changes)
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The first ones, as errors carry them.
    pub fn to_json(&self) -> Value {
        let listed = self.0.iter().take(MOST_LISTED);
        listed
            .map(|change| json!({"kind": change.kind.name(), "id": change.id, "field": change.field}))
            .collect()
    }

    /// The first few in words.
    pub(super) fn summary(&self) -> String {
        const NAMED: usize = 3;
        let named = self.0.iter().take(NAMED);
        let mut words: Vec<String> = named
            .map(|change| format!("{} '{}' ({})", change.kind.noun(), change.id, change.field))
            .collect();
        if self.0.len() > NAMED {
            words.push(format!("{} more", self.0.len() - NAMED));
        }
        words.join(", ")
    }
}

/// Lets every field that names the space `from` name `to` instead; an entry never becomes its own parent.
pub(super) fn redirect_space(
    document: &mut KnowledgeDocument,
    from: &str,
    to: Option<&str>,
) -> Vec<Change> {
    let mut changes = Vec::new();
    for Space { id, parent, .. } in &mut document.spaces {
        let to = to.filter(|to| to != id);
        changes.extend(redirect(EntryKind::Space, id, "parent", parent, from, to));
    }
    for Equipment { id, space, .. } in &mut document.equipment {
        changes.extend(redirect(EntryKind::Equipment, id, "space", space, from, to));
    }
    for StandalonePoint { id, space, .. } in &mut document.points {
        changes.extend(redirect(EntryKind::Point, id, "space", space, from, to));
    }
    changes
}

/// Lets every field that names the equipment type `from` name `to` instead; a type never extends itself.
pub(super) fn redirect_equipment_type(
    document: &mut KnowledgeDocument,
    from: &str,
    to: Option<&str>,
) -> Vec<Change> {
    let mut changes = Vec::new();
    for EquipmentType { id, extends, .. } in &mut document.equipment_types {
        let to = to.filter(|to| to != id);
        changes.extend(redirect(
            EntryKind::EquipmentType,
            id,
            "extends",
            extends,
            from,
            to,
        ));
    }
    for Equipment {
        id, equipment_type, ..
    } in &mut document.equipment
    {
        changes.extend(redirect(
            EntryKind::Equipment,
            id,
            "type",
            equipment_type,
            from,
            to,
        ));
    }
    changes
}

/// Lets every list of what serves equipment that names `from` name `to` instead; equipment never serves itself.
pub(super) fn redirect_equipment(
    document: &mut KnowledgeDocument,
    from: &str,
    to: Option<&str>,
) -> Vec<Change> {
    let mut changes = Vec::new();
    for Equipment { id, extra, .. } in &mut document.equipment {
        let to = to.filter(|to| to != id);
        let Some(sources) = extra.get_mut(SERVED_BY) else {
            continue;
        };
        if !redirect_sources(sources, from, to) {
            continue;
        }
        if matches!(sources, Value::Null) || sources.as_array().is_some_and(Vec::is_empty) {
            extra.shift_remove(SERVED_BY);
        }
        changes.push(Change {
            kind: EntryKind::Equipment,
            id: id.clone(),
            field: SERVED_BY.to_owned(),
            from: from.to_owned(),
            to: to.map(str::to_owned),
        });
    }
    changes
}

/// One id or a list of ids, none of them twice afterwards; tells whether any was `from`.
fn redirect_sources(sources: &mut Value, from: &str, to: Option<&str>) -> bool {
    let names = |source: &Value| source.as_str() == Some(from);
    match sources {
        Value::Array(list) if list.iter().any(names) => {
            let mut is_there = to.is_none_or(|to| list.iter().any(|source| source == to));
            let former = std::mem::take(list);
            for source in former {
                if !names(&source) {
                    list.push(source);
                } else if let (false, Some(to)) = (is_there, to) {
                    list.push(Value::from(to));
                    is_there = true;
                }
            }
            true
        }
        one if names(one) => {
            *one = to.map_or(Value::Null, Value::from);
            true
        }
        _ => false,
    }
}

fn redirect(
    kind: EntryKind,
    id: &str,
    field: &str,
    reference: &mut Option<String>,
    from: &str,
    to: Option<&str>,
) -> Option<Change> {
    let named = reference.take_if(|named| named == from)?;
    *reference = to.map(str::to_owned);
    Some(Change {
        kind,
        id: id.to_owned(),
        field: field.to_owned(),
        from: named,
        to: reference.clone(),
    })
}
