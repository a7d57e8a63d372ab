//! What the slot patterns of a type say of a point whose name the dictionary may not understand.

use super::concept::ConceptSet;
use super::lexicon::{Lexicon, Sense};
use super::quantity::Quantity;
use super::vocabulary::TypeRole;
use super::wildcard::matches_pattern;
use super::words::pieces;

/// How sure a pattern alone is, what each of its letters adds, and what it cannot exceed: `*Sky*` says less than
/// `*FiringRate*`.
const ALONE: f64 = 0.5;
const PER_LETTER: f64 = 0.04;
const MOST: f64 = 0.86;

/// The text of the pattern begins or ends in the middle of a word ("HEAT" for `*EAT`).
const TORN: f64 = 0.55;

/// The unit is not known.
const NO_UNIT: f64 = 0.85;

/// Words of the name beside the pattern that the dictionary does not know, and numbers.
const UNKNOWN_WORD: f64 = 0.9;
const NUMBER: f64 = 0.92;

/// A pattern that fits.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PatternFit<'t> {
    pub pattern: &'t str,
    /// By the pattern alone.
    pub confidence: f64,
}

/// The surest of a role's patterns for a slot name as the station stores it; none when none fits or the point measures
/// something else.
pub(super) fn pattern_fit<'t>(
    lexicon: &Lexicon,
    role: &'t TypeRole,
    given: ConceptSet,
    name: &str,
    quantity: Quantity,
) -> Option<PatternFit<'t>> {
    let measured = measured(&role.quantities, quantity)?;
    let explains = role
        .clue
        .as_ref()
        .map(|clue| clue.explains())
        .unwrap_or_default();
    role.patterns
        .iter()
        .filter(|pattern| matches_pattern(pattern, name))
        .map(|pattern| {
            let (before, after) = around(pattern, name);
            let mut confidence = (ALONE + PER_LETTER * letters(pattern) as f64).min(MOST);
            if is_torn(name, before.len()) || is_torn(name, name.len() - after.len()) {
                confidence *= TORN;
            }
            for rest in [before, after] {
                confidence *= unexplained(lexicon, rest, explains, given, quantity);
            }
            PatternFit {
                pattern,
                confidence: confidence * measured,
            }
        })
        .max_by(|one, two| one.confidence.total_cmp(&two.confidence))
}

fn measured(known: &[Quantity], quantity: Quantity) -> Option<f64> {
    if known.is_empty() || known.contains(&quantity) {
        return Some(1.0);
    }
    let is_numeric = known.iter().any(|quantity| {
        !matches!(
            quantity,
            Quantity::Boolean | Quantity::Enum | Quantity::Text
        )
    });
    (is_numeric && matches!(quantity, Quantity::Number | Quantity::Unknown)).then_some(NO_UNIT)
}

/// Letters and digits of a pattern; an escape counts for one.
fn letters(pattern: &str) -> usize {
    let plain = crate::station::ord::unescape(pattern);
    plain
        .chars()
        .filter(|letter| letter.is_alphanumeric())
        .count()
}

/// What stands before the first and after the last text of a pattern that fits.
fn around<'n>(pattern: &str, name: &'n str) -> (&'n str, &'n str) {
    let folded = name.to_ascii_lowercase();
    let pattern = pattern.to_ascii_lowercase();
    let parts: Vec<&str> = pattern.split('*').filter(|part| !part.is_empty()).collect();
    let begin = match parts.first() {
        Some(first) if pattern.starts_with(first) => 0,
        Some(first) if parts.len() == 1 && !pattern.ends_with('*') => {
            folded.rfind(first).unwrap_or(0)
        }
        Some(first) => folded.find(first).unwrap_or(0),
        None => 0,
    };
    let end = match parts.last() {
        Some(last) if pattern.ends_with(last) => name.len(),
        Some(last) if parts.len() == 1 => begin + last.len(),
        Some(last) => folded.rfind(last).map_or(name.len(), |at| at + last.len()),
        None => name.len(),
    };
    let before = name.get(..begin).unwrap_or_default();
    (before, name.get(end..).unwrap_or_default())
}

/// Whether a place in a name is inside a word.
fn is_torn(name: &str, at: usize) -> bool {
    let (Some(before), Some(after)) = (name.get(..at), name.get(at..)) else {
        return false;
    };
    let (Some(last), Some(next)) = (before.chars().next_back(), after.chars().next()) else {
        return false;
    };
    let follows_escape = before
        .len()
        .checked_sub(3)
        .and_then(|start| before.get(start..))
        .is_some_and(|tail| tail.starts_with('$'));
    if follows_escape || !last.is_alphabetic() || !next.is_alphabetic() {
        return false;
    }
    // Between "Sup" and "Temp", or between "RA" and "Temp"; not between two capitals or two small letters.
    let is_step = last.is_lowercase() && next.is_uppercase();
    let begins_word = next.is_uppercase() && after.chars().nth(1).is_some_and(char::is_lowercase);
    !is_step && !begins_word
}

/// What is left when a rest of the name says something that the role does not explain.
fn unexplained(
    lexicon: &Lexicon,
    rest: &str,
    explains: ConceptSet,
    given: ConceptSet,
    quantity: Quantity,
) -> f64 {
    lexicon
        .words(&pieces(rest))
        .iter()
        .map(|word| match &word.sense {
            Sense::Readings(readings) => readings
                .iter()
                .filter(|reading| {
                    reading.quantities.is_empty() || reading.quantities.contains(&quantity)
                })
                .map(|reading| lexicon.remainder(reading.meaning.minus(explains), given))
                .fold(None, |best: Option<f64>, next| {
                    Some(best.map_or(next, |best| best.max(next)))
                })
                .unwrap_or(UNKNOWN_WORD),
            Sense::Number(_) => NUMBER,
            Sense::Noise => 1.0,
            Sense::Unknown => UNKNOWN_WORD,
        })
        .product()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::suggestion::shipped;

    fn confidence(pattern: &str, name: &str, quantity: Quantity) -> f64 {
        let role = TypeRole {
            role: "any".to_owned(),
            is_required: false,
            patterns: vec![pattern.to_owned()],
            quantities: vec![Quantity::Boolean, Quantity::Temperature],
            clue: None,
        };
        let lexicon = &shipped().lexicon;
        pattern_fit(lexicon, &role, ConceptSet::default(), name, quantity)
            .map_or(0.0, |fit| fit.confidence)
    }

    #[test]
    fn longer_patterns_say_more_and_other_quantities_nothing() {
        assert!(confidence("*FiringRate*", "FiringRate", Quantity::Boolean) >= 0.85);
        let short = confidence("*Sky*", "Sky", Quantity::Boolean);
        assert!((0.55..0.7).contains(&short), "{short}");
        assert_eq!(confidence("*Sky*", "Sky", Quantity::Percent), 0.0);
        assert_eq!(confidence("*Sky*", "Snow", Quantity::Boolean), 0.0);
    }

    #[test]
    fn a_pattern_inside_a_word_or_beside_other_words_is_no_proof() {
        let whole = confidence("*EAT", "Unit_EAT", Quantity::Temperature);
        assert!(confidence("*EAT", "HEAT", Quantity::Temperature) < whole * 0.7);
        assert!(confidence("*Sts", "Alarm_Sts", Quantity::Boolean) < 0.2);
        assert!(confidence("*Run*", "Runtime", Quantity::Boolean) < 0.4);
        assert!(confidence("*SA$2dT", "AHU$2d1$20SA$2dT", Quantity::Temperature) > 0.5);
        for (name, at, torn) in [
            ("SupTemp", 3, false),
            ("RATemp", 2, false),
            ("Runtime", 3, true),
            ("A$2dT", 4, false),
            ("ZN_T", 3, false),
            ("SAT2", 3, false),
        ] {
            assert_eq!(is_torn(name, at), torn, "{name} {at}");
        }
    }
}
