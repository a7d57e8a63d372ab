//! Tags of a small building, and what becomes of them.

use super::*;
use crate::knowledge::validate;
use crate::station::facade::DirectTag;

/// `markers` separated by blanks; `name=ord` is a reference, `dis:text` the name.
fn tagged(path: &str, markers: &str) -> TaggedComponent {
    let tags = markers.split_whitespace().map(|word| {
        let (name, value) = match (word.split_once('='), word.split_once(':')) {
            (Some((name, path)), _) => {
                (name, TagValue::Reference(format!("station:|slot:/{path}")))
            }
            (None, Some((name, text))) => (name, TagValue::Text(text.to_owned())),
            (None, None) => (word, TagValue::Marker),
        };
        DirectTag {
            name: name.to_owned(),
            value,
        }
    });
    TaggedComponent {
        ord: format!("station:|slot:/{path}"),
        display_name: path.rsplit('/').next().unwrap_or_default().to_owned(),
        type_spec: "baja:Folder".to_owned(),
        tags: tags.collect(),
    }
}

fn tower() -> Vec<TaggedComponent> {
    vec![
        tagged("D/AHU_1/points/SAT", "discharge air temp sensor"),
        tagged("D/AHU_1/points/RAT", "point return air temp sensor zone"),
        tagged("D/AHU_1/points/CV", "cooling valve cmd"),
        tagged("D/AHU_1/points/T7", "temp sensor"),
        tagged("D/AHU_1/points/F1", "discharge fan run sensor"),
        tagged("D/AHU_1/points/F2", "discharge fan run sensor"),
        tagged("D/AHU_1", "equip ahu"),
        tagged("D/VAV_1/points/ZT", "zone air temp sensor"),
        tagged("D/VAV_1/points/CO2", "zone air co2 sensor"),
        tagged("D/VAV_1", "equip vav airRef=D/AHU_1 spaceRef=B/F1"),
        tagged("D/Lift", "equip elevator"),
        tagged("B", "site dis:Tower"),
        tagged("B/F1", "floor space"),
        tagged("Loose/kW", "elec power sensor"),
        tagged(
            "Loose/VFD",
            "point discharge fan speed cmd equipRef=D/AHU_1",
        ),
    ]
}

#[test]
fn tags_become_sites_spaces_equipment_and_points() {
    let findings = read(&tower(), &KnowledgeDocument::default());
    assert_eq!(
        findings.found,
        Found {
            sites: 1,
            spaces: 1,
            equipment: 3,
            points: 10
        }
    );
    let document = &findings.document;
    let spaces: Vec<_> = document
        .spaces
        .iter()
        .map(|space| {
            (
                space.id.as_str(),
                space.space_type.as_deref(),
                space.parent.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        spaces,
        [
            ("tower", Some("building"), None),
            ("f1", Some("floor"), Some("tower"))
        ]
    );
    let ahu = &document.equipment[0];
    assert_eq!(
        (ahu.id.as_str(), ahu.equipment_type.as_deref()),
        ("ahu-1", Some("ahu"))
    );
    assert_eq!(ahu.space.as_deref(), Some("tower"), "the only site");
    let roles: Vec<_> = ahu
        .points
        .iter()
        .map(|(role, ord)| (role.as_str(), ord.as_str()))
        .collect();
    assert_eq!(
        roles,
        [
            ("cool_valve", "station:|slot:/D/AHU_1/points/CV"),
            ("return_air_temp", "station:|slot:/D/AHU_1/points/RAT"),
            ("supply_air_temp", "station:|slot:/D/AHU_1/points/SAT"),
            ("supply_fan_speed", "station:|slot:/Loose/VFD"),
        ]
    );
    let vav = document
        .equipment
        .iter()
        .find(|entry| entry.id == "vav-1")
        .unwrap();
    assert_eq!(vav.space.as_deref(), Some("f1"));
    assert_eq!(vav.extra["served_by"], json!(["ahu-1"]));
    assert_eq!(vav.points["space_temp"], "station:|slot:/D/VAV_1/points/ZT");
    assert!(vav.points.contains_key("co2"));
    let point = &document.points[0];
    assert_eq!(
        (
            point.id.as_str(),
            point.kind.as_deref(),
            point.role_in_space.as_deref()
        ),
        ("kw", Some("power"), Some("power"))
    );
    let types: Vec<_> = document
        .equipment_types
        .iter()
        .map(|entry| entry.id.as_str())
        .collect();
    assert_eq!(types, ["ahu", "vav"]);
    let doubts: Vec<_> = findings
        .ambiguous
        .iter()
        .map(|doubt| {
            (
                doubt.ord.rsplit('/').next().unwrap(),
                doubt.problem.as_str(),
            )
        })
        .collect();
    assert_eq!(
        doubts,
        [
            (
                "Lift",
                "no equipment type has these markers; it came in without a type"
            ),
            ("T7", "no role has these markers; the point was left out"),
            (
                "F1",
                "2 points have the markers of the role supply_fan_status; they were left out"
            ),
            (
                "F2",
                "2 points have the markers of the role supply_fan_status; they were left out"
            ),
        ]
    );
    let remarks: Vec<String> = validate(&KnowledgeModel::new(document.clone()))
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        remarks,
        [
            "equipment 'ahu-1': the type 'ahu' requires the role 'supply_fan_status', which has no point",
            "equipment 'vav-1': the type 'vav' requires the role 'damper', which has no point"
        ]
    );
}

#[test]
fn what_is_mapped_already_stays_and_a_second_import_finds_nothing_new() {
    let tower = tower();
    let first = read(&tower, &KnowledgeDocument::default());
    let again = read(&tower, &first.document);
    assert!(
        again.document.spaces.is_empty()
            && again.document.equipment.is_empty()
            && again.document.equipment_types.is_empty()
            && again.document.points.is_empty(),
        "{:?}",
        again.document
    );
    assert_eq!(again.known, tower.len());

    let mut own = KnowledgeDocument::default();
    own.equipment.push(Equipment {
        id: "my-unit".to_owned(),
        ord: Some("slot:/D/AHU_1".to_owned()),
        ..Equipment::default()
    });
    own.equipment.push(Equipment {
        id: "vav-1".to_owned(),
        ord: Some("station:|slot:/Elsewhere".to_owned()),
        ..Equipment::default()
    });
    let findings = read(&tower, &own);
    let ids: Vec<_> = findings
        .document
        .equipment
        .iter()
        .map(|entry| entry.id.as_str())
        .collect();
    assert_eq!(ids, ["lift", "vav-1-2"]);
    let vav = &findings.document.equipment[1];
    assert_eq!(vav.extra["served_by"], json!(["my-unit"]));
}

#[test]
fn a_tie_is_no_guess() {
    let three = |name: &str| tagged(&format!("M/{name}"), "elec volt sensor");
    let components = [tagged("M", "ac elec meter equip"), three("A"), three("B")];
    let findings = read(&components, &KnowledgeDocument::default());
    let entry = &findings.document.equipment[0];
    assert_eq!(entry.equipment_type.as_deref(), Some("electric-meter"));
    assert!(entry.points.is_empty());
    assert_eq!(findings.ambiguous.len(), 2);
    assert_eq!(
        findings.ambiguous[0].problem,
        "the markers fit the roles voltage_a, voltage_b, voltage_c; the point was left out"
    );
}

#[test]
fn names_without_letters_and_equal_names_get_ids_of_their_own() {
    let components = [
        tagged("A/温度", "zone air temp sensor"),
        tagged("B/温度", "zone air temp sensor"),
        tagged("C/x", "site"),
        tagged("D/x", "site"),
    ];
    let findings = read(&components, &KnowledgeDocument::default());
    let ids: Vec<_> = findings
        .document
        .points
        .iter()
        .map(|point| point.id.as_str())
        .collect();
    assert_eq!(ids, ["point", "point-2"]);
    assert!(
        findings.document.points[0].space.is_none(),
        "two sites, so neither is meant"
    );
    let ids: Vec<_> = findings
        .document
        .spaces
        .iter()
        .map(|space| space.id.as_str())
        .collect();
    assert_eq!(ids, ["x", "x-2"]);
}
