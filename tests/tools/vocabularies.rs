//! The model of the demo site in the vocabularies of others, with what its station says about the points.

use chrono::{DateTime, Utc};
use mock_station::model::accounts::BRIDGE;
use mock_station::site::{Harborview, SiteOptions};
use mock_station::switches::Switches;
use niagara_bridge::knowledge::{DocumentFormat, demo_model};
use serde_json::{Value, json};

use crate::support::Bench;

async fn unmapped(switch: impl FnOnce(&mut Switches)) -> Bench {
    let now: DateTime<Utc> = "2026-11-02T15:20:00Z".parse().unwrap();
    let site = Harborview::build(SiteOptions::for_tests(now)).unwrap();
    Bench::serving(site.station, now, switch, BRIDGE).await
}

async fn bench() -> Bench {
    let bench = unmapped(|_| {}).await;
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

#[tokio::test]
async fn tags_on_the_station_become_entries_with_the_right_roles() {
    let bench = unmapped(|_| {}).await;
    let answer = bench
        .answer("importKnowledge", json!({"source": "haystack"}))
        .await;
    assert_eq!(
        answer["found"],
        json!({"sites": 1, "spaces": 1, "equipment": 4, "points": 25})
    );
    assert_eq!(
        (&answer["added"], &answer["skipped"]),
        (&json!(2 + 2 + 4), &json!(0))
    );
    let station = "station:|slot:/Drivers/BacnetNetwork";
    assert_eq!(
        answer["ambiguous"],
        json!([{"ord": format!("{station}/AHU_2/points/DuctStatic"),
                "problem": "no role has these markers; the point was left out"}])
    );
    let model = bench.knowledge.snapshot().model;
    let truth = demo_model::harborview().unwrap();
    for entry in &model.document().equipment {
        let ord = entry.ord.as_ref().unwrap();
        let expected = truth
            .equipment
            .iter()
            .find(|known| known.ord.as_ref() == Some(ord))
            .unwrap();
        assert_eq!(entry.equipment_type, expected.equipment_type, "{ord}");
        for (role, point) in &entry.points {
            assert_eq!(Some(point), expected.points.get(role), "{ord}: {role}");
        }
    }
    let unit = model.equipment("ahu-2").unwrap();
    assert_eq!(
        (unit.points.len(), unit.space.as_deref()),
        (9, Some("harborview"))
    );
    let zone = model.equipment("vav-2-03").unwrap();
    assert_eq!(
        (zone.points.len(), zone.space.as_deref()),
        (5, Some("second-floor"))
    );
    assert_eq!(zone.extra["served_by"], json!(["ahu-2"]), "by a relation");
    assert_eq!(
        model.space("second-floor").unwrap().parent.as_deref(),
        Some("harborview")
    );

    let again = bench
        .answer("importKnowledge", json!({"source": "haystack"}))
        .await;
    assert_eq!(
        (&again["added"], &again["alreadyMapped"]),
        (&json!(0), &json!(31))
    );
}

#[tokio::test]
async fn tags_are_merged_into_what_is_mapped_and_never_over_it() {
    let bench = bench().await;
    let before = bench
        .knowledge
        .snapshot()
        .model
        .document()
        .equipment
        .clone();
    let answer = bench
        .answer("importKnowledge", json!({"source": "haystack"}))
        .await;
    let after = bench.knowledge.snapshot().model;
    assert_eq!(after.document().equipment, before);
    assert_eq!(
        answer["sections"]["equipment"],
        json!({"added": 0, "skipped": 0})
    );
    assert_eq!(answer["ambiguous"], json!([]));

    let error = bench
        .call(
            "importKnowledge",
            json!({"source": "haystack", "mode": "replace"}),
        )
        .await;
    assert_eq!(
        (&error["isError"], &error["errorCode"]),
        (&json!(true), &json!(-32602))
    );
}

#[tokio::test]
async fn a_folder_without_tags_and_one_that_is_not_there() {
    let bench = unmapped(|_| {}).await;
    let arguments = json!({"source": "haystack", "under": "station:|slot:/Services"});
    let answer = bench.answer("importKnowledge", arguments).await;
    assert_eq!(
        answer["found"],
        json!({"sites": 0, "spaces": 0, "equipment": 0, "points": 0})
    );
    let floor = "station:|slot:/Drivers/BacnetNetwork/$32nd$20Floor$20VAVs";
    let answer = bench
        .answer(
            "importKnowledge",
            json!({"source": "haystack", "under": floor}),
        )
        .await;
    assert_eq!(
        answer["found"],
        json!({"sites": 0, "spaces": 1, "equipment": 3, "points": 15})
    );
}

#[tokio::test]
async fn a_wrong_under_is_named_and_no_query_that_nobody_wrote_is_shown() {
    let ways: [fn(&mut Switches); 2] = [|_| {}, |switches| switches.export.csv_exporter = false];
    for way in ways {
        let bench = unmapped(way).await;
        for under in [
            "station:|slot:/Nowhere",
            "slot:/Drivers/BacnetNetwork/AHU_2/points/Gone",
            "h:ffff",
            "AHU_2",
            "history:/Harborview/X",
            "station:|slot:/A|bql:select *",
        ] {
            let arguments = json!({"source": "haystack", "under": under});
            let error = bench.call("importKnowledge", arguments).await;
            assert_eq!(error["errorCode"], json!(-32006), "{under}: {error}");
            assert_eq!(error["errorData"]["argument"], "under", "{error}");
            let text = error["content"][0]["text"].as_str().unwrap();
            assert!(text.contains("'under'"), "{text}");
            assert!(
                !text.contains("slotExists") && !text.contains("baja:Component"),
                "{text}"
            );
        }
    }
}

#[tokio::test]
async fn tags_are_read_over_box_alone_and_not_without_it() {
    let under = "station:|slot:/Drivers/BacnetNetwork/AHU_2";
    let arguments = json!({"source": "haystack", "under": under});
    let bench = unmapped(|switches| switches.export.csv_exporter = false).await;
    let answer = bench.answer("importKnowledge", arguments.clone()).await;
    assert_eq!(
        answer["found"],
        json!({"sites": 0, "spaces": 0, "equipment": 1, "points": 10})
    );
    assert_eq!(
        bench
            .knowledge
            .snapshot()
            .model
            .equipment("ahu-2")
            .unwrap()
            .points
            .len(),
        9
    );

    let bench = unmapped(|switches| switches.boxs.present = false).await;
    let error = bench.call("importKnowledge", arguments).await;
    assert_eq!(error["errorData"]["kind"], "interface-missing", "{error}");
    assert!(
        bench
            .knowledge
            .snapshot()
            .model
            .document()
            .equipment
            .is_empty()
    );
}
