//! Complaints of zones that their air handler explains (RCx report §3.4).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::ReportInput;
use super::items::Item;
use super::samples::{Mask, Overlap};
use super::units::Unit;
use crate::finding::Judgement;
use crate::topology::Topology;

/// One way in which an air handler troubles its zones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Chain {
    SupplyHigh,
    SupplyLow,
    StaticLow,
}

impl Chain {
    const ALL: [Self; 3] = [Self::SupplyHigh, Self::SupplyLow, Self::StaticLow];

    /// What the air handler does, for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::SupplyHigh => "supply air too warm",
            Self::SupplyLow => "supply air too cold",
            Self::StaticLow => "duct pressure too low",
        }
    }

    /// The fault condition of Guideline 36 that is a root, if one is.
    const fn condition(self) -> Option<&'static str> {
        match self {
            Self::SupplyHigh => Some("FC13"),
            Self::StaticLow => Some("FC1"),
            Self::SupplyLow => None,
        }
    }

    /// Whether a finding of an air handler is a root.
    pub fn is_root(self, item: &Item<'_>) -> bool {
        if !item.is_actionable() {
            return false;
        }
        if item.rule == "g36_afdd" {
            return self.condition().is_some_and(|name| flags(item, name));
        }
        let figure = |name: &str| item.number(name).unwrap_or(0.0);
        let (warm, cold) = (figure("too_warm_pct"), figure("too_cold_pct"));
        let is = |name: &str| item.flag(name) == Some(true);
        match (self, &*item.rule) {
            (Self::SupplyHigh, "supply_air_control") => warm > 0.0 && warm >= cold,
            (Self::SupplyHigh, "sat_reset_effectiveness") => is("not_responding"),
            (Self::SupplyLow, "supply_air_control") => cold > warm,
            (Self::SupplyLow, "supply_air_reset") => true,
            (Self::SupplyLow, "supply_air_reset_compliance") => {
                is_at_least(item, "pct_below_target", "warn_pct_threshold")
                    && is_at_least(item, "mean_gap_f", "warn_gap_floor_f")
            }
            (Self::SupplyLow, "sat_reset_effectiveness") => {
                is("not_trimming") && !is("not_responding")
            }
            (Self::StaticLow, "static_reset_effectiveness") => is("not_responding"),
            _ => false,
        }
    }

    /// Whether a finding of a zone is what the chain does to it.
    pub fn is_symptom(self, item: &Item<'_>) -> bool {
        if !item.is_actionable() {
            return false;
        }
        let leads = |one: &str, other: &str| {
            let figure = |name: &str| item.number(name).unwrap_or(0.0);
            figure(one) > 0.0 && figure(one) >= figure(other)
        };
        match (self, &*item.rule) {
            (Self::SupplyHigh | Self::StaticLow, "unmet_setpoint_hours") => {
                leads("too_hot_pct", "too_cold_pct")
            }
            (
                Self::SupplyLow,
                "overcooling_min_flow"
                | "overcooling_severity"
                | "reheat_penalty"
                | "reheat_minimization_g36",
            ) => true,
            (Self::StaticLow, "airflow_tracking") => leads("undershoot_pct", "overshoot_pct"),
            _ => false,
        }
    }
}

fn is_at_least(item: &Item<'_>, figure: &str, limit: &str) -> bool {
    match (item.number(figure), item.number(limit)) {
        (Some(value), Some(limit)) => value >= limit,
        _ => false,
    }
}

fn flags(item: &Item<'_>, condition: &str) -> bool {
    match item.verdict.metrics.get("flagged_fcs") {
        Some(Value::Array(names)) => names.iter().any(|name| name == condition),
        _ => false,
    }
}

/// What one root and its chain came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ChainTally {
    pub served: usize,
    /// Equipment that joined, and the rules that it joined by.
    pub joined: BTreeSet<String>,
    pub rules: BTreeSet<String>,
    pub n_joined: usize,
    /// Findings that joined without samples to compare.
    pub not_assessed: usize,
    /// Findings of other hours, which did not join.
    pub out_of_hours: usize,
    /// Findings that rest on a sensor, which did not join.
    pub conditional: usize,
}

/// Everything that chains of zones tell.
#[derive(Debug, Clone, Default)]
pub(super) struct ZoneChains {
    /// Items of zones, each with the root item whose bucket it joins.
    pub moved: BTreeMap<usize, usize>,
    pub tallies: BTreeMap<(usize, Chain), ChainTally>,
    /// Zones with a complaint that nothing links to an air handler.
    pub unlinked: BTreeSet<String>,
}

/// Finds the chains. `judgements` are the samples behind items, `conditional` tells which items rest on a sensor.
pub(super) fn find(
    input: &ReportInput<'_>,
    items: &[Item<'_>],
    units: &[Unit],
    judgements: &BTreeMap<usize, Judgement>,
    conditional: &BTreeSet<usize>,
) -> ZoneChains {
    let roots = roots(items, conditional);
    let mut found = ZoneChains::default();
    let is_root: BTreeSet<usize> = Chain::ALL
        .into_iter()
        .flat_map(|chain| {
            items
                .iter()
                .enumerate()
                .filter(move |(_, item)| chain.is_root(item))
                .map(|(place, _)| place)
        })
        .collect();
    for (place, item) in items.iter().enumerate() {
        if is_root.contains(&place) {
            continue;
        }
        for chain in Chain::ALL {
            if !chain.is_symptom(item) || !roots.keys().any(|(of, _)| *of == chain) {
                continue;
            }
            let parents = input
                .topology
                .map_or(&[][..], |topology| topology.parents_of(&item.equip));
            if parents.is_empty() {
                found.unlinked.insert(item.equip.to_string());
                continue;
            }
            let Some(root) = input.topology.and_then(|topology| {
                nearest(topology, &item.equip, |equip| {
                    roots.get(&(chain, equip.to_owned())).copied()
                })
            }) else {
                continue;
            };
            let tally = found.tallies.entry((root, chain)).or_default();
            if conditional.contains(&place) {
                tally.conditional += 1;
                continue;
            }
            match overlap(input, (items, units, judgements), root, place, chain) {
                Some(false) => {
                    tally.out_of_hours += 1;
                    continue;
                }
                Some(true) => {}
                None => tally.not_assessed += 1,
            }
            tally.n_joined += 1;
            tally.joined.insert(item.equip.to_string());
            tally.rules.insert(item.rule.to_string());
            found.moved.insert(place, root);
            break;
        }
    }
    if let Some(topology) = input.topology {
        for ((root, _), tally) in &mut found.tallies {
            let equip = items.get(*root).map_or("", |item| &*item.equip);
            tally.served = served(topology, equip, input);
        }
    }
    found
}

/// The worst root of each chain and equipment; of equal ones the first by the name of its rule.
fn roots(items: &[Item<'_>], conditional: &BTreeSet<usize>) -> BTreeMap<(Chain, String), usize> {
    let mut roots: BTreeMap<(Chain, String), usize> = BTreeMap::new();
    let rank = |place: usize| {
        items
            .get(place)
            .map(|item| (item.severity(), item.rule.to_string()))
    };
    for chain in Chain::ALL {
        for (place, item) in items.iter().enumerate() {
            if !chain.is_root(item) || conditional.contains(&place) {
                continue;
            }
            roots
                .entry((chain, item.equip.to_string()))
                .and_modify(|best| {
                    if rank(place) < rank(*best) {
                        *best = place;
                    }
                })
                .or_insert(place);
        }
    }
    roots
}

/// The first ancestor that has what is looked for, level by level.
pub(super) fn nearest<T>(
    topology: &Topology,
    equip: &str,
    find: impl Fn(&str) -> Option<T>,
) -> Option<T> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut level: Vec<&str> = topology
        .parents_of(equip)
        .iter()
        .map(String::as_str)
        .collect();
    while !level.is_empty() {
        level.sort_unstable();
        level.dedup();
        if let Some(found) = level.iter().find_map(|equip| find(equip)) {
            return Some(found);
        }
        seen.extend(level.iter().copied());
        level = level
            .iter()
            .flat_map(|equip| topology.parents_of(equip))
            .map(String::as_str)
            .filter(|equip| !seen.contains(equip))
            .collect();
    }
    None
}

/// How many pieces of equipment of the run hang from one.
fn served(topology: &Topology, equip: &str, input: &ReportInput<'_>) -> usize {
    input
        .frames
        .iter()
        .filter(|frame| frame.equip() != equip)
        .filter(|frame| {
            nearest(topology, frame.equip(), |parent| {
                (parent == equip).then_some(())
            })
            .is_some()
        })
        .map(crate::run_frame::RunFrame::equip)
        .collect::<BTreeSet<_>>()
        .len()
}

type Samples<'a, 'i> = (&'a [Item<'i>], &'a [Unit], &'a BTreeMap<usize, Judgement>);

/// Whether root and symptom are of the same hours; none when either has no samples to compare.
fn overlap(
    input: &ReportInput<'_>,
    (items, units, judgements): Samples<'_, '_>,
    root: usize,
    symptom: usize,
    chain: Chain,
) -> Option<bool> {
    let handler = items.get(root)?.place?;
    let (table, gate) = (
        input.frames.get(handler)?.table(),
        units.get(handler)?.fan.as_ref(),
    );
    let of_root = root_mask(input, items, judgements, root, chain)?.gated(table, gate);
    let of_symptom = mask(input, items, judgements, symptom)?.gated(table, gate);
    Some(Overlap::of(&of_symptom, &of_root).is_some_and(|overlap| overlap.is_enough()))
}

/// The flagged samples of an item.
pub(super) fn mask(
    input: &ReportInput<'_>,
    items: &[Item<'_>],
    judgements: &BTreeMap<usize, Judgement>,
    place: usize,
) -> Option<Mask> {
    let table = input.frames.get(items.get(place)?.place?)?.table();
    Some(Mask::of(table, &judgements.get(&place)?.samples.flagged))
}

/// Those of a root; of the fault conditions of Guideline 36 only the one that is the root.
pub(super) fn root_mask(
    input: &ReportInput<'_>,
    items: &[Item<'_>],
    judgements: &BTreeMap<usize, Judgement>,
    root: usize,
    chain: Chain,
) -> Option<Mask> {
    let item = items.get(root)?;
    if item.rule != "g36_afdd" {
        return mask(input, items, judgements, root);
    }
    let name = chain.condition()?;
    let table = input.frames.get(item.place?)?.table();
    let condition = judgements
        .get(&root)?
        .conditions
        .iter()
        .find(|condition| condition.name == name)?;
    Some(Mask::of(table, &condition.samples.flagged))
}

/// The line of a chain in the reasons of its root's issue.
pub(super) fn line(chain: Chain, tally: &ChainTally) -> String {
    let mut told = match tally.n_joined {
        0 => format!(
            "{}: none of the {} served pieces of equipment joined",
            capital(chain.words()),
            tally.served
        ),
        _ => format!(
            "{} explains {} of {} served pieces of equipment ({})",
            capital(chain.words()),
            tally.joined.len(),
            tally.served,
            tally
                .rules
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", ")
        ),
    };
    for (count, words) in [
        (tally.not_assessed, "joined without samples to compare"),
        (tally.out_of_hours, "of other hours and left apart"),
        (tally.conditional, "resting on a sensor and left apart"),
    ] {
        if count > 0 {
            told.push_str(&format!("; {count} {words}"));
        }
    }
    told
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Provenance;

    #[test]
    fn a_zone_finds_its_nearest_root_level_by_level() {
        let edges = [
            ("ch", "ahu-1"),
            ("ahu-1", "box"),
            ("ahu-2", "box"),
            ("box", "part"),
        ]
        .map(|(parent, child)| (parent.to_owned(), child.to_owned()));
        let topology = Topology::of_edges(Provenance::Explicit, edges);
        let find = |wanted: &[&str]| {
            nearest(&topology, "part", |equip| {
                wanted.contains(&equip).then(|| equip.to_owned())
            })
        };
        assert_eq!(find(&["ch", "ahu-2"]).as_deref(), Some("ahu-2"));
        assert_eq!(find(&["ch"]).as_deref(), Some("ch"));
        assert_eq!(find(&["other"]), None);
    }

    #[test]
    fn a_chain_tells_who_joined_and_who_did_not() {
        let mut tally = ChainTally {
            served: 6,
            out_of_hours: 2,
            ..ChainTally::default()
        };
        assert_eq!(
            line(Chain::SupplyLow, &tally),
            "Supply air too cold: none of the 6 served pieces of equipment joined; 2 of other hours and left apart"
        );
        tally.joined.insert("VAV-1".to_owned());
        tally.rules.insert("reheat_penalty".to_owned());
        (tally.n_joined, tally.not_assessed) = (1, 1);
        assert_eq!(
            line(Chain::SupplyLow, &tally),
            "Supply air too cold explains 1 of 6 served pieces of equipment (reheat_penalty); 1 joined without samples \
             to compare; 2 of other hours and left apart"
        );
    }
}
