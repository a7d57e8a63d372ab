//! From what a caller wants of a schedule to the messages that make it so.

use serde_json::{Value as Json, json};

use super::points::enum_tag;
use super::schedule_part::Part;
use super::schedule_picture::{EventPicture, SchedulePicture, period, period_parts};
use super::schedule_program::WEEKDAYS;
use super::schedule_write::ScheduleEditError;
use super::schedule_write_days::{DayRule, EventDays};
use super::schedule_write_periods::{PeriodChange, SchedulePeriod, TimeOfDay, changes, in_order};
use super::view::PointValue;
use super::write_value::{Given, point_value};
use crate::station::boxp::encode::{simple, status_value};
use crate::station::boxp::point::PointKind;
use crate::station::facets::Facets;
use crate::station::ord::{SlotName, escape, unescape};
use crate::station::status::StatusBits;
use crate::station::value::{DynamicEnum, EnumRange, Value};

/// A period as the caller gave it.
#[derive(Debug, Clone, PartialEq)]
pub struct PeriodGiven {
    pub start: String,
    pub finish: String,
    /// Null puts out the null value.
    pub value: Given,
}

/// A special event as the caller gave it.
#[derive(Debug, Clone, PartialEq)]
pub struct EventGiven {
    pub name: String,
    /// Needed for a new event; the days of one that is there stay as they are.
    pub days: Option<EventDays>,
    pub periods: Vec<PeriodGiven>,
}

/// What is to become of a schedule; weekdays and events that are not named stay as they are.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScheduleEdit {
    /// Weekday in English and all periods that it shall have.
    pub week: Vec<(String, Vec<PeriodGiven>)>,
    pub events: Vec<EventGiven>,
    pub removed_events: Vec<String>,
}

/// One part to change; paths are slot paths of components.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    Set {
        path: String,
        slot: &'static str,
        value: Json,
    },
    Remove {
        path: String,
        name: String,
    },
    Add {
        path: String,
        name: String,
        body: Json,
    },
    AddEvent {
        path: String,
        name: String,
        days: EventDays,
        periods: Vec<Json>,
    },
}

impl Step {
    pub fn path(&self) -> &str {
        match self {
            Self::Set { path, .. }
            | Self::Remove { path, .. }
            | Self::Add { path, .. }
            | Self::AddEvent { path, .. } => path,
        }
    }

    pub fn messages(&self) -> usize {
        match self {
            Self::Set { .. } | Self::Remove { .. } | Self::Add { .. } => 1,
            // The event, its kind of days, and the parts of one date or two.
            Self::AddEvent { days, periods, .. } => {
                let dates = match days {
                    EventDays::Date(_) | EventDays::Yearly { .. } => 4,
                    EventDays::Range { .. } => 9,
                };
                1 + dates + periods.len()
            }
        }
    }
}

/// How values of this schedule are read and written.
pub(super) struct Values {
    pub kind: PointKind,
    /// As it is sent with a value.
    pub range: EnumRange,
    pub choices: EnumRange,
    pub facets: Facets,
}

impl Values {
    fn given(&self, given: &Given) -> Result<Option<PointValue>, String> {
        let value = point_value(self.kind, given, &self.choices, &self.facets)?;
        Ok(match value {
            Value::Double(number) => Some(PointValue::Number(number)),
            Value::Boolean(flag) => Some(PointValue::Boolean(flag)),
            Value::Enum(choice) => Some(PointValue::Enum {
                tag: enum_tag(&choice, &self.facets),
                ordinal: Some(choice.ordinal),
            }),
            Value::String(text) => Some(PointValue::Text(text)),
            _ => None,
        })
    }

    fn encoded(&self, value: Option<&PointValue>) -> Json {
        let held = match value {
            Some(PointValue::Number(number)) => Value::Double(*number),
            Some(PointValue::Boolean(flag)) => Value::Boolean(*flag),
            Some(PointValue::Enum { ordinal, .. }) => Value::Enum(DynamicEnum {
                ordinal: ordinal.unwrap_or_default(),
                range: self.range.clone(),
            }),
            Some(PointValue::Text(text)) => Value::String(text.clone()),
            None => self.kind.default_value(),
        };
        let bits = match value {
            Some(_) => StatusBits::default(),
            None => StatusBits::NULL,
        };
        status_value(self.kind, &held, bits)
    }

    fn period_body(&self, period: &SchedulePeriod) -> Json {
        let named = |name: &str, mut value: Json| {
            if let Some(fields) = value.as_object_mut() {
                fields.insert("n".to_owned(), json!(name));
            }
            value
        };
        json!({"nm": "p", "t": "schedule:TimeSchedule", "s": [
            named("start", simple("baja:Time", &period.start.encode())),
            named("finish", simple("baja:Time", &period.finish.encode())),
            named("effectiveValue", self.encoded(period.value.as_ref())),
        ]})
    }
}

/// Builds the steps of an edit and the program that it leads to.
pub(super) struct Planner<'a> {
    pub root: &'a Part,
    pub root_path: &'a str,
    pub values: &'a Values,
    pub after: SchedulePicture,
    pub steps: Vec<Step>,
}

impl<'a> Planner<'a> {
    pub fn week(&mut self, days: &[(String, Vec<PeriodGiven>)]) -> Result<(), ScheduleEditError> {
        let mut seen: Vec<usize> = Vec::new();
        for (day, given) in days {
            let wanted = day.trim().to_lowercase();
            let at = WEEKDAYS.iter().position(|known| *known == wanted);
            let at = at.ok_or_else(|| {
                invalid(
                    day,
                    format!("it is no weekday; write one of {}", WEEKDAYS.join(", ")),
                )
            })?;
            if seen.contains(&at) {
                return Err(invalid(day, "it is named twice".to_owned()));
            }
            seen.push(at);
            let new = self.periods(day, given)?;
            let slot = WEEKDAYS.get(at).copied().unwrap_or_default();
            let part = self.part(&["schedule", "week", slot]);
            let part = part.ok_or_else(|| {
                invalid(
                    day,
                    "the schedule has no such day; it is no weekly schedule".to_owned(),
                )
            })?;
            let path = format!("{}/schedule/week/{slot}/day", self.root_path);
            self.day(part, &path, &new)?;
            if let Some(picture) = self.after.week.get_mut(at) {
                picture.periods = new;
            }
        }
        Ok(())
    }

    pub fn removed_events(&mut self, names: &[String]) -> Result<(), ScheduleEditError> {
        for name in names {
            let event = self.after.event(name);
            let Some(event) = event.map(|event| event.name.clone()) else {
                let known: Vec<&str> = self.after.events.iter().map(|e| e.name.as_str()).collect();
                return Err(invalid(
                    name,
                    format!(
                        "there is no such special event; those that are left: [{}]",
                        known.join(", ")
                    ),
                ));
            };
            self.after.events.retain(|held| held.name != event);
            self.steps.push(Step::Remove {
                path: self.events_path(),
                name: event,
            });
        }
        Ok(())
    }

    pub fn events(&mut self, events: &[EventGiven]) -> Result<(), ScheduleEditError> {
        let mut seen: Vec<String> = Vec::new();
        for given in events {
            let place = given.name.trim();
            // Given as people see it, or escaped as the station lists it.
            let escaped = match escape(&unescape(place)) == place {
                true => place.to_owned(),
                false => escape(place),
            };
            let name = SlotName::new(escaped)
                .map_err(|error| invalid(place, error.to_string()))?
                .as_str()
                .to_owned();
            if seen.contains(&name) {
                return Err(invalid(place, "it is named twice".to_owned()));
            }
            // Both at once would send messages, look unchanged when only the days differ, and leave nothing to undo.
            let events_path = self.events_path();
            let is_removed = |step: &Step| matches!(step, Step::Remove { path, name: gone } if *path == events_path && *gone == name);
            if self.steps.iter().any(is_removed) {
                return Err(invalid(
                    place,
                    "the same call removes that event; remove it in one call and add it in the next, or give the new event another name"
                        .to_owned(),
                ));
            }
            let periods = self.periods(place, &given.periods)?;
            match self.after.event(&name).cloned() {
                Some(held) => self.changed_event(place, &held, given.days, periods)?,
                None => self.new_event(place, &name, given.days, periods)?,
            }
            seen.push(name);
        }
        Ok(())
    }

    fn changed_event(
        &mut self,
        place: &str,
        held: &EventPicture,
        days: Option<EventDays>,
        periods: Vec<SchedulePeriod>,
    ) -> Result<(), ScheduleEditError> {
        if days.is_some_and(|days| held.rule != DayRule::Known(days)) {
            return Err(invalid(
                place,
                format!(
                    "the event is there on other days ({}); leave its days out to change its periods, or remove it first and write it under another name",
                    held.days_text
                ),
            ));
        }
        let part = self.part(&["schedule", "specialEvents", held.name.as_str()]);
        let part = part.ok_or_else(|| invalid(place, "the event is not there".to_owned()))?;
        let path = format!("{}/{}/day", self.events_path(), held.name);
        self.day(part, &path, &periods)?;
        let event = self.after.events.iter_mut();
        if let Some(event) = event.into_iter().find(|event| event.name == held.name) {
            event.periods = periods;
        }
        Ok(())
    }

    fn new_event(
        &mut self,
        place: &str,
        name: &str,
        days: Option<EventDays>,
        periods: Vec<SchedulePeriod>,
    ) -> Result<(), ScheduleEditError> {
        let days = days.ok_or_else(|| {
            invalid(
                place,
                "a new special event needs its days: date, month and day, or from and to"
                    .to_owned(),
            )
        })?;
        if periods.is_empty() {
            return Err(invalid(
                place,
                "a special event without a period has no effect; give at least one, for example 00:00 to 24:00".to_owned(),
            ));
        }
        if self.part(&["schedule", "specialEvents"]).is_none() {
            return Err(invalid(
                place,
                "the schedule takes no special events".to_owned(),
            ));
        }
        self.steps.push(Step::AddEvent {
            path: self.events_path(),
            name: name.to_owned(),
            days,
            periods: periods
                .iter()
                .map(|one| self.values.period_body(one))
                .collect(),
        });
        self.after.events.push(EventPicture {
            name: name.to_owned(),
            rule: DayRule::Known(days),
            days_text: days.type_spec().to_owned(),
            periods,
        });
        Ok(())
    }

    fn events_path(&self) -> String {
        format!("{}/schedule/specialEvents", self.root_path)
    }

    fn part(&self, names: &[&str]) -> Option<&'a Part> {
        names
            .iter()
            .try_fold(self.root, |part, name| part.child(name))
    }

    fn periods(
        &self,
        place: &str,
        given: &[PeriodGiven],
    ) -> Result<Vec<SchedulePeriod>, ScheduleEditError> {
        let read = |one: &PeriodGiven| {
            Ok(SchedulePeriod {
                start: TimeOfDay::parse(&one.start, false)?,
                finish: TimeOfDay::parse(&one.finish, true)?,
                value: self.values.given(&one.value).map_err(|reason| {
                    format!("the value {} does not fit: {reason}", one.value.text())
                })?,
            })
        };
        let periods: Result<Vec<_>, String> = given.iter().map(read).collect();
        periods
            .and_then(in_order)
            .map_err(|reason| invalid(place, reason))
    }

    /// The steps that give a weekday or event these periods.
    fn day(
        &mut self,
        daily: &Part,
        path: &str,
        new: &[SchedulePeriod],
    ) -> Result<(), ScheduleEditError> {
        let parts: Vec<&Part> = period_parts(daily).collect();
        let old: Result<Vec<SchedulePeriod>, String> =
            parts.iter().map(|part| period(daily, part)).collect();
        let old = old.map_err(|reason| invalid(&daily.name, reason))?;
        let mut taken: Vec<String> = daily
            .child("day")
            .unwrap_or(daily)
            .children
            .iter()
            .map(|part| part.name.clone())
            .collect();
        let name_of = |at: usize| {
            parts
                .get(at)
                .map(|part| part.name.clone())
                .unwrap_or_default()
        };
        for change in changes(&old, new) {
            let set = |at: usize, slot: &'static str, value: Json| Step::Set {
                path: format!("{path}/{}", name_of(at)),
                slot,
                value,
            };
            let step = match change {
                PeriodChange::SetStart { at, to } => {
                    set(at, "start", simple("baja:Time", &to.encode()))
                }
                PeriodChange::SetFinish { at, to } => {
                    set(at, "finish", simple("baja:Time", &to.encode()))
                }
                PeriodChange::SetValue { at, to } => {
                    set(at, "effectiveValue", self.values.encoded(to.as_ref()))
                }
                PeriodChange::Remove { at } => Step::Remove {
                    path: path.to_owned(),
                    name: name_of(at),
                },
                PeriodChange::Add(period) => {
                    let name = (0..).map(period_name).find(|name| !taken.contains(name));
                    let name = name.unwrap_or_else(|| period_name(0));
                    taken.push(name.clone());
                    Step::Add {
                        path: path.to_owned(),
                        name,
                        body: self.values.period_body(&period),
                    }
                }
            };
            self.steps.push(step);
        }
        Ok(())
    }
}

/// `time`, `time1`, `time2` and so on.
pub(super) fn period_name(number: usize) -> String {
    match number {
        0 => "time".to_owned(),
        number => format!("time{number}"),
    }
}

fn invalid(place: &str, reason: String) -> ScheduleEditError {
    ScheduleEditError::Invalid {
        place: place.to_owned(),
        reason,
    }
}
