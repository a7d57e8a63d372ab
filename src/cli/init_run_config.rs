//! `camber init-config`: a run configuration out of the site's model (Engine §5).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context;
use niagara_analytics::families;
use niagara_analytics::run_config::section::did_you_mean;
use serde_json::{Map, Value, json};

use super::arguments::InitConfigOptions;
use super::assembly::TRENDS_FOLDER;
use super::output;
use super::shutdown::Ending;
use crate::durable_file::Staged;
use crate::knowledge::{Equipment, KnowledgeModel, KnowledgeState, KnowledgeStore};
use crate::trends::ingest::mapped_points::mapped_points;
use crate::trends::store::facility_id::slug;
use crate::trends::store::{FacilityId, TrendStore};

/// Families whose air comes from an air handler; what heats them is no group of zones.
const ZONE_UNITS: [&str; 2] = ["terminal", "fan_coil"];
const AIR_HANDLER: &str = "air_handler";
const HEAT_PUMP: &str = "heat_pump";
const METER: &str = "meter";

/// Roles of meters that are rates of energy.
const RATES: [&str; 3] = ["power", "energy_rate", "gas_input_rate"];

/// States of which rules count the changes. Over hours only their share of the time is left.
const COUNTED_STATES: [&str; 4] = [
    "boiler_status",
    "compressor_status",
    "compressor_stage",
    "reversing_valve_cmd",
];

/// The longest interval at which rules trust their counts of starts (Rules, plant side §2.1), and the usual one of trends.
const COUNTING_INTERVAL: &str = "15min";

/// Types of spaces in which several heat pumps can work against each other.
const ROOMS: [&str; 2] = ["room", "zone"];

/// Writes the configuration of a facility to a file, or to standard output.
///
/// # Errors
/// The model cannot be read or maps nothing, the id is none, or the file cannot be written.
pub fn run(options: &InitConfigOptions) -> anyhow::Result<Ending> {
    let facility = FacilityId::parse(&options.facility)?;
    let snapshot = KnowledgeStore::open(&options.knowledge).snapshot();
    match &snapshot.state {
        KnowledgeState::Unreadable(error) | KnowledgeState::Lost(error) => {
            anyhow::bail!("{error}")
        }
        KnowledgeState::Missing => anyhow::bail!(
            "there is no knowledge file {}; name it with --knowledge",
            options.knowledge.display()
        ),
        KnowledgeState::Loaded => {}
    }
    require_known(&facility, options, &snapshot.model)?;
    let text = draft(&snapshot.model, &facility)?;
    match &options.output {
        None => output::print(&text)?,
        Some(path) => write_new(path, &text)?,
    }
    Ok(Ending::Finished)
}

/// Refuses a facility that neither the store nor the model knows: a configuration of it would never run.
fn require_known(
    facility: &FacilityId,
    options: &InitConfigOptions,
    model: &KnowledgeModel,
) -> anyhow::Result<()> {
    let store = match &options.store {
        Some(folder) => Some(super::camber::open_store(folder)?),
        None => {
            let beside = options.knowledge.with_file_name(TRENDS_FOLDER);
            let is_there = beside.is_dir();
            is_there.then(|| TrendStore::open(beside)).transpose()?
        }
    };
    let mut known: BTreeSet<String> = match &store {
        Some(store) => store
            .known_facilities()?
            .iter()
            .map(|known| known.as_str().to_owned())
            .collect(),
        None => BTreeSet::new(),
    };
    let station = &model.document().station;
    let names = ["id", "name"].map(|key| station.get(key).and_then(Value::as_str));
    known.extend(names.into_iter().flatten().map(slug));
    known.remove("");
    if known.is_empty() || known.contains(facility.as_str()) {
        return Ok(());
    }
    let hint = did_you_mean(facility.as_str(), known.iter().map(String::as_str));
    let names: Vec<&str> = known.iter().map(String::as_str).collect();
    let remedy = match &store {
        Some(_) => "`niagara-bridge store list` tells more of those that are stored",
        None => {
            "of a facility with an id of its own (trends.facilityId) name the store with --store"
        }
    };
    anyhow::bail!(
        "there is no facility {:?}{hint}; known are {}; {remedy}",
        facility.as_str(),
        names.join(", ")
    )
}

/// An existing file may hold a person's work.
fn write_new(path: &Path, text: &str) -> anyhow::Result<()> {
    anyhow::ensure!(
        !path.exists(),
        "{} exists already; choose another --output, or remove it",
        path.display()
    );
    let staged_name = path.with_extension("yaml.new");
    let mut staged = Staged::create(staged_name, path.to_owned())?;
    staged.fill(text.as_bytes())?;
    staged.sync()?;
    staged.commit()?;
    Ok(())
}

/// The configuration as YAML: every class of mapped equipment, the weather that all share, and who serves whom.
///
/// # Errors
/// The model maps no equipment that could be judged.
pub fn draft(model: &KnowledgeModel, facility: &FacilityId) -> anyhow::Result<String> {
    let site = Site::of(model);
    anyhow::ensure!(
        !site.classes.is_empty(),
        "the knowledge model maps no equipment with a class and a role that rules know; map points first"
    );
    let classes: BTreeSet<&str> = site.classes.values().copied().collect();
    let mut content = Map::new();
    let station = &model.document().station;
    let name = station.get("name").and_then(Value::as_str);
    content.insert("site".to_owned(), json!(name.unwrap_or(facility.as_str())));
    content.insert(
        "source".to_owned(),
        json!({"kind": "store", "facility_id": facility.as_str()}),
    );
    if let Some(weather) = site.weather() {
        content.insert(
            "shared_oat".to_owned(),
            json!({"equip": weather, "role": "oat"}),
        );
    }
    let entries: Vec<Value> = classes
        .iter()
        .map(|class| json!({ "class": class }))
        .collect();
    content.insert("equipment".to_owned(), json!(entries));
    let mut remark = "";
    if site.has_counted_states() {
        content.insert("resample".to_owned(), json!(COUNTING_INTERVAL));
        remark = "# Rules see quarter-hours: starts of boilers and compressors cannot be counted over hours.\n";
    }
    let metered = site.metered();
    if !metered.is_empty() {
        content.insert("mv".to_owned(), json!(metered));
    }
    let parents = site.parents();
    if !parents.is_empty() {
        content.insert("topology".to_owned(), json!({ "parents": parents }));
    }
    let body = serde_yaml::to_string(&Value::Object(content))
        .context("the configuration cannot be written as YAML")?;
    Ok(format!(
        "# Run configuration of {facility}, derived from the site's model by `niagara-bridge camber init-config`.\n\
         # Without a list of rules all run at their defaults; rules, their parameters and a trust floor can be added here.\n\
         # An entry of mv is a baseline over all data; a period, a reporting_period and a method make a saving of it.\n\
         {remark}{body}"
    ))
}

/// The mapped equipment of a model.
struct Site<'a> {
    model: &'a KnowledgeModel,
    /// Class by equipment.
    classes: BTreeMap<&'a str, &'static str>,
    /// Equipment and CAMBER role.
    points: BTreeSet<(&'a str, &'static str)>,
}

impl<'a> Site<'a> {
    fn of(model: &'a KnowledgeModel) -> Self {
        let mut site = Self {
            model,
            classes: BTreeMap::new(),
            points: BTreeSet::new(),
        };
        for point in mapped_points(model, &BTreeSet::new()).points {
            // The ids live as long as the model.
            if let Some(equipment) = model.equipment(&point.equip) {
                site.classes.insert(&equipment.id, point.equip_class);
                site.points.insert((&equipment.id, &point.role.role));
            }
        }
        site
    }

    fn family(&self, equip: &str) -> Option<&'static str> {
        families::family(self.classes.get(equip)?)
    }

    fn has_counted_states(&self) -> bool {
        let mut roles = self.points.iter().map(|(_, role)| role);
        roles.any(|role| COUNTED_STATES.contains(role))
    }

    /// The first weather station that stores the outdoor temperature.
    fn weather(&self) -> Option<&'a str> {
        self.classes.keys().copied().find(|equip| {
            self.family(equip) == Some("weather") && self.points.contains(&(*equip, "oat"))
        })
    }

    /// An M&V entry for each class and rate of the meters.
    fn metered(&self) -> Vec<Value> {
        let entries: BTreeSet<(&str, &str)> = self
            .points
            .iter()
            .filter(|(equip, role)| self.family(equip) == Some(METER) && RATES.contains(role))
            .filter_map(|(equip, role)| Some((*self.classes.get(equip)?, *role)))
            .collect();
        entries
            .into_iter()
            .map(|(class, role)| json!({"class": class, "role": role}))
            .collect()
    }

    /// Parents of each equipment that has any.
    fn parents(&self) -> BTreeMap<&'a str, Value> {
        self.model
            .document()
            .equipment
            .iter()
            .filter(|entry| self.classes.contains_key(entry.id.as_str()))
            .filter_map(|entry| {
                let parents = self.parents_of(entry);
                let told = match parents.as_slice() {
                    [] => return None,
                    [one] => json!(one),
                    several => json!(several),
                };
                Some((entry.id.as_str(), told))
            })
            .collect()
    }

    fn parents_of(&self, entry: &'a Equipment) -> Vec<&'a str> {
        let family = self.family(&entry.id);
        if family == Some(HEAT_PUMP) {
            // Rooms group heat pumps; the loop that serves them does not.
            return self.room(entry).into_iter().collect();
        }
        let served: Vec<&str> = entry
            .served_by()
            .filter(|id| *id != entry.id && self.classes.contains_key(id))
            .collect();
        if !family.is_some_and(|family| ZONE_UNITS.contains(&family)) {
            return served;
        }
        let handlers: Vec<&str> = served
            .iter()
            .copied()
            .filter(|id| self.family(id) == Some(AIR_HANDLER))
            .collect();
        match handlers.is_empty() {
            false => handlers,
            true => self.handler_of_space(entry).into_iter().collect(),
        }
    }

    fn room(&self, entry: &'a Equipment) -> Option<&'a str> {
        let space = self.model.space(entry.space.as_deref()?)?;
        let kind = space.space_type.as_deref()?;
        ROOMS.contains(&kind).then_some(space.id.as_str())
    }

    /// The only air handler of the space in which a unit is.
    fn handler_of_space(&self, entry: &Equipment) -> Option<&'a str> {
        let space = entry.space.as_deref()?;
        let mut handlers = self.model.document().equipment.iter().filter(|other| {
            other.space.as_deref() == Some(space) && self.family(&other.id) == Some(AIR_HANDLER)
        });
        match (handlers.next(), handlers.next()) {
            (Some(only), None) => Some(&only.id),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::camber::run_config::RunConfigFile;
    use crate::knowledge::demo_model;
    use crate::trends::store::writer::Registration;
    use crate::trends::store::{BinWidth, EquipmentRows, RoleColumn};

    fn facility() -> FacilityId {
        FacilityId::parse("harborview").unwrap()
    }

    #[test]
    fn the_shipped_configuration_of_the_demo_site_is_what_its_model_gives() {
        let model = KnowledgeModel::new(demo_model::harborview().unwrap());
        let shipped = crate::cli::demo::RUN_CONFIG;
        let derived = match shipped.split_once("\n# Windows of the demo's history") {
            Some((derived, _)) => format!("{derived}\n"),
            None => shipped.to_owned(),
        };
        assert_eq!(draft(&model, &facility()).unwrap(), derived);
    }

    #[test]
    fn what_is_drafted_can_be_run() {
        let folder = tempfile::tempdir().unwrap();
        let knowledge = folder.path().join("knowledge.yaml");
        let text = "schema_version: 1\nstation: {id: hq, name: Head office}\n\
            spaces:\n  - {id: room-1, type: room}\n  - {id: floor-1, type: floor}\n\
            equipment_types: []\nequipment:\n\
            \x20 - {id: ahu-1, type: ahu, space: floor-1, points: {supply_air_temp: 'station:|slot:/a'}}\n\
            \x20 - {id: vav-1, type: vav, served_by: [ahu-1, b-1], points: {space_temp: 'station:|slot:/b'}}\n\
            \x20 - {id: vav-2, type: vav, space: floor-1, points: {space_temp: 'station:|slot:/c'}}\n\
            \x20 - {id: hp-1, type: heat-pump, space: room-1, served_by: b-1, points: {space_temp: 'station:|slot:/d'}}\n\
            \x20 - {id: b-1, type: boiler, points: {boiler_status: 'station:|slot:/e'}}\n\
            \x20 - {id: m-1, type: electric-meter, points: {power: 'station:|slot:/f'}}\n";
        std::fs::write(&knowledge, text).unwrap();
        let output = folder.path().join("run.yaml");
        let options = InitConfigOptions {
            facility: "hq".to_owned(),
            knowledge,
            store: None,
            output: Some(output.clone()),
        };
        run(&options).unwrap();
        let file = RunConfigFile::read(&output).unwrap();
        assert_eq!(file.facility, "hq");
        let classes: Vec<&str> = file
            .config
            .equipment
            .iter()
            .map(|entry| entry.class.as_str())
            .collect();
        assert_eq!(classes, ["AHU", "Boiler", "HeatPump", "Meter", "VAV"]);
        // A boiler's starts are counted.
        assert_eq!(file.config.resample, BinWidth::parse("15min").unwrap());
        let metered = file.config.mv_entries().unwrap();
        assert_eq!(metered.len(), 1);
        assert!(metered[0].terms.reporting.is_none());
        let topology = file.config.topology.unwrap().resolved([]).topology;
        assert_eq!(topology.group("vav-1"), Some("ahu-1"));
        assert_eq!(topology.group("vav-2"), Some("ahu-1"));
        assert_eq!(topology.group("hp-1"), Some("room-1"));
        let again = run(&options).unwrap_err().to_string();
        assert!(again.contains("exists already"), "{again}");
        let elsewhere = InitConfigOptions {
            facility: "hqq".to_owned(),
            knowledge: folder.path().join("knowledge.yaml"),
            store: None,
            output: None,
        };
        let unknown = run(&elsewhere).unwrap_err().to_string();
        assert!(
            unknown.contains("no facility \"hqq\" (did you mean hq?); known are head-office, hq"),
            "{unknown}"
        );
        // A store beside the knowledge file knows more.
        let store = TrendStore::create(folder.path().join("trends")).unwrap();
        let registration = Registration::active(Some("Annex"), None);
        let rows = [EquipmentRows {
            equip: "A".to_owned(),
            equip_class: "AHU".to_owned(),
            columns: vec![RoleColumn {
                role: "oat".to_owned(),
                stamps: vec![0],
                values: vec![60.0],
            }],
        }];
        store
            .writer(std::time::Duration::from_secs(5))
            .unwrap()
            .append(
                &FacilityId::parse("annex").unwrap(),
                &rows,
                Some(&registration),
            )
            .unwrap();
        let unknown = run(&elsewhere).unwrap_err().to_string();
        assert!(
            unknown.contains("known are annex, head-office, hq"),
            "{unknown}"
        );
        let stored = InitConfigOptions {
            facility: "annex".to_owned(),
            ..elsewhere
        };
        run(&stored).unwrap();
        let none = InitConfigOptions {
            knowledge: PathBuf::from("nowhere.yaml"),
            ..options
        };
        assert!(run(&none).is_err());
    }
}
