//! One office zone behind a variable-air-volume box with hot-water reheat.
//!
//! The zone is solved in steady state at each instant (heat balance of gains, envelope and supply air), then blended
//! with the free-floating temperature after shut-down and during recovery.

use super::context::Context;
use super::noise::{between, ramp, smooth};

/// Btu/h that one cfm of air carries per °F at sea level.
pub const AIR_HEAT: f64 = 1.08;
const DESIGN_SUPPLY_AIR: f64 = 55.0;
const SUPPLY_AIR_LIMIT: f64 = 63.5;
/// Heat that passes the outside of a zone, Btu/h·°F·ft² of its floor. A floor of eight zones has some 0.55 ft² of façade for
/// each ft² behind it; two fifths are glass (0.36 Btu/h·°F·ft²), the rest wall (0.064, both as ASHRAE 90.1 asks in climate zone
/// 4A), and air leaks in. People, lights and machines then make up for the loss down to about 35 °F outdoors.
const FACADE_LOSS: f64 = 0.15;
const INTERIOR_LOSS: f64 = 0.03;
/// Least airflow of a box in occupied hours, of its greatest. Guideline 36 takes what ventilation needs, not the 30 % of
/// older practice, which overcools rooms and reheats them.
const MINIMUM_SHARE: f64 = 0.20;
/// Opening of a damper that passes the design airflow at 1 inH2O, %; inner rooms got boxes of the next size.
const DESIGN_OPENING: f64 = 82.0;
const INTERIOR_DESIGN_OPENING: f64 = 66.0;
/// A round damper passes little air over the first half of its way.
const DAMPER_CURVE: f64 = 0.55;
/// Furniture and slab damp excursions above the cooling setpoint, Btu/h·°F·ft².
const MASS_COUPLING: f64 = 1.2;

/// Which way a zone faces; also the index into `Weather::facade`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposure {
    North,
    East,
    South,
    West,
    Interior,
}

/// The eight zones of a floor, by number.
pub const FLOOR_PLAN: [Exposure; 8] = [
    Exposure::North,
    Exposure::North,
    Exposure::East,
    Exposure::South,
    Exposure::South,
    Exposure::West,
    Exposure::Interior,
    Exposure::Interior,
];

/// Size and setpoints of a zone and its box.
#[derive(Clone, Debug)]
pub struct Zone {
    seed: u64,
    exposure: Exposure,
    /// ft².
    pub area: f64,
    /// Btu/h·°F.
    envelope: f64,
    /// cfm.
    pub maximum_airflow: f64,
    /// cfm.
    pub minimum_airflow: f64,
    /// Btu/h.
    reheat_capacity: f64,
    pub heating_setpoint: f64,
    pub cooling_setpoint: f64,
    float_offset: f64,
}

/// What a fault does to one box at one instant.
#[derive(Clone, Copy, Debug, Default)]
pub struct BoxFault {
    /// The box cannot pass more than this share of its maximum airflow.
    pub airflow_limit: Option<f64>,
    /// Heat from a warm neighbour, Btu/h.
    pub neighbour_gain: f64,
    /// Supply air differs from the setpoint by this much, °F.
    pub supply_air_error: f64,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct ZoneState {
    pub space_temperature: f64,
    pub heating_setpoint: f64,
    pub cooling_setpoint: f64,
    pub airflow: f64,
    pub airflow_setpoint: f64,
    pub damper: f64,
    pub reheat_valve: f64,
    pub discharge_temperature: f64,
    pub heating_loop: f64,
    pub cooling_loop: f64,
    pub co2: f64,
    /// Btu/h taken from hot water.
    pub reheat: f64,
    /// Guideline 36 requests of the box for more pressure.
    pub pressure_requests: f64,
    /// Guideline 36 requests of the zone for colder air.
    pub cooling_requests: f64,
}

struct Balance {
    temperature: f64,
    airflow: f64,
    airflow_setpoint: f64,
    heating: f64,
    cooling_loop: f64,
}

impl Zone {
    pub fn new(seed: u64, exposure: Exposure) -> Self {
        let area = between(seed, 1, 1_950.0, 2_650.0);
        let envelope = area
            * if exposure == Exposure::Interior {
                INTERIOR_LOSS
            } else {
                FACADE_LOSS
            };
        let mut zone = Self {
            seed,
            exposure,
            area,
            envelope,
            maximum_airflow: 0.0,
            minimum_airflow: 0.0,
            reheat_capacity: area * 17.0,
            heating_setpoint: 70.0,
            cooling_setpoint: 74.0 + (2.0 * (between(seed, 2, -1.0, 1.0))).round() / 2.0,
            float_offset: between(seed, 3, -1.5, 1.5),
        };
        let (summer_sun, autumn_sun) = match exposure {
            Exposure::North => (0.28, 0.12),
            Exposure::East => (0.85, 0.7),
            Exposure::South => (0.6, 0.95),
            Exposure::West => (0.85, 0.7),
            Exposure::Interior => (0.0, 0.0),
        };
        let room = zone.cooling_setpoint;
        let summer = (zone.gains(1.0, 1.0, summer_sun) + envelope * (93.0 - room))
            / (room - DESIGN_SUPPLY_AIR);
        let autumn = (zone.gains(1.0, 1.0, autumn_sun) + envelope * (60.0 - room))
            / (room - SUPPLY_AIR_LIMIT);
        let interior = zone.gains(1.0, 1.0, 0.0) / (room - SUPPLY_AIR_LIMIT) * 0.92;
        let needed = if exposure == Exposure::Interior {
            interior
        } else {
            summer.max(autumn)
        };
        zone.maximum_airflow = (needed / AIR_HEAT * 1.12 / 10.0).round() * 10.0;
        zone.minimum_airflow = (zone.maximum_airflow * MINIMUM_SHARE / 5.0).round() * 5.0;
        zone
    }

    /// Heat from people, lights, plugs and sun, Btu/h.
    fn gains(&self, people: f64, plugs: f64, sun: f64) -> f64 {
        self.area * (1.65 * people + 4.9 * plugs + 12.5 * sun)
    }

    fn facade(&self, context: &Context) -> f64 {
        context
            .weather
            .facade
            .get(self.exposure as usize)
            .copied()
            .unwrap_or(0.0)
    }

    /// The zone without what depends on the pressure in its duct: [`Zone::set_damper`] adds that.
    pub fn state(&self, context: &Context, fault: &BoxFault) -> ZoneState {
        let hours = context.epoch_ms as f64 / 3_600_000.0;
        let wander = smooth(self.seed ^ 0x11, hours / 1.7);
        let mut busy = 1.0 + 0.18 * smooth(self.seed ^ 0x12, hours / 2.6);
        if self.exposure == Exposure::Interior {
            busy *= 0.95 + 0.12 * smooth(self.seed ^ 0x13, hours / 0.9);
        }
        let gains = self.gains(
            context.people * busy,
            context.plugs * (0.92 + 0.08 * wander),
            self.facade(context),
        ) + fault.neighbour_gain;
        let supply_air = context.supply_air_setpoint + fault.supply_air_error;
        let balance = self.balance(context, gains, supply_air, fault);
        let floating = context.float_temperature + self.float_offset;
        let weight = context.float_weight;
        let mut state = ZoneState {
            space_temperature: balance.temperature * (1.0 - weight)
                + floating * weight
                + 0.22 * wander,
            co2: 425.0
                + 430.0
                    * context.people
                    * busy
                    * (1.0
                        - 0.25 * ramp(balance.airflow, self.minimum_airflow, self.maximum_airflow)),
            ..ZoneState::default()
        };
        if context.air_on {
            state.heating_setpoint = self.heating_setpoint;
            state.cooling_setpoint = self.cooling_setpoint;
            self.run_box(&mut state, context, &balance, supply_air, fault);
            state.airflow *= 1.0 + 0.012 * smooth(self.seed ^ 0x14, hours * 3.0);
        } else {
            state.heating_setpoint = self.heating_setpoint - 8.0;
            state.cooling_setpoint = self.cooling_setpoint + 8.0;
            state.discharge_temperature = state.space_temperature - 0.6;
        }
        state
    }

    fn balance(&self, context: &Context, gains: f64, supply_air: f64, fault: &BoxFault) -> Balance {
        let outdoor = context.weather.dry_bulb;
        let minimum = self.minimum_airflow * context.ventilation;
        let free = (gains + self.envelope * outdoor + AIR_HEAT * minimum * supply_air)
            / (self.envelope + AIR_HEAT * minimum);
        if free < self.heating_setpoint {
            let wanted = (self.heating_setpoint - free) * (self.envelope + AIR_HEAT * minimum);
            let signal = (wanted / self.reheat_capacity).min(1.0);
            let extra = (0.5 * self.maximum_airflow - minimum).max(0.0) * ramp(signal, 0.5, 1.0);
            let heating = (wanted.min(self.reheat_capacity)
                + AIR_HEAT * extra * (self.heating_setpoint - supply_air).max(0.0))
                * context.heating_available;
            let deficit = (wanted - heating).max(0.0)
                / (self.envelope + AIR_HEAT * minimum + MASS_COUPLING * self.area);
            return Balance {
                temperature: self.heating_setpoint - deficit,
                airflow: minimum + extra * context.heating_available,
                airflow_setpoint: minimum + extra * context.heating_available,
                heating,
                cooling_loop: 0.0,
            };
        }
        if free <= self.cooling_setpoint {
            return Balance {
                temperature: free,
                airflow: minimum,
                airflow_setpoint: minimum,
                heating: 0.0,
                cooling_loop: 0.0,
            };
        }
        self.cool(
            gains + self.envelope * (outdoor - self.cooling_setpoint),
            minimum,
            supply_air,
            fault,
        )
    }

    fn cool(&self, load: f64, minimum: f64, supply_air: f64, fault: &BoxFault) -> Balance {
        let needed = load / (AIR_HEAT * (self.cooling_setpoint - supply_air).max(3.0));
        let limit = self.maximum_airflow * fault.airflow_limit.unwrap_or(1.0);
        let airflow = needed.clamp(minimum.min(limit), limit);
        let short = AIR_HEAT * (needed - airflow).max(0.0) * (self.cooling_setpoint - supply_air);
        let excess = short / (self.envelope + AIR_HEAT * airflow + MASS_COUPLING * self.area);
        let signal = ((airflow - minimum) / (self.maximum_airflow - minimum)).max(0.0) + excess;
        let airflow_setpoint = if needed > limit && limit < self.maximum_airflow {
            (needed + self.maximum_airflow * ramp(excess, 0.0, 1.5)).min(self.maximum_airflow)
        } else {
            airflow
        };
        Balance {
            temperature: self.cooling_setpoint + 0.45 * signal.min(1.0) + excess,
            airflow,
            airflow_setpoint,
            heating: 0.0,
            cooling_loop: 100.0 * signal.min(1.0),
        }
    }

    fn run_box(
        &self,
        state: &mut ZoneState,
        context: &Context,
        balance: &Balance,
        supply_air: f64,
        fault: &BoxFault,
    ) {
        let recovery = context.float_weight;
        state.airflow = balance.airflow;
        state.airflow_setpoint = balance.airflow_setpoint;
        state.reheat = balance.heating;
        state.cooling_loop = balance.cooling_loop;
        if recovery > 0.02 && state.space_temperature > self.cooling_setpoint {
            let boost = (self.maximum_airflow - balance.airflow)
                * ramp(state.space_temperature - self.cooling_setpoint, 0.0, 2.0);
            state.airflow += boost;
            state.airflow_setpoint += boost;
            state.cooling_loop =
                100.0 * ramp(state.airflow, self.minimum_airflow, self.maximum_airflow);
        } else if recovery > 0.02 && state.space_temperature < self.heating_setpoint {
            let boost = ramp(self.heating_setpoint - state.space_temperature, 0.0, 3.0)
                * context.heating_available;
            state.reheat = state.reheat.max(boost * self.reheat_capacity);
            let heating_airflow = self.minimum_airflow
                + (0.5 * self.maximum_airflow - self.minimum_airflow).max(0.0) * boost;
            state.airflow = state.airflow.max(heating_airflow);
            state.airflow_setpoint = state.airflow;
        }
        if let Some(limit) = fault.airflow_limit {
            state.airflow = state.airflow.min(limit * self.maximum_airflow);
        }
        state.heating_loop = (100.0 * state.reheat / self.reheat_capacity).min(100.0);
        state.reheat_valve = state.heating_loop;
        state.discharge_temperature =
            supply_air + 0.4 + state.reheat / (AIR_HEAT * state.airflow.max(1.0));
        state.cooling_requests = cooling_requests(state);
    }

    /// Opening of the damper that lets an airflow through at 1 inH2O, %.
    pub fn opening(&self, airflow: f64) -> f64 {
        let design = match self.exposure {
            Exposure::Interior => INTERIOR_DESIGN_OPENING,
            _ => DESIGN_OPENING,
        };
        design * (airflow / self.maximum_airflow).max(0.0).powf(DAMPER_CURVE)
    }

    /// What a pressure in the duct, inH2O, means for the damper of a box that runs.
    pub fn set_damper(&self, state: &mut ZoneState, static_pressure: f64) {
        state.damper = if state.is_starved() {
            100.0
        } else {
            (self.opening(state.airflow) / static_pressure.max(0.2).sqrt()).clamp(3.0, 100.0)
        };
        state.pressure_requests = pressure_requests(state);
    }
}

impl ZoneState {
    /// The box does not get the air that it asks for.
    pub fn is_starved(&self) -> bool {
        self.airflow < 0.97 * self.airflow_setpoint
    }

    /// Share of the airflow asked for that is missing, 0–1.
    pub fn shortfall(&self) -> f64 {
        (1.0 - self.airflow / self.airflow_setpoint.max(1.0)).clamp(0.0, 1.0)
    }
}

/// Guideline 36 §5.14.8: 3, 2 or 1 requests of a box whose damper is nearly open.
fn pressure_requests(state: &ZoneState) -> f64 {
    if state.damper <= 95.0 {
        return 0.0;
    }
    match state.airflow / state.airflow_setpoint.max(1.0) {
        ratio if ratio < 0.5 => 3.0,
        ratio if ratio < 0.7 => 2.0,
        _ => 1.0,
    }
}

/// Guideline 36 §5.14.8: 3, 2 or 1 requests of a zone that stays above its cooling setpoint.
fn cooling_requests(state: &ZoneState) -> f64 {
    match state.space_temperature - state.cooling_setpoint {
        above if above >= 5.0 => 3.0,
        above if above >= 3.0 => 2.0,
        _ if state.cooling_loop > 95.0 => 1.0,
        _ => 0.0,
    }
}
