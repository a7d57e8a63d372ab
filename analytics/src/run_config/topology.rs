//! The topology that a configuration declares (Engine §5.6).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::files::{ConfigFiles, CsvTable};
use super::section::{ConfigError, Section};
use crate::topology::{Provenance, Topology};

/// Headers that are tried for the two columns of a file, in this order.
const CHILD: [&str; 8] = [
    "child",
    "vav_id",
    "vav",
    "zone",
    "terminal",
    "ahu_id",
    "equip",
    "equipment",
];
const PARENT: [&str; 7] = [
    "parent",
    "parent_ahu",
    "ahu",
    "served_by",
    "parent_plant",
    "plant",
    "parent_equip",
];

/// How names are compared with ids of equipment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IdMatch {
    /// Case and what is not alphanumeric do not count, where exactly one equipment fits.
    #[default]
    Normalized,
    Exact,
}

/// Edges as they are declared.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeclaredTopology {
    /// Parent and child.
    pub edges: Vec<(String, String)>,
    pub matching: IdMatch,
}

/// A declared topology over the equipment of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedTopology {
    pub topology: Topology,
    /// Declared names that are no equipment, sorted; they are kept in the topology.
    pub unmatched: Vec<String>,
    /// Parent and child of edges that a topology cannot have: to itself, or closing a circle.
    pub left_out: Vec<(String, String)>,
}

impl DeclaredTopology {
    /// Reads `topology`.
    ///
    /// # Errors
    /// It has other keys, or a file cannot be read or does not tell its columns.
    pub fn read(section: &Section<'_>, files: &dyn ConfigFiles) -> Result<Self, ConfigError> {
        section.only(&["parents", "csv", "match"])?;
        let matching = match section.word("match", &["normalized", "exact"])? {
            Some("exact") => IdMatch::Exact,
            _ => IdMatch::Normalized,
        };
        let mut edges = Vec::new();
        if let Some(parents) = section.section("parents")? {
            for child in parents.fields().keys() {
                for parent in parents.texts(child)?.unwrap_or_default() {
                    edges.push((parent.to_owned(), child.clone()));
                }
            }
        }
        match section.value("csv") {
            None => {}
            Some(Value::Array(several)) => {
                for (number, value) in several.iter().enumerate() {
                    let place = format!("{}[{number}]", section.at("csv"));
                    edges.extend(of_file(value, &place, files)?);
                }
            }
            Some(one) => edges.extend(of_file(one, &section.at("csv"), files)?),
        }
        Ok(Self { edges, matching })
    }

    /// The topology over the ids of a run.
    pub fn resolved<'a>(&self, equipment: impl IntoIterator<Item = &'a str>) -> ResolvedTopology {
        let known: BTreeSet<&str> = equipment.into_iter().collect();
        let mut by_plain: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for id in &known {
            by_plain.entry(plain(id)).or_default().push(id);
        }
        let mut unmatched = BTreeSet::new();
        let mut resolve = |name: &str| {
            if known.contains(name) {
                return name.to_owned();
            }
            if self.matching == IdMatch::Normalized
                && let Some([only]) = by_plain.get(&plain(name)).map(Vec::as_slice)
            {
                return (*only).to_owned();
            }
            unmatched.insert(name.to_owned());
            name.to_owned()
        };
        let edges: Vec<(String, String)> = self
            .edges
            .iter()
            .map(|(parent, child)| (resolve(parent), resolve(child)))
            .collect();
        let topology = Topology::of_edges(Provenance::Explicit, edges.iter().cloned());
        let left_out: BTreeSet<(String, String)> = edges
            .into_iter()
            .filter(|(parent, child)| !topology.parents_of(child).contains(parent))
            .collect();
        ResolvedTopology {
            topology,
            left_out: left_out.into_iter().collect(),
            unmatched: unmatched.into_iter().collect(),
        }
    }
}

fn plain(id: &str) -> String {
    id.chars()
        .filter(|letter| letter.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// The edges of one file, which is a path, or an object with a path and names of columns.
fn of_file(
    value: &Value,
    place: &str,
    files: &dyn ConfigFiles,
) -> Result<Vec<(String, String)>, ConfigError> {
    let (path, child, parent) = match value {
        Value::String(path) => (path.as_str(), None, None),
        _ => {
            let section = Section::of(value, place)
                .map_err(|_| ConfigError::new(place, "it must be a path, or an object with one"))?;
            section.only(&["path", "child", "parent"])?;
            (
                section.required_text("path")?,
                section.text("child")?,
                section.text("parent")?,
            )
        }
    };
    let table = CsvTable::read(files, path, place)?;
    let refuse = |problem: String| ConfigError::new(place, format!("{path:?}: {problem}"));
    let child_column = column(&table, child, &CHILD, 0).map_err(refuse)?;
    let parent_column = column(&table, parent, &PARENT, 1).map_err(refuse)?;
    if child_column == parent_column {
        return Err(refuse(
            "child and parent are the same column; name both".to_owned(),
        ));
    }
    let cell = |row: &[String], column: usize| row.get(column).cloned().unwrap_or_default();
    Ok(table
        .rows
        .iter()
        .map(|row| (cell(row, parent_column), cell(row, child_column)))
        .filter(|(parent, child)| !parent.is_empty() && !child.is_empty())
        .collect())
}

/// The named column, else the first of the usual headers; a file of two columns is child, parent.
fn column(
    table: &CsvTable,
    named: Option<&str>,
    usual: &[&str],
    place_of_two: usize,
) -> Result<usize, String> {
    if let Some(name) = named {
        return table.column(name).ok_or_else(|| {
            format!(
                "it has no column {name:?}; it has {}",
                table.headers.join(", ")
            )
        });
    }
    if let Some(found) = usual.iter().find_map(|name| table.column(name)) {
        return Ok(found);
    }
    match table.headers.len() {
        2 => Ok(place_of_two),
        _ => Err(format!(
            "its columns {} do not tell which is child and which is parent; name them",
            table.headers.join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn declared(value: Value, files: &[(&str, &str)]) -> Result<DeclaredTopology, String> {
        let files: BTreeMap<String, String> = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect();
        Section::of(&value, "topology")
            .and_then(|section| DeclaredTopology::read(&section, &files))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn names_find_their_equipment_whatever_their_spelling() {
        let declared = declared(
            json!({"parents": {"vav_1": "ahu 1", "VAV-2": ["AHU-1", "AHU-9"]}}),
            &[],
        )
        .unwrap();
        let resolved = declared.resolved(["AHU-1", "VAV-1", "VAV-2"]);
        assert_eq!(resolved.topology.group("VAV-1"), Some("AHU-1"));
        assert_eq!(resolved.topology.group("VAV-2"), None);
        assert_eq!(resolved.unmatched, ["AHU-9"]);
        // Two equipment fit: neither is meant.
        let resolved = declared.resolved(["AHU-1", "AHU_1", "VAV-1"]);
        assert_eq!(resolved.topology.group("VAV-1"), Some("ahu 1"));
        let exact = DeclaredTopology {
            matching: IdMatch::Exact,
            ..declared
        };
        assert_eq!(exact.resolved(["VAV-1"]).topology.group("VAV-1"), None);
    }

    #[test]
    fn files_tell_their_columns_or_are_refused() {
        let table = "zone,floor,ahu\nVAV-1,2,AHU-1\nVAV-2,2,\n";
        let files = [
            ("a.csv", table),
            ("two.csv", "x,y\nVAV-3,AHU-1\n"),
            ("odd.csv", "a,b,c\n1,2,3\n"),
        ];
        let found = declared(json!({"csv": ["a.csv", "two.csv"]}), &files).unwrap();
        assert_eq!(
            found.edges,
            [("AHU-1", "VAV-1"), ("AHU-1", "VAV-3")]
                .map(|(parent, child)| (parent.to_owned(), child.to_owned()))
        );
        let named = json!({"csv": {"path": "odd.csv", "child": "c", "parent": "a"}});
        assert_eq!(
            declared(named, &files).unwrap().edges,
            [("1".to_owned(), "3".to_owned())]
        );
        for (value, told) in [
            (json!({"csv": "odd.csv"}), "do not tell which"),
            (
                json!({"csv": ["no.csv"]}),
                "topology.csv[0]: \"no.csv\": there is no such file",
            ),
            (
                json!({"csv": {"path": "a.csv", "child": "vav"}}),
                "no column \"vav\"",
            ),
            (json!({"csv": {"path": "a.csv", "x": 1}}), "topology.csv.x"),
            (json!({"children": {}}), "topology.children"),
            (json!({"match": "fuzzy"}), "it may be normalized, exact"),
            (json!({"parents": {"a": 1}}), "topology.parents.a"),
        ] {
            let refused = declared(value, &files).unwrap_err();
            assert!(refused.contains(told), "{refused}");
        }
    }
}
