//! Whole documents merged in or put in place.

use serde_json::json;

use super::*;

#[test]
fn merging_adds_what_is_new_and_replacing_takes_all() {
    let mut merged = site();
    let incoming = document(json!({
        "station": {"id": "other"},
        "spaces": [{"id": "hq", "name": "other"}, {"id": "floor-2", "parent": "hq"}],
        "equipment_types": [{"id": "pump"}],
        "schedules": [{"id": "office"}, {"id": "shop"}],
        "_source": "x",
    }));
    let imported = import(&mut merged, incoming.clone(), ImportMode::Merge, false).unwrap();
    assert_eq!((imported.added(), imported.skipped()), (2, 1));
    assert_eq!(
        imported.to_json()["spaces"],
        json!({"added": 1, "skipped": 1})
    );
    assert_eq!(
        imported.to_json()["schedules"],
        json!({"added": 1, "skipped": 1})
    );
    assert_eq!(merged.spaces[0].name.as_deref(), Some("HQ"));
    assert!(merged.station.is_empty());
    assert_eq!(merged.extra["_source"], "x");
    assert_eq!(
        merged.extra["schedules"],
        json!([{"id": "office"}, {"id": "shop"}])
    );

    let mut replaced = site();
    let imported = import(&mut replaced, incoming.clone(), ImportMode::Replace, false).unwrap();
    assert_eq!((imported.added(), imported.skipped()), (3, 0));
    assert_eq!(replaced, incoming);
}

#[test]
fn a_document_with_unclear_ids_or_a_cycle_is_refused_by_its_place() {
    for (tree, place) in [
        (
            json!({"points": [{"id": "p"}, {"name": "no id"}]}),
            "points[1]",
        ),
        (
            json!({"equipment": [{"id": "x"}, {"id": "y"}, {"id": "x"}]}),
            "equipment[2]",
        ),
        (
            json!({"spaces": [{"id": "f", "parent": "g"}, {"id": "g", "parent": "f"}]}),
            "spaces[0].parent",
        ),
        (
            json!({"equipment_types": [{"id": "t", "extends": "t"}]}),
            "equipment_types[0].extends",
        ),
    ] {
        for mode in [ImportMode::Merge, ImportMode::Replace] {
            let error = import(&mut site(), document(tree.clone()), mode, false).unwrap_err();
            assert_eq!(error.data()["path"], place, "{error}");
            assert!(
                error.to_string().ends_with("Nothing was imported."),
                "{error}"
            );
        }
    }
}

#[test]
fn a_cycle_between_old_and_new_entries_is_found() {
    let mut site = document(json!({"spaces": [{"id": "a", "parent": "later"}]}));
    let incoming = document(json!({"spaces": [{"id": "later", "parent": "a"}]}));
    let error = import(&mut site, incoming, ImportMode::Merge, false).unwrap_err();
    assert_eq!(error.data()["cycle"], json!(["later", "a", "later"]));

    let mut cyclic = document(json!({"spaces": [{"id": "a", "parent": "a"}]}));
    let incoming = document(json!({"spaces": [{"id": "a"}, {"id": "b", "parent": "a"}]}));
    let imported = import(&mut cyclic, incoming, ImportMode::Merge, false).unwrap();
    assert_eq!(
        imported.added(),
        1,
        "a cycle that was there stays for validation to report"
    );
}

#[test]
fn keys_that_are_no_section_are_named_and_nearly_sections_are_refused() {
    let incoming = document(json!({
        "spaces": [{"id": "new"}], "crew": ["ann"], "_source": "x", "schedules": [], "notes": "kept"}));
    for mode in [ImportMode::Merge, ImportMode::Replace] {
        let mut merged = site();
        let imported = import(&mut merged, incoming.clone(), mode, false).unwrap();
        let keys = imported.unknown_keys.iter();
        let keys: Vec<_> = keys
            .map(|unknown| (unknown.key.as_str(), unknown.is_kept))
            .collect();
        assert_eq!(keys, [("crew", true), ("notes", true)]);
        assert_eq!(merged.extra["crew"], json!(["ann"]));
        let again = import(&mut merged, incoming.clone(), mode, false).unwrap();
        assert_eq!(again.unknown_keys[0].is_kept, mode == ImportMode::Replace);
    }
    for (key, section) in [
        ("equipmnt", "equipment"),
        ("Equipment", "equipment"),
        ("equipments", "equipment"),
        ("equipmentTypes", "equipment_types"),
        ("equipment-type", "equipment_types"),
        ("space", "spaces"),
        ("pionts", "points"),
        ("schedule", "schedules"),
        ("stations", "station"),
        ("schemaVersion", "schema_version"),
    ] {
        let incoming = document(json!({"spaces": [{"id": "new"}], key: [{"id": "x"}]}));
        let error = import(&mut site(), incoming, ImportMode::Merge, false).unwrap_err();
        assert_eq!(
            Value::Object(error.data()),
            json!({"path": key, "nearest": section})
        );
        let text = error.to_string();
        assert!(text.contains(&format!("write '{section}'")), "{text}");
    }
}
