//! A folder with something for each tool to change; each call gets one of its own, so that no call finds what another
//! left.

use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::{NaiveTime, TimeDelta, Weekday};
use mock_station::model::{
    AckState, AlarmRecord, Facets, Flags, Handle, SourceState, Station, Status, Value,
};

use crate::site::Site;

/// The operator's category covers the first.
pub const INSIDE: &str = "slot:/Ahu1";
pub const OUTSIDE: &str = "slot:/Logic";

pub struct Place {
    pub path: String,
    /// An open alarm of its point.
    pub alarm: String,
    /// Name of the link on `Sink`.
    pub link: String,
}

impl Place {
    pub fn new(site: &Site, parent: &str) -> Self {
        static PLACES: AtomicUsize = AtomicUsize::new(0);
        let number = PLACES.fetch_add(1, Ordering::Relaxed);
        let mut station = site.frozen.station.station().write();
        let parent = station.resolve_component(parent).expect("a folder");
        let folder = add(
            &mut station,
            parent,
            &format!("Place{number}"),
            "baja:Folder",
        );
        for name in ["note", "smtpPassword"] {
            station
                .add_value(folder, Some(name), "old".into(), Flags::OPERATOR, None)
                .expect("a slot");
        }
        let mut point = |name: &str| add(&mut station, folder, name, "control:NumericWritable");
        let (measured, held, sink, _) =
            (point("Point"), point("Held"), point("Sink"), point("Free"));
        let number_of = |value| Value::status_numeric(value, Status::ok());
        station.set(measured, "in12", number_of(18.0)).expect("set");
        station.set(held, "in8", number_of(19.0)).expect("set");
        let link = station
            .link(measured, "out", sink, "in12")
            .expect("a link")
            .to_string();
        add(&mut station, folder, "Old", "baja:Folder");
        let schedule = add(
            &mut station,
            folder,
            "Occupancy",
            "schedule:BooleanSchedule",
        );
        let hour = |hour| NaiveTime::from_hms_opt(hour, 0, 0).expect("a time");
        station
            .add_schedule_period(
                schedule,
                Weekday::Mon,
                hour(7),
                hour(18),
                Value::Boolean(true),
            )
            .expect("a period");
        let alarm = format!("5f2e6d3c-0000-4000-8000-{number:012x}");
        raise(&mut station, measured, &alarm);
        Self {
            path: station.slot_path(folder).to_string(),
            alarm,
            link,
        }
    }

    pub fn child(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }

    pub fn is_acknowledged(&self, site: &Site) -> bool {
        let station = site.frozen.station.station().read();
        let alarm = station.alarms.get(&self.alarm).expect("an alarm");
        alarm.ack_state == AckState::Acked
    }
}

fn add(station: &mut Station, parent: Handle, name: &str, type_spec: &str) -> Handle {
    station
        .add(parent, Some(name), type_spec)
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn raise(station: &mut Station, point: Handle, uuid: &str) {
    let extension = add(station, point, "Alarm", "alarm:AlarmSourceExt");
    let timestamp = station.now() - TimeDelta::hours(1);
    let source = vec![station.nav_ord(extension)];
    station.insert_alarm(AlarmRecord {
        timestamp,
        uuid: uuid.to_owned(),
        source_state: SourceState::Offnormal,
        ack_state: AckState::Unacked,
        ack_required: true,
        source,
        alarm_class: "defaultAlarmClass".to_owned(),
        priority: 100,
        normal_time: None,
        ack_time: None,
        user: String::new(),
        alarm_data: Facets::new(),
        alarm_transition: SourceState::Offnormal,
        last_update: timestamp,
        archived: false,
        notes: Vec::new(),
    });
}
