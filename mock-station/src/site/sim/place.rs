//! Where a site stands: clock rule, holidays and mean climate.
//!
//! Zone rules are computed here, without a zone database, because every sample of every history needs them.

use super::calendar::{
    DAY_MS, HOUR_MS, LocalTime, MINUTE_MS, civil_from_days, days_from_civil, easter_sunday,
    last_weekday, nth_weekday, weekday_of,
};
use chrono_tz::Tz;
use std::f64::consts::TAU;

/// The two towns that sites are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// United States rule in force since 2007, federal holidays that offices keep.
    NewYork,
    /// Konstanz on Lake Constance: rule of the European Union, holidays of Baden-Württemberg.
    LakeConstance,
}

/// What the weather of a place is made from.
#[derive(Clone, Copy, Debug)]
pub struct Climate {
    pub latitude_deg: f64,
    /// Standard time at which the sun stands highest.
    pub solar_noon_hour: f64,
    /// Mean temperature of the year, °F, and half the span between the means of the warmest and the coldest day.
    pub mean: f64,
    pub seasonal_swing: f64,
    /// Day of the year with the lowest mean.
    pub coldest_day: f64,
    /// Share of New York's swings that weather systems and days have here.
    pub liveliness: f64,
    /// Added to the depression of the dew point, °F.
    pub dryness: f64,
    /// mph.
    pub mean_wind: f64,
    /// Degrees from north.
    pub prevailing_wind: f64,
}

const NEW_YORK: Climate = Climate {
    latitude_deg: 40.7,
    // 74° west is four minutes before zone noon (75° west).
    solar_noon_hour: 11.93,
    mean: 54.5,
    seasonal_swing: 21.5,
    coldest_day: 24.0,
    liveliness: 1.0,
    dryness: 0.0,
    mean_wind: 8.0,
    prevailing_wind: 245.0,
};

/// 1 °C in January, 20 °C in July; damp, with the föhn left out.
const LAKE_CONSTANCE: Climate = Climate {
    latitude_deg: 47.66,
    // 9.2° east is 23 minutes after zone noon (15° east).
    solar_noon_hour: 12.39,
    mean: 50.8,
    seasonal_swing: 17.2,
    coldest_day: 20.0,
    liveliness: 0.92,
    dryness: -1.5,
    mean_wind: 6.2,
    prevailing_wind: 225.0,
};

impl Climate {
    /// Mean temperature of a date, °F.
    pub fn seasonal_mean(&self, day_of_year: f64) -> f64 {
        self.mean - self.seasonal_swing * self.season(day_of_year)
    }

    /// 1 in the coldest part of winter, −1 in the warmest of summer.
    pub fn season(&self, day_of_year: f64) -> f64 {
        (TAU * (day_of_year - self.coldest_day) / 365.25).cos()
    }
}

impl Place {
    pub const fn climate(self) -> &'static Climate {
        match self {
            Self::NewYork => &NEW_YORK,
            Self::LakeConstance => &LAKE_CONSTANCE,
        }
    }

    pub const fn zone(self) -> Tz {
        match self {
            Self::NewYork => Tz::America__New_York,
            Self::LakeConstance => Tz::Europe__Berlin,
        }
    }

    /// Usual voltage between a phase and neutral.
    pub const fn mains_voltage(self) -> f64 {
        match self {
            Self::NewYork => 278.0,
            Self::LakeConstance => 231.0,
        }
    }

    const fn standard_offset_ms(self) -> i64 {
        match self {
            Self::NewYork => -5 * HOUR_MS,
            Self::LakeConstance => HOUR_MS,
        }
    }

    pub fn is_daylight(self, epoch_ms: i64) -> bool {
        let (year, month, _) =
            civil_from_days((epoch_ms + self.standard_offset_ms()).div_euclid(DAY_MS));
        match (self, month) {
            // 02:00 standard time on the second Sunday of March.
            (Self::NewYork, 3) => epoch_ms >= nth_weekday(year, 3, 6, 2) * DAY_MS + 7 * HOUR_MS,
            // 02:00 daylight time on the first Sunday of November.
            (Self::NewYork, 11) => epoch_ms < nth_weekday(year, 11, 6, 1) * DAY_MS + 6 * HOUR_MS,
            (Self::NewYork, 4..=10) => true,
            // 01:00 UTC on the last Sundays of March and October.
            (Self::LakeConstance, 3) => epoch_ms >= last_weekday(year, 3, 6) * DAY_MS + HOUR_MS,
            (Self::LakeConstance, 10) => epoch_ms < last_weekday(year, 10, 6) * DAY_MS + HOUR_MS,
            (Self::LakeConstance, 4..=9) => true,
            _ => false,
        }
    }

    /// Offset of the wall clock from UTC in milliseconds.
    pub fn offset_ms(self, epoch_ms: i64) -> i64 {
        self.standard_offset_ms()
            + if self.is_daylight(epoch_ms) {
                HOUR_MS
            } else {
                0
            }
    }

    /// The instant of a local wall-clock minute; in the repeated hour the first of the two, in the skipped hour the
    /// instant after it.
    pub fn epoch_ms(self, day: i64, minute: i64) -> i64 {
        let wall = day * DAY_MS + minute * MINUTE_MS;
        let as_daylight = wall - self.standard_offset_ms() - HOUR_MS;
        if self.is_daylight(as_daylight) {
            as_daylight
        } else {
            wall - self.standard_offset_ms()
        }
    }

    /// Whether the office is closed on a date that may be a weekday.
    pub fn is_holiday(self, day: i64) -> bool {
        let (year, month, day_of_month) = civil_from_days(day);
        match self {
            Self::NewYork => match month {
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
            },
            Self::LakeConstance => {
                let fixed = matches!(
                    (month, day_of_month),
                    (1, 1) | (1, 6) | (5, 1) | (10, 3) | (11, 1) | (12, 24..=26) | (12, 31)
                );
                // Good Friday, Easter Monday, Ascension, Whit Monday, Corpus Christi.
                fixed || matches!(day - easter_sunday(year), -2 | 1 | 39 | 50 | 60)
            }
        }
    }

    pub fn is_working_day(self, day: i64) -> bool {
        weekday_of(day) < 5 && !self.is_holiday(day)
    }

    /// First instant of the local month that lies `back` months before the month of `epoch_ms`.
    pub fn month_start_ms(self, epoch_ms: i64, back: u32) -> i64 {
        let local = LocalTime::at(self, epoch_ms);
        let months = local.year * 12 + i64::from(local.month) - 1 - i64::from(back);
        let first = days_from_civil(months.div_euclid(12), (months.rem_euclid(12) + 1) as u8, 1);
        self.epoch_ms(first, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::{Datelike, TimeZone, Timelike, Utc};

    #[test]
    fn wall_clock_agrees_with_the_zone_database_around_every_change() {
        for place in [Place::NewYork, Place::LakeConstance] {
            for half_hour in 0..10 * 366 * 48 {
                let instant = days_from_civil(2020, 1, 1) * DAY_MS + half_hour * 30 * MINUTE_MS;
                let expected = Utc
                    .timestamp_millis_opt(instant)
                    .unwrap()
                    .with_timezone(&place.zone());
                let actual = LocalTime::at(place, instant);
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

    #[test]
    fn local_midnight_converts_back_to_the_same_instant() {
        for place in [Place::NewYork, Place::LakeConstance] {
            for day in days_from_civil(2024, 1, 1)..days_from_civil(2026, 1, 1) {
                let local = LocalTime::at(place, place.epoch_ms(day, 0));
                assert_eq!((local.day, local.minute), (day, 0.0));
            }
        }
    }

    #[test]
    fn thanksgiving_and_the_fourth_of_july_are_not_working_days_in_new_york() {
        let works =
            |year, month, day| Place::NewYork.is_working_day(days_from_civil(year, month, day));
        assert!(!works(2025, 11, 27));
        assert!(!works(2025, 11, 28));
        assert!(!works(2025, 7, 4));
        assert!(works(2025, 11, 26));
        assert!(!works(2025, 11, 29));
        assert!(works(2026, 10, 2) && works(2026, 4, 3));
    }

    #[test]
    fn easter_and_german_unity_are_kept_at_lake_constance() {
        let works = |year, month, day| {
            Place::LakeConstance.is_working_day(days_from_civil(year, month, day))
        };
        // Good Friday, Easter Monday, Ascension, Whit Monday and Corpus Christi of 2026, by the published calendar.
        for (month, day) in [(4, 3), (4, 6), (5, 14), (5, 25), (6, 4)] {
            assert!(!works(2026, month, day), "2026-{month}-{day}");
        }
        assert!(!works(2025, 10, 3) && !works(2027, 1, 6));
        assert!(works(2026, 7, 3) && works(2026, 11, 26) && works(2026, 4, 2));
    }

    #[test]
    fn months_are_counted_back_over_the_turn_of_the_year() {
        let place = Place::NewYork;
        let february = place.epoch_ms(days_from_civil(2026, 2, 14), 600);
        assert_eq!(
            place.month_start_ms(february, 3),
            place.epoch_ms(days_from_civil(2025, 11, 1), 0)
        );
        assert_eq!(
            place.month_start_ms(february, 0),
            place.epoch_ms(days_from_civil(2026, 2, 1), 0)
        );
    }
}
