//! Weekly schedules: the output follows the first special event in force, else the program of the day, in the station's
//! zone.

use super::component::{Component, Handle};
use super::registry::TypeDef;
use super::station::Station;
use super::status::Status;
use super::value::{PointKind, Value};
use chrono::{Datelike, NaiveDate, NaiveTime, Weekday};

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

    /// A change in a part of a schedule is a change of the schedule.
    pub(super) fn follow_schedule(&mut self, part: Handle) {
        let mut next = Some(part);
        while let Some(component) = next.and_then(|handle| self.component(handle)) {
            if !component.ty().is("schedule:AbstractSchedule") {
                return;
            }
            let handle = component.handle();
            if is_schedule(component.ty()) {
                self.reevaluate(handle);
                return;
            }
            next = component.parent();
        }
    }

    /// Special events come before the week, in their order; where none has a period, the week counts.
    fn scheduled_now(&self, schedule: &Component) -> Option<&Value> {
        let local = self.local(self.now());
        let (date, time) = (local.date_naive(), local.time());
        let program = self.component(schedule.child("schedule")?)?;
        let special = program.child("specialEvents").and_then(|events| {
            self.children(events)
                .filter(|event| self.is_on(event, date))
                .find_map(|event| self.period_value(event, time))
        });
        special.or_else(|| {
            let week = self.component(program.child("week")?)?;
            let day = self.component(week.child(day_slot(local.weekday()))?)?;
            self.period_value(day, time)
        })
    }

    /// The value of the period of a `schedule:DailySchedule` at a time of day.
    fn period_value(&self, daily: &Component, time: NaiveTime) -> Option<&Value> {
        self.children(daily.child("day")?).find_map(|period| {
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

    /// Whether a special event is for a date.
    fn is_on(&self, event: &Component, date: NaiveDate) -> bool {
        let Some(days) = event.child("days").and_then(|days| self.component(days)) else {
            return false;
        };
        match days.ty().spec() {
            "schedule:DateSchedule" => self.date_fits(days, date),
            "schedule:DateRangeSchedule" => {
                let end = |slot: &str| {
                    let end = self.component(days.child(slot)?)?;
                    self.single_date(end)
                };
                end("start").is_none_or(|start| start <= date)
                    && end("end").is_none_or(|end| date <= end)
            }
            _ => false,
        }
    }

    fn date_fits(&self, days: &Component, date: NaiveDate) -> bool {
        let within = |slot: &str, member: u32| {
            let set = self.members(days, slot);
            set.is_empty() || set.contains(&member)
        };
        self.year_of(days).is_none_or(|year| year == date.year())
            && within("monthSchedule", date.month0())
            && within("daySchedule", date.day())
            && within("weekdaySchedule", date.weekday().num_days_from_sunday())
    }

    fn single_date(&self, days: &Component) -> Option<NaiveDate> {
        let month = self.members(days, "monthSchedule").first().copied()?;
        let day = self.members(days, "daySchedule").first().copied()?;
        NaiveDate::from_ymd_opt(self.year_of(days)?, month + 1, day)
    }

    /// None for every year.
    fn year_of(&self, days: &Component) -> Option<i32> {
        let year = self.component(days.child("yearSchedule")?)?;
        match (year.stored("alwaysEffective"), year.stored("year")) {
            (Some(Value::Boolean(false)), Some(Value::Integer(year))) => Some(*year),
            _ => None,
        }
    }

    fn members(&self, days: &Component, slot: &str) -> Vec<u32> {
        let part = days.child(slot).and_then(|part| self.component(part));
        let set = part.and_then(|part| part.stored("set"));
        let text = set.map(Value::encode).unwrap_or_default();
        text.split(',')
            .filter_map(|member| member.trim().parse().ok())
            .collect()
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

    /// A special event with a period of its own, on the days that `set` makes of its date.
    fn add_event(
        station: &mut Station,
        name: &str,
        hours: (u32, u32),
        set: &[(&str, &str, Value)],
    ) -> Handle {
        let path = "slot:/Logic/Occupancy/schedule/specialEvents";
        let events = station.resolve_component(path).unwrap();
        let event = station
            .add(events, Some(name), "schedule:DailySchedule")
            .unwrap();
        let path = station.slot_path(event);
        for (part, slot, value) in set {
            let part = station
                .resolve_component(&format!("{path}/days/{part}"))
                .unwrap();
            station.set(part, slot, value.clone()).unwrap();
        }
        let day = station.resolve_component(&format!("{path}/day")).unwrap();
        let period = station
            .add(day, Some("time"), "schedule:TimeSchedule")
            .unwrap();
        for (slot, hour) in [("start", hours.0), ("finish", hours.1)] {
            let time = NaiveTime::from_hms_opt(hour, 0, 0).unwrap();
            station.set(period, slot, Value::Time(time)).unwrap();
        }
        let off = Value::status_boolean(false, Status::ok());
        station.set(period, "effectiveValue", off).unwrap();
        event
    }

    fn members(text: &str) -> Value {
        let set = super::super::registry::find("baja:EnumSet").unwrap();
        Value::decode(set, text).unwrap()
    }

    #[test]
    fn a_special_event_beats_the_week_on_its_days_and_within_its_periods() {
        let mut station =
            sample::station(Utc.with_ymd_and_hms(2026, 3, 10, 10, 7, 30).unwrap()).unwrap();
        let days = [
            ("yearSchedule", "year", Value::Integer(2026)),
            ("yearSchedule", "alwaysEffective", Value::Boolean(false)),
            ("monthSchedule", "set", members("2")),
            ("daySchedule", "set", members("11,12")),
        ];
        let event = add_event(&mut station, "Closed", (8, 12), &days);
        for (local, on) in [
            ("2026-03-10T10:00:00+01:00", true),
            ("2026-03-11T07:59:00+01:00", true),
            ("2026-03-11T08:00:00+01:00", false),
            ("2026-03-12T11:59:00+01:00", false),
            ("2026-03-12T12:00:00+01:00", true),
            ("2027-03-11T10:00:00+01:00", true),
        ] {
            assert_eq!(fan(&mut station, local).0, Value::Boolean(on), "{local}");
        }
        assert_eq!(
            fan(&mut station, "2027-03-11T10:00:00+01:00").0,
            Value::Boolean(true)
        );
        let path = format!("{}/days/yearSchedule", station.slot_path(event));
        let year = station.resolve_component(&path).unwrap();
        station
            .set(year, "alwaysEffective", Value::Boolean(true))
            .unwrap();
        let fan_now = station
            .resolve_component("slot:/Drivers/BacnetNetwork/AHU_1/points/FanCmd")
            .unwrap();
        assert_eq!(
            station.out(fan_now).unwrap().0,
            Value::Boolean(false),
            "the change of a part counts at once"
        );
    }

    #[test]
    fn a_range_of_days_includes_both_ends() {
        let mut station =
            sample::station(Utc.with_ymd_and_hms(2026, 3, 10, 10, 7, 30).unwrap()).unwrap();
        let event = add_event(&mut station, "Holidays", (0, 23), &[]);
        station
            .replace_frozen_child(event, "days", "schedule:DateRangeSchedule")
            .unwrap();
        let path = station.slot_path(event);
        for (end, day) in [("start", "29"), ("end", "31")] {
            for (part, slot, value) in [
                ("yearSchedule", "year", Value::Integer(2026)),
                ("yearSchedule", "alwaysEffective", Value::Boolean(false)),
                ("monthSchedule", "set", members("2")),
                ("daySchedule", "set", members(day)),
            ] {
                let part = station
                    .resolve_component(&format!("{path}/days/{end}/{part}"))
                    .unwrap();
                station.set(part, slot, value).unwrap();
            }
        }
        for (local, on) in [
            ("2026-03-27T10:00:00+01:00", true),
            ("2026-03-30T10:00:00+02:00", false),
            ("2026-03-31T10:00:00+02:00", false),
            ("2026-04-01T10:00:00+02:00", true),
        ] {
            assert_eq!(fan(&mut station, local).0, Value::Boolean(on), "{local}");
        }
    }
}
