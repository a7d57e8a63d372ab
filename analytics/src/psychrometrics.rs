//! Moist air.

/// Magnus coefficients over water: a ratio, and °C.
const MAGNUS: (f64, f64) = (17.62, 243.12);

/// Pressure at sea level, psia.
const PRESSURE: f64 = 14.696;

/// Absolute zero, below 0 °F.
const RANKINE: f64 = 459.67;

/// Dew point in °F of air of that temperature in °F and relative humidity in percent, by Magnus (17.62, 243.12 °C); NaN
/// when the humidity is outside 1 to 100 % or a value is missing (Air rules §2.24).
///
/// ```
/// use niagara_analytics::numeric::round;
/// use niagara_analytics::psychrometrics::dew_point;
/// assert_eq!(round(dew_point(74.0, 60.0), 1), 59.2);
/// assert_eq!(round(dew_point(74.0, 30.0), 1), 40.6);
/// assert!(dew_point(74.0, 0.5).is_nan());
/// ```
pub fn dew_point(temperature_f: f64, humidity_pct: f64) -> f64 {
    if !(1.0..=100.0).contains(&humidity_pct) {
        return f64::NAN;
    }
    let celsius = (temperature_f - 32.0) / 1.8;
    let (ratio, offset) = MAGNUS;
    let gamma = (humidity_pct / 100.0).ln() + ratio * celsius / (offset + celsius);
    offset * gamma / (ratio - gamma) * 1.8 + 32.0
}

/// Saturation pressure over water, or over ice below freezing, psia; from °F (Hyland and Wexler; Air rules §2.10).
///
/// ```
/// use niagara_analytics::psychrometrics::saturation_pressure;
/// assert!((saturation_pressure(60.0) - 0.2563).abs() < 1e-4);
/// ```
pub fn saturation_pressure(temperature: f64) -> f64 {
    let t = temperature + RANKINE;
    let logarithm = if temperature < 32.0 {
        -1.021_416_5e4 / t - 4.893_242_8 - 5.376_579_4e-3 * t
            + 1.920_237_7e-7 * t.powi(2)
            + 3.557_583_2e-10 * t.powi(3)
            - 9.034_468_8e-14 * t.powi(4)
            + 4.163_501_9 * t.ln()
    } else {
        -1.044_039_7e4 / t - 1.129_465_0e1 - 2.702_235_5e-2 * t + 1.289_036_0e-5 * t.powi(2)
            - 2.478_068_1e-9 * t.powi(3)
            + 6.545_967_3 * t.ln()
    };
    logarithm.exp()
}

/// Pressure of the vapour in air of °F and percent relative humidity, psia; NaN when the humidity is none.
pub fn vapour_pressure(temperature: f64, humidity: f64) -> f64 {
    if (0.0..=100.0).contains(&humidity) {
        humidity / 100.0 * saturation_pressure(temperature)
    } else {
        f64::NAN
    }
}

/// Enthalpy of air of °F with that vapour pressure, Btu per lb of dry air.
pub fn enthalpy(temperature: f64, vapour_pressure: f64) -> f64 {
    let ratio = 0.621_945 * vapour_pressure / (PRESSURE - vapour_pressure);
    0.240 * temperature + ratio * (1061.0 + 0.444 * temperature)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::round;

    #[test]
    fn the_worked_enthalpies_of_hot_and_of_return_air() {
        let of = |temperature, humidity| {
            round(
                enthalpy(temperature, vapour_pressure(temperature, humidity)),
                4,
            )
        };
        assert_eq!((of(95.0, 30.0), of(75.0, 45.0)), (34.4262, 27.0824));
        assert!(of(75.0, 104.0).is_nan());
    }

    #[test]
    fn ice_holds_less_vapour_than_water() {
        assert_eq!(round(saturation_pressure(32.0), 4), 0.0886);
        assert_eq!(round(saturation_pressure(0.0), 4), 0.0185);
    }
}
