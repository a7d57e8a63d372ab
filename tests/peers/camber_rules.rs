//! CAMBER 0.110 and we find the same with the same rules: ids, severities, figures, skips.
//!
//! Every data set that the reference generates without a network runs with a configuration that names every class and rule,
//! and with its packaged one; seeded variations run without a configuration. All run twice:
//!
//! - **without a trust floor**, where nothing may differ but what [`LISTED`] names;
//! - **with the usual floor**, where a check may decline on one side only: each such check is listed with the lines of
//!   `camber-capabilities.txt` that demand it and the scores that explain it ([`super::camber_trust_gates`]). What neither side
//!   declines must be equal. A rule of fleets leaves such equipment out: over the equipment that the reference kept, we find
//!   what it finds.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use niagara_bridge::camber::run_config::RunConfigs;
use niagara_bridge::camber::{CallerPolicy, CapabilityRegistry, Watch, Workspace};
use niagara_bridge::trends::store::{FacilityId, TrendStore};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::camber_trust_gates::TrustGates;
use crate::programs::{Peers, observe, script};

/// Variations in every run, and all of them.
const USUAL: usize = 40;
const ALL: usize = 200;

/// Figures are equal to this share, or to the last digit that is shown.
const TOLERANCE: f64 = 1e-6;

/// Figures that the reference words as a sentence, and we in our own words: every number in it must stand in ours too.
const SENTENCES: [&str; 4] = [
    "reason",
    "oa_cost_declined",
    "oa_damper_min_source",
    "oa_cost_heat_basis",
];

/// What differs on purpose: the rule, the figure (`*` for all), and why.
pub const LISTED: [(&str, &str, &str); 1] = [(
    "zones_heat_cool_census",
    "timeofweek_profile",
    "a table that the reference hands out as the text form of a data frame; here its columns are lists, which only \
     finding_detail shows",
)];

/// Facilities whose whole run the reference refuses for a fault of its own, and why.
const REFUSED_THERE: [(&str, &str); 2] = [("v-032", NARROW_TREND), ("v-163", NARROW_TREND)];

const NARROW_TREND: &str = "a trend spans a few of the smallest steps of its numbers, and the histogram of the reference cannot divide that by 256";

/// What a run answered: findings by id, and skips.
#[derive(Default)]
struct Outcome {
    error: Option<String>,
    findings: BTreeMap<String, Value>,
    skips: BTreeSet<String>,
}

impl Outcome {
    fn of(error: Option<String>, findings: &Value, skips: &Value) -> Self {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        Self {
            error,
            findings: list(findings)
                .into_iter()
                .map(|row| (row["finding_id"].as_str().expect("an id").to_owned(), row))
                .collect(),
            skips: list(skips)
                .iter()
                .map(|skip| {
                    let [rule, equip, reason] =
                        ["rule", "equip", "reason"].map(|key| skip[key].as_str().expect("a text"));
                    format!("{rule} at {equip:?}: {reason} {}", skip["missing"])
                })
                .collect(),
        }
    }
}

/// One run on both sides.
#[derive(Clone)]
struct Run {
    facility: String,
    config: Option<Value>,
    kind: &'static str,
    floor: f64,
    arguments: Map<String, Value>,
}

impl Run {
    fn place(&self) -> String {
        format!("{} ({}, floor {})", self.facility, self.kind, self.floor)
    }

    fn row(&self) -> String {
        match self.facility.strip_prefix("ds-") {
            Some(set) => format!("{set} ({})", self.kind),
            None => "seeded variations".to_owned(),
        }
    }
}

/// Ours, page by page.
fn ours(store: &Arc<TrendStore>, folder: &Path, rules: &[String], run: &Run) -> Outcome {
    let mut workspace = Workspace::new(store.clone());
    let mut arguments = run.arguments.clone();
    match &run.config {
        Some(config) => {
            let file = folder.join("ours.json");
            std::fs::write(&file, config.to_string()).expect("a file");
            let configs = RunConfigs::read(&[file]).expect("a configuration");
            workspace = workspace.with_run_configs(configs);
        }
        None => {
            arguments.insert("rules".to_owned(), json!(rules));
        }
    }
    arguments.insert("facility_id".to_owned(), json!(run.facility));
    arguments.insert("min_severity".to_owned(), json!("ok"));
    arguments.insert("limit".to_owned(), json!(1000));
    let registry = CapabilityRegistry::built_in().expect("a registry");
    let mut caller = CallerPolicy::of([run.facility.clone()]);
    caller.min_trust = run.floor;
    caller.caps.max_bytes = 200_000_000;
    let (mut findings, mut skips) = (Vec::new(), Vec::new());
    loop {
        arguments.insert("offset".to_owned(), json!(findings.len().max(skips.len())));
        let watch = Watch::start(Duration::from_secs(300), CancellationToken::new());
        let answer = registry.call(
            "rule_run",
            Value::Object(arguments.clone()),
            &workspace,
            &caller,
            &watch,
        );
        let data = match answer {
            Ok(answer) => answer.data,
            Err(error) => {
                return Outcome::of(Some(error.code.word().to_owned()), &json!([]), &json!([]));
            }
        };
        let page = |key: &str| data[key].as_array().cloned().unwrap_or_default();
        let (more, skipped) = (page("findings"), page("skipped"));
        let is_last = more.len() < 1000 && skipped.len() < 1000;
        findings.extend(more);
        skips.extend(skipped);
        if is_last {
            return Outcome::of(None, &json!(findings), &json!(skips));
        }
    }
}

async fn theirs(
    peers: &Peers,
    store: &Path,
    folder: &Path,
    rules: &[String],
    runs: &[Run],
) -> Vec<Outcome> {
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
    let requests = folder.join("rules.json");
    std::fs::write(
        &requests,
        json!({"rules": rules, "runs": asked}).to_string(),
    )
    .expect("a file");
    let mut python = peers.python("camber");
    python
        .arg(script("camber_rules.py"))
        .args([store, &peers.results(), &requests]);
    let answered = observe(python).await;
    let answers = answered["answers"].as_array().expect("answers");
    answers
        .iter()
        .map(|answer| {
            let error = answer["error"].as_str().map(str::to_owned);
            Outcome::of(error, &answer["findings"], &answer["skipped"])
        })
        .collect()
}

/// What each rule came to in each data set.
#[derive(Default)]
struct Tally {
    equal: usize,
    /// Declined on one side only, and why.
    declined: Vec<String>,
    different: Vec<String>,
    only_there: Vec<String>,
    only_here: Vec<String>,
    skips: Vec<String>,
}

/// Whether the check was declined for the sake of the trust in an input; one that declines by class names no floor.
fn is_declined(row: &Value) -> bool {
    let metrics = &row["metrics"];
    metrics["declined"] == json!(true) && metrics.get("min_trust").is_some()
}

fn rule_of(id: &str) -> String {
    id.split('@').next().unwrap_or(id).to_owned()
}

type Tallies = BTreeMap<String, BTreeMap<String, Tally>>;

fn compare(
    tallies: &mut Tallies,
    run: &Run,
    ours: &Outcome,
    theirs: &Outcome,
    gates: &dyn Fn() -> TrustGates,
    over: &dyn Fn(&str, BTreeSet<String>) -> Outcome,
) {
    let known_gates = LazyCell::new(gates);
    let mut excused: BTreeSet<String> = BTreeSet::new();
    let place = run.place();
    let of_set = tallies.entry(run.row()).or_default();
    if REFUSED_THERE
        .iter()
        .any(|(facility, _)| *facility == run.facility)
    {
        assert!(ours.error.is_none() && theirs.error.is_some(), "{place}");
        return;
    }
    if ours.error != theirs.error {
        let told = format!("{place}: {:?} against {:?}", ours.error, theirs.error);
        of_set
            .entry("(the run)".to_owned())
            .or_default()
            .different
            .push(told);
        return;
    }
    for (id, their) in &theirs.findings {
        let tally = of_set.entry(rule_of(id)).or_default();
        match ours.findings.get(id) {
            None => match without_verdict(run, their, &ours.skips)
                .and_then(|skip| Some((skip, known_gates.explained(their, false, true).ok()?)))
            {
                Some((skip, told)) => {
                    excused.insert(skip);
                    tally.declined.push(format!(
                        "{place}: {id} declined there, without a verdict here, {told}"
                    ));
                }
                None => tally
                    .only_there
                    .push(format!("{place}: {id} only there: {their}")),
            },
            Some(our) if is_declined(our) != is_declined(their) && run.floor > 0.0 => {
                let side = if is_declined(our) { "here" } else { "there" };
                match known_gates.explained(our, is_declined(our), is_declined(their)) {
                    Ok(told) => tally
                        .declined
                        .push(format!("{place}: {id} declined {side} only, {told}")),
                    Err(told) => tally.different.push(format!(
                        "{place}: {id} declined {side} only, which nothing explains: {told}"
                    )),
                }
            }
            Some(our) => match differences(our, their) {
                found if found.is_empty() => tally.equal += 1,
                found => match fleet_there(run, our, &known_gates, over) {
                    Some((again, told))
                        if again
                            .findings
                            .get(id)
                            .is_some_and(|again| differences(again, their).is_empty()) =>
                    {
                        tally.declined.push(format!("{place}: {id}: {told}"));
                    }
                    _ => tally
                        .different
                        .push(format!("{place}: {id}: {}", found.join(", "))),
                },
            },
        }
    }
    for (id, our) in &ours.findings {
        if theirs.findings.contains_key(id) {
            continue;
        }
        let tally = of_set.entry(rule_of(id)).or_default();
        match without_verdict(run, our, &theirs.skips)
            .and_then(|skip| Some((skip, known_gates.explained(our, true, false).ok()?)))
        {
            Some((skip, told)) => {
                excused.insert(skip);
                tally.declined.push(format!(
                    "{place}: {id} declined here, without a verdict there, {told}"
                ));
            }
            None => tally
                .only_here
                .push(format!("{place}: {id} only here: {our}")),
        }
    }
    for skip in ours.skips.symmetric_difference(&theirs.skips) {
        if excused.contains(skip) {
            continue;
        }
        let side = if ours.skips.contains(skip) {
            "here"
        } else {
            "there"
        };
        of_set
            .entry(skip.split(' ').next().unwrap_or_default().to_owned())
            .or_default()
            .skips
            .push(format!("{place}: skip only {side}: {skip}"));
    }
}

/// The skip of a check for want of a verdict, when the other side declined it for the sake of an input.
fn without_verdict(run: &Run, declined: &Value, skips: &BTreeSet<String>) -> Option<String> {
    let [rule, equip] = ["rule", "equip"].map(|key| declined[key].as_str().unwrap_or_default());
    let skipped = format!("{rule} at {equip:?}: no_verdict ");
    let is_apart = run.floor > 0.0 && is_declined(declined);
    skips
        .iter()
        .find(|skip| is_apart && skip.starts_with(&skipped))
        .cloned()
}

/// What we find over the equipment that the reference kept for a rule of fleets, when it left out other equipment than we do.
fn fleet_there(
    run: &Run,
    our: &Value,
    gates: &TrustGates,
    over: &dyn Fn(&str, BTreeSet<String>) -> Outcome,
) -> Option<(Outcome, String)> {
    let rule = our["rule"].as_str().filter(|_| run.floor > 0.0)?;
    let (kept, told) = gates.fleet_there(rule)?;
    Some((over(rule, kept), told))
}

fn differences(our: &Value, their: &Value) -> Vec<String> {
    let rule = our["rule"].as_str().unwrap_or_default();
    let listed = |figure: &str| {
        LISTED
            .iter()
            .any(|(of, name, _)| *of == rule && (*name == "*" || *name == figure))
    };
    let mut found = Vec::new();
    if our["severity"] != their["severity"] && !listed("severity") {
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
        let (one, other) = (
            ours.get(name).unwrap_or(&none),
            theirs.get(name).unwrap_or(&none),
        );
        if !same(name, one, other) && !listed(name) {
            found.push(format!("{name} {one} against {other}"));
        }
    }
    found
}

/// Whether two figures of a name are the same, the last digits of numbers aside.
pub fn same(name: &str, our: &Value, their: &Value) -> bool {
    match (our.as_f64(), their.as_f64()) {
        (Some(our), Some(their)) => {
            (our - their).abs() <= TOLERANCE * our.abs().max(their.abs()) + last_digit(their)
        }
        _ if SENTENCES.contains(&name) => {
            let sentence = |value: &Value| {
                let text = value.as_str().filter(|text| text.contains(' '))?;
                Some(figures_in(text))
            };
            our == their
                || sentence(our)
                    .zip(sentence(their))
                    .is_some_and(|(our, their)| their.is_subset(&our))
        }
        _ => our == their,
    }
}

/// The numbers in a sentence; digits of a name, as of "G36", are none.
fn figures_in(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    text.split(|c: char| !is_part(c))
        .map(|word| word.trim_end_matches(|c: char| !c.is_ascii_digit()))
        .filter_map(|word| word.parse::<f64>().ok())
        .map(|figure| figure.to_string())
        .collect()
}

/// A unit of the last printed digit, when the number is a rounded one.
fn last_digit(value: f64) -> f64 {
    let text = value.to_string();
    match text.split_once('.') {
        Some((_, decimals)) if decimals.len() <= 4 => 0.0,
        _ => 1e-12,
    }
}

/// The rules of this build.
pub fn our_rules() -> Vec<String> {
    let registry = CapabilityRegistry::built_in().expect("a registry");
    let definition = registry
        .definitions()
        .find(|definition| definition.name == "rule_run")
        .expect("rule_run");
    let named = &definition.input_schema["properties"]["rules"]["items"]["enum"];
    serde_json::from_value(named.clone()).expect("names")
}

/// A configuration that names every class and every rule of ours.
pub fn whole_config(store: &TrendStore, path: &Path, facility: &str, rules: &[String]) -> Value {
    let id = FacilityId::parse(facility).expect("a facility");
    let points = store.points(&id).expect("points");
    let classes: BTreeSet<&String> = points.classes.values().collect();
    json!({
        "source": {"kind": "store", "store": path, "facility_id": facility},
        "equipment": classes.iter().map(|class| json!({"class": class})).collect::<Vec<_>>(),
        "rules": rules,
    })
}

/// The packaged configuration of a data set, over a store.
pub fn packaged_config(store: &Path, facility: &str) -> Option<Value> {
    let file: Value =
        serde_json::from_str(include_str!("../../knowledge/camber/dataset-configs.json"))
            .expect("templates");
    let set = facility.strip_prefix("ds-")?;
    let entry = file["configs"]
        .as_array()?
        .iter()
        .find(|entry| entry["id"] == json!(set))?;
    let mut config = entry["config"].clone();
    config["source"]["store"] = json!(store);
    config["source"]["facility_id"] = json!(facility);
    Some(config)
}

/// The same with the rules that this build has.
fn packaged(store: &Path, facility: &str, rules: &[String]) -> Option<Value> {
    let mut config = packaged_config(store, facility)?;
    let kept = config["rules"].as_array()?.iter().filter(|rule| {
        let name = rule
            .as_str()
            .or_else(|| rule["name"].as_str())
            .unwrap_or_default();
        rules.iter().any(|known| known == name)
    });
    let kept: Vec<Value> = kept.cloned().collect();
    // Without a rule a configuration means every rule there is.
    (!kept.is_empty()).then(|| {
        config["rules"] = json!(kept);
        config
    })
}

pub async fn prepare(peers: &Peers, store: &Path, cache: &Path, variations: usize) -> Vec<String> {
    let count = variations.to_string();
    let mut python = peers.python("camber");
    python.arg(script("camber_trust.py")).args([
        Path::new("prepare"),
        store,
        cache,
        Path::new("0"),
        Path::new(&count),
    ]);
    serde_json::from_value(observe(python).await["facilities"].clone()).expect("facilities")
}

async fn run_and_compare(peers: &Peers, variations: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    let facilities = prepare(peers, &path, &folder.path().join("cache"), variations).await;
    let store = Arc::new(TrendStore::open(&path).expect("a store"));
    let rules = our_rules();
    let mut runs = Vec::new();
    for facility in &facilities {
        let mut configs = Vec::new();
        if facility.starts_with("ds-") {
            configs.push((
                "every rule",
                Some(whole_config(&store, &path, facility, &rules)),
            ));
            configs
                .extend(packaged(&path, facility, &rules).map(|config| ("packaged", Some(config))));
        } else {
            configs.push(("no configuration", None));
        }
        for (kind, config) in configs {
            for floor in [0.0, 0.5] {
                runs.push(Run {
                    facility: facility.clone(),
                    config: config.clone(),
                    kind,
                    floor,
                    arguments: Map::new(),
                });
            }
        }
    }
    assert!(runs.len() >= 40 + 2 * variations / 2, "{}", runs.len());
    let theirs = theirs(peers, &path, folder.path(), &rules, &runs).await;
    let mut tallies = Tallies::new();
    for (run, their) in runs.iter().zip(&theirs) {
        compare(
            &mut tallies,
            run,
            &ours(&store, folder.path(), &rules, run),
            their,
            &|| {
                TrustGates::of(
                    &store,
                    &run.facility,
                    run.config.as_ref(),
                    &rules,
                    run.floor,
                )
            },
            &|rule, equips| {
                let mut without_floor = Run {
                    floor: 0.0,
                    ..run.clone()
                };
                let arguments = &mut without_floor.arguments;
                arguments.insert("rules".to_owned(), json!([rule]));
                arguments.insert("equips".to_owned(), json!(equips));
                ours(&store, folder.path(), &[rule.to_owned()], &without_floor)
            },
        );
    }
    report(&tallies);
}

fn report(tallies: &Tallies) {
    println!(
        "{:45} {:28} {:>6} {:>9} {:>10} {:>9} {:>8} {:>6}",
        "data set", "rule", "equal", "different", "only there", "only here", "declined", "skips"
    );
    let mut wrong = Vec::new();
    for (rule, figure, reason) in LISTED {
        println!("not compared: {figure} of {rule}: {reason}");
    }
    for (facility, reason) in REFUSED_THERE {
        println!("not compared: {facility}: {reason}");
    }
    for (set, rules) in tallies {
        for (rule, tally) in rules {
            println!(
                "{set:45} {rule:28} {:>6} {:>9} {:>10} {:>9} {:>8} {:>6}",
                tally.equal,
                tally.different.len(),
                tally.only_there.len(),
                tally.only_here.len(),
                tally.declined.len(),
                tally.skips.len()
            );
            for list in [
                &tally.different,
                &tally.only_there,
                &tally.only_here,
                &tally.skips,
            ] {
                wrong.extend(list.iter().map(String::as_str));
            }
        }
    }
    let declined = tallies.values().flat_map(BTreeMap::values);
    for told in declined.flat_map(|tally| &tally.declined) {
        println!("{told}");
    }
    assert!(
        wrong.is_empty(),
        "{} differences:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[tokio::test]
async fn camber_and_we_find_the_same() {
    if let Some(peers) = Peers::find("camber_and_we_find_the_same") {
        run_and_compare(&peers, USUAL).await;
    }
}

#[tokio::test]
#[ignore = "takes many minutes: five times the variations of every run"]
async fn camber_and_we_find_the_same_in_all_variations() {
    if let Some(peers) = Peers::find("camber_and_we_find_the_same_in_all_variations") {
        run_and_compare(&peers, ALL).await;
    }
}
