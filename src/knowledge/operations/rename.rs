//! New ids and new names of roles; what names the old one follows.

use crate::knowledge::document::{
    Equipment, EquipmentType, KnowledgeDocument, Space, StandalonePoint,
};

use super::checks::check_role;
use super::error::{Holder, OperationError};
use super::lineage::{lineage, own_role, parent_in, refuse_cycle};
use super::references::{Change, redirect_equipment, redirect_equipment_type, redirect_space};
use super::remove::{Target, unknown_equipment_role, unknown_type_role};
use super::section::{Entry, EntryKind, Nested, check_new_id, find, find_mut};

/// Renames an entry or a role and returns what followed.
///
/// A role of an equipment type is renamed in the types that extend it and in their equipment as well.
pub fn rename(
    document: &mut KnowledgeDocument,
    target: &Target,
    new: &str,
) -> Result<Vec<Change>, OperationError> {
    match target {
        Target::Entry { kind, id } => match kind {
            EntryKind::Space => {
                rename_entry::<Space>(document, id, new)?;
                let changes = redirect_space(document, id, Some(new));
                refuse_new_cycle::<Space>(document, new)?;
                Ok(changes)
            }
            EntryKind::EquipmentType => {
                rename_entry::<EquipmentType>(document, id, new)?;
                let changes = redirect_equipment_type(document, id, Some(new));
                refuse_new_cycle::<EquipmentType>(document, new)?;
                Ok(changes)
            }
            EntryKind::Equipment => {
                rename_entry::<Equipment>(document, id, new)?;
                Ok(redirect_equipment(document, id, Some(new)))
            }
            EntryKind::Point => {
                rename_entry::<StandalonePoint>(document, id, new).map(|()| Vec::new())
            }
        },
        Target::EquipmentRole { equipment, role } => {
            let entry = find_mut::<Equipment>(document, equipment)?;
            rename_equipment_role(entry, role, new)?;
            Ok(Vec::new())
        }
        Target::TypeRole {
            equipment_type,
            role,
        } => rename_type_role(document, equipment_type, role, new),
    }
}

fn rename_entry<T: Entry>(
    document: &mut KnowledgeDocument,
    id: &str,
    new: &str,
) -> Result<(), OperationError> {
    // The entry is looked up first: an unknown id is the more useful refusal.
    find_mut::<T>(document, id)?;
    check_new_id::<T>(document, new)?;
    find_mut::<T>(document, id)?.set_id(new.to_owned());
    Ok(())
}

/// An entry that named the new id before there was one may lie above the renamed entry.
fn refuse_new_cycle<T: Nested>(
    document: &KnowledgeDocument,
    id: &str,
) -> Result<(), OperationError> {
    let parent = find::<T>(document, id).and_then(Nested::above);
    refuse_cycle::<T>(id, parent, parent_in::<T>(document))
}

fn rename_equipment_role(
    equipment: &mut Equipment,
    role: &str,
    new: &str,
) -> Result<(), OperationError> {
    let holder = Holder::new(EntryKind::Equipment, &equipment.id);
    let Some(at) = equipment.points.get_index_of(role) else {
        return Err(unknown_equipment_role(equipment, role));
    };
    check_role(&holder, new)?;
    if equipment.points.contains_key(new) {
        return Err(OperationError::DuplicateRole {
            holder,
            role: new.to_owned(),
        });
    }
    if let Some((_, ord)) = equipment.points.shift_remove_index(at) {
        equipment.points.shift_insert(at, new.to_owned(), ord);
    }
    Ok(())
}

fn rename_type_role(
    document: &mut KnowledgeDocument,
    type_id: &str,
    role: &str,
    new: &str,
) -> Result<Vec<Change>, OperationError> {
    let holder = Holder::new(EntryKind::EquipmentType, type_id);
    let equipment_type = find_mut::<EquipmentType>(document, type_id)?;
    if own_role(equipment_type, role).is_none() {
        return Err(unknown_type_role(equipment_type, role));
    }
    check_role(&holder, new)?;
    for above in lineage(document, type_id).iter().skip(1) {
        if own_role(above, role).is_some() {
            return Err(OperationError::InheritedRole {
                holder,
                role: role.to_owned(),
                ancestor: above.id.clone(),
            });
        }
        refuse_role(above, new)?;
    }
    let family: Vec<String> = document
        .equipment_types
        .iter()
        .filter(|member| {
            let mut chain = lineage(document, &member.id).into_iter();
            chain.any(|above| above.id == type_id)
        })
        .map(|member| member.id.clone())
        .collect();

    let mut changes = Vec::new();
    for member in document
        .equipment_types
        .iter_mut()
        .filter(|member| family.contains(&member.id))
    {
        refuse_role(member, new)?;
        for point in &mut member.typical_points {
            if point.role == role {
                point.role = new.to_owned();
                if member.id != type_id {
                    changes.push(followed(
                        EntryKind::EquipmentType,
                        &member.id,
                        "typical_points",
                        role,
                        new,
                    ));
                }
            }
        }
    }
    let belongs = |entry: &Equipment| {
        let type_id = entry.equipment_type.as_ref();
        type_id.is_some_and(|id| family.contains(id)) && entry.points.contains_key(role)
    };
    for entry in document.equipment.iter_mut().filter(|entry| belongs(entry)) {
        rename_equipment_role(entry, role, new)?;
        changes.push(followed(
            EntryKind::Equipment,
            &entry.id,
            "points",
            role,
            new,
        ));
    }
    Ok(changes)
}

fn refuse_role(equipment_type: &EquipmentType, role: &str) -> Result<(), OperationError> {
    match own_role(equipment_type, role) {
        Some(_) => Err(OperationError::DuplicateRole {
            holder: Holder::new(EntryKind::EquipmentType, &equipment_type.id),
            role: role.to_owned(),
        }),
        None => Ok(()),
    }
}

fn followed(kind: EntryKind, id: &str, field: &str, from: &str, to: &str) -> Change {
    Change {
        kind,
        id: id.to_owned(),
        field: field.to_owned(),
        from: from.to_owned(),
        to: Some(to.to_owned()),
    }
}
