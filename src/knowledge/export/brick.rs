//! The model as a Brick graph (classes of Brick 1.3 and 1.4) in Turtle.
//!
//! Spaces are of Real Estate Core, as Brick 1.4 has them; units of QUDT. `niagara:ord` and `niagara:role` tell where each
//! thing is on the station and what the model calls it.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::StationPoints;
use super::turtle::{Object, Turtle, local_part, name};
use super::view::{Function, Owner, PointView, SiteView, shown};
use crate::knowledge::{Equipment, KnowledgeModel, Space, shipped};

const TABLE: &str = include_str!("../../../knowledge/brick-classes.yaml");

static CLASSES: LazyLock<ClassTable> =
    LazyLock::new(|| shipped::table("brick-classes.yaml", TABLE));

/// What a space or kind is called that the table does not know.
const OTHER: &str = "other";

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassTable {
    spaces: HashMap<String, String>,
    types: HashMap<String, String>,
    roles: HashMap<String, String>,
    /// Type to role to class, where a role means something else on one type.
    on_type: HashMap<String, HashMap<String, String>>,
    /// Classes of a sensor, a setpoint and a command of a kind.
    kinds: HashMap<String, [String; 3]>,
    units: HashMap<String, String>,
}

/// The model as Turtle; `station` adds units.
pub fn turtle(model: &KnowledgeModel, station: &StationPoints) -> String {
    let view = SiteView { model, station };
    let mut turtle = Turtle::default();
    let own = &model.document().station;
    let site = ["id", "name"]
        .iter()
        .find_map(|key| own.get(*key)?.as_str());
    let base = format!("urn:niagara-bridge:{}", local_part(site.unwrap_or("site")));
    for (prefix, iri) in [
        ("brick", "https://brickschema.org/schema/Brick#"),
        ("rec", "https://w3id.org/rec#"),
        ("unit", "http://qudt.org/vocab/unit/"),
        ("rdfs", "http://www.w3.org/2000/01/rdf-schema#"),
        ("skos", "http://www.w3.org/2004/02/skos/core#"),
        ("niagara", "urn:niagara-bridge:term:"),
    ] {
        turtle.prefix(prefix, iri);
    }
    for part in ["space", "equip", "point"] {
        turtle.prefix(part, &format!("{base}:{part}:"));
    }
    for space in view.spaces() {
        write_space(&mut turtle, &view, space);
    }
    for entry in view.equipment() {
        write_equipment(&mut turtle, &view, entry);
        for point in view.points_of(entry) {
            write_point(&mut turtle, &view, &point);
        }
    }
    for point in view.standalone_points() {
        write_point(&mut turtle, &view, &point);
    }
    turtle.finish()
}

fn write_space<'a>(turtle: &mut Turtle, view: &SiteView<'a>, space: &'a Space) {
    let mut said = labels(shown(&space.name, &space.id), &space.aliases);
    let parent = view.space(space.parent.as_deref());
    if let Some(parent) = parent.filter(|parent| parent.id != space.id) {
        said.push(("brick:isPartOf", Object::Name(space_name(parent))));
    }
    turtle.subject(
        &space_name(space),
        &format!("rec:{}", space_class(space)),
        &said,
    );
}

fn space_class(space: &Space) -> &'static str {
    let kind = space.space_type.as_deref().unwrap_or(OTHER);
    let class = CLASSES
        .spaces
        .get(kind)
        .or_else(|| CLASSES.spaces.get(OTHER));
    class.map_or("Space", String::as_str)
}

fn write_equipment<'a>(turtle: &mut Turtle, view: &SiteView<'a>, entry: &'a Equipment) {
    let class = view
        .types(entry)
        .iter()
        .find_map(|id| CLASSES.types.get(*id));
    let mut said = labels(shown(&entry.name, &entry.id), &entry.aliases);
    if let Some(space) = view.space(entry.space.as_deref()) {
        // A zone is what equipment conditions, not a place where it hangs.
        let predicate = match space_class(space) {
            "HVACZone" => "brick:feeds",
            _ => "brick:hasLocation",
        };
        said.push((predicate, Object::Name(space_name(space))));
    }
    for source in view.served_by(entry) {
        said.push(("brick:isFedBy", Object::Name(equipment_name(source))));
    }
    put_ord(&mut said, entry.ord.as_deref());
    let class = format!("brick:{}", class.map_or("Equipment", String::as_str));
    turtle.subject(&equipment_name(entry), &class, &said);
}

fn write_point<'a>(turtle: &mut Turtle, view: &SiteView<'a>, point: &PointView<'a>) {
    let (own_name, owner, aliases) = match point.owner {
        Owner::Equipment(entry) => (
            name("point", &[&entry.id, point.role]),
            Some(equipment_name(entry)),
            [].as_slice(),
        ),
        Owner::Nothing(entry) => (
            name("point", &[&entry.id]),
            view.space(entry.space.as_deref()).map(space_name),
            entry.aliases.as_slice(),
        ),
    };
    let mut said = labels(&point.name, aliases);
    if let Some(owner) = owner {
        said.push(("brick:isPointOf", Object::Name(owner)));
    }
    let unit = point.station.and_then(|station| station.unit.as_ref());
    if let Some(unit) = unit.and_then(|unit| CLASSES.units.get(unit.name())) {
        said.push(("brick:hasUnit", Object::Name(format!("unit:{unit}"))));
    }
    if !point.role.is_empty() {
        said.push(("niagara:role", Object::Text(point.role.to_owned())));
    }
    put_ord(&mut said, point.ord);
    let class = format!("brick:{}", point_class(view, point));
    turtle.subject(&own_name, &class, &said);
}

/// By the role on this type, the role, the CAMBER role it stands for, at last the kind.
fn point_class(view: &SiteView<'_>, point: &PointView<'_>) -> &'static str {
    let camber = point.camber.map(|role| role.role.as_str());
    let names = || [Some(point.role), camber].into_iter().flatten();
    let on_type = match point.owner {
        Owner::Equipment(entry) => view.types(entry).into_iter().find_map(|id| {
            let roles = CLASSES.on_type.get(id)?;
            names().find_map(|role| roles.get(role))
        }),
        Owner::Nothing(_) => None,
    };
    let of_kind = || {
        let kind = point.kind.map_or(OTHER, |kind| &kind.id);
        let classes = CLASSES
            .kinds
            .get(kind)
            .or_else(|| CLASSES.kinds.get(OTHER))?;
        let [sensor, setpoint, command] = classes;
        Some(match point.function() {
            Function::Sensor => sensor,
            Function::Setpoint => setpoint,
            Function::Command => command,
        })
    };
    on_type
        .or_else(|| names().find_map(|role| CLASSES.roles.get(role)))
        .or_else(of_kind)
        .map_or("Point", String::as_str)
}

fn labels(shown: &str, aliases: &[String]) -> Vec<(&'static str, Object)> {
    let label = ("rdfs:label", Object::Text(shown.to_owned()));
    let others = aliases
        .iter()
        .map(|alias| ("skos:altLabel", Object::Text(alias.clone())));
    std::iter::once(label).chain(others).collect()
}

fn put_ord(said: &mut Vec<(&'static str, Object)>, ord: Option<&str>) {
    if let Some(ord) = ord {
        said.push(("niagara:ord", Object::Text(ord.to_owned())));
    }
}

fn space_name(space: &Space) -> String {
    name("space", &[&space.id])
}

fn equipment_name(entry: &Equipment) -> String {
    name("equip", &[&entry.id])
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use oxttl::TurtleParser;

    use super::super::StationPoint;
    use super::*;
    use crate::knowledge::camber_roles::{camber_roles, lineage};
    use crate::knowledge::{STANDARD_TYPES, decode, demo_model, format, kinds};
    use crate::station::units::unit_by_name;

    const SITE: &str = "urn:niagara-bridge:harborview";
    const BRICK: &str = "https://brickschema.org/schema/Brick#";

    fn model(text: &str) -> KnowledgeModel {
        let (_, tree) = format::parse("test", text).unwrap();
        KnowledgeModel::new(decode::decode("test", tree).unwrap().document)
    }

    /// Subject, predicate, object as N-Triples texts, read by another library.
    fn triples(text: &str) -> HashSet<(String, String, String)> {
        TurtleParser::new()
            .for_slice(text)
            .map(|triple| {
                let triple = triple.unwrap_or_else(|error| panic!("{error}"));
                (
                    triple.subject.to_string(),
                    triple.predicate.as_str().to_owned(),
                    triple.object.to_string(),
                )
            })
            .collect()
    }

    fn iri(base: &str, local: &str) -> String {
        format!("<{base}{local}>")
    }

    #[test]
    fn the_demo_site_is_a_brick_graph() {
        let model = KnowledgeModel::new(demo_model::harborview().unwrap());
        let ord = "station:|slot:/Drivers/BacnetNetwork/AHU1/points/SAT";
        let fahrenheit = StationPoint {
            unit: unit_by_name("fahrenheit").cloned(),
            ..StationPoint::default()
        };
        let text = turtle(&model, &StationPoints::from([(ord.to_owned(), fahrenheit)]));
        let found = triples(&text);
        let typed = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
        let has = |subject: &str, predicate: &str, object: String| {
            let triple = (iri(SITE, subject), predicate.to_owned(), object);
            assert!(found.contains(&triple), "{triple:?} is missing");
        };
        let brick = |local: &str| format!("{BRICK}{local}");
        has(":equip:ahu-1", typed, iri(BRICK, "AHU"));
        has(
            ":equip:ahu-1",
            &brick("hasLocation"),
            iri(SITE, ":space:roof"),
        );
        has(
            ":equip:ahu-1",
            &brick("isFedBy"),
            iri(SITE, ":equip:chw-plant"),
        );
        has(
            ":equip:vav-2-05",
            &brick("isFedBy"),
            iri(SITE, ":equip:ahu-2"),
        );
        has(
            ":equip:vav-2-05",
            &brick("feeds"),
            iri(SITE, ":space:zone-2-05"),
        );
        has(
            ":space:floor-1",
            &brick("isPartOf"),
            iri(SITE, ":space:harborview"),
        );
        has(
            ":space:floor-1",
            typed,
            iri("https://w3id.org/rec#", "Level"),
        );
        let point = ":point:ahu-1.supply_air_temp";
        has(point, typed, iri(BRICK, "Supply_Air_Temperature_Sensor"));
        has(point, &brick("isPointOf"), iri(SITE, ":equip:ahu-1"));
        has(
            point,
            &brick("hasUnit"),
            iri("http://qudt.org/vocab/unit/", "DEG_F"),
        );
        has(point, "urn:niagara-bridge:term:ord", format!("\"{ord}\""));
        has(
            ":point:chw-plant.compressor_status",
            typed,
            iri(BRICK, "Chilled_Water_System_Enable_Command"),
        );
        let document = model.document();
        let points: usize = document
            .equipment
            .iter()
            .map(|entry| entry.points.len())
            .sum();
        let expected =
            document.spaces.len() + document.equipment.len() + points + document.points.len();
        assert_eq!(
            found
                .iter()
                .filter(|(_, predicate, _)| predicate == typed)
                .count(),
            expected
        );
        let subjects: HashSet<&String> = found.iter().map(|(subject, _, _)| subject).collect();
        for (_, predicate, object) in &found {
            if object.starts_with(&format!("<{SITE}")) {
                assert!(subjects.contains(object), "{predicate} leads to {object}");
            }
        }
    }

    #[test]
    fn names_of_any_kind_are_escaped_and_stay_apart() {
        let text = turtle(
            &model(
                "station: {id: 'A <b> #c'}\nspaces:\n- {id: '-ü/1', name: \"two\\nlines \\\"quoted\\\" \\\\ \\u0007\"}\n\
                 equipment:\n- {id: a.b, points: {c: 'slot:/A'}}\n- {id: a, points: {b.c: 'slot:/B'}}\n",
            ),
            &StationPoints::new(),
        );
        let found = triples(&text);
        let base = "urn:niagara-bridge:A%20%3Cb%3E%20%23c";
        let label = "http://www.w3.org/2000/01/rdf-schema#label";
        assert!(
            found.iter().any(|(subject, predicate, object)| *subject
                == iri(base, ":space:%2D%C3%BC%2F1")
                && predicate == label
                && object.contains("two\\nlines \\\"quoted\\\" \\\\")),
            "{text}"
        );
        for point in [":point:a%2Eb.c", ":point:a.b%2Ec"] {
            assert!(
                found
                    .iter()
                    .any(|(subject, _, _)| *subject == iri(base, point)),
                "{text}"
            );
        }
    }

    #[test]
    fn the_table_knows_every_standard_type_role_kind_and_unit() {
        let model = model(STANDARD_TYPES);
        for entry in &model.document().equipment_types {
            let known = lineage(&model, &entry.id);
            assert!(
                known.iter().any(|id| CLASSES.types.contains_key(*id)),
                "{}",
                entry.id
            );
            for point in &entry.typical_points {
                assert!(CLASSES.roles.contains_key(&point.role), "{}", point.role);
            }
        }
        for role in camber_roles() {
            assert!(CLASSES.roles.contains_key(&role.role), "{}", role.role);
        }
        for kind in kinds::kinds() {
            assert!(CLASSES.kinds.contains_key(&kind.id), "{}", kind.id);
        }
        for unit in CLASSES.units.keys() {
            assert!(unit_by_name(unit).is_some(), "{unit}");
        }
        for id in CLASSES.on_type.keys().chain(CLASSES.types.keys()) {
            assert!(model.equipment_type(id).is_some(), "{id}");
        }
    }
}
