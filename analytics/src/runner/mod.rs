//! Rules over equipment: who is judged, who declines, who is skipped, and how findings are named (Engine §4.3–§4.5).
//!
//! - [`applicability`]: inputs, class and trust of one rule on one equipment.
//! - [`units`]: units of work on several threads, with a look at the clock before each.
//! - [`outcome`]: findings, skips, and their order.
//! - [`room_fight`]: what one rule's verdict takes from another.

pub mod applicability;
pub mod outcome;
pub mod room_fight;
pub mod units;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use serde_json::{Value, json};

use self::applicability::{ClassGate, Missing, Untrusted};
pub use self::outcome::{Counts, Finding, RunOutcome, Skip, SkipReason};
pub use self::units::Cancelled;
use crate::finding::{Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::rules::{Analysis, FleetFrames};
use crate::run_config::ChosenRule;
use crate::run_frame::RunFrame;
use crate::topology::Topology;

/// How fleet findings are called unless their rule says otherwise.
const FLEET: &str = "<fleet>";

/// Trust in the points of the equipment of a run.
pub trait TrustScores: Sync {
    /// The score of a column of the frame at this place, 0 to 1; none when it is not scored.
    fn score(&self, place: usize, role: &str) -> Option<f64>;

    /// Makes the scores of a frame ready: a rule of a fleet asks for those of all frames, and that alone would be one long
    /// unit of work.
    fn prepare(&self, _place: usize) {}
}

/// Every point is trusted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unscored;

impl TrustScores for Unscored {
    fn score(&self, _: usize, _: &str) -> Option<f64> {
        None
    }
}

/// What a run is made of.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    pub rules: &'a [ChosenRule],
    /// In the order of discovery; an equipment of two entries is there twice.
    pub frames: &'a [RunFrame],
    /// As the configuration declares it.
    pub topology: Option<&'a Topology>,
    /// Lowest score that an input may have; none for no gate.
    pub floor: Option<f64>,
    pub trust: &'a dyn TrustScores,
    pub threads: NonZeroUsize,
    /// Asked before each unit of work; true ends the run.
    pub cancelled: &'a (dyn Fn() -> bool + Sync),
}

/// One rule with what is the same for all its equipment.
struct Prepared<'a> {
    rule: &'a ChosenRule,
    /// Columns that it is shown.
    seen: BTreeSet<String>,
}

/// What became of one rule on one equipment, or on the fleet.
#[derive(Default)]
struct Judged {
    finding: Option<Finding>,
    skips: Vec<Skip>,
}

#[derive(Clone, Copy)]
enum Unit {
    Equipment {
        rule: usize,
        place: usize,
    },
    /// The scores of a frame, before the rules of fleets.
    Trust {
        place: usize,
    },
    Fleet {
        rule: usize,
    },
}

impl Unit {
    /// Where what it gives stands in the order of the run: rules in theirs, equipment in that of discovery.
    fn order(self) -> (usize, usize) {
        match self {
            Self::Equipment { rule, place } => (rule, place),
            Self::Trust { .. } => (usize::MAX, 0),
            Self::Fleet { rule } => (rule, 0),
        }
    }
}

impl Run<'_> {
    /// Runs every rule over every equipment.
    ///
    /// Work is cut into units of one rule on one equipment, or one rule on the fleet.
    ///
    /// # Errors
    /// The run was cancelled; no unit was begun after that.
    pub fn outcome(&self) -> Result<RunOutcome, Cancelled> {
        let shared: BTreeSet<&str> = self
            .frames
            .iter()
            .flat_map(RunFrame::shared_roles)
            .collect();
        let prepared: Vec<Prepared<'_>> = self
            .rules
            .iter()
            .map(|rule| Prepared {
                rule,
                seen: rule
                    .wanted
                    .iter()
                    .map(String::as_str)
                    .chain(shared.iter().copied())
                    .map(str::to_owned)
                    .collect(),
            })
            .collect();
        let named = self.named_topology();
        let units = self.units(&prepared);
        let judged =
            units::in_parallel(&units, self.threads, self.cancelled, |unit| match *unit {
                Unit::Equipment { rule, place } => {
                    match (prepared.get(rule), self.frames.get(place)) {
                        (Some(prepared), Some(frame)) => self.judge_one(prepared, place, frame),
                        _ => Judged::default(),
                    }
                }
                Unit::Trust { place } => {
                    self.trust.prepare(place);
                    Judged::default()
                }
                Unit::Fleet { rule } => prepared
                    .get(rule)
                    .map(|prepared| self.judge_fleet(prepared, named.as_ref()))
                    .unwrap_or_default(),
            })?;
        let mut done: Vec<(Unit, Judged)> = units.into_iter().zip(judged).collect();
        done.sort_by_key(|(unit, _)| unit.order());
        Ok(self.gathered(done))
    }

    /// Work in the order in which it is done: all rules of one equipment while its columns are at hand, rules of fleets last.
    fn units(&self, prepared: &[Prepared<'_>]) -> Vec<Unit> {
        let (fleet, single): (Vec<usize>, Vec<usize>) = (0..prepared.len()).partition(|rule| {
            prepared
                .get(*rule)
                .is_some_and(|prepared| matches!(prepared.rule.code.analysis, Analysis::Fleet(_)))
        });
        let places = 0..self.frames.len();
        let mut units: Vec<Unit> = places
            .clone()
            .flat_map(|place| {
                single
                    .iter()
                    .map(move |rule| Unit::Equipment { rule: *rule, place })
            })
            .collect();
        if self.floor.is_some() {
            let is_asked = |place: &usize| {
                self.frames.get(*place).is_some_and(|frame| {
                    fleet
                        .iter()
                        .filter_map(|rule| prepared.get(*rule))
                        .any(|prepared| may_enter(prepared.rule, frame))
                })
            };
            units.extend(places.filter(is_asked).map(|place| Unit::Trust { place }));
        }
        units.extend(fleet.into_iter().map(|rule| Unit::Fleet { rule }));
        units
    }

    /// The guess from names, for rules that want a topology and have none declared.
    fn named_topology(&self) -> Option<Topology> {
        let wanted = self.rules.iter().any(ChosenRule::wants_topology);
        (self.topology.is_none() && wanted).then(|| {
            Topology::named(
                self.frames
                    .iter()
                    .map(|frame| (frame.equip(), frame.equip_class())),
            )
        })
    }

    fn judge_one(&self, prepared: &Prepared<'_>, place: usize, frame: &RunFrame) -> Judged {
        let rule = prepared.rule;
        let class = ClassGate::of(rule, frame.equip_class());
        let missing = Missing::of(rule, frame);
        if missing.forbids() {
            return Judged {
                skips: missing.skip(rule, frame, &class).into_iter().collect(),
                ..Judged::default()
            };
        }
        let finding = |verdict: Verdict, untrusted: Vec<Untrusted>| Judged {
            finding: Some(Finding::new(
                rule,
                frame.equip(),
                Some(place),
                verdict,
                untrusted,
            )),
            ..Judged::default()
        };
        if let ClassGate::Declines { family } = &class {
            return finding(class_decline(rule, frame.equip_class(), family), Vec::new());
        }
        let untrusted = self.untrusted(rule, place, frame);
        if !untrusted.is_empty() {
            return finding(self.trust_decline(rule, &untrusted), untrusted);
        }
        let Analysis::Equipment(analyse) = rule.code.analysis else {
            return Judged::default();
        };
        let Some(mut verdict) = analyse(&frame.seen(&prepared.seen), &rule.parameters) else {
            return Judged {
                skips: vec![Skip::new(
                    rule,
                    frame.equip(),
                    SkipReason::NoVerdict,
                    Vec::new(),
                )],
                ..Judged::default()
            };
        };
        note_missing_optional(rule, &mut verdict.metrics, |role| frame.has(role));
        if class == ClassGate::Unrecognised {
            verdict
                .caveats
                .push(unrecognised_caveat(rule, &[frame.equip_class()]));
        }
        note_param_basis(rule, &mut verdict.metrics);
        finding(verdict, Vec::new())
    }

    fn judge_fleet(&self, prepared: &Prepared<'_>, named: Option<&Topology>) -> Judged {
        let rule = prepared.rule;
        let mut skips = Vec::new();
        let mut excluded: BTreeMap<&str, &str> = BTreeMap::new();
        let mut unrecognised: BTreeSet<&str> = BTreeSet::new();
        let mut batch: Vec<&RunFrame> = Vec::new();
        let mut seen = BTreeSet::new();
        for (place, frame) in self.frames.iter().enumerate() {
            let class = ClassGate::of(rule, frame.equip_class());
            if matches!(class, ClassGate::Declines { .. }) {
                excluded.insert(frame.equip(), frame.equip_class());
                continue;
            }
            let missing = Missing::of(rule, frame);
            if missing.forbids() {
                skips.extend(missing.skip(rule, frame, &class));
                continue;
            }
            if !self.untrusted(rule, place, frame).is_empty() || !seen.insert(frame.equip()) {
                continue;
            }
            if class == ClassGate::Unrecognised {
                unrecognised.insert(frame.equip_class());
            }
            batch.push(frame);
        }
        let frames: Vec<Frame<'_>> = batch
            .iter()
            .map(|frame| frame.seen(&prepared.seen))
            .collect();
        let topology = self
            .topology
            .or_else(|| named.filter(|_| rule.wants_topology()));
        let Analysis::Fleet(analyse) = rule.code.analysis else {
            return Judged::default();
        };
        let Some(mut verdict) = analyse(&FleetFrames { frames, topology }, &rule.parameters) else {
            skips.push(Skip::new(rule, "", SkipReason::NoVerdict, Vec::new()));
            return Judged {
                finding: None,
                skips,
            };
        };
        if !excluded.is_empty() {
            let classes: BTreeSet<&str> = excluded.values().copied().collect();
            verdict.metrics.set(
                "_class_excluded",
                json!({"n": excluded.len(), "classes": classes}),
            );
        }
        if !unrecognised.is_empty() {
            let classes: Vec<&str> = unrecognised.into_iter().collect();
            verdict.caveats.push(unrecognised_caveat(rule, &classes));
        }
        if !batch.is_empty() {
            note_missing_optional(rule, &mut verdict.metrics, |role| {
                batch.iter().any(|frame| frame.has(role))
            });
        }
        note_param_basis(rule, &mut verdict.metrics);
        let equip = verdict.fleet_name.unwrap_or(FLEET);
        Judged {
            finding: Some(Finding::new(rule, equip, None, verdict, Vec::new())),
            skips,
        }
    }

    fn untrusted(&self, rule: &ChosenRule, place: usize, frame: &RunFrame) -> Vec<Untrusted> {
        match self.floor {
            Some(floor) => {
                applicability::untrusted(rule, frame, floor, |role| self.trust.score(place, role))
            }
            None => Vec::new(),
        }
    }

    fn trust_decline(&self, rule: &ChosenRule, untrusted: &[Untrusted]) -> Verdict {
        let floor = self.floor.unwrap_or_default();
        let roles: Vec<&str> = untrusted.iter().map(|input| input.role.as_str()).collect();
        let told: Vec<String> = untrusted
            .iter()
            .map(|input| format!("{} (trust {:.2})", input.role, input.score))
            .collect();
        let mut metrics = Metrics::new();
        metrics
            .set("declined", true)
            .number("min_trust", floor)
            .set("untrusted_roles", json!(roles));
        Verdict::info(
            metrics,
            format!(
                "{} declined: untrusted input(s): {}",
                rule.entry.id,
                told.join(", ")
            ),
        )
    }

    fn gathered(&self, done: Vec<(Unit, Judged)>) -> RunOutcome {
        let mut findings = Vec::new();
        let mut skipped = Vec::new();
        // Rules of one equipment that said nothing at all.
        let mut silent: BTreeSet<usize> = (0..self.rules.len()).collect();
        for (unit, judged) in done {
            let (rule, is_fleet) = match unit {
                Unit::Equipment { rule, .. } => (rule, false),
                Unit::Fleet { rule } => (rule, true),
                Unit::Trust { .. } => continue,
            };
            if is_fleet || judged.finding.is_some() || !judged.skips.is_empty() {
                silent.remove(&rule);
            }
            findings.extend(judged.finding);
            skipped.extend(judged.skips);
        }
        for rule in silent.into_iter().filter_map(|rule| self.rules.get(rule)) {
            skipped.push(Skip::of_rule(rule));
        }
        room_fight::defer(&mut findings);
        RunOutcome::of(findings, skipped, self.frames.len())
    }
}

/// Whether a rule of a fleet takes the equipment, trust aside.
fn may_enter(rule: &ChosenRule, frame: &RunFrame) -> bool {
    !matches!(
        ClassGate::of(rule, frame.equip_class()),
        ClassGate::Declines { .. }
    ) && !Missing::of(rule, frame).forbids()
}

fn class_decline(rule: &ChosenRule, class: &str, family: &'static str) -> Verdict {
    let families = &rule.entry.equip_families;
    let mut metrics = Metrics::new();
    metrics
        .set("declined", true)
        .set("reason", format!("does not apply to the class {class}"))
        .set("equip_class", class)
        .set("equip_family", family)
        .set("applies_to_classes", json!(families));
    let written_for = families.join(", ");
    Verdict::new(
        Severity::Info,
        metrics,
        format!(
            "{} declined: it judges {written_for}, and this is of the class {class}",
            rule.entry.id
        ),
    )
    .with_caveat(format!(
        "Not judged by {}, which is written for {written_for}; the class {class} is of the family {family}.",
        rule.entry.id
    ))
}

fn unrecognised_caveat(rule: &ChosenRule, classes: &[&str]) -> String {
    let told: Vec<String> = classes.iter().map(|class| format!("{class:?}")).collect();
    format!(
        "The class {} is unknown; {} (written for {}) went by the roles alone.",
        told.join(", "),
        rule.entry.id,
        rule.entry.equip_families.join(", ")
    )
}

fn note_missing_optional(
    rule: &ChosenRule,
    metrics: &mut Metrics,
    is_there: impl Fn(&str) -> bool,
) {
    const KEY: &str = "_missing_optional";
    if metrics.get(KEY).is_some() {
        return;
    }
    let missing: Vec<&str> = rule
        .inputs
        .optional
        .iter()
        .map(String::as_str)
        .filter(|role| !is_there(role))
        .collect();
    if !missing.is_empty() {
        metrics.set(KEY, json!(missing));
    }
}

fn note_param_basis(rule: &ChosenRule, metrics: &mut Metrics) {
    if !rule.param_basis.is_empty() {
        metrics.set("param_basis", Value::Object(rule.param_basis.clone()));
    }
}

#[cfg(test)]
mod tests;
