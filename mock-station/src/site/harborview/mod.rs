//! The demo site "Harborview": an office of about 5,500 m² in New York.

pub(super) mod equipment;
mod logic;
mod oddities;
mod rows;
mod tags;

#[cfg(test)]
mod tests;

use super::equipment::{Driver, Equipment};
use super::plan::{AlarmTexts, Plan, PlantedFault};
use super::sim::building::Fittings;
use super::sim::{Faults, Place};
use super::{Site, SiteName, SiteOptions};
use crate::model::ModelError;

/// The demo site.
pub struct Harborview;

impl Harborview {
    /// Builds the station, whatever site the options name.
    pub fn build(options: SiteOptions) -> Result<Site, ModelError> {
        Site::build(SiteOptions {
            name: SiteName::Harborview,
            ..options
        })
    }
}

pub(super) static PLAN: Plan = Plan {
    station: "Harborview",
    place: Place::NewYork,
    fittings: Fittings::Plain,
    faults: Faults::harborview,
    planted: &PLANTED,
    equipment: equipment::of_building,
    network: |driver| match driver {
        Driver::Bacnet => "BacnetNetwork",
        Driver::Modbus => "ModbusNetwork",
        Driver::Niagara => "NiagaraNetwork",
    },
    building_word: "Bldg",
    controller: ("Alder Controls", "AX-2100"),
    alarm_classes: &[
        ("HVAC_Critical", 30),
        ("HVAC_General", 120),
        ("Plant", 60),
        ("Energy", 180),
    ],
    alarm_class,
    alarm_texts: &AlarmTexts {
        out_of_range: "Value out of range",
        state: "Alarm contact closed",
        fault: "Sensor fault",
        alert: "Maintenance due",
        note: "Checked on site, work order raised.",
    },
    operators_unit: "AHU-1",
    finish: |builder, placed| {
        logic::add(builder, placed)?;
        oddities::add(builder, placed)?;
        tags::add(builder, placed)
    },
};

fn alarm_class(equipment: &Equipment) -> &'static str {
    match equipment.class {
        "Meter" => "Energy",
        "AHU" => "HVAC_Critical",
        "VAV" | "HeatPump" | "Weather" => "HVAC_General",
        _ => "Plant",
    }
}

const PLANTED: [PlantedFault; 12] = [
    PlantedFault {
        name: "economizer stuck",
        window: |faults| faults.economizer_stuck,
        equipment: &["AHU-1"],
        rules: &["economizer_high_limit", "outdoor_air_fraction"],
        neighbours: &["CHW", "HW", "VAV-1-03", "VAV-1-06"],
    },
    PlantedFault {
        name: "leaking heating valve",
        window: |faults| faults.leaking_heating_valve,
        equipment: &["AHU-2"],
        rules: &["leaking_valve", "g36_afdd"],
        neighbours: &["HW", "CHW"],
    },
    PlantedFault {
        name: "drifting supply-air sensor",
        window: |faults| faults.drifting_supply_sensor,
        equipment: &["AHU-3"],
        rules: &["g36_afdd", "leaking_valve"],
        neighbours: &[
            "VAV-3-01", "VAV-3-02", "VAV-3-03", "VAV-3-04", "VAV-3-05", "VAV-3-06", "VAV-3-07",
            "VAV-3-08", "HW", "CHW",
        ],
    },
    PlantedFault {
        name: "simultaneous heating and cooling",
        window: |faults| faults.simultaneous_heating_cooling,
        equipment: &["AHU-3"],
        rules: &["simultaneous_heat_cool"],
        neighbours: &["CHW", "HW", "CH-1", "CH-2"],
    },
    PlantedFault {
        name: "short-cycling boiler",
        window: |faults| faults.short_cycling_boiler,
        equipment: &["B-2"],
        rules: &["boiler_short_cycle"],
        neighbours: &["HW", "B-1"],
    },
    PlantedFault {
        name: "low hot-water temperature difference",
        window: |faults| faults.low_hot_water_delta_t,
        equipment: &["HW"],
        rules: &["hw_plant_deltat"],
        neighbours: &["B-1", "B-2", "MTR-E1", "MTR-G1"],
    },
    PlantedFault {
        name: "fouled condenser",
        window: |faults| faults.fouled_condenser,
        equipment: &["CH-1"],
        rules: &["chiller_approach_fouling"],
        neighbours: &["MTR-E1"],
    },
    PlantedFault {
        name: "tower bypass leak",
        window: |faults| faults.tower_bypass_leak,
        equipment: &["CT-1"],
        rules: &["condenser_bypass_leak"],
        neighbours: &["CH-1", "CH-2"],
    },
    PlantedFault {
        name: "chilled-water reset stuck",
        window: |faults| faults.chilled_water_reset_stuck,
        equipment: &["CHW"],
        rules: &["chw_plant_reset"],
        neighbours: &["CH-1", "CH-2"],
    },
    PlantedFault {
        name: "heat pump short of charge",
        window: |faults| faults.heat_pump_undercharge,
        equipment: &["HP-1"],
        rules: &["dx_refrigerant_charge"],
        neighbours: &["MTR-E1"],
    },
    PlantedFault {
        name: "zone starved of air",
        window: |faults| faults.starved_zone,
        equipment: &["VAV-2-05"],
        rules: &[
            "airflow_tracking",
            "static_rogue_zone_census",
            "unmet_setpoint_hours",
        ],
        neighbours: &["AHU-2", "VAV-2-04", "VAV-2-06"],
    },
    PlantedFault {
        name: "night setback missing",
        window: |faults| faults.night_setback_missing,
        equipment: &["HP-2"],
        rules: &["night_weekend_setback"],
        neighbours: &["MTR-E1"],
    },
];
