//! The executed examples of the specification (Drift §8).

mod air_side;
mod baselines;
mod gaps;
mod machines;
mod pumps;

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
