//! The rules and drift detectors with their tunable parameters (CAMBER core §12.4).

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::tables;

const RULES: &str = include_str!("../../knowledge/camber/rules.json");
const ADVICE: &str = include_str!("../../knowledge/camber/rule-advice.json");

static SHIPPED: LazyLock<RuleCatalogue> = LazyLock::new(RuleCatalogue::read);

/// Read when the first caller asks for details: most processes never need these texts.
static ADVICE_BY_RULE: LazyLock<AdviceTable> = LazyLock::new(|| {
    let file: AdviceFile = tables::table(ADVICE);
    file.rules.into_iter().chain(file.drift_detectors).collect()
});

/// One tunable parameter.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RuleParameter {
    pub name: String,
    #[serde(default)]
    pub default: Value,
    pub unit: String,
    pub kind: ParameterKind,
    /// Whether it also takes a number for each equipment, as an object by id.
    #[serde(default)]
    pub by_equip: bool,
    /// Whether null, which switches its test off, is a value although the default is another.
    #[serde(default)]
    pub nullable: bool,
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
    rule: String,
}

/// What values a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum ParameterKind {
    #[default]
    Number,
    Integer,
    Flag,
    Choice,
    List,
    KeywordOrNumber,
    /// One number, or a number for each equipment.
    NumberOrMapping,
    Mapping,
    #[serde(other)]
    Other,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
struct Advice {
    #[serde(default)]
    basis: Option<String>,
    #[serde(default)]
    calibration: Option<String>,
}

impl RuleParameter {
    /// The words that it takes; none when every value of its kind is taken.
    pub fn choices(&self) -> Option<&[Value]> {
        self.choices.as_deref()
    }

    /// Words that are taken beside numbers.
    pub fn keywords(&self) -> &[Value] {
        &self.keywords
    }

    /// What the rule does when the default is null: words for people.
    pub fn fallback(&self) -> Option<&str> {
        self.fallback.as_deref()
    }

    /// The unit with what it is counted of.
    pub fn full_unit(&self) -> String {
        match &self.unit_of {
            Some(of) => format!("{} ({of})", self.unit),
            None => self.unit.clone(),
        }
    }

    /// The lowest and the highest sensible number; none where the catalogue gives no two numbers.
    pub fn bounds(&self) -> Option<[f64; 2]> {
        Some([self.min.as_ref()?.as_f64()?, self.max.as_ref()?.as_f64()?])
    }

    fn range(&self) -> Option<Vec<Value>> {
        if let Some(choices) = &self.choices {
            return Some(choices.clone());
        }
        let bounds = [self.min.clone()?, self.max.clone()?];
        Some(self.keywords.iter().cloned().chain(bounds).collect())
    }

    fn advice(&self) -> Option<&'static Advice> {
        ADVICE_BY_RULE.get(&self.rule)?.get(&self.name)
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
        let none = Advice::default();
        let advice = self.advice().unwrap_or(&none);
        let details = [
            ("basis", &advice.basis),
            ("calibrate", &advice.calibration),
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

/// Whether a rule judges each equipment for itself or all of them together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleScope {
    #[default]
    Equipment,
    Fleet,
}

/// How a finding is drawn (Engine §4.9).
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RuleEvidence {
    pub renderer: String,
    /// Roles; `?` at the end: only when it is there; `a | b`: the first that is there.
    #[serde(default)]
    pub roles: Vec<String>,
    /// Where the flagged samples come from.
    #[serde(default)]
    pub violations: Value,
}

/// One rule or drift detector.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RuleEntry {
    pub id: String,
    #[serde(default)]
    pub description: String,
    /// Families of equipment that it is written for, in the order in which a decline names them.
    #[serde(default)]
    pub equip_families: Vec<String>,
    #[serde(default)]
    pub title: String,
    #[serde(default)]
    pub scope: RuleScope,
    /// Roles that must be there.
    #[serde(default)]
    pub required: Vec<String>,
    /// Groups of which one role each must be there.
    #[serde(default)]
    pub any_of: Vec<Vec<String>>,
    #[serde(default)]
    pub optional: Vec<String>,
    /// Loaded, but never decide anything.
    #[serde(default)]
    pub cost_only: Vec<String>,
    /// Alternatives of optional roles that decide whether there is a verdict: the first whose roles are all there is gated.
    #[serde(default, rename = "gating_optional_0_111")]
    pub gating_optional: Vec<Vec<String>>,
    #[serde(default)]
    pub wants_topology: bool,
    pub params: Vec<RuleParameter>,
    /// Arguments that a configuration may set although they are not tunable.
    #[serde(default)]
    pub non_tunable_args: Vec<String>,
    /// Arguments that are what the rule is, and that nothing may set.
    #[serde(default)]
    pub fixed_for_this_rule: BTreeMap<String, Value>,
    #[serde(default)]
    pub evidence: Option<RuleEvidence>,
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

/// What the file says of names alone.
#[derive(Debug, Default, Deserialize)]
struct NameFile {
    rules: Vec<NamedRow>,
    drift_detectors: Vec<NamedRow>,
}

#[derive(Debug, Deserialize)]
struct NamedRow {
    id: String,
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
        let file: RuleFile = tables::table(RULES);
        let mut entries = BTreeMap::new();
        for (rows, kind) in [
            (file.rules, RuleKind::Rule),
            (file.drift_detectors, RuleKind::Drift),
        ] {
            for mut entry in rows {
                for parameter in &mut entry.params {
                    parameter.rule.clone_from(&entry.id);
                }
                entry.kind = kind;
                entries.insert(entry.id.clone(), entry);
            }
        }
        Self { entries }
    }

    /// All names, sorted, without the rest of the catalogue: the start of a bridge, which tells clients what they can ask
    /// for, needs no more.
    pub fn shipped_names() -> Vec<String> {
        let file: NameFile = tables::table(RULES);
        let rows = file.rules.into_iter().chain(file.drift_detectors);
        let mut names: Vec<String> = rows.map(|row| row.id).collect();
        names.sort_unstable();
        names
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
    let mut families: Vec<&String> = entry.equip_families.iter().collect();
    families.sort_unstable();
    row.insert("equip_families".to_owned(), json!(families));
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
        assert_eq!(catalogue.names(), RuleCatalogue::shipped_names());
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
                let advice = parameter.advice().unwrap();
                assert!(advice.basis.is_some(), "{place} has no basis");
                assert!(advice.calibration.is_some(), "{place} has no advice");
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
