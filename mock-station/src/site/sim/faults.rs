//! When each planted fault of a site is present. What it does is written where the equipment is simulated.

use super::calendar::DAY_MS;
use super::place::Place;

/// A span of time in which a fault exists: from `start` up to, not including, `end` (epoch milliseconds).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    pub start: i64,
    pub end: i64,
}

impl Window {
    pub const NEVER: Self = Self {
        start: i64::MAX,
        end: i64::MAX,
    };

    /// From an instant until now.
    pub const fn since(start: i64) -> Self {
        Self {
            start,
            end: i64::MAX,
        }
    }

    pub fn active(&self, epoch_ms: i64) -> bool {
        self.start <= epoch_ms && epoch_ms < self.end
    }

    /// 0 before the fault, then a straight rise to 1 over `days`; 0 again after its end.
    pub fn progress(&self, epoch_ms: i64, days: f64) -> f64 {
        if !self.active(epoch_ms) {
            return 0.0;
        }
        ((epoch_ms - self.start) as f64 / (days * DAY_MS as f64)).min(1.0)
    }
}

/// Every fault that the simulation knows; `Faults::none()` is a healthy building.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    pub economizer_stuck: Window,
    pub leaking_heating_valve: Window,
    pub drifting_supply_sensor: Window,
    pub simultaneous_heating_cooling: Window,
    pub short_cycling_boiler: Window,
    pub low_hot_water_delta_t: Window,
    pub fouled_condenser: Window,
    pub tower_bypass_leak: Window,
    pub chilled_water_reset_stuck: Window,
    pub heat_pump_undercharge: Window,
    pub starved_zone: Window,
    pub night_setback_missing: Window,
    pub low_chilled_water_delta_t: Window,
    pub fouled_tower: Window,
    pub defrost_by_timer: Window,
    pub tap_water_short_cycling: Window,
    pub circuit_pump_in_hand: Window,
}

impl Faults {
    pub const fn none() -> Self {
        Self {
            economizer_stuck: Window::NEVER,
            leaking_heating_valve: Window::NEVER,
            drifting_supply_sensor: Window::NEVER,
            simultaneous_heating_cooling: Window::NEVER,
            short_cycling_boiler: Window::NEVER,
            low_hot_water_delta_t: Window::NEVER,
            fouled_condenser: Window::NEVER,
            tower_bypass_leak: Window::NEVER,
            chilled_water_reset_stuck: Window::NEVER,
            heat_pump_undercharge: Window::NEVER,
            starved_zone: Window::NEVER,
            night_setback_missing: Window::NEVER,
            low_chilled_water_delta_t: Window::NEVER,
            fouled_tower: Window::NEVER,
            defrost_by_timer: Window::NEVER,
            tap_water_short_cycling: Window::NEVER,
            circuit_pump_in_hand: Window::NEVER,
        }
    }

    /// The faults of Harborview for a station started at `anchor_ms`.
    ///
    /// Starts are counted in whole local months before the anchor's month, so that a year of history always holds a
    /// healthy stretch and a faulty one, and stay the same for every start within a month.
    pub fn harborview(anchor_ms: i64) -> Self {
        let month = |back| Place::NewYork.month_start_ms(anchor_ms, back);
        Self {
            economizer_stuck: Window::since(month(7)),
            leaking_heating_valve: Window::since(month(8)),
            drifting_supply_sensor: Window {
                start: month(11),
                end: month(3),
            },
            simultaneous_heating_cooling: Window::since(month(2)),
            short_cycling_boiler: Window::since(month(9)),
            low_hot_water_delta_t: Window::since(month(10)),
            fouled_condenser: Window::since(month(9)),
            tower_bypass_leak: Window::since(month(7)),
            chilled_water_reset_stuck: Window::since(month(7)),
            heat_pump_undercharge: Window::since(month(6)),
            starved_zone: Window::since(month(5)),
            night_setback_missing: Window::since(month(10)),
            ..Self::none()
        }
    }

    /// The faults of Lakeside, counted like those of [`Faults::harborview`].
    pub fn lakeside(anchor_ms: i64) -> Self {
        let month = |back| Place::LakeConstance.month_start_ms(anchor_ms, back);
        Self {
            short_cycling_boiler: Window::since(month(9)),
            low_chilled_water_delta_t: Window::since(month(8)),
            fouled_tower: Window::since(month(7)),
            defrost_by_timer: Window::since(month(10)),
            tap_water_short_cycling: Window::since(month(5)),
            circuit_pump_in_hand: Window::since(month(11)),
            ..Self::none()
        }
    }
}
