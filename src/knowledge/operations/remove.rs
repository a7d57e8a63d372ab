//! Entries and roles that go, with what names them.

use crate::knowledge::document::{
    Equipment, EquipmentType, KnowledgeDocument, Space, StandalonePoint,
};

use super::error::{Holder, OperationError};
use super::lineage::{lineage, own_role};
use super::references::{
    Change, Referers, redirect_equipment, redirect_equipment_type, redirect_space,
};
use super::section::{Entry, EntryKind, find, find_mut, nearest, position};

/// An entry, or a role of equipment or of an equipment type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    Entry {
        kind: EntryKind,
        id: String,
    },
    EquipmentRole {
        equipment: String,
        role: String,
    },
    TypeRole {
        equipment_type: String,
        role: String,
    },
}

/// Removes an entry or a role and returns what changed with it.
///
/// With `follow` what named a space names the space's parent, what named an equipment type names the type it extends,
/// equipment that was served by the one that goes is not any more, and equipment loses the ord of a role that its type
/// no longer has. Without, any of these refuses the edit.
pub fn remove(
    document: &mut KnowledgeDocument,
    target: &Target,
    follow: bool,
) -> Result<Vec<Change>, OperationError> {
    let (changes, holder, what) = match target {
        Target::Entry { kind, id } => {
            let holder = Holder::new(*kind, id);
            let what = holder.to_string();
            (remove_entry(document, *kind, id)?, holder, what)
        }
        Target::EquipmentRole { equipment, role } => {
            let entry = find_mut::<Equipment>(document, equipment)?;
            if entry.points.shift_remove(role).is_none() {
                return Err(unknown_equipment_role(entry, role));
            }
            return Ok(Vec::new());
        }
        Target::TypeRole {
            equipment_type,
            role,
        } => {
            let holder = Holder::new(EntryKind::EquipmentType, equipment_type);
            let what = format!("role '{role}' of the {holder}");
            (
                remove_type_role(document, equipment_type, role)?,
                holder,
                what,
            )
        }
    };
    if follow || changes.is_empty() {
        return Ok(changes);
    }
    Err(OperationError::Referenced {
        what,
        holder,
        referers: Referers::new(changes),
    })
}

fn remove_entry(
    document: &mut KnowledgeDocument,
    kind: EntryKind,
    id: &str,
) -> Result<Vec<Change>, OperationError> {
    match kind {
        EntryKind::Space => {
            let gone = take::<Space>(document, id)?;
            let heir = existing::<Space>(document, gone.parent);
            Ok(redirect_space(document, id, heir.as_deref()))
        }
        EntryKind::EquipmentType => {
            let gone = take::<EquipmentType>(document, id)?;
            let heir = existing::<EquipmentType>(document, gone.extends);
            Ok(redirect_equipment_type(document, id, heir.as_deref()))
        }
        EntryKind::Equipment => {
            take::<Equipment>(document, id)?;
            Ok(redirect_equipment(document, id, None))
        }
        EntryKind::Point => take::<StandalonePoint>(document, id).map(|_| Vec::new()),
    }
}

/// Takes the only entry of that id out.
fn take<T: Entry>(document: &mut KnowledgeDocument, id: &str) -> Result<T, OperationError> {
    let at = position::<T>(document, id)?;
    Ok(T::all_mut(document).remove(at))
}

fn existing<T: Entry>(document: &KnowledgeDocument, id: Option<String>) -> Option<String> {
    id.filter(|id| find::<T>(document, id).is_some())
}

fn remove_type_role(
    document: &mut KnowledgeDocument,
    type_id: &str,
    role: &str,
) -> Result<Vec<Change>, OperationError> {
    let equipment_type = find_mut::<EquipmentType>(document, type_id)?;
    let Some(at) = equipment_type
        .typical_points
        .iter()
        .position(|point| point.role == role)
    else {
        return Err(unknown_type_role(equipment_type, role));
    };
    equipment_type.typical_points.remove(at);

    let orphaned: Vec<bool> = document
        .equipment
        .iter()
        .map(|entry| {
            entry.points.contains_key(role) && {
                let chain = lineage(
                    document,
                    entry.equipment_type.as_deref().unwrap_or_default(),
                );
                chain.iter().any(|above| above.id == type_id)
                    && chain.iter().all(|above| own_role(above, role).is_none())
            }
        })
        .collect();
    let mut changes = Vec::new();
    for (entry, orphaned) in document.equipment.iter_mut().zip(orphaned) {
        if orphaned && let Some(ord) = entry.points.shift_remove(role) {
            changes.push(Change {
                kind: EntryKind::Equipment,
                id: entry.id.clone(),
                field: format!("points.{role}"),
                from: ord,
                to: None,
            });
        }
    }
    Ok(changes)
}

pub(super) fn unknown_type_role(equipment_type: &EquipmentType, role: &str) -> OperationError {
    let roles = equipment_type.typical_points.iter();
    OperationError::UnknownRole {
        holder: Holder::new(EntryKind::EquipmentType, &equipment_type.id),
        role: role.to_owned(),
        nearest: nearest(roles.map(|point| point.role.as_str()), role),
    }
}

pub(super) fn unknown_equipment_role(equipment: &Equipment, role: &str) -> OperationError {
    OperationError::UnknownRole {
        holder: Holder::new(EntryKind::Equipment, &equipment.id),
        role: role.to_owned(),
        nearest: nearest(equipment.points.keys().map(String::as_str), role),
    }
}
