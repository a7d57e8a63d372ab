use serde_json::json;

use super::*;
use crate::rules::testing::{judge as judged_samples, parameters, run, week};

fn metric<'v>(verdict: &'v Verdict, name: &str) -> &'v Value {
    verdict.metrics.get(name).unwrap()
}

#[test]
fn a_damper_that_stays_closed_while_air_is_asked_for() {
    let table = week(&[
        ("damper", &|_| 0.0),
        ("airflow", &|_| 0.0),
        ("airflow_sp", &|_| 500.0),
        ("space_temp", &|_| 72.0),
        ("cool_sp", &|_| 74.0),
        ("heat_sp", &|_| 70.0),
    ]);
    let verdict = run(&RULE, &table, json!({})).unwrap();
    assert_eq!(verdict.severity, Severity::Fault);
    let expected = json!({
        "flat_runs": 5, "stuck_share": 100.0, "contradicted_share": 100.0, "value": 0.0, "tier": "contradicted",
        "reason": "closed_no_flow", "driver": null, "longest_flat_hours": 11.0, "n_active": 55, "role": "damper",
        "active_basis": "assumed schedule",
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(metric(&verdict, name), value, "{name}");
    }
    let runs = &metric(&verdict, "roles")["damper"]["runs"];
    assert_eq!(
        runs[0],
        json!({
            "start": "2024-03-04 07:00:00", "end": "2024-03-04 17:00:00", "hours": 11.0, "value": 0.0, "n": 11,
            "tier": "contradicted", "reason": "closed_no_flow", "driver": null, "detail": 0.0,
        })
    );
    assert_eq!(verdict.caveats.len(), 1);
    let judgement = judged_samples(&RULE, &table, json!({})).unwrap();
    assert_eq!(judgement.conditions.len(), 1);
    assert_eq!(judgement.conditions[0].name, "damper");
    assert_eq!(masks::count(&judgement.samples.flagged), 55);
    assert_eq!(masks::count(&judgement.samples.judged), 55);
}

#[test]
fn a_damper_half_open_all_day_while_the_room_moves() {
    let swing = |row: usize| {
        let hour = f64::from(u32::try_from(row).unwrap());
        72.0 + 1.5 * (std::f64::consts::TAU * hour / 24.0).sin()
    };
    let table = week(&[
        ("damper", &|_| 40.0),
        ("space_temp", &swing),
        ("cool_sp", &|_| 75.0),
        ("heat_sp", &|_| 69.0),
    ]);
    let verdict = run(&RULE, &table, json!({})).unwrap();
    assert_eq!(verdict.severity, Severity::Warn);
    assert_eq!(metric(&verdict, "tier"), "unexplained_flat");
    assert_eq!(metric(&verdict, "driver"), "space_temp");
    assert_eq!(metric(&verdict, "contradicted_share"), &json!(0.0));
    assert_eq!(metric(&verdict, "stuck_share"), &json!(100.0));
    let detail = metric(&verdict, "roles")["damper"]["runs"][0]["detail"]
        .as_f64()
        .unwrap();
    assert_eq!(numeric::round(detail, 1), 2.9);
}

#[test]
fn a_warm_zone_contradicts_a_damper_half_open() {
    let table = week(&[
        ("damper", &|_| 40.0),
        ("space_temp", &|_| 77.0),
        ("cool_sp", &|_| 74.0),
    ]);
    let verdict = run(&RULE, &table, json!({})).unwrap();
    assert_eq!(verdict.severity, Severity::Fault);
    assert_eq!(metric(&verdict, "reason"), "zone_warm");
    assert_eq!(
        metric(&verdict, "roles")["damper"]["runs"][0]["detail"],
        3.0
    );
}

#[test]
fn a_position_that_does_not_follow_its_command() {
    let command = |row: usize| if row % 24 < 12 { 20.0 } else { 70.0 };
    let table = week(&[
        ("heat_valve_position", &|_| 30.0),
        ("heat_valve", &command),
        ("supply_fan_status", &|_| 1.0),
    ]);
    let verdict = run(&RULE, &table, json!({})).unwrap();
    assert_eq!(metric(&verdict, "reason"), "demand_moved");
    assert_eq!(metric(&verdict, "role"), "heat_valve_position");
    assert_eq!(verdict.severity, Severity::Fault);
    // The command itself moves.
    let alone = week(&[("heat_valve", &command)]);
    let verdict = run(&RULE, &alone, json!({})).unwrap();
    assert_eq!(verdict.severity, Severity::Ok);
    assert_eq!(metric(&verdict, "role"), "heat_valve");
}

#[test]
fn a_missing_sample_does_not_end_a_run_and_an_inactive_one_does() {
    let stamps: Vec<i64> = (0..8).map(|hour| hour * crate::wall_clock::HOUR).collect();
    let signal = [5.0, f64::NAN, 5.0, 5.0, 5.0, 7.0, 7.0, 7.0];
    let mut active = [true; 8];
    let (found, longest) = runs::flat_runs(&stamps, &signal, &active, 3.0);
    let shapes: Vec<(f64, f64, usize)> = found
        .iter()
        .map(|run| (run.value, run.hours, run.rows.len()))
        .collect();
    assert_eq!(shapes, [(5.0, 5.0, 4), (7.0, 3.0, 3)]);
    assert_eq!(longest, 5.0);
    active[2] = false;
    let (found, longest) = runs::flat_runs(&stamps, &signal, &active, 3.0);
    assert_eq!((found.len(), longest), (1, 3.0));
}

#[test]
fn actuators_without_samples_in_active_time_are_not_judged() {
    let night = |row: usize| if row % 24 < 6 { 40.0 } else { f64::NAN };
    let verdict = run(&RULE, &week(&[("damper", &night)]), json!({})).unwrap();
    assert_eq!(verdict.severity, Severity::Info);
    assert_eq!(metric(&verdict, "active_basis"), "assumed schedule");
    let verdict = run(&RULE, &week(&[("damper", &|_| f64::NAN)]), json!({})).unwrap();
    assert!(verdict.metrics.as_map().is_empty());
}

#[test]
fn the_roles_are_those_that_are_configured() {
    let set = json!({"roles": ["cool_valve", "cool_valve", "heat_valve_position"]});
    let wanted = inputs(&parameters(&RULE, set));
    assert_eq!(
        wanted.any_of,
        [["cool_valve", "heat_valve_position", "heat_valve"]]
    );
    for (set, told) in [
        (json!({"roles": []}), "at least one"),
        (json!({"whole_day_share": 0}), "at most 1"),
        (json!({"warn_pct": 60}), "fault_pct"),
    ] {
        let entry = crate::RuleCatalogue::shipped().entry(RULE.id).unwrap();
        let mut given = Parameters::of(entry);
        given.set(entry, set.as_object().unwrap(), &[]).unwrap();
        assert!(check(&given).unwrap_err().to_string().contains(told));
    }
}
