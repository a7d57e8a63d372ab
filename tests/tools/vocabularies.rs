//! The model of the demo site in the vocabularies of others, with what its station says about the points.

use chrono::{DateTime, Utc};
use mock_station::model::accounts::BRIDGE;
use mock_station::site::{Harborview, SiteOptions};
use niagara_bridge::knowledge::{DocumentFormat, demo_model};
use serde_json::{Value, json};

use crate::support::Bench;

async fn bench() -> Bench {
    let now: DateTime<Utc> = "2026-11-02T15:20:00Z".parse().unwrap();
    let site = Harborview::build(SiteOptions::for_tests(now)).unwrap();
    let bench = Bench::serving(site.station, now, |_| {}, BRIDGE).await;
    let model = demo_model::harborview().unwrap();
    let text = model.to_text("demo", DocumentFormat::Yaml).unwrap();
    bench
        .answer(
            "importKnowledge",
            json!({"content": text, "mode": "replace"}),
        )
        .await;
    bench
}

fn rows(answer: &Value) -> Vec<Value> {
    let content = answer["content"].as_str().unwrap();
    let grid: Value = serde_json::from_str(content).unwrap();
    assert_eq!(answer["size"], json!(content.chars().count()));
    grid["rows"].as_array().unwrap().clone()
}

fn row<'r>(rows: &'r [Value], id: &str) -> &'r Value {
    rows.iter().find(|row| row["id"]["val"] == id).unwrap()
}

#[tokio::test]
async fn a_haystack_grid_has_units_and_states_of_the_station() {
    let bench = bench().await;
    let answer = bench
        .answer("exportKnowledge", json!({"format": "haystack"}))
        .await;
    assert_eq!(answer["warnings"], json!([]));
    let rows = rows(&answer);
    // Each unit as the station has it, also where one controller speaks another system.
    for (point, unit) in [
        ("point.ahu-1.supply_air_temp", "°F"),
        ("point.ahu-3.supply_air_temp", "°C"),
        ("point.ahu-3.airflow", "L/s"),
        ("point.ahu-1.airflow", "cfm"),
        ("point.ch-1.cond_approach_temp", "Δ°F"),
        ("point.chw-plant.chw_diff_press", "kPa"),
        ("point.chw-plant.chw_flow", "gal/min"),
        ("point.meter-electric.energy", "kWh"),
    ] {
        assert_eq!(row(&rows, point)["unit"], unit, "{point}");
    }
    let misspelt = row(&rows, "point.vav-2-07.supply_air_temp");
    assert_eq!(
        misspelt["unit"],
        Value::Null,
        "nobody knows the unit farenheit"
    );
    let occupancy = row(&rows, "point.ahu-1.occupancy");
    assert_eq!(occupancy["kind"], "Bool");
    assert_eq!(occupancy["enum"], "Unoccupied,Occupied");
    assert_eq!(occupancy["writable"]["_kind"], "marker");
    let mode = row(&rows, "point.ahu-1.mode");
    assert_eq!(mode["kind"], "Str");
    assert!(mode["enum"].as_str().unwrap().contains(','), "{mode}");
    let points = rows.iter().filter(|row| !row["point"].is_null()).count();
    assert_eq!(points, 537 + 5);
}

#[tokio::test]
async fn a_brick_graph_has_the_units_and_asks_the_station_only_if_it_may() {
    let bench = bench().await;
    let answer = bench
        .answer("exportKnowledge", json!({"format": "Brick"}))
        .await;
    assert_eq!(
        (&answer["format"], &answer["warnings"]),
        (&json!("Brick"), &json!([]))
    );
    assert!(
        answer["describedPoints"].as_u64().unwrap() >= 537,
        "{}",
        answer["describedPoints"]
    );
    let text = answer["content"].as_str().unwrap();
    let block = |text: &str, subject: &str| {
        let start = text.find(&format!("\n{subject} a ")).unwrap();
        text[start..].split(" .\n").next().unwrap().to_owned()
    };
    let supply = block(text, "point:ahu-3.supply_air_temp");
    assert!(supply.contains("brick:hasUnit unit:DEG_C"), "{supply}");

    let requests = bench.mock.requests().len();
    let silent = json!({"format": "brick", "askStation": false});
    let answer = bench.answer("exportKnowledge", silent).await;
    assert_eq!(bench.mock.requests().len(), requests);
    assert_eq!(
        (&answer["describedPoints"], &answer["warnings"]),
        (&json!(0), &json!([]))
    );
    assert!(!answer["content"].as_str().unwrap().contains("hasUnit"));
}
