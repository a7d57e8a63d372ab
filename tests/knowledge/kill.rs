//! The process is killed at every step of a save: the file is the old or the new one, never neither.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use niagara_bridge::knowledge::store::SaveStep;
use niagara_bridge::knowledge::{
    EditError, Edited, Editor, Equipment, KnowledgeDocument, KnowledgeState, KnowledgeStore,
    StoreOptions,
};

use crate::desk::at_once;

const FILE: &str = "NIAGARA_BRIDGE_TEST_KNOWLEDGE_FILE";
const STEP: &str = "NIAGARA_BRIDGE_TEST_SAVE_STEP";

fn editor(principal: &str) -> Editor {
    Editor {
        principal: principal.to_owned(),
        session_id: format!("session of {principal}"),
        tool: "createEquipment".to_owned(),
    }
}

fn add(
    id: String,
) -> impl FnOnce(&mut KnowledgeDocument) -> Result<Edited<()>, EditError> + Send + 'static {
    move |document| {
        document.equipment.push(Equipment {
            id: id.clone(),
            ord: Some(format!("station:|slot:/Drivers/{id}")),
            ..Equipment::default()
        });
        Ok(Edited::new(id, ()))
    }
}

/// Not a test of its own: the process that the tests below start and that dies in the middle of a save.
#[tokio::test]
#[ignore = "started by the other tests of this file"]
async fn a_process_that_dies_while_it_saves() {
    let file = std::env::var_os(FILE).expect("started with a file");
    let step = std::env::var(STEP).expect("started with a step");
    let options = StoreOptions {
        observer: Arc::new(move |done| {
            if format!("{done:?}") == step {
                std::process::abort();
            }
        }),
        ..at_once()
    };
    let store = KnowledgeStore::open_with(file, options);
    let outcome = store
        .edit(&editor("ann"), "createEquipment", add("new".to_owned()))
        .await;
    panic!("the process should have died, the edit ended with {outcome:?}");
}

fn save_and_die(file: &Path, step: SaveStep) {
    let status = Command::new(std::env::current_exe().expect("this program"))
        .args([
            "--ignored",
            "--exact",
            "kill::a_process_that_dies_while_it_saves",
        ])
        .env(FILE, file)
        .env(STEP, format!("{step:?}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("the process starts");
    // A panic of the test would end it with 101.
    assert!(
        !status.success() && status.code() != Some(101),
        "{step:?}: {status}"
    );
}

fn ids(store: &KnowledgeStore) -> Vec<String> {
    let snapshot = store.snapshot();
    let entries = &snapshot.model.document().equipment;
    entries.iter().map(|entry| entry.id.clone()).collect()
}

#[tokio::test]
async fn whatever_the_step_the_file_is_the_old_or_the_new_one() {
    for (at, step) in SaveStep::ALL.into_iter().enumerate() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("knowledge.yaml");
        let store = KnowledgeStore::open(&file);
        store
            .edit(&editor("ann"), "createEquipment", add("old".to_owned()))
            .await
            .expect("an edit");
        let old = std::fs::read(&file).expect("a file");
        drop(store);

        save_and_die(&file, step);

        let replaced = SaveStep::ALL[..=at].contains(&SaveStep::Replaced);
        let content = std::fs::read(&file).expect("never neither");
        assert_eq!(content != old, replaced, "{step:?}");
        let store = KnowledgeStore::open_with(&file, at_once());
        let expected: &[&str] = if replaced { &["old", "new"] } else { &["old"] };
        assert_eq!(ids(&store), expected, "{step:?}");

        store
            .edit(&editor("ben"), "createEquipment", add("next".to_owned()))
            .await
            .unwrap_or_else(|error| panic!("an edit after a death at {step:?}: {error}"));
        assert_eq!(
            ids(&KnowledgeStore::open(&file)),
            [expected, &["next"]].concat()
        );
        let left: Vec<String> = names(folder.path())
            .into_iter()
            .filter(|name| name.contains(".tmp"))
            .collect();
        assert!(left.is_empty(), "{step:?} leaves {left:?}");
        let log = std::fs::read_to_string(store.audit_log_path()).expect("the log");
        for line in log.lines() {
            serde_json::from_str::<serde_json::Value>(line).expect("a whole line");
        }
    }
}

#[test]
fn a_death_in_the_first_save_leaves_no_half_a_file() {
    for step in [SaveStep::Created, SaveStep::Filled, SaveStep::Replaced] {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("knowledge.yaml");
        save_and_die(&file, step);
        let store = KnowledgeStore::open(&file);
        if step == SaveStep::Replaced {
            assert_eq!(ids(&store), ["new"]);
        } else {
            assert!(
                matches!(store.snapshot().state, KnowledgeState::Missing),
                "{step:?}"
            );
        }
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect()
}
