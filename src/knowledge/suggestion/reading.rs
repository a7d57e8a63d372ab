//! The roles that each name may mean on each kind of equipment, read once per distinct name.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use super::clues::Clue;
use super::evidence::{Fit, Surroundings, fits, quantity_concepts};
use super::family::given;
use super::grouping::Group;
use super::lexicon::{Lexicon, Word};
use super::quantity::Quantity;
use super::words::Piece;

/// A role must be this likely to speak for a kind of equipment.
const SPEAKS: f64 = 0.5;

/// What a point that marks a kind counts for, beside a point with a role of the kind.
const MARK: f64 = 0.6;

/// Roles named as reasons for a kind of equipment.
const NAMED_ROLES: usize = 4;

/// What the engine needs to know of a point.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    pub quantity: Quantity,
    /// Words of the display name, where it says something else than the slot name.
    pub display: Option<Vec<Piece>>,
}

/// Readings of names, remembered.
pub(super) struct Readings<'a> {
    pub lexicon: &'a Lexicon,
    pub clues: &'a [Clue],
    pub languages: Vec<f64>,
    subjects: &'a [Subject],
    words: HashMap<String, Rc<Vec<Word>>>,
    known: HashMap<(String, Quantity, Option<usize>), Rc<Vec<Fit>>>,
}

impl<'a> Readings<'a> {
    pub fn new(lexicon: &'a Lexicon, clues: &'a [Clue], subjects: &'a [Subject]) -> Self {
        Self {
            lexicon,
            clues,
            languages: vec![1.0; lexicon.languages().len()],
            subjects,
            words: HashMap::new(),
            known: HashMap::new(),
        }
    }

    /// Finds out which languages the names are written in.
    pub fn learn_languages(&mut self, groups: &[Group]) {
        let mut counts = vec![0.0; self.lexicon.languages().len()];
        for member in groups.iter().flat_map(|group| &group.members) {
            let words = self.words(&member.pieces);
            self.lexicon.count_languages(&words, &mut counts);
        }
        let total: f64 = counts.iter().sum();
        // A handful of names does not tell a language.
        if total >= 10.0 {
            self.languages = counts.into_iter().map(|count| count / total).collect();
        }
    }

    pub fn words(&mut self, pieces: &[Piece]) -> Rc<Vec<Word>> {
        let key = key(pieces);
        if let Some(known) = self.words.get(&key) {
            return Rc::clone(known);
        }
        let words = Rc::new(self.lexicon.words(pieces));
        self.words.insert(key, Rc::clone(&words));
        words
    }

    /// The roles of one name.
    fn of_name(
        &mut self,
        pieces: &[Piece],
        quantity: Quantity,
        family: Option<usize>,
    ) -> Rc<Vec<Fit>> {
        let key = (key(pieces), quantity, family);
        if let Some(known) = self.known.get(&key) {
            return Rc::clone(known);
        }
        let words = self.words(pieces);
        let place = Surroundings {
            quantity: quantity_concepts(self.lexicon, quantity),
            family,
            given: given(self.lexicon, family),
            languages: &self.languages,
        };
        let found = Rc::new(fits(self.lexicon, self.clues, &words, quantity, place));
        self.known.insert(key, Rc::clone(&found));
        found
    }

    /// The roles of a point by slot name and display name, whichever says more.
    pub fn of_point(&mut self, point: usize, pieces: &[Piece], family: Option<usize>) -> Vec<Fit> {
        let Some(subject) = self.subjects.get(point) else {
            return Vec::new();
        };
        let by_slot = self.of_name(pieces, subject.quantity, family);
        let Some(display) = &subject.display else {
            return by_slot.to_vec();
        };
        let by_display = self.of_name(display, subject.quantity, family);
        merged(&by_slot, &by_display)
    }

    /// Kinds of equipment that have the roles which the points seem to have, the likeliest first.
    pub fn likely_families(&mut self, group: &Group, most: usize) -> Vec<usize> {
        let mut sums = vec![0.0; self.lexicon.families().len()];
        for member in &group.members {
            let fits = self.of_point(member.point, &member.pieces, None);
            let mut best = vec![0.0_f64; sums.len()];
            for fit in fits.iter().filter(|fit| fit.confidence >= SPEAKS * 0.6) {
                let Some(clue) = self.clues.get(fit.clue) else {
                    continue;
                };
                let shared = fit.confidence / (clue.on.len().max(1) as f64).sqrt();
                for family in &clue.on {
                    if let Some(best) = best.get_mut(*family) {
                        *best = best.max(shared);
                    }
                }
            }
            let words = self.words(&member.pieces);
            for (family, best) in self.lexicon.families().iter().zip(&mut best) {
                if words.iter().any(|word| word.may_mean(family.marks)) {
                    *best = best.max(MARK);
                }
            }
            for (sum, best) in sums.iter_mut().zip(best) {
                *sum += best;
            }
        }
        let mut order: Vec<usize> = (0..sums.len())
            .filter(|at| sums.get(*at).is_some_and(|sum| *sum > 0.0))
            .collect();
        order.sort_by(|one, two| {
            let sum = |at: &usize| sums.get(*at).copied().unwrap_or_default();
            sum(two).total_cmp(&sum(one))
        });
        order.truncate(most);
        order
    }

    /// How much of a group a kind of equipment explains, 0 to about 1.
    ///
    /// Each role counts once, and for as much as it tells kinds apart.
    pub fn structure(&mut self, group: &Group, family: usize) -> f64 {
        // In order, so that equal groups get equal sums to the last bit.
        let mut best: BTreeMap<usize, f64> = BTreeMap::new();
        for member in &group.members {
            let fits = self.of_point(member.point, &member.pieces, Some(family));
            let top = fits
                .iter()
                .max_by(|one, two| one.confidence.total_cmp(&two.confidence));
            if let Some(fit) = top.filter(|fit| fit.confidence >= SPEAKS) {
                let role = best.entry(fit.clue).or_default();
                *role = role.max(fit.confidence);
            }
        }
        let told: f64 = best
            .iter()
            .filter_map(|(clue, confidence)| {
                let clue = self.clues.get(*clue)?;
                let weight = if clue.on.contains(&family) { 1.0 } else { 0.4 };
                Some(weight * confidence)
            })
            .sum();
        let marks = self
            .lexicon
            .families()
            .get(family)
            .map(|family| family.marks)
            .unwrap_or_default();
        let marked = group
            .members
            .iter()
            .filter(|member| {
                self.words(&member.pieces)
                    .iter()
                    .any(|word| word.may_mean(marks))
            })
            .count();
        (told + MARK * marked as f64) / group.members.len().max(1) as f64
    }

    /// Roles of a kind that the points of a group have for sure.
    pub fn typical_roles(&mut self, group: &Group, family: usize) -> Vec<String> {
        let mut roles = Vec::new();
        for member in &group.members {
            for fit in self.of_point(member.point, &member.pieces, Some(family)) {
                let Some(clue) = self.clues.get(fit.clue) else {
                    continue;
                };
                if fit.confidence >= 0.8 && clue.on.contains(&family) && !roles.contains(&clue.role)
                {
                    roles.push(clue.role.clone());
                }
            }
        }
        roles.truncate(NAMED_ROLES);
        roles
    }
}

fn key(pieces: &[Piece]) -> String {
    let mut key = String::new();
    for piece in pieces {
        key.push(if piece.is_apart { ' ' } else { '\u{1}' });
        key.push_str(&piece.text);
    }
    key
}

/// For every role the better reading; one that both names support is surer.
fn merged(by_slot: &[Fit], by_display: &[Fit]) -> Vec<Fit> {
    let mut all = by_slot.to_vec();
    for fit in by_display {
        match all.iter_mut().find(|known| known.clue == fit.clue) {
            Some(known) => {
                let doubt = (1.0 - known.confidence.max(fit.confidence))
                    * (1.0 - 0.4 * known.confidence.min(fit.confidence));
                let better = if fit.confidence > known.confidence {
                    fit.clone()
                } else {
                    known.clone()
                };
                *known = Fit {
                    confidence: 1.0 - doubt,
                    ..better
                };
            }
            None => all.push(fit.clone()),
        }
    }
    all
}
