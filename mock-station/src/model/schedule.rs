//! Weekly schedules: the output follows the program of the day in the station's zone.

use super::component::{Component, Handle};
use super::registry::TypeDef;
use super::station::Station;
use super::status::Status;
use super::value::{PointKind, Value};
use chrono::{Datelike, NaiveTime, Weekday};

/// Whether the type is a schedule with an output of its own.
pub(super) fn is_schedule(ty: &TypeDef) -> bool {
    kind(ty).is_some()
}

/// The kind of a schedule's output.
pub(super) fn kind(ty: &TypeDef) -> Option<PointKind> {
    match ty.spec() {
        "schedule:BooleanSchedule" => Some(PointKind::Boolean),
        "schedule:NumericSchedule" => Some(PointKind::Numeric),
        "schedule:EnumSchedule" => Some(PointKind::Enum),
        "schedule:StringSchedule" => Some(PointKind::String),
        _ => None,
    }
}

/// The slot of `schedule:WeekSchedule` for a day.
pub fn day_slot(day: Weekday) -> &'static str {
    match day {
        Weekday::Mon => "monday",
        Weekday::Tue => "tuesday",
        Weekday::Wed => "wednesday",
        Weekday::Thu => "thursday",
        Weekday::Fri => "friday",
        Weekday::Sat => "saturday",
        Weekday::Sun => "sunday",
    }
}

impl Station {
    /// Adds a period to one weekday of a schedule; `value` is a simple of the schedule's kind.
    pub fn add_schedule_period(
        &mut self,
        schedule: Handle,
        day: Weekday,
        start: NaiveTime,
        finish: NaiveTime,
        value: Value,
    ) -> Result<Handle, super::error::ModelError> {
        let path = format!(
            "{}/schedule/week/{}/day",
            self.slot_path(schedule),
            day_slot(day)
        );
        let kind = self
            .component(schedule)
            .and_then(|component| kind(component.ty()));
        let kind = kind.ok_or_else(|| self.no_slot(schedule, "schedule"))?;
        let day = self.resolve_component(&path)?;
        let period = self.add(day, Some("time"), "schedule:TimeSchedule")?;
        self.set(period, "start", Value::Time(start))?;
        self.set(period, "finish", Value::Time(finish))?;
        let effective = Value::status_value(kind, value, Status::ok());
        self.set(period, "effectiveValue", effective)?;
        self.reevaluate(schedule);
        Ok(period)
    }

    /// `in` if it is valid, else the period of the present local time, else the default output.
    pub(super) fn schedule_output(&self, schedule: Handle) -> Option<Value> {
        let component = self.component(schedule)?;
        let kind = kind(component.ty())?;
        let plain = |value: &Value, status: &Status| {
            Value::status_value(kind, value.clone(), Status::from_bits(status.bits))
        };
        if let Some((value, status)) = component.stored("in").and_then(Value::as_status_value)
            && status.is_valid()
        {
            return Some(plain(value, status));
        }
        if let Some(value) = self.scheduled_now(component) {
            let (value, status) = value.as_status_value()?;
            return Some(plain(value, status));
        }
        let (value, status) = component.stored("defaultOutput")?.as_status_value()?;
        Some(plain(value, status))
    }

    fn scheduled_now(&self, schedule: &Component) -> Option<&Value> {
        let local = self.local(self.now());
        let week = self.component(self.component(schedule.child("schedule")?)?.child("week")?)?;
        let day = self.component(
            self.component(week.child(day_slot(local.weekday()))?)?
                .child("day")?,
        )?;
        let time = local.time();
        self.children(day.handle()).find_map(|period| {
            let (Some(Value::Time(start)), Some(Value::Time(finish))) =
                (period.stored("start"), period.stored("finish"))
            else {
                return None;
            };
            // A finish at midnight is the end of the day.
            let until_midnight = *finish == NaiveTime::MIN;
            let inside = time >= *start && (until_midnight || time < *finish);
            inside
                .then(|| period.stored("effectiveValue"))
                .flatten()
                .filter(|value| value.as_status_value().is_some())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;
    use chrono::{DateTime, TimeZone, Utc};

    fn fan(station: &mut Station, local: &str) -> (Value, Option<i32>) {
        let time = DateTime::parse_from_rfc3339(local)
            .unwrap()
            .with_timezone(&Utc);
        station.tick(time);
        let fan = station
            .resolve_component("slot:/Drivers/BacnetNetwork/AHU_1/points/FanCmd")
            .unwrap();
        let (value, status) = station.out(fan).unwrap();
        (value, status.active_level())
    }

    #[test]
    fn the_fan_follows_local_wall_clock_on_both_sides_of_the_clock_change() {
        let mut station =
            sample::station(Utc.with_ymd_and_hms(2026, 3, 10, 10, 7, 30).unwrap()).unwrap();
        let on = (Value::Boolean(true), Some(16));
        let off = (Value::Boolean(false), Some(16));
        assert_eq!(fan(&mut station, "2026-03-27T06:29:59+01:00"), off);
        assert_eq!(fan(&mut station, "2026-03-27T06:30:00+01:00"), on);
        assert_eq!(fan(&mut station, "2026-03-27T19:00:00+01:00"), off);
        assert_eq!(
            fan(&mut station, "2026-03-28T12:00:00+01:00"),
            off,
            "Saturday"
        );
        assert_eq!(
            fan(&mut station, "2026-03-30T06:30:00+02:00"),
            on,
            "Monday after the change to summer time"
        );
    }

    #[test]
    fn a_linked_input_beats_the_program() {
        let mut station =
            sample::station(Utc.with_ymd_and_hms(2026, 3, 10, 10, 7, 30).unwrap()).unwrap();
        let schedule = station.resolve_component("slot:/Logic/Occupancy").unwrap();
        station
            .set(schedule, "in", Value::status_boolean(false, Status::ok()))
            .unwrap();
        assert_eq!(
            fan(&mut station, "2026-03-10T12:00:00+01:00"),
            (Value::Boolean(false), Some(16))
        );
    }

    #[test]
    fn a_period_may_end_at_midnight() {
        let mut station =
            sample::station(Utc.with_ymd_and_hms(2026, 3, 10, 10, 7, 30).unwrap()).unwrap();
        let schedule = station.resolve_component("slot:/Logic/Occupancy").unwrap();
        let late = NaiveTime::from_hms_opt(22, 0, 0).unwrap();
        station
            .add_schedule_period(
                schedule,
                Weekday::Sat,
                late,
                NaiveTime::MIN,
                Value::Boolean(true),
            )
            .unwrap();
        assert_eq!(
            fan(&mut station, "2026-03-28T23:59:59+01:00").0,
            Value::Boolean(true)
        );
        assert_eq!(
            fan(&mut station, "2026-03-29T00:00:00+01:00").0,
            Value::Boolean(false)
        );
    }
}
