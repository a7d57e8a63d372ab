//! `writeSchedule`: weekdays and special events of a schedule, as the calling station user.

use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::definition::time_for;
use super::registry::{
    Annotations, Category, LONG_CALL_LIMIT, STATION_CALL_LIMIT, Tool, ToolDefinition, ToolOutput,
    ToolResult,
};
use super::result_value::time_text;
use super::schema::{self, ObjectSchema, object};
use super::station_access::{component_ord, scope, sentence, station_error};
use super::write_gate::{
    SharedGate, StationWrite, WriteFailure, WriteRequest, Written, with_confirm,
};
use super::write_schedule_json::{Undo, changes_json, edit_of, scheduled_json};
use super::{Arguments, CallContext, ErrorCode, ToolError};
use crate::station::facade::{
    DayRule, ScheduleEdit, ScheduleEditError, ScheduleOutcome, SchedulePicture, SchedulePlan,
    StationFacade, same_program,
};
use crate::station::http::CallScope;
use crate::station::ord::Ord;
use crate::station::time::parse_client_time;

/// Time that a message takes on a slow controller.
const PER_MESSAGE: Duration = Duration::from_millis(1500);

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
        .within(LONG_CALL_LIMIT)
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let text = arguments.string("ord")?;
            let call = Call {
                text,
                edit: edit_of(arguments.values())?,
                at: arguments.optional_string("at"),
            };
            let looking = context.at_most(STATION_CALL_LIMIT);
            let request = WriteRequest::new("writeSchedule", "schedule", text, arguments.values());
            if arguments.boolean("dryRun", false) {
                let ord = component_ord(text)?;
                let station = self.0.reading_station(context)?;
                let plan = call.plan(&station, &scope(&looking), &ord).await?;
                return self
                    .rehearsed(&looking, &call, judged(request, &plan), plan)
                    .await;
            }
            let now = self.0.reading_station(context)?.now();
            let look = |write: StationWrite| async {
                let write = write;
                let plan = call.plan(&write.station, &write.scope, &write.ord).await?;
                Ok(plan)
            };
            let checked = self.0.check(&looking, &request, look).await?;
            let is_asked = checked.needs_confirmation;
            let plan = checked.plan;
            let at = call.time(now, &plan)?;
            if !plan.changes_something() {
                return Ok(call.answer(&plan, at, 0, None));
            }
            let request = judged(request, &plan);
            let is_asked = is_asked || request.destructive;
            let context = context.at_most(time_for(plan.messages, PER_MESSAGE));
            let done = self
                .0
                .run(&context, request, |write| call.write(write, plan, is_asked))
                .await?;
            done.answered(|(plan, changed)| {
                Ok(call.answer(&plan, at, changed.sent, Some(&changed.after)))
            })
        })
    }
}

impl WriteSchedule {
    async fn rehearsed(
        &self,
        context: &CallContext,
        call: &Call<'_>,
        request: WriteRequest<'_>,
        plan: SchedulePlan,
    ) -> ToolResult {
        let at = call.time(self.0.reading_station(context)?.now(), &plan)?;
        let rehearsed = match plan.changes_something() {
            true => Some(self.0.rehearse(context, &request).await?),
            false => None,
        };
        let mut answer = call.answer_map(&plan, at, 0, None);
        if let Some(why) = rehearsed.and_then(|one| one.needs_confirmation) {
            let token = self
                .0
                .confirmation_token(context, "writeSchedule", request.arguments)?;
            answer.insert("needsConfirmation".to_owned(), json!(why));
            answer.insert("confirm".to_owned(), json!(token));
        }
        if let Some(denied) = &plan.denied {
            answer.insert("denied".to_owned(), json!(denied));
        }
        Ok(ToolOutput::json(Value::Object(answer)))
    }
}

/// A removed event whose days cannot be written here does not come back.
fn judged<'a>(request: WriteRequest<'a>, plan: &SchedulePlan) -> WriteRequest<'a> {
    let lost = |name: &str| plan.after.events.iter().all(|event| event.name != name);
    let mut removed = plan.before.events.iter();
    match removed.any(|old| lost(&old.name) && !matches!(old.rule, DayRule::Known(_))) {
        true => request.removing(),
        false => request,
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
            schema::list("What they do not bring back as it was.", json!({"type": "string"})),
        )
        .optional(
            "verified",
            schema::boolean("Whether the program read back is the one that was wanted."),
        )
        .optional(
            "readBackFailed",
            schema::string(
                "Why the program could not be read back; 'changes' and 'effective' are what was sent.",
            ),
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

/// A call that was understood.
struct Call<'a> {
    text: &'a str,
    edit: ScheduleEdit,
    /// Time for which the value is told, as given.
    at: Option<&'a str>,
}

/// A program that was changed.
pub(super) struct Changed {
    /// Messages that the station took.
    pub sent: usize,
    /// The program read back, or why that failed.
    pub after: Result<SchedulePicture, String>,
}

impl Call<'_> {
    async fn plan(
        &self,
        station: &StationFacade,
        scope: &CallScope,
        ord: &Ord,
    ) -> Result<SchedulePlan, ToolError> {
        let plan = station.plan_schedule(scope, ord, &self.edit).await;
        plan.map_err(|error| edit_error(error, self.text))
    }

    fn time(&self, now: DateTime<Utc>, plan: &SchedulePlan) -> Result<DateTime<Utc>, ToolError> {
        match self.at.map(str::trim) {
            None | Some("") => Ok(now),
            Some(at) => parse_client_time(at, plan.zone).map_err(|error| {
                ToolError::invalid_params(format!("Argument 'at': {error}.")).with("argument", "at")
            }),
        }
    }

    /// Sends what was planned; where somebody was asked, which may have taken minutes, the program must still be the one
    /// that was found.
    async fn write(
        &self,
        write: StationWrite,
        found: SchedulePlan,
        was_asked: bool,
    ) -> Result<Written<(SchedulePlan, Changed)>, WriteFailure> {
        let plan = match was_asked {
            false => found,
            true => {
                let now = self.plan(&write.station, &write.scope, &write.ord).await?;
                if now.before != found.before {
                    return Err(changed_meanwhile(self.text, &found, &now).into());
                }
                now
            }
        };
        let outcome = write
            .station
            .write_schedule(&write.scope, &write.ord, &plan)
            .await;
        let written = concluded(self.text, &plan, outcome)?;
        Ok(Written {
            value: (plan, written.value),
            old_value: written.old_value,
            new_value: written.new_value,
        })
    }

    fn answer(
        &self,
        plan: &SchedulePlan,
        at: DateTime<Utc>,
        sent: usize,
        seen: Option<&Result<SchedulePicture, String>>,
    ) -> ToolOutput {
        ToolOutput::json(Value::Object(self.answer_map(plan, at, sent, seen)))
    }

    /// What was changed; what would be, where nothing was read back.
    fn answer_map(
        &self,
        plan: &SchedulePlan,
        at: DateTime<Utc>,
        sent: usize,
        seen: Option<&Result<SchedulePicture, String>>,
    ) -> Map<String, Value> {
        let after = match seen {
            Some(Ok(after)) => after,
            Some(Err(_)) | None => &plan.after,
        };
        let changes = changes_json(&plan.before, after);
        let at = at.with_timezone(&plan.zone).fixed_offset();
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
        let local = at.naive_local();
        put(
            "effective",
            json!({
                "at": time_text(&at),
                "before": scheduled_json(plan.before.value_at(local)),
                "after": scheduled_json(after.value_at(local)),
            }),
        );
        match seen {
            Some(Ok(seen)) => put("verified", json!(same_program(seen, &plan.after))),
            Some(Err(reason)) => {
                put("verified", json!(false));
                put("readBackFailed", json!(reason));
            }
            None => {}
        }
        if plan.changes_something() {
            Undo::of(self.text, &plan.before, after).tell(&mut map);
        }
        map
    }
}

/// What became of a change, for the answer and for the records; a program that was not read back is not recorded as the
/// new one.
///
/// # Errors
/// What ended the change early, with the program as it is now where some of it was changed.
pub(super) fn concluded(
    ord: &str,
    plan: &SchedulePlan,
    outcome: ScheduleOutcome,
) -> Result<Written<Changed>, WriteFailure> {
    let ScheduleOutcome {
        sent,
        failure,
        after,
    } = outcome;
    let seen = after.as_ref().ok();
    let old_value = json!(changes_json(seen.unwrap_or(&plan.after), &plan.before));
    let new_value = seen.map(|seen| json!(changes_json(&plan.before, seen)));
    let Some(failure) = failure else {
        return Ok(Written {
            value: Changed { sent, after },
            old_value: Some(old_value),
            new_value,
        });
    };
    let in_doubt = failure.is_in_doubt();
    if sent == 0 && !in_doubt {
        return Err(failure.into());
    }
    let mut error = ToolError::internal(format!(
        "After {sent} of {} messages: {}",
        plan.messages,
        sentence(&failure)
    ))
    .with("sent", sent)
    .with("planned", plan.messages);
    match &after {
        Ok(seen) => {
            error = error.with("observed", new_value.clone());
            Undo::of(ord, &plan.before, seen).tell(&mut error.data);
        }
        Err(reason) => error = error.with("readBackFailed", reason.clone()),
    }
    Err(WriteFailure::Partly {
        error,
        in_doubt,
        old_value: seen.is_some().then(|| Box::new(old_value)),
        new_value: new_value.map(Box::new),
    })
}

fn changed_meanwhile(ord: &str, found: &SchedulePlan, now: &SchedulePlan) -> ToolError {
    ToolError::invalid_params(
        "The program of the schedule changed while the write waited for its confirmation, so nothing was sent. Look at \
         it with readSchedule, and call again.",
    )
    .with("ord", ord)
    .with("kind", "schedule-changed")
    .with("changed", json!(changes_json(&found.before, &now.before)))
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
