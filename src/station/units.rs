//! Engineering units: name, symbol, dimension and the conversion to the SI base.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use thiserror::Error;

use super::value::format_double;

/// Common station units in the station's own encoding `name;symbol;dimension;conversion;`, one a line.
const TABLE: &str = include_str!("units.txt");

static UNITS: LazyLock<Vec<Unit>> = LazyLock::new(|| {
    TABLE
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .filter_map(|line| line.parse().ok())
        .collect()
});

/// An engineering unit (Station web specification §5.1, oBIX specification §5.5).
///
/// `base = value · scale + offset`, where base is the SI unit of the dimension.
///
/// ```
/// use niagara_bridge::station::units::unit_by_name;
/// let fahrenheit = unit_by_name("fahrenheit").unwrap();
/// let celsius = unit_by_name("celsius").unwrap();
/// assert!((fahrenheit.convert(212.0, celsius).unwrap() - 100.0).abs() < 1e-9);
/// assert!((fahrenheit.convert_difference(18.0, celsius).unwrap() - 10.0).abs() < 1e-9);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    name: String,
    symbol: String,
    dimension: String,
    conversion: Option<Conversion>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Conversion {
    scale: f64,
    offset: f64,
}

/// Why a unit cannot be read or a value not be converted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnitError {
    /// Not the `name;symbol;dimension;conversion;` form.
    #[error("{text:?} is not a unit; expected name;symbol;dimension;conversion;")]
    Malformed { text: String },
    /// The two units measure different things.
    #[error("{from} cannot be converted to {to}: they measure different quantities")]
    Dimension { from: String, to: String },
    /// Nothing is known about the unit but its name.
    #[error("the conversion of unit {name:?} is not known; correct the unit in the point's facets")]
    Unknown { name: String },
}

impl Unit {
    /// The null unit: a bare number.
    pub fn null() -> Self {
        Self {
            name: "null".to_owned(),
            symbol: String::new(),
            dimension: String::new(),
            conversion: None,
        }
    }

    /// A unit of which only the symbol or name is known.
    pub fn unknown(symbol: &str) -> Self {
        Self {
            name: symbol.to_owned(),
            symbol: symbol.to_owned(),
            dimension: String::new(),
            conversion: None,
        }
    }

    /// True for "no unit".
    pub fn is_null(&self) -> bool {
        self.name == "null" || (self.name.is_empty() && self.symbol.is_empty())
    }

    /// Name in the station's unit database, for example `cubic_feet_per_minute`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Symbol shown beside values.
    pub fn symbol(&self) -> &str {
        &self.symbol
    }

    /// Dimension as sent, for example `(m3)(s-1)`; empty when the station left it out.
    pub fn dimension(&self) -> &str {
        &self.dimension
    }

    /// Exponents of the SI base units, sorted by unit; two units convert when these are equal.
    pub fn exponents(&self) -> Vec<(String, i32)> {
        let mut exponents: Vec<(String, i32)> = Vec::new();
        for factor in self.dimension.split(['(', ')']).map(str::trim) {
            let digits = factor.find(|c: char| c == '-' || c.is_ascii_digit());
            let (base, power) = factor.split_at(digits.unwrap_or(factor.len()));
            let power = if power.is_empty() {
                Some(1)
            } else {
                power.parse::<i32>().ok()
            };
            let Some(power) = power.filter(|_| !base.is_empty()) else {
                continue;
            };
            match exponents.iter_mut().find(|(known, _)| known == base) {
                Some(known) => known.1 = known.1.saturating_add(power),
                None => exponents.push((base.to_owned(), power)),
            }
        }
        exponents.retain(|(_, power)| *power != 0);
        exponents.sort();
        exponents
    }

    /// Converts a value of this unit into `to`.
    pub fn convert(&self, value: f64, to: &Self) -> Result<f64, UnitError> {
        let (from, to) = self.conversions(to)?;
        if from == to {
            return Ok(value);
        }
        Ok((value * from.scale + from.offset - to.offset) / to.scale)
    }

    /// Converts a difference of two values, where the offsets cancel.
    pub fn convert_difference(&self, value: f64, to: &Self) -> Result<f64, UnitError> {
        let (from, to) = self.conversions(to)?;
        if from.scale == to.scale {
            return Ok(value);
        }
        Ok(value * from.scale / to.scale)
    }

    fn conversions(&self, to: &Self) -> Result<(Conversion, Conversion), UnitError> {
        let known = |unit: &Self| -> Result<(Conversion, Vec<(String, i32)>), UnitError> {
            let full = if unit.dimension.is_empty() && unit.conversion.is_none() {
                unit_by_name(&unit.name).or_else(|| unit_by_symbol(&unit.symbol))
            } else {
                Some(unit)
            };
            let full = full
                .filter(|unit| !unit.is_null())
                .ok_or_else(|| UnitError::Unknown {
                    name: unit.name.clone(),
                })?;
            let plain = Conversion {
                scale: 1.0,
                offset: 0.0,
            };
            Ok((full.conversion.unwrap_or(plain), full.exponents()))
        };
        let (from_conversion, from_exponents) = known(self)?;
        let (to_conversion, to_exponents) = known(to)?;
        if from_exponents != to_exponents {
            return Err(UnitError::Dimension {
                from: self.name.clone(),
                to: to.name.clone(),
            });
        }
        Ok((from_conversion, to_conversion))
    }
}

/// A unit of the bundled table by name; singular and plural, spaces and underscores count as the same.
///
/// ```
/// use niagara_bridge::station::units::unit_by_name;
/// assert_eq!(unit_by_name("kilowatt hours").unwrap().symbol(), "kWh");
/// assert!(unit_by_name("farenheit").is_none());
/// ```
pub fn unit_by_name(name: &str) -> Option<&'static Unit> {
    let wanted = comparable(name);
    if wanted.is_empty() {
        return None;
    }
    UNITS.iter().find(|unit| comparable(&unit.name) == wanted)
}

/// The first unit of the bundled table with a symbol.
pub fn unit_by_symbol(symbol: &str) -> Option<&'static Unit> {
    if symbol.is_empty() {
        return None;
    }
    UNITS.iter().find(|unit| unit.symbol == symbol)
}

/// All units of the bundled table.
pub fn units() -> &'static [Unit] {
    &UNITS
}

fn comparable(name: &str) -> String {
    name.trim()
        .to_lowercase()
        .split(['_', ' '])
        .filter(|word| !word.is_empty())
        .map(|word| match word {
            "feet" => "foot",
            "inches" => "inch",
            "hertz" | "celsius" | "siemens" | "lux" => word,
            _ if word.ends_with("ss") => word,
            _ => word.strip_suffix('s').unwrap_or(word),
        })
        .collect::<Vec<_>>()
        .join("_")
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{};{};{};", self.name, self.symbol, self.dimension)?;
        if let Some(Conversion { scale, offset }) = self.conversion {
            if scale != 1.0 {
                write!(f, "*{}", format_double(scale))?;
            }
            if offset != 0.0 {
                let sign = if offset < 0.0 { "" } else { "+" };
                write!(f, "{sign}{}", format_double(offset))?;
            }
        }
        f.write_str(";")
    }
}

impl FromStr for Unit {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let malformed = || UnitError::Malformed {
            text: text.to_owned(),
        };
        if text.is_empty() {
            return Err(malformed());
        }
        let mut fields = text.split(';');
        let mut next = || fields.next().unwrap_or_default().trim().to_owned();
        let (name, symbol, dimension, conversion) = (next(), next(), next(), next());
        Ok(Self {
            conversion: conversion_of(&conversion).ok_or_else(malformed)?,
            name,
            symbol,
            dimension,
        })
    }
}

/// Reads `*scale`, `+offset` or both; an empty text is the plain conversion and stays unsaid.
fn conversion_of(text: &str) -> Option<Option<Conversion>> {
    if text.is_empty() {
        return Some(None);
    }
    let (scale, rest) = match text.strip_prefix('*') {
        Some(body) => {
            // A sign directly behind an exponent mark belongs to the scale: *1.0E-4+273.15
            let end = body
                .char_indices()
                .skip(1)
                .find(|(at, c)| matches!(c, '+' | '-') && !body[..*at].ends_with(['E', 'e']))
                .map_or(body.len(), |(at, _)| at);
            (body[..end].trim().parse::<f64>().ok()?, &body[end..])
        }
        None => (1.0, text),
    };
    let offset = match rest.trim() {
        "" => 0.0,
        signed if signed.starts_with(['+', '-']) => signed.parse::<f64>().ok()?,
        _ => return None,
    };
    let usable = scale.is_finite() && scale != 0.0 && offset.is_finite();
    usable.then_some(Some(Conversion { scale, offset }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_line_of_the_table_is_a_unit_with_its_own_name() {
        let lines = TABLE
            .lines()
            .filter(|l| !l.is_empty() && !l.starts_with('#'))
            .count();
        assert_eq!(units().len(), lines);
        for unit in units() {
            let found = unit_by_name(unit.name()).unwrap();
            assert_eq!(found.name(), unit.name());
            assert_eq!(&unit.to_string().parse::<Unit>().unwrap(), unit);
        }
    }

    #[test]
    fn well_known_conversions_come_out() {
        for (value, from, to, expected) in [
            (32.0, "fahrenheit", "celsius", 0.0),
            (21.0, "celsius", "fahrenheit", 69.8),
            (
                1.0,
                "cubic_feet_per_minute",
                "liters_per_second",
                0.471_947_443_2,
            ),
            (1.0, "inches_of_water", "pascal", 249.0889),
            (14.5038, "pounds_per_square_inch", "kilopascal", 100.0),
            (1.0, "kilowatt_hours", "kilojoule", 3600.0),
            (1.0, "tons_refrigeration", "kilowatt", 3.516_853),
            (
                1.0,
                "gallons_per_minute",
                "liters_per_second",
                0.063_090_196_7,
            ),
            (1.0, "btus_per_pound", "kilojoules_per_kilogram", 2.326),
        ] {
            let (from, to) = (unit_by_name(from).unwrap(), unit_by_name(to).unwrap());
            let got = from.convert(value, to).unwrap();
            assert!(
                (got - expected).abs() <= 2e-4 * expected.abs().max(0.01),
                "{from} -> {to}: {got}"
            );
        }
    }

    #[test]
    fn unlike_and_unknown_units_are_refused_by_name() {
        let pascal = unit_by_name("pascal").unwrap();
        let celsius = unit_by_name("celsius").unwrap();
        assert!(matches!(
            celsius.convert(1.0, pascal),
            Err(UnitError::Dimension { .. })
        ));
        let misspelt: Unit = "farenheit;F;;;".parse().unwrap();
        let error = misspelt.convert(1.0, celsius).unwrap_err();
        assert!(error.to_string().contains("farenheit"), "{error}");
    }

    #[test]
    fn a_unit_sent_without_conversion_is_completed_from_the_table() {
        let short: Unit = "fahrenheit;°F;;;".parse().unwrap();
        let celsius: Unit = "celsius;°C;(K);+273.15;".parse().unwrap();
        assert!((short.convert(50.0, &celsius).unwrap() - 10.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn conversion_there_and_back_changes_nothing(value in -1e6f64..1e6, from in 0usize..60, to in 0usize..60) {
            let (from, to) = (&units()[from], &units()[to]);
            if let Ok(there) = from.convert(value, to) {
                let back = to.convert(there, from).unwrap();
                prop_assert!((back - value).abs() <= 1e-6 * value.abs().max(1.0), "{} {}", back, value);
            }
        }

        #[test]
        fn any_unit_survives_formatting(name in "[a-z_]{1,12}", scale in 1e-9f64..1e9, offset in -1e4f64..1e4) {
            let unit: Unit = format!("{name};s;(m3)(s-1);*{scale:?}{offset:+?};").parse().unwrap();
            prop_assert_eq!(unit.to_string().parse::<Unit>().unwrap(), unit);
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC*") {
            if let Ok(unit) = text.parse::<Unit>() {
                let _ = unit.exponents();
            }
        }
    }
}
