//! What a configuration says of equipment that the facility does not store.

use std::collections::{BTreeMap, BTreeSet};

use super::Oversight;
use crate::catalogue::RuleCatalogue;
use crate::run_config::section::did_you_mean;
use crate::run_config::{DriftReference, EquipmentEntry, RunConfig, Section, discovered};

/// What findings on all units together are priced by.
const ALL_UNITS: &str = "<fleet>";

/// What a configuration says of the equipment that a facility stores.
///
/// `classes` are the stored equipment with their classes.
pub struct OfStored<'a> {
    pub classes: &'a BTreeMap<String, String>,
    pub points: &'a BTreeSet<(String, String)>,
}

impl OfStored<'_> {
    /// Names of classes and equipment that fit nothing, and equipment that is judged more than once.
    pub fn of(&self, config: &RunConfig) -> Vec<Oversight> {
        let mut found = Vec::new();
        for (number, entry) in config.equipment.iter().enumerate() {
            found.extend(self.of_entry(&format!("equipment[{number}]"), entry));
        }
        found.extend(self.judged_again(config));
        let root = Section::root(config.content());
        for list in ["soo", "mv"] {
            for section in root.sections(list).unwrap_or_default() {
                if let Ok(Some(class)) = section.text("class") {
                    found.extend(self.unknown_class(&section.at("class"), class));
                }
            }
        }
        let sized = config.report.loads.keys();
        for equip in sized.filter(|equip| *equip != ALL_UNITS) {
            found.extend(self.unknown_equip(&format!("report loads.{equip}"), equip));
        }
        found.extend(self.other_references(config));
        found.extend(self.of_parameters_by_equip(config));
        found
    }

    fn of_entry(&self, place: &str, entry: &EquipmentEntry) -> Vec<Oversight> {
        let of_class: Vec<&String> = self
            .classes
            .iter()
            .filter(|(_, class)| entry.takes_class(class))
            .map(|(equip, _)| equip)
            .collect();
        if of_class.is_empty() {
            return self
                .unknown_class(&format!("{place}.class"), &entry.class)
                .into_iter()
                .collect();
        }
        let mut found = Vec::new();
        for equip in entry.equips.iter().flatten() {
            match self.classes.get(equip) {
                None => found.extend(self.unknown_equip(&format!("{place}.equip"), equip)),
                Some(class) if !entry.takes_class(class) => found.push(Oversight::new(
                    format!("{place}.equip"),
                    format!(
                        "{equip:?} is of the class {class:?}, not {:?}, and is not judged by this entry",
                        entry.class
                    ),
                )),
                Some(_) => {}
            }
        }
        if let Some(role) = &entry.marker_role {
            let stores = |equip: &&String| self.points.contains(&((*equip).clone(), role.clone()));
            if !of_class.iter().any(stores) {
                found.push(Oversight::new(
                    format!("{place}.marker_role"),
                    format!(
                        "no equipment of the class {:?} stores {role}, so that the entry judges nothing",
                        entry.class
                    ),
                ));
            }
        }
        found
    }

    fn judged_again(&self, config: &RunConfig) -> Option<Oversight> {
        let all = discovered(&config.equipment, self.classes, self.points, None);
        let mut times: BTreeMap<&str, usize> = BTreeMap::new();
        for found in &all {
            *times.entry(found.equip.as_str()).or_default() += 1;
        }
        let again: Vec<&str> = times
            .into_iter()
            .filter(|(_, times)| *times > 1)
            .map(|(equip, _)| equip)
            .collect();
        let first = again.first()?;
        let others = match again.len() - 1 {
            0 => String::new(),
            others => format!(" and {others} more"),
        };
        Some(Oversight::new(
            "equipment",
            format!(
                "more than one entry takes {first:?}{others}, which is judged once for each of them"
            ),
        ))
    }

    /// References of drift that are of another class than what is compared with them.
    fn other_references(&self, config: &RunConfig) -> Vec<Oversight> {
        let families = config.drift.iter().flat_map(|drift| &drift.families);
        families
            .enumerate()
            .filter_map(|(number, entry)| {
                let Some(DriftReference::Equipment { equip, .. }) = &entry.reference else {
                    return None;
                };
                let class = self.classes.get(equip)?;
                let is_same = EquipmentEntry::of_class(&entry.class).takes_class(class);
                (!is_same).then(|| {
                    Oversight::new(
                        format!("drift.families[{number}].reference.equip"),
                        format!(
                            "{equip:?} is of the class {class:?}, and equipment of the class {:?} is compared with it; name a \
                             sibling of the same kind",
                            entry.class
                        ),
                    )
                })
            })
            .collect()
    }

    fn of_parameters_by_equip(&self, config: &RunConfig) -> Vec<Oversight> {
        let mut found = Vec::new();
        for (number, entry) in config.rules.iter().enumerate() {
            let Some(catalogued) = RuleCatalogue::shipped().entry(&entry.name) else {
                continue;
            };
            for (name, value) in &entry.params {
                let is_by_equip = catalogued
                    .parameter(name)
                    .is_some_and(|parameter| parameter.by_equip);
                let Some(members) = value.as_object().filter(|_| is_by_equip) else {
                    continue;
                };
                for equip in members.keys() {
                    let place = format!("rules[{number}].params.{name}");
                    found.extend(self.unknown_equip(&place, equip));
                }
            }
        }
        found
    }

    fn unknown_class(&self, place: &str, class: &str) -> Option<Oversight> {
        let entry = EquipmentEntry::of_class(class);
        let mut stored: Vec<&str> = self.classes.values().map(String::as_str).collect();
        stored.sort_unstable();
        stored.dedup();
        if stored.iter().any(|known| entry.takes_class(known)) {
            return None;
        }
        let hint = did_you_mean(class, stored.iter().copied());
        Some(Oversight::new(
            place,
            format!(
                "the facility stores no equipment of the class {class:?}{hint}; stored are {}",
                listed(&stored)
            ),
        ))
    }

    fn unknown_equip(&self, place: &str, equip: &str) -> Option<Oversight> {
        if self.classes.contains_key(equip) {
            return None;
        }
        let hint = did_you_mean(equip, self.classes.keys().map(String::as_str));
        Some(Oversight::new(
            place,
            format!("the facility stores no equipment {equip:?}{hint}"),
        ))
    }
}

/// At most ten names.
fn listed(names: &[&str]) -> String {
    const TOLD: usize = 10;
    let told = names.get(..TOLD).unwrap_or(names).join(", ");
    match names.len().saturating_sub(TOLD) {
        0 => told,
        more => format!("{told} and {more} more"),
    }
}
