//! invokeAction: arguments, results, refusals, and the actions that command a level of a point.

use mock_station::faults::{FaultKind, Interface};
use mock_station::model::accounts::{ADMIN, OPERATOR, VIEWER};
use mock_station::server::WriteOutcome;
use niagara_bridge::audit::AuditOptions;
use serde_json::{Value, json};

use crate::office::{OTHER_POINT, OWN_POINT, Office, context};

const POINT: &str = "slot:/Logic/Setpoint";

fn call(action: &str, args: Value) -> Value {
    json!({"ord": OTHER_POINT, "actionName": action, "args": args})
}

#[tokio::test]
async fn an_action_takes_its_argument_and_answers_what_it_returns() {
    let office = Office::new().await;
    let site = &office.site;
    let handle = site.handle(POINT);
    let mut answer = office
        .answer(ADMIN, "invokeAction", call("set", json!("23.5")))
        .await;
    assert!(answer["durationMs"].is_u64(), "{answer}");
    answer["durationMs"] = json!(0);
    assert_eq!(
        answer,
        json!({
            "ord": OTHER_POINT, "actionName": "set", "returnValue": null, "returnType": "null", "durationMs": 0,
            "asynchronous": false,
        })
    );
    assert_eq!(site.input(POINT, "fallback").0, "23.5");
    assert_eq!(
        site.writes(),
        [(format!("{handle}.set"), WriteOutcome::Done)]
    );
    let line = office.last_line(1, 1);
    assert_eq!(
        (
            &line["user"],
            &line["action"],
            &line["args"]["args"],
            &line["resultOk"]
        ),
        (
            &json!("admin"),
            &json!("invoke"),
            &json!("23.5"),
            &json!(true)
        )
    );
    assert_eq!(
        office.audited_by_station("admin"),
        [format!("Invoked {POINT} set")]
    );

    // Null and nothing mean the default of the parameter.
    for arguments in [
        call("set", Value::Null),
        json!({"ord": OTHER_POINT, "actionName": "set"}),
    ] {
        site.writes();
        office.answer(ADMIN, "invokeAction", arguments).await;
        assert_eq!(
            site.writes(),
            [(format!("{handle}.set"), WriteOutcome::Done)]
        );
    }
}

#[tokio::test]
async fn what_cannot_be_invoked_is_refused_and_not_sent() {
    let office = Office::new().await;
    let site = &office.site;
    site.writes();
    let failure = |arguments: Value| {
        let office = &office;
        async move { office.failure(ADMIN, "invokeAction", arguments).await }
    };
    let (code, data) = failure(call("explode", Value::Null)).await;
    assert_eq!(
        (code, data),
        (
            -32014,
            json!({
                "ord": OTHER_POINT, "actionName": "explode",
                "actions": ["emergencyOverride", "emergencyAuto", "override", "auto", "set"],
            })
        )
    );
    let told = office
        .call_as(ADMIN, "invokeAction", call("explode", Value::Null))
        .await;
    let text = told["content"][0]["text"].to_string();
    assert!(
        text.contains("it has emergencyOverride, emergencyAuto"),
        "{text}"
    );
    let folder = json!({"ord": "slot:/Logic", "actionName": "explode"});
    let (_, data) = failure(folder).await;
    assert_eq!(data["actions"], json!([]));
    let (code, data) = failure(call("out", Value::Null)).await;
    assert_eq!(
        (code, &data["actionName"]),
        (-32014, &json!("out")),
        "a property is no action"
    );
    let (code, data) = failure(call("override", json!(9))).await;
    assert_eq!(
        (code, &data["paramType"]),
        (-32602, &json!("control:NumericOverride"))
    );
    assert!(data["hint"].is_string(), "{data}");
    for (args, part) in [
        (json!("warm"), "number"),
        (json!(99), "above the maximum 30.0"),
        (json!(true), "number"),
    ] {
        let (code, data) = failure(call("set", args.clone())).await;
        assert_eq!(
            (code, &data["args"], &data["actionName"]),
            (-32602, &args, &json!("set"))
        );
        assert!(data["reason"].to_string().contains(part), "{data}");
    }
    let (code, data) = failure(call("auto", json!(1))).await;
    assert_eq!((code, &data["args"]), (-32602, &json!(1)));
    let (code, data) = failure(json!({"ord": "slot:/Nowhere", "actionName": "set"})).await;
    assert_eq!((code, data), (-32006, json!({"ord": "slot:/Nowhere"})));
    let refused = office
        .call(
            context(Some("admin")),
            "invokeAction",
            json!({"ord": OTHER_POINT}),
        )
        .await;
    assert_eq!(
        refused.expect_err("refused").to_json()["data"]["missing"],
        "actionName"
    );
    assert_eq!(site.writes(), []);
    assert_eq!(office.last_line(0, 11)["resultOk"], false);
}

#[tokio::test]
async fn actions_that_command_a_level_are_held_to_the_rules_of_the_level() {
    let office = Office::new().await;
    let site = &office.site;
    site.writes();
    for (action, level) in [("emergencyOverride", "in1"), ("override", "in8")] {
        let args = if level == "in1" {
            json!(22)
        } else {
            Value::Null
        };
        let done = office
            .confirmed(ADMIN, "invokeAction", call(action, args))
            .await;
        assert_eq!(done["isError"], false, "{done}");
        assert_eq!(site.input(POINT, level).1, "0", "{action}");
    }
    for (action, level) in [("emergencyAuto", "in1"), ("auto", "in8")] {
        let done = office
            .confirmed(ADMIN, "invokeAction", call(action, Value::Null))
            .await;
        assert_eq!(done["isError"], false, "{done}");
        assert_eq!(site.input(POINT, level).1, "40", "{action}");
    }
    assert_eq!(site.writes().len(), 4);

    // An override without end is longer than any limit; releasing one is not.
    office.allow(json!({"maxOverrideMinutes": 60}));
    for (action, args) in [("override", Value::Null), ("emergencyOverride", json!(22))] {
        let (code, data) = office
            .failure(ADMIN, "invokeAction", call(action, args))
            .await;
        assert_eq!(
            (code, &data["policy"]),
            (-32010, &json!("override")),
            "{action}"
        );
    }
    office
        .confirmed(ADMIN, "invokeAction", call("auto", Value::Null))
        .await;
    office.allow(json!({"priorities": ["9-16"]}));
    let (code, data) = office
        .failure(ADMIN, "invokeAction", call("auto", Value::Null))
        .await;
    assert_eq!((code, &data["policy"]), (-32010, &json!("priority")));
    office
        .answer(ADMIN, "invokeAction", call("set", json!(21)))
        .await;
    assert_eq!(site.writes().len(), 2);
}

#[tokio::test]
async fn the_station_decides_who_may_invoke() {
    let office = Office::new().await;
    let site = &office.site;
    let set = |ord: &str| json!({"ord": ord, "actionName": "set", "args": 21});
    for (account, ord, allowed) in [
        (ADMIN, OWN_POINT, true),
        (OPERATOR, OWN_POINT, true),
        (OPERATOR, OTHER_POINT, false),
        (VIEWER, OWN_POINT, false),
    ] {
        site.writes();
        let result = office.call_as(account, "invokeAction", set(ord)).await;
        let path = ord.trim_start_matches("station:|");
        let audited = office.audited_by_station(account.user);
        if allowed {
            assert_eq!(result["isError"], false, "{}: {result}", account.user);
            assert_eq!(audited, [format!("Invoked {path} set")]);
        } else {
            let data = &result["errorData"];
            assert_eq!(
                (&result["errorCode"], &data["user"]),
                (&json!(-32010), &json!(account.user)),
                "{result}"
            );
            let done = site
                .writes()
                .into_iter()
                .any(|(_, outcome)| outcome == WriteOutcome::Done);
            assert!(
                !done && !audited.contains(&format!("Invoked {path} set")),
                "{}",
                account.user
            );
        }
    }
    for (who, caller) in [
        ("a user without a password in the vault", Some("nobody")),
        ("apiToken", None),
    ] {
        let refused = office
            .call(context(caller), "invokeAction", set(OWN_POINT))
            .await;
        assert_eq!(refused.expect_err(who).to_json()["code"], -32011, "{who}");
    }
}

#[tokio::test]
async fn an_action_whose_answer_is_lost_is_in_doubt_and_never_sent_again() {
    let office = Office::with(json!({}), AuditOptions::default()).await;
    let site = &office.site;
    office
        .answer(ADMIN, "invokeAction", call("set", json!(20)))
        .await;
    for (number, (kind, acted)) in [(FaultKind::Cut, false), (FaultKind::CutAfter, true)]
        .into_iter()
        .enumerate()
    {
        site.writes();
        site.break_next_write(Interface::Box, kind.clone());
        let value = 22 + number;
        let (code, data) = office
            .failure(ADMIN, "invokeAction", call("set", json!(value)))
            .await;
        assert_eq!(
            (code, &data["inDoubt"], &data["tool"]),
            (-32603, &json!(true), &json!("invokeAction")),
            "{kind:?}"
        );
        let outcomes: Vec<WriteOutcome> = site
            .writes()
            .into_iter()
            .map(|(_, outcome)| outcome)
            .collect();
        assert_eq!(
            outcomes,
            [if acted {
                WriteOutcome::Done
            } else {
                WriteOutcome::Lost
            }],
            "{kind:?}"
        );
        let held = if acted {
            format!("{value}.0")
        } else {
            "20.0".to_owned()
        };
        assert_eq!(site.input(POINT, "fallback").0, held, "{kind:?}");
        assert_eq!(
            office.last_line(2 + number, 2 + number)["outcome"],
            "inDoubt"
        );
    }
}

#[tokio::test]
async fn what_is_no_number_commands_nothing() {
    let office = Office::new().await;
    for word in ["null", "nan", "inf", "-Infinity", "1e999"] {
        for action in ["emergencyOverride", "set"] {
            let arguments = json!({"ord": OWN_POINT, "actionName": action, "args": word});
            let (code, data) = office
                .failure(ADMIN, "invokeAction", arguments.clone())
                .await;
            assert_eq!(code, -32602, "{action} {word}: {data}");
            let operations = json!([{"tool": "invokeAction", "arguments": arguments}]);
            let plan = json!({ "operations": operations });
            let plan = office.answer(ADMIN, "planWrites", plan).await;
            assert_eq!(plan["ready"], json!(false), "{action} {word}: {plan}");
        }
        let arguments = json!({"ord": OWN_POINT, "value": word, "priority": 10});
        let (code, _) = office.failure(ADMIN, "writePoint", arguments).await;
        assert_eq!(code, -32602, "writePoint {word}");
        let arguments = json!({"ord": OWN_POINT, "value": word, "durationMinutes": 5});
        let (code, _) = office.failure(ADMIN, "overridePoint", arguments).await;
        assert_eq!(code, -32602, "overridePoint {word}");
    }
    let slot = |name: &str, value: Value| json!({"ord": "slot:/Logic/Simples", "slotName": name, "value": value});
    for (name, value) in [
        ("double", json!("null")),
        ("float", json!("null")),
        ("float", json!(1e39)),
        ("float", json!(-1e39)),
    ] {
        let arguments = slot(name, value.clone());
        let (code, _) = office.failure(ADMIN, "setSlot", arguments).await;
        assert_eq!(code, -32602, "{name} {value}");
    }
    assert_eq!(office.site.writes(), []);
    let kept = slot("float", json!("inf"));
    let answer = office.answer(ADMIN, "setSlot", kept).await;
    assert_eq!(answer["nonFinite"], "Infinity", "a limit may be open");
}
