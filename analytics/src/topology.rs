//! Which equipment serves which (Engine §4.6; Air rules §1.6).

use std::collections::BTreeMap;

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
    /// The single parent of an equipment; none when it has several or no parent.
    pub fn group(&self, equip: &str) -> Option<&str> {
        match self.parents.get(equip).map(Vec::as_slice) {
            Some([only]) => Some(only),
            _ => None,
        }
    }
}
