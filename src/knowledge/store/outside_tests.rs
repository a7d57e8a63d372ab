//! Other programs change, remove or replace the file: nothing they write is lost, and readers see it.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::tests::{at_once, editor, put, quick};
use super::*;
use crate::knowledge::{EditError, Equipment, KnowledgeUnreadable};

const FIRST: &str = "equipment:\n- id: first\n";
const SECOND: &str = "equipment:\n- id: second\n";
const BROKEN: &str = "equipment: 3\n";

fn ids(store: &KnowledgeStore) -> Vec<String> {
    let snapshot = store.snapshot();
    let entries = &snapshot.model.document().equipment;
    entries.iter().map(|entry| entry.id.clone()).collect()
}

/// As editors do that write another file and rename it.
fn save_by_rename(path: &Path, text: &str) {
    let edited = path.with_extension("edited");
    std::fs::write(&edited, text).unwrap();
    std::fs::rename(&edited, path).unwrap();
}

/// A store that watches its file, and the changes of its model.
struct Watched {
    store: Arc<KnowledgeStore>,
    changes: watch::Receiver<KnowledgeChanges>,
    stop: CancellationToken,
    _folder: tempfile::TempDir,
}

impl Watched {
    fn holding(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("knowledge.yaml");
        std::fs::write(&path, text).unwrap();
        let store = Arc::new(quick(path));
        let stop = CancellationToken::new();
        store.watch(stop.clone()).unwrap();
        Self {
            changes: store.changes(),
            store,
            stop,
            _folder: folder,
        }
    }

    /// Waits until the model is one that the check accepts.
    async fn until(&mut self, what: &str, check: impl Fn(&KnowledgeSnapshot) -> bool) {
        let store = self.store.clone();
        let seen = self.changes.wait_for(|_| check(&store.snapshot()));
        tokio::time::timeout(Duration::from_secs(20), seen)
            .await
            .unwrap_or_else(|_| panic!("{what} is not noticed"))
            .unwrap();
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn holds(id: &'static str) -> impl Fn(&KnowledgeSnapshot) -> bool {
    move |snapshot| {
        matches!(snapshot.state, KnowledgeState::Loaded) && snapshot.model.equipment(id).is_some()
    }
}

#[tokio::test]
async fn an_earlier_content_that_comes_back_after_a_reading_or_a_save_is_noticed() {
    let mut watched = Watched::holding(FIRST);
    let path = watched.store.path().to_owned();

    std::fs::write(&path, SECOND).unwrap();
    watched.store.reload().await;
    assert_eq!(ids(&watched.store), ["second"]);
    std::fs::write(&path, FIRST).unwrap();
    watched
        .until("the first content after a reload", holds("first"))
        .await;

    put(&watched.store, "ours").await.unwrap();
    save_by_rename(&path, FIRST);
    watched
        .until("the first content after a save", |snapshot| {
            snapshot.model.equipment("ours").is_none()
        })
        .await;
    assert_eq!(ids(&watched.store), ["first"]);
}

#[tokio::test]
async fn a_broken_file_that_was_replaced_and_comes_back_is_broken_again() {
    let mut watched = Watched::holding(BROKEN);
    let path = watched.store.path().to_owned();
    std::fs::write(&path, FIRST).unwrap();
    watched.store.reload().await;
    assert!(watched.store.readable().is_ok());
    std::fs::write(&path, BROKEN).unwrap();
    watched
        .until("the broken file", |snapshot| {
            matches!(snapshot.state, KnowledgeState::Unreadable(_))
        })
        .await;
}

#[tokio::test]
async fn a_file_that_comes_back_after_a_reading_without_it_is_noticed() {
    let mut watched = Watched::holding(FIRST);
    let path = watched.store.path().to_owned();
    std::fs::remove_file(&path).unwrap();
    let empty = watched.store.reload().await;
    assert!(matches!(empty.state, KnowledgeState::Missing));
    std::fs::write(&path, FIRST).unwrap();
    watched.until("the file", holds("first")).await;
}

#[tokio::test]
async fn a_file_that_vanishes_leaves_its_last_model_marked_as_such_until_it_is_back() {
    let mut watched = Watched::holding(FIRST);
    let path = watched.store.path().to_owned();
    std::fs::remove_file(&path).unwrap();
    let is_lost = |snapshot: &KnowledgeSnapshot| matches!(snapshot.state, KnowledgeState::Lost(_));
    watched.until("the loss", is_lost).await;
    let snapshot = watched.store.readable().unwrap();
    assert!(snapshot.model.equipment("first").is_some());
    let staleness = snapshot.staleness().expect("a remark");
    assert!(staleness.contains("not there any more"), "{staleness}");
    let refused = put(&watched.store, "more").await;
    assert!(
        matches!(&refused, Err(EditError::Unreadable(KnowledgeUnreadable { detail, .. }))
            if matches!(**detail, KnowledgeError::Gone { .. })),
        "{refused:?}"
    );
    assert!(!path.exists());

    std::fs::create_dir(&path).unwrap();
    watched
        .until("the folder in its place", |snapshot| {
            matches!(&snapshot.state, KnowledgeState::Lost(error)
                if error.to_string().contains("no regular file"))
        })
        .await;
    let reloaded = watched.store.reload().await;
    assert!(
        reloaded.problem().is_some() && reloaded.model.equipment("first").is_some(),
        "a folder is no reason to forget the model"
    );

    std::fs::remove_dir(&path).unwrap();
    std::fs::write(&path, FIRST).unwrap();
    watched.until("the same file again", holds("first")).await;
    assert_eq!(watched.store.file_problem(), None);
    put(&watched.store, "more").await.unwrap();
    assert_eq!(ids(&watched.store), ["first", "more"]);
}

#[tokio::test]
async fn a_lost_file_is_written_anew_when_a_reload_accepted_its_loss() {
    let folder = tempfile::tempdir().unwrap();
    let store = quick(folder.path().join("knowledge.yaml"));
    assert_eq!(store.file_problem(), None, "there never was one");
    put(&store, "ours").await.unwrap();
    std::fs::remove_file(store.path()).unwrap();
    let problem = store.file_problem().expect("a problem at once");
    assert!(problem.contains("not there any more"), "{problem}");

    assert!(put(&store, "more").await.is_err());
    assert_eq!(ids(&store), ["ours"], "readers keep what there was");
    assert!(put(&store, "more").await.is_err());

    assert!(matches!(
        store.reload().await.state,
        KnowledgeState::Missing
    ));
    assert_eq!(store.file_problem(), None);
    put(&store, "anew").await.unwrap();
    assert_eq!(ids(&quick(store.path())), ["anew"]);
}

#[tokio::test]
async fn a_refused_edit_shows_readers_what_stood_in_its_way() {
    let folder = tempfile::tempdir().unwrap();
    let store = quick(folder.path().join("knowledge.yaml"));
    put(&store, "ours").await.unwrap();
    std::fs::write(store.path(), SECOND).unwrap();
    let refused = put(&store, "more").await;
    assert!(
        matches!(refused, Err(EditError::ChangedOnDisk { kept: None, .. })),
        "{refused:?}"
    );
    assert_eq!(ids(&store), ["second"]);

    std::fs::write(store.path(), BROKEN).unwrap();
    assert!(put(&store, "more").await.is_err());
    assert!(store.readable().is_err());
    assert_eq!(std::fs::read_to_string(store.path()).unwrap(), BROKEN);
}

/// A store at whose saves somebody else does something after the given steps.
fn disturbed(
    path: &Path,
    auto_backup: bool,
    disturb: impl Fn(SaveStep, &Path) + Send + Sync + 'static,
) -> KnowledgeStore {
    let file = path.to_owned();
    let options = StoreOptions {
        auto_backup,
        observer: Arc::new(move |step| disturb(step, &file)),
        ..at_once()
    };
    KnowledgeStore::open_with(path, options)
}

/// Names beside the knowledge file that a save left and that are no backup of the rotation.
fn left_over(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path.parent().unwrap()).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| {
            name != "knowledge.yaml" && !name.contains(".bak.") && name != AUDIT_LOG_NAME
        })
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn what_an_editor_saves_between_the_check_and_the_rename_stays() {
    type Save = fn(&Path, &str);
    let in_place: Save = |path, text| std::fs::write(path, text).unwrap();
    for (way, save) in [("in place", in_place), ("by rename", save_by_rename)] {
        for at in [SaveStep::Checked, SaveStep::BackedUp] {
            for auto_backup in [true, false] {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("knowledge.yaml");
                std::fs::write(&path, FIRST).unwrap();
                let store = disturbed(&path, auto_backup, move |step, path| {
                    if step == at {
                        save(path, SECOND);
                    }
                });
                let refused = put(&store, "ours").await;
                assert!(
                    matches!(refused, Err(EditError::ChangedOnDisk { kept: None, .. })),
                    "{way} at {at:?}: {refused:?}"
                );
                let text = std::fs::read_to_string(&path).unwrap();
                assert_eq!(text, SECOND, "{way} at {at:?}");
                assert_eq!(ids(&store), ["second"], "{way} at {at:?}");
                assert_eq!(left_over(&path), [""; 0], "{way} at {at:?}");
                assert!(!store.audit_log_path().exists(), "nothing was edited");
            }
        }
    }
}

#[tokio::test]
async fn a_file_that_is_made_or_taken_away_in_that_moment_stays_made_or_away() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("knowledge.yaml");
    let store = disturbed(&path, true, |step, path| {
        if step == SaveStep::BackedUp {
            std::fs::write(path, SECOND).unwrap();
        }
    });
    let refused = put(&store, "ours").await;
    assert!(
        matches!(refused, Err(EditError::ChangedOnDisk { .. })),
        "{refused:?}"
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), SECOND);
    assert_eq!(ids(&store), ["second"]);
    assert_eq!(left_over(&path), [""; 0]);

    let store = disturbed(&path, true, |step, path| {
        if step == SaveStep::BackedUp {
            std::fs::remove_file(path).unwrap();
        }
    });
    let refused = put(&store, "ours").await;
    assert!(
        matches!(refused, Err(EditError::ChangedOnDisk { .. })),
        "{refused:?}"
    );
    assert!(!path.exists());
    assert_eq!(left_over(&path), [""; 0]);
    assert!(matches!(store.snapshot().state, KnowledgeState::Lost(_)));
}

#[tokio::test]
async fn of_two_changes_in_one_save_the_later_stays_and_the_earlier_is_kept_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("knowledge.yaml");
    std::fs::write(&path, FIRST).unwrap();
    let store = disturbed(&path, true, |step, path| match step {
        SaveStep::BackedUp => save_by_rename(path, SECOND),
        SaveStep::Replaced => save_by_rename(path, "equipment:\n- id: third\n"),
        _ => {}
    });
    let refused = put(&store, "ours").await.unwrap_err();
    let EditError::ChangedOnDisk {
        kept: Some(kept), ..
    } = &refused
    else {
        panic!("{refused:?}");
    };
    assert_eq!(ids(&store), ["third"]);
    assert_eq!(std::fs::read_to_string(kept).unwrap(), SECOND);
    assert!(refused.to_string().contains(&kept.display().to_string()));
    assert_eq!(
        left_over(&path),
        [kept.file_name().unwrap().to_str().unwrap()]
    );
}

#[tokio::test]
async fn an_editor_that_wins_over_a_process_that_dies_is_kept_by_the_next_save() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("knowledge.yaml");
    std::fs::write(&path, FIRST).unwrap();
    // What a save leaves that ends after the files changed places.
    std::fs::write(folder.path().join("knowledge.yaml.swap.17"), SECOND).unwrap();
    std::fs::write(folder.path().join("knowledge.yaml.swap.18"), FIRST).unwrap();
    std::fs::write(folder.path().join("knowledge.yaml.swap.mine"), "mine").unwrap();
    let store = quick(&path);
    put(&store, "ours").await.unwrap();
    let left = left_over(&path);
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left[0].contains(".outside."), "{left:?}");
    let kept = std::fs::read_to_string(folder.path().join(&left[0])).unwrap();
    assert_eq!(kept, SECOND);
    assert_eq!(left[1], "knowledge.yaml.swap.mine");
}

/// An editor saves at any moment of the edits that go on; whatever it saved, an edit must have begun with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_save_of_a_busy_editor_is_lost() {
    const SAVES: usize = 60;
    /// An edit that meets a change is refused and the next begins with it; of so many one does.
    const PATIENCE: usize = 10;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("knowledge.yaml");
    let options = StoreOptions {
        auto_backup: false,
        ..at_once()
    };
    let store = KnowledgeStore::open_with(&path, options);
    let seen = Arc::new(Mutex::new(std::collections::BTreeSet::new()));
    let edits = Arc::new(AtomicUsize::new(0));
    let by_hand = {
        let (path, seen, edits) = (path.clone(), seen.clone(), edits.clone());
        std::thread::spawn(move || {
            let mut lost = Vec::new();
            for number in 0..SAVES {
                let id = format!("hand-{number}");
                for _ in 0..number * 7 {
                    std::thread::yield_now();
                }
                save_by_rename(&path, &format!("equipment:\n- id: {id}\n"));
                let until = edits.load(Ordering::SeqCst) + PATIENCE;
                let is_seen = || seen.lock().unwrap().contains(&id);
                while !is_seen() && edits.load(Ordering::SeqCst) < until {
                    std::thread::yield_now();
                }
                if !is_seen() {
                    lost.push(id);
                }
            }
            lost
        })
    };
    while !by_hand.is_finished() {
        let outcome = store
            .edit(&editor(), "createEquipment", |document| {
                let entries = document.equipment.iter();
                let before: Vec<String> = entries.map(|entry| entry.id.clone()).collect();
                document.equipment.push(Equipment {
                    id: format!("edit-{}", before.len()),
                    ..Equipment::default()
                });
                Ok(Edited::new("edit", before))
            })
            .await;
        match outcome {
            Ok(before) => {
                seen.lock().unwrap().extend(before);
                edits.fetch_add(1, Ordering::SeqCst);
            }
            Err(EditError::ChangedOnDisk { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(by_hand.join().unwrap(), [""; 0], "saves that are lost");
    // Each save by hand takes away what the edits added: that is told, and the model kept.
    let mut left = left_over(&path);
    left.retain(|name| !name.contains(".earlier."));
    assert_eq!(left, [""; 0]);
}
