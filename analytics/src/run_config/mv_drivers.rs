//! What a model of a meter knows beside the outdoor temperature (M&V §4.4).

use std::collections::BTreeSet;

use chrono::{Datelike, Weekday};
use serde_json::Value;

use super::files::ConfigFiles;
use super::mv_calendar::{DayCalendar, listed};
use super::section::{ConfigError, Section};
use crate::roles;
use crate::wall_clock::time_of;

/// The outdoor temperature, which is no driver beside itself.
const OUTDOOR_AIR: &str = "oat";

/// One linear term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Driver {
    /// 1 from Monday to Friday.
    Weekday,
    /// 1 on a day on which the building is used.
    OccupiedDay,
    /// 1 on a day on which the building would be used, but for a break: a term of its own, so that a school in its holidays is
    /// neither a school day nor a Sunday.
    BreakDay,
    /// The daily mean of a role.
    Role(String),
}

impl Driver {
    /// The word in a configuration.
    pub fn word(&self) -> &str {
        match self {
            Self::Weekday => "weekday",
            Self::OccupiedDay => "occupied_day",
            Self::BreakDay => "break_day",
            Self::Role(role) => role,
        }
    }
}

/// The terms of an entry, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drivers {
    pub list: Vec<Driver>,
    occupied: Vec<Weekday>,
    holidays: DayCalendar,
    breaks: DayCalendar,
}

impl Drivers {
    /// Reads `model` and what belongs to it; none for the change-point model alone.
    ///
    /// # Errors
    /// A driver is unknown or stands twice, or a key has no driver that reads it.
    pub fn read(
        section: &Section<'_>,
        files: &dyn ConfigFiles,
    ) -> Result<Option<Self>, ConfigError> {
        let model = section.word("model", &["change_point", "cp_driver"])?;
        if model != Some("cp_driver") {
            return match section.value("drivers") {
                None => Ok(None),
                Some(_) => Err(section.refuse("drivers", "they need model \"cp_driver\"")),
            };
        }
        let list = drivers(section)?;
        let has_breaks = list.contains(&Driver::BreakDay);
        if !list.contains(&Driver::OccupiedDay) && !has_breaks {
            for key in ["occupied_weekdays", "holidays", "holiday_calendar"] {
                if section.value(key).is_some() {
                    return Err(section.refuse(
                        key,
                        "it needs the driver \"occupied_day\", or \"break_day\"",
                    ));
                }
            }
        }
        if section.value("break_calendar").is_some() != has_breaks {
            return Err(section.refuse(
                "break_calendar",
                "it and the driver \"break_day\" need each other",
            ));
        }
        let calendar = |key| Ok(DayCalendar::read(section, key, files)?.unwrap_or_default());
        Ok(Some(Self {
            list,
            occupied: occupied_weekdays(section)?,
            holidays: calendar("holiday_calendar")?.with(holidays(section)?),
            breaks: calendar("break_calendar")?,
        }))
    }

    /// The roles that are read.
    pub fn roles(&self) -> impl Iterator<Item = &str> {
        self.list.iter().filter_map(|driver| match driver {
            Driver::Role(role) => Some(role.as_str()),
            Driver::Weekday | Driver::OccupiedDay | Driver::BreakDay => None,
        })
    }

    /// Whether the building is used on the day of a stamp, but for breaks; none when a public calendar is not known for that
    /// year.
    pub fn is_occupied(&self, stamp: i64) -> Option<bool> {
        let is_holiday = self.holidays.holds(stamp)?;
        Some(self.occupied.contains(&time_of(stamp).weekday()) && !is_holiday)
    }

    /// Whether the building would be used on the day of a stamp, but for a break; none as for [`Self::is_occupied`].
    pub fn is_break(&self, stamp: i64) -> Option<bool> {
        let is_break = self.breaks.holds(stamp)?;
        Some(self.is_occupied(stamp)? && is_break)
    }
}

/// Whether the day of a stamp is one from Monday to Friday.
pub fn is_weekday(stamp: i64) -> bool {
    time_of(stamp).weekday().num_days_from_monday() < 5
}

fn drivers(section: &Section<'_>) -> Result<Vec<Driver>, ConfigError> {
    let names: Vec<&str> = section
        .value("drivers")
        .and_then(Value::as_array)
        .filter(|list| !list.is_empty())
        .and_then(|list| list.iter().map(Value::as_str).collect())
        .ok_or_else(|| {
            section.refuse(
                "drivers",
                "model \"cp_driver\" needs a list of names, such as [\"weekday\"]",
            )
        })?;
    let mut list: Vec<Driver> = Vec::new();
    for name in names {
        let driver = match name {
            "weekday" => Driver::Weekday,
            "occupied_day" => Driver::OccupiedDay,
            "break_day" => Driver::BreakDay,
            OUTDOOR_AIR => {
                return Err(section.refuse(
                    "drivers",
                    "the outdoor temperature is the model's first term already",
                ));
            }
            role if roles::role(role).is_some() => Driver::Role(role.to_owned()),
            _ => {
                return Err(section.refuse(
                    "drivers",
                    format!(
                        "{name:?} is neither weekday nor occupied_day nor break_day nor a role"
                    ),
                ));
            }
        };
        if list.contains(&driver) {
            return Err(section.refuse("drivers", format!("{name:?} stands twice")));
        }
        list.push(driver);
    }
    Ok(list)
}

fn occupied_weekdays(section: &Section<'_>) -> Result<Vec<Weekday>, ConfigError> {
    let Some(names) = section.texts("occupied_weekdays")? else {
        return Ok(vec![
            Weekday::Mon,
            Weekday::Tue,
            Weekday::Wed,
            Weekday::Thu,
            Weekday::Fri,
        ]);
    };
    names
        .into_iter()
        .map(|name| {
            name.parse().map_err(|_| {
                section.refuse(
                    "occupied_weekdays",
                    format!("{name:?} is no day of the week, such as Mon"),
                )
            })
        })
        .collect()
}

fn holidays(section: &Section<'_>) -> Result<BTreeSet<i64>, ConfigError> {
    match section.value("holidays") {
        None => Ok(BTreeSet::new()),
        Some(Value::Array(list)) => listed(section, "holidays", list),
        Some(_) => Err(section.refuse("holidays", "it must be a list of dates")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::run_config::NoFiles;
    use crate::wall_clock::parse_bound;

    fn read(entry: Value) -> Result<Option<Drivers>, String> {
        Section::of(&entry, "mv[0]")
            .and_then(|section| Drivers::read(&section, &NoFiles))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_building_is_used_on_its_days_but_not_on_holidays() {
        let drivers = read(
            json!({"model": "cp_driver", "drivers": ["occupied_day", "airflow"],
            "occupied_weekdays": ["Mon", "saturday"], "holidays": ["2023-01-02"]}),
        )
        .unwrap()
        .unwrap();
        let used = |day: &str| drivers.is_occupied(parse_bound(day).unwrap());
        assert_eq!(
            ["2023-01-02", "2023-01-07", "2023-01-08", "2023-01-09"].map(used),
            [false, true, false, true].map(Some)
        );
        assert_eq!(drivers.roles().collect::<Vec<_>>(), ["airflow"]);
        assert!(is_weekday(parse_bound("2023-01-02").unwrap()));
        assert!(!is_weekday(parse_bound("2023-01-08").unwrap()));
        assert_eq!(read(json!({})), Ok(None));
    }

    #[test]
    fn a_break_is_a_day_of_use_that_a_calendar_takes_away() {
        let drivers = read(
            json!({"model": "cp_driver", "drivers": ["break_day"], "break_calendar": {"dates":
                ["2023-07-03", "2023-07-04", "2023-07-05", "2023-07-08"]}, "holiday_calendar": "US"}),
        )
        .unwrap()
        .unwrap();
        let at = |day: &str| drivers.is_break(parse_bound(day).unwrap());
        // The fourth is a holiday, the eighth a Saturday, the sixth an ordinary day.
        assert_eq!(
            [
                "2023-07-03",
                "2023-07-04",
                "2023-07-05",
                "2023-07-06",
                "2023-07-08"
            ]
            .map(at),
            [true, false, true, false, false].map(Some)
        );
        assert_eq!(at("2050-07-05"), None);
    }

    #[test]
    fn drivers_that_make_no_sense_are_refused() {
        for (entry, told) in [
            (
                json!({"model": "cp_driver", "drivers": ["break_day"]}),
                "mv[0].break_calendar: it and the driver \"break_day\" need each other",
            ),
            (
                json!({"model": "cp_driver", "drivers": ["weekday"], "break_calendar": "NO"}),
                "mv[0].break_calendar",
            ),
            (
                json!({"model": "cp_driver", "drivers": ["weekday"], "holiday_calendar": "NO"}),
                "mv[0].holiday_calendar: it needs the driver",
            ),
            (json!({"drivers": ["weekday"]}), "mv[0].drivers: they need"),
            (json!({"model": "cp_driver"}), "mv[0].drivers"),
            (json!({"model": "towt"}), "mv[0].model"),
            (
                json!({"model": "cp_driver", "drivers": ["oat"]}),
                "first term",
            ),
            (
                json!({"model": "cp_driver", "drivers": ["moon"]}),
                "\"moon\"",
            ),
            (
                json!({"model": "cp_driver", "drivers": ["weekday", "weekday"]}),
                "stands twice",
            ),
            (
                json!({"model": "cp_driver", "drivers": ["weekday"], "holidays": ["2023-01-02"]}),
                "mv[0].holidays",
            ),
            (
                json!({"model": "cp_driver", "drivers": ["occupied_day"], "holidays": ["x"]}),
                "is no date",
            ),
            (
                json!({"model": "cp_driver", "drivers": ["occupied_day"], "occupied_weekdays": ["x"]}),
                "no day of the week",
            ),
        ] {
            let refused = read(entry).unwrap_err();
            assert!(refused.contains(told), "{refused}");
        }
    }
}
