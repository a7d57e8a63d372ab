//! Whoever takes over all that suggestMapping proposes has a model without a warning.

use mock_station::site::SiteName;
use serde_json::{Map, Value, json};

use crate::suggestions::{all_equipment, bench};

/// The arguments of createEquipment for a proposal as it stands; none for points that are no equipment of a known type.
fn accepted(proposal: &Value) -> Option<Value> {
    let type_id = proposal["type"].as_str()?;
    let points: Map<String, Value> = proposal["points"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|point| Some((point["role"].as_str()?.to_owned(), point["ord"].clone())))
        .collect();
    Some(json!({
        "id": proposal["id"],
        "name": proposal["name"],
        "type": type_id,
        "ord": proposal["ord"],
        "points": points,
    }))
}

/// Takes over everything; tells how many pieces of equipment, and the names of those without a type.
async fn accept_all(name: SiteName, source: &str) -> (usize, Vec<String>) {
    let bench = bench(name, |_| {}).await;
    bench
        .answer("importKnowledge", json!({"source": source}))
        .await;
    let proposals = all_equipment(&bench, json!({"ord": "slot:/", "limit": 50})).await;
    let mut left = Vec::new();
    let mut items = Vec::new();
    for proposal in &proposals {
        match accepted(proposal) {
            Some(item) => items.push(item),
            None => left.push(format!(
                "{} ({})",
                proposal["name"].as_str().unwrap(),
                proposal["incompleteType"].as_str().unwrap_or("no type")
            )),
        }
    }
    let count = items.len();
    bench
        .answer("bulkCreateEquipment", json!({"items": items}))
        .await;
    let checked = bench.answer("validateKnowledge", json!({})).await;
    let warnings: Vec<&str> = checked["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|warning| warning.as_str().unwrap())
        .collect();
    assert_eq!(checked["warningCount"], 0, "{}", warnings.join("\n"));
    assert_eq!(checked["ok"], true);

    // The second look proposes nothing that the first one did not, and what it adds is as clean.
    let again = all_equipment(&bench, json!({"ord": "slot:/", "limit": 50})).await;
    for proposal in again.iter().filter(|one| one["mappedAs"].is_string()) {
        for point in proposal["points"].as_array().unwrap() {
            if let Some(role) = point["role"].as_str() {
                let entry = json!({"id": proposal["mappedAs"], "role": role, "ord": point["ord"]});
                bench.answer("assignPointToEquipment", entry).await;
            }
        }
    }
    let checked = bench.answer("validateKnowledge", json!({})).await;
    assert_eq!(checked["warningCount"], 0, "{checked}");
    (count, left)
}

#[tokio::test]
async fn harborview_taken_over_as_proposed_is_clean() {
    let (count, left) = accept_all(SiteName::Harborview, "standard").await;
    assert_eq!(count, 39);
    assert_eq!(
        left,
        [
            // A controller that was never installed, and what the station computes.
            "VAV-1-09 (spare) (vav)",
            "Occupancy (no type)",
            "Outdoor Air (ahu)",
            "1st Floor Zones (vav)",
            "HW Plant (hot-water-plant)",
            "A/C Lobby & Café (no type)",
        ]
    );
}

#[tokio::test]
async fn lakeside_taken_over_as_proposed_is_clean() {
    let (count, left) = accept_all(SiteName::Lakeside, "standard").await;
    assert_eq!(count, 44);
    assert_eq!(
        left,
        [
            "WP3 (Reserve) (heat-pump)",
            "Freigaben (no type)",
            "Witterungsführung (no type)",
            "Räume EG (cav)",
            "Café/Foyer & Übergang (no type)",
        ]
    );
}

#[tokio::test]
async fn few_and_simple_types_are_taken_over_cleanly_too() {
    for (name, found) in [(SiteName::Harborview, 6), (SiteName::Lakeside, 10)] {
        let (count, _) = accept_all(name, "sample").await;
        assert_eq!(count, found, "{name:?}: five types do not cover more");
    }
}
