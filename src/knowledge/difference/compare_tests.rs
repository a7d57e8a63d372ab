use super::*;
use crate::knowledge::difference::affected_references;
use crate::knowledge::{decode, format};

fn tree(lines: &[(&str, &str, &str)]) -> Vec<KnownComponent> {
    let component = |(path, type_spec, handle): &(&str, &str, &str)| KnownComponent {
        path: format!("slot:{path}"),
        type_spec: (*type_spec).to_owned(),
        handle: Some((*handle).to_owned()).filter(|handle| !handle.is_empty()),
    };
    lines.iter().map(component).collect()
}

fn without_handles(mut tree: Vec<KnownComponent>) -> Vec<KnownComponent> {
    for component in &mut tree {
        component.handle = None;
    }
    tree
}

fn two_devices() -> Vec<KnownComponent> {
    tree(&[
        ("/Net", "net", "1"),
        ("/Net/AHU1", "device", "2"),
        ("/Net/AHU1/SAT", "num", "3"),
        ("/Net/AHU1/RAT", "num", "4"),
        ("/Net/AHU2", "device", "5"),
        ("/Net/AHU2/SAT", "num", "6"),
        ("/Net/AHU2/SAT/ext", "ext", "7"),
    ])
}

fn names(subtrees: &[Subtree]) -> Vec<(&str, usize)> {
    subtrees
        .iter()
        .map(|subtree| (subtree.path.as_str(), subtree.descendants))
        .collect()
}

fn renames(difference: &Difference) -> Vec<(&str, &str, &'static str, bool, usize)> {
    difference
        .renamed
        .iter()
        .map(|renamed| {
            (
                renamed.from.as_str(),
                renamed.to.as_str(),
                renamed.basis.name(),
                renamed.is_moved,
                renamed.descendants,
            )
        })
        .collect()
}

#[test]
fn nothing_changed_is_nothing() {
    assert!(compare(&two_devices(), &two_devices()).is_empty());
    let bare = without_handles(two_devices());
    assert!(compare(&bare, &bare).is_empty());
}

#[test]
fn a_renamed_device_is_one_change_with_all_that_lies_below() {
    let now = tree(&[
        ("/Net", "net", "1"),
        ("/Net/AHU1", "device", "2"),
        ("/Net/AHU1/SAT", "num", "3"),
        ("/Net/AHU1/RAT", "num", "4"),
        ("/Net/Roof", "device", "5"),
        ("/Net/Roof/SAT", "num", "6"),
        ("/Net/Roof/SAT/ext", "ext", "7"),
    ]);
    let difference = compare(&two_devices(), &now);
    assert_eq!(
        renames(&difference),
        [("slot:/Net/AHU2", "slot:/Net/Roof", "handle", false, 2)]
    );
    assert!(difference.gone.is_empty() && difference.appeared.is_empty());
    assert_eq!(
        difference.path_now("slot:/Net/AHU2/SAT/out").as_deref(),
        Some("slot:/Net/Roof/SAT/out")
    );

    let difference = compare(&without_handles(two_devices()), &without_handles(now));
    assert_eq!(
        renames(&difference),
        [("slot:/Net/AHU2", "slot:/Net/Roof", "pattern", false, 2)]
    );
}

#[test]
fn names_that_were_swapped_and_components_that_moved_are_told_by_their_handles() {
    let now = tree(&[
        ("/Net", "net", "1"),
        ("/Net/AHU1", "device", "2"),
        ("/Net/AHU1/RAT", "num", "3"),
        ("/Net/AHU1/SAT", "num", "4"),
        ("/Net/AHU1/Old", "num", "6"),
        ("/Net/AHU1/Old/ext", "ext", "7"),
        ("/Net/AHU2", "device", "5"),
        ("/Net/A", "x", "11"),
        ("/Net/B", "x", "12"),
        ("/Net/C", "x", "13"),
    ]);
    let mut before = two_devices();
    // Enough components that kept their handles.
    for number in 20..60 {
        before.push(KnownComponent {
            path: format!("slot:/Net/X{number}"),
            type_spec: "x".to_owned(),
            handle: Some(number.to_string()),
        });
    }
    let mut now = now;
    now.extend(before.iter().skip(7).cloned());
    let difference = compare(&before, &now);
    assert_eq!(
        renames(&difference),
        [
            (
                "slot:/Net/AHU1/SAT",
                "slot:/Net/AHU1/RAT",
                "handle",
                false,
                0
            ),
            (
                "slot:/Net/AHU1/RAT",
                "slot:/Net/AHU1/SAT",
                "handle",
                false,
                0
            ),
            (
                "slot:/Net/AHU2/SAT",
                "slot:/Net/AHU1/Old",
                "handle",
                true,
                1
            ),
        ]
    );
    assert_eq!(
        names(&difference.appeared),
        [("slot:/Net/A", 0), ("slot:/Net/B", 0), ("slot:/Net/C", 0)]
    );
}

#[test]
fn gone_new_and_retyped_components_are_listed_once_per_branch() {
    let now = tree(&[
        ("/Net", "net", "1"),
        ("/Net/AHU1", "device", "2"),
        ("/Net/AHU1/SAT", "bool", "9"),
        ("/Net/AHU1/RAT", "num", "4"),
        ("/Net/AHU3", "other", "10"),
        ("/Net/AHU3/points", "folder", "11"),
        ("/Net/AHU3/points/SAT", "num", "12"),
    ]);
    for (before, now) in [
        (two_devices(), now.clone()),
        (without_handles(two_devices()), without_handles(now)),
    ] {
        let difference = compare(&before, &now);
        assert_eq!(names(&difference.gone), [("slot:/Net/AHU2", 2)]);
        assert_eq!(names(&difference.appeared), [("slot:/Net/AHU3", 2)]);
        assert_eq!(
            difference.retyped,
            [Retyped {
                path: "slot:/Net/AHU1/SAT".to_owned(),
                before: "num".to_owned(),
                now: "bool".to_owned()
            }]
        );
        assert_eq!(difference.renamed, []);
        assert_eq!(difference.path_now("slot:/Net/AHU2/SAT/out"), None);
    }
}

#[test]
fn parts_of_a_component_of_another_type_are_not_told_apart() {
    let mut now = two_devices();
    now[5].type_spec = "bool".to_owned();
    now[5].handle = Some("9".to_owned());
    now[6] = tree(&[("/Net/AHU2/SAT/other", "ext", "10")]).remove(0);
    let difference = compare(&two_devices(), &now);
    assert_eq!(difference.retyped.len(), 1, "{difference:?}");
    assert!(difference.gone.is_empty() && difference.appeared.is_empty());
}

#[test]
fn handles_of_a_copied_station_decide_nothing() {
    let mut now = two_devices();
    for (number, component) in now.iter_mut().enumerate() {
        component.handle = Some(format!("{:x}", 7 - number));
    }
    assert!(compare(&two_devices(), &now).is_empty());
}

#[test]
fn of_several_new_points_the_one_with_the_similar_name_is_the_renamed_one() {
    let before = tree(&[
        ("/A", "folder", ""),
        ("/A/SupplyTemp", "num", ""),
        ("/A/Gone", "num", ""),
    ]);
    let now = tree(&[
        ("/A", "folder", ""),
        ("/A/SupplyAirTemp", "num", ""),
        ("/A/DuctPressure", "num", ""),
    ]);
    let difference = compare(&before, &now);
    assert_eq!(
        renames(&difference),
        [(
            "slot:/A/SupplyTemp",
            "slot:/A/SupplyAirTemp",
            "pattern",
            false,
            0
        )]
    );
    assert_eq!(names(&difference.gone), [("slot:/A/Gone", 0)]);
    assert_eq!(names(&difference.appeared), [("slot:/A/DuctPressure", 0)]);
}

#[test]
fn references_through_a_change_are_named_with_their_new_way() {
    let now = tree(&[
        ("/Net", "net", "1"),
        ("/Net/AHU1", "device", "2"),
        ("/Net/AHU1/RAT", "num", "4"),
        ("/Net/Roof", "device", "5"),
        ("/Net/Roof/SAT", "num", "6"),
        ("/Net/Roof/SAT/ext", "ext", "7"),
    ]);
    let difference = compare(&two_devices(), &now);
    let text = "equipment:\n- {id: a1, ord: 'slot:/Net/AHU1', points: {sat: 'slot:/Net/AHU1/SAT', rat: 'slot:/Net/AHU1/RAT'}}\n\
                - {id: a2, ord: 'station:|slot:/Net/AHU2', points: {sat: 'slot:/Net/AHU2/SAT/out'}}\n";
    let (_, tree) = format::parse("test", text).unwrap();
    let document = decode::decode("test", tree).unwrap().document;
    let affected: Vec<(String, String, Option<String>)> =
        affected_references(&document, &difference)
            .into_iter()
            .map(|affected| {
                (
                    affected.reference.ord.to_owned(),
                    affected.through,
                    affected.path_now,
                )
            })
            .collect();
    let expected = [
        ("slot:/Net/AHU1/SAT", "slot:/Net/AHU1/SAT", None),
        (
            "station:|slot:/Net/AHU2",
            "slot:/Net/AHU2",
            Some("slot:/Net/Roof"),
        ),
        (
            "slot:/Net/AHU2/SAT/out",
            "slot:/Net/AHU2",
            Some("slot:/Net/Roof/SAT/out"),
        ),
    ];
    let expected = expected
        .map(|(ord, through, now)| (ord.to_owned(), through.to_owned(), now.map(str::to_owned)));
    assert_eq!(affected, expected);
}
