//! listOverrides finds what people hold, over every interface, as the model has it.

use chrono::{DateTime, TimeDelta, Utc};
use mock_station::model::accounts::BRIDGE;
use mock_station::model::display::display;
use mock_station::model::point::ConstantFeed;
use mock_station::model::sample::AHU1_POINTS;
use mock_station::model::status::STATUS_NAMES;
use mock_station::model::{
    DisplayContext, FeedSample, Handle, Station, Status, Value as ModelValue,
};
use mock_station::site::{Harborview, SiteOptions};
use serde_json::{Value, json};

use crate::points::points;
use crate::support::{Bench, ord_of};
use crate::ways::WAYS;

fn point(station: &Station, name: &str) -> Handle {
    station
        .resolve_component(&format!("{AHU1_POINTS}/{name}"))
        .unwrap()
}

/// The argument of an override: a duration in minutes, 0 for a permanent one, and a value.
fn argument(spec: &str, minutes: i64, value: Option<ModelValue>) -> Option<ModelValue> {
    let Some(ModelValue::Struct(body)) = ModelValue::struct_of(spec) else {
        panic!("{spec} is a struct")
    };
    let body = body.with("duration", ModelValue::RelTime(minutes * 60_000));
    Some(ModelValue::Struct(match value {
        Some(value) => body.with("value", value),
        None => body,
    }))
}

/// An operator holds a setpoint for two hours and a fan for good; an emergency stands above an operator's mode; a value
/// at level 5 hides an operator's note; a sensor is overridden at its controller.
fn hold(station: &mut Station) {
    let setpoint = point(station, "SupplyTempSp");
    let command = argument(
        "control:NumericOverride",
        120,
        Some(ModelValue::Double(21.5)),
    );
    station.invoke(setpoint, "override", command).unwrap();
    let fan = point(station, "FanCmd");
    station
        .invoke(fan, "active", argument("control:Override", 0, None))
        .unwrap();
    let mode = point(station, "ModeCmd");
    let choice = ModelValue::from("Not occupied");
    let command = argument("control:EnumOverride", 0, Some(choice));
    station.invoke(mode, "override", command).unwrap();
    station
        .invoke(mode, "emergencyOverride", Some(ModelValue::from("Off")))
        .unwrap();
    let note = point(station, "Note");
    let command = argument(
        "control:StringOverride",
        30,
        Some(ModelValue::from("hands off")),
    );
    station.invoke(note, "override", command).unwrap();
    let higher = ModelValue::status_value(
        mock_station::model::PointKind::String,
        ModelValue::from("fire drill"),
        Status::ok(),
    );
    station.set(note, "in5", higher).unwrap();
    let sensor = point(station, "SupplyTemp");
    let sample = FeedSample::with_status(18.0, Status::OVERRIDDEN);
    station.attach_feed(sensor, std::sync::Arc::new(ConstantFeed(sample)));
}

fn words(status: &Status) -> String {
    let names: Vec<&str> = STATUS_NAMES
        .iter()
        .filter(|(bit, _)| status.bits & bit != 0)
        .map(|(_, name)| *name)
        .collect();
    if names.is_empty() {
        "{ok}".to_owned()
    } else {
        format!("{{{}}}", names.join(","))
    }
}

/// The overrides of one point by the model's own slots.
fn of_point(station: &Station, point: Handle) -> Vec<Value> {
    let facets = station.facets(point);
    let (out, status) = station.out(point).unwrap();
    let active = status.active_level();
    let entry = |origin: &str, level: Option<i32>, value: &ModelValue, status: &Status| {
        let mut entry = json!({
            "ord": ord_of(station, point),
            "displayName": station.display_name(point),
            "type": station.component(point).unwrap().ty().spec(),
            "origin": origin,
            "active": origin == "device" || level == active,
            "value": display(value, &facets, &DisplayContext::default().without_units()),
            "status": words(status),
            "expires": null,
        });
        if let Some(level) = level {
            entry["level"] = json!(level);
        }
        match value {
            ModelValue::Boolean(flag) => entry["valueBool"] = json!(flag),
            ModelValue::DynamicEnum(choice) => entry["valueOrdinal"] = json!(choice.ordinal),
            ModelValue::String(_) => {}
            other => entry["valueNumber"] = json!(other.as_f64().unwrap()),
        }
        if let Some(unit) = facets.unit() {
            entry["units"] = json!(unit.symbol);
        }
        if origin == "operator"
            && let Some(ModelValue::AbsTime(Some(end))) = station.value(point, "overrideExpiration")
        {
            entry["expires"] = json!(end.to_rfc3339_opts(chrono::SecondsFormat::Millis, false));
        }
        entry
    };
    let mut found = Vec::new();
    for (origin, level) in [("emergency", 1), ("operator", 8)] {
        let input = station.value(point, &format!("in{level}"));
        if let Some((value, status)) = input.as_ref().and_then(ModelValue::as_status_value)
            && status.is_valid()
        {
            found.push(entry(origin, Some(level), value, status));
        }
    }
    if found.is_empty() && status.has(Status::OVERRIDDEN) {
        found.push(entry(
            "device",
            active.filter(|level| *level <= 16),
            &out,
            &status,
        ));
    }
    found
}

fn expected(station: &Station) -> Vec<Value> {
    points(station)
        .into_iter()
        .flat_map(|point| of_point(station, point))
        .collect()
}

fn sorted(mut items: Vec<Value>) -> Vec<Value> {
    items.sort_by_key(|item| (item["ord"].to_string(), item["level"].as_i64()));
    items
}

fn listed(answer: &Value) -> Vec<Value> {
    answer["overrides"].as_array().unwrap().clone()
}

#[tokio::test]
async fn every_override_is_told_over_every_interface_until_it_expires() {
    for (way, switch) in WAYS {
        let bench = Bench::start(switch, hold, BRIDGE).await;
        let answer = bench.answer("listOverrides", json!({})).await;
        let held = expected(&bench.model());
        assert_eq!(held.len(), 6);
        assert_eq!(sorted(listed(&answer)), sorted(held), "{way}");
        assert_eq!(
            (&answer["count"], &answer["truncated"]),
            (&json!(6), &json!(false))
        );

        bench.mock.station().jump_clock(TimeDelta::minutes(121));
        let answer = bench.answer("listOverrides", json!({})).await;
        let held = expected(&bench.model());
        assert_eq!(held.len(), 4, "the setpoint and the note are released");
        assert_eq!(sorted(listed(&answer)), sorted(held), "{way}");
    }
}

#[tokio::test]
async fn a_higher_level_hides_an_override_without_ending_it() {
    let bench = Bench::with_station(hold).await;
    let ord = format!("station:|{AHU1_POINTS}/Note");
    let answer = bench.answer("listOverrides", json!({"ord": ord})).await;
    let note = &answer["overrides"][0];
    assert_eq!(
        (&note["value"], &note["active"], &note["level"]),
        (&json!("hands off"), &json!(false), &json!(8))
    );
    let ord = format!("station:|{AHU1_POINTS}/ModeCmd");
    let answer = bench.answer("listOverrides", json!({"ord": ord})).await;
    let levels: Vec<Value> = listed(&answer)
        .iter()
        .map(|held| json!([held["level"], held["active"], held["value"]]))
        .collect();
    assert_eq!(
        json!(levels),
        json!([[1, true, "Off"], [8, false, "Not occupied"]])
    );
}

#[tokio::test]
async fn pages_make_up_the_whole_list() {
    for (way, switch) in WAYS {
        let bench = Bench::start(switch, hold, BRIDGE).await;
        let whole = listed(&bench.answer("listOverrides", json!({})).await);
        let mut pages = Vec::new();
        let mut offset = json!(0);
        while !offset.is_null() {
            let arguments = json!({"limit": 4, "offset": offset});
            let answer = bench.answer("listOverrides", arguments).await;
            offset = answer["nextOffset"].clone();
            pages.extend(listed(&answer));
        }
        assert_eq!(pages, whole, "{way}");
    }
}

#[tokio::test]
async fn a_station_without_overrides_answers_none_and_a_missing_component_is_named() {
    for (way, switch) in WAYS {
        let bench = Bench::start(switch, |_| {}, BRIDGE).await;
        let answer = bench.answer("listOverrides", json!({})).await;
        assert_eq!(answer["overrides"], json!([]), "{way}");
        let arguments = json!({"ord": "station:|slot:/No"});
        let (code, message, _) = bench.failure("listOverrides", arguments).await;
        assert_eq!(code, -32006, "{way}: {message}");
    }
}

#[tokio::test]
async fn one_filtered_query_answers_once_the_filter_is_known() {
    let bench = Bench::with_station(hold).await;
    bench.answer("listOverrides", json!({})).await;
    let before = bench.mock.requests().len();
    bench.answer("listOverrides", json!({})).await;
    assert_eq!(bench.mock.requests().len() - before, 1);
}

#[tokio::test]
async fn the_overrides_of_the_site_equal_the_models() {
    let now: DateTime<Utc> = "2026-11-02T15:20:00Z".parse().unwrap();
    let site = Harborview::build(SiteOptions::for_tests(now)).unwrap();
    let mut station = site.station;
    let writable: Vec<Handle> = points(&station)
        .into_iter()
        .filter(|point| {
            let component = station.component(*point).unwrap();
            component.ty().is("control:NumericWritable")
        })
        .step_by(7)
        .collect();
    for point in &writable {
        let command = argument(
            "control:NumericOverride",
            45,
            Some(ModelValue::Double(12.5)),
        );
        station.invoke(*point, "override", command).unwrap();
    }
    assert!(writable.len() > 3);
    let bench = Bench::serving(station, now, |_| {}, BRIDGE).await;
    let answer = bench.answer("listOverrides", json!({"limit": 1000})).await;
    let held = expected(&bench.model());
    assert!(held.len() >= writable.len());
    assert_eq!(answer["count"], json!(held.len()));
    // The text of a number without decimals of its own is the bridge's.
    let keys = [
        "ord",
        "displayName",
        "type",
        "origin",
        "level",
        "active",
        "valueNumber",
        "valueBool",
        "status",
        "expires",
    ];
    for (found, held) in sorted(listed(&answer)).iter().zip(sorted(held)) {
        for key in keys {
            assert_eq!(found[key], held[key], "{key} of {}", held["ord"]);
        }
    }
}
