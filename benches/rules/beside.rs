//! Capabilities beside CAMBER's: the same call over the same store, each in a process of its own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use niagara_bridge::camber::CapabilityRegistry;
use niagara_bridge::trends::store::wall_clock::{DAY, HOUR, iso, parse_bound};
use niagara_bridge::trends::store::writer::Registration;
use niagara_bridge::trends::store::{EquipmentRows, FacilityId, RoleColumn, TrendStore};
use serde_json::{Map, Value, json};

use super::table::Table;
use super::task::{Measured, Task, observed};

/// 8 air handlers with six boxes each, hourly over three weeks.
const FLEET: &str = "synthetic-g36-vav-fleet";
const METERS: &str = "meters";
const METERS_COUNT: usize = 20;
const ROUNDS: usize = 3;

/// A capability that both have.
struct Case {
    capability: &'static str,
    /// How many times faster it should be (issues "Analytic engine" and "Drift, RCx report, M&V summary", acceptance).
    least_ratio: f64,
    /// What both should find alike.
    found: &'static str,
    same: fn(&Map<String, Value>) -> Value,
    task: Task,
    /// What we are asked beside, so that the answer holds all rows: CAMBER 0.110 has no pages.
    whole: Value,
}

impl Case {
    fn our_task(&self) -> Task {
        let mut task = self.task.clone();
        for (key, value) in self.whole.as_object().into_iter().flatten() {
            task.arguments[key] = value.clone();
        }
        task
    }
}

/// Where CAMBER is, once `.ci/run` has put it there.
pub fn python() -> Option<PathBuf> {
    let environment = PathBuf::from(std::env::var_os("NIAGARA_BRIDGE_PEERS")?).join("camber");
    let python = if cfg!(windows) {
        environment.join("Scripts").join("python.exe")
    } else {
        environment.join("bin").join("python")
    };
    python.exists().then_some(python)
}

/// Measures every capability that this build has.
pub fn measure(table: &mut Table) {
    let Some(python) = python() else {
        eprintln!("CAMBER: left out, NIAGARA_BRIDGE_PEERS names no folder with it");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let registry = CapabilityRegistry::built_in().expect("a registry");
    for case in cases(&python, folder.path()) {
        let name = case.capability;
        if !registry.has(name) {
            eprintln!("{name}: left out, this build does not have it");
            continue;
        }
        // One refused call leaves the figures of the others.
        match (case.our_task().alone(), their_call(&python, &case.task)) {
            (Ok(ours), Ok(theirs)) => tell(table, &case, &ours, &theirs),
            (Err(problem), _) => table.row(name, format!("ours failed: {problem}")),
            (_, Err(problem)) => table.row(name, format!("CAMBER failed: {problem}")),
        }
    }
}

fn tell(table: &mut Table, case: &Case, ours: &Measured, theirs: &Measured) {
    let name = case.capability;
    let (our, their) = ((case.same)(&ours.data), (case.same)(&theirs.data));
    let found = match our == their {
        true => format!("{our} on both sides"),
        false => format!("ours {our}, CAMBER's {their}"),
    };
    table.row(&format!("{name}, {}", case.found), found);
    table.seconds(&format!("{name}, CAMBER"), theirs.median(), "");
    table.seconds(&format!("{name}, ours"), ours.median(), "");
    table.row(
        &format!("{name}, CAMBER's time to ours"),
        format!(
            "{:.0} (target {:.0} or more)",
            theirs.median() / ours.median(),
            case.least_ratio
        ),
    );
    if let (Some(our), Some(their)) = (ours.peak, theirs.peak) {
        table.row(
            &format!("{name}, most memory of the processes"),
            format!(
                "ours {our:.0} MiB, CAMBER's {their:.0} MiB, share {:.2} (target 0.5 or less)",
                our / their
            ),
        );
    }
}

fn cases(python: &Path, folder: &Path) -> Vec<Case> {
    let path = folder.join("store");
    let mut prepare = Command::new(python);
    prepare
        .arg(script())
        .arg("prepare")
        .args([&path, &folder.join("cache"), Path::new(FLEET)]);
    observed(prepare).expect("the data set");
    let store = TrendStore::open(&path).expect("a store");
    write_meters(&store);
    let fleet = format!("ds-{FLEET}");
    let rules = fleet_config(&store, &fleet, folder);
    let (baseline, current) = halves(&store, &fleet);
    let task = |capability: &str, facility: &str, config: Option<&Path>, mut more: Value| {
        more["facility_id"] = json!(facility);
        Task {
            store: path.clone(),
            facility: facility.to_owned(),
            config: config.map(Path::to_owned),
            capability: capability.to_owned(),
            arguments: more,
            rounds: ROUNDS,
        }
    };
    vec![
        Case {
            capability: "rule_run",
            least_ratio: 300.0,
            found: "findings",
            same: |data| data["counts"].as_object().map(total).into(),
            whole: json!({"limit": 1000}),
            task: task(
                "rule_run",
                &fleet,
                Some(&rules),
                json!({"min_severity": "ok"}),
            ),
        },
        Case {
            capability: "sensor_trust",
            least_ratio: 100.0,
            found: "points",
            same: |data| data["n_points"].clone(),
            whole: json!({"limit": 1000}),
            task: task("sensor_trust", &fleet, None, json!({})),
        },
        Case {
            capability: "drift",
            least_ratio: 100.0,
            found: "families",
            same: |data| data["families"].as_array().map(Vec::len).into(),
            whole: json!({"limit": 1000}),
            task: task(
                "drift",
                &fleet,
                None,
                json!({"baseline": baseline, "current": current}),
            ),
        },
        Case {
            capability: "mv_summary",
            least_ratio: 100.0,
            found: "results",
            same: |data| data["kinds"].clone(),
            whole: Value::Null,
            task: task(
                "mv_summary",
                METERS,
                Some(&meters_config(folder)),
                json!({}),
            ),
        },
        Case {
            capability: "rcx_report",
            least_ratio: 100.0,
            found: "period",
            same: |data| data["period"].clone(),
            whole: json!({"limit": 1000, "top_n": 50}),
            task: task("rcx_report", &fleet, Some(&rules), json!({})),
        },
    ]
}

/// How many findings there are of all severities: a check may decline on one side only.
fn total(counts: &Map<String, Value>) -> u64 {
    counts.values().filter_map(Value::as_u64).sum()
}

fn their_call(python: &Path, task: &Task) -> Result<Measured, String> {
    let mut program = Command::new(python);
    program
        .arg(script())
        .arg("call")
        .arg(serde_json::to_string(task).expect("JSON"));
    observed(program)
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/rules/camber_calls.py")
}

/// A configuration that names every class and every rule of ours.
fn fleet_config(store: &TrendStore, facility: &str, folder: &Path) -> PathBuf {
    let id = FacilityId::parse(facility).expect("an id");
    let points = store.points(&id).expect("points");
    let classes: BTreeSet<&String> = points.classes.values().collect();
    let config = json!({
        "source": {"kind": "store", "store": store.root(), "facility_id": facility},
        "equipment": classes.iter().map(|class| json!({"class": class})).collect::<Vec<_>>(),
        "rules": niagara_analytics::run_config::rules::built_in(),
    });
    write(folder, "fleet.json", &config)
}

/// The first and the second half of what is stored.
fn halves(store: &TrendStore, facility: &str) -> ([String; 2], [String; 2]) {
    let id = FacilityId::parse(facility).expect("an id");
    let view = store.view(&id).expect("a view");
    let (first, last) = view.span().expect("a span").expect("samples");
    let middle = first + (last - first) / 2 / DAY * DAY;
    ([iso(first), iso(middle - HOUR)], [iso(middle), iso(last)])
}

/// Meters of the year 2024 and three months, of which the heating and the cooling are felt.
fn write_meters(store: &TrendStore) {
    let begin = parse_bound("2024-01-01").expect("a date");
    let stamps: Vec<i64> = (0..24 * (366 + 90)).map(|at| begin + at * HOUR).collect();
    let rows: Vec<EquipmentRows> = (0..METERS_COUNT)
        .map(|number| {
            let values: Vec<(f64, f64)> = (0..stamps.len()).map(|at| metered(number, at)).collect();
            let column = |role: &str, values: Vec<f64>| RoleColumn {
                role: role.to_owned(),
                stamps: stamps.clone(),
                values,
            };
            let (outside, power) = values.into_iter().unzip();
            EquipmentRows {
                equip: format!("METER-{number:02}"),
                equip_class: "METER".to_owned(),
                columns: vec![column("oat", outside), column("power", power)],
            }
        })
        .collect();
    let registration = Registration::active(None, Some("America/Chicago"));
    store
        .writer(Duration::from_secs(10))
        .expect("the lock of the store")
        .append(
            &FacilityId::parse(METERS).expect("an id"),
            &rows,
            Some(&registration),
        )
        .expect("an append");
}

/// Outdoor temperature and power of an hour.
fn metered(number: usize, at: usize) -> (f64, f64) {
    use std::f64::consts::TAU;
    let (hour, day) = (at as f64, (at / 24) as f64);
    let odd = ((at * 7919 + number * 104_729) % 1_000) as f64 / 500.0 - 1.0;
    let outside = 55.0 - 27.0 * (day / 365.25 * TAU).cos() - 8.0 * (hour / 24.0 * TAU).cos() + odd;
    let cooling = (outside - 62.0).max(0.0) * (1.5 + 0.1 * number as f64);
    let heating = (50.0 - outside).max(0.0) * 0.8;
    (outside, 60.0 + cooling + heating + 4.0 * odd)
}

fn meters_config(folder: &Path) -> PathBuf {
    let config = json!({
        "source": {"kind": "store", "store": folder.join("store"), "facility_id": METERS},
        "equipment": [{"class": "METER"}],
        "mv": [{
            "class": "METER",
            "role": "power",
            "period": ["2024-01-01", "2024-12-31"],
            "reporting_period": ["2025-01-01", "2025-03-30"],
        }],
    });
    write(folder, "meters.json", &config)
}

fn write(folder: &Path, name: &str, config: &Value) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, config.to_string()).expect("a file");
    path
}
