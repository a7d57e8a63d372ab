//! Diagnostic tools of this server and of single ords: getServerInfo, probeOrd (Tool surface §8.11).

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, object};
use super::station_access::{SharedStations, scope, station_error};
use super::{Arguments, CallContext};
use crate::knowledge::KnowledgeStore;
use crate::station::facade::Probe;

/// `getServerInfo`.
pub struct GetServerInfo(pub Arc<KnowledgeStore>);

impl Tool for GetServerInfo {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "getServerInfo",
            Category::Diagnostic,
            Annotations::READ,
            "Tells version, uptime, sessions, the knowledge file, transports, and the names of tools, resources and \
             prompts of this server. The station is not asked. Takes no arguments. Example: {}.",
        )
        .output(
            object()
                .required("version", schema::string("Product version."))
                .required("uptimeSeconds", schema::whole("Seconds since start."))
                .required("sessionCount", schema::whole("Open sessions of all transports."))
                .required(
                    "knowledgeFile",
                    object()
                        .required("path", schema::string("Path of the file."))
                        .required("location", schema::string("The same, by its newer name."))
                        .required("size", schema::whole("Bytes; -1 when no file exists."))
                        .required("equipmentCount", schema::whole("Equipment entries."))
                        .required("lastModifiedMs", schema::whole("Epoch milliseconds; 0 when unknown."))
                        .required("exists", schema::boolean("Whether the file exists."))
                        .optional("error", schema::string("Why the file cannot be used.")),
                )
                .required("transports", schema::list("Enabled transports.", json!({"type": "string"})))
                .required("tools", schema::list("Tool names.", json!({"type": "string"})))
                .required("resources", schema::list("URIs and templates.", json!({"type": "string"})))
                .required("prompts", schema::list("Prompt names.", json!({"type": "string"}))),
        )
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        _arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let server = &context.server;
            let facts = self.0.file_facts();
            let snapshot = self.0.snapshot();
            let path = facts.path.display().to_string();
            let mut knowledge = json!({
                "path": path,
                "location": path,
                "size": facts.size,
                "equipmentCount": snapshot.model.document().equipment.len(),
                "lastModifiedMs": facts.last_modified_ms,
                "exists": facts.exists,
            });
            if let Some(problem) = self.0.file_problem() {
                knowledge["error"] = json!(problem);
            }
            let tools: Vec<String> = server.tools().into_iter().map(|(name, _)| name).collect();
            let resources: Vec<String> =
                server.resources().into_iter().map(|(uri, _)| uri).collect();
            Ok(ToolOutput::json(json!({
                "version": server.version(),
                "uptimeSeconds": server.uptime().as_secs(),
                "sessionCount": server.sessions().total(),
                "knowledgeFile": knowledge,
                "transports": server.transports(),
                "tools": tools,
                "resources": resources,
                "prompts": server.prompts(),
            })))
        })
    }
}

/// `probeOrd`.
pub struct ProbeOrd(pub SharedStations);

impl Tool for ProbeOrd {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "probeOrd",
            Category::Diagnostic,
            Annotations::READ,
            "Tells whether an ord resolves and what it leads to: type, parent, slots, the names of its actions, whether it is a control point, \
             writable, an alarm source, and its history extensions. A bad ord is an answer, not an error. \
             Example: {\"ord\":\"station:|slot:/Drivers\"}.",
        )
        .input(object().required("ord", schema::string("Any ord.")))
        .output(
            object()
                .required("ord", schema::string("The ord as given."))
                .required("exists", schema::boolean("Whether it resolves."))
                .optional("error", schema::string("Why it does not resolve."))
                .optional("denied", schema::boolean("The station refused; whether it exists is not known."))
                .optional("type", schema::string("Type as module:Type."))
                .optional("displayName", schema::string("Display name, for components."))
                .optional("parentOrd", schema::string("Absolute ord of the parent, for components."))
                .optional("slotCount", schema::whole("All slots, actions and topics included."))
                .optional("actions", schema::list("Names of its actions, for invokeAction.", json!({"type": "string"})))
                .optional("isControlPoint", schema::boolean("Whether it is a control point."))
                .optional("isWritable", schema::boolean("Whether it is a writable point."))
                .optional("isAlarmSource", schema::boolean("Whether it or an extension of it raises alarms."))
                .optional("hasHistoryExt", schema::boolean("Whether it has a history extension."))
                .optional("historyExtCount", schema::whole("Number of history extensions."))
                .optional("historyExtIds", schema::list("Slot names of the history extensions.", json!({"type": "string"}))),
        )
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let text = arguments.string("ord")?;
            let station = self.0.for_caller(&context.principal)?;
            let probe = station
                .probe(&scope(context), text)
                .await
                .map_err(|error| station_error(error, text))?;
            Ok(ToolOutput::json(probe_json(text, probe)))
        })
    }
}

fn probe_json(ord: &str, probe: Probe) -> Value {
    match probe {
        Probe::Absent { reason, denied } => {
            let mut answer = json!({"ord": ord, "exists": false, "error": reason});
            if denied {
                answer["denied"] = json!(true);
            }
            answer
        }
        Probe::Present(present) => {
            let component = present.component;
            let facts = component.clone().unwrap_or_default();
            let mut answer = json!({"ord": ord, "exists": true, "type": present.type_spec});
            if component.is_some() {
                answer["displayName"] = json!(facts.display_name);
                if let Some(parent) = facts.parent_ord {
                    answer["parentOrd"] = json!(parent);
                }
            }
            if component.is_none() {
                answer["slotCount"] = json!(0);
            } else if let Some(count) = facts.slot_count {
                answer["slotCount"] = json!(count);
            }
            if let Some(actions) = facts.actions {
                answer["actions"] = json!(actions);
            }
            answer["isControlPoint"] = json!(facts.is_control_point);
            answer["isWritable"] = json!(facts.is_writable);
            answer["isAlarmSource"] = json!(facts.is_alarm_source);
            answer["hasHistoryExt"] = json!(!facts.history_extensions.is_empty());
            answer["historyExtCount"] = json!(facts.history_extensions.len());
            answer["historyExtIds"] = json!(facts.history_extensions);
            answer
        }
    }
}
