//! The file behind the model as clients see it: summary, validation, reading again, and what stands in an edit's way.

use std::sync::Arc;

use niagara_bridge::knowledge::{KnowledgeStore, StoreOptions};
use niagara_bridge::tools::CallContext;
use serde_json::{Value, json};

use crate::desk::{Desk, registry};

const SITE: &str = "station: {id: harbor}
spaces: [{id: main}]
equipment_types: [{id: pump, typical_points: [{role: status, required: true}]}]
equipment:
- {id: p-1, type: pump, space: main, ord: 'slot:/P1', points: {status: 'slot:/P1/Status'}}
- {id: p-2, type: pump, space: main, ord: 'slot:/P2', points: {status: 'slot:/P2/Status'}}
points: [{id: oat, ord: 'slot:/Oat'}]
";

fn pump(id: &str) -> Value {
    json!({"id": id, "name": id, "type": "pump", "ord": format!("slot:/{}", id.replace('-', "_"))})
}

#[tokio::test]
async fn the_summary_counts_and_names_the_file() {
    let desk = Desk::holding(SITE);
    let summary = desk.answer("getKnowledgeSummary", json!({})).await;
    assert_eq!(
        summary,
        json!({
            "schemaVersion": 1,
            "format": "yaml",
            "filePath": desk.store.path().display().to_string(),
            "spaceCount": 1,
            "equipmentTypeCount": 1,
            "equipmentCount": 2,
            "standalonePointCount": 1,
        })
    );
    let json_file = Desk::holding("{\"spaces\": []}");
    let summary = json_file.answer("getKnowledgeSummary", json!({})).await;
    assert_eq!(summary["format"], "json");
}

#[tokio::test]
async fn validation_is_clean_or_names_each_finding() {
    let desk = Desk::holding(SITE);
    let clean = json!({"ok": true, "warningCount": 0, "warnings": []});
    assert_eq!(desk.answer("validateKnowledge", json!({})).await, clean);

    let desk = Desk::holding(&SITE.replace("id: p-2, type: pump", "id: 7, type: fan"));
    let found = desk.answer("validateKnowledge", json!({})).await;
    assert_eq!(
        found,
        json!({
            "ok": false,
            "warningCount": 2,
            "warnings": [
                "equipment '7': unknown type 'fan'",
                "equipment[1].id: the number 7 was taken as text",
            ],
        })
    );
}

#[tokio::test]
async fn a_file_edited_by_hand_is_seen_after_reading_it_again() {
    let desk = Desk::holding(SITE);
    std::fs::write(desk.store.path(), SITE.replace("- {id: p-2", "- {id: p-3")).unwrap();

    let (code, message, data) = desk.failure("createEquipment", pump("p-4")).await;
    assert_eq!(code, -32004);
    assert_eq!(data["reason"], "changed-on-disk");
    assert!(message.contains("Call reloadKnowledge"), "{message}");

    let reloaded = desk.answer("reloadKnowledge", json!({})).await;
    assert_eq!(
        (&reloaded["ok"], &reloaded["equipmentCount"]),
        (&json!(true), &json!(2))
    );
    desk.answer("createEquipment", pump("p-4")).await;
    let ids: Vec<String> = desk
        .on_disk()
        .equipment
        .into_iter()
        .map(|entry| entry.id)
        .collect();
    assert_eq!(ids, ["p-1", "p-3", "p-4"]);

    std::fs::remove_file(desk.store.path()).unwrap();
    let (code, message, data) = desk.failure("reloadKnowledge", json!({})).await;
    assert_eq!((code, &data["reason"]), (-32004, &json!("missing")));
    assert!(
        message.contains(".bak.") && message.contains("startEmpty"),
        "{message}"
    );
    desk.failure("createEquipment", pump("p-5")).await;
    assert!(!desk.store.path().exists());
    let anew = desk
        .answer("reloadKnowledge", json!({"startEmpty": true}))
        .await;
    assert_eq!(anew["equipmentCount"], 0);
    desk.answer("createSpace", json!({"id": "anew", "name": "Anew"}))
        .await;
    assert_eq!(desk.on_disk().spaces.len(), 1);
}

#[tokio::test]
async fn a_file_that_shrank_is_told_by_every_overview_until_it_was_read_again() {
    let desk = Desk::holding(SITE);
    std::fs::write(desk.store.path(), SITE.split("equipment:").next().unwrap()).unwrap();
    desk.store.reload_if_changed().await;
    let found = desk.answer("validateKnowledge", json!({})).await;
    let told = found["warnings"][0].as_str().expect("a warning");
    assert!(
        told.contains("0 of 2 equipment") && told.contains(".earlier."),
        "{told}"
    );
    let summary = desk.answer("getKnowledgeSummary", json!({})).await;
    assert_eq!(summary["notices"], json!([told]));
    let read = desk.answer("reloadKnowledge", json!({})).await;
    assert_eq!(read["warnings"], json!([told]), "for the last time");
    let found = desk.answer("validateKnowledge", json!({})).await;
    assert!(!found.to_string().contains(".earlier."), "{found}");
    let summary = desk.answer("getKnowledgeSummary", json!({})).await;
    assert_eq!(summary.get("notices"), None);
}

#[tokio::test]
async fn warnings_come_page_by_page_with_their_number() {
    let entries: String = (0..30)
        .map(|number| format!("- {{id: p-{number}, type: fan, ord: 'slot:/P{number}'}}\n"))
        .collect();
    let desk = Desk::holding(&format!("equipment:\n{entries}"));
    let whole = desk.answer("validateKnowledge", json!({})).await;
    let all = whole["warnings"].as_array().expect("a list").clone();
    assert_eq!(whole["warningCount"], all.len());
    assert_eq!(whole.get("nextOffset"), None);
    let (mut pages, mut offset) = (Vec::new(), json!(0));
    while !offset.is_null() {
        let page = desk
            .answer("validateKnowledge", json!({"limit": 7, "offset": offset}))
            .await;
        assert_eq!(page["warningCount"], all.len());
        let warnings = page["warnings"].as_array().expect("a list");
        assert!(warnings.len() <= 7);
        pages.extend(warnings.clone());
        offset = page["nextOffset"].clone();
    }
    assert_eq!(pages, all);
}

#[tokio::test]
async fn an_update_cannot_take_away_what_a_new_entry_must_have() {
    let desk = Desk::holding(SITE);
    let before = desk.file();
    for (tool, arguments) in [
        ("updateSpace", json!({"id": "main", "name": ""})),
        ("updateEquipmentType", json!({"id": "pump", "name": " "})),
        ("updateEquipment", json!({"id": "p-1", "name": ""})),
        ("updateEquipment", json!({"id": "p-1", "type": ""})),
        ("updateEquipment", json!({"id": "p-1", "ord": ""})),
        (
            "updateSpace",
            json!({"id": "main", "aliases": ["one\ntwo"]}),
        ),
    ] {
        let (code, message, _) = desk.failure(tool, arguments.clone()).await;
        assert_eq!(code, -32602, "{tool} {arguments}: {message}");
    }
    assert_eq!(desk.file(), before);
}

#[tokio::test]
async fn an_unreadable_file_stops_every_knowledge_tool_with_its_line_until_it_is_repaired() {
    let broken = SITE.replace("points: [{id: oat", "points: {id: oat");
    let desk = Desk::holding(&broken);
    for (tool, arguments) in [
        ("getKnowledgeSummary", json!({})),
        ("validateKnowledge", json!({})),
        ("reloadKnowledge", json!({})),
        ("createEquipment", pump("p-3")),
        ("importKnowledge", json!({"source": "sample"})),
        ("exportKnowledge", json!({})),
    ] {
        let (code, message, data) = desk.failure(tool, arguments).await;
        assert_eq!(code, -32004, "{tool}: {message}");
        assert_eq!(data["reason"], "unreadable", "{tool}");
        assert_eq!(data["path"], desk.store.path().display().to_string());
        assert!(
            data["detail"].as_str().unwrap().contains("line"),
            "{tool}: {data}"
        );
        assert!(message.contains("reloadKnowledge"), "{tool}: {message}");
    }
    assert_eq!(desk.file(), broken, "nobody may touch it");

    std::fs::write(desk.store.path(), SITE).unwrap();
    desk.answer("reloadKnowledge", json!({})).await;
    desk.answer("createEquipment", pump("p-3")).await;
    assert_eq!(desk.on_disk().equipment.len(), 3);
}

#[tokio::test]
async fn a_file_that_is_gone_leaves_answers_marked_as_old_and_no_edits_until_a_reload() {
    let desk = Desk::holding(SITE);
    std::fs::remove_file(desk.store.path()).unwrap();
    let server = desk.answer("getServerInfo", json!({})).await;
    let problem = server["knowledgeFile"]["error"].as_str().expect("an error");
    assert!(problem.contains("not there any more"), "{problem}");

    desk.store.reload_if_changed().await;
    let summary = desk.answer("getKnowledgeSummary", json!({})).await;
    assert_eq!(summary["equipmentCount"], 2);
    let staleness = summary["stale"].as_str().expect("a remark");
    assert!(staleness.contains("not there any more"), "{staleness}");
    let found = desk.answer("findEquipment", json!({"query": "p-1"})).await;
    assert_eq!(found["count"], 1);
    let validated = desk.answer("validateKnowledge", json!({})).await;
    assert_eq!(validated["warnings"], json!([staleness]));
    for (tool, arguments) in [
        ("createEquipment", pump("p-3")),
        (
            "importKnowledge",
            json!({"source": "sample", "mode": "replace"}),
        ),
    ] {
        let (code, message, data) = desk.failure(tool, arguments).await;
        assert_eq!(
            (code, &data["reason"]),
            (-32004, &json!("changed-on-disk")),
            "{tool}"
        );
        assert!(message.contains("reloadKnowledge"), "{message}");
    }
    assert!(!desk.store.path().exists());

    std::fs::create_dir(desk.store.path()).unwrap();
    let (code, message, data) = desk.failure("reloadKnowledge", json!({})).await;
    assert_eq!((code, &data["reason"]), (-32004, &json!("unreadable")));
    assert!(message.contains("no regular file"), "{message}");
    let summary = desk.answer("getKnowledgeSummary", json!({})).await;
    assert_eq!(summary["equipmentCount"], 2);

    std::fs::remove_dir(desk.store.path()).unwrap();
    let reloaded = desk.answer("reloadKnowledge", json!({})).await;
    assert_eq!(reloaded["equipmentCount"], 0);
    desk.answer("createSpace", json!({"id": "new", "name": "New"}))
        .await;
    assert_eq!(desk.on_disk().spaces.len(), 1);
}

#[tokio::test]
async fn ids_that_stand_twice_in_a_file_are_told_and_not_edited() {
    let desk = Desk::holding(&SITE.replace("id: p-2", "id: p-1"));
    let before = desk.file();
    let found = desk.answer("validateKnowledge", json!({})).await;
    let warning = found["warnings"][0].as_str().expect("a warning");
    assert!(warning.contains("equipment[0], equipment[1]"), "{warning}");
    for (tool, arguments) in [
        ("updateEquipment", json!({"id": "p-1", "name": "Pump"})),
        (
            "assignPointToEquipment",
            json!({"equipmentId": "p-1", "role": "speed", "ord": "slot:/P1/Speed"}),
        ),
        (
            "renameKnowledge",
            json!({"kind": "equipment", "id": "p-1", "newId": "p-9"}),
        ),
        ("deleteKnowledge", json!({"kind": "equipment", "id": "p-1"})),
    ] {
        let (code, message, data) = desk.failure(tool, arguments).await;
        assert_eq!(code, -32602, "{tool}: {message}");
        assert_eq!(
            data["paths"],
            json!(["equipment[0]", "equipment[1]"]),
            "{tool}"
        );
    }
    assert_eq!(desk.file(), before);
}

#[tokio::test]
async fn a_section_whose_name_is_mistyped_in_the_file_is_found_by_validation() {
    let desk = Desk::holding(&SITE.replace("spaces:", "spacs:"));
    let found = desk.answer("validateKnowledge", json!({})).await;
    let warnings = found["warnings"].to_string();
    assert!(warnings.contains("write 'spaces'"), "{warnings}");
}

#[tokio::test]
async fn importing_a_whole_model_replaces_an_unreadable_file_and_keeps_a_copy_of_it() {
    let broken = "spaces: 3\n";
    let desk = Desk::holding(broken);
    let arguments = json!({"source": "sample", "mode": "replace"});
    let imported = desk.answer("importKnowledge", arguments).await;
    assert_eq!(imported["added"], 5);
    assert_eq!(desk.on_disk().equipment_types.len(), 5);
    let folder = desk.store.path().parent().unwrap();
    let kept: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().contains(".unreadable."))
        .collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(std::fs::read_to_string(&kept[0]).unwrap(), broken);
}

#[tokio::test]
async fn knowledge_that_is_set_read_only_can_be_read_and_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("knowledge.yaml");
    std::fs::write(&path, SITE).unwrap();
    let options = StoreOptions {
        read_only: Arc::new(|| true),
        ..StoreOptions::default()
    };
    let registry = registry(Arc::new(KnowledgeStore::open_with(&path, options)));
    let call =
        |tool: &'static str, arguments| registry.call(tool, arguments, CallContext::service());
    let summary = call("getKnowledgeSummary", json!({})).await.unwrap();
    assert_eq!(summary["structuredContent"]["equipmentCount"], 2);
    let refused = call("createEquipment", pump("p-3")).await.unwrap();
    assert_eq!(refused["errorCode"], -32004);
    assert_eq!(refused["errorData"]["reason"], "read-only");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), SITE);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_clients_with_a_thousand_edits_lose_none() {
    const CLIENTS: usize = 8;
    const EDITS: usize = 125;
    let desk = Arc::new(Desk::holding(SITE));
    let mut clients = tokio::task::JoinSet::new();
    for client in 0..CLIENTS {
        let desk = desk.clone();
        clients.spawn(async move {
            for edit in 0..EDITS {
                let id = format!("p-{client}-{edit}");
                match edit % 5 {
                    // Every fifth edit goes into the one entry that all clients share.
                    4 => {
                        let role = format!("role-{client}-{edit}");
                        let point = json!({"equipmentId": "p-1", "role": role, "ord": format!("slot:/{}", id.replace('-', "_"))});
                        desk.answer("assignPointToEquipment", point).await;
                    }
                    _ => {
                        desk.answer("createEquipment", pump(&id)).await;
                    }
                }
            }
        });
    }
    while let Some(outcome) = clients.join_next().await {
        outcome.expect("a client");
    }

    let document = desk.on_disk();
    assert_eq!(&document, desk.store.snapshot().model.document());
    for client in 0..CLIENTS {
        for edit in 0..EDITS {
            let there = match edit % 5 {
                4 => document.equipment[0]
                    .points
                    .contains_key(&format!("role-{client}-{edit}")),
                _ => document
                    .equipment
                    .iter()
                    .any(|entry| entry.id == format!("p-{client}-{edit}")),
            };
            assert!(there, "edit {edit} of client {client} is lost");
        }
    }
    assert_eq!(document.equipment.len(), 2 + CLIENTS * EDITS * 4 / 5);
    assert_eq!(desk.log().len(), CLIENTS * EDITS);
    assert_eq!(
        desk.store.changes().borrow().snapshots,
        (CLIENTS * EDITS) as u64
    );
}
