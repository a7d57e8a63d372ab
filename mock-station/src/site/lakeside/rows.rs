//! The points of each kind of equipment, with the names that the engineers of three lots gave them.
//!
//! One line per point: the tables are not broken up by the formatter.

use crate::site::measure::Measure;
use crate::site::row::{Limits, Row, point, same};
use crate::site::sim::signal::*;

const fn air(signal: AirSignal) -> Signal {
    Signal::Air(0, signal)
}

#[rustfmt::skip]
pub const AIR_HANDLER: &[Row] = &[
    point(["Zuluft_Temp", "ZUL_T", "T Zuluft"], air(AirSignal::SupplyTemperature), Measure::Temperature).role("supply_air_temp").alarmed(Limits::Range(50.0, 85.0)),
    point(["Zuluft_Temp_Soll", "ZUL_T_W", "T Zuluft Soll"], air(AirSignal::SupplySetpoint), Measure::Temperature).role("supply_air_temp_sp").writable(),
    point(["Mischluft_Temp", "MIL_T", "T Mischluft"], air(AirSignal::MixedTemperature), Measure::Temperature).role("mixed_air_temp").alarmed(Limits::Range(36.0, 95.0)),
    point(["Abluft_Temp", "ABL_T", "T Abluft"], air(AirSignal::ReturnTemperature), Measure::Temperature).role("return_air_temp"),
    point(["Abluft_Feuchte", "ABL_rF", "rF Abluft"], air(AirSignal::ReturnHumidity), Measure::Humidity).role("return_air_humidity"),
    point(["Abluft_CO2", "ABL_CO2", "CO₂ Abluft"], air(AirSignal::ReturnCo2), Measure::Ppm),
    point(["Außenluftklappe", "AUL_KL_Y", "Klappe AUL"], air(AirSignal::DamperCommand), Measure::Percent).role("oa_damper").writable(),
    point(["Außenluftklappe_Rückm", "AUL_KL_X", "Klappe AUL Rückm."], air(AirSignal::DamperPosition), Measure::Percent),
    point(["Freie_Kühlung", "FK_EIN", "Freie Kühlung"], air(AirSignal::EconomizerEnabled), Measure::OnOff).role("econ_cmd").on_change(),
    point(["Kühlventil", "KUE_Y", "Ventil Kühler"], air(AirSignal::CoolingValve), Measure::Percent).role("cool_valve").writable(),
    point(["Heizventil", "ERH_Y", "Ventil Erhitzer"], air(AirSignal::HeatingValve), Measure::Percent).role("heat_valve").writable(),
    point(["Zuluftvent_Freigabe", "ZUV_B", "Freigabe ZUL-Vent."], air(AirSignal::FanCommand), Measure::OnOff).writable().on_change(),
    point(["Zuluftvent_Betrieb", "ZUV_BM", "Betrieb ZUL-Vent."], air(AirSignal::FanStatus), Measure::OnOff).role("supply_fan_status"),
    point(["Zuluftvent_Drehzahl", "ZUV_Y", "Drehzahl ZUL-Vent."], air(AirSignal::FanSpeed), Measure::Percent).role("supply_fan_speed").writable(),
    point(["Zuluftvent_Leistung", "ZUV_P", "Leistung ZUL-Vent."], air(AirSignal::FanPower), Measure::Power).role("power"),
    point(["Zuluft_Volumenstrom", "ZUL_V", "Volumenstrom ZUL"], air(AirSignal::Airflow), Measure::Airflow).role("airflow"),
    point(["Außenluft_Volumenstrom", "AUL_V", "Volumenstrom AUL"], air(AirSignal::OutdoorAirflow), Measure::Airflow).role("oa_airflow"),
    point(["Kanaldruck", "ZUL_P", "Druck ZUL"], air(AirSignal::StaticPressure), Measure::DuctPressure).role("duct_static").alarmed(Limits::Range(-0.1, 2.5)),
    point(["Kanaldruck_Soll", "ZUL_P_W", "Druck ZUL Soll"], air(AirSignal::StaticSetpoint), Measure::DuctPressure).role("duct_static_sp").writable(),
    point(["Filter_Differenzdruck", "FIL_DP", "dP Filter"], air(AirSignal::FilterPressure), Measure::DuctPressure).role("filter_diff_press"),
    point(["Filter_Störung", "FIL_SM", "Filter verschmutzt"], air(AirSignal::FilterDirty), Measure::Alarm).untrended().alarmed(Limits::State(true)),
    point(["Frostschutz", "FRO_SM", "Frostwächter"], air(AirSignal::Freezestat), Measure::Alarm).on_change().alarmed(Limits::State(true)),
    point(["Belegung", "BEL", "Belegung"], air(AirSignal::Occupied), Measure::Occupancy).role("occupancy").writable().on_change(),
    point(["Aufheizen", "AUFH", "Aufheizen"], air(AirSignal::WarmUp), Measure::OnOff).role("warmup").on_change(),
    point(["Vorkühlen", "VORK", "Vorkühlen"], air(AirSignal::CoolDown), Measure::OnOff).role("cooldown").on_change(),
    point(["Betriebsart", "BA", "Betriebsart"], air(AirSignal::Mode), Measure::AirMode),
    point(["Betriebsart_Text", "BA_TXT", "Betriebsart Text"], air(AirSignal::Mode), Measure::AirModeText).on_change(),
    point(["Anforderung_Druck", "ANF_P", "Anforderung Druck"], air(AirSignal::PressureRequests), Measure::Count).role("static_pressure_requests"),
    point(["Anforderung_Kühlen", "ANF_K", "Anforderung Kühlen"], air(AirSignal::CoolingRequests), Measure::Count).role("sat_reset_requests"),
];

const fn zone(signal: ZoneSignal) -> Signal {
    Signal::Zone(0, signal)
}

#[rustfmt::skip]
pub const ROOM: &[Row] = &[
    point(["Raumtemperatur", "RT_X", "Raumtemp. Ist"], zone(ZoneSignal::SpaceTemperature), Measure::Temperature).role("space_temp").alarmed(Limits::Range(60.0, 82.0)),
    point(["Sollwert Kühlen", "RT_WK", "Raumtemp. Soll Kühlen"], zone(ZoneSignal::CoolingSetpoint), Measure::Temperature).role("cool_sp").writable(),
    point(["Sollwert Heizen", "RT_WH", "Raumtemp. Soll Heizen"], zone(ZoneSignal::HeatingSetpoint), Measure::Temperature).role("heat_sp").writable(),
    point(["Volumenstrom", "V_X", "Volumenstrom Ist"], zone(ZoneSignal::Airflow), Measure::Airflow).role("airflow"),
    point(["Volumenstrom Soll", "V_W", "Volumenstrom Soll"], zone(ZoneSignal::AirflowSetpoint), Measure::Airflow).role("airflow_sp"),
    point(["Volumenstrom min", "V_MIN", "Volumenstrom Min."], zone(ZoneSignal::MinimumAirflow), Measure::Airflow).role("airflow_min_sp").writable().untrended(),
    point(["VSR Klappe", "VSR_Y", "Klappenstellung"], zone(ZoneSignal::Damper), Measure::Percent).role("damper").writable(),
    point(["Nacherhitzer", "NE_Y", "Ventil Nacherhitzer"], zone(ZoneSignal::ReheatValve), Measure::Percent).role("heat_valve").writable(),
    point(["Einblastemperatur", "ZUL_T", "Temp. nach Nacherhitzer"], zone(ZoneSignal::DischargeTemperature), Measure::Temperature).role("supply_air_temp"),
    point(["Regler Heizen", "YH", "Reglerausgang Heizen"], zone(ZoneSignal::HeatingLoop), Measure::Percent).role("zone_heat_loop").untrended(),
    point(["Regler Kühlen", "YK", "Reglerausgang Kühlen"], zone(ZoneSignal::CoolingLoop), Measure::Percent).role("zone_cool_loop"),
    point(["CO2", "CO2_X", "Luftgüte CO₂"], zone(ZoneSignal::Co2), Measure::Ppm).role("co2"),
    point(["Belegung", "BEL", "Präsenz"], zone(ZoneSignal::Occupied), Measure::Occupancy).role("occupancy").on_change(),
    point(["Betriebsart", "BA", "Betriebsart Raum"], zone(ZoneSignal::Mode), Measure::ZoneMode).untrended(),
];

const fn chilled(signal: ChilledWaterSignal) -> Signal {
    Signal::ChilledWater(signal)
}

#[rustfmt::skip]
pub const CHILLED_WATER: &[Row] = &[
    point(same("Anlage Ein"), chilled(ChilledWaterSignal::Enabled), Measure::OnOff).role("compressor_status").writable(),
    point(same("KW_Vorlauf"), chilled(ChilledWaterSignal::SupplyTemperature), Measure::Temperature).role("chw_supply_temp").alarmed(Limits::Range(38.0, 64.0)),
    point(same("KW_Vorlauf_Soll"), chilled(ChilledWaterSignal::SupplySetpoint), Measure::Temperature).role("chw_supply_temp_sp").writable(),
    point(same("KW_Rücklauf"), chilled(ChilledWaterSignal::ReturnTemperature), Measure::Temperature).role("chw_return_temp"),
    point(same("KW_Durchfluss"), chilled(ChilledWaterSignal::Flow), Measure::WaterFlow).role("chw_flow"),
    point(same("Kälteleistung"), chilled(ChilledWaterSignal::Tons), Measure::Tons),
    point(same("KW_Differenzdruck"), chilled(ChilledWaterSignal::DifferentialPressure), Measure::Kilopascal).role("chw_diff_press"),
    point(same("KW_Differenzdruck_Soll"), chilled(ChilledWaterSignal::DifferentialSetpoint), Measure::Kilopascal).role("chw_diff_press_sp").writable(),
    point(same("KW-Pumpe Drehzahl"), chilled(ChilledWaterSignal::PumpSpeed), Measure::Percent).role("chw_pump_speed").writable(),
    point(same("KW-Pumpe Leistung"), chilled(ChilledWaterSignal::PumpPower), Measure::Power),
    point(same("KW-Pumpe 1 Betrieb"), chilled(ChilledWaterSignal::PumpStatus(0)), Measure::OnOff),
    point(same("KW-Pumpe 2 Betrieb"), chilled(ChilledWaterSignal::PumpStatus(1)), Measure::OnOff),
    point(same("Stufe"), chilled(ChilledWaterSignal::Stage), Measure::Stage),
];

const fn chiller(signal: ChillerSignal) -> Signal {
    Signal::Chiller(0, signal)
}

#[rustfmt::skip]
pub const CHILLER: &[Row] = &[
    point(["Betrieb", "RunStatus", "Betrieb"], chiller(ChillerSignal::Status), Measure::OnOff).role("compressor_status"),
    point(["Freigabe", "Enable", "Freigabe"], chiller(ChillerSignal::Command), Measure::OnOff).writable().on_change(),
    point(["Leistung_el", "InputPower", "Leistung_el"], chiller(ChillerSignal::Power), Measure::Power).role("power"),
    point(["Durchfluss", "EvapFlow", "Durchfluss"], chiller(ChillerSignal::Flow), Measure::WaterFlow).role("chw_flow"),
    point(["Austritt_Temp", "LeavingTemp", "Austritt_Temp"], chiller(ChillerSignal::LeavingTemperature), Measure::Temperature).role("chw_supply_temp"),
    point(["Eintritt_Temp", "EnteringTemp", "Eintritt_Temp"], chiller(ChillerSignal::EnteringTemperature), Measure::Temperature).role("chw_return_temp"),
    point(["Grädigkeit_Verflüssiger", "CondApproach", "Grädigkeit"], chiller(ChillerSignal::CondenserApproach), Measure::TemperatureDifference).role("cond_approach_temp").alarmed(Limits::Range(-1.0, 9.0)),
    point(["Grädigkeit_Verdampfer", "EvapApproach", "Grädigkeit V"], chiller(ChillerSignal::EvaporatorApproach), Measure::TemperatureDifference).role("evap_approach_temp"),
    point(["Auslastung", "PercentLoad", "Auslastung"], chiller(ChillerSignal::LoadPercent), Measure::Percent),
];

const fn tower(signal: TowerSignal) -> Signal {
    Signal::Tower(signal)
}

#[rustfmt::skip]
pub const TOWER: &[Row] = &[
    point(same("RKW Austritt"), tower(TowerSignal::LeavingTemperature), Measure::Temperature).role("cw_supply_temp"),
    point(same("RKW Eintritt"), tower(TowerSignal::EnteringTemperature), Measure::Temperature).role("cw_return_temp"),
    point(same("RKW Austritt Soll"), tower(TowerSignal::Setpoint), Measure::Temperature).writable(),
    point(same("Kühlwasser Eintritt KM"), tower(TowerSignal::CondenserEntering), Measure::Temperature).role("cond_entering_water_temp").alarmed(Limits::Range(50.0, 90.0)),
    point(same("Kühlwasser Durchfluss"), tower(TowerSignal::CondenserFlow), Measure::WaterFlow).role("cw_flow"),
    point(same("Ventilator Drehzahl"), tower(TowerSignal::FanSpeed), Measure::Percent).role("tower_fan_speed").writable(),
    point(same("Ventilator Betrieb"), tower(TowerSignal::FanStatus), Measure::OnOff),
    point(same("Ventilator Leistung"), tower(TowerSignal::FanPower), Measure::Power).role("power"),
    point(same("Bypassventil"), tower(TowerSignal::BypassValve), Measure::Percent).role("cw_bypass_valve").writable(),
    point(same("Kühlwasserpumpe Betrieb"), tower(TowerSignal::PumpStatus), Measure::OnOff).role("compressor_status"),
];

const fn hot(signal: HotWaterSignal) -> Signal {
    Signal::HotWater(signal)
}

#[rustfmt::skip]
pub const HOT_WATER: &[Row] = &[
    point(same("Anforderung Heizung"), hot(HotWaterSignal::Enabled), Measure::OnOff).role("boiler_status").writable(),
    point(same("Brenner Sammelmeldung"), hot(HotWaterSignal::Firing), Measure::OnOff),
    point(same("Vorlauftemp."), hot(HotWaterSignal::SupplyTemperature), Measure::Temperature).role("hw_supply_temp").alarmed(Limits::Range(60.0, 195.0)),
    point(same("Vorlauftemp. Soll"), hot(HotWaterSignal::SupplySetpoint), Measure::Temperature).writable(),
    point(same("Rücklauftemp."), hot(HotWaterSignal::ReturnTemperature), Measure::Temperature).role("hw_return_temp"),
    point(same("Durchfluss"), hot(HotWaterSignal::Flow), Measure::WaterFlow).role("hw_flow"),
    point(same("Differenzdruck"), hot(HotWaterSignal::DifferentialPressure), Measure::Kilopascal).role("hw_diff_press"),
    point(same("Differenzdruck Soll"), hot(HotWaterSignal::DifferentialSetpoint), Measure::Kilopascal).role("hw_diff_press_sp").writable(),
    point(same("Kesselkreispumpe Drehzahl"), hot(HotWaterSignal::PumpSpeed), Measure::Percent).role("hw_pump_speed").writable(),
    point(same("Kesselkreispumpe Leistung"), hot(HotWaterSignal::PumpPower), Measure::Power),
    point(same("Pumpe 1 Betrieb"), hot(HotWaterSignal::PumpStatus(0)), Measure::OnOff),
    point(same("Pumpe 2 Betrieb"), hot(HotWaterSignal::PumpStatus(1)), Measure::OnOff),
    point(same("Wärmeleistung"), hot(HotWaterSignal::EnergyRate), Measure::HeatRate).role("energy_rate"),
];

const fn boiler(signal: BoilerSignal) -> Signal {
    Signal::Boiler(0, signal)
}

#[rustfmt::skip]
pub const BOILER: &[Row] = &[
    point(same("Brenner Betrieb"), boiler(BoilerSignal::Status), Measure::OnOff).role("boiler_status"),
    point(same("Kessel Freigabe"), boiler(BoilerSignal::Command), Measure::OnOff).writable().on_change(),
    point(same("Modulation"), boiler(BoilerSignal::FiringRate), Measure::Percent),
    point(same("Feuerungsleistung"), boiler(BoilerSignal::GasInput), Measure::Power).role("gas_input_rate"),
    point(same("Kesseltemp."), boiler(BoilerSignal::LeavingTemperature), Measure::Temperature).alarmed(Limits::Range(55.0, 205.0)),
];

const fn circuit(signal: CircuitSignal) -> Signal {
    Signal::Circuit(0, signal)
}

#[rustfmt::skip]
pub const HEATING_CIRCUIT: &[Row] = &[
    point(same("Pumpe Betrieb"), circuit(CircuitSignal::PumpStatus), Measure::OnOff).role("pump_status"),
    point(same("Pumpe Drehzahl"), circuit(CircuitSignal::PumpSpeed), Measure::Percent).role("hw_pump_speed").writable(),
    point(same("Pumpe Leistung"), circuit(CircuitSignal::PumpPower), Measure::Power).role("power").untrended(),
    point(same("Vorlauf Soll"), circuit(CircuitSignal::SupplySetpoint), Measure::Temperature).writable(),
    point(same("Vorlauf Ist"), circuit(CircuitSignal::SupplyTemperature), Measure::Temperature).role("hw_supply_temp").alarmed(Limits::Range(55.0, 190.0)),
    point(same("Rücklauf"), circuit(CircuitSignal::ReturnTemperature), Measure::Temperature).role("hw_return_temp"),
    point(same("Durchfluss"), circuit(CircuitSignal::Flow), Measure::WaterFlow).role("hw_flow"),
    point(same("Mischer"), circuit(CircuitSignal::MixingValve), Measure::Percent).writable(),
    point(same("Wärmeleistung"), circuit(CircuitSignal::HeatRate), Measure::HeatRate).role("energy_rate"),
];

const fn tap(signal: TapWaterSignal) -> Signal {
    Signal::TapWater(signal)
}

#[rustfmt::skip]
pub const TAP_WATER: &[Row] = &[
    point(same("WP Verdichter Betrieb"), tap(TapWaterSignal::CompressorStatus), Measure::OnOff).role("compressor_status"),
    point(same("WP Leistung"), tap(TapWaterSignal::Power), Measure::Power).role("power"),
    point(same("Sollwert Speicher"), tap(TapWaterSignal::Setpoint), Measure::Temperature).writable(),
    point(same("Speicher oben"), tap(TapWaterSignal::TopTemperature), Measure::Temperature).alarmed(Limits::Range(118.0, 158.0)),
    point(same("Speicher unten"), tap(TapWaterSignal::BottomTemperature), Measure::Temperature),
    point(same("Zirkulation Rücklauf"), tap(TapWaterSignal::CirculationReturn), Measure::Temperature),
    point(same("Zirkulationspumpe"), tap(TapWaterSignal::CirculationPump), Measure::OnOff).writable().on_change(),
];

const fn unit(signal: HeatPumpSignal) -> Signal {
    Signal::HeatPump(0, signal)
}

#[rustfmt::skip]
pub const HEAT_PUMP: &[Row] = &[
    point(same("Ventilator Betrieb"), unit(HeatPumpSignal::FanStatus), Measure::OnOff).role("supply_fan_status"),
    point(same("Ventilator Freigabe"), unit(HeatPumpSignal::FanCommand), Measure::OnOff).writable().on_change(),
    point(same("Verdichter Betrieb"), unit(HeatPumpSignal::CompressorStatus), Measure::OnOff).role("compressor_status"),
    point(same("Verdichterstufe"), unit(HeatPumpSignal::Stage), Measure::Stage).role("compressor_stage"),
    point(same("4-Wege-Ventil"), unit(HeatPumpSignal::ReversingValve), Measure::HeatCool).role("reversing_valve_cmd"),
    point(same("Zulufttemp."), unit(HeatPumpSignal::SupplyTemperature), Measure::Temperature).role("supply_air_temp"),
    point(same("Ablufttemp."), unit(HeatPumpSignal::ReturnTemperature), Measure::Temperature).role("return_air_temp"),
    point(same("Raumtemperatur"), unit(HeatPumpSignal::SpaceTemperature), Measure::Temperature).role("space_temp").alarmed(Limits::Range(58.0, 84.0)),
    point(same("Soll Kühlen"), unit(HeatPumpSignal::CoolingSetpoint), Measure::Temperature).role("cool_sp").writable(),
    point(same("Soll Heizen"), unit(HeatPumpSignal::HeatingSetpoint), Measure::Temperature).role("heat_sp").writable(),
    point(same("Unterkühlung"), unit(HeatPumpSignal::Subcooling), Measure::TemperatureDifference).role("subcooling_temp"),
    point(same("Überhitzung"), unit(HeatPumpSignal::Superheat), Measure::TemperatureDifference).role("superheat_temp"),
    point(same("Hochdruck"), unit(HeatPumpSignal::DischargePressure), Measure::Psi).role("discharge_pressure"),
    point(same("Niederdruck"), unit(HeatPumpSignal::SuctionPressure), Measure::Psi).role("suction_pressure"),
    point(same("dP Filter"), unit(HeatPumpSignal::FilterPressure), Measure::DuctPressure).role("filter_diff_press"),
    point(same("Leistung el."), unit(HeatPumpSignal::Power), Measure::Power).role("power"),
    point(same("Belegung"), unit(HeatPumpSignal::Occupied), Measure::Occupancy).role("occupancy").writable().on_change(),
];

const fn outdoor(signal: Outdoor) -> Signal {
    Signal::Outdoor(signal)
}

#[rustfmt::skip]
pub const WEATHER: &[Row] = &[
    point(same("Außentemperatur"), outdoor(Outdoor::DryBulb), Measure::Temperature).role("oat"),
    point(same("Feuchtkugeltemperatur"), outdoor(Outdoor::WetBulb), Measure::Temperature).role("wetbulb_temp"),
    point(same("Taupunkt"), outdoor(Outdoor::DewPoint), Measure::Temperature),
    point(same("Außenfeuchte"), outdoor(Outdoor::Humidity), Measure::Humidity).role("outdoor_rh"),
    point(same("Windgeschwindigkeit"), outdoor(Outdoor::WindSpeed), Measure::WindSpeed),
    point(same("Windrichtung"), outdoor(Outdoor::WindDirection), Measure::Direction),
    point(same("Globalstrahlung"), outdoor(Outdoor::Irradiance), Measure::Irradiance),
    point(same("Himmel"), outdoor(Outdoor::Sky), Measure::Sky).on_change(),
];

const fn meter(signal: MeterSignal) -> Signal {
    Signal::Meter(signal)
}

#[rustfmt::skip]
pub const ELECTRIC_METER: &[Row] = &[
    point(same("Wirkleistung"), meter(MeterSignal::ElectricDemand), Measure::Power).role("power").alarmed(Limits::Range(-1.0, 260.0)),
    point(same("Zählerstand"), meter(MeterSignal::ElectricEnergy), Measure::Energy),
    point(same("Spannung L1"), meter(MeterSignal::Voltage(0)), Measure::Voltage).untrended(),
    point(same("Spannung L2"), meter(MeterSignal::Voltage(1)), Measure::Voltage).untrended(),
    point(same("Spannung L3"), meter(MeterSignal::Voltage(2)), Measure::Voltage).untrended(),
    point(same("Strom L1"), meter(MeterSignal::Current(0)), Measure::Current).untrended(),
    point(same("Strom L2"), meter(MeterSignal::Current(1)), Measure::Current).untrended(),
    point(same("Strom L3"), meter(MeterSignal::Current(2)), Measure::Current).untrended(),
    point(same("cos φ"), meter(MeterSignal::PowerFactor), Measure::PowerFactor),
];

#[rustfmt::skip]
pub const GAS_METER: &[Row] = &[
    point(same("Gas Durchfluss"), meter(MeterSignal::GasRate), Measure::GasFlow),
    point(same("Zählerstand"), meter(MeterSignal::GasVolume), Measure::GasVolume),
];
