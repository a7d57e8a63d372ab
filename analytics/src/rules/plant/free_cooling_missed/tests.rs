use serde_json::{Value, json};

use super::*;
use crate::rules::testing::{self, Column, hourly};

fn verdict(columns: &[Column<'_>], set: Value) -> (Verdict, Option<usize>) {
    let table = hourly(240, columns);
    let flagged = testing::judge(&RULE, &table, set.clone())
        .map(|judgement| masks::count(&judgement.samples.flagged));
    (testing::run(&RULE, &table, set).unwrap(), flagged)
}

fn cause(verdict: &Verdict) -> &str {
    verdict
        .metrics
        .get("missed_cause")
        .unwrap()
        .as_str()
        .unwrap()
}

#[test]
fn an_open_valve_in_mild_weather_is_missed_free_cooling() {
    let (found, flagged) = verdict(
        &[
            ("cool_valve", &|row| if row % 24 < 6 { 40.0 } else { 0.0 }),
            ("oat", &|_| 55.0),
            ("supply_fan_status", &|_| 1.0),
        ],
        json!({}),
    );
    assert_eq!((found.severity, flagged), (Severity::Fault, Some(60)));
    assert_eq!(found.metrics.as_number("missed_pct"), Some(25.0));
    assert_eq!(cause(&found), "undetermined");
    assert!(found.summary.contains("25 % of 240 h"), "{}", found.summary);
    assert_eq!(found.caveats.len(), 1);
}

#[test]
fn an_open_damper_without_outdoor_air_does_not_deliver() {
    let (found, _) = verdict(
        &[
            ("cool_valve", &|_| 40.0),
            ("oat", &|_| 50.0),
            ("oa_damper", &|_| 100.0),
            ("mixed_air_temp", &|_| 66.0),
            ("return_air_temp", &|_| 70.0),
            ("supply_fan_status", &|_| 1.0),
        ],
        json!({}),
    );
    assert_eq!(cause(&found), "damper_not_delivering");
    assert_eq!(
        found.metrics.as_number("commanded_open_oaf_median_pct"),
        Some(20.0)
    );
}

#[test]
fn an_economizer_that_helps_misses_nothing() {
    let (found, flagged) = verdict(
        &[
            ("cool_valve", &|_| 0.4),
            ("oat", &|_| 50.0),
            ("oa_damper", &|_| 1.0),
            ("supply_fan_speed", &|row| {
                if row % 24 < 12 { 0.8 } else { 0.0 }
            }),
        ],
        json!({}),
    );
    assert_eq!((found.severity, flagged), (Severity::Ok, Some(0)));
    assert_eq!(found.metrics.get("missed_cause"), Some(&Value::Null));
    assert_eq!(found.metrics.get("n_masked_fan_off"), Some(&json!(120)));
    assert!(found.summary.contains("another 100 %"), "{}", found.summary);
}

#[test]
fn a_low_limit_leaves_cold_hours_out_and_says_so() {
    let columns: &[Column<'_>] = &[
        ("cool_valve", &|_| 40.0),
        ("oat", &|row| if row % 24 < 8 { 35.0 } else { 55.0 }),
    ];
    let (found, flagged) = verdict(columns, json!({"low_limit_f": 40.0}));
    assert_eq!(flagged, Some(160));
    assert_eq!(
        found.metrics.as_number("low_limit_cooling_hours"),
        Some(80.0)
    );
    assert_eq!(found.caveats.len(), 2);
    let entry = crate::RuleCatalogue::shipped().entry(RULE.id).unwrap();
    let mut wrong = Parameters::of(entry);
    let set = json!({"low_limit_f": 60.0});
    wrong.set(entry, set.as_object().unwrap(), &[]).unwrap();
    assert!(
        check(&wrong)
            .unwrap_err()
            .to_string()
            .contains("below high_limit_f")
    );
}

#[test]
fn warm_weather_is_not_judged() {
    let (found, flagged) = verdict(&[("cool_valve", &|_| 40.0), ("oat", &|_| 70.0)], json!({}));
    assert_eq!((found.severity, flagged), (Severity::Info, None));
    assert_eq!(
        found.metrics.get("_missing_optional"),
        Some(&json!([
            "oa_damper",
            "mixed_air_temp",
            "return_air_temp",
            "supply_fan_status"
        ]))
    );
}
