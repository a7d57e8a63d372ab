//! From a named signal to the number in an equipment state.

use super::building::{Building, Inputs};
use super::context::Context;
use super::noise::{hash, smooth};
use super::signal::*;

fn flag(state: bool) -> f64 {
    if state { 1.0 } else { 0.0 }
}

impl Building {
    /// The value of a signal: numbers in simulation units, states as 0 or 1, modes as ordinals.
    pub fn value(&self, signal: Signal, epoch_ms: i64) -> f64 {
        match signal {
            Signal::Outdoor(outdoor) => self.outdoor(outdoor, &self.context(epoch_ms)),
            Signal::Zone(index, zone) => self.zone_value(index, zone, &self.context(epoch_ms)),
            Signal::HeatPump(index, unit) => self.heat_pump(index, unit, &self.context(epoch_ms)),
            Signal::Air(index, air) => self.air(index, air, &self.inputs(epoch_ms)),
            Signal::ChilledWater(water) => self.chilled_water(water, &self.inputs(epoch_ms)),
            Signal::Chiller(index, machine) => self.chiller(index, machine, &self.inputs(epoch_ms)),
            Signal::Tower(tower) => self.tower(tower, &self.inputs(epoch_ms)),
            Signal::HotWater(water) => self.hot_water(water, &self.inputs(epoch_ms)),
            Signal::Boiler(index, boiler) => self.boiler(index, boiler, &self.inputs(epoch_ms)),
            Signal::Circuit(index, circuit) => self.circuit(index, circuit, &self.inputs(epoch_ms)),
            Signal::TapWater(water) => self.tap_water(water, &self.context(epoch_ms)),
            Signal::Meter(meter) => self.meter(meter, epoch_ms),
        }
    }

    fn outdoor(&self, signal: Outdoor, context: &Context) -> f64 {
        let weather = &context.weather;
        match signal {
            Outdoor::DryBulb => weather.dry_bulb,
            Outdoor::WetBulb => weather.wet_bulb,
            Outdoor::DewPoint => weather.dew_point,
            Outdoor::Humidity => weather.humidity,
            Outdoor::WindSpeed => weather.wind_speed,
            Outdoor::WindDirection => weather.wind_direction,
            Outdoor::Irradiance => weather.irradiance,
            Outdoor::Occupied => flag(context.occupied),
            Outdoor::Sky => match weather.cloud {
                cloud if cloud < 0.3 => 0.0,
                cloud if cloud < 0.7 => 1.0,
                _ => 2.0,
            },
        }
    }

    fn zone_value(&self, index: usize, signal: ZoneSignal, context: &Context) -> f64 {
        if signal == ZoneSignal::Occupied {
            return flag(context.occupied);
        }
        if signal == ZoneSignal::MinimumAirflow {
            return self.zone(index).map_or(0.0, |zone| zone.minimum_airflow);
        }
        let state = self.zone_state(index, context);
        match signal {
            ZoneSignal::SpaceTemperature => state.space_temperature,
            ZoneSignal::CoolingSetpoint => state.cooling_setpoint,
            ZoneSignal::HeatingSetpoint => state.heating_setpoint,
            ZoneSignal::Airflow => state.airflow,
            ZoneSignal::AirflowSetpoint => state.airflow_setpoint,
            ZoneSignal::Damper => state.damper,
            ZoneSignal::ReheatValve => state.reheat_valve,
            ZoneSignal::DischargeTemperature => state.discharge_temperature,
            ZoneSignal::HeatingLoop => state.heating_loop,
            ZoneSignal::CoolingLoop => state.cooling_loop,
            ZoneSignal::Co2 => state.co2,
            ZoneSignal::Mode if !context.air_on => 0.0,
            ZoneSignal::Mode if state.heating_loop > 1.0 => 1.0,
            ZoneSignal::Mode if state.cooling_loop > 1.0 => 3.0,
            ZoneSignal::Mode => 2.0,
            ZoneSignal::Occupied | ZoneSignal::MinimumAirflow => 0.0,
        }
    }

    fn air(&self, index: usize, signal: AirSignal, inputs: &Inputs) -> f64 {
        let state = self.air_state(index, inputs);
        match signal {
            AirSignal::SupplyTemperature => state.supply_temperature,
            AirSignal::SupplySetpoint => state.supply_setpoint,
            AirSignal::MixedTemperature => state.mixed_temperature,
            AirSignal::ReturnTemperature => state.return_temperature,
            AirSignal::ReturnHumidity => state.return_humidity,
            AirSignal::ReturnCo2 => state.return_co2,
            AirSignal::DamperCommand => state.damper_command,
            AirSignal::DamperPosition => state.damper_position,
            AirSignal::EconomizerEnabled => flag(state.economizing),
            AirSignal::CoolingValve => state.cooling_valve,
            AirSignal::HeatingValve => state.heating_valve,
            AirSignal::FanCommand | AirSignal::FanStatus => flag(state.running),
            AirSignal::FanSpeed => state.fan_speed,
            AirSignal::FanPower => state.fan_power,
            AirSignal::Airflow => state.airflow,
            AirSignal::OutdoorAirflow => state.outdoor_airflow,
            AirSignal::StaticPressure => state.static_pressure,
            AirSignal::StaticSetpoint => state.static_setpoint,
            AirSignal::FilterPressure => state.filter_pressure,
            AirSignal::FilterDirty => flag(state.filter_pressure > 0.7),
            AirSignal::Freezestat => flag(state.running && state.mixed_temperature < 36.0),
            AirSignal::Occupied => flag(inputs.context.occupied),
            AirSignal::WarmUp => flag(inputs.context.warm_up),
            AirSignal::CoolDown => flag(inputs.context.cool_down),
            AirSignal::Mode => state.mode,
            AirSignal::PressureRequests => state.pressure_requests,
            AirSignal::CoolingRequests => state.cooling_requests,
        }
    }

    fn chilled_water(&self, signal: ChilledWaterSignal, inputs: &Inputs) -> f64 {
        let plant = self.chilled_water_state(inputs);
        match signal {
            ChilledWaterSignal::Enabled => flag(plant.running),
            ChilledWaterSignal::SupplyTemperature => plant.supply_temperature,
            ChilledWaterSignal::SupplySetpoint => plant.supply_setpoint,
            ChilledWaterSignal::ReturnTemperature => plant.return_temperature,
            ChilledWaterSignal::Flow => plant.flow,
            ChilledWaterSignal::Tons => plant.tons,
            ChilledWaterSignal::DifferentialPressure => plant.differential_pressure,
            ChilledWaterSignal::DifferentialSetpoint => plant.differential_setpoint,
            ChilledWaterSignal::PumpSpeed => plant.pump_speed,
            ChilledWaterSignal::PumpStatus(pump) => {
                flag(plant.pumps.get(pump).copied().unwrap_or(false))
            }
            ChilledWaterSignal::PumpPower => plant.pump_power,
            ChilledWaterSignal::Stage => plant
                .chillers
                .iter()
                .filter(|machine| machine.running)
                .count() as f64,
        }
    }

    fn chiller(&self, index: usize, signal: ChillerSignal, inputs: &Inputs) -> f64 {
        let plant = self.chilled_water_state(inputs);
        let machine = plant.chillers.get(index).copied().unwrap_or_default();
        match signal {
            ChillerSignal::Status | ChillerSignal::Command => flag(machine.running),
            ChillerSignal::Power => machine.power,
            ChillerSignal::Flow => machine.flow,
            ChillerSignal::LeavingTemperature => machine.leaving_temperature,
            ChillerSignal::EnteringTemperature => machine.entering_temperature,
            ChillerSignal::CondenserApproach => machine.condenser_approach,
            ChillerSignal::EvaporatorApproach => machine.evaporator_approach,
            ChillerSignal::LoadPercent => machine.load_percent,
        }
    }

    fn tower(&self, signal: TowerSignal, inputs: &Inputs) -> f64 {
        let plant = self.chilled_water_state(inputs);
        match signal {
            TowerSignal::LeavingTemperature => plant.tower_leaving,
            TowerSignal::EnteringTemperature => plant.tower_entering,
            TowerSignal::Setpoint => plant.tower_setpoint,
            TowerSignal::CondenserEntering => plant.condenser_entering,
            TowerSignal::CondenserFlow => plant.condenser_flow,
            TowerSignal::FanSpeed => plant.tower_fan_speed,
            TowerSignal::FanStatus | TowerSignal::PumpStatus => flag(plant.running),
            TowerSignal::FanPower => plant.tower_fan_power,
            TowerSignal::BypassValve => plant.bypass_valve,
        }
    }

    fn hot_water(&self, signal: HotWaterSignal, inputs: &Inputs) -> f64 {
        let plant = self.hot_water_state(inputs);
        match signal {
            HotWaterSignal::Enabled => flag(plant.running),
            HotWaterSignal::Firing => flag(plant.boilers.iter().any(|boiler| boiler.firing)),
            HotWaterSignal::SupplyTemperature => plant.supply_temperature,
            HotWaterSignal::SupplySetpoint => plant.supply_setpoint,
            HotWaterSignal::ReturnTemperature => plant.return_temperature,
            HotWaterSignal::Flow => plant.flow,
            HotWaterSignal::DifferentialPressure => plant.differential_pressure,
            HotWaterSignal::DifferentialSetpoint => plant.differential_setpoint,
            HotWaterSignal::PumpSpeed => plant.pump_speed,
            HotWaterSignal::PumpStatus(pump) => {
                flag(plant.pumps.get(pump).copied().unwrap_or(false))
            }
            HotWaterSignal::PumpPower => plant.pump_power,
            HotWaterSignal::EnergyRate => plant.load / 1000.0,
        }
    }

    fn boiler(&self, index: usize, signal: BoilerSignal, inputs: &Inputs) -> f64 {
        let plant = self.hot_water_state(inputs);
        let boiler = plant.boilers.get(index).copied().unwrap_or_default();
        match signal {
            BoilerSignal::Status | BoilerSignal::Command => flag(boiler.firing),
            BoilerSignal::FiringRate => boiler.firing_rate,
            BoilerSignal::GasInput => boiler.gas_input,
            BoilerSignal::LeavingTemperature => boiler.leaving_temperature,
        }
    }

    fn heat_pump(&self, index: usize, signal: HeatPumpSignal, context: &Context) -> f64 {
        let state = self.heat_pump_state(index, context);
        match signal {
            HeatPumpSignal::FanStatus | HeatPumpSignal::FanCommand => flag(state.fan),
            HeatPumpSignal::CompressorStatus => flag(state.compressor),
            HeatPumpSignal::Stage => state.stage,
            HeatPumpSignal::ReversingValve => flag(state.heating_mode),
            HeatPumpSignal::SupplyTemperature => state.supply_temperature,
            HeatPumpSignal::ReturnTemperature => state.return_temperature,
            HeatPumpSignal::SpaceTemperature => state.space_temperature,
            HeatPumpSignal::CoolingSetpoint => state.cooling_setpoint,
            HeatPumpSignal::HeatingSetpoint => state.heating_setpoint,
            HeatPumpSignal::Subcooling => state.subcooling,
            HeatPumpSignal::Superheat => state.superheat,
            HeatPumpSignal::DischargePressure => state.discharge_pressure,
            HeatPumpSignal::SuctionPressure => state.suction_pressure,
            HeatPumpSignal::FilterPressure => state.filter_pressure,
            HeatPumpSignal::Power => state.power,
            HeatPumpSignal::Occupied => flag(context.occupied),
        }
    }

    fn circuit(&self, index: usize, signal: CircuitSignal, inputs: &Inputs) -> f64 {
        let state = self.circuit_state(index, inputs, &self.hot_water_state(inputs));
        match signal {
            CircuitSignal::PumpStatus => flag(state.pump),
            CircuitSignal::PumpSpeed => state.pump_speed,
            CircuitSignal::PumpPower => state.pump_power,
            CircuitSignal::SupplySetpoint => state.supply_setpoint,
            CircuitSignal::SupplyTemperature => state.supply_temperature,
            CircuitSignal::ReturnTemperature => state.return_temperature,
            CircuitSignal::Flow => state.flow,
            CircuitSignal::MixingValve => state.mixing_valve,
            CircuitSignal::HeatRate => state.heat / 1000.0,
        }
    }

    fn tap_water(&self, signal: TapWaterSignal, context: &Context) -> f64 {
        let state = self.tap_water_state(context);
        match signal {
            TapWaterSignal::CompressorStatus => flag(state.compressor),
            TapWaterSignal::Power => state.power,
            TapWaterSignal::Setpoint => state.setpoint,
            TapWaterSignal::TopTemperature => state.top_temperature,
            TapWaterSignal::BottomTemperature => state.bottom_temperature,
            TapWaterSignal::CirculationReturn => state.circulation_return,
            TapWaterSignal::CirculationPump => flag(state.circulation_power > 0.0),
        }
    }

    fn meter(&self, signal: MeterSignal, epoch_ms: i64) -> f64 {
        match signal {
            MeterSignal::ElectricEnergy => self.readings(epoch_ms).electric,
            MeterSignal::GasVolume => self.readings(epoch_ms).gas,
            _ => self.meter_rate(signal, epoch_ms),
        }
    }

    fn meter_rate(&self, signal: MeterSignal, epoch_ms: i64) -> f64 {
        let hours = epoch_ms as f64 / 3_600_000.0;
        let rates = self.rates(epoch_ms);
        let power_factor = 0.91 + 0.04 * smooth(self.seed ^ 0x61, hours / 3.0);
        let voltage = |phase: usize| {
            self.place().mains_voltage()
                * (1.0 + 0.0086 * smooth(hash(self.seed, 0x62 + phase as i64), hours / 2.0))
        };
        match signal {
            MeterSignal::GasRate => rates.gas,
            MeterSignal::PowerFactor => power_factor,
            MeterSignal::Voltage(phase) => voltage(phase),
            MeterSignal::Current(phase) => {
                let imbalance = 1.0 + [0.03, -0.02, -0.01].get(phase).copied().unwrap_or(0.0);
                rates.electric * 1000.0 / 3.0 / voltage(phase) / power_factor * imbalance
            }
            MeterSignal::ElectricDemand | MeterSignal::ElectricEnergy | MeterSignal::GasVolume => {
                rates.electric
            }
        }
    }
}
