//! What an edit changed, by section and id: for the log of edits.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::document::KnowledgeDocument;

/// Ids named in a log line per section and kind; more are counted only.
const NAMED_IDS: usize = 20;

/// The entries of one section that an edit added, changed or removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SectionChange {
    pub added: Vec<String>,
    pub changed: Vec<String>,
    pub removed: Vec<String>,
}

impl SectionChange {
    fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }

    /// `{added:[ids], …}`; a list of more than twenty ids ends with how many there are besides.
    pub fn to_json(&self) -> Value {
        let mut json = json!({});
        for (name, ids) in [
            ("added", &self.added),
            ("changed", &self.changed),
            ("removed", &self.removed),
        ] {
            if ids.is_empty() {
                continue;
            }
            let mut named: Vec<String> = ids.iter().take(NAMED_IDS).cloned().collect();
            if ids.len() > NAMED_IDS {
                named.push(format!("and {} more", ids.len() - NAMED_IDS));
            }
            json[name] = json!(named);
        }
        json
    }
}

/// The sections that differ, in file order; `station` stands for everything outside the four lists.
pub fn sections_changed(
    before: &KnowledgeDocument,
    after: &KnowledgeDocument,
) -> Vec<(&'static str, SectionChange)> {
    let mut sections = Vec::new();
    let mut add = |name, change: SectionChange| {
        if !change.is_empty() {
            sections.push((name, change));
        }
    };
    add(
        "spaces",
        compare(&before.spaces, &after.spaces, |entry| &entry.id),
    );
    add(
        "equipment_types",
        compare(&before.equipment_types, &after.equipment_types, |entry| {
            &entry.id
        }),
    );
    add(
        "equipment",
        compare(&before.equipment, &after.equipment, |entry| &entry.id),
    );
    add(
        "points",
        compare(&before.points, &after.points, |entry| &entry.id),
    );
    if before.station != after.station {
        add(
            "station",
            SectionChange {
                changed: vec!["station".to_owned()],
                ..SectionChange::default()
            },
        );
    }
    sections
}

fn compare<T: PartialEq>(before: &[T], after: &[T], id: impl Fn(&T) -> &str) -> SectionChange {
    let mut old: HashMap<&str, &T> = before.iter().map(|entry| (id(entry), entry)).collect();
    let mut change = SectionChange::default();
    for entry in after {
        match old.remove(id(entry)) {
            None => change.added.push(id(entry).to_owned()),
            Some(known) if known != entry => change.changed.push(id(entry).to_owned()),
            Some(_) => {}
        }
    }
    change.removed = before
        .iter()
        .filter(|entry| old.remove(id(entry)).is_some())
        .map(|entry| id(entry).to_owned())
        .collect();
    change
}
