//! The demo site "Lakeside": an office of about 5,500 m² on Lake Constance, with German names and metric units.
//!
//! Rooms hang on one controller station per floor, the boiler house on a Modbus PLC, meters on an M-Bus gateway; heat goes
//! out by circuits with pumps of their own, and a small heat pump heats tap water.

pub(super) mod equipment;
mod logic;
mod oddities;
mod rows;

#[cfg(test)]
mod fault_tests;
#[cfg(test)]
mod tests;

use super::equipment::{Driver, Equipment};
use super::plan::{AlarmTexts, Plan, PlantedFault};
use super::sim::building::Fittings;
use super::sim::{Faults, Place};
use super::{Site, SiteName, SiteOptions};
use crate::model::ModelError;

/// The second demo site.
pub struct Lakeside;

impl Lakeside {
    /// Builds the station, whatever site the options name.
    pub fn build(options: SiteOptions) -> Result<Site, ModelError> {
        Site::build(SiteOptions {
            name: SiteName::Lakeside,
            ..options
        })
    }
}

pub(super) static PLAN: Plan = Plan {
    station: "Lakeside",
    place: Place::LakeConstance,
    fittings: Fittings::CircuitsAndTapWater,
    faults: Faults::lakeside,
    planted: &PLANTED,
    equipment: equipment::of_building,
    network: |driver| match driver {
        Driver::Bacnet => "BACnet_Anlagen",
        Driver::Modbus => "Modbus TCP",
        Driver::Niagara => "Etagenregler",
    },
    building_word: "Haus",
    controller: ("Seehafer Regeltechnik", "SR-40"),
    alarm_classes: &[
        ("Störung hoch", 20),
        ("Störung", 90),
        ("Heizung_Kälte", 60),
        ("Zähler", 200),
    ],
    alarm_class,
    alarm_texts: &AlarmTexts {
        out_of_range: "Grenzwert verletzt",
        state: "Störmeldung ansteht",
        fault: "Fühlerbruch",
        alert: "Wartung fällig",
        note: "Vor Ort geprüft, Auftrag an Fachfirma.",
    },
    operators_unit: "RLT-1",
    finish: |builder, placed| {
        logic::add(builder, placed)?;
        oddities::add(builder, placed)
    },
};

fn alarm_class(equipment: &Equipment) -> &'static str {
    match equipment.class {
        "Meter" => "Zähler",
        "AHU" => "Störung hoch",
        "VAV" | "Weather" => "Störung",
        _ => "Heizung_Kälte",
    }
}

const PLANTED: [PlantedFault; 6] = [
    PlantedFault {
        name: "short-cycling boiler",
        window: |faults| faults.short_cycling_boiler,
        equipment: &["K-2"],
        rules: &["boiler_short_cycle"],
        neighbours: &["HZ", "K-1"],
    },
    PlantedFault {
        name: "low chilled-water temperature difference",
        window: |faults| faults.low_chilled_water_delta_t,
        equipment: &["KW"],
        rules: &["chw_plant_reset"],
        neighbours: &["KM-1", "KM-2", "ZE-1"],
    },
    PlantedFault {
        name: "fouled cooling tower",
        window: |faults| faults.fouled_tower,
        equipment: &["RKW-1"],
        rules: &["cooling_tower_approach"],
        neighbours: &["KM-1", "KM-2", "ZE-1"],
    },
    PlantedFault {
        name: "defrost by timer",
        window: |faults| faults.defrost_by_timer,
        equipment: &["WP-1"],
        rules: &["heatpump_defrost"],
        neighbours: &["ZE-1"],
    },
    PlantedFault {
        name: "short-cycling tap-water heat pump",
        window: |faults| faults.tap_water_short_cycling,
        equipment: &["TWW"],
        rules: &["compressor_short_cycle"],
        neighbours: &["ZE-1"],
    },
    PlantedFault {
        name: "circuit pump in hand",
        window: |faults| faults.circuit_pump_in_hand,
        equipment: &["HK-4"],
        rules: &["hw_pump_summer_lockout"],
        neighbours: &["ZE-1"],
    },
];
