//! `writeSchedule`: weekdays and special events of a schedule, as the calling station user.

use chrono::{DateTime, NaiveDateTime, Utc};
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::result_value::time_text;
use super::schema::{self, ObjectSchema, object};
use super::station_access::{component_ord, scope, sentence, station_error};
use super::write_gate::{
    SharedGate, StationWrite, WriteFailure, WriteRequest, Written, with_confirm,
};
use super::write_schedule_json::{changes_json, edit_of, scheduled_json, undo_json};
use super::{Arguments, CallContext, ErrorCode, ToolError};
use crate::station::facade::{
    DayRule, ScheduleEditError, ScheduleOutcome, SchedulePicture, SchedulePlan, same_program,
};
use crate::station::time::parse_client_time;

/// `writeSchedule`.
pub struct WriteSchedule(pub SharedGate);

impl Tool for WriteSchedule {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "writeSchedule",
            Category::Write,
            Annotations::DESTRUCTIVE,
            "Changes the program of a boolean, numeric, enum or string schedule as the calling station user: 'week' gives \
             weekdays all their periods, 'events' adds special events or gives known ones other periods, 'removeEvents' \
             removes them; what is not named stays. Times and values are checked before anything is sent, each changed \
             part is one message, and the program is read back. The answer shows the parts before and after, the value \
             that the program gives at 'at' before and after, and in 'undo' the arguments that lead back. 'dryRun' shows \
             all that and sends nothing. Example: {\"ord\":\"station:|slot:/Logic/Occupancy\",\"week\":[{\"day\":\"monday\",\
             \"periods\":[{\"start\":\"06:30\",\"finish\":\"19:00\",\"value\":true}]}]}.",
        )
        .input(with_confirm(schedule_arguments().optional(
            "dryRun",
            schema::boolean("Show what would be sent; nothing is changed."),
        )))
        .output(answer_schema())
        .for_users()
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let call = Call::of(&self.0, context, &arguments).await?;
            let request = call.request(&arguments);
            if !call.plan.changes_something() || arguments.boolean("dryRun", false) {
                let rehearsed = match call.plan.changes_something() {
                    true => Some(self.0.rehearse(context, &request).await?),
                    false => None,
                };
                let mut answer = call.answer(0, &call.plan.after, None);
                if let Some(why) = rehearsed.and_then(|one| one.needs_confirmation) {
                    let token =
                        self.0
                            .confirmation_token(context, "writeSchedule", arguments.values())?;
                    answer["needsConfirmation"] = json!(why);
                    answer["confirm"] = json!(token);
                }
                if let Some(denied) = &call.plan.denied {
                    answer["denied"] = json!(denied);
                }
                return Ok(ToolOutput::json(answer));
            }
            let done = self
                .0
                .run(context, request, |write| call.write(write))
                .await?;
            done.answered(|(sent, after)| {
                let verified = same_program(&after, &call.plan.after);
                Ok(ToolOutput::json(call.answer(sent, &after, Some(verified))))
            })
        })
    }
}

/// The arguments that say what a program is to be.
fn schedule_arguments() -> ObjectSchema {
    let periods = || {
        schema::list(
            "All periods of the day, in any order, without overlaps.",
            object()
                .required("start", schema::string("Time of day, for example 06:30."))
                .required(
                    "finish",
                    schema::string("Time of day, not included; 24:00 is the end of the day."),
                )
                .required(
                    "value",
                    schema::anything("Output during the period: a number, true or false, a text, the name of a choice; null puts out the null value."),
                ),
        )
    };
    let date = |help: &str| schema::string(&format!("{help}, for example 2026-12-24."));
    object()
        .required(
            "ord",
            schema::string("Ord of a schedule, see listSchedules."),
        )
        .optional(
            "week",
            schema::list(
                "Weekdays with all the periods that they shall have; an empty list of periods clears the day.",
                object()
                    .required("day", schema::string("Weekday in English, for example monday."))
                    .required("periods", periods()),
            ),
        )
        .optional(
            "events",
            schema::list(
                "Special events to add, or to give other periods; a new one needs its days.",
                object()
                    .required("name", schema::string("Name of the event."))
                    .optional("date", date("A single day"))
                    .optional("month", schema::integer_between("Month of a day of every year.", 1, 12, 1))
                    .optional("day", schema::integer_between("Day of the month of every year.", 1, 31, 1))
                    .optional("from", date("First day of a span"))
                    .optional("to", date("Last day of a span"))
                    .required("periods", periods()),
            ),
        )
        .optional(
            "removeEvents",
            schema::list("Names of special events to remove.", json!({"type": "string"})),
        )
        .optional(
            "at",
            schema::string("Time for which the value before and after is told; now when absent."),
        )
}

fn answer_schema() -> ObjectSchema {
    let periods = |help: &str| {
        let mut schema = schema::anything(help);
        schema["type"] = json!(["array", "null"]);
        schema
    };
    let scheduled = |help: &str| {
        let mut schema: Value = object()
            .optional("value", schema::anything("Output; null is the null value."))
            .optional(
                "by",
                schema::one_of(
                    "Which part gives it.",
                    &["event", "weekday", "default-output"],
                ),
            )
            .optional("part", schema::string("Weekday or event."))
            .optional("unknown", schema::string("Why it is not known."))
            .into();
        schema["description"] = json!(help);
        schema
    };
    object()
        .required("ord", schema::string("The ord as given."))
        .required("displayName", schema::string("Display name."))
        .required("type", schema::string("Type as module:Type."))
        .required("timeZone", schema::string("Time zone of the times of day."))
        .required("changed", schema::boolean("Whether anything differs."))
        .required("sent", schema::whole("Messages that the station took."))
        .required("planned", schema::whole("Messages that the change takes."))
        .required(
            "changes",
            schema::list(
                "The parts that differ.",
                object()
                    .required("part", schema::string("Weekday, or 'event' and its name."))
                    .required("before", periods("Periods before; null for a new event."))
                    .required("after", periods("Periods after; null for a removed event.")),
            ),
        )
        .required(
            "effective",
            object()
                .required("at", schema::string("The time that was asked for."))
                .required("before", scheduled("What the program said."))
                .required("after", scheduled("What it says then.")),
        )
        .optional(
            "undo",
            schema::anything("Arguments of writeSchedule that lead back."),
        )
        .optional(
            "notUndoable",
            schema::list("What they cannot bring back.", json!({"type": "string"})),
        )
        .optional(
            "verified",
            schema::boolean("Whether the program read back is the one that was wanted."),
        )
        .optional(
            "denied",
            schema::string(
                "A component that the caller may not change, as far as the station told.",
            ),
        )
        .optional(
            "needsConfirmation",
            schema::string("Why somebody must confirm the write."),
        )
        .optional(
            "confirm",
            schema::string("Token that confirms the same call."),
        )
}

/// A call with its plan.
struct Call<'a> {
    text: &'a str,
    plan: SchedulePlan,
    at: DateTime<Utc>,
}

impl<'a> Call<'a> {
    async fn of(
        gate: &SharedGate,
        context: &CallContext,
        arguments: &'a Arguments,
    ) -> Result<Self, ToolError> {
        let text = arguments.string("ord")?;
        let ord = component_ord(text)?;
        let edit = edit_of(arguments.values())?;
        let station = gate.reading_station(context)?;
        let plan = station.plan_schedule(&scope(context), &ord, &edit).await;
        let plan = match plan.map_err(|error| edit_error(error, text)) {
            Ok(plan) => plan,
            Err(error) if arguments.boolean("dryRun", false) => return Err(error),
            Err(error) => {
                let request =
                    WriteRequest::new("writeSchedule", "schedule", text, arguments.values());
                return Err(gate.not_possible(context, &request, error).await);
            }
        };
        let at = match arguments.optional_string("at").map(str::trim) {
            None | Some("") => station.now(),
            Some(at) => parse_client_time(at, plan.zone).map_err(|error| {
                ToolError::invalid_params(format!("Argument 'at': {error}.")).with("argument", "at")
            })?,
        };
        Ok(Self { text, plan, at })
    }

    fn request(&self, arguments: &'a Arguments) -> WriteRequest<'a> {
        let request = WriteRequest::new("writeSchedule", "schedule", self.text, arguments.values());
        let after = &self.plan.after;
        let lost = |name: &str| after.events.iter().all(|event| event.name != name);
        let mut removed = self.plan.before.events.iter();
        // A removed event whose days cannot be written here does not come back.
        match removed.any(|old| lost(&old.name) && !matches!(old.rule, DayRule::Known(_))) {
            true => request.removing(),
            false => request,
        }
    }

    fn local(&self) -> NaiveDateTime {
        self.at.with_timezone(&self.plan.zone).naive_local()
    }

    async fn write(
        &self,
        write: StationWrite,
    ) -> Result<Written<(usize, SchedulePicture)>, WriteFailure> {
        let outcome = write
            .station
            .write_schedule(&write.scope, &write.ord, &self.plan)
            .await;
        let ScheduleOutcome {
            sent,
            failure,
            after,
        } = outcome;
        let before = json!(changes_json(&self.plan.after, &self.plan.before));
        let Some(failure) = failure else {
            let seen = after.unwrap_or_else(|reason| {
                tracing::warn!(reason, "a schedule could not be read back");
                self.plan.after.clone()
            });
            let changes = changes_json(&self.plan.before, &seen);
            return Ok(Written::new((sent, seen)).from(before).to(json!(changes)));
        };
        if sent == 0 && !failure.is_in_doubt() {
            return Err(failure.into());
        }
        let mut error = ToolError::internal(format!(
            "After {sent} of {} messages: {}",
            self.plan.messages,
            sentence(&failure)
        ))
        .with("sent", sent)
        .with("planned", self.plan.messages);
        match &after {
            Ok(seen) => {
                let (undo, lost) = undo_json(self.text, &self.plan.before, seen);
                error = error
                    .with("observed", json!(changes_json(&self.plan.before, seen)))
                    .with("undo", Value::Object(undo));
                if !lost.is_empty() {
                    error = error.with("notUndoable", json!(lost));
                }
            }
            Err(reason) => error = error.with("readBackFailed", reason.clone()),
        }
        Err(match failure.is_in_doubt() {
            true => WriteFailure::InDoubt(error),
            false => WriteFailure::Tool(error),
        })
    }

    fn answer(&self, sent: usize, after: &SchedulePicture, verified: Option<bool>) -> Value {
        let plan = &self.plan;
        let changes = changes_json(&plan.before, after);
        let at = self.at.with_timezone(&plan.zone).fixed_offset();
        let mut map = Map::new();
        let mut put = |key: &str, value: Value| {
            map.insert(key.to_owned(), value);
        };
        put("ord", json!(self.text));
        put("displayName", json!(plan.display_name));
        put("type", json!(plan.type_spec));
        put("timeZone", json!(plan.zone.name()));
        put("changed", json!(!changes.is_empty()));
        put("sent", json!(sent));
        put("planned", json!(plan.messages));
        put("changes", json!(changes));
        let local = self.local();
        put(
            "effective",
            json!({
                "at": time_text(&at),
                "before": scheduled_json(plan.before.value_at(local)),
                "after": scheduled_json(after.value_at(local)),
            }),
        );
        if plan.changes_something() {
            let (undo, lost) = undo_json(self.text, &plan.before, after);
            put("undo", Value::Object(undo));
            if !lost.is_empty() {
                put("notUndoable", json!(lost));
            }
        }
        if let Some(verified) = verified {
            put("verified", json!(verified));
        }
        Value::Object(map)
    }
}

/// Why a program is not changed, in the codes of the surface.
pub(super) fn edit_error(error: ScheduleEditError, ord: &str) -> ToolError {
    let text = sentence(&error);
    match error {
        ScheduleEditError::Facade(error) => station_error(error, ord),
        ScheduleEditError::Invalid { place, .. } => ToolError::invalid_params(text)
            .with("ord", ord)
            .with("place", place),
        ScheduleEditError::NotEditable { .. } => {
            ToolError::new(ErrorCode::InvalidParams, text).with("ord", ord)
        }
    }
}
