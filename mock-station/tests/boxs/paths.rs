//! Slots along a path and defaults of action arguments, answered in the reply itself.

use serde_json::{Value as Json, json};

use crate::client::{ADMIN, OPERATOR, bench, child, handle};

#[tokio::test]
async fn a_path_is_answered_step_by_step_with_stubs() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let steps = json!([
        {"o": "slot:/", "sn": "Logic"},
        {"o": "slot:/Logic", "sn": "Level2"},
        {"o": "slot:/Logic/Setpoint", "sn": "note"},
        {"o": "slot:/Logic", "sn": "Nothing"},
        {"o": "slot:/Nowhere", "sn": "x"},
    ]);
    let argument = json!({"spi": steps, "bo": "local:|station:|slot:/"});
    let items = session.call("loadSlotPath", argument).await;
    let items = items.as_array().unwrap();
    assert_eq!(items.len(), 5);
    for (item, step) in items.iter().zip(steps.as_array().unwrap()) {
        assert_eq!((&item["o"], &item["sn"]), (&step["o"], &step["sn"]));
    }
    let logic = handle(&bench, "slot:/Logic").to_string();
    assert_eq!(
        (&items[0]["b"]["h"], &items[0]["b"]["stub"]),
        (&json!(logic), &json!(true))
    );
    assert_eq!(
        (&items[1]["h"], &items[1]["b"]["t"]),
        (&json!(logic), &json!("baja:Folder"))
    );
    assert_eq!(items[2]["b"]["v"], "north wing");
    for lost in &items[3..] {
        assert_eq!((lost.get("h"), lost.get("b")), (None, None));
    }
}

#[tokio::test]
async fn a_path_shows_nothing_that_the_user_may_not_read_and_bad_arguments_are_refused() {
    let bench = bench().await;
    let client = bench.client(OPERATOR);
    let session = client.session().await;
    let argument = json!({"spi": [{"o": "slot:/", "sn": "Logic"}, {"o": "slot:/", "sn": "AHU1"}]});
    let items = session.call("loadSlotPath", argument).await;
    assert_eq!(items[0].get("b"), None);
    assert_eq!(items[1]["b"]["n"], "AHU1");
    for (argument, named) in [
        (json!({"bo": "slot:/"}), "'spi'"),
        (json!({"spi": [{"o": "slot:/"}]}), "'sn'"),
        (json!({"spi": [], "bo": "slot:/Nowhere"}), "Nowhere"),
        (json!([]), "object"),
    ] {
        let text = session.call_refusal("loadSlotPath", argument).await;
        assert!(text.contains(named), "{text}");
    }
    assert_eq!(
        session.call("loadSlotPath", json!({"spi": []})).await,
        json!([])
    );
}

#[tokio::test]
async fn an_action_is_offered_with_the_default_of_its_parameter() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let point = handle(&bench, "slot:/Logic/Setpoint").to_string();
    let ask = |action: &str| json!({"h": point, "a": action});
    let argument = session.call("getActionParameterDefault", ask("set")).await;
    assert_eq!(
        (&argument["t"], &argument["v"]),
        (&json!("baja:Double"), &json!("0.0"))
    );
    let argument = session
        .call("getActionParameterDefault", ask("override"))
        .await;
    assert_eq!(argument["t"], "control:NumericOverride");
    assert!(argument["s"].is_array());
    let none = session.call("getActionParameterDefault", ask("auto")).await;
    assert_eq!(none, Json::Null);
    for (argument, named) in [
        (ask("fly"), "fly"),
        (ask("out"), "out"),
        (json!({"h": "fffff", "a": "set"}), "fffff"),
        (json!({"h": point}), "'a'"),
    ] {
        let text = session
            .call_refusal("getActionParameterDefault", argument)
            .await;
        assert!(text.contains(named), "{text}");
    }
}

#[tokio::test]
async fn the_declared_default_of_an_argument_is_the_same_as_in_the_contract() {
    let bench = bench().await;
    bench.change(|switches| switches.action_parameter_default = true);
    let client = bench.client(ADMIN);
    let session = client.session().await;
    let node = client.resolve("slot:/Logic/Setpoint").await;
    let declared = &child(&node, "override")["apd"];
    let argument = json!({"h": node["h"], "a": "override"});
    let offered = session.call("getActionParameterDefault", argument).await;
    if !declared.is_null() {
        assert_eq!(&offered, declared);
    }
    assert_eq!(offered["t"], child(&node, "override")["apt"]);
}
