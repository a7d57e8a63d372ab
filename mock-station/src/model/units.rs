//! The station's unit database: names, symbols, dimensions and conversions (Station web specification §5.1, oBIX specification §5.5).

use std::collections::HashMap;
use std::sync::LazyLock;

/// A unit of measure as facets carry it; the name is the key, the symbol is what people see.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Unit {
    pub name: String,
    pub symbol: String,
    /// Exponents of the base units, e.g. `(m)(s-1)`.
    pub dimension: String,
    /// `*scale` and/or `+offset` to the SI base; empty for none.
    pub conversion: String,
}

static TABLE: LazyLock<Vec<Unit>> = LazyLock::new(|| {
    include_str!("../../data/units.txt")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .filter_map(Unit::decode)
        .collect()
});

static BY_NAME: LazyLock<HashMap<&'static str, &'static Unit>> = LazyLock::new(|| {
    TABLE
        .iter()
        .map(|unit| (unit.name.as_str(), unit))
        .collect()
});

impl Unit {
    /// The unit of that name from the database; an unknown name (a misspelt one, say) becomes a unit with the name as its symbol.
    pub fn named(name: &str) -> Self {
        match Self::find(name) {
            Some(unit) => unit.clone(),
            None => Self {
                name: name.to_owned(),
                symbol: name.to_owned(),
                ..Self::default()
            },
        }
    }

    /// The unit of that name from the database.
    pub fn find(name: &str) -> Option<&'static Unit> {
        BY_NAME.get(name).copied()
    }

    /// All units of the database in file order.
    pub fn all() -> &'static [Unit] {
        &TABLE
    }

    /// The unit that stands for "none".
    pub fn null() -> Self {
        Self {
            name: "null".to_owned(),
            ..Self::default()
        }
    }

    /// Whether this is the null unit.
    pub fn is_null(&self) -> bool {
        self.name == "null" || self.name.is_empty()
    }

    /// Factor to the SI base unit, 1 if none is given.
    pub fn scale(&self) -> f64 {
        self.conversion_part('*').unwrap_or(1.0)
    }

    /// Offset to the SI base unit after scaling, 0 if none is given.
    pub fn offset(&self) -> f64 {
        self.conversion_part('+').unwrap_or(0.0)
    }

    fn conversion_part(&self, mark: char) -> Option<f64> {
        let start = self.conversion.find(mark)? + 1;
        let rest = self.conversion.get(start..)?;
        let end = rest.find(['*', '+']).unwrap_or(rest.len());
        rest.get(..end)?.parse().ok()
    }

    /// `name;symbol;dimension;conversion;`.
    pub fn encode(&self) -> String {
        format!(
            "{};{};{};{};",
            self.name, self.symbol, self.dimension, self.conversion
        )
    }

    /// Reads [`Unit::encode`]; later fields may be missing.
    pub fn decode(text: &str) -> Option<Self> {
        let mut fields = text.split(';').map(str::to_owned);
        let name = fields.next().filter(|name| !name.is_empty())?;
        Some(Self {
            name,
            symbol: fields.next().unwrap_or_default(),
            dimension: fields.next().unwrap_or_default(),
            conversion: fields.next().unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_is_read_whole_and_names_are_unique() {
        let lines = include_str!("../../data/units.txt")
            .lines()
            .filter(|l| !l.is_empty() && !l.starts_with('#'))
            .count();
        assert_eq!(Unit::all().len(), lines);
        assert_eq!(BY_NAME.len(), lines);
        assert!(lines >= 80);
    }

    #[test]
    fn fahrenheit_converts_to_kelvin() {
        let unit = Unit::named("fahrenheit");
        assert_eq!(unit.symbol, "°F");
        let kelvin = 32.0 * unit.scale() + unit.offset();
        assert!((kelvin - 273.15).abs() < 1e-9, "{kelvin}");
        assert_eq!(Unit::named("celsius").encode(), "celsius;°C;(K);+273.15;");
    }

    #[test]
    fn a_misspelt_unit_keeps_its_name() {
        let unit = Unit::named("farenheit");
        assert_eq!(
            (unit.name.as_str(), unit.symbol.as_str()),
            ("farenheit", "farenheit")
        );
        assert!(Unit::null().is_null());
    }
}
