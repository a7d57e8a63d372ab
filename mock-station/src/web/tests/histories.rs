use http::StatusCode;

use super::browser::{BRIDGE, Browser, text};
use super::fixture::Fixture;
use crate::model::accounts::OPERATOR;

const CSV: &str = "|view:file:ITableToCsv?encodeToString=true;includeBOM=false";

fn lines(ord: &str) -> Vec<String> {
    let fixture = Fixture::new();
    let mut user = Browser::logged_in(&fixture, BRIDGE);
    let answer = user.csv(&format!("{ord}{CSV}"));
    assert_eq!(answer.status, StatusCode::OK, "{ord}: {}", text(&answer));
    text(&answer).lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn the_list_of_histories_has_ids_types_and_units() {
    assert_eq!(
        lines("history:|bql:select id, recordType, source, timeZone where id like '/Test/*'"),
        [
            "/Test/AHU1_SAT,history:NumericTrendRecord,station:|slot:/Points/AHU1_SAT/NumericInterval,America/New_York",
            "/Test/Fan,history:BooleanTrendRecord,,America/New_York",
        ]
    );
    assert_eq!(
        lines("history:|bql:select valueFacets where id = '/Test/Fan'"),
        ["trueText=s:On|falseText=s:Off"]
    );
    assert_eq!(lines("history:/Other|bql:select id"), ["/Other/Empty"]);
    assert_eq!(lines("history:|bql:select top 1 id"), ["/Test/AHU1_SAT"]);
}

#[test]
fn records_carry_status_flags_and_both_folds_of_the_clock() {
    let all = lines(
        "history:/Test/AHU1_SAT|bql:select timestamp, timestamp.millis, value, status, trendFlags",
    );
    assert_eq!(all.len(), 17);
    assert_eq!(
        all[0],
        "2024-03-10T00:00:00.000-05:00,1710046800000,1000.25,0,{ }"
    );
    assert_eq!(
        all[1],
        "2024-03-10T00:15:00.000-05:00,1710047700000,1001.25,4,{ }"
    );
    assert_eq!(
        all[2],
        "2024-03-10T00:30:00.000-05:00,1710048600000,1002.25,0,\"{start,hidden}\""
    );
    assert_eq!(all[3], all[4], "records of one instant are all kept");
    assert!(all[8].starts_with("2024-03-10T01:45:00.000-05:00"));
    assert!(all[9].starts_with("2024-03-10T03:00:00.000-04:00"));
}

#[test]
fn periods_and_filters_bound_the_records() {
    let count = |ord: &str| lines(ord).len();
    let range = "history:/Test/AHU1_SAT?period=timeRange;start=2024-03-10T00:00:00.000-05:00;end=2024-03-10T00:30:00.000-05:00";
    assert_eq!(
        count(&format!("{range}|bql:select value")),
        3,
        "both ends are inclusive"
    );
    assert_eq!(
        count("history:^AHU1_SAT?period=timeRange;start=2024-03-10T05:30:00.000Z|bql:select value"),
        15
    );
    assert_eq!(
        count("history:/Test/Fan?period=yesterday|bql:select value"),
        2
    );
    assert_eq!(count("history:/Test/Fan?period=today|bql:select value"), 1);
    assert_eq!(
        count("history:/Test/Fan?period=last24Hours|bql:select value"),
        3
    );
    assert_eq!(
        count("history:/Test/Fan|bql:select value where timestamp in bqltime.today"),
        1
    );
    assert_eq!(
        count(
            "history:/Test/Fan|bql:select value where timestamp > baja:AbsTime '2024-03-12T13:00:00.000Z' and timestamp <= '2024-03-13T07:00:00.000-04:00'"
        ),
        2
    );
    assert_eq!(count("history:|bql:select value from /Test/Fan"), 3);
    assert_eq!(count("history:/Test/Fan|bql:select top 2 value"), 2);
    assert_eq!(count("history:/Other/Empty|bql:select *"), 0);
    assert_eq!(
        lines("history:/Test/Fan?delta=true|bql:select value"),
        [" -1.0", "1.0"]
    );
}

#[test]
fn aggregates_and_order_work_on_records() {
    assert_eq!(
        lines("history:/Test/AHU1_SAT|bql:select COUNT(*), MIN(value), MAX(timestamp)"),
        ["17,1000.25,2024-03-10T04:45:00.000-04:00"]
    );
    assert_eq!(
        lines("history:/Test/Fan|bql:select timestamp.millis order by timestamp desc")[0],
        "1710327600000"
    );
}

#[test]
fn wrong_parameters_and_ids_are_refused() {
    let fixture = Fixture::new();
    let mut user = Browser::logged_in(&fixture, BRIDGE);
    let mut status = |ord: &str| user.csv(&format!("{ord}{CSV}")).status;
    assert_eq!(
        status("history:/Test/Fan?period=someday|bql:select *"),
        StatusCode::BAD_REQUEST
    );
    assert_eq!(
        status("history:/Test/Fan?start=noon|bql:select *"),
        StatusCode::BAD_REQUEST
    );
    assert_eq!(
        status("history:/Test/Nothing|bql:select *"),
        StatusCode::NOT_FOUND
    );
    assert_eq!(
        status("history:/Nobody|bql:select id"),
        StatusCode::NOT_FOUND
    );
    fixture.change(|s| s.export.millis_columns = false);
    assert_eq!(
        status("history:/Test/Fan|bql:select timestamp.millis"),
        StatusCode::BAD_REQUEST
    );
    fixture.change(|s| s.export.history_base = false);
    assert_eq!(
        status("history:/Test/Fan|bql:select *"),
        StatusCode::NOT_FOUND
    );
}

#[test]
fn a_history_follows_the_permissions_of_its_point() {
    let fixture = Fixture::new();
    {
        let mut station = fixture.context.station.write();
        let fan = station
            .resolve_component("slot:/Points/Fan")
            .expect("the point exists");
        let mut history = station
            .histories
            .get("/Test/Fan")
            .expect("it exists")
            .clone();
        history.point = Some(fan);
        station.histories.insert(history);
    }
    let mut operator = Browser::logged_in(&fixture, OPERATOR);
    let list = text(&operator.csv(&format!("history:|bql:select id{CSV}")));
    assert!(list.contains("/Test/AHU1_SAT") && !list.contains("/Test/Fan"));
    assert_eq!(
        operator
            .csv(&format!("history:/Test/Fan|bql:select *{CSV}"))
            .status,
        StatusCode::FORBIDDEN
    );
}

#[test]
fn an_undecorated_history_shows_its_four_columns_with_the_unit() {
    let fixture = Fixture::new();
    let mut user = Browser::logged_in(&fixture, BRIDGE);
    let page = text(&user.csv("history:/Test/AHU1_SAT|view:file:ITableToCsv?includeBOM=false"));
    let mut lines = page.lines();
    assert_eq!(
        lines.next(),
        Some("Timestamp,Trend Flags,Status,Value (°F)")
    );
    assert_eq!(
        lines.next(),
        Some("10-Mar-24 12:00:00 AM EST,{ },{ok},\"1,000.2\"")
    );
}
