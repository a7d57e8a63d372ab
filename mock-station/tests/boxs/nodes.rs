//! What resolved components, properties and structs contain, and for whom.

use mock_station::model::{Flags, Status, Value};
use serde_json::{Value as Json, json};

use crate::client::{ADMIN, OPERATOR, VIEWER, bench, child, find, handle};

fn kinds(node: &Json, kind: &str) -> Vec<String> {
    let slots = node["s"].as_array().unwrap().iter();
    slots
        .filter(|slot| slot["nm"] == kind)
        .map(|slot| slot["n"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn a_writable_point_shows_its_levels_and_leaves_defaults_out() {
    let bench = bench().await;
    let node = bench.client(ADMIN).resolve("slot:/Logic/Setpoint").await;
    let point = handle(&bench, "slot:/Logic/Setpoint");
    assert_eq!(node["h"], json!(point.to_string()));
    assert_eq!(node["l"]["p"], "irwIRW");
    assert_eq!(node["d"], "21.5 °C {ok} @ 10");
    let out = child(&node, "out");
    assert_eq!(
        (&out["f"], &out["t"]),
        (&json!("rtso"), &json!("baja:StatusNumeric"))
    );
    assert_eq!(out["d"], "21.5 °C {ok} @ 10");
    assert_eq!(child(out, "value")["v"], "21.5");
    assert_eq!(child(out, "value")["d"], "21.5");
    assert_eq!(
        child(out, "status")["v"],
        "0;activeLevel=e:10@control:PriorityLevel"
    );
    assert_eq!(child(child(&node, "in10"), "value")["v"], "21.5");
    assert!(
        find(child(&node, "in10"), "status").is_none(),
        "ok is the default of a status"
    );
    assert!(find(&node, "in9").is_none(), "an unset input is left out");
    let fallback = child(&node, "fallback");
    assert_eq!(
        fallback["s"],
        json!([]),
        "0.0 {{ok}} differs from the null default only as a whole"
    );
    let unit = "units=u:celsius;";
    assert!(
        child(&node, "facets")["v"]
            .as_str()
            .unwrap()
            .starts_with(unit)
    );
}

#[tokio::test]
async fn actions_children_and_dynamic_slots_are_listed_in_slot_order() {
    let bench = bench().await;
    let node = bench.client(ADMIN).resolve("slot:/Logic/Setpoint").await;
    let actions = kinds(&node, "a");
    for action in [
        "emergencyOverride",
        "emergencyAuto",
        "override",
        "auto",
        "set",
    ] {
        assert!(actions.iter().any(|name| name == action), "{action}");
    }
    let set = child(&node, "set");
    assert_eq!(
        (&set["apt"], &set["t"]),
        (&json!("baja:Double"), &json!("baja:Action"))
    );
    assert_eq!(child(&node, "override")["apt"], "control:NumericOverride");
    assert!(find(&node, "auto").unwrap().get("apt").is_none());
    let extension = child(&node, "proxyExt");
    assert_eq!(extension["t"], "control:NullProxyExt");
    assert_eq!(
        (&extension["stub"], extension.get("s")),
        (&json!(true), None)
    );
    assert_eq!(extension["dn"], "Proxy Ext");
    let tag = child(&node, "n$3apoint");
    assert_eq!(
        (&tag["t"], &tag["v"], &tag["f"]),
        (&json!("baja:Marker"), &json!(""), &json!("m"))
    );
    let names: Vec<&str> = node["s"]
        .as_array()
        .unwrap()
        .iter()
        .map(|slot| slot["n"].as_str().unwrap())
        .collect();
    let place = |name: &str| names.iter().position(|known| *known == name).unwrap();
    assert!(place("facets") < place("out") && place("out") < place("in10"));
    assert!(place("set") < place("n$3apoint") && place("n$3apoint") < place("note"));
}

#[tokio::test]
async fn texts_follow_facets_display_names_and_the_users_language() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let command = client.resolve("slot:/Logic/Fan$20Cmd").await;
    assert_eq!(child(&command, "out")["d"], "Running {overridden} @ 8");
    assert_eq!(
        child(child(&command, "out"), "status")["v"],
        "20;activeLevel=e:8@control:PriorityLevel"
    );
    assert!(command.get("dn").is_none());
    let mode = client.resolve("slot:/Logic/Mode").await;
    assert_eq!(mode["dn"], "Operating mode");
    let folder = client.resolve("slot:/Logic").await;
    assert_eq!(child(&folder, "Mode")["dn"], "Operating mode");
    assert_eq!(child(&folder, "Zone$20Temp")["d"], "1,234.6 °C {ok}");
    bench
        .mock
        .station()
        .write()
        .users
        .get_mut(ADMIN)
        .unwrap()
        .language = "de".to_owned();
    let folder = client.resolve("slot:/Logic").await;
    assert_eq!(child(&folder, "Zone$20Temp")["d"], "1.234,6 °C {ok}");
    let props = client.ask("sys", "props", json!({})).await;
    assert_eq!(props["lang"], "de");
}

#[tokio::test]
async fn changed_flags_and_slot_facets_bring_a_default_valued_slot_back() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let point = handle(&bench, "slot:/Logic/Setpoint");
    bench
        .mock
        .station()
        .write()
        .set_flags(point, "in9", Flags::READONLY)
        .unwrap();
    let node = client.resolve("slot:/Logic/Setpoint").await;
    assert_eq!(child(&node, "in9")["f"], "r");
    assert_eq!(child(child(&node, "in9"), "status")["v"], "40");
}

#[tokio::test]
async fn links_are_nodes_of_their_target_and_knobs_of_their_source() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let (source, target) = (
        handle(&bench, "slot:/Logic/Zone$20Temp"),
        handle(&bench, "slot:/Logic/Copy"),
    );
    let node = client.resolve("slot:/Logic/Copy").await;
    let link = child(&node, "Link");
    assert_eq!(link["t"], "baja:Link");
    assert!(link.get("h").is_none());
    assert_eq!(child(link, "sourceOrd")["v"], json!(format!("h:{source}")));
    assert_eq!(child(link, "sourceSlotName")["v"], "out");
    assert_eq!(child(link, "targetSlotName")["v"], "in16");
    assert_eq!(child(child(&node, "in16"), "value")["v"], "1234.56");
    let node = client.resolve("slot:/Logic/Zone$20Temp").await;
    let knobs = node["nk"].as_array().unwrap();
    assert_eq!(knobs.len(), 1);
    assert!(knobs[0]["id"].is_u64());
    assert_eq!(knobs[0]["ss"], "out");
    assert_eq!(
        (&knobs[0]["to"], &knobs[0]["ts"]),
        (&json!(format!("h:{target}")), &json!("in16"))
    );
}

#[tokio::test]
async fn ords_are_accepted_in_every_form_and_bad_ones_named() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let point = handle(&bench, "slot:/Logic/Setpoint").to_string();
    for body in [
        json!({"o": "slot:/Logic/Setpoint"}),
        json!({"o": "station:|slot:/Logic/Setpoint"}),
        json!({"o": "local:|station:|slot:/Logic/Setpoint", "bo": "station:|slot:/"}),
        json!({"o": format!("h:{point}"), "bo": "station:|slot:/"}),
        json!({"o": format!("station:|h:{point}"), "bo": null}),
        json!({"o": "slot:Setpoint", "bo": "station:|slot:/Logic"}),
    ] {
        assert_eq!(
            client.ask("ord", "resolve", body.clone()).await["o"]["h"],
            json!(point),
            "{body}"
        );
    }
    for ord in [
        "station:|slot:/Logic/Nothing",
        "station:|slot://Logic",
        "station:|h:ffff",
        "station:|h:xyz",
        "sql:select",
        "file:^x",
        "",
    ] {
        let text = client.refusal("ord", "resolve", json!({"o": ord})).await;
        assert!(
            text.contains("resolve") && text.contains(ord),
            "{ord}: {text}"
        );
    }
}

#[tokio::test]
async fn properties_and_struct_members_resolve_too() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let out = client.resolve("slot:/Logic/Setpoint/out").await;
    assert_eq!(
        (&out["n"], &out["t"]),
        (&json!("out"), &json!("baja:StatusNumeric"))
    );
    assert_eq!(child(&out, "value")["v"], "21.5");
    let value = client.resolve("slot:/Logic/Setpoint/out/value").await;
    assert_eq!(
        (&value["t"], &value["v"]),
        (&json!("baja:Double"), &json!("21.5"))
    );
    let unset = client.resolve("slot:/Logic/Setpoint/in3").await;
    assert_eq!(child(&unset, "status")["v"], "40");
    let action = client.resolve("slot:/Logic/Setpoint/set").await;
    assert_eq!(
        (&action["nm"], &action["apt"]),
        (&json!("a"), &json!("baja:Double"))
    );
}

#[tokio::test]
async fn users_get_only_what_they_may_read() {
    let bench = bench().await;
    let viewer = bench.client(VIEWER);
    let node = viewer.resolve("slot:/Logic/Setpoint").await;
    assert_eq!(node["l"]["p"], "r");
    assert_eq!(child(&node, "note")["v"], "north wing");
    assert!(find(&node, "in10").is_some(), "an operator slot");
    assert!(find(&node, "facets").is_none(), "an administrative slot");
    let text = viewer
        .refusal(
            "ord",
            "resolve",
            json!({"o": "slot:/Logic/Setpoint/facets"}),
        )
        .await;
    assert!(
        text.contains("ermission") && text.contains("adminRead"),
        "{text}"
    );

    let operator = bench.client(OPERATOR);
    let text = operator
        .refusal("ord", "resolve", json!({"o": "station:|slot:/Logic"}))
        .await;
    assert!(
        text.contains("Permission denied") && text.contains("slot:/Logic"),
        "{text}"
    );
    let root = operator.resolve("slot:/").await;
    assert!(find(&root, "AHU1").is_some() && find(&root, "Logic").is_none());
    assert_eq!(operator.resolve("slot:/AHU1/Damper").await["l"]["p"], "irw");
    let session = operator.session().await;
    let text = session
        .call_refusal("loadSlots", json!({"o": "slot:/Logic"}))
        .await;
    assert!(text.contains("Permission denied"), "{text}");
    let hidden = handle(&bench, "slot:/Logic").to_string();
    let text = session.call_refusal("handleToPath", json!(hidden)).await;
    assert!(text.contains("Permission denied"), "{text}");
    let root = handle(&bench, "slot:/").to_string();
    let children = session.call("navChildren", json!(root)).await;
    assert_eq!(children, json!(["local:|station:|slot:/AHU1"]));
}

#[tokio::test]
async fn numbers_that_are_none_and_bad_statuses_keep_their_encoding() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let point = handle(&bench, "slot:/Logic/Setpoint");
    let status = Status::from_bits(Status::ALARM);
    bench
        .mock
        .station()
        .write()
        .set(point, "in2", Value::status_numeric(f64::NAN, status))
        .unwrap();
    let node = client.resolve("slot:/Logic/Setpoint").await;
    let input = child(&node, "in2");
    assert_eq!(child(input, "value")["v"], "nan");
    assert_eq!(child(input, "status")["v"], "8");
    assert_eq!(
        child(child(&node, "out"), "status")["v"],
        "8;activeLevel=e:2@control:PriorityLevel"
    );
}

#[tokio::test]
async fn password_slots_never_show_their_content() {
    let bench = bench().await;
    let client = bench.client(ADMIN);
    let path = format!("slot:/Services/UserService/{ADMIN}");
    let node = client.resolve(&path).await;
    assert_eq!(
        child(&node, "authenticationSchemeName")["v"],
        "HTTPBasicScheme"
    );
    assert!(!node.to_string().contains("Tester-Pass"), "{node}");
}
