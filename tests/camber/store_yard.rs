//! A store of a test, and calls over it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use niagara_bridge::camber::call::Call;
use niagara_bridge::camber::{
    CallerPolicy, Capability, CapabilityDefinition, CapabilityError, CapabilityRegistry,
    CapabilityResult, Watch, Workspace,
};
use niagara_bridge::schema::StoredSchema;
use niagara_bridge::trends::store::wall_clock::{MINUTE, parse_bound};
use niagara_bridge::trends::store::writer::Registration;
use niagara_bridge::trends::store::{EquipmentRows, FacilityId, RoleColumn, TrendStore};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// A folder with a store.
pub struct StoreYard {
    _folder: TempDir,
    pub store: Arc<TrendStore>,
}

/// `count` stamps from `start`, `minutes` apart.
pub fn stamps(start: &str, minutes: i64, count: i64) -> Vec<i64> {
    let start = parse_bound(start).expect("a time");
    (0..count)
        .map(|place| start + place * minutes * MINUTE)
        .collect()
}

/// Samples of one role with the value 1.
pub fn column(role: &str, stamps: Vec<i64>) -> RoleColumn {
    RoleColumn {
        role: role.to_owned(),
        values: vec![1.0; stamps.len()],
        stamps,
    }
}

pub fn equipment(equip: &str, class: &str, columns: Vec<RoleColumn>) -> EquipmentRows {
    EquipmentRows {
        equip: equip.to_owned(),
        equip_class: class.to_owned(),
        columns,
    }
}

impl StoreYard {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = TrendStore::create(folder.path().join("store")).expect("a store");
        Self {
            _folder: folder,
            store: Arc::new(store),
        }
    }

    /// One day of `hq`: an air handler and a weather station, as the specification works them out.
    pub fn with_a_day() -> Self {
        let yard = Self::new();
        let quarters: Vec<i64> = stamps("2024-03-01", 15, 96)
            .into_iter()
            .enumerate()
            .filter(|(place, _)| !(20..29).contains(place))
            .map(|(_, stamp)| stamp)
            .collect();
        let rows = [
            equipment(
                "AHU-1",
                "AHU",
                vec![
                    column("supply_air_temp", stamps("2024-03-01", 60, 24)),
                    column("oat", stamps("2024-03-01T01:00", 60, 1)),
                    column("cool_valve", stamps("2024-03-01T01:00", 60, 2)),
                ],
            ),
            equipment("W", "WEATHER", vec![column("oat", quarters)]),
        ];
        yard.append("hq", &rows);
        yard
    }

    pub fn append(&self, facility: &str, rows: &[EquipmentRows]) {
        let registration = Registration::active(Some(facility), Some("America/Chicago"));
        self.writer()
            .append(&id(facility), rows, Some(&registration))
            .expect("an append");
    }

    pub fn writer(&self) -> niagara_bridge::trends::store::StoreWriter<'_> {
        self.store.writer(Duration::from_secs(5)).expect("the lock")
    }

    pub fn root(&self) -> &Path {
        self.store.root()
    }

    pub fn workspace(&self) -> Workspace {
        Workspace::new(self.store.clone())
    }

    /// A call of a caller who may see these facilities.
    pub fn call(
        &self,
        allowed: &[&str],
        name: &str,
        arguments: Value,
    ) -> Result<CapabilityResult, CapabilityError> {
        self.call_as(&CallerPolicy::of(allowed.iter().copied()), name, arguments)
    }

    pub fn call_as(
        &self,
        caller: &CallerPolicy,
        name: &str,
        arguments: Value,
    ) -> Result<CapabilityResult, CapabilityError> {
        let registry = CapabilityRegistry::built_in().expect("a registry");
        registry.call(name, arguments, &self.workspace(), caller, &watch())
    }

    /// A call of a capability that answers as the test says.
    pub fn answer(
        &self,
        caller: &CallerPolicy,
        run: impl Fn(&Call<'_>) -> Result<CapabilityResult, CapabilityError> + Send + Sync + 'static,
    ) -> Result<CapabilityResult, CapabilityError> {
        let capability: Box<dyn Capability> = Box::new(Told(Box::new(run)));
        let registry = CapabilityRegistry::of([capability]).expect("a registry");
        registry.call("told", json!({}), &self.workspace(), caller, &watch())
    }

    /// The part files of a facility.
    pub fn parts(&self, facility: &str) -> Vec<std::path::PathBuf> {
        let mut folders = vec![self.root().join(format!("facility_id={facility}"))];
        let mut parts = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => parts.push(path),
                }
            }
        }
        parts.retain(|path| {
            path.extension()
                .is_some_and(|extension| extension == "parquet")
        });
        parts.sort();
        parts
    }
}

pub fn id(facility: &str) -> FacilityId {
    FacilityId::parse(facility).expect("a facility id")
}

pub fn watch() -> Watch {
    Watch::start(Duration::from_secs(60), CancellationToken::new())
}

type Answer = dyn Fn(&Call<'_>) -> Result<CapabilityResult, CapabilityError> + Send + Sync;

struct Told(Box<Answer>);

impl Capability for Told {
    fn definition(&self) -> CapabilityDefinition {
        CapabilityDefinition {
            name: "told",
            title: "Told",
            description: "Answers what a test says.",
            input_schema: StoredSchema::from(json!({"type": "object"})),
            output_schema: StoredSchema::from(json!({"type": "object"})),
            long_running: false,
            reads_store: true,
            own_output: &["own"],
        }
    }

    fn run(
        &self,
        call: &Call<'_>,
        _arguments: &Map<String, Value>,
    ) -> Result<CapabilityResult, CapabilityError> {
        (self.0)(call)
    }
}
