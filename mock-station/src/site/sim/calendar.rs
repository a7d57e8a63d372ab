//! Civil time of the site: America/New_York by the rule in force since 2007, working days and United States holidays.
//!
//! The rule is computed here, without a zone database, because every sample of every history needs it.

pub const MINUTE_MS: i64 = 60_000;
pub const QUARTER_MS: i64 = 15 * MINUTE_MS;
pub const HOUR_MS: i64 = 60 * MINUTE_MS;
pub const DAY_MS: i64 = 24 * HOUR_MS;

const STANDARD_OFFSET_MS: i64 = -5 * HOUR_MS;

/// A moment on the wall clock of the site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocalTime {
    /// Local days since 1970-01-01.
    pub day: i64,
    /// Minutes since local midnight, with fraction.
    pub minute: f64,
    /// Monday is 0.
    pub weekday: u8,
    pub year: i64,
    /// January is 1.
    pub month: u8,
    pub day_of_month: u8,
    /// January 1 is 0.
    pub day_of_year: f64,
    pub daylight: bool,
}

/// Days since 1970-01-01 of a civil date (proleptic Gregorian).
pub fn days_from_civil(year: i64, month: u8, day: u8) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let shifted_month = (i64::from(month) + 9) % 12;
    let day_of_year = (153 * shifted_month + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Civil date of a number of days since 1970-01-01.
pub fn civil_from_days(days: i64) -> (i64, u8, u8) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month as u8, day as u8)
}

/// Monday is 0; 1970-01-01 was a Thursday.
pub fn weekday_of(day: i64) -> u8 {
    (day + 3).rem_euclid(7) as u8
}

fn nth_weekday(year: i64, month: u8, weekday: u8, nth: i64) -> i64 {
    let first = days_from_civil(year, month, 1);
    let ahead = (i64::from(weekday) - i64::from(weekday_of(first))).rem_euclid(7);
    first + ahead + 7 * (nth - 1)
}

fn is_daylight(epoch_ms: i64) -> bool {
    let (year, month, _) = civil_from_days((epoch_ms + STANDARD_OFFSET_MS).div_euclid(DAY_MS));
    match month {
        4..=10 => true,
        // 02:00 standard time on the second Sunday of March.
        3 => epoch_ms >= nth_weekday(year, 3, 6, 2) * DAY_MS + 7 * HOUR_MS,
        // 02:00 daylight time on the first Sunday of November.
        11 => epoch_ms < nth_weekday(year, 11, 6, 1) * DAY_MS + 6 * HOUR_MS,
        _ => false,
    }
}

/// Offset of the site's wall clock from UTC in milliseconds.
pub fn offset_ms(epoch_ms: i64) -> i64 {
    STANDARD_OFFSET_MS + if is_daylight(epoch_ms) { HOUR_MS } else { 0 }
}

impl LocalTime {
    pub fn at(epoch_ms: i64) -> Self {
        let daylight = is_daylight(epoch_ms);
        let local = epoch_ms + STANDARD_OFFSET_MS + if daylight { HOUR_MS } else { 0 };
        let day = local.div_euclid(DAY_MS);
        let (year, month, day_of_month) = civil_from_days(day);
        let minute = local.rem_euclid(DAY_MS) as f64 / MINUTE_MS as f64;
        Self {
            day,
            minute,
            weekday: weekday_of(day),
            year,
            month,
            day_of_month,
            day_of_year: (day - days_from_civil(year, 1, 1)) as f64 + minute / 1440.0,
            daylight,
        }
    }
}

/// The instant of a local wall-clock minute; in the repeated hour the first of the two, in the skipped hour the instant after it.
pub fn local_to_epoch_ms(day: i64, minute: i64) -> i64 {
    let wall = day * DAY_MS + minute * MINUTE_MS;
    let as_daylight = wall - STANDARD_OFFSET_MS - HOUR_MS;
    if is_daylight(as_daylight) {
        as_daylight
    } else {
        wall - STANDARD_OFFSET_MS
    }
}

/// Whether a date is a holiday of the office: New Year, Memorial Day, Independence Day, Labor Day, Thanksgiving and the day after, Christmas.
pub fn is_holiday(day: i64) -> bool {
    let (year, month, day_of_month) = civil_from_days(day);
    match month {
        1 => day_of_month == 1,
        5 => weekday_of(day) == 0 && day_of_month > 24,
        7 => day_of_month == 4,
        9 => weekday_of(day) == 0 && day_of_month <= 7,
        11 => {
            let thanksgiving = nth_weekday(year, 11, 3, 4);
            day == thanksgiving || day == thanksgiving + 1
        }
        12 => day_of_month == 25,
        _ => false,
    }
}

pub fn is_working_day(day: i64) -> bool {
    weekday_of(day) < 5 && !is_holiday(day)
}

/// First instant of the local month that lies `back` months before the month of `epoch_ms`.
pub fn month_start_ms(epoch_ms: i64, back: u32) -> i64 {
    let local = LocalTime::at(epoch_ms);
    let months = local.year * 12 + i64::from(local.month) - 1 - i64::from(back);
    let first = days_from_civil(months.div_euclid(12), (months.rem_euclid(12) + 1) as u8, 1);
    local_to_epoch_ms(first, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::{Datelike, TimeZone, Timelike, Utc};
    use chrono_tz::America::New_York;

    #[test]
    fn wall_clock_agrees_with_the_zone_database_around_every_change() {
        for year in 2020..2030 {
            for day in 0..366 {
                let start = days_from_civil(year, 1, 1) * DAY_MS + day * DAY_MS;
                for half_hour in 0..48 {
                    let instant = start + half_hour * 30 * MINUTE_MS;
                    let expected = Utc
                        .timestamp_millis_opt(instant)
                        .unwrap()
                        .with_timezone(&New_York);
                    let actual = LocalTime::at(instant);
                    assert_eq!(
                        actual.minute,
                        f64::from(expected.hour() * 60 + expected.minute())
                    );
                    assert_eq!(
                        u32::from(actual.weekday),
                        expected.weekday().num_days_from_monday()
                    );
                    assert_eq!(u32::from(actual.day_of_month), expected.day());
                    assert_eq!(u32::from(actual.month), expected.month());
                }
            }
        }
    }

    #[test]
    fn local_midnight_converts_back_to_the_same_instant() {
        for day in days_from_civil(2024, 1, 1)..days_from_civil(2026, 1, 1) {
            let instant = local_to_epoch_ms(day, 0);
            assert_eq!(
                (LocalTime::at(instant).day, LocalTime::at(instant).minute),
                (day, 0.0)
            );
        }
    }

    #[test]
    fn thanksgiving_and_the_fourth_of_july_are_not_working_days() {
        assert!(!is_working_day(days_from_civil(2025, 11, 27)));
        assert!(!is_working_day(days_from_civil(2025, 11, 28)));
        assert!(!is_working_day(days_from_civil(2025, 7, 4)));
        assert!(is_working_day(days_from_civil(2025, 11, 26)));
        assert!(!is_working_day(days_from_civil(2025, 11, 29)));
    }

    #[test]
    fn months_are_counted_back_over_the_turn_of_the_year() {
        let february = local_to_epoch_ms(days_from_civil(2026, 2, 14), 600);
        assert_eq!(
            month_start_ms(february, 3),
            local_to_epoch_ms(days_from_civil(2025, 11, 1), 0)
        );
        assert_eq!(
            month_start_ms(february, 0),
            local_to_epoch_ms(days_from_civil(2026, 2, 1), 0)
        );
    }
}
