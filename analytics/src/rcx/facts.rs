//! The fact index of the report (RCx report §7).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::cost::Estimate;
use super::issues::{Draft, Issue};
use super::items::{self, Item};
use super::kpis::Kpis;
use super::zone_chains;
use super::{Ground, plant_links};
use crate::numeric::round;
use crate::runner::{Skip, SkipReason};

/// Names that one fact lists.
const LISTED: usize = 6;

/// What part of the report an entry is of.
const SUMMARY: &str = "summary";
const GAPS: &str = "appA";
const ASSUMPTIONS: &str = "appB";

/// One entry of the index.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexEntry {
    /// `<letter><number>@<context>`.
    pub id: String,
    pub kind: &'static str,
    /// Empty when it is of no single equipment.
    pub equip: String,
    /// A sentence.
    pub text: String,
    pub data: Value,
    /// The key of the issue that it is of.
    pub issue: Option<String>,
    /// Of the appendix of declines and data gaps.
    pub is_gap: bool,
}

#[derive(Default)]
struct Index {
    entries: Vec<IndexEntry>,
    numbers: BTreeMap<(char, String), usize>,
}

impl Index {
    fn add(
        &mut self,
        (letter, kind): (char, &'static str),
        context: &str,
        equip: &str,
        text: &str,
        data: Value,
    ) {
        let number = self
            .numbers
            .entry((letter, context.to_owned()))
            .or_default();
        *number += 1;
        let is_gap = context == GAPS;
        let is_plain = is_gap || context == SUMMARY || context == ASSUMPTIONS;
        let text = text.trim_end();
        self.entries.push(IndexEntry {
            id: format!("{letter}{number}@{context}"),
            kind,
            equip: equip.to_owned(),
            text: match text.ends_with('.') {
                true => text.to_owned(),
                false => format!("{text}."),
            },
            data,
            issue: (!is_plain).then(|| context.to_owned()),
            is_gap,
        });
    }
}

/// The whole index.
pub(super) fn index(
    ground: &Ground<'_>,
    ranked: &[Draft],
    issues: &[Issue],
    kpis: &Kpis,
) -> Vec<IndexEntry> {
    let mut index = Index::default();
    summary(&mut index, kpis);
    declines(ground, &mut index);
    missing(ground, &mut index);
    caveats(ground, &mut index);
    unlinked(ground, &mut index);
    unevaluated(ground, &mut index);
    assumptions(ground, &mut index);
    let links = plant_links::find(ground, ranked);
    for (place, (draft, issue)) in ranked.iter().zip(issues).enumerate() {
        of_issue(ground, &mut index, draft, issue, issues, ranked);
        for line in links.iter().filter_map(|link| link.line(ground, place)) {
            index.add(('U', "link"), &issue.key, &issue.equip, &line, Value::Null);
        }
        chains(ground, &mut index, draft, issue);
        let mut seen = BTreeSet::new();
        for item in draft
            .bucket
            .members
            .iter()
            .filter_map(|place| ground.item(*place))
        {
            for caveat in &item.verdict.caveats {
                if seen.insert(caveat) {
                    let text = ground.input.words.text(caveat);
                    index.add(('V', "caveat"), &issue.key, &item.equip, &text, Value::Null);
                }
            }
        }
    }
    index.entries
}

fn summary(index: &mut Index, kpis: &Kpis) {
    let mut add = |text: String, data: Value| index.add(('K', "kpi"), SUMMARY, "", &text, data);
    add(
        format!(
            "{} ranked",
            counted(kpis.n_issues, "issue is", "issues are")
        ),
        json!({"n_issues": kpis.n_issues}),
    );
    add(
        match kpis.annual_cost {
            Some(cost) => format!(
                "{} ${cost:.0} a year together",
                counted(kpis.n_costed, "issue costs", "issues cost")
            ),
            None => "No issue has a cost that rests on trusted sensors".to_owned(),
        },
        json!({"annual_cost_usd": kpis.annual_cost, "n_costed": kpis.n_costed}),
    );
    if let Some(at_risk) = kpis.at_risk {
        add(
            format!(
                "Another ${at_risk:.0} a year is at risk: it rests on sensors that cannot be taken at their word"
            ),
            json!({"at_risk_usd": at_risk}),
        );
    }
    add(
        format!(
            "{} uncosted, and {} conditional on a sensor",
            counted(kpis.n_uncosted, "issue is", "issues are"),
            counted(kpis.n_conditional, "issue is", "issues are"),
        ),
        json!({"n_uncosted": kpis.n_uncosted, "n_conditional": kpis.n_conditional}),
    );
    if let Some(coverage) = kpis.coverage_pct {
        add(
            format!("The points of the air side have samples in {coverage} % of the window"),
            json!({"coverage_pct": coverage}),
        );
    }
    add(
        format!(
            "{} declined, which is no pass",
            counted(kpis.n_declined, "check was", "checks were")
        ),
        json!({"n_declined": kpis.n_declined}),
    );
}

fn declines(ground: &Ground<'_>, index: &mut Index) {
    for item in ground.items.iter().filter(|item| item.is_declined) {
        let reason = match (item.word("reason"), item.source) {
            (Some(reason), _) => reason.to_owned(),
            (None, Some(finding)) if !finding.untrusted.is_empty() => {
                let inputs: Vec<String> = finding
                    .untrusted
                    .iter()
                    .map(|input| format!("{} (trust {:.2})", input.role, input.score))
                    .collect();
                format!("untrusted inputs {}", inputs.join(", "))
            }
            _ => item.verdict.summary.clone(),
        };
        let text = format!(
            "{} declined on {}: {}",
            item.rule,
            ground.input.words.name(&item.equip),
            ground.input.words.text(&reason)
        );
        index.add(('X', "decline"), GAPS, &item.equip, &text, rule_data(item));
    }
}

fn rule_data(item: &Item<'_>) -> Value {
    json!({"rule": item.rule, "finding_id": item.id, "severity": item.severity().word()})
}

fn missing(ground: &Ground<'_>, index: &mut Index) {
    let mut groups: Vec<(&Skip, Vec<&str>)> = Vec::new();
    let skipped = ground
        .input
        .outcome
        .skipped
        .iter()
        .filter(|skip| skip.reason == SkipReason::MissingInputs);
    for skip in skipped {
        match groups
            .iter_mut()
            .find(|(first, _)| first.rule == skip.rule && first.missing == skip.missing)
        {
            Some((_, equips)) => equips.push(&skip.equip),
            None => groups.push((skip, vec![&skip.equip])),
        }
    }
    for (skip, mut equips) in groups {
        equips.retain(|equip| !equip.is_empty());
        let on = match equips.is_empty() {
            true => "any equipment".to_owned(),
            false => listed(ground, &equips),
        };
        let text = format!(
            "{} did not run on {on} for want of {}",
            skip.rule,
            skip.missing.join(", ")
        );
        let data = json!({"rule": skip.rule, "missing": skip.missing, "equips": equips});
        let one = match equips.as_slice() {
            [only] => only,
            _ => "",
        };
        index.add(('M', "missing"), GAPS, one, &text, data);
    }
    for item in &ground.items {
        let Some(Value::Array(roles)) = item.verdict.metrics.get("_missing_optional") else {
            continue;
        };
        let names: Vec<&str> = roles.iter().filter_map(Value::as_str).collect();
        if names.is_empty() {
            continue;
        }
        let text = format!(
            "{} judged {} without {}",
            item.rule,
            ground.input.words.name(&item.equip),
            names.join(", ")
        );
        let data = json!({"rule": item.rule, "missing_optional": names});
        index.add(('M', "missing"), GAPS, &item.equip, &text, data);
    }
}

/// The first names in quotes, and how many more there are.
fn listed(ground: &Ground<'_>, equips: &[&str]) -> String {
    let named: Vec<String> = equips
        .iter()
        .take(LISTED)
        .map(|equip| ground.input.words.name(equip))
        .collect();
    match equips.len().saturating_sub(LISTED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

fn caveats(ground: &Ground<'_>, index: &mut Index) {
    let mut seen = BTreeSet::new();
    for item in &ground.items {
        for caveat in &item.verdict.caveats {
            if seen.insert(caveat) {
                let text = ground.input.words.text(caveat);
                let data = json!({"rule": item.rule});
                index.add(('V', "caveat"), GAPS, "", &text, data);
            }
        }
    }
}

fn unlinked(ground: &Ground<'_>, index: &mut Index) {
    let boxes: Vec<&str> = ground.chains.unlinked.iter().map(String::as_str).collect();
    if boxes.is_empty() {
        return;
    }
    let text = format!(
        "{} linked to no air handler, so that {} complaints are judged alone: {}",
        counted(boxes.len(), "zone is", "zones are"),
        if boxes.len() == 1 { "its" } else { "their" },
        listed(ground, &boxes)
    );
    let data = json!({"n": boxes.len(), "equips": boxes});
    index.add(('G', "chain_gap"), GAPS, "", &text, data);
}

fn unevaluated(ground: &Ground<'_>, index: &mut Index) {
    let judged: BTreeSet<&str> = ground.items.iter().map(|item| &*item.equip).collect();
    let mut seen = BTreeSet::new();
    for frame in ground.input.frames {
        let equip = frame.equip();
        if !judged.contains(equip) && seen.insert(equip) {
            let text = format!("No rule judged {}", ground.input.words.name(equip));
            let data = json!({"equip_class": frame.equip_class()});
            index.add(('Q', "unevaluated"), GAPS, equip, &text, data);
        }
    }
}

fn assumptions(ground: &Ground<'_>, index: &mut Index) {
    let options = &ground.input.config.report;
    let mut add =
        |text: String, data: Value| index.add(('A', "assumption"), ASSUMPTIONS, "", &text, data);
    let origin = |configured: bool| if configured { "configured" } else { "default" };
    for parameter in options.cost.all() {
        add(
            format!(
                "Cost models assume {} {} ({})",
                parameter.name,
                parameter.value,
                origin(parameter.configured)
            ),
            json!({"name": parameter.name, "value": parameter.value, "configured": parameter.configured}),
        );
    }
    let price = options.price;
    add(
        format!(
            "Energy costs ${} per kWh and ${} per therm ({})",
            round(price.electricity_per_kwh, 4),
            round(price.gas_per_therm, 4),
            match price.configured {
                true => "configured",
                false => "a placeholder",
            }
        ),
        json!({
            "electricity_per_kwh": price.electricity_per_kwh,
            "gas_per_therm": price.gas_per_therm,
            "configured": price.configured,
        }),
    );
    add(
        match options.loads.len() {
            0 => {
                "No sizes of equipment are configured, so that most issues have no cost".to_owned()
            }
            count => format!(
                "Sizes are configured of {}",
                counted(count, "piece of equipment", "pieces of equipment")
            ),
        },
        json!({"equips": options.loads.keys().collect::<Vec<_>>()}),
    );
}

fn of_issue(
    ground: &Ground<'_>,
    index: &mut Index,
    draft: &Draft,
    issue: &Issue,
    issues: &[Issue],
    ranked: &[Draft],
) {
    let (key, equip) = (issue.key.as_str(), issue.equip.as_str());
    let words = ground.input.words;
    let members: Vec<&Item<'_>> = draft
        .bucket
        .members
        .iter()
        .filter_map(|place| ground.item(*place))
        .collect();
    let mut add = |letter: (char, &'static str), equip: &str, text: String, data: Value| {
        index.add(letter, key, equip, &text, data);
    };
    add(
        ('I', "issue"),
        equip,
        format!(
            "Issue {} on {}: {} ({}, confidence {})",
            issue.rank,
            words.name(equip),
            issue.cause_or_heading(),
            issue.severity,
            issue.confidence
        ),
        json!({"rank": issue.rank, "severity": issue.severity.word(), "confidence": issue.confidence.letter()}),
    );
    add(
        ('C', "cost"),
        equip,
        match issue.annual_cost {
            Some(cost) => format!(
                "It costs ${cost:.2} a year: {}",
                words.text(&issue.cost_note)
            ),
            None => format!("It has no cost: {}", words.text(&issue.cost_note)),
        },
        json!({"annual_cost_usd": issue.annual_cost}),
    );
    for (estimate, item) in draft.cost.estimates.iter().zip(&members) {
        if estimate.cost.is_some() || estimate.is_excluded {
            add(
                ('C', "cost"),
                &item.equip,
                member_cost(estimate, item),
                json!({"annual_cost_usd": estimate.cost, "rule": item.rule, "excluded": estimate.is_excluded}),
            );
        }
    }
    add(
        ('T', "hours"),
        equip,
        hours_text(issue),
        json!({"hours": issue.hours, "pct_runtime": issue.pct_runtime, "fan_on_hours": issue.fan_on_hours}),
    );
    for item in &members {
        let summary = words.text(&item.verdict.summary);
        let mut data: Map<String, Value> = items::scalars(&item.verdict.metrics);
        data.insert("rule".to_owned(), json!(item.rule));
        data.insert("finding_id".to_owned(), json!(item.id));
        add(
            ('F', "finding"),
            &item.equip,
            format!(
                "{} {} ({}): {summary}",
                words.name(&item.equip),
                item.rule,
                item.severity()
            ),
            Value::Object(data),
        );
    }
    let action = match &issue.action {
        Some(action) => format!("Recommended: {action}"),
        None => "No action is packaged for it: an engineer has to say what to do".to_owned(),
    };
    add(('R', "action"), equip, action, Value::Null);
    for why in &issue.why {
        add(('W', "why"), equip, why.clone(), Value::Null);
    }
    for label in &issue.conditional_on {
        add(
            ('D', "dependency"),
            equip,
            format!("It is conditional on {label}: check the sensor first"),
            Value::Null,
        );
    }
    for (other, other_issue) in ranked.iter().zip(issues) {
        use super::ranking::Rank;
        if other.rests_on(draft) {
            add(
                ('D', "dependency"),
                &other_issue.equip,
                format!(
                    "Issue {} on {} is conditional on it",
                    other_issue.rank,
                    words.name(&other_issue.equip)
                ),
                json!({"issue_key": other_issue.key}),
            );
        }
    }
}

fn member_cost(estimate: &Estimate, item: &Item<'_>) -> String {
    match estimate.cost {
        Some(cost) if estimate.is_excluded => format!(
            "{} would cost ${cost:.2} a year ({}), left out since it judges by the line of Guideline 36",
            item.rule, estimate.basis
        ),
        Some(cost) => format!(
            "{} alone costs ${cost:.2} a year ({})",
            item.rule, estimate.basis
        ),
        None => format!("{} is left out of the cost ({})", item.rule, estimate.basis),
    }
}

fn hours_text(issue: &Issue) -> String {
    match (issue.hours, issue.pct_runtime, issue.fan_on_hours) {
        (Some(hours), Some(percent), Some(fan_on)) => {
            format!("It lasts {hours} h, {percent} % of {fan_on} h with the fan on")
        }
        (Some(hours), _, _) => format!("It lasts {hours} h"),
        (None, _, _) => "Its findings tell no hours".to_owned(),
    }
}

fn chains(ground: &Ground<'_>, index: &mut Index, draft: &Draft, issue: &Issue) {
    for ((root, chain), tally) in &ground.chains.tallies {
        if draft.bucket.members.contains(root) {
            let data = json!({
                "served": tally.served,
                "joined": tally.joined,
                "rules": tally.rules,
                "not_assessed": tally.not_assessed,
                "out_of_hours": tally.out_of_hours,
                "conditional": tally.conditional,
            });
            let text = zone_chains::line(*chain, tally);
            index.add(('Z', "chain"), &issue.key, &issue.equip, &text, data);
        }
    }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
