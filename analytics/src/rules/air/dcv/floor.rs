//! Outdoor air below what an air handler must bring in (Air rules §2.8, steps b and fan-off count).

use super::assess::Sample;
use crate::numeric;
use crate::wall_clock::HOUR;

/// Outdoor air below this share of the floor is below it.
pub(super) const BELOW: f64 = 0.9;

/// Samples below the floor. All shares are of the occupied samples with outdoor air and demand, in percent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FloorCheck {
    pub total_pct: f64,
    /// With the fan running, where its speed tells.
    pub running_pct: f64,
    /// With the fan off by its speed; none without a speed.
    pub fan_off: Option<FanOff>,
    pub longest_hours: f64,
    pub longest_start: Option<i64>,
    pub longest_fan_off_hours: f64,
    pub below_rows: Vec<usize>,
    pub judged_rows: Vec<usize>,
}

/// Occupied time with the fan off and too little outdoor air.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FanOff {
    pub pct: f64,
    pub hours: f64,
}

impl FloorCheck {
    /// None without a sample. `fan_off`: by row of the frame; `step`: nanoseconds.
    pub(super) fn of(
        samples: &[Sample],
        stamps: &[i64],
        floor: f64,
        fan_off: Option<&[bool]>,
        step: f64,
    ) -> Option<Self> {
        if samples.is_empty() {
            return None;
        }
        let hour = step / numeric::nanos(HOUR);
        let is_off = |row: usize| fan_off.is_some_and(|off| off.get(row).copied().unwrap_or(false));
        let percent = |hits: usize| numeric::round(numeric::percent_of(hits, samples.len()), 1);
        let is_below = |sample: &Sample| sample.oa < floor * BELOW;
        let below_rows: Vec<usize> = samples
            .iter()
            .filter(|sample| is_below(sample))
            .map(|sample| sample.row)
            .collect();
        let n_off = below_rows.iter().filter(|row| is_off(**row)).count();
        let longest =
            samples
                .split(|sample| !is_below(sample))
                .fold(&samples[..0], |longest, run| {
                    if run.len() > longest.len() {
                        run
                    } else {
                        longest
                    }
                });
        let longest_off = longest.iter().filter(|sample| is_off(sample.row)).count();
        let hours = |count: usize| numeric::round(numeric::share_of(count) * hour, 1);
        Some(Self {
            total_pct: percent(below_rows.len()),
            running_pct: percent(below_rows.len() - n_off),
            fan_off: fan_off.map(|_| FanOff {
                pct: percent(n_off),
                hours: hours(n_off),
            }),
            longest_hours: hours(longest.len()),
            longest_start: longest
                .first()
                .and_then(|sample| stamps.get(sample.row).copied()),
            longest_fan_off_hours: hours(longest_off),
            below_rows,
            judged_rows: samples.iter().map(|sample| sample.row).collect(),
        })
    }
}
