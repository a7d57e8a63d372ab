//! A site of which one history is ingested, with records of the test.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use mock_station::model::Station;
use mock_station::model::history::{CollectionInterval, HistoryRecord, StoredHistory};
use niagara_bridge::trends::ingest::IngestReport;

use crate::ingest_support::Site;

/// The air handler with one role alone, its history given.
pub(super) fn knowledge(more: &str) -> String {
    format!(
        "equipment_types:\n- {{id: ahu}}\nequipment:\n- id: ahu-1\n  type: ahu\n  points: {{supply_air_temp: 'station:|slot:/Drivers/BacnetNetwork/AHU1/points/SAT'}}\n{more}"
    )
}

/// Id of the history of that role.
pub(super) fn history_of(station: &Station) -> String {
    station
        .histories
        .iter()
        .find(|history| {
            history
                .source_ord
                .as_ref()
                .is_some_and(|ord| ord.contains("/AHU1/points/SAT/"))
        })
        .map(|history| history.id.clone())
        .expect("the history of AHU1's SAT")
}

/// Every minute a record from `first` on, counting up.
pub(super) fn records(first: &str, values: std::ops::Range<u32>) -> Vec<HistoryRecord> {
    let first: DateTime<Utc> = first.parse().expect("a time");
    values
        .clone()
        .map(|value| {
            let minutes = TimeDelta::minutes(i64::from(value - values.start));
            HistoryRecord::ok(first + minutes, f64::from(value))
        })
        .collect()
}

pub(super) fn put(
    station: &mut Station,
    records: Vec<HistoryRecord>,
    edit: impl FnOnce(&mut mock_station::model::History),
) {
    let mut history = station
        .histories
        .get(&history_of(station))
        .expect("a history")
        .clone();
    history.records = Arc::new(StoredHistory::new(records));
    history.interval = CollectionInterval::Every(60_000);
    edit(&mut history);
    station.histories.insert(history);
}

pub(super) async fn with_records(records: Vec<HistoryRecord>, more: &str) -> Site {
    Site::edited(
        |station| put(station, records, |_| {}),
        Some(&knowledge(more)),
    )
    .await
}

pub(super) fn said(report: &IngestReport, word: &str) {
    let all: Vec<&str> = report
        .remarks
        .iter()
        .map(|remark| remark.text.as_str())
        .collect();
    assert!(
        all.iter().any(|text| text.contains(word)),
        "{word}: {all:?}"
    );
}
