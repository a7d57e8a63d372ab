//! `importKnowledge`: a document merged into the knowledge or put in its place (Tool surface §8.7).

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::json;

use super::knowledge_file::editor;
use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, ObjectSchema, object};
use super::{Arguments, CallContext, ErrorCode, ToolError};
use crate::knowledge::decode::{Decoded, decode};
use crate::knowledge::operations::{ImportMode, Imported, import};
use crate::knowledge::{
    Edited, KnowledgeDocument, KnowledgeError, KnowledgeModel, KnowledgeStore, STANDARD_SAMPLE,
    STANDARD_TYPES, format, validate,
};

/// Most warnings that are listed; their number is told in full.
const MOST_WARNINGS: usize = 100;

/// Documents that come with the bridge, by their word in arguments.
const SOURCES: [(&str, &str); 2] = [("sample", STANDARD_SAMPLE), ("standard", STANDARD_TYPES)];

/// `importKnowledge`.
pub struct ImportKnowledge(pub Arc<KnowledgeStore>);

impl Tool for ImportKnowledge {
    fn definition(&self) -> ToolDefinition {
        let mut mode = schema::one_of(
            "merge adds entries with new ids and skips the others; replace puts the document in the place of the whole \
             knowledge.",
            &["merge", "replace"],
        );
        mode["default"] = json!("merge");
        ToolDefinition::new(
            "importKnowledge",
            Category::Management,
            Annotations::DESTRUCTIVE,
            "Brings a knowledge document in and saves it: 'content' as YAML or JSON text, or a document that comes with \
             the bridge by 'source' (sample: five equipment types; standard: the usual equipment types of buildings with \
             the roles that the analytics know). A document with a mistake changes nothing: the error names line or \
             path. The warnings are those of validateKnowledge afterwards. Example: {\"source\":\"standard\"}.",
        )
        .input(
            object()
                .optional("content", schema::string("The document, YAML or JSON."))
                .optional(
                    "source",
                    schema::one_of(
                        "A document that comes with the bridge; wins over content.",
                        &SOURCES.map(|(word, _)| word),
                    ),
                )
                .optional("mode", mode),
        )
        .output(result_schema())
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let mode = match arguments.optional_string("mode") {
                Some("replace") => ImportMode::Replace,
                _ => ImportMode::Merge,
            };
            let decoded = read(text(&arguments)?).await?;
            let remarks = decoded.warnings;
            let incoming = decoded.document;
            let editor = editor(context, "importKnowledge");
            let change = move |document: &mut KnowledgeDocument| {
                let imported = import(document, incoming, mode)?;
                let warnings = validate(&KnowledgeModel::new(document.clone()));
                let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
                let audit_id = format!("{}+{}", mode.name(), imported.added());
                Ok(Edited::new(audit_id, (imported, warnings)))
            };
            let (imported, found) = match mode {
                ImportMode::Merge => self.0.edit(&editor, "importKnowledge", change).await?,
                // A whole new model is also the way out of a file that cannot be used (Tool surface §6).
                ImportMode::Replace => self.0.replace(&editor, "importKnowledge", change).await?,
            };
            Ok(ToolOutput::json(answer(
                mode,
                &imported,
                remarks.into_iter().chain(found),
            )))
        })
    }
}

/// The document to import: a source wins over content.
fn text(arguments: &Arguments) -> Result<String, ToolError> {
    let source = arguments.optional_string("source");
    if let Some((_, text)) = SOURCES.iter().find(|(word, _)| Some(*word) == source) {
        return Ok((*text).to_owned());
    }
    match arguments.optional_string("content") {
        Some(text) if !text.trim().is_empty() => Ok(text.to_owned()),
        _ => Err(ToolError::invalid_params(
            "There is nothing to import: give the document as 'content' or name a 'source'.",
        )
        .with("missing", "content")),
    }
}

async fn read(text: String) -> Result<Decoded, ToolError> {
    // Large documents take tens of milliseconds, too long for a thread that serves connections.
    let work = tokio::task::spawn_blocking(move || {
        let (_, tree) = format::parse("content", &text)?;
        decode("content", tree)
    });
    work.await
        .map_err(|error| ToolError::internal(format!("The import stopped unexpectedly: {error}.")))?
        .map_err(document_error)
}

/// −32005 with the line or the path in the document.
fn document_error(error: KnowledgeError) -> ToolError {
    let message = format!("Nothing was imported: {error}.");
    let refused = ToolError::new(ErrorCode::SchemaValidation, message);
    match error {
        KnowledgeError::Syntax { line, column, .. } => {
            let refused = line.map_or(refused.clone(), |line| refused.with("line", line));
            column.map_or(refused.clone(), |column| refused.with("column", column))
        }
        KnowledgeError::Unsupported { line, .. } => refused.with("line", line),
        KnowledgeError::Schema { place, .. } => refused.with("path", place),
        KnowledgeError::TooLarge { size, limit, .. } => {
            refused.with("size", size).with("limit", limit)
        }
        KnowledgeError::TooDeep { limit, .. } => refused.with("limit", limit),
        KnowledgeError::Read { .. } | KnowledgeError::Encoding { .. } => refused,
    }
}

fn answer(
    mode: ImportMode,
    imported: &Imported,
    warnings: impl Iterator<Item = String>,
) -> serde_json::Value {
    let warnings: Vec<String> = warnings.collect();
    json!({
        "ok": true,
        "mode": mode.name(),
        "added": imported.added(),
        "skipped": imported.skipped(),
        "sections": imported.to_json(),
        "warningCount": warnings.len(),
        "warnings": warnings.iter().take(MOST_WARNINGS).collect::<Vec<_>>(),
    })
}

fn result_schema() -> ObjectSchema {
    let count = || {
        object()
            .required("added", schema::whole("Entries that came in."))
            .required(
                "skipped",
                schema::whole("Entries whose id was there already."),
            )
    };
    object()
        .required("ok", schema::boolean("Always true; a refusal is an error."))
        .required(
            "mode",
            schema::one_of("How it was brought in.", &["merge", "replace"]),
        )
        .required(
            "added",
            schema::whole("Entries that came in, of all sections."),
        )
        .required(
            "skipped",
            schema::whole("Entries whose id was there already."),
        )
        .required(
            "sections",
            object()
                .required("spaces", count())
                .required("equipment_types", count())
                .required("equipment", count())
                .required("points", count())
                .optional("schedules", count()),
        )
        .required(
            "warningCount",
            schema::whole("Number of warnings about the knowledge afterwards."),
        )
        .required(
            "warnings",
            schema::list("The first hundred of them.", json!({"type": "string"})),
        )
}
