//! Station times: zone-aware stamps, the station's encoding and the time arguments of clients.

use chrono::{
    DateTime, Datelike, Days, FixedOffset, LocalResult, NaiveDate, NaiveDateTime, NaiveTime,
    Offset, SecondsFormat, TimeDelta, TimeZone, Utc,
};
use chrono_tz::Tz;
use thiserror::Error;

use super::echo::shortened;
use super::value::ValueError;

mod display;

pub use display::{DEFAULT_TIME_FORMAT, parse_display_time};

/// Why a text is not a usable time.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TimeError {
    /// Not a time in any accepted form.
    #[error(
        "{:?} is not a time; write RFC 3339 such as 2026-03-08T12:00:00-05:00, a date, or epoch milliseconds",
        shortened(text)
    )]
    Malformed { text: String },
    /// A local time that happens twice.
    #[error(
        "{:?} happens twice in {zone} because the clocks go back; add the offset, {earlier} or {later}",
        shortened(text)
    )]
    Twice {
        text: String,
        zone: String,
        earlier: String,
        later: String,
    },
    /// A local time that never happens.
    #[error(
        "{:?} never happens in {zone} because the clocks go forward; add an offset or choose another time",
        shortened(text)
    )]
    Never { text: String, zone: String },
    /// A second 60: clocks of stations have none, and readings of it differ.
    #[error(
        "{:?} is a leap second, which station clocks do not have; write the second before or after it",
        shortened(text)
    )]
    LeapSecond { text: String },
    /// A year in which no station has records.
    #[error(
        "{:?} lies outside the years {FIRST_YEAR} to {LAST_YEAR}; epoch values are milliseconds, not seconds or microseconds",
        shortened(text)
    )]
    OutOfRange { text: String },
    /// The station's display text allows more than one reading.
    #[error(
        "the station time {:?} cannot be read with certainty: {reason}; let the station account use a time format with a four-digit year and a numeric offset",
        shortened(text)
    )]
    Ambiguous { text: String, reason: String },
}

/// Years of client times: nothing was recorded before the epoch's century, and stations write years of four digits.
const FIRST_YEAR: i32 = 1900;
const LAST_YEAR: i32 = 2999;

/// Formats an instant as RFC 3339 with milliseconds and the zone's offset at that instant.
///
/// ```
/// use niagara_bridge::station::time::to_rfc3339;
/// let zone = chrono_tz::America::New_York;
/// let text = |utc: &str| to_rfc3339(utc.parse().unwrap(), zone);
/// assert_eq!(text("2025-11-02T05:30:00Z"), "2025-11-02T01:30:00.000-04:00");
/// assert_eq!(text("2025-11-02T06:30:00Z"), "2025-11-02T01:30:00.000-05:00");
/// ```
pub fn to_rfc3339(instant: DateTime<Utc>, zone: Tz) -> String {
    instant
        .with_timezone(&zone)
        .to_rfc3339_opts(SecondsFormat::Millis, false)
}

/// Encodes a time as the station does, `2024-03-01T00:00:00.000+01:00`; a zero offset is `Z`.
pub fn format_abs_time(instant: &DateTime<FixedOffset>) -> String {
    instant.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Encodes an instant with the offset of a zone, as BQL time literals and history parameters want it.
pub fn abs_time_in(instant: DateTime<Utc>, zone: Tz) -> String {
    to_rfc3339(instant, zone)
}

/// Reads the station's encoding; none for its null forms, `null`, empty and the epoch (Station web specification §5.1).
pub fn parse_abs_time(text: &str) -> Result<Option<DateTime<FixedOffset>>, ValueError> {
    let text = text.trim();
    if text.is_empty() || text == "null" {
        return Ok(None);
    }
    let instant = match usual_abs_time(text) {
        Some(instant) => instant,
        None => DateTime::parse_from_rfc3339(text).map_err(|_| ValueError::Malformed {
            expected: "a time such as 2024-03-01T00:00:00.000+01:00",
            text: text.to_owned(),
        })?,
    };
    Ok((instant.timestamp_millis() != 0).then_some(instant))
}

/// The form in which stations write every record of a history, `2024-03-01T00:00:00.000+01:00` or with `Z`; none for all
/// others. The general reader takes several times as long.
fn usual_abs_time(text: &str) -> Option<DateTime<FixedOffset>> {
    let (clock, offset) = text.as_bytes().split_at_checked(23)?;
    let [
        y1,
        y2,
        y3,
        y4,
        b'-',
        o1,
        o2,
        b'-',
        d1,
        d2,
        b'T',
        h1,
        h2,
        b':',
        m1,
        m2,
        b':',
        s1,
        s2,
        b'.',
        f1,
        f2,
        f3,
    ] = clock
    else {
        return None;
    };
    let date = NaiveDate::from_ymd_opt(
        i32::try_from(whole(&[*y1, *y2, *y3, *y4])?).ok()?,
        whole(&[*o1, *o2])?,
        whole(&[*d1, *d2])?,
    )?;
    let time = NaiveTime::from_hms_milli_opt(
        whole(&[*h1, *h2])?,
        whole(&[*m1, *m2])?,
        whole(&[*s1, *s2])?,
        whole(&[*f1, *f2, *f3])?,
    )?;
    let seconds = match offset {
        b"Z" => 0,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (hours, minutes) = (whole(&[*h1, *h2])?, whole(&[*m1, *m2])?);
            let seconds = i32::try_from((hours * 60 + minutes) * 60).ok()?;
            // What is wrong is told by the general reader.
            match (hours < 24 && minutes < 60, sign) {
                (false, _) => return None,
                (true, b'-') => -seconds,
                (true, _) => seconds,
            }
        }
        _ => return None,
    };
    let local = date.and_time(time);
    FixedOffset::east_opt(seconds)?
        .from_local_datetime(&local)
        .single()
}

/// The number of some ASCII digits.
fn whole(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |number, digit| {
        digit
            .is_ascii_digit()
            .then(|| number * 10 + u32::from(digit - b'0'))
    })
}

/// Reads a client's time argument (Tool surface §7, "Time arguments").
///
/// Epoch milliseconds, RFC 3339 with or without fraction and offset, or a date, which is the first instant of that day
/// in the station's zone. A missing offset is the station's zone; a local time that happens twice or never is refused,
/// and so are leap seconds and years outside 1900 to 2999.
///
/// ```
/// use niagara_bridge::station::time::parse_client_time;
/// let zone = chrono_tz::America::New_York;
/// let read = |text| parse_client_time(text, zone).map(|t| t.to_rfc3339());
/// assert_eq!(read("2026-05-09").unwrap(), "2026-05-09T04:00:00+00:00");
/// assert_eq!(read("1778299200000").unwrap(), "2026-05-09T04:00:00+00:00");
/// assert_eq!(read("2026-05-09T00:00:00.000-04:00").unwrap(), "2026-05-09T04:00:00+00:00");
/// assert!(read("2026-03-08T02:30:00").is_err());
/// ```
pub fn parse_client_time(text: &str, zone: Tz) -> Result<DateTime<Utc>, TimeError> {
    let instant = read_client_time(text, zone)?;
    // chrono keeps a second 60 as a nanosecond count beyond one second.
    if instant.timestamp_subsec_nanos() >= 1_000_000_000 {
        return Err(TimeError::LeapSecond {
            text: text.to_owned(),
        });
    }
    in_range(instant.year(), text)?;
    Ok(instant)
}

fn in_range(year: i32, text: &str) -> Result<(), TimeError> {
    match (FIRST_YEAR..=LAST_YEAR).contains(&year) {
        true => Ok(()),
        false => Err(out_of_range(text)),
    }
}

fn out_of_range(text: &str) -> TimeError {
    TimeError::OutOfRange {
        text: text.to_owned(),
    }
}

fn read_client_time(text: &str, zone: Tz) -> Result<DateTime<Utc>, TimeError> {
    let trimmed = text.trim();
    let malformed = || TimeError::Malformed {
        text: text.to_owned(),
    };
    let integer = trimmed.strip_prefix('-').unwrap_or(trimmed);
    if !integer.is_empty() && integer.bytes().all(|b| b.is_ascii_digit()) {
        let millis = trimmed.parse().map_err(|_| out_of_range(text))?;
        return DateTime::from_timestamp_millis(millis).ok_or_else(|| out_of_range(text));
    }
    if let Ok(date) = NaiveDate::parse_from_str(trimmed, "%Y-%m-%d") {
        in_range(date.year(), text)?;
        return start_of_day(date, zone).ok_or_else(|| out_of_range(text));
    }
    let spaced = iso_text(trimmed);
    if let Ok(instant) = DateTime::parse_from_rfc3339(&spaced) {
        return Ok(instant.to_utc());
    }
    for form in ["%Y-%m-%dT%H:%M%:z", "%Y-%m-%dT%H:%M:%S%.f%z"] {
        if let Ok(instant) = DateTime::parse_from_str(&spaced, form) {
            return Ok(instant.to_utc());
        }
    }
    for form in ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M"] {
        if let Ok(local) = NaiveDateTime::parse_from_str(&spaced, form) {
            in_range(local.year(), text)?;
            return from_local(local, zone, text);
        }
    }
    Err(malformed())
}

/// First instant of a local day; not always midnight, since some zones change their clocks then.
pub fn start_of_day(date: NaiveDate, zone: Tz) -> Option<DateTime<Utc>> {
    let midnight = date.and_time(NaiveTime::MIN);
    if let Some(instant) = zone.from_local_datetime(&midnight).earliest() {
        return Some(instant.to_utc());
    }
    // The gap is at most a few hours: walk to its end, then take the first instant of the new offset.
    (1..=24 * 60).find_map(|minutes| {
        let later = midnight.checked_add_signed(TimeDelta::minutes(minutes))?;
        Some(zone.from_local_datetime(&later).earliest()?.to_utc())
    })
}

/// First instant of the day after `date`.
pub fn end_of_day(date: NaiveDate, zone: Tz) -> Option<DateTime<Utc>> {
    start_of_day(date.checked_add_days(Days::new(1))?, zone)
}

fn from_local(local: NaiveDateTime, zone: Tz, text: &str) -> Result<DateTime<Utc>, TimeError> {
    match zone.from_local_datetime(&local) {
        LocalResult::Single(instant) => Ok(instant.to_utc()),
        LocalResult::Ambiguous(earlier, later) => Err(TimeError::Twice {
            text: text.to_owned(),
            zone: zone.name().to_owned(),
            earlier: earlier.offset().fix().to_string(),
            later: later.offset().fix().to_string(),
        }),
        LocalResult::None => Err(TimeError::Never {
            text: text.to_owned(),
            zone: zone.name().to_owned(),
        }),
    }
}

/// `2026-05-09 10:00` and lower-case letters count as ISO too.
fn iso_text(text: &str) -> String {
    let mut iso = text.to_ascii_uppercase();
    if iso.as_bytes().get(10) == Some(&b' ') {
        iso.replace_range(10..11, "T");
    }
    iso
}

#[cfg(test)]
mod tests {
    use chrono_tz::America::New_York;
    use chrono_tz::Europe::Berlin;
    use proptest::prelude::*;

    use super::*;

    fn client(text: &str) -> Result<String, TimeError> {
        parse_client_time(text, New_York).map(|instant| to_rfc3339(instant, New_York))
    }

    #[test]
    fn client_times_in_every_accepted_form_name_the_same_instant() {
        for text in [
            "2026-05-09T00:00:00.000-04:00",
            "2026-05-09T04:00:00Z",
            "2026-05-09T00:00:00",
            "2026-05-09T00:00",
            "2026-05-09T00:00-04:00",
            "2026-05-09 00:00:00",
            "2026-05-09T00:00:00-0400",
            "2026-05-09",
            " 1778299200000 ",
        ] {
            assert_eq!(
                client(text).as_deref(),
                Ok("2026-05-09T00:00:00.000-04:00"),
                "{text}"
            );
        }
        assert_eq!(
            client("-1000").as_deref(),
            Ok("1969-12-31T18:59:59.000-05:00")
        );
    }

    #[test]
    fn both_folds_of_the_autumn_hour_need_an_offset_and_get_it_back() {
        let error = client("2025-11-02T01:30:00").unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("-04:00") && message.contains("-05:00"),
            "{message}"
        );
        for text in [
            "2025-11-02T01:30:00.000-04:00",
            "2025-11-02T01:30:00.000-05:00",
        ] {
            assert_eq!(client(text).as_deref(), Ok(text));
        }
    }

    #[test]
    fn leap_seconds_and_years_without_stations_are_refused_by_their_name() {
        for text in [
            "2016-12-31T23:59:60Z",
            "2016-12-31T18:59:60.500-05:00",
            "2016-12-31T23:59:60",
        ] {
            assert!(
                matches!(client(text), Err(TimeError::LeapSecond { .. })),
                "{text}: {:?}",
                client(text)
            );
        }
        for text in [
            "0001-01-01",
            "1899-06-01T00:00:00-05:00",
            "3000-01-01",
            "9999-12-31T23:59:59Z",
            "+262000-01-01T00:00:00Z",
            "1778299200000000",
            "-99999999999999",
            "99999999999999999999999",
        ] {
            let error = client(text).unwrap_err();
            let known = matches!(
                error,
                TimeError::OutOfRange { .. } | TimeError::Malformed { .. }
            );
            assert!(known && error.to_string().len() < 300, "{text}: {error}");
        }
        assert!(client("1900-01-02").is_ok() && client("2999-12-31").is_ok());
    }

    #[test]
    fn the_missing_spring_hour_is_refused() {
        assert!(matches!(
            client("2026-03-08T02:30:00"),
            Err(TimeError::Never { .. })
        ));
    }

    #[test]
    fn a_day_without_midnight_begins_at_its_first_instant() {
        let date = NaiveDate::from_ymd_opt(2018, 11, 4).unwrap();
        let zone = chrono_tz::America::Sao_Paulo;
        assert_eq!(
            to_rfc3339(start_of_day(date, zone).unwrap(), zone),
            "2018-11-04T01:00:00.000-02:00"
        );
    }

    #[test]
    fn the_quick_reader_of_record_times_agrees_with_the_general_one_or_leaves_it_to_it() {
        for text in [
            "2024-03-01T00:00:00.000+01:00",
            "2024-02-29T23:59:59.999-05:30",
            "2024-02-29T23:59:59.001Z",
            "0000-01-01T00:00:00.000Z",
            "9999-12-31T23:59:59.999+23:59",
        ] {
            let quick = usual_abs_time(text).unwrap();
            let general = DateTime::parse_from_rfc3339(text).unwrap();
            assert_eq!((quick, quick.offset()), (general, general.offset()));
        }
        for other in [
            "2023-02-29T00:00:00.000Z",
            "2024-03-01T00:00:60.000Z",
            "2024-03-01T24:00:00.000Z",
            "2024-03-01T00:00:00.000+01:60",
            "2024-03-01T00:00:00.000+24:00",
            "2024-03-01T00:00:00Z",
            "2024-03-01T00:00:00.0000Z",
            "2024-03-01 00:00:00.000Z",
            "+024-03-01T00:00:00.000Z",
            "2024-03-01T00:00:00.00é",
            "",
        ] {
            assert_eq!(usual_abs_time(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn whatever_the_quick_reader_takes_the_general_one_reads_the_same(text in "[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\\.[0-9]{3}(Z|[+-][0-2][0-9]:[0-6][0-9])") {
            if let Some(quick) = usual_abs_time(&text) {
                let general = DateTime::parse_from_rfc3339(&text).unwrap();
                prop_assert_eq!((quick, *quick.offset()), (general, *general.offset()));
            }
        }

        #[test]
        fn any_instant_survives_formatting_in_any_zone(millis in 1i64..4_102_444_800_000, berlin: bool) {
            let zone = if berlin { Berlin } else { New_York };
            let instant = DateTime::from_timestamp_millis(millis).unwrap();
            prop_assert_eq!(parse_client_time(&to_rfc3339(instant, zone), zone), Ok(instant));
            let encoded = format_abs_time(&instant.with_timezone(&zone).fixed_offset());
            prop_assert_eq!(parse_abs_time(&encoded).unwrap().unwrap().to_utc(), instant);
        }

        #[test]
        fn no_text_makes_the_parsers_panic(text in "\\PC*") {
            let _ = (parse_client_time(&text, Berlin), parse_abs_time(&text));
        }
    }
}
