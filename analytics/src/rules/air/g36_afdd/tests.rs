use serde_json::{Value, json};

use super::*;
use crate::finding::Severity;
use crate::rules::testing::{self, Column, every, is_occupied, week};
use crate::wall_clock::MINUTE;

fn run(columns: &[Column<'_>], set: Value) -> Verdict {
    testing::run(&RULE, &week(columns), set).unwrap()
}

fn metric<'v>(verdict: &'v Verdict, path: &str) -> &'v Value {
    let mut keys = path.split('.');
    let mut value = verdict.metrics.get(keys.next().unwrap()).unwrap();
    for key in keys {
        value = &value[key];
    }
    value
}

fn occupied(row: usize) -> f64 {
    f64::from(u8::from(is_occupied(row)))
}

const FULL_COOLING: [Column<'static>; 9] = [
    ("supply_air_temp", &|_| 62.0),
    ("supply_air_temp_sp", &|_| 55.0),
    ("cool_valve", &|_| 100.0),
    ("heat_valve", &|_| 0.0),
    ("mixed_air_temp", &|_| 75.0),
    ("return_air_temp", &|_| 75.0),
    ("oat", &|_| 85.0),
    ("oa_damper", &|_| 20.0),
    ("supply_fan_status", &occupied),
];

#[test]
fn warm_supply_air_with_the_valve_wide_open_is_fault_condition_13() {
    let verdict = run(&FULL_COOLING, json!({}));
    assert_eq!(verdict.severity, Severity::Fault);
    assert_eq!(metric(&verdict, "worst_fc"), "FC13");
    assert_eq!(metric(&verdict, "flagged_fcs"), &json!(["FC13"]));
    assert_eq!(
        metric(&verdict, "fc.FC13.hours")
            .as_f64()
            .zip(metric(&verdict, "fc.FC13.applicable_hours").as_f64()),
        Some((50.0, 50.0))
    );
    assert_eq!(metric(&verdict, "suspended_hours"), 5.0);
    assert_eq!(metric(&verdict, "os_hours.OS4"), 55.0);
    assert_eq!(metric(&verdict, "oa_damper_min"), 20.0);
    let judgement = testing::judge(&RULE, &week(&FULL_COOLING), json!({})).unwrap();
    assert_eq!(masks::count(&judgement.samples.flagged), 50);
    let fc13 = judgement
        .conditions
        .iter()
        .find(|condition| condition.name == "FC13")
        .unwrap();
    assert_eq!(masks::count(&fc13.samples.judged), 50);
}

#[test]
fn air_that_cools_over_a_shut_coil_is_fault_condition_14_alone() {
    let verdict = run(
        &[
            ("supply_air_temp", &|_| 60.0),
            ("supply_air_temp_sp", &|_| 62.0),
            ("cool_valve", &|_| 0.0),
            ("mixed_air_temp", &|_| 70.0),
            ("oat", &|_| 60.0),
            ("oa_damper", &|_| 60.0),
            ("supply_fan_status", &|_| 1.0),
        ],
        json!({}),
    );
    assert_eq!(verdict.severity, Severity::Fault);
    assert_eq!(metric(&verdict, "worst_fc"), "FC14");
    assert_eq!(metric(&verdict, "fc.FC14.hours"), 168.0);
    assert_eq!(metric(&verdict, "fc.FC8.pct"), 0.0);
    assert_eq!(metric(&verdict, "attributed_to_fc14_hours.FC8"), 168.0);
    assert_eq!(metric(&verdict, "fc.FC15.status"), "omitted");
}

#[test]
fn without_a_fan_signal_nothing_is_evaluated() {
    let verdict = run(&FULL_COOLING[..8], json!({}));
    assert_eq!(verdict.severity, Severity::Info);
    assert_eq!(metric(&verdict, "declined"), &json!(true));
    let verdict = run(
        &[
            ("supply_air_temp", &|_| 60.0),
            ("cool_valve", &|_| 0.0),
            ("supply_fan_status", &|_| 1.0),
        ],
        json!({"heating_coil": true}),
    );
    assert_eq!(metric(&verdict, "declined"), &json!(true));
}

#[test]
fn an_alarm_that_does_not_last_is_not_reported() {
    // Half an hour of warm supply air every hour, in steps of five minutes.
    let table = every(
        5 * MINUTE,
        996,
        &[
            ("supply_air_temp", &|row| {
                if row % 12 < 5 { 62.0 } else { 55.0 }
            }),
            ("supply_air_temp_sp", &|_| 55.0),
            ("cool_valve", &|_| 100.0),
            ("heat_valve", &|_| 0.0),
            ("oa_damper", &|_| 20.0),
            ("supply_fan_status", &|_| 1.0),
        ],
    );
    let share = |set| {
        let verdict = testing::run(&RULE, &table, set).unwrap();
        metric(&verdict, "fc.FC13.pct").as_f64().unwrap()
    };
    assert_eq!(share(json!({})), 0.0);
    assert_eq!(share(json!({"alarm_delay_min": 25})), 41.67);
}

#[test]
fn a_damper_that_swings_between_states_is_unstable() {
    let table = every(
        5 * MINUTE,
        600,
        &[
            ("supply_air_temp", &|_| 55.0),
            ("cool_valve", &|row| if row % 2 == 0 { 50.0 } else { 0.0 }),
            ("oa_damper", &|_| 60.0),
            ("supply_fan_status", &|_| 1.0),
        ],
    );
    let verdict = testing::run(&RULE, &table, json!({"oa_damper_min": 10})).unwrap();
    assert_eq!(metric(&verdict, "worst_fc"), "FC4");
}

#[test]
fn months_without_a_value_for_the_others_are_refused() {
    let entry = crate::RuleCatalogue::shipped().entry(RULE.id).unwrap();
    for set in [
        json!({"min_oa_pct_by_month": {"3": 30}}),
        json!({"oa_damper_min_by_month": {"3": 30}}),
        json!({"min_oa_pct": 20, "min_oa_pct_by_month": {"13": 30}}),
    ] {
        let mut parameters = Parameters::of(entry);
        parameters
            .set(entry, set.as_object().unwrap(), &[])
            .unwrap();
        assert!(check(&parameters).is_err(), "{set}");
    }
}
