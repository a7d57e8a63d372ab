//! Programs of schedules are changed part by part, and what the station puts out follows.

use chrono::{NaiveDate, NaiveTime, TimeDelta, Weekday};
use mock_station::faults::{FaultKind, Interface};
use mock_station::model::accounts::{self, ADMIN, VIEWER};
use mock_station::model::{Status, Value as ModelValue};
use mock_station::server::WriteOutcome;
use niagara_bridge::station::facade::{
    EventDays, EventGiven, Given, PeriodGiven, PointValue, ScheduleEdit, ScheduleEditError,
    ScheduleOutcome, ScheduledBy, WriteError, same_program,
};

use serde_json::{Value, json};

use crate::mock::scope;
use crate::office::{Office, context};
use crate::site::{Site, facade, ord, site, text};

pub const OCCUPANCY: &str = "slot:/Logic/Occupancy";

/// Weekdays 06:30 to 19:00 occupied, and a numeric schedule without a program.
pub fn add_schedules(site: &Site) {
    let mut station = site.frozen.station.station().write();
    let logic = station.resolve_component("slot:/Logic").expect("there");
    let occupancy = station
        .add(logic, Some("Occupancy"), "schedule:BooleanSchedule")
        .expect("a schedule");
    for day in [
        Weekday::Mon,
        Weekday::Tue,
        Weekday::Wed,
        Weekday::Thu,
        Weekday::Fri,
    ] {
        let on = ModelValue::Boolean(true);
        station
            .add_schedule_period(occupancy, day, time(6, 30), time(19, 0), on)
            .expect("a period");
    }
    let warmth = station
        .add(logic, Some("Warmth"), "schedule:NumericSchedule")
        .expect("a schedule");
    let default = ModelValue::status_numeric(16.0, Status::ok());
    station
        .set(warmth, "defaultOutput", default)
        .expect("a default");
}

fn time(hour: u32, minute: u32) -> NaiveTime {
    NaiveTime::from_hms_opt(hour, minute, 0).expect("a time")
}

fn period(start: &str, finish: &str, value: Given) -> PeriodGiven {
    PeriodGiven {
        start: start.to_owned(),
        finish: finish.to_owned(),
        value,
    }
}

fn on(day: &str, periods: Vec<PeriodGiven>) -> ScheduleEdit {
    ScheduleEdit {
        week: vec![(day.to_owned(), periods)],
        ..ScheduleEdit::default()
    }
}

fn event(name: &str, days: EventDays, periods: Vec<PeriodGiven>) -> ScheduleEdit {
    ScheduleEdit {
        events: vec![EventGiven {
            name: name.to_owned(),
            days: Some(days),
            periods,
        }],
        ..ScheduleEdit::default()
    }
}

fn date(year: i32, month: u32, day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(year, month, day).expect("a date")
}

async fn write(site: &Site, path: &str, edit: &ScheduleEdit) -> ScheduleOutcome {
    let (scope, ord) = (scope(), ord(path));
    let plan = site.admin.plan_schedule(&scope, &ord, edit).await;
    let plan = plan.unwrap_or_else(|error| panic!("{edit:?}: {error}"));
    site.writes();
    let outcome = site.admin.write_schedule(&scope, &ord, &plan).await;
    if outcome.failure.is_none() {
        let after = outcome.after.as_ref().expect("read back");
        assert!(
            same_program(after, &plan.after),
            "{after:?}\n{:?}",
            plan.after
        );
    }
    outcome
}

async fn refusal(site: &Site, path: &str, edit: &ScheduleEdit) -> ScheduleEditError {
    let plan = site.admin.plan_schedule(&scope(), &ord(path), edit).await;
    plan.expect_err("refused")
}

async fn desk() -> Site {
    let site = site().await;
    add_schedules(&site);
    site
}

fn output(site: &Site, path: &str) -> String {
    site.held(path, "out/value")
}

/// The periods that the station's own model has for a day.
fn modelled(site: &Site, day: &str) -> Vec<(String, String, String)> {
    let path = format!("{OCCUPANCY}/schedule/{day}/day");
    let station = site.frozen.station.station().read();
    let holder = station.resolve_component(&path).expect("a day");
    let text = |handle, slot: &str| station.value(handle, slot).expect("a value").encode();
    station
        .children(holder)
        .map(|period| {
            let handle = period.handle();
            (
                text(handle, "start"),
                text(handle, "finish"),
                text(handle, "effectiveValue/value"),
            )
        })
        .collect()
}

#[tokio::test]
async fn a_longer_monday_is_one_message_and_the_output_follows() {
    let site = desk().await;
    // Monday 13:00 in Paris.
    assert_eq!(output(&site, OCCUPANCY), "true");
    let shorter = on("Monday", vec![period("06:30", "12:00", Given::Flag(true))]);
    let outcome = write(&site, OCCUPANCY, &shorter).await;
    assert_eq!((outcome.sent, outcome.failure), (1, None));
    let writes = site.writes();
    assert_eq!(writes.len(), 1, "{writes:?}");
    assert!(writes[0].0.ends_with("/finish"), "{writes:?}");
    assert_eq!(output(&site, OCCUPANCY), "false");
    let noon = ("06:30:00.000", "12:00:00.000", "true");
    let noon = (noon.0.to_owned(), noon.1.to_owned(), noon.2.to_owned());
    assert_eq!(modelled(&site, "week/monday"), [noon]);

    let split = on(
        "monday",
        vec![
            period("13:30", "24:00", Given::Flag(true)),
            period("05:00", "12:00", text("true")),
            period("12:00", "13:30", Given::Null),
        ],
    );
    let outcome = write(&site, OCCUPANCY, &split).await;
    assert_eq!(outcome.sent, 3, "the start moves, two periods are new");
    let days = modelled(&site, "week/monday");
    assert_eq!(days.len(), 3);
    assert_eq!(days[0].0, "05:00:00.000");
    let after = outcome.after.expect("read back");
    let monday = &after.week[0].periods;
    assert_eq!(monday[1].value, None, "the null value");
    assert_eq!(monday[2].finish.to_string(), "24:00:00");

    let outcome = write(&site, OCCUPANCY, &on("monday", Vec::new())).await;
    assert_eq!(outcome.sent, 3, "each is removed");
    assert_eq!(modelled(&site, "week/monday"), []);
    let same = site
        .admin
        .plan_schedule(&scope(), &ord(OCCUPANCY), &on("monday", Vec::new()))
        .await
        .expect("a plan");
    assert!(!same.changes_something());
}

#[tokio::test]
async fn a_special_event_is_written_on_its_days_and_beats_the_week_there() {
    let site = desk().await;
    let closed = event(
        "Works outing",
        EventDays::Date(date(2026, 3, 3)),
        vec![period("10:00", "16:00", Given::Flag(false))],
    );
    let outcome = write(&site, OCCUPANCY, &closed).await;
    assert_eq!((outcome.sent, outcome.failure), (6, None));
    let after = outcome.after.expect("read back");
    let at = |hour, minute| date(2026, 3, 3).and_time(time(hour, minute));
    let told = after.value_at(at(10, 0)).expect("known");
    assert_eq!(told.by, ScheduledBy::Event("Works$20outing".to_owned()));
    assert_eq!(told.value, Some(PointValue::Boolean(false)));
    let told = after.value_at(at(16, 0)).expect("known");
    assert_eq!(told.by, ScheduledBy::Weekday("tuesday"));
    let clock = site.frozen.station.station();
    clock.jump_clock(TimeDelta::hours(22));
    assert_eq!(output(&site, OCCUPANCY), "false", "Tuesday 11:00");
    clock.jump_clock(TimeDelta::hours(6));
    assert_eq!(output(&site, OCCUPANCY), "true", "Tuesday 17:00");

    let longer = ScheduleEdit {
        events: vec![EventGiven {
            name: "Works outing".to_owned(),
            days: None,
            periods: vec![period("10:00", "18:00", Given::Flag(false))],
        }],
        ..ScheduleEdit::default()
    };
    assert_eq!(write(&site, OCCUPANCY, &longer).await.sent, 1);
    assert_eq!(output(&site, OCCUPANCY), "false", "Tuesday 17:00");
    let gone = ScheduleEdit {
        removed_events: vec!["Works outing".to_owned()],
        ..ScheduleEdit::default()
    };
    assert_eq!(write(&site, OCCUPANCY, &gone).await.sent, 1);
    assert_eq!(output(&site, OCCUPANCY), "true");
}

#[tokio::test]
async fn spans_and_days_of_every_year_are_written_and_read_back() {
    let site = desk().await;
    let all_day = || vec![period("00:00", "24:00", Given::Number(18.5))];
    let span = EventDays::range(date(2026, 12, 24), date(2027, 1, 1)).expect("a span");
    let holidays = event("Holidays", span, all_day());
    let outcome = write(&site, "slot:/Logic/Warmth", &holidays).await;
    assert_eq!((outcome.sent, outcome.failure), (11, None));
    let yearly = EventDays::yearly(5, 1).expect("a day");
    let may = event("MayDay", yearly, all_day());
    let outcome = write(&site, "slot:/Logic/Warmth", &may).await;
    assert_eq!((outcome.sent, outcome.failure), (5, None));
    let after = outcome.after.expect("read back");
    for (day, by) in [
        (date(2026, 12, 24), Some("Holidays")),
        (date(2027, 1, 1), Some("Holidays")),
        (date(2027, 1, 2), None),
        (date(2031, 5, 1), Some("MayDay")),
    ] {
        let told = after.value_at(day.and_time(time(12, 0))).expect("known");
        let expected = match by {
            Some(event) => ScheduledBy::Event(event.to_owned()),
            None => ScheduledBy::DefaultOutput,
        };
        assert_eq!(told.by, expected, "{day}");
        let value = if by.is_some() { 18.5 } else { 16.0 };
        assert_eq!(told.value, Some(PointValue::Number(value)), "{day}");
    }
}

#[tokio::test]
async fn a_station_that_keeps_the_kind_of_days_loses_the_half_made_event() {
    let site = desk().await;
    let switches = site.frozen.station.switches();
    switches.change(|switches| switches.boxs.replace_frozen = false);
    let span = EventDays::range(date(2026, 12, 24), date(2027, 1, 1)).expect("a span");
    let holidays = event(
        "Holidays",
        span,
        vec![period("00:00", "24:00", Given::Flag(false))],
    );
    let outcome = write(&site, OCCUPANCY, &holidays).await;
    let failure = outcome.failure.expect("refused");
    assert!(matches!(failure, WriteError::Refused { .. }), "{failure:?}");
    assert_eq!(outcome.sent, 0);
    assert_eq!(outcome.after.expect("read back").events, []);
    let station = site.frozen.station.station().read();
    let events = station
        .resolve_component(&format!("{OCCUPANCY}/schedule/specialEvents"))
        .expect("there");
    assert_eq!(station.children(events).count(), 0);
}

#[tokio::test]
async fn what_does_not_fit_is_refused_before_anything_is_sent() {
    let site = desk().await;
    site.writes();
    let on_time = || vec![period("08:00", "12:00", Given::Flag(true))];
    let day = EventDays::Date(date(2026, 12, 24));
    for (edit, part) in [
        (on("Someday", on_time()), "no weekday"),
        (
            on(
                "monday",
                vec![period("8 o'clock", "12:00", Given::Flag(true))],
            ),
            "no time of day",
        ),
        (
            on("monday", vec![period("12:00", "08:00", Given::Flag(true))]),
            "ends before it begins",
        ),
        (
            on(
                "monday",
                vec![
                    period("08:00", "12:00", Given::Flag(true)),
                    period("11:59", "13:00", Given::Flag(false)),
                ],
            ),
            "overlap",
        ),
        (
            on("monday", vec![period("08:00", "12:00", text("warm"))]),
            "the value warm does not fit",
        ),
        (event("Closed", day, Vec::new()), "has no effect"),
        (
            ScheduleEdit {
                events: vec![EventGiven {
                    name: "Closed".into(),
                    days: None,
                    periods: on_time(),
                }],
                ..ScheduleEdit::default()
            },
            "needs its days",
        ),
        (
            ScheduleEdit {
                removed_events: vec!["Closed".into()],
                ..ScheduleEdit::default()
            },
            "no such special event",
        ),
    ] {
        let error = refusal(&site, OCCUPANCY, &edit).await;
        assert!(
            matches!(error, ScheduleEditError::Invalid { .. }),
            "{error:?}"
        );
        assert!(error.to_string().contains(part), "{error}");
    }
    let error = refusal(&site, "slot:/Logic/Setpoint", &on("monday", on_time())).await;
    assert!(error.to_string().contains("no schedule"), "{error}");
    assert_eq!(site.writes(), []);
}

#[tokio::test]
async fn a_lost_answer_in_the_middle_ends_the_change_and_tells_what_is_done() {
    for (kind, acted) in [(FaultKind::Cut, false), (FaultKind::CutAfter, true)] {
        let site = desk().await;
        let edit = ScheduleEdit {
            week: ["monday", "tuesday"]
                .map(|day| {
                    let short = vec![period("06:30", "12:00", Given::Flag(true))];
                    (day.to_owned(), short)
                })
                .to_vec(),
            ..ScheduleEdit::default()
        };
        let scope = scope();
        let ord = ord(OCCUPANCY);
        let plan = site.admin.plan_schedule(&scope, &ord, &edit).await;
        let plan = plan.expect("a plan");
        site.writes();
        site.break_next_write(Interface::Box, kind.clone());
        let outcome = site.admin.write_schedule(&scope, &ord, &plan).await;
        let failure = outcome.failure.expect("in doubt");
        assert!(failure.is_in_doubt(), "{failure:?}");
        assert_eq!(outcome.sent, 0);
        let outcomes: Vec<WriteOutcome> = site.writes().into_iter().map(|(_, one)| one).collect();
        let expected = if acted {
            WriteOutcome::Done
        } else {
            WriteOutcome::Lost
        };
        assert_eq!(
            outcomes,
            [expected],
            "{kind:?}: sent once, and nothing after it"
        );
        let after = outcome.after.expect("read back");
        let finish = |day: usize| after.week[day].periods[0].finish.to_string();
        let monday = if acted { "12:00:00" } else { "19:00:00" };
        assert_eq!(
            (finish(0).as_str(), finish(1).as_str()),
            (monday, "19:00:00")
        );
    }
}

#[tokio::test]
async fn a_user_without_admin_write_is_told_before_and_refused_by_the_station() {
    let site = desk().await;
    let bridge = facade(&site.frozen, accounts::BRIDGE);
    let (scope, ord) = (scope(), ord(OCCUPANCY));
    let edit = on("monday", vec![period("06:30", "12:00", Given::Flag(true))]);
    let plan = bridge.plan_schedule(&scope, &ord, &edit).await;
    let plan = plan.expect("the service account reads programs");
    assert!(plan.denied.is_some(), "{:?}", plan.denied);
    let outcome = bridge.write_schedule(&scope, &ord, &plan).await;
    let failure = outcome.failure.expect("refused");
    assert!(failure.to_string().contains("denies bridge"), "{failure}");
    assert_eq!(output(&site, OCCUPANCY), "true");
}

async fn office() -> Office {
    let office = Office::new().await;
    add_schedules(&office.site);
    office
}

fn shorter_monday() -> Value {
    // Noon of a Monday in Paris, and a little later.
    json!({"ord": "station:|slot:/Logic/Occupancy", "at": "2026-03-02T13:00", "week": [{"day": "monday", "periods": [
        {"start": "06:30", "finish": "12:00", "value": true}]}]})
}

#[tokio::test]
async fn the_tool_rehearses_writes_records_and_tells_the_way_back() {
    let office = office().await;
    let mut rehearsal = shorter_monday();
    rehearsal["dryRun"] = json!(true);
    let shown = office.answer(ADMIN, "writeSchedule", rehearsal).await;
    assert_eq!((&shown["sent"], &shown["planned"]), (&json!(0), &json!(1)));
    assert_eq!(office.site.writes(), []);
    assert_eq!(office.log().len(), 0, "a rehearsal is not recorded");

    let written = office
        .answer(ADMIN, "writeSchedule", shorter_monday())
        .await;
    assert_eq!(written["sent"], json!(1));
    assert_eq!(written["verified"], json!(true));
    assert_eq!(
        written["changes"],
        json!([{
            "part": "monday",
            "before": [{"start": "06:30:00", "finish": "19:00:00", "value": true}],
            "after": [{"start": "06:30:00", "finish": "12:00:00", "value": true}],
        }])
    );
    let effective = &written["effective"];
    assert_eq!(
        effective["before"],
        json!({"value": true, "by": "weekday", "part": "monday"})
    );
    assert_eq!(
        effective["after"],
        json!({"value": false, "by": "default-output"})
    );
    assert_eq!(output(&office.site, OCCUPANCY), "false");
    let line = office.last_line(1, 1);
    assert_eq!(
        (&line["user"], &line["tool"], &line["action"]),
        (&json!("admin"), &json!("writeSchedule"), &json!("schedule"))
    );
    let audited = office.audited_by_station("admin");
    assert_eq!(audited.len(), 1, "{audited:?}");

    let undo = written["undo"].clone();
    let back = office.answer(ADMIN, "writeSchedule", undo).await;
    assert_eq!(back["verified"], json!(true));
    assert_eq!(output(&office.site, OCCUPANCY), "true");
    let same = office
        .answer(ADMIN, "writeSchedule", back["undo"].clone())
        .await;
    assert_eq!(same["changed"], json!(true));
    let nothing = office
        .answer(ADMIN, "writeSchedule", shorter_monday())
        .await;
    assert_eq!(
        (&nothing["changed"], &nothing["sent"]),
        (&json!(false), &json!(0))
    );
    office.last_line(3, 3);
}

#[tokio::test]
async fn an_event_is_written_by_its_dates_and_its_removal_can_be_undone() {
    let office = office().await;
    let closed = json!({"ord": OCCUPANCY, "at": "2026-12-24T10:00", "events": [
        {"name": "Christmas", "from": "2026-12-24", "to": "2026-12-26",
         "periods": [{"start": "00:00", "finish": "24:00", "value": false}]}]});
    let written = office.answer(ADMIN, "writeSchedule", closed).await;
    assert_eq!(
        written["effective"]["after"],
        json!({"value": false, "by": "event", "part": "Christmas"})
    );
    assert_eq!(written["undo"]["removeEvents"], json!(["Christmas"]));
    let gone = json!({"ord": OCCUPANCY, "removeEvents": ["Christmas"]});
    let removed = office.answer(ADMIN, "writeSchedule", gone).await;
    assert_eq!(removed["changes"][0]["after"], Value::Null);
    let event = &removed["undo"]["events"][0];
    assert_eq!(
        (&event["name"], &event["from"], &event["to"]),
        (
            &json!("Christmas"),
            &json!("2026-12-24"),
            &json!("2026-12-26")
        )
    );
    let again = office
        .answer(ADMIN, "writeSchedule", removed["undo"].clone())
        .await;
    assert_eq!(again["verified"], json!(true));
    office.last_line(3, 3);
}

#[tokio::test]
async fn an_event_cannot_be_removed_and_written_in_one_call() {
    let office = office().await;
    let night = json!([{"start": "00:00", "finish": "24:00", "value": false}]);
    let event = |name: &str, date: &str| json!({"name": name, "date": date, "periods": night});
    let arguments = json!({"ord": OCCUPANCY, "events": [event("Holy Eve", "2026-12-24")]});
    office.answer(ADMIN, "writeSchedule", arguments).await;
    office.site.writes();
    for (written, removed) in [
        ("Holy Eve", "Holy Eve"),
        ("Holy Eve", "Holy$20Eve"),
        ("Holy$20Eve", "Holy Eve"),
    ] {
        for dry in [true, false] {
            let moved = json!({"ord": OCCUPANCY, "dryRun": dry, "removeEvents": [removed],
                "events": [event(written, "2026-12-30")]});
            let answer = office.call_as(ADMIN, "writeSchedule", moved).await;
            assert_eq!(answer["errorCode"], -32602, "{answer}");
            let text = answer["content"][0]["text"].as_str().expect("a text");
            assert!(text.contains("removes that event"), "{text}");
        }
    }
    assert!(office.site.writes().is_empty());
}

#[tokio::test]
async fn only_those_who_may_write_do_and_every_refusal_is_told() {
    let office = office().await;
    let (code, data) = office
        .failure(VIEWER, "writeSchedule", shorter_monday())
        .await;
    assert_eq!(code, -32010, "{data}");
    let service = office
        .call(context(None), "writeSchedule", shorter_monday())
        .await;
    assert_eq!(service.expect_err("no user").code.code(), -32011);
    for (arguments, part) in [
        (json!({"ord": OCCUPANCY}), "missing"),
        (
            json!({"ord": "station:|slot:/Logic/Setpoint", "removeEvents": ["x"]}),
            "ord",
        ),
        (
            json!({"ord": OCCUPANCY, "events": [{"name": "x", "date": "2026-12-24", "month": 3, "periods": []}]}),
            "argument",
        ),
    ] {
        let (code, data) = office.failure(ADMIN, "writeSchedule", arguments).await;
        assert_eq!(code, -32602, "{data}");
        assert!(data.get(part).is_some(), "{data}");
    }
    office.allow(json!({"deny": ["slot:/Logic/Occupancy"]}));
    let (code, data) = office
        .failure(ADMIN, "writeSchedule", shorter_monday())
        .await;
    assert_eq!((code, &data["policy"]), (-32010, &json!("ord-denied")));
    assert_eq!(output(&office.site, OCCUPANCY), "true");
}

#[tokio::test]
async fn a_lost_answer_is_told_with_what_the_program_is_now() {
    let office = office().await;
    office
        .site
        .break_next_write(Interface::Box, FaultKind::CutAfter);
    let (code, data) = office
        .failure(ADMIN, "writeSchedule", shorter_monday())
        .await;
    assert_eq!((code, &data["inDoubt"]), (-32603, &json!(true)), "{data}");
    assert_eq!(data["observed"][0]["part"], json!("monday"));
    let back = &data["undo"]["week"][0]["periods"][0]["finish"];
    assert_eq!(back, &json!("19:00:00"));
    assert_eq!(office.last_line(1, 1)["outcome"], json!("inDoubt"));
}
