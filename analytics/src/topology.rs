//! Which equipment serves which (Engine §4.6; Air rules §1.6).

use std::collections::{BTreeMap, BTreeSet};

/// Classes that hang from an air handler by their names, and classes of air handlers; exact texts.
const TERMINALS: [&str; 4] = ["VAV", "CAV", "FCAV", "FCU"];
const AIR_HANDLERS: [&str; 3] = ["AHU", "RTU", "DOAS"];

/// Where a topology is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provenance {
    /// A configuration declares it.
    Explicit,
    /// The site's own model says so.
    Semantic,
    /// Guessed from names.
    Heuristic,
}

impl Provenance {
    /// The word on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Explicit => "explicit",
            Self::Semantic => "semantic",
            Self::Heuristic => "heuristic",
        }
    }
}

/// Parents of equipment.
#[derive(Debug, Clone, PartialEq)]
pub struct Topology {
    pub provenance: Provenance,
    /// Sorted, distinct parents of each child.
    pub parents: BTreeMap<String, Vec<String>>,
}

impl Topology {
    /// The topology of these edges (parent, child): repeats, loops to itself and the edges that would close a circle are
    /// left out.
    ///
    /// Circles are found depth first, from the nodes in the order of their ids, over children in the order of theirs.
    pub fn of_edges(
        provenance: Provenance,
        edges: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        let mut children: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (parent, child) in edges {
            if parent != child {
                children.entry(child.clone()).or_default();
                children.entry(parent).or_default().insert(child);
            }
        }
        let mut parents: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (parent, child) in without_circles(&children) {
            parents.entry(child).or_default().insert(parent);
        }
        Self {
            provenance,
            parents: parents
                .into_iter()
                .map(|(child, parents)| (child, parents.into_iter().collect()))
                .collect(),
        }
    }

    /// The guess from names: a terminal hangs from the one air handler whose id and `_` begin its own id. Of ids
    /// `<base>__<scenario>` the bases are compared, within a scenario.
    pub fn named<'a>(equipment: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut terminals = BTreeSet::new();
        let mut handlers = BTreeSet::new();
        for (id, class) in equipment {
            if TERMINALS.contains(&class) {
                terminals.insert(id);
            } else if AIR_HANDLERS.contains(&class) {
                handlers.insert(id);
            }
        }
        let edges = terminals.into_iter().filter_map(|terminal| {
            let mut serving = handlers
                .iter()
                .filter(|handler| is_prefix(handler, terminal));
            match (serving.next(), serving.next()) {
                (Some(only), None) => Some(((*only).to_owned(), terminal.to_owned())),
                _ => None,
            }
        });
        Self::of_edges(Provenance::Heuristic, edges)
    }

    /// The single parent of an equipment; none when it has several or no parent.
    pub fn group(&self, equip: &str) -> Option<&str> {
        match self.parents.get(equip).map(Vec::as_slice) {
            Some([only]) => Some(only),
            _ => None,
        }
    }

    /// All parents of an equipment, sorted.
    pub fn parents_of(&self, equip: &str) -> &[String] {
        self.parents.get(equip).map_or(&[], Vec::as_slice)
    }

    /// What an equipment serves, sorted.
    pub fn children_of<'a>(&'a self, equip: &'a str) -> impl Iterator<Item = &'a str> {
        self.parents
            .iter()
            .filter(move |(_, parents)| parents.iter().any(|parent| parent == equip))
            .map(|(child, _)| child.as_str())
    }

    /// Whether no equipment has a parent.
    pub fn is_empty(&self) -> bool {
        self.parents.is_empty()
    }
}

fn is_prefix(handler: &str, terminal: &str) -> bool {
    let begins = |handler: &str, terminal: &str| {
        terminal
            .strip_prefix(handler)
            .is_some_and(|rest| rest.starts_with('_'))
    };
    let scenarios = (handler.split_once("__"), terminal.split_once("__"));
    match scenarios {
        (Some((handler, one)), Some((terminal, other))) => {
            one == other && begins(handler, terminal)
        }
        _ => begins(handler, terminal),
    }
}

/// The edges (parent, child) that are left when those back to a node on the way are dropped.
fn without_circles(children: &BTreeMap<String, BTreeSet<String>>) -> Vec<(String, String)> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        OnTheWay,
        Done,
    }
    let mut states: BTreeMap<&str, State> = BTreeMap::new();
    let mut kept = Vec::new();
    for start in children.keys() {
        if states.contains_key(start.as_str()) {
            continue;
        }
        // The way from the start to the present node, each with the children still to be looked at.
        let mut way = vec![(start.as_str(), children.get(start).into_iter().flatten())];
        states.insert(start, State::OnTheWay);
        while let Some((node, rest)) = way.last_mut() {
            let Some(child) = rest.next() else {
                states.insert(node, State::Done);
                way.pop();
                continue;
            };
            match states.get(child.as_str()) {
                Some(State::OnTheWay) => {}
                Some(State::Done) => kept.push(((*node).to_owned(), child.clone())),
                None => {
                    kept.push(((*node).to_owned(), child.clone()));
                    states.insert(child, State::OnTheWay);
                    way.push((child, children.get(child).into_iter().flatten()));
                }
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(list: &[(&str, &str)]) -> Topology {
        Topology::of_edges(
            Provenance::Explicit,
            list.iter()
                .map(|(parent, child)| ((*parent).to_owned(), (*child).to_owned())),
        )
    }

    #[test]
    fn a_zone_belongs_to_its_only_parent() {
        let topology = edges(&[
            ("AHU-1", "VAV-1"),
            ("AHU-1", "VAV-1"),
            ("AHU-1", "VAV-2"),
            ("AHU-2", "VAV-2"),
            ("VAV-3", "VAV-3"),
        ]);
        assert_eq!(topology.group("VAV-1"), Some("AHU-1"));
        assert_eq!(topology.group("VAV-2"), None);
        assert_eq!(topology.parents_of("VAV-2"), ["AHU-1", "AHU-2"]);
        assert_eq!(
            topology.children_of("AHU-1").collect::<Vec<_>>(),
            ["VAV-1", "VAV-2"]
        );
        assert!(topology.parents_of("VAV-3").is_empty());
    }

    #[test]
    fn the_edge_that_closes_a_circle_is_dropped() {
        let topology = edges(&[("c", "a"), ("a", "b"), ("b", "c"), ("d", "c")]);
        assert_eq!(topology.group("b"), Some("a"));
        assert_eq!(topology.parents_of("c"), ["b", "d"]);
        assert!(topology.parents_of("a").is_empty());
    }

    #[test]
    fn names_tell_the_air_handler_when_exactly_one_fits() {
        let topology = Topology::named([
            ("AHU1", "AHU"),
            ("AHU1_N", "RTU"),
            ("AHU2__hot", "AHU"),
            ("AHU1_VAV3", "VAV"),
            ("AHU1_N_VAV3", "VAV"),
            ("AHU2_VAV1__hot", "CAV"),
            ("AHU2_VAV1__cold", "CAV"),
            ("AHU12_VAV1", "VAV"),
            ("AHU1_pump", "PUMP"),
        ]);
        assert_eq!(topology.group("AHU1_VAV3"), Some("AHU1"));
        // AHU1 and AHU1_N both begin its id.
        assert_eq!(topology.group("AHU1_N_VAV3"), None);
        assert_eq!(topology.group("AHU2_VAV1__hot"), Some("AHU2__hot"));
        assert_eq!(topology.parents.len(), 2);
        assert_eq!(topology.provenance.word(), "heuristic");
    }
}
