//! The demo sites: an office of about 5,500 m² in New York and another on Lake Constance.
//!
//! - [`sim`]: their physics, pure functions of seed and time.
//! - [`harborview`], [`lakeside`]: what each site has, under which names, and what is wrong with it.
//! - [`plan`]: the form of such a description; [`equipment`], [`row`], [`measure`]: its parts.
//! - [`feed`], [`quality`]: live values and histories of the simulation, with the flaws of real data.
//! - [`tree`], [`logic`], [`extras`], [`alarms`]: the component tree of the station.
//! - [`truth`]: what it all means, for tests.

pub mod alarms;
pub mod equipment;
pub mod extras;
pub mod feed;
pub mod harborview;
pub mod lakeside;
pub mod logic;
pub mod measure;
pub mod plan;
pub mod quality;
pub mod row;
pub mod sim;
pub mod tree;
pub mod truth;

pub use harborview::Harborview;
pub use lakeside::Lakeside;

use crate::model::{ModelError, Station, accounts};
use chrono::{DateTime, Utc};
use plan::Plan;
use sim::Faults;
use sim::building::Building;
use sim::cache::SiteClimate;
use sim::calendar::DAY_MS;
use sim::noise::hash;
use std::sync::Arc;
use tree::{PlacedEquipment, TreeBuilder};
use truth::Truth;

/// Ten years of history: more would make counting records slow.
pub const MOST_DAYS: u32 = 3_660;
/// Larger sites would need gigabytes of memory.
pub const MOST_POINTS: usize = 100_000;

/// The sites that can be built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum SiteName {
    /// New York; English names, mostly customary units.
    #[default]
    Harborview,
    /// Lake Constance; German names, metric units.
    Lakeside,
}

impl SiteName {
    fn plan(self) -> &'static Plan {
        match self {
            Self::Harborview => &harborview::PLAN,
            Self::Lakeside => &lakeside::PLAN,
        }
    }
}

/// How a site is built.
#[derive(Clone, Copy, Debug)]
pub struct SiteOptions {
    pub name: SiteName,
    pub seed: u64,
    /// Days of history before `now`, at most [`MOST_DAYS`].
    pub days: u32,
    /// Points to reach by adding buildings, at most [`MOST_POINTS`]; 0 builds the first one alone.
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
            name: SiteName::Harborview,
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

/// A built site.
pub struct Site {
    pub station: Station,
    pub truth: Truth,
    /// The buildings of the simulation; the first has the planted faults.
    pub buildings: Vec<Arc<Building>>,
    /// Every simulated point in the tree.
    pub placed: Vec<PlacedEquipment>,
}

impl Site {
    /// Builds the station of the site that the options name.
    pub fn build(options: SiteOptions) -> Result<Self, ModelError> {
        let plan = options.name.plan();
        let anchor = options.now.timestamp_millis();
        let mut station = Station::new(plan.station, plan.place.zone(), options.now);
        station.add_accounts(options.iterations)?;
        alarms::add_classes(&mut station, plan)?;
        let climate = Arc::new(SiteClimate::new(plan.place, options.seed));
        let faults = (plan.faults)(anchor);
        let mut builder = TreeBuilder::new(
            &mut station,
            plan,
            anchor - i64::from(options.days.min(MOST_DAYS)) * DAY_MS,
        );
        let mut buildings = Vec::new();
        let mut placed: Vec<PlacedEquipment> = Vec::new();
        let mut total = 0;
        loop {
            let number = buildings.len();
            let (seed, faults) = if number == 0 {
                (options.seed, faults)
            } else {
                (hash(options.seed, number as i64), Faults::none())
            };
            let climate = Arc::clone(&climate);
            let building = Building::new(seed, climate, faults, plan.fittings, anchor);
            let building = Arc::new(building);
            let before = total;
            for equipment in (plan.equipment)(number) {
                let equipment = builder.equipment(number, &building, equipment)?;
                total += equipment.points.len();
                placed.push(equipment);
            }
            buildings.push(building);
            // Another building only if it brings the total nearer to what was asked for.
            if total + (total - before) / 2 > options.points.min(MOST_POINTS) {
                break;
            }
        }
        (plan.finish)(&mut builder, &placed)?;
        give_operator_a_unit(&mut station, plan, &placed)?;
        alarms::add_records(&mut station, plan, options.seed, options.now, &placed)?;
        let truth = Truth::describe(plan, &station, &placed, &faults);
        Ok(Self {
            station,
            truth,
            buildings,
            placed,
        })
    }
}

/// The operator account works on one air handler only.
fn give_operator_a_unit(
    station: &mut Station,
    plan: &Plan,
    placed: &[PlacedEquipment],
) -> Result<(), ModelError> {
    let mask = station.users.category_mask(accounts::AHU1_CATEGORY);
    match placed
        .iter()
        .find(|equipment| equipment.equipment.id == plan.operators_unit)
    {
        Some(unit) => station.set_categories(unit.device, mask),
        None => Ok(()),
    }
}
