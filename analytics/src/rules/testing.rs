//! What the worked examples of the specification are built from.

use serde_json::Value;

use super::{Analysis, FleetFrames, RuleCode};
use crate::RuleCatalogue;
use crate::finding::{Judgement, Verdict};
use crate::frame::{Frame, RoleFrame};
use crate::parameters::Parameters;
use crate::wall_clock::{HOUR, parse_bound};

/// What stands in a column of hostile frames: ordinary readings beside everything that breaks arithmetic.
pub(crate) const HOSTILE: [f64; 16] = [
    f64::NAN,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    1e300,
    -1e300,
    5e-324,
    0.0,
    -0.0,
    0.5,
    1.0,
    55.0,
    72.5,
    80.0,
    100.0,
    450.0,
];

/// Hourly stamps from a date on, in order or backwards.
pub(crate) fn hours_from(date: &str, rows: usize, is_sorted: bool) -> Vec<i64> {
    let start = parse_bound(date).unwrap();
    let mut stamps: Vec<i64> = (0..)
        .take(rows)
        .map(|row: i64| start + row * HOUR)
        .collect();
    if !is_sorted {
        stamps.reverse();
    }
    stamps
}

/// A column: its role, and its value by the number of the sample.
pub(crate) type Column<'a> = (&'a str, &'a dyn Fn(usize) -> f64);

/// "W": 168 hourly samples from Monday 2024-03-04 00:00.
pub(crate) fn week(columns: &[Column<'_>]) -> RoleFrame {
    hourly(168, columns)
}

/// Hourly samples from Monday 2024-03-04 00:00; 72 of them are the "D3" of the specification.
pub(crate) fn hourly(rows: usize, columns: &[Column<'_>]) -> RoleFrame {
    every(HOUR, rows, columns)
}

/// Samples in equal steps from Monday 2024-03-04 00:00.
pub(crate) fn every(step: i64, rows: usize, columns: &[Column<'_>]) -> RoleFrame {
    let start = parse_bound("2024-03-04").unwrap();
    RoleFrame {
        equip: "EQ-1".to_owned(),
        stamps: (0..rows)
            .map(|row| start + i64::try_from(row).unwrap() * step)
            .collect(),
        columns: columns
            .iter()
            .map(|(role, value)| ((*role).to_owned(), (0..rows).map(value).collect()))
            .collect(),
        ..RoleFrame::default()
    }
}

/// The same frame as another equipment of a class.
pub(crate) fn named(equip: &str, class: &str, table: RoleFrame) -> RoleFrame {
    RoleFrame {
        equip: equip.to_owned(),
        equip_class: class.to_owned(),
        ..table
    }
}

/// Whether hour `row` of "W" lies in weekdays 07:00 to 18:00.
pub(crate) fn is_occupied(row: usize) -> bool {
    row / 24 % 7 < 5 && (7..18).contains(&(row % 24))
}

/// The parameters of a rule with these set.
pub(crate) fn parameters(rule: &RuleCode, set: Value) -> Parameters {
    let entry = RuleCatalogue::shipped().entry(rule.id).unwrap();
    let mut parameters = Parameters::of(entry);
    let set = set.as_object().unwrap();
    parameters.set(entry, set, &entry.non_tunable_args).unwrap();
    if let Some(check) = rule.check {
        check(&parameters).unwrap();
    }
    parameters
}

/// Runs a rule of one equipment.
pub(crate) fn run(rule: &RuleCode, table: &RoleFrame, set: Value) -> Option<Verdict> {
    match rule.analysis {
        Analysis::Equipment(analyse) => analyse(&Frame::whole(table), &parameters(rule, set)),
        Analysis::Fleet(_) => panic!("{} is a rule of a fleet", rule.id),
    }
}

/// Runs a rule of a fleet, without topology.
pub(crate) fn run_fleet(rule: &RuleCode, tables: &[RoleFrame], set: Value) -> Option<Verdict> {
    let fleet = FleetFrames {
        frames: tables.iter().map(Frame::whole).collect(),
        topology: None,
    };
    match rule.analysis {
        Analysis::Fleet(analyse) => analyse(&fleet, &parameters(rule, set)),
        Analysis::Equipment(_) => panic!("{} is a rule of one equipment", rule.id),
    }
}

/// The samples behind a verdict.
pub(crate) fn judge(rule: &RuleCode, table: &RoleFrame, set: Value) -> Option<Judgement> {
    rule.judge.unwrap()(&Frame::whole(table), &parameters(rule, set))
}
