//! Wet bulb of a window: measured, else from temperature and humidity (Drift §4).

use super::windows::Side;
use crate::masks;
use crate::wet_bulb::{WetBulbFormula, standard_pressure};

/// The measured wet bulb where the column exists, else the derived one; none without both of its inputs.
pub fn wet_bulb(side: &Side<'_>, elevation_ft: Option<f64>) -> Option<Vec<f64>> {
    if let Some(measured) = side.column("wetbulb_temp") {
        return Some(measured.to_vec());
    }
    let formula = match elevation_ft {
        Some(elevation) => WetBulbFormula::AtPressure(standard_pressure(elevation)),
        None => WetBulbFormula::SeaLevel,
    };
    let (outdoor, humidity) = (side.column("oat")?, side.column("outdoor_rh")?);
    Some(masks::paired(outdoor, humidity, |outdoor, humidity| {
        formula.wet_bulb(outdoor, humidity)
    }))
}
