//! The executed examples of the specification (Drift §8).
use std::f64::consts::TAU;
use std::num::NonZeroUsize;

use serde_json::{Value, json};

use super::{DriftOutcome, DriftRun, Family, FrozenBaselines, run};
use crate::RunFrame;
use crate::finding::Severity;
use crate::frame::RoleFrame;
use crate::run_config::{DriftEntry, DriftReference, WrittenWindow};
use crate::runner::{Finding, Unscored};
use crate::wall_clock::{HOUR, parse_bound};

const ROWS: u32 = 60 * 24;

type Value64 = dyn Fn(f64) -> f64;

/// Columns by role, each a function of the number of the hour.
fn unit(equip: &str, class: &str, columns: Vec<(&str, Box<Value64>)>) -> RunFrame {
    let start = parse_bound("2024-03-01").unwrap();
    let table = RoleFrame {
        equip: equip.to_owned(),
        equip_class: class.to_owned(),
        stamps: (0..i64::from(ROWS)).map(|row| start + row * HOUR).collect(),
        columns: columns
            .into_iter()
            .map(|(role, value)| {
                (
                    role.to_owned(),
                    (0..ROWS).map(|row| value(f64::from(row))).collect(),
                )
            })
            .collect(),
    };
    RunFrame::of_resampled(table, &[])
}

fn at(value: impl Fn(f64) -> f64 + 'static) -> Box<Value64> {
    Box::new(value)
}

/// 1 from 2024-04-10 on.
fn late(i: f64) -> f64 {
    if i >= 960.0 { 1.0 } else { 0.0 }
}

/// A day's sine.
fn day(i: f64) -> f64 {
    (TAU * i / 24.0).sin()
}

fn week(i: f64) -> f64 {
    (TAU * i / 168.0).sin()
}

fn window(start: &str, end: Option<&str>) -> WrittenWindow {
    WrittenWindow::of(Some(start), end).unwrap()
}

fn entry(class: &str, family: Family) -> DriftEntry {
    DriftEntry {
        reference: Some(DriftReference::Period(window(
            "2024-03-01",
            Some("2024-04-09"),
        ))),
        current: Some(window("2024-04-10", None)),
        ..DriftEntry::bare(class, family)
    }
}

fn over(entries: &[DriftEntry], frames: &[RunFrame]) -> DriftOutcome {
    with(entries, frames, None)
}

fn with(
    entries: &[DriftEntry],
    frames: &[RunFrame],
    frozen: Option<&FrozenBaselines>,
) -> DriftOutcome {
    run(&DriftRun {
        entries,
        frames,
        judged: None,
        frozen,
        sites: &["hq".to_owned()],
        run_id: "capability",
        elevation_ft: None,
        floor: None,
        trust: &Unscored,
        threads: NonZeroUsize::MIN,
        cancelled: &|| false,
    })
    .unwrap()
}

fn finding<'o>(outcome: &'o DriftOutcome, id: &str) -> &'o Finding {
    outcome
        .findings
        .iter()
        .find(|finding| finding.id == id)
        .unwrap_or_else(|| {
            panic!(
                "{id} is not among {:?}",
                outcome.findings.iter().map(|f| &f.id).collect::<Vec<_>>()
            )
        })
}

/// Severity and figures of a finding.
#[track_caller]
fn expect(outcome: &DriftOutcome, id: &str, severity: Severity, figures: Value) {
    let finding = finding(outcome, id);
    assert_eq!(finding.severity(), severity, "{id}: {:?}", finding.verdict);
    for (name, expected) in figures.as_object().unwrap() {
        let found = finding.verdict.metrics.get(name).unwrap_or(&Value::Null);
        assert_eq!(found, expected, "{id}: {name}");
    }
}

#[track_caller]
fn expect_diagnosis(outcome: &DriftOutcome, equip: &str, severity: Severity, detail: Value) {
    let diagnosis = outcome
        .diagnoses
        .iter()
        .find(|diagnosis| diagnosis.equip == equip)
        .unwrap();
    assert_eq!(diagnosis.severity, severity);
    for (name, expected) in detail.as_object().unwrap() {
        assert_eq!(
            diagnosis.detail.get(name),
            Some(expected),
            "{equip}: {name}"
        );
    }
}

fn handler() -> RunFrame {
    let airflow = |i| 5000.0 + 3000.0 * day(i);
    unit(
        "AHU-1",
        "AHU",
        vec![
            ("airflow", at(airflow)),
            (
                "power",
                at(move |i| 1.0 + 0.001 * airflow(i) + 0.2 * (1.7 * i).sin() + 1.5 * late(i)),
            ),
            (
                "filter_diff_press",
                at(move |i| 0.2 + 0.0001 * airflow(i) + 0.02 * (2.3 * i).cos()),
            ),
            (
                "duct_static",
                at(move |i| 1.0 + 0.00002 * airflow(i) + 0.02 * (0.9 * i).sin()),
            ),
            ("supply_fan_status", at(|_| 1.0)),
        ],
    )
}

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

#[test]
fn a_chiller_and_a_box_have_the_figures_of_the_example() {
    let flow = |i| 800.0 + 400.0 * day(i);
    let tons = move |i: f64| flow(i) * 9.6 / 24.0;
    let water = |i| 80.0 + 4.0 * week(i);
    let chiller = unit(
        "CH-1",
        "CHILLER",
        vec![
            ("chw_flow", at(flow)),
            ("chw_supply_temp", at(|i| 44.0 + 0.2 * (0.7 * i).sin())),
            ("chw_return_temp", at(|i| 53.6 + 0.2 * (0.7 * i).sin())),
            ("cw_supply_temp", at(water)),
            (
                "cond_approach_temp",
                at(move |i| 2.0 + 0.01 * tons(i) + 0.1 * (1.7 * i).sin() + 1.5 * late(i)),
            ),
            (
                "discharge_pressure",
                at(move |i| {
                    100.0
                        + 0.05 * tons(i)
                        + 1.5 * (water(i) - 80.0)
                        + 0.3 * (2.1 * i).cos()
                        + 3.0 * late(i)
                }),
            ),
        ],
    );
    let command = |i| 400.0 + 200.0 * day(i);
    let terminal = unit(
        "VAV-1",
        "VAV",
        vec![
            ("airflow_sp", at(command)),
            (
                "damper",
                at(move |i| 20.0 + 0.08 * command(i) + (1.3 * i).sin() + 10.0 * late(i)),
            ),
            (
                "duct_static",
                at(|i| 1.2 - 0.3 * late(i) + 0.01 * (0.9 * i).sin()),
            ),
        ],
    );
    let outcome = over(
        &[
            entry("CHILLER", Family::Chiller),
            entry("VAV", Family::Terminal),
        ],
        &[chiller, terminal],
    );
    expect(
        &outcome,
        "chiller:chiller_approach_drift@CH-1",
        Severity::Warn,
        json!({"cond_drift_f": 1.5, "cond_drift_sigma": 21.1871, "cond_baseline_model": "linear"}),
    );
    expect(
        &outcome,
        "chiller:chiller_head_pressure_drift@CH-1",
        Severity::Warn,
        json!({"head_pressure_covariate": "cw_supply_temp", "head_pressure_covariate_slope": 1.499992,
            "head_pressure_drift_psi": 3.0097, "head_pressure_drift_sigma": 14.1632}),
    );
    expect_diagnosis(
        &outcome,
        "CH-1",
        Severity::Warn,
        json!({"locus": "condenser", "charge": null, "machine_wide": false}),
    );
    expect(
        &outcome,
        "vav:vav_airflow_drift@VAV-1",
        Severity::Warn,
        json!({"vav_airflow_drift_pct": 10.0361, "vav_airflow_drift_sigma": 14.1813, "vav_upstream_starvation_suspected": true}),
    );
    expect_diagnosis(
        &outcome,
        "VAV-1",
        Severity::Warn,
        json!({"locus": "upstream", "box_wide": false}),
    );
}

#[test]
fn coils_and_the_economizer_of_an_air_handler() {
    use super::detectors::air_handler::Coil;
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

#[test]
fn a_boiler_burns_more_for_the_same_heat() {
    let outdoor = |i| 35.0 + 15.0 * day(i);
    let flow = |i: f64| 100.0 + 20.0 * (0.3 * i).sin();
    let returned = |i| 120.0 + 5.0 * week(i);
    let heat = move |i| 4.0 * (65.0 - outdoor(i));
    let boiler = unit(
        "B-1",
        "BOILER",
        vec![
            ("oat", at(outdoor)),
            ("hw_flow", at(flow)),
            ("hw_return_temp", at(returned)),
            (
                "hw_supply_temp",
                at(move |i| returned(i) + heat(i) * 3412.14 / (500.0 * flow(i))),
            ),
            (
                "gas_input_rate",
                at(move |i| {
                    heat(i)
                        * (1.2 + 0.004 * (returned(i) - 120.0))
                        * (1.0 + 0.01 * (1.7 * i).sin())
                        * (1.0 + 0.08 * late(i))
                }),
            ),
        ],
    );
    let outcome = over(&[entry("BOILER", Family::Boiler)], &[boiler]);
    expect(
        &outcome,
        "boiler:boiler_efficiency_drift@B-1",
        Severity::Warn,
        json!({"ratio_drift_rel": 0.0798, "ratio_drift": 0.0959, "ratio_drift_sigma": 11.2831, "ratio_baseline_level": 1.2011,
            "gas_rise_at_matched_oat": 0.0797, "attribution": "boiler", "covariate": "hw_return_temp", "heat_source": "flow"}),
    );
    expect_diagnosis(
        &outcome,
        "B-1",
        Severity::Warn,
        json!({"locus": "boiler", "family": "boiler"}),
    );
}

#[test]
fn a_tower_whose_fan_works_harder() {
    let wet = |i| 60.0 + 6.0 * week(i);
    let range = |i| 10.0 + 3.0 * day(i);
    let supply = move |i: f64| 70.0 + 0.5 * (0.9 * i).sin() + (wet(i) - 60.0);
    let tower = unit(
        "CT-1",
        "CoolingTower",
        vec![
            ("wetbulb_temp", at(wet)),
            ("cw_supply_temp", at(supply)),
            ("cw_return_temp", at(move |i| supply(i) + range(i))),
            (
                "tower_fan_speed",
                at(move |i| {
                    30.0 + 3.0 * range(i) + (wet(i) - 60.0) + (1.3 * i).sin() + 7.0 * late(i)
                }),
            ),
        ],
    );
    let outcome = over(&[entry("CoolingTower", Family::Tower)], &[tower]);
    expect(
        &outcome,
        "tower:cooling_tower_fan_effort_drift@CT-1",
        Severity::Warn,
        json!({"fan_effort_drift_pct": 7.04, "fan_effort_drift_sigma": 9.9363, "load_source": "cw_range",
            "covariate": "wetbulb", "sensor_offset_shift_f": null, "attribution": "tower"}),
    );
    expect(
        &outcome,
        "tower:cooling_tower_approach_drift@CT-1",
        Severity::Ok,
        json!({"tower_approach_drift_f": -0.0331, "tower_approach_min_tons": 1.289778, "tower_approach_load_source": "cw_range"}),
    );
    expect_diagnosis(&outcome, "CT-1", Severity::Warn, json!({"locus": "tower"}));
}

#[test]
fn a_unit_that_loses_refrigerant() {
    let outdoor = |i| 80.0 + 10.0 * day(i);
    let returned = |i: f64| 74.0 + 2.0 * (TAU * i / 50.0).sin();
    let dx = unit(
        "DX-1",
        "DX",
        vec![
            ("oat", at(outdoor)),
            ("return_air_temp", at(returned)),
            (
                "supply_air_temp",
                at(move |i| {
                    returned(i) - 18.0 + 0.2 * (1.1 * i).sin() + 0.02 * (outdoor(i) - 80.0)
                }),
            ),
            (
                "subcooling_temp",
                at(move |i| {
                    10.0 + 0.05 * (outdoor(i) - 80.0)
                        + 0.1 * (returned(i) - 74.0)
                        + 0.5 * (1.7 * i).sin()
                        - 4.0 * late(i)
                }),
            ),
            (
                "superheat_temp",
                at(|i| 12.0 + 0.3 * (1.3 * i).sin() + 3.0 * late(i)),
            ),
            (
                "discharge_superheat_temp",
                at(move |i| 40.0 + 0.4 * (outdoor(i) - 80.0) + (2.1 * i).sin() + 7.0 * late(i)),
            ),
            ("compressor_status", at(|_| 1.0)),
        ],
    );
    let outcome = over(&[entry("DX", Family::Dx)], &[dx]);
    expect(
        &outcome,
        "dx:dx_refrigerant_charge@DX-1",
        Severity::Warn,
        json!({"subcooling_drift_f": -4.0004, "subcooling_drift_sigma": -11.2974, "charge_verdict": "undercharge",
            "superheat_drift_f": 3.0108, "superheat_corroborates": true, "normalized_on": "oat"}),
    );
    expect(
        &outcome,
        "dx:dx_indoor_airflow@DX-1",
        Severity::Ok,
        json!({"temp_split_drift_f": -0.0001}),
    );
    expect(
        &outcome,
        "dx:discharge_superheat_drift@DX-1",
        Severity::Warn,
        json!({"discharge_superheat_drift_f": 6.8499, "discharge_superheat_drift_sigma": 9.675}),
    );
    expect_diagnosis(
        &outcome,
        "DX-1",
        Severity::Warn,
        json!({"locus": "refrigerant_circuit", "family": "dx"}),
    );
}

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
