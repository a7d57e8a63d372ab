//! What tools that list things page by page share: arguments, schema, and values with their status.

use serde_json::{Map, Value, json};

use super::result_value::{put_number, status_text};
use super::schema::{self, ObjectSchema, object};
use super::station_access::component_ord;
use super::{Arguments, ToolError};
use crate::station::facade::{ListPage, PageRequest, PointValue, StatusReading};
use crate::station::ord::{Ord, SlotPath};

/// Adds `limit` and `offset`.
pub fn page_arguments(schema: ObjectSchema) -> ObjectSchema {
    schema
        .optional(
            "limit",
            schema::integer_between("Most items to return.", 1, 1000, 100),
        )
        .optional(
            "offset",
            schema::integer_between(
                "Matching items to skip: continue with nextOffset of the answer before.",
                0,
                50_000,
                0,
            ),
        )
}

/// Reads `limit` and `offset`.
pub fn page_request(arguments: &Arguments) -> PageRequest {
    PageRequest {
        offset: arguments.count("offset", 0),
        limit: arguments.count("limit", 100),
    }
}

/// The component below which to look: `ord`, the whole station when absent; with the text to name in errors.
pub fn subtree(arguments: &Arguments) -> Result<(Ord, &str), ToolError> {
    match arguments.optional_string("ord") {
        Some(text) => Ok((component_ord(text)?, text)),
        None => Ok((Ord::slot(SlotPath::root()), "station:|slot:/")),
    }
}

/// Schema of an answer with a list under `name`.
pub fn page_schema(name: &str, description: &str, items: ObjectSchema) -> ObjectSchema {
    object()
        .required("count", schema::whole("Number of items returned."))
        .required("truncated", schema::boolean("Whether there are more."))
        .optional(
            "truncatedByTimeout",
            schema::boolean("Whether the time was over before the end: ask for a smaller subtree."),
        )
        .optional("nextOffset", schema::whole("Where to continue."))
        .optional("note", schema::string("What is missing, and why."))
        .required(name, schema::list(description, items))
}

/// The answer with a list under `name`.
pub fn page_json<T>(
    name: &str,
    page: &ListPage<T>,
    request: PageRequest,
    item: impl Fn(&T) -> Value,
) -> Value {
    let mut answer = json!({
        "count": page.items.len(),
        "truncated": page.truncated || page.truncated_by_timeout,
    });
    if page.truncated_by_timeout {
        answer["truncatedByTimeout"] = json!(true);
    }
    if page.truncated {
        answer["nextOffset"] = json!(request.offset + page.items.len());
    }
    if !page.notes.is_empty() {
        answer["note"] = json!(page.notes.join(" "));
    }
    answer[name] = page.items.iter().map(item).collect();
    answer
}

/// Adds the keys of a value with its status.
pub fn reading_schema(schema: ObjectSchema) -> ObjectSchema {
    schema
        .optional(
            "value",
            schema::string("Text of the value; absent when there is none."),
        )
        .optional(
            "valueNumber",
            schema::any_of_types("A numeric value.", &["number", "null"]),
        )
        .optional(
            "nonFinite",
            schema::one_of(
                "Set when the number is not finite.",
                &["NaN", "Infinity", "-Infinity"],
            ),
        )
        .optional("valueBool", schema::boolean("A boolean value."))
        .optional(
            "valueOrdinal",
            schema::whole("The ordinal of an enum value."),
        )
        .required(
            "status",
            schema::string("Status words in braces, {ok} when none is set."),
        )
}

/// Puts a value with its status.
pub fn put_reading(map: &mut Map<String, Value>, reading: &StatusReading) {
    if let Some(text) = &reading.text {
        map.insert("value".to_owned(), json!(text));
    }
    match reading.typed {
        Some(PointValue::Number(number)) => put_number(map, "valueNumber", number),
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
    map.insert("status".to_owned(), json!(status_text(reading.status)));
}

/// Puts a text that is there.
pub fn put_text(map: &mut Map<String, Value>, key: &str, text: Option<&str>) {
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        map.insert(key.to_owned(), json!(text));
    }
}
