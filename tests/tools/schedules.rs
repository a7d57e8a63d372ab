//! listSchedules and readSchedule tell the model's schedules over every interface.

use chrono::{DateTime, NaiveTime, TimeDelta, Utc, Weekday};
use mock_station::model::accounts::{BRIDGE, VIEWER};
use mock_station::model::display::display;
use mock_station::model::schedule::day_slot;
use mock_station::model::{
    DisplayContext, Facets, Handle, PointKind, Station, Status, Value as ModelValue,
};
use mock_station::site::{Harborview, SiteOptions};
use serde_json::{Value, json};

use crate::support::{Bench, ord_of};
use crate::ways::{WAYS, obix_only};

const OCCUPANCY: &str = "station:|slot:/Logic/Occupancy";

const DAYS: [Weekday; 7] = [
    Weekday::Mon,
    Weekday::Tue,
    Weekday::Wed,
    Weekday::Thu,
    Weekday::Fri,
    Weekday::Sat,
    Weekday::Sun,
];

fn at(hour: u32, minute: u32) -> NaiveTime {
    NaiveTime::from_hms_opt(hour, minute, 0).unwrap()
}

/// Beside the occupancy of the sample: a setpoint in degrees, a mode, and on the occupancy a late Saturday, a holiday
/// and a part of a kind that nobody knows.
fn add_schedules(station: &mut Station) {
    let logic = station.resolve_component("slot:/Logic").unwrap();
    let setpoint = station
        .add(logic, Some("Setpoint"), "schedule:NumericSchedule")
        .unwrap();
    let facets = Facets::numeric("celsius", 1);
    station
        .set(setpoint, "facets", ModelValue::Facets(facets.into()))
        .unwrap();
    station
        .set(
            setpoint,
            "defaultOutput",
            ModelValue::status_numeric(16.0, Status::ok()),
        )
        .unwrap();
    for day in DAYS {
        station
            .add_schedule_period(setpoint, day, at(8, 0), at(17, 0), ModelValue::Double(21.5))
            .unwrap();
        station
            .add_schedule_period(setpoint, day, at(5, 15), at(8, 0), ModelValue::Double(19.0))
            .unwrap();
    }
    let occupancy = station.resolve_component(OCCUPANCY).unwrap();
    let facets = Facets::boolean("Occupied", "Empty");
    station
        .set(occupancy, "facets", ModelValue::Facets(facets.into()))
        .unwrap();
    station
        .add_schedule_period(
            occupancy,
            Weekday::Sat,
            at(22, 0),
            NaiveTime::MIN,
            ModelValue::Boolean(true),
        )
        .unwrap();
    station
        .set(
            occupancy,
            "cleanupExpiredEvents",
            ModelValue::Boolean(false),
        )
        .unwrap();
    let events = station
        .resolve_component("slot:/Logic/Occupancy/schedule/specialEvents")
        .unwrap();
    let holiday = station
        .add(events, Some("All$20Saints"), "schedule:DailySchedule")
        .unwrap();
    let path = station.slot_path(holiday);
    // It was in the year 2000, the default of its type.
    let year = station
        .resolve_component(&format!("{path}/days/yearSchedule"))
        .unwrap();
    let once = ModelValue::Boolean(false);
    station.set(year, "alwaysEffective", once).unwrap();
    let day = station.resolve_component(&format!("{path}/day")).unwrap();
    let period = station
        .add(day, Some("time"), "schedule:TimeSchedule")
        .unwrap();
    station
        .set(period, "finish", ModelValue::Time(at(12, 0)))
        .unwrap();
    let value =
        ModelValue::status_value(PointKind::Boolean, ModelValue::Boolean(false), Status::ok());
    station.set(period, "effectiveValue", value).unwrap();
    station.add(occupancy, Some("Note"), "baja:Folder").unwrap();
}

fn reading(value: &ModelValue, facets: &Facets) -> Value {
    let (inner, status) = value.as_status_value().unwrap();
    if status.bits & Status::NULL != 0 {
        return json!({"status": "{null}"});
    }
    let mut reading = json!({
        "value": display(inner, facets, &DisplayContext::default().without_units()),
        "status": "{ok}",
    });
    match inner {
        ModelValue::Boolean(flag) => reading["valueBool"] = json!(flag),
        other => reading["valueNumber"] = json!(other.as_f64().unwrap()),
    }
    reading
}

fn periods(station: &Station, day: Handle, facets: &Facets) -> Value {
    let mut periods: Vec<(NaiveTime, Value)> = station
        .children(day)
        .map(|period| {
            let time = |slot: &str| match station.value(period.handle(), slot) {
                Some(ModelValue::Time(time)) => time,
                other => panic!("{other:?}"),
            };
            let finish = match time("finish") {
                midnight if midnight == NaiveTime::MIN => "24:00:00".to_owned(),
                finish => finish.format("%H:%M:%S").to_string(),
            };
            let value = station.value(period.handle(), "effectiveValue").unwrap();
            let entry = json!({
                "start": time("start").format("%H:%M:%S").to_string(),
                "finish": finish,
                "value": reading(&value, facets),
            });
            (time("start"), entry)
        })
        .collect();
    periods.sort_by_key(|(start, _)| *start);
    periods.into_iter().map(|(_, entry)| entry).collect()
}

fn day_of(station: &Station, schedule: Handle, part: &str) -> Handle {
    let path = station.slot_path(schedule);
    station
        .resolve_component(&format!("{path}/schedule/{part}/day"))
        .unwrap()
}

fn expected_week(station: &Station, schedule: Handle) -> Value {
    let facets = facets(station, schedule);
    DAYS.iter()
        .map(|day| {
            let holder = day_of(station, schedule, &format!("week/{}", day_slot(*day)));
            json!({"day": day_slot(*day), "periods": periods(station, holder, &facets)})
        })
        .collect()
}

fn facets(station: &Station, schedule: Handle) -> Facets {
    match station.value(schedule, "facets") {
        Some(ModelValue::Facets(facets)) => (*facets).clone(),
        _ => Facets::new(),
    }
}

fn schedules(station: &Station) -> Vec<Handle> {
    station
        .descendants(station.root())
        .filter(|component| component.ty().is("schedule:ControlSchedule"))
        .map(|component| component.handle())
        .collect()
}

fn expected_listing(station: &Station) -> Vec<Value> {
    schedules(station)
        .into_iter()
        .map(|schedule| {
            let facets = facets(station, schedule);
            let out = station.value(schedule, "out").unwrap();
            let mut entry = json!({
                "ord": ord_of(station, schedule),
                "displayName": station.display_name(schedule),
                "type": station.component(schedule).unwrap().ty().spec(),
                "out": reading(&out, &facets),
            });
            if let Some(unit) = facets.unit() {
                entry["units"] = json!(unit.symbol);
            }
            entry
        })
        .collect()
}

/// What a schedule module that computes the next change would add; the comparison leaves it to the fields.
fn without_next(answer: &Value) -> Vec<Value> {
    let mut listed = answer["schedules"].as_array().unwrap().clone();
    for schedule in &mut listed {
        let fields = schedule.as_object_mut().unwrap();
        fields.remove("nextValue");
        fields.remove("nextTime");
    }
    listed.sort_by_key(|schedule| schedule["ord"].to_string());
    listed
}

#[tokio::test]
async fn every_schedule_is_listed_once_with_its_output() {
    for (way, switch) in WAYS {
        let bench = Bench::start(switch, add_schedules, BRIDGE).await;
        let answer = bench.answer("listSchedules", json!({})).await;
        let mut known = expected_listing(&bench.model());
        known.sort_by_key(|schedule| schedule["ord"].to_string());
        assert_eq!(known.len(), 2);
        assert_eq!(without_next(&answer), known, "{way}");
        let arguments = json!({"ord": "station:|slot:/Logic", "limit": 1, "offset": 1});
        let second = bench.answer("listSchedules", arguments).await;
        assert_eq!(second["schedules"][0], answer["schedules"][1], "{way}");
        assert_eq!(second["truncated"], json!(false));
        let answer = bench
            .answer("listSchedules", json!({"ord": "slot:/Drivers"}))
            .await;
        assert_eq!(answer["schedules"], json!([]), "{way}");
    }
}

#[tokio::test]
async fn a_program_is_read_whole_over_box_and_over_obix() {
    for (way, switch) in [WAYS[0], ("oBIX", obix_only)] {
        let bench = Bench::start(switch, add_schedules, BRIDGE).await;
        let all = schedules(&bench.model());
        for schedule in all {
            let ord = ord_of(&bench.model(), schedule);
            let answer = bench.answer("readSchedule", json!({"ord": ord})).await;
            let station = bench.model();
            let facets = facets(&station, schedule);
            assert_eq!(
                answer["week"],
                expected_week(&station, schedule),
                "{way} {ord}"
            );
            assert_eq!(answer["displayName"], json!(station.display_name(schedule)));
            assert_eq!(answer["timeZone"], json!("Europe/Paris"));
            for slot in ["out", "in", "defaultOutput"] {
                let value = station.value(schedule, slot).unwrap();
                assert_eq!(
                    answer[slot],
                    reading(&value, &facets),
                    "{way} {slot} of {ord}"
                );
            }
            let cleans = station.value(schedule, "cleanupExpiredEvents").unwrap();
            assert_eq!(
                answer["cleanupExpiredEvents"],
                json!(cleans.as_bool().unwrap()),
                "{way}"
            );
            assert_eq!(answer.get("truncated"), None);
        }
    }
}

#[tokio::test]
async fn only_a_change_with_a_time_is_told() {
    for (way, switch) in [WAYS[0], ("oBIX", obix_only)] {
        let bench = Bench::start(switch, add_schedules, BRIDGE).await;
        for at in [None, Some("2026-11-03T06:30:00Z")] {
            {
                let mut station = bench.mock.station().write();
                let occupancy = station.resolve_component(OCCUPANCY).unwrap();
                let time = at.map(|text| DateTime::parse_from_rfc3339(text).unwrap());
                station
                    .set(occupancy, "nextTime", ModelValue::AbsTime(time))
                    .unwrap();
                let value = ModelValue::status_boolean(true, Status::ok());
                station.set(occupancy, "nextValue", value).unwrap();
            }
            let arguments = json!({"ord": OCCUPANCY});
            let listed = bench.answer("listSchedules", arguments.clone()).await;
            let program = bench.answer("readSchedule", arguments).await;
            for answer in [&listed["schedules"][0], &program] {
                let (time, value) = match at {
                    None => (None, None),
                    Some(_) => (
                        Some(json!("2026-11-03T07:30:00.000+01:00")),
                        Some(json!({"value": "Occupied", "valueBool": true, "status": "{ok}"})),
                    ),
                };
                assert_eq!(answer.get("nextTime"), time.as_ref(), "{way}");
                assert_eq!(answer.get("nextValue"), value.as_ref(), "{way}");
            }
        }
    }
}

#[tokio::test]
async fn special_events_and_strange_parts_are_kept() {
    for (way, switch) in [WAYS[0], ("oBIX", obix_only)] {
        let bench = Bench::start(switch, add_schedules, BRIDGE).await;
        let answer = bench
            .answer("readSchedule", json!({"ord": OCCUPANCY}))
            .await;
        let event = &answer["specialEvents"][0];
        assert_eq!(
            (&event["name"], &event["displayName"], &event["type"]),
            (
                &json!("All$20Saints"),
                &json!("All Saints"),
                &json!("schedule:DailySchedule")
            ),
            "{way}"
        );
        assert_eq!(
            event["periods"],
            json!([{
                "start": "08:00:00",
                "finish": "12:00:00",
                "value": {"value": "Empty", "valueBool": false, "status": "{ok}"},
            }]),
            "{way}: the start that the model did not set is the type's default"
        );
        assert!(!event["days"]["text"].as_str().unwrap().is_empty(), "{way}");
        let others = answer["otherParts"].as_array().unwrap();
        assert_eq!(others.len(), 1, "{way}: {others:?}");
        assert_eq!(
            (&others[0]["name"], &others[0]["type"]),
            (&json!("Note"), &json!("baja:Folder"))
        );
        assert_eq!(answer["facets"]["trueText"], json!("Occupied"));
        assert_eq!(answer["week"][5]["periods"][0]["finish"], json!("24:00:00"));
    }
}

#[tokio::test]
async fn the_output_follows_the_clock_and_a_valid_input_overrides_it() {
    let bench = Bench::with_station(add_schedules).await;
    let out = |answer: &Value| answer["out"]["value"].clone();
    let sunday = bench
        .answer("readSchedule", json!({"ord": OCCUPANCY}))
        .await;
    assert_eq!(out(&sunday), json!("Empty"));
    bench.mock.station().jump_clock(TimeDelta::hours(22));
    let monday = bench
        .answer("readSchedule", json!({"ord": OCCUPANCY}))
        .await;
    assert_eq!(out(&monday), json!("Occupied"));
    {
        let mut station = bench.mock.station().write();
        let occupancy = station.resolve_component(OCCUPANCY).unwrap();
        station
            .set(
                occupancy,
                "in",
                ModelValue::status_boolean(false, Status::ok()),
            )
            .unwrap();
    }
    let overridden = bench
        .answer("readSchedule", json!({"ord": OCCUPANCY}))
        .await;
    assert_eq!(out(&overridden), json!("Empty"));
    assert_eq!(overridden["in"]["status"], json!("{ok}"));
}

#[tokio::test]
async fn the_schedules_of_the_site_equal_the_models() {
    let now: DateTime<Utc> = "2026-11-02T15:20:00Z".parse().unwrap();
    let site = Harborview::build(SiteOptions::for_tests(now)).unwrap();
    let bench = Bench::serving(site.station, now, |_| {}, BRIDGE).await;
    let answer = bench.answer("listSchedules", json!({})).await;
    let mut known = expected_listing(&bench.model());
    known.sort_by_key(|schedule| schedule["ord"].to_string());
    assert!(known.len() >= 3);
    assert_eq!(without_next(&answer), known);
    let all = schedules(&bench.model());
    for schedule in all {
        let ord = ord_of(&bench.model(), schedule);
        let answer = bench.answer("readSchedule", json!({"ord": ord})).await;
        assert_eq!(
            answer["week"],
            expected_week(&bench.model(), schedule),
            "{ord}"
        );
    }
}

#[tokio::test]
async fn what_is_no_schedule_is_named() {
    for (way, switch) in [WAYS[0], ("oBIX", obix_only)] {
        let bench = Bench::start(switch, |_| {}, BRIDGE).await;
        let folder = json!({"ord": "station:|slot:/Drivers"});
        let (code, message, _) = bench.failure("readSchedule", folder).await;
        assert_eq!(code, -32602, "{way}");
        assert!(
            message.starts_with("station:|slot:/Drivers is no schedule"),
            "{way}: {message}"
        );
        let missing = json!({"ord": "station:|slot:/No"});
        for tool in ["readSchedule", "listSchedules"] {
            let (code, message, _) = bench.failure(tool, missing.clone()).await;
            assert_eq!(code, -32006, "{way} {tool}: {message}");
        }
    }
}

/// An account without admin read sees no times over oBIX, which leaves them out without a word.
#[tokio::test]
async fn a_hidden_program_is_never_shown_as_an_empty_one() {
    for (way, switch) in [WAYS[0], ("oBIX", obix_only)] {
        let bench = Bench::start(switch, add_schedules, VIEWER).await;
        let arguments = json!({"ord": OCCUPANCY});
        let (code, message, data) = bench.failure("readSchedule", arguments).await;
        assert_eq!(code, -32010, "{way}: {message}");
        assert_eq!(data["user"], json!(VIEWER.user), "{way}");
        assert!(message.contains("admin read"), "{way}: {message}");
    }
}

#[tokio::test]
async fn the_types_of_other_properties_are_told_or_left_out() {
    for (way, switch) in [WAYS[0], ("oBIX", obix_only)] {
        let bench = Bench::start(switch, add_schedules, BRIDGE).await;
        let answer = bench
            .answer("readSchedule", json!({"ord": OCCUPANCY}))
            .await;
        for property in answer["otherProperties"].as_array().unwrap() {
            let told = property.get("type").map(|told| told.as_str().unwrap());
            assert!(
                told.is_none_or(|told| told.contains(':')),
                "{way}: {property}"
            );
            assert!(told.is_some() || way == "oBIX", "{way}: {property}");
        }
    }
}
