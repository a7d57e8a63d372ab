//! A schema that is kept as text until somebody looks into it.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::ObjectSchema;

/// A schema as compact text; its tree is made when it is first looked into, and kept from then on.
///
/// A process holds the schemas of some hundred tools and capabilities and is asked for few of them; a tree takes several
/// times the memory of its text.
///
/// ```
/// use niagara_bridge::schema::StoredSchema;
/// use serde_json::json;
/// let schema = StoredSchema::from(json!({"type": "object", "properties": {"limit": {"type": "integer"}}}));
/// assert_eq!(schema["properties"]["limit"]["type"], "integer");
/// assert_eq!(schema.to_value(), *schema);
/// ```
#[derive(Debug, Clone)]
pub struct StoredSchema {
    text: Arc<str>,
    tree: Arc<OnceLock<Value>>,
}

impl StoredSchema {
    /// A copy of the tree, which is not kept.
    pub fn to_value(&self) -> Value {
        match self.tree.get() {
            Some(tree) => tree.clone(),
            None => self.parsed(),
        }
    }

    fn parsed(&self) -> Value {
        // The text was written from a tree; if it could not be read, nothing would be accepted.
        serde_json::from_str(&self.text).unwrap_or(Value::Bool(false))
    }
}

impl From<Value> for StoredSchema {
    fn from(schema: Value) -> Self {
        Self {
            text: schema.to_string().into(),
            tree: Arc::default(),
        }
    }
}

impl From<ObjectSchema> for StoredSchema {
    fn from(schema: ObjectSchema) -> Self {
        Value::from(schema).into()
    }
}

impl Deref for StoredSchema {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.tree.get_or_init(|| self.parsed())
    }
}

impl Serialize for StoredSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}
