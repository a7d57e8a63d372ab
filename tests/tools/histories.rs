//! listHistories tells every history with the settings and the extent that the model has.

use chrono::{DateTime, SecondsFormat, Utc};
use mock_station::faults::{Fault, FaultKind, Interface};
use mock_station::model::accounts::{BRIDGE, OPERATOR};
use mock_station::model::history::CollectionInterval;
use mock_station::model::{History, Station};
use mock_station::site::{Harborview, SiteOptions};
use serde_json::{Value, json};

use crate::support::{Bench, ord_of};
use crate::ways::{WAYS, obix_only};

/// A history by the model; `extent` where oBIX tells it.
fn expected(station: &Station, history: &History) -> Value {
    let local = |time: DateTime<Utc>| {
        station
            .local(time)
            .to_rfc3339_opts(SecondsFormat::Millis, false)
    };
    let mut entry = json!({
        "id": history.id,
        "device": history.device(),
        "recordType": history.record_type(),
        "kind": history.record_type().trim_start_matches("history:").trim_end_matches("TrendRecord").to_lowercase(),
        "timeZone": history.time_zone.name(),
        "interval": history.interval.encode(),
        "capacity": history.capacity_text(),
        "fullPolicy": history.full_policy.tag(),
        "count": history.count(station.now()),
    });
    if let CollectionInterval::Every(millis) = history.interval {
        entry["intervalMs"] = json!(millis);
    }
    if let Some(records) = history.capacity {
        entry["capacityRecords"] = json!(records);
    }
    if let Some(unit) = history.value_facets.unit() {
        entry["units"] = json!(unit.symbol);
    }
    if let Some(source) = &history.source_ord {
        entry["sources"] = json!([source.trim_start_matches("local:|")]);
    }
    if let Some(point) = history.point {
        entry["pointOrd"] = json!(ord_of(station, point));
    }
    if let Some((first, last)) = history.bounds(station.now()) {
        entry["firstTimestamp"] = json!(local(first));
        entry["lastTimestamp"] = json!(local(last));
    }
    entry
}

fn ids(answer: &Value) -> Vec<String> {
    answer["histories"]
        .as_array()
        .unwrap()
        .iter()
        .map(|history| history["id"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn every_history_has_the_settings_of_the_model() {
    for (way, switch) in &WAYS[..2] {
        let bench = Bench::start(switch, |_| {}, BRIDGE).await;
        let answer = bench.answer("listHistories", json!({})).await;
        let station = bench.model();
        let histories: Vec<Value> = station
            .histories
            .iter()
            .map(|history| expected(&station, history))
            .collect();
        assert!(histories.len() >= 5);
        assert_eq!(answer["histories"], json!(histories), "{way}");
        assert_eq!(answer["truncated"], json!(false));
    }
}

#[tokio::test]
async fn display_cells_name_the_same_histories_and_points() {
    let (_, switch) = WAYS[2];
    let bench = Bench::start(switch, |_| {}, BRIDGE).await;
    let answer = bench.answer("listHistories", json!({})).await;
    let station = bench.model();
    for (found, history) in answer["histories"]
        .as_array()
        .unwrap()
        .iter()
        .zip(station.histories.iter())
    {
        let expected = expected(&station, history);
        for key in [
            "id",
            "recordType",
            "kind",
            "pointOrd",
            "sources",
            "units",
            "count",
            "firstTimestamp",
        ] {
            assert_eq!(found[key], expected[key], "{key} of {}", history.id);
        }
    }
}

fn told_by_obix(station: &Station) -> Vec<Value> {
    let mut known: Vec<Value> = station
        .histories
        .iter()
        .map(|history| {
            let all = expected(station, history);
            let mut told = json!({});
            for key in ["id", "device", "count", "firstTimestamp", "lastTimestamp"] {
                if let Some(value) = all.get(key) {
                    told[key] = value.clone();
                }
            }
            told
        })
        .collect();
    known.sort_by_key(|history| history["id"].to_string());
    known
}

#[tokio::test]
async fn obix_alone_tells_names_and_extents() {
    let bench = Bench::with_switches(obix_only).await;
    let answer = bench.answer("listHistories", json!({})).await;
    let mut found = answer["histories"].as_array().unwrap().clone();
    found.sort_by_key(|history| history["id"].to_string());
    assert_eq!(found, told_by_obix(&bench.model()));
    let arguments = json!({"ord": "station:|slot:/Drivers"});
    let (_, message, data) = bench.failure("listHistories", arguments).await;
    assert_eq!(data["kind"], json!("interface-missing"), "{message}");
}

#[tokio::test]
async fn without_the_list_the_extensions_tell_of_local_histories() {
    let bench = Bench::with_switches(|switches| switches.export.history_base = false).await;
    let arguments = json!({"withExtent": false});
    let mut found = ids(&bench.answer("listHistories", arguments).await);
    found.sort();
    let station = bench.model();
    let mut known: Vec<String> = station
        .histories
        .iter()
        .filter(|history| history.point.is_some())
        .map(|history| history.id.clone())
        .collect();
    known.sort();
    assert_eq!(found, known);
}

#[tokio::test]
async fn filters_choose_by_id_text_and_source() {
    let bench = Bench::new().await;
    let all = ids(&bench.answer("listHistories", json!({})).await);
    let matching = |wanted: &dyn Fn(&str) -> bool| -> Vec<String> {
        all.iter().filter(|id| wanted(id)).cloned().collect()
    };
    let answer = bench
        .answer("listHistories", json!({"idPrefix": "/Sample/S"}))
        .await;
    assert_eq!(ids(&answer), matching(&|id| id.starts_with("/Sample/S")));
    assert!(answer["count"].as_u64().unwrap() < all.len() as u64);
    let answer = bench
        .answer("listHistories", json!({"text": "FANSTATUS"}))
        .await;
    assert_eq!(ids(&answer), matching(&|id| id.contains("FanStatus")));
    let ord = "station:|slot:/Drivers/BacnetNetwork/AHU_1/points/Mode";
    let answer = bench.answer("listHistories", json!({"ord": ord})).await;
    assert_eq!(ids(&answer), ["/Sample/Mode"]);
    assert_eq!(answer["histories"][0]["pointOrd"], json!(ord));
    let answer = bench
        .answer("listHistories", json!({"text": "no such thing"}))
        .await;
    assert_eq!(ids(&answer), [""; 0]);
}

#[tokio::test]
async fn pages_make_up_the_whole_list() {
    let bench = Bench::new().await;
    let all = ids(&bench.answer("listHistories", json!({})).await);
    let mut pages = Vec::new();
    let mut offset = json!(0);
    while !offset.is_null() {
        let answer = bench
            .answer("listHistories", json!({"limit": 2, "offset": offset}))
            .await;
        assert!(ids(&answer).len() <= 2);
        offset = answer["nextOffset"].clone();
        pages.extend(ids(&answer));
    }
    assert_eq!(pages, all);
}

#[tokio::test]
async fn an_operator_sees_the_histories_of_what_he_may_read() {
    let bench = Bench::start(|_| {}, |_| {}, OPERATOR).await;
    let found = ids(&bench
        .answer("listHistories", json!({"withExtent": false}))
        .await);
    let station = bench.model();
    let user = station.users.get(OPERATOR.user).unwrap();
    let known: Vec<String> = station
        .histories
        .iter()
        .filter(|history| {
            history
                .point
                .is_none_or(|point| station.can_read(user, point))
        })
        .map(|history| history.id.clone())
        .collect();
    assert_eq!(found, known);
}

/// Pages, as a client asks them: a whole site at once takes a loaded machine longer than a call may last.
#[tokio::test]
async fn the_histories_of_the_site_equal_the_models() {
    let now: DateTime<Utc> = "2026-11-02T15:20:00Z".parse().unwrap();
    let site = Harborview::build(SiteOptions::for_tests(now)).unwrap();
    let bench = Bench::serving(site.station, now, |_| {}, BRIDGE).await;
    let mut listed = Vec::new();
    let mut offset = json!(0);
    while !offset.is_null() {
        let arguments = json!({"limit": 100, "offset": offset});
        let mut answer = bench.answer("listHistories", arguments).await;
        assert_eq!(answer.get("note"), None, "{}", answer["note"]);
        offset = answer["nextOffset"].take();
        listed.extend(answer["histories"].as_array().unwrap().iter().cloned());
    }
    let station = bench.model();
    let known: Vec<Value> = station
        .histories
        .iter()
        .map(|history| expected(&station, history))
        .collect();
    assert!(known.len() > 100);
    assert_eq!(listed, known);
}

/// Extents that did not come are missing with a word, never as if the station had none.
#[tokio::test]
async fn missing_extents_are_told() {
    let bench = Bench::new().await;
    let whole = bench.answer("listHistories", json!({})).await;
    let cut = Fault::new(FaultKind::Cut).on(Interface::Obix);
    bench.mock.faults().set(cut).expect("a fault");
    let answer = bench.answer("listHistories", json!({})).await;
    assert_eq!(answer["count"], whole["count"]);
    let note = answer["note"].as_str().expect("a note");
    let count = answer["histories"].as_array().unwrap().len();
    assert!(
        note.contains(&format!("{count} of {count} histories are missing")),
        "{note}"
    );
    for history in answer["histories"].as_array().unwrap() {
        assert_eq!(history.get("count"), None);
    }
}
