//! One finding as rows, facts and sentences (Engine §6.2).

use std::collections::BTreeMap;
use std::sync::Arc;

use niagara_analytics::Severity;
use niagara_analytics::runner::{Counts, Finding};
use serde_json::{Map, Value, json};

use super::conditional;
use crate::camber::call::Call;
use crate::camber::capability::{closed_object, count, list_of, of_type, whole_object};
use crate::camber::engine::RuleRun;
use crate::camber::hygiene;
use crate::camber::result::Facts;
use crate::camber::workspace::PointOrds;

/// Findings with a fact of their own, and findings that the summary tells.
const FACTS: usize = 200;
const TOLD: usize = 10;

/// The schema of a row of a rule's finding.
pub fn schema() -> Value {
    row_schema(false, Some(("conditional_on", conditional::schema())))
}

/// The schema of a row; `has_fact` where every one is told as a fact.
pub fn row_schema(has_fact: bool, more: Option<(&'static str, Value)>) -> Value {
    let text = || of_type(&["string"]);
    let mut columns = vec![
        ("finding_id", text()),
        ("rule", text()),
        ("equip", text()),
        ("severity", severity_schema()),
        ("summary", text()),
        ("caveats", list_of(text())),
        ("metrics", json!({"type": "object"})),
    ];
    let mut required: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    columns.push(("fact", text()));
    if has_fact {
        required.push("fact");
    }
    columns.extend(more);
    columns.push((
        "ords",
        json!({"type": "object", "additionalProperties": {"type": "string"},
            "description": "Station points by role, where the site model knows them."}),
    ));
    closed_object(&required, columns)
}

/// The schema of how many findings have which severity.
pub fn counts_schema() -> Value {
    whole_object([
        ("fault", count()),
        ("warn", count()),
        ("info", count()),
        ("ok", count()),
    ])
}

/// The four severities.
pub fn severity_schema() -> Value {
    json!({"type": "string", "enum": ["fault", "warn", "info", "ok"]})
}

/// Writes the findings of a run.
pub struct FindingRows<'a, 'c> {
    call: &'a Call<'c>,
    run: &'a RuleRun<'c>,
    ords: Arc<PointOrds>,
}

impl<'a, 'c> FindingRows<'a, 'c> {
    /// Over one run.
    pub fn of(call: &'a Call<'c>, run: &'a RuleRun<'c>) -> Self {
        Self {
            call,
            run,
            ords: call.ords(run.ground.facility.as_str()),
        }
    }

    /// The row of a finding, with the id of its fact when it has one.
    pub fn row(&self, finding: &Finding, fact: Option<&str>) -> Value {
        let mut row = plain_row(finding, fact);
        let conditions = conditional::conditions(self.run, finding);
        if !conditions.is_empty() {
            let all: Vec<Value> = conditions
                .iter()
                .map(|made| made.condition_json())
                .collect();
            row["conditional_on"] = json!(all);
        }
        let ords = self.ords(finding);
        if !ords.is_empty() {
            row["ords"] = json!(ords);
        }
        row
    }

    /// The station's points that the rule reads on the equipment.
    fn ords(&self, finding: &Finding) -> BTreeMap<&'a str, String> {
        let (Some(rule), Some(frame)) = (self.run.rule(finding), self.run.frame(finding)) else {
            return BTreeMap::new();
        };
        rule.wanted
            .iter()
            .filter(|role| frame.stores(role))
            .filter_map(|role| {
                let ord = self.ords.ord(&finding.equip, role)?;
                Some((role.as_str(), ord.to_owned()))
            })
            .collect()
    }

    /// The finding as a sentence without its full stop.
    pub fn sentence(&self, finding: &Finding) -> String {
        sentence(self.call, finding)
    }

    /// Adds the finding's fact and returns its sentence and citation.
    pub fn fact(&self, finding: &Finding, facts: &mut Facts) -> (String, String) {
        let mut sentence = self.sentence(finding);
        if let Some(told) = conditional::told(&conditional::conditions(self.run, finding)) {
            sentence.push_str("; ");
            sentence.push_str(&told);
        }
        let cite = add_fact(finding, &sentence, facts);
        (sentence, cite)
    }
}

/// The columns that the row of every finding has, with the id of its fact when it has one.
pub fn plain_row(finding: &Finding, fact: Option<&str>) -> Value {
    let verdict = &finding.verdict;
    let mut row = json!({
        "finding_id": finding.id,
        "rule": finding.rule,
        "equip": finding.equip,
        "severity": verdict.severity.word(),
        "summary": collapsed(&verdict.summary),
        "caveats": verdict.caveats,
        "metrics": scalars(verdict.metrics.as_map()),
    });
    if let Some(fact) = fact {
        row["fact"] = json!(fact);
    }
    row
}

/// A finding as a sentence without its full stop.
pub fn sentence(call: &Call<'_>, finding: &Finding) -> String {
    let summary = hygiene::harmless(&collapsed(&finding.verdict.summary));
    format!(
        "{} {} ({}): {}",
        call.quote(&finding.equip),
        finding.rule,
        finding.severity(),
        summary.trim_end_matches('.')
    )
}

/// Adds the fact of a finding; its citation comes back.
pub fn add_fact(finding: &Finding, sentence: &str, facts: &mut Facts) -> String {
    let metrics = scalars(finding.verdict.metrics.as_map());
    facts.add(
        "finding",
        finding.severity().word(),
        sentence.to_owned(),
        &[
            ("rule", json!(finding.rule)),
            ("equip", json!(finding.equip)),
            ("finding_id", json!(finding.id)),
            ("metrics", Value::Object(metrics)),
        ],
    )
}

/// The rows of a page: the first ones are told as facts, and the worst of them as sentences.
pub fn rows(
    page: &[&Finding],
    sentences: &mut Vec<String>,
    mut fact: impl FnMut(&Finding) -> (String, String),
    row: impl Fn(&Finding, Option<&str>) -> Value,
) -> Vec<Value> {
    let told = page.iter().enumerate().map(|(place, finding)| {
        if place >= FACTS {
            return row(finding, None);
        }
        let (sentence, cite) = fact(finding);
        if sentences.len() <= TOLD && finding.severity() <= Severity::Warn {
            sentences.push(format!("{sentence} {cite}."));
        }
        row(finding, Some(cited_id(&cite)))
    });
    told.collect()
}

/// How many findings have which severity.
pub fn counts_json(counts: &Counts) -> Value {
    json!({
        "fault": counts.fault,
        "warn": counts.warn,
        "info": counts.info,
        "ok": counts.ok,
    })
}

/// Only what is null, a switch, a number or a text; keys sorted.
pub fn scalars(metrics: &Map<String, Value>) -> Map<String, Value> {
    let sorted: BTreeMap<&String, &Value> = metrics
        .iter()
        .filter(|(_, value)| !value.is_array() && !value.is_object())
        .collect();
    sorted
        .into_iter()
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Runs of white space are one space.
pub fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The id in a citation `[F1@x]`.
pub fn cited_id(citation: &str) -> &str {
    citation.trim_start_matches('[').trim_end_matches(']')
}
