//! What a planted fault of Harborview costs shows at the meter of its unit, with the right sign and size (issue 9).
//!
//! - HP-2 lost its night setback on 2026-01-01, HP-1 beside it did not; both serve like zones, so that the sound one tells what
//!   the other would have used.
//! - The supply-air sensor of AHU-3 read 6.5 °F too warm until it was recalibrated on 2026-08-01: its boxes took less of the
//!   air that was too cold, and the fan has moved the whole air again since. The simulation with a sensor that was never
//!   recalibrated tells what it would have used.

use chrono::{DateTime, Utc};
use std::sync::Arc;

use mock_station::model::Value as Recorded;
use mock_station::site::sim::building::{Building, Fittings};
use mock_station::site::sim::cache::SiteClimate;
use mock_station::site::sim::{Faults, Place, Window};
use mock_station::site::{Site, SiteOptions};
use niagara_bridge::camber::run_config::RunConfigs;
use niagara_bridge::camber::{CallerPolicy, CapabilityRegistry};
use niagara_bridge::cli::demo;
use niagara_bridge::trends::site_time::SiteClock;
use niagara_bridge::trends::store::RoleColumn;
use niagara_bridge::trends::store::writer::Registration;
use serde_json::{Map, Value, json};

use super::store_yard::{StoreYard, equipment, id, watch};

const NOW: &str = "2026-11-30T22:00:00Z";
const ZONE: &str = "America/New_York";

/// Healthy weeks of one winter, and the same weeks of the next.
const SPANS: [[&str; 2]; 2] = [
    ["2025-10-27T04:00:00Z", "2026-01-01T04:59:59Z"],
    ["2026-11-01T04:00:00Z", "2026-11-30T04:59:59Z"],
];

/// The drift at its full size, and two months after the sensor was recalibrated.
const RECALIBRATED: [[&str; 2]; 1] = [["2026-04-01T04:00:00Z", "2026-10-01T03:59:59Z"]];

fn recorded(site: &Site, spans: &[[&str; 2]], role: &str, history: &str) -> RoleColumn {
    let clock = SiteClock::named(ZONE).expect("a zone");
    let instant = |text: &str| text.parse::<DateTime<Utc>>().expect("a time");
    let history = site.station.histories.get(history).expect("a history");
    let mut column = RoleColumn {
        role: role.to_owned(),
        stamps: Vec::new(),
        values: Vec::new(),
    };
    for [from, to] in spans {
        for record in history.records(instant(from), instant(to), site.station.now()) {
            if let (Recorded::Double(value), 0) = (&record.value, record.status)
                && value.is_finite()
            {
                let stamp = clock.stamp(record.timestamp).expect("a stamp");
                column.stamps.push(stamp);
                column.values.push(*value);
            }
        }
    }
    column
}

/// A store of these, with the outdoor temperature.
fn stored(site: &Site, spans: &[[&str; 2]], units: &[(&str, &str, &str)]) -> StoreYard {
    let mut rows: Vec<_> = units
        .iter()
        .map(|(equip, class, history)| {
            equipment(equip, class, vec![recorded(site, spans, "power", history)])
        })
        .collect();
    let oat = recorded(site, spans, "oat", "/Harborview/Roof_JACE_OA$2dT");
    rows.push(equipment("weather-1", "Weather", vec![oat]));
    let yard = StoreYard::new();
    let registration = Registration::active(Some("Harborview"), Some(ZONE));
    yard.writer()
        .append(&id("harborview"), &rows, Some(&registration))
        .expect("an append");
    yard
}

/// The figures of each meter's saving by an entry of a project.
fn savings(yard: &StoreYard, entry: &Value) -> Vec<(String, Map<String, Value>)> {
    let config = json!({
        "source": {"kind": "store", "facility_id": "harborview"},
        "shared_oat": {"equip": "weather-1"},
        "equipment": [{"class": entry["class"]}, {"class": "Weather"}],
        "mv": [entry],
    });
    let file = yard.root().parent().expect("a folder").join("run.json");
    std::fs::write(&file, config.to_string()).expect("a file");
    let workspace = yard
        .workspace()
        .with_run_configs(RunConfigs::read(&[file]).expect("a configuration"));
    let answer = CapabilityRegistry::built_in()
        .expect("a registry")
        .call(
            "mv_summary",
            json!({"facility_id": "harborview"}),
            &workspace,
            &CallerPolicy::of(["harborview"]),
            &watch(),
        )
        .expect("an answer");
    answer.data["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .filter(|row| row["rule"] == "mv_savings")
        .map(|row| {
            let metrics = row["metrics"].as_object().expect("figures");
            (
                row["equip"].as_str().expect("an id").to_owned(),
                metrics.clone(),
            )
        })
        .collect()
}

#[test]
fn a_missing_night_setback_costs_what_the_unit_beside_it_saves() {
    let now: DateTime<Utc> = NOW.parse().expect("a time");
    let site = Site::build(SiteOptions::for_tests(now)).expect("the site");
    let units = [
        ("hp-1", "HeatPump", "/Harborview/RTU$2dHP1_kW"),
        ("hp-2", "HeatPump", "/Harborview/RTU$2dHP2_kW"),
    ];
    let entry = json!({"class": "HeatPump", "role": "power", "model": "cp_driver", "drivers": ["weekday"],
        "method": "forecast", "kernel": "exact",
        "period": ["2025-10-27", "2025-12-31"], "reporting_period": ["2026-11-01", "2026-11-29"]});
    let savings = savings(&stored(&site, &SPANS, &units), &entry);
    let figure = |equip: &str, name: &str| {
        let (_, metrics) = savings
            .iter()
            .find(|(own, _)| own == equip)
            .expect("a saving");
        metrics[name].as_f64().expect("a figure")
    };
    for (equip, metrics) in &savings {
        println!("{equip}: {}", Value::Object(metrics.clone()));
    }
    let [avoided, band] = ["avoided_energy", "abs_uncertainty"].map(|name| figure("hp-2", name));
    assert!(avoided < -5.0 * band, "{avoided} ± {band}");
    let beside = figure("hp-1", "reporting_actual") - figure("hp-2", "reporting_actual");
    assert!(
        (avoided - beside).abs() <= band,
        "{avoided} ± {band}, and {beside} beside it"
    );
    let [sound, its_band] = ["avoided_energy", "abs_uncertainty"].map(|name| figure("hp-1", name));
    assert!(sound.abs() <= its_band, "{sound} ± {its_band}");
}

/// kWh of the fan of AHU-3 from one midnight to another, if the faults were these.
fn fan_energy(faults: Faults, now: DateTime<Utc>, [from, to]: [&str; 2]) -> f64 {
    const QUARTER: i64 = 900_000;
    let millis = |text: &str| {
        text.parse::<DateTime<Utc>>()
            .expect("a time")
            .timestamp_millis()
    };
    let climate = Arc::new(SiteClimate::new(Place::NewYork, 42));
    let building = Building::new(42, climate, faults, Fittings::Plain, now.timestamp_millis());
    let quarters = (millis(to) - millis(from)) / QUARTER;
    (0..quarters)
        .map(|quarter| {
            let inputs = building.inputs(millis(from) + quarter * QUARTER);
            building.air_state(2, &inputs).fan_power / 4.0
        })
        .sum()
}

#[test]
fn a_recalibrated_sensor_shows_at_the_fan_that_it_controls() {
    let now: DateTime<Utc> = NOW.parse().expect("a time");
    let site = Site::build(SiteOptions::for_tests(now)).expect("the site");
    // The entry that the demo has, with the dates of this station.
    let entries: Value = serde_yaml::from_str(demo::FAN_PROJECT).expect("YAML");
    let entry = &entries[0];
    let units = [("ahu-3", "AHU", "/Harborview/AHU$2d3$20Roof_SF$2dKW")];
    let yard = stored(&site, &RECALIBRATED, &units);
    let savings = savings(&yard, entry);
    let [(_, metrics)] = &savings[..] else {
        panic!("one saving: {savings:?}");
    };
    println!("ahu-3: {}", Value::Object(metrics.clone()));
    let [avoided, band] =
        ["avoided_energy", "abs_uncertainty"].map(|name| metrics[name].as_f64().expect("a figure"));

    let planted = *site.buildings[0].faults();
    let drift = planted.drifting_supply_sensor;
    let never_recalibrated = Faults {
        drifting_supply_sensor: Window::since(drift.start),
        ..planted
    };
    let reporting = ["2026-08-01T04:00:00Z", "2026-10-01T04:00:00Z"];
    let truth =
        fan_energy(never_recalibrated, now, reporting) - fan_energy(planted, now, reporting);
    assert!(avoided < -5.0 * band, "{avoided} ± {band}");
    assert!(
        (avoided - truth).abs() <= band,
        "{avoided} ± {band}, and {truth} in truth"
    );
}
