//! Type records and contracts.

use serde_json::{Value as Json, json};

use crate::client::{ADMIN, bench, child};

fn slot<'a>(contract: &'a Json, name: &str) -> Option<&'a Json> {
    contract.as_array()?.iter().find(|slot| slot["n"] == name)
}

#[tokio::test]
async fn records_name_the_direct_parents_and_mark_what_a_type_is() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let types = [
        "control:NumericWritable",
        "baja:Link",
        "alarm:SourceState",
        "baja:StatusNumeric",
        "baja:Double",
    ];
    let records = client
        .ask("reg", "loadTypes", json!({"t": types, "ec": false}))
        .await;
    let writable = &records["control:NumericWritable"];
    assert_eq!(writable["p"], "control:NumericPoint");
    assert_eq!(writable["it"], json!(["control:IWritablePoint"]));
    assert_eq!(
        (&writable["isc"], &writable["isx"], &writable["isv"]),
        (&json!(true), &json!(true), &json!(true))
    );
    for absent in ["a", "i", "iss", "isl", "ise", "c"] {
        assert!(writable.get(absent).is_none(), "{absent}");
    }
    assert_eq!(records["baja:Link"]["isl"], true);
    assert_eq!(records["alarm:SourceState"]["ise"], true);
    assert_eq!(records["baja:Double"]["isn"], true);
    assert!(records["baja:StatusNumeric"].get("isc").is_none());
    let value = client
        .ask(
            "reg",
            "loadTypes",
            json!({"t": ["baja:Value", "control:IWritablePoint"]}),
        )
        .await;
    assert!(
        value["baja:Value"].get("p").is_none(),
        "baja:Object is not named"
    );
    assert_eq!(value["baja:Value"]["a"], true);
    assert_eq!(value["control:IWritablePoint"]["i"], true);
    let text = client
        .refusal(
            "reg",
            "loadTypes",
            json!({"t": ["baja:Folder", "acme:Thing"]}),
        )
        .await;
    assert!(text.contains("acme:Thing"), "{text}");
}

#[tokio::test]
async fn a_contract_holds_each_types_own_declarations() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let contract = client
        .ask("reg", "loadContract", json!("control:NumericWritable"))
        .await;
    let types: Vec<&String> = contract.as_object().unwrap().keys().collect();
    assert_eq!(
        types[..3],
        [
            "control:NumericWritable",
            "control:NumericPoint",
            "control:ControlPoint"
        ]
    );
    assert!(
        types.iter().any(|ty| *ty == "baja:Component")
            && types.iter().any(|ty| *ty == "baja:Object")
    );
    let own = &contract["control:NumericWritable"];
    let input = slot(own, "in10").unwrap();
    assert_eq!(
        (&input["st"], &input["v"]["t"]),
        (&json!("p"), &json!("baja:StatusNumeric"))
    );
    assert_eq!(child(&input["v"], "status")["v"], "40");
    assert!(input["f"].as_str().unwrap().contains('o'));
    let set = slot(own, "set").unwrap();
    assert_eq!(
        (&set["st"], &set["apt"]),
        (&json!("a"), &json!("baja:Double"))
    );
    assert!(slot(own, "out").is_none(), "declared by the ancestor");
    assert_eq!(
        slot(&contract["control:NumericPoint"], "out").unwrap()["f"],
        "rtso"
    );
    let extension = slot(&contract["control:ControlPoint"], "proxyExt").unwrap();
    assert_eq!(extension["v"]["t"], "control:NullProxyExt");
    let text = client
        .refusal("reg", "loadContract", json!("acme:Thing"))
        .await;
    assert!(text.contains("acme:Thing"), "{text}");
}

#[tokio::test]
async fn contracts_come_with_types_on_request_and_enums_list_their_tags() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let records = client
        .ask(
            "reg",
            "loadTypes",
            json!({"t": ["alarm:SourceState"], "ec": true}),
        )
        .await;
    let contract = client
        .ask("reg", "loadContract", json!("alarm:SourceState"))
        .await;
    assert_eq!(
        records["alarm:SourceState"]["c"],
        contract["alarm:SourceState"]
    );
    let normal = &contract["alarm:SourceState"][0];
    assert_eq!((&normal["o"], &normal["t"]), (&json!(0), &json!("normal")));
    let levels = client
        .ask("reg", "loadContract", json!("control:PriorityLevel"))
        .await;
    let fallback = levels["control:PriorityLevel"]
        .as_array()
        .unwrap()
        .iter()
        .find(|tag| tag["o"] == 17);
    assert_eq!(
        fallback,
        Some(&json!({"o": 17, "t": "fallback", "dt": "def"}))
    );
}

#[tokio::test]
async fn parameter_defaults_are_sent_only_where_the_station_still_does() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let body = json!("control:NumericWritable");
    let contract = client.ask("reg", "loadContract", body.clone()).await;
    assert!(
        slot(&contract["control:NumericWritable"], "override")
            .unwrap()
            .get("apd")
            .is_none()
    );
    bench.change(|switches| switches.action_parameter_default = true);
    let contract = client.ask("reg", "loadContract", body).await;
    let action = slot(&contract["control:NumericWritable"], "override").unwrap();
    assert_eq!(action["apd"]["t"], "control:NumericOverride");
    let node = client.resolve("slot:/Logic/Setpoint").await;
    assert_eq!(
        child(&node, "override")["apd"]["t"],
        "control:NumericOverride"
    );
}

#[tokio::test]
async fn concrete_types_leave_out_abstract_ones() {
    let bench = bench().await;
    let answer = bench
        .client(ADMIN)
        .ask("reg", "getConcreteTypes", json!("control:ControlPoint"))
        .await;
    let specs = answer["s"].as_array().unwrap();
    assert!(specs.contains(&json!("control:NumericPoint")));
    assert!(!specs.contains(&json!("control:ControlPoint")));
    assert_eq!(answer["t"].as_object().unwrap().len(), specs.len());
}

#[tokio::test]
async fn a_station_without_the_channel_refuses_it() {
    let bench = bench().await;
    bench.change(|switches| switches.registry = false);
    let text = bench
        .client(ADMIN)
        .refusal("reg", "loadTypes", json!({"t": []}))
        .await;
    assert!(text.contains("'reg'"), "{text}");
}

#[tokio::test]
async fn units_and_zones_are_listed_as_values() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let units = client.ask("unit", "list", json!({})).await;
    let celsius = units
        .as_array()
        .unwrap()
        .iter()
        .find(|unit| unit["d"] == "°C")
        .unwrap();
    assert!(celsius["v"].as_str().unwrap().starts_with("celsius;°C;"));
    let zones = client.ask("timeZone", "list", json!({})).await;
    assert!(
        zones
            .as_array()
            .unwrap()
            .iter()
            .any(|zone| zone["v"] == "America/New_York")
    );
}
