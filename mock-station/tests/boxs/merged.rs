//! Loads leave defaults out; together with the type contracts they must still tell the whole truth.

use std::collections::{BTreeMap, HashMap};

use mock_station::model::{Handle, SlotContent, Value};
use serde_json::{Value as Json, json};

use crate::client::{ADMIN, Client, sample};

/// Contracts by type, each with its ancestors.
struct Contracts<'a> {
    client: &'a Client,
    by_type: HashMap<String, Vec<Json>>,
}

impl Contracts<'_> {
    /// The slots of a type: the topmost ancestor's first, a redeclared one in the place of the earlier.
    async fn slots(&mut self, spec: &str) -> Vec<Json> {
        if let Some(known) = self.by_type.get(spec) {
            return known.clone();
        }
        let reply = self.client.ask("reg", "loadContract", json!(spec)).await;
        let mut slots: Vec<Json> = Vec::new();
        for declared in reply.as_object().unwrap().values().rev() {
            for slot in declared.as_array().unwrap() {
                match slots.iter_mut().find(|known| known["n"] == slot["n"]) {
                    Some(place) => *place = slot.clone(),
                    None => slots.push(slot.clone()),
                }
            }
        }
        self.by_type.insert(spec.to_owned(), slots.clone());
        slots
    }

    /// Every simple in a value node under its path, defaults of struct types filled in.
    async fn flatten(&mut self, path: String, node: &Json, into: &mut BTreeMap<String, String>) {
        let mut pending = vec![(path, node.clone())];
        while let Some((path, node)) = pending.pop() {
            if let Some(text) = node["v"].as_str() {
                into.insert(path, format!("{} {text}", node["t"].as_str().unwrap()));
                continue;
            }
            for slot in self.slots(node["t"].as_str().unwrap()).await {
                let name = slot["n"].as_str().unwrap();
                pending.push((format!("{path}/{name}"), slot["v"].clone()));
            }
            // Pushed later, so taken first: sent members must not be overwritten by defaults.
            let sent = node["s"].as_array().unwrap();
            for member in sent {
                let name = member["n"].as_str().unwrap();
                pending.retain(|(known, _)| *known != format!("{path}/{name}"));
                pending.push((format!("{path}/{name}"), member.clone()));
            }
        }
    }
}

fn flatten_model(path: String, value: &Value, into: &mut BTreeMap<String, String>) {
    match value.as_struct() {
        None => {
            into.insert(path, format!("{} {}", value.type_spec(), value.encode()));
        }
        Some(body) => {
            for member in &body.members {
                flatten_model(format!("{path}/{}", member.name), &member.value, into);
            }
        }
    }
}

#[tokio::test]
async fn nodes_merged_with_contracts_hold_every_slot_of_the_model() {
    let bench = sample().await;
    let client = bench.client(ADMIN);
    let handles: Vec<Handle> = {
        let station = bench.mock.station().read();
        station
            .descendants(station.root())
            .map(|component| component.handle())
            .collect()
    };
    assert!(handles.len() > 100, "{}", handles.len());
    let mut contracts = Contracts {
        client: &client,
        by_type: HashMap::new(),
    };
    for batch in handles.chunks(20) {
        let messages: Vec<Json> = batch
            .iter()
            .map(|handle| {
                let body = json!({"o": format!("station:|h:{handle}"), "bo": "station:|slot:/"});
                json!({"r": handle.0, "t": "rt", "c": "ord", "k": "resolve", "b": body})
            })
            .collect();
        let frame = client
            .frame(json!({"p": "box", "v": "2.3", "n": 1, "m": messages}))
            .await;
        for (handle, reply) in batch.iter().zip(frame["m"].as_array().unwrap()) {
            assert_eq!(reply["r"], json!(handle.0));
            compare(&bench, *handle, &reply["b"]["o"], &mut contracts).await;
        }
    }
}

async fn compare(
    bench: &crate::client::Bench,
    handle: Handle,
    node: &Json,
    contracts: &mut Contracts<'_>,
) {
    let declared = contracts.slots(node["t"].as_str().unwrap()).await;
    let mut order: Vec<String> = Vec::new();
    let mut merged = BTreeMap::new();
    for slot in &declared {
        let name = slot["n"].as_str().unwrap();
        order.push(name.to_owned());
        let sent = node["s"]
            .as_array()
            .unwrap()
            .iter()
            .find(|sent| sent["n"] == name);
        let value = sent.unwrap_or(&slot["v"]);
        if slot["st"] == "p" && value.get("h").is_none() {
            contracts.flatten(name.to_owned(), value, &mut merged).await;
        }
    }
    for sent in node["s"].as_array().unwrap() {
        let name = sent["n"].as_str().unwrap().to_owned();
        if order.contains(&name) {
            continue;
        }
        order.push(name.clone());
        if sent.get("h").is_none() {
            contracts.flatten(name, sent, &mut merged).await;
        }
    }
    let station = bench.mock.station().read();
    let path = station.slot_path(handle);
    let mut expected = BTreeMap::new();
    let mut names = Vec::new();
    for slot in station.slots(handle) {
        names.push(slot.name.to_owned());
        if let SlotContent::Property(value) = &slot.content {
            flatten_model(slot.name.to_owned(), value, &mut expected);
        }
    }
    assert_eq!(order, names, "{path}");
    assert_eq!(merged, expected, "{path}");
}
