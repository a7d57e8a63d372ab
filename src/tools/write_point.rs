//! `writePoint`: commands one level of a writable point (Tool surface §8.4, §13.5.4).

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::result_value::{status_text, time_text, value_json};
use super::schema::{self, object};
use super::station_access::sentence;
use super::write_gate::{
    SharedGate, StationWrite, WriteFailure, WriteRequest, Written, with_confirm,
};
use super::{Arguments, CallContext, ErrorCode, ToolError};
use crate::station::echo::shortened;
use crate::station::facade::{Given, PointCommand, PointOrder, PointPlan, WriteError};
use crate::station::priority::Priority;
use crate::station::value::Value as StationValue;

/// Level of a command that names none (Tool surface §8.4).
const LOWEST: i64 = 16;

/// `writePoint`.
pub struct WritePoint(pub SharedGate);

impl Tool for WritePoint {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "writePoint",
            Category::Write,
            Annotations::MUTATION,
            "Commands one priority level of a numeric, boolean, enum or string writable, or releases the level with null. \
             The value is checked against the point's kind, range and choices before it is sent, and the point is read \
             back: 'winning' tells whether the level commands the output now. Levels 1 and 8 need a confirmation. \
             Example: {\"ord\":\"station:|slot:/Logic/Setpoint\",\"value\":21.5,\"priority\":10}.",
        )
        .input(with_confirm(
            object()
                .required("ord", schema::string("Ord of a writable point, for example station:|slot:/Logic/Setpoint."))
                .required(
                    "value",
                    schema::anything("A number, true or false, a text, the number or name of a choice; null releases the level."),
                )
                .optional(
                    "priority",
                    schema::integer_between("Level of the priority array, 1 (highest) to 16.", 1, LOWEST, LOWEST),
                ),
        ))
        .refusing_out_of_range(&["priority"])
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let ord = arguments.string("ord")?;
            let level = arguments.integer("priority", LOWEST);
            let priority = Priority::new(level).map_err(|error| {
                ToolError::invalid_params(sentence(&error)).with("priority", level)
            })?;
            let given = arguments.get("value").and_then(Given::of_json);
            let given = given.ok_or_else(|| {
                ToolError::invalid_params(
                    "'value' must be a number, true or false, a text, or null.",
                )
                .with("argument", "value")
            })?;
            let command = Command {
                gate: &self.0,
                ord,
                order: PointOrder::new(priority, given),
                settle: self.0.readback_delay(),
            };
            let request = WriteRequest::new("writePoint", "write", ord, arguments.values())
                .at_priority(priority);
            if [Priority::EMERGENCY, Priority::MANUAL].contains(&priority) {
                // Nobody is asked to confirm what cannot be written.
                let command = &command;
                let look = |write| async move { command.plan(&write).await };
                let plan = self.0.check(context, &request, look).await?.plan;
                self.0
                    .check_permitted(context, &request, plan.is_permitted())
                    .await?;
            }
            let sent = self.0.run(context, request, |write| command.send(write));
            sent.await?.answered(|command| Ok(answer(ord, &command)))
        })
    }
}

/// A call that was understood.
struct Command<'a> {
    gate: &'a SharedGate,
    ord: &'a str,
    order: PointOrder,
    settle: Duration,
}

impl Command<'_> {
    async fn plan(&self, write: &StationWrite) -> Result<PointPlan, WriteFailure> {
        let station = &write.station;
        // Read for each look: a person may have taken minutes to say yes, and rules change meanwhile.
        let longest_override = self.gate.rules().longest_override();
        let mut order = self.order.clone();
        // An override without an end would go past the limit of overrides.
        order.may_be_endless = longest_override.is_none();
        let planned = station.plan_point(&write.scope, &write.ord, &order).await;
        let plan = planned.map_err(|error| refusal(error, self.ord, self.order.priority))?;
        match longest_override {
            Some(longest) if plan.is_endless() => {
                Err(endless(self.ord, self.order.priority, longest).into())
            }
            _ => Ok(plan),
        }
    }

    async fn send(&self, write: StationWrite) -> Result<Written<PointCommand>, WriteFailure> {
        let plan = self.plan(&write).await?;
        let sent = write
            .station
            .carry_out_point(&write.scope, &write.ord, plan, self.settle)
            .await;
        let command = sent.map_err(|error| refusal(error, self.ord, self.order.priority))?;
        let before = recorded_level(command.previous.valid());
        let after = recorded_level(Some(&command.requested));
        Ok(Written::new(command).from(before).to(after))
    }
}

/// What a level commands, in the records: one that commands nothing is the text null, because JSON's null stands for an
/// unknown value there.
pub(super) fn recorded_level(value: Option<&StationValue>) -> Value {
    match value {
        None | Some(StationValue::Null) => json!("null"),
        Some(value) => value_json(value),
    }
}

/// What this tool owes callers beside the codes of all writes.
fn refusal(error: WriteError, ord: &str, priority: Priority) -> WriteFailure {
    let invalid = |error: &WriteError| {
        ToolError::invalid_params(sentence(error))
            .with("ord", ord)
            .with("priority", priority.level())
    };
    match &error {
        WriteError::Linked { from, .. } => WriteFailure::Tool(
            invalid(&error).with("linkedFrom", json!({ "ord": from.ord, "slot": from.slot })),
        ),
        WriteError::ReadOnly { .. } => WriteFailure::Tool(invalid(&error)),
        _ => error.into(),
    }
}

/// The level is commanded by an override alone, and that would not end.
fn endless(ord: &str, priority: Priority, longest: Duration) -> ToolError {
    let minutes = longest.as_secs() / 60;
    ToolError::new(
        ErrorCode::PermissionDenied,
        format!(
            "Level {priority} of {} takes an override only, and overrides may last {minutes} minutes at most; use \
             overridePoint with a duration, or raise writes.maxOverrideMinutes.",
            shortened(ord)
        ),
    )
    .with("ord", ord)
    .with("priority", priority.level())
    .with("policy", "override")
}

fn answer(ord: &str, command: &PointCommand) -> ToolOutput {
    let requested = command.requested_text();
    let text = format!("ord={ord} <- {requested} @{}", command.priority);
    let mut map = Map::new();
    map.insert("ord".to_owned(), json!(ord));
    map.insert("priority".to_owned(), json!(command.priority.level()));
    map.insert("requested".to_owned(), value_json(&command.requested));
    match &command.observed {
        Ok(observed) => {
            let reading = &observed.reading;
            map.insert("observedOut".to_owned(), json!(reading.out));
            map.insert(
                "observedStatus".to_owned(),
                json!(reading.status.map(status_text)),
            );
            map.insert("activeLevel".to_owned(), json!(reading.active_level));
            let expires = observed.active_until().map(time_text);
            map.insert("expires".to_owned(), json!(expires));
        }
        Err(reason) => {
            map.insert("readBackFailed".to_owned(), json!(reason));
        }
    }
    map.insert("winning".to_owned(), json!(command.is_winning()));
    map.insert("persistent".to_owned(), json!(command.is_persistent()));
    ToolOutput::text_with(text, map)
}
