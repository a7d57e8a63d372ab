//! Names of everything the simulation can be asked for.

/// A quantity of one building; numbers are in the units of the simulation, states are 0 or 1, modes are ordinals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Signal {
    Outdoor(Outdoor),
    /// Zone index 0–23.
    Zone(usize, ZoneSignal),
    /// Air handler index 0–2.
    Air(usize, AirSignal),
    ChilledWater(ChilledWaterSignal),
    Chiller(usize, ChillerSignal),
    Tower(TowerSignal),
    HotWater(HotWaterSignal),
    Boiler(usize, BoilerSignal),
    HeatPump(usize, HeatPumpSignal),
    /// Heating circuit index 0–3.
    Circuit(usize, CircuitSignal),
    TapWater(TapWaterSignal),
    Meter(MeterSignal),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outdoor {
    DryBulb,
    WetBulb,
    DewPoint,
    Humidity,
    WindSpeed,
    WindDirection,
    Irradiance,
    /// The weekly schedule's occupied state.
    Occupied,
    /// 0 clear, 1 partly cloudy, 2 overcast.
    Sky,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ZoneSignal {
    SpaceTemperature,
    CoolingSetpoint,
    HeatingSetpoint,
    Airflow,
    AirflowSetpoint,
    MinimumAirflow,
    Damper,
    ReheatValve,
    DischargeTemperature,
    HeatingLoop,
    CoolingLoop,
    Co2,
    Occupied,
    /// 0 off, 1 heating, 2 dead band, 3 cooling.
    Mode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AirSignal {
    SupplyTemperature,
    SupplySetpoint,
    MixedTemperature,
    ReturnTemperature,
    ReturnHumidity,
    ReturnCo2,
    DamperCommand,
    DamperPosition,
    EconomizerEnabled,
    CoolingValve,
    HeatingValve,
    FanCommand,
    FanStatus,
    FanSpeed,
    FanPower,
    Airflow,
    OutdoorAirflow,
    StaticPressure,
    StaticSetpoint,
    FilterPressure,
    FilterDirty,
    Freezestat,
    Occupied,
    WarmUp,
    CoolDown,
    /// 0 off, 1 warm-up, 2 cool-down, 3 occupied.
    Mode,
    PressureRequests,
    CoolingRequests,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChilledWaterSignal {
    Enabled,
    SupplyTemperature,
    SupplySetpoint,
    ReturnTemperature,
    Flow,
    Tons,
    /// psi.
    DifferentialPressure,
    DifferentialSetpoint,
    PumpSpeed,
    PumpStatus(usize),
    PumpPower,
    /// Number of running chillers.
    Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChillerSignal {
    Status,
    Command,
    Power,
    Flow,
    LeavingTemperature,
    EnteringTemperature,
    CondenserApproach,
    EvaporatorApproach,
    LoadPercent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TowerSignal {
    LeavingTemperature,
    EnteringTemperature,
    Setpoint,
    CondenserEntering,
    CondenserFlow,
    FanSpeed,
    FanStatus,
    FanPower,
    BypassValve,
    PumpStatus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HotWaterSignal {
    Enabled,
    /// Any burner is on.
    Firing,
    SupplyTemperature,
    SupplySetpoint,
    ReturnTemperature,
    Flow,
    /// psi.
    DifferentialPressure,
    DifferentialSetpoint,
    PumpSpeed,
    PumpStatus(usize),
    PumpPower,
    /// kBtu/h.
    EnergyRate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BoilerSignal {
    Status,
    Command,
    FiringRate,
    GasInput,
    LeavingTemperature,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HeatPumpSignal {
    FanStatus,
    FanCommand,
    CompressorStatus,
    Stage,
    ReversingValve,
    SupplyTemperature,
    ReturnTemperature,
    SpaceTemperature,
    CoolingSetpoint,
    HeatingSetpoint,
    Subcooling,
    Superheat,
    DischargePressure,
    SuctionPressure,
    FilterPressure,
    Power,
    Occupied,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CircuitSignal {
    PumpStatus,
    PumpSpeed,
    PumpPower,
    SupplySetpoint,
    SupplyTemperature,
    ReturnTemperature,
    Flow,
    MixingValve,
    /// kBtu/h.
    HeatRate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TapWaterSignal {
    CompressorStatus,
    Power,
    Setpoint,
    TopTemperature,
    BottomTemperature,
    CirculationReturn,
    CirculationPump,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MeterSignal {
    /// kW.
    ElectricDemand,
    /// kWh since the meter was fitted.
    ElectricEnergy,
    Voltage(usize),
    Current(usize),
    PowerFactor,
    /// ft³/h.
    GasRate,
    /// ft³ since the meter was fitted.
    GasVolume,
}

impl Signal {
    /// The same signal of the `index`th equipment of its kind.
    pub fn of(self, index: usize) -> Self {
        match self {
            Self::Zone(_, signal) => Self::Zone(index, signal),
            Self::Air(_, signal) => Self::Air(index, signal),
            Self::Chiller(_, signal) => Self::Chiller(index, signal),
            Self::Boiler(_, signal) => Self::Boiler(index, signal),
            Self::HeatPump(_, signal) => Self::HeatPump(index, signal),
            Self::Circuit(_, signal) => Self::Circuit(index, signal),
            shared => shared,
        }
    }
}
