//! Runs of one value that last too long (Engine §3.5).

use super::point::{Point, StuckInterval};
use super::quality::Series;
use super::spread::magnitude;
use crate::numeric;
use crate::roles::TrustTraits;
use crate::wall_clock::HOUR;

/// What was found of the runs of one value.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct StuckRuns {
    /// None when runs were not judged.
    pub longest_hours: Option<f64>,
    pub intervals: Vec<StuckInterval>,
    /// Samples in the stuck runs.
    pub samples: usize,
}

/// One run of one value: the samples that count, and where the first and last of them lie.
#[derive(Debug, Clone, Copy)]
struct Run {
    value: f64,
    first: i64,
    last: i64,
    samples: usize,
}

/// The runs of a point that are longer than its role's limit.
pub(super) fn stuck_runs(point: &Point<'_>, traits: &TrustTraits) -> StuckRuns {
    let Some(limit) = traits.stuck_hours else {
        return StuckRuns::default();
    };
    let step = numeric::median_step(point.series.stamps).unwrap_or(0.0) / numeric::nanos(HOUR);
    let (mut runs, by_count) = if let Some(running) = point.running {
        (gated_only(point.series, running), true)
    } else if traits.fan_gated {
        // What hangs in still air says nothing: without a fan signal the run is not judged.
        match point.fan {
            Some(fan) => (held_through(point.series, fan), true),
            None => return StuckRuns::default(),
        }
    } else {
        (all(point.series), false)
    };
    if runs.is_empty() {
        return StuckRuns::default();
    }
    if traits.idle {
        let present: Vec<f64> = point.series.present().map(|(_, value)| value).collect();
        let rest = 0.02 * magnitude(&present);
        runs.retain(|run| rest != 0.0 && run.value.abs() > rest);
    }
    let hours = |run: &Run| {
        if by_count {
            numeric::share_of(run.samples) * step
        } else {
            numeric::nanos(run.last.saturating_sub(run.first)) / numeric::nanos(HOUR) + step
        }
    };
    let longest = runs.iter().map(hours).fold(0.0, f64::max);
    let stuck: Vec<&Run> = runs.iter().filter(|run| hours(run) > limit).collect();
    StuckRuns {
        longest_hours: Some(numeric::round(longest, 2)),
        samples: stuck.iter().map(|run| run.samples).sum(),
        intervals: stuck
            .iter()
            .map(|run| StuckInterval {
                start: run.first,
                end: run.last,
                hours: numeric::round(hours(run), 2),
                value: run.value,
            })
            .collect(),
    }
}

/// Runs over the samples; `counts` tells which of them count.
fn runs(samples: impl Iterator<Item = (i64, f64, bool)>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    // A run of which no sample counts yet still tells where the next value begins.
    let mut value = f64::NAN;
    let mut open = false;
    for (stamp, sample, counts) in samples {
        if sample != value {
            value = sample;
            open = false;
        }
        if !counts {
            continue;
        }
        match runs.last_mut().filter(|_| open) {
            Some(run) => {
                run.last = stamp;
                run.samples += 1;
            }
            None => {
                runs.push(Run {
                    value,
                    first: stamp,
                    last: stamp,
                    samples: 1,
                });
                open = true;
            }
        }
    }
    runs
}

fn all(series: Series<'_>) -> Vec<Run> {
    runs(series.present().map(|(stamp, value)| (stamp, value, true)))
}

/// Runs over the samples while the plant runs; its rests do not break them.
fn gated_only(series: Series<'_>, running: &[bool]) -> Vec<Run> {
    runs(
        with_gate(series, running)
            .filter(|(_, _, on)| *on)
            .map(|(stamp, value, _)| (stamp, value, true)),
    )
}

/// Runs over all samples of which those count that were taken while the fan ran: a value that changed in between broke it.
fn held_through(series: Series<'_>, fan: &[bool]) -> Vec<Run> {
    runs(with_gate(series, fan))
}

fn with_gate<'a>(
    series: Series<'a>,
    gate: &'a [bool],
) -> impl Iterator<Item = (i64, f64, bool)> + 'a {
    series
        .stamps
        .iter()
        .zip(series.values)
        .zip(gate)
        .filter(|((_, value), _)| !value.is_nan())
        .map(|((stamp, value), on)| (*stamp, *value, *on))
}
