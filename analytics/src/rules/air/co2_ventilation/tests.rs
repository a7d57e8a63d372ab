use serde_json::{Value, json};

use super::*;
use crate::frame::RoleFrame;
use crate::masks;
use crate::rules::testing::{Column, judge as judged_samples, named, run, run_fleet, week};

fn zone(equip: &str, columns: &[Column<'_>]) -> RoleFrame {
    named(equip, "VAV", week(columns))
}

fn metric<'v>(verdict: &'v Verdict, name: &str) -> &'v Value {
    verdict.metrics.get(name).unwrap()
}

#[test]
fn a_crowded_zone_gets_too_little_air() {
    let table = week(&[("co2", &|_| 1200.0)]);
    let verdict = run(&RULE, &table, json!({})).unwrap();
    assert_eq!(
        (verdict.severity, verdict.caveats.len()),
        (Severity::Fault, 1)
    );
    assert_eq!(
        Value::Object(verdict.metrics.into_map()),
        json!({
            "co2_median_ppm": 1200.0, "co2_p95_ppm": 1200.0, "under_vent_pct": 100.0, "over_vent_pct": 0.0,
            "outdoor_co2_ppm": 420.0, "n_occupied": 55, "occupancy_basis": "assumed schedule (weekdays 07-18)",
        })
    );
    let an_hour = week(&[("co2", &|row| if row % 24 == 10 { 1200.0 } else { 700.0 })]);
    let verdict = run(&RULE, &an_hour, json!({})).unwrap();
    assert_eq!(verdict.severity, Severity::Warn);
    assert_eq!(metric(&verdict, "under_vent_pct"), &json!(9.1));
    let judgement = judged_samples(&RULE, &an_hour, json!({})).unwrap();
    assert_eq!(masks::count(&judgement.samples.flagged), 5);
    assert_eq!(masks::count(&judgement.samples.judged), 55);
    assert_eq!(judgement.judged_basis, "occupied samples");
}

#[test]
fn air_near_outdoor_level_is_over_ventilation_unless_it_cools() {
    let verdict = run(&RULE, &week(&[("co2", &|_| 500.0)]), json!({})).unwrap();
    assert_eq!(verdict.severity, Severity::Warn);
    assert_eq!(metric(&verdict, "over_vent_pct"), &json!(100.0));
    assert_eq!(verdict.caveats.len(), 2);
    let cooling = week(&[
        ("co2", &|_| 500.0),
        ("econ_cmd", &|row| f64::from(u8::from(row % 24 < 16))),
    ]);
    let verdict = run(&RULE, &cooling, json!({})).unwrap();
    assert_eq!(verdict.severity, Severity::Warn);
    assert_eq!(metric(&verdict, "econ_hours_pct"), &json!(81.8));
    assert_eq!(metric(&verdict, "over_vent_econ_pct"), &json!(100.0));
    assert_eq!(metric(&verdict, "over_vent_pct"), &json!(100.0));
    let judgement = judged_samples(&RULE, &cooling, json!({})).unwrap();
    assert_eq!(masks::count(&judgement.samples.judged), 10);
    assert_eq!(judgement.judged_basis, "non-economizer occupied samples");
}

#[test]
fn all_day_free_cooling_leaves_nothing_to_judge() {
    let table = week(&[("co2", &|_| 500.0), ("econ_cmd", &|_| 1.0)]);
    let verdict = run(&RULE, &table, json!({})).unwrap();
    assert_eq!(verdict.severity, Severity::Ok);
    assert_eq!(metric(&verdict, "over_vent_pct"), &Value::Null);
    assert!(verdict.summary.contains("not judged"));
    let table = week(&[("co2", &|row| if row == 8 { 500.0 } else { 0.0 })]);
    let verdict = run(&RULE, &table, json!({})).unwrap();
    assert_eq!(
        (verdict.severity, verdict.metrics.as_map().len()),
        (Severity::Info, 1)
    );
    assert!(judged_samples(&RULE, &table, json!({})).is_none());
}

fn handler(equip: &str) -> RoleFrame {
    let damper = |row: usize| if row % 24 < 12 { 60.0 } else { 20.0 };
    let table = week(&[
        ("oat", &|_| 60.0),
        ("oa_damper", &damper),
        ("supply_fan_status", &|_| 1.0),
    ]);
    named(equip, "AHU", table)
}

#[test]
fn the_only_air_handler_tells_free_cooling_of_all_zones() {
    let tables = [
        zone("Z1", &[("co2", &|_| 500.0)]),
        zone("Z2", &[("co2", &|_| 1200.0)]),
        handler("AHU1"),
    ];
    let verdict = run_fleet(&SYSTEM, &tables, json!({})).unwrap();
    assert_eq!(verdict.severity, Severity::Fault);
    assert_eq!(
        metric(&verdict, "grouping_provenance"),
        &json!("single_source")
    );
    assert_eq!(metric(&verdict, "n_zones_joined"), &json!(2));
    let zones = metric(&verdict, "per_zone");
    assert_eq!(zones["Z1"]["severity"], "warn");
    assert_eq!(zones["Z1"]["econ_hours_pct"], 45.5);
    assert_eq!(zones["Z1"]["over_vent_pct"], 100.0);
    assert_eq!(zones["Z1"]["economizer_source"], "AHU1");
    assert_eq!(zones["Z2"]["under_vent_pct"], 100.0);
    assert!(verdict.summary.contains("2 of 2") && verdict.summary.contains("Z2"));
}

#[test]
fn two_air_handlers_without_topology_leave_zones_alone() {
    let tables = [
        zone("Z1", &[("co2", &|_| 700.0)]),
        handler("AHU1"),
        handler("AHU2"),
    ];
    let verdict = run_fleet(&SYSTEM, &tables, json!({})).unwrap();
    assert_eq!(verdict.severity, Severity::Ok);
    assert_eq!(metric(&verdict, "n_zones_unattributed"), &json!(1));
    assert_eq!(verdict.caveats.len(), 1);
    let verdict = run_fleet(&SYSTEM, &tables[1..], json!({})).unwrap();
    assert_eq!(metric(&verdict, "declined"), &json!(true));
}
