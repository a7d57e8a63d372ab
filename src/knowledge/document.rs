//! The entries of a knowledge document (tool surface §9.1).
//!
//! Keys that this version does not know are kept in `extra` at every level, so that a document passes through the
//! bridge without loss.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::error::KnowledgeError;
use super::format::{self, DocumentFormat};

/// The newest `schema_version` understood.
pub const SCHEMA_VERSION: i64 = 1;

/// Key of an equipment entry, kept in `extra`, with the id or the list of ids of the equipment whose air, water or power it
/// gets.
pub const SERVED_BY: &str = "served_by";

/// Keys of the root that this version knows, `schedules` among them although it only keeps them.
const ROOT_KEYS: [&str; 7] = [
    "schema_version",
    "station",
    "spaces",
    "equipment_types",
    "equipment",
    "points",
    "schedules",
];

/// Keys of the root under which entries stand.
pub const SECTIONS: [&str; 5] = [
    "spaces",
    "equipment_types",
    "equipment",
    "points",
    "schedules",
];

/// Of a key at the root of a document that is none of [`ROOT_KEYS`], the one that it is nearly: a slip of the keyboard, the
/// singular, other capitals or separators.
pub fn mistyped_root_key(key: &str) -> Option<&'static str> {
    let letters = |text: &str| {
        let letters = text.chars().filter(|letter| letter.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect::<String>()
    };
    let key = letters(key);
    ROOT_KEYS.into_iter().find(|known| {
        let known = letters(known);
        let most = if known.len() > 6 { 2 } else { 1 };
        strsim::damerau_levenshtein(&key, &known) <= most
    })
}

/// The keys at the root of a document that this version does not know, those that begin with `_` excepted: they say of
/// themselves that they are remarks (Tool surface §9.1).
pub fn unknown_root_keys(document: &KnowledgeDocument) -> impl Iterator<Item = &str> {
    let keys = document.extra.keys().map(String::as_str);
    keys.filter(|key| !key.starts_with('_') && !ROOT_KEYS.contains(key))
}

/// A whole knowledge document in file order.
#[derive(Debug, Clone, PartialEq)]
pub struct KnowledgeDocument {
    pub schema_version: i64,
    /// Free-form facts of the station (id, name, description, …).
    pub station: Map<String, Value>,
    pub spaces: Vec<Space>,
    pub equipment_types: Vec<EquipmentType>,
    pub equipment: Vec<Equipment>,
    pub points: Vec<StandalonePoint>,
    pub extra: Map<String, Value>,
}

impl Default for KnowledgeDocument {
    fn default() -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            station: Map::new(),
            spaces: Vec::new(),
            equipment_types: Vec::new(),
            equipment: Vec::new(),
            points: Vec::new(),
            extra: Map::new(),
        }
    }
}

/// A place: building, floor, zone, room; spaces form a tree by `parent`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Space {
    pub id: String,
    pub name: Option<String>,
    pub aliases: Vec<String>,
    pub space_type: Option<String>,
    pub description: Option<String>,
    pub parent: Option<String>,
    pub bounds: Map<String, Value>,
    pub extra: Map<String, Value>,
}

/// A kind of equipment with the points it usually has; inherits those of the type it `extends`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EquipmentType {
    pub id: String,
    pub name: Option<String>,
    pub aliases: Vec<String>,
    pub description: Option<String>,
    pub extends: Option<String>,
    pub typical_points: Vec<TypicalPoint>,
    pub extra: Map<String, Value>,
}

/// A role that equipment of a type usually has.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TypicalPoint {
    pub role: String,
    pub kind: Option<String>,
    pub slot_patterns: Vec<String>,
    pub required: bool,
    pub extra: Map<String, Value>,
}

/// One piece of equipment and the ords of its points by role.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Equipment {
    pub id: String,
    pub name: Option<String>,
    pub aliases: Vec<String>,
    pub equipment_type: Option<String>,
    pub space: Option<String>,
    pub ord: Option<String>,
    pub description: Option<String>,
    pub points: IndexMap<String, String>,
    pub schedule: Option<String>,
    pub notes: Vec<String>,
    pub extra: Map<String, Value>,
}

/// A point that belongs to no equipment, such as a room sensor.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StandalonePoint {
    pub id: String,
    pub name: Option<String>,
    pub aliases: Vec<String>,
    pub space: Option<String>,
    pub ord: Option<String>,
    pub kind: Option<String>,
    pub role_in_space: Option<String>,
    pub notes: Vec<String>,
    pub extra: Map<String, Value>,
}

impl KnowledgeDocument {
    /// The document in file form: sections in write order, lists always present.
    pub fn to_tree(&self) -> Value {
        let mut map = Map::new();
        map.insert(
            "schema_version".to_owned(),
            Value::from(self.schema_version),
        );
        if !self.station.is_empty() {
            map.insert("station".to_owned(), Value::Object(self.station.clone()));
        }
        map.insert("spaces".to_owned(), list(&self.spaces, Space::to_tree));
        map.insert(
            "equipment_types".to_owned(),
            list(&self.equipment_types, EquipmentType::to_tree),
        );
        map.insert(
            "equipment".to_owned(),
            list(&self.equipment, Equipment::to_tree),
        );
        map.insert(
            "points".to_owned(),
            list(&self.points, StandalonePoint::to_tree),
        );
        finish(map, &self.extra)
    }
}

impl KnowledgeDocument {
    /// Takes texts that are empty for absent, as the file form does, so that a saved document equals the one in memory.
    pub fn drop_blank_texts(&mut self) {
        fn clear<const N: usize>(texts: [&mut Option<String>; N]) {
            for text in texts {
                if text.as_ref().is_some_and(String::is_empty) {
                    *text = None;
                }
            }
        }
        for entry in &mut self.spaces {
            clear([
                &mut entry.name,
                &mut entry.space_type,
                &mut entry.description,
                &mut entry.parent,
            ]);
        }
        for entry in &mut self.equipment_types {
            clear([&mut entry.name, &mut entry.description, &mut entry.extends]);
            for point in &mut entry.typical_points {
                clear([&mut point.kind]);
            }
        }
        for entry in &mut self.equipment {
            clear([
                &mut entry.name,
                &mut entry.equipment_type,
                &mut entry.space,
                &mut entry.ord,
                &mut entry.description,
                &mut entry.schedule,
            ]);
        }
        for entry in &mut self.points {
            clear([
                &mut entry.name,
                &mut entry.space,
                &mut entry.ord,
                &mut entry.kind,
                &mut entry.role_in_space,
            ]);
        }
    }

    /// The document as text of a file.
    ///
    /// # Errors
    /// It is too large or nested too deep to be read again; `origin` names it.
    pub fn to_text(&self, origin: &str, format: DocumentFormat) -> Result<String, KnowledgeError> {
        format::render(origin, format, &self.to_tree())
    }
}

impl Space {
    /// The entry in file form; absent and empty fields are left out.
    pub fn to_tree(&self) -> Value {
        let mut map = Map::new();
        put_text(&mut map, "id", Some(&self.id));
        put_text(&mut map, "name", self.name.as_ref());
        put_list(&mut map, "aliases", &self.aliases);
        put_text(&mut map, "type", self.space_type.as_ref());
        put_text(&mut map, "description", self.description.as_ref());
        put_text(&mut map, "parent", self.parent.as_ref());
        if !self.bounds.is_empty() {
            map.insert("bounds".to_owned(), Value::Object(self.bounds.clone()));
        }
        finish(map, &self.extra)
    }
}

impl EquipmentType {
    /// The entry in file form; absent and empty fields are left out.
    pub fn to_tree(&self) -> Value {
        let mut map = Map::new();
        put_text(&mut map, "id", Some(&self.id));
        put_text(&mut map, "name", self.name.as_ref());
        put_list(&mut map, "aliases", &self.aliases);
        put_text(&mut map, "description", self.description.as_ref());
        put_text(&mut map, "extends", self.extends.as_ref());
        if !self.typical_points.is_empty() {
            map.insert(
                "typical_points".to_owned(),
                list(&self.typical_points, TypicalPoint::to_tree),
            );
        }
        finish(map, &self.extra)
    }
}

impl TypicalPoint {
    /// The entry in file form; `required` is written only when true.
    pub fn to_tree(&self) -> Value {
        let mut map = Map::new();
        put_text(&mut map, "role", Some(&self.role));
        put_text(&mut map, "kind", self.kind.as_ref());
        put_list(&mut map, "slot_patterns", &self.slot_patterns);
        if self.required {
            map.insert("required".to_owned(), Value::Bool(true));
        }
        finish(map, &self.extra)
    }
}

impl Equipment {
    /// Ids of the equipment whose air, water or power it gets, as they are written: some may name nothing.
    pub fn served_by(&self) -> impl Iterator<Item = &str> {
        let ids = match self.extra.get(SERVED_BY) {
            Some(Value::Array(ids)) => ids.as_slice(),
            Some(one) => std::slice::from_ref(one),
            None => &[],
        };
        ids.iter().filter_map(Value::as_str)
    }

    /// The entry in file form; absent and empty fields are left out.
    pub fn to_tree(&self) -> Value {
        let mut map = Map::new();
        put_text(&mut map, "id", Some(&self.id));
        put_text(&mut map, "name", self.name.as_ref());
        put_list(&mut map, "aliases", &self.aliases);
        put_text(&mut map, "type", self.equipment_type.as_ref());
        put_text(&mut map, "space", self.space.as_ref());
        put_text(&mut map, "ord", self.ord.as_ref());
        put_text(&mut map, "description", self.description.as_ref());
        if !self.points.is_empty() {
            let points = self
                .points
                .iter()
                .map(|(role, ord)| (role.clone(), Value::String(ord.clone())))
                .collect();
            map.insert("points".to_owned(), Value::Object(points));
        }
        put_text(&mut map, "schedule", self.schedule.as_ref());
        put_list(&mut map, "notes", &self.notes);
        finish(map, &self.extra)
    }
}

impl StandalonePoint {
    /// The entry in file form; absent and empty fields are left out.
    pub fn to_tree(&self) -> Value {
        let mut map = Map::new();
        put_text(&mut map, "id", Some(&self.id));
        put_text(&mut map, "name", self.name.as_ref());
        put_list(&mut map, "aliases", &self.aliases);
        put_text(&mut map, "space", self.space.as_ref());
        put_text(&mut map, "ord", self.ord.as_ref());
        put_text(&mut map, "kind", self.kind.as_ref());
        put_text(&mut map, "role_in_space", self.role_in_space.as_ref());
        put_list(&mut map, "notes", &self.notes);
        finish(map, &self.extra)
    }
}

fn list<T>(items: &[T], to_tree: impl Fn(&T) -> Value) -> Value {
    Value::Array(items.iter().map(to_tree).collect())
}

fn put_text(map: &mut Map<String, Value>, key: &str, text: Option<&String>) {
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        map.insert(key.to_owned(), Value::String(text.clone()));
    }
}

fn put_list(map: &mut Map<String, Value>, key: &str, items: &[String]) {
    if !items.is_empty() {
        let items = items.iter().cloned().map(Value::String).collect();
        map.insert(key.to_owned(), Value::Array(items));
    }
}

fn finish(mut map: Map<String, Value>, extra: &Map<String, Value>) -> Value {
    for (key, value) in extra {
        map.entry(key.clone()).or_insert_with(|| value.clone());
    }
    Value::Object(map)
}
