//! When each planted fault of the demo site is present. What it does is written where the equipment is simulated.

use super::calendar::{DAY_MS, month_start_ms};

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

/// The twelve planted faults; `Faults::none()` is a healthy building.
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
        }
    }

    /// The faults of Harborview for a station started at `anchor_ms`.
    ///
    /// Starts are counted in whole local months before the anchor's month, so that a year of history always holds a
    /// healthy stretch and a faulty one, and stay the same for every start within a month.
    pub fn planted(anchor_ms: i64) -> Self {
        let since = |months| Window {
            start: month_start_ms(anchor_ms, months),
            end: i64::MAX,
        };
        let between = |first, last| Window {
            start: month_start_ms(anchor_ms, first),
            end: month_start_ms(anchor_ms, last),
        };
        Self {
            economizer_stuck: since(7),
            leaking_heating_valve: since(8),
            drifting_supply_sensor: between(11, 3),
            simultaneous_heating_cooling: since(2),
            short_cycling_boiler: since(9),
            low_hot_water_delta_t: since(10),
            fouled_condenser: since(9),
            tower_bypass_leak: since(7),
            chilled_water_reset_stuck: since(7),
            heat_pump_undercharge: since(6),
            starved_zone: since(5),
            night_setback_missing: since(10),
        }
    }
}
