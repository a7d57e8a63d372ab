//! Holidays and breaks as an entry of `mv` declares them (M&V §4.4).

use std::collections::BTreeSet;

use serde_json::Value;

use super::dates::day;
use super::files::{ConfigFiles, CsvTable};
use super::section::{ConfigError, Section};
use crate::holidays::HolidayCalendar;
use crate::wall_clock::{DAY, time_of};

/// A period of a calendar file covers at most so many days: longer ones are mistakes.
const MOST_DAYS: i64 = 40_000;

/// Days that are listed, and those of a public calendar.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DayCalendar {
    /// Days since 1970.
    listed: BTreeSet<i64>,
    public: Option<HolidayCalendar>,
}

impl DayCalendar {
    /// Reads `holiday_calendar` or `break_calendar`: a country code, or an object of country, subdivision, files and dates;
    /// none when the key is absent.
    ///
    /// # Errors
    /// The country is not known, a file cannot be read, or a date is none.
    pub fn read(
        entry: &Section<'_>,
        key: &str,
        files: &dyn ConfigFiles,
    ) -> Result<Option<Self>, ConfigError> {
        let Some(value) = entry.value(key) else {
            return Ok(None);
        };
        if let Some(code) = value.as_str() {
            return Ok(Some(Self {
                public: Some(public(entry, key, code, None)?),
                listed: BTreeSet::new(),
            }));
        }
        let section = Section::of(value, entry.at(key)).map_err(|_| {
            entry.refuse(
                key,
                "it must be a country code such as \"NO\", or an object of country, subdivision, files and dates",
            )
        })?;
        section.only(&["country", "subdivision", "files", "dates"])?;
        let region = section.text("subdivision")?.filter(|text| !text.is_empty());
        let country = match section.text("country")? {
            Some(code) => Some(public(&section, "country", code, region)?),
            None if region.is_some() => {
                return Err(section.refuse("subdivision", "it needs a country"));
            }
            None => None,
        };
        let names = names(&section)?;
        let dates = section.value("dates").map(|value| match value {
            Value::Array(list) => Ok(list.as_slice()),
            _ => Err(section.refuse("dates", "it must be a list of dates")),
        });
        let dates = dates.transpose()?.unwrap_or_default();
        if country.is_none() && names.is_empty() && dates.is_empty() {
            return Err(entry.refuse(key, "it needs a country, files or dates"));
        }
        let mut listed = listed(&section, "dates", dates)?;
        for name in names {
            listed.append(&mut of_file(files, name, &section.at("files"))?);
        }
        Ok(Some(Self {
            listed,
            public: country,
        }))
    }

    /// With days that are listed elsewhere.
    #[must_use]
    pub fn with(mut self, days: BTreeSet<i64>) -> Self {
        self.listed.extend(days);
        self
    }

    /// Whether the day of a stamp is in it; none when its public calendar is not known for that year.
    pub fn holds(&self, stamp: i64) -> Option<bool> {
        let is_public = match self.public {
            None => false,
            Some(public) => public.holds(time_of(stamp).date())?,
        };
        Some(is_public || self.listed.contains(&stamp.div_euclid(DAY)))
    }
}

/// Files that a calendar names.
pub(super) fn named_files(entry: &Value) -> impl Iterator<Item = &str> {
    ["holiday_calendar", "break_calendar"]
        .into_iter()
        .filter_map(|key| entry.get(key)?.get("files"))
        .flat_map(|files| match files {
            Value::Array(list) => list.as_slice(),
            one => std::slice::from_ref(one),
        })
        .filter_map(Value::as_str)
}

fn names<'a>(section: &Section<'a>) -> Result<Vec<&'a str>, ConfigError> {
    match section.value("files") {
        Some(Value::String(name)) => Ok(vec![name.as_str()]),
        _ => Ok(section.texts("files")?.unwrap_or_default()),
    }
}

/// Days of a list of dates.
///
/// # Errors
/// One of them is no date.
pub(super) fn listed(
    section: &Section<'_>,
    key: &str,
    dates: &[Value],
) -> Result<BTreeSet<i64>, ConfigError> {
    dates
        .iter()
        .map(|value| {
            value.as_str().and_then(day).ok_or_else(|| {
                section.refuse(key, format!("{value} is no date, such as 2024-03-31"))
            })
        })
        .collect()
}

fn public(
    section: &Section<'_>,
    key: &str,
    code: &str,
    region: Option<&str>,
) -> Result<HolidayCalendar, ConfigError> {
    let code = code.trim().to_uppercase();
    let (country, own) = match code.split_once('-') {
        Some((country, own)) => (country, Some(own)),
        None => (code.as_str(), None),
    };
    // Each region of Spain publishes its own days anew for every year.
    if country == "ES" {
        return Err(section.refuse(
            key,
            "holidays of Spain are published anew for each region and year; list them in dates, or in a file",
        ));
    }
    let calendar = HolidayCalendar::of(country).ok_or_else(|| {
        section.refuse(
            key,
            format!(
                "there is no calendar of {country:?}; known are {}. List the days in dates, or in a file",
                HolidayCalendar::COUNTRIES.join(", ")
            ),
        )
    })?;
    match region.or(own) {
        None => Ok(calendar),
        Some(region) => Err(section.refuse(
            key,
            format!("{country} has one national calendar and none of {region:?}; leave the subdivision out"),
        )),
    }
}

/// Days of a file with a column `date`, or columns `start` and `end` of whole periods.
fn of_file(files: &dyn ConfigFiles, name: &str, place: &str) -> Result<BTreeSet<i64>, ConfigError> {
    let table = CsvTable::read(files, name, place)?;
    let refuse = |problem: String| ConfigError::new(place, format!("{name:?}: {problem}"));
    let date = table.column("date");
    let period = table.column("start").zip(table.column("end"));
    if date.is_none() && period.is_none() {
        return Err(refuse(format!(
            "it needs a column date, or columns start and end; it has {}",
            table.headers.join(", ")
        )));
    }
    let mut days = BTreeSet::new();
    for (number, row) in (2..).zip(&table.rows) {
        let cell = |column: usize| row.get(column).map_or("", String::as_str);
        let read = |column: usize| {
            day(cell(column)).ok_or_else(|| {
                refuse(format!(
                    "row {number}: {:?} is no date, such as 2024-03-31",
                    cell(column)
                ))
            })
        };
        match (date.filter(|column| !cell(*column).is_empty()), period) {
            (Some(column), _) => {
                days.insert(read(column)?);
            }
            (None, Some((start, end))) => {
                let (first, last) = (read(start)?, read(end)?);
                if last < first || last - first > MOST_DAYS {
                    return Err(refuse(format!(
                        "row {number}: its end must be on or after its start, and not a century later"
                    )));
                }
                days.extend(first..=last);
            }
            (None, None) => return Err(refuse(format!("row {number} has no date"))),
        }
    }
    Ok(days)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::wall_clock::parse_bound;

    fn read(calendar: Value) -> Result<DayCalendar, String> {
        let files = BTreeMap::from(
            [
                ("days.csv", "Date,what\n2024-03-04,a\n3/6/2024,b\n"),
                (
                    "terms.csv",
                    "date,start,end\n,2024-03-11,2024-03-13\n2024-03-20,,\n",
                ),
                ("none.csv", "day\n2024-03-04\n"),
                ("odd.csv", "date\n2024-03-04\nsoon\n"),
                ("back.csv", "start,end\n2024-03-04,2024-03-01\n"),
            ]
            .map(|(name, text)| (name.to_owned(), text.to_owned())),
        );
        let entry = json!({ "holiday_calendar": calendar });
        Section::of(&entry, "mv[0]")
            .and_then(|section| DayCalendar::read(&section, "holiday_calendar", &files))
            .map(Option::unwrap_or_default)
            .map_err(|error| error.to_string())
    }

    fn held(calendar: &DayCalendar, days: &[&str]) -> Vec<Option<bool>> {
        let stamps = days.iter().map(|day| parse_bound(day).unwrap());
        stamps.map(|stamp| calendar.holds(stamp)).collect()
    }

    #[test]
    fn a_calendar_is_a_country_files_and_dates_together() {
        let calendar = read(
            json!({"country": "US", "files": ["days.csv", "terms.csv"], "dates": ["2024-03-25"]}),
        )
        .unwrap();
        assert_eq!(
            held(
                &calendar,
                &[
                    "2024-01-01",
                    "2024-03-04",
                    "2024-03-06",
                    "2024-03-13",
                    "2024-03-20",
                    "2024-03-25",
                    "2024-03-26"
                ]
            ),
            [true, true, true, true, true, true, false].map(Some)
        );
        let public = read(json!({"country": "no"})).unwrap();
        assert_eq!(public, read(json!("NO")).unwrap());
        assert_eq!(
            held(&public, &["2024-05-17", "2024-07-04", "2050-01-01"]),
            [Some(true), Some(false), None]
        );
        assert_eq!(
            held(&read(json!(null)).unwrap(), &["2024-01-01"]),
            [Some(false)]
        );
    }

    #[test]
    fn everything_wrong_is_refused_with_its_place() {
        for (calendar, told) in [
            (
                json!(5),
                "mv[0].holiday_calendar: it must be a country code",
            ),
            (json!({}), "it needs a country, files or dates"),
            (
                json!("DE"),
                "there is no calendar of \"DE\"; known are NO, US",
            ),
            (json!("ES-MD"), "published anew for each region and year"),
            (json!("US-CA"), "one national calendar"),
            (
                json!({"subdivision": "MD"}),
                "mv[0].holiday_calendar.subdivision: it needs a country",
            ),
            (json!({"name": "x"}), "mv[0].holiday_calendar.name"),
            (
                json!({"dates": "2024-01-01"}),
                "mv[0].holiday_calendar.dates: it must be a list",
            ),
            (json!({"dates": ["soon"]}), "\"soon\" is no date"),
            (json!({"files": "no.csv"}), "\"no.csv\""),
            (
                json!({"files": ["none.csv"]}),
                "it needs a column date, or columns start and end; it has day",
            ),
            (json!({"files": ["odd.csv"]}), "row 3: \"soon\" is no date"),
            (
                json!({"files": ["back.csv"]}),
                "row 2: its end must be on or after its start",
            ),
        ] {
            let refused = read(calendar).unwrap_err();
            assert!(refused.contains(told), "{refused}");
        }
    }
}
