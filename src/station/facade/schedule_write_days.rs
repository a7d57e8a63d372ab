//! The days of a special event: what callers give, what a station has, and the slots in between.
//!
//! The parts that make up a date are found by their types, not by the names of their slots, and only where the station
//! describes them; days of other kinds are told as text and never changed.

use chrono::{Datelike, NaiveDate};

use super::schedule_part::Part;
use crate::station::boxp::encode::simple;

/// The type of a single date, or one of every year.
pub(super) const DATE: &str = "schedule:DateSchedule";

/// The type of a span of dates.
pub(super) const DATE_RANGE: &str = "schedule:DateRangeSchedule";

/// Days that a caller can give to a special event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventDays {
    Date(NaiveDate),
    /// The same day of every year.
    Yearly {
        month: u32,
        day: u32,
    },
    /// Both ends included.
    Range {
        from: NaiveDate,
        to: NaiveDate,
    },
}

impl EventDays {
    /// The same day of every year; February 29 is one.
    ///
    /// # Errors
    /// A day that no year has.
    pub fn yearly(month: u32, day: u32) -> Result<Self, String> {
        NaiveDate::from_ymd_opt(2024, month, day)
            .map(|_| Self::Yearly { month, day })
            .ok_or_else(|| format!("no year has a day {day} of month {month}"))
    }

    /// A span of dates.
    ///
    /// # Errors
    /// One that ends before it begins.
    pub fn range(from: NaiveDate, to: NaiveDate) -> Result<Self, String> {
        if from > to {
            return Err(format!("{from} lies after {to}; swap them"));
        }
        Ok(Self::Range { from, to })
    }

    /// Whether a date is one of them.
    pub fn contains(self, date: NaiveDate) -> bool {
        match self {
            Self::Date(own) => own == date,
            Self::Yearly { month, day } => (date.month(), date.day()) == (month, day),
            Self::Range { from, to } => from <= date && date <= to,
        }
    }

    /// The type that holds them.
    pub(super) fn type_spec(self) -> &'static str {
        match self {
            Self::Date(_) | Self::Yearly { .. } => DATE,
            Self::Range { .. } => DATE_RANGE,
        }
    }

    /// What each date below the days component has to say: its slot (none for the component itself) and the date.
    fn dates(self) -> Vec<(Option<&'static str>, DateParts)> {
        match self {
            Self::Date(date) => vec![(None, DateParts::of(date))],
            Self::Yearly { month, day } => vec![(
                None,
                DateParts {
                    year: None,
                    month,
                    day,
                },
            )],
            Self::Range { from, to } => vec![
                (Some("start"), DateParts::of(from)),
                (Some("end"), DateParts::of(to)),
            ],
        }
    }
}

/// A date, or one of every year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DateParts {
    year: Option<i32>,
    month: u32,
    day: u32,
}

impl DateParts {
    fn of(date: NaiveDate) -> Self {
        Self {
            year: Some(date.year()),
            month: date.month(),
            day: date.day(),
        }
    }
}

/// The days of an event as the station has them.
#[derive(Debug, Clone, PartialEq)]
pub enum DayRule {
    /// In a form that can be given as well.
    Known(EventDays),
    /// Any combination of years, months, days and weekdays.
    Pattern(DatePattern),
    /// A calendar, or another kind.
    Unknown,
}

impl DayRule {
    pub(super) fn read(days: &Part) -> Self {
        if days.type_spec.ends_with(":DateRangeSchedule") {
            let end = |name: &str| DatePattern::read(days.child(name)?)?.single_date();
            return match (end("start"), end("end")) {
                (Some(from), Some(to)) => Self::Known(EventDays::Range { from, to }),
                _ => Self::Unknown,
            };
        }
        if !days.type_spec.ends_with(":DateSchedule") {
            return Self::Unknown;
        }
        match DatePattern::read(days) {
            Some(pattern) => match pattern.as_given() {
                Some(given) => Self::Known(given),
                None => Self::Pattern(pattern),
            },
            None => Self::Unknown,
        }
    }

    /// Whether a date is one of the days; none when that is not known.
    pub fn contains(&self, date: NaiveDate) -> Option<bool> {
        match self {
            Self::Known(days) => Some(days.contains(date)),
            Self::Pattern(pattern) => Some(pattern.contains(date)),
            Self::Unknown => None,
        }
    }
}

/// Years, months, days of the month and weekdays that all have to fit; an empty list means any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DatePattern {
    year: Option<i32>,
    /// From 1.
    months: Vec<u32>,
    days: Vec<u32>,
    /// Sunday is 0.
    weekdays: Vec<u32>,
}

impl DatePattern {
    /// None when a part is missing or says something unknown, such as the last day of a month.
    fn read(date: &Part) -> Option<Self> {
        let year = part_of(date, YEAR)?;
        let encoded = |name: &str| year.slot(name)?.encoded.clone();
        let year = match encoded("alwaysEffective").as_deref() {
            Some("true") => None,
            _ => Some(encoded("year")?.parse().ok()?),
        };
        let months = members(part_of(date, MONTH)?, 0..=11)?;
        Some(Self {
            year,
            months: months.into_iter().map(|month| month + 1).collect(),
            days: members(part_of(date, DAY_OF_MONTH)?, 1..=31)?,
            weekdays: match part_of(date, WEEKDAY) {
                Some(weekdays) => members(weekdays, 0..=6)?,
                None => Vec::new(),
            },
        })
    }

    fn contains(&self, date: NaiveDate) -> bool {
        let fits = |list: &[u32], member: u32| list.is_empty() || list.contains(&member);
        self.year.is_none_or(|year| year == date.year())
            && fits(&self.months, date.month())
            && fits(&self.days, date.day())
            && fits(&self.weekdays, date.weekday().num_days_from_sunday())
    }

    fn as_given(&self) -> Option<EventDays> {
        let ([month], [day], []) = (
            self.months.as_slice(),
            self.days.as_slice(),
            self.weekdays.as_slice(),
        ) else {
            return None;
        };
        match self.year {
            Some(year) => NaiveDate::from_ymd_opt(year, *month, *day).map(EventDays::Date),
            None => EventDays::yearly(*month, *day).ok(),
        }
    }

    fn single_date(&self) -> Option<NaiveDate> {
        match self.as_given()? {
            EventDays::Date(date) => Some(date),
            _ => None,
        }
    }
}

const YEAR: &str = ":YearSchedule";
const MONTH: &str = ":MonthSchedule";
const DAY_OF_MONTH: &str = ":DayOfMonthSchedule";
const WEEKDAY: &str = ":WeekdaySchedule";

fn part_of<'a>(date: &'a Part, kind: &str) -> Option<&'a Part> {
    date.children
        .iter()
        .find(|child| child.type_spec.ends_with(kind))
}

/// The ordinals of a set; an encoding may name a range behind `@`.
fn members(part: &Part, known: std::ops::RangeInclusive<u32>) -> Option<Vec<u32>> {
    let text = part.slot("set")?.encoded.clone().unwrap_or_default();
    let set = text.split('@').next().unwrap_or_default();
    let mut members = Vec::new();
    for member in set.split(',').map(str::trim).filter(|one| !one.is_empty()) {
        members.push(member.parse().ok().filter(|one| known.contains(one))?);
    }
    Some(members)
}

/// A slot to set so that the days are as given: the path below the days component, its slot, the value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DaySlot {
    /// Slot names from the days component down.
    pub path: Vec<String>,
    pub slot: &'static str,
    pub value: serde_json::Value,
}

/// The slots that make a days component, with what is below it, say what is wanted.
///
/// # Errors
/// The part of a date that the station does not have where it is expected.
pub(super) fn day_slots(days: &Part, wanted: EventDays) -> Result<Vec<DaySlot>, String> {
    let mut slots = Vec::new();
    for (name, date) in wanted.dates() {
        let (holder, path) = match name {
            None => (days, Vec::new()),
            Some(name) => (
                days.child(name)
                    .ok_or_else(|| format!("{} has no slot {name}", days.type_spec))?,
                vec![name.to_owned()],
            ),
        };
        let slot = |kind: &str, slot: &'static str, type_spec: &str, text: String| {
            let found = part_of(holder, kind).ok_or_else(|| {
                let kind = kind.trim_start_matches(':');
                format!("{} holds no {kind}", holder.type_spec)
            })?;
            let mut path = path.clone();
            path.push(found.name.clone());
            Ok::<_, String>(DaySlot {
                path,
                slot,
                value: simple(type_spec, &text),
            })
        };
        if let Some(year) = date.year {
            slots.push(slot(YEAR, "year", "baja:Integer", year.to_string())?);
        }
        let every_year = date.year.is_none().to_string();
        slots.push(slot(YEAR, "alwaysEffective", "baja:Boolean", every_year)?);
        let month = (date.month - 1).to_string();
        slots.push(slot(MONTH, "set", "baja:EnumSet", month)?);
        let day = date.day.to_string();
        slots.push(slot(DAY_OF_MONTH, "set", "baja:EnumSet", day)?);
    }
    Ok(slots)
}

#[cfg(test)]
mod tests {
    use super::super::schedule_part::PartSlot;
    use super::*;

    fn date(text: &str) -> NaiveDate {
        text.parse().expect("a date")
    }

    fn part(name: &str, kind: &str, slots: &[(&str, &str)], children: Vec<Part>) -> Part {
        Part {
            name: name.into(),
            type_spec: format!("schedule:{kind}"),
            slots: slots
                .iter()
                .map(|(name, text)| PartSlot {
                    name: (*name).into(),
                    encoded: Some((*text).into()),
                    ..PartSlot::default()
                })
                .collect(),
            children,
            ..Part::default()
        }
    }

    fn days(name: &str, year: Option<&str>, months: &str, days: &str, weekdays: &str) -> Part {
        let always = if year.is_some() { "false" } else { "true" };
        let year = [
            ("alwaysEffective", always),
            ("year", year.unwrap_or("2000")),
        ];
        part(
            name,
            "DateSchedule",
            &[],
            vec![
                part("y", "YearSchedule", &year, Vec::new()),
                part("m", "MonthSchedule", &[("set", months)], Vec::new()),
                part("d", "DayOfMonthSchedule", &[("set", days)], Vec::new()),
                part("w", "WeekdaySchedule", &[("set", weekdays)], Vec::new()),
            ],
        )
    }

    #[test]
    fn dates_of_one_year_of_every_year_and_spans_are_read() {
        let christmas = DayRule::read(&days("days", Some("2026"), "11", "25", ""));
        assert_eq!(
            christmas,
            DayRule::Known(EventDays::Date(date("2026-12-25")))
        );
        let yearly = DayRule::read(&days("days", None, "11@{x=11}", "25", ""));
        assert_eq!(yearly.contains(date("2031-12-25")), Some(true));
        assert_eq!(yearly.contains(date("2031-12-24")), Some(false));
        let span = part(
            "days",
            "DateRangeSchedule",
            &[],
            vec![
                days("start", Some("2026"), "11", "24", ""),
                days("end", Some("2027"), "0", "1", ""),
            ],
        );
        let range = EventDays::range(date("2026-12-24"), date("2027-01-01")).expect("a span");
        assert_eq!(DayRule::read(&span), DayRule::Known(range));
        assert_eq!(
            DayRule::read(&span).contains(date("2027-01-01")),
            Some(true)
        );
        assert_eq!(
            DayRule::read(&span).contains(date("2027-01-02")),
            Some(false)
        );
    }

    #[test]
    fn patterns_are_followed_and_what_is_not_known_is_not_guessed() {
        // Mondays and Tuesdays of March.
        let pattern = DayRule::read(&days("days", None, "2", "", "1,2"));
        assert!(matches!(pattern, DayRule::Pattern(_)));
        assert_eq!(pattern.contains(date("2026-03-10")), Some(true));
        assert_eq!(pattern.contains(date("2026-03-11")), Some(false));
        assert_eq!(pattern.contains(date("2026-04-07")), Some(false));
        for unknown in [
            days("days", None, "2", "32", ""),
            days("days", Some("soon"), "2", "3", ""),
            part(
                "days",
                "ScheduleReference",
                &[("ref", "slot:/Holidays")],
                Vec::new(),
            ),
            part("days", "DateSchedule", &[], Vec::new()),
        ] {
            let rule = DayRule::read(&unknown);
            assert_eq!(
                (&rule, rule.contains(date("2026-03-10"))),
                (&DayRule::Unknown, None)
            );
        }
    }

    #[test]
    fn days_that_no_calendar_has_are_refused() {
        assert!(EventDays::yearly(2, 29).is_ok());
        for (month, day) in [(2, 30), (13, 1), (0, 1), (4, 31)] {
            assert!(EventDays::yearly(month, day).is_err(), "{month}-{day}");
        }
        assert!(EventDays::range(date("2026-12-24"), date("2026-12-23")).is_err());
    }

    #[test]
    fn the_slots_of_a_date_are_found_by_type_whatever_their_names() {
        let loaded = part(
            "days",
            "DateSchedule",
            &[],
            vec![
                part("jahr", "YearSchedule", &[], Vec::new()),
                part("monat", "MonthSchedule", &[], Vec::new()),
                part("tag", "DayOfMonthSchedule", &[], Vec::new()),
            ],
        );
        let slots = day_slots(&loaded, EventDays::Date(date("2026-12-25"))).expect("described");
        let told: Vec<(String, &str, &str)> = slots
            .iter()
            .map(|slot| {
                (
                    slot.path.join("/"),
                    slot.slot,
                    slot.value["v"].as_str().expect("text"),
                )
            })
            .collect();
        let expected = [
            ("jahr", "year", "2026"),
            ("jahr", "alwaysEffective", "false"),
            ("monat", "set", "11"),
            ("tag", "set", "25"),
        ];
        let expected = expected.map(|(path, slot, value)| (path.to_owned(), slot, value));
        assert_eq!(told, expected);
        let range = EventDays::range(date("2026-12-24"), date("2027-01-01")).expect("a span");
        let problem = day_slots(&loaded, range).expect_err("no span");
        assert_eq!(problem, "schedule:DateSchedule has no slot start");
    }
}
