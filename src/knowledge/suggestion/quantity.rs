//! What a point measures, told by its unit and the type of its value.

use serde::Deserialize;

use crate::knowledge::kinds::{ValueForm, kind, kind_of_unit};
use crate::station::units::{Unit, unit_by_name, unit_by_symbol, units};

/// Letters of a unit's name for each letter that may be wrong in it: "celcius" is one off, "farenheit" too.
const LETTERS_PER_SLIP: usize = 6;

/// What a value is a measure of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    Temperature,
    TemperatureDifference,
    Percent,
    Humidity,
    /// In the small units of ducts and filters.
    AirPressure,
    Pressure,
    /// Of volume, in a unit that is used for air and for water.
    Flow,
    AirFlow,
    WaterFlow,
    /// In units that are used for gas only.
    GasFlow,
    Power,
    /// In units that are used for heat only.
    HeatRate,
    Energy,
    Ppm,
    /// Of a drive: frequency or revolutions.
    Speed,
    Voltage,
    Current,
    /// Of water or gas that a meter counts.
    Volume,
    /// Of air or wind.
    Velocity,
    Angle,
    Irradiance,
    /// Something else with a unit.
    Other,
    /// A number without unit.
    Number,
    Boolean,
    Enum,
    Text,
    /// A numeric point whose unit is not understood.
    Unknown,
}

/// How the values of a point are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueKind {
    Numeric,
    Boolean,
    Enum,
    Text,
}

impl ValueKind {
    /// By the name of the point's type, `control:NumericWritable` and the like; none for what holds no value of these.
    pub fn of_type(type_spec: &str) -> Option<Self> {
        let name = type_spec.rsplit(':').next().unwrap_or_default();
        [
            ("Numeric", Self::Numeric),
            ("Boolean", Self::Boolean),
            ("Enum", Self::Enum),
            ("String", Self::Text),
        ]
        .into_iter()
        .find(|(word, _)| name.contains(word))
        .map(|(_, kind)| kind)
    }
}

impl Quantity {
    /// The quantity of a point; a numeric one without a unit is [`Quantity::Number`].
    pub fn of(kind: ValueKind, unit: Option<&Unit>) -> Self {
        match kind {
            ValueKind::Boolean => Self::Boolean,
            ValueKind::Enum => Self::Enum,
            ValueKind::Text => Self::Text,
            ValueKind::Numeric => match unit {
                None => Self::Number,
                Some(unit) if unit.is_null() => Self::Number,
                Some(unit) => Self::of_unit(unit),
            },
        }
    }

    fn of_unit(unit: &Unit) -> Self {
        let known = recognised(unit);
        let unit = known.unwrap_or(unit);
        let name = unit.name();
        match name {
            "celsius" | "fahrenheit" | "kelvin" | "rankine" => return Self::Temperature,
            "celsius_degrees" | "fahrenheit_degrees" => return Self::TemperatureDifference,
            "percent" | "ratio" => return Self::Percent,
            "percent_relative_humidity" => return Self::Humidity,
            "parts_per_million" => return Self::Ppm,
            "power_factor" => return Self::Other,
            _ => {}
        }
        let squeezed: String = name.replace([' ', '-'], "_");
        match unit.dimension() {
            "(K)" => {
                if name.contains("degrees") || name.contains("difference") {
                    Self::TemperatureDifference
                } else {
                    Self::Temperature
                }
            }
            "(kg)(m-1)(s-2)" => match squeezed.as_str() {
                "pascal"
                | "hectopascal"
                | "inches_of_water"
                | "millimeters_of_water"
                | "millibar" => Self::AirPressure,
                _ => Self::Pressure,
            },
            "(m3)(s-1)" => match squeezed.as_str() {
                "cubic_feet_per_minute" => Self::AirFlow,
                "gallons_per_minute"
                | "gallons_per_hour"
                | "imperial_gallons_per_minute"
                | "liters_per_hour"
                | "liters_per_minute" => Self::WaterFlow,
                "cubic_feet_per_hour" => Self::GasFlow,
                _ => Self::Flow,
            },
            "(kg)(m2)(s-3)" => {
                if squeezed.contains("btu") || squeezed.contains("tons") {
                    Self::HeatRate
                } else if squeezed.contains("ampere") {
                    Self::Other
                } else {
                    Self::Power
                }
            }
            "(kg)(m2)(s-2)" => Self::Energy,
            "(s-1)" => Self::Speed,
            _ if known.is_none() => Self::Unknown,
            _ => match kind_of_unit(unit).map(|kind| kind.id.as_str()) {
                Some("voltage") => Self::Voltage,
                Some("current") => Self::Current,
                Some("volume") => Self::Volume,
                Some("speed") => Self::Velocity,
                Some("angle") => Self::Angle,
                Some("irradiance") => Self::Irradiance,
                _ => Self::Other,
            },
        }
    }

    /// Of a kind of the catalogue; none for a kind that is not in it.
    pub fn of_kind(id: &str) -> Vec<Self> {
        let Some(kind) = kind(id) else {
            return Vec::new();
        };
        let mut quantities = match kind.value {
            ValueForm::Boolean => vec![Self::Boolean, Self::Enum],
            ValueForm::Enum => vec![Self::Enum, Self::Text, Self::Number],
            ValueForm::Text => vec![Self::Text],
            ValueForm::Number if kind.units.is_empty() => vec![Self::Number],
            ValueForm::Number => Vec::new(),
        };
        for unit in kind.units.iter().filter_map(|name| unit_by_name(name)) {
            let quantity = Self::of_unit(unit);
            if !quantities.contains(&quantity) {
                quantities.push(quantity);
            }
        }
        quantities
    }

    /// The concepts that name this quantity, by which a point without a unit may be told.
    pub(super) fn concepts(self) -> &'static str {
        match self {
            Self::Temperature | Self::TemperatureDifference => "temp",
            Self::Percent => "",
            Self::Humidity => "humidity",
            Self::AirPressure | Self::Pressure => "press",
            Self::Flow | Self::AirFlow | Self::WaterFlow | Self::GasFlow => "flow",
            Self::Power => "power",
            Self::HeatRate => "power thermal",
            Self::Energy => "energy",
            Self::Ppm => "",
            Self::Speed => "speed",
            Self::Voltage => "volt",
            Self::Current => "amp",
            Self::Angle => "direction",
            Self::Irradiance => "solar",
            _ => "",
        }
    }

    /// As people say it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Temperature => "a temperature",
            Self::TemperatureDifference => "a temperature difference",
            Self::Percent => "a percentage",
            Self::Humidity => "a humidity",
            Self::AirPressure => "an air pressure",
            Self::Pressure => "a pressure",
            Self::Flow | Self::AirFlow | Self::WaterFlow | Self::GasFlow => "a flow",
            Self::Power => "a power",
            Self::HeatRate => "a rate of heat",
            Self::Energy => "an energy",
            Self::Ppm => "a concentration",
            Self::Speed | Self::Velocity => "a speed",
            Self::Voltage => "a voltage",
            Self::Current => "a current",
            Self::Volume => "a volume",
            Self::Angle => "an angle",
            Self::Irradiance => "an irradiance",
            Self::Other => "another quantity",
            Self::Number => "a plain number",
            Self::Boolean => "on or off",
            Self::Enum => "a choice",
            Self::Text => "text",
            Self::Unknown => "a quantity that its unit does not tell",
        }
    }
}

/// The station unit that a misspelt or shortened name means; none for a unit that is known or cannot be made out.
fn recognised(unit: &Unit) -> Option<&'static Unit> {
    let name = unit.name().trim();
    if let Some(known) = unit_by_name(name) {
        return Some(known);
    }
    if !unit.dimension().is_empty() {
        return None;
    }
    for text in [name, unit.symbol()] {
        if let Some(known) = unit_by_symbol(text) {
            return Some(known);
        }
    }
    let folded = name.to_lowercase().replace([' ', '-'], "_");
    units()
        .iter()
        .map(|known| (strsim::levenshtein(known.name(), &folded), known))
        .filter(|(slips, known)| slips * LETTERS_PER_SLIP <= known.name().len())
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Quantity {
        let unit = unit_by_name(name)
            .cloned()
            .unwrap_or_else(|| Unit::unknown(name));
        Quantity::of(ValueKind::Numeric, Some(&unit))
    }

    #[test]
    fn units_tell_the_quantity_and_misspelt_ones_are_understood() {
        for (unit, quantity) in [
            ("fahrenheit", Quantity::Temperature),
            ("farenheit", Quantity::Temperature),
            ("celcius", Quantity::Temperature),
            ("celsius_degrees", Quantity::TemperatureDifference),
            ("Pa", Quantity::AirPressure),
            ("kilopascal", Quantity::Pressure),
            ("cubic_feet_per_minute", Quantity::AirFlow),
            ("liters_per_second", Quantity::Flow),
            ("gallons_per_minute", Quantity::WaterFlow),
            ("tons_refrigeration", Quantity::HeatRate),
            ("kilowatt", Quantity::Power),
            ("kilowatt_hours", Quantity::Energy),
            ("percent_relative_humidity", Quantity::Humidity),
            ("hertz", Quantity::Speed),
            ("volt", Quantity::Voltage),
            ("ampere", Quantity::Current),
            ("cubic_meter", Quantity::Volume),
            ("meters_per_second", Quantity::Velocity),
            ("degrees_angular", Quantity::Angle),
            ("watts_per_square_meter", Quantity::Irradiance),
            ("cubic_feet_per_hour", Quantity::GasFlow),
            ("lux", Quantity::Other),
            ("furlongs", Quantity::Unknown),
        ] {
            assert_eq!(of(unit), quantity, "{unit}");
        }
        assert_eq!(Quantity::of(ValueKind::Numeric, None), Quantity::Number);
        assert_eq!(
            ValueKind::of_type("control:BooleanWritable"),
            Some(ValueKind::Boolean)
        );
        assert_eq!(ValueKind::of_type("baja:Folder"), None);
    }
}
