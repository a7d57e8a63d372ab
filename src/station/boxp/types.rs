//! Types of a station: their ancestry and their contracts (Station web specification §4.3), and slots
//! merged from a contract and a loaded node (Tool surface §13.5.1).

use indexmap::{IndexMap, IndexSet};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use super::node::{Node, NodeError, SlotKind};
use crate::station::ord;

/// What `reg/loadTypes` says of one type.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TypeRecord {
    pub super_type: Option<String>,
    pub interfaces: Vec<String>,
    pub is_abstract: bool,
    pub is_interface: bool,
    pub is_simple: bool,
    pub is_component: bool,
}

impl TypeRecord {
    /// Reads one record; absent keys mean false or none.
    pub fn decode(json: &Json) -> Self {
        let flag = |key| json.get(key).and_then(Json::as_bool).unwrap_or(false);
        Self {
            super_type: json
                .get("p")
                .and_then(Json::as_str)
                .filter(|name| !name.is_empty())
                .map(str::to_owned),
            interfaces: match json.get("it") {
                Some(Json::Array(names)) => names
                    .iter()
                    .filter_map(Json::as_str)
                    .map(str::to_owned)
                    .collect(),
                Some(Json::String(name)) => vec![name.clone()],
                _ => Vec::new(),
            },
            is_abstract: flag("a"),
            is_interface: flag("i"),
            is_simple: flag("iss"),
            is_component: flag("isc"),
        }
    }

    /// The types named directly above this one; a type without super type descends from
    /// `baja:Object`.
    pub fn parents(&self) -> impl Iterator<Item = &str> {
        self.super_type
            .iter()
            .chain(&self.interfaces)
            .map(String::as_str)
    }
}

/// Where an ancestry comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AncestrySource {
    /// The station's type registry.
    Registry,
    /// The keys of a contract: super types without interfaces.
    Contract,
    /// The built-in table of stock types.
    BuiltIn,
}

/// A type with everything it descends from, nearest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ancestry {
    types: IndexSet<String>,
    pub source: AncestrySource,
}

impl Ancestry {
    pub fn new(types: IndexSet<String>, source: AncestrySource) -> Self {
        Self { types, source }
    }

    /// Whether the type is or descends from another.
    pub fn is(&self, type_spec: &str) -> bool {
        self.types.contains(type_spec)
    }

    /// The type itself, then its ancestors.
    pub fn types(&self) -> impl Iterator<Item = &str> {
        self.types.iter().map(String::as_str)
    }

    /// A control point.
    pub fn is_point(&self) -> bool {
        self.is("control:ControlPoint")
    }

    /// A history extension.
    pub fn is_history_extension(&self) -> bool {
        self.is("history:HistoryExt")
    }

    /// An alarm extension.
    pub fn is_alarm_extension(&self) -> bool {
        self.is("alarm:AlarmSourceExt")
    }

    /// Any extension of a point.
    pub fn is_point_extension(&self) -> bool {
        self.is("control:PointExtension")
    }

    /// A link.
    pub fn is_link(&self) -> bool {
        self.is("baja:Link")
    }
}

/// Super types of stock types, for stations whose type registry is closed to this user.
const STOCK_TYPES: &[(&str, &str)] = &[
    ("baja:Station", "baja:Component"),
    ("baja:Folder", "baja:Component"),
    ("baja:Component", "baja:Complex"),
    ("baja:Struct", "baja:Complex"),
    ("baja:Complex", "baja:Value"),
    ("baja:Link", "baja:Struct"),
    ("baja:ConversionLink", "baja:Link"),
    ("baja:StatusValue", "baja:Struct"),
    ("baja:StatusNumeric", "baja:StatusValue"),
    ("baja:StatusBoolean", "baja:StatusValue"),
    ("baja:StatusEnum", "baja:StatusValue"),
    ("baja:StatusString", "baja:StatusValue"),
    ("baja:AbstractService", "baja:Component"),
    ("baja:ServiceContainer", "baja:Component"),
    ("baja:UserService", "baja:AbstractService"),
    ("baja:User", "baja:Component"),
    ("control:ControlPoint", "baja:Component"),
    ("control:NumericPoint", "control:ControlPoint"),
    ("control:NumericWritable", "control:NumericPoint"),
    ("control:BooleanPoint", "control:ControlPoint"),
    ("control:BooleanWritable", "control:BooleanPoint"),
    ("control:EnumPoint", "control:ControlPoint"),
    ("control:EnumWritable", "control:EnumPoint"),
    ("control:StringPoint", "control:ControlPoint"),
    ("control:StringWritable", "control:StringPoint"),
    ("control:PointFolder", "baja:Folder"),
    ("control:PointExtension", "baja:Component"),
    ("control:AbstractProxyExt", "control:PointExtension"),
    ("control:NullProxyExt", "control:AbstractProxyExt"),
    ("control:TotalizerExt", "control:PointExtension"),
    ("control:NumericTotalizerExt", "control:TotalizerExt"),
    ("control:DiscreteTotalizerExt", "control:TotalizerExt"),
    ("driver:ProxyExt", "control:AbstractProxyExt"),
    ("history:HistoryService", "baja:AbstractService"),
    ("history:HistoryConfig", "baja:Component"),
    ("history:HistoryExt", "control:PointExtension"),
    ("history:IntervalHistoryExt", "history:HistoryExt"),
    ("history:CovHistoryExt", "history:HistoryExt"),
    (
        "history:NumericIntervalHistoryExt",
        "history:IntervalHistoryExt",
    ),
    (
        "history:BooleanIntervalHistoryExt",
        "history:IntervalHistoryExt",
    ),
    (
        "history:EnumIntervalHistoryExt",
        "history:IntervalHistoryExt",
    ),
    (
        "history:StringIntervalHistoryExt",
        "history:IntervalHistoryExt",
    ),
    ("history:NumericCovHistoryExt", "history:CovHistoryExt"),
    ("history:BooleanCovHistoryExt", "history:CovHistoryExt"),
    ("history:EnumCovHistoryExt", "history:CovHistoryExt"),
    ("history:StringCovHistoryExt", "history:CovHistoryExt"),
    ("alarm:AlarmService", "baja:AbstractService"),
    ("alarm:AlarmClass", "baja:Component"),
    ("alarm:AlarmSourceExt", "control:PointExtension"),
    ("schedule:AbstractSchedule", "baja:Component"),
    ("schedule:WeeklySchedule", "schedule:AbstractSchedule"),
    ("schedule:NumericSchedule", "schedule:WeeklySchedule"),
    ("schedule:BooleanSchedule", "schedule:WeeklySchedule"),
    ("schedule:EnumSchedule", "schedule:WeeklySchedule"),
    ("schedule:StringSchedule", "schedule:WeeklySchedule"),
    ("schedule:CalendarSchedule", "schedule:AbstractSchedule"),
];

/// The ancestry of a stock type without asking a station.
pub fn stock_ancestry(type_spec: &str) -> Option<Ancestry> {
    let mut types = IndexSet::from([type_spec.to_owned()]);
    let mut current = type_spec;
    while let Some((_, parent)) = STOCK_TYPES.iter().find(|(name, _)| *name == current) {
        types.insert((*parent).to_owned());
        current = parent;
    }
    (types.len() > 1).then(|| Ancestry::new(types, AncestrySource::BuiltIn))
}

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
    /// defaults, then its dynamic slots in their order.
    pub fn merge(&self, node: &Node) -> Vec<Node> {
        let frozen = self
            .slots
            .values()
            .map(|default| match node.child(default.slot_name()) {
                Some(own) => lay_over(default, own),
                None => default.clone(),
            });
        let dynamic = node
            .children
            .iter()
            .filter(|child| !self.slots.contains_key(child.slot_name()))
            .cloned();
        frozen.chain(dynamic).collect()
    }
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

/// The name to show for a slot: the station's display name, else the unescaped slot name.
pub fn display_name(node: &Node) -> String {
    node.display_name
        .clone()
        .unwrap_or_else(|| ord::unescape(node.slot_name()))
}

/// What is known of a station's types; one per station for the life of the process, shared by all
/// identities (types do not depend on the user).
#[derive(Debug, Default)]
pub struct TypeCache {
    records: RwLock<HashMap<String, TypeRecord>>,
    ancestries: RwLock<HashMap<String, Arc<Ancestry>>>,
    contracts: RwLock<HashMap<String, Arc<Contract>>>,
}

impl TypeCache {
    pub fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    pub(super) fn record(&self, type_spec: &str) -> Option<TypeRecord> {
        read(&self.records).get(type_spec).cloned()
    }

    pub(super) fn add_record(&self, type_spec: &str, record: TypeRecord) {
        write(&self.records).insert(type_spec.to_owned(), record);
    }

    pub(super) fn ancestry(&self, type_spec: &str) -> Option<Arc<Ancestry>> {
        read(&self.ancestries).get(type_spec).cloned()
    }

    pub(super) fn add_ancestry(&self, type_spec: &str, ancestry: Ancestry) -> Arc<Ancestry> {
        let ancestry = Arc::new(ancestry);
        write(&self.ancestries).insert(type_spec.to_owned(), Arc::clone(&ancestry));
        ancestry
    }

    pub(super) fn contract(&self, type_spec: &str) -> Option<Arc<Contract>> {
        read(&self.contracts).get(type_spec).cloned()
    }

    pub(super) fn add_contract(&self, type_spec: &str, contract: Contract) -> Arc<Contract> {
        let contract = Arc::new(contract);
        write(&self.contracts).insert(type_spec.to_owned(), Arc::clone(&contract));
        contract
    }

    /// The ancestry that follows from the records known so far, or the types still to be asked for.
    pub(super) fn walk(&self, type_spec: &str) -> Result<IndexSet<String>, Vec<String>> {
        let records = read(&self.records);
        let mut types = IndexSet::from([type_spec.to_owned()]);
        let mut missing = Vec::new();
        let mut next = 0;
        while let Some(name) = types.get_index(next).cloned() {
            next += 1;
            match records.get(&name) {
                Some(record) => types.extend(record.parents().map(str::to_owned)),
                None if name == "baja:Object" => {}
                None => missing.push(name),
            }
        }
        if missing.is_empty() {
            Ok(types)
        } else {
            Err(missing)
        }
    }
}

/// The maps hold only complete entries, so a panic of another thread cannot have left one half-written.
fn read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> std::sync::RwLockWriteGuard<'_, T> {
    lock.write()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
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
    fn the_chain_of_records_names_what_is_still_unknown() {
        let cache = TypeCache::default();
        cache.add_record(
            "kitControl:Ramp",
            TypeRecord::decode(&json!({"p":"control:NumericPoint","isc":true})),
        );
        assert_eq!(
            cache.walk("kitControl:Ramp"),
            Err(vec!["control:NumericPoint".to_owned()])
        );
        cache.add_record(
            "control:NumericPoint",
            TypeRecord::decode(&json!({"p":"control:ControlPoint","it":["baja:INumeric"]})),
        );
        cache.add_record("control:ControlPoint", TypeRecord::decode(&json!({})));
        cache.add_record("baja:INumeric", TypeRecord::decode(&json!({"i":true})));
        let types = cache.walk("kitControl:Ramp").expect("complete");
        assert!(types.contains("control:ControlPoint") && types.contains("baja:INumeric"));
        assert!(!types.contains("baja:Link"));
    }

    #[test]
    fn circular_records_end() {
        let cache = TypeCache::default();
        cache.add_record("a:A", TypeRecord::decode(&json!({"p":"a:B"})));
        cache.add_record("a:B", TypeRecord::decode(&json!({"p":"a:A"})));
        assert_eq!(cache.walk("a:A").expect("complete").len(), 2);
    }

    #[test]
    fn stock_types_are_known_without_a_registry() {
        let point = stock_ancestry("control:NumericWritable").expect("stock");
        assert!(point.is_point() && !point.is_link());
        assert!(
            stock_ancestry("history:NumericCovHistoryExt")
                .expect("stock")
                .is_history_extension()
        );
        assert!(stock_ancestry("acme:Gadget").is_none());
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
