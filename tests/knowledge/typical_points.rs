//! Every typical point of every shipped type is proposed under the names that the type itself gives for it, and under the
//! names that engineers write in English and German.

use std::collections::{BTreeSet, HashMap};

use niagara_bridge::knowledge::kinds::{ValueForm, kind};
use niagara_bridge::knowledge::suggestion::{DescribedPoint, ValueKind, propose};
use niagara_bridge::knowledge::{
    KnowledgeModel, STANDARD_SAMPLE, STANDARD_TYPES, TypicalPoint, decode, format,
};
use niagara_bridge::station::ord::{SlotName, SlotPath};
use niagara_bridge::station::units::unit_by_name;

fn model(text: &str) -> KnowledgeModel {
    let (_, tree) = format::parse("types", text).unwrap();
    KnowledgeModel::new(decode::decode("types", tree).unwrap().document)
}

/// A point as a station would describe it, with the usual unit of its kind.
fn point(
    folder: &SlotPath,
    escaped: &str,
    typical: &TypicalPoint,
    unit: Option<&str>,
) -> DescribedPoint {
    let kind = kind(typical.kind.as_deref().unwrap()).unwrap();
    let (form, word) = match kind.value {
        ValueForm::Number => (ValueKind::Numeric, "Numeric"),
        ValueForm::Boolean => (ValueKind::Boolean, "Boolean"),
        ValueForm::Enum => (ValueKind::Enum, "Enum"),
        ValueForm::Text => (ValueKind::Text, "String"),
    };
    let unit = unit.or(kind.units.first().map(String::as_str));
    DescribedPoint {
        path: folder.child(SlotName::new(escaped).unwrap()),
        display_name: String::new(),
        type_spec: format!("control:{word}Point"),
        kind: form,
        unit: unit.and_then(unit_by_name).cloned(),
        value: None,
        is_bad: false,
        recent: None,
    }
}

fn folder(name: &str) -> SlotPath {
    let name = SlotName::escape(name).unwrap();
    "slot:/Drivers/BacnetNetwork"
        .parse::<SlotPath>()
        .unwrap()
        .child(name)
}

/// The units that a kind may have on a station for this role.
fn units(typical: &TypicalPoint) -> Vec<Option<&'static str>> {
    match (typical.kind.as_deref(), typical.role.as_str()) {
        (Some("flow"), "gas_flow") => vec![Some("cubic_feet_per_hour")],
        (Some("flow"), role) if role.contains("air") => vec![Some("cubic_feet_per_minute")],
        (Some("flow"), _) => vec![Some("gallons_per_minute"), Some("liters_per_second")],
        (Some("pressure"), role) if role.contains("duct") || role.contains("filter") => {
            vec![Some("inches_of_water"), Some("pascal")]
        }
        (Some("pressure"), _) => vec![Some("pounds_per_square_inch"), Some("kilopascal")],
        (Some("power"), "energy_rate" | "cooling_load") => vec![Some("kilobtus_per_hour")],
        _ => vec![None],
    }
}

/// Cases of one type, each on a folder of its own, proposed at once.
struct Cases<'a> {
    model: &'a KnowledgeModel,
    type_id: &'a str,
    points: Vec<DescribedPoint>,
    /// Place of the point, the role that it should have, and what the case is.
    wanted: Vec<(usize, String, String)>,
}

impl<'a> Cases<'a> {
    fn of(model: &'a KnowledgeModel, type_id: &'a str) -> Self {
        Self {
            model,
            type_id,
            points: Vec::new(),
            wanted: Vec::new(),
        }
    }

    /// A point beside those that the type requires, and beside one with the role `with`.
    fn add(
        &mut self,
        folder_name: &str,
        slot: &str,
        (wanted, with): (&TypicalPoint, &str),
        unit: Option<&str>,
    ) {
        let folder = folder(&format!("{folder_name} {}", self.wanted.len() + 1));
        let what = format!(
            "{}.{} as {folder_name}/{slot} ({unit:?})",
            self.type_id, wanted.role
        );
        self.wanted
            .push((self.points.len(), wanted.role.clone(), what));
        self.points.push(point(&folder, slot, wanted, unit));
        let typical = self.model.typical_points(self.type_id);
        let is_there =
            |one: &&&TypicalPoint| (one.required && one.role != wanted.role) || one.role == with;
        for other in typical.iter().filter(is_there) {
            let slot = other.slot_patterns[0].replace('*', "");
            self.points
                .push(point(&folder, &slot, other, units(other)[0]));
        }
    }

    /// The cases that are proposed otherwise.
    fn wrong(&self) -> Vec<String> {
        let found = propose(&self.points, self.model);
        let mut by_point: HashMap<usize, (Option<&str>, Option<&str>)> = HashMap::new();
        for equipment in &found {
            for one in &equipment.points {
                let role = one.role.as_ref().map(|guess| guess.role.as_str());
                by_point.insert(one.point, (equipment.type_id.as_deref(), role));
            }
        }
        let wanted = self.wanted.iter();
        wanted
            .filter_map(|(at, role, what)| {
                let (type_id, found) = by_point[at];
                (type_id != Some(self.type_id) || found != Some(role)).then(|| {
                    format!(
                        "{what}: {} {}",
                        type_id.unwrap_or("no type"),
                        found.unwrap_or("nothing")
                    )
                })
            })
            .collect()
    }
}

#[test]
fn every_slot_pattern_of_every_shipped_type_leads_to_its_role() {
    let mut wrong = Vec::new();
    let mut tried = 0;
    for text in [STANDARD_TYPES, STANDARD_SAMPLE] {
        let model = model(text);
        for entry in &model.document().equipment_types {
            let mut cases = Cases::of(&model, &entry.id);
            for wanted in model.typical_points(&entry.id) {
                for pattern in &wanted.slot_patterns {
                    for unit in units(wanted) {
                        let slot = pattern.replace('*', "");
                        cases.add(entry.name.as_deref().unwrap(), &slot, (wanted, ""), unit);
                    }
                }
            }
            tried += cases.wanted.len();
            wrong.extend(cases.wrong());
        }
    }
    assert!(tried > 1_200, "{tried}");
    assert!(
        wrong.is_empty(),
        "{} of {tried}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn every_role_of_the_standard_types_is_understood_in_english_and_german() {
    let model = model(STANDARD_TYPES);
    let mut all: Vec<Cases> = Vec::new();
    let mut named: BTreeSet<(String, String)> = BTreeSet::new();
    let mut folders = ("", "");
    for line in include_str!("typical-names.txt").lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some((names, type_id)) = line.split_once(" : ") {
            folders = names.split_once(" / ").unwrap();
            all.push(Cases::of(&model, type_id));
            all.push(Cases::of(&model, type_id));
            continue;
        }
        let [.., english, german] = all.as_mut_slice() else {
            panic!("{line} stands before the first type");
        };
        let (role, names) = line.split_once(": ").unwrap();
        let (role, with) = role.split_once(" with ").unwrap_or((role, ""));
        let typical = model.typical_points(english.type_id);
        let wanted = typical.iter().find(|point| point.role == role);
        let wanted = wanted.unwrap_or_else(|| panic!("{} has no role {role}", english.type_id));
        let names = names.split_once(" / ").unwrap();
        named.insert((english.type_id.to_owned(), role.to_owned()));
        for (cases, folder_name, names) in
            [(english, folders.0, names.0), (german, folders.1, names.1)]
        {
            for name in names.split(", ") {
                for unit in units(wanted) {
                    let slot = SlotName::escape(name).unwrap();
                    cases.add(folder_name, slot.as_str(), (wanted, with), unit);
                }
            }
        }
    }
    let types = model.document().equipment_types.iter();
    let unnamed: Vec<String> = types
        .flat_map(|entry| {
            entry
                .typical_points
                .iter()
                .map(|point| (entry.id.clone(), point.role.clone()))
        })
        .filter(|key| !named.contains(key))
        .map(|(id, role)| format!("{id}.{role}"))
        .collect();
    assert!(
        unnamed.is_empty(),
        "without names in the table: {}",
        unnamed.join(" ")
    );
    let wrong: Vec<String> = all.iter().flat_map(Cases::wrong).collect();
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
