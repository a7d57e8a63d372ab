//! Packing, pruning, removing and checking a store.

use niagara_bridge::trends::store::{PruneReport, Registration, StoreError, TrendStore};

use crate::store_support::{id, litter, parts, point, samples, stamp, write};

/// Forty hourly appends of three boxes, and a month of a busy air handler.
fn fragmented(store: &TrendStore) {
    let mut writer = write(store);
    let busy = point("AHU-1", "oat", "2024-03-01", 15, 2_000, 0.0);
    writer.append(&id("hq"), &[busy], None).expect("appended");
    for hour in 0..40 {
        let begin = format!("2024-03-0{}T{:02}:00", 1 + hour / 24, hour % 24);
        let rows: Vec<_> = ["VAV-1", "VAV-2", "AHU-1"]
            .iter()
            .map(|equip| point(equip, "space_temp", &begin, 15, 4, f64::from(hour)))
            .collect();
        writer.append(&id("hq"), &rows, None).expect("appended");
    }
}

#[test]
fn many_small_parts_become_one_per_busy_equipment_and_one_for_the_rest() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = TrendStore::create(folder.path()).expect("a store");
    fragmented(&store);
    let before = samples(&store, "hq");
    assert_eq!(parts(folder.path()).len(), 41);
    let fence = store.fence(&id("hq")).expect("a fence");

    let report = write(&store).pack(&id("hq")).expect("packed");
    assert_eq!(
        (report.months, report.parts_before, report.parts_after),
        (1, 41, 2)
    );
    assert_eq!(report.rows, 2_480);
    assert_eq!(samples(&store, "hq"), before);
    assert_eq!(parts(folder.path()).len(), 2);
    assert!(litter(folder.path()).is_empty());
    assert_ne!(store.fence(&id("hq")).expect("a fence"), fence);
    assert!(store.verify(None).expect("a verdict").is_clean());

    // Nothing is left to be done, and nothing is done.
    let fence = store.fence(&id("hq")).expect("a fence");
    let again = write(&store).compact(&id("hq")).expect("nothing");
    assert_eq!((again.months, again.parts_after), (0, 2));
    assert_eq!(store.fence(&id("hq")).expect("a fence"), fence);
}

#[test]
fn equal_stamps_and_values_survive_packing() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = TrendStore::create(folder.path()).expect("a store");
    let mut writer = write(&store);
    for first in [5.0, 5.0, 1.0] {
        let rows = point("AHU-1", "oat", "2024-03-01", 60, 3, first);
        writer.append(&id("hq"), &[rows], None).expect("appended");
    }
    let before = samples(&store, "hq");
    assert_eq!(before.len(), 9);
    writer.compact(&id("hq")).expect("packed");
    assert_eq!(samples(&store, "hq"), before);
    assert_eq!(parts(folder.path()).len(), 1);
}

#[test]
fn parts_of_whole_years_are_read_beside_those_of_months_and_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = TrendStore::create(folder.path()).expect("a store");
    let mut writer = write(&store);
    for begin in ["2024-01-31", "2024-03-01", "2024-03-02"] {
        let rows = point("AHU-1", "oat", begin, 60, 24, 0.0);
        writer.append(&id("hq"), &[rows], None).expect("appended");
    }
    let before = samples(&store, "hq");
    let year = folder.path().join("facility_id=hq/year=2024");
    std::fs::rename(
        year.join("month=1/part-0-0.parquet"),
        year.join("part-legacy.parquet"),
    )
    .expect("moved");
    assert_eq!(samples(&store, "hq"), before);
    let report = writer.compact(&id("hq")).expect("packed");
    assert_eq!((report.months, report.parts_after), (1, 2));
    assert!(year.join("part-legacy.parquet").exists());
    assert_eq!(samples(&store, "hq"), before);
    assert!(store.verify(None).expect("a verdict").is_clean());
}

#[test]
fn old_months_are_pruned_and_half_old_ones_stay() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = TrendStore::create(folder.path()).expect("a store");
    let mut writer = write(&store);
    for month in 1..5 {
        let begin = format!("2024-0{month}-01");
        let rows = point("AHU-1", "oat", &begin, 60, 500, 0.0);
        writer.append(&id("hq"), &[rows], None).expect("appended");
    }
    let before = stamp("2024-03-10");
    let plan = store.plan_prune(&id("hq"), before).expect("a plan");
    assert_eq!((plan.parts, plan.rows), (2, 1_000));
    assert_eq!(samples(&store, "hq").len(), 2_000);
    assert_eq!(writer.prune(&id("hq"), before).expect("pruned"), plan);
    let left = samples(&store, "hq");
    assert_eq!(left.len(), 1_000);
    assert!(left[0].contains("2024-03-01"), "{}", left[0]);
    let again = writer.prune(&id("hq"), before).expect("nothing");
    assert_eq!(again, PruneReport::default());
}

#[test]
fn a_removed_facility_leaves_a_tombstone_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = TrendStore::create(folder.path()).expect("a store");
    let mut writer = write(&store);
    let registration = Registration::active(Some("Head office"), None);
    for facility in ["hq", "annex"] {
        let rows = point("AHU-1", "oat", "2024-03-01", 60, 3, 0.0);
        writer
            .append(&id(facility), &[rows], Some(&registration))
            .expect("appended");
    }
    writer.remove(&id("hq"), "sold").expect("removed");
    let stones = std::fs::read_to_string(folder.path().join("_tombstones.json")).expect("a file");
    let stones: serde_json::Value = serde_json::from_str(&stones).expect("JSON");
    assert_eq!(stones["hq"]["name"], "Head office");
    assert_eq!(stones["hq"]["reason"], "sold");
    assert_eq!(stones["hq"]["state"], "active");
    assert_eq!(store.known_facilities().expect("facilities"), [id("annex")]);
    assert!(litter(folder.path()).is_empty());
    let error = writer.remove(&id("hq"), "again").expect_err("gone");
    assert!(matches!(error, StoreError::NoData(_)), "{error}");
}

#[test]
fn a_removal_that_was_killed_lets_no_data_in_and_can_be_finished() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = TrendStore::create(folder.path()).expect("a store");
    let mut writer = write(&store);
    let rows = [point("AHU-1", "oat", "2024-03-01", 60, 3, 0.0)];
    let registration = Registration::active(Some("Head office"), None);
    writer
        .append(&id("hq"), &rows, Some(&registration))
        .expect("appended");
    // The tombstone is written first.
    std::fs::write(
        folder.path().join("_tombstones.json"),
        r#"{"hq": {"name": "Head office", "state": "active"}}"#,
    )
    .expect("written");
    let error = writer.append(&id("hq"), &rows, None).expect_err("buried");
    assert!(error.to_string().contains("was removed"), "{error}");
    writer.remove(&id("hq"), "sold").expect("finished");
    assert!(store.known_facilities().expect("facilities").is_empty());

    std::fs::write(folder.path().join("_tombstones.json"), "?").expect("damaged");
    let error = writer
        .append(&id("annex"), &rows, None)
        .expect_err("damaged");
    assert!(
        matches!(error, StoreError::RegistryDamaged { .. }),
        "{error}"
    );
}

#[test]
fn leftovers_are_told_by_verify_and_tidied_up_by_the_next_writer() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = TrendStore::create(folder.path()).expect("a store");
    let rows = [point("AHU-1", "oat", "2024-03-01", 60, 3, 0.0)];
    write(&store)
        .append(&id("hq"), &rows, None)
        .expect("appended");
    let root = folder.path();
    for left in [
        "_trash-facility_id=old-0123456789ab/year=2020",
        "_staging/append-4294967295-abc/facility_id=hq",
        "_staging/ingest-4294967295-abc.extract",
        "_staging/ingest-1-abc",
        "facility_id=hq/_trash-year=2020-0123456789ab",
    ] {
        std::fs::create_dir_all(root.join(left)).expect("a folder");
    }
    // Killed between the two renames of a swap.
    std::fs::rename(
        root.join("facility_id=hq"),
        root.join("_swap-facility_id=hq.old"),
    )
    .expect("renamed");
    std::fs::create_dir_all(root.join("_swap-facility_id=hq.new/year=2024")).expect("a folder");
    std::fs::write(root.join("_swap-facility_id=hq.ready"), "").expect("written");

    let verdict = store.verify(None).expect("a verdict");
    assert!(verdict.is_damaged());
    // Nobody registered it, so that only the swap tells of it.
    let error = store.view(&id("hq")).expect_err("halfway");
    assert_eq!(error.retryable(), Some(true), "{error}");
    assert!(verdict.leftovers.len() >= 5, "{:?}", verdict.leftovers);

    drop(write(&store));
    let verdict = store.verify(None).expect("a verdict");
    assert!(
        !verdict.is_damaged() && verdict.leftovers.is_empty(),
        "{verdict:?}"
    );
    assert!(root.join("facility_id=hq/year=2024").is_dir());
    // Process 1 lives, so its scratch is its own.
    assert!(root.join("_staging/ingest-1-abc").is_dir());
}

#[test]
fn a_folder_of_something_else_is_no_store() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("holiday.jpg"), "a picture").expect("written");
    let error = TrendStore::open(folder.path()).expect_err("no store");
    assert!(error.to_string().contains("holiday.jpg"), "{error}");
    assert!(!error.public_text().contains("holiday"), "{error}");
    std::fs::write(folder.path().join("_facilities.json"), "{}").expect("written");
    TrendStore::open(folder.path()).expect("a store now");
    let missing = TrendStore::open(folder.path().join("missing"));
    assert!(missing.is_err());
}
