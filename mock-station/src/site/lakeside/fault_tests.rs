//! Each planted fault of Lakeside can be measured against the same building without faults, and circuits and meters agree
//! with the plant.

use super::equipment::of_building;
use crate::model::PointKind;
use crate::site::measure::Measure;
use crate::site::sim::building::Fittings;
use crate::site::sim::cache::SiteClimate;
use crate::site::sim::calendar::{DAY_MS, MINUTE_MS, QUARTER_MS, days_from_civil};
use crate::site::sim::heating_circuit::{CIRCUIT_IN_HAND, CIRCUITS};
use crate::site::sim::signal::*;
use crate::site::sim::{Building, Faults, Place};
use proptest::prelude::*;
use std::sync::{Arc, OnceLock};

const PLACE: Place = Place::LakeConstance;

fn anchor() -> i64 {
    PLACE.epoch_ms(days_from_civil(2026, 11, 30), 17 * 60)
}

struct Twins {
    faulty: Building,
    healthy: Building,
}

fn twins() -> &'static Twins {
    static TWINS: OnceLock<Twins> = OnceLock::new();
    TWINS.get_or_init(|| {
        let climate = Arc::new(SiteClimate::new(PLACE, 42));
        let fitted = Fittings::CircuitsAndTapWater;
        Twins {
            faulty: Building::lakeside(42, anchor()),
            healthy: Building::new(42, climate, Faults::none(), fitted, anchor()),
        }
    })
}

/// Quarters of whole local days.
fn quarters(month: u8, first_day: u8, days: i64) -> impl Iterator<Item = i64> {
    let start = PLACE.epoch_ms(days_from_civil(2026, month, first_day), 0);
    (0..days * 96).map(move |step| start + step * QUARTER_MS)
}

/// Working hours 08:00–17:00 of a stretch of days, every quarter.
fn office_hours(month: u8, first_day: u8, days: i64) -> impl Iterator<Item = i64> {
    let first = days_from_civil(2026, month, first_day);
    (first..first + days)
        .filter(|day| PLACE.is_working_day(*day))
        .flat_map(|day| (0..37).map(move |quarter| PLACE.epoch_ms(day, 480 + quarter * 15)))
}

fn median(mut values: Vec<f64>) -> f64 {
    assert!(values.len() > 40, "only {} samples", values.len());
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Changes from off to on per day.
fn starts_per_day(building: &Building, signal: Signal, month: u8, days: i64) -> f64 {
    let on: Vec<bool> = quarters(month, 2, days)
        .map(|at| building.value(signal, at) > 0.5)
        .collect();
    on.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64 / days as f64
}

#[test]
fn boiler_two_short_cycles_through_the_spring() {
    let starts = |building, index| {
        starts_per_day(building, Signal::Boiler(index, BoilerSignal::Status), 3, 14)
    };
    assert!(
        starts(&twins().faulty, 1) > 12.0,
        "{}",
        starts(&twins().faulty, 1)
    );
    assert!(starts(&twins().faulty, 0) < 4.0);
    assert!(starts(&twins().healthy, 1) < 4.0);
}

#[test]
fn chilled_water_comes_back_nearly_as_cold_as_it_went_out() {
    let read = |building: &Building, signal, at| building.value(Signal::ChilledWater(signal), at);
    let difference = |building: &Building| {
        let running = office_hours(7, 6, 19)
            .filter(|at| read(building, ChilledWaterSignal::Enabled, *at) > 0.5)
            .map(|at| {
                read(building, ChilledWaterSignal::ReturnTemperature, at)
                    - read(building, ChilledWaterSignal::SupplyTemperature, at)
            });
        median(running.collect())
    };
    assert!((3.5..7.0).contains(&difference(&twins().faulty)));
    assert!(difference(&twins().healthy) > 9.0);
    let pump = |building: &Building| {
        office_hours(7, 6, 5)
            .map(|at| read(building, ChilledWaterSignal::PumpPower, at))
            .sum::<f64>()
    };
    assert!(pump(&twins().faulty) > 1.5 * pump(&twins().healthy));
}

#[test]
fn the_scaled_tower_runs_flat_out_far_from_the_wet_bulb() {
    let flat_out = |building: &Building| -> Vec<f64> {
        office_hours(8, 3, 19)
            .filter(|at| {
                building.value(Signal::Tower(TowerSignal::PumpStatus), *at) > 0.5
                    && building.value(Signal::Tower(TowerSignal::FanSpeed), *at) >= 90.0
            })
            .map(|at| {
                building.value(Signal::Tower(TowerSignal::LeavingTemperature), at)
                    - building.value(Signal::Outdoor(Outdoor::WetBulb), at)
            })
            .collect()
    };
    // The warning limit of `cooling_tower_approach` at its design approach of 7 °F.
    assert!(median(flat_out(&twins().faulty)) > 1.3 * 7.0);
    assert!(
        flat_out(&twins().healthy)
            .iter()
            .all(|approach| *approach < 9.1)
    );
    let power = |building: &Building| {
        office_hours(8, 3, 19)
            .map(|at| building.value(Signal::Tower(TowerSignal::FanPower), at))
            .sum::<f64>()
    };
    assert!(power(&twins().faulty) > 1.4 * power(&twins().healthy));
}

/// Changes of the reversing valve per day over four weeks of winter.
fn reversals(building: &Building, index: usize) -> f64 {
    let heating: Vec<bool> = quarters(2, 2, 28)
        .map(|at| building.value(Signal::HeatPump(index, HeatPumpSignal::ReversingValve), at) > 0.5)
        .collect();
    heating.windows(2).filter(|pair| pair[0] != pair[1]).count() as f64 / 28.0
}

#[test]
fn heat_pump_one_defrosts_by_the_clock_and_heat_pump_two_does_not() {
    let faulty = &twins().faulty;
    assert!(reversals(faulty, 0) > 24.0, "{}", reversals(faulty, 0));
    assert!(reversals(faulty, 1) < 4.0, "{}", reversals(faulty, 1));
    assert_eq!(reversals(faulty, 1), reversals(&twins().healthy, 1));
    assert!(reversals(&twins().healthy, 0) < 4.0);
    let energy = |building: &Building| {
        quarters(2, 2, 28)
            .map(|at| building.value(Signal::HeatPump(0, HeatPumpSignal::Power), at))
            .sum::<f64>()
    };
    assert!(energy(faulty) > 1.1 * energy(&twins().healthy));
}

#[test]
fn the_tap_water_heat_pump_starts_thirty_times_a_day() {
    let compressor = Signal::TapWater(TapWaterSignal::CompressorStatus);
    let faulty = starts_per_day(&twins().faulty, compressor, 9, 7);
    assert!((31.0..33.0).contains(&faulty), "{faulty}");
    assert_eq!(starts_per_day(&twins().healthy, compressor, 9, 7), 2.0);
    let energy = |building: &Building| {
        quarters(9, 2, 7)
            .map(|at| building.value(Signal::TapWater(TapWaterSignal::Power), at))
            .sum::<f64>()
    };
    assert!(energy(&twins().faulty) > 1.3 * energy(&twins().healthy));
}

#[test]
fn one_circuit_pump_runs_through_the_summer_for_nothing() {
    let warm = |building: &Building, index, signal| {
        let readings = office_hours(7, 6, 19)
            .filter(|at| building.value(Signal::Outdoor(Outdoor::DryBulb), *at) > 70.0)
            .map(|at| building.value(Signal::Circuit(index, signal), at));
        median(readings.collect())
    };
    let faulty = &twins().faulty;
    assert_eq!(
        warm(faulty, CIRCUIT_IN_HAND, CircuitSignal::PumpStatus),
        1.0
    );
    assert!(warm(faulty, CIRCUIT_IN_HAND, CircuitSignal::Flow) > 20.0);
    assert_eq!(warm(faulty, CIRCUIT_IN_HAND, CircuitSignal::HeatRate), 0.0);
    for sound in 0..CIRCUIT_IN_HAND {
        assert_eq!(warm(faulty, sound, CircuitSignal::PumpStatus), 0.0);
    }
    let healthy = &twins().healthy;
    assert_eq!(
        warm(healthy, CIRCUIT_IN_HAND, CircuitSignal::PumpStatus),
        0.0
    );
}

#[test]
fn circuits_share_out_the_heat_of_the_boilers() {
    for building in [&twins().faulty, &twins().healthy] {
        let hot = |signal, at| building.value(Signal::HotWater(signal), at);
        for at in office_hours(1, 12, 12).filter(|at| hot(HotWaterSignal::EnergyRate, *at) > 60.0) {
            let heat: f64 = (0..CIRCUITS)
                .map(|index| {
                    let read = |signal| building.value(Signal::Circuit(index, signal), at);
                    let (supply, back) = (
                        read(CircuitSignal::SupplyTemperature),
                        read(CircuitSignal::ReturnTemperature),
                    );
                    let rate = read(CircuitSignal::HeatRate);
                    if rate > 0.0 {
                        let carried = read(CircuitSignal::Flow) * (supply - back) / 2.0;
                        assert!((carried - rate).abs() < 0.01, "circuit {index}");
                        assert!(supply < hot(HotWaterSignal::SupplyTemperature, at) + 0.1);
                    }
                    rate
                })
                .sum();
            let plant = hot(HotWaterSignal::EnergyRate, at);
            assert!(
                (heat - plant).abs() < 5.0,
                "{heat} of {plant} kBtu/h at {at}"
            );
        }
    }
}

#[test]
fn the_electricity_register_counts_pumps_and_tap_water() {
    let building = &twins().faulty;
    let demand = Signal::Meter(MeterSignal::ElectricDemand);
    let register = Signal::Meter(MeterSignal::ElectricEnergy);
    // Three days over the end of summer time.
    let start = PLACE.epoch_ms(days_from_civil(2026, 10, 24), 0);
    let energy: f64 = (0..3 * 96)
        .map(|step| {
            let at = start + step * QUARTER_MS;
            0.125 * (building.value(demand, at) + building.value(demand, at + QUARTER_MS))
        })
        .sum();
    let read = building.value(register, start + 3 * DAY_MS) - building.value(register, start);
    assert!((energy - read).abs() < 1e-3, "{energy} kWh against {read}");
    // Sunday night, when nothing else differs from the healthy twin.
    let night = PLACE.epoch_ms(days_from_civil(2026, 7, 12), 2 * 60);
    let more = building.value(demand, night) - twins().healthy.value(demand, night);
    let parts: f64 = [
        Signal::TapWater(TapWaterSignal::Power),
        Signal::Circuit(CIRCUIT_IN_HAND, CircuitSignal::PumpPower),
    ]
    .iter()
    .map(|signal| building.value(*signal, night) - twins().healthy.value(*signal, night))
    .sum();
    assert!(
        parts > 0.3 && (more - parts).abs() < 1e-6,
        "{more} and {parts} kW"
    );
}

#[test]
fn healthy_rooms_and_units_stay_in_plausible_ranges_in_all_seasons() {
    let building = &twins().healthy;
    for month in 1..=11 {
        for at in office_hours(month, 9, 3) {
            for zone in 0..24 {
                let room = building.value(Signal::Zone(zone, ZoneSignal::SpaceTemperature), at);
                assert!(
                    (67.0..78.5).contains(&room),
                    "room {zone} {room} °F in {month}"
                );
            }
            for unit in 0..3 {
                let read = |signal| building.value(Signal::Air(unit, signal), at);
                let off = read(AirSignal::SupplyTemperature) - read(AirSignal::SupplySetpoint);
                assert!(off.abs() < 2.0, "unit {unit} off by {off} in {month}");
                let both = read(AirSignal::CoolingValve).min(read(AirSignal::HeatingValve));
                assert!(both < 5.0, "unit {unit} heats and cools in {month}");
            }
            let tank = building.value(Signal::TapWater(TapWaterSignal::TopTemperature), at);
            assert!((125.0..140.0).contains(&tank), "{tank} °F");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn water_temperatures_of_tank_and_rooms_have_no_steps(minutes in 0..390i64 * 1440, zone in 0..24usize) {
        for building in [&twins().faulty, &twins().healthy] {
            let at = anchor() - 395 * DAY_MS + minutes * MINUTE_MS;
            for signal in [
                Signal::Zone(zone, ZoneSignal::SpaceTemperature),
                Signal::TapWater(TapWaterSignal::TopTemperature),
                Signal::TapWater(TapWaterSignal::CirculationReturn),
            ] {
                // The one change of control is the month in which the tank's switching difference was narrowed.
                prop_assume!(!(at..at + MINUTE_MS).contains(&building.faults().tap_water_short_cycling.start));
                let (before, after) = (building.value(signal, at), building.value(signal, at + MINUTE_MS));
                prop_assert!((after - before).abs() < 0.8, "{signal:?} {before} then {after}");
            }
        }
    }

    #[test]
    fn no_signal_of_any_building_leaves_physical_bounds(seed: u64, minutes in 0..3_650i64 * 1440) {
        let at = PLACE.epoch_ms(days_from_civil(2020, 1, 1), 0) + minutes * MINUTE_MS;
        let building = Building::lakeside(seed, at);
        for equipment in of_building(0) {
            for row in equipment.rows {
                let signal = row.signal.of(equipment.index);
                let value = building.value(signal, at);
                let (low, high) = match row.measure {
                    Measure::Temperature => (-40.0, 260.0),
                    Measure::TemperatureDifference => (-5.0, 40.0),
                    Measure::Percent | Measure::Humidity => (0.0, 115.0),
                    Measure::Ppm => (300.0, 2_000.0),
                    Measure::DuctPressure => (-0.1, 3.0),
                    Measure::Energy | Measure::GasVolume => (0.0, 1.0e9),
                    measure if measure.kind() != PointKind::Numeric => (0.0, 3.0),
                    _ => (-1.0, 60_000.0),
                };
                prop_assert!((low..=high).contains(&value), "{signal:?} is {value} (seed {seed}, {at})");
            }
        }
    }
}
