use serde_json::{Value, json};

use super::*;
use crate::finding::Severity;
use crate::frame::RoleFrame;
use crate::masks;
use crate::rules::testing::{
    Column, hourly, is_occupied, judge as judged_samples, named, run, run_fleet,
};

/// Two weeks; 1000 ppm on even days and 600 on odd ones while occupied, 450 otherwise.
fn demand(row: usize) -> f64 {
    match (is_occupied(row), (row / 24).is_multiple_of(2)) {
        (false, _) => 450.0,
        (true, true) => 1000.0,
        (true, false) => 600.0,
    }
}

fn answering(row: usize) -> f64 {
    if demand(row) > 800.0 { 2000.0 } else { 800.0 }
}

fn unit(columns: &[Column<'_>]) -> RoleFrame {
    let mut all: Vec<Column<'_>> = vec![
        ("co2", &demand),
        ("econ_cmd", &|_| 0.0),
        ("supply_fan_status", &|_| 1.0),
    ];
    all.extend(columns.iter().copied());
    named("VAV-1", "VAV", hourly(336, &all))
}

fn metric<'v>(verdict: &'v Verdict, name: &str) -> &'v Value {
    verdict.metrics.get(name).unwrap()
}

#[test]
fn outdoor_air_that_follows_demand_functions() {
    let verdict = run(&RULE, &unit(&[("oa_airflow", &answering)]), json!({})).unwrap();
    assert_eq!(verdict.severity, Severity::Ok);
    let expected = json!({
        "status": "functioning", "reason": null, "demand_lift": 400.0, "lift_basis": "hour_of_day",
        "modulation": 0.6, "n": 110, "oa_signal": "oa_airflow", "demand_kind": "co2", "economizer_basis": "econ_cmd",
        "n_econ_excluded": 0, "start": "2024-03-04", "end": "2024-03-15", "unventilated_high_co2_hours": 0.0,
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(metric(&verdict, name), value, "{name}");
    }
}

#[test]
fn outdoor_air_against_demand_is_uncorrelated() {
    let against = |row| 2800.0 - answering(row);
    let table = unit(&[("oa_airflow", &against)]);
    let verdict = run(&RULE, &table, json!({})).unwrap();
    assert_eq!(verdict.severity, Severity::Warn);
    assert_eq!(metric(&verdict, "demand_lift"), &json!(-400.0));
    let judgement = judged_samples(&RULE, &table, json!({})).unwrap();
    assert_eq!(masks::count(&judgement.samples.judged), 110);
    assert_eq!(masks::count(&judgement.samples.flagged), 55);
    let mut table = table;
    table.columns.remove("econ_cmd");
    let verdict = run(&RULE, &table, json!({})).unwrap();
    assert_eq!(verdict.severity, Severity::Info);
    assert_eq!(metric(&verdict, "n_econ_excluded"), &Value::Null);
}

#[test]
fn fixed_outdoor_air_is_static_and_breaches_a_setpoint() {
    let table = unit(&[("oa_airflow", &|_| 1000.0)]);
    let verdict = run(&RULE, &table, json!({})).unwrap();
    assert_eq!(verdict.severity, Severity::Warn);
    assert_eq!(metric(&verdict, "status"), "static");
    let verdict = run(&RULE, &table, json!({"co2_setpoint": 900})).unwrap();
    assert_eq!(verdict.severity, Severity::Fault);
    assert_eq!(metric(&verdict, "co2_breach_at_min_pct"), &json!(50.0));
    assert!(verdict.summary.contains("50.0 %"));
    let judgement = judged_samples(&RULE, &table, json!({"co2_setpoint": 900})).unwrap();
    let names: Vec<&str> = judgement
        .conditions
        .iter()
        .map(|condition| condition.name.as_str())
        .collect();
    assert_eq!(names, ["no_response", "co2_breach", "unventilated"]);
}

#[test]
fn a_fan_that_stops_lets_outdoor_air_fall_below_its_floor() {
    let mut table = unit(&[
        ("oa_airflow", &answering),
        ("supply_fan_speed", &|row| {
            if demand(row) < 800.0 { 0.0 } else { 60.0 }
        }),
    ]);
    table.columns.remove("supply_fan_status");
    for floor in [json!(1000), json!({"VAV-1": 1000})] {
        let verdict = run(&RULE, &table, json!({"oa_floor_cfm": floor})).unwrap();
        assert_eq!(verdict.severity, Severity::Fault);
        let expected = json!({
            "below_floor_pct": 0.0, "below_floor_total_pct": 50.0, "fan_off_occupied_hours": 55.0,
            "below_floor_longest_h": 11.0, "fan_off_source": "fan speed", "below_floor_longest_fan_off_h": 11.0,
            "below_floor_longest_start": "2024-03-05 07:00:00",
        });
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(metric(&verdict, name), value, "{name}");
        }
    }
}

#[test]
fn high_co2_without_outdoor_air_is_a_fault_even_when_the_response_is_not_judged() {
    let mut table = unit(&[("oa_airflow", &|_| 0.0)]);
    table.columns.insert("co2".to_owned(), vec![1500.0; 336]);
    let verdict = run(&RULE, &table, json!({})).unwrap();
    assert_eq!(verdict.severity, Severity::Fault);
    assert_eq!(metric(&verdict, "status"), "insufficient");
    assert_eq!(
        metric(&verdict, "unventilated_high_co2_hours"),
        &json!(110.0)
    );
}

#[test]
fn without_a_signal_of_outdoor_air_there_is_no_verdict() {
    assert!(run(&RULE, &unit(&[("airflow", &|_| 500.0)]), json!({})).is_none());
    let full = json!({"full_outdoor_air": true});
    let verdict = run(&RULE, &unit(&[("airflow", &answering)]), full).unwrap();
    assert_eq!(metric(&verdict, "oa_signal"), "airflow");
    assert_eq!(metric(&verdict, "economizer_basis"), "full_outdoor_air");
}

#[test]
fn a_second_signal_judges_what_the_first_does_not_cover() {
    let first = |row: usize| if row < 168 { 1000.0 } else { f64::NAN };
    let damper = |row: usize| answering(row) / 40.0;
    let table = unit(&[("oa_airflow", &first), ("oa_damper", &damper)]);
    let verdict = run(&RULE, &table, json!({})).unwrap();
    assert_eq!(verdict.severity, Severity::Warn);
    let segments = metric(&verdict, "oa_segments").as_array().unwrap();
    assert_eq!(segments.len(), 2);
    assert_eq!(
        (&segments[0]["status"], &segments[1]["status"]),
        (&json!("static"), &json!("functioning"))
    );
    assert_eq!(segments[1]["start"], "2024-03-11");
}

fn zone(equip: &str, level: &dyn Fn(usize) -> f64) -> RoleFrame {
    named(equip, "VAV", hourly(336, &[("co2", level)]))
}

fn handler() -> RoleFrame {
    let table = hourly(
        336,
        &[
            ("oa_airflow", &|_| 1000.0),
            ("econ_cmd", &|_| 0.0),
            ("supply_fan_status", &|_| 1.0),
        ],
    );
    named("AHU1", "AHU", table)
}

#[test]
fn an_air_handler_is_judged_by_its_zones() {
    let tables = [
        handler(),
        zone("Z1", &demand),
        zone("Z2", &|row| demand(row) - 50.0),
        zone("Z3", &|_| 700.0),
    ];
    let verdict = run_fleet(&SYSTEM, &tables, json!({"co2_setpoint": 900})).unwrap();
    assert_eq!(verdict.severity, Severity::Fault);
    let expected = json!({
        "grouping_provenance": "single_source", "agg": "max", "n_zones_joined": 2, "n_zones_excluded": 1,
        "n_zones_unattributed": 0,
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(metric(&verdict, name), value, "{name}");
    }
    let handlers = metric(&verdict, "per_ahu");
    assert_eq!(handlers["AHU1"]["co2_breach_at_min_pct"], 50.0);
    assert_eq!(handlers["AHU1"]["n_zones"], 2);
}

#[test]
fn a_guessed_topology_never_gives_a_fault() {
    let topology = crate::Topology {
        provenance: crate::topology::Provenance::Heuristic,
        parents: [("Z1".to_owned(), vec!["AHU1".to_owned()])].into(),
    };
    let tables = [handler(), zone("Z1", &demand)];
    let fleet = crate::FleetFrames {
        frames: tables.iter().map(Frame::whole).collect(),
        topology: Some(&topology),
    };
    let set = json!({"co2_setpoint": 900});
    let parameters = crate::rules::testing::parameters(&SYSTEM, set);
    let verdict = system::analyse(&fleet, &parameters).unwrap();
    assert_eq!(verdict.severity, Severity::Warn);
    assert_eq!(metric(&verdict, "grouping_provenance"), "heuristic");
}

#[test]
fn without_zones_or_air_handlers_nothing_is_judged() {
    let verdict = run_fleet(&SYSTEM, &[handler()], json!({})).unwrap();
    assert_eq!(metric(&verdict, "declined"), &json!(true));
    let verdict = run_fleet(&SYSTEM, &[handler(), zone("Z3", &|_| 700.0)], json!({})).unwrap();
    assert_eq!(metric(&verdict, "declined"), &json!(true));
    assert_eq!(metric(&verdict, "n_zones_excluded"), &json!(1));
}
