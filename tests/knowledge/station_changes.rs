//! An integrator comes back after months and asks what changed on the station.

use mock_station::model::Station;
use serde_json::{Value, json};

use crate::harborview;
use crate::station_bench::Bench;
use crate::ways::WAYS;

const AHU2: &str = "slot:/Drivers/BacnetNetwork/AHU_2";

fn rename(station: &mut Station, path: &str, new: &str) {
    let (parent, old) = path.rsplit_once('/').expect("a path");
    let parent = station.resolve_component(parent).expect("a component");
    station.rename(parent, old, new).expect("a rename");
}

fn remove(station: &mut Station, path: &str) {
    let component = station.resolve_component(path).expect("a component");
    station.remove_component(component).expect("a removal");
}

fn descendants(station: &Station, path: &str) -> usize {
    let component = station.resolve_component(path).expect("a component");
    station.descendants(component).count() - 1
}

/// The ords of a list of changes.
fn ords(list: &Value) -> Vec<&str> {
    let entries = list.as_array().expect("a list").iter();
    entries
        .map(|entry| entry["ord"].as_str().expect("an ord"))
        .collect()
}

async fn verified(bench: &Bench) -> Value {
    bench
        .answer("diffStation", json!({"markVerified": true}))
        .await
}

#[tokio::test]
async fn before_the_first_verification_there_is_nothing_to_compare_with() {
    let bench = harborview::mapped().await;
    let answer = bench.answer("diffStation", json!({})).await;
    assert_eq!(
        (&answer["hasBaseline"], &answer["changeCount"]),
        (&json!(false), &json!(0))
    );
    assert_eq!(answer["folders"], json!([]));
    assert!(
        !answer["unverifiedFolders"]
            .as_array()
            .expect("a list")
            .is_empty()
    );
    assert!(
        answer["hint"]
            .as_str()
            .expect("a hint")
            .contains("markVerified")
    );

    let marked = verified(&bench).await;
    assert_eq!(marked["markedVerified"], json!(true));
    let file = std::fs::read_to_string(marked["baselineFile"].as_str().expect("a file"))
        .expect("the file");
    let baseline: Value = serde_json::from_str(&file).expect("JSON");
    assert_eq!(
        baseline["components"].as_array().expect("a list").len() as u64,
        marked["componentCount"].as_u64().expect("a count")
    );
    let keys: Vec<&String> = baseline["components"][0]
        .as_object()
        .expect("an object")
        .keys()
        .collect();
    assert_eq!(
        keys,
        ["path", "type", "handle"],
        "nothing but the place and kind of a component is kept"
    );

    let answer = bench.answer("diffStation", json!({})).await;
    assert_eq!(
        (&answer["hasBaseline"], &answer["changeCount"]),
        (&json!(true), &json!(0))
    );
    assert_eq!(
        (&answer["verifiedBy"], &answer["unverifiedFolders"]),
        (&json!("service"), &json!([]))
    );
    assert_eq!(answer["folders"], marked["unverifiedFolders"]);
    assert_eq!(answer.get("hint"), None);
}

#[tokio::test]
async fn each_kind_of_change_is_told_with_the_references_it_touches() {
    let bench = harborview::mapped().await;
    verified(&bench).await;
    let gone = format!("{AHU2}/points/SA_Temp");
    let renamed = "slot:/Drivers/BacnetNetwork/AHU$2d3$20Roof";
    let retyped = "slot:/Drivers/BacnetNetwork/AHU1/points/SA_CFM";
    let (below_renamed, below_gone, type_before) = {
        let mut station = bench.mock.station().write();
        let below_renamed = descendants(&station, renamed);
        let below_gone = descendants(&station, &gone);
        let point = station.resolve_component(retyped).expect("a point");
        let type_before = station
            .component(point)
            .expect("a point")
            .ty()
            .spec()
            .to_owned();
        remove(&mut station, &gone);
        rename(&mut station, renamed, "Roof_Unit");
        remove(&mut station, retyped);
        let folder = station
            .resolve_component("slot:/Drivers/BacnetNetwork/AHU1/points")
            .expect("a folder");
        station
            .add(folder, Some("SA_CFM"), "control:BooleanWritable")
            .expect("a point");
        station
            .add(folder, Some("CO2"), "control:NumericWritable")
            .expect("a point");
        (below_renamed, below_gone, type_before)
    };
    let answer = bench.answer("diffStation", json!({})).await;
    assert_eq!(answer["changeCount"], json!(4), "{answer}");

    assert_eq!(ords(&answer["gone"]), [format!("station:|{gone}")]);
    assert_eq!(answer["gone"][0]["descendants"], json!(below_gone));
    let reference = &answer["gone"][0]["references"][0];
    assert_eq!(
        (
            &reference["equipment"],
            &reference["ord"],
            reference.get("newOrd")
        ),
        (&json!("ahu-2"), &json!(format!("station:|{gone}")), None)
    );

    let change = &answer["renamed"][0];
    assert_eq!(change["ord"], json!(format!("station:|{renamed}")));
    assert_eq!(
        change["newOrd"],
        json!("station:|slot:/Drivers/BacnetNetwork/Roof_Unit")
    );
    assert_eq!(
        (&change["basis"], &change["moved"], &change["descendants"]),
        (&json!("handle"), &json!(false), &json!(below_renamed))
    );
    let model = bench.knowledge.snapshot().model;
    let ahu = model.equipment("ahu-3").expect("ahu-3");
    let of_ahu: Vec<(String, String)> = change["references"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|reference| reference["equipment"] == "ahu-3" && reference["field"] == "points")
        .map(|reference| {
            (
                reference["ord"].as_str().expect("an ord").to_owned(),
                reference["newOrd"].as_str().expect("an ord").to_owned(),
            )
        })
        .collect();
    let expected: Vec<(String, String)> = ahu
        .points
        .values()
        .filter(|ord| ord.contains("/AHU$2d3$20Roof/"))
        .map(|ord| (ord.clone(), ord.replace("/AHU$2d3$20Roof/", "/Roof_Unit/")))
        .collect();
    assert!(!expected.is_empty());
    assert_eq!(of_ahu, expected);
    for (_, new) in &of_ahu {
        bench.answer("readPoint", json!({"ord": new})).await;
    }

    assert_eq!(
        ords(&answer["new"]),
        ["station:|slot:/Drivers/BacnetNetwork/AHU1/points/CO2"]
    );
    let change = &answer["typeChanged"][0];
    assert_eq!(
        (&change["ord"], &change["before"], &change["now"]),
        (
            &json!(format!("station:|{retyped}")),
            &json!(type_before),
            &json!("control:BooleanWritable")
        )
    );
    assert_eq!(change["references"][0]["newOrd"], change["ord"]);
    assert!(
        answer["hint"]
            .as_str()
            .expect("a hint")
            .contains("updateEquipment")
    );

    let marked = verified(&bench).await;
    assert_eq!(
        (&marked["changeCount"], &marked["markedVerified"]),
        (&json!(4), &json!(true))
    );
    let after = bench.answer("diffStation", json!({})).await;
    assert_eq!(after["changeCount"], json!(0));
}

#[tokio::test]
async fn a_component_that_moved_elsewhere_is_found_by_its_handle() {
    let bench = harborview::mapped().await;
    verified(&bench).await;
    rename(
        &mut bench.mock.station().write(),
        "slot:/Drivers/BacnetNetwork",
        "Field_Bus",
    );
    let answer = bench.answer("diffStation", json!({})).await;
    let change = &answer["renamed"][0];
    assert_eq!(
        (&change["ord"], &change["newOrd"]),
        (
            &json!("station:|slot:/Drivers/BacnetNetwork"),
            &json!("station:|slot:/Drivers/Field_Bus")
        )
    );
    assert_eq!(answer["changeCount"], json!(1), "{answer}");
}

#[tokio::test]
async fn every_interface_with_tables_tells_the_same() {
    for (way, switch) in WAYS.into_iter().filter(|(way, _)| *way != "oBIX") {
        let bench = harborview::with_switches(switch).await;
        verified(&bench).await;
        rename(&mut bench.mock.station().write(), AHU2, "Second");
        let answer = bench.answer("diffStation", json!({})).await;
        assert_eq!(answer["changeCount"], json!(1), "{way}: {answer}");
        let new = "station:|slot:/Drivers/BacnetNetwork/Second";
        assert_eq!(
            (
                &answer["renamed"][0]["newOrd"],
                &answer["renamed"][0]["basis"]
            ),
            (&json!(new), &json!("handle")),
            "{way}"
        );
    }
}

#[tokio::test]
async fn what_was_mapped_since_is_not_compared_and_lists_are_cut_at_the_limit() {
    let bench = harborview::site(|_| {}, |_| {}).await;
    harborview::map(&bench, |document| {
        document.points.clear();
        document.equipment.retain(|entry| entry.id == "ahu-1");
        document.equipment[0].ord = None;
        document.equipment[0]
            .points
            .retain(|_, ord| ord.contains("/AHU1/points/"));
    })
    .await;
    verified(&bench).await;
    harborview::map(&bench, |_| {}).await;
    {
        let mut station = bench.mock.station().write();
        let folder = station
            .resolve_component("slot:/Drivers/BacnetNetwork/AHU1/points")
            .expect("a folder");
        for _ in 0..3 {
            station
                .add(folder, Some("New"), "control:NumericWritable")
                .expect("a point");
        }
        let elsewhere = station
            .resolve_component(&format!("{AHU2}/points"))
            .expect("a folder");
        station
            .add(elsewhere, Some("New"), "control:NumericWritable")
            .expect("a point");
    }
    let answer = bench.answer("diffStation", json!({"limit": 2})).await;
    assert_eq!(
        answer["folders"],
        json!(["slot:/Drivers/BacnetNetwork/AHU1/points"].map(|path| format!("station:|{path}")))
    );
    assert!(
        !answer["unverifiedFolders"]
            .as_array()
            .expect("a list")
            .is_empty()
    );
    assert_eq!(
        (&answer["changeCount"], &answer["truncated"]),
        (&json!(3), &json!(true))
    );
    assert_eq!(ords(&answer["new"]).len(), 2);
}

#[tokio::test]
async fn a_baseline_that_cannot_be_understood_is_named_and_replaced_on_demand() {
    let bench = harborview::mapped().await;
    let path = bench
        .knowledge
        .path()
        .with_file_name("knowledge.baseline.json");
    std::fs::write(&path, "{").expect("a file");
    let (code, message, data) = bench.failure("diffStation", json!({})).await;
    assert_eq!(
        (code, &data["path"]),
        (-32004, &json!(path.display().to_string()))
    );
    assert!(message.contains("markVerified"), "{message}");
    let marked = verified(&bench).await;
    assert_eq!(
        (&marked["hasBaseline"], &marked["markedVerified"]),
        (&json!(false), &json!(true))
    );
    let answer = bench.answer("diffStation", json!({})).await;
    assert_eq!(
        (&answer["hasBaseline"], &answer["changeCount"]),
        (&json!(true), &json!(0))
    );
}

#[tokio::test]
async fn a_list_that_was_cut_off_proves_nothing() {
    let bench = harborview::mapped().await;
    verified(&bench).await;
    let half =
        mock_station::faults::Fault::new(mock_station::faults::FaultKind::HalfBody { bytes: None })
            .on(mock_station::faults::Interface::Ord);
    bench.mock.faults().set(half).expect("a fault");
    let (code, _, data) = bench.failure("diffStation", json!({})).await;
    let kind = data["kind"].as_str().expect("a kind");
    assert_eq!(code, -32603);
    assert!(
        ["station-timeout", "station-unreachable", "station-protocol"].contains(&kind),
        "{kind}"
    );
}

#[tokio::test]
async fn another_station_than_the_verified_one_is_told_and_marked_only_when_accepted() {
    let bench = harborview::mapped().await;
    let marked = verified(&bench).await;
    assert_eq!(marked["otherStation"], json!(false));
    let name = marked["station"].clone();
    assert!(name.is_string(), "{marked}");
    let same = bench.answer("diffStation", json!({})).await;
    assert_eq!(
        (&same["verifiedStation"], &same["otherStation"]),
        (&name, &json!(false))
    );

    // The folder of a bridge that was used at another site.
    let path = bench
        .knowledge
        .path()
        .with_file_name("knowledge.baseline.json");
    let text = std::fs::read_to_string(&path).expect("the baseline");
    let mut baseline: Value = serde_json::from_str(&text).expect("JSON");
    baseline["station"]["name"] = json!("Elsewhere");
    let elsewhere = baseline.to_string();
    std::fs::write(&path, &elsewhere).expect("a file");

    let answer = bench.answer("diffStation", json!({})).await;
    assert_eq!(
        (&answer["station"], &answer["verifiedStation"]),
        (&name, &json!("Elsewhere"))
    );
    assert_eq!(answer["otherStation"], json!(true));
    let hint = answer["hint"].as_str().expect("a hint");
    assert!(hint.contains("another station"), "{hint}");

    let (code, message, data) = bench
        .failure("diffStation", json!({"markVerified": true}))
        .await;
    assert_eq!(
        (code, data),
        (
            -32602,
            json!({"reason": "other-station", "station": name, "verifiedStation": "Elsewhere",
                "argument": "acceptOtherStation"})
        )
    );
    assert!(message.contains("'Elsewhere'"), "{message}");
    let kept = std::fs::read_to_string(&path).expect("the baseline");
    assert_eq!(kept, elsewhere, "the verified state stays");

    let accepted = bench
        .answer(
            "diffStation",
            json!({"markVerified": true, "acceptOtherStation": true}),
        )
        .await;
    assert_eq!(
        (&accepted["markedVerified"], &accepted["otherStation"]),
        (&json!(true), &json!(true))
    );
    let answer = bench.answer("diffStation", json!({})).await;
    assert_eq!(
        (&answer["verifiedStation"], &answer["otherStation"]),
        (&name, &json!(false))
    );
}
