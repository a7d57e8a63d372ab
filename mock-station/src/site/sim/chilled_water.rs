//! Chilled-water plant: two chillers, variable primary pumps, and one cooling tower with a bypass valve.

use super::context::Context;
use super::faults::Faults;
use super::noise::{ramp, smooth};

/// Nominal capacity of one chiller, tons.
pub const CHILLER_TONS: f64 = 80.0;
/// Condenser water of one running chiller, gpm.
const CONDENSER_FLOW: f64 = 240.0;
/// Load below which the plant stands, tons.
const START_TONS: f64 = 2.5;
/// Load above which both chillers run, tons.
const SECOND_CHILLER_TONS: f64 = 66.0;
/// Btu/h that one gpm of water carries per °F.
pub const WATER_HEAT: f64 = 500.0;
const BTUH_PER_TON: f64 = 12_000.0;
pub const BTUH_PER_KW: f64 = 3_412.14;

/// Final rise of the condenser approach of the fouled chiller, °F, and the days it takes.
const FOULING: f64 = 8.2;
const FOULING_DAYS: f64 = 75.0;
/// Factor on the approach of the tower once its fill has scaled up, and the days it takes.
const TOWER_FOULING: f64 = 3.2;
const TOWER_FOULING_DAYS: f64 = 40.0;
/// Share of the return water that passes the closed bypass valve.
const BYPASS_LEAK: f64 = 0.42;

#[derive(Clone, Copy, Debug, Default)]
pub struct ChillerState {
    pub running: bool,
    pub power: f64,
    pub flow: f64,
    pub leaving_temperature: f64,
    pub entering_temperature: f64,
    pub condenser_approach: f64,
    pub evaporator_approach: f64,
    pub load_percent: f64,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct ChilledWaterState {
    pub running: bool,
    pub tons: f64,
    pub chillers: [ChillerState; 2],
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
    pub tower_leaving: f64,
    pub tower_entering: f64,
    pub condenser_entering: f64,
    pub condenser_flow: f64,
    pub tower_fan_speed: f64,
    pub tower_fan_power: f64,
    pub bypass_valve: f64,
    pub tower_setpoint: f64,
}

/// The plant at one instant. `staged_cooling` is the load at the last staging decision (every half hour): chillers are
/// not started and stopped on every wobble of the load.
pub fn state(
    seed: u64,
    context: &Context,
    faults: &Faults,
    cooling: f64,
    staged_cooling: f64,
) -> ChilledWaterState {
    let hours = context.epoch_ms as f64 / 3_600_000.0;
    let outdoor = context.weather.dry_bulb;
    let staged_tons = staged_cooling / BTUH_PER_TON;
    let reset_stuck = faults.chilled_water_reset_stuck.active(context.epoch_ms);
    let mut plant = ChilledWaterState {
        supply_setpoint: if reset_stuck {
            44.0
        } else {
            44.0 + 6.0 * ramp(-outdoor, -80.0, -55.0)
        },
        differential_setpoint: 9.0 + 5.0 * context.cooling_intensity,
        tower_setpoint: (context.weather.wet_bulb + 7.0).clamp(68.0, 82.0),
        ..ChilledWaterState::default()
    };
    if staged_tons < START_TONS || !context.air_on {
        stand(seed, &mut plant, context, hours);
        return plant;
    }
    plant.running = true;
    plant.tons = (cooling / BTUH_PER_TON).max(0.5 * START_TONS);
    let lead = lead_machine(context.local.day);
    let number = if staged_tons > SECOND_CHILLER_TONS {
        2.0
    } else {
        1.0
    };
    let share = (plant.tons / number / CHILLER_TONS).min(1.1);
    let over_pumped = faults.low_chilled_water_delta_t.active(context.epoch_ms);
    let range = if over_pumped {
        4.2 + 2.0 * share.min(1.0)
    } else {
        9.4 + 2.8 * share.min(1.0)
    } + 0.3 * smooth(seed ^ 0x31, hours);
    plant.flow = plant.tons * BTUH_PER_TON / (WATER_HEAT * range);
    plant.supply_temperature = plant.supply_setpoint
        + 0.25 * smooth(seed ^ 0x32, hours * 2.0)
        + 2.0 * ramp(share, 1.0, 1.2);
    plant.return_temperature = plant.supply_temperature + range;
    run_pumps(&mut plant, lead, number, hours, seed);
    if over_pumped {
        plant.pump_speed = 100.0;
        plant.differential_pressure *= 1.6;
    }
    let heat_guess = plant.tons * BTUH_PER_TON * 1.18;
    run_tower(&mut plant, context, faults, heat_guess, number);
    for (index, chiller) in plant.chillers.iter_mut().enumerate() {
        chiller.leaving_temperature = plant.supply_temperature + 0.1 * index as f64;
        chiller.entering_temperature = plant.return_temperature;
        if number < 2.0 && index != lead {
            idle_chiller(chiller);
            continue;
        }
        chiller.running = true;
        chiller.load_percent = 100.0 * share;
        chiller.flow = plant.flow / number;
        let fouling = if index == 0 {
            FOULING
                * faults
                    .fouled_condenser
                    .progress(context.epoch_ms, FOULING_DAYS)
        } else {
            0.0
        };
        chiller.condenser_approach = 2.2
            + 2.3 * share
            + fouling * (0.6 + 0.4 * share)
            + 0.15 * smooth(seed ^ 0x33 ^ index as u64, hours);
        chiller.evaporator_approach =
            2.0 + 1.6 * share + 0.12 * smooth(seed ^ 0x34 ^ index as u64, hours);
        let lift = plant.condenser_entering + 10.0 * share + chiller.condenser_approach
            - plant.supply_temperature;
        let part_load = 0.17 / (share + 0.12) + 0.86;
        chiller.power =
            share * CHILLER_TONS * 0.58 * part_load * (1.0 + 0.013 * (lift - 44.0)).max(0.55);
    }
    plant
}

/// Which machine leads; the lead changes every week so that both wear alike.
pub fn lead_machine(local_day: i64) -> usize {
    (local_day + 3).div_euclid(7).rem_euclid(2) as usize
}

fn idle_chiller(chiller: &mut ChillerState) {
    chiller.condenser_approach = 0.4;
    chiller.evaporator_approach = 0.3;
}

/// Water of a standing plant drifts towards the mechanical room and the basin towards outdoor air.
fn stand(seed: u64, plant: &mut ChilledWaterState, context: &Context, hours: f64) {
    let room = 62.0 + 4.0 * smooth(seed ^ 0x35, hours / 30.0);
    plant.supply_temperature = room - 1.0;
    plant.return_temperature = room;
    let basin = (0.6 * context.weather.dry_bulb + 26.0).clamp(48.0, 82.0);
    plant.tower_leaving = basin;
    plant.tower_entering = basin + 0.5;
    plant.condenser_entering = basin + 0.3;
    for chiller in &mut plant.chillers {
        chiller.leaving_temperature = plant.supply_temperature;
        chiller.entering_temperature = plant.return_temperature;
        idle_chiller(chiller);
    }
}

fn run_pumps(plant: &mut ChilledWaterState, lead: usize, number: f64, hours: f64, seed: u64) {
    if let Some(pump) = plant.pumps.get_mut(lead) {
        *pump = true;
    }
    if number > 1.0 {
        plant.pumps = [true; 2];
    }
    let load = plant.flow / (CHILLER_TONS * 4.0);
    plant.differential_pressure =
        plant.differential_setpoint + 0.25 * smooth(seed ^ 0x36, hours * 3.0);
    plant.pump_speed = (92.0
        * (0.45 * load / number * 2.0 + 0.55 * (plant.differential_setpoint / 14.0).sqrt()))
    .clamp(25.0, 100.0);
    let head_feet = 2.31 * plant.differential_pressure + 38.0 * load * load;
    plant.pump_power = plant.flow * head_feet / (3960.0 * 0.62) * 0.746 + 0.4;
}

fn run_tower(
    plant: &mut ChilledWaterState,
    context: &Context,
    faults: &Faults,
    heat: f64,
    number: f64,
) {
    let wet_bulb = context.weather.wet_bulb;
    plant.condenser_flow = CONDENSER_FLOW * number;
    let rise = heat / (WATER_HEAT * plant.condenser_flow);
    let load = heat / (2.0 * CHILLER_TONS * BTUH_PER_TON * 1.18);
    let scale = 1.0
        + (TOWER_FOULING - 1.0)
            * faults
                .fouled_tower
                .progress(context.epoch_ms, TOWER_FOULING_DAYS);
    // At full fan the tower reaches 6.5 °F above wet bulb under full load, less under part load.
    let closest = wet_bulb + scale * (2.0 + 4.5 * load);
    plant.tower_leaving = plant.tower_setpoint.max(closest);
    let effort = scale * (2.0 + 4.5 * load) / (plant.tower_leaving - wet_bulb).max(1.0);
    plant.tower_fan_speed = (100.0 * effort.powf(0.8)).clamp(15.0, 100.0);
    plant.tower_fan_power = 9.0 * (plant.tower_fan_speed / 100.0).powi(3);
    // The bypass opens only in cold weather, to keep the basin from getting too cold for the machines.
    plant.bypass_valve = 60.0 * ramp(-wet_bulb, -46.0, -30.0);
    let leak = if faults.tower_bypass_leak.active(context.epoch_ms) {
        BYPASS_LEAK
    } else {
        0.0
    };
    let bypass = (plant.bypass_valve / 100.0).max(leak);
    let tower_range = rise / (1.0 - bypass);
    plant.tower_entering = plant.tower_leaving + tower_range;
    plant.condenser_entering = plant.tower_leaving + bypass * tower_range;
}
