//! `createEquipmentType`, `updateEquipmentType`: what kinds of equipment a site has (Tool surface §8.6).

use std::sync::Arc;

use serde_json::Map;

use super::knowledge_arguments::{
    EntryChange, EntryTool, list_schema, texts_schema, typical_points_schema,
};
use super::schema::{self, object};
use crate::knowledge::operations::{self, EquipmentTypeUpdate};
use crate::knowledge::{EquipmentType, KnowledgeStore};

const EXTENDS: &str =
    "Id of a type whose roles it takes over; its own roles of the same name win. Empty for none.";

/// `createEquipmentType`.
pub fn create_equipment_type(knowledge: Arc<KnowledgeStore>) -> EntryTool {
    EntryTool {
        knowledge,
        name: "createEquipmentType",
        description: "Adds an equipment type with the roles its equipment has to the knowledge and saves it. The id must be new; \
             a type it extends must exist. importKnowledge with source standard brings the usual types. \
             Example: {\"id\":\"fan-coil\",\"name\":\"Fan coil unit\",\"typical_points\":[{\"role\":\"room_temp\",\
             \"kind\":\"temperature\",\"slot_patterns\":[\"*RmTemp*\"],\"required\":true}]}.",
        input: || {
            object()
                .required("id", schema::string("New id, for example fan-coil."))
                .required("name", schema::string("Name people use."))
                .optional("aliases", texts_schema("Other names, in any language."))
                .optional("description", schema::string("Free text."))
                .optional("extends", schema::string(EXTENDS))
                .optional("typical_points", typical_points_schema())
        },
        change: |fields| {
            let equipment_type = EquipmentType {
                id: fields.required_text("id")?,
                name: Some(fields.required_text("name")?),
                aliases: fields.texts("aliases")?.unwrap_or_default(),
                description: fields.text("description")?,
                extends: fields.text("extends")?,
                typical_points: fields.typical_points()?.unwrap_or_default(),
                extra: Map::new(),
            };
            Ok(EntryChange::new(
                equipment_type.id.clone(),
                move |document| operations::create_equipment_type(document, equipment_type),
            ))
        },
    }
}

/// `updateEquipmentType`.
pub fn update_equipment_type(knowledge: Arc<KnowledgeStore>) -> EntryTool {
    EntryTool {
        knowledge,
        name: "updateEquipmentType",
        description: "Changes fields of an equipment type in the knowledge and saves it. Only the fields given change; aliases \
             and typical_points replace the whole list; an empty text clears a field. A type it extends must exist and \
             must not extend this one. renameKnowledge changes the id or a role everywhere. \
             Example: {\"id\":\"fan-coil\",\"extends\":\"fcu\"}.",
        input: || {
            object()
                .required("id", schema::string("Id of the equipment type."))
                .optional("name", schema::string("Name people use."))
                .optional("aliases", list_schema("Other names; replaces the list."))
                .optional("description", schema::string("Free text."))
                .optional("extends", schema::string(EXTENDS))
                .optional(
                    "typical_points",
                    list_schema(
                        "Objects of role, kind, slot_patterns and required; replaces the list.",
                    ),
                )
        },
        change: |fields| {
            let id = fields.required_text("id")?;
            let update = EquipmentTypeUpdate {
                name: fields.text("name")?,
                aliases: fields.texts("aliases")?,
                description: fields.text("description")?,
                extends: fields.text("extends")?,
                typical_points: fields.typical_points()?,
            };
            Ok(EntryChange::new(id.clone(), move |document| {
                operations::update_equipment_type(document, &id, update)
            }))
        },
    }
}
