//! Types of a station: records, ancestry, and what is remembered of them (Station web specification §4.3).

use indexmap::IndexSet;
use serde_json::Value as Json;
use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use super::contract::Contract;
use crate::station::error::StationError;
use crate::station::http::CallScope;

pub use super::contract::display_name;

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

/// What is known of a station's types; one per station for the life of the process, shared by all
/// identities (types do not depend on the user).
#[derive(Debug, Default)]
pub struct TypeCache {
    records: RwLock<HashMap<String, TypeRecord>>,
    ancestries: RwLock<HashMap<String, Arc<Ancestry>>>,
    contracts: RwLock<HashMap<String, Arc<Contract>>>,
    learning: tokio::sync::Mutex<()>,
    /// Types that callers wait to ask for; whoever asks next asks for all of them, until their ancestries are known.
    wanted: RwLock<IndexSet<String>>,
    /// The same for contracts.
    wanted_contracts: RwLock<IndexSet<String>>,
}

impl TypeCache {
    pub fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    /// The right to ask the station about types: who waited for it finds most answers here already, so that many first
    /// callers ask once.
    pub(super) async fn learning(
        &self,
        scope: &CallScope,
    ) -> Result<tokio::sync::MutexGuard<'_, ()>, StationError> {
        scope
            .run("the station's type registry", async {
                Ok(self.learning.lock().await)
            })
            .await
    }

    pub(super) fn want(&self, type_spec: &str) {
        write(&self.wanted).insert(type_spec.to_owned());
    }

    /// Types that callers wait for and whose ancestry is not known.
    pub(super) fn wanted(&self) -> Vec<String> {
        let ancestries = read(&self.ancestries);
        let mut wanted = write(&self.wanted);
        wanted.retain(|name| !ancestries.contains_key(name));
        wanted.iter().cloned().collect()
    }

    /// Nobody is to ask for others' types together with their own any more, until they are wanted again: one of them
    /// is unknown to the station.
    pub(super) fn forget_wanted(&self) {
        write(&self.wanted).clear();
    }

    pub(super) fn want_contract(&self, type_spec: &str) {
        write(&self.wanted_contracts).insert(type_spec.to_owned());
    }

    /// Up to `most` contracts that callers wait for and nobody has asked for.
    pub(super) fn take_wanted_contracts(&self, most: usize) -> Vec<String> {
        let contracts = read(&self.contracts);
        let mut wanted = write(&self.wanted_contracts);
        wanted.retain(|name| !contracts.contains_key(name));
        let count = most.min(wanted.len());
        wanted.drain(..count).collect()
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
}
