//! The dictionary of names: what words, abbreviations and single letters mean, in several languages.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Deserialize;

use super::DataError;
use super::concept::{CAPACITY, ConceptSet, Concepts};
use super::quantity::Quantity;
use super::words::{Piece, fold};

/// What is left of a reading for a concept of the name that it does not explain.
const UNEXPLAINED: f64 = 0.22;

/// Concepts by which a point without a unit is told.
const MEASURED: [&str; 14] = [
    "temp", "press", "dp", "static", "flow", "humidity", "power", "energy", "speed", "co2",
    "valve", "damper", "requests", "stage",
];

/// Pieces of a name that may be one word of the dictionary together ("cond", "ent", "wtr", "temp").
const LONGEST_JOIN: usize = 4;

/// Letters that a joined word must have when blanks stood inside it.
const APART_JOIN: usize = 5;

/// Letters of a word that may stand for its longer form ("Discharg").
const SHORTEST_TRUNCATION: usize = 5;

/// Letters of a part of a compound.
const SHORTEST_PART: usize = 3;

/// One meaning of a spelling.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reading {
    pub meaning: ConceptSet,
    /// Quantities of points for which it holds; none for all.
    pub quantities: Vec<Quantity>,
    /// Language by number; none for readings of every language.
    pub language: Option<usize>,
}

/// A word of a name with all its readings.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Word {
    /// As it stands in the name.
    pub shown: String,
    pub sense: Sense,
}

impl Word {
    /// Whether a reading has one of these concepts.
    pub fn may_mean(&self, concepts: ConceptSet) -> bool {
        match &self.sense {
            Sense::Readings(readings) => readings
                .iter()
                .any(|reading| reading.meaning.meets(concepts)),
            _ => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Sense {
    /// One of these.
    Readings(Vec<Reading>),
    Number(String),
    /// A word without meaning here.
    Noise,
    Unknown,
}

/// A kind of equipment.
#[derive(Debug, Clone)]
pub(super) struct Family {
    pub id: String,
    pub name: String,
    /// Concepts that go without saying on such equipment.
    pub gives: ConceptSet,
    /// Concepts of points that other equipment seldom has.
    pub marks: ConceptSet,
    /// The kind to take for it in a model that has no type of its own for it.
    pub like: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct Lexicon {
    pub concepts: Concepts,
    /// Concepts that say what is measured or moved.
    pub measured: ConceptSet,
    weights: Vec<f64>,
    languages: Vec<String>,
    spellings: HashMap<String, Vec<Reading>>,
    noise: HashSet<String>,
    containers: HashSet<String>,
    families: Vec<Family>,
    family_spellings: HashMap<String, Vec<usize>>,
}

#[derive(Debug, Deserialize)]
struct File {
    weights: BTreeMap<String, Vec<String>>,
    noise: Vec<String>,
    containers: Vec<String>,
    languages: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    letters: BTreeMap<String, BTreeMap<String, Vec<Quantity>>>,
    families: BTreeMap<String, FamilyEntry>,
}

#[derive(Debug, Deserialize)]
struct FamilyEntry {
    name: String,
    gives: Vec<String>,
    #[serde(default)]
    marks: Vec<String>,
    like: Option<String>,
    spellings: BTreeMap<String, Vec<String>>,
}

impl Lexicon {
    /// Reads the dictionary.
    pub fn parse(text: &str) -> Result<Self, DataError> {
        let wrong = |detail: String| DataError::new("abbreviations.yaml", detail);
        let file: File = serde_yaml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        let mut concepts = Concepts::default();
        let mut spellings: HashMap<String, Vec<Reading>> = HashMap::new();
        let languages: Vec<String> = file.languages.keys().cloned().collect();
        for (language, meanings) in file.languages.values().enumerate() {
            for (meaning, words) in meanings {
                let meaning = concepts.define(meaning);
                for word in words {
                    spellings.entry(fold(word)).or_default().push(Reading {
                        meaning,
                        quantities: Vec::new(),
                        language: Some(language),
                    });
                }
            }
        }
        for (spelling, meanings) in file.letters {
            for (meaning, quantities) in meanings {
                let meaning = concepts.define(&meaning);
                spellings.entry(fold(&spelling)).or_default().push(Reading {
                    meaning,
                    quantities,
                    language: None,
                });
            }
        }
        let mut families = Vec::new();
        let mut family_spellings: HashMap<String, Vec<usize>> = HashMap::new();
        for (id, entry) in file.families {
            for word in entry.spellings.values().flatten() {
                let known = family_spellings.entry(fold(word)).or_default();
                if !known.contains(&families.len()) {
                    known.push(families.len());
                }
            }
            families.push(Family {
                id,
                name: entry.name,
                gives: concepts.define(&entry.gives.join(" ")),
                marks: concepts.define(&entry.marks.join(" ")),
                like: entry.like,
            });
        }
        if concepts.count() > CAPACITY {
            return Err(wrong(format!(
                "{} concepts, at most {CAPACITY} are possible",
                concepts.count()
            )));
        }
        let mut weights = vec![UNEXPLAINED; concepts.count()];
        for (weight, names) in file.weights {
            let weight: f64 = weight
                .parse()
                .map_err(|_| wrong(format!("the weight '{weight}' is no number")))?;
            for name in names {
                let Some(set) = concepts.known(&name) else {
                    return Err(wrong(format!("no word means '{name}'")));
                };
                for concept in set.iter() {
                    if let Some(known) = weights.get_mut(concept) {
                        *known = weight;
                    }
                }
            }
        }
        let measured = MEASURED
            .iter()
            .filter_map(|name| concepts.known(name))
            .collect();
        Ok(Self {
            concepts,
            measured,
            weights,
            languages,
            spellings,
            noise: file.noise.iter().map(|word| fold(word)).collect(),
            containers: file.containers.iter().map(|word| fold(word)).collect(),
            families,
            family_spellings,
        })
    }

    /// Whether a folder of this name holds points of the equipment above it.
    pub fn is_container(&self, pieces: &[Piece]) -> bool {
        let name: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
        self.containers.contains(&name)
    }

    /// Adds the words of a name to the count of words by language; words of several languages count for none.
    pub fn count_languages(&self, words: &[Word], counts: &mut [f64]) {
        for word in words {
            let Sense::Readings(readings) = &word.sense else {
                continue;
            };
            let mut languages = readings.iter().map(|reading| reading.language);
            let first = languages.next().flatten();
            if let Some(language) = first
                && languages.all(|other| other == first)
                && let Some(count) = counts.get_mut(language)
            {
                *count += 1.0;
            }
        }
    }

    pub fn families(&self) -> &[Family] {
        &self.families
    }

    pub fn family(&self, id: &str) -> Option<usize> {
        self.families.iter().position(|family| family.id == id)
    }

    pub fn languages(&self) -> &[String] {
        &self.languages
    }

    /// What is left of a reading that leaves these concepts unexplained; `given` is what the equipment implies.
    pub fn remainder(&self, unexplained: ConceptSet, given: ConceptSet) -> f64 {
        unexplained
            .iter()
            .map(|concept| {
                let weight = self.weights.get(concept).copied().unwrap_or(UNEXPLAINED);
                if given.contains(ConceptSet::of(concept)) {
                    weight.max(0.95)
                } else {
                    weight
                }
            })
            .product()
    }

    /// The words that pieces of a name make.
    pub fn words(&self, pieces: &[Piece]) -> Vec<Word> {
        let mut words = Vec::new();
        let mut at = 0;
        while let Some(piece) = pieces.get(at) {
            if let Some((length, key)) = self.longest(pieces, at, |key| self.knows(key)) {
                let shown = shown(pieces, at, length);
                words.push(self.word(&key, shown));
                at += length;
                continue;
            }
            at += 1;
            if piece.is_number {
                words.push(Word {
                    shown: piece.shown.clone(),
                    sense: Sense::Number(piece.text.trim_start_matches('0').to_owned()),
                });
                continue;
            }
            match self.parts(&piece.text) {
                Some(parts) => words.extend(
                    parts
                        .iter()
                        .map(|part| self.word(part, piece.shown.clone())),
                ),
                None => words.push(Word {
                    shown: piece.shown.clone(),
                    sense: Sense::Unknown,
                }),
            }
        }
        words
    }

    /// The most pieces from `at` on that are one key together.
    fn longest(
        &self,
        pieces: &[Piece],
        at: usize,
        knows: impl Fn(&str) -> bool,
    ) -> Option<(usize, String)> {
        let most = LONGEST_JOIN.min(pieces.len().saturating_sub(at));
        (1..=most).rev().find_map(|length| {
            let parts = pieces.get(at..at + length)?;
            let key: String = parts.iter().map(|piece| piece.text.as_str()).collect();
            let is_torn = parts.iter().skip(1).any(|piece| piece.is_apart);
            let may_join = !is_torn || key.len() >= APART_JOIN;
            (may_join && knows(&key)).then_some((length, key))
        })
    }

    /// Everything that the words of a name may mean.
    pub fn all_meanings(&self, pieces: &[Piece]) -> ConceptSet {
        self.words(pieces)
            .iter()
            .filter_map(|word| match &word.sense {
                Sense::Readings(readings) => Some(readings),
                _ => None,
            })
            .flatten()
            .map(|reading| reading.meaning)
            .collect()
    }

    fn knows(&self, key: &str) -> bool {
        self.spellings.contains_key(key) || self.noise.contains(key)
    }

    fn word(&self, key: &str, shown: String) -> Word {
        let sense = match self.spellings.get(key) {
            Some(readings) => Sense::Readings(readings.clone()),
            None => Sense::Noise,
        };
        Word { shown, sense }
    }

    /// A word taken apart into words of the dictionary: plurals, truncations, compounds.
    fn parts(&self, text: &str) -> Option<Vec<String>> {
        if let Some(stem) = text
            .strip_suffix('s')
            .filter(|stem| stem.len() >= 2 && self.knows(stem))
        {
            return Some(vec![stem.to_owned()]);
        }
        self.compound(text)
            .or_else(|| self.truncated(text).map(|word| vec![word]))
    }

    /// The only meaning of the words that begin so.
    fn truncated(&self, text: &str) -> Option<String> {
        if text.len() < SHORTEST_TRUNCATION {
            return None;
        }
        let mut longer = self
            .spellings
            .iter()
            .filter(|(spelling, _)| spelling.starts_with(text));
        let (first, readings) = longer.next()?;
        let meaning = readings.first()?.meaning;
        let is_only = longer
            .flat_map(|(_, readings)| readings)
            .chain(readings)
            .all(|reading| reading.meaning == meaning);
        is_only.then(|| first.clone())
    }

    /// The fewest words of the dictionary that make up the text, with at most one of two letters, and with the `s`, `n`
    /// or `en` that German puts between nouns.
    fn compound(&self, text: &str) -> Option<Vec<String>> {
        #[derive(Clone)]
        struct Way {
            parts: Vec<String>,
            cost: usize,
            short: usize,
        }
        let mut best: Vec<Option<Way>> = vec![None; text.len() + 1];
        if let Some(start) = best.first_mut() {
            *start = Some(Way {
                parts: Vec::new(),
                cost: 0,
                short: 0,
            });
        }
        for begin in 0..text.len() {
            let Some(way) = best.get(begin).cloned().flatten() else {
                continue;
            };
            for end in begin + 1..=text.len() {
                let Some(part) = text.get(begin..end) else {
                    continue;
                };
                let is_link = !way.parts.is_empty()
                    && end < text.len()
                    && matches!(part, "s" | "n" | "en" | "es");
                let is_short = part.len() < SHORTEST_PART;
                let is_word = part.len() >= 2 && self.knows(part);
                let next = if is_word && (!is_short || way.short == 0) {
                    let mut parts = way.parts.clone();
                    parts.push(part.to_owned());
                    Way {
                        parts,
                        cost: way.cost + part_cost(part),
                        short: way.short + usize::from(is_short),
                    }
                } else if is_link {
                    Way {
                        cost: way.cost + 1,
                        ..way.clone()
                    }
                } else {
                    continue;
                };
                if let Some(place) = best.get_mut(end)
                    && place.as_ref().is_none_or(|known| next.cost < known.cost)
                {
                    *place = Some(next);
                }
            }
        }
        best.pop()
            .flatten()
            .filter(|way| way.parts.len() > 1)
            .map(|way| way.parts)
    }

    /// Kinds of equipment that a name says, with the place and number of the pieces that say it.
    pub fn families_in(&self, pieces: &[Piece]) -> Vec<FamilyMention> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < pieces.len() {
            let known = |key: &str| self.family_key(key).is_some();
            match self.longest(pieces, at, known) {
                Some((length, key)) => {
                    if let Some(families) = self.family_key(&key) {
                        found.push(FamilyMention {
                            at,
                            length,
                            families: families.clone(),
                        });
                    }
                    at += length;
                }
                None => {
                    // The head of a German compound is its last part ("Kältezentrale", "Gaszähler").
                    if let Some(families) = pieces
                        .get(at)
                        .and_then(|piece| self.family_head(&piece.text))
                    {
                        found.push(FamilyMention {
                            at,
                            length: 1,
                            families: families.clone(),
                        });
                    }
                    at += 1;
                }
            }
        }
        found
    }

    fn family_key(&self, key: &str) -> Option<&Vec<usize>> {
        self.family_spellings.get(key).or_else(|| {
            key.strip_suffix('s')
                .filter(|stem| stem.len() >= 2)
                .and_then(|stem| self.family_spellings.get(stem))
        })
    }

    fn family_head(&self, text: &str) -> Option<&Vec<usize>> {
        (1..text.len().saturating_sub(5))
            .filter_map(|begin| text.get(begin..))
            .find_map(|tail| self.family_spellings.get(tail))
    }
}

/// Long parts are surer than short ones: "SAFLOW" is SA and flow, not SAF and low.
fn part_cost(part: &str) -> usize {
    match part.len() {
        0..=2 => 8,
        3 => 7,
        4 => 4,
        _ => 3,
    }
}

/// A kind of equipment named in a name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FamilyMention {
    pub at: usize,
    pub length: usize,
    pub families: Vec<usize>,
}

fn shown(pieces: &[Piece], at: usize, length: usize) -> String {
    let mut text = String::new();
    for (number, piece) in pieces.iter().skip(at).take(length).enumerate() {
        if number > 0 && piece.is_apart {
            text.push(' ');
        }
        text.push_str(&piece.shown);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::suggestion::shipped;
    use crate::knowledge::suggestion::words::pieces;

    fn means(name: &str) -> Vec<String> {
        let lexicon = &shipped().lexicon;
        lexicon
            .words(&pieces(name))
            .into_iter()
            .map(|word| match word.sense {
                Sense::Readings(readings) => readings
                    .iter()
                    .map(|reading| {
                        let mut names = lexicon.concepts.names(reading.meaning);
                        names.sort_unstable();
                        names.join("+")
                    })
                    .collect::<std::collections::BTreeSet<_>>()
                    .into_iter()
                    .collect::<Vec<_>>()
                    .join("|"),
                Sense::Number(number) => number,
                Sense::Noise => ".".to_owned(),
                Sense::Unknown => "?".to_owned(),
            })
            .collect()
    }

    #[test]
    fn names_in_several_languages_are_understood() {
        for (name, meaning) in [
            ("SA_CFM", vec!["air+supply", "air+flow"]),
            ("LChWT", vec!["chw+leaving+temp"]),
            ("CLGMIN-FLOW", vec!["cool", "min", "flow"]),
            ("Raumtemperatur", vec!["space", "temp"]),
            ("Au$dfenluft_Volumenstrom", vec!["air+outdoor", "flow"]),
            (
                "Kesselkreispumpe$20Drehzahl",
                vec!["boiler+circuit", "pump", "speed"],
            ),
            ("Freie$20K$fchlung", vec!["economizer"]),
            ("4-Wege-Ventil", vec!["reversing", "valve"]),
            ("Condenser Water Supply", vec!["cw", "supply"]),
            ("Eau glacée départ", vec!["chw", "supply+water"]),
            ("Válvula de frío", vec!["valve", ".", "cool"]),
            ("Dischargd", vec!["?"]),
            ("Evaporat", vec!["evaporator"]),
        ] {
            assert_eq!(means(name), meaning, "{name}");
        }
    }

    #[test]
    fn equipment_names_tell_the_kind() {
        let lexicon = &shipped().lexicon;
        let kinds = |name: &str| -> Vec<String> {
            lexicon
                .families_in(&pieces(name))
                .into_iter()
                .flat_map(|mention| mention.families)
                .filter_map(|family| lexicon.families().get(family))
                .map(|family| family.id.clone())
                .collect()
        };
        assert_eq!(kinds("VAV$2d1$2d01"), ["vav"]);
        assert_eq!(kinds("1st Floor VAVs"), ["vav"]);
        assert_eq!(kinds("CHW Loop"), ["chw-plant"]);
        assert_eq!(kinds("RTU-HP1"), ["rooftop", "heat-pump"]);
        assert_eq!(kinds("Kältemaschine 1"), ["chiller"]);
        assert_eq!(kinds("Hauptstromzähler"), ["meter"]);
        assert!(kinds("Lobby").is_empty());
    }
}
