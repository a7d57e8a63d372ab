//! Outliers within each operating mode, where a unit has no fan signal (Engine §3.4).

use super::quality::part_of;
use super::spread::{self, Spread};
use crate::frame::RoleFrame;
use crate::gates::percent;

/// Fewer samples of a mode are not judged.
const FEWEST: usize = 24;

/// Whether the unit works, per row; none where a signal has no sample.
pub(super) type Modes = Vec<Option<bool>>;

/// Modes of a unit without a fan signal: off while the outdoor damper and every valve are shut.
pub(super) fn inferred(frame: &RoleFrame) -> Option<Modes> {
    let damper = percent(frame.column("oa_damper")?);
    let valves: Vec<_> = ["heat_valve", "cool_valve"]
        .iter()
        .filter_map(|role| frame.column(role))
        .map(percent)
        .collect();
    if valves.is_empty() {
        return None;
    }
    let mut modes: Modes = damper
        .iter()
        .map(|position| (!position.is_nan()).then_some(*position > 2.0))
        .collect();
    for valve in &valves {
        for (mode, position) in modes.iter_mut().zip(valve.iter()) {
            *mode = match mode {
                Some(on) if !position.is_nan() => Some(*on || *position > 1.0),
                _ => None,
            };
        }
    }
    let count = |state| modes.iter().filter(|mode| **mode == Some(state)).count();
    let (off, on) = (count(false), count(true));
    (off >= FEWEST && on >= FEWEST && part_of(off, off + on) <= 0.60).then_some(modes)
}

/// Share of outliers within their mode; none below three samples, or when no mode has enough of them.
pub(super) fn outlier_share(
    values: &[f64],
    modes: &[Option<bool>],
    floor: Option<f64>,
) -> Option<f64> {
    let present: Vec<(f64, Option<bool>)> = values
        .iter()
        .copied()
        .zip(modes.iter().copied())
        .filter(|(value, _)| !value.is_nan())
        .collect();
    if present.len() < 3 {
        return None;
    }
    let all: Vec<f64> = present.iter().map(|(value, _)| *value).collect();
    let mut flagged = spread::shape_outliers(&all, &Spread::of(&all), floor);
    let mut judged = false;
    for state in [true, false] {
        let of_mode: Vec<f64> = present
            .iter()
            .filter(|(_, mode)| *mode == Some(state))
            .map(|(value, _)| *value)
            .collect();
        if of_mode.len() < FEWEST {
            continue;
        }
        judged = true;
        let outliers = spread::shape_outliers(&of_mode, &Spread::of(&of_mode), floor);
        let places = flagged
            .iter_mut()
            .zip(&present)
            .filter(|(_, (_, mode))| *mode == Some(state));
        for ((flag, _), outlier) in places.zip(outliers) {
            *flag = outlier;
        }
    }
    let outliers = flagged.iter().filter(|flag| **flag).count();
    judged.then(|| part_of(outliers, present.len()))
}
