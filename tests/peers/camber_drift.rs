//! CAMBER 0.110 and we find the same drift: ids, severities, figures, verdicts, and what was not evaluated.
//!
//! Every data set that the reference generates without a network, and seeded variations of all kinds of equipment, run
//!
//! - against the first half of their time, with the usual family of every class and with every family;
//! - with a configuration that names references and every option, on several grids, and with the packaged one where there
//!   is one;
//! - against baselines that the reference has frozen.
//!
//! A quarter of the variations rest for a part of every day. Harborview runs too, as it is ingested, on all grids and with
//! every family that its equipment has points for.
//!
//! The first of these also runs with the usual trust floor, where the newer document (`camber-capabilities.txt`, lines 160 to
//! 166) judges an input on the whole run frame of its equipment: a check may decline on one side only, and what neither side
//! declines must be equal. Not compared are windows without a sample and unknown equipment or classes, which the newer
//! document refuses (lines 177 to 186).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mock_station::site::SiteName;
use niagara_bridge::camber::run_config::RunConfigs;
use niagara_bridge::camber::{CallerPolicy, CapabilityRegistry, Watch, Workspace};
use niagara_bridge::trends::store::wall_clock::iso;
use niagara_bridge::trends::store::{FacilityId, TrendStore};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::camber_rules::packaged_config;
use crate::judged_site::{JudgedSite, Stretch};
use crate::programs::{Peers, observe, script};

/// Variations in every run, and all of them.
const USUAL: usize = 40;
const ALL: usize = 200;

/// Figures are equal to this share, or to a unit of the last digit that is shown.
const TOLERANCE: f64 = 1e-6;

/// Figures that each side words for itself.
const SENTENCES: [&str; 2] = ["threshold_confidence_note", "coil_leak_occupancy_gate"];

const FAMILIES: [&str; 10] = [
    "ahu",
    "boiler",
    "chiller",
    "condenser",
    "dx",
    "evaporator",
    "hw_pump",
    "pump",
    "tower",
    "vav",
];

/// One run on both sides.
struct Run {
    facility: String,
    kind: &'static str,
    floor: f64,
    config: Option<Value>,
    arguments: Value,
}

impl Run {
    fn place(&self) -> String {
        format!("{} ({}, floor {})", self.facility, self.kind, self.floor)
    }

    fn row(&self) -> String {
        let set = match self.facility.starts_with("d-") {
            true => "seeded variations",
            false => self.facility.trim_start_matches("ds-"),
        };
        format!("{set} ({})", self.kind)
    }
}

/// What is stored of a facility.
struct Stored {
    facility: String,
    /// Classes by equipment.
    equipment: BTreeMap<String, String>,
    /// Start, middle and end.
    times: [String; 3],
}

impl Stored {
    fn of(store: &TrendStore, facility: &str) -> Self {
        let id = FacilityId::parse(facility).expect("a facility");
        let points = store.points(&id).expect("points");
        let (first, last) = store
            .read(&id, |view| view.span())
            .expect("a span")
            .expect("samples");
        Self {
            facility: facility.to_owned(),
            equipment: points.classes,
            times: [first, i64::midpoint(first, last), last]
                .map(|stamp| iso(stamp)[..16].to_owned()),
        }
    }

    fn classes(&self) -> BTreeSet<&str> {
        self.equipment.values().map(String::as_str).collect()
    }

    fn run(&self, kind: &'static str, floor: f64, config: Option<Value>, arguments: Value) -> Run {
        Run {
            facility: self.facility.clone(),
            kind,
            floor,
            config,
            arguments,
        }
    }

    /// Every class with every family, as far as a call may name.
    fn every_family(&self) -> Value {
        let pairs = self.classes().into_iter().flat_map(|class| {
            FAMILIES.map(|family| json!({"equip_class": class, "family": family}))
        });
        json!(pairs.take(20).collect::<Vec<_>>())
    }

    fn config(&self, store: &Path, drift: &Value) -> Value {
        self.config_on(store, "1h", drift)
    }

    /// A configuration that resamples to this grid.
    fn config_on(&self, store: &Path, grid: &str, drift: &Value) -> Value {
        let equipment: Vec<Value> = self
            .classes()
            .iter()
            .map(|class| json!({"class": class}))
            .collect();
        json!({
            "source": {"kind": "store", "store": store, "facility_id": self.facility},
            "equipment": equipment,
            "rules": [],
            "site_elevation_ft": 5280,
            "resample": grid,
            "drift": drift,
        })
    }

    /// References of both kinds, and every option.
    fn referenced(&self) -> Value {
        let [start, middle, _] = &self.times;
        let mut entries = Vec::new();
        for class in self.classes() {
            let of_class: Vec<&String> = self
                .equipment
                .iter()
                .filter(|(_, own)| own.as_str() == class)
                .map(|(equip, _)| equip)
                .collect();
            for family in families_of(class) {
                let mut entry = json!({"class": class, "family": family, "reference": {"period": [start, middle]},
                    "current": [middle, null]});
                if *family == "ahu" {
                    entry["coils"] = json!(["heating", "cooling"]);
                    entry["coil_leak"] = json!(["cooling", "heating"]);
                    entry["coil_leak_params"] = json!({"warn_f": 0.75, "valve_closed_thr": 10});
                }
                if *family == "chiller" {
                    entry["sustained_alarm"] = json!(true);
                }
                if let [first, _, ..] = of_class[..] {
                    entry["reference"] = json!({"equip": first});
                }
                entries.push(entry);
            }
        }
        json!({"run_id": "a run", "families": entries})
    }

    fn frozen(&self, file: &str) -> Value {
        let [start, middle, _] = &self.times;
        let entries: Vec<Value> = self
            .classes()
            .into_iter()
            .flat_map(|class| {
                families_of(class)
                    .iter()
                    .map(move |family| json!({"class": class, "family": family}))
            })
            .collect();
        json!({"store": file, "run_id": "freeze-1", "baseline": [start, middle], "current": [middle, null],
            "families": entries})
    }
}

/// Families that a class of our variations and of the data sets has something for.
fn families_of(class: &str) -> &'static [&'static str] {
    let upper = class.to_uppercase();
    let known: [(&str, &[&str]); 8] = [
        ("AHU", &["ahu"]),
        ("VAV", &["vav"]),
        ("CHILLER", &["chiller", "condenser", "evaporator"]),
        ("CHW", &["chiller", "tower", "pump"]),
        ("BOILER", &["boiler"]),
        ("HW", &["hw_pump", "boiler"]),
        ("TOWER", &["tower"]),
        ("PUMP", &["pump"]),
    ];
    let found = known.iter().find(|(part, _)| upper.contains(part));
    found.map_or(&["dx"], |(_, families)| families)
}

/// Data, or the code of the refusal.
type Answer = Result<Map<String, Value>, String>;

fn ours(store: &Arc<TrendStore>, folder: &Path, run: &Run) -> Answer {
    let mut workspace = Workspace::new(store.clone());
    if let Some(config) = &run.config {
        let file = folder.join("ours.json");
        std::fs::write(&file, config.to_string()).expect("a file");
        workspace = workspace.with_run_configs(RunConfigs::read(&[file]).expect("a configuration"));
    }
    let mut arguments = run.arguments.clone();
    arguments["facility_id"] = json!(run.facility);
    arguments["limit"] = json!(1000);
    let registry = CapabilityRegistry::built_in().expect("a registry");
    let mut caller = CallerPolicy::of([run.facility.clone()]);
    caller.min_trust = run.floor;
    caller.caps.max_bytes = 200_000_000;
    let watch = Watch::start(Duration::from_secs(300), CancellationToken::new());
    let answer = registry.call("drift", arguments, &workspace, &caller, &watch);
    answer
        .map(|answer| {
            assert!(!answer.truncated, "{}: more than a page", run.place());
            answer.data
        })
        .map_err(|error| error.code.word().to_owned())
}

async fn theirs(peers: &Peers, store: &Path, folder: &Path, runs: &[Run]) -> Vec<Answer> {
    let asked: Vec<Value> = runs
        .iter()
        .enumerate()
        .map(|(number, run)| {
            let file = run.config.as_ref().map(|config| {
                let file = folder.join(format!("theirs-{number}.json"));
                std::fs::write(&file, config.to_string()).expect("a file");
                file
            });
            json!({"facility": run.facility, "config": file, "floor": run.floor, "arguments": run.arguments})
        })
        .collect();
    let requests = folder.join("drift.json");
    std::fs::write(&requests, json!({"runs": asked}).to_string()).expect("a file");
    let mut python = peers.python("camber");
    python.arg(script("camber_drift.py")).args([
        Path::new("answer"),
        store,
        &peers.results(),
        &requests,
    ]);
    let answered = observe(python).await;
    answered["answers"]
        .as_array()
        .expect("answers")
        .iter()
        .map(|answer| match answer["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(answer["data"].as_object().expect("data").clone()),
        })
        .collect()
}

/// What each detector came to.
#[derive(Default)]
struct Tally {
    equal: usize,
    declined: usize,
    wrong: Vec<String>,
}

type Tallies = BTreeMap<String, BTreeMap<String, Tally>>;

fn is_untrusted(row: &Value) -> bool {
    row["metrics"].get("min_trust").is_some()
}

fn by_key<'v>(
    data: &'v Map<String, Value>,
    list: &str,
    key: impl Fn(&Value) -> String,
) -> BTreeMap<String, &'v Value> {
    let rows = data[list].as_array().expect("a list");
    rows.iter().map(|row| (key(row), row)).collect()
}

fn compare(tallies: &mut Tallies, run: &Run, ours: &Answer, theirs: &Answer) {
    let place = run.place();
    let of_set = tallies.entry(run.row()).or_default();
    let (ours, theirs) = match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => (ours, theirs),
        (Err(one), Err(other)) if one == other => {
            of_set.entry("(refused)".to_owned()).or_default().equal += 1;
            return;
        }
        (one, other) => {
            let told =
                |answer: &Answer| answer.as_ref().map(|_| "an answer").map_err(String::clone);
            of_set
                .entry("(the run)".to_owned())
                .or_default()
                .wrong
                .push(format!(
                    "{place}: {:?} here against {:?}",
                    told(one),
                    told(other)
                ));
            return;
        }
    };
    let id = |row: &Value| row["finding_id"].as_str().expect("an id").to_owned();
    let (our_rows, their_rows) = (by_key(ours, "findings", id), by_key(theirs, "findings", id));
    // Equipment of which one side declined a check for its inputs, and the other did not.
    let mut apart: BTreeSet<String> = BTreeSet::new();
    for id in our_rows
        .keys()
        .chain(their_rows.keys())
        .collect::<BTreeSet<_>>()
    {
        let rule = id.split('@').next().unwrap_or(id).to_owned();
        let tally = of_set.entry(rule).or_default();
        match (our_rows.get(id), their_rows.get(id)) {
            (Some(our), Some(their))
                if is_untrusted(our) != is_untrusted(their) && run.floor > 0.0 =>
            {
                tally.declined += 1;
                apart.insert(our["equip"].to_string());
            }
            (Some(our), Some(their)) => match differences(our, their) {
                found if found.is_empty() => tally.equal += 1,
                found => tally
                    .wrong
                    .push(format!("{place}: {id}: {}", found.join(", "))),
            },
            (our, their) => {
                let row = our.or(their).expect("one of them");
                let side = if our.is_some() { "here" } else { "there" };
                tally
                    .wrong
                    .push(format!("{place}: {id} only {side}: {row}"));
            }
        }
    }
    let mut check = |name: &str, one: Value, other: Value| {
        let tally = of_set.entry(format!("({name})")).or_default();
        match one == other {
            true => tally.equal += 1,
            false => tally
                .wrong
                .push(format!("{place}: {name} {one} against {other}")),
        }
    };
    for name in ["source", "families"] {
        check(name, ours[name].clone(), theirs[name].clone());
    }
    if apart.is_empty() {
        check("counts", ours["counts"].clone(), theirs["counts"].clone());
    }
    let rows = |data: &Map<String, Value>, list: &str| -> Vec<Value> {
        let rows = data[list].as_array().expect("a list");
        let kept = rows
            .iter()
            .filter(|row| !apart.contains(&row["equip"].to_string()))
            // Equipment that no family was asked of: the reference says nothing of it.
            .filter(|row| row["family"] != "none");
        kept.map(|row| {
            let mut row = row.clone();
            let fields = row.as_object_mut().expect("an object");
            fields.remove("summary");
            if let Some(Value::Object(detail)) = fields.get_mut("detail") {
                detail.remove("summary");
            }
            row
        })
        .collect()
    };
    for list in ["diagnoses", "unevaluated"] {
        check(list, json!(rows(ours, list)), json!(rows(theirs, list)));
    }
}

fn differences(our: &Value, their: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if our["severity"] != their["severity"] {
        found.push(format!(
            "severity {} against {}",
            our["severity"], their["severity"]
        ));
    }
    let empty = Map::new();
    let [ours, theirs] = [our, their].map(|row| row["metrics"].as_object().unwrap_or(&empty));
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    for name in names {
        let none = json!("(none)");
        let [one, other] = [ours, theirs].map(|metrics| metrics.get(name).unwrap_or(&none));
        if !same(name, one, other) {
            found.push(format!("{name} {one} against {other}"));
        }
    }
    found
}

fn same(name: &str, our: &Value, their: &Value) -> bool {
    match (our.as_f64(), their.as_f64()) {
        (Some(our), Some(their)) => {
            (our - their).abs() <= TOLERANCE * our.abs().max(their.abs()) + last_digit(our, their)
        }
        _ if SENTENCES.contains(&name) => our.is_string() && their.is_string(),
        _ => our == their,
    }
}

/// A unit of the last decimal that either number shows, when they are rounded ones.
fn last_digit(one: f64, other: f64) -> f64 {
    let decimals = |value: f64| {
        value
            .to_string()
            .split_once('.')
            .map_or(0, |(_, part)| part.len())
    };
    match decimals(one).max(decimals(other)) {
        many if many > 6 => 1e-12,
        shown => 1.01 * 10_f64.powi(-i32::try_from(shown).expect("a few")),
    }
}

/// The packaged configuration of a data set, when it has a drift section.
fn packaged(store: &Path, facility: &str) -> Option<Value> {
    packaged_config(store, facility).filter(|config| config.get("drift").is_some())
}

async fn ask(peers: &Peers, arguments: &[&Path]) -> Value {
    let mut python = peers.python("camber");
    python.arg(script("camber_drift.py")).args(arguments);
    observe(python).await
}

async fn run_and_compare(peers: &Peers, variations: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    let count = variations.to_string();
    let cache = folder.path().join("cache");
    let prepared = ask(
        peers,
        &[Path::new("prepare"), &path, &cache, Path::new(&count)],
    )
    .await;
    let facilities: Vec<String> =
        serde_json::from_value(prepared["facilities"].clone()).expect("facilities");
    let store = Arc::new(TrendStore::open(&path).expect("a store"));
    let mut runs = Vec::new();
    let mut to_freeze = vec![std::path::PathBuf::from("freeze")];
    for facility in &facilities {
        let stored = Stored::of(&store, facility);
        let [start, middle, _] = &stored.times;
        let period = json!({"baseline": [start, middle]});
        // Without a configuration the newer document (line 132) runs a data set with its packaged one.
        let plain = facility
            .starts_with("ds-")
            .then(|| stored.config(&path, &json!({})));
        for floor in [0.0, 0.5] {
            runs.push(stored.run("a period", floor, plain.clone(), period.clone()));
        }
        let every = json!({"baseline": [start, middle], "current": [middle, null], "families": stored.every_family()});
        runs.push(stored.run("every family", 0.0, plain, every));
        for (kind, grid) in [
            ("references", "1h"),
            ("references, 15 min", "15min"),
            ("references, 2 h", "2h"),
        ] {
            let referenced = stored.config_on(&path, grid, &stored.referenced());
            runs.push(stored.run(kind, 0.0, Some(referenced), json!({})));
        }
        let file = format!("frozen-{facility}.json");
        let frozen = stored.config(&path, &stored.frozen(&file));
        let named = folder.path().join(format!("freeze-{facility}.json"));
        std::fs::write(&named, frozen.to_string()).expect("a file");
        to_freeze.push(named);
        runs.push(stored.run("frozen", 0.0, Some(frozen), json!({})));
        if let Some(config) = packaged(&path, facility) {
            runs.push(stored.run("packaged", 0.0, Some(config), json!({})));
        }
    }
    let freezing: Vec<&Path> = to_freeze.iter().map(std::path::PathBuf::as_path).collect();
    ask(peers, &freezing).await;
    let theirs = theirs(peers, &path, folder.path(), &runs).await;
    let mut tallies = Tallies::new();
    for (run, their) in runs.iter().zip(&theirs) {
        compare(&mut tallies, run, &ours(&store, folder.path(), run), their);
    }
    report(&tallies);
}

fn report(tallies: &Tallies) {
    println!(
        "{:50} {:46} {:>6} {:>9} {:>8}",
        "data set", "detector", "equal", "different", "declined"
    );
    let mut wrong = Vec::new();
    for (set, detectors) in tallies {
        for (detector, tally) in detectors {
            let Tally {
                equal, declined, ..
            } = tally;
            println!(
                "{set:50} {detector:46} {equal:>6} {:>9} {declined:>8}",
                tally.wrong.len()
            );
            wrong.extend(tally.wrong.iter().map(String::as_str));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differences:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// A healthy heating season, and the same plant a year later in spring.
const KNOWN_GOOD: Stretch = Stretch {
    name: "known good",
    first: "2025-12-01",
    last: "2025-12-21",
};
const CURRENT: Stretch = Stretch {
    name: "current",
    first: "2026-04-01",
    last: "2026-04-14",
};

/// Every family that a class of Harborview has points for.
const HARBORVIEW: [(&str, &str); 13] = [
    ("AHU", "ahu"),
    ("Boiler", "boiler"),
    ("ChilledWaterPlant", "chiller"),
    ("ChilledWaterPlant", "pump"),
    ("ChilledWaterPlant", "tower"),
    ("Chiller", "chiller"),
    ("Chiller", "condenser"),
    ("Chiller", "evaporator"),
    ("CoolingTower", "tower"),
    ("HeatPump", "dx"),
    ("HotWaterPlant", "boiler"),
    ("HotWaterPlant", "hw_pump"),
    ("VAV", "vav"),
];

#[tokio::test]
async fn camber_and_we_find_the_same_drift_of_harborview() {
    let Some(peers) = Peers::find("camber_and_we_find_the_same_drift_of_harborview") else {
        return;
    };
    let site = JudgedSite::new(SiteName::Harborview, &[KNOWN_GOOD, CURRENT]).await;
    let folder = site.folder.path();
    let path = site.store.root().to_owned();
    let stored = Stored::of(&site.store, site.facility.as_str());
    let families: Vec<Value> = HARBORVIEW
        .iter()
        .map(|(class, family)| json!({"equip_class": class, "family": family}))
        .collect();
    let (start, middle) = KNOWN_GOOD.bounds();
    let arguments = json!({"baseline": [start, middle], "current": [CURRENT.bounds().0, null], "families": families});
    let runs = [
        ("1 h", "1h"),
        ("15 min", "15min"),
        ("30 min", "30min"),
        ("2 h", "2h"),
    ]
    .map(|(kind, grid)| {
        let mut config = stored.config_on(&path, grid, &json!({}));
        config["shared_oat"] = json!({"equip": "weather-1", "role": "oat"});
        stored.run(kind, 0.0, Some(config), arguments.clone())
    });
    let theirs = theirs(&peers, &path, folder, &runs).await;
    let mut tallies = Tallies::new();
    for (run, their) in runs.iter().zip(&theirs) {
        compare(&mut tallies, run, &ours(&site.store, folder, run), their);
    }
    report(&tallies);
    let scored = tallies.values().flat_map(BTreeMap::keys);
    assert!(
        scored
            .into_iter()
            .any(|rule| rule.ends_with("hw_loop_dp_drift"))
    );
}

#[tokio::test]
async fn camber_and_we_find_the_same_drift() {
    if let Some(peers) = Peers::find("camber_and_we_find_the_same_drift") {
        run_and_compare(&peers, USUAL).await;
    }
}

#[tokio::test]
#[ignore = "takes many minutes: five times the variations of every run"]
async fn camber_and_we_find_the_same_drift_in_all_variations() {
    if let Some(peers) = Peers::find("camber_and_we_find_the_same_drift_in_all_variations") {
        run_and_compare(&peers, ALL).await;
    }
}
