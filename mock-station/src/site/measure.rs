//! What a point measures: its facets, and the conversion from the units of the simulation.

use crate::model::enums::DynamicEnum;
use crate::model::{EnumRange, Facets, PointKind, Value};
use std::sync::Arc;

/// The quantity behind a point and how its controller shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    Temperature,
    TemperatureDifference,
    Percent,
    Humidity,
    Airflow,
    WaterFlow,
    DuctPressure,
    /// Hydronic pressure in psi.
    Psi,
    /// Hydronic pressure, simulated in psi and shown in kPa.
    Kilopascal,
    Power,
    Energy,
    HeatRate,
    Tons,
    GasFlow,
    GasVolume,
    Ppm,
    WindSpeed,
    Direction,
    Irradiance,
    Voltage,
    Current,
    PowerFactor,
    /// A plain number.
    Count,
    OnOff,
    /// `Occupied` and `Unoccupied`.
    Occupancy,
    Alarm,
    /// Heating or cooling position of a reversing valve.
    HeatCool,
    AirMode,
    ZoneMode,
    Sky,
    Stage,
    /// The air mode as text.
    AirModeText,
}

const AIR_MODES: [&str; 4] = ["Off", "Warm-up", "Cool-down", "Occupied"];

/// Which units a controller speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnitSystem {
    Customary,
    /// The one controller on site that was commissioned in °C, Pa and L/s.
    Metric,
}

impl Measure {
    pub fn kind(self) -> PointKind {
        match self {
            Self::OnOff | Self::Occupancy | Self::Alarm | Self::HeatCool => PointKind::Boolean,
            Self::AirMode | Self::ZoneMode | Self::Sky | Self::Stage => PointKind::Enum,
            Self::AirModeText => PointKind::String,
            _ => PointKind::Numeric,
        }
    }

    fn unit(self, system: UnitSystem) -> (&'static str, i32) {
        let metric = system == UnitSystem::Metric;
        match self {
            Self::Temperature => (if metric { "celsius" } else { "fahrenheit" }, 1),
            Self::TemperatureDifference => (
                if metric {
                    "celsius_degrees"
                } else {
                    "fahrenheit_degrees"
                },
                1,
            ),
            Self::Percent => ("percent", 1),
            Self::Humidity => ("percent_relative_humidity", 1),
            Self::Airflow => (
                if metric {
                    "liters_per_second"
                } else {
                    "cubic_feet_per_minute"
                },
                0,
            ),
            Self::WaterFlow => ("gallons_per_minute", 1),
            Self::DuctPressure => (
                if metric { "pascal" } else { "inches_of_water" },
                if metric { 0 } else { 2 },
            ),
            Self::Psi => ("pounds_per_square_inch", 1),
            Self::Kilopascal => ("kilopascal", 1),
            Self::Power => ("kilowatt", 1),
            Self::Energy => ("kilowatt_hours", 0),
            Self::HeatRate => ("kilobtus_per_hour", 1),
            Self::Tons => ("tons_refrigeration", 1),
            Self::GasFlow => ("cubic_feet_per_hour", 1),
            Self::GasVolume => ("cubic_foot", 0),
            Self::Ppm => ("parts_per_million", 0),
            Self::WindSpeed => ("miles_per_hour", 1),
            Self::Direction => ("degrees_angular", 0),
            Self::Irradiance => ("watts_per_square_meter", 0),
            Self::Voltage => ("volt", 1),
            Self::Current => ("ampere", 1),
            Self::PowerFactor => ("power_factor", 2),
            _ => ("null", 0),
        }
    }

    /// Facets of a point in the units of its controller.
    pub fn facets(self, system: UnitSystem) -> Facets {
        match self {
            Self::OnOff => Facets::boolean("On", "Off"),
            Self::Occupancy => Facets::boolean("Occupied", "Unoccupied"),
            Self::Alarm => Facets::boolean("Alarm", "Normal"),
            Self::HeatCool => Facets::boolean("Heating", "Cooling"),
            Self::AirMode | Self::ZoneMode | Self::Sky | Self::Stage => Facets::range(self.range()),
            Self::AirModeText => Facets::new(),
            numeric => {
                let (unit, precision) = numeric.unit(system);
                Facets::numeric(unit, precision)
            }
        }
    }

    fn range(self) -> EnumRange {
        match self {
            Self::AirMode => {
                EnumRange::of(&[("off", 0), ("warmUp", 1), ("coolDown", 2), ("occupied", 3)])
            }
            Self::ZoneMode => {
                EnumRange::of(&[("off", 0), ("heating", 1), ("dead band", 2), ("cooling", 3)])
            }
            Self::Sky => EnumRange::of(&[("clear", 0), ("partly cloudy", 1), ("overcast", 2)]),
            Self::Stage => EnumRange::of(&[("off", 0), ("stage1", 1), ("stage2", 2)]),
            _ => EnumRange::default(),
        }
    }

    fn converted(self, value: f64, system: UnitSystem) -> f64 {
        match (self, system) {
            (Self::Temperature, UnitSystem::Metric) => (value - 32.0) / 1.8,
            (Self::TemperatureDifference, UnitSystem::Metric) => value / 1.8,
            (Self::Airflow, UnitSystem::Metric) => value * 0.471_947_443,
            (Self::DuctPressure, UnitSystem::Metric) => value * 249.088_91,
            (Self::Kilopascal, _) => value * 6.894_757,
            _ => value,
        }
    }
}

/// Turns simulated numbers into values of one point; made once per point, because enum ranges are shared.
#[derive(Clone, Debug)]
pub struct Reader {
    measure: Measure,
    system: UnitSystem,
    range: Arc<EnumRange>,
}

impl Reader {
    pub fn new(measure: Measure, system: UnitSystem) -> Self {
        Self {
            measure,
            system,
            range: Arc::new(measure.range()),
        }
    }

    /// The value of the point for a simulated number. Numbers are rounded to a thousandth, as controllers transmit them.
    pub fn value(&self, simulated: f64) -> Value {
        match self.measure.kind() {
            PointKind::Boolean => Value::Boolean(simulated > 0.5),
            PointKind::Enum => Value::DynamicEnum(DynamicEnum {
                ordinal: simulated as i32,
                range: Arc::clone(&self.range),
            }),
            PointKind::String => Value::from(
                AIR_MODES
                    .get(simulated as usize)
                    .copied()
                    .unwrap_or("Unknown"),
            ),
            PointKind::Numeric => {
                let shown = self.measure.converted(simulated, self.system);
                Value::Double((shown * 1000.0).round() / 1000.0)
            }
        }
    }
}
