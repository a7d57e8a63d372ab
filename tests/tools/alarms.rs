//! Alarm tools give the model's alarms, filtered, ordered and paged.

use mock_station::model::sample::AHU1_POINTS;
use mock_station::model::{AlarmRecord, Station};
use serde_json::{Value, json};

use crate::support::{Bench, NOW};

fn expected(station: &Station, alarm: &AlarmRecord) -> Value {
    let time = |time: chrono::DateTime<chrono::Utc>| {
        json!(
            time.with_timezone(&station.zone())
                .to_rfc3339_opts(chrono::SecondsFormat::Millis, false)
        )
    };
    let sources: Vec<String> = alarm
        .source
        .iter()
        .map(|source| source.trim_start_matches("local:|").to_owned())
        .collect();
    let acknowledged = alarm.ack_state.tag() == "acked";
    let normal = alarm.source_state.tag() == "normal";
    let mut expected = json!({
        "uuid": alarm.uuid,
        "timestamp": time(alarm.timestamp),
        "timestampMs": alarm.timestamp.timestamp_millis(),
        "sourceOrd": sources.join("\n"),
        "sources": sources,
        "sourceName": alarm.alarm_data.text("sourceName"),
        "priority": alarm.priority,
        "alarmClass": alarm.alarm_class,
        "ackState": alarm.ack_state.tag(),
        "transition": alarm.alarm_transition.transition(),
        "isOpen": !(acknowledged && normal),
        "isAcknowledged": acknowledged,
        "isNormal": normal,
        "message": alarm.alarm_data.text("msgText"),
    });
    if let Some(at) = alarm.ack_time {
        expected["ackTime"] = time(at);
    }
    if let Some(at) = alarm.normal_time {
        expected["normalTime"] = time(at);
    }
    if !alarm.user.is_empty() {
        expected["user"] = json!(alarm.user);
    }
    expected
}

fn all(station: &Station, keep: impl Fn(&AlarmRecord) -> bool) -> Vec<Value> {
    station
        .alarms
        .iter()
        .filter(|alarm| keep(alarm))
        .map(|alarm| expected(station, alarm))
        .collect()
}

#[tokio::test]
async fn open_alarms_are_the_models_open_alarms() {
    let bench = Bench::new().await;
    let answer = bench.answer("getActiveAlarms", json!({})).await;
    let expected = all(&bench.model(), AlarmRecord::is_open);
    assert!(expected.len() >= 3);
    assert_eq!(answer["alarms"], json!(expected));
    assert_eq!(
        (&answer["count"], &answer["truncated"]),
        (&json!(expected.len()), &json!(false))
    );
}

#[tokio::test]
async fn newest_first_pages_reach_every_alarm_once() {
    let bench = Bench::new().await;
    let mut expected = all(&bench.model(), AlarmRecord::is_open);
    expected.sort_by_key(|alarm| std::cmp::Reverse(alarm["timestampMs"].as_i64()));
    let mut gathered = Vec::new();
    let mut offset = json!(0);
    loop {
        let answer = bench
            .answer(
                "getActiveAlarms",
                json!({"order": "newest", "limit": 2, "offset": offset}),
            )
            .await;
        gathered.extend(answer["alarms"].as_array().unwrap().iter().cloned());
        if answer["truncated"] == json!(false) {
            assert!(answer.get("nextOffset").is_none());
            break;
        }
        offset = answer["nextOffset"].clone();
    }
    assert_eq!(gathered, expected);
}

#[tokio::test]
async fn a_source_prefix_is_a_path() {
    let bench = Bench::new().await;
    let point = format!("{AHU1_POINTS}/SupplyTemp");
    let expected = all(&bench.model(), |alarm| {
        alarm.is_open()
            && alarm
                .source
                .iter()
                .any(|source| source.contains("/SupplyTemp/"))
    });
    assert_eq!(expected.len(), 1);
    for prefix in [
        point.clone(),
        format!("station:|{point}"),
        format!("local:|station:|{point}/"),
    ] {
        let answer = bench
            .answer("getActiveAlarms", json!({"sourceOrdPrefix": prefix}))
            .await;
        assert_eq!(answer["alarms"], json!(expected), "{prefix}");
    }
    let half_a_name = point.strip_suffix("Temp").unwrap();
    let answer = bench
        .answer("getActiveAlarms", json!({"sourceOrdPrefix": half_a_name}))
        .await;
    assert_eq!(answer["count"], json!(0));
}

#[tokio::test]
async fn filters_choose_class_urgency_and_acknowledgement() {
    let bench = Bench::new().await;
    for (arguments, keep) in [
        (
            json!({"alarmClass": "urgent"}),
            (|alarm: &AlarmRecord| alarm.alarm_class == "urgent") as fn(&AlarmRecord) -> bool,
        ),
        (json!({"maxPriority": 10}), |alarm| alarm.priority <= 10),
        (json!({"ackState": "unacked"}), |alarm| {
            alarm.ack_state.tag() == "unacked"
        }),
        (json!({"ackState": "unacked", "maxPriority": 10}), |alarm| {
            alarm.ack_state.tag() == "unacked" && alarm.priority <= 10
        }),
    ] {
        let expected = all(&bench.model(), |alarm| alarm.is_open() && keep(alarm));
        assert!(!expected.is_empty());
        let answer = bench.answer("getActiveAlarms", arguments.clone()).await;
        assert_eq!(answer["alarms"], json!(expected), "{arguments}");
    }
}

#[tokio::test]
async fn past_alarms_of_a_range_include_both_ends() {
    let bench = Bench::new().await;
    let whole = bench
        .answer("getAlarmHistory", json!({"from": "2026-10-01", "to": NOW}))
        .await;
    let everything = all(&bench.model(), |_| true);
    assert_eq!(whole["alarms"], json!(everything));
    assert_eq!(
        (&whole["truncatedByLimit"], &whole["truncatedByTimeout"]),
        (&json!(false), &json!(false))
    );

    let (first, last) = (&everything[1], &everything[3]);
    let range = json!({"from": first["timestamp"], "to": last["timestamp"]});
    let answer = bench.answer("getAlarmHistory", range).await;
    assert_eq!(answer["alarms"], json!(everything[1..=3]));

    let cut = bench
        .answer("getAlarmHistory", json!({"from": "2026-10-01", "limit": 2}))
        .await;
    assert_eq!(
        (&cut["count"], &cut["truncatedByLimit"], &cut["nextOffset"]),
        (&json!(2), &json!(true), &json!(2))
    );
}

#[tokio::test]
async fn a_station_that_refuses_alarm_queries_is_asked_for_box_tables() {
    let bench = Bench::with_switches(|switches| switches.export.csv_exporter = false).await;
    let answer = bench.answer("getActiveAlarms", json!({})).await;
    assert_eq!(
        answer["alarms"],
        json!(all(&bench.model(), AlarmRecord::is_open))
    );
}
