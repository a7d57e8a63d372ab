//! ISO times as ords and queries carry them.

use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeZone, Utc};
use chrono_tz::Tz;

/// An ISO time; without an offset it is local to the zone, a date alone is its first instant.
pub(crate) fn parse(text: &str, zone: Tz) -> Option<DateTime<Utc>> {
    let text = text.trim();
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(time.to_utc());
    }
    let local = NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f")
        .ok()
        .or_else(|| NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M").ok())
        .or_else(|| {
            NaiveDate::parse_from_str(text, "%Y-%m-%d")
                .ok()?
                .and_hms_opt(0, 0, 0)
        })?;
    zone.from_local_datetime(&local)
        .earliest()
        .map(|time| time.to_utc())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_rule_and_local_times_take_the_zone() {
        let zone = chrono_tz::Europe::Berlin;
        let text = |source: &str| parse(source, zone).map(|time| time.to_rfc3339());
        assert_eq!(
            text("2024-03-01T00:00:00.000+01:00").as_deref(),
            Some("2024-02-29T23:00:00+00:00")
        );
        assert_eq!(
            text("2024-03-01T00:00:00.000").as_deref(),
            Some("2024-02-29T23:00:00+00:00")
        );
        assert_eq!(
            text("2024-07-01").as_deref(),
            Some("2024-06-30T22:00:00+00:00")
        );
        assert_eq!(text("yesterday"), None);
    }
}
