//! Why a check declines on one side only: the newer document and 0.110 score the trust of the same input differently.
//!
//! 0.110 scores the columns of the rule alone, and gates what the rule requires or needs one of. The newer document scores the
//! whole run frame of the equipment (`camber-capabilities.txt`, lines 160 to 166), and gates an optional input too when it
//! decides whether there is a verdict (lines 170 to 174). Both gates are computed here from the scores, apart from the runner:
//! a decline that neither explains is a difference.

use std::collections::{BTreeMap, BTreeSet};

use niagara_analytics::catalogue::RuleScope;
use niagara_analytics::run_config::{ChosenRule, NoFiles, RuleRequest, SharedOat, defaults};
use niagara_analytics::trust::{View, scores};
use niagara_analytics::{RoleFrame, RunConfig, RunFrame, SharedPoint};
use niagara_bridge::trends::store::{FacilityId, Selection, TrendStore};
use serde_json::Value;

const WHOLE_FRAME: &str = "lines 160-166";
const DECIDING_OPTIONAL: &str = "lines 170-174";

/// The gates of one run.
pub struct TrustGates {
    rules: BTreeMap<String, ChosenRule>,
    frames: BTreeMap<String, RunFrame>,
    floor: f64,
}

/// A gated input below the floor.
#[derive(Debug, Clone, PartialEq)]
struct Below {
    role: String,
    score: f64,
    is_optional: bool,
}

impl TrustGates {
    /// Of a run with this configuration, or with the rules named over everything stored.
    pub fn of(
        store: &TrendStore,
        facility: &str,
        config: Option<&Value>,
        rules: &[String],
        floor: f64,
    ) -> Self {
        let id = FacilityId::parse(facility).expect("a facility");
        let points = store.points(&id).expect("points");
        let config = match config.and_then(Value::as_object) {
            Some(content) => RunConfig::read(content.clone(), &NoFiles).expect("a configuration"),
            None => defaults::of_store(facility, None, &points.classes, &points.points),
        };
        let named = config.rules.is_empty().then_some(rules);
        let chosen = config
            .chosen_rules(RuleRequest {
                rules: named,
                params: None,
            })
            .expect("rules");
        let stored = |equip: &str| {
            store
                .role_frame(&id, equip, &Selection::default(), None)
                .expect("a frame")
        };
        let shared: Vec<SharedPoint> = match &config.shared_oat {
            Some(SharedOat::Point { equip, role }) => {
                SharedPoint::of(&stored(equip), role, "oat", config.resample)
                    .expect("a grid")
                    .into_iter()
                    .collect()
            }
            _ => Vec::new(),
        };
        let frames = points.classes.keys().map(|equip| {
            let frame = RunFrame::of_stored(&stored(equip), config.resample, &shared);
            (equip.clone(), frame.expect("a grid"))
        });
        Self {
            rules: chosen
                .into_iter()
                .map(|rule| (rule.entry.id.clone(), rule))
                .collect(),
            frames: frames.collect(),
            floor,
        }
    }

    /// What explains that a check declined here or there, as one line of the report.
    ///
    /// # Errors
    /// The scores do not explain it.
    pub fn explained(
        &self,
        finding: &Value,
        declined_here: bool,
        declined_there: bool,
    ) -> Result<String, String> {
        let text = |key: &str| finding[key].as_str().unwrap_or_default();
        let (rule, equip) = (text("rule"), text("equip"));
        let (Some(rule), Some(frame)) = (self.rules.get(rule), self.frames.get(equip)) else {
            return Err(format!("{rule} at {equip} is no check of one equipment"));
        };
        let here = self.below(rule, frame.table(), true);
        let there = self.below(rule, &columns_of(rule, frame), false);
        let told = format!(
            "whole run frame {}; the rule's columns {}",
            listed(&here),
            listed(&there)
        );
        if (!here.is_empty(), !there.is_empty()) != (declined_here, declined_there) {
            return Err(told);
        }
        let line = match here.iter().all(|below| below.is_optional) && declined_here {
            true => DECIDING_OPTIONAL,
            false => WHOLE_FRAME,
        };
        Ok(format!("{line}: {told}"))
    }

    /// The equipment that the reference kept for a rule of fleets, when it is other than ours, and what explains that.
    pub fn fleet_there(&self, rule: &str) -> Option<(BTreeSet<String>, String)> {
        let rule = self
            .rules
            .get(rule)
            .filter(|rule| rule.entry.scope == RuleScope::Fleet)?;
        let (mut kept, mut told) = (BTreeSet::new(), Vec::new());
        for (equip, frame) in &self.frames {
            let here = self.below(rule, frame.table(), true);
            let there = self.below(rule, &columns_of(rule, frame), false);
            if there.is_empty() {
                kept.insert(equip.clone());
            }
            if here.is_empty() != there.is_empty() {
                told.push(format!(
                    "{equip}: whole run frame {}; the rule's columns {}",
                    listed(&here),
                    listed(&there)
                ));
            }
        }
        (!told.is_empty()).then(|| (kept, format!("{WHOLE_FRAME}: {}", told.join("; "))))
    }

    /// The gated inputs of a rule whose score over a frame is below the floor.
    fn below(&self, rule: &ChosenRule, frame: &RoleFrame, with_deciding: bool) -> Vec<Below> {
        let is_there = |role: &String| frame.columns.contains_key(role);
        let always = rule
            .inputs
            .required
            .iter()
            .chain(rule.inputs.any_of.iter().flatten());
        let deciding = rule
            .entry
            .gating_optional
            .iter()
            .find(|alternative| with_deciding && alternative.iter().all(is_there))
            .into_iter()
            .flatten();
        let gated: BTreeMap<&str, bool> = deciding
            .map(|role| (role.as_str(), true))
            .chain(always.map(|role| (role.as_str(), false)))
            .collect();
        scores(frame, View::Rules)
            .into_iter()
            .filter(|point| point.trust < self.floor)
            .filter_map(|point| {
                let is_optional = *gated.get(point.role.as_str())?;
                Some(Below {
                    role: point.role,
                    score: point.trust,
                    is_optional,
                })
            })
            .collect()
    }
}

/// The frame that 0.110 scores: what the rule wants, and the points that the site shares.
fn columns_of(rule: &ChosenRule, frame: &RunFrame) -> RoleFrame {
    let wanted: BTreeSet<&str> = rule
        .wanted
        .iter()
        .map(String::as_str)
        .chain(frame.shared_roles())
        .collect();
    let mut table = frame.table().clone();
    table
        .columns
        .retain(|role, _| wanted.contains(role.as_str()));
    table
}

fn listed(below: &[Below]) -> String {
    match below.is_empty() {
        true => "none below".to_owned(),
        false => below
            .iter()
            .map(|below| format!("{} {:.4}", below.role, below.score))
            .collect::<Vec<_>>()
            .join(", "),
    }
}
