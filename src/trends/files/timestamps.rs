//! Times in files as stamps of the store (Store §11 "Timestamps").

use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, Utc};

use super::profile::Profile;
use crate::trends::site_time::SiteClock;
use crate::trends::store::wall_clock::stamp_of;

/// Forms that are tried, in this order (Store §11).
const FORMS: [&str; 15] = [
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M",
    "%d-%b-%y %I:%M:%S %p",
    "%d-%b-%Y %I:%M:%S %p",
    "%d-%b-%y %H:%M:%S",
    "%d-%b-%Y %H:%M:%S",
    "%m/%d/%Y %I:%M:%S %p",
    "%m/%d/%Y %H:%M:%S",
    "%m/%d/%Y %H:%M",
    "%m/%d/%y %I:%M:%S %p",
    "%m/%d/%y %H:%M",
    "%Y%m%d %H:%M",
    "%Y%m%d %H:%M:%S",
    "%Y-%m-%dT%H:%M",
];

/// Forms that are tried first where the day comes first (Store §11).
const DAY_FIRST: [&str; 3] = ["%d/%m/%Y %H:%M:%S", "%d/%m/%Y %H:%M", "%d/%m/%y %H:%M"];

/// Forms of the last resort, month first (Store §11).
const GENERAL: [&str; 8] = [
    "%m.%d.%Y %H:%M:%S",
    "%m.%d.%Y %H:%M",
    "%m-%d-%Y %H:%M:%S",
    "%m-%d-%Y %H:%M",
    "%d/%m/%Y %H:%M:%S",
    "%d/%m/%Y %H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%Y %H:%M",
];

/// How many stamps decide the form.
const SAMPLE: usize = 200;

/// Days from 1899-12-30, where Excel begins to count, to 1970.
const EXCEL_EPOCH_DAYS: f64 = 25_569.0;

/// The stamps of a column, none where a cell is no time, and whether instants kept their written clock because the zone of
/// the site is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamps {
    pub stamps: Vec<Option<i64>>,
    pub clock_as_written: bool,
    /// The first cell that shows that the dates begin with the day, although the profile does not say so.
    pub day_first: Option<usize>,
}

/// Reads a column of times.
///
/// ```
/// use niagara_bridge::trends::files::{Profile, timestamps::read_stamps};
/// use niagara_bridge::trends::site_time::SiteClock;
/// use niagara_bridge::trends::store::wall_clock::iso;
/// let chicago = Some(SiteClock::new(chrono_tz::America::Chicago));
/// let generic = Profile::named("generic").unwrap();
/// let read = read_stamps(&["2024-03-01T06:00:00Z"], &generic, chicago);
/// assert_eq!(read.stamps[0].map(iso).as_deref(), Some("2024-03-01T00:00:00"));
/// ```
pub fn read_stamps(cells: &[&str], profile: &Profile, site: Option<SiteClock>) -> Stamps {
    let mut read = Stamps {
        stamps: vec![None; cells.len()],
        clock_as_written: false,
        day_first: None,
    };
    let filled: Vec<&str> = cells
        .iter()
        .map(|cell| cell.trim())
        .filter(|cell| !super::profile::is_nothing(cell))
        .collect();
    if let Some(scale) = numeric_scale(&filled) {
        for (stamp, cell) in read.stamps.iter_mut().zip(cells) {
            let number = cell.trim().parse::<f64>().ok();
            *stamp = number.and_then(|number| scale.stamp(number, site));
        }
        read.clock_as_written = scale != Scale::ExcelDays && site.is_none();
        return read;
    }
    let texts: Vec<Option<(NaiveText<'_>, Option<FixedOffset>)>> =
        cells.iter().map(|cell| split_zone(cell.trim())).collect();
    let sample: Vec<&str> = texts
        .iter()
        .flatten()
        .map(|(text, _)| text.0)
        .take(SAMPLE)
        .collect();
    let mut forms = best_forms(&sample, profile);
    if let Some((day_first, row)) = day_before_month(&texts, &forms) {
        forms = day_first;
        read.day_first = Some(row);
    }
    for (stamp, text) in read.stamps.iter_mut().zip(&texts) {
        let Some((text, offset)) = text else { continue };
        let Some(shown) = forms.iter().find_map(|form| parse(text.0, form)) else {
            continue;
        };
        *stamp = match (offset, site) {
            (None, _) => stamp_of(shown),
            (Some(offset), Some(site)) => shown
                .and_local_timezone(*offset)
                .single()
                .and_then(|instant| site.stamp(instant.to_utc())),
            (Some(_), None) => {
                read.clock_as_written = true;
                stamp_of(shown)
            }
        };
    }
    read
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    Nanoseconds,
    Milliseconds,
    Seconds,
    ExcelDays,
}

/// What numbers count, by their size; none when the cells are no numbers (Store §11 step 1).
fn numeric_scale(cells: &[&str]) -> Option<Scale> {
    let mut sizes = cells
        .iter()
        .map(|cell| {
            cell.parse::<f64>()
                .ok()
                .filter(|number| number.is_finite())
                .map(f64::abs)
        })
        .collect::<Option<Vec<f64>>>()?;
    sizes.sort_by(f64::total_cmp);
    match *sizes.get(sizes.len() / 2)? {
        1e14.. => Some(Scale::Nanoseconds),
        1e11.. => Some(Scale::Milliseconds),
        1e8.. => Some(Scale::Seconds),
        1.0..1e5 => Some(Scale::ExcelDays),
        _ => None,
    }
}

impl Scale {
    fn stamp(self, number: f64, site: Option<SiteClock>) -> Option<i64> {
        let nanos = match self {
            Self::Nanoseconds => number,
            Self::Milliseconds => number * 1e6,
            Self::Seconds => number * 1e9,
            Self::ExcelDays => {
                // Whole milliseconds: a day's fraction in binary is never exact.
                let millis = ((number - EXCEL_EPOCH_DAYS) * 86_400_000.0).round();
                millis * 1e6
            }
        };
        if !nanos.is_finite() || nanos.abs() > i64::MAX as f64 / 2.0 {
            return None;
        }
        let nanos = nanos as i64;
        match (self, site) {
            (Self::ExcelDays, _) | (_, None) => Some(nanos),
            (_, Some(site)) => site.stamp(DateTime::<Utc>::from_timestamp_nanos(nanos)),
        }
    }
}

/// A time without its zone.
#[derive(Debug, Clone, Copy)]
struct NaiveText<'a>(&'a str);

/// Takes the offset or the abbreviation of a zone off (Store §11 step 2); none for a cell without a time.
fn split_zone(cell: &str) -> Option<(NaiveText<'_>, Option<FixedOffset>)> {
    if super::profile::is_nothing(cell) {
        return None;
    }
    let utc = FixedOffset::east_opt(0)?;
    for ending in ["Z", " UTC", " GMT"] {
        if let Some(text) = cell.strip_suffix(ending)
            && text.contains(':')
        {
            return Some((NaiveText(text.trim_end()), Some(utc)));
        }
    }
    if let Some(at) = cell.rfind(['+', '-'])
        && let Some(clock) = cell.get(..at)
        && clock.contains(':')
        && let Some(offset) = cell.get(at..).and_then(offset_of)
    {
        return Some((NaiveText(clock.trim_end()), Some(offset)));
    }
    if let Some((text, word)) = cell.rsplit_once(' ')
        && (2..=4).contains(&word.len())
        && word.chars().all(|letter| letter.is_ascii_uppercase())
        && !["AM", "PM"].contains(&word)
    {
        return Some((NaiveText(text.trim_end()), None));
    }
    Some((NaiveText(cell), None))
}

/// `+05:30`, `-0500`, `+05`.
fn offset_of(text: &str) -> Option<FixedOffset> {
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let digits: String = text
        .get(1..)?
        .chars()
        .filter(|character| *character != ':')
        .collect();
    if !digits.chars().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let (hours, minutes) = match digits.len() {
        2 => (digits.parse::<i32>().ok()?, 0),
        4 => (
            digits.get(..2)?.parse::<i32>().ok()?,
            digits.get(2..)?.parse::<i32>().ok()?,
        ),
        _ => return None,
    };
    FixedOffset::east_opt(sign * (hours * 3600 + minutes * 60))
}

/// The form that reads most of the sample, alone; where none reads half of it, the general ones.
fn best_forms(sample: &[&str], profile: &Profile) -> Vec<String> {
    let first = profile.day_first.then_some(DAY_FIRST).into_iter().flatten();
    let candidates = profile.time_format.into_iter().chain(first).chain(FORMS);
    let mut best = (0, "");
    for form in candidates {
        let read = sample
            .iter()
            .filter(|text| parse(text, form).is_some())
            .count();
        if read > best.0 {
            best = (read, form);
        }
        if read == sample.len() {
            break;
        }
    }
    if best.0 * 2 >= sample.len() && best.0 > 0 {
        return vec![best.1.to_owned()];
    }
    GENERAL.map(str::to_owned).to_vec()
}

/// The forms with the day first, and the first cell that tells so, where they read the column better than those with the
/// month first.
///
/// Until the twelfth both readings give a time: half of such a column would be stored at wrong days, the rest left out or, by
/// the general forms, at right ones.
fn day_before_month(
    texts: &[Option<(NaiveText<'_>, Option<FixedOffset>)>],
    forms: &[String],
) -> Option<(Vec<String>, usize)> {
    let (month, day): (Vec<String>, Vec<String>) = match forms {
        [form] => {
            let twin = format!("%d/%m{}", form.strip_prefix("%m/%d")?);
            (vec![form.clone()], vec![twin])
        }
        general => {
            // With slashes the month-first twins are not among the general forms, because they were tried before.
            let slashes = ["%m/%d/%Y %H:%M:%S", "%m/%d/%Y %H:%M"].map(str::to_owned);
            let all = general.iter().cloned().chain(slashes);
            all.partition(|form| form.starts_with("%m"))
        }
    };
    let reads = |forms: &[String], text: &str| forms.iter().any(|form| parse(text, form).is_some());
    let mut first = None;
    let (mut only_day, mut only_month) = (0_usize, 0_usize);
    for (row, text) in texts.iter().enumerate() {
        let Some((text, _)) = text else { continue };
        match (reads(&month, text.0), reads(&day, text.0)) {
            (false, true) => {
                only_day += 1;
                first = first.or(Some(row));
            }
            (true, false) => only_month += 1,
            _ => {}
        }
    }
    (only_day > only_month).then_some(())?;
    Some((day.into_iter().chain(month).collect(), first?))
}

fn parse(text: &str, form: &str) -> Option<NaiveDateTime> {
    if let Ok(time) = NaiveDateTime::parse_from_str(text, form) {
        return Some(time);
    }
    if form != "%Y-%m-%dT%H:%M:%S" {
        return None;
    }
    // ISO 8601 with a fraction, or a date alone.
    NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f")
        .or_else(|_| NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f"))
        .ok()
        .or_else(|| {
            let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
            Some(date.and_time(NaiveTime::MIN))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trends::store::wall_clock::iso;

    fn read(cells: &[&str], profile: &str) -> Vec<Option<String>> {
        let profile = Profile::named(profile).expect("a profile");
        let stamps = read_stamps(cells, &profile, None).stamps;
        stamps.into_iter().map(|stamp| stamp.map(iso)).collect()
    }

    #[test]
    fn the_checks_of_the_specification_come_out() {
        let chicago = Some(SiteClock::new(chrono_tz::America::Chicago));
        let generic = Profile::named("generic").expect("a profile");
        for (text, shown) in [
            ("2024-03-01T06:00:00Z", "2024-03-01T00:00:00"),
            ("1709272800", "2024-03-01T00:00:00"),
            ("1709272800000", "2024-03-01T00:00:00"),
            ("45352.25", "2024-03-01T06:00:00"),
            ("21-Apr-23 8:30:03 AM PDT", "2023-04-21T08:30:03"),
            ("01.02.2024 03:04:05", "2024-01-02T03:04:05"),
            ("13/02/2024 10:00", "2024-02-13T10:00:00"),
        ] {
            let read = read_stamps(&[text], &generic, chicago);
            assert_eq!(read.stamps[0].map(iso).as_deref(), Some(shown), "{text}");
        }
    }

    #[test]
    fn one_day_behind_the_twelfth_tells_how_all_dates_are_to_be_read() {
        let generic = Profile::named("generic").expect("a profile");
        for (form, separator) in [("slashes", "/"), ("dots", ".")] {
            // Of the first days of a month and of its last ones: the month-first forms read most cells, or few.
            for days in [1..14, 12..29] {
                let cells: Vec<String> = days
                    .clone()
                    .map(|number| format!("{number:02}{separator}02{separator}2026 03:04:05"))
                    .collect();
                let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
                let read = read_stamps(&cells, &generic, None);
                let expected: Vec<Option<String>> = days
                    .clone()
                    .map(|number| Some(format!("2026-02-{number:02}T03:04:05")))
                    .collect();
                let shown: Vec<Option<String>> = read
                    .stamps
                    .into_iter()
                    .map(|stamp| stamp.map(iso))
                    .collect();
                assert_eq!(shown, expected, "{form} {days:?}");
                assert_eq!(read.day_first, Some(13 - days.start as usize), "{form}");
            }
        }
        // American dates with one slip stay American.
        let american = [
            "02/13/2026 00:00",
            "02/14/2026 00:00",
            "13/02/2026 00:00",
            "03/04/2026 00:00",
        ];
        let read = read_stamps(&american, &generic, None);
        assert_eq!((read.stamps[2], read.day_first), (None, None));
        assert_eq!(
            read.stamps[3].map(iso).as_deref(),
            Some("2026-03-04T00:00:00")
        );
    }

    #[test]
    fn vendors_write_times_in_their_own_ways() {
        for (profile, text, shown) in [
            (
                "niagara_n4",
                "02-Nov-26 3:04:05 PM EST",
                "2026-11-02T15:04:05",
            ),
            ("metasys", "11/02/2026 03:04:05 PM", "2026-11-02T15:04:05"),
            ("webctrl", "11/02/2026 15:04:05", "2026-11-02T15:04:05"),
            ("desigo", "02.11.2026 15:04:05", "2026-11-02T15:04:05"),
            (
                "generic",
                "2026-11-02 15:04:05.250",
                "2026-11-02T15:04:05.250000",
            ),
            ("generic", "2026-11-02", "2026-11-02T00:00:00"),
        ] {
            assert_eq!(
                read(&[text], profile),
                [Some(shown.to_owned())],
                "{profile} {text}"
            );
        }
    }

    #[test]
    fn cells_that_are_no_times_are_left_out_and_offsets_without_a_zone_are_noted() {
        let shown = read(
            &["2026-01-01 00:00:00", "soon", "", "2026-01-01 01:00:00"],
            "generic",
        );
        assert_eq!(shown[0].as_deref(), Some("2026-01-01T00:00:00"));
        assert_eq!((&shown[1], &shown[2]), (&None, &None));
        let generic = Profile::named("generic").expect("a profile");
        let kept = read_stamps(&["2026-01-01T06:00:00+05:30"], &generic, None);
        assert!(kept.clock_as_written);
        assert_eq!(
            kept.stamps[0].map(iso).as_deref(),
            Some("2026-01-01T06:00:00")
        );
        let india = Some(SiteClock::new(chrono_tz::UTC));
        let moved = read_stamps(&["2026-01-01T06:00:00+05:30"], &generic, india);
        assert_eq!(
            moved.stamps[0].map(iso).as_deref(),
            Some("2026-01-01T00:30:00")
        );
    }
}
