use serde_json::json;

use super::*;
use crate::rules::testing::{self, Column, week};

fn run(columns: &[Column<'_>], set: Value) -> Verdict {
    testing::run(&RULE, &week(columns), set).unwrap()
}

fn metric(verdict: &Verdict, name: &str) -> Option<f64> {
    verdict.metrics.as_number(name)
}

const DISCHARGE: &str = "supply_air_temp";
const ENTERING: &str = "mixed_air_temp";

#[test]
fn reheat_in_summer_is_a_fault() {
    let columns: &[Column<'_>] = &[
        ("heat_valve", &|_| 50.0),
        ("oat", &|_| 80.0),
        (DISCHARGE, &|_| 80.0),
        (ENTERING, &|_| 55.0),
        ("airflow", &|_| 400.0),
        ("airflow_sp", &|_| 200.0),
        ("space_temp", &|_| 72.0),
        ("cool_sp", &|_| 74.0),
    ];
    let verdict = run(columns, json!({}));
    assert_eq!(verdict.severity, Severity::Fault);
    for name in [
        "valve_open_pct",
        "reheat_at_high_oat_pct",
        "reheat_and_coldsupply_pct",
        "reheat_above_min_flow_pct",
        "reheat_below_coolsp_pct",
    ] {
        assert_eq!(metric(&verdict, name), Some(100.0), "{name}");
    }
    assert_eq!(metric(&verdict, "n_considered"), Some(55.0));
    let judgement = testing::judge(&RULE, &week(columns), json!({})).unwrap();
    assert_eq!(masks::count(&judgement.samples.flagged), 55);
}

#[test]
fn an_open_valve_that_warms_nothing_is_not_believed() {
    let columns: &[Column<'_>] = &[
        ("heat_valve", &|_| 100.0),
        (DISCHARGE, &|_| 57.0),
        (ENTERING, &|_| 55.0),
    ];
    let verdict = run(columns, json!({}));
    assert_eq!(verdict.severity, Severity::Info);
    assert_eq!(verdict.metrics.get("declined"), Some(&json!(true)));
    assert_eq!(metric(&verdict, "valve_open_median_rise_f"), Some(2.0));
    assert_eq!(metric(&verdict, "reported_valve_open_pct"), Some(100.0));
    assert_eq!(verdict.metrics.get("valve_open_pct"), Some(&json!(null)));
    assert!(testing::judge(&RULE, &week(columns), json!({})).is_none());
}

#[test]
fn warm_air_behind_a_shut_valve_is_told() {
    let verdict = run(
        &[
            ("heat_valve", &|_| 0.0),
            (DISCHARGE, &|_| 75.0),
            (ENTERING, &|_| 55.0),
        ],
        json!({}),
    );
    assert_eq!(verdict.severity, Severity::Info);
    assert_eq!(
        verdict.metrics.get("valve_dat_consistency"),
        Some(&json!("closed_with_rise"))
    );
    assert_eq!(metric(&verdict, "valve_closed_big_rise_share"), Some(1.0));
}

#[test]
fn a_valve_alone_says_nothing() {
    let verdict = run(&[("heat_valve", &|_| 50.0)], json!({}));
    assert_eq!(
        (verdict.severity, verdict.caveats.len()),
        (Severity::Info, 1)
    );
    assert_eq!(
        verdict.metrics.get("reheat_and_coldsupply_pct"),
        Some(&json!(null))
    );
}

#[test]
fn a_measured_position_is_believed_over_the_demand() {
    let verdict = run(
        &[
            ("heat_valve", &|_| 100.0),
            ("heat_valve_position", &|_| 0.0),
            (DISCHARGE, &|_| 56.0),
            (ENTERING, &|_| 55.0),
        ],
        json!({}),
    );
    assert_eq!(verdict.severity, Severity::Ok);
    assert_eq!(
        verdict.metrics.get("valve_signal"),
        Some(&json!("position"))
    );
    assert_eq!(metric(&verdict, "valve_divergence_share"), Some(1.0));
}

#[test]
fn the_heat_of_a_series_fan_is_learned_while_the_valve_is_shut() {
    let open = |row: usize| row % 24 >= 13;
    let verdict = run(
        &[
            ("heat_valve", &|row| if open(row) { 100.0 } else { 0.0 }),
            (DISCHARGE, &|row| if open(row) { 70.0 } else { 68.0 }),
            (ENTERING, &|_| 55.0),
        ],
        json!({"fan_heat_f": "auto", "box_type": "series"}),
    );
    assert_eq!(
        verdict.metrics.get("valve_dat_consistency"),
        Some(&json!("consistent"))
    );
    assert_eq!(metric(&verdict, "fan_lift_f"), Some(13.0));
    assert_eq!(metric(&verdict, "fan_heat_f"), Some(10.0));
    assert_eq!(metric(&verdict, "fan_heat_closed_f"), Some(8.0));
    assert_eq!(metric(&verdict, "valve_open_median_rise_f"), Some(15.0));
}
