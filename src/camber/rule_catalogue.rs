//! The rules and drift detectors with their tunable parameters (CAMBER core §12.4).

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::knowledge::shipped;

const RULES: &str = include_str!("../../knowledge/camber/rules.json");
const ADVICE: &str = include_str!("../../knowledge/camber/rule-advice.json");

static SHIPPED: LazyLock<RuleCatalogue> = LazyLock::new(RuleCatalogue::read);

/// One tunable parameter.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RuleParameter {
    pub name: String,
    #[serde(default)]
    pub default: Value,
    pub unit: String,
    /// What the unit is counted of: "active samples".
    #[serde(default)]
    unit_of: Option<String>,
    #[serde(default)]
    min: Option<Value>,
    #[serde(default)]
    max: Option<Value>,
    #[serde(default)]
    choices: Option<Vec<Value>>,
    /// Words that are accepted beside numbers.
    #[serde(default)]
    keywords: Vec<Value>,
    /// What happens without a value.
    #[serde(default)]
    fallback: Option<String>,
    /// The rule that this one hands the parameter to.
    #[serde(default)]
    passed_to: Option<String>,
    #[serde(skip)]
    advice: Advice,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
struct Advice {
    #[serde(default)]
    basis: Option<String>,
    #[serde(default)]
    calibration: Option<String>,
}

impl RuleParameter {
    /// The unit with what it is counted of.
    pub fn full_unit(&self) -> String {
        match &self.unit_of {
            Some(of) => format!("{} ({of})", self.unit),
            None => self.unit.clone(),
        }
    }

    fn range(&self) -> Option<Vec<Value>> {
        if let Some(choices) = &self.choices {
            return Some(choices.clone());
        }
        let bounds = [self.min.clone()?, self.max.clone()?];
        Some(self.keywords.iter().cloned().chain(bounds).collect())
    }

    /// The parameter as `rule_params` lists it.
    pub fn to_json(&self, detail: bool) -> Value {
        let mut row = json!({
            "name": self.name,
            "default": self.default,
            "unit": self.full_unit(),
        });
        if let Some(range) = self.range() {
            row["range"] = json!(range);
        }
        if !detail {
            return row;
        }
        let fallback = self
            .fallback
            .as_ref()
            .map(|fallback| format!("Without a value: {fallback}."));
        let details = [
            ("basis", &self.advice.basis),
            ("calibrate", &self.advice.calibration),
            ("note", &fallback),
            ("passed_to", &self.passed_to),
        ];
        for (key, value) in details {
            if let Some(value) = value {
                row[key] = json!(value);
            }
        }
        row
    }
}

/// Whether something is run by `rule_run` or by `drift`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleKind {
    Rule,
    Drift,
}

impl RuleKind {
    /// The word on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::Drift => "drift",
        }
    }

    /// The capability that runs it.
    pub const fn run_with(self) -> &'static str {
        match self {
            Self::Rule => "rule_run",
            Self::Drift => "drift",
        }
    }
}

/// One rule or drift detector.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RuleEntry {
    pub id: String,
    #[serde(default)]
    pub description: String,
    /// Families of equipment that it is written for, sorted.
    #[serde(default)]
    pub equip_families: Vec<String>,
    pub params: Vec<RuleParameter>,
    #[serde(default)]
    fixed_thresholds_in_code: bool,
    #[serde(skip, default = "rule")]
    pub kind: RuleKind,
}

const fn rule() -> RuleKind {
    RuleKind::Rule
}

impl RuleEntry {
    /// The parameter of that name.
    pub fn parameter(&self, name: &str) -> Option<&RuleParameter> {
        self.params.iter().find(|parameter| parameter.name == name)
    }

    /// What of the rule no parameter changes.
    pub fn fixed_in_code(&self) -> Option<String> {
        self.fixed_thresholds_in_code.then(|| {
            format!(
                "Some thresholds are fixed, no parameter changes them. {}",
                self.description
            )
        })
    }
}

#[derive(Debug, Default, Deserialize)]
struct RuleFile {
    rules: Vec<RuleEntry>,
    drift_detectors: Vec<RuleEntry>,
}

type AdviceTable = HashMap<String, HashMap<String, Advice>>;

#[derive(Debug, Default, Deserialize)]
struct AdviceFile {
    rules: AdviceTable,
    drift_detectors: AdviceTable,
}

/// All rules and drift detectors by name.
#[derive(Debug, Default)]
pub struct RuleCatalogue {
    entries: BTreeMap<String, RuleEntry>,
}

impl RuleCatalogue {
    /// The catalogue of this build.
    pub fn shipped() -> &'static Self {
        &SHIPPED
    }

    fn read() -> Self {
        let file: RuleFile = shipped::table("camber/rules.json", RULES);
        let mut advice: AdviceFile = shipped::table("camber/rule-advice.json", ADVICE);
        let mut entries = BTreeMap::new();
        for (rows, advice, kind) in [
            (file.rules, &mut advice.rules, RuleKind::Rule),
            (
                file.drift_detectors,
                &mut advice.drift_detectors,
                RuleKind::Drift,
            ),
        ] {
            for mut entry in rows {
                let mut own = advice.remove(&entry.id).unwrap_or_default();
                for parameter in &mut entry.params {
                    parameter.advice = own.remove(&parameter.name).unwrap_or_default();
                }
                entry.kind = kind;
                entry.equip_families.sort_unstable();
                entries.insert(entry.id.clone(), entry);
            }
        }
        Self { entries }
    }

    /// Everything, sorted by name.
    pub fn entries(&self) -> impl Iterator<Item = &RuleEntry> {
        self.entries.values()
    }

    /// The rule or detector of that name.
    pub fn entry(&self, name: &str) -> Option<&RuleEntry> {
        self.entries.get(name)
    }

    /// All names, sorted.
    pub fn names(&self) -> Vec<&str> {
        self.entries.keys().map(String::as_str).collect()
    }
}

/// A rule as `rule_params` lists it.
pub fn rule_row(entry: &RuleEntry, detail: bool) -> Map<String, Value> {
    let params: Vec<Value> = entry
        .params
        .iter()
        .map(|parameter| parameter.to_json(detail))
        .collect();
    let mut row = Map::new();
    row.insert("rule".to_owned(), json!(entry.id));
    row.insert("kind".to_owned(), json!(entry.kind.word()));
    row.insert("run_with".to_owned(), json!(entry.kind.run_with()));
    row.insert("equip_families".to_owned(), json!(entry.equip_families));
    row.insert("params".to_owned(), json!(params));
    if let Some(fixed) = entry.fixed_in_code() {
        row.insert("fixed_in_code".to_owned(), fixed.into());
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_and_detector_is_there_with_advice_on_each_parameter() {
        let catalogue = RuleCatalogue::shipped();
        assert_eq!(catalogue.names().len(), 70);
        assert_eq!(
            catalogue
                .entries()
                .filter(|entry| entry.kind == RuleKind::Drift)
                .count(),
            11
        );
        for entry in catalogue.entries() {
            assert!(!entry.params.is_empty(), "{}", entry.id);
            for parameter in &entry.params {
                let place = format!("{}.{}", entry.id, parameter.name);
                assert!(parameter.advice.basis.is_some(), "{place} has no basis");
                assert!(
                    parameter.advice.calibration.is_some(),
                    "{place} has no advice"
                );
            }
        }
    }

    #[test]
    fn a_range_is_the_choices_or_keywords_and_bounds() {
        let catalogue = RuleCatalogue::shipped();
        let range = |rule: &str, name: &str| {
            let parameter = catalogue.entry(rule).unwrap().parameter(name).unwrap();
            parameter.to_json(false)["range"].clone()
        };
        assert_eq!(
            range("chw_pump_dp_reset", "near_min_pct"),
            json!(["auto", 10.0, 60.0])
        );
        assert_eq!(range("actuator_stuck", "tol_pct"), json!([0.0, 5.0]));
        assert_eq!(
            range("co2_ventilation_system", "exclude_economizer"),
            json!([false, true])
        );
    }
}
