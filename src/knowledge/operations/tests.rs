//! What edits do to a small site.

mod hand_made;
mod importing;

use serde_json::{Value, json};

use super::*;
use crate::knowledge::decode::decode;
use crate::knowledge::document::{
    Equipment, EquipmentType, KnowledgeDocument, Space, StandalonePoint, TypicalPoint,
};

/// A building with two floors and a room, two types of which one extends the other, and a few things in it.
fn site() -> KnowledgeDocument {
    document(json!({
        "spaces": [
            {"id": "hq", "name": "HQ", "type": "building"},
            {"id": "floor-1", "parent": "hq", "_note": {"by": "ann"}},
            {"id": "room-101", "parent": "floor-1"},
        ],
        "equipment_types": [
            {"id": "ahu", "typical_points": [
                {"role": "sat", "kind": "temperature", "required": true, "hint": "duct"},
                {"role": "fan"},
            ]},
            {"id": "rooftop", "extends": "ahu", "typical_points": [{"role": "compressor"}]},
        ],
        "equipment": [
            {"id": "ahu-1", "type": "ahu", "space": "floor-1", "ord": "station:|slot:/A1",
             "points": {"sat": "station:|slot:/A1/Sat", "fan": "station:|slot:/A1/Fan"}, "colour": "blue"},
            {"id": "rtu-1", "type": "rooftop", "space": "room-101", "ord": "station:|slot:/R1",
             "points": {"sat": "station:|slot:/R1/Sat"}},
        ],
        "points": [{"id": "co2", "space": "floor-1", "ord": "station:|slot:/Co2"}],
        "schedules": [{"id": "office"}],
    }))
}

fn document(tree: Value) -> KnowledgeDocument {
    decode("test", tree).unwrap().document
}

fn entry(kind: EntryKind, id: &str) -> Target {
    let id = id.to_owned();
    Target::Entry { kind, id }
}

fn type_role(id: &str, role: &str) -> Target {
    Target::TypeRole {
        equipment_type: id.to_owned(),
        role: role.to_owned(),
    }
}

fn said(changes: &[Change]) -> Vec<String> {
    let line = |change: &Change| {
        let to = change.to.as_deref().unwrap_or("nothing");
        format!(
            "{} {}.{}: {} > {to}",
            change.kind.name(),
            change.id,
            change.field,
            change.from
        )
    };
    changes.iter().map(line).collect()
}

#[test]
fn new_entries_need_new_ids_and_known_references() {
    let mut site = site();
    let space = |id: &str, parent: Option<&str>| Space {
        id: id.to_owned(),
        parent: parent.map(str::to_owned),
        ..Space::default()
    };
    create_space(&mut site, space("floor-2", Some("hq"))).unwrap();
    create_space(&mut site, space("yard", Some(""))).unwrap();
    assert_eq!(site.spaces[3].parent.as_deref(), Some("hq"));
    assert_eq!(site.spaces[4].parent, None, "an empty parent is none");

    let error = create_space(&mut site, space("hq", None)).unwrap_err();
    assert_eq!(error.data()["id"], "hq");
    assert!(error.to_string().contains("exists already"), "{error}");
    let error = create_space(&mut site, space("room-102", Some("flor-1"))).unwrap_err();
    assert_eq!(
        Value::Object(error.data()),
        json!({"id": "flor-1", "kind": "space", "field": "parent",
               "of": {"id": "room-102", "kind": "space"}, "nearest": "floor-1"})
    );
    assert!(
        error.to_string().contains("the nearest is 'floor-1'"),
        "{error}"
    );
    for id in ["", "  ", " a", "a\n"] {
        let error = create_space(&mut site, space(id, None)).unwrap_err();
        assert!(
            matches!(error, OperationError::BadId { .. }),
            "{id:?}: {error}"
        );
    }
    assert_eq!(site.spaces.len(), 5);
}

#[test]
fn ords_are_checked_and_kept_in_the_form_results_carry() {
    let mut site = site();
    let equipment = |id: &str, ord: &str, point: &str| Equipment {
        id: id.to_owned(),
        equipment_type: Some("ahu".to_owned()),
        ord: Some(ord.to_owned()),
        points: [("sat".to_owned(), point.to_owned())].into_iter().collect(),
        ..Equipment::default()
    };
    create_equipment(
        &mut site,
        equipment("ahu-2", "slot:/A2/", "local:|station:|slot:/A2/Sat"),
    )
    .unwrap();
    let added = site.equipment.last().unwrap();
    assert_eq!(added.ord.as_deref(), Some("station:|slot:/A2"));
    assert_eq!(added.points["sat"], "station:|slot:/A2/Sat");

    let error = create_equipment(&mut site, equipment("ahu-3", "/A3", "slot:/A3/Sat")).unwrap_err();
    assert_eq!(
        Value::Object(error.data()),
        json!({"id": "ahu-3", "kind": "equipment", "field": "ord", "ord": "/A3"})
    );
    let error =
        create_equipment(&mut site, equipment("ahu-3", "slot:/A3", "slot:/A3//Sat")).unwrap_err();
    assert_eq!(error.data()["field"], "points.sat");
    for (written, stored) in [
        ("slot:/Plant 1/Sat", "write Plant$201"),
        ("slot:/Plant/Sat-1", "write Sat$2d1"),
        ("slot:/Plant/101", "write $3101"),
        ("slot:/Plant/Kühlung", "write K$fchlung"),
        ("slot:/Plant/Sat$2", "write Sat$242"),
    ] {
        let error = assign_point(&mut site, "ahu-1", "oat", written).unwrap_err();
        assert_eq!(error.data()["ord"], written);
        assert!(error.to_string().contains(stored), "{error}");
    }
    let error = assign_point(&mut site, "ahu-1", "oat", "history:/S/H").unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("The points.oat of the equipment 'ahu-1' cannot be used:"),
        "{error}"
    );
    let error = assign_point(&mut site, "ahu-1", " ", "slot:/X").unwrap_err();
    assert!(matches!(error, OperationError::BadRole { .. }));
    let before = assign_point(&mut site, "ahu-1", "sat", "slot:/A1/Sat2").unwrap();
    assert_eq!(before.as_deref(), Some("station:|slot:/A1/Sat"));
    assert_eq!(site.equipment[0].points["sat"], "station:|slot:/A1/Sat2");
}

#[test]
fn a_list_of_equipment_is_added_whole_or_not_at_all() {
    let mut site = site();
    let item = |id: &str| Equipment {
        id: id.to_owned(),
        equipment_type: Some("ahu".to_owned()),
        ord: Some(format!("slot:/{id}")),
        ..Equipment::default()
    };
    let before = site.clone();
    let error = create_all_equipment(&mut site, vec![item("a"), item("b"), item("a")]).unwrap_err();
    assert_eq!(
        Value::Object(error.data()),
        json!({"id": "a", "kind": "equipment", "item": 2})
    );
    assert_eq!(site, before);
    assert_eq!(
        create_all_equipment(&mut site, vec![item("a"), item("b")]),
        Ok(2)
    );
    assert_eq!(
        create_all_equipment(&mut site, Vec::new()),
        Err(OperationError::EmptyBatch)
    );
    let ids: Vec<&str> = site
        .equipment
        .iter()
        .map(|entry| entry.id.as_str())
        .collect();
    assert_eq!(ids, ["ahu-1", "rtu-1", "a", "b"]);
}

#[test]
fn an_update_changes_only_what_is_given() {
    let mut site = site();
    let update = SpaceUpdate {
        aliases: Some(vec!["1OG".into(), "一階".into()]),
        ..SpaceUpdate::default()
    };
    update_space(&mut site, "floor-1", update).unwrap();
    let floor = &site.spaces[1];
    assert_eq!(floor.parent.as_deref(), Some("hq"));
    assert_eq!(floor.aliases, ["1OG", "一階"]);
    assert_eq!(floor.extra["_note"], json!({"by": "ann"}));

    let clear = SpaceUpdate {
        parent: Some(String::new()),
        ..SpaceUpdate::default()
    };
    update_space(&mut site, "floor-1", clear).unwrap();
    assert_eq!(site.spaces[1].parent, None);

    let update = EquipmentUpdate {
        points: [("oat".to_owned(), "slot:/A1/Oat".to_owned())]
            .into_iter()
            .collect(),
        notes: Some(vec!["new filter".into()]),
        ..EquipmentUpdate::default()
    };
    update_equipment(&mut site, "ahu-1", update).unwrap();
    let ahu = &site.equipment[0];
    assert_eq!(ahu.points.keys().collect::<Vec<_>>(), ["sat", "fan", "oat"]);
    assert_eq!(
        (ahu.space.as_deref(), &ahu.extra["colour"]),
        (Some("floor-1"), &json!("blue"))
    );

    let update = EquipmentTypeUpdate {
        typical_points: Some(vec![TypicalPoint {
            role: "sat".into(),
            slot_patterns: vec!["*Sat*".into()],
            ..TypicalPoint::default()
        }]),
        ..EquipmentTypeUpdate::default()
    };
    update_equipment_type(&mut site, "ahu", update).unwrap();
    let points = &site.equipment_types[0].typical_points;
    assert_eq!(points.len(), 1, "the list is replaced");
    assert_eq!(
        (points[0].required, &points[0].extra["hint"]),
        (false, &json!("duct"))
    );
}

#[test]
fn an_update_that_names_nothing_or_closes_a_cycle_is_refused() {
    let mut site = site();
    let under = |parent: &str| SpaceUpdate {
        parent: Some(parent.to_owned()),
        ..SpaceUpdate::default()
    };
    let error = update_space(&mut site, "hq", under("room-101")).unwrap_err();
    assert_eq!(
        Value::Object(error.data()),
        json!({"id": "hq", "kind": "space", "field": "parent", "cycle": ["hq", "room-101", "floor-1", "hq"]})
    );
    assert!(update_space(&mut site, "hq", under("hq")).is_err());
    let error = update_space(&mut site, "attic", under("hq")).unwrap_err();
    assert_eq!(error.to_string(), "There is no space 'attic'.");

    let error = update_equipment_type(
        &mut site,
        "ahu",
        EquipmentTypeUpdate {
            extends: Some("rooftop".into()),
            ..EquipmentTypeUpdate::default()
        },
    )
    .unwrap_err();
    assert_eq!(error.data()["cycle"], json!(["ahu", "rooftop", "ahu"]));
    for update in [
        EquipmentUpdate {
            equipment_type: Some("boiler".into()),
            ..EquipmentUpdate::default()
        },
        EquipmentUpdate {
            space: Some("attic".into()),
            ..EquipmentUpdate::default()
        },
    ] {
        let error = update_equipment(&mut site, "ahu-1", update).unwrap_err();
        assert_eq!(
            error.data()["of"],
            json!({"id": "ahu-1", "kind": "equipment"})
        );
    }
    assert_eq!(site, self::site());
}

#[test]
fn a_cycle_that_is_there_already_does_not_stop_other_updates() {
    let mut site = document(json!({"spaces": [
        {"id": "a", "parent": "b"}, {"id": "b", "parent": "a"}, {"id": "c"}]}));
    let update = SpaceUpdate {
        parent: Some("a".into()),
        ..SpaceUpdate::default()
    };
    update_space(&mut site, "c", update).unwrap();
    let repair = SpaceUpdate {
        parent: Some(String::new()),
        ..SpaceUpdate::default()
    };
    update_space(&mut site, "a", repair).unwrap();
    assert_eq!(site.spaces[0].parent, None);
}

#[test]
fn what_is_used_goes_only_with_its_references() {
    let mut site = site();
    let floor = entry(EntryKind::Space, "floor-1");
    let error = remove(&mut site.clone(), &floor, false).unwrap_err();
    assert_eq!(
        Value::Object(error.data()),
        json!({"id": "floor-1", "kind": "space", "refererCount": 3, "referers": [
            {"kind": "space", "id": "room-101", "field": "parent"},
            {"kind": "equipment", "id": "ahu-1", "field": "space"},
            {"kind": "point", "id": "co2", "field": "space"}]})
    );
    assert!(
        error
            .to_string()
            .contains("space 'room-101' (parent), equipment 'ahu-1' (space)"),
        "{error}"
    );

    let changes = remove(&mut site, &floor, true).unwrap();
    assert_eq!(
        said(&changes),
        [
            "space room-101.parent: floor-1 > hq",
            "equipment ahu-1.space: floor-1 > hq",
            "point co2.space: floor-1 > hq"
        ]
    );
    assert_eq!(
        remove(&mut site, &entry(EntryKind::Equipment, "rtu-1"), false),
        Ok(Vec::new())
    );
    let changes = remove(&mut site, &entry(EntryKind::EquipmentType, "ahu"), true).unwrap();
    assert_eq!(
        said(&changes),
        [
            "equipmentType rooftop.extends: ahu > nothing",
            "equipment ahu-1.type: ahu > nothing"
        ]
    );
    let error = remove(&mut site, &entry(EntryKind::Point, "co3"), false).unwrap_err();
    assert_eq!(error.data()["nearest"], "co2");
}

#[test]
fn the_rest_of_a_cycle_does_not_end_as_its_own_parent() {
    let mut site =
        document(json!({"spaces": [{"id": "a", "parent": "b"}, {"id": "b", "parent": "a"}]}));
    let changes = remove(&mut site, &entry(EntryKind::Space, "a"), true).unwrap();
    assert_eq!(said(&changes), ["space b.parent: a > nothing"]);
}

#[test]
fn a_role_of_a_type_goes_with_the_ords_that_equipment_has_for_it() {
    let mut site = site();
    let error = remove(&mut site.clone(), &type_role("ahu", "sat"), false).unwrap_err();
    assert_eq!(error.data()["refererCount"], 2);
    assert!(
        error
            .to_string()
            .starts_with("The role 'sat' of the equipment type 'ahu' is used by"),
        "{error}"
    );
    let changes = remove(&mut site, &type_role("ahu", "sat"), true).unwrap();
    assert_eq!(
        said(&changes),
        [
            "equipment ahu-1.points.sat: station:|slot:/A1/Sat > nothing",
            "equipment rtu-1.points.sat: station:|slot:/R1/Sat > nothing"
        ]
    );
    assert_eq!(site.equipment[0].points.keys().collect::<Vec<_>>(), ["fan"]);

    let own = Target::EquipmentRole {
        equipment: "ahu-1".into(),
        role: "fan".into(),
    };
    assert_eq!(remove(&mut site, &own, false), Ok(Vec::new()));
    let error = remove(&mut site, &own, false).unwrap_err();
    assert_eq!(error.data()["role"], "fan");
}

#[test]
fn a_role_that_the_parent_type_also_has_may_go_from_the_child() {
    let mut site = site();
    site.equipment_types[1].typical_points.push(TypicalPoint {
        role: "sat".into(),
        ..TypicalPoint::default()
    });
    assert_eq!(
        remove(&mut site, &type_role("rooftop", "sat"), false),
        Ok(Vec::new())
    );
    assert!(site.equipment[1].points.contains_key("sat"));
}

#[test]
fn a_new_id_is_followed_everywhere() {
    let mut site = site();
    let changes = rename(
        &mut site,
        &entry(EntryKind::Space, "floor-1"),
        "first-floor",
    )
    .unwrap();
    assert_eq!(
        said(&changes),
        [
            "space room-101.parent: floor-1 > first-floor",
            "equipment ahu-1.space: floor-1 > first-floor",
            "point co2.space: floor-1 > first-floor"
        ]
    );
    assert_eq!(site.spaces[1].id, "first-floor");
    let changes = rename(
        &mut site,
        &entry(EntryKind::EquipmentType, "ahu"),
        "air-handler",
    )
    .unwrap();
    assert_eq!(
        said(&changes),
        [
            "equipmentType rooftop.extends: ahu > air-handler",
            "equipment ahu-1.type: ahu > air-handler"
        ]
    );
    let taken = rename(&mut site, &entry(EntryKind::Equipment, "ahu-1"), "rtu-1").unwrap_err();
    assert!(matches!(taken, OperationError::DuplicateId { .. }));
    assert_eq!(
        rename(&mut site, &entry(EntryKind::Point, "co2"), "floor-co2"),
        Ok(Vec::new())
    );
}

#[test]
fn a_role_of_a_type_is_renamed_in_its_whole_family() {
    let mut site = site();
    let changes = rename(&mut site, &type_role("ahu", "sat"), "supply_air_temp").unwrap();
    assert_eq!(
        said(&changes),
        [
            "equipment ahu-1.points: sat > supply_air_temp",
            "equipment rtu-1.points: sat > supply_air_temp"
        ]
    );
    assert_eq!(
        site.equipment_types[0].typical_points[0].extra["hint"],
        "duct"
    );
    assert_eq!(
        site.equipment[0].points.iter().next().unwrap(),
        (
            &"supply_air_temp".to_owned(),
            &"station:|slot:/A1/Sat".to_owned()
        ),
        "the place in the list stays"
    );
    for (id, role, new) in [
        ("ahu", "fan", "supply_air_temp"),
        ("rooftop", "compressor", "fan"),
        ("ahu", "fan", "compressor"),
    ] {
        let error = rename(&mut site.clone(), &type_role(id, role), new).unwrap_err();
        assert!(
            matches!(error, OperationError::DuplicateRole { .. }),
            "{error}"
        );
    }
    let error = rename(&mut site.clone(), &type_role("rooftop", "fan"), "x").unwrap_err();
    assert!(
        matches!(error, OperationError::UnknownRole { .. }),
        "{error}"
    );
    let over = TypicalPoint {
        role: "fan".into(),
        ..TypicalPoint::default()
    };
    site.equipment_types[1].typical_points.push(over);
    let error = rename(&mut site.clone(), &type_role("rooftop", "fan"), "x").unwrap_err();
    assert_eq!(error.data()["inheritedFrom"], "ahu");
    let changes = rename(&mut site, &type_role("ahu", "fan"), "fan_status").unwrap();
    assert_eq!(
        said(&changes)[0],
        "equipmentType rooftop.typical_points: fan > fan_status"
    );
}

#[test]
fn a_role_of_equipment_is_renamed_in_its_place() {
    let mut site = site();
    let role = |role: &str| Target::EquipmentRole {
        equipment: "ahu-1".into(),
        role: role.into(),
    };
    rename(&mut site, &role("sat"), "oat").unwrap();
    assert_eq!(
        site.equipment[0].points.keys().collect::<Vec<_>>(),
        ["oat", "fan"]
    );
    let error = rename(&mut site, &role("oat"), "fan").unwrap_err();
    assert_eq!(error.data()["role"], "fan");
    assert!(rename(&mut site, &role("sat"), "x").is_err());
}

#[test]
fn a_new_type_names_each_role_once() {
    let mut site = site();
    let point = |role: &str| TypicalPoint {
        role: role.to_owned(),
        ..TypicalPoint::default()
    };
    let mut pump = EquipmentType {
        id: "pump".into(),
        typical_points: vec![point("speed"), point("speed")],
        ..EquipmentType::default()
    };
    let error = create_equipment_type(&mut site, pump.clone()).unwrap_err();
    assert_eq!(error.data()["role"], "speed");
    pump.typical_points.pop();
    pump.extends = Some("machine".into());
    assert!(create_equipment_type(&mut site, pump.clone()).is_err());
    pump.extends = None;
    create_equipment_type(&mut site, pump).unwrap();
    assert_eq!(site.equipment_types[2].typical_points[0].role, "speed");
}
