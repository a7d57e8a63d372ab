//! The preset queries of a history object (oBIX specification §10.2).

use chrono::{DateTime, Datelike, Days, Months, NaiveDate, NaiveTime, TimeDelta, TimeZone, Utc};
use chrono_tz::Tz;

use crate::obix::element::Element;
use crate::obix::time::instant_text;

/// Refs to ready queries with bounds in station time. Their hrefs carry offsets as a station writes them: a `+` is not
/// encoded.
pub fn references(now: DateTime<Utc>, zone: Tz) -> Vec<Element> {
    let mut references = vec![reference("unboundedQuery", "limit=1000".to_owned())];
    references.extend(ranges(now, zone).into_iter().map(|(name, start, end)| {
        let local = |time: DateTime<Utc>| instant_text(time.with_timezone(&zone).fixed_offset());
        let mut query = format!("start={}&end={}", local(start), local(end));
        if name.ends_with("Year") || name.starts_with("year") {
            query.push_str("&limit=1000");
        }
        reference(name, query)
    }));
    references
}

fn reference(name: &str, query: String) -> Element {
    Element::named("ref", name).with("href", format!("~historyQuery?{query}"))
}

/// Weeks begin on Sunday, as on a station with American settings.
fn ranges(now: DateTime<Utc>, zone: Tz) -> Vec<(&'static str, DateTime<Utc>, DateTime<Utc>)> {
    let today = now.with_timezone(&zone).date_naive();
    let begin = |date: NaiveDate| midnight(date, zone);
    let end = |date: NaiveDate| midnight(next(date), zone) - TimeDelta::milliseconds(1);
    let yesterday = before(today, 1);
    let sunday = before(today, u64::from(today.weekday().num_days_from_sunday()));
    let month = today.with_day(1).unwrap_or(today);
    let last_month = month.checked_sub_months(Months::new(1)).unwrap_or(month);
    let year = month.with_month(1).unwrap_or(month);
    let last_year = year.checked_sub_months(Months::new(12)).unwrap_or(year);
    vec![
        ("today", begin(today), now),
        ("last24Hours", now - TimeDelta::hours(24), now),
        ("yesterday", begin(yesterday), end(yesterday)),
        ("weekToDate", begin(sunday), now),
        ("lastWeek", end(before(sunday, 8)), end(before(sunday, 1))),
        ("last7Days", now - TimeDelta::days(7), now),
        ("monthToDate", begin(month), end(today)),
        ("lastMonth", begin(last_month), end(before(month, 1))),
        ("yearToDate", begin(year), end(today)),
        ("lastYear", begin(last_year), end(before(year, 1))),
    ]
}

fn next(date: NaiveDate) -> NaiveDate {
    date.succ_opt().unwrap_or(date)
}

fn before(date: NaiveDate, days: u64) -> NaiveDate {
    date.checked_sub_days(Days::new(days)).unwrap_or(date)
}

/// The first instant of a day; where the clock skips midnight, the first that exists.
fn midnight(date: NaiveDate, zone: Tz) -> DateTime<Utc> {
    let local = date.and_time(NaiveTime::MIN);
    let found = zone.from_local_datetime(&local).earliest().or_else(|| {
        zone.from_local_datetime(&(local + TimeDelta::hours(1)))
            .earliest()
    });
    found.map_or_else(|| local.and_utc(), |time| time.to_utc())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_come_in_order_with_station_time() {
        let now: DateTime<Utc> = "2024-08-21T00:00:22.919Z".parse().unwrap();
        let references = references(now, Tz::America__New_York);
        let names: Vec<&str> = references
            .iter()
            .filter_map(|one| one.get("name"))
            .collect();
        assert_eq!(
            names,
            [
                "unboundedQuery",
                "today",
                "last24Hours",
                "yesterday",
                "weekToDate",
                "lastWeek",
                "last7Days",
                "monthToDate",
                "lastMonth",
                "yearToDate",
                "lastYear"
            ]
        );
        let href = |index: usize| references[index].get("href").unwrap();
        assert_eq!(href(0), "~historyQuery?limit=1000");
        assert_eq!(
            href(1),
            "~historyQuery?start=2024-08-20T00:00:00.000-04:00&end=2024-08-20T20:00:22.919-04:00"
        );
        assert_eq!(
            href(5),
            "~historyQuery?start=2024-08-10T23:59:59.999-04:00&end=2024-08-17T23:59:59.999-04:00"
        );
        assert_eq!(
            href(10),
            "~historyQuery?start=2023-01-01T00:00:00.000-05:00&end=2023-12-31T23:59:59.999-05:00&limit=1000"
        );
    }
}
