//! Dates and wall-clock time.

use super::place::Place;

pub const MINUTE_MS: i64 = 60_000;
pub const QUARTER_MS: i64 = 15 * MINUTE_MS;
pub const HOUR_MS: i64 = 60 * MINUTE_MS;
pub const DAY_MS: i64 = 24 * HOUR_MS;

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

pub(super) fn nth_weekday(year: i64, month: u8, weekday: u8, nth: i64) -> i64 {
    let first = days_from_civil(year, month, 1);
    let ahead = (i64::from(weekday) - i64::from(weekday_of(first))).rem_euclid(7);
    first + ahead + 7 * (nth - 1)
}

pub(super) fn last_weekday(year: i64, month: u8, weekday: u8) -> i64 {
    let fourth = nth_weekday(year, month, weekday, 4);
    let (_, month_after, _) = civil_from_days(fourth + 7);
    if month_after == month {
        fourth + 7
    } else {
        fourth
    }
}

/// Easter Sunday of a year, by the Gregorian computus of Meeus, Jones and Butcher.
pub(super) fn easter_sunday(year: i64) -> i64 {
    let golden = year.rem_euclid(19);
    let (century, rest) = (year.div_euclid(100), year.rem_euclid(100));
    let (skipped, kept) = (century.div_euclid(4), century.rem_euclid(4));
    let correction = (century - (century + 8).div_euclid(25) + 1).div_euclid(3);
    let epact = (19 * golden + century - skipped - correction + 15).rem_euclid(30);
    let weekday =
        (32 + 2 * kept + 2 * rest.div_euclid(4) - epact - rest.rem_euclid(4)).rem_euclid(7);
    let late = (golden + 11 * epact + 22 * weekday).div_euclid(451);
    let march = epact + weekday - 7 * late + 114;
    days_from_civil(
        year,
        march.div_euclid(31) as u8,
        (march.rem_euclid(31) + 1) as u8,
    )
}

impl LocalTime {
    pub fn at(place: Place, epoch_ms: i64) -> Self {
        let daylight = place.is_daylight(epoch_ms);
        let local = epoch_ms + place.offset_ms(epoch_ms);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn easter_falls_on_the_published_sundays() {
        for (year, month, day) in [
            (2000, 4, 23),
            (2008, 3, 23),
            (2024, 3, 31),
            (2025, 4, 20),
            (2026, 4, 5),
            (2038, 4, 25),
        ] {
            assert_eq!(easter_sunday(year), days_from_civil(year, month, day));
            assert_eq!(weekday_of(easter_sunday(year)), 6);
        }
    }

    #[test]
    fn dates_convert_back_to_the_same_day() {
        for day in -800_000..800_000 {
            let (year, month, day_of_month) = civil_from_days(day);
            assert_eq!(days_from_civil(year, month, day_of_month), day);
        }
    }
}
