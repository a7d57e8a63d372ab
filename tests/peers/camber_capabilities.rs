//! CAMBER 0.110 and we answer the same calls over the same store, value by value.
//!
//! What the newer document demands otherwise is listed in [`Difference`] with the line of `camber-capabilities.txt`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use niagara_bridge::camber::rule_catalogue::RuleCatalogue;
use niagara_bridge::camber::{
    CallerPolicy, CapabilityRegistry, CapabilityResult, Watch, Workspace,
};
use niagara_bridge::trends::store::TrendStore;
use serde_json::{Map, Value, json};
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use crate::programs::{Peers, observe, script};

/// Texts of the catalogues are worded by this project.
const OWN_WORDS: [&str; 16] = [
    "title",
    "summary",
    "equipment",
    "good_for",
    "notice",
    "timezone",
    "known_issues",
    "note",
    "citation",
    "publisher",
    "access_reason",
    "unit",
    "basis",
    "calibrate",
    "fixed_in_code",
    "passed_to",
];

/// Keys that the reference does not have yet, each with the line that demands it.
const NEW_KEYS: [(&str, u32); 3] = [
    ("withheld_unverified", 254),
    ("run_with", 122),
    ("counts", 126),
];

/// Lists of at most so many gaps in the reference, which has no pages.
const GAPS: usize = 500;

/// How an answer of ours differs from that of the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Difference {
    None,
    /// Line 177: a selection that matches nothing is not found.
    NotFound,
}

struct Request {
    name: &'static str,
    arguments: Value,
    difference: Difference,
}

fn request(name: &'static str, arguments: Value) -> Request {
    Request {
        name,
        arguments,
        difference: Difference::None,
    }
}

fn requests(facilities: &[String], datasets: &[String]) -> Vec<Request> {
    let mut all = vec![
        request("facilities", json!({})),
        request("points", json!({"facility_id": "hq", "role": "oat"})),
        request(
            "points",
            json!({"facility_id": "hq", "equip": "AHU-1", "equip_class": "AHU"}),
        ),
        request(
            "points",
            json!({"facility_id": "hq", "equip": "W", "role": "co2"}),
        ),
        request("points", json!({"facility_id": "elsewhere"})),
    ];
    for (key, value) in [
        ("equip", "AHU-9"),
        ("role", "no_role"),
        ("equip_class", "ahu"),
    ] {
        all.push(Request {
            name: "points",
            arguments: json!({"facility_id": "hq", key: value}),
            difference: Difference::NotFound,
        });
    }
    for facility in facilities {
        for name in ["points", "coverage"] {
            all.push(request(name, json!({"facility_id": facility})));
        }
    }
    for more in [
        json!({"start": "2024-02-26"}),
        json!({"end": "2024-02-27T05:30"}),
        json!({"start": "2024-02-24", "end": "2024-03-02 12:00:30"}),
        json!({"roles": ["oat"], "min_gap_hours": 1.5}),
        json!({"equips": ["AHU 2", "W", "Büro/4 \"x\""], "group_by": "equip"}),
        json!({"start": "2025-01-01", "end": "2025-01-03"}),
        json!({"end": "2020-01-01"}),
        json!({"equips": ["AHU-1"], "roles": ["co2"]}),
        json!({"start": "2024-03-02", "end": "2024-03-01"}),
    ] {
        let mut arguments = more;
        arguments["facility_id"] = json!("hq");
        all.push(request("coverage", arguments));
    }
    for more in [
        json!({}),
        json!({"kind": "lab"}),
        json!({"labeled": true}),
        json!({"licence": "commercial"}),
    ] {
        all.push(request("dataset_search", more));
    }
    for id in
        datasets
            .iter()
            .map(String::as_str)
            .chain(["bdg2", "at-30bldg-sensors", "no-such-set"])
    {
        all.push(request("dataset_entry", json!({"dataset_id": id})));
    }
    let names = RuleCatalogue::shipped().names();
    for more in [
        json!({"rules": names}),
        json!({"rules": names, "detail": false}),
        json!({"query": "dcv"}),
        json!({"query": "pump dp"}),
        json!({"rules": ["actuator_stuck"], "query": "chiller"}),
        json!({"rules": ["no_rule"]}),
    ] {
        all.push(request("rule_params", more));
    }
    all.extend(citations());
    all
}

fn citations() -> Vec<Request> {
    let facts = json!([
        {"id": "F1@a-111111", "text": "AHU-1 ran 12.5 hours at 95%", "value": 12.5, "metrics": {"n": 3, "ok": true}},
        {"id": "F2@b", "text": "savings of $2,897", "value": 2897, "small": 1e-5, "large": 1.5e16, "list": [1, 2.0, null]},
    ]);
    let texts = [
        "AHU-1 ran 12.5 hours [F1@a-111111]. It ran 12.50 h at 95 % [F1@a-111111]. It ran 13 hours [F1@a-111111]. \
         Savings were 2897 dollars [F2@b]. No cite here. Bad [F9@z] cite. Three faults 3 [F1@a-111111].",
        "AHU-1 ran [F9@z] 12.5 hours [F1@a-111111] .  It  saved 2,897 [F2@b]!",
        "x. [F1@a-111111] Mr. X ran 5.16? Yes…",
        "Value is true 1 [F1@a-111111].",
        "Small 05 and 16 and 1.5 and 2 and None [F2@b].",
        " \u{1c}\n ",
        "9 and ٣ and ½ at VAV-2-10, 2024-03-01T06:00 [F2@b].",
    ];
    let mut all = Vec::new();
    for text in texts {
        for per_sentence in [true, false] {
            all.push(request(
                "check_citations",
                json!({"text": text, "facts": facts, "per_sentence": per_sentence}),
            ));
        }
    }
    let twice = json!([{"id": "F1", "text": "1"}, {"id": "F1", "text": "2"}]);
    all.push(request(
        "check_citations",
        json!({"text": "x", "facts": twice}),
    ));
    all
}

/// Our arguments: whole lists, where the reference has no pages.
fn ours(request: &Request) -> Value {
    let mut arguments = request.arguments.clone();
    if matches!(
        request.name,
        "facilities" | "points" | "coverage" | "rule_params" | "check_citations"
    ) {
        arguments["limit"] = json!(1000);
    }
    if request.name == "check_citations" {
        arguments["detail"] = json!(true);
    }
    arguments
}

/// The value without what is worded by this project, and with ids of facts without their token.
fn comparable(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter(|(key, _)| {
                !OWN_WORDS.contains(&key.as_str()) && !NEW_KEYS.iter().any(|(new, _)| new == key)
            });
            Value::Object(
                kept.map(|(key, value)| (key.clone(), comparable(value)))
                    .collect(),
            )
        }
        Value::Array(items) => items.iter().map(comparable).collect(),
        // 3 and 3.0 are one number.
        Value::Number(number) => json!(number.as_f64()),
        other => other.clone(),
    }
}

fn figures(facts: &[Map<String, Value>]) -> Vec<(Value, Value)> {
    let figure = |fact: &Map<String, Value>| {
        let value = fact.get("value").cloned().unwrap_or_default();
        (
            fact.get("kind").cloned().unwrap_or_default(),
            comparable(&value),
        )
    };
    facts.iter().map(figure).collect()
}

fn judge(
    request: &Request,
    our: Result<CapabilityResult, String>,
    their: &Value,
) -> Option<String> {
    let place = format!("{} {}", request.name, request.arguments);
    let our = match (our, their.get("error").and_then(Value::as_str)) {
        (Err(code), Some(other)) => {
            return (code != other).then(|| format!("{place}: {code} against {other}"));
        }
        (Err(code), None) if request.difference == Difference::NotFound && code == "not_found" => {
            return None;
        }
        (Err(code), None) => return Some(format!("{place}: {code} against an answer")),
        (Ok(_), Some(other)) => return Some(format!("{place}: an answer against {other}")),
        (Ok(our), None) => our,
    };
    if request.difference != Difference::None {
        return Some(format!(
            "{place}: an answer where the document demands not_found"
        ));
    }
    let mut data = our.data.clone();
    if let Some(Value::Array(gaps)) = data.get_mut("gaps") {
        gaps.truncate(GAPS);
    }
    let (one, other) = (comparable(&Value::Object(data)), comparable(&their["data"]));
    if one != other {
        return Some(format!("{place}: {}", first_difference(&one, &other, "")));
    }
    let facts: Vec<Map<String, Value>> =
        serde_json::from_value(their["facts"].clone()).expect("facts");
    let (one, other) = (figures(&our.facts), figures(&facts));
    (one != other).then(|| format!("{place}: facts {one:?} against {other:?}"))
}

fn first_difference(one: &Value, other: &Value, place: &str) -> String {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys()) {
                let (one, other) = (a.get(key), b.get(key));
                if one != other {
                    let none = Value::from("(none)");
                    return first_difference(
                        one.unwrap_or(&none),
                        other.unwrap_or(&none),
                        &format!("{place}/{key}"),
                    );
                }
            }
            place.to_owned()
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let differs = a
                .iter()
                .zip(b)
                .enumerate()
                .find(|(_, (one, other))| one != other);
            differs.map_or_else(String::new, |(at, (one, other))| {
                first_difference(one, other, &format!("{place}/{at}"))
            })
        }
        _ => format!("{place}: ours {one}, theirs {other}"),
    }
}

async fn camber(peers: &Peers, arguments: &[&Path]) -> Value {
    let mut python: Command = peers.python("camber");
    python.arg(script("camber_capabilities.py")).args(arguments);
    observe(python).await
}

fn strings(value: &Value) -> Vec<String> {
    serde_json::from_value(value.clone()).expect("texts")
}

#[tokio::test]
async fn camber_and_we_answer_the_same() {
    let Some(peers) = Peers::find("camber_and_we_answer_the_same") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (store, cache) = (folder.path().join("store"), folder.path().join("cache"));
    let made = camber(&peers, &[Path::new("prepare"), &store, &cache]).await;
    let facilities = strings(&made["facilities"]);
    let datasets = strings(&made["datasets"]);
    assert_eq!(datasets.len(), 10, "{datasets:?}");
    let requests = requests(&facilities, &datasets);
    let mut allowed = facilities.clone();
    allowed.push("elsewhere".to_owned());
    let asked: Vec<Value> = requests
        .iter()
        .map(|request| json!([request.name, request.arguments, allowed]))
        .collect();
    let file = folder.path().join("requests.json");
    std::fs::write(&file, Value::from(asked).to_string()).expect("a file");
    let theirs = camber(&peers, &[Path::new("answer"), &store, &file]).await;
    let theirs = theirs["answers"].as_array().expect("answers");

    let registry = CapabilityRegistry::built_in().expect("a registry");
    let workspace = Workspace::new(Arc::new(TrendStore::open(&store).expect("a store")));
    let caller = CallerPolicy::of(allowed);
    let mut differences = Vec::new();
    for (request, their) in requests.iter().zip(theirs) {
        let watch = Watch::start(Duration::from_secs(60), CancellationToken::new());
        let our = registry
            .call(request.name, ours(request), &workspace, &caller, &watch)
            .map_err(|error| error.code.word().to_owned());
        differences.extend(judge(request, our, their));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
