//! What is wrong in a model, entry by entry (Tool surface §9.3).

use std::collections::HashMap;
use std::fmt;

use indexmap::IndexMap;

use super::document::{KnowledgeDocument, SERVED_BY, mistyped_root_key, unknown_root_keys};
use super::model::KnowledgeModel;
use crate::station::ord::Ord;

/// A chain of `parent` or `extends` longer than this is reported as a possible cycle (Tool surface §9.3).
const LONGEST_CHAIN: usize = 50;

/// One finding; its text names the section, the id and the bad value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KnowledgeWarning {
    MissingIds {
        section: &'static str,
        count: usize,
    },
    DuplicateId {
        section: &'static str,
        id: String,
        /// Positions in the section.
        places: Vec<usize>,
    },
    /// A key at the root of the file that is nearly the name of a section: what stands there is not seen.
    MistypedSection {
        key: String,
        section: &'static str,
    },
    /// A field names an entry that does not exist.
    UnknownReference {
        section: &'static str,
        id: String,
        field: &'static str,
        value: String,
    },
    MissingOrd {
        section: &'static str,
        id: String,
    },
    Cycle {
        section: &'static str,
        id: String,
        field: &'static str,
    },
    PossibleCycle {
        section: &'static str,
        id: String,
        field: &'static str,
    },
    /// A role that the type requires is not mapped.
    MissingRole {
        id: String,
        equipment_type: String,
        role: String,
    },
    /// A mapped role that the type does not know.
    UnknownRole {
        id: String,
        equipment_type: String,
        role: String,
    },
    /// Several equipment entries have one ord.
    SharedOrd {
        ord: String,
        ids: Vec<String>,
    },
    OrdSyntax {
        section: &'static str,
        id: String,
        /// The role whose ord it is; none for the entry's own.
        role: Option<String>,
        problem: String,
    },
    NotKebabCase {
        section: &'static str,
        id: String,
    },
}

impl fmt::Display for KnowledgeWarning {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingIds { section, count: 1 } => {
                write!(out, "{section}: an entry has no id")
            }
            Self::MissingIds { section, count } => {
                write!(out, "{section}: {count} entries have no id")
            }
            Self::DuplicateId {
                section,
                id,
                places,
            } => {
                let paths = places.iter().map(|at| format!("{section}[{at}]"));
                write!(
                    out,
                    "{section}: the id '{id}' is used {} times, at {}; none of them can be edited",
                    places.len(),
                    paths.collect::<Vec<_>>().join(", ")
                )
            }
            Self::MistypedSection { key, section } => write!(
                out,
                "the key '{key}' is no section and its entries are not seen; write '{section}' if that is what it is"
            ),
            Self::UnknownReference {
                section,
                id,
                field,
                value,
            } => write!(out, "{section} '{id}': unknown {field} '{value}'"),
            Self::MissingOrd { section, id } => write!(out, "{section} '{id}': the ord is missing"),
            Self::Cycle { section, id, field } => {
                write!(
                    out,
                    "{section} '{id}': '{field}' leads back to itself (cycle)"
                )
            }
            Self::PossibleCycle { section, id, field } => write!(
                out,
                "{section} '{id}': '{field}' goes on for more than {LONGEST_CHAIN} steps (possible cycle)"
            ),
            Self::MissingRole {
                id,
                equipment_type,
                role,
            } => write!(
                out,
                "equipment '{id}': the type '{equipment_type}' requires the role '{role}', which has no point"
            ),
            Self::UnknownRole {
                id,
                equipment_type,
                role,
            } => write!(
                out,
                "equipment '{id}': the type '{equipment_type}' has no role '{role}'"
            ),
            Self::SharedOrd { ord, ids } => write!(
                out,
                "equipment '{}': the ord '{ord}' is used by all of them",
                ids.join("', '")
            ),
            Self::OrdSyntax {
                section,
                id,
                role: Some(role),
                problem,
            } => write!(out, "{section} '{id}', role '{role}': {problem}"),
            Self::OrdSyntax {
                section,
                id,
                role: None,
                problem,
            } => write!(out, "{section} '{id}': {problem}"),
            Self::NotKebabCase { section, id } => write!(
                out,
                "{section}: the id '{id}' is not kebab-case; write small letters, digits and single hyphens"
            ),
        }
    }
}

/// Everything that is wrong, in the order of Tool surface §9.3, then what the in-station module does not report.
pub fn validate(model: &KnowledgeModel) -> Vec<KnowledgeWarning> {
    let mut found = Vec::new();
    let document = model.document();
    for (section, ids) in ids_by_section(document) {
        check_ids(section, &ids, &mut found);
    }
    found.extend(unknown_root_keys(document).filter_map(|key| {
        Some(KnowledgeWarning::MistypedSection {
            key: key.to_owned(),
            section: mistyped_root_key(key)?,
        })
    }));
    check_equipment(model, &mut found);
    for space in &document.spaces {
        check_reference(
            "spaces",
            &space.id,
            "parent",
            &space.parent,
            |id| model.space(id).is_some(),
            &mut found,
        );
    }
    for space in &document.spaces {
        let parent = |id: &str| model.space(id).and_then(|entry| entry.parent.as_deref());
        check_chain(
            "spaces",
            &space.id,
            "parent",
            space.parent.as_deref(),
            parent,
            &mut found,
        );
    }
    for entry in &document.equipment_types {
        let extends = |id: &str| {
            model
                .equipment_type(id)
                .and_then(|entry| entry.extends.as_deref())
        };
        check_chain(
            "equipment_types",
            &entry.id,
            "extends",
            entry.extends.as_deref(),
            extends,
            &mut found,
        );
    }
    for entry in &document.equipment_types {
        check_reference(
            "equipment_types",
            &entry.id,
            "extends",
            &entry.extends,
            |id| model.equipment_type(id).is_some(),
            &mut found,
        );
    }
    for point in &document.points {
        check_reference(
            "points",
            &point.id,
            "space",
            &point.space,
            |id| model.space(id).is_some(),
            &mut found,
        );
        if is_blank(&point.ord) {
            found.push(KnowledgeWarning::MissingOrd {
                section: "points",
                id: point.id.clone(),
            });
        }
    }
    check_roles(model, &mut found);
    check_ords(document, &mut found);
    for (section, ids) in ids_by_section(document) {
        let odd = ids
            .into_iter()
            .filter(|id| !id.is_empty() && !is_kebab_case(id));
        found.extend(odd.map(|id| KnowledgeWarning::NotKebabCase {
            section,
            id: id.to_owned(),
        }));
    }
    found
}

fn ids_by_section(document: &KnowledgeDocument) -> [(&'static str, Vec<&str>); 4] {
    [
        (
            "spaces",
            document
                .spaces
                .iter()
                .map(|entry| entry.id.as_str())
                .collect(),
        ),
        (
            "equipment_types",
            document
                .equipment_types
                .iter()
                .map(|entry| entry.id.as_str())
                .collect(),
        ),
        (
            "equipment",
            document
                .equipment
                .iter()
                .map(|entry| entry.id.as_str())
                .collect(),
        ),
        (
            "points",
            document
                .points
                .iter()
                .map(|entry| entry.id.as_str())
                .collect(),
        ),
    ]
}

fn check_ids(section: &'static str, ids: &[&str], found: &mut Vec<KnowledgeWarning>) {
    let missing = ids.iter().filter(|id| id.is_empty()).count();
    if missing > 0 {
        found.push(KnowledgeWarning::MissingIds {
            section,
            count: missing,
        });
    }
    let mut places: IndexMap<&str, Vec<usize>> = IndexMap::with_capacity(ids.len());
    for (at, id) in ids.iter().enumerate().filter(|(_, id)| !id.is_empty()) {
        places.entry(id).or_default().push(at);
    }
    let repeated = places.into_iter().filter(|(_, places)| places.len() > 1);
    found.extend(repeated.map(|(id, places)| KnowledgeWarning::DuplicateId {
        section,
        id: id.to_owned(),
        places,
    }));
}

fn check_equipment(model: &KnowledgeModel, found: &mut Vec<KnowledgeWarning>) {
    for entry in &model.document().equipment {
        check_reference(
            "equipment",
            &entry.id,
            "type",
            &entry.equipment_type,
            |id| model.equipment_type(id).is_some(),
            found,
        );
        check_reference(
            "equipment",
            &entry.id,
            "space",
            &entry.space,
            |id| model.space(id).is_some(),
            found,
        );
        for source in entry.served_by() {
            check_reference(
                "equipment",
                &entry.id,
                SERVED_BY,
                &Some(source.to_owned()),
                |id| model.equipment(id).is_some(),
                found,
            );
        }
        if is_blank(&entry.ord) {
            found.push(KnowledgeWarning::MissingOrd {
                section: "equipment",
                id: entry.id.clone(),
            });
        }
    }
}

fn check_reference(
    section: &'static str,
    id: &str,
    field: &'static str,
    value: &Option<String>,
    exists: impl Fn(&str) -> bool,
    found: &mut Vec<KnowledgeWarning>,
) {
    if let Some(value) = value.as_deref().filter(|value| !value.is_empty())
        && !exists(value)
    {
        found.push(KnowledgeWarning::UnknownReference {
            section,
            id: id.to_owned(),
            field,
            value: value.to_owned(),
        });
    }
}

/// Walks up from an entry; a cycle that does not hold the entry itself ends at the longest chain.
fn check_chain<'m>(
    section: &'static str,
    id: &str,
    field: &'static str,
    first: Option<&'m str>,
    next: impl Fn(&str) -> Option<&'m str>,
    found: &mut Vec<KnowledgeWarning>,
) {
    let mut current = first.filter(|id| !id.is_empty());
    let mut steps = 0;
    while let Some(at) = current {
        steps += 1;
        if at == id {
            found.push(KnowledgeWarning::Cycle {
                section,
                id: id.to_owned(),
                field,
            });
            return;
        }
        if steps > LONGEST_CHAIN {
            found.push(KnowledgeWarning::PossibleCycle {
                section,
                id: id.to_owned(),
                field,
            });
            return;
        }
        current = next(at).filter(|id| !id.is_empty());
    }
}

fn check_roles(model: &KnowledgeModel, found: &mut Vec<KnowledgeWarning>) {
    let mut known_roles = HashMap::new();
    for entry in &model.document().equipment {
        let Some(equipment_type) = entry
            .equipment_type
            .as_deref()
            .and_then(|id| model.equipment_type(id))
        else {
            continue;
        };
        let typical = known_roles
            .entry(equipment_type.id.as_str())
            .or_insert_with(|| model.typical_points(&equipment_type.id));
        for point in typical.iter().filter(|point| point.required) {
            if entry.points.get(&point.role).is_none_or(String::is_empty) {
                found.push(KnowledgeWarning::MissingRole {
                    id: entry.id.clone(),
                    equipment_type: equipment_type.id.clone(),
                    role: point.role.clone(),
                });
            }
        }
        for role in entry.points.keys() {
            if !typical.iter().any(|point| point.role == *role) {
                found.push(KnowledgeWarning::UnknownRole {
                    id: entry.id.clone(),
                    equipment_type: equipment_type.id.clone(),
                    role: role.clone(),
                });
            }
        }
    }
}

fn check_ords(document: &KnowledgeDocument, found: &mut Vec<KnowledgeWarning>) {
    let mut syntax = Vec::new();
    let mut check =
        |section, id: &str, role: Option<&str>, ord: &str| match Ord::component_as_stored(ord) {
            Ok(ord) => Some(ord.absolute()),
            Err(error) => {
                syntax.push(KnowledgeWarning::OrdSyntax {
                    section,
                    id: id.to_owned(),
                    role: role.map(str::to_owned),
                    problem: error.to_string(),
                });
                None
            }
        };
    let mut owners: IndexMap<String, Vec<String>> = IndexMap::new();
    for entry in &document.equipment {
        if let Some(ord) = entry.ord.as_deref().filter(|ord| !ord.is_empty())
            && let Some(ord) = check("equipment", &entry.id, None, ord)
        {
            owners.entry(ord).or_default().push(entry.id.clone());
        }
        for (role, ord) in &entry.points {
            check("equipment", &entry.id, Some(role), ord);
        }
    }
    for point in &document.points {
        if let Some(ord) = point.ord.as_deref().filter(|ord| !ord.is_empty()) {
            check("points", &point.id, None, ord);
        }
    }
    let shared = owners.into_iter().filter(|(_, ids)| ids.len() > 1);
    found.extend(shared.map(|(ord, ids)| KnowledgeWarning::SharedOrd { ord, ids }));
    found.append(&mut syntax);
}

fn is_blank(text: &Option<String>) -> bool {
    text.as_deref().is_none_or(|text| text.trim().is_empty())
}

/// Small letters of any script, digits, single hyphens between them.
fn is_kebab_case(id: &str) -> bool {
    id.split('-').all(|part| {
        !part.is_empty()
            && part
                .chars()
                .all(|character| character.is_alphanumeric() && !character.is_uppercase())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::{STANDARD_SAMPLE, decode, format};

    fn texts(document: &str) -> Vec<String> {
        let (_, tree) = format::parse("test", document).unwrap();
        let model = KnowledgeModel::new(decode::decode("test", tree).unwrap().document);
        validate(&model).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_sample_and_a_whole_little_site_are_clean() {
        assert_eq!(texts(STANDARD_SAMPLE), Vec::<String>::new());
        let site = "spaces: [{id: main}, {id: floor-1, parent: main}]
equipment_types: [{id: pump, typical_points: [{role: status, required: true}]}, {id: etage-pumpe, extends: pump}]
equipment:
- {id: p-1, type: etage-pumpe, space: floor-1, ord: 'slot:/P1', points: {status: 'slot:/P1/Status'}}
points: [{id: oat, space: main, ord: 'station:|slot:/Oat'}]
";
        assert_eq!(texts(site), Vec::<String>::new());
    }

    #[test]
    fn findings_come_in_their_order_and_name_section_id_and_value() {
        let site = "
spaces:
- {id: a, parent: b}
- {id: b, parent: a}
- {id: in-cycle, parent: a}
- {id: self, parent: self}
- {id: lost, parent: nowhere}
- {id: a}
- {name: without}
- {name: without}
equipment_types:
- {id: t, extends: u, typical_points: [{role: status, required: true}]}
- {id: u, extends: t}
- {id: orphan, extends: gone}
equipment:
- {id: e-1, type: t, ord: 'slot:/E', points: {speed: 'slot:/E/Speed'}}
- {id: e-2, type: x, space: y, ord: 'station:|slot:/E'}
- {id: E_3}
points:
- {id: p, space: z, ord: 'slot://bad'}
- {id: q}
- {id: r, ord: 'slot:/Pump 1'}
";
        assert_eq!(
            texts(site),
            [
                "spaces: 2 entries have no id",
                "spaces: the id 'a' is used 2 times, at spaces[0], spaces[5]; none of them can be edited",
                "equipment 'e-2': unknown type 'x'",
                "equipment 'e-2': unknown space 'y'",
                "equipment 'E_3': the ord is missing",
                "spaces 'lost': unknown parent 'nowhere'",
                "spaces 'a': 'parent' leads back to itself (cycle)",
                "spaces 'b': 'parent' leads back to itself (cycle)",
                "spaces 'in-cycle': 'parent' goes on for more than 50 steps (possible cycle)",
                "spaces 'self': 'parent' leads back to itself (cycle)",
                "equipment_types 't': 'extends' leads back to itself (cycle)",
                "equipment_types 'u': 'extends' leads back to itself (cycle)",
                "equipment_types 'orphan': unknown extends 'gone'",
                "points 'p': unknown space 'z'",
                "points 'q': the ord is missing",
                "equipment 'e-1': the type 't' requires the role 'status', which has no point",
                "equipment 'e-1': the type 't' has no role 'speed'",
                "equipment 'e-1', 'e-2': the ord 'station:|slot:/E' is used by all of them",
                "points 'p': the ord \"slot://bad\" has the illegal path segment \"\"; write names separated by single slashes",
                "points 'r': the ord \"slot:/Pump 1\" has the name \"Pump 1\", under which no station stores a slot: letters, \
                 digits and _ stand for themselves, with no digit in front, and anything else is escaped; write Pump$201",
                "equipment: the id 'E_3' is not kebab-case; write small letters, digits and single hyphens",
            ]
        );
    }

    #[test]
    fn a_chain_of_fifty_is_no_cycle_and_one_of_fifty_one_may_be() {
        let chain = |length: usize| {
            let mut text = "spaces:\n- {id: s0}\n".to_owned();
            for at in 1..=length {
                text.push_str(&format!("- {{id: s{at}, parent: s{}}}\n", at - 1));
            }
            texts(&text)
        };
        assert_eq!(chain(50), Vec::<String>::new());
        assert_eq!(
            chain(51),
            ["spaces 's51': 'parent' goes on for more than 50 steps (possible cycle)"]
        );
    }
}
