//! Schedule tools: listSchedules and readSchedule.

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::list_answer::{
    page_arguments, page_json, page_request, page_schema, put_reading, put_text, reading_schema,
    subtree,
};
use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::result_value::time_text;
use super::schema::{self, ObjectSchema, object};
use super::station_access::{ComponentCall, SharedStations, scope, station_error};
use super::{Arguments, CallContext};
use crate::station::facade::{
    Effective, ListedSchedule, Period, RawPart, ScheduleProgram, SpecialEvent, StatusReading,
};

/// `listSchedules`.
pub struct ListSchedules(pub SharedStations);

impl Tool for ListSchedules {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "listSchedules",
            Category::Read,
            Annotations::READ,
            "Lists the schedules at and below a component with their current output, the next change and its value where \
             one is due, and the effective period where one limits the schedule. readSchedule tells the program of one. When 'truncated', continue with 'offset' = \
             nextOffset. Example: {\"ord\":\"station:|slot:/Schedules\"}.",
        )
        .input(page_arguments(object().optional(
            "ord",
            schema::string(
                "Ord of the component to look below, itself included; the whole station when absent.",
            ),
        )))
        .output(page_schema(
            "schedules",
            "Schedules in the station's order, without the parts that they consist of.",
            object()
                .required("ord", schema::string("Absolute ord."))
                .required("displayName", schema::string("Display name."))
                .required("type", schema::string("Type as module:Type."))
                .optional("out", value_schema("Current output."))
                .optional("nextTime", schema::string("When the output changes next; absent when no change is due."))
                .optional("nextValue", value_schema("The output from nextTime on."))
                .optional("units", schema::string("Unit symbol of the output."))
                .optional("effective", effective_schema()),
        ))
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let (ord, text) = subtree(&arguments)?;
            let request = page_request(&arguments);
            let station = self.0.for_caller(&context.principal)?;
            let page = station
                .schedules(&scope(context), &ord, request)
                .await
                .map_err(|error| station_error(error, text))?;
            let answer = page_json("schedules", &page, request, listed_json);
            Ok(ToolOutput::json(answer))
        })
    }
}

/// `readSchedule`.
pub struct ReadSchedule(pub SharedStations);

impl Tool for ReadSchedule {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "readSchedule",
            Category::Read,
            Annotations::READ,
            "Reads the program of a schedule: the periods of each weekday, special events in their order, the output when \
             no period applies, the input that overrides the program, the current output and the next change. Times of \
             day are in 'timeZone'; a period ends before 'finish', 24:00:00 is the end of the day. Parts of kinds that \
             are not known stand as text under otherProperties and otherParts. \
             Example: {\"ord\":\"station:|slot:/Schedules/Occupancy\"}.",
        )
        .input(object().required("ord", schema::string("Ord of a schedule, see listSchedules.")))
        .output(program_schema())
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let call = ComponentCall::of(&self.0, context, &arguments)?;
            let program = call.told(call.station.schedule(&call.scope, &call.ord).await)?;
            Ok(ToolOutput::json(program_json(call.text, &program)))
        })
    }
}

fn value_schema(description: &str) -> Value {
    let mut schema: Value = reading_schema(object()).into();
    schema["description"] = json!(description);
    schema
}

fn effective_schema() -> ObjectSchema {
    object()
        .optional("start", schema::string("First day in force."))
        .optional("end", schema::string("Last day in force."))
        .optional(
            "text",
            schema::string("The span in the station's own words."),
        )
}

fn raw_schema() -> ObjectSchema {
    object()
        .required("name", schema::string("Escaped slot name."))
        .optional(
            "type",
            schema::string("Type as module:Type; absent where the interface does not tell it."),
        )
        .required("text", schema::string("What it holds, as text."))
}

fn periods_schema() -> Value {
    schema::list(
        "Periods, earliest first.",
        object()
            .required(
                "start",
                schema::string("Time of day, for example 06:30:00."),
            )
            .required(
                "finish",
                schema::string("Time of day, not included; 24:00:00 is the end of the day."),
            )
            .optional(
                "value",
                value_schema("Output during the period; status {null}: the default output."),
            ),
    )
}

fn program_schema() -> ObjectSchema {
    object()
        .required("ord", schema::string("The ord as given."))
        .required("displayName", schema::string("Display name."))
        .required("type", schema::string("Type as module:Type."))
        .required("timeZone", schema::string("Time zone of the times of day."))
        .optional("out", value_schema("Current output."))
        .optional(
            "in",
            value_schema("Overrides the program unless its status is {null}."),
        )
        .optional(
            "defaultOutput",
            value_schema("Output while no period applies."),
        )
        .optional(
            "nextTime",
            schema::string("When the output changes next; absent when no change is due."),
        )
        .optional("nextValue", value_schema("The output from nextTime on."))
        .optional("effective", effective_schema())
        .optional(
            "cleanupExpiredEvents",
            schema::boolean("Whether special events that are over are removed."),
        )
        .optional(
            "facets",
            object()
                .optional("units", schema::string("Unit symbol."))
                .optional("precision", schema::string("Decimals."))
                .optional("trueText", schema::string("Text of true."))
                .optional("falseText", schema::string("Text of false.")),
        )
        .optional(
            "week",
            schema::list(
                "The seven weekdays, Monday first; absent for a schedule without a week.",
                object()
                    .required("day", schema::string("Weekday."))
                    .required("periods", periods_schema()),
            ),
        )
        .required(
            "specialEvents",
            schema::list(
                "Special events in their order: the first that has a period at a time of its days is in force, before the week.",
                object()
                    .required("name", schema::string("Escaped slot name."))
                    .required("displayName", schema::string("Display name."))
                    .required("type", schema::string("Type as module:Type."))
                    .optional("days", raw_schema())
                    .required("periods", periods_schema())
                    .optional(
                        "otherParts",
                        schema::list("What else it holds.", raw_schema()),
                    ),
            ),
        )
        .required(
            "otherProperties",
            schema::list("Other properties of the schedule.", raw_schema()),
        )
        .required(
            "otherParts",
            schema::list("Components of kinds that are not known.", raw_schema()),
        )
        .optional(
            "truncated",
            schema::boolean("Parts are missing: too many, not readable, or the time was over."),
        )
        .optional(
            "note",
            schema::string("What to know before relying on the answer."),
        )
}

fn listed_json(schedule: &ListedSchedule) -> Value {
    let mut map = Map::new();
    map.insert("ord".to_owned(), json!(schedule.ord));
    map.insert("displayName".to_owned(), json!(schedule.display_name));
    map.insert("type".to_owned(), json!(schedule.type_spec));
    put_value(&mut map, "out", schedule.out.as_ref());
    let next = schedule.next_time.as_ref().map(time_text);
    put_text(&mut map, "nextTime", next.as_deref());
    put_value(&mut map, "nextValue", schedule.next_value.as_ref());
    put_text(&mut map, "units", schedule.units.as_deref());
    put_effective(&mut map, schedule.effective.as_ref());
    Value::Object(map)
}

fn program_json(ord: &str, program: &ScheduleProgram) -> Value {
    let mut map = Map::new();
    map.insert("ord".to_owned(), json!(ord));
    map.insert("displayName".to_owned(), json!(program.display_name));
    map.insert("type".to_owned(), json!(program.type_spec));
    map.insert("timeZone".to_owned(), json!(program.zone.name()));
    put_value(&mut map, "out", program.out.as_ref());
    put_value(&mut map, "in", program.input.as_ref());
    put_value(&mut map, "defaultOutput", program.default_output.as_ref());
    let next = program.next_time.as_ref().map(time_text);
    put_text(&mut map, "nextTime", next.as_deref());
    put_value(&mut map, "nextValue", program.next_value.as_ref());
    put_effective(&mut map, program.effective.as_ref());
    if let Some(cleans) = program.cleanup_expired_events {
        map.insert("cleanupExpiredEvents".to_owned(), json!(cleans));
    }
    let mut facets = Map::new();
    put_text(&mut facets, "units", program.facets.units.as_deref());
    put_text(
        &mut facets,
        "precision",
        program.facets.precision.as_deref(),
    );
    put_text(&mut facets, "trueText", program.facets.true_text.as_deref());
    put_text(
        &mut facets,
        "falseText",
        program.facets.false_text.as_deref(),
    );
    if !facets.is_empty() {
        map.insert("facets".to_owned(), Value::Object(facets));
    }
    if let Some(week) = &program.week {
        let week: Vec<Value> = week
            .iter()
            .map(|day| json!({"day": day.day, "periods": periods_json(&day.periods)}))
            .collect();
        map.insert("week".to_owned(), json!(week));
    }
    let events: Vec<Value> = program.special_events.iter().map(event_json).collect();
    map.insert("specialEvents".to_owned(), json!(events));
    let raws = |parts: &[RawPart]| parts.iter().map(raw_json).collect::<Vec<_>>();
    map.insert(
        "otherProperties".to_owned(),
        json!(raws(&program.other_properties)),
    );
    map.insert("otherParts".to_owned(), json!(raws(&program.other_parts)));
    if program.truncated {
        map.insert("truncated".to_owned(), json!(true));
    }
    if program.may_be_hidden {
        map.insert("note".to_owned(), json!(MAY_BE_HIDDEN));
    }
    Value::Object(map)
}

const MAY_BE_HIDDEN: &str = "The station shows no parts of this schedule. It was read over oBIX, which leaves out \
                             what the account may not read: the schedule may be empty or hidden from this account.";

fn put_value(map: &mut Map<String, Value>, key: &str, reading: Option<&StatusReading>) {
    if let Some(reading) = reading {
        let mut value = Map::new();
        put_reading(&mut value, reading);
        map.insert(key.to_owned(), Value::Object(value));
    }
}

fn put_effective(map: &mut Map<String, Value>, effective: Option<&Effective>) {
    if let Some(effective) = effective {
        let mut value = Map::new();
        put_text(&mut value, "start", effective.start.as_deref());
        put_text(&mut value, "end", effective.end.as_deref());
        put_text(&mut value, "text", effective.text.as_deref());
        map.insert("effective".to_owned(), Value::Object(value));
    }
}

fn periods_json(periods: &[Period]) -> Vec<Value> {
    periods
        .iter()
        .map(|period| {
            let mut map = Map::new();
            map.insert("start".to_owned(), json!(period.start));
            map.insert("finish".to_owned(), json!(period.finish));
            put_value(&mut map, "value", period.value.as_ref());
            Value::Object(map)
        })
        .collect()
}

fn event_json(event: &SpecialEvent) -> Value {
    let mut map = Map::new();
    map.insert("name".to_owned(), json!(event.name));
    map.insert("displayName".to_owned(), json!(event.display_name));
    map.insert("type".to_owned(), json!(event.type_spec));
    if let Some(days) = &event.days {
        map.insert("days".to_owned(), raw_json(days));
    }
    map.insert("periods".to_owned(), json!(periods_json(&event.periods)));
    if !event.other_parts.is_empty() {
        let others: Vec<Value> = event.other_parts.iter().map(raw_json).collect();
        map.insert("otherParts".to_owned(), json!(others));
    }
    Value::Object(map)
}

fn raw_json(part: &RawPart) -> Value {
    let mut map = Map::new();
    map.insert("name".to_owned(), json!(part.name));
    let told = Some(part.type_spec.as_str()).filter(|text| !text.is_empty());
    put_text(&mut map, "type", told);
    map.insert("text".to_owned(), json!(part.text));
    Value::Object(map)
}
