//! What MCP clients can call: one registry, every tool with the same shape.
//!
//! - [`definition`]: [`Tool`], its [`ToolDefinition`], and what it answers.
//! - [`registry`]: the ordered, filtered [`Registry`] that runs calls.
//! - [`offer`]: which tools of the registry clients see at present.
//! - [`context`]: [`CallContext`], what a call knows of its caller, its time and its server.
//! - [`dialogue`]: log messages and questions to the client of a call.
//! - [`schema`]: the one JSON Schema validator and short builders for input and output schemas.
//! - [`arguments`]: validated arguments and the argument conventions shared by all tools.
//! - [`error`]: [`ToolError`] and the error codes of the tool surface.
//!
//! Every other file holds one family of tools.

pub mod ack_alarm;
pub mod add_extension;
pub mod alarms;
pub mod apply_pattern;
pub mod apply_writes;
pub mod arguments;
pub mod bql;
pub mod browse;
pub mod capability;
mod change_point_picture;
pub mod commit_station;
pub mod context;
pub mod create_component;
pub mod definition;
pub mod diagnostic;
pub mod dialogue;
mod drift_picture;
pub mod dumps;
pub mod echo;
pub mod equipment;
pub mod equipment_types;
pub mod error;
pub mod histories;
pub mod history;
pub mod integrity;
pub mod invoke_action;
mod knowledge_arguments;
pub mod knowledge_changes;
pub mod knowledge_export;
pub mod knowledge_file;
pub mod knowledge_import;
pub mod link_slots;
pub mod list_answer;
mod live_trends;
mod mapped_paths;
mod mapping_view;
pub mod offer;
pub mod overrides;
mod pattern_siblings;
mod pattern_view;
mod plan_arguments;
pub mod plan_operation;
pub mod plan_store;
pub mod plan_writes;
pub mod point;
pub mod point_overrides;
pub mod redaction;
pub mod registry;
pub mod remove_component;
pub mod render_trend;
mod request_progress;
pub mod result_value;
pub mod schedules;
pub use crate::schema;
pub mod search;
pub mod service_health;
pub mod slot_writes;
pub mod spaces;
pub mod standalone_points;
pub mod station_access;
pub mod station_difference;
mod stored_trends;
mod structure_write;
pub mod suggest_mapping;
pub mod test_setup;
pub mod time_argument;
mod trend_answer;
mod trend_request;
mod trend_samples;
pub mod unlink_slots;
pub mod unmapped;
pub mod write_gate;
pub mod write_point;
pub mod write_schedule;
mod write_schedule_json;

pub use arguments::Arguments;
pub use context::{
    AuditFacts, CallContext, Principal, Progress, ServerFacts, SessionCounts, ToolSets,
};
pub use dialogue::{Asking, Client, ClientPort, LogLevel, Question, Reply};
pub use error::{ErrorCode, RpcError, ToolError};
pub use registry::{
    Annotations, Category, Offer, Registry, Tool, ToolDefinition, ToolOutput, ToolResult,
};

use std::sync::Arc;

use crate::knowledge::KnowledgeStore;

/// The tools that change the station, all through one gate.
pub fn writing_tools(
    gate: &write_gate::SharedGate,
    knowledge: &Arc<KnowledgeStore>,
) -> Vec<Arc<dyn Tool>> {
    let plans = Arc::new(plan_store::PlanStore::new(gate.clock().clone()));
    vec![
        Arc::new(write_point::WritePoint(gate.clone())),
        Arc::new(create_component::CreateComponent(gate.clone())),
        Arc::new(remove_component::RemoveComponent {
            gate: gate.clone(),
            knowledge: knowledge.clone(),
        }),
        Arc::new(slot_writes::SetSlot(gate.clone())),
        Arc::new(invoke_action::InvokeAction(gate.clone())),
        Arc::new(add_extension::AddExtension(gate.clone())),
        Arc::new(link_slots::LinkSlots(gate.clone())),
        Arc::new(unlink_slots::UnlinkSlots(gate.clone())),
        Arc::new(commit_station::CommitStation(gate.clone())),
        Arc::new(slot_writes::ClearSlot(gate.clone())),
        Arc::new(point_overrides::OverridePoint(gate.clone())),
        Arc::new(point_overrides::ReleasePoint(gate.clone())),
        Arc::new(plan_writes::PlanWrites {
            gate: gate.clone(),
            plans: plans.clone(),
        }),
        Arc::new(apply_writes::ApplyWrites {
            gate: gate.clone(),
            plans,
        }),
        Arc::new(write_schedule::WriteSchedule(gate.clone())),
        Arc::new(ack_alarm::AckAlarm(gate.clone())),
    ]
}

/// The tools of a bridge to one station.
///
/// `max_history_records` is `maxHistoryRecordsPerQuery` (Tool surface §6).
pub fn reading_tools(
    stations: station_access::SharedStations,
    knowledge: Arc<KnowledgeStore>,
    max_history_records: usize,
) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(echo::Echo),
        Arc::new(browse::ListChildren(stations.clone())),
        Arc::new(point::ReadPoint(stations.clone())),
        Arc::new(bql::BqlQuery(stations.clone())),
        Arc::new(browse::GetOverview(stations.clone())),
        Arc::new(browse::InspectComponent(stations.clone())),
        Arc::new(browse::FindComponentsByType(stations.clone())),
        Arc::new(browse::GetSlots(stations.clone())),
        Arc::new(spaces::create_space(knowledge.clone())),
        Arc::new(spaces::update_space(knowledge.clone())),
        Arc::new(equipment_types::create_equipment_type(knowledge.clone())),
        Arc::new(equipment_types::update_equipment_type(knowledge.clone())),
        Arc::new(equipment::create_equipment(knowledge.clone())),
        Arc::new(equipment::update_equipment(knowledge.clone())),
        Arc::new(equipment::BulkCreateEquipment(knowledge.clone())),
        Arc::new(equipment::AssignPointToEquipment(knowledge.clone())),
        Arc::new(standalone_points::create_standalone_point(
            knowledge.clone(),
        )),
        Arc::new(knowledge_file::ValidateKnowledge(knowledge.clone())),
        Arc::new(knowledge_file::GetKnowledgeSummary(knowledge.clone())),
        Arc::new(unmapped::FindUnmappedComponents {
            stations: stations.clone(),
            knowledge: knowledge.clone(),
        }),
        Arc::new(knowledge_export::ExportKnowledge {
            knowledge: knowledge.clone(),
            stations: stations.clone(),
        }),
        Arc::new(knowledge_import::ImportKnowledge {
            knowledge: knowledge.clone(),
            stations: stations.clone(),
        }),
        Arc::new(knowledge_file::ReloadKnowledge(knowledge.clone())),
        Arc::new(search::FindEquipment(knowledge.clone())),
        Arc::new(search::FindInSpace(knowledge.clone())),
        Arc::new(search::FindPoints(knowledge.clone())),
        Arc::new(history::ReadHistory {
            stations: stations.clone(),
            max_records: max_history_records,
        }),
        Arc::new(alarms::GetActiveAlarms(stations.clone())),
        Arc::new(alarms::GetAlarmHistory(stations.clone())),
        Arc::new(diagnostic::GetServerInfo(knowledge.clone())),
        Arc::new(diagnostic::ProbeOrd(stations.clone())),
        Arc::new(integrity::CheckKnowledgeIntegrity {
            stations: stations.clone(),
            knowledge: knowledge.clone(),
        }),
        Arc::new(service_health::GetServiceHealth {
            stations: stations.clone(),
            knowledge: knowledge.clone(),
        }),
        Arc::new(dumps::GetDiagnosticDump {
            stations: stations.clone(),
            knowledge: knowledge.clone(),
        }),
        Arc::new(dumps::GetFeatureDump {
            stations: stations.clone(),
            knowledge: knowledge.clone(),
        }),
        Arc::new(histories::ListHistories(stations.clone())),
        Arc::new(schedules::ListSchedules(stations.clone())),
        Arc::new(schedules::ReadSchedule(stations.clone())),
        Arc::new(overrides::ListOverrides(stations.clone())),
        Arc::new(knowledge_changes::DeleteKnowledge(knowledge.clone())),
        Arc::new(knowledge_changes::RenameKnowledge(knowledge.clone())),
        Arc::new(station_difference::DiffStation {
            stations: stations.clone(),
            knowledge: knowledge.clone(),
        }),
        Arc::new(suggest_mapping::SuggestMapping {
            stations: stations.clone(),
            knowledge: knowledge.clone(),
        }),
        Arc::new(apply_pattern::ApplyPattern {
            stations,
            knowledge,
        }),
    ]
}
