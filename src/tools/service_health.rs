//! `getServiceHealth`: services, files and interfaces of the station, as the caller can use them (Tool surface §8.11).

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, object};
use super::station_access::{SharedStations, scope};
use super::{Arguments, AuditFacts, CallContext};
use crate::knowledge::store::is_writable;
use crate::knowledge::{KnowledgeStore, STANDARD_SAMPLE};
use crate::station::facade::{FoxState, Interface, OperationRoute, ServiceState, StationReport};
use crate::station::fox::FoxReport;

/// `getServiceHealth`.
pub struct GetServiceHealth {
    pub stations: SharedStations,
    pub knowledge: Arc<KnowledgeStore>,
}

impl Tool for GetServiceHealth {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "getServiceHealth",
            Category::Diagnostic,
            Annotations::READ,
            "Checks the alarm and history services of the station, the knowledge file and its log, whether writes can be \
             recorded, which station interfaces (BQL, BOX, oBIX) this identity can use and which of them answers which \
             kind of operation, and how changes of watched points arrive. A service that is not available is an \
             answer, not an error. Takes no arguments. Example: {}.",
        )
        .output(
            object()
                .required("alarmService", schema::string("ok, unavailable, or error: …"))
                .required("historyService", schema::string("ok, unavailable, or error: …"))
                .required(
                    "knowledgeFile",
                    object()
                        .required("path", schema::string("Path of the file."))
                        .required("location", schema::string("The same, by its newer name."))
                        .required("exists", schema::boolean("Whether the file exists."))
                        .required("readable", schema::boolean("Whether it can be read and understood."))
                        .required("writable", schema::boolean("Whether it can be written."))
                        .optional("error", schema::string("Why the file cannot be used.")),
                )
                .required(
                    "knowledgeAuditLog",
                    object()
                        .required("path", schema::string("Path of the log."))
                        .required("writable", schema::boolean("Whether it can be written."))
                        .optional("error", schema::string("Why the last edit was not logged.")),
                )
                .optional(
                    "auditJournal",
                    object()
                        .required("path", schema::string("Path of the journal of writes to the station."))
                        .required("writable", schema::boolean("Whether the next write can be recorded; else it is refused."))
                        .optional("error", schema::string("Why not, and the remedy.")),
                )
                .required("sampleResource", schema::string("ok, empty, or missing: …"))
                .required("station", station_schema()),
        )
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        _arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let report = match self.stations.for_caller(&context.principal) {
                Ok(station) => station.report(&scope(context)).await,
                Err(error) => StationReport::unreachable(error.message),
            };
            let facts = self.knowledge.file_facts();
            let path = facts.path.display().to_string();
            let audit_log = self.knowledge.audit_log_path();
            let mut file = json!({
                "path": path,
                "location": path,
                "exists": facts.exists,
                "readable": facts.readable,
                "writable": facts.writable,
            });
            if let Some(problem) = self.knowledge.file_problem() {
                file["readable"] = json!(false);
                file["error"] = json!(problem);
            }
            let sample = if STANDARD_SAMPLE.trim().is_empty() {
                "empty"
            } else {
                "ok"
            };
            let mut log = json!({
                "path": audit_log.display().to_string(),
                "writable": is_writable(&audit_log),
            });
            if let Some(error) = self.knowledge.audit_failure() {
                log["error"] = json!(error);
            }
            let mut answer = json!({
                "alarmService": service_text(&report.alarm_service),
                "historyService": service_text(&report.history_service),
                "knowledgeFile": file,
                "knowledgeAuditLog": log,
                "sampleResource": sample,
                "station": station_json(&report),
            });
            if let Some(audit) = context.server.audit() {
                answer["auditJournal"] = audit_json(&audit);
            }
            Ok(ToolOutput::json(answer))
        })
    }
}

fn audit_json(audit: &AuditFacts) -> Value {
    let mut journal = json!({
        "path": audit.path.display().to_string(),
        "writable": audit.failure.is_none(),
    });
    if let Some(failure) = &audit.failure {
        journal["error"] = json!(failure.message);
    }
    journal
}

/// The state of a service of the station in one word (Tool surface §8.11).
pub(super) fn service_word(state: &ServiceState) -> &'static str {
    match state {
        ServiceState::Available => "ok",
        ServiceState::Unavailable => "unavailable",
        ServiceState::Failed(_) => "error",
    }
}

fn service_text(state: &ServiceState) -> String {
    match state {
        ServiceState::Failed(reason) => format!("{}: {reason}", service_word(state)),
        _ => service_word(state).to_owned(),
    }
}

fn station_schema() -> schema::ObjectSchema {
    let interface = |text: &str| {
        object()
            .required("usable", schema::boolean(text))
            .optional("form", schema::string("The form this station takes."))
            .optional("reason", schema::string("Why it cannot be used."))
    };
    object()
        .required(
            "reachable",
            schema::boolean("Whether the station answered this identity."),
        )
        .optional("error", schema::string("Why not."))
        .optional("url", schema::string("Base address."))
        .optional("name", schema::string("Name of the station."))
        .optional("version", schema::string("Version of the station."))
        .optional("timeZone", schema::string("Time zone of the station."))
        .optional(
            "timeZoneSource",
            schema::string("Where the time zone comes from."),
        )
        .required(
            "interfaces",
            object()
                .required("bql", interface("BQL as CSV through the ord servlet."))
                .required("box", interface("BOX messages."))
                .required("obix", interface("oBIX.")),
        )
        .required(
            "operations",
            schema::list(
                "Kinds of operations and the interface that answers each at present.",
                object()
                    .required("operation", schema::string("search, children, component, value, history, alarms, identity, or changes."))
                    .required("interface", schema::one_of("none: no usable interface answers it.", &["bql", "box", "obix", "none"]))
                    .optional("how", schema::string("The form, or what is missing then.")),
            ),
        )
        .required(
            "changes",
            object()
                .required("watchedPoints", schema::whole("Points that are watched for this identity."))
                .optional("route", schema::string("How their changes arrive; absent while nothing is watched.")),
        )
        .optional("fox", fox_schema())
}

fn fox_schema() -> schema::ObjectSchema {
    object()
        .required("target", schema::string("The configured Fox port."))
        .required(
            "reachable",
            schema::boolean("Whether a connection came about."),
        )
        .required("isFox", schema::boolean("Whether a station answered."))
        .optional(
            "observedAt",
            schema::string("When it was asked; once a minute at most."),
        )
        .required(
            "fresh",
            schema::boolean("Whether it was asked for this call."),
        )
        .optional(
            "roundTripMs",
            schema::whole("From the hello to its answer."),
        )
        .optional(
            "foxVersion",
            schema::string("Version of Fox, not of the station."),
        )
        .optional(
            "stationName",
            schema::string("Name of the station, if it tells."),
        )
        .optional("hostName", schema::string("Name of its host, if it tells."))
        .optional(
            "appVersion",
            schema::string("Version of the station, if it tells."),
        )
        .optional(
            "timeZone",
            schema::string("Zone of the station, if it tells."),
        )
        .optional("problem", schema::string("Why there is no identity."))
        .required(
            "hints",
            schema::list("Observations for the operator.", json!({"type": "string"})),
        )
}

fn fox_json(fox: &FoxState) -> Value {
    match &fox.outcome {
        Ok(answer) => {
            let mut line = fox_report_json(&answer.report);
            line["fresh"] = json!(answer.is_fresh);
            line
        }
        Err(problem) => json!({
            "target": fox.target.to_string(),
            "reachable": false,
            "isFox": false,
            "fresh": false,
            "problem": problem,
            "hints": [],
        }),
    }
}

/// Addresses, host id and machine id stay out: they identify an installation (Fox specification §8).
fn fox_report_json(report: &FoxReport) -> Value {
    let mut line = json!({
        "target": report.target.to_string(),
        "reachable": report.reachable,
        "isFox": report.is_fox,
        "observedAt": report.at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
        "hints": report.hints,
    });
    if let Some(round_trip) = report.round_trip {
        line["roundTripMs"] = json!(u64::try_from(round_trip.as_millis()).unwrap_or(u64::MAX));
    }
    let identity = report.identity.clone().unwrap_or_default();
    let zone = identity.time_zone.map(|zone| zone.id);
    for (key, text) in [
        ("foxVersion", identity.fox_version),
        ("stationName", identity.station_name),
        ("hostName", identity.host_name),
        ("appVersion", identity.app_version),
        ("timeZone", zone),
    ] {
        if let Some(text) = text {
            line[key] = json!(text);
        }
    }
    let refusal = identity
        .fatal
        .map(|reason| format!("the station refuses this kind of peer: {reason}"));
    if let Some(problem) = report.failure.as_ref().map(ToString::to_string).or(refusal) {
        line["problem"] = json!(problem);
    }
    line
}

fn operation_json(route: &OperationRoute) -> Value {
    let mut entry = json!({
        "operation": route.operation,
        "interface": route.interface.map_or("none", Interface::name),
    });
    if let Some(how) = route.how {
        entry["how"] = json!(how);
    }
    entry
}

fn station_json(report: &StationReport) -> Value {
    let mut station = json!({ "reachable": report.reachable });
    for (key, text) in [
        ("error", &report.error),
        ("url", &report.url),
        ("name", &report.name),
        ("version", &report.version),
        ("timeZone", &report.time_zone),
        ("timeZoneSource", &report.time_zone_source),
    ] {
        if let Some(text) = text {
            station[key] = json!(text);
        }
    }
    let interfaces = [
        ("bql", &report.bql),
        ("box", &report.boxp),
        ("obix", &report.obix),
    ]
    .into_iter()
    .map(|(name, state)| {
        let mut entry = json!({ "usable": state.usable });
        if let Some(form) = &state.form {
            entry["form"] = json!(form);
        }
        if let Some(reason) = &state.reason {
            entry["reason"] = json!(reason);
        }
        (name.to_owned(), entry)
    })
    .collect();
    station["interfaces"] = Value::Object(interfaces);
    station["operations"] = report.operations.iter().map(operation_json).collect();
    station["changes"] = json!({ "watchedPoints": report.watched_points });
    if let Some(route) = report.change_route {
        station["changes"]["route"] = json!(route.name());
    }
    if let Some(fox) = &report.fox {
        station["fox"] = fox_json(fox);
    }
    station
}
