//! The demo site: names, units and data as real sites have them, across the change to winter time in New York.

use chrono::{DateTime, TimeDelta, Utc};
use mock_station::model::accounts::BRIDGE;
use mock_station::model::{PointKind, Station};
use mock_station::site::{Harborview, SiteOptions};
use serde_json::{Value, json};

use crate::history::{assert_record, expected_record};
use crate::points::{check, points};
use crate::support::{Bench, ord_of};

const NOW: &str = "2026-11-02T15:20:00Z";

async fn bench() -> Bench {
    let now: DateTime<Utc> = NOW.parse().unwrap();
    let site = Harborview::build(SiteOptions::for_tests(now)).unwrap();
    Bench::serving(site.station, now, |_| {}, BRIDGE).await
}

#[tokio::test]
async fn points_of_the_site_read_as_the_model_has_them() {
    let bench = bench().await;
    let all = points(&bench.model());
    assert!(all.len() > 300);
    for point in all.into_iter().step_by(5) {
        let ord = ord_of(&bench.model(), point);
        let answer = bench.answer("readPoint", json!({"ord": ord})).await;
        check(&bench.model(), point, &answer);
    }
}

/// Histories that a point here records, with the point's ord: every one that is not numeric, and some that are.
fn some_histories(station: &Station) -> Vec<(String, String)> {
    let mut numeric = 0;
    station
        .histories
        .iter()
        .filter_map(|history| Some((history, history.point?)))
        .filter(|(history, _)| {
            numeric += usize::from(history.kind == PointKind::Numeric);
            history.kind != PointKind::Numeric || numeric % 12 == 0
        })
        .map(|(history, point)| (history.id.clone(), ord_of(station, point)))
        .collect()
}

#[tokio::test]
async fn histories_of_the_site_equal_the_models_across_the_change_to_winter_time() {
    let bench = bench().await;
    let (from, to) = ("2026-10-31T22:00:00Z", "2026-11-01T16:00:00Z");
    let histories = some_histories(&bench.model());
    let mut seen = std::collections::BTreeSet::new();
    for (id, ord) in histories {
        let arguments = json!({"ord": ord, "from": from, "to": to, "limit": 10_000});
        let answer = bench.answer("readHistory", arguments).await;
        let station = bench.model();
        let history = station
            .histories
            .get(answer["historyId"].as_str().unwrap())
            .unwrap();
        let expected = history.records(from.parse().unwrap(), to.parse().unwrap(), station.now());
        assert_eq!(answer["rows"], json!(expected.len()), "{id}");
        for (actual, record) in answer["records"].as_array().unwrap().iter().zip(&expected) {
            assert_record(actual, &expected_record(&station, record));
        }
        seen.insert(history.record_type());
    }
    assert_eq!(seen.len(), 4, "all kinds of history occur: {seen:?}");
}

#[tokio::test]
async fn a_month_of_quarter_hours_is_folded_into_days() {
    let bench = bench().await;
    let (id, ord) = some_histories(&bench.model())
        .into_iter()
        .find(|(id, _)| {
            bench
                .model()
                .histories
                .get(id)
                .is_some_and(|history| history.kind == PointKind::Numeric)
        })
        .unwrap();
    let arguments = json!({"ord": ord, "from": "2026-10-01", "to": NOW, "aggregation": "avg", "bucketSec": 86_400});
    let answer = bench.answer("readHistory", arguments).await;
    let station = bench.model();
    let from: DateTime<Utc> = "2026-10-01T04:00:00Z".parse().unwrap();
    let records = station
        .histories
        .get(&id)
        .unwrap()
        .records(from, station.now(), station.now());
    assert_eq!(answer["count"], json!(records.len()));
    let days = (station.now() - from).num_seconds() / TimeDelta::days(1).num_seconds() + 1;
    assert_eq!(
        answer["buckets"].as_array().unwrap().len(),
        usize::try_from(days).unwrap()
    );
}

#[tokio::test]
async fn the_whole_driver_tree_comes_within_the_cap() {
    let bench = bench().await;
    let answer = bench
        .answer(
            "listChildren",
            json!({"ord": "station:|slot:/Drivers", "depth": 5}),
        )
        .await;
    fn count(node: &Value, level: usize, depth: usize) -> usize {
        let children = node["children"].as_array().map_or(&[][..], Vec::as_slice);
        assert!(level < depth || node.get("children").is_none());
        children
            .iter()
            .map(|child| 1 + count(child, level + 1, depth))
            .sum()
    }
    let station = bench.model();
    fn expected(station: &Station, handle: mock_station::model::Handle, depth: usize) -> usize {
        if depth == 0 {
            return 0;
        }
        station
            .children(handle)
            .map(|child| 1 + expected(station, child.handle(), depth - 1))
            .sum()
    }
    let drivers = station.resolve_component("slot:/Drivers").unwrap();
    assert_eq!(
        count(&answer, 0, 5),
        expected(&station, drivers, 5).min(5000)
    );
}

#[tokio::test]
async fn open_alarms_of_the_site_are_all_there() {
    let bench = bench().await;
    let answer = bench
        .answer("getActiveAlarms", json!({"limit": 1000}))
        .await;
    let station = bench.model();
    let expected: Vec<&str> = station
        .alarms
        .open()
        .map(|alarm| alarm.uuid.as_str())
        .collect();
    let found: Vec<&str> = answer["alarms"]
        .as_array()
        .unwrap()
        .iter()
        .map(|alarm| alarm["uuid"].as_str().unwrap())
        .collect();
    assert_eq!(found, expected);
    assert!(expected.len() > 10);
}

#[tokio::test]
async fn a_very_large_tree_is_cut_at_the_cap_and_says_so() {
    let now: DateTime<Utc> = NOW.parse().unwrap();
    let options = SiteOptions {
        points: 12_000,
        ..SiteOptions::for_tests(now)
    };
    let site = Harborview::build(options).unwrap();
    let bench = Bench::serving(site.station, now, |_| {}, BRIDGE).await;
    let answer = bench
        .answer(
            "listChildren",
            json!({"ord": "station:|slot:/Drivers", "depth": 5}),
        )
        .await;
    fn count(node: &Value) -> usize {
        node["children"].as_array().map_or(0, |children| {
            children.iter().map(|child| 1 + count(child)).sum()
        })
    }
    assert_eq!((count(&answer), &answer["truncated"]), (5000, &json!(true)));
    let found = bench
        .answer(
            "findComponentsByType",
            json!({"typeName": "BControlPoint", "limit": 1000}),
        )
        .await;
    assert_eq!(
        (&found["count"], &found["truncated"]),
        (&json!(1000), &json!(true))
    );
}
