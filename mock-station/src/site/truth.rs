//! What the tree really means, for tests of whoever has to find it out: equipment, classes, roles and where the faults are.

use super::plan::{Plan, PlantedFault};
use super::sim::Faults;
use super::tree::PlacedEquipment;
use crate::model::Station;
use chrono::DateTime;
use chrono_tz::Tz;
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

impl Truth {
    pub(super) fn describe(
        plan: &Plan,
        station: &Station,
        placed: &[PlacedEquipment],
        faults: &Faults,
    ) -> Self {
        let faults: Vec<TrueFault> = plan
            .planted
            .iter()
            .map(|planted| true_fault(planted, faults, plan.place.zone()))
            .collect();
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

fn true_fault(planted: &PlantedFault, faults: &Faults, zone: Tz) -> TrueFault {
    let window = (planted.window)(faults);
    let text = |epoch_ms| {
        DateTime::from_timestamp_millis(epoch_ms).map(|time| time.with_timezone(&zone).to_rfc3339())
    };
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    TrueFault {
        name: planted.name.to_owned(),
        equipment: names(planted.equipment),
        start: text(window.start).unwrap_or_default(),
        end: text(window.end),
        rules: names(planted.rules),
        neighbours: names(planted.neighbours),
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
