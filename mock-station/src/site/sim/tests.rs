//! The building behaves as a building: faults can be measured against healthy twins, meters agree with loads.

use super::building::Fittings;
use super::cache::SiteClimate;
use super::calendar::{HOUR_MS, MINUTE_MS, QUARTER_MS, days_from_civil};
use super::signal::*;
use super::*;
use proptest::prelude::*;
use std::sync::{Arc, OnceLock};

fn anchor() -> i64 {
    Place::NewYork.epoch_ms(days_from_civil(2026, 11, 30), 17 * 60)
}

/// The demo building and its twin without faults, under the same sky.
struct Twins {
    faulty: Building,
    healthy: Building,
}

fn twins() -> &'static Twins {
    static TWINS: OnceLock<Twins> = OnceLock::new();
    TWINS.get_or_init(|| {
        let climate = Arc::new(SiteClimate::new(Place::NewYork, 42));
        Twins {
            faulty: Building::new(
                42,
                Arc::clone(&climate),
                Faults::harborview(anchor()),
                Fittings::Plain,
                anchor(),
            ),
            healthy: Building::new(42, climate, Faults::none(), Fittings::Plain, anchor()),
        }
    })
}

/// Working hours 08:00–17:00 of a stretch of days, every quarter.
fn office_hours(month: u8, first_day: u8, days: i64) -> impl Iterator<Item = i64> {
    let first = days_from_civil(2026, month, first_day);
    (first..first + days)
        .filter(|day| Place::NewYork.is_working_day(*day))
        .flat_map(|day| {
            (0..37).map(move |quarter| Place::NewYork.epoch_ms(day, 480 + quarter * 15))
        })
}

fn mean(building: &Building, signal: Signal, instants: impl Iterator<Item = i64>) -> f64 {
    let values: Vec<f64> = instants
        .map(|instant| building.value(signal, instant))
        .collect();
    values.iter().sum::<f64>() / values.len() as f64
}

fn air(index: usize, signal: AirSignal) -> Signal {
    Signal::Air(index, signal)
}

#[test]
fn the_same_seed_gives_the_same_values_in_any_order_of_asking() {
    let climate = Arc::new(SiteClimate::new(Place::NewYork, 9));
    let first = Building::new(
        9,
        climate,
        Faults::harborview(anchor()),
        Fittings::Plain,
        anchor(),
    );
    let second = Building::harborview(9, anchor());
    let signals = [
        Signal::Zone(4, ZoneSignal::SpaceTemperature),
        Signal::Meter(MeterSignal::ElectricDemand),
        Signal::Meter(MeterSignal::GasVolume),
        Signal::Boiler(1, BoilerSignal::Status),
    ];
    let instants: Vec<i64> = (0..40)
        .map(|step| anchor() - 45 * 24 * HOUR_MS + step * 3 * HOUR_MS + step * 777_123)
        .collect();
    let forward: Vec<f64> = instants
        .iter()
        .flat_map(|at| signals.map(|signal| first.value(signal, *at)))
        .collect();
    let mut backward: Vec<f64> = instants
        .iter()
        .rev()
        .flat_map(|at| signals.map(|signal| second.value(signal, *at)))
        .collect();
    let mut reordered = Vec::new();
    while let Some(start) = backward.len().checked_sub(signals.len()) {
        reordered.extend(backward.split_off(start));
    }
    assert_eq!(forward, reordered);
    assert_ne!(
        first.value(signals[0], anchor()),
        Building::harborview(10, anchor()).value(signals[0], anchor())
    );
}

#[test]
fn the_electricity_register_is_the_integral_of_demand() {
    let building = &twins().faulty;
    let start = Place::NewYork.epoch_ms(days_from_civil(2026, 10, 31), 0);
    let demand = Signal::Meter(MeterSignal::ElectricDemand);
    let register = Signal::Meter(MeterSignal::ElectricEnergy);
    // Three days over the end of daylight saving time and the anchor of the register.
    let steps = 3 * 96;
    let energy: f64 = (0..steps)
        .map(|step| {
            let at = start + step * QUARTER_MS;
            0.125 * (building.value(demand, at) + building.value(demand, at + QUARTER_MS))
        })
        .sum();
    let read =
        building.value(register, start + steps * QUARTER_MS) - building.value(register, start);
    assert!(
        (energy - read).abs() < 1e-3,
        "{energy} kWh summed, {read} kWh read"
    );
    assert!(read > 2_000.0 && read < 9_000.0);
}

#[test]
fn demand_covers_every_machine_that_is_read_elsewhere() {
    let building = &twins().faulty;
    for at in office_hours(7, 13, 5) {
        let parts: f64 = (0..3)
            .map(|index| building.value(air(index, AirSignal::FanPower), at))
            .sum::<f64>()
            + (0..2)
                .map(|index| building.value(Signal::Chiller(index, ChillerSignal::Power), at))
                .sum::<f64>()
            + (0..2)
                .map(|index| building.value(Signal::HeatPump(index, HeatPumpSignal::Power), at))
                .sum::<f64>()
            + building.value(Signal::ChilledWater(ChilledWaterSignal::PumpPower), at)
            + building.value(Signal::Tower(TowerSignal::FanPower), at);
        let demand = building.value(Signal::Meter(MeterSignal::ElectricDemand), at);
        assert!(demand > parts + 20.0, "demand {demand}, machines {parts}");
        assert!(demand < parts + 140.0, "demand {demand}, machines {parts}");
    }
}

#[test]
fn gas_follows_the_burners_and_rests_in_summer() {
    let building = &twins().healthy;
    assert_eq!(
        mean(
            building,
            Signal::Meter(MeterSignal::GasRate),
            office_hours(7, 13, 10)
        ),
        0.0
    );
    let at = Place::NewYork.epoch_ms(days_from_civil(2026, 1, 14), 6 * 60 + 15);
    let input: f64 = (0..2)
        .map(|index| building.value(Signal::Boiler(index, BoilerSignal::GasInput), at))
        .sum();
    let rate = building.value(Signal::Meter(MeterSignal::GasRate), at);
    assert!((rate - input * 3_412.14 / 1_037.0).abs() < 0.01 && rate > 100.0);
}

#[test]
fn air_handler_airflow_is_the_sum_of_its_boxes() {
    let building = &twins().faulty;
    for at in office_hours(6, 9, 2) {
        for unit in 0..3 {
            let boxes: f64 = (0..8)
                .map(|number| {
                    building.value(Signal::Zone(unit * 8 + number, ZoneSignal::Airflow), at)
                })
                .sum();
            assert!((building.value(air(unit, AirSignal::Airflow), at) - boxes).abs() < 0.5);
        }
    }
}

#[test]
fn chilled_water_load_is_flow_times_temperature_difference() {
    let building = &twins().faulty;
    let read = |signal, at| building.value(Signal::ChilledWater(signal), at);
    for at in office_hours(8, 3, 5) {
        let tons = read(ChilledWaterSignal::Flow, at)
            * (read(ChilledWaterSignal::ReturnTemperature, at)
                - read(ChilledWaterSignal::SupplyTemperature, at))
            / 24.0;
        assert!((tons - read(ChilledWaterSignal::Tons, at)).abs() < 0.01);
    }
}

#[test]
fn healthy_equipment_stays_in_plausible_ranges_in_all_seasons() {
    let building = &twins().healthy;
    for month in 1..=11 {
        for at in office_hours(month, 9, 3) {
            for zone in 0..24 {
                let temperature =
                    building.value(Signal::Zone(zone, ZoneSignal::SpaceTemperature), at);
                assert!(
                    (67.0..78.5).contains(&temperature),
                    "zone {zone} {temperature} °F in month {month}"
                );
                let damper = building.value(Signal::Zone(zone, ZoneSignal::Damper), at);
                assert!((3.0..=100.0).contains(&damper));
            }
            for unit in 0..3 {
                let deviation = building.value(air(unit, AirSignal::SupplyTemperature), at)
                    - building.value(air(unit, AirSignal::SupplySetpoint), at);
                assert!(
                    deviation.abs() < 2.0,
                    "AHU {unit} off by {deviation} in month {month}"
                );
                let both = building
                    .value(air(unit, AirSignal::CoolingValve), at)
                    .min(building.value(air(unit, AirSignal::HeatingValve), at));
                assert!(both < 5.0, "AHU {unit} heats and cools in month {month}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn zone_and_outdoor_temperatures_have_no_steps(minutes in 0..390i64 * 1440, zone in 0..24usize) {
        // The twin without faults: a fault sets in at once, and that is a step.
        let building = &twins().healthy;
        let at = anchor() - 395 * 24 * HOUR_MS + minutes * MINUTE_MS;
        let room = Signal::Zone(zone, ZoneSignal::SpaceTemperature);
        let (before, after) = (building.value(room, at), building.value(room, at + MINUTE_MS));
        prop_assert!((after - before).abs() < 0.8, "{before} then {after}");
        let outdoor = Signal::Outdoor(Outdoor::DryBulb);
        prop_assert!((building.value(outdoor, at) - building.value(outdoor, at + MINUTE_MS)).abs() < 0.3);
    }
}

#[test]
fn the_stuck_economizer_draws_two_thirds_outdoor_air_in_hot_weather() {
    let fraction = |building: &Building, unit| {
        let hot: Vec<f64> = office_hours(7, 6, 12)
            .filter(|at| building.value(Signal::Outdoor(Outdoor::DryBulb), *at) > 82.0)
            .map(|at| {
                let (mixed, back) = (
                    building.value(air(unit, AirSignal::MixedTemperature), at),
                    building.value(air(unit, AirSignal::ReturnTemperature), at),
                );
                (back - mixed) / (back - building.value(Signal::Outdoor(Outdoor::DryBulb), at))
            })
            .collect();
        assert!(hot.len() > 50, "only {} hot samples", hot.len());
        hot.iter().sum::<f64>() / hot.len() as f64
    };
    let twins = twins();
    assert!((0.58..0.70).contains(&fraction(&twins.faulty, 0)));
    assert!((0.15..0.26).contains(&fraction(&twins.faulty, 1)));
    assert!((0.15..0.26).contains(&fraction(&twins.healthy, 0)));
    let cooling = |building: &Building| {
        mean(
            building,
            air(0, AirSignal::CoolingValve),
            office_hours(7, 6, 12),
        )
    };
    assert!(cooling(&twins.faulty) > cooling(&twins.healthy) * 1.03);
}

/// Supply minus mixed air over the samples with both valves shut, and how many there are.
fn rise_with_valves_shut(building: &Building, unit: usize, month: u8) -> (f64, usize) {
    let rises: Vec<f64> = office_hours(month, 2, 26)
        .filter(|at| {
            building.value(air(unit, AirSignal::CoolingValve), *at) <= 5.0
                && building.value(air(unit, AirSignal::HeatingValve), *at) <= 5.0
        })
        .map(|at| {
            building.value(air(unit, AirSignal::SupplyTemperature), at)
                - building.value(air(unit, AirSignal::MixedTemperature), at)
        })
        .collect();
    (
        rises.iter().sum::<f64>() / rises.len().max(1) as f64,
        rises.len(),
    )
}

#[test]
fn the_leaking_heating_valve_warms_air_with_both_valves_shut() {
    let (leaking, count) = rise_with_valves_shut(&twins().faulty, 1, 4);
    let (sound, _) = rise_with_valves_shut(&twins().healthy, 1, 4);
    assert!(count > 100, "{count} samples");
    assert!(leaking > 5.5, "rise {leaking} °F");
    assert!((0.8..2.4).contains(&sound), "rise {sound} °F");
    let heat = Signal::HotWater(HotWaterSignal::EnergyRate);
    assert!(
        mean(&twins().faulty, heat, office_hours(10, 5, 20))
            > mean(&twins().healthy, heat, office_hours(10, 5, 20)) + 10.0
    );
}

#[test]
fn the_drifting_supply_sensor_reads_warmer_than_the_air_is() {
    let (drifted, _) = rise_with_valves_shut(&twins().faulty, 2, 5);
    let (sound, _) = rise_with_valves_shut(&twins().healthy, 2, 5);
    assert!(drifted > sound + 4.0, "{drifted} against {sound}");
    // The boxes get colder air: less of it is needed, more of it reheated.
    let airflow =
        |building: &Building| mean(building, air(2, AirSignal::Airflow), office_hours(7, 6, 12));
    assert!(airflow(&twins().faulty) < 0.93 * airflow(&twins().healthy));
}

#[test]
fn the_cooling_valve_in_hand_makes_heating_and_cooling_work_against_each_other() {
    let both_open = |building: &Building| {
        let open: Vec<bool> = office_hours(11, 2, 20)
            .map(|at| {
                building.value(air(2, AirSignal::CoolingValve), at) > 5.0
                    && building.value(air(2, AirSignal::HeatingValve), at) > 5.0
            })
            .collect();
        open.iter().filter(|open| **open).count() as f64 / open.len() as f64
    };
    assert!(both_open(&twins().faulty) > 0.5);
    assert_eq!(both_open(&twins().healthy), 0.0);
    let chillers = Signal::ChilledWater(ChilledWaterSignal::Stage);
    assert!(mean(&twins().faulty, chillers, office_hours(11, 2, 20)) > 0.5);
}

fn starts(building: &Building, index: usize, month: u8) -> usize {
    let first = Place::NewYork.epoch_ms(days_from_civil(2026, month, 2), 0);
    let firing: Vec<bool> = (0..14 * 96)
        .map(|step| {
            building.value(
                Signal::Boiler(index, BoilerSignal::Status),
                first + step * QUARTER_MS,
            ) > 0.5
        })
        .collect();
    firing.windows(2).filter(|pair| !pair[0] && pair[1]).count()
}

#[test]
fn boiler_two_short_cycles_and_boiler_one_does_not() {
    let faulty = starts(&twins().faulty, 1, 3);
    assert!(
        faulty > 50,
        "{faulty} starts in a fortnight, one week of them in the lead"
    );
    assert!(starts(&twins().faulty, 0, 3) < 40);
    assert!(starts(&twins().healthy, 1, 3) < 40);
}

#[test]
fn hot_water_comes_back_too_warm_and_the_pump_runs_flat_out() {
    let read = |building: &Building, signal| {
        mean(
            building,
            Signal::HotWater(signal),
            office_hours(4, 6, 4)
                .filter(|at| building.value(Signal::HotWater(HotWaterSignal::Enabled), *at) > 0.5),
        )
    };
    let drop = |building: &Building| {
        read(building, HotWaterSignal::SupplyTemperature)
            - read(building, HotWaterSignal::ReturnTemperature)
    };
    assert!(drop(&twins().faulty) < 13.0);
    assert!(drop(&twins().healthy) > 22.0);
    assert_eq!(read(&twins().faulty, HotWaterSignal::PumpSpeed), 100.0);
}

fn running_mean(building: &Building, index: usize, signal: ChillerSignal) -> f64 {
    let running = office_hours(8, 3, 26)
        .filter(|at| building.value(Signal::Chiller(index, ChillerSignal::Status), *at) > 0.5);
    mean(building, Signal::Chiller(index, signal), running)
}

#[test]
fn the_fouled_condenser_doubles_its_approach_and_draws_more_power() {
    assert!(running_mean(&twins().faulty, 0, ChillerSignal::CondenserApproach) > 10.0);
    assert!(running_mean(&twins().faulty, 1, ChillerSignal::CondenserApproach) < 5.0);
    assert!(
        running_mean(&twins().faulty, 0, ChillerSignal::Power)
            > 1.05 * running_mean(&twins().healthy, 0, ChillerSignal::Power)
    );
}

#[test]
fn the_tower_bypass_leaks_warm_water_while_shut() {
    let excess = |building: &Building| {
        let tower = |signal, at| building.value(Signal::Tower(signal), at);
        let shut: Vec<f64> = office_hours(8, 3, 12)
            .filter(|at| tower(TowerSignal::BypassValve, *at) <= 2.0)
            .map(|at| {
                tower(TowerSignal::CondenserEntering, at)
                    - tower(TowerSignal::LeavingTemperature, at)
            })
            .collect();
        assert!(shut.len() > 200);
        shut.iter().sum::<f64>() / shut.len() as f64
    };
    assert!(excess(&twins().faulty) > 2.0);
    assert!(excess(&twins().healthy).abs() < 0.1);
}

#[test]
fn chilled_water_setpoint_no_longer_follows_the_weather() {
    let setpoint = Signal::ChilledWater(ChilledWaterSignal::SupplySetpoint);
    let spread = |building: &Building| {
        let values: Vec<f64> = office_hours(9, 1, 28)
            .map(|at| building.value(setpoint, at))
            .collect();
        values.iter().copied().fold(f64::MIN, f64::max)
            - values.iter().copied().fold(f64::MAX, f64::min)
    };
    assert_eq!(spread(&twins().faulty), 0.0);
    assert!(spread(&twins().healthy) > 3.0);
}

#[test]
fn heat_pump_one_has_lost_charge_and_heat_pump_two_has_not() {
    let subcooling = |index| {
        let building = &twins().faulty;
        let cooling = office_hours(8, 3, 12).filter(|at| {
            building.value(
                Signal::HeatPump(index, HeatPumpSignal::CompressorStatus),
                *at,
            ) > 0.5
        });
        mean(
            building,
            Signal::HeatPump(index, HeatPumpSignal::Subcooling),
            cooling,
        )
    };
    assert!(subcooling(0) < 2.0, "{}", subcooling(0));
    assert!((9.0..12.0).contains(&subcooling(1)), "{}", subcooling(1));
}

/// Trust scores a trend of two levels by each of them only when samples stay on a level: else a third of a sound sensor's
/// samples are outliers, and the rule that should find the leak declines.
#[test]
fn a_circuit_that_loses_charge_passes_from_one_level_to_the_other() {
    let building = &twins().faulty;
    let first = days_from_civil(2026, 5, 1);
    let quarters = (first..first + 120)
        .flat_map(|day| (0..96).map(move |quarter| Place::NewYork.epoch_ms(day, quarter * 15)));
    let running: Vec<i64> = quarters
        .filter(|at| {
            building.value(Signal::HeatPump(0, HeatPumpSignal::CompressorStatus), *at) > 0.5
        })
        .collect();
    for (signal, middle) in [
        (HeatPumpSignal::Subcooling, 5.9),
        (HeatPumpSignal::Superheat, 16.5),
    ] {
        let above = |at: &i64| building.value(Signal::HeatPump(0, signal), *at) > middle;
        let sides: Vec<bool> = running.iter().map(above).collect();
        let crossings = sides.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!((1..=5).contains(&crossings), "{signal:?}: {crossings}");
    }
}

#[test]
fn the_starved_zone_is_warm_and_so_are_its_neighbours() {
    let starved = building::STARVED_ZONE;
    let read = |building: &Building, zone, signal| {
        mean(building, Signal::Zone(zone, signal), office_hours(9, 8, 10))
    };
    let twins = twins();
    let share = |building: &Building| {
        read(building, starved, ZoneSignal::Airflow)
            / read(building, starved, ZoneSignal::AirflowSetpoint)
    };
    assert!(share(&twins.faulty) < 0.75, "{}", share(&twins.faulty));
    assert!(share(&twins.healthy) > 0.97);
    let temperature =
        |building: &Building, zone| read(building, zone, ZoneSignal::SpaceTemperature);
    assert!(temperature(&twins.faulty, starved) > temperature(&twins.healthy, starved) + 1.0);
    assert!(
        read(&twins.faulty, starved - 1, ZoneSignal::Airflow)
            > read(&twins.healthy, starved - 1, ZoneSignal::Airflow)
    );
    assert!(
        read(&twins.faulty, starved + 8, ZoneSignal::Airflow)
            / read(&twins.faulty, starved + 8, ZoneSignal::AirflowSetpoint)
            > 0.97
    );
}

#[test]
fn duct_pressure_settles_where_the_neediest_damper_is_nearly_open() {
    let twins = twins();
    let widest = |building: &Building, unit: usize, at| {
        (0..8)
            .map(|number| building.value(Signal::Zone(unit * 8 + number, ZoneSignal::Damper), at))
            .fold(f64::MIN, f64::max)
    };
    let pressure = |building: &Building, unit, month| {
        mean(
            building,
            air(unit, AirSignal::StaticSetpoint),
            office_hours(month, 9, 10),
        )
    };
    for month in [1, 4, 7, 10] {
        for at in office_hours(month, 9, 5) {
            for unit in 0..3 {
                let open = widest(&twins.healthy, unit, at);
                assert!(
                    (60.0..95.0).contains(&open),
                    "unit {unit} in {month}: {open} %"
                );
            }
        }
    }
    // A box that never gets enough drives it up.
    let (driven, rested) = (
        pressure(&twins.faulty, 1, 9),
        pressure(&twins.healthy, 1, 9),
    );
    assert!(driven > rested + 0.1, "{driven} against {rested} inH2O");
    assert_eq!(
        pressure(&twins.faulty, 2, 10),
        pressure(&twins.healthy, 2, 10)
    );
}

#[test]
fn heat_pump_two_runs_through_the_night() {
    let night = |index| {
        let building = &twins().faulty;
        let first = days_from_civil(2026, 10, 5);
        let nights = (first..first + 5)
            .flat_map(|day| (0..16).map(move |quarter| Place::NewYork.epoch_ms(day, quarter * 15)));
        mean(
            building,
            Signal::HeatPump(index, HeatPumpSignal::FanStatus),
            nights,
        )
    };
    assert_eq!(night(1), 1.0);
    assert_eq!(night(0), 0.0);
}

#[test]
fn before_a_fault_begins_the_demo_building_equals_its_healthy_twin() {
    let at = Place::NewYork.epoch_ms(days_from_civil(2025, 11, 12), 11 * 60);
    for signal in [
        air(0, AirSignal::MixedTemperature),
        air(1, AirSignal::SupplyTemperature),
        Signal::HeatPump(0, HeatPumpSignal::Subcooling),
    ] {
        assert_eq!(
            twins().faulty.value(signal, at),
            twins().healthy.value(signal, at)
        );
    }
}

#[test]
fn an_overloaded_coil_warms_the_supply_air_of_its_boxes_on_the_hottest_days() {
    let building = &twins().faulty;
    let hottest = office_hours(7, 1, 60)
        .max_by(|a, b| {
            let outdoor = |at: &i64| building.value(Signal::Outdoor(Outdoor::DryBulb), *at);
            outdoor(a).total_cmp(&outdoor(b))
        })
        .unwrap();
    let discharge = |building: &Building, zone| {
        building.value(
            Signal::Zone(zone, ZoneSignal::DischargeTemperature),
            hottest,
        )
    };
    assert!(discharge(building, 2) > discharge(&twins().healthy, 2) + 0.5);
    assert_eq!(discharge(building, 10), discharge(&twins().healthy, 10));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn no_signal_of_any_building_leaves_physical_bounds(seed: u64, minutes in 0..3_650i64 * 1440) {
        use crate::site::measure::Measure;
        let at = Place::NewYork.epoch_ms(days_from_civil(2020, 1, 1), 0) + minutes * MINUTE_MS;
        let building = Building::harborview(seed, at);
        for equipment in crate::site::harborview::equipment::of_building(0) {
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
                    measure if measure.kind() != crate::model::PointKind::Numeric => (0.0, 3.0),
                    _ => (-1.0, 60_000.0),
                };
                prop_assert!((low..=high).contains(&value), "{:?} is {} (seed {}, {})", signal, value, seed, at);
            }
        }
    }
}
