//! applyPattern: one mapped box becomes a whole floor, or nothing does.

use chrono::{DateTime, Utc};
use mock_station::model::Station;
use mock_station::model::accounts::BRIDGE;
use mock_station::site::{Harborview, SiteOptions};
use serde_json::{Value, json};

use crate::station_bench::Bench;

const NOW: &str = "2026-11-02T15:20:00Z";
const FLOOR: &str = "station:|slot:/Drivers/BacnetNetwork/$31st$20Floor$20VAVs";

/// Harborview with the first box of the first floor mapped as suggested.
async fn one_box_mapped(edit: impl FnOnce(&mut Station)) -> Bench {
    let now: DateTime<Utc> = NOW.parse().unwrap();
    let mut site = Harborview::build(SiteOptions::for_tests(now)).unwrap();
    edit(&mut site.station);
    let bench = Bench::serving(site.station, now, |_| {}, BRIDGE).await;
    bench
        .answer("importKnowledge", json!({"source": "standard"}))
        .await;
    bench
        .answer(
            "createSpace",
            json!({"id": "floor-1", "name": "First floor"}),
        )
        .await;
    let ord = format!("{FLOOR}/VAV$2d1$2d01");
    let found = bench.answer("suggestMapping", json!({"ord": ord})).await;
    let unit = &found["equipment"][0];
    let mut points =
        json!({"oat": "station:|slot:/Drivers/NiagaraNetwork/Roof_JACE/points/OA$2dT"});
    for point in unit["points"].as_array().unwrap() {
        if let Some(role) = point["role"].as_str() {
            points[role] = point["ord"].clone();
        }
    }
    let entry = json!({"id": "vav-1-01", "name": "VAV 1-01", "type": unit["type"], "ord": unit["ord"],
                       "space": "floor-1", "points": points});
    bench.answer("createEquipment", entry).await;
    bench
}

fn ids(answer: &Value) -> Vec<&str> {
    answer["siblings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|sibling| sibling["id"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_floor_is_mapped_from_one_box_after_its_plan_was_shown() {
    let bench = one_box_mapped(|_| {}).await;
    let before = std::fs::read(bench.knowledge.path()).unwrap();
    let plan = bench
        .answer("applyPattern", json!({"equipmentId": "vav-1-01"}))
        .await;
    assert_eq!(
        ids(&plan),
        [
            "vav-1-02", "vav-1-03", "vav-1-04", "vav-1-05", "vav-1-06", "vav-1-07", "vav-1-08"
        ]
    );
    assert_eq!(
        (&plan["ready"], &plan["dryRun"], &plan["created"]),
        (&json!(true), &json!(true), &json!(0))
    );
    // The controller that was never installed has three of the points.
    assert_eq!(plan["unlike"][0]["found"], json!(3));
    let roles = plan["patternPoints"].as_u64().unwrap();
    for sibling in plan["siblings"].as_array().unwrap() {
        let points = sibling["points"].as_array().unwrap();
        assert_eq!(points.len() as u64, roles, "{sibling}");
        let shared: Vec<&Value> = points
            .iter()
            .filter(|point| point["found"] == "shared")
            .collect();
        assert_eq!(shared.len(), 1);
        assert_eq!(shared[0]["role"], "oat");
    }
    assert_eq!(
        std::fs::read(bench.knowledge.path()).unwrap(),
        before,
        "a plan changes nothing"
    );

    let done = bench
        .answer(
            "applyPattern",
            json!({"equipmentId": "vav-1-01", "dryRun": false}),
        )
        .await;
    assert_eq!(done["created"], json!(7));
    let model = bench.knowledge.snapshot().model;
    let sixth = model.equipment("vav-1-06").expect("the sixth box");
    assert_eq!(sixth.name.as_deref(), Some("VAV 1-06"));
    assert_eq!(
        (sixth.equipment_type.as_deref(), sixth.space.as_deref()),
        (Some("vav"), Some("floor-1"))
    );
    assert_eq!(
        sixth.ord.as_deref(),
        Some(format!("{FLOOR}/VAV$2d1$2d06").as_str())
    );
    assert_eq!(
        sixth.points["space_temp"],
        format!("{FLOOR}/VAV$2d1$2d06/points/ZN$2dT")
    );
    let checked = bench.answer("validateKnowledge", json!({})).await;
    let about_boxes: Vec<&Value> = checked["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|warning| {
            warning.as_str().unwrap().contains("vav-1-0")
                && !warning.as_str().unwrap().contains("oat")
        })
        .collect();
    assert!(about_boxes.is_empty(), "{about_boxes:?}");

    let again = bench
        .answer("applyPattern", json!({"equipmentId": "vav-1-01"}))
        .await;
    assert_eq!(again["alreadyMapped"].as_array().unwrap().len(), 7);
    assert_eq!(again["ready"], json!(false));
    let once_more = json!({"equipmentId": "vav-1-01", "dryRun": false});
    let (_, message, _) = bench.failure("applyPattern", once_more).await;
    for named in [
        "VAV-1-02 as 'vav-1-02'",
        "and 2 more",
        "VAV-1-09 (spare) (3 points)",
    ] {
        assert!(message.contains(named), "{message}");
    }
}

#[tokio::test]
async fn one_box_without_a_point_holds_back_all_until_that_is_allowed() {
    let bench = one_box_mapped(|station| {
        let ord = format!(
            "{}/VAV$2d1$2d05/points/SA$2dF",
            FLOOR.trim_start_matches("station:|")
        );
        let point = station.resolve_component(&ord).unwrap();
        station.remove_component(point).unwrap();
    })
    .await;
    let before = std::fs::read(bench.knowledge.path()).unwrap();
    let arguments = json!({"equipmentId": "vav-1-01", "dryRun": false});
    let (code, message, data) = bench.failure("applyPattern", arguments).await;
    assert_eq!(code, -32602, "{message}");
    assert_eq!(data["siblings"].as_array().unwrap().len(), 1);
    let ord = data["siblings"][0]["ord"].as_str().unwrap();
    assert!(ord.ends_with("VAV$2d1$2d05"), "{ord}");
    assert!(
        message.contains("1 of 7 siblings")
            && message.contains("VAV-1-05: 1 of the pattern's points are missing"),
        "{message}"
    );
    assert_eq!(
        std::fs::read(bench.knowledge.path()).unwrap(),
        before,
        "all or none"
    );

    let arguments = json!({"equipmentId": "vav-1-01", "dryRun": false, "allowMissing": true});
    let done = bench.answer("applyPattern", arguments).await;
    assert_eq!(done["created"], json!(7));
    let model = bench.knowledge.snapshot().model;
    let fifth = model.equipment("vav-1-05").unwrap();
    assert!(!fifth.points.contains_key("airflow") && fifth.points.contains_key("damper"));
}

#[tokio::test]
async fn taken_ids_are_refused_or_numbered_as_asked() {
    let bench = one_box_mapped(|_| {}).await;
    let other = json!({"id": "vav-1-02", "name": "Other", "type": "vav", "ord": "station:|slot:/Elsewhere"});
    bench.answer("createEquipment", other).await;
    let siblings = json!([
        format!("{FLOOR}/VAV$2d1$2d02"),
        format!("{FLOOR}/VAV$2d1$2d03")
    ]);
    let arguments = json!({"equipmentId": "vav-1-01", "siblings": siblings, "dryRun": false});
    let (_, message, data) = bench.failure("applyPattern", arguments).await;
    assert!(
        message.contains("VAV-1-02: the id 'vav-1-02' is taken"),
        "{message}"
    );
    assert!(
        data["siblings"][0]["problems"][0]
            .as_str()
            .unwrap()
            .contains("vav-1-02")
    );

    let arguments = json!({"equipmentId": "vav-1-01", "siblings": siblings, "dryRun": false,
                           "onCollision": "suffix", "space": ""});
    let done = bench.answer("applyPattern", arguments).await;
    assert_eq!(ids(&done), ["vav-1-02-2", "vav-1-03"]);
    let model = bench.knowledge.snapshot().model;
    assert_eq!(model.equipment("vav-1-03").unwrap().space, None);
}

#[tokio::test]
async fn another_installers_box_is_no_copy_and_is_told_apart() {
    let bench = one_box_mapped(|_| {}).await;
    let under = "station:|slot:/Drivers/BacnetNetwork/$32nd$20Floor$20VAVs";
    let plan = bench
        .answer(
            "applyPattern",
            json!({"equipmentId": "vav-1-01", "under": under}),
        )
        .await;
    assert_eq!(plan["siblings"], json!([]));
    assert_eq!(plan["unlike"].as_array().unwrap().len(), 8);

    // Case does not matter in the schemes of an ord, as on the station.
    let loud = format!("{under}/VAV_2_01").replace("station:|slot:", "STATION:|Slot:");
    let named = json!({"equipmentId": "vav-1-01", "siblings": [loud]});
    let plan = bench.answer("applyPattern", named).await;
    let sibling = &plan["siblings"][0];
    assert_eq!(plan["ready"], json!(false));
    assert_eq!(sibling["ord"], format!("{under}/VAV_2_01"));
    assert!(sibling["missing"].as_array().unwrap().len() > 8);
    assert!(sibling["extraCount"].as_u64() > Some(8));

    let unknown = json!({"equipmentId": "vav-9"});
    let (code, _, data) = bench.failure("applyPattern", unknown).await;
    assert_eq!((code, &data["id"]), (-32602, &json!("vav-9")));
    let itself = json!({"equipmentId": "vav-1-01", "siblings": [format!("{FLOOR}/VAV$2d1$2d01")]});
    let (code, message, _) = bench.failure("applyPattern", itself).await;
    assert_eq!(code, -32602);
    assert!(message.contains("pattern itself"), "{message}");
}

#[tokio::test]
async fn a_pattern_that_the_station_does_not_have_any_more_is_refused() {
    let bench = one_box_mapped(|_| {}).await;
    let gone = json!({"equipmentId": "vav-1-01", "role": "co2", "ord": format!("{FLOOR}/VAV$2d1$2d01/points/Gone")});
    bench.answer("assignPointToEquipment", gone).await;
    let (code, _, data) = bench
        .failure("applyPattern", json!({"equipmentId": "vav-1-01"}))
        .await;
    assert_eq!((code, &data["role"]), (-32006, &json!("co2")));
}

#[tokio::test]
async fn a_plan_into_a_space_that_does_not_exist_is_not_called_ready() {
    let bench = one_box_mapped(|_| {}).await;
    for dry_run in [true, false] {
        let arguments = json!({"equipmentId": "vav-1-01", "space": "flor-1", "dryRun": dry_run});
        let (code, message, data) = bench.failure("applyPattern", arguments).await;
        assert_eq!(
            (code, &data["nearest"]),
            (-32602, &json!("floor-1")),
            "{message}"
        );
    }
}
