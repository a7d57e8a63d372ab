//! readPoint tells what the model holds, over BOX as well as over BQL.

use mock_station::model::accounts::VIEWER;
use mock_station::model::status::STATUS_NAMES;
use mock_station::model::{Handle, Station, Value as ModelValue, sample};
use serde_json::{Value, json};

use crate::support::{Bench, NOW, ord_of};

const OCCUPANCY: &str = "station:|slot:/Logic/Occupancy";

pub fn points(station: &Station) -> Vec<Handle> {
    station
        .descendants(station.root())
        .filter(|component| component.ty().is("control:ControlPoint"))
        .map(|component| component.handle())
        .collect()
}

/// Checks an answer against the model; texts of the station's display language are left to the station.
pub fn check(station: &Station, point: Handle, answer: &Value) {
    let component = station.component(point).unwrap();
    let (value, status) = station.out(point).unwrap();
    let ord = ord_of(station, point);
    assert_eq!(
        answer["displayName"],
        json!(station.display_name(point)),
        "{ord}"
    );
    assert_eq!(answer["type"], json!(component.ty().spec()), "{ord}");
    match &value {
        ModelValue::Boolean(flag) => assert_eq!(answer["valueBool"], json!(flag), "{ord}"),
        ModelValue::DynamicEnum(choice) => {
            assert_eq!(answer["valueOrdinal"], json!(choice.ordinal), "{ord}")
        }
        ModelValue::String(text) => assert_eq!(answer["value"], json!(&**text), "{ord}"),
        other => {
            let number = other.as_f64().unwrap();
            if number.is_finite() {
                assert_eq!(answer["valueNumber"].as_f64(), Some(number), "{ord}");
            } else {
                assert_eq!(answer["valueNumber"], Value::Null, "{ord}");
                assert!(answer["nonFinite"].is_string(), "{ord}");
            }
        }
    }
    let names: Vec<&str> = STATUS_NAMES
        .iter()
        .filter(|(bit, _)| status.bits & bit != 0)
        .map(|(_, name)| *name)
        .collect();
    let words = if names.is_empty() {
        "ok".to_owned()
    } else {
        names.join(",")
    };
    assert_eq!(answer["status"], json!(format!("{{{words}}}")), "{ord}");
    assert_eq!(
        answer["statusBits"],
        json!(format!("{:x}", status.bits)),
        "{ord}"
    );
    let level = status
        .active_level()
        .filter(|level| *level != 0)
        .map(|level| match level {
            17 => "def".to_owned(),
            level => level.to_string(),
        });
    assert_eq!(
        answer.get("priority").and_then(Value::as_str),
        level.as_deref(),
        "{ord}"
    );
    let facets = station.facets(point);
    let units = facets
        .unit()
        .filter(|unit| !unit.is_null())
        .map(|unit| json!(unit.symbol));
    assert_eq!(answer["facets"].get("units").cloned(), units, "{ord}");
    for key in ["trueText", "falseText"] {
        assert_eq!(
            answer["facets"].get(key).and_then(Value::as_str),
            facets.text(key),
            "{ord}"
        );
    }
    assert!(
        answer["out"].as_str().is_some_and(|out| !out.is_empty()),
        "{ord}"
    );
}

/// What a first call finds out about the station is found out once, however many calls come first.
#[tokio::test]
async fn many_first_calls_cost_little_more_than_one_request_each() {
    let bench = Bench::new().await;
    let ords: Vec<String> = points(&bench.model())
        .into_iter()
        .map(|point| ord_of(&bench.model(), point))
        .collect();
    let calls = (0..50).map(|number| {
        let ord = &ords[number % ords.len()];
        bench.answer("readPoint", json!({"ord": ord}))
    });
    assert_eq!(futures::future::join_all(calls).await.len(), 50);
    let cold = bench.mock.requests().len();
    // A login, the hierarchy of types level by level for all of them together, and one frame for the contracts of all of them.
    println!("{} requests beside the 50 first calls", cold - 50);
    assert!(cold <= 50 + 15, "{cold} requests for 50 first calls");
    bench.mock.clear_logs();
    for ord in ords.iter().take(10) {
        bench.answer("readPoint", json!({"ord": ord})).await;
    }
    assert_eq!(bench.mock.requests().len(), 10, "one request per call");
}

#[tokio::test]
async fn every_point_reads_as_the_model_has_it() {
    let bench = Bench::new().await;
    let all = points(&bench.model());
    assert!(all.len() > 15);
    for point in all {
        let ord = ord_of(&bench.model(), point);
        let answer = bench.answer("readPoint", json!({"ord": ord})).await;
        check(&bench.model(), point, &answer);
    }
}

#[tokio::test]
async fn a_station_without_box_gives_the_same_values_by_queries() {
    let bench = Bench::with_switches(|switches| switches.boxs.present = false).await;
    let all = points(&bench.model());
    for point in all {
        let ord = ord_of(&bench.model(), point);
        let answer = bench.answer("readPoint", json!({"ord": ord})).await;
        check(&bench.model(), point, &answer);
    }
    let box_requests = bench
        .mock
        .requests()
        .iter()
        .filter(|request| request.path().starts_with("/box"))
        .count();
    assert_eq!(box_requests, 1, "a missing interface is remembered");
}

#[tokio::test]
async fn what_is_no_control_point_is_refused_by_name() {
    let bench = Bench::new().await;
    for (ord, type_spec) in [
        ("station:|slot:/Drivers", "driver:DriverContainer"),
        ("station:|slot:/Services/AlarmService", "alarm:AlarmService"),
    ] {
        let (code, message, data) = bench.failure("readPoint", json!({"ord": ord})).await;
        assert_eq!((code, &data["ord"]), (-32602, &json!(ord)));
        assert!(
            message.contains("is no control point"),
            "{message} ({type_spec})"
        );
    }
}

#[tokio::test]
async fn what_an_account_may_not_read_is_not_made_up() {
    let now = NOW.parse().expect("a time");
    let model = sample::station(now).expect("the sample station");
    let bench = Bench::serving(model, now, |_| {}, VIEWER).await;
    let slots = bench.answer("getSlots", json!({"ord": OCCUPANCY})).await;
    let names: Vec<&str> = slots["slots"]
        .as_array()
        .expect("slots")
        .iter()
        .filter_map(|slot| slot["name"].as_str())
        .collect();
    assert!(names.contains(&"out"), "{names:?}");
    assert!(!names.contains(&"defaultOutput"), "{names:?}");

    let refused = bench.call("readSchedule", json!({"ord": OCCUPANCY})).await;
    assert_eq!(refused["errorCode"], json!(-32010), "{refused}");
    assert_eq!(refused["errorData"]["user"], json!("viewer"));
}
