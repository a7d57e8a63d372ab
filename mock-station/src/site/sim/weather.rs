//! Outdoor conditions: season, time of day and weather systems as closed forms of time.

use super::calendar::{HOUR_MS, LocalTime};
use super::noise::smooth;
use super::place::{Climate, Place};
use std::f64::consts::TAU;

/// Outdoor air and sun at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Weather {
    /// Dry-bulb temperature, °F.
    pub dry_bulb: f64,
    /// Dew point, °F.
    pub dew_point: f64,
    /// Wet bulb, °F.
    pub wet_bulb: f64,
    /// Relative humidity, %.
    pub humidity: f64,
    /// Cloud cover, 0–1.
    pub cloud: f64,
    /// Global horizontal irradiance, W/m².
    pub irradiance: f64,
    /// Sun on vertical glass facing north, east, south and west, as a fraction of the strongest.
    pub facade: [f64; 4],
    /// mph.
    pub wind_speed: f64,
    /// Degrees from north.
    pub wind_direction: f64,
}

impl Weather {
    pub fn at(place: Place, seed: u64, epoch_ms: i64, local: &LocalTime) -> Self {
        let climate = place.climate();
        let hours = epoch_ms as f64 / HOUR_MS as f64;
        let clock_hour = local.minute / 60.0 - if local.daylight { 1.0 } else { 0.0 };
        let season = climate.season(local.day_of_year);
        let cloud = (0.48
            + 0.55 * smooth(seed ^ 0xC1, hours / 19.0)
            + 0.2 * smooth(seed ^ 0xC2, hours / 5.0))
        .clamp(0.03, 1.0);

        let system = (9.0 + 2.0 * season) * smooth(seed ^ 0xA1, hours / 76.0)
            + 4.5 * smooth(seed ^ 0xA2, hours / 29.0)
            + 0.9 * smooth(seed ^ 0xA3, hours / 3.1);
        let swing = climate.liveliness * (8.6 - 1.8 * season) * (1.15 - 0.6 * cloud);
        let dry_bulb = climate.seasonal_mean(local.day_of_year) + climate.liveliness * system
            - swing * daily_wave(clock_hour);

        let depression = 11.0 + climate.dryness + 6.5 * smooth(seed ^ 0xD1, hours / 41.0)
            - 6.0 * (cloud - 0.5)
            + 0.35 * (dry_bulb - 60.0).max(0.0)
            - 0.55 * swing * daily_wave(clock_hour);
        let dew_point = (dry_bulb - depression.max(1.2)).min(75.0);
        let humidity = relative_humidity(dry_bulb, dew_point);

        let (irradiance, facade) = sun(climate, local.day_of_year, clock_hour, cloud);
        let wind_speed = (climate.mean_wind
            + 5.5 * smooth(seed ^ 0xB1, hours / 9.0)
            + 2.0 * smooth(seed ^ 0xB2, hours / 1.3))
        .max(0.3);
        let wind_direction =
            (climate.prevailing_wind + 110.0 * smooth(seed ^ 0xB3, hours / 23.0)).rem_euclid(360.0);
        Self {
            dry_bulb,
            dew_point,
            wet_bulb: wet_bulb(dry_bulb, humidity),
            humidity,
            cloud,
            irradiance,
            facade,
            wind_speed,
            wind_direction,
        }
    }
}

/// +1 shortly before sunrise, -1 in mid-afternoon, with a slow morning rise.
fn daily_wave(clock_hour: f64) -> f64 {
    let angle = TAU * (clock_hour - 4.6) / 24.0;
    (angle + 0.28 * angle.sin()).cos()
}

fn sun(climate: &Climate, day_of_year: f64, clock_hour: f64, cloud: f64) -> (f64, [f64; 4]) {
    let declination = 23.45f64.to_radians() * (TAU * (day_of_year + 284.0) / 365.25).sin();
    let latitude = climate.latitude_deg.to_radians();
    let hour_angle = (clock_hour - climate.solar_noon_hour) * 15.0f64.to_radians();
    let (sin_dec, cos_dec) = declination.sin_cos();
    let (sin_lat, cos_lat) = latitude.sin_cos();
    let (sin_hour, cos_hour) = hour_angle.sin_cos();
    let up = sin_lat * sin_dec + cos_lat * cos_dec * cos_hour;
    if up <= 0.0 {
        return (0.0, [0.0; 4]);
    }
    let south = sin_lat * cos_dec * cos_hour - cos_lat * sin_dec;
    let west = cos_dec * sin_hour;
    let beam = 930.0 * (1.0 - 0.85 * cloud) * (1.0 - (-up / 0.16).exp());
    let diffuse = (70.0 + 150.0 * cloud) * (up / (up + 0.25));
    let on = |cosine: f64| ((beam * cosine.max(0.0) + 0.5 * diffuse) / 760.0).min(1.0);
    (
        beam * up + diffuse,
        [on(-south), on(-west), on(south), on(west)],
    )
}

/// Saturation vapour pressure over water by Magnus with the temperature in °F, in kPa.
pub fn saturation_pressure(temperature: f64) -> f64 {
    let celsius = (temperature - 32.0) / 1.8;
    0.61094 * (17.625 * celsius / (celsius + 243.04)).exp()
}

fn relative_humidity(dry_bulb: f64, dew_point: f64) -> f64 {
    (100.0 * saturation_pressure(dew_point) / saturation_pressure(dry_bulb)).clamp(1.0, 100.0)
}

/// Wet bulb in °F from dry bulb and relative humidity by Stull's fit (2011), accurate to about 0.5 °F here.
fn wet_bulb(dry_bulb: f64, humidity: f64) -> f64 {
    let celsius = (dry_bulb - 32.0) / 1.8;
    let wet = celsius * (0.151977 * (humidity + 8.313659).sqrt()).atan()
        + (celsius + humidity).atan()
        - (humidity - 1.676331).atan()
        + 0.00391838 * humidity.powf(1.5) * (0.023101 * humidity).atan()
        - 4.686035;
    (wet * 1.8 + 32.0).min(dry_bulb)
}

#[cfg(test)]
mod tests {
    use super::super::calendar::{QUARTER_MS, days_from_civil};
    use super::*;

    fn year(place: Place) -> Vec<Weather> {
        let start = place.epoch_ms(days_from_civil(2025, 1, 1), 0);
        (0..365 * 96)
            .map(|step| {
                let instant = start + step * QUARTER_MS;
                Weather::at(place, 42, instant, &LocalTime::at(place, instant))
            })
            .collect()
    }

    /// Mean, highest and lowest dry bulb, °F.
    fn temperatures(year: &[Weather]) -> (f64, f64, f64) {
        let all = || year.iter().map(|weather| weather.dry_bulb);
        (
            all().sum::<f64>() / year.len() as f64,
            all().fold(f64::MIN, f64::max),
            all().fold(f64::MAX, f64::min),
        )
    }

    #[test]
    fn a_year_looks_like_new_york() {
        let year = year(Place::NewYork);
        let (mean, hottest, coldest) = temperatures(&year);
        assert!((52.0..58.0).contains(&mean), "mean {mean}");
        assert!((88.0..102.0).contains(&hottest), "hottest {hottest}");
        assert!((2.0..22.0).contains(&coldest), "coldest {coldest}");
        assert!(
            year.iter()
                .all(|w| w.dew_point < w.dry_bulb && w.wet_bulb <= w.dry_bulb)
        );
        assert!(year.iter().all(|w| w.irradiance < 1100.0));
    }

    #[test]
    fn a_year_looks_like_lake_constance() {
        let year = year(Place::LakeConstance);
        let celsius = |fahrenheit: f64| (fahrenheit - 32.0) / 1.8;
        let (mean, hottest, coldest) = temperatures(&year);
        assert!((9.0..12.0).contains(&celsius(mean)), "mean {mean} °F");
        assert!((27.0..36.0).contains(&celsius(hottest)), "{hottest} °F");
        assert!((-16.0..-4.0).contains(&celsius(coldest)), "{coldest} °F");
        let sun = |year: &[Weather]| year.iter().map(|w| w.irradiance).sum::<f64>();
        assert!(sun(&year) < sun(&super::tests::year(Place::NewYork)));
    }

    #[test]
    fn temperature_never_jumps_within_a_quarter_of_an_hour() {
        for place in [Place::NewYork, Place::LakeConstance] {
            for pair in year(place).windows(2) {
                assert!((pair[1].dry_bulb - pair[0].dry_bulb).abs() < 2.5);
                assert!((pair[1].humidity - pair[0].humidity).abs() < 12.0);
            }
        }
    }

    #[test]
    fn the_east_front_has_sun_in_the_morning_and_the_west_front_in_the_afternoon() {
        for place in [Place::NewYork, Place::LakeConstance] {
            let at = |hour: i64| {
                let instant = place.epoch_ms(days_from_civil(2025, 6, 20), hour * 60);
                Weather::at(place, 7, instant, &LocalTime::at(place, instant))
            };
            assert!(at(8).facade[1] > at(8).facade[3]);
            assert!(at(17).facade[3] > at(17).facade[1]);
            assert_eq!(at(1).irradiance, 0.0);
        }
    }
}
