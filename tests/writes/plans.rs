//! Plans: what they say before anything is sent, and what becomes of them.

use mock_station::faults::{FaultKind, Interface};
use mock_station::model::accounts::{ADMIN, OPERATOR, VIEWER};
use niagara_bridge::audit::AuditOptions;
use niagara_bridge::station::priority::Priority;
use serde_json::{Value, json};

use crate::office::{OTHER_POINT, OWN_POINT, Office, context};
use crate::schedules::add_schedules;

const SIMPLES: &str = "station:|slot:/Logic/Simples";

fn point(ord: &str, value: Value, priority: u8) -> Value {
    json!({"tool": "writePoint", "arguments": {"ord": ord, "value": value, "priority": priority}})
}

fn slot(name: &str, value: Value) -> Value {
    json!({"tool": "setSlot", "arguments": {"ord": SIMPLES, "slotName": name, "value": value}})
}

async fn plan(office: &Office, operations: Value) -> Value {
    office
        .answer(ADMIN, "planWrites", json!({ "operations": operations }))
        .await
}

/// The kinds of what stands in the way of each operation.
fn kinds(plan: &Value, list: &str) -> Vec<Vec<String>> {
    let operations = plan["operations"].as_array().expect("operations");
    let kinds = |one: &Value| {
        let issues = one[list].as_array().expect("a list").iter();
        issues
            .map(|issue| issue["kind"].as_str().expect("a kind").to_owned())
            .collect()
    };
    operations.iter().map(kinds).collect()
}

#[tokio::test]
async fn a_plan_shows_old_and_new_and_sends_nothing() {
    let office = Office::new().await;
    let shown = plan(
        &office,
        json!([
            point(OTHER_POINT, json!(21.5), 10),
            slot("integer", json!(7))
        ]),
    )
    .await;
    assert_eq!(shown["ready"], json!(true), "{shown}");
    let first = &shown["operations"][0];
    assert_eq!(
        (
            &first["old"],
            &first["new"],
            &first["part"],
            &first["takesEffect"]
        ),
        (&Value::Null, &json!(21.5), &json!("in10"), &json!(true))
    );
    let second = &shown["operations"][1];
    assert_eq!((&second["old"], &second["new"]), (&json!(1), &json!(7)));
    assert_eq!(shown["needsConfirmation"], json!(false));
    assert_eq!(shown["digest"].as_str().map(str::len), Some(64));
    assert_eq!(office.site.writes(), []);
    assert_eq!(office.log().len(), 0);
    let anybody = office.call(
        context(None),
        "planWrites",
        json!({"operations": [slot("integer", json!(7))]}),
    );
    let anybody = anybody.await.expect("planning needs no user");
    assert_eq!(anybody["isError"], json!(false), "{anybody}");
    let anybody = &anybody["structuredContent"];
    assert_eq!(
        (
            &anybody["ready"],
            &anybody["problems"][0]["kind"],
            anybody.get("planId")
        ),
        (&json!(false), &json!("identity"), None),
        "nobody could apply it: {anybody}"
    );
    assert_eq!(anybody["operations"][0]["problems"], json!([]));
}

#[tokio::test]
async fn a_plan_that_no_minute_has_room_for_is_not_ready() {
    let office = Office::with(json!({"ratePerMinute": 2}), AuditOptions::default()).await;
    let three: Vec<Value> = (10..13)
        .map(|level| point(OTHER_POINT, json!(21.5), level))
        .collect();
    let shown = office
        .answer(ADMIN, "planWrites", json!({"operations": three}))
        .await;
    assert_eq!(
        (&shown["ready"], &shown["problems"][0]["kind"]),
        (&json!(false), &json!("rate"))
    );
    assert_eq!(shown.get("planId"), None);
    let two = json!({"operations": three[..2]});
    let shown = office.answer(ADMIN, "planWrites", two).await;
    assert_eq!(
        (&shown["ready"], shown.get("problems")),
        (&json!(true), None)
    );
}

/// The records of a plan tell a level that commanded nothing from a value that is not known, as those of single calls do.
#[tokio::test]
async fn a_released_level_is_recorded_alike_by_every_tool() {
    let office = Office::new().await;
    let planned = json!({"operations": [point(OTHER_POINT, json!(21.5), 10)]});
    let plan = office.answer(ADMIN, "planWrites", planned).await;
    let apply = json!({"planId": plan["planId"]});
    let applied = office.answer(ADMIN, "applyWrites", apply).await;
    assert_eq!(applied["operations"][0]["old"], Value::Null);
    let single = json!({"ord": OTHER_POINT, "value": 21.5, "priority": 11});
    office.answer(ADMIN, "writePoint", single).await;
    let over = json!({"ord": OTHER_POINT, "value": 21.5, "durationMinutes": 5});
    office.confirmed(ADMIN, "overridePoint", over).await;
    let free = json!({"ord": OTHER_POINT});
    office.confirmed(ADMIN, "releasePoint", free).await;
    let log = office.log();
    let values: Vec<(&Value, &Value)> = log
        .iter()
        .filter(|line| line["outcome"] == "done")
        .map(|line| (&line["oldValue"], &line["newValue"]))
        .collect();
    let (free, held) = (&json!("null"), &json!(21.5));
    assert_eq!(
        values,
        [(free, held), (free, held), (free, held), (held, free)]
    );
}

#[tokio::test]
async fn a_plan_is_applied_in_order_with_a_record_each_and_its_undo_leads_back() {
    let office = Office::new().await;
    let operations = json!([
        point(OTHER_POINT, json!(21.5), 10),
        slot("string", json!("new")),
        {"tool": "clearSlot", "arguments": {"ord": OTHER_POINT, "slotName": "facets"}},
        {"tool": "invokeAction", "arguments": {"ord": OTHER_POINT, "actionName": "set", "args": 19}},
    ]);
    let shown = plan(&office, operations).await;
    let before = office.site.held("slot:/Logic/Setpoint", "facets");
    let apply = json!({"planId": shown["planId"]});
    let done = office.answer(ADMIN, "applyWrites", apply.clone()).await;
    assert_eq!(done["applied"], json!(4));
    assert_eq!(office.site.input("slot:/Logic/Setpoint", "in10").0, "21.5");
    assert_eq!(office.site.held("slot:/Logic/Simples", "string"), "new");
    let log = office.log();
    let tools: Vec<&str> = log
        .iter()
        .filter_map(|line| line["tool"].as_str())
        .collect();
    assert_eq!(
        tools,
        ["writePoint", "setSlot", "clearSlot", "invokeAction"]
    );
    office.last_line(4, 4);
    assert_eq!(office.audited_by_station("admin").len(), 4);

    let (code, data) = office.failure(ADMIN, "applyWrites", apply).await;
    assert_eq!(
        (code, &data["planId"]),
        (-32602, &shown["planId"]),
        "a plan counts once"
    );

    let undo = &done["undo"];
    assert_eq!(undo["notUndoable"][0]["index"], json!(3));
    let back = json!({"planId": undo["planId"]});
    let undone = office.answer(ADMIN, "applyWrites", back).await;
    assert_eq!(undone["applied"], json!(3));
    assert_eq!(office.site.input("slot:/Logic/Setpoint", "in10").1, "40");
    assert_eq!(office.site.held("slot:/Logic/Simples", "string"), "old");
    assert_eq!(office.site.held("slot:/Logic/Setpoint", "facets"), before);
}

#[tokio::test]
async fn what_stands_in_the_way_is_named_for_each_operation() {
    let office = Office::new().await;
    add_schedules(&office.site);
    {
        let mut station = office.site.frozen.station.station().write();
        let schedule = station
            .resolve_component("slot:/Logic/Warmth")
            .expect("there");
        let own = station
            .resolve_component("slot:/Ahu1/Setpoint")
            .expect("there");
        station.link(schedule, "out", own, "in16").expect("linked");
    }
    office
        .confirmed(
            ADMIN,
            "writePoint",
            json!({"ord": OTHER_POINT, "value": 22, "priority": 8}),
        )
        .await;
    let shown = plan(
        &office,
        json!([
            point(OTHER_POINT, json!(99), 9),
            point("station:|slot:/Logic/Linked", json!(7), 16),
            point(OWN_POINT, json!(7), 16),
            point("station:|slot:/Logic/Nowhere", json!(7), 16),
            slot("locked", json!("x")),
            slot("long", json!(1)),
            slot("long", json!(2)),
            point(OTHER_POINT, json!(20), 12),
            point(OTHER_POINT, json!(21), 10),
        ]),
    )
    .await;
    assert_eq!(shown["ready"], json!(false));
    assert_eq!(shown.get("planId"), None);
    let problems = kinds(&shown, "problems");
    let problems: Vec<Vec<&str>> = problems
        .iter()
        .map(|kinds| kinds.iter().map(String::as_str).collect())
        .collect();
    let expected: [&[&str]; 9] = [
        &["invalid"],
        &["link"],
        &["schedule"],
        &["not-found"],
        &["station"],
        &["conflict"],
        &["conflict"],
        &[],
        &[],
    ];
    assert_eq!(problems, expected);
    let warnings = kinds(&shown, "warnings");
    assert_eq!(warnings[7], ["override", "priority"]);
    assert_eq!(warnings[8], ["override"]);
    assert_eq!(shown["operations"][8]["takesEffect"], json!(false));
}

#[tokio::test]
async fn permissions_and_rules_are_predicted_for_the_caller() {
    let office = Office::new().await;
    let one = json!({"operations": [slot("locked", json!("x")), point(OWN_POINT, json!(20), 10)]});
    let shown = office.answer(VIEWER, "planWrites", one).await;
    let problems = kinds(&shown, "problems");
    assert_eq!(problems[1], ["permission"], "{shown}");
    let own = json!({"operations": [point(OWN_POINT, json!(20), 10)]});
    let shown = office.answer(OPERATOR, "planWrites", own.clone()).await;
    let permitted = &shown["operations"][0]["permitted"];
    let applied = match permitted {
        Value::Bool(true) => {
            let id = json!({"planId": shown["planId"]});
            office.call_as(OPERATOR, "applyWrites", id).await["isError"].clone()
        }
        _ => json!(false),
    };
    assert_eq!(applied, json!(false), "what was predicted holds: {shown}");

    office.allow(json!({"deny": ["slot:/Logic/**"], "confirm": ["slot:/Ahu1/**"]}));
    let both = json!([
        point(OTHER_POINT, json!(20), 10),
        point(OWN_POINT, json!(20), 10)
    ]);
    let shown = plan(&office, both).await;
    assert_eq!(kinds(&shown, "problems")[0], ["ord-denied"]);
    assert!(shown["operations"][1]["confirmation"].is_string());
    assert_eq!(shown["needsConfirmation"], json!(true));
    office.allow(json!({"enabled": false}));
    let shown = plan(&office, json!([point(OTHER_POINT, json!(20), 10)])).await;
    assert_eq!(kinds(&shown, "problems")[0], ["read-only"]);
}

#[tokio::test]
async fn a_plan_is_no_way_around_the_limit_of_overrides() {
    let office = Office::with(json!({"maxOverrideMinutes": 60}), AuditOptions::default()).await;
    for (action, args) in [("override", Value::Null), ("emergencyOverride", json!(22))] {
        let arguments = json!({"ord": OTHER_POINT, "actionName": action, "args": args});
        let shown = plan(
            &office,
            json!([{"tool": "invokeAction", "arguments": arguments}]),
        )
        .await;
        assert_eq!(kinds(&shown, "problems")[0], ["override"], "{shown}");
        assert_eq!(shown["planId"], Value::Null, "there is nothing to apply");
    }
    assert_eq!(office.site.writes(), []);
}

fn held(value: Value, priority: u8, minutes: Value) -> Value {
    json!({"tool": "overridePoint", "arguments": {
        "ord": OTHER_POINT, "value": value, "priority": priority, "durationMinutes": minutes}})
}

#[tokio::test]
async fn planned_arguments_are_held_to_what_the_tool_itself_takes() {
    let office = Office::with(json!({"maxOverrideMinutes": 60}), AuditOptions::default()).await;
    add_schedules(&office.site);
    let schedule = |part: &str, value: Value| {
        json!({"tool": "writeSchedule", "arguments":
            {"ord": "station:|slot:/Logic/Occupancy", part: value}})
    };
    let with = |mut operation: Value, name: &str, value: Value| {
        operation["arguments"][name] = value;
        operation
    };
    for wrong in [
        held(json!(22), 1, json!(10)),
        held(json!(22), 8, json!(0)),
        held(json!(22), 8, json!(525_601)),
        held(json!(22), 8, json!(u64::MAX)),
        held(json!(22), 8, json!(-5)),
        held(json!(22), 9, json!(10)),
        held(Value::Null, 8, json!(10)),
        point(OTHER_POINT, json!(22), 17),
        schedule("removeEvents", json!("Christmas")),
        schedule(
            "events",
            json!([{"name": "Christmas", "month": "12", "day": 24, "periods": []}]),
        ),
        with(slot("long", json!(1)), "dryRun", json!(true)),
        with(
            schedule("removeEvents", json!(["x"])),
            "dryRun",
            json!(true),
        ),
        with(slot("long", json!(1)), "confirm", json!("x")),
    ] {
        let operations = json!({"operations": [slot("integer", json!(1)), wrong]});
        let (code, data) = office.failure(ADMIN, "planWrites", operations).await;
        assert_eq!(
            (code, &data["index"]),
            (-32602, &json!(1)),
            "{wrong}: {data}"
        );
    }
    // An emergency override has no end, whatever the plan says of it.
    let emergency = plan(&office, json!([held(json!(22), 1, json!(0))])).await;
    assert_eq!(
        kinds(&emergency, "problems")[0],
        ["override"],
        "{emergency}"
    );
    let timed = plan(&office, json!([held(json!(22), 8, json!(10.0))])).await;
    assert_eq!(timed["ready"], json!(true), "{timed}");
    assert_eq!(office.site.writes(), []);
}

#[tokio::test]
async fn a_long_plan_waits_once_for_all_its_points_and_reads_each_back() {
    // 25 waits would take longer than a call of one write has.
    let office = Office::with(json!({"readbackDelayMs": 400}), AuditOptions::default()).await;
    let confirmed = [Priority::EMERGENCY, Priority::MANUAL];
    let levels = Priority::all().filter(|level| !confirmed.contains(level));
    let levels: Vec<u8> = levels.map(Priority::level).collect();
    let writes = [OTHER_POINT, OWN_POINT].into_iter();
    let writes = writes.flat_map(|ord| {
        levels
            .iter()
            .map(move |level| point(ord, json!(20), *level))
    });
    let writes: Vec<Value> = writes.take(25).collect();
    assert_eq!(writes.len(), 25);
    let shown = plan(&office, json!(writes)).await;
    let apply = json!({"planId": shown["planId"]});
    let done = office.answer(ADMIN, "applyWrites", apply).await;
    assert_eq!(done["applied"], json!(25));
    for (number, one) in done["operations"]
        .as_array()
        .expect("results")
        .iter()
        .enumerate()
    {
        let highest = number % levels.len() == 0;
        assert_eq!(one["winning"], json!(highest), "{one}");
        assert_eq!(one["activeLevel"], json!("2"), "{one}");
        assert_eq!(one.get("readBackFailed"), None, "{one}");
    }
    office.last_line(25, 25);
}

#[tokio::test]
async fn an_operation_is_not_begun_when_its_answer_could_not_be_awaited() {
    let office = Office::new().await;
    let shown = plan(&office, json!([slot("long", json!(5))])).await;
    let mut hurried = context(Some(ADMIN.user));
    hurried.deadline = std::time::Instant::now() + std::time::Duration::from_secs(2);
    let apply = json!({"planId": shown["planId"]});
    let answer = office.call(hurried, "applyWrites", apply).await;
    let (code, data) = crate::office::failure_of(&answer.expect("answered"));
    assert_eq!((code, &data["kind"]), (-32603, &json!("station-timeout")));
    assert_eq!(data.get("inDoubt"), None, "{data}");
    assert_eq!(
        data["operations"][0]["outcome"],
        json!("not-tried"),
        "{data}"
    );
    assert_eq!(office.site.writes(), []);
    assert_eq!(office.records("intent").len(), 0);
}

#[tokio::test]
async fn one_confirmation_counts_for_the_whole_plan() {
    let office = Office::new().await;
    let operations = json!([
        {"tool": "overridePoint", "arguments": {"ord": OTHER_POINT, "value": 22, "durationMinutes": 30}},
        point(OWN_POINT, json!(23), 10),
    ]);
    let shown = plan(&office, operations).await;
    assert_eq!(shown["needsConfirmation"], json!(true));
    let apply = json!({"planId": shown["planId"]});
    let done = office.confirmed(ADMIN, "applyWrites", apply).await;
    assert_eq!(done["structuredContent"]["applied"], json!(2), "{done}");
    assert_eq!(office.site.input("slot:/Logic/Setpoint", "in8").0, "22.0");
    let undo = &done["structuredContent"]["undo"]["operations"];
    assert_eq!(undo[1]["tool"], json!("releasePoint"));
    let back = json!({"planId": done["structuredContent"]["undo"]["planId"]});
    office.confirmed(ADMIN, "applyWrites", back).await;
    assert_eq!(office.site.input("slot:/Logic/Setpoint", "in8").1, "40");
    assert_eq!(office.site.input("slot:/Ahu1/Setpoint", "in10").1, "40");
}

#[tokio::test]
async fn a_value_that_changed_since_stops_the_plan_unless_told_otherwise() {
    let office = Office::new().await;
    let shown = plan(
        &office,
        json!([slot("long", json!(5)), slot("integer", json!(6))]),
    )
    .await;
    office
        .answer(
            ADMIN,
            "setSlot",
            json!({"ord": SIMPLES, "slotName": "integer", "value": 9}),
        )
        .await;
    office.site.writes();
    let mut apply = json!({"planId": shown["planId"]});
    let (code, data) = office.failure(ADMIN, "applyWrites", apply.clone()).await;
    assert_eq!((code, &data["kind"]), (-32602, &json!("plan-outdated")));
    assert_eq!(
        data["changed"],
        json!([{"index": 1, "ord": SIMPLES, "part": "integer", "now": 9}])
    );
    assert_eq!(office.site.writes(), []);
    apply["ignoreChanges"] = json!(true);
    let done = office.answer(ADMIN, "applyWrites", apply).await;
    assert_eq!(done["operations"][1]["old"], json!(9));
    assert_eq!(office.site.held("slot:/Logic/Simples", "integer"), "6");
}

#[tokio::test]
async fn a_plan_stops_at_the_first_failure_and_offers_the_way_back_of_what_was_done() {
    let office = Office::new().await;
    let operations = json!([
        slot("long", json!(5)),
        slot("integer", json!(6)),
        slot("string", json!("x"))
    ]);
    let shown = plan(&office, operations).await;
    let fault = mock_station::faults::Fault::new(FaultKind::CutAfter)
        .on(Interface::Box)
        .on_writes()
        .after(1)
        .requests(1);
    office
        .site
        .frozen
        .station
        .faults()
        .set(fault)
        .expect("a fault");
    let apply = json!({"planId": shown["planId"]});
    let (code, data) = office.failure(ADMIN, "applyWrites", apply).await;
    assert_eq!((code, &data["inDoubt"]), (-32603, &json!(true)), "{data}");
    let outcomes: Vec<&Value> = data["operations"]
        .as_array()
        .expect("operations")
        .iter()
        .map(|one| &one["outcome"])
        .collect();
    assert_eq!(outcomes, ["done", "in-doubt", "not-tried"]);
    assert_eq!(data["applied"], json!(1));
    assert_eq!(data["undo"]["operations"].as_array().map(Vec::len), Some(1));
    assert_eq!(office.site.held("slot:/Logic/Simples", "string"), "old");
    assert_eq!(office.last_line(2, 2)["outcome"], json!("inDoubt"));
}

#[tokio::test]
async fn a_plan_belongs_to_who_made_it_and_ends_after_ten_minutes() {
    let office = Office::new().await;
    let shown = plan(&office, json!([slot("long", json!(5))])).await;
    let apply = json!({"planId": shown["planId"]});
    let (code, _) = office.failure(OPERATOR, "applyWrites", apply.clone()).await;
    assert_eq!(code, -32602);
    let service = office
        .call(context(None), "applyWrites", apply.clone())
        .await;
    assert_eq!(service.expect_err("no user").code.code(), -32011);
    office.clock.advance(std::time::Duration::from_secs(601));
    let (code, _) = office.failure(ADMIN, "applyWrites", apply).await;
    assert_eq!(code, -32602);
    assert_eq!(office.site.writes(), []);
    let many: Vec<Value> = (0..26).map(|_| slot("long", json!(5))).collect();
    for wrong in [
        json!([]),
        json!(many),
        json!([{"tool": "removeComponent", "arguments": {}}]),
        json!([{"tool": "setSlot", "arguments": {"ord": SIMPLES, "value": 1}}]),
    ] {
        let call = office.call(
            context(Some("admin")),
            "planWrites",
            json!({"operations": wrong}),
        );
        let is_refused = match call.await {
            Err(error) => error.code.code() == -32602,
            Ok(answer) => answer["errorCode"] == json!(-32602),
        };
        assert!(is_refused, "{wrong}");
    }
}
