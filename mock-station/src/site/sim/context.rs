//! What all equipment of the site shares at one instant: wall clock, weather, occupancy and the free-floating building.

use super::calendar::LocalTime;
use super::noise::ramp;
use super::place::Place;
use super::weather::Weather;

/// Occupied hours of the weekly schedule, in minutes of a working day.
pub const OCCUPIED_START: f64 = 420.0;
pub const OCCUPIED_END: f64 = 1080.0;

/// Supply-air setpoint during warm-up, °F.
const WARM_UP_SUPPLY: f64 = 70.0;
/// Mean outdoor temperature of the season above which the preparation before occupancy cools, °F.
const COOL_DOWN_SEASON: f64 = 62.0;
/// Share of the occupied minimum airflow that boxes keep during cool-down: no ventilation is due before people come.
const COOL_DOWN_MINIMUM: f64 = 0.3;
/// Minutes in which the supply air comes down from its warm-up setpoint.
const RELAX_MINUTES: f64 = 45.0;
/// Minutes in which the boxes open to their occupied minimum after a cool-down, so that rooms are not chilled at once.
const OPENING_MINUTES: f64 = 90.0;
/// Minutes after occupancy in which the rooms forget the occupied minimum.
const CLOSING_MINUTES: f64 = 240.0;
/// Hours in which an unheated building loses two thirds of its distance to the floating temperature.
const COAST_HOURS: f64 = 9.0;
/// Hours in which a running air handler makes up two thirds of it.
const RECOVERY_HOURS: f64 = 0.75;

#[derive(Clone, Copy, Debug)]
pub struct Context {
    pub epoch_ms: i64,
    pub local: LocalTime,
    pub weather: Weather,
    /// The weekly schedule calls for occupied mode.
    pub occupied: bool,
    /// Air handlers run: occupied mode and the preparation before it.
    pub air_on: bool,
    pub warm_up: bool,
    pub cool_down: bool,
    /// Share of the occupied minimum airflow that boxes keep, 0–1.
    pub ventilation: f64,
    /// People present as a fraction of a full house.
    pub people: f64,
    /// Lights and plugs as a fraction of their connected load.
    pub plugs: f64,
    /// 0 while zones follow their occupied setpoints, 1 when they float freely.
    pub float_weight: f64,
    /// Where an unconditioned zone drifts, °F.
    pub float_temperature: f64,
    /// Supply-air setpoint reset by outdoor temperature, °F.
    pub supply_air_setpoint: f64,
    /// 0–1: hot water is on offer to coils (heating is locked out in summer).
    pub heating_available: f64,
    /// Share of design cooling that the weather asks for, 0–1.
    pub cooling_intensity: f64,
}

impl Context {
    pub fn at(place: Place, seed: u64, epoch_ms: i64) -> Self {
        let local = LocalTime::at(place, epoch_ms);
        let weather = Weather::at(place, seed, epoch_ms, &local);
        let working = place.is_working_day(local.day);
        let season = place.climate().seasonal_mean(local.day_of_year);
        let occupied = working && (OCCUPIED_START..OCCUPIED_END).contains(&local.minute);
        let air_on = working && (start_minute(season)..OCCUPIED_END).contains(&local.minute);
        let preparing = air_on && !occupied;
        let warm_up = preparing && season < COOL_DOWN_SEASON;
        let people = if working {
            people_profile(local.minute)
        } else {
            0.02
        };
        let plugs = if working {
            plug_profile(local.minute)
        } else {
            0.14
        };
        let outdoor = weather.dry_bulb;
        Self {
            epoch_ms,
            occupied,
            air_on,
            warm_up,
            cool_down: preparing && !warm_up,
            ventilation: ventilation(working, local.minute, season),
            people,
            plugs,
            float_weight: float_weight(place, &local, air_on, season),
            float_temperature: (70.5 + 0.3 * (0.6 * season + 0.4 * outdoor - 58.0))
                .clamp(60.0, 83.0),
            supply_air_setpoint: if warm_up {
                WARM_UP_SUPPLY
            } else {
                let reset = 55.0 + 8.5 * (1.0 - ramp(outdoor, 60.0, 70.0));
                let warm = if occupied && season < COOL_DOWN_SEASON {
                    1.0 - ramp(local.minute, OCCUPIED_START, OCCUPIED_START + RELAX_MINUTES)
                } else {
                    0.0
                };
                reset + (WARM_UP_SUPPLY - reset) * warm
            },
            heating_available: (1.0 - ramp(outdoor, 66.0, 70.0)) * (1.0 - ramp(season, 68.5, 71.0)),
            cooling_intensity: ramp(outdoor, 48.0, 92.0) * 0.75
                + 0.25 * (weather.irradiance / 950.0).min(1.0),
            local,
            weather,
        }
    }
}

/// Air handlers start earlier the further the season is from mild.
fn start_minute(season: f64) -> f64 {
    360.0 - 60.0 * ramp((season - 60.0).abs(), 5.0, 22.0)
}

/// Share of the occupied minimum airflow: whole while people are there and in the heating season, less at other times.
fn ventilation(working: bool, minute: f64, season: f64) -> f64 {
    let open = if working {
        ramp(minute, OCCUPIED_START, OCCUPIED_START + OPENING_MINUTES)
            - ramp(minute, OCCUPIED_END, OCCUPIED_END + CLOSING_MINUTES)
    } else {
        0.0
    };
    let cooling = ramp(season, COOL_DOWN_SEASON - 2.0, COOL_DOWN_SEASON + 2.0);
    1.0 - (1.0 - COOL_DOWN_MINIMUM) * cooling * (1.0 - open)
}

fn people_profile(minute: f64) -> f64 {
    let arriving = ramp(minute, 415.0, 555.0);
    let leaving = 1.0 - ramp(minute, 985.0, 1120.0);
    let lunch = ramp(minute, 700.0, 735.0) * (1.0 - ramp(minute, 775.0, 815.0));
    (arriving * leaving * (1.0 - 0.42 * lunch)).max(0.01)
}

fn plug_profile(minute: f64) -> f64 {
    let morning = ramp(minute, 380.0, 530.0);
    let evening = 1.0 - ramp(minute, 1030.0, 1230.0);
    0.14 + 0.86 * morning * evening
}

fn float_weight(place: Place, local: &LocalTime, air_on: bool, season: f64) -> f64 {
    let now = local.day as f64 * 24.0 + local.minute / 60.0;
    if air_on {
        let started = local.day as f64 * 24.0 + start_minute(season) / 60.0;
        let coasted = 1.0 - (-(started - last_stop(place, local.day - 1)) / COAST_HOURS).exp();
        return coasted * (-(now - started) / RECOVERY_HOURS).exp();
    }
    let stopped_today = place.is_working_day(local.day) && local.minute >= OCCUPIED_END;
    let stop = last_stop(
        place,
        if stopped_today {
            local.day
        } else {
            local.day - 1
        },
    );
    1.0 - (-(now - stop) / COAST_HOURS).exp()
}

/// Local hour count at which air handlers last stopped on or before the end of `day`.
fn last_stop(place: Place, day: i64) -> f64 {
    let mut candidate = day;
    while !place.is_working_day(candidate) {
        candidate -= 1;
    }
    candidate as f64 * 24.0 + OCCUPIED_END / 60.0
}

#[cfg(test)]
mod tests {
    use super::super::calendar::{MINUTE_MS, days_from_civil};
    use super::*;

    #[test]
    fn a_building_left_over_the_weekend_floats_and_recovers_before_people_come() {
        let sunday = Place::NewYork.epoch_ms(days_from_civil(2026, 1, 18), 720);
        let tuesday_morning = Place::NewYork.epoch_ms(days_from_civil(2026, 1, 20), 8 * 60 + 30);
        assert!(Context::at(Place::NewYork, 1, sunday).float_weight > 0.95);
        assert!(Context::at(Place::NewYork, 1, tuesday_morning).float_weight < 0.05);
    }

    #[test]
    fn float_weight_has_no_step_when_air_handlers_start_or_stop() {
        let start = Place::NewYork.epoch_ms(days_from_civil(2026, 3, 2), 0);
        let mut last = Context::at(Place::NewYork, 1, start).float_weight;
        for minute in 1..5 * 1440 {
            let here = Context::at(Place::NewYork, 1, start + minute * MINUTE_MS).float_weight;
            assert!(
                (here - last).abs() < 0.03,
                "minute {minute}: {last} then {here}"
            );
            last = here;
        }
    }

    #[test]
    fn warm_up_precedes_occupancy_in_winter_and_cool_down_in_summer() {
        let at = |month, day| {
            Context::at(
                Place::NewYork,
                1,
                Place::NewYork.epoch_ms(days_from_civil(2026, month, day), 410),
            )
        };
        assert!(at(1, 14).warm_up && !at(1, 14).occupied);
        assert!(at(7, 15).cool_down && !at(7, 15).warm_up);
    }
}
