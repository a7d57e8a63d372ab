//! Named ranges of time in a zone: `bqltime.today`, `period=lastWeek` (Station web specification §3.4, §3.5).

use chrono::{DateTime, Datelike, Days, Months, NaiveDate, TimeDelta, TimeZone, Utc};
use chrono_tz::Tz;

/// A range of instants, both ends inclusive; an absent end is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimeRange {
    pub start: Option<DateTime<Utc>>,
    pub end: Option<DateTime<Utc>>,
}

impl TimeRange {
    pub(crate) fn contains(&self, instant: DateTime<Utc>) -> bool {
        self.start.is_none_or(|start| start <= instant) && self.end.is_none_or(|end| instant <= end)
    }

    /// The part that lies in both ranges.
    pub(crate) fn intersection(self, other: Self) -> Self {
        Self {
            start: self.start.max(other.start),
            end: match (self.end, other.end) {
                (Some(one), Some(two)) => Some(one.min(two)),
                (one, two) => one.or(two),
            },
        }
    }
}

/// The range of a name in any case, weeks beginning on Sunday; none for an unknown name.
pub(crate) fn named(name: &str, now: DateTime<Utc>, zone: Tz) -> Option<TimeRange> {
    let today = now.with_timezone(&zone).date_naive();
    let week = today - Days::new(u64::from(today.weekday().num_days_from_sunday()));
    let month = today.with_day(1)?;
    let year = month.with_month(1)?;
    let until_now = |first| Some((start_of(first, zone)?, now));
    let (start, end) = match name.to_ascii_lowercase().as_str() {
        "auto" => return Some(TimeRange::default()),
        "today" => whole(today, today, zone),
        "yesterday" => whole(today.pred_opt()?, today.pred_opt()?, zone),
        "last24hours" => Some((now - TimeDelta::hours(24), now)),
        "last7days" => Some((now - TimeDelta::days(7), now)),
        "thisweek" => whole(week, week + Days::new(6), zone),
        "lastweek" => whole(week - Days::new(7), week - Days::new(1), zone),
        "weektodate" => until_now(week),
        "thismonth" => whole(month, (month + Months::new(1)).pred_opt()?, zone),
        "lastmonth" => whole(month - Months::new(1), month.pred_opt()?, zone),
        "monthtodate" => until_now(month),
        "thisyear" => whole(year, (year + Months::new(12)).pred_opt()?, zone),
        "lastyear" => whole(year - Months::new(12), year.pred_opt()?, zone),
        "yeartodate" => until_now(year),
        _ => None,
    }?;
    Some(TimeRange {
        start: Some(start),
        end: Some(end),
    })
}

/// From the first instant of one day to the last millisecond of another.
fn whole(first: NaiveDate, last: NaiveDate, zone: Tz) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
    let end = start_of(last.succ_opt()?, zone)? - TimeDelta::milliseconds(1);
    Some((start_of(first, zone)?, end))
}

/// The first instant of a local day, also where clocks jump over midnight.
fn start_of(day: NaiveDate, zone: Tz) -> Option<DateTime<Utc>> {
    let midnight = day.and_hms_opt(0, 0, 0)?;
    (0..=4)
        .find_map(|quarter| {
            zone.from_local_datetime(&(midnight + TimeDelta::minutes(30 * quarter)))
                .earliest()
        })
        .map(|start| start.to_utc())
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono_tz::America::New_York;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().expect("a valid instant")
    }

    fn texts(name: &str, now: &str) -> (String, String) {
        let range = named(name, at(now), New_York).expect("known");
        let text = |end: Option<DateTime<Utc>>| {
            end.expect("closed")
                .with_timezone(&New_York)
                .format("%Y-%m-%dT%H:%M:%S%.3f%:z")
                .to_string()
        };
        (text(range.start), text(range.end))
    }

    #[test]
    fn days_weeks_months_and_years_have_local_bounds() {
        let now = "2024-03-13T12:00:00Z";
        for (name, start, end) in [
            (
                "today",
                "2024-03-13T00:00:00.000-04:00",
                "2024-03-13T23:59:59.999-04:00",
            ),
            (
                "yesterday",
                "2024-03-12T00:00:00.000-04:00",
                "2024-03-12T23:59:59.999-04:00",
            ),
            (
                "thisweek",
                "2024-03-10T00:00:00.000-05:00",
                "2024-03-16T23:59:59.999-04:00",
            ),
            (
                "lastWeek",
                "2024-03-03T00:00:00.000-05:00",
                "2024-03-09T23:59:59.999-05:00",
            ),
            (
                "weekToDate",
                "2024-03-10T00:00:00.000-05:00",
                "2024-03-13T08:00:00.000-04:00",
            ),
            (
                "last24Hours",
                "2024-03-12T08:00:00.000-04:00",
                "2024-03-13T08:00:00.000-04:00",
            ),
            (
                "lastmonth",
                "2024-02-01T00:00:00.000-05:00",
                "2024-02-29T23:59:59.999-05:00",
            ),
            (
                "thismonth",
                "2024-03-01T00:00:00.000-05:00",
                "2024-03-31T23:59:59.999-04:00",
            ),
            (
                "lastYear",
                "2023-01-01T00:00:00.000-05:00",
                "2023-12-31T23:59:59.999-05:00",
            ),
            (
                "yearToDate",
                "2024-01-01T00:00:00.000-05:00",
                "2024-03-13T08:00:00.000-04:00",
            ),
        ] {
            assert_eq!(texts(name, now), (start.into(), end.into()), "{name}");
        }
        assert_eq!(named("someday", at(now), New_York), None);
        assert_eq!(named("auto", at(now), New_York), Some(TimeRange::default()));
    }

    #[test]
    fn the_day_of_a_clock_change_has_23_or_25_hours() {
        let hours = |now: &str| {
            let range = named("today", at(now), New_York).expect("known");
            (range.end.expect("closed") - range.start.expect("closed")).num_milliseconds() + 1
        };
        assert_eq!(hours("2024-03-10T15:00:00Z"), 23 * 3_600_000);
        assert_eq!(hours("2024-11-03T15:00:00Z"), 25 * 3_600_000);
    }

    #[test]
    fn an_intersection_keeps_the_tighter_ends() {
        let open = TimeRange::default();
        let closed = TimeRange {
            start: Some(at("2024-01-01T00:00:00Z")),
            end: Some(at("2024-01-02T00:00:00Z")),
        };
        assert_eq!(open.intersection(closed), closed);
        let from = TimeRange {
            start: Some(at("2024-01-01T12:00:00Z")),
            end: None,
        };
        let both = from.intersection(closed);
        assert_eq!(both.start, from.start);
        assert_eq!(both.end, closed.end);
        assert!(both.contains(at("2024-01-02T00:00:00Z")));
        assert!(!both.contains(at("2024-01-01T11:59:59Z")));
    }
}
