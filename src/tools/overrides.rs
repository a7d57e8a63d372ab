//! `listOverrides`: points that a person holds at a value.

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::list_answer::{
    page_arguments, page_json, page_request, page_schema, put_reading, put_text, reading_schema,
    subtree,
};
use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::result_value::time_text;
use super::schema::{self, object};
use super::station_access::{SharedStations, scope, station_error};
use super::{Arguments, CallContext};
use crate::station::facade::{OverrideOrigin, PointOverride};

/// `listOverrides`.
pub struct ListOverrides(pub SharedStations);

impl Tool for ListOverrides {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "listOverrides",
            Category::Read,
            Annotations::READ,
            "Lists every override of the points at and below a component: emergency commands (level 1), operators' \
             overrides (level 8), and points that are overridden at the device itself, with value and expiry. An override \
             that a higher level beats has 'active' false. The station does not tell since when a point is overridden. \
             When 'truncated', continue with 'offset' = nextOffset. \
             Example: {\"ord\":\"station:|slot:/Drivers/BacnetNetwork\",\"limit\":200}.",
        )
        .input(page_arguments(object().optional(
            "ord",
            schema::string(
                "Ord of the component to look below, itself included; the whole station when absent.",
            ),
        )))
        .output(page_schema(
            "overrides",
            "Overrides in the station's order; a point held at levels 1 and 8 appears twice.",
            reading_schema(
                object()
                    .required("ord", schema::string("Absolute ord of the point."))
                    .required("displayName", schema::string("Display name."))
                    .required("type", schema::string("Type as module:Type."))
                    .required(
                        "origin",
                        schema::one_of("Who holds the point.", &["emergency", "operator", "device"]),
                    )
                    .optional("level", schema::whole("Priority level of the override."))
                    .required("active", schema::boolean("Whether the output follows it.")),
            )
            .optional("units", schema::string("Unit symbol."))
            .required(
                "expires",
                schema::any_of_types(
                    "When it ends by itself; null for a permanent one, or one that the station does not time.",
                    &["string", "null"],
                ),
            ),
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
                .overrides(&scope(context), &ord, request)
                .await
                .map_err(|error| station_error(error, text))?;
            let answer = page_json("overrides", &page, request, override_json);
            Ok(ToolOutput::json(answer))
        })
    }
}

fn override_json(held: &PointOverride) -> Value {
    let origin = match held.origin {
        OverrideOrigin::Emergency => "emergency",
        OverrideOrigin::Operator => "operator",
        OverrideOrigin::Device => "device",
    };
    let mut map = Map::new();
    map.insert("ord".to_owned(), json!(held.ord));
    map.insert("displayName".to_owned(), json!(held.display_name));
    map.insert("type".to_owned(), json!(held.type_spec));
    map.insert("origin".to_owned(), json!(origin));
    if let Some(level) = held.level {
        map.insert("level".to_owned(), json!(level));
    }
    map.insert("active".to_owned(), json!(held.is_active));
    put_reading(&mut map, &held.value);
    put_text(&mut map, "units", held.units.as_deref());
    let expires = held.expires.as_ref().map(time_text);
    map.insert("expires".to_owned(), json!(expires));
    Value::Object(map)
}
