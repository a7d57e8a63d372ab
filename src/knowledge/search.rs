//! Finding equipment, points and the content of spaces in a model (Tool surface §8.8).
//!
//! Texts are compared folded ([`fold`]): neither case nor accents matter, and a query in any script finds what was
//! written in it. Every model carries one [`SearchIndex`] of its folded texts.

mod folding;
mod index;
mod points;
mod spaces;

pub use folding::fold;
pub use index::SearchIndex;
pub use points::{PointHit, PointQuery, find_points};
pub use spaces::{SpaceContent, find_in_space};

use super::document::Equipment;
use super::model::KnowledgeModel;
use index::IndexedEntry;

/// How a query lies in the text that it was found in, the best first: it orders hits of the same score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchTier {
    /// It is the whole text.
    Exact,
    /// The text begins with it.
    Prefix,
    /// A word of the text begins with it.
    Word,
    /// It stands anywhere.
    Substring,
}

impl MatchTier {
    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Prefix => "prefix",
            Self::Word => "word",
            Self::Substring => "substring",
        }
    }
}

/// Scores of Tool surface §8.8; the last is ours.
mod score {
    pub const ID: u32 = 100;
    pub const NAME: u32 = 90;
    pub const ALIAS: u32 = 80;
    pub const IN_NAME: u32 = 50;
    pub const IN_ALIAS: u32 = 40;
    pub const IN_ID: u32 = 30;
    /// No text holds the query as a whole, but its words are all there.
    pub const ALL_WORDS: u32 = 20;
}

/// Equipment that a query found.
#[derive(Debug, Clone, Copy)]
pub struct EquipmentHit<'m> {
    pub equipment: &'m Equipment,
    pub score: u32,
    pub tier: MatchTier,
}

/// Equipment that matches a query, the best first: by score, then by [`MatchTier`], then in file order.
///
/// A query of several words also finds equipment whose id, name and aliases hold all of them, in any order.
pub fn find_equipment<'m>(model: &'m KnowledgeModel, query: &str) -> Vec<EquipmentHit<'m>> {
    let query = EquipmentQuery::new(query);
    let entries = model.document().equipment.iter();
    let mut hits: Vec<EquipmentHit<'m>> = entries
        .zip(&model.search_index().equipment)
        .filter_map(|(equipment, entry)| {
            let (score, tier) = query.judge(entry)?;
            Some(EquipmentHit {
                equipment,
                score,
                tier,
            })
        })
        .collect();
    hits.sort_by_key(|hit| (std::cmp::Reverse(hit.score), hit.tier));
    hits
}

struct EquipmentQuery {
    text: String,
    /// Its words, when there are several.
    words: Vec<String>,
}

impl EquipmentQuery {
    fn new(query: &str) -> Self {
        let text = fold(query);
        let words: Vec<String> = words(&text).map(str::to_owned).collect();
        Self {
            words: if words.len() > 1 { words } else { Vec::new() },
            text,
        }
    }

    fn judge(&self, entry: &IndexedEntry) -> Option<(u32, MatchTier)> {
        let text = self.text.as_str();
        if entry.id() == text {
            return Some((score::ID, MatchTier::Exact));
        }
        if entry.name() == Some(text) {
            return Some((score::NAME, MatchTier::Exact));
        }
        if entry.aliases().any(|alias| alias == text) {
            return Some((score::ALIAS, MatchTier::Exact));
        }
        if let Some(tier) = entry.name().and_then(|name| tier_in(name, text)) {
            return Some((score::IN_NAME, tier));
        }
        if let Some(tier) = entry
            .aliases()
            .filter_map(|alias| tier_in(alias, text))
            .min()
        {
            return Some((score::IN_ALIAS, tier));
        }
        if let Some(tier) = tier_in(entry.id(), text) {
            return Some((score::IN_ID, tier));
        }
        self.all_words_in(entry)
            .then_some((score::ALL_WORDS, MatchTier::Word))
    }

    fn all_words_in(&self, entry: &IndexedEntry) -> bool {
        !self.words.is_empty()
            && self
                .words
                .iter()
                .all(|word| entry.texts().any(|text| has_word(text, word)))
    }
}

/// Where a query stands in a text; none when it does not.
fn tier_in(text: &str, query: &str) -> Option<MatchTier> {
    let first = text.find(query)?;
    if first == 0 {
        let whole = text.len() == query.len();
        return Some(if whole {
            MatchTier::Exact
        } else {
            MatchTier::Prefix
        });
    }
    let begins_word = |(at, _): (usize, &str)| is_word_start(text, at);
    Some(if text.match_indices(query).any(begins_word) {
        MatchTier::Word
    } else {
        MatchTier::Substring
    })
}

/// Whether a word of the text begins with `word`; a number must be the whole number, so that 1 does not find 12.
fn has_word(text: &str, word: &str) -> bool {
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
    text.match_indices(word).any(|(at, _)| {
        let behind = text.get(at + word.len()..).unwrap_or_default();
        is_word_start(text, at)
            && !(is_number && behind.starts_with(|next: char| next.is_ascii_digit()))
    })
}

fn is_word_start(text: &str, at: usize) -> bool {
    let before = text.get(..at).and_then(|before| before.chars().next_back());
    let first = text.get(at..).and_then(|rest| rest.chars().next());
    match (before, first) {
        (Some(before), Some(first)) => {
            !before.is_alphanumeric() || before.is_numeric() != first.is_numeric()
        }
        _ => true,
    }
}

/// The runs of letters and the runs of digits of a folded text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric())
        .flat_map(|run| {
            let mut rest = run;
            std::iter::from_fn(move || {
                let first = rest.chars().next()?;
                let end = rest
                    .find(|character: char| character.is_numeric() != first.is_numeric())
                    .unwrap_or(rest.len());
                let (word, behind) = rest.split_at(end);
                rest = behind;
                Some(word)
            })
        })
}

#[cfg(test)]
#[path = "search/tests.rs"]
mod tests;
