//! Server sessions and the load–poll handshake.

use chrono::TimeDelta;
use serde_json::{Value as Json, json};

use crate::client::{ADMIN, Session, VIEWER, bench, child, find, handle};

/// How many polls bring nothing before the load of `ord` arrives, and its node.
async fn load(session: &Session<'_>, ord: &str, depth: u32) -> (usize, Json) {
    let reply = session
        .call("loadSlots", json!({"o": ord, "d": depth}))
        .await;
    assert_eq!(reply, Json::Null);
    for empty in 0..10 {
        if let Some(operation) = session.poll().await.into_iter().next() {
            assert_eq!(operation["nm"], "l");
            assert_eq!(operation["h"], operation["b"]["h"]);
            return (empty, operation["b"].clone());
        }
    }
    panic!("the load of {ord} never arrived");
}

#[tokio::test]
async fn a_load_arrives_after_as_many_empty_polls_as_the_station_is_late() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let expected = handle(&bench, "slot:/Logic/Setpoint").to_string();
    for latency in [0, 1, 3] {
        bench.change(|switches| switches.load_latency = latency);
        assert_eq!(session.poll().await, Vec::<Json>::new());
        let (empty, node) = load(&session, "station:|slot:/Logic/Setpoint", 0).await;
        assert_eq!(empty, latency as usize);
        assert_eq!(node["h"], json!(expected));
        assert_eq!(node["t"], "control:NumericWritable");
        assert_eq!(child(child(&node, "in10"), "value")["v"], "21.5");
        assert!(node.get("n").is_none());
        assert_eq!(session.poll().await, Vec::<Json>::new());
    }
}

#[tokio::test]
async fn loads_arrive_in_the_order_they_were_asked_for_with_the_state_at_delivery() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let folder = handle(&bench, "slot:/Logic");
    let point = handle(&bench, "slot:/Logic/Setpoint");
    session
        .call("loadSlots", json!({"o": format!("h:{folder}"), "d": 0}))
        .await;
    session
        .call("loadSlots", json!({"o": "slot:/Logic/Setpoint", "d": 0}))
        .await;
    bench
        .mock
        .station()
        .write()
        .set(point, "note", "changed".into())
        .unwrap();
    assert_eq!(session.poll().await, Vec::<Json>::new());
    let loads = session.poll().await;
    let handles: Vec<&Json> = loads.iter().map(|load| &load["h"]).collect();
    assert_eq!(
        handles,
        [&json!(folder.to_string()), &json!(point.to_string())]
    );
    assert_eq!(child(&loads[1]["b"], "note")["v"], "changed");
}

#[tokio::test]
async fn depth_counts_components_and_deeper_ones_are_stubs() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let (_, flat) = load(&session, "slot:/Logic", 0).await;
    let level2 = child(&flat, "Level2");
    assert_eq!((&level2["stub"], level2.get("s")), (&json!(true), None));
    let (_, one) = load(&session, "slot:/Logic", 1).await;
    let level2 = child(&one, "Level2");
    assert!(level2.get("stub").is_none());
    assert_eq!(child(level2, "Level3")["stub"], true);
    let (_, two) = load(&session, "slot:/Logic", 2).await;
    let level3 = child(child(&two, "Level2"), "Level3");
    assert_eq!(child(level3, "Level4")["stub"], true);
    let (_, all) = load(&session, "slot:/Logic", 9).await;
    let level4 = child(child(child(&all, "Level2"), "Level3"), "Level4");
    assert!(
        level4["s"].is_array() && level4.get("stub").is_none(),
        "{level4}"
    );
}

#[tokio::test]
async fn a_component_removed_before_delivery_brings_no_load() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    session
        .call("loadSlots", json!({"o": "slot:/Logic/Level2", "d": 0}))
        .await;
    let folder = handle(&bench, "slot:/Logic");
    bench
        .mock
        .station()
        .write()
        .remove(folder, "Level2")
        .unwrap();
    assert_eq!(session.poll().await, Vec::<Json>::new());
    assert_eq!(session.poll().await, Vec::<Json>::new());
    let text = session
        .call_refusal("loadSlots", json!({"o": "slot:/Logic/Level2"}))
        .await;
    assert!(text.contains("Level2"), "{text}");
}

#[tokio::test]
async fn the_root_comes_as_a_stub_and_lookups_answer_in_the_reply() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let root = session.call("loadRoot", Json::Null).await;
    assert_eq!(
        (&root["t"], &root["stub"]),
        (&json!("baja:Station"), &json!(true))
    );
    assert_eq!(root["l"]["p"], "irwIRW");
    assert!(root.get("s").is_none());
    let point = handle(&bench, "slot:/Logic/Fan$20Cmd").to_string();
    assert_eq!(
        session.call("handleToPath", json!(point)).await,
        "slot:/Logic/Fan$20Cmd"
    );
    let text = session.call_refusal("handleToPath", json!("fffff")).await;
    assert!(text.contains("fffff"), "{text}");
    let service = session
        .call("serviceToPath", json!("alarm:AlarmService"))
        .await;
    assert_eq!(service, "slot:/Services/AlarmService");
    let text = session
        .call_refusal("serviceToPath", json!("control:NumericPoint"))
        .await;
    assert!(text.contains("control:NumericPoint"), "{text}");
    let ords = session
        .call(
            "navChildren",
            json!(handle(&bench, "slot:/Logic/Level2").to_string()),
        )
        .await;
    assert_eq!(ords, json!(["local:|station:|slot:/Logic/Level2/Level3"]));
    let text = session.call_refusal("fly", Json::Null).await;
    assert!(text.contains("'fly'"), "{text}");
}

#[tokio::test]
async fn a_session_ends_after_90_idle_seconds_of_station_time_and_every_message_renews_it() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    for _ in 0..3 {
        bench.clock.advance(TimeDelta::seconds(90));
        assert_eq!(session.poll().await, Vec::<Json>::new());
    }
    bench.clock.advance(TimeDelta::seconds(91));
    let text = client
        .refusal("ssession", "pollchgs", json!({"id": session.id}))
        .await;
    assert!(text.contains(&session.id), "{text}");
    assert_ne!(client.session().await.id, session.id);
}

#[tokio::test]
async fn sessions_belong_to_their_user_and_are_limited_in_number() {
    let bench = bench().await;
    bench.change(|switches| switches.session_limit = 2);
    let (client, other) = (bench.client(ADMIN), bench.client(VIEWER));
    let session = client.session().await;
    let text = other
        .refusal("ssession", "pollchgs", json!({"id": session.id}))
        .await;
    assert!(text.contains("another user"), "{text}");
    let text = other
        .refusal("ssession", "del", json!({"id": session.id}))
        .await;
    assert!(text.contains("another user"), "{text}");
    let second = other.session().await;
    let reply = client.message("ssession", "make", json!({})).await;
    assert_eq!(
        (&reply["t"], &reply["et"]),
        (&json!("e"), &json!("BoxSessionLimitError"))
    );
    assert_eq!(
        other.ask("ssession", "del", json!({"id": second.id})).await,
        Json::Null
    );
    client.session().await;
}

#[tokio::test]
async fn spaces_must_be_made_and_are_gone_when_removed() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let wrong = json!({"id": session.id, "scid": "x", "scts": "box:Nonsense", "scarg": "station:"});
    let text = client.refusal("ssession", "makessc", wrong).await;
    assert!(text.contains("box:Nonsense"), "{text}");
    session
        .call("loadSlots", json!({"o": "slot:/", "d": 0}))
        .await;
    let space = json!({"id": session.id, "scid": "station:"});
    assert_eq!(client.ask("ssession", "removessc", space).await, Json::Null);
    assert_eq!(session.poll().await, Vec::<Json>::new());
    assert_eq!(session.poll().await, Vec::<Json>::new());
    let text = session.call_refusal("loadRoot", Json::Null).await;
    assert!(text.contains("makessc"), "{text}");
}

#[tokio::test]
async fn the_frames_session_id_serves_messages_that_name_none() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let frame = client
        .frame(json!({"p": "box", "v": "2.3", "n": 3, "id": session.id, "m": [
            {"r": 1, "t": "rt", "c": "ssession", "k": "callssc",
             "b": {"scid": "station:", "sck": "loadSlots", "scarg": {"o": "slot:/Logic", "d": 0}}},
            {"r": 2, "t": "rt", "c": "ssession", "k": "pollchgs", "b": {}},
            {"r": 3, "t": "rt", "c": "ssession", "k": "pollchgs"},
        ]}))
        .await;
    assert_eq!(frame["id"], json!(session.id));
    assert_eq!(frame["m"][0]["b"], Json::Null);
    assert_eq!(frame["m"][1]["b"], json!([]));
    let node = &frame["m"][2]["b"][0]["evs"]["ops"][0]["b"];
    assert!(find(node, "Setpoint").is_some());
}
