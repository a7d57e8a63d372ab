use serde_json::json;

use super::*;
use crate::frame::RoleFrame;
use crate::rules::testing::{every, judge as judged_samples, run};
use crate::wall_clock::MINUTE;

/// A valve that jumps between 20 and 80 % every so many samples.
fn jumping(step: i64, rows: usize, each: usize, fan: bool) -> RoleFrame {
    let valve = |row: usize| {
        if (row / each).is_multiple_of(2) {
            20.0
        } else {
            80.0
        }
    };
    match fan {
        true => every(
            step,
            rows,
            &[("heat_valve", &valve), ("supply_fan_status", &|_| 1.0)],
        ),
        false => every(step, rows, &[("heat_valve", &valve)]),
    }
}

fn metric<'v>(verdict: &'v Verdict, name: &str) -> Option<&'v serde_json::Value> {
    verdict.metrics.get(name)
}

#[test]
fn a_valve_that_turns_back_every_three_minutes_hunts() {
    let table = jumping(MINUTE, 600, 3, false);
    let verdict = run(&RULE, &table, json!({})).unwrap();
    assert_eq!(verdict.severity, Severity::Fault);
    assert_eq!(metric(&verdict, "reversals"), Some(&json!(198)));
    assert_eq!(metric(&verdict, "reversals_per_hr"), Some(&json!(19.83)));
    assert_eq!(
        metric(&verdict, "max_resolvable_per_hr"),
        Some(&json!(60.0))
    );
    assert_eq!(metric(&verdict, "fan_on_hours"), None);
    assert_eq!(
        metric(&verdict, "_missing_optional"),
        Some(&json!([
            "cool_valve",
            "damper",
            "oa_damper",
            "supply_fan_status"
        ]))
    );
    assert_eq!(verdict.caveats.len(), 1);
    let judgement = judged_samples(&RULE, &table, json!({})).unwrap();
    assert_eq!(judgement.events[0].count, 198);
    assert_eq!(judgement.events[0].stamps.len(), 198);
    assert!(judgement.note.is_some());
}

#[test]
fn five_minute_samples_cannot_show_a_fault() {
    let verdict = run(&RULE, &jumping(5 * MINUTE, 288, 1, true), json!({})).unwrap();
    assert_eq!(verdict.severity, Severity::Warn);
    assert_eq!(metric(&verdict, "reversals"), Some(&json!(286)));
    assert_eq!(metric(&verdict, "reversals_per_hr"), Some(&json!(11.96)));
    assert_eq!(metric(&verdict, "fan_on_hours"), Some(&json!(23.92)));
    assert_eq!(metric(&verdict, "fault_reachable"), Some(&json!(false)));
    assert!(verdict.caveats[0].contains("capped"));
    let slower = run(&RULE, &jumping(8 * MINUTE, 200, 1, true), json!({})).unwrap();
    assert_eq!(metric(&slower, "reversals_per_hr"), Some(&json!(7.46)));
    assert_eq!(metric(&slower, "max_resolvable_per_hr"), Some(&json!(7.5)));
    assert_eq!(slower.severity, Severity::Warn);
}

#[test]
fn hourly_samples_are_not_judged() {
    let verdict = run(&RULE, &jumping(HOUR, 72, 1, false), json!({})).unwrap();
    assert_eq!(verdict.severity, Severity::Info);
    assert_eq!(
        metric(&verdict, "reversal_share_of_max"),
        Some(&json!(0.99))
    );
    assert_eq!(
        metric(&verdict, "reversals_per_hr"),
        Some(&serde_json::Value::Null)
    );
    assert_eq!(metric(&verdict, "fault_reachable"), None);
}

#[test]
fn a_fan_that_never_runs_and_nothing_that_modulates() {
    let mut table = jumping(MINUTE, 600, 3, true);
    table
        .columns
        .insert("supply_fan_status".to_owned(), vec![0.0; 600]);
    let verdict = run(&RULE, &table, json!({})).unwrap();
    assert_eq!(verdict.severity, Severity::Info);
    assert!(verdict.summary.contains("fan never ran"));
    let ungated = run(&RULE, &table, json!({"fan_gate": false})).unwrap();
    assert_eq!(ungated.severity, Severity::Fault);
    assert_eq!(metric(&ungated, "fan_gate"), Some(&json!("off")));
    let table = every(MINUTE, 600, &[("airflow", &|_| 500.0)]);
    let verdict = run(&RULE, &table, json!({})).unwrap();
    assert!(verdict.metrics.as_map().is_empty());
}

#[test]
fn a_gap_parts_two_runs() {
    let mut table = jumping(MINUTE, 60, 30, true);
    // The only reversal of 20 → 80 → 20 would lie across four missing minutes.
    table.columns.insert(
        "heat_valve".to_owned(),
        (0..60)
            .map(|row| match row {
                0..20 => 20.0,
                20..30 => 80.0,
                30..34 => f64::NAN,
                _ => 20.0,
            })
            .collect(),
    );
    let verdict = run(&RULE, &table, json!({})).unwrap();
    assert_eq!(metric(&verdict, "reversals"), Some(&json!(0)));
    let wide = run(&RULE, &table, json!({"gap_factor": 5})).unwrap();
    assert_eq!(metric(&wide, "reversals"), Some(&json!(1)));
}
