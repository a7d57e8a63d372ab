//! A measurement that shows another one's value (Engine §3.6.1).

use std::ops::Range;

use super::{Mark, columns_where};
use crate::frame::RoleFrame;
use crate::numeric;
use crate::trust::quality::part_of;
use crate::wall_clock::DAY;

/// So many changing samples in common are no coincidence.
const FEWEST: usize = 24;
/// Samples that a level needs.
const FEWEST_OF_LEVEL: usize = 12;
/// How far a level reaches from the end of a copy.
const LEVEL: i64 = 7 * DAY;

/// Two points that show the same changing values.
pub(super) struct Copy {
    pub roles: [String; 2],
    /// Most changing samples in one run.
    longest: usize,
    /// Rows with both points in the runs that count.
    rows: usize,
    /// First and last stamp of these runs.
    ends: (i64, i64),
}

/// All copies, the longest first.
pub(super) fn copies(frame: &RoleFrame) -> Vec<Copy> {
    let measured: Vec<(&str, &[f64])> = columns_where(frame, |traits| traits.measured).collect();
    let mut found = Vec::new();
    for (place, one) in measured.iter().enumerate() {
        for other in measured.iter().skip(place + 1) {
            found.extend(copy(frame, *one, *other));
        }
    }
    found.sort_by_key(|copy: &Copy| std::cmp::Reverse(copy.longest));
    found
}

/// A run of equal samples.
#[derive(Default)]
struct Run {
    changing: usize,
    rows: usize,
    first: i64,
    last: i64,
}

fn copy(frame: &RoleFrame, one: (&str, &[f64]), other: (&str, &[f64])) -> Option<Copy> {
    let mut runs: Vec<Run> = Vec::new();
    let mut run = Run::default();
    let mut before = f64::NAN;
    for ((stamp, x), y) in frame.stamps.iter().zip(one.1).zip(other.1) {
        if x.is_nan() || y.is_nan() {
            continue;
        }
        let same = (x - y).abs() <= 1e-6 * x.abs().max(1.0);
        if same {
            if run.rows == 0 {
                run.first = *stamp;
            }
            run.last = *stamp;
            run.rows += 1;
            // The first row of all has no row before it and changes nothing.
            run.changing += usize::from(!before.is_nan() && *x != before);
        } else if run.rows > 0 {
            runs.push(std::mem::take(&mut run));
        }
        before = *x;
    }
    runs.push(run);
    runs.retain(|run| run.changing >= FEWEST);
    let (first, last) = (runs.first()?, runs.last()?);
    Some(Copy {
        roles: [one.0.to_owned(), other.0.to_owned()],
        longest: runs.iter().map(|run| run.changing).max().unwrap_or(0),
        rows: runs.iter().map(|run| run.rows).sum(),
        ends: (first.first, last.last),
    })
}

pub(super) fn marks(frame: &RoleFrame, copies: &[Copy]) -> Vec<Mark> {
    let mut marks = Vec::new();
    for copy in copies {
        let mark = |role: &str, with: &str, share, words: &str| Mark {
            role: role.to_owned(),
            check: "copied_signal",
            flag: "copied_signal",
            explanation: format!(
                "shows the values of {with} in {} samples; {words}",
                copy.rows
            ),
            share: Some(share),
        };
        let [one, other] = &copy.roles;
        match blame(frame, copy) {
            Some((copied, from)) => {
                let own = frame.column(copied).map_or(0, numeric::count);
                let words = "its own level jumps where that begins or ends, so it is the copy";
                marks.push(mark(copied, from, part_of(copy.rows, own), words));
            }
            None => {
                let words = "which of the two is the copy cannot be told";
                marks.push(mark(one, other, 0.0, words));
                marks.push(mark(other, one, 0.0, words));
            }
        }
    }
    marks
}

/// Which of the two is the copy, and of which: the one whose level jumps where the copy begins or ends.
fn blame<'a>(frame: &RoleFrame, copy: &'a Copy) -> Option<(&'a str, &'a str)> {
    let [one, other] = &copy.roles;
    let (begin, end) = copy.ends;
    // Stamps outside and inward of each end; the inward side is not cut where the copy ends.
    let sides = [
        (
            begin.saturating_sub(LEVEL)..begin,
            begin..begin.saturating_add(LEVEL).saturating_add(1),
        ),
        (
            end.saturating_add(1)..end.saturating_add(LEVEL).saturating_add(1),
            end.saturating_sub(LEVEL)..end.saturating_add(1),
        ),
    ];
    let (mut gap, mut move_one, mut move_other) = (0.0, 0.0, 0.0);
    for (outside, inward) in sides {
        let levels =
            |role: &str| Some((level(frame, role, &outside)?, level(frame, role, &inward)?));
        if let (Some(a), Some(b)) = (levels(one), levels(other)) {
            gap += (a.0 - b.0).abs();
            move_one += (a.1 - a.0).abs();
            move_other += (b.1 - b.0).abs();
        }
    }
    let is_copy = |own: f64, of_other: f64| gap > 0.0 && own >= 0.5 * gap && own >= 2.0 * of_other;
    if is_copy(move_one, move_other) {
        Some((one, other))
    } else if is_copy(move_other, move_one) {
        Some((other, one))
    } else {
        None
    }
}

fn level(frame: &RoleFrame, role: &str, stamps: &Range<i64>) -> Option<f64> {
    let rows = frame.stamps.partition_point(|stamp| *stamp < stamps.start)
        ..frame.stamps.partition_point(|stamp| *stamp < stamps.end);
    let mut present: Vec<f64> = numeric::present(frame.column(role)?.get(rows)?).collect();
    (present.len() >= FEWEST_OF_LEVEL).then(|| numeric::median_in_place(&mut present))
}
