//! The catalogue of point kinds: what a point measures, in which units, and where its values usually lie.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Value, json};

use super::shipped;
use crate::station::units::{Unit, unit_by_name};

const TABLE: &str = include_str!("../../knowledge/kinds.yaml");

static KINDS: LazyLock<Vec<Kind>> =
    LazyLock::new(|| shipped::table::<Catalogue>("kinds.yaml", TABLE).kinds);

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalogue {
    kinds: Vec<Kind>,
}

/// What a point measures or commands, for example `temperature` (tool surface §9.1).
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    pub id: String,
    pub name: String,
    pub value: ValueForm,
    pub description: String,
    /// Names in the station's unit database; the usual one first.
    pub units: Vec<String>,
    /// Where values usually lie; a hint for plausibility, never a limit.
    pub typical: Option<TypicalRange>,
}

/// The form of a kind's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueForm {
    Number,
    Boolean,
    Enum,
    Text,
}

/// A usual range of values; without a unit the values are bare numbers.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TypicalRange {
    pub unit: Option<String>,
    pub min: f64,
    pub max: f64,
}

impl ValueForm {
    /// The word used in tool results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Enum => "enum",
            Self::Text => "text",
        }
    }
}

impl Kind {
    /// Whether values in a unit can be of this kind: one of its units, or one that converts into them.
    ///
    /// A unit of which neither the dimension nor the name is known fits no kind that has units.
    pub fn accepts(&self, unit: &Unit) -> bool {
        if unit.is_null() {
            return self.units.is_empty();
        }
        self.units
            .iter()
            .filter_map(|name| unit_by_name(name))
            .any(|known| known.name() == unit.name() || same_quantity(known, unit))
    }

    /// The kind as shown in the catalogue resource; symbols stand beside unit names.
    pub fn to_tree(&self) -> Value {
        let units: Vec<Value> = self
            .units
            .iter()
            .map(|name| {
                let symbol = unit_by_name(name).map_or("", Unit::symbol);
                json!({"name": name, "symbol": symbol})
            })
            .collect();
        let mut tree = json!({
            "id": self.id,
            "name": self.name,
            "description": self.description,
            "value": self.value.name(),
            "units": units,
        });
        if let Some(range) = &self.typical {
            let mut typical = json!({"min": range.min, "max": range.max});
            if let Some(unit) = &range.unit {
                typical["unit"] = json!(unit);
            }
            tree["typical"] = typical;
        }
        tree
    }
}

/// Two units of one dimension; bare ratios (percent, ppm, power factor) have no dimension and are never the same.
fn same_quantity(one: &Unit, other: &Unit) -> bool {
    let exponents = one.exponents();
    !exponents.is_empty() && exponents == other.exponents()
}

/// All kinds in catalogue order.
pub fn kinds() -> &'static [Kind] {
    &KINDS
}

/// The kind of that id.
///
/// ```
/// use niagara_bridge::knowledge::kinds::kind;
/// assert_eq!(kind("temperature").unwrap().units[0], "fahrenheit");
/// assert!(kind("colour").is_none());
/// ```
pub fn kind(id: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.id == id)
}

/// The kind whose usual unit this is, else the first that lists it, else the first whose units it converts into.
///
/// A bare number has none.
pub fn kind_of_unit(unit: &Unit) -> Option<&'static Kind> {
    if unit.is_null() {
        return None;
    }
    let full = unit_by_name(unit.name()).unwrap_or(unit);
    KINDS
        .iter()
        .find(|kind| kind.units.first().is_some_and(|name| name == full.name()))
        .or_else(|| {
            KINDS
                .iter()
                .find(|kind| kind.units.iter().any(|name| name == full.name()))
        })
        .or_else(|| KINDS.iter().find(|kind| kind.accepts(full)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::units::units;

    #[test]
    fn the_catalogue_is_readable_and_consistent() {
        assert!(kinds().len() > 20);
        for kind in kinds() {
            assert_eq!(
                kinds().iter().filter(|other| other.id == kind.id).count(),
                1,
                "{} stands twice",
                kind.id
            );
            for unit in &kind.units {
                assert!(unit_by_name(unit).is_some(), "{}: {unit}", kind.id);
            }
            if kind.value != ValueForm::Number {
                assert!(
                    kind.units.is_empty() && kind.typical.is_none(),
                    "{}",
                    kind.id
                );
            }
            if let Some(range) = &kind.typical {
                assert!(range.min < range.max, "{}", kind.id);
                let listed = range
                    .unit
                    .as_ref()
                    .is_none_or(|unit| kind.units.contains(unit));
                assert!(
                    listed,
                    "{}: the typical range is in a foreign unit",
                    kind.id
                );
            }
        }
        for seen in [
            "temperature",
            "pressure",
            "flow",
            "humidity",
            "boolean",
            "percent",
            "enum",
            "count",
            "power",
            "energy",
            "ppm",
        ] {
            assert!(kind(seen).is_some(), "{seen}");
        }
    }

    #[test]
    fn units_name_their_kind() {
        for (unit, expected) in [
            ("celsius", "temperature"),
            ("fahrenheit_degrees", "temperature_difference"),
            ("cubic_feet_per_minute", "flow"),
            ("kilopascal", "pressure"),
            ("kilowatt", "power"),
            ("kilowatt_hours", "energy"),
            ("percent_relative_humidity", "humidity"),
            ("percent", "percent"),
            ("parts_per_million", "ppm"),
            ("rankine", "temperature"),
        ] {
            let unit = unit_by_name(unit).unwrap();
            assert_eq!(kind_of_unit(unit).unwrap().id, expected, "{}", unit.name());
        }
        assert!(kind_of_unit(&Unit::null()).is_none());
        assert!(kind_of_unit(&Unit::unknown("farenheit")).is_none());
        let unknown: Vec<_> = units()
            .iter()
            .filter(|unit| !unit.is_null() && kind_of_unit(unit).is_none())
            .map(Unit::name)
            .collect();
        assert_eq!(
            unknown,
            [
                "ohm",
                "kilohm",
                "square_meter",
                "square_foot",
                "kilogram",
                "gram",
                "pound",
                "kilowatt_hours_per_square_meter"
            ],
            "units without a kind"
        );
    }

    #[test]
    fn a_unit_of_another_quantity_is_not_accepted() {
        let temperature = kind("temperature").unwrap();
        assert!(temperature.accepts(unit_by_name("celsius").unwrap()));
        assert!(!temperature.accepts(unit_by_name("kilowatt").unwrap()));
        assert!(!temperature.accepts(&Unit::null()));
        assert!(kind("count").unwrap().accepts(&Unit::null()));
        assert!(
            !kind("percent")
                .unwrap()
                .accepts(unit_by_name("parts_per_million").unwrap())
        );
    }
}
