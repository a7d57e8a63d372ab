//! `deleteKnowledge`, `renameKnowledge`: entries and roles that go or get another name, beyond the 46 tools.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::knowledge_arguments::{edit, refused};
use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, ObjectSchema, object};
use super::{Arguments, CallContext, ToolError};
use crate::knowledge::KnowledgeStore;
use crate::knowledge::operations::{self, Change, EntryKind, Target};

/// Most changes that are listed; their number is told in full.
const MOST_CHANGES: usize = 200;

/// The kind that is no entry: a role of equipment or of an equipment type.
const ROLE: &str = "role";

/// `deleteKnowledge`.
pub struct DeleteKnowledge(pub Arc<KnowledgeStore>);

impl Tool for DeleteKnowledge {
    fn definition(&self) -> ToolDefinition {
        let mut references = schema::one_of(
            "What happens to entries that name the deleted one. refuse: the call is refused and they are listed. follow: \
             they name its parent space or the type it extends instead, or nothing; equipment that it serves (served_by) \
             does not name it any more; equipment loses the ord of a role that its type no longer has.",
            &["refuse", "follow"],
        );
        references["default"] = json!("refuse");
        ToolDefinition::new(
            "deleteKnowledge",
            Category::WalkthroughWrite,
            Annotations::DESTRUCTIVE,
            "Deletes a space, an equipment type, equipment, a standalone point, or a role of equipment or of a type from \
             the knowledge and saves it. The station is not changed. With dryRun nothing is saved and the answer tells \
             what would change. Example: {\"kind\":\"role\",\"equipmentId\":\"ahu-1\",\"role\":\"supply_air_temp\"}.",
        )
        .input(target_schema().optional("references", references))
        .output(
            result_schema()
                .required("deleted", schema::boolean("Whether it is gone; false in a dry run.")),
        )
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let target = target(&arguments)?;
            let follow = arguments.optional_string("references") == Some("follow");
            let dry_run = arguments.boolean("dryRun", false);
            let gone = target.clone();
            let changes = if dry_run {
                let mut document = self.0.readable()?.model.document().clone();
                operations::remove(&mut document, &gone, follow).map_err(refused)?
            } else {
                let audit_id = audit_id(&target);
                edit(
                    &self.0,
                    context,
                    "deleteKnowledge",
                    audit_id,
                    move |document| operations::remove(document, &gone, follow),
                )
                .await?
            };
            let mut answer = answer(&target, dry_run, &changes);
            answer["deleted"] = json!(!dry_run);
            Ok(ToolOutput::json(answer))
        })
    }
}

/// `renameKnowledge`.
pub struct RenameKnowledge(pub Arc<KnowledgeStore>);

impl Tool for RenameKnowledge {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "renameKnowledge",
            Category::WalkthroughWrite,
            Annotations::MUTATION,
            "Gives a space, an equipment type, equipment or a standalone point another id, or a role of equipment or of a \
             type another name, and saves it. What names the old one follows and is listed: a role of a type is renamed \
             in the types that extend it and in their equipment. The station is not changed. With dryRun nothing is \
             saved. Example: {\"kind\":\"space\",\"id\":\"floor-1\",\"newId\":\"first-floor\",\"dryRun\":true}.",
        )
        .input(target_schema().required("newId", schema::string("New id, or new name of the role.")))
        .output(
            result_schema()
                .required("newId", schema::string("The new id or the new name of the role."))
                .required("renamed", schema::boolean("Whether it was renamed; false in a dry run.")),
        )
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let target = target(&arguments)?;
            let new = arguments.string("newId")?.to_owned();
            let dry_run = arguments.boolean("dryRun", false);
            let (old, name) = (target.clone(), new.clone());
            let changes = if dry_run {
                let mut document = self.0.readable()?.model.document().clone();
                operations::rename(&mut document, &old, &name).map_err(refused)?
            } else {
                let audit_id = format!("{} → {new}", audit_id(&target));
                edit(
                    &self.0,
                    context,
                    "renameKnowledge",
                    audit_id,
                    move |document| operations::rename(document, &old, &name),
                )
                .await?
            };
            let mut answer = answer(&target, dry_run, &changes);
            answer["newId"] = json!(new);
            answer["renamed"] = json!(!dry_run);
            Ok(ToolOutput::json(answer))
        })
    }
}

fn target_schema() -> ObjectSchema {
    let kinds: Vec<&str> = EntryKind::ALL
        .iter()
        .map(|kind| kind.name())
        .chain([ROLE])
        .collect();
    let mut dry_run = schema::boolean("Only tell what would change.");
    dry_run["default"] = json!(false);
    object()
        .required("kind", schema::one_of("What it is.", &kinds))
        .optional("id", schema::string("Id of the entry; not for roles."))
        .optional(
            "equipmentId",
            schema::string("Equipment whose role it is; or give typeId."),
        )
        .optional(
            "typeId",
            schema::string("Equipment type whose role it is; or give equipmentId."),
        )
        .optional("role", schema::string("The role, when kind is role."))
        .optional("dryRun", dry_run)
}

fn result_schema() -> ObjectSchema {
    object()
        .required("ok", schema::boolean("Always true; a refusal is an error."))
        .required("kind", schema::string("What it is."))
        .optional("id", schema::string("Id of the entry."))
        .optional("equipmentId", schema::string("Equipment whose role it is."))
        .optional("typeId", schema::string("Equipment type whose role it is."))
        .optional("role", schema::string("The role."))
        .required("dryRun", schema::boolean("Whether nothing was saved."))
        .required(
            "changeCount",
            schema::whole("Number of fields that follow in other entries."),
        )
        .required(
            "changes",
            schema::list(
                "The first two hundred of them.",
                object()
                    .required("kind", schema::string("Kind of the other entry."))
                    .required("id", schema::string("Its id."))
                    .required(
                        "field",
                        schema::string("The field, points.<role> for an ord."),
                    )
                    .required("from", schema::string("What it held."))
                    .required(
                        "to",
                        schema::any_of_types(
                            "What it holds then; null when cleared.",
                            &["string", "null"],
                        ),
                    ),
            ),
        )
}

fn target(arguments: &Arguments) -> Result<Target, ToolError> {
    let kind = arguments.string("kind")?;
    if let Some(kind) = EntryKind::from_name(kind) {
        let id = arguments.string("id")?.to_owned();
        return Ok(Target::Entry { kind, id });
    }
    let role = arguments.string("role")?.to_owned();
    let equipment = arguments.optional_string("equipmentId");
    let equipment_type = arguments.optional_string("typeId");
    match (equipment, equipment_type) {
        (Some(equipment), None) => Ok(Target::EquipmentRole {
            equipment: equipment.to_owned(),
            role,
        }),
        (None, Some(equipment_type)) => Ok(Target::TypeRole {
            equipment_type: equipment_type.to_owned(),
            role,
        }),
        (None, None) => Err(ToolError::invalid_params(
            "Whose role is it? Give 'equipmentId' or 'typeId'.",
        )
        .with("missing", "equipmentId")),
        (Some(_), Some(_)) => Err(ToolError::invalid_params(
            "Give either 'equipmentId' or 'typeId', not both: a role of equipment and a role of a type are two things.",
        )
        .with("argument", "typeId")),
    }
}

fn audit_id(target: &Target) -> String {
    match target {
        Target::Entry { id, .. } => id.clone(),
        Target::EquipmentRole { equipment, role } => format!("{equipment}/{role}"),
        Target::TypeRole {
            equipment_type,
            role,
        } => format!("{equipment_type}/{role}"),
    }
}

fn answer(target: &Target, dry_run: bool, changes: &[Change]) -> Value {
    let mut answer = match target {
        Target::Entry { kind, id } => json!({"ok": true, "kind": kind.name(), "id": id}),
        Target::EquipmentRole { equipment, role } => {
            json!({"ok": true, "kind": ROLE, "equipmentId": equipment, "role": role})
        }
        Target::TypeRole {
            equipment_type,
            role,
        } => json!({"ok": true, "kind": ROLE, "typeId": equipment_type, "role": role}),
    };
    answer["dryRun"] = json!(dry_run);
    answer["changeCount"] = json!(changes.len());
    answer["changes"] = changes
        .iter()
        .take(MOST_CHANGES)
        .map(Change::to_json)
        .collect();
    answer
}
