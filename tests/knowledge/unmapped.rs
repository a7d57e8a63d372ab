//! What the station has and the model does not mention.

use std::collections::BTreeSet;

use mock_station::model::Station;
use niagara_bridge::knowledge::mapped::MappedOrds;
use serde_json::{Value, json};

use crate::harborview;
use niagara_bridge::knowledge::{KnowledgeDocument, demo_model};

use crate::station_bench::{Bench, ord_of};
use crate::ways::WAYS;

/// Ords of the model's control points below a component that the knowledge does not cover.
fn expected(bench: &Bench, below: &str) -> Vec<String> {
    let snapshot = bench.knowledge.snapshot();
    let mapped = MappedOrds::of(snapshot.model.document());
    let station: &Station = &bench.model();
    let start = station.resolve_component(below).expect("a component");
    station
        .descendants(start)
        .filter(|component| component.ty().is("control:ControlPoint"))
        .map(|component| ord_of(station, component.handle()))
        .filter(|ord| {
            let path = ord.trim_start_matches("station:|").parse().expect("a path");
            !mapped.covers(&path)
        })
        .collect()
}

fn ords(answer: &Value) -> Vec<String> {
    let items = answer["items"].as_array().expect("items").iter();
    items
        .map(|item| item["ord"].as_str().expect("an ord").to_owned())
        .collect()
}

async fn all_pages(bench: &Bench, under: Option<&str>, limit: usize) -> Vec<String> {
    let mut found = Vec::new();
    let mut arguments = json!({"typeName": "BControlPoint", "limit": limit});
    if let Some(under) = under {
        arguments["under"] = json!(under);
    }
    loop {
        let answer = bench
            .answer("findUnmappedComponents", arguments.clone())
            .await;
        let page = ords(&answer);
        assert_eq!(answer["unmappedCount"], json!(page.len()));
        assert_eq!(answer["typeName"], "control:ControlPoint");
        assert_eq!(
            answer["truncated"],
            json!(answer.get("nextOffset").is_some())
        );
        found.extend(page);
        match answer.get("nextOffset") {
            Some(next) => arguments["offset"] = next.clone(),
            None => return found,
        }
    }
}

#[tokio::test]
async fn pages_end_and_hold_exactly_what_is_not_mapped() {
    let bench = harborview::mapped().await;
    let expected = expected(&bench, "slot:/");
    assert!(expected.len() > 10, "{expected:?}");
    assert_eq!(all_pages(&bench, None, 7).await, expected);
    assert_eq!(all_pages(&bench, None, 1000).await, expected);
}

#[tokio::test]
async fn nothing_mapped_is_everything_unmapped_over_every_interface_with_tables() {
    for (way, switch) in WAYS.into_iter().filter(|(way, _)| *way != "oBIX") {
        let bench = harborview::site(switch, |_| {}).await;
        let points = expected(&bench, "slot:/");
        let answer = bench
            .answer(
                "findUnmappedComponents",
                json!({"typeName": "control:ControlPoint", "limit": 1000}),
            )
            .await;
        assert_eq!(ords(&answer), points, "{way}");
        assert_eq!(answer["scanned"], json!(points.len()), "{way}");
    }
}

#[tokio::test]
async fn one_part_of_the_station_is_looked_at_alone() {
    let bench = harborview::mapped().await;
    for under in [
        "station:|slot:/Drivers",
        "slot:/Services",
        "station:|slot:/Drivers/BacnetNetwork/AHU1",
    ] {
        assert_eq!(
            all_pages(&bench, Some(under), 20).await,
            expected(&bench, under),
            "{under}"
        );
    }
    let arguments = json!({"typeName": "BControlPoint", "under": "slot:/Nowhere"});
    let (code, _, data) = bench.failure("findUnmappedComponents", arguments).await;
    assert_eq!((code, &data["ord"]), (-32006, &json!("slot:/Nowhere")));
    let arguments = json!({"typeName": "no:Such"});
    let (code, _, data) = bench.failure("findUnmappedComponents", arguments).await;
    assert_eq!((code, &data["type"]), (-32005, &json!("no:Such")));
}

#[tokio::test]
async fn every_spelling_of_an_ord_maps_its_component() {
    let bench = harborview::site(|_| {}, |_| {}).await;
    let points = expected(&bench, "slot:/Drivers");
    let [by_station, by_host, relative, by_output, by_handle] = &points[..5] else {
        panic!("points");
    };
    let handle = bench.model().resolve_component(by_handle).expect("a point");
    let path = |ord: &str| ord.trim_start_matches("station:|").to_owned();
    let spellings = [
        by_station.clone(),
        format!("local:|{by_host}/"),
        path(relative),
        format!("{by_output}/out"),
        format!("h:{handle}"),
    ];
    harborview::map(&bench, move |document| {
        document.equipment.truncate(1);
        document.equipment[0].ord = None;
        document.equipment[0].points = spellings
            .into_iter()
            .enumerate()
            .map(|(number, ord)| (format!("role-{number}"), ord))
            .collect();
        document.points.clear();
    })
    .await;
    let mapped: BTreeSet<&String> = [by_station, by_host, relative, by_output, by_handle].into();
    let found = all_pages(&bench, Some("slot:/Drivers"), 1000).await;
    let rest: Vec<String> = points
        .iter()
        .filter(|ord| !mapped.contains(ord))
        .cloned()
        .collect();
    assert_eq!(found, rest);
}

/// The model with every ord by its handle, as some tools write them.
fn by_handles(bench: &Bench, document: &mut KnowledgeDocument) {
    let handle = |text: &mut String| {
        let found = bench.model().resolve_component(text);
        if let Ok(handle) = found {
            *text = format!("h:{handle}");
        }
    };
    for entry in &mut document.equipment {
        entry.ord.iter_mut().for_each(handle);
        entry.points.values_mut().for_each(handle);
    }
}

#[tokio::test]
async fn a_mapping_by_handle_counts_for_suggestions_patterns_and_differences() {
    let bench = harborview::site(|_| {}, |_| {}).await;
    let mut one = demo_model::harborview().expect("the model");
    one.equipment.retain(|entry| entry.id == "vav-1-01");
    one.points.clear();
    let ord = one.equipment[0].ord.clone().expect("an ord");
    let asked = [
        ("suggestMapping", json!({"ord": ord})),
        ("suggestMapping", json!({"ord": ord, "includeMapped": true})),
        ("applyPattern", json!({"equipmentId": "vav-1-01"})),
        ("diffStation", json!({})),
        (
            "findUnmappedComponents",
            json!({"typeName": "BControlPoint", "under": ord}),
        ),
    ];
    let mut answers = Vec::new();
    for with_handles in [false, true] {
        let mut document = one.clone();
        if with_handles {
            by_handles(&bench, &mut document);
            assert!(
                document.equipment[0]
                    .ord
                    .as_ref()
                    .unwrap()
                    .starts_with("h:")
            );
        }
        harborview::map(&bench, move |model| *model = document).await;
        let mut said = Vec::new();
        for (tool, arguments) in &asked {
            said.push(bench.answer(tool, arguments.clone()).await);
        }
        answers.push(said);
    }
    for (number, (tool, _)) in asked.iter().enumerate() {
        assert_eq!(answers[0][number], answers[1][number], "{tool}");
    }
    assert_eq!(answers[1][1]["equipment"][0]["mappedAs"], "vav-1-01");
}

#[tokio::test]
async fn a_property_is_refused_as_a_place_to_look_below_without_inner_queries() {
    let bench = harborview::site(|_| {}, |_| {}).await;
    let point = expected(&bench, "slot:/Drivers").remove(0);
    let property = format!("{point}/out");
    for (tool, arguments) in [
        ("suggestMapping", json!({"ord": property})),
        (
            "findUnmappedComponents",
            json!({"typeName": "BControlPoint", "under": property}),
        ),
        (
            "findUnmappedComponents",
            json!({"typeName": "control:ControlPoint", "under": property}),
        ),
    ] {
        let (code, message, data) = bench.failure(tool, arguments).await;
        assert_eq!(
            (code, &data["ord"]),
            (-32006, &json!(property)),
            "{tool}: {message}"
        );
        assert!(
            !message.contains("bql") && !data.to_string().contains("bql"),
            "{message} {data}"
        );
    }
}
