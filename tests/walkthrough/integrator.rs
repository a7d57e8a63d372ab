//! What the assistant concludes from what the station shows, and what the user answers to its questions.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::guide::answer;
use crate::support::Client;

/// The user's answer to which spaces there are: id, name, type, parent.
pub const SPACES: [(&str, &str, &str, &str); 7] = [
    ("harborview", "Harborview", "building", ""),
    ("floor-1", "First floor", "floor", "harborview"),
    ("floor-2", "Second floor", "floor", "harborview"),
    ("floor-3", "Third floor", "floor", "harborview"),
    ("roof", "Roof", "outdoor", "harborview"),
    ("plant-room", "Plant room", "mechanical-room", "harborview"),
    ("lobby", "Lobby café", "zone", "floor-1"),
];

/// The user's answer to what stands behind a folder: a part of its ord, the type, the space. The first that fits counts.
const FOLDERS: [(&str, &str, &str); 16] = [
    // Not in use; its points are kept for the floor.
    ("$28spare$29/", "", "floor-1"),
    ("/$31st$20Floor$20VAVs/", "vav", "floor-1"),
    ("/$32nd$20Floor$20VAVs/", "vav", "floor-2"),
    ("/$33rd$20Floor$20VAVs/", "vav", "floor-3"),
    ("/AHU", "ahu", "roof"),
    ("/RTU", "rooftop-heat-pump", "roof"),
    ("/CHW$20Loop", "chilled-water-plant", "plant-room"),
    ("/Chiller", "chiller", "plant-room"),
    ("/Tower", "cooling-tower", "roof"),
    ("/HW_Loop", "hot-water-plant", "plant-room"),
    ("/HW_Plant/points/B$2d", "boiler", "plant-room"),
    ("/Elec", "electric-meter", "plant-room"),
    ("/GasMeter", "gas-meter", "plant-room"),
    ("/Roof_JACE", "weather", "roof"),
    // No equipment: what the station computes, and what belongs to the lobby itself.
    ("/Logic/", "", "harborview"),
    ("/Harborview/", "", "lobby"),
];

/// One folder of points that the user recognised as a piece of equipment.
#[derive(Debug, Clone)]
pub struct Unit {
    pub id: String,
    pub type_id: &'static str,
    pub space: &'static str,
    pub ord: String,
    /// Ords of its points.
    pub points: BTreeSet<String>,
}

/// What was found on the station.
pub struct Findings {
    pub units: Vec<Unit>,
    /// Points of no equipment with their space.
    pub others: Vec<(String, &'static str)>,
}

impl Findings {
    /// All points of the station, sorted into what the user recognises.
    pub async fn gather(client: &Client) -> Self {
        let found = json!({"typeName": "control:ControlPoint", "limit": 1000});
        let found = answer(client, "findComponentsByType", found).await;
        assert_eq!(found["truncated"], false);
        let mut units: BTreeMap<String, Unit> = BTreeMap::new();
        let mut others = Vec::new();
        for item in found["items"].as_array().expect("items") {
            let point = item["ord"].as_str().expect("an ord").to_owned();
            let (folder, _) = point.rsplit_once('/').expect("a path");
            let folder = folder.strip_suffix("/points").unwrap_or(folder);
            let known = FOLDERS.iter().find(|(part, _, _)| point.contains(part));
            let (_, type_id, space) =
                known.unwrap_or_else(|| panic!("the user does not know what {folder} is"));
            if type_id.is_empty() {
                others.push((point, *space));
                continue;
            }
            let unit = units.entry(folder.to_owned()).or_insert_with(|| Unit {
                id: kebab(folder.rsplit('/').next().unwrap_or_default()),
                type_id,
                space,
                ord: folder.to_owned(),
                points: BTreeSet::new(),
            });
            unit.points.insert(point);
        }
        Self {
            units: units.into_values().collect(),
            others,
        }
    }
}

/// An escaped slot name as an id: `AHU$2d3$20Roof` becomes `ahu-3-roof`.
pub fn kebab(name: &str) -> String {
    let mut plain = String::new();
    let mut rest = name;
    while let Some((head, tail)) = rest.split_once('$') {
        plain.push_str(head);
        let (code, after) = tail.split_at(2);
        plain.extend(u32::from_str_radix(code, 16).ok().and_then(char::from_u32));
        rest = after;
    }
    plain.push_str(rest);
    let words = plain.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("-").to_lowercase()
}

/// The roles of a type with their slot patterns, those of the types that it extends included.
pub struct Types(BTreeMap<String, Value>);

impl Types {
    /// Reads the catalogue.
    pub async fn read(client: &Client) -> Self {
        let uri = json!({"uri": "niagara://kinds/catalog"});
        let catalog = client.ask("resources/read", uri).await;
        let text = catalog["result"]["contents"][0]["text"].as_str();
        let catalog: Value = serde_json::from_str(text.expect("text")).expect("JSON");
        let types = catalog["equipment_types"].as_array().expect("types");
        let by_id = types.iter().map(|entry| {
            (
                entry["id"].as_str().expect("an id").to_owned(),
                entry.clone(),
            )
        });
        Self(by_id.collect())
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Which point of a unit to assign to which role: for each point the role whose slot pattern fits its name most
    /// literally, for each role the point that fits best.
    pub fn plan(&self, unit: &Unit) -> Vec<(String, String)> {
        let mut plan: BTreeMap<String, (usize, &String)> = BTreeMap::new();
        for point in &unit.points {
            let slot = point.rsplit('/').next().unwrap_or_default();
            let Some((literal, role)) = self.role(unit.type_id, slot) else {
                continue;
            };
            let known = plan.get(&role).map_or(0, |(literal, _)| *literal);
            if literal > known {
                plan.insert(role, (literal, point));
            }
        }
        let entries = plan.into_iter();
        entries
            .map(|(role, (_, point))| (role, point.clone()))
            .collect()
    }

    fn role(&self, type_id: &str, slot: &str) -> Option<(usize, String)> {
        let mut best: Option<(usize, String)> = None;
        let mut next = Some(type_id);
        while let Some(entry) = next.and_then(|id| self.0.get(id)) {
            for point in entry["typical_points"].as_array().into_iter().flatten() {
                for pattern in point["slot_patterns"].as_array().into_iter().flatten() {
                    let pattern = pattern.as_str().expect("text");
                    let literal = pattern.replace('*', "").len();
                    let better = best.as_ref().is_none_or(|(length, _)| literal > *length);
                    if better && fits(pattern, slot) {
                        best = Some((literal, point["role"].as_str().expect("text").to_owned()));
                    }
                }
            }
            next = entry["extends"].as_str();
        }
        best
    }
}

/// Whether a slot name fits a pattern in which `*` stands for any text.
fn fits(pattern: &str, slot: &str) -> bool {
    let (pattern, slot) = (pattern.to_lowercase(), slot.to_lowercase());
    let parts: Vec<&str> = pattern.split('*').collect();
    let (first, last) = (parts[0], parts[parts.len() - 1]);
    if parts.len() == 1 {
        return slot == pattern;
    }
    let Some(mut rest) = slot.strip_prefix(first) else {
        return false;
    };
    for part in &parts[1..parts.len() - 1] {
        let Some((_, after)) = rest.split_once(part) else {
            return false;
        };
        rest = after;
    }
    rest.ends_with(last)
}
