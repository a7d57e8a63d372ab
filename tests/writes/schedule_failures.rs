//! Changes of programs that do not end well: what was done of them is told, recorded and can be taken back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::NaiveDate;
use mock_station::faults::{Fault, FaultKind, Interface};
use mock_station::model::SharedStation;
use mock_station::model::accounts::ADMIN;
use niagara_bridge::station::facade::{
    EventDays, EventGiven, Given, PeriodGiven, ScheduleEdit, ScheduleOutcome, WriteError,
};
use niagara_bridge::station::http::{CallScope, RequestCount};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::mock::scope;
use crate::office::Office;
use crate::schedules::{OCCUPANCY, add_schedules};
use crate::site::{Site, ord, site};

async fn office() -> Office {
    let office = Office::new().await;
    add_schedules(&office.site);
    office
}

fn set(site: &Site, fault: Fault) {
    let board = site.frozen.station.faults();
    board.clear_all();
    board.set(fault).expect("a fault");
}

fn week(days: &[&str], finish: &str) -> Value {
    let periods = json!([{"start": "06:30", "finish": finish, "value": true}]);
    let days: Vec<Value> = days
        .iter()
        .map(|day| json!({"day": day, "periods": periods}))
        .collect();
    json!({"ord": OCCUPANCY, "week": days})
}

/// A plan of one change of a program, as applyWrites takes it.
async fn planned(office: &Office, arguments: Value) -> Value {
    let operations = json!({"operations": [{"tool": "writeSchedule", "arguments": arguments}]});
    let shown = office.answer(ADMIN, "planWrites", operations).await;
    json!({"planId": shown["planId"]})
}

#[tokio::test]
async fn a_program_that_cannot_be_read_back_is_not_called_verified() {
    let office = office().await;
    let mut unread = 0;
    for passing in 0..24_u32 {
        let finish = format!("12:{passing:02}");
        let fault = Fault::new(FaultKind::Cut).on(Interface::Box);
        set(&office.site, fault.after(passing));
        let answer = office
            .call_as(ADMIN, "writeSchedule", week(&["monday"], &finish))
            .await;
        office.site.frozen.station.faults().clear_all();
        let told = &answer["structuredContent"];
        if answer["isError"] == json!(true) {
            continue;
        }
        let line = office.log().pop().expect("a line");
        let is_unread = told["readBackFailed"].is_string();
        assert_eq!(told["verified"], json!(!is_unread), "{told}");
        assert_eq!(line["outcome"], json!("done"));
        assert_ne!(line["oldValue"], Value::Null, "{line}");
        assert_eq!(line["newValue"].is_null(), is_unread, "{line}");
        if is_unread {
            unread += 1;
            assert_eq!(told["sent"], json!(1));
            assert!(told["undo"]["week"].is_array(), "{told}");
        }
    }
    assert!(unread > 0, "the fault met the reading back");
}

#[tokio::test]
async fn a_change_that_is_refused_half_way_tells_and_records_what_it_changed() {
    let office = office().await;
    let refused = || {
        Fault::new(FaultKind::TooManyRequests {
            retry_after_seconds: None,
        })
        .on(Interface::Box)
        .on_writes()
        .after(1)
        .requests(1)
    };
    set(&office.site, refused());
    let both = week(&["monday", "tuesday"], "12:00");
    let (code, data) = office.failure(ADMIN, "writeSchedule", both.clone()).await;
    assert_eq!((code, data.get("inDoubt")), (-32603, None), "{data}");
    assert_eq!((&data["sent"], &data["planned"]), (&json!(1), &json!(2)));
    assert_eq!(data["observed"][0]["part"], json!("monday"), "{data}");
    assert_eq!(data["observed"].as_array().map(Vec::len), Some(1));
    let line = office.last_line(1, 1);
    assert_eq!(line["outcome"], json!("failed"));
    for value in ["oldValue", "newValue"] {
        assert!(line[value].to_string().contains("monday"), "{line}");
    }
    let back = office
        .answer(ADMIN, "writeSchedule", data["undo"].clone())
        .await;
    assert_eq!(back["sent"], json!(1));

    set(
        &office.site,
        Fault {
            after: 1,
            ..refused()
        },
    );
    let apply = planned(&office, both).await;
    let answer = office.call_as(ADMIN, "applyWrites", apply).await;
    let one = &answer["errorData"]["operations"][0];
    assert_eq!(one["outcome"], json!("failed"), "{answer}");
    assert_eq!(one["observed"][0]["part"], json!("monday"));
    assert_eq!(one["undo"]["week"][0]["day"], json!("monday"));
    let lost = &answer["errorData"]["undo"]["notUndoable"][0]["reason"];
    assert!(lost.to_string().contains("some of it was done"), "{lost}");
    let line = office.last_line(3, 3);
    assert!(line["newValue"].to_string().contains("monday"), "{line}");
}

fn holidays() -> ScheduleEdit {
    let date = |year, month, day| NaiveDate::from_ymd_opt(year, month, day).expect("a date");
    let days = EventDays::range(date(2026, 12, 24), date(2027, 1, 1)).expect("a span");
    ScheduleEdit {
        events: vec![EventGiven {
            name: "Holidays".to_owned(),
            days: Some(days),
            periods: vec![PeriodGiven {
                start: "00:00".to_owned(),
                finish: "24:00".to_owned(),
                value: Given::Flag(false),
            }],
        }],
        ..ScheduleEdit::default()
    }
}

async fn write(site: &Site, sending: &CallScope) -> ScheduleOutcome {
    let ord = ord(OCCUPANCY);
    let (looking, edit) = (scope(), holidays());
    let plan = site.admin.plan_schedule(&looking, &ord, &edit).await;
    let plan = plan.expect("a plan");
    site.frozen.station.clear_logs();
    site.admin.write_schedule(sending, &ord, &plan).await
}

/// Special events in the station's own model.
fn events(station: &SharedStation) -> usize {
    let station = station.read();
    let events = format!("{OCCUPANCY}/schedule/specialEvents");
    let events = station.resolve_component(&events).expect("there");
    station.children(events).count()
}

/// Gives up during the request that follows the one which added the event.
struct Impatient {
    station: SharedStation,
    since: AtomicUsize,
    cancel: CancellationToken,
}

impl std::fmt::Debug for Impatient {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Impatient")
    }
}

impl RequestCount for Impatient {
    fn answered(&self) {
        if events(&self.station) > 0 && self.since.fetch_add(1, Ordering::SeqCst) > 0 {
            self.cancel.cancel();
        }
    }
}

#[tokio::test]
async fn a_half_made_event_is_removed_although_the_call_is_over() {
    let site = site().await;
    add_schedules(&site);
    let cancel = CancellationToken::new();
    let station = site.frozen.station.station().clone();
    let impatient = Impatient {
        station: station.clone(),
        since: AtomicUsize::new(0),
        cancel: cancel.clone(),
    };
    let sending = CallScope::unlimited().with_cancel(cancel.clone());
    let outcome = write(&site, &sending.with_count(Arc::new(impatient))).await;
    assert!(cancel.is_cancelled());
    let failure = outcome.failure.expect("given up");
    assert!(!failure.is_in_doubt(), "{failure:?}");
    assert_eq!((outcome.sent, events(&station)), (0, 0), "{failure}");
    assert_eq!(outcome.after.expect("read again").events, []);
    let writes = site.writes();
    assert_eq!(writes.len(), 2, "added and removed: {writes:?}");
}

#[tokio::test]
async fn a_half_made_event_that_may_still_be_there_is_told() {
    for (kind, stays) in [(FaultKind::Cut, 1), (FaultKind::CutAfter, 0)] {
        let site = site().await;
        add_schedules(&site);
        let switches = site.frozen.station.switches();
        switches.change(|switches| switches.boxs.replace_frozen = false);
        // It is added, its kind of days is refused, and the answer to its removal is lost.
        let fault = Fault::new(kind.clone()).on(Interface::Box).on_writes();
        set(&site, fault.after(2).requests(1));
        let outcome = write(&site, &scope()).await;
        let failure = outcome.failure.expect("refused");
        let WriteError::InDoubt { target, cause, .. } = &failure else {
            panic!("{kind:?}: {failure:?}");
        };
        assert!(target.ends_with("/specialEvents/Holidays"), "{target}");
        assert!(cause.contains("half-made"), "{cause}");
        assert_eq!(events(site.frozen.station.station()), stays, "{kind:?}");
        let after = outcome.after.expect("read again");
        assert_eq!(after.events.len(), stays, "{kind:?}");
    }
}

#[tokio::test]
async fn a_call_without_time_begins_no_message() {
    let site = site().await;
    add_schedules(&site);
    let hurried = CallScope::within(std::time::Duration::from_secs(1));
    let outcome = write(&site, &hurried).await;
    let failure = outcome.failure.expect("no time");
    assert!(
        matches!(failure, WriteError::OutOfTime { .. }),
        "{failure:?}"
    );
    assert_eq!(outcome.sent, 0);
    assert_eq!(site.writes(), [], "nothing is in doubt");
}

fn event(name: &str, value: bool) -> Value {
    json!({"name": name, "date": "2026-12-24",
        "periods": [{"start": "00:00", "finish": "24:00", "value": value}]})
}

#[tokio::test]
async fn an_event_that_comes_back_behind_others_is_told_so() {
    let office = office().await;
    let both = json!({"ord": OCCUPANCY, "events": [event("Closed", false), event("Party", true)]});
    office.answer(ADMIN, "writeSchedule", both).await;
    let first = json!({"ord": OCCUPANCY, "removeEvents": ["Closed"]});
    let last = json!({"ord": OCCUPANCY, "removeEvents": ["Party"]});
    let shown = |arguments: &Value| {
        let mut arguments = arguments.clone();
        arguments["dryRun"] = json!(true);
        arguments
    };
    let told = office.answer(ADMIN, "writeSchedule", shown(&first)).await;
    let note = told["notUndoable"][0].as_str().expect("a note");
    assert!(note.contains("Closed") && note.contains("Party"), "{note}");
    assert_eq!(told["undo"]["events"][0]["name"], json!("Closed"));
    let told = office.answer(ADMIN, "writeSchedule", shown(&last)).await;
    assert_eq!(told.get("notUndoable"), None, "nothing stands behind it");

    let apply = planned(&office, first).await;
    let answer = office.confirmed(ADMIN, "applyWrites", apply).await;
    let undo = &answer["structuredContent"]["undo"];
    assert_eq!(
        undo["operations"].as_array().map(Vec::len),
        Some(1),
        "{answer}"
    );
    let note = undo["notUndoable"][0]["reason"].as_str().expect("a note");
    assert!(note.contains("Party"), "{note}");
}

#[tokio::test]
async fn a_change_that_the_station_would_not_take_is_recorded_as_refused() {
    let office = office().await;
    let none = json!({"ord": OCCUPANCY, "removeEvents": ["Nothing"]});
    let (code, data) = office.failure(ADMIN, "writeSchedule", none).await;
    assert_eq!(code, -32602, "{data}");
    let line = office.last_line(0, 1);
    assert_eq!(
        (&line["outcome"], &line["policy"]),
        (&json!("refused"), &json!("not-possible"))
    );
    assert_eq!(office.site.writes(), []);
}
