//! Project Haystack tags found on a station, read as entries of the model.
//!
//! Types and roles are found with the table of the export (`knowledge/haystack-tags.yaml`): the type or role whose markers
//! are all there and that asks for most of them. Where two fit equally well nothing is guessed: the component is reported.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde_json::json;

use super::camber_roles::camber_roles;
use super::export::haystack::tag_table;
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
/// Markers that people leave out: they follow from the others.
const IMPLIED: [&str; 4] = ["concentration", "magnitude", "phase", "equip"];
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
                name: Some(shown(component).to_owned()),
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
                extra.insert("served_by".to_owned(), json!(served_by));
            }
            let space = self.space_of(component);
            self.findings.document.equipment.push(Equipment {
                id,
                name: Some(shown(component).to_owned()),
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
                name: Some(shown(component).to_owned()),
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

/// The best of candidates by their markers.
#[derive(Debug, PartialEq, Eq)]
enum Best<'c> {
    None,
    One(&'c str),
    /// Equally good, in order of their names.
    Several(Vec<&'c str>),
}

/// The candidate all of whose markers are there and that has most of them.
fn best<'c>(
    candidates: impl Iterator<Item = (&'c str, &'c str)>,
    tags: &HashSet<&str>,
) -> Best<'c> {
    let mut most = 0;
    let mut leaders: Vec<&str> = Vec::new();
    for (name, markers) in candidates {
        let words = markers.split_whitespace();
        let asked = words.clone().filter(|word| !IMPLIED.contains(word));
        if !asked.clone().all(|word| tags.contains(word)) || asked.clone().next().is_none() {
            continue;
        }
        let score = words.filter(|word| tags.contains(word)).count();
        if score > most {
            most = score;
            leaders.clear();
        }
        if score == most {
            leaders.push(name);
        }
    }
    leaders.sort_unstable();
    leaders.dedup();
    match leaders.as_slice() {
        [] => Best::None,
        [one] => Best::One(one),
        _ => Best::Several(leaders),
    }
}

/// The best of the usual roles of a type; where none fits, of all roles.
fn best_role<'c>(usual: &[&str], tags: &HashSet<&str>) -> Best<'c> {
    match best(
        role_candidates().filter(|(role, _)| usual.contains(role)),
        tags,
    ) {
        Best::None => best(role_candidates(), tags),
        found => found,
    }
}

fn role_candidates() -> impl Iterator<Item = (&'static str, &'static str)> {
    let own = &tag_table().roles;
    let of_camber = camber_roles()
        .iter()
        .filter(|role| !own.contains_key(&role.role));
    own.iter()
        .map(|(role, markers)| (role.as_str(), markers.as_str()))
        .chain(of_camber.map(|role| (role.role.as_str(), role.haystack_tags.as_str())))
}

fn type_candidates() -> impl Iterator<Item = (&'static str, &'static str)> {
    let types = tag_table().types.iter();
    types.map(|(id, found)| (id.as_str(), found.tags.as_str()))
}

fn kind_candidates() -> impl Iterator<Item = (&'static str, &'static str)> {
    let kinds = tag_table().kinds.iter();
    kinds.map(|(id, markers)| (id.as_str(), markers.as_str()))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::validate;
    use crate::station::facade::DirectTag;

    /// `markers` separated by blanks; `name=ord` is a reference, `dis:text` the name.
    fn tagged(path: &str, markers: &str) -> TaggedComponent {
        let tags = markers.split_whitespace().map(|word| {
            let (name, value) = match (word.split_once('='), word.split_once(':')) {
                (Some((name, path)), _) => {
                    (name, TagValue::Reference(format!("station:|slot:/{path}")))
                }
                (None, Some((name, text))) => (name, TagValue::Text(text.to_owned())),
                (None, None) => (word, TagValue::Marker),
            };
            DirectTag {
                name: name.to_owned(),
                value,
            }
        });
        TaggedComponent {
            ord: format!("station:|slot:/{path}"),
            display_name: path.rsplit('/').next().unwrap_or_default().to_owned(),
            type_spec: "baja:Folder".to_owned(),
            tags: tags.collect(),
        }
    }

    fn tower() -> Vec<TaggedComponent> {
        vec![
            tagged("D/AHU_1/points/SAT", "discharge air temp sensor"),
            tagged("D/AHU_1/points/RAT", "point return air temp sensor zone"),
            tagged("D/AHU_1/points/CV", "cooling valve cmd"),
            tagged("D/AHU_1/points/T7", "temp sensor"),
            tagged("D/AHU_1/points/F1", "discharge fan run sensor"),
            tagged("D/AHU_1/points/F2", "discharge fan run sensor"),
            tagged("D/AHU_1", "equip ahu"),
            tagged("D/VAV_1/points/ZT", "zone air temp sensor"),
            tagged("D/VAV_1/points/CO2", "zone air co2 sensor"),
            tagged("D/VAV_1", "equip vav airRef=D/AHU_1 spaceRef=B/F1"),
            tagged("D/Lift", "equip elevator"),
            tagged("B", "site dis:Tower"),
            tagged("B/F1", "floor space"),
            tagged("Loose/kW", "elec power sensor"),
            tagged(
                "Loose/VFD",
                "point discharge fan speed cmd equipRef=D/AHU_1",
            ),
        ]
    }

    #[test]
    fn tags_become_sites_spaces_equipment_and_points() {
        let findings = read(&tower(), &KnowledgeDocument::default());
        assert_eq!(
            findings.found,
            Found {
                sites: 1,
                spaces: 1,
                equipment: 3,
                points: 10
            }
        );
        let document = &findings.document;
        let spaces: Vec<_> = document
            .spaces
            .iter()
            .map(|space| {
                (
                    space.id.as_str(),
                    space.space_type.as_deref(),
                    space.parent.as_deref(),
                )
            })
            .collect();
        assert_eq!(
            spaces,
            [
                ("tower", Some("building"), None),
                ("f1", Some("floor"), Some("tower"))
            ]
        );
        let ahu = &document.equipment[0];
        assert_eq!(
            (ahu.id.as_str(), ahu.equipment_type.as_deref()),
            ("ahu-1", Some("ahu"))
        );
        assert_eq!(ahu.space.as_deref(), Some("tower"), "the only site");
        let roles: Vec<_> = ahu
            .points
            .iter()
            .map(|(role, ord)| (role.as_str(), ord.as_str()))
            .collect();
        assert_eq!(
            roles,
            [
                ("cool_valve", "station:|slot:/D/AHU_1/points/CV"),
                ("return_air_temp", "station:|slot:/D/AHU_1/points/RAT"),
                ("supply_air_temp", "station:|slot:/D/AHU_1/points/SAT"),
                ("supply_fan_speed", "station:|slot:/Loose/VFD"),
            ]
        );
        let vav = document
            .equipment
            .iter()
            .find(|entry| entry.id == "vav-1")
            .unwrap();
        assert_eq!(vav.space.as_deref(), Some("f1"));
        assert_eq!(vav.extra["served_by"], json!(["ahu-1"]));
        assert_eq!(vav.points["space_temp"], "station:|slot:/D/VAV_1/points/ZT");
        assert!(vav.points.contains_key("co2"));
        let point = &document.points[0];
        assert_eq!(
            (
                point.id.as_str(),
                point.kind.as_deref(),
                point.role_in_space.as_deref()
            ),
            ("kw", Some("power"), Some("power"))
        );
        let types: Vec<_> = document
            .equipment_types
            .iter()
            .map(|entry| entry.id.as_str())
            .collect();
        assert_eq!(types, ["ahu", "vav"]);
        let doubts: Vec<_> = findings
            .ambiguous
            .iter()
            .map(|doubt| {
                (
                    doubt.ord.rsplit('/').next().unwrap(),
                    doubt.problem.as_str(),
                )
            })
            .collect();
        assert_eq!(
            doubts,
            [
                (
                    "Lift",
                    "no equipment type has these markers; it came in without a type"
                ),
                ("T7", "no role has these markers; the point was left out"),
                (
                    "F1",
                    "2 points have the markers of the role supply_fan_status; they were left out"
                ),
                (
                    "F2",
                    "2 points have the markers of the role supply_fan_status; they were left out"
                ),
            ]
        );
        let remarks: Vec<String> = validate(&KnowledgeModel::new(document.clone()))
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            remarks,
            [
                "equipment 'ahu-1': the type 'ahu' requires the role 'supply_fan_status', which has no point",
                "equipment 'vav-1': the type 'vav' requires the role 'damper', which has no point"
            ]
        );
    }

    #[test]
    fn what_is_mapped_already_stays_and_a_second_import_finds_nothing_new() {
        let tower = tower();
        let first = read(&tower, &KnowledgeDocument::default());
        let again = read(&tower, &first.document);
        assert!(
            again.document.spaces.is_empty()
                && again.document.equipment.is_empty()
                && again.document.equipment_types.is_empty()
                && again.document.points.is_empty(),
            "{:?}",
            again.document
        );
        assert_eq!(again.known, tower.len());

        let mut own = KnowledgeDocument::default();
        own.equipment.push(Equipment {
            id: "my-unit".to_owned(),
            ord: Some("slot:/D/AHU_1".to_owned()),
            ..Equipment::default()
        });
        own.equipment.push(Equipment {
            id: "vav-1".to_owned(),
            ord: Some("station:|slot:/Elsewhere".to_owned()),
            ..Equipment::default()
        });
        let findings = read(&tower, &own);
        let ids: Vec<_> = findings
            .document
            .equipment
            .iter()
            .map(|entry| entry.id.as_str())
            .collect();
        assert_eq!(ids, ["lift", "vav-1-2"]);
        let vav = &findings.document.equipment[1];
        assert_eq!(vav.extra["served_by"], json!(["my-unit"]));
    }

    #[test]
    fn a_tie_is_no_guess() {
        let three = |name: &str| tagged(&format!("M/{name}"), "elec volt sensor");
        let components = [tagged("M", "ac elec meter equip"), three("A"), three("B")];
        let findings = read(&components, &KnowledgeDocument::default());
        let entry = &findings.document.equipment[0];
        assert_eq!(entry.equipment_type.as_deref(), Some("electric-meter"));
        assert!(entry.points.is_empty());
        assert_eq!(findings.ambiguous.len(), 2);
        assert_eq!(
            findings.ambiguous[0].problem,
            "the markers fit the roles voltage_a, voltage_b, voltage_c; the point was left out"
        );
    }

    #[test]
    fn names_without_letters_and_equal_names_get_ids_of_their_own() {
        let components = [
            tagged("A/温度", "zone air temp sensor"),
            tagged("B/温度", "zone air temp sensor"),
            tagged("C/x", "site"),
            tagged("D/x", "site"),
        ];
        let findings = read(&components, &KnowledgeDocument::default());
        let ids: Vec<_> = findings
            .document
            .points
            .iter()
            .map(|point| point.id.as_str())
            .collect();
        assert_eq!(ids, ["point", "point-2"]);
        assert!(
            findings.document.points[0].space.is_none(),
            "two sites, so neither is meant"
        );
        let ids: Vec<_> = findings
            .document
            .spaces
            .iter()
            .map(|space| space.id.as_str())
            .collect();
        assert_eq!(ids, ["x", "x-2"]);
    }
}
