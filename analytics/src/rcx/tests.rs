//! Whole reports over frames.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::frame::RoleFrame;
use crate::run_config::{NoFiles, RuleRequest};
use crate::runner::{Run, Unscored};
use crate::wall_clock::{HOUR, parse_bound};

const THREADS: NonZeroUsize = NonZeroUsize::MIN;

/// Not SHA-1: the same length, and different for different texts.
fn digest(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}{hash:016x}{:08x}", bytes.len())
}

fn unit(equip: &str, class: &str, rows: usize, columns: Vec<(&str, Vec<f64>)>) -> RunFrame {
    let start = parse_bound("2024-06-03").expect("a time");
    let table = RoleFrame {
        equip: equip.to_owned(),
        equip_class: class.to_owned(),
        stamps: (0..rows)
            .map(|row| start + i64::try_from(row).expect("few rows") * HOUR)
            .collect(),
        columns: columns
            .into_iter()
            .map(|(role, values)| (role.to_owned(), values))
            .collect(),
    };
    RunFrame::of_resampled(table, &[])
}

fn config(content: Value) -> RunConfig {
    let Value::Object(content) = content else {
        panic!("an object");
    };
    RunConfig::read(content, &NoFiles).expect("a configuration")
}

/// The report of a configuration over frames, without comparisons.
fn report(config: &RunConfig, frames: &[RunFrame]) -> Report {
    let rules = config.chosen_rules(RuleRequest::default()).expect("rules");
    let topology = config.topology.as_ref().map(|declared| {
        declared
            .resolved(frames.iter().map(RunFrame::equip))
            .topology
    });
    let outcome = Run {
        rules: &rules,
        frames,
        topology: topology.as_ref(),
        floor: None,
        trust: &Unscored,
        threads: THREADS,
        cancelled: &|| false,
    }
    .outcome()
    .expect("no cancel");
    Report::of(&ReportInput {
        facility: "hq",
        site: "Headquarters",
        config,
        rules: &rules,
        frames,
        outcome: &outcome,
        comparisons: &Comparisons::default(),
        drift: &[],
        topology: topology.as_ref(),
        from_store: true,
        words: &PlainWords,
        sha1: &digest,
        threads: THREADS,
        cancelled: &|| false,
    })
    .expect("no cancel")
}

const ROWS: usize = 24 * 28;

/// A value by the hour of the day and whether the hour is a weekday's between 06:00 and 18:00.
fn hourly(value: impl Fn(usize, bool) -> f64) -> Vec<f64> {
    (0..ROWS)
        .map(|row| {
            let hour = row % 24;
            value(row, row / 24 % 7 < 5 && (6..18).contains(&hour))
        })
        .collect()
}

fn wiggle(row: usize) -> f64 {
    // Never the same twice running, so that nothing reads stuck.
    crate::numeric::share_of(row * 7919 % 101) / 200.0
}

/// An air handler whose supply air is some degrees above its setpoint while it runs.
fn air_handler(equip: &str, excess: f64) -> RunFrame {
    unit(
        equip,
        "AHU",
        ROWS,
        vec![
            ("supply_fan_status", hourly(|_, on| f64::from(u8::from(on)))),
            (
                "supply_air_temp_sp",
                hourly(|row, _| 55.0 + wiggle(row / 24)),
            ),
            (
                "supply_air_temp",
                hourly(|row, on| if on { 55.0 + excess } else { 70.0 } + wiggle(row)),
            ),
        ],
    )
}

/// A zone that is too warm while a condition holds.
fn zone(equip: &str, is_warm: impl Fn(usize, bool) -> bool) -> RunFrame {
    unit(
        equip,
        "VAV",
        ROWS,
        vec![
            (
                "space_temp",
                hourly(|row, on| if is_warm(row, on) { 79.0 } else { 73.0 } + wiggle(row)),
            ),
            ("cool_sp", hourly(|row, _| 74.0 + wiggle(row / 24) / 10.0)),
            ("heat_sp", hourly(|row, _| 70.0 + wiggle(row / 24) / 10.0)),
        ],
    )
}

fn chained(topology: Value) -> RunConfig {
    config(json!({
        "site": "hq",
        "equipment": [{"class": "AHU"}, {"class": "VAV"}],
        "rules": ["supply_air_control", "unmet_setpoint_hours", "chw_supply_tracking"],
        "topology": topology,
        "report": {"rcx": {"top_n": 5}},
    }))
}

#[test]
fn zones_that_are_warm_with_their_air_handler_are_one_issue_with_it() {
    let frames = [
        air_handler("AHU-1", 8.0),
        zone("VAV-1", |_, on| on),
        // Warm only in the morning before the fan of the air handler runs.
        zone("VAV-2", |row, _| row % 24 == 18),
        zone("VAV-3", |_, on| on),
    ];
    let config = chained(json!({"parents": {"VAV-1": "AHU-1", "VAV-2": "AHU-1"}}));
    let report = report(&config, &frames);
    let told: Vec<(&str, Vec<&str>)> = report
        .issues
        .iter()
        .map(|issue| {
            let equips = issue
                .members
                .iter()
                .map(|member| member.equip.as_str())
                .collect();
            (issue.equip.as_str(), equips)
        })
        .collect();
    assert!(
        told.contains(&("AHU-1", vec!["AHU-1", "VAV-1"])),
        "{told:?}"
    );
    assert!(told.contains(&("VAV-3", vec!["VAV-3"])), "{told:?}");
    let chain = report
        .issues
        .iter()
        .find(|issue| issue.equip == "AHU-1")
        .expect("the air handler's");
    let line = chain
        .why
        .iter()
        .find(|line| line.starts_with("Supply air too warm explains 1 of 2"))
        .expect("a line of the chain");
    assert!(line.contains("unmet_setpoint_hours"), "{line}");
    assert_eq!(chain.cause, "supply air is warmer than its setpoint");
    // Members are the same hours: 12 h of each of 20 weekdays, while the fan runs.
    assert_eq!((chain.hours, chain.pct_runtime), (Some(240.0), Some(100.0)));
    let gap = report
        .index
        .iter()
        .find(|entry| entry.kind == "chain_gap")
        .expect("a zone that nothing links");
    assert_eq!(
        (gap.id.as_str(), &gap.data["equips"]),
        ("G1@appA", &json!(["VAV-3"]))
    );
}

#[test]
fn warm_chilled_water_is_linked_to_warm_supply_air() {
    let running = hourly(|_, on| f64::from(u8::from(on)));
    let chiller = unit(
        "CH-1",
        "CHILLER",
        ROWS,
        vec![
            ("compressor_status", running),
            (
                "chw_supply_temp_sp",
                hourly(|row, _| 44.0 + wiggle(row / 24)),
            ),
            (
                "chw_supply_temp",
                hourly(|row, on| if on { 52.0 } else { 68.0 } + wiggle(row)),
            ),
            (
                "chw_return_temp",
                hourly(|row, on| if on { 58.0 } else { 68.5 } + wiggle(row)),
            ),
        ],
    );
    let frames = [air_handler("AHU-1", 8.0), chiller];
    let stated = config(json!({
        "site": "hq",
        "equipment": [{"class": "AHU"}, {"class": "CHILLER"}],
        "rules": ["supply_air_control", "chw_supply_tracking"],
        "topology": {"parents": {"AHU-1": "CH-1"}},
    }));
    let report = report(&stated, &frames);
    let of = |equip: &str| {
        report
            .issues
            .iter()
            .find(|issue| issue.equip == equip)
            .unwrap_or_else(|| panic!("an issue of {equip} in {:?}", report.issues))
    };
    let upstream = of("AHU-1").why.last().expect("a reason");
    assert!(
        upstream.starts_with("Upstream: chw_supply_tracking of \"CH-1\"")
            && upstream.contains("the topology states"),
        "{upstream}"
    );
    let downstream = of("CH-1").why.last().expect("a reason");
    assert!(
        downstream.starts_with("Downstream: supply_air_control of \"AHU-1\""),
        "{downstream}"
    );
    let links: Vec<&str> = report
        .index
        .iter()
        .filter(|entry| entry.kind == "link")
        .filter_map(|entry| entry.issue.as_deref())
        .collect();
    let keys: BTreeSet<&str> = report
        .issues
        .iter()
        .map(|issue| issue.key.as_str())
        .collect();
    assert_eq!(links.into_iter().collect::<BTreeSet<_>>(), keys);
}

#[test]
fn what_a_plant_lacks_while_the_air_handler_stands_does_not_count() {
    // Warm for eight hours of every night, and for two of the twelve that the fan runs.
    let is_warm = |row: usize| matches!(row % 24, 20..|0..4| 6..8);
    let chiller = unit(
        "CH-1",
        "CHILLER",
        ROWS,
        vec![
            ("compressor_status", vec![1.0; ROWS]),
            (
                "chw_supply_temp_sp",
                hourly(|row, _| 44.0 + wiggle(row / 24)),
            ),
            (
                "chw_supply_temp",
                hourly(|row, _| if is_warm(row) { 52.0 } else { 44.0 } + wiggle(row)),
            ),
        ],
    );
    let declared = config(json!({
        "site": "hq",
        "equipment": [{"class": "AHU"}, {"class": "CHILLER"}],
        "rules": ["supply_air_control", "chw_supply_tracking"],
    }));
    let report = report(&declared, &[air_handler("AHU-1", 8.0), chiller]);
    let issue = report.issues.iter().find(|issue| issue.equip == "AHU-1");
    let why = issue.expect("an issue").why.last().expect("a reason");
    assert!(
        why.starts_with("Upstream: ") && why.contains("100 % of the plant's"),
        "{why}"
    );
}

#[test]
fn a_report_without_data_is_a_report() {
    let config = config(
        json!({"site": "hq", "rules": ["supply_air_control"], "report": {"rcx": {"title": "Review"}}}),
    );
    let empty = report(&config, &[]);
    assert_eq!(
        (empty.title.as_str(), &empty.period),
        ("Review", &["None", "None"].map(str::to_owned))
    );
    assert_eq!(empty.kpis, Kpis::default());
    let ids: Vec<&str> = empty
        .sections
        .iter()
        .map(|section| section.id.as_str())
        .collect();
    assert_eq!(
        ids,
        [
            "cover",
            "summary",
            "data",
            "week",
            "appendix-a",
            "appendix-b",
            "appendix-c",
            "appendix-d",
            "appendix-e"
        ]
    );
    assert_eq!(
        empty
            .index
            .iter()
            .filter(|entry| entry.kind == "assumption")
            .count(),
        13
    );
}

#[test]
fn sections_are_those_that_are_asked_for() {
    let config = config(json!({
        "site": "hq", "equipment": [{"class": "AHU"}], "rules": ["supply_air_control"],
        "report": {"rcx": {"sections": ["issues", "sat", "verify"]}},
    }));
    let report = report(&config, &[air_handler("AHU-1", 8.0)]);
    let ids: Vec<&str> = report
        .sections
        .iter()
        .map(|section| section.id.as_str())
        .collect();
    let issue = format!("issue-{}", report.issues[0].key);
    assert_eq!(ids, ["sat", issue.as_str(), "verify"]);
    assert_eq!(
        report.sections[1].title,
        "Issue 1: supply air is warmer than its setpoint"
    );
}

#[test]
fn every_id_of_the_index_is_its_own() {
    let frames = [
        air_handler("AHU-1", 8.0),
        zone("VAV-1", |_, on| on),
        zone("VAV-2", |_, on| !on),
    ];
    let report = report(&chained(json!({"parents": {"VAV-1": "AHU-1"}})), &frames);
    let ids: BTreeSet<&str> = report.index.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(ids.len(), report.index.len());
    assert!(report.index.iter().all(|entry| entry.text.ends_with('.')));
    assert_eq!(report.index[0].text, "1 issue is ranked.");
}

/// Values that no trend should have, among some that one has.
fn sample() -> impl Strategy<Value = f64> {
    prop_oneof![
        3 => 0.0..110.0,
        1 => Just(f64::NAN),
        1 => prop_oneof![Just(f64::INFINITY), Just(-1e300), Just(1e300), Just(0.0), Just(-0.0)],
    ]
}

const ROLES: [&str; 14] = [
    "oat",
    "supply_air_temp",
    "supply_air_temp_sp",
    "mixed_air_temp",
    "return_air_temp",
    "oa_damper",
    "cool_valve",
    "heat_valve",
    "supply_fan_status",
    "duct_static",
    "space_temp",
    "cool_sp",
    "airflow",
    "chw_supply_temp",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_input_panics(
        rows in prop_oneof![Just(0_usize), Just(1), 30..80_usize],
        values in proptest::collection::vec(sample(), 64),
        roles in proptest::collection::vec(proptest::sample::subsequence(ROLES.to_vec(), 0..ROLES.len()), 1..5),
        capacity in prop_oneof![Just(0.0), Just(1e300), 1.0..1e4],
    ) {
        let classes = ["AHU", "VAV", "CHILLER", "LOGGER"];
        let frames: Vec<RunFrame> = roles
            .iter()
            .zip(classes)
            .enumerate()
            .map(|(number, (roles, class))| {
                let columns = roles
                    .iter()
                    .enumerate()
                    .map(|(place, role)| {
                        let of_row = |row: usize| values[(row * 5 + place * 11 + number) % values.len()];
                        (*role, (0..rows).map(of_row).collect())
                    })
                    .collect();
                unit(&format!("E{number}"), class, rows, columns)
            })
            .collect();
        let config = config(json!({
            "site": "hq",
            "topology": {"parents": {"E1": "E0", "E0": "E2", "E3": "E0"}},
            "report": {"rcx": {"loads": {"E0": {"heating_capacity_kbtuh": capacity, "annual_hours": capacity}},
                "sequence": {"sat_reset": {"oat": [50, 70], "sat": [65, 55]}}}},
        }));
        let report = report(&config, &frames);
        prop_assert_eq!(report.kpis.n_issues, report.issues.len());
        for (place, issue) in report.issues.iter().enumerate() {
            prop_assert_eq!(issue.rank, place + 1);
        }
    }
}
