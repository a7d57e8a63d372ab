//! What goes wrong with data rather than with equipment: bad status, gaps, duplicates and flagged records.

use super::sim::calendar::{DAY_MS, HOUR_MS};
use super::sim::noise::hash;
use crate::model::Status;
use crate::model::history::trend_flags;

/// One point in so many has a flaw of each kind.
const FLAWED_ONE_IN: u64 = 12;
/// A flawed point is bad for one hour in so many.
const BAD_HOUR_ONE_IN: u64 = 350;
/// A controller stops recording for a night about once in so many days.
const GAP_ONE_IN_DAYS: u64 = 110;
const GAP_START_MS: i64 = 6 * HOUR_MS;
const GAP_END_MS: i64 = 10 * HOUR_MS;
const DUPLICATE_ONE_IN: u64 = 2_500;
const FLAGGED_ONE_IN: u64 = 3_000;

/// The data quality of one point; a pure function of time.
#[derive(Clone, Copy, Debug)]
pub struct Quality {
    seed: u64,
    device_seed: u64,
    /// Status bits that the point shows in its bad hours.
    flaw: u32,
    duplicates: bool,
}

impl Quality {
    /// Quality of a point that hashes to `seed` on a controller that hashes to `device_seed`.
    pub fn new(seed: u64, device_seed: u64) -> Self {
        let flaw = match hash(seed, 71) % (4 * FLAWED_ONE_IN) {
            0 => Status::DOWN | Status::STALE,
            1 => Status::FAULT,
            2 => Status::STALE,
            3 => Status::NULL,
            _ => 0,
        };
        Self {
            seed,
            device_seed,
            flaw,
            duplicates: hash(seed, 72).is_multiple_of(FLAWED_ONE_IN),
        }
    }

    /// Status bits of the driver at an instant.
    pub fn status(&self, epoch_ms: i64) -> u32 {
        if self.flaw != 0
            && hash(self.seed ^ 0x71, epoch_ms.div_euclid(HOUR_MS)).is_multiple_of(BAD_HOUR_ONE_IN)
        {
            self.flaw
        } else {
            0
        }
    }

    /// Whether the history has no record at an instant because its controller was off.
    pub fn missing(&self, epoch_ms: i64) -> bool {
        let within = epoch_ms.rem_euclid(DAY_MS);
        (GAP_START_MS..GAP_END_MS).contains(&within)
            && hash(self.device_seed ^ 0x73, epoch_ms.div_euclid(DAY_MS))
                .is_multiple_of(GAP_ONE_IN_DAYS)
    }

    /// Trend flags of the record at an instant, apart from the start flag.
    pub fn flags(&self, epoch_ms: i64) -> u8 {
        if !self.duplicates {
            return 0;
        }
        match hash(self.seed ^ 0x74, epoch_ms) % FLAGGED_ONE_IN {
            0 => trend_flags::HIDDEN,
            1 => trend_flags::OUT_OF_ORDER,
            2 => trend_flags::MODIFIED,
            _ => 0,
        }
    }

    /// Whether the record at an instant was written twice.
    pub fn duplicated(&self, epoch_ms: i64) -> bool {
        self.duplicates && hash(self.seed ^ 0x75, epoch_ms).is_multiple_of(DUPLICATE_ONE_IN)
    }
}
