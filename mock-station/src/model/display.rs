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
