//! Every tool on stations that offer less than everything: done by what is there, or the missing interface is named and
//! nothing sent; done again when it is back.

use std::time::Duration;

use mock_station::model::accounts::ADMIN;
use mock_station::switches::{ObixMode, Switches};
use serde_json::{Value, json};

use crate::calls::{Call, call, tools};
use crate::office::Office;
use crate::place::{OUTSIDE, Place};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Over {
    Box,
    Obix,
}

/// The interfaces that can carry a tool's message alone (Tool surface §13.5.4; oBIX specification §6, §11.3).
fn over(tool: &str) -> &'static [Over] {
    match tool {
        // oBIX has operations for the levels 8 and 1 alone.
        "overridePoint" | "releasePoint" => &[Over::Box, Over::Obix],
        "ackAlarm" => &[Over::Obix],
        _ => &[Over::Box],
    }
}

/// Longer than a missing interface is remembered.
const LATER: Duration = Duration::from_secs(61);

async fn attempt(office: &Office, tool: &str) -> Value {
    let place = Place::new(&office.site, OUTSIDE);
    let Call {
        mut arguments,
        plan,
        ..
    } = call(tool, &place);
    if let Some(operations) = plan {
        let made = office.call_as(ADMIN, "planWrites", operations).await;
        match made.pointer("/structuredContent/planId") {
            Some(id) => arguments["planId"] = id.clone(),
            None => return made,
        }
    }
    office.site.frozen.station.clear_logs();
    let answer = office.call_as(ADMIN, tool, arguments.clone()).await;
    match answer.pointer("/errorData/confirm") {
        Some(token) => {
            arguments["confirm"] = token.clone();
            office.call_as(ADMIN, tool, arguments).await
        }
        None => answer,
    }
}

/// An error says it in its data, a plan in the problems of its operations.
fn names_what_is_missing(answer: &Value) -> bool {
    if let Some(problem) = answer.pointer("/structuredContent/operations/0/problems/0/message") {
        return problem.to_string().contains("does not offer BOX");
    }
    let data = &answer["errorData"];
    answer["errorCode"] == json!(-32603)
        && match data["kind"].as_str() {
            Some("interface-missing") => data["needs"]
                .as_str()
                .is_some_and(|needs| !needs.is_empty()),
            // An unlicensed oBIX server answers as one that failed (oBIX specification §1.2).
            Some("station-error") => answer["content"][0]["text"].to_string().contains("licence"),
            _ => false,
        }
}

async fn prove(offers: &[Over], switch: fn(&mut Switches)) {
    let office = Office::by_the_clock().await;
    let station = &office.site.frozen.station;
    let whole = station.switches().get();
    station.switches().change(switch);
    let mut wrong = Vec::new();
    for tool in &tools(&office) {
        let answer = attempt(&office, tool).await;
        if over(tool).iter().any(|over| offers.contains(over)) {
            if answer["isError"] != json!(false) {
                wrong.push(format!("{tool} should be done: {answer}"));
            }
            continue;
        }
        if !names_what_is_missing(&answer) || office.sent() > 0 {
            wrong.push(format!("{tool} should miss an interface: {answer}"));
        }
    }
    station
        .switches()
        .change(|switches| *switches = (*whole).clone());
    office.clock.advance(LATER);
    for tool in &tools(&office) {
        let answer = attempt(&office, tool).await;
        if answer["isError"] != json!(false) {
            wrong.push(format!("{tool} does not recover: {answer}"));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    niagara_bridge::audit::verify(office.folder()).expect("sound");
    office.users.close().await;
    assert_eq!((station.sessions(), station.box_sessions()), (0, 0));
}

macro_rules! stations {
    ($($name:ident: $offers:expr, $switch:expr;)+) => {
        $(#[tokio::test]
        async fn $name() {
            prove($offers, $switch).await;
        })+
    };
}

stations! {
    a_station_with_everything: &[Over::Box, Over::Obix], |_| {};
    no_obix: &[Over::Box], |switches| switches.obix.mode = ObixMode::NoServlet;
    obix_without_licence: &[Over::Box], |switches| switches.obix.mode = ObixMode::Unlicensed500;
    obix_forbidden: &[Over::Box], |switches| switches.obix.mode = ObixMode::Unlicensed403;
    no_box: &[Over::Obix], |switches| switches.boxs.present = false;
    nothing_that_writes: &[], |switches| {
        switches.boxs.present = false;
        switches.obix.mode = ObixMode::NoServlet;
    };
}
