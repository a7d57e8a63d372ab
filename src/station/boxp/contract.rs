//! The contract of a type: its slots with their defaults, and how a loaded component is laid over them
//! (Station web specification §4.3; "merged slots" of the Tool surface §13.5.1).

use indexmap::IndexMap;
use serde_json::Value as Json;

use super::node::{Node, NodeError, SlotKind};
use super::point::text_of_default_output;
use super::types::{Ancestry, AncestrySource};
use crate::station::ord;
use crate::station::permissions::Permissions;

/// The slots of a type, its ancestors' first, or the tags of a frozen enumeration.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Contract {
    /// Each slot holds the default value.
    slots: IndexMap<String, Node>,
    /// Ordinal, tag, display tag.
    pub tags: Vec<EnumTag>,
    /// The types that the contract was built from, as the station listed them.
    pub types: Vec<String>,
}

/// One member of a frozen enumeration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnumTag {
    pub ordinal: i32,
    pub tag: String,
    pub display: Option<String>,
}

impl Contract {
    /// Reads the reply of `reg/loadContract`; `ancestry` gives the order, topmost type first.
    ///
    /// Without ancestry the station's order counts, with the type itself last.
    pub fn decode(
        json: &Json,
        type_spec: &str,
        ancestry: Option<&Ancestry>,
    ) -> Result<Self, NodeError> {
        let wrong = |reason| NodeError {
            place: format!("contract of {type_spec}"),
            reason,
        };
        let by_type = json
            .as_object()
            .ok_or_else(|| wrong("is not a JSON object"))?;
        let mut order: Vec<&str> =
            match ancestry.filter(|ancestry| ancestry.source == AncestrySource::Registry) {
                Some(ancestry) => ancestry
                    .types()
                    .filter(|name| by_type.contains_key(*name))
                    .collect(),
                None if by_type
                    .keys()
                    .next_back()
                    .is_some_and(|last| last == type_spec) =>
                {
                    by_type.keys().rev().map(String::as_str).collect()
                }
                None => by_type.keys().map(String::as_str).collect(),
            };
        order.reverse();
        let mut contract = Self {
            types: by_type.keys().cloned().collect(),
            ..Self::default()
        };
        for name in order {
            for descriptor in by_type
                .get(name)
                .and_then(Json::as_array)
                .into_iter()
                .flatten()
            {
                contract.add(descriptor)?;
            }
        }
        Ok(contract)
    }

    fn add(&mut self, descriptor: &Json) -> Result<(), NodeError> {
        if let (Some(ordinal), Some(tag)) = (
            descriptor.get("o").and_then(Json::as_i64),
            descriptor.get("t").and_then(Json::as_str),
        ) {
            self.tags.push(EnumTag {
                ordinal: i32::try_from(ordinal).unwrap_or_default(),
                tag: tag.to_owned(),
                display: descriptor
                    .get("dt")
                    .and_then(Json::as_str)
                    .map(str::to_owned),
            });
            return Ok(());
        }
        let mut outline = descriptor.clone();
        let default = outline
            .as_object_mut()
            .and_then(|fields| match fields.get("v") {
                Some(Json::Object(_)) => fields.remove("v"),
                _ => None,
            });
        let mut slot = Node::decode(&outline)?;
        if let Some(default) = default {
            let default = Node::decode(&default)?;
            slot.type_spec = default.type_spec.or(slot.type_spec);
            slot.value = default.value;
            slot.display = default.display;
            slot.children = default.children;
            slot.is_loaded = default.is_loaded;
            if slot.type_name().starts_with("baja:Status") {
                drop_display(&mut slot);
            }
        }
        // A redeclared slot replaces the earlier one in its place.
        self.slots.insert(slot.slot_name().to_owned(), slot);
        Ok(())
    }

    /// A slot with its default value.
    pub fn slot(&self, name: &str) -> Option<&Node> {
        self.slots.get(name)
    }

    /// All slots, topmost ancestor's first.
    pub fn slots(&self) -> impl Iterator<Item = &Node> {
        self.slots.values()
    }

    /// The slots of a loaded component: contract order with the component's own values laid over the
    /// defaults, then its dynamic slots in their order. Properties that are withheld are left out: a default in their
    /// place would pass for the station's value.
    pub fn merge(&self, node: &Node) -> Vec<Node> {
        let frozen =
            self.slots
                .values()
                .filter_map(|default| match node.child(default.slot_name()) {
                    Some(own) => Some(lay_over(default, own)),
                    None if withholds(node, default) => None,
                    None => Some(left_out(default, node)),
                });
        let dynamic = node
            .children
            .iter()
            .filter(|child| !self.slots.contains_key(child.slot_name()))
            .cloned();
        frozen.chain(dynamic).collect()
    }
}

/// A slot that a load left out because it has its default.
fn left_out(default: &Node, node: &Node) -> Node {
    let mut slot = default.clone();
    if slot.slot_name() == "out"
        && let Some(text) = text_of_default_output(node)
    {
        slot.display = Some(text.to_owned());
    }
    slot
}

/// Whether a property that a load left out may have been left out because this identity may not read it, and not
/// because it has its default: without admin read only operator properties are loaded (Station web specification §5.4,
/// §5.5).
pub fn withholds(node: &Node, slot: &Node) -> bool {
    let reads_all = |letters: &str| Permissions::parse(letters).contains(Permissions::ADMIN_READ);
    slot.kind == SlotKind::Property
        && !slot.has_flag('o')
        && node.child(slot.slot_name()).is_none()
        && !node.permissions.as_deref().is_none_or(reads_all)
}

/// A loaded slot with the description that only its contract carries.
fn lay_over(default: &Node, own: &Node) -> Node {
    let mut slot = own.clone();
    slot.kind = default.kind;
    slot.type_spec = slot.type_spec.or_else(|| default.type_spec.clone());
    slot.display_name = slot.display_name.or_else(|| default.display_name.clone());
    slot.facets = slot.facets.or_else(|| default.facets.clone());
    slot.topic_event = slot.topic_event.or_else(|| default.topic_event.clone());
    if slot.flags.is_empty() {
        slot.flags.clone_from(&default.flags);
    }
    if slot.value.is_none()
        && !slot.is_loaded
        && !slot.is_component()
        && slot.type_spec == default.type_spec
    {
        slot.value.clone_from(&default.value);
        slot.children.clone_from(&default.children);
        slot.is_loaded = default.is_loaded;
    }
    if let (SlotKind::Action, Some(described)) = (default.kind, default.action.as_deref()) {
        let action = slot.action.get_or_insert_default();
        action.parameter = action
            .parameter
            .take()
            .or_else(|| described.parameter.clone());
        action.parameter_default = action
            .parameter_default
            .take()
            .or_else(|| described.parameter_default.clone());
        action.returns = action.returns.take().or_else(|| described.returns.clone());
    }
    slot
}

/// The text of a default knows nothing of the facets of a point that holds it.
fn drop_display(slot: &mut Node) {
    slot.display = None;
    slot.children.iter_mut().for_each(drop_display);
}

/// The name to show for a slot: the station's display name, else the unescaped slot name.
pub fn display_name(node: &Node) -> String {
    node.display_name
        .clone()
        .unwrap_or_else(|| ord::unescape(node.slot_name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn contract() -> Contract {
        let reply = json!({
            "control:NumericWritable": [
                {"st":"p","n":"out","f":"rtso","v":{"t":"baja:StatusNumeric","s":[]}},
                {"st":"p","n":"in16","f":"t","v":{"nm":"p","t":"baja:StatusNumeric","s":[
                    {"nm":"p","n":"value","t":"baja:Double","v":"0.0"},{"nm":"p","n":"status","t":"baja:Status","v":"40"}]}},
                {"st":"a","n":"set","f":"o","apt":"baja:Double"}],
            "control:NumericPoint": [{"st":"p","n":"out","f":"s","v":{"t":"baja:StatusNumeric"}}],
            "control:ControlPoint": [{"st":"p","n":"facets","dn":"Facets","v":{"t":"baja:Facets","v":""}}]
        });
        Contract::decode(&reply, "control:NumericWritable", None).expect("a contract")
    }

    #[test]
    fn ancestors_come_first_and_a_redeclared_slot_keeps_its_place() {
        let contract = contract();
        let names: Vec<_> = contract.slots().map(Node::slot_name).collect();
        assert_eq!(names, ["facets", "out", "in16", "set"]);
        assert_eq!(contract.slot("out").expect("present").flags, "rtso");
    }

    #[test]
    fn a_component_is_merged_over_its_defaults_and_keeps_dynamic_slots_last() {
        let node = Node::decode(&json!({"h":"1","t":"control:NumericWritable","s":[
            {"nm":"p","n":"mine","t":"baja:String","v":"x"},
            {"nm":"p","n":"out","t":"baja:StatusNumeric","d":"1.0","s":[]},
            {"nm":"a","n":"set"}]}))
        .expect("a node");
        let slots = contract().merge(&node);
        let names: Vec<_> = slots.iter().map(Node::slot_name).collect();
        assert_eq!(names, ["facets", "out", "in16", "set", "mine"]);
        assert_eq!(
            (slots[1].flags.as_str(), slots[1].display.as_deref()),
            ("rtso", Some("1.0"))
        );
        assert_eq!(
            slots[2]
                .child("status")
                .and_then(|status| status.value.as_deref()),
            Some("40")
        );
        assert_eq!(
            slots[3]
                .action
                .as_ref()
                .and_then(|a| a.parameter.as_deref()),
            Some("baja:Double")
        );
        assert_eq!(display_name(&slots[0]), "Facets");
    }

    #[test]
    fn what_an_operator_may_not_read_is_not_filled_with_defaults() {
        let load = |letters: &str| {
            let json = json!({"h":"1","t":"control:NumericWritable","l":{"p":letters},"s":[
                {"nm":"p","n":"mine","t":"baja:String","v":"x"}]});
            let node = Node::decode(&json).expect("a node");
            let slots = contract().merge(&node);
            slots
                .iter()
                .map(|slot| slot.slot_name().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(load("rwiRWI"), ["facets", "out", "in16", "set", "mine"]);
        assert_eq!(load("r"), ["out", "set", "mine"]);
    }

    #[test]
    fn a_frozen_enumeration_lists_its_tags() {
        let reply = json!({"alarm:SourceState":[{"o":0,"t":"normal"},{"o":1,"t":"offnormal","dt":"Off Normal"}]});
        let contract = Contract::decode(&reply, "alarm:SourceState", None).expect("an enumeration");
        assert_eq!(contract.tags.len(), 2);
        assert_eq!(
            (contract.tags[1].ordinal, contract.tags[1].tag.as_str()),
            (1, "offnormal")
        );
    }
}
