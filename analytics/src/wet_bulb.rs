//! Wet bulbs and pressures of the plant rules. Temperatures in °F, relative humidities in percent, pressures in psia.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::parameters::Parameters;
use crate::tables;

const COEFFICIENTS: &str = include_str!("../../knowledge/camber/psychrometrics.json");

static PLANT: LazyLock<Coefficients> = LazyLock::new(|| tables::table(COEFFICIENTS));

/// Constants of the plant-side formulas (Plant rules §1.6).
#[derive(Debug, Default, Deserialize)]
struct Coefficients {
    stull: Stull,
    magnus_kpa: Magnus,
    wetbulb: WetBulbBalance,
    sea_level_psia: f64,
    kpa_per_psi: f64,
    standard_atmosphere: Atmosphere,
}

/// Stull's fit at sea level, °C and percent.
#[derive(Debug, Default, Deserialize)]
struct Stull {
    a: f64,
    b: f64,
    c: f64,
    d: f64,
    e: f64,
    f: f64,
    rh_exponent: f64,
}

/// Vapour pressure over water in kPa: a factor, a ratio, and °C.
#[derive(Debug, Default, Deserialize)]
struct Magnus {
    a: f64,
    b: f64,
    c: f64,
}

/// Energy balance of a wet bulb, kJ/kg and °C.
#[derive(Debug, Default, Deserialize)]
struct WetBulbBalance {
    ratio: f64,
    hfg: f64,
    hfg_slope: f64,
    cp_air: f64,
    cp_vapour: f64,
    cp_water: f64,
    bisection_iterations: u32,
    lower_offset_c: f64,
}

#[derive(Debug, Default, Deserialize)]
struct Atmosphere {
    lapse: f64,
    exponent: f64,
    m_per_ft: f64,
}

fn celsius(temperature_f: f64) -> f64 {
    (temperature_f - 32.0) / 1.8
}

fn fahrenheit(temperature_c: f64) -> f64 {
    temperature_c * 1.8 + 32.0
}

/// Dew point of return air as the DX rules form it: with the coefficients of the wet bulb, the humidity limited to 1 to
/// 100 % (Plant rules §1.6).
///
/// ```
/// use niagara_analytics::numeric::round;
/// use niagara_analytics::wet_bulb::dew_point_of_limited;
/// assert_eq!(round(dew_point_of_limited(75.0, 50.0), 4), 55.1062);
/// ```
pub fn dew_point_of_limited(temperature_f: f64, humidity_pct: f64) -> f64 {
    let Magnus { b, c, .. } = PLANT.magnus_kpa;
    let celsius = celsius(temperature_f);
    let gamma = (humidity_pct.clamp(1.0, 100.0) / 100.0).ln() + b * celsius / (c + celsius);
    fahrenheit(c * gamma / (b - gamma))
}

/// Wet bulb by Stull's fit, which holds at sea level; NaN when a value is missing.
pub fn wet_bulb_at_sea_level(temperature_f: f64, humidity_pct: f64) -> f64 {
    let Stull {
        a,
        b,
        c,
        d,
        e,
        f,
        rh_exponent,
    } = PLANT.stull;
    let (t, rh) = (celsius(temperature_f), humidity_pct);
    let wet = t * (a * (rh + b).sqrt()).atan() + (t + rh).atan() - (rh - c).atan()
        + d * rh.powf(rh_exponent) * (e * rh).atan()
        - f;
    fahrenheit(wet)
}

/// Pressure of the standard atmosphere at an elevation in ft.
///
/// ```
/// use niagara_analytics::numeric::round;
/// use niagara_analytics::wet_bulb::standard_pressure;
/// assert_eq!(round(standard_pressure(5280.0), 5), 12.10018);
/// ```
pub fn standard_pressure(elevation_ft: f64) -> f64 {
    let Atmosphere {
        lapse,
        exponent,
        m_per_ft,
    } = PLANT.standard_atmosphere;
    PLANT.sea_level_psia * (1.0 - lapse * (m_per_ft * elevation_ft)).powf(exponent)
}

/// Wet bulb from the energy balance at a pressure.
///
/// Without a humidity it is the air temperature itself, as in the reference: every comparison of the bisection is false
/// then (Plant rules §1.6).
pub fn wet_bulb(temperature_f: f64, humidity_pct: f64, pressure_psia: f64) -> f64 {
    let balance = &PLANT.wetbulb;
    let kpa = pressure_psia * PLANT.kpa_per_psi;
    let t = celsius(temperature_f);
    let vapour = |t: f64| {
        let Magnus { a, b, c } = PLANT.magnus_kpa;
        a * (b * t / (t + c)).exp()
    };
    let ratio = |vapour: f64| balance.ratio * vapour / (kpa - vapour);
    let humidity = ratio(humidity_pct.clamp(0.0, 100.0) / 100.0 * vapour(t));
    let humidity_with = |wet: f64| {
        let latent = (balance.hfg - balance.hfg_slope * wet) * ratio(vapour(wet));
        (latent - balance.cp_air * (t - wet))
            / (balance.hfg + balance.cp_vapour * t - balance.cp_water * wet)
    };
    let (mut low, mut high) = (t - balance.lower_offset_c, t);
    for _ in 0..balance.bisection_iterations {
        let middle = f64::midpoint(low, high);
        if humidity_with(middle) > humidity {
            high = middle;
        } else {
            low = middle;
        }
    }
    fahrenheit(f64::midpoint(low, high))
}

/// How a wet bulb is formed from air temperature and humidity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WetBulbFormula {
    /// Neither elevation nor pressure is known: Stull's fit, which reads high at altitude.
    SeaLevel,
    /// The energy balance at this pressure.
    AtPressure(f64),
}

impl WetBulbFormula {
    /// By the parameters `pressure_psia`, else `elevation_ft`, else sea level.
    pub fn of(parameters: &Parameters) -> Self {
        let of_elevation = || parameters.optional("elevation_ft").map(standard_pressure);
        parameters
            .optional("pressure_psia")
            .or_else(of_elevation)
            .map_or(Self::SeaLevel, Self::AtPressure)
    }

    /// The wet bulb of one sample.
    pub fn wet_bulb(self, temperature_f: f64, humidity_pct: f64) -> f64 {
        match self {
            Self::SeaLevel => wet_bulb_at_sea_level(temperature_f, humidity_pct),
            Self::AtPressure(pressure) => wet_bulb(temperature_f, humidity_pct, pressure),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::numeric::round;

    #[test]
    fn every_check_value_of_the_table_is_met() {
        let table: Value = serde_json::from_str(COEFFICIENTS).unwrap();
        let checks = table["checks"].as_array().unwrap();
        assert_eq!(checks.len(), 8);
        for check in checks {
            let value = |name: &str| check[name].as_f64().unwrap();
            let (t, rh) = (value("temp_f"), value("rh_pct"));
            let high = standard_pressure(5280.0);
            for (name, ours) in [
                ("stull_f", wet_bulb_at_sea_level(t, rh)),
                ("psychrometric_sea_level_f", wet_bulb(t, rh, 14.696)),
                ("psychrometric_5280ft_f", wet_bulb(t, rh, high)),
                ("psychrometric_12psia_f", wet_bulb(t, rh, 12.0)),
                ("dewpoint_f", dew_point_of_limited(t, rh)),
            ] {
                assert_eq!(round(ours, 4), value(name), "{name} at {t} °F, {rh} %");
            }
        }
        for check in table["pressure_checks"].as_array().unwrap() {
            let elevation = check["elevation_ft"].as_f64().unwrap();
            assert_eq!(
                round(standard_pressure(elevation), 5),
                check["psia"].as_f64().unwrap()
            );
        }
    }

    #[test]
    fn a_missing_humidity_leaves_the_air_temperature_at_a_pressure_only() {
        assert!(wet_bulb_at_sea_level(80.0, f64::NAN).is_nan());
        assert_eq!(round(wet_bulb(80.0, f64::NAN, 14.696), 9), 80.0);
        assert!(wet_bulb(f64::NAN, 50.0, 14.696).is_nan());
    }
}
