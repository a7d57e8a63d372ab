use serde_json::{Value, json};

use super::*;

fn read(report: Value) -> Result<ReportOptions, String> {
    let content = json!({"report": report});
    let root = Section::root(content.as_object().expect("an object"));
    ReportOptions::read(&root).map_err(|error| error.to_string())
}

#[test]
fn what_is_not_said_has_its_usual_value() {
    let usual = read(json!({"level": 2})).unwrap();
    assert_eq!(usual, ReportOptions::default());
    assert_eq!((usual.top_issues, usual.cost.get("cool_cop")), (8, 3.5));
    assert_eq!(usual.load("AHU-1").hours(), 8760.0);
    assert!(usual.cost.get("no such").is_nan());
}

#[test]
fn the_report_of_issues_says_it_before_the_report_does() {
    let options = read(json!({
        "loads": {"A": {"fan_kw": 5}},
        "price": {"gas_per_therm": 2.0},
        "rcx": {
            "loads": {"B": {"fan_kw": 7, "annual_hours": 4000}},
            "top_n": 3, "title": "Review", "sections": ["issues", "sat"], "corroboration": false,
            "cost_params": {"cool_cop": 4}, "occupancy": {"start_hour": 6, "days": [0, 5]},
            "sequence": {"sat_reset": {"oat": [70, 50], "sat": [55, 65]}},
        },
    }))
    .unwrap();
    assert_eq!(options.loads.keys().collect::<Vec<_>>(), ["B"]);
    assert_eq!(
        (
            options.price.gas_per_therm,
            options.price.electricity_per_kwh
        ),
        (2.0, 0.15)
    );
    assert_eq!((options.top_issues, options.corroboration), (3, false));
    assert_eq!(options.occupancy.days, [0, 5]);
    let reset = options.supply_reset.unwrap();
    assert_eq!(
        (reset.oat, reset.supply, reset.tolerance),
        ([50.0, 70.0], [65.0, 55.0], 1.0)
    );
    assert!(
        options
            .cost
            .all()
            .iter()
            .any(|one| one.configured && one.name == "cool_cop")
    );
}

#[test]
fn rates_of_any_unit_become_those_of_the_models() {
    let options = read(json!({"price": {
        "electricity": {"rate": 150, "per": "MWh"},
        "gas": {"rate": 10, "per": "Mcf", "heat_content": "1000 Btu/ft3"},
    }}))
    .unwrap();
    assert!((options.price.electricity_per_kwh - 0.15).abs() < 1e-12);
    assert!((options.price.gas_per_therm - 1.0).abs() < 1e-12);
    // Each of 9 $, as the reference converts it to a therm.
    for (gas, therm) in [
        (json!({"per": "Wh"}), 263_763.963_154_98),
        (json!({"per": "GJ"}), 0.949_550_267_358),
        (json!({"per": "dth"}), 0.9),
        (json!({"per": "ton-hours"}), 75.0),
        (
            json!({"per": "MCF", "heat_content": "1030 Btu/ft3"}),
            0.873_786_407_766_990_1,
        ),
        (
            json!({"per": "CCF", "heat_content": "1.03 kBtu/ft3"}),
            8.737_864_077_669_903,
        ),
        (
            json!({"per": "ft3", "heat_content": "10.3 therm/Mcf"}),
            873.786_407_766_990_2,
        ),
        (
            json!({"per": "m3", "heat_content": "37 MJ/m3"}),
            25.663_520_739_405_4,
        ),
        (
            json!({"per": "klb", "enthalpy": "1194 Btu/lb"}),
            0.753_768_844_221_105_5,
        ),
        (
            json!({"per": "kg", "enthalpy": "2.7 MJ/kg"}),
            351.685_284_206_666_7,
        ),
    ] {
        let mut gas = gas;
        gas["rate"] = json!(9);
        let found = read(json!({"price": {"gas": gas}}))
            .unwrap()
            .price
            .gas_per_therm;
        assert!((found - therm).abs() < 1e-9 * therm, "{gas}: {found}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    for (report, told) in [
        (json!({"loads": {"A": {"fan": 1}}}), "report.loads.A.fan"),
        (
            json!({"price": {"gas_per_therm": -1}}),
            "report.price.gas_per_therm",
        ),
        (
            json!({"price": {"gas_per_therm": 1, "gas": {"rate": 1, "per": "therm"}}}),
            "give one of them",
        ),
        (
            json!({"price": {"gas": {"rate": 1, "per": "ccf"}}}),
            "heat_content",
        ),
        (
            json!({"price": {"gas": {"rate": 1, "per": "ccf", "heat_content": 1030}}}),
            "heat_content",
        ),
        (
            json!({"price": {"gas": {"rate": 1, "per": "klb"}}}),
            "enthalpy",
        ),
        (
            json!({"price": {"gas": {"rate": 1, "per": "MBtu"}}}),
            "kBtu or MMBtu",
        ),
        (
            json!({"price": {"gas": {"rate": 1, "per": "bale"}}}),
            "is no unit",
        ),
        (json!({"rcx": {"top_n": 0}}), "report.rcx.top_n"),
        (json!({"rcx": {"top_n": 2.5}}), "whole number"),
        (
            json!({"rcx": {"sections": ["costs"]}}),
            "there is no section \"costs\"",
        ),
        (
            json!({"rcx": {"cost_params": {"cop": 3}}}),
            "report.rcx.cost_params.cop",
        ),
        (json!({"rcx": {"cost_params": {"cool_cop": 0}}}), "above 0"),
        (
            json!({"rcx": {"sequence": {"sat_reset": {"oat": [50], "sat": [55, 65]}}}}),
            "report.rcx.sequence.sat_reset.oat",
        ),
        (
            json!({"rcx": {"occupancy": {"days": [7]}}}),
            "report.rcx.occupancy.days",
        ),
    ] {
        let refused = read(report).unwrap_err();
        assert!(refused.contains(told), "{refused}");
    }
}

#[test]
fn weather_of_the_network_is_seen_and_left_out() {
    for rcx in [
        json!({"oat_reference": {"fetch": "open-meteo"}}),
        json!({"references": {"*": {"oat": {"fetch": true}}}}),
    ] {
        assert!(read(json!({"rcx": rcx})).unwrap().fetches_weather);
    }
    let from_file = json!({"rcx": {"oat_reference": {"csv": "oat.csv"}}});
    assert!(!read(from_file).unwrap().fetches_weather);
}
