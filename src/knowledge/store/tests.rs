use super::*;
use crate::knowledge::{EditError, Equipment, KnowledgeDocument};

#[tokio::test]
async fn a_missing_file_is_an_empty_model_and_a_first_file_is_seen_on_reload() {
    let folder = tempfile::tempdir().unwrap();
    let store = KnowledgeStore::open(folder.path().join("knowledge.yaml"));
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
    let store = KnowledgeStore::open(&path);
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
    let store = KnowledgeStore::open(folder.path());
    assert!(matches!(
        store.snapshot().state,
        KnowledgeState::Unreadable(_)
    ));
}

fn editor() -> Editor {
    Editor {
        principal: "ann".to_owned(),
        session_id: "s-1".to_owned(),
        tool: "createEquipment".to_owned(),
    }
}

fn add(id: &str) -> impl FnOnce(&mut KnowledgeDocument) -> Result<Edited<usize>, EditError> {
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
    let store = KnowledgeStore::open(folder.path().join("knowledge.yaml"));
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
