//! Habits of other installers, names of a model's own, and meters.

use niagara_bridge::knowledge::camber_roles::camber_role;
use niagara_bridge::knowledge::suggestion::{
    DescribedPoint, EquipmentProposal, ValueKind, propose,
};
use niagara_bridge::knowledge::{DocumentFormat, KnowledgeModel, decode, format};
use niagara_bridge::station::ord::{SlotName, SlotPath};
use niagara_bridge::station::units::{Unit, unit_by_name};

use super::Score;

/// A point of the file of naming conventions.
struct Convention {
    point: DescribedPoint,
    role: Option<String>,
    kind: String,
}

fn conventions() -> Vec<Convention> {
    let mut folder: SlotPath = SlotPath::root();
    let mut kind = String::new();
    let mut all = Vec::new();
    for line in include_str!("../naming-conventions.txt").lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some((path, family)) = line.split_once(" : ") {
            folder = format!("slot:{path}").parse().unwrap();
            kind = family.to_owned();
            continue;
        }
        let fields: Vec<&str> = line.split(" | ").collect();
        let [name, value, unit, role] = fields[..] else {
            panic!("{line}");
        };
        let kind_of_value = match &value[..1] {
            "N" => ValueKind::Numeric,
            "B" => ValueKind::Boolean,
            _ => ValueKind::Enum,
        };
        let end = if value.ends_with('w') {
            "Writable"
        } else {
            "Point"
        };
        let unit: Option<Unit> = unit_by_name(unit).cloned();
        all.push(Convention {
            point: DescribedPoint {
                path: folder.child(SlotName::escape(name).unwrap()),
                display_name: name.to_owned(),
                type_spec: format!("control:{kind_of_value:?}{end}"),
                kind: kind_of_value,
                unit,
                value: None,
                is_bad: false,
                recent: None,
            },
            role: (role != "-").then(|| role.to_owned()),
            kind: kind.clone(),
        });
    }
    all
}

#[test]
fn other_habits_of_naming_are_understood_as_well() {
    let conventions = conventions();
    let points: Vec<DescribedPoint> = conventions.iter().map(|one| one.point.clone()).collect();
    let found = propose(&points, &KnowledgeModel::default());
    let mut score = Score::default();
    for equipment in &found {
        let type_id = equipment.type_id.clone().unwrap_or_default();
        for point in &equipment.points {
            let guess = point.role.as_ref().map(|guess| {
                let role = camber_role(&[&type_id], &guess.role).unwrap_or(&guess.role);
                (role.to_owned(), guess.confidence)
            });
            score.add(conventions[point.point].role.as_deref(), &guess);
        }
        score.equipment += 1;
        score.whole += 1;
        let kind = &conventions[equipment.points[0].point].kind;
        let is_kind = type_id == *kind
            || matches!(
                (kind.as_str(), type_id.as_str()),
                ("chw-plant", "chilled-water-plant")
                    | ("hw-plant", "hot-water-plant")
                    | ("heating-circuit", "hot-water-pump")
                    | ("meter", "electric-meter")
            );
        score.classed += usize::from(is_kind);
    }
    score.print("other conventions");
    assert!(score.mapped > 120);
    assert!(score.share_right() >= 0.90, "{}", score.share_right());
    assert!(score.share_of_sure() >= 0.95, "{}", score.share_of_sure());
    assert!(score.classed as f64 >= 0.9 * score.equipment as f64);
}

fn proposed(found: &[EquipmentProposal], point: usize) -> Option<&str> {
    found
        .iter()
        .flat_map(|equipment| &equipment.points)
        .find(|one| one.point == point)
        .and_then(|one| one.role.as_ref())
        .map(|guess| guess.role.as_str())
}

#[test]
fn roles_are_called_as_the_model_calls_them_and_follow_what_is_mapped() {
    let model = |text: &str| {
        let (read_as, tree) = format::parse("test", text).unwrap();
        assert_eq!(read_as, DocumentFormat::Yaml);
        KnowledgeModel::new(decode::decode("test", tree).unwrap().document)
    };
    let point = |path: &str, unit: &str| DescribedPoint {
        path: path.parse().unwrap(),
        display_name: String::new(),
        type_spec: "control:NumericPoint".to_owned(),
        kind: ValueKind::Numeric,
        unit: unit_by_name(unit).cloned(),
        value: None,
        is_bad: false,
        recent: None,
    };
    let points = [
        point("slot:/Drivers/N/FCU_7/points/RmTmp", "celsius"),
        point("slot:/Drivers/N/FCU_7/points/AV_113", "percent"),
    ];
    let types = "equipment_types:\n- {id: fan-coil, typical_points: [{role: room_temp, kind: temperature}, \
                 {role: valve_position, kind: percent}]}\n";
    let found = propose(&points, &model(types));
    assert_eq!(found[0].type_id.as_deref(), Some("fan-coil"));
    assert_eq!(found[0].id, "fcu-7");
    assert_eq!(proposed(&found, 0), Some("room_temp"));
    assert_eq!(proposed(&found, 1), None, "a number says nothing");

    let mapped = format!(
        "{types}equipment:\n- {{id: fcu-1, type: fan-coil, ord: 'slot:/Drivers/N/FCU_1', points: {{valve_position: \
         'slot:/Drivers/N/FCU_1/points/AV_113'}}}}\n"
    );
    let found = propose(&points, &model(&mapped));
    assert_eq!(proposed(&found, 1), Some("valve_position"));
}

#[test]
fn names_and_units_tell_what_a_meter_counts() {
    let point = |folder: &str, name: &str, unit: &str| DescribedPoint {
        path: "slot:/Drivers/Modbus"
            .parse::<SlotPath>()
            .unwrap()
            .child(SlotName::escape(folder).unwrap())
            .child(SlotName::escape(name).unwrap()),
        display_name: String::new(),
        type_spec: "control:NumericPoint".to_owned(),
        kind: ValueKind::Numeric,
        unit: unit_by_name(unit).cloned(),
        value: None,
        is_bad: false,
        recent: None,
    };
    for (folder, points, type_id) in [
        // Nothing tells.
        (
            "Meter 1",
            vec![("kW", "kilowatt"), ("kWh", "kilowatt_hours")],
            "meter",
        ),
        // The name of the meter, in words or within one.
        (
            "Elec_Main",
            vec![("kW", "kilowatt"), ("kWh", "kilowatt_hours")],
            "electric-meter",
        ),
        (
            "Hauptstromzähler",
            vec![("Zählerstand", "kilowatt_hours")],
            "electric-meter",
        ),
        ("GasMeter", vec![("Total", "cubic_meter")], "gas-meter"),
        (
            "Gaszähler 2",
            vec![("Zählerstand", "cubic_meter")],
            "gas-meter",
        ),
        (
            "Wärmezähler HK1",
            vec![("Leistung", "kilowatt"), ("Arbeit", "kilowatt_hours")],
            "thermal-meter",
        ),
        (
            "Kältezähler",
            vec![("Arbeit", "kilowatt_hours")],
            "thermal-meter",
        ),
        ("BTU Meter 3", vec![("Energy", "kilobtu")], "thermal-meter"),
        (
            "Wasserzähler",
            vec![("Zählerstand", "cubic_meter")],
            "water-meter",
        ),
        // The points and their units.
        (
            "Meter 4",
            vec![
                ("kW", "kilowatt"),
                ("Volts A", "volt"),
                ("Amps A", "ampere"),
            ],
            "electric-meter",
        ),
        (
            "Meter 5",
            vec![
                ("Gas Flow", "cubic_feet_per_hour"),
                ("Gas Total", "cubic_foot"),
            ],
            "gas-meter",
        ),
        (
            "Meter 6",
            vec![
                ("Heat Rate", "kilobtus_per_hour"),
                ("Supply Temp", "fahrenheit"),
            ],
            "thermal-meter",
        ),
        (
            "Meter 7",
            vec![("Flow", "gallons_per_minute"), ("Volume", "gallon")],
            "water-meter",
        ),
        (
            "Zähler 8",
            vec![("cos phi", "power_factor"), ("Wirkleistung", "kilowatt")],
            "electric-meter",
        ),
    ] {
        let points: Vec<DescribedPoint> = points
            .iter()
            .map(|(name, unit)| point(folder, name, unit))
            .collect();
        let found = propose(&points, &KnowledgeModel::default());
        assert_eq!(found[0].type_id.as_deref(), Some(type_id), "{folder}");
        for (at, one) in points.iter().enumerate() {
            assert!(proposed(&found, at).is_some(), "{folder}: {}", one.path);
        }
    }
}
