//! What the tools that change the component tree share: their refusals in the codes of the surface, new slots as
//! arguments and answers (Tool surface §5.3, §8.4).

use serde_json::{Map, Value, json};

use super::schema::{self, ObjectSchema};
use super::station_access::sentence;
use super::write_gate::{WriteFailure, Written};
use super::{Arguments, ErrorCode, ToolError, ToolOutput};
use crate::station::facade::{CreatedSlot, NameStrategy, NewSlot, StructureError};

/// Argument of what to do about a taken name.
pub(super) const NAME_STRATEGY: &str = "nameStrategy";

/// How a tool calls the things that its refusals are about, and what the caller wrote there.
pub(super) struct Told<'a> {
    /// The component that a slot is added to or removed from.
    pub place: (&'static str, &'a str),
    /// The wanted name, where the caller chose one.
    pub name: (&'static str, &'a str),
    /// The argument that holds the type.
    pub type_key: &'static str,
}

impl Told<'_> {
    fn on(&self, error: ToolError) -> ToolError {
        let (place, ord) = self.place;
        error.with(place, ord)
    }

    /// A failed change of the component tree; what only one tool reports is mapped by it before.
    pub(super) fn failure(&self, error: StructureError) -> WriteFailure {
        let text = sentence(&error);
        let invalid = || ToolError::invalid_params(text.clone());
        let (name_key, wanted) = self.name;
        WriteFailure::Tool(match error {
            StructureError::Write(error) => return error.into(),
            StructureError::Source(error) | StructureError::Sink(error) => return error.into(),
            StructureError::NameTaken { name, .. } => {
                let name = if wanted.is_empty() { &name } else { wanted };
                self.on(invalid()).with(name_key, name)
            }
            StructureError::BadName { reason, .. } => {
                invalid().with(name_key, wanted).with("reason", reason)
            }
            StructureError::LeftBehind { found, cause, .. } => {
                let error = self.on(ToolError::internal(text.clone()));
                return WriteFailure::InDoubt(
                    error
                        .with(name_key, wanted)
                        .with("leftBehind", found)
                        .with("detail", cause),
                );
            }
            StructureError::UnusableType { type_spec, reason } => {
                ToolError::new(ErrorCode::SchemaValidation, text)
                    .with(self.type_key, type_spec)
                    .with("reason", reason)
            }
            StructureError::NotApplicable {
                parent_type,
                extension_type,
                reason,
                ..
            } => self
                .on(ToolError::new(ErrorCode::ExtensionNotApplicable, text))
                .with("parentType", parent_type)
                .with("extensionType", extension_type)
                .with("reason", reason),
            StructureError::NoSlot { ord, slot } => invalid().with("ord", ord).with("slot", slot),
            StructureError::NotAConverter { type_spec } => invalid()
                .with(self.type_key, type_spec.clone())
                .with("actualType", type_spec),
            StructureError::LinkRefused {
                reason, converters, ..
            } => ToolError::new(ErrorCode::LinkTypeMismatch, text)
                .with("reason", reason)
                .with("converters", converters),
            StructureError::NoSuchLink { name, .. } => {
                let error = ToolError::new(ErrorCode::OrdNotResolvable, text);
                self.on(error).with(name_key, name)
            }
            StructureError::NotALink { type_spec, .. } => {
                self.on(invalid()).with("actualType", type_spec)
            }
            StructureError::Frozen { parent_type, .. } => {
                self.on(invalid()).with("parentType", parent_type)
            }
            StructureError::Root => self.on(invalid()),
            StructureError::HasLinks { survey } => self
                .on(ToolError::new(ErrorCode::InboundLinks, text))
                .with("inboundLinkCount", survey.inbound.count),
        })
    }
}

/// Adds the arguments of a new slot's name.
pub(super) fn name_arguments(schema: ObjectSchema, example: &str) -> ObjectSchema {
    schema
        .required(
            "name",
            schema::string(&format!(
                "Name of the new slot, for example {example}; what slot names cannot hold is escaped."
            )),
        )
        .optional(
            NAME_STRATEGY,
            schema::one_of(
                "When the name is taken: fail (default), or suffix for the first free of name_2, name_3, ….",
                &["fail", "suffix"],
            ),
        )
}

/// The new slot that a caller asks for.
///
/// # Errors
/// −32602 with `errorData{nameStrategy}` for a strategy that is none.
pub(super) fn new_slot(arguments: &Arguments, type_key: &str) -> Result<NewSlot, ToolError> {
    let strategy = match arguments.optional_string(NAME_STRATEGY) {
        None | Some("fail") => NameStrategy::Fail,
        Some("suffix") => NameStrategy::Suffix,
        Some(other) => {
            let text = format!("'{NAME_STRATEGY}' must be fail or suffix.");
            return Err(ToolError::invalid_params(text).with(NAME_STRATEGY, other));
        }
    };
    Ok(NewSlot {
        type_spec: arguments.string(type_key)?.to_owned(),
        name: arguments.string("name")?.to_owned(),
        strategy,
    })
}

/// Schema of the answer about a new slot; `ord_key` names its ord.
pub(super) fn created_schema(ord_key: &str) -> ObjectSchema {
    schema::object()
        .required(ord_key, schema::string("Absolute ord of the new slot."))
        .required("displayName", schema::string("The name as people read it."))
        .required(
            "requestedName",
            schema::string("The name as it was asked for."),
        )
        .required(
            "resolvedName",
            schema::string("The slot name that the station has now."),
        )
        .required("type", schema::string("Its type."))
        .required(
            "verified",
            schema::boolean("It was read back and has this type."),
        )
        .optional(
            "readBackFailed",
            schema::string("Why it could not be read back."),
        )
}

/// The answer about a new slot.
pub(super) fn created_answer(ord_key: &str, created: &CreatedSlot) -> ToolOutput {
    let mut answer = Map::new();
    answer.insert(ord_key.to_owned(), json!(created.ord));
    answer.insert("displayName".to_owned(), json!(created.display_name));
    answer.insert("requestedName".to_owned(), json!(created.requested_name));
    answer.insert("resolvedName".to_owned(), json!(created.resolved_name));
    answer.insert("type".to_owned(), json!(created.type_spec));
    let is_as_wanted = created.observed.as_ref() == Ok(&created.type_spec);
    answer.insert("verified".to_owned(), json!(is_as_wanted));
    if let Err(reason) = &created.observed {
        answer.insert("readBackFailed".to_owned(), json!(reason));
    }
    ToolOutput::json(Value::Object(answer))
}

/// A new slot as the records keep it.
pub(super) fn created(created: CreatedSlot) -> Written<CreatedSlot> {
    let kept = json!({ "ord": created.ord, "type": created.type_spec });
    Written::new(created).to(kept)
}
