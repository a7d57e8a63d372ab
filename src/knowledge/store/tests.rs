use super::*;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::clock::TestClock;
use crate::knowledge::{EditError, Equipment, KnowledgeDocument, Space};

/// Options for tests whose files nobody writes step by step.
pub(super) fn at_once() -> StoreOptions {
    StoreOptions {
        rest: Duration::ZERO,
        ..StoreOptions::default()
    }
}

pub(super) fn quick(path: impl Into<PathBuf>) -> KnowledgeStore {
    KnowledgeStore::open_with(path, at_once())
}

#[tokio::test]
async fn a_missing_file_is_an_empty_model_and_a_first_file_is_seen_on_reload() {
    let folder = tempfile::tempdir().unwrap();
    let store = quick(folder.path().join("knowledge.yaml"));
    assert!(matches!(store.snapshot().state, KnowledgeState::Missing));
    let facts = store.file_facts();
    assert_eq!(
        (facts.exists, facts.readable, facts.writable, facts.size),
        (false, false, true, -1)
    );

    let text = "equipment:\n- id: ahu-1\n";
    std::fs::write(store.path(), text).unwrap();
    let before = store.snapshot();
    let after = store.reload().await;
    assert!(matches!(after.state, KnowledgeState::Loaded));
    assert!(after.model.equipment("ahu-1").is_some());
    assert!(
        before.model.equipment("ahu-1").is_none(),
        "a snapshot must not change"
    );
    let facts = store.file_facts();
    assert_eq!(
        (facts.exists, facts.readable, facts.size),
        (true, true, text.len() as i64)
    );
    assert!(facts.last_modified_ms > 0);
}

#[tokio::test]
async fn a_broken_file_is_a_reported_state_and_recovers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("knowledge.yaml");
    std::fs::write(&path, "spaces: 3\n").unwrap();
    let store = quick(&path);
    let KnowledgeState::Unreadable(error) = store.snapshot().state else {
        panic!("a broken file must be reported");
    };
    let text = error.to_string();
    assert!(
        text.contains("knowledge.yaml") && text.contains("spaces"),
        "{text}"
    );

    std::fs::write(&path, [0x66, 0xff, 0x66]).unwrap();
    let KnowledgeState::Unreadable(error) = store.reload().await.state else {
        panic!("a file that is not UTF-8 must be reported");
    };
    assert!(error.to_string().contains("byte 1"));

    std::fs::write(&path, "{\"spaces\": []}").unwrap();
    let snapshot = store.reload().await;
    assert!(matches!(snapshot.state, KnowledgeState::Loaded));
    assert_eq!(snapshot.format, DocumentFormat::Json);
}

#[test]
fn a_folder_in_place_of_the_file_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let store = quick(folder.path());
    assert!(matches!(
        store.snapshot().state,
        KnowledgeState::Unreadable(_)
    ));
}

pub(super) fn editor() -> Editor {
    Editor {
        principal: "ann".to_owned(),
        session_id: "s-1".to_owned(),
        tool: "createEquipment".to_owned(),
    }
}

fn add(
    id: &str,
) -> impl FnOnce(&mut KnowledgeDocument) -> Result<Edited<usize>, EditError> + Send + use<> {
    let id = id.to_owned();
    move |document| {
        document.equipment.push(Equipment {
            id: id.clone(),
            ..Equipment::default()
        });
        Ok(Edited::new(id, document.equipment.len()))
    }
}

#[tokio::test]
async fn an_edit_is_in_the_file_the_model_and_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let store = quick(folder.path().join("knowledge.yaml"));
    let mut changes = store.changes();
    let count = store.edit(&editor(), "createEquipment", add("ahu-1")).await;
    assert_eq!(count.unwrap(), 1);

    assert!(store.snapshot().model.equipment("ahu-1").is_some());
    let text = std::fs::read_to_string(store.path()).unwrap();
    assert_eq!(
        text,
        "schema_version: 1\nspaces: []\nequipment_types: []\nequipment:\n  -\n    id: ahu-1\npoints: []\n"
    );
    let line: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(store.audit_log_path()).unwrap()).unwrap();
    assert_eq!(line["action"], "createEquipment");
    assert_eq!(line["id"], "ahu-1");
    assert_eq!(line["sessionId"], "s-1");
    assert_eq!(line["user"], "ann");
    assert_eq!(line["tool"], "createEquipment");
    assert_eq!(line["change"]["equipment"]["added"][0], "ahu-1");
    assert!(line["ts"].as_str().unwrap().ends_with('Z'));
    assert_eq!(
        *changes.borrow_and_update(),
        KnowledgeChanges {
            snapshots: 1,
            entries: 1
        }
    );
}

/// Edits by name, without reading a text first.
pub(super) async fn put(store: &KnowledgeStore, id: &str) -> Result<usize, EditError> {
    store.edit(&editor(), "createEquipment", add(id)).await
}

fn names(folder: &tempfile::TempDir) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn at(time: &str) -> Arc<TestClock> {
    Arc::new(TestClock::at(time.parse().unwrap()))
}

#[tokio::test]
async fn a_refused_change_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = quick(folder.path().join("knowledge.yaml"));
    let outcome: Result<(), _> = store
        .edit(&editor(), "createSpace", |document| {
            document.spaces.push(Space::default());
            Err(EditError::refused("The id is missing.").with("missing", "id"))
        })
        .await;
    let Err(EditError::Refused { message, data }) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(
        (message.as_str(), &data["missing"]),
        ("The id is missing.", &json!("id"))
    );
    assert!(store.snapshot().model.document().spaces.is_empty());
    assert_eq!(names(&folder), Vec::<String>::new());
    assert_eq!(store.changes().borrow().snapshots, 0);
}

#[tokio::test]
async fn a_change_that_panics_leaves_the_store_usable() {
    let folder = tempfile::tempdir().unwrap();
    let store = quick(folder.path().join("knowledge.yaml"));
    let outcome: Result<(), _> = store
        .edit(&editor(), "createSpace", |_| {
            panic!("a fault in an operation")
        })
        .await;
    assert!(
        matches!(outcome, Err(EditError::Interrupted { .. })),
        "{outcome:?}"
    );
    assert_eq!(put(&store, "ahu-1").await.unwrap(), 1);
}

#[tokio::test]
async fn an_edit_goes_on_when_its_caller_stops_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let store = quick(folder.path().join("knowledge.yaml"));
    let mut changes = store.changes();
    let waited = {
        let edit = put(&store, "ahu-1");
        // The first poll hands the work over; then the caller goes away.
        tokio::time::timeout(std::time::Duration::ZERO, edit).await
    };
    if waited.is_err() {
        changes.changed().await.unwrap();
    }
    assert_eq!(put(&store, "ahu-2").await.unwrap(), 2);
}

#[tokio::test]
async fn a_file_that_somebody_changed_is_not_overwritten_until_it_was_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = quick(folder.path().join("knowledge.yaml"));
    put(&store, "ours").await.unwrap();
    let theirs = "equipment:\n- id: theirs\n";
    std::fs::write(store.path(), theirs).unwrap();

    let outcome = put(&store, "more").await;
    assert!(
        matches!(outcome, Err(EditError::ChangedOnDisk { .. })),
        "{outcome:?}"
    );
    assert_eq!(std::fs::read_to_string(store.path()).unwrap(), theirs);
    assert!(store.snapshot().model.equipment("theirs").is_some());

    store.reload().await;
    assert_eq!(put(&store, "more").await.unwrap(), 2);
    assert!(store.snapshot().model.equipment("theirs").is_some());

    std::fs::remove_file(store.path()).unwrap();
    let outcome = put(&store, "again").await;
    assert!(
        matches!(outcome, Err(EditError::ChangedOnDisk { .. })),
        "{outcome:?}"
    );
    assert!(
        !store.path().exists(),
        "a file that was taken away stays away"
    );
}

#[tokio::test]
async fn an_unreadable_file_is_edited_by_nobody_and_replaced_only_with_a_copy_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("knowledge.yaml");
    let broken = "equipment:\n- id: ahu-1\n  name: \"no end\n";
    std::fs::write(&path, broken).unwrap();
    let options = StoreOptions {
        auto_backup: false,
        clock: at("2026-05-09T10:11:12Z"),
        ..at_once()
    };
    let store = KnowledgeStore::open_with(&path, options);
    assert!(store.readable().is_err());
    let outcome = put(&store, "ahu-2").await;
    let Err(EditError::Unreadable(error)) = outcome else {
        panic!("{outcome:?}");
    };
    assert!(error.to_string().contains("line"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), broken);

    let replaced = store
        .replace(&editor(), "importKnowledge", add("ahu-2"))
        .await;
    assert_eq!(replaced.unwrap(), 1);
    assert!(store.readable().is_ok());
    assert_eq!(
        names(&folder),
        [
            "knowledge.audit.log",
            "knowledge.yaml",
            "knowledge.yaml.unreadable.2026-05-09T10-11-12.bak"
        ]
    );
    let kept = folder
        .path()
        .join("knowledge.yaml.unreadable.2026-05-09T10-11-12.bak");
    assert_eq!(std::fs::read_to_string(kept).unwrap(), broken);
}

#[tokio::test]
async fn the_setting_read_only_is_asked_at_every_edit() {
    let folder = tempfile::tempdir().unwrap();
    let read_only = Arc::new(AtomicBool::new(true));
    let switch = read_only.clone();
    let options = StoreOptions {
        read_only: Arc::new(move || switch.load(Ordering::Relaxed)),
        ..at_once()
    };
    let store = KnowledgeStore::open_with(folder.path().join("knowledge.yaml"), options);
    let outcome = put(&store, "ahu-1").await;
    assert!(
        matches!(outcome, Err(EditError::ReadOnly { .. })),
        "{outcome:?}"
    );
    assert!(!store.path().exists());
    read_only.store(false, Ordering::Relaxed);
    assert_eq!(put(&store, "ahu-1").await.unwrap(), 1);
}

#[tokio::test]
async fn the_newest_backups_are_kept_and_hold_the_files_before_each_change() {
    let folder = tempfile::tempdir().unwrap();
    let clock = at("2026-05-09T10:00:00Z");
    let options = StoreOptions {
        backup_count: 2,
        clock: clock.clone(),
        ..at_once()
    };
    let store = KnowledgeStore::open_with(folder.path().join("knowledge.yaml"), options);
    let mut texts = Vec::new();
    let own = folder.path().join("knowledge.yaml.bak.before-the-move");
    std::fs::write(&own, "a copy that somebody made").unwrap();
    for edit in 0..5 {
        put(&store, &format!("e{edit}")).await.unwrap();
        texts.push(std::fs::read_to_string(store.path()).unwrap());
        clock.advance(std::time::Duration::from_secs(1));
    }
    assert_eq!(
        names(&folder),
        [
            "knowledge.audit.log",
            "knowledge.yaml",
            "knowledge.yaml.bak.2026-05-09T10-00-03",
            "knowledge.yaml.bak.2026-05-09T10-00-04",
            "knowledge.yaml.bak.before-the-move",
        ]
    );
    let backup = |second| {
        let name = format!("knowledge.yaml.bak.2026-05-09T10-00-0{second}");
        std::fs::read_to_string(folder.path().join(name)).unwrap()
    };
    assert_eq!((backup(3), backup(4)), (texts[2].clone(), texts[3].clone()));

    // Two changes in one second: the later file takes the name.
    put(&store, "e5").await.unwrap();
    put(&store, "e6").await.unwrap();
    assert!(backup(5).contains("e5"));
    assert_eq!(names(&folder).len(), 5);
}

#[tokio::test]
async fn without_backups_the_file_stands_alone() {
    for (auto_backup, backup_count) in [(false, 5), (true, 0)] {
        let folder = tempfile::tempdir().unwrap();
        let options = StoreOptions {
            auto_backup,
            backup_count,
            ..at_once()
        };
        let store = KnowledgeStore::open_with(folder.path().join("knowledge.yaml"), options);
        put(&store, "a").await.unwrap();
        put(&store, "b").await.unwrap();
        assert_eq!(names(&folder), ["knowledge.audit.log", "knowledge.yaml"]);
    }
}

#[tokio::test]
async fn an_older_schema_is_raised_with_its_file_kept_outside_the_rotation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("knowledge.yaml");
    let old = "schema_version: 0\nequipment:\n- id: ahu-1\n";
    std::fs::write(&path, old).unwrap();
    let options = StoreOptions {
        backup_count: 1,
        ..at_once()
    };
    let store = KnowledgeStore::open_with(&path, options);
    assert_eq!(store.snapshot().model.document().schema_version, 0);
    for id in ["ahu-2", "ahu-3", "ahu-4"] {
        put(&store, id).await.unwrap();
    }
    assert!(
        std::fs::read_to_string(&path)
            .unwrap()
            .starts_with("schema_version: 1\n")
    );
    let kept = folder.path().join("knowledge.yaml.schema-0.bak");
    assert_eq!(std::fs::read_to_string(kept).unwrap(), old);
}

#[tokio::test]
async fn what_this_version_does_not_know_outlives_edits_of_the_entry_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("knowledge.yaml");
    let text = "schema_version: 1
station:
  id: harbor
  _note: kept
spaces: []
equipment_types: []
equipment:
  -
    id: ahu-1
    name: AHU 1
    points:
      supply: station:|slot:/AHU1/Supply
      return: station:|slot:/AHU1/Return
    _walkthrough:
      confirmed_by: ann
      confirmed_at: 2026-05-09T10:00:00Z
    vendor:
      -
        name: Trane
        years:
          - 2019
          - 2.5
points: []
schedules:
  -
    id: office
_exported_by: somebody
";
    std::fs::write(&path, text).unwrap();
    let store = quick(&path);
    store
        .edit(&editor(), "updateEquipment", |document| {
            document.equipment[0].name = Some("Air handler".to_owned());
            Ok(Edited::new("ahu-1", ()))
        })
        .await
        .unwrap();
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        text.replace("AHU 1", "Air handler")
            .replace("2026-05-09T10:00:00Z", "\"2026-05-09T10:00:00Z\"")
    );
}

#[tokio::test]
async fn a_json_file_stays_json() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("knowledge.yaml");
    std::fs::write(&path, "{\"equipment\":[{\"id\":\"ahu-1\"}]}").unwrap();
    let store = quick(&path);
    put(&store, "ahu-2").await.unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(
        text.starts_with("{\n  \"schema_version\": 1,\n  \"spaces\": [],"),
        "{text}"
    );
    assert_eq!(quick(&path).snapshot().format, DocumentFormat::Json);
    assert_eq!(store.snapshot().format, DocumentFormat::Json);
}

#[tokio::test]
async fn a_document_that_could_not_be_read_again_is_not_saved() {
    let folder = tempfile::tempdir().unwrap();
    let store = quick(folder.path().join("knowledge.yaml"));
    let outcome = store
        .edit(&editor(), "updateEquipment", |document| {
            document.equipment.push(Equipment {
                notes: vec!["x".repeat(11 * 1024 * 1024)],
                ..Equipment::default()
            });
            Ok(Edited::new("", ()))
        })
        .await;
    assert!(
        matches!(outcome, Err(EditError::Document(_))),
        "{outcome:?}"
    );
    assert!(!store.path().exists());
    assert!(store.snapshot().model.document().equipment.is_empty());
}

#[tokio::test]
async fn a_log_that_cannot_be_written_is_told_and_the_edit_stays() {
    let folder = tempfile::tempdir().unwrap();
    let store = quick(folder.path().join("knowledge.yaml"));
    std::fs::create_dir(store.audit_log_path()).unwrap();
    assert_eq!(put(&store, "ahu-1").await.unwrap(), 1);
    assert!(
        quick(store.path())
            .snapshot()
            .model
            .equipment("ahu-1")
            .is_some()
    );
    assert!(store.audit_failure().is_some());
    std::fs::remove_dir(store.audit_log_path()).unwrap();
    put(&store, "ahu-2").await.unwrap();
    assert_eq!(store.audit_failure(), None);
}

#[tokio::test]
async fn a_save_that_fails_changes_neither_model_nor_file() {
    let folder = tempfile::tempdir().unwrap();
    let blocked = folder.path().join("file");
    std::fs::write(&blocked, "").unwrap();
    let store = quick(blocked.join("knowledge.yaml"));
    let outcome = put(&store, "ahu-1").await;
    assert!(outcome.is_err(), "{outcome:?}");
    assert!(store.snapshot().model.document().equipment.is_empty());
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_stays_a_link_and_its_file_is_changed() {
    let folder = tempfile::tempdir().unwrap();
    let (link, file) = (
        folder.path().join("knowledge.yaml"),
        folder.path().join("site/real.yaml"),
    );
    std::fs::create_dir(folder.path().join("site")).unwrap();
    std::fs::write(&file, "equipment: []\n").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let store = quick(&link);
    put(&store, "ahu-1").await.unwrap();
    assert!(link.is_symlink());
    assert!(std::fs::read_to_string(&file).unwrap().contains("ahu-1"));
}

#[tokio::test]
async fn a_change_by_another_program_is_taken_up_and_announced() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(quick(folder.path().join("knowledge.yaml")));
    put(&store, "ours").await.unwrap();
    let stop = CancellationToken::new();
    store.watch(stop.clone()).unwrap();
    let mut changes = store.changes();
    changes.borrow_and_update();

    let edited = folder.path().join("edited");
    std::fs::write(&edited, "equipment:\n- id: theirs\n").unwrap();
    std::fs::rename(&edited, store.path()).unwrap();
    tokio::time::timeout(std::time::Duration::from_secs(20), changes.changed())
        .await
        .expect("the change is noticed")
        .unwrap();
    assert_eq!(
        *changes.borrow(),
        KnowledgeChanges {
            snapshots: 2,
            entries: 2
        }
    );
    assert_eq!(put(&store, "ours").await.unwrap(), 2);
    stop.cancel();
}

#[cfg(unix)]
#[tokio::test]
async fn a_pipe_in_place_of_the_file_keeps_nobody_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("knowledge.yaml");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    let store = quick(&path);
    let error = store.readable().unwrap_err().to_string();
    assert!(error.contains("no regular file"), "{error}");
}
