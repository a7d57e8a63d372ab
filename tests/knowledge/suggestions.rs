//! suggestMapping against sites whose truth is known, and against the habits of other installers.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};
use mock_station::model::accounts::BRIDGE;
use mock_station::site::{Site, SiteName, SiteOptions};
use mock_station::switches::{MachineMode, Switches};
use niagara_bridge::knowledge::camber_roles::{camber_class, camber_role, camber_role_named};
use niagara_bridge::knowledge::suggestion::{
    DescribedPoint, EquipmentProposal, ValueKind, propose,
};
use niagara_bridge::knowledge::{DocumentFormat, KnowledgeModel, STANDARD_TYPES, decode, format};
use niagara_bridge::station::ord::{SlotName, SlotPath};
use niagara_bridge::station::units::{Unit, unit_by_name};
use serde_json::{Value, json};

use crate::station_bench::Bench;

const NOW: &str = "2026-11-02T15:20:00Z";

/// What was proposed for a point: role in CAMBER's words, confidence.
type Guess = Option<(String, f64)>;

/// Guesses against the truth.
#[derive(Default)]
struct Score {
    /// Points that the truth maps, and how many of them have the right first proposal.
    mapped: usize,
    right: usize,
    /// Proposals above 0.9, those for points that the truth does not map included, and how many are right.
    sure: usize,
    sure_right: usize,
    /// By tenths of confidence: proposals, right ones.
    bins: [(usize, usize); 10],
    /// Wrong pairs of truth and proposal.
    confused: BTreeMap<(String, String), usize>,
    /// Equipment of the truth, found as one piece, with the right class.
    equipment: usize,
    whole: usize,
    classed: usize,
}

impl Score {
    fn add(&mut self, truth: Option<&str>, guess: &Guess) {
        let is_right = guess
            .as_ref()
            .is_some_and(|(role, _)| Some(role.as_str()) == truth);
        if truth.is_some() {
            self.mapped += 1;
            self.right += usize::from(is_right);
        }
        let Some((role, confidence)) = guess else {
            if let Some(truth) = truth {
                *self
                    .confused
                    .entry((truth.to_owned(), "nothing".to_owned()))
                    .or_default() += 1;
            }
            return;
        };
        // The truth knows CAMBER's roles only: of others on points that it leaves out it says nothing.
        if truth.is_none() && camber_role_named(role).is_none() {
            return;
        }
        if !is_right {
            let truth = truth.unwrap_or("nothing").to_owned();
            *self.confused.entry((truth, role.clone())).or_default() += 1;
        }
        if *confidence > 0.9 {
            self.sure += 1;
            self.sure_right += usize::from(is_right);
        }
        let bin = &mut self.bins[((confidence * 10.0) as usize).min(9)];
        bin.0 += 1;
        bin.1 += usize::from(is_right);
    }

    fn share_right(&self) -> f64 {
        self.right as f64 / self.mapped as f64
    }

    fn share_of_sure(&self) -> f64 {
        self.sure_right as f64 / self.sure as f64
    }

    fn print(&self, site: &str) {
        println!(
            "{site}: {} of {} mapped points right first ({:.1} %); {} of {} proposals above 0.9 right ({:.1} %)",
            self.right,
            self.mapped,
            100.0 * self.share_right(),
            self.sure_right,
            self.sure,
            100.0 * self.share_of_sure(),
        );
        if self.equipment > 0 {
            println!(
                "  equipment: {} of {} found whole, {} of the right class",
                self.whole, self.equipment, self.classed
            );
        }
        for (tenth, (count, right)) in self.bins.iter().enumerate().filter(|(_, bin)| bin.0 > 0) {
            println!("  confidence 0.{tenth}: {right} of {count} right");
        }
        for ((truth, guess), count) in &self.confused {
            println!("  {truth} taken for {guess}: {count}");
        }
    }
}

fn site(name: SiteName) -> (Site, DateTime<Utc>) {
    let now: DateTime<Utc> = NOW.parse().unwrap();
    let options = SiteOptions {
        name,
        ..SiteOptions::for_tests(now)
    };
    (Site::build(options).unwrap(), now)
}

pub async fn bench(name: SiteName, switch: impl FnOnce(&mut Switches)) -> Bench {
    let (site, now) = site(name);
    Bench::serving(site.station, now, switch, BRIDGE).await
}

/// All pages of an answer.
pub async fn all_equipment(bench: &Bench, arguments: Value) -> Vec<Value> {
    let mut all = Vec::new();
    let mut offset = 0;
    loop {
        let mut arguments = arguments.clone();
        arguments["offset"] = json!(offset);
        let answer = bench.answer("suggestMapping", arguments).await;
        all.extend(answer["equipment"].as_array().unwrap().iter().cloned());
        match answer["nextOffset"].as_u64() {
            Some(next) => offset = next,
            None => return all,
        }
    }
}

fn guess_of(point: &Value, type_id: &str) -> Guess {
    let role = point["role"].as_str()?;
    let role = camber_role(&[type_id], role).unwrap_or(role);
    Some((role.to_owned(), point["confidence"].as_f64().unwrap()))
}

async fn score(name: SiteName) -> Score {
    let truth = site(name).0.truth;
    let bench = bench(name, |_| {}).await;
    let found = all_equipment(&bench, json!({"ord": "slot:/", "limit": 25})).await;
    let roles: HashMap<&str, &str> = truth
        .equipment
        .iter()
        .flat_map(|equipment| &equipment.roles)
        .map(|(role, path)| (path.as_str(), role.as_str()))
        .collect();
    let mut score = Score::default();
    for equipment in &found {
        let type_id = equipment["type"].as_str().unwrap_or_default();
        for point in equipment["points"].as_array().unwrap() {
            let ord = point["ord"].as_str().unwrap();
            let truth = roles.get(ord.trim_start_matches("station:|")).copied();
            score.add(truth, &guess_of(point, type_id));
        }
    }
    for equipment in truth.equipment.iter().filter(|one| !one.roles.is_empty()) {
        score.equipment += 1;
        let whole = found.iter().find(|candidate| {
            let points: Vec<&str> = candidate["points"]
                .as_array()
                .unwrap()
                .iter()
                .map(|point| point["ord"].as_str().unwrap())
                .collect();
            equipment
                .roles
                .values()
                .all(|path| points.contains(&format!("station:|{path}").as_str()))
        });
        if let Some(whole) = whole {
            score.whole += 1;
            let class = whole["type"].as_str().and_then(class_of);
            score.classed += usize::from(same_class(class, &equipment.class));
        }
    }
    score
}

fn standard_types() -> KnowledgeModel {
    let (_, tree) = format::parse("standard types", STANDARD_TYPES).unwrap();
    KnowledgeModel::new(decode::decode("standard types", tree).unwrap().document)
}

/// CAMBER's class of a standard type.
fn class_of(id: &str) -> Option<&'static str> {
    let types = standard_types();
    let line: Vec<String> = niagara_bridge::knowledge::camber_roles::lineage(&types, id)
        .into_iter()
        .map(str::to_owned)
        .collect();
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    camber_class(&line)
}

/// Classes are open names: those of one family may be written in several ways.
fn same_class(found: Option<&str>, truth: &str) -> bool {
    let plain = |class: &str| class.to_lowercase().replace(['-', '_', ' '], "");
    found.is_some_and(|found| plain(found) == plain(truth))
}

#[tokio::test]
async fn harborview_is_read_as_its_engineers_meant_it() {
    let score = score(SiteName::Harborview).await;
    score.print("Harborview");
    assert_eq!(score.mapped, 456);
    assert!(score.share_right() >= 0.90, "{}", score.share_right());
    assert!(
        score.sure > 300 && score.share_of_sure() >= 0.95,
        "{}",
        score.share_of_sure()
    );
    assert_eq!(score.whole, score.equipment);
    assert!(score.classed as f64 >= 0.9 * score.equipment as f64);
}

#[tokio::test]
async fn lakeside_is_read_though_its_names_are_german_and_its_units_metric() {
    let score = score(SiteName::Lakeside).await;
    score.print("Lakeside");
    assert_eq!(score.mapped, 486);
    assert!(score.share_right() >= 0.75, "{}", score.share_right());
    assert!(
        score.sure > 300 && score.share_of_sure() >= 0.95,
        "{}",
        score.share_of_sure()
    );
    assert_eq!(score.whole, score.equipment);
    assert!(score.classed as f64 >= 0.9 * score.equipment as f64);
}

/// A point of the file of naming conventions.
struct Convention {
    point: DescribedPoint,
    role: Option<String>,
    kind: String,
}

fn conventions() -> Vec<Convention> {
    let mut folder: SlotPath = SlotPath::root();
    let mut kind = String::new();
    let mut all = Vec::new();
    for line in include_str!("naming-conventions.txt").lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some((path, family)) = line.split_once(" : ") {
            folder = format!("slot:{path}").parse().unwrap();
            kind = family.to_owned();
            continue;
        }
        let fields: Vec<&str> = line.split(" | ").collect();
        let [name, value, unit, role] = fields[..] else {
            panic!("{line}");
        };
        let kind_of_value = match &value[..1] {
            "N" => ValueKind::Numeric,
            "B" => ValueKind::Boolean,
            _ => ValueKind::Enum,
        };
        let end = if value.ends_with('w') {
            "Writable"
        } else {
            "Point"
        };
        let unit: Option<Unit> = unit_by_name(unit).cloned();
        all.push(Convention {
            point: DescribedPoint {
                path: folder.child(SlotName::escape(name).unwrap()),
                display_name: name.to_owned(),
                type_spec: format!("control:{kind_of_value:?}{end}"),
                kind: kind_of_value,
                unit,
                value: None,
                is_bad: false,
                recent: None,
            },
            role: (role != "-").then(|| role.to_owned()),
            kind: kind.clone(),
        });
    }
    all
}

#[test]
fn other_habits_of_naming_are_understood_as_well() {
    let conventions = conventions();
    let points: Vec<DescribedPoint> = conventions.iter().map(|one| one.point.clone()).collect();
    let found = propose(&points, &KnowledgeModel::default());
    let mut score = Score::default();
    for equipment in &found {
        let type_id = equipment.type_id.clone().unwrap_or_default();
        for point in &equipment.points {
            let guess = point.role.as_ref().map(|guess| {
                let role = camber_role(&[&type_id], &guess.role).unwrap_or(&guess.role);
                (role.to_owned(), guess.confidence)
            });
            score.add(conventions[point.point].role.as_deref(), &guess);
        }
        score.equipment += 1;
        score.whole += 1;
        let kind = &conventions[equipment.points[0].point].kind;
        let is_kind = type_id == *kind
            || matches!(
                (kind.as_str(), type_id.as_str()),
                ("chw-plant", "chilled-water-plant")
                    | ("hw-plant", "hot-water-plant")
                    | ("heating-circuit", "hot-water-pump")
                    | ("meter", "electric-meter")
            );
        score.classed += usize::from(is_kind);
    }
    score.print("other conventions");
    assert!(score.mapped > 120);
    assert!(score.share_right() >= 0.90, "{}", score.share_right());
    assert!(score.share_of_sure() >= 0.95, "{}", score.share_of_sure());
    assert!(score.classed as f64 >= 0.9 * score.equipment as f64);
}

fn proposed(found: &[EquipmentProposal], point: usize) -> Option<&str> {
    found
        .iter()
        .flat_map(|equipment| &equipment.points)
        .find(|one| one.point == point)
        .and_then(|one| one.role.as_ref())
        .map(|guess| guess.role.as_str())
}

#[test]
fn roles_are_called_as_the_model_calls_them_and_follow_what_is_mapped() {
    let model = |text: &str| {
        let (read_as, tree) = format::parse("test", text).unwrap();
        assert_eq!(read_as, DocumentFormat::Yaml);
        KnowledgeModel::new(decode::decode("test", tree).unwrap().document)
    };
    let point = |path: &str, unit: &str| DescribedPoint {
        path: path.parse().unwrap(),
        display_name: String::new(),
        type_spec: "control:NumericPoint".to_owned(),
        kind: ValueKind::Numeric,
        unit: unit_by_name(unit).cloned(),
        value: None,
        is_bad: false,
        recent: None,
    };
    let points = [
        point("slot:/Drivers/N/FCU_7/points/RmTmp", "celsius"),
        point("slot:/Drivers/N/FCU_7/points/AV_113", "percent"),
    ];
    let types = "equipment_types:\n- {id: fan-coil, typical_points: [{role: room_temp, kind: temperature}, \
                 {role: valve_position, kind: percent}]}\n";
    let found = propose(&points, &model(types));
    assert_eq!(found[0].type_id.as_deref(), Some("fan-coil"));
    assert_eq!(found[0].id, "fcu-7");
    assert_eq!(proposed(&found, 0), Some("room_temp"));
    assert_eq!(proposed(&found, 1), None, "a number says nothing");

    let mapped = format!(
        "{types}equipment:\n- {{id: fcu-1, type: fan-coil, ord: 'slot:/Drivers/N/FCU_1', points: {{valve_position: \
         'slot:/Drivers/N/FCU_1/points/AV_113'}}}}\n"
    );
    let found = propose(&points, &model(&mapped));
    assert_eq!(proposed(&found, 1), Some("valve_position"));
}

#[test]
fn names_and_units_tell_what_a_meter_counts() {
    let point = |folder: &str, name: &str, unit: &str| DescribedPoint {
        path: "slot:/Drivers/Modbus"
            .parse::<SlotPath>()
            .unwrap()
            .child(SlotName::escape(folder).unwrap())
            .child(SlotName::escape(name).unwrap()),
        display_name: String::new(),
        type_spec: "control:NumericPoint".to_owned(),
        kind: ValueKind::Numeric,
        unit: unit_by_name(unit).cloned(),
        value: None,
        is_bad: false,
        recent: None,
    };
    for (folder, points, type_id) in [
        // Nothing tells.
        (
            "Meter 1",
            vec![("kW", "kilowatt"), ("kWh", "kilowatt_hours")],
            "meter",
        ),
        // The name of the meter, in words or within one.
        (
            "Elec_Main",
            vec![("kW", "kilowatt"), ("kWh", "kilowatt_hours")],
            "electric-meter",
        ),
        (
            "Hauptstromzähler",
            vec![("Zählerstand", "kilowatt_hours")],
            "electric-meter",
        ),
        ("GasMeter", vec![("Total", "cubic_meter")], "gas-meter"),
        (
            "Gaszähler 2",
            vec![("Zählerstand", "cubic_meter")],
            "gas-meter",
        ),
        (
            "Wärmezähler HK1",
            vec![("Leistung", "kilowatt"), ("Arbeit", "kilowatt_hours")],
            "thermal-meter",
        ),
        (
            "Kältezähler",
            vec![("Arbeit", "kilowatt_hours")],
            "thermal-meter",
        ),
        ("BTU Meter 3", vec![("Energy", "kilobtu")], "thermal-meter"),
        (
            "Wasserzähler",
            vec![("Zählerstand", "cubic_meter")],
            "water-meter",
        ),
        // The points and their units.
        (
            "Meter 4",
            vec![
                ("kW", "kilowatt"),
                ("Volts A", "volt"),
                ("Amps A", "ampere"),
            ],
            "electric-meter",
        ),
        (
            "Meter 5",
            vec![
                ("Gas Flow", "cubic_feet_per_hour"),
                ("Gas Total", "cubic_foot"),
            ],
            "gas-meter",
        ),
        (
            "Meter 6",
            vec![
                ("Heat Rate", "kilobtus_per_hour"),
                ("Supply Temp", "fahrenheit"),
            ],
            "thermal-meter",
        ),
        (
            "Meter 7",
            vec![("Flow", "gallons_per_minute"), ("Volume", "gallon")],
            "water-meter",
        ),
        (
            "Zähler 8",
            vec![("cos phi", "power_factor"), ("Wirkleistung", "kilowatt")],
            "electric-meter",
        ),
    ] {
        let points: Vec<DescribedPoint> = points
            .iter()
            .map(|(name, unit)| point(folder, name, unit))
            .collect();
        let found = propose(&points, &KnowledgeModel::default());
        assert_eq!(found[0].type_id.as_deref(), Some(type_id), "{folder}");
        for (at, one) in points.iter().enumerate() {
            assert!(proposed(&found, at).is_some(), "{folder}: {}", one.path);
        }
    }
}

#[tokio::test]
async fn what_is_mapped_is_left_out_and_nothing_is_written() {
    let bench = bench(SiteName::Harborview, |_| {}).await;
    let floor = "station:|slot:/Drivers/BacnetNetwork/$32nd$20Floor$20VAVs";
    let before = bench.answer("suggestMapping", json!({"ord": floor})).await;
    assert_eq!(
        (&before["equipmentCount"], &before["mappedCount"]),
        (&json!(8), &json!(0))
    );
    assert_eq!(before["types"], "standard");
    let hint = before["hint"].as_str().expect("what to do first");
    assert!(
        hint.contains("importKnowledge") && hint.contains("'standard'"),
        "{hint}"
    );
    let first = &before["equipment"][0];
    assert_eq!(
        (&first["id"], &first["type"]),
        (&json!("vav-2-01"), &json!("vav"))
    );
    assert!(
        !bench.knowledge.path().exists(),
        "a suggestion writes nothing"
    );

    bench
        .answer("importKnowledge", json!({"source": "standard"}))
        .await;
    let mut points = json!({});
    for point in first["points"].as_array().unwrap() {
        if let Some(role) = point["role"].as_str() {
            points[role] = point["ord"].clone();
        }
    }
    let entry = json!({"id": first["id"], "name": first["name"], "type": first["type"], "ord": first["ord"], "points": points});
    bench.answer("createEquipment", entry).await;
    let after = bench.answer("suggestMapping", json!({"ord": floor})).await;
    assert_eq!(
        (&after["types"], &after["hint"]),
        (&json!("model"), &Value::Null)
    );
    assert_eq!(
        after["mappedCount"],
        json!(points.as_object().unwrap().len())
    );
    let neighbour = after["equipment"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["id"] == "vav-2-02")
        .expect("the neighbour");
    let learned = neighbour["points"].as_array().unwrap().iter().any(|point| {
        let reasons = point["reasons"].to_string();
        reasons.contains("1 mapped unit") && point["confidence"].as_f64() >= Some(0.9)
    });
    assert!(learned, "{neighbour}");

    let all = json!({"ord": floor, "includeMapped": true});
    let all = bench.answer("suggestMapping", all).await;
    assert_eq!(all["equipment"][0]["mappedAs"], "vav-2-01");
    assert_eq!(
        all["equipment"][0]["points"][0]["mappedEquipment"],
        "vav-2-01"
    );
}

#[tokio::test]
async fn hundreds_of_points_take_one_query_and_come_in_pages() {
    let bench = bench(SiteName::Harborview, |_| {}).await;
    let arguments = json!({"ord": "slot:/Drivers", "limit": 20});
    bench.answer("suggestMapping", arguments.clone()).await;
    let before = bench.mock.requests().len();
    let page = bench.answer("suggestMapping", arguments.clone()).await;
    assert_eq!(bench.mock.requests().len() - before, 1);
    assert!(page["pointCount"].as_u64() > Some(500));
    assert_eq!(
        (&page["count"], &page["nextOffset"]),
        (&json!(20), &json!(20))
    );
    let paged = all_equipment(&bench, arguments).await;
    let whole = json!({"ord": "slot:/Drivers", "limit": 200});
    assert_eq!(paged, all_equipment(&bench, whole).await);
}

#[tokio::test]
async fn every_interface_leads_to_the_same_roles() {
    let mut first: Option<Vec<(String, Value)>> = None;
    let ways: [fn(&mut Switches); 4] = [
        |_| {},
        |switches| switches.export.csv_exporter = false,
        |switches| {
            switches.export.machine_mode = MachineMode::Refused;
            switches.boxs.present = false;
        },
        |switches| {
            switches.boxs.present = false;
            switches.export.csv_exporter = false;
        },
    ];
    for way in ways {
        let bench = bench(SiteName::Lakeside, way).await;
        let arguments = json!({"ord": "slot:/Drivers/BACnet_Anlagen/L$fcftung", "limit": 200});
        let mut roles: Vec<(String, Value)> = all_equipment(&bench, arguments)
            .await
            .iter()
            .flat_map(|equipment| equipment["points"].as_array().unwrap().clone())
            .map(|point| {
                (
                    point["ord"].as_str().unwrap().to_owned(),
                    point["role"].clone(),
                )
            })
            .collect();
        roles.sort_by(|one, two| one.0.cmp(&two.0));
        assert!(roles.len() > 80);
        match &first {
            Some(first) => assert_eq!(*first, roles),
            None => first = Some(roles),
        }
    }
}

#[tokio::test]
async fn a_day_of_history_helps_where_the_name_leaves_doubt() {
    let bench = bench(SiteName::Lakeside, |_| {}).await;
    let plant = "slot:/Drivers/Modbus$20TCP/SPS$20Heizzentrale";
    let plain = all_equipment(&bench, json!({"ord": plant})).await;
    let arguments = json!({"ord": plant, "useHistory": true});
    let answer = bench.answer("suggestMapping", arguments).await;
    assert!(
        answer["historiesRead"].as_u64() > Some(0),
        "{}",
        answer["historiesRead"]
    );
    let text = answer["equipment"].to_string();
    assert!(text.contains("values of the last day"), "{text}");
    let roles = |equipment: &[Value]| -> Vec<Value> {
        equipment
            .iter()
            .flat_map(|one| one["points"].as_array().unwrap().clone())
            .map(|point| point["role"].clone())
            .collect()
    };
    assert_eq!(
        roles(&plain).len(),
        roles(answer["equipment"].as_array().unwrap()).len()
    );
}

#[tokio::test]
async fn a_component_that_is_not_there_is_named() {
    let bench = bench(SiteName::Harborview, |_| {}).await;
    let arguments = json!({"ord": "slot:/Drivers/Nowhere"});
    let (code, message, data) = bench.failure("suggestMapping", arguments).await;
    assert_eq!(
        (code, &data["ord"]),
        (-32006, &json!("slot:/Drivers/Nowhere")),
        "{message}"
    );
}
