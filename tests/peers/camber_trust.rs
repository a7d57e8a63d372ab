//! CAMBER 0.110 and we score the trust of the same points, figure by figure, in both views.
//!
//! The reference scores the stored samples as they are; ours are scored on the same frames here. That `sensor_trust` and the
//! gate of rules look at the run frame instead is what `camber-capabilities.txt` demands in lines 160 to 166, and is the only
//! difference of the newer document that touches a score. Where the samples are hourly, both frames are the same: there the
//! whole answers of the two `sensor_trust` are compared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use niagara_analytics::trust::{PointTrust, View, scores};
use niagara_bridge::camber::{CallerPolicy, CapabilityRegistry, Watch, Workspace};
use niagara_bridge::trends::store::{FacilityId, Selection, TrendStore};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::programs::{Peers, observe, script};

/// Variations in every run, and all of them.
const USUAL: usize = 40;
const ALL: usize = 200;

/// Figures are rounded to so many digits; a sum in another order may turn the last one.
const TOLERANCE: f64 = 1.01e-4;

#[derive(Deserialize)]
struct Answer {
    facility: String,
    view: String,
    points: Vec<Value>,
    counts: Value,
    n_points: Value,
    facts: Vec<(String, Value)>,
}

/// Rows by equipment and role.
type Rows = BTreeMap<(String, String), Value>;

fn row(point: &PointTrust) -> Value {
    let flags: BTreeSet<&str> = point.flags.iter().copied().collect();
    let checks: BTreeSet<&str> = point.frame_checks.iter().map(|check| check.check).collect();
    json!({
        "trust": point.trust,
        "verdict": point.verdict.word(),
        "flags": flags,
        "coverage": point.coverage,
        "flatline_frac": point.flatline_frac,
        "outlier_frac": point.outlier_frac,
        "range_violation_frac": point.range_violation_frac,
        "longest_flat_hours": point.longest_flat_hours,
        "n_stuck_intervals": point.stuck.len(),
        "checks": checks,
    })
}

/// Our rows of both views, on the stored samples as they are.
fn ours(store: &TrendStore, facility: &str) -> BTreeMap<&'static str, Rows> {
    let facility = FacilityId::parse(facility).expect("a facility");
    let points = store.points(&facility).expect("points");
    let mut rows: BTreeMap<&'static str, Rows> = BTreeMap::new();
    for equip in points.classes.keys() {
        let frame = store
            .role_frame(&facility, equip, &Selection::default(), None)
            .expect("a frame");
        for view in [View::Rules, View::Report] {
            let of_view = rows.entry(view.word()).or_default();
            for point in scores(&frame, view) {
                of_view.insert((equip.clone(), point.role.clone()), row(&point));
            }
        }
    }
    rows
}

/// What differs between our answer of `sensor_trust` and theirs: order, counts, facts.
fn differences_of_answers(store: &Arc<TrendStore>, their: &Answer) -> Vec<String> {
    let registry = CapabilityRegistry::built_in().expect("a registry");
    let watch = Watch::start(Duration::from_secs(60), CancellationToken::new());
    let arguments = json!({"facility_id": their.facility, "view": their.view, "limit": 1000});
    let our = registry
        .call(
            "sensor_trust",
            arguments,
            &Workspace::new(store.clone()),
            &CallerPolicy::of([their.facility.as_str()]),
            &watch,
        )
        .expect("an answer");
    let place = |point: &Value| format!("{} {}", point["equip"], point["role"]);
    let order = |points: &[Value]| points.iter().map(place).collect::<Vec<_>>();
    let points = our.data["points"].as_array().expect("points");
    let mut found = Vec::new();
    if order(points) != order(&their.points) {
        found.push("the order of the points".to_owned());
    }
    for (our, their) in points.iter().zip(&their.points) {
        found.extend(differences(our, their));
    }
    for (key, their) in [("counts", &their.counts), ("n_points", &their.n_points)] {
        if our.data[key] != *their {
            found.push(format!("{key} {} against {their}", our.data[key]));
        }
    }
    let facts: Vec<(&Value, &Value)> = our
        .facts
        .iter()
        .map(|fact| (&fact["kind"], &fact["value"]))
        .collect();
    let same_fact = |((kind, value), their): (&(&Value, &Value), &(String, Value))| {
        **kind == their.0 && same(value, &their.1)
    };
    if facts.len() != their.facts.len() || !facts.iter().zip(&their.facts).all(same_fact) {
        found.push(format!("facts {facts:?} against {:?}", their.facts));
    }
    let place = format!("{} {}", their.facility, their.view);
    found
        .into_iter()
        .map(|difference| format!("{place}: {difference}"))
        .collect()
}

fn theirs(answer: Answer) -> Rows {
    let text = |point: &Value, key: &str| point[key].as_str().expect("a text").to_owned();
    let keyed = |point: Value| ((text(&point, "equip"), text(&point, "role")), point);
    answer.points.into_iter().map(keyed).collect()
}

/// The figures in which two rows differ.
fn differences(our: &Value, their: &Value) -> Vec<String> {
    let columns = our.as_object().expect("a row");
    columns
        .iter()
        .filter(|(name, our)| !same(our, &their[name.as_str()]))
        .map(|(name, our)| format!("{name} {our} against {}", their[name.as_str()]))
        .collect()
}

fn same(our: &Value, their: &Value) -> bool {
    match (our.as_f64(), their.as_f64()) {
        (Some(our), Some(their)) => (our - their).abs() <= TOLERANCE * our.abs().max(1.0),
        _ => our == their,
    }
}

#[derive(Default)]
struct Tally {
    equal: usize,
    different: Vec<String>,
    only_there: usize,
    only_here: usize,
}

impl Tally {
    fn add(&mut self, place: &str, ours: &Rows, theirs: &Rows) {
        for (key, their) in theirs {
            let Some(our) = ours.get(key) else {
                self.only_there += 1;
                continue;
            };
            match differences(our, their) {
                found if found.is_empty() => self.equal += 1,
                found => self.different.push(format!(
                    "{place} {} {}: {}",
                    key.0,
                    key.1,
                    found.join(", ")
                )),
            }
        }
        self.only_here += ours.keys().filter(|key| !theirs.contains_key(*key)).count();
    }

    fn is_clean(&self) -> bool {
        self.different.is_empty() && self.only_there == 0 && self.only_here == 0
    }
}

async fn reference(peers: &Peers, arguments: &[&Path]) -> Value {
    let mut python = peers.python("camber");
    python.arg(script("camber_trust.py")).args(arguments);
    observe(python).await
}

async fn compare(peers: &Peers, variations: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, cache) = (folder.path().join("store"), folder.path().join("cache"));
    let count = variations.to_string();
    let prepare = [
        Path::new("prepare"),
        &store,
        &cache,
        Path::new("0"),
        Path::new(&count),
    ];
    reference(peers, &prepare).await;
    let results = peers.results();
    let scored = reference(peers, &[Path::new("score"), &store, &results]).await;
    let answers: Vec<Answer> = serde_json::from_value(scored["answers"].clone()).expect("answers");
    assert!(answers.len() >= 2 * (10 + variations), "{}", answers.len());

    let store = Arc::new(TrendStore::open(&store).expect("a store"));
    let mut answers_differ = Vec::new();
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    let mut known: Option<(String, BTreeMap<&'static str, Rows>)> = None;
    for answer in answers {
        let (facility, view) = (answer.facility.clone(), answer.view.clone());
        if known.as_ref().is_none_or(|(of, _)| *of != facility) {
            known = Some((facility.clone(), ours(&store, &facility)));
        }
        let none = Rows::new();
        let ours = known
            .as_ref()
            .and_then(|(_, rows)| rows.get(view.as_str()))
            .unwrap_or(&none);
        let set = match facility.strip_prefix("ds-") {
            Some(set) => set.to_owned(),
            None if facility.starts_with("h-") => "hourly variations".to_owned(),
            None => "seeded variations".to_owned(),
        };
        if facility.starts_with("h-") {
            answers_differ.extend(differences_of_answers(&store, &answer));
        }
        let place = format!("{facility} {view}");
        tallies
            .entry(format!("{set} ({view})"))
            .or_default()
            .add(&place, ours, &theirs(answer));
    }
    println!(
        "{:50} {:>7} {:>9} {:>10} {:>9}",
        "data set (view)", "equal", "different", "only there", "only here"
    );
    for (set, tally) in &tallies {
        println!(
            "{set:50} {:>7} {:>9} {:>10} {:>9}",
            tally.equal,
            tally.different.len(),
            tally.only_there,
            tally.only_here
        );
    }
    let told: Vec<&str> = tallies
        .values()
        .flat_map(|tally| tally.different.iter().map(String::as_str))
        .collect();
    assert!(tallies.values().all(Tally::is_clean), "{}", told.join("\n"));
    assert!(answers_differ.is_empty(), "{}", answers_differ.join("\n"));
}

#[tokio::test]
async fn camber_and_we_trust_the_same_points() {
    if let Some(peers) = Peers::find("camber_and_we_trust_the_same_points") {
        compare(&peers, USUAL).await;
    }
}

#[tokio::test]
#[ignore = "takes minutes: five times the variations of every run"]
async fn camber_and_we_trust_the_same_points_of_all_variations() {
    if let Some(peers) = Peers::find("camber_and_we_trust_the_same_points_of_all_variations") {
        compare(&peers, ALL).await;
    }
}
