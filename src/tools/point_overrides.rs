//! `overridePoint` and `releasePoint`: points held by a person for a time, and given back.

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::result_value::{put_value, status_text, time_text};
use super::schema::{self, ObjectSchema, object};
use super::write_gate::{
    SharedGate, StationWrite, WriteFailure, WriteRequest, Written, with_confirm,
};
use super::write_point::recorded_level;
use super::{Arguments, CallContext, ToolError};
use crate::station::facade::{Given, PointCommand, PointOrder, PointPlan, WriteRoute};
use crate::station::priority::Priority;
use crate::station::status::StatusBits;
use crate::station::value::StatusValue;

/// A year; nobody means a longer override.
const LONGEST_MINUTES: i64 = 525_600;

/// `overridePoint`.
pub struct OverridePoint(pub SharedGate);

/// `releasePoint`.
pub struct ReleasePoint(pub SharedGate);

impl Tool for OverridePoint {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "overridePoint",
            Category::Write,
            Annotations::MUTATION,
            "Holds a writable point at a value for a time, as the calling station user: an operator's override at \
             priority 8, which the station itself ends after 'durationMinutes', or an emergency override at priority 1, \
             which the station never ends by itself (durationMinutes 0; end it with releasePoint). Needs a confirmation. \
             The point is read back: 'expires' is the end as the station has it, 'winning' whether the override commands \
             the output now. \
             Example: {\"ord\":\"station:|slot:/Logic/Setpoint\",\"value\":21.5,\"durationMinutes\":120}.",
        )
        .input(with_confirm(
            object()
                .required("ord", schema::string("Ord of a writable point, for example station:|slot:/Logic/Setpoint."))
                .required(
                    "value",
                    schema::any_of_types(
                        "A number, true or false, a text, the number or name of a choice.",
                        &["string", "number", "integer", "boolean"],
                    ),
                )
                .required(
                    "durationMinutes",
                    duration_schema(),
                )
                .optional("priority", priority_schema()),
        ))
        .explaining_null(&["value"])
        .refusing_out_of_range(&["durationMinutes"])
        .output(
            command_schema()
                .required(
                    "requested",
                    schema::any_of_types("The value that was sent.", &["string", "number", "boolean"]),
                )
                .required("durationMinutes", schema::whole("Minutes as asked for; 0 until released."))
                .optional("note", schema::string("What to know about the end of the override.")),
        )
        .for_users()
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let priority = priority_of(&arguments)?;
            let given = given_value(&arguments)?;
            let minutes = minutes_of(&arguments, priority)?;
            let duration = Duration::from_secs(minutes.saturating_mul(60));
            let call = PointCall::of(&arguments, priority, given, duration, &self.0)?;
            let request =
                WriteRequest::new("overridePoint", "override", call.ord, arguments.values())
                    .at_priority(priority)
                    .overriding_for(duration);
            call.check(&self.0, context, &request).await?;
            let sent = self.0.run(context, request, |write| call.send(write));
            sent.await?.answered(|command| {
                let mut map = call.answer(&command);
                put_value(&mut map, "requested", "nonFinite", &command.requested);
                map.insert("durationMinutes".to_owned(), json!(minutes));
                if let Some(note) = note(&command, minutes) {
                    map.insert("note".to_owned(), json!(note));
                }
                Ok(ToolOutput::json(Value::Object(map)))
            })
        })
    }
}

impl Tool for ReleasePoint {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "releasePoint",
            Category::Write,
            Annotations::MUTATION,
            "Ends an override of a writable point, as the calling station user: the operator's at priority 8, or the \
             emergency override at priority 1. What commands the point next takes effect at once. Needs a confirmation; \
             a level that nobody holds is left alone, with released=false. listOverrides tells what is held. \
             Example: {\"ord\":\"station:|slot:/Logic/Setpoint\",\"priority\":8}.",
        )
        .input(with_confirm(
            object()
                .required("ord", schema::string("Ord of a writable point, for example station:|slot:/Logic/Setpoint."))
                .optional("priority", priority_schema()),
        ))
        .output(
            command_schema()
                .required(
                    "released",
                    schema::any_of_types(
                        "Whether the level is free now by this call; null when the point could not be read back.",
                        &["boolean", "null"],
                    ),
                )
                .optional(
                    "reason",
                    schema::one_of("Why nothing was sent.", &["not-overridden"]),
                ),
        )
        .for_users()
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let priority = priority_of(&arguments)?;
            let call = PointCall::of(&arguments, priority, Given::Null, Duration::ZERO, &self.0)?;
            let request =
                WriteRequest::new("releasePoint", "release", call.ord, arguments.values())
                    .at_priority(priority);
            let plan = call.check(&self.0, context, &request).await?;
            if plan.is_held() == Some(false) {
                let mut map = call.echo(&plan.previous);
                map.insert("released".to_owned(), json!(false));
                map.insert("reason".to_owned(), json!("not-overridden"));
                return Ok(ToolOutput::json(Value::Object(map)));
            }
            let sent = self.0.run(context, request, |write| call.send(write));
            sent.await?.answered(|command| {
                let mut map = call.answer(&command);
                let observed = command.observed.as_ref().ok();
                let input = observed.and_then(|observed| observed.input.as_ref());
                let is_free = |input: &StatusValue| input.status.bits().contains(StatusBits::NULL);
                map.insert("released".to_owned(), json!(input.map(is_free)));
                Ok(ToolOutput::json(Value::Object(map)))
            })
        })
    }
}

fn priority_schema() -> Value {
    json!({
        "type": "integer",
        "description": "8: operator's override; 1: emergency override.",
        "enum": [1, 8],
        "default": 8,
    })
}

fn duration_schema() -> Value {
    json!({
        "type": "integer",
        "description": "Minutes until the station ends the override; at priority 1, which is not timed, 0.",
        "minimum": 0,
        "maximum": LONGEST_MINUTES,
    })
}

/// What both tools answer.
fn command_schema() -> ObjectSchema {
    let value = |help: &str| schema::any_of_types(help, &["string", "number", "boolean", "null"]);
    let text = |help: &str| schema::any_of_types(help, &["string", "null"]);
    object()
        .required("ord", schema::string("The ord as given."))
        .required("priority", schema::whole("Level of the override."))
        .required("previous", value("What held the level before; null when nobody did."))
        .optional(
            "nonFinite",
            schema::one_of("Set when a number is not finite.", &["NaN", "Infinity", "-Infinity"]),
        )
        .optional("observedOut", schema::string("Display text of the output, read back."))
        .optional("observedStatus", text("Status words in braces, {ok} when none is set."))
        .optional("activeLevel", text("What commands the output now: 1 to 16, or def for the fallback."))
        .optional(
            "winning",
            schema::any_of_types(
                "Whether the level commands the output now; null when the point could not be read back.",
                &["boolean", "null"],
            ),
        )
        .optional("expires", text("When the station ends the override that commands the output now; null when it does not, as at any level but 8."))
        .optional(
            "route",
            schema::one_of("How it was sent: an action over BOX, or an operation over oBIX.", &["action", "obix"]),
        )
        .optional("readBackFailed", schema::string("Why the point could not be read back."))
}

pub(super) fn priority_of(arguments: &Arguments) -> Result<Priority, ToolError> {
    let level = arguments.integer("priority", Priority::MANUAL.level().into());
    let priority = Priority::new(level).ok();
    priority
        .filter(|priority| [Priority::EMERGENCY, Priority::MANUAL].contains(priority))
        .ok_or_else(|| {
            ToolError::invalid_params("Overrides are at priority 8 (operator) or 1 (emergency).")
                .with("priority", level)
        })
}

pub(super) fn given_value(arguments: &Arguments) -> Result<Given, ToolError> {
    match arguments.get("value") {
        Some(Value::Null) => Err(ToolError::invalid_params(
            "null is no value to hold a point at; releasePoint ends an override.",
        )
        .with("hint", "Use releasePoint to end an override.")),
        value => value.and_then(Given::of_json).ok_or_else(|| {
            ToolError::invalid_params("'value' must be a string, a number, true or false.")
                .with("argument", "value")
        }),
    }
}

/// The station times overrides at priority 8 only (Station web specification §4.8).
pub(super) fn minutes_of(arguments: &Arguments, priority: Priority) -> Result<u64, ToolError> {
    let minutes = arguments.count("durationMinutes", 0) as u64;
    let hint = match (priority == Priority::MANUAL, minutes) {
        (true, 0) => "An override at priority 8 needs an end: give the minutes that it shall last.",
        (false, 1..) => {
            "The station never ends an emergency override by itself: give durationMinutes 0 and end it with releasePoint, \
             or override at priority 8."
        }
        _ => return Ok(minutes),
    };
    Err(ToolError::invalid_params(hint)
        .with("durationMinutes", minutes)
        .with("priority", priority.level()))
}

/// What to know about the end of an override, where it is not as asked for.
fn note(command: &PointCommand, minutes: u64) -> Option<&'static str> {
    let observed = command.observed.as_ref().ok()?;
    match (minutes, &observed.expires) {
        (0, _) => Some(
            "The station does not end this override by itself; end it with releasePoint, priority 1.",
        ),
        (_, None) => Some(
            "The station was told to end this override after that time, but does not show you its end, as where only \
             administrators may read it; releasePoint ends it earlier.",
        ),
        _ => None,
    }
}

/// A command of a level by the actions of the point.
struct PointCall<'a> {
    ord: &'a str,
    order: PointOrder,
    /// Time for the point to act on it.
    settle: Duration,
}

impl<'a> PointCall<'a> {
    fn of(
        arguments: &'a Arguments,
        priority: Priority,
        given: Given,
        duration: Duration,
        gate: &SharedGate,
    ) -> Result<Self, ToolError> {
        let mut order = PointOrder::new(priority, given);
        order.overriding = Some(duration);
        Ok(Self {
            ord: arguments.string("ord")?,
            order,
            settle: gate.readback_delay(),
        })
    }

    async fn check(
        &self,
        gate: &SharedGate,
        context: &CallContext,
        request: &WriteRequest<'_>,
    ) -> Result<PointPlan, ToolError> {
        let look = |write: StationWrite| async move {
            let plan = write
                .station
                .plan_point(&write.scope, &write.ord, &self.order);
            plan.await.map_err(WriteFailure::from)
        };
        let plan = gate.check(context, request, look).await?.plan;
        gate.check_permitted(context, request, plan.is_permitted())
            .await?;
        Ok(plan)
    }

    /// Checked again: a person may have taken minutes to confirm it.
    async fn send(&self, write: StationWrite) -> Result<Written<PointCommand>, WriteFailure> {
        let sent = write
            .station
            .command_point(&write.scope, &write.ord, &self.order, self.settle);
        let command = sent.await?;
        let before = recorded_level(command.previous.valid());
        let after = recorded_level(Some(&command.requested));
        Ok(Written::new(command).from(before).to(after))
    }

    fn echo(&self, previous: &StatusValue) -> Map<String, Value> {
        let mut map = Map::new();
        map.insert("ord".to_owned(), json!(self.ord));
        map.insert("priority".to_owned(), json!(self.order.priority.level()));
        match previous.valid() {
            Some(value) => put_value(&mut map, "previous", "nonFinite", value),
            None => {
                map.insert("previous".to_owned(), Value::Null);
            }
        }
        map
    }

    fn answer(&self, command: &PointCommand) -> Map<String, Value> {
        let mut map = self.echo(&command.previous);
        match &command.observed {
            Ok(observed) => {
                let reading = &observed.reading;
                let status = reading.status.map(status_text);
                map.insert("observedOut".to_owned(), json!(reading.out));
                map.insert("observedStatus".to_owned(), json!(status));
                map.insert("activeLevel".to_owned(), json!(reading.active_level));
                let expires = observed.active_until().map(time_text);
                map.insert("expires".to_owned(), json!(expires));
            }
            Err(reason) => {
                map.insert("readBackFailed".to_owned(), json!(reason));
            }
        }
        map.insert("winning".to_owned(), json!(command.is_winning()));
        let route = match command.route {
            WriteRoute::Obix => "obix",
            WriteRoute::Action | WriteRoute::Input => "action",
        };
        map.insert("route".to_owned(), json!(route));
        map
    }
}
