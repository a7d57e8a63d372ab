//! The model in the vocabularies of others: Project Haystack and Brick.
//!
//! - [`haystack`]: a Project Haystack 4 grid as JSON.
//! - [`brick`]: a Brick graph as Turtle, written by [`turtle`].
//! - [`view`]: what both have in common: points with role and kind, spaces with their building.
//!
//! Their tables are data: `knowledge/haystack-tags.yaml`, `knowledge/brick-classes.yaml`.

pub mod brick;
pub mod haystack;
mod turtle;
mod view;

use std::collections::HashMap;

use super::kinds::ValueForm;
use crate::station::facade::DescribedPoint;
use crate::station::facets::Facets;
use crate::station::units::{Unit, unit_by_name};

/// What the station says about its points, by absolute ord; empty when it was not asked.
pub type StationPoints = HashMap<String, StationPoint>;

/// What the station says about one point.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StationPoint {
    pub unit: Option<Unit>,
    pub value: Option<ValueForm>,
    /// Names of the states of an enum in their order, of a boolean false first.
    pub states: Vec<String>,
    pub writable: bool,
}

/// What exports take of the points that a station described.
pub fn station_points(described: Vec<DescribedPoint>) -> StationPoints {
    let facts = described.into_iter().map(|point| {
        let facts = StationPoint::of(&point.type_spec, &point.facets);
        (point.ord, facts)
    });
    facts.collect()
}

impl StationPoint {
    fn of(type_spec: &str, facets: &Facets) -> Self {
        let name = type_spec.rsplit(':').next().unwrap_or_default();
        let value = [
            ("Numeric", ValueForm::Number),
            ("Boolean", ValueForm::Boolean),
            ("Enum", ValueForm::Enum),
            ("String", ValueForm::Text),
        ]
        .into_iter()
        .find_map(|(start, form)| name.starts_with(start).then_some(form));
        let states = match value {
            Some(ValueForm::Boolean) => [facets.false_text(), facets.true_text()]
                .into_iter()
                .collect::<Option<Vec<_>>>()
                .map_or_else(Vec::new, |texts| {
                    texts.into_iter().map(str::to_owned).collect()
                }),
            Some(ValueForm::Enum) => facets.range().map_or_else(Vec::new, |range| {
                range.choices().iter().map(|(_, tag)| tag.clone()).collect()
            }),
            _ => Vec::new(),
        };
        // Only the name counts: it names the unit in the tables, whatever conversion the station sent along.
        let unit = facets
            .unit()
            .map(|unit| unit_by_name(unit.name()).unwrap_or(unit).clone());
        Self {
            unit: unit.filter(|_| value.is_none_or(|form| form == ValueForm::Number)),
            value,
            states,
            writable: name.ends_with("Writable"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_and_facets_of_a_point_become_unit_states_and_value_form() {
        let of =
            |type_spec: &str, facets: &str| StationPoint::of(type_spec, &facets.parse().unwrap());
        let temperature = of(
            "control:NumericPoint",
            "units=u:fahrenheit;°F;(K);*0.5555555555555556+255.3722222222222;",
        );
        assert_eq!(temperature.unit.as_ref().unwrap().name(), "fahrenheit");
        assert_eq!(
            (temperature.value, temperature.writable),
            (Some(ValueForm::Number), false)
        );
        let command = of("control:BooleanWritable", "trueText=s:On|falseText=s:Off");
        assert_eq!(command.states, ["Off", "On"]);
        assert!(command.writable && command.unit.is_none());
        let mode = of("control:EnumWritable", "range=E:{Heat=1,Cool=2}");
        assert_eq!(mode.states, ["Heat", "Cool"]);
        let block = of("kitControl:Average", "units=u:celsius;°C;(K);+273.15;");
        assert_eq!(
            (block.value, block.unit.unwrap().name().to_owned()),
            (None, "celsius".to_owned())
        );
    }
}
