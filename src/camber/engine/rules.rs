//! One run of the rules over a facility, as `rule_run` and `finding_detail` make it (Engine §4.3).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use niagara_analytics::RunFrame;
use niagara_analytics::rules::Analysis;
use niagara_analytics::run_config::{ChosenRule, RuleRequest};
use niagara_analytics::runner::{Finding, Run, RunOutcome, TrustScores, room_fight};
use niagara_analytics::trust::references::Comparisons;
use niagara_analytics::trust::{self, View};
use serde_json::{Map, Value};

use super::{RunGround, frames, oversights, references, refused};
use crate::camber::call::Call;
use crate::camber::error::CapabilityError;

/// A run and what it was made of.
pub struct RuleRun<'a> {
    pub ground: RunGround<'a>,
    pub rules: Vec<ChosenRule>,
    pub frames: Vec<RunFrame>,
    pub outcome: RunOutcome,
    /// Points against the references of the configuration.
    pub comparisons: Comparisons,
    /// The trust floor of the run.
    pub floor: f64,
}

/// A run of which everything is known but what its data say.
pub struct PreparedRun<'a> {
    pub ground: RunGround<'a>,
    pub rules: Vec<ChosenRule>,
    /// The one rule and the equipment that are looked at, where nothing else of the run bears on them.
    only: Option<(String, BTreeSet<String>)>,
}

impl<'a> PreparedRun<'a> {
    /// The same run, of which only what a rule finds on one equipment will be asked: no other equipment is read and no other
    /// rule runs, as far as they do not bear on it. `equips` are the ids that may be meant.
    ///
    /// The whole run is made for rules of fleets, for verdicts that one rule takes from another, for points that are compared
    /// with those of other equipment, and for equipment with an outdoor temperature of its own that the rule sees only
    /// because the site shares one.
    #[must_use]
    pub fn only(mut self, rule: &str, equips: BTreeSet<String>) -> Self {
        const SHARED: &str = "oat";
        let ground = &self.ground;
        let stores_shared = |equip: &String| {
            let point = (equip.clone(), SHARED.to_owned());
            ground.points.points.contains(&point)
        };
        let is_alone = self.rules.iter().any(|chosen| {
            let sees_shared = chosen.wanted.iter().any(|role| role == SHARED);
            chosen.entry.id == rule
                && matches!(chosen.code.analysis, Analysis::Equipment(_))
                && !room_fight::takes_part(rule)
                && (sees_shared
                    || ground.config.shared_oat.is_none()
                    || !equips.iter().any(stores_shared))
        });
        if is_alone && ground.config.references.is_empty() {
            self.only = Some((rule.to_owned(), equips));
        }
        self
    }

    /// Reads the samples and runs the rules.
    ///
    /// # Errors
    /// As [`frames::load`]; the call's time is over.
    pub fn run(self, call: &Call<'a>) -> Result<RuleRun<'a>, CapabilityError> {
        let Self {
            mut ground,
            mut rules,
            only,
        } = self;
        let topology = ground.topology(call);
        if let Some((rule, equips)) = only {
            rules.retain(|chosen| chosen.entry.id == rule);
            ground
                .equipment
                .retain(|found| equips.contains(&found.equip));
        }
        let frames = frames::load(call, &ground)?;
        let comparisons = references::comparisons(call, &ground, &frames)?;
        let floor = ground.config.trust_floor(call.caller.min_trust);
        let trust = FrameTrust::of(&frames);
        let outcome = Run {
            rules: &rules,
            frames: &frames,
            topology: topology.as_ref().map(|resolved| &resolved.topology),
            floor: Some(floor),
            trust: &trust,
            threads: call.workspace.threads,
            cancelled: &|| call.watch.is_over(),
        }
        .outcome()
        .map_err(|_| call.watch.overdue())?;
        Ok(RuleRun {
            ground,
            rules,
            frames,
            outcome,
            comparisons,
            floor,
        })
    }
}

impl<'a> RuleRun<'a> {
    /// Runs the rules that the arguments `facility_id`, `rules`, `params`, `equips`, `start` and `end` ask for.
    ///
    /// # Errors
    /// As [`RunGround::of`] and [`frames::load`], or a rule or parameter is refused.
    pub fn of(call: &Call<'a>, arguments: &Map<String, Value>) -> Result<Self, CapabilityError> {
        Self::prepare(call, arguments)?.run(call)
    }

    /// The same up to where samples are read.
    ///
    /// # Errors
    /// As [`RunGround::of`], or a rule or parameter is refused.
    pub fn prepare(
        call: &Call<'a>,
        arguments: &Map<String, Value>,
    ) -> Result<PreparedRun<'a>, CapabilityError> {
        let mut ground = RunGround::of(call, arguments)?;
        let asked: Option<Vec<String>> =
            arguments
                .get("rules")
                .and_then(Value::as_array)
                .map(|names| {
                    names
                        .iter()
                        .filter_map(Value::as_str)
                        .map(str::to_owned)
                        .collect()
                });
        let request = RuleRequest {
            rules: asked.as_deref(),
            params: arguments.get("params").and_then(Value::as_object),
        };
        let rules = ground
            .config
            .chosen_rules(request)
            .map_err(|error| refused(&error))?;
        ground.notices.extend(oversights::of_params(request.params));
        Ok(PreparedRun {
            ground,
            rules,
            only: None,
        })
    }

    /// The rule of a finding.
    pub fn rule(&self, finding: &Finding) -> Option<&ChosenRule> {
        self.rules.iter().find(|rule| rule.entry.id == finding.rule)
    }

    /// The frame of a finding; none for a fleet.
    pub fn frame(&self, finding: &Finding) -> Option<&RunFrame> {
        self.frames.get(finding.place?)
    }

    /// Findings of checks that were declined for the sake of an input below the trust floor.
    pub fn untrusted(&self) -> Vec<&Finding> {
        self.outcome
            .findings
            .iter()
            .filter(|finding| !finding.untrusted.is_empty())
            .collect()
    }
}

/// Trust in the columns of frames, scored when a rule first asks.
pub(super) struct FrameTrust<'a> {
    frames: &'a [RunFrame],
    scores: Vec<OnceLock<BTreeMap<String, f64>>>,
}

impl<'a> FrameTrust<'a> {
    pub(super) fn of(frames: &'a [RunFrame]) -> Self {
        Self {
            frames,
            scores: frames.iter().map(|_| OnceLock::new()).collect(),
        }
    }
}

impl FrameTrust<'_> {
    fn of_place(&self, place: usize) -> Option<&BTreeMap<String, f64>> {
        let frame = self.frames.get(place)?;
        let scored = self.scores.get(place)?.get_or_init(|| {
            trust::scores(frame.table(), View::Rules)
                .into_iter()
                .map(|point| (point.role, point.trust))
                .collect()
        });
        Some(scored)
    }
}

impl TrustScores for FrameTrust<'_> {
    fn score(&self, place: usize, role: &str) -> Option<f64> {
        self.of_place(place)?.get(role).copied()
    }

    fn prepare(&self, place: usize) {
        self.of_place(place);
    }
}
