//! What the text of a table cell means, in machine and in display mode (Station web specification §3.3, §7.3).

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use thiserror::Error;

use crate::station::facets::{Facets, FacetsError};
use crate::station::ord::split_ord_list;
use crate::station::priority::ActiveLevel;
use crate::station::status::{StatusBits, StatusError, StatusWords};
use crate::station::time::{DEFAULT_TIME_FORMAT, TimeError, parse_abs_time, parse_display_time};
use crate::station::value::{DynamicEnum, parse_double};

/// Which sign separates the decimals in the account's language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DecimalSign {
    /// `1,024.5`
    #[default]
    Point,
    /// `1.024,5`
    Comma,
}

impl DecimalSign {
    /// The sign of a language tag such as `en`, `de` or `fr_CA`; English where unknown.
    pub fn of_language(language: &str) -> Self {
        let primary = language.split(['_', '-']).next().unwrap_or_default();
        let comma = [
            "bg", "cs", "da", "de", "el", "es", "et", "fi", "fr", "hr", "hu", "id", "is", "it",
            "lt", "lv", "nb", "nl", "no", "pl", "pt", "ro", "ru", "sk", "sl", "sr", "sv", "tr",
            "uk", "vi",
        ];
        if comma.contains(&primary.to_ascii_lowercase().as_str()) {
            Self::Comma
        } else {
            Self::Point
        }
    }
}

/// How the station's account writes numbers and times.
#[derive(Debug, Clone)]
pub struct CellFormat {
    /// Cells carry machine encodings where their type has one.
    pub machine: bool,
    /// Decimal sign of display texts.
    pub decimal: DecimalSign,
    /// Time format of display texts, for example `dd-MMM-yy h:mm:ss a z`.
    pub time_format: String,
    /// Zone of display times.
    pub zone: Tz,
}

impl CellFormat {
    /// Machine encodings in a zone.
    pub fn machine(zone: Tz) -> Self {
        Self {
            machine: true,
            decimal: DecimalSign::default(),
            time_format: DEFAULT_TIME_FORMAT.to_owned(),
            zone,
        }
    }

    /// Display texts of an English account in a zone.
    pub fn display(zone: Tz) -> Self {
        Self {
            machine: false,
            ..Self::machine(zone)
        }
    }
}

/// Why a cell does not hold what its column promises.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum CellError {
    /// Another kind of text.
    #[error("the cell {text:?} is not {expected}")]
    Kind {
        text: String,
        expected: &'static str,
    },
    /// A time with more than one reading.
    #[error(transparent)]
    Time(#[from] TimeError),
    /// A status that cannot be read.
    #[error(transparent)]
    Status(#[from] StatusError),
    /// Facets that cannot be read.
    #[error(transparent)]
    Facets(#[from] FacetsError),
}

/// The text of one cell.
///
/// ```
/// use niagara_bridge::station::web::cell::{Cell, CellFormat};
/// let format = CellFormat::display(chrono_tz::UTC);
/// assert_eq!(Cell("1,024.0").number(&format).unwrap(), Some(1024.0));
/// assert_eq!(Cell("1,709,251,200,000").millis().unwrap().unwrap().to_rfc3339(), "2024-03-01T00:00:00+00:00");
/// let out = Cell("72.5 °F {ok} @ def").status_text(&format);
/// assert_eq!((out.number, out.unit.as_deref()), (Some(72.5), Some("°F")));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell<'t>(pub &'t str);

impl<'t> Cell<'t> {
    /// The trimmed text.
    pub fn text(self) -> &'t str {
        self.0.trim()
    }

    /// The text, none for an empty cell and for `null`.
    pub fn some(self) -> Option<&'t str> {
        let text = self.text();
        (!text.is_empty() && text != "null").then_some(text)
    }

    /// A number, with a unit behind it on stations that show units in cells; NaN and infinities are numbers too.
    pub fn number(self, format: &CellFormat) -> Result<Option<f64>, CellError> {
        match self.some() {
            None | Some("-") => Ok(None),
            Some(text) => number_of(text, format)
                .or_else(|| StatusText::parse(text, format).number)
                .map(Some)
                .ok_or_else(|| self.kind("a number")),
        }
    }

    /// A whole number.
    pub fn integer(self, format: &CellFormat) -> Result<Option<i64>, CellError> {
        let Some(number) = self.number(format)? else {
            return Ok(None);
        };
        let whole = number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0;
        whole
            .then_some(Some(number as i64))
            .ok_or_else(|| self.kind("a whole number"))
    }

    /// `true` or `false` in machine mode and for plain booleans.
    pub fn boolean(self) -> Result<Option<bool>, CellError> {
        match self.some().map(str::to_ascii_lowercase).as_deref() {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(self.kind("true or false")),
        }
    }

    /// A `.millis` column: epoch milliseconds, possibly with grouping; 0 is no time.
    pub fn millis(self) -> Result<Option<DateTime<Utc>>, CellError> {
        let Some(text) = self.some() else {
            return Ok(None);
        };
        let digits: String = text
            .chars()
            .filter(|c| {
                !c.is_whitespace() && !matches!(c, ',' | '.' | '\'' | '\u{a0}' | '\u{202f}')
            })
            .collect();
        let millis: i64 = digits
            .parse()
            .map_err(|_| self.kind("a number of milliseconds"))?;
        if millis == 0 {
            return Ok(None);
        }
        DateTime::from_timestamp_millis(millis)
            .map(Some)
            .ok_or_else(|| self.kind("a number of milliseconds"))
    }

    /// A time in machine encoding or in the account's display format; none for the null forms.
    pub fn time(self, format: &CellFormat) -> Result<Option<DateTime<Utc>>, CellError> {
        if let Ok(instant) = parse_abs_time(self.text()) {
            return Ok(instant.map(|instant| instant.to_utc()));
        }
        Ok(parse_display_time(
            self.text(),
            &format.time_format,
            format.zone,
        )?)
    }

    /// A status alone: hexadecimal bits, with or without facets, or a list of names.
    pub fn status(self) -> Result<StatusWords, CellError> {
        let text = self.text();
        if text.is_empty() {
            return Err(self.kind("a status"));
        }
        if text.starts_with('{') {
            return Ok(StatusWords::parse(text));
        }
        // Records carry bits alone.
        if !text.contains(';') {
            return Ok(StatusWords {
                bits: StatusBits::from_hex(text)?,
                unknown: Vec::new(),
            });
        }
        let status: crate::station::status::Status = text.parse()?;
        Ok(StatusWords {
            bits: status.bits(),
            unknown: Vec::new(),
        })
    }

    /// A value with status and level as people see it.
    pub fn status_text(self, format: &CellFormat) -> StatusText {
        StatusText::parse(self.text(), format)
    }

    /// An enumeration choice in machine encoding.
    pub fn choice(self) -> Result<Option<DynamicEnum>, CellError> {
        match self.some() {
            None => Ok(None),
            Some(text) => text
                .parse()
                .map(Some)
                .map_err(|_| self.kind("an enumeration value such as 1@{off=0,on=1}")),
        }
    }

    /// Facets in machine encoding, else in display form.
    pub fn facets(self) -> Facets {
        let text = self.text();
        match text.parse() {
            Ok(facets) => facets,
            Err(_) => Facets::parse_display(text),
        }
    }

    /// ORDs of a list, in the station's order.
    pub fn ord_list(self) -> Vec<String> {
        split_ord_list(self.text())
    }

    fn kind(self, expected: &'static str) -> CellError {
        CellError::Kind {
            text: self.0.to_owned(),
            expected,
        }
    }
}

/// A status value as text: `72.5 °F {ok} @ 8`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StatusText {
    /// Value part; none for a missing value.
    pub text: Option<String>,
    /// The value part as a number, if it is one.
    pub number: Option<f64>,
    /// Unit behind the number.
    pub unit: Option<String>,
    /// Status list, if the text has one.
    pub status: Option<StatusWords>,
    /// Active priority level.
    pub level: Option<ActiveLevel>,
}

impl StatusText {
    /// Reads from the right: level, last `{…}` group, value and unit. The text is a display text in either mode,
    /// because the exporter has no machine encoding for structs.
    pub fn parse(text: &str, format: &CellFormat) -> Self {
        let mut rest = text.trim();
        let mut parsed = Self::default();
        if let Some((before, level)) = rest.rsplit_once('@')
            && before.trim_end().ends_with('}')
            && let Ok(level) = level.parse()
        {
            parsed.level = Some(level);
            rest = before.trim_end();
        }
        if let Some(inner) = rest.strip_suffix('}')
            && let Some((before, words)) = inner.rsplit_once('{')
        {
            parsed.status = Some(StatusWords::parse(words));
            rest = before.trim_end();
        }
        if rest.is_empty() || rest == "null" || parsed.stands_for_nothing(rest) {
            return parsed;
        }
        parsed.text = Some(rest.to_owned());
        if let Some(number) = displayed_number(rest, format.decimal) {
            parsed.number = Some(number);
            return parsed;
        }
        let split = [rest.rsplit_once(' '), rest.split_once(' ')];
        for (number, unit) in split.into_iter().flatten() {
            if let Some(number) = displayed_number(number.trim(), format.decimal) {
                parsed.number = Some(number);
                parsed.unit = Some(unit.trim().to_owned());
                break;
            }
        }
        parsed
    }

    /// `-` and `---` beside a bad status mean "no value"; beside ok they are text.
    fn stands_for_nothing(&self, rest: &str) -> bool {
        let dashes = rest.len() <= 3 && rest.bytes().all(|b| b == b'-');
        dashes && self.status.as_ref().is_none_or(|status| !status.is_valid())
    }

    /// The value may be used for calculations.
    pub fn is_valid(&self) -> bool {
        self.text.is_some() && self.status.as_ref().is_none_or(StatusWords::is_valid)
    }

    /// Condition bits; ok when the text has no status list.
    pub fn bits(&self) -> StatusBits {
        self.status
            .as_ref()
            .map(|status| status.bits)
            .unwrap_or_default()
    }
}

fn number_of(text: &str, format: &CellFormat) -> Option<f64> {
    if format.machine
        && let Ok(number) = parse_double(text)
    {
        return Some(number);
    }
    displayed_number(text, format.decimal)
}

fn displayed_number(text: &str, decimal: DecimalSign) -> Option<f64> {
    let compact: String = text
        .chars()
        .filter(|c| !matches!(c, '\u{a0}' | '\u{202f}' | '\''))
        .map(|c| if c == '\u{2212}' { '-' } else { c })
        .collect();
    let unsigned = compact.trim_start_matches(['-', '+']);
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | ',')) {
        // nan, +inf and -inf have no separators to decide about
        return match compact.to_ascii_lowercase().as_str() {
            "nan" | "inf" | "+inf" | "-inf" => parse_double(&compact).ok(),
            _ => None,
        };
    }
    let allowed = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | 'e' | 'E' | '+' | '-');
    if !compact.chars().all(allowed) {
        return None;
    }
    separated(&compact, decimal).parse().ok()
}

/// Rewrites grouping and decimal signs to one decimal point: the separator policy of Station web specification §7.3.
fn separated(text: &str, decimal: DecimalSign) -> String {
    let commas = text.matches(',').count();
    let points = text.matches('.').count();
    let three_behind = |sign| text.rsplit(sign).next().is_some_and(|tail| tail.len() == 3);
    let decimal_sign = match (commas, points) {
        (0, 0) => None,
        (_, 0) if commas > 1 => None,
        (0, _) if points > 1 => None,
        (1, 0) if three_behind(',') => (decimal == DecimalSign::Comma).then_some(','),
        (1, 0) => Some(','),
        (0, 1) if three_behind('.') => (decimal == DecimalSign::Point).then_some('.'),
        (0, 1) => Some('.'),
        _ => text.chars().rev().find(|c| matches!(c, ',' | '.')),
    };
    text.chars()
        .filter_map(|c| match c {
            c if Some(c) == decimal_sign => Some('.'),
            ',' | '.' => None,
            c => Some(c),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn english() -> CellFormat {
        CellFormat::display(chrono_tz::UTC)
    }

    fn german() -> CellFormat {
        CellFormat {
            decimal: DecimalSign::Comma,
            ..english()
        }
    }

    #[test]
    fn the_worked_cells_of_the_specification_read_as_written() {
        let read = |text: &str, format: &CellFormat| {
            let cell = Cell(text).status_text(format);
            let status = cell.status.as_ref().map(|s| s.bits.to_string());
            let level = cell.level.map(|l| l.to_string());
            (cell.text, cell.number, cell.unit, status, level)
        };
        let some = |text: &str| Some(text.to_owned());
        let ok = || some("{ok}");
        assert_eq!(
            read("72.5 °F {ok}", &english()),
            (some("72.5 °F"), Some(72.5), some("°F"), ok(), None)
        );
        assert_eq!(
            read("1,024.0 {ok} @ def", &english()),
            (some("1,024.0"), Some(1024.0), None, ok(), some("def"))
        );
        assert_eq!(
            read("42,0 {ok} @ 8", &german()),
            (some("42,0"), Some(42.0), None, ok(), some("8"))
        );
        assert_eq!(
            read(" -5.0 {ok}", &english()),
            (some("-5.0"), Some(-5.0), None, ok(), None)
        );
        assert_eq!(
            read("Occupied {overridden} @ 8", &english()),
            (
                some("Occupied"),
                None,
                None,
                some("{overridden}"),
                some("8")
            )
        );
        assert_eq!(
            read("--- {down}", &english()),
            (None, None, None, some("{down}"), None)
        );
        assert_eq!(
            read("- {null}", &english()),
            (None, None, None, some("{null}"), None)
        );
        assert_eq!(
            read("a {b} c {fault,stale}", &english()),
            (some("a {b} c"), None, None, some("{fault,stale}"), None)
        );
        assert_eq!(read("", &english()), (None, None, None, None, None));
    }

    #[test]
    fn separators_follow_the_stated_policy() {
        let en = |text: &str| Cell(text).number(&english()).unwrap().unwrap();
        let de = |text: &str| Cell(text).number(&german()).unwrap().unwrap();
        assert_eq!((en("1,024"), de("1,024")), (1024.0, 1.024));
        assert_eq!((en("1.024"), de("1.024")), (1.024, 1024.0));
        assert_eq!((en("42,5"), de("42,5")), (42.5, 42.5));
        assert_eq!((en("1.234,56"), de("1,234.56")), (1234.56, 1234.56));
        assert_eq!(
            (en("1,234,567"), de("1.234.567")),
            (1_234_567.0, 1_234_567.0)
        );
        assert_eq!(en("1\u{a0}024.5"), 1024.5);
        assert_eq!(en("1'024.5"), 1024.5);
        assert!(en("nan").is_nan());
        assert_eq!(en(" -inf"), f64::NEG_INFINITY);
        let machine = CellFormat {
            machine: true,
            ..german()
        };
        assert_eq!(Cell("12.125").number(&machine).unwrap(), Some(12.125));
    }

    #[test]
    fn cells_of_another_kind_are_errors_that_show_the_cell() {
        let error = Cell("warm").number(&english()).unwrap_err();
        assert!(error.to_string().contains("warm"));
        assert!(Cell("yes").boolean().is_err());
        assert!(Cell("1.5").integer(&english()).is_err());
        assert!(Cell("").status().is_err());
        assert_eq!(Cell("null").number(&english()), Ok(None));
    }

    #[test]
    fn status_cells_read_alike_in_both_modes() {
        assert_eq!(
            Cell("14").status().unwrap().bits,
            Cell("{down,stale}").status().unwrap().bits
        );
        assert_eq!(
            Cell("0;activeLevel=e:8@control:PriorityLevel")
                .status()
                .unwrap()
                .bits,
            StatusBits::OK
        );
        assert!(!Cell("{vers le bas}").status().unwrap().is_valid());
    }

    #[test]
    fn an_at_sign_in_plain_text_is_no_level() {
        let cell = Cell("Meet @ 8").status_text(&english());
        assert_eq!((cell.text.as_deref(), cell.level), (Some("Meet @ 8"), None));
    }

    proptest! {
        #[test]
        fn any_number_survives_machine_mode(value in any::<f64>().prop_filter("NaN is unequal to itself", |v| !v.is_nan())) {
            let text = crate::station::value::format_double(value);
            prop_assert_eq!(Cell(&text).number(&CellFormat::machine(chrono_tz::UTC)), Ok(Some(value)));
        }

        #[test]
        fn no_text_makes_the_decoders_panic(text in "\\PC*") {
            let (cell, format) = (Cell(&text), english());
            let _ = (cell.number(&format), cell.integer(&format), cell.boolean(), cell.millis(), cell.time(&format));
            let _ = (cell.status(), cell.status_text(&german()), cell.choice(), cell.facets(), cell.ord_list());
        }
    }
}
