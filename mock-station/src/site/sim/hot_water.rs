//! Hot-water plant: two condensing boilers, two variable-speed pumps, supply temperature reset by outdoor air.

use super::calendar::MINUTE_MS;
use super::chilled_water::{BTUH_PER_KW, WATER_HEAT, lead_machine};
use super::context::Context;
use super::faults::Faults;
use super::noise::{ramp, smooth};

/// Output of one boiler at high fire, Btu/h.
pub const BOILER_OUTPUT: f64 = 620_000.0;
/// Lowest output a burner holds without cycling, Btu/h.
const LOW_FIRE: f64 = 0.2 * BOILER_OUTPUT;
/// Load below which the plant stands in mild weather, Btu/h.
const START_LOAD: f64 = 8_000.0;
/// Outdoor temperature below which the loop is kept hot through the working day, whoever asks for heat, °F.
const KEPT_HOT_BELOW: f64 = 55.0;
/// What pipes and tank of a hot loop lose, Btu/h: the least that boilers give.
const PIPE_LOSS: f64 = 20_000.0;
const SECOND_BOILER_LOAD: f64 = 0.8 * BOILER_OUTPUT;
/// One firing and pause of a sound boiler under light load: the buffer tank carries the pause.
const SOUND_CYCLE_MS: i64 = 360 * MINUTE_MS;
/// The same for the boiler whose differential was set far too narrow, and the share of it that it fires.
const SHORT_CYCLE_MS: i64 = 30 * MINUTE_MS;
const SHORT_CYCLE_DUTY: f64 = 0.47;

#[derive(Clone, Copy, Debug, Default)]
pub struct BoilerState {
    pub firing: bool,
    /// Fuel energy rate, kW.
    pub gas_input: f64,
    pub firing_rate: f64,
    pub leaving_temperature: f64,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct HotWaterState {
    pub running: bool,
    pub boilers: [BoilerState; 2],
    pub supply_setpoint: f64,
    pub supply_temperature: f64,
    pub return_temperature: f64,
    pub flow: f64,
    /// psi.
    pub differential_pressure: f64,
    pub differential_setpoint: f64,
    pub pump_speed: f64,
    pub pumps: [bool; 2],
    pub pump_power: f64,
    /// Btu/h delivered to coils.
    pub load: f64,
}

/// The plant at one instant. `staged_load` is the load at the last staging decision, half-hourly.
pub fn state(
    seed: u64,
    context: &Context,
    faults: &Faults,
    load: f64,
    staged_load: f64,
) -> HotWaterState {
    let hours = context.epoch_ms as f64 / 3_600_000.0;
    let mut plant = HotWaterState {
        supply_setpoint: 180.0 - 40.0 * ramp(context.weather.dry_bulb, 20.0, 56.0),
        differential_setpoint: 6.0 + 5.0 * ramp(-context.weather.dry_bulb, -60.0, -15.0),
        ..HotWaterState::default()
    };
    let is_asked = staged_load >= START_LOAD || context.weather.dry_bulb < KEPT_HOT_BELOW;
    if !context.air_on || !is_asked {
        let room = 78.0 + 4.0 * smooth(seed ^ 0x41, hours / 30.0);
        plant.supply_temperature = room;
        plant.return_temperature = room - 1.0;
        for boiler in &mut plant.boilers {
            boiler.leaving_temperature = room;
        }
        return plant;
    }
    plant.running = true;
    plant.load = load.max(PIPE_LOSS);
    let over_pumped = faults.low_hot_water_delta_t.active(context.epoch_ms);
    run_boilers(&mut plant, context, faults, staged_load, hours, seed);
    let strength = ramp(plant.load, 0.0, 1.3 * BOILER_OUTPUT);
    let drop = if over_pumped {
        6.5 + 5.5 * strength
    } else {
        24.0 + 8.0 * strength
    } + 0.5 * smooth(seed ^ 0x42, hours * 1.3);
    plant.flow = plant.load / (WATER_HEAT * drop);
    plant.return_temperature = plant.supply_temperature - drop;
    plant.differential_pressure = plant.differential_setpoint * if over_pumped { 1.8 } else { 1.0 }
        + 0.2 * smooth(seed ^ 0x43, hours * 3.0);
    let lead = lead_machine(context.local.day);
    if let Some(pump) = plant.pumps.get_mut(lead) {
        *pump = true;
    }
    let light_speed = 30.0 + 62.0 * ramp(plant.load, 0.0, 1.6 * BOILER_OUTPUT);
    plant.pump_speed = if over_pumped { 100.0 } else { light_speed };
    plant.pump_power =
        plant.flow * (2.31 * plant.differential_pressure + 12.0) / (3960.0 * 0.58) * 0.746 + 0.3;
    plant
}

fn run_boilers(
    plant: &mut HotWaterState,
    context: &Context,
    faults: &Faults,
    staged_load: f64,
    hours: f64,
    seed: u64,
) {
    let short_cycling = faults.short_cycling_boiler.active(context.epoch_ms);
    // Whoever narrowed the differential also took the boilers out of rotation, with the wrong one in the lead.
    let lead = if short_cycling {
        1
    } else {
        lead_machine(context.local.day)
    };
    let called = if staged_load > SECOND_BOILER_LOAD {
        2.0
    } else {
        1.0
    };
    let share = plant.load / called;
    let mut ripple = 0.4 * smooth(seed ^ 0x44, hours * 1.5);
    for (index, boiler) in plant.boilers.iter_mut().enumerate() {
        if called < 2.0 && index != lead {
            continue;
        }
        let cycle = if index == 1 && short_cycling {
            Some((SHORT_CYCLE_MS, SHORT_CYCLE_DUTY))
        } else if share < LOW_FIRE {
            Some((SOUND_CYCLE_MS, (share / LOW_FIRE).clamp(0.25, 1.0)))
        } else {
            None
        };
        let output = match cycle {
            None => Some(share),
            Some((period, duty)) => {
                let phase = context.epoch_ms.rem_euclid(period) as f64 / period as f64;
                let swing = if period == SHORT_CYCLE_MS { 4.5 } else { 2.5 };
                ripple += swing * cycle_wave(phase, duty);
                (phase < duty).then_some(share / duty)
            }
        };
        if let Some(output) = output {
            boiler.firing = true;
            boiler.firing_rate = (100.0 * output / BOILER_OUTPUT).min(100.0);
            boiler.gas_input =
                output / BTUH_PER_KW / efficiency(plant.supply_setpoint, faults, context);
        }
    }
    plant.supply_temperature = plant.supply_setpoint + ripple;
    for boiler in &mut plant.boilers {
        boiler.leaving_temperature =
            plant.supply_temperature + if boiler.firing { 3.0 } else { -1.5 };
    }
}

/// Water temperature over one cycle: rises while firing, falls in the pause, ends where it began.
fn cycle_wave(phase: f64, duty: f64) -> f64 {
    if phase < duty {
        2.0 * phase / duty - 1.0
    } else {
        1.0 - 2.0 * (phase - duty) / (1.0 - duty).max(0.01)
    }
}

/// A condensing boiler loses efficiency with warm return water, which over-pumping brings.
fn efficiency(supply: f64, faults: &Faults, context: &Context) -> f64 {
    let drop = if faults.low_hot_water_delta_t.active(context.epoch_ms) {
        9.0
    } else {
        27.0
    };
    0.93 - 0.09 * ramp(supply - drop, 105.0, 150.0)
}
