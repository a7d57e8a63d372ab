//! The process is killed at every step of every change: after the next start nothing is lost, nothing doubled.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use niagara_bridge::trends::store::{EquipmentRows, Observer, Registration, StoreStep, TrendStore};

use crate::store_support::{id, litter, parts, point, samples, stamp, write};

const STORE: &str = "NIAGARA_BRIDGE_TEST_STORE";
const CHANGE: &str = "NIAGARA_BRIDGE_TEST_CHANGE";
const STEP: &str = "NIAGARA_BRIDGE_TEST_STEP";
/// How often the step is passed before the process dies.
const TIMES: &str = "NIAGARA_BRIDGE_TEST_TIMES";

fn more() -> Vec<EquipmentRows> {
    vec![
        point("AHU-1", "oat", "2024-04-29", 60, 96, 1_000.0),
        point("AHU-2", "oat", "2024-04-29", 60, 96, 2_000.0),
    ]
}

/// Does one change; the same in the process that dies and in the one that shows what should have come of it.
fn change(store: &TrendStore, what: &str) {
    let hq = id("hq");
    let registration = Registration::active(Some("Annex"), Some("Europe/Berlin"));
    match what {
        "append" => {
            write(store).append(&hq, &more(), None).expect("appended");
        }
        "first" => {
            let annex = id("annex");
            write(store)
                .append(&annex, &more(), Some(&registration))
                .expect("appended");
        }
        "replace" => {
            let mut staged = store.stage_facility(&hq).expect("scratch");
            staged.add(&more()).expect("added");
            staged.commit(&mut write(store), None).expect("replaced");
        }
        "compact" => {
            let report = write(store).compact(&hq).expect("packed");
            assert!(report.parts_after < report.parts_before, "{report:?}");
        }
        "prune" => {
            write(store)
                .prune(&hq, stamp("2024-02-01"))
                .expect("pruned");
        }
        "remove" => write(store).remove(&hq, "sold").expect("removed"),
        other => panic!("{other} is no change"),
    }
}

/// Three months of two facilities, the last in small pieces.
fn fill(root: &Path) -> TrendStore {
    let store = TrendStore::create(root).expect("a store");
    let mut writer = write(&store);
    let hq = Registration::active(Some("HQ"), None);
    for month in 1..4 {
        let begin = format!("2024-0{month}-01");
        for facility in ["hq", "other"] {
            let rows = point("AHU-1", "oat", &begin, 60, 48, f64::from(month));
            writer
                .append(&id(facility), &[rows], (facility == "hq").then_some(&hq))
                .expect("appended");
        }
    }
    for day in 3..8 {
        let begin = format!("2024-03-0{day}");
        let rows = point("AHU-1", "oat", &begin, 60, 24, f64::from(day));
        writer.append(&id("hq"), &[rows], None).expect("appended");
    }
    drop(writer);
    store
}

/// Not a test of its own: the process that the tests below start and that dies in the middle of a change.
#[test]
#[ignore = "started by the other tests of this file"]
fn a_process_that_dies_while_it_writes() {
    let root = std::env::var_os(STORE).expect("started with a store");
    let what = std::env::var(CHANGE).expect("started with a change");
    let step = std::env::var(STEP).expect("started with a step");
    let times: usize = std::env::var(TIMES)
        .ok()
        .and_then(|times| times.parse().ok())
        .expect("started with a number");
    let passed = AtomicUsize::new(0);
    let store = TrendStore::open(root)
        .expect("a store")
        .with_observer(Observer::new(move |reached| {
            if format!("{reached:?}") == step && passed.fetch_add(1, Ordering::SeqCst) == times {
                std::process::abort();
            }
        }));
    change(&store, &what);
}

/// Whether the process came to the step and died there.
fn dies(root: &Path, what: &str, step: StoreStep, times: usize) -> bool {
    let status = Command::new(std::env::current_exe().expect("this program"))
        .args([
            "--ignored",
            "--exact",
            "store_kill::a_process_that_dies_while_it_writes",
        ])
        .env(STORE, root)
        .env(CHANGE, what)
        .env(STEP, format!("{step:?}"))
        .env(TIMES, times.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("the process starts");
    // A panic of the test would end it with 101.
    assert_ne!(status.code(), Some(101), "{what} {step:?}");
    !status.success()
}

fn all_samples(store: &TrendStore) -> Vec<(String, Vec<String>)> {
    store
        .facilities()
        .expect("facilities")
        .iter()
        .map(|facility| (facility.to_string(), samples(store, facility.as_str())))
        .collect()
}

/// A copy of a store: quicker than filling another one.
fn copy(from: &Path) -> tempfile::TempDir {
    fn into(from: &Path, to: &Path) {
        for entry in std::fs::read_dir(from).expect("a folder") {
            let entry = entry.expect("an entry");
            let target = to.join(entry.file_name());
            if entry.path().is_dir() {
                std::fs::create_dir(&target).expect("a folder");
                into(&entry.path(), &target);
            } else {
                std::fs::copy(entry.path(), target).expect("a copy");
            }
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    into(from, folder.path());
    folder
}

fn survives(what: &str) {
    let origin = tempfile::tempdir().expect("a folder");
    let before = all_samples(&fill(origin.path()));
    let finished = copy(origin.path());
    let store = TrendStore::open(finished.path()).expect("a store");
    change(&store, what);
    let after = all_samples(&store);

    let mut deaths = 0;
    for step in StoreStep::ALL {
        // An append of two months passes some steps twice.
        for times in 0..2 {
            let folder = copy(origin.path());
            if !dies(folder.path(), what, step, times) {
                break;
            }
            deaths += 1;
            let case = format!("{what} killed at {step:?}, {times}");
            let store = TrendStore::open(folder.path()).expect("a store");
            // The next writer tidies up, and does nothing else.
            drop(write(&store));
            let found = all_samples(&store);
            assert!(found == before || found == after, "{case}: {found:?}");
            assert!(litter(folder.path()).is_empty(), "{case}");
            let verdict = store.verify(None).expect("a verdict");
            assert!(
                !verdict.is_damaged() && verdict.leftovers.is_empty(),
                "{case}: {verdict:?}"
            );
            for facility in store.known_facilities().expect("facilities") {
                assert!(
                    !store.fence(&facility).expect("a fence").is_busy(),
                    "{case}"
                );
            }

            // What was begun can be done again where nothing of it came.
            if found == before && before != after {
                change(&store, what);
                assert_eq!(all_samples(&store), after, "{case}");
            }
            let rows = point("AHU-7", "oat", "2024-06-01", 60, 3, 0.0);
            write(&store)
                .append(&id("other"), &[rows], None)
                .expect("the store goes on");
        }
    }
    assert!(deaths >= 3, "{what} passes {deaths} steps");
}

#[test]
fn an_append_comes_whole_or_not_at_all() {
    survives("append");
}

#[test]
fn a_first_ingest_comes_whole_or_not_at_all() {
    survives("first");
}

#[test]
fn a_replaced_facility_is_the_old_or_the_new_one() {
    survives("replace");
}

#[test]
fn packing_changes_no_sample() {
    survives("compact");
}

#[test]
fn pruning_leaves_the_old_or_the_new_content() {
    survives("prune");
}

#[test]
fn a_removal_is_finished_or_was_never_begun() {
    survives("remove");
}

#[test]
fn the_parts_of_an_append_are_known_before_it_is_committed() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = fill(folder.path());
    let mut writer = write(&store);
    let staged = writer.stage_append(&id("hq"), &more()).expect("staged");
    let planned = staged.report().clone();
    drop(staged);
    assert!(litter(folder.path()).is_empty());
    let report = writer.append(&id("hq"), &more(), None).expect("appended");
    assert_eq!(report, planned);
    let there = parts(folder.path());
    assert!(report.parts.iter().all(|part| there.contains(part)));
}
