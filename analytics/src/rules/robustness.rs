//! No frame makes a rule panic, and no rule flags what it did not judge.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::testing::{HOSTILE, hours_from};
use super::{Analysis, FleetFrames, RuleCode, air, plant};
use crate::RuleCatalogue;
use crate::finding::Flagged;
use crate::frame::{Frame, RoleFrame};
use crate::parameters::Parameters;
use crate::topology::{Provenance, Topology};

const MONDAY: &str = "2024-03-04";

fn parameters(rule: &RuleCode) -> Parameters {
    Parameters::of(RuleCatalogue::shipped().entry(rule.id).unwrap())
}

fn roles(rule: &RuleCode) -> (Vec<String>, Vec<String>) {
    let entry = RuleCatalogue::shipped().entry(rule.id).unwrap();
    let (mut required, mut any_of, mut optional) = (
        entry.required.clone(),
        entry.any_of.clone(),
        entry.optional.clone(),
    );
    if let Some(inputs) = rule.inputs {
        let inputs = inputs(&parameters(rule));
        (required, any_of, optional) = (inputs.required, inputs.any_of, inputs.optional);
    }
    optional.extend(entry.cost_only.iter().cloned());
    optional.extend(any_of.iter().flatten().cloned());
    required.extend(any_of.iter().filter_map(|group| group.first()).cloned());
    (required, optional)
}

/// A column that is all of one value, or a mixture.
fn column(rows: usize) -> impl Strategy<Value = Vec<f64>> {
    let one = select(HOSTILE.to_vec()).prop_map(move |value| vec![value; rows]);
    let mixed = prop::collection::vec(select(HOSTILE.to_vec()), rows);
    let ordinary = prop::collection::vec(0.0..120.0, rows);
    prop_oneof![one, mixed, ordinary]
}

fn table(rule: &RuleCode) -> impl Strategy<Value = RoleFrame> + use<> {
    let (required, optional) = roles(rule);
    let most = optional.len();
    let rows = prop_oneof![Just(1_usize), 2..6_usize, 20..90_usize];
    let chosen = (subsequence(optional, 0..=most), rows, any::<bool>());
    chosen.prop_flat_map(move |(optional, rows, is_sorted)| {
        let roles: Vec<String> = required.iter().cloned().chain(optional).collect();
        let columns = prop::collection::vec(column(rows), roles.len());
        columns.prop_map(move |columns| RoleFrame {
            equip: "E".to_owned(),
            equip_class: String::new(),
            stamps: hours_from(MONDAY, rows, is_sorted),
            columns: roles.iter().cloned().zip(columns).collect(),
        })
    })
}

fn check_samples(rule: &RuleCode, rows: usize, samples: &Flagged) {
    let Flagged { judged, flagged } = samples;
    assert_eq!((judged.len(), flagged.len()), (rows, rows), "{}", rule.id);
    assert!(
        judged
            .iter()
            .zip(flagged)
            .all(|(judged, flagged)| *judged || !*flagged),
        "{} flags samples that it did not judge",
        rule.id
    );
}

fn run(rule: &RuleCode, tables: &[RoleFrame]) {
    let parameters = parameters(rule);
    match rule.analysis {
        Analysis::Equipment(analyse) => {
            for table in tables {
                let _ = analyse(&Frame::whole(table), &parameters);
            }
        }
        Analysis::Fleet(analyse) => {
            let parents: BTreeMap<String, Vec<String>> = tables
                .iter()
                .skip(1)
                .map(|table| (table.equip.clone(), vec!["P".to_owned()]))
                .collect();
            let topology = Topology {
                provenance: Provenance::Explicit,
                parents,
            };
            for topology in [None, Some(&topology)] {
                let frames = tables.iter().map(Frame::whole).collect();
                let _ = analyse(&FleetFrames { frames, topology }, &parameters);
            }
        }
    }
    let Some(judge) = rule.judge else {
        return;
    };
    for table in tables {
        let Some(judgement) = judge(&Frame::whole(table), &parameters) else {
            continue;
        };
        let conditions = judgement.conditions.iter().map(|one| &one.samples);
        let bases = judgement.conditions.iter().map(|one| &one.judged_basis);
        for basis in bases.chain([&judgement.judged_basis]) {
            assert!(
                !basis.contains("hour"),
                "{}: samples are counted: {basis}",
                rule.id
            );
        }
        let has_samples = judgement.note.is_none() || !judgement.samples.judged.is_empty();
        if has_samples {
            check_samples(rule, table.len(), &judgement.samples);
        }
        conditions.for_each(|samples| check_samples(rule, table.len(), samples));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_frame_makes_a_rule_panic(
        (rule, mut tables) in (0..air::RULES.len() + plant::RULES.len()).prop_flat_map(|place| {
            let rule: &'static RuleCode = air::RULES.iter().chain(plant::RULES).nth(place).unwrap();
            (Just(rule), prop::collection::vec(table(rule), 1..5))
        })
    ) {
        for (table, place) in tables.iter_mut().zip(0..) {
            table.equip = format!("E{place}");
        }
        run(rule, &tables);
    }
}

#[test]
fn an_empty_frame_and_one_of_a_single_value_are_borne_by_every_rule() {
    for rule in air::RULES.iter().chain(plant::RULES) {
        let (required, optional) = roles(rule);
        for rows in [0, 1, 48] {
            for value in HOSTILE {
                let table = RoleFrame {
                    equip: "E".to_owned(),
                    stamps: hours_from(MONDAY, rows, true),
                    columns: required
                        .iter()
                        .chain(&optional)
                        .map(|role| (role.clone(), vec![value; rows]))
                        .collect(),
                    ..RoleFrame::default()
                };
                run(rule, std::slice::from_ref(&table));
            }
        }
    }
}
