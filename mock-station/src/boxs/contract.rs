//! Type contracts: what a type declares itself, in the station's JSON form (Station web specification §4.3).

use serde_json::{Map, Value, json};

use super::node;
use crate::model::point::input_level;
use crate::model::registry::{ActionDef, EnumTag, SlotDef, SlotKind, TypeDef};
use crate::model::slot_name;
use crate::model::{Flags, display};
use crate::switches::BoxSwitches;

/// The contracts of a type and of all its super types, keyed by type spec, the type itself first.
pub fn with_ancestors(ty: &'static TypeDef, switches: &BoxSwitches) -> Value {
    let contracts: Map<String, Value> = ty
        .ancestry()
        .into_iter()
        .map(|ty| (ty.spec().to_owned(), own(ty, switches)))
        .collect();
    Value::Object(contracts)
}

/// Only what the type declares or declares again: slots of a complex type, tags of a frozen enum.
pub fn own(ty: &TypeDef, switches: &BoxSwitches) -> Value {
    if ty.is_frozen_enum() {
        return ty.tags().iter().map(|entry| tag(ty, entry)).collect();
    }
    ty.own_slots()
        .iter()
        .map(|slot| descriptor(ty, slot, switches))
        .collect()
}

fn tag(ty: &TypeDef, tag: &EnumTag) -> Value {
    let text = display::tag_text(ty.spec(), tag.ordinal);
    json!({"o": tag.ordinal, "t": tag.tag, "dt": text.as_deref().unwrap_or(&tag.tag)})
}

fn descriptor(ty: &TypeDef, slot: &SlotDef, switches: &BoxSwitches) -> Value {
    let mut descriptor = Map::new();
    descriptor.insert("st".to_owned(), json!(kind_letter(&slot.kind)));
    descriptor.insert("n".to_owned(), json!(&*slot.name));
    let display_name = slot_name::friendly(&slot.name);
    if display_name != *slot.name {
        descriptor.insert("dn".to_owned(), json!(display_name));
    }
    let flags = shown_flags(ty, &slot.name, slot.flags, switches);
    node::put_flags(&mut descriptor, flags);
    node::put_facets(&mut descriptor, slot.facets.as_deref());
    match &slot.kind {
        SlotKind::Property { default, .. } => {
            descriptor.insert("v".to_owned(), node::bare_value(default));
        }
        SlotKind::Child { default, .. } => {
            descriptor.insert("v".to_owned(), json!({"nm": "p", "t": default.spec()}));
        }
        SlotKind::Action(action) => put_action(&mut descriptor, action, switches),
        SlotKind::Topic { event } => put_topic(&mut descriptor, *event),
    }
    Value::Object(descriptor)
}

/// The flags of a slot as this station has them: the inputs that actions command can be read-only.
pub fn shown_flags(ty: &TypeDef, slot: &str, flags: Flags, switches: &BoxSwitches) -> Flags {
    let read_only = switches.read_only_commands && is_command_input(ty, slot);
    if read_only {
        flags | Flags::READONLY
    } else {
        flags
    }
}

/// Whether a slot is one of the inputs that actions command, 1 and 8 of a writable point.
pub fn is_command_input(ty: &TypeDef, slot: &str) -> bool {
    ty.is_writable_point() && matches!(input_level(slot), Some(1 | 8))
}

fn kind_letter(kind: &SlotKind) -> &'static str {
    match kind {
        SlotKind::Property { .. } | SlotKind::Child { .. } => "p",
        SlotKind::Action(_) => "a",
        SlotKind::Topic { .. } => "t",
    }
}

/// Parameter type, parameter default (only where the station still sends it) and return type.
pub fn put_action(target: &mut Map<String, Value>, action: &ActionDef, switches: &BoxSwitches) {
    if let Some(parameter) = action.parameter {
        target.insert("apt".to_owned(), json!(parameter.spec()));
    }
    if switches.action_parameter_default
        && let Some(default) = &action.parameter_default
    {
        target.insert("apd".to_owned(), node::bare_value(default));
    }
    if let Some(returns) = action.returns {
        target.insert("art".to_owned(), json!(returns.spec()));
    }
}

pub fn put_topic(target: &mut Map<String, Value>, event: Option<&TypeDef>) {
    if let Some(event) = event {
        target.insert("tet".to_owned(), json!(event.spec()));
    }
}
