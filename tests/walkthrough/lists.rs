//! What an edit of the model changes for clients that keep lists, and what they are offered while typing.

use serde_json::{Value, json};

use crate::guide::answer;
use crate::served::Site;
use crate::support::{Client, events};

/// The events of an open stream.
struct Events {
    stream: reqwest::Response,
    waiting: String,
}

impl Events {
    async fn open(client: &Client) -> Self {
        let mut reader = client.clone();
        reader.accept = Some("text/event-stream");
        let stream = reader.headers(reader.http.get(&reader.endpoint));
        Self {
            stream: stream.send().await.expect("a stream"),
            waiting: String::new(),
        }
    }

    async fn next(&mut self) -> Value {
        loop {
            if let Some((event, rest)) = self.waiting.split_once("\n\n") {
                let event = format!("{event}\n\n");
                self.waiting = rest.to_owned();
                if let Some(message) = events(&event).pop() {
                    return message;
                }
                continue;
            }
            let piece = self.stream.chunk().await.expect("read");
            let piece = piece.expect("the stream goes on");
            self.waiting
                .push_str(std::str::from_utf8(&piece).expect("UTF-8"));
        }
    }
}

async fn completed(client: &Client, reference: Value, name: &str, typed: &str) -> Vec<String> {
    let asked = json!({"ref": reference, "argument": {"name": name, "value": typed}});
    let answer = client.ask("completion/complete", asked).await;
    let values = answer["result"]["completion"]["values"].as_array();
    let values = values.unwrap_or_else(|| panic!("{answer}"));
    values
        .iter()
        .map(|value| value.as_str().expect("text").to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_learn_of_new_entries_and_are_offered_them() {
    let site = Site::start().await;
    let bridge = site.serve();
    let client = bridge.client().await;
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    client.post(ready).await;
    let mut events = Events::open(&client).await;

    let space = json!({"id": "lobby", "name": "Grand Hall", "aliases": ["große Halle"]});
    answer(&client, "createSpace", space).await;
    let told = events.next().await;
    assert_eq!(told["method"], "notifications/resources/list_changed");
    let prompt = json!({"type": "ref/prompt", "name": "query.zone_comfort"});
    for typed in ["", "lob", "hall", "GROSSE", "große"] {
        let found = completed(&client, prompt.clone(), "spaceId", typed).await;
        assert_eq!(found, ["lobby"], "{typed:?}");
    }
    for uri in ["niagara://space/{id}", "niagara://spaces/{id}"] {
        let template = json!({"type": "ref/resource", "uri": uri});
        assert_eq!(completed(&client, template, "id", "hall").await, ["lobby"]);
    }

    // A change within an entry changes no list; the next new entry is the next event.
    let renamed = json!({"id": "lobby", "name": "Foyer"});
    answer(&client, "updateSpace", renamed).await;
    std::fs::write(
        site.data_dir().join("knowledge.yaml"),
        "equipment:\n- {id: ahu-7, name: Kitchen air, ord: 'station:|slot:/A'}\n",
    )
    .expect("write");
    answer(&client, "reloadKnowledge", json!({})).await;
    let told = events.next().await;
    assert_eq!(told["method"], "notifications/resources/list_changed");
    let prompt = json!({"type": "ref/prompt", "name": "query.equipment_state"});
    assert_eq!(
        completed(&client, prompt, "equipmentId", "kitchen").await,
        ["ahu-7"]
    );
    let prompt = json!({"type": "ref/prompt", "name": "walkthrough.apply_pattern"});
    assert_eq!(completed(&client, prompt, "mode", "rep").await, ["replace"]);
    bridge.kill();
    site.station.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ord_is_completed_from_the_station_as_it_is_typed() {
    let site = Site::start().await;
    let bridge = site.serve();
    let client = bridge.client().await;
    let template = json!({"type": "ref/resource", "uri": "niagara://point/{ord}"});
    let ord = async |typed: &str| completed(&client, template.clone(), "ord", typed).await;
    assert!(
        ord("station:|slo")
            .await
            .contains(&"station:|slot:/Drivers/".to_owned())
    );
    assert_eq!(
        ord("slot:/Drivers/BacnetNetwork/ahu1/points/sat").await,
        Vec::<String>::new(),
        "slot names are told apart by case"
    );
    let folder = "slot:/Drivers/BacnetNetwork/AHU1/points/";
    assert_eq!(
        ord(&format!("{folder}sat")).await,
        ["SAT", "SAT_SP", "SAT_REQ", "SAT_2"].map(|name| format!("{folder}{name}"))
    );
    let whole = ord(&format!("{folder}SAT")).await.remove(0);
    let uri = json!({"uri": format!("niagara://point/{whole}")});
    let read = client.ask("resources/read", uri).await;
    assert!(read["result"]["contents"][0]["text"].is_string(), "{read}");
    assert_eq!(ord("slot:/No/Such/").await, Vec::<String>::new());
    bridge.kill();

    site.station.shutdown().await;
}
