use super::*;
use crate::rules::testing::{self, Column, hourly};

fn wet_bulb(row: usize) -> f64 {
    50.0 + numeric::share_of(row % 24) / 2.0
}

/// Ten days; with the samples that are flagged.
fn verdict(columns: &[Column<'_>], set: Value) -> (Verdict, Option<usize>) {
    let table = hourly(240, columns);
    let flagged = testing::judge(&RULE, &table, set.clone())
        .map(|judgement| masks::count(&judgement.samples.flagged));
    (testing::run(&RULE, &table, set).unwrap(), flagged)
}

fn reason(verdict: &Verdict) -> Option<&str> {
    verdict.metrics.get("reason").and_then(Value::as_str)
}

#[test]
fn an_approach_is_judged_at_high_fan_speed() {
    let columns: &[Column<'_>] = &[
        ("cw_supply_temp", &|row| {
            wet_bulb(row) + if row % 24 < 12 { 9.5 } else { 11.0 }
        }),
        ("wetbulb_temp", &wet_bulb),
        ("tower_fan_speed", &|row| {
            if row % 24 < 20 { 1.0 } else { 0.5 }
        }),
        ("cw_return_temp", &|row| wet_bulb(row) + 20.0),
    ];
    let (found, flagged) = verdict(columns, json!({}));
    assert_eq!((found.severity, flagged), (Severity::Warn, Some(80)));
    assert_eq!(found.metrics.as_number("approach_median_f"), Some(9.5));
    assert_eq!(found.metrics.get("n_low_effort_excluded"), Some(&json!(40)));
    assert!(
        found
            .summary
            .contains("9.5 °F above the measured wet bulb at high fan speed")
    );
    let (all, _) = verdict(columns, json!({"min_effort_pct": null}));
    assert_eq!(all.metrics.get("effort_gated"), Some(&Value::Null));
    assert_eq!(all.caveats.len(), 1);
}

#[test]
fn altitude_lowers_the_formed_wet_bulb() {
    let columns: &[Column<'_>] = &[
        ("cw_supply_temp", &|_| 85.0),
        ("oat", &|_| 90.0),
        ("outdoor_rh", &|_| 40.0),
        ("pump_status", &|row| f64::from(u8::from(row % 24 >= 6))),
    ];
    let (sea, _) = verdict(columns, json!({}));
    assert_eq!((sea.severity, sea.caveats.len()), (Severity::Fault, 2));
    assert_eq!(sea.metrics.as_number("approach_median_f"), Some(12.9));
    let (high, _) = verdict(columns, json!({"elevation_ft": 5280}));
    assert_eq!(high.metrics.as_number("approach_median_f"), Some(14.8));
    assert_eq!(
        high.metrics.get("wetbulb_pressure_basis"),
        Some(&json!("site"))
    );
}

#[test]
fn a_tower_without_a_sign_of_operation_is_declined() {
    let water: Column<'_> = ("cw_supply_temp", &|_| 85.0);
    let wet: Column<'_> = ("wetbulb_temp", &|_| 70.0);
    let (none, flagged) = verdict(&[water, wet], json!({}));
    assert_eq!(
        (reason(&none), flagged),
        (Some("no_operating_signal"), None)
    );
    let (off, _) = verdict(&[water, wet, ("compressor_status", &|_| 0.0)], json!({}));
    assert_eq!(reason(&off), Some("never_running"));
    let (slow, _) = verdict(&[water, wet, ("tower_fan_speed", &|_| 60.0)], json!({}));
    assert_eq!(slow.metrics.get("n_high_effort"), Some(&json!(0)));
    assert!(slow.summary.contains("at most 60 %"));
    let (dry, _) = verdict(&[water, ("tower_fan_speed", &|_| 95.0)], json!({}));
    assert_eq!(dry.metrics.as_map().len(), 1);
    let (few, _) = verdict(&[water, ("pump_status", &|_| 1.0)], json!({}));
    assert_eq!((few.metrics.as_map().len(), few.caveats.len()), (0, 0));
}
