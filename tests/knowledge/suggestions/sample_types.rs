//! Proposals for a model that has the five sample types only: what those do not fit is not forced into them.

use niagara_bridge::knowledge::suggestion::{
    DescribedPoint, EquipmentProposal, ValueKind, propose,
};
use niagara_bridge::knowledge::{KnowledgeModel, STANDARD_SAMPLE, decode, format};
use niagara_bridge::station::ord::{SlotName, SlotPath};
use niagara_bridge::station::units::unit_by_name;

fn sample() -> KnowledgeModel {
    let (_, tree) = format::parse("sample", STANDARD_SAMPLE).unwrap();
    KnowledgeModel::new(decode::decode("sample", tree).unwrap().document)
}

fn point(folder: &str, name: &str, unit: &str) -> DescribedPoint {
    let folder: SlotPath = format!("slot:/Drivers/Net/{folder}/points")
        .parse()
        .unwrap();
    let (kind, type_spec) = match unit {
        "" => (ValueKind::Boolean, "control:BooleanPoint"),
        _ => (ValueKind::Numeric, "control:NumericPoint"),
    };
    DescribedPoint {
        path: folder.child(SlotName::escape(name).unwrap()),
        display_name: String::new(),
        type_spec: type_spec.to_owned(),
        kind,
        unit: unit_by_name(unit).cloned(),
        value: None,
        is_bad: false,
        recent: None,
    }
}

fn proposals(folder: &str, points: &[(&str, &str)]) -> Vec<EquipmentProposal> {
    let points: Vec<DescribedPoint> = points
        .iter()
        .map(|(name, unit)| point(folder, name, unit))
        .collect();
    propose(&points, &sample())
}

#[test]
fn a_plant_is_no_machine_of_its_kind() {
    for (folder, points) in [
        (
            "Kaltwasser",
            &[
                ("VL Temp", "celsius"),
                ("RL Temp", "celsius"),
                ("Status", ""),
                ("Leistung", "percent"),
            ][..],
        ),
        (
            "CHW Plant",
            &[
                ("CHWST", "fahrenheit"),
                ("CHWRT", "fahrenheit"),
                ("Status", ""),
            ][..],
        ),
        ("Kaltwasser", &[("CHWST", "celsius"), ("Status", "")][..]),
    ] {
        for found in proposals(folder, points) {
            assert!(found.confidence <= 0.7, "{folder}: {found:?}");
        }
    }
    let machine = proposals(
        "Chiller 1",
        &[("CHWST", "celsius"), ("CHWRT", "celsius"), ("Status", "")],
    );
    assert_eq!(machine[0].type_id.as_deref(), Some("chiller"));
    assert!(machine[0].confidence > 0.8, "{machine:?}");
    assert!(
        !machine[0]
            .reasons
            .iter()
            .any(|reason| reason.contains("nearest")),
        "{machine:?}"
    );
}

#[test]
fn a_valve_is_no_demand() {
    for folder in ["AHU 1", "RLT 01", "Rooftop 3", "FCU 2"] {
        for name in [
            "Kühlventil",
            "Kühlventil Stellung",
            "Heizventil",
            "Cooling Valve",
            "Clg Valve Output",
            "CHW Valve",
            "Heating Valve",
            "HtgVlv",
            "Kühlregister Ventil",
        ] {
            let points = [(name, "percent"), ("SAT", "celsius"), ("SF Status", "")];
            let found = proposals(folder, &points);
            let valve = found
                .iter()
                .flat_map(|equipment| &equipment.points)
                .find(|one| one.point == 0)
                .expect("the point is listed");
            let role = valve.role.as_ref().map(|guess| guess.role.as_str());
            assert!(
                role.is_none_or(|role| role.contains("valve")),
                "{folder}/{name}: {valve:?}"
            );
        }
        for name in ["Cooling Demand", "Kühlanforderung", "Clg Demand"] {
            let points = [(name, "percent"), ("SAT", "celsius"), ("SF Status", "")];
            let found = proposals(folder, &points);
            let role = found[0].points[0].role.as_ref();
            if ["AHU 1", "RLT 01"].contains(&folder) {
                let role = role.unwrap_or_else(|| panic!("{folder}/{name}: {found:?}"));
                assert_eq!(role.role, "cooling_demand");
            }
        }
    }
}
