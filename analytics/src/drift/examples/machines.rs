//! Chiller, boiler, tower and refrigerant circuit of the examples.

use super::*;

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
