//! Which equipment a run judges (Engine §4.2, §5.3).

use std::collections::{BTreeMap, BTreeSet};

use super::section::{ConfigError, Section};
use crate::refrigerants;
use crate::roles;

/// What the class `TERMINAL` stands for.
const TERMINAL: [&str; 3] = ["VAV", "CAV", "FCAV"];

/// One entry: the equipment of a class.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EquipmentEntry {
    /// Exact text; `TERMINAL` stands for VAV, CAV and FCAV.
    pub class: String,
    /// Only equipment that stores this role.
    pub marker_role: Option<String>,
    /// Token of the file that makes a folder's equipment.
    pub marker: Option<String>,
    /// Only these; none for all.
    pub equips: Option<BTreeSet<String>>,
    /// Name as the curves spell it.
    pub refrigerant: Option<String>,
}

impl EquipmentEntry {
    /// All equipment of a class.
    pub fn of_class(class: impl Into<String>) -> Self {
        Self {
            class: class.into(),
            ..Self::default()
        }
    }

    /// Reads one entry of `equipment`.
    ///
    /// # Errors
    /// It has no class, or names a role or refrigerant that does not exist.
    pub fn read(section: &Section<'_>) -> Result<Self, ConfigError> {
        let class = section.required_text("class")?.to_owned();
        let marker_role = section.text("marker_role")?.map(str::to_owned);
        if let Some(role) = &marker_role
            && roles::role(role).is_none()
        {
            return Err(section.refuse("marker_role", format!("there is no role {role:?}")));
        }
        let refrigerant = match section.text("refrigerant")? {
            None => None,
            Some(name) => Some(
                refrigerants::named(name)
                    .map(|(known, _)| known.to_owned())
                    .ok_or_else(|| {
                        section.refuse(
                            "refrigerant",
                            format!(
                                "{name:?} is unknown; known are {}",
                                refrigerants::names().join(", ")
                            ),
                        )
                    })?,
            ),
        };
        let equips = section
            .texts("equip")?
            .filter(|list| !list.is_empty())
            .map(|list| list.into_iter().map(str::to_owned).collect());
        Ok(Self {
            class,
            marker_role,
            marker: section.text("marker")?.map(str::to_owned),
            equips,
            refrigerant,
        })
    }

    /// Whether the entry is of equipment of a class.
    pub fn takes_class(&self, class: &str) -> bool {
        match self.class.as_str() {
            "TERMINAL" => TERMINAL.contains(&class),
            own => own == class,
        }
    }
}

/// One equipment of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovered {
    pub equip: String,
    pub equip_class: String,
    pub refrigerant: Option<String>,
}

/// The equipment of a run in its order: the entries in theirs, within one by id. An equipment of two entries is there
/// twice.
///
/// `classes` and `points` are what the facility stores at any time, within the window or not; `narrowed` are the ids that
/// a caller asks for.
pub fn discovered(
    entries: &[EquipmentEntry],
    classes: &BTreeMap<String, String>,
    points: &BTreeSet<(String, String)>,
    narrowed: Option<&BTreeSet<String>>,
) -> Vec<Discovered> {
    let stores = |equip: &str, role: &str| points.contains(&(equip.to_owned(), role.to_owned()));
    entries
        .iter()
        .flat_map(|entry| {
            classes
                .iter()
                .filter(move |(equip, class)| {
                    entry.takes_class(class)
                        && entry
                            .marker_role
                            .as_deref()
                            .is_none_or(|role| stores(equip, role))
                        && entry
                            .equips
                            .as_ref()
                            .is_none_or(|list| list.contains(*equip))
                        && narrowed.is_none_or(|list| list.contains(*equip))
                })
                .map(move |(equip, class)| Discovered {
                    equip: equip.clone(),
                    equip_class: class.clone(),
                    refrigerant: entry.refrigerant.clone(),
                })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(value: serde_json::Value) -> Result<EquipmentEntry, String> {
        Section::of(&value, "equipment[0]")
            .and_then(|section| EquipmentEntry::read(&section))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn entries_choose_by_class_marker_and_name() {
        let classes: BTreeMap<String, String> = [
            ("VAV-2", "VAV"),
            ("VAV-1", "VAV"),
            ("C-1", "CAV"),
            ("AHU-1", "AHU"),
            ("X", "ahu"),
        ]
        .map(|(equip, class)| (equip.to_owned(), class.to_owned()))
        .into();
        let points: BTreeSet<(String, String)> = [
            ("VAV-1", "space_temp"),
            ("C-1", "space_temp"),
            ("VAV-2", "damper"),
        ]
        .map(|(equip, role)| (equip.to_owned(), role.to_owned()))
        .into();
        let found = |entries: &[EquipmentEntry], narrowed: Option<&BTreeSet<String>>| {
            discovered(entries, &classes, &points, narrowed)
                .into_iter()
                .map(|found| found.equip)
                .collect::<Vec<_>>()
        };
        let terminals = entry(json!({"class": "TERMINAL", "marker_role": "space_temp"})).unwrap();
        let boxes = entry(json!({"class": "VAV", "equip": "VAV-1"})).unwrap();
        let handlers = EquipmentEntry::of_class("AHU");
        let all = [handlers, terminals, boxes];
        assert_eq!(found(&all, None), ["AHU-1", "C-1", "VAV-1", "VAV-1"]);
        // An entry of which nothing is asked for keeps nothing.
        let one = BTreeSet::from(["C-1".to_owned()]);
        assert_eq!(found(&all, Some(&one)), ["C-1"]);
    }

    #[test]
    fn wrong_entries_are_refused_with_their_place() {
        for (value, told) in [
            (json!({}), "equipment[0].class"),
            (
                json!({"class": "AHU", "marker_role": "fan"}),
                "no role \"fan\"",
            ),
            (
                json!({"class": "AHU", "refrigerant": "R-9"}),
                "known are R-134a",
            ),
            (json!({"class": "AHU", "equip": 7}), "equipment[0].equip"),
        ] {
            let refused = entry(value).unwrap_err();
            assert!(refused.contains(told), "{refused}");
        }
        let known = entry(json!({"class": "DX", "refrigerant": "r410a"})).unwrap();
        assert_eq!(known.refrigerant.as_deref(), Some("R-410A"));
        let known = entry(json!({"class": "DX", "refrigerant": "CO2"})).unwrap();
        assert_eq!(known.refrigerant.as_deref(), Some("R-744"));
    }
}
