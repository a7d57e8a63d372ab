//! The wet bulb that a tower works against, measured or formed, and the samples that tell of it (Plant rules §2.16, §2.17).

use std::borrow::Cow;

use crate::frame::Frame;
use crate::gates;
use crate::masks;
use crate::parameters::Parameters;
use crate::wet_bulb::WetBulbFormula;

/// Credible temperatures of condenser water and of a wet bulb (°F).
const CREDIBLE_WATER: std::ops::RangeInclusive<f64> = 40.0..=120.0;
const CREDIBLE_WET_BULB: std::ops::RangeInclusive<f64> = 10.0..=95.0;
/// Fan speeds above are a running fan (%).
const FAN_RUNNING_PCT: f64 = 5.0;
/// Without a fan, water that is cooled by that much passes a tower in operation (°F).
const OPERATING_RANGE: f64 = 2.0;

/// Where a wet bulb is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WetBulbBasis {
    Measured,
    /// Out of temperature and humidity at the pressure of the site.
    Site,
    /// The same at sea level, because neither elevation nor pressure is known.
    SeaLevel,
}

impl WetBulbBasis {
    /// `measured` or `derived`.
    pub const fn source(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Site | Self::SeaLevel => "derived",
        }
    }

    /// The pressure: `measured`, `site`, `sea-level`.
    pub const fn pressure(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Site => "site",
            Self::SeaLevel => "sea-level",
        }
    }
}

/// A wet bulb for each row.
#[derive(Debug, Clone)]
pub struct WetBulb<'a> {
    pub values: Cow<'a, [f64]>,
    pub basis: WetBulbBasis,
}

impl<'a> WetBulb<'a> {
    /// The trended wet bulb, also when it has no sample, or else that of outdoor air; none without either.
    pub fn of(frame: &Frame<'a>, parameters: &Parameters) -> Option<Self> {
        if let Some(measured) = frame.column("wetbulb_temp") {
            return Some(Self {
                values: Cow::Borrowed(measured),
                basis: WetBulbBasis::Measured,
            });
        }
        let oat = frame.column("oat")?;
        let humidity = gates::percent(frame.column("outdoor_rh")?);
        let formula = WetBulbFormula::of(parameters);
        Some(Self {
            values: Cow::Owned(masks::paired(oat, &humidity, |oat, humidity| {
                formula.wet_bulb(oat, humidity)
            })),
            basis: match formula {
                WetBulbFormula::SeaLevel => WetBulbBasis::SeaLevel,
                WetBulbFormula::AtPressure(_) => WetBulbBasis::Site,
            },
        })
    }
}

/// Rows with credible water and wet bulb, and with return water where it is trended.
pub fn credible_rows(frame: &Frame<'_>, wet_bulb: &[f64]) -> Option<Vec<bool>> {
    let water = frame.column("cw_supply_temp")?;
    let mut rows = masks::where_pair(water, wet_bulb, |water, wet_bulb| {
        CREDIBLE_WATER.contains(&water) && CREDIBLE_WET_BULB.contains(&wet_bulb)
    });
    if let Some(returned) = frame.column("cw_return_temp") {
        masks::narrow(&mut rows, &masks::present(returned));
    }
    Some(rows)
}

/// Rows with a running fan.
pub fn fan_runs(speed: &[f64]) -> Vec<bool> {
    masks::where_value(speed, |speed| speed > FAN_RUNNING_PCT)
}

/// Return water minus supply water.
pub fn range(frame: &Frame<'_>) -> Option<Vec<f64>> {
    Some(masks::paired(
        frame.column("cw_return_temp")?,
        frame.column("cw_supply_temp")?,
        |returned, supplied| returned - supplied,
    ))
}

/// Rows in which water is cooled, for towers without a fan signal; all rows when return water is not trended.
pub fn water_is_cooled(frame: &Frame<'_>) -> Vec<bool> {
    match range(frame) {
        Some(range) => masks::where_value(&range, |range| range >= OPERATING_RANGE),
        None => vec![true; frame.len()],
    }
}
