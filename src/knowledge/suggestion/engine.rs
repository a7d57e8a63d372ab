//! From points to proposals: groups, drafts, what neighbours agree on.

use super::draft::{Draft, Site};
use super::evidence::LEAST;
use super::grouping::groups;
use super::proposal::{Ids, proposal};
use super::quantity::Quantity;
use super::reading::{Readings, Subject};
use super::siblings::{Consensus, MappedNames, Neighbours};
use super::vocabulary::vocabulary;
use super::words::pieces;
use super::{DescribedPoint, EquipmentProposal, shipped};
use crate::knowledge::{Equipment, KnowledgeModel};
use crate::station::ord::{Ord, SlotName, SlotPath};

/// Confidences between which more evidence would help.
const UNCERTAIN: std::ops::Range<f64> = 0.25..0.93;

/// How much of its distance to the neighbours a doubtful point gains.
const PULL: f64 = 0.8;

/// What is left of the neighbours' confidence for a point that does not say the same of itself.
const FOLLOWS: f64 = 0.9;

/// Proposals for points, in the order of the points.
pub fn propose(points: &[DescribedPoint], model: &KnowledgeModel) -> Vec<EquipmentProposal> {
    let data = shipped();
    let subjects: Vec<Subject> = points.iter().map(subject).collect();
    let paths: Vec<&SlotPath> = points.iter().map(|point| &point.path).collect();
    let groups = groups(&data.lexicon, &paths);
    let types = vocabulary(data, model);
    let site = Site {
        data,
        points,
        subjects: &subjects,
        types: &types,
        mapped: &MappedNames::of(model, &types),
        equipment: model
            .document()
            .equipment
            .iter()
            .filter_map(|entry| Some((component(entry)?, entry)))
            .collect(),
    };
    let mut readings = Readings::new(&data.lexicon, &data.clues, &subjects);
    readings.learn_languages(&groups);
    let mut drafts: Vec<Draft<'_>> = groups
        .iter()
        .map(|group| Draft::of(&site, group, &mut readings))
        .collect();
    learn_from_neighbours(&mut drafts);
    let mut ids = Ids::of(model);
    drafts
        .into_iter()
        .map(|draft| proposal(draft, &site, &mut ids))
        .collect()
}

/// Points of proposals whose role more evidence could settle, the most promising first.
pub fn uncertain(proposals: &[EquipmentProposal]) -> Vec<usize> {
    let mut found: Vec<(f64, usize)> = proposals
        .iter()
        .flat_map(|equipment| &equipment.points)
        .filter_map(|point| Some((point.role.as_ref()?.confidence, point.point)))
        .filter(|(confidence, _)| UNCERTAIN.contains(confidence))
        .collect();
    found.sort_by(|one, two| two.0.total_cmp(&one.0).then(one.1.cmp(&two.1)));
    found.into_iter().map(|(_, point)| point).collect()
}

fn component(entry: &Equipment) -> Option<SlotPath> {
    let ord = Ord::component(entry.ord.as_deref()?).ok()?;
    ord.slot_path().cloned()
}

fn subject(point: &DescribedPoint) -> Subject {
    let slot = point.path.name().map(SlotName::display).unwrap_or_default();
    Subject {
        quantity: Quantity::of(point.kind, point.unit.as_ref()),
        display: (!point.display_name.is_empty() && point.display_name != slot)
            .then(|| pieces(&point.display_name)),
    }
}

/// Equal names on equipment of one kind have equal roles: a doubtful point follows its neighbours.
fn learn_from_neighbours(drafts: &mut [Draft<'_>]) {
    let mut neighbours = Neighbours::default();
    for draft in drafts.iter() {
        let Some(family) = draft.family() else {
            continue;
        };
        for point in &draft.points {
            neighbours.add(family, point.member, point.role());
        }
    }
    for draft in drafts {
        let Some(family) = draft.family() else {
            continue;
        };
        for at in 0..draft.points.len() {
            let point = draft.points.get(at);
            let consensus = point.and_then(|point| neighbours.consensus(family, point.member));
            if let Some(consensus) = consensus {
                follow(draft, at, &consensus);
            }
        }
    }
}

fn follow(draft: &mut Draft<'_>, at: usize, consensus: &Consensus) {
    let is_free = !draft.has(&consensus.role);
    let Some(point) = draft.points.get_mut(at) else {
        return;
    };
    let held = point.role().is_some_and(|(role, _)| role == consensus.role);
    let raised = match point.chosen {
        Some((candidate, confidence)) if held => {
            let gain = PULL * (consensus.confidence - confidence).max(0.0);
            Some((candidate, confidence + gain))
        }
        _ if consensus.is_pattern && is_free => point
            .considered
            .iter()
            .position(|one| one.role == consensus.role && one.is_of_type && one.confidence >= LEAST)
            .map(|candidate| (candidate, consensus.confidence * FOLLOWS)),
        _ => None,
    };
    if raised.is_some() {
        let others = consensus.count - usize::from(held);
        let neighbours = if others == 1 {
            "1 neighbour with the same point has this role".to_owned()
        } else {
            format!("{others} neighbours with the same point have this role")
        };
        point.chosen = raised;
        point.neighbours = Some(neighbours);
    }
}
