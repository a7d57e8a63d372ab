//! Public holidays of countries, on the days on which offices are shut for them (M&V §4.4).

use chrono::{Datelike, NaiveDate, Weekday};

/// A public calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HolidayCalendar {
    Norway,
    /// Federal holidays as they are observed: those of a Saturday on the Friday before, those of a Sunday on the Monday after.
    UnitedStates,
}

/// Juneteenth is a federal holiday from this year on (Public Law 117-17).
const FIRST_JUNETEENTH: i32 = 2021;

impl HolidayCalendar {
    /// Codes of the countries.
    pub const COUNTRIES: [&'static str; 2] = ["NO", "US"];
    /// Years of which the calendars are known: those whose laws are those of today.
    pub const YEARS: std::ops::RangeInclusive<i32> = 2000..=2040;

    /// The calendar of a country code.
    pub fn of(country: &str) -> Option<Self> {
        match country {
            "NO" => Some(Self::Norway),
            "US" => Some(Self::UnitedStates),
            _ => None,
        }
    }

    /// Whether a day is a holiday; none when the calendar of its year is not known.
    ///
    /// ```
    /// use niagara_analytics::holidays::HolidayCalendar;
    /// let day = |month, day| chrono::NaiveDate::from_ymd_opt(2026, month, day).unwrap();
    /// // Independence Day of 2026 is a Saturday.
    /// assert_eq!(HolidayCalendar::UnitedStates.holds(day(7, 3)), Some(true));
    /// assert_eq!(HolidayCalendar::UnitedStates.holds(day(7, 4)), Some(false));
    /// assert_eq!(HolidayCalendar::Norway.holds(day(5, 17)), Some(true));
    /// ```
    pub fn holds(self, day: NaiveDate) -> Option<bool> {
        Self::YEARS.contains(&day.year()).then(|| match self {
            Self::Norway => is_norwegian(day),
            Self::UnitedStates => is_federal(day),
        })
    }
}

fn is_norwegian(day: NaiveDate) -> bool {
    /// Maundy Thursday, Good Friday, Easter Sunday and Monday, Ascension, Whit Sunday and Monday, in days from Easter.
    const MOVABLE: [i64; 7] = [-3, -2, 0, 1, 39, 49, 50];
    const FIXED: [(u32, u32); 5] = [(1, 1), (5, 1), (5, 17), (12, 25), (12, 26)];
    let from_easter = |easter: NaiveDate| MOVABLE.contains(&(day - easter).num_days());
    FIXED.contains(&(day.month(), day.day())) || easter(day.year()).is_some_and(from_easter)
}

/// Easter Sunday of the Gregorian calendar (Meeus, Jones, Butcher).
fn easter(year: i32) -> Option<NaiveDate> {
    let (golden, century, rest) = (year % 19, year / 100, year % 100);
    let (leap_centuries, of_century) = (century / 4, century % 4);
    let correction = (century - (century + 8) / 25 + 1) / 3;
    let epact = (19 * golden + century - leap_centuries - correction + 15) % 30;
    let weekday = (32 + 2 * of_century + 2 * (rest / 4) - epact - rest % 4) % 7;
    let late = (golden + 11 * epact + 22 * weekday) / 451;
    let days = epact + weekday - 7 * late + 114;
    let part = |number: i32| u32::try_from(number).ok();
    NaiveDate::from_ymd_opt(year, part(days / 31)?, part(days % 31 + 1)?)
}

fn is_federal(day: NaiveDate) -> bool {
    let observed = |holiday: NaiveDate| match holiday.weekday() {
        Weekday::Sat => holiday.pred_opt(),
        Weekday::Sun => holiday.succ_opt(),
        _ => Some(holiday),
    };
    // New Year's Day of the next year may be observed on the last day of this one.
    [day.year(), day.year() + 1]
        .into_iter()
        .flat_map(dated)
        .any(|holiday| observed(holiday) == Some(day))
        || is_federal_by_week(day)
}

/// Federal holidays that have a date.
fn dated(year: i32) -> impl Iterator<Item = NaiveDate> {
    let juneteenth = (year >= FIRST_JUNETEENTH).then_some((6, 19));
    [(1, 1), (7, 4), (11, 11), (12, 25)]
        .into_iter()
        .chain(juneteenth)
        .filter_map(move |(month, day)| NaiveDate::from_ymd_opt(year, month, day))
}

/// Federal holidays that have a week.
fn is_federal_by_week(day: NaiveDate) -> bool {
    let week = (day.day() - 1) / 7 + 1;
    match (day.month(), day.weekday()) {
        // Martin Luther King, Washington, Labor, Columbus.
        (1 | 2, Weekday::Mon) => week == 3,
        (9, Weekday::Mon) => week == 1,
        (10, Weekday::Mon) => week == 2,
        // Memorial Day is the last Monday.
        (5, Weekday::Mon) => day.day() > 24,
        // Thanksgiving.
        (11, Weekday::Thu) => week == 4,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn days(calendar: HolidayCalendar, year: i32) -> Vec<String> {
        let first = NaiveDate::from_ymd_opt(year, 1, 1).unwrap();
        first
            .iter_days()
            .take_while(|day| day.year() == year)
            .filter(|day| calendar.holds(*day) == Some(true))
            .map(|day| day.format("%m-%d").to_string())
            .collect()
    }

    #[test]
    fn federal_holidays_of_weekends_are_observed_beside_them() {
        assert_eq!(
            days(HolidayCalendar::UnitedStates, 2021),
            [
                "01-01", "01-18", "02-15", "05-31", "06-18", "07-05", "09-06", "10-11", "11-11",
                "11-25", "12-24", "12-31"
            ]
        );
        assert_eq!(
            days(HolidayCalendar::UnitedStates, 2020),
            [
                "01-01", "01-20", "02-17", "05-25", "07-03", "09-07", "10-12", "11-11", "11-26",
                "12-25"
            ]
        );
        assert_eq!(days(HolidayCalendar::UnitedStates, 2022)[0], "01-17");
    }

    #[test]
    fn norwegian_holidays_move_with_easter() {
        assert_eq!(
            days(HolidayCalendar::Norway, 2024),
            [
                "01-01", "03-28", "03-29", "03-31", "04-01", "05-01", "05-09", "05-17", "05-19",
                "05-20", "12-25", "12-26"
            ]
        );
        assert_eq!(
            days(HolidayCalendar::Norway, 2035)[1..5],
            ["03-22", "03-23", "03-25", "03-26"]
        );
    }

    #[test]
    fn years_far_away_are_not_known() {
        let day = |year| NaiveDate::from_ymd_opt(year, 12, 25).unwrap();
        let holds = |year| HolidayCalendar::Norway.holds(day(year));
        assert_eq!(
            [1999, 2000, 2040, 2041].map(holds),
            [None, Some(true), Some(true), None]
        );
    }
}
