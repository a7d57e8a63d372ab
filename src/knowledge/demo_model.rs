//! The model of the demo site Harborview, which `demo` starts with.

use super::{KnowledgeDocument, KnowledgeError, STANDARD_TYPES, decode, format};

const HARBORVIEW: &str = include_str!("../../knowledge/harborview.yaml");

/// Harborview as an integrator would have mapped it: the standard types, spaces, all equipment with its points.
///
/// # Errors
/// Only if this build's own data is damaged.
pub fn harborview() -> Result<KnowledgeDocument, KnowledgeError> {
    let read = |origin: &str, text: &str| {
        let (_, tree) = format::parse(origin, text)?;
        decode::decode(origin, tree).map(|decoded| decoded.document)
    };
    let mut document = read("knowledge/harborview.yaml", HARBORVIEW)?;
    document.equipment_types =
        read("knowledge/standard-types.yaml", STANDARD_TYPES)?.equipment_types;
    Ok(document)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use mock_station::site::{Harborview, SiteOptions};

    use super::*;
    use crate::knowledge::KnowledgeModel;
    use crate::knowledge::camber_roles::{camber_class, camber_role, lineage};

    fn model() -> KnowledgeModel {
        KnowledgeModel::new(harborview().unwrap())
    }

    fn truth() -> serde_json::Value {
        serde_json::from_str(include_str!(
            "../../mock-station/data/site-harborview-truth.json"
        ))
        .unwrap()
    }

    /// CAMBER role to slot path, as ingest would read the model.
    fn camber_points<'a>(
        model: &'a KnowledgeModel,
        entry: &'a crate::knowledge::Equipment,
    ) -> BTreeMap<&'static str, &'a str> {
        let types = lineage(model, entry.equipment_type.as_deref().unwrap());
        entry
            .points
            .iter()
            .filter_map(|(role, ord)| {
                Some((camber_role(&types, role)?, ord.strip_prefix("station:|")?))
            })
            .collect()
    }

    #[test]
    fn all_equipment_of_the_site_is_mapped_with_its_class_and_every_role() {
        let (model, truth) = (model(), truth());
        let equipment = truth["equipment"].as_array().unwrap();
        assert_eq!(model.document().equipment.len(), equipment.len());
        for expected in equipment {
            let name = expected["id"].as_str().unwrap();
            let entry = model
                .document()
                .equipment
                .iter()
                .find(|entry| entry.aliases.iter().any(|alias| alias == name))
                .unwrap_or_else(|| panic!("{name} is not mapped"));
            let types = lineage(&model, entry.equipment_type.as_deref().unwrap());
            assert_eq!(camber_class(&types), expected["class"].as_str(), "{name}");
            let roles: BTreeMap<&str, &str> = expected["roles"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(role, path)| (role.as_str(), path.as_str().unwrap()))
                .collect();
            assert_eq!(camber_points(&model, entry), roles, "{name}");
            let served: Vec<_> = entry
                .extra
                .get("served_by")
                .into_iter()
                .flat_map(|list| list.as_array().unwrap())
                .collect();
            if let Some(by) = expected["served_by"].as_str() {
                assert!(
                    served
                        .iter()
                        .any(|id| id.as_str() == Some(&by.to_lowercase())),
                    "{name}"
                );
            }
            for id in served {
                assert!(
                    model.equipment(id.as_str().unwrap()).is_some(),
                    "{name}: {id}"
                );
            }
        }
    }

    #[test]
    fn every_ord_is_a_component_of_the_station_and_none_is_mapped_twice() {
        let now = "2026-01-15T17:00:00Z".parse().unwrap();
        let station = Harborview::build(SiteOptions::for_tests(now))
            .unwrap()
            .station;
        let document = harborview().unwrap();
        let own = document
            .equipment
            .iter()
            .filter_map(|entry| entry.ord.clone());
        let points = document
            .equipment
            .iter()
            .flat_map(|entry| entry.points.values().cloned());
        let standalone = document.points.iter().filter_map(|point| point.ord.clone());
        let schedules = document.extra["schedules"]
            .as_array()
            .unwrap()
            .iter()
            .map(|schedule| schedule["ord"].as_str().unwrap().to_owned());
        let mut seen = BTreeSet::new();
        for ord in own.chain(points).chain(standalone).chain(schedules) {
            let handle = station
                .resolve_component(&ord)
                .unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(ord, format!("station:|{}", station.slot_path(handle)));
            assert!(seen.insert(handle), "{ord} is mapped twice");
        }
        assert!(seen.len() > 550, "{}", seen.len());
    }

    #[test]
    fn places_types_schedules_and_required_roles_are_all_there() {
        let model = model();
        let document = model.document();
        let schedules = document.extra["schedules"].as_array().unwrap();
        for entry in &document.equipment {
            let id = &entry.id;
            assert!(
                model.space(entry.space.as_deref().unwrap()).is_some(),
                "{id}"
            );
            let known = model.typical_points(entry.equipment_type.as_deref().unwrap());
            for role in entry.points.keys() {
                assert!(
                    known.iter().any(|point| point.role == *role),
                    "{id}: {role}"
                );
            }
            for point in known.iter().filter(|point| point.required) {
                assert!(
                    entry.points.contains_key(&point.role),
                    "{id}: {}",
                    point.role
                );
            }
            if let Some(schedule) = &entry.schedule {
                assert!(
                    schedules.iter().any(|known| known["id"] == **schedule),
                    "{id}"
                );
            }
        }
        for space in &document.spaces {
            assert!(
                space
                    .parent
                    .as_deref()
                    .is_none_or(|parent| model.space(parent).is_some()),
                "{}",
                space.id
            );
        }
        for point in &document.points {
            assert!(
                model.space(point.space.as_deref().unwrap()).is_some(),
                "{}",
                point.id
            );
        }
    }
}
