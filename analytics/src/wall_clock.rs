//! Stamps of the store: nanoseconds of the site's wall clock since 1970-01-01T00:00, without a zone (Store §4).

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, NaiveTime, Timelike};

/// Nanoseconds in a second.
pub const SECOND: i64 = 1_000_000_000;
/// Nanoseconds in a minute.
pub const MINUTE: i64 = 60 * SECOND;
/// Nanoseconds in an hour.
pub const HOUR: i64 = 60 * MINUTE;
/// Nanoseconds in a day.
pub const DAY: i64 = 24 * HOUR;

/// Bounds of a read, both inclusive; a missing one leaves its side open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window {
    pub start: Option<i64>,
    pub end: Option<i64>,
}

impl Window {
    /// No bounds at all.
    pub const OPEN: Self = Self {
        start: None,
        end: None,
    };

    /// Whether a stamp lies within.
    pub fn contains(self, stamp: i64) -> bool {
        self.start.is_none_or(|start| stamp >= start) && self.end.is_none_or(|end| stamp <= end)
    }

    /// Whether anything of `first..=last` may lie within.
    pub fn touches(self, first: i64, last: i64) -> bool {
        self.start.is_none_or(|start| last >= start) && self.end.is_none_or(|end| first <= end)
    }

    /// Whether the whole of `first..=last` lies within.
    pub fn covers(self, first: i64, last: i64) -> bool {
        self.contains(first) && self.contains(last)
    }
}

/// Year and month, as partition folders name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Month {
    pub year: i32,
    pub month: u32,
}

impl Month {
    /// The month of a stamp.
    pub fn of(stamp: i64) -> Self {
        let date = DateTime::from_timestamp_nanos(stamp).date_naive();
        Self {
            year: date.year(),
            month: date.month(),
        }
    }

    /// First stamp of the next month; the largest stamp at the end of time.
    pub fn end(self) -> i64 {
        let (year, month) = if self.month >= 12 {
            (self.year.saturating_add(1), 1)
        } else {
            (self.year, self.month + 1)
        };
        first_stamp(year, month).unwrap_or(i64::MAX)
    }

    /// First stamp of the month; the smallest stamp before the beginning of time.
    pub fn start(self) -> i64 {
        first_stamp(self.year, self.month).unwrap_or(i64::MIN)
    }
}

fn first_stamp(year: i32, month: u32) -> Option<i64> {
    stamp_of(NaiveDate::from_ymd_opt(year, month, 1)?.and_time(NaiveTime::MIN))
}

/// The stamp of a wall-clock time; none outside of 1677-09-21 to 2262-04-11.
pub fn stamp_of(time: NaiveDateTime) -> Option<i64> {
    time.and_utc().timestamp_nanos_opt()
}

/// The wall-clock time of a stamp.
pub fn time_of(stamp: i64) -> NaiveDateTime {
    DateTime::from_timestamp_nanos(stamp).naive_utc()
}

/// Reads a bound as the capabilities write it: `2024-03-01`, `2024-03-01T06:30`, `2024-03-01 06:30:15` (Core §12).
///
/// A date alone is its midnight. None when the text has another form or names a time that does not exist.
///
/// ```
/// use niagara_analytics::wall_clock::{iso, parse_bound};
/// assert_eq!(iso(parse_bound("2024-03-01").unwrap()), "2024-03-01T00:00:00");
/// assert_eq!(parse_bound("2024-13-01"), None);
/// ```
pub fn parse_bound(text: &str) -> Option<i64> {
    if let Ok(date) = NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        return (text.len() == 10)
            .then(|| date.and_time(NaiveTime::MIN))
            .and_then(stamp_of);
    }
    [
        "%Y-%m-%dT%H:%M:%S",
        "%Y-%m-%d %H:%M:%S",
        "%Y-%m-%dT%H:%M",
        "%Y-%m-%d %H:%M",
    ]
    .iter()
    .find_map(|form| NaiveDateTime::parse_from_str(text, form).ok())
    // The parser takes a 60th second as a leap second.
    .filter(|time| time.nanosecond() < 1_000_000_000)
    .and_then(stamp_of)
}

/// A stamp as text: `YYYY-MM-DDTHH:MM:SS`, with six digits of a fraction, or nine when it is not whole microseconds
/// (Core §12).
///
/// ```
/// use niagara_analytics::wall_clock::iso;
/// assert_eq!(iso(1), "1970-01-01T00:00:00.000000001");
/// assert_eq!(iso(500_000_000), "1970-01-01T00:00:00.500000");
/// ```
pub fn iso(stamp: i64) -> String {
    let time = time_of(stamp);
    let fraction = stamp.rem_euclid(SECOND);
    if fraction == 0 {
        time.format("%Y-%m-%dT%H:%M:%S").to_string()
    } else if fraction % 1_000 == 0 {
        time.format("%Y-%m-%dT%H:%M:%S%.6f").to_string()
    } else {
        time.format("%Y-%m-%dT%H:%M:%S%.9f").to_string()
    }
}

/// The same with a blank between date and time: the form that stamps within figures of rules have.
pub fn spaced(stamp: i64) -> String {
    iso(stamp).replacen('T', " ", 1)
}

/// The date of a stamp: `YYYY-MM-DD`.
pub fn date(stamp: i64) -> String {
    time_of(stamp).format("%Y-%m-%d").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_begin_and_end_where_the_calendar_says() {
        let stamp = parse_bound("2024-02-29T23:59:59").unwrap();
        let month = Month::of(stamp);
        assert_eq!((month.year, month.month), (2024, 2));
        assert_eq!(iso(month.start()), "2024-02-01T00:00:00");
        assert_eq!(iso(month.end()), "2024-03-01T00:00:00");
        let december = Month {
            year: 2023,
            month: 12,
        };
        assert_eq!(iso(december.end()), "2024-01-01T00:00:00");
        let beyond = Month {
            year: 2300,
            month: 1,
        };
        assert_eq!(beyond.end(), i64::MAX);
    }

    #[test]
    fn bounds_are_inclusive_and_may_be_missing() {
        let window = Window {
            start: Some(10),
            end: Some(20),
        };
        assert!(window.contains(10) && window.contains(20) && !window.contains(21));
        assert!(window.touches(0, 10) && !window.touches(21, 30));
        assert!(window.covers(10, 20) && !window.covers(9, 20));
        assert!(Window::OPEN.contains(i64::MIN));
    }

    #[test]
    fn bounds_that_do_not_exist_are_none() {
        assert_eq!(
            parse_bound("2024-03-01 06:30").map(iso).unwrap(),
            "2024-03-01T06:30:00"
        );
        for wrong in [
            "2024-02-30",
            "2024-1-1",
            "2024-03-01T25:00",
            "2024-03-01T00:00:60",
            "1500-01-01",
            "x",
        ] {
            assert_eq!(parse_bound(wrong), None, "{wrong}");
        }
    }
}
