//! Detectors of an air handler (Drift §5.1).

pub mod coil_leak;
pub mod coil_valve;
pub mod duct_static;
pub mod economizer;
pub mod fan_power;
pub mod filter;

/// Which coil, and the roles around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coil {
    Cooling,
    Heating,
}

impl Coil {
    /// The word in figures and configurations.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Cooling => "cooling",
            Self::Heating => "heating",
        }
    }

    /// The coil of a word.
    pub fn named(word: &str) -> Option<Self> {
        [Self::Cooling, Self::Heating]
            .into_iter()
            .find(|coil| coil.word() == word)
    }

    /// The role of its valve.
    pub const fn valve(self) -> &'static str {
        match self {
            Self::Cooling => "cool_valve",
            Self::Heating => "heat_valve",
        }
    }

    /// The role of the other coil's valve.
    pub const fn other_valve(self) -> &'static str {
        match self {
            Self::Cooling => "heat_valve",
            Self::Heating => "cool_valve",
        }
    }

    /// The role of the air that leaves it.
    pub const fn leaving(self) -> &'static str {
        match self {
            Self::Cooling => "cool_coil_leaving_temp",
            Self::Heating => "heat_coil_leaving_temp",
        }
    }

    /// The role of the water that feeds it.
    pub const fn water(self) -> &'static str {
        match self {
            Self::Cooling => "chw_supply_temp",
            Self::Heating => "hw_supply_temp",
        }
    }
}
