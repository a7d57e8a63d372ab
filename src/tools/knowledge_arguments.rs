//! Arguments and the one way of editing that the tools for knowledge entries share (Tool surface §8.6).

use std::sync::Arc;

use futures::future::BoxFuture;
use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::knowledge_file::editor;
use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema;
use super::{Arguments, CallContext, ToolError};
use crate::knowledge::operations::OperationError;
use crate::knowledge::{EditError, Edited, KnowledgeDocument, KnowledgeStore, TypicalPoint};

/// Changes the knowledge in the name of the caller; `audit_id` is the id in the log of edits.
pub(super) async fn edit<T: Send + 'static>(
    store: &KnowledgeStore,
    context: &CallContext,
    tool: &'static str,
    audit_id: impl Into<String>,
    change: impl FnOnce(&mut KnowledgeDocument) -> Result<T, OperationError> + Send + 'static,
) -> Result<T, ToolError> {
    let audit_id = audit_id.into();
    let change = move |document: &mut KnowledgeDocument| {
        let result = change(document)?;
        Ok(Edited::new(audit_id, result))
    };
    Ok(store.edit(&editor(context, tool), tool, change).await?)
}

type Change = dyn FnOnce(&mut KnowledgeDocument) -> Result<(), OperationError> + Send;

/// A change of one entry, as arguments ask for it.
pub(super) struct EntryChange {
    id: String,
    apply: Box<Change>,
}

impl EntryChange {
    pub(super) fn new(
        id: String,
        apply: impl FnOnce(&mut KnowledgeDocument) -> Result<(), OperationError> + Send + 'static,
    ) -> Self {
        Self {
            id,
            apply: Box::new(apply),
        }
    }
}

/// A tool that makes or changes one entry, saves it, and answers with its id (Tool surface §8.6).
pub struct EntryTool {
    pub(super) knowledge: Arc<KnowledgeStore>,
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) input: fn() -> schema::ObjectSchema,
    pub(super) change: fn(Fields<'_>) -> Result<EntryChange, ToolError>,
}

impl Tool for EntryTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            self.name,
            Category::WalkthroughWrite,
            Annotations::MUTATION,
            self.description,
        )
        .input((self.input)())
        .output(
            schema::object()
                .required("ok", schema::boolean("Always true; a refusal is an error."))
                .required("id", schema::string("Id of the entry.")),
        )
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let EntryChange { id, apply } = (self.change)(Fields::of(&arguments))?;
            edit(&self.knowledge, context, self.name, &id, apply).await?;
            Ok(ToolOutput::json(json!({"ok": true, "id": id})))
        })
    }
}

/// A refusal outside the store, as the store would tell it.
pub(super) fn refused(error: OperationError) -> ToolError {
    EditError::from(error).into()
}

/// The arguments of an entry, or one item of a list of entries.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    values: &'a Map<String, Value>,
    /// Name of the argument and position in it, when this is an item.
    item: Option<(&'static str, usize)>,
}

impl<'a> Fields<'a> {
    pub(super) fn of(arguments: &'a Arguments) -> Self {
        Self {
            values: arguments.values(),
            item: None,
        }
    }

    /// The object at `index` of the list argument `list`.
    pub(super) fn item(
        list: &'static str,
        index: usize,
        value: &'a Value,
    ) -> Result<Self, ToolError> {
        let fields = |values| Self {
            values,
            item: Some((list, index)),
        };
        match value {
            Value::Object(values) => Ok(fields(values)),
            other => Err(ToolError::invalid_params(format!(
                "Item {index} of '{list}' must be an object, not {other}."
            ))
            .with("argument", list)
            .with("item", index)
            .with("problem", "type")
            .with("expected", "object")),
        }
    }

    fn place(&self, name: &str) -> String {
        match self.item {
            Some((list, index)) => format!("{list}[{index}].{name}"),
            None => name.to_owned(),
        }
    }

    fn error(&self, place: &str, problem: &str, expected: &str) -> ToolError {
        let error = ToolError::invalid_params(format!("Argument '{place}' must be {expected}."))
            .with("argument", place)
            .with("problem", problem)
            .with("expected", expected);
        match self.item {
            Some((_, index)) => error.with("item", index),
            None => error,
        }
    }

    /// A null counts as absent (Tool surface §7).
    fn get(&self, name: &str) -> Option<&'a Value> {
        self.values.get(name).filter(|value| !value.is_null())
    }

    /// A string that must be there.
    pub(super) fn required_text(&self, name: &str) -> Result<String, ToolError> {
        match self.text(name)? {
            Some(text) => Ok(text),
            None => {
                let place = self.place(name);
                let message = format!("Argument '{place}' is missing.");
                let error = ToolError::invalid_params(message)
                    .with("argument", place)
                    .with("problem", "missing")
                    .with("missing", name);
                Err(match self.item {
                    Some((_, index)) => error.with("item", index),
                    None => error,
                })
            }
        }
    }

    /// A string.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>, ToolError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(self.error(&self.place(name), "type", "a string")),
        }
    }

    /// A list whose items are taken as text (Tool surface §9.1).
    pub(super) fn texts(&self, name: &str) -> Result<Option<Vec<String>>, ToolError> {
        let place = self.place(name);
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let Value::Array(items) = value else {
            return Err(self.error(&place, "type", "a list of strings"));
        };
        items
            .iter()
            .enumerate()
            .map(|(index, item)| match item {
                Value::String(text) => Ok(text.clone()),
                Value::Number(_) | Value::Bool(_) => Ok(item.to_string()),
                _ => Err(self.error(&format!("{place}[{index}]"), "type", "a string")),
            })
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// Ords by role, in the order given.
    pub(super) fn points(&self) -> Result<IndexMap<String, String>, ToolError> {
        let place = self.place("points");
        let Some(value) = self.get("points") else {
            return Ok(IndexMap::new());
        };
        let Value::Object(map) = value else {
            return Err(self.error(&place, "type", "an object of ords by role"));
        };
        map.iter()
            .map(|(role, ord)| match ord {
                Value::String(ord) => Ok((role.clone(), ord.clone())),
                _ => Err(self.error(
                    &format!("{place}.{role}"),
                    "type",
                    "an ord; deleteKnowledge removes a role",
                )),
            })
            .collect()
    }

    /// The roles of an equipment type; keys that this version does not know stay with their role.
    pub(super) fn typical_points(&self) -> Result<Option<Vec<TypicalPoint>>, ToolError> {
        let place = self.place("typical_points");
        let Some(value) = self.get("typical_points") else {
            return Ok(None);
        };
        let Value::Array(items) = value else {
            return Err(self.error(&place, "type", "a list of objects"));
        };
        items
            .iter()
            .enumerate()
            .map(|(index, item)| typical_point(index, item))
            .collect::<Result<_, _>>()
            .map(Some)
    }
}

fn typical_point(index: usize, item: &Value) -> Result<TypicalPoint, ToolError> {
    let fields = Fields::item("typical_points", index, item)?;
    let required = match fields.get("required") {
        None => false,
        Some(Value::Bool(required)) => *required,
        Some(Value::String(word)) if word == "true" => true,
        Some(Value::String(word)) if word == "false" => false,
        Some(_) => {
            return Err(fields.error(&fields.place("required"), "type", "true or false"));
        }
    };
    let known = ["role", "kind", "slot_patterns", "required"];
    let extra = fields.values.iter();
    Ok(TypicalPoint {
        role: fields.required_text("role")?,
        kind: fields.text("kind")?,
        slot_patterns: fields.texts("slot_patterns")?.unwrap_or_default(),
        required,
        extra: extra
            .filter(|(key, _)| !known.contains(&key.as_str()))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
    })
}

/// A list argument whose items are strings.
pub(super) fn texts_schema(description: &str) -> Value {
    schema::list(description, json!({"type": "string"}))
}

/// A list argument whose items are read leniently.
pub(super) fn list_schema(description: &str) -> Value {
    schema::typed("array", description)
}

/// The list argument of typical points.
pub(super) fn typical_points_schema() -> Value {
    schema::list(
        "Roles that equipment of this type has: objects of role, kind (temperature, percent, boolean, …), slot_patterns \
         (list of name patterns) and required.",
        json!({"type": "object"}),
    )
}
