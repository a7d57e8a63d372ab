//! Facets: the typed key-value list that describes how a value is to be read and shown.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::ord::{escape, unescape};
use super::units::{Unit, unit_by_symbol};
use super::value::{DynamicEnum, EnumRange, ValueError, format_double, parse_double};

/// One facet's value with its type (Station web specification §5.2).
#[derive(Debug, Clone, PartialEq)]
pub enum FacetValue {
    /// Text, unescaped.
    String(String),
    /// `true` or `false`.
    Boolean(bool),
    /// 32-bit integer.
    Integer(i32),
    /// 64-bit integer.
    Long(i64),
    /// Single-precision number.
    Float(f64),
    /// Double-precision number; `nan`, `+inf` and `-inf` occur.
    Double(f64),
    /// Time stamp in the station's encoding.
    AbsTime(String),
    /// Choices of an enumeration.
    EnumRange(EnumRange),
    /// One choice of an enumeration.
    DynamicEnum(DynamicEnum),
    /// Duration in milliseconds.
    RelTime(i64),
    /// Engineering unit.
    Unit(Unit),
    /// Time zone identifier with its rules, as sent.
    TimeZone(String),
    /// A type code that the specification does not list, kept as sent.
    Other { code: String, text: String },
}

/// Why a text is not an encoded facets list.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FacetsError {
    /// No `=` or no `code:` in an entry.
    #[error("the facet {entry:?} is not of the form key=code:value")]
    Entry { entry: String },
    /// The value does not fit its type code.
    #[error("the facet {key:?} cannot be read: {cause}")]
    Value { key: String, cause: ValueError },
}

/// Ordered list of facets.
///
/// ```
/// use niagara_bridge::station::facets::Facets;
/// let text = "units=u:celsius;°C;(K);+273.15;|precision=i:1|trueText=s:not$20occupied";
/// let facets: Facets = text.parse().unwrap();
/// assert_eq!(facets.unit().unwrap().symbol(), "°C");
/// assert_eq!(facets.precision(), Some(1));
/// assert_eq!(facets.true_text(), Some("not occupied"));
/// assert_eq!(facets.to_string(), text);
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facets {
    entries: Vec<(String, FacetValue)>,
}

impl Facets {
    /// True when there is no facet.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Value of a key.
    pub fn get(&self, key: &str) -> Option<&FacetValue> {
        self.entries
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    /// Sets a key, keeping its place if it exists.
    pub fn set(&mut self, key: impl Into<String>, value: FacetValue) {
        let key = key.into();
        match self.entries.iter_mut().find(|(name, _)| *name == key) {
            Some(entry) => entry.1 = value,
            None => self.entries.push((key, value)),
        }
    }

    /// Entries in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &FacetValue)> {
        self.entries
            .iter()
            .map(|(key, value)| (key.as_str(), value))
    }

    /// Engineering unit; none when absent or the null unit.
    pub fn unit(&self) -> Option<&Unit> {
        match self.get("units")? {
            FacetValue::Unit(unit) if !unit.is_null() => Some(unit),
            _ => None,
        }
    }

    /// Decimals to show.
    pub fn precision(&self) -> Option<i32> {
        match self.get("precision")? {
            FacetValue::Integer(precision) => Some(*precision),
            FacetValue::Long(precision) => i32::try_from(*precision).ok(),
            _ => None,
        }
    }

    /// Finite lower limit.
    pub fn min(&self) -> Option<f64> {
        self.finite_number("min")
    }

    /// Finite upper limit.
    pub fn max(&self) -> Option<f64> {
        self.finite_number("max")
    }

    /// Text shown for true.
    pub fn true_text(&self) -> Option<&str> {
        self.text("trueText")
    }

    /// Text shown for false.
    pub fn false_text(&self) -> Option<&str> {
        self.text("falseText")
    }

    /// Choices of an enumerated point.
    pub fn range(&self) -> Option<&EnumRange> {
        match self.get("range")? {
            FacetValue::EnumRange(range) => Some(range),
            _ => None,
        }
    }

    fn text(&self, key: &str) -> Option<&str> {
        match self.get(key)? {
            FacetValue::String(text) => Some(text),
            _ => None,
        }
    }

    fn finite_number(&self, key: &str) -> Option<f64> {
        let number = match self.get(key)? {
            FacetValue::Double(number) | FacetValue::Float(number) => *number,
            FacetValue::Integer(number) => f64::from(*number),
            FacetValue::Long(number) => *number as f64,
            _ => return None,
        };
        number.is_finite().then_some(number)
    }

    /// The form that people see: units by symbol, texts unescaped (Station web specification §3.3).
    ///
    /// ```
    /// use niagara_bridge::station::facets::Facets;
    /// let facets: Facets = "units=u:celsius;°C;(K);+273.15;|precision=i:1|trueText=s:not$20on".parse().unwrap();
    /// assert_eq!(facets.display(), "units=°C,precision=1,trueText=not on");
    /// ```
    pub fn display(&self) -> String {
        let shown = |value: &FacetValue| match value {
            FacetValue::String(text) => text.clone(),
            FacetValue::Unit(unit) if unit.is_null() => "null".to_owned(),
            FacetValue::Unit(unit) => unit.symbol().to_owned(),
            // The encoding of every other kind is its type's letter, a colon and what people see.
            other => {
                let encoded = other.to_string();
                encoded
                    .split_once(':')
                    .map(|(_, shown)| shown.to_owned())
                    .unwrap_or(encoded)
            }
        };
        let entries: Vec<String> = self
            .iter()
            .map(|(key, value)| format!("{key}={}", shown(value)))
            .collect();
        entries.join(",")
    }

    /// Reads the form that people see, `units=°C,precision=1,range={Off=0,On=1}` (Station web specification §3.3).
    ///
    /// Types are recognised by key and look; a unit is found by its symbol, so units that share one are not told apart.
    ///
    /// ```
    /// use niagara_bridge::station::facets::Facets;
    /// let facets = Facets::parse_display("units=°C,precision=1,min=-inf,range={Test=0,Test2=1}");
    /// assert_eq!(facets.unit().unwrap().name(), "celsius");
    /// assert_eq!(facets.range().unwrap().tag(1), Some("Test2"));
    /// assert_eq!(facets.min(), None);
    /// ```
    pub fn parse_display(text: &str) -> Self {
        let mut facets = Self::default();
        for entry in split_outside_braces(text.trim()) {
            let Some((key, shown)) = entry.split_once('=') else {
                continue;
            };
            let (key, shown) = (key.trim(), shown.trim());
            let value = match key {
                "units" if shown == "null" || shown.is_empty() => FacetValue::Unit(Unit::null()),
                "units" => FacetValue::Unit(
                    unit_by_symbol(shown)
                        .cloned()
                        .unwrap_or_else(|| Unit::unknown(shown)),
                ),
                "range" => match shown.parse() {
                    Ok(range) => FacetValue::EnumRange(range),
                    Err(_) => FacetValue::String(shown.to_owned()),
                },
                "precision" | "fieldWidth" => match shown.parse() {
                    Ok(number) => FacetValue::Integer(number),
                    Err(_) => FacetValue::String(shown.to_owned()),
                },
                "min" | "max" => match parse_double(shown) {
                    Ok(number) => FacetValue::Double(number),
                    Err(_) => FacetValue::String(shown.to_owned()),
                },
                _ => FacetValue::String(shown.to_owned()),
            };
            facets.set(key, value);
        }
        facets
    }
}

impl FromIterator<(String, FacetValue)> for Facets {
    fn from_iter<I: IntoIterator<Item = (String, FacetValue)>>(entries: I) -> Self {
        let mut facets = Self::default();
        for (key, value) in entries {
            facets.set(key, value);
        }
        facets
    }
}

impl fmt::Display for FacetValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::String(text) => write!(f, "s:{}", escape(text)),
            Self::Boolean(value) => write!(f, "b:{value}"),
            Self::Integer(value) => write!(f, "i:{value}"),
            Self::Long(value) => write!(f, "l:{value}"),
            Self::Float(value) => write!(f, "f:{}", format_double(*value)),
            Self::Double(value) => write!(f, "d:{}", format_double(*value)),
            Self::AbsTime(text) => write!(f, "a:{text}"),
            Self::EnumRange(range) => write!(f, "E:{range}"),
            Self::DynamicEnum(value) => write!(f, "e:{value}"),
            Self::RelTime(millis) => write!(f, "r:{millis}"),
            Self::Unit(unit) => write!(f, "u:{unit}"),
            Self::TimeZone(text) => write!(f, "z:{text}"),
            Self::Other { code, text } => write!(f, "{code}:{text}"),
        }
    }
}

impl fmt::Display for Facets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (key, value)) in self.entries.iter().enumerate() {
            if index > 0 {
                f.write_str("|")?;
            }
            write!(f, "{key}={value}")?;
        }
        Ok(())
    }
}

impl FromStr for Facets {
    type Err = FacetsError;

    fn from_str(text: &str) -> Result<Self, FacetsError> {
        let text = text.trim();
        if text.is_empty() || text == "null" {
            return Ok(Self::default());
        }
        text.split('|').map(entry).collect()
    }
}

fn entry(text: &str) -> Result<(String, FacetValue), FacetsError> {
    let malformed = || FacetsError::Entry {
        entry: text.to_owned(),
    };
    let (key, typed) = text.split_once('=').ok_or_else(malformed)?;
    let (code, value) = typed.split_once(':').ok_or_else(malformed)?;
    if key.is_empty() || code.is_empty() {
        return Err(malformed());
    }
    facet_value(code, value)
        .map(|value| (key.to_owned(), value))
        .map_err(|cause| FacetsError::Value {
            key: key.to_owned(),
            cause,
        })
}

fn facet_value(code: &str, text: &str) -> Result<FacetValue, ValueError> {
    let malformed = |expected| ValueError::Malformed {
        expected,
        text: text.to_owned(),
    };
    Ok(match code {
        "s" => FacetValue::String(unescape(text)),
        "b" => FacetValue::Boolean(text.parse().map_err(|_| malformed("true or false"))?),
        "i" => FacetValue::Integer(text.parse().map_err(|_| malformed("a 32-bit integer"))?),
        "l" => FacetValue::Long(text.parse().map_err(|_| malformed("a 64-bit integer"))?),
        "f" => FacetValue::Float(parse_double(text)?),
        "d" => FacetValue::Double(parse_double(text)?),
        "a" => FacetValue::AbsTime(text.to_owned()),
        "E" => FacetValue::EnumRange(text.parse()?),
        "e" => FacetValue::DynamicEnum(text.parse()?),
        "r" => FacetValue::RelTime(text.parse().map_err(|_| malformed("milliseconds"))?),
        "u" => FacetValue::Unit(text.parse().map_err(|_| malformed("a unit"))?),
        "z" => FacetValue::TimeZone(text.to_owned()),
        _ => FacetValue::Other {
            code: code.to_owned(),
            text: text.to_owned(),
        },
    })
}

fn split_outside_braces(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0usize, 0usize);
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn infinite_limits_are_no_limits() {
        let facets: Facets = "precision=i:1|min=d:-inf|max=d:35.0".parse().unwrap();
        assert_eq!((facets.min(), facets.max()), (None, Some(35.0)));
    }

    #[test]
    fn a_bad_entry_is_named() {
        let error = "precision=i:one".parse::<Facets>().unwrap_err();
        assert!(error.to_string().contains("precision"), "{error}");
        assert!("precision".parse::<Facets>().is_err());
    }

    #[test]
    fn an_unknown_type_code_is_kept_as_sent() {
        let text = "x=q:any;thing";
        assert_eq!(text.parse::<Facets>().unwrap().to_string(), text);
    }

    fn facet() -> impl Strategy<Value = FacetValue> {
        prop_oneof![
            "\\PC{0,12}".prop_map(FacetValue::String),
            any::<bool>().prop_map(FacetValue::Boolean),
            any::<i32>().prop_map(FacetValue::Integer),
            any::<i64>().prop_map(FacetValue::Long),
            any::<f64>()
                .prop_filter("NaN is unequal to itself", |n| !n.is_nan())
                .prop_map(FacetValue::Double),
            any::<i64>().prop_map(FacetValue::RelTime),
            (any::<i32>(), "[A-Za-z][A-Za-z0-9 ]{0,6}").prop_map(|(ordinal, tag)| {
                FacetValue::EnumRange(EnumRange::dynamic([(ordinal, tag)]))
            }),
        ]
    }

    proptest! {
        #[test]
        fn any_facets_survive_formatting(entries in proptest::collection::vec(("[a-z][A-Za-z]{0,8}", facet()), 0..6)) {
            let facets: Facets = entries.into_iter().collect();
            prop_assert_eq!(&facets.to_string().parse::<Facets>().unwrap(), &facets);
        }

        #[test]
        fn no_text_makes_the_parsers_panic(text in "\\PC*") {
            let _ = (text.parse::<Facets>(), Facets::parse_display(&text));
        }
    }
}
