//! Values of slots in the station's own text encoding.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, FixedOffset, NaiveDate, NaiveTime};
use thiserror::Error;

use super::facets::{Facets, FacetsError};
use super::ord::{escape, unescape};
use super::status::{Status, StatusBits, StatusError};
use super::time::{format_abs_time, parse_abs_time};
use super::units::Unit;

/// Why a text is not the encoding of a value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ValueError {
    /// The text does not have the form of its type.
    #[error("{text:?} is not {expected}")]
    Malformed {
        expected: &'static str,
        text: String,
    },
    /// A status that cannot be read.
    #[error(transparent)]
    Status(#[from] Box<StatusError>),
    /// Facets that cannot be read.
    #[error(transparent)]
    Facets(#[from] Box<FacetsError>),
}

fn malformed(expected: &'static str, text: &str) -> ValueError {
    ValueError::Malformed {
        expected,
        text: text.to_owned(),
    }
}

/// Choices of an enumeration: ordinals with their tags (Station web specification §5.1).
///
/// ```
/// use niagara_bridge::station::value::EnumRange;
/// let range: EnumRange = "{Off=0,Low$20speed=1}".parse().unwrap();
/// assert_eq!(range.tag(1), Some("Low speed"));
/// assert_eq!(range.ordinal("Off"), Some(0));
/// assert_eq!(range.to_string(), "{Off=0,Low$20speed=1}");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct EnumRange {
    frozen: Option<String>,
    choices: Vec<(i32, String)>,
    options: Option<String>,
}

impl EnumRange {
    /// A range of free choices; tags are given unescaped.
    pub fn dynamic(choices: impl IntoIterator<Item = (i32, String)>) -> Self {
        Self {
            choices: choices.into_iter().collect(),
            ..Self::default()
        }
    }

    /// The range of a frozen enumeration type such as `control:PriorityLevel`.
    pub fn frozen(type_spec: impl Into<String>) -> Self {
        Self {
            frozen: Some(type_spec.into()),
            ..Self::default()
        }
    }

    /// Type whose tags are built in, if any.
    pub fn frozen_type(&self) -> Option<&str> {
        self.frozen.as_deref()
    }

    /// Ordinals and unescaped tags in their order.
    pub fn choices(&self) -> &[(i32, String)] {
        &self.choices
    }

    /// No choice and no type is known.
    pub fn is_empty(&self) -> bool {
        self.frozen.is_none() && self.choices.is_empty()
    }

    /// Tag of an ordinal.
    pub fn tag(&self, ordinal: i32) -> Option<&str> {
        self.choices
            .iter()
            .find(|(known, _)| *known == ordinal)
            .map(|(_, tag)| tag.as_str())
    }

    /// Ordinal of a tag, given escaped or not.
    pub fn ordinal(&self, tag: &str) -> Option<i32> {
        self.choices
            .iter()
            .find(|(_, known)| known == tag || escape(known) == tag)
            .map(|(ordinal, _)| *ordinal)
    }
}

impl fmt::Display for EnumRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(frozen) = &self.frozen {
            f.write_str(frozen)?;
        }
        if !self.choices.is_empty() || self.frozen.is_none() {
            f.write_str(if self.frozen.is_some() { "+{" } else { "{" })?;
            for (index, (ordinal, tag)) in self.choices.iter().enumerate() {
                let comma = if index > 0 { "," } else { "" };
                write!(f, "{comma}{}={ordinal}", escape(tag))?;
            }
            f.write_str("}")?;
        }
        if let Some(options) = &self.options {
            write!(f, "?{options}")?;
        }
        Ok(())
    }
}

impl FromStr for EnumRange {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        const FORM: &str = "an enumeration range such as {off=0,on=1} or module:Type";
        let text = text.trim();
        let (body, options) = match text.split_once('?') {
            Some((body, options)) => (body, Some(options.to_owned())),
            None => (text, None),
        };
        let (frozen, list) = match body.find('{') {
            Some(at) => (body[..at].trim_end_matches('+'), Some(&body[at..])),
            None => (body, None),
        };
        if !frozen.is_empty() && !frozen.contains(':') {
            return Err(malformed(FORM, text));
        }
        let inner = match list {
            Some(list) => list
                .strip_prefix('{')
                .and_then(|l| l.strip_suffix('}'))
                .ok_or_else(|| malformed(FORM, text))?,
            None => "",
        };
        let choices = inner
            .split(',')
            .filter(|choice| !choice.trim().is_empty())
            .map(|choice| {
                let (tag, ordinal) = choice
                    .rsplit_once('=')
                    .ok_or_else(|| malformed(FORM, text))?;
                let ordinal = ordinal.trim().parse().map_err(|_| malformed(FORM, text))?;
                Ok((ordinal, unescape(tag.trim())))
            })
            .collect::<Result<Vec<_>, ValueError>>()?;
        Ok(Self {
            frozen: (!frozen.is_empty()).then(|| frozen.to_owned()),
            choices,
            options,
        })
    }
}

/// One choice of an enumeration, `<ordinal>@<range>`.
///
/// ```
/// use niagara_bridge::station::value::DynamicEnum;
/// let mode: DynamicEnum = "1@{off=0,on=1}".parse().unwrap();
/// assert_eq!((mode.ordinal, mode.tag()), (1, Some("on")));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct DynamicEnum {
    /// Number of the choice.
    pub ordinal: i32,
    /// The choices, empty when the station sent the number alone.
    pub range: EnumRange,
}

impl DynamicEnum {
    /// Tag of the choice, if the range names it.
    pub fn tag(&self) -> Option<&str> {
        self.range.tag(self.ordinal)
    }
}

impl fmt::Display for DynamicEnum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.range.is_empty() {
            write!(f, "{}", self.ordinal)
        } else {
            write!(f, "{}@{}", self.ordinal, self.range)
        }
    }
}

impl FromStr for DynamicEnum {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let (ordinal, range) = text.trim().split_once('@').unwrap_or((text.trim(), ""));
        let range = if range.is_empty() {
            EnumRange::default()
        } else {
            range.parse()?
        };
        let ordinal = ordinal
            .parse()
            .map_err(|_| malformed("an enumeration value such as 1@{off=0,on=1}", text))?;
        Ok(Self { ordinal, range })
    }
}

/// A decoded value of a slot.
///
/// ```
/// use niagara_bridge::station::value::Value;
/// let value = Value::decode("baja:Double", "21.5").unwrap();
/// assert_eq!(value.as_f64(), Some(21.5));
/// assert_eq!(value.encode(), "21.5");
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    /// No value.
    #[default]
    Null,
    /// `baja:Boolean`.
    Boolean(bool),
    /// `baja:Integer`.
    Integer(i32),
    /// `baja:Long`.
    Long(i64),
    /// `baja:Float`.
    Float(f32),
    /// `baja:Double`; may be NaN or infinite.
    Double(f64),
    /// `baja:String`.
    String(String),
    /// `baja:DynamicEnum`.
    Enum(DynamicEnum),
    /// A frozen enumeration: its type and tag.
    FrozenEnum { type_spec: String, tag: String },
    /// `baja:EnumRange`.
    EnumRange(EnumRange),
    /// `baja:RelTime`, in milliseconds.
    RelTime(i64),
    /// `baja:AbsTime` with the offset it was sent with.
    AbsTime(DateTime<FixedOffset>),
    /// `baja:Date`.
    Date(NaiveDate),
    /// `baja:Time`.
    Time(NaiveTime),
    /// `baja:Ord`, as sent.
    Ord(String),
    /// `baja:OrdList`, as sent.
    OrdList(Vec<String>),
    /// `baja:Unit`.
    Unit(Unit),
    /// `baja:Facets`.
    Facets(Facets),
    /// `baja:Status`.
    Status(Status),
    /// Any other simple type: its type and encoding as sent.
    Other { type_spec: String, text: String },
}

impl Value {
    /// Decodes the station's encoding of a simple type (Station web specification §5.1).
    ///
    /// A type without a known encoding is kept as [`Value::Other`].
    pub fn decode(type_spec: &str, text: &str) -> Result<Self, ValueError> {
        let trimmed = text.trim();
        Ok(match type_spec {
            "baja:Boolean" => Self::Boolean(match trimmed {
                "true" => true,
                "false" => false,
                _ => return Err(malformed("true or false", text)),
            }),
            "baja:Integer" => Self::Integer(
                trimmed
                    .parse()
                    .map_err(|_| malformed("a 32-bit integer", text))?,
            ),
            "baja:Long" => Self::Long(
                trimmed
                    .parse()
                    .map_err(|_| malformed("a 64-bit integer", text))?,
            ),
            "baja:Float" => Self::Float(parse_double(trimmed)? as f32),
            "baja:Double" => Self::Double(parse_double(trimmed)?),
            "baja:String" => Self::String(text.to_owned()),
            "baja:DynamicEnum" => Self::Enum(trimmed.parse()?),
            "baja:EnumRange" => Self::EnumRange(trimmed.parse()?),
            "baja:RelTime" => Self::RelTime(
                trimmed
                    .parse()
                    .map_err(|_| malformed("a duration in milliseconds", text))?,
            ),
            "baja:AbsTime" => match parse_abs_time(trimmed)? {
                Some(instant) => Self::AbsTime(instant),
                None => Self::Null,
            },
            "baja:Date" => Self::Date(
                NaiveDate::parse_from_str(trimmed, "%Y-%m-%d")
                    .map_err(|_| malformed("a date yyyy-mm-dd", text))?,
            ),
            "baja:Time" => Self::Time(
                NaiveTime::parse_from_str(trimmed, "%H:%M:%S%.f")
                    .map_err(|_| malformed("a time hh:mm:ss.mmm", text))?,
            ),
            "baja:Ord" => Self::Ord(text.to_owned()),
            "baja:OrdList" => Self::OrdList(
                text.lines()
                    .filter(|line| !line.is_empty())
                    .map(str::to_owned)
                    .collect(),
            ),
            "baja:Unit" if trimmed.is_empty() => Self::Unit(Unit::null()),
            "baja:Unit" => Self::Unit(
                trimmed
                    .parse()
                    .map_err(|_| malformed("a unit name;symbol;dimension;conversion;", text))?,
            ),
            "baja:Facets" => Self::Facets(trimmed.parse().map_err(Box::new)?),
            "baja:Status" => Self::Status(trimmed.parse().map_err(Box::new)?),
            _ => Self::Other {
                type_spec: type_spec.to_owned(),
                text: text.to_owned(),
            },
        })
    }

    /// Encodes the value as the station does; nothing for [`Value::Null`].
    pub fn encode(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Boolean(value) => value.to_string(),
            Self::Integer(value) => value.to_string(),
            Self::Long(value) | Self::RelTime(value) => value.to_string(),
            Self::Float(value) => format_float(*value),
            Self::Double(value) => format_double(*value),
            Self::String(text) | Self::Ord(text) | Self::Other { text, .. } => text.clone(),
            Self::Enum(value) => value.to_string(),
            Self::FrozenEnum { tag, .. } => tag.clone(),
            Self::EnumRange(range) => range.to_string(),
            Self::AbsTime(instant) => format_abs_time(instant),
            Self::Date(date) => date.format("%Y-%m-%d").to_string(),
            Self::Time(time) => time.format("%H:%M:%S%.3f").to_string(),
            Self::OrdList(ords) => ords.join("\n"),
            Self::Unit(unit) => unit.to_string(),
            Self::Facets(facets) => facets.to_string(),
            Self::Status(status) => status.to_string(),
        }
    }

    /// The station's name of the value's type; none for [`Value::Null`].
    pub fn type_spec(&self) -> Option<&str> {
        Some(match self {
            Self::Null => return None,
            Self::Boolean(_) => "baja:Boolean",
            Self::Integer(_) => "baja:Integer",
            Self::Long(_) => "baja:Long",
            Self::Float(_) => "baja:Float",
            Self::Double(_) => "baja:Double",
            Self::String(_) => "baja:String",
            Self::Enum(_) => "baja:DynamicEnum",
            Self::EnumRange(_) => "baja:EnumRange",
            Self::RelTime(_) => "baja:RelTime",
            Self::AbsTime(_) => "baja:AbsTime",
            Self::Date(_) => "baja:Date",
            Self::Time(_) => "baja:Time",
            Self::Ord(_) => "baja:Ord",
            Self::OrdList(_) => "baja:OrdList",
            Self::Unit(_) => "baja:Unit",
            Self::Facets(_) => "baja:Facets",
            Self::Status(_) => "baja:Status",
            Self::FrozenEnum { type_spec, .. } | Self::Other { type_spec, .. } => type_spec,
        })
    }

    /// The value as a number, also when it is NaN or infinite; none for other kinds.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Double(value) => Some(*value),
            Self::Float(value) => Some((*value).into()),
            Self::Integer(value) => Some((*value).into()),
            Self::Long(value) => Some(*value as f64),
            _ => None,
        }
    }

    /// The value as a truth value.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Boolean(value) => Some(*value),
            _ => None,
        }
    }

    /// The value as an enumeration choice.
    pub fn as_enum(&self) -> Option<&DynamicEnum> {
        match self {
            Self::Enum(value) => Some(value),
            _ => None,
        }
    }

    /// True when there is no value.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

/// A value with its status, as points hold them.
#[derive(Debug, Clone, PartialEq)]
pub struct StatusValue {
    /// The value; kept even when the status makes it unusable.
    pub value: Value,
    /// Its condition.
    pub status: Status,
}

impl StatusValue {
    /// A value in good condition.
    pub fn ok(value: Value) -> Self {
        Self {
            value,
            status: Status::default(),
        }
    }

    /// The value, if its status allows using it.
    pub fn valid(&self) -> Option<&Value> {
        (self.status.is_valid() && !self.value.is_null()).then_some(&self.value)
    }
}

/// No value, status null: an input that nobody commands.
impl Default for StatusValue {
    fn default() -> Self {
        Self {
            value: Value::Null,
            status: Status::new(StatusBits::NULL),
        }
    }
}

/// Formats a double as the station does: at least one decimal, `nan`, `+inf`, `-inf`.
///
/// ```
/// use niagara_bridge::station::value::format_double;
/// assert_eq!(format_double(50.0), "50.0");
/// assert_eq!(format_double(f64::NEG_INFINITY), "-inf");
/// ```
pub fn format_double(value: f64) -> String {
    if value.is_nan() {
        "nan".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "+inf" } else { "-inf" }.to_owned()
    } else {
        format!("{value:?}").replace('e', "E")
    }
}

fn format_float(value: f32) -> String {
    if value.is_finite() {
        format!("{value:?}").replace('e', "E")
    } else {
        format_double(value.into())
    }
}

/// Reads a double in any form that stations write; `null` is NaN.
pub fn parse_double(text: &str) -> Result<f64, ValueError> {
    let trimmed = text.trim();
    if trimmed.eq_ignore_ascii_case("null") {
        return Ok(f64::NAN);
    }
    // It knows nan, inf and infinity in upper and lower case too.
    trimmed
        .parse()
        .map_err(|_| malformed("a decimal number", text))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_simple_of_the_specification_survives_decoding_and_encoding() {
        for (type_spec, text) in [
            ("baja:Double", "-0.5"),
            ("baja:Double", "nan"),
            ("baja:Double", "+inf"),
            ("baja:Float", "88.54"),
            ("baja:Integer", "42"),
            ("baja:Long", "-9000000000"),
            ("baja:Boolean", "true"),
            ("baja:String", " raw text "),
            ("baja:RelTime", "60000"),
            ("baja:AbsTime", "2024-03-01T00:00:00.000+01:00"),
            ("baja:Date", "2024-02-29"),
            ("baja:Time", "13:05:00.250"),
            ("baja:DynamicEnum", "1@{off=0,on=1}"),
            ("baja:DynamicEnum", "7"),
            (
                "baja:EnumRange",
                "control:PriorityLevel+{extra=18}?lex=control",
            ),
            ("baja:Ord", "h:2f1"),
            ("baja:OrdList", "slot:/A\nslot:/B"),
            ("baja:Unit", "celsius;°C;(K);+273.15;"),
            ("baja:Facets", "precision=i:1|min=d:-inf|max=d:+inf"),
            ("baja:Status", "20;activeLevel=e:8@control:PriorityLevel"),
            ("baja:WsAnnotation", "10,5,8"),
        ] {
            let value = Value::decode(type_spec, text).unwrap();
            assert_eq!(value.encode(), text);
            assert_eq!(value.type_spec(), Some(type_spec));
        }
    }

    #[test]
    fn both_forms_of_a_null_time_are_no_value() {
        for text in [
            "null",
            "",
            "1970-01-01T00:00:00.000Z",
            "1969-12-31T19:00:00.000-05:00",
        ] {
            assert_eq!(Value::decode("baja:AbsTime", text), Ok(Value::Null));
        }
    }

    #[test]
    fn a_value_that_does_not_fit_its_type_is_refused() {
        for (type_spec, text) in [
            ("baja:Boolean", "yes"),
            ("baja:Integer", "1.5"),
            ("baja:Integer", "3000000000"),
            ("baja:Double", "warm"),
            ("baja:Status", "xyz"),
            ("baja:DynamicEnum", "on"),
        ] {
            assert!(
                Value::decode(type_spec, text).is_err(),
                "{type_spec} {text}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_double_survives(value in any::<f64>().prop_filter("NaN is unequal to itself", |v| !v.is_nan())) {
            prop_assert_eq!(Value::decode("baja:Double", &Value::Double(value).encode()), Ok(Value::Double(value)));
        }

        #[test]
        fn any_enumeration_survives(choices in proptest::collection::vec((any::<i32>(), "\\PC{1,8}"), 0..5), ordinal: i32) {
            let value = DynamicEnum { ordinal, range: EnumRange::dynamic(choices) };
            prop_assert_eq!(value.to_string().parse::<DynamicEnum>().unwrap(), value);
        }

        #[test]
        fn no_text_makes_the_decoder_panic(text in "\\PC*", kind in 0usize..8) {
            let types = ["Double", "DynamicEnum", "EnumRange", "AbsTime", "Unit", "Facets", "Status", "Time"];
            let _ = Value::decode(&format!("baja:{}", types[kind]), &text);
        }
    }
}
