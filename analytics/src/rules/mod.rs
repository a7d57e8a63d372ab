//! The rules: one pure function each, with the mask of the samples that speak for its verdict.
//!
//! What a rule is called, needs and can be told is in the catalogue ([`crate::catalogue`]); here is what it does.
//!
//! - [`air`]: air handlers and zones. - [`plant`]: chillers, boilers, loops, towers, compressors, heat pumps.
//! - [`joined_stamps`]: a fleet on common rows. - [`setpoint_behaviour`]: flat, stepped or reset, for rules of both.

pub mod air;
pub mod joined_stamps;
pub mod plant;
pub mod setpoint_behaviour;

#[cfg(test)]
mod robustness;
#[cfg(test)]
pub(crate) mod testing;

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::finding::{Judgement, Verdict};
use crate::frame::Frame;
use crate::parameters::{ParameterError, Parameters};
use crate::topology::Topology;

/// The equipment that a fleet rule judges together, in the order of the run.
#[derive(Debug, Clone, Default)]
pub struct FleetFrames<'a> {
    pub frames: Vec<Frame<'a>>,
    pub topology: Option<&'a Topology>,
}

/// What a rule does with its input.
#[derive(Debug, Clone, Copy)]
pub enum Analysis {
    /// One equipment; none when there is no verdict.
    Equipment(fn(&Frame<'_>, &Parameters) -> Option<Verdict>),
    /// All equipment that qualifies; none when there is no verdict.
    Fleet(fn(&FleetFrames<'_>, &Parameters) -> Option<Verdict>),
}

/// Roles that depend on the parameters of a rule, in place of the catalogue's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inputs {
    pub required: Vec<String>,
    pub any_of: Vec<Vec<String>>,
    pub optional: Vec<String>,
}

/// Refuses values of parameters that do not go together.
pub type ParameterCheck = fn(&Parameters) -> Result<(), ParameterError>;

/// The samples behind a verdict; none when the rule does not judge the frame.
pub type SampleJudge = fn(&Frame<'_>, &Parameters) -> Option<Judgement>;

/// One rule.
#[derive(Debug, Clone, Copy)]
pub struct RuleCode {
    /// As in the catalogue.
    pub id: &'static str,
    pub analysis: Analysis,
    /// Refuses values that do not go together.
    pub check: Option<ParameterCheck>,
    /// Roles of a rule whose parameters choose them.
    pub inputs: Option<fn(&Parameters) -> Inputs>,
    /// The samples behind a verdict; rules of a fleet have none. Asked with a frame of all roles of the equipment.
    pub judge: Option<SampleJudge>,
}

impl RuleCode {
    /// A rule of one equipment without anything beside.
    pub const fn equipment(
        id: &'static str,
        analyse: fn(&Frame<'_>, &Parameters) -> Option<Verdict>,
    ) -> Self {
        Self {
            id,
            analysis: Analysis::Equipment(analyse),
            check: None,
            inputs: None,
            judge: None,
        }
    }

    /// A rule of a fleet without anything beside.
    pub const fn fleet(
        id: &'static str,
        analyse: fn(&FleetFrames<'_>, &Parameters) -> Option<Verdict>,
    ) -> Self {
        Self {
            id,
            analysis: Analysis::Fleet(analyse),
            check: None,
            inputs: None,
            judge: None,
        }
    }

    /// The same with a check of its parameters.
    #[must_use]
    pub const fn checked_by(
        mut self,
        check: fn(&Parameters) -> Result<(), ParameterError>,
    ) -> Self {
        self.check = Some(check);
        self
    }

    /// The same with roles that its parameters choose.
    #[must_use]
    pub const fn with_inputs(mut self, inputs: fn(&Parameters) -> Inputs) -> Self {
        self.inputs = Some(inputs);
        self
    }

    /// The same with the samples behind its verdicts.
    #[must_use]
    pub const fn judged_by(
        mut self,
        judge: fn(&Frame<'_>, &Parameters) -> Option<Judgement>,
    ) -> Self {
        self.judge = Some(judge);
        self
    }
}

static BY_ID: LazyLock<HashMap<&'static str, &'static RuleCode>> = LazyLock::new(|| {
    air::RULES
        .iter()
        .chain(plant::RULES)
        .map(|rule| (rule.id, rule))
        .collect()
});

/// The rule of that id, when this build has it.
pub fn rule(id: &str) -> Option<&'static RuleCode> {
    BY_ID.get(id).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::RuleCatalogue;
    use crate::catalogue::{RuleKind, RuleScope};

    #[test]
    fn every_rule_is_in_the_catalogue_once_and_of_its_scope() {
        let mut seen = BTreeSet::new();
        for rule in air::RULES.iter().chain(plant::RULES) {
            assert!(seen.insert(rule.id), "{} stands twice", rule.id);
            let entry = RuleCatalogue::shipped().entry(rule.id).unwrap();
            assert_eq!(entry.kind, RuleKind::Rule, "{}", rule.id);
            let scope = match rule.analysis {
                Analysis::Equipment(_) => RuleScope::Equipment,
                Analysis::Fleet(_) => RuleScope::Fleet,
            };
            assert_eq!(entry.scope, scope, "{}", rule.id);
        }
    }
}
