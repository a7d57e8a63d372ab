//! `finding_detail`: what one finding rests on (Engine §6.3).

use niagara_analytics::evidence::{Evidence, Violations};
use niagara_analytics::run_config::ChosenRule;
use niagara_analytics::runner::Finding;
use niagara_analytics::wall_clock::iso;
use serde_json::{Map, Value, json};

use super::conditional;
use super::finding_id::FindingId;
use super::finding_rows::{self, FindingRows, cited_id};
use super::rule_run::declined_notice;
use super::run_arguments;
use crate::camber::call::Call;
use crate::camber::capability::{
    Capability, CapabilityDefinition, closed_object, count, list_of, of_type,
};
use crate::camber::engine::RuleRun;
use crate::camber::error::CapabilityError;
use crate::camber::hygiene;
use crate::camber::python_text::number;
use crate::camber::result::{CapabilityResult, Facts, counted};

const NAME: &str = "finding_detail";

/// Moments of events that are listed.
const LISTED_EVENTS: usize = 20;

/// Shows one finding of a run.
pub struct FindingDetail;

fn violations_schema(name: bool) -> Value {
    let number = || json!({"type": "number", "minimum": 0});
    let span = closed_object(
        &["start", "end", "hours"],
        [
            ("start", of_type(&["string"])),
            ("end", of_type(&["string"])),
            ("hours", number()),
        ],
    );
    let mut required = vec![
        "hours",
        "samples",
        "judged_samples",
        "judged_basis",
        "share",
        "n_spans",
        "spans",
    ];
    let mut properties = vec![
        ("hours", number()),
        ("samples", count()),
        ("judged_samples", count()),
        ("judged_basis", of_type(&["string"])),
        (
            "share",
            json!({"type": "number", "minimum": 0, "maximum": 1}),
        ),
        ("n_spans", count()),
        ("spans", list_of(span)),
    ];
    if name {
        required.insert(0, "name");
        properties.insert(0, ("name", of_type(&["string"])));
    }
    closed_object(&required, properties)
}

fn or_null(mut schema: Value) -> Value {
    schema["type"] = json!(["object", "null"]);
    schema
}

fn output_schema() -> Value {
    let text = || of_type(&["string"]);
    let parameter = closed_object(
        &["name", "value", "default", "overridden", "source"],
        [
            ("name", text()),
            ("value", json!(true)),
            ("default", json!(true)),
            ("overridden", of_type(&["boolean"])),
            (
                "source",
                json!({"type": "string", "enum": ["default", "overridden", "fallback"],
                    "description": "fallback: there is no value, and the rule does what fallback says."}),
            ),
            ("fallback", text()),
            ("unit", text()),
            ("basis", text()),
        ],
    );
    let chart = closed_object(
        &["renderer", "roles", "title", "label", "description"],
        [
            ("renderer", text()),
            ("roles", list_of(text())),
            ("title", text()),
            ("label", text()),
            ("template", text()),
            ("description", text()),
        ],
    );
    let event = closed_object(
        &["name", "count", "stamps"],
        [
            ("name", text()),
            ("count", count()),
            ("stamps", list_of(text())),
        ],
    );
    closed_object(
        &[
            "facility_id",
            "finding",
            "metrics",
            "parameters",
            "chart",
            "violations",
            "conditions",
            "events",
        ],
        [
            ("facility_id", text()),
            ("finding", finding_rows::schema()),
            ("metrics", json!({"type": "object"})),
            ("parameters", list_of(parameter)),
            ("chart", or_null(chart)),
            ("violations", or_null(violations_schema(false))),
            ("violations_note", text()),
            ("conditions", list_of(violations_schema(true))),
            ("events", list_of(event)),
        ],
    )
}

impl Capability for FindingDetail {
    fn definition(&self) -> CapabilityDefinition {
        let [facility, equips, start, end] = run_arguments::selection();
        let [rules, params] = run_arguments::rules();
        let finding = (
            "finding_id",
            json!({"type": "string", "minLength": 3, "maxLength": 300, "pattern": "^[a-z0-9_]+@.+$",
                "description": "A finding_id of rule_run, such as supply_air_control@AHU-1."}),
        );
        CapabilityDefinition {
            name: NAME,
            title: "Evidence of a finding",
            description: "One finding of rule_run in full: all figures, the parameters that it ran with and where they are \
                from, the flagged hours as spans of time (and per condition), or why there are none, and which chart shows \
                it. It makes the same run again: give the same rules, params, equips and window as to rule_run. \
                Example: {\"facility_id\": \"harborview\", \"finding_id\": \"supply_air_control@AHU-1\"}.",
            input_schema: closed_object(
                &["facility_id", "finding_id"],
                [facility, finding, rules, params, equips, start, end],
            )
            .into(),
            output_schema: output_schema().into(),
            long_running: false,
            reads_store: true,
            own_output: &[],
        }
    }

    fn run(
        &self,
        call: &Call<'_>,
        arguments: &Map<String, Value>,
    ) -> Result<CapabilityResult, CapabilityError> {
        let id = arguments
            .get("finding_id")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let id = FindingId::read(id)?;
        let prepared = RuleRun::prepare(call, arguments)?;
        id.require(call, &prepared)?;
        let run = prepared.only(id.rule, id.equips()).run(call)?;
        let (Some(finding), Some(rule)) = (
            run.outcome.finding(id.whole),
            run.rules.iter().find(|rule| rule.code.id == id.rule),
        ) else {
            return Err(CapabilityError::not_found(format!(
                "this run has no finding {}: the rule was skipped there, or passed no verdict; give the same rules, params, equips and window as to rule_run",
                hygiene::quoted(id.whole)
            )));
        };
        let evidence = match run.frame(finding) {
            Some(frame) => {
                let worst = finding.verdict.metrics.get("worst_signal");
                Evidence::of_equipment(
                    rule,
                    frame,
                    finding.is_declined(),
                    worst.and_then(Value::as_str),
                )
            }
            None => Evidence::of_fleet(),
        };
        Ok(answer(call, &run, rule, finding, evidence))
    }
}

fn answer(
    call: &Call<'_>,
    run: &RuleRun<'_>,
    rule: &ChosenRule,
    finding: &Finding,
    evidence: Evidence,
) -> CapabilityResult {
    let rows = FindingRows::of(call, run);
    let mut facts = Facts::of(NAME);
    let mut sentences = Vec::new();
    let (sentence, cite) = rows.fact(finding, &mut facts);
    sentences.push(format!("{sentence} {cite}."));
    let row = rows.row(finding, Some(cited_id(&cite)));
    let mut state = |kind: &str, value: Value, told: String, extra: &[(&str, Value)]| {
        let cite = facts.add(kind, value, told.clone(), extra);
        sentences.push(format!("{told} {cite}."));
    };
    if let Some(violations) = &evidence.violations {
        state(
            "evidence_hours",
            json!(violations.hours),
            format!("The rule flags {}", hours_told(violations)),
            &[("share", json!(violations.share))],
        );
    }
    for (name, violations) in &evidence.conditions {
        state(
            "condition",
            json!(violations.hours),
            format!("Of these, {name} is flagged in {}", hours_told(violations)),
            &[("name", json!(name)), ("share", json!(violations.share))],
        );
    }
    for event in &evidence.events {
        state(
            "events",
            json!(event.count),
            format!("There are {} {}", event.count, event.name),
            &[("name", json!(event.name))],
        );
    }
    let parameters: Vec<Value> = rule
        .entry
        .params
        .iter()
        .map(|parameter| parameter_row(rule, parameter))
        .collect();
    state(
        "parameters",
        json!(parameters.len()),
        format!("{} ran with {}", rule.code.id, parameters_told(&parameters)),
        &[],
    );
    if let Some(chart) = &evidence.chart {
        state(
            "chart",
            json!(chart.renderer),
            format!("Chart: {}", hygiene::harmless(&chart.description())),
            &[],
        );
    }
    let conditions: Vec<Value> = evidence
        .conditions
        .iter()
        .map(|(name, violations)| {
            let mut row = violations.to_json();
            row["name"] = json!(name);
            row
        })
        .collect();
    let events: Vec<Value> = evidence
        .events
        .iter()
        .map(|event| {
            let stamps: Vec<String> = event
                .stamps
                .iter()
                .take(LISTED_EVENTS)
                .map(|stamp| iso(*stamp))
                .collect();
            json!({"name": event.name, "count": event.count, "stamps": stamps})
        })
        .collect();
    let mut data = json!({
        "facility_id": run.ground.facility.as_str(),
        "finding": row,
        "metrics": finding.verdict.metrics.as_map(),
        "parameters": parameters,
        "chart": evidence.chart.as_ref().map(niagara_analytics::evidence::Chart::to_json),
        "violations": evidence.violations.as_ref().map(Violations::to_json),
        "conditions": conditions,
        "events": events,
    });
    if let Some(note) = &evidence.note {
        data["violations_note"] = json!(note);
    }
    let mut result = CapabilityResult::of(data);
    result.text = sentences.join(" ");
    result.facts = facts.into_list();
    result.banners.extend(run.ground.notices.iter().cloned());
    result.banners.extend(declined_notice(call, run));
    result
        .banners
        .extend(conditional::notice_of(call, run, finding));
    result
}

fn hours_told(violations: &Violations) -> String {
    format!(
        "{} h, {} of {} {} ({} %), in {}",
        violations.hours,
        violations.samples,
        violations.judged_samples,
        violations.judged_basis,
        niagara_analytics::numeric::round(violations.share * 100.0, 2),
        counted(violations.n_spans, "span", "spans"),
    )
}

fn parameter_row(
    rule: &ChosenRule,
    parameter: &niagara_analytics::catalogue::RuleParameter,
) -> Value {
    let value = rule.parameters.value(&parameter.name);
    let overridden = rule.parameters.is_set(&parameter.name);
    let fallback = parameter.fallback().filter(|_| value.is_null());
    let source = match (overridden, fallback) {
        (_, Some(_)) => "fallback",
        (true, None) => "overridden",
        (false, None) => "default",
    };
    let mut row = json!({
        "name": parameter.name,
        "value": value,
        "default": parameter.default,
        "overridden": overridden,
        "source": source,
    });
    if let Some(fallback) = fallback {
        row["fallback"] = json!(fallback);
    }
    let unit = parameter.full_unit();
    if !unit.is_empty() {
        row["unit"] = json!(unit);
    }
    let own = rule
        .param_basis
        .get(&parameter.name)
        .and_then(|given| given.get("basis"));
    let shipped = parameter.to_json(true);
    if let Some(basis) = own
        .or_else(|| shipped.get("basis"))
        .filter(|basis| basis.is_string())
    {
        row["basis"] = basis.clone();
    }
    row
}

/// `tol_F = 2.0, warn_pct = 5 (set for this run)`.
fn parameters_told(parameters: &[Value]) -> String {
    let told: Vec<String> = parameters
        .iter()
        .map(|row| {
            let name = row["name"].as_str().unwrap_or_default();
            match row["source"].as_str() {
                Some("fallback") => format!("{name} not set, the rule's fallback"),
                Some("overridden") => {
                    format!("{name} = {} (set for this run)", plain(&row["value"]))
                }
                _ => format!("{name} = {}", plain(&row["value"])),
            }
        })
        .collect();
    told.join(", ")
}

/// A value without the quotes of JSON around texts.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => hygiene::harmless(text),
        Value::Number(value) => number(value),
        other => hygiene::harmless(&other.to_string()),
    }
}
