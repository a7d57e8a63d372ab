//! Which method suits a meter, before anybody sees a saving (M&V §6.4, method `auto`).

use super::baseline::Baseline;
use super::change_point::{ChangePointModel, ModelKind};
use super::coverage::{Coverage, CoverageTier, ExtrapolationPolicy};
use super::daily::DailyFrame;
use super::forecast::Projection;
use super::rows::{MvFinding, MvRule};
use super::sep;
use crate::finding::{Metrics, Verdict};
use crate::run_config::{MvMethod, MvTerms, Period};
use crate::wall_clock::DAY;

/// Days between two intermediate periods that are tried.
const STEP_OF_SEARCH: i64 = 30;
/// Baseline and reporting period may differ in length by so many days.
const LENGTH_SLACK: usize = 1;

/// What is known of a meter's periods.
pub struct Grounds<'a> {
    pub terms: &'a MvTerms,
    pub baseline_days: &'a DailyFrame,
    pub reporting_days: &'a DailyFrame,
    /// Fewest days of an intermediate period.
    pub min_days: usize,
    /// The days of any other period.
    pub days_of: &'a dyn Fn(Period) -> DailyFrame,
}

/// A method that is valid for the meter, with the energy performance indicator that it would give.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ValidMethod {
    pub method: MvMethod,
    /// Energy used as a share of energy expected; none when either is 0.
    pub enpi: Option<f64>,
}

/// What is proposed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Proposal {
    /// In the order in which methods are preferred; the first is proposed.
    pub valid: Vec<ValidMethod>,
    /// The period over which chaining would fit its model.
    pub intermediate: Option<Period>,
}

impl Proposal {
    /// Tries all methods.
    pub fn of(grounds: &Grounds<'_>) -> Self {
        let policy = &grounds.terms.extrapolation;
        let before = ranked(grounds.baseline_days, policy);
        let after = ranked(grounds.reporting_days, policy);
        let mut valid = Vec::new();
        if let Some(model) = &before
            && suits(model, &[grounds.reporting_days], policy)
        {
            let projection = Projection::of(model, grounds.reporting_days);
            valid.push(ValidMethod {
                method: MvMethod::Forecast,
                enpi: ratio(projection.actual, projection.projected),
            });
        }
        if let Some(model) = &after
            && suits(model, &[grounds.baseline_days], policy)
        {
            let projection = Projection::of(model, grounds.baseline_days);
            valid.push(ValidMethod {
                method: MvMethod::Backcast,
                enpi: ratio(projection.projected, projection.actual),
            });
        }
        let chained = chained(grounds);
        if let Some((_, enpi)) = chained {
            valid.push(ValidMethod {
                method: MvMethod::Chaining,
                enpi,
            });
        }
        if let (Some(before), Some(after)) = (&before, &after)
            && !grounds.terms.normal_year.is_empty()
        {
            let year = super::methods::normal_days(&grounds.terms.normal_year);
            if suits(before, &[&year], policy) && suits(after, &[&year], policy) {
                let total = |model| Projection::of(model, &year).projected;
                valid.push(ValidMethod {
                    method: MvMethod::StandardConditions,
                    enpi: ratio(total(after), total(before)),
                });
            }
        }
        Self {
            valid,
            intermediate: chained.map(|(period, _)| period),
        }
    }

    /// The method that is proposed.
    pub fn proposed(&self) -> Option<MvMethod> {
        self.valid.first().map(|valid| valid.method)
    }

    /// The row of a meter.
    pub fn row(&self, equip: &str, terms: &MvTerms) -> MvFinding {
        let mut metrics = Metrics::new();
        metrics
            .set("proposed", self.proposed().map(MvMethod::word))
            .set("declined", self.proposed().is_none())
            .set("validity", terms.validity.word());
        match self.intermediate {
            None => metrics.set("intermediate_period", serde_json::Value::Null),
            Some(period) => metrics.set(
                "intermediate_period",
                vec![
                    crate::wall_clock::date(period.start),
                    crate::wall_clock::date(period.end),
                ],
            ),
        };
        let steps: Vec<&str> = self.valid.iter().map(|valid| valid.method.word()).collect();
        metrics.set("valid_methods", steps.clone());
        let summary = match self.proposed() {
            Some(method) => format!(
                "{} is proposed; {} of the methods are valid ({}). Declare a method to be told a saving",
                method.word(),
                self.valid.len(),
                steps.join(", ")
            ),
            None => {
                "declined: no method is valid for the meter, so that none is proposed".to_owned()
            }
        };
        let mut verdict = Verdict::info(metrics, summary).with_caveat(
            "a proposal, no result: declare the method before its figures are seen; choosing among valid methods afterwards is \
             shopping for a saving",
        );
        let enpis = || self.valid.iter().filter_map(|valid| valid.enpi);
        if self.valid.len() > 1 {
            let (low, high) = (
                enpis().fold(f64::INFINITY, f64::min),
                enpis().fold(f64::NEG_INFINITY, f64::max),
            );
            verdict = verdict.with_caveat(format!(
                "the valid methods give energy performance indicators (SEnPI) from {low:.3} to {high:.3}; tell this spread beside \
                 the declared method"
            ));
        }
        MvFinding::new(MvRule::MethodProposal, equip, verdict)
    }
}

/// The model of a period that explains most among those that are valid, else among all.
fn ranked(days: &DailyFrame, policy: &ExtrapolationPolicy) -> Option<Baseline> {
    let mut best: Option<(bool, f64, Baseline)> = None;
    for kind in ModelKind::ALL {
        if days.len() <= kind.parameters() {
            continue;
        }
        let fitted = ChangePointModel::of_kind(kind, &days.temperature, &days.energy)
            .and_then(|model| Baseline::with(model.into(), days, policy));
        let Some(baseline) = fitted else {
            continue;
        };
        let valid = sep::is_valid(&baseline) == Some(true);
        let explained = baseline.statistics.adjusted_r2;
        let is_better = best.as_ref().is_none_or(|(other, most, _)| {
            (valid && !other) || (valid == *other && explained > *most)
        });
        if is_better {
            best = Some((valid, explained, baseline));
        }
    }
    best.map(|(_, _, baseline)| baseline)
}

/// Whether a valid model may project all of these.
fn suits(model: &Baseline, frames: &[&DailyFrame], policy: &ExtrapolationPolicy) -> bool {
    sep::is_valid(model) == Some(true)
        && frames.iter().all(|frame| {
            let coverage = Coverage::of(&model.domain, &model.model, frame, policy);
            coverage.tier != CoverageTier::Severe
                && (frame.is_empty() || model.domain.is_near(&model.model, frame))
        })
}

/// The intermediate period whose model explains most among those that may project both others.
fn chained(grounds: &Grounds<'_>) -> Option<(Period, Option<f64>)> {
    let (period, reporting) = (grounds.terms.period?, grounds.terms.reporting?);
    if period.days().abs_diff(reporting.days()) > LENGTH_SLACK {
        return None;
    }
    let length = i64::try_from(period.days()).ok()?;
    let policy = &grounds.terms.extrapolation;
    let first = period.last_day() + 1;
    let last = reporting.first_day() - length;
    let starts = (0..)
        .map(|step| first + step * STEP_OF_SEARCH)
        .take_while(|start| *start < last)
        .chain((first <= last).then_some(last));
    let mut best: Option<(f64, Period, Option<f64>)> = None;
    for start in starts {
        let between = Period {
            start: start.saturating_mul(DAY),
            end: (start + length).saturating_mul(DAY) - 1,
        };
        let days = (grounds.days_of)(between);
        if days.len() < grounds.min_days {
            continue;
        }
        let Some(model) = ranked(&days, policy) else {
            continue;
        };
        let frames = [grounds.baseline_days, grounds.reporting_days];
        let explained = model.statistics.adjusted_r2;
        if suits(&model, &frames, policy)
            && best.as_ref().is_none_or(|(most, _, _)| explained > *most)
        {
            let back = Projection::of(&model, grounds.baseline_days);
            let forth = Projection::of(&model, grounds.reporting_days);
            let enpi = ratio(back.projected, back.actual)
                .zip(ratio(forth.actual, forth.projected))
                .map(|(back, forth)| back * forth);
            best = Some((explained, between, enpi));
        }
    }
    best.map(|(_, period, enpi)| (period, enpi))
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole != 0.0).then(|| part / whole)
}
