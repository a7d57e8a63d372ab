//! The alarm database (Station web specification §3.6, oBIX specification §11).

use super::component::Handle;
use super::error::ModelError;
use super::facets::Facets;
use super::station::Station;
use super::status::Status;
use super::value::Value;
use chrono::{DateTime, Utc};
use indexmap::IndexMap;

/// State of the source of an alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceState {
    Normal,
    Offnormal,
    Fault,
    Alert,
}

/// Whether people have acknowledged an alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AckState {
    Acked,
    Unacked,
    AckPending,
}

impl SourceState {
    /// The tag, e.g. `offnormal`.
    pub fn tag(self) -> &'static str {
        match self {
            SourceState::Normal => "normal",
            SourceState::Offnormal => "offnormal",
            SourceState::Fault => "fault",
            SourceState::Alert => "alert",
        }
    }

    /// Ordinal of `alarm:SourceState`.
    pub fn ordinal(self) -> i32 {
        self as i32
    }

    /// The tag of `alarm:AlarmTransition` that leads here.
    pub fn transition(self) -> &'static str {
        match self {
            SourceState::Normal => "toNormal",
            SourceState::Offnormal => "toOffnormal",
            SourceState::Fault => "toFault",
            SourceState::Alert => "toAlert",
        }
    }
}

impl AckState {
    /// The tag, e.g. `ackPending`.
    pub fn tag(self) -> &'static str {
        match self {
            AckState::Acked => "acked",
            AckState::Unacked => "unacked",
            AckState::AckPending => "ackPending",
        }
    }

    /// Ordinal of `alarm:AckState`.
    pub fn ordinal(self) -> i32 {
        self as i32
    }
}

/// One alarm.
#[derive(Clone, Debug, PartialEq)]
pub struct AlarmRecord {
    pub timestamp: DateTime<Utc>,
    pub uuid: String,
    pub source_state: SourceState,
    pub ack_state: AckState,
    pub ack_required: bool,
    /// Ords of the source, nearest first, e.g. `local:|station:|slot:/…/alarmExt`.
    pub source: Vec<String>,
    pub alarm_class: String,
    /// 0 to 255, lower is more urgent.
    pub priority: i32,
    pub normal_time: Option<DateTime<Utc>>,
    pub ack_time: Option<DateTime<Utc>>,
    pub user: String,
    /// sourceName, msgText, presentValue, offnormalValue, fromState, toState and so on.
    pub alarm_data: Facets,
    /// The state the alarm first went to.
    pub alarm_transition: SourceState,
    pub last_update: DateTime<Utc>,
    /// Moved to the archive: seen through `alarm:archive` only.
    pub archived: bool,
    pub notes: Vec<String>,
}

impl AlarmRecord {
    /// Open: not (acknowledged and back to normal).
    pub fn is_open(&self) -> bool {
        !(self.ack_state == AckState::Acked && self.source_state == SourceState::Normal)
    }

    /// Waiting for an acknowledgement.
    pub fn is_ack_pending(&self) -> bool {
        self.ack_state == AckState::Unacked && self.ack_required
    }
}

/// All alarms by uuid, oldest first.
#[derive(Clone, Debug, Default)]
pub struct AlarmDb {
    records: IndexMap<String, AlarmRecord>,
}

impl AlarmDb {
    /// Adds or replaces an alarm, keeping the order of timestamps.
    pub fn insert(&mut self, record: AlarmRecord) {
        let in_order = self
            .records
            .last()
            .is_none_or(|(_, last)| last.timestamp <= record.timestamp);
        self.records.insert(record.uuid.clone(), record);
        if !in_order {
            self.records
                .sort_by(|_, a, _, b| a.timestamp.cmp(&b.timestamp));
        }
    }

    /// An alarm by uuid.
    pub fn get(&self, uuid: &str) -> Option<&AlarmRecord> {
        self.records.get(uuid)
    }

    /// An alarm for changing it.
    pub fn get_mut(&mut self, uuid: &str) -> Option<&mut AlarmRecord> {
        self.records.get_mut(uuid)
    }

    /// All alarms that are not archived, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &AlarmRecord> {
        self.records.values().filter(|record| !record.archived)
    }

    /// The archived alarms, oldest first.
    pub fn archive(&self) -> impl DoubleEndedIterator<Item = &AlarmRecord> {
        self.records.values().filter(|record| record.archived)
    }

    /// The open alarms, oldest first.
    pub fn open(&self) -> impl DoubleEndedIterator<Item = &AlarmRecord> {
        self.iter().filter(|record| record.is_open())
    }

    /// The alarms waiting for an acknowledgement, oldest first.
    pub fn ack_pending(&self) -> impl DoubleEndedIterator<Item = &AlarmRecord> {
        self.iter().filter(|record| record.is_ack_pending())
    }

    pub fn len(&self) -> usize {
        self.records.len()
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Acknowledges an alarm in the name of `user`; a second acknowledgement changes nothing.
    pub fn acknowledge(
        &mut self,
        uuid: &str,
        user: &str,
        now: DateTime<Utc>,
    ) -> Result<&AlarmRecord, ModelError> {
        let unknown = || ModelError::UnknownAlarm {
            uuid: uuid.to_owned(),
        };
        let record = self.records.get_mut(uuid).ok_or_else(unknown)?;
        if record.ack_state != AckState::Acked {
            record.ack_state = AckState::Acked;
            record.ack_time = Some(now);
            record.user = user.to_owned();
            record.last_update = now;
        }
        Ok(record)
    }
}

impl Station {
    /// Adds or replaces an alarm and shows it on its source point and in the counts of its class.
    pub fn insert_alarm(&mut self, record: AlarmRecord) {
        let point = self.alarm_point(&record);
        let class = record.alarm_class.clone();
        self.alarms.insert(record);
        if let Some(point) = point {
            self.show_alarms_on(point);
        }
        self.count_alarms(&class);
    }

    /// Acknowledges an alarm without asking for permissions, see [`AlarmDb::acknowledge`].
    pub fn acknowledge_alarm(&mut self, uuid: &str, user: &str) -> Result<(), ModelError> {
        let now = self.now();
        let record = self.alarms.acknowledge(uuid, user, now)?.clone();
        if let Some(point) = self.alarm_point(&record) {
            self.show_alarms_on(point);
        }
        self.count_alarms(&record.alarm_class);
        Ok(())
    }

    /// The point an alarm came from: the parent of its source extension.
    pub fn alarm_point(&self, record: &AlarmRecord) -> Option<Handle> {
        let source = self.resolve_component(record.source.first()?).ok()?;
        let component = self.component(source)?;
        if component.ty().is("control:PointExtension") {
            component.parent()
        } else {
            Some(source)
        }
    }

    fn show_alarms_on(&mut self, point: Handle) {
        let mut bits = 0;
        for record in self.alarms.iter().filter(|record| record.is_open()) {
            if self.alarm_point(record) == Some(point) {
                bits |= if record.source_state == SourceState::Normal {
                    0
                } else {
                    Status::ALARM
                };
                bits |= if record.is_ack_pending() {
                    Status::UNACKED_ALARM
                } else {
                    0
                };
            }
        }
        self.set_alarm_bits(point, bits);
    }

    fn count_alarms(&mut self, class_name: &str) {
        let Some(class) = self.alarm_class(class_name) else {
            return;
        };
        let (mut total, mut open, mut active, mut unacked, mut last) = (0, 0, 0, 0, None);
        for record in self
            .alarms
            .iter()
            .filter(|record| record.alarm_class == class_name)
        {
            total += 1;
            open += i32::from(record.is_open());
            active += i32::from(record.source_state != SourceState::Normal);
            unacked += i32::from(record.is_ack_pending());
            last = Some(self.local(record.timestamp));
        }
        for (slot, value) in [
            ("totalAlarmCount", Value::Integer(total)),
            ("openAlarmCount", Value::Integer(open)),
            ("inAlarmCount", Value::Integer(active)),
            ("unackedAlarmCount", Value::Integer(unacked)),
            ("timeOfLastAlarm", Value::AbsTime(last)),
        ] {
            // A class component is known by its name only; one of another type has no counts to keep.
            if self.slot(class, slot).is_some() {
                self.store_and_react(class, slot, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;
    use chrono::TimeZone;

    fn station() -> Station {
        sample::station(Utc.with_ymd_and_hms(2026, 3, 10, 10, 7, 30).unwrap()).unwrap()
    }

    fn sources<'a>(records: impl Iterator<Item = &'a AlarmRecord>) -> Vec<&'a str> {
        records
            .filter_map(|record| record.alarm_data.text("sourceName"))
            .collect()
    }

    #[test]
    fn open_and_pending_alarms_are_told_apart() {
        let station = station();
        assert_eq!(
            sources(station.alarms.open()),
            [
                "Sample:SupplyTemp",
                "Sample:FanStatus",
                "Sample:BrokenSensor",
                "Sample:DeadSensor"
            ]
        );
        assert_eq!(
            sources(station.alarms.ack_pending()),
            ["Sample:SupplyTemp", "Sample:FanStatus"]
        );
        assert_eq!(station.alarms.iter().count(), 5);
    }

    #[test]
    fn an_acknowledged_alarm_that_is_normal_again_closes() {
        let mut station = station();
        let uuid = "5f2e6d3c-0000-4000-8000-000000000001";
        station.acknowledge_alarm(uuid, "admin").unwrap();
        assert!(!station.alarms.get(uuid).unwrap().is_open());
        let first = station.alarms.get(uuid).unwrap().ack_time;
        station.tick(station.now() + chrono::TimeDelta::hours(1));
        station.acknowledge_alarm(uuid, "bridge").unwrap();
        let record = station.alarms.get(uuid).unwrap();
        assert_eq!(
            (record.ack_time, record.user.as_str()),
            (first, "admin"),
            "the first acknowledgement counts"
        );
        let class = station.alarm_class("defaultAlarmClass").unwrap();
        assert_eq!(
            station.value(class, "unackedAlarmCount"),
            Some(Value::Integer(0))
        );
        assert_eq!(
            station.value(class, "totalAlarmCount"),
            Some(Value::Integer(3))
        );
    }

    #[test]
    fn the_archive_is_apart_and_order_is_by_time() {
        let mut station = station();
        let mut record = station.alarms.iter().next().unwrap().clone();
        record.uuid = "older".to_owned();
        record.timestamp -= chrono::TimeDelta::days(30);
        record.archived = true;
        station.insert_alarm(record);
        assert_eq!(station.alarms.len(), 6);
        assert_eq!(station.alarms.iter().count(), 5);
        assert_eq!(
            station
                .alarms
                .archive()
                .map(|record| record.uuid.as_str())
                .collect::<Vec<_>>(),
            ["older"]
        );
    }
}
