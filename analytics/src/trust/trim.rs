//! The span that a point is judged over: from its first sample, without rows far away from the rest (Engine §3.3 steps 1
//! to 3).

use std::ops::Range;

use super::quality::{Series, fraction, part_of};
use crate::numeric;
use crate::wall_clock::DAY;

/// Rows far away from the rest of a trend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stray {
    /// First and last sample of the rest, nanoseconds of the site's wall clock.
    pub main_start: i64,
    pub main_end: i64,
    /// Samples that were left out.
    pub samples: usize,
}

/// The span of a point.
pub(super) struct OwnSpan {
    pub rows: Range<usize>,
    pub flags: Vec<&'static str>,
    pub first_valid: Option<i64>,
    pub window_coverage: f64,
    pub stray: Option<Stray>,
}

/// The rows that a point is judged over.
pub(super) fn own_span(series: Series<'_>) -> OwnSpan {
    let total = series.values.len();
    let n = numeric::count(series.values);
    let mut span = OwnSpan {
        rows: 0..total,
        flags: Vec::new(),
        first_valid: series.present().next().map(|(stamp, _)| stamp),
        window_coverage: fraction(part_of(n, total)),
        stray: None,
    };
    let Some(lead) = series.values.iter().position(|value| !value.is_nan()) else {
        return span;
    };
    if part_of(lead, total) > 0.05 {
        span.flags.push("late_start");
    }
    span.rows.start = lead;
    cut_stray(series, &mut span, n);
    span
}

fn cut_stray(series: Series<'_>, span: &mut OwnSpan, n: usize) {
    if n < 3 {
        return;
    }
    let Some(gap) = longest_gap(series) else {
        return;
    };
    let whole = gap.last.saturating_sub(gap.first);
    let length = gap.after.1.saturating_sub(gap.before.1);
    if length < 30 * DAY || numeric::nanos(length) < 0.20 * numeric::nanos(whole) {
        return;
    }
    let behind = n - gap.samples_before;
    let few = |samples: usize| part_of(samples, n) <= 0.01;
    let (flag, main_start, main_end, samples) = if few(gap.samples_before) {
        span.rows.start = gap.after.0;
        ("stray_lead", gap.after.1, gap.last, gap.samples_before)
    } else if few(behind) {
        span.rows.end = gap.before.0 + 1;
        ("stray_tail", gap.first, gap.before.1, behind)
    } else {
        return;
    };
    span.flags.push(flag);
    span.stray = Some(Stray {
        main_start,
        main_end,
        samples,
    });
}

/// The longest gap between samples: row and stamp on either side.
struct LongestGap {
    before: (usize, i64),
    after: (usize, i64),
    samples_before: usize,
    first: i64,
    last: i64,
}

fn longest_gap(series: Series<'_>) -> Option<LongestGap> {
    let rows = series.stamps.iter().copied().zip(series.values).enumerate();
    let mut samples = rows
        .filter(|(_, (_, value))| !value.is_nan())
        .map(|(row, (stamp, _))| (row, stamp));
    let first = samples.next()?;
    let mut before = first;
    let mut longest: Option<LongestGap> = None;
    let mut length = -1;
    for (number, after) in samples.enumerate() {
        let gap = after.1.saturating_sub(before.1);
        if gap > length {
            length = gap;
            longest = Some(LongestGap {
                before,
                after,
                samples_before: number + 1,
                first: first.1,
                last: 0,
            });
        }
        before = after;
    }
    longest.map(|gap| LongestGap {
        last: before.1,
        ..gap
    })
}
