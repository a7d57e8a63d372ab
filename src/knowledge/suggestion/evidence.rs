//! How well what is known of a point fits a role.

use super::clues::{Choice, Clue, Way};
use super::concept::ConceptSet;
use super::lexicon::{Lexicon, Reading, Sense, Word};
use super::quantity::Quantity;

/// Factors by which a missing or odd sign lowers the confidence.
mod factor {
    /// A need that the kind of equipment fulfils instead of the name.
    pub const IMPLIED: f64 = 0.95;
    /// A need that nothing fulfils.
    pub const MISSING: f64 = 0.3;
    /// Something that is usually said and is not.
    pub const UNSAID: f64 = 0.97;
    /// No word of the name speaks for the role, and only its quantity or the equipment does.
    pub const QUANTITY_ONLY: f64 = 0.9;
    pub const NOTHING_SAID: f64 = 0.4;
    /// The unit is not known, but the name says what is measured; or it does not.
    pub const UNIT_FROM_NAME: f64 = 0.92;
    pub const NO_UNIT: f64 = 0.6;
    /// A word that the dictionary does not know, or a number that the role does not have.
    pub const UNKNOWN_WORD: f64 = 0.88;
    pub const NUMBER: f64 = 0.9;
    pub const WRONG_NUMBER: f64 = 0.4;
    /// Of several readings one that other words say already.
    pub const SAID_BEFORE: f64 = 0.8;
    /// A reading in a language that nothing else here is written in.
    pub const FOREIGN: f64 = 0.92;
    /// The kind of equipment may have the role; is not known; does not have it.
    pub const MAY_HAVE: f64 = 0.88;
    pub const UNKNOWN_KIND: f64 = 0.94;
    pub const HAS_NOT: f64 = 0.5;
}

/// Below this a role is not worth naming.
pub(super) const LEAST: f64 = 0.08;

/// A share of the names below which a language counts as foreign.
const FOREIGN_SHARE: f64 = 0.03;

/// The equipment that a point stands on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surroundings<'a> {
    /// Concepts that name the quantity of the point.
    pub quantity: ConceptSet,
    pub family: Option<usize>,
    /// What the kind of equipment implies.
    pub given: ConceptSet,
    /// Share of the names by language.
    pub languages: &'a [f64],
}

/// One role as a reading of a point.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fit {
    /// Place of the role's clue.
    pub clue: usize,
    pub confidence: f64,
    /// Words of the name that speak for it, with what they mean.
    pub said: Vec<(String, ConceptSet)>,
    /// Words that do not belong to it.
    pub unexplained: Vec<String>,
    /// The kind of equipment stands in for a word.
    pub is_implied: bool,
}

/// The roles that a name may mean, for a point of this quantity on this equipment.
pub(super) fn fits(
    lexicon: &Lexicon,
    clues: &[Clue],
    words: &[Word],
    quantity: Quantity,
    place: Surroundings<'_>,
) -> Vec<Fit> {
    clues
        .iter()
        .enumerate()
        .filter_map(|(number, clue)| {
            let measured = measured(clue, quantity)?;
            let kind = kind_factor(clue, place.family);
            clue.ways
                .iter()
                .filter(|way| {
                    way.only.is_empty()
                        || place
                            .family
                            .is_some_and(|family| way.only.contains(&family))
                })
                .map(|way| {
                    let mut fit = read(lexicon, way, words, quantity, measured, place);
                    fit.clue = number;
                    fit.confidence *= kind;
                    fit
                })
                .max_by(|one, two| one.confidence.total_cmp(&two.confidence))
        })
        .filter(|fit| fit.confidence >= LEAST)
        .collect()
}

/// Whether the quantity is one of the role's; none when it rules the role out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measured {
    Yes,
    /// Nobody says.
    Untold,
}

fn measured(clue: &Clue, quantity: Quantity) -> Option<Measured> {
    if clue.quantities.is_empty() {
        return Some(Measured::Yes);
    }
    if clue.quantities.contains(&quantity) {
        return Some(Measured::Yes);
    }
    let is_numeric = clue.quantities.iter().any(|quantity| {
        !matches!(
            quantity,
            Quantity::Boolean | Quantity::Enum | Quantity::Text
        )
    });
    match quantity {
        Quantity::Number | Quantity::Unknown if is_numeric => Some(Measured::Untold),
        _ => None,
    }
}

fn kind_factor(clue: &Clue, family: Option<usize>) -> f64 {
    match family {
        None => factor::UNKNOWN_KIND,
        Some(family) if clue.on.contains(&family) => 1.0,
        Some(family) if clue.also.contains(&family) => factor::MAY_HAVE,
        Some(_) => factor::HAS_NOT,
    }
}

fn read(
    lexicon: &Lexicon,
    way: &Way,
    words: &[Word],
    quantity: Quantity,
    measured: Measured,
    place: Surroundings<'_>,
) -> Fit {
    let mut confidence = way.trust;
    let mut own = ConceptSet::default();
    let mut said = Vec::new();
    let mut unexplained = Vec::new();
    let mut has_number = way.number.is_none();
    for word in words {
        match &word.sense {
            Sense::Readings(readings) => {
                let Some((reading, cost)) =
                    best_reading(lexicon, readings, way, own, quantity, place)
                else {
                    confidence *= factor::UNKNOWN_WORD;
                    unexplained.push(word.shown.clone());
                    continue;
                };
                own |= reading.meaning;
                confidence *= cost;
                let speaks = way
                    .needs
                    .iter()
                    .chain(&way.may)
                    .flatten()
                    .any(|set| set.meets(reading.meaning));
                if speaks {
                    said.push((word.shown.clone(), reading.meaning));
                } else if !way.explains.contains(reading.meaning) {
                    unexplained.push(word.shown.clone());
                }
            }
            Sense::Number(digits) => match &way.number {
                Some(wanted) if wanted == digits => has_number = true,
                Some(_) => confidence *= factor::WRONG_NUMBER,
                None => confidence *= factor::NUMBER,
            },
            Sense::Noise => {}
            Sense::Unknown => {
                confidence *= factor::UNKNOWN_WORD;
                unexplained.push(word.shown.clone());
            }
        }
    }
    if !has_number {
        confidence *= factor::WRONG_NUMBER;
    }
    // Words that say the same twice cost once.
    confidence *= lexicon.remainder(own.minus(way.explains), place.given);
    let mut is_implied = false;
    let mut is_said = false;
    for choice in &way.needs {
        if met(choice, own) {
            is_said = true;
        } else if met(choice, own | place.given) {
            is_implied = true;
            confidence *= factor::IMPLIED;
        } else {
            confidence *= factor::MISSING;
        }
    }
    if way.may.iter().any(|choice| !met(choice, own | place.given)) {
        confidence *= factor::UNSAID;
    }
    let names_quantity = place.quantity.meets(own);
    confidence *= match (is_said, way.needs.is_empty()) {
        (true, _) => 1.0,
        (false, true) if !own.is_empty() => 1.0,
        (false, false) if names_quantity => factor::QUANTITY_ONLY,
        _ => factor::NOTHING_SAID,
    };
    if measured == Measured::Untold {
        confidence *= if own.both(way.explains).meets(lexicon.measured) {
            factor::UNIT_FROM_NAME
        } else {
            factor::NO_UNIT
        };
    }
    Fit {
        clue: 0,
        confidence,
        said,
        unexplained,
        is_implied,
    }
}

fn met(choice: &Choice, own: ConceptSet) -> bool {
    choice.iter().any(|set| own.contains(*set))
}

/// The reading that leaves least unexplained and says most of what is needed, with what its language costs.
fn best_reading<'r>(
    lexicon: &Lexicon,
    readings: &'r [Reading],
    way: &Way,
    own: ConceptSet,
    quantity: Quantity,
    place: Surroundings<'_>,
) -> Option<(&'r Reading, f64)> {
    let needed = |meaning: ConceptSet| {
        way.needs
            .iter()
            .filter(|choice| !met(choice, own) && met(choice, own | meaning))
            .count()
    };
    readings
        .iter()
        .filter(|reading| reading.quantities.is_empty() || reading.quantities.contains(&quantity))
        .map(|reading| {
            let is_foreign = reading.language.is_some_and(|language| {
                place
                    .languages
                    .get(language)
                    .is_some_and(|share| *share < FOREIGN_SHARE)
            });
            let mut cost = if is_foreign { factor::FOREIGN } else { 1.0 };
            if readings.len() > 1 && own.contains(reading.meaning) {
                cost *= factor::SAID_BEFORE;
            }
            let left = lexicon.remainder(reading.meaning.minus(way.explains), place.given);
            (reading, cost, left * cost)
        })
        .max_by(|one, two| {
            // Of equals the one that says more.
            one.2
                .total_cmp(&two.2)
                .then_with(|| needed(one.0.meaning).cmp(&needed(two.0.meaning)))
                .then(one.0.meaning.count().cmp(&two.0.meaning.count()))
        })
        .map(|(reading, cost, _)| (reading, cost))
}

/// The concepts that name a quantity.
pub(super) fn quantity_concepts(lexicon: &Lexicon, quantity: Quantity) -> ConceptSet {
    quantity
        .concepts()
        .split_whitespace()
        .filter_map(|name| lexicon.concepts.known(name))
        .collect()
}
