//! `exportKnowledge`: the whole knowledge as text (Tool surface §8.7).

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::json;

use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, object};
use super::{Arguments, CallContext, ErrorCode, ToolError};
use crate::knowledge::{DocumentFormat, KnowledgeModel, KnowledgeStore};

/// Formats by their word in arguments; the first is the default and answers to every other word.
const FORMATS: [(&str, Render); 2] = [("yaml", yaml), ("json", json_text)];

type Render = fn(&KnowledgeModel) -> Result<String, ToolError>;

/// `exportKnowledge`.
pub struct ExportKnowledge(pub Arc<KnowledgeStore>);

impl Tool for ExportKnowledge {
    fn definition(&self) -> ToolDefinition {
        let mut format = schema::one_of(
            "Format of the text; case does not matter, another word gives YAML.",
            &FORMATS.map(|(word, _)| word),
        );
        format["default"] = json!(FORMATS[0].0);
        ToolDefinition::new(
            "exportKnowledge",
            Category::Management,
            Annotations::READ,
            "Gives the whole knowledge of this site as one text, which importKnowledge takes back. The station is not \
             asked. Example: {\"format\":\"json\"}.",
        )
        .input(object().optional("format", format))
        .accepting_other_words(&["format"])
        .output(
            object()
                .required("format", schema::string("The format as asked for."))
                .required("size", schema::whole("Characters of the text."))
                .required("content", schema::string("The text.")),
        )
    }

    fn run<'a>(
        &'a self,
        _context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let model = self.0.readable()?.model;
            let format = arguments.optional_string("format").unwrap_or(FORMATS[0].0);
            let (_, render) = FORMATS
                .into_iter()
                .find(|(word, _)| word.eq_ignore_ascii_case(format))
                .unwrap_or(FORMATS[0]);
            // A large site takes tens of milliseconds, too long for a thread that serves connections.
            let content = tokio::task::spawn_blocking(move || render(&model))
                .await
                .map_err(|error| {
                    ToolError::internal(format!("The export stopped unexpectedly: {error}."))
                })??;
            Ok(ToolOutput::json(json!({
                "format": format,
                "size": content.chars().count(),
                "content": content,
            })))
        })
    }
}

fn yaml(model: &KnowledgeModel) -> Result<String, ToolError> {
    document_text(model, DocumentFormat::Yaml)
}

fn json_text(model: &KnowledgeModel) -> Result<String, ToolError> {
    document_text(model, DocumentFormat::Json)
}

fn document_text(model: &KnowledgeModel, format: DocumentFormat) -> Result<String, ToolError> {
    let text = model.document().to_text("export", format);
    text.map_err(|error| ToolError::new(ErrorCode::SchemaValidation, format!("{error}.")))
}
