//! suggestMapping against sites whose truth is known, and against the habits of other installers.

mod conventions;
mod sample_types;
mod tool;

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};
use mock_station::model::accounts::BRIDGE;
use mock_station::site::{Site, SiteName, SiteOptions};
use mock_station::switches::Switches;
use niagara_bridge::knowledge::camber_roles::{camber_class, camber_role, camber_role_named};
use niagara_bridge::knowledge::{KnowledgeModel, STANDARD_TYPES, decode, format};
use serde_json::{Value, json};

use crate::station_bench::Bench;

const NOW: &str = "2026-11-02T15:20:00Z";

/// What was proposed for a point: role in CAMBER's words, confidence.
type Guess = Option<(String, f64)>;

/// Guesses against the truth.
#[derive(Default)]
struct Score {
    /// Points that the truth maps, and how many of them have the right first proposal.
    mapped: usize,
    right: usize,
    /// Proposals above 0.9, those for points that the truth does not map included, and how many are right.
    sure: usize,
    sure_right: usize,
    /// By tenths of confidence: proposals, right ones.
    bins: [(usize, usize); 10],
    /// Wrong pairs of truth and proposal.
    confused: BTreeMap<(String, String), usize>,
    /// Equipment of the truth, found as one piece, with the right class.
    equipment: usize,
    whole: usize,
    classed: usize,
}

impl Score {
    fn add(&mut self, truth: Option<&str>, guess: &Guess) {
        let is_right = guess
            .as_ref()
            .is_some_and(|(role, _)| Some(role.as_str()) == truth);
        if truth.is_some() {
            self.mapped += 1;
            self.right += usize::from(is_right);
        }
        let Some((role, confidence)) = guess else {
            if let Some(truth) = truth {
                *self
                    .confused
                    .entry((truth.to_owned(), "nothing".to_owned()))
                    .or_default() += 1;
            }
            return;
        };
        // The truth knows CAMBER's roles only: of others on points that it leaves out it says nothing.
        if truth.is_none() && camber_role_named(role).is_none() {
            return;
        }
        if !is_right {
            let truth = truth.unwrap_or("nothing").to_owned();
            *self.confused.entry((truth, role.clone())).or_default() += 1;
        }
        if *confidence > 0.9 {
            self.sure += 1;
            self.sure_right += usize::from(is_right);
        }
        let bin = &mut self.bins[((confidence * 10.0) as usize).min(9)];
        bin.0 += 1;
        bin.1 += usize::from(is_right);
    }

    fn share_right(&self) -> f64 {
        self.right as f64 / self.mapped as f64
    }

    fn share_of_sure(&self) -> f64 {
        self.sure_right as f64 / self.sure as f64
    }

    fn print(&self, site: &str) {
        println!(
            "{site}: {} of {} mapped points right first ({:.1} %); {} of {} proposals above 0.9 right ({:.1} %)",
            self.right,
            self.mapped,
            100.0 * self.share_right(),
            self.sure_right,
            self.sure,
            100.0 * self.share_of_sure(),
        );
        if self.equipment > 0 {
            println!(
                "  equipment: {} of {} found whole, {} of the right class",
                self.whole, self.equipment, self.classed
            );
        }
        for (tenth, (count, right)) in self.bins.iter().enumerate().filter(|(_, bin)| bin.0 > 0) {
            println!("  confidence 0.{tenth}: {right} of {count} right");
        }
        for ((truth, guess), count) in &self.confused {
            println!("  {truth} taken for {guess}: {count}");
        }
    }
}

fn site(name: SiteName) -> (Site, DateTime<Utc>) {
    let now: DateTime<Utc> = NOW.parse().unwrap();
    let options = SiteOptions {
        name,
        ..SiteOptions::for_tests(now)
    };
    (Site::build(options).unwrap(), now)
}

pub async fn bench(name: SiteName, switch: impl FnOnce(&mut Switches)) -> Bench {
    let (site, now) = site(name);
    Bench::serving(site.station, now, switch, BRIDGE).await
}

/// All pages of an answer.
pub async fn all_equipment(bench: &Bench, arguments: Value) -> Vec<Value> {
    let mut all = Vec::new();
    let mut offset = 0;
    loop {
        let mut arguments = arguments.clone();
        arguments["offset"] = json!(offset);
        let answer = bench.answer("suggestMapping", arguments).await;
        all.extend(answer["equipment"].as_array().unwrap().iter().cloned());
        match answer["nextOffset"].as_u64() {
            Some(next) => offset = next,
            None => return all,
        }
    }
}

fn guess_of(point: &Value, type_id: &str) -> Guess {
    let role = point["role"].as_str()?;
    let role = camber_role(&[type_id], role).unwrap_or(role);
    Some((role.to_owned(), point["confidence"].as_f64().unwrap()))
}

async fn score(name: SiteName) -> Score {
    let truth = site(name).0.truth;
    let bench = bench(name, |_| {}).await;
    let found = all_equipment(&bench, json!({"ord": "slot:/", "limit": 25})).await;
    let roles: HashMap<&str, &str> = truth
        .equipment
        .iter()
        .flat_map(|equipment| &equipment.roles)
        .map(|(role, path)| (path.as_str(), role.as_str()))
        .collect();
    let mut score = Score::default();
    for equipment in &found {
        let type_id = equipment["type"].as_str().unwrap_or_default();
        for point in equipment["points"].as_array().unwrap() {
            let ord = point["ord"].as_str().unwrap();
            let truth = roles.get(ord.trim_start_matches("station:|")).copied();
            score.add(truth, &guess_of(point, type_id));
        }
    }
    for equipment in truth.equipment.iter().filter(|one| !one.roles.is_empty()) {
        score.equipment += 1;
        let whole = found.iter().find(|candidate| {
            let points: Vec<&str> = candidate["points"]
                .as_array()
                .unwrap()
                .iter()
                .map(|point| point["ord"].as_str().unwrap())
                .collect();
            equipment
                .roles
                .values()
                .all(|path| points.contains(&format!("station:|{path}").as_str()))
        });
        if let Some(whole) = whole {
            score.whole += 1;
            let class = whole["type"].as_str().and_then(class_of);
            score.classed += usize::from(same_class(class, &equipment.class));
        }
    }
    score
}

fn standard_types() -> KnowledgeModel {
    let (_, tree) = format::parse("standard types", STANDARD_TYPES).unwrap();
    KnowledgeModel::new(decode::decode("standard types", tree).unwrap().document)
}

/// CAMBER's class of a standard type.
fn class_of(id: &str) -> Option<&'static str> {
    let types = standard_types();
    let line: Vec<String> = niagara_bridge::knowledge::camber_roles::lineage(&types, id)
        .into_iter()
        .map(str::to_owned)
        .collect();
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    camber_class(&line)
}

/// Classes are open names: those of one family may be written in several ways.
fn same_class(found: Option<&str>, truth: &str) -> bool {
    let plain = |class: &str| class.to_lowercase().replace(['-', '_', ' '], "");
    found.is_some_and(|found| plain(found) == plain(truth))
}

#[tokio::test]
async fn harborview_is_read_as_its_engineers_meant_it() {
    let score = score(SiteName::Harborview).await;
    score.print("Harborview");
    assert_eq!(score.mapped, 456);
    assert!(score.share_right() >= 0.90, "{}", score.share_right());
    assert!(
        score.sure > 300 && score.share_of_sure() >= 0.95,
        "{}",
        score.share_of_sure()
    );
    assert_eq!(score.whole, score.equipment);
    assert!(score.classed as f64 >= 0.9 * score.equipment as f64);
}

#[tokio::test]
async fn lakeside_is_read_though_its_names_are_german_and_its_units_metric() {
    let score = score(SiteName::Lakeside).await;
    score.print("Lakeside");
    assert_eq!(score.mapped, 486);
    assert!(score.share_right() >= 0.75, "{}", score.share_right());
    assert!(
        score.sure > 300 && score.share_of_sure() >= 0.95,
        "{}",
        score.share_of_sure()
    );
    assert_eq!(score.whole, score.equipment);
    assert!(score.classed as f64 >= 0.9 * score.equipment as f64);
}
