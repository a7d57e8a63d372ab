//! The configuration of a facility that nobody configured (Engine §4.1).

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{ConfigError, EquipmentEntry, NoFiles, RunConfig, SharedOat, Source, StoreSource};
use crate::families;
use crate::resample::BinWidth;
use crate::tables;

const TEMPLATES: &str = include_str!("../../../knowledge/camber/dataset-configs.json");

#[derive(Default, Deserialize)]
struct TemplateFile {
    configs: Vec<Template>,
}

#[derive(Deserialize)]
struct Template {
    id: String,
    config: Map<String, Value>,
}

/// The packaged configuration of a catalogue's data set for one facility of it; none when there is no such data set.
///
/// # Errors
/// The template is damaged, which a test excludes.
pub fn of_dataset(dataset: &str, facility: &str) -> Option<Result<RunConfig, ConfigError>> {
    let file: TemplateFile = tables::table(TEMPLATES);
    let template = file
        .configs
        .into_iter()
        .find(|template| template.id == dataset)?;
    let mut content = template.config;
    if let Some(Value::Object(source)) = content.get_mut("source") {
        source.remove("store");
        source.insert("facility_id".to_owned(), facility.into());
    }
    Some(RunConfig::read(content, &NoFiles))
}

/// The configuration of a facility without one: every stored class, every rule at its defaults, and the outdoor
/// temperature of the first weather station that stores it.
pub fn of_store(
    facility: &str,
    name: Option<&str>,
    classes: &BTreeMap<String, String>,
    points: &BTreeSet<(String, String)>,
) -> RunConfig {
    let distinct: BTreeSet<&str> = classes.values().map(String::as_str).collect();
    let weather = classes
        .iter()
        .filter(|(_, class)| families::family(class) == Some("weather"))
        .map(|(equip, _)| equip)
        .find(|equip| points.contains(&((*equip).clone(), "oat".to_owned())));
    RunConfig {
        site: Some(name.unwrap_or(facility).to_owned()),
        facility_id: None,
        source: Some(Source::Store(StoreSource {
            facility: facility.to_owned(),
            ..StoreSource::default()
        })),
        shared_oat: weather.map(|equip| SharedOat::Point {
            equip: equip.clone(),
            role: "oat".to_owned(),
        }),
        equipment: distinct.into_iter().map(EquipmentEntry::of_class).collect(),
        rules: Vec::new(),
        topology: None,
        min_trust: None,
        resample: BinWidth::HOUR,
        site_elevation_ft: None,
        include_inactive: false,
        units: None,
        references: super::References::default(),
        drift: None,
        report: super::ReportOptions::default(),
        mv_texts: std::collections::BTreeMap::new(),
        oversights: Vec::new(),
        content: Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_packaged_template_can_be_read() {
        let file: TemplateFile = tables::table(TEMPLATES);
        assert_eq!(file.configs.len(), 34);
        for template in &file.configs {
            let config = of_dataset(&template.id, "ds-x").unwrap().unwrap();
            assert_eq!(config.facility(), Some("ds-x"), "{}", template.id);
            // Their parameters may lie outside what is sensible elsewhere.
            let keys = config.oversights().iter();
            let keys: Vec<_> = keys
                .filter(|found| !found.place.contains(".params."))
                .collect();
            assert!(keys.is_empty(), "{}: {keys:?}", template.id);
        }
        let fleet = of_dataset("synthetic-g36-vav-fleet", "ds-x")
            .unwrap()
            .unwrap();
        let resolved = fleet.topology.unwrap().resolved([]);
        assert_eq!(
            resolved.topology.group("VAV1__starved"),
            Some("AHU__starved")
        );
        assert!(of_dataset("nothing", "ds-x").is_none());
    }

    #[test]
    fn a_store_tells_classes_and_the_weather() {
        let classes: BTreeMap<String, String> = [
            ("AHU-1", "AHU"),
            ("VAV-1", "VAV"),
            ("W2", "WEATHER"),
            ("W1", "weather station"),
        ]
        .map(|(equip, class)| (equip.to_owned(), class.to_owned()))
        .into();
        let points: BTreeSet<(String, String)> = [("W1", "outdoor_rh"), ("W2", "oat")]
            .map(|(equip, role)| (equip.to_owned(), role.to_owned()))
            .into();
        let config = of_store("hq", Some("Head office"), &classes, &points);
        let names: Vec<&str> = config
            .equipment
            .iter()
            .map(|entry| entry.class.as_str())
            .collect();
        assert_eq!(names, ["AHU", "VAV", "WEATHER", "weather station"]);
        assert_eq!(
            config.shared_oat,
            Some(SharedOat::Point {
                equip: "W2".to_owned(),
                role: "oat".to_owned()
            })
        );
        assert_eq!(config.facility(), Some("hq"));
    }
}
