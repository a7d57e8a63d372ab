//! `listHistories`: what the station records.

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::list_answer::{page_arguments, page_json, page_request, page_schema, put_text};
use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::result_value::time_text;
use super::schema::{self, ObjectSchema, object};
use super::station_access::{SharedStations, component_ord, scope, station_error};
use super::{Arguments, CallContext};
use crate::station::facade::{HistoryFilter, ListedHistory};

/// `listHistories`.
pub struct ListHistories(pub SharedStations);

impl Tool for ListHistories {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "listHistories",
            Category::History,
            Annotations::READ,
            "Lists the histories of the station with record type, unit, time zone, source point, collection interval, \
             capacity and full policy, and with the number of records and the first and last timestamp where the station \
             offers oBIX. Read one with readHistory and its pointOrd. When 'truncated', continue with 'offset' = \
             nextOffset. Example: {\"text\":\"supply temp\",\"ord\":\"station:|slot:/Drivers/BacnetNetwork\"}.",
        )
        .input(page_arguments(
            object()
                .optional(
                    "idPrefix",
                    schema::string("Beginning of the history id, for example /Main/; case matters."),
                )
                .optional(
                    "text",
                    schema::string("Part of the history id or of its source's path, readable or escaped; case does not matter."),
                )
                .optional(
                    "ord",
                    schema::string("Only histories whose source is this component or lies below it."),
                )
                .optional(
                    "withExtent",
                    json!({
                        "type": "boolean",
                        "description": "Whether to ask for the number of records and the first and last timestamp of each.",
                        "default": true,
                    }),
                ),
        ))
        .output(page_schema("histories", "Histories in the station's order.", history_schema()))
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let station = self.0.for_caller(&context.principal)?;
            let scope = scope(context);
            let text = arguments.optional_string("ord");
            let below = match text {
                Some(text) => Some(
                    station
                        .slot_path(&scope, &component_ord(text)?)
                        .await
                        .map_err(|error| station_error(error, text))?,
                ),
                None => None,
            };
            let filter = HistoryFilter {
                id_prefix: arguments.optional_string("idPrefix"),
                text: arguments.optional_string("text"),
                below: below.as_ref(),
            };
            let request = page_request(&arguments);
            let with_extent = arguments.boolean("withExtent", true);
            let page = station
                .histories(&scope, filter, request, with_extent)
                .await
                .map_err(|error| station_error(error, text.unwrap_or("history:")))?;
            let answer = page_json("histories", &page, request, history_json);
            Ok(ToolOutput::json(answer))
        })
    }
}

fn history_schema() -> ObjectSchema {
    object()
        .required("id", schema::string("History id, /station/name, escaped."))
        .optional(
            "device",
            schema::string("Station or device that the id names."),
        )
        .optional(
            "recordType",
            schema::string("Type of the records as module:Type."),
        )
        .optional(
            "kind",
            schema::one_of(
                "Kind of the values.",
                &["numeric", "boolean", "enum", "string"],
            ),
        )
        .optional("units", schema::string("Unit symbol of the values."))
        .optional("timeZone", schema::string("Time zone of the records."))
        .optional(
            "pointOrd",
            schema::string(
                "Ord of the point that is recorded; absent for imported histories and logs.",
            ),
        )
        .optional(
            "sources",
            schema::list(
                "Ords that the station names as source.",
                schema::string("Ord."),
            ),
        )
        .optional(
            "interval",
            schema::string(
                "Collection interval as the station writes it; irregular: on change of value.",
            ),
        )
        .optional(
            "intervalMs",
            schema::whole("Collection interval in milliseconds, when regular."),
        )
        .optional(
            "capacity",
            schema::string("Capacity as the station writes it."),
        )
        .optional(
            "capacityRecords",
            schema::whole("Most records, when limited."),
        )
        .optional(
            "fullPolicy",
            schema::string(
                "What a full history does: roll drops the oldest record, stop ends recording.",
            ),
        )
        .optional("count", schema::whole("Number of records."))
        .optional(
            "firstTimestamp",
            schema::string("Time of the oldest record."),
        )
        .optional(
            "lastTimestamp",
            schema::string("Time of the newest record."),
        )
}

fn history_json(history: &ListedHistory) -> Value {
    let mut map = Map::new();
    map.insert("id".to_owned(), json!(history.id));
    put_text(&mut map, "device", history.device.as_deref());
    put_text(&mut map, "recordType", history.record_type.as_deref());
    put_text(&mut map, "kind", history.kind.map(|kind| kind.name()));
    put_text(&mut map, "units", history.units.as_deref());
    put_text(&mut map, "timeZone", history.time_zone.as_deref());
    put_text(&mut map, "pointOrd", history.point_ord.as_deref());
    if !history.sources.is_empty() {
        map.insert("sources".to_owned(), json!(history.sources));
    }
    put_text(&mut map, "interval", history.interval.as_deref());
    if let Some(millis) = history.interval_millis {
        map.insert("intervalMs".to_owned(), json!(millis));
    }
    put_text(&mut map, "capacity", history.capacity.as_deref());
    if let Some(records) = history.capacity_records {
        map.insert("capacityRecords".to_owned(), json!(records));
    }
    put_text(&mut map, "fullPolicy", history.full_policy.as_deref());
    if let Some(extent) = &history.extent {
        if let Some(count) = extent.count {
            map.insert("count".to_owned(), json!(count));
        }
        let text = |time: &Option<_>| time.as_ref().map(time_text);
        put_text(&mut map, "firstTimestamp", text(&extent.first).as_deref());
        put_text(&mut map, "lastTimestamp", text(&extent.last).as_deref());
    }
    Value::Object(map)
}
