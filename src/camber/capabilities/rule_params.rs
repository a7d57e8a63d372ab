//! `rule_params`: which rules and drift detectors there are, and what can be tuned (CAMBER core §12.4).

use serde_json::{Map, Value, json};

use super::dataset_search::query_words;
use crate::camber::call::Call;
use crate::camber::capability::{
    Capability, CapabilityDefinition, closed_object, count, list_of, of_type, word,
};
use crate::camber::error::CapabilityError;
use crate::camber::pages;
use crate::camber::python_text::spoken;
use crate::camber::result::{CapabilityResult, Facts, counted};
use crate::camber::rule_catalogue::{RuleCatalogue, RuleEntry, rule_row};

const NAME: &str = "rule_params";

/// Rules on a page, without and with the details of each parameter.
const PAGE: usize = 25;
const DETAILED_PAGE: usize = 10;

/// Named rules whose parameters the summary tells.
const TOLD: usize = 10;

/// Lists rules with their parameters.
pub struct RuleParams;

fn matches(entry: &RuleEntry, words: &[String]) -> bool {
    let text = std::iter::once(&entry.id)
        .chain(&entry.equip_families)
        .chain(entry.params.iter().map(|parameter| &parameter.name))
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase();
    words.iter().all(|word| text.contains(word))
}

/// The parameters of a rule in one sentence: names and units quoted, since they hold numbers of their own.
fn defaults(entry: &RuleEntry) -> String {
    let list: Vec<String> = entry
        .params
        .iter()
        .map(|parameter| {
            let value = match &parameter.default {
                // What the rule does then is in its note.
                Value::Null => return format!("{} not set", parameter.name),
                Value::Bool(flag) => flag.to_string(),
                Value::String(text) => format!("\"{text}\""),
                Value::Array(items) => {
                    let items: Vec<String> = items.iter().map(spoken).collect();
                    format!("({})", items.join(", "))
                }
                Value::Object(members) => format!(
                    "\"{}\"",
                    Value::Object(members.clone()).to_string().replace('"', "'")
                ),
                other => spoken(other),
            };
            format!("{} = {value} \"{}\"", parameter.name, parameter.unit)
        })
        .collect();
    format!(
        "{} ({}) defaults: {}",
        entry.id,
        entry.kind.word(),
        list.join(", ")
    )
}

fn parameter_schema() -> Value {
    closed_object(
        &["name", "default"],
        [
            ("name", of_type(&["string"])),
            ("default", json!({})),
            ("unit", of_type(&["string"])),
            ("range", json!({"type": "array"})),
            ("basis", of_type(&["string"])),
            ("calibrate", of_type(&["string"])),
            ("note", of_type(&["string"])),
            ("passed_to", of_type(&["string"])),
        ],
    )
}

impl Capability for RuleParams {
    fn definition(&self) -> CapabilityDefinition {
        let row = closed_object(
            &["rule", "kind", "equip_families", "params"],
            [
                ("rule", of_type(&["string"])),
                ("kind", json!({"type": "string", "enum": ["rule", "drift"]})),
                (
                    "run_with",
                    json!({"type": "string", "enum": ["rule_run", "drift"]}),
                ),
                ("equip_families", list_of(of_type(&["string"]))),
                ("params", list_of(parameter_schema())),
                ("fixed_in_code", of_type(&["string"])),
            ],
        );
        let [limit, offset] = pages::properties();
        CapabilityDefinition {
            name: NAME,
            title: "Rules and their parameters",
            description: "Lists the fault-detection rules and the opt-in drift detectors (run_with tells which capability \
                runs them), the equipment families that each is written for, and their tunable parameters with defaults, \
                units and sensible ranges; with detail also where a default comes from and how to calibrate it. Call it \
                to choose rules and params, or to explain a threshold. Cheap, reads no data. \
                Example: {\"rules\": [\"economizer_high_limit\"]}.",
            input_schema: closed_object(
                &[],
                [
                    (
                        "rules",
                        json!({"type": "array", "minItems": 1, "maxItems": 100,
                            "items": {"type": "string", "enum": RuleCatalogue::shipped_names()},
                            "description": "Only these rules or detectors."}),
                    ),
                    (
                        "query",
                        word("Words that must all occur in name, families or parameter names."),
                    ),
                    (
                        "detail",
                        json!({"type": "boolean",
                            "description": "Origin and advice for each parameter; by default only when rules are named."}),
                    ),
                    limit,
                    offset,
                ],
            ).into(),
            output_schema: closed_object(
                &["count", "rules"],
                [("count", count()), ("rules", list_of(row))],
            ).into(),
            long_running: false,
            reads_store: false,
            own_output: &[],
        }
    }

    fn run(
        &self,
        call: &Call<'_>,
        arguments: &Map<String, Value>,
    ) -> Result<CapabilityResult, CapabilityError> {
        let named: Option<Vec<&str>> = arguments
            .get("rules")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect());
        let query = arguments.get("query").and_then(Value::as_str);
        let words = query_words(query.unwrap_or_default());
        let detail = arguments
            .get("detail")
            .and_then(Value::as_bool)
            .unwrap_or(named.is_some());
        let found: Vec<&RuleEntry> = RuleCatalogue::shipped()
            .entries()
            .filter(|entry| {
                named
                    .as_ref()
                    .is_none_or(|named| named.contains(&entry.id.as_str()))
            })
            .filter(|entry| matches(entry, &words))
            .collect();
        if found.is_empty() && named.is_some() {
            return Err(CapabilityError::not_found(
                "none of the named rules matches the query; leave one of the two out",
            ));
        }
        let total = found.len();
        let parameters: usize = found.iter().map(|entry| entry.params.len()).sum();
        let size = if detail { DETAILED_PAGE } else { PAGE };
        let page = call.page("rules", found, size, None);
        let mut facts = Facts::of(NAME);
        let overall = format!(
            "{}, with {} between them",
            counted(total, "rule matches", "rules match"),
            counted(parameters, "tunable parameter", "tunable parameters")
        );
        let cite = facts.add("rule_count", total, overall.clone(), &[]);
        let mut sentences = vec![format!("{overall} {cite}.")];
        let mut rows = Vec::new();
        for (place, entry) in page.into_iter().enumerate() {
            let told = defaults(entry);
            let row = rule_row(entry, detail);
            let values = row_values(entry);
            let cite = facts.add(
                "rule_params",
                entry.params.len(),
                told.clone(),
                &[("rule", json!(entry.id)), ("params", values)],
            );
            if named.is_some() && place < TOLD {
                sentences.push(format!("{told} {cite}."));
            }
            rows.push(Value::Object(row));
        }
        let mut result = CapabilityResult::of(json!({"count": total, "rules": rows}));
        result.text = sentences.join(" ");
        result.facts = facts.into_list();
        Ok(result)
    }
}

/// Names, defaults and ranges: what a text may cite of a rule.
fn row_values(entry: &RuleEntry) -> Value {
    entry
        .params
        .iter()
        .map(|parameter| parameter.to_json(false))
        .collect()
}
