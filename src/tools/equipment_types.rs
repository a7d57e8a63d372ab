//! `createEquipmentType`, `updateEquipmentType`: what kinds of equipment a site has (Tool surface §8.6).

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Map, json};

use super::knowledge_arguments::{
    Fields, edit, id_result, list_schema, texts_schema, typical_points_schema,
};
use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, object};
use super::{Arguments, CallContext};
use crate::knowledge::operations::{self, EquipmentTypeUpdate};
use crate::knowledge::{EquipmentType, KnowledgeStore};

const EXTENDS: &str =
    "Id of a type whose roles it takes over; its own roles of the same name win. Empty for none.";

/// `createEquipmentType`.
pub struct CreateEquipmentType(pub Arc<KnowledgeStore>);

impl Tool for CreateEquipmentType {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "createEquipmentType",
            Category::WalkthroughWrite,
            Annotations::MUTATION,
            "Adds an equipment type with the roles its equipment has to the knowledge and saves it. The id must be new; \
             a type it extends must exist. importKnowledge with source standard brings the usual types. \
             Example: {\"id\":\"fan-coil\",\"name\":\"Fan coil unit\",\"typical_points\":[{\"role\":\"room_temp\",\
             \"kind\":\"temperature\",\"slot_patterns\":[\"*RmTemp*\"],\"required\":true}]}.",
        )
        .input(
            object()
                .required("id", schema::string("New id, for example fan-coil."))
                .required("name", schema::string("Name people use."))
                .optional("aliases", texts_schema("Other names, in any language."))
                .optional("description", schema::string("Free text."))
                .optional("extends", schema::string(EXTENDS))
                .optional("typical_points", typical_points_schema()),
        )
        .output(id_result())
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let fields = Fields::of(&arguments);
            let equipment_type = EquipmentType {
                id: fields.required_text("id")?,
                name: Some(fields.required_text("name")?),
                aliases: fields.texts("aliases")?.unwrap_or_default(),
                description: fields.text("description")?,
                extends: fields.text("extends")?,
                typical_points: fields.typical_points()?.unwrap_or_default(),
                extra: Map::new(),
            };
            let id = equipment_type.id.clone();
            edit(
                &self.0,
                context,
                "createEquipmentType",
                &id,
                move |document| operations::create_equipment_type(document, equipment_type),
            )
            .await?;
            Ok(ToolOutput::json(json!({"ok": true, "id": id})))
        })
    }
}

/// `updateEquipmentType`.
pub struct UpdateEquipmentType(pub Arc<KnowledgeStore>);

impl Tool for UpdateEquipmentType {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "updateEquipmentType",
            Category::WalkthroughWrite,
            Annotations::MUTATION,
            "Changes fields of an equipment type in the knowledge and saves it. Only the fields given change; aliases \
             and typical_points replace the whole list; an empty text clears a field. A type it extends must exist and \
             must not extend this one. renameKnowledge changes the id or a role everywhere. \
             Example: {\"id\":\"fan-coil\",\"extends\":\"fcu\"}.",
        )
        .input(
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
                ),
        )
        .output(id_result())
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let fields = Fields::of(&arguments);
            let id = fields.required_text("id")?;
            let update = EquipmentTypeUpdate {
                name: fields.text("name")?,
                aliases: fields.texts("aliases")?,
                description: fields.text("description")?,
                extends: fields.text("extends")?,
                typical_points: fields.typical_points()?,
            };
            let type_id = id.clone();
            edit(
                &self.0,
                context,
                "updateEquipmentType",
                &id,
                move |document| operations::update_equipment_type(document, &type_id, update),
            )
            .await?;
            Ok(ToolOutput::json(json!({"ok": true, "id": id})))
        })
    }
}
