//! Records that are odd, lost, renamed or in another unit: what of them is stored, and what is said.

use std::sync::Arc;

use mock_station::model::facets::Facets;
use mock_station::model::history::HistoryRecord;
use mock_station::model::{Station, Value};
use niagara_bridge::trends::ingest::sample_rule::DropReason;

use crate::ingest_support::{FACILITY, Site, last_days};
use crate::store_support::samples;

use super::HIDDEN;
use super::one_history::{history_of, knowledge, put, records, said, with_records};

#[tokio::test]
async fn a_record_that_came_twice_is_told_although_the_station_does_not_flag_it() {
    let mut some = records("2026-11-02T10:00:00Z", 0..30);
    some.insert(12, some[11].clone());
    let site = with_records(some, "").await;
    let report = site.ingest(&last_days(1, site.now())).await;
    assert_eq!(report.counts.kept, 31);
    said(&report, "came late or twice, of 2026-11-02T10:11:00");
}

#[tokio::test]
async fn records_that_are_no_samples_are_counted_by_reason() {
    let mut some = records("2026-11-02T10:00:00Z", 0..10);
    some[1].status = 0x4;
    some[2].status = 0x40;
    some[3].trend_flags = HIDDEN;
    some[4].value = Value::Double(f64::NAN);
    some[5].trend_flags = 0x2;
    some[6].status = 0x8;
    some.remove(8);
    let site = with_records(some, "").await;
    let report = site.ingest(&last_days(1, site.now())).await;
    assert_eq!(
        (report.counts.kept, report.records, report.gaps),
        (5, 9, 2),
        "{}",
        report.to_text()
    );
    let dropped: Vec<(DropReason, u64)> = report.counts.dropped.clone().into_iter().collect();
    assert_eq!(
        dropped,
        [
            (DropReason::Down, 1),
            (DropReason::Null, 1),
            (DropReason::Hidden, 1),
            (DropReason::NotANumber, 1)
        ]
    );
    said(
        &report,
        "holds a record that came late or twice, of 2026-11-02T10:05:00+00:00",
    );
    assert_eq!(report.remarks.len(), 1, "{}", report.to_text());
}

#[tokio::test]
async fn a_clock_that_was_put_back_is_told_once_and_late_records_are_not_taken_for_it() {
    const OUT_OF_ORDER: u8 = 0x2;
    let mut some = records("2026-11-02T10:00:00Z", 0..120);
    for late in [7, 40, 90] {
        some[late].trend_flags = OUT_OF_ORDER;
    }
    let site = with_records(some.clone(), "").await;
    let report = site.ingest(&last_days(1, site.now())).await;
    assert_eq!(report.counts.out_of_order, 3);
    assert_eq!(report.remarks.len(), 1, "{}", report.to_text());
    said(&report, "holds 3 records that came late or twice");
    // At eleven the clock was put back by half an hour.
    let again = records("2026-11-02T10:30:30Z", 0..30);
    some.extend(again.into_iter().map(|record| HistoryRecord {
        trend_flags: OUT_OF_ORDER,
        ..record
    }));
    let site = with_records(some, "").await;
    let report = site.ingest(&last_days(1, site.now())).await;
    assert_eq!(report.counts.kept, 150);
    assert_eq!(report.remarks.len(), 2, "{}", report.to_text());
    said(
        &report,
        "two records for each moment from 2026-11-02T10:30:30+00:00 to 2026-11-02T10:59:30+00:00: the station's clock was",
    );
    said(&report, "holds 2 records that came late or twice");
}

#[tokio::test]
async fn a_history_that_was_cleared_goes_on_and_that_is_said() {
    let site = with_records(records("2026-11-02T10:00:00Z", 0..60), "").await;
    site.ingest(&last_days(1, site.now())).await;
    let later = records("2026-11-02T15:25:00Z", 100..110);
    put(&mut site.bench.mock.station().write(), later, |_| {});
    site.wait(30);
    let report = site.ingest(&last_days(1, site.now())).await;
    assert_eq!(report.counts.kept, 10, "{}", report.to_text());
    said(&report, "was cleared or renewed");
    assert_eq!(samples(&site.store, FACILITY).len(), 70);
    let quiet = site.ingest(&last_days(1, site.now())).await;
    assert!(quiet.remarks.is_empty(), "{}", quiet.to_text());
}

#[tokio::test]
async fn a_small_history_tells_how_far_it_reaches_and_what_was_lost_when_it_rolled_over() {
    let site = Site::edited(
        |station| {
            put(
                station,
                records("2026-11-02T10:00:00Z", 0..400),
                |history| {
                    history.capacity = Some(100);
                },
            );
        },
        Some(&knowledge("")),
    )
    .await;
    // 320 of the records are there by now, and the last 100 are kept.
    let report = site.ingest(&last_days(1, site.now())).await;
    assert_eq!(report.counts.kept, 100, "{}", report.to_text());
    said(
        &report,
        "its last 100 records only, which reach back 99 minutes",
    );
    let all = records("2026-11-02T10:00:00Z", 0..1000);
    put(&mut site.bench.mock.station().write(), all, |history| {
        history.capacity = Some(100)
    });
    site.wait(300);
    let report = site.ingest(&last_days(1, site.now())).await;
    assert_eq!(report.counts.kept, 100);
    said(
        &report,
        "has rolled over since the last ingest: records between",
    );
}

#[tokio::test]
async fn a_history_under_a_new_name_goes_on_where_the_old_one_was_left() {
    let some = records("2026-11-02T10:00:00Z", 0..60);
    let mut site = with_records(some, "").await;
    site.ingest(&last_days(1, site.now())).await;
    let old = history_of(&site.bench.model());
    put(
        &mut site.bench.mock.station().write(),
        records("2026-11-02T10:00:00Z", 0..80),
        |history| {
            history.id = "/Harborview/NewName".to_owned();
        },
    );
    let (knowledge, named) = (
        knowledge("  histories: {supply_air_temp: /Harborview/NewName}\n"),
        last_days(1, site.now()),
    );
    let (_, tree) = niagara_bridge::knowledge::format::parse("test", &knowledge).expect("YAML");
    let document = niagara_bridge::knowledge::decode::decode("test", tree)
        .expect("a model")
        .document;
    site.knowledge = niagara_bridge::knowledge::KnowledgeModel::new(document);
    let report = site.ingest(&named).await;
    assert_eq!(report.counts.kept, 20, "{}", report.to_text());
    said(
        &report,
        &format!("was read from {old} and goes on with /Harborview/NewName"),
    );
}

#[tokio::test]
async fn a_celsius_history_is_stored_in_fahrenheit_and_contradictory_ones_are_not() {
    let in_celsius = |station: &mut Station, of_point: bool| {
        put(
            station,
            records("2026-11-02T10:00:00Z", 20..22),
            |history| {
                history.value_facets = Facets::numeric("celsius", 1);
            },
        );
        if of_point {
            set_unit_of_point(station, "celsius");
        }
    };
    // The point shows degrees Fahrenheit: which of the two is right, nobody knows; then both show Celsius, and the file
    // says otherwise.
    for (both, units) in [
        (false, ""),
        (true, "  units: {supply_air_temp: degF}\n"),
        (true, "  units: {supply_air_temp: kW}\n"),
        (false, "  units: {supply_air_temp: kelvin}\n"),
    ] {
        let edit = |station: &mut Station| in_celsius(station, both);
        let site = Site::edited(edit, Some(&knowledge(units))).await;
        let report = site.ingest(&last_days(1, site.now())).await;
        assert_eq!(
            (report.counts.kept, report.refused.len()),
            (0, 1),
            "{units}"
        );
        let reason = &report.refused[0].reason;
        assert!(
            reason.contains("celsius") || reason.contains("contradicts"),
            "{reason}"
        );
        assert!(
            report
                .to_text()
                .contains("Not ingested: ahu-1 supply_air_temp: ")
        );
    }
    for (both, units) in [
        (true, ""),
        (true, "  units: {supply_air_temp: degC}\n"),
        (false, "  units: {supply_air_temp: celsius}\n"),
    ] {
        let edit = |station: &mut Station| in_celsius(station, both);
        let site = Site::edited(edit, Some(&knowledge(units))).await;
        let report = site.ingest(&last_days(1, site.now())).await;
        assert_eq!(report.remarks.is_empty(), both, "{}", report.to_text());
        assert_eq!(
            samples(&site.store, FACILITY),
            [
                "ahu-1 supply_air_temp 2026-11-02T05:00:00 68",
                "ahu-1 supply_air_temp 2026-11-02T05:01:00 69.8"
            ]
        );
    }
}

fn set_unit_of_point(station: &mut Station, unit: &str) {
    let point = station
        .histories
        .get(&history_of(station))
        .and_then(|history| history.point)
        .expect("the point of the history");
    let facets = Value::Facets(Arc::new(Facets::numeric(unit, 1)));
    station
        .set(point, "facets", facets)
        .expect("a slot of the point");
}
