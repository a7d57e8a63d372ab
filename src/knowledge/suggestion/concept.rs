//! Sets of concepts: what words of names mean, once languages and abbreviations are taken away.

use std::collections::HashMap;
use std::ops::{BitOr, BitOrAssign};

/// Concepts that one lexicon can tell apart.
pub(super) const CAPACITY: usize = 256;

/// A set of concepts of one lexicon.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct ConceptSet([u64; CAPACITY / 64]);

impl ConceptSet {
    pub fn of(concept: usize) -> Self {
        let mut set = Self::default();
        if let Some(word) = set.0.get_mut(concept / 64) {
            *word = 1 << (concept % 64);
        }
        set
    }

    pub fn is_empty(self) -> bool {
        self.0 == [0; CAPACITY / 64]
    }

    pub fn contains(self, other: Self) -> bool {
        other.minus(self).is_empty()
    }

    pub fn meets(self, other: Self) -> bool {
        self.0.iter().zip(other.0).any(|(one, two)| one & two != 0)
    }

    pub fn minus(self, other: Self) -> Self {
        let mut left = self;
        for (word, gone) in left.0.iter_mut().zip(other.0) {
            *word &= !gone;
        }
        left
    }

    /// What is in both sets.
    pub fn both(self, other: Self) -> Self {
        self.minus(self.minus(other))
    }

    pub fn count(self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// The concepts of the set, by number.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(|(place, word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                if left == 0 {
                    return None;
                }
                let lowest = left.trailing_zeros() as usize;
                left &= left - 1;
                Some(place * 64 + lowest)
            })
        })
    }
}

impl BitOr for ConceptSet {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        let mut both = self;
        both |= other;
        both
    }
}

impl BitOrAssign for ConceptSet {
    fn bitor_assign(&mut self, other: Self) {
        for (word, more) in self.0.iter_mut().zip(other.0) {
            *word |= more;
        }
    }
}

impl FromIterator<ConceptSet> for ConceptSet {
    fn from_iter<I: IntoIterator<Item = ConceptSet>>(sets: I) -> Self {
        sets.into_iter().fold(Self::default(), |all, set| all | set)
    }
}

/// Numbers of concepts by name.
#[derive(Debug, Default)]
pub(super) struct Concepts {
    names: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Concepts {
    /// The set of the concepts that a text names, separated by blanks; new names become concepts.
    pub fn define(&mut self, text: &str) -> ConceptSet {
        text.split_whitespace()
            .map(|name| {
                let number = *self.numbers.entry(name.to_owned()).or_insert_with(|| {
                    self.names.push(name.to_owned());
                    self.names.len() - 1
                });
                ConceptSet::of(number)
            })
            .collect()
    }

    /// The set of one known concept.
    pub fn known(&self, name: &str) -> Option<ConceptSet> {
        self.numbers.get(name).copied().map(ConceptSet::of)
    }

    pub fn count(&self) -> usize {
        self.names.len()
    }

    /// The names of a set, in order of definition.
    pub fn names(&self, set: ConceptSet) -> Vec<&str> {
        set.iter()
            .filter_map(|concept| self.names.get(concept).map(String::as_str))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_join_meet_and_part() {
        let mut concepts = Concepts::default();
        let supply_air = concepts.define("supply air");
        let air = concepts.define("air");
        assert_eq!(concepts.count(), 2);
        assert!(supply_air.contains(air) && !air.contains(supply_air));
        assert!(supply_air.meets(air));
        assert_eq!(concepts.names(supply_air.minus(air)), ["supply"]);
        assert_eq!((supply_air | air).count(), 2);
        assert!(supply_air.minus(supply_air).is_empty());
        assert!(concepts.known("steam").is_none());
    }
}
