//! Where the examples take their baselines from.

use super::*;

#[test]
fn another_equipment_may_be_the_reference() {
    let mut entry = entry("AHU", Family::AirHandler);
    entry.current = None;
    entry.reference = Some(DriftReference::Equipment {
        equip: "AHU-9".to_owned(),
        period: None,
    });
    let mut good = handler().table().clone();
    good.equip = "AHU-9".to_owned();
    for power in good.columns.get_mut("power").unwrap() {
        *power -= 0.7;
    }
    let frames = [handler(), RunFrame::of_resampled(good, &[])];
    let outcome = over(std::slice::from_ref(&entry), &frames);
    let drifted = finding(&outcome, "ahu:fan_efficiency_drift@AHU-1");
    assert_eq!(
        drifted.verdict.metrics.get("baseline_source"),
        Some(&json!("reference:AHU-9"))
    );
    assert_eq!(
        drifted
            .verdict
            .metrics
            .get("fan_power_drift_kw")
            .and_then(Value::as_f64)
            .map(|kw| kw > 0.1),
        Some(true)
    );
    expect(
        &outcome,
        "ahu:fan_efficiency_drift@AHU-9",
        Severity::Info,
        json!({"declined": true, "reason": "is_reference"}),
    );
    assert_eq!(outcome.unevaluated[0].reason, "is the declared reference");
    let missing = DriftRun {
        entries: &[entry],
        frames: &frames[..1],
        judged: None,
        frozen: None,
        sites: &["hq".to_owned()],
        run_id: "r",
        elevation_ft: None,
        floor: None,
        trust: &Unscored,
        threads: NonZeroUsize::MIN,
        cancelled: &|| false,
    };
    assert!(run(&missing).unwrap_err().to_string().contains("\"AHU-9\""));
}

#[test]
fn frozen_baselines_are_read_and_never_replaced() {
    let entry = DriftEntry {
        baseline: Some(window("2024-03-01", Some("2024-04-09"))),
        current: Some(window("2024-04-10", None)),
        ..DriftEntry::bare("AHU", Family::AirHandler)
    };
    let frozen = FrozenBaselines::parse(
        r#"{"baselines": [{"facility_id": "hq", "equip": "AHU-1", "kind": "fan_efficiency", "frozen_at": "2024-04-09T12:00:00",
            "coefficients": {"n": 900, "slope_f_per_ton": 0.001, "intercept_f": 1.0, "sigma_f": 0.1415, "r2": 0.99,
            "tons_min": 2000.0, "tons_max": 8000.0}}]}"#,
    )
    .unwrap();
    let outcome = with(&[entry], &[handler()], Some(&frozen));
    assert_eq!(outcome.families[0].reference, None);
    expect(
        &outcome,
        "ahu:fan_efficiency_drift@AHU-1",
        Severity::Fault,
        json!({"fan_power_baseline_frozen_at": "2024-04-09T12:00:00", "fan_power_drift_kw": 1.5001}),
    );
    expect(
        &outcome,
        "ahu:filter_loading_drift@AHU-1",
        Severity::Info,
        json!({"declined": true}),
    );
}
