//! What lies in a space.

use std::collections::{HashMap, HashSet};

use crate::knowledge::document::{Equipment, StandalonePoint};
use crate::knowledge::model::KnowledgeModel;

/// The content of a space, in file order.
#[derive(Debug, Clone, PartialEq)]
pub struct SpaceContent<'m> {
    /// Number of spaces looked at, itself included.
    pub spaces_included: usize,
    pub equipment: Vec<&'m Equipment>,
    pub points: Vec<&'m StandalonePoint>,
}

/// Equipment and standalone points of a space and, when `recursive`, of all spaces below it; `equipment_type` keeps
/// only equipment of exactly that type. None for an unknown space.
///
/// A cycle of parents ends where it closes.
pub fn find_in_space<'m>(
    model: &'m KnowledgeModel,
    space_id: &str,
    recursive: bool,
    equipment_type: Option<&str>,
) -> Option<SpaceContent<'m>> {
    let space = model.space(space_id)?;
    let included = if recursive {
        with_descendants(model, &space.id)
    } else {
        HashSet::from([space.id.as_str()])
    };
    let is_inside = |space: &Option<String>| {
        let space = space.as_deref();
        space.is_some_and(|space| included.contains(space))
    };
    let document = model.document();
    Some(SpaceContent {
        spaces_included: included.len(),
        equipment: document
            .equipment
            .iter()
            .map(|equipment| -> &Equipment { equipment })
            .filter(|equipment| is_inside(&equipment.space))
            .filter(|equipment| {
                equipment_type
                    .is_none_or(|wanted| equipment.equipment_type.as_deref() == Some(wanted))
            })
            .collect(),
        points: document
            .points
            .iter()
            .map(|point| -> &StandalonePoint { point })
            .filter(|point| is_inside(&point.space))
            .collect(),
    })
}

fn with_descendants<'m>(model: &'m KnowledgeModel, space_id: &'m str) -> HashSet<&'m str> {
    let mut children: HashMap<&str, Vec<&'m str>> = HashMap::new();
    for space in &model.document().spaces {
        if let Some(parent) = space.parent.as_deref() {
            children.entry(parent).or_default().push(&space.id);
        }
    }
    let mut included = HashSet::from([space_id]);
    let mut next = vec![space_id];
    while let Some(parent) = next.pop() {
        for child in children.get(parent).into_iter().flatten() {
            if included.insert(child) {
                next.push(child);
            }
        }
    }
    included
}
