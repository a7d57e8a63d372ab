//! Half-written, emptied, lost and mistaken files: nothing of a model is lost by them, and somebody is told.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::tests::{at_once, editor, put, quick};
use super::*;
use crate::clock::TestClock;
use crate::knowledge::{EditError, Edited, KnowledgeUnreadable};

/// A model of `count` equipment entries in file form.
fn model(count: usize) -> String {
    let mut text = "schema_version: 1\nspaces:\n- id: main\nequipment:\n".to_owned();
    for number in 0..count {
        text.push_str(&format!("- id: e-{number}\n  ord: slot:/E{number}\n"));
    }
    text
}

fn equipment(store: &KnowledgeStore) -> usize {
    store.snapshot().model.document().equipment.len()
}

fn copies(folder: &Path, kind: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().contains(&format!(".yaml.{kind}.")))
        .collect();
    found.sort();
    found
}

fn reason(outcome: Result<usize, EditError>) -> Arc<KnowledgeError> {
    let Err(EditError::Unreadable(KnowledgeUnreadable { detail, .. })) = outcome else {
        panic!("{outcome:?}");
    };
    detail
}

/// An editor that empties the file, writes half of it, and goes on when the store lets time pass.
struct SlowEditor {
    file: Arc<Mutex<File>>,
    rest: String,
}

impl SlowEditor {
    fn starts(path: &Path, text: &str) -> Self {
        // Behind a whole entry, where nothing shows that there is more to come.
        let entries: Vec<usize> = text.match_indices("- id: e-").map(|(at, _)| at).collect();
        let (half, rest) = text.split_at(entries[entries.len() / 2]);
        let mut file = File::create(path).unwrap();
        file.write_all(half.as_bytes()).unwrap();
        file.flush().unwrap();
        Self {
            file: Arc::new(Mutex::new(file)),
            rest: rest.to_owned(),
        }
    }

    fn ends(&self) {
        let mut file = self.file.lock().unwrap();
        file.write_all(self.rest.as_bytes()).unwrap();
        file.flush().unwrap();
    }
}

#[tokio::test]
async fn an_edit_waits_for_an_editor_that_has_written_half_and_keeps_all_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("knowledge.yaml");
    std::fs::write(&path, model(4)).unwrap();
    let slow = Arc::new(Mutex::new(None::<SlowEditor>));
    let pauses = Arc::new(AtomicUsize::new(0));
    let options = {
        let (slow, pauses) = (slow.clone(), pauses.clone());
        StoreOptions {
            pause: Arc::new(move |_| {
                if pauses.fetch_add(1, Ordering::SeqCst) == 1 {
                    slow.lock().unwrap().as_ref().unwrap().ends();
                }
            }),
            ..StoreOptions::default()
        }
    };
    let store = KnowledgeStore::open_with(&path, options);
    *slow.lock().unwrap() = Some(SlowEditor::starts(&path, &model(40)));
    // What the watcher of the file does after a moment of quiet.
    store.reload_if_changed().await;
    assert!(equipment(&store) < 40, "half of it");

    let refused = put(&store, "ours").await;
    assert!(
        matches!(refused, Err(EditError::ChangedOnDisk { .. })),
        "{refused:?}"
    );
    assert!(pauses.load(Ordering::SeqCst) > 1);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), model(40));
    assert_eq!(equipment(&store), 40);
    assert_eq!(put(&store, "ours").await.unwrap(), 41);
    assert_eq!(equipment(&quick(&path)), 41);
}

#[tokio::test]
async fn a_file_that_never_rests_is_not_edited_and_the_refusal_says_to_try_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("knowledge.yaml");
    std::fs::write(&path, model(1)).unwrap();
    let restless = path.clone();
    let options = StoreOptions {
        // Two contents by turns: the one that was read is there at the end, but the file was never left alone.
        pause: Arc::new(move |_| {
            let text = std::fs::read_to_string(&restless).unwrap();
            let other = if text == model(1) { model(2) } else { model(1) };
            std::fs::write(&restless, other).unwrap();
        }),
        ..StoreOptions::default()
    };
    let store = KnowledgeStore::open_with(&path, options);
    let refused = put(&store, "ours").await.unwrap_err();
    assert!(
        matches!(refused, EditError::StillChanging { .. }),
        "{refused:?}"
    );
    assert!(refused.to_string().contains("Try again"), "{refused}");
    assert!(!std::fs::read_to_string(&path).unwrap().contains("ours"));
}

#[tokio::test]
async fn a_file_that_was_changed_long_ago_or_here_is_edited_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("knowledge.yaml");
    std::fs::write(&path, model(1)).unwrap();
    let later = chrono::Utc::now() + chrono::TimeDelta::seconds(5);
    let options = StoreOptions {
        clock: Arc::new(TestClock::at(later)),
        pause: Arc::new(|_| panic!("nothing to wait for")),
        ..StoreOptions::default()
    };
    let store = KnowledgeStore::open_with(&path, options.clone());
    assert_eq!(put(&store, "one").await.unwrap(), 2);
    assert_eq!(put(&store, "two").await.unwrap(), 3);
    store.reload().await;
    assert_eq!(put(&store, "three").await.unwrap(), 4);
}

#[tokio::test]
async fn what_goes_into_a_replaced_file_is_kept_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("knowledge.yaml");
    std::fs::write(&path, model(2)).unwrap();
    let store = quick(&path);
    let slow = SlowEditor::starts(&path, &model(30));
    store.reload_if_changed().await;
    put(&store, "ours").await.unwrap();
    store.look_at_replaced_files();
    assert_eq!(copies(folder.path(), "outside"), [""; 0].map(PathBuf::from));

    slow.ends();
    store.look_at_replaced_files();
    let kept = copies(folder.path(), "outside");
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(std::fs::read_to_string(&kept[0]).unwrap(), model(30));
    let told = store.notices().join("\n");
    assert!(told.contains(&kept[0].display().to_string()), "{told}");

    // What comes later still replaces the earlier part of it.
    slow.file.lock().unwrap().write_all(b"# end\n").unwrap();
    drop(store);
    assert_eq!(copies(folder.path(), "outside"), kept);
    assert_eq!(
        std::fs::read_to_string(&kept[0]).unwrap(),
        model(30) + "# end\n"
    );
}

#[tokio::test]
async fn a_reading_that_finds_much_less_is_told_and_the_earlier_model_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("knowledge.yaml");
    std::fs::write(&path, model(30)).unwrap();
    let store = quick(&path);
    put(&store, "ours").await.unwrap();
    assert_eq!(store.notices(), [""; 0]);

    std::fs::write(&path, model(12)).unwrap();
    store.reload_if_changed().await;
    let kept = copies(folder.path(), "earlier");
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(equipment(&quick(&kept[0])), 31, "also what was saved last");
    let told = store.notices().join("\n");
    assert!(
        told.contains("12 of 31 equipment") && told.contains(&kept[0].display().to_string()),
        "{told}"
    );
    // Edits go on, and the remark stays until somebody read it.
    for number in 0..8 {
        put(&store, &format!("more-{number}")).await.unwrap();
    }
    assert_eq!(store.notices().join("\n"), told);
    assert_eq!(copies(folder.path(), "earlier"), kept);
    store.accept();
    assert_eq!(store.notices(), [""; 0]);

    // An ordinary edit by hand is none of that.
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("more-7", "other")).unwrap();
    store.reload_if_changed().await;
    assert_eq!(store.notices(), [""; 0]);
    assert_eq!(copies(folder.path(), "earlier"), kept);
}

#[tokio::test]
async fn a_section_that_is_gone_is_told_and_the_remark_ends_when_it_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("knowledge.yaml");
    std::fs::write(&path, model(30)).unwrap();
    let store = quick(&path);
    std::fs::write(&path, model(30).replace("spaces:\n- id: main\n", "")).unwrap();
    store.reload_if_changed().await;
    let told = store.notices().join("\n");
    assert!(told.contains("0 of 1 spaces"), "{told}");
    std::fs::write(&path, model(30)).unwrap();
    store.reload_if_changed().await;
    assert_eq!(store.notices(), [""; 0]);
}

#[tokio::test]
async fn an_empty_file_is_no_empty_model_at_start_or_later() {
    for nothing in ["", "\n \n", "# only a remark\n", "{}", "\u{feff}"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("knowledge.yaml");
        std::fs::write(&path, model(3)).unwrap();
        let running = quick(&path);
        std::fs::write(&path, nothing).unwrap();
        running.reload_if_changed().await;
        let starting = quick(&path);
        for store in [&running, &starting] {
            let error = reason(put(store, "ours").await);
            assert!(
                matches!(*error, KnowledgeError::Empty { .. }),
                "{nothing:?}: {error}"
            );
            assert!(store.readable().is_err());
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), nothing);
        let kept = copies(folder.path(), "earlier");
        assert_eq!(kept.len(), 1, "{nothing:?}: {kept:?}");
        assert_eq!(equipment(&quick(&kept[0])), 3);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("knowledge.yaml");
    std::fs::write(&path, "schema_version: 1\n").unwrap();
    assert_eq!(put(&quick(&path), "first").await.unwrap(), 1, "meant so");
}

#[tokio::test]
async fn a_lost_file_with_copies_is_not_begun_anew_unless_somebody_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("knowledge.yaml");
    std::fs::write(&path, model(20)).unwrap();
    let clock = Arc::new(TestClock::at("2026-05-09T10:00:00Z".parse().unwrap()));
    let options = StoreOptions {
        clock: clock.clone(),
        backup_count: 2,
        ..at_once()
    };
    put(&KnowledgeStore::open_with(&path, options.clone()), "ours")
        .await
        .unwrap();
    std::fs::remove_file(&path).unwrap();

    let store = KnowledgeStore::open_with(&path, options);
    let error = reason(put(&store, "anew").await);
    let newest = copies(folder.path(), "bak").pop().unwrap();
    let said = error.to_string();
    assert!(
        said.contains(&newest.display().to_string()) && said.contains("startEmpty"),
        "{said}"
    );
    assert!(!path.exists());
    assert!(
        store.reload().await.problem().is_some(),
        "a reload is no consent"
    );

    std::fs::copy(&newest, &path).unwrap();
    store.reload_if_changed().await;
    assert_eq!(put(&store, "restored").await.unwrap(), 21);

    std::fs::remove_file(&path).unwrap();
    store.start_empty(&editor()).await.unwrap();
    for number in 0..6 {
        clock.advance(Duration::from_secs(1));
        put(&store, &format!("anew-{number}")).await.unwrap();
    }
    assert_eq!(equipment(&quick(&path)), 6);
    let earlier: Vec<usize> = copies(folder.path(), "earlier")
        .iter()
        .map(|copy| equipment(&quick(copy)))
        .collect();
    assert!(
        earlier.contains(&20) && earlier.contains(&21),
        "{earlier:?}"
    );
    assert_eq!(copies(folder.path(), "bak").len(), 2);

    // Where there is a file, nobody begins anew.
    store.start_empty(&editor()).await.unwrap();
    assert_eq!(equipment(&store), 6);
}

#[tokio::test]
async fn a_baseline_also_tells_that_there_was_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("knowledge.yaml");
    std::fs::write(folder.path().join("knowledge.baseline.json"), "{}").unwrap();
    let error = reason(put(&quick(&path), "anew").await);
    assert!(
        matches!(*error, KnowledgeError::Absent { copy: None, .. }),
        "{error}"
    );
}

#[tokio::test]
async fn copies_of_a_much_larger_model_are_set_aside_and_not_rotated_away() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("knowledge.yaml");
    std::fs::write(&path, model(50)).unwrap();
    let clock = Arc::new(TestClock::at("2026-05-09T10:00:00Z".parse().unwrap()));
    let options = StoreOptions {
        clock: clock.clone(),
        backup_count: 2,
        ..at_once()
    };
    put(&KnowledgeStore::open_with(&path, options.clone()), "ours")
        .await
        .unwrap();
    // While no bridge runs, somebody puts the file of another, small site in its place.
    std::fs::write(&path, model(1)).unwrap();
    let store = KnowledgeStore::open_with(&path, options);
    for number in 0..8 {
        clock.advance(Duration::from_secs(1));
        put(&store, &format!("small-{number}")).await.unwrap();
    }
    let kept = copies(folder.path(), "earlier");
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(equipment(&quick(&kept[0])), 50);
}

#[tokio::test]
async fn a_change_that_others_may_not_see_is_refused_under_a_read_only_setting() {
    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        read_only: Arc::new(|| true),
        ..at_once()
    };
    let store = KnowledgeStore::open_with(folder.path().join("knowledge.yaml"), options);
    let refused = store.start_empty(&editor()).await;
    assert!(
        matches!(refused, Err(EditError::ReadOnly { .. })),
        "{refused:?}"
    );
    let edit = store
        .edit(&editor(), "x", |_| Ok(Edited::new("", ())))
        .await;
    assert!(matches!(edit, Err(EditError::ReadOnly { .. })));
    assert!(OpenOptions::new().read(true).open(store.path()).is_err());
}

#[tokio::test]
async fn an_edit_waits_for_a_file_that_is_written_so_far_that_it_is_no_document() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("knowledge.yaml");
    std::fs::write(&path, model(1)).unwrap();
    let (edited, rest) = (path.clone(), model(3));
    let options = StoreOptions {
        pause: Arc::new(move |_| {
            if std::fs::read_to_string(&edited).unwrap() != rest {
                std::fs::write(&edited, &rest).unwrap();
            }
        }),
        ..StoreOptions::default()
    };
    let store = KnowledgeStore::open_with(&path, options);
    std::fs::write(&path, "equipment:\n- id: \"hal").unwrap();
    store.reload_if_changed().await;
    assert!(store.readable().is_err());
    assert_eq!(put(&store, "ours").await.unwrap(), 4);
    assert_eq!(equipment(&quick(&path)), 4);
}
