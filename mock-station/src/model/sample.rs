//! A small station with one of everything, for tests of the servlets.

use super::accounts;
use super::alarm::{AckState, AlarmRecord, SourceState};
use super::component::Handle;
use super::enums::{DynamicEnum, EnumRange};
use super::error::ModelError;
use super::facets::Facets;
use super::flags::Flags;
use super::history::{
    CollectionInterval, FullPolicy, History, HistoryRecord, StoredHistory, trend_flags,
};
use super::point::{ConstantFeed, FeedSample};
use super::station::Station;
use super::status::Status;
use super::value::{PointKind, Value};
use chrono::{DateTime, NaiveTime, SubsecRound, TimeDelta, Utc, Weekday};
use chrono_tz::Tz;
use std::sync::Arc;

/// Slot path of the BACnet device's points.
pub const AHU1_POINTS: &str = "slot:/Drivers/BacnetNetwork/AHU_1/points";
/// Slot path of the logic folder.
pub const LOGIC: &str = "slot:/Logic";

/// The sample station `Sample` in Europe/Paris at `now`, with the accounts of [`accounts`] (few SCRAM iterations).
///
/// Everything under `AHU_1` is in the category `AHU1`; histories end at the quarter hour before `now`.
pub fn station(now: DateTime<Utc>) -> Result<Station, ModelError> {
    let mut station = Station::new("Sample", Tz::Europe__Paris, now);
    station.add_accounts(accounts::TEST_ITERATIONS)?;
    let points = add_device(&mut station)?;
    add_sensors(&mut station, points)?;
    add_writables(&mut station, points)?;
    add_logic(&mut station, points)?;
    add_histories(&mut station)?;
    add_alarms(&mut station)?;
    Ok(station)
}

fn add_device(station: &mut Station) -> Result<Handle, ModelError> {
    let drivers = station.resolve_component("slot:/Drivers")?;
    let network = station.add(drivers, Some("BacnetNetwork"), "bacnet:BacnetNetwork")?;
    let device = station.add(network, Some("AHU_1"), "bacnet:BacnetDevice")?;
    station.set_categories(device, station.users.category_mask(accounts::AHU1_CATEGORY))?;
    station.set_display_name(device, "Air handling unit 1")?;
    let seen = station.local(station.now() - TimeDelta::minutes(3));
    station.set(device, "health/lastOkTime", Value::AbsTime(Some(seen)))?;
    let modbus = station.add(
        drivers,
        Some("ModbusTcpNetwork"),
        "modbusTcp:ModbusTcpNetwork",
    )?;
    let meter = station.add(modbus, Some("Meter$20$231"), "modbusTcp:ModbusTcpDevice")?;
    let meter_points =
        station.resolve_component(&format!("{}/points", station.slot_path(meter)))?;
    let energy = station.add(meter_points, Some("Energy"), "control:NumericPoint")?;
    feed(
        station,
        energy,
        FeedSample::ok(123_456.75),
        Facets::numeric("kilowatt_hours", 2),
    )?;
    // Points may contain points: totals under the meter reading.
    let month = station.add(energy, Some("LastMonth"), "control:NumericPoint")?;
    feed(
        station,
        month,
        FeedSample::ok(9_876.5),
        Facets::numeric("kilowatt_hours", 1),
    )?;
    station.resolve_component(AHU1_POINTS)
}

fn feed(
    station: &mut Station,
    point: Handle,
    sample: FeedSample,
    facets: Facets,
) -> Result<(), ModelError> {
    station.set(point, "facets", Value::Facets(Arc::new(facets)))?;
    station.attach_feed(point, Arc::new(ConstantFeed(sample)));
    Ok(())
}

fn add_sensors(station: &mut Station, points: Handle) -> Result<(), ModelError> {
    let celsius = || Facets::numeric("celsius", 1);
    for (name, sample, facets) in [
        ("SupplyTemp", FeedSample::ok(14.5), celsius()),
        ("Temp$e9rature$20ext", FeedSample::ok(-5.25), celsius()),
        (
            "DeadSensor",
            FeedSample::with_status(0.0, Status::DOWN),
            celsius(),
        ),
        (
            "OldSensor",
            FeedSample::with_status(21.0, Status::STALE),
            celsius(),
        ),
        (
            "BrokenSensor",
            FeedSample::with_status(99.0, Status::FAULT),
            celsius(),
        ),
        (
            "EmptySensor",
            FeedSample::with_status(0.0, Status::NULL),
            celsius(),
        ),
        (
            "NotANumber",
            FeedSample::ok(f64::NAN),
            Facets::numeric("kilopascal", 2),
        ),
        (
            "$31st$20Floor$20CO2",
            FeedSample::ok(1024.0),
            Facets::numeric("parts_per_million", 0),
        ),
    ] {
        let point = station.add(points, Some(name), "control:NumericPoint")?;
        set_proxy(station, point, "bacnet:BacnetNumericProxyExt")?;
        feed(station, point, sample, facets)?;
    }
    let fan = station.add(points, Some("FanStatus"), "control:BooleanPoint")?;
    set_proxy(station, fan, "bacnet:BacnetBooleanProxyExt")?;
    feed(
        station,
        fan,
        FeedSample::ok(true),
        Facets::boolean("Running", "Not running"),
    )?;
    let mode = station.add(points, Some("Mode"), "control:EnumPoint")?;
    let range = mode_range();
    feed(
        station,
        mode,
        FeedSample::ok(Value::DynamicEnum(DynamicEnum {
            ordinal: 1,
            range: range.clone(),
        })),
        Facets::range((*range).clone()),
    )?;
    let text = station.add(points, Some("Message"), "control:StringPoint")?;
    feed(
        station,
        text,
        FeedSample::ok("filter {dirty}, replace"),
        Facets::new(),
    )
}

/// Gives a point the proxy extension of a driver.
fn set_proxy(station: &mut Station, point: Handle, spec: &str) -> Result<(), ModelError> {
    station.set_proxy_ext(point, spec).map(|_| ())
}

fn mode_range() -> Arc<EnumRange> {
    Arc::new(EnumRange::of(&[
        ("Off", 0),
        ("Not occupied", 1),
        ("Occupied", 2),
    ]))
}

fn add_writables(station: &mut Station, points: Handle) -> Result<(), ModelError> {
    let setpoint = station.add(points, Some("SupplyTempSp"), "control:NumericWritable")?;
    let facets = Facets::numeric("celsius", 1)
        .with("min", Value::Double(5.0))
        .with("max", Value::Double(35.0));
    station.set(setpoint, "facets", Value::Facets(Arc::new(facets)))?;
    station.set(
        setpoint,
        "fallback",
        Value::status_numeric(16.0, Status::ok()),
    )?;
    station.set(setpoint, "in10", Value::status_numeric(15.5, Status::ok()))?;
    // Values of a geographic tag and of a position: dynamic slots as real stations have them.
    let annotation = Value::WsAnnotation {
        x: 10,
        y: 5,
        width: 8,
    };
    station.add_value(
        setpoint,
        Some("wsAnnotation"),
        annotation,
        Flags::HIDDEN,
        None,
    )?;
    station.add_value(
        setpoint,
        Some("n$3apoint"),
        Value::Marker,
        Flags::METADATA,
        None,
    )?;
    let fan = station.add(points, Some("FanCmd"), "control:BooleanWritable")?;
    station.set(
        fan,
        "facets",
        Value::Facets(Arc::new(Facets::boolean("On", "Off"))),
    )?;
    let mode = station.add(points, Some("ModeCmd"), "control:EnumWritable")?;
    station.set(
        mode,
        "facets",
        Value::Facets(Arc::new(Facets::range((*mode_range()).clone()))),
    )?;
    let occupied = Value::DynamicEnum(DynamicEnum {
        ordinal: 2,
        range: mode_range(),
    });
    station.set(
        mode,
        "fallback",
        Value::status_value(PointKind::Enum, occupied, Status::ok()),
    )?;
    let note = station.add(points, Some("Note"), "control:StringWritable")?;
    let text = Value::status_value(
        PointKind::String,
        Value::from("as built, \"2019\""),
        Status::ok(),
    );
    station.set(note, "fallback", text)
}

/// Schedule → fan command; ramp → add → average, a chain of links.
fn add_logic(station: &mut Station, points: Handle) -> Result<(), ModelError> {
    let logic = station.add(station.root(), Some("Logic"), "baja:Folder")?;
    let fan = station.resolve_component(&format!("{}/FanCmd", station.slot_path(points)))?;
    let schedule = station.add(logic, Some("Occupancy"), "schedule:BooleanSchedule")?;
    let (Some(start), Some(finish)) = (
        NaiveTime::from_hms_opt(6, 30, 0),
        NaiveTime::from_hms_opt(19, 0, 0),
    ) else {
        return Ok(());
    };
    for day in [
        Weekday::Mon,
        Weekday::Tue,
        Weekday::Wed,
        Weekday::Thu,
        Weekday::Fri,
    ] {
        station.add_schedule_period(schedule, day, start, finish, Value::Boolean(true))?;
    }
    station.link(schedule, "out", fan, "in16")?;
    let sine = station.add(logic, Some("Sine"), "kitControl:SineWave")?;
    let base = station.add(logic, Some("Base"), "kitControl:NumericConst")?;
    station.set(base, "value", Value::status_numeric(10.0, Status::ok()))?;
    let sum = station.add(logic, Some("Sum"), "kitControl:Add")?;
    let average = station.add(logic, Some("Average"), "kitControl:Average")?;
    station.link(sine, "out", sum, "inA")?;
    station.link(base, "out", sum, "inB")?;
    station.link(sum, "out", average, "inA")?;
    station.link(base, "out", average, "inB")?;
    let limit = station.add(logic, Some("TooWarm"), "kitControl:GreaterThan")?;
    let supply = station.resolve_component(&format!("{}/SupplyTemp", station.slot_path(points)))?;
    station.link(supply, "out", limit, "inA")?;
    station.link(base, "out", limit, "inB")?;
    Ok(())
}

fn add_histories(station: &mut Station) -> Result<(), ModelError> {
    let zone = station.zone();
    let end = quarter_before(station.now());
    let supply = station.resolve_component(&format!("{AHU1_POINTS}/SupplyTemp"))?;
    let numbers = StoredHistory::new(supply_records(end));
    let history = History {
        value_facets: Facets::numeric("celsius", 1),
        ..History::new(
            "/Sample/SupplyTemp",
            PointKind::Numeric,
            zone,
            Arc::new(numbers),
        )
    };
    station.add_history(supply, "history:NumericIntervalHistoryExt", history)?;
    let fan = station.resolve_component(&format!("{AHU1_POINTS}/FanStatus"))?;
    let switches = (0..48)
        .map(|n| HistoryRecord::ok(end - TimeDelta::hours(n), n % 2 == 0))
        .collect();
    let history = History {
        value_facets: Facets::boolean("Running", "Not running"),
        interval: CollectionInterval::Irregular,
        ..History::new(
            "/Sample/FanStatus",
            PointKind::Boolean,
            zone,
            Arc::new(StoredHistory::new(switches)),
        )
    };
    station.add_history(fan, "history:BooleanCovHistoryExt", history)?;
    let mode = station.resolve_component(&format!("{AHU1_POINTS}/Mode"))?;
    let modes = (0..24).map(|n| {
        let value = Value::DynamicEnum(DynamicEnum {
            ordinal: n % 3,
            range: mode_range(),
        });
        HistoryRecord::ok(end - TimeDelta::hours(i64::from(n)), value)
    });
    let history = History {
        value_facets: Facets::range((*mode_range()).clone()),
        interval: CollectionInterval::Irregular,
        ..History::new(
            "/Sample/Mode",
            PointKind::Enum,
            zone,
            Arc::new(StoredHistory::new(modes.collect())),
        )
    };
    station.add_history(mode, "history:EnumCovHistoryExt", history)?;
    let text = station.resolve_component(&format!("{AHU1_POINTS}/Message"))?;
    let texts = vec![
        HistoryRecord::ok(end, "filter {dirty}, replace"),
        HistoryRecord::ok(end - TimeDelta::days(1), ""),
    ];
    let history = History {
        interval: CollectionInterval::Irregular,
        ..History::new(
            "/Sample/Message",
            PointKind::String,
            zone,
            Arc::new(StoredHistory::new(texts)),
        )
    };
    station.add_history(text, "history:StringCovHistoryExt", history)?;
    // Imported from another station: no extension here.
    let imported = (0..10)
        .map(|n| HistoryRecord::ok(end - TimeDelta::minutes(15 * n), n as f64))
        .collect();
    station.histories.insert(History {
        capacity: Some(5),
        full_policy: FullPolicy::Roll,
        ..History::new(
            "/Annex/Oat",
            PointKind::Numeric,
            zone,
            Arc::new(StoredHistory::new(imported)),
        )
    });
    let empty = Arc::new(StoredHistory::default());
    station.histories.insert(History::new(
        "/Sample/Empty",
        PointKind::Numeric,
        zone,
        empty,
    ));
    Ok(())
}

fn quarter_before(now: DateTime<Utc>) -> DateTime<Utc> {
    let now = now.trunc_subsecs(0);
    now - TimeDelta::seconds(now.timestamp().rem_euclid(900))
}

/// Two days of quarter hours with a start flag, bad samples, a hidden one and a doubled timestamp.
fn supply_records(end: DateTime<Utc>) -> Vec<HistoryRecord> {
    let mut records: Vec<HistoryRecord> = (0..192)
        .map(|n| {
            HistoryRecord::ok(
                end - TimeDelta::minutes(15 * n),
                14.0 + (n % 8) as f64 * 0.25,
            )
        })
        .collect();
    for (index, flags, status) in [
        (191, trend_flags::START, 0),
        (20, 0, Status::DOWN),
        (21, 0, Status::FAULT | Status::STALE),
        (40, trend_flags::HIDDEN, 0),
        (41, trend_flags::OUT_OF_ORDER, 0),
        (42, 0, Status::NULL),
    ] {
        if let Some(record) = records.get_mut(index) {
            record.trend_flags |= flags;
            record.status |= status;
        }
    }
    records.push(HistoryRecord::ok(end - TimeDelta::minutes(150), 13.0));
    records
}

fn add_alarms(station: &mut Station) -> Result<(), ModelError> {
    let service = station.resolve_component("slot:/Services/AlarmService")?;
    let urgent = station.add(service, Some("urgent"), "alarm:AlarmClass")?;
    station.set(urgent, "priority/toOffnormal", Value::Integer(10))?;
    let cases = [
        (
            "SupplyTemp",
            SourceState::Offnormal,
            AckState::Unacked,
            "urgent",
            10,
        ),
        (
            "FanStatus",
            SourceState::Normal,
            AckState::Unacked,
            "defaultAlarmClass",
            255,
        ),
        (
            "BrokenSensor",
            SourceState::Fault,
            AckState::Acked,
            "defaultAlarmClass",
            255,
        ),
        (
            "DeadSensor",
            SourceState::Alert,
            AckState::AckPending,
            "urgent",
            10,
        ),
        (
            "OldSensor",
            SourceState::Normal,
            AckState::Acked,
            "defaultAlarmClass",
            255,
        ),
    ];
    for (number, (name, source_state, ack_state, class, priority)) in cases.into_iter().enumerate()
    {
        let point = station.resolve_component(&format!("{AHU1_POINTS}/{name}"))?;
        let extension = station.add(point, Some("OutOfRangeAlarmExt"), "alarm:AlarmSourceExt")?;
        let timestamp = station.now() - TimeDelta::hours(30 - 5 * number as i64);
        let normal_time =
            (source_state == SourceState::Normal).then(|| timestamp + TimeDelta::minutes(20));
        let ack_time = (ack_state == AckState::Acked).then(|| timestamp + TimeDelta::minutes(40));
        let transition = if source_state == SourceState::Normal {
            SourceState::Offnormal
        } else {
            source_state
        };
        let present = station
            .out(point)
            .map(|(value, _)| value.encode())
            .unwrap_or_default();
        station.insert_alarm(AlarmRecord {
            timestamp,
            uuid: format!("5f2e6d3c-0000-4000-8000-{number:012x}"),
            source_state,
            ack_state,
            ack_required: true,
            source: vec![station.nav_ord(extension)],
            alarm_class: class.to_owned(),
            priority,
            normal_time,
            ack_time,
            user: if ack_time.is_some() {
                accounts::ADMIN.user.to_owned()
            } else {
                String::new()
            },
            alarm_data: Facets::new()
                .with("sourceName", Value::from(format!("Sample:{name}")))
                .with("msgText", Value::from(format!("{name} out of range")))
                .with("fromState", Value::from("normal"))
                .with("toState", Value::from(source_state.tag()))
                .with("presentValue", Value::from(present.as_str()))
                .with("offnormalValue", Value::from(present))
                .with("timeZone", Value::from(station.zone().name())),
            alarm_transition: transition,
            last_update: ack_time.or(normal_time).unwrap_or(timestamp),
            archived: false,
            notes: Vec::new(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeZone;

    fn sample() -> Station {
        station(Utc.with_ymd_and_hms(2026, 3, 10, 10, 7, 30).unwrap()).unwrap()
    }

    fn at(station: &Station, path: &str) -> Handle {
        station.resolve_component(path).unwrap()
    }

    #[test]
    fn every_point_shows_what_its_driver_or_inputs_say() {
        let station = sample();
        let points = at(&station, AHU1_POINTS);
        let out = |name: &str| {
            let handle = station.component(points).unwrap().child(name).unwrap();
            let (value, status) = station.out(handle).unwrap();
            (value.encode(), status.encode())
        };
        assert_eq!(out("SupplyTemp"), ("14.5".into(), "88".into()));
        assert_eq!(out("Temp$e9rature$20ext"), ("-5.25".into(), "0".into()));
        assert_eq!(out("DeadSensor"), ("0.0".into(), "c".into()));
        assert_eq!(out("NotANumber"), ("nan".into(), "0".into()));
        assert_eq!(
            out("SupplyTempSp"),
            (
                "15.5".into(),
                "0;activeLevel=e:10@control:PriorityLevel".into()
            )
        );
        assert_eq!(
            out("FanCmd"),
            (
                "true".into(),
                "0;activeLevel=e:16@control:PriorityLevel".into()
            )
        );
        assert_eq!(out("ModeCmd").0, "2@{Off=0,Not$20occupied=1,Occupied=2}");
    }

    #[test]
    fn a_driver_point_tells_the_health_of_its_proxy() {
        let station = sample();
        let dead = at(&station, &format!("{AHU1_POINTS}/DeadSensor"));
        assert_eq!(
            station.value(dead, "proxyExt/status").unwrap().encode(),
            "4"
        );
        assert_eq!(
            station
                .value(dead, "proxyExt/readValue/status")
                .unwrap()
                .encode(),
            "4"
        );
        let broken = at(&station, &format!("{AHU1_POINTS}/BrokenSensor"));
        assert!(
            station
                .value(broken, "proxyExt/faultCause")
                .unwrap()
                .as_str()
                .unwrap()
                .starts_with("Read fault")
        );
    }

    #[test]
    fn the_logic_follows_its_chain_of_links_when_time_moves() {
        let mut station = sample();
        let average = at(&station, "slot:/Logic/Average");
        let base = at(&station, "slot:/Logic/Base");
        let sine = at(&station, "slot:/Logic/Sine");
        for second in [0, 7, 15, 22] {
            station.tick(Utc.with_ymd_and_hms(2026, 3, 10, 10, 8, second).unwrap());
            let wave = station.out(sine).unwrap().0.as_f64().unwrap();
            let mean = station.out(average).unwrap().0.as_f64().unwrap();
            assert!((mean - (wave + 20.0) / 2.0).abs() < 1e-9, "{wave} {mean}");
        }
        station
            .invoke(base, "set", Some(Value::Double(100.0)))
            .unwrap();
        let limit = at(&station, "slot:/Logic/TooWarm");
        assert_eq!(station.out(limit).unwrap().0, Value::Boolean(false));
    }

    #[test]
    fn histories_and_alarms_are_on_file() {
        let station = sample();
        let supply = station.histories.get("/Sample/SupplyTemp").unwrap();
        assert_eq!(supply.count(station.now()), 193);
        let config =
            "slot:/Drivers/BacnetNetwork/AHU_1/points/SupplyTemp/NumericInterval/historyConfig";
        assert_eq!(
            station.value(at(&station, config), "id").unwrap().encode(),
            "/Sample/SupplyTemp"
        );
        let annex = station.histories.get("/Annex/Oat").unwrap();
        assert_eq!(annex.count(station.now()), 5);
        assert_eq!(station.histories.devices(), ["Sample", "Annex"]);
        assert_eq!(station.alarms.open().count(), 4);
        let urgent = station.alarm_class("urgent").unwrap();
        assert_eq!(
            station.value(urgent, "unackedAlarmCount"),
            Some(Value::Integer(1))
        );
    }
}
