//! Histories of mapped points come into the store as the station has them, once, whatever happens to them meanwhile.

mod facilities;
mod odd_records;
mod one_history;

use chrono::DateTime;
use mock_station::model::history::HistoryRecord;
use mock_station::model::{Station, Value};
use niagara_bridge::trends::ingest::plan::PlannedPoint;
use niagara_bridge::trends::ingest::{IngestError, IngestOptions, IngestPlan, IngestRequest};
use niagara_bridge::trends::site_time::SiteClock;
use niagara_bridge::trends::store::wall_clock::{iso, stamp_of};
use niagara_bridge::trends::store::{FacilityState, Selection};

use self::one_history::{put, records, with_records};
use crate::ingest_support::{FACILITY, Site, last_days, run};
use crate::store_support::{id, samples};

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
