//! What a configuration says without any effect, or hardly means so (Engine §5).
//!
//! Nothing here changes what a run does: each value is used, or left unused, exactly as in the reference. The person who
//! wrote it is told.

mod figures;
mod keys;
mod stored;

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

pub use self::stored::OfStored;
use super::mv_bill_scale::NOT_JUDGED;
use super::references::{ReferenceSource, References};
use super::report::ReportOptions;
use super::rules::RuleEntry;
use super::topology::DeclaredTopology;
use crate::catalogue::{ParameterKind, RuleCatalogue, RuleEntry as CatalogueEntry, RuleParameter};
use crate::drift::detectors::air_handler::coil_leak;
use crate::mv::unit_scale::Fuel;

/// Something of a configuration that has no effect, or hardly the one that is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oversight {
    /// `rules[2].parms`.
    pub place: String,
    pub problem: String,
}

impl Oversight {
    /// An oversight at a place.
    pub fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            problem: problem.into(),
        }
    }
}

impl fmt::Display for Oversight {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.place, self.problem)
    }
}

/// What the text of a configuration shows, whatever the facility stores.
pub(super) fn of_content(
    content: &Map<String, Value>,
    rules: &[RuleEntry],
    report: &ReportOptions,
    references: &References,
) -> Vec<Oversight> {
    let mut found = keys::unknown_keys(content);
    found.extend(figures::of_report(report));
    found.extend(against_themselves(references));
    found.extend(repeated_rules(rules));
    for (number, entry) in rules.iter().enumerate() {
        found.extend(of_parameters(
            &format!("rules[{number}].params"),
            &entry.name,
            &entry.params,
        ));
    }
    found.extend(of_coil_leaks(content));
    found.extend(scale_checks(content));
    found
}

/// Points that are compared with themselves.
fn against_themselves(references: &References) -> Vec<Oversight> {
    let points = references.points.iter();
    points
        .filter(|((equip, role), spec)| {
            matches!(&spec.source, ReferenceSource::Point { equip: of, role: other } if of == equip && other == role)
        })
        .map(|((equip, role), _)| {
            Oversight::new(
                format!("report.rcx.references.{equip}.{role}"),
                "the point is compared with itself, which always agrees; name another sensor",
            )
        })
        .collect()
}

/// Of several entries of one rule the last one counts.
fn repeated_rules(rules: &[RuleEntry]) -> Vec<Oversight> {
    let mut last: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, entry) in rules.iter().enumerate() {
        last.insert(&entry.name, number);
    }
    rules
        .iter()
        .enumerate()
        .filter_map(|(number, entry)| {
            let counts = *last.get(entry.name.as_str())?;
            (counts != number).then(|| {
                Oversight::new(
                    format!("rules[{number}]"),
                    format!(
                        "{} stands again as rules[{counts}], which counts; this entry has no effect",
                        entry.name
                    ),
                )
            })
        })
        .collect()
}

/// Parameters of a rule that lie outside the range that the catalogue calls sensible. They are used all the same.
pub fn of_parameters(place: &str, rule: &str, params: &Map<String, Value>) -> Vec<Oversight> {
    let Some(entry) = RuleCatalogue::shipped().entry(rule) else {
        return Vec::new();
    };
    outside_ranges(place, entry, params)
}

fn outside_ranges(
    place: &str,
    entry: &CatalogueEntry,
    params: &Map<String, Value>,
) -> Vec<Oversight> {
    params
        .iter()
        .filter_map(|(name, value)| {
            let parameter = entry.parameter(name)?;
            let [low, high] = parameter.bounds()?;
            let beyond = first_outside(parameter, value, low, high)?;
            let unit = match parameter.unit.as_str() {
                "" | "-" | "count" | "fraction" | "flag" => String::new(),
                unit => format!(" {unit}"),
            };
            Some(Oversight::new(
                format!("{place}.{name}"),
                format!(
                    "{beyond} lies outside {low} to {high}{unit}, the range that rule_params gives for {}; it is used as it is",
                    entry.id
                ),
            ))
        })
        .collect()
}

/// The first number that is out of bounds: the value itself, or one in it.
fn first_outside(parameter: &RuleParameter, value: &Value, low: f64, high: f64) -> Option<f64> {
    match value {
        Value::Number(number) => number
            .as_f64()
            .filter(|number| !(low..=high).contains(number)),
        Value::Array(items) => items
            .iter()
            .find_map(|item| first_outside(parameter, item, low, high)),
        // What stands under other keys of a mapping may be of another kind.
        Value::Object(members)
            if parameter.kind == ParameterKind::Mapping || parameter.by_equip =>
        {
            members
                .values()
                .find_map(|item| first_outside(parameter, item, low, high))
        }
        _ => None,
    }
}

fn of_coil_leaks(content: &Map<String, Value>) -> Vec<Oversight> {
    keys::objects(content, "drift.families[]")
        .into_iter()
        .filter_map(|(place, fields)| {
            let params = fields.get("coil_leak_params")?.as_object()?;
            let place = format!("{place}.coil_leak_params");
            Some(of_parameters(&place, coil_leak::RULE, params))
        })
        .flatten()
        .collect()
}

/// What the check of a bill's scale takes and judges nothing by.
fn scale_checks(content: &Map<String, Value>) -> Vec<Oversight> {
    keys::objects(content, "mv[].bills.scale_check")
        .into_iter()
        .flat_map(|(place, fields)| {
            let unused = NOT_JUDGED
                .into_iter()
                .filter(|key| fields.contains_key(*key))
                .map(|key| {
                    Oversight::new(
                        format!("{place}.{key}"),
                        "it has no effect: quantities are judged by what they cost, and by nothing else",
                    )
                });
            unused.chain(unknown_fuel(&place, fields)).collect::<Vec<_>>()
        })
        .collect()
}

fn unknown_fuel(place: &str, fields: &Map<String, Value>) -> Option<Oversight> {
    let word = fields.get("fuel")?.as_str()?;
    Fuel::named(word).is_none().then(|| {
        Oversight::new(
            format!("{place}.fuel"),
            format!(
                "no prices of {word:?} are known, and the scale of these bills is not judged; known are {}",
                Fuel::WORDS.join(", ")
            ),
        )
    })
}

/// Edges of a topology that no tree can have.
pub fn of_topology<'a>(
    declared: &DeclaredTopology,
    equipment: impl IntoIterator<Item = &'a str>,
) -> Vec<Oversight> {
    declared
        .resolved(equipment)
        .left_out
        .iter()
        .map(|(parent, child)| {
            let problem = match parent == child {
                true => format!("{child:?} is its own parent; the line is left out"),
                false => format!(
                    "{parent:?} as parent of {child:?} closes a circle; that line is left out"
                ),
            };
            Oversight::new("topology", problem)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;
    use crate::run_config::{NoFiles, RunConfig};

    fn read(content: Value) -> RunConfig {
        let content = content.as_object().unwrap().clone();
        RunConfig::read(content, &NoFiles).unwrap()
    }

    fn told(content: Value) -> Vec<String> {
        read(content)
            .oversights()
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn what_the_check_of_a_bills_scale_does_not_judge_by_is_told() {
        let check = |check: Value| {
            let file = json!({"file": "bills.csv", "units": "kWh", "scale_check": check});
            let content = json!({"mv": [{"bills": file}]});
            of_content(
                content.as_object().unwrap(),
                &[],
                &ReportOptions::default(),
                &References::default(),
            )
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
        };
        for key in ["area", "property_type", "demand", "tariff"] {
            let told = check(json!({"fuel": "electricity", key: 1}));
            assert_eq!(told.len(), 1, "{told:?}");
            assert!(
                told[0].starts_with(&format!("mv[0].bills.scale_check.{key}: it has no effect"))
            );
        }
        let told = check(json!({"fuel": "fuel_oil"}));
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("no prices of \"fuel_oil\""), "{told:?}");
        for word in Fuel::WORDS {
            assert!(check(json!({"fuel": word, "on_implausible": "warn"})).is_empty());
            assert!(Fuel::named(word).is_some(), "{word}");
        }
        assert!(check(json!(false)).is_empty());
    }

    #[test]
    fn figures_that_can_hardly_be_meant_are_told_and_others_are_not() {
        let rcx = |rcx: Value| told(json!({"report": {"rcx": rcx}}));
        for (section, place, problem) in [
            (
                json!({"cost_params": {"boiler_efficiency": 90}}),
                "report.rcx.cost_params.boiler_efficiency: ",
                "90 is no share from 0 to 1",
            ),
            (
                json!({"cost_params": {"cool_cop": 350}}),
                "report.rcx.cost_params.cool_cop: ",
                "350 is no coefficient of performance",
            ),
            (
                json!({"price": {"electricity_per_kwh": 18}}),
                "report price of electricity: ",
                "18.00 $ a kWh",
            ),
            (
                json!({"price": {"gas": {"rate": 110, "per": "therm"}}}),
                "report price of gas: ",
                "110.00 $ a therm",
            ),
            (
                json!({"loads": {"AHU-1": {"annual_hours": 87600}}}),
                "report loads.AHU-1.annual_hours: ",
                "more hours than a year has",
            ),
            (
                json!({"loads": {"AHU-1": {"heat_pump_cop": 300}}}),
                "report loads.AHU-1.heat_pump_cop: ",
                "300 is no coefficient",
            ),
            (
                json!({"occupancy": {"start_hour": 18, "end_hour": 7}}),
                "report.rcx.occupancy: ",
                "from hour 18 to hour 7",
            ),
            (
                json!({"occupancy": {"days": []}}),
                "report.rcx.occupancy: ",
                "on 0 days of the week",
            ),
            (
                json!({"references": {"AHU-1": {"oat": {"equip": "AHU-1"}}}}),
                "report.rcx.references.AHU-1.oat: ",
                "compared with itself",
            ),
        ] {
            let found = rcx(section);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(
                found[0].starts_with(place) && found[0].contains(problem),
                "{found:?}"
            );
        }
        let sound = json!({"cost_params": {"boiler_efficiency": 0.95, "cool_cop": 5, "g36_gap_ref_f": 10},
            "price": {"electricity_per_kwh": 0.6, "gas_per_therm": 3}, "loads": {"AHU-1": {"annual_hours": 8760}},
            "occupancy": {"start_hour": 7, "end_hour": 18},
            "references": {"AHU-1": {"oat": {"equip": "AHU-2"}, "mixed_air_temp": {"equip": "AHU-1", "role": "oat"}}}});
        assert_eq!(rcx(sound), [""; 0]);
    }

    /// Each is told once, with its place, and nothing else is.
    #[test]
    fn every_section_tells_the_keys_that_it_does_not_know() {
        for (content, place, hint) in [
            (
                json!({"equipments": []}),
                "equipments",
                "did you mean equipment?",
            ),
            (
                json!({"trust_floor": 0.7}),
                "trust_floor",
                "min_trust under trust_gate",
            ),
            (
                json!({"min_trust": 7}),
                "min_trust",
                "min_trust under trust_gate",
            ),
            (
                json!({"trust_gate": {"trust_floor": 0.7}}),
                "trust_gate.trust_floor",
                "the trust floor is min_trust",
            ),
            (
                json!({"source": {"kind": "store", "facility_id": "hq", "begin": "2024-01-01"}}),
                "source.begin",
                "known are kind, store",
            ),
            (
                json!({"mapping": {"alias": {}}}),
                "mapping.alias",
                "did you mean aliases?",
            ),
            (
                json!({"equipment": [{"class": "AHU"}, {"class": "VAV", "equips": ["VAV-1"]}]}),
                "equipment[1].equips",
                "did you mean equip?",
            ),
            (
                json!({"rules": ["leaking_valve", {"name": "actuator_stuck", "parms": {"tol_pct": 1}}]}),
                "rules[1].parms",
                "did you mean params?",
            ),
            (
                json!({"soo": [{"class": "AHU", "library": "g36_ahu", "libary": 1}]}),
                "soo[0].libary",
                "did you mean library?",
            ),
            (
                json!({"weather": {"precision": 1}}),
                "weather.precision",
                "did you mean precision_deg?",
            ),
            (
                json!({"faults": {"runid": "x"}}),
                "faults.runid",
                "did you mean run_id?",
            ),
            (
                json!({"drift": {"familes": []}}),
                "drift.familes",
                "did you mean families?",
            ),
            (
                json!({"equipment": [{"class": "AHU"}], "drift": {"families": [{"class": "AHU", "family": "ahu",
                    "coil": ["cooling"], "reference": {"period": ["2024-01-01", "2024-02-01"]}}]}}),
                "drift.families[0].coil",
                "did you mean coils",
            ),
            (
                json!({"mv": [{"class": "METER", "reporting_periods": []}]}),
                "mv[0].reporting_periods",
                "did you mean reporting_period?",
            ),
            (
                json!({"report": {"benchmarks": {}}}),
                "report.benchmarks",
                "did you mean benchmark?",
            ),
            (
                json!({"report": {"benchmark": {"eui": 3}}}),
                "report.benchmark.eui",
                "known are site_eui",
            ),
            (
                json!({"report": {"rcx": {"topn": 3}}}),
                "report.rcx.topn",
                "did you mean top_n?",
            ),
            (
                json!({"report": {"rcx": {"sequence": {"sat_resets": {}}}}}),
                "report.rcx.sequence.sat_resets",
                "did you mean sat_reset?",
            ),
        ] {
            let told = told(content.clone());
            let [only] = told.as_slice() else {
                panic!("{content} gave {told:?}");
            };
            assert!(only.starts_with(&format!("{place}: ")), "{only}");
            assert!(only.contains(hint) && only.contains("no effect"), "{only}");
        }
        let remarks = json!({"_note": 1, "x-owner": "ann", "//": "", "remark": "ours", "equipment": [{"class": "AHU", "comment": "new"}]});
        assert_eq!(told(remarks), Vec::<String>::new());
    }

    #[test]
    fn of_a_rule_that_stands_twice_the_first_entry_is_told() {
        let told = told(json!({"rules": [
            {"name": "supply_air_control", "params": {"tol_F": 3}}, "leaking_valve", "supply_air_control",
        ]}));
        assert_eq!(
            told,
            [
                "rules[0]: supply_air_control stands again as rules[2], which counts; this entry has no effect"
            ]
        );
    }

    #[test]
    fn parameters_beyond_their_range_are_told_with_value_and_range() {
        let told = told(json!({
            "equipment": [{"class": "AHU"}],
            "rules": [
                {"name": "supply_air_control", "params": {"tol_F": -5, "warn_pct": 12}},
                {"name": "actuator_stuck", "params": {"occupied_days": [0, 9]}},
                {"name": "chw_pump_dp_reset", "params": {"near_min_pct": "auto"}},
                {"name": "g36_afdd", "params": {"min_oa_pct_by_month": {"7": 130}}},
            ],
            "drift": {"families": [{"class": "AHU", "family": "ahu", "coil_leak": ["cooling"],
                "coil_leak_params": {"warn_f": -1}, "reference": {"period": ["2024-01-01", "2024-02-01"]}}]},
        }));
        assert_eq!(told.len(), 4, "{told:#?}");
        for (line, start) in told.iter().zip([
            "rules[0].params.tol_F: -5 lies outside ",
            "rules[1].params.occupied_days: 9 lies outside 0 to 6",
            "rules[3].params.min_oa_pct_by_month: 130 lies outside 0 to 100",
            "drift.families[0].coil_leak_params.warn_f: -1 lies outside ",
        ]) {
            assert!(line.starts_with(start), "{line}");
            assert!(line.contains("it is used as it is"), "{line}");
        }
    }

    #[test]
    fn the_default_of_every_parameter_is_within_its_range() {
        for entry in RuleCatalogue::shipped().entries() {
            let defaults: Map<String, Value> = entry
                .params
                .iter()
                .map(|parameter| (parameter.name.clone(), parameter.default.clone()))
                .collect();
            assert_eq!(of_parameters("x", &entry.id, &defaults), []);
        }
    }

    #[test]
    fn circles_of_a_topology_and_parents_of_themselves_are_told() {
        let config = read(json!({"topology": {"parents": {
            "VAV-1": "AHU-1", "AHU-1": "AHU-2", "ahu_2": "AHU-1", "VAV-2": "vav 2",
        }}}));
        let declared = config.topology.unwrap();
        let told: Vec<String> = of_topology(&declared, ["AHU-1", "AHU-2", "VAV-1", "VAV-2"])
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            told,
            [
                "topology: \"AHU-2\" as parent of \"AHU-1\" closes a circle; that line is left out",
                "topology: \"VAV-2\" is its own parent; the line is left out",
            ]
        );
        // Without the equipment the spellings differ.
        assert_eq!(of_topology(&declared, []), []);
    }

    #[test]
    fn names_that_the_facility_does_not_store_are_told() {
        let classes: BTreeMap<String, String> =
            [("AHU-1", "AHU"), ("AHU-2", "AHU"), ("VAV-1", "VAV")]
                .map(|(equip, class)| (equip.to_owned(), class.to_owned()))
                .into();
        let points: BTreeSet<(String, String)> =
            [("VAV-1".to_owned(), "space_temp".to_owned())].into();
        let stored = OfStored {
            classes: &classes,
            points: &points,
        };
        let config = read(json!({
            "equipment": [
                {"class": "AHUU"},
                {"class": "AHU", "equip": ["AHU_1", "VAV-1"]},
                {"class": "TERMINAL", "marker_role": "airflow"},
                {"class": "VAV"}, {"class": "VAV"},
            ],
            "mv": [{"class": "Meter"}],
            "soo": [{"class": "ahu", "library": "g36_ahu"}],
            "report": {"loads": {"ahu-1": {"fan_kw": 3}, "AHU-2": {"fan_kw": 3}, "<fleet>": {"fan_kw": 3}}},
            "drift": {"families": [
                {"class": "VAV", "family": "vav", "reference": {"equip": "VAV-1"}},
                {"class": "TERMINAL", "family": "vav", "reference": {"equip": "VAV-1"}},
                {"class": "VAV", "family": "vav", "reference": {"equip": "AHU-1"}},
            ]},
        }));
        let told: Vec<String> = stored.of(&config).iter().map(ToString::to_string).collect();
        let expected = [
            "equipment[0].class: the facility stores no equipment of the class \"AHUU\" (did you mean AHU?); stored are AHU, VAV",
            "equipment[1].equip: the facility stores no equipment \"AHU_1\" (did you mean AHU-1 or AHU-2?)",
            "equipment[1].equip: \"VAV-1\" is of the class \"VAV\", not \"AHU\"",
            "equipment[2].marker_role: no equipment of the class \"TERMINAL\" stores airflow",
            "equipment: more than one entry takes \"VAV-1\"",
            "soo[0].class: the facility stores no equipment of the class \"ahu\" (did you mean AHU?)",
            "mv[0].class: the facility stores no equipment of the class \"Meter\"",
            "report loads.ahu-1: the facility stores no equipment \"ahu-1\" (did you mean AHU-1 or AHU-2?)",
            "drift.families[2].reference.equip: \"AHU-1\" is of the class \"AHU\", and equipment of the class \"VAV\"",
        ];
        assert_eq!(told.len(), expected.len(), "{told:#?}");
        for (line, start) in told.iter().zip(expected) {
            assert!(line.starts_with(start), "{line}");
        }
        let sound = read(json!({"equipment": [{"class": "AHU"}, {"class": "TERMINAL"}]}));
        assert_eq!(stored.of(&sound), []);
    }
}
