//! readHistory gives the model's records, one for one, across a change of the clocks.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use mock_station::model::history::{StoredHistory, trend_flags};
use mock_station::model::sample::AHU1_POINTS;
use mock_station::model::status::Status;
use mock_station::model::{History, HistoryRecord, PointKind, Station, Value as ModelValue};
use niagara_bridge::station::status::StatusBits;
use niagara_bridge::tools::result_value::status_text;
use serde_json::{Value, json};

use crate::support::{Bench, NOW};

/// The record as readHistory shows it.
pub fn expected_record(station: &Station, record: &HistoryRecord) -> Value {
    let local = record.timestamp.with_timezone(&station.zone());
    let mut expected = json!({
        "timestamp": local.to_rfc3339_opts(chrono::SecondsFormat::Millis, false),
        "timestampMs": record.timestamp.timestamp_millis(),
        "status": status_text(StatusBits::new(record.status)),
    });
    match &record.value {
        ModelValue::Boolean(flag) => {
            expected["value"] = json!(u8::from(*flag));
            expected["type"] = json!("boolean");
        }
        ModelValue::DynamicEnum(choice) => {
            let tag = choice.range.tag(choice.ordinal);
            expected["value"] = json!(tag.unwrap_or_else(|| choice.ordinal.to_string()));
            expected["ordinal"] = json!(choice.ordinal);
        }
        ModelValue::String(text) => expected["value"] = json!(&**text),
        other => expected["value"] = json!(other.as_f64()),
    }
    if !Status::from_bits(record.status).is_valid() {
        expected["valid"] = json!(false);
    }
    let flags: Vec<&str> = [
        (trend_flags::START, "start"),
        (trend_flags::OUT_OF_ORDER, "outOfOrder"),
        (trend_flags::HIDDEN, "hidden"),
        (trend_flags::MODIFIED, "modified"),
        (trend_flags::INTERPOLATED, "interpolated"),
    ]
    .into_iter()
    .filter(|(bit, _)| record.trend_flags & bit != 0)
    .map(|(_, name)| name)
    .collect();
    if !flags.is_empty() {
        expected["trendFlags"] = json!(flags);
    }
    expected
}

pub fn assert_record(actual: &Value, expected: &Value) {
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&actual[key], value, "{key} of {actual}");
    }
    for key in ["valid", "trendFlags"] {
        assert_eq!(
            actual.get(key).is_some(),
            expected.get(key).is_some(),
            "{key} of {actual}"
        );
    }
}

fn model_records(station: &Station, id: &str, from: &str, to: &str) -> Vec<HistoryRecord> {
    let instant = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
    station
        .histories
        .get(id)
        .unwrap()
        .records(instant(from), instant(to), station.now())
}

async fn read_all(bench: &Bench, point: &str, id: &str, from: &str, to: &str) {
    let ord = format!("station:|{AHU1_POINTS}/{point}");
    let answer = bench
        .answer(
            "readHistory",
            json!({"ord": ord, "from": from, "to": to, "limit": 10_000}),
        )
        .await;
    let station = bench.model();
    let expected = model_records(&station, id, from, to);
    assert!(!expected.is_empty());
    assert_eq!(answer["historyId"], json!(id));
    assert_eq!(answer["rows"], json!(expected.len()), "{id}");
    assert_eq!(
        (&answer["truncatedByLimit"], &answer["truncatedByTimeout"]),
        (&json!(false), &json!(false))
    );
    let records = answer["records"].as_array().unwrap();
    assert_eq!(records.len(), expected.len());
    for (actual, record) in records.iter().zip(&expected) {
        assert_record(actual, &expected_record(&station, record));
    }
}

const FROM: &str = "2026-10-23T00:00:00Z";

#[tokio::test]
async fn every_kind_of_history_equals_the_models_record_for_record_across_the_clock_change() {
    let bench = Bench::new().await;
    for (point, id) in [
        ("SupplyTemp", "/Sample/SupplyTemp"),
        ("FanStatus", "/Sample/FanStatus"),
        ("Mode", "/Sample/Mode"),
        ("Message", "/Sample/Message"),
    ] {
        read_all(&bench, point, id, FROM, NOW).await;
    }
    // Both passes of the repeated hour are there, told apart by their offsets.
    let ord = format!("station:|{AHU1_POINTS}/SupplyTemp");
    let fold = json!({"ord": ord, "from": "2026-10-25T00:00:00Z", "to": "2026-10-25T01:59:59Z"});
    let answer = bench.answer("readHistory", fold).await;
    let times: Vec<&str> = answer["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["timestamp"].as_str().unwrap())
        .collect();
    assert!(
        times.contains(&"2026-10-25T02:15:00.000+02:00")
            && times.contains(&"2026-10-25T02:15:00.000+01:00"),
        "{times:?}"
    );
}

#[tokio::test]
async fn display_texts_give_the_same_records_where_machine_cells_and_tables_are_refused() {
    use mock_station::switches::MachineMode;
    let bench = Bench::with_switches(|switches| {
        switches.export.machine_mode = MachineMode::Refused;
        switches.boxs.present = false;
    })
    .await;
    read_all(&bench, "FanStatus", "/Sample/FanStatus", FROM, NOW).await;
    let ord = format!("station:|{AHU1_POINTS}/SupplyTemp");
    let answer = bench
        .answer(
            "readHistory",
            json!({"ord": ord, "from": FROM, "to": NOW, "limit": 10_000}),
        )
        .await;
    let station = bench.model();
    let expected = model_records(&station, "/Sample/SupplyTemp", FROM, NOW);
    let records = answer["records"].as_array().unwrap();
    assert_eq!(records.len(), expected.len());
    for (actual, record) in records.iter().zip(&expected) {
        assert_eq!(
            actual["timestampMs"],
            json!(record.timestamp.timestamp_millis())
        );
        // The account sees one decimal.
        let shown = actual["value"].as_f64().unwrap();
        assert!(
            (shown - record.value.as_f64().unwrap()).abs() <= 0.051,
            "{actual}"
        );
        assert_eq!(
            actual["status"],
            json!(status_text(StatusBits::new(record.status)))
        );
    }
}

#[tokio::test]
async fn tables_serve_where_machine_cells_are_refused() {
    use mock_station::switches::MachineMode;
    let bench =
        Bench::with_switches(|switches| switches.export.machine_mode = MachineMode::Refused).await;
    for (point, id) in [
        ("SupplyTemp", "/Sample/SupplyTemp"),
        ("Mode", "/Sample/Mode"),
    ] {
        read_all(&bench, point, id, FROM, NOW).await;
    }
}

#[tokio::test]
async fn pages_follow_each_other_without_loss_or_repetition() {
    let bench = Bench::new().await;
    let ord = format!("station:|{AHU1_POINTS}/SupplyTemp");
    let mut from = FROM.to_owned();
    let mut skip = 0;
    let mut gathered = Vec::new();
    for page in 0.. {
        assert!(page < 50, "paging does not end");
        let answer = bench
            .answer(
                "readHistory",
                json!({"ord": ord, "from": from, "to": NOW, "limit": 13}),
            )
            .await;
        let records = answer["records"].as_array().unwrap();
        gathered.extend(records.iter().skip(skip).cloned());
        if answer["truncatedByLimit"] == json!(false) {
            break;
        }
        assert_eq!(records.len(), 13);
        from = answer["nextFrom"].as_str().unwrap().to_owned();
        skip = usize::try_from(answer["nextFromRepeats"].as_u64().unwrap_or(0)).unwrap();
    }
    let station = bench.model();
    let expected = model_records(&station, "/Sample/SupplyTemp", FROM, NOW);
    assert_eq!(gathered.len(), expected.len());
    for (actual, record) in gathered.iter().zip(&expected) {
        assert_record(actual, &expected_record(&station, record));
    }
}

/// Sum, extremes and counts by the rule of the tool surface.
fn aggregate(records: &[HistoryRecord]) -> (usize, Vec<f64>, [usize; 4]) {
    let mut used = Vec::new();
    let mut excluded = [0; 4];
    for record in records {
        let number = match &record.value {
            ModelValue::Boolean(flag) => f64::from(u8::from(*flag)),
            other => other.as_f64().unwrap(),
        };
        if record.status & Status::NULL != 0 {
            excluded[0] += 1;
        } else if !Status::from_bits(record.status).is_valid() {
            excluded[1] += 1;
        } else if record.trend_flags & trend_flags::HIDDEN != 0 {
            excluded[3] += 1;
        } else if !number.is_finite() {
            excluded[2] += 1;
        } else {
            used.push(number);
        }
    }
    (records.len(), used, excluded)
}

#[tokio::test]
async fn aggregates_leave_bad_records_out_and_count_them() {
    let bench = Bench::new().await;
    for (point, id) in [
        ("SupplyTemp", "/Sample/SupplyTemp"),
        ("FanStatus", "/Sample/FanStatus"),
    ] {
        let ord = format!("station:|{AHU1_POINTS}/{point}");
        let arguments =
            json!({"ord": ord, "from": FROM, "to": NOW, "limit": 3, "aggregation": "max"});
        let answer = bench.answer("readHistory", arguments).await;
        let (count, used, [nulls, fault, non_finite, hidden]) =
            aggregate(&model_records(&bench.model(), id, FROM, NOW));
        let sum: f64 = used.iter().sum();
        assert_eq!(answer["count"], json!(count));
        assert_eq!(answer["used"], json!(used.len()));
        assert_eq!(
            answer["max"].as_f64(),
            used.iter().copied().reduce(f64::max)
        );
        assert_eq!(
            answer["min"].as_f64(),
            used.iter().copied().reduce(f64::min)
        );
        assert!((answer["sum"].as_f64().unwrap() - sum).abs() < 1e-9);
        assert!((answer["avg"].as_f64().unwrap() - sum / used.len() as f64).abs() < 1e-9);
        assert_eq!(
            answer["excluded"],
            json!({"null": nulls, "fault": fault, "nonFinite": non_finite, "hidden": hidden})
        );
        assert_eq!(
            answer["truncatedByLimit"],
            json!(false),
            "the limit is for records, not for aggregates"
        );
        assert!(answer.get("records").is_none());
    }
}

#[tokio::test]
async fn buckets_hold_every_record_once() {
    let bench = Bench::new().await;
    let ord = format!("station:|{AHU1_POINTS}/SupplyTemp");
    let arguments =
        json!({"ord": ord, "from": FROM, "to": NOW, "aggregation": "avg", "bucketSec": 7200});
    let answer = bench.answer("readHistory", arguments).await;
    let records = model_records(&bench.model(), "/Sample/SupplyTemp", FROM, NOW);
    let from = FROM.parse::<DateTime<Utc>>().unwrap().timestamp_millis();
    let buckets = answer["buckets"].as_array().unwrap();
    let mut total = 0;
    for bucket in buckets {
        let start = bucket["startMs"].as_i64().unwrap();
        assert_eq!((start - from) % 7_200_000, 0);
        let inside: Vec<HistoryRecord> = records
            .iter()
            .filter(|record| {
                (start..start + 7_200_000).contains(&record.timestamp.timestamp_millis())
            })
            .cloned()
            .collect();
        let (count, used, _) = aggregate(&inside);
        assert_eq!(
            (&bucket["count"], &bucket["used"]),
            (&json!(count), &json!(used.len()))
        );
        total += count;
    }
    assert_eq!(total, records.len());
}

/// A point with a long history, one with many records at one instant.
fn add_long_histories(station: &mut Station) {
    let now = station.now();
    let points = station.resolve_component(AHU1_POINTS).unwrap();
    for (name, records) in [
        (
            "Long",
            (0..90_000)
                .map(|n| HistoryRecord::ok(now - TimeDelta::seconds(90_000 - n), (n % 100) as f64))
                .collect::<Vec<_>>(),
        ),
        (
            "Burst",
            (0..7)
                .map(|n| HistoryRecord::ok(now - TimeDelta::hours(1), n as f64))
                .collect(),
        ),
    ] {
        let point = station
            .add(points, Some(name), "control:NumericPoint")
            .unwrap();
        let history = History::new(
            &format!("/Sample/{name}"),
            PointKind::Numeric,
            station.zone(),
            Arc::new(StoredHistory::new(records)),
        );
        station
            .add_history(point, "history:NumericIntervalHistoryExt", history)
            .unwrap();
    }
}

#[tokio::test]
async fn an_aggregate_reads_past_the_size_of_one_request() {
    let bench = Bench::with_station(add_long_histories).await;
    let ord = format!("station:|{AHU1_POINTS}/Long");
    let answer = bench
        .answer(
            "readHistory",
            json!({"ord": ord, "from": FROM, "to": NOW, "aggregation": "count"}),
        )
        .await;
    assert_eq!(
        (&answer["count"], &answer["used"]),
        (&json!(90_000), &json!(90_000))
    );
    assert_eq!(
        (&answer["min"], &answer["max"]),
        (&json!(0.0), &json!(99.0))
    );
}

#[tokio::test]
async fn records_of_one_instant_beyond_the_limit_are_told_as_repeats() {
    let bench = Bench::with_station(add_long_histories).await;
    let ord = format!("station:|{AHU1_POINTS}/Burst");
    let answer = bench
        .answer(
            "readHistory",
            json!({"ord": ord, "from": FROM, "to": NOW, "limit": 5}),
        )
        .await;
    assert_eq!(
        (&answer["rows"], &answer["truncatedByLimit"]),
        (&json!(5), &json!(true))
    );
    assert_eq!(answer["nextFromRepeats"], json!(5));
}

#[tokio::test]
async fn an_extension_is_as_good_as_its_point_and_is_looked_up_once() {
    let bench = Bench::new().await;
    let extension: String = {
        let station = bench.model();
        let point = station
            .resolve_component(&format!("{AHU1_POINTS}/SupplyTemp"))
            .unwrap();
        let child = station
            .children(point)
            .find(|child| child.ty().is("history:HistoryExt"))
            .unwrap();
        station.slot_path(child.handle())
    };
    let arguments = json!({"ord": extension, "from": FROM, "to": NOW});
    let answer = bench.answer("readHistory", arguments.clone()).await;
    assert_eq!(answer["historyId"], "/Sample/SupplyTemp");
    bench.mock.clear_logs();
    bench.answer("readHistory", arguments).await;
    assert_eq!(
        bench.mock.requests().len(),
        1,
        "the extension's history is remembered"
    );
}

#[tokio::test]
async fn a_point_without_history_and_an_empty_history_differ() {
    let bench = Bench::with_station(|station| {
        let points = station.resolve_component(AHU1_POINTS).unwrap();
        let point = station
            .add(points, Some("Fresh"), "control:NumericPoint")
            .unwrap();
        let empty = History::new(
            "/Sample/Fresh",
            PointKind::Numeric,
            station.zone(),
            Arc::new(StoredHistory::default()),
        );
        station
            .add_history(point, "history:NumericIntervalHistoryExt", empty)
            .unwrap();
        station
            .add(points, Some("Plain"), "control:NumericPoint")
            .unwrap();
    })
    .await;
    let plain = format!("station:|{AHU1_POINTS}/Plain");
    let (code, _, data) = bench
        .failure("readHistory", json!({"ord": plain, "from": FROM}))
        .await;
    assert_eq!((code, &data["ord"]), (-32007, &json!(plain)));

    let fresh = format!("station:|{AHU1_POINTS}/Fresh");
    let answer = bench
        .answer("readHistory", json!({"ord": fresh, "from": FROM}))
        .await;
    assert_eq!(
        (&answer["rows"], &answer["records"]),
        (&json!(0), &json!([]))
    );
    let answer = bench
        .answer(
            "readHistory",
            json!({"ord": fresh, "from": FROM, "aggregation": "avg"}),
        )
        .await;
    assert_eq!((&answer["count"], answer.get("avg")), (&json!(0), None));
}

#[tokio::test]
async fn times_without_an_offset_are_station_time() {
    let bench = Bench::new().await;
    let ord = format!("station:|{AHU1_POINTS}/SupplyTemp");
    let answer = bench
        .answer(
            "readHistory",
            json!({"ord": ord, "from": "2026-10-24", "to": "2026-10-25T12:00:00"}),
        )
        .await;
    assert_eq!(answer["from"], "2026-10-24T00:00:00.000+02:00");
    assert_eq!(answer["to"], "2026-10-25T12:00:00.000+01:00");
    for (from, to) in [("soon", NOW), ("2026-10-25", "2026-10-24")] {
        let (code, _, data) = bench
            .failure("readHistory", json!({"ord": ord, "from": from, "to": to}))
            .await;
        assert_eq!((code, &data["argument"]), (-32602, &json!("from")));
    }
}
