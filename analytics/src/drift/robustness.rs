//! No frame makes a family panic.

use std::num::NonZeroUsize;

use proptest::prelude::*;
use proptest::sample::select;

use super::detector::Inputs;
use super::{DriftRun, Family, run};
use crate::RunFrame;
use crate::frame::RoleFrame;
use crate::rules::testing::{HOSTILE, hours_from};
use crate::run_config::{DriftEntry, DriftReference, WrittenWindow};
use crate::runner::Unscored;

fn entry(family: Family) -> DriftEntry {
    use super::detectors::air_handler::Coil;
    let window = WrittenWindow::of(Some("2024-03-01"), Some("2024-03-03 12:00")).unwrap();
    DriftEntry {
        reference: Some(DriftReference::Period(window)),
        coils: vec![Coil::Cooling, Coil::Heating],
        coil_leak: vec![Coil::Cooling, Coil::Heating],
        sustained_alarm: true,
        ..DriftEntry::bare("CLASS", family)
    }
}

fn roles(family: Family) -> Vec<&'static str> {
    let mut roles: Vec<&str> = family
        .detectors(&entry(family))
        .iter()
        .flat_map(|detector| Inputs::all(&detector.inputs()))
        .collect();
    roles.sort_unstable();
    roles.dedup();
    roles
}

fn column(rows: usize) -> impl Strategy<Value = Vec<f64>> {
    let one = select(HOSTILE.to_vec()).prop_map(move |value| vec![value; rows]);
    let mixed = prop::collection::vec(select(HOSTILE.to_vec()), rows);
    let ordinary = prop::collection::vec(0.0..120.0, rows);
    let mostly = prop::collection::vec(
        prop_oneof![20 => 0.0..120.0, 1 => select(HOSTILE.to_vec())],
        rows,
    );
    prop_oneof![1 => one, 1 => mixed, 3 => ordinary, 3 => mostly]
}

fn frame(columns: Vec<(String, Vec<f64>)>, rows: usize, sorted: bool) -> RunFrame {
    let table = RoleFrame {
        equip: "E".to_owned(),
        equip_class: "CLASS".to_owned(),
        stamps: hours_from("2024-03-01", rows, sorted),
        columns: columns.into_iter().collect(),
    };
    RunFrame::of_resampled(table, &[])
}

fn judge(family: Family, frame: RunFrame) {
    let outcome = run(&DriftRun {
        entries: &[entry(family)],
        frames: &[frame],
        judged: None,
        frozen: None,
        sites: &["hq".to_owned()],
        run_id: "capability",
        elevation_ft: Some(5280.0),
        floor: None,
        trust: &Unscored,
        threads: NonZeroUsize::MIN,
        cancelled: &|| false,
    })
    .unwrap();
    assert_eq!(outcome.diagnoses.len() + outcome.unevaluated.len(), 1);
    for finding in &outcome.findings {
        assert!(!finding.verdict.summary.is_empty() && finding.id.starts_with(family.word()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_frame_makes_a_family_panic(
        (family, rows, sorted, columns) in (select(Family::ALL.to_vec()), prop_oneof![1 => 1_usize..8, 4 => 80..130_usize], any::<bool>())
            .prop_flat_map(|(family, rows, sorted)| {
                let columns: Vec<_> = roles(family)
                    .into_iter()
                    .map(|role| (Just(role.to_owned()), prop::option::weighted(0.85, column(rows))))
                    .collect();
                (Just(family), Just(rows), Just(sorted || rows > 8), columns)
            })
    ) {
        let columns = columns
            .into_iter()
            .filter_map(|(role, values)| Some((role, values?)))
            .collect();
        judge(family, frame(columns, rows, sorted));
    }
}

#[test]
fn a_single_value_everywhere_and_an_empty_frame_are_borne_by_every_family() {
    for family in Family::ALL {
        for rows in [0, 1, 100] {
            for value in HOSTILE {
                let columns = roles(family)
                    .into_iter()
                    .map(|role| (role.to_owned(), vec![value; rows]))
                    .collect();
                judge(family, frame(columns, rows, true));
            }
        }
    }
}
