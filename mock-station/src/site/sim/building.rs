//! One building of the site: its equipment, its planted faults and the value of any signal at any instant.

use super::air_handler::{AirDemand, AirHandler, AirHandlerState};
use super::cache::{AirBlock, DayCache, PlantLoads, QUARTERS, SiteClimate, quarter_of};
use super::calendar::{DAY_MS, MINUTE_MS};
use super::chilled_water::{self, ChilledWaterState};
use super::context::Context;
use super::faults::Faults;
use super::heat_pump::{HeatPump, HeatPumpState};
use super::heating_circuit::{self, CircuitState};
use super::hot_water::{self, HotWaterState};
use super::meters::Registers;
use super::noise::hash;
use super::place::Place;
use super::tap_water::{self, TapWaterState};
use super::zone::{BoxFault, FLOOR_PLAN, Zone, ZoneState};
use std::sync::{Arc, Mutex};

pub const AIR_HANDLERS: usize = 3;
pub const ZONES_PER_AIR_HANDLER: usize = FLOOR_PLAN.len();
pub const ZONES: usize = AIR_HANDLERS * ZONES_PER_AIR_HANDLER;
pub const HEAT_PUMPS: usize = 2;

/// Zone index of the starved box, VAV-2-05, and the share of its design airflow that the blocked duct passes.
pub const STARVED_ZONE: usize = 12;
const STARVED_AIRFLOW: f64 = 0.24;
/// Btu/h·°F between neighbouring zones through partitions and open doors.
const PARTITION: f64 = 420.0;
/// Staging of plants is decided every half hour.
const STAGING_MS: i64 = 30 * MINUTE_MS;

/// What a building has besides the equipment that all buildings have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fittings {
    Plain,
    /// Heating circuits with pumps of their own, and heated tap water.
    CircuitsAndTapWater,
}

/// Everything that equipment states of one instant are computed from.
#[derive(Clone, Copy, Debug)]
pub struct Inputs {
    pub context: Context,
    pub demand: [AirDemand; AIR_HANDLERS],
    pub loads: PlantLoads,
    /// Loads at the last staging decision.
    pub staged: PlantLoads,
}

#[derive(Debug)]
pub struct Building {
    pub(super) seed: u64,
    climate: Arc<SiteClimate>,
    faults: Faults,
    fittings: Fittings,
    zones: Vec<Zone>,
    air_handlers: Vec<AirHandler>,
    heat_pumps: Vec<HeatPump>,
    blocks: DayCache<AirBlock>,
    latest: Mutex<Option<(i64, Inputs)>>,
    pub(super) registers: Registers,
}

impl Building {
    /// A building under `climate` with its own sizes; meter registers are counted from the month of `anchor_ms`.
    pub fn new(
        seed: u64,
        climate: Arc<SiteClimate>,
        faults: Faults,
        fittings: Fittings,
        anchor_ms: i64,
    ) -> Self {
        let zones: Vec<Zone> = (0..AIR_HANDLERS)
            .flat_map(|floor| {
                FLOOR_PLAN
                    .iter()
                    .enumerate()
                    .map(move |(number, exposure)| {
                        Zone::new(hash(seed, (floor * 100 + number) as i64), *exposure)
                    })
            })
            .collect();
        let air_handlers = zones
            .chunks(ZONES_PER_AIR_HANDLER)
            .enumerate()
            .map(|(index, boxes)| {
                AirHandler::new(
                    hash(seed, 1_000 + index as i64),
                    index,
                    boxes.iter().map(|zone| zone.maximum_airflow).sum(),
                )
            })
            .collect();
        Self {
            seed,
            faults,
            fittings,
            zones,
            air_handlers,
            heat_pumps: (0..HEAT_PUMPS)
                .map(|index| HeatPump::new(hash(seed, 2_000 + index as i64), index))
                .collect(),
            blocks: DayCache::default(),
            latest: Mutex::new(None),
            registers: Registers::new(climate.place(), anchor_ms),
            climate,
        }
    }

    /// The building of Harborview with its planted faults, for a station started at `anchor_ms`.
    pub fn harborview(seed: u64, anchor_ms: i64) -> Self {
        Self::new(
            seed,
            Arc::new(SiteClimate::new(Place::NewYork, seed)),
            Faults::harborview(anchor_ms),
            Fittings::Plain,
            anchor_ms,
        )
    }

    /// The building of Lakeside with its planted faults, for a station started at `anchor_ms`.
    pub fn lakeside(seed: u64, anchor_ms: i64) -> Self {
        Self::new(
            seed,
            Arc::new(SiteClimate::new(Place::LakeConstance, seed)),
            Faults::lakeside(anchor_ms),
            Fittings::CircuitsAndTapWater,
            anchor_ms,
        )
    }

    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    pub fn zone(&self, index: usize) -> Option<&Zone> {
        self.zones.get(index)
    }

    pub fn air_handler(&self, index: usize) -> Option<&AirHandler> {
        self.air_handlers.get(index)
    }

    /// Conditioned floor area, ft².
    pub fn area(&self) -> f64 {
        self.zones.iter().map(|zone| zone.area).sum::<f64>()
            + self.heat_pumps.iter().map(|unit| unit.area).sum::<f64>()
    }

    pub fn context(&self, epoch_ms: i64) -> Context {
        if quarter_of(epoch_ms).is_some() {
            self.climate.at(epoch_ms)
        } else {
            self.inputs(epoch_ms).context
        }
    }

    pub fn inputs(&self, epoch_ms: i64) -> Inputs {
        if let Some((day, quarter)) = quarter_of(epoch_ms) {
            let block = self.block(day);
            if let (Some(demand), Some(loads)) =
                (block.demand.get(quarter), block.loads.get(quarter))
            {
                let staged = if epoch_ms % STAGING_MS == 0 {
                    *loads
                } else {
                    self.staged_loads(epoch_ms)
                };
                return Inputs {
                    context: self.climate.at(epoch_ms),
                    demand: *demand,
                    loads: *loads,
                    staged,
                };
            }
        }
        let mut latest = self
            .latest
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((instant, inputs)) = latest.as_ref()
            && *instant == epoch_ms
        {
            return *inputs;
        }
        let context = self.climate.at(epoch_ms);
        let demand = self.demands(&context);
        let inputs = Inputs {
            context,
            demand,
            loads: self.loads(&context, &demand),
            staged: self.staged_loads(epoch_ms),
        };
        *latest = Some((epoch_ms, inputs));
        inputs
    }

    fn staged_loads(&self, epoch_ms: i64) -> PlantLoads {
        let decided = epoch_ms - epoch_ms.rem_euclid(STAGING_MS);
        match quarter_of(decided) {
            Some((day, quarter)) => self
                .block(day)
                .loads
                .get(quarter)
                .copied()
                .unwrap_or_default(),
            None => PlantLoads::default(),
        }
    }

    fn block(&self, day: i64) -> Arc<AirBlock> {
        self.blocks.get(day, || {
            let contexts = self.climate.day(day);
            let demand: Vec<_> = contexts
                .iter()
                .map(|context| self.demands(context))
                .collect();
            let loads = contexts
                .iter()
                .zip(&demand)
                .map(|(context, demand)| self.loads(context, demand))
                .collect();
            AirBlock { demand, loads }
        })
    }

    fn box_fault(&self, index: usize, context: &Context) -> BoxFault {
        let mut fault = BoxFault::default();
        if let Some(unit) = self.air_handlers.get(index / ZONES_PER_AIR_HANDLER) {
            fault.supply_air_error = unit.supply_air_error(&self.faults, context.epoch_ms)
                + unit.overload_error(&self.faults, context);
        }
        if self.faults.starved_zone.active(context.epoch_ms) {
            if index == STARVED_ZONE {
                fault.airflow_limit = Some(STARVED_AIRFLOW);
            } else if index.abs_diff(STARVED_ZONE) == 1 {
                let starved = self.zone_air(STARVED_ZONE, context);
                fault.neighbour_gain =
                    PARTITION * (starved.space_temperature - starved.cooling_setpoint).max(0.0);
            }
        }
        fault
    }

    pub fn zone_state(&self, index: usize, context: &Context) -> ZoneState {
        let mut state = self.zone_air(index, context);
        if context.air_on
            && let Some(zone) = self.zones.get(index)
        {
            let unit = index / ZONES_PER_AIR_HANDLER;
            zone.set_damper(&mut state, self.static_setpoint(unit, context.epoch_ms));
        }
        state
    }

    /// A zone without what depends on the pressure in its duct.
    fn zone_air(&self, index: usize, context: &Context) -> ZoneState {
        let fault = self.box_fault(index, context);
        self.zones
            .get(index)
            .map_or_else(ZoneState::default, |zone| zone.state(context, &fault))
    }

    fn static_setpoint(&self, unit: usize, epoch_ms: i64) -> f64 {
        let of = |demand: &[AirDemand; AIR_HANDLERS]| {
            demand
                .get(unit)
                .map_or(1.0, |demand| f64::from(demand.static_setpoint))
        };
        match quarter_of(epoch_ms) {
            Some((day, quarter)) => self.block(day).demand.get(quarter).map_or(1.0, of),
            None => of(&self.inputs(epoch_ms).demand),
        }
    }

    fn demands(&self, context: &Context) -> [AirDemand; AIR_HANDLERS] {
        std::array::from_fn(|unit| self.demand(unit, context))
    }

    fn demand(&self, unit: usize, context: &Context) -> AirDemand {
        let first = unit * ZONES_PER_AIR_HANDLER;
        let mut states: [ZoneState; ZONES_PER_AIR_HANDLER] =
            std::array::from_fn(|number| self.zone_air(first + number, context));
        let zones = self.zones.get(first..).unwrap_or_default();
        let (mut neediest, mut shortfall) = (0.0_f64, 0.0_f64);
        for (zone, state) in zones.iter().zip(&states) {
            if state.is_starved() {
                shortfall = shortfall.max(state.shortfall());
            } else {
                neediest = neediest.max(zone.opening(state.airflow));
            }
        }
        let static_setpoint = self.air_handlers.get(unit).map_or(1.0, |unit| {
            unit.static_setpoint(context, neediest, shortfall)
        });
        let (mut airflow, mut heat_sum, mut weight, mut reheat, mut co2) =
            (0.0, 0.0, 0.0, 0.0, 0.0);
        let (mut pressure_requests, mut cooling_requests) = (0.0, 0.0);
        for (zone, state) in zones.iter().zip(&mut states) {
            if context.air_on {
                zone.set_damper(state, static_setpoint);
            }
            let share = state.airflow.max(1.0);
            airflow += state.airflow;
            heat_sum += share * state.space_temperature;
            weight += share;
            reheat += state.reheat;
            co2 += state.co2;
            pressure_requests += state.pressure_requests;
            cooling_requests += state.cooling_requests;
        }
        AirDemand {
            airflow: airflow as f32,
            return_temperature: (heat_sum / weight) as f32,
            reheat: reheat as f32,
            co2: (co2 / ZONES_PER_AIR_HANDLER as f64) as f32,
            pressure_requests: pressure_requests as f32,
            cooling_requests: cooling_requests as f32,
            static_setpoint: static_setpoint as f32,
        }
    }

    fn loads(&self, context: &Context, demand: &[AirDemand; AIR_HANDLERS]) -> PlantLoads {
        let mut loads = PlantLoads::default();
        for (unit, asked) in self.air_handlers.iter().zip(demand) {
            let state = unit.state(context, &self.faults, asked);
            loads.cooling += state.cooling as f32;
            loads.heating += state.heating as f32 + asked.reheat;
            loads.fans += state.fan_power as f32;
        }
        loads
    }

    pub fn air_state(&self, index: usize, inputs: &Inputs) -> AirHandlerState {
        match (self.air_handlers.get(index), inputs.demand.get(index)) {
            (Some(unit), Some(demand)) => unit.state(&inputs.context, &self.faults, demand),
            _ => AirHandlerState::default(),
        }
    }

    pub fn chilled_water_state(&self, inputs: &Inputs) -> ChilledWaterState {
        let (now, staged) = (
            f64::from(inputs.loads.cooling),
            f64::from(inputs.staged.cooling),
        );
        chilled_water::state(self.seed, &inputs.context, &self.faults, now, staged)
    }

    pub fn hot_water_state(&self, inputs: &Inputs) -> HotWaterState {
        let (now, staged) = (
            f64::from(inputs.loads.heating),
            f64::from(inputs.staged.heating),
        );
        hot_water::state(self.seed, &inputs.context, &self.faults, now, staged)
    }

    /// A circuit of the hot water `plant`; a building without circuits answers for those it would have.
    pub fn circuit_state(
        &self,
        index: usize,
        inputs: &Inputs,
        plant: &HotWaterState,
    ) -> CircuitState {
        heating_circuit::state(self.seed, index, inputs, plant, &self.faults)
    }

    pub fn tap_water_state(&self, context: &Context) -> TapWaterState {
        tap_water::state(self.seed, context, &self.faults)
    }

    pub fn place(&self) -> Place {
        self.climate.place()
    }

    pub fn fittings(&self) -> Fittings {
        self.fittings
    }

    pub fn heat_pump_state(&self, index: usize, context: &Context) -> HeatPumpState {
        self.heat_pumps
            .get(index)
            .map_or_else(HeatPumpState::default, |unit| {
                unit.state(context, &self.faults)
            })
    }

    /// First instant of the UTC day and the number of quarters that a block covers.
    pub(super) const fn block_span(day: i64) -> (i64, usize) {
        (day * DAY_MS, QUARTERS)
    }
}
