//! The station of Lakeside holds what its simulation says, under the names of its engineers, on the clock of Berlin.

use super::*;
use crate::model::{Handle, SourceState, Status, Value, accounts};
use crate::site::measure::Measure;
use chrono::{DateTime, TimeDelta, Utc};
use std::collections::HashSet;
use std::sync::OnceLock;

fn at(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

fn now() -> DateTime<Utc> {
    at("2026-11-30T16:00:00Z")
}

fn options() -> SiteOptions {
    SiteOptions::for_tests(now())
}

fn lakeside() -> &'static Site {
    static SITE: OnceLock<Site> = OnceLock::new();
    SITE.get_or_init(|| Lakeside::build(options()).unwrap())
}

fn point(site: &Site, id: &str, role: &str) -> Handle {
    let path = &site.truth.equipment(id).unwrap().roles[role];
    site.station
        .resolve_component(&format!("station:|{path}"))
        .unwrap()
}

#[test]
fn the_site_has_the_equipment_of_its_description() {
    let site = lakeside();
    let count = |class: &str| {
        let all = site.truth.equipment.iter();
        all.filter(|equipment| equipment.class == class).count()
    };
    let counts = [
        "AHU",
        "VAV",
        "Chiller",
        "Boiler",
        "HWPump",
        "HeatPump",
        "WaterHeater",
    ]
    .map(count);
    assert_eq!(counts, [3, 24, 2, 2, 4, 2, 1]);
    assert_eq!(
        (site.station.name().as_str(), site.truth.time_zone.as_str()),
        ("Lakeside", "Europe/Berlin")
    );
}

#[test]
fn every_role_of_the_truth_model_is_a_point_with_a_value_and_a_history() {
    let site = lakeside();
    let mut histories = HashSet::new();
    for equipment in &site.truth.equipment {
        for (role, path) in &equipment.roles {
            let handle = point(site, &equipment.id, role);
            assert!(
                site.station.out(handle).is_some(),
                "{} {role}",
                equipment.id
            );
            assert_eq!(&site.station.slot_path(handle), path);
        }
        for id in equipment.histories.values() {
            assert!(site.station.histories.get(id).is_some(), "{id}");
            assert!(histories.insert(id), "{id} belongs to two points");
        }
    }
}

#[test]
fn drivers_names_and_tree_are_not_those_of_harborview() {
    let site = lakeside();
    for (id, role, expected) in [
        (
            "RLT-1",
            "oa_damper",
            "slot:/Drivers/BACnet_Anlagen/L$fcftung/RLT01$20Erdgescho$df/points/Au$dfenluftklappe",
        ),
        (
            "RLT-3",
            "supply_air_temp",
            "slot:/Drivers/BACnet_Anlagen/L$fcftung/RLT03$20$282$2eOG$29/points/T$20Zuluft",
        ),
        (
            "R-0.03",
            "space_temp",
            "slot:/Drivers/Etagenregler/ISP_EG/points/Raum$200$2e03/Raumtemperatur",
        ),
        (
            "R-1.07",
            "space_temp",
            "slot:/Drivers/Etagenregler/ISP_1OG/points/R107_B$fcro/RT_X",
        ),
        (
            "HK-3",
            "hw_supply_temp",
            "slot:/Drivers/Modbus$20TCP/SPS$20Heizzentrale/points/HK3$201$2eOG/Vorlauf$20Ist",
        ),
        (
            "KM-1",
            "cond_approach_temp",
            "slot:/Drivers/BACnet_Anlagen/K$e4ltezentrale/points/K$e4ltemaschine$201/Gr$e4digkeit_Verfl$fcssiger",
        ),
    ] {
        assert_eq!(site.truth.equipment(id).unwrap().roles[role], expected);
    }
    let paths = |site: &Site| -> HashSet<String> {
        let all = site.truth.equipment.iter();
        all.flat_map(|equipment| equipment.roles.values().cloned())
            .collect()
    };
    let harborview = crate::site::Harborview::build(options()).unwrap();
    assert!(paths(site).is_disjoint(&paths(&harborview)));
    let co2 = site.station.display_name(point(site, "R-2.05", "co2"));
    assert_eq!(co2, "Luftgüte CO₂");
}

#[test]
fn units_are_metric_but_for_one_makers_controller() {
    let site = lakeside();
    let unit = |id: &str, role: &str| {
        let facets = site.station.facets(point(site, id, role));
        facets.unit().unwrap().name.clone()
    };
    assert_eq!(unit("R-0.01", "space_temp"), "celsius");
    assert_eq!(unit("KM-1", "chw_supply_temp"), "celsius");
    assert_eq!(unit("KM-2", "chw_supply_temp"), "fahrenheit");
    assert_eq!(unit("KM-2", "chw_flow"), "gallons_per_minute");
    assert_eq!(unit("HZ", "hw_flow"), "cubic_meters_per_hour");
    assert_eq!(unit("HZ", "energy_rate"), "kilowatt");
    assert_eq!(unit("WP-1", "discharge_pressure"), "bar");
    assert_eq!(unit("R-1.05", "supply_air_temp"), "celcius");
    let number = |id, role| {
        site.station
            .out(point(site, id, role))
            .unwrap()
            .0
            .as_f64()
            .unwrap()
    };
    assert!((18.0..26.0).contains(&number("R-2.02", "space_temp")));
    let (metric, customary) = (
        number("KM-1", "chw_supply_temp"),
        number("KM-2", "chw_supply_temp"),
    );
    assert!(
        (metric * 1.8 + 32.0 - customary).abs() < 0.5,
        "{metric} °C, {customary} °F"
    );
}

#[test]
fn states_are_named_in_german() {
    let site = lakeside();
    let facets = site.station.facets(point(site, "RLT-2", "occupancy"));
    assert_eq!(*facets, crate::model::Facets::boolean("Belegt", "Unbelegt"));
    let german = Measure::AirMode.facets(crate::site::measure::Convention::GERMAN);
    let mode = site.placed[0]
        .points
        .iter()
        .find(|point| point.row.names[0] == "Betriebsart");
    assert_eq!(*site.station.facets(mode.unwrap().handle), german);
    assert!(format!("{german:?}").contains("vork$fchlen"), "{german:?}");
}

#[test]
fn a_history_equals_the_live_value_at_every_sample_instant() {
    let mut site = Lakeside::build(options()).unwrap();
    for (id, role) in [
        ("R-2.05", "space_temp"),
        ("HK-4", "hw_supply_temp"),
        ("TWW", "compressor_status"),
        ("WP-1", "reversing_valve_cmd"),
        ("ZE-1", "power"),
    ] {
        let handle = point(&site, id, role);
        let history = site.truth.equipment(id).unwrap().histories[role].clone();
        for quarter in 0..30 {
            let instant = at("2026-11-12T06:00:00Z") + TimeDelta::minutes(15 * quarter);
            site.station.tick(instant);
            let (value, status) = site.station.out(handle).unwrap();
            let history = site.station.histories.get(&history).unwrap();
            let records = history.records(instant, instant, now());
            assert_eq!(records[0].value, value, "{id} {role} at {instant}");
            let status = status.bits & !(Status::ALARM | Status::UNACKED_ALARM);
            assert_eq!(records[0].status, status, "{id} {role} at {instant}");
        }
    }
}

#[test]
fn two_stations_of_one_seed_have_the_same_histories_and_alarms() {
    let second = Lakeside::build(options()).unwrap();
    let other = Lakeside::build(SiteOptions {
        seed: 7,
        ..options()
    })
    .unwrap();
    let read = |site: &Site, id: &str, role: &str| {
        let history = &site.truth.equipment(id).unwrap().histories[role];
        let history = site.station.histories.get(history).unwrap();
        history.records(now() - TimeDelta::days(7), now(), now())
    };
    for (id, role) in [
        ("RLT-1", "supply_air_temp"),
        ("HK-1", "hw_flow"),
        ("TWW", "power"),
    ] {
        assert!(read(lakeside(), id, role).len() > 600);
        assert_eq!(read(lakeside(), id, role), read(&second, id, role), "{id}");
    }
    assert!(
        lakeside()
            .station
            .alarms
            .iter()
            .eq(second.station.alarms.iter())
    );
    let temperature = |site| read(site, "RLT-1", "supply_air_temp");
    assert_ne!(temperature(lakeside()), temperature(&other));
}

/// Wall-clock times and values of the outdoor temperature around a change of the clock.
fn outdoor(from: &str, to: &str) -> Vec<(String, String)> {
    let site = lakeside();
    let id = &site.truth.equipment("WS-1").unwrap().histories["oat"];
    assert_eq!(id, "/Lakeside/Wetterstation_Au$dfentemperatur");
    let history = site.station.histories.get(id).unwrap();
    let records = history.records(at(from), at(to), now());
    let wall = |record: &crate::model::HistoryRecord| {
        let local = record.timestamp.with_timezone(&site.station.zone());
        (local.format("%H:%M %Z").to_string(), record.value.encode())
    };
    records.iter().map(wall).collect()
}

#[test]
fn the_repeated_hour_of_berlin_has_eight_quarters_and_the_skipped_one_none() {
    let autumn = outdoor("2026-10-25T00:00:00Z", "2026-10-25T01:45:00Z");
    let clocks: Vec<&str> = autumn.iter().map(|(clock, _)| clock.as_str()).collect();
    assert_eq!(
        clocks,
        [
            "02:00 CEST",
            "02:15 CEST",
            "02:30 CEST",
            "02:45 CEST",
            "02:00 CET",
            "02:15 CET",
            "02:30 CET",
            "02:45 CET"
        ]
    );
    let values: HashSet<&String> = autumn.iter().map(|(_, value)| value).collect();
    assert_eq!(values.len(), 8);
    let spring = outdoor("2026-03-29T00:30:00Z", "2026-03-29T01:15:00Z");
    let clocks: Vec<&str> = spring.iter().map(|(clock, _)| clock.as_str()).collect();
    assert_eq!(
        clocks,
        ["01:30 CET", "01:45 CET", "03:00 CEST", "03:15 CEST"]
    );
}

#[test]
fn live_occupancy_follows_the_german_calendar_and_agrees_with_the_simulation() {
    let mut site = Lakeside::build(options()).unwrap();
    for (instant, expected) in [
        ("2026-12-01T07:00:00Z", true),
        ("2026-12-01T17:30:00Z", false),
        ("2026-12-24T10:00:00Z", false),
        ("2027-01-06T10:00:00Z", false),
        ("2027-03-26T10:00:00Z", false),
        ("2027-03-25T10:00:00Z", true),
    ] {
        site.station.tick(at(instant));
        for id in ["RLT-2", "WP-1"] {
            let (value, status) = site.station.out(point(&site, id, "occupancy")).unwrap();
            let expected = (Value::Boolean(expected), Some(12));
            assert_eq!((value, status.active_level()), expected, "{id} {instant}");
        }
        let simulated = site
            .station
            .out(point(&site, "R-0.01", "occupancy"))
            .unwrap()
            .0;
        assert_eq!(simulated, Value::Boolean(expected), "{instant}");
    }
}

#[test]
fn alarms_stand_in_every_state_with_texts_of_the_site() {
    let station = &lakeside().station;
    let alarms: Vec<_> = station.alarms.iter().collect();
    assert_eq!((alarms.len(), station.alarms.archive().count()), (40, 8));
    let states: HashSet<_> = alarms
        .iter()
        .map(|alarm| (alarm.source_state, alarm.ack_state))
        .collect();
    assert_eq!(states.len(), 12);
    let classes: HashSet<&str> = alarms
        .iter()
        .map(|alarm| alarm.alarm_class.as_str())
        .collect();
    assert!(
        classes.contains("Störung hoch") && classes.len() == 4,
        "{classes:?}"
    );
    for alarm in alarms {
        assert!(now() - alarm.timestamp <= TimeDelta::days(60) && alarm.last_update <= now());
        assert!(station.resolve_component(&alarm.source[0]).is_ok());
        assert!(format!("{:?}", alarm.alarm_data).contains("Europe/Berlin"));
        if alarm.alarm_transition == SourceState::Fault {
            assert!(format!("{:?}", alarm.alarm_data).contains("Fühlerbruch"));
        }
    }
}

#[test]
fn dead_units_broken_sensors_and_odd_histories_are_there() {
    let station = &lakeside().station;
    let resolve = |path: &str| {
        let ord =
            format!("station:|slot:/Drivers/BACnet_Anlagen/L$fcftung/RLT02_1OG/points/{path}");
        station.resolve_component(&ord).unwrap()
    };
    assert_eq!(
        station.out(resolve("ZUL_T2")).unwrap().1.bits,
        Status::FAULT
    );
    assert_eq!(
        station.display_name(resolve("ZUL_T2")),
        station.display_name(resolve("ZUL_T"))
    );
    assert!(
        station
            .out(resolve("h$20Au$dfenluft"))
            .unwrap()
            .0
            .as_f64()
            .unwrap()
            .is_nan()
    );
    assert!(
        station
            .out(resolve("Lastabwurf"))
            .unwrap()
            .1
            .has(Status::NULL)
    );
    let reserve = "station:|slot:/Drivers/BACnet_Anlagen/W$e4rmepumpen$20Dach/WP3$20$28Reserve$29/points/Raumtemperatur";
    let reserve = station.resolve_component(reserve).unwrap();
    assert_eq!(
        station.out(reserve).unwrap().1.bits,
        Status::DOWN | Status::STALE
    );
    let count = |id: &str| station.histories.get(id).unwrap().count(now());
    assert_eq!(count("/Lakeside/Z01_Strom_L3"), 0);
    assert_eq!(count("/Lakeside/Z02_Gas_aktuell"), 2_000);
    assert!(count("/Lakeside/Z01_Ablesung$20von$20Hand") > 25);
}

#[test]
fn more_points_are_more_buildings_without_planted_faults() {
    let site = Lakeside::build(SiteOptions {
        points: 1_300,
        ..options()
    })
    .unwrap();
    assert_eq!(site.buildings.len(), 2);
    let second = site.truth.equipment("H02-TWW").unwrap();
    assert_eq!(
        second.roles["power"],
        "slot:/Drivers/Modbus$20TCP/Haus$2002/SPS$20Heizzentrale/points/Trinkwarmwasser/WP$20Leistung"
    );
    assert_eq!(
        second.histories["power"],
        "/Lakeside/H02_SPS$20Heizzentrale_Trinkwarmwasser_WP$20Leistung"
    );
    assert!(site.truth.healthy.contains(&"H02-TWW".to_owned()));
    assert!(site.truth.equipment("H02-WS-1").is_none());
}

#[test]
fn the_operator_works_on_the_first_air_handler_and_sees_nothing_else() {
    let site = lakeside();
    let operator = site.station.users.get(accounts::OPERATOR.user).unwrap();
    let reads = |id, role| site.station.can_read(operator, point(site, id, role));
    assert!(reads("RLT-1", "supply_air_temp") && !reads("RLT-2", "supply_air_temp"));
}

/// The description that other tests read; `WRITE_TRUTH=1` writes it anew.
#[test]
fn the_written_truth_model_is_the_one_in_the_code() {
    let options = SiteOptions::for_tests(at("2026-01-15T11:00:00Z"));
    let site = Lakeside::build(options).unwrap();
    let text = serde_json::to_string_pretty(&site.truth).unwrap() + "\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/site-lakeside-truth.json");
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
    let text = text.split("# Lakeside").nth(1).unwrap();
    let site = lakeside();
    assert!(site.truth.faults.len() >= 4);
    for fault in &site.truth.faults {
        assert!(text.contains(&fault.name), "{}", fault.name);
        for rule in &fault.rules {
            assert!(text.contains(rule.as_str()), "{rule}");
        }
        for id in fault.equipment.iter().chain(&fault.neighbours) {
            assert!(text.contains(id.as_str()), "{id}");
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
            let place = path
                .trim_start_matches("slot:/Drivers/")
                .rsplit_once('/')
                .unwrap()
                .0;
            let place = place.trim_end_matches("/points");
            assert!(text.contains(place), "{id} at {place}");
        }
    }
}
