//! Heating circuits of a water-heated site: each mixes boiler water with its own return to the temperature its consumers
//! need.
//!
//! All circuits give their water back at the temperature of the common return, so that their heat adds up to the load
//! of the plant.

use super::building::{AIR_HANDLERS, Inputs};
use super::chilled_water::WATER_HEAT;
use super::faults::Faults;
use super::hot_water::HotWaterState;
use super::noise::{ramp, smooth};

/// One circuit for the air heaters and one for the reheaters of each floor.
pub const CIRCUITS: usize = 1 + AIR_HANDLERS;
/// The circuit whose pump was left in hand.
pub const CIRCUIT_IN_HAND: usize = 3;
/// Load below which a circuit's pump rests, Btu/h.
const LEAST_LOAD: f64 = 1_500.0;
/// Water that the pump in hand moves without regard to the load, gpm, and its speed, %.
const IN_HAND_FLOW: f64 = 26.0;
const IN_HAND_SPEED: f64 = 80.0;
/// Electric power of a circuit pump at full speed, kW.
const PUMP_POWER: f64 = 0.75;

#[derive(Clone, Copy, Debug, Default)]
pub struct CircuitState {
    pub pump: bool,
    pub pump_speed: f64,
    pub pump_power: f64,
    pub supply_setpoint: f64,
    pub supply_temperature: f64,
    pub return_temperature: f64,
    pub flow: f64,
    /// Share of boiler water in the mix, %.
    pub mixing_valve: f64,
    /// Btu/h given to consumers.
    pub heat: f64,
}

/// Heat that the consumers of a circuit take, Btu/h.
fn demand(index: usize, inputs: &Inputs) -> f64 {
    let reheat = |floor: usize| {
        inputs
            .demand
            .get(floor)
            .map_or(0.0, |demand| f64::from(demand.reheat))
    };
    match index.checked_sub(1) {
        Some(floor) => reheat(floor),
        None => {
            let reheaters: f64 = (0..AIR_HANDLERS).map(reheat).sum();
            (f64::from(inputs.loads.heating) - reheaters).max(0.0)
        }
    }
}

/// The circuit at one instant.
pub fn state(
    seed: u64,
    index: usize,
    inputs: &Inputs,
    plant: &HotWaterState,
    faults: &Faults,
) -> CircuitState {
    let context = &inputs.context;
    let hours = context.epoch_ms as f64 / 3_600_000.0;
    let in_hand = index == CIRCUIT_IN_HAND && faults.circuit_pump_in_hand.active(context.epoch_ms);
    // Air heaters take the water nearly as hot as the boilers give it, reheaters cooler.
    let below = if index == 0 { 4.0 } else { 10.0 };
    let mut circuit = CircuitState {
        supply_setpoint: plant.supply_setpoint - below,
        ..CircuitState::default()
    };
    let heat = if plant.running {
        demand(index, inputs)
    } else {
        0.0
    };
    if in_hand {
        circuit.pump = true;
        // A flow meter never shows the same twice.
        circuit.flow = IN_HAND_FLOW * (1.0 + 0.012 * smooth(seed ^ 0x98, hours * 1.6));
        circuit.pump_speed = IN_HAND_SPEED;
    }
    if heat < LEAST_LOAD {
        let resting = 77.0 + 3.0 * smooth(seed ^ 0x91 ^ index as u64, hours / 26.0);
        circuit.supply_temperature = resting;
        // A pump that turns no heat keeps supply and return alike; a resting circuit cools unevenly.
        circuit.return_temperature = resting - if in_hand { 0.2 } else { 1.2 };
    } else {
        let warmth = plant.supply_temperature - plant.return_temperature;
        let lift = (circuit.supply_setpoint - plant.return_temperature).clamp(3.0, warmth.max(3.0));
        circuit.pump = true;
        circuit.heat = heat;
        circuit.flow = circuit.flow.max(heat / (WATER_HEAT * lift));
        let rise = heat / (WATER_HEAT * circuit.flow);
        circuit.return_temperature = plant.return_temperature;
        circuit.supply_temperature = plant.return_temperature + rise;
        circuit.mixing_valve = (100.0 * rise / warmth.max(1.0)).min(100.0);
        circuit.pump_speed = circuit
            .pump_speed
            .max(30.0 + 60.0 * ramp(circuit.flow, 0.0, 45.0));
    }
    circuit.pump_power = PUMP_POWER * (circuit.pump_speed / 100.0).powi(2);
    circuit
}
