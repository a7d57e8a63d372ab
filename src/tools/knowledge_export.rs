//! `exportKnowledge`: the whole knowledge as text, also in the vocabularies of others (Tool surface §8.7).

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::json;

use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, object};
use super::station_access::{SharedStations, scope, station_error};
use super::{Arguments, CallContext, ErrorCode, ToolError};
use crate::knowledge::export::{StationPoints, brick, haystack, station_points};
use crate::knowledge::{DocumentFormat, KnowledgeModel, KnowledgeStore};

/// Formats by their word in arguments; the first is the default and answers to every other word.
const FORMATS: [(&str, Format); 4] = [
    ("yaml", Format::Document(DocumentFormat::Yaml)),
    ("json", Format::Document(DocumentFormat::Json)),
    ("haystack", Format::Foreign(haystack::text)),
    ("brick", Format::Foreign(brick::turtle)),
];

#[derive(Clone, Copy)]
enum Format {
    /// The knowledge file itself.
    Document(DocumentFormat),
    /// Another vocabulary, which says more with what the station tells about its points.
    Foreign(fn(&KnowledgeModel, &StationPoints) -> String),
}

/// `exportKnowledge`.
pub struct ExportKnowledge {
    pub knowledge: Arc<KnowledgeStore>,
    pub stations: SharedStations,
}

impl Tool for ExportKnowledge {
    fn definition(&self) -> ToolDefinition {
        let mut format = schema::one_of(
            "yaml and json are the knowledge file, which importKnowledge takes back; haystack is a Project Haystack 4 grid \
             as JSON, brick a Brick graph as Turtle. Case does not matter, another word gives YAML.",
            &FORMATS.map(|(word, _)| word),
        );
        format["default"] = json!(FORMATS[0].0);
        let mut ask = schema::boolean(
            "For haystack and brick: ask the station for units, states and what can be written.",
        );
        ask["default"] = json!(true);
        ToolDefinition::new(
            "exportKnowledge",
            Category::Management,
            Annotations::READ,
            "Gives the whole knowledge of this site as one text: as it is filed, or for other programs as a Project \
             Haystack grid or a Brick graph. Only these two ask the station, once, for units and states; without an answer \
             they leave them out and say so. Example: {\"format\":\"json\"}.",
        )
        .input(
            object()
                .optional("format", format)
                .optional("askStation", ask),
        )
        .accepting_other_words(&["format"])
        .output(
            object()
                .required("format", schema::string("The format as asked for."))
                .required("size", schema::whole("Characters of the text."))
                .required("content", schema::string("The text."))
                .optional(
                    "describedPoints",
                    schema::whole("Points that the station described; for haystack and brick."),
                )
                .optional(
                    "warnings",
                    schema::list("What is missing and why; for haystack and brick.", json!({"type": "string"})),
                ),
        )
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let model = self.knowledge.readable()?.model;
            let word = arguments.optional_string("format").unwrap_or(FORMATS[0].0);
            let (_, format) = FORMATS
                .into_iter()
                .find(|(known, _)| known.eq_ignore_ascii_case(word))
                .unwrap_or(FORMATS[0]);
            let mut answer = json!({"format": word});
            let mut described = StationPoints::new();
            if let Format::Foreign(_) = format {
                let mut warnings: Vec<String> = Vec::new();
                if arguments.boolean("askStation", true) {
                    (described, warnings) = self.ask(context).await;
                }
                answer["describedPoints"] = json!(described.len());
                answer["warnings"] = json!(warnings);
            }
            // A large site takes tens of milliseconds, too long for a thread that serves connections.
            let content = tokio::task::spawn_blocking(move || match format {
                Format::Document(format) => document_text(&model, format),
                Format::Foreign(render) => Ok(render(&model, &described)),
            });
            let content = content.await.map_err(|error| {
                ToolError::internal(format!("The export stopped unexpectedly: {error}."))
            })??;
            answer["size"] = json!(content.chars().count());
            answer["content"] = json!(content);
            Ok(ToolOutput::json(answer))
        })
    }
}

impl ExportKnowledge {
    /// Asks the station; without an answer the export goes on without, as its meaning does not depend on it.
    async fn ask(&self, context: &CallContext) -> (StationPoints, Vec<String>) {
        let described = match self.stations.for_caller(&context.principal) {
            Ok(station) => station
                .described_points(&scope(context))
                .await
                .map_err(|error| station_error(error, "station:|slot:/")),
            Err(error) => Err(error),
        };
        match described {
            Ok(described) => {
                let cut = (!described.complete).then(|| {
                    "The station did not describe all of its points in time: some units and states are missing."
                        .to_owned()
                });
                (station_points(described.points), cut.into_iter().collect())
            }
            Err(error) => {
                let warning = format!("Units and states are missing: {}", error.message);
                (StationPoints::new(), vec![warning])
            }
        }
    }
}

fn document_text(model: &KnowledgeModel, format: DocumentFormat) -> Result<String, ToolError> {
    let text = model.document().to_text("export", format);
    text.map_err(|error| ToolError::new(ErrorCode::SchemaValidation, format!("{error}.")))
}
