//! Which air handler a zone belongs to, and what is told when that is not known (Air rules §1.6).

use std::collections::{BTreeMap, BTreeSet};

use crate::topology::{Provenance, Topology};

/// The one group of zones that nothing groups.
pub const FLEET: &str = "<fleet>";
/// The group of zones without a parent of their own, beside others that have one.
pub const UNGROUPED: &str = "<ungrouped>";
/// The provenance of zones that go to the only equipment there is.
pub const SINGLE_SOURCE: &str = "single_source";

/// Zones by air handler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grouping {
    /// Group of each zone that has one; none when nothing is grouped.
    groups: Option<BTreeMap<String, String>>,
    /// Where the groups are from; none when nothing is grouped.
    pub provenance: Option<Provenance>,
    /// Zones that a topology was there for and did not place.
    pub ungrouped: usize,
    pub caveats: Vec<String>,
}

impl Grouping {
    /// Groups zones by their only parent.
    pub fn of(zones: &[&str], topology: Option<&Topology>) -> Self {
        let Some(topology) = topology else {
            return Self::pooled(
                0,
                "Nothing says which air handler serves which zone: all zones are pooled, and a zone that stands out may \
                 just hang on another loop."
                    .to_owned(),
            );
        };
        let groups: BTreeMap<String, String> = zones
            .iter()
            .filter_map(|zone| Some(((*zone).to_owned(), topology.group(zone)?.to_owned())))
            .collect();
        let provenance = topology.provenance;
        let ungrouped = zones
            .iter()
            .filter(|zone| !groups.contains_key(**zone))
            .count();
        if groups.is_empty() {
            let told = format!(
                "The {} topology places 0 of {} zones: all zones are pooled.",
                provenance.word(),
                zones.len()
            );
            return Self::pooled(ungrouped, told);
        }
        let mut caveats = Vec::new();
        if ungrouped > 0 {
            caveats.push(format!(
                "{ungrouped} of {} zones have no single parent and are pooled as {UNGROUPED}.",
                zones.len()
            ));
        }
        caveats.extend(guess_caveat(provenance));
        Self {
            groups: Some(groups),
            provenance: Some(provenance),
            ungrouped,
            caveats,
        }
    }

    fn pooled(ungrouped: usize, told: String) -> Self {
        Self {
            groups: None,
            provenance: None,
            ungrouped,
            caveats: vec![told],
        }
    }

    /// Whether zones are told apart at all.
    pub fn is_grouped(&self) -> bool {
        self.groups.is_some()
    }

    /// The group of a zone: its parent, [`UNGROUPED`], or [`FLEET`] when nothing is grouped.
    pub fn group(&self, zone: &str) -> &str {
        match &self.groups {
            None => FLEET,
            Some(groups) => groups.get(zone).map_or(UNGROUPED, String::as_str),
        }
    }

    /// Positions of the zones of each group, groups by name and zones as they come.
    pub fn members<'z>(
        &self,
        zones: impl IntoIterator<Item = &'z str>,
    ) -> BTreeMap<String, Vec<usize>> {
        let mut members: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (place, zone) in zones.into_iter().enumerate() {
            members
                .entry(self.group(zone).to_owned())
                .or_default()
                .push(place);
        }
        members
    }
}

/// What is told of a topology that is guessed from names.
pub fn guess_caveat(provenance: Provenance) -> Option<String> {
    (provenance == Provenance::Heuristic).then(|| {
        "Zones are matched to air handlers by their names alone: good for screening, to be confirmed before acting."
            .to_owned()
    })
}

/// Air handlers that zones take a signal from: the nearest ancestor that is a source, or the only source there is (Air
/// rules §2.4, §2.9).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attribution {
    /// Source of each zone that has one.
    pub sources: BTreeMap<String, String>,
    /// `explicit`, `semantic`, `heuristic`, [`SINGLE_SOURCE`]; none when no zone has a source.
    pub provenance: Option<&'static str>,
    pub caveats: Vec<String>,
}

impl Attribution {
    /// Finds the source of each of these zones.
    pub fn of(zones: &[&str], sources: &BTreeSet<&str>, topology: Option<&Topology>) -> Self {
        let mut attribution = Self::default();
        if zones.is_empty() {
            return attribution;
        }
        if let (Some(topology), false) = (topology, sources.is_empty()) {
            attribution.climb(zones, sources, topology);
        }
        if let (true, 1, Some(only)) = (
            attribution.sources.is_empty(),
            sources.len(),
            sources.first(),
        ) {
            attribution.sources = zones
                .iter()
                .map(|zone| ((*zone).to_owned(), (*only).to_owned()))
                .collect();
            attribution.provenance = Some(SINGLE_SOURCE);
            attribution.caveats.push(format!(
                "No topology joins the zones to an air handler; all are joined to {only}, the only one that could serve \
                 them."
            ));
        }
        attribution
    }

    fn climb(&mut self, zones: &[&str], sources: &BTreeSet<&str>, topology: &Topology) {
        self.sources = zones
            .iter()
            .filter_map(|zone| {
                let source = nearest_ancestor(topology, zone, |equip| sources.contains(equip))?;
                Some(((*zone).to_owned(), source.to_owned()))
            })
            .collect();
        let provenance = topology.provenance;
        if self.sources.is_empty() {
            self.caveats.push(format!(
                "The {} topology joins none of the {} zones to an air handler with the signals.",
                provenance.word(),
                zones.len()
            ));
            return;
        }
        self.provenance = Some(provenance.word());
        self.caveats.extend(guess_caveat(provenance));
    }
}

/// The nearest ancestor that qualifies, level by level, by id within a level.
pub fn nearest_ancestor<'t>(
    topology: &'t Topology,
    equip: &str,
    qualifies: impl Fn(&str) -> bool,
) -> Option<&'t str> {
    let parents = |equip: &str| topology.parents.get(equip).into_iter().flatten();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut level: BTreeSet<&'t str> = parents(equip).map(String::as_str).collect();
    while !level.is_empty() {
        if let Some(found) = level.iter().find(|ancestor| qualifies(ancestor)) {
            return Some(found);
        }
        seen.extend(level.iter().copied());
        level = level
            .iter()
            .flat_map(|ancestor| parents(ancestor))
            .map(String::as_str)
            .filter(|ancestor| !seen.contains(ancestor) && *ancestor != equip)
            .collect();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology(provenance: Provenance, edges: &[(&str, &[&str])]) -> Topology {
        Topology {
            provenance,
            parents: edges
                .iter()
                .map(|(child, parents)| {
                    (
                        (*child).to_owned(),
                        parents.iter().map(|parent| (*parent).to_owned()).collect(),
                    )
                })
                .collect(),
        }
    }

    #[test]
    fn zones_are_grouped_by_their_only_parent() {
        let guessed = topology(
            Provenance::Heuristic,
            &[("Z1", &["A1"]), ("Z2", &["A1", "A2"]), ("Z3", &["A2"])],
        );
        let zones = ["Z3", "Z1", "Z2"];
        let grouping = Grouping::of(&zones, Some(&guessed));
        assert_eq!(grouping.provenance, Some(Provenance::Heuristic));
        assert_eq!((grouping.ungrouped, grouping.caveats.len()), (1, 2));
        assert_eq!(
            grouping.members(zones),
            BTreeMap::from([
                (UNGROUPED.to_owned(), vec![2]),
                ("A1".to_owned(), vec![1]),
                ("A2".to_owned(), vec![0]),
            ])
        );
    }

    #[test]
    fn without_any_match_all_zones_are_one_fleet() {
        let declared = topology(Provenance::Explicit, &[("X", &["A1"])]);
        let grouping = Grouping::of(&["Z1", "Z2"], Some(&declared));
        assert_eq!(
            (
                grouping.is_grouped(),
                grouping.provenance,
                grouping.ungrouped
            ),
            (false, None, 2)
        );
        assert!(grouping.caveats[0].contains("explicit") && grouping.caveats[0].contains("0 of 2"));
        assert_eq!(grouping.group("Z1"), FLEET);
        let alone = Grouping::of(&["Z1"], None);
        assert_eq!((alone.ungrouped, alone.caveats.len()), (0, 1));
    }

    #[test]
    fn the_nearest_source_above_a_zone_serves_it() {
        let declared = topology(
            Provenance::Explicit,
            &[
                ("Z1", &["B2", "B1"]),
                ("B1", &["A1", "Z1"]),
                ("B2", &["A0"]),
                ("Z2", &["B1"]),
            ],
        );
        let is_handler = |equip: &str| equip.starts_with('A');
        assert_eq!(nearest_ancestor(&declared, "Z1", is_handler), Some("A0"));
        assert_eq!(nearest_ancestor(&declared, "Z2", is_handler), Some("A1"));
        assert_eq!(nearest_ancestor(&declared, "Z1", |_| false), None);

        let sources = BTreeSet::from(["A0", "A1"]);
        let found = Attribution::of(&["Z1", "Z9"], &sources, Some(&declared));
        assert_eq!(found.provenance, Some("explicit"));
        assert_eq!(found.sources.len(), 1);
        let only = Attribution::of(&["Z9"], &BTreeSet::from(["A1"]), Some(&declared));
        assert_eq!(
            (only.provenance, only.caveats.len()),
            (Some(SINGLE_SOURCE), 2)
        );
        let none = Attribution::of(&["Z9"], &sources, None);
        assert_eq!((none.provenance, none.sources.len()), (None, 0));
    }
}
