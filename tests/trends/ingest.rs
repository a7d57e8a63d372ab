//! Histories of mapped points come into the store as the station has them, once, whatever happens to them meanwhile.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use mock_station::model::facets::Facets;
use mock_station::model::history::{CollectionInterval, HistoryRecord, StoredHistory};
use mock_station::model::{Station, Value};
use niagara_bridge::trends::ingest::plan::PlannedPoint;
use niagara_bridge::trends::ingest::sample_rule::DropReason;
use niagara_bridge::trends::ingest::{
    IngestError, IngestOptions, IngestPlan, IngestReport, IngestRequest,
};
use niagara_bridge::trends::site_time::SiteClock;
use niagara_bridge::trends::store::wall_clock::{iso, stamp_of};
use niagara_bridge::trends::store::{FacilityState, Selection};

use crate::ingest_support::{FACILITY, NOW, Site, last_days, run};
use crate::store_support::{id, samples, write};

/// Bits of a status that make a value unusable.
const INVALID: u32 = 0x57;
const HIDDEN: u8 = 0x4;

/// `equip role time value` of every sample that the station's model holds for a plan, sorted.
fn expected(station: &Station, plan: &IngestPlan) -> Vec<String> {
    let (from, to) = (plan.wanted.begin(), plan.wanted.end());
    let clock = SiteClock::new(station.zone());
    let mut lines = Vec::new();
    for point in &plan.points {
        let history = station
            .histories
            .get(point.found.source.history_id().expect("a listed history"))
            .expect("a history of the model");
        if point.held.is_some() {
            lines.extend(shares(station, plan, point, history));
            continue;
        }
        for record in history.records(from, to, station.now()) {
            if record.status & INVALID != 0 || record.trend_flags & HIDDEN != 0 {
                continue;
            }
            let value = match record.value {
                Value::Double(number) => point.found.conversion.apply(number),
                Value::Boolean(on) => f64::from(u8::from(on)),
                other => panic!("{} records {other:?}", history.id),
            };
            let stamp = stamp_of(record.timestamp.with_timezone(&clock.zone()).naive_local());
            let (equip, role) = (&point.mapped.equip, &point.mapped.role.role);
            lines.push(format!(
                "{equip} {role} {} {value}",
                iso(stamp.expect("a stamp"))
            ));
        }
    }
    lines.sort();
    lines
}

/// The share of each quarter of an hour in which a state was on, added up record by record.
fn shares(
    station: &Station,
    plan: &IngestPlan,
    point: &PlannedPoint,
    history: &mock_station::model::History,
) -> Vec<String> {
    const QUARTER: i64 = 900_000;
    let (equip, role) = (&point.mapped.equip, &point.mapped.role.role);
    let clock = SiteClock::new(station.zone());
    let records = history.records(DateTime::UNIX_EPOCH, station.now(), station.now());
    let state = |record: &HistoryRecord| match record.value {
        _ if record.status & INVALID != 0 => None,
        Value::Boolean(on) => Some(f64::from(u8::from(on))),
        ref other => panic!("{} records {other:?}", history.id),
    };
    let changes: Vec<(i64, Option<f64>)> = records
        .iter()
        .filter(|record| record.trend_flags & HIDDEN == 0)
        .map(|record| (record.timestamp.timestamp_millis(), state(record)))
        .collect();
    let mut lines = Vec::new();
    let mut begin = plan.wanted.from.div_euclid(QUARTER) * QUARTER;
    while begin + QUARTER < plan.wanted.to {
        let before = changes.partition_point(|(when, _)| *when <= begin);
        let mut held = before.checked_sub(1).and_then(|last| changes[last].1);
        let (mut at, mut on, mut known, mut greatest) = (begin, 0.0, 0.0, 0.0_f64);
        let inside = changes[before..]
            .iter()
            .take_while(|(when, _)| *when < begin + QUARTER);
        for (when, next) in inside.copied().chain([(begin + QUARTER, None)]) {
            if let Some(value) = held {
                on += value * (when - at) as f64;
                known += (when - at) as f64;
                greatest = greatest.max(value);
            }
            (at, held) = (when, next);
        }
        if known > 0.0 {
            let any_on = ["warmup", "cooldown"].contains(&role.as_str());
            let value = if any_on { greatest } else { on / known };
            let shown = DateTime::from_timestamp_millis(begin).expect("a time");
            let stamp = clock.stamp(shown).expect("a stamp");
            lines.push(format!("{equip} {role} {} {value}", iso(stamp)));
        }
        begin += QUARTER;
    }
    lines
}

#[tokio::test]
async fn the_store_holds_what_the_station_recorded_across_the_change_to_winter_time() {
    let site = Site::new().await;
    let request = last_days(3, site.now());
    let plan = site.plan(&request).await.expect("a plan");
    let table = plan.table();
    assert!(
        table.contains("ahu-1") && table.contains("supply_air_temp") && table.contains("about 288"),
        "{table}"
    );
    let lines = expected(&site.bench.model(), &plan);
    let report = site.ingest(&request).await;
    assert!(report.refused.is_empty(), "{:?}", report.refused);
    let stored = samples(&site.store, FACILITY);
    assert_eq!(report.counts.kept, stored.len() as u64);
    assert!(stored.len() > 3_000, "{}", stored.len());
    // Occupancy changes twice a day, and is told of every quarter of an hour of the three days.
    for role in ["occupancy", "econ_cmd", "warmup", "cooldown"] {
        let of_role = format!("ahu-1 {role} ");
        let told = stored
            .iter()
            .filter(|line| line.starts_with(&of_role))
            .count();
        assert_eq!(told, 3 * 96, "{role}");
    }
    // The hour that the night had twice is there twice.
    let repeated = |line: &&String| line.starts_with("ahu-1 supply_air_temp 2026-11-01T01:30");
    assert_eq!(stored.iter().filter(repeated).count(), 2);
    assert!(report.counts.repeated_hour > 0);
    for (stored, expected) in stored.iter().zip(&lines) {
        assert_eq!(stored, expected);
    }
    assert_eq!(stored.len(), lines.len());

    let registry = site.store.registry();
    let entry = registry.entry(FACILITY).expect("registered");
    assert_eq!(entry.state(), Some(FacilityState::Active));
    assert_eq!(
        entry.time_zone(|_| None).as_deref(),
        Some("America/New_York")
    );
    assert_eq!(entry.name(), Some("Harborview"));
    let series = site
        .store
        .equipment(&id(FACILITY), "ahu-1", &Selection::default())
        .expect("a series");
    assert_eq!(series.equip_class, "AHU");
    let text = report.to_text();
    assert!(
        text.starts_with("Facility harborview (America/New_York): "),
        "{text}"
    );
}

#[tokio::test]
async fn a_second_run_changes_nothing_and_later_ones_bring_what_is_new_and_what_was_before() {
    let site = Site::new().await;
    site.ingest(&last_days(1, site.now())).await;
    let first = samples(&site.store, FACILITY);
    let again = site.ingest(&last_days(1, site.now())).await;
    assert_eq!(
        (again.counts.kept, again.parts),
        (0, 0),
        "{}",
        again.to_text()
    );
    assert_eq!(samples(&site.store, FACILITY), first);

    site.wait(60);
    let later = site.ingest(&last_days(1, site.now())).await;
    assert!(
        later.counts.kept > 0 && later.remarks.is_empty(),
        "{}",
        later.to_text()
    );
    // Days before the first ones: what is stored is not read again.
    let request = last_days(4, site.now());
    let backfill = site.ingest(&request).await;
    let plan = site.plan(&request).await.expect("a plan");
    let lines = expected(&site.bench.model(), &plan);
    let stored = samples(&site.store, FACILITY);
    assert_eq!(stored, lines);
    assert_eq!(
        stored.len() as u64,
        first.len() as u64 + later.counts.kept + backfill.counts.kept
    );
}

#[tokio::test]
async fn a_lost_note_of_progress_doubles_nothing() {
    let site = Site::new().await;
    let request = last_days(2, site.now());
    site.ingest(&request).await;
    let stored = samples(&site.store, FACILITY);
    let note = site.store.root().join(".ingest").join("harborview.json");
    for damage in ["", "{\"schema\": 1, \"points\": 3}"] {
        if damage.is_empty() {
            std::fs::remove_file(&note).expect("the note");
        } else {
            std::fs::write(&note, damage).expect("written");
        }
        site.ingest(&last_days(1, site.now())).await;
        assert_eq!(samples(&site.store, FACILITY), stored, "{damage}");
    }
    site.wait(30);
    let report = site.ingest(&last_days(1, site.now())).await;
    assert!(report.counts.kept > 0);
    assert_eq!(
        samples(&site.store, FACILITY).len() as u64,
        stored.len() as u64 + report.counts.kept
    );
}

#[tokio::test]
async fn force_reads_all_again_and_puts_it_in_the_place_of_what_was_stored() {
    let site = Site::new().await;
    let request = IngestRequest {
        only: Default::default(),
        ..last_days(1, site.now())
    };
    let report = site.ingest(&request).await;
    let stored = samples(&site.store, FACILITY);
    assert!(report.points_with_samples > 200, "{}", report.to_text());
    let forced = IngestRequest {
        force: true,
        ..request.clone()
    };
    let again = site.ingest(&forced).await;
    assert_eq!(again.counts.kept, report.counts.kept);
    assert_eq!(samples(&site.store, FACILITY), stored);
    let third = site.ingest(&request).await;
    assert_eq!(third.counts.kept, 0, "{}", third.to_text());
    let part = IngestRequest {
        force: true,
        ..last_days(1, site.now())
    };
    assert!(matches!(
        site.plan(&part).await,
        Err(IngestError::ForcePart)
    ));
}

#[tokio::test]
async fn a_replacement_that_would_lose_samples_is_refused_unless_that_is_meant() {
    let site = with_records(records("2026-11-01T10:00:00Z", 0..300), "").await;
    let days = |days| IngestRequest {
        only: Default::default(),
        ..last_days(days, site.now())
    };
    site.ingest(&days(2)).await;
    let stored = samples(&site.store, FACILITY);
    assert_eq!(stored.len(), 300);
    // Most of the history has been dropped by the station meanwhile.
    let kept = records("2026-11-01T14:00:00Z", 240..300);
    put(&mut site.bench.mock.station().write(), kept, |_| {});
    let forced = IngestRequest {
        force: true,
        ..days(2)
    };
    let plan = site.plan(&forced).await.expect("a plan");
    let options = IngestOptions::default();
    let error = run(&site.bench.facade, &site.store, plan, &options)
        .await
        .expect_err("less than before")
        .to_string();
    assert!(
        error.contains("holds 60 samples")
            && error.contains("300 are stored")
            && error.contains("--yes"),
        "{error}"
    );
    assert_eq!(samples(&site.store, FACILITY), stored);
    let meant = IngestRequest {
        accept_less: true,
        ..forced
    };
    let report = site.ingest(&meant).await;
    assert!(
        report.to_text().contains("in the place of 300 samples"),
        "{}",
        report.to_text()
    );
    assert_eq!(samples(&site.store, FACILITY).len(), 60);
}

#[tokio::test]
async fn a_station_of_which_nothing_can_be_read_gives_out_no_facility_id() {
    let knowledge = "equipment_types:\n- {id: ahu}\nequipment:\n- id: ahu-1\n  type: ahu\n  points: {oat: 'station:|slot:/Drivers/Elsewhere/T'}\n";
    let site = Site::edited(|_| {}, Some(knowledge)).await;
    let report = site.ingest(&last_days(1, site.now())).await;
    assert_eq!((report.points, report.refused.len()), (0, 1));
    assert!(site.store.registry().entry(FACILITY).is_none());
    let kept = IngestRequest {
        facility: Some(id("ds-office")),
        ..last_days(1, site.now())
    };
    let error = site.plan(&kept).await.expect_err("a name of data sets");
    assert!(error.to_string().contains("begin with ds-"), "{error}");
}

#[tokio::test]
async fn a_record_that_came_twice_is_told_although_the_station_does_not_flag_it() {
    let mut some = records("2026-11-02T10:00:00Z", 0..30);
    some.insert(12, some[11].clone());
    let site = with_records(some, "").await;
    let report = site.ingest(&last_days(1, site.now())).await;
    assert_eq!(report.counts.kept, 31);
    said(&report, "came late or twice, of 2026-11-02T10:11:00");
}

/// The air handler with one role alone, its history given.
fn knowledge(more: &str) -> String {
    format!(
        "equipment_types:\n- {{id: ahu}}\nequipment:\n- id: ahu-1\n  type: ahu\n  points: {{supply_air_temp: 'station:|slot:/Drivers/BacnetNetwork/AHU1/points/SAT'}}\n{more}"
    )
}

/// Id of the history of that role.
fn history_of(station: &Station) -> String {
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
fn records(first: &str, values: std::ops::Range<u32>) -> Vec<HistoryRecord> {
    let first: DateTime<Utc> = first.parse().expect("a time");
    values
        .clone()
        .map(|value| {
            let minutes = TimeDelta::minutes(i64::from(value - values.start));
            HistoryRecord::ok(first + minutes, f64::from(value))
        })
        .collect()
}

fn put(
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

async fn with_records(records: Vec<HistoryRecord>, more: &str) -> Site {
    Site::edited(
        |station| put(station, records, |_| {}),
        Some(&knowledge(more)),
    )
    .await
}

fn said(report: &IngestReport, word: &str) {
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

#[tokio::test]
async fn an_id_that_may_not_be_used_is_refused_before_histories_are_asked_for() {
    let site = Site::new().await;
    let request = last_days(1, site.now());
    site.ingest(&request).await;
    let mut writer = write(&site.store);
    writer.remove(&id(FACILITY), "sold").expect("removed");
    drop(writer);
    site.bench.mock.clear_logs();
    for force in [false, true] {
        let request = IngestRequest {
            only: Default::default(),
            force,
            ..request.clone()
        };
        let error = site.plan(&request).await.expect_err("a removed facility");
        let told = error.to_string();
        assert!(
            told.contains("belonged to a facility that was removed"),
            "{told}"
        );
    }
    let requests = site.bench.mock.requests();
    assert!(
        !requests
            .iter()
            .any(|request| request.target.contains("history")),
        "{requests:?}"
    );
}

#[tokio::test]
async fn a_facility_in_another_zone_is_left_alone() {
    let site = with_records(records("2026-11-02T10:00:00Z", 0..2), "").await;
    site.ingest(&last_days(1, site.now())).await;
    let text =
        std::fs::read_to_string(site.store.root().join("_facilities.json")).expect("a registry");
    let moved = text.replace("America/New_York", "Europe/Berlin");
    std::fs::write(site.store.root().join("_facilities.json"), moved).expect("written");
    let now: DateTime<Utc> = NOW.parse().expect("a time");
    let error = site
        .plan(&last_days(1, now))
        .await
        .expect_err("another zone")
        .to_string();
    assert!(
        error.contains("Europe/Berlin") && error.contains("station.timeZone"),
        "{error}"
    );
}
