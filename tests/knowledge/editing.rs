//! An integrator maps a site, corrects it, and tidies it up.

use std::sync::Arc;

use niagara_bridge::config::Secret;
use niagara_bridge::knowledge::KnowledgeStore;
use niagara_bridge::mcp::auth::Authenticator;
use niagara_bridge::mcp::bridge::Bridge;
use niagara_bridge::mcp::http::HttpServer;
use niagara_bridge::prompts::PromptRegistry;
use niagara_bridge::resources::ResourceRegistry;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::desk::{Desk, registry};
use crate::support::{Client, TOKEN, healthy, unhurried};

/// A building with a floor, a type, two pieces of equipment and a sensor, made with the tools.
async fn mapped() -> Desk {
    let desk = Desk::empty();
    for (tool, arguments) in [
        (
            "createSpace",
            json!({"id": "hq", "name": "Headquarters", "type": "building"}),
        ),
        (
            "createSpace",
            json!({"id": "floor-1", "name": "First floor", "type": "floor", "parent": "hq"}),
        ),
        (
            "createEquipmentType",
            json!({"id": "ahu", "name": "Air handler", "typical_points": [
                {"role": "sat", "kind": "temperature", "slot_patterns": ["*SupplyTemp*"], "required": true},
                {"role": "fan", "kind": "boolean"}]}),
        ),
        (
            "createEquipment",
            json!({"id": "ahu-1", "name": "AHU 1", "type": "ahu", "space": "floor-1", "ord": "slot:/Drivers/AHU1",
                   "points": {"sat": "slot:/Drivers/AHU1/SupplyTemp"}}),
        ),
        (
            "bulkCreateEquipment",
            json!({"items": [
                {"id": "ahu-2", "name": "AHU 2", "type": "ahu", "ord": "station:|slot:/Drivers/AHU2"},
                {"id": "ahu-3", "name": "AHU 3", "type": "ahu", "ord": "station:|slot:/Drivers/AHU3", "space": "hq"}]}),
        ),
        (
            "createStandalonePoint",
            json!({"id": "lobby-co2", "name": "Lobby CO2", "ord": "station:|slot:/Drivers/IO/Co2", "space": "floor-1",
                   "kind": "ppm", "role_in_space": "co2"}),
        ),
    ] {
        desk.answer(tool, arguments).await;
    }
    desk
}

#[tokio::test]
async fn a_site_is_mapped_and_stands_in_the_file_and_in_the_log() {
    let desk = mapped().await;
    let answers = [
        desk.answer("updateSpace", json!({"id": "hq", "description": "Since 1931", "aliases": [7, "HQ"]})).await,
        desk.answer("updateEquipmentType", json!({"id": "ahu", "description": "Central"})).await,
        desk.answer("updateEquipment", json!({"id": "ahu-1", "notes": ["new filter"], "points": {"fan": "slot:/Drivers/AHU1/Fan"}})).await,
        desk.answer("assignPointToEquipment", json!({"equipmentId": "ahu-2", "role": "sat", "ord": "station:|slot:/Drivers/AHU2/SupplyTemp"})).await,
        desk.answer("assignPointToEquipment", json!({"equipmentId": "ahu-2", "role": "sat", "ord": "station:|slot:/Drivers/AHU2/Sat"})).await,
    ];
    assert_eq!(
        answers,
        [
            json!({"ok": true, "id": "hq"}),
            json!({"ok": true, "id": "ahu"}),
            json!({"ok": true, "id": "ahu-1"}),
            json!({"ok": true, "equipmentId": "ahu-2", "role": "sat"}),
            json!({"ok": true, "equipmentId": "ahu-2", "role": "sat", "previousOrd": "station:|slot:/Drivers/AHU2/SupplyTemp"}),
        ]
    );
    assert_eq!(
        desk.tree(),
        json!({
            "schema_version": 1,
            "spaces": [
                {"id": "hq", "name": "Headquarters", "aliases": ["7", "HQ"], "type": "building", "description": "Since 1931"},
                {"id": "floor-1", "name": "First floor", "type": "floor", "parent": "hq"}],
            "equipment_types": [
                {"id": "ahu", "name": "Air handler", "description": "Central", "typical_points": [
                    {"role": "sat", "kind": "temperature", "slot_patterns": ["*SupplyTemp*"], "required": true},
                    {"role": "fan", "kind": "boolean"}]}],
            "equipment": [
                {"id": "ahu-1", "name": "AHU 1", "type": "ahu", "space": "floor-1", "ord": "station:|slot:/Drivers/AHU1",
                 "points": {"sat": "station:|slot:/Drivers/AHU1/SupplyTemp", "fan": "station:|slot:/Drivers/AHU1/Fan"},
                 "notes": ["new filter"]},
                {"id": "ahu-2", "name": "AHU 2", "type": "ahu", "ord": "station:|slot:/Drivers/AHU2",
                 "points": {"sat": "station:|slot:/Drivers/AHU2/Sat"}},
                {"id": "ahu-3", "name": "AHU 3", "type": "ahu", "space": "hq", "ord": "station:|slot:/Drivers/AHU3"}],
            "points": [
                {"id": "lobby-co2", "name": "Lobby CO2", "space": "floor-1", "ord": "station:|slot:/Drivers/IO/Co2",
                 "kind": "ppm", "role_in_space": "co2"}],
        })
    );
    assert_eq!(
        desk.log(),
        [
            "createSpace hq",
            "createSpace floor-1",
            "createEquipmentType ahu",
            "createEquipment ahu-1",
            "bulkCreateEquipment +2",
            "createStandalonePoint lobby-co2",
            "updateSpace hq",
            "updateEquipmentType ahu",
            "updateEquipment ahu-1",
            "assignPointToEquipment ahu-2/sat",
            "assignPointToEquipment ahu-2/sat",
        ]
    );
}

#[tokio::test]
async fn a_bulk_creation_answers_with_its_count() {
    let desk = mapped().await;
    let items: Vec<Value> = (0..500)
        .map(|n| json!({"id": format!("vav-{n}"), "name": "VAV", "type": "ahu", "ord": format!("slot:/V{n}")}))
        .collect();
    let answer = desk
        .answer("bulkCreateEquipment", json!({"items": items}))
        .await;
    assert_eq!(answer, json!({"ok": true, "created": 500}));
    assert_eq!(desk.on_disk().equipment.len(), 503);
}

#[tokio::test]
async fn what_is_refused_leaves_the_file_as_it_was() {
    let desk = mapped().await;
    let before = (desk.file(), desk.log());
    let ahu = |id: &str, ord: &str| json!({"id": id, "name": "A", "type": "ahu", "ord": ord});
    for (tool, arguments, data) in [
        (
            "createSpace",
            json!({"id": "hq", "name": "Again"}),
            json!({"id": "hq", "kind": "space"}),
        ),
        (
            "createSpace",
            json!({"id": "roof", "name": "Roof", "parent": "hqq"}),
            json!({"id": "hqq", "kind": "space", "field": "parent", "of": {"id": "roof", "kind": "space"}, "nearest": "hq"}),
        ),
        (
            "updateSpace",
            json!({"id": "hq", "parent": "floor-1"}),
            json!({"id": "hq", "kind": "space", "field": "parent", "cycle": ["hq", "floor-1", "hq"]}),
        ),
        (
            "updateSpace",
            json!({"id": "attic", "name": "Attic"}),
            json!({"id": "attic", "kind": "space"}),
        ),
        (
            "createEquipment",
            ahu("ahu-9", "AHU9"),
            json!({"id": "ahu-9", "kind": "equipment", "field": "ord", "ord": "AHU9"}),
        ),
        (
            "bulkCreateEquipment",
            json!({"items": [ahu("ahu-8", "slot:/A8"), ahu("ahu-9", "slot:/A9"), ahu("ahu-8", "slot:/A8")]}),
            json!({"id": "ahu-8", "kind": "equipment", "item": 2}),
        ),
        (
            "bulkCreateEquipment",
            json!({"items": [ahu("ahu-8", "slot:/A8"), {"id": "ahu-9", "name": "A", "ord": "slot:/A9"}]}),
            json!({"argument": "items[1].type", "problem": "missing", "missing": "type", "item": 1}),
        ),
        (
            "bulkCreateEquipment",
            json!({"items": []}),
            json!({"argument": "items"}),
        ),
        (
            "updateEquipment",
            json!({"id": "ahu-1", "points": {"sat": null}}),
            json!({"argument": "points.sat", "problem": "type", "expected": "an ord; deleteKnowledge removes a role"}),
        ),
        (
            "updateEquipment",
            json!({"id": "ahu-1", "name": "Other", "points": {"sat": "slot:/A//B"}}),
            json!({"id": "ahu-1", "kind": "equipment", "field": "points.sat", "ord": "slot:/A//B"}),
        ),
        (
            "assignPointToEquipment",
            json!({"equipmentId": "ahu-7", "role": "sat", "ord": "slot:/A"}),
            json!({"id": "ahu-7", "kind": "equipment", "nearest": "ahu-1"}),
        ),
        (
            "createEquipmentType",
            json!({"id": "fcu", "name": "FCU", "typical_points": [{"role": "a", "slot_patterns": "x"}]}),
            json!({"argument": "typical_points[0].slot_patterns", "problem": "type", "expected": "a list of strings", "item": 0}),
        ),
        (
            "createStandalonePoint",
            json!({"id": "p", "name": "P", "ord": "slot:/P", "space": "attic"}),
            json!({"id": "attic", "kind": "space", "field": "space", "of": {"id": "p", "kind": "point"}}),
        ),
    ] {
        let (code, message, found) = desk.failure(tool, arguments).await;
        assert_eq!(code, -32602, "{tool}: {message}");
        assert_eq!(found, data, "{tool}: {message}");
        assert!(message.ends_with('.'), "{message}");
    }
    assert_eq!((desk.file(), desk.log()), before);
}

#[tokio::test]
async fn names_in_any_script_come_back_as_they_were_given() {
    let desk = Desk::empty();
    let names = json!([
        "一階機械室",
        "Кондиционер №1",
        "وحدة مناولة",
        "Kälte: Süd #2",
        "- x",
        "yes",
        "12",
        "a: b",
        "\"q\"",
        "🏢",
        "Ł\u{301}",
        "null"
    ]);
    desk.answer(
        "createSpace",
        json!({"id": "räume-1", "name": "Müller’s \\ Büro", "aliases": names}),
    )
    .await;
    let space = &desk.tree()["spaces"][0];
    assert_eq!(
        space,
        &json!({"id": "räume-1", "name": "Müller’s \\ Büro", "aliases": names})
    );
    for format in ["yaml", "json"] {
        let export = desk
            .answer("exportKnowledge", json!({"format": format}))
            .await;
        let other = Desk::empty();
        other
            .answer("importKnowledge", json!({"content": export["content"]}))
            .await;
        assert_eq!(&other.tree()["spaces"][0], space, "{format}");
    }
}

#[tokio::test]
async fn keys_of_other_programs_stay_through_edits() {
    let desk = Desk::holding(
        "schema_version: 1\n_tool: {version: 3}\nspaces:\n- id: a\n  _walkthrough: {confirmed_by: ann}\n\
         equipment:\n- id: e\n  type: t\n  ord: slot:/E\n  colour: blue\nequipment_types:\n- id: t\n  typical_points:\n  - role: r\n    hint: h\n",
    );
    desk.answer("updateSpace", json!({"id": "a", "name": "A"}))
        .await;
    desk.answer("updateEquipment", json!({"id": "e", "name": "E"}))
        .await;
    desk.answer(
        "updateEquipmentType",
        json!({"id": "t", "typical_points": [{"role": "r", "kind": "flow", "own": 1}]}),
    )
    .await;
    desk.answer(
        "renameKnowledge",
        json!({"kind": "role", "typeId": "t", "role": "r", "newId": "flow"}),
    )
    .await;
    let tree = desk.tree();
    assert_eq!(tree["_tool"], json!({"version": 3}));
    assert_eq!(
        tree["spaces"][0]["_walkthrough"],
        json!({"confirmed_by": "ann"})
    );
    assert_eq!(tree["equipment"][0]["colour"], "blue");
    assert_eq!(
        tree["equipment_types"][0]["typical_points"][0],
        json!({"role": "flow", "kind": "flow", "own": 1, "hint": "h"})
    );
}

#[tokio::test]
async fn an_entry_in_use_is_deleted_only_when_its_users_may_follow() {
    let desk = mapped().await;
    let before = desk.file();
    let (code, message, data) = desk
        .failure("deleteKnowledge", json!({"kind": "space", "id": "floor-1"}))
        .await;
    assert_eq!(code, -32602);
    assert_eq!(
        message,
        "The space 'floor-1' is used by equipment 'ahu-1' (space), standalone point 'lobby-co2' (space); change those \
         first, or ask with references = follow."
    );
    assert_eq!(
        data,
        json!({"id": "floor-1", "kind": "space", "refererCount": 2, "referers": [
            {"kind": "equipment", "id": "ahu-1", "field": "space"},
            {"kind": "point", "id": "lobby-co2", "field": "space"}]})
    );
    let changes = json!([
        {"kind": "equipment", "id": "ahu-1", "field": "space", "from": "floor-1", "to": "hq"},
        {"kind": "point", "id": "lobby-co2", "field": "space", "from": "floor-1", "to": "hq"}]);
    let arguments =
        json!({"kind": "space", "id": "floor-1", "references": "follow", "dryRun": true});
    let plan = desk.answer("deleteKnowledge", arguments.clone()).await;
    assert_eq!(
        plan,
        json!({"ok": true, "kind": "space", "id": "floor-1", "dryRun": true, "deleted": false, "changeCount": 2, "changes": changes})
    );
    assert_eq!(desk.file(), before, "a dry run saves nothing");

    let mut arguments = arguments;
    arguments["dryRun"] = json!(false);
    let done = desk.answer("deleteKnowledge", arguments).await;
    assert_eq!(
        (&done["deleted"], &done["changes"]),
        (&json!(true), &changes)
    );
    let document = desk.on_disk();
    assert_eq!(document.spaces.len(), 1);
    assert_eq!(document.equipment[0].space.as_deref(), Some("hq"));

    desk.answer(
        "deleteKnowledge",
        json!({"kind": "role", "equipmentId": "ahu-1", "role": "sat"}),
    )
    .await;
    desk.answer(
        "deleteKnowledge",
        json!({"kind": "equipment", "id": "ahu-2"}),
    )
    .await;
    desk.answer(
        "deleteKnowledge",
        json!({"kind": "point", "id": "lobby-co2"}),
    )
    .await;
    desk.answer(
        "deleteKnowledge",
        json!({"kind": "role", "typeId": "ahu", "role": "fan"}),
    )
    .await;
    let document = desk.on_disk();
    assert!(document.equipment[0].points.is_empty() && document.points.is_empty());
    assert_eq!(document.equipment_types[0].typical_points.len(), 1);
    assert_eq!(
        desk.log()[6..],
        [
            "deleteKnowledge floor-1",
            "deleteKnowledge ahu-1/sat",
            "deleteKnowledge ahu-2",
            "deleteKnowledge lobby-co2",
            "deleteKnowledge ahu/fan"
        ]
    );
}

#[tokio::test]
async fn a_rename_is_followed_and_tells_what_it_changed() {
    let desk = mapped().await;
    let before = desk.file();
    let mut arguments = json!({"kind": "role", "typeId": "ahu", "role": "sat", "newId": "supply_air_temp", "dryRun": true});
    let plan = desk.answer("renameKnowledge", arguments.clone()).await;
    let changes = json!([{"kind": "equipment", "id": "ahu-1", "field": "points", "from": "sat", "to": "supply_air_temp"}]);
    assert_eq!(
        plan,
        json!({"ok": true, "kind": "role", "typeId": "ahu", "role": "sat", "newId": "supply_air_temp",
               "dryRun": true, "renamed": false, "changeCount": 1, "changes": changes})
    );
    assert_eq!(desk.file(), before, "a dry run saves nothing");
    arguments["dryRun"] = json!("false");
    let done = desk.answer("renameKnowledge", arguments).await;
    assert_eq!(
        (&done["renamed"], &done["changes"]),
        (&json!(true), &changes)
    );
    assert!(
        desk.on_disk().equipment[0]
            .points
            .contains_key("supply_air_temp")
    );

    let done = desk
        .answer(
            "renameKnowledge",
            json!({"kind": "equipmentType", "id": "ahu", "newId": "air-handler"}),
        )
        .await;
    assert_eq!(done["changeCount"], 3);
    let types: Vec<_> = desk
        .on_disk()
        .equipment
        .into_iter()
        .filter_map(|entry| entry.equipment_type)
        .collect();
    assert_eq!(types, ["air-handler"; 3]);
    let (_, _, data) = desk
        .failure(
            "renameKnowledge",
            json!({"kind": "equipment", "id": "ahu-1", "newId": "ahu-2"}),
        )
        .await;
    assert_eq!(data, json!({"id": "ahu-2", "kind": "equipment"}));
    assert_eq!(
        desk.log()[6..],
        [
            "renameKnowledge ahu/sat → supply_air_temp",
            "renameKnowledge ahu → air-handler"
        ]
    );
}

#[tokio::test]
async fn the_entry_to_delete_must_be_named_without_doubt() {
    let desk = mapped().await;
    for (arguments, data) in [
        (json!({"kind": "space"}), json!({"missing": "id"})),
        (
            json!({"kind": "role", "equipmentId": "ahu-1"}),
            json!({"missing": "role"}),
        ),
        (
            json!({"kind": "role", "role": "sat"}),
            json!({"missing": "equipmentId"}),
        ),
        (
            json!({"kind": "role", "role": "sat", "equipmentId": "ahu-1", "typeId": "ahu"}),
            json!({"argument": "typeId"}),
        ),
        (
            json!({"kind": "role", "role": "saf", "typeId": "ahu"}),
            json!({"id": "ahu", "kind": "equipmentType", "role": "saf", "nearest": "sat"}),
        ),
    ] {
        let (code, message, found) = desk.failure("deleteKnowledge", arguments).await;
        assert_eq!((code, found), (-32602, data), "{message}");
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_not_written_over() {
    let text = "spaces: 3\n";
    let desk = Desk::holding(text);
    for (tool, arguments) in [
        ("createSpace", json!({"id": "a", "name": "A"})),
        ("importKnowledge", json!({"source": "sample"})),
        (
            "deleteKnowledge",
            json!({"kind": "space", "id": "a", "dryRun": true}),
        ),
        (
            "renameKnowledge",
            json!({"kind": "space", "id": "a", "newId": "b", "dryRun": true}),
        ),
        ("exportKnowledge", json!({})),
    ] {
        let (code, message, data) = desk.failure(tool, arguments).await;
        assert_eq!(code, -32004, "{tool}: {message}");
        assert_eq!(
            data["path"],
            json!(desk.store.path().display().to_string()),
            "{tool}"
        );
    }
    assert_eq!(desk.file(), text);

    std::fs::write(desk.store.path(), "spaces: []\n").expect("repaired");
    desk.answer("reloadKnowledge", json!({})).await;
    desk.answer("createSpace", json!({"id": "a", "name": "A"}))
        .await;
    assert_eq!(desk.on_disk().spaces[0].id, "a");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_clients_that_edit_at_once_lose_nothing() {
    const EDITS: usize = 20;
    let folder = tempfile::tempdir().expect("a folder");
    let store = Arc::new(KnowledgeStore::open(folder.path().join("knowledge.yaml")));
    let bridge = Bridge::new(
        registry(store.clone()),
        ResourceRegistry::default(),
        PromptRegistry::default(),
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let server = HttpServer::start(
        Arc::new(bridge),
        Authenticator::new(Some(Secret::new(TOKEN)), None),
        healthy(),
        unhurried(),
        listener,
        CancellationToken::new(),
    )
    .await
    .expect("start");

    let mut clients = tokio::task::JoinSet::new();
    for name in ["north", "south"] {
        let mut client = Client::new(server.endpoint(), TOKEN);
        clients.spawn(async move {
            client.initialize().await;
            for number in 0..EDITS {
                let id = format!("{name}-{number}");
                let created = client
                    .call("createSpace", json!({"id": id, "name": name}))
                    .await;
                assert_eq!(created["structuredContent"], json!({"ok": true, "id": id}));
                let aliases = json!({"id": id, "aliases": [name]});
                let updated = client.call("updateSpace", aliases).await;
                assert_eq!(updated["isError"], json!(false), "{updated}");
            }
            let again = json!({"id": format!("{name}-0"), "name": name});
            let refused = client.call("createSpace", again).await;
            assert_eq!(refused["errorCode"], json!(-32602));
            assert_eq!(refused["errorData"]["id"], json!(format!("{name}-0")));
        });
    }
    while let Some(client) = clients.join_next().await {
        client.expect("a client");
    }

    let read_again = KnowledgeStore::open(store.path()).snapshot();
    assert_eq!(read_again.model.document().spaces.len(), 2 * EDITS);
    for name in ["north", "south"] {
        for number in 0..EDITS {
            let space = read_again.model.space(&format!("{name}-{number}"));
            assert_eq!(space.expect("the space").aliases, [name]);
        }
    }
}
