//! Typed values of oBIX objects and their lexical forms (oBIX specification §2.1, §2.4, §2.5).

use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone};
use chrono_tz::Tz;
use thiserror::Error;

use super::object::{Element, Object, shorten};

/// A typed oBIX value.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    /// May be NaN or infinite; [`Scalar::number`] gives finite numbers only.
    Real(f64),
    Text(String),
    /// Tag of an enumeration, not its ordinal.
    Tag(String),
    Uri(String),
    Instant(DateTime<FixedOffset>),
    Duration(TimeDelta),
    Date(NaiveDate),
    Time(NaiveTime),
}

impl Scalar {
    /// The value as a finite number.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Real(number) => number.is_finite().then_some(*number),
            Self::Int(number) => Some(*number as f64),
            _ => None,
        }
    }

    /// The shortest decimal when the number is a 32-bit float printed as a double
    /// (oBIX specification §2.4); the raw number stays the one to calculate with.
    pub fn shortest_float_text(&self) -> Option<String> {
        let Self::Real(number) = self else {
            return None;
        };
        let single = *number as f32;
        (number.is_finite() && f64::from(single) == *number).then(|| format!("{single:?}"))
    }
}

/// Why a value could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ScalarError {
    #[error("oBIX <{element}> {name:?} holds {text:?}, which is not {expected}")]
    Lexical {
        element: &'static str,
        name: String,
        text: String,
        expected: &'static str,
    },
    #[error("oBIX <{element}> {name:?} carries no value")]
    NoValue { element: &'static str, name: String },
}

impl Object {
    /// The value of the object, read by its element (oBIX specification §2.1).
    ///
    /// `station_zone` serves times that carry neither offset nor `tz`.
    ///
    /// # Errors
    /// [`ScalarError`] when `val` does not fit the element, or the element carries no value.
    pub fn scalar(&self, station_zone: Option<Tz>) -> Result<Scalar, ScalarError> {
        if self.is_null() {
            return Ok(Scalar::Null);
        }
        let wrong = |expected| ScalarError::Lexical {
            element: self.element.local_name(),
            name: self.name().unwrap_or_default().to_owned(),
            text: shorten(self.val().unwrap_or_default()),
            expected,
        };
        let text = self.val();
        match self.element {
            Element::Bool => match text.map(str::trim) {
                None | Some("false" | "0") => Ok(Scalar::Bool(false)),
                Some("true" | "1") => Ok(Scalar::Bool(true)),
                Some(_) => Err(wrong("true or false")),
            },
            Element::Int => match text {
                None => Ok(Scalar::Int(0)),
                Some(text) => text
                    .trim()
                    .parse()
                    .map(Scalar::Int)
                    .map_err(|_| wrong("a whole number of 64 bits")),
            },
            Element::Real => match text {
                None => Ok(Scalar::Real(0.0)),
                Some(text) => parse_real(text)
                    .map(Scalar::Real)
                    .ok_or_else(|| wrong("a number")),
            },
            Element::Str => Ok(Scalar::Text(text.unwrap_or_default().to_owned())),
            Element::Uri => Ok(Scalar::Uri(text.unwrap_or_default().to_owned())),
            Element::Enum => text
                .map(|tag| Scalar::Tag(tag.to_owned()))
                .ok_or_else(|| wrong("an enumeration tag")),
            Element::Abstime => {
                let zone = self.zone().or(station_zone);
                parse_abstime(text.unwrap_or_default(), zone)
                    .map(Scalar::Instant)
                    .map_err(wrong)
            }
            Element::Reltime => match text {
                None => Ok(Scalar::Duration(TimeDelta::zero())),
                Some(text) => parse_reltime(text)
                    .map(Scalar::Duration)
                    .ok_or_else(|| wrong("an xs:duration without years and months, such as PT15M")),
            },
            Element::Date => text
                .and_then(|text| NaiveDate::parse_from_str(text.trim(), "%Y-%m-%d").ok())
                .map(Scalar::Date)
                .ok_or_else(|| wrong("a date YYYY-MM-DD")),
            Element::Time => text
                .and_then(|text| NaiveTime::parse_from_str(text.trim(), "%H:%M:%S%.f").ok())
                .map(Scalar::Time)
                .ok_or_else(|| wrong("a time hh:mm:ss")),
            Element::Obj
            | Element::List
            | Element::Op
            | Element::Feed
            | Element::Ref
            | Element::Err => Err(ScalarError::NoValue {
                element: self.element.local_name(),
                name: self.name().unwrap_or_default().to_owned(),
            }),
        }
    }
}

/// Reads an `xs:double` in every spelling seen (oBIX specification §2.4).
pub fn parse_real(text: &str) -> Option<f64> {
    let text = text.trim();
    let (negative, magnitude) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    if magnitude.eq_ignore_ascii_case("inf") || magnitude.eq_ignore_ascii_case("infinity") {
        return Some(if negative {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        });
    }
    if magnitude.eq_ignore_ascii_case("nan") {
        return Some(f64::NAN);
    }
    if !magnitude.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    let number: f64 = text.parse().ok()?;
    number.is_finite().then_some(number)
}

/// Reads an `abstime`; without offset the zone decides, and a clock reading that the zone has
/// twice or never is refused rather than guessed (oBIX specification §2.5).
pub fn parse_abstime(text: &str, zone: Option<Tz>) -> Result<DateTime<FixedOffset>, &'static str> {
    const SHAPE: &str = "a time YYYY-MM-DDThh:mm:ss.mmm with offset";
    let text = text.trim();
    if let Ok(instant) = DateTime::parse_from_rfc3339(text) {
        return Ok(instant);
    }
    let local = NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f").map_err(|_| SHAPE)?;
    let zone = zone.ok_or("a time with offset (and no zone is known for this one)")?;
    zone.from_local_datetime(&local)
        .single()
        .map(|instant| instant.fixed_offset())
        .ok_or("an unambiguous time: without offset the clock change leaves it open")
}

/// Reads an `xs:duration` of days and smaller parts, to the millisecond.
pub fn parse_reltime(text: &str) -> Option<TimeDelta> {
    let text = text.trim();
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let text = text.strip_prefix('P')?;
    let (days, clock) = match text.split_once('T') {
        Some((days, clock)) if !clock.is_empty() => (days, clock),
        Some(_) => return None,
        None if text.is_empty() => return None,
        None => (text, ""),
    };
    let mut milliseconds = 0_i64;
    if !days.is_empty() {
        milliseconds = whole(days.strip_suffix('D')?)?.checked_mul(86_400_000)?;
    }
    let mut rest = clock;
    for (unit, size) in [('H', 3_600_000), ('M', 60_000)] {
        if let Some((count, after)) = rest.split_once(unit) {
            milliseconds = milliseconds.checked_add(whole(count)?.checked_mul(size)?)?;
            rest = after;
        }
    }
    if !rest.is_empty() {
        let (seconds, fraction) = match rest.strip_suffix('S')?.split_once('.') {
            Some((seconds, fraction)) => (seconds, fraction),
            None => (rest.strip_suffix('S')?, "0"),
        };
        milliseconds = milliseconds.checked_add(whole(seconds)?.checked_mul(1000)?)?;
        whole(fraction.get(..fraction.len().min(9))?)?;
        let thousandths: String = fraction.chars().chain("000".chars()).take(3).collect();
        milliseconds = milliseconds.checked_add(whole(&thousandths)?)?;
    }
    TimeDelta::try_milliseconds(milliseconds.checked_mul(sign)?)
}

/// Writes a duration the way stations do: `PT15M0S` is `PT15M`, zero is `PT0S`.
pub fn format_reltime(duration: TimeDelta) -> String {
    let milliseconds = duration.num_milliseconds();
    let sign = if milliseconds < 0 { "-" } else { "" };
    let total = milliseconds.unsigned_abs();
    let (hours, minutes) = (total / 3_600_000, total / 60_000 % 60);
    let (seconds, thousandths) = (total / 1000 % 60, total % 1000);
    let mut text = format!("{sign}PT");
    if hours > 0 {
        text.push_str(&format!("{hours}H"));
    }
    if minutes > 0 {
        text.push_str(&format!("{minutes}M"));
    }
    if thousandths > 0 {
        text.push_str(&format!("{seconds}.{thousandths:03}S"));
    } else if seconds > 0 || total == 0 {
        text.push_str(&format!("{seconds}S"));
    }
    text
}

/// A number of decimal digits only: no sign, no blank.
fn whole(digits: &str) -> Option<i64> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::obix::object::Attribute;
    use proptest::prelude::*;

    fn value(element: Element, val: &str) -> Object {
        let mut object = Object::new(element);
        object.set(Attribute::Val, val);
        object
    }

    #[test]
    fn numbers_are_read_in_every_spelling_seen() {
        for (text, expected) in [
            ("50.0", 50.0),
            ("1.0E-4", 1.0e-4),
            ("88.54000091552734", 88.54000091552734),
            ("INF", f64::INFINITY),
            ("+inf", f64::INFINITY),
            ("-Infinity", f64::NEG_INFINITY),
        ] {
            assert_eq!(
                value(Element::Real, text).scalar(None),
                Ok(Scalar::Real(expected)),
                "{text}"
            );
        }
        let nan = value(Element::Real, "nan")
            .scalar(None)
            .expect("NaN is a double");
        assert!(matches!(nan, Scalar::Real(number) if number.is_nan()));
        assert_eq!(nan.number(), None);
        for text in ["42,0", "", "1e", "one", "1e999", "-"] {
            assert!(value(Element::Real, text).scalar(None).is_err(), "{text}");
        }
        assert_eq!(
            Object::new(Element::Real).scalar(None),
            Ok(Scalar::Real(0.0))
        );
        assert_eq!(
            Object::new(Element::Bool).scalar(None),
            Ok(Scalar::Bool(false))
        );
    }

    #[test]
    fn float_noise_is_offered_as_the_short_decimal_beside_the_raw_number() {
        assert_eq!(
            Scalar::Real(88.54000091552734)
                .shortest_float_text()
                .as_deref(),
            Some("88.54")
        );
        assert_eq!(
            Scalar::Real(61.97999954223633)
                .shortest_float_text()
                .as_deref(),
            Some("61.98")
        );
        assert_eq!(Scalar::Real(88.54).shortest_float_text(), None);
    }

    #[test]
    fn both_readings_of_the_repeated_hour_are_different_instants() {
        let first = parse_abstime("2025-11-02T01:30:00.000-04:00", None).expect("valid");
        let second = parse_abstime("2025-11-02T01:30:00.000-05:00", None).expect("valid");
        assert_eq!(first.to_utc().to_rfc3339(), "2025-11-02T05:30:00+00:00");
        assert_eq!((second - first).num_minutes(), 60);
        let zone = Some(chrono_tz::America::New_York);
        assert!(
            parse_abstime("2025-11-02T01:30:00", zone).is_err(),
            "ambiguous"
        );
        assert!(
            parse_abstime("2025-03-09T02:30:00", zone).is_err(),
            "skipped"
        );
        assert_eq!(
            parse_abstime("2025-07-01T12:00:00", zone)
                .expect("valid")
                .to_rfc3339(),
            "2025-07-01T12:00:00-04:00"
        );
        assert!(
            parse_abstime("2025-07-01T12:00:00", None).is_err(),
            "no zone, no guess"
        );
    }

    #[test]
    fn null_wins_over_any_value() {
        for attribute in ["null", "isNull"] {
            for element in [
                Element::Real,
                Element::Bool,
                Element::Str,
                Element::Enum,
                Element::Abstime,
            ] {
                let mut object = value(element, "1969-12-31T19:00:00.000-05:00");
                object.set(
                    Attribute::from_local_name(attribute).expect("known"),
                    "true",
                );
                assert_eq!(
                    object.scalar(None),
                    Ok(Scalar::Null),
                    "{attribute} {element:?}"
                );
            }
        }
        assert_eq!(
            value(Element::Abstime, "null").scalar(None),
            Ok(Scalar::Null)
        );
        assert_eq!(
            value(Element::Str, "null").scalar(None),
            Ok(Scalar::Text("null".into()))
        );
    }

    #[test]
    fn durations_of_the_specification_are_read() {
        for (text, milliseconds) in [
            ("PT0S", 0),
            ("PT30S", 30_000),
            ("PT4M0S", 240_000),
            ("-PT0.5S", -500),
            ("P1DT2H", 93_600_000),
            ("PT1H", 3_600_000),
            ("P2D", 172_800_000),
        ] {
            assert_eq!(
                parse_reltime(text).map(|d| d.num_milliseconds()),
                Some(milliseconds),
                "{text}"
            );
        }
        for text in [
            "P1Y",
            "P1M",
            "PT",
            "P",
            "",
            "30",
            "PT5",
            "PT-5S",
            "P99999999999999D",
            "PT1S1H",
        ] {
            assert_eq!(parse_reltime(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_written_duration_reads_back(milliseconds in -10_000_000_000_i64..10_000_000_000) {
            let duration = TimeDelta::milliseconds(milliseconds);
            prop_assert_eq!(parse_reltime(&format_reltime(duration)), Some(duration));
        }

        #[test]
        fn no_text_upsets_the_value_readers(text in "\\PC{0,24}") {
            let _ = (parse_real(&text), parse_reltime(&text), parse_abstime(&text, Some(chrono_tz::UTC)).is_ok());
        }

        #[test]
        fn a_printed_double_reads_back(number in proptest::num::f64::NORMAL | proptest::num::f64::ZERO) {
            prop_assert_eq!(parse_real(&format!("{number:?}")), Some(number));
        }
    }
}
