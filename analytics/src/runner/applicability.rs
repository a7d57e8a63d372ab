//! Whether a rule can judge an equipment: its inputs, its class, and the trust in what it reads (Engine §4.3 steps 1–3).

use super::outcome::{Skip, SkipReason};
use crate::families;
use crate::run_config::ChosenRule;
use crate::run_frame::RunFrame;

/// A shorter name of a class is only compared whole.
const LEAST_PART: usize = 3;

/// How the class of an equipment fits a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClassGate {
    /// The rule is written for it, or for any.
    Applies,
    /// The class is of a family that the rule is not written for.
    Declines { family: &'static str },
    /// Nobody knows the class: the roles decide.
    Unrecognised,
}

impl ClassGate {
    /// The gate of a rule and a class.
    pub fn of(rule: &ChosenRule, class: &str) -> Self {
        Self::of_families(&rule.entry.equip_families, class)
    }

    /// The gate of what is written for these families, and a class.
    pub fn of_families(families: &[impl AsRef<str>], class: &str) -> Self {
        let upper = class.to_uppercase();
        let is_named = |name: &str| {
            let name = name.to_uppercase();
            name == upper || (name.chars().count() >= LEAST_PART && upper.contains(&name))
        };
        if families.is_empty()
            || class.is_empty()
            || families.iter().any(|own| is_named(own.as_ref()))
        {
            return Self::Applies;
        }
        match families::family(class) {
            None => Self::Unrecognised,
            Some(family) if families.iter().any(|own| own.as_ref() == family) => Self::Applies,
            Some(family) => Self::Declines { family },
        }
    }
}

/// What of a rule's inputs an equipment lacks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Missing {
    /// Required roles, and groups as "a or b".
    inputs: Vec<String>,
    /// The equipment itself stores nothing that the rule wants.
    has_nothing: bool,
    /// At least one required or any-of role is there.
    has_some: bool,
}

impl Missing {
    /// What is missing. A shared point alone makes nothing to judge.
    pub fn of(rule: &ChosenRule, frame: &RunFrame) -> Self {
        let inputs = &rule.inputs;
        let has_nothing = !rule.wanted.iter().any(|role| frame.stores(role));
        let is_there = |role: &String| !has_nothing && frame.has(role);
        let missing_groups = inputs
            .any_of
            .iter()
            .filter(|group| !group.iter().any(is_there))
            .map(|group| group.join(" or "));
        Self {
            inputs: inputs
                .required
                .iter()
                .filter(|role| !is_there(role))
                .cloned()
                .chain(missing_groups)
                .collect(),
            has_nothing,
            has_some: inputs
                .required
                .iter()
                .chain(inputs.any_of.iter().flatten())
                .any(is_there),
        }
    }

    /// Whether the rule cannot judge.
    pub fn forbids(&self) -> bool {
        self.has_nothing || !self.inputs.is_empty()
    }

    /// The record of that, where one is made: the class is the rule's own, or some input is there (Engine §4.5).
    pub fn skip(self, rule: &ChosenRule, frame: &RunFrame, class: &ClassGate) -> Option<Skip> {
        let is_own_class = !rule.entry.equip_families.is_empty()
            && !frame.equip_class().is_empty()
            && *class == ClassGate::Applies;
        let is_other_class = matches!(class, ClassGate::Declines { .. });
        if is_other_class || !(is_own_class || self.has_some) {
            return None;
        }
        let reason = match self.inputs.is_empty() {
            true => SkipReason::NoData,
            false => SkipReason::MissingInputs,
        };
        Some(Skip::new(rule, frame.equip(), reason, self.inputs))
    }
}

/// An input below the trust floor.
#[derive(Debug, Clone, PartialEq)]
pub struct Untrusted {
    pub role: String,
    /// 0 to 1.
    pub score: f64,
}

/// The inputs below the floor, when that forbids the rule to judge: a gated role is among them. In the rule's order, the
/// optional ones included.
///
/// Gated are required roles, the present ones of any-of groups, and the first optional alternative that is there and
/// decides whether there is a verdict.
pub fn untrusted(
    rule: &ChosenRule,
    frame: &RunFrame,
    floor: f64,
    score: impl Fn(&str) -> Option<f64>,
) -> Vec<Untrusted> {
    let inputs = &rule.inputs;
    let below = |role: &String| {
        if !frame.has(role) {
            return None;
        }
        let score = score(role).filter(|score| *score < floor)?;
        Some(Untrusted {
            role: role.clone(),
            score,
        })
    };
    let deciding = rule
        .entry
        .gating_optional
        .iter()
        .find(|alternative| alternative.iter().all(|role| frame.has(role)));
    let is_gated = inputs
        .required
        .iter()
        .chain(inputs.any_of.iter().flatten())
        .chain(deciding.into_iter().flatten())
        .any(|role| below(role).is_some());
    if !is_gated {
        return Vec::new();
    }
    let mut named: Vec<Untrusted> = Vec::new();
    for input in inputs
        .required
        .iter()
        .chain(inputs.any_of.iter().flatten())
        .chain(&inputs.optional)
        .filter_map(below)
    {
        if !named.iter().any(|known| known.role == input.role) {
            named.push(input);
        }
    }
    named
}
