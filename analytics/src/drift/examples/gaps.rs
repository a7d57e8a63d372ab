//! Windows in which an input is missing or hardly credible; each is what the reference answers too.

use std::num::NonZeroUsize;

use serde_json::{Value, json};

use super::{DriftRun, Family, RunFrame, Value64, at, entry, finding, late, over, run, unit};
use crate::runner::TrustScores;

/// Whether there is a value in an hour.
type When = fn(f64) -> bool;

const CHARGE: &str = "dx:dx_refrigerant_charge@DX-1";
const DISCHARGE: &str = "dx:discharge_superheat_drift@DX-1";

/// A unit that loses refrigerant late; its weather and superheat are there where the tests say so.
fn unit_with(weather: When, superheat: Option<When>) -> RunFrame {
    running_unit(|_| true, weather, superheat)
}

fn running_unit(runs: When, weather: When, superheat: Option<When>) -> RunFrame {
    let where_there = |there: When, value: fn(f64) -> f64| -> Box<Value64> {
        at(move |i| if there(i) { value(i) } else { f64::NAN })
    };
    let mut columns = vec![
        ("oat", where_there(weather, |i| 70.0 + i % 24.0)),
        (
            "subcooling_temp",
            at(|i| 10.0 + 0.5 * (1.7 * i).sin() - 6.0 * late(i)),
        ),
        ("discharge_superheat_temp", at(|i| 40.0 + (2.1 * i).sin())),
        (
            "compressor_status",
            at(move |i| f64::from(u8::from(runs(i)))),
        ),
    ];
    if let Some(there) = superheat {
        columns.push((
            "superheat_temp",
            where_there(there, |i| 12.0 + 0.3 * (1.3 * i).sin()),
        ));
    }
    unit("DX-1", "DX", columns)
}

fn figures(frame: RunFrame, id: &str) -> Value {
    let outcome = over(&[entry("DX", Family::Dx)], &[frame]);
    json!(finding(&outcome, id).verdict.metrics.as_map())
}

#[test]
fn weather_of_one_window_alone_is_no_missing_normaliser() {
    let is_late = |i: f64| late(i) > 0.0;
    let cases: [(When, Value); 4] = [
        (|_| true, Value::Null),
        (|i| late(i) == 0.0, json!("empty")),
        (is_late, json!("no_baseline")),
        (|_| false, json!("no_normalizer")),
    ];
    for (weather, reason) in cases {
        for id in [CHARGE, DISCHARGE] {
            let figures = figures(unit_with(weather, None), id);
            assert_eq!(
                figures.get("reason").unwrap_or(&Value::Null),
                &reason,
                "{id}"
            );
        }
    }
}

#[test]
fn a_unit_that_cools_in_one_window_alone_has_nothing_to_be_compared_at() {
    for runs in [(|i| late(i) == 0.0) as When, |i| late(i) > 0.0] {
        for id in [CHARGE, DISCHARGE] {
            let figures = figures(running_unit(runs, |_| true, None), id);
            assert_eq!(figures["reason"], "no_normalizer", "{id}");
        }
    }
}

#[test]
fn superheat_that_cannot_be_compared_leaves_a_low_charge_open() {
    let told = |superheat| {
        let figures = figures(unit_with(|_| true, superheat), CHARGE);
        assert_eq!(figures["charge_verdict"], "undercharge");
        figures.get("superheat_corroborates").cloned()
    };
    assert_eq!(told(None), None);
    assert_eq!(told(Some(|i| late(i) == 0.0)), Some(Value::Null));
    assert_eq!(told(Some(|_| true)), Some(json!(false)));
}

/// A floor that subcooling alone is below.
struct Distrusted;

impl TrustScores for Distrusted {
    fn score(&self, _: usize, role: &str) -> Option<f64> {
        (role == "subcooling_temp").then_some(0.1)
    }
}

#[test]
fn airflow_reads_subcooling_although_the_charge_declined_for_it() {
    let dx = unit(
        "DX-1",
        "DX",
        vec![
            ("oat", at(|i| 70.0 + i % 24.0)),
            ("return_air_temp", at(|i| 74.0 + (i / 50.0).sin())),
            (
                "supply_air_temp",
                at(|i| 56.0 + (i / 50.0).sin() + 0.2 * (1.1 * i).sin() + 4.0 * late(i)),
            ),
            (
                "subcooling_temp",
                at(|i| 10.0 + 0.5 * (1.7 * i).sin() - 6.0 * late(i)),
            ),
            ("compressor_status", at(|_| 1.0)),
        ],
    );
    let outcome = run(&DriftRun {
        entries: &[entry("DX", Family::Dx)],
        frames: &[dx],
        judged: None,
        frozen: None,
        sites: &["hq".to_owned()],
        run_id: "capability",
        elevation_ft: None,
        floor: Some(0.5),
        trust: &Distrusted,
        threads: NonZeroUsize::MIN,
        cancelled: &|| false,
    })
    .unwrap();
    let figures = |id: &str| json!(finding(&outcome, id).verdict.metrics.as_map());
    assert_eq!(figures(CHARGE)["declined"], true);
    let airflow = figures("dx:dx_indoor_airflow@DX-1");
    let drift = airflow["subcooling_drift_f"].as_f64().unwrap();
    assert!((drift + 6.0).abs() < 0.1, "{drift}");
    // The split fell with subcooling: the circuit has lost capacity, and no fan blows too much.
    assert_eq!(airflow["airflow_verdict"], "capacity_low");
}

#[test]
fn the_level_of_a_boiler_is_that_of_all_its_heat() {
    // 14.65 kW a degree at 100 gpm; the ratio falls by 0.004 with each kW.
    let heat = |i: f64| 500.0 * 100.0 * (5.0 + i % 10.0) / 3412.14;
    let ratio = |heat: f64| 2.0 - 0.004 * heat;
    let boiler = unit(
        "B-1",
        "BOILER",
        vec![
            ("hw_flow", at(|_| 100.0)),
            ("hw_return_temp", at(|_| 120.0)),
            ("hw_supply_temp", at(|i| 125.0 + i % 10.0)),
            (
                "gas_input_rate",
                // A meter that reads ten times too much in the upper half of the load is not credible there.
                at(move |i| {
                    let wrong = late(i) > 0.0 && i % 10.0 >= 5.0;
                    heat(i) * ratio(heat(i)) * if wrong { 10.0 } else { 1.0 }
                }),
            ),
        ],
    );
    let outcome = over(&[entry("BOILER", Family::Boiler)], &[boiler]);
    let metrics = &finding(&outcome, "boiler:boiler_efficiency_drift@B-1")
        .verdict
        .metrics;
    let level = metrics.as_number("ratio_baseline_level").unwrap();
    assert!((level - ratio(heat(4.5))).abs() < 1e-3, "{level}");
    assert!(metrics.as_number("n_current").unwrap() < 250.0);
}
