//! Weekly programmes and the occupancy logic that the sites have in common.

use super::sim::calendar::LocalTime;
use super::tree::TreeBuilder;
use crate::model::{FeedSample, Handle, ModelError, Station, Value};
use chrono::{DateTime, NaiveTime, Utc, Weekday};
use std::sync::Arc;

pub const WORKDAYS: [Weekday; 5] = [
    Weekday::Mon,
    Weekday::Tue,
    Weekday::Wed,
    Weekday::Thu,
    Weekday::Fri,
];
pub const EVERY_DAY: [Weekday; 7] = [
    Weekday::Mon,
    Weekday::Tue,
    Weekday::Wed,
    Weekday::Thu,
    Weekday::Fri,
    Weekday::Sat,
    Weekday::Sun,
];

pub fn clock(hour: u32, minute: u32) -> NaiveTime {
    NaiveTime::from_hms_opt(hour, minute, 0).unwrap_or(NaiveTime::MIN)
}

/// Adds one span with a value to several days of a weekly schedule; a span that ends at 00:00 ends with the day.
pub fn weekly(
    station: &mut Station,
    schedule: Handle,
    days: &[Weekday],
    (from, to): (NaiveTime, NaiveTime),
    value: Value,
) -> Result<(), ModelError> {
    for day in days {
        station.add_schedule_period(schedule, *day, from, to, value.clone())?;
    }
    Ok(())
}

/// Occupied when the schedule says so and it is no holiday; the names are those of the holiday point, its negation and
/// the result, which is returned.
pub fn occupancy_enable(
    builder: &mut TreeBuilder,
    folder: Handle,
    occupancy: Handle,
    [holiday, working, enable]: [&str; 3],
) -> Result<Handle, ModelError> {
    let place = builder.plan.place;
    let station = &mut *builder.station;
    let holiday = station.add(folder, Some(holiday), "control:BooleanPoint")?;
    station.attach_feed(
        holiday,
        Arc::new(move |now: DateTime<Utc>| {
            FeedSample::ok(place.is_holiday(LocalTime::at(place, now.timestamp_millis()).day))
        }),
    );
    let working = station.add(folder, Some(working), "kitControl:Not")?;
    station.link(holiday, "out", working, "in")?;
    let enable = station.add(folder, Some(enable), "kitControl:And")?;
    station.link(occupancy, "out", enable, "inA")?;
    station.link(working, "out", enable, "inB")?;
    Ok(enable)
}
