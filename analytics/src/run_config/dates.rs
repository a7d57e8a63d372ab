//! Dates as people write them into bills and calendars.

use chrono::{NaiveDate, NaiveDateTime};

use crate::wall_clock::{DAY, parse_bound, stamp_of};

/// Dates, month first; ISO dates are read before these.
const DATES: [&str; 12] = [
    "%Y-%m-%d",
    "%Y%m%d",
    "%Y/%m/%d",
    "%m/%d/%y",
    "%m/%d/%Y",
    "%m-%d-%Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d %Y",
    "%d-%b-%Y",
];
/// Times behind such a date; bills and calendars count days.
const TIMES: [&str; 2] = ["%m/%d/%Y %H:%M:%S", "%m/%d/%Y %H:%M"];

/// Days since 1970 of a date, whatever its time of day.
pub(super) fn day(text: &str) -> Option<i64> {
    let written = |format: &&str| NaiveDate::parse_from_str(text, format).ok();
    let timed = |format: &&str| NaiveDateTime::parse_from_str(text, format).ok();
    let stamp = parse_bound(text).or_else(|| {
        let date = DATES.iter().find_map(written)?.and_hms_opt(0, 0, 0);
        stamp_of(date?)
    });
    let stamp = stamp.or_else(|| stamp_of(TIMES.iter().find_map(timed)?));
    stamp.map(|stamp| stamp.div_euclid(DAY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_read_in_the_forms_of_bills() {
        for text in [
            "2024-03-31",
            "2024-3-31",
            "20240331",
            "3/31/2024",
            "3/31/24",
            "03-31-2024",
            "Mar 31, 2024",
            "31 March 2024",
            "31-Mar-2024",
            "2024-03-31 18:30",
            "3/31/2024 18:30",
        ] {
            assert_eq!(day(text), Some(19_813), "{text}");
        }
        assert_eq!(["soon", "", "2024-02-30", "31"].map(day), [None; 4]);
    }
}
