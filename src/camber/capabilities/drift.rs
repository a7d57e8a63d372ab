//! `drift`: machines against what they did at the same load in a known-good time (Drift §1).

use std::sync::Arc;

use niagara_analytics::drift::{Diagnosis, Family, FamilyRun};
use niagara_analytics::runner::Finding;
use serde_json::{Map, Value, json};

use super::finding_rows::{self, collapsed, counts_schema, row_schema, scalars, severity_schema};
use super::rule_run::untrusted_notice;
use super::run_arguments;
use crate::camber::call::Call;
use crate::camber::capability::{
    Capability, CapabilityDefinition, closed_object, list_of, of_type, whole_object, word,
};
use crate::camber::engine::DriftCall;
use crate::camber::engine::drift::BaselineSource;
use crate::camber::error::CapabilityError;
use crate::camber::pages;
use crate::camber::result::{CapabilityResult, Facts, counted};
use crate::camber::workspace::PointOrds;

const NAME: &str = "drift";

/// Rows of each list on a page.
const PAGE: usize = 25;

/// The family of equipment that was not judged by any.
const NO_FAMILY: &str = "none";

/// Compares machines with their own past.
pub struct DriftCapability;

fn window(description: &str) -> Value {
    json!({
        "type": "array",
        "minItems": 2,
        "maxItems": 2,
        "items": {
            "type": ["string", "null"],
            "pattern": r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2})?)?$",
        },
        "description": description,
    })
}

fn input_schema() -> Value {
    let [facility, equips, ..] = run_arguments::selection();
    let [limit, offset] = pages::properties();
    let words: Vec<&str> = Family::ALL.iter().map(|family| family.word()).collect();
    let family =
        json!({"type": "string", "enum": words, "description": "Which detectors judge the class."});
    let entry = closed_object(
        &["equip_class", "family"],
        [
            ("equip_class", word("A class of equipment.")),
            ("family", family),
        ],
    );
    closed_object(
        &["facility_id"],
        [
            facility,
            (
                "baseline",
                window(
                    "Start and end of a time in which the equipment was known to be good, in the site's wall clock; fitted for \
                     this call only.",
                ),
            ),
            (
                "current",
                window(
                    "Start and end of the time to judge; null leaves an end open. By default from the end of the baseline on.",
                ),
            ),
            (
                "families",
                json!({"type": "array", "minItems": 1, "maxItems": 20, "items": entry,
                    "description": "Which family judges which class; the usual one of every class by default."}),
            ),
            equips,
            limit,
            offset,
        ],
    )
}

fn output_schema() -> Value {
    let text = || of_type(&["string"]);
    let maybe = || of_type(&["string", "null"]);
    let ends = || json!({"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": ["string", "null"]}});
    let family = whole_object([
        ("equip_class", text()),
        ("family", text()),
        ("label", text()),
        ("baseline", ends()),
        ("current", ends()),
        ("reference", maybe()),
    ]);
    let diagnosis = whole_object([
        ("family", text()),
        ("equip", text()),
        ("severity", severity_schema()),
        ("summary", text()),
        ("detail", json!({"type": "object"})),
    ]);
    whole_object([
        ("facility_id", text()),
        (
            "source",
            json!({"type": "string", "enum": ["baseline_period", "frozen_baselines"]}),
        ),
        ("families", list_of(family)),
        ("counts", counts_schema()),
        ("diagnoses", list_of(diagnosis)),
        ("findings", list_of(row_schema(false, None))),
        (
            "unevaluated",
            list_of(whole_object([
                ("family", text()),
                ("equip", text()),
                ("reason", text()),
            ])),
        ),
    ])
}

impl Capability for DriftCapability {
    fn definition(&self) -> CapabilityDefinition {
        CapabilityDefinition {
            name: NAME,
            title: "Drift of equipment",
            description: "Compares equipment with what it did at the same load before: fans, filters, coils, chillers, towers, \
                pumps, boxes, boilers and direct-expansion units against a known-good window that you name (fitted for this \
                call, never kept) or against the frozen baselines of the run configuration. Gives findings with the size of \
                the shift, its sigmas and when a lasting one began, one verdict per equipment, and what was not evaluated: \
                that is no pass. Call it when something got worse by and by. Cost: reads every trend; seconds for a large \
                building. Example: {\"facility_id\": \"harborview\", \"baseline\": [\"2026-01-01\", \"2026-03-01\"], \"equips\": \
                [\"AHU-1\"]}.",
            input_schema: input_schema().into(),
            output_schema: output_schema().into(),
            long_running: true,
            reads_store: true,
            own_output: &[],
        }
    }

    fn run(
        &self,
        call: &Call<'_>,
        arguments: &Map<String, Value>,
    ) -> Result<CapabilityResult, CapabilityError> {
        let run = DriftCall::of(call, arguments)?;
        let rows = Rows::of(call, &run);
        let outcome = &run.outcome;
        let families = call.page("families", outcome.families.iter().collect(), PAGE, None);
        let findings = call.page("findings", outcome.worst_first(), PAGE, Some("worst first"));
        let diagnoses = call.page("diagnoses", outcome.diagnoses.iter().collect(), PAGE, None);
        let unevaluated = call.page("unevaluated", unevaluated(&run), PAGE, None);
        let mut facts = Facts::of(NAME);
        let told = told(call, &run);
        let cite = facts.add(
            NAME,
            outcome.findings.len(),
            told.clone(),
            &[("facility_id", json!(run.ground.facility.as_str()))],
        );
        let mut sentences = vec![format!("{told} {cite}.")];
        let finding_rows = finding_rows::rows(
            &findings,
            &mut sentences,
            |finding| rows.fact(finding, &mut facts),
            |finding, fact| rows.row(finding, fact),
        );
        let counts = outcome.counts();
        let mut result = CapabilityResult::of(json!({
            "facility_id": run.ground.facility.as_str(),
            "source": run.source.word(),
            "families": families.iter().map(|told| json!({
                "equip_class": told.equip_class,
                "family": told.family.word(),
                "label": told.family.label(),
                "baseline": told.baseline.ends(),
                "current": told.current.ends(),
                "reference": told.reference,
            })).collect::<Vec<_>>(),
            "counts": finding_rows::counts_json(&counts),
            "diagnoses": diagnoses.iter().map(|row| diagnosis(row)).collect::<Vec<_>>(),
            "findings": finding_rows,
            "unevaluated": unevaluated,
        }));
        result.text = sentences.join(" ");
        result.facts = facts.into_list();
        result.banners.extend(run.ground.notices.iter().cloned());
        if run.source == BaselineSource::Period {
            result.banners.push(
                "the baseline window was fitted for this call only, and is known-good only if the equipment was healthy then"
                    .to_owned(),
            );
        }
        result
            .banners
            .extend(untrusted_notice(call, &outcome.untrusted(), run.floor));
        Ok(result)
    }
}

/// By family and equipment; equipment that no family was asked of is of the family `none`.
fn unevaluated(run: &DriftCall<'_>) -> Vec<Value> {
    let of_families = run.outcome.unevaluated.iter();
    let mut rows: Vec<(&str, &str, &str)> = of_families
        .map(|row| (row.family.word(), row.equip.as_str(), row.reason))
        .collect();
    let of_none = run.unjudged.iter();
    rows.extend(of_none.map(|(equip, reason)| (NO_FAMILY, equip.as_str(), reason.as_str())));
    rows.sort_unstable();
    rows.into_iter()
        .map(|(family, equip, reason)| json!({"family": family, "equip": equip, "reason": reason}))
        .collect()
}

fn diagnosis(row: &Diagnosis) -> Value {
    let mut detail = scalars(row.detail.as_map());
    if let Some(Value::String(summary)) = detail.get_mut("summary") {
        *summary = collapsed(summary);
    }
    json!({
        "family": row.family.word(),
        "equip": row.equip,
        "severity": row.severity.word(),
        "summary": collapsed(&row.summary),
        "detail": detail,
    })
}

fn told(call: &Call<'_>, run: &DriftCall<'_>) -> String {
    let outcome = &run.outcome;
    let counts = outcome.counts();
    let declined = outcome
        .findings
        .iter()
        .filter(|finding| finding.is_declined())
        .count();
    let untrusted = match outcome.untrusted().len() {
        0 => String::new(),
        untrusted => format!(", {untrusted} of them for untrusted inputs"),
    };
    format!(
        "drift of {} against {} ran {} and gave {} fault and {} warn findings; {} declined{untrusted}, and {} not evaluated, \
         which is no pass",
        call.quote(run.ground.facility.as_str()),
        match run.source {
            BaselineSource::Period => "the baseline period",
            BaselineSource::Frozen => compared_with(run),
        },
        counted(outcome.families.len(), "family", "families"),
        counts.fault,
        counts.warn,
        counted(declined, "check", "checks"),
        counted(
            outcome.unevaluated.len() + run.unjudged.len(),
            "piece of equipment was",
            "pieces of equipment were"
        ),
    )
}

/// What a configuration's families are compared with.
fn compared_with(run: &DriftCall<'_>) -> &'static str {
    let families = &run.outcome.families;
    let is_frozen = |family: &FamilyRun| family.reference.is_none();
    match () {
        () if families.iter().all(is_frozen) => "frozen baselines",
        () if families.iter().any(is_frozen) => "frozen baselines and declared references",
        () => "the declared references",
    }
}

/// Writes the findings of a run.
struct Rows<'a, 'c> {
    call: &'a Call<'c>,
    run: &'a DriftCall<'c>,
    ords: Arc<PointOrds>,
}

impl<'a, 'c> Rows<'a, 'c> {
    fn of(call: &'a Call<'c>, run: &'a DriftCall<'c>) -> Self {
        Self {
            call,
            run,
            ords: call.ords(run.ground.facility.as_str()),
        }
    }

    /// The row of a finding, with the id of its fact when it has one.
    fn row(&self, finding: &Finding, fact: Option<&str>) -> Value {
        let mut row = finding_rows::plain_row(finding, fact);
        let ords = self.ords(finding);
        if !ords.is_empty() {
            row["ords"] = Value::Object(ords);
        }
        row
    }

    /// The station's points that the detector reads on the equipment.
    fn ords(&self, finding: &Finding) -> Map<String, Value> {
        let frame = finding.place.and_then(|place| self.run.frames.get(place));
        let reads = self.run.outcome.reads.get(&finding.id);
        reads
            .into_iter()
            .flatten()
            .filter(|role| frame.is_some_and(|frame| frame.stores(role)))
            .filter_map(|role| {
                let ord = self.ords.ord(&finding.equip, role)?;
                Some(((*role).to_owned(), json!(ord)))
            })
            .collect()
    }

    /// Adds the finding's fact and returns its sentence and citation.
    fn fact(&self, finding: &Finding, facts: &mut Facts) -> (String, String) {
        let sentence = finding_rows::sentence(self.call, finding);
        let cite = finding_rows::add_fact(finding, &sentence, facts);
        (sentence, cite)
    }
}
