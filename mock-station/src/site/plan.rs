//! What makes one site differ from another: the description that one builder turns into a station.

use super::equipment::{Driver, Equipment};
use super::sim::building::Fittings;
use super::sim::{Faults, Place, Window};
use super::tree::{PlacedEquipment, TreeBuilder};
use crate::model::ModelError;

/// The description of a site.
pub struct Plan {
    /// Station name, which is also the first part of its history ids.
    pub station: &'static str,
    pub place: Place,
    pub fittings: Fittings,
    /// The faults of the first building for a station started at an instant.
    pub faults: fn(i64) -> Faults,
    pub planted: &'static [PlantedFault],
    /// All equipment of a building; building 0 has the planted faults.
    pub equipment: fn(usize) -> Vec<Equipment>,
    /// Display name of a driver's network.
    pub network: fn(Driver) -> &'static str,
    /// First word of the folders of added buildings.
    pub building_word: &'static str,
    /// Maker and model of the controllers on the building network.
    pub controller: (&'static str, &'static str),
    /// Alarm classes with their priorities.
    pub alarm_classes: &'static [(&'static str, i32)],
    /// The alarm class that alarms of an equipment go to.
    pub alarm_class: fn(&Equipment) -> &'static str,
    pub alarm_texts: &'static AlarmTexts,
    /// Equipment on whose controller the operator account may work.
    pub operators_unit: &'static str,
    /// Adds schedules, logic and oddities to the first building.
    pub finish: fn(&mut TreeBuilder, &[PlacedEquipment]) -> Result<(), ModelError>,
}

/// Messages that the site's engineer wrote into alarm extensions, and the note of an operator.
pub struct AlarmTexts {
    pub out_of_range: &'static str,
    pub state: &'static str,
    pub fault: &'static str,
    pub alert: &'static str,
    pub note: &'static str,
}

/// A planted fault as the truth model tells it.
pub struct PlantedFault {
    pub name: &'static str,
    pub window: fn(&Faults) -> Window,
    pub equipment: &'static [&'static str],
    /// CAMBER rules that should see it.
    pub rules: &'static [&'static str],
    /// Equipment where it shows as well.
    pub neighbours: &'static [&'static str],
}
