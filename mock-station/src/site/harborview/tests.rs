//! The station of the demo site holds what its simulation says, and what its truth model promises.

use super::*;
use crate::model::accounts;
use crate::model::history::trend_flags;
use crate::model::{AckState, Handle, SourceState, Status, Value};
use crate::site::sim::building::STARVED_ZONE;
use crate::site::sim::calendar::QUARTER_MS;
use chrono::{DateTime, TimeDelta, Utc};
use std::collections::HashSet;
use std::sync::OnceLock;

fn at(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

fn now() -> DateTime<Utc> {
    at("2026-11-30T22:00:00Z")
}

fn harborview() -> &'static Site {
    static SITE: OnceLock<Site> = OnceLock::new();
    SITE.get_or_init(|| Harborview::build(SiteOptions::for_tests(now())).unwrap())
}

fn point(site: &Site, id: &str, role: &str) -> Handle {
    let path = &site.truth.equipment(id).unwrap().roles[role];
    site.station
        .resolve_component(&format!("station:|{path}"))
        .unwrap()
}

#[test]
fn the_site_has_the_equipment_of_its_description() {
    let site = harborview();
    let count = |class: &str| {
        site.truth
            .equipment
            .iter()
            .filter(|equipment| equipment.class == class)
            .count()
    };
    assert_eq!(
        (
            count("AHU"),
            count("VAV"),
            count("Chiller"),
            count("Boiler")
        ),
        (3, 24, 2, 2)
    );
    assert_eq!(
        (
            count("CoolingTower"),
            count("HeatPump"),
            count("Weather"),
            count("Meter")
        ),
        (1, 2, 1, 2)
    );
    let area = site.buildings[0].area() * 0.0929;
    assert!((5_000.0..6_000.0).contains(&area), "{area} m²");
}

#[test]
fn every_role_of_the_truth_model_is_a_point_with_a_value() {
    let site = harborview();
    for equipment in &site.truth.equipment {
        for (role, path) in &equipment.roles {
            let handle = site
                .station
                .resolve_component(&format!("station:|{path}"))
                .unwrap();
            assert!(
                site.station.out(handle).is_some(),
                "{} {role} at {path}",
                equipment.id
            );
            assert_eq!(&site.station.slot_path(handle), path);
        }
        for id in equipment.histories.values() {
            assert!(site.station.histories.get(id).is_some(), "{id}");
        }
    }
}

#[test]
fn a_history_equals_the_live_value_at_every_sample_instant() {
    let mut site = Harborview::build(SiteOptions::for_tests(now())).unwrap();
    for (id, role) in [
        ("VAV-2-05", "space_temp"),
        ("AHU-3", "supply_air_temp"),
        ("B-2", "boiler_status"),
        ("HP-1", "compressor_stage"),
    ] {
        let handle = point(&site, id, role);
        let history = site.truth.equipment(id).unwrap().histories[role].clone();
        for quarter in 0..40 {
            let instant =
                at("2026-11-12T10:00:00Z") + TimeDelta::milliseconds(quarter * QUARTER_MS);
            site.station.tick(instant);
            let (value, status) = site.station.out(handle).unwrap();
            let records =
                site.station
                    .histories
                    .get(&history)
                    .unwrap()
                    .records(instant, instant, now());
            assert_eq!(records[0].value, value, "{history} at {instant}");
            assert_eq!(
                records[0].status,
                status.bits & !(Status::ALARM | Status::UNACKED_ALARM),
                "{history} at {instant}"
            );
        }
    }
}

#[test]
fn two_stations_of_one_seed_have_the_same_histories_and_alarms() {
    let options = SiteOptions::for_tests(now());
    let (first, second) = (harborview(), Harborview::build(options).unwrap());
    let week = (now() - TimeDelta::days(7), now());
    for id in [
        "/Harborview/AHU1_SAT",
        "/Harborview/Elec_Main_kWh_Total",
        "/Harborview/AHU1_OCC",
    ] {
        let read = |site: &Site| {
            site.station
                .histories
                .get(id)
                .unwrap()
                .records(week.0, week.1, now())
        };
        assert!(!read(first).is_empty());
        assert_eq!(read(first), read(&second), "{id}");
    }
    assert!(first.station.alarms.iter().eq(second.station.alarms.iter()));
    let other = Harborview::build(SiteOptions { seed: 7, ..options }).unwrap();
    let sat = |site: &Site| {
        site.station
            .histories
            .get("/Harborview/AHU1_SAT")
            .unwrap()
            .records(week.0, week.1, now())
    };
    assert_ne!(sat(first), sat(&other));
}

#[test]
fn four_hundred_days_of_quarters_are_on_record() {
    let history = harborview()
        .station
        .histories
        .get("/Harborview/AHU1_MAT")
        .unwrap();
    let (first, last) = history.bounds(now()).unwrap();
    assert_eq!((now() - first).num_days(), 400);
    assert_eq!(last, now());
    let count = history.count(now());
    assert!((38_000..=38_401 + 40).contains(&count), "{count}");
    let records = history.records(first, now(), now());
    assert_eq!(records.len(), count);
    assert!(
        records
            .windows(2)
            .all(|pair| pair[0].timestamp <= pair[1].timestamp)
    );
    assert_eq!(
        records[0].trend_flags & trend_flags::START,
        trend_flags::START
    );
}

#[test]
fn a_history_grows_with_the_clock() {
    let history = harborview()
        .station
        .histories
        .get("/Harborview/AHU1_MAT")
        .unwrap();
    let later = now() + TimeDelta::hours(5);
    assert!(
        history
            .records(now() + TimeDelta::seconds(1), later, now())
            .is_empty()
    );
    assert_eq!(
        history
            .records(now() + TimeDelta::seconds(1), later, later)
            .len(),
        20
    );
}

#[test]
fn the_repeated_hour_of_autumn_has_eight_quarters_of_wall_clock_time() {
    let history = harborview()
        .station
        .histories
        .get("/Harborview/Roof_JACE_OA-T".replace('-', "$2d").as_str())
        .unwrap();
    let records = history.records(
        at("2025-11-02T05:00:00Z"),
        at("2025-11-02T06:45:00Z"),
        now(),
    );
    let local: Vec<String> = records
        .iter()
        .map(|record| {
            record
                .timestamp
                .with_timezone(&chrono_tz::America::New_York)
                .format("%H:%M %Z")
                .to_string()
        })
        .collect();
    assert_eq!(
        local,
        [
            "01:00 EDT",
            "01:15 EDT",
            "01:30 EDT",
            "01:45 EDT",
            "01:00 EST",
            "01:15 EST",
            "01:30 EST",
            "01:45 EST"
        ]
    );
    let values: HashSet<String> = records.iter().map(|record| record.value.encode()).collect();
    assert_eq!(values.len(), 8);
}

#[test]
fn occupancy_is_recorded_when_it_changes_and_holidays_are_empty() {
    let history = harborview()
        .station
        .histories
        .get("/Harborview/AHU1_OCC")
        .unwrap();
    let week = history.records(
        at("2026-11-16T05:00:00Z"),
        at("2026-11-21T05:00:00Z"),
        now(),
    );
    let states: Vec<(String, bool)> = week
        .iter()
        .map(|record| {
            (
                record
                    .timestamp
                    .with_timezone(&chrono_tz::America::New_York)
                    .format("%a %H:%M:%S")
                    .to_string(),
                record.value.as_bool().unwrap(),
            )
        })
        .collect();
    assert_eq!(states.len(), 10);
    assert_eq!(states[0], ("Mon 07:00:00".to_owned(), true));
    assert_eq!(states[9], ("Fri 18:00:00".to_owned(), false));
    assert!(
        history
            .records(
                at("2026-11-26T05:00:00Z"),
                at("2026-11-28T05:00:00Z"),
                now()
            )
            .is_empty(),
        "Thanksgiving"
    );
    assert_eq!(
        history.count(now()),
        history
            .records(now() - TimeDelta::days(500), now(), now())
            .len()
    );
}

#[test]
fn live_occupancy_comes_from_the_schedule_and_agrees_with_the_simulation() {
    let mut site = Harborview::build(SiteOptions::for_tests(now())).unwrap();
    let occupancy = point(&site, "AHU-2", "occupancy");
    for (instant, expected) in [
        ("2026-12-01T13:00:00Z", true),
        ("2026-12-01T23:30:00Z", false),
        ("2026-12-25T16:00:00Z", false),
        ("2026-12-05T16:00:00Z", false),
    ] {
        site.station.tick(at(instant));
        let (value, status) = site.station.out(occupancy).unwrap();
        assert_eq!(
            (value, status.active_level()),
            (Value::Boolean(expected), Some(10)),
            "{instant}"
        );
    }
}

#[test]
fn bad_samples_gaps_and_duplicates_occur_but_are_rare() {
    let site = harborview();
    let (mut records, mut bad, mut duplicates, mut flagged, mut restarts) =
        (0, HashSet::new(), 0, 0, 0);
    for history in site
        .station
        .histories
        .iter()
        .filter(|history| history.name().contains("VAV"))
    {
        let all = history.records(now() - TimeDelta::days(60), now(), now());
        records += all.len();
        bad.extend(
            all.iter()
                .filter(|record| record.status != 0)
                .map(|record| record.status),
        );
        duplicates += all
            .windows(2)
            .filter(|pair| pair[0].timestamp == pair[1].timestamp)
            .count();
        flagged += all
            .iter()
            .filter(|record| {
                record.trend_flags & (trend_flags::HIDDEN | trend_flags::OUT_OF_ORDER) != 0
            })
            .count();
        restarts += all
            .iter()
            .filter(|record| record.trend_flags & trend_flags::START != 0)
            .count();
    }
    assert!(bad.len() >= 3, "status {bad:?}");
    assert!(
        duplicates > 3 && duplicates < records / 1000,
        "{duplicates} of {records}"
    );
    assert!(flagged > 3 && flagged < records / 500, "{flagged}");
    assert!(restarts > 0);
}

#[test]
fn one_history_is_empty_and_one_is_a_small_ring() {
    let site = harborview();
    let empty = site
        .station
        .histories
        .get("/Harborview/Elec_Main_Amps_C")
        .unwrap();
    assert_eq!((empty.count(now()), empty.bounds(now())), (0, None));
    let ring = site
        .station
        .histories
        .get("/Harborview/Elec_Main_kW_Recent")
        .unwrap();
    let (first, _) = ring.bounds(now()).unwrap();
    assert_eq!(ring.count(now()), 500);
    assert!(now() - first < TimeDelta::days(6));
}

#[test]
fn histories_of_another_station_are_imported() {
    let histories = &harborview().station.histories;
    assert_eq!(histories.devices(), ["Harborview", "Roof_JACE"]);
    let imported = histories.get("/Roof_JACE/OA$2dT").unwrap();
    assert_eq!(
        (imported.point, imported.source_ord.as_deref()),
        (None, None)
    );
    assert_eq!(imported.records(now(), now(), now()).len(), 1);
}

#[test]
fn about_forty_alarms_stand_in_every_state_and_come_from_points_of_the_site() {
    let station = &harborview().station;
    let alarms: Vec<_> = station.alarms.iter().collect();
    assert_eq!((alarms.len(), station.alarms.archive().count()), (40, 8));
    let states: HashSet<(SourceState, AckState)> = alarms
        .iter()
        .map(|alarm| (alarm.source_state, alarm.ack_state))
        .collect();
    assert_eq!(states.len(), 12);
    let classes: HashSet<&str> = alarms
        .iter()
        .map(|alarm| alarm.alarm_class.as_str())
        .collect();
    assert!(classes.len() >= 3, "{classes:?}");
    for alarm in alarms {
        assert!(now() - alarm.timestamp <= TimeDelta::days(60) && alarm.last_update <= now());
        let extension = station.resolve_component(&alarm.source[0]).unwrap();
        assert_eq!(
            station.component(extension).unwrap().ty().spec(),
            "alarm:AlarmSourceExt"
        );
    }
}

#[test]
fn names_units_and_dead_points_are_those_of_a_real_database() {
    let station = &harborview().station;
    let resolve = |path: &str| {
        station
            .resolve_component(&format!("station:|slot:/Drivers/BacnetNetwork/{path}"))
            .unwrap()
    };
    let misspelt = resolve("$32nd$20Floor$20VAVs/VAV_2_07/points/DischAirTemp");
    assert_eq!(station.facets(misspelt).unit().unwrap().name, "farenheit");
    let metric = resolve("AHU$2d3$20Roof/points/DA$2dT");
    assert_eq!(station.facets(metric).unit().unwrap().name, "celsius");
    assert!(station.out(metric).unwrap().0.as_f64().unwrap() < 30.0);
    assert_eq!(
        station.display_name(resolve("$33rd$20Floor$20VAVs/$33$2d07$20VAV/points/RmTmp")),
        "Température de zone"
    );
    let spare = resolve("$31st$20Floor$20VAVs/VAV$2d1$2d09$20$28spare$29/points/ZN$2dT");
    assert_eq!(
        station.out(spare).unwrap().1.bits,
        Status::DOWN | Status::STALE
    );
    let null = resolve("AHU1/points/LoadShedCmd");
    assert!(station.out(null).unwrap().1.has(Status::NULL));
    assert!(
        station
            .out(resolve("AHU1/points/Enthalpy"))
            .unwrap()
            .0
            .as_f64()
            .unwrap()
            .is_nan()
    );
    let twice: Vec<String> = station
        .children(station.parent(null).unwrap())
        .map(|child| station.display_name(child.handle()))
        .filter(|name| name == "Supply Air Temp")
        .collect();
    assert_eq!(twice.len(), 2);
}

#[test]
fn more_points_are_more_buildings_without_planted_faults() {
    let site = Harborview::build(SiteOptions {
        points: 2_000,
        ..SiteOptions::for_tests(now())
    })
    .unwrap();
    let points: usize = site
        .placed
        .iter()
        .map(|equipment| equipment.points.len())
        .sum();
    assert!((1_700..2_300).contains(&points), "{points} points");
    assert_eq!(
        site.buildings.len(),
        site.truth
            .equipment
            .iter()
            .filter(|equipment| equipment.id.ends_with("CT-1"))
            .count()
    );
    assert!(site.truth.healthy.iter().any(|id| id == "B03-AHU-1"));
    let ratio = |building: usize| {
        use crate::site::sim::signal::{Signal, ZoneSignal};
        let instant = at("2026-09-16T18:00:00Z").timestamp_millis();
        let read =
            |signal| site.buildings[building].value(Signal::Zone(STARVED_ZONE, signal), instant);
        read(ZoneSignal::Airflow) / read(ZoneSignal::AirflowSetpoint)
    };
    assert!(ratio(0) < 0.7 && ratio(1) > 0.95);
}

#[test]
fn the_operator_works_on_ahu_1_and_sees_nothing_else() {
    let site = harborview();
    let operator = site.station.users.get(accounts::OPERATOR.user).unwrap();
    assert!(
        site.station
            .can_read(operator, point(site, "AHU-1", "supply_air_temp"))
    );
    assert!(
        !site
            .station
            .can_read(operator, point(site, "AHU-2", "supply_air_temp"))
    );
}

/// The description that other tests read; `WRITE_TRUTH=1` writes it anew.
#[test]
fn the_written_truth_model_is_the_one_in_the_code() {
    let site = Harborview::build(SiteOptions::for_tests(at("2026-01-15T17:00:00Z"))).unwrap();
    let text = serde_json::to_string_pretty(&site.truth).unwrap() + "\n";
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/data/site-harborview-truth.json"
    );
    if std::env::var_os("WRITE_TRUTH").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    assert!(
        std::fs::read_to_string(path).unwrap().replace("\r\n", "\n") == text,
        "run this test with WRITE_TRUTH=1 and review the change"
    );
}

#[test]
fn the_fault_list_for_people_names_every_fault_place_and_rule() {
    let text = include_str!("../../../FAULTS.md");
    let site = harborview();
    for fault in &site.truth.faults {
        assert!(text.contains(&fault.name), "{}", fault.name);
        for rule in &fault.rules {
            assert!(text.contains(rule.as_str()), "{rule}");
        }
        for id in &fault.equipment {
            let path = site
                .truth
                .equipment(id)
                .unwrap()
                .roles
                .values()
                .next()
                .unwrap();
            let device = path
                .trim_start_matches("slot:/Drivers/BacnetNetwork/")
                .split("/points")
                .next()
                .unwrap();
            assert!(text.contains(device), "{id} at {device}");
        }
    }
}
