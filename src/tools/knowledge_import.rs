//! `importKnowledge`: a document merged into the knowledge or put in its place, or the Haystack tags of the station merged
//! into it (Tool surface §8.7).

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::knowledge_file::editor;
use super::mapped_paths::HandlePaths;
use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, ObjectSchema, object};
use super::station_access::{SharedStations, component_ord, scope, station_error};
use super::{Arguments, CallContext, ErrorCode, ToolError};
use crate::knowledge::decode::{Decoded, decode};
use crate::knowledge::haystack_import::{self, ENTITY_TAGS, Findings, NAMESPACE};
use crate::knowledge::operations::{ImportMode, Imported, UnknownKey, import};
use crate::knowledge::{
    Edited, KnowledgeDocument, KnowledgeError, KnowledgeModel, KnowledgeStore, STANDARD_SAMPLE,
    STANDARD_TYPES, format, validate,
};
use crate::station::echo::shortened;
use crate::station::error::StationError;
use crate::station::facade::{FacadeError, MAX_TAGGED, TaggedComponent};

const ROOT: &str = "station:|slot:/";

/// Most warnings that are listed; their number is told in full.
const MOST_WARNINGS: usize = 100;

/// Documents that come with the bridge, by their word in arguments.
const SOURCES: [(&str, &str); 2] = [("sample", STANDARD_SAMPLE), ("standard", STANDARD_TYPES)];

/// The source that is no document: Project Haystack tags on the station.
const TAGS: &str = "haystack";

/// `importKnowledge`.
pub struct ImportKnowledge {
    pub knowledge: Arc<KnowledgeStore>,
    pub stations: SharedStations,
}

/// What is brought in.
enum Incoming {
    Document(Box<KnowledgeDocument>),
    /// Becomes a document only beside the model that it is merged into, whose ids and ords it must respect.
    Tags(Vec<TaggedComponent>),
}

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
             path. Source haystack reads the Project Haystack tags (hs:) that are on components of the station and adds \
             the sites, spaces, equipment and points they describe; nothing that is mapped is changed, and what the tags \
             leave open is listed in 'ambiguous'. The warnings are those of validateKnowledge afterwards. \
             Example: {\"source\":\"standard\"}.",
        )
        .input(
            object()
                .optional("content", schema::string("The document, YAML or JSON."))
                .optional(
                    "source",
                    schema::one_of(
                        "A document that comes with the bridge, or haystack for the tags on the station; wins over content.",
                        &[SOURCES[0].0, SOURCES[1].0, TAGS],
                    ),
                )
                .optional(
                    "under",
                    schema::string(
                        "For source haystack: ord of the component at and below which tags are read; the whole station \
                         if left out.",
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
            let mut remarks = Vec::new();
            let mut names_section = false;
            let incoming = if arguments.optional_string("source") == Some(TAGS) {
                Incoming::Tags(self.tagged(context, &arguments, mode, &mut remarks).await?)
            } else {
                let decoded = read(text(&arguments)?).await?;
                remarks = decoded.warnings;
                names_section = decoded.names_section;
                Incoming::Document(Box::new(decoded.document))
            };
            let paths = match &incoming {
                Incoming::Tags(_) => self.handle_paths(context).await?,
                Incoming::Document(_) => HandlePaths::default(),
            };
            let editor = editor(context, "importKnowledge");
            let change = move |document: &mut KnowledgeDocument| {
                let (incoming, findings) = match incoming {
                    Incoming::Document(incoming) => (*incoming, None),
                    Incoming::Tags(components) => {
                        let mut known = document.clone();
                        paths.put_into(&mut known);
                        let mut findings = haystack_import::read(&components, &known);
                        (std::mem::take(&mut findings.document), Some(findings))
                    }
                };
                let imported = import(document, incoming, mode, names_section)?;
                let warnings = validate(&KnowledgeModel::new(document.clone()));
                let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
                let audit_id = format!("{}+{}", mode.name(), imported.added());
                Ok(Edited::new(audit_id, (imported, warnings, findings)))
            };
            let (imported, found, findings) = match mode {
                ImportMode::Merge => {
                    self.knowledge
                        .edit(&editor, "importKnowledge", change)
                        .await?
                }
                // A whole new model is also the way out of a file that cannot be used (Tool surface §6).
                ImportMode::Replace => {
                    self.knowledge
                        .replace(&editor, "importKnowledge", change)
                        .await?
                }
            };
            remarks.extend(imported.unknown_keys.iter().map(unknown_key));
            let mut answer = answer(mode, &imported, remarks.into_iter().chain(found));
            if let Some(findings) = findings {
                tell_findings(&mut answer, &findings);
            }
            Ok(ToolOutput::json(answer))
        })
    }
}

impl ImportKnowledge {
    /// Where the components lie that the model names by handle.
    async fn handle_paths(&self, context: &CallContext) -> Result<HandlePaths, ToolError> {
        let model = self.knowledge.readable()?.model;
        let station = self.stations.for_caller(&context.principal)?;
        HandlePaths::read(&station, &scope(context), model.document())
            .await
            .map_err(|error| station_error(error, ROOT))
    }

    /// The tagged components of the station; what could not be read goes to the remarks.
    async fn tagged(
        &self,
        context: &CallContext,
        arguments: &Arguments,
        mode: ImportMode,
        remarks: &mut Vec<String>,
    ) -> Result<Vec<TaggedComponent>, ToolError> {
        if mode == ImportMode::Replace {
            let text = "Tags of the station are merged only: leave 'mode' out. To begin anew, replace the knowledge by an \
                        empty document first.";
            return Err(ToolError::invalid_params(text).with("mode", mode.name()));
        }
        let under = arguments.optional_string("under").unwrap_or(ROOT);
        let ord = component_ord(under).map_err(|mut error| {
            error.message = format!("Argument 'under': {}", error.message);
            error.with("argument", "under")
        })?;
        let scope = scope(context);
        let station = self.stations.for_caller(&context.principal)?;
        let of_station = |error| under_error(error, under);
        let path = station.slot_path(&scope, &ord).await.map_err(of_station)?;
        let tagged = station
            .tagged_components(&scope, &path, NAMESPACE, &ENTITY_TAGS)
            .await
            .map_err(of_station)?;
        if tagged.truncated {
            remarks.push(format!(
                "not all tagged components were read, at most {MAX_TAGGED} in one call: import again, folder by folder, with \
                 'under'"
            ));
        }
        remarks.extend(tagged.problems);
        Ok(tagged.items)
    }
}

/// A remark about a key that is no section.
fn unknown_key(unknown: &UnknownKey) -> String {
    let key = shortened(&unknown.key);
    let fate = match unknown.is_kept {
        true => "it is kept as it is",
        false => "what the knowledge has under it already stays, the imported one is left out",
    };
    format!("the key '{key}' at the root of the document is not known to this version; {fate}")
}

/// An error of the search for tags; the station names no argument of this tool.
fn under_error(error: FacadeError, under: &str) -> ToolError {
    let error = match error {
        FacadeError::Station(
            StationError::NotFound { .. } | StationError::BadQuery { .. } | StationError::Ord(_),
        ) => ToolError::new(
            ErrorCode::OrdNotResolvable,
            format!(
                "Argument 'under': the station has no component {}; give the ord of a folder or component as listChildren \
                 shows it, or leave it out for the whole station.",
                shortened(under)
            ),
        )
        .with("ord", under),
        other => station_error(other, under),
    };
    error.with("argument", "under")
}

/// Counts and doubts of an import of tags.
fn tell_findings(answer: &mut Value, findings: &Findings) {
    let found = &findings.found;
    answer["found"] = json!({
        "sites": found.sites,
        "spaces": found.spaces,
        "equipment": found.equipment,
        "points": found.points,
    });
    answer["alreadyMapped"] = json!(findings.known);
    let doubts = findings.ambiguous.iter().take(MOST_WARNINGS);
    let doubts = doubts.map(|doubt| json!({"ord": doubt.ord, "problem": doubt.problem}));
    answer["ambiguousCount"] = json!(findings.ambiguous.len());
    answer["ambiguous"] = doubts.collect();
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
        KnowledgeError::Read { .. }
        | KnowledgeError::Gone { .. }
        | KnowledgeError::Absent { .. }
        | KnowledgeError::Empty { .. }
        | KnowledgeError::Encoding { .. } => refused,
    }
}

fn answer(mode: ImportMode, imported: &Imported, warnings: impl Iterator<Item = String>) -> Value {
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
        .optional(
            "found",
            object()
                .required("sites", schema::whole("Components tagged as site."))
                .required("spaces", schema::whole("Components tagged as space, floor, room or zone."))
                .required("equipment", schema::whole("Components tagged as equipment."))
                .required("points", schema::whole("Components tagged as point.")),
        )
        .optional(
            "alreadyMapped",
            schema::whole("Tagged components that were mapped before, or belong to equipment that was; left as they are."),
        )
        .optional("ambiguousCount", schema::whole("Components whose tags leave open what they are."))
        .optional(
            "ambiguous",
            schema::list(
                "The first hundred of them.",
                object()
                    .required("ord", schema::string("Ord of the component."))
                    .required("problem", schema::string("What is open, and what became of the component.")),
            ),
        )
}
