//! What each of the thirteen capabilities is asked.

use std::path::Path;
use std::process::Command;

use niagara_bridge::trends::store::{FacilityId, TrendStore};
use serde_json::{Map, Value, json};

use super::projects::{METERS, every_rule, halves, meters_config, write_meters};
use super::{Case, script};
use crate::building::Campus;
use crate::task::{Task, observed};

/// 8 air handlers with six boxes each, hourly over three weeks.
const FLEET: &str = "synthetic-g36-vav-fleet";

/// Boxes, air handlers, plants and heat pumps, every quarter of an hour.
const CAMPUS: Campus = Campus {
    equipment: 50,
    days: 56,
};

/// Sentences of a draft, of which each tenth tells a wrong figure.
const SENTENCES: usize = 400;

const LONG: usize = 3;
const SHORT: usize = 7;
/// Of calls that read no trends.
const CHEAP: usize = 51;

/// The store that all ask, and what they ask.
pub fn all(python: &Path, folder: &Path) -> Vec<Case> {
    let path = folder.join("store");
    let mut prepare = Command::new(python);
    prepare
        .arg(script())
        .arg("prepare")
        .args([&path, &folder.join("cache"), Path::new(FLEET)]);
    observed(prepare).expect("the data set");
    let store = TrendStore::open(&path).expect("a store");
    write_meters(&store);
    CAMPUS.write(&store);
    let asked = Asked {
        fleet: format!("ds-{FLEET}"),
        campus: CAMPUS.facility().as_str().to_owned(),
        store,
    };
    let mut cases = asked.stored();
    cases.extend(asked.judged(folder));
    cases.extend(asked.told());
    cases
}

struct Asked {
    store: TrendStore,
    fleet: String,
    campus: String,
}

impl Asked {
    fn case(&self, capability: &str, arguments: Value, rounds: usize) -> Case {
        Case {
            of: "",
            least_ratio: 100.0,
            found: "",
            same: |_| Value::Null,
            task: Task {
                store: self.store.root().to_owned(),
                facilities: vec![self.fleet.clone(), self.campus.clone(), METERS.to_owned()],
                config: None,
                capability: capability.to_owned(),
                arguments,
                rounds,
            },
            whole: Value::Null,
        }
    }

    fn configured(&self, capability: &str, arguments: Value, config: &Path) -> Case {
        let mut case = self.case(capability, arguments, LONG);
        case.task.config = Some(config.to_owned());
        case
    }

    /// What is stored, and how well.
    fn stored(&self) -> Vec<Case> {
        let of_campus = json!({"facility_id": self.campus});
        let of_fleet = json!({"facility_id": self.fleet});
        vec![
            Case {
                of: "three facilities",
                found: "facilities",
                same: |data| data["count"].clone(),
                whole: json!({"limit": 1000}),
                ..self.case("facilities", json!({}), SHORT)
            },
            Case {
                of: "51 equipment",
                found: "points",
                same: |data| data["count"].clone(),
                whole: json!({"limit": 1000}),
                ..self.case("points", of_campus.clone(), SHORT)
            },
            Case {
                of: "51 equipment, two months of quarter-hours",
                found: "points, coverage",
                same: |data| json!([data["n_points"], data["coverage"]]),
                whole: json!({"limit": 1000}),
                ..self.case("coverage", of_campus, LONG)
            },
            Case {
                of: "56 equipment",
                found: "points, verdicts",
                same: |data| json!([data["n_points"], data["counts"]]),
                whole: json!({"limit": 1000}),
                ..self.case("sensor_trust", of_fleet, SHORT)
            },
        ]
    }

    /// What runs over it find.
    fn judged(&self, folder: &Path) -> Vec<Case> {
        let rules = every_rule(&self.store, FLEET, false, folder);
        let related = every_rule(&self.store, FLEET, true, folder);
        let meters = meters_config(&self.store, folder);
        let of_fleet = |more: Value| {
            let mut arguments = more;
            arguments["facility_id"] = json!(self.fleet);
            arguments
        };
        let halves_of = |facility: &FacilityId| {
            let (baseline, current) = halves(&self.store, facility);
            json!({"facility_id": facility.as_str(), "baseline": baseline, "current": current})
        };
        let drift = |of: &'static str, facility: &FacilityId| Case {
            of,
            found: "families, findings, not evaluated",
            same: |data| {
                json!([
                    rows(&data["families"]),
                    total(&data["counts"]),
                    of_families(&data["unevaluated"])
                ])
            },
            whole: json!({"limit": 1000}),
            ..self.case("drift", halves_of(facility), LONG)
        };
        vec![
            Case {
                of: "56 equipment, all rules",
                least_ratio: 300.0,
                found: "findings",
                same: |data| total(&data["counts"]),
                whole: json!({"limit": 1000}),
                ..self.configured("rule_run", of_fleet(json!({"min_severity": "ok"})), &rules)
            },
            Case {
                of: "one of 56 equipment",
                found: "severity, spans",
                same: |data| json!([data["finding"]["severity"], data["violations"]["n_spans"]]),
                ..self.configured(
                    "finding_detail",
                    of_fleet(json!({"finding_id": "airflow_tracking@VAV1__not_responding"})),
                    &rules,
                )
            },
            drift(
                "56 equipment",
                &FacilityId::parse(&self.fleet).expect("an id"),
            ),
            drift(
                "51 equipment, two months of quarter-hours",
                &CAMPUS.facility(),
            ),
            Case {
                of: "20 meters by three methods and six accounts",
                found: "results",
                same: |data| data["kinds"].clone(),
                ..self.configured("mv_summary", json!({"facility_id": METERS}), &meters)
            },
            Case {
                of: "56 equipment, all rules along the topology",
                found: "issues, with costs",
                same: |data| json!([data["kpis"]["n_issues"], data["kpis"]["n_costed"]]),
                whole: json!({"limit": 1000, "top_n": 50}),
                ..self.configured("rcx_report", of_fleet(json!({})), &related)
            },
        ]
    }

    /// What needs no trends.
    fn told(&self) -> Vec<Case> {
        vec![
            Case {
                of: "the catalogue",
                found: "data sets",
                same: |data| data["count"].clone(),
                ..self.case("dataset_search", json!({}), CHEAP)
            },
            Case {
                found: "data set",
                same: |data| data["id"].clone(),
                ..self.case("dataset_entry", json!({"dataset_id": FLEET}), CHEAP)
            },
            Case {
                of: "all rules and detectors",
                found: "rules",
                same: |data| data["count"].clone(),
                whole: json!({"limit": 1000}),
                ..self.case("rule_params", json!({"detail": true}), CHEAP)
            },
            Case {
                of: "a draft",
                found: "sentences, supported",
                same: |data| json!([data["n_sentences"], data["n_supported"]]),
                whole: json!({"limit": 1000, "detail": true}),
                ..self.case("check_citations", draft(), CHEAP)
            },
        ]
    }
}

/// Rows of the equipment that a family was asked of: we list the others too.
fn of_families(list: &Value) -> Value {
    let rows = list.as_array().into_iter().flatten();
    rows.filter(|row| row["family"] != json!("none"))
        .count()
        .into()
}

fn rows(list: &Value) -> Value {
    list.as_array().map(Vec::len).into()
}

/// How many findings there are of all severities: a check may decline on one side only.
fn total(counts: &Value) -> Value {
    let counts = counts.as_object().map(Map::values);
    counts
        .map(|counts| counts.filter_map(Value::as_u64).sum::<u64>())
        .into()
}

fn draft() -> Value {
    let hours = |number: usize| number as f64 + 0.5;
    let facts: Vec<Value> = (1..=SENTENCES)
        .map(|number| {
            json!({"id": format!("F{number}@rule_run-1a2b3c"), "value": hours(number),
                "text": format!("AHU-{number} ran {} hours", hours(number))})
        })
        .collect();
    let sentences: Vec<String> = (1..=SENTENCES)
        .map(|number| {
            let told = if number % 10 == 0 {
                2 * number + 1
            } else {
                number
            };
            format!(
                "AHU-{number} ran {} hours [F{number}@rule_run-1a2b3c].",
                hours(told)
            )
        })
        .collect();
    json!({"text": sentences.join(" "), "facts": facts})
}
