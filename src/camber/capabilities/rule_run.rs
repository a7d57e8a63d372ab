//! `rule_run`: what the rules find in the stored trends of a facility (Engine §6.2).

use std::collections::BTreeSet;

use niagara_analytics::Severity;
use niagara_analytics::runner::{Finding, Skip};
use serde_json::{Map, Value, json};

use super::conditional;
use super::finding_rows::{self, FindingRows};
use super::run_arguments;
use crate::camber::call::Call;
use crate::camber::capability::{
    Capability, CapabilityDefinition, closed_object, count, list_of, of_type, whole_object,
};
use crate::camber::engine::RuleRun;
use crate::camber::error::CapabilityError;
use crate::camber::pages;
use crate::camber::result::{CapabilityResult, Facts, counted};
use crate::trends::store::wall_clock::iso;

const NAME: &str = "rule_run";

/// Rows of each list on a page.
const PAGE: usize = 25;

/// Inputs that the notice of declined checks names.
const TOLD_INPUTS: usize = 10;

/// Runs the rules.
pub struct RuleRunCapability;

impl Capability for RuleRunCapability {
    fn definition(&self) -> CapabilityDefinition {
        let text = || of_type(&["string"]);
        let maybe = || of_type(&["string", "null"]);
        let [facility, equips, start, end] = run_arguments::selection();
        let [rules, params] = run_arguments::rules();
        let [limit, offset] = pages::properties();
        let min_severity = (
            "min_severity",
            json!({"type": "string", "enum": ["fault", "warn", "info", "ok"], "default": "info",
                "description": "Lists findings of this severity and worse; all are counted."}),
        );
        CapabilityDefinition {
            name: NAME,
            title: "Findings of the rules",
            description: "Runs the fault rules over the stored trends of a facility: findings per rule and equipment (fault, \
                warn, info, ok) with summary, figures and caveats, worst first, and which rules were skipped for missing \
                inputs. A check whose input is below the trust floor declines: that is no pass. Call it to find what is \
                wrong, then finding_detail for the evidence. Cost: reads every trend of the window; seconds for a large \
                building. Example: {\"facility_id\": \"harborview\", \"rules\": [\"supply_air_control\"], \"equips\": \
                [\"AHU-1\"]}.",
            input_schema: closed_object(
                &["facility_id"],
                [
                    facility,
                    rules,
                    params,
                    equips,
                    start,
                    end,
                    min_severity,
                    limit,
                    offset,
                ],
            ).into(),
            output_schema: whole_object([
                ("facility_id", text()),
                ("from_config", of_type(&["boolean"])),
                (
                    "window",
                    whole_object([("start", maybe()), ("end", maybe())]),
                ),
                ("rules_run", list_of(text())),
                ("n_equipment", count()),
                ("counts", finding_rows::counts_schema()),
                ("count", count()),
                ("findings", list_of(finding_rows::schema())),
                (
                    "skipped",
                    list_of(whole_object([
                        ("rule", text()),
                        ("equip", text()),
                        (
                            "reason",
                            json!({"type": "string", "enum": ["missing_inputs", "no_data", "no_verdict"]}),
                        ),
                        ("missing", list_of(text())),
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
        let run = RuleRun::of(call, arguments)?;
        let rows = FindingRows::of(call, &run);
        let least = least_severity(arguments);
        let listed: Vec<&Finding> = run
            .outcome
            .worst_first()
            .into_iter()
            .filter(|finding| finding.severity() <= least)
            .collect();
        let n_listed = listed.len();
        let page = call.page("findings", listed, PAGE, Some("worst first"));
        let skips: Vec<&Skip> = run.outcome.skipped.iter().collect();
        let skip_page = call.page("skipped", skips, PAGE, None);

        let mut facts = Facts::of(NAME);
        let counts = run.outcome.counts();
        let told = told(call, &run);
        let cite = facts.add(
            NAME,
            run.outcome.findings.len(),
            told.clone(),
            &[("facility_id", json!(run.ground.facility.as_str()))],
        );
        let mut sentences = vec![format!("{told} {cite}.")];
        let finding_rows = finding_rows::rows(
            &page,
            &mut sentences,
            |finding| rows.fact(finding, &mut facts),
            |finding, fact| rows.row(finding, fact),
        );
        conditional::add_fact(call, &run, &page, &mut facts);
        let mut rules: Vec<&str> = run.rules.iter().map(|rule| rule.code.id).collect();
        rules.sort_unstable();
        let mut result = CapabilityResult::of(json!({
            "facility_id": run.ground.facility.as_str(),
            "from_config": run.ground.from_config,
            "window": {
                "start": run.ground.window.start.map(iso),
                "end": run.ground.window.end.map(iso),
            },
            "rules_run": rules,
            "n_equipment": run.outcome.n_equipment,
            "counts": finding_rows::counts_json(&counts),
            "count": n_listed,
            "findings": finding_rows,
            "skipped": skip_page.iter().map(|skip| json!({
                "rule": skip.rule,
                "equip": skip.equip,
                "reason": skip.reason.word(),
                "missing": skip.missing,
            })).collect::<Vec<_>>(),
        }));
        result.text = sentences.join(" ");
        result.facts = facts.into_list();
        result.banners.extend(run.ground.notices.iter().cloned());
        result.banners.extend(declined_notice(call, &run));
        result
            .banners
            .extend(conditional::notices(call, &run, &page));
        Ok(result)
    }
}

/// Severities are worst first in order.
fn least_severity(arguments: &Map<String, Value>) -> Severity {
    match arguments.get("min_severity").and_then(Value::as_str) {
        Some("fault") => Severity::Fault,
        Some("warn") => Severity::Warn,
        Some("ok") => Severity::Ok,
        _ => Severity::Info,
    }
}

fn told(call: &Call<'_>, run: &RuleRun<'_>) -> String {
    let counts = run.outcome.counts();
    let declined = run.untrusted().len();
    let trust = match declined {
        0 => String::new(),
        declined => format!(
            "; {} declined for untrusted inputs, which is no pass",
            counted(declined, "check was", "checks were")
        ),
    };
    format!(
        "{} ran on {} of {} and gave {} fault, {} warn, {} info and {} ok findings, with {} skipped{trust}",
        counted(run.rules.len(), "rule", "rules"),
        counted(
            run.outcome.n_equipment,
            "piece of equipment",
            "pieces of equipment"
        ),
        call.quote(run.ground.facility.as_str()),
        counts.fault,
        counts.warn,
        counts.info,
        counts.ok,
        counted(run.outcome.skipped.len(), "check", "checks"),
    )
}

/// How many checks the trust floor declined, by which rules and for which inputs.
pub fn declined_notice(call: &Call<'_>, run: &RuleRun<'_>) -> Option<String> {
    untrusted_notice(call, &run.untrusted(), run.floor)
}

/// The same of the findings of any run.
pub(super) fn untrusted_notice(
    call: &Call<'_>,
    declined: &[&Finding],
    floor: f64,
) -> Option<String> {
    if declined.is_empty() {
        return None;
    }
    let rules: BTreeSet<&str> = declined
        .iter()
        .map(|finding| finding.rule.as_str())
        .collect();
    let mut inputs: Vec<String> = declined
        .iter()
        .flat_map(|finding| {
            finding
                .untrusted
                .iter()
                .map(|input| (&finding.equip, &input.role, input.score))
        })
        .map(|(equip, role, score)| format!("{} {role} (trust {score:.2})", call.quote(equip)))
        .collect();
    inputs.sort_unstable();
    inputs.dedup();
    let more = match inputs.len().saturating_sub(TOLD_INPUTS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    inputs.truncate(TOLD_INPUTS);
    Some(format!(
        "{} declined because an input is below the trust floor of {}: rules {}; inputs {}{more}. A declined check is not a \
         pass; sensor_trust tells why",
        counted(declined.len(), "check was", "checks were"),
        floor,
        rules.into_iter().collect::<Vec<_>>().join(", "),
        inputs.join(", "),
    ))
}
