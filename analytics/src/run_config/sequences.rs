//! Sections that check a written sequence of operation and the ventilation of zones (Engine §5.5, §5.7).
//!
//! They are read and checked like everything else of a configuration; a run tells that it does not judge them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::files::{ConfigFiles, CsvTable};
use super::section::{ConfigError, Section};

/// Names of one field of a zone; the first one is the field's.
const ZONE_FIELDS: [&[&str]; 14] = [
    &["zone", "id", "zone_id"],
    &["area_sqft", "area", "area_ft2"],
    &["population", "pz", "occupants"],
    &["space_type"],
    &["rp"],
    &["ra"],
    &["system", "ahu", "air_handler"],
    &["ez_cooling"],
    &["ez_heating"],
    &["vpz_min_cfm"],
    &["vpz_cfm"],
    &["area_assumed"],
    &["population_assumed"],
    &["note"],
];

/// Checks `soo`.
///
/// # Errors
/// An entry has no class, or names neither a library nor a file of clauses, or such a file is none.
pub fn check_soo(root: &Section<'_>, files: &dyn ConfigFiles) -> Result<(), ConfigError> {
    for entry in root.sections("soo")? {
        entry.required_text("class")?;
        let library = entry.word("library", &["g36_ahu", "g36_plant"])?;
        match (library, entry.text("spec")?) {
            (Some(_), None) => {}
            (None, Some(path)) => {
                let place = entry.at("spec");
                let refuse =
                    |problem: String| ConfigError::new(&place, format!("{path:?}: {problem}"));
                let text = files.text(path).map_err(refuse)?;
                let clauses: Value =
                    serde_json::from_str(&text).map_err(|error| refuse(error.to_string()))?;
                check_clauses(&clauses, &place)?;
            }
            _ => {
                return Err(ConfigError::new(
                    entry.place(),
                    "give either library or spec",
                ));
            }
        }
    }
    Ok(())
}

fn check_clauses(clauses: &Value, place: &str) -> Result<(), ConfigError> {
    let Value::Array(clauses) = clauses else {
        return Err(ConfigError::new(
            place,
            "the file must hold a list of clauses",
        ));
    };
    for (number, clause) in clauses.iter().enumerate() {
        let clause = Section::of(clause, format!("{place}[{number}]"))?;
        clause.required_text("name")?;
        if clause.value("expect").is_none() {
            return Err(clause.refuse("expect", "it is missing; tell what must be so"));
        }
        clause.number_within("fault_below", 0.0, 100.0)?;
        clause.number_within("warn_below", 0.0, 100.0)?;
        clause.number_within("min_samples", 0.0, f64::MAX)?;
        clause.number_within("persistence", 0.0, f64::MAX)?;
    }
    Ok(())
}

/// Checks `ventilation`.
///
/// # Errors
/// A key or a field of a zone does not exist, a zone has no id, or one stands twice.
pub fn check_ventilation(root: &Section<'_>, files: &dyn ConfigFiles) -> Result<(), ConfigError> {
    let Some(section) = root.section("ventilation")? else {
        return Ok(());
    };
    section.only(&[
        "zones",
        "systems",
        "method",
        "ez_cooling",
        "ez_heating",
        "under_tol",
        "over_factor",
        "start_hour",
        "end_hour",
        "occupied_days",
    ])?;
    for key in ["ez_cooling", "ez_heating", "under_tol", "over_factor"] {
        section.number_within(key, 0.0, f64::MAX)?;
    }
    section.number_within("start_hour", 0.0, 24.0)?;
    section.number_within("end_hour", 0.0, 24.0)?;
    section.numbers("occupied_days")?;
    if let Some(systems) = section.section("systems")? {
        for id in systems.fields().keys() {
            if let Some(system) = systems.section(id)? {
                system.only(&["ps", "d", "vps_cfm", "system_type", "method"])?;
            }
        }
    }
    let mut seen = BTreeSet::new();
    let place = section.at("zones");
    match section.value("zones") {
        None => {}
        Some(Value::Array(zones)) => {
            for (number, zone) in zones.iter().enumerate() {
                check_zone(zone, &format!("{place}[{number}]"), files, &mut seen)?;
            }
        }
        Some(one) => check_zone(one, &place, files, &mut seen)?,
    }
    Ok(())
}

/// A zone, or a file of zones.
fn check_zone(
    value: &Value,
    place: &str,
    files: &dyn ConfigFiles,
    seen: &mut BTreeSet<String>,
) -> Result<(), ConfigError> {
    let mut add = |id: &str, place: &str| match (id.trim(), seen.insert(id.trim().to_owned())) {
        ("", _) => Err(ConfigError::new(place, "the zone has no id")),
        (id, false) => Err(ConfigError::new(
            place,
            format!("the zone {id:?} stands twice"),
        )),
        _ => Ok(()),
    };
    if let Value::String(path) = value {
        let table = CsvTable::read(files, path, place)?;
        for header in &table.headers {
            known_field(header, place)?;
        }
        let id = ["zone", "id", "zone_id"]
            .iter()
            .find_map(|name| table.column(name));
        for (number, row) in table.rows.iter().enumerate() {
            let cell = id.and_then(|id| row.get(id)).map_or("", String::as_str);
            add(cell, &format!("{place}: {path:?}, row {}", number + 1))?;
        }
        return Ok(());
    }
    let zone = Section::of(value, place)?;
    for field in zone.fields().keys() {
        known_field(field, place)?;
    }
    let id = ["zone", "id", "zone_id"]
        .iter()
        .find_map(|name| zone.text(name).transpose())
        .transpose()?;
    add(id.unwrap_or_default(), place)
}

fn known_field(name: &str, place: &str) -> Result<(), ConfigError> {
    let is_known = ZONE_FIELDS
        .iter()
        .flat_map(|names| names.iter())
        .any(|known| known.eq_ignore_ascii_case(name));
    match is_known {
        true => Ok(()),
        false => Err(ConfigError::new(
            place,
            format!("a zone has no field {name:?}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn check(content: Value, files: &[(&str, &str)]) -> Result<(), String> {
        let files: BTreeMap<String, String> = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect();
        let root = Section::root(content.as_object().unwrap());
        check_soo(&root, &files)
            .and_then(|()| check_ventilation(&root, &files))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn sections_that_are_sound_are_taken() {
        let files = [
            (
                "clauses.json",
                r#"[{"name": "fan", "expect": "x", "warn_below": 90}]"#,
            ),
            ("zones.csv", "zone_id,area_ft2,ahu\nVAV-1,100,AHU-1\n"),
        ];
        let content = json!({
            "soo": [{"class": "AHU", "library": "g36_ahu"}, {"class": "AHU", "spec": "clauses.json"}],
            "ventilation": {"zones": ["zones.csv", {"id": "VAV-2", "pz": 3}], "systems": {"AHU-1": {"d": 0.8}}},
        });
        assert_eq!(check(content, &files), Ok(()));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let files = [
            ("zones.csv", "zone,area\nVAV-1,100\nVAV-1,90\n"),
            ("odd.csv", "zone,colour\n"),
        ];
        for (content, told) in [
            (json!({"soo": [{"library": "g36_ahu"}]}), "soo[0].class"),
            (
                json!({"soo": [{"class": "AHU"}]}),
                "soo[0]: give either library or spec",
            ),
            (
                json!({"soo": [{"class": "AHU", "library": "x"}]}),
                "soo[0].library",
            ),
            (
                json!({"soo": [{"class": "AHU", "spec": "no.json"}]}),
                "no such file",
            ),
            (json!({"ventilation": {"zone": []}}), "ventilation.zone"),
            (
                json!({"ventilation": {"zones": ["zones.csv"]}}),
                "\"VAV-1\" stands twice",
            ),
            (
                json!({"ventilation": {"zones": "odd.csv"}}),
                "no field \"colour\"",
            ),
            (
                json!({"ventilation": {"zones": [{"area": 1}]}}),
                "ventilation.zones[0]: the zone has no id",
            ),
            (
                json!({"ventilation": {"systems": {"A": {"x": 1}}}}),
                "ventilation.systems.A.x",
            ),
        ] {
            let refused = check(content, &files).unwrap_err();
            assert!(refused.contains(told), "{refused}");
        }
    }
}
