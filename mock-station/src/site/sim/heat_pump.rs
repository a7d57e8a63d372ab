//! A two-stage rooftop heat pump with a zone of its own.

use super::calendar::MINUTE_MS;
use super::chilled_water::BTUH_PER_KW;
use super::context::Context;
use super::faults::Faults;
use super::noise::{between, ramp, smooth};
use super::zone::AIR_HEAT;

const CYCLE_MS: i64 = 120 * MINUTE_MS;
/// Share of full capacity that the first stage gives.
const FIRST_STAGE: f64 = 0.6;
/// Period and length of defrosts once they are started by a timer below a limit of outdoor air, °F.
const DEFROST_PERIOD_MS: i64 = 30 * MINUTE_MS;
const DEFROST_MS: i64 = 9 * MINUTE_MS;
const DEFROST_LIMIT: f64 = 45.0;
/// Days in which the leaking circuit of HP-1 loses its charge.
const LEAK_DAYS: f64 = 45.0;

#[derive(Clone, Debug)]
pub struct HeatPump {
    seed: u64,
    index: usize,
    pub area: f64,
    envelope: f64,
    airflow: f64,
    /// Btu/h at both stages.
    capacity: f64,
    cooling_setpoint: f64,
    heating_setpoint: f64,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct HeatPumpState {
    pub fan: bool,
    pub compressor: bool,
    pub stage: f64,
    pub heating_mode: bool,
    pub supply_temperature: f64,
    pub return_temperature: f64,
    pub space_temperature: f64,
    pub cooling_setpoint: f64,
    pub heating_setpoint: f64,
    pub subcooling: f64,
    pub superheat: f64,
    /// psig, R-410A.
    pub discharge_pressure: f64,
    pub suction_pressure: f64,
    pub filter_pressure: f64,
    pub power: f64,
}

impl HeatPump {
    pub fn new(seed: u64, index: usize) -> Self {
        let area = between(seed, 1, 2_100.0, 2_500.0);
        Self {
            seed,
            index,
            area,
            envelope: area * 0.33,
            airflow: (area * 1.05 / 50.0).round() * 50.0,
            capacity: area * 34.0,
            cooling_setpoint: 74.0,
            heating_setpoint: 70.0,
        }
    }

    pub fn state(&self, context: &Context, faults: &Faults) -> HeatPumpState {
        let hours = context.epoch_ms as f64 / 3_600_000.0;
        let outdoor = context.weather.dry_bulb;
        let always_on = self.index == 1 && faults.night_setback_missing.active(context.epoch_ms);
        let conditioned = context.air_on || always_on;
        let weight = if always_on { 0.0 } else { context.float_weight };
        let lost_charge = if self.index == 0 {
            faults
                .heat_pump_undercharge
                .progress(context.epoch_ms, LEAK_DAYS)
        } else {
            0.0
        };
        let gains = self.area
            * (2.0 * context.people * (1.0 + 0.2 * smooth(self.seed ^ 0x51, hours / 2.1))
                + 4.6 * context.plugs
                + 9.0 * context.weather.irradiance / 950.0);
        let heating_load = self.envelope * (self.heating_setpoint - outdoor) - gains;
        let cooling_load = gains + self.envelope * (outdoor - self.cooling_setpoint);
        let heating = heating_load > 0.0;
        let load = heating_load.max(cooling_load).max(0.0);
        let capacity = self.capacity
            * (1.0 - 0.34 * lost_charge)
            * if heating {
                0.55 + 0.45 * ramp(outdoor, 5.0, 47.0)
            } else {
                1.08 - 0.16 * ramp(outdoor, 75.0, 100.0)
            };
        let mut state = HeatPumpState {
            fan: conditioned,
            heating_mode: heating,
            cooling_setpoint: self.cooling_setpoint + if conditioned { 0.0 } else { 8.0 },
            heating_setpoint: self.heating_setpoint - if conditioned { 0.0 } else { 8.0 },
            ..HeatPumpState::default()
        };
        let load_ratio = load / capacity;
        self.space(
            &mut state,
            context,
            weight,
            load_ratio,
            (heating, heating_load, cooling_load),
            hours,
        );
        if conditioned {
            let recovering = weight > 0.05
                && (state.space_temperature < self.heating_setpoint - 1.0
                    || state.space_temperature > self.cooling_setpoint + 1.0);
            let ratio = if recovering { 1.0 } else { load_ratio };
            if recovering {
                state.heating_mode = state.space_temperature < self.heating_setpoint;
            }
            self.stage(&mut state, context.epoch_ms, ratio);
            state.filter_pressure = 0.32
                + 0.2
                    * ((context.local.day as f64 + context.local.minute / 1440.0) / 95.0)
                        .rem_euclid(1.0);
        }
        let defrosting = conditioned && self.defrosts(faults, context, &state);
        if defrosting {
            state.heating_mode = false;
            state.compressor = true;
            state.stage = state.stage.max(1.0);
        }
        self.refrigerant(&mut state, context, lost_charge, capacity, hours);
        state
    }

    /// Whether the first unit takes its ice off by the clock, ice or no ice: the coil sensor that should ask for it is
    /// dead.
    fn defrosts(&self, faults: &Faults, context: &Context, state: &HeatPumpState) -> bool {
        self.index == 0
            && state.heating_mode
            && faults.defrost_by_timer.active(context.epoch_ms)
            && context.weather.dry_bulb < DEFROST_LIMIT
            && context.epoch_ms.rem_euclid(DEFROST_PERIOD_MS) < DEFROST_MS
    }

    fn space(
        &self,
        state: &mut HeatPumpState,
        context: &Context,
        weight: f64,
        ratio: f64,
        loads: (bool, f64, f64),
        hours: f64,
    ) {
        let (heating, heating_load, cooling_load) = loads;
        let beyond = (6.0 * (ratio - 1.0).max(0.0)).min(7.0);
        let held = if heating {
            self.heating_setpoint - beyond
        } else if cooling_load > 0.0 {
            self.cooling_setpoint + beyond
        } else {
            let span = (-heating_load - cooling_load).max(1.0);
            self.heating_setpoint
                + (self.cooling_setpoint - self.heating_setpoint)
                    * (-heating_load / span).clamp(0.0, 1.0)
        };
        let floating = context.float_temperature - 0.8;
        state.space_temperature = held * (1.0 - weight)
            + floating * weight
            + 0.35 * smooth(self.seed ^ 0x52, hours / 1.1);
        state.return_temperature =
            state.space_temperature + 0.8 + 0.15 * smooth(self.seed ^ 0x53, hours);
    }

    fn stage(&self, state: &mut HeatPumpState, epoch_ms: i64, ratio: f64) {
        let offset = self.index as i64 * CYCLE_MS / 2;
        let phase = (epoch_ms + offset).rem_euclid(CYCLE_MS) as f64 / CYCLE_MS as f64;
        let upper = (ratio - FIRST_STAGE) / (1.0 - FIRST_STAGE);
        state.stage = if upper > 0.0 {
            if phase < upper { 2.0 } else { 1.0 }
        } else if ratio > 0.02 && phase < (ratio / FIRST_STAGE).max(0.2) {
            1.0
        } else {
            0.0
        };
        state.compressor = state.stage > 0.5;
    }

    fn refrigerant(
        &self,
        state: &mut HeatPumpState,
        context: &Context,
        lost_charge: f64,
        capacity: f64,
        hours: f64,
    ) {
        let outdoor = context.weather.dry_bulb;
        if !state.compressor {
            // At rest both sides stand at the saturation pressure of outdoor air; the slope of R-410A near 70 °F.
            let rest = (201.0 + 3.3 * (outdoor - 70.0)).max(40.0);
            state.discharge_pressure = rest;
            state.suction_pressure = rest - 1.0;
            state.supply_temperature = if state.fan {
                state.return_temperature + 0.4
            } else {
                state.space_temperature + 0.5
            };
            return;
        }
        let fraction = if state.stage > 1.5 { 1.0 } else { FIRST_STAGE };
        let change = fraction * capacity / (AIR_HEAT * self.airflow);
        let lift = if state.heating_mode { 0.95 } else { -0.78 };
        state.supply_temperature =
            state.return_temperature + lift * change + 0.3 * smooth(self.seed ^ 0x54, hours * 2.0);
        // Slow, so that a circuit that loses charge passes from one level to the other: with noise from sample to sample it
        // goes back and forth for days, and which of two levels a sample belongs to cannot be told.
        let days = hours / 24.0;
        state.subcooling = 10.5 - 9.3 * lost_charge + 0.6 * smooth(self.seed ^ 0x55, days);
        state.superheat = 9.5 + 14.0 * lost_charge + 0.8 * smooth(self.seed ^ 0x56, days);
        if state.heating_mode {
            state.discharge_pressure = 340.0 + 1.2 * (outdoor - 40.0) - 40.0 * lost_charge;
            state.suction_pressure = (78.0 + 1.5 * (outdoor - 40.0) - 14.0 * lost_charge).max(20.0);
        } else {
            state.discharge_pressure = 305.0 + 4.2 * (outdoor - 80.0) - 45.0 * lost_charge;
            state.suction_pressure = 125.0 + 0.5 * (outdoor - 80.0) - 24.0 * lost_charge;
        }
        let efficiency = if state.heating_mode {
            2.3 + 1.2 * ramp(outdoor, 10.0, 55.0)
        } else {
            3.9 - 1.1 * ramp(outdoor, 70.0, 100.0)
        };
        state.power = fraction * self.capacity / BTUH_PER_KW / efficiency + 0.9;
    }
}
