//! Changes of entries that exist: only what is given changes (Tool surface §8.6).

use indexmap::IndexMap;

use crate::knowledge::document::{
    Equipment, EquipmentType, KnowledgeDocument, Space, TypicalPoint,
};

use super::checks::{check_aliases, check_name, check_roles};
use super::create::{checked_role, filled};
use super::error::{Holder, OperationError};
use super::lineage::{parent_in, refuse_cycle};
use super::section::{EntryKind, check_reference, find_mut, position, stored_ord};

/// New fields of a space; an empty text clears a field that an entry can do without.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SpaceUpdate {
    pub name: Option<String>,
    /// Takes the place of the whole list.
    pub aliases: Option<Vec<String>>,
    pub space_type: Option<String>,
    pub description: Option<String>,
    pub parent: Option<String>,
}

/// New fields of an equipment type; an empty text clears a field that an entry can do without.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EquipmentTypeUpdate {
    pub name: Option<String>,
    /// Takes the place of the whole list.
    pub aliases: Option<Vec<String>>,
    pub description: Option<String>,
    pub extends: Option<String>,
    /// Takes the place of the whole list; what a role had beyond the known fields stays with the role.
    pub typical_points: Option<Vec<TypicalPoint>>,
}

/// New fields of equipment; an empty text clears a field that an entry can do without.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EquipmentUpdate {
    pub name: Option<String>,
    /// Takes the place of the whole list.
    pub aliases: Option<Vec<String>>,
    pub equipment_type: Option<String>,
    pub space: Option<String>,
    pub ord: Option<String>,
    pub description: Option<String>,
    /// Ords by role, added to those that are there.
    pub points: IndexMap<String, String>,
    /// Takes the place of the whole list.
    pub notes: Option<Vec<String>>,
}

/// Changes a space; a parent must exist and must not lie below the space.
pub fn update_space(
    document: &mut KnowledgeDocument,
    id: &str,
    update: SpaceUpdate,
) -> Result<(), OperationError> {
    position::<Space>(document, id)?;
    let holder = Holder::new(EntryKind::Space, id);
    check_name(&holder, update.name.as_deref())?;
    check_aliases(&holder, update.aliases.as_deref().unwrap_or_default())?;
    let parent = given(&update.parent);
    check_reference::<Space>(document, &holder, "parent", parent)?;
    refuse_cycle::<Space>(id, parent, parent_in::<Space>(document))?;
    let space = find_mut::<Space>(document, id)?;
    set(&mut space.name, update.name);
    replace(&mut space.aliases, update.aliases);
    set(&mut space.space_type, update.space_type);
    set(&mut space.description, update.description);
    set(&mut space.parent, update.parent);
    Ok(())
}

/// Changes an equipment type; the type it extends must exist and must not extend this one.
pub fn update_equipment_type(
    document: &mut KnowledgeDocument,
    id: &str,
    update: EquipmentTypeUpdate,
) -> Result<(), OperationError> {
    position::<EquipmentType>(document, id)?;
    let holder = Holder::new(EntryKind::EquipmentType, id);
    check_name(&holder, update.name.as_deref())?;
    check_aliases(&holder, update.aliases.as_deref().unwrap_or_default())?;
    let extends = given(&update.extends);
    check_reference::<EquipmentType>(document, &holder, "extends", extends)?;
    refuse_cycle::<EquipmentType>(id, extends, parent_in::<EquipmentType>(document))?;
    if let Some(points) = &update.typical_points {
        check_roles(&holder, points)?;
    }
    let equipment_type = find_mut::<EquipmentType>(document, id)?;
    set(&mut equipment_type.name, update.name);
    replace(&mut equipment_type.aliases, update.aliases);
    set(&mut equipment_type.description, update.description);
    set(&mut equipment_type.extends, update.extends);
    if let Some(mut points) = update.typical_points {
        for point in &mut points {
            let before = equipment_type.typical_points.iter();
            if let Some(known) = before.clone().find(|known| known.role == point.role) {
                for (key, value) in &known.extra {
                    let slot = point.extra.entry(key.clone());
                    slot.or_insert_with(|| value.clone());
                }
            }
        }
        equipment_type.typical_points = points;
    }
    Ok(())
}

/// Changes equipment; a type and a space must exist, and ords must be ords.
pub fn update_equipment(
    document: &mut KnowledgeDocument,
    id: &str,
    update: EquipmentUpdate,
) -> Result<(), OperationError> {
    position::<Equipment>(document, id)?;
    let holder = Holder::new(EntryKind::Equipment, id);
    check_name(&holder, update.name.as_deref())?;
    check_aliases(&holder, update.aliases.as_deref().unwrap_or_default())?;
    let equipment_type = update.equipment_type.as_deref();
    check_reference::<EquipmentType>(document, &holder, "type", equipment_type)?;
    check_reference::<Space>(document, &holder, "space", given(&update.space))?;
    let ord = update
        .ord
        .map(|ord| stored_ord(&holder, "ord", &ord))
        .transpose()?;
    let equipment = find_mut::<Equipment>(document, id)?;
    set(&mut equipment.name, update.name);
    replace(&mut equipment.aliases, update.aliases);
    set(&mut equipment.equipment_type, update.equipment_type);
    set(&mut equipment.space, update.space);
    set(&mut equipment.ord, ord);
    set(&mut equipment.description, update.description);
    for (role, ord) in update.points {
        let ord = checked_role(&holder, &role, &ord)?;
        equipment.points.insert(role, ord);
    }
    replace(&mut equipment.notes, update.notes);
    Ok(())
}

/// Gives a role of equipment its ord and returns the ord it had.
pub fn assign_point(
    document: &mut KnowledgeDocument,
    equipment_id: &str,
    role: &str,
    ord: &str,
) -> Result<Option<String>, OperationError> {
    let equipment = find_mut::<Equipment>(document, equipment_id)?;
    let holder = Holder::new(EntryKind::Equipment, equipment_id);
    let ord = checked_role(&holder, role, ord)?;
    Ok(equipment.points.insert(role.to_owned(), ord))
}

fn given(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

fn set(field: &mut Option<String>, value: Option<String>) {
    if value.is_some() {
        *field = filled(value);
    }
}

fn replace(list: &mut Vec<String>, value: Option<Vec<String>>) {
    if let Some(value) = value {
        *list = value;
    }
}
