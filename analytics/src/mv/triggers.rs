//! When a frozen baseline must be renewed (M&V §10).

mod steps;

use chrono::Months;

use self::steps::{Step, StepRow};
use super::coverage::{Coverage, CoverageTier, ExtrapolationPolicy};
use super::daily::DailyFrame;
use super::ledger::{Change, LedgerEntry, days_between};
use super::rows::{MvFinding, MvRule};
use super::versioned::FrozenVersion;
use crate::finding::{Metrics, Severity, Verdict};
use crate::run_config::mv_rebaseline::{Magnitude, RebaselinePolicy};
use crate::wall_clock::{DAY, date, stamp_of, time_of};

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
    /// Whether the rows are days; bills are searched for a step only where the policy says so.
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
    pub basis: String,
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
            .set("basis", self.basis.clone())
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
        if !self.policy.detect || (!self.of_days && self.policy.bill_scan.is_none()) {
            return Vec::new();
        }
        let model = &self.version.baseline.model;
        let projected = model.over(self.since);
        let rows: Vec<StepRow> = self
            .since
            .days
            .iter()
            .zip(&self.since.energy)
            .zip(&projected)
            .enumerate()
            .filter(|(_, ((_, energy), projected))| {
                **projected > 0.0 && projected.is_finite() && energy.is_finite()
            })
            .map(|(row, ((day, energy), projected))| StepRow {
                day: *day,
                deviation: energy / projected - 1.0,
                projected: *projected,
                days: self.since.service_days(row),
            })
            .collect();
        let settles = |day: i64| {
            let events = self.policy.events.iter().map(|event| event.date);
            let mut dates = self.ecm_dates.iter().copied().chain(events);
            dates.any(|date| days_between(day, date) <= self.settle_days)
        };
        let (found, basis): (Vec<Step>, String) = match self.policy.bill_scan {
            Some(scan) if !self.of_days => (
                steps::of_bills(&rows, scan).into_iter().collect(),
                format!(
                    "the greatest two-sample t of how far bills leave the projection of the frozen baseline; {} bills or more on \
                     each side, threshold {}",
                    scan.min_run, scan.threshold
                ),
            ),
            _ => (
                steps::of_days(&rows, self.policy.min_segment_days),
                "steps in how far the days leave the projection of the frozen baseline".to_owned(),
            ),
        };
        found
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
                basis: basis.clone(),
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
                basis: "declared events".to_owned(),
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
                    basis: "tracked static factors".to_owned(),
                    blocks: true,
                    resolved_by: None,
                })
            })
    }

    fn validity(&self) -> Vec<Trigger> {
        let trigger = |detail: String, basis: &str| Trigger {
            id: "T4",
            day: self.reporting_start,
            title: "the model is not valid, or the reporting period leaves its weather too far",
            detail,
            outcome: "rebaseline",
            basis: basis.to_owned(),
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
            basis: "SEP 2019 §4.2".to_owned(),
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
                    basis: "BPA 2024 §3.1.8".to_owned(),
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
