//! Station times: zone-aware stamps, the station's encoding and the time arguments of clients.

use chrono::{
    DateTime, Days, FixedOffset, LocalResult, NaiveDate, NaiveDateTime, NaiveTime, Offset,
    SecondsFormat, TimeDelta, TimeZone, Utc,
};
use chrono_tz::Tz;
use thiserror::Error;

use super::value::ValueError;

/// Why a text is not a usable time.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TimeError {
    /// Not a time in any accepted form.
    #[error(
        "{text:?} is not a time; write RFC 3339 such as 2026-03-08T12:00:00-05:00, a date, or epoch milliseconds"
    )]
    Malformed { text: String },
    /// A local time that happens twice.
    #[error(
        "{text:?} happens twice in {zone} because the clocks go back; add the offset, {earlier} or {later}"
    )]
    Twice {
        text: String,
        zone: String,
        earlier: String,
        later: String,
    },
    /// A local time that never happens.
    #[error(
        "{text:?} never happens in {zone} because the clocks go forward; add an offset or choose another time"
    )]
    Never { text: String, zone: String },
    /// The station's display text allows more than one reading.
    #[error(
        "the station time {text:?} cannot be read with certainty: {reason}; let the station account use a time format with a four-digit year and a numeric offset"
    )]
    Ambiguous { text: String, reason: String },
}

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
    let instant = DateTime::parse_from_rfc3339(text).map_err(|_| ValueError::Malformed {
        expected: "a time such as 2024-03-01T00:00:00.000+01:00",
        text: text.to_owned(),
    })?;
    Ok((instant.timestamp_millis() != 0).then_some(instant))
}

/// Reads a client's time argument (Tool surface §7, "Time arguments").
///
/// Epoch milliseconds, RFC 3339 with or without fraction and offset, or a date, which is the first instant of that day
/// in the station's zone. A missing offset is the station's zone; a local time that happens twice or never is refused.
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
    let trimmed = text.trim();
    let malformed = || TimeError::Malformed {
        text: text.to_owned(),
    };
    let integer = trimmed.strip_prefix('-').unwrap_or(trimmed);
    if !integer.is_empty() && integer.bytes().all(|b| b.is_ascii_digit()) {
        let millis = trimmed.parse().map_err(|_| malformed())?;
        return DateTime::from_timestamp_millis(millis).ok_or_else(malformed);
    }
    if let Ok(date) = NaiveDate::parse_from_str(trimmed, "%Y-%m-%d") {
        return start_of_day(date, zone).ok_or_else(malformed);
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

/// The station's default display format (Station web specification §3.3).
pub const DEFAULT_TIME_FORMAT: &str = "dd-MMM-yy h:mm:ss a z";

/// Reads a display-mode time of a station, given the account's time format and the station's zone.
///
/// None for the null forms. ISO text is always understood. Where the text allows two readings (an hour that happens
/// twice without a telling zone abbreviation, a zone abbreviation that is not the station's) the answer is an error.
///
/// ```
/// use niagara_bridge::station::time::{DEFAULT_TIME_FORMAT, parse_display_time};
/// let zone = chrono_tz::Europe::London;
/// let read = |text| parse_display_time(text, DEFAULT_TIME_FORMAT, zone);
/// assert_eq!(read("12-Apr-26 12:00:00 AM BST").unwrap().unwrap().to_rfc3339(), "2026-04-11T23:00:00+00:00");
/// assert!(read("12-Apr-26 12:00:00 AM EST").is_err());
/// assert!(read("null").unwrap().is_none());
/// ```
pub fn parse_display_time(
    text: &str,
    format: &str,
    zone: Tz,
) -> Result<Option<DateTime<Utc>>, TimeError> {
    let trimmed = text.trim();
    if trimmed.is_empty() || trimmed == "null" || trimmed == "-" {
        return Ok(None);
    }
    let epoch_is_null =
        |instant: DateTime<Utc>| (instant.timestamp_millis() != 0).then_some(instant);
    if let Ok(instant) = DateTime::parse_from_rfc3339(trimmed) {
        return Ok(epoch_is_null(instant.to_utc()));
    }
    let fields = DisplayFields::read(trimmed, format)?;
    let local = fields.local(trimmed)?;
    let candidates = match zone.from_local_datetime(&local) {
        LocalResult::Single(instant) => vec![instant],
        LocalResult::Ambiguous(earlier, later) => vec![earlier, later],
        LocalResult::None => Vec::new(),
    };
    let ambiguous = |reason: String| TimeError::Ambiguous {
        text: text.to_owned(),
        reason,
    };
    let Some(shown) = fields.zone else {
        return match candidates.as_slice() {
            [only] => Ok(epoch_is_null(only.to_utc())),
            [] => Err(ambiguous(format!("it never happens in {}", zone.name()))),
            _ => Err(ambiguous(format!("it happens twice in {}", zone.name()))),
        };
    };
    if let Some(offset) = numeric_offset(&shown) {
        return offset
            .from_local_datetime(&local)
            .single()
            .map(|instant| epoch_is_null(instant.to_utc()))
            .ok_or_else(|| ambiguous("its offset is out of range".to_owned()));
    }
    let matching: Vec<_> = candidates
        .iter()
        .filter(|instant| {
            instant
                .format("%Z")
                .to_string()
                .eq_ignore_ascii_case(&shown)
        })
        .collect();
    match matching.as_slice() {
        [only] => Ok(epoch_is_null(only.to_utc())),
        [] => Err(ambiguous(format!(
            "{shown:?} is not the zone {} at that time",
            zone.name()
        ))),
        _ => Err(ambiguous(format!(
            "it happens twice in {} under the same abbreviation",
            zone.name()
        ))),
    }
}

#[derive(Default)]
struct DisplayFields {
    year: Option<i32>,
    month: Option<u32>,
    day: Option<u32>,
    hour: Option<u32>,
    minute: u32,
    second: u32,
    milli: u32,
    afternoon: Option<bool>,
    zone: Option<String>,
}

impl DisplayFields {
    /// Walks pattern and text together. Letters are pattern fields in any case that is not needed to tell them apart.
    fn read(text: &str, format: &str) -> Result<Self, TimeError> {
        let mut fields = Self::default();
        let mut rest = text;
        let mut pattern = format.trim();
        while let Some(letter) = pattern.chars().next() {
            let run = pattern.chars().take_while(|c| *c == letter).count();
            pattern = &pattern[run * letter.len_utf8()..];
            if letter.is_ascii_alphabetic() {
                rest = fields
                    .take(letter, run, rest)
                    .ok_or_else(|| mismatch(text, format))?;
            } else if letter.is_whitespace() {
                rest = rest.trim_start();
            } else if letter != '\'' {
                for _ in 0..run {
                    rest = rest
                        .strip_prefix(letter)
                        .ok_or_else(|| mismatch(text, format))?;
                }
            }
        }
        if rest.trim().is_empty() {
            Ok(fields)
        } else {
            Err(mismatch(text, format))
        }
    }

    fn take<'t>(&mut self, letter: char, run: usize, text: &'t str) -> Option<&'t str> {
        let (number, after_number) = digits(text);
        let numeric = |slot: &mut Option<u32>| {
            *slot = Some(number?);
            Some(after_number)
        };
        match letter {
            'y' | 'Y' => {
                let year = i32::try_from(number?).ok()?;
                self.year = Some(if year < 100 && run < 4 {
                    two_digit_year(year)
                } else {
                    year
                });
                Some(after_number)
            }
            'M' if run >= 3 => {
                let (month, after) = month_name(text)?;
                self.month = Some(month);
                Some(after)
            }
            'M' => numeric(&mut self.month),
            'd' | 'D' => numeric(&mut self.day),
            'H' | 'h' => numeric(&mut self.hour),
            'm' => {
                self.minute = number?;
                Some(after_number)
            }
            's' => {
                self.second = number?;
                Some(after_number)
            }
            'S' => {
                self.milli = number?;
                Some(after_number)
            }
            'a' => {
                let (half, after) = word(text);
                self.afternoon = match half.to_ascii_lowercase().as_str() {
                    "am" => Some(false),
                    "pm" => Some(true),
                    _ => return None,
                };
                Some(after)
            }
            'z' | 'Z' => {
                let text = text.trim_start();
                let end = text.find(char::is_whitespace).unwrap_or(text.len());
                (end > 0).then(|| self.zone = Some(text[..end].to_owned()))?;
                Some(&text[end..])
            }
            'E' | 'W' => Some(word(text).1),
            _ => None,
        }
    }

    fn local(&self, text: &str) -> Result<NaiveDateTime, TimeError> {
        let date = || NaiveDate::from_ymd_opt(self.year?, self.month?, self.day?);
        let hour = match (self.hour.unwrap_or(0), self.afternoon) {
            (hour @ 1..=12, Some(afternoon)) => Some(hour % 12 + if afternoon { 12 } else { 0 }),
            (_, Some(_)) => None,
            (hour, None) => Some(hour),
        };
        let time = || NaiveTime::from_hms_milli_opt(hour?, self.minute, self.second, self.milli);
        date()
            .and_then(|date| Some(date.and_time(time()?)))
            .ok_or_else(|| TimeError::Malformed {
                text: text.to_owned(),
            })
    }
}

fn mismatch(text: &str, format: &str) -> TimeError {
    TimeError::Ambiguous {
        text: text.to_owned(),
        reason: format!("it does not have the account's time format {format:?}"),
    }
}

/// Building records begin in the seventies at the earliest.
fn two_digit_year(year: i32) -> i32 {
    if year < 70 { 2000 + year } else { 1900 + year }
}

fn digits(text: &str) -> (Option<u32>, &str) {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    (text[..end].parse().ok(), &text[end..])
}

fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !c.is_alphabetic() && c != '.')
        .unwrap_or(text.len());
    text.split_at(end)
}

/// Month names of the languages that the bridge's documentation names; each abbreviation is unique among them.
const MONTHS: [(u32, &[&str]); 12] = [
    (1, &["jan", "janv", "ene", "gen"]),
    (2, &["feb", "févr", "fév"]),
    (3, &["mar", "märz", "mrz", "mär", "mars"]),
    (4, &["apr", "avr", "abr"]),
    (5, &["may", "mai", "mag"]),
    (6, &["jun", "juin", "giu", "juni"]),
    (7, &["jul", "juil", "lug", "juli"]),
    (8, &["aug", "août", "ago"]),
    (9, &["sep", "sept", "set"]),
    (10, &["oct", "okt", "ott"]),
    (11, &["nov"]),
    (12, &["dec", "dez", "déc", "dic"]),
];

const LONG_MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

fn month_name(text: &str) -> Option<(u32, &str)> {
    let (name, after) = word(text);
    let name = name.trim_end_matches('.').to_lowercase();
    if name.is_empty() {
        return None;
    }
    let long = LONG_MONTHS.iter().position(|long| *long == name);
    let month = match long.and_then(|index| u32::try_from(index + 1).ok()) {
        Some(month) => month,
        None => {
            MONTHS
                .iter()
                .find(|(_, names)| names.contains(&name.as_str()))?
                .0
        }
    };
    Some((month, after))
}

fn numeric_offset(text: &str) -> Option<FixedOffset> {
    let text = ["GMT", "UTC"]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix))
        .unwrap_or(text);
    if text == "Z" || text.is_empty() {
        return FixedOffset::east_opt(0);
    }
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let plain: String = text.chars().skip(1).filter(|c| *c != ':').collect();
    let (hours, minutes) = match plain.len() {
        1 | 2 => (plain.parse::<i32>().ok()?, 0),
        4 => (
            plain.get(..2)?.parse::<i32>().ok()?,
            plain.get(2..)?.parse::<i32>().ok()?,
        ),
        _ => return None,
    };
    FixedOffset::east_opt(sign * (hours * 3600 + minutes * 60))
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
    fn display_times_resolve_the_fold_by_abbreviation_and_never_guess() {
        let read = |text: &str| {
            parse_display_time(text, DEFAULT_TIME_FORMAT, New_York).map(Option::unwrap)
        };
        let at = |text: &str| read(text).unwrap().to_rfc3339();
        assert_eq!(at("02-Nov-25 1:30:00 AM EDT"), "2025-11-02T05:30:00+00:00");
        assert_eq!(at("02-Nov-25 1:30:00 AM EST"), "2025-11-02T06:30:00+00:00");
        assert!(read("02-Nov-25 1:30:00 AM CET").is_err());
        let without_zone = |text| parse_display_time(text, "dd-MMM-yy H:mm:ss", New_York);
        assert!(matches!(
            without_zone("02-Nov-25 1:30:00"),
            Err(TimeError::Ambiguous { .. })
        ));
        assert!(matches!(
            without_zone("08-Mar-26 2:30:00"),
            Err(TimeError::Ambiguous { .. })
        ));
        assert_eq!(
            without_zone("02-Nov-25 3:30:00")
                .unwrap()
                .unwrap()
                .to_rfc3339(),
            "2025-11-02T08:30:00+00:00"
        );
    }

    #[test]
    fn other_formats_and_languages_are_read_by_the_accounts_pattern() {
        let read = |text: &str, format: &str| {
            parse_display_time(text, format, Berlin).map(|t| t.map(|t| t.to_rfc3339()))
        };
        let expected = Ok(Some("2026-03-01T13:05:09+00:00".to_owned()));
        assert_eq!(read("01.03.2026 14:05:09", "dd.MM.yyyy HH:mm:ss"), expected);
        assert_eq!(
            read("01-Mär-26 14:05:09 MEZ", "D-MMM-YY HH:mm:ss").ok(),
            None
        );
        assert_eq!(
            read("1-Mär-26 14:05:09 CET", "D-MMM-YY HH:mm:ss z"),
            expected
        );
        assert_eq!(
            read("3/1/2026 2:05:09 PM GMT+01:00", "M/d/yyyy h:mm:ss a z"),
            expected
        );
        assert_eq!(
            read("2026-03-01T14:05:09.000+01:00", DEFAULT_TIME_FORMAT),
            expected
        );
        assert!(read("13/13/2026 14:05:09", "M/d/yyyy HH:mm:ss").is_err());
    }

    proptest! {
        #[test]
        fn any_instant_survives_formatting_in_any_zone(millis in 1i64..4_102_444_800_000, berlin: bool) {
            let zone = if berlin { Berlin } else { New_York };
            let instant = DateTime::from_timestamp_millis(millis).unwrap();
            prop_assert_eq!(parse_client_time(&to_rfc3339(instant, zone), zone), Ok(instant));
            let encoded = format_abs_time(&instant.with_timezone(&zone).fixed_offset());
            prop_assert_eq!(parse_abs_time(&encoded).unwrap().unwrap().to_utc(), instant);
        }

        #[test]
        fn any_display_time_survives_its_default_format(seconds in 86_400i64..3_000_000_000) {
            let instant = DateTime::from_timestamp(seconds, 0).unwrap();
            let text = instant.with_timezone(&New_York).format("%d-%b-%y %-I:%M:%S %p %Z").to_string();
            prop_assert_eq!(parse_display_time(&text, DEFAULT_TIME_FORMAT, New_York), Ok(Some(instant)));
        }

        #[test]
        fn no_text_makes_the_parsers_panic(text in "\\PC*", format in "\\PC{0,20}") {
            let _ = (parse_client_time(&text, Berlin), parse_abs_time(&text));
            let _ = parse_display_time(&text, DEFAULT_TIME_FORMAT, Berlin);
            let _ = parse_display_time(&text, &format, Berlin);
        }
    }
}
