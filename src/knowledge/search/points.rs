//! Points by role, kind and text, those of equipment and those without.

use std::collections::HashMap;

use super::{fold, index::IndexedEntry};
use crate::knowledge::document::{Equipment, StandalonePoint};
use crate::knowledge::model::KnowledgeModel;

/// What to look for; everything that is given must match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PointQuery<'q> {
    /// The whole role.
    pub role: Option<&'q str>,
    /// The whole kind.
    pub kind: Option<&'q str>,
    /// Part of an id, name or alias: of the equipment, or of the standalone point.
    pub text: Option<&'q str>,
}

/// A point that was found.
#[derive(Debug, Clone, Copy)]
pub enum PointHit<'m> {
    Equipment {
        equipment: &'m Equipment,
        role: &'m str,
        ord: &'m str,
        /// Kind of the role in the equipment's type or a type that it extends.
        kind: Option<&'m str>,
    },
    Standalone(&'m StandalonePoint),
}

/// Kinds by role of one equipment type.
type KindsByRole<'m> = HashMap<&'m str, Option<&'m str>>;

/// Points of equipment in file order, roles in file order, then standalone points in file order.
pub fn find_points<'m>(model: &'m KnowledgeModel, query: PointQuery<'_>) -> Vec<PointHit<'m>> {
    let wanted = FoldedQuery::new(query);
    let mut kinds: HashMap<&'m str, KindsByRole<'m>> = HashMap::new();
    let mut hits = Vec::new();
    let document = model.document();
    for (equipment, entry) in document
        .equipment
        .iter()
        .zip(&model.search_index().equipment)
    {
        if !wanted.text_in(entry) {
            continue;
        }
        let kind_of_role = equipment
            .equipment_type
            .as_deref()
            .map(|type_id| kinds_of(model, &mut kinds, type_id));
        for (role, ord) in &equipment.points {
            let kind = kind_of_role
                .as_ref()
                .and_then(|kinds| kinds.get(role.as_str()).copied().flatten());
            if wanted.role_is(Some(role)) && wanted.kind_is(kind) {
                hits.push(PointHit::Equipment {
                    equipment,
                    role,
                    ord,
                    kind,
                });
            }
        }
    }
    let standalone = document.points.iter().zip(&model.search_index().points);
    hits.extend(
        standalone
            .filter(|(point, entry)| {
                wanted.text_in(entry)
                    && wanted.role_is(point.role_in_space.as_deref())
                    && wanted.kind_is(point.kind.as_deref())
            })
            .map(|(point, _)| PointHit::Standalone(point)),
    );
    hits
}

fn kinds_of<'c, 'm>(
    model: &'m KnowledgeModel,
    known: &'c mut HashMap<&'m str, KindsByRole<'m>>,
    type_id: &'m str,
) -> &'c KindsByRole<'m> {
    known.entry(type_id).or_insert_with(|| {
        model
            .typical_points(type_id)
            .into_iter()
            .map(|point| (point.role.as_str(), point.kind.as_deref()))
            .collect()
    })
}

struct FoldedQuery {
    role: Option<String>,
    kind: Option<String>,
    text: Option<String>,
}

impl FoldedQuery {
    fn new(query: PointQuery<'_>) -> Self {
        Self {
            role: query.role.map(fold),
            kind: query.kind.map(fold),
            text: query.text.map(fold),
        }
    }

    fn text_in(&self, entry: &IndexedEntry) -> bool {
        self.text
            .as_deref()
            .is_none_or(|wanted| entry.texts().any(|text| text.contains(wanted)))
    }

    fn role_is(&self, role: Option<&str>) -> bool {
        is(self.role.as_deref(), role)
    }

    fn kind_is(&self, kind: Option<&str>) -> bool {
        is(self.kind.as_deref(), kind)
    }
}

fn is(wanted: Option<&str>, text: Option<&str>) -> bool {
    wanted.is_none_or(|wanted| text.is_some_and(|text| fold(text) == wanted))
}
