//! All measurements of an equipment that stand still at once: the logger repeats itself (Engine §3.6 check 3).

use std::ops::Range;

use super::{Mark, columns_where};
use crate::frame::RoleFrame;
use crate::numeric;
use crate::roles;
use crate::trust::plant_gates::PlantGates;
use crate::trust::quality::part_of;
use crate::wall_clock::HOUR;

/// A shorter standstill is credible.
const HOURS: f64 = 12.0;

pub(super) fn all_points(frame: &RoleFrame, plant: &PlantGates) -> Vec<Mark> {
    let analog: Vec<(&str, &[f64])> = columns_where(frame, |traits| traits.analog)
        .filter(|(_, values)| varies(values))
        .collect();
    if analog.len() < 2 || frame.len() < 3 {
        return Vec::new();
    }
    let may_rest = analog.iter().any(|(role, _)| plant.of_role(role).is_some());
    let step = numeric::median_step(&frame.stamps).unwrap_or(0.0);
    let mut intervals = standstills(frame, &analog, step);
    if may_rest {
        intervals.retain(|rows| plant.run_within(rows.clone()));
    }
    if intervals.is_empty() {
        return Vec::new();
    }
    let rows: usize = intervals.iter().map(ExactSizeIterator::len).sum();
    let longest = intervals
        .iter()
        .map(|rows| hours(frame, rows, step))
        .fold(0.0, f64::max);
    let frozen = frame.columns.iter().filter(|(role, values)| {
        analog.iter().any(|(known, _)| known == role)
            || (roles::role(role).is_some()
                && varies(values)
                && intervals.iter().all(|rows| is_constant(values, rows)))
    });
    frozen
        .map(|(role, _)| Mark {
            role: role.clone(),
            check: "all_points_frozen",
            flag: "all_points_frozen",
            explanation: format!(
                "all varying measurements of the equipment stand still together in {} spans, the longest of {} h",
                intervals.len(),
                numeric::round(longest, 1)
            ),
            share: Some(part_of(rows, frame.len())),
        })
        .collect()
}

fn varies(values: &[f64]) -> bool {
    let mut present = numeric::present(values);
    let Some(first) = present.next() else {
        return false;
    };
    present.any(|value| value != first)
}

fn is_constant(values: &[f64], rows: &Range<usize>) -> bool {
    let Some(span) = values.get(rows.clone()) else {
        return false;
    };
    // NaN is unequal to everything, also to itself.
    span.first()
        .is_some_and(|first| span.iter().all(|value| value == first))
}

/// Spans of rows in which no column changes and none is missing, long enough to be one.
fn standstills(frame: &RoleFrame, columns: &[(&str, &[f64])], step: f64) -> Vec<Range<usize>> {
    let mut still = vec![true; frame.len()];
    for (_, values) in columns {
        let pairs = values.iter().zip(values.iter().skip(1));
        for (still, (before, value)) in still.iter_mut().skip(1).zip(pairs) {
            *still &= before == value;
        }
    }
    let mut intervals = Vec::new();
    let mut start = 0;
    // The first row has none before it; each span begins at the row that the following ones repeat.
    for (row, still) in still.iter().enumerate().skip(1) {
        if !still {
            intervals.push(start..row);
            start = row;
        }
    }
    intervals.push(start..frame.len());
    intervals.retain(|rows| rows.len() > 1 && hours(frame, rows, step) >= HOURS);
    intervals
}

/// `step`: the usual one of the frame, in nanoseconds.
fn hours(frame: &RoleFrame, rows: &Range<usize>, step: f64) -> f64 {
    let span = frame.stamps.get(rows.clone()).unwrap_or_default();
    let (Some(first), Some(last)) = (span.first(), span.last()) else {
        return 0.0;
    };
    (numeric::nanos(last.saturating_sub(*first)) + step) / numeric::nanos(HOUR)
}
