//! CAMBER 0.110 and we tell the same of a finding: its figures, its parameters, its chart, and the hours that its rule flags.
//!
//! The reference flags samples for some rules alone, and its share is of the whole window; that every rule judges its own
//! samples, and states their share, is what `camber-capabilities.txt` demands in lines 101 and 194 to 201. So hours, samples and
//! spans are compared where the reference has them, and what the newer document changes of them is in [`LISTED`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use niagara_bridge::camber::run_config::RunConfigs;
use niagara_bridge::camber::{CallerPolicy, CapabilityRegistry, Watch, Workspace};
use niagara_bridge::trends::store::TrendStore;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::camber_rules::{self, our_rules, prepare, same, whole_config};
use crate::programs::{Peers, observe, script};

/// What differs on purpose: the rule (`*` for every one), what of the answer, and why, with the lines of
/// `camber-capabilities.txt` that demand it.
const LISTED: [(&str, &str, &str); 6] = [
    (
        "free_cooling_missed",
        "n_spans",
        "lines 194-195: a gap of more than one and a half intervals ends a span; the reference joins flagged samples of several days",
    ),
    (
        "free_cooling_missed",
        "spans",
        "as n_spans; their hours and samples are the same",
    ),
    (
        "outdoor_air_fraction",
        "n_spans",
        "lines 194-195, as of free_cooling_missed",
    ),
    ("outdoor_air_fraction", "spans", "as n_spans"),
    (
        "supply_air_reset",
        "sp_levels_f",
        "levels that are held equally often come in no certain order in the reference, whose sort is not stable",
    ),
    (
        "static_pressure_reset",
        "sp_levels_inwc",
        "as sp_levels_f of supply_air_reset",
    ),
];

/// Figures within figures that are sentences of either side's own.
const OWN_WORDS: [&str; 1] = ["description"];

/// The findings of a facility in full.
struct Ours {
    workspace: Workspace,
    registry: CapabilityRegistry,
    caller: CallerPolicy,
    facility: String,
}

impl Ours {
    fn of(store: &Arc<TrendStore>, facility: &str, config: &Path) -> Self {
        let configs = RunConfigs::read(&[config.to_owned()]).expect("a configuration");
        let mut caller = CallerPolicy::of([facility]);
        caller.min_trust = 0.0;
        caller.caps.max_bytes = 200_000_000;
        Self {
            workspace: Workspace::new(store.clone()).with_run_configs(configs),
            registry: CapabilityRegistry::built_in().expect("a registry"),
            caller,
            facility: facility.to_owned(),
        }
    }

    fn call(&self, name: &str, mut arguments: Map<String, Value>) -> Map<String, Value> {
        arguments.insert("facility_id".to_owned(), json!(self.facility));
        let watch = Watch::start(Duration::from_secs(300), CancellationToken::new());
        let answer = self.registry.call(
            name,
            Value::Object(arguments),
            &self.workspace,
            &self.caller,
            &watch,
        );
        answer
            .unwrap_or_else(|error| panic!("{}: {}", self.facility, error.message))
            .data
    }

    /// The worst and the last finding of every rule, with the arguments that make its run a small one.
    fn asked(&self) -> Vec<(String, Map<String, Value>)> {
        let whole = [("min_severity", json!("ok")), ("limit", json!(1000))];
        let run = self.call(
            "rule_run",
            Map::from_iter(whole.map(|(key, value)| (key.to_owned(), value))),
        );
        let rows = run["findings"].as_array().expect("findings");
        assert!(rows.len() < 1000, "{}: several pages", self.facility);
        let mut of_rule: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
        for row in rows {
            let rule = row["rule"].as_str().expect("a rule");
            of_rule.entry(rule).or_default().push(row);
        }
        let mut asked = Vec::new();
        for (rule, rows) in of_rule {
            let mut chosen: Vec<&Value> = rows
                .first()
                .into_iter()
                .chain(rows.last())
                .copied()
                .collect();
            chosen.dedup();
            for row in chosen {
                let mut arguments = Map::from_iter([("rules".to_owned(), json!([rule]))]);
                let equip = row["equip"].as_str().expect("an equipment");
                if !matches!(equip, "<fleet>" | "fleet") {
                    arguments.insert("equips".to_owned(), json!([equip]));
                }
                let id = row["finding_id"].as_str().expect("an id");
                asked.push((id.to_owned(), arguments));
            }
        }
        asked
    }
}

/// What became of the findings of one rule.
#[derive(Default)]
struct Tally {
    equal: usize,
    /// Findings whose flagged hours both tell, and those whose hours only we tell.
    hours: usize,
    hours_only_here: usize,
    different: Vec<String>,
}

impl Tally {
    fn add(&mut self, place: &str, rule: &str, our: &Map<String, Value>, their: &Value) {
        let mut found = differences(our, their);
        let listed = LISTED.iter().chain(&camber_rules::LISTED);
        let listed: Vec<&str> = listed
            .filter(|(of, _, _)| *of == "*" || *of == rule)
            .map(|(_, what, _)| *what)
            .collect();
        found.retain(|(what, _)| !listed.contains(&what.as_str()));
        match (our["violations"].is_null(), their["violations"].is_null()) {
            (false, false) => self.hours += 1,
            (false, true) => self.hours_only_here += 1,
            _ => {}
        }
        if found.is_empty() {
            self.equal += 1;
            return;
        }
        let told: Vec<String> = found
            .into_iter()
            .map(|(what, told)| format!("{what}: {told}"))
            .collect();
        self.different.push(format!("{place}: {}", told.join("; ")));
    }
}

/// What of the answer differs, and how.
fn differences(our: &Map<String, Value>, their: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut compare = |what: &str, one: &Value, other: &Value| {
        if !alike(what, one, other) {
            found.push((what.to_owned(), format!("{one} against {other}")));
        }
    };
    let empty = Map::new();
    let [metrics, their_metrics] =
        [&our["metrics"], &their["metrics"]].map(|metrics| metrics.as_object().unwrap_or(&empty));
    let names: BTreeSet<&String> = metrics.keys().chain(their_metrics.keys()).collect();
    for name in names {
        let none = json!("(none)");
        compare(
            name,
            metrics.get(name).unwrap_or(&none),
            their_metrics.get(name).unwrap_or(&none),
        );
    }
    let parameters = |list: &Value| -> Value {
        let rows = list.as_array().into_iter().flatten();
        rows.map(|row| json!([row["name"], row["value"], row["default"], row["overridden"]]))
            .collect()
    };
    compare(
        "parameters",
        &parameters(&our["parameters"]),
        &parameters(&their["parameters"]),
    );
    let [chart, their_chart] = [&our["chart"], &their["chart"]];
    compare("renderer", &chart["renderer"], &their_chart["renderer"]);
    // A scatter of the reference names no roles; ours names the pair that it is of, so that a client can draw it.
    if their_chart["renderer"] != json!("diagnostic") {
        compare("roles", &chart["roles"], &their_chart["roles"]);
    }
    hours(&our["violations"], &their["violations"], "", &mut compare);
    let by_name = |conditions: &Value| -> BTreeMap<String, Value> {
        let rows = conditions.as_array().into_iter().flatten();
        rows.map(|row| {
            (
                row["name"].as_str().unwrap_or_default().to_owned(),
                row.clone(),
            )
        })
        .collect()
    };
    let ours = by_name(&our["conditions"]);
    // A condition that judged nothing is not listed here: lines 197 to 201 speak of those that are judged.
    for (name, condition) in by_name(&their["conditions"]) {
        hours(
            ours.get(&name).unwrap_or(&Value::Null),
            &condition,
            &format!("{name}: "),
            &mut compare,
        );
    }
    found
}

/// Compares flagged hours, where the reference tells them; ours without any are none.
fn hours(our: &Value, their: &Value, of: &str, compare: &mut dyn FnMut(&str, &Value, &Value)) {
    if their.is_null() {
        return;
    }
    let none = json!({"hours": 0.0, "samples": 0, "n_spans": 0, "spans": []});
    let our = match our.is_null() {
        true => &none,
        false => our,
    };
    for what in ["hours", "samples", "n_spans", "spans"] {
        compare(&format!("{of}{what}"), &our[what], &their[what]);
    }
}

/// Equal but for the last digits of numbers, at any depth.
fn alike(name: &str, one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| {
                    other.get(key).is_some_and(|other| alike(key, value, other))
                })
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| alike(name, one, other))
        }
        (Value::String(_), Value::String(_)) if OWN_WORDS.contains(&name) => true,
        _ => same(name, one, other),
    }
}

#[tokio::test]
async fn camber_and_we_tell_the_same_of_a_finding() {
    let Some(peers) = Peers::find("camber_and_we_tell_the_same_of_a_finding") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    let facilities = prepare(&peers, &path, &folder.path().join("cache"), 0).await;
    let store = Arc::new(TrendStore::open(&path).expect("a store"));
    let rules = our_rules();
    let mut runs = Vec::new();
    for facility in facilities.iter().filter(|id| id.starts_with("ds-")) {
        let file = folder.path().join(format!("{facility}.json"));
        let config = whole_config(&store, &path, facility, &rules);
        std::fs::write(&file, config.to_string()).expect("a file");
        let ours = Ours::of(&store, facility, &file);
        let asked = ours.asked();
        runs.push((ours, file, asked));
    }
    assert_eq!(runs.len(), 10);
    let asked: Vec<Value> = runs
        .iter()
        .map(|(ours, file, asked)| json!({"facility": ours.facility, "config": file, "asked": asked}))
        .collect();
    let requests = folder.path().join("details.json");
    std::fs::write(&requests, json!({"runs": asked}).to_string()).expect("a file");
    let mut python = peers.python("camber");
    python
        .arg(script("camber_details.py"))
        .args([&path, &peers.results(), &requests]);
    let answered = observe(python).await;
    let answers = answered["answers"].as_array().expect("answers");

    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    for ((ours, _, asked), theirs) in runs.iter().zip(answers) {
        for ((id, arguments), their) in asked.iter().zip(theirs.as_array().expect("answers")) {
            let mut arguments = arguments.clone();
            arguments.insert("finding_id".to_owned(), json!(id));
            let our = ours.call("finding_detail", arguments);
            let place = format!("{} {id}", ours.facility);
            let rule = id.split('@').next().unwrap_or(id);
            tallies
                .entry(rule.to_owned())
                .or_default()
                .add(&place, rule, &our, their);
        }
    }
    report(&tallies, rules.len());
}

fn report(tallies: &BTreeMap<String, Tally>, rules: usize) {
    for (rule, what, reason) in LISTED.iter().chain(&camber_rules::LISTED) {
        println!("not compared: {what} of {rule}: {reason}");
    }
    println!(
        "{:32} {:>6} {:>9} {:>11} {:>16}",
        "rule", "equal", "different", "same hours", "hours only here"
    );
    for (rule, tally) in tallies {
        println!(
            "{rule:32} {:>6} {:>9} {:>11} {:>16}",
            tally.equal,
            tally.different.len(),
            tally.hours,
            tally.hours_only_here
        );
    }
    println!("{} of {rules} rules have a finding", tallies.len());
    let different: Vec<&str> = tallies
        .values()
        .flat_map(|tally| tally.different.iter().map(String::as_str))
        .collect();
    assert!(
        different.is_empty(),
        "{} differences:\n{}",
        different.len(),
        different.join("\n")
    );
}
