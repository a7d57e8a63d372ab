//! A demo site with some weeks of its 400 days in a store, sample for sample as an ingest brings them, and the rules over it.
//!
//! Which history gives which role in which unit is what [`IngestPlan`] finds out over the station's interfaces. The records
//! come from the station's model itself: so many over HTTP would take minutes in a debug build, and that an ingest stores
//! just these is what the tests of the trends show.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use mock_station::model::accounts::BRIDGE;
use mock_station::model::history::trend_flags;
use mock_station::model::{HistoryRecord, SharedStation, Station, Value as Recorded};
use mock_station::server::MockStation;
use mock_station::site::truth::Truth;
use mock_station::site::{Site, SiteName, SiteOptions};
use niagara_bridge::camber::run_config::RunConfigs;
use niagara_bridge::camber::{
    CallerPolicy, CapabilityError, CapabilityRegistry, CapabilityResult, Watch, Workspace,
};
use niagara_bridge::cli::{demo, init_run_config};
use niagara_bridge::clock::TestClock;
use niagara_bridge::knowledge::{KnowledgeModel, STANDARD_TYPES, decode, demo_model, format};
use niagara_bridge::station::boxp::TypeCache;
use niagara_bridge::station::facade::{HistorySample, SampleValue, StationFacade};
use niagara_bridge::station::http::{CallScope, HttpLimits};
use niagara_bridge::station::status::StatusBits;
use niagara_bridge::station::web::{Secret, WebOptions, WebSession};
use niagara_bridge::trends::duty::StateDuty;
use niagara_bridge::trends::ingest::plan::PlannedPoint;
use niagara_bridge::trends::ingest::{IngestPlan, IngestRequest};
use niagara_bridge::trends::site_time::SiteClock;
use niagara_bridge::trends::store::wall_clock::parse_bound;
use niagara_bridge::trends::store::{
    EquipmentRows, FacilityId, Registration, RoleColumn, TrendStore,
};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// When the stations are started: every fault of both sites has begun, and 400 days lie behind.
pub const NOW: &str = "2026-11-30T22:00:00Z";

/// Whole days of the site's wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    pub name: &'static str,
    /// First and last date.
    pub first: &'static str,
    pub last: &'static str,
}

/// A healthy autumn, and every season with its faults.
pub const STRETCHES: [Stretch; 5] = [
    stretch("before", "2025-11-03", "2025-11-16"),
    stretch("winter", "2026-02-02", "2026-02-15"),
    stretch("spring", "2026-04-20", "2026-05-10"),
    stretch("summer", "2026-07-13", "2026-07-31"),
    stretch("autumn", "2026-11-02", "2026-11-15"),
];

const fn stretch(name: &'static str, first: &'static str, last: &'static str) -> Stretch {
    Stretch { name, first, last }
}

impl Stretch {
    /// `start` and `end` of a run.
    pub fn bounds(self) -> (String, String) {
        (
            format!("{}T00:00:00", self.first),
            format!("{}T23:59:59", self.last),
        )
    }

    fn instants(self, clock: SiteClock) -> (DateTime<Utc>, DateTime<Utc>) {
        let (start, end) = self.bounds();
        let stamp = |text: &str| parse_bound(text).expect("a time");
        (
            clock.first_instant(stamp(&start)),
            clock.last_instant(stamp(&end)),
        )
    }
}

/// A site, and what of it is stored.
pub struct JudgedSite {
    pub truth: Truth,
    pub facility: FacilityId,
    pub store: Arc<TrendStore>,
    /// The run configuration as YAML.
    pub run_config: String,
    /// Identities of the truth by those of the model.
    ids: BTreeMap<String, String>,
    configs: RunConfigs,
    pub folder: TempDir,
}

/// What a rule says of equipment, which is called as in FAULTS.md.
#[derive(Debug, Clone)]
pub struct Judgement {
    pub rule: String,
    pub equip: String,
    pub severity: String,
    pub metrics: Value,
}

impl Judgement {
    pub fn is_fault(&self) -> bool {
        self.severity == "fault"
    }

    pub fn is_raised(&self) -> bool {
        ["fault", "warn"].contains(&self.severity.as_str())
    }
}

impl JudgedSite {
    /// Builds the site and stores what it recorded in these stretches.
    pub async fn new(name: SiteName, stretches: &[Stretch]) -> Self {
        let now: DateTime<Utc> = NOW.parse().expect("a time");
        let site = Site::build(SiteOptions {
            name,
            ..SiteOptions::for_tests(now)
        })
        .expect("the site");
        let truth = site.truth.clone();
        let (model, facility) = match name {
            SiteName::Harborview => {
                let document = demo_model::harborview().expect("readable");
                (KnowledgeModel::new(document), "harborview")
            }
            SiteName::Lakeside => (model_of(&truth, "lakeside"), "lakeside"),
        };
        let facility = FacilityId::parse(facility).expect("an id");
        let run_config = match name {
            SiteName::Harborview => demo::RUN_CONFIG.to_owned(),
            SiteName::Lakeside => init_run_config::draft(&model, &facility).expect("a draft"),
        };
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("run.yaml");
        std::fs::write(&file, &run_config).expect("a file");
        let configs = RunConfigs::read(&[file]).expect("a configuration");
        let store = TrendStore::create(folder.path().join("trends")).expect("a store");
        let store = Arc::new(store);
        let ids = ids(&model, &truth);
        fill(site.station, now, &model, &facility, &store, stretches).await;
        Self {
            truth,
            facility,
            store,
            run_config,
            ids,
            configs,
            folder,
        }
    }

    /// What the rules of the run configuration say of a stretch.
    pub fn judged(&self, stretch: Stretch) -> Vec<Judgement> {
        let mut judgements = Vec::new();
        loop {
            let mut arguments = self.arguments(stretch);
            arguments.insert("min_severity".to_owned(), json!("ok"));
            arguments.insert("limit".to_owned(), json!(1000));
            arguments.insert("offset".to_owned(), json!(judgements.len()));
            let answer = self.call("rule_run", arguments);
            let page = answer["findings"].as_array().expect("findings").clone();
            let is_last = page.len() < 1000;
            judgements.extend(page);
            if is_last {
                break;
            }
        }
        judgements
            .iter()
            .flat_map(|row| self.judgements(row, || self.detail(stretch, row)))
            .collect()
    }

    /// All figures of a finding.
    fn detail(&self, stretch: Stretch, row: &Value) -> Value {
        let mut arguments = self.arguments(stretch);
        arguments.insert("finding_id".to_owned(), row["finding_id"].clone());
        arguments.insert("rules".to_owned(), json!([row["rule"]]));
        self.call("finding_detail", arguments)["metrics"].clone()
    }

    fn arguments(&self, stretch: Stretch) -> Map<String, Value> {
        let (start, end) = stretch.bounds();
        let arguments = [
            ("facility_id", self.facility.as_str()),
            ("start", &start),
            ("end", &end),
        ];
        arguments
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .into_iter()
            .collect()
    }

    /// The data of a capability's answer.
    pub fn call(&self, capability: &str, arguments: Map<String, Value>) -> Map<String, Value> {
        self.result(capability, arguments)
            .unwrap_or_else(|error| panic!("{capability}: {error:?}"))
            .data
    }

    /// The whole answer of a capability.
    pub fn result(
        &self,
        capability: &str,
        arguments: Map<String, Value>,
    ) -> Result<CapabilityResult, CapabilityError> {
        let workspace = Workspace::new(self.store.clone()).with_run_configs(self.configs.clone());
        let mut caller = CallerPolicy::of([self.facility.as_str()]);
        caller.caps.max_bytes = 100_000_000;
        let watch = Watch::start(Duration::from_secs(300), CancellationToken::new());
        CapabilityRegistry::built_in().expect("a registry").call(
            capability,
            Value::Object(arguments),
            &workspace,
            &caller,
            &watch,
        )
    }

    /// One for the equipment of a finding; for a fleet one for itself and, where they matter, one for each member that it is
    /// about.
    pub fn judgements(&self, row: &Value, detail: impl Fn() -> Value) -> Vec<Judgement> {
        let text = |key: &str| row[key].as_str().expect("a text").to_owned();
        let named = |id: String| self.ids.get(&id).cloned().unwrap_or(id);
        let own = Judgement {
            rule: text("rule"),
            equip: named(text("equip")),
            severity: text("severity"),
            metrics: row["metrics"].clone(),
        };
        let mut faults = self.truth.faults.iter();
        let is_expected = faults.any(|fault| fault.rules.contains(&own.rule));
        if !own.equip.contains("fleet") || !(own.is_fault() || is_expected && own.is_raised()) {
            return vec![own];
        }
        let members = fleet_members(&detail(), &own.severity);
        let members = members.into_iter().map(|member| Judgement {
            equip: named(member),
            ..own.clone()
        });
        std::iter::once(own.clone()).chain(members).collect()
    }
}

/// The members of a fleet that its finding is about: those that stand out, or were judged as badly as the whole.
fn fleet_members(metrics: &Value, severity: &str) -> BTreeSet<String> {
    const STANDING_OUT: [&str; 4] = ["rogues", "overloaded_zones", "outliers", "starved_groups"];
    const JUDGED_EACH: [&str; 3] = ["per_zone", "per_ahu", "rooms"];
    let worst = metrics["worst_zone"].as_str().map(str::to_owned);
    let named = STANDING_OUT
        .iter()
        .filter_map(|key| metrics[key].as_array())
        .flatten()
        .filter_map(|member| member.as_str().map(str::to_owned));
    let judged = JUDGED_EACH
        .iter()
        .filter_map(|key| metrics[key].as_object())
        .flatten()
        .filter(|(_, of)| of["severity"] == json!(severity))
        .map(|(member, _)| member.clone());
    // Boxes without which the fleet would be no mixed one; otherwise the list only names the two that heat most.
    let drivers = metrics["driver_zones"].as_array();
    let drivers = drivers.filter(|_| metrics["severity_capped"] == "drivers");
    let drivers = drivers
        .into_iter()
        .flatten()
        .filter_map(|member| member.as_str().map(str::to_owned));
    named.chain(judged).chain(worst).chain(drivers).collect()
}

/// The model that a careful integrator would make of a site whose truth is known: its equipment with all points, and for
/// towers the wet bulb of the weather station by which they are controlled.
fn model_of(truth: &Truth, id: &str) -> KnowledgeModel {
    let weather = truth.equipment.iter().find(|one| one.class == "Weather");
    let wet_bulb = weather.and_then(|weather| weather.roles.get("wetbulb_temp"));
    let equipment: Vec<Value> = truth
        .equipment
        .iter()
        .map(|equipment| {
            let point = |role: &str, path: &str| (role.to_owned(), format!("station:|{path}"));
            let mut points: BTreeMap<String, String> = equipment
                .roles
                .iter()
                .map(|(role, path)| point(role, path))
                .collect();
            if equipment.class == "CoolingTower" {
                points.extend(wet_bulb.map(|path| point("wetbulb_temp", path)));
            }
            let mut entry = json!({
                "id": equipment.id.to_lowercase(),
                "type": type_of(&equipment.class),
                "points": points,
            });
            if let Some(served_by) = &equipment.served_by {
                entry["served_by"] = json!(served_by.to_lowercase());
            }
            entry
        })
        .collect();
    let text = json!({
        "schema_version": 1,
        "station": {"id": id, "name": truth.site, "time_zone": truth.time_zone},
        "equipment_types": [],
        "equipment": equipment,
    });
    let read = |origin: &str, text: &str| {
        let (_, tree) = format::parse(origin, text).expect("readable");
        decode::decode(origin, tree).expect("a model").document
    };
    let mut document = read("truth", &text.to_string());
    document.equipment_types = read("standard types", STANDARD_TYPES).equipment_types;
    KnowledgeModel::new(document)
}

fn type_of(class: &str) -> &'static str {
    match class {
        "AHU" => "ahu",
        "VAV" => "vav",
        "ChilledWaterPlant" => "chilled-water-plant",
        "Chiller" => "chiller",
        "CoolingTower" => "cooling-tower",
        "HotWaterPlant" => "hot-water-plant",
        "Boiler" => "boiler",
        "HWPump" => "hot-water-pump",
        "WaterHeater" => "water-heater",
        "HeatPump" => "heat-pump",
        "Meter" => "meter",
        "Weather" => "weather",
        other => panic!("no type for the class {other}"),
    }
}

/// Identities of the truth by those of a model: of the equipment to which most of its points belong.
fn ids(model: &KnowledgeModel, truth: &Truth) -> BTreeMap<String, String> {
    let owners: BTreeMap<&str, &str> = truth
        .equipment
        .iter()
        .flat_map(|equipment| {
            equipment
                .roles
                .values()
                .map(|path| (path.as_str(), &*equipment.id))
        })
        .collect();
    model
        .document()
        .equipment
        .iter()
        .filter_map(|entry| {
            let mut shares: BTreeMap<&str, usize> = BTreeMap::new();
            for ord in entry.points.values() {
                if let Some(owner) = owners.get(ord.trim_start_matches("station:|")) {
                    *shares.entry(owner).or_default() += 1;
                }
            }
            let (owner, _) = shares.into_iter().max_by_key(|(_, share)| *share)?;
            Some((entry.id.clone(), owner.to_owned()))
        })
        .collect()
}

async fn fill(
    station: Station,
    now: DateTime<Utc>,
    model: &KnowledgeModel,
    facility: &FacilityId,
    store: &Arc<TrendStore>,
    stretches: &[Stretch],
) {
    let clock = Arc::new(mock_station::clock::TestClock::at(now));
    let mock = MockStation::builder()
        .station(SharedStation::new(station, clock))
        .start()
        .await
        .expect("the stand-in station");
    let url = mock.url().parse().expect("an address");
    let mut options = WebOptions::new(url, BRIDGE.user, Secret::new(BRIDGE.password));
    options.limits = HttpLimits {
        requests_per_second: 0,
        ..HttpLimits::default()
    };
    let session = WebSession::new(options, Arc::new(TestClock::at(now))).expect("a session");
    let facade = StationFacade::new(session, TypeCache::new(), None);
    let request = IngestRequest::last_days(Some(facility.clone()), 400, now);
    let begun = std::time::Instant::now();
    let plan = IngestPlan::make(&facade, &CallScope::unlimited(), model, store, &request)
        .await
        .expect("a plan");
    println!("planned in {:?}", begun.elapsed());
    let spans: Vec<_> = stretches
        .iter()
        .map(|stretch| stretch.instants(plan.clock))
        .collect();
    let shared = mock.station().clone();
    let (store, facility) = (store.clone(), facility.clone());
    tokio::task::spawn_blocking(move || {
        let rows = rows(&shared.read(), &plan, &spans);
        println!("recorded in {:?}", begun.elapsed());
        let zone = plan.clock.zone().name();
        let registration = Registration::active(Some(&plan.station_name), Some(zone));
        let mut writer = store.writer(Duration::from_secs(5)).expect("the lock");
        writer
            .append(&facility, &rows, Some(&registration))
            .expect("an append");
        writer.offer_catalogue().expect("a catalogue");
    })
    .await
    .expect("stored");
    mock.shutdown().await;
}

type Span = (DateTime<Utc>, DateTime<Utc>);

/// The samples of all points of a plan, made on all processors.
fn rows(station: &Station, plan: &IngestPlan, spans: &[Span]) -> Vec<EquipmentRows> {
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let columns: Vec<RoleColumn> = std::thread::scope(|scope| {
        let share = plan.points.len().div_ceil(threads).max(1);
        let workers: Vec<_> = plan
            .points
            .chunks(share)
            .map(|points| {
                scope.spawn(move || -> Vec<RoleColumn> {
                    points
                        .iter()
                        .map(|point| column(station, plan.clock, point, spans))
                        .collect()
                })
            })
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("samples"))
            .collect()
    });
    let mut rows: BTreeMap<&str, EquipmentRows> = BTreeMap::new();
    for (point, column) in plan.points.iter().zip(columns) {
        let mapped = &point.mapped;
        rows.entry(&mapped.equip)
            .or_insert_with(|| EquipmentRows {
                equip: mapped.equip.clone(),
                equip_class: mapped.equip_class.to_owned(),
                columns: Vec::new(),
            })
            .columns
            .push(column);
    }
    rows.into_values().collect()
}

fn column(station: &Station, clock: SiteClock, point: &PlannedPoint, spans: &[Span]) -> RoleColumn {
    let id = point.found.source.history_id().expect("a listed history");
    let history = station.histories.get(id).expect("a history");
    let mut column = RoleColumn {
        role: point.mapped.role.role.clone(),
        stamps: Vec::new(),
        values: Vec::new(),
    };
    for (from, to) in spans {
        let Some(held) = &point.held else {
            for record in history.records(*from, *to, station.now()) {
                if let Ok(number) = point.rule.number(&sample(&record)) {
                    column
                        .stamps
                        .push(clock.stamp(record.timestamp).expect("a stamp"));
                    column.values.push(number);
                }
            }
            continue;
        };
        let records = history.records(*from - TimeDelta::days(40), *to, station.now());
        let state = |record: &HistoryRecord| point.rule.number(&sample(record)).ok();
        let begun = records.partition_point(|record| record.timestamp < *from);
        let before = begun.checked_sub(1).and_then(|last| state(&records[last]));
        let mut duty = StateDuty::new(held.bins, &column.role, from.timestamp_millis(), before);
        for record in &records[begun..] {
            duty.change(record.timestamp.timestamp_millis(), state(record));
        }
        duty.advance(to.timestamp_millis() + 1000);
        column.stamps.append(&mut duty.stamps);
        column.values.append(&mut duty.values);
    }
    column
}

/// A record of the model as the bridge reads it.
fn sample(record: &HistoryRecord) -> HistorySample {
    let is_hidden = record.trend_flags & trend_flags::HIDDEN != 0;
    HistorySample {
        timestamp: record.timestamp.fixed_offset(),
        value: match &record.value {
            Recorded::Double(number) => SampleValue::Number(*number),
            Recorded::Boolean(on) => SampleValue::Boolean(*on),
            Recorded::DynamicEnum(choice) => SampleValue::Enum {
                tag: choice.tag().to_string(),
                ordinal: Some(choice.ordinal),
            },
            other => SampleValue::Text(other.encode()),
        },
        status: Some(StatusBits::new(record.status)),
        trend_flags: is_hidden.then(|| "hidden".to_owned()).into_iter().collect(),
    }
}
