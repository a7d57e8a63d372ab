use serde_json::json;

use super::*;
use crate::frame::RoleFrame;
use crate::rules::testing::{named, parameters, run_fleet, week};

fn cohort(role: &str, values: &[f64]) -> Vec<RoleFrame> {
    values
        .iter()
        .enumerate()
        .map(|(number, value)| {
            let value = *value;
            named(
                &format!("V{number}"),
                "VAV",
                week(&[(role, &move |_| value)]),
            )
        })
        .collect()
}

fn metric<'v>(verdict: &'v Verdict, name: &str) -> &'v Value {
    verdict.metrics.get(name).unwrap()
}

#[test]
fn a_box_with_three_times_the_air_of_its_peers_stands_out() {
    let tables = cohort("airflow", &[500.0, 510.0, 490.0, 505.0, 1500.0]);
    let verdict = run_fleet(&AIRFLOW, &tables, json!({})).unwrap();
    assert_eq!(verdict.severity, Severity::Warn);
    assert_eq!(metric(&verdict, "outliers"), &json!(["V4"]));
    assert_eq!(metric(&verdict, "z")["V4"], json!(134.224));
    assert_eq!(
        (
            metric(&verdict, "median"),
            metric(&verdict, "mad"),
            metric(&verdict, "cohort_spread")
        ),
        (&json!(505.0), &json!(5.0), &json!(0.015))
    );
    assert!(verdict.summary.contains("1 of 5") && verdict.summary.contains("V4"));
}

#[test]
fn boxes_that_are_all_different_are_no_cohort() {
    let tables = cohort("airflow", &[100.0, 300.0, 600.0, 900.0]);
    let verdict = run_fleet(&AIRFLOW, &tables, json!({})).unwrap();
    assert_eq!(
        (verdict.severity, verdict.caveats.len()),
        (Severity::Info, 1)
    );
    assert_eq!(metric(&verdict, "cohort_spread"), &json!(0.824));
    assert_eq!(metric(&verdict, "z")["V3"], json!(1.214));
}

#[test]
fn a_small_deviation_in_degrees_does_not_count() {
    let tables = cohort("space_temp", &[72.0, 72.1, 71.9, 72.0, 72.6]);
    let verdict = run_fleet(&SPACE_TEMP, &tables, json!({})).unwrap();
    assert_eq!(verdict.severity, Severity::Ok);
    assert_eq!(metric(&verdict, "z")["V4"], json!(4.047));
    let tables = cohort("space_temp", &[72.0, 72.1, 71.9, 72.0, 76.0]);
    let verdict = run_fleet(&SPACE_TEMP, &tables, json!({})).unwrap();
    assert_eq!(verdict.severity, Severity::Warn);
    assert_eq!(metric(&verdict, "z")["V4"], json!(26.98));
    let low = run_fleet(&SPACE_TEMP, &tables, json!({"tail": "low"})).unwrap();
    assert_eq!(low.severity, Severity::Ok);
    assert_eq!(metric(&low, "n_groups"), &json!(1));
}

#[test]
fn two_units_are_no_cohort() {
    let verdict = run_fleet(&AIRFLOW, &cohort("airflow", &[1.0, 2.0]), json!({})).unwrap();
    assert_eq!(verdict.severity, Severity::Info);
    assert_eq!(verdict.metrics.as_map().len(), 2);
}

#[test]
fn shares_of_design_airflow_are_compared() {
    let mut tables = cohort("airflow", &[500.0, 250.0, 100.0, 900.0, 10.0]);
    for (table, design) in tables.iter_mut().zip([1000.0, 500.0, 200.0, 1000.0]) {
        table
            .columns
            .insert("airflow_sp".to_owned(), vec![design; 168]);
    }
    let verdict = run_fleet(
        &AIRFLOW,
        &tables,
        json!({"normalise": "design_max", "k": 3}),
    )
    .unwrap();
    assert_eq!(metric(&verdict, "outliers"), &json!(["V3"]));
    assert_eq!(metric(&verdict, "left_out").as_object().unwrap().len(), 1);
    assert_eq!(metric(&verdict, "min_abs_dev"), &Value::Null);
    let wanted = AIRFLOW.inputs.unwrap()(&parameters(&AIRFLOW, json!({"normalise": "design_max"})));
    assert_eq!(wanted.optional, ["airflow_sp"]);
}

#[test]
fn a_reference_is_needed_for_shares_of_one() {
    let entry = crate::RuleCatalogue::shipped()
        .entry("cohort_airflow")
        .unwrap();
    let mut given = Parameters::of(entry);
    let set = json!({"normalise": "reference"});
    given.set(entry, set.as_object().unwrap(), &[]).unwrap();
    assert!(check(&given).unwrap_err().to_string().contains("reference"));
    let tables = cohort("airflow", &[100.0, 50.0, 51.0, 49.0, 10.0]);
    let map = json!({"V1": "V0", "V2": "V0", "V3": "V0", "V4": "V0"});
    let set = json!({"normalise": "reference", "reference": map});
    let verdict = run_fleet(&AIRFLOW, &tables, set).unwrap();
    assert_eq!(metric(&verdict, "outliers"), &json!(["V4"]));
    assert_eq!(metric(&verdict, "n"), &json!(4));
}
