//! The points of each kind of equipment, with the names that three installers gave them.
//!
//! One line per point: the tables are not broken up by the formatter.

use crate::site::measure::Measure;
use crate::site::row::{Limits, Row, point, same};
use crate::site::sim::signal::*;

const fn air(signal: AirSignal) -> Signal {
    Signal::Air(0, signal)
}

const fn zone(signal: ZoneSignal) -> Signal {
    Signal::Zone(0, signal)
}

const fn chiller(signal: ChillerSignal) -> Signal {
    Signal::Chiller(0, signal)
}

const fn boiler(signal: BoilerSignal) -> Signal {
    Signal::Boiler(0, signal)
}

const fn unit(signal: HeatPumpSignal) -> Signal {
    Signal::HeatPump(0, signal)
}

#[rustfmt::skip]
pub const AIR_HANDLER: &[Row] = &[
    point(["SAT", "SA_Temp", "DA-T"], air(AirSignal::SupplyTemperature), Measure::Temperature).role("supply_air_temp").alarmed(Limits::Range(50.0, 85.0)),
    point(["SAT_SP", "SA_TempSpt", "DA-T SP"], air(AirSignal::SupplySetpoint), Measure::Temperature).role("supply_air_temp_sp").writable(),
    point(["MAT", "MA_Temp", "MA-T"], air(AirSignal::MixedTemperature), Measure::Temperature).role("mixed_air_temp").alarmed(Limits::Range(36.0, 95.0)),
    point(["RAT", "RA_Temp", "RA-T"], air(AirSignal::ReturnTemperature), Measure::Temperature).role("return_air_temp"),
    point(["RAH", "RA_Hum", "RA-H"], air(AirSignal::ReturnHumidity), Measure::Humidity).role("return_air_humidity"),
    point(["RA_CO2", "RA_CO2_ppm", "RA-CO2"], air(AirSignal::ReturnCo2), Measure::Ppm),
    point(["OAD_CMD", "OA_DmprCmd", "OA-DPR"], air(AirSignal::DamperCommand), Measure::Percent).role("oa_damper").writable(),
    point(["OAD_FB", "OA_DmprPos", "OA-DPR FB"], air(AirSignal::DamperPosition), Measure::Percent),
    point(["ECON_EN", "EconEnable", "ECON-E"], air(AirSignal::EconomizerEnabled), Measure::OnOff).role("econ_cmd").on_change(),
    point(["CLG_VLV", "ClgVlvCmd", "CHW-V"], air(AirSignal::CoolingValve), Measure::Percent).role("cool_valve").writable(),
    point(["HTG_VLV", "HtgVlvCmd", "HW-V"], air(AirSignal::HeatingValve), Measure::Percent).role("heat_valve").writable(),
    point(["SF_CMD", "SupFanCmd", "SF-C"], air(AirSignal::FanCommand), Measure::OnOff).writable().on_change(),
    point(["SF_STS", "SupFanStatus", "SF-S"], air(AirSignal::FanStatus), Measure::OnOff).role("supply_fan_status"),
    point(["SF_SPD", "SupFanVFD_Spd", "SF-VFD"], air(AirSignal::FanSpeed), Measure::Percent).role("supply_fan_speed").writable(),
    point(["SF_KW", "SupFan_kW", "SF-KW"], air(AirSignal::FanPower), Measure::Power).role("power"),
    point(["SA_CFM", "SA_Flow", "DA-F"], air(AirSignal::Airflow), Measure::Airflow).role("airflow"),
    point(["OA_CFM", "OA_Flow", "OA-F"], air(AirSignal::OutdoorAirflow), Measure::Airflow).role("oa_airflow"),
    point(["DSP", "DuctStatic", "DA-P"], air(AirSignal::StaticPressure), Measure::DuctPressure).role("duct_static").alarmed(Limits::Range(-0.1, 2.5)),
    point(["DSP_SP", "DuctStaticSpt", "DA-P SP"], air(AirSignal::StaticSetpoint), Measure::DuctPressure).role("duct_static_sp").writable(),
    point(["FLT_DP", "FilterDP", "FLTR-DP"], air(AirSignal::FilterPressure), Measure::DuctPressure).role("filter_diff_press"),
    point(["FLT_ALM", "FilterDirty", "FLTR-A"], air(AirSignal::FilterDirty), Measure::Alarm).untrended().alarmed(Limits::State(true)),
    point(["FRZ_ALM", "FreezeStat", "LT-A"], air(AirSignal::Freezestat), Measure::Alarm).on_change().alarmed(Limits::State(true)),
    point(["OCC", "OccCmd", "OCC-C"], air(AirSignal::Occupied), Measure::Occupancy).role("occupancy").writable().on_change(),
    point(["WU_MODE", "WarmUp", "MWU-E"], air(AirSignal::WarmUp), Measure::OnOff).role("warmup").on_change(),
    point(["CD_MODE", "CoolDown", "MCD-E"], air(AirSignal::CoolDown), Measure::OnOff).role("cooldown").on_change(),
    point(["MODE", "UnitMode", "MODE"], air(AirSignal::Mode), Measure::AirMode),
    point(["MODE_TXT", "UnitModeText", "MODE-TXT"], air(AirSignal::Mode), Measure::AirModeText).on_change(),
    point(["SP_REQ", "StaticRequests", "P-REQ"], air(AirSignal::PressureRequests), Measure::Count).role("static_pressure_requests"),
    point(["SAT_REQ", "CoolRequests", "T-REQ"], air(AirSignal::CoolingRequests), Measure::Count).role("sat_reset_requests"),
];

#[rustfmt::skip]
pub const ZONE_BOX: &[Row] = &[
    point(["ZN-T", "ZoneTemp", "RmTmp"], zone(ZoneSignal::SpaceTemperature), Measure::Temperature).role("space_temp").alarmed(Limits::Range(60.0, 82.0)),
    point(["ZN-SP CLG", "ClgSpt", "RmClgStpt"], zone(ZoneSignal::CoolingSetpoint), Measure::Temperature).role("cool_sp").writable(),
    point(["ZN-SP HTG", "HtgSpt", "RmHtgStpt"], zone(ZoneSignal::HeatingSetpoint), Measure::Temperature).role("heat_sp").writable(),
    point(["SA-F", "AirFlow", "SupFlo"], zone(ZoneSignal::Airflow), Measure::Airflow).role("airflow"),
    point(["SAFLOW-SP", "AirFlowSpt", "SupFloStpt"], zone(ZoneSignal::AirflowSetpoint), Measure::Airflow).role("airflow_sp"),
    point(["CLGMIN-FLOW", "MinFlowSpt", "MinFloStpt"], zone(ZoneSignal::MinimumAirflow), Measure::Airflow).role("airflow_min_sp").writable().untrended(),
    point(["DPR-O", "DamperPos", "DmprPos"], zone(ZoneSignal::Damper), Measure::Percent).role("damper").writable(),
    point(["HTG-O", "ReheatValve", "RhtVlv"], zone(ZoneSignal::ReheatValve), Measure::Percent).role("heat_valve").writable(),
    point(["DA-T", "DischAirTemp", "SupTmp"], zone(ZoneSignal::DischargeTemperature), Measure::Temperature).role("supply_air_temp"),
    point(["HTG-LOOP", "HtgLoopOut", "HtgLp"], zone(ZoneSignal::HeatingLoop), Measure::Percent).role("zone_heat_loop").untrended(),
    point(["CLG-LOOP", "ClgLoopOut", "ClgLp"], zone(ZoneSignal::CoolingLoop), Measure::Percent).role("zone_cool_loop"),
    point(["ZN-CO2", "ZoneCO2", "RmCO2"], zone(ZoneSignal::Co2), Measure::Ppm).role("co2"),
    point(["OCC-S", "OccStatus", "OccSts"], zone(ZoneSignal::Occupied), Measure::Occupancy).role("occupancy").on_change(),
    point(["ZN-MODE", "ZoneMode", "RmMode"], zone(ZoneSignal::Mode), Measure::ZoneMode).untrended(),
];

const fn chilled(signal: ChilledWaterSignal) -> Signal {
    Signal::ChilledWater(signal)
}

#[rustfmt::skip]
pub const CHILLED_WATER: &[Row] = &[
    point(same("CHW_EN"), chilled(ChilledWaterSignal::Enabled), Measure::OnOff).role("compressor_status").writable(),
    point(same("CHWS-T"), chilled(ChilledWaterSignal::SupplyTemperature), Measure::Temperature).role("chw_supply_temp").alarmed(Limits::Range(38.0, 64.0)),
    point(same("CHWS-T SP"), chilled(ChilledWaterSignal::SupplySetpoint), Measure::Temperature).role("chw_supply_temp_sp").writable(),
    point(same("CHWR-T"), chilled(ChilledWaterSignal::ReturnTemperature), Measure::Temperature).role("chw_return_temp"),
    point(same("CHW_Flow"), chilled(ChilledWaterSignal::Flow), Measure::WaterFlow).role("chw_flow"),
    point(same("CHW_Tons"), chilled(ChilledWaterSignal::Tons), Measure::Tons),
    point(same("CHW_DP"), chilled(ChilledWaterSignal::DifferentialPressure), Measure::Kilopascal).role("chw_diff_press"),
    point(same("CHW_DP_SP"), chilled(ChilledWaterSignal::DifferentialSetpoint), Measure::Kilopascal).role("chw_diff_press_sp").writable(),
    point(same("CHWP_Spd"), chilled(ChilledWaterSignal::PumpSpeed), Measure::Percent).role("chw_pump_speed").writable(),
    point(same("CHWP_kW"), chilled(ChilledWaterSignal::PumpPower), Measure::Power),
    point(same("CHWP-1 Status"), chilled(ChilledWaterSignal::PumpStatus(0)), Measure::OnOff),
    point(same("CHWP-2 Status"), chilled(ChilledWaterSignal::PumpStatus(1)), Measure::OnOff),
    point(same("CHW Stage"), chilled(ChilledWaterSignal::Stage), Measure::Stage),
];

#[rustfmt::skip]
pub const CHILLER: &[Row] = &[
    point(same("Run_Sts"), chiller(ChillerSignal::Status), Measure::OnOff).role("compressor_status"),
    point(same("Start_Cmd"), chiller(ChillerSignal::Command), Measure::OnOff).writable().on_change(),
    point(same("kW"), chiller(ChillerSignal::Power), Measure::Power).role("power"),
    point(same("EvapFlow"), chiller(ChillerSignal::Flow), Measure::WaterFlow).role("chw_flow"),
    point(same("LChWT"), chiller(ChillerSignal::LeavingTemperature), Measure::Temperature).role("chw_supply_temp"),
    point(same("EChWT"), chiller(ChillerSignal::EnteringTemperature), Measure::Temperature).role("chw_return_temp"),
    point(same("CondAppr"), chiller(ChillerSignal::CondenserApproach), Measure::TemperatureDifference).role("cond_approach_temp").alarmed(Limits::Range(-1.0, 9.0)),
    point(same("EvapAppr"), chiller(ChillerSignal::EvaporatorApproach), Measure::TemperatureDifference).role("evap_approach_temp"),
    point(same("%RLA"), chiller(ChillerSignal::LoadPercent), Measure::Percent),
];

const fn tower(signal: TowerSignal) -> Signal {
    Signal::Tower(signal)
}

#[rustfmt::skip]
pub const TOWER: &[Row] = &[
    point(same("CWS-T"), tower(TowerSignal::LeavingTemperature), Measure::Temperature).role("cw_supply_temp"),
    point(same("CWR-T"), tower(TowerSignal::EnteringTemperature), Measure::Temperature).role("cw_return_temp"),
    point(same("CWS-T SP"), tower(TowerSignal::Setpoint), Measure::Temperature).writable(),
    point(same("ECWT"), tower(TowerSignal::CondenserEntering), Measure::Temperature).role("cond_entering_water_temp").alarmed(Limits::Range(50.0, 90.0)),
    point(same("CW_Flow"), tower(TowerSignal::CondenserFlow), Measure::WaterFlow).role("cw_flow"),
    point(same("CTF_Spd"), tower(TowerSignal::FanSpeed), Measure::Percent).role("tower_fan_speed").writable(),
    point(same("CTF_Sts"), tower(TowerSignal::FanStatus), Measure::OnOff),
    point(same("CTF_kW"), tower(TowerSignal::FanPower), Measure::Power).role("power"),
    point(same("BypassVlv"), tower(TowerSignal::BypassValve), Measure::Percent).role("cw_bypass_valve").writable(),
    point(same("CWP_Sts"), tower(TowerSignal::PumpStatus), Measure::OnOff).role("compressor_status"),
];

const fn hot(signal: HotWaterSignal) -> Signal {
    Signal::HotWater(signal)
}

#[rustfmt::skip]
pub const HOT_WATER: &[Row] = &[
    point(same("HW_EN"), hot(HotWaterSignal::Enabled), Measure::OnOff).role("boiler_status").writable(),
    point(same("BurnerOn"), hot(HotWaterSignal::Firing), Measure::OnOff),
    point(same("HWS-T"), hot(HotWaterSignal::SupplyTemperature), Measure::Temperature).role("hw_supply_temp").alarmed(Limits::Range(60.0, 195.0)),
    point(same("HWS-T SP"), hot(HotWaterSignal::SupplySetpoint), Measure::Temperature).writable(),
    point(same("HWR-T"), hot(HotWaterSignal::ReturnTemperature), Measure::Temperature).role("hw_return_temp"),
    point(same("HW_Flow"), hot(HotWaterSignal::Flow), Measure::WaterFlow).role("hw_flow"),
    point(same("HW_DP"), hot(HotWaterSignal::DifferentialPressure), Measure::Psi).role("hw_diff_press"),
    point(same("HW_DP_SP"), hot(HotWaterSignal::DifferentialSetpoint), Measure::Psi).role("hw_diff_press_sp").writable(),
    point(same("HWP_Spd"), hot(HotWaterSignal::PumpSpeed), Measure::Percent).role("hw_pump_speed").writable(),
    point(same("HWP_kW"), hot(HotWaterSignal::PumpPower), Measure::Power),
    point(same("HWP-1 Status"), hot(HotWaterSignal::PumpStatus(0)), Measure::OnOff),
    point(same("HWP-2 Status"), hot(HotWaterSignal::PumpStatus(1)), Measure::OnOff),
    point(same("HW_Load"), hot(HotWaterSignal::EnergyRate), Measure::HeatRate).role("energy_rate"),
];

#[rustfmt::skip]
pub const BOILER: &[Row] = &[
    point(same("Flame"), boiler(BoilerSignal::Status), Measure::OnOff).role("boiler_status"),
    point(same("Enable"), boiler(BoilerSignal::Command), Measure::OnOff).writable().on_change(),
    point(same("FiringRate"), boiler(BoilerSignal::FiringRate), Measure::Percent),
    point(same("GasInput"), boiler(BoilerSignal::GasInput), Measure::Power).role("gas_input_rate"),
    point(same("LWT"), boiler(BoilerSignal::LeavingTemperature), Measure::Temperature).alarmed(Limits::Range(55.0, 205.0)),
];

#[rustfmt::skip]
pub const HEAT_PUMP: &[Row] = &[
    point(same("Fan_Sts"), unit(HeatPumpSignal::FanStatus), Measure::OnOff).role("supply_fan_status"),
    point(same("Fan_Cmd"), unit(HeatPumpSignal::FanCommand), Measure::OnOff).writable().on_change(),
    point(same("Comp_Sts"), unit(HeatPumpSignal::CompressorStatus), Measure::OnOff).role("compressor_status"),
    point(same("Comp Stage"), unit(HeatPumpSignal::Stage), Measure::Stage).role("compressor_stage"),
    point(same("RevVlv"), unit(HeatPumpSignal::ReversingValve), Measure::HeatCool).role("reversing_valve_cmd"),
    point(same("SupAirT"), unit(HeatPumpSignal::SupplyTemperature), Measure::Temperature).role("supply_air_temp"),
    point(same("RetAirT"), unit(HeatPumpSignal::ReturnTemperature), Measure::Temperature).role("return_air_temp"),
    point(same("SpaceTemp"), unit(HeatPumpSignal::SpaceTemperature), Measure::Temperature).role("space_temp").alarmed(Limits::Range(58.0, 84.0)),
    point(same("ClgSP"), unit(HeatPumpSignal::CoolingSetpoint), Measure::Temperature).role("cool_sp").writable(),
    point(same("HtgSP"), unit(HeatPumpSignal::HeatingSetpoint), Measure::Temperature).role("heat_sp").writable(),
    point(same("Subcool"), unit(HeatPumpSignal::Subcooling), Measure::TemperatureDifference).role("subcooling_temp"),
    point(same("Superheat"), unit(HeatPumpSignal::Superheat), Measure::TemperatureDifference).role("superheat_temp"),
    point(same("DischPress"), unit(HeatPumpSignal::DischargePressure), Measure::Psi).role("discharge_pressure"),
    point(same("SuctPress"), unit(HeatPumpSignal::SuctionPressure), Measure::Psi).role("suction_pressure"),
    point(same("FltDP"), unit(HeatPumpSignal::FilterPressure), Measure::DuctPressure).role("filter_diff_press"),
    point(same("kW"), unit(HeatPumpSignal::Power), Measure::Power).role("power"),
    point(same("OccMode"), unit(HeatPumpSignal::Occupied), Measure::Occupancy).role("occupancy").writable().on_change(),
];

const fn outdoor(signal: Outdoor) -> Signal {
    Signal::Outdoor(signal)
}

#[rustfmt::skip]
pub const WEATHER: &[Row] = &[
    point(same("OA-T"), outdoor(Outdoor::DryBulb), Measure::Temperature).role("oat"),
    point(same("OA-WB"), outdoor(Outdoor::WetBulb), Measure::Temperature).role("wetbulb_temp"),
    point(same("OA-DewPt"), outdoor(Outdoor::DewPoint), Measure::Temperature),
    point(same("OA-RH"), outdoor(Outdoor::Humidity), Measure::Humidity).role("outdoor_rh"),
    point(same("WindSpd"), outdoor(Outdoor::WindSpeed), Measure::WindSpeed),
    point(same("WindDir"), outdoor(Outdoor::WindDirection), Measure::Direction),
    point(same("Solar"), outdoor(Outdoor::Irradiance), Measure::Irradiance),
    point(same("Sky"), outdoor(Outdoor::Sky), Measure::Sky).on_change(),
];

const fn meter(signal: MeterSignal) -> Signal {
    Signal::Meter(signal)
}

#[rustfmt::skip]
pub const ELECTRIC_METER: &[Row] = &[
    point(same("kW_Demand"), meter(MeterSignal::ElectricDemand), Measure::Power).role("power").alarmed(Limits::Range(-1.0, 260.0)),
    point(same("kWh_Total"), meter(MeterSignal::ElectricEnergy), Measure::Energy),
    point(same("Volts_AN"), meter(MeterSignal::Voltage(0)), Measure::Voltage).untrended(),
    point(same("Volts_BN"), meter(MeterSignal::Voltage(1)), Measure::Voltage).untrended(),
    point(same("Volts_CN"), meter(MeterSignal::Voltage(2)), Measure::Voltage).untrended(),
    point(same("Amps_A"), meter(MeterSignal::Current(0)), Measure::Current).untrended(),
    point(same("Amps_B"), meter(MeterSignal::Current(1)), Measure::Current).untrended(),
    point(same("Amps_C"), meter(MeterSignal::Current(2)), Measure::Current).untrended(),
    point(same("PF"), meter(MeterSignal::PowerFactor), Measure::PowerFactor),
];

#[rustfmt::skip]
pub const GAS_METER: &[Row] = &[
    point(same("Gas_CFH"), meter(MeterSignal::GasRate), Measure::GasFlow),
    point(same("Gas_ft3_Total"), meter(MeterSignal::GasVolume), Measure::GasVolume),
];
