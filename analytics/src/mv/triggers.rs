//! When a frozen baseline must be renewed (M&V §10).

use chrono::Months;

use super::coverage::{Coverage, CoverageTier, ExtrapolationPolicy};
use super::daily::DailyFrame;
use super::ledger::{Change, LedgerEntry, days_between};
use super::rows::{MvFinding, MvRule};
use super::statistics::lag_one;
use super::versioned::FrozenVersion;
use crate::finding::{Metrics, Severity, Verdict};
use crate::numeric::{mad, mean, round, share_of, std_sample};
use crate::run_config::mv_ledger::{Magnitude, RebaselinePolicy};
use crate::wall_clock::{DAY, date, stamp_of, time_of};

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

/// What is known when triggers are assessed.
pub struct Assessment<'a> {
    pub version: &'a FrozenVersion,
    /// Versions that were frozen after it.
    pub later: &'a [FrozenVersion],
    pub policy: &'a RebaselinePolicy,
    pub extrapolation: &'a ExtrapolationPolicy,
    /// Midnights of the days on which measures were finished.
    pub ecm_dates: &'a [i64],
    pub settle_days: i64,
    /// Rows after the baseline, up to the end of the reporting period.
    pub since: &'a DailyFrame,
    pub reporting: &'a DailyFrame,
    pub reporting_start: i64,
    /// Whether the rows are days, so that steps can be searched.
    pub of_days: bool,
}

/// One trigger.
#[derive(Debug, Clone, PartialEq)]
pub struct Trigger {
    pub id: &'static str,
    /// Midnight of its day.
    pub day: i64,
    pub title: &'static str,
    pub detail: String,
    pub outcome: &'static str,
    pub basis: &'static str,
    pub blocks: bool,
    pub resolved_by: Option<String>,
}

impl Trigger {
    /// `T2:2024-07-01`.
    pub fn key(&self) -> String {
        format!("{}:{}", self.id, date(self.day))
    }

    /// Whether it keeps savings from being told.
    pub fn stops(&self) -> bool {
        self.blocks && self.resolved_by.is_none()
    }

    /// Its row.
    pub fn row(&self, equip: &str, version: &str) -> MvFinding {
        let mut metrics = Metrics::new();
        metrics
            .set("id", self.id)
            .set("date", date(self.day))
            .set("title", self.title)
            .set("detail", self.detail.clone())
            .set("outcome", self.outcome)
            .set("basis", self.basis)
            .set("blocks", self.blocks)
            .set("resolved", self.resolved_by.is_some())
            .set("resolved_by", self.resolved_by.clone())
            .set("key", self.key())
            .set("baseline_version", version);
        let state = match &self.resolved_by {
            Some(how) => format!("resolved by {how}"),
            None => "unresolved".to_owned(),
        };
        let summary = format!(
            "trigger {} against baseline {version}: {}: {} ({state}; it calls for {})",
            self.key(),
            self.title,
            self.detail,
            self.outcome.replace('_', " "),
        );
        let severity = match self.stops() {
            true => Severity::Warn,
            false => Severity::Info,
        };
        let verdict = Verdict::new(severity, metrics, summary).with_caveat(
            "nothing is adjusted or renewed by itself: a person records an adjustment or renews the baseline",
        );
        MvFinding::new(MvRule::Trigger, equip, verdict)
    }
}

impl Assessment<'_> {
    /// All triggers in the order of their days.
    pub fn triggers(&self) -> Vec<Trigger> {
        let mut all = self.steps();
        all.extend(self.declared());
        all.extend(self.factors());
        all.extend(self.validity());
        all.extend(self.age());
        all.extend(self.measures());
        for trigger in &mut all {
            trigger.resolved_by = self.resolved(trigger);
        }
        all.sort_by_key(|trigger| trigger.day);
        all
    }

    fn last_day(&self) -> i64 {
        self.since.days.last().copied().unwrap_or(i64::MIN)
    }

    /// Whether a day lies after the baseline and within the data.
    fn is_since(&self, day: i64) -> bool {
        day >= self.version.end && day <= self.last_day()
    }

    fn steps(&self) -> Vec<Trigger> {
        if !self.policy.detect || !self.of_days {
            return Vec::new();
        }
        let model = &self.version.baseline.model;
        let projected = model.over(self.since);
        let rows: Vec<(i64, f64, f64)> = self
            .since
            .days
            .iter()
            .zip(&self.since.energy)
            .zip(&projected)
            .filter(|((_, energy), projected)| {
                **projected > 0.0 && projected.is_finite() && energy.is_finite()
            })
            .map(|((day, energy), projected)| (*day, energy / projected - 1.0, *projected))
            .collect();
        let settles = |day: i64| {
            let events = self.policy.events.iter().map(|event| event.date);
            let mut dates = self.ecm_dates.iter().copied().chain(events);
            dates.any(|date| days_between(day, date) <= self.settle_days)
        };
        steps(&rows, self.policy.min_segment_days)
            .into_iter()
            .filter(|step| !settles(step.day))
            .filter(|step| step.size.abs() >= self.policy.materiality.max(2.0 * step.error))
            .map(|step| Trigger {
                id: "T1",
                day: step.day,
                title: "a material step that no declared measure explains",
                detail: format!(
                    "a step of {:+.1} a day ({:+.0}% of the projection), z {:.1}",
                    step.size,
                    100.0 * step.share,
                    step.z
                ),
                outcome: match step.share.abs() >= self.policy.major_step {
                    true => "rebaseline",
                    false => "nra_indicator",
                },
                basis: "steps in how far the days leave the projection of the frozen baseline",
                blocks: true,
                resolved_by: None,
            })
            .collect()
    }

    fn declared(&self) -> impl Iterator<Item = Trigger> {
        let events = self.policy.events.iter();
        events
            .filter(|event| self.is_since(event.date))
            .map(|event| Trigger {
                id: "T2",
                day: event.date,
                title: "a declared change",
                detail: format!("{} ({})", event.description, event.magnitude.word()),
                outcome: match event.magnitude {
                    Magnitude::Static => "nra_engineering",
                    Magnitude::Minor => "nra_indicator",
                    Magnitude::Major => "rebaseline",
                },
                basis: "declared events",
                blocks: true,
                resolved_by: None,
            })
    }

    fn factors(&self) -> impl Iterator<Item = Trigger> {
        let changes = self.policy.static_factors.iter();
        changes
            .filter(|change| self.is_since(change.date))
            .filter_map(|change| {
                let share = change.value / change.baseline_value - 1.0;
                (share.abs() > change.tolerance).then(|| Trigger {
                    id: "T3",
                    day: change.date,
                    title: "a tracked static factor changed by more than its tolerance",
                    detail: format!(
                        "{} changed by {:+.1}% (tolerance {:.0}%)",
                        change.factor,
                        100.0 * share,
                        100.0 * change.tolerance
                    ),
                    outcome: "nra_static",
                    basis: "tracked static factors",
                    blocks: true,
                    resolved_by: None,
                })
            })
    }

    fn validity(&self) -> Vec<Trigger> {
        let trigger = |detail: String, basis| Trigger {
            id: "T4",
            day: self.reporting_start,
            title: "the model is not valid, or the reporting period leaves its weather too far",
            detail,
            outcome: "rebaseline",
            basis,
            blocks: true,
            resolved_by: None,
        };
        let mut all = Vec::new();
        if self.policy.require_guideline && !self.version.accepted {
            let detail = "the model does not meet the acceptance of Guideline 14".to_owned();
            all.push(trigger(detail, "require_validity"));
        }
        if self.policy.require_sep && self.version.sep_valid == Some(false) {
            let detail = "the model is not valid by SEP".to_owned();
            all.push(trigger(detail, "require_validity"));
        }
        let baseline = &self.version.baseline;
        let coverage = Coverage::of(
            &baseline.domain,
            &baseline.model,
            self.reporting,
            self.extrapolation,
        );
        if coverage.tier == CoverageTier::Severe {
            all.push(trigger(coverage.to_string(), "coverage"));
        }
        all
    }

    fn age(&self) -> Option<Trigger> {
        let months = self.policy.max_achievement_months;
        let last = self.version.end.checked_sub(DAY)?;
        let day = stamp_of(time_of(last).checked_add_months(Months::new(months))?)?;
        (day <= self.last_day()).then(|| Trigger {
            id: "T5",
            day,
            title: "the achievement period is longer than it may be",
            detail: format!("more than {months} months have passed since the baseline ended"),
            outcome: "rebaseline",
            basis: "SEP 2019 §4.2",
            blocks: true,
            resolved_by: None,
        })
    }

    fn measures(&self) -> Vec<Trigger> {
        let mut dates = self.ecm_dates.to_vec();
        dates.sort_unstable();
        dates
            .into_iter()
            .filter(|day| *day > self.version.end + self.settle_days * DAY)
            .filter(|day| *day <= self.last_day())
            .filter_map(|day| {
                let after = days_between(self.last_day(), day);
                (after >= self.policy.ecm_gap_days).then(|| Trigger {
                    id: "T6",
                    day,
                    title: "a measure with enough data after it",
                    detail: format!(
                        "there are {after} days of data after the measure of {}",
                        date(day)
                    ),
                    outcome: "rebaseline",
                    basis: "BPA 2024 §3.1.8",
                    blocks: false,
                    resolved_by: None,
                })
            })
            .collect()
    }

    /// What people did about a trigger.
    fn resolved(&self, trigger: &Trigger) -> Option<String> {
        let key = trigger.key();
        if let Some(later) = self.later.iter().find(|later| later.answers.contains(&key)) {
            return Some(format!("baseline {}", later.name()));
        }
        let near = |entry: &LedgerEntry| days_between(entry.start, trigger.day) <= self.settle_days;
        let answers = |entry: &&LedgerEntry| match trigger.id {
            "T1" | "T2" => near(entry),
            "T3" => {
                let of_day = |factor: &str| {
                    let mut changes = self.policy.static_factors.iter();
                    changes.any(|change| change.factor == factor && change.date == trigger.day)
                };
                near(entry) && entry.factor.as_deref().is_some_and(of_day)
            }
            _ => false,
        };
        let entry = self.version.adjustments.iter().find(answers)?;
        let how = match entry.change {
            Change::Amount { .. } => "an amount",
            Change::Proportional { .. } => "a static factor",
            Change::Indicator => "an indicator",
            Change::Exclude => "an exclusion",
        };
        Some(format!(
            "the ledger: {how} from {} ({})",
            date(entry.start),
            entry.reason
        ))
    }
}

/// A step of the meter against its projection.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Step {
    day: i64,
    /// Of the projection.
    share: f64,
    /// Energy a day.
    size: f64,
    error: f64,
    z: f64,
}

/// Steps in days of (midnight, deviation, projection).
fn steps(rows: &[(i64, f64, f64)], least: usize) -> Vec<Step> {
    let deviations: Vec<f64> = rows.iter().map(|row| row.1).collect();
    let days: Vec<i64> = rows.iter().map(|row| row.0).collect();
    let Some((changes, variance)) = changes(&days, &deviations, least) else {
        return Vec::new();
    };
    let mut bounds = vec![0];
    bounds.extend(&changes);
    bounds.push(rows.len());
    let segments: Vec<&[(i64, f64, f64)]> = bounds
        .windows(2)
        .filter_map(|pair| rows.get(*pair.first()?..*pair.last()?))
        .collect();
    let mean_of = |segment: &[(i64, f64, f64)], part: fn(&(i64, f64, f64)) -> f64| {
        mean(&segment.iter().map(part).collect::<Vec<f64>>())
    };
    segments
        .windows(2)
        .filter_map(|pair| {
            let [before, after] = pair else {
                return None;
            };
            let share = mean_of(after, |row| row.1) - mean_of(before, |row| row.1);
            let rows = 1.0 / share_of(before.len()) + 1.0 / share_of(after.len());
            let error = (variance * rows).sqrt();
            let level = mean_of(after, |row| row.2);
            Some(Step {
                day: after.first()?.0,
                share: round(share, 4),
                size: round(share * level, 4),
                error: round(error * level, 4),
                z: round(share / error, 2),
            })
        })
        .collect()
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

    fn rows(level: impl Fn(usize) -> f64) -> Vec<(i64, f64, f64)> {
        (0..200_u32)
            .map(|day| {
                let place = usize::try_from(day).unwrap();
                let noise = 0.02 * (1.7 * f64::from(day)).sin();
                (since_2023(place), level(place) + noise, 1000.0)
            })
            .collect()
    }

    #[test]
    fn a_step_is_found_where_it_is() {
        let found = steps(&rows(|day| if day < 120 { 0.0 } else { 0.15 }), 28);
        let [step] = found[..] else {
            panic!("one step: {found:?}");
        };
        assert_eq!(step.day, since_2023(120));
        assert_eq!(round(step.share, 2), 0.15);
        assert!(step.size > 145.0 && step.size < 155.0 && step.z > 30.0);
    }

    #[test]
    fn noise_has_no_step_and_two_weeks_are_none() {
        assert!(steps(&rows(|_| 0.0), 28).is_empty());
        assert!(steps(&rows(|_| 0.0)[..50], 28).is_empty());
        let flat: Vec<(i64, f64, f64)> = (0..100).map(|day| (since_2023(day), 0.1, 1.0)).collect();
        assert!(steps(&flat, 28).is_empty());
    }

    #[test]
    fn an_event_begins_and_ends() {
        let event = |day: usize| if (80..130).contains(&day) { -0.2 } else { 0.0 };
        let days: Vec<i64> = steps(&rows(event), 28)
            .iter()
            .map(|step| step.day)
            .collect();
        assert_eq!(days, [since_2023(80), since_2023(130)]);
    }
}
