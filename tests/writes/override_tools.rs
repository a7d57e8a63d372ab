//! overridePoint and releasePoint: points held for a time, their end as the station has it, and given back.

use chrono::TimeDelta;
use mock_station::faults::{FaultKind, Interface};
use mock_station::model::accounts::{ADMIN, OPERATOR, VIEWER};
use mock_station::server::WriteOutcome;
use niagara_bridge::audit::AuditOptions;
use serde_json::{Value, json};

use crate::office::{OTHER_POINT, OWN_POINT, Office, context};

const POINT: &str = "slot:/Logic/Setpoint";

fn hold(ord: &str, value: Value, minutes: u64) -> Value {
    json!({"ord": ord, "value": value, "durationMinutes": minutes})
}

/// The structured content of a confirmed call that must work, checked against the tool's schema.
async fn confirmed(office: &Office, tool: &str, arguments: Value) -> Value {
    let result = office.confirmed(ADMIN, tool, arguments).await;
    assert_eq!(result["isError"], json!(false), "{result}");
    let answer = result["structuredContent"].clone();
    let schema = office
        .registry
        .definition(tool)
        .and_then(|tool| tool.output_schema.clone());
    let validator = jsonschema::validator_for(&schema.expect("a schema")).expect("a schema");
    let problems: Vec<String> = validator
        .iter_errors(&answer)
        .map(|error| error.to_string())
        .collect();
    assert!(problems.is_empty(), "{tool}: {problems:?} in {answer}");
    answer
}

#[tokio::test]
async fn each_kind_of_point_is_held_for_its_time_and_released() {
    let office = Office::new().await;
    let site = &office.site;
    for (path, value, requested, held, action) in [
        (POINT, json!(21.5), json!(21.5), "21.5", "override"),
        (
            "slot:/Logic/Fan",
            json!("Running"),
            json!(true),
            "true",
            "active",
        ),
        (
            "slot:/Logic/Fan",
            json!(false),
            json!(false),
            "false",
            "inactive",
        ),
        (
            "slot:/Logic/Mode",
            json!("Heat Pump"),
            json!("1@{Off=0,Heat$20Pump=1,Auto=7}"),
            "1@{Off=0,Heat$20Pump=1,Auto=7}",
            "override",
        ),
        (
            "slot:/Logic/Note",
            json!("hands off"),
            json!("hands off"),
            "hands off",
            "override",
        ),
    ] {
        let handle = site.handle(path);
        let ord = format!("station:|{path}");
        site.writes();
        let answer = confirmed(&office, "overridePoint", hold(&ord, value, 90)).await;
        assert_eq!(
            site.input(path, "in8"),
            (held.to_owned(), "0".to_owned()),
            "{path}"
        );
        assert_eq!(
            (&answer["requested"], &answer["previous"]),
            (&requested, &Value::Null),
            "{path}"
        );
        assert_eq!(
            (
                &answer["priority"],
                &answer["winning"],
                &answer["activeLevel"],
                &answer["route"]
            ),
            (&json!(8), &json!(true), &json!("8"), &json!("action")),
            "{path}"
        );
        // The station is in Paris, an hour before UTC.
        assert_eq!(answer["expires"], "2026-03-02T14:30:00.000+01:00", "{path}");
        assert_eq!(answer.get("note"), None);

        let answer = confirmed(&office, "releasePoint", json!({"ord": ord})).await;
        assert_eq!(site.input(path, "in8").1, "40", "{path}");
        assert_eq!(
            (&answer["released"], &answer["previous"]),
            (&json!(true), &requested),
            "{path}"
        );
        assert_eq!(
            (&answer["winning"], &answer["expires"]),
            (&json!(false), &Value::Null),
            "{path}"
        );
        let done = |name: &str| (format!("{handle}.{name}"), WriteOutcome::Done);
        assert_eq!(site.writes(), [done(action), done("auto")], "{path}");
    }
    let line = office.last_line(10, 20);
    assert_eq!(
        (&line["action"], &line["oldValue"], &line["newValue"]),
        (&json!("release"), &json!("hands off"), &json!("null"))
    );
    let audited = office.audited_by_station("admin");
    assert_eq!(
        audited.last(),
        Some(&"Invoked slot:/Logic/Note auto".to_owned()),
        "{audited:?}"
    );
}

#[tokio::test]
async fn the_station_ends_an_override_when_its_time_is_over() {
    let office = Office::new().await;
    let site = &office.site;
    let ord = OTHER_POINT;
    confirmed(&office, "overridePoint", hold(ord, json!(25), 10)).await;
    site.frozen.clock.advance(TimeDelta::minutes(9));
    let longer = confirmed(&office, "overridePoint", hold(ord, json!(26), 30)).await;
    assert_eq!(
        (&longer["previous"], &longer["expires"]),
        (&json!(25.0), &json!("2026-03-02T13:39:00.000+01:00"))
    );
    site.frozen.clock.advance(TimeDelta::minutes(30));
    site.writes();
    let left = office
        .answer(ADMIN, "releasePoint", json!({"ord": ord}))
        .await;
    assert_eq!(
        left,
        json!({
            "ord": ord, "priority": 8, "previous": null, "released": false, "reason": "not-overridden",
        })
    );
    assert_eq!(site.writes(), [], "there was nothing to release");
}

#[tokio::test]
async fn an_emergency_override_stands_above_all_and_has_no_end() {
    let office = Office::new().await;
    let site = &office.site;
    confirmed(&office, "overridePoint", hold(OTHER_POINT, json!(22), 60)).await;
    let mut emergency = hold(OTHER_POINT, json!(28), 0);
    emergency["priority"] = json!(1);
    let answer = confirmed(&office, "overridePoint", emergency).await;
    assert_eq!(
        (
            &answer["priority"],
            &answer["winning"],
            &answer["activeLevel"]
        ),
        (&json!(1), &json!(true), &json!("1"))
    );
    assert!(
        answer["note"].to_string().contains("releasePoint"),
        "{answer}"
    );
    assert_eq!(site.input(POINT, "in1").0, "28.0");

    // The operator's override below it is taken and does not win.
    let below = confirmed(&office, "overridePoint", hold(OTHER_POINT, json!(23), 60)).await;
    assert_eq!(
        (&below["winning"], &below["activeLevel"], &below["previous"]),
        (&json!(false), &json!("1"), &json!(22.0))
    );
    let released = confirmed(
        &office,
        "releasePoint",
        json!({"ord": OTHER_POINT, "priority": 1}),
    )
    .await;
    assert_eq!(
        (&released["released"], &released["activeLevel"]),
        (&json!(true), &json!("8"))
    );
    assert_eq!(
        site.input(POINT, "in8"),
        ("23.0".to_owned(), "0".to_owned())
    );
}

#[tokio::test]
async fn what_cannot_be_held_is_refused_before_anybody_is_asked() {
    let office = Office::new().await;
    let site = &office.site;
    site.writes();
    let emergency = json!({"ord": OTHER_POINT, "value": 22, "durationMinutes": 30, "priority": 1});
    for (arguments, code, key, part) in [
        (
            hold(OTHER_POINT, json!(31), 30),
            -32602,
            "reason",
            "above the maximum",
        ),
        (
            hold(OTHER_POINT, json!("warm"), 30),
            -32602,
            "reason",
            "finite number",
        ),
        (
            hold("slot:/Logic/Mode", json!("Cool"), 30),
            -32602,
            "reason",
            "none of the choices",
        ),
        (
            hold("slot:/Logic/Sensor", json!(20), 30),
            -32602,
            "type",
            "NumericPoint",
        ),
        (
            hold("slot:/Nowhere", json!(20), 30),
            -32006,
            "ord",
            "slot:/Nowhere",
        ),
        (
            hold(OTHER_POINT, json!(22), 0),
            -32602,
            "durationMinutes",
            "0",
        ),
        (
            hold(OTHER_POINT, Value::Null, 30),
            -32602,
            "hint",
            "releasePoint",
        ),
        (emergency, -32602, "priority", "1"),
    ] {
        let (found, data) = office
            .failure(ADMIN, "overridePoint", arguments.clone())
            .await;
        assert_eq!(found, code, "{arguments}: {data}");
        assert!(data[key].to_string().contains(part), "{arguments}: {data}");
    }
    for (arguments, argument) in [
        (json!({"ord": OTHER_POINT, "value": 22}), "durationMinutes"),
        (hold(OTHER_POINT, json!(22), 525_601), "durationMinutes"),
        (
            json!({"ord": OTHER_POINT, "value": 22, "durationMinutes": 9, "priority": 9}),
            "priority",
        ),
        (
            json!({"ord": OTHER_POINT, "value": [1], "durationMinutes": 9}),
            "value",
        ),
    ] {
        let refused = office
            .call(context(Some("admin")), "overridePoint", arguments)
            .await;
        let error = refused.expect_err("refused").to_json();
        assert_eq!(
            (&error["code"], &error["data"]["argument"]),
            (&json!(-32602), &json!(argument)),
            "{error}"
        );
    }
    assert_eq!(site.writes(), []);
}

#[tokio::test]
async fn the_rules_limit_how_long_and_at_which_level() {
    let office = Office::with(json!({"maxOverrideMinutes": 60}), AuditOptions::default()).await;
    let site = &office.site;
    site.writes();
    let (code, data) = office
        .failure(ADMIN, "overridePoint", hold(OTHER_POINT, json!(22), 61))
        .await;
    assert_eq!(
        (code, &data["policy"], &data["operation"]),
        (-32010, &json!("override"), &json!("override"))
    );
    assert!(
        data["remedy"]
            .to_string()
            .contains("writes.maxOverrideMinutes"),
        "{data}"
    );
    let mut emergency = hold(OTHER_POINT, json!(22), 0);
    emergency["priority"] = json!(1);
    let (code, data) = office.failure(ADMIN, "overridePoint", emergency).await;
    assert_eq!(
        (code, &data["policy"]),
        (-32010, &json!("override")),
        "it would never end"
    );
    assert_eq!(site.writes(), []);
    confirmed(&office, "overridePoint", hold(OTHER_POINT, json!(22), 60)).await;
    confirmed(&office, "releasePoint", json!({"ord": OTHER_POINT})).await;

    office.allow(json!({"priorities": ["8"]}));
    let (code, data) = office
        .failure(
            ADMIN,
            "releasePoint",
            json!({"ord": OTHER_POINT, "priority": 1}),
        )
        .await;
    assert_eq!((code, &data["policy"]), (-32010, &json!("priority")));
    office.allow(json!({"enabled": false}));
    let (code, data) = office
        .failure(ADMIN, "overridePoint", hold(OTHER_POINT, json!(99), 9))
        .await;
    assert_eq!((code, &data["policy"]), (-32010, &json!("read-only")));
    let refusals = office
        .log()
        .iter()
        .filter(|line| line["resultOk"] == json!(false))
        .count();
    assert_eq!(
        refusals, 6,
        "two of them are the first steps of confirmed calls"
    );
}

#[tokio::test]
async fn the_station_decides_who_may_override() {
    let office = Office::new().await;
    let site = &office.site;
    let path = OWN_POINT.trim_start_matches("station:|");
    for account in [ADMIN, OPERATOR] {
        let done = office
            .confirmed(account, "overridePoint", hold(OWN_POINT, json!(20), 5))
            .await;
        assert_eq!(done["structuredContent"]["winning"], true, "{done}");
        let done = office
            .confirmed(account, "releasePoint", json!({"ord": OWN_POINT}))
            .await;
        assert_eq!(done["structuredContent"]["released"], true, "{done}");
        let audited = office.audited_by_station(account.user);
        assert_eq!(
            audited,
            [
                format!("Invoked {path} override"),
                format!("Invoked {path} auto")
            ]
        );
    }
    site.writes();
    let (code, data) = office
        .failure(OPERATOR, "overridePoint", hold(OTHER_POINT, json!(20), 5))
        .await;
    assert_eq!(
        (code, &data["user"], &data["tool"]),
        (-32010, &json!("operator"), &json!("overridePoint"))
    );
    // Who may not is not asked to confirm it either.
    let (code, data) = office
        .failure(VIEWER, "overridePoint", hold(OWN_POINT, json!(20), 5))
        .await;
    assert_eq!(
        (code, &data["user"], data.get("confirm")),
        (-32010, &json!("viewer"), None),
        "{data}"
    );
    assert_eq!(site.input(path, "in8").1, "40");
    for (who, caller) in [
        ("a user without a password in the vault", Some("nobody")),
        ("apiToken", None),
    ] {
        for (tool, arguments) in [
            ("overridePoint", hold(OWN_POINT, json!(20), 5)),
            ("releasePoint", json!({"ord": OWN_POINT})),
        ] {
            let refused = office.call(context(caller), tool, arguments).await;
            assert_eq!(refused.expect_err(who).to_json()["code"], -32011, "{who}");
        }
    }
}

#[tokio::test]
async fn an_override_whose_answer_is_lost_is_in_doubt_with_the_point_read_back() {
    for (kind, acted) in [(FaultKind::Cut, false), (FaultKind::CutAfter, true)] {
        let office = Office::new().await;
        let site = &office.site;
        let mut arguments = hold(OTHER_POINT, json!(24), 5);
        let (_, data) = office
            .failure(ADMIN, "overridePoint", arguments.clone())
            .await;
        arguments["confirm"] = data["confirm"].clone();
        site.writes();
        site.break_next_write(Interface::Box, kind.clone());
        let (code, data) = office
            .failure(ADMIN, "overridePoint", arguments.clone())
            .await;
        assert_eq!((code, &data["inDoubt"]), (-32603, &json!(true)), "{kind:?}");
        let input = if acted { json!(24.0) } else { Value::Null };
        assert_eq!(data["observed"]["input"], input, "{kind:?}: {data}");
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
        assert_eq!(office.last_line(1, 2)["outcome"], "inDoubt");
        let (code, _) = office.failure(ADMIN, "overridePoint", arguments).await;
        assert_eq!(
            (code, site.writes()),
            (-32010, vec![]),
            "the confirmation is used up"
        );
    }
}

#[tokio::test]
async fn obix_holds_points_where_box_is_not_offered() {
    let office = Office::new().await;
    let switches = office.site.frozen.station.switches();
    switches.change(|switches| switches.boxs.present = false);
    let answer = confirmed(&office, "overridePoint", hold(OTHER_POINT, json!(21), 15)).await;
    assert_eq!(
        (&answer["route"], &answer["winning"], &answer["requested"]),
        (&json!("obix"), &json!(true), &json!(21.0))
    );
    assert_eq!(office.site.input(POINT, "in8").0, "21.0");
    let answer = confirmed(&office, "releasePoint", json!({"ord": OTHER_POINT})).await;
    assert_eq!(
        (&answer["route"], &answer["released"], &answer["previous"]),
        (&json!("obix"), &json!(true), &json!(21.0))
    );
    assert_eq!(office.site.input(POINT, "in8").1, "40");
}
