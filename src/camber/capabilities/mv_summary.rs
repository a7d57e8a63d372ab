//! `mv_summary`: baselines and savings of the project that a run configuration declares (M&V §1).

use std::collections::BTreeSet;

use niagara_analytics::Severity;
use niagara_analytics::mv::{MvFinding, MvRule};
use serde_json::{Map, Value, json};

use super::finding_rows::{cited_id, collapsed, counts_schema, row_schema, scalars};
use super::run_arguments;
use crate::camber::call::Call;
use crate::camber::capability::{
    Capability, CapabilityDefinition, closed_object, count, list_of, of_type, whole_object,
};
use crate::camber::engine::MvRun;
use crate::camber::error::CapabilityError;
use crate::camber::hygiene;
use crate::camber::result::{CapabilityResult, Facts, counted};

const NAME: &str = "mv_summary";

/// Rows whose savings and triggers the summary tells.
const TOLD: usize = 10;

/// Tells the measurement and verification of a facility.
pub struct MvSummary;

impl Capability for MvSummary {
    fn definition(&self) -> CapabilityDefinition {
        let text = || of_type(&["string"]);
        let [facility, equips, _, _] = run_arguments::selection();
        CapabilityDefinition {
            name: NAME,
            title: "Savings of a project",
            description: "Tells the measurement and verification (M&V) that the run configuration of a facility declares: \
                weather-normalised baselines of its meters with fit, savings with uncertainty at 90 % confidence, triggers to \
                rebaseline, proposals of a method, and which results declined and why. Energies are in the meter's own unit \
                unless the configuration has units. A saving whose baseline does not meet Guideline 14 is for information only. \
                Call it to state or to check savings. Cost: reads the meters' trends; seconds. Example: {\"facility_id\": \
                \"harborview\"}.",
            input_schema: closed_object(&["facility_id"], [facility, equips]).into(),
            output_schema: whole_object([
                ("facility_id", text()),
                ("entries", count()),
                ("meters", list_of(text())),
                (
                    "kinds",
                    whole_object([
                        ("mv_baseline", count()),
                        ("mv_savings", count()),
                        ("mv_trigger", count()),
                        ("mv_method_proposal", count()),
                        ("other", count()),
                    ]),
                ),
                ("counts", counts_schema()),
                ("declined", count()),
                ("findings", list_of(row_schema(true, None))),
            ])
            .into(),
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
        let run = MvRun::of(call, arguments)?;
        let tally = Tally::of(&run.findings);
        let mut facts = Facts::of(NAME);
        let told = tally.told(call, &run);
        let cite = facts.add(
            NAME,
            run.findings.len(),
            told.clone(),
            &[("facility_id", json!(run.ground.facility.as_str()))],
        );
        let mut sentences = vec![format!("{told} {cite}.")];
        let mut rows = Vec::with_capacity(run.findings.len());
        for (place, finding) in run.findings.iter().enumerate() {
            let sentence = sentence(call, finding);
            let metrics = scalars(finding.verdict.metrics.as_map());
            let cite = facts.add(
                "finding",
                finding.severity().word(),
                sentence.clone(),
                &[
                    ("rule", json!(finding.rule.word())),
                    ("equip", json!(finding.equip)),
                    ("finding_id", json!(finding.id)),
                    ("metrics", Value::Object(metrics.clone())),
                ],
            );
            if place < TOLD && matches!(finding.rule, MvRule::Savings | MvRule::Trigger) {
                sentences.push(format!("{sentence} {cite}."));
            }
            rows.push(row(&run, finding, metrics, cited_id(&cite)));
        }
        let mut result = CapabilityResult::of(json!({
            "facility_id": run.ground.facility.as_str(),
            "entries": run.entries.len(),
            "meters": tally.meters,
            "kinds": {
                "mv_baseline": tally.of_rule(MvRule::Baseline),
                "mv_savings": tally.of_rule(MvRule::Savings),
                "mv_trigger": tally.of_rule(MvRule::Trigger),
                "mv_method_proposal": tally.of_rule(MvRule::MethodProposal),
                "other": tally.of_rule(MvRule::UnitScale),
            },
            "counts": {
                "fault": tally.of_severity(Severity::Fault),
                "warn": tally.of_severity(Severity::Warn),
                "info": tally.of_severity(Severity::Info),
                "ok": tally.of_severity(Severity::Ok),
            },
            "declined": tally.declined,
            "findings": rows,
        }));
        result.text = sentences.join(" ");
        result.facts = facts.into_list();
        result.banners.extend(run.ground.notices.iter().cloned());
        let lost = run
            .findings
            .iter()
            .filter(|finding| finding.shows_no_saving())
            .count();
        if lost > 0 {
            result.banners.push(format!(
                "{} no greater than the uncertainty band: it shows no saving, and none is to be claimed",
                counted(lost, "saving is", "savings are")
            ));
        }
        if tally.declined > 0 {
            result.banners.push(format!(
                "{} declined to state a figure: read the declined_reason before any saving is quoted",
                counted(tally.declined, "M&V result", "M&V results")
            ));
        }
        Ok(result)
    }
}

/// What there is, counted.
struct Tally<'a> {
    findings: &'a [MvFinding],
    meters: BTreeSet<&'a str>,
    declined: usize,
}

impl<'a> Tally<'a> {
    fn of(findings: &'a [MvFinding]) -> Self {
        Self {
            findings,
            meters: findings
                .iter()
                .map(|finding| finding.equip.as_str())
                .collect(),
            declined: findings
                .iter()
                .filter(|finding| finding.is_declined())
                .count(),
        }
    }

    fn of_rule(&self, rule: MvRule) -> usize {
        self.findings
            .iter()
            .filter(|finding| finding.rule == rule)
            .count()
    }

    fn of_severity(&self, severity: Severity) -> usize {
        self.findings
            .iter()
            .filter(|finding| finding.severity() == severity)
            .count()
    }

    fn told(&self, call: &Call<'_>, run: &MvRun<'_>) -> String {
        let unit = match run.ground.config.units {
            Some(units) => format!("savings of trended meters are in {}", units.system.energy()),
            None => {
                "energies are in each meter's own unit, since the configuration has no units block"
                    .to_owned()
            }
        };
        format!(
            "M&V of {} covers {} with {}, {}, {}, {} and {}; {} declined; {unit}",
            call.quote(run.ground.facility.as_str()),
            counted(self.meters.len(), "meter", "meters"),
            counted(self.of_rule(MvRule::Baseline), "baseline", "baselines"),
            counted(
                self.of_rule(MvRule::Savings),
                "savings result",
                "savings results"
            ),
            counted(self.of_rule(MvRule::Trigger), "trigger", "triggers"),
            counted(
                self.of_rule(MvRule::MethodProposal),
                "method proposal",
                "method proposals"
            ),
            counted(
                self.of_rule(MvRule::UnitScale),
                "other finding",
                "other findings"
            ),
            counted(self.declined, "result", "results"),
        )
    }
}

/// A row as a sentence without its full stop.
fn sentence(call: &Call<'_>, finding: &MvFinding) -> String {
    let summary = hygiene::harmless(&collapsed(&finding.verdict.summary));
    format!(
        "{} {} ({}): {}",
        call.quote(&finding.equip),
        finding.rule.word(),
        finding.severity(),
        summary.trim_end_matches('.')
    )
}

fn row(run: &MvRun<'_>, finding: &MvFinding, metrics: Map<String, Value>, fact: &str) -> Value {
    let mut row = json!({
        "finding_id": finding.id,
        "rule": finding.rule.word(),
        "equip": finding.equip,
        "severity": finding.severity().word(),
        "summary": collapsed(&finding.verdict.summary),
        "caveats": finding.verdict.caveats,
        "metrics": metrics,
        "fact": fact,
    });
    let ords = run.ords_of(&finding.equip);
    if !ords.is_empty() {
        row["ords"] = json!(ords);
    }
    row
}
