//! Day blocks of what is shared by many points, so that a year of any point is read in milliseconds.

use super::air_handler::AirDemand;
use super::calendar::{DAY_MS, QUARTER_MS};
use super::context::Context;
use super::place::Place;
use std::collections::HashMap;
use std::sync::{Arc, RwLock};

pub const QUARTERS: usize = 96;

/// Loads of one building that its plants and meters answer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PlantLoads {
    /// Btu/h on chilled water.
    pub cooling: f32,
    /// Btu/h on hot water.
    pub heating: f32,
    /// kW of air-handler fans.
    pub fans: f32,
}

/// Air-side results of a building for the 96 quarters of one UTC day.
#[derive(Debug)]
pub struct AirBlock {
    pub demand: Vec<[AirDemand; 3]>,
    pub loads: Vec<PlantLoads>,
}

/// Blocks by UTC day number; readers share, a missing block is built outside the lock.
#[derive(Debug)]
pub struct DayCache<T> {
    blocks: RwLock<HashMap<i64, Arc<T>>>,
}

impl<T> Default for DayCache<T> {
    fn default() -> Self {
        Self {
            blocks: RwLock::new(HashMap::new()),
        }
    }
}

impl<T> DayCache<T> {
    pub fn get(&self, day: i64, build: impl FnOnce() -> T) -> Arc<T> {
        // A poisoned lock only means that another reader panicked; the map itself is never half-written.
        if let Some(block) = self
            .blocks
            .read()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .get(&day)
        {
            return Arc::clone(block);
        }
        let built = Arc::new(build());
        let mut blocks = self
            .blocks
            .write()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        Arc::clone(blocks.entry(day).or_insert(built))
    }
}

/// UTC day and quarter of an instant, if it lies exactly on a quarter of an hour.
pub fn quarter_of(epoch_ms: i64) -> Option<(i64, usize)> {
    let within = epoch_ms.rem_euclid(DAY_MS);
    (within % QUARTER_MS == 0)
        .then_some((epoch_ms.div_euclid(DAY_MS), (within / QUARTER_MS) as usize))
}

/// Weather and occupancy of the whole site, shared by all buildings.
#[derive(Debug)]
pub struct SiteClimate {
    place: Place,
    seed: u64,
    blocks: DayCache<Vec<Context>>,
}

impl SiteClimate {
    pub fn new(place: Place, seed: u64) -> Self {
        Self {
            place,
            seed,
            blocks: DayCache::default(),
        }
    }

    pub fn place(&self) -> Place {
        self.place
    }

    pub fn day(&self, day: i64) -> Arc<Vec<Context>> {
        self.blocks.get(day, || {
            (0..QUARTERS as i64)
                .map(|quarter| {
                    Context::at(self.place, self.seed, day * DAY_MS + quarter * QUARTER_MS)
                })
                .collect()
        })
    }

    pub fn at(&self, epoch_ms: i64) -> Context {
        match quarter_of(epoch_ms) {
            Some((day, quarter)) => match self.day(day).get(quarter) {
                Some(context) => *context,
                None => Context::at(self.place, self.seed, epoch_ms),
            },
            None => Context::at(self.place, self.seed, epoch_ms),
        }
    }
}
