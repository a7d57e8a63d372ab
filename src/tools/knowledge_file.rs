//! The knowledge file as a whole: validateKnowledge, getKnowledgeSummary, reloadKnowledge (Tool surface §8.6, §8.7), and
//! how errors of the knowledge reach a client.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::json;

use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, object};
use super::{Arguments, CallContext, ErrorCode, ToolError};
use crate::knowledge::{
    EditError, Editor, KnowledgeError, KnowledgeStore, KnowledgeUnreadable, validate,
};

/// Who edits, as the log of knowledge edits names them.
pub fn editor(context: &CallContext, tool: &str) -> Editor {
    Editor {
        principal: context.principal.to_string(),
        session_id: context.session_id.clone(),
        tool: tool.to_owned(),
    }
}

impl From<KnowledgeUnreadable> for ToolError {
    fn from(error: KnowledgeUnreadable) -> Self {
        let reason = match *error.detail {
            KnowledgeError::Gone { .. } => "changed-on-disk",
            KnowledgeError::Absent { .. } => "missing",
            _ => "unreadable",
        };
        unusable(&error, &error.path, reason).with("detail", error.detail.to_string())
    }
}

impl From<EditError> for ToolError {
    fn from(error: EditError) -> Self {
        match error {
            EditError::Unreadable(error) => error.into(),
            EditError::ReadOnly { ref path } => unusable(&error, path, "read-only"),
            EditError::ChangedOnDisk { ref path, ref kept } => {
                let refused = unusable(&error, path, "changed-on-disk");
                match kept {
                    Some(kept) => refused.with("keptFile", kept.display().to_string()),
                    None => refused,
                }
            }
            EditError::StillChanging { ref path } => unusable(&error, path, "changing"),
            EditError::Save(ref failure) => unusable(&error, &failure.path, "save-failed")
                .with("detail", failure.source.to_string()),
            EditError::Document(_) => {
                ToolError::new(ErrorCode::SchemaValidation, error.to_string())
            }
            EditError::Interrupted { .. } => ToolError::internal(error.to_string()),
            EditError::Refused { message, data } => ToolError {
                code: ErrorCode::InvalidParams,
                message,
                data,
            },
        }
    }
}

/// −32004 with `errorData{path, reason}`.
fn unusable(error: &impl std::fmt::Display, path: &std::path::Path, reason: &str) -> ToolError {
    ToolError::new(ErrorCode::KnowledgeUnreadable, error.to_string())
        .with("path", path.display().to_string())
        .with("reason", reason)
}

/// Warnings that are listed without asking for more.
const MOST_WARNINGS: i64 = 1000;

/// `validateKnowledge`.
pub struct ValidateKnowledge(pub Arc<KnowledgeStore>);

impl Tool for ValidateKnowledge {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "validateKnowledge",
            Category::WalkthroughWrite,
            Annotations::READ,
            "Checks the knowledge model and lists what is wrong: missing and repeated ids, unknown types, spaces and \
             parents, cycles, missing ords and their syntax, required roles without a point, roles that the type does not \
             have, ords used twice; and what became of the file behind the model. The station is not asked: \
             checkKnowledgeIntegrity does that. When 'nextOffset' is given, continue there. \
             Example: {} or {\"limit\":50}.",
        )
        .input(
            object()
                .optional(
                    "limit",
                    schema::integer_between("Most warnings to list.", 1, MOST_WARNINGS, MOST_WARNINGS),
                )
                .optional(
                    "offset",
                    schema::integer_between(
                        "Warnings to skip: continue with nextOffset of the answer before.",
                        0,
                        1_000_000,
                        0,
                    ),
                ),
        )
        .output(
            object()
                .required("ok", schema::boolean("Whether nothing is wrong."))
                .required("warningCount", schema::whole("Number of warnings, those that are not listed included."))
                .optional("nextOffset", schema::whole("Where to continue."))
                .required(
                    "warnings",
                    schema::list(
                        "One text for each, naming the section, the id and the bad value.",
                        json!({"type": "string"}),
                    ),
                ),
        )
    }

    fn run<'a>(
        &'a self,
        _context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let snapshot = self.0.readable()?;
            let findings = validate(&snapshot.model);
            let mut warnings: Vec<String> = snapshot.staleness().into_iter().collect();
            warnings.extend(self.0.notices());
            warnings.extend(findings.iter().map(ToString::to_string));
            warnings.extend(snapshot.warnings.iter().cloned());
            let offset = arguments.count("offset", 0);
            let limit = arguments.count("limit", MOST_WARNINGS as usize);
            let listed: Vec<&String> = warnings.iter().skip(offset).take(limit).collect();
            let mut answer = json!({
                "ok": warnings.is_empty(),
                "warningCount": warnings.len(),
                "warnings": listed,
            });
            if offset + listed.len() < warnings.len() {
                answer["nextOffset"] = json!(offset + listed.len());
            }
            Ok(ToolOutput::json(answer))
        })
    }
}

/// `getKnowledgeSummary`.
pub struct GetKnowledgeSummary(pub Arc<KnowledgeStore>);

impl Tool for GetKnowledgeSummary {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "getKnowledgeSummary",
            Category::Management,
            Annotations::READ,
            "Tells how much the knowledge model holds and where its file is: schema version, format, path, and the number \
             of spaces, equipment types, equipment and standalone points. Takes no arguments. Example: {}.",
        )
        .output(
            object()
                .required("schemaVersion", schema::whole("Version of the document's schema."))
                .required("format", schema::one_of("Format of the file.", &["yaml", "json"]))
                .required("filePath", schema::string("Path of the file."))
                .required("spaceCount", schema::whole("Spaces."))
                .required("equipmentTypeCount", schema::whole("Equipment types."))
                .required("equipmentCount", schema::whole("Equipment entries."))
                .required("standalonePointCount", schema::whole("Points that belong to no equipment."))
                .optional("stale", schema::string("Why this is not what the file holds now: it is gone or cannot be read."))
                .optional(
                    "notices",
                    schema::list(
                        "What other programs did to the file and somebody must look at; ended by reloadKnowledge.",
                        json!({"type": "string"}),
                    ),
                ),
        )
    }

    fn run<'a>(
        &'a self,
        _context: &'a CallContext,
        _arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let snapshot = self.0.readable()?;
            let document = snapshot.model.document();
            let mut answer = json!({
                "schemaVersion": document.schema_version,
                "format": snapshot.format.name(),
                "filePath": self.0.path().display().to_string(),
                "spaceCount": document.spaces.len(),
                "equipmentTypeCount": document.equipment_types.len(),
                "equipmentCount": document.equipment.len(),
                "standalonePointCount": document.points.len(),
            });
            if let Some(staleness) = snapshot.staleness() {
                answer["stale"] = json!(staleness);
            }
            let notices = self.0.notices();
            if !notices.is_empty() {
                answer["notices"] = json!(notices);
            }
            Ok(ToolOutput::json(answer))
        })
    }
}

/// `reloadKnowledge`.
pub struct ReloadKnowledge(pub Arc<KnowledgeStore>);

impl Tool for ReloadKnowledge {
    fn definition(&self) -> ToolDefinition {
        let mut start_empty = schema::boolean(
            "Begin anew with an empty model if the file is missing: an empty document is written, and the copies stay \
             beside it. No effect while there is a file.",
        );
        start_empty["default"] = json!(false);
        ToolDefinition::new(
            "reloadKnowledge",
            Category::Management,
            Annotations::RELOAD,
            "Reads the knowledge file again, for example after it was edited by hand or repaired. A missing file gives an \
             empty model if there never was one; where copies of a lost file lie beside it, the call is refused and names \
             the newest, unless startEmpty is true. What is to be told of changes by other programs is in 'warnings' for \
             the last time. Example: {}.",
        )
        .input(object().optional("startEmpty", start_empty))
        .output(
            object()
                .required("ok", schema::boolean("True."))
                .required("filePath", schema::string("Path of the file."))
                .required("equipmentCount", schema::whole("Equipment entries."))
                .required(
                    "warnings",
                    schema::list(
                        "What other programs did to the file, and what was tolerated in it.",
                        json!({"type": "string"}),
                    ),
                ),
        )
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            if arguments.boolean("startEmpty", false) {
                self.0
                    .start_empty(&editor(context, "reloadKnowledge"))
                    .await?;
            }
            let snapshot = self.0.reload().await;
            if let Some(detail) = snapshot.problem() {
                return Err(KnowledgeUnreadable {
                    path: self.0.path().to_owned(),
                    detail: detail.clone(),
                }
                .into());
            }
            let mut warnings = self.0.notices();
            warnings.extend(snapshot.warnings.iter().cloned());
            self.0.accept();
            Ok(ToolOutput::json(json!({
                "ok": true,
                "filePath": self.0.path().display().to_string(),
                "equipmentCount": snapshot.model.document().equipment.len(),
                "warnings": warnings,
            })))
        })
    }
}
