//! CAMBER 0.110 and we rank the same issues: causes, order, members, hours, costs, confidence, figures of the report.
//!
//! Every data set that the reference generates without a network runs with a configuration that names every class and rule,
//! with that one and sizes, prices and a written reset, and with its packaged one; seeded variations run without a
//! configuration and with sizes. Fleets run along their topology too (chains, and links of a reset with its rogue zones), and
//! air handlers with outdoor sensors of their own against each other, against a file for the site, against one for a sensor,
//! and with prices of energies, volumes and masses. All run without a trust floor: what a floor declines is compared by the
//! rules themselves.
//!
//! What differs on purpose, by the line of `camber-capabilities.txt`:
//!
//! - lines 155 to 157: an issue of a sensor stands just above the first issue that rests on it. The order is compared without
//!   the issues of sensors, and these for themselves.
//! - line 139: the drift section runs and its findings are issues. Issues of drift and what only follows from them (figures of
//!   the whole, the section `mv`) are not compared.
//! - line 72: the reference gives all issues at once, here they are pages.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use niagara_bridge::camber::run_config::RunConfigs;
use niagara_bridge::camber::{CallerPolicy, CapabilityRegistry, Watch, Workspace};
use niagara_bridge::trends::store::wall_clock::{HOUR, iso, parse_bound};
use niagara_bridge::trends::store::writer::Registration;
use niagara_bridge::trends::store::{EquipmentRows, FacilityId, RoleColumn, TrendStore};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::programs::{Peers, observe, script};

/// Seeded variations.
const VARIATIONS: usize = 12;

/// Facilities whose report the reference refuses for a fault of its own (`internal`, with and without sizes).
const REFUSED_THERE: [&str; 2] = ["v-002", "v-010"];

/// Air handlers of which one has an outdoor sensor that reads too warm, and the file of a sound one beside the configuration.
const OUTDOORS: &str = "outdoors";
const OUTDOOR_FILE: &str = "outdoor.csv";

/// Numbers are equal to this share.
const TOLERANCE: f64 = 1e-6;

/// One run on both sides.
struct Run {
    facility: String,
    kind: &'static str,
    config: Option<Value>,
}

impl Run {
    fn place(&self) -> String {
        format!("{} ({})", self.facility, self.kind)
    }

    fn has_drift(&self) -> bool {
        self.config
            .as_ref()
            .is_some_and(|config| !config["drift"].is_null())
    }
}

/// Our whole report, page by page.
fn ours(store: &Arc<TrendStore>, folder: &Path, run: &Run) -> Result<Map<String, Value>, String> {
    let mut workspace = Workspace::new(store.clone());
    if let Some(config) = &run.config {
        let file = folder.join("ours.json");
        std::fs::write(&file, config.to_string()).expect("a file");
        workspace = workspace.with_run_configs(RunConfigs::read(&[file]).expect("a configuration"));
    }
    let registry = CapabilityRegistry::built_in().expect("a registry");
    let mut caller = CallerPolicy::of([run.facility.clone()]);
    caller.min_trust = 0.0;
    caller.caps.max_bytes = 200_000_000;
    let mut whole: Option<Map<String, Value>> = None;
    loop {
        let rows = |data: &Map<String, Value>, key: &str| {
            data[key].as_array().cloned().unwrap_or_default()
        };
        let so_far = whole
            .as_ref()
            .map_or(0, |whole| rows(whole, "issues").len());
        let watch = Watch::start(Duration::from_secs(300), CancellationToken::new());
        let arguments =
            json!({"facility_id": run.facility, "top_n": 50, "offset": so_far, "limit": 1000});
        let page = registry
            .call("rcx_report", arguments, &workspace, &caller, &watch)
            .map_err(|error| error.code.word().to_owned())?
            .data;
        let is_last = rows(&page, "issues").len() < 50;
        match &mut whole {
            None => whole = Some(page),
            Some(whole) => {
                for key in ["issues", "sections", "fact_index"] {
                    let mut all = rows(whole, key);
                    let more = rows(&page, key);
                    all.extend(
                        more.into_iter()
                            .filter(|row| !rows(whole, key).contains(row)),
                    );
                    whole.insert(key.to_owned(), json!(all));
                }
            }
        }
        if is_last {
            return whole.ok_or_else(|| "no page".to_owned());
        }
    }
}

async fn theirs(peers: &Peers, store: &Path, folder: &Path, runs: &[Run]) -> Vec<Value> {
    let asked: Vec<Value> = runs
        .iter()
        .enumerate()
        .map(|(number, run)| {
            let file = run.config.as_ref().map(|config| {
                let file = folder.join(format!("theirs-{number}.json"));
                std::fs::write(&file, config.to_string()).expect("a file");
                file
            });
            json!({"facility": run.facility, "config": file, "floor": 0.0})
        })
        .collect();
    let requests = folder.join("rcx.json");
    std::fs::write(&requests, json!({"runs": asked}).to_string()).expect("a file");
    let mut python = peers.python("camber");
    python
        .arg(script("camber_rcx.py"))
        .args([store, &peers.results(), &requests]);
    let answered = observe(python).await;
    answered["answers"].as_array().expect("answers").clone()
}

fn is_sensor(issue: &Value) -> bool {
    issue["rules"][0]
        .as_str()
        .is_some_and(|rule| rule.starts_with("sensor_drift:"))
}

/// Issues of the rules, in their order, and those of sensors.
fn parts<'a>(data: &'a Value, rules: &BTreeSet<String>) -> (Vec<&'a Value>, Vec<&'a Value>) {
    let issues = data["issues"].as_array().expect("issues");
    let of_rules = |issue: &&Value| {
        issue["rules"][0]
            .as_str()
            .is_some_and(|rule| rules.contains(rule))
    };
    (
        issues.iter().filter(of_rules).collect(),
        issues.iter().filter(|issue| is_sensor(issue)).collect(),
    )
}

fn compare(
    run: &Run,
    our: &Value,
    their: &Value,
    rules: &BTreeSet<String>,
    wrong: &mut Vec<String>,
) -> usize {
    let place = run.place();
    let mut tell = |what: String| wrong.push(format!("{place}: {what}"));
    let ((our_issues, our_sensors), (their_issues, their_sensors)) =
        (parts(our, rules), parts(their, rules));
    let names = |issues: &[&Value]| -> Vec<String> {
        issues
            .iter()
            .map(|issue| format!("{} {} {}", issue["key"], issue["equip"], issue["rules"]))
            .collect()
    };
    let (one, other) = (names(&our_issues), names(&their_issues));
    for name in one.iter().filter(|name| !other.contains(name)) {
        tell(format!("issue only here: {name}"));
    }
    for name in other.iter().filter(|name| !one.contains(name)) {
        tell(format!("issue only there: {name}"));
    }
    let common = |names: &[String], others: &[String]| -> Vec<String> {
        names
            .iter()
            .filter(|name| others.contains(name))
            .cloned()
            .collect()
    };
    if common(&one, &other) != common(&other, &one) {
        tell(format!("order {one:?} against {other:?}"));
    }
    let mut sensors = (names(&our_sensors), names(&their_sensors));
    sensors.0.sort();
    sensors.1.sort();
    if sensors.0 != sensors.1 {
        tell(format!("sensors {:?} against {:?}", sensors.0, sensors.1));
    }
    for our in our_issues.iter().chain(&our_sensors) {
        let Some(their) = their_issues
            .iter()
            .chain(&their_sensors)
            .find(|issue| issue["key"] == our["key"])
        else {
            continue;
        };
        for key in [
            "severity",
            "annual_cost_usd",
            "hours",
            "pct_runtime",
            "confidence",
        ] {
            if !same(&our[key], &their[key]) {
                tell(format!(
                    "{} {}: {key} {} against {}; {} against {}",
                    our["equip"], our["rules"], our[key], their[key], our["why"], their["why"]
                ));
            }
        }
        let conditions = |issue: &Value| issue["conditional_on"].as_array().map_or(0, Vec::len);
        if conditions(our) != conditions(their) {
            tell(format!(
                "{} {}: conditional_on {} against {}",
                our["equip"], our["rules"], our["conditional_on"], their["conditional_on"]
            ));
        }
        let is_empty = |issue: &Value| issue["cause"] == json!("");
        if is_empty(our) != is_empty(their) {
            tell(format!(
                "{}: cause {} against {}",
                our["rules"], our["cause"], their["cause"]
            ));
        }
    }
    if run.has_drift() {
        return our_issues.len();
    }
    let (one, other) = (relations(our), relations(their));
    if one != other {
        tell(format!("links and chains {one:?} against {other:?}"));
    }
    for key in ["kpis", "period", "site", "from_config"] {
        if !same(&our[key], &their[key]) {
            tell(format!("{key} {} against {}", our[key], their[key]));
        }
    }
    let sections = |data: &Value| -> BTreeSet<String> {
        let rows = data["sections"].as_array().expect("sections").iter();
        rows.map(|row| row["id"].as_str().expect("an id").to_owned())
            .collect()
    };
    if sections(our) != sections(their) {
        tell(format!(
            "sections {:?} differ",
            sections(our)
                .symmetric_difference(&sections(their))
                .collect::<Vec<_>>()
        ));
    }
    our_issues.len()
}

/// How many links (U), chains (Z) and gaps of chains (G) the index tells of each part of the report.
fn relations(data: &Value) -> BTreeMap<(String, String), usize> {
    let mut counts = BTreeMap::new();
    for row in data["fact_index"].as_array().expect("facts") {
        let (letter, context) = row["id"]
            .as_str()
            .and_then(|id| id.split_once('@'))
            .expect("an id");
        let letter = letter.trim_end_matches(|end: char| end.is_ascii_digit());
        let context = context.rsplit_once('-').map_or(context, |(own, _)| own);
        if ["U", "Z", "G"].contains(&letter) {
            let key = (letter.to_owned(), context.to_owned());
            *counts.entry(key).or_default() += 1;
        }
    }
    counts
}

fn same(our: &Value, their: &Value) -> bool {
    match (our, their) {
        (Value::Number(_), Value::Number(_)) => {
            let [our, their] = [our, their].map(|value| value.as_f64().expect("a number"));
            (our - their).abs() <= TOLERANCE * our.abs().max(their.abs())
        }
        (Value::Object(our), Value::Object(their)) => {
            our.len() == their.len()
                && our
                    .iter()
                    .all(|(key, value)| their.get(key).is_some_and(|other| same(value, other)))
        }
        _ => our == their,
    }
}

fn our_rules() -> BTreeSet<String> {
    let registry = CapabilityRegistry::built_in().expect("a registry");
    let definition = registry
        .definitions()
        .find(|definition| definition.name == "rule_run")
        .expect("rule_run");
    let named = &definition.input_schema["properties"]["rules"]["items"]["enum"];
    serde_json::from_value(named.clone()).expect("names")
}

/// A configuration that names every class and every rule, with a report section.
fn whole_config(
    store: &TrendStore,
    path: &Path,
    facility: &str,
    rules: &BTreeSet<String>,
    with_sizes: bool,
) -> Value {
    let id = FacilityId::parse(facility).expect("a facility");
    let points = store.points(&id).expect("points");
    let classes: BTreeSet<&String> = points.classes.values().collect();
    let mut config = json!({
        "source": {"kind": "store", "store": path, "facility_id": facility},
        "equipment": classes.iter().map(|class| json!({"class": class})).collect::<Vec<_>>(),
        "rules": rules,
    });
    if with_sizes {
        let sizes = |number: usize| {
            json!({"heating_capacity_kbtuh": 300 + 10 * number, "cooling_tons": 80, "chiller_kw_per_ton": 0.7,
                "fan_kw": 9.5, "pump_kw": 4.5, "annual_hours": 6000, "supply_airflow_cfm": 12000})
        };
        let mut loads: Map<String, Value> = points
            .classes
            .keys()
            .enumerate()
            .map(|(number, equip)| (equip.clone(), sizes(number)))
            .collect();
        loads.insert("<fleet>".to_owned(), sizes(0));
        config["report"] = json!({"rcx": {
            "loads": loads,
            "price": {"electricity_per_kwh": 0.21, "gas_per_therm": 1.5},
            "cost_params": {"cool_cop": 4.0, "reheat_diversity": 0.4},
            "corroboration": false,
            "sequence": {"sat_reset": {"oat": [50, 70], "sat": [65, 55]}},
        }});
        config["rules"] = rules
            .iter()
            .map(|rule| match rule.as_str() {
                "outdoor_air_fraction" | "economizer_high_limit" => {
                    json!({"name": rule, "params": {"min_oa_pct": 20}})
                }
                _ => json!(rule),
            })
            .collect();
    }
    config
}

/// The packaged configuration of a data set.
fn packaged(path: &Path, facility: &str) -> Option<Value> {
    let file: Value =
        serde_json::from_str(include_str!("../../knowledge/camber/dataset-configs.json"))
            .expect("templates");
    let set = facility.strip_prefix("ds-")?;
    let configs = file["configs"].as_array()?;
    let entry = configs.iter().find(|entry| entry["id"] == json!(set))?;
    let mut config = entry["config"].clone();
    config["source"]["store"] = json!(path);
    config["source"]["facility_id"] = json!(facility);
    Some(config)
}

fn runs(
    store: &TrendStore,
    path: &Path,
    facilities: &[String],
    rules: &BTreeSet<String>,
) -> Vec<Run> {
    let mut runs = Vec::new();
    for facility in facilities {
        let mut add = |kind, config| {
            runs.push(Run {
                facility: facility.clone(),
                kind,
                config,
            });
        };
        let whole = |with_sizes| Some(whole_config(store, path, facility, rules, with_sizes));
        match facility.starts_with("ds-") {
            true => {
                let packaged = packaged(path, facility);
                let topology = packaged.as_ref().map(|config| config["topology"].clone());
                add("every rule", whole(false));
                add("packaged", packaged);
                if let Some(topology) = topology.filter(Value::is_object) {
                    let related = with(whole(true), "topology", topology);
                    add("along the topology", related);
                }
            }
            false if facility == OUTDOORS => {
                for (kind, section, value) in outdoor_sections() {
                    add(
                        kind,
                        whole(true).map(|mut config| {
                            config["report"]["rcx"][section] = value;
                            config
                        }),
                    );
                }
            }
            false => add("no configuration", None),
        }
        add("with sizes", whole(true));
    }
    runs
}

fn with(config: Option<Value>, key: &str, value: Value) -> Option<Value> {
    let mut config = config?;
    config[key] = value;
    Some(config)
}

/// What the report of the air handlers with outdoor sensors of their own is told.
fn outdoor_sections() -> Vec<(&'static str, &'static str, Value)> {
    let file = json!({"csv": OUTDOOR_FILE, "time_col": "time", "value_col": "oat"});
    vec![
        ("outdoor file", "oat_reference", file.clone()),
        (
            "outdoor file for all",
            "references",
            json!({"*": {"oat": file}}),
        ),
        (
            "outdoor file for one",
            "references",
            json!({"AHU-3": {"oat": file}}),
        ),
        (
            "price of a volume",
            "price",
            json!({"electricity": {"rate": 210, "per": "MWh"}, "gas": {"rate": 9, "per": "Mcf", "heat_content": "1030 Btu/ft3"}}),
        ),
        (
            "price of a cubic metre",
            "price",
            json!({"electricity_per_kwh": 0.2, "gas": {"rate": 0.4, "per": "m3", "heat_content": "37 MJ/m3"}}),
        ),
        (
            "price of a mass",
            "price",
            json!({"electricity": {"rate": 60, "per": "GJ"}, "gas": {"rate": 14, "per": "klb", "enthalpy": "1194 Btu/lb"}}),
        ),
    ]
}

/// Four air handlers alike, of which the third has an outdoor sensor that reads 6 °F high.
fn write_outdoors(store: &TrendStore, folder: &Path) {
    const HOURS: i64 = 60 * 24;
    let begin = parse_bound("2024-06-03").expect("a date");
    let odd = |hour: i64, salt: i64| ((hour * 37 + salt * 11) % 101) as f64 / 50.0 - 1.0;
    let outside = |hour: i64| {
        let phase = (hour - 9) as f64 * std::f64::consts::TAU / 24.0;
        62.0 + 16.0 * phase.sin() + 0.4 * odd(hour, 7)
    };
    let on = |hour: i64| hour / 24 % 7 < 5 && (6..18).contains(&(hour % 24));
    let when = |is: bool, yes: f64, no: f64| if is { yes } else { no };
    let rows: Vec<EquipmentRows> = [0.0, 0.1, 6.0, -0.2]
        .into_iter()
        .zip(1..)
        .map(|(error, number)| {
            let column = |role: &str, value: &dyn Fn(i64) -> f64| RoleColumn {
                role: role.to_owned(),
                stamps: (0..HOURS).map(|hour| begin + hour * HOUR).collect(),
                values: (0..HOURS).map(value).collect(),
            };
            let noise = |hour: i64, salt: i64| 0.3 * odd(hour, 10 * number + salt);
            let both = |hour: i64| on(hour) && (8..11).contains(&(hour % 24));
            EquipmentRows {
                equip: format!("AHU-{number}"),
                equip_class: "AHU".to_owned(),
                columns: vec![
                    column("oat", &|hour| outside(hour) + error + noise(hour, 1)),
                    column("supply_fan_status", &|hour| when(on(hour), 1.0, 0.0)),
                    column("supply_air_temp", &|hour| {
                        when(on(hour), 55.0, 72.0) + noise(hour, 2)
                    }),
                    column("return_air_temp", &|hour| 73.0 + noise(hour, 3)),
                    column("mixed_air_temp", &|hour| {
                        0.3 * outside(hour) + 51.1 + noise(hour, 4)
                    }),
                    column("oa_damper", &|hour| {
                        when(on(hour), 30.0 + noise(hour, 5), 0.0)
                    }),
                    column("cool_valve", &|hour| {
                        when(on(hour), 40.0 + noise(hour, 6), 0.0)
                    }),
                    column("heat_valve", &|hour| {
                        when(both(hour), 30.0 + noise(hour, 8), 0.0)
                    }),
                ],
            }
        })
        .collect();
    let registration = Registration::active(Some("Outdoors"), Some("America/Chicago"));
    store
        .writer(Duration::from_secs(10))
        .expect("the lock of the store")
        .append(
            &FacilityId::parse(OUTDOORS).expect("an id"),
            &rows,
            Some(&registration),
        )
        .expect("an append");
    let mut text = "time,oat\n".to_owned();
    for hour in 0..HOURS {
        let stamp = iso(begin + hour * HOUR);
        writeln!(text, "{stamp},{:.2}", outside(hour)).expect("text");
    }
    std::fs::write(folder.join(OUTDOOR_FILE), text).expect("a file");
}

#[tokio::test]
async fn camber_and_we_rank_the_same_issues() {
    let Some(peers) = Peers::find("camber_and_we_rank_the_same_issues") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    let count = VARIATIONS.to_string();
    let mut python = peers.python("camber");
    python.arg(script("camber_trust.py")).args([
        Path::new("prepare"),
        &path,
        &folder.path().join("cache"),
        Path::new("0"),
        Path::new(&count),
    ]);
    let mut facilities: Vec<String> =
        serde_json::from_value(observe(python).await["facilities"].clone()).expect("facilities");
    let store = Arc::new(TrendStore::open(&path).expect("a store"));
    write_outdoors(&store, folder.path());
    facilities.push(OUTDOORS.to_owned());
    let rules = our_rules();
    let runs = runs(&store, &path, &facilities, &rules);
    let theirs = theirs(&peers, &path, folder.path(), &runs).await;
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for (run, their) in runs.iter().zip(&theirs) {
        match (ours(&store, folder.path(), run), their["error"].as_str()) {
            (Ok(our), None) => {
                compared += compare(run, &Value::Object(our), &their["data"], &rules, &mut wrong);
            }
            (Err(our), Some(their)) if our == their => {}
            (Ok(_), Some("internal")) if REFUSED_THERE.contains(&run.facility.as_str()) => {
                println!("not compared, the reference fails: {}", run.place());
            }
            (our, their) => wrong.push(format!(
                "{}: {:?} against {their:?}",
                run.place(),
                our.err()
            )),
        }
    }
    println!("{} runs, {compared} issues compared", runs.len());
    assert!(compared > 100, "{compared}");
    assert!(
        wrong.is_empty(),
        "{} differences:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
