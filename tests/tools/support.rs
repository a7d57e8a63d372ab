//! A bridge to a stand-in station with a stopped clock.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use mock_station::model::accounts::{Account, BRIDGE};
use mock_station::model::{Handle, SharedStation, Station, sample};
use mock_station::server::MockStation;
use mock_station::switches::Switches;
use niagara_bridge::audit::{AuditOptions, AuditTrail};
use niagara_bridge::camber::{CapabilityService, Workspace};
use niagara_bridge::clock::TestClock;
use niagara_bridge::config::Config;
use niagara_bridge::config::load::Settings;
use niagara_bridge::config::policy::{Policy, SharedPolicy};
use niagara_bridge::knowledge::{KnowledgeStore, StoreOptions};
use niagara_bridge::station::boxp::TypeCache;
use niagara_bridge::station::facade::StationFacade;
use niagara_bridge::station::http::HttpLimits;
use niagara_bridge::station::web::{Secret, WebOptions, WebSession};
use niagara_bridge::tools::capability::{CapabilityAccess, capability_tools};
use niagara_bridge::tools::definition::Tool;
use niagara_bridge::tools::render_trend::RenderTrend;
use niagara_bridge::tools::station_access::ServiceStation;
use niagara_bridge::tools::write_gate::{SharedGate, WriteGate};
use niagara_bridge::tools::{CallContext, Registry, reading_tools};
use niagara_bridge::trends::store::wall_clock::{MINUTE, parse_bound};
use niagara_bridge::trends::store::{
    EquipmentRows, FacilityId, Registration, RoleColumn, TrendStore,
};
use serde_json::{Value, json};

/// A little after the clocks of the sample station (Europe/Paris) went back, so that its histories cross the change.
pub const NOW: &str = "2026-10-25T12:07:30Z";

pub struct Bench {
    pub mock: MockStation,
    pub clock: Arc<TestClock>,
    pub registry: Registry,
    pub knowledge: Arc<KnowledgeStore>,
    pub facade: Arc<StationFacade>,
    /// Lets writes through to this station.
    pub gate: SharedGate,
    _folder: tempfile::TempDir,
}

impl Bench {
    /// The sample station as it stands, asked by the service account.
    pub async fn new() -> Self {
        Self::start(|_| {}, |_| {}, BRIDGE).await
    }

    /// With other switches.
    pub async fn with_switches(edit: impl FnOnce(&mut Switches)) -> Self {
        Self::start(edit, |_| {}, BRIDGE).await
    }

    /// With another model.
    pub async fn with_station(edit: impl FnOnce(&mut Station)) -> Self {
        Self::start(|_| {}, edit, BRIDGE).await
    }

    pub async fn start(
        switch: impl FnOnce(&mut Switches),
        edit: impl FnOnce(&mut Station),
        account: Account,
    ) -> Self {
        let now: DateTime<Utc> = NOW.parse().expect("a time");
        let mut model = sample::station(now).expect("the sample station");
        edit(&mut model);
        Self::serving(model, now, switch, account).await
    }

    /// Any model, with both clocks stopped at `now`.
    pub async fn serving(
        model: Station,
        now: DateTime<Utc>,
        switch: impl FnOnce(&mut Switches),
        account: Account,
    ) -> Self {
        Self::connecting(model, now, switch, account, |_| {}).await
    }

    /// Any model, with other options of the connection.
    pub async fn connecting(
        model: Station,
        now: DateTime<Utc>,
        switch: impl FnOnce(&mut Switches),
        account: Account,
        connect: impl FnOnce(&mut WebOptions),
    ) -> Self {
        let clock = Arc::new(mock_station::clock::TestClock::at(now));
        let mut switches = Switches::default();
        switch(&mut switches);
        let mock = MockStation::builder()
            .station(SharedStation::new(model, clock))
            .switches(switches)
            .start()
            .await
            .expect("the stand-in station");
        let url = mock.url().parse().expect("an address");
        let mut options = WebOptions::new(url, account.user, Secret::new(account.password));
        options.limits = HttpLimits {
            requests_per_second: 0,
            read_retries: 0,
            ..HttpLimits::default()
        };
        connect(&mut options);
        let clock = Arc::new(TestClock::at(now));
        let session = WebSession::new(options, clock.clone()).expect("a session");
        let facade = Arc::new(StationFacade::new(session, TypeCache::new(), None));
        let folder = tempfile::tempdir().expect("a folder");
        let knowledge = Arc::new(KnowledgeStore::open_with(
            folder.path().join("knowledge.yaml"),
            StoreOptions {
                rest: std::time::Duration::ZERO,
                ..StoreOptions::default()
            },
        ));
        let stations = Arc::new(ServiceStation(facade.clone()));
        let mut policy = Policy::default();
        policy.writes.enabled = true;
        policy.writes.service_account_may_write = true;
        let trail = AuditTrail::new(folder.path(), AuditOptions::default(), clock.clone());
        let policy = SharedPolicy::new(policy);
        let gate = WriteGate::new(policy, trail, stations.clone(), clock.clone());
        let access = CapabilityAccess::default();
        let registry = registry(
            stations,
            knowledge.clone(),
            access,
            clock.clone(),
            Vec::new(),
        );
        Self {
            mock,
            clock,
            registry,
            knowledge,
            facade,
            gate,
            _folder: folder,
        }
    }

    /// The same bridge with the capabilities as well, over a store of its own with a day of a facility.
    pub fn with_capabilities(mut self) -> Self {
        let store = Arc::new(day_of_trends(&self._folder.path().join("trends")));
        let service = CapabilityService::start(Workspace::new(store)).expect("a service");
        let mut settings = Settings::empty("test".to_owned());
        settings
            .read_text("test.yaml", "camber: {allow: all-active}")
            .expect("settings");
        let policy = Policy::of(&Config::from_settings(&settings).expect("a configuration"));
        let access = CapabilityAccess::new(Arc::new(service), SharedPolicy::new(policy));
        let capabilities = capability_tools(&access).expect("capabilities");
        let stations = Arc::new(ServiceStation(self.facade.clone()));
        let (knowledge, clock) = (self.knowledge.clone(), self.clock.clone());
        self.registry = registry(stations, knowledge, access, clock, capabilities);
        self
    }

    /// The whole result of a call.
    pub async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.call_in(tool, arguments, CallContext::service()).await
    }

    /// The whole result of a call that may take `limit`.
    pub async fn call_within(&self, limit: Duration, tool: &str, arguments: Value) -> Value {
        let mut context = CallContext::service();
        context.deadline = Instant::now() + limit;
        self.call_in(tool, arguments, context).await
    }

    async fn call_in(&self, tool: &str, arguments: Value, context: CallContext) -> Value {
        self.registry
            .call(tool, arguments, context)
            .await
            .unwrap_or_else(|error| panic!("{tool} was refused: {error}"))
    }

    /// The structured content of a call that must work; it is checked against the tool's own schema.
    pub async fn answer(&self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments.clone()).await;
        assert_eq!(
            result["isError"],
            json!(false),
            "{tool} {arguments}: {result}"
        );
        let structured = result["structuredContent"].clone();
        let definition = self.registry.definition(tool).expect("a tool");
        if let Some(schema) = &definition.output_schema {
            let text: Value =
                serde_json::from_str(result["content"][0]["text"].as_str().expect("text"))
                    .expect("JSON");
            assert_eq!(
                text, structured,
                "text and structured content of {tool} differ"
            );
            let validator = jsonschema::validator_for(schema).expect("a schema");
            let problems: Vec<String> = validator
                .iter_errors(&structured)
                .map(|error| error.to_string())
                .collect();
            assert!(problems.is_empty(), "{tool}: {problems:?} in {structured}");
        }
        structured
    }

    /// The result of a call that must fail: code, message, data.
    pub async fn failure(&self, tool: &str, arguments: Value) -> (i64, String, Value) {
        failure_of(&self.call(tool, arguments).await)
    }

    pub fn model(&self) -> std::sync::RwLockReadGuard<'_, Station> {
        self.mock.station().read()
    }
}

fn registry(
    stations: Arc<ServiceStation>,
    knowledge: Arc<KnowledgeStore>,
    access: CapabilityAccess,
    clock: Arc<TestClock>,
    capabilities: Vec<Arc<dyn Tool>>,
) -> Registry {
    Registry::builder()
        .acting_by(stations.clone())
        .tool(RenderTrend {
            stations: stations.clone(),
            capabilities: access,
            clock,
        })
        .tools(reading_tools(stations, knowledge, 10_000))
        .tools(capabilities)
        .build()
        .expect("the registry")
}

/// The facility that the examples of capabilities name.
const FACILITY: &str = "harborview";

/// One air handler with the usual sensors, every 15 minutes of a day.
fn day_of_trends(folder: &Path) -> TrendStore {
    const QUARTERS: i64 = 96;
    let store = TrendStore::create(folder).expect("a store");
    let begin = parse_bound("2026-03-01").expect("a day");
    let columns =
        ["oat", "supply_air_temp", "return_air_temp", "cool_valve"].map(|role| RoleColumn {
            role: role.to_owned(),
            stamps: (0..QUARTERS)
                .map(|quarter| begin + quarter * 15 * MINUTE)
                .collect(),
            values: (0..QUARTERS).map(|quarter| quarter as f64).collect(),
        });
    let rows = EquipmentRows {
        equip: "AHU-1".to_owned(),
        equip_class: "AHU".to_owned(),
        columns: columns.into(),
    };
    let facility = FacilityId::parse(FACILITY).expect("a facility id");
    let registration = Registration::active(Some("Harborview"), Some("America/New_York"));
    store
        .writer(Duration::from_secs(5))
        .expect("the lock")
        .append(&facility, &[rows], Some(&registration))
        .expect("an append");
    store
}

pub fn failure_of(result: &Value) -> (i64, String, Value) {
    assert_eq!(result["isError"], json!(true), "{result}");
    (
        result["errorCode"].as_i64().expect("a code"),
        result["content"][0]["text"]
            .as_str()
            .expect("a message")
            .to_owned(),
        result["errorData"].clone(),
    )
}

/// Absolute ord of a component.
pub fn ord_of(station: &Station, handle: Handle) -> String {
    format!("station:|{}", station.slot_path(handle))
}
