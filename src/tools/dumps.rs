//! The server at a glance: getDiagnosticDump and getFeatureDump (Tool surface §8.11).

use std::fmt::Write;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::context::ServerFacts;
use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, object};
use super::service_health::service_word;
use super::station_access::{SharedStations, scope};
use super::{Arguments, CallContext, ErrorCode};
use crate::knowledge::{KnowledgeState, KnowledgeStore};
use crate::station::facade::ServiceState;

mod log_tail;

/// Lines of the log of knowledge edits that are shown.
const TAIL_LINES: usize = 20;

/// `getDiagnosticDump`.
pub struct GetDiagnosticDump {
    pub stations: SharedStations,
    pub knowledge: Arc<KnowledgeStore>,
}

impl Tool for GetDiagnosticDump {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "getDiagnosticDump",
            Category::Diagnostic,
            Annotations::READ,
            "One snapshot for support: server, sessions, knowledge file, services of the station, and the last 20 edits in \
             the log of knowledge edits, oldest first. A station that does not answer is part of the answer. Takes no \
             arguments. Example: {}.",
        )
        .output(
            object()
                .required(
                    "server",
                    object()
                        .required("version", schema::string("Product version."))
                        .required("uptimeSeconds", schema::whole("Seconds since start."))
                        .required("transports", schema::list("Enabled transports.", json!({"type": "string"}))),
                )
                .required(
                    "sessions",
                    object()
                        .required("totalActiveCount", schema::whole("Open sessions of all transports."))
                        .required("sse", schema::whole("Legacy SSE sessions."))
                        .required("streamable", schema::whole("Streamable HTTP sessions.")),
                )
                .required(
                    "knowledge",
                    object()
                        .required("location", schema::string("Path of the file."))
                        .required("sizeBytes", schema::whole("Bytes; -1 when no file exists."))
                        .required("exists", schema::boolean("Whether the file exists."))
                        .required("equipmentCount", schema::whole("Equipment entries."))
                        .required("spaceCount", schema::whole("Spaces."))
                        .required("equipmentTypeCount", schema::whole("Equipment types."))
                        .required("standalonePointCount", schema::whole("Points without equipment."))
                        .optional("error", schema::string("Why the file cannot be used.")),
                )
                .required(
                    "health",
                    object()
                        .required("alarmService", schema::one_of("Of the station.", &SERVICE_STATES))
                        .required("historyService", schema::one_of("Of the station.", &SERVICE_STATES))
                        .required(
                            "knowledgeFile",
                            schema::one_of("empty: not yet written; no-store: cannot be used.", &["ok", "empty", "no-store"]),
                        ),
                )
                .required(
                    "auditLogTail",
                    schema::list("Lines of the log of knowledge edits as they stand there.", json!({"type": "string"})),
                )
                .optional("auditLogError", schema::string("Why the log cannot be read.")),
        )
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        _arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let server = &context.server;
            let sessions = server.sessions();
            let facts = self.knowledge.file_facts();
            let mut knowledge = json!({
                "location": facts.path.display().to_string(),
                "sizeBytes": facts.size,
                "exists": facts.exists,
            });
            for (key, count) in entry_counts(&self.knowledge) {
                knowledge[key] = json!(count);
            }
            if let Some(problem) = self.knowledge.file_problem() {
                knowledge["error"] = json!(problem);
            }
            let mut answer = json!({
                "server": {
                    "version": server.version(),
                    "uptimeSeconds": server.uptime().as_secs(),
                    "transports": server.transports(),
                },
                "sessions": {
                    "totalActiveCount": sessions.total(),
                    "sse": sessions.sse,
                    "streamable": sessions.streamable,
                },
                "knowledge": knowledge,
                "health": health(&self.stations, &self.knowledge, context).await.json(),
            });
            let path = self.knowledge.audit_log_path();
            let tail = tokio::task::spawn_blocking(move || log_tail::last_lines(&path, TAIL_LINES));
            match tail.await {
                Ok(Ok(lines)) => answer["auditLogTail"] = json!(lines),
                Ok(Err(error)) => {
                    answer["auditLogTail"] = json!([]);
                    answer["auditLogError"] = json!(error.to_string());
                }
                Err(error) => {
                    answer["auditLogTail"] = json!([]);
                    answer["auditLogError"] = json!(error.to_string());
                }
            }
            Ok(ToolOutput::json(answer))
        })
    }
}

const SERVICE_STATES: [&str; 3] = ["ok", "unavailable", "error"];

/// State of what the bridge depends on, one word each.
struct HealthWords {
    alarm_service: &'static str,
    history_service: &'static str,
    knowledge_file: &'static str,
}

impl HealthWords {
    fn entries(&self) -> [(&'static str, &'static str); 3] {
        [
            ("alarmService", self.alarm_service),
            ("historyService", self.history_service),
            ("knowledgeFile", self.knowledge_file),
        ]
    }

    fn json(&self) -> Value {
        let entries = self.entries().into_iter();
        Value::Object(
            entries
                .map(|(key, word)| (key.to_owned(), json!(word)))
                .collect(),
        )
    }
}

async fn health(
    stations: &SharedStations,
    knowledge: &KnowledgeStore,
    context: &CallContext,
) -> HealthWords {
    let services = match stations.for_caller(&context.principal) {
        Ok(station) => station.services(&scope(context)).await.ok(),
        Err(_) => None,
    };
    let word = |state: Option<&ServiceState>| state.map_or("error", service_word);
    HealthWords {
        alarm_service: word(services.as_ref().map(|(alarm, _)| alarm)),
        history_service: word(services.as_ref().map(|(_, history)| history)),
        knowledge_file: match knowledge.snapshot().state {
            _ if knowledge.file_problem().is_some() => "no-store",
            KnowledgeState::Missing => "empty",
            _ => "ok",
        },
    }
}

fn entry_counts(knowledge: &KnowledgeStore) -> [(&'static str, usize); 4] {
    let snapshot = knowledge.snapshot();
    let document = snapshot.model.document();
    [
        ("equipmentCount", document.equipment.len()),
        ("spaceCount", document.spaces.len()),
        ("equipmentTypeCount", document.equipment_types.len()),
        ("standalonePointCount", document.points.len()),
    ]
}

/// `getFeatureDump`.
pub struct GetFeatureDump {
    pub stations: SharedStations,
    pub knowledge: Arc<KnowledgeStore>,
}

impl Tool for GetFeatureDump {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "getFeatureDump",
            Category::Diagnostic,
            Annotations::READ,
            "Everything that this server offers: tools by category, resources, prompts, transports, knowledge, sessions, \
             health and error codes, as text for people or as JSON for programs. Example: {\"format\":\"json\"}.",
        )
        .input(object().optional(
            "format",
            json!({
                "type": "string",
                "description": "text or json; any other word gives text.",
                "examples": ["text", "json"],
                "default": "text",
            }),
        ))
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let health = health(&self.stations, &self.knowledge, context).await;
            let features = Features::of(context.server.as_ref(), &self.knowledge, health);
            let wants_json = arguments
                .optional_string("format")
                .is_some_and(|format| format.trim().eq_ignore_ascii_case("json"));
            Ok(if wants_json {
                ToolOutput::json(features.json())
            } else {
                ToolOutput::text(features.text())
            })
        })
    }
}

/// What the server offers.
struct Features {
    version: String,
    /// Categories with tools, in display order.
    tools: Vec<(&'static str, Vec<String>)>,
    fixed_resources: Vec<String>,
    templates: Vec<String>,
    prompts: Vec<String>,
    sse: bool,
    streamable: bool,
    file_path: String,
    file_exists: bool,
    file_size: i64,
    entries: [(&'static str, usize); 4],
    session_count: usize,
    health: HealthWords,
}

impl Features {
    fn of(server: &dyn ServerFacts, knowledge: &KnowledgeStore, health: HealthWords) -> Self {
        let tools = server.tools();
        let by_category = Category::ALL.into_iter().filter_map(|category| {
            let names: Vec<String> = tools
                .iter()
                .filter(|(_, of)| *of == category)
                .map(|(name, _)| name.clone())
                .collect();
            (!names.is_empty()).then_some((category.name(), names))
        });
        let (templates, fixed): (Vec<_>, Vec<_>) = server
            .resources()
            .into_iter()
            .partition(|(_, is_template)| *is_template);
        let uris =
            |resources: Vec<(String, bool)>| resources.into_iter().map(|(uri, _)| uri).collect();
        let transports = server.transports();
        let facts = knowledge.file_facts();
        Self {
            version: server.version().to_owned(),
            tools: by_category.collect(),
            fixed_resources: uris(fixed),
            templates: uris(templates),
            prompts: server.prompts(),
            sse: transports.contains(&"sse"),
            streamable: transports.contains(&"streamable-http"),
            file_path: facts.path.display().to_string(),
            file_exists: facts.exists,
            file_size: facts.size,
            entries: entry_counts(knowledge),
            session_count: server.sessions().total(),
            health,
        }
    }

    fn tool_count(&self) -> usize {
        self.tools.iter().map(|(_, names)| names.len()).sum()
    }

    fn resource_count(&self) -> usize {
        self.fixed_resources.len() + self.templates.len()
    }

    fn json(&self) -> Value {
        let by_category: Map<String, Value> = self
            .tools
            .iter()
            .map(|(category, names)| ((*category).to_owned(), json!(names)))
            .collect();
        let mut knowledge = json!({
            "filePath": self.file_path,
            "fileExists": self.file_exists,
            "fileSize": self.file_size,
        });
        for (key, count) in self.entries {
            knowledge[key] = json!(count);
        }
        let codes: Vec<Value> = ErrorCode::IMPLEMENTATION_DEFINED
            .iter()
            .map(|code| json!({"code": code.code(), "meaning": code.meaning()}))
            .collect();
        json!({
            "version": self.version,
            "tools": {"totalCount": self.tool_count(), "byCategory": by_category},
            "resources": {
                "totalCount": self.resource_count(),
                "static": self.fixed_resources,
                "templates": self.templates,
            },
            "prompts": {"totalCount": self.prompts.len(), "names": self.prompts},
            "transports": {"sse": self.sse, "streamableHttp": self.streamable},
            "knowledge": knowledge,
            "sessionCount": self.session_count,
            "health": self.health.json(),
            "errorCodes": codes,
        })
    }

    /// The same sections in the same order, a blank line between them.
    fn text(&self) -> String {
        let switch = |on| if on { "enabled" } else { "disabled" };
        let tools = self.tools.iter();
        let resources = [
            ("static", &self.fixed_resources),
            ("templates", &self.templates),
        ];
        let knowledge = [
            ("filePath", self.file_path.clone()),
            ("fileExists", self.file_exists.to_string()),
            ("fileSize", self.file_size.to_string()),
        ];
        let entries = self.entries.map(|(key, count)| (key, count.to_string()));
        let codes = ErrorCode::IMPLEMENTATION_DEFINED
            .iter()
            .map(|code| (code.code().to_string(), code.meaning().to_owned()));
        let sections = [
            (
                format!("Tools ({})", self.tool_count()),
                tools
                    .map(|(category, names)| (format!("[{category}]"), names.join(", ")))
                    .collect(),
            ),
            (
                format!("Resources ({})", self.resource_count()),
                pairs(resources.map(|(kind, uris)| (kind, uris.join(", ")))),
            ),
            (
                format!("Prompts ({})", self.prompts.len()),
                self.prompts
                    .iter()
                    .map(|name| (name.clone(), String::new()))
                    .collect(),
            ),
            (
                "Transports:".to_owned(),
                pairs([
                    ("sse", switch(self.sse).to_owned()),
                    ("streamable-http", switch(self.streamable).to_owned()),
                ]),
            ),
            (
                "Knowledge:".to_owned(),
                pairs(knowledge.into_iter().chain(entries)),
            ),
            (format!("Sessions: {}", self.session_count), Vec::new()),
            (
                "Health:".to_owned(),
                pairs(
                    self.health
                        .entries()
                        .map(|(key, word)| (key, word.to_owned())),
                ),
            ),
            ("Error codes:".to_owned(), codes.collect()),
        ];
        let mut text = format!("niagara-bridge {}\n", self.version);
        for (heading, lines) in &sections {
            write_section(&mut text, heading, lines);
        }
        text
    }
}

fn pairs<'k>(entries: impl IntoIterator<Item = (&'k str, String)>) -> Vec<(String, String)> {
    let entries = entries.into_iter();
    entries
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

/// A heading and its lines, the values in one column.
fn write_section(text: &mut String, heading: &str, lines: &[(String, String)]) {
    let width = lines
        .iter()
        .map(|(label, _)| label.len())
        .max()
        .unwrap_or(0);
    // Writing to a string does not fail.
    let _ = writeln!(text, "\n{heading}");
    for (label, value) in lines {
        let line = format!("  {label:width$}  {value}");
        let _ = writeln!(text, "{}", line.trim_end());
    }
}
