//! Moist air.

/// Magnus coefficients over water: a ratio, and °C.
const MAGNUS: (f64, f64) = (17.62, 243.12);

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
