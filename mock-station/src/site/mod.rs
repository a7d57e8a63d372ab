//! The demo site "Harborview": an office of about 5,500 m² in New York.
//!
//! - [`sim`]: its physics, pure functions of seed and time.
//! - [`measure`], [`rows`], [`equipment`]: tables of what is measured, under which names, on which controllers.
//! - [`feed`], [`quality`]: live values and histories of the simulation, with the flaws of real data.
//! - [`tree`], [`logic`], [`alarms`], [`oddities`]: the component tree of the station.
//! - [`truth`]: what it all means, for tests.

pub mod alarms;
pub mod equipment;
pub mod feed;
pub mod logic;
pub mod measure;
pub mod oddities;
pub mod quality;
pub mod rows;
pub mod sim;
pub mod tree;
pub mod truth;

#[cfg(test)]
mod tests;

use crate::model::{ModelError, Station, accounts};
use chrono::{DateTime, Utc};
use sim::building::Building;
use sim::cache::SiteClimate;
use sim::calendar::DAY_MS;
use sim::faults::Faults;
use sim::noise::hash;
use std::sync::Arc;
use tree::{PlacedEquipment, TreeBuilder};
use truth::Truth;

/// Ten years of history: more would make counting records slow.
pub const MOST_DAYS: u32 = 3_660;
/// Larger sites would need gigabytes of memory.
pub const MOST_POINTS: usize = 100_000;

/// How the demo site is built.
#[derive(Clone, Copy, Debug)]
pub struct SiteOptions {
    pub seed: u64,
    /// Days of history before `now`, at most [`MOST_DAYS`].
    pub days: u32,
    /// Points to reach by adding buildings, at most [`MOST_POINTS`]; 0 builds Harborview alone.
    pub points: usize,
    /// The station's time at start. Planted faults and meter registers are counted from its month.
    pub now: DateTime<Utc>,
    /// SCRAM iterations of the accounts.
    pub iterations: u32,
}

impl SiteOptions {
    /// The demo site as it is shown: seed 42, 400 days of history.
    pub fn at(now: DateTime<Utc>) -> Self {
        Self {
            seed: 42,
            days: 400,
            points: 0,
            now,
            iterations: accounts::STATION_ITERATIONS,
        }
    }

    /// The same with few password iterations, for tests.
    pub fn for_tests(now: DateTime<Utc>) -> Self {
        Self {
            iterations: accounts::TEST_ITERATIONS,
            ..Self::at(now)
        }
    }
}

/// The built site.
pub struct Harborview {
    pub station: Station,
    pub truth: Truth,
    /// The buildings of the simulation; the first is Harborview with its planted faults.
    pub buildings: Vec<Arc<Building>>,
    /// Every simulated point in the tree.
    pub placed: Vec<PlacedEquipment>,
}

impl Harborview {
    /// Builds the station.
    pub fn build(options: SiteOptions) -> Result<Self, ModelError> {
        let anchor = options.now.timestamp_millis();
        let mut station = Station::new("Harborview", chrono_tz::America::New_York, options.now);
        station.add_accounts(options.iterations)?;
        alarms::add_classes(&mut station)?;
        let climate = Arc::new(SiteClimate::new(options.seed));
        let faults = Faults::planted(anchor);
        let mut builder = TreeBuilder::new(
            &mut station,
            anchor - i64::from(options.days.min(MOST_DAYS)) * DAY_MS,
        );
        let mut buildings = Vec::new();
        let mut placed: Vec<PlacedEquipment> = Vec::new();
        loop {
            let number = buildings.len();
            let (seed, faults) = if number == 0 {
                (options.seed, faults)
            } else {
                (hash(options.seed, number as i64), Faults::none())
            };
            let building = Arc::new(Building::new(seed, Arc::clone(&climate), faults, anchor));
            let before: usize = placed.iter().map(|equipment| equipment.points.len()).sum();
            for equipment in equipment::of_building(number) {
                placed.push(builder.equipment(number, &building, equipment)?);
            }
            buildings.push(building);
            let total: usize = placed.iter().map(|equipment| equipment.points.len()).sum();
            // Another building only if it brings the total nearer to what was asked for.
            if total + (total - before) / 2 > options.points.min(MOST_POINTS) {
                break;
            }
        }
        logic::add(&mut builder, &placed)?;
        oddities::add(&mut builder, &placed)?;
        give_operator_ahu1(&mut station, &placed)?;
        alarms::add_records(&mut station, options.seed, options.now, &placed)?;
        let truth = Truth::describe(&station, &placed, &faults);
        Ok(Self {
            station,
            truth,
            buildings,
            placed,
        })
    }
}

/// The operator account works on AHU-1 only.
fn give_operator_ahu1(station: &mut Station, placed: &[PlacedEquipment]) -> Result<(), ModelError> {
    let mask = station.users.category_mask(accounts::AHU1_CATEGORY);
    match placed
        .iter()
        .find(|equipment| equipment.equipment.id == "AHU-1")
    {
        Some(unit) => station.set_categories(unit.device, mask),
        None => Ok(()),
    }
}
