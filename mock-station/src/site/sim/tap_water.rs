//! Tap-water heating: a storage tank charged by a small heat pump, with a circulation line.

use super::calendar::{HOUR_MS, MINUTE_MS};
use super::context::Context;
use super::faults::Faults;
use super::noise::smooth;

/// Hour of standard time and temperature of the tank's top, °F, over a day of a sound charging programme: charged before
/// the kitchen opens and again after lunch.
const SOUND_DAY: [(f64, f64); 5] = [
    (0.0, 129.4),
    (4.0, 127.6),
    (6.5, 138.2),
    (12.5, 127.0),
    (14.5, 138.2),
];
/// Charging hours of that programme.
const CHARGES: [(f64, f64); 2] = [(4.0, 6.5), (12.5, 14.5)];
/// Switching difference set to next to nothing: the heat pump is on for a third of every three quarters of an hour.
const SHORT_CYCLE_MS: i64 = 45 * MINUTE_MS;
const SHORT_RUN_MS: i64 = 15 * MINUTE_MS;
const SETPOINT: f64 = 136.4;
/// kW over a whole charge, and over runs too short to reach full output.
const CHARGE_POWER: f64 = 2.3;
const SHORT_RUN_POWER: f64 = 1.9;
const CIRCULATION_POWER: f64 = 0.06;

#[derive(Clone, Copy, Debug, Default)]
pub struct TapWaterState {
    pub compressor: bool,
    /// kW, without the circulation pump.
    pub power: f64,
    pub setpoint: f64,
    pub top_temperature: f64,
    pub bottom_temperature: f64,
    pub circulation_return: f64,
    pub circulation_power: f64,
}

/// The tank at one instant.
pub fn state(seed: u64, context: &Context, faults: &Faults) -> TapWaterState {
    let hours = context.epoch_ms as f64 / HOUR_MS as f64;
    let (compressor, top, power) = if faults.tap_water_short_cycling.active(context.epoch_ms) {
        let phase = context.epoch_ms.rem_euclid(SHORT_CYCLE_MS);
        let (run, cycle) = (SHORT_RUN_MS as f64, SHORT_CYCLE_MS as f64);
        let position = phase as f64;
        let wave = if phase < SHORT_RUN_MS {
            2.0 * position / run - 1.0
        } else {
            1.0 - 2.0 * (position - run) / (cycle - run)
        };
        (
            phase < SHORT_RUN_MS,
            SETPOINT - 0.9 + 0.9 * wave,
            SHORT_RUN_POWER,
        )
    } else {
        // The programme of the controller knows no daylight saving time, so the tank has no step when clocks change.
        let hour = context.local.minute / 60.0 - if context.local.daylight { 1.0 } else { 0.0 };
        let hour = hour.rem_euclid(24.0);
        let charging = CHARGES
            .iter()
            .any(|(start, end)| (*start..*end).contains(&hour));
        (charging, sound_temperature(hour), CHARGE_POWER)
    };
    let top = top + 0.3 * smooth(seed ^ 0xA1, hours * 1.4);
    TapWaterState {
        compressor,
        power: if compressor { power } else { 0.02 },
        setpoint: SETPOINT,
        top_temperature: top,
        bottom_temperature: top - 9.0 - 1.5 * smooth(seed ^ 0xA2, hours / 2.3),
        circulation_return: top - 7.2 - 0.6 * smooth(seed ^ 0xA3, hours / 1.7),
        circulation_power: CIRCULATION_POWER,
    }
}

fn sound_temperature(hour: f64) -> f64 {
    let next = SOUND_DAY.partition_point(|(start, _)| *start <= hour);
    let midnight = (24.0, SOUND_DAY[0].1);
    let (from, warm) = SOUND_DAY
        .get(next.wrapping_sub(1))
        .copied()
        .unwrap_or(midnight);
    let (to, cold) = SOUND_DAY.get(next).copied().unwrap_or(midnight);
    warm + (cold - warm) * (hour - from) / (to - from)
}
