//! What the tree really means, for tests of whoever has to find it out: equipment, classes, roles and where the faults are.

use super::sim::faults::{Faults, Window};
use super::tree::PlacedEquipment;
use crate::model::Station;
use chrono::DateTime;
use serde::Serialize;
use std::collections::BTreeMap;

/// The true model of the site.
#[derive(Clone, Debug, Serialize)]
pub struct Truth {
    pub site: String,
    pub time_zone: String,
    pub equipment: Vec<TrueEquipment>,
    pub faults: Vec<TrueFault>,
    /// Equipment without a fault of its own and not touched by a neighbour's.
    pub healthy: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct TrueEquipment {
    pub id: String,
    /// CAMBER equipment class.
    pub class: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served_by: Option<String>,
    /// Role to slot path.
    pub roles: BTreeMap<String, String>,
    /// Role to history id, for trended points.
    pub histories: BTreeMap<String, String>,
}

/// One planted fault.
#[derive(Clone, Debug, Serialize)]
pub struct TrueFault {
    pub name: String,
    pub equipment: Vec<String>,
    /// RFC 3339.
    pub start: String,
    /// RFC 3339; absent while the fault lasts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// CAMBER rules or drift detectors that should see it.
    pub rules: Vec<String>,
    /// Equipment where the fault shows as well.
    pub neighbours: Vec<String>,
}

type FaultRow = (
    &'static str,
    fn(&Faults) -> Window,
    &'static [&'static str],
    &'static [&'static str],
    &'static [&'static str],
);

/// Name, window, equipment, expected rules, neighbours.
const FAULTS: [FaultRow; 12] = [
    (
        "economizer stuck",
        |f| f.economizer_stuck,
        &["AHU-1"],
        &["economizer_high_limit", "outdoor_air_fraction"],
        &["CHW", "HW", "VAV-1-03", "VAV-1-06"],
    ),
    (
        "leaking heating valve",
        |f| f.leaking_heating_valve,
        &["AHU-2"],
        &["leaking_valve", "g36_afdd"],
        &["HW", "CHW"],
    ),
    (
        "drifting supply-air sensor",
        |f| f.drifting_supply_sensor,
        &["AHU-3"],
        &["g36_afdd", "leaking_valve"],
        &["VAV-3-01", "VAV-3-02", "HW", "CHW"],
    ),
    (
        "simultaneous heating and cooling",
        |f| f.simultaneous_heating_cooling,
        &["AHU-3"],
        &["simultaneous_heat_cool"],
        &["CHW", "HW", "CH-1", "CH-2"],
    ),
    (
        "short-cycling boiler",
        |f| f.short_cycling_boiler,
        &["B-2"],
        &["boiler_short_cycle"],
        &["HW", "B-1"],
    ),
    (
        "low hot-water temperature difference",
        |f| f.low_hot_water_delta_t,
        &["HW"],
        &["hw_plant_deltat"],
        &["B-1", "B-2", "MTR-E1", "MTR-G1"],
    ),
    (
        "fouled condenser",
        |f| f.fouled_condenser,
        &["CH-1"],
        &["chiller_approach_fouling"],
        &["MTR-E1"],
    ),
    (
        "tower bypass leak",
        |f| f.tower_bypass_leak,
        &["CT-1"],
        &["condenser_bypass_leak"],
        &["CH-1", "CH-2"],
    ),
    (
        "chilled-water reset stuck",
        |f| f.chilled_water_reset_stuck,
        &["CHW"],
        &["chw_plant_reset"],
        &["CH-1", "CH-2"],
    ),
    (
        "heat pump short of charge",
        |f| f.heat_pump_undercharge,
        &["HP-1"],
        &["dx_refrigerant_charge"],
        &["MTR-E1"],
    ),
    (
        "zone starved of air",
        |f| f.starved_zone,
        &["VAV-2-05"],
        &[
            "airflow_tracking",
            "static_rogue_zone_census",
            "unmet_setpoint_hours",
        ],
        &["AHU-2", "VAV-2-04", "VAV-2-06"],
    ),
    (
        "night setback missing",
        |f| f.night_setback_missing,
        &["HP-2"],
        &["night_weekend_setback"],
        &["MTR-E1"],
    ),
];

impl Truth {
    pub(super) fn describe(station: &Station, placed: &[PlacedEquipment], faults: &Faults) -> Self {
        let faults: Vec<TrueFault> = FAULTS.iter().map(|row| true_fault(row, faults)).collect();
        let touched: Vec<&String> = faults
            .iter()
            .flat_map(|fault| fault.equipment.iter().chain(&fault.neighbours))
            .collect();
        let equipment: Vec<TrueEquipment> = placed
            .iter()
            .map(|placed| true_equipment(station, placed))
            .collect();
        let healthy = equipment
            .iter()
            .map(|equipment| equipment.id.clone())
            .filter(|id| !touched.contains(&id))
            .collect();
        Self {
            site: station.name(),
            time_zone: station.zone().name().to_owned(),
            equipment,
            faults,
            healthy,
        }
    }

    /// The equipment of that identity.
    pub fn equipment(&self, id: &str) -> Option<&TrueEquipment> {
        self.equipment.iter().find(|equipment| equipment.id == id)
    }

    /// The fault of that name.
    pub fn fault(&self, name: &str) -> Option<&TrueFault> {
        self.faults.iter().find(|fault| fault.name == name)
    }
}

fn true_fault(
    (name, window, equipment, rules, neighbours): &FaultRow,
    faults: &Faults,
) -> TrueFault {
    let window = window(faults);
    let text = |epoch_ms| {
        DateTime::from_timestamp_millis(epoch_ms).map(|time| {
            time.with_timezone(&chrono_tz::America::New_York)
                .to_rfc3339()
        })
    };
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    TrueFault {
        name: (*name).to_owned(),
        equipment: names(equipment),
        start: text(window.start).unwrap_or_default(),
        end: text(window.end),
        rules: names(rules),
        neighbours: names(neighbours),
    }
}

fn true_equipment(station: &Station, placed: &PlacedEquipment) -> TrueEquipment {
    let with_role = || {
        placed
            .points
            .iter()
            .filter(|point| !point.row.role.is_empty())
    };
    TrueEquipment {
        id: placed.equipment.id.clone(),
        class: placed.equipment.class.to_owned(),
        served_by: placed.equipment.served_by.clone(),
        roles: with_role()
            .map(|point| (point.row.role.to_owned(), station.slot_path(point.handle)))
            .collect(),
        histories: with_role()
            .filter_map(|point| Some((point.row.role.to_owned(), point.history.clone()?)))
            .collect(),
    }
}
