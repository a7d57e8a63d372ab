//! What a run of drift answers (Drift §1.2, §2.5).

use std::collections::{BTreeMap, HashMap};

use super::detector::Trace;
use super::family::Family;
use crate::finding::{Metrics, Severity};
use crate::run_config::WrittenWindow;
use crate::runner::Finding;
use crate::runner::outcome::Counts;

/// One family over one class, and what it was compared with.
#[derive(Debug, Clone, PartialEq)]
pub struct FamilyRun {
    pub equip_class: String,
    pub family: Family,
    pub baseline: WrittenWindow,
    pub current: WrittenWindow,
    /// "equipment CH-2", "period 2024-01-01 .. 2024-02-01"; none for frozen baselines.
    pub reference: Option<String>,
}

impl FamilyRun {
    /// Whether a known-good period of each machine itself is the baseline.
    pub fn compares_own_past(&self) -> bool {
        let is_period = |reference: &String| reference.starts_with("period ");
        self.reference.as_ref().is_some_and(is_period)
    }
}

/// What the findings of one equipment mean together.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnosis {
    pub family: Family,
    pub equip: String,
    pub severity: Severity,
    pub summary: String,
    /// What is worst first.
    pub causes: Vec<String>,
    pub caveats: Vec<String>,
    /// The figures of the verdict.
    pub detail: Metrics,
}

/// An equipment of which a family says nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unevaluated {
    pub family: Family,
    pub equip: String,
    pub reason: &'static str,
}

/// Reasons of [`Unevaluated`].
pub const EVERY_DETECTOR_DECLINED: &str = "every detector declined";
pub const IS_REFERENCE: &str = "is the declared reference";
pub const NO_ROLE: &str = "no required role resolved";

/// What one detector says of one equipment.
pub(super) struct Said {
    /// Without its id.
    pub finding: Finding,
    pub traces: Vec<Trace>,
    /// Roles of the detector.
    pub reads: Vec<&'static str>,
}

/// Everything that a run found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DriftOutcome {
    /// In the order of the run.
    pub families: Vec<FamilyRun>,
    /// In the order of the run; ids are `<family>:<rule>@<equip>`.
    pub findings: Vec<Finding>,
    pub diagnoses: Vec<Diagnosis>,
    pub unevaluated: Vec<Unevaluated>,
    /// Roles that a finding's detector reads, by finding id.
    pub reads: BTreeMap<String, Vec<&'static str>>,
    /// Residuals behind the scored findings, by finding id.
    pub traces: BTreeMap<String, Vec<Trace>>,
}

impl DriftOutcome {
    /// Findings by severity.
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

    /// Findings of checks that were declined for the sake of an input below the trust floor.
    pub fn untrusted(&self) -> Vec<&Finding> {
        self.findings
            .iter()
            .filter(|finding| !finding.untrusted.is_empty())
            .collect()
    }

    /// Takes the findings of one family run, and names them.
    pub(super) fn take_findings(&mut self, family: Family, found: Vec<Said>) {
        let mut seen: HashMap<String, usize> = HashMap::new();
        for Said {
            mut finding,
            traces,
            reads,
        } in found
        {
            let base = format!("{}:{}@{}", family.word(), finding.rule, finding.equip);
            let count = seen.entry(base.clone()).or_default();
            *count += 1;
            finding.id = match *count {
                1 => base,
                more => format!("{base}#{more}"),
            };
            self.reads.insert(finding.id.clone(), reads);
            if !traces.is_empty() {
                self.traces.insert(finding.id.clone(), traces);
            }
            self.findings.push(finding);
        }
    }

    /// Puts diagnoses and equipment without one in the order in which they are told.
    pub(super) fn sort(&mut self) {
        self.diagnoses
            .sort_by(|a, b| (a.family.word(), &a.equip).cmp(&(b.family.word(), &b.equip)));
        self.unevaluated
            .sort_by(|a, b| (a.family.word(), &a.equip).cmp(&(b.family.word(), &b.equip)));
    }
}
