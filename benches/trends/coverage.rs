//! Coverage of a facility by the rules of the capability of that name (Core §12.3), from runs of stamps.

use std::collections::{BTreeSet, HashMap};
use std::num::NonZeroUsize;

use niagara_bridge::trends::store::{FacilityId, ScanOptions, StampRuns, TrendStore, wall_clock};

/// What was found.
pub struct Found {
    pub points: usize,
    sum: f64,
}

impl Found {
    /// Mean over all points.
    pub fn mean(&self) -> f64 {
        self.sum / self.points as f64
    }
}

/// Reads every stamp of the facility, or of some of its equipment.
pub fn of(
    store: &TrendStore,
    facility: &FacilityId,
    equips: Option<&BTreeSet<String>>,
    threads: NonZeroUsize,
) -> Found {
    let options = ScanOptions {
        equips,
        threads,
        ..ScanOptions::default()
    };
    let all = store
        .read(facility, |view| view.stamps(&options))
        .expect("a scan");
    let stamps = || all.iter().map(|point| &point.stamps);
    let first = stamps().filter_map(StampRuns::first).min().unwrap_or(0);
    let last = stamps().filter_map(StampRuns::last).max().unwrap_or(0);
    Found {
        points: all.len(),
        sum: stamps().map(|stamps| share(stamps, first, last)).sum(),
    }
}

fn share(stamps: &StampRuns, first: i64, last: i64) -> f64 {
    let mut times: HashMap<i64, u64> = HashMap::new();
    for (step, count) in stamps.differences() {
        *times.entry(step).or_default() += count;
    }
    let step = times
        .iter()
        .max_by_key(|(step, count)| (**count, std::cmp::Reverse(**step)))
        .map_or(wall_clock::HOUR, |(step, _)| *step);
    let gaps = stamps.leaps(step + step / 2).count();
    std::hint::black_box(gaps);
    let expected = (last - first) / step + 1;
    (stamps.len() as f64 / expected as f64).min(1.0)
}
