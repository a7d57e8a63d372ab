//! The worked values of Engine §3.10: hourly from 2024-03-01 00:00, 240 h unless said.

use std::f64::consts::PI;

use super::*;
use crate::numeric::{round, share_of};
use crate::wall_clock::{DAY, HOUR, MINUTE, parse_bound};

const NONE: f64 = f64::NAN;

type Value<'a> = &'a dyn Fn(usize) -> f64;

fn every(step: i64, rows: usize, columns: &[(&str, Value<'_>)]) -> RoleFrame {
    let start = parse_bound("2024-03-01").unwrap();
    RoleFrame {
        equip: "EQ".to_owned(),
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

fn hourly(rows: usize, columns: &[(&str, Value<'_>)]) -> RoleFrame {
    every(HOUR, rows, columns)
}

fn wave(row: usize) -> f64 {
    (2.0 * PI * share_of(row) / 24.0).sin()
}

fn sine(row: usize) -> f64 {
    60.0 + 10.0 * wave(row)
}

fn by_day(row: usize) -> bool {
    (7..18).contains(&(row % 24))
}

fn flag(on: bool) -> f64 {
    f64::from(u8::from(on))
}

fn point(frame: &RoleFrame, view: View, role: &str) -> PointTrust {
    scores(frame, view)
        .into_iter()
        .find(|point| point.role == role)
        .unwrap()
}

/// Trust and flags of the only point.
fn of(rows: usize, role: &str, value: Value<'_>) -> (f64, Vec<&'static str>) {
    let point = point(&hourly(rows, &[(role, value)]), View::Rules, role);
    assert_eq!(point.verdict, TrustVerdict::of(point.trust));
    (point.trust, point.flags)
}

#[test]
fn single_points_score_as_worked() {
    let cases: Vec<(&str, usize, Value<'_>, f64, &[&str])> = vec![
        ("oat", 240, &sine, 0.9992, &[]),
        ("oat", 240, &|_| 55.0, 0.0, &["stuck"]),
        ("supply_air_temp", 240, &|_| 55.0, 0.4, &["stuck"]),
        ("cool_sp", 240, &|_| 55.0, 0.8, &[]),
        (
            "oat",
            240,
            &|row| if row % 2 == 0 { NONE } else { sine(row) },
            0.5004,
            &["low_coverage"],
        ),
        (
            "oat",
            240,
            &|row| if row % 20 == 0 { -999.0 } else { sine(row) },
            0.7643,
            &["out_of_range"],
        ),
        (
            "oat",
            240,
            &|row| if row < 60 { NONE } else { sine(row) },
            0.9989,
            &["late_start"],
        ),
        (
            "oat",
            240,
            &|row| {
                if (100..130).contains(&row) {
                    61.0
                } else {
                    sine(row)
                }
            },
            0.75,
            &["stuck"],
        ),
        ("supply_fan_status", 360, &|_| 1.0, 0.75, &["never_changes"]),
        ("pump_status", 360, &|_| 1.0, 0.8, &["never_changes"]),
        (
            "airflow",
            240,
            &|row| 50.0 + 50.0 * wave(row),
            0.9992,
            &["scale_suspect"],
        ),
        (
            "power",
            240,
            &|row| {
                if by_day(row) {
                    100.0 + share_of((row % 24) % 5)
                } else {
                    0.0
                }
            },
            0.9892,
            &["intermittent"],
        ),
        (
            "co2",
            240,
            &|row| 350.0 + 20.0 * wave(row),
            0.9992,
            &["below_ambient"],
        ),
        ("oat", 1, &|_| 60.0, 0.4, &["stuck"]),
        ("oat", 0, &sine, 0.0, &["low_coverage"]),
        ("oat", 48, &|_| NONE, 0.0, &["low_coverage"]),
    ];
    for (role, rows, value, trust, flags) in cases {
        assert_eq!(
            of(rows, role, value),
            (trust, flags.to_vec()),
            "{role} of {rows} rows, expected {trust}"
        );
    }
}

#[test]
fn the_figures_beside_the_score_are_those_worked() {
    let held = hourly(
        240,
        &[("oat", &|row| {
            if (100..130).contains(&row) {
                61.0
            } else {
                sine(row)
            }
        })],
    );
    let held = point(&held, View::Rules, "oat");
    assert_eq!(
        (held.flatline_frac, held.longest_flat_hours),
        (0.125, Some(30.0))
    );
    assert_eq!(held.stuck.len(), 1);
    assert_eq!((held.stuck[0].hours, held.stuck[0].value), (30.0, 61.0));

    let late = hourly(
        240,
        &[("oat", &|row| if row < 60 { f64::NAN } else { sine(row) })],
    );
    let late = point(&late, View::Rules, "oat");
    assert_eq!((late.coverage, late.window_coverage), (1.0, 0.75));
    assert_eq!(late.first_valid, parse_bound("2024-03-03T12:00"));

    let still = point(
        &hourly(240, &[("supply_air_temp", &|_| 55.0)]),
        View::Rules,
        "supply_air_temp",
    );
    assert_eq!(
        (still.longest_flat_hours, still.range_violation_frac),
        (None, Some(0.0))
    );
    let empty = point(&hourly(48, &[("oat", &|_| f64::NAN)]), View::Rules, "oat");
    assert_eq!((empty.n, empty.range_violation_frac), (0, None));
}

#[test]
fn rows_of_another_year_are_left_out() {
    // Noise of its own day, so that the peaks of the days are no limit of the sensor.
    let outdoors = |row: usize| sine(row) + 0.3 * (share_of(row) * 0.61).sin();
    let mut frame = hourly(603, &[("oat", &outdoors)]);
    let stray = parse_bound("2023-01-10").unwrap();
    for (row, stamp) in frame.stamps.iter_mut().take(3).enumerate() {
        *stamp = stray + i64::try_from(row).unwrap() * HOUR;
    }
    let lead = point(&frame, View::Rules, "oat");
    assert_eq!(
        (lead.trust, lead.n, lead.flags.as_slice()),
        (0.9997, 600, ["stray_lead"].as_slice())
    );
    assert_eq!(lead.stray.unwrap().samples, 3);

    let mut frame = hourly(603, &[("oat", &outdoors)]);
    for stamp in frame.stamps.iter_mut().skip(600) {
        *stamp += 400 * DAY;
    }
    let tail = point(&frame, View::Rules, "oat");
    assert_eq!(
        (tail.n, tail.flags.as_slice()),
        (600, ["stray_tail"].as_slice())
    );
}

#[test]
fn a_status_between_on_and_off_is_no_status() {
    let frame = every(
        15 * MINUTE,
        240,
        &[("supply_fan_status", &|row| {
            if row % 2 == 0 { 1.0 } else { 0.5 }
        })],
    );
    let status = point(&frame, View::Rules, "supply_fan_status");
    assert_eq!(
        (status.trust, status.flags.as_slice()),
        (0.75, ["fractional_status"].as_slice())
    );
    assert_eq!(status.state_changes, Some(0));
}

#[test]
fn pressure_without_a_fan_loses_trust() {
    let frame = hourly(
        240,
        &[
            ("supply_fan_status", &|row| flag(by_day(row))),
            ("duct_static", &|row| {
                if by_day(row) {
                    1.5 + 0.1 * (share_of(row) * 0.7).sin()
                } else {
                    1.2
                }
            }),
        ],
    );
    let pressure = point(&frame, View::Rules, "duct_static");
    assert!(
        pressure.flags.contains(&"implausible_fan_off"),
        "{pressure:?}"
    );
    // 130 of 240 samples are wrong.
    assert_eq!(pressure.verdict, TrustVerdict::Untrusted);
    assert_eq!(pressure.frame_checks[0].check, "fan_off_pressure");
}

#[test]
fn status_and_speed_that_disagree_are_both_named() {
    let frame = hourly(
        240,
        &[
            ("supply_fan_status", &|row| flag(by_day(row))),
            ("supply_fan_speed", &|row| {
                if by_day(row) { 60.0 } else { 30.0 }
            }),
        ],
    );
    let status = point(&frame, View::Rules, "supply_fan_status");
    assert_eq!(
        (
            status.trust,
            status.flags.contains(&"status_speed_mismatch")
        ),
        (0.75, true)
    );
    let speed = point(&frame, View::Rules, "supply_fan_speed");
    assert_eq!(speed.trust, 0.9892);
    assert!(speed.flags.contains(&"status_speed_mismatch"));
}

#[test]
fn points_that_stand_still_together_are_both_named() {
    let hold = |row: usize| if (100..114).contains(&row) { 100 } else { row };
    let frame = hourly(
        240,
        &[
            ("oat", &move |row| sine(hold(row))),
            ("space_temp", &move |row| 70.0 + 2.0 * wave(hold(row) + 3)),
        ],
    );
    for role in ["oat", "space_temp"] {
        let point = point(&frame, View::Rules, role);
        assert_eq!(
            (point.trust, point.flags.as_slice()),
            (0.75, ["all_points_frozen"].as_slice())
        );
        assert!(point.frame_checks[0].explanation.contains("14 h"));
    }
}

#[test]
fn a_copy_of_another_point_is_named_on_both_when_nothing_tells_which() {
    let frame = hourly(
        240,
        &[
            ("supply_air_temp", &|row| 60.0 + 5.0 * wave(row)),
            ("return_air_temp", &|row| {
                if (80..160).contains(&row) {
                    60.0 + 5.0 * wave(row)
                } else {
                    72.0 + 2.0 * wave(row + 5)
                }
            }),
        ],
    );
    for role in ["supply_air_temp", "return_air_temp"] {
        let point = point(&frame, View::Rules, role);
        assert!(point.flags.contains(&"copied_signal"), "{point:?}");
        assert!(point.trust <= 0.75);
    }
}

#[test]
fn a_long_copy_is_told_by_the_jump_of_its_level() {
    let frame = hourly(
        1000,
        &[
            ("supply_air_temp", &|row| 60.0 + 5.0 * wave(row)),
            ("return_air_temp", &|row| {
                if (300..700).contains(&row) {
                    60.0 + 5.0 * wave(row)
                } else {
                    72.0 + 2.0 * wave(row + 5)
                }
            }),
        ],
    );
    let copied = point(&frame, View::Rules, "return_air_temp");
    assert!(copied.frame_checks[0].explanation.contains("is the copy"));
    let own = point(&frame, View::Rules, "supply_air_temp");
    assert!(own.frame_checks.is_empty() && own.trust > 0.99);
    // 400 of its 1000 samples, more or less where the curves meet.
    assert!(copied.trust < 0.61, "{}", copied.trust);
}

#[test]
fn a_chilled_water_temperature_counts_while_the_chiller_runs() {
    let water = |row: usize| {
        if by_day(row) {
            44.0 + 0.3 * (share_of(row) * 1.3).sin()
        } else {
            70.0
        }
    };
    let frame = hourly(
        240,
        &[
            ("chw_supply_temp", &water),
            ("power", &|row| if by_day(row) { 200.0 } else { 3.0 }),
        ],
    );
    let gated = point(&frame, View::Rules, "chw_supply_temp");
    assert_eq!(gated.run_gate, Some("chiller power proxy"));
    assert!(gated.trust > 0.99 && gated.flags.is_empty(), "{gated:?}");
    let alone = point(
        &hourly(240, &[("chw_supply_temp", &water)]),
        View::Rules,
        "chw_supply_temp",
    );
    assert!(
        alone.flags.contains(&"bimodal") && alone.run_gate.is_none(),
        "{alone:?}"
    );
}

#[test]
fn the_report_judges_duct_temperatures_while_the_fan_runs() {
    let frame = hourly(
        240,
        &[
            ("supply_fan_status", &|row| flag(by_day(row))),
            ("supply_air_temp", &|row| {
                if by_day(row) {
                    55.0 + (share_of(row) * 0.9).sin()
                } else {
                    68.0
                }
            }),
        ],
    );
    let rules = point(&frame, View::Rules, "supply_air_temp");
    let report = point(&frame, View::Report, "supply_air_temp");
    assert_eq!(rules.flatline_frac, round(13.0 / 240.0, 4));
    assert_eq!(report.flatline_frac, round(1.0 / 110.0, 4));
    assert!(report.trust > rules.trust);
    assert_eq!(
        (rules.longest_flat_hours, report.longest_flat_hours),
        (None, Some(1.0))
    );
}

#[test]
fn a_unit_without_a_fan_signal_is_judged_by_its_modes_in_reports() {
    let frame = hourly(
        240,
        &[
            ("oa_damper", &|row| if by_day(row) { 30.0 } else { 0.0 }),
            ("cool_valve", &|row| if by_day(row) { 40.0 } else { 0.0 }),
            ("supply_air_temp", &|row| {
                if by_day(row) {
                    55.0 + wave(row)
                } else {
                    72.0 + 0.2 * wave(row)
                }
            }),
        ],
    );
    let report = point(&frame, View::Report, "supply_air_temp");
    assert_eq!(report.mode_outlier_frac, Some(0.0));
    assert_eq!(
        point(&frame, View::Rules, "supply_air_temp").mode_outlier_frac,
        None
    );
}

#[test]
fn a_clipped_sensor_is_named() {
    let frame = hourly(
        240,
        &[("space_temp", &|row| (70.0 + 15.0 * wave(row)).min(80.0))],
    );
    let point = point(&frame, View::Rules, "space_temp");
    assert!(point.flags.contains(&"clipped"));
    assert!(point.frame_checks[0].explanation.contains("high end 80"));
}

mod hostile {
    use proptest::prelude::*;

    use super::*;

    const ROLES: [&str; 14] = [
        "oat",
        "supply_air_temp",
        "mixed_air_temp",
        "return_air_temp",
        "airflow",
        "oa_airflow",
        "duct_static",
        "supply_fan_status",
        "supply_fan_speed",
        "oa_damper",
        "cool_valve",
        "chw_supply_temp",
        "power",
        "no_role",
    ];

    fn sample() -> impl Strategy<Value = f64> {
        prop_oneof![
            4 => -50.0..150.0_f64,
            2 => Just(f64::NAN),
            2 => Just(1.0),
            1 => Just(0.0),
            1 => Just(f64::INFINITY),
            1 => Just(f64::NEG_INFINITY),
            1 => Just(1e300),
            1 => Just(-1e300),
        ]
    }

    fn frames() -> impl Strategy<Value = RoleFrame> {
        (0..80_usize).prop_flat_map(|rows| {
            let stamp = prop_oneof![any::<i64>(), (0..400_i64).prop_map(|hour| hour * HOUR)];
            let stamps = proptest::collection::vec(stamp, rows);
            let columns = proptest::collection::btree_map(
                proptest::sample::select(&ROLES[..]).prop_map(str::to_owned),
                proptest::collection::vec(sample(), rows),
                0..ROLES.len(),
            );
            (stamps, columns, any::<bool>()).prop_map(|(mut stamps, columns, sorted)| {
                if sorted {
                    stamps.sort_unstable();
                }
                RoleFrame {
                    stamps,
                    columns,
                    ..RoleFrame::default()
                }
            })
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]
        #[test]
        fn no_frame_stops_the_scores(frame in frames()) {
            for view in [View::Rules, View::Report] {
                let points = scores(&frame, view);
                prop_assert_eq!(points.len(), frame.columns.len());
                for point in points {
                    prop_assert!((0.0..=1.0).contains(&point.trust), "{:?}", point);
                    prop_assert_eq!(point.verdict, TrustVerdict::of(point.trust));
                }
            }
        }
    }
}
