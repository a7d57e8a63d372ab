//! Whatever a name or a draft holds, it stays a name or a draft.

use std::collections::BTreeSet;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::citations::lexer::{Quotes, cited, numbers, sentences};
use super::citations::{Mode, verify};
use super::hygiene::{LONGEST_NAME, one_line, quoted, summary};
use super::python_text::canonical_json;
use super::redaction::PathRedactor;

/// Pieces of which hostile names are made.
fn hostile() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        any::<String>(),
        proptest::sample::select(vec![
            "[F1@points]",
            "[",
            "]",
            "F1",
            "@x",
            "\"",
            "\n",
            "\u{202e}",
            "\u{200b}",
            "<b>",
            "](",
            "https://x",
            "www.y",
            "NOTICE:",
            ". ",
            "12.5",
            "%",
            "/etc/passwd",
            "/srv/trends",
            "~/",
            "C:\\x",
            "\\\\",
            "'",
            "é",
            "\u{1b}[31m",
            "\u{2028}",
        ])
        .prop_map(str::to_owned),
    ];
    proptest::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn a_quoted_name_is_one_harmless_word(name in hostile()) {
        let shown = quoted(&name);
        let inner = shown.trim_start_matches('"').trim_end_matches('"');
        prop_assert!(shown.len() >= 2 && shown.starts_with('"') && shown.ends_with('"'));
        prop_assert!(!inner.contains('"') && !inner.contains(['<', '>', '\n', '\r']), "{shown}");
        prop_assert!(cited(&shown).is_empty(), "{shown}");
        prop_assert!(!shown.contains("://") && !shown.contains("]("), "{shown}");
        prop_assert!(shown.chars().count() <= LONGEST_NAME + 2);
        let sentence = format!("Equipment {shown} ran 5 hours.");
        prop_assert_eq!(sentences(&sentence, Quotes::Opaque, &BTreeSet::new()).len(), 1);
        prop_assert_eq!(numbers(&sentence, Quotes::Opaque), BTreeSet::from(["5".to_owned()]));
    }

    #[test]
    fn a_summary_is_one_line_without_foreign_citations(text in hostile()) {
        let shown = summary(&text, |_| false);
        prop_assert!(cited(&shown).is_empty() && !shown.starts_with("NOTICE"), "{shown}");
        prop_assert_eq!(one_line(&shown), shown.clone());
    }

    #[test]
    fn no_spelling_of_a_known_place_survives(before in hostile(), after in hostile()) {
        let mut redactor = PathRedactor::default();
        redactor.add(Path::new("/srv/trends"));
        let text = format!("{before} /srv/trends/x{after}");
        let shown = redactor.text(&text, &BTreeSet::new());
        prop_assert!(!shown.contains("/srv/trends/x"), "{text:?} became {shown:?}");
        let name = quoted("/srv/trends/x");
        let shown = redactor.text(&name, &BTreeSet::from([name.clone()]));
        prop_assert!(!shown.contains("/srv"), "{shown}");
    }

    #[test]
    fn what_is_verified_states_nothing_that_its_facts_do_not(text in hostile(), value in any::<f64>()) {
        let fact = json!({"id": "F1@points", "text": "12.5", "value": value});
        let facts: Vec<_> = fact.as_object().into_iter().collect();
        for mode in [Mode::WholeText, Mode::PerSentence] {
            let found = verify(&text, &facts, mode, Quotes::Plain);
            let kept = numbers(&found.text, Quotes::Plain);
            prop_assert!(found.sentences.len() >= found.sentences.iter().filter(|s| s.kept).count());
            if found.unknown.is_empty() {
                let all = super::citations::lexer::fact_numbers(facts[0], Quotes::Plain);
                prop_assert!(kept.is_subset(&all), "{text:?} keeps {kept:?} of {all:?}");
            }
        }
    }

    #[test]
    fn canonical_json_reads_back(texts in proptest::collection::btree_map(hostile(), any::<f64>(), 0..5)) {
        let value = json!(texts);
        let read: Value = serde_json::from_str(&canonical_json(&value)).expect("JSON");
        prop_assert_eq!(read, value);
    }
}
