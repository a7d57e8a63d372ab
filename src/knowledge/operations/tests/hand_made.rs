//! Documents that people wrote by hand: ids twice, references to nothing, texts no edit would take.

use serde_json::json;

use super::*;

#[test]
fn of_two_entries_with_one_id_none_is_changed_and_both_places_are_told() {
    let twice = document(json!({
        "spaces": [{"id": "hq"}, {"id": "yard"}, {"id": "hq", "name": "other"}],
        "equipment_types": [{"id": "ahu", "typical_points": [{"role": "sat"}]}, {"id": "ahu"}],
        "equipment": [{"id": "a"}, {"id": "a", "points": {"sat": "station:|slot:/A"}}],
        "points": [{"id": "p"}, {"id": "p"}],
    }));
    type Edit = Box<dyn Fn(&mut KnowledgeDocument) -> Result<(), OperationError>>;
    let renames = |kind, id: &'static str| -> Edit {
        Box::new(move |site| rename(site, &entry(kind, id), "new").map(|_| ()))
    };
    let removes = |kind, id: &'static str| -> Edit {
        Box::new(move |site| remove(site, &entry(kind, id), true).map(|_| ()))
    };
    let role = || Target::EquipmentRole {
        equipment: "a".into(),
        role: "sat".into(),
    };
    let edits: Vec<(&str, [usize; 2], Edit)> = vec![
        (
            "spaces",
            [0, 2],
            Box::new(|site| update_space(site, "hq", SpaceUpdate::default())),
        ),
        (
            "equipment_types",
            [0, 1],
            Box::new(|site| update_equipment_type(site, "ahu", EquipmentTypeUpdate::default())),
        ),
        (
            "equipment",
            [0, 1],
            Box::new(|site| update_equipment(site, "a", EquipmentUpdate::default())),
        ),
        (
            "equipment",
            [0, 1],
            Box::new(|site| assign_point(site, "a", "oat", "slot:/X").map(|_| ())),
        ),
        (
            "equipment",
            [0, 1],
            Box::new(move |site| rename(site, &role(), "x").map(|_| ())),
        ),
        (
            "equipment",
            [0, 1],
            Box::new(move |site| remove(site, &role(), true).map(|_| ())),
        ),
        (
            "equipment_types",
            [0, 1],
            Box::new(|site| rename(site, &type_role("ahu", "sat"), "x").map(|_| ())),
        ),
        (
            "equipment_types",
            [0, 1],
            Box::new(|site| remove(site, &type_role("ahu", "sat"), true).map(|_| ())),
        ),
        ("spaces", [0, 2], renames(EntryKind::Space, "hq")),
        (
            "equipment_types",
            [0, 1],
            renames(EntryKind::EquipmentType, "ahu"),
        ),
        ("equipment", [0, 1], renames(EntryKind::Equipment, "a")),
        ("points", [0, 1], renames(EntryKind::Point, "p")),
        ("spaces", [0, 2], removes(EntryKind::Space, "hq")),
        (
            "equipment_types",
            [0, 1],
            removes(EntryKind::EquipmentType, "ahu"),
        ),
        ("equipment", [0, 1], removes(EntryKind::Equipment, "a")),
        ("points", [0, 1], removes(EntryKind::Point, "p")),
    ];
    for (number, (section, [first, second], edit)) in edits.into_iter().enumerate() {
        let mut site = twice.clone();
        let error = edit(&mut site).unwrap_err();
        let paths = [
            format!("{section}[{first}]"),
            format!("{section}[{second}]"),
        ];
        assert_eq!(error.data()["paths"], json!(paths), "edit {number}");
        let text = error.to_string();
        assert!(
            text.contains(&paths.join(", ")) && text.contains("reloadKnowledge"),
            "{text}"
        );
        assert_eq!(site, twice, "edit {number}");
    }
    let update = SpaceUpdate::default();
    update_space(&mut twice.clone(), "yard", update).unwrap();
}

#[test]
fn a_new_or_renamed_entry_closes_no_cycle_with_one_that_named_it_before_it_was_there() {
    let site = document(json!({
        "spaces": [{"id": "a", "parent": "later"}, {"id": "b", "parent": "a"}, {"id": "free"}],
        "equipment_types": [{"id": "t", "extends": "later"}, {"id": "u", "extends": "t"}],
    }));
    let later = |parent: &str| Space {
        id: "later".into(),
        parent: Some(parent.into()),
        ..Space::default()
    };
    let error = create_space(&mut site.clone(), later("b")).unwrap_err();
    assert_eq!(error.data()["cycle"], json!(["later", "b", "a", "later"]));
    create_space(&mut site.clone(), later("free")).unwrap();
    let itself = Space {
        id: "self".into(),
        parent: Some("self".into()),
        ..Space::default()
    };
    assert!(create_space(&mut site.clone(), itself).is_err());

    let error = create_equipment_type(
        &mut site.clone(),
        EquipmentType {
            id: "later".into(),
            extends: Some("u".into()),
            ..EquipmentType::default()
        },
    )
    .unwrap_err();
    assert_eq!(error.data()["cycle"], json!(["later", "u", "t", "later"]));

    for (target, cycle) in [
        (entry(EntryKind::Space, "b"), ["later", "a", "later"]),
        (
            entry(EntryKind::EquipmentType, "u"),
            ["later", "t", "later"],
        ),
    ] {
        let error = rename(&mut site.clone(), &target, "later").unwrap_err();
        assert_eq!(error.data()["cycle"], json!(cycle));
    }
    let free = entry(EntryKind::Space, "free");
    assert_eq!(rename(&mut site.clone(), &free, "later"), Ok(Vec::new()));
}

#[test]
fn what_serves_equipment_is_followed_like_every_other_reference() {
    let site = document(json!({"equipment": [
        {"id": "ahu-1"},
        {"id": "ahu-2"},
        {"id": "vav-1", "served_by": "ahu-1"},
        {"id": "vav-2", "served_by": ["ahu-2", "ahu-1", 7]},
        {"id": "vav-3", "served_by": ["ahu-1"]},
    ]}));
    let ahu = entry(EntryKind::Equipment, "ahu-1");

    let mut renamed = site.clone();
    let changes = rename(&mut renamed, &ahu, "rtu-1").unwrap();
    assert_eq!(
        said(&changes),
        [
            "equipment vav-1.served_by: ahu-1 > rtu-1",
            "equipment vav-2.served_by: ahu-1 > rtu-1",
            "equipment vav-3.served_by: ahu-1 > rtu-1"
        ]
    );
    let served_by =
        |site: &KnowledgeDocument, at: usize| site.equipment[at].extra.get("served_by").cloned();
    assert_eq!(served_by(&renamed, 2), Some(json!("rtu-1")));
    assert_eq!(served_by(&renamed, 3), Some(json!(["ahu-2", "rtu-1", 7])));

    let error = remove(&mut site.clone(), &ahu, false).unwrap_err();
    assert_eq!(error.data()["refererCount"], 3);
    assert!(error.to_string().contains("'vav-1' (served_by)"), "{error}");
    let mut removed = site.clone();
    let changes = remove(&mut removed, &ahu, true).unwrap();
    assert_eq!(
        said(&changes)[0],
        "equipment vav-1.served_by: ahu-1 > nothing"
    );
    assert_eq!(served_by(&removed, 1), None);
    assert_eq!(served_by(&removed, 2), Some(json!(["ahu-2", 7])));
    assert_eq!(served_by(&removed, 3), None, "an empty list goes");
}

/// Texts by which nobody could call something, each with the kind of its error.
const BAD_WORDS: [&str; 6] = ["", "  ", " a", "a ", "a\nb", "a\u{7}"];

#[test]
fn every_way_in_has_the_same_checks() {
    for word in BAD_WORDS {
        let refusals: [(&str, Result<(), OperationError>); 9] = [
            ("create id", {
                let id = word.to_owned();
                let point = StandalonePoint {
                    id,
                    ..StandalonePoint::default()
                };
                create_standalone_point(&mut site(), point)
            }),
            ("rename id", {
                let target = entry(EntryKind::Equipment, "ahu-1");
                rename(&mut site(), &target, word).map(|_| ())
            }),
            ("import id", imports(json!({"spaces": [{"id": word}]}))),
            ("create role", {
                let mut pump = EquipmentType {
                    id: "pump".into(),
                    ..EquipmentType::default()
                };
                pump.typical_points.push(TypicalPoint {
                    role: word.to_owned(),
                    ..TypicalPoint::default()
                });
                create_equipment_type(&mut site(), pump)
            }),
            (
                "assign role",
                assign_point(&mut site(), "ahu-1", word, "slot:/X").map(|_| ()),
            ),
            ("bulk role", {
                let points = [(word.to_owned(), "slot:/X".to_owned())];
                let item = Equipment {
                    id: "new".into(),
                    points: points.into_iter().collect(),
                    ..Equipment::default()
                };
                create_all_equipment(&mut site(), vec![item]).map(|_| ())
            }),
            (
                "rename role",
                rename(&mut site(), &type_role("ahu", "sat"), word).map(|_| ()),
            ),
            (
                "import role",
                imports(json!({"equipment": [{"id": "new", "points": {word: "slot:/X"}}]})),
            ),
            (
                "import typical role",
                imports(
                    json!({"equipment_types": [{"id": "new", "typical_points": [{"role": word}]}]}),
                ),
            ),
        ];
        for (way, refusal) in refusals {
            let error = refusal.expect_err(way);
            let text = error.to_string();
            assert!(
                ["blank", "control character", "no id"]
                    .iter()
                    .any(|word| text.contains(word)),
                "{way} of {word:?}: {text}"
            );
        }
    }
    for (name, is_import_fine) in [("", true), (" ", false), ("two\nlines", false)] {
        let space = Space {
            id: "new".into(),
            name: Some(name.into()),
            ..Space::default()
        };
        let error = create_space(&mut site(), space).unwrap_err();
        assert_eq!(error.data()["field"], "name");
        let update = SpaceUpdate {
            name: Some(name.into()),
            ..SpaceUpdate::default()
        };
        let updated = update_space(&mut site(), "hq", update).unwrap_err();
        assert_eq!(updated.data()["field"], "name", "a new entry has one too");
        let imported = imports(json!({"points": [{"id": "new", "name": name}]}));
        assert_eq!(imported.is_ok(), is_import_fine, "{name:?}");
    }
    let update = EquipmentUpdate {
        equipment_type: Some(String::new()),
        ..EquipmentUpdate::default()
    };
    let refused = update_equipment(&mut site(), "ahu-1", update).unwrap_err();
    assert_eq!(refused.data()["field"], "type", "{refused}");
}

#[test]
fn aliases_stay_on_one_line_whichever_way_they_come_in() {
    let aliases = vec!["fine".to_owned(), "two\nlines".to_owned()];
    let created = Space {
        id: "new".into(),
        name: Some("New".into()),
        aliases: aliases.clone(),
        ..Space::default()
    };
    let updated = EquipmentUpdate {
        aliases: Some(aliases.clone()),
        ..EquipmentUpdate::default()
    };
    for refusal in [
        create_space(&mut site(), created),
        update_equipment(&mut site(), "ahu-1", updated),
        imports(json!({"points": [{"id": "new", "aliases": aliases}]})),
    ] {
        let error = refusal.unwrap_err();
        assert!(error.to_string().contains("line break"), "{error}");
    }
}

fn imports(tree: Value) -> Result<(), OperationError> {
    import(&mut site(), document(tree), ImportMode::Merge, false).map(|_| ())
}
