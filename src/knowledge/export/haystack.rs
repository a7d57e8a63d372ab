//! The model as a Project Haystack 4 grid in JSON: sites, spaces, equipment and points, tied together by references.
//!
//! Beside the tags of the standard each entry has `niagaraOrd`, and points `niagaraRole`. The form is that of Project
//! Haystack's documentation, chapter Json (`_kind` objects).

use std::collections::HashMap;
use std::sync::LazyLock;

use chrono_tz::Tz;
use indexmap::IndexSet;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::StationPoints;
use super::view::{Function, Owner, PointView, SiteView, is_building, shown};
use crate::knowledge::kinds::ValueForm;
use crate::knowledge::{Equipment, KnowledgeModel, Space, shipped};

const TABLE: &str = include_str!("../../../knowledge/haystack-tags.yaml");

static TAGS: LazyLock<TagTable> = LazyLock::new(|| shipped::table("haystack-tags.yaml", TABLE));

/// Keys under which models name the site's time zone.
const ZONE_KEYS: [&str; 4] = ["time_zone", "timezone", "timeZone", "tz"];
/// What a space is called whose type the table does not know.
const OTHER: &str = "other";

/// The table of markers and units; also read by the import of tags.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::knowledge) struct TagTable {
    spaces: HashMap<String, String>,
    pub(in crate::knowledge) types: HashMap<String, TypeTags>,
    pub(in crate::knowledge) roles: HashMap<String, String>,
    pub(in crate::knowledge) kinds: HashMap<String, String>,
    units: HashMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::knowledge) struct TypeTags {
    pub(in crate::knowledge) tags: String,
    /// What equipment of the type gives to the equipment it serves.
    supplies: Option<String>,
}

pub(in crate::knowledge) fn tag_table() -> &'static TagTable {
    &TAGS
}

/// The model as a grid; `station` adds units, states and what can be written.
pub fn grid(model: &KnowledgeModel, station: &StationPoints) -> Value {
    let mut export = Export::new(SiteView { model, station });
    export.sites();
    for space in export.view.spaces().filter(|space| !is_building(space)) {
        export.space(space);
    }
    for entry in export.view.equipment() {
        export.equipment(entry);
        for point in export.view.points_of(entry) {
            export.point(&point);
        }
    }
    for point in export.view.standalone_points() {
        export.point(&point);
    }
    export.finish()
}

/// The grid as JSON text, one row a line.
pub fn text(model: &KnowledgeModel, station: &StationPoints) -> String {
    let grid = grid(model, station);
    let rows: Vec<String> = grid["rows"]
        .as_array()
        .map_or_else(Vec::new, |rows| rows.iter().map(Value::to_string).collect());
    format!(
        "{{\"_kind\":\"grid\",\"meta\":{},\"cols\":{},\"rows\":[\n{}\n]}}\n",
        grid["meta"],
        grid["cols"],
        rows.join(",\n")
    )
}

type Row = Map<String, Value>;

struct Export<'a> {
    view: SiteView<'a>,
    /// The building of whatever is in none: the only one, else the station as a whole.
    default_site: String,
    rows: Vec<Row>,
}

impl<'a> Export<'a> {
    fn new(view: SiteView<'a>) -> Self {
        let mut buildings = view.spaces().filter(|space| is_building(space));
        let default_site = match (buildings.next(), buildings.next()) {
            (Some(only), None) => space_id(only),
            _ => "site".to_owned(),
        };
        drop(buildings);
        Self {
            view,
            default_site,
            rows: Vec::new(),
        }
    }

    fn station_text(&self, key: &str) -> Option<&'a str> {
        let station = &self.view.model.document().station;
        station.get(key)?.as_str().filter(|text| !text.is_empty())
    }

    /// The city of the site's time zone, as Haystack names zones.
    fn zone(&self) -> Option<&'a str> {
        let name = ZONE_KEYS.iter().find_map(|key| self.station_text(key))?;
        name.parse::<Tz>().ok()?;
        name.rsplit('/').next()
    }

    fn station_name(&self) -> &'a str {
        self.station_text("name")
            .or_else(|| self.station_text("id"))
            .unwrap_or("Site")
    }

    fn sites(&mut self) {
        let buildings: Vec<&Space> = self
            .view
            .spaces()
            .filter(|space| is_building(space))
            .collect();
        if buildings.len() != 1 {
            let row = self.row(&self.default_site, self.station_name(), "site");
            self.push_site(row);
        }
        for building in buildings {
            let row = self.row(
                &space_id(building),
                shown(&building.name, &building.id),
                "site",
            );
            self.push_site(row);
        }
    }

    fn push_site(&mut self, mut row: Row) {
        if let Some(zone) = self.zone() {
            row.insert("tz".to_owned(), json!(zone));
        }
        self.rows.push(row);
    }

    fn space(&mut self, space: &'a Space) {
        let kind = space.space_type.as_deref().unwrap_or(OTHER);
        let markers = TAGS.spaces.get(kind).or_else(|| TAGS.spaces.get(OTHER));
        let markers = markers.map_or("space", String::as_str);
        let mut row = self.row(&space_id(space), shown(&space.name, &space.id), markers);
        self.refer_to_site(&mut row, Some(space));
        let parent = self.view.space(space.parent.as_deref());
        if let Some(parent) = parent.filter(|parent| !is_building(parent) && parent.id != space.id)
        {
            row.insert("spaceRef".to_owned(), reference(&space_id(parent)));
        }
        self.rows.push(row);
    }

    fn equipment(&mut self, entry: &'a Equipment) {
        let types = self.view.types(entry);
        let markers = tags_of_types(&types).map_or("equip", |found| &found.tags);
        let mut row = self.row(&equipment_id(entry), shown(&entry.name, &entry.id), markers);
        self.place(&mut row, entry.space.as_deref());
        let mut sources: Vec<(String, Vec<Value>)> = Vec::new();
        for source in self.view.served_by(entry) {
            let types = self.view.types(source);
            let Some(medium) = tags_of_types(&types).and_then(|found| found.supplies.as_ref())
            else {
                continue;
            };
            let (tag, target) = (format!("{medium}Ref"), reference(&equipment_id(source)));
            match sources.iter_mut().find(|(known, _)| *known == tag) {
                Some((_, targets)) => targets.push(target),
                None => sources.push((tag, vec![target])),
            }
        }
        for (tag, mut targets) in sources {
            let one = if targets.len() == 1 {
                targets.pop()
            } else {
                None
            };
            row.insert(tag, one.unwrap_or(Value::Array(targets)));
        }
        put_ord(&mut row, entry.ord.as_deref());
        self.rows.push(row);
    }

    fn point(&mut self, point: &PointView<'a>) {
        let mut row = self.row(&point_id(point), &point.name, &markers_of_point(point));
        let space = match point.owner {
            Owner::Equipment(entry) => {
                row.insert("navName".to_owned(), json!(point.role));
                row.insert("equipRef".to_owned(), reference(&equipment_id(entry)));
                entry.space.as_deref()
            }
            Owner::Nothing(point) => point.space.as_deref(),
        };
        self.place(&mut row, space);
        if let Some(form) = point.value_form() {
            row.insert("kind".to_owned(), json!(haystack_kind(form)));
        }
        if let Some(station) = point.station {
            let symbol = station
                .unit
                .as_ref()
                .and_then(|unit| TAGS.units.get(unit.name()));
            if let Some(symbol) = symbol {
                row.insert("unit".to_owned(), json!(symbol));
            }
            if !station.states.is_empty() {
                row.insert("enum".to_owned(), json!(station.states.join(",")));
            }
            if station.writable {
                row.insert("writable".to_owned(), marker());
            }
        }
        if !point.role.is_empty() {
            row.insert("niagaraRole".to_owned(), json!(point.role));
        }
        put_ord(&mut row, point.ord);
        self.rows.push(row);
    }

    fn row(&self, id: &str, name: &str, markers: &str) -> Row {
        let mut row = Row::new();
        row.insert("id".to_owned(), reference(id));
        row.insert("dis".to_owned(), json!(name));
        for word in markers.split_whitespace() {
            row.insert(word.to_owned(), marker());
        }
        row
    }

    fn place(&self, row: &mut Row, space: Option<&str>) {
        let space = self.view.space(space);
        self.refer_to_site(row, space);
        if let Some(space) = space.filter(|space| !is_building(space)) {
            row.insert("spaceRef".to_owned(), reference(&space_id(space)));
        }
    }

    fn refer_to_site(&self, row: &mut Row, space: Option<&'a Space>) {
        let building = space.and_then(|space| self.view.building(space));
        let site = building.map_or_else(|| self.default_site.clone(), space_id);
        row.insert("siteRef".to_owned(), reference(&site));
    }

    fn finish(self) -> Value {
        let names: IndexSet<&String> = self.rows.iter().flat_map(Row::keys).collect();
        let columns: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
        json!({
            "_kind": "grid",
            "meta": {"ver": "3.0", "dis": self.station_name()},
            "cols": columns,
            "rows": self.rows,
        })
    }
}

fn tags_of_types(types: &[&str]) -> Option<&'static TypeTags> {
    types.iter().find_map(|id| TAGS.types.get(*id))
}

fn markers_of_point(point: &PointView<'_>) -> String {
    let own = TAGS.roles.get(point.role).map(String::as_str);
    let of_camber = point.camber.map(|role| {
        let listed = TAGS.roles.get(&role.role);
        listed.map_or(role.haystack_tags.as_str(), String::as_str)
    });
    if let Some(known) = own.or(of_camber) {
        return format!("point {known}");
    }
    let quantity = point.kind.and_then(|kind| TAGS.kinds.get(&kind.id));
    let function = match point.function() {
        Function::Sensor => "sensor",
        Function::Setpoint => "sp",
        Function::Command => "cmd",
    };
    format!("point {} {function}", quantity.map_or("", String::as_str))
}

fn haystack_kind(form: ValueForm) -> &'static str {
    match form {
        ValueForm::Number => "Number",
        ValueForm::Boolean => "Bool",
        ValueForm::Enum | ValueForm::Text => "Str",
    }
}

fn put_ord(row: &mut Row, ord: Option<&str>) {
    if let Some(ord) = ord {
        row.insert("niagaraOrd".to_owned(), json!(ord));
    }
}

fn marker() -> Value {
    json!({"_kind": "marker"})
}

fn reference(id: &str) -> Value {
    json!({"_kind": "ref", "val": id})
}

fn space_id(space: &Space) -> String {
    format!("space.{}", id_text(&space.id))
}

fn equipment_id(entry: &Equipment) -> String {
    format!("equip.{}", id_text(&entry.id))
}

fn point_id(point: &PointView<'_>) -> String {
    match point.owner {
        Owner::Equipment(entry) => format!("point.{}.{}", id_text(&entry.id), id_text(point.role)),
        Owner::Nothing(point) => format!("point.{}", id_text(&point.id)),
    }
}

/// Letters, digits, `_` and `-` stand for themselves in a reference, every other byte as `~` and two hex digits.
fn id_text(id: &str) -> String {
    let mut text = String::with_capacity(id.len());
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("~{byte:02x}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use libhaystack::units::get_unit;
    use libhaystack::val::{Dict, Grid, HaystackDict, Value as Hayson};

    use super::super::StationPoint;
    use super::*;
    use crate::knowledge::camber_roles::camber_roles;
    use crate::knowledge::{STANDARD_TYPES, decode, demo_model, format, kinds};
    use crate::station::units::unit_by_name;

    fn model(text: &str) -> KnowledgeModel {
        let (_, tree) = format::parse("test", text).unwrap();
        KnowledgeModel::new(decode::decode("test", tree).unwrap().document)
    }

    /// Reads the grid with another library and checks that it is whole: columns, ids, references.
    fn read(grid: &Value) -> Grid {
        let read: Hayson = serde_json::from_value(grid.clone()).unwrap();
        let Hayson::Grid(read) = read else {
            panic!("not a grid: {grid}");
        };
        assert_eq!(grid["meta"]["ver"], "3.0");
        let columns: HashSet<&str> = read
            .columns
            .iter()
            .map(|column| column.name.as_str())
            .collect();
        assert_eq!(columns.len(), read.columns.len(), "a column stands twice");
        let ids: HashSet<&str> = read
            .rows
            .iter()
            .map(|row| row.get_ref("id").unwrap().value())
            .collect();
        assert_eq!(ids.len(), read.rows.len(), "an id stands twice");
        for row in &read.rows {
            for (name, value) in row.iter() {
                assert!(columns.contains(name.as_str()), "{name} is no column");
                assert!(
                    name.chars().all(|c| c.is_ascii_alphanumeric())
                        && name.starts_with(|c: char| c.is_ascii_lowercase()),
                    "{name} is no tag name"
                );
                let targets: Vec<&Hayson> = match value {
                    Hayson::List(list) => list.iter().collect(),
                    one => vec![one],
                };
                for target in targets {
                    if let Hayson::Ref(target) = target {
                        assert!(
                            ids.contains(target.value()),
                            "{name} leads to {}",
                            target.value()
                        );
                    }
                }
            }
        }
        *read
    }

    fn row<'g>(grid: &'g Grid, id: &str) -> &'g Dict {
        let found = grid
            .rows
            .iter()
            .find(|row| row.get_ref("id").unwrap().value() == id);
        found.unwrap_or_else(|| panic!("no row {id}"))
    }

    fn target<'d>(row: &'d Dict, tag: &str) -> &'d str {
        row.get_ref(tag)
            .unwrap_or_else(|| panic!("no {tag}"))
            .value()
    }

    #[test]
    fn the_demo_site_is_a_grid_of_its_equipment_points_and_places() {
        let model = KnowledgeModel::new(demo_model::harborview().unwrap());
        let fahrenheit = StationPoint {
            unit: unit_by_name("fahrenheit").cloned(),
            value: Some(ValueForm::Number),
            ..StationPoint::default()
        };
        let occupied = StationPoint {
            value: Some(ValueForm::Boolean),
            states: vec!["Unoccupied".to_owned(), "Occupied".to_owned()],
            writable: true,
            ..StationPoint::default()
        };
        let base = "station:|slot:/Drivers/BacnetNetwork/AHU1/points";
        let station = StationPoints::from([
            (format!("{base}/SAT"), fahrenheit),
            (format!("{base}/OCC"), occupied),
        ]);
        let text = text(&model, &station);
        let grid = grid(&model, &station);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), grid);
        let grid = read(&grid);
        let document = model.document();
        let points: usize = document
            .equipment
            .iter()
            .map(|entry| entry.points.len())
            .sum();
        assert_eq!(
            grid.rows.len(),
            document.spaces.len() + document.equipment.len() + points + document.points.len()
        );

        let site = row(&grid, "space.harborview");
        assert!(site.has_marker("site") && !site.has_marker("space"));
        assert_eq!(site.get_str("tz").unwrap().value(), "New_York");
        let ahu = row(&grid, "equip.ahu-1");
        assert!(ahu.has_marker("ahu") && ahu.has_marker("equip"));
        assert_eq!(target(ahu, "siteRef"), "space.harborview");
        assert_eq!(target(ahu, "spaceRef"), "space.roof");
        assert_eq!(target(ahu, "chilledWaterRef"), "equip.chw-plant");
        assert_eq!(target(ahu, "hotWaterRef"), "equip.hw-plant");
        let plant = row(&grid, "equip.chw-plant");
        assert_eq!(plant.get_list("chilledWaterRef").unwrap().len(), 2);
        assert_eq!(
            target(row(&grid, "equip.vav-2-05"), "airRef"),
            "equip.ahu-2"
        );

        let point = row(&grid, "point.ahu-1.supply_air_temp");
        for tag in ["point", "discharge", "air", "temp", "sensor"] {
            assert!(point.has_marker(tag), "{tag}");
        }
        assert_eq!(target(point, "equipRef"), "equip.ahu-1");
        assert_eq!(point.get_str("kind").unwrap().value(), "Number");
        assert_eq!(point.get_str("unit").unwrap().value(), "°F");
        assert_eq!(
            point.get_str("niagaraOrd").unwrap().value(),
            format!("{base}/SAT")
        );
        let point = row(&grid, "point.ahu-1.occupancy");
        assert_eq!(
            point.get_str("enum").unwrap().value(),
            "Unoccupied,Occupied"
        );
        assert!(point.has_marker("writable"));
        let point = row(&grid, "point.vav-1-01.supply_air_temp");
        assert!(!point.has("unit"), "a unit that nobody told");
    }

    #[test]
    fn broken_and_odd_models_still_give_a_whole_grid() {
        let grid = grid(
            &model(
                "spaces:\n- {id: a, type: floor, parent: b}\n- {id: b, type: room, parent: a}\n- {id: a}\n- {name: nameless}\n\
                 equipment:\n- {id: 'Ü 1.x', type: elevator, space: gone, served_by: [nobody, e2, e2], points: {car_position: 'slot:/A', 'door cmd': ''}}\n\
                 - {id: e2, type: ahu, served_by: e2}\n- {id: 'Ü 1', points: {'x.car_position': 'not an ord'}}\n\
                 points:\n- {id: p, space: a, kind: power, role_in_space: lift_power_sp}\n",
            ),
            &StationPoints::new(),
        );
        let grid = read(&grid);
        let lift = row(&grid, "equip.~c3~9c~201~2ex");
        assert_eq!(target(lift, "siteRef"), "site");
        assert_eq!(target(lift, "airRef"), "equip.e2");
        assert!(!row(&grid, "equip.e2").has("airRef"));
        assert_eq!(target(row(&grid, "space.a"), "spaceRef"), "space.b");
        let setpoint = row(&grid, "point.p");
        assert!(
            setpoint.has_marker("power")
                && setpoint.has_marker("sp")
                && !setpoint.has_marker("sensor")
        );
        assert!(row(&grid, "point.~c3~9c~201~2ex.door~20cmd").has_marker("cmd"));
        assert_eq!(
            read(&super::grid(
                &KnowledgeModel::default(),
                &StationPoints::new()
            ))
            .rows
            .len(),
            1
        );
    }

    #[test]
    fn several_buildings_are_sites_of_their_own() {
        let grid = read(&grid(
            &model(
                "station: {name: Campus}\nspaces:\n- {id: north, type: building}\n- {id: south, type: building}\n\
                 - {id: f, type: floor, parent: south}\nequipment:\n- {id: fan, space: f}\n- {id: well}\n",
            ),
            &StationPoints::new(),
        ));
        assert_eq!(target(row(&grid, "equip.fan"), "siteRef"), "space.south");
        assert_eq!(target(row(&grid, "equip.well"), "siteRef"), "site");
        assert_eq!(row(&grid, "site").get_str("dis").unwrap().value(), "Campus");
    }

    #[test]
    fn the_table_knows_every_standard_type_role_and_kind() {
        let model = model(STANDARD_TYPES);
        for entry in &model.document().equipment_types {
            let types = crate::knowledge::camber_roles::lineage(&model, &entry.id);
            let found = tags_of_types(&types).unwrap_or_else(|| panic!("{}", entry.id));
            assert!(
                found.tags.split_whitespace().any(|tag| tag == "equip"),
                "{}",
                entry.id
            );
            for point in &entry.typical_points {
                let known = TAGS.roles.contains_key(&point.role)
                    || camber_roles().iter().any(|role| role.role == point.role);
                assert!(known, "{}", point.role);
            }
        }
        for kind in TAGS.kinds.keys() {
            assert!(kinds::kind(kind).is_some(), "{kind}");
        }
        for markers in TAGS.roles.values() {
            let functions = markers
                .split_whitespace()
                .filter(|tag| ["sensor", "sp", "cmd"].contains(tag));
            assert_eq!(functions.count(), 1, "{markers}");
        }
    }

    #[test]
    fn units_are_those_of_the_haystack_database() {
        for (name, symbol) in &TAGS.units {
            assert!(unit_by_name(name).is_some(), "{name}");
            assert!(get_unit(symbol).is_some(), "{name}: {symbol}");
        }
        for kind in kinds::kinds() {
            if let Some(usual) = kind.units.first() {
                assert!(
                    TAGS.units.contains_key(usual)
                        || ["power_factor", "grams_of_water_per_kilogram_dry_air"]
                            .contains(&usual.as_str()),
                    "{usual}"
                );
            }
        }
    }
}
