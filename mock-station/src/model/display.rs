//! Display text: what people read in tables, trees and `display` attributes (Station web specification §3.3, oBIX specification §5.4).

use super::enums::EnumRange;
use super::facets::Facets;
use super::registry;
use super::slot_name;
use super::status::{STATUS_NAMES, Status};
use super::units::Unit;
use super::value::Value;
use chrono::{DateTime, Datelike, FixedOffset, Offset, Timelike};
use chrono_tz::{OffsetName, Tz};

/// The station's default time pattern.
pub const DEFAULT_TIME_FORMAT: &str = "dd-MMM-yy h:mm:ss a z";

/// Who reads: language, zone, time pattern, and whether units are wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct DisplayContext {
    /// `en`, `de` or `fr`; anything else reads English.
    pub language: String,
    pub time_zone: Tz,
    pub time_format: String,
    /// Whether the unit symbol follows a number.
    pub units: bool,
}

impl Default for DisplayContext {
    /// English, UTC, with units.
    fn default() -> Self {
        Self {
            language: "en".to_owned(),
            time_zone: Tz::UTC,
            time_format: DEFAULT_TIME_FORMAT.to_owned(),
            units: true,
        }
    }
}

impl DisplayContext {
    /// The context of a user: own language, time pattern and zone, else the station's.
    pub fn of(user: &super::users::User, station: &super::station::Station) -> Self {
        let time_format = if user.time_format.is_empty() {
            DEFAULT_TIME_FORMAT
        } else {
            &user.time_format
        };
        Self {
            language: user.language.clone(),
            time_zone: user.time_zone.unwrap_or(station.zone()),
            time_format: time_format.to_owned(),
            units: true,
        }
    }

    /// This context without unit symbols, as the CSV exporter has it.
    pub fn without_units(mut self) -> Self {
        self.units = false;
        self
    }

    /// The decimal separator and the grouping separator.
    fn separators(&self) -> (char, char) {
        match self.language.as_str() {
            "de" => (',', '.'),
            "fr" => (',', '\u{a0}'),
            _ => ('.', ','),
        }
    }
}

/// The display text of any value with the facets that apply to it.
pub fn display(value: &Value, facets: &Facets, context: &DisplayContext) -> String {
    match value {
        Value::Double(number) => with_unit(number_text(*number, facets, context), facets, context),
        Value::Float(number) => with_unit(
            number_text(f64::from(*number), facets, context),
            facets,
            context,
        ),
        Value::Integer(number) => {
            with_unit(integer_text(i64::from(*number), context), facets, context)
        }
        Value::Long(number) => with_unit(integer_text(*number, context), facets, context),
        Value::Boolean(flag) => {
            let key = if *flag { "trueText" } else { "falseText" };
            facets
                .text(key)
                .map_or_else(|| flag.to_string(), str::to_owned)
        }
        Value::DynamicEnum(value) => {
            let range = facets
                .enum_range()
                .filter(|range| !range.is_empty())
                .unwrap_or(&value.range);
            enum_text(value.ordinal, range)
        }
        Value::FrozenEnum(value) => frozen_tag_text(value.ty.spec(), value.ordinal, &value.tag()),
        Value::RelTime(millis) => rel_time_text(*millis),
        Value::AbsTime(Some(time)) => abs_time_text(time, context),
        Value::AbsTime(None) => "null".to_owned(),
        Value::Status(status) => status_text(status, context),
        Value::Facets(facets) => facets_text(facets, context),
        Value::Unit(unit) => unit_text(unit),
        Value::EnumRange(range) => range_text(range),
        Value::Password => "--password--".to_owned(),
        Value::OrdList(ords) => ords.join(" "),
        Value::Struct(body) => match value.as_status_value() {
            Some((inner, status)) => status_value_text(inner, status, facets, context),
            None if body.ty.is_link() => link_text(body),
            None => body.ty.type_name().to_owned(),
        },
        other => other.encode(),
    }
}

/// `12.5 °F {ok} @ 8`; null and down values show a dash.
fn status_value_text(
    value: &Value,
    status: &Status,
    facets: &Facets,
    context: &DisplayContext,
) -> String {
    let text = if status.has(Status::NULL) {
        "-".to_owned()
    } else {
        display(value, facets, context)
    };
    let mut line = format!("{text} {}", status_text(status, context));
    if !status.has(Status::NULL) {
        match status.active_level() {
            Some(17) => line.push_str(" @ def"),
            Some(level @ 1..=16) => line.push_str(&format!(" @ {level}")),
            _ => {}
        }
    }
    line
}

/// `{ok}`, `{fault,stale}` in the reader's language.
pub fn status_text(status: &Status, context: &DisplayContext) -> String {
    let words: Vec<&str> = status
        .names()
        .into_iter()
        .map(|name| status_word(name, &context.language))
        .collect();
    format!("{{{}}}", words.join(","))
}

/// A status word in `language`; unknown languages read English.
pub fn status_word(name: &'static str, language: &str) -> &'static str {
    match (language, name) {
        ("fr", "ok") => "ok",
        ("fr", "disabled") => "désactivé",
        ("fr", "fault") => "défaut",
        ("fr", "down") => "vers le bas",
        ("fr", "alarm") => "alarme",
        ("fr", "stale") => "éventé",
        ("fr", "overridden") => "forcé",
        ("fr", "null") => "nulle",
        ("fr", "unackedAlarm") => "alarme non acquittée",
        ("de", "disabled") => "deaktiviert",
        ("de", "fault") => "Störung",
        ("de", "down") => "ausgefallen",
        ("de", "alarm") => "Alarm",
        ("de", "stale") => "veraltet",
        ("de", "overridden") => "übersteuert",
        ("de", "null") => "null",
        ("de", "unackedAlarm") => "unquittierterAlarm",
        _ => name,
    }
}

/// All status words of a language, bit by bit.
pub fn status_words(language: &str) -> impl Iterator<Item = (u32, &'static str)> + '_ {
    STATUS_NAMES
        .iter()
        .map(move |(bit, name)| (*bit, status_word(name, language)))
}

fn with_unit(text: String, facets: &Facets, context: &DisplayContext) -> String {
    match facets.unit() {
        Some(unit) if context.units => format!("{text} {}", unit_text(unit)),
        _ => text,
    }
}

fn unit_text(unit: &Unit) -> String {
    match (unit.is_null(), unit.symbol.is_empty()) {
        (true, _) => "null".to_owned(),
        (false, true) => unit.name.clone(),
        (false, false) => unit.symbol.clone(),
    }
}

fn number_text(number: f64, facets: &Facets, context: &DisplayContext) -> String {
    if !number.is_finite() {
        return Value::Double(number).encode();
    }
    let precision = facets.precision().unwrap_or(2).min(17);
    let digits = format!("{number:.precision$}");
    // A small negative number rounds to zero without a sign.
    let digits = if digits.bytes().all(|b| matches!(b, b'-' | b'0' | b'.')) {
        digits.replace('-', "")
    } else {
        digits
    };
    localise(&digits, context)
}

fn integer_text(number: i64, context: &DisplayContext) -> String {
    localise(&number.to_string(), context)
}

fn localise(digits: &str, context: &DisplayContext) -> String {
    let (decimal, grouping) = context.separators();
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let (sign, whole) = whole
        .strip_prefix('-')
        .map_or(("", whole), |rest| ("-", rest));
    let mut text = String::from(sign);
    for (position, digit) in whole.chars().enumerate() {
        if position > 0 && (whole.len() - position).is_multiple_of(3) {
            text.push(grouping);
        }
        text.push(digit);
    }
    if !fraction.is_empty() {
        text.push(decimal);
        text.push_str(fraction);
    }
    text
}

fn enum_text(ordinal: i32, range: &EnumRange) -> String {
    match range.tag(ordinal) {
        Some(tag) if range.frozen.is_some() => {
            frozen_tag_text(range.frozen.as_deref().unwrap_or_default(), ordinal, &tag)
        }
        Some(tag) => slot_name::unescape(&tag),
        None => ordinal.to_string(),
    }
}

/// The display tag of a frozen enum: `level_8` reads `8`, `fallback` reads `def`, others as words.
fn frozen_tag_text(spec: &str, ordinal: i32, tag: &str) -> String {
    if spec == "control:PriorityLevel" {
        return match ordinal {
            0 => "none".to_owned(),
            17 => "def".to_owned(),
            level => level.to_string(),
        };
    }
    slot_name::friendly(tag)
}

/// The display tag of a type's ordinal, as contracts list it.
pub fn tag_text(spec: &str, ordinal: i32) -> Option<String> {
    let tag = registry::find(spec)?.tag_of(ordinal)?;
    Some(frozen_tag_text(spec, ordinal, &tag.tag))
}

/// `1h 30m`-like text.
fn rel_time_text(millis: i64) -> String {
    let mut rest = millis.unsigned_abs();
    let mut parts = Vec::new();
    for (size, letter) in [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m")] {
        if rest >= size {
            parts.push(format!("{}{letter}", rest / size));
            rest %= size;
        }
    }
    if !rest.is_multiple_of(1000) {
        parts.push(format!("{}.{:03}s", rest / 1000, rest % 1000));
    } else if rest > 0 || parts.is_empty() {
        parts.push(format!("{}s", rest / 1000));
    }
    let sign = if millis < 0 { "-" } else { "" };
    format!("{sign}{}", parts.join(" "))
}

/// A time in the reader's zone and pattern.
pub fn abs_time_text(time: &DateTime<FixedOffset>, context: &DisplayContext) -> String {
    let local = time.with_timezone(&context.time_zone);
    let mut text = String::new();
    let pattern = context.time_format.as_str();
    let mut rest = pattern;
    while let Some(letter) = rest.chars().next() {
        let run: usize = rest.chars().take_while(|c| *c == letter).count();
        if letter == '\'' {
            let body = rest.get(1..).unwrap_or_default();
            let end = body.find('\'').unwrap_or(body.len());
            text.push_str(&body[..end]);
            rest = body.get(end + 1..).unwrap_or_default();
            continue;
        }
        rest = rest.get(run * letter.len_utf8()..).unwrap_or_default();
        match letter {
            'y' | 'Y' if run <= 2 => text.push_str(&format!("{:02}", local.year().rem_euclid(100))),
            'y' | 'Y' => text.push_str(&format!("{:04}", local.year())),
            'M' if run >= 3 => text.push_str(&month_text(local.month(), run, &context.language)),
            'M' => text.push_str(&padded(local.month(), run)),
            'd' | 'D' => text.push_str(&padded(local.day(), run)),
            'H' => text.push_str(&padded(local.hour(), run)),
            'h' => text.push_str(&padded(local.hour12().1, run)),
            'm' => text.push_str(&padded(local.minute(), run)),
            's' => text.push_str(&padded(local.second(), run)),
            'S' => text.push_str(&format!("{:03}", local.timestamp_subsec_millis())),
            'a' => text.push_str(if local.hour() < 12 { "AM" } else { "PM" }),
            'z' => text.push_str(&zone_text(local.offset())),
            'Z' => text.push_str(&local.format("%:z").to_string()),
            other => text.extend(std::iter::repeat_n(other, run)),
        }
    }
    text
}

fn padded(number: u32, width: usize) -> String {
    format!("{number:0width$}")
}

fn zone_text(offset: &chrono_tz::TzOffset) -> String {
    offset
        .abbreviation()
        .map_or_else(|| offset.fix().to_string(), str::to_owned)
}

fn month_text(month: u32, width: usize, language: &str) -> String {
    const ENGLISH: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    const GERMAN: [&str; 12] = [
        "Januar",
        "Februar",
        "März",
        "April",
        "Mai",
        "Juni",
        "Juli",
        "August",
        "September",
        "Oktober",
        "November",
        "Dezember",
    ];
    const FRENCH: [&str; 12] = [
        "janvier",
        "février",
        "mars",
        "avril",
        "mai",
        "juin",
        "juillet",
        "août",
        "septembre",
        "octobre",
        "novembre",
        "décembre",
    ];
    let names = match language {
        "de" => GERMAN,
        "fr" => FRENCH,
        _ => ENGLISH,
    };
    let name = usize::try_from(month)
        .ok()
        .and_then(|m| names.get(m.checked_sub(1)?))
        .copied()
        .unwrap_or_default();
    if width == 3 {
        name.chars().take(3).collect()
    } else {
        name.to_owned()
    }
}

/// `units=°C,precision=1,range={Test=0,Test2=1}`.
fn facets_text(facets: &Facets, context: &DisplayContext) -> String {
    let parts: Vec<String> = facets
        .iter()
        .map(|(key, value)| {
            let text = match value {
                Value::Double(_) | Value::Float(_) => value.encode(),
                other => display(other, &Facets::new(), context),
            };
            format!("{key}={text}")
        })
        .collect();
    parts.join(",")
}

fn range_text(range: &EnumRange) -> String {
    if range.tags.is_empty()
        && let Some(frozen) = &range.frozen
    {
        return frozen.clone();
    }
    let tags: Vec<String> = range
        .entries()
        .iter()
        .map(|(tag, ordinal)| format!("{}={ordinal}", slot_name::unescape(tag)))
        .collect();
    format!("{{{}}}", tags.join(","))
}

fn link_text(body: &super::value::StructValue) -> String {
    let text = |name: &str| body.get(name).map(Value::encode).unwrap_or_default();
    format!(
        "{}.{} -> {}",
        text("sourceOrd"),
        text("sourceSlotName"),
        text("targetSlotName")
    )
}

#[cfg(test)]
mod tests {
    use super::super::enums::DynamicEnum;
    use super::super::point::status_at_level;
    use super::super::value::PointKind;
    use super::*;
    use std::sync::Arc;

    fn context(language: &str) -> DisplayContext {
        DisplayContext {
            language: language.to_owned(),
            ..DisplayContext::default()
        }
    }

    fn text(value: &Value, facets: &str, context: &DisplayContext) -> String {
        display(value, &Facets::decode(facets).unwrap(), context)
    }

    #[test]
    fn status_values_read_as_in_the_cell_table() {
        let percent = "units=u:percent;%;;;|precision=i:1";
        let en = context("en");
        let level =
            |number, bits, level| Value::status_numeric(number, status_at_level(bits, level));
        assert_eq!(text(&level(21.5, 0, 10), percent, &en), "21.5 % {ok} @ 10");
        assert_eq!(
            text(&level(21.5, 0, 10), percent, &en.clone().without_units()),
            "21.5 {ok} @ 10"
        );
        assert_eq!(
            text(&level(1024.0, 0, 17), "precision=i:1", &en),
            "1,024.0 {ok} @ def"
        );
        assert_eq!(
            text(&level(50.0, 0x20, 8), "precision=i:1", &en),
            "50.0 {overridden} @ 8"
        );
        assert_eq!(text(&level(0.0, 0x40, 17), percent, &en), "- {null}");
        let down = Value::status_numeric(3.0, Status::from_bits(0x1c));
        assert_eq!(text(&down, "precision=i:0", &en), "3 {down,alarm,stale}");
        let occupied = Value::status_boolean(true, Status::ok());
        assert_eq!(
            text(&occupied, "trueText=s:Occup$e9|falseText=s:Vide", &en),
            "Occupé {ok}"
        );
        assert_eq!(text(&occupied, "", &en), "true {ok}");
    }

    #[test]
    fn numbers_follow_the_language() {
        let value = Value::status_numeric(-1_234_567.891, Status::ok());
        assert_eq!(
            text(&value, "precision=i:2", &context("en")),
            "-1,234,567.89 {ok}"
        );
        assert_eq!(
            text(&value, "precision=i:2", &context("de")),
            "-1.234.567,89 {ok}"
        );
        assert_eq!(
            text(&value, "precision=i:0", &context("fr")),
            "-1\u{a0}234\u{a0}568 {ok}"
        );
        assert_eq!(
            text(&Value::Double(-0.01), "precision=i:1", &context("en")),
            "0.0"
        );
        assert_eq!(
            text(&Value::Double(f64::NAN), "precision=i:1", &context("en")),
            "nan"
        );
        assert_eq!(
            text(&Value::Double(f64::INFINITY), "", &context("de")),
            "+inf"
        );
        let stale = Value::status_numeric(1.0, Status::from_bits(Status::STALE | Status::DOWN));
        assert_eq!(
            text(&stale, "precision=i:0", &context("fr")),
            "1 {vers le bas,éventé}"
        );
    }

    #[test]
    fn enums_show_their_tags_unescaped() {
        let range = Arc::new(EnumRange::of(&[("Not occupied", 1)]));
        let value = Value::DynamicEnum(DynamicEnum {
            ordinal: 1,
            range: range.clone(),
        });
        let status = Value::status_value(PointKind::Enum, value, Status::ok());
        assert_eq!(text(&status, "", &context("en")), "Not occupied {ok}");
        assert_eq!(
            text(&status, "range=E:{busy=1}", &context("en")),
            "busy {ok}"
        );
        let state = Value::decode(registry::find("alarm:AckState").unwrap(), "ackPending").unwrap();
        assert_eq!(text(&state, "", &context("en")), "Ack Pending");
        assert_eq!(
            tag_text("control:PriorityLevel", 17).as_deref(),
            Some("def")
        );
        assert_eq!(tag_text("control:PriorityLevel", 8).as_deref(), Some("8"));
    }

    #[test]
    fn facets_show_as_a_list_with_symbols() {
        let facets = Facets::decode(
            "units=u:celsius;°C;(K);+273.15;|precision=i:1|min=d:-inf|max=d:+inf|trueText=s:Temp$e9rature",
        );
        let value = Value::Facets(Arc::new(facets.unwrap()));
        assert_eq!(
            text(&value, "", &context("en")),
            "units=°C,precision=1,min=-inf,max=+inf,trueText=Température"
        );
        let value = Value::Facets(Arc::new(
            Facets::decode("units=u:null;;;;|range=E:{Test=0,Test2=1}").unwrap(),
        ));
        assert_eq!(
            text(&value, "", &context("en")),
            "units=null,range={Test=0,Test2=1}"
        );
    }

    #[test]
    fn times_follow_pattern_and_zone() {
        let time = DateTime::parse_from_rfc3339("2026-04-12T11:00:00.000Z").unwrap();
        let value = Value::AbsTime(Some(time));
        let in_zone = |zone: Tz, pattern: &str, language: &str| {
            let reader = DisplayContext {
                time_zone: zone,
                time_format: pattern.to_owned(),
                ..context(language)
            };
            text(&value, "", &reader)
        };
        assert_eq!(
            in_zone(Tz::Europe__London, DEFAULT_TIME_FORMAT, "en"),
            "12-Apr-26 12:00:00 PM BST"
        );
        assert_eq!(
            in_zone(Tz::America__New_York, DEFAULT_TIME_FORMAT, "en"),
            "12-Apr-26 7:00:00 AM EDT"
        );
        assert_eq!(
            in_zone(Tz::Europe__Berlin, "dd.MM.yyyy HH:mm:ss", "de"),
            "12.04.2026 13:00:00"
        );
        assert_eq!(
            in_zone(Tz::UTC, "yyyy-MM-dd'T'HH:mm:ss.SSSZ", "en"),
            "2026-04-12T11:00:00.000+00:00"
        );
        assert_eq!(text(&Value::AbsTime(None), "", &context("en")), "null");
    }

    #[test]
    fn spans_read_as_hours_and_minutes() {
        for (millis, words) in [
            (5_400_000, "1h 30m"),
            (0, "0s"),
            (90_061_000, "1d 1h 1m 1s"),
            (1_500, "1.500s"),
            (-60_000, "-1m"),
        ] {
            assert_eq!(text(&Value::RelTime(millis), "", &context("en")), words);
        }
    }

    #[test]
    fn a_password_shows_nothing_of_itself() {
        assert_eq!(text(&Value::Password, "", &context("en")), "--password--");
    }
}
