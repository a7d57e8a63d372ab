//! What a run answers: findings and skips, their names and their order (Engine §4.4, §4.5).

use std::collections::HashMap;

use super::applicability::Untrusted;
use crate::finding::{Severity, Verdict};
use crate::run_config::ChosenRule;

/// One finding.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// `<rule>@<equip>`, with `#2`, `#3` for more of the same.
    pub id: String,
    pub rule: String,
    pub equip: String,
    /// The frame that it is of; none for a fleet.
    pub place: Option<usize>,
    pub verdict: Verdict,
    /// Inputs for whose sake the rule declined, with their scores; empty when it did not.
    pub untrusted: Vec<Untrusted>,
}

impl Finding {
    pub(super) fn new(
        rule: &ChosenRule,
        equip: &str,
        place: Option<usize>,
        verdict: Verdict,
        untrusted: Vec<Untrusted>,
    ) -> Self {
        Self {
            id: String::new(),
            rule: rule.entry.id.clone(),
            equip: equip.to_owned(),
            place,
            verdict,
            untrusted,
        }
    }

    /// How bad it is.
    pub fn severity(&self) -> Severity {
        self.verdict.severity
    }

    /// Whether the rule did not judge, by class or trust or by itself: no pass.
    pub fn is_declined(&self) -> bool {
        self.verdict.metrics.get("declined") == Some(&serde_json::Value::Bool(true))
    }
}

/// Why a rule said nothing of an equipment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    MissingInputs,
    NoData,
    NoVerdict,
}

impl SkipReason {
    /// The word on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::MissingInputs => "missing_inputs",
            Self::NoData => "no_data",
            Self::NoVerdict => "no_verdict",
        }
    }
}

/// A rule that did not run on an equipment, or nowhere (then the equipment is empty).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skip {
    pub rule: String,
    pub equip: String,
    pub reason: SkipReason,
    /// Required roles, then groups as "a or b".
    pub missing: Vec<String>,
}

impl Skip {
    pub(super) fn new(
        rule: &ChosenRule,
        equip: &str,
        reason: SkipReason,
        missing: Vec<String>,
    ) -> Self {
        Self {
            rule: rule.entry.id.clone(),
            equip: equip.to_owned(),
            reason,
            missing,
        }
    }

    /// The rule found no equipment at all.
    pub(super) fn of_rule(rule: &ChosenRule) -> Self {
        let inputs = &rule.inputs;
        let missing: Vec<String> = inputs
            .required
            .iter()
            .cloned()
            .chain(inputs.any_of.iter().map(|group| group.join(" or ")))
            .collect();
        let reason = match missing.is_empty() {
            true => SkipReason::NoVerdict,
            false => SkipReason::MissingInputs,
        };
        Self::new(rule, "", reason, missing)
    }
}

/// How many findings there are of each severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub fault: usize,
    pub warn: usize,
    pub info: usize,
    pub ok: usize,
}

impl Counts {
    /// Counts findings.
    pub fn of(findings: &[Finding]) -> Self {
        let mut counts = Self::default();
        for finding in findings {
            match finding.severity() {
                Severity::Fault => counts.fault += 1,
                Severity::Warn => counts.warn += 1,
                Severity::Info => counts.info += 1,
                Severity::Ok => counts.ok += 1,
            }
        }
        counts
    }
}

/// Everything that a run found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunOutcome {
    /// In the order of the run: rules in theirs, equipment in that of discovery.
    pub findings: Vec<Finding>,
    /// By rule and equipment.
    pub skipped: Vec<Skip>,
    /// Equipment discovered, before any skip.
    pub n_equipment: usize,
}

impl RunOutcome {
    pub(super) fn of(
        mut findings: Vec<Finding>,
        mut skipped: Vec<Skip>,
        n_equipment: usize,
    ) -> Self {
        name(&mut findings);
        skipped.sort_by(|a, b| (&a.rule, &a.equip).cmp(&(&b.rule, &b.equip)));
        Self {
            findings,
            skipped,
            n_equipment,
        }
    }

    /// How many findings there are of each severity.
    pub fn counts(&self) -> Counts {
        Counts::of(&self.findings)
    }

    /// The findings worst first, then by equipment, rule and id.
    pub fn worst_first(&self) -> Vec<&Finding> {
        let mut rows: Vec<&Finding> = self.findings.iter().collect();
        rows.sort_by(|a, b| {
            a.severity()
                .cmp(&b.severity())
                .then_with(|| (&a.equip, &a.rule, &a.id).cmp(&(&b.equip, &b.rule, &b.id)))
        });
        rows
    }

    /// The finding of an id.
    pub fn finding(&self, id: &str) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.id == id)
    }
}

/// Ids in the order of the run.
fn name(findings: &mut [Finding]) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for finding in findings {
        let base = format!("{}@{}", finding.rule, finding.equip);
        let count = seen.entry(base.clone()).or_default();
        *count += 1;
        finding.id = match *count {
            1 => base,
            more => format!("{base}#{more}"),
        };
    }
}
