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

/// `units`: a system, or an object with one.
///
/// # Errors
/// It has other keys or words, or only one of `factor_set` and `region`.
pub fn units(root: &Section<'_>) -> Result<Option<UnitSystem>, ConfigError> {
    const SYSTEMS: [&str; 2] = ["ip", "si"];
    let system = match root.value("units") {
        None => return Ok(None),
        Some(Value::String(_)) => root.word("units", &SYSTEMS)?,
        Some(value) => {
            let section = Section::of(value, "units")?;
            section.only(&["system", "area", "factor_set", "region"])?;
            if section.value("factor_set").is_some() != section.value("region").is_some() {
                return Err(ConfigError::new(
                    "units",
                    "factor_set and region go together; give both or neither",
                ));
            }
            section.word("system", &SYSTEMS)?
        }
    };
    Ok(Some(match system {
        Some("si") => UnitSystem::Si,
        _ => UnitSystem::Ip,
    }))
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
