//! An assistant finds equipment, spaces and points of Harborview by what people call them.

use serde_json::{Value, json};

use crate::harborview;
use crate::station_bench::Bench;

fn texts<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    let entries = list.as_array().expect("a list").iter();
    entries
        .map(|entry| entry[key].as_str().expect("a text"))
        .collect()
}

#[tokio::test]
async fn equipment_is_found_by_id_name_and_alias_with_the_scores_of_the_contract() {
    let bench = harborview::mapped().await;
    let model = bench.knowledge.snapshot().model;
    let ahu = model.equipment("ahu-1").expect("ahu-1");
    let answer = bench
        .answer("findEquipment", json!({"query": "AHU-1"}))
        .await;
    assert_eq!(answer["query"], "ahu-1");
    assert_eq!(
        answer["hits"][0],
        json!({
            "id": "ahu-1",
            "name": ahu.name,
            "type": ahu.equipment_type,
            "space": ahu.space,
            "ord": ahu.ord,
            "score": 100,
            "match": "exact",
        })
    );
    let name = ahu.name.as_deref().expect("a name");
    let answer = bench
        .answer("findEquipment", json!({"query": name.to_uppercase()}))
        .await;
    assert_eq!(
        (&answer["hits"][0]["id"], &answer["hits"][0]["score"]),
        (&json!("ahu-1"), &json!(90))
    );
    let alias = ahu.aliases.last().expect("an alias");
    let answer = bench.answer("findEquipment", json!({"query": alias})).await;
    assert_eq!(
        (&answer["hits"][0]["id"], &answer["hits"][0]["score"]),
        (&json!("ahu-1"), &json!(80))
    );
}

#[tokio::test]
async fn a_long_list_comes_in_pages_that_hold_everything_once() {
    let bench = harborview::mapped().await;
    let total = bench.knowledge.snapshot().model.document().equipment.len();
    let mut found = Vec::new();
    let mut offset = json!(0);
    loop {
        let arguments = json!({"query": "", "limit": 7, "offset": offset});
        let page = bench.answer("findEquipment", arguments).await;
        assert_eq!(page["total"], json!(total));
        assert_eq!(
            page["count"],
            json!(page["hits"].as_array().expect("hits").len())
        );
        found.extend(texts(&page["hits"], "id").into_iter().map(str::to_owned));
        match page.get("nextOffset") {
            Some(next) => offset = next.clone(),
            None => break,
        }
    }
    let mut once = found.clone();
    once.sort();
    once.dedup();
    assert_eq!((found.len(), once.len()), (total, total));
    let nothing = bench
        .answer("findEquipment", json!({"query": "", "limit": -3}))
        .await;
    assert_eq!(
        (&nothing["count"], nothing.get("nextOffset")),
        (&json!(0), None)
    );
}

#[tokio::test]
async fn a_space_is_listed_alone_or_with_all_below_it() {
    let bench = harborview::mapped().await;
    let model = bench.knowledge.snapshot().model;
    let of_floor: Vec<&str> = model
        .document()
        .equipment
        .iter()
        .filter(|entry| entry.space.as_deref() == Some("floor-1"))
        .map(|entry| entry.id.as_str())
        .collect();
    let direct = bench
        .answer("findInSpace", json!({"spaceId": "floor-1"}))
        .await;
    assert_eq!(texts(&direct["equipment"], "id"), of_floor);
    assert_eq!(
        (&direct["recursive"], &direct["spacesIncluded"]),
        (&json!(false), &json!(1))
    );

    let arguments = json!({"spaceId": "harborview", "recursive": true});
    let all = bench.answer("findInSpace", arguments).await;
    assert_eq!(all["spacesIncluded"], json!(model.document().spaces.len()));
    assert_eq!(
        all["equipment"].as_array().expect("a list").len(),
        model.document().equipment.len()
    );
    let arguments =
        json!({"spaceId": "harborview", "recursive": true, "equipmentType": "ahu", "limit": 2});
    let some = bench.answer("findInSpace", arguments).await;
    assert_eq!(texts(&some["equipment"], "id"), ["ahu-1", "ahu-2"]);
    assert_eq!(some["nextOffset"], json!(2));

    let (code, message, data) = bench
        .failure("findInSpace", json!({"spaceId": "floor1"}))
        .await;
    assert_eq!((code, &data["id"]), (-32602, &json!("floor1")));
    assert!(message.contains("floor-1"), "{message}");
}

#[tokio::test]
async fn points_are_found_by_role_kind_and_text() {
    let bench = harborview::mapped().await;
    let model = bench.knowledge.snapshot().model;
    let role = model
        .equipment("ahu-1")
        .expect("ahu-1")
        .points
        .keys()
        .next()
        .expect("a role")
        .clone();
    let having: Vec<(&str, &str)> = model
        .document()
        .equipment
        .iter()
        .filter_map(|entry| Some((entry.id.as_str(), entry.points.get(&role)?.as_str())))
        .collect();
    let answer = bench
        .answer("findPoints", json!({"role": role, "limit": 1000}))
        .await;
    let hits: Vec<(&str, &str)> = texts(&answer["hits"], "equipmentId")
        .into_iter()
        .zip(texts(&answer["hits"], "ord"))
        .collect();
    assert_eq!(hits, having);

    let arguments = json!({"kind": "temperature", "text": "ahu-1", "limit": 1000});
    let answer = bench.answer("findPoints", arguments).await;
    let hits = answer["hits"].as_array().expect("hits");
    assert!(!hits.is_empty());
    for hit in hits {
        let entry = model
            .equipment(hit["equipmentId"].as_str().expect("an id"))
            .expect("equipment");
        let type_id = entry.equipment_type.as_deref().expect("a type");
        let typical = model.typical_points(type_id);
        let typical = typical
            .iter()
            .find(|point| hit["role"] == json!(point.role));
        assert_eq!(
            typical.and_then(|point| point.kind.as_deref()),
            Some("temperature"),
            "{hit}"
        );
        assert_eq!(
            (&hit["kind"], &hit["equipmentName"]),
            (&json!("temperature"), &json!(entry.name))
        );
    }

    let (code, _, _) = bench
        .failure("findPoints", json!({"role": "", "limit": 3}))
        .await;
    assert_eq!(code, -32602);
}

#[tokio::test]
async fn a_knowledge_file_that_cannot_be_used_is_an_error_of_every_search() {
    let bench = Bench::new().await;
    std::fs::write(bench.knowledge.path(), "equipment: 3\n").expect("a file");
    bench.knowledge.reload().await;
    for (tool, arguments) in [
        ("findEquipment", json!({"query": "x"})),
        ("findInSpace", json!({"spaceId": "x"})),
        ("findPoints", json!({"text": "x"})),
        (
            "findUnmappedComponents",
            json!({"typeName": "BControlPoint"}),
        ),
        ("checkKnowledgeIntegrity", json!({})),
        ("diffStation", json!({})),
    ] {
        let (code, message, data) = bench.failure(tool, arguments).await;
        assert_eq!(code, -32004, "{tool}: {message}");
        assert_eq!(
            data["path"],
            json!(bench.knowledge.path().display().to_string())
        );
    }
}
