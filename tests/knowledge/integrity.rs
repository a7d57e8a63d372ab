//! Every reference of the model is checked against the station, with few requests.

use mock_station::faults::{Fault, FaultKind};
use mock_station::switches::ObixMode;
use serde_json::{Value, json};

use crate::harborview;
use crate::station_bench::Bench;
use crate::ways::WAYS;

/// A broken reference without the station's own words.
fn reasons(answer: &Value) -> Vec<Value> {
    let broken = answer["brokenRefs"].as_array().expect("a list").iter();
    broken
        .map(|entry| {
            let mut entry = entry.clone();
            entry
                .as_object_mut()
                .expect("an object")
                .shift_remove("detail");
            entry
        })
        .collect()
}

async fn break_some(bench: &Bench) {
    harborview::map(bench, |document| {
        let ahu = document
            .equipment
            .iter_mut()
            .find(|entry| entry.id == "ahu-1")
            .expect("ahu-1");
        ahu.ord = Some("station:|slot:/Drivers/BacnetNetwork/AHU9".to_owned());
        let role = ahu.points.keys().next().expect("a role").clone();
        let point = ahu.points[&role].clone();
        ahu.points.insert("out".to_owned(), format!("{point}/out"));
        ahu.points
            .insert("value".to_owned(), format!("{point}/out/value"));
        ahu.points.insert("nothing".to_owned(), String::new());
        ahu.points
            .insert("nonsense".to_owned(), "no ord".to_owned());
        ahu.points
            .insert("slotless".to_owned(), format!("{point}/noSuchSlot"));
        ahu.points.insert(
            "deep".to_owned(),
            "slot:/Drivers/BacnetNetwork/AHU9/points/X".to_owned(),
        );
    })
    .await;
}

fn expected() -> Vec<Value> {
    let ahu = |role: &str, ord: Value, reason: &str| json!({"equipment": "ahu-1", "field": "points", "role": role, "ord": ord, "reason": reason});
    vec![
        json!({"equipment": "ahu-1", "field": "ord", "ord": "station:|slot:/Drivers/BacnetNetwork/AHU9", "reason": "unresolvable"}),
        ahu("nothing", json!(""), "empty"),
        ahu("nonsense", json!("no ord"), "unresolvable"),
        ahu("slotless", Value::Null, "unresolvable"),
        ahu(
            "deep",
            json!("slot:/Drivers/BacnetNetwork/AHU9/points/X"),
            "unresolvable",
        ),
    ]
}

#[tokio::test]
async fn the_model_of_the_site_is_sound_and_costs_few_requests() {
    let bench = harborview::mapped().await;
    bench.answer("getServiceHealth", json!({})).await;
    bench.mock.clear_logs();
    let answer = bench.answer("checkKnowledgeIntegrity", json!({})).await;
    assert_eq!(
        (&answer["brokenCount"], &answer["brokenRefs"]),
        (&json!(0), &json!([]))
    );
    assert_eq!(answer["totalRefs"], answer["validRefs"]);
    assert!(answer["totalRefs"].as_u64() > Some(300), "{answer}");
    let requests = bench.mock.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
}

#[tokio::test]
async fn broken_references_are_named_with_their_reason_over_every_interface() {
    for (way, switch) in WAYS {
        let bench = harborview::site(switch, |_| {}).await;
        break_some(&bench).await;
        let answer = bench.answer("checkKnowledgeIntegrity", json!({})).await;
        let mut found = reasons(&answer);
        for entry in &mut found {
            if entry["role"] == "slotless" {
                entry["ord"] = Value::Null;
            }
        }
        assert_eq!(found, expected(), "{way}");
        assert_eq!(answer["brokenCount"], json!(5), "{way}");
        let (total, valid) = (answer["totalRefs"].as_u64(), answer["validRefs"].as_u64());
        assert_eq!(
            total.zip(valid).map(|(total, valid)| total - valid),
            Some(5),
            "{way}"
        );
    }
}

#[tokio::test]
async fn a_station_that_tells_of_components_only_says_so_of_properties() {
    let bench = harborview::site(
        |switches| {
            switches.boxs.present = false;
            switches.obix.mode = ObixMode::NoServlet;
        },
        |_| {},
    )
    .await;
    break_some(&bench).await;
    let answer = bench.answer("checkKnowledgeIntegrity", json!({})).await;
    let broken = answer["brokenRefs"].as_array().expect("a list");
    let property = broken
        .iter()
        .find(|entry| entry["role"] == "out")
        .expect("the output");
    assert_eq!(property["reason"], "unresolvable");
    let detail = property["detail"].as_str().expect("a detail");
    assert!(detail.contains("without BOX or oBIX"), "{detail}");
    assert_eq!(answer["brokenCount"], json!(7));
}

#[tokio::test]
async fn a_list_of_broken_references_comes_in_pages() {
    let bench = harborview::site(|_| {}, |_| {}).await;
    break_some(&bench).await;
    let first = bench
        .answer("checkKnowledgeIntegrity", json!({"limit": 3}))
        .await;
    let rest = bench
        .answer(
            "checkKnowledgeIntegrity",
            json!({"limit": 3, "offset": first["nextOffset"]}),
        )
        .await;
    assert_eq!(
        (&first["brokenCount"], rest.get("nextOffset")),
        (&json!(5), None)
    );
    let all: Vec<Value> = reasons(&first).into_iter().chain(reasons(&rest)).collect();
    assert_eq!(all.len(), 5);
    assert_eq!(all[1], expected()[1]);
}

#[tokio::test]
async fn a_standalone_point_is_named_by_both_its_keys() {
    let bench = harborview::site(|_| {}, |_| {}).await;
    harborview::map(&bench, |document| {
        document.equipment.clear();
        document.points = vec![Default::default()];
        document.points[0].id = "lobby".to_owned();
        document.points[0].ord = Some("h:fffffff".to_owned());
    })
    .await;
    let answer = bench.answer("checkKnowledgeIntegrity", json!({})).await;
    assert_eq!(
        reasons(&answer),
        [
            json!({"standalonePoint": "lobby", "point": "lobby", "ord": "h:fffffff", "reason": "unresolvable"})
        ]
    );
}

#[tokio::test]
async fn without_references_the_station_is_not_asked_and_without_a_station_the_error_says_so() {
    let empty = Bench::new().await;
    let answer = empty.answer("checkKnowledgeIntegrity", json!({})).await;
    assert_eq!(
        answer,
        json!({"totalRefs": 0, "validRefs": 0, "brokenCount": 0, "brokenRefs": []})
    );
    assert_eq!(empty.mock.requests().len(), 0);

    let bench = harborview::mapped().await;
    let cut = Fault::new(FaultKind::Cut);
    bench.mock.faults().set(cut).expect("a fault");
    let (code, message, data) = bench.failure("checkKnowledgeIntegrity", json!({})).await;
    assert_eq!(
        (code, &data["kind"]),
        (-32603, &json!("station-unreachable")),
        "{message}"
    );
}

#[tokio::test]
async fn what_the_account_may_not_see_is_denied_and_not_gone() {
    let hidden = "slot:/Drivers/BacnetNetwork/AHU1/points/SA_CFM";
    let bench = harborview::site(
        |_| {},
        |station| {
            let point = station.resolve_component(hidden).expect("a point");
            // A category that no role of the account has.
            station
                .set_categories(point, Some(1 << 40))
                .expect("a category");
        },
    )
    .await;
    harborview::map(&bench, |_| {}).await;
    let answer = bench.answer("checkKnowledgeIntegrity", json!({})).await;
    let found: Vec<(String, String)> = reasons(&answer)
        .iter()
        .map(|entry| (entry["ord"].to_string(), entry["reason"].to_string()))
        .collect();
    let ord = json!(format!("station:|{hidden}")).to_string();
    assert_eq!(found, [(ord, "\"denied\"".to_owned())]);
}
