//! New entries (Tool surface §8.6).

use std::collections::HashSet;

use crate::knowledge::document::{
    Equipment, EquipmentType, KnowledgeDocument, Space, StandalonePoint,
};

use super::checks::{check_role, check_texts};
use super::error::{Holder, OperationError};
use super::lineage::{parent_in, refuse_cycle};
use super::section::{
    Entry, EntryKind, check_new_id, check_reference, stored_ord, unknown_reference,
};

/// Adds a space; its id is new, its parent exists and does not lie inside it.
pub fn create_space(
    document: &mut KnowledgeDocument,
    mut space: Space,
) -> Result<(), OperationError> {
    check_texts(&space)?;
    check_new_id::<Space>(document, &space.id)?;
    space.parent = filled(space.parent);
    let holder = Holder::new(EntryKind::Space, &space.id);
    let parent = space.parent.as_deref();
    check_reference::<Space>(document, &holder, "parent", parent)?;
    refuse_cycle::<Space>(&space.id, parent, parent_in::<Space>(document))?;
    document.spaces.push(space);
    Ok(())
}

/// Adds an equipment type; its id is new, the type it extends exists, and each role stands once in its list.
pub fn create_equipment_type(
    document: &mut KnowledgeDocument,
    mut equipment_type: EquipmentType,
) -> Result<(), OperationError> {
    check_texts(&equipment_type)?;
    check_new_id::<EquipmentType>(document, &equipment_type.id)?;
    equipment_type.extends = filled(equipment_type.extends);
    let holder = Holder::new(EntryKind::EquipmentType, &equipment_type.id);
    let extends = equipment_type.extends.as_deref();
    check_reference::<EquipmentType>(document, &holder, "extends", extends)?;
    refuse_cycle::<EquipmentType>(
        &equipment_type.id,
        extends,
        parent_in::<EquipmentType>(document),
    )?;
    document.equipment_types.push(equipment_type);
    Ok(())
}

/// Adds equipment; its id is new, its type and its space exist, and its ords are ords.
pub fn create_equipment(
    document: &mut KnowledgeDocument,
    equipment: Equipment,
) -> Result<(), OperationError> {
    let ids = Known::of(document);
    let equipment = checked(document, &ids, equipment)?;
    document.equipment.push(equipment);
    Ok(())
}

/// Refuses a type or a space of equipment that does not exist.
pub fn check_place(
    document: &KnowledgeDocument,
    holder: &Holder,
    equipment_type: Option<&str>,
    space: Option<&str>,
) -> Result<(), OperationError> {
    check_reference::<EquipmentType>(document, holder, "type", equipment_type)?;
    check_reference::<Space>(document, holder, "space", space)
}

/// Adds many equipment entries or none, and tells how many; ids must also differ among themselves.
pub fn create_all_equipment(
    document: &mut KnowledgeDocument,
    items: Vec<Equipment>,
) -> Result<usize, OperationError> {
    if items.is_empty() {
        return Err(OperationError::EmptyBatch);
    }
    let mut ids = Known::of(document);
    let mut accepted = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        let item = checked(document, &ids, item).map_err(|source| OperationError::Item {
            index,
            source: Box::new(source),
        })?;
        ids.equipment.insert(item.id.clone());
        accepted.push(item);
    }
    let created = accepted.len();
    document.equipment.extend(accepted);
    Ok(created)
}

/// Adds a point without equipment; its id is new, its space exists and its ord is one.
pub fn create_standalone_point(
    document: &mut KnowledgeDocument,
    mut point: StandalonePoint,
) -> Result<(), OperationError> {
    check_texts(&point)?;
    check_new_id::<StandalonePoint>(document, &point.id)?;
    point.space = filled(point.space);
    let holder = Holder::new(EntryKind::Point, &point.id);
    check_reference::<Space>(document, &holder, "space", point.space.as_deref())?;
    point.ord = point
        .ord
        .map(|ord| stored_ord(&holder, "ord", &ord))
        .transpose()?;
    document.points.push(point);
    Ok(())
}

/// Ids that equipment may name or must avoid, collected once for a whole batch.
struct Known {
    equipment: HashSet<String>,
    types: HashSet<String>,
    spaces: HashSet<String>,
}

impl Known {
    fn of(document: &KnowledgeDocument) -> Self {
        fn ids<T: Entry>(document: &KnowledgeDocument) -> HashSet<String> {
            let entries = T::all(document).iter();
            entries.map(|entry| entry.id().to_owned()).collect()
        }
        Self {
            equipment: ids::<Equipment>(document),
            types: ids::<EquipmentType>(document),
            spaces: ids::<Space>(document),
        }
    }
}

fn checked(
    document: &KnowledgeDocument,
    ids: &Known,
    mut equipment: Equipment,
) -> Result<Equipment, OperationError> {
    check_texts(&equipment)?;
    let holder = Holder::new(EntryKind::Equipment, &equipment.id);
    if ids.equipment.contains(&equipment.id) {
        return Err(OperationError::DuplicateId { holder });
    }
    if let Some(id) = &equipment.equipment_type
        && !ids.types.contains(id)
    {
        return Err(unknown_reference::<EquipmentType>(
            document, &holder, "type", id,
        ));
    }
    equipment.space = filled(equipment.space);
    if let Some(id) = &equipment.space
        && !ids.spaces.contains(id)
    {
        return Err(unknown_reference::<Space>(document, &holder, "space", id));
    }
    equipment.ord = equipment
        .ord
        .map(|ord| stored_ord(&holder, "ord", &ord))
        .transpose()?;
    for (role, ord) in &mut equipment.points {
        *ord = checked_role(&holder, role, ord)?;
    }
    Ok(equipment)
}

/// The ord of a role in its stored form.
pub(super) fn checked_role(
    holder: &Holder,
    role: &str,
    ord: &str,
) -> Result<String, OperationError> {
    check_role(holder, role)?;
    stored_ord(holder, &format!("points.{role}"), ord)
}

/// An empty text means no reference.
pub(super) fn filled(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}
