//! Citations, sentences and numbers of a text (CAMBER core §9.1).

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use crate::camber::python_text::spoken;

/// The pattern of a fact id, as the schemas tell it.
pub const FACT_ID: &str = r"^[A-Za-z]+\d+(@[A-Za-z0-9_\-]+)?$";

static CITATION: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\[([A-Za-z]+\d+(?:@[A-Za-z0-9_\-]+)?)\]").ok());
static DIGIT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\d$").ok());

/// Ids cited in a text, each once, in the order of their first occurrence.
///
/// ```
/// use niagara_bridge::camber::citations::lexer::cited;
/// assert_eq!(cited("Ran [F1@a-111111], saved [F2@b] and [F1@a-111111]; [x] is none."), ["F1@a-111111", "F2@b"]);
/// ```
pub fn cited(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for id in CITATION
        .iter()
        .flat_map(|pattern| pattern.captures_iter(text))
    {
        if let Some(id) = id.get(1)
            && !found.iter().any(|known| known == id.as_str())
        {
            found.push(id.as_str().to_owned());
        }
    }
    found
}

/// The text with every citation replaced by what `with` makes of its id.
pub fn replace_citations(text: &str, with: impl Fn(&str) -> String) -> String {
    match &*CITATION {
        Some(pattern) => pattern
            .replace_all(text, |found: &regex::Captures<'_>| {
                with(found.get(1).map_or("", |id| id.as_str()))
            })
            .into_owned(),
        None => text.to_owned(),
    }
}

/// White space of the reference: Unicode's, and the four separators of ASCII.
pub fn is_space(character: char) -> bool {
    character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
}

/// A decimal digit of any script.
fn is_digit(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_digit();
    }
    let mut buffer = [0; 4];
    character.is_numeric()
        && DIGIT
            .as_ref()
            .is_some_and(|digit| digit.is_match(character.encode_utf8(&mut buffer)))
}

/// Whether quoted names are single words without inner sentence ends and numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quotes {
    /// Texts of capabilities, which quote every name from the data.
    Opaque,
    /// Texts of others, who could hide numbers in quotes.
    Plain,
}

/// A text as one sentence: marks before white space become semicolons except within quotes, and there is none at its end.
///
/// ```
/// use niagara_bridge::camber::citations::lexer::as_one_sentence;
/// assert_eq!(as_one_sentence("Samples are 15 min apart. Map the \"No. 1\" status."), "Samples are 15 min apart; Map the \"No. 1\" status");
/// ```
pub fn as_one_sentence(text: &str) -> String {
    let text = text.trim_end_matches(|end| is_space(end) || is_mark(end));
    let mask = masked(text, Quotes::Opaque);
    text.chars()
        .enumerate()
        .map(|(place, character)| {
            let ends = mask.get(place).copied().is_some_and(is_mark)
                && mask.get(place + 1).copied().is_some_and(is_space);
            if ends { ';' } else { character }
        })
        .collect()
}

fn is_mark(character: char) -> bool {
    matches!(character, '.' | '!' | '?')
}

/// The insides of the pairs of quotes in a text that a sentence would end in.
pub fn quoted_sentences(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split('"').skip(1).step_by(2);
    parts.filter(|part| {
        let mut pairs = part.chars().zip(part.chars().skip(1));
        part.chars().last().is_some_and(is_mark)
            || pairs.any(|(before, after)| is_mark(before) && is_space(after))
    })
}

/// The text in which quoted names, and no other quotes, hide the ends of sentences.
fn with_known(text: &str, known: &BTreeSet<&str>) -> Vec<char> {
    let mut characters: Vec<char> = text.chars().collect();
    if known.is_empty() {
        return characters;
    }
    let quotes: Vec<usize> = characters
        .iter()
        .enumerate()
        .filter(|(_, character)| **character == '"')
        .map(|(place, _)| place)
        .collect();
    let mut hidden = 0;
    for pair in quotes.windows(2) {
        let [first, last] = *pair else {
            continue;
        };
        let Some(inside) = characters.get_mut(first + 1..last) else {
            continue;
        };
        let name: String = inside.iter().collect();
        if first >= hidden && known.contains(name.as_str()) {
            inside.fill('x');
            hidden = last + 1;
        }
    }
    characters
}

/// The text with the inside of every pair of quotes replaced by letters, one for one.
fn masked(text: &str, quotes: Quotes) -> Vec<char> {
    let mut characters: Vec<char> = text.chars().collect();
    if quotes == Quotes::Plain {
        return characters;
    }
    let mut open: Option<usize> = None;
    for place in 0..characters.len() {
        if characters.get(place) != Some(&'"') {
            continue;
        }
        open = match open {
            None => Some(place),
            Some(first) => {
                if let Some(inside) = characters.get_mut(first + 1..place) {
                    inside.fill('x');
                }
                None
            }
        };
    }
    characters
}

/// The sentences of a text, trimmed: it is split at white space behind `.`, `!` or `?`, but not within the `known` names in
/// quotes.
pub fn sentences(text: &str, quotes: Quotes, known: &BTreeSet<&str>) -> Vec<String> {
    let mask = match quotes {
        Quotes::Opaque => masked(text, quotes),
        Quotes::Plain => with_known(text, known),
    };
    let characters: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let mut first = 0;
    let mut keep = |from: usize, to: usize| {
        let sentence: String = characters
            .get(from..to)
            .unwrap_or_default()
            .iter()
            .collect();
        let sentence = sentence.trim_matches(is_space);
        if !sentence.is_empty() {
            found.push(sentence.to_owned());
        }
    };
    for pair in mask.windows(2).enumerate() {
        let (place, [before, after]) = pair else {
            continue;
        };
        if is_mark(*before) && is_space(*after) {
            keep(first, place + 1);
            first = place + 1;
        }
    }
    keep(first, characters.len());
    found
}

/// The numbers that a text states, as texts without thousands commas and trailing zeros.
///
/// No tolerance, no rounding, no units: a run of digits counts unless a letter, a digit or `-` stands just before it.
///
/// ```
/// use niagara_bridge::camber::citations::lexer::{Quotes, numbers};
/// let found = numbers("$2,897 and 12.50% at AHU-1 [F1@a]", Quotes::Plain);
/// assert_eq!(found.into_iter().collect::<Vec<_>>(), ["12.5", "2897"]);
/// ```
pub fn numbers(text: &str, quotes: Quotes) -> BTreeSet<String> {
    let text = replace_citations(text, |_| String::new());
    let characters = masked(&text, quotes);
    let at = |place: usize| characters.get(place).copied();
    let digit_at = |place: usize| at(place).is_some_and(is_digit);
    let mut found = BTreeSet::new();
    let mut place = 0;
    while place < characters.len() {
        let bound = place
            .checked_sub(1)
            .and_then(at)
            .is_some_and(|before| before.is_ascii_alphanumeric() || before == '-');
        if bound || !digit_at(place) {
            place += 1;
            continue;
        }
        let mut number = String::new();
        while let Some(character) = at(place).filter(|c| *c == ',' || is_digit(*c)) {
            if character != ',' {
                number.push(character);
            }
            place += 1;
        }
        if at(place) == Some('.') && digit_at(place + 1) {
            number.push('.');
            place += 1;
            while let Some(character) = at(place).filter(|c| is_digit(*c)) {
                number.push(character);
                place += 1;
            }
            let whole = number.trim_end_matches('0').trim_end_matches('.').len();
            number.truncate(whole);
        }
        found.insert(number);
    }
    found
}

/// The numbers that a fact carries: those of its text and of everything else but its id.
pub fn fact_numbers(fact: &Map<String, Value>, quotes: Quotes) -> BTreeSet<String> {
    let mut found = fact
        .get("text")
        .and_then(Value::as_str)
        .map(|text| numbers(text, quotes))
        .unwrap_or_default();
    let rest: Vec<String> = fact
        .iter()
        .filter(|(key, _)| !matches!(key.as_str(), "id" | "text"))
        .map(|(_, value)| spoken(value))
        .collect();
    found.extend(numbers(&rest.join(" "), Quotes::Plain));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_worked_number_is_read_as_the_specification_says() {
        for (text, expected) in [
            ("$2,897 and 2897.0", &["2897"][..]),
            ("AHU-1 at 55 F", &["55"]),
            ("-3.5", &["5"]),
            ("5-10", &["5"]),
            ("2024-03-01T06:00", &["00", "2024"]),
            ("1e5", &["1"]),
            ("3/4", &["3", "4"]),
            ("1e+16", &["1", "16"]),
            ("2'897", &["2", "897"]),
            ("2 897", &["2", "897"]),
            ("12.50%", &["12.5"]),
            ("G36", &[]),
            ("x7", &[]),
            ("VAV-2-10", &[]),
            (".5", &["5"]),
            ("10.10.10", &["10", "10.1"]),
            ("1,2,3", &["123"]),
            ("02", &["02"]),
            ("7x", &["7"]),
            ("1e-05", &["1"]),
            ("2897,", &["2897"]),
            ("+5", &["5"]),
            ("€5", &["5"]),
            ("_5", &["5"]),
            ("é5", &["5"]),
            ("(5", &["5"]),
            ("\u{2212}5", &["5"]),
            ("a$5", &["5"]),
            ("12[F1@a]5", &["125"]),
            ("٣", &["٣"]),
            ("½", &[]),
        ] {
            let found: Vec<String> = numbers(text, Quotes::Plain).into_iter().collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn sentences_end_where_white_space_follows_a_mark() {
        let split = |text| sentences(text, Quotes::Plain, &BTreeSet::new());
        assert_eq!(
            split("It is 5.16 and Ch.5 of it"),
            ["It is 5.16 and Ch.5 of it"]
        );
        assert_eq!(split("Mr. X"), ["Mr.", "X"]);
        assert_eq!(split("ends.)  next"), ["ends.)  next"]);
        assert_eq!(split("one\ntwo"), ["one\ntwo"]);
        assert_eq!(split("x. [F1]"), ["x.", "[F1]"]);
        assert_eq!(split("a!\u{1c}b?  c… d。 e"), ["a!", "b?", "c… d。 e"]);
        assert_eq!(split(" \n "), [""; 0]);
        assert_eq!(split("a.\u{200b}b"), ["a.\u{200b}b"]);
    }

    #[test]
    fn only_quotes_that_are_known_hide_the_end_of_a_sentence() {
        let known = BTreeSet::from(["AHU No. 1", "in. w.c."]);
        let split = |text| sentences(text, Quotes::Plain, &known);
        for one in [
            r#""AHU No. 1" ran at 1.0 "in. w.c." today [F1@a]."#,
            r#""AHU No. 1", "AHU No. 1""#,
            r#"5" pipe of "AHU No. 1" here"#,
        ] {
            assert_eq!(split(one), [one]);
        }
        assert_eq!(split(r#""AHU No. 2" ran"#).len(), 2);
        assert_eq!(split(r#""AHU No. 1 ran. It" stopped"#).len(), 3);
        assert_eq!(
            quoted_sentences(r#""AHU No. 1" has "CO2" in "in. w.c." and "Why?" [F1@a]."#)
                .collect::<Vec<_>>(),
            ["AHU No. 1", "in. w.c.", "Why?"]
        );
    }

    #[test]
    fn a_text_of_several_sentences_becomes_one() {
        for (text, one) in [
            ("30 issues are ranked.", "30 issues are ranked"),
            ("It is 5.16. Is it? Yes! ", "It is 5.16; Is it; Yes"),
            (r#"of "AHU No. 1". It"#, r#"of "AHU No. 1"; It"#),
            ("at 1.0 in. of water...", "at 1.0 in; of water"),
            ("", ""),
        ] {
            let made = as_one_sentence(text);
            assert_eq!(made, one);
            assert_eq!(as_one_sentence(&made), made);
        }
    }

    #[test]
    fn a_quoted_name_is_one_word_without_numbers() {
        let text = "Equipment \"Dr. No 007\" ran 5 hours [F1@a].";
        let none = BTreeSet::new();
        assert_eq!(sentences(text, Quotes::Opaque, &none), [text]);
        assert_eq!(sentences(text, Quotes::Plain, &none).len(), 2);
        assert_eq!(
            sentences(text, Quotes::Plain, &["Dr. No 007"].into()),
            [text]
        );
        let found: Vec<String> = numbers(text, Quotes::Opaque).into_iter().collect();
        assert_eq!(found, ["5"]);
        let open: Vec<String> = numbers("a lone \" and 7", Quotes::Opaque)
            .into_iter()
            .collect();
        assert_eq!(open, ["7"]);
    }
}
