//! Every tool × every way for a connection to break around its message: sent once, told as in doubt with what was
//! seen afterwards, recorded with one intent and one outcome.

use mock_station::faults::{Fault, FaultKind};
use mock_station::model::accounts::ADMIN;
use serde_json::{Value, json};

use crate::calls::{call, tools};
use crate::office::{Office, failure_of};
use crate::place::{OUTSIDE, Place};

/// Actions and saves leave nothing behind that could be read.
const NOTHING_TO_READ: [&str; 2] = ["invokeAction", "commitStation"];

/// What the station showed after the lost answer, without what differs between places.
async fn seen_after(office: &Office, tool: &str, kind: FaultKind) -> Value {
    let place = Place::new(&office.site, OUTSIDE);
    let (arguments, _) = office.prepared(ADMIN, tool, call(tool, &place)).await;
    let (intents, lines) = (office.records("intent").len(), office.log().len());
    let station = &office.site.frozen.station;
    station.clear_logs();
    station.faults().clear_fired();
    let fault = Fault::new(kind.clone()).on_writes().requests(1);
    let fault = station.faults().set(fault).expect("a fault");
    let answer = office.call_by(ADMIN.user, tool, arguments).await;
    station.faults().clear(fault);

    let (code, data) = failure_of(&answer.expect("answered"));
    assert_eq!(
        (code, &data["inDoubt"]),
        (-32603, &json!(true)),
        "{tool} {kind:?}: {data}"
    );
    assert_eq!(station.faults().fired().len(), 1, "{tool} {kind:?}");
    let lost = matches!(kind, FaultKind::Cut) && tool == "ackAlarm";
    assert!(
        office.sent() == 1 || lost && office.sent() == 0,
        "{tool} {kind:?}: {:?}",
        station.box_writes()
    );
    let line = office.last_line(intents + 1, lines + 1);
    assert_eq!(
        (&line["outcome"], &line["errorCode"], &line["user"]),
        (&json!("inDoubt"), &json!("-32603"), &json!(ADMIN.user)),
        "{tool} {kind:?}"
    );
    let text = data["observed"].to_string();
    Value::String(text.replace(&place.path, "").replace(&place.alarm, ""))
}

#[tokio::test]
async fn a_broken_connection_leaves_every_tool_in_doubt_and_its_message_is_sent_once() {
    let office = Office::new().await;
    for tool in &tools(&office) {
        let cut = seen_after(&office, tool, FaultKind::Cut).await;
        let during = seen_after(&office, tool, FaultKind::HalfBody { bytes: None }).await;
        let after = seen_after(&office, tool, FaultKind::CutAfter).await;
        if NOTHING_TO_READ.contains(&tool.as_str()) {
            continue;
        }
        for seen in [&cut, &during, &after] {
            assert_ne!(*seen, json!("null"), "{tool}: nothing was read again");
        }
        assert_ne!(
            cut, after,
            "{tool}: what was done differs from what was not"
        );
        assert_eq!(
            during.as_str().map(str::len),
            after.as_str().map(str::len),
            "{tool}: {during} {after}"
        );
    }
}
