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
const AIR_MODES_GERMAN: [&str; 4] = ["Aus", "Aufheizen", "Vorkühlen", "Belegt"];

/// Which units a controller speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnitSystem {
    Customary,
    Metric,
}

/// In which language its engineer wrote the texts of states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    English,
    German,
}

/// How a controller shows what it measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Convention {
    pub units: UnitSystem,
    pub language: Language,
}

impl Convention {
    pub const CUSTOMARY: Self = Self {
        units: UnitSystem::Customary,
        language: Language::English,
    };
    pub const METRIC: Self = Self {
        units: UnitSystem::Metric,
        language: Language::English,
    };
    pub const GERMAN: Self = Self {
        units: UnitSystem::Metric,
        language: Language::German,
    };
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

    /// Unit and decimals of a numeric measure.
    fn unit(self, system: UnitSystem) -> (&'static str, i32) {
        match system {
            UnitSystem::Customary => self.customary_unit(),
            UnitSystem::Metric => self.metric_unit(),
        }
    }

    fn customary_unit(self) -> (&'static str, i32) {
        match self {
            Self::Temperature => ("fahrenheit", 1),
            Self::TemperatureDifference => ("fahrenheit_degrees", 1),
            Self::Percent => ("percent", 1),
            Self::Humidity => ("percent_relative_humidity", 1),
            Self::Airflow => ("cubic_feet_per_minute", 0),
            Self::WaterFlow => ("gallons_per_minute", 1),
            Self::DuctPressure => ("inches_of_water", 2),
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

    fn metric_unit(self) -> (&'static str, i32) {
        match self {
            Self::Temperature => ("celsius", 1),
            Self::TemperatureDifference => ("celsius_degrees", 1),
            Self::Airflow => ("liters_per_second", 0),
            Self::WaterFlow => ("cubic_meters_per_hour", 2),
            Self::DuctPressure => ("pascal", 0),
            Self::Psi => ("bar", 2),
            Self::HeatRate | Self::Tons => ("kilowatt", 1),
            Self::GasFlow => ("cubic_meters_per_hour", 2),
            Self::GasVolume => ("cubic_meter", 0),
            Self::WindSpeed => ("meters_per_second", 1),
            same => same.customary_unit(),
        }
    }

    /// Facets of a point as its controller shows it.
    pub fn facets(self, convention: Convention) -> Facets {
        match self.kind() {
            PointKind::Boolean => {
                let (on, off) = self.states(convention.language);
                Facets::boolean(on, off)
            }
            PointKind::Enum => Facets::range(self.range(convention.language)),
            PointKind::String => Facets::new(),
            PointKind::Numeric => {
                let (unit, precision) = self.unit(convention.units);
                Facets::numeric(unit, precision)
            }
        }
    }

    /// Texts of true and false.
    fn states(self, language: Language) -> (&'static str, &'static str) {
        match (self, language) {
            (Self::Occupancy, Language::English) => ("Occupied", "Unoccupied"),
            (Self::Occupancy, Language::German) => ("Belegt", "Unbelegt"),
            (Self::Alarm, Language::English) => ("Alarm", "Normal"),
            (Self::Alarm, Language::German) => ("Störung", "Normal"),
            (Self::HeatCool, Language::English) => ("Heating", "Cooling"),
            (Self::HeatCool, Language::German) => ("Heizen", "Kühlen"),
            (_, Language::English) => ("On", "Off"),
            (_, Language::German) => ("Ein", "Aus"),
        }
    }

    fn range(self, language: Language) -> EnumRange {
        let german = language == Language::German;
        let tags: &[(&str, i32)] = match self {
            Self::AirMode if german => &[
                ("aus", 0),
                ("aufheizen", 1),
                ("vorkühlen", 2),
                ("belegt", 3),
            ],
            Self::AirMode => &[("off", 0), ("warmUp", 1), ("coolDown", 2), ("occupied", 3)],
            Self::ZoneMode if german => &[("aus", 0), ("heizen", 1), ("Totband", 2), ("kühlen", 3)],
            Self::ZoneMode => &[("off", 0), ("heating", 1), ("dead band", 2), ("cooling", 3)],
            Self::Sky if german => &[("heiter", 0), ("wolkig", 1), ("bedeckt", 2)],
            Self::Sky => &[("clear", 0), ("partly cloudy", 1), ("overcast", 2)],
            Self::Stage if german => &[("aus", 0), ("Stufe 1", 1), ("Stufe 2", 2)],
            Self::Stage => &[("off", 0), ("stage1", 1), ("stage2", 2)],
            _ => return EnumRange::default(),
        };
        EnumRange::of(tags)
    }

    fn converted(self, value: f64, system: UnitSystem) -> f64 {
        match (self, system) {
            (Self::Kilopascal, _) => value * 6.894_757,
            (_, UnitSystem::Customary) => value,
            (Self::Temperature, _) => (value - 32.0) / 1.8,
            (Self::TemperatureDifference, _) => value / 1.8,
            (Self::Airflow, _) => value * 0.471_947_443,
            (Self::WaterFlow, _) => value * 0.227_124_707,
            (Self::DuctPressure, _) => value * 249.088_91,
            (Self::Psi, _) => value * 0.068_947_573,
            (Self::HeatRate, _) => value * 0.293_071_07,
            (Self::Tons, _) => value * 3.516_852_8,
            (Self::GasFlow | Self::GasVolume, _) => value * 0.028_316_847,
            (Self::WindSpeed, _) => value * 0.447_04,
            _ => value,
        }
    }
}

/// Turns simulated numbers into values of one point; made once per point, because enum ranges are shared.
#[derive(Clone, Debug)]
pub struct Reader {
    measure: Measure,
    convention: Convention,
    range: Arc<EnumRange>,
}

impl Reader {
    pub fn new(measure: Measure, convention: Convention) -> Self {
        Self {
            measure,
            convention,
            range: Arc::new(measure.range(convention.language)),
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
                match self.convention.language {
                    Language::English => AIR_MODES,
                    Language::German => AIR_MODES_GERMAN,
                }
                .get(simulated as usize)
                .copied()
                .unwrap_or("Unknown"),
            ),
            PointKind::Numeric => {
                let shown = self.measure.converted(simulated, self.convention.units);
                Value::Double((shown * 1000.0).round() / 1000.0)
            }
        }
    }
}
