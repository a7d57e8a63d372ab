//! What a planted fault of Harborview costs shows at the meter of its unit, with the right sign and size (issue 9).
//!
//! HP-2 lost its night setback on 2026-01-01, HP-1 beside it did not; both serve like zones, so that the sound one tells what
//! the other would have used.

use chrono::{DateTime, Utc};
use mock_station::model::Value as Recorded;
use mock_station::site::{Site, SiteOptions};
use niagara_bridge::camber::run_config::RunConfigs;
use niagara_bridge::camber::{CallerPolicy, CapabilityRegistry};
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

fn recorded(site: &Site, role: &str, history: &str) -> RoleColumn {
    let clock = SiteClock::named(ZONE).expect("a zone");
    let instant = |text: &str| text.parse::<DateTime<Utc>>().expect("a time");
    let history = site.station.histories.get(history).expect("a history");
    let mut column = RoleColumn {
        role: role.to_owned(),
        stamps: Vec::new(),
        values: Vec::new(),
    };
    for [from, to] in SPANS {
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

/// The figures of each meter's saving.
fn savings(yard: &StoreYard) -> Vec<(String, Map<String, Value>)> {
    let config = json!({
        "source": {"kind": "store", "facility_id": "harborview"},
        "shared_oat": {"equip": "weather-1"},
        "equipment": [{"class": "HeatPump"}, {"class": "Weather"}],
        "mv": [{"class": "HeatPump", "role": "power", "model": "cp_driver", "drivers": ["weekday"],
            "method": "forecast", "kernel": "exact",
            "period": ["2025-10-27", "2025-12-31"], "reporting_period": ["2026-11-01", "2026-11-29"]}],
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
    let unit = |equip: &str, history: &str| {
        equipment(equip, "HeatPump", vec![recorded(&site, "power", history)])
    };
    let rows = [
        unit("hp-1", "/Harborview/RTU$2dHP1_kW"),
        unit("hp-2", "/Harborview/RTU$2dHP2_kW"),
        equipment(
            "weather-1",
            "Weather",
            vec![recorded(&site, "oat", "/Harborview/Roof_JACE_OA$2dT")],
        ),
    ];
    let yard = StoreYard::new();
    let registration = Registration::active(Some("Harborview"), Some(ZONE));
    yard.writer()
        .append(&id("harborview"), &rows, Some(&registration))
        .expect("an append");
    let savings = savings(&yard);
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
