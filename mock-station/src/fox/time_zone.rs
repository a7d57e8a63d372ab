//! The time zone as a hello tells it (Fox specification §4.2).

use chrono::{DateTime, Datelike, NaiveDate, Offset, TimeDelta, TimeZone, Utc, Weekday};
use chrono_tz::{OffsetComponents, Tz};

/// Rule texts of the zones that follow the United States: the form seen in captures.
const UNITED_STATES: &str = "02:00:00.000,wall,march,8,on or after,sunday,undefined;02:00:00.000,wall,november,1,on or after,sunday,undefined";

/// `ID;RAW;DST;START;END`, or the id alone where the rule texts of the zone's summer time are not known.
pub(super) fn describe(zone: Tz, now: DateTime<Utc>) -> String {
    let year = now.year();
    let offsets: Vec<(TimeDelta, TimeDelta)> = (1..=12)
        .filter_map(|month| Utc.with_ymd_and_hms(year, month, 15, 12, 0, 0).single())
        .map(|instant| {
            let offset = zone.offset_from_utc_datetime(&instant.naive_utc());
            (offset.base_utc_offset(), offset.dst_offset())
        })
        .collect();
    let raw = offsets.first().map_or(TimeDelta::zero(), |(raw, _)| *raw);
    let saving = offsets
        .iter()
        .map(|(_, saving)| *saving)
        .max()
        .unwrap_or_default();
    let steady = offsets.iter().all(|(base, _)| *base == raw);
    if steady && saving.is_zero() {
        return format!("{zone};{};0;null;null", raw.num_milliseconds());
    }
    if steady && follows_united_states(zone, year) {
        return format!(
            "{zone};{};{};{UNITED_STATES}",
            raw.num_milliseconds(),
            saving.num_milliseconds()
        );
    }
    zone.to_string()
}

/// Whether clocks change at 02:00 on the second Sunday of March and the first of November.
fn follows_united_states(zone: Tz, year: i32) -> bool {
    let sunday =
        |month, count| NaiveDate::from_weekday_of_month_opt(year, month, Weekday::Sun, count);
    let (Some(spring), Some(autumn)) = (sunday(3, 2), sunday(11, 1)) else {
        return false;
    };
    let missing = spring
        .and_hms_opt(2, 30, 0)
        .is_some_and(|wall| zone.from_local_datetime(&wall).earliest().is_none());
    let doubled = autumn.and_hms_opt(1, 30, 0).is_some_and(|wall| {
        let both = zone.from_local_datetime(&wall);
        match (both.earliest(), both.latest()) {
            (Some(early), Some(late)) => early.offset().fix() != late.offset().fix(),
            _ => false,
        }
    });
    missing && doubled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(zone: Tz) -> String {
        describe(zone, Utc.with_ymd_and_hms(2026, 7, 1, 0, 0, 0).unwrap())
    }

    #[test]
    fn zones_are_described_as_in_captures() {
        assert_eq!(
            described(chrono_tz::Australia::Perth),
            "Australia/Perth;28800000;0;null;null"
        );
        assert_eq!(
            described(chrono_tz::EST5EDT),
            "EST5EDT;-18000000;3600000;02:00:00.000,wall,march,8,on or after,sunday,undefined;02:00:00.000,wall,november,1,on or after,sunday,undefined"
        );
        assert!(
            described(chrono_tz::America::New_York)
                .starts_with("America/New_York;-18000000;3600000;02")
        );
        assert_eq!(described(chrono_tz::Europe::Berlin), "Europe/Berlin");
    }
}
