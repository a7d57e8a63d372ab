//! Every tool that writes × every way for a connection to break around its message: sent once, told as in doubt,
//! recorded with one intent and one outcome.
//!
//! The tools come from the registry: a new one needs its row in the table, or a story of its own.

use mock_station::faults::{FaultKind, Interface};
use mock_station::model::accounts::{ADMIN, Account};
use mock_station::server::WriteOutcome;
use niagara_bridge::audit::AuditOptions;
use serde_json::{Value, json};

use crate::office::{OTHER_POINT, Office, context, failure_of};
use crate::site::SIMPLES;

/// Stands for a name that no other call had.
const NEW: &str = "<new>";

/// Tools that send the messages of other tools, or none over BOX; their own stories tell of broken connections.
const OWN_STORIES: [&str; 4] = ["planWrites", "applyWrites", "ackAlarm", "writeSchedule"];

/// A call that must work on a healthy station, behind others that prepare for it.
struct Row {
    prepare: Vec<(&'static str, Value)>,
    arguments: Value,
}

fn alone(arguments: Value) -> Row {
    behind(Vec::new(), arguments)
}

fn behind(prepare: Vec<(&'static str, Value)>, arguments: Value) -> Row {
    Row { prepare, arguments }
}

fn created(type_spec: &str) -> (&'static str, Value) {
    let arguments = json!({"parentOrd": "slot:/Logic", "type": type_spec, "name": NEW});
    ("createComponent", arguments)
}

fn row(tool: &str) -> Row {
    let made = format!("slot:/Logic/{NEW}");
    let link = json!({
        "sourceOrd": OTHER_POINT, "sourceSlot": "out", "sinkOrd": made, "sinkSlot": "in10", "linkName": "wire",
    });
    let point = created("control:NumericWritable");
    match tool {
        "writePoint" => alone(json!({"ord": OTHER_POINT, "value": 21, "priority": 10})),
        "setSlot" => alone(json!({"ord": SIMPLES, "slotName": "string", "value": NEW})),
        "clearSlot" => alone(json!({"ord": OTHER_POINT, "slotName": "in12"})),
        "invokeAction" => alone(json!({"ord": OTHER_POINT, "actionName": "set", "args": 24})),
        "createComponent" => alone(created("baja:Folder").1),
        "addExtension" => behind(
            vec![point],
            json!({"parentOrd": made, "extensionType": "history:NumericCovHistoryExt", "name": "Trend"}),
        ),
        "linkSlots" => behind(vec![point], link),
        "unlinkSlots" => behind(
            vec![point, ("linkSlots", link)],
            json!({"sinkOrd": made, "linkName": "wire"}),
        ),
        "removeComponent" => behind(
            vec![created("baja:Folder")],
            json!({"ord": made, "dryRun": false}),
        ),
        "commitStation" => alone(json!({})),
        "overridePoint" => alone(json!({"ord": OTHER_POINT, "value": 22, "durationMinutes": 5})),
        "releasePoint" => behind(
            vec![(
                "overridePoint",
                json!({"ord": OTHER_POINT, "value": 22, "durationMinutes": 5}),
            )],
            json!({"ord": OTHER_POINT}),
        ),
        other => panic!("the tool '{other}' has no row: add one to tests/writes/every_tool.rs"),
    }
}

fn named(arguments: &Value, number: usize) -> Value {
    let text = arguments.to_string().replace(NEW, &format!("new{number}"));
    serde_json::from_str(&text).expect("JSON")
}

/// A call with its second step, where it needs one.
async fn call(office: &Office, user: Account, tool: &str, mut arguments: Value) -> Value {
    let answer = office.call_as(user, tool, arguments.clone()).await;
    match answer.pointer("/errorData/confirm") {
        Some(token) => {
            arguments["confirm"] = token.clone();
            office.call_as(user, tool, arguments).await
        }
        None => answer,
    }
}

#[tokio::test]
async fn a_connection_that_breaks_leaves_every_tool_in_doubt_and_its_message_is_sent_once() {
    let office = Office::with(
        json!({"confirmDestructive": false}),
        AuditOptions::default(),
    )
    .await;
    let tools: Vec<String> = office
        .registry
        .definitions()
        .map(|tool| tool.name.clone())
        .filter(|name| !OWN_STORIES.contains(&name.as_str()))
        .collect();
    let mut number = 0;
    for tool in &tools {
        for (kind, acted) in [
            (None, true),
            (Some(FaultKind::Cut), false),
            (Some(FaultKind::CutAfter), true),
            (Some(FaultKind::HalfBody { bytes: None }), true),
        ] {
            number += 1;
            let Row { prepare, arguments } = row(tool);
            for (step, arguments) in &prepare {
                let answer = call(&office, ADMIN, step, named(arguments, number)).await;
                assert_eq!(answer["isError"], false, "{tool}, {step}: {answer}");
            }
            let arguments = named(&arguments, number);
            // The first step of a confirmed call sends nothing.
            let confirmed = match tool.as_str() {
                "overridePoint" | "releasePoint" => {
                    let (_, data) = office.failure(ADMIN, tool, arguments.clone()).await;
                    let mut arguments = arguments.clone();
                    arguments["confirm"] = data["confirm"].clone();
                    arguments
                }
                _ => arguments.clone(),
            };
            office.site.writes();
            let (intents, lines) = (office.records("intent").len(), office.log().len());
            if let Some(kind) = &kind {
                office.site.break_next_write(Interface::Box, kind.clone());
            }
            let answer = office
                .call(context(Some(ADMIN.user)), tool, confirmed)
                .await;
            let answer = answer.expect("answered");
            let outcomes: Vec<WriteOutcome> = office
                .site
                .writes()
                .into_iter()
                .map(|(_, outcome)| outcome)
                .collect();
            let sent = if acted {
                WriteOutcome::Done
            } else {
                WriteOutcome::Lost
            };
            assert_eq!(outcomes, [sent], "{tool} {kind:?}: {answer}");
            let line = office.last_line(intents + 1, lines + 1);
            assert_eq!(&line["tool"], tool.as_str());
            if kind.is_none() {
                assert_eq!(answer["isError"], false, "{tool}: {answer}");
                assert_eq!(line["outcome"], "done", "{tool}");
                continue;
            }
            let (code, data) = failure_of(&answer);
            assert_eq!(
                (code, &data["inDoubt"]),
                (-32603, &json!(true)),
                "{tool} {kind:?}: {data}"
            );
            assert_eq!(
                (&line["outcome"], &line["errorCode"]),
                (&json!("inDoubt"), &json!("-32603"))
            );
        }
    }
    assert!(number >= 4 * 2, "{tools:?}");
}
