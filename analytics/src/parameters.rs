//! The parameters of one rule in one run: the defaults of the catalogue, and what a configuration or a call sets.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::catalogue::{ParameterKind, RuleEntry, RuleParameter};
use crate::run_config::section::did_you_mean;

/// A parameter that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    #[error("the rule \"{rule}\" has no parameter \"{parameter}\"{hint}; it has {known}")]
    Unknown {
        rule: String,
        parameter: String,
        /// ` (did you mean tol_F?)`, or nothing.
        hint: String,
        known: String,
    },
    #[error("{rule}.{parameter} cannot be {value}: {problem}")]
    Wrong {
        rule: String,
        parameter: String,
        value: String,
        problem: String,
    },
}

/// The values that one rule runs with.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parameters {
    rule: String,
    values: BTreeMap<String, Value>,
    set: BTreeSet<String>,
}

impl Parameters {
    /// The defaults of a rule.
    pub fn of(entry: &RuleEntry) -> Self {
        Self {
            rule: entry.id.clone(),
            values: entry
                .params
                .iter()
                .map(|parameter| (parameter.name.clone(), parameter.default.clone()))
                .collect(),
            set: BTreeSet::new(),
        }
    }

    /// Sets values over those that are there. `also` names arguments that may be set although they are not tunable (a
    /// configuration's, never a call's).
    ///
    /// # Errors
    /// A name is unknown, or a value has another type than the parameter.
    pub fn set(
        &mut self,
        entry: &RuleEntry,
        values: &Map<String, Value>,
        also: &[String],
    ) -> Result<(), ParameterError> {
        for (name, value) in values {
            match entry.parameter(name) {
                Some(parameter) => check(&self.rule, parameter, value)?,
                None if also.contains(name) => {}
                None => return Err(self.unknown(entry, name)),
            }
            self.values.insert(name.clone(), value.clone());
            self.set.insert(name.clone());
        }
        Ok(())
    }

    /// Whether the value was set for this run.
    pub fn is_set(&self, name: &str) -> bool {
        self.set.contains(name)
    }

    /// A value as JSON; null when there is none.
    pub fn value(&self, name: &str) -> &Value {
        self.values.get(name).unwrap_or(&Value::Null)
    }

    /// A number; NaN when it is null (rules whose default is null ask [`Parameters::optional`]).
    pub fn number(&self, name: &str) -> f64 {
        self.optional(name).unwrap_or(f64::NAN)
    }

    /// A number that may be null.
    pub fn optional(&self, name: &str) -> Option<f64> {
        self.value(name).as_f64()
    }

    /// A count; 0 when it is null, negative or no whole number.
    pub fn count(&self, name: &str) -> usize {
        let value = self.value(name);
        value
            .as_u64()
            .or_else(|| {
                value
                    .as_f64()
                    .filter(|number| *number >= 0.0 && number.fract() == 0.0 && *number < 1e15)
                    .map(whole)
            })
            .and_then(|count| usize::try_from(count).ok())
            .unwrap_or(0)
    }

    /// A switch; false when it is null.
    pub fn flag(&self, name: &str) -> bool {
        self.value(name).as_bool().unwrap_or(false)
    }

    /// A word; none when it is null or no text.
    pub fn word(&self, name: &str) -> Option<&str> {
        self.value(name).as_str()
    }

    /// A list of words.
    pub fn words(&self, name: &str) -> Vec<&str> {
        self.value(name)
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }

    /// A list of numbers.
    pub fn numbers(&self, name: &str) -> Vec<f64> {
        self.value(name)
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_f64)
            .collect()
    }

    /// A mapping.
    pub fn mapping(&self, name: &str) -> Option<&Map<String, Value>> {
        self.value(name).as_object()
    }

    /// A refusal of a value that a rule checks itself.
    pub fn refuse(&self, name: &str, problem: impl Into<String>) -> ParameterError {
        wrong(&self.rule, name, self.value(name), problem)
    }

    fn unknown(&self, entry: &RuleEntry, name: &str) -> ParameterError {
        let known: Vec<&str> = entry
            .params
            .iter()
            .map(|parameter| parameter.name.as_str())
            .collect();
        ParameterError::Unknown {
            rule: self.rule.clone(),
            parameter: name.to_owned(),
            hint: did_you_mean(name, known.iter().copied()),
            known: known.join(", "),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the caller has checked that it is a whole number from 0 to 1e15"
)]
fn whole(number: f64) -> u64 {
    number as u64
}

fn wrong(rule: &str, name: &str, value: &Value, problem: impl Into<String>) -> ParameterError {
    let mut shown = value.to_string();
    if shown.chars().count() > 80 {
        shown = shown.chars().take(80).chain(['…']).collect();
    }
    ParameterError::Wrong {
        rule: rule.to_owned(),
        parameter: name.to_owned(),
        value: shown,
        problem: problem.into(),
    }
}

fn check(rule: &str, parameter: &RuleParameter, value: &Value) -> Result<(), ParameterError> {
    let refuse = |problem: &str| Err(wrong(rule, &parameter.name, value, problem));
    if value.is_null() && (parameter.default.is_null() || parameter.nullable) {
        return Ok(());
    }
    let choices = parameter.choices();
    let is_choice = |value: &Value| choices.is_none_or(|choices| choices.contains(value));
    let is_by_equip = parameter.by_equip
        && value
            .as_object()
            .is_some_and(|numbers| numbers.values().all(Value::is_number));
    match parameter.kind {
        ParameterKind::Number if is_by_equip => Ok(()),
        ParameterKind::Number if !value.is_number() => refuse("it must be a number"),
        ParameterKind::Integer if !value.as_f64().is_some_and(|number| number.fract() == 0.0) => {
            refuse("it must be a whole number")
        }
        ParameterKind::Flag if !value.is_boolean() => refuse("it must be true or false"),
        ParameterKind::KeywordOrNumber
            if !value.is_number() && !parameter.keywords().contains(value) =>
        {
            refuse("it must be a number or one of its keywords")
        }
        ParameterKind::NumberOrMapping if !value.is_number() && !value.is_object() => {
            refuse("it must be a number, or an object of numbers")
        }
        ParameterKind::Mapping if !value.is_object() && !value.is_null() => {
            refuse("it must be an object")
        }
        ParameterKind::List if !value.is_array() => refuse("it must be a list"),
        // A choice whose default is a list takes a list of its words.
        ParameterKind::Choice => match value {
            Value::Array(words) if parameter.default.is_array() => {
                match words.iter().all(is_choice) {
                    true => Ok(()),
                    false => refuse("it may only name the words of its range"),
                }
            }
            _ if parameter.default.is_array() => refuse("it must be a list"),
            value if is_choice(value) => Ok(()),
            _ => refuse("it must be one of the words of its range"),
        },
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::RuleCatalogue;

    fn set(rule: &str, values: Value) -> Result<Parameters, String> {
        let entry = RuleCatalogue::shipped().entry(rule).unwrap();
        let mut parameters = Parameters::of(entry);
        parameters
            .set(entry, values.as_object().unwrap(), &[])
            .map(|()| parameters)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_not_set_has_its_default() {
        let parameters = set("supply_air_control", json!({"tol_F": 5})).unwrap();
        assert_eq!(parameters.number("tol_F"), 5.0);
        assert_eq!(parameters.number("warn_pct"), 10.0);
        assert_eq!(parameters.word("occupancy_gate"), Some("trended"));
        assert!(parameters.is_set("tol_F") && !parameters.is_set("warn_pct"));
        let census = set("actuator_stuck", json!({"start_hour": 6.0})).unwrap();
        assert_eq!(census.count("start_hour"), 6);
        assert_eq!(census.numbers("occupied_days"), [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(census.words("roles").len(), 3);
        assert_eq!(census.optional("min_airflow"), None);
    }

    #[test]
    fn wrong_names_and_types_are_refused() {
        for (rule, values, told) in [
            (
                "supply_air_control",
                json!({"tol": 1}),
                "no parameter \"tol\"",
            ),
            (
                "supply_air_control",
                json!({"tol_F": "2"}),
                "must be a number",
            ),
            (
                "supply_air_control",
                json!({"tol_F": null}),
                "must be a number",
            ),
            (
                "supply_air_control",
                json!({"occupancy_gate": "x"}),
                "words of its range",
            ),
            ("actuator_stuck", json!({"start_hour": 7.5}), "whole number"),
            ("actuator_stuck", json!({"roles": "damper"}), "a list"),
            (
                "actuator_stuck",
                json!({"roles": ["fan"]}),
                "words of its range",
            ),
            (
                "co2_ventilation",
                json!({"exclude_economizer": 1}),
                "true or false",
            ),
            (
                "chw_pump_dp_reset",
                json!({"near_min_pct": "x"}),
                "keywords",
            ),
        ] {
            let refused = set(rule, values).unwrap_err();
            assert!(refused.contains(told), "{refused}");
        }
        assert!(set("actuator_stuck", json!({"min_airflow": null})).is_ok());
        assert!(set("chw_pump_dp_reset", json!({"near_min_pct": "auto"})).is_ok());
    }
}
