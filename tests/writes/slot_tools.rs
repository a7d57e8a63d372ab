//! setSlot and clearSlot: what people set, what is refused before anything is sent, and what is recorded.

use mock_station::faults::{FaultKind, Interface};
use mock_station::model::accounts::{ADMIN, Account, OPERATOR, VIEWER};
use mock_station::model::{Flags, Value as ModelValue};
use mock_station::server::WriteOutcome;
use niagara_bridge::audit::AuditOptions;
use serde_json::{Value, json};

use crate::office::{Office, context};
use crate::site::{SIMPLES, Site};

/// A slot in the operator's category.
const OWN: &str = "station:|slot:/Ahu1";

pub fn simples() -> String {
    format!("station:|{SIMPLES}")
}

pub fn call(slot: &str, value: Value) -> Value {
    json!({"ord": simples(), "slotName": slot, "value": value})
}

/// Adds an operator's slot to a component of the station.
fn add(site: &Site, path: &str, name: &str, value: ModelValue) {
    let handle = site.handle(path);
    let mut station = site.frozen.station.station().write();
    station
        .add_value(handle, Some(name), value, Flags::OPERATOR, None)
        .expect("a slot");
}

#[tokio::test]
async fn what_cannot_be_set_is_refused_with_the_code_of_its_reason_and_not_sent() {
    let office = Office::new().await;
    let site = &office.site;
    let point = "station:|slot:/Logic/Setpoint";
    let failure = |ord: &str, slot: &str, value: Value| {
        let arguments = json!({"ord": ord, "slotName": slot, "value": value});
        let office = &office;
        async move { office.failure(ADMIN, "setSlot", arguments).await }
    };
    let (code, data) = failure(&simples(), "limited", json!(40)).await;
    assert_eq!((code, &data["value"]), (-32602, &json!("40")));
    assert!(
        data["reason"]
            .to_string()
            .contains("above the maximum 30.0"),
        "{data}"
    );
    let (code, data) = failure(&simples(), "locked", json!("y")).await;
    assert_eq!(
        (code, &data["slotName"], &data["user"]),
        (-32603, &json!("locked"), &json!("admin"))
    );
    let (code, data) = failure(&simples(), "absent", json!("y")).await;
    assert_eq!(
        (code, data),
        (-32006, json!({"ord": simples(), "slotName": "absent"}))
    );
    let (code, data) = failure(point, "in10", json!(1)).await;
    assert_eq!(
        (code, &data["existingType"]),
        (-32602, &json!("baja:StatusNumeric"))
    );
    assert!(data["hint"].is_string(), "{data}");
    let (code, data) = failure(point, "override", json!("y")).await;
    assert_eq!(
        (code, &data["slotName"]),
        (-32006, &json!("override")),
        "an action is no property"
    );
    let (code, data) = failure("station:|slot:/Nowhere", "x", json!("y")).await;
    assert_eq!(
        (code, data),
        (-32006, json!({"ord": "station:|slot:/Nowhere"}))
    );
    let (code, data) = failure("slot:/A//B", "x", json!("y")).await;
    assert_eq!((code, &data["ord"]), (-32006, &json!("slot:/A//B")));
    let (code, data) = failure(&simples(), "string", Value::Null).await;
    assert_eq!(code, -32602);
    assert!(data["hint"].to_string().contains("clearSlot"), "{data}");

    for (arguments, expected) in [
        (
            json!({"ord": simples(), "slotName": "string"}),
            json!({"missing": "value"}),
        ),
        (
            json!({"ord": simples(), "value": 1}),
            json!({"missing": "slotName"}),
        ),
        (
            call("string", json!(["y"])),
            json!({"argument": "value", "problem": "type"}),
        ),
    ] {
        let refused = office
            .call(context(Some("admin")), "setSlot", arguments)
            .await;
        let error = refused.expect_err("refused before the tool ran").to_json();
        assert_eq!(error["code"], -32602);
        for (key, value) in expected.as_object().expect("an object") {
            assert_eq!(&error["data"][key], value, "{error}");
        }
    }
    assert_eq!(site.writes(), [], "nothing was sent");
}

#[tokio::test]
async fn a_frozen_slot_is_set_and_put_back_and_a_dynamic_one_stays() {
    let office = Office::new().await;
    let site = &office.site;
    let point = json!({"ord": "slot:/Logic/Setpoint", "slotName": "facets"});
    let mut set = point.clone();
    set["value"] = json!("units=u:kelvin;K;(K);;|precision=i:0");
    let before = site.held("slot:/Logic/Setpoint", "facets");
    let answer = office.answer(ADMIN, "setSlot", set).await;
    assert_eq!(
        (&answer["previousValue"], &answer["type"]),
        (&json!(before), &json!("baja:Facets"))
    );
    let cleared = office.answer(ADMIN, "clearSlot", point.clone()).await;
    assert_eq!(cleared["changed"], true);
    assert_eq!(cleared["previousValue"], answer["newValue"]);
    assert_eq!(cleared["observedValue"], cleared["defaultValue"]);
    assert_eq!(
        cleared["defaultValue"],
        json!(site.held("slot:/Logic/Setpoint", "facets"))
    );
    site.writes();
    let again = office.answer(ADMIN, "clearSlot", point).await;
    assert_eq!(
        (again["changed"].clone(), site.writes().len()),
        (json!(false), 1),
        "the write still happens"
    );
    assert_eq!(office.last_line(3, 3)["action"], "clear");

    let dynamic = json!({"ord": simples(), "slotName": "string"});
    let left = office.answer(ADMIN, "clearSlot", dynamic).await;
    assert_eq!(
        left,
        json!({
            "ord": simples(), "slotName": "string", "previousValue": "old", "defaultValue": "old", "observedValue": "old",
            "type": "baja:String", "changed": false, "reason": "dynamic-slot",
        })
    );
    assert_eq!(site.writes(), []);
    for (slot, code) in [("out", -32603), ("auto", -32006), ("absent", -32006)] {
        let arguments = json!({"ord": "slot:/Logic/Setpoint", "slotName": slot});
        assert_eq!(
            office.failure(ADMIN, "clearSlot", arguments).await.0,
            code,
            "{slot}"
        );
    }
    assert_eq!(site.writes(), []);
}

/// Its default would take the component away with everything below it, past the rules about what lies there.
#[tokio::test]
async fn a_slot_that_holds_a_component_is_neither_cleared_nor_set() {
    let office = Office::with(
        json!({"confirmDestructive": false}),
        AuditOptions::default(),
    )
    .await;
    let site = &office.site;
    let path = "slot:/Logic/Setpoint";
    let held = site.handle(&format!("{path}/proxyExt"));
    let arguments = json!({"ord": path, "slotName": "proxyExt"});
    let (code, data) = office.failure(ADMIN, "clearSlot", arguments.clone()).await;
    assert_eq!(
        (code, &data["existingType"]),
        (-32602, &json!("control:NullProxyExt"))
    );
    assert!(data["hint"].to_string().contains("own ord"), "{data}");
    let plan = json!({"operations": [{"tool": "clearSlot", "arguments": arguments}]});
    let plan = office.answer(ADMIN, "planWrites", plan).await;
    assert_eq!(
        (
            &plan["ready"],
            &plan["operations"][0]["problems"][0]["kind"]
        ),
        (&json!(false), &json!("invalid")),
        "{plan}"
    );
    let set = json!({"ord": path, "slotName": "proxyExt", "value": "x"});
    let (code, data) = office.failure(ADMIN, "setSlot", set).await;
    assert_eq!(code, -32602);
    assert!(data["hint"].to_string().contains("own ord"), "{data}");
    assert_eq!(site.writes(), []);
    assert_eq!(site.handle(&format!("{path}/proxyExt")), held);
    let line = office.last_line(0, 2);
    assert_eq!(line["outcome"], "refused");
}

#[tokio::test]
async fn a_refusal_tells_the_tool_for_what_is_no_simple_value() {
    let office = Office::new().await;
    for (slot, tool) in [("in10", "writePoint"), ("fallback", "invokeAction")] {
        let arguments = json!({"ord": "slot:/Logic/Setpoint", "slotName": slot, "value": 1});
        let result = office.call_as(ADMIN, "setSlot", arguments).await;
        assert_eq!(result["errorCode"], -32602);
        for text in [&result["errorData"]["hint"], &result["content"][0]["text"]] {
            assert!(text.to_string().contains(tool), "{slot}: {text}");
        }
    }
}

#[tokio::test]
async fn a_slot_that_a_link_commands_is_not_set() {
    let office = Office::new().await;
    let site = &office.site;
    add(site, "slot:/Logic/Linked", "fed", ModelValue::Double(1.0));
    let (source, target) = (site.handle(SIMPLES), site.handle("slot:/Logic/Linked"));
    let linked = site
        .frozen
        .station
        .station()
        .write()
        .link(source, "double", target, "fed");
    linked.expect("linked");
    site.writes();
    let arguments = json!({"ord": "slot:/Logic/Linked", "slotName": "fed", "value": 7});
    let (code, data) = office.failure(ADMIN, "setSlot", arguments).await;
    assert_eq!((code, &data["slotName"]), (-32602, &json!("fed")));
    assert_eq!(
        data["linkedFrom"],
        json!({"ord": simples(), "slot": "double"})
    );
    assert_eq!(site.writes(), []);
}

#[tokio::test]
async fn clearing_an_input_of_a_point_is_a_release_of_its_level() {
    let office = Office::with(json!({"priorities": ["8-16"]}), AuditOptions::default()).await;
    let site = &office.site;
    for level in [5, 8, 9] {
        let value = niagara_bridge::station::facade::Given::Integer(21);
        site.command("slot:/Logic/Setpoint", level, value)
            .await
            .expect("taken");
    }
    site.writes();
    let input =
        |level: u8| json!({"ord": "slot:/Logic/Setpoint", "slotName": format!("in{level}")});
    let (code, data) = office.failure(ADMIN, "clearSlot", input(5)).await;
    assert_eq!((code, &data["policy"]), (-32010, &json!("priority")));
    assert_eq!(site.writes(), []);
    office.answer(ADMIN, "clearSlot", input(9)).await;
    let confirmed = office.confirmed(ADMIN, "clearSlot", input(8)).await;
    assert_eq!(
        confirmed["structuredContent"]["changed"], true,
        "{confirmed}"
    );
    let status = |level: u8| site.input("slot:/Logic/Setpoint", &format!("in{level}")).1;
    assert_eq!(
        (status(5), status(8), status(9)),
        ("0".into(), "40".into(), "40".into())
    );
    assert_eq!(site.writes().len(), 2);
}

/// Who calls, and the code of the answer; none where the station does it.
fn accounts() -> [(&'static str, Account, &'static str, Option<i64>); 5] {
    [
        ("the administrator", ADMIN, OWN, None),
        ("an operator in the own category", OPERATOR, OWN, None),
        (
            "an operator elsewhere",
            OPERATOR,
            "station:|slot:/Logic/Simples",
            Some(-32010),
        ),
        ("a viewer", VIEWER, OWN, Some(-32010)),
        (
            "a viewer elsewhere",
            VIEWER,
            "station:|slot:/Logic/Simples",
            Some(-32010),
        ),
    ]
}

#[tokio::test]
async fn the_station_decides_for_each_account_and_names_the_acting_user() {
    let office = Office::new().await;
    let site = &office.site;
    add(site, "slot:/Ahu1", "string", ModelValue::from("old"));
    for (number, (who, account, ord, refused)) in accounts().into_iter().enumerate() {
        site.writes();
        let path = ord.trim_start_matches("station:|");
        let before = (
            site.held(path, "string"),
            office.audited_by_station(account.user).len(),
        );
        let value = format!("value {number}");
        let arguments = json!({"ord": ord, "slotName": "string", "value": value});
        let result = office.call_as(account, "setSlot", arguments).await;
        let audited = office.audited_by_station(account.user);
        match refused {
            None => {
                assert_eq!(
                    result["structuredContent"]["newValue"],
                    json!(value),
                    "{who}: {result}"
                );
                assert_eq!(
                    audited.last(),
                    Some(&format!("Changed {path} string")),
                    "{who}"
                );
                assert_eq!(site.held(path, "string"), value, "{who}");
            }
            Some(code) => {
                assert_eq!(result["errorCode"], json!(code), "{who}: {result}");
                let data = &result["errorData"];
                assert_eq!(
                    (&data["user"], &data["ord"]),
                    (&json!(account.user), &json!(ord)),
                    "{who}: {data}"
                );
                let text = result["content"][0]["text"].to_string();
                assert!(
                    text.contains(path) && !text.contains(" h:"),
                    "{who}: {text}"
                );
                assert_eq!((site.held(path, "string"), audited.len()), before, "{who}");
            }
        }
    }
    for (who, caller, tool) in [
        (
            "a user without a password in the vault",
            Some("nobody"),
            "setSlot",
        ),
        ("apiToken", None, "setSlot"),
        ("apiToken", None, "clearSlot"),
    ] {
        site.writes();
        let refused = office
            .call(context(caller), tool, call("string", json!("x")))
            .await;
        let error = refused.expect_err(who).to_json();
        assert_eq!(
            (&error["code"], &error["data"]["requiresUserContext"]),
            (&json!(-32011), &json!(true)),
            "{who}"
        );
        assert_eq!(error["data"]["tool"], json!(tool), "{who}");
        assert_eq!(site.writes(), [], "{who}");
    }
}

#[tokio::test]
async fn a_lost_answer_is_in_doubt_with_the_slot_read_back_and_never_sent_again() {
    let office = Office::new().await;
    let site = &office.site;
    let breaks = [
        (FaultKind::Cut, false),
        (FaultKind::CutAfter, true),
        (FaultKind::HalfBody { bytes: None }, true),
    ];
    for (number, (kind, acted)) in breaks.into_iter().enumerate() {
        let before = site.held(SIMPLES, "string");
        let value = format!("value {number}");
        office
            .answer(ADMIN, "setSlot", call("boolean", json!(number % 2 == 0)))
            .await;
        site.writes();
        site.break_next_write(Interface::Box, kind.clone());
        let (code, data) = office
            .failure(ADMIN, "setSlot", call("string", json!(value)))
            .await;
        let held = if acted { value } else { before };
        assert_eq!(
            (code, &data["inDoubt"], &data["observed"]),
            (-32603, &json!(true), &json!(held)),
            "{kind:?}"
        );
        let outcomes: Vec<WriteOutcome> = site
            .writes()
            .into_iter()
            .map(|(_, outcome)| outcome)
            .collect();
        let expected = if acted {
            WriteOutcome::Done
        } else {
            WriteOutcome::Lost
        };
        assert_eq!(outcomes, [expected], "{kind:?}");
        let calls = 2 * (number + 1);
        let line = office.last_line(calls, calls);
        assert_eq!(
            (&line["outcome"], &line["newValue"]),
            (&json!("inDoubt"), &json!(held)),
            "{line}"
        );
    }
}

#[tokio::test]
async fn secrets_are_neither_shown_nor_recorded() {
    let office = Office::new().await;
    let site = &office.site;
    add(
        site,
        SIMPLES,
        "mailPassword",
        ModelValue::from("old-sentinel"),
    );
    let answer = office
        .answer(
            ADMIN,
            "setSlot",
            call("mailPassword", json!("new-sentinel")),
        )
        .await;
    assert_eq!(site.held(SIMPLES, "mailPassword"), "new-sentinel");
    assert_eq!(
        (
            &answer["previousValue"],
            &answer["newValue"],
            &answer["observedValue"]
        ),
        (
            &json!("<redacted>"),
            &json!("<redacted>"),
            &json!("<redacted>")
        )
    );
    site.break_next_write(Interface::Box, FaultKind::CutAfter);
    let lost = office
        .call_as(
            ADMIN,
            "setSlot",
            call("mailPassword", json!("lost-sentinel")),
        )
        .await;
    assert_eq!(lost["errorData"]["inDoubt"], true);
    for name in [
        niagara_bridge::audit::JOURNAL_NAME,
        niagara_bridge::audit::LOG_NAME,
    ] {
        let text = std::fs::read_to_string(office.file(name)).expect("a file");
        assert!(
            !text.contains("sentinel") && text.contains("<redacted>"),
            "{text}"
        );
    }
    assert!(!lost.to_string().contains("sentinel") && !answer.to_string().contains("sentinel"));
}

/// The type says it where the name does not, also when the value is refused before anything is sent.
#[tokio::test]
async fn values_of_secret_types_are_left_out_of_every_record() {
    let office = Office::new().await;
    let site = &office.site;
    let user = site.handle("slot:/Services/UserService/viewer");
    let pin = ModelValue::decode_as("baja:Password", "x").expect("a password of the model");
    add(site, SIMPLES, "pin", pin.clone());
    {
        let mut station = site.frozen.station.station().write();
        let simples = station.resolve_component(SIMPLES).expect("a component");
        station
            .add_value(simples, Some("lockedPin"), pin, Flags::READONLY, None)
            .expect("a slot");
        assert!(station.slot(user, "authenticator").is_some());
    }
    let viewer = "slot:/Services/UserService/viewer";
    for (ord, slot, code) in [
        (viewer, "authenticator", Some(-32602)),
        (SIMPLES, "lockedPin", Some(-32603)),
        (SIMPLES, "pin", None),
    ] {
        let arguments = json!({"ord": ord, "slotName": slot, "value": "sentinel"});
        let result = office.call_as(ADMIN, "setSlot", arguments).await;
        assert_eq!(result["errorCode"].as_i64(), code, "{slot}: {result}");
        assert!(!result.to_string().contains("sentinel"), "{slot}: {result}");
        if code.is_none() {
            let changed = &result["structuredContent"]["changed"];
            assert_eq!(changed, true, "what a password was is not told");
        }
    }
    let planned = json!({"operations": [
        {"tool": "setSlot", "arguments": {"ord": SIMPLES, "slotName": "pin", "value": "sentinel"}},
    ]});
    let plan = office.answer(ADMIN, "planWrites", planned).await;
    {
        let mut station = site.frozen.station.station().write();
        let simples = station.resolve_component(SIMPLES).expect("a component");
        station.remove(simples, "pin").expect("removed");
    }
    let apply = json!({"planId": plan["planId"]});
    let (code, _) = office.failure(ADMIN, "applyWrites", apply).await;
    assert_eq!(code, -32006);
    for name in [
        niagara_bridge::audit::JOURNAL_NAME,
        niagara_bridge::audit::LOG_NAME,
    ] {
        let text = std::fs::read_to_string(office.file(name)).expect("a file");
        assert!(!text.contains("sentinel"), "{text}");
        assert!(text.matches("lockedPin").count() > 0, "{text}");
    }
    assert_eq!(office.log().len(), 4, "each is recorded");
}

#[tokio::test]
async fn a_person_is_asked_only_about_what_can_be_written() {
    let confirm = json!({"confirm": ["slot:/Logic/Simples"]});
    let office = Office::with(confirm, AuditOptions::default()).await;
    let site = &office.site;
    let (code, _) = office
        .failure(ADMIN, "setSlot", call("limited", json!(99)))
        .await;
    assert_eq!(code, -32602, "not a confirmation of what would be refused");
    let done = office
        .confirmed(ADMIN, "setSlot", call("limited", json!(12)))
        .await;
    assert_eq!(done["structuredContent"]["newValue"], 12.0, "{done}");
    assert_eq!(site.writes().len(), 1);
    office.allow(json!({"enabled": false}));
    let (code, data) = office
        .failure(ADMIN, "setSlot", call("limited", json!(99)))
        .await;
    assert_eq!((code, &data["policy"]), (-32010, &json!("read-only")));
}
