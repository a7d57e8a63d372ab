//! writePoint through the gate: four kinds at every level, each account, and connections that break.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use mock_station::faults::{FaultKind, Interface};
use mock_station::model::accounts::{ADMIN, BRIDGE, OPERATOR, VIEWER};
use mock_station::server::WriteOutcome;
use niagara_bridge::config::policy::SharedPolicy;
use niagara_bridge::tools::{Asking, Client, ClientPort, LogLevel, Question};
use serde_json::{Value, json};

use crate::office::{OTHER_POINT, OWN_POINT, Office, context, failure_of, policy};

/// Calls writePoint, with its second step where the level needs one.
async fn command(office: &Office, ord: &str, value: Value, level: u8) -> Value {
    let arguments = json!({"ord": ord, "value": value, "priority": level});
    match level {
        1 | 8 => office.confirmed(ADMIN, "writePoint", arguments).await,
        _ => office.call_as(ADMIN, "writePoint", arguments).await,
    }
}

fn text(answer: &Value) -> &str {
    answer["content"][0]["text"].as_str().expect("a text")
}

#[tokio::test]
async fn every_kind_is_commanded_and_released_at_every_level_in_the_words_of_the_contract() {
    let office = Office::new().await;
    let kinds = [
        ("Setpoint", json!(21), "21.0", "21.0"),
        ("Fan", json!(" On "), "true", "true"),
        (
            "Mode",
            json!("Auto"),
            "enum(7)",
            "7@{Off=0,Heat$20Pump=1,Auto=7}",
        ),
        (
            "Note",
            json!("see shift log"),
            "\"see shift log\"",
            "see shift log",
        ),
    ];
    let mut calls = 0;
    let mut lines = 0;
    for (name, value, shown, held) in kinds {
        let path = format!("slot:/Logic/{name}");
        let ord = format!("station:|{path}");
        for level in 1..=16 {
            let slot = format!("in{level}");
            let answer = command(&office, &ord, value.clone(), level).await;
            assert_eq!(text(&answer), format!("ord={ord} <- {shown} @{level}"));
            assert_eq!(
                office.site.input(&path, &slot),
                (held.to_owned(), "0".to_owned())
            );
            let content = &answer["structuredContent"];
            assert_eq!(content["winning"], true, "{content}");
            assert_eq!(content["activeLevel"], level.to_string());
            assert_eq!(content["persistent"], level == 1 || level == 8);
            let released = command(&office, &ord, Value::Null, level).await;
            assert_eq!(text(&released), format!("ord={ord} <- null @{level}"));
            assert_eq!(released["structuredContent"]["winning"], false);
            assert_eq!(
                office.site.input(&path, &slot),
                (held.to_owned(), "40".to_owned())
            );
            assert_eq!(office.site.writes().len(), 2, "{path} {level}");
            calls += 2;
            // The first step of a confirmed call has a line as well.
            lines += if level == 1 || level == 8 { 4 } else { 2 };
        }
    }
    let line = office.last_line(calls, lines);
    assert_eq!(line["action"], "write");
    assert_eq!(
        (&line["oldValue"], &line["newValue"]),
        (&json!("see shift log"), &json!("null"))
    );
    assert_eq!(office.audited_by_station("admin").len(), calls);
    assert_eq!(office.audited_by_station("bridge").len(), 0);
}

#[tokio::test]
async fn the_read_back_tells_what_the_point_does() {
    let office = Office::new().await;
    let answer = command(&office, OTHER_POINT, json!("24.5"), 8).await;
    let content = &answer["structuredContent"];
    assert_eq!(content["requested"], 24.5);
    assert_eq!(content["priority"], 8);
    assert!(
        content["observedOut"].to_string().contains("24.5"),
        "{content}"
    );
    assert_eq!(content["observedStatus"], "{ok}");
    let below = command(&office, OTHER_POINT, json!(18), 16).await;
    assert_eq!(below["structuredContent"]["winning"], false);
    assert_eq!(below["structuredContent"]["activeLevel"], "8");
    let without = json!({"ord": OTHER_POINT, "value": 19});
    let lowest = office.call_as(ADMIN, "writePoint", without).await;
    assert!(text(&lowest).ends_with("<- 19.0 @16"), "{lowest}");
}

#[tokio::test]
async fn what_does_not_fit_is_refused_with_its_code_and_nothing_is_sent() {
    let office = Office::new().await;
    let logic = |name: &str| format!("station:|slot:/Logic/{name}");
    for (ord, value, code, key) in [
        (logic("Setpoint"), json!(31), -32602, "reason"),
        (logic("Setpoint"), json!("warm"), -32602, "reason"),
        (logic("Setpoint"), json!([1]), -32602, "argument"),
        (logic("Mode"), json!(5), -32602, "reason"),
        (logic("Sensor"), json!(1), -32602, "type"),
        (logic("Nothing"), json!(1), -32006, "ord"),
    ] {
        let arguments = json!({"ord": ord, "value": value, "priority": 16});
        let (found, data) = office.failure(ADMIN, "writePoint", arguments).await;
        assert_eq!(found, code, "{ord} {value}: {data}");
        assert!(data.get(key).is_some(), "{ord} {value}: {data}");
    }
    let arguments = json!({"ord": logic("Linked"), "value": 7});
    let (code, data) = office.failure(ADMIN, "writePoint", arguments).await;
    assert_eq!((code, &data["priority"]), (-32602, &json!(16)));
    assert_eq!(
        data["linkedFrom"],
        json!({"ord": logic("Setpoint"), "slot": "out"})
    );
    for (arguments, problem) in [
        (
            json!({"ord": OTHER_POINT, "value": 1, "priority": 17}),
            "range",
        ),
        (json!({"ord": OTHER_POINT, "priority": 9}), "missing"),
        (json!({"value": 9}), "missing"),
    ] {
        let refused = office
            .call(context(Some("admin")), "writePoint", arguments)
            .await;
        let error = refused.expect_err("refused");
        assert_eq!(
            (error.code.code(), &error.data["problem"]),
            (-32602, &json!(problem))
        );
    }
    assert_eq!(office.site.writes(), []);
    assert_eq!(office.last_line(6, 10)["outcome"], "refused");
}

#[tokio::test]
async fn each_account_writes_what_the_station_lets_it_write_under_its_own_name() {
    let office = Office::new().await;
    let own = json!({"ord": OWN_POINT, "value": 21, "priority": 10});
    let other = json!({"ord": OTHER_POINT, "value": 21, "priority": 10});
    let changed = |ord: &str| {
        let path = ord.trim_start_matches("station:|");
        vec![format!("Changed {path} in10")]
    };
    for (user, arguments, code) in [
        (Some(ADMIN), &other, None),
        (Some(OPERATOR), &own, None),
        (Some(OPERATOR), &other, Some(-32010)),
        (Some(VIEWER), &own, Some(-32010)),
        (None, &other, None),
    ] {
        let name = user.map(|account| account.user);
        let acting = name.unwrap_or(BRIDGE.user);
        let before = office.audited_by_station(acting).len();
        office.site.writes();
        let answer = office
            .call(context(name), "writePoint", arguments.clone())
            .await;
        let answer = answer.expect("answered");
        let written = office.audited_by_station(acting).split_off(before);
        let line = office.log().pop().expect("a line");
        assert_eq!(line["user"], name.unwrap_or("service"));
        match code {
            None => {
                assert_eq!(answer["isError"], false, "{acting}: {answer}");
                let ord = arguments["ord"].as_str().expect("an ord");
                assert_eq!(written, changed(ord), "{acting}");
                assert_eq!(line["resultOk"], true);
            }
            Some(code) => {
                let (found, data) = failure_of(&answer);
                assert_eq!(found, code, "{acting}: {data}");
                assert_eq!(written, [""; 0], "{acting}");
                assert_eq!(line["errorCode"], code.to_string());
            }
        }
    }
    office.allow(json!({"serviceAccountMayWrite": false}));
    let answer = office.call(context(None), "writePoint", other).await;
    let (code, data) = failure_of(&answer.expect("answered"));
    assert_eq!((code, &data["policy"]), (-32010, &json!("service-account")));
    office.last_line(5, 6);
}

#[tokio::test]
async fn an_override_without_an_end_does_not_pass_the_limit_of_overrides() {
    let office = Office::new().await;
    let switches = office.site.frozen.station.switches();
    switches.change(|switches| switches.boxs.read_only_commands = true);
    let arguments = json!({"ord": OTHER_POINT, "value": 21, "priority": 8});
    let answer = office
        .confirmed(ADMIN, "writePoint", arguments.clone())
        .await;
    assert_eq!(answer["isError"], false, "without a limit: {answer}");
    assert_eq!(
        office.audited_by_station("admin"),
        ["Invoked slot:/Logic/Setpoint override"]
    );
    office.allow(json!({"maxOverrideMinutes": 30}));
    let (code, data) = office.failure(ADMIN, "writePoint", arguments).await;
    assert_eq!(
        (code, &data["policy"]),
        (-32010, &json!("override")),
        "before anybody is asked"
    );
    assert_eq!(office.site.writes().len(), 1);
    let release = json!({"ord": OTHER_POINT, "value": null, "priority": 8});
    let answer = office.confirmed(ADMIN, "writePoint", release).await;
    assert_eq!(answer["isError"], false, "a release passes: {answer}");
}

#[tokio::test]
async fn a_broken_connection_leaves_one_message_and_an_outcome_in_doubt() {
    let office = Office::new().await;
    for (number, (kind, acted)) in [
        (FaultKind::Cut, false),
        (FaultKind::HalfBody { bytes: None }, true),
        (FaultKind::CutAfter, true),
    ]
    .into_iter()
    .enumerate()
    {
        command(&office, OTHER_POINT, Value::Null, 10).await;
        office.site.writes();
        office.site.break_next_write(Interface::Box, kind.clone());
        let arguments = json!({"ord": OTHER_POINT, "value": 25, "priority": 10});
        let (code, data) = office.failure(ADMIN, "writePoint", arguments).await;
        assert_eq!((code, &data["inDoubt"]), (-32603, &json!(true)), "{kind:?}");
        let seen = if acted { json!(25.0) } else { Value::Null };
        assert_eq!(data["observed"]["input"], seen, "{kind:?}: {data}");
        let outcomes: Vec<WriteOutcome> = office
            .site
            .writes()
            .into_iter()
            .map(|(_, outcome)| outcome)
            .collect();
        let expected = if acted {
            WriteOutcome::Done
        } else {
            WriteOutcome::Lost
        };
        assert_eq!(outcomes, [expected], "sent once: {kind:?}");
        let calls = 2 * (number + 1);
        let line = office.last_line(calls, calls);
        assert_eq!(
            (&line["outcome"], &line["resultOk"]),
            (&json!("inDoubt"), &json!(false))
        );
        assert_eq!(line["newValue"]["input"], seen);
    }
}

/// Somebody who says yes to everything, after the operator has limited overrides.
struct LateYes {
    capabilities: Value,
    policy: SharedPolicy,
}

impl ClientPort for LateYes {
    fn log(&self, _: LogLevel, _: Value) {}

    fn capabilities(&self) -> &Value {
        &self.capabilities
    }

    fn asking(&self) -> &Asking {
        &Asking::Now
    }

    fn ask(&self, _: Question) -> BoxFuture<'_, Result<Value, String>> {
        self.policy
            .replace(policy(json!({"maxOverrideMinutes": 30})));
        let yes = json!({"action": "accept", "content": {"confirm": true}});
        std::future::ready(Ok(yes)).boxed()
    }
}

#[tokio::test]
async fn a_limit_that_came_while_a_person_thought_holds() {
    let office = Office::new().await;
    let switches = office.site.frozen.station.switches();
    switches.change(|switches| switches.boxs.read_only_commands = true);
    let point = json!({"ord": OTHER_POINT, "value": 21, "priority": 8});
    let operations = json!([{"tool": "writePoint", "arguments": point}]);
    let plan = json!({ "operations": operations });
    let plan = office.answer(ADMIN, "planWrites", plan).await;
    for (tool, arguments) in [
        ("writePoint", point),
        ("applyWrites", json!({"planId": plan["planId"]})),
    ] {
        office.allow(json!({}));
        let mut caller = context(Some(ADMIN.user));
        caller.client = Client::at(Arc::new(LateYes {
            capabilities: json!({"elicitation": {}}),
            policy: office.policy.clone(),
        }));
        let answer = office
            .call(caller, tool, arguments)
            .await
            .expect("answered");
        let (code, data) = failure_of(&answer);
        assert_eq!(
            (code, &data["policy"]),
            (-32010, &json!("override")),
            "{tool}"
        );
        assert_eq!(office.site.writes(), [], "{tool}");
    }
}
