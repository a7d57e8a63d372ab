//! The id of a finding, held against the run that shall have it before anything is read (Engine §4.4, §6.3).

use std::collections::BTreeSet;

use niagara_analytics::catalogue::RuleScope;
use niagara_analytics::run_config::rules::built_in;
use niagara_analytics::run_config::section::close_names;

use crate::camber::call::Call;
use crate::camber::engine::PreparedRun;
use crate::camber::engine::ground::listed;
use crate::camber::error::CapabilityError;
use crate::camber::hygiene::quoted;

/// What findings of fleet rules name as their equipment.
const FLEETS: [&str; 2] = ["<fleet>", "fleet"];

/// `<rule>@<equip>`, with `#2`, `#3`, … behind it when a rule gives one equipment more than one finding.
#[derive(Debug, Clone, Copy)]
pub struct FindingId<'a> {
    pub whole: &'a str,
    pub rule: &'a str,
    equip: &'a str,
}

impl<'a> FindingId<'a> {
    /// Reads an id.
    ///
    /// # Errors
    /// It names no rule.
    pub fn read(whole: &'a str) -> Result<Self, CapabilityError> {
        let (rule, equip) = whole.split_once('@').unwrap_or((whole, ""));
        let id = Self { whole, rule, equip };
        let names = built_in();
        if names.contains(&rule) {
            return Ok(id);
        }
        let close = close_names(rule, names.iter().copied());
        Err(id.refused(format!(
            "there is no rule {}{}; a finding_id is <rule>@<equip>, as rule_run lists it",
            quoted(rule),
            offer(close.iter().map(|name| id.of_rule(name)))
        )))
    }

    /// Refuses an id that a run cannot have.
    ///
    /// # Errors
    /// The rule does not run, or its equipment is not stored or not judged.
    pub fn require(&self, call: &Call<'_>, run: &PreparedRun<'_>) -> Result<(), CapabilityError> {
        let Some(rule) = run.rules.iter().find(|rule| rule.code.id == self.rule) else {
            let running: Vec<&str> = run.rules.iter().map(|rule| rule.code.id).collect();
            return Err(self.refused(format!(
                "the rule {} is not among those that run here ({}); add it to rules, or leave rules out where the run \
                 configuration has it",
                self.rule,
                listed_plain(&running)
            )));
        };
        match rule.entry.scope {
            RuleScope::Fleet => self.require_fleet(),
            RuleScope::Equipment => self.require_equipment(call, run),
        }
    }

    fn require_fleet(&self) -> Result<(), CapabilityError> {
        let equip = self.without_number().unwrap_or(self.equip);
        if [self.equip, equip].iter().any(|name| FLEETS.contains(name)) {
            return Ok(());
        }
        Err(self.refused(format!(
            "{} judges all equipment together, so that its finding is no single one's; rule_run lists its id",
            self.rule
        )))
    }

    fn require_equipment(
        &self,
        call: &Call<'_>,
        run: &PreparedRun<'_>,
    ) -> Result<(), CapabilityError> {
        let names = [Some(self.equip), self.without_number()];
        let mut names = names.into_iter().flatten();
        let ground = &run.ground;
        let judged = |name: &str| ground.equipment.iter().any(|found| found.equip == name);
        if names.clone().any(judged) {
            return Ok(());
        }
        if let Some(stored) = names.find(|name| ground.points.classes.contains_key(*name)) {
            let judged = match ground.equipment.is_empty() {
                // Why is told by a notice, which an error does not have: the facility is not active, say.
                true => ground.notices.last().cloned().unwrap_or_default(),
                false => format!(
                    "equips or the run configuration leave it out; it judges {}",
                    listed(
                        call,
                        ground.equipment.iter().map(|found| found.equip.as_str())
                    )
                ),
            };
            return Err(self.refused(format!(
                "this run does not judge {}: {judged}",
                call.quote(stored)
            )));
        }
        let stored = ground.points.classes.keys().map(String::as_str);
        let close = close_names(self.equip, stored.clone());
        let error = self.refused(format!(
            "the facility stores no equipment {}{}; stored are {}",
            quoted(self.equip),
            offer(close.iter().map(|name| call.quote(name))),
            listed(call, stored.clone())
        ));
        let available: Vec<&str> = stored.take(50).collect();
        Err(error.with("available", available))
    }

    /// The equipment that it may be of: an id may end like the number of a further finding.
    pub fn equips(&self) -> BTreeSet<String> {
        let names = [Some(self.equip), self.without_number()];
        names.into_iter().flatten().map(str::to_owned).collect()
    }

    /// The equipment without the number of a further finding.
    fn without_number(&self) -> Option<&'a str> {
        let (equip, number) = self.equip.rsplit_once('#')?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then_some(equip)
    }

    /// The same finding of another rule.
    fn of_rule(&self, rule: &str) -> String {
        quoted(&format!("{rule}@{}", self.equip))
    }

    fn refused(&self, message: String) -> CapabilityError {
        CapabilityError::not_found(message)
            .with("argument", "finding_id")
            .with("unknown", vec![self.whole.to_owned()])
    }
}

fn offer(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.take(2).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(" (did you mean {}?)", names.join(" or ")),
    }
}

fn listed_plain(names: &[&str]) -> String {
    const TOLD: usize = 10;
    let told = names.get(..TOLD).unwrap_or(names).join(", ");
    match names.len().saturating_sub(TOLD) {
        0 => told,
        more => format!("{told} and {more} more"),
    }
}
