//! What a path of slots and methods reaches (Station web specification §3.4).

use std::borrow::Cow;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use super::QueryError;
use super::ast::{Expression, Literal, Step};
use crate::model::component::{Handle, SlotContent};
use crate::model::facets::Facets;
use crate::model::registry;
use crate::model::slot_name;
use crate::model::station::Station;
use crate::model::status::{STATUS_NAMES, Status};
use crate::model::users::User;
use crate::model::value::Value;

/// Who asks, of which station, when.
pub(crate) struct Scope<'a> {
    pub station: &'a Station,
    pub user: &'a User,
    pub now: DateTime<Utc>,
    /// The zone of named ranges and of times without an offset.
    pub zone: Tz,
    /// Whether `<time>.millis` is known.
    pub millis: bool,
}

/// A row that is no component: a history, one of its records, an alarm.
pub(crate) trait Fields {
    fn type_spec(&self) -> &'static str;
    /// A field's value; the outer none means that there is no such field.
    fn field(&self, name: &str) -> Option<Option<Value>>;
    /// Formatting facets of a field.
    fn facets(&self, _name: &str) -> Option<Arc<Facets>> {
        None
    }
    fn text(&self) -> String;
}

/// A simple of a declared type, or plain text where the registry lacks the type.
pub(crate) fn typed(type_spec: &str, encoding: &str) -> Value {
    registry::find(type_spec)
        .and_then(|declared| Value::decode(declared, encoding))
        .unwrap_or_else(|| Value::from(encoding))
}

/// A place that a path can reach.
#[derive(Clone)]
pub(crate) enum Node<'a> {
    Missing,
    Null,
    Component(Handle),
    Fields(&'a dyn Fields),
    Value(Cow<'a, Value>, Option<Arc<Facets>>),
}

impl<'a> Node<'a> {
    fn owned(value: Value) -> Self {
        Self::Value(Cow::Owned(value), None)
    }

    fn text(text: impl Into<String>) -> Self {
        Self::owned(Value::from(text.into()))
    }
}

/// Follows a path from a row.
pub(crate) fn follow<'a>(
    scope: &Scope<'a>,
    row: &Node<'a>,
    steps: &[Step],
) -> Result<Node<'a>, QueryError> {
    let mut node = row.clone();
    for step in steps {
        node = match node {
            Node::Missing => return Ok(Node::Missing),
            Node::Null => Node::Null,
            Node::Component(handle) => component_step(scope, handle, step)?,
            Node::Fields(fields) => fields_step(fields, step),
            Node::Value(value, facets) => value_step(scope, &value, facets.as_ref(), step),
        };
    }
    Ok(node)
}

fn fields_step<'a>(fields: &'a dyn Fields, step: &Step) -> Node<'a> {
    match fields.field(&step.name) {
        Some(Some(value)) => Node::Value(Cow::Owned(value), fields.facets(&step.name)),
        Some(None) => Node::Null,
        None => match step.name.as_str() {
            "type" => Node::owned(Value::TypeSpec(fields.type_spec().into())),
            "toString" => Node::text(fields.text()),
            _ => Node::Missing,
        },
    }
}

fn component_step<'a>(
    scope: &Scope<'a>,
    handle: Handle,
    step: &Step,
) -> Result<Node<'a>, QueryError> {
    if step.arguments.as_ref().is_some_and(|list| !list.is_empty()) {
        return method_with_arguments(scope, handle, step);
    }
    let station = scope.station;
    if let Some(slot) = station.slot(handle, &step.name) {
        return Ok(match slot.content {
            SlotContent::Property(value) => {
                let facets = match slot.facets {
                    Some(own) => Arc::new(own.clone()),
                    None => station.facets(handle),
                };
                Node::Value(value, Some(facets))
            }
            SlotContent::Child(child) if station.can_read(scope.user, child) => {
                Node::Component(child)
            }
            _ => Node::Missing,
        });
    }
    Ok(method(scope, handle, &step.name))
}

/// Methods of components; an unknown name is an empty cell, as a missing slot is.
fn method<'a>(scope: &Scope<'a>, handle: Handle, name: &str) -> Node<'a> {
    let station = scope.station;
    let Some(component) = station.component(handle) else {
        return Node::Missing;
    };
    match name {
        "name" => Node::text(component.name()),
        "displayName" => Node::text(station.display_name(handle)),
        "type" => Node::owned(Value::TypeSpec(component.ty().spec().into())),
        "slotPath" => Node::text(station.slot_path(handle)),
        "navOrd" | "absoluteOrd" => Node::owned(Value::Ord(station.nav_ord(handle).into())),
        "handle" | "handleOrd" => Node::owned(Value::Ord(format!("h:{handle}").into())),
        "toPathString" => Node::text(path_string(station, handle, false)),
        "toDisplayPathString" => Node::text(path_string(station, handle, true)),
        "toString" => Node::text(component_text(scope, handle)),
        "parent" => match component.parent() {
            Some(parent) if station.can_read(scope.user, parent) => Node::Component(parent),
            _ => Node::Missing,
        },
        "device" => ancestor(scope, handle, "driver:Device"),
        "network" => ancestor(scope, handle, "driver:DeviceNetwork"),
        "parentPoint" => ancestor(scope, handle, "control:ControlPoint"),
        "status" if component.ty().is("control:ControlPoint") => {
            match station.value(handle, "out/status") {
                Some(status) => Node::owned(status),
                None => Node::Missing,
            }
        }
        "permissions" => Node::owned(Value::Permissions(station.permissions(scope.user, handle))),
        _ => Node::Missing,
    }
}

fn ancestor<'a>(scope: &Scope<'a>, handle: Handle, type_spec: &str) -> Node<'a> {
    let station = scope.station;
    let mut at = station.parent(handle);
    while let Some(parent) = at {
        let matches = station
            .component(parent)
            .is_some_and(|component| component.ty().is(type_spec));
        if matches {
            return if station.can_read(scope.user, parent) {
                Node::Component(parent)
            } else {
                Node::Missing
            };
        }
        at = station.parent(parent);
    }
    Node::Missing
}

fn path_string(station: &Station, handle: Handle, display: bool) -> String {
    if display {
        let mut names = Vec::new();
        let mut at = Some(handle);
        while let Some(component) = at {
            names.push(station.display_name(component));
            at = station.parent(component);
        }
        names.reverse();
        return format!("/{}", names.join("/"));
    }
    station
        .slot_path(handle)
        .strip_prefix("slot:")
        .unwrap_or_default()
        .to_owned()
}

/// A component as text: the value of its `out`, the id of a history configuration, else its display name.
pub(crate) fn component_text(scope: &Scope<'_>, handle: Handle) -> String {
    let station = scope.station;
    let is = |spec: &str| {
        station
            .component(handle)
            .is_some_and(|component| component.ty().is(spec))
    };
    if is("history:HistoryConfig")
        && let Some(id) = station.value(handle, "id")
    {
        return id.encode();
    }
    match station.value(handle, "out") {
        Some(out) if is("control:ControlPoint") => {
            super::display_text(scope, &out, &station.facets(handle))
        }
        _ => station.display_name(handle),
    }
}

fn method_with_arguments<'a>(
    scope: &Scope<'a>,
    handle: Handle,
    step: &Step,
) -> Result<Node<'a>, QueryError> {
    let arguments = step.arguments.as_deref().unwrap_or(&[]);
    match (step.name.as_str(), arguments) {
        ("slotExists" | "get", [Expression::Literal(Literal::Text(name))]) => {
            let slot = scope.station.slot(handle, &slot_name::escape(name));
            let slot = slot.or_else(|| scope.station.slot(handle, name));
            if step.name == "slotExists" {
                return Ok(Node::owned(Value::Boolean(slot.is_some())));
            }
            let plain = Step {
                name: name.clone(),
                arguments: None,
            };
            component_step(scope, handle, &plain)
        }
        _ => Err(QueryError::Failed(format!(
            "no method `{step}` can be called here"
        ))),
    }
}

fn value_step<'a>(
    scope: &Scope<'a>,
    value: &Value,
    facets: Option<&Arc<Facets>>,
    step: &Step,
) -> Node<'a> {
    let name = step.name.as_str();
    let facets_of_value = || facets.cloned().unwrap_or_default();
    match (value, name) {
        (Value::Struct(body), _) => {
            if let Some(member) = body.get(name) {
                return Node::Value(Cow::Owned(member.clone()), facets.cloned());
            }
            if name == "activeLevel"
                && let Some((_, status)) = value.as_status_value()
            {
                return status_step(status, name);
            }
        }
        (Value::Status(status), _) => {
            let node = status_step(status, name);
            if !matches!(node, Node::Missing) {
                return node;
            }
        }
        (Value::Facets(entries), _) => {
            if let Some(entry) = entries.get(name) {
                return Node::owned(entry.clone());
            }
        }
        (Value::AbsTime(time), "millis") if scope.millis => {
            return match time {
                Some(time) => Node::owned(Value::Long(time.timestamp_millis())),
                None => Node::Null,
            };
        }
        (Value::RelTime(milliseconds), "millis") => {
            return Node::owned(Value::Long(*milliseconds));
        }
        (Value::FrozenEnum(entry), "tag") => return Node::text(entry.tag()),
        (Value::FrozenEnum(entry), "ordinal") => {
            return Node::owned(Value::Integer(entry.ordinal));
        }
        (Value::DynamicEnum(entry), "tag") => return Node::text(entry.tag()),
        (Value::DynamicEnum(entry), "ordinal") => {
            return Node::owned(Value::Integer(entry.ordinal));
        }
        _ => {}
    }
    match name {
        "type" => Node::owned(Value::TypeSpec(value.type_spec().into())),
        "toString" => Node::text(super::display_text(scope, value, &facets_of_value())),
        "encodeToString" => Node::text(value.encode()),
        _ => Node::Missing,
    }
}

fn status_step<'a>(status: &Status, name: &str) -> Node<'a> {
    let lowered = name.strip_prefix("is").unwrap_or(name).to_ascii_lowercase();
    if let Some((bit, _)) = STATUS_NAMES
        .iter()
        .find(|(_, known)| known.to_ascii_lowercase() == lowered)
    {
        return Node::owned(Value::Boolean(status.has(*bit)));
    }
    match name {
        "ok" | "isOk" => Node::owned(Value::Boolean(status.bits == 0)),
        "valid" | "isValid" => Node::owned(Value::Boolean(status.is_valid())),
        "bits" => Node::owned(Value::Integer(
            i32::try_from(status.bits).unwrap_or(i32::MAX),
        )),
        "activeLevel" => match status.active_level() {
            Some(level) => Node::owned(
                registry::find("control:PriorityLevel")
                    .and_then(|levels| Value::decode(levels, &level.to_string()))
                    .unwrap_or(Value::Integer(level)),
            ),
            None => Node::Null,
        },
        _ => Node::Missing,
    }
}
