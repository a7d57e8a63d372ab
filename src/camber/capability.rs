//! What a capability is (CAMBER core §1.4).

use serde_json::{Map, Value, json};

use super::call::Call;
use super::error::CapabilityError;
use super::result::CapabilityResult;
use crate::schema::StoredSchema;

/// Everything a client sees of a capability, and how its calls are treated.
#[derive(Debug, Clone)]
pub struct CapabilityDefinition {
    /// Lower case letters, digits and `_`.
    pub name: &'static str,
    pub title: &'static str,
    /// What it does, when to call it, what it returns, what it costs.
    pub description: &'static str,
    pub input_schema: StoredSchema,
    pub output_schema: StoredSchema,
    pub long_running: bool,
    /// Reads stored data: fences and files of the facilities count.
    pub reads_store: bool,
    /// Keys of `data` whose strings are the caller's own and never cut.
    pub own_output: &'static [&'static str],
}

/// One named, read-only operation.
pub trait Capability: Send + Sync {
    /// What clients see; asked once, when the registry is built.
    fn definition(&self) -> CapabilityDefinition;

    /// Answers one call: its arguments are valid, and its facilities are allowed and clean of licence bars.
    ///
    /// # Errors
    /// What the caller is told instead of a result.
    fn run(
        &self,
        call: &Call<'_>,
        arguments: &Map<String, Value>,
    ) -> Result<CapabilityResult, CapabilityError>;
}

/// An object schema without other properties.
pub fn closed_object(
    required: &[&str],
    properties: impl IntoIterator<Item = (&'static str, Value)>,
) -> Value {
    let properties: Map<String, Value> = properties
        .into_iter()
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect();
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema["additionalProperties"] = json!(false);
    schema
}

/// An object schema all of whose properties are required.
pub fn whole_object(properties: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let properties: Vec<(&'static str, Value)> = properties.into_iter().collect();
    let names: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    closed_object(&names, properties)
}

/// A text of 1 to 200 characters.
pub fn word(description: &str) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": 200, "description": description})
}

/// A wall-clock time of the site.
pub fn wall_clock(description: &str) -> Value {
    json!({
        "type": "string",
        "pattern": r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2})?)?$",
        "description": description,
    })
}

/// A count.
pub fn count() -> Value {
    json!({"type": "integer", "minimum": 0})
}

/// A value of these types.
pub fn of_type(kinds: &[&str]) -> Value {
    match kinds {
        [one] => json!({"type": one}),
        several => json!({"type": several}),
    }
}

/// A list.
pub fn list_of(items: Value) -> Value {
    json!({"type": "array", "items": items})
}
