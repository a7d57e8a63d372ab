//! CAMBER 0.110 and we tell the same baselines and savings of constructed projects, figure by figure.
//!
//! Differences of the newer document (`camber-capabilities.txt`) are in texts alone, line 109: the unit of energies and
//! "for information only". Summaries, caveats and reasons are our own wording and not compared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use niagara_bridge::camber::run_config::RunConfigs;
use niagara_bridge::camber::{CallerPolicy, CapabilityRegistry, Watch, Workspace};
use niagara_bridge::trends::store::TrendStore;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::programs::{Peers, observe, script};

/// Figures are equal to this share, or to the last digit that is shown.
const TOLERANCE: f64 = 1e-6;

/// One project: a facility, an entry, and further sections of the configuration.
struct Project {
    facility: &'static str,
    mv: Value,
    sections: Value,
    arguments: Value,
}

impl Project {
    fn place(&self) -> String {
        format!(
            "{} {} {} {}",
            self.facility, self.mv, self.sections, self.arguments
        )
    }

    fn config(&self, store: &Path) -> Value {
        let mut config = json!({
            "source": {"kind": "store", "store": store, "facility_id": self.facility},
            "equipment": [{"class": "METER"}],
            "mv": self.mv,
        });
        for (key, value) in self.sections.as_object().expect("sections") {
            config[key] = value.clone();
        }
        config
    }
}

/// An entry with more keys, or with others.
fn with(entry: &Value, more: Value) -> Value {
    let mut entry = entry.clone();
    for (key, value) in more.as_object().expect("keys") {
        entry[key] = value.clone();
    }
    entry
}

fn project(facility: &'static str, entry: Value) -> Project {
    Project {
        facility,
        mv: json!([entry]),
        sections: json!({}),
        arguments: json!({}),
    }
}

fn in_units(facility: &'static str, entry: Value, units: Value) -> Project {
    Project {
        sections: json!({ "units": units }),
        ..project(facility, entry)
    }
}

fn projects() -> Vec<Project> {
    let plain = json!({"class": "METER", "role": "power", "period": ["2023-01-01", "2023-12-31"],
        "reporting_period": ["2024-01-01", "2024-12-31"], "method": "forecast"});
    let years = json!({"class": "METER", "role": "power", "period": ["2021-01-01", "2021-12-31"],
        "intermediate_period": ["2022-01-01", "2022-12-31"], "reporting_period": ["2023-01-01", "2023-12-31"],
        "method": "forecast"});
    let zoned = json!({"class": "METER", "role": "power", "period": ["2022-06-01", "2023-05-31"],
        "reporting_period": ["2023-10-01", "2024-05-31"], "method": "forecast"});
    let normal: Vec<f64> = (0..365).map(|day| 30.0 + f64::from(day % 50)).collect();
    let mut all = Vec::new();
    for more in [
        json!({}),
        json!({"method": null}),
        json!({"kernel": "exact"}),
        json!({"reporting_period": null}),
        json!({"period": null}),
        json!({"period": null, "reporting_period": null}),
        json!({"period": ["2023-01-01", "2023-02-10"]}),
        json!({"period": ["2023-01-01", "2023-04-10"], "reporting_period": ["2024-06-01", "2024-08-31"]}),
        json!({"period": ["2023-01-01", "2023-07-31"]}),
        json!({"period": ["2023-01-01 05:00", "2023-12-31 12:30"]}),
        json!({"reporting_period": ["2025-06-01", "2025-08-31"]}),
        json!({"role": "energy_rate"}),
        json!({"method": "backcast"}),
        json!({"method": "backcast", "kernel": "exact", "validity": "sep"}),
        json!({"method": "backcast", "reporting_period": ["2024-06-01", "2024-06-20"]}),
        json!({"method": "backcast", "reporting_period": ["2024-06-01", "2024-06-02"]}),
        json!({"method": "standard_conditions", "normal_year": normal}),
        json!({"method": "standard_conditions", "normal_year": normal, "kernel": "g14"}),
        json!({"method": "standard_conditions", "normal_year": normal, "reporting_period": ["2024-06-01", "2024-06-20"]}),
        json!({"method": "standard_conditions", "normal_year": [50, 60, 70, 80, 90], "period": ["2023-01-01", "2023-04-10"]}),
        json!({"method": "auto"}),
        json!({"method": "auto", "normal_year": normal}),
        json!({"method": "auto", "period": ["2023-01-01", "2023-02-10"]}),
        json!({"min_days": 1, "period": ["2023-01-01", "2023-01-03"]}),
        json!({"min_days": 1, "period": ["2023-01-01", "2023-01-02"]}),
        json!({"min_days": 400}),
        json!({"model": "cp_driver", "drivers": ["weekday"], "kernel": "exact"}),
        json!({"model": "cp_driver", "drivers": ["occupied_day"], "occupied_weekdays": ["Mon", "Tue"], "holidays": ["2023-01-02"]}),
        json!({"model": "cp_driver", "drivers": ["airflow"]}),
        json!({"class": "BTU"}),
        json!({"method": "chaining"}),
        json!({"kernel": "normal"}),
        json!({"extrapolation": {"unknown": 1}}),
    ] {
        all.push(project("plain", with(&plain, more)));
    }
    for more in [
        json!({}),
        json!({"extrapolation": {"widen_fsu": false}}),
        json!({"extrapolation": {"decline_share": 0.06}}),
        json!({"extrapolation": {"decline_share": 0.06, "decline": false}}),
        json!({"extrapolation": {"support_quantile": 0.1, "edge_tolerance": 0.0, "min_points_outside": 80}}),
        json!({"kernel": "exact"}),
        json!({"method": "backcast"}),
    ] {
        all.push(project("warmer", with(&plain, more)));
    }
    for facility in ["idle", "still", "blind"] {
        all.push(project(facility, plain.clone()));
    }
    for method in [
        "forecast",
        "backcast",
        "chaining",
        "standard_conditions",
        "auto",
    ] {
        let more = json!({"method": method, "normal_year": normal, "validity": "both"});
        all.push(project("chained", with(&years, more.clone())));
        all.push(project(
            "heating",
            with(&with(&years, more.clone()), json!({"role": "energy_rate"})),
        ));
        all.push(project("noise", with(&years, more)));
    }
    for more in [
        json!({"kernel": "exact"}),
        json!({"method": "backcast", "kernel": "exact"}),
        json!({"method": "chaining", "period": ["2021-01-01", "2021-03-31"], "intermediate_period": ["2021-05-01", "2021-07-29"],
            "reporting_period": ["2023-01-01", "2023-03-31"], "extrapolation": {"decline": false}}),
        json!({"method": "chaining", "intermediate_period": ["2024-01-01", "2024-12-30"], "reporting_period": ["2025-01-01", "2025-12-31"]}),
        json!({"method": "chaining", "intermediate_period": ["2021-06-01", "2022-05-31"]}),
        json!({"method": "auto", "period": ["2021-01-01", "2021-06-30"], "reporting_period": ["2023-01-01", "2023-06-30"]}),
        json!({"method": "auto", "period": ["2021-12-01", "2022-01-31"], "reporting_period": ["2023-06-01", "2023-07-31"], "min_days": 30}),
    ] {
        all.push(project("chained", with(&years, more)));
    }
    for facility in ["driven", "grown"] {
        for method in ["forecast", "backcast", "chaining"] {
            let more = json!({"model": "cp_driver", "drivers": ["airflow", "weekday"], "method": method, "validity": "sep"});
            all.push(project(facility, with(&years, more)));
        }
    }
    for more in [
        json!({}),
        json!({"kernel": "exact", "min_coverage": 0.97}),
        json!({"min_coverage": 0}),
        json!({"method": "backcast"}),
        json!({"period": ["2022-11-01", "2022-11-30"], "reporting_period": ["2023-11-05", "2023-11-05"], "min_days": 5}),
        json!({"period": ["2023-03-01", "2023-03-31"], "reporting_period": ["2024-03-10", "2024-03-10"], "min_days": 5}),
    ] {
        all.push(Project {
            sections: json!({"shared_oat": {"equip": "WX"}}),
            ..project("zoned", with(&zoned, more))
        });
    }
    for resample in ["15min", "30min", "1h", "2h"] {
        for sections in [
            json!({"resample": resample}),
            json!({"resample": resample, "shared_oat": {"equip": "WX"}}),
        ] {
            all.push(Project {
                sections,
                ..project("zoned", with(&zoned, json!({"kernel": "exact"})))
            });
        }
        all.push(Project {
            sections: json!({"resample": resample}),
            ..project("plain", plain.clone())
        });
    }
    all.push(project("zoned", zoned.clone()));
    all.push(Project {
        arguments: json!({"equips": ["M1"]}),
        ..project("zoned", zoned.clone())
    });
    all.push(Project {
        mv: json!([zoned, with(&zoned, json!({"kernel": "exact"}))]),
        ..project("zoned", zoned)
    });
    for (unit, heat, units) in [
        ("kW", None, json!("ip")),
        ("kW", None, json!("si")),
        ("MBH", None, json!({"system": "si"})),
        ("tons", None, json!("ip")),
        ("cfh", Some("1037 Btu/ft3"), json!("ip")),
        ("m3/h", Some("38 MJ/m3"), json!("si")),
        (
            "CCF/h",
            None,
            json!({"system": "ip", "factor_set": "energy_star_thermal_2015", "region": "CA"}),
        ),
        ("cfh", None, json!("ip")),
        ("furlong", None, json!("ip")),
    ] {
        let more = json!({"units": unit, "heat_content": heat});
        all.push(in_units("plain", with(&plain, more), units));
    }
    all.push(in_units("plain", plain.clone(), json!("ip")));
    let declined = json!({"units": "kW", "period": ["2023-01-01", "2023-04-10"], "reporting_period": ["2024-06-01", "2024-08-31"]});
    all.push(in_units("plain", with(&plain, declined), json!("ip")));
    for more in [
        json!({"min_days": 400}),
        json!({"min_days": 400, "reporting_period": null}),
        json!({"role": "airflow"}),
        json!({"reporting_period": ["2025-06-01", "2025-08-31"]}),
        json!({"method": "auto", "normal_year": normal}),
        json!({"method": "auto", "period": ["2023-01-01", "2023-03-10"]}),
    ] {
        all.push(in_units(
            "plain",
            with(&with(&plain, json!({"units": "kW"})), more),
            json!("ip"),
        ));
    }
    for method in ["backcast", "chaining", "standard_conditions"] {
        let more = json!({"method": method, "normal_year": normal, "units": "kW"});
        all.push(in_units("chained", with(&years, more), json!("ip")));
    }
    all
}

/// Rows by id, with their severity and figures.
type Rows = BTreeMap<String, (Value, Map<String, Value>)>;

fn rows(data: &Value) -> Rows {
    let list = data["findings"].as_array().expect("findings");
    list.iter()
        .map(|row| {
            let mut metrics = row["metrics"].as_object().expect("figures").clone();
            if let Some(reason) = metrics.get_mut("declined_reason") {
                // Each side words its reasons itself.
                *reason = json!(reason.is_string());
            }
            let id = row["finding_id"].as_str().expect("an id").to_owned();
            (id, (row["severity"].clone(), metrics))
        })
        .collect()
}

fn ours(store: &Arc<TrendStore>, folder: &Path, project: &Project) -> Value {
    let file = folder.join("ours.json");
    std::fs::write(&file, project.config(store.root()).to_string()).expect("a file");
    let configs = match RunConfigs::read(&[file]) {
        Ok(configs) => configs,
        // What we refuse when the server starts, the reference refuses when it is asked.
        Err(_) => return json!({"error": "invalid_params"}),
    };
    let workspace = Workspace::new(store.clone()).with_run_configs(configs);
    let mut arguments = project.arguments.clone();
    arguments["facility_id"] = json!(project.facility);
    let watch = Watch::start(Duration::from_secs(300), CancellationToken::new());
    let registry = CapabilityRegistry::built_in().expect("a registry");
    let caller = CallerPolicy::of([project.facility]);
    match registry.call("mv_summary", arguments, &workspace, &caller, &watch) {
        Ok(answer) => json!({"error": null, "data": answer.data}),
        Err(error) => json!({"error": error.code.word()}),
    }
}

/// What two answers tell otherwise.
pub fn differences(our: &Value, their: &Value) -> Vec<String> {
    if our["error"] != their["error"] {
        return vec![format!("{} against {}", our["error"], their["error"])];
    }
    if !our["error"].is_null() {
        return Vec::new();
    }
    let (our, their) = (&our["data"], &their["data"]);
    let mut found: Vec<String> = ["entries", "meters", "kinds", "counts", "declined"]
        .iter()
        .filter(|key| our[**key] != their[**key])
        .map(|key| format!("{key} {} against {}", our[*key], their[*key]))
        .collect();
    let order = |data: &Value| {
        let list = data["findings"].as_array().expect("findings").clone();
        list.iter()
            .map(|row| row["finding_id"].clone())
            .collect::<Vec<_>>()
    };
    if order(our) != order(their) {
        found.push(format!("rows {:?} against {:?}", order(our), order(their)));
    }
    let (ours, theirs) = (rows(our), rows(their));
    for (id, (severity, metrics)) in &ours {
        let Some((their_severity, their_metrics)) = theirs.get(id) else {
            continue;
        };
        if severity != their_severity {
            found.push(format!("{id}: {severity} against {their_severity}"));
        }
        let names: BTreeSet<&String> = metrics.keys().chain(their_metrics.keys()).collect();
        for name in names {
            let none = json!("(none)");
            let one = metrics.get(name).unwrap_or(&none);
            let other = their_metrics.get(name).unwrap_or(&none);
            if !same(one, other) {
                found.push(format!("{id}: {name} {one} against {other}"));
            }
        }
    }
    found
}

fn same(our: &Value, their: &Value) -> bool {
    match (our.as_f64(), their.as_f64()) {
        (Some(our), Some(their)) => (our - their).abs() <= TOLERANCE * our.abs().max(their.abs()),
        _ => our == their,
    }
}

#[tokio::test]
async fn camber_and_we_tell_the_same_savings() {
    let Some(peers) = Peers::find("camber_and_we_tell_the_same_savings") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("store");
    let run = |arguments: Vec<std::ffi::OsString>| {
        let mut python = peers.python("camber");
        python.arg(script("camber_mv.py")).args(arguments);
        observe(python)
    };
    run(vec!["prepare".into(), root.clone().into()]).await;
    let projects = projects();
    let asked: Vec<Value> = projects
        .iter()
        .enumerate()
        .map(|(number, project)| {
            let file = folder.path().join(format!("theirs-{number}.json"));
            std::fs::write(&file, project.config(&root).to_string()).expect("a file");
            json!({"facility": project.facility, "config": file, "arguments": project.arguments})
        })
        .collect();
    let requests = folder.path().join("requests.json");
    std::fs::write(&requests, json!(asked).to_string()).expect("a file");
    let answered = run(vec!["run".into(), root.clone().into(), requests.into()]).await;
    let theirs = answered["answers"].as_array().expect("answers");
    let store = Arc::new(TrendStore::open(&root).expect("a store"));
    let mut told = Vec::new();
    for (project, their) in projects.iter().zip(theirs) {
        let our = ours(&store, folder.path(), project);
        let found = differences(&our, their);
        if !found.is_empty() {
            told.push(format!("{}\n    {}", project.place(), found.join("\n    ")));
        }
    }
    assert_eq!(theirs.len(), projects.len());
    assert!(projects.len() >= 90, "{} projects", projects.len());
    assert!(
        told.is_empty(),
        "{} of {} projects differ:\n{}",
        told.len(),
        projects.len(),
        told.join("\n")
    );
}
