//! What a site says of its units and its weather (Engine §5.1).

use super::section::{ConfigError, Section};
use serde_json::Value;

/// Units in which energy is reported; rules always judge in the store's units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnitSystem {
    /// kBtu.
    #[default]
    Ip,
    /// kWh.
    Si,
}

/// Where gas is of whose heat a factor set tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GasRegion {
    UnitedStates,
    Canada,
}

/// The `units` of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnitBlock {
    pub system: UnitSystem,
    /// Natural gas is as hot as the factor set `energy_star_thermal_2015` says of this region.
    pub gas_region: Option<GasRegion>,
}

/// `units`: a system, or an object with one.
///
/// # Errors
/// It has other keys or words, no system, or only one of `factor_set` and `region`.
pub fn units(root: &Section<'_>) -> Result<Option<UnitBlock>, ConfigError> {
    const SYSTEMS: [&str; 2] = ["ip", "si"];
    let (system, gas_region) = match root.value("units") {
        None => return Ok(None),
        Some(Value::String(_)) => (root.word("units", &SYSTEMS)?, None),
        Some(value) => {
            let section = Section::of(value, "units")?;
            section.only(&["system", "area", "factor_set", "region"])?;
            section.word("area", &["ft2", "m2"])?;
            section.required_text("system")?;
            (section.word("system", &SYSTEMS)?, gas_region(&section)?)
        }
    };
    let system = match system {
        Some("si") => UnitSystem::Si,
        _ => UnitSystem::Ip,
    };
    Ok(Some(UnitBlock { system, gas_region }))
}

fn gas_region(section: &Section<'_>) -> Result<Option<GasRegion>, ConfigError> {
    if section.value("factor_set").is_some() != section.value("region").is_some() {
        return Err(ConfigError::new(
            "units",
            "factor_set and region go together; give both or neither",
        ));
    }
    section.word("factor_set", &["energy_star_thermal_2015"])?;
    Ok(match section.word("region", &["US", "CA"])? {
        Some("US") => Some(GasRegion::UnitedStates),
        Some("CA") => Some(GasRegion::Canada),
        _ => None,
    })
}

/// Checks `weather`: how exactly the place of the site may be told when weather is asked for.
///
/// # Errors
/// A word or number is none of those allowed.
pub fn check_weather(root: &Section<'_>) -> Result<(), ConfigError> {
    root.flag("private")?;
    if let Some(weather) = root.section("weather")? {
        weather.word("privacy", &["public", "coarse", "offline"])?;
        weather.number_within("precision_deg", 0.05, 5.0)?;
    }
    Ok(())
}
