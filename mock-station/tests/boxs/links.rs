//! Links over BOX: tested, made, added, and what they do to the slots they end at (Station web specification §4.5, §4.8).

use mock_station::model::Value;
use mock_station::switches::LinkConversion;
use serde_json::{Value as Json, json};

use crate::client::{ADMIN, Bench, OPERATOR, VIEWER, bench, child, find, handle, numeric, simple};

const SETPOINT: &str = "slot:/Logic/Setpoint";
const DAMPER: &str = "slot:/AHU1/Damper";
const FAN: &str = "slot:/Logic/Fan$20Cmd";

fn pair(bench: &Bench, source: (&str, &str), target: (&str, &str)) -> Json {
    let h = |ord| handle(bench, ord).to_string();
    json!({"s": h(source.0), "ss": source.1, "t": h(target.0), "ts": target.1})
}

fn with_c(mut pair: Json, create: bool) -> Json {
    pair["c"] = json!(create);
    pair
}

fn link(spec: &str, source: &str, slot: &str, target: &str) -> Json {
    json!({"nm": "p", "t": spec, "s": [
        {"nm": "p", "n": "sourceOrd", "t": "baja:Ord", "v": format!("h:{source}")},
        {"nm": "p", "n": "sourceSlotName", "t": "baja:String", "v": slot},
        {"nm": "p", "n": "targetSlotName", "t": "baja:String", "v": target}]})
}

fn input(node: &Json, slot: &str) -> (String, String) {
    let held = |member: &str, default: &str| {
        let slot = find(node, slot);
        let member = slot.and_then(|slot| find(slot, member));
        member.map_or(default.to_owned(), |member| {
            member["v"].as_str().unwrap().to_owned()
        })
    };
    (held("value", "0.0"), held("status", "0"))
}

#[tokio::test]
async fn a_pair_is_tested_and_linked_on_request() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let ends = pair(&bench, (SETPOINT, "out"), (DAMPER, "in12"));
    let valid = json!([[{"v": true, "r": null, "s": "Link"}]]);
    let tested = session
        .call("checkLinks", with_c(ends.clone(), false))
        .await;
    assert_eq!(tested, valid);
    assert!(find(&client.resolve(DAMPER).await, "Link").is_none());
    let made = session.call("checkLinks", with_c(ends.clone(), true)).await;
    assert_eq!(made, valid);
    let node = client.resolve(DAMPER).await;
    let made = child(&node, "Link");
    assert_eq!(made["t"], "baja:Link");
    assert_eq!(child(made, "targetSlotName")["v"], "in12");
    assert_eq!(input(&node, "in12"), ("21.5".to_owned(), "0".to_owned()));
    let knobs = &client.resolve(SETPOINT).await["nk"];
    assert_eq!(knobs[0]["ts"], "in12");
    let again = session.call("checkLinks", with_c(ends, true)).await;
    assert_eq!(again[0][0]["v"], false);
    let reason = again[0][0]["r"].as_str().unwrap();
    assert!(reason.contains("already linked"), "{reason}");
}

#[tokio::test]
async fn pairs_that_do_not_fit_are_told_apart() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let check = |source, target| {
        let ends = with_c(pair(&bench, source, target), true);
        let session = &session;
        async move { session.call("checkLinks", ends).await[0][0].clone() }
    };
    for (source, target, words) in [
        ((SETPOINT, "out"), (DAMPER, "out"), "read-only"),
        ((SETPOINT, "out"), (DAMPER, "in17"), "has no slot in17"),
        ((SETPOINT, "note"), (DAMPER, "in9"), "type mismatch"),
        ((SETPOINT, "out"), (DAMPER, "proxyExt"), "is a component"),
        ((SETPOINT, "out"), (FAN, "override"), "has no slot override"),
        ((FAN, "out"), (DAMPER, "set"), "type mismatch"),
    ] {
        let checked = check(source, target).await;
        assert_eq!(checked["v"], false, "{checked}");
        let reason = checked["r"].as_str().unwrap();
        assert!(reason.contains(words), "{source:?} {target:?}: {reason}");
    }
    bench.change(|boxs| boxs.link_conversion = LinkConversion::Refused);
    let checked = check((SETPOINT, "out"), (FAN, "in9")).await;
    assert!(checked["r"].as_str().unwrap().contains("type mismatch"));
    assert!(bench.mock.station().read().audit.entries().is_empty());
}

#[tokio::test]
async fn stations_of_4_3_know_no_check() {
    let bench = bench().await;
    bench.change(|boxs| {
        boxs.check_links = false;
        boxs.make_link = false;
    });
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let ends = pair(&bench, (SETPOINT, "out"), (DAMPER, "in12"));
    for key in ["checkLinks", "checkLink", "makeLink"] {
        let text = session.call_refusal(key, ends.clone()).await;
        assert!(
            text.contains(&format!("Unknown session handler key '{key}'")),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_made_link_is_added_under_a_name_of_the_clients_choice() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let target = handle(&bench, DAMPER).to_string();
    let ends = pair(&bench, (SETPOINT, "out"), (DAMPER, "in12"));
    let made = session.call("makeLink", ends).await;
    assert_eq!(made["t"], "baja:Link");
    assert!(find(&client.resolve(DAMPER).await, "SetpointOutLink").is_none());
    let add = json!([{"nm": "a", "h": target, "n": "SetpointOutLink", "b": made}]);
    assert_eq!(
        session.sync(add).await,
        json!([{"id": "a", "nn": "SetpointOutLink"}])
    );
    assert_eq!(input(&client.resolve(DAMPER).await, "in12").0, "21.5");

    // What somebody writes into a linked input lasts until the source moves.
    let write = json!([{"nm": "s", "h": target, "n": "in12", "b": numeric("3.0", "0")}]);
    session.sync(write).await;
    assert_eq!(input(&client.resolve(DAMPER).await, "in12").0, "3.0");
    let source = handle(&bench, SETPOINT).to_string();
    session
        .sync(json!([{"nm": "s", "h": source, "n": "in10", "b": numeric("22.0", "0")}]))
        .await;
    assert_eq!(input(&client.resolve(DAMPER).await, "in12").0, "22.0");

    session
        .sync(json!([{"nm": "v", "h": target, "n": "SetpointOutLink"}]))
        .await;
    session
        .sync(json!([{"nm": "s", "h": source, "n": "in10", "b": numeric("23.0", "0")}]))
        .await;
    assert_eq!(input(&client.resolve(DAMPER).await, "in12").0, "22.0");
    assert_eq!(client.resolve(SETPOINT).await["nk"], Json::Null);
}

#[tokio::test]
async fn a_converter_stands_between_two_kinds_and_a_wrong_one_faults() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let (source, target) = (handle(&bench, SETPOINT), handle(&bench, FAN));
    let made = session
        .call("makeLink", pair(&bench, (SETPOINT, "out"), (FAN, "in12")))
        .await;
    assert_eq!(made["t"], "baja:ConversionLink");
    assert_eq!(
        child(&made, "converter")["t"],
        "converters:StatusNumericToStatusBoolean"
    );
    let mut built = link("baja:ConversionLink", &source.to_string(), "out", "in11");
    let converter = |spec: &str| json!({"nm": "p", "n": "converter", "t": spec});
    built["s"]
        .as_array_mut()
        .unwrap()
        .push(converter("converters:StatusNumericToStatusString"));
    let h = target.to_string();
    session
        .sync(json!([
            {"nm": "a", "h": h, "n": "Right", "b": made},
            {"nm": "a", "h": h, "n": "Wrong", "b": built},
            {"nm": "a", "h": h, "n": "Plain", "b": link("baja:Link", &source.to_string(), "out", "in13")}]))
        .await;
    let read = |slot: &str| bench.mock.station().read().value(target, slot);
    assert_eq!(read("in12/value"), Some(Value::Boolean(true)));
    assert_eq!(read("in12/status").unwrap().encode(), "0");
    assert_eq!(read("in11/status").unwrap().encode(), "2");
    assert_eq!(read("in13/status").unwrap().encode(), "2");
    let mend = converter("converters:StatusNumericToStatusBoolean");
    session
        .sync(json!([{"nm": "s", "h": h, "n": "Wrong/converter", "b": mend}]))
        .await;
    assert_eq!(read("in11/status").unwrap().encode(), "0");
    let unknown =
        json!([{"nm": "s", "h": h, "n": "Wrong/converter", "b": converter("converters:No")}]);
    let text = session.sync_refusal(unknown).await;
    assert_eq!(
        text,
        "Unknown type 'converters:No': its module is not installed or has no such type"
    );
}

#[tokio::test]
async fn linking_needs_rights_at_both_ends() {
    let bench = bench().await;
    let ends = |bench: &Bench| with_c(pair(bench, (SETPOINT, "out"), (DAMPER, "in12")), true);
    let reader = bench.client(VIEWER);
    let text = reader
        .session()
        .await
        .call_refusal("checkLinks", ends(&bench))
        .await;
    assert_eq!(
        text,
        "Permission denied: adminWrite is required on slot:/AHU1/Damper"
    );
    let worker = bench.client(OPERATOR);
    let session = worker.session().await;
    let text = session.call_refusal("checkLinks", ends(&bench)).await;
    assert_eq!(
        text,
        "Permission denied: operatorRead is required on slot:/Logic/Setpoint"
    );
    let source = handle(&bench, SETPOINT).to_string();
    let target = handle(&bench, DAMPER).to_string();
    let add = json!([{"nm": "a", "h": target, "n": "Sly", "b": link("baja:Link", &source, "out", "in12")}]);
    let text = session.sync_refusal(add).await;
    assert!(
        text.contains("operatorRead is required on slot:/Logic/Setpoint"),
        "{text}"
    );
}

#[tokio::test]
async fn a_topic_invokes_the_action_it_is_linked_to() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let logic = handle(&bench, "slot:/Logic").to_string();
    session
        .sync(json!([{"nm": "a", "h": logic, "n": "Clock", "b": {"nm": "p", "t": "control:TimeTrigger"}}]))
        .await;
    let ends = pair(&bench, ("slot:/Logic/Clock", "trigger"), (FAN, "inactive"));
    let text = session.call("checkLinks", with_c(ends, true)).await;
    assert!(
        text[0][0]["r"].as_str().unwrap().contains("type mismatch"),
        "{text}"
    );
    let ends = pair(&bench, ("slot:/Logic/Clock", "trigger"), (FAN, "auto"));
    assert_eq!(
        session.call("checkLinks", with_c(ends, true)).await[0][0]["v"],
        true
    );
    let fan = handle(&bench, FAN);
    let level = || {
        bench
            .mock
            .station()
            .read()
            .out(fan)
            .unwrap()
            .1
            .active_level()
    };
    assert_eq!(level(), Some(8));
    let clock = handle(&bench, "slot:/Logic/Clock").to_string();
    session
        .sync(json!([{"nm": "t", "h": clock, "n": "trigger", "b": simple("baja:AbsTime", "null")}]))
        .await;
    assert_eq!(level(), Some(17));
}
