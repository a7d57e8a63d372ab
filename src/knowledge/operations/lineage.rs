//! Chains of `parent` and `extends`.

use std::collections::HashSet;

use crate::knowledge::document::{EquipmentType, KnowledgeDocument, TypicalPoint};

use super::error::{Holder, OperationError};
use super::section::{Nested, find};

/// Refuses a parent from which the chain leads back to the entry.
///
/// A cycle elsewhere that the chain runs into is left for validation to report.
pub(super) fn refuse_cycle<'a, T: Nested>(
    id: &'a str,
    parent: Option<&'a str>,
    parent_of: impl Fn(&str) -> Option<&'a str>,
) -> Result<(), OperationError> {
    let mut path = vec![id];
    let mut seen = HashSet::new();
    let mut next = parent;
    while let Some(current) = next {
        path.push(current);
        if current == id {
            return Err(OperationError::Cycle {
                holder: Holder::new(T::KIND, id),
                field: T::FIELD,
                path: path.into_iter().map(str::to_owned).collect(),
            });
        }
        if !seen.insert(current) {
            return Ok(());
        }
        next = parent_of(current);
    }
    Ok(())
}

/// The parent of an entry by id, as [`refuse_cycle`] asks for it.
pub(super) fn parent_in<'a, T: Nested + 'a>(
    document: &'a KnowledgeDocument,
) -> impl Fn(&str) -> Option<&'a str> {
    move |id| find::<T>(document, id).and_then(Nested::above)
}

/// A type and what it extends, nearest first; a cycle ends where it closes.
pub(super) fn lineage<'a>(
    document: &'a KnowledgeDocument,
    type_id: &str,
) -> Vec<&'a EquipmentType> {
    let mut chain: Vec<&EquipmentType> = Vec::new();
    let mut next = find::<EquipmentType>(document, type_id);
    while let Some(current) = next {
        if chain.iter().any(|seen| seen.id == current.id) {
            break;
        }
        chain.push(current);
        next = current
            .extends
            .as_deref()
            .and_then(|id| find::<EquipmentType>(document, id));
    }
    chain
}

/// The role as a type itself lists it.
pub(super) fn own_role<'a>(
    equipment_type: &'a EquipmentType,
    role: &str,
) -> Option<&'a TypicalPoint> {
    equipment_type
        .typical_points
        .iter()
        .find(|point| point.role == role)
}
