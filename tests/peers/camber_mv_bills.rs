//! CAMBER 0.110 and we tell the same of bills, ledgers and frozen baselines, figure by figure.
//!
//! Differences of the newer document (`camber-capabilities.txt`) are in texts alone, line 109. Sentences of either side are
//! its own: it is compared whether there is one.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use niagara_bridge::camber::run_config::RunConfigs;
use niagara_bridge::camber::{CallerPolicy, CapabilityRegistry, Watch, Workspace};
use niagara_bridge::trends::store::TrendStore;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::camber_mv::differences;
use crate::programs::{Peers, observe, script};

/// Figures that each side words itself.
const SENTENCES: [&str; 6] = [
    "adjustments_refused",
    "avoided_cost_basis",
    "basis",
    "detail",
    "resolved_by",
    "title",
];

/// One project.
pub struct Project {
    pub facility: &'static str,
    pub entry: Value,
    pub sections: Value,
    /// Commands that freeze baselines and change them, each over an entry.
    pub steps: Vec<(Value, Vec<&'static str>)>,
}

impl Project {
    fn config(&self, store: &Path, entry: &Value, frozen: Option<&Path>) -> Value {
        let mut config = json!({
            "site": "A site",
            "source": {"kind": "store", "store": store, "facility_id": self.facility},
            "equipment": [{"class": "METER"}],
            "mv": [entry],
        });
        for (key, value) in self.sections.as_object().expect("sections") {
            config[key] = value.clone();
        }
        if let Some(frozen) = frozen {
            config["mv_store"] = json!(frozen);
        }
        config
    }
}

/// An entry with more keys, also of its objects, or without those that are null.
pub fn with(entry: &Value, more: Value) -> Value {
    let mut entry = entry.clone();
    for (key, value) in more.as_object().expect("keys") {
        match (entry.get_mut(key), value) {
            (Some(Value::Object(own)), Value::Object(more)) => {
                own.extend(more.iter().map(|(key, value)| (key.clone(), value.clone())));
            }
            (_, Value::Null) => {
                entry.as_object_mut().expect("an object").shift_remove(key);
            }
            (_, value) => entry[key] = value.clone(),
        }
    }
    entry
}

pub fn project(facility: &'static str, entry: Value) -> Project {
    Project {
        facility,
        entry,
        sections: json!({}),
        steps: Vec::new(),
    }
}

fn billed(folder: &Path) -> Vec<Project> {
    let file = |name: &str| folder.join(name);
    let entry = |bills: &str| {
        json!({"bills": {"file": file(bills)}, "oat": {"file": file("oat.csv")}, "method": "forecast",
            "period": ["2023-01-01", "2023-12-31"], "reporting_period": ["2024-01-01", "2024-12-31"]})
    };
    let both = entry("both.csv");
    let mut all = Vec::new();
    for name in [
        "both",
        "heating",
        "cooling",
        "flat",
        "both-months",
        "heating-months",
    ] {
        let entry = entry(&format!("{name}.csv"));
        all.push(project("calm", entry.clone()));
        for more in [
            json!({"base_f": "auto"}),
            json!({"kernel": "exact", "base_f": 60}),
        ] {
            all.push(project("calm", with(&entry, more)));
        }
    }
    for more in [
        json!({"method": null}),
        json!({"reporting_period": null}),
        json!({"period": null}),
        json!({"min_bills": 13}),
        json!({"min_bills": 3, "period": ["2023-01-01", "2023-05-31"]}),
        json!({"min_bills": 3, "period": ["2023-01-01", "2023-09-30"]}),
        json!({"min_bills": 3, "period": ["2023-01-01", "2023-09-30"], "base_f": "auto"}),
        json!({"period": ["2023-02-05", "2023-12-20"]}),
        json!({"reporting_period": ["2026-01-01", "2026-12-31"]}),
        json!({"calendarize": true}),
        json!({"oat": null}),
        json!({"oat": {"file": null, "fetch": "a service"}}),
        json!({"oat": {"file": file("gap.csv")}}),
        json!({"min_coverage": 0.99, "oat": {"file": file("gap.csv")}}),
        json!({"name": "Main meter"}),
        json!({"bills": {"end_inclusive": false}}),
        json!({"bills": {"scale_override": {"factor": 0.001, "reason": "it is in Wh"}}}),
        json!({"avoided_cost": {"rate": 0.12}}),
        json!({"avoided_cost": "bills", "bills": {"cost": "cost"}}),
        json!({"avoided_cost": "bills"}),
        json!({"base_f": "auto", "base_search": {"heating": [50, 60], "step": 2}}),
        json!({"base_f": "auto", "base_search": {"heating": [40, 55], "cooling": [76, 80]}}),
        json!({"method": "backcast"}),
        json!({"method": "backcast", "kernel": "exact", "base_f": "auto"}),
        json!({"method": "standard_conditions", "normal_year": [30, 40, 50, 60, 70]}),
        json!({"validity": "sep"}),
        json!({"validity": "both", "base_f": "auto"}),
        json!({"extrapolation": {"decline": false}, "min_bills": 3, "period": ["2023-01-01", "2023-05-31"]}),
        json!({"class": "METER"}),
        json!({"bills": {"energy": "kWh"}}),
    ] {
        all.push(project("calm", with(&both, more)));
    }
    for more in [
        json!({"bills": {"estimated": "read", "cost": "cost"}}),
        json!({"bills": {"estimated": "read", "merge_estimated": false}}),
        json!({"bills": {"cost": "cost"}, "avoided_cost": "bills"}),
    ] {
        all.push(project("calm", with(&entry("estimated.csv"), more)));
    }
    all.push(project(
        "calm",
        with(
            &entry("missing.csv"),
            json!({"bills": {"units_column": "unit"}}),
        ),
    ));
    for (bills, units) in [
        (json!({"units": "kWh"}), json!("ip")),
        (json!({"units": "therms"}), json!("si")),
        (
            json!({"units": "CCF", "heat_content": "1.03 kBtu/ft3"}),
            json!("ip"),
        ),
        // Without a column of costs: the reference judges the scale of quantities by their price.
        (
            json!({"file": file("both-months.csv"), "units": "klb", "enthalpy": "1194 Btu/lb"}),
            json!("si"),
        ),
        (json!({"units": "CCF"}), json!("ip")),
        (json!({"units": "furlong"}), json!("ip")),
        (json!({}), json!("ip")),
    ] {
        all.push(Project {
            sections: json!({ "units": units }),
            ..project("calm", with(&both, json!({ "bills": bills })))
        });
    }
    all.push(Project {
        sections: json!({"shared_oat": {"file": file("oat.csv")}}),
        ..project("calm", with(&both, json!({"oat": null})))
    });
    let amount = json!({"kind": "nra", "method": "submeter", "start": "2024-05-01", "reason": "x", "amount": 300, "se": 40});
    all.push(project(
        "calm",
        with(&both, json!({ "adjustments": [amount] })),
    ));
    all
}

fn trended() -> Value {
    json!({"class": "METER", "role": "power", "method": "forecast",
        "period": ["2023-01-01", "2023-12-31"], "reporting_period": ["2024-01-01", "2024-12-31"]})
}

fn adjusted() -> Vec<Project> {
    let engineering = json!({"kind": "nra", "method": "engineering", "start": "2024-03-01", "reason": "x", "amount": 1000,
        "se": 100, "evidence": "e"});
    let area = json!({"kind": "static", "method": "proportional", "start": "2024-05-01", "reason": "x", "factor": "area",
        "baseline_value": 100, "reporting_value": 110, "affected_share": 0.5});
    let event = json!({"kind": "nra", "method": "indicator", "start": "2024-04-05", "end": "2024-05-15", "reason": "x"});
    let before = with(&event, json!({"start": "2023-07-20", "end": "2023-08-19"}));
    let excluded = with(&event, json!({"method": "exclude"}));
    let later = with(
        &excluded,
        json!({"start": "2024-07-01", "end": "2024-07-20"}),
    );
    let ledgers = [
        json!([engineering]),
        json!([with(
            &engineering,
            json!({"kind": "static", "factor": "area", "evidence": null})
        )]),
        json!([area]),
        json!([with(
            &area,
            json!({"ratio_se": 0.02, "share_se": 0.1, "start": "2022-01-01"})
        )]),
        json!([event]),
        json!([with(&event, json!({"end": null}))]),
        json!([with(
            &event,
            json!({"start": "2023-12-20", "end": "2024-01-20"})
        )]),
        json!([before]),
        json!([excluded]),
        json!([with(&excluded, json!({"end": null}))]),
        json!([area, event, engineering, later]),
        json!([area, before, engineering, later]),
        json!([
            event,
            with(&event, json!({"start": "2024-09-01", "end": "2024-09-20"}))
        ]),
        // Refused as a whole.
        json!([with(&event, json!({"end": "2024-04-06"}))]),
        json!([
            before,
            with(&before, json!({"start": "2023-02-20", "end": "2023-03-19"}))
        ]),
        json!([with(
            &excluded,
            json!({"start": "2024-01-01", "end": "2025-01-01"})
        )]),
        json!([with(&engineering, json!({"status": "proposed"}))]),
        // Refused as a configuration.
        json!([with(&engineering, json!({"evidence": null}))]),
        json!([with(&engineering, json!({"se": -1}))]),
        json!([with(&engineering, json!({"end": "2024-03-01"}))]),
        json!([with(&area, json!({"affected_share": 2}))]),
        json!([with(&area, json!({"end": "2024-08-01"}))]),
        json!([with(&area, json!({"affected_share": null}))]),
        json!("x"),
    ];
    let normal: Vec<f64> = (0..365).map(|day| 30.0 + f64::from(day % 50)).collect();
    let mut all = Vec::new();
    for ledger in ledgers {
        for kernel in ["g14", "exact"] {
            let more = json!({"kernel": kernel, "adjustments": ledger});
            all.push(project("events", with(&trended(), more)));
        }
    }
    for more in [
        json!({"adjustments": [event], "ecm_dates": ["2024-03-22"]}),
        json!({"adjustments": [event], "ecm_dates": ["2024-03-21"]}),
        json!({"adjustments": [event], "ecm_dates": ["2024-04-01"], "settle_days": 2}),
        json!({"adjustments": [engineering], "ecm_dates": ["2024-03-01"]}),
        json!({"adjustments": [engineering], "validity": "sep"}),
        json!({"adjustments": [with(&engineering, json!({"approved_by": "me"}))], "validity": "sep"}),
        json!({"adjustments": [engineering], "reporting_period": null}),
        json!({"adjustments": [engineering], "method": "backcast"}),
        json!({"adjustments": [engineering], "method": "standard_conditions", "normal_year": [40, 60, 80]}),
        json!({"adjustments": [engineering], "period": ["2023-01-01", "2023-03-31"]}),
        json!({"adjustments": [engineering], "method": "auto"}),
    ] {
        all.push(project("events", with(&trended(), more)));
    }
    // Methods of whose rows not all are days of the reporting period.
    let earlier = with(
        &excluded,
        json!({"start": "2023-07-01", "end": "2023-07-20"}),
    );
    let forth = with(&event, json!({"start": "2024-10-05", "end": "2024-11-15"}));
    let exact = [
        json!({"method": "backcast", "kernel": "exact"}),
        json!({"method": "standard_conditions", "normal_year": normal}),
        json!({"method": "chaining", "period": ["2023-01-01", "2023-06-30"],
            "intermediate_period": ["2023-09-01", "2024-02-29"], "reporting_period": ["2024-07-01", "2024-12-29"]}),
    ];
    let guideline = [
        json!({"method": "backcast"}),
        json!({"method": "standard_conditions", "normal_year": normal, "kernel": "g14"}),
    ];
    for (methods, ledger) in [
        (&exact[..], json!([engineering])),
        (
            &exact[..],
            json!([with(
                &area,
                json!({"ratio_se": 0.02, "share_se": 0.1, "start": "2023-02-01"})
            )]),
        ),
        (&exact[..], json!([event])),
        (&exact[..], json!([before])),
        (&exact[..], json!([excluded])),
        (&exact[..], json!([earlier])),
        (&exact[..], json!([area, forth, engineering])),
        (
            &exact[..],
            json!([
                event,
                with(&event, json!({"start": "2024-09-01", "end": "2024-09-20"}))
            ]),
        ),
        (
            &exact[..],
            json!([
                before,
                with(&before, json!({"start": "2023-02-20", "end": "2023-03-19"}))
            ]),
        ),
        (&guideline[..], json!([area, event, engineering])),
        (&guideline[..], json!([before])),
        (&guideline[..], json!([earlier, engineering, event])),
        (&guideline[..], json!([with(&event, json!({"end": null}))])),
    ] {
        for method in methods {
            let entry = with(&trended(), method.clone());
            all.push(project(
                "events",
                with(&entry, json!({ "adjustments": ledger })),
            ));
        }
    }
    all.push(Project {
        sections: json!({"units": "ip"}),
        ..project(
            "events",
            with(
                &trended(),
                json!({"units": "kW", "adjustments": [engineering, event]}),
            ),
        )
    });
    all
}

fn frozen(folder: &Path) -> Vec<Project> {
    let event = |magnitude: &str, date: &str| json!({"rebaseline": {"events": [{"date": date, "description": "chiller", "magnitude": magnitude}]}});
    let factor = |value: f64| {
        json!({"rebaseline": {"static_factors": [
            {"factor": "area", "baseline_value": 100, "value": value, "date": "2024-06-01"}]}})
    };
    let mut all = Vec::new();
    for more in [
        json!({}),
        json!({"reporting_period": null}),
        json!({"reporting_period": ["2023-06-01", "2024-06-30"]}),
        json!({"method": null}),
        json!({"method": "backcast"}),
        json!({"method": "auto"}),
        json!({"kernel": "exact"}),
        json!({"period": ["2023-02-01", "2023-12-31"]}),
        event("major", "2024-07-01"),
        event("minor", "2024-07-01"),
        event("static", "2024-01-01"),
        event("major", "2023-12-01"),
        event("major", "2025-03-01"),
        factor(110.0),
        factor(104.0),
        json!({"rebaseline": {"max_achievement_months": 6}}),
        json!({"rebaseline": {"max_achievement_months": 11}}),
        json!({"ecm_dates": ["2024-01-15", "2024-01-16", "2024-05-01"], "rebaseline": {"ecm_gap_days": 300}}),
        json!({"adjustments": [{"kind": "nra", "method": "submeter", "start": "2024-07-05", "reason": "x", "amount": 500,
            "se": 50}]}),
    ] {
        all.push(Project {
            steps: vec![(trended(), vec!["freeze"])],
            ..project("calm", with(&trended(), more))
        });
    }
    // Steps of the meter itself.
    for (period, more) in [
        (["2023-01-01", "2023-12-31"], json!({})),
        (
            ["2023-01-01", "2023-12-31"],
            json!({"ecm_dates": ["2024-04-01"]}),
        ),
        (
            ["2023-01-01", "2023-12-31"],
            json!({"rebaseline": {"detect": false}}),
        ),
        (
            ["2023-01-01", "2023-12-31"],
            json!({"rebaseline": {"major_step_frac": 0.1}}),
        ),
        (["2023-01-01", "2023-10-31"], json!({})),
        (["2023-01-01", "2023-03-31"], json!({})),
    ] {
        let entry = with(&trended(), json!({ "period": period }));
        all.push(Project {
            steps: vec![(entry.clone(), vec!["freeze", "--allow-short"])],
            ..project("events", with(&entry, more))
        });
    }
    // A ledger that was recorded against the version.
    let specification = folder.join("ledger.json");
    std::fs::write(
        &specification,
        json!([{"kind": "nra", "method": "engineering", "start": "2024-07-05", "reason": "x", "amount": 1000, "se": 100,
            "evidence": "e"}])
        .to_string(),
    )
    .expect("a file");
    let specification: &'static str = specification.display().to_string().leak();
    let declared = with(&trended(), event("minor", "2024-07-01"));
    all.push(Project {
        steps: vec![
            (trended(), vec!["freeze"]),
            (
                declared.clone(),
                vec!["adjust", "--equip", "M1", "--spec", specification],
            ),
        ],
        ..project("calm", declared)
    });
    for more in [json!({}), json!({"base_f": "auto"})] {
        let entry = with(
            &json!({"bills": {"file": folder.join("both.csv")}, "oat": {"file": folder.join("oat.csv")},
                "period": ["2023-01-01", "2023-12-31"], "reporting_period": ["2024-01-01", "2024-12-31"],
                "method": "forecast"}),
            more,
        );
        all.push(Project {
            steps: vec![(entry.clone(), vec!["freeze", "--allow-short"])],
            ..project("calm", entry)
        });
    }
    all
}

/// The answer with marks for the sentences.
fn without_sentences(answer: &Value) -> Value {
    let mut answer = answer.clone();
    if let Some(rows) = answer
        .pointer_mut("/data/findings")
        .and_then(Value::as_array_mut)
    {
        for row in rows {
            let is_saving = row["rule"] == json!("mv_savings");
            for name in SENTENCES
                .iter()
                .filter(|name| !(is_saving && **name == "basis"))
            {
                if let Some(sentence) = row["metrics"].get_mut(*name) {
                    *sentence = json!(sentence.is_string());
                }
            }
        }
    }
    answer
}

fn ours(store: &Arc<TrendStore>, file: &Path, facility: &str) -> Value {
    let Ok(configs) = RunConfigs::read(&[file]) else {
        return json!({"error": "invalid_params"});
    };
    let workspace = Workspace::new(store.clone()).with_run_configs(configs);
    let watch = Watch::start(Duration::from_secs(300), CancellationToken::new());
    let registry = CapabilityRegistry::built_in().expect("a registry");
    let caller = CallerPolicy::of([facility]);
    let arguments = json!({ "facility_id": facility });
    match registry.call("mv_summary", arguments, &workspace, &caller, &watch) {
        Ok(answer) => json!({"error": null, "data": answer.data}),
        Err(error) => json!({"error": error.code.word()}),
    }
}

#[tokio::test]
async fn camber_and_we_tell_the_same_of_bills_ledgers_and_frozen_baselines() {
    let test = "camber_and_we_tell_the_same_of_bills";
    compare(test, |folder| {
        let mut projects = billed(folder);
        projects.extend(adjusted());
        projects.extend(frozen(folder));
        projects
    })
    .await;
}

/// Asks both sides of projects whose files lie in a folder.
pub async fn compare(test: &str, projects: impl FnOnce(&Path) -> Vec<Project>) {
    let Some(peers) = Peers::find(test) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("store");
    let run = |arguments: Vec<std::ffi::OsString>| {
        let mut python = peers.python("camber");
        python.arg(script("camber_mv_bills.py")).args(arguments);
        observe(python)
    };
    run(vec![
        "prepare".into(),
        root.clone().into(),
        folder.path().into(),
    ])
    .await;
    let projects = projects(folder.path());
    let write = |name: String, content: Value| {
        let file = folder.path().join(name);
        std::fs::write(&file, content.to_string()).expect("a file");
        file
    };
    let (mut asked, mut files, mut freezes) = (Vec::new(), Vec::new(), Vec::new());
    for (number, project) in projects.iter().enumerate() {
        let baselines = folder.path().join(format!("baselines-{number}.json"));
        for (place, (entry, arguments)) in project.steps.iter().enumerate() {
            let config = project.config(&root, entry, Some(&baselines));
            let config = write(format!("step-{number}-{place}.json"), config);
            freezes.push((config, baselines.clone(), arguments.clone(), place));
        }
        let stored = (!project.steps.is_empty()).then_some(baselines.as_path());
        let config = project.config(&root, &project.entry, stored);
        let file = write(format!("project-{number}.json"), config);
        asked.push(json!({"facility": project.facility, "config": file}));
        files.push(file);
    }
    for place in 0..2 {
        let steps: Vec<Value> = freezes
            .iter()
            .filter(|step| step.3 == place)
            .map(|(config, baselines, arguments, _)| {
                json!({"config": config, "store": baselines, "steps": [arguments], "keep": place > 0})
            })
            .collect();
        let file = write(format!("freeze-{place}.json"), json!(steps));
        run(vec!["freeze".into(), file.into()]).await;
    }
    let requests = write("requests.json".to_owned(), json!(asked));
    let answered = run(vec!["run".into(), root.clone().into(), requests.into()]).await;
    let theirs = answered["answers"].as_array().expect("answers");
    assert_eq!(theirs.len(), projects.len());
    let store = Arc::new(TrendStore::open(&root).expect("a store"));
    let mut told = Vec::new();
    for ((project, file), their) in projects.iter().zip(&files).zip(theirs) {
        let our = without_sentences(&ours(&store, file, project.facility));
        let place = format!(
            "{} {} {}",
            project.facility, project.entry, project.sections
        );
        let found = differences(&our, &without_sentences(their));
        if !found.is_empty() {
            told.push(format!("{place}\n    {}", found.join("\n    ")));
        }
    }
    assert!(
        told.is_empty(),
        "{} of {} projects differ:\n{}",
        told.len(),
        projects.len(),
        told.join("\n")
    );
}
