//! Electricity and gas meters: demand as the sum of the loads, registers as its exact integral over quarters of an hour.

use super::building::{Building, Fittings, HEAT_PUMPS, Inputs};
use super::cache::{DayCache, quarter_of};
use super::calendar::{DAY_MS, QUARTER_MS, days_from_civil};
use super::chilled_water::BTUH_PER_KW;
use super::heating_circuit::CIRCUITS;
use super::hot_water::HotWaterState;
use super::noise::{between, ramp};
use super::place::Place;
use std::sync::Mutex;

/// Heat in a cubic foot of pipeline gas, Btu.
const BTU_PER_CUBIC_FOOT: f64 = 1_037.0;
/// Connected load of lights and plugs, W/ft².
const PLUG_DENSITY: f64 = 1.5;
const ALWAYS_ON_KW: f64 = 9.0;
const PARKING_LIGHTS_KW: f64 = 4.0;
const CONDENSER_PUMP_KW: f64 = 4.2;
/// Typical daily use, for the reading that the registers had reached at their anchor.
const TYPICAL_KWH_PER_DAY: f64 = 2_300.0;
const TYPICAL_CUBIC_FEET_PER_DAY: f64 = 6_000.0;

/// Rates of both meters at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// kW.
    pub electric: f64,
    /// ft³/h.
    pub gas: f64,
}

/// Quantities that have passed the meters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Readings {
    /// kWh.
    pub electric: f64,
    /// ft³.
    pub gas: f64,
}

impl Readings {
    fn plus(self, other: Self) -> Self {
        Self {
            electric: self.electric + other.electric,
            gas: self.gas + other.gas,
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            electric: self.electric - other.electric,
            gas: self.gas - other.gas,
        }
    }

    fn of_trapezoid(first: Rates, last: Rates, hours: f64) -> Self {
        Self {
            electric: 0.5 * (first.electric + last.electric) * hours,
            gas: 0.5 * (first.gas + last.gas) * hours,
        }
    }
}

/// Register readings, counted forwards and backwards from the first day of the anchor's month as days are asked for.
#[derive(Debug)]
pub struct Registers {
    anchor_day: i64,
    /// Rates at the quarters of each UTC day.
    rates: DayCache<Vec<Rates>>,
    /// Use within each UTC day up to each quarter; the last entry is the use of the day.
    days: DayCache<Vec<Readings>>,
    /// Readings at the start of the days after and before the anchor.
    starts: Mutex<Starts>,
}

#[derive(Debug, Default)]
struct Starts {
    after: Vec<Readings>,
    before: Vec<Readings>,
}

impl Registers {
    pub fn new(place: Place, anchor_ms: i64) -> Self {
        Self {
            anchor_day: place.month_start_ms(anchor_ms, 0).div_euclid(DAY_MS),
            rates: DayCache::default(),
            days: DayCache::default(),
            starts: Mutex::new(Starts::default()),
        }
    }
}

impl Building {
    /// Rates of both meters at an instant; those on the sampling grid are kept, because registers add them up.
    pub fn rates(&self, epoch_ms: i64) -> Rates {
        let compute = |instant| self.rates_from(&self.inputs(instant));
        let Some((day, quarter)) = quarter_of(epoch_ms) else {
            return compute(epoch_ms);
        };
        let kept = self.registers.rates.get(day, || {
            let (start, quarters) = Self::block_span(day);
            (0..quarters as i64)
                .map(|step| compute(start + step * QUARTER_MS))
                .collect()
        });
        kept.get(quarter).copied().unwrap_or_default()
    }

    fn rates_from(&self, inputs: &Inputs) -> Rates {
        let chilled = self.chilled_water_state(inputs);
        let hot = self.hot_water_state(inputs);
        let context = &inputs.context;
        let heat_pumps: f64 = (0..HEAT_PUMPS)
            .map(|index| {
                let unit = self.heat_pump_state(index, context);
                unit.power + if unit.fan { 1.6 } else { 0.0 }
            })
            .sum();
        let chillers: f64 = chilled.chillers.iter().map(|machine| machine.power).sum();
        let condenser_pumps: f64 = chilled
            .chillers
            .iter()
            .filter(|machine| machine.running)
            .count() as f64
            * CONDENSER_PUMP_KW;
        let lights_and_plugs = self.area() * PLUG_DENSITY / 1000.0 * context.plugs;
        let parking = PARKING_LIGHTS_KW * (1.0 - ramp(context.weather.irradiance, 5.0, 40.0));
        let gas_kw: f64 = hot.boilers.iter().map(|boiler| boiler.gas_input).sum();
        Rates {
            electric: ALWAYS_ON_KW
                + parking
                + lights_and_plugs
                + f64::from(inputs.loads.fans)
                + chillers
                + condenser_pumps
                + chilled.pump_power
                + chilled.tower_fan_power
                + hot.pump_power
                + heat_pumps
                + self.fitted_power(inputs, &hot),
            gas: gas_kw * BTUH_PER_KW / BTU_PER_CUBIC_FOOT,
        }
    }

    /// kW of circuit pumps and tap-water heating, in buildings that have them.
    fn fitted_power(&self, inputs: &Inputs, hot: &HotWaterState) -> f64 {
        if self.fittings() == Fittings::Plain {
            return 0.0;
        }
        let circuits: f64 = (0..CIRCUITS)
            .map(|index| self.circuit_state(index, inputs, hot).pump_power)
            .sum();
        let tap_water = self.tap_water_state(&inputs.context);
        circuits + tap_water.power + tap_water.circulation_power
    }

    /// Register readings at an instant.
    pub fn readings(&self, epoch_ms: i64) -> Readings {
        let day = epoch_ms.div_euclid(DAY_MS);
        let quarter = (epoch_ms.rem_euclid(DAY_MS) / QUARTER_MS) as usize;
        let within = self.day_use(day).get(quarter).copied().unwrap_or_default();
        let last_quarter = epoch_ms - epoch_ms.rem_euclid(QUARTER_MS);
        let mut reading = self.reading_at_start(day).plus(within);
        if epoch_ms > last_quarter {
            let hours = (epoch_ms - last_quarter) as f64 / 3_600_000.0;
            reading = reading.plus(Readings::of_trapezoid(
                self.rates(last_quarter),
                self.rates(epoch_ms),
                hours,
            ));
        }
        reading
    }

    fn day_use(&self, day: i64) -> std::sync::Arc<Vec<Readings>> {
        self.registers.days.get(day, || {
            let (start, quarters) = Self::block_span(day);
            let rates_at = |quarter: usize| self.rates(start + quarter as i64 * QUARTER_MS);
            let mut total = Readings::default();
            let mut uses = vec![total];
            let mut last = rates_at(0);
            for quarter in 1..=quarters {
                let next = rates_at(quarter);
                total = total.plus(Readings::of_trapezoid(last, next, 0.25));
                uses.push(total);
                last = next;
            }
            uses
        })
    }

    fn total_of_day(&self, day: i64) -> Readings {
        self.day_use(day).last().copied().unwrap_or_default()
    }

    fn reading_at_start(&self, day: i64) -> Readings {
        let registers = &self.registers;
        let ahead = day - registers.anchor_day;
        let anchor = self.anchor_reading();
        let mut starts = registers
            .starts
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        if ahead >= 0 {
            while starts.after.len() < ahead as usize {
                let next = registers.anchor_day + starts.after.len() as i64;
                let reading = starts
                    .after
                    .last()
                    .copied()
                    .unwrap_or(anchor)
                    .plus(self.total_of_day(next));
                starts.after.push(reading);
            }
            return (ahead as usize)
                .checked_sub(1)
                .and_then(|index| starts.after.get(index))
                .copied()
                .unwrap_or(anchor);
        }
        while (starts.before.len() as i64) < -ahead {
            let previous = registers.anchor_day - 1 - starts.before.len() as i64;
            let reading = starts
                .before
                .last()
                .copied()
                .unwrap_or(anchor)
                .minus(self.total_of_day(previous));
            starts.before.push(reading);
        }
        starts
            .before
            .get((-ahead - 1) as usize)
            .copied()
            .unwrap_or(anchor)
    }

    fn anchor_reading(&self) -> Readings {
        let fitted = days_from_civil(2014, 6, 1);
        let days = (self.registers.anchor_day - fitted) as f64 + between(self.seed, 90, 0.0, 100.0);
        Readings {
            electric: (days * TYPICAL_KWH_PER_DAY).round(),
            gas: (days * TYPICAL_CUBIC_FEET_PER_DAY).round(),
        }
    }
}
