//! Families over equipment (Drift §2.2–§2.5).

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use serde_json::json;

use super::book::{Baselines, Basis};
use super::detector::{Case, Detector, Inputs, Judged};
use super::diagnosis;
use super::frozen::FrozenBaselines;
use super::outcome::{
    DriftOutcome, EVERY_DETECTOR_DECLINED, FamilyRun, IS_REFERENCE, NO_ROLE, Said, Unevaluated,
};
use super::windows::Side;
use crate::finding::{Metrics, Verdict};
use crate::run_config::section::did_you_mean;
use crate::run_config::{DriftEntry, DriftReference, WrittenWindow};
use crate::run_frame::RunFrame;
use crate::runner::applicability::{ClassGate, Untrusted};
use crate::runner::units::{self, Cancelled};
use crate::runner::{Finding, TrustScores};
use crate::wall_clock::Window;

/// What the class `TERMINAL` stands for.
const TERMINAL: [&str; 3] = ["VAV", "CAV", "FCAV"];

/// What a run is made of.
#[derive(Clone, Copy)]
pub struct DriftRun<'a> {
    pub entries: &'a [DriftEntry],
    /// In the order of discovery.
    pub frames: &'a [RunFrame],
    /// Only these are judged; the others are there as references. None for all.
    pub judged: Option<&'a BTreeSet<String>>,
    /// Read for families without a reference.
    pub frozen: Option<&'a FrozenBaselines>,
    /// Facility and site: under which baselines may be frozen.
    pub sites: &'a [String],
    /// What baselines that are fitted for this run are told to be from.
    pub run_id: &'a str,
    pub elevation_ft: Option<f64>,
    /// Lowest score that an input may have; none for no gate.
    pub floor: Option<f64>,
    pub trust: &'a dyn TrustScores,
    pub threads: NonZeroUsize,
    /// Asked before each unit of work; true ends the run.
    pub cancelled: &'a (dyn Fn() -> bool + Sync),
}

/// Why a run gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DriftError {
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    #[error(
        "drift.families: the reference {equip:?} of the family {family} is no equipment of the run{hint}; name one that the \
         configuration takes"
    )]
    NoReference {
        equip: String,
        family: &'static str,
        /// Names that are near.
        hint: String,
    },
}

/// Runs every family over its equipment; a unit of work is one family on one equipment.
///
/// # Errors
/// The run was cancelled, or a reference is no equipment of the run.
pub fn run(run: &DriftRun<'_>) -> Result<DriftOutcome, DriftError> {
    let plans = run
        .entries
        .iter()
        .map(|entry| Plan::of(run, entry))
        .collect::<Result<Vec<_>, _>>()?;
    let units: Vec<(usize, usize)> = plans
        .iter()
        .enumerate()
        .flat_map(|(plan, prepared)| prepared.places.iter().map(move |place| (plan, *place)))
        .collect();
    let judged = units::in_parallel(&units, run.threads, run.cancelled, |(plan, place)| {
        plans
            .get(*plan)
            .zip(run.frames.get(*place))
            .map(|(plan, frame)| plan.judge(run, *place, frame))
            .unwrap_or_default()
    })?;
    let mut outcome = DriftOutcome::default();
    let mut judged = judged.into_iter();
    for plan in &plans {
        let of_plan = judged.by_ref().take(plan.places.len()).collect();
        plan.gather(run, of_plan, &mut outcome);
    }
    outcome.sort();
    Ok(outcome)
}

/// One entry, ready to run.
struct Plan<'a> {
    entry: &'a DriftEntry,
    detectors: Vec<Box<dyn Detector>>,
    told: FamilyRun,
    basis: Basis,
    /// The frame of the reference.
    reference: Option<(usize, &'a RunFrame)>,
    /// Frames that are judged.
    places: Vec<usize>,
}

impl<'a> Plan<'a> {
    fn of(run: &DriftRun<'a>, entry: &'a DriftEntry) -> Result<Self, DriftError> {
        let own = |window: &Option<WrittenWindow>| window.clone().unwrap_or_default();
        let ends = |window: &WrittenWindow| {
            let text = |end: &Option<String>| end.clone().unwrap_or_default();
            (text(&window.start), text(&window.end))
        };
        let mut reference = None;
        let (baseline, current, basis, told) = match &entry.reference {
            None => (
                own(&entry.baseline),
                own(&entry.current),
                Basis::Frozen,
                None,
            ),
            Some(DriftReference::Period(period)) => {
                let (start, end) = ends(period);
                let current = entry.current.clone().unwrap_or_else(|| WrittenWindow {
                    start: period.end.clone(),
                    end: None,
                    window: Window {
                        start: period.window.end,
                        end: None,
                    },
                });
                let told = format!("period {start} .. {end}");
                (
                    period.clone(),
                    current,
                    Basis::Period { start, end },
                    Some(told),
                )
            }
            Some(DriftReference::Equipment { equip, period }) => {
                let place = run.frames.iter().position(|frame| frame.equip() == equip);
                let found = place.and_then(|place| Some((place, run.frames.get(place)?)));
                reference = Some(found.ok_or_else(|| DriftError::NoReference {
                    equip: equip.clone(),
                    family: entry.family.word(),
                    hint: did_you_mean(equip, run.frames.iter().map(RunFrame::equip)),
                })?);
                let baseline = period.clone().or_else(|| entry.baseline.clone());
                let basis = Basis::Reference {
                    equip: equip.clone(),
                    period: period.as_ref().map(ends),
                };
                let told = format!("equipment {equip}");
                (
                    baseline.unwrap_or_default(),
                    own(&entry.current),
                    basis,
                    Some(told),
                )
            }
        };
        let is_of_class = |class: &str| {
            entry.class == class || (entry.class == "TERMINAL" && TERMINAL.contains(&class))
        };
        let mut seen = BTreeSet::new();
        let places = run
            .frames
            .iter()
            .enumerate()
            .filter(|(_, frame)| {
                is_of_class(frame.equip_class())
                    && run
                        .judged
                        .is_none_or(|judged| judged.contains(frame.equip()))
                    && seen.insert(frame.equip())
            })
            .map(|(place, _)| place)
            .collect();
        Ok(Self {
            detectors: entry.family.detectors(entry),
            told: FamilyRun {
                equip_class: entry.class.clone(),
                family: entry.family,
                baseline,
                current,
                reference: told,
            },
            entry,
            basis,
            reference,
            places,
        })
    }

    /// What every detector says of one equipment; none where it was skipped.
    fn judge(&self, run: &DriftRun<'_>, place: usize, frame: &RunFrame) -> Vec<Option<Said>> {
        let nothing = FrozenBaselines::default();
        let baselines = match self.entry.reference {
            Some(_) => Baselines::scratch(run.run_id),
            None => Baselines::Frozen {
                store: run.frozen.unwrap_or(&nothing),
                sites: run.sites,
                equip: frame.equip(),
            },
        };
        self.detectors
            .iter()
            .map(|detector| {
                let inputs = detector.inputs();
                let (judged, untrusted) =
                    self.one(run, detector.as_ref(), &inputs, (place, frame), &baselines)?;
                let mut verdict = judged.verdict;
                if verdict.metrics.get("declined").is_none() {
                    note_missing_optional(&inputs, frame, &mut verdict.metrics);
                }
                if let Some(source) = self.basis.source() {
                    verdict.metrics.set("baseline_source", source);
                }
                verdict.caveats.extend(self.basis.caveat());
                let finding = Finding {
                    id: String::new(),
                    rule: detector.rule().to_owned(),
                    equip: frame.equip().to_owned(),
                    place: Some(place),
                    verdict,
                    untrusted,
                };
                Some(Said {
                    finding,
                    traces: judged.traces,
                    reads: inputs.all(),
                })
            })
            .collect()
    }

    fn one(
        &self,
        run: &DriftRun<'_>,
        detector: &dyn Detector,
        inputs: &Inputs,
        (place, frame): (usize, &RunFrame),
        baselines: &Baselines<'_>,
    ) -> Option<(Judged, Vec<Untrusted>)> {
        let rule = detector.rule();
        let roles: BTreeSet<String> = inputs.all().iter().map(|role| (*role).to_owned()).collect();
        let side = resolved(inputs, frame, &roles)?;
        let class = ClassGate::of_families(detector.equip_families(), frame.equip_class());
        if let ClassGate::Declines { family } = class {
            let judged = class_decline(detector, frame, family);
            return Some((judged, Vec::new()));
        }
        let untrusted = self.untrusted(run, inputs, place, frame);
        if !untrusted.is_empty() {
            return Some((trust_decline(run, rule, frame, &untrusted), untrusted));
        }
        let baseline = match self.reference {
            None => side.clone(),
            Some((at, _)) if at == place => {
                return Some((
                    decline(frame, rule, "is_reference", "it is the declared reference"),
                    Vec::new(),
                ));
            }
            Some((at, reference)) => {
                let Some(known_good) = resolved(inputs, reference, &roles) else {
                    let told = "the reference has not got its inputs";
                    return Some((
                        decline(frame, rule, "reference_missing_inputs", told),
                        Vec::new(),
                    ));
                };
                if !self.untrusted(run, inputs, at, reference).is_empty() {
                    let told = "an input of the reference is below the trust floor";
                    return Some((
                        decline(frame, rule, "reference_untrusted", told),
                        Vec::new(),
                    ));
                }
                if known_good.within(self.told.baseline.window).is_empty() {
                    let told = "the reference has no samples in its window";
                    return Some((decline(frame, rule, "empty_reference", told), Vec::new()));
                }
                known_good
            }
        };
        let case = Case {
            equip: frame.equip(),
            baseline: baseline.within(self.told.baseline.window),
            current: side.within(self.told.current.window),
            baselines,
            basis: &self.basis,
            elevation_ft: run.elevation_ft,
        };
        let empty: Vec<&str> = [("baseline", &case.baseline), ("current", &case.current)]
            .into_iter()
            .filter(|(_, side)| side.is_empty())
            .map(|(name, _)| name)
            .collect();
        if !empty.is_empty() {
            return Some((empty_decline(frame, rule, &empty), Vec::new()));
        }
        let mut judged = detector.judge(&case);
        if class == ClassGate::Unrecognised {
            judged.verdict.caveats.push(format!(
                "The class {:?} is unknown; {rule} (written for {}) went by the roles alone.",
                frame.equip_class(),
                detector.equip_families().join(", ")
            ));
        }
        Some((judged, Vec::new()))
    }

    /// Inputs below the floor, the optional ones among them, when a required one or one of a group is.
    fn untrusted(
        &self,
        run: &DriftRun<'_>,
        inputs: &Inputs,
        place: usize,
        frame: &RunFrame,
    ) -> Vec<Untrusted> {
        let Some(floor) = run.floor else {
            return Vec::new();
        };
        let below = |role: &&'static str| {
            if !frame.has(role) {
                return None;
            }
            let score = run
                .trust
                .score(place, role)
                .filter(|score| *score < floor)?;
            Some(Untrusted {
                role: (*role).to_owned(),
                score,
            })
        };
        let groups = inputs.any_of.iter().flatten();
        let is_gated = inputs
            .required
            .iter()
            .chain(groups)
            .any(|role| below(role).is_some());
        match is_gated {
            true => inputs.all().iter().filter_map(below).collect(),
            false => Vec::new(),
        }
    }

    /// Findings in the order of the run: detector by detector, each over all equipment.
    fn gather(&self, run: &DriftRun<'_>, said: Vec<Vec<Option<Said>>>, outcome: &mut DriftOutcome) {
        let family = self.entry.family;
        let names: Vec<(usize, &str)> = self
            .places
            .iter()
            .filter_map(|place| Some((*place, run.frames.get(*place)?.equip())))
            .collect();
        let mut silent = Vec::new();
        for ((place, equip), of_equip) in names.iter().zip(&said) {
            let own: Vec<&Finding> = of_equip
                .iter()
                .flatten()
                .map(|said| &said.finding)
                .collect();
            let is_reference = self.reference.is_some_and(|(at, _)| at == *place);
            let reason = if own.is_empty() {
                silent.push((*place, *equip));
                Some(NO_ROLE)
            } else if own.iter().any(|finding| !finding.is_declined()) {
                None
            } else if is_reference {
                Some(IS_REFERENCE)
            } else {
                Some(EVERY_DETECTOR_DECLINED)
            };
            match reason {
                Some(reason) => outcome.unevaluated.push(Unevaluated {
                    family,
                    equip: (*equip).to_owned(),
                    reason,
                }),
                None => outcome.diagnoses.push(diagnosis::of(family, equip, &own)),
            }
        }
        let mut by_detector: Vec<Vec<Said>> = self.detectors.iter().map(|_| Vec::new()).collect();
        for of_equip in said {
            for (list, one) in by_detector.iter_mut().zip(of_equip) {
                list.extend(one);
            }
        }
        let mut found: Vec<Said> = by_detector.into_iter().flatten().collect();
        found.extend(silent.into_iter().map(|(place, equip)| Said {
            finding: self.silent(place, equip),
            traces: Vec::new(),
            reads: Vec::new(),
        }));
        outcome.take_findings(family, found);
        outcome.families.push(self.told.clone());
    }

    /// Of an equipment that no detector can judge.
    fn silent(&self, place: usize, equip: &str) -> Finding {
        let word = self.entry.family.word();
        let mut roles: Vec<&str> = Vec::new();
        for role in self
            .detectors
            .iter()
            .flat_map(|detector| detector.inputs().required)
        {
            if !roles.contains(&role) {
                roles.push(role);
            }
        }
        let mut metrics = Metrics::new();
        metrics
            .set("declined", true)
            .set("family", word)
            .set("roles_required", json!(roles));
        let verdict = Verdict::info(
            metrics,
            format!("{equip}: declined, it has the inputs of no detector of the family {word}"),
        )
        .with_caveat(format!(
            "Not judged: the family {word} reads {}.",
            roles.join(", ")
        ));
        Finding {
            id: String::new(),
            rule: format!("drift:{word}"),
            equip: equip.to_owned(),
            place: Some(place),
            verdict,
            untrusted: Vec::new(),
        }
    }
}

/// The rows of an equipment that stores what a detector needs; none when it cannot run there. A point of the site alone
/// makes nothing to judge.
fn resolved<'f>(
    inputs: &Inputs,
    frame: &'f RunFrame,
    roles: &'f BTreeSet<String>,
) -> Option<Side<'f>> {
    let stores_some = roles.iter().any(|role| frame.stores(role));
    let side = Side::whole(frame.seen(roles));
    (stores_some && !side.is_empty() && inputs.are_there(|role| frame.has(role))).then_some(side)
}

fn decline(frame: &RunFrame, rule: &str, reason: &str, told: &str) -> Judged {
    let mut metrics = Metrics::new();
    metrics.set("declined", true).set("reason", reason);
    Judged::of(Verdict::info(
        metrics,
        format!("{}: {rule} declined: {told}", frame.equip()),
    ))
}

fn empty_decline(frame: &RunFrame, rule: &str, empty: &[&str]) -> Judged {
    let mut metrics = Metrics::new();
    metrics
        .set("declined", true)
        .set("empty_periods", json!(empty));
    Judged::of(
        Verdict::info(
            metrics,
            format!(
                "{}: {rule} declined: no samples in the {} window",
                frame.equip(),
                empty.join(" and in the ")
            ),
        )
        .with_caveat("Its inputs have no samples at all in a window that is to be compared."),
    )
}

fn class_decline(detector: &dyn Detector, frame: &RunFrame, family: &'static str) -> Judged {
    let families = detector.equip_families();
    let (rule, class) = (detector.rule(), frame.equip_class());
    let mut metrics = Metrics::new();
    metrics
        .set("declined", true)
        .set("equip_class", class)
        .set("equip_family", family)
        .set(
            "reason",
            format!("not applicable to equipment class '{class}'"),
        )
        .set("applies_to_classes", json!(families));
    let written_for = families.join(", ");
    Judged::of(
        Verdict::info(
            metrics,
            format!("{}: {rule} declined: it judges {written_for}, and this is of the class {class}", frame.equip()),
        )
        .with_caveat(format!(
            "Not judged by {rule}, which is written for {written_for}; the class {class} is of the family {family}."
        )),
    )
}

fn trust_decline(
    run: &DriftRun<'_>,
    rule: &str,
    frame: &RunFrame,
    untrusted: &[Untrusted],
) -> Judged {
    let roles: Vec<&str> = untrusted.iter().map(|input| input.role.as_str()).collect();
    let told: Vec<String> = untrusted
        .iter()
        .map(|input| format!("{} (trust {:.2})", input.role, input.score))
        .collect();
    let mut metrics = Metrics::new();
    metrics
        .set("declined", true)
        .number("min_trust", run.floor.unwrap_or_default())
        .set("untrusted_roles", json!(roles));
    Judged::of(Verdict::info(
        metrics,
        format!(
            "{}: {rule} declined: untrusted input(s): {}",
            frame.equip(),
            told.join(", ")
        ),
    ))
}

fn note_missing_optional(inputs: &Inputs, frame: &RunFrame, metrics: &mut Metrics) {
    let missing: Vec<&str> = inputs
        .optional
        .iter()
        .copied()
        .filter(|role| !frame.has(role))
        .collect();
    if !missing.is_empty() {
        metrics.set("_missing_optional", json!(missing));
    }
}
