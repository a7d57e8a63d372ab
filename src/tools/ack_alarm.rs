//! `ackAlarm`: acknowledges open alarms as the calling station user (oBIX specification §11.3).

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::alarms::{alarm_json, alarm_schema};
use super::definition::time_for;
use super::registry::{
    Annotations, Category, LONG_CALL_LIMIT, STATION_CALL_LIMIT, Tool, ToolDefinition, ToolOutput,
    ToolResult,
};
use super::schema::{self, object};
use super::station_access::{alarm_error, component_ord, scope, sentence};
use super::write_gate::{
    Admission, Pass, SharedGate, StationWrite, WriteFailure, WriteRequest, Written, with_confirm,
};
use super::{Arguments, CallContext, ErrorCode, ToolError};
use crate::station::facade::{
    AckEnding, AckList, AckRoute, AlarmAck, AlarmChoice, AlarmChoiceError, AlarmRecord,
};

/// What the rules look at where an alarm names no component of this station.
const ALARM_SERVICE: &str = "station:|slot:/Services/AlarmService";

/// Time that one alarm takes on a slow controller: its message, and reading it back.
const PER_ALARM: Duration = Duration::from_secs(2);

/// `ackAlarm`.
pub struct AckAlarm(pub SharedGate);

impl Tool for AckAlarm {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "ackAlarm",
            Category::Alarms,
            Annotations::MUTATION,
            "Acknowledges one open alarm by 'uuid', or all open alarms of a source (itself or below it, at most 50) by \
             'sourceOrd', as the calling station user, and shows each record before and after. Alarms that somebody has \
             acknowledged are told, not acknowledged again. The station notes user and time. \
             Example: {\"uuid\":\"5f2e6d3c-0000-4000-8000-000000000001\"}.",
        )
        .input(with_confirm(
            object()
                .optional("uuid", schema::string("Id of an alarm, see getActiveAlarms."))
                .optional(
                    "sourceOrd",
                    schema::string("Ord of a source, for example station:|slot:/Drivers/BacnetNetwork/AHU1; give this or 'uuid'."),
                ),
        ))
        .output(
            object()
                .required("acknowledged", schema::whole("Alarms acknowledged by this call."))
                .required("alreadyAcknowledged", schema::whole("Alarms that somebody had acknowledged."))
                .required("alarms", schema::list(
                    "The alarms in the order of the station.",
                    object()
                        .required("outcome", schema::one_of(
                            "What became of it.",
                            &["acknowledged", "already-acknowledged"],
                        ))
                        .optional("route", schema::one_of("Interface that took it.", &["obix", "box"]))
                        .required("before", alarm_schema())
                        .optional("after", alarm_schema())
                        .optional("readBackFailed", schema::string("Why the record could not be read again.")),
                )),
        )
        .for_users()
        .within(LONG_CALL_LIMIT)
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let choice = choice(&arguments)?;
            let station = self.0.reading_station(context)?;
            let ord = match choice {
                AlarmChoice::Uuid(text) | AlarmChoice::Source(text) => text,
            };
            let looking = scope(&context.at_most(STATION_CALL_LIMIT));
            let alarms = match station.alarms_to_acknowledge(&looking, choice).await {
                Ok(alarms) => alarms,
                Err(error) => {
                    let error = choice_error(error, choice);
                    let request =
                        WriteRequest::new("ackAlarm", "acknowledge", ord, arguments.values());
                    return Err(self.0.not_possible(context, &request, error).await);
                }
            };
            let (known, open): (Vec<_>, Vec<_>) = alarms
                .into_iter()
                .partition(|alarm| alarm.is_acknowledged == Some(true));
            let mut acks: Vec<AlarmAck> = known.into_iter().map(acknowledged_before).collect();
            if open.is_empty() {
                return Ok(ToolOutput::json(answer(&acks)));
            }
            let context = &context.at_most(time_for(open.len(), PER_ALARM));
            let judged: Vec<String> = open.iter().map(judged_ord).collect();
            let requests: Vec<WriteRequest<'_>> = judged
                .iter()
                .map(|judged| {
                    WriteRequest::new("ackAlarm", "acknowledge", ord, arguments.values())
                        .judged_at(judged)
                })
                .collect();
            let admitted = self
                .0
                .admit(context, "ackAlarm", arguments.values(), &requests)
                .await?;
            let passes = match admitted {
                Admission::Granted(passes) => passes,
                Admission::Asked(output) => return Ok(output),
            };
            // A person may have taken minutes: the time of the call counts from their answer.
            let Some(write) = passes.first().map(|pass| pass.write().clone()) else {
                return Ok(ToolOutput::json(answer(&acks)));
            };
            let open = match passes.iter().any(Pass::was_confirmed) {
                true => match as_they_are_now(&write, choice, open).await {
                    Ok(open) => open,
                    Err(error) => {
                        self.0.withdraw(passes, &error).await;
                        return Err(error);
                    }
                },
                false => open,
            };
            let list = write.station.list_to_acknowledge(&write.scope).await;
            for (pass, alarm) in passes.into_iter().zip(open) {
                if !write.scope.may_begin_write() {
                    return Err(with_done(out_of_time(), &acks));
                }
                match self.acknowledge(pass, &list, alarm).await {
                    Ok(ack) => acks.push(ack),
                    Err(error) => return Err(with_done(error, &acks)),
                }
            }
            Ok(ToolOutput::json(answer(&acks)))
        })
    }
}

impl AckAlarm {
    async fn acknowledge(
        &self,
        pass: Pass,
        list: &AckList,
        alarm: AlarmRecord,
    ) -> Result<AlarmAck, ToolError> {
        self.0
            .perform(pass, |write| async move {
                let before = alarm.ack_state.clone();
                let ack = write
                    .station
                    .acknowledge_alarm(&write.scope, list, alarm)
                    .await;
                let seen = |ack: &AlarmAck| match &ack.after {
                    Ok(after) => alarm_json(after),
                    Err(reason) => json!({ "readBackFailed": reason }),
                };
                match &ack.ending {
                    AckEnding::Done(_) | AckEnding::WasAcknowledged => {
                        let after = ack.after.as_ref().ok();
                        let after = after.and_then(|after| after.ack_state.clone());
                        Ok(Written::new(ack).from(json!(before)).to(json!(after)))
                    }
                    AckEnding::Refused(error) => Err(WriteFailure::Station(error.clone().into())),
                    AckEnding::InDoubt(cause) => Err(WriteFailure::InDoubt(
                        ToolError::internal(format!(
                            "Whether the station acknowledged the alarm is unknown: {cause}. It was not sent again; \
                             'observed' is its record now."
                        ))
                        .with("detail", cause.clone())
                        .with("observed", seen(&ack)),
                    )),
                    AckEnding::NotTried => Err(WriteFailure::Tool(ToolError::internal(
                        "The alarm was not acknowledged.",
                    ))),
                }
            })
            .await
    }
}

/// The alarms that were found, with what somebody did to them since.
async fn as_they_are_now(
    write: &StationWrite,
    choice: AlarmChoice<'_>,
    found: Vec<AlarmRecord>,
) -> Result<Vec<AlarmRecord>, ToolError> {
    let now = write
        .station
        .alarms_to_acknowledge(&write.scope, choice)
        .await
        .map_err(|error| choice_error(error, choice))?;
    let found = found.into_iter().map(|old| {
        let same = now.iter().find(|record| record.uuid == old.uuid);
        same.cloned().unwrap_or(old)
    });
    Ok(found.collect())
}

fn out_of_time() -> ToolError {
    ToolError::station(
        "station-timeout",
        "The time of the call is over, or it was cancelled, so the next alarm was not begun. Call again for the others.",
    )
}

fn choice(arguments: &Arguments) -> Result<AlarmChoice<'_>, ToolError> {
    let given = |name: &str| {
        let text = arguments.optional_string(name).map(str::trim);
        text.filter(|text| !text.is_empty())
    };
    match (given("uuid"), given("sourceOrd")) {
        (Some(uuid), None) => Ok(AlarmChoice::Uuid(uuid)),
        (None, Some(source)) => {
            component_ord(source)?;
            Ok(AlarmChoice::Source(source))
        }
        (None, None) => Err(ToolError::invalid_params(
            "Give 'uuid' for one alarm, or 'sourceOrd' for all open alarms of a source.",
        )
        .with("missing", "uuid")),
        (Some(_), Some(_)) => Err(ToolError::invalid_params(
            "Give either 'uuid' or 'sourceOrd', not both.",
        )
        .with("argument", "sourceOrd")),
    }
}

fn choice_error(error: AlarmChoiceError, choice: AlarmChoice<'_>) -> ToolError {
    let text = sentence(&error);
    let about = |error: ToolError| match choice {
        AlarmChoice::Uuid(uuid) => error.with("uuid", uuid),
        AlarmChoice::Source(source) => error.with("ord", source),
    };
    match error {
        AlarmChoiceError::Facade(error) => alarm_error(error),
        AlarmChoiceError::NoneOpen { .. } => {
            about(ToolError::new(ErrorCode::OrdNotResolvable, text))
        }
        AlarmChoiceError::TooMany { .. } => about(ToolError::invalid_params(text)),
    }
}

/// The first source that is a component of this station.
fn judged_ord(alarm: &AlarmRecord) -> String {
    alarm
        .sources
        .iter()
        .find(|source| component_ord(source).is_ok())
        .cloned()
        .unwrap_or_else(|| ALARM_SERVICE.to_owned())
}

fn acknowledged_before(alarm: AlarmRecord) -> AlarmAck {
    AlarmAck {
        after: Ok(alarm.clone()),
        before: alarm,
        ending: AckEnding::WasAcknowledged,
    }
}

/// A failure in the middle names what was done before it.
fn with_done(error: ToolError, acks: &[AlarmAck]) -> ToolError {
    let done: Vec<&str> = acks
        .iter()
        .filter(|ack| matches!(ack.ending, AckEnding::Done(_)))
        .filter_map(|ack| ack.before.uuid.as_deref())
        .collect();
    match done.is_empty() {
        true => error,
        false => error.with("acknowledged", json!(done)),
    }
}

fn answer(acks: &[AlarmAck]) -> Value {
    let count =
        |wanted: fn(&AckEnding) -> bool| acks.iter().filter(|ack| wanted(&ack.ending)).count();
    json!({
        "acknowledged": count(|ending| matches!(ending, AckEnding::Done(_))),
        "alreadyAcknowledged": count(|ending| *ending == AckEnding::WasAcknowledged),
        "alarms": acks.iter().map(ack_json).collect::<Vec<_>>(),
    })
}

fn ack_json(ack: &AlarmAck) -> Value {
    let mut map = Map::new();
    let (outcome, route) = match &ack.ending {
        AckEnding::Done(AckRoute::Obix) => ("acknowledged", Some("obix")),
        AckEnding::Done(AckRoute::Box) => ("acknowledged", Some("box")),
        _ => ("already-acknowledged", None),
    };
    map.insert("outcome".to_owned(), json!(outcome));
    if let Some(route) = route {
        map.insert("route".to_owned(), json!(route));
    }
    map.insert("before".to_owned(), alarm_json(&ack.before));
    match &ack.after {
        Ok(after) => map.insert("after".to_owned(), alarm_json(after)),
        Err(reason) => map.insert("readBackFailed".to_owned(), json!(reason)),
    };
    Value::Object(map)
}
