//! `readPoint`: the output of a control point as text and as a typed value (Tool surface §8.3, §13.5.2).

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::result_value::{put_number, status_text};
use super::schema::{self, object};
use super::station_access::{ComponentCall, SharedStations};
use super::{Arguments, CallContext};
use crate::station::facade::{PointFacets, PointReading, PointValue};

/// `readPoint`.
pub struct ReadPoint(pub SharedStations);

impl Tool for ReadPoint {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "readPoint",
            Category::Read,
            Annotations::READ,
            "Reads the current output of a control point: display text, value, status, active priority level and the \
             facets needed to show it. 'value' is text; 'valueNumber' or 'valueBool' is the typed value. \
             Example: {\"ord\":\"station:|slot:/Drivers/BacnetNetwork/AHU1/points/SAT\"}.",
        )
        .input(object().required(
            "ord",
            schema::string("Ord of a control point, for example station:|slot:/Logic/Setpoint."),
        ))
        .output(
            object()
                .required("ord", schema::string("The ord as given."))
                .required("displayName", schema::string("Display name."))
                .required("type", schema::string("Type as module:Type."))
                .required("out", schema::string("Display text of the output."))
                .optional("value", schema::string("Text of the value."))
                .optional("valueNumber", schema::any_of_types("The value of a numeric point.", &["number", "null"]))
                .optional("nonFinite", schema::one_of("Set when the number is not finite.", &["NaN", "Infinity", "-Infinity"]))
                .optional("valueBool", schema::boolean("The value of a boolean point."))
                .optional("valueOrdinal", schema::whole("The ordinal of an enum point."))
                .optional("status", schema::string("Status words in braces, {ok} when none is set."))
                .optional("statusBits", schema::string("Status bits as hexadecimal text; the value is valid when bits & 57 is 0."))
                .optional("priority", schema::string("Active level: 1 to 16, or def for the fallback."))
                .optional(
                    "facets",
                    object()
                        .optional("units", schema::string("Unit symbol."))
                        .optional("unitName", schema::string("Unit name."))
                        .optional("precision", schema::string("Decimals."))
                        .optional("trueText", schema::string("Text of true."))
                        .optional("falseText", schema::string("Text of false.")),
                ),
        )
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let call = ComponentCall::of(&self.0, context, &arguments)?;
            let reading = call.told(call.station.read_point(&call.scope, &call.ord).await)?;
            Ok(ToolOutput::json(reading_json(call.text, reading)))
        })
    }
}

fn reading_json(ord: &str, reading: PointReading) -> Value {
    let mut map = Map::new();
    map.insert("ord".to_owned(), json!(ord));
    map.insert("displayName".to_owned(), json!(reading.display_name));
    map.insert("type".to_owned(), json!(reading.type_spec));
    map.insert("out".to_owned(), json!(reading.out));
    if let Some(value) = reading.value {
        map.insert("value".to_owned(), json!(value));
    }
    match reading.typed {
        Some(PointValue::Number(number)) => put_number(&mut map, "valueNumber", number),
        Some(PointValue::Boolean(flag)) => {
            map.insert("valueBool".to_owned(), json!(flag));
        }
        Some(PointValue::Enum {
            ordinal: Some(ordinal),
            ..
        }) => {
            map.insert("valueOrdinal".to_owned(), json!(ordinal));
        }
        Some(PointValue::Enum { .. } | PointValue::Text(_)) | None => {}
    }
    if let Some(status) = reading.status {
        map.insert("status".to_owned(), json!(status_text(status)));
        map.insert(
            "statusBits".to_owned(),
            json!(format!("{:x}", status.bits())),
        );
    }
    if let Some(level) = reading.active_level {
        map.insert("priority".to_owned(), json!(level));
    }
    let facets = facets_json(reading.facets);
    if !facets.is_empty() {
        map.insert("facets".to_owned(), Value::Object(facets));
    }
    Value::Object(map)
}

fn facets_json(facets: PointFacets) -> Map<String, Value> {
    [
        ("units", facets.units),
        ("unitName", facets.unit_name),
        ("precision", facets.precision),
        ("trueText", facets.true_text),
        ("falseText", facets.false_text),
    ]
    .into_iter()
    .filter_map(|(key, text)| {
        text.filter(|text| !text.is_empty())
            .map(|text| (key.to_owned(), json!(text)))
    })
    .collect()
}
