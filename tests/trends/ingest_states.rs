//! States that are recorded when they change are stored as the share of time in which they were on.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use mock_station::model::history::{CollectionInterval, HistoryRecord, StoredHistory};
use mock_station::model::{History, Station, Value};
use niagara_bridge::trends::ingest::{IngestReport, IngestRequest};

use crate::ingest_support::{FACILITY, Site, last_days};
use crate::store_support::samples;

/// An air handler with one role at one of its points.
fn knowledge(role: &str, point: &str) -> String {
    format!(
        "equipment_types:\n- {{id: ahu}}\nequipment:\n- id: ahu-1\n  type: ahu\n  points: {{{role}: 'station:|slot:/Drivers/BacnetNetwork/AHU1/points/{point}'}}\n"
    )
}

fn history_at(station: &Station, point: &str) -> History {
    let below = format!("/AHU1/points/{point}/");
    let found = station.histories.iter().find(|history| {
        let source = history.source_ord.as_ref();
        source.is_some_and(|ord| ord.contains(&below))
    });
    found.expect("a history of the point").clone()
}

fn at(text: &str) -> DateTime<Utc> {
    text.parse().expect("a time")
}

fn change(time: &str, on: bool) -> HistoryRecord {
    HistoryRecord::ok(at(time), Value::Boolean(on))
}

fn put(station: &mut Station, point: &str, records: Vec<HistoryRecord>) {
    let mut history = history_at(station, point);
    history.records = Arc::new(StoredHistory::new(records));
    history.interval = CollectionInterval::Irregular;
    station.histories.insert(history);
}

/// A site whose occupancy was recorded so.
async fn occupied(records: Vec<HistoryRecord>) -> Site {
    Site::edited(
        |station| put(station, "OCC", records),
        Some(&knowledge("occupancy", "OCC")),
    )
    .await
}

/// From a time of the 2nd of November to another, both of New York.
fn between(from: &str, to: &str) -> IngestRequest {
    IngestRequest {
        from: at(&format!("2026-11-02T{from}-05:00")),
        to: Some(at(&format!("2026-11-02T{to}-05:00"))),
        ..last_days(1, at("2026-11-02T15:20:00Z"))
    }
}

/// `05:00 0.5` of every sample of the day.
fn stored(site: &Site) -> Vec<String> {
    samples(&site.store, FACILITY)
        .iter()
        .filter_map(|line| {
            let (_, behind) = line.split_once("2026-11-02T")?;
            Some(format!("{} {}", &behind[..5], &behind[9..]))
        })
        .collect()
}

async fn read(site: &Site, request: &IngestRequest) -> IngestReport {
    let report = site.ingest(request).await;
    assert!(report.refused.is_empty(), "{}", report.to_text());
    report
}

#[tokio::test]
async fn a_short_range_begins_with_the_state_that_holds_then_however_long_ago_it_began() {
    for begun in [
        "2026-11-02T04:50:00-05:00",
        "2026-10-25T06:00:00Z",
        "2019-05-01T12:00:00Z",
    ] {
        let site = occupied(vec![
            change(begun, true),
            change("2026-11-02T05:21:00-05:00", false),
        ])
        .await;
        let report = read(&site, &between("05:00:00", "05:44:59.999")).await;
        assert_eq!(
            stored(&site),
            ["05:00 1", "05:15 0.4", "05:30 0"],
            "{begun}"
        );
        assert_eq!(report.counts.kept, 3);
    }
    // Before the first change of all nothing is known.
    let site = occupied(vec![change("2026-11-02T05:21:00-05:00", true)]).await;
    read(&site, &between("05:00:00", "05:44:59.999")).await;
    assert_eq!(stored(&site), ["05:15 1", "05:30 1"]);
}

#[tokio::test]
async fn runs_one_after_the_other_store_what_one_run_does() {
    let changes: Vec<HistoryRecord> = (0..40)
        .map(|number| {
            let when = at("2026-11-02T09:03:17Z") + TimeDelta::minutes(number * 23 % 480);
            HistoryRecord::ok(when, Value::Boolean(number % 3 != 0))
        })
        .collect();
    let site = occupied(changes.clone()).await;
    read(&site, &last_days(1, site.now())).await;
    let mut runs = 0;
    for minutes in [1, 7, 15, 16, 44, 3, 90] {
        site.wait(minutes);
        let before = samples(&site.store, FACILITY);
        let report = read(&site, &last_days(1, site.now())).await;
        assert!(report.remarks.is_empty(), "{}", report.to_text());
        let after = samples(&site.store, FACILITY);
        assert_eq!(after.len() - before.len(), report.counts.kept as usize);
        // Nothing has happened since.
        let again = read(&site, &last_days(1, site.now())).await;
        assert_eq!((again.counts.kept, again.parts), (0, 0));
        runs += u64::from(report.counts.kept > 0);
    }
    assert!(runs >= 4, "{runs}");
    let whole = occupied(changes).await;
    whole.wait(1 + 7 + 15 + 16 + 44 + 3 + 90);
    read(&whole, &last_days(1, whole.now())).await;
    assert_eq!(
        samples(&site.store, FACILITY),
        samples(&whole.store, FACILITY)
    );
}

#[tokio::test]
async fn days_before_and_a_lost_note_of_progress_fit_without_doubles() {
    let changes = vec![
        change("2026-11-02T04:07:30-05:00", true),
        change("2026-11-02T05:37:30-05:00", false),
        change("2026-11-02T06:40:00-05:00", true),
    ];
    let site = occupied(changes).await;
    read(&site, &between("05:35:00", "05:59:59.999")).await;
    // The first bin is the one in which the range begins.
    assert_eq!(stored(&site), ["05:30 0.5", "05:45 0"]);
    let note = site.store.root().join(".ingest").join("harborview.json");
    std::fs::remove_file(note).expect("the note");
    read(&site, &between("04:00:00", "06:59:59.999")).await;
    assert_eq!(
        stored(&site),
        [
            "04:00 1",
            "04:15 1",
            "04:30 1",
            "04:45 1",
            "05:00 1",
            "05:15 1",
            "05:30 0.5",
            "05:45 0",
            "06:00 0",
            "06:15 0",
            "06:30 0.3333333333333333",
            "06:45 1"
        ]
    );
}

#[tokio::test]
async fn nothing_is_known_from_a_fault_to_the_next_good_record_and_hidden_ones_do_not_count() {
    let mut changes = vec![
        change("2026-11-02T04:00:00-05:00", true),
        change("2026-11-02T05:05:00-05:00", false),
        change("2026-11-02T05:10:00-05:00", false),
        change("2026-11-02T05:40:00-05:00", true),
    ];
    // Down from 05:05 on, and an operator hid the record of 05:10.
    changes[1].status = 0x4;
    changes[2].trend_flags = 0x4;
    let site = occupied(changes).await;
    let report = read(&site, &between("05:00:00", "05:59:59.999")).await;
    assert_eq!(stored(&site), ["05:00 1", "05:30 1", "05:45 1"]);
    assert_eq!(report.counts.dropped_in_all(), 2);
}

#[tokio::test]
async fn a_history_that_comes_from_another_station_is_known_up_to_its_newest_record() {
    let imported = |station: &mut Station| {
        put(
            station,
            "OCC",
            vec![
                change("2026-11-02T04:00:00-05:00", true),
                change("2026-11-02T05:50:00-05:00", false),
            ],
        );
        let mut history = history_at(station, "OCC");
        history.id = "/Jace1/Occ".to_owned();
        station.histories.insert(history);
    };
    let named = format!(
        "{}  histories: {{occupancy: /Jace1/Occ}}\n",
        knowledge("occupancy", "OCC")
    );
    let site = Site::edited(imported, Some(&named)).await;
    let request = IngestRequest {
        to: None,
        ..between("05:00:00", "05:00:00")
    };
    read(&site, &request).await;
    assert_eq!(stored(&site), ["05:00 1", "05:15 1", "05:30 1"]);
    // The rest comes with the next transfer.
    let mut history = history_at(&site.bench.model(), "OCC");
    history.id = "/Jace1/Occ".to_owned();
    history.interval = CollectionInterval::Irregular;
    history.records = Arc::new(StoredHistory::new(vec![
        change("2026-11-02T04:00:00-05:00", true),
        change("2026-11-02T05:50:00-05:00", false),
        change("2026-11-02T06:20:00-05:00", true),
    ]));
    site.bench.mock.station().write().histories.insert(history);
    read(&site, &request).await;
    assert_eq!(
        stored(&site)[3..],
        ["05:45 0.3333333333333333", "06:00 0"],
        "{:?}",
        stored(&site)
    );
}

#[tokio::test]
async fn a_warm_up_at_any_time_counts_for_its_whole_bin() {
    let changes = vec![
        change("2026-11-02T05:01:00-05:00", false),
        change("2026-11-02T05:14:00-05:00", true),
        change("2026-11-02T05:31:00-05:00", false),
    ];
    let site = Site::edited(
        |station| put(station, "WU_MODE", changes),
        Some(&knowledge("warmup", "WU_MODE")),
    )
    .await;
    read(&site, &between("05:00:00", "05:59:59.999")).await;
    assert_eq!(stored(&site), ["05:00 1", "05:15 1", "05:30 1", "05:45 0"]);
}

#[tokio::test]
async fn numbers_are_states_when_they_are_0_and_1_and_are_refused_otherwise() {
    let numbers = |values: &[f64]| -> Vec<HistoryRecord> {
        let first = at("2026-11-02T05:00:00-05:00");
        let minutes = (0..).step_by(15).map(TimeDelta::minutes);
        let records = minutes.zip(values);
        records
            .map(|(minutes, value)| HistoryRecord::ok(first + minutes, *value))
            .collect()
    };
    let fan = knowledge("supply_fan_status", "SAT_REQ");
    let request = between("05:00:00", "05:44:59.999");
    let good = numbers(&[1.0, 0.0, 1.0]);
    let site = Site::edited(|station| put(station, "SAT_REQ", good), Some(&fan)).await;
    read(&site, &request).await;
    assert_eq!(stored(&site), ["05:00 1", "05:15 0", "05:30 1"]);
    for regular in [true, false] {
        let edit = |station: &mut Station| {
            put(station, "SAT_REQ", numbers(&[1.0, 0.0, 55.0]));
            if regular {
                let mut history = history_at(station, "SAT_REQ");
                history.interval = CollectionInterval::Every(900_000);
                station.histories.insert(history);
            }
        };
        let site = Site::edited(edit, Some(&fan)).await;
        let report = site.ingest(&request).await;
        assert_eq!((report.counts.kept, report.refused.len()), (0, 1));
        let text = report.to_text();
        assert!(
            text.contains("numbers other than 0 and 1, such as 55 at 2026-11-02T10:30:00"),
            "{text}"
        );
        assert!(!site.store.root().join("facility_id=harborview").exists());
    }
    // A speed is refused by its unit, before anything is read.
    let site = Site::edited(|_| {}, Some(&knowledge("supply_fan_status", "SF_SPD"))).await;
    let plan = site.plan(&request).await.expect("a plan");
    assert!(plan.points.is_empty());
    let table = plan.table();
    assert!(
        table.contains("in percent, and supply_fan_status is a state"),
        "{table}"
    );
}

#[tokio::test]
async fn the_bins_are_those_of_the_other_histories_and_stay_what_they_were() {
    let minutes = |station: &mut Station, minutes: i64| {
        let all: Vec<History> = station.histories.iter().cloned().collect();
        for mut history in all {
            if matches!(history.interval, CollectionInterval::Every(_)) {
                history.interval = CollectionInterval::Every(minutes * 60_000);
                station.histories.insert(history);
            }
        }
    };
    let site = Site::edited(
        |station| {
            minutes(station, 30);
            put(
                station,
                "OCC",
                vec![change("2026-11-02T04:12:00-05:00", true)],
            );
        },
        Some(&knowledge("occupancy", "OCC")),
    )
    .await;
    let table = site
        .plan(&between("04:00:00", "04:59:59.999"))
        .await
        .expect("a plan")
        .table();
    assert!(table.contains("changes → 0/1 per 30min"), "{table}");
    read(&site, &between("04:00:00", "04:59:59.999")).await;
    minutes(&mut site.bench.mock.station().write(), 5);
    read(&site, &between("04:00:00", "05:59:59.999")).await;
    assert_eq!(stored(&site), ["04:00 1", "04:30 1", "05:00 1", "05:30 1"]);
}

#[tokio::test]
async fn a_history_of_changes_that_was_cleared_is_not_known_until_its_next_record() {
    let site = occupied(vec![change("2026-11-02T04:00:00-05:00", true)]).await;
    read(&site, &between("05:00:00", "05:29:59.999")).await;
    let later = vec![change("2026-11-02T06:00:00-05:00", false)];
    put(&mut site.bench.mock.station().write(), "OCC", later);
    let report = read(&site, &between("05:00:00", "06:29:59.999")).await;
    let text = report.to_text();
    assert!(
        text.contains("was cleared or renewed after 2026-11-02T09:00:00"),
        "{text}"
    );
    assert_eq!(stored(&site), ["05:00 1", "05:15 1", "06:00 0", "06:15 0"]);
}

#[tokio::test]
async fn a_station_whose_clock_is_slow_is_not_told_what_it_has_not_recorded() {
    let site = occupied(vec![
        change("2026-11-02T04:00:00-05:00", true),
        change("2026-11-02T10:05:00-05:00", false),
    ])
    .await;
    // It is 10:20 for the bridge and 10:01 for the station.
    site.bench
        .mock
        .station()
        .jump_clock(TimeDelta::minutes(-19));
    read(&site, &last_days(1, site.now())).await;
    let last = stored(&site).pop();
    assert_eq!(last.as_deref(), Some("09:45 1"));
    site.bench.mock.station().jump_clock(TimeDelta::minutes(19));
    site.wait(16);
    read(&site, &last_days(1, site.now())).await;
    let told = stored(&site);
    assert_eq!(
        told[told.len() - 2..],
        ["10:00 0.3333333333333333", "10:15 0"]
    );
}
