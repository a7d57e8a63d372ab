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
