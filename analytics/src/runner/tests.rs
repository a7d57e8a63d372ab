use super::*;
use crate::frame::RoleFrame;
use crate::run_config::{RuleEntry, RuleRequest, chosen};
use crate::run_frame::SharedPoint;
use crate::wall_clock::HOUR;

const ONE: NonZeroUsize = NonZeroUsize::MIN;

fn frame(equip: &str, class: &str, columns: &[(&str, f64)], shared: &[SharedPoint]) -> RunFrame {
    let table = RoleFrame {
        equip: equip.to_owned(),
        equip_class: class.to_owned(),
        stamps: match columns.is_empty() {
            true => Vec::new(),
            false => (0..48).map(|row| row * HOUR).collect(),
        },
        columns: columns
            .iter()
            .map(|(role, value)| ((*role).to_owned(), vec![*value; 48]))
            .collect(),
    };
    RunFrame::of_resampled(table, shared)
}

fn outdoor() -> SharedPoint {
    SharedPoint {
        role: "oat".to_owned(),
        stamps: (0..48).map(|row| row * HOUR).collect(),
        values: vec![50.0; 48],
    }
}

const SUPPLY: [(&str, f64); 3] = [
    ("supply_air_temp", 60.0),
    ("supply_air_temp_sp", 55.0),
    ("supply_fan_status", 1.0),
];

fn rules(entries: &[Value]) -> Vec<ChosenRule> {
    let entries: Vec<RuleEntry> = entries
        .iter()
        .map(|value| RuleEntry::read(value, "rules").unwrap())
        .collect();
    chosen(&entries, None, RuleRequest::default()).unwrap()
}

struct Told(fn(usize, &str) -> Option<f64>);

impl TrustScores for Told {
    fn score(&self, place: usize, role: &str) -> Option<f64> {
        (self.0)(place, role)
    }
}

fn run(rules: &[ChosenRule], frames: &[RunFrame]) -> RunOutcome {
    scored(rules, frames, &Unscored)
}

fn scored(rules: &[ChosenRule], frames: &[RunFrame], trust: &dyn TrustScores) -> RunOutcome {
    Run {
        rules,
        frames,
        topology: None,
        floor: Some(0.5),
        trust,
        threads: ONE,
        cancelled: &|| false,
    }
    .outcome()
    .unwrap()
}

fn ids(outcome: &RunOutcome) -> Vec<&str> {
    outcome
        .worst_first()
        .iter()
        .map(|finding| finding.id.as_str())
        .collect()
}

#[test]
fn an_equipment_of_two_entries_has_two_findings() {
    let frames = [
        frame("AHU-1", "AHU", &SUPPLY, &[]),
        frame("AHU-1", "AHU", &SUPPLY, &[]),
    ];
    let outcome = run(&rules(&[json!("supply_air_control")]), &frames);
    assert_eq!(
        ids(&outcome),
        ["supply_air_control@AHU-1", "supply_air_control@AHU-1#2"]
    );
    assert_eq!((outcome.counts().fault, outcome.n_equipment), (2, 2));
    let finding = outcome.finding("supply_air_control@AHU-1").unwrap();
    assert_eq!(
        finding.verdict.metrics.get("_missing_optional"),
        Some(&json!(["supply_fan_speed", "occupancy"]))
    );
}

#[test]
fn another_family_declines_and_an_unknown_class_goes_by_its_roles() {
    let frames = [
        frame("CH-1", "CHILLER", &SUPPLY, &[]),
        frame("X-1", "WIDGET", &SUPPLY, &[]),
        frame("A-1", "", &SUPPLY, &[]),
    ];
    let outcome = run(&rules(&[json!("supply_air_control")]), &frames);
    let declined = outcome.finding("supply_air_control@CH-1").unwrap();
    assert!(declined.is_declined() && declined.untrusted.is_empty());
    assert_eq!(declined.severity(), Severity::Info);
    let metrics = &declined.verdict.metrics;
    assert_eq!(metrics.get("equip_family"), Some(&json!("chw_plant")));
    assert_eq!(
        metrics.get("applies_to_classes"),
        Some(&json!(["air_handler"]))
    );
    assert_eq!(metrics.get("_missing_optional"), None);
    let unknown = outcome.finding("supply_air_control@X-1").unwrap();
    assert_eq!(unknown.severity(), Severity::Fault);
    assert!(unknown.verdict.caveats[0].contains("\"WIDGET\""));
    let nameless = outcome.finding("supply_air_control@A-1").unwrap();
    assert!(nameless.verdict.caveats.is_empty());
}

#[test]
fn skips_name_what_is_missing_where_the_rule_belongs() {
    let shared = [outdoor()];
    let frames = [
        frame("AHU-1", "AHU", &[("supply_air_temp", 60.0)], &shared),
        frame("AHU-2", "AHU", &[("co2", 600.0)], &shared),
        frame("VAV-1", "VAV", &[("supply_air_temp", 60.0)], &shared),
        frame("X-1", "WIDGET", &[("supply_air_temp", 60.0)], &shared),
        frame("X-2", "WIDGET", &[("supply_fan_status", 1.0)], &shared),
    ];
    let outcome = run(&rules(&[json!("supply_air_control")]), &frames);
    assert!(outcome.findings.is_empty());
    let told: Vec<(&str, &str, String)> = outcome
        .skipped
        .iter()
        .map(|skip| {
            (
                skip.equip.as_str(),
                skip.reason.word(),
                skip.missing.join(", "),
            )
        })
        .collect();
    let sp = "supply_air_temp_sp".to_owned();
    let both = format!("supply_air_temp, {sp}");
    assert_eq!(
        told,
        [
            ("AHU-1", "missing_inputs", sp.clone()),
            ("AHU-2", "missing_inputs", both.clone()),
            ("X-1", "missing_inputs", sp),
        ]
    );
    // Nobody at all: one record of the rule itself.
    let outcome = run(
        &rules(&[json!("supply_air_control")]),
        frames.get(2..3).unwrap(),
    );
    let [only] = outcome.skipped.as_slice() else {
        panic!("{:?}", outcome.skipped);
    };
    assert_eq!((only.equip.as_str(), only.missing.join(", ")), ("", both));
}

#[test]
fn an_untrusted_input_declines_with_its_score() {
    let frames = [
        frame("AHU-1", "AHU", &SUPPLY, &[]),
        frame("AHU-2", "AHU", &SUPPLY, &[]),
    ];
    let trust = Told(|place, role| match (place, role) {
        (0, "supply_air_temp") => Some(0.144),
        (0 | 1, "supply_fan_status") => Some(0.08),
        _ => Some(0.9),
    });
    let outcome = scored(&rules(&[json!("supply_air_control")]), &frames, &trust);
    let declined = outcome.finding("supply_air_control@AHU-1").unwrap();
    assert!(declined.is_declined());
    let told = &declined.verdict.summary;
    assert!(
        told.contains("supply_air_temp (trust 0.14), supply_fan_status (trust 0.08)"),
        "{told}"
    );
    assert_eq!(
        declined.verdict.metrics.get("untrusted_roles"),
        Some(&json!(["supply_air_temp", "supply_fan_status"]))
    );
    assert!(declined.verdict.caveats.is_empty());
    // An optional input alone declines nothing.
    let judged = outcome.finding("supply_air_control@AHU-2").unwrap();
    assert_eq!(judged.severity(), Severity::Fault);
}

#[test]
fn a_basis_stands_on_each_finding() {
    let entry =
        json!({"name": "supply_air_control", "params": {"tol_F": 6}, "basis": {"tol_F": "loop"}});
    let outcome = run(&rules(&[entry]), &[frame("AHU-1", "AHU", &SUPPLY, &[])]);
    let finding = outcome.finding("supply_air_control@AHU-1").unwrap();
    assert_eq!(finding.severity(), Severity::Ok);
    assert_eq!(
        finding.verdict.metrics.get("param_basis"),
        Some(&json!({"tol_F": {"value": 6, "basis": "loop"}}))
    );
}

#[test]
fn after_a_cancel_no_unit_begins() {
    use std::sync::atomic::{AtomicUsize, Ordering};

    let frames: Vec<RunFrame> = (0..50)
        .map(|number| frame(&format!("AHU-{number}"), "AHU", &SUPPLY, &[]))
        .collect();
    let rules = rules(&[json!("supply_air_control")]);
    let looks = AtomicUsize::new(0);
    let outcome = Run {
        rules: &rules,
        frames: &frames,
        topology: None,
        floor: None,
        trust: &Unscored,
        threads: ONE,
        cancelled: &|| looks.fetch_add(1, Ordering::SeqCst) >= 3,
    }
    .outcome();
    assert_eq!(outcome, Err(Cancelled));
    // Three units, and the look that ended the run.
    assert_eq!(looks.load(Ordering::SeqCst), 4);
}
