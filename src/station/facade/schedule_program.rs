//! The program of a schedule: the week, special events, and what they fall back to (Station web specification §3.4;
//! types of the schedule module).
//!
//! Parts of a type or shape that is not known are kept as text, never dropped.

use chrono::{DateTime, FixedOffset, NaiveTime, Timelike};
use chrono_tz::Tz;

use super::StationFacade;
use super::error::{FacadeError, FacadeResult};
use super::history::prefer;
use super::points::shown_facets;
use super::schedule_hiding::{LEFT_OUT, lacks_its_program};
use super::schedule_part::{Part, PartSlot, WholeSchedule, is_schedule_type};
use super::status_reading::StatusReading;
use super::view::PointFacets;
use crate::station::boxp::contract::withholds;
use crate::station::error::StationError;
use crate::station::http::CallScope;
use crate::station::ord::Ord;
use crate::station::time::parse_abs_time;

/// Slots of a week, in the order of the answer.
pub const WEEKDAYS: [&str; 7] = [
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
];

/// Properties that have a place of their own in the answer.
const KNOWN_SLOTS: [&str; 8] = [
    "out",
    "in",
    "defaultOutput",
    "nextTime",
    "nextValue",
    "facets",
    "effective",
    "cleanupExpiredEvents",
];

/// Everything that a schedule does.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleProgram {
    pub display_name: String,
    pub type_spec: String,
    /// Zone of all times of day.
    pub zone: Tz,
    pub out: Option<StatusReading>,
    /// What overrides the program while it is valid.
    pub input: Option<StatusReading>,
    pub default_output: Option<StatusReading>,
    pub next_time: Option<DateTime<FixedOffset>>,
    pub next_value: Option<StatusReading>,
    pub facets: PointFacets,
    pub effective: Option<Effective>,
    /// Whether special events that are over are removed.
    pub cleanup_expired_events: Option<bool>,
    /// None for a schedule without a week, such as a calendar.
    pub week: Option<Vec<DayProgram>>,
    /// The first with a period at a time of its days is in force, before the week.
    pub special_events: Vec<SpecialEvent>,
    /// Other properties of the schedule.
    pub other_properties: Vec<RawPart>,
    /// Components of unknown kinds.
    pub other_parts: Vec<RawPart>,
    /// Parts are missing because there are too many or the time was over.
    pub truncated: bool,
    /// Nothing was found that the schedule does, and the interface leaves out what the account may not read.
    pub may_be_hidden: bool,
}

/// The span in which a schedule is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effective {
    pub start: Option<String>,
    pub end: Option<String>,
    /// The station's own words where start and end are not told apart.
    pub text: Option<String>,
}

impl Effective {
    /// None when nothing limits the schedule.
    pub(super) fn new(
        start: Option<String>,
        end: Option<String>,
        text: Option<String>,
    ) -> Option<Self> {
        // A bound that is not set is written so.
        let told =
            |text: Option<String>| text.filter(|text| !matches!(text.trim(), "" | "null" | "-"));
        let (start, end, text) = (told(start), told(end), told(text));
        (start.is_some() || end.is_some() || text.is_some()).then_some(Self { start, end, text })
    }
}

/// The periods of one weekday.
#[derive(Debug, Clone, PartialEq)]
pub struct DayProgram {
    pub day: &'static str,
    pub periods: Vec<Period>,
}

/// A span of a day with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Period {
    /// Time of day, `06:30:00`; the station's own text when it is no time.
    pub start: String,
    /// Time of day, not included; `24:00:00` is the end of the day.
    pub finish: String,
    pub value: Option<StatusReading>,
}

/// A day or span of days with a program of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct SpecialEvent {
    pub name: String,
    pub display_name: String,
    pub type_spec: String,
    /// Which days it concerns.
    pub days: Option<RawPart>,
    pub periods: Vec<Period>,
    /// What else it holds.
    pub other_parts: Vec<RawPart>,
}

/// A slot or component as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawPart {
    pub name: String,
    pub type_spec: String,
    pub text: String,
}

impl StationFacade {
    /// Reads the program of a schedule: BOX, else oBIX.
    ///
    /// # Errors
    /// [`FacadeError::NotASchedule`] for a component of another kind.
    pub async fn schedule(&self, scope: &CallScope, ord: &Ord) -> FacadeResult<ScheduleProgram> {
        let zone = self.zone(scope).await?;
        let whole = match self.checked_schedule_by_box(scope, ord).await {
            Err(error) if self.may_fall_back(&error) => {
                let path = self
                    .slot_path(scope, ord)
                    .await
                    .map_err(|_| error.clone())?;
                self.schedule_by_obix(scope, &path)
                    .await
                    .map_err(|second| prefer(error, second))?
            }
            outcome => outcome?,
        };
        if !is_schedule_type(&whole.root.type_spec) && !has_program(&whole.root) {
            return Err(not_a_schedule(ord, &whole.root.type_spec));
        }
        if whole.may_hide_parts && !whole.is_truncated && lacks_its_program(&whole.root) {
            return Err(self.hidden_program(ord, LEFT_OUT));
        }
        Ok(program(whole, zone))
    }

    async fn checked_schedule_by_box(
        &self,
        scope: &CallScope,
        ord: &Ord,
    ) -> FacadeResult<WholeSchedule> {
        self.check_schedule(scope, ord).await?;
        self.schedule_by_box(scope, ord).await
    }

    /// Looks at the component itself: another kind may hold the whole station, and a program may be withheld.
    pub(super) async fn check_schedule(&self, scope: &CallScope, ord: &Ord) -> FacadeResult<()> {
        let node = self.resolve(scope, ord).await?;
        if node.handle.is_none()
            || (!is_schedule_type(node.type_name()) && node.child("schedule").is_none())
        {
            return Err(not_a_schedule(ord, node.type_name()));
        }
        if let Ok(contract) = self.boxp().contract(scope, node.type_name()).await
            && contract.slots().any(|slot| withholds(&node, slot))
        {
            return Err(
                self.hidden_program(ord, "the program of a schedule takes admin read on it")
            );
        }
        Ok(())
    }

    fn hidden_program(&self, ord: &Ord, why: &str) -> FacadeError {
        FacadeError::Station(StationError::PermissionDenied {
            user: self.web().user().to_owned(),
            target: ord.absolute(),
            detail: why.to_owned(),
        })
    }
}

pub(super) fn not_a_schedule(ord: &Ord, type_spec: &str) -> FacadeError {
    FacadeError::NotASchedule {
        ord: ord.absolute(),
        type_spec: type_spec.to_owned(),
    }
}

/// A type of another module with the shape of a weekly schedule.
fn has_program(root: &Part) -> bool {
    root.child("schedule")
        .is_some_and(|schedule| is_schedule_type(&schedule.type_spec))
}

fn program(whole: WholeSchedule, zone: Tz) -> ScheduleProgram {
    let root = &whole.root;
    let composite = root.child("schedule");
    let week = composite.and_then(|composite| composite.child("week"));
    let events = composite.and_then(|composite| composite.child("specialEvents"));
    let beside = |holder: Option<&Part>, known: &[&str]| -> Vec<RawPart> {
        holder
            .into_iter()
            .flat_map(|holder| &holder.children)
            .filter(|child| !known.contains(&child.name.as_str()))
            .map(raw)
            .collect()
    };
    let mut other_parts = beside(Some(root), &["schedule", "effective"]);
    other_parts.extend(beside(composite, &["week", "specialEvents"]));
    other_parts.extend(beside(week, &WEEKDAYS));
    for day in WEEKDAYS {
        if let Some(day) = week.and_then(|week| week.child(day)) {
            other_parts.extend(strangers(day));
        }
    }
    let next_time = instant_of(root, "nextTime", zone);
    ScheduleProgram {
        display_name: root.display_name.clone(),
        type_spec: root.type_spec.clone(),
        zone,
        out: root.reading("out"),
        input: root.reading("in"),
        default_output: root.reading("defaultOutput"),
        next_time,
        // Without a time there is no change: the slot then holds a default.
        next_value: next_time.and_then(|_| root.reading("nextValue")),
        facets: shown_facets(&whole.facets),
        effective: effective_of(root),
        cleanup_expired_events: root
            .slot("cleanupExpiredEvents")
            .and_then(|slot| slot.encoded.as_deref())
            .and_then(|text| text.parse().ok()),
        week: week.map(|week| {
            WEEKDAYS
                .into_iter()
                .map(|day| DayProgram {
                    day,
                    periods: week.child(day).map(periods).unwrap_or_default(),
                })
                .collect()
        }),
        special_events: events
            .into_iter()
            .flat_map(|events| &events.children)
            .map(special_event)
            .collect(),
        other_properties: root
            .slots
            .iter()
            .filter(|slot| !KNOWN_SLOTS.contains(&slot.name.as_str()))
            .filter_map(raw_slot)
            .collect(),
        may_be_hidden: whole.may_hide_parts && root.children.is_empty(),
        other_parts,
        truncated: whole.is_truncated,
    }
}

/// A time property in the station's zone; none when it is not set or not readable.
pub(super) fn instant_of(part: &Part, slot: &str, zone: Tz) -> Option<DateTime<FixedOffset>> {
    let instant = parse_abs_time(part.slot(slot)?.encoded.as_deref()?).ok()??;
    Some(instant.with_timezone(&zone).fixed_offset())
}

/// The effective period, a struct or a component; a bare type name tells nothing.
pub(super) fn effective_of(part: &Part) -> Option<Effective> {
    if let Some(child) = part.child("effective") {
        return Effective::new(None, None, Some(child.raw_text()));
    }
    let slot = part.slot("effective")?;
    let member = |name: &str| {
        let (_, text) = slot.members.iter().find(|(member, _)| member == name)?;
        Some(text.clone()).filter(|text| !text.is_empty())
    };
    let (start, end) = (member("start"), member("end"));
    let is_told = start.is_some() || end.is_some();
    let bare = slot.type_spec.rsplit(':').next().unwrap_or_default();
    let text = slot
        .text
        .clone()
        .filter(|text| !is_told && text != bare && text != &slot.type_spec);
    Effective::new(start, end, text)
}

/// The periods of a weekday or an event, earliest first.
fn periods(day: &Part) -> Vec<Period> {
    let holder = day.child("day").unwrap_or(day);
    let mut periods: Vec<Period> = holder
        .children
        .iter()
        .filter(|part| is_period(part))
        .map(period)
        .collect();
    periods.sort_by(|one, other| one.start.cmp(&other.start));
    periods
}

pub(super) fn is_period(part: &Part) -> bool {
    part.slot("start").is_some() && part.slot("finish").is_some()
}

fn period(part: &Part) -> Period {
    let time = |name: &str| {
        part.slot(name)
            .and_then(|slot| slot.encoded.clone().or_else(|| slot.text.clone()))
            .unwrap_or_default()
    };
    Period {
        start: time_of_day(&time("start"), false),
        finish: time_of_day(&time("finish"), true),
        value: part.reading("effectiveValue"),
    }
}

/// `06:30:00`; a finish at midnight is the end of the day. Fractions are kept, other texts too.
fn time_of_day(text: &str, is_finish: bool) -> String {
    let Ok(time) = text.trim().parse::<NaiveTime>() else {
        return text.to_owned();
    };
    if is_finish && time == NaiveTime::MIN {
        return "24:00:00".to_owned();
    }
    let format = if time.nanosecond() == 0 {
        "%H:%M:%S"
    } else {
        "%H:%M:%S%.3f"
    };
    time.format(format).to_string()
}

fn special_event(part: &Part) -> SpecialEvent {
    let days = part.child("days").map(raw).or_else(|| {
        let slot = part.slot("days")?;
        raw_slot(slot)
    });
    SpecialEvent {
        name: part.name.clone(),
        display_name: part.display_name.clone(),
        type_spec: part.type_spec.clone(),
        days,
        periods: periods(part),
        other_parts: strangers(part),
    }
}

/// What a weekday or event holds beside days, day and periods.
fn strangers(part: &Part) -> Vec<RawPart> {
    let day = part.child("day");
    let own = part
        .children
        .iter()
        .filter(|child| child.name != "days" && child.name != "day" && !is_period(child));
    let within = day
        .into_iter()
        .flat_map(|day| &day.children)
        .filter(|child| !is_period(child));
    own.chain(within).map(raw).collect()
}

fn raw(part: &Part) -> RawPart {
    RawPart {
        name: part.name.clone(),
        type_spec: part.type_spec.clone(),
        text: part.raw_text(),
    }
}

fn raw_slot(slot: &PartSlot) -> Option<RawPart> {
    Some(RawPart {
        name: slot.name.clone(),
        type_spec: slot.type_spec.clone(),
        text: slot.text.clone().filter(|text| !text.is_empty())?,
    })
}

#[cfg(test)]
mod tests;
