//! Which points of a knowledge model have a place in the store.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::knowledge::KnowledgeModel;
use crate::knowledge::camber_roles::{
    CamberRole, camber_class, camber_role, camber_role_named, is_listed, lineage,
};
use crate::knowledge::document::Equipment;
use crate::knowledge::mapped::component_of;
use crate::station::ord::{HistoryId, Ord};
use crate::trends::store::names;

/// Key of an equipment entry, kept in `extra`, with the history of a role where it is not the one of its point:
/// `{role: /Station/Name}`.
pub const HISTORIES: &str = "histories";

/// Key of an equipment entry, kept in `extra`, with the unit of a role where the station states none or a wrong one.
pub const UNITS: &str = "units";

/// A point whose samples are to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct MappedPoint {
    /// Id of the equipment, in the knowledge file and in the store.
    pub equip: String,
    pub equip_class: &'static str,
    pub role: &'static CamberRole,
    /// The role in the knowledge file.
    pub mapped_as: String,
    /// Absolute ord of the point; none when only its history is known.
    pub point: Option<Ord>,
    /// The history that the knowledge file names.
    pub history: Option<HistoryId>,
    /// The unit that the knowledge file states.
    pub unit: Option<String>,
}

impl MappedPoint {
    /// `ahu-1 supply_air_temp`.
    pub fn name(&self) -> String {
        format!("{} {}", self.equip, self.role.role)
    }
}

/// A mapped point that is not ingested, and why.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    pub equip: String,
    /// The role in the knowledge file.
    pub role: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ord: Option<String>,
    pub reason: String,
}

/// What a knowledge model has for the store.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MappedPoints {
    pub points: Vec<MappedPoint>,
    pub refused: Vec<Refusal>,
    /// Ids of equipment whose type CAMBER has no class for.
    pub without_class: Vec<String>,
    /// Points of the others that CAMBER has no role for.
    pub without_role: usize,
}

/// The points of a model that have both a class and a role in CAMBER, of all equipment or of that in `only`.
pub fn mapped_points(model: &KnowledgeModel, only: &BTreeSet<String>) -> MappedPoints {
    let mut mapped = MappedPoints::default();
    let mut ids = BTreeSet::new();
    for equipment in &model.document().equipment {
        if !only.is_empty() && !only.contains(&equipment.id) {
            continue;
        }
        if !ids.insert(&equipment.id) {
            // Samples of two machines under one name could not be told apart.
            mapped.refused.push(Refusal {
                equip: equipment.id.clone(),
                role: String::new(),
                ord: equipment.ord.clone(),
                reason: "another equipment has the same id; give this one an id of its own"
                    .to_owned(),
            });
            continue;
        }
        let types = lineage(
            model,
            equipment.equipment_type.as_deref().unwrap_or_default(),
        );
        let Some(class) = camber_class(&types) else {
            mapped.without_class.push(equipment.id.clone());
            continue;
        };
        mapped.add_equipment(equipment, class, &types);
    }
    mapped
}

impl MappedPoints {
    fn add_equipment(&mut self, equipment: &Equipment, class: &'static str, types: &[&str]) {
        let named = |key: &str| equipment.extra.get(key).and_then(Value::as_object);
        let (histories, units) = (named(HISTORIES), named(UNITS));
        self.add_slips(equipment, types);
        let only_history = histories
            .into_iter()
            .flat_map(|histories| histories.keys())
            .filter(|role| !equipment.points.contains_key(*role));
        let mut taken: BTreeSet<&str> = BTreeSet::new();
        for mapped_as in equipment.points.keys().chain(only_history) {
            let Some(role) = camber_role(types, mapped_as).and_then(camber_role_named) else {
                self.without_role += 1;
                continue;
            };
            let ord = equipment.points.get(mapped_as).map(|ord| ord.trim());
            let text = |of: Option<&serde_json::Map<String, Value>>| {
                of.and_then(|of| of.get(mapped_as)).cloned()
            };
            let entry = Entry {
                equipment,
                class,
                role,
                mapped_as,
                ord: ord.filter(|ord| !ord.is_empty()),
                history: text(histories),
                unit: text(units),
            };
            let outcome = if taken.contains(role.role.as_str()) {
                Err(format!(
                    "another point of the equipment stands for {} already; remove one of the two roles",
                    role.role
                ))
            } else {
                entry.point()
            };
            match outcome {
                Ok(point) => {
                    taken.insert(&role.role);
                    self.points.push(point);
                }
                Err(reason) => self.refused.push(Refusal {
                    equip: equipment.id.clone(),
                    role: mapped_as.clone(),
                    ord: ord.map(str::to_owned),
                    reason,
                }),
            }
        }
    }
}

impl MappedPoints {
    /// Entries of `histories` and `units` that would do nothing: the samples would be taken for what they are not.
    fn add_slips(&mut self, equipment: &Equipment, types: &[&str]) {
        let mut slip = |role: &str, reason: String| {
            self.refused.push(Refusal {
                equip: equipment.id.clone(),
                role: role.to_owned(),
                ord: None,
                reason,
            });
        };
        let has_history = |role: &str| {
            let histories = equipment.extra.get(HISTORIES);
            histories.is_some_and(|histories| histories.get(role).is_some())
        };
        for key in [HISTORIES, UNITS] {
            let entries = match equipment.extra.get(key) {
                None | Some(Value::Null) => continue,
                Some(Value::Object(entries)) => entries,
                Some(_) => {
                    let reason = format!("'{key}' names no roles; write it as {key}: {{role: …}}");
                    slip("", reason);
                    continue;
                }
            };
            for role in entries.keys() {
                let is_mapped = equipment.points.contains_key(role)
                    || match key {
                        HISTORIES => is_listed(types, role),
                        _ => has_history(role),
                    };
                if !is_mapped {
                    let reason = format!(
                        "'{key}' names a role that the equipment does not have; write it as the role of the point is written"
                    );
                    slip(role, reason);
                }
            }
        }
    }
}

/// What the file says of one role.
struct Entry<'a> {
    equipment: &'a Equipment,
    class: &'static str,
    role: &'static CamberRole,
    mapped_as: &'a str,
    ord: Option<&'a str>,
    history: Option<Value>,
    unit: Option<Value>,
}

impl Entry<'_> {
    fn point(&self) -> Result<MappedPoint, String> {
        names::check_equipment(&self.equipment.id).map_err(|error| error.to_string())?;
        let history = match &self.history {
            None => None,
            Some(Value::String(id)) => {
                let id = id.trim();
                let id = id.strip_prefix("history:").unwrap_or(id);
                Some(id.parse::<HistoryId>().map_err(|error| error.to_string())?)
            }
            Some(other) => {
                return Err(format!(
                    "'{HISTORIES}' names {other}; write an id such as /Station/Name"
                ));
            }
        };
        let unit = match &self.unit {
            None => None,
            Some(Value::String(unit)) => Some(unit.trim().to_owned()),
            Some(other) => {
                return Err(format!(
                    "'{UNITS}' names {other}; write a unit such as celsius"
                ));
            }
        };
        let point = self.ord.map(point_ord).transpose()?;
        if point.is_none() && history.is_none() {
            return Err("the role has no ord; map a point to it".to_owned());
        }
        Ok(MappedPoint {
            equip: self.equipment.id.clone(),
            equip_class: self.class,
            role: self.role,
            mapped_as: self.mapped_as.to_owned(),
            point,
            history,
            unit,
        })
    }
}

/// The point of a reference; one to the output of a point means the point.
fn point_ord(text: &str) -> Result<Ord, String> {
    match Ord::component(text).map_err(|error| error.to_string())? {
        Ord::Slot(path) => component_of(&path)
            .parse()
            .map(Ord::Slot)
            .map_err(|error| format!("{error}")),
        other => Ok(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::{decode, demo_model, format};

    fn model(text: &str) -> KnowledgeModel {
        let (_, tree) = format::parse("test", text).expect("YAML");
        KnowledgeModel::new(decode::decode("test", tree).expect("a model").document)
    }

    const TYPES: &str =
        "equipment_types:\n- {id: ahu}\n- {id: roof-unit, extends: ahu}\n- {id: elevator}\n";

    fn all(text: &str) -> MappedPoints {
        mapped_points(&model(&format!("{TYPES}{text}")), &BTreeSet::new())
    }

    #[test]
    fn equipment_without_a_class_and_roles_without_a_counterpart_are_counted() {
        let found = all(
            "equipment:\n- {id: a, type: roof-unit, points: {supply_air_temp: 'slot:/A/T/out', freeze_alarm: 'slot:/A/F'}}\n\
             - {id: lift, type: elevator, points: {power: 'slot:/L/P'}}\n",
        );
        let [point] = found.points.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!(
            (point.name().as_str(), point.equip_class),
            ("a supply_air_temp", "AHU")
        );
        assert_eq!(
            point.point.as_ref().map(Ord::absolute).as_deref(),
            Some("station:|slot:/A/T")
        );
        assert_eq!(
            (found.without_role, found.without_class),
            (1, vec!["lift".to_owned()])
        );
    }

    #[test]
    fn histories_and_units_of_the_entry_are_taken_over() {
        let found = all(
            "equipment:\n- id: a\n  type: ahu\n  points: {oat: 'slot:/A/T'}\n  histories: {oat: 'history:/B/T', supply_air_temp: /B/S, airflow: 3}\n\
             \x20 units: {oat: celsius}\n",
        );
        let of = |role: &str| {
            found
                .points
                .iter()
                .find(|point| point.mapped_as == role)
                .expect("a point")
        };
        assert_eq!(
            of("oat")
                .history
                .as_ref()
                .map(ToString::to_string)
                .as_deref(),
            Some("/B/T")
        );
        assert_eq!(of("oat").unit.as_deref(), Some("celsius"));
        assert_eq!(of("supply_air_temp").point, None);
        assert_eq!(found.refused.len(), 1);
        assert!(
            found.refused[0].reason.contains("/Station/Name"),
            "{:?}",
            found.refused
        );
    }

    #[test]
    fn entries_for_roles_that_nobody_has_are_told() {
        let found = all(
            "equipment:\n- {id: a, type: ahu, points: {oat: 'slot:/A/T', freeze_alarm: 'slot:/A/F'}, units: {oatt: celsius, oat: celsius, supply_air_temp: celsius}, histories: {supply_air_temp: /B/S, suply: /B/S}}\n\
             - {id: b, type: ahu, points: {oat: 'slot:/B/T'}, units: [oat], histories: {freeze_alarm: /B/F}}\n",
        );
        let told: Vec<(&str, &str, bool)> = found
            .refused
            .iter()
            .map(|slip| {
                let names_units = slip.reason.starts_with("'units'");
                (slip.equip.as_str(), slip.role.as_str(), names_units)
            })
            .collect();
        assert_eq!(
            told,
            [("a", "suply", false), ("a", "oatt", true), ("b", "", true)]
        );
        assert_eq!(found.points.len(), 3, "{:?}", found.points);
    }

    #[test]
    fn two_roles_for_one_a_name_nobody_sees_and_a_missing_ord_are_refused() {
        let found = all(
            "equipment:\n- {id: a, type: ahu, points: {oat: 'slot:/A/T', outside_air_temp: 'slot:/A/U', cool_valve: ''}}\n\
             - {id: \"b\\u202e\", type: ahu, points: {oat: 'slot:/B/T'}}\n",
        );
        assert_eq!(found.points.len(), 1);
        let reasons: Vec<&str> = found
            .refused
            .iter()
            .map(|refused| refused.reason.as_str())
            .collect();
        assert!(reasons[0].contains("another point"), "{reasons:?}");
        assert!(reasons[1].contains("no ord"), "{reasons:?}");
        assert!(reasons[2].contains("U+202E"), "{reasons:?}");
    }

    #[test]
    fn the_second_of_two_pieces_of_equipment_with_one_id_is_refused() {
        let found = all(
            "equipment:\n- {id: a, type: ahu, points: {oat: 'slot:/A/T'}}\n- {id: a, type: ahu, points: {oat: 'slot:/B/T'}}\n",
        );
        assert_eq!((found.points.len(), found.refused.len()), (1, 1));
        assert!(found.refused[0].reason.contains("same id"));
    }

    #[test]
    fn the_demo_site_has_a_place_for_most_of_its_points() {
        let model = KnowledgeModel::new(demo_model::harborview().expect("readable"));
        let found = mapped_points(&model, &BTreeSet::new());
        assert!(found.refused.is_empty(), "{:?}", found.refused);
        assert!(found.points.len() > 250, "{}", found.points.len());
        let one: BTreeSet<String> = ["ahu-1".to_owned()].into();
        let of_one = mapped_points(&model, &one);
        assert!(
            of_one.points.iter().all(|point| point.equip == "ahu-1") && of_one.points.len() > 10
        );
    }
}
