//! A document indexed by id, with the `extends` chain of equipment types resolved.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::document::{
    Equipment, EquipmentType, KnowledgeDocument, Space, StandalonePoint, TypicalPoint,
};
use super::search::SearchIndex;

/// An immutable, indexed knowledge document; readers share one snapshot.
#[derive(Debug, Default)]
pub struct KnowledgeModel {
    document: KnowledgeDocument,
    spaces: HashMap<String, usize>,
    equipment_types: HashMap<String, usize>,
    equipment: HashMap<String, usize>,
    points: HashMap<String, usize>,
    search_index: OnceLock<SearchIndex>,
}

impl KnowledgeModel {
    /// Indexes a document; of several entries with one id the first wins.
    pub fn new(document: KnowledgeDocument) -> Self {
        fn index<T>(entries: &[T], id: impl Fn(&T) -> &str) -> HashMap<String, usize> {
            let mut map = HashMap::with_capacity(entries.len());
            for (position, entry) in entries.iter().enumerate() {
                if !id(entry).is_empty() {
                    map.entry(id(entry).to_owned()).or_insert(position);
                }
            }
            map
        }
        Self {
            spaces: index(&document.spaces, |entry| &entry.id),
            equipment_types: index(&document.equipment_types, |entry| &entry.id),
            equipment: index(&document.equipment, |entry| &entry.id),
            points: index(&document.points, |entry| &entry.id),
            document,
            search_index: OnceLock::new(),
        }
    }

    /// The folded texts that searches compare; made at the first search of this model.
    pub fn search_index(&self) -> &SearchIndex {
        self.search_index
            .get_or_init(|| SearchIndex::of(&self.document))
    }

    pub fn document(&self) -> &KnowledgeDocument {
        &self.document
    }

    pub fn space(&self, id: &str) -> Option<&Space> {
        self.spaces
            .get(id)
            .and_then(|at| self.document.spaces.get(*at))
    }

    pub fn equipment_type(&self, id: &str) -> Option<&EquipmentType> {
        self.equipment_types
            .get(id)
            .and_then(|at| self.document.equipment_types.get(*at))
    }

    pub fn equipment(&self, id: &str) -> Option<&Equipment> {
        self.equipment
            .get(id)
            .and_then(|at| self.document.equipment.get(*at))
    }

    pub fn standalone_point(&self, id: &str) -> Option<&StandalonePoint> {
        self.points
            .get(id)
            .and_then(|at| self.document.points.get(*at))
    }

    /// Whether both models hold the same entries by id, in the same order.
    pub fn same_ids(&self, other: &Self) -> bool {
        fn same<T>(ours: &[T], theirs: &[T], id: impl Fn(&T) -> &str) -> bool {
            ours.len() == theirs.len()
                && ours
                    .iter()
                    .zip(theirs)
                    .all(|(our, their)| id(our) == id(their))
        }
        let (ours, theirs) = (&self.document, &other.document);
        same(&ours.spaces, &theirs.spaces, |entry| &entry.id)
            && same(&ours.equipment_types, &theirs.equipment_types, |entry| {
                &entry.id
            })
            && same(&ours.equipment, &theirs.equipment, |entry| &entry.id)
            && same(&ours.points, &theirs.points, |entry| &entry.id)
    }

    /// The typical points of a type including inherited ones: ancestors first, a child's role in its ancestor's place.
    ///
    /// An unknown type has none; a cycle of `extends` ends where it closes (tool surface §9.1).
    pub fn typical_points(&self, type_id: &str) -> Vec<&TypicalPoint> {
        let mut lineage = Vec::new();
        let mut next = self.equipment_type(type_id);
        while let Some(current) = next {
            if lineage
                .iter()
                .any(|seen: &&EquipmentType| seen.id == current.id)
            {
                break;
            }
            lineage.push(current);
            next = current
                .extends
                .as_deref()
                .and_then(|id| self.equipment_type(id));
        }
        let mut resolved: Vec<&TypicalPoint> = Vec::new();
        for equipment_type in lineage.into_iter().rev() {
            for point in &equipment_type.typical_points {
                match resolved.iter_mut().find(|known| known.role == point.role) {
                    Some(known) => *known = point,
                    None => resolved.push(point),
                }
            }
        }
        resolved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::{STANDARD_SAMPLE, decode, format};

    fn model(text: &str) -> KnowledgeModel {
        let (_, tree) = format::parse("test", text).unwrap();
        KnowledgeModel::new(decode::decode("test", tree).unwrap().document)
    }

    fn roles(model: &KnowledgeModel, type_id: &str) -> Vec<String> {
        model
            .typical_points(type_id)
            .iter()
            .map(|point| format!("{}{}", point.role, if point.required { "*" } else { "" }))
            .collect()
    }

    #[test]
    fn the_sample_holds_the_five_contractual_types() {
        let model = model(STANDARD_SAMPLE);
        let document = model.document();
        assert_eq!(document.station["id"], "sample");
        let ids: Vec<_> = document
            .equipment_types
            .iter()
            .map(|entry| entry.id.as_str())
            .collect();
        assert_eq!(ids, ["ahu", "rooftop", "chiller", "pump", "fcu"]);
        assert!(
            document.spaces.is_empty()
                && document.equipment.is_empty()
                && document.points.is_empty()
        );
        let ahu = [
            "supply_air_temp*",
            "return_air_temp",
            "supply_fan_status*",
            "supply_fan_speed",
            "cooling_demand",
        ];
        assert_eq!(roles(&model, "ahu"), ahu);
        let rooftop: Vec<_> = ahu
            .into_iter()
            .chain(["compressor_1_status", "compressor_2_status"])
            .collect();
        assert_eq!(roles(&model, "rooftop"), rooftop);
        assert_eq!(
            roles(&model, "chiller"),
            [
                "chilled_water_supply_temp*",
                "chilled_water_return_temp",
                "capacity",
                "status*"
            ]
        );
        assert_eq!(roles(&model, "pump"), ["status*", "speed", "flow"]);
        assert_eq!(
            roles(&model, "fcu"),
            ["room_temp*", "setpoint", "fan_speed", "valve_position"]
        );
    }

    #[test]
    fn a_child_role_overrides_its_ancestor_and_cycles_end() {
        let model = model(
            "equipment_types:\n- {id: a, extends: b, typical_points: [{role: t, kind: percent}, {role: own}]}\n\
             - {id: b, extends: a, typical_points: [{role: t, kind: temperature, required: true}, {role: base}]}\n",
        );
        assert_eq!(roles(&model, "a"), ["t", "base", "own"]);
        assert_eq!(
            model.typical_points("a")[0].kind.as_deref(),
            Some("percent")
        );
        assert!(model.typical_points("unknown").is_empty());
    }
}
