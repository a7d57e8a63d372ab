//! Subscriptions: the state at once, changes through polls.

use std::sync::Arc;

use chrono::TimeDelta;
use mock_station::model::{Facets, FeedSample, Flags, Status, Value};
use serde_json::{Value as Json, json};

use crate::client::{ADMIN, Bench, OPERATOR, Session, VIEWER, bench, child, find, handle};

const SETPOINT: &str = "slot:/Logic/Setpoint";

/// Subscribes and gives the loads of the reply.
async fn subscribe(session: &Session<'_>, ords: &[&str]) -> Vec<Json> {
    let reply = session.call("sub", json!(ords)).await;
    reply["e"]["ops"].as_array().unwrap().clone()
}

fn set(bench: &Bench, ord: &str, path: &str, value: Value) {
    let component = handle(bench, ord);
    let mut station = bench.mock.station().write();
    station.set(component, path, value).unwrap();
}

/// Kind and slot of every operation.
fn shape(operations: &[Json]) -> Vec<(&str, &str)> {
    operations
        .iter()
        .map(|operation| {
            (
                operation["nm"].as_str().unwrap(),
                operation["n"].as_str().unwrap_or_default(),
            )
        })
        .collect()
}

#[tokio::test]
async fn a_subscription_answers_with_handles_in_request_order_and_the_present_state() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let (point, folder) = (
        handle(&bench, SETPOINT).to_string(),
        handle(&bench, "slot:/Logic").to_string(),
    );
    let ords = json!([format!("h:{point}"), "station:|slot:/Logic", SETPOINT]);
    let reply = session.call("sub", ords).await;
    assert_eq!(reply["h"], json!([point, folder, point]));
    let loads = reply["e"]["ops"].as_array().unwrap();
    let loaded: Vec<(&Json, &Json)> = loads.iter().map(|op| (&op["nm"], &op["h"])).collect();
    assert_eq!(
        loaded,
        [(&json!("l"), &json!(point)), (&json!("l"), &json!(folder))]
    );
    assert_eq!(child(child(&loads[0]["b"], "in10"), "value")["v"], "21.5");
    assert_eq!(child(&loads[1]["b"], "Setpoint")["stub"], true);
    assert_eq!(session.poll().await, Vec::<Json>::new());
}

#[tokio::test]
async fn a_written_level_brings_the_input_and_the_output_with_display_texts() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    subscribe(&session, &[SETPOINT]).await;
    let value = Value::status_numeric(19.5, Status::ok());
    set(&bench, SETPOINT, "in8", value);
    let operations = session.poll().await;
    assert_eq!(shape(&operations), [("s", "in8"), ("s", "out")]);
    let out = &operations[1];
    assert_eq!(out["h"], json!(handle(&bench, SETPOINT).to_string()));
    assert_eq!(child(&out["b"], "value")["v"], "19.5");
    assert_eq!(
        child(&out["b"], "status")["v"],
        "0;activeLevel=e:8@control:PriorityLevel"
    );
    assert_eq!(
        (&out["dn"], &out["d"], &out["cdn"], &out["cd"]),
        (
            &json!("Out"),
            &json!("19.5 °C {ok} @ 8"),
            &json!("Setpoint"),
            &json!("19.5 °C {ok} @ 8")
        )
    );
    assert_eq!(session.poll().await, Vec::<Json>::new());
}

#[tokio::test]
async fn a_value_that_returns_to_its_default_is_told_although_loads_leave_it_out() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    subscribe(&session, &[SETPOINT]).await;
    let value = Value::status_numeric(0.0, Status::null());
    set(&bench, SETPOINT, "in10", value);
    let operations = session.poll().await;
    assert_eq!(shape(&operations), [("s", "in10"), ("s", "out")]);
    assert_eq!(child(&operations[0]["b"], "status")["v"], "40");
}

#[tokio::test]
async fn readings_of_a_driver_are_told_when_they_differ_from_the_last_told() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let point = handle(&bench, "slot:/Logic/Zone$20Temp");
    let start = crate::client::noon();
    bench.mock.station().write().attach_feed(
        point,
        Arc::new(move |now: chrono::DateTime<chrono::Utc>| {
            // A new reading every ten seconds.
            FeedSample::ok(20.0 + ((now - start).num_seconds() / 10) as f64)
        }),
    );
    let session = client.session().await;
    let loads = subscribe(&session, &["slot:/Logic/Zone$20Temp"]).await;
    assert_eq!(child(child(&loads[0]["b"], "out"), "value")["v"], "20.0");
    for _ in 0..3 {
        bench.clock.advance(TimeDelta::seconds(3));
        assert_eq!(session.poll().await, Vec::<Json>::new());
    }
    bench.clock.advance(TimeDelta::seconds(3));
    let operations = session.poll().await;
    assert_eq!(shape(&operations), [("s", "out")]);
    assert_eq!(child(&operations[0]["b"], "value")["v"], "21.0");
    assert_eq!(operations[0]["d"], "21.0 °C {ok}");
    assert_eq!(session.poll().await, Vec::<Json>::new());
}

#[tokio::test]
async fn a_driver_below_a_command_is_told_at_its_level() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let start = crate::client::noon();
    let setpoint = handle(&bench, SETPOINT);
    bench.mock.station().write().attach_feed(
        setpoint,
        Arc::new(move |now: chrono::DateTime<chrono::Utc>| {
            FeedSample::ok(30.0 + (now - start).num_seconds() as f64)
        }),
    );
    let session = client.session().await;
    let loads = subscribe(&session, &[SETPOINT]).await;
    assert_eq!(child(child(&loads[0]["b"], "out"), "value")["v"], "21.5");
    assert_eq!(child(child(&loads[0]["b"], "in16"), "value")["v"], "30.0");
    bench.clock.advance(TimeDelta::seconds(5));
    let operations = session.poll().await;
    assert_eq!(shape(&operations), [("s", "in16")]);
    assert_eq!(child(&operations[0]["b"], "value")["v"], "35.0");
}

#[tokio::test]
async fn a_proxy_extension_tells_what_its_driver_reads() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let point = handle(&bench, "slot:/Logic/Zone$20Temp");
    let start = crate::client::noon();
    {
        let mut station = bench.mock.station().write();
        station
            .set_proxy_ext(point, "bacnet:BacnetNumericProxyExt")
            .unwrap();
        station.attach_feed(
            point,
            Arc::new(move |now: chrono::DateTime<chrono::Utc>| {
                let late = now > start;
                FeedSample::with_status(7.0, if late { Status::DOWN } else { 0 })
            }),
        );
    }
    let session = client.session().await;
    subscribe(&session, &["slot:/Logic/Zone$20Temp/proxyExt"]).await;
    bench.clock.advance(TimeDelta::seconds(1));
    let operations = session.poll().await;
    let status = operations
        .iter()
        .find(|operation| operation["n"] == "status")
        .unwrap();
    assert_eq!(
        (&status["nm"], &status["b"]["v"]),
        (&json!("s"), &json!("4"))
    );
}

#[tokio::test]
async fn changes_of_the_tree_are_told_one_by_one() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let logic = handle(&bench, "slot:/Logic");
    subscribe(&session, &["slot:/Logic"]).await;
    let edit = |change: &dyn Fn(&mut mock_station::model::Station)| {
        change(&mut bench.mock.station().write());
    };

    edit(&|station| {
        station
            .add(logic, Some("New$20One"), "baja:Folder")
            .unwrap();
    });
    let operations = session.poll().await;
    assert_eq!(shape(&operations), [("a", "New$20One")]);
    let new = handle(&bench, "slot:/Logic/New$20One").to_string();
    let node = &operations[0]["b"];
    assert_eq!(
        (&node["h"], &node["t"], &node["stub"], &operations[0]["dn"]),
        (
            &json!(new),
            &json!("baja:Folder"),
            &json!(true),
            &json!("New One")
        )
    );

    edit(&|station| {
        station.rename(logic, "New$20One", "Other").unwrap();
    });
    let operations = session.poll().await;
    let [renamed] = &operations[..] else {
        panic!("{operations:?}")
    };
    assert_eq!(
        (&renamed["nm"], &renamed["o"], &renamed["n"]),
        (&json!("r"), &json!("New$20One"), &json!("Other"))
    );

    edit(&|station| {
        let mut names: Vec<String> = station
            .children(logic)
            .map(|child| child.name().to_owned())
            .collect();
        names.reverse();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        station.reorder(logic, &names).unwrap();
    });
    let operations = session.poll().await;
    let [order] = &operations[..] else {
        panic!("{operations:?}")
    };
    assert_eq!(order["nm"], "o");
    let order = order["o"].as_str().unwrap();
    assert!(
        order.starts_with("Other;Level2;") && order.ends_with(";Setpoint"),
        "{order}"
    );

    edit(&|station| {
        station.remove(logic, "Other").unwrap();
    });
    let operations = session.poll().await;
    assert_eq!(shape(&operations), [("v", "Other")]);
    assert_eq!(operations[0]["cdn"], "Logic");
}

#[tokio::test]
async fn flags_facets_names_and_topics_are_told() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let point = handle(&bench, SETPOINT);
    subscribe(&session, &[SETPOINT]).await;
    {
        let mut station = bench.mock.station().write();
        let flags = Flags::OPERATOR | Flags::HIDDEN;
        station.set_flags(point, "note", flags).unwrap();
        let facets = Facets::new().with("multiLine", Value::Boolean(true));
        station.set_slot_facets(point, "note", facets).unwrap();
        station
            .set_slot_display_name(point, "note", "Remark")
            .unwrap();
        station
            .set_slot_display_name(point, "set", "Command")
            .unwrap();
    }
    let operations = session.poll().await;
    assert_eq!(
        shape(&operations),
        [("f", "note"), ("x", "note"), ("s", "note"), ("f", "set")]
    );
    assert_eq!(
        Flags::decode(operations[0]["f"].as_str().unwrap()),
        Some(Flags::OPERATOR | Flags::HIDDEN)
    );
    assert_eq!(operations[1]["x"], "multiLine=b:true");
    assert_eq!(
        (&operations[2]["dn"], &operations[2]["b"]["v"]),
        (&json!("Remark"), &json!("north wing"))
    );
    assert_eq!(operations[3]["dn"], "Command");
}

#[tokio::test]
async fn links_are_told_to_subscribers_of_both_ends() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let (source, target) = (
        handle(&bench, SETPOINT),
        handle(&bench, "slot:/AHU1/Damper"),
    );
    subscribe(&session, &[SETPOINT, "slot:/AHU1/Damper"]).await;
    let link = {
        let mut station = bench.mock.station().write();
        station.link(source, "out", target, "in16").unwrap()
    };
    let operations = session.poll().await;
    let of = |operations: &[Json], handle: mock_station::model::Handle, kind: &str| {
        let name = handle.to_string();
        let found = operations
            .iter()
            .find(|operation| operation["h"] == name.as_str() && operation["nm"] == kind);
        found
            .unwrap_or_else(|| panic!("no {kind} in {operations:#?}"))
            .clone()
    };
    let knob = of(&operations, source, "k")["nk"].clone();
    assert_eq!(
        (&knob["ss"], &knob["to"], &knob["ts"]),
        (&json!("out"), &json!(format!("h:{target}")), &json!("in16"))
    );
    let added = of(&operations, target, "a");
    assert_eq!(
        (&added["n"], &added["b"]["t"]),
        (&json!(&*link), &json!("baja:Link"))
    );
    let input = operations
        .iter()
        .find(|operation| operation["n"] == "in16")
        .unwrap();
    assert_eq!(child(&input["b"], "value")["v"], "21.5");

    bench.mock.station().write().remove(target, &link).unwrap();
    let operations = session.poll().await;
    let removed = of(&operations, source, "j");
    assert_eq!(
        (&removed["id"], &removed["ss"]),
        (&knob["id"], &json!("out"))
    );
    assert_eq!(of(&operations, target, "v")["n"], json!(&*link));
}

#[tokio::test]
async fn changes_since_the_last_news_are_gathered_for_a_moment_and_told_once() {
    let bench = bench().await;
    bench.change(|switches| switches.change_gathering = std::time::Duration::from_millis(500));
    let client = bench.client(ADMIN);
    let session = client.session().await;
    subscribe(&session, &[SETPOINT]).await;
    set(&bench, SETPOINT, "note", "one".into());
    assert_eq!(shape(&session.poll().await), [("s", "note")]);
    bench.clock.advance(TimeDelta::milliseconds(200));
    set(&bench, SETPOINT, "note", "two".into());
    assert_eq!(session.poll().await, Vec::<Json>::new());
    bench.clock.advance(TimeDelta::milliseconds(200));
    set(&bench, SETPOINT, "note", "three".into());
    assert_eq!(session.poll().await, Vec::<Json>::new());
    bench.clock.advance(TimeDelta::milliseconds(200));
    let operations = session.poll().await;
    assert_eq!(shape(&operations), [("s", "note")]);
    assert_eq!(operations[0]["b"]["v"], "three");
}

#[tokio::test]
async fn what_is_unsubscribed_or_was_never_subscribed_is_silent() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    subscribe(&session, &[SETPOINT, "slot:/Logic/Mode"]).await;
    set(
        &bench,
        "slot:/AHU1/Damper",
        "in10",
        Value::status_numeric(5.0, Status::ok()),
    );
    assert_eq!(session.poll().await, Vec::<Json>::new());
    set(&bench, SETPOINT, "note", "untold".into());
    let point = format!("h:{}", handle(&bench, SETPOINT));
    assert_eq!(session.call("unsub", json!([point])).await, Json::Null);
    assert_eq!(session.poll().await, Vec::<Json>::new());
    // Whoever subscribes again starts with the state of that moment.
    let loads = subscribe(&session, &[SETPOINT]).await;
    assert_eq!(child(&loads[0]["b"], "note")["v"], "untold");
    assert_eq!(session.poll().await, Vec::<Json>::new());
    set(&bench, SETPOINT, "note", "told".into());
    assert_eq!(shape(&session.poll().await), [("s", "note")]);
}

#[tokio::test]
async fn a_removed_component_ends_its_subscription_and_may_still_be_unsubscribed() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let folder = handle(&bench, "slot:/Logic/Level2");
    subscribe(&session, &["slot:/Logic/Level2"]).await;
    let logic = handle(&bench, "slot:/Logic");
    bench
        .mock
        .station()
        .write()
        .remove(logic, "Level2")
        .unwrap();
    assert_eq!(session.poll().await, Vec::<Json>::new());
    let ords = json!([format!("h:{folder}"), "slot:/Logic/Level2"]);
    assert_eq!(session.call("unsub", ords).await, Json::Null);
}

#[tokio::test]
async fn bad_subscriptions_are_refused_as_a_whole() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    for key in ["sub", "unsub"] {
        for argument in [json!([]), json!(null), json!("slot:/"), json!([3])] {
            let text = session.call_refusal(key, argument).await;
            assert!(text.contains(&format!("'{key}'")), "{text}");
        }
    }
    let text = session
        .call_refusal("sub", json!([SETPOINT, "slot:/Logic/Nothing"]))
        .await;
    assert!(text.contains("Nothing"), "{text}");
    set(&bench, SETPOINT, "note", "untold".into());
    assert_eq!(session.poll().await, Vec::<Json>::new());
    let text = session
        .call_refusal("sub", json!(["slot:/Logic/Setpoint/note"]))
        .await;
    assert!(text.contains("note"), "{text}");
    let text = session.call_refusal("unsub", json!(["h:xyz"])).await;
    assert!(text.contains("xyz"), "{text}");
}

#[tokio::test]
async fn users_are_told_only_of_what_they_may_read() {
    let bench = bench().await;
    let operator = bench.client(OPERATOR);
    let session = operator.session().await;
    let text = session.call_refusal("sub", json!([SETPOINT])).await;
    assert!(text.contains("Permission denied"), "{text}");

    let viewer = bench.client(VIEWER);
    let session = viewer.session().await;
    let loads = subscribe(&session, &[SETPOINT]).await;
    assert!(
        find(&loads[0]["b"], "n$3apoint").is_none(),
        "no operator slot"
    );
    let point = handle(&bench, SETPOINT);
    {
        let mut station = bench.mock.station().write();
        station.remove(point, "n$3apoint").unwrap();
        let secret = Value::from("for administrators");
        station
            .add_value(point, Some("secret"), secret, Flags::NONE, None)
            .unwrap();
    }
    assert_eq!(session.poll().await, Vec::<Json>::new());
    set(&bench, SETPOINT, "secret", "changed".into());
    assert_eq!(session.poll().await, Vec::<Json>::new());

    let set_flags = |flags: Flags| {
        let mut station = bench.mock.station().write();
        station.set_flags(point, "secret", flags).unwrap();
    };
    set_flags(Flags::OPERATOR);
    let operations = session.poll().await;
    assert_eq!(shape(&operations), [("a", "secret")]);
    assert_eq!(operations[0]["b"]["v"], "changed");
    set_flags(Flags::NONE);
    assert_eq!(shape(&session.poll().await), [("v", "secret")]);
}

#[tokio::test]
async fn who_loses_the_right_to_read_hears_nothing_and_gets_everything_when_it_returns() {
    let bench = bench().await;
    let operator = bench.client(OPERATOR);
    let session = operator.session().await;
    subscribe(&session, &["slot:/AHU1/Damper"]).await;
    let unit = handle(&bench, "slot:/AHU1");
    let mask = bench.mock.station().read().users.category_mask("AHU1");
    let move_to = |mask| {
        let mut station = bench.mock.station().write();
        station.set_categories(unit, mask).unwrap();
    };
    move_to(None);
    set(
        &bench,
        "slot:/AHU1/Damper",
        "in10",
        Value::status_numeric(5.0, Status::ok()),
    );
    assert_eq!(session.poll().await, Vec::<Json>::new());
    move_to(mask);
    let operations = session.poll().await;
    let [load] = &operations[..] else {
        panic!("{operations:?}")
    };
    assert_eq!(load["nm"], "l");
    assert_eq!(load["b"]["d"], "5.0 {ok} @ 10");
    assert_eq!(session.poll().await, Vec::<Json>::new());
}

#[tokio::test]
async fn a_client_that_fell_too_far_behind_gets_everything_anew() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    subscribe(&session, &[SETPOINT, "slot:/Logic/Mode"]).await;
    {
        let damper = handle(&bench, "slot:/AHU1/Damper");
        let point = handle(&bench, SETPOINT);
        let mut station = bench.mock.station().write();
        station.set(point, "note", "lost".into()).unwrap();
        // More changes than the station's log keeps.
        for number in 0..11_000 {
            let value = Value::status_numeric(f64::from(number), Status::ok());
            station.set(damper, "in10", value).unwrap();
        }
    }
    let operations = session.poll().await;
    let kinds: Vec<&Json> = operations
        .iter()
        .map(|operation| &operation["nm"])
        .collect();
    assert_eq!(kinds, ["l", "l"]);
    assert_eq!(child(&operations[0]["b"], "note")["v"], "lost");
    assert_eq!(session.poll().await, Vec::<Json>::new());
}

#[tokio::test]
async fn changes_come_before_loads_of_the_same_poll() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    subscribe(&session, &[SETPOINT]).await;
    bench.change(|switches| switches.load_latency = 0);
    session
        .call("loadSlots", json!({"o": SETPOINT, "d": 0}))
        .await;
    set(&bench, SETPOINT, "note", "new".into());
    let operations = session.poll().await;
    assert_eq!(shape(&operations), [("s", "note"), ("l", "")]);
    assert_eq!(child(&operations[1]["b"], "note")["v"], "new");
}

#[tokio::test]
async fn subscriptions_end_with_their_session_and_with_their_space() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    subscribe(&session, &[SETPOINT]).await;
    let space = json!({
        "id": session.id, "scid": "station:", "scts": "box:ComponentSpaceSessionHandler", "scarg": "station:",
    });
    client.ask("ssession", "makessc", space).await;
    set(&bench, SETPOINT, "note", "untold".into());
    assert_eq!(session.poll().await, Vec::<Json>::new());

    subscribe(&session, &[SETPOINT]).await;
    bench.clock.advance(TimeDelta::seconds(91));
    let text = client
        .refusal("ssession", "pollchgs", json!({"id": session.id}))
        .await;
    assert!(text.contains("expired"), "{text}");
    assert_eq!(bench.mock.box_sessions(), 0);
    let again = client.session().await;
    set(&bench, SETPOINT, "note", "untold too".into());
    assert_eq!(again.poll().await, Vec::<Json>::new());
}

#[tokio::test]
async fn two_sessions_are_told_independently() {
    let bench = bench().await;
    let (first, second) = (bench.client(ADMIN), bench.client(VIEWER));
    let (one, two) = (first.session().await, second.session().await);
    subscribe(&one, &[SETPOINT]).await;
    subscribe(&two, &[SETPOINT]).await;
    set(&bench, SETPOINT, "note", "both".into());
    assert_eq!(shape(&one.poll().await), [("s", "note")]);
    assert_eq!(one.poll().await, Vec::<Json>::new());
    assert_eq!(shape(&two.poll().await), [("s", "note")]);
}
