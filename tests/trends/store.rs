//! Samples go in and come out: parts, windows, points, stamps, registry.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Mutex;

use niagara_bridge::trends::store::{
    BinWidth, FacilityState, Registration, ScanOptions, Selection, StoreError, TrendStore, Window,
};

use crate::store_support::{column, equipment, id, parts, point, samples, stamp, write};

#[test]
fn what_was_appended_is_read_again_month_by_month() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = TrendStore::create(folder.path().join("trends")).expect("a store");
    let hq = id("hq");
    let report = write(&store)
        .append(
            &hq,
            &[equipment(
                "AHU-1",
                "AHU",
                vec![
                    column("oat", "2024-01-31T12:00", 30, 48, 0.0),
                    column("supply_air_temp", "2024-01-31T12:00", 30, 48, 100.0),
                ],
            )],
            None,
        )
        .expect("appended");
    assert_eq!(report.rows, 96);
    assert_eq!(
        report.parts,
        [
            "facility_id=hq/year=2024/month=1/part-0-0.parquet",
            "facility_id=hq/year=2024/month=2/part-0-1.parquet"
        ]
    );
    assert_eq!(parts(store.root()), report.parts);

    let all = store
        .equipment(&hq, "AHU-1", &Selection::default())
        .expect("a series");
    assert_eq!(all.equip_class, "AHU");
    assert_eq!(all.roles["oat"].len(), 48);
    assert_eq!(all.roles["oat"].values[47], 47.0);
    assert_eq!(
        all.span(),
        Some((stamp("2024-01-31T12:00"), stamp("2024-02-01T11:30")))
    );

    // A date alone excludes the rest of that day; both bounds count.
    let some = store
        .equipment(
            &hq,
            "AHU-1",
            &Selection {
                roles: Some(BTreeSet::from(["oat".to_owned()])),
                window: Window {
                    start: Some(stamp("2024-01-31T23:00")),
                    end: Some(stamp("2024-02-01")),
                },
            },
        )
        .expect("a series");
    assert_eq!(some.roles.len(), 1);
    assert_eq!(some.roles["oat"].values, [22.0, 23.0, 24.0]);

    let frame = store
        .role_frame(&hq, "AHU-1", &Selection::default(), Some(BinWidth::HOUR))
        .expect("a frame");
    assert_eq!(frame.column("oat").expect("a column")[..2], [0.5, 2.5]);
    let none = store
        .equipment(&hq, "AHU-2", &Selection::default())
        .expect("nothing");
    assert!(none.roles.is_empty());
}

#[test]
fn small_appends_share_a_part_and_busy_equipment_has_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = TrendStore::create(folder.path()).expect("a store");
    let report = write(&store)
        .append(
            &id("hq"),
            &[
                point("AHU-1", "oat", "2024-03-01", 15, 2_000, 0.0),
                point("VAV-1", "space_temp", "2024-03-01", 15, 4, 70.0),
                point("VAV-2", "space_temp", "2024-03-01", 15, 4, 71.0),
            ],
            None,
        )
        .expect("appended");
    assert_eq!(report.parts.len(), 2);
    let again = write(&store)
        .append(
            &id("hq"),
            &[point("VAV-1", "space_temp", "2024-03-02", 15, 4, 70.0)],
            None,
        )
        .expect("appended");
    // Two files are there, so the second call has the number 2.
    assert_eq!(
        again.parts,
        ["facility_id=hq/year=2024/month=3/part-2-0.parquet"]
    );
    assert_eq!(samples(&store, "hq").len(), 2_012);
    let points = store.points(&id("hq")).expect("points");
    assert_eq!(
        points.points.into_iter().collect::<Vec<_>>(),
        [
            ("AHU-1", "oat"),
            ("VAV-1", "space_temp"),
            ("VAV-2", "space_temp")
        ]
        .map(|(equip, role)| (equip.to_owned(), role.to_owned()))
    );
}

#[test]
fn the_catalogue_is_served_only_while_it_is_current() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = TrendStore::create(folder.path()).expect("a store");
    let add = |equip: &str| {
        write(&store)
            .append(
                &id("hq"),
                &[point(equip, "oat", "2024-03-01", 15, 4, 0.0)],
                None,
            )
            .expect("appended")
    };
    add("AHU-1");
    assert!(write(&store).rebuild_catalogue().expect("written"));
    let file = folder.path().join("_catalog.json");
    let written = std::fs::read_to_string(&file).expect("a catalogue");
    assert!(
        written.starts_with(r#"{"equipment":{"hq":{"AHU-1":"AHU"}},"gen":""#),
        "{written}"
    );
    add("AHU-2");
    assert!(!file.exists());
    // Somebody who was slow puts the old one back: it is not believed.
    std::fs::write(&file, written).expect("written");
    let classes = store.points(&id("hq")).expect("points").classes;
    assert_eq!(classes.keys().collect::<Vec<_>>(), ["AHU-1", "AHU-2"]);
}

#[test]
fn stamps_of_all_points_are_scanned_in_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = TrendStore::create(folder.path()).expect("a store");
    let hq = id("hq");
    let mut writer = write(&store);
    writer
        .append(
            &hq,
            &[
                point("AHU-1", "oat", "2024-01-01", 15, 8_000, 0.0),
                point(
                    "VAV-1",
                    "space_temp",
                    "2024-01-01",
                    60,
                    1_500,
                    f64::INFINITY,
                ),
            ],
            None,
        )
        .expect("appended");
    // Small parts that go on, and one that says the same again.
    writer
        .append(
            &hq,
            &[
                point("AHU-1", "oat", "2024-03-24T08:00", 15, 10, 0.0),
                point("VAV-1", "space_temp", "2024-01-01", 60, 10, 0.0),
                point("VAV-2", "space_temp", "2024-01-01", 60, 10, 0.0),
            ],
            None,
        )
        .expect("appended");
    drop(writer);
    let view = store.view(&hq).expect("a view");
    let scan = |options: &ScanOptions<'_>| {
        let found = Mutex::new(Vec::new());
        view.scan_stamps(options, &|point| {
            let stamps = &point.stamps;
            found.lock().expect("points").push(format!(
                "{}/{} {} in {}",
                point.equip,
                point.role,
                stamps.len(),
                stamps.runs().len()
            ));
        })
        .expect("a scan");
        let mut found = found.into_inner().expect("points");
        found.sort();
        found
    };
    for threads in [1, 3] {
        let options = ScanOptions {
            threads: NonZeroUsize::new(threads).expect("some"),
            ..ScanOptions::default()
        };
        assert_eq!(
            scan(&options),
            [
                "AHU-1/oat 8010 in 1",
                "VAV-1/space_temp 1500 in 1",
                "VAV-2/space_temp 10 in 1"
            ]
        );
    }
    let only = BTreeSet::from(["VAV-1".to_owned()]);
    let options = ScanOptions {
        equips: Some(&only),
        window: Window {
            start: Some(stamp("2024-01-01T05:00")),
            end: Some(stamp("2024-01-01T07:00")),
        },
        ..ScanOptions::default()
    };
    assert_eq!(scan(&options), ["VAV-1/space_temp 3 in 1"]);
    let cancelled = view.scan_stamps(
        &ScanOptions {
            cancelled: &|| true,
            ..ScanOptions::default()
        },
        &|_| panic!("nothing is read"),
    );
    assert!(matches!(cancelled, Err(StoreError::Cancelled)));
    assert_eq!(
        view.span().expect("a span"),
        Some((stamp("2024-01-01"), stamp("2024-03-24T10:15")))
    );
}

#[test]
fn ids_are_given_out_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = TrendStore::create(folder.path()).expect("a store");
    let rows = [point("AHU-1", "oat", "2024-03-01", 15, 4, 0.0)];
    let mut writer = write(&store);
    let zone = Registration::active(Some("Head office"), Some("Europe/Berlin"));
    writer.append(&id("hq"), &rows, Some(&zone)).expect("new");
    let mut refused = |facility: &str| {
        let error = writer.append(&id(facility), &rows, None);
        error.expect_err(facility).to_string()
    };
    assert!(refused("123").contains("digits only"));
    assert!(refused("HQ").contains("differs from \"hq\" only by letter case"));

    let other = Registration::active(Some("Elsewhere"), None);
    let error = writer
        .register(&id("hq"), &other)
        .expect_err("another name");
    assert!(error.to_string().contains("\"Head office\""), "{error}");

    for state in [FacilityState::Offboarding, FacilityState::Archived] {
        assert!(writer.set_state(&id("hq"), state).expect("a step"));
    }
    let error = writer.append(&id("hq"), &rows, None).expect_err("archived");
    assert!(
        error.to_string().contains("is archived and takes no data"),
        "{error}"
    );
    let registry = store.registry();
    let entry = registry.entry("hq").expect("an entry");
    assert_eq!(entry.time_zone(|_| None).as_deref(), Some("Europe/Berlin"));

    writer.remove(&id("hq"), "sold").expect("removed");
    let error = writer.append(&id("hq"), &rows, None).expect_err("buried");
    assert!(error.to_string().contains("was removed"), "{error}");
    drop(writer);
    assert!(store.known_facilities().expect("facilities").is_empty());
    assert!(matches!(store.view(&id("hq")), Err(StoreError::NoData(_))));
}

#[test]
fn names_that_nobody_can_see_or_ask_for_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = TrendStore::create(folder.path()).expect("a store");
    let mut writer = write(&store);
    for (equip, class, role) in [
        ("AHU\u{202e}", "AHU", "oat"),
        ("", "AHU", "oat"),
        ("AHU-1", "A\u{0}", "oat"),
        ("AHU-1", "AHU", "o\nat"),
    ] {
        let rows = equipment(equip, class, vec![column(role, "2024-03-01", 15, 1, 0.0)]);
        let error = writer.append(&id("hq"), &[rows], None).expect_err(equip);
        assert!(matches!(error, StoreError::Refused(_)), "{error}");
    }
    let mut uneven = column("oat", "2024-03-01", 15, 2, 0.0);
    uneven.values.pop();
    let error = writer
        .append(&id("hq"), &[equipment("AHU-1", "AHU", vec![uneven])], None)
        .expect_err("uneven");
    assert!(
        error.to_string().contains("2 stamps and 1 values"),
        "{error}"
    );
    let nothing = equipment(
        "AHU-1",
        "AHU",
        vec![column("oat", "2024-03-01", 15, 2, f64::NAN)],
    );
    let report = writer.append(&id("hq"), &[nothing], None).expect("nothing");
    assert_eq!(report.rows, 0);
    assert!(!folder.path().join("facility_id=hq").exists());
}

#[test]
fn the_generation_changes_with_the_data_of_the_facility_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = TrendStore::create(folder.path()).expect("a store");
    let add = |facility: &str, begin: &str| {
        write(&store)
            .append(
                &id(facility),
                &[point("AHU-1", "oat", begin, 15, 4, 0.0)],
                None,
            )
            .expect("appended");
    };
    add("hq", "2024-03-01");
    add("annex", "2024-03-01");
    let of_hq = || store.generation(&[id("hq")]).expect("a digest");
    let before = of_hq();
    assert_eq!(before, of_hq());
    assert_eq!(before.len(), 64);
    add("hq", "2024-03-02");
    assert_ne!(before, of_hq());
}
