//! `check_citations`: whether a draft says only what facts carry (CAMBER core §12.7).

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::camber::call::Call;
use crate::camber::capability::{
    Capability, CapabilityDefinition, closed_object, count, list_of, of_type, whole_object,
};
use crate::camber::citations::lexer::{FACT_ID, Quotes};
use crate::camber::citations::{Mode, Verdict, verify};
use crate::camber::error::CapabilityError;
use crate::camber::hygiene::quoted;
use crate::camber::pages;
use crate::camber::result::{CapabilityResult, Facts};
use crate::schema::same_json;

/// The name of the capability.
pub const NAME: &str = "check_citations";

/// Sentences on a page.
const PAGE: usize = 50;

/// Checks a text against facts.
pub struct CheckCitations;

/// The facts by id. A repeated one must say the same; an entry of a `fact_index` has fewer members than the fact itself, of
/// which the fuller counts.
fn distinct(arguments: &Map<String, Value>) -> Result<Vec<&Map<String, Value>>, CapabilityError> {
    let facts = arguments
        .get("facts")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object);
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut list: Vec<&Map<String, Value>> = Vec::new();
    for fact in facts {
        let id = fact.get("id").and_then(Value::as_str).unwrap_or_default();
        let place = *places.entry(id).or_insert(list.len());
        match list.get_mut(place) {
            None => list.push(fact),
            Some(known) if agree(known, fact) => {
                if fact.len() > known.len() {
                    *known = fact;
                }
            }
            Some(_) => {
                return Err(CapabilityError::invalid(format!(
                    "two facts have the id {} and different content; pass the facts as the calls returned them",
                    quoted(id)
                )));
            }
        }
    }
    Ok(list)
}

/// Whether two facts say the same wherever both say something.
fn agree(one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    one.iter()
        .all(|(key, value)| other.get(key).is_none_or(|other| same_json(value, other)))
}

impl Capability for CheckCitations {
    fn definition(&self) -> CapabilityDefinition {
        let strings = || list_of(of_type(&["string"]));
        let sentence = whole_object([
            ("index", count()),
            ("text", of_type(&["string"])),
            (
                "verdict",
                json!({"type": "string", "enum": ["supported", "unknown_citation", "uncited", "unsupported_number"]}),
            ),
            ("cited", strings()),
            ("unknown", strings()),
        ]);
        let [limit, offset] = pages::properties();
        CapabilityDefinition {
            name: NAME,
            title: "Check citations",
            description: "Checks a drafted text (summary, e-mail, report paragraph) against the facts of earlier results \
                before it is shown: pass the text and the facts arrays that those results returned. Returns how many \
                sentences are supported, cite an unknown id, cite nothing, or state a number that no cited fact \
                carries, and the sentences that fail; with detail every sentence and the text without what is not \
                supported. Call it last, on your own draft. Cheap, reads no data. \
                Example: {\"text\": \"AHU-1 ran 12.5 hours [F1@rule_run-1a2b3c].\", \"facts\": [{\"id\": \
                \"F1@rule_run-1a2b3c\", \"text\": \"AHU-1 ran 12.5 hours\"}]}.",
            input_schema: closed_object(
                &["text", "facts"],
                [
                    (
                        "text",
                        json!({"type": "string", "minLength": 1, "maxLength": 50_000,
                            "description": "The draft, with fact ids in square brackets before each full stop."}),
                    ),
                    (
                        "facts",
                        json!({"type": "array", "minItems": 1, "maxItems": 5000,
                        "description": "The facts of all results that the draft rests on.",
                        "items": {"type": "object", "required": ["id", "text"], "properties": {
                            "id": {"type": "string", "maxLength": 200, "pattern": FACT_ID},
                            "text": {"type": "string", "maxLength": 20_000},
                        }}}),
                    ),
                    (
                        "per_sentence",
                        json!({"type": "boolean", "default": true,
                            "description": "False: a number may come from any fact that the text cites."}),
                    ),
                    (
                        "detail",
                        json!({"type": "boolean", "default": false,
                            "description": "Every sentence, and the text without unsupported ones."}),
                    ),
                    limit,
                    offset,
                ],
            ).into(),
            output_schema: closed_object(
                &[
                    "grounded",
                    "n_sentences",
                    "n_supported",
                    "counts",
                    "sentences",
                    "cited",
                ],
                [
                    ("grounded", of_type(&["boolean"])),
                    ("n_sentences", count()),
                    ("n_supported", count()),
                    (
                        "counts",
                        whole_object(Verdict::ALL.map(|verdict| (verdict.word(), count()))),
                    ),
                    ("sentences", list_of(sentence)),
                    ("cited", strings()),
                    ("verified_text", of_type(&["string"])),
                ],
            ).into(),
            long_running: false,
            reads_store: false,
            own_output: &["sentences", "verified_text"],
        }
    }

    fn run(
        &self,
        call: &Call<'_>,
        arguments: &Map<String, Value>,
    ) -> Result<CapabilityResult, CapabilityError> {
        let flag = |name: &str| arguments.get(name).and_then(Value::as_bool);
        let text = arguments
            .get("text")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let known = distinct(arguments)?;
        let mode = match flag("per_sentence") {
            Some(false) => Mode::WholeText,
            _ => Mode::PerSentence,
        };
        let found = verify(text, &known, mode, Quotes::Plain);
        let detail = flag("detail") == Some(true);
        let listed: Vec<Value> = found
            .sentences
            .iter()
            .enumerate()
            .filter(|(_, sentence)| detail || sentence.verdict != Verdict::Supported)
            .map(|(index, sentence)| {
                json!({
                    "index": index,
                    "text": sentence.text,
                    "verdict": sentence.verdict.word(),
                    "cited": sentence.cited,
                    "unknown": sentence.unknown,
                })
            })
            .collect();
        let total = found.sentences.len();
        let number = |verdict| found.count(verdict);
        let supported = number(Verdict::Supported);
        let told = format!(
            "{supported} of {total} sentence(s) are supported by the facts they cite; {} cite an unknown id, {} cite \
             nothing, {} state a number that no cited fact carries",
            number(Verdict::UnknownCitation),
            number(Verdict::Uncited),
            number(Verdict::UnsupportedNumber)
        );
        let mut facts = Facts::of(NAME);
        let cite = facts.add("citation_check", supported, told.clone(), &[]);
        let counts: Map<String, Value> = Verdict::ALL
            .iter()
            .map(|verdict| (verdict.word().to_owned(), json!(number(*verdict))))
            .collect();
        let sentences = call.page("sentences", listed, PAGE, None);
        let cited = call.page("cited", found.cited.clone(), PAGE, None);
        let mut result = CapabilityResult::of(json!({
            "grounded": found.is_grounded(),
            "n_sentences": total,
            "n_supported": supported,
            "counts": counts,
            "sentences": sentences,
            "cited": cited,
        }));
        if detail {
            result
                .data
                .insert("verified_text".to_owned(), json!(found.text));
        }
        if !found.is_grounded() {
            result.banners.push(format!(
                "{} of {total} sentence(s) are not supported: fix or remove them before the text is shown",
                total - supported
            ));
        }
        result.text = format!("{told} {cite}.");
        result.facts = facts.into_list();
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(facts: Value) -> Result<Vec<Value>, String> {
        let arguments = json!({"facts": facts});
        let facts = distinct(arguments.as_object().expect("an object"));
        let facts = facts.map_err(|error| error.to_string())?;
        Ok(facts.into_iter().cloned().map(Value::Object).collect())
    }

    #[test]
    fn a_fact_and_its_entry_of_an_index_are_one() {
        let index = json!({"id": "K1@summary-cea575", "kind": "kpi", "text": "12 issues"});
        let fact =
            json!({"id": "K1@summary-cea575", "kind": "kpi", "text": "12 issues", "value": 12});
        let other = json!({"id": "F1@points", "text": "3 points"});
        for facts in [
            json!([index, other, fact]),
            json!([fact, other, index]),
            json!([fact, fact, other]),
        ] {
            assert_eq!(told(facts).unwrap(), [fact.clone(), other.clone()]);
        }
    }

    #[test]
    fn one_id_for_two_statements_is_refused() {
        let first = json!({"id": "F1@points", "text": "3 points"});
        for second in [
            json!({"id": "F1@points", "text": "4 points"}),
            json!({"id": "F1@points", "text": "4 points", "value": 4}),
        ] {
            let refused = told(json!([first, second])).unwrap_err();
            assert!(refused.contains("different content"), "{refused}");
        }
    }
}
