//! Tree → document: strict where a wrong shape would lose data, tolerant (with a warning) where a text can be kept.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::document::{
    Equipment, EquipmentType, KnowledgeDocument, SCHEMA_VERSION, SECTIONS, Space, StandalonePoint,
    TypicalPoint,
};
use super::error::KnowledgeError;

/// A decoded document and the remarks about what was tolerated in it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Decoded {
    pub document: KnowledgeDocument,
    pub warnings: Vec<String>,
    /// Whether the root names a section, be it without entries.
    pub names_section: bool,
}

/// Decodes the root map of a document (tool surface §9.1).
///
/// Refused: a root that is no map, a `schema_version` that is no whole number or newer than ours, a section that is no
/// list. A list item that is no map is skipped with a warning; a number or boolean where a text belongs becomes text.
pub fn decode(origin: &str, tree: Value) -> Result<Decoded, KnowledgeError> {
    let Value::Object(mut root) = tree else {
        return Err(schema(
            origin,
            "the root",
            "it is not a map",
            "start with `schema_version: 1` and the sections",
        ));
    };
    let mut decoder = Decoder {
        origin,
        warnings: Vec::new(),
    };
    let names_section = SECTIONS.iter().any(|section| root.contains_key(*section));
    let schema_version = decoder.schema_version(root.shift_remove("schema_version"))?;
    let station = decoder.map(root.shift_remove("station"), "station")?;
    let spaces = decoder.section(&mut root, "spaces", Decoder::space)?;
    let equipment_types = decoder.section(&mut root, "equipment_types", Decoder::equipment_type)?;
    let equipment = decoder.section(&mut root, "equipment", Decoder::equipment)?;
    let points = decoder.section(&mut root, "points", Decoder::standalone_point)?;
    let mut document = KnowledgeDocument {
        schema_version,
        station,
        spaces,
        equipment_types,
        equipment,
        points,
        extra: root,
    };
    document.drop_blank_texts();
    Ok(Decoded {
        document,
        warnings: decoder.warnings,
        names_section,
    })
}

fn schema(origin: &str, place: &str, problem: &str, remedy: &'static str) -> KnowledgeError {
    KnowledgeError::Schema {
        origin: origin.to_owned(),
        place: place.to_owned(),
        problem: problem.to_owned(),
        remedy,
    }
}

struct Decoder<'a> {
    origin: &'a str,
    warnings: Vec<String>,
}

type Entry = Map<String, Value>;

impl Decoder<'_> {
    fn error(&self, place: &str, problem: &str, remedy: &'static str) -> KnowledgeError {
        schema(self.origin, place, problem, remedy)
    }

    fn schema_version(&self, value: Option<Value>) -> Result<i64, KnowledgeError> {
        let Some(value) = value.filter(|value| !value.is_null()) else {
            return Ok(SCHEMA_VERSION);
        };
        let version = value.as_i64().ok_or_else(|| {
            self.error(
                "schema_version",
                "it is not a whole number",
                "write `schema_version: 1`",
            )
        })?;
        if version > SCHEMA_VERSION {
            return Err(self.error(
                "schema_version",
                &format!("version {version} is newer than {SCHEMA_VERSION}"),
                "use a newer bridge or export the document in version 1",
            ));
        }
        Ok(version)
    }

    fn section<T>(
        &mut self,
        root: &mut Entry,
        name: &'static str,
        decode: impl Fn(&mut Self, Entry, &str) -> Result<T, KnowledgeError>,
    ) -> Result<Vec<T>, KnowledgeError> {
        let items = match root.shift_remove(name) {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Array(items)) => items,
            Some(_) => {
                return Err(self.error(name, "it is not a list", "write one `-` item per entry"));
            }
        };
        let mut entries = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let place = format!("{name}[{index}]");
            match item {
                Value::Object(entry) => entries.push(decode(self, entry, &place)?),
                _ => self
                    .warnings
                    .push(format!("{place} is not a map and was skipped")),
            }
        }
        Ok(entries)
    }

    fn space(&mut self, mut entry: Entry, place: &str) -> Result<Space, KnowledgeError> {
        Ok(Space {
            id: self.text(&mut entry, "id", place)?.unwrap_or_default(),
            name: self.text(&mut entry, "name", place)?,
            aliases: self.texts(&mut entry, "aliases", place)?,
            space_type: self.text(&mut entry, "type", place)?,
            description: self.text(&mut entry, "description", place)?,
            parent: self.text(&mut entry, "parent", place)?,
            bounds: self.map(entry.shift_remove("bounds"), &format!("{place}.bounds"))?,
            extra: entry,
        })
    }

    fn equipment_type(
        &mut self,
        mut entry: Entry,
        place: &str,
    ) -> Result<EquipmentType, KnowledgeError> {
        let typical_points = {
            let mut nested = Entry::new();
            if let Some(list) = entry.shift_remove("typical_points") {
                nested.insert("typical_points".to_owned(), list);
            }
            let owner = place.to_owned();
            self.section(
                &mut nested,
                "typical_points",
                move |decoder, item, inner| {
                    decoder.typical_point(item, &format!("{owner}.{inner}"))
                },
            )?
        };
        Ok(EquipmentType {
            id: self.text(&mut entry, "id", place)?.unwrap_or_default(),
            name: self.text(&mut entry, "name", place)?,
            aliases: self.texts(&mut entry, "aliases", place)?,
            description: self.text(&mut entry, "description", place)?,
            extends: self.text(&mut entry, "extends", place)?,
            typical_points,
            extra: entry,
        })
    }

    fn typical_point(
        &mut self,
        mut entry: Entry,
        place: &str,
    ) -> Result<TypicalPoint, KnowledgeError> {
        let required = match entry.shift_remove("required") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(required)) => required,
            Some(Value::String(text)) if matches!(text.as_str(), "true" | "yes" | "on") => true,
            Some(Value::String(text)) if matches!(text.as_str(), "false" | "no" | "off") => false,
            Some(_) => {
                let place = format!("{place}.required");
                return Err(self.error(
                    &place,
                    "it is not true or false",
                    "write `required: true`",
                ));
            }
        };
        Ok(TypicalPoint {
            role: self.text(&mut entry, "role", place)?.unwrap_or_default(),
            kind: self.text(&mut entry, "kind", place)?,
            slot_patterns: self.texts(&mut entry, "slot_patterns", place)?,
            required,
            extra: entry,
        })
    }

    fn equipment(&mut self, mut entry: Entry, place: &str) -> Result<Equipment, KnowledgeError> {
        let points_place = format!("{place}.points");
        let mut points = IndexMap::new();
        for (role, ord) in self.map(entry.shift_remove("points"), &points_place)? {
            let ord_place = format!("{points_place}.{role}");
            let ord = self.scalar(ord, &ord_place)?.unwrap_or_default();
            points.insert(role, ord);
        }
        Ok(Equipment {
            id: self.text(&mut entry, "id", place)?.unwrap_or_default(),
            name: self.text(&mut entry, "name", place)?,
            aliases: self.texts(&mut entry, "aliases", place)?,
            equipment_type: self.text(&mut entry, "type", place)?,
            space: self.text(&mut entry, "space", place)?,
            ord: self.text(&mut entry, "ord", place)?,
            description: self.text(&mut entry, "description", place)?,
            points,
            schedule: self.text(&mut entry, "schedule", place)?,
            notes: self.texts(&mut entry, "notes", place)?,
            extra: entry,
        })
    }

    fn standalone_point(
        &mut self,
        mut entry: Entry,
        place: &str,
    ) -> Result<StandalonePoint, KnowledgeError> {
        Ok(StandalonePoint {
            id: self.text(&mut entry, "id", place)?.unwrap_or_default(),
            name: self.text(&mut entry, "name", place)?,
            aliases: self.texts(&mut entry, "aliases", place)?,
            space: self.text(&mut entry, "space", place)?,
            ord: self.text(&mut entry, "ord", place)?,
            kind: self.text(&mut entry, "kind", place)?,
            role_in_space: self.text(&mut entry, "role_in_space", place)?,
            notes: self.texts(&mut entry, "notes", place)?,
            extra: entry,
        })
    }

    fn map(&self, value: Option<Value>, place: &str) -> Result<Entry, KnowledgeError> {
        match value {
            None | Some(Value::Null) => Ok(Entry::new()),
            Some(Value::Object(map)) => Ok(map),
            Some(_) => Err(self.error(place, "it is not a map", "write `key: value` lines")),
        }
    }

    fn text(
        &mut self,
        entry: &mut Entry,
        key: &str,
        place: &str,
    ) -> Result<Option<String>, KnowledgeError> {
        match entry.shift_remove(key) {
            None => Ok(None),
            Some(value) => self.scalar(value, &format!("{place}.{key}")),
        }
    }

    fn scalar(&mut self, value: Value, place: &str) -> Result<Option<String>, KnowledgeError> {
        match value {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text)),
            Value::Number(number) => {
                self.warnings
                    .push(format!("{place}: the number {number} was taken as text"));
                Ok(Some(number.to_string()))
            }
            Value::Bool(flag) => {
                self.warnings
                    .push(format!("{place}: {flag} was taken as text"));
                Ok(Some(flag.to_string()))
            }
            Value::Array(_) | Value::Object(_) => Err(self.error(
                place,
                "a text is expected, a list or map was found",
                "write one text value",
            )),
        }
    }

    fn texts(
        &mut self,
        entry: &mut Entry,
        key: &str,
        place: &str,
    ) -> Result<Vec<String>, KnowledgeError> {
        let place = format!("{place}.{key}");
        match entry.shift_remove(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(items)) => {
                let mut texts = Vec::with_capacity(items.len());
                for (index, item) in items.into_iter().enumerate() {
                    texts.extend(self.scalar(item, &format!("{place}[{index}]"))?);
                }
                Ok(texts)
            }
            Some(single) => {
                self.warnings.push(format!(
                    "{place}: a single value was taken as a list of one"
                ));
                Ok(self.scalar(single, &place)?.into_iter().collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_keys_survive_at_every_level() {
        let tree = json!({
            "schema_version": 1,
            "station": {"id": "s", "custom": [1, 2]},
            "spaces": [{"id": "f1", "bounds": {"w": 3}, "_walkthrough": {"confirmed_by": "ann"}}],
            "equipment_types": [{"id": "ahu", "typical_points": [{"role": "sat", "required": true, "hint": "x"}]}],
            "equipment": [{"id": "ahu-1", "type": "ahu", "points": {"sat": "station:|slot:/A"}, "colour": "blue"}],
            "points": [{"id": "p", "role_in_space": "temp", "extra_key": null}],
            "schedules": [{"id": "office"}],
        });
        let decoded = decode("t", tree.clone()).unwrap();
        assert_eq!(decoded.document.to_tree(), tree);
        assert!(decoded.warnings.is_empty(), "{:?}", decoded.warnings);
    }

    #[test]
    fn a_number_as_id_is_kept_as_text_with_a_warning() {
        let decoded = decode("t", json!({"spaces": [{"id": 12}]})).unwrap();
        assert_eq!(decoded.document.spaces[0].id, "12");
        assert_eq!(
            decoded.warnings,
            ["spaces[0].id: the number 12 was taken as text"]
        );
    }

    #[test]
    fn an_item_that_is_no_map_is_skipped_and_named() {
        let decoded = decode("t", json!({"points": ["x", {"id": "p"}]})).unwrap();
        assert_eq!(decoded.document.points.len(), 1);
        assert_eq!(decoded.warnings, ["points[0] is not a map and was skipped"]);
    }

    #[test]
    fn wrong_shapes_are_refused_with_their_place() {
        for (tree, place) in [
            (json!([1]), "the root"),
            (json!({"schema_version": 2}), "schema_version"),
            (json!({"schema_version": "one"}), "schema_version"),
            (json!({"equipment": {"id": "x"}}), "equipment"),
            (json!({"equipment": [{"id": {"a": 1}}]}), "equipment[0].id"),
            (
                json!({"equipment": [{"points": ["a"]}]}),
                "equipment[0].points",
            ),
            (
                json!({"equipment_types": [{"typical_points": [{"role": "r", "required": 3}]}]}),
                "equipment_types[0].typical_points[0].required",
            ),
        ] {
            let error = decode("site.yaml", tree).unwrap_err().to_string();
            assert!(error.contains(&format!("wrong at {place}:")), "{error}");
        }
    }
}
