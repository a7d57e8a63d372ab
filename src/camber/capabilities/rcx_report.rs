//! `rcx_report`: the ranked causes of what the rules find, with costs and confidence (RCx report).

use std::collections::{BTreeMap, BTreeSet};

use niagara_analytics::rcx::{IndexEntry, Issue, Kpis, Section};
use serde_json::{Map, Value, json};

use super::{finding_rows, rule_run, run_arguments};
use crate::camber::call::Call;
use crate::camber::capability::{
    Capability, CapabilityDefinition, closed_object, count, list_of, of_type, whole_object,
};
use crate::camber::citations::lexer::as_one_sentence;
use crate::camber::engine::{RcxRun, references};
use crate::camber::error::CapabilityError;
use crate::camber::pages::Page;
use crate::camber::result::{CapabilityResult, Facts, counted};
use crate::camber::workspace::PointOrds;

const NAME: &str = "rcx_report";

/// Entries of the appendix of gaps on a page.
const GAPS: usize = 20;
/// Most issues on a page, and issues that the summary tells.
const MOST_ISSUES: usize = 50;
const TOLD: usize = 5;

/// Makes the report.
pub struct RcxReport;

impl Capability for RcxReport {
    fn definition(&self) -> CapabilityDefinition {
        let text = || of_type(&["string"]);
        let [facility, equips, start, end] = run_arguments::selection();
        CapabilityDefinition {
            name: NAME,
            title: "Ranked issues of a facility",
            description: "The retro-commissioning report as data: findings that share a cause are one issue, ranked, with \
                what to do, the rules and finding_ids behind it (for finding_detail), yearly cost or why there is none, \
                hours, confidence and its reasons, and the sensors that it is conditional on; figures of the whole report, \
                its sections and its index of facts. No file is written. Call it for what to fix first. Cost: runs every \
                rule over every trend of the window. Example: {\"facility_id\": \"harborview\", \"top_n\": 5}.",
            input_schema: closed_object(
                &["facility_id"],
                [
                    facility,
                    equips,
                    start,
                    end,
                    (
                        "top_n",
                        json!({"type": "integer", "minimum": 1, "maximum": MOST_ISSUES,
                            "description": "Issues on the page; the run configuration's report.rcx.top_n by default, else 8."}),
                    ),
                    (
                        "offset",
                        json!({"type": "integer", "minimum": 0, "description": "Ranked issues to skip; 0 by default."}),
                    ),
                    (
                        "limit",
                        json!({"type": "integer", "minimum": 1, "maximum": 1000,
                            "description": "Entries of the fact index about declines and data gaps; 20 by default."}),
                    ),
                ],
            ).into(),
            output_schema: whole_object([
                ("facility_id", text()),
                ("title", text()),
                ("site", text()),
                ("period", list_of(text())),
                ("from_config", of_type(&["boolean"])),
                ("kpis", kpis_schema()),
                ("issues", list_of(issue_schema())),
                (
                    "sections",
                    list_of(whole_object([("id", text()), ("title", text())])),
                ),
                (
                    "fact_index",
                    list_of(whole_object([
                        ("id", text()),
                        ("kind", text()),
                        ("equip", text()),
                        ("text", text()),
                    ])),
                ),
            ]).into(),
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
        let RcxRun { run, report, .. } = RcxRun::of(call, arguments)?;
        let top_issues = run.ground.config.report.top_issues;
        let page = call.page_of(
            Page::sized_by("top_n", MOST_ISSUES, arguments),
            "issues",
            report.issues.iter().collect::<Vec<&Issue>>(),
            top_issues,
            Some("by rank"),
        );
        let shown: BTreeSet<&str> = page.iter().map(|issue| issue.key.as_str()).collect();
        let index = index_of_page(call, arguments, &report.index, &shown);

        let mut facts = Facts::of(NAME);
        let told = told(
            call,
            run.ground.facility.as_str(),
            &report.kpis,
            run.untrusted().len(),
        );
        let cite = facts.add(
            NAME,
            report.kpis.n_issues,
            told.clone(),
            &[("kpis", report.kpis.to_json())],
        );
        let mut sentences = vec![format!("{told} {cite}.")];
        let ords = call.ords(run.ground.facility.as_str());
        let mut rows = Vec::with_capacity(page.len());
        for issue in &page {
            let sentence = issue_sentence(call, issue);
            let key = [("issue_key", json!(issue.key))];
            let cite = facts.add("issue", issue.rank, sentence.clone(), &key);
            if rows.len() < TOLD {
                sentences.push(format!("{sentence} {cite}."));
            }
            rows.push(row(
                issue,
                finding_rows::cited_id(&cite),
                &ords_of(&run, issue, &ords),
            ));
        }
        let sections: Vec<Value> = report
            .sections
            .iter()
            .filter(|section| is_of_page(section.issue.as_deref(), &shown))
            .map(|Section { id, title, .. }| json!({"id": id, "title": title}))
            .collect();
        let mut result = CapabilityResult::of(json!({
            "facility_id": run.ground.facility.as_str(),
            "title": report.title,
            "site": report.site,
            "period": report.period,
            "from_config": run.ground.from_config,
            "kpis": report.kpis.to_json(),
            "issues": rows,
            "sections": sections,
            "fact_index": index.iter().map(|entry| index_row(entry)).collect::<Vec<_>>(),
        }));
        result.text = sentences.join(" ");
        let mut facts = facts.into_list();
        let of_index = index.iter().map(|entry| index_fact(entry));
        // The first fact, the index of the report, then the issues.
        facts.splice(1..1, of_index);
        result.facts = facts;
        result.banners.extend(run.ground.notices.iter().cloned());
        result.banners.extend(rule_run::declined_notice(call, &run));
        let unchecked = references::notices(call, &run.comparisons);
        result.banners.extend(unchecked);
        Ok(result)
    }
}

fn kpis_schema() -> Value {
    let money = || of_type(&["number", "null"]);
    whole_object([
        ("annual_cost_usd", money()),
        ("n_costed", count()),
        ("at_risk_usd", money()),
        ("n_issues", count()),
        ("n_uncosted", count()),
        ("n_conditional", count()),
        ("n_cost_conditional", count()),
        ("coverage_pct", money()),
        ("n_declined", count()),
    ])
}

fn issue_schema() -> Value {
    let text = || of_type(&["string"]);
    let number = || of_type(&["number", "null"]);
    closed_object(
        &[
            "key",
            "rank",
            "title",
            "cause",
            "equip",
            "severity",
            "rules",
            "finding_ids",
            "annual_cost_usd",
            "cost_basis_note",
            "hours",
            "pct_runtime",
            "confidence",
            "conditional_on",
            "why",
            "fact",
        ],
        [
            ("key", text()),
            ("rank", json!({"type": "integer", "minimum": 1})),
            ("title", text()),
            ("cause", text()),
            ("equip", text()),
            ("severity", finding_rows::severity_schema()),
            ("rules", list_of(text())),
            ("finding_ids", list_of(text())),
            ("annual_cost_usd", number()),
            ("cost_basis_note", text()),
            ("hours", number()),
            ("pct_runtime", number()),
            (
                "confidence",
                json!({"type": "string", "enum": ["H", "M", "L"]}),
            ),
            ("conditional_on", list_of(text())),
            ("why", list_of(text())),
            ("fact", text()),
            (
                "ords",
                json!({"type": "object", "additionalProperties": {"type": "string"},
                    "description": "Station points of the equipment by role, where the site model knows them."}),
            ),
        ],
    )
}

fn row(issue: &Issue, fact: &str, ords: &BTreeMap<String, String>) -> Value {
    let rules: Vec<&str> = issue
        .members
        .iter()
        .map(|member| member.rule.as_str())
        .collect();
    let findings: Vec<&str> = issue
        .members
        .iter()
        .filter_map(|member| member.finding_id.as_deref())
        .collect();
    let mut row = json!({
        "key": issue.key,
        "rank": issue.rank,
        "title": issue.title,
        "cause": issue.cause,
        "equip": issue.equip,
        "severity": issue.severity.word(),
        "rules": rules,
        "finding_ids": findings,
        "annual_cost_usd": issue.annual_cost,
        "cost_basis_note": issue.cost_note,
        "hours": issue.hours,
        "pct_runtime": issue.pct_runtime,
        "confidence": issue.confidence.letter(),
        "conditional_on": issue.conditional_on,
        "why": issue.why,
        "fact": fact,
    });
    if !ords.is_empty() {
        row["ords"] = json!(ords);
    }
    row
}

/// The station's points of the issue's equipment that its own rules read.
pub fn ords_of(
    run: &crate::camber::engine::RuleRun<'_>,
    issue: &Issue,
    ords: &PointOrds,
) -> BTreeMap<String, String> {
    let own = issue
        .members
        .iter()
        .filter(|member| member.equip == issue.equip);
    own.filter_map(|member| run.rules.iter().find(|rule| rule.entry.id == member.rule))
        .flat_map(|rule| &rule.wanted)
        .filter_map(|role| Some((role.clone(), ords.ord(&issue.equip, role)?.to_owned())))
        .collect()
}

/// Entries of the figures and assumptions, the first ones of the gaps, and those of the issues that are shown.
fn index_of_page<'r>(
    call: &Call<'_>,
    arguments: &Map<String, Value>,
    index: &'r [IndexEntry],
    shown: &BTreeSet<&str>,
) -> Vec<&'r IndexEntry> {
    let gaps: Vec<&str> = index
        .iter()
        .filter(|entry| entry.is_gap)
        .map(|entry| entry.id.as_str())
        .collect();
    let size = Page::sized_by("limit", crate::camber::pages::LARGEST, arguments).from_the_start();
    let gaps: BTreeSet<&str> = call
        .page_of(
            size,
            "fact_index (declines and data gaps)",
            gaps,
            GAPS,
            None,
        )
        .into_iter()
        .collect();
    index
        .iter()
        .filter(|entry| match entry.is_gap {
            true => gaps.contains(entry.id.as_str()),
            false => is_of_page(entry.issue.as_deref(), shown),
        })
        .collect()
}

/// What is of no single issue is on every page.
fn is_of_page(issue: Option<&str>, shown: &BTreeSet<&str>) -> bool {
    issue.is_none_or(|key| shown.contains(key))
}

fn index_row(entry: &IndexEntry) -> Value {
    // As the fact of that id says it.
    let text = as_one_sentence(&entry.text);
    json!({"id": entry.id, "kind": entry.kind, "equip": entry.equip, "text": text})
}

fn index_fact(entry: &IndexEntry) -> Map<String, Value> {
    let fact = json!({
        "id": entry.id,
        "kind": entry.kind,
        "equip": entry.equip,
        "text": entry.text,
        "data": entry.data,
    });
    match fact {
        Value::Object(fact) => fact,
        _ => Map::new(),
    }
}

fn told(call: &Call<'_>, facility: &str, kpis: &Kpis, declined: usize) -> String {
    let cost = match kpis.annual_cost.filter(|cost| *cost > 0.0) {
        Some(cost) => format!(
            "{} ${cost:.0} a year",
            counted(kpis.n_costed, "of them costs", "of them cost")
        ),
        None => "no cost could be told".to_owned(),
    };
    let declined = match declined {
        0 => String::new(),
        declined => format!(
            "; {} declined for untrusted inputs, which is no pass",
            counted(declined, "check was", "checks were")
        ),
    };
    format!(
        "{} on {}, and {cost}{declined}",
        counted(kpis.n_issues, "issue is ranked", "issues are ranked"),
        call.quote(facility)
    )
}

fn issue_sentence(call: &Call<'_>, issue: &Issue) -> String {
    let cost = match issue.annual_cost.filter(|cost| *cost > 0.0) {
        Some(cost) => format!("${cost:.0} a year"),
        None => "uncosted".to_owned(),
    };
    let conditional = match issue.conditional_on.is_empty() {
        true => String::new(),
        false => format!(", conditional on {}", issue.conditional_on.join(", ")),
    };
    format!(
        "Issue {} on {}: {} ({}, confidence {}, {cost}{conditional})",
        issue.rank,
        call.quote(&issue.equip),
        issue.cause_or_heading(),
        issue.severity,
        issue.confidence
    )
}
