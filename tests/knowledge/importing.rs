//! Documents go out and come in, whole or not at all.

use serde_json::{Value, json};

use crate::desk::Desk;

const SITE: &str = "station:\n  id: harbour\n_origin: survey\nspaces:\n- id: hq\n  name: HQ\n- id: floor-1\n  parent: hq\n\
equipment_types:\n- id: ahu\n  typical_points:\n  - role: sat\n    required: true\n\
equipment:\n- id: ahu-1\n  type: ahu\n  space: floor-1\n  ord: station:|slot:/A1\n  colour: blue\n  points:\n    sat: station:|slot:/A1/Sat\n\
points:\n- id: oat\n  ord: station:|slot:/Oat\nschedules:\n- id: office\n";

#[tokio::test]
async fn the_sample_comes_in_once() {
    let desk = Desk::empty();
    let first = desk
        .answer("importKnowledge", json!({"source": "sample"}))
        .await;
    assert_eq!(
        first,
        json!({"ok": true, "mode": "merge", "added": 5, "skipped": 0, "warningCount": 0, "warnings": [], "sections": {
            "spaces": {"added": 0, "skipped": 0}, "equipment_types": {"added": 5, "skipped": 0},
            "equipment": {"added": 0, "skipped": 0}, "points": {"added": 0, "skipped": 0}}})
    );
    assert!(
        desk.on_disk().station.is_empty(),
        "a merge leaves the station alone"
    );
    let again = desk
        .answer(
            "importKnowledge",
            json!({"source": "sample", "content": "spaces: 3"}),
        )
        .await;
    assert_eq!((&again["added"], &again["skipped"]), (&json!(0), &json!(5)));
    assert_eq!(
        desk.log(),
        ["importKnowledge merge+5", "importKnowledge merge+0"]
    );
}

#[tokio::test]
async fn the_standard_types_come_in_without_a_warning() {
    let desk = Desk::empty();
    let answer = desk
        .answer("importKnowledge", json!({"source": "standard"}))
        .await;
    let added = answer["added"].as_u64().expect("a number");
    assert!(added >= 12, "{answer}");
    assert_eq!(answer["sections"]["equipment_types"]["added"], json!(added));
    assert_eq!(answer["warnings"], json!([]));
    let ids: Vec<String> = desk
        .on_disk()
        .equipment_types
        .into_iter()
        .map(|entry| entry.id)
        .collect();
    for id in ["ahu", "vav", "chiller", "heat-exchanger", "weather"] {
        assert!(ids.contains(&id.to_owned()), "{id} is not in {ids:?}");
    }
}

#[tokio::test]
async fn a_merge_keeps_what_is_there_and_a_replacement_does_not() {
    let desk = Desk::holding(SITE);
    let content = json!({
        "station": {"id": "other"},
        "spaces": [{"id": "hq", "name": "Changed"}, {"id": "floor-2", "parent": "hq"}],
        "equipment": [{"id": "ahu-2", "type": "rooftop", "ord": "station:|slot:/A2"}],
        "schedules": [{"id": "shop"}],
    })
    .to_string();
    let merged = desk
        .answer("importKnowledge", json!({"content": content}))
        .await;
    assert_eq!(
        (&merged["added"], &merged["skipped"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(
        merged["sections"]["spaces"],
        json!({"added": 1, "skipped": 1})
    );
    assert_eq!(
        merged["sections"]["schedules"],
        json!({"added": 1, "skipped": 0})
    );
    assert_eq!(merged["warningCount"], json!(1), "{merged}");
    assert_eq!(
        merged["warnings"],
        json!(["equipment 'ahu-2': unknown type 'rooftop'"])
    );
    let tree = desk.tree();
    assert_eq!(tree["station"], json!({"id": "harbour"}));
    assert_eq!(tree["spaces"][0]["name"], "HQ");
    assert_eq!(tree["equipment"][0]["colour"], "blue");
    assert_eq!(tree["schedules"], json!([{"id": "office"}, {"id": "shop"}]));

    let replaced = desk
        .answer(
            "importKnowledge",
            json!({"content": content, "mode": "replace"}),
        )
        .await;
    assert_eq!(
        (&replaced["mode"], &replaced["added"], &replaced["skipped"]),
        (&json!("replace"), &json!(3), &json!(0))
    );
    let tree = desk.tree();
    assert_eq!(tree["station"], json!({"id": "other"}));
    assert_eq!(tree["spaces"][0]["name"], "Changed");
    assert_eq!(tree["equipment_types"], json!([]));
    assert_eq!(
        desk.log(),
        ["importKnowledge merge+2", "importKnowledge replace+3"]
    );
}

#[tokio::test]
async fn keys_of_other_programs_come_in_and_are_named() {
    let desk = Desk::holding(SITE);
    let content = "crew: [ann]\n_note: x\nspaces:\n- id: floor-2\n";
    let named = |answer: &Value| answer["warnings"].to_string();
    let answer = desk
        .answer("importKnowledge", json!({"content": content}))
        .await;
    assert_eq!(answer["warningCount"], json!(1), "{answer}");
    assert!(named(&answer).contains("'crew'") && named(&answer).contains("kept as it is"));
    assert_eq!(desk.tree()["crew"], json!(["ann"]));
    let again = desk
        .answer("importKnowledge", json!({"content": content}))
        .await;
    assert!(named(&again).contains("left out"), "{again}");
}

#[tokio::test]
async fn what_goes_out_comes_back_the_same() {
    let desk = Desk::holding(SITE);
    let whole = desk.tree();
    for (format, begin) in [
        ("yaml", "schema_version: 1\n"),
        ("json", "{\n  \"schema_version\": 1,"),
    ] {
        let export = desk
            .answer("exportKnowledge", json!({"format": format}))
            .await;
        let content = export["content"].as_str().expect("a text");
        assert!(content.starts_with(begin), "{content}");
        assert_eq!(export["format"], format);
        assert_eq!(export["size"], json!(content.chars().count()));
        let other = Desk::empty();
        other
            .answer(
                "importKnowledge",
                json!({"content": content, "mode": "replace"}),
            )
            .await;
        assert_eq!(other.tree(), whole, "{format}");
    }
}

#[tokio::test]
async fn the_format_is_read_kindly_and_told_as_it_was_asked_for() {
    let desk = Desk::holding("spaces:\n- id: büro\n");
    let content = |answer: &Value| answer["content"].as_str().expect("a text").to_owned();
    let yaml = desk.answer("exportKnowledge", json!({})).await;
    assert_eq!(yaml["format"], "yaml");
    for (format, is_json) in [("JSON", true), ("Yaml", false), ("toml", false)] {
        let answer = desk
            .answer("exportKnowledge", json!({"format": format}))
            .await;
        assert_eq!(answer["format"], format);
        assert_eq!(content(&answer).starts_with('{'), is_json, "{format}");
        if !is_json {
            assert_eq!(content(&answer), content(&yaml));
        }
    }
    let size = yaml["size"].as_u64().expect("a number");
    assert_eq!(
        size as usize,
        content(&yaml).len() - 1,
        "characters, not bytes"
    );
}

#[tokio::test]
async fn a_document_with_a_mistake_changes_nothing_and_says_where_it_is() {
    let desk = Desk::holding(SITE);
    let before = (desk.file(), desk.store.snapshot().model.document().clone());
    let deep = format!("spaces: {}1{}", "[".repeat(80), "]".repeat(80));
    let cases: Vec<(&str, String, i64, Value)> = vec![
        (
            "malformed YAML",
            "spaces:\n- id: a\n  name: [\n".into(),
            -32005,
            json!({"line": 4, "column": 1}),
        ),
        (
            "malformed JSON",
            "{\"spaces\": [\n{]}".into(),
            -32005,
            json!({"line": 2, "column": 2}),
        ),
        (
            "a mistyped section",
            "schema_version: 1\nspace:\n- id: a\n".into(),
            -32602,
            json!({"path": "space", "nearest": "spaces"}),
        ),
        (
            "a mistyped section beside a right one",
            "spaces:\n- id: new\nequipmnt:\n- id: a\n".into(),
            -32602,
            json!({"path": "equipmnt", "nearest": "equipment"}),
        ),
        (
            "a document of something else",
            "{\"_kind\": \"grid\", \"rows\": []}".into(),
            -32602,
            json!({"path": "the root"}),
        ),
        (
            "plain text",
            "hello".into(),
            -32005,
            json!({"path": "the root"}),
        ),
        (
            "a newer version",
            "schema_version: 2\n".into(),
            -32005,
            json!({"path": "schema_version"}),
        ),
        (
            "no version",
            "schema_version: new\n".into(),
            -32005,
            json!({"path": "schema_version"}),
        ),
        (
            "no list",
            "spaces: {id: a}\n".into(),
            -32005,
            json!({"path": "spaces"}),
        ),
        (
            "aliases that never end",
            "spaces: &a\n- *a\n".into(),
            -32005,
            json!({"line": 1}),
        ),
        ("depth", deep, -32005, json!({"limit": 64})),
        (
            "an id twice",
            "points:\n- id: p\n- id: q\n- id: p\n".into(),
            -32602,
            json!({"id": "p", "path": "points[2]", "firstPath": "points[0]"}),
        ),
        (
            "no id",
            "equipment:\n- name: x\n".into(),
            -32602,
            json!({"path": "equipment[0]"}),
        ),
        (
            "a cycle of spaces",
            "spaces:\n- id: a\n  parent: b\n- id: b\n  parent: a\n".into(),
            -32602,
            json!({"id": "a", "kind": "space", "field": "parent", "cycle": ["a", "b", "a"], "path": "spaces[0].parent"}),
        ),
        (
            "a type that extends itself",
            "equipment_types:\n- id: t\n  extends: t\n".into(),
            -32602,
            json!({"id": "t", "kind": "equipmentType", "field": "extends", "cycle": ["t", "t"], "path": "equipment_types[0].extends"}),
        ),
        (
            "nothing",
            "  \n".into(),
            -32602,
            json!({"missing": "content"}),
        ),
    ];
    for (name, content, code, data) in cases {
        for mode in ["merge", "replace"] {
            let arguments = json!({"content": content, "mode": mode});
            let (found, message, found_data) = desk.failure("importKnowledge", arguments).await;
            assert_eq!((found, &found_data), (code, &data), "{name}: {message}");
            assert!(
                message.ends_with('.') && !message.contains(".."),
                "{name}: {message}"
            );
        }
    }
    assert_eq!(
        (desk.file(), desk.store.snapshot().model.document().clone()),
        before
    );
    assert!(desk.log().is_empty());
}

#[tokio::test]
async fn a_huge_document_is_refused_by_its_size() {
    let desk = Desk::empty();
    let content = format!(
        "spaces:\n{}",
        "- id: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n".repeat(300_000)
    );
    let (code, message, data) = desk
        .failure("importKnowledge", json!({"content": content}))
        .await;
    assert_eq!(code, -32005, "{message}");
    assert_eq!(
        data,
        json!({"size": content.len(), "limit": 10 * 1024 * 1024})
    );
    assert!(!desk.store.path().exists());
}

#[tokio::test]
async fn remarks_about_the_document_are_told_before_the_warnings() {
    let desk = Desk::empty();
    let content = "spaces:\n- id: 12\n- nonsense\n- id: b\n  parent: x\n";
    let answer = desk
        .answer("importKnowledge", json!({"content": content}))
        .await;
    assert_eq!(answer["added"], json!(2));
    assert_eq!(
        answer["warnings"],
        json!([
            "spaces[0].id: the number 12 was taken as text",
            "spaces[1] is not a map and was skipped",
            "spaces 'b': unknown parent 'x'"
        ])
    );
}

#[tokio::test]
async fn a_replacement_by_empty_sections_empties_the_model_and_one_by_no_section_does_not() {
    let full = || Desk::holding("spaces: [{id: main}]\nequipment: [{id: p-1}]\n");
    for content in [
        "{\"spaces\": [], \"equipment_types\": [], \"equipment\": [], \"points\": []}",
        "schema_version: 1\nspaces: []\nequipment_types: []\nequipment: []\npoints: []\n",
    ] {
        let desk = full();
        let arguments = json!({"content": content, "mode": "replace"});
        let answer = desk.answer("importKnowledge", arguments).await;
        assert_eq!(answer["added"], 0);
        let left = desk.on_disk();
        assert!(
            left.spaces.is_empty() && left.equipment.is_empty(),
            "{left:?}"
        );
    }
    for content in ["schema_version: 1", "station: {id: x}", "_remark: x", "{}"] {
        let desk = full();
        let arguments = json!({"content": content, "mode": "replace"});
        let (code, message, _) = desk.failure("importKnowledge", arguments).await;
        assert_eq!(code, -32602, "{content}: {message}");
        assert_eq!(desk.on_disk().equipment.len(), 1);
    }
}

#[tokio::test]
async fn keys_that_stand_twice_and_numbers_too_long_are_refused_with_their_line() {
    let desk = Desk::holding("spaces: [{id: main}]\n");
    for (content, line) in [
        ("{\"spaces\": [\n{\"id\": \"a\", \"id\": \"b\"}]}", 2),
        ("{\"points\": [],\n\n\"points\": []}", 3),
        (
            "spaces:\n- id: a\n  serial: 123456789012345678901234567890\n",
            3,
        ),
        (
            "{\"spaces\": [{\"id\": \"a\",\n\"serial\": 99999999999999999999}]}",
            2,
        ),
    ] {
        let (code, message, data) = desk
            .failure("importKnowledge", json!({"content": content}))
            .await;
        assert_eq!(
            (code, &data["line"]),
            (-32005, &json!(line)),
            "{content}: {message}"
        );
    }
    assert_eq!(desk.on_disk().spaces.len(), 1);
}
