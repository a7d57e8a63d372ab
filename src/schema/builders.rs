//! Short builders for the schemas of tools.

use serde_json::{Map, Value, json};

/// An object schema under construction; starts as the empty-argument schema of Tool surface §7.
#[derive(Debug, Clone, Default)]
pub struct ObjectSchema {
    properties: Map<String, Value>,
    required: Vec<String>,
}

/// Starts an object schema.
pub fn object() -> ObjectSchema {
    ObjectSchema::default()
}

impl ObjectSchema {
    /// Adds a property that must be present.
    pub fn required(mut self, name: &str, schema: impl Into<Value>) -> Self {
        self.required.push(name.to_owned());
        self.optional(name, schema)
    }

    /// Adds a property that may be absent.
    pub fn optional(mut self, name: &str, schema: impl Into<Value>) -> Self {
        self.properties.insert(name.to_owned(), schema.into());
        self
    }
}

impl From<ObjectSchema> for Value {
    fn from(schema: ObjectSchema) -> Self {
        let mut object = json!({ "type": "object", "properties": schema.properties });
        if !schema.required.is_empty() {
            object["required"] = json!(schema.required);
        }
        object
    }
}

/// A schema of one JSON type name with a description.
pub fn typed(kind: &str, description: &str) -> Value {
    json!({ "type": kind, "description": description })
}

/// A string.
pub fn string(description: &str) -> Value {
    typed("string", description)
}

/// A number.
pub fn number(description: &str) -> Value {
    typed("number", description)
}

/// A whole number without bounds.
pub fn whole(description: &str) -> Value {
    typed("integer", description)
}

/// A whole number in `least..=most`; calls outside are clamped unless the tool refuses them.
pub fn integer_between(description: &str, least: i64, most: i64, default: i64) -> Value {
    json!({ "type": "integer", "description": description, "minimum": least, "maximum": most, "default": default })
}

/// True or false.
pub fn boolean(description: &str) -> Value {
    typed("boolean", description)
}

/// One of some words.
pub fn one_of(description: &str, words: &[&str]) -> Value {
    json!({ "type": "string", "description": description, "enum": words })
}

/// A list.
pub fn list(description: &str, items: impl Into<Value>) -> Value {
    json!({ "type": "array", "description": description, "items": items.into() })
}

/// A value of one of several JSON types.
pub fn any_of_types(description: &str, kinds: &[&str]) -> Value {
    json!({ "type": kinds, "description": description })
}

/// Any value.
pub fn anything(description: &str) -> Value {
    json!({ "description": description })
}
