//! From an empty file to a full map, with the bridge killed in the middle.

use std::collections::{BTreeMap, BTreeSet};

use niagara_bridge::knowledge::KnowledgeStore;
use niagara_bridge::knowledge::camber_roles::{camber_role, lineage};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::guide::{Guide, answer};
use crate::integrator::{Findings, SPACES, Types, Unit, kebab};
use crate::served::Site;
use crate::support::{Client, request};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_site_is_mapped_as_the_prompts_ask_and_a_kill_in_the_middle_loses_nothing() {
    let site = Site::start().await;
    let bridge = site.serve();
    let client = bridge.client().await;

    let mut guide = Guide::get(&client, "walkthrough.new_station").await;
    guide.next(&["getOverview", "listChildren"]);
    let overview = answer(&client, "getOverview", json!({})).await;
    assert_eq!(overview["stationName"], "Harborview");
    let root = answer(&client, "listChildren", json!({"ord": "station:|slot:/"})).await;
    let top = root["children"].as_array().expect("children");
    assert!(top.iter().any(|child| child["name"] == "Drivers"));

    guide.next(&[]);
    guide.next(&["createSpace"]);
    for (id, name, kind, parent) in SPACES {
        let space = json!({"id": id, "name": name, "type": kind, "parent": parent});
        answer(&client, "createSpace", space).await;
    }

    guide.next(&["findComponentsByType"]);
    let findings = Findings::gather(&client).await;
    assert_eq!(findings.units.len(), site.truth.equipment.len());

    guide.next(&["importKnowledge", "createEquipmentType"]);
    assert_eq!(Types::read(&client).await.count(), 0, "the file is empty");
    let start = json!({"source": "standard", "mode": "merge"});
    let imported = answer(&client, "importKnowledge", start).await;
    assert_eq!(imported["skipped"], 0);
    let own =
        json!({"id": "rooftop-heat-pump", "name": "Rooftop heat pump", "extends": "heat-pump"});
    answer(&client, "createEquipmentType", own).await;
    let types = Types::read(&client).await;
    assert_eq!(imported["added"], types.count() - 1);

    guide.next(&["createEquipment"]);
    guide.next(&["getSlots", "assignPointToEquipment"]);
    let mut known = BTreeSet::new();
    let (first, rest) = findings.units.split_at(findings.units.len() / 2);
    for unit in first {
        map(&client, unit, &types.plan(unit), &mut known).await;
    }
    let interrupted = &rest[0];
    create(&client, interrupted, &[]).await;
    let plan = types.plan(interrupted);
    let (confirm, mut confirmed) = mpsc::unbounded_channel();
    let hurry = tokio::spawn(assign_in_a_hurry(
        client.clone(),
        interrupted.clone(),
        plan.clone(),
        confirm,
    ));
    let mut kept = Vec::new();
    for _ in 0..plan.len() / 2 {
        kept.push(confirmed.recv().await.expect("an answer"));
    }
    // The next edit is under way; nobody knows how far it came.
    bridge.kill();
    hurry.await.expect("the edits");
    while let Some(role) = confirmed.recv().await {
        kept.push(role);
    }

    let bridge = site.serve();
    let client = bridge.client().await;
    let mut guide = Guide::get(&client, "walkthrough.continue").await;
    guide.next(&["getKnowledgeSummary"]);
    let summary = answer(&client, "getKnowledgeSummary", json!({})).await;
    assert_eq!(summary["spaceCount"], SPACES.len());
    assert_eq!(summary["equipmentTypeCount"], types.count());
    assert_eq!(summary["equipmentCount"], first.len() + 1);

    guide.next(&["validateKnowledge"]);
    answer(&client, "validateKnowledge", json!({})).await;
    guide.next(&["suggestMapping", "assignPointToEquipment"]);
    let again = answer(&client, "suggestMapping", json!({"ord": interrupted.ord})).await;
    let units = again["equipment"].as_array().expect("a list");
    let half = units.iter().find(|unit| unit["mappedAs"] == interrupted.id);
    assert!(
        half.is_some(),
        "what is half mapped is not passed over: {again}"
    );
    let found = points_of(&client, &interrupted.id).await;
    let not_confirmed = plan
        .iter()
        .filter(|(role, _)| found.contains_key(role) && !kept.contains(role));
    assert!(
        kept.iter().all(|role| found.contains_key(role)),
        "{found:?}"
    );
    assert!(not_confirmed.count() <= 1, "{found:?}");
    let missing: Vec<_> = plan
        .into_iter()
        .filter(|(role, _)| !found.contains_key(role))
        .collect();
    assign(&client, interrupted, &missing, &mut known).await;

    guide.next(&["findUnmappedComponents"]);
    let left = unmapped(&client).await;
    let expected = rest[1..].iter().flat_map(|unit| unit.points.clone());
    let expected = expected.chain(findings.others.iter().map(|(ord, _)| ord.clone()));
    assert_eq!(left, expected.collect::<BTreeSet<_>>());

    guide.next(&[]);
    guide.next(&[
        "createEquipment",
        "assignPointToEquipment",
        "createStandalonePoint",
    ]);
    for unit in &rest[1..] {
        map(&client, unit, &types.plan(unit), &mut known).await;
    }
    for (ord, space) in &findings.others {
        let id = kebab(ord.rsplit('/').next().expect("a name"));
        let point = json!({"id": id, "name": id, "ord": ord, "space": space});
        answer(&client, "createStandalonePoint", point).await;
    }

    guide.next(&["validateKnowledge"]);
    let valid = answer(&client, "validateKnowledge", json!({})).await;
    assert_eq!(
        valid,
        json!({"ok": true, "warningCount": 0, "warnings": []})
    );
    guide.skip_to("checkKnowledgeIntegrity");
    let integrity = answer(&client, "checkKnowledgeIntegrity", json!({})).await;
    assert_eq!(integrity["brokenCount"], 0, "{integrity}");
    assert!(unmapped(&client).await.is_empty());
    bridge.kill();
    compare(&site);
    site.station.shutdown().await;
}

/// Roles that the user has confirmed for a type, seen at one of its units.
type Confirmed = BTreeSet<(&'static str, String)>;

/// Maps a unit: point by point, or at once when it is like one before.
async fn map(client: &Client, unit: &Unit, plan: &[(String, String)], confirmed: &mut Confirmed) {
    let is_known = |(role, _): &(String, String)| confirmed.contains(&(unit.type_id, role.clone()));
    if plan.iter().all(is_known) {
        return create(client, unit, plan).await;
    }
    create(client, unit, &[]).await;
    assign(client, unit, plan, confirmed).await;
}

async fn create(client: &Client, unit: &Unit, points: &[(String, String)]) {
    let points: BTreeMap<&String, &String> = points.iter().map(|(role, ord)| (role, ord)).collect();
    let entry = json!({"id": unit.id, "name": unit.id, "type": unit.type_id, "ord": unit.ord,
        "space": unit.space, "points": points});
    answer(client, "createEquipment", entry).await;
}

/// Looks at each point and assigns it.
async fn assign(
    client: &Client,
    unit: &Unit,
    plan: &[(String, String)],
    confirmed: &mut Confirmed,
) {
    for (role, ord) in plan {
        let slots = answer(client, "getSlots", json!({"ord": ord})).await;
        let slots = slots["slots"].as_array().expect("slots");
        assert!(slots.iter().any(|slot| slot["name"] == "out"), "{ord}");
        confirmed.insert((unit.type_id, role.clone()));
        answer(
            client,
            "assignPointToEquipment",
            assignment(unit, role, ord),
        )
        .await;
    }
}

/// Assigns one point after the other and tells which were confirmed, until the bridge is gone.
async fn assign_in_a_hurry(
    client: Client,
    unit: Unit,
    plan: Vec<(String, String)>,
    confirm: mpsc::UnboundedSender<String>,
) {
    for (role, ord) in plan {
        let call =
            json!({"name": "assignPointToEquipment", "arguments": assignment(&unit, &role, &ord)});
        let call = request("tools/call", call).to_string();
        let sent = client.headers(client.http.post(&client.endpoint));
        let Ok(answer) = sent.body(call).send().await else {
            return;
        };
        let Ok(text) = answer.text().await else {
            return;
        };
        let body: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(body["result"]["isError"], false, "{body}");
        confirm.send(role).expect("the test waits");
    }
}

fn assignment(unit: &Unit, role: &str, ord: &str) -> Value {
    json!({"equipmentId": unit.id, "role": role, "ord": ord})
}

async fn unmapped(client: &Client) -> BTreeSet<String> {
    let asked = json!({"typeName": "BControlPoint", "limit": 1000});
    let found = answer(client, "findUnmappedComponents", asked).await;
    assert_eq!(found["truncated"], false);
    let items = found["items"].as_array().expect("items").iter();
    items
        .map(|item| item["ord"].as_str().expect("an ord").to_owned())
        .collect()
}

async fn points_of(client: &Client, id: &str) -> serde_json::Map<String, Value> {
    let uri = json!({"uri": format!("niagara://equipment/{id}")});
    let read = client.ask("resources/read", uri).await;
    let text = read["result"]["contents"][0]["text"].as_str();
    let entry: Value = serde_json::from_str(text.expect("text")).expect("JSON");
    entry["points"].as_object().cloned().unwrap_or_default()
}

/// Every point that the site's engineers meant something by has the role that they meant.
fn compare(site: &Site) {
    let store = KnowledgeStore::open(site.data_dir().join("knowledge.yaml"));
    let model = store.snapshot().model;
    let mut compared = 0;
    for truth in &site.truth.equipment {
        for (role, path) in &truth.roles {
            let ord = format!("station:|{path}");
            let found = model.document().equipment.iter().find_map(|entry| {
                let place = entry.points.iter().find(|(_, point)| **point == ord);
                place.map(|(ours, _)| (entry, ours.as_str()))
            });
            let Some((entry, ours)) = found else {
                panic!("{} has no {role}: {ord}", truth.id);
            };
            let types = lineage(&model, entry.equipment_type.as_deref().unwrap_or_default());
            assert_eq!(camber_role(&types, ours), Some(role.as_str()), "{ord}");
            compared += 1;
        }
    }
    assert!(compared > 400, "{compared}");
}
