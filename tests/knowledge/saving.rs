//! Edits of the store: none is lost, none is half done, and nobody else's work is overwritten.

use std::sync::Arc;

use niagara_bridge::knowledge::{
    EditError, Edited, Editor, Equipment, KnowledgeDocument, KnowledgeStore,
};

pub fn editor(principal: &str) -> Editor {
    Editor {
        principal: principal.to_owned(),
        session_id: format!("session of {principal}"),
        tool: "createEquipment".to_owned(),
    }
}

pub fn add(
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_writers_with_a_thousand_edits_lose_none() {
    const WRITERS: usize = 8;
    const EDITS: usize = 125;
    let folder = tempfile::tempdir().expect("a folder");
    let store = Arc::new(KnowledgeStore::open(folder.path().join("knowledge.yaml")));
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let store = store.clone();
        writers.spawn(async move {
            let editor = editor(&format!("writer {writer}"));
            for edit in 0..EDITS {
                store
                    .edit(
                        &editor,
                        "createEquipment",
                        add(format!("e-{writer}-{edit}")),
                    )
                    .await
                    .expect("an edit");
            }
        });
    }
    while let Some(outcome) = writers.join_next().await {
        outcome.expect("a writer");
    }

    let read_again = KnowledgeStore::open(store.path()).snapshot();
    assert_eq!(
        read_again.model.document(),
        store.snapshot().model.document()
    );
    for writer in 0..WRITERS {
        for edit in 0..EDITS {
            let id = format!("e-{writer}-{edit}");
            assert!(read_again.model.equipment(&id).is_some(), "{id} is lost");
        }
    }
    assert_eq!(read_again.model.document().equipment.len(), WRITERS * EDITS);
    let log = std::fs::read_to_string(store.audit_log_path()).expect("the log");
    assert_eq!(log.lines().count(), WRITERS * EDITS);
    assert_eq!(store.changes().borrow().snapshots, (WRITERS * EDITS) as u64);
}
