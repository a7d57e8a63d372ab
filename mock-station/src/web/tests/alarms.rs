use http::StatusCode;

use super::browser::{BRIDGE, Browser, text};
use super::fixture::Fixture;

const CSV: &str = "|view:file:ITableToCsv?encodeToString=true;includeBOM=false";

fn lines(ord: &str) -> Vec<String> {
    let fixture = Fixture::new();
    let mut user = Browser::logged_in(&fixture, BRIDGE);
    let answer = user.csv(&format!("{ord}{CSV}"));
    assert_eq!(answer.status, StatusCode::OK, "{ord}: {}", text(&answer));
    text(&answer).lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn extents_choose_open_pending_and_archived_alarms() {
    assert_eq!(lines("alarm:|bql:select uuid"), ["a1", "a2", "a3", "a4"]);
    assert_eq!(
        lines("alarm:|bql:select uuid from openAlarms"),
        ["a1", "a3", "a4"]
    );
    assert_eq!(
        lines("alarm:|bql:select uuid from ackPendingAlarms"),
        ["a1"]
    );
    assert_eq!(lines("alarm:archive|bql:select uuid"), ["a5"]);
    assert_eq!(
        lines("alarm:|bql:select top 1 uuid from openAlarms order by timestamp desc"),
        ["a4"]
    );
}

#[test]
fn states_compare_by_enum_literal_and_by_tag() {
    assert_eq!(
        lines("alarm:|bql:select uuid where sourceState != alarm:SourceState.normal"),
        ["a1", "a3"]
    );
    assert_eq!(
        lines("alarm:|bql:select uuid where ackState = 'unacked' and sourceState = 'offnormal'"),
        ["a1"]
    );
    assert_eq!(
        lines(
            "alarm:|bql:select uuid where timestamp >= baja:AbsTime '2024-03-12T09:30:00.000Z' and timestamp <= baja:AbsTime '2024-03-12T10:30:00.000Z'"
        ),
        ["a2", "a3"]
    );
    assert_eq!(
        lines("alarm:|bql:select uuid where timestamp in bqltime.yesterday").len(),
        4
    );
}

#[test]
fn columns_have_machine_encodings() {
    assert_eq!(
        lines(
            "alarm:|bql:select timestamp, sourceState, ackState, ackRequired, alarmClass, priority, \
             normalTime, ackTime, alarmData.sourceName, alarmData.msgText, alarmData.nothing \
             where uuid = 'a1'"
        ),
        [
            "2024-03-12T04:30:00.000-04:00,offnormal,unacked,true,defaultAlarmClass,100,null,null,Source a1,\"too hot, check\","
        ]
    );
    assert_eq!(
        lines("alarm:|bql:select source where uuid = 'a1'").join("\n"),
        "\"local:|station:|slot:/Points/AHU1_SAT\nlocal:|station:|slot:/Points\""
    );
}

#[test]
fn unknown_spaces_and_extents_are_refused() {
    let fixture = Fixture::new();
    let mut user = Browser::logged_in(&fixture, BRIDGE);
    let mut status = |ord: &str| user.csv(&format!("{ord}{CSV}")).status;
    assert_eq!(
        status("alarm:elsewhere|bql:select uuid"),
        StatusCode::NOT_FOUND
    );
    assert_eq!(
        status("alarm:|bql:select uuid from nowhere"),
        StatusCode::BAD_REQUEST
    );
    fixture.change(|s| s.export.alarm_base = false);
    assert_eq!(status("alarm:|bql:select uuid"), StatusCode::NOT_FOUND);
}
