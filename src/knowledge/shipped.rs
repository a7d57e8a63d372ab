//! Data that the bridge ships inside the program: standard types, kinds, the role map, tag and class tables.

use serde::de::DeserializeOwned;

/// Equipment types to start a new site from, YAML text (`importKnowledge` source `standard`).
pub const STANDARD_TYPES: &str = include_str!("../../knowledge/standard-types.yaml");

/// Reads a table that is compiled in; its text is ours, and every table has a test that reads it.
///
/// A table that cannot be read would be a fault of this build: it is reported and left empty rather than ending a
/// process that writes to plant.
pub(crate) fn table<T: DeserializeOwned + Default>(name: &str, text: &str) -> T {
    // The JSON reader is many times faster, and start-up waits for these tables.
    let read = if name.ends_with(".json") {
        serde_json::from_str(text).map_err(|error| error.to_string())
    } else {
        serde_yaml::from_str(text).map_err(|error| error.to_string())
    };
    read.unwrap_or_else(|error| {
        tracing::error!(table = name, %error, "a table of this build is damaged and left empty; install the bridge again");
        T::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::camber_roles::{self, camber_roles};
    use crate::knowledge::kinds::kind;
    use crate::knowledge::{KnowledgeModel, STANDARD_SAMPLE, decode, format};

    fn model(text: &str) -> KnowledgeModel {
        let (_, tree) = format::parse("standard", text).unwrap();
        let decoded = decode::decode("standard", tree).unwrap();
        assert!(decoded.warnings.is_empty(), "{:?}", decoded.warnings);
        KnowledgeModel::new(decoded.document)
    }

    #[test]
    fn the_standard_types_cover_the_usual_equipment_and_their_parents_exist() {
        let model = model(STANDARD_TYPES);
        for id in [
            "ahu",
            "rooftop",
            "vav",
            "fcu",
            "chiller",
            "cooling-tower",
            "boiler",
            "pump",
            "heat-pump",
            "heat-exchanger",
            "meter",
            "weather",
        ] {
            assert!(!model.typical_points(id).is_empty(), "{id} has no points");
        }
        for equipment_type in &model.document().equipment_types {
            if let Some(parent) = &equipment_type.extends {
                assert!(model.equipment_type(parent).is_some(), "{parent}");
            }
            assert!(equipment_type.name.is_some() && equipment_type.description.is_some());
            let id = &equipment_type.id;
            assert!(
                camber_roles::camber_class(&[id]).is_some(),
                "{id} has no CAMBER class"
            );
        }
        assert_eq!(
            model.typical_points("rooftop")[0].role,
            "supply_air_temp",
            "a rooftop unit inherits the points of an air handler"
        );
    }

    #[test]
    fn every_role_of_standard_and_sample_types_is_a_camber_role_or_known_to_have_none() {
        for text in [STANDARD_TYPES, STANDARD_SAMPLE] {
            let model = model(text);
            for equipment_type in &model.document().equipment_types {
                for point in &equipment_type.typical_points {
                    assert!(
                        camber_roles::is_listed(&[&equipment_type.id], &point.role),
                        "{}.{} is neither a CAMBER role nor in the role map",
                        equipment_type.id,
                        point.role
                    );
                }
            }
        }
    }

    #[test]
    fn a_role_that_camber_knows_bears_its_name_in_the_standard_types() {
        let model = model(STANDARD_TYPES);
        for equipment_type in &model.document().equipment_types {
            let id = equipment_type.id.as_str();
            for point in &equipment_type.typical_points {
                let meant = camber_roles::camber_role(&[id], &point.role);
                assert!(
                    meant.is_none_or(|role| role == point.role)
                        || point.role == "flow"
                        || point.role == "pump_speed",
                    "{id}.{} should be called {meant:?}",
                    point.role
                );
            }
        }
        let used: Vec<_> = model
            .document()
            .equipment_types
            .iter()
            .flat_map(|entry| &entry.typical_points)
            .map(|point| point.role.as_str())
            .collect();
        for role in camber_roles() {
            assert!(
                used.contains(&role.role.as_str()),
                "{} is unused",
                role.role
            );
        }
    }

    #[test]
    fn typical_points_have_a_known_kind_and_patterns_and_each_role_stands_once() {
        for text in [STANDARD_TYPES, STANDARD_SAMPLE] {
            for equipment_type in &model(text).document().equipment_types {
                let mut seen = Vec::new();
                for point in &equipment_type.typical_points {
                    let place = format!("{}.{}", equipment_type.id, point.role);
                    assert!(
                        point.kind.as_deref().and_then(kind).is_some(),
                        "{place}: {:?} is no kind",
                        point.kind
                    );
                    assert!(!point.slot_patterns.is_empty(), "{place} has no pattern");
                    assert!(!seen.contains(&&point.role), "{place} stands twice");
                    seen.push(&point.role);
                }
            }
        }
    }
}
