//! What a query asks for (oBIX specification §10.3).

use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;

use crate::model::{History, HistoryRecord};
use crate::obix::address::Address;
use crate::obix::element::Element;
use crate::obix::error::ObixError;
use crate::obix::time::{parse_duration, parse_instant};

/// A week of quarter hours fills more than half of a usual page.
const FIRST_WINDOW: TimeDelta = TimeDelta::days(7);

/// Inclusive bounds and the number of records wanted; none means all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub start: Option<DateTime<Utc>>,
    pub end: Option<DateTime<Utc>>,
    pub limit: Option<usize>,
}

impl Filter {
    /// Reads an `obix:HistoryFilter`; children are found by name, null or absent ones do not limit.
    ///
    /// # Errors
    /// When a bound is no time or the limit no count.
    pub fn of_argument(argument: Option<&Element>, zone: Tz) -> Result<Self, ObixError> {
        Self::of(|name| argument_text(argument, name), zone)
    }

    /// Reads the filter from the query of a URL.
    ///
    /// # Errors
    /// When a bound is no time or the limit no count.
    pub fn of_parameters(address: &Address, zone: Tz) -> Result<Self, ObixError> {
        Self::of(|name| address.parameter(name), zone)
    }

    fn of(text: impl Fn(&str) -> Option<String>, zone: Tz) -> Result<Self, ObixError> {
        let time = |name: &str| {
            text(name)
                .map(|value| {
                    parse_instant(&value, zone).ok_or_else(|| {
                        ObixError::Failed(format!("Invalid {name}: {value} is no abstime"))
                    })
                })
                .transpose()
        };
        let limit = text("limit")
            .map(|value| {
                value.trim().parse().map_err(|_| {
                    ObixError::Failed(format!("Invalid limit: {value} is no count of records"))
                })
            })
            .transpose()?;
        Ok(Self {
            start: time("start")?,
            end: time("end")?,
            limit,
        })
    }

    /// The records within the bounds, oldest first, without regard to the limit.
    pub fn records(&self, history: &History, now: DateTime<Utc>) -> Vec<HistoryRecord> {
        self.clipped(history, now)
            .map(|(start, end)| history.records(start, end, now))
            .unwrap_or_default()
    }

    /// The oldest records within the bounds, as many as the limit allows.
    pub fn oldest(&self, history: &History, now: DateTime<Utc>) -> Vec<HistoryRecord> {
        let Some(limit) = self.limit else {
            return self.records(history, now);
        };
        let Some((mut from, end)) = self.clipped(history, now) else {
            return Vec::new();
        };
        // A page of a long history must not cost the computation of all of it.
        let mut window = FIRST_WINDOW;
        let mut records = Vec::new();
        while records.len() < limit && from <= end {
            let next = from.checked_add_signed(window);
            let to = next.map_or(end, |next| end.min(next - TimeDelta::nanoseconds(1)));
            records.extend(history.records(from, to, now));
            let Some(next) = next else { break };
            from = next;
            window = window.checked_mul(2).unwrap_or(window);
        }
        records.truncate(limit);
        records
    }

    /// The bounds within what the history holds; none for an empty history.
    fn clipped(
        &self,
        history: &History,
        now: DateTime<Utc>,
    ) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
        let (first, last) = history.bounds(now)?;
        let start = self.start.map_or(first, |start| start.max(first));
        let end = self.end.map_or(last, |end| end.min(last));
        Some((start, end))
    }
}

fn argument_text(argument: Option<&Element>, name: &str) -> Option<String> {
    let child = argument?.child(name).filter(|child| !child.is_null())?;
    let value = child.get("val").filter(|value| !value.is_empty())?;
    Some(value.to_owned())
}

/// The `interval` of a rollup in milliseconds: a `reltime`, or a number of milliseconds (§10.5).
///
/// # Errors
/// When it is missing or not positive.
pub fn interval(argument: Option<&Element>) -> Result<i64, ObixError> {
    let missing = || ObixError::Failed("Invalid rollup: a positive interval is needed".into());
    let text = argument_text(argument, "interval").ok_or_else(missing)?;
    let number = || text.parse::<f64>().ok().filter(|millis| *millis < 9.0e15);
    parse_duration(&text)
        .or_else(|| number().map(|millis| millis as i64))
        .filter(|millis| *millis > 0)
        .ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{PointKind, StoredHistory};
    use proptest::prelude::*;
    use std::sync::Arc;

    proptest! {
        #[test]
        fn the_oldest_are_the_front_of_all(
            mut minutes in proptest::collection::vec(0_i64..200_000, 0..80),
            start in proptest::option::of(0_i64..200_000),
            end in proptest::option::of(0_i64..200_000),
            limit in 0_usize..90,
        ) {
            let at = |minute: i64| DateTime::<Utc>::UNIX_EPOCH + TimeDelta::minutes(minute);
            minutes.sort_unstable();
            let records = minutes.iter().enumerate().map(|(n, minute)| HistoryRecord::ok(at(*minute), n as f64));
            let stored = Arc::new(StoredHistory::new(records.collect()));
            let history = History::new("/S/H", PointKind::Numeric, Tz::UTC, stored);
            let bounds = Filter { start: start.map(at), end: end.map(at), limit: Some(limit) };
            let mut all = bounds.records(&history, at(300_000));
            all.truncate(limit);
            prop_assert_eq!(bounds.oldest(&history, at(300_000)), all);
        }
    }

    fn filter(children: &[Element]) -> Result<Filter, String> {
        let mut argument = Element::new("obj");
        argument.children.extend(children.iter().cloned());
        Filter::of_argument(Some(&argument), Tz::Europe__Paris).map_err(|error| error.to_string())
    }

    #[test]
    fn null_empty_and_absent_bounds_do_not_limit() {
        let open = [
            Element::value("abstime", "start", "1970-01-01T01:00:00.000+01:00")
                .with("null", "true"),
            Element::value("abstime", "end", ""),
            Element::value("str", "format", "x"),
        ];
        assert_eq!(filter(&open), Ok(Filter::default()));
        assert_eq!(
            Filter::of_argument(None, Tz::UTC).unwrap(),
            Filter::default()
        );
    }

    #[test]
    fn bounds_without_offset_are_local_and_nonsense_is_named() {
        let bounds = filter(&[
            Element::value("abstime", "start", "2026-01-01T00:00:00.000"),
            Element::value("int", "limit", "3"),
        ]);
        let bounds = bounds.unwrap();
        assert_eq!(
            bounds.start.unwrap().to_rfc3339(),
            "2025-12-31T23:00:00+00:00"
        );
        assert_eq!(bounds.limit, Some(3));
        let error = filter(&[Element::value(
            "abstime",
            "end",
            "2026-01-01T00:00:00 01:00",
        )]);
        assert!(error.unwrap_err().starts_with("Invalid end: 2026-01-01"));
        let error = filter(&[Element::value("int", "limit", "-1")]);
        assert!(error.unwrap_err().starts_with("Invalid limit: -1"));
    }

    #[test]
    fn an_interval_is_a_duration_or_milliseconds() {
        let of = |child: Element| interval(Some(&Element::new("obj").with_child(child))).ok();
        assert_eq!(
            of(Element::value("reltime", "interval", "PT1H")),
            Some(3_600_000)
        );
        assert_eq!(
            of(Element::value("real", "interval", "900000.0")),
            Some(900_000)
        );
        for text in ["PT0S", "-PT1H", "0", "x", "NaN", "1e300"] {
            assert_eq!(
                of(Element::value("reltime", "interval", text)),
                None,
                "{text}"
            );
        }
        assert!(interval(None).is_err());
    }
}
