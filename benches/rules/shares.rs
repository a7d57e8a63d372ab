//! What each rule costs: frames are loaded and trust is scored once, then every rule runs alone over all of them.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::time::Instant;

use niagara_analytics::run_config::{ChosenRule, RuleRequest, SharedOat, defaults};
use niagara_analytics::runner::{Run, TrustScores};
use niagara_analytics::trust::{View, scores};
use niagara_analytics::{BinWidth, RunFrame, SharedPoint};
use niagara_bridge::trends::store::{FacilityId, Selection, TrendStore};

use super::table::Table;

/// Rules that take a greater share of the run are named (issue "Plant-side rules", acceptance).
const TOLD_SHARE: f64 = 0.05;
const FLOOR: f64 = 0.5;

/// Measures on one thread, so that shares are those of the work.
pub fn measure(table: &mut Table, store: &TrendStore, facility: &FacilityId) {
    let points = store.points(facility).expect("points");
    let config = defaults::of_store(facility.as_str(), None, &points.classes, &points.points);
    let rules = config
        .chosen_rules(RuleRequest::default())
        .expect("every rule");

    let begun = Instant::now();
    let shared: Vec<SharedPoint> = match &config.shared_oat {
        Some(SharedOat::Point { equip, role }) => {
            let stored = store
                .role_frame(facility, equip, &Selection::default(), None)
                .expect("a frame");
            SharedPoint::of(&stored, role, role, BinWidth::HOUR)
                .expect("a grid")
                .into_iter()
                .collect()
        }
        _ => Vec::new(),
    };
    let view = store.view(facility).expect("a view");
    let frames: Vec<RunFrame> = points
        .classes
        .keys()
        .map(|equip| {
            let series = view
                .equipment(equip, &Selection::default())
                .expect("a series");
            RunFrame::of_stored(&series.frame(), BinWidth::HOUR, &shared).expect("a grid")
        })
        .collect();
    let reading = begun.elapsed().as_secs_f64();

    let begun = Instant::now();
    let trust = Scored(
        frames
            .iter()
            .map(|frame| {
                let points = scores(frame.table(), View::Rules).into_iter();
                points.map(|point| (point.role, point.trust)).collect()
            })
            .collect(),
    );
    let scoring = begun.elapsed().as_secs_f64();

    let mut costs: Vec<(&str, f64, usize)> = rules
        .iter()
        .map(|rule| {
            let (seconds, judged) = alone(rule, &frames, &trust);
            (rule.code.id, seconds, judged)
        })
        .collect();
    let judging: f64 = costs.iter().map(|(_, seconds, _)| seconds).sum();
    let total = reading + scoring + judging;
    costs.sort_by(|a, b| b.1.total_cmp(&a.1));

    let share = |seconds: f64| format!("({:.1} % of the run)", 100.0 * seconds / total);
    table.seconds(
        "one thread: frames out of the store",
        reading,
        &share(reading),
    );
    table.seconds("one thread: trust of all points", scoring, &share(scoring));
    table.seconds("one thread: all rules", judging, &share(judging));
    let idle: Vec<&str> = costs
        .iter()
        .filter(|(_, _, judged)| *judged == 0)
        .map(|(rule, _, _)| *rule)
        .collect();
    table.row(
        "rules that judged something",
        format!("{} of {}", costs.len() - idle.len(), costs.len()),
    );
    if !idle.is_empty() {
        table.row("rules that judged nothing", idle.join(", "));
    }
    let mut told = 0;
    for (place, (rule, seconds, judged)) in costs.iter().enumerate() {
        let is_large = seconds / total > TOLD_SHARE;
        told += usize::from(is_large);
        // The most expensive ones in any case.
        if is_large || place < 5 {
            let remark = format!("{}, {judged} findings", share(*seconds));
            table.seconds(&format!("rule {rule} alone"), *seconds, &remark);
        }
    }
    table.row("rules above 5 % of the run", told.to_string());
}

/// Seconds of one rule over all equipment, and how many findings did not decline.
fn alone(rule: &ChosenRule, frames: &[RunFrame], trust: &Scored) -> (f64, usize) {
    let begun = Instant::now();
    let outcome = Run {
        rules: std::slice::from_ref(rule),
        frames,
        topology: None,
        floor: Some(FLOOR),
        trust,
        threads: NonZeroUsize::MIN,
        cancelled: &|| false,
    }
    .outcome()
    .expect("nobody cancels");
    let seconds = begun.elapsed().as_secs_f64();
    let judged = outcome
        .findings
        .iter()
        .filter(|finding| !finding.is_declined());
    (seconds, judged.count())
}

struct Scored(Vec<BTreeMap<String, f64>>);

impl TrustScores for Scored {
    fn score(&self, place: usize, role: &str) -> Option<f64> {
        self.0.get(place)?.get(role).copied()
    }
}
