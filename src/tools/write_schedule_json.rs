//! Programs of schedules as arguments and results: what a caller writes can be read back, and undone.

use serde_json::{Map, Value, json};

use super::ToolError;
use crate::station::facade::{
    DayRule, EventDays, EventGiven, EventPicture, Given, PeriodGiven, PointValue, ScheduleEdit,
    SchedulePeriod, SchedulePicture, Scheduled, ScheduledBy,
};

/// Reads the change that the arguments of `writeSchedule` ask for.
///
/// # Errors
/// −32602 with the place that is wrong.
pub fn edit_of(arguments: &Map<String, Value>) -> Result<ScheduleEdit, ToolError> {
    let list = |name: &str| {
        arguments
            .get(name)
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice)
    };
    let week = list("week").iter().map(|day| {
        let name = text(day, "day").ok_or_else(|| missing("week", "day"))?;
        Ok((name.to_owned(), periods(day, "week")?))
    });
    let events = list("events").iter().map(|event| {
        let name = text(event, "name").ok_or_else(|| missing("events", "name"))?;
        Ok(EventGiven {
            name: name.to_owned(),
            days: days(event, name)?,
            periods: periods(event, "events")?,
        })
    });
    let removed = list("removeEvents").iter();
    let edit = ScheduleEdit {
        week: week.collect::<Result<_, ToolError>>()?,
        events: events.collect::<Result<_, ToolError>>()?,
        removed_events: removed
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
    };
    if edit == ScheduleEdit::default() {
        return Err(ToolError::invalid_params(
            "Nothing is to be changed: give 'week', 'events' or 'removeEvents'.",
        )
        .with("missing", "week"));
    }
    Ok(edit)
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    let text = value.get(name)?.as_str()?.trim();
    (!text.is_empty()).then_some(text)
}

fn missing(list: &str, name: &str) -> ToolError {
    ToolError::invalid_params(format!("An entry of '{list}' has no '{name}'."))
        .with("argument", list)
        .with("missing", name)
}

fn periods(holder: &Value, list: &str) -> Result<Vec<PeriodGiven>, ToolError> {
    let given = holder.get("periods").and_then(Value::as_array);
    let given = given.ok_or_else(|| missing(list, "periods"))?;
    given
        .iter()
        .map(|period| {
            let part = |name: &str| text(period, name).ok_or_else(|| missing("periods", name));
            let value = period.get("value").and_then(Given::of_json);
            Ok(PeriodGiven {
                start: part("start")?.to_owned(),
                finish: part("finish")?.to_owned(),
                value: value.ok_or_else(|| missing("periods", "value"))?,
            })
        })
        .collect()
}

fn days(event: &Value, name: &str) -> Result<Option<EventDays>, ToolError> {
    let invalid = |reason: String| {
        ToolError::invalid_params(format!("The days of the special event '{name}': {reason}."))
            .with("argument", "events")
    };
    let date = |key: &str| match text(event, key) {
        None => Ok(None),
        Some(text) => text
            .parse::<chrono::NaiveDate>()
            .map(Some)
            .map_err(|_| invalid(format!("'{key}' is no date such as 2026-12-24"))),
    };
    let number = |key: &str| {
        event
            .get(key)
            .and_then(Value::as_u64)
            .map(|n| n.min(99) as u32)
    };
    let (single, from, to) = (date("date")?, date("from")?, date("to")?);
    match (single, number("month"), number("day"), from, to) {
        (None, None, None, None, None) => Ok(None),
        (Some(date), None, None, None, None) => Ok(Some(EventDays::Date(date))),
        (None, Some(month), Some(day), None, None) => {
            EventDays::yearly(month, day).map(Some).map_err(invalid)
        }
        (None, None, None, Some(from), Some(to)) => {
            EventDays::range(from, to).map(Some).map_err(invalid)
        }
        _ => Err(invalid(
            "give 'date', or 'month' and 'day' of every year, or 'from' and 'to'".to_owned(),
        )),
    }
}

/// A value as arguments take it.
pub fn point_value_json(value: Option<&PointValue>) -> Value {
    match value {
        Some(PointValue::Number(number)) => json!(number.is_finite().then_some(number)),
        Some(PointValue::Boolean(flag)) => json!(flag),
        Some(PointValue::Enum { tag, ordinal }) => match ordinal {
            Some(ordinal) if tag.is_empty() => json!(ordinal),
            _ => json!(tag),
        },
        Some(PointValue::Text(text)) => json!(text),
        None => Value::Null,
    }
}

/// Periods as arguments take them.
pub fn periods_json(periods: &[SchedulePeriod]) -> Value {
    let period = |period: &SchedulePeriod| {
        json!({
            "start": period.start.to_string(),
            "finish": period.finish.to_string(),
            "value": point_value_json(period.value.as_ref()),
        })
    };
    periods.iter().map(period).collect()
}

/// What the program says for an instant, or why that is not known.
pub fn scheduled_json(scheduled: Result<Scheduled, String>) -> Value {
    let told = match scheduled {
        Ok(told) => told,
        Err(reason) => return json!({ "unknown": reason }),
    };
    let (by, part) = match &told.by {
        ScheduledBy::Event(name) => ("event", Some(name.as_str())),
        ScheduledBy::Weekday(day) => ("weekday", Some(*day)),
        ScheduledBy::DefaultOutput => ("default-output", None),
    };
    let mut map = Map::new();
    map.insert("value".to_owned(), point_value_json(told.value.as_ref()));
    map.insert("by".to_owned(), json!(by));
    if let Some(part) = part {
        map.insert("part".to_owned(), json!(part));
    }
    Value::Object(map)
}

/// The parts that differ, with their periods before and after; null for an event that is not there.
pub fn changes_json(before: &SchedulePicture, after: &SchedulePicture) -> Vec<Value> {
    let mut changes = Vec::new();
    for (old, new) in before.week.iter().zip(&after.week) {
        let (old_periods, new_periods) = (periods_json(&old.periods), periods_json(&new.periods));
        if old_periods != new_periods {
            changes.push(json!({"part": old.day, "before": old_periods, "after": new_periods}));
        }
    }
    for old in &before.events {
        let new = after.events.iter().find(|event| event.name == old.name);
        let old_periods = periods_json(&old.periods);
        let new_periods = new.map_or(Value::Null, |new| periods_json(&new.periods));
        if old_periods != new_periods {
            let part = format!("event {}", old.name);
            changes.push(json!({"part": part, "before": old_periods, "after": new_periods}));
        }
    }
    for new in &after.events {
        if before.events.iter().all(|event| event.name != new.name) {
            let part = format!("event {}", new.name);
            changes
                .push(json!({"part": part, "before": null, "after": periods_json(&new.periods)}));
        }
    }
    changes
}

/// The way back from one program to another.
pub struct Undo {
    /// Arguments of `writeSchedule`.
    pub arguments: Map<String, Value>,
    /// What they cannot bring back.
    pub lost: Vec<String>,
    /// What comes back in another place, which counts: the first special event that covers a time gives the output.
    pub displaced: Vec<String>,
}

impl Undo {
    /// The arguments that lead back from `after` to `before`, and what they do not bring back as it was.
    pub fn of(ord: &str, before: &SchedulePicture, after: &SchedulePicture) -> Self {
        let mut undo = Self {
            arguments: Map::new(),
            lost: Vec::new(),
            displaced: Vec::new(),
        };
        undo.arguments.insert("ord".to_owned(), json!(ord));
        let days = before.week.iter().zip(&after.week);
        let days =
            days.filter(|(old, new)| periods_json(&old.periods) != periods_json(&new.periods));
        let days =
            days.map(|(old, _)| json!({"day": old.day, "periods": periods_json(&old.periods)}));
        undo.put("week", days.collect());
        undo.events(before, after);
        let added = after.events.iter();
        let added = added.filter(|new| before.events.iter().all(|old| old.name != new.name));
        undo.put("removeEvents", added.map(|new| json!(new.name)).collect());
        undo
    }

    fn events(&mut self, before: &SchedulePicture, after: &SchedulePicture) {
        let left = |name: &str| after.events.iter().find(|event| event.name == name);
        let mut events = Vec::new();
        for (place, old) in before.events.iter().enumerate() {
            match left(&old.name) {
                Some(new) if periods_json(&old.periods) == periods_json(&new.periods) => {}
                Some(_) => {
                    events.push(json!({"name": old.name, "periods": periods_json(&old.periods)}));
                }
                None => match event_json(old) {
                    Some(event) => {
                        events.push(event);
                        let later = before.events.iter().skip(place + 1);
                        let passed: Vec<&str> = later
                            .filter(|event| left(&event.name).is_some())
                            .map(|event| event.name.as_str())
                            .collect();
                        if !passed.is_empty() {
                            self.displaced.push(format!(
                                "the place of the special event {}: it comes back last, and where days overlap {} will \
                                 win over it, as the first in the list does",
                                old.name,
                                passed.join(", ")
                            ));
                        }
                    }
                    None => self.lost.push(format!(
                        "the special event {}, whose days cannot be written here ({})",
                        old.name, old.days_text
                    )),
                },
            }
        }
        self.put("events", events);
    }

    fn put(&mut self, name: &str, list: Vec<Value>) {
        if !list.is_empty() {
            self.arguments.insert(name.to_owned(), Value::Array(list));
        }
    }

    /// Adds `undo`, and `notUndoable` where something does not come back as it was.
    pub fn tell(self, answer: &mut Map<String, Value>) {
        let lost: Vec<String> = self.lost.into_iter().chain(self.displaced).collect();
        answer.insert("undo".to_owned(), Value::Object(self.arguments));
        if !lost.is_empty() {
            answer.insert("notUndoable".to_owned(), json!(lost));
        }
    }
}

fn event_json(event: &EventPicture) -> Option<Value> {
    let DayRule::Known(days) = event.rule else {
        return None;
    };
    let mut map = Map::new();
    map.insert("name".to_owned(), json!(event.name));
    match days {
        EventDays::Date(date) => {
            map.insert("date".to_owned(), json!(date.to_string()));
        }
        EventDays::Yearly { month, day } => {
            map.insert("month".to_owned(), json!(month));
            map.insert("day".to_owned(), json!(day));
        }
        EventDays::Range { from, to } => {
            map.insert("from".to_owned(), json!(from.to_string()));
            map.insert("to".to_owned(), json!(to.to_string()));
        }
    }
    map.insert("periods".to_owned(), periods_json(&event.periods));
    Some(Value::Object(map))
}
