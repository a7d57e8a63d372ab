//! Pumps and loops of the examples.

use super::*;

#[test]
fn a_worn_pump_loses_head_and_flow() {
    let speed = |i| 60.0 + 25.0 * day(i);
    let flow = move |i: f64| 4.0 * speed(i) + 2.0 * (1.7 * i).sin() - 12.0 * late(i);
    let supply = |i: f64| 44.0 + 0.1 * (0.7 * i).sin();
    let pump = unit(
        "CHWP-1",
        "PUMP",
        vec![
            ("chw_pump_speed", at(speed)),
            ("chw_flow", at(flow)),
            (
                "pump_head",
                at(move |i| 0.4 * speed(i) + 0.3 * (2.3 * i).cos() - 5.0 * late(i)),
            ),
            ("pump_status", at(|_| 1.0)),
            ("chw_supply_temp", at(supply)),
            (
                "chw_return_temp",
                at(move |i| supply(i) + 10.0 + 0.01 * flow(i)),
            ),
        ],
    );
    let outcome = over(&[entry("PUMP", Family::Pump)], &[pump]);
    expect(
        &outcome,
        "pump:pump_flow_drift@CHWP-1",
        Severity::Warn,
        json!({"pump_flow_drift_gpm": -12.0003, "pump_flow_drift_sigma": -8.3591, "pump_flow_baseline_sigma_gpm": 1.4356,
            "pump_flow_warn_floor_gpm": 6.771302, "pump_flow_fault_floor_gpm": 13.542603, "pump_flow_speed_gate_pct": 37.0,
            "pump_flow_vfd_floor_pct": 35.0, "pump_flow_n_current": 420, "pump_flow_speed_mode": "variable"}),
    );
    expect(
        &outcome,
        "pump:pump_head_drift@CHWP-1",
        Severity::Fault,
        json!({"pump_head_drift_psi": -5.0004, "pump_head_drift_sigma": -23.5535}),
    );
    expect(
        &outcome,
        "pump:loop_deltat_drift@CHWP-1",
        Severity::Ok,
        json!({"loop_deltat_baseline_sigma_f": 0.0, "loop_deltat_load_gate": 33.856508, "loop_deltat_drift_sigma": null}),
    );
    let steady = &finding(&outcome, "pump:loop_deltat_drift@CHWP-1").verdict;
    assert!(steady.summary.contains("sigma n/a"), "{}", steady.summary);
    expect_diagnosis(
        &outcome,
        "CHWP-1",
        Severity::Fault,
        json!({"locus": "pump", "corroborated": true, "loop_wide": false}),
    );
}

#[test]
fn a_loop_pressure_that_follows_its_setpoint_is_no_drift() {
    let flow = |i| 300.0 + 100.0 * day(i);
    let pump = unit(
        "P-2",
        "PUMP",
        vec![
            ("chw_flow", at(flow)),
            (
                "chw_diff_press",
                at(move |i| 10.0 + 0.01 * flow(i) + 0.1 * (1.7 * i).sin() + 3.0 * late(i)),
            ),
            ("chw_diff_press_sp", at(|i| 12.0 + 3.0 * late(i))),
            (
                "power",
                at(move |i| 2.0 + 0.03 * flow(i) + 0.1 * (1.3 * i).sin() + late(i)),
            ),
            ("chw_pump_speed", at(|i| 80.0 + 0.01 * i.sin())),
        ],
    );
    let outcome = over(&[entry("PUMP", Family::Pump)], &[pump]);
    expect(
        &outcome,
        "pump:pump_power_drift@P-2",
        Severity::Warn,
        json!({"pump_power_drift_kw": 1.0035, "pump_power_drift_sigma": 14.1735, "pump_power_warn_floor_kw": 0.768252,
            "pump_power_fault_floor_kw": 1.536504, "pump_power_load_gate": 39.659258}),
    );
    expect(
        &outcome,
        "pump:loop_dp_drift@P-2",
        Severity::Ok,
        json!({"dp_sp_shift": 3.0, "loop_dp_setpoint_driven": true}),
    );
    expect(
        &outcome,
        "pump:pump_flow_drift@P-2",
        Severity::Ok,
        json!({"pump_flow_speed_mode": "constant", "pump_flow_baseline_model": "level", "pump_flow_baseline_sigma_gpm": 70.7107}),
    );
}
