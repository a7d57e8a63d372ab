//! Project Haystack tags found on a station, read as entries of the model.
//!
//! Types and roles are found with the table of the export (`knowledge/haystack-tags.yaml`): the type or role whose markers
//! are all there and that asks for most of them. Where two fit equally well nothing is guessed: the component is reported.

mod matching;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde_json::json;

use self::matching::{Best, best, best_role, kind_candidates, type_candidates};
use super::document::SERVED_BY;
use super::{
    Equipment, EquipmentType, KnowledgeDocument, KnowledgeModel, STANDARD_TYPES, Space,
    StandalonePoint, decode, format,
};
use crate::station::facade::{TagValue, TaggedComponent};
use crate::station::ord::Ord;

/// Namespace of Project Haystack's tags on a station.
pub const NAMESPACE: &str = "hs";

/// Tags by which components are looked for: what makes a site, a space, equipment or a point of them.
pub const ENTITY_TAGS: [&str; 22] = [
    "site",
    "space",
    "floor",
    "room",
    "zone",
    "equip",
    "point",
    "sensor",
    "cmd",
    "sp",
    "ahu",
    "rtu",
    "doas",
    "vav",
    "cav",
    "fcu",
    "chiller",
    "boiler",
    "coolingTower",
    "heatPump",
    "heatExchanger",
    "meter",
];

const POINT_TAGS: [&str; 4] = ["point", "sensor", "cmd", "sp"];
const SPACE_TAGS: [&str; 4] = ["space", "floor", "room", "zone"];
/// References that place a component; every other one tells what serves it.
const PLACING: [&str; 3] = ["siteRef", "spaceRef", "equipRef"];
/// Key of an entry under which the import notes where it came from.
const ORIGIN: &str = "_haystack";

/// What was found and what could not be decided.
#[derive(Debug, Default, PartialEq)]
pub struct Findings {
    /// New entries, and the standard types that they need.
    pub document: KnowledgeDocument,
    pub found: Found,
    /// Components that were mapped before; they stay as they are.
    pub known: usize,
    pub ambiguous: Vec<Ambiguity>,
}

/// How many components of each sort bear tags.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    pub sites: usize,
    pub spaces: usize,
    pub equipment: usize,
    pub points: usize,
}

/// A component whose tags do not decide what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ambiguity {
    pub ord: String,
    pub problem: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Site,
    Space,
    Equipment,
    Point,
}

/// Reads tagged components as entries that `known` does not have yet.
pub fn read(components: &[TaggedComponent], known: &KnowledgeDocument) -> Findings {
    let mut reader = Reader::new(components, known);
    reader.places();
    reader.equipment();
    reader.points();
    reader.types();
    reader.findings
}

struct Reader<'a> {
    known: &'a KnowledgeDocument,
    standard: KnowledgeModel,
    /// In order of their ords, so that parents stand before their children.
    components: BTreeMap<&'a str, (Sort, &'a TaggedComponent)>,
    /// Ids of spaces and equipment by ord, old and new.
    space_ids: HashMap<String, String>,
    equipment_ids: HashMap<String, String>,
    findings: Findings,
}

impl<'a> Reader<'a> {
    fn new(components: &'a [TaggedComponent], known: &'a KnowledgeDocument) -> Self {
        let standard = format::parse("standard types", STANDARD_TYPES)
            .and_then(|(_, tree)| decode::decode("standard types", tree))
            .map_or_else(
                |_| KnowledgeModel::default(),
                |decoded| KnowledgeModel::new(decoded.document),
            );
        let sorted = components.iter().filter_map(|component| {
            Some((component.ord.as_str(), (sort_of(component)?, component)))
        });
        let space_ids = known.spaces.iter().filter_map(|space| {
            let ord = space.extra.get(ORIGIN)?.get("ord")?.as_str()?;
            Some((ord.to_owned(), space.id.clone()))
        });
        let equipment_ids = known
            .equipment
            .iter()
            .filter_map(|entry| Some((absolute(entry.ord.as_deref()?), entry.id.clone())));
        Self {
            known,
            standard,
            components: sorted.collect(),
            space_ids: space_ids.collect(),
            equipment_ids: equipment_ids.collect(),
            findings: Findings::default(),
        }
    }

    fn of_sort(&self, wanted: impl Fn(Sort) -> bool) -> Vec<&'a TaggedComponent> {
        let all = self.components.values();
        all.filter(|(sort, _)| wanted(*sort))
            .map(|(_, component)| *component)
            .collect()
    }

    /// Sites and spaces. A space whose id exists already is taken for the one of that id.
    fn places(&mut self) {
        let places = self.of_sort(|sort| matches!(sort, Sort::Site | Sort::Space));
        let mut taken: HashSet<String> = HashSet::new();
        for component in &places {
            if self.space_ids.contains_key(&component.ord) {
                self.findings.known += 1;
                continue;
            }
            let id = free_id(&kebab(shown(component), "space"), |id| taken.contains(id));
            taken.insert(id.clone());
            self.space_ids.insert(component.ord.clone(), id);
        }
        for component in places {
            let is_site = has(component, "site");
            match is_site {
                true => self.findings.found.sites += 1,
                false => self.findings.found.spaces += 1,
            }
            let id = self
                .space_ids
                .get(&component.ord)
                .cloned()
                .unwrap_or_default();
            if !taken.contains(&id) {
                continue;
            }
            if self.known.spaces.iter().any(|space| space.id == id) {
                self.findings.known += 1;
                continue;
            }
            let space_type = ["floor", "room", "zone"]
                .into_iter()
                .find(|tag| has(component, tag));
            let parent = self.space_of(component).filter(|parent| *parent != id);
            self.findings.document.spaces.push(Space {
                id,
                name: name(component),
                space_type: is_site
                    .then_some("building")
                    .or(space_type)
                    .map(str::to_owned),
                parent,
                extra: [(ORIGIN.to_owned(), json!({"ord": component.ord}))]
                    .into_iter()
                    .collect(),
                ..Space::default()
            });
        }
    }

    fn equipment(&mut self) {
        let all = self.of_sort(|sort| sort == Sort::Equipment);
        self.findings.found.equipment = all.len();
        let mut taken: HashSet<String> = self
            .known
            .equipment
            .iter()
            .map(|entry| entry.id.clone())
            .collect();
        let mut fresh = Vec::new();
        for component in all {
            if self.equipment_ids.contains_key(&component.ord) {
                self.findings.known += 1;
                continue;
            }
            let id = free_id(&kebab(shown(component), "equipment"), |id| {
                taken.contains(id)
            });
            taken.insert(id.clone());
            self.equipment_ids.insert(component.ord.clone(), id.clone());
            fresh.push((id, component));
        }
        for (id, component) in fresh {
            let equipment_type = match best(type_candidates(), &tags_of(component)) {
                Best::One(name) => Some(name.to_owned()),
                Best::None => {
                    self.doubt(
                        component,
                        "no equipment type has these markers; it came in without a type",
                    );
                    None
                }
                Best::Several(names) => {
                    let names = names.join(", ");
                    self.doubt(
                        component,
                        &format!("the markers fit the types {names}; it came in without a type"),
                    );
                    None
                }
            };
            let mut extra = serde_json::Map::new();
            let served_by = self.sources_of(component);
            if !served_by.is_empty() {
                extra.insert(SERVED_BY.to_owned(), json!(served_by));
            }
            let space = self.space_of(component);
            self.findings.document.equipment.push(Equipment {
                id,
                name: name(component),
                equipment_type,
                space,
                ord: Some(component.ord.clone()),
                extra,
                ..Equipment::default()
            });
        }
    }

    fn points(&mut self) {
        let all = self.of_sort(|sort| sort == Sort::Point);
        self.findings.found.points = all.len();
        let mapped = self.mapped_ords();
        let mut of_equipment: BTreeMap<(String, String), Vec<&TaggedComponent>> = BTreeMap::new();
        let mut alone = Vec::new();
        for component in all {
            if mapped.contains(&component.ord) {
                self.findings.known += 1;
                continue;
            }
            let owner = self.owner_of(component);
            let Some(id) = owner else {
                alone.push(component);
                continue;
            };
            let Some(entry) = self.fresh_equipment(&id) else {
                // Equipment that was mapped before stays as it is, with all of its points.
                self.findings.known += 1;
                continue;
            };
            let roles = self.typical_roles(entry.equipment_type.as_deref());
            match best_role(&roles, &tags_of(component)) {
                Best::One(role) => {
                    of_equipment
                        .entry((id, role.to_owned()))
                        .or_default()
                        .push(component);
                }
                Best::None => self.doubt(
                    component,
                    "no role has these markers; the point was left out",
                ),
                Best::Several(roles) => {
                    let roles = roles.join(", ");
                    self.doubt(
                        component,
                        &format!("the markers fit the roles {roles}; the point was left out"),
                    );
                }
            }
        }
        for ((id, role), candidates) in of_equipment {
            if let [one] = candidates.as_slice() {
                let entries = &mut self.findings.document.equipment;
                if let Some(entry) = entries.iter_mut().find(|entry| entry.id == id) {
                    entry.points.insert(role, one.ord.clone());
                }
                continue;
            }
            for component in &candidates {
                let problem = format!(
                    "{} points have the markers of the role {role}; they were left out",
                    candidates.len()
                );
                self.doubt(component, &problem);
            }
        }
        self.points_alone(alone);
    }

    fn points_alone(&mut self, components: Vec<&TaggedComponent>) {
        let mut taken: HashSet<String> = self
            .known
            .points
            .iter()
            .map(|point| point.id.clone())
            .collect();
        for component in components {
            let id = free_id(&kebab(shown(component), "point"), |id| taken.contains(id));
            taken.insert(id.clone());
            let tags = tags_of(component);
            let role = match best_role(&[], &tags) {
                Best::One(role) => Some(role.to_owned()),
                Best::None | Best::Several(_) => None,
            };
            let kind = match best(kind_candidates(), &tags) {
                Best::One(kind) => Some(kind.to_owned()),
                Best::None | Best::Several(_) => None,
            };
            let space = self.space_of(component);
            self.findings.document.points.push(StandalonePoint {
                id,
                name: name(component),
                space,
                ord: Some(component.ord.clone()),
                kind,
                role_in_space: role,
                ..StandalonePoint::default()
            });
        }
    }

    /// The standard types that new equipment is of, and their ancestors, where the model has none of that id.
    fn types(&mut self) {
        let mut needed: Vec<&EquipmentType> = Vec::new();
        for entry in &self.findings.document.equipment {
            let mut next = entry.equipment_type.as_deref();
            while let Some(found) = next.and_then(|id| self.standard.equipment_type(id)) {
                if needed.iter().any(|known| known.id == found.id) {
                    break;
                }
                needed.push(found);
                next = found.extends.as_deref();
            }
        }
        let has = |id: &str| {
            self.known
                .equipment_types
                .iter()
                .any(|known| known.id == id)
        };
        let missing = needed.into_iter().filter(|entry| !has(&entry.id)).cloned();
        self.findings.document.equipment_types = missing.collect();
    }

    fn doubt(&mut self, component: &TaggedComponent, problem: &str) {
        self.findings.ambiguous.push(Ambiguity {
            ord: component.ord.clone(),
            problem: problem.to_owned(),
        });
    }

    fn fresh_equipment(&self, id: &str) -> Option<&Equipment> {
        self.findings
            .document
            .equipment
            .iter()
            .find(|entry| entry.id == id)
    }

    fn typical_roles(&self, type_id: Option<&str>) -> Vec<&str> {
        let points = type_id.map_or_else(Vec::new, |id| self.standard.typical_points(id));
        points
            .into_iter()
            .map(|point| point.role.as_str())
            .collect()
    }

    fn mapped_ords(&self) -> HashSet<String> {
        let of_equipment = self
            .known
            .equipment
            .iter()
            .flat_map(|entry| entry.points.values());
        let alone = self
            .known
            .points
            .iter()
            .filter_map(|point| point.ord.as_ref());
        of_equipment.chain(alone).map(|ord| absolute(ord)).collect()
    }

    /// The space that a reference names, else the nearest one above in the tree.
    fn space_of(&self, component: &TaggedComponent) -> Option<String> {
        let named = ["spaceRef", "siteRef"]
            .into_iter()
            .find_map(|tag| self.space_ids.get(reference(component, tag)?));
        let above = || ancestors(&component.ord).find_map(|ord| self.space_ids.get(ord));
        let only = || {
            let mut sites = self.of_sort(|sort| sort == Sort::Site).into_iter();
            let only = sites
                .next()
                .filter(|site| sites.next().is_none() && site.ord != component.ord)?;
            self.space_ids.get(&only.ord)
        };
        named.or_else(above).or_else(only).cloned()
    }

    /// The equipment that a reference names, else the nearest one above in the tree.
    fn owner_of(&self, component: &TaggedComponent) -> Option<String> {
        let named = reference(component, "equipRef").and_then(|ord| self.equipment_ids.get(ord));
        let above = || ancestors(&component.ord).find_map(|ord| self.equipment_ids.get(ord));
        named.or_else(above).cloned()
    }

    fn sources_of(&self, component: &TaggedComponent) -> BTreeSet<&str> {
        let references = component.tags.iter().filter_map(|tag| match &tag.value {
            TagValue::Reference(ord) if !PLACING.contains(&tag.name.as_str()) => Some(ord),
            _ => None,
        });
        let named = references.filter_map(|ord| self.equipment_ids.get(ord.as_str()));
        named.map(String::as_str).collect()
    }
}

/// A point is a point whatever else it is tagged: `zone` and `meter` stand on points too.
fn sort_of(component: &TaggedComponent) -> Option<Sort> {
    let any = |tags: &[&str]| tags.iter().any(|tag| has(component, tag));
    if has(component, "site") {
        Some(Sort::Site)
    } else if any(&POINT_TAGS) {
        Some(Sort::Point)
    } else if has(component, "equip") {
        Some(Sort::Equipment)
    } else if any(&SPACE_TAGS) {
        Some(Sort::Space)
    } else {
        any(&ENTITY_TAGS).then_some(Sort::Equipment)
    }
}

fn has(component: &TaggedComponent, tag: &str) -> bool {
    component.tags.iter().any(|found| found.name == tag)
}

fn tags_of(component: &TaggedComponent) -> HashSet<&str> {
    let mut tags: HashSet<&str> = component.tags.iter().map(|tag| tag.name.as_str()).collect();
    // Haystack says discharge; many people say supply.
    if tags.contains("supply") {
        tags.insert("discharge");
    }
    tags
}

fn reference<'c>(component: &'c TaggedComponent, tag: &str) -> Option<&'c str> {
    component.tags.iter().find_map(|found| match &found.value {
        TagValue::Reference(ord) if found.name == tag => Some(ord.as_str()),
        _ => None,
    })
}

/// The `dis` tag, else the display name.
fn shown(component: &TaggedComponent) -> &str {
    let dis = component.tags.iter().find_map(|tag| match &tag.value {
        TagValue::Text(text) if tag.name == "dis" && !text.trim().is_empty() => Some(text.as_str()),
        _ => None,
    });
    dis.unwrap_or(&component.display_name)
}

/// The name as entries may have it: a station takes line breaks too.
fn name(component: &TaggedComponent) -> Option<String> {
    let name = shown(component).replace(char::is_control, " ");
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// Ords of the components above, nearest first.
fn ancestors(ord: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(ord), |ord| Some(ord.rsplit_once('/')?.0)).skip(1)
}

fn absolute(ord: &str) -> String {
    Ord::parse(ord).map_or_else(|_| ord.to_owned(), |ord| ord.absolute())
}

fn kebab(name: &str, otherwise: &str) -> String {
    let mut id = String::new();
    for character in name.chars() {
        if character.is_ascii_alphanumeric() {
            id.push(character.to_ascii_lowercase());
        } else if !id.is_empty() && !id.ends_with('-') {
            id.push('-');
        }
    }
    let id = id.trim_end_matches('-');
    if id.is_empty() {
        otherwise.to_owned()
    } else {
        id.to_owned()
    }
}

fn free_id(wanted: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2_u64..).map(|number| format!("{wanted}-{number}"));
    std::iter::once(wanted.to_owned())
        .chain(numbered)
        .find(|id| !is_taken(id))
        .unwrap_or_else(|| wanted.to_owned())
}
