//! A point reads the same whichever interface tells it, also where a load left its output out as a default.

use chrono::{DateTime, Utc};
use futures::StreamExt;
use mock_station::model::accounts::BRIDGE;
use mock_station::site::{Harborview, Lakeside, Site, SiteOptions};
use mock_station::switches::{MachineMode, ObixMode};
use serde_json::{Map, Value, json};

use crate::points::points;
use crate::support::{Bench, ord_of};
use crate::ways::{Way, obix_only};

const NOW: &str = "2026-11-02T15:20:00Z";

/// The default routes first; then each interface alone.
const ALONE: [Way; 3] = [
    ("all interfaces", |_| {}),
    ("BQL", |switches| {
        switches.export.machine_mode = MachineMode::Refused;
        switches.boxs.present = false;
        switches.obix.mode = ObixMode::NoServlet;
    }),
    ("oBIX", obix_only),
];

fn build(name: &str) -> Site {
    let now: DateTime<Utc> = NOW.parse().expect("a time");
    let options = SiteOptions::for_tests(now);
    match name {
        "harborview" => Harborview::build(options),
        _ => Lakeside::build(options),
    }
    .expect("the site")
}

/// What each point says, by ord.
async fn told(site: &'static str, way: Way) -> Vec<(String, Map<String, Value>)> {
    let now = NOW.parse().expect("a time");
    let bench = Bench::serving(build(site).station, now, way.1, BRIDGE).await;
    let ords: Vec<String> = {
        let station = bench.model();
        let points = points(&station).into_iter();
        points.map(|point| ord_of(&station, point)).collect()
    };
    futures::stream::iter(ords)
        .map(|ord| {
            let bench = &bench;
            async move {
                let answer = bench.answer("readPoint", json!({"ord": ord})).await;
                let slots = match way.0 {
                    "all interfaces" | "oBIX" => {
                        bench.answer("getSlots", json!({"ord": ord})).await["slots"].clone()
                    }
                    _ => Value::Null,
                };
                let mut facts = answer.as_object().expect("an object").clone();
                let out = slots.as_array().into_iter().flatten();
                if let Some(out) = out.into_iter().find(|slot| slot["name"] == "out") {
                    assert_eq!(
                        out["value"], facts["out"],
                        "getSlots of {ord} over {}",
                        way.0
                    );
                }
                facts.remove("displayName");
                (ord, facts)
            }
        })
        .buffered(4)
        .collect()
        .await
}

async fn all_ways_agree(site: &'static str) {
    let [first, others @ ..] = ALONE;
    let expected = told(site, first).await;
    assert!(expected.len() > 250, "{}", expected.len());
    let at_default = |facts: &Map<String, Value>| {
        facts.get("valueNumber") == Some(&json!(0.0))
            || facts.get("valueBool") == Some(&json!(false))
    };
    assert!(
        expected
            .iter()
            .filter(|(_, facts)| at_default(facts))
            .count()
            > 10
    );
    let mut differences = Vec::new();
    for way in others {
        for ((ord, expected), (other, actual)) in expected.iter().zip(told(site, way).await) {
            assert_eq!(*ord, other);
            let is_null = expected["out"]
                .as_str()
                .is_some_and(|out| out.starts_with("- {"));
            for key in ["out", "value", "valueBool", "status", "priority"] {
                // Only BOX tells what a null output holds.
                if is_null && key.starts_with("value") {
                    continue;
                }
                if expected.get(key) != actual.get(key) {
                    differences.push(format!(
                        "{ord} {key}: {:?}, over {} {:?}",
                        expected.get(key),
                        way.0,
                        actual.get(key)
                    ));
                }
            }
        }
    }
    assert!(
        differences.is_empty(),
        "{} differences:\n{}",
        differences.len(),
        differences.join("\n")
    );
}

#[tokio::test]
async fn every_point_of_harborview_reads_the_same_over_each_interface() {
    all_ways_agree("harborview").await;
}

#[tokio::test]
async fn every_point_of_lakeside_reads_the_same_over_each_interface() {
    all_ways_agree("lakeside").await;
}

/// A point of each type as it is added, and one of each kind that was given a value that looks like none.
#[tokio::test]
async fn new_points_read_the_same_over_each_interface() {
    let types = ["Numeric", "Boolean", "Enum", "String"]
        .iter()
        .flat_map(|kind| [format!("{kind}Point"), format!("{kind}Writable")]);
    let types: Vec<String> = types.collect();
    let no_box: Way = ("BQL and oBIX", |switches| switches.boxs.present = false);
    let mut told = Vec::new();
    for way in ALONE.into_iter().chain([no_box]) {
        let add = |station: &mut mock_station::model::Station| {
            let points = station
                .resolve_component("station:|slot:/Drivers/BacnetNetwork/AHU_1/points")
                .expect("the points");
            for name in &types {
                let type_spec = format!("control:{name}");
                station
                    .add(points, Some(&format!("New{name}")), &type_spec)
                    .expect("a point");
            }
        };
        let bench = Bench::start(way.1, add, BRIDGE).await;
        let mut readings = Vec::new();
        for name in &types {
            let ord = format!("station:|slot:/Drivers/BacnetNetwork/AHU_1/points/New{name}");
            readings.push(bench.answer("readPoint", json!({"ord": ord})).await);
        }
        told.push((way.0, readings));
    }
    let (_, expected) = told.remove(0);
    let text = &expected[6];
    assert_eq!(
        (&text["out"], &text["value"]),
        (&json!(" {ok}"), &json!(""))
    );
    let choice = &expected[4];
    assert_eq!(
        (&choice["value"], &choice["valueOrdinal"]),
        (&json!("0"), &json!(0))
    );
    for (way, readings) in told {
        for (expected, actual) in expected.iter().zip(readings) {
            let is_null = expected["status"] == json!("{null}");
            for key in [
                "out",
                "value",
                "valueNumber",
                "valueBool",
                "valueOrdinal",
                "status",
            ] {
                // Only BOX tells what a null output holds.
                if !(is_null && key.starts_with("value")) {
                    assert_eq!(actual[key], expected[key], "{key} over {way}: {actual}");
                }
            }
        }
    }
}
