//! Which rules a run has, and with which parameters (Engine §4.1, §4.8, §5.4).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::section::{ConfigError, Section, close_names};
use crate::catalogue::{RuleCatalogue, RuleEntry as CatalogueEntry, RuleKind};
use crate::parameters::Parameters;
use crate::rules::{self, Inputs, RuleCode};

const BOILER_LOCKOUT: &str = "boiler_summer_lockout";
const PUMP_LOCKOUT: &str = "hw_pump_summer_lockout";
const LOCKOUT: &str = "summer_lockout_oat_f";

/// One entry of `rules`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RuleEntry {
    pub name: String,
    pub params: Map<String, Value>,
    /// Why parameters have their values.
    pub basis: BTreeMap<String, String>,
}

/// One rule of a run, ready to be asked.
#[derive(Debug, Clone)]
pub struct ChosenRule {
    pub code: &'static RuleCode,
    pub entry: &'static CatalogueEntry,
    pub parameters: Parameters,
    /// What findings say of parameters: `{param: {value, basis}}`.
    pub param_basis: Map<String, Value>,
    pub inputs: Inputs,
    /// Required, any-of, optional and cost-only roles in this order, without repeats.
    pub wanted: Vec<String>,
}

impl ChosenRule {
    /// Whether it groups equipment by a topology: always, or because a parameter asks for it (Air rules §2.5).
    pub fn wants_topology(&self) -> bool {
        self.entry.wants_topology || self.parameters.flag("group_by_topology")
    }
}

/// What a caller says of the rules.
#[derive(Debug, Clone, Copy, Default)]
pub struct RuleRequest<'a> {
    /// Only these, in this order.
    pub rules: Option<&'a [String]>,
    /// Parameters by rule, over those of the configuration.
    pub params: Option<&'a Map<String, Value>>,
}

/// The rule of a name.
fn known(name: &str) -> Option<&'static CatalogueEntry> {
    RuleCatalogue::shipped()
        .entry(name)
        .filter(|entry| entry.kind == RuleKind::Rule)
}

/// The rules of this build, sorted.
pub fn built_in() -> Vec<&'static str> {
    RuleCatalogue::shipped()
        .entries()
        .filter(|entry| entry.kind == RuleKind::Rule && rules::rule(&entry.id).is_some())
        .map(|entry| entry.id.as_str())
        .collect()
}

fn unknown_rule(place: String, name: &str) -> ConfigError {
    let names = built_in();
    let close = close_names(name, names.iter().copied());
    let offer = match close.is_empty() {
        true => String::new(),
        false => format!("did you mean {}? ", close.join(", ")),
    };
    ConfigError::new(
        place,
        format!(
            "there is no rule {name:?}; {offer}rules are {}",
            names.join(", ")
        ),
    )
}

impl RuleEntry {
    /// Reads one entry of `rules`: a name, or an object with a name.
    ///
    /// # Errors
    /// The rule, a parameter or a basis does not exist, or a value cannot be one.
    pub fn read(value: &Value, place: &str) -> Result<Self, ConfigError> {
        let read = match value {
            Value::String(name) => Self {
                name: name.clone(),
                ..Self::default()
            },
            _ => {
                let section = Section::of(value, place).map_err(|_| {
                    ConfigError::new(place, "it must be a rule's name, or an object with a name")
                })?;
                Self {
                    name: section.required_text("name")?.to_owned(),
                    params: section
                        .section("params")?
                        .map(|params| params.fields().clone())
                        .unwrap_or_default(),
                    basis: read_basis(&section)?,
                }
            }
        };
        let Some(entry) = known(&read.name) else {
            return Err(unknown_rule(place.to_owned(), &read.name));
        };
        let unknown_basis = read.basis.keys().find(|name| !is_argument(entry, name));
        if let Some(name) = unknown_basis {
            return Err(ConfigError::new(
                format!("{place}.basis.{name}"),
                format!("the rule {:?} has no parameter {name:?}", read.name),
            ));
        }
        configured(entry, &read.params)
            .map_err(|problem| ConfigError::new(format!("{place}.params"), problem))?;
        Ok(read)
    }
}

fn read_basis(section: &Section<'_>) -> Result<BTreeMap<String, String>, ConfigError> {
    let Some(basis) = section.section("basis")? else {
        return Ok(BTreeMap::new());
    };
    basis
        .fields()
        .keys()
        .filter_map(|name| match basis.text(name) {
            Ok(text) => text.map(|text| Ok((name.clone(), text.to_owned()))),
            Err(error) => Some(Err(error)),
        })
        .collect()
}

fn is_argument(entry: &CatalogueEntry, name: &str) -> bool {
    entry.parameter(name).is_some() || entry.non_tunable_args.iter().any(|also| also == name)
}

/// The parameters of a rule as a configuration sets them.
fn configured(entry: &CatalogueEntry, params: &Map<String, Value>) -> Result<Parameters, String> {
    if let Some(fixed) = params
        .keys()
        .find(|name| entry.fixed_for_this_rule.contains_key(*name))
    {
        return Err(format!(
            "{fixed:?} is what the rule {:?} is, and cannot be set",
            entry.id
        ));
    }
    let mut parameters = Parameters::of(entry);
    parameters
        .set(entry, params, &entry.non_tunable_args)
        .map_err(|error| error.to_string())?;
    Ok(parameters)
}

/// The rules of a run. The caller's `rules` replace those of the configuration, whose entries of the same name are kept;
/// without either all rules of this build run, by name.
///
/// # Errors
/// A rule or parameter does not exist, parameters are given for a rule that does not run, or values do not go together.
pub fn chosen(
    configured_rules: &[RuleEntry],
    site_elevation_ft: Option<f64>,
    request: RuleRequest<'_>,
) -> Result<Vec<ChosenRule>, ConfigError> {
    let entries = entries_of(configured_rules, request.rules);
    let names: BTreeSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    if let Some(params) = request.params
        && let Some(other) = params.keys().find(|rule| !names.contains(rule.as_str()))
    {
        if known(other).is_none() {
            return Err(unknown_rule("params".to_owned(), other));
        }
        return Err(ConfigError::new(
            format!("params.{other}"),
            "the rule is not among those that run; add it to rules",
        ));
    }
    let mut chosen = Vec::new();
    for entry in &entries {
        let Some(catalogued) = known(&entry.name) else {
            return Err(unknown_rule("rules".to_owned(), &entry.name));
        };
        // A rule that this build does not have is left out.
        let Some(code) = rules::rule(&entry.name) else {
            continue;
        };
        let place = || format!("params.{}", entry.name);
        let mut parameters = configured(catalogued, &entry.params)
            .map_err(|problem| ConfigError::new(place(), problem))?;
        let own = match request.params.and_then(|params| params.get(&entry.name)) {
            None => None,
            Some(Value::Object(own)) => Some(own),
            Some(_) => return Err(ConfigError::new(place(), "it must be an object")),
        };
        if let Some(own) = own {
            parameters
                .set(catalogued, own, &[])
                .map_err(|error| ConfigError::new(place(), error.to_string()))?;
        }
        inherit_elevation(catalogued, &mut parameters, site_elevation_ft);
        chosen.push((entry, catalogued, code, parameters));
    }
    let lockout = chosen
        .iter()
        .find(|(entry, _, _, parameters)| {
            entry.name == BOILER_LOCKOUT && parameters.is_set(LOCKOUT)
        })
        .map(|(_, _, _, parameters)| parameters.value(LOCKOUT).clone());
    chosen
        .into_iter()
        .map(|(entry, catalogued, code, mut parameters)| {
            let mut param_basis = Map::new();
            if entry.name == PUMP_LOCKOUT
                && !parameters.is_set(LOCKOUT)
                && let Some(value) = &lockout
            {
                let inherited = Map::from_iter([(LOCKOUT.to_owned(), value.clone())]);
                parameters
                    .set(catalogued, &inherited, &[])
                    .map_err(|error| ConfigError::new("params", error.to_string()))?;
                let basis = format!("taken from {BOILER_LOCKOUT}, which sets it in this run");
                param_basis.insert(LOCKOUT.to_owned(), json!({"value": value, "basis": basis}));
            }
            for (name, basis) in &entry.basis {
                let value = parameters.value(name);
                param_basis.insert(name.clone(), json!({"value": value, "basis": basis}));
            }
            if let Some(check) = code.check {
                check(&parameters).map_err(|error| {
                    ConfigError::new(format!("params.{}", entry.name), error.to_string())
                })?;
            }
            let inputs = match code.inputs {
                Some(inputs) => inputs(&parameters),
                None => Inputs {
                    required: catalogued.required.clone(),
                    any_of: catalogued.any_of.clone(),
                    optional: catalogued.optional.clone(),
                },
            };
            let wanted = wanted(&inputs, &catalogued.cost_only);
            Ok(ChosenRule {
                code,
                entry: catalogued,
                parameters,
                param_basis,
                inputs,
                wanted,
            })
        })
        .collect()
}

/// The entries of a run; of several of one name the last one counts, at the place of the first.
fn entries_of(configured: &[RuleEntry], asked: Option<&[String]>) -> Vec<RuleEntry> {
    let names: Vec<&str> = match asked {
        Some(asked) => asked.iter().map(String::as_str).collect(),
        None if configured.is_empty() => built_in(),
        None => configured.iter().map(|entry| entry.name.as_str()).collect(),
    };
    let own: BTreeMap<&str, &RuleEntry> = configured
        .iter()
        .map(|entry| (entry.name.as_str(), entry))
        .collect();
    let mut seen = BTreeSet::new();
    names
        .into_iter()
        .filter(|name| seen.insert(*name))
        .map(|name| match own.get(name) {
            Some(entry) => (*entry).clone(),
            None => bare(name),
        })
        .collect()
}

fn bare(name: impl Into<String>) -> RuleEntry {
    RuleEntry {
        name: name.into(),
        ..RuleEntry::default()
    }
}

/// The site's elevation is that of a rule which has the parameter and is told neither it nor a pressure.
fn inherit_elevation(entry: &CatalogueEntry, parameters: &mut Parameters, elevation: Option<f64>) {
    const ELEVATION: &str = "elevation_ft";
    let Some(elevation) = elevation else {
        return;
    };
    if entry.parameter(ELEVATION).is_none()
        || parameters.is_set(ELEVATION)
        || parameters.is_set("pressure_psia")
    {
        return;
    }
    let inherited = Map::from_iter([(ELEVATION.to_owned(), crate::finding::number(elevation))]);
    // The configuration has checked that it is a number within the earth's bounds.
    let _ = parameters.set(entry, &inherited, &[]);
}

fn wanted(inputs: &Inputs, cost_only: &[String]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    inputs
        .required
        .iter()
        .chain(inputs.any_of.iter().flatten())
        .chain(&inputs.optional)
        .chain(cost_only)
        .filter(|role| seen.insert(role.as_str()))
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(value: Value) -> Result<RuleEntry, String> {
        RuleEntry::read(&value, "rules[0]").map_err(|error| error.to_string())
    }

    fn run(
        configured: &[Value],
        rules: Option<&[&str]>,
        params: Value,
    ) -> Result<Vec<ChosenRule>, String> {
        let configured: Vec<RuleEntry> = configured
            .iter()
            .map(|value| RuleEntry::read(value, "rules[0]").unwrap())
            .collect();
        let rules: Option<Vec<String>> =
            rules.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        let request = RuleRequest {
            rules: rules.as_deref(),
            params: params.as_object(),
        };
        chosen(&configured, None, request).map_err(|error| error.to_string())
    }

    #[test]
    fn wrong_entries_are_refused_with_place_and_offer() {
        for (value, told) in [
            (json!(7), "rules[0]: it must be a rule's name"),
            (json!({}), "rules[0].name"),
            (
                json!("supply_air_controll"),
                "did you mean supply_air_control?",
            ),
            (json!("coil_leak_drift"), "no rule"),
            (
                json!({"name": "supply_air_control", "params": {"tol": 1}}),
                "rules[0].params: the rule \"supply_air_control\" has no parameter \"tol\"",
            ),
            (
                json!({"name": "supply_air_control", "params": 3}),
                "rules[0].params: it must be an object",
            ),
            (
                json!({"name": "supply_air_control", "basis": {"tol": "x"}}),
                "rules[0].basis.tol",
            ),
            (
                json!({"name": "cohort_airflow", "params": {"role": "oat"}}),
                "cannot be set",
            ),
        ] {
            let refused = entry(value).unwrap_err();
            assert!(refused.contains(told), "{refused}");
        }
        // A configuration may set what no call may.
        assert!(entry(json!({"name": "cohort_airflow", "params": {"reference": "VAV-1"}})).is_ok());
    }

    #[test]
    fn a_call_replaces_the_rules_and_overrides_parameters() {
        let configured = [
            json!({"name": "supply_air_control", "params": {"tol_F": 3.0, "warn_pct": 5.0},
            "basis": {"tol_F": "sequence of the site"}}),
        ];
        let rules = run(
            &configured,
            None,
            json!({"supply_air_control": {"tol_F": 5.0}}),
        )
        .unwrap();
        let [rule] = rules.as_slice() else {
            panic!("{} rules", rules.len());
        };
        assert_eq!(rule.parameters.number("tol_F"), 5.0);
        assert_eq!(rule.parameters.number("warn_pct"), 5.0);
        assert_eq!(
            Value::Object(rule.param_basis.clone()),
            json!({"tol_F": {"value": 5.0, "basis": "sequence of the site"}})
        );
        assert_eq!(
            rule.wanted.get(..2).unwrap(),
            ["supply_air_temp", "supply_air_temp_sp"]
        );
        let named = run(
            &configured,
            Some(&["supply_air_control", "supply_air_control"]),
            json!({}),
        );
        assert_eq!(named.unwrap().len(), 1);
        for (params, told) in [
            (json!({"leaking_valve": {}}), "not among those that run"),
            (json!({"leaking": {}}), "no rule \"leaking\""),
            (
                json!({"supply_air_control": {"reference": 1}}),
                "no parameter",
            ),
            (json!({"supply_air_control": 1}), "must be an object"),
        ] {
            let refused = run(&configured, None, params).unwrap_err();
            assert!(refused.contains(told), "{refused}");
        }
    }

    #[test]
    fn without_a_choice_every_rule_runs_by_name() {
        let names: Vec<&str> = run(&[], None, json!({}))
            .unwrap()
            .iter()
            .map(|rule| rule.code.id)
            .collect();
        assert_eq!(names, built_in());
        assert!(names.is_sorted() && names.contains(&"supply_air_control"));
    }
}
