//! Air handlers and terminal boxes of the examples.

use super::*;

#[test]
fn a_fan_that_draws_more_is_told_from_a_sound_air_path() {
    let weather = unit("AHU-2", "AHU", vec![("oat", at(|i| 50.0 + 15.0 * day(i)))]);
    let mut entry = entry("AHU", Family::AirHandler);
    entry.reference = Some(DriftReference::Period(window(
        "2024-03-01",
        Some("2024-04-09 23:00"),
    )));
    entry.current = None;
    let outcome = over(&[entry], &[handler(), weather]);
    let told = &outcome.families[0];
    assert_eq!(told.current.ends(), [Some("2024-04-09 23:00"), None]);
    assert_eq!(
        told.reference.as_deref(),
        Some("period 2024-03-01 .. 2024-04-09 23:00")
    );
    expect(
        &outcome,
        "ahu:fan_efficiency_drift@AHU-1",
        Severity::Fault,
        json!({"fan_power_drift_kw": 1.4988, "fan_power_drift_sigma": 10.5921, "fan_power_baseline_sigma_kw": 0.1415,
            "fan_power_slope_kw_per_month": 0.0321, "fan_power_pct_outside_2sigma": 99.79, "fan_power_n_current": 481,
            "fan_power_first_alarm_at": "2024-04-10 07:00:00", "fan_power_alarm_direction": "up",
            "fan_power_sustained_alarm": true, "duct_static_shift": -0.0008,
            "fan_power_baseline_frozen_at": "capability",
            "baseline_source": "period:2024-03-01..2024-04-09 23:00"}),
    );
    expect(
        &outcome,
        "ahu:duct_static_drift@AHU-1",
        Severity::Ok,
        json!({"duct_static_drift_inwc": -0.0012, "duct_static_drift_sigma": -0.0873,
            "duct_static_baseline_sigma_inwc": 0.0142, "duct_static_pct_outside_2sigma": 0.0,
            "duct_static_setpoint_driven": false, "duct_static_alarm_direction": null, "duct_static_first_alarm_at": ""}),
    );
    expect(
        &outcome,
        "ahu:filter_loading_drift@AHU-1",
        Severity::Ok,
        json!({"filter_dp_drift_inwc": 0.0, "filter_dp_drift_sigma": 0.0016}),
    );
    expect(
        &outcome,
        "ahu:drift:ahu@AHU-2",
        Severity::Info,
        json!({"declined": true, "family": "ahu"}),
    );
    expect_diagnosis(
        &outcome,
        "AHU-1",
        Severity::Fault,
        json!({"locus": "fan", "ahu_wide": false, "corroborated": false}),
    );
    assert_eq!(outcome.unevaluated[0].reason, "no required role resolved");
    let counts = outcome.counts();
    assert_eq!(
        (counts.fault, counts.warn, counts.info, counts.ok),
        (1, 0, 1, 2)
    );
    let trace = &outcome.traces["ahu:fan_efficiency_drift@AHU-1"][0];
    assert_eq!(
        (trace.residuals.len(), trace.alarm_at),
        (481, parse_bound("2024-04-10 07:00"))
    );
}

#[test]
fn coils_and_the_economizer_of_an_air_handler() {
    use crate::drift::detectors::air_handler::Coil;
    let outdoor = |i| 50.0 + 15.0 * day(i);
    let returned = |i: f64| 72.0 + 0.5 * (0.7 * i).sin();
    let damper = |i: f64| 20.0 + 15.0 * (1.1 * i).sin();
    let mixed = move |i: f64| {
        returned(i)
            + (damper(i) + 10.0 * late(i)) / 100.0 * (outdoor(i) - returned(i))
            + 0.2 * (1.9 * i).sin()
    };
    let difference = |i| 10.0 + 6.0 * day(i);
    let first = unit(
        "AHU-1",
        "AHU",
        vec![
            ("oat", at(outdoor)),
            ("return_air_temp", at(returned)),
            ("oa_damper", at(damper)),
            ("mixed_air_temp", at(mixed)),
            ("supply_air_temp", at(move |i| mixed(i) - difference(i))),
            (
                "cool_valve",
                at(move |i| 20.0 + 4.0 * difference(i) + 1.5 * (1.3 * i).sin() + 12.0 * late(i)),
            ),
            ("heat_valve", at(|_| 0.0)),
            ("supply_fan_status", at(|_| 1.0)),
        ],
    );
    let outcome = over(&[entry("AHU", Family::AirHandler)], &[first]);
    expect(
        &outcome,
        "ahu:coil_valve_drift@AHU-1",
        Severity::Warn,
        json!({"coil_valve_drift_pct": 12.0538, "coil_valve_drift_sigma": 11.3405, "coil_valve_baseline_sigma_pct": 1.0629,
            "coil_valve_n_current": 293, "coil_valve_econ_excluded_pct": 39.17, "coil_valve_first_alarm_at": "2024-04-10 14:00:00"}),
    );
    expect(
        &outcome,
        "ahu:economizer_damper_drift@AHU-1",
        Severity::Warn,
        json!({"econ_oa_fraction_drift_pct": 10.0034, "econ_oa_fraction_drift_sigma": 14.3233,
            "econ_oa_fraction_baseline_sigma_pct": 0.6984, "econ_oa_fraction_n_current": 380,
            "econ_degenerate_excluded_pct": 20.83, "econ_damper_median_cmd_pct": 20.391}),
    );
    expect_diagnosis(
        &outcome,
        "AHU-1",
        Severity::Warn,
        json!({"locus": "ahu-wide", "corroborated": true}),
    );

    let mixed = |i| 60.0 + 10.0 * day(i);
    let leaking = unit(
        "AHU-3",
        "AHU",
        vec![
            ("mixed_air_temp", at(mixed)),
            (
                "supply_air_temp",
                at(move |i| mixed(i) + 1.5 + 0.2 * (1.7 * i).sin() - late(i)),
            ),
            ("cool_valve", at(|_| 0.0)),
            ("supply_fan_status", at(|_| 1.0)),
        ],
    );
    let entry = DriftEntry {
        coil_leak: vec![Coil::Cooling],
        ..entry("AHU", Family::AirHandler)
    };
    let outcome = over(&[entry], &[leaking]);
    expect(
        &outcome,
        "ahu:coil_leak_drift@AHU-3",
        Severity::Warn,
        json!({"coil_leak_drift_f": -1.0001, "coil_leak_drift_sigma": -7.0629, "coil_leak_baseline_n": 937,
            "coil_leak_n_current": 480, "coil_leak_basis": "supply_air_temp", "coil_leak_fan_gate": "status"}),
    );
    expect(
        &outcome,
        "ahu:coil_valve_drift@AHU-3",
        Severity::Info,
        json!({"declined": true}),
    );
    expect_diagnosis(&outcome, "AHU-3", Severity::Warn, json!({"locus": "coil"}));
}

#[test]
fn a_reheat_valve_that_opens_further() {
    let airflow = |i| 400.0 + 150.0 * day(i);
    let rise = |i: f64| 20.0 + 5.0 * (0.4 * i).sin();
    let terminal = unit(
        "VAV-1",
        "VAV",
        vec![
            ("airflow", at(airflow)),
            (
                "heat_valve",
                at(move |i| 10.0 + 0.006 * airflow(i) * rise(i) + (1.3 * i).sin() + 10.0 * late(i)),
            ),
            ("mixed_air_temp", at(|_| 55.0)),
            ("supply_air_temp", at(move |i| 55.0 + rise(i))),
            (
                "hw_supply_temp",
                at(|i| 150.0 - 3.0 * late(i) + 0.1 * (0.9 * i).sin()),
            ),
        ],
    );
    let outcome = over(&[entry("VAV", Family::Terminal)], &[terminal]);
    expect(
        &outcome,
        "vav:vav_reheat_valve_drift@VAV-1",
        Severity::Warn,
        json!({"vav_reheat_valve_drift_pct": 10.0358, "vav_reheat_valve_drift_sigma": 14.1809,
            "vav_reheat_valve_n_current": 471, "water_supply_shift_f": -3.01}),
    );
    expect_diagnosis(
        &outcome,
        "VAV-1",
        Severity::Warn,
        json!({"locus": "reheat"}),
    );
}
