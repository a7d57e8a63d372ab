//! Lexical forms of numbers, instants and durations (oBIX specification §2.1, §2.4, §2.5).

use chrono::{DateTime, FixedOffset, NaiveDateTime, TimeZone, Utc};
use chrono_tz::Tz;

use super::element::Element;

/// An instant with milliseconds and the zone's offset at that instant.
pub fn instant_text(time: DateTime<FixedOffset>) -> String {
    time.format("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string()
}

/// An `abstime` without a name; none is the null time, which still carries the epoch in local offset.
pub fn abstime(time: Option<DateTime<Utc>>, zone: Tz) -> Element {
    let shown = time.unwrap_or(DateTime::<Utc>::UNIX_EPOCH);
    let mut element = Element::new("abstime").with(
        "val",
        instant_text(shown.with_timezone(&zone).fixed_offset()),
    );
    if time.is_none() {
        element.set("null", "true");
    }
    element.with("tz", zone.name())
}

/// An instant from `xs:dateTime`; one without an offset is local to `zone` (§10.3).
pub fn parse_instant(text: &str, zone: Tz) -> Option<DateTime<Utc>> {
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(time.to_utc());
    }
    let local = NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f").ok()?;
    zone.from_local_datetime(&local)
        .earliest()
        .map(|time| time.to_utc())
}

/// A double: at least one fractional digit, `NaN`, `INF`, `-INF`.
pub fn real_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "INF" } else { "-INF" }.to_owned();
    }
    let text = format!("{number:?}");
    match text.split_once('e') {
        Some((digits, exponent)) if digits.contains('.') => format!("{digits}E{exponent}"),
        Some((digits, exponent)) => format!("{digits}.0E{exponent}"),
        None => text,
    }
}

/// `xs:duration` in days, hours, minutes and seconds.
pub fn duration_text(millis: i64) -> String {
    let mut rest = millis.unsigned_abs();
    let mut text = String::from(if millis < 0 { "-P" } else { "P" });
    let days = rest / 86_400_000;
    if days > 0 {
        text.push_str(&format!("{days}D"));
    }
    rest %= 86_400_000;
    if rest == 0 && days > 0 {
        return text;
    }
    text.push('T');
    for (size, letter) in [(3_600_000, 'H'), (60_000, 'M')] {
        if rest >= size {
            text.push_str(&format!("{}{letter}", rest / size));
            rest %= size;
        }
    }
    if !rest.is_multiple_of(1000) {
        let fraction = format!("{:03}", rest % 1000);
        text.push_str(&format!(
            "{}.{}S",
            rest / 1000,
            fraction.trim_end_matches('0')
        ));
    } else if rest > 0 || text.ends_with('T') {
        text.push_str(&format!("{}S", rest / 1000));
    }
    text
}

/// Milliseconds of an `xs:duration`; years and months have no fixed length and are refused.
pub fn parse_duration(text: &str) -> Option<i64> {
    let text = text.trim();
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text),
    };
    let body = text.strip_prefix('P')?;
    let (days, clock) = match body.split_once('T') {
        Some((days, clock)) if !clock.is_empty() => (days, clock),
        Some(_) => return None,
        None => (body, ""),
    };
    if days.is_empty() && clock.is_empty() {
        return None;
    }
    let seconds = fields(days, &[('D', 86_400.0)])?
        + fields(clock, &[('H', 3_600.0), ('M', 60.0), ('S', 1.0)])?;
    let millis = (sign * seconds * 1000.0).round();
    // The cast saturates; a duration beyond it is nonsense anyway.
    (millis.abs() < 9.0e15).then_some(millis as i64)
}

/// The sum of `12H30M`-like fields, which must come in the order of `units`.
fn fields(text: &str, units: &[(char, f64)]) -> Option<f64> {
    let mut rest = text;
    let mut sum = 0.0;
    let mut units = units.iter();
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (digits, tail) = rest.split_at(end);
        let letter = tail.chars().next()?;
        let (_, size) = units.find(|(unit, _)| *unit == letter)?;
        let whole_only = letter != 'S';
        if whole_only && digits.contains('.') {
            return None;
        }
        sum += digits.parse::<f64>().ok()? * size;
        rest = tail.get(1..)?;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_null_time_is_the_epoch_in_local_offset() {
        let null = abstime(None, Tz::Europe__Paris);
        assert_eq!(null.get("val"), Some("1970-01-01T01:00:00.000+01:00"));
        assert!(null.is_null());
        let null = abstime(None, Tz::America__New_York);
        assert_eq!(null.get("val"), Some("1969-12-31T19:00:00.000-05:00"));
    }

    #[test]
    fn both_hours_of_the_autumn_night_carry_their_own_offset() {
        for (utc, local) in [
            ("2025-11-02T05:30:00Z", "2025-11-02T01:30:00.000-04:00"),
            ("2025-11-02T06:30:00Z", "2025-11-02T01:30:00.000-05:00"),
        ] {
            let time = parse_instant(utc, Tz::UTC).unwrap();
            assert_eq!(
                abstime(Some(time), Tz::America__New_York).get("val"),
                Some(local)
            );
            assert_eq!(parse_instant(local, Tz::UTC), Some(time));
        }
    }

    #[test]
    fn a_time_without_offset_is_local_and_a_blank_for_plus_is_refused() {
        let local = parse_instant("2026-01-01T00:00:00.000", Tz::Europe__Paris).unwrap();
        assert_eq!(local.to_rfc3339(), "2025-12-31T23:00:00+00:00");
        assert_eq!(
            parse_instant("2026-01-01T00:00:00.000 01:00", Tz::UTC),
            None
        );
        assert_eq!(parse_instant("null", Tz::UTC), None);
    }

    #[test]
    fn numbers_have_a_fraction_and_special_values_their_schema_names() {
        let texts = [
            50.0,
            88.540_000_915_527_34,
            1e-7,
            1e300,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
        ]
        .map(real_text);
        assert_eq!(
            texts,
            [
                "50.0",
                "88.54000091552734",
                "1.0E-7",
                "1.0E300",
                "NaN",
                "INF",
                "-INF"
            ]
        );
    }

    #[test]
    fn durations_of_the_specification_are_read() {
        for (text, millis) in [
            ("PT0S", 0),
            ("PT4M0S", 240_000),
            ("PT1H", 3_600_000),
            ("-PT0.5S", -500),
            ("P1DT2H", 93_600_000),
        ] {
            assert_eq!(parse_duration(text), Some(millis), "{text}");
        }
        for text in [
            "P1Y", "P1M", "P", "PT", "P1DT", "1H", "PT1M1H", "PT1.5H", "PTS", "PT1",
        ] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn durations_survive_a_round_trip(millis in -10_000_000_000_i64..10_000_000_000) {
            prop_assert_eq!(parse_duration(&duration_text(millis)), Some(millis));
        }

        #[test]
        fn numbers_survive_a_round_trip(number in proptest::num::f64::NORMAL) {
            prop_assert_eq!(real_text(number).parse::<f64>().unwrap(), number);
        }
    }
}
