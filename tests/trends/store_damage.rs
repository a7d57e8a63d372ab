//! A damaged part is an error of its facility, never of the process, and no message names a path.

use niagara_bridge::trends::store::{Selection, StoreError, TrendStore};

use crate::store_support::{id, parts, point, samples, write};

fn two_facilities() -> (tempfile::TempDir, TrendStore) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = TrendStore::create(folder.path()).expect("a store");
    let mut writer = write(&store);
    for facility in ["hq", "annex"] {
        writer
            .append(
                &id(facility),
                &[
                    point("AHU-1", "oat", "2024-03-01", 15, 1_200, 0.0),
                    point("AHU-2", "oat", "2024-03-01", 15, 1_200, 0.0),
                ],
                None,
            )
            .expect("appended");
    }
    drop(writer);
    (folder, store)
}

#[test]
fn a_truncated_part_harms_its_own_facility_only() {
    let (folder, store) = two_facilities();
    assert_eq!(samples(&store, "hq").len(), 2_400);
    let part = folder.path().join(
        parts(folder.path())
            .into_iter()
            .find(|part| part.starts_with("facility_id=hq"))
            .expect("a part"),
    );
    let content = std::fs::read(&part).expect("a part");
    std::fs::write(&part, &content[..content.len() / 2]).expect("damaged");

    let error = store
        .equipment(&id("hq"), "AHU-1", &Selection::default())
        .expect_err("damaged");
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert_eq!(error.retryable(), Some(false));
    assert_eq!(error.facility(), Some(&id("hq")));
    let path = folder.path().to_str().expect("Unicode");
    assert!(error.to_string().contains(path), "{error}");
    let public = error.public_text();
    assert!(
        !public.contains(path) && public.contains("\"hq\""),
        "{public}"
    );
    assert!(!public.contains("part-"), "{public}");

    assert!(store.points(&id("hq")).is_err());
    assert_eq!(samples(&store, "annex").len(), 2_400);
    let verdict = store.verify(None).expect("a verdict");
    assert!(verdict.is_damaged());
    let found = &verdict.facilities[1];
    assert_eq!(
        (found.facility_id.as_str(), found.unreadable.len()),
        ("hq", 1)
    );
    assert!(!write(&store).rebuild_catalogue().expect("no failure"));

    // Repaired from a backup, everything is as before.
    std::fs::write(&part, content).expect("repaired");
    assert_eq!(samples(&store, "hq").len(), 2_400);
}

/// The decoder panics on some damage; whatever it does, the process goes on and the error is typed.
#[test]
fn whatever_bytes_are_changed_the_process_goes_on() {
    let (folder, store) = two_facilities();
    let part = folder.path().join(&parts(folder.path())[0]);
    let content = std::fs::read(&part).expect("a part");
    let mut failures = 0;
    // A walk over the file with changing bytes, the footer densest: it steers the decoder.
    let body = (0..content.len()).step_by(97);
    let footer = content.len().saturating_sub(1_200)..content.len();
    for at in body.chain(footer.step_by(3)) {
        let mut damaged = content.clone();
        damaged[at] ^= [0xff, 0x01, 0x80, 0x7f][at % 4];
        std::fs::write(&part, &damaged).expect("damaged");
        for equip in ["AHU-1", "AHU-2"] {
            match store.equipment(&id("annex"), equip, &Selection::default()) {
                Ok(_) => {}
                Err(StoreError::Damaged { .. } | StoreError::Replaced { .. }) => failures += 1,
                Err(other) => panic!("byte {at}: {other}"),
            }
        }
    }
    assert!(failures > 100, "{failures}");
}

#[test]
fn files_that_are_no_parts_are_told_apart() {
    let (folder, store) = two_facilities();
    let month = folder.path().join("facility_id=hq/year=2024/month=3");
    std::fs::write(month.join("_hidden.parquet"), "not looked at").expect("written");
    std::fs::write(month.join(".hidden.parquet"), "not looked at").expect("written");
    std::fs::write(month.join("notes.txt"), "not a part").expect("written");
    assert_eq!(samples(&store, "hq").len(), 2_400);
    std::fs::write(month.join("empty.parquet"), "").expect("written");
    let error = store
        .view(&id("hq"))
        .expect("a view")
        .span()
        .expect_err("empty");
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
}

#[test]
fn a_part_that_vanishes_after_the_listing_can_be_asked_for_again() {
    let (folder, store) = two_facilities();
    let view = store.view(&id("hq")).expect("a view");
    let part = &parts(folder.path())[2];
    assert!(part.starts_with("facility_id=hq"));
    let path = folder.path().join(part);
    let content = std::fs::read(&path).expect("a part");
    std::fs::remove_file(&path).expect("gone");
    let error = view
        .equipment("AHU-1", &Selection::default())
        .and(view.equipment("AHU-2", &Selection::default()))
        .expect_err("gone");
    assert!(matches!(error, StoreError::Replaced { .. }), "{error}");
    assert_eq!(error.retryable(), Some(true));
    // Put back with other content under the same name, it is still not the part that was listed.
    std::fs::write(&path, &content[..100]).expect("another");
    let error = view
        .equipment("AHU-1", &Selection::default())
        .and(view.equipment("AHU-2", &Selection::default()))
        .expect_err("another");
    assert!(matches!(error, StoreError::Replaced { .. }), "{error}");
}
