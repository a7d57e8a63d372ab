//! What the records keep of calls that never reached the station, of arguments that nobody reads, and of secrets that were
//! typed into the wrong place; and what happens when the records are gone.

use mock_station::faults::{FaultKind, Interface};
use mock_station::model::accounts::{ADMIN, OPERATOR, VIEWER};
use niagara_bridge::audit::{JOURNAL_NAME, LOG_NAME};
use serde_json::{Value, json};

use crate::office::{OTHER_POINT, OWN_POINT, Office, context};

/// A token as the bridge mints them; only its digest is kept anywhere.
const TOKEN: &str = "8Zr4qJ0fXk2mNwT5vY7bC1dE3gH6iL9oPqRsUtVxAyz";

fn writing_tools(office: &Office) -> Vec<String> {
    let definitions = office.registry.definitions();
    let writing = definitions.filter(|tool| tool.changes_station());
    let names: Vec<String> = writing.map(|tool| tool.name.clone()).collect();
    assert!(names.len() >= 14, "{names:?}");
    names
}

fn texts(office: &Office) -> String {
    let text = |name| std::fs::read_to_string(office.file(name)).unwrap_or_default();
    text(JOURNAL_NAME) + &text(LOG_NAME)
}

#[tokio::test]
async fn every_call_that_is_refused_before_its_tool_runs_leaves_one_line() {
    let office = Office::new().await;
    let mut lines = 0;
    for tool in writing_tools(&office) {
        let needs_user = office
            .registry
            .definition(&tool)
            .expect("a tool")
            .requires_user_context;
        let unbound = office.call(context(Some("guest")), &tool, json!({"ord": OTHER_POINT}));
        assert_eq!(
            unbound.await.expect_err("refused").code.code(),
            -32011,
            "{tool}"
        );
        lines += 1;
        let line = office.last_line(0, lines);
        assert_eq!(
            (&line["tool"], &line["user"]),
            (&json!(tool), &json!("guest"))
        );
        assert_eq!(
            (&line["errorCode"], &line["outcome"]),
            (&json!("-32011"), &json!("refused"))
        );
        if needs_user {
            let service = office.call(context(None), &tool, json!({"ord": OTHER_POINT}));
            assert_eq!(
                service.await.expect_err("refused").code.code(),
                -32011,
                "{tool}"
            );
            lines += 1;
            let line = office.last_line(0, lines);
            assert_eq!(
                (&line["tool"], &line["user"]),
                (&json!(tool), &json!("service"))
            );
        }
        if tool == "commitStation" {
            continue;
        }
        // Nothing of what it needs, or of the wrong type.
        let invalid =
            json!({"ord": 1, "linkOrd": 1, "parentOrd": 1, "sinkOrd": 1, "uuid": 1, "planId": 1});
        let answer = office.call(context(Some(ADMIN.user)), &tool, invalid).await;
        let code = match answer {
            Err(error) => i64::from(error.code.code()),
            Ok(answer) => answer["errorCode"].as_i64().expect("a code"),
        };
        assert_eq!(code, -32602, "{tool}");
        lines += 1;
        let line = office.last_line(0, lines);
        assert_eq!(
            (&line["tool"], &line["errorCode"]),
            (&json!(tool), &json!("-32602"))
        );
    }
    let endless = json!({"ord": OTHER_POINT, "value": 22, "durationMinutes": 0});
    let (code, _) = office.failure(ADMIN, "overridePoint", endless).await;
    assert_eq!(code, -32602);
    let line = office.last_line(0, lines + 1);
    assert_eq!(
        (&line["action"], &line["ord"]),
        (&json!("override"), &json!(OTHER_POINT))
    );
    // A rehearsal leaves none.
    let rehearsal = json!({"ord": "station:|slot:/Nothing", "dryRun": true});
    office.failure(ADMIN, "removeComponent", rehearsal).await;
    office.last_line(0, lines + 1);
    assert!(office.site.writes().is_empty());
}

#[tokio::test]
async fn arguments_that_nobody_reads_are_named_and_long_ones_told_by_their_length() {
    let office = Office::new().await;
    let noise: Vec<String> = vec!["x".repeat(200); 9500];
    let arguments = json!({"ord": OTHER_POINT, "value": 22, "priority": 10, "z": noise, "y": 1});
    let answer = office.call_as(ADMIN, "writePoint", arguments).await;
    assert_eq!(answer["isError"], false, "{answer}");
    let line = office.last_line(1, 1);
    assert_eq!(
        line["args"],
        json!({"ord": OTHER_POINT, "value": 22, "priority": 10,
            "undeclaredArguments": {"count": 2, "names": ["z", "y"]}})
    );
    let invalid = json!({"ord": OTHER_POINT, "value": {"deep": noise}, "z": noise});
    let refused = office.call_as(ADMIN, "writePoint", invalid).await;
    assert_eq!(refused["errorCode"], -32602, "{refused}");
    let line = office.last_line(1, 2);
    assert!(
        line["args"]["value"]
            .as_str()
            .is_some_and(|text| text.starts_with("<left out: ")),
        "{line}"
    );
    let long = json!({"operations": [], "planId": noise});
    assert!(
        office
            .call(context(Some(ADMIN.user)), "applyWrites", long)
            .await
            .is_err()
    );
    office.last_line(1, 3);
    let size = texts(&office).len();
    assert!(size < 20_000, "{size} bytes");
}

#[tokio::test]
async fn a_token_typed_as_an_ord_or_value_is_in_no_record() {
    let office = Office::new().await;
    for (tool, arguments) in [
        ("writePoint", json!({"ord": TOKEN, "value": 1})),
        (
            "writePoint",
            json!({"ord": format!("station:|slot:/{TOKEN}"), "value": 1}),
        ),
        (
            "setSlot",
            json!({"ord": OTHER_POINT, "slotName": TOKEN, "value": 1}),
        ),
        (
            "setSlot",
            json!({"ord": OTHER_POINT, "slotName": "facets", "value": TOKEN}),
        ),
        (
            "invokeAction",
            json!({"ord": OTHER_POINT, "actionName": TOKEN}),
        ),
        (
            "removeComponent",
            json!({"ord": format!("slot:/{TOKEN}/a"), "dryRun": false}),
        ),
        ("unlinkSlots", json!({"linkOrd": TOKEN})),
    ] {
        let call = office
            .call(context(Some(ADMIN.user)), tool, arguments.clone())
            .await;
        assert!(
            call.is_err() || call.is_ok_and(|answer| answer["isError"] == true),
            "{tool}"
        );
        assert!(
            !texts(&office).contains(TOKEN),
            "{tool} {arguments}: {}",
            texts(&office)
        );
    }
}

#[tokio::test]
async fn when_the_records_are_gone_nothing_is_sent_and_the_answer_says_what_to_do() {
    for (name, words) in [(JOURNAL_NAME, "put it back"), (LOG_NAME, "call again")] {
        let office = Office::new().await;
        let arguments = |value: i64| json!({"ord": OWN_POINT, "value": value, "priority": 10});
        office.answer(OPERATOR, "writePoint", arguments(21)).await;
        std::fs::remove_file(office.file(name)).expect("removed");
        let answer = office.call_as(OPERATOR, "writePoint", arguments(22)).await;
        assert_eq!(answer["errorData"]["kind"], "audit", "{answer}");
        let text = answer["content"][0]["text"].as_str().expect("a text");
        assert!(text.contains(name) && text.contains(words), "{text}");
        let held = office.site.input("slot:/Ahu1/Setpoint", "in10");
        assert_eq!(held.0, "21.0", "{name}");
        assert_eq!(
            office.file(JOURNAL_NAME).exists(),
            name == LOG_NAME,
            "no new journal"
        );
        if name == LOG_NAME {
            office.answer(OPERATOR, "writePoint", arguments(23)).await;
            let outcomes: Vec<Value> = office
                .log()
                .iter()
                .map(|line| line["outcome"].clone())
                .collect();
            assert_eq!(outcomes, ["done", "refused", "done"]);
            office.last_line(2, 3);
        }
    }
}

#[tokio::test]
async fn the_end_of_an_override_is_not_told_of_an_emergency_above_it() {
    let office = Office::new().await;
    let hold = json!({"ord": OTHER_POINT, "value": 21, "durationMinutes": 30});
    let held = office.confirmed(ADMIN, "overridePoint", hold).await;
    let held = &held["structuredContent"];
    assert_eq!(held["activeLevel"], "8", "{held}");
    assert!(held["expires"].is_string(), "{held}");
    for (tool, arguments) in [
        (
            "overridePoint",
            json!({"ord": OTHER_POINT, "value": 22, "durationMinutes": 0, "priority": 1}),
        ),
        (
            "writePoint",
            json!({"ord": OTHER_POINT, "value": 23, "priority": 1}),
        ),
    ] {
        let emergency = office.confirmed(ADMIN, tool, arguments).await;
        let emergency = &emergency["structuredContent"];
        assert_eq!(
            (&emergency["activeLevel"], &emergency["expires"]),
            (&json!("1"), &Value::Null),
            "{tool}: {emergency}"
        );
    }
    let freed = office
        .confirmed(
            ADMIN,
            "releasePoint",
            json!({"ord": OTHER_POINT, "priority": 1}),
        )
        .await;
    let freed = &freed["structuredContent"];
    assert_eq!(
        (&freed["activeLevel"], &freed["expires"]),
        (&json!("8"), &held["expires"]),
        "{freed}"
    );
}

#[tokio::test]
async fn a_plan_of_somebody_the_bridge_cannot_act_for_says_nothing_of_permissions() {
    let office = Office::new().await;
    let operations = json!({"operations": [
        {"tool": "writePoint", "arguments": {"ord": OTHER_POINT, "value": 22, "priority": 10}},
        {"tool": "setSlot", "arguments": {"ord": OTHER_POINT, "slotName": "facets", "value": ""}},
    ]});
    let known = office
        .call_as(ADMIN, "planWrites", operations.clone())
        .await;
    assert_eq!(
        known["structuredContent"]["operations"][0]["permitted"], true,
        "{known}"
    );
    let unbound = office
        .call(context(Some("guest")), "planWrites", operations)
        .await;
    let unbound = unbound.expect("answered");
    let plan = &unbound["structuredContent"];
    assert_eq!(plan["ready"], false, "{plan}");
    assert!(plan["operations"][0].get("permitted").is_none(), "{plan}");
    let problems = plan["operations"][0]["problems"].to_string();
    assert!(
        !problems.contains("\"permission\"") && problems.contains("identity"),
        "{problems}"
    );
}

#[tokio::test]
async fn a_save_in_doubt_is_named_as_the_station_writes_it() {
    let office = Office::new().await;
    office
        .site
        .break_next_write(Interface::Box, FaultKind::CutAfter);
    let answer = office.call_as(ADMIN, "commitStation", json!({})).await;
    assert_eq!(answer["errorData"]["inDoubt"], true, "{answer}");
    assert!(
        answer.to_string().contains("station:|slot:/save"),
        "{answer}"
    );
    assert!(!answer.to_string().contains("slot://"), "{answer}");
}

#[tokio::test]
async fn nobody_is_asked_to_confirm_what_cannot_be_done() {
    let office = Office::new().await;
    let mut lines = 0;
    let mut refused = async |user, tool: &str, arguments: Value, expected: i64| {
        let (code, data) = office.failure(user, tool, arguments.clone()).await;
        assert_eq!(code, expected, "{tool} {arguments}: {data}");
        assert!(data.get("confirm").is_none(), "{tool} {arguments}: {data}");
        lines += 1;
        office.last_line(0, lines);
    };
    // What is not there, or is part of a type.
    let removal = |ord: &str| json!({"ord": ord, "dryRun": false, "force": true});
    refused(
        ADMIN,
        "removeComponent",
        removal("station:|slot:/Nothing"),
        -32006,
    )
    .await;
    refused(ADMIN, "removeComponent", removal("station:|slot:/"), -32602).await;
    let frozen = format!("{OTHER_POINT}/out");
    refused(ADMIN, "removeComponent", removal(&frozen), -32602).await;
    let link = json!({"linkOrd": format!("{OTHER_POINT}/NoLink")});
    refused(ADMIN, "unlinkSlots", link, -32006).await;
    let link = json!({"sinkOrd": "station:|slot:/Nothing", "linkName": "a"});
    refused(ADMIN, "unlinkSlots", link, -32006).await;
    // Who only reads; each of these is confirmed by others.
    let own = |more: Value| {
        let mut arguments = json!({"ord": OWN_POINT});
        arguments
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        arguments
    };
    let confirmed = [
        ("removeComponent", own(json!({"dryRun": false}))),
        ("writePoint", own(json!({"value": 21, "priority": 8}))),
        ("writePoint", own(json!({"value": 21, "priority": 1}))),
        (
            "overridePoint",
            own(json!({"value": 21, "durationMinutes": 5})),
        ),
        (
            "invokeAction",
            own(json!({"actionName": "emergencyOverride", "args": 21})),
        ),
    ];
    for (tool, arguments) in confirmed {
        let (code, data) = office.failure(ADMIN, tool, arguments.clone()).await;
        assert_eq!(
            (code, &data["policy"]),
            (-32010, &json!("confirmation")),
            "{tool} {data}"
        );
        let (code, data) = office.failure(VIEWER, tool, arguments).await;
        assert_eq!(
            (code, &data["user"], data.get("confirm")),
            (-32010, &json!("viewer"), None),
            "{tool}: {data}"
        );
        let line = office.last_line(0, office.log().len());
        assert_eq!(
            (&line["tool"], &line["outcome"], &line["user"]),
            (&json!(tool), &json!("refused"), &json!("viewer"))
        );
    }
    assert!(office.site.writes().is_empty());
}
