//! Alarm tools: getActiveAlarms and getAlarmHistory (Tool surface §8.10, §13.5.3).

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::result_value::time_text;
use super::schema::{self, object};
use super::station_access::{SharedStations, alarm_error, scope};
use super::time_argument::TimeRange;
use super::{Arguments, CallContext};
use crate::station::facade::{AlarmFilter, AlarmOrder, AlarmRecord, AlarmRequest};

const PREFIX_HELP: &str =
    "Only alarms of this source or below it: a path prefix, or a text prefix when it ends with /.";
const ORDER_HELP: &str = "db keeps the order of the alarm database, newest puts the latest first.";
const OFFSET_HELP: &str = "Matching alarms to skip: continue with nextOffset of the answer before.";

/// `getActiveAlarms`.
pub struct GetActiveAlarms(pub SharedStations);

impl Tool for GetActiveAlarms {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "getActiveAlarms",
            Category::Alarms,
            Annotations::READ,
            "Lists open alarms: those that are not both acknowledged and back to normal. At most 1000 per call; when \
             'truncated', continue with 'offset' = nextOffset. \
             Example: {\"sourceOrdPrefix\":\"station:|slot:/Drivers/BacnetNetwork/AHU1\",\"order\":\"newest\"}.",
        )
        .input(
            with_filters(object()
                .optional("sourceOrdPrefix", schema::string(PREFIX_HELP))
                .optional("limit", schema::integer_between("Most alarms to return.", 1, 1000, 100))
                .optional("order", schema::one_of(ORDER_HELP, &["db", "newest"]))
                .optional("offset", schema::integer_between(OFFSET_HELP, 0, 50_000, 0)),
            ))
        .output(
            object()
                .required("count", schema::whole("Number of alarms returned."))
                .required("truncated", schema::boolean("Whether there are more."))
                .optional("truncatedByTimeout", schema::boolean("Whether the time was over before the end."))
                .optional("nextOffset", schema::whole("Where to continue."))
                .required("alarms", schema::list("Open alarms.", alarm_schema())),
        )
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let station = self.0.for_caller(&context.principal)?;
            let offset = arguments.count("offset", 0);
            let request = AlarmRequest {
                between: None,
                source_prefix: source_prefix(&arguments),
                filter: filter(&arguments),
                order: order(&arguments),
                offset,
                limit: arguments.count("limit", 100),
            };
            let page = station
                .alarms(&scope(context), request)
                .await
                .map_err(alarm_error)?;
            let mut answer = json!({
                "count": page.alarms.len(),
                "truncated": page.truncated || page.truncated_by_timeout,
            });
            if page.truncated_by_timeout {
                answer["truncatedByTimeout"] = json!(true);
            }
            if page.truncated {
                answer["nextOffset"] = json!(offset + page.alarms.len());
            }
            answer["alarms"] = page.alarms.iter().map(alarm_json).collect();
            Ok(ToolOutput::json(answer))
        })
    }
}

/// `getAlarmHistory`.
pub struct GetAlarmHistory(pub SharedStations);

impl Tool for GetAlarmHistory {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "getAlarmHistory",
            Category::Alarms,
            Annotations::READ,
            "Lists alarm records, open and closed, whose timestamp lies between two instants (both included). At most \
             2000 per call; when truncated, continue with 'offset' = nextOffset. Times are RFC 3339, epoch \
             milliseconds or a date; without an offset they are station time. \
             Example: {\"from\":\"2026-03-01\",\"to\":\"2026-03-08T12:00:00Z\",\"order\":\"newest\"}.",
        )
        .input(
            with_filters(object()
                .required("from", schema::string("First instant."))
                .optional("to", schema::string("Last instant; now when absent."))
                .optional("sourceOrdPrefix", schema::string(PREFIX_HELP))
                .optional("limit", schema::integer_between("Most alarms to return.", 1, 2000, 200))
                .optional("order", schema::one_of(ORDER_HELP, &["db", "newest"]))
                .optional("offset", schema::integer_between(OFFSET_HELP, 0, 50_000, 0)),
            ))
        .output(
            object()
                .required("from", schema::string("First instant."))
                .required("to", schema::string("Last instant."))
                .required("count", schema::whole("Number of alarms returned."))
                .required("truncatedByLimit", schema::boolean("Whether there are more."))
                .required("truncatedByTimeout", schema::boolean("Whether the time was over before the end."))
                .optional("nextOffset", schema::whole("Where to continue."))
                .required("alarms", schema::list("Alarm records.", alarm_schema())),
        )
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let station = self.0.for_caller(&context.principal)?;
            let scope = scope(context);
            let zone = station.zone(&scope).await.map_err(alarm_error)?;
            let range = TimeRange::from_arguments(&arguments, &zone, station.now())?;
            let offset = arguments.count("offset", 0);
            let request = AlarmRequest {
                between: Some((range.from, range.to)),
                source_prefix: source_prefix(&arguments),
                filter: filter(&arguments),
                order: order(&arguments),
                offset,
                limit: arguments.count("limit", 200),
            };
            let page = station.alarms(&scope, request).await.map_err(alarm_error)?;
            let mut answer = json!({
                "from": time_text(&range.from),
                "to": time_text(&range.to),
                "count": page.alarms.len(),
                "truncatedByLimit": page.truncated,
                "truncatedByTimeout": page.truncated_by_timeout,
            });
            if page.truncated {
                answer["nextOffset"] = json!(offset + page.alarms.len());
            }
            answer["alarms"] = page.alarms.iter().map(alarm_json).collect();
            Ok(ToolOutput::json(answer))
        })
    }
}

/// The filters that both tools take.
fn with_filters(schema: schema::ObjectSchema) -> schema::ObjectSchema {
    schema
        .optional("alarmClass", schema::string("Only alarms of this class."))
        .optional(
            "maxPriority",
            schema::integer_between(
                "Only alarms at least as urgent: 0 to 255, lower is more urgent.",
                0,
                255,
                255,
            ),
        )
        .optional(
            "ackState",
            schema::one_of(
                "Only alarms in this state.",
                &["acked", "unacked", "ackPending"],
            ),
        )
}

fn filter(arguments: &Arguments) -> AlarmFilter<'_> {
    AlarmFilter {
        uuid: None,
        alarm_class: arguments
            .optional_string("alarmClass")
            .map(str::trim)
            .filter(|class| !class.is_empty()),
        max_priority: arguments.optional_integer("maxPriority"),
        ack_state: arguments.optional_string("ackState"),
    }
}

fn source_prefix(arguments: &Arguments) -> Option<&str> {
    arguments
        .optional_string("sourceOrdPrefix")
        .map(str::trim)
        .filter(|prefix| !prefix.is_empty())
}

fn order(arguments: &Arguments) -> AlarmOrder {
    match arguments.optional_string("order") {
        Some("newest") => AlarmOrder::Newest,
        _ => AlarmOrder::Database,
    }
}

pub(super) fn alarm_schema() -> schema::ObjectSchema {
    object()
        .optional("uuid", schema::string("Id of the record."))
        .optional(
            "timestamp",
            schema::string("RFC 3339 with the station's offset."),
        )
        .optional("timestampMs", schema::whole("Epoch milliseconds."))
        .optional("sourceOrd", schema::string("Source ords, one per line."))
        .optional(
            "sources",
            schema::list("Source ords.", json!({"type": "string"})),
        )
        .optional("sourceName", schema::string("Name of the source."))
        .optional("priority", schema::whole("0 to 255, lower is more urgent."))
        .optional("alarmClass", schema::string("Alarm class."))
        .optional("ackState", schema::string("acked, unacked or ackPending."))
        .optional(
            "transition",
            schema::string("The transition that made the alarm."),
        )
        .optional(
            "isOpen",
            schema::boolean("Not both acknowledged and normal."),
        )
        .optional("isAcknowledged", schema::boolean("Acknowledged."))
        .optional("isNormal", schema::boolean("The source is back to normal."))
        .optional(
            "alarmValue",
            schema::string("Value at the time of the alarm."),
        )
        .optional("message", schema::string("Message text."))
        .optional("ackTime", schema::string("When it was acknowledged."))
        .optional("normalTime", schema::string("When it went back to normal."))
        .optional("user", schema::string("Who acknowledged it."))
}

pub(super) fn alarm_json(alarm: &AlarmRecord) -> Value {
    let mut map = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            map.insert(key.to_owned(), value);
        }
    };
    let time = |time: &Option<_>| time.as_ref().map(|time| json!(time_text(time)));
    let text = |text: &Option<String>| text.as_ref().map(|text| json!(text));
    put("uuid", text(&alarm.uuid));
    put("timestamp", time(&alarm.timestamp));
    put(
        "timestampMs",
        alarm.timestamp.map(|time| json!(time.timestamp_millis())),
    );
    if !alarm.sources.is_empty() {
        put("sourceOrd", Some(json!(alarm.sources.join("\n"))));
        put("sources", Some(json!(alarm.sources)));
    }
    put("sourceName", text(&alarm.source_name));
    put("priority", alarm.priority.map(Value::from));
    put("alarmClass", text(&alarm.alarm_class));
    put("ackState", text(&alarm.ack_state));
    put("transition", text(&alarm.transition));
    put("isOpen", alarm.is_open.map(Value::from));
    put("isAcknowledged", alarm.is_acknowledged.map(Value::from));
    put("isNormal", alarm.is_normal.map(Value::from));
    put("alarmValue", text(&alarm.alarm_value));
    put("message", text(&alarm.message));
    put("ackTime", time(&alarm.ack_time));
    put("normalTime", time(&alarm.normal_time));
    put("user", text(&alarm.user));
    Value::Object(map)
}
