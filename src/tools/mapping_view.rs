//! Proposals of `suggestMapping` as clients see them.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::list_answer::put_text;
use super::schema::{self, ObjectSchema, object};
use super::suggest_mapping::slot_path;
use crate::knowledge::KnowledgeModel;
use crate::knowledge::mapped::{Referrer, component_of, references};
use crate::knowledge::suggestion::{DescribedPoint, EquipmentProposal, PointProposal, RoleGuess};
use crate::station::ord::{Ord, SlotName};

/// Entry and role of every mapped point, by its path in normal form.
pub(super) fn mapped(model: &KnowledgeModel) -> HashMap<String, (String, String)> {
    references(model.document())
        .into_iter()
        .filter_map(|reference| {
            let entry = match reference.referrer {
                Referrer::Equipment { .. } => return None,
                Referrer::Role { equipment, role } => (equipment.to_owned(), role.to_owned()),
                Referrer::StandalonePoint { id } => {
                    let role = model.standalone_point(id)?.role_in_space.clone();
                    (id.to_owned(), role.unwrap_or_default())
                }
            };
            Some((component_of(&slot_path(reference.ord)?), entry))
        })
        .collect()
}

/// Proposals as callers see them.
pub(super) struct View<'a> {
    pub points: &'a [DescribedPoint],
    pub model: &'a KnowledgeModel,
    pub mapped: HashMap<String, (String, String)>,
    pub includes_mapped: bool,
}

impl View<'_> {
    /// The answer for a component: a page of its equipment.
    pub fn answer(
        &self,
        ord: &str,
        proposals: &[EquipmentProposal],
        offset: usize,
        limit: usize,
    ) -> Value {
        let shown: Vec<&EquipmentProposal> = proposals
            .iter()
            .filter(|equipment| {
                self.includes_mapped
                    || equipment
                        .points
                        .iter()
                        .any(|point| self.mapped_as(point).is_none())
            })
            .collect();
        let page: Vec<Value> = shown
            .iter()
            .skip(offset)
            .take(limit)
            .map(|equipment| self.equipment(equipment))
            .collect();
        let all = || proposals.iter().flat_map(|equipment| &equipment.points);
        let guesses = || {
            all()
                .filter(|point| self.mapped_as(point).is_none())
                .filter_map(|point| point.role.as_ref())
        };
        let is_truncated = offset + page.len() < shown.len();
        let mut answer = json!({
            "ord": ord,
            "pointCount": all().count(),
            "mappedCount": all().filter(|point| self.mapped_as(point).is_some()).count(),
            "proposedCount": guesses().count(),
            "sureCount": guesses().filter(|guess| guess.confidence > 0.9).count(),
            "equipmentCount": shown.len(),
            "types": if self.model.document().equipment_types.is_empty() { "standard" } else { "model" },
            "count": page.len(),
            "truncated": is_truncated,
        });
        if is_truncated {
            answer["nextOffset"] = json!(offset + page.len());
        }
        answer["equipment"] = Value::Array(page);
        answer
    }

    fn mapped_as(&self, point: &PointProposal) -> Option<&(String, String)> {
        self.mapped
            .get(&component_of(&self.points.get(point.point)?.path))
    }

    fn equipment(&self, equipment: &EquipmentProposal) -> Value {
        let mut map = Map::new();
        map.insert("id".to_owned(), json!(equipment.id));
        map.insert("name".to_owned(), json!(equipment.name));
        map.insert(
            "ord".to_owned(),
            json!(Ord::slot(equipment.path.clone()).absolute()),
        );
        if equipment.is_shared {
            map.insert("sharesOrd".to_owned(), json!(true));
        }
        put_text(&mut map, "mappedAs", equipment.mapped_as.as_deref());
        put_text(&mut map, "kind", equipment.kind.as_deref());
        put_text(&mut map, "type", equipment.type_id.as_deref());
        put_text(
            &mut map,
            "incompleteType",
            equipment.incomplete_type.as_deref(),
        );
        map.insert("confidence".to_owned(), json!(equipment.confidence));
        map.insert("reasons".to_owned(), json!(equipment.reasons));
        let points = equipment
            .points
            .iter()
            .filter(|point| self.includes_mapped || self.mapped_as(point).is_none())
            .filter_map(|point| self.point(equipment, point))
            .collect();
        map.insert("points".to_owned(), Value::Array(points));
        if !equipment.missing.is_empty() {
            map.insert("missingRoles".to_owned(), json!(equipment.missing));
        }
        Value::Object(map)
    }

    fn point(&self, equipment: &EquipmentProposal, point: &PointProposal) -> Option<Value> {
        let described = self.points.get(point.point)?;
        let mut map = Map::new();
        let ord = Ord::slot(described.path.clone()).absolute();
        map.insert("ord".to_owned(), json!(ord));
        let name = described
            .path
            .name()
            .map(SlotName::display)
            .unwrap_or_default();
        map.insert("name".to_owned(), json!(name));
        if described.display_name != name {
            put_text(&mut map, "displayName", Some(&described.display_name));
        }
        map.insert("type".to_owned(), json!(described.type_spec));
        put_text(
            &mut map,
            "units",
            described.unit.as_ref().map(|unit| unit.symbol()),
        );
        let mut reasons = point.reasons.clone();
        let mut alternatives = point.alternatives.clone();
        let held = point
            .role
            .as_ref()
            .and_then(|guess| self.held_elsewhere(equipment, guess, &ord));
        if let Some((id, role)) = self.mapped_as(point) {
            map.insert("mappedEquipment".to_owned(), json!(id));
            put_text(&mut map, "mappedRole", Some(role));
        }
        match (&point.role, held) {
            (Some(guess), None) => {
                map.insert("role".to_owned(), json!(guess.role));
                map.insert("confidence".to_owned(), json!(guess.confidence));
            }
            (Some(guess), Some(holder)) => {
                reasons.push(format!("{} is mapped to {holder} already", guess.role));
                alternatives.insert(0, guess.clone());
            }
            (None, _) => {}
        }
        map.insert("reasons".to_owned(), json!(reasons));
        if !alternatives.is_empty() {
            let alternatives: Vec<Value> = alternatives.iter().map(guess_json).collect();
            map.insert("alternatives".to_owned(), json!(alternatives));
        }
        Some(Value::Object(map))
    }

    /// The ord that the mapped equipment has for this role, when it is another point.
    fn held_elsewhere(
        &self,
        equipment: &EquipmentProposal,
        guess: &RoleGuess,
        ord: &str,
    ) -> Option<String> {
        let known = self.model.equipment(equipment.mapped_as.as_deref()?)?;
        let held = known.points.get(&guess.role)?;
        let component = |ord| slot_path(ord).map(|path| component_of(&path));
        (component(held) != component(ord)).then(|| held.clone())
    }
}

fn guess_json(guess: &RoleGuess) -> Value {
    json!({"role": guess.role, "confidence": guess.confidence})
}

/// The schema of the answer.
pub(super) fn answer_schema() -> ObjectSchema {
    object()
        .required("ord", schema::string("The ord as given."))
        .required("pointCount", schema::whole("Points looked at."))
        .required("mappedCount", schema::whole("Points that the model has already."))
        .required("proposedCount", schema::whole("Points with a proposed role."))
        .required(
            "sureCount",
            schema::whole("Points whose proposal has a confidence above 0.9."),
        )
        .required("equipmentCount", schema::whole("Pieces of equipment found."))
        .required(
            "types",
            schema::one_of(
                "Where the types come from: the model, or the standard types, which importKnowledge with source 'standard' \
                 adds to it.",
                &["model", "standard"],
            ),
        )
        .optional(
            "hint",
            schema::string("What to do before the proposals can be taken over; given for a model without types."),
        )
        .required("count", schema::whole("Pieces of equipment returned."))
        .required("truncated", schema::boolean("Whether there is more equipment."))
        .optional("nextOffset", schema::whole("Where to continue."))
        .optional(
            "pointsTruncated",
            schema::boolean("There are more than 5000 points: ask for a smaller component."),
        )
        .optional(
            "truncatedByTimeout",
            schema::boolean("The time was over before all points were listed: ask for a smaller component."),
        )
        .optional("historiesRead", schema::whole("Points whose last day was read."))
        .required(
            "equipment",
            schema::list("Equipment in the station's order.", equipment_schema()),
        )
}

fn equipment_schema() -> ObjectSchema {
    object()
        .required(
            "id",
            schema::string("Proposed id, not in use yet; that of the entry when mappedAs is set."),
        )
        .required("name", schema::string("Proposed name."))
        .required("ord", schema::string("Its component."))
        .optional(
            "sharesOrd",
            schema::boolean(
                "Other equipment has its points in the same component; names tell them apart.",
            ),
        )
        .optional(
            "mappedAs",
            schema::string("Id of the equipment of the model with this ord."),
        )
        .optional(
            "kind",
            schema::string("What it is in plain words; absent when nothing tells."),
        )
        .optional(
            "type",
            schema::string(
                "Id of the equipment type that fits best; all that it requires is there, and every proposed role is one of it.",
            ),
        )
        .optional(
            "incompleteType",
            schema::string(
                "Instead of type: a type that would fit, but requires the roles in missingRoles, which no point seems to have.",
            ),
        )
        .required(
            "confidence",
            schema::number("How sure kind and type are, 0 to 1."),
        )
        .required(
            "reasons",
            schema::list("What speaks for it.", schema::string("Reason.")),
        )
        .required(
            "points",
            schema::list("Its points in the station's order.", point_schema()),
        )
        .optional(
            "missingRoles",
            schema::list(
                "Roles that the type or incompleteType requires and no point seems to have.",
                schema::string("Role."),
            ),
        )
}

fn point_schema() -> ObjectSchema {
    object()
        .required("ord", schema::string("Absolute ord of the point."))
        .required("name", schema::string("Readable slot name."))
        .optional(
            "displayName",
            schema::string("Display name, when it differs."),
        )
        .required("type", schema::string("Type as module:Type."))
        .optional("units", schema::string("Unit symbol."))
        .optional(
            "role",
            schema::string("Proposed role; absent when none fits well enough."),
        )
        .optional(
            "confidence",
            schema::number("How sure the role is, 0 to 1."),
        )
        .required(
            "reasons",
            schema::list(
                "What speaks for the role and against it.",
                schema::string("Reason."),
            ),
        )
        .optional(
            "alternatives",
            schema::list(
                "Other roles, the likeliest first.",
                object()
                    .required("role", schema::string("Role."))
                    .required("confidence", schema::number("0 to 1.")),
            ),
        )
        .optional(
            "mappedEquipment",
            schema::string("Entry that has this point already."),
        )
        .optional("mappedRole", schema::string("Role that it has there."))
}
