//! `createEquipment`, `updateEquipment`, `bulkCreateEquipment`, `assignPointToEquipment` (Tool surface §8.6).

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::knowledge_arguments::{EntryChange, EntryTool, Fields, edit, list_schema, refused};
use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, ObjectSchema, object};
use super::{Arguments, CallContext, ToolError};
use crate::knowledge::operations::{self, EquipmentUpdate, OperationError};
use crate::knowledge::{Equipment, KnowledgeStore};

const ORD: &str = "Ord of its component, for example station:|slot:/Drivers/BacnetNetwork/AHU_1; only its syntax is checked.";
const POINTS: &str =
    "Ords of its points by role, for example {\"supply_air_temp\":\"station:|slot:/…\"}.";

fn equipment_schema() -> ObjectSchema {
    object()
        .required("id", schema::string("New id, for example ahu-1."))
        .required("name", schema::string("Name people use."))
        .required(
            "type",
            schema::string("Id of an equipment type that exists."),
        )
        .required("ord", schema::string(ORD))
        .optional("aliases", list_schema("Other names, in any language."))
        .optional(
            "space",
            schema::string("Id of the space it is in or serves; empty for none."),
        )
        .optional("description", schema::string("Free text."))
        .optional("points", schema::typed("object", POINTS))
}

fn equipment(fields: Fields<'_>) -> Result<Equipment, ToolError> {
    Ok(Equipment {
        id: fields.required_text("id")?,
        name: Some(fields.required_text("name")?),
        equipment_type: Some(fields.required_text("type")?),
        ord: Some(fields.required_text("ord")?),
        aliases: fields.texts("aliases")?.unwrap_or_default(),
        space: fields.text("space")?,
        description: fields.text("description")?,
        points: fields.points()?,
        schedule: None,
        notes: Vec::new(),
        extra: Map::new(),
    })
}

/// `createEquipment`.
pub fn create_equipment(knowledge: Arc<KnowledgeStore>) -> EntryTool {
    EntryTool {
        knowledge,
        name: "createEquipment",
        description: "Adds one piece of equipment to the knowledge and saves it. The id must be new; type and space must exist. \
             The station is not changed. Example: {\"id\":\"ahu-1\",\"name\":\"AHU 1\",\"type\":\"ahu\",\
             \"ord\":\"station:|slot:/Drivers/BacnetNetwork/AHU_1\",\"points\":{\"supply_air_temp\":\
             \"station:|slot:/Drivers/BacnetNetwork/AHU_1/points/SupplyTemp\"}}.",
        input: equipment_schema,
        change: |fields| {
            let equipment = equipment(fields)?;
            Ok(EntryChange::new(equipment.id.clone(), move |document| {
                operations::create_equipment(document, equipment)
            }))
        },
    }
}

/// `updateEquipment`.
pub fn update_equipment(knowledge: Arc<KnowledgeStore>) -> EntryTool {
    EntryTool {
        knowledge,
        name: "updateEquipment",
        description: "Changes fields of equipment in the knowledge and saves it. Only the fields given change; aliases and notes \
             replace the whole list, points are added to those that are there; an empty text clears a field. Type and \
             space must exist. deleteKnowledge removes a role, renameKnowledge changes the id or a role. \
             Example: {\"id\":\"ahu-1\",\"space\":\"floor-1\",\"notes\":[\"Filter changed in May\"]}.",
        input: || {
            object()
                .required("id", schema::string("Id of the equipment."))
                .optional("name", schema::string("Name people use."))
                .optional("aliases", list_schema("Other names; replaces the list."))
                .optional(
                    "type",
                    schema::string("Id of an equipment type that exists."),
                )
                .optional(
                    "space",
                    schema::string("Id of the space it is in or serves; empty for none."),
                )
                .optional("ord", schema::string(ORD))
                .optional("description", schema::string("Free text."))
                .optional("points", schema::typed("object", POINTS))
                .optional("notes", list_schema("Notes of people; replaces the list."))
        },
        change: |fields| {
            let id = fields.required_text("id")?;
            let update = EquipmentUpdate {
                name: fields.text("name")?,
                aliases: fields.texts("aliases")?,
                equipment_type: fields.text("type")?,
                space: fields.text("space")?,
                ord: fields.text("ord")?,
                description: fields.text("description")?,
                points: fields.points()?,
                notes: fields.texts("notes")?,
            };
            Ok(EntryChange::new(id.clone(), move |document| {
                operations::update_equipment(document, &id, update)
            }))
        },
    }
}

/// `bulkCreateEquipment`.
pub struct BulkCreateEquipment(pub Arc<KnowledgeStore>);

impl Tool for BulkCreateEquipment {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "bulkCreateEquipment",
            Category::WalkthroughWrite,
            Annotations::MUTATION,
            "Adds many pieces of equipment to the knowledge at once, all or none, and saves it once. Every item is \
             checked as createEquipment does, ids also against the earlier items; the first refused item is named by \
             its number from 0 and nothing is added. Example: {\"items\":[{\"id\":\"vav-1\",\"name\":\"VAV 1\",\
             \"type\":\"vav\",\"ord\":\"station:|slot:/Drivers/BacnetNetwork/VAV_1\"}]}.",
        )
        .input(object().required(
            "items",
            schema::list(
                "Equipment to add; at least one.",
                // What an item lacks is told with its number by the tool itself.
                schema::typed(
                    "object",
                    "As createEquipment takes it: id, name, type, ord; optionally aliases, space, description, points.",
                ),
            ),
        ))
        .output(
            object()
                .required("ok", schema::boolean("Always true; a refusal is an error."))
                .required("created", schema::whole("Number of entries added.")),
        )
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let items = arguments.get("items").and_then(Value::as_array);
            let items = items.map(Vec::as_slice).unwrap_or_default();
            if items.is_empty() {
                return Err(refused(OperationError::EmptyBatch));
            }
            let items = items
                .iter()
                .enumerate()
                .map(|(index, item)| equipment(Fields::item("items", index, item)?))
                .collect::<Result<Vec<_>, _>>()?;
            let audit_id = format!("+{}", items.len());
            let created = edit(
                &self.0,
                context,
                "bulkCreateEquipment",
                audit_id,
                move |document| operations::create_all_equipment(document, items),
            )
            .await?;
            Ok(ToolOutput::json(json!({"ok": true, "created": created})))
        })
    }
}

/// `assignPointToEquipment`.
pub struct AssignPointToEquipment(pub Arc<KnowledgeStore>);

impl Tool for AssignPointToEquipment {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "assignPointToEquipment",
            Category::WalkthroughWrite,
            Annotations::MUTATION,
            "Gives a role of equipment the ord of its point in the knowledge and saves it; an ord that the role had is \
             replaced and returned. Roles are free words, best those of the equipment's type; of the ord only the \
             syntax is checked. Example: {\"equipmentId\":\"ahu-1\",\"role\":\"supply_air_temp\",\
             \"ord\":\"station:|slot:/Drivers/BacnetNetwork/AHU_1/points/SupplyTemp\"}.",
        )
        .input(
            object()
                .required("equipmentId", schema::string("Id of the equipment."))
                .required("role", schema::string("Role, for example supply_air_temp."))
                .required("ord", schema::string("Ord of the point.")),
        )
        .output(
            object()
                .required("ok", schema::boolean("Always true; a refusal is an error."))
                .required("equipmentId", schema::string("Id of the equipment."))
                .required("role", schema::string("The role."))
                .optional("previousOrd", schema::string("Ord that the role had before.")),
        )
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let fields = Fields::of(&arguments);
            let id = fields.required_text("equipmentId")?;
            let role = fields.required_text("role")?;
            let ord = fields.required_text("ord")?;
            let mut answer = json!({"ok": true, "equipmentId": id, "role": role});
            let previous = edit(
                &self.0,
                context,
                "assignPointToEquipment",
                format!("{id}/{role}"),
                move |document| operations::assign_point(document, &id, &role, &ord),
            )
            .await?;
            if let Some(previous) = previous {
                answer["previousOrd"] = json!(previous);
            }
            Ok(ToolOutput::json(answer))
        })
    }
}
