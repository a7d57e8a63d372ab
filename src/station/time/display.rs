//! Times as a station shows them to people, read without guessing (Station web specification §3.3).

use chrono::{
    DateTime, FixedOffset, LocalResult, NaiveDate, NaiveDateTime, NaiveTime, TimeZone, Utc,
};
use chrono_tz::Tz;

use super::TimeError;

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
        fn any_display_time_survives_its_default_format(seconds in 86_400i64..3_000_000_000) {
            let instant = DateTime::from_timestamp(seconds, 0).unwrap();
            let text = instant.with_timezone(&New_York).format("%d-%b-%y %-I:%M:%S %p %Z").to_string();
            prop_assert_eq!(parse_display_time(&text, DEFAULT_TIME_FORMAT, New_York), Ok(Some(instant)));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC*", format in "\\PC{0,20}") {
            let _ = parse_display_time(&text, DEFAULT_TIME_FORMAT, Berlin);
            let _ = parse_display_time(&text, &format, Berlin);
        }
    }
}
