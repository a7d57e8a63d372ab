//! What the program of a schedule says about a time: the first special event with a period then, else the week, else the
//! default output.
//!
//! A schedule finds its output in the order of its parts, special events before the week; an event counts within its
//! periods only (documentation of the schedule module, "Output" and "Special Events").

use chrono::{Datelike, NaiveDateTime};

use super::schedule_part::{Part, PartSlot};
use super::schedule_program::{Effective, WEEKDAYS, effective_of};
use super::schedule_write_days::DayRule;
use super::schedule_write_periods::{SchedulePeriod, TimeOfDay};
use super::view::PointValue;

/// The program of a schedule in a form that can be changed and asked.
#[derive(Debug, Clone, PartialEq)]
pub struct SchedulePicture {
    /// Monday first.
    pub week: Vec<DayPicture>,
    /// In their order, the first wins.
    pub events: Vec<EventPicture>,
    /// None puts out the null value.
    pub default_output: Option<PointValue>,
    /// The span in which the schedule is in force.
    pub effective: Option<Effective>,
}

/// The periods of a weekday.
#[derive(Debug, Clone, PartialEq)]
pub struct DayPicture {
    pub day: &'static str,
    pub periods: Vec<SchedulePeriod>,
}

/// A special event.
#[derive(Debug, Clone, PartialEq)]
pub struct EventPicture {
    /// Escaped slot name.
    pub name: String,
    pub rule: DayRule,
    /// The days in the station's words.
    pub days_text: String,
    pub periods: Vec<SchedulePeriod>,
}

/// Which part of a program rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScheduledBy {
    /// The special event of this slot name.
    Event(String),
    Weekday(&'static str),
    DefaultOutput,
}

/// What a program says for an instant.
#[derive(Debug, Clone, PartialEq)]
pub struct Scheduled {
    pub by: ScheduledBy,
    /// None is the null value.
    pub value: Option<PointValue>,
}

impl SchedulePicture {
    /// Reads the parts of a schedule.
    ///
    /// # Errors
    /// A period whose times are not times.
    pub(super) fn read(root: &Part) -> Result<Self, String> {
        let composite = root.child("schedule");
        let week = composite.and_then(|composite| composite.child("week"));
        let week = WEEKDAYS.into_iter().map(|day| {
            let periods = week.and_then(|week| week.child(day)).map(day_periods);
            Ok(DayPicture {
                day,
                periods: periods.transpose()?.unwrap_or_default(),
            })
        });
        let events = composite.and_then(|composite| composite.child("specialEvents"));
        let events = events.into_iter().flat_map(|events| &events.children);
        let default = root.reading("defaultOutput");
        Ok(Self {
            week: week.collect::<Result<_, String>>()?,
            events: events.map(event).collect::<Result<_, String>>()?,
            default_output: default.and_then(|reading| reading.typed),
            effective: effective_of(root),
        })
    }

    /// What the program says for a local time.
    ///
    /// # Errors
    /// Why that is not known.
    pub fn value_at(&self, local: NaiveDateTime) -> Result<Scheduled, String> {
        if let Some(effective) = &self.effective {
            let span = effective.text.clone().unwrap_or_else(|| {
                let end = |end: &Option<String>| end.clone().unwrap_or_else(|| "any".to_owned());
                format!("{} - {}", end(&effective.start), end(&effective.end))
            });
            return Err(format!(
                "the schedule is in force for a span only ({span}), which is not compared with the time"
            ));
        }
        for event in &self.events {
            let period = event
                .periods
                .iter()
                .find(|period| period.covers(local.time()));
            let Some(period) = period else {
                continue;
            };
            match event.rule.contains(local.date()) {
                Some(true) => {
                    return Ok(Scheduled {
                        by: ScheduledBy::Event(event.name.clone()),
                        value: period.value.clone(),
                    });
                }
                Some(false) => {}
                None => {
                    return Err(format!(
                        "the days of the special event {} are of a kind that is not followed here ({})",
                        event.name, event.days_text
                    ));
                }
            }
        }
        let weekday = local.weekday().num_days_from_monday() as usize;
        let day = self.week.get(weekday);
        let period = day.and_then(|day| {
            let period = day
                .periods
                .iter()
                .find(|period| period.covers(local.time()))?;
            Some((day.day, period))
        });
        Ok(match period {
            Some((day, period)) => Scheduled {
                by: ScheduledBy::Weekday(day),
                value: period.value.clone(),
            },
            None => Scheduled {
                by: ScheduledBy::DefaultOutput,
                value: self.default_output.clone(),
            },
        })
    }

    /// A special event by its name, escaped or as people see it.
    pub fn event(&self, name: &str) -> Option<&EventPicture> {
        let escaped = crate::station::ord::escape(name);
        self.events
            .iter()
            .find(|event| event.name == name || event.name == escaped)
    }
}

fn event(part: &Part) -> Result<EventPicture, String> {
    let days = part.child("days");
    let slot = part.slot("days");
    Ok(EventPicture {
        name: part.name.clone(),
        rule: days.map_or(DayRule::Unknown, DayRule::read),
        days_text: days
            .map(|days| format!("{}: {}", days.type_spec, days.raw_text()))
            .or_else(|| slot.and_then(|slot| slot.text.clone()))
            .unwrap_or_else(|| "not told".to_owned()),
        periods: day_periods(part)?,
    })
}

/// The periods of a weekday or special event, earliest first.
fn day_periods(daily: &Part) -> Result<Vec<SchedulePeriod>, String> {
    let mut periods: Vec<SchedulePeriod> = period_parts(daily)
        .map(|part| period(daily, part))
        .collect::<Result<_, String>>()?;
    periods.sort_by_key(|period| period.start);
    Ok(periods)
}

/// The components that are periods, in the order of their slots.
pub(super) fn period_parts(daily: &Part) -> impl Iterator<Item = &Part> {
    let holder = daily.child("day").unwrap_or(daily);
    holder
        .children
        .iter()
        .filter(|part| part.slot("start").is_some() && part.slot("finish").is_some())
}

/// Reads one period.
pub(super) fn period(daily: &Part, part: &Part) -> Result<SchedulePeriod, String> {
    let time = |name: &str, is_finish| {
        let text = |slot: &PartSlot| slot.encoded.clone().or_else(|| slot.text.clone());
        let text = part.slot(name).and_then(text).unwrap_or_default();
        TimeOfDay::parse(&text, is_finish)
            .map_err(|problem| format!("the {name} of {}/{}: {problem}", daily.name, part.name))
    };
    Ok(SchedulePeriod {
        start: time("start", false)?,
        finish: time("finish", true)?,
        value: part.reading("effectiveValue").and_then(|held| held.typed),
    })
}
