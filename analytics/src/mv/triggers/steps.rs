//! Steps of a meter against the projection of its frozen baseline (M&V §10.1).

use crate::mv::statistics::lag_one;
use crate::numeric::{mad, mean, round, share_of, std_sample};
use crate::run_config::mv_rebaseline::BillScan;

/// A penalty of three per change and logarithm of the rows finds no step in noise.
const PENALTY: f64 = 3.0;
/// Rounds in which the search learns how the residuals scatter.
const ROUNDS: usize = 3;
/// A search that finds more steps than this is made stricter until it does not.
const MOST_STEPS: usize = 5;
const STRICTER_BY: f64 = 1.5;
/// Standard deviations in a median absolute deviation of normal noise.
const DEVIATIONS_PER_MAD: f64 = 1.4826;
/// Below this variance nothing varies.
const NO_VARIANCE: f64 = 1e-18;

/// A step of the meter against its projection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step {
    pub day: i64,
    /// Of the projection.
    pub share: f64,
    /// Energy a day.
    pub size: f64,
    pub error: f64,
    pub z: f64,
}

/// How far one row leaves the projection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct StepRow {
    /// Its first midnight.
    pub day: i64,
    /// Share of the projection.
    pub deviation: f64,
    /// Energy a day.
    pub projected: f64,
    /// Days of the row.
    pub days: f64,
}

/// Steps in days, each side of which has so many rows.
pub(super) fn of_days(rows: &[StepRow], least: usize) -> Vec<Step> {
    let deviations: Vec<f64> = rows.iter().map(|row| row.deviation).collect();
    let days: Vec<i64> = rows.iter().map(|row| row.day).collect();
    let Some((changes, variance)) = changes(&days, &deviations, least) else {
        return Vec::new();
    };
    let mut bounds = vec![0];
    bounds.extend(&changes);
    bounds.push(rows.len());
    let segments: Vec<&[StepRow]> = bounds
        .windows(2)
        .filter_map(|pair| rows.get(*pair.first()?..*pair.last()?))
        .collect();
    let mean_of = |segment: &[StepRow], part: fn(&StepRow) -> f64| {
        mean(&segment.iter().map(part).collect::<Vec<f64>>())
    };
    segments
        .windows(2)
        .filter_map(|pair| {
            let [before, after] = pair else {
                return None;
            };
            let share = mean_of(after, |row| row.deviation) - mean_of(before, |row| row.deviation);
            let rows = 1.0 / share_of(before.len()) + 1.0 / share_of(after.len());
            let error = (variance * rows).sqrt();
            let level = mean_of(after, |row| row.projected);
            Some(Step::of(after.first()?.day, share, error, level))
        })
        .collect()
}

/// The step in bills whose two sides differ most by Student's t, where that passes the threshold. A bill counts by the energy
/// that is projected for it.
pub(super) fn of_bills(rows: &[StepRow], scan: BillScan) -> Option<Step> {
    let n = rows.len();
    let total: f64 = rows.iter().map(weight).sum();
    let scale = share_of(n) / total;
    let days: Vec<i64> = rows.iter().map(|row| row.day).collect();
    let mut best: Option<(f64, Step)> = None;
    for split in scan.min_run..=n.checked_sub(scan.min_run)? {
        let (before, after) = rows.split_at_checked(split)?;
        let (low, high) = (level(before), level(after));
        let residuals: Vec<f64> = before
            .iter()
            .map(|row| row.deviation - low)
            .chain(after.iter().map(|row| row.deviation - high))
            .collect();
        let squares = rows.iter().zip(&residuals);
        let sse: f64 = squares
            .map(|(row, rest)| weight(row) * scale * rest * rest)
            .sum();
        let rho = lag_one(&days, &residuals).unwrap_or(0.0);
        let variance = (1.0 + rho) / (1.0 - rho) * sse / share_of(n.checked_sub(2)?);
        let sum = |side: &[StepRow]| side.iter().map(weight).sum::<f64>() * scale;
        let error = (variance * (1.0 / sum(before) + 1.0 / sum(after))).sqrt();
        let share = high - low;
        let t = (share / error).abs();
        let of_after: f64 = after.iter().map(|row| row.days).sum();
        let projected = after
            .iter()
            .map(|row| row.projected * row.days)
            .sum::<f64>()
            / of_after;
        if t > best.map_or(0.0, |(most, _)| most) {
            best = Some((t, Step::of(after.first()?.day, share, error, projected)));
        }
    }
    best.filter(|(t, _)| *t >= scan.threshold && t.is_finite())
        .map(|(_, step)| step)
}

fn weight(row: &StepRow) -> f64 {
    row.projected * row.days
}

/// Mean deviation of bills.
fn level(rows: &[StepRow]) -> f64 {
    let all: f64 = rows.iter().map(weight).sum();
    rows.iter()
        .map(|row| weight(row) * row.deviation)
        .sum::<f64>()
        / all
}

impl Step {
    fn of(day: i64, share: f64, error: f64, level: f64) -> Self {
        Self {
            day,
            share: round(share, 4),
            size: round(share * level, 4),
            error: round(error * level, 4),
            z: round(share / error, 2),
        }
    }
}

/// Where the level of a series changes, and the variance of its residuals widened for autocorrelation; none for too few
/// rows, or when nothing varies.
fn changes(days: &[i64], values: &[f64], least: usize) -> Option<(Vec<usize>, f64)> {
    let least = least.max(1);
    let n = values.len();
    if n < 2 * least {
        return None;
    }
    let differences: Vec<f64> = values
        .windows(2)
        .filter_map(|pair| Some(pair.last()? - pair.first()?))
        .collect();
    let mut variance = (DEVIATIONS_PER_MAD * mad(&differences)).powi(2) / 2.0;
    if !(variance > NO_VARIANCE) {
        variance = std_sample(values).powi(2);
    }
    if !(variance > NO_VARIANCE) {
        return None;
    }
    let usual = PENALTY * share_of(n).ln();
    let mut found = few_changes(values, variance, usual, least);
    let mut widened = variance;
    for _ in 0..ROUNDS {
        let residuals = residuals(values, &found);
        let free = n.saturating_sub(found.len() + 1);
        let sse: f64 = residuals.iter().map(|residual| residual * residual).sum();
        let rho = lag_one(days, &residuals).unwrap_or(0.0);
        widened = sse / share_of(free) * (1.0 + rho) / (1.0 - rho);
        if !(widened > NO_VARIANCE) || !widened.is_finite() {
            return None;
        }
        let next = few_changes(values, widened, usual, least);
        if next == found {
            break;
        }
        found = next;
    }
    Some((found, widened))
}

/// Changes with a penalty that leaves only a few of them.
fn few_changes(values: &[f64], variance: f64, penalty: f64, least: usize) -> Vec<usize> {
    let mut penalty = penalty;
    let mut found = partition(values, variance, penalty, least);
    while found.len() > MOST_STEPS && penalty.is_finite() {
        penalty *= STRICTER_BY;
        found = partition(values, variance, penalty, least);
    }
    found
}

fn residuals(values: &[f64], changes: &[usize]) -> Vec<f64> {
    let mut bounds = vec![0];
    bounds.extend(changes);
    bounds.push(values.len());
    bounds
        .windows(2)
        .filter_map(|pair| values.get(*pair.first()?..*pair.last()?))
        .flat_map(|segment| {
            let level = mean(segment);
            segment.iter().map(move |value| value - level)
        })
        .collect()
}

/// The changes of level with the least cost: squared residuals over the variance, and a penalty for each change.
fn partition(values: &[f64], variance: f64, penalty: f64, least: usize) -> Vec<usize> {
    let n = values.len();
    let mut sums = vec![0.0];
    let mut squares = vec![0.0];
    let (mut sum, mut square) = (0.0, 0.0);
    for value in values {
        sum += value;
        square += value * value;
        sums.push(sum);
        squares.push(square);
    }
    let of = |series: &[f64], place: usize| series.get(place).copied().unwrap_or(f64::NAN);
    let cost = |from: usize, to: usize| {
        let sum = of(&sums, to) - of(&sums, from);
        (of(&squares, to) - of(&squares, from) - sum * sum / share_of(to - from)) / variance
    };
    // The least cost of the first rows, and where the last segment of it begins.
    let mut best: Vec<(f64, usize)> = vec![(-penalty, 0)];
    for to in 1..=n {
        let starts = (0..=to.saturating_sub(least)).filter(|from| to - from >= least);
        let cheapest = starts
            .filter_map(|from| {
                let (before, _) = best.get(from)?;
                let total = before + cost(from, to) + penalty;
                total.is_finite().then_some((total, from))
            })
            .reduce(|best, next| if next.0 < best.0 { next } else { best });
        best.push(cheapest.unwrap_or((f64::INFINITY, 0)));
    }
    let mut changes = Vec::new();
    let mut end = n;
    while let Some((_, from)) = best.get(end).copied()
        && from > 0
        && from < end
    {
        changes.push(from);
        end = from;
    }
    changes.reverse();
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mv::testing::since_2023;

    fn rows(level: impl Fn(usize) -> f64) -> Vec<StepRow> {
        (0..200_u32)
            .map(|day| {
                let place = usize::try_from(day).unwrap();
                let noise = 0.02 * (1.7 * f64::from(day)).sin();
                StepRow {
                    day: since_2023(place),
                    deviation: level(place) + noise,
                    projected: 1000.0,
                    days: 1.0,
                }
            })
            .collect()
    }

    #[test]
    fn a_step_is_found_where_it_is() {
        let found = of_days(&rows(|day| if day < 120 { 0.0 } else { 0.15 }), 28);
        let [step] = found[..] else {
            panic!("one step: {found:?}");
        };
        assert_eq!(step.day, since_2023(120));
        assert_eq!(round(step.share, 2), 0.15);
        assert!(step.size > 145.0 && step.size < 155.0 && step.z > 30.0);
    }

    #[test]
    fn noise_has_no_step_and_two_weeks_are_none() {
        assert!(of_days(&rows(|_| 0.0), 28).is_empty());
        assert!(of_days(&rows(|_| 0.0)[..50], 28).is_empty());
        let flat = StepRow {
            day: 0,
            deviation: 0.1,
            projected: 1.0,
            days: 1.0,
        };
        let flat: Vec<StepRow> = (0..100)
            .map(|day| StepRow {
                day: since_2023(day),
                ..flat
            })
            .collect();
        assert!(of_days(&flat, 28).is_empty());
    }

    #[test]
    fn an_event_begins_and_ends() {
        let event = |day: usize| if (80..130).contains(&day) { -0.2 } else { 0.0 };
        let days: Vec<i64> = of_days(&rows(event), 28)
            .iter()
            .map(|step| step.day)
            .collect();
        assert_eq!(days, [since_2023(80), since_2023(130)]);
    }

    /// Bills of months, by how far each leaves a projection that is higher in winter.
    fn bills(deviations: &[f64]) -> Vec<StepRow> {
        let deviations = deviations.iter().enumerate();
        deviations
            .map(|(month, deviation)| StepRow {
                day: since_2023(month * 30),
                deviation: *deviation,
                projected: if month % 12 < 6 { 50.0 } else { 100.0 },
                days: 30.0,
            })
            .collect()
    }

    #[test]
    fn a_step_in_bills_is_where_both_sides_differ_most() {
        let noise = [0.01, -0.02, 0.0, 0.02, -0.01, 0.01];
        let stepped = |rise: f64| {
            let after = noise.map(|value| value + rise);
            bills(&[noise, after].concat())
        };
        let step = of_bills(&stepped(0.2), BillScan::default()).unwrap();
        assert_eq!((step.day, round(step.share, 2)), (since_2023(180), 0.2));
        // A fifth of the hundred a day of the second half.
        assert_eq!(round(step.size, 0), 20.0);
        assert!(step.z > 10.0);
        let small = stepped(0.02);
        assert_eq!(of_bills(&small, BillScan::default()), None);
        let bold = BillScan {
            threshold: 1.0,
            ..BillScan::default()
        };
        assert!(of_bills(&small, bold).is_some());
        assert_eq!(of_bills(&stepped(0.2)[..11], BillScan::default()), None);
        assert_eq!(of_bills(&[], BillScan::default()), None);
    }
}
