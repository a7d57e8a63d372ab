//! Two bridges on one store: writers wait for each other, readers get the old state, the new one, or are told to ask again.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use niagara_bridge::trends::store::{Observer, Selection, StoreError, StoreStep, TrendStore};

use crate::store_support::{id, point, samples, write};

fn filled() -> (tempfile::TempDir, TrendStore) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = TrendStore::create(folder.path()).expect("a store");
    let mut writer = write(&store);
    for month in 1..7 {
        let begin = format!("2024-0{month}-01");
        writer
            .append(
                &id("hq"),
                &[point("AHU-1", "oat", &begin, 60, 200, 0.0)],
                None,
            )
            .expect("appended");
    }
    drop(writer);
    (folder, store)
}

#[test]
fn a_second_writer_waits_and_a_reader_does_not() {
    let (folder, ours) = filled();
    let theirs = TrendStore::open(folder.path()).expect("a store");
    let held = write(&ours);
    let refused = theirs.writer(Duration::ZERO).expect_err("held");
    assert!(matches!(refused, StoreError::Locked { .. }), "{refused}");
    assert_eq!(refused.retryable(), None);
    assert_eq!(samples(&theirs, "hq").len(), 1_200);
    drop(held);
    theirs.writer(Duration::ZERO).expect("free");
}

#[test]
fn a_read_that_a_swap_overlaps_is_made_once_more_then_given_up() {
    let (folder, ours) = filled();
    let theirs = TrendStore::open(folder.path()).expect("a store");
    let replace = |first: f64| {
        let mut staged = theirs.stage_facility(&id("hq")).expect("scratch");
        let rows = point("AHU-1", "oat", "2024-01-01", 60, 200, first);
        staged.add(&[rows]).expect("added");
        staged.commit(&mut write(&theirs), None).expect("replaced");
    };
    let reads = AtomicUsize::new(0);
    let read = |interrupted: usize| {
        reads.store(0, Ordering::SeqCst);
        ours.read(&id("hq"), |view| {
            let series = view.equipment("AHU-1", &Selection::default())?;
            if reads.fetch_add(1, Ordering::SeqCst) < interrupted {
                replace(7.0);
            }
            Ok(series.roles["oat"].len())
        })
    };
    assert_eq!(read(0).expect("undisturbed"), 1_200);
    assert_eq!(read(1).expect("the new state"), 200);
    assert_eq!(reads.load(Ordering::SeqCst), 2);
    let error = read(2).expect_err("twice overlapped");
    assert!(matches!(error, StoreError::Replaced { .. }), "{error}");
    assert_eq!(error.retryable(), Some(true));
    assert_eq!(read(0).expect("undisturbed"), 200);
}

#[test]
fn readers_wait_for_a_swap_and_are_told_when_it_takes_too_long() {
    let (folder, ours) = filled();
    let (reached, at_step) = mpsc::channel();
    let (go_on, waiting) = mpsc::channel::<()>();
    let waiting = std::sync::Mutex::new(waiting);
    let slow = TrendStore::open(folder.path())
        .expect("a store")
        .with_observer(Observer::new(move |step| {
            if step == StoreStep::OldMovedAway {
                reached.send(()).expect("a listener");
                waiting.lock().expect("one swap").recv().expect("a word");
            }
        }));
    std::thread::scope(|scope| {
        let swap = scope.spawn(|| {
            let mut staged = slow.stage_facility(&id("hq")).expect("scratch");
            let rows = point("AHU-1", "oat", "2024-01-01", 60, 200, 9.0);
            staged.add(&[rows]).expect("added");
            staged.commit(&mut write(&slow), None).expect("replaced");
        });
        at_step.recv().expect("the swap begins");
        // The facility has no folder now, and the swap does not go on within the second that readers wait.
        let error = ours
            .equipment(&id("hq"), "AHU-1", &Selection::default())
            .expect_err("busy");
        assert!(matches!(error, StoreError::Busy { .. }), "{error}");
        assert_eq!(error.retryable(), Some(true));
        go_on.send(()).expect("a listener");
        swap.join().expect("replaced");
    });
    assert_eq!(samples(&ours, "hq").len(), 200);
}

/// A writer replaces, packs and appends while others read as fast as they can: no read ever mixes two states.
#[test]
fn a_reader_never_sees_half_a_swap() {
    let (folder, ours) = filled();
    let states = [1_200, 200];
    let done = AtomicBool::new(false);
    let seen = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let reader = TrendStore::open(folder.path()).expect("a store");
                while !done.load(Ordering::SeqCst) {
                    match reader.equipment(&id("hq"), "AHU-1", &Selection::default()) {
                        Ok(series) => {
                            let oat = &series.roles["oat"];
                            assert!(states.contains(&oat.len()), "{}", oat.len());
                            seen.fetch_add(1, Ordering::SeqCst);
                        }
                        Err(error) => assert_eq!(error.retryable(), Some(true), "{error}"),
                    }
                }
            });
        }
        for round in 0..12 {
            let mut staged = ours.stage_facility(&id("hq")).expect("scratch");
            let months = if round % 2 == 0 { 1..2 } else { 1..7 };
            for month in months {
                let begin = format!("2024-0{month}-01");
                let rows = point("AHU-1", "oat", &begin, 60, 200, f64::from(round));
                staged.add(&[rows]).expect("added");
            }
            staged.commit(&mut write(&ours), None).expect("replaced");
        }
        done.store(true, Ordering::SeqCst);
    });
    assert_eq!(samples(&ours, "hq").len(), 1_200);
}
