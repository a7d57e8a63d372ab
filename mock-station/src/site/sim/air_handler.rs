//! A variable-volume air handler: mixing box with economizer, heating and cooling coil, supply fan on static pressure.

use super::context::Context;
use super::faults::Faults;
use super::noise::{between, ramp, smooth};
use super::zone::AIR_HEAT;

/// Temperature rise over the draw-through supply fan, °F.
pub const FAN_HEAT: f64 = 1.6;
/// Dry-bulb limit above which the economizer returns to minimum, °F.
pub const ECONOMIZER_HIGH_LIMIT: f64 = 65.0;
pub const MINIMUM_OUTDOOR_AIR: f64 = 0.20;

/// Where the stuck outdoor-air damper of AHU-1 stands.
const STUCK_DAMPER: f64 = 0.64;
/// Rise over the closed but leaking heating coil of AHU-2 at half airflow, °F.
const LEAK_RISE: f64 = 7.5;
/// Days over which the supply sensor of AHU-3 drifts to its final error, and that error in °F.
const SENSOR_DRIFT_DAYS: f64 = 120.0;
const SENSOR_DRIFT: f64 = 6.5;
/// Least opening of the cooling valve of AHU-3 while it stands in hand.
const COOLING_VALVE_IN_HAND: f64 = 0.25;
/// Signal at which a valve lifts off its seat.
const VALVE_LIFT: f64 = 0.06;
/// Share of a coil's capacity for which no controller opens its valve.
const LEAST_SHARE: f64 = 0.002;
/// Limits of the static-pressure setpoint and where it waits while the fan stands, inH2O.
const LOWEST_STATIC: f64 = 0.25;
const HIGHEST_STATIC: f64 = 1.5;
const RESTING_STATIC: f64 = 0.5;
/// Where the reset of the static pressure keeps the damper of the neediest box, %.
const NEEDIEST_DAMPER: f64 = 88.0;
const FILTER_LIFE_DAYS: f64 = 120.0;

/// What the boxes of one air handler ask of it at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AirDemand {
    /// cfm.
    pub airflow: f32,
    /// Airflow-weighted mean of zone temperatures, °F.
    pub return_temperature: f32,
    /// Btu/h.
    pub reheat: f32,
    /// ppm.
    pub co2: f32,
    pub pressure_requests: f32,
    pub cooling_requests: f32,
    /// inH2O.
    pub static_setpoint: f32,
}

#[derive(Clone, Debug)]
pub struct AirHandler {
    seed: u64,
    index: usize,
    /// cfm.
    pub design_airflow: f64,
    /// Btu/h, sensible and latent.
    cooling_capacity: f64,
    /// Btu/h.
    heating_capacity: f64,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct AirHandlerState {
    pub running: bool,
    pub airflow: f64,
    pub outdoor_airflow: f64,
    pub supply_setpoint: f64,
    /// As the sensor reads it.
    pub supply_temperature: f64,
    pub mixed_temperature: f64,
    pub return_temperature: f64,
    pub damper_command: f64,
    pub damper_position: f64,
    pub economizing: bool,
    pub cooling_valve: f64,
    pub heating_valve: f64,
    pub static_pressure: f64,
    pub static_setpoint: f64,
    pub fan_speed: f64,
    pub fan_power: f64,
    pub filter_pressure: f64,
    pub return_humidity: f64,
    pub return_co2: f64,
    /// 0 off, 1 warm-up, 2 cool-down, 3 occupied.
    pub mode: f64,
    /// Btu/h.
    pub cooling: f64,
    /// Btu/h.
    pub heating: f64,
    /// Supply air warmer than the coil was asked for because the coil is at its limit, °F.
    pub shortfall: f64,
    pub pressure_requests: f64,
    pub cooling_requests: f64,
}

impl AirHandler {
    pub fn new(seed: u64, index: usize, sum_of_boxes: f64) -> Self {
        let design_airflow = (sum_of_boxes * 0.75 / 100.0).round() * 100.0;
        Self {
            seed,
            index,
            design_airflow,
            cooling_capacity: design_airflow * AIR_HEAT * 22.0 * 1.4,
            heating_capacity: design_airflow * AIR_HEAT * 30.0,
        }
    }

    /// Supply-air error that boxes see because the sensor that controls it reads wrong, °F.
    pub fn supply_air_error(&self, faults: &Faults, epoch_ms: i64) -> f64 {
        if self.index == 2 {
            -SENSOR_DRIFT
                * faults
                    .drifting_supply_sensor
                    .progress(epoch_ms, SENSOR_DRIFT_DAYS)
        } else {
            0.0
        }
    }

    /// How much warmer than asked the supply air gets in hot weather when the stuck damper overloads the cooling coil, °F.
    pub fn overload_error(&self, faults: &Faults, context: &Context) -> f64 {
        if self.index != 0 || !context.air_on || !faults.economizer_stuck.active(context.epoch_ms) {
            return 0.0;
        }
        let typical_return = 75.5;
        let entering = typical_return - STUCK_DAMPER * (typical_return - context.weather.dry_bulb);
        let typical_airflow =
            (0.45 + 0.35 * ramp(context.weather.dry_bulb, 70.0, 95.0)) * self.design_airflow;
        let reach = self.cooling_capacity / latent_factor(context) / (AIR_HEAT * typical_airflow);
        (entering - (context.supply_air_setpoint - FAN_HEAT) - reach).max(0.0)
    }

    /// Static-pressure setpoint, inH2O, where trim and respond (Guideline 36 §5.16.1) comes to rest: the neediest box, which
    /// would open by `neediest` % at 1 inH2O, stands nearly open. A box that misses the share `shortfall` of its air however
    /// far it opens goes on asking for more.
    pub fn static_setpoint(&self, context: &Context, neediest: f64, shortfall: f64) -> f64 {
        if !context.air_on {
            return RESTING_STATIC;
        }
        let hours = context.epoch_ms as f64 / 3_600_000.0;
        let open = NEEDIEST_DAMPER + 5.0 * smooth(self.seed ^ 0x27, hours / 0.8);
        let settled = (neediest / open).powi(2).max(LOWEST_STATIC);
        (settled + 1.2 * shortfall).min(HIGHEST_STATIC)
    }

    pub fn state(&self, context: &Context, faults: &Faults, demand: &AirDemand) -> AirHandlerState {
        let hours = context.epoch_ms as f64 / 3_600_000.0;
        let mut state = AirHandlerState {
            supply_setpoint: context.supply_air_setpoint,
            return_humidity: 37.0
                + 15.0 * ramp(context.weather.dew_point, 34.0, 66.0)
                + 2.0 * smooth(self.seed ^ 0x21, hours / 2.4),
            return_co2: f64::from(demand.co2),
            return_temperature: f64::from(demand.return_temperature)
                + 0.9 * context.plugs
                + 0.15 * smooth(self.seed ^ 0x22, hours),
            static_setpoint: f64::from(demand.static_setpoint),
            ..AirHandlerState::default()
        };
        state.damper_position = self.damper_position(faults, context, 0.0);
        if context.air_on {
            self.run(&mut state, context, faults, demand, hours);
        } else {
            let plenum = state.return_temperature;
            let leak = 0.06 + 0.2 * state.damper_position / 100.0;
            state.mixed_temperature = plenum - leak * (plenum - context.weather.dry_bulb);
            state.supply_temperature = plenum
                - 0.5 * leak * (plenum - context.weather.dry_bulb)
                - self.supply_air_error(faults, context.epoch_ms);
        }
        state
    }

    fn damper_position(&self, faults: &Faults, context: &Context, command: f64) -> f64 {
        if self.index == 0 && faults.economizer_stuck.active(context.epoch_ms) {
            100.0 * STUCK_DAMPER
        } else {
            command
        }
    }

    fn run(
        &self,
        state: &mut AirHandlerState,
        context: &Context,
        faults: &Faults,
        demand: &AirDemand,
        hours: f64,
    ) {
        let outdoor = context.weather.dry_bulb;
        let airflow = f64::from(demand.airflow).max(500.0);
        let sensor_error = -self.supply_air_error(faults, context.epoch_ms);
        let leak_rise = self.leak_rise(faults, context, airflow);
        let coil_target = state.supply_setpoint - sensor_error - FAN_HEAT;

        state.running = true;
        state.airflow = airflow;
        state.mode = if context.warm_up {
            1.0
        } else if context.cool_down {
            2.0
        } else {
            3.0
        };
        let open = self.damper_command(state, context, coil_target - leak_rise);
        state.economizing = open > MINIMUM_OUTDOOR_AIR + 0.01;
        state.damper_command = 100.0 * open;
        state.damper_position = self.damper_position(faults, context, state.damper_command);
        let fraction = state.damper_position / 100.0;
        state.outdoor_airflow = airflow * fraction;
        let mixed = state.return_temperature - fraction * (state.return_temperature - outdoor);
        state.mixed_temperature = mixed + 0.25 * smooth(self.seed ^ 0x23, hours * 1.9);

        let leaving = self.coils(
            state,
            context,
            faults,
            mixed + leak_rise,
            coil_target,
            airflow,
        );
        state.heating += AIR_HEAT * airflow * leak_rise;
        state.shortfall = (leaving - coil_target).max(0.0);
        state.supply_temperature =
            leaving + FAN_HEAT + sensor_error + 0.3 * smooth(self.seed ^ 0x24, hours * 2.3);
        self.run_fan(state, context, airflow, hours);
        state.pressure_requests = f64::from(demand.pressure_requests);
        state.cooling_requests = f64::from(demand.cooling_requests);
    }

    fn leak_rise(&self, faults: &Faults, context: &Context, airflow: f64) -> f64 {
        if self.index == 1 && faults.leaking_heating_valve.active(context.epoch_ms) {
            LEAK_RISE * context.heating_available * (0.5 * self.design_airflow / airflow).powf(0.5)
        } else {
            0.0
        }
    }

    /// Opening of the outdoor-air damper, 0–1: closed in warm-up, modulating below the high limit, else minimum.
    fn damper_command(&self, state: &AirHandlerState, context: &Context, mixed_target: f64) -> f64 {
        if context.warm_up {
            return 0.0;
        }
        let minimum = if context.occupied {
            MINIMUM_OUTDOOR_AIR
        } else {
            0.0
        };
        let outdoor = context.weather.dry_bulb;
        let difference = state.return_temperature - outdoor;
        if difference < 1.0 {
            return minimum;
        }
        let wanted = ((state.return_temperature - mixed_target) / difference).clamp(minimum, 1.0);
        let allowed = 1.0 - ramp(outdoor, ECONOMIZER_HIGH_LIMIT - 1.5, ECONOMIZER_HIGH_LIMIT);
        minimum + (wanted - minimum) * allowed
    }

    /// Sets valves and coil loads; returns the temperature of the air leaving the coils.
    fn coils(
        &self,
        state: &mut AirHandlerState,
        context: &Context,
        faults: &Faults,
        entering: f64,
        target: f64,
        airflow: f64,
    ) -> f64 {
        let latent = latent_factor(context);
        let per_degree = AIR_HEAT * airflow;
        let in_hand =
            if self.index == 2 && faults.simultaneous_heating_cooling.active(context.epoch_ms) {
                // A valve that stands still passes more heat into more air.
                share_through(COOLING_VALVE_IN_HAND)
                    * self.cooling_capacity
                    * (0.5 + 0.5 * airflow / self.design_airflow)
            } else {
                0.0
            };
        let wanted = if context.warm_up {
            0.0
        } else {
            (per_degree * (entering - target) * latent).max(0.0)
        };
        state.cooling = wanted.max(in_hand).min(self.cooling_capacity);
        let least = if in_hand > 0.0 {
            COOLING_VALVE_IN_HAND
        } else {
            0.0
        };
        state.cooling_valve = 100.0 * opening_for(state.cooling / self.cooling_capacity).max(least);
        let cooled = entering - state.cooling / latent / per_degree;
        let missing = (per_degree * (target - cooled)).max(0.0) * context.heating_available;
        state.heating = missing.min(self.heating_capacity);
        state.heating_valve = 100.0 * opening_for(state.heating / self.heating_capacity);
        cooled + state.heating / per_degree
    }

    fn run_fan(&self, state: &mut AirHandlerState, context: &Context, airflow: f64, hours: f64) {
        let load = airflow / self.design_airflow;
        state.static_pressure =
            state.static_setpoint + 0.025 * smooth(self.seed ^ 0x25, hours * 4.0);
        state.fan_speed =
            (94.0 * (0.55 * load + 0.45 * (state.static_setpoint / 1.3).sqrt())).clamp(20.0, 100.0);
        let total_pressure = 1.1 * state.static_setpoint + 2.3 * load * load;
        state.fan_power = airflow * total_pressure / (6356.0 * 0.58) * 0.746;
        let age = (context.local.day as f64
            + context.local.minute / 1440.0
            + between(self.seed, 26, 0.0, FILTER_LIFE_DAYS))
        .rem_euclid(FILTER_LIFE_DAYS)
            / FILTER_LIFE_DAYS;
        state.filter_pressure = load * load * (0.3 + 0.45 * age);
    }
}

/// Signal of a valve that gives a share of the coil's capacity.
fn opening_for(share: f64) -> f64 {
    if share > LEAST_SHARE {
        VALVE_LIFT + (1.0 - VALVE_LIFT) * share
    } else {
        0.0
    }
}

/// The reverse of [`opening_for`].
fn share_through(opening: f64) -> f64 {
    ((opening - VALVE_LIFT) / (1.0 - VALVE_LIFT)).max(0.0)
}

/// Total over sensible cooling: a coil also dries humid air.
fn latent_factor(context: &Context) -> f64 {
    1.0 + 0.38 * ramp(context.weather.dew_point, 48.0, 68.0)
}
