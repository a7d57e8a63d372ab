//! What `invokeAction` does (Station web specification §4.8).

use std::time::Duration;

use chrono::TimeDelta;
use mock_station::model::audit::AuditOperation;
use mock_station::switches::ActionArguments;
use serde_json::{Value as Json, json};

use crate::client::{ADMIN, OPERATOR, VIEWER, bench, child, handle};

fn override_of(value: &str, millis: &str) -> Json {
    json!({"nm": "p", "t": "control:NumericOverride", "s": [
        {"nm": "p", "n": "duration", "t": "baja:RelTime", "v": millis},
        {"nm": "p", "n": "value", "t": "baja:Double", "v": value}]})
}

#[tokio::test]
async fn an_override_runs_out_by_the_clock() {
    let bench = bench().await;
    let client = bench.client(OPERATOR);
    let session = client.session().await;
    let h = handle(&bench, "slot:/AHU1/Damper").to_string();
    let invoked = session
        .call(
            "invokeAction",
            json!({"h": h, "a": "override", "b": override_of("80.0", "600000")}),
        )
        .await;
    assert_eq!(invoked, Json::Null);
    let node = client.resolve("slot:/AHU1/Damper").await;
    let out = child(&node, "out");
    assert_eq!(child(out, "value")["v"], "80.0");
    assert_eq!(
        child(out, "status")["v"],
        "20;activeLevel=e:8@control:PriorityLevel"
    );
    bench.clock.advance(TimeDelta::minutes(10));
    let node = client.resolve("slot:/AHU1/Damper").await;
    assert_eq!(
        child(child(&node, "out"), "status")["v"],
        "40;activeLevel=e:17@control:PriorityLevel"
    );
    let station = bench.mock.station().read();
    let entry = station.audit.of_user(OPERATOR).next().unwrap();
    assert_eq!(
        (
            entry.operation,
            entry.slot.as_str(),
            entry.new_value.as_str()
        ),
        (
            AuditOperation::Invoked,
            "override",
            "duration=600000,maxOverrideDuration=0,value=80.0"
        )
    );
}

#[tokio::test]
async fn a_default_is_set_and_a_level_released_without_an_argument() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let h = handle(&bench, "slot:/AHU1/Damper").to_string();
    let invoke = |action: &'static str, body: Json| {
        let (session, h) = (&session, &h);
        async move {
            let argument = json!({"h": h, "a": action, "b": body});
            session.call("invokeAction", argument).await
        }
    };
    invoke(
        "set",
        json!({"nm": "p", "t": "baja:Double", "v": "33.0", "d": "33 %"}),
    )
    .await;
    invoke(
        "emergencyOverride",
        json!({"nm": "p", "t": "baja:Double", "v": "5.0"}),
    )
    .await;
    let out = |node: &Json| child(child(node, "out"), "value")["v"].clone();
    assert_eq!(out(&client.resolve("slot:/AHU1/Damper").await), "5.0");
    invoke("emergencyAuto", Json::Null).await;
    assert_eq!(out(&client.resolve("slot:/AHU1/Damper").await), "33.0");
}

#[tokio::test]
async fn arguments_must_be_of_the_declared_type_unless_the_station_converts() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let h = handle(&bench, "slot:/AHU1/Damper").to_string();
    let text = json!({"h": h, "a": "set", "b": {"nm": "p", "t": "baja:String", "v": "12"}});
    let missing = json!({"h": h, "a": "set"});
    let unknown = json!({"h": h, "a": "explode"});
    let refused = "action set of slot:/AHU1/Damper needs an argument of type baja:Double";
    assert_eq!(
        session.call_refusal("invokeAction", text.clone()).await,
        refused
    );
    assert_eq!(
        session.call_refusal("invokeAction", missing.clone()).await,
        refused
    );
    assert_eq!(
        session.call_refusal("invokeAction", unknown).await,
        "slot:/AHU1/Damper has no action \"explode\""
    );
    bench.change(|boxs| boxs.action_arguments = ActionArguments::Converted);
    assert_eq!(session.call("invokeAction", text).await, Json::Null);
    assert_eq!(session.call_refusal("invokeAction", missing).await, refused);
    let node = client.resolve("slot:/AHU1/Damper").await;
    assert_eq!(child(child(&node, "out"), "value")["v"], "12.0");
}

#[tokio::test]
async fn operators_invoke_operator_actions_only() {
    let bench = bench().await;
    let h = handle(&bench, "slot:/AHU1/Damper").to_string();
    let auto = json!({"h": h, "a": "auto"});
    let emergency = json!({"h": h, "a": "emergencyAuto"});
    let (worker, reader) = (bench.client(OPERATOR), bench.client(VIEWER));
    let (worker, reader) = (worker.session().await, reader.session().await);
    assert_eq!(worker.call("invokeAction", auto.clone()).await, Json::Null);
    assert_eq!(
        worker.call_refusal("invokeAction", emergency).await,
        "Permission denied: adminInvoke is required on slot:/AHU1/Damper"
    );
    assert_eq!(
        reader.call_refusal("invokeAction", auto).await,
        "Permission denied: operatorInvoke is required on slot:/AHU1/Damper"
    );
}

#[tokio::test]
async fn an_action_that_throws_is_an_error_and_leaves_no_trail() {
    let bench = bench().await;
    let damper = handle(&bench, "slot:/AHU1/Damper");
    let cause = "the driver does not answer";
    bench
        .mock
        .station()
        .write()
        .fail_action(damper, "auto", cause);
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let auto = json!({"h": damper.to_string(), "a": "auto"});
    assert_eq!(
        session.call_refusal("invokeAction", auto.clone()).await,
        "action auto of slot:/AHU1/Damper failed: the driver does not answer"
    );
    assert!(bench.mock.station().read().audit.entries().is_empty());
    bench.mock.station().write().mend_action(damper, "auto");
    assert_eq!(session.call("invokeAction", auto).await, Json::Null);
}

#[tokio::test]
async fn saving_answers_nothing_and_may_take_its_time() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let root = session.call("loadRoot", Json::Null).await;
    let save = json!({"h": root["h"], "a": "save"});
    assert_eq!(session.call("invokeAction", save.clone()).await, Json::Null);
    let saves = bench.mock.station().read().saves();
    assert_eq!((saves.count, saves.last), (1, Some(crate::client::noon())));
    bench.change(|boxs| boxs.async_delay = Duration::from_secs(30));
    assert_eq!(session.call("invokeAction", save.clone()).await, Json::Null);
    assert_eq!(bench.mock.station().read().saves().count, 1);
    bench.clock.advance(TimeDelta::seconds(30));
    let saves = bench.mock.station().read().saves();
    assert_eq!(saves.count, 2);
    let worker = bench.client(OPERATOR);
    let text = worker
        .session()
        .await
        .call_refusal("invokeAction", save)
        .await;
    assert!(text.contains("adminInvoke"), "{text}");
}

#[tokio::test]
async fn the_failure_of_an_asynchronous_action_is_not_answered() {
    let bench = bench().await;
    let root = bench.mock.station().read().root();
    bench
        .mock
        .station()
        .write()
        .fail_action(root, "save", "disk full");
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let save = json!({"h": root.to_string(), "a": "save"});
    assert_eq!(session.call("invokeAction", save).await, Json::Null);
    assert_eq!(bench.mock.station().read().saves().count, 0);
}
