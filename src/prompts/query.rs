//! Prompts that answer everyday questions about a mapped site (Tool surface §11, `query.*`).

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Map, Value};

use super::guide::{Guide, READ_ONLY, short};
use super::{Prompt, PromptArgument, PromptArguments, PromptDefinition};
use crate::knowledge::{KnowledgeStore, completion};
use crate::resources::in_uri;
use crate::tools::{CallContext, ToolError};

/// `query.equipment_state`: how is this equipment doing?
pub struct EquipmentState(pub Arc<KnowledgeStore>);

impl Prompt for EquipmentState {
    fn definition(&self) -> PromptDefinition {
        PromptDefinition {
            name: "query.equipment_state".into(),
            title: None,
            description:
                "Summarises the present values and the active alarms of one piece of equipment."
                    .into(),
            arguments: vec![PromptArgument {
                name: "equipmentId",
                description: "Id, name or alias of the equipment.",
                required: true,
            }],
        }
    }

    fn text(
        &self,
        context: &CallContext,
        arguments: &PromptArguments,
    ) -> Result<String, ToolError> {
        let id = short(arguments, "equipmentId")?;
        Ok(
            Guide::new(context, "Report how one piece of equipment is doing now.")
                .given("equipmentId", id)
                .step(
                    &["findEquipment"],
                    &format!(
                        "If the value looks like an id, read the resource `niagara://equipment/{}`. Otherwise, or if \
                         there is no such resource, call `findEquipment` with the value as query and take the best \
                         hit. If you cannot read resources, `findPoints` with the equipment's id as text gives its \
                         roles and ords.",
                        in_uri(id)
                    ),
                )
                .step(&["readPoint"], "Call `readPoint` for the ord of every role.")
                .step(
                    &["getActiveAlarms"],
                    "Call `getActiveAlarms` with sourceOrdPrefix = the ord of the equipment.",
                )
                .step(
                    &[],
                    "Report briefly: the key values with units, what is unusual or not {ok}, and the active alarms.",
                )
                .further(
                    &["renderTrend"],
                    "Where the course of a value matters, show it: call `renderTrend` with the ords of up to eight of \
                     these points, from = a day ago, and a span for each alarm.",
                )
                .end(READ_ONLY),
        )
    }

    fn complete<'a>(
        &'a self,
        _context: &'a CallContext,
        _argument: &'a str,
        typed: &'a str,
        _given: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Vec<String>> {
        let snapshot = self.0.snapshot();
        let found = completion::equipment_ids(snapshot.model.document(), typed);
        Box::pin(std::future::ready(found))
    }
}

/// `query.zone_comfort`: is this zone comfortable?
pub struct ZoneComfort(pub Arc<KnowledgeStore>);

impl Prompt for ZoneComfort {
    fn definition(&self) -> PromptDefinition {
        PromptDefinition {
            name: "query.zone_comfort".into(),
            title: None,
            description: "Assesses the comfort in a space: temperature, humidity, CO2, and the air that is supplied."
                .into(),
            arguments: vec![PromptArgument {
                name: "spaceId",
                description: "Id of the space.",
                required: true,
            }],
        }
    }

    fn text(
        &self,
        context: &CallContext,
        arguments: &PromptArguments,
    ) -> Result<String, ToolError> {
        let id = short(arguments, "spaceId")?;
        Ok(
            Guide::new(context, "Assess the comfort in one space of the building.")
                .given("spaceId", id)
                .step(
                    &[],
                    &format!(
                        "Read the resource `niagara://space/{}`. If you cannot read resources, call `findInSpace` with \
                         the value as spaceId.",
                        in_uri(id)
                    ),
                )
                .step(
                    &["readPoint"],
                    "Call `readPoint` for the standalone points of kind temperature, humidity and ppm; keep their \
                     units.",
                )
                .step(
                    &["readPoint"],
                    "Add the supply and return air temperature of any air handler in the zone: read its resource \
                     `niagara://equipment/{id}` for the ords and call `readPoint`.",
                )
                .step(
                    &[],
                    "Summarise: average and range of the temperatures, CO2, humidity. Leave out of the averages every \
                     point whose status is fault, down, stale or null, and name it.",
                )
                .further(
                    &["renderTrend"],
                    "Where the user asks how it came to this, call `renderTrend` with the ords of the points and from = a \
                     day ago.",
                )
                .end(READ_ONLY),
        )
    }

    fn complete<'a>(
        &'a self,
        _context: &'a CallContext,
        _argument: &'a str,
        typed: &'a str,
        _given: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Vec<String>> {
        let snapshot = self.0.snapshot();
        let found = completion::space_ids(snapshot.model.document(), typed);
        Box::pin(std::future::ready(found))
    }
}

/// `query.alarm_summary`: what has been alarming?
pub struct AlarmSummary;

impl Prompt for AlarmSummary {
    fn definition(&self) -> PromptDefinition {
        PromptDefinition {
            name: "query.alarm_summary".into(),
            title: None,
            description: "Summarises the alarms of the last day, or since a time: what is active, and which sources \
                          alarm most."
                .into(),
            arguments: vec![PromptArgument {
                name: "since",
                description: "ISO 8601 time to begin at, for example 2026-05-09T00:00:00Z; 24 hours ago when absent.",
                required: false,
            }],
        }
    }

    fn text(
        &self,
        context: &CallContext,
        arguments: &PromptArguments,
    ) -> Result<String, ToolError> {
        let since = short(arguments, "since")?;
        let guide = Guide::new(context, "Summarise the alarms of this station.");
        let (guide, from) = if since.is_empty() {
            (guide, "the time 24 hours ago (now minus 24 h)")
        } else {
            (
                guide.given("since", since),
                "the time that the user gave, as an ISO 8601 time",
            )
        };
        Ok(guide
            .step(&["getActiveAlarms"], "Call `getActiveAlarms`.")
            .step(
                &["getAlarmHistory"],
                &format!(
                    "Call `getAlarmHistory` with from = {from}. If the answer says that it is truncated, say so in the \
                     summary."
                ),
            )
            .step(
                &[],
                "Group the alarms by source, the source cut two levels under Drivers, and count them.",
            )
            .step(
                &[],
                "List the ten sources with the most alarms, and the alarms that are unacknowledged now.",
            )
            .step(
                &["findPoints"],
                "Where the ord of a mapped piece of equipment is a prefix of a source, use the equipment's name: \
                 `findEquipment` gives names and ords, `findPoints` the ords of points.",
            )
            .further(
                &["renderTrend"],
                "For a source that alarms often, show its point: call `renderTrend` with the ord of the point and the times \
                 of its alarms as spans.",
            )
            .end(READ_ONLY))
    }
}
