//! The verdict on each sentence of a text, and the text without what no fact supports (CAMBER core §9.2, §9.3).

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value};

use super::lexer::{
    Quotes, cited, fact_numbers, is_space, numbers, quoted_sentences, replace_citations, sentences,
};

/// What sentences are held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Numbers may come from any fact that is cited anywhere in the text.
    WholeText,
    /// Every sentence cites the facts that it rests on.
    PerSentence,
}

/// What a sentence is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Supported,
    UnknownCitation,
    Uncited,
    UnsupportedNumber,
}

impl Verdict {
    /// Every verdict, in the order of answers.
    pub const ALL: [Self; 4] = [
        Self::Supported,
        Self::UnknownCitation,
        Self::Uncited,
        Self::UnsupportedNumber,
    ];

    /// The word on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Supported => "supported",
            Self::UnknownCitation => "unknown_citation",
            Self::Uncited => "uncited",
            Self::UnsupportedNumber => "unsupported_number",
        }
    }
}

/// One judged sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    pub text: String,
    pub verdict: Verdict,
    /// Cited ids that facts have, each once, in order.
    pub cited: Vec<String>,
    /// Cited ids that no fact has.
    pub unknown: Vec<String>,
    /// The sentence stays in the verified text (its unknown citations do not).
    pub kept: bool,
}

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    pub sentences: Vec<Sentence>,
    /// Known ids of the whole text, in order.
    pub cited: Vec<String>,
    /// Unknown ids of the whole text, in order.
    pub unknown: Vec<String>,
    /// What remains when unsupported sentences and unknown citations are removed.
    pub text: String,
}

impl Verification {
    /// Sentences with that verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.sentences
            .iter()
            .filter(|sentence| sentence.verdict == verdict)
            .count()
    }

    /// Whether every sentence is supported; a text without sentences is.
    pub fn is_grounded(&self) -> bool {
        self.count(Verdict::Supported) == self.sentences.len()
    }
}

/// Checks a text against facts (objects with an `id`).
pub fn verify(
    text: &str,
    facts: &[&Map<String, Value>],
    mode: Mode,
    quotes: Quotes,
) -> Verification {
    let mut known: HashMap<&str, &Map<String, Value>> = HashMap::new();
    for fact in facts {
        if let Some(id) = fact.get("id").and_then(Value::as_str) {
            known.entry(id).or_insert(fact);
        }
    }
    let mut ground: HashMap<String, BTreeSet<String>> = HashMap::new();
    let (all_cited, all_unknown) = partition(cited(text), &known);
    for id in &all_cited {
        if let Some(fact) = known.get(id.as_str()) {
            ground.insert(id.clone(), fact_numbers(fact, quotes));
        }
    }
    // A name in quotes that a cited fact has too is one word, whatever stands in it.
    let names: BTreeSet<&str> = all_cited
        .iter()
        .filter_map(|id| known.get(id.as_str())?.get("text")?.as_str())
        .flat_map(quoted_sentences)
        .collect();
    let judged: Vec<Sentence> = sentences(text, quotes, &names)
        .into_iter()
        .map(|sentence| {
            let (own, unknown) = partition(cited(&sentence), &known);
            let grounds = match mode {
                Mode::WholeText => &all_cited,
                Mode::PerSentence => &own,
            };
            let carried = |number: &String| {
                grounds
                    .iter()
                    .filter_map(|id| ground.get(id))
                    .any(|numbers| numbers.contains(number))
            };
            let numbers_hold = numbers(&sentence, quotes).iter().all(carried);
            let uncited = mode == Mode::PerSentence && own.is_empty();
            let verdict = match () {
                () if !unknown.is_empty() => Verdict::UnknownCitation,
                () if uncited => Verdict::Uncited,
                () if !numbers_hold => Verdict::UnsupportedNumber,
                () => Verdict::Supported,
            };
            Sentence {
                text: sentence,
                verdict,
                cited: own,
                unknown,
                kept: numbers_hold && !uncited,
            }
        })
        .collect();
    let kept: Vec<&str> = judged
        .iter()
        .filter(|sentence| sentence.kept)
        .map(|sentence| sentence.text.as_str())
        .collect();
    let mut remaining = kept.join(" ");
    if !all_unknown.is_empty() {
        remaining = tidied(&remaining, &all_unknown, mode);
    }
    Verification {
        sentences: judged,
        cited: all_cited,
        unknown: all_unknown,
        text: remaining,
    }
}

fn partition(
    ids: Vec<String>,
    known: &HashMap<&str, &Map<String, Value>>,
) -> (Vec<String>, Vec<String>) {
    ids.into_iter()
        .partition(|id| known.contains_key(id.as_str()))
}

/// The text without unknown citations and the gaps that they leave.
fn tidied(text: &str, unknown: &[String], mode: Mode) -> String {
    let text = replace_citations(text, |id| match unknown.iter().any(|gone| gone == id) {
        true => String::new(),
        false => format!("[{id}]"),
    });
    let mut tidy = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        if !is_space(character) {
            tidy.push(character);
            continue;
        }
        let mut run = 1;
        while rest.peek().is_some_and(|next| is_space(*next)) {
            rest.next();
            run += 1;
        }
        let before_mark = rest
            .peek()
            .is_some_and(|next| matches!(next, '.' | ',' | ';' | ':' | '!' | '?'));
        if mode == Mode::PerSentence && before_mark {
            continue;
        }
        tidy.push(if run > 1 { ' ' } else { character });
    }
    tidy.trim_matches(is_space).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn facts() -> Vec<Value> {
        vec![
            json!({"id": "F1@a-111111", "text": "AHU-1 ran 12.5 hours at 95%",
                   "value": 12.5, "metrics": {"n": 3, "ok": true}}),
            json!({"id": "F2@b", "text": "savings of $2,897", "value": 2897}),
        ]
    }

    fn check(text: &str, mode: Mode) -> Verification {
        let facts = facts();
        let facts: Vec<_> = facts.iter().filter_map(Value::as_object).collect();
        verify(text, &facts, mode, Quotes::Plain)
    }

    const WORKED: [(&str, Verdict); 9] = [
        ("AHU-1 ran 12.5 hours [F1@a-111111].", Verdict::Supported),
        ("It ran 12.50 h at 95 % [F1@a-111111].", Verdict::Supported),
        ("It ran 13 hours [F1@a-111111].", Verdict::UnsupportedNumber),
        ("Savings were 2897 dollars [F2@b].", Verdict::Supported),
        (
            "Savings were 2897 dollars [F1@a-111111].",
            Verdict::UnsupportedNumber,
        ),
        ("No cite here.", Verdict::Uncited),
        ("Bad [F9@z] cite.", Verdict::UnknownCitation),
        ("Three faults 3 [F1@a-111111].", Verdict::Supported),
        (
            "Ran [F1@a-111111] and saved 2,897 [F2@b].",
            Verdict::Supported,
        ),
    ];

    #[test]
    fn the_worked_example_has_five_supported_sentences() {
        let text = WORKED.map(|(sentence, _)| sentence).join(" ");
        let found = check(&text, Mode::PerSentence);
        let verdicts: Vec<_> = found
            .sentences
            .iter()
            .map(|sentence| (sentence.text.as_str(), sentence.verdict))
            .collect();
        assert_eq!(verdicts, WORKED);
        assert_eq!(found.count(Verdict::Supported), 5);
        assert!(!found.is_grounded());
        let supported: Vec<&str> = WORKED
            .iter()
            .filter(|(_, verdict)| *verdict == Verdict::Supported)
            .map(|(sentence, _)| *sentence)
            .collect();
        assert_eq!(found.text, supported.join(" "));
        assert_eq!(found.cited, ["F1@a-111111", "F2@b"]);
        assert_eq!(found.unknown, ["F9@z"]);
    }

    #[test]
    fn a_name_of_a_cited_fact_does_not_end_a_sentence() {
        let fact = json!({"id": "F1@a", "text": "\"AHU No. 1\" stores 5 points"});
        let facts: Vec<_> = fact.as_object().into_iter().collect();
        let judged = |text: &str| {
            let found = verify(text, &facts, Mode::PerSentence, Quotes::Plain);
            let verdicts: Vec<_> = found.sentences.iter().map(|found| found.verdict).collect();
            verdicts
        };
        assert_eq!(
            judged("\"AHU No. 1\" stores 5 points [F1@a]."),
            [Verdict::Supported]
        );
        assert_eq!(
            judged("\"AHU No. 2\" stores 5 points [F1@a]."),
            [Verdict::Uncited, Verdict::UnsupportedNumber]
        );
    }

    #[test]
    fn numbers_are_compared_as_texts() {
        for wrong in ["Value is true 1", "It ran 12.4999 h", "It ran 012.5 h"] {
            let found = check(&format!("{wrong} [F1@a-111111]."), Mode::PerSentence);
            assert_eq!(
                found.sentences[0].verdict,
                Verdict::UnsupportedNumber,
                "{wrong}"
            );
        }
    }

    #[test]
    fn an_unknown_citation_goes_and_its_sentence_stays() {
        let text = "AHU-1 ran [F9@z] 12.5 hours [F1@a-111111].";
        let found = check(text, Mode::PerSentence);
        assert_eq!(found.sentences[0].verdict, Verdict::UnknownCitation);
        assert_eq!(found.text, "AHU-1 ran 12.5 hours [F1@a-111111].");
        let found = check("Fine [F1@a-111111] [F9@z].", Mode::PerSentence);
        assert_eq!(found.text, "Fine [F1@a-111111].");
        let found = check("Fine [F1@a-111111] [F9@z].", Mode::WholeText);
        assert_eq!(found.text, "Fine [F1@a-111111] .");
    }

    #[test]
    fn the_whole_text_may_share_its_citations() {
        let text = "It saved 2897 [F1@a-111111]. See [F2@b]. Nothing here. But 7 is new.";
        let found = check(text, Mode::WholeText);
        let verdicts: Vec<_> = found.sentences.iter().map(|found| found.verdict).collect();
        assert_eq!(
            verdicts,
            [
                Verdict::Supported,
                Verdict::Supported,
                Verdict::Supported,
                Verdict::UnsupportedNumber
            ]
        );
        assert_eq!(
            found.text,
            "It saved 2897 [F1@a-111111]. See [F2@b]. Nothing here."
        );
    }

    #[test]
    fn inner_spacing_stays_unless_a_citation_is_unknown() {
        let found = check("It  ran 12.5 hours [F1@a-111111].", Mode::WholeText);
        assert_eq!(found.text, "It  ran 12.5 hours [F1@a-111111].");
        let found = check(
            "It  ran 12.5 hours [F1@a-111111]. Bad 8 [F9@z].",
            Mode::WholeText,
        );
        assert_eq!(found.text, "It ran 12.5 hours [F1@a-111111].");
    }

    #[test]
    fn a_text_of_white_space_is_grounded() {
        let found = check(" \n\t", Mode::PerSentence);
        assert!(found.is_grounded() && found.sentences.is_empty() && found.text.is_empty());
    }
}
