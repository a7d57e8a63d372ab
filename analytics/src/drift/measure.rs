//! One metric over its load: baseline, shift, alarm and severity, as most detectors form them (Drift §3, §5).

use super::alarm::{Alarm, AlarmRule};
use super::baseline::{FitRule, LoadBaseline, Signal, covariate_spread};
use super::book::KeptBaseline;
use super::detector::{Case, Judged, Trace, note_confidence};
use super::shift::{Direction, FEWEST_SCORED, Floors, Shift, direction_word};
use crate::finding::{Metrics, Severity};
use crate::wall_clock::spaced;

/// A second influence that may be fitted beside the load.
#[derive(Debug, Clone)]
pub struct Candidate<'c> {
    pub role: &'static str,
    /// None where the window has no such column.
    pub baseline: Option<&'c [f64]>,
    pub current: Option<&'c [f64]>,
}

impl<'c> Candidate<'c> {
    /// A role of the equipment.
    pub fn of(case: &Case<'c>, role: &'static str) -> Self {
        Self {
            role,
            baseline: case.baseline.column(role),
            current: case.current.column(role),
        }
    }
}

/// What is measured, and how it is judged.
pub struct Measure<'m> {
    /// Under which the baseline is kept.
    pub kind: &'m str,
    /// Of the names of its figures, and the unit in them (may be empty).
    pub prefix: &'m str,
    pub unit: &'m str,
    pub fit: FitRule,
    pub direction: Direction,
    pub floors: Floors,
    /// The alarm on lasting shifts, where there is one.
    pub alarm: Option<(AlarmRule, Direction)>,
    /// Tried in order.
    pub candidates: Vec<Candidate<'m>>,
    /// A covariate counts only if the metric rises with it.
    pub rising: bool,
    pub min_scored: usize,
}

impl<'m> Measure<'m> {
    /// One with an alarm in its own direction and no covariate.
    pub fn new(
        kind: &'m str,
        (prefix, unit): (&'m str, &'m str),
        fit: FitRule,
        direction: Direction,
        floors: Floors,
    ) -> Self {
        Self {
            kind,
            prefix,
            unit,
            fit,
            direction,
            floors,
            alarm: Some((AlarmRule::default(), direction)),
            candidates: Vec::new(),
            rising: true,
            min_scored: FEWEST_SCORED,
        }
    }
}

/// Why a metric could not be scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotScored {
    NoBaseline,
    NothingScoreable,
    /// The baseline rests on a covariate that the window does not have.
    CovariateAbsent,
}

impl NotScored {
    /// The decline without a reason key.
    pub fn declined(self, case: &Case<'_>, subject: &str) -> Judged {
        match self {
            Self::NoBaseline => case.no_baseline(None, subject),
            Self::NothingScoreable => case.nothing_scoreable(None, subject),
            Self::CovariateAbsent => case.decline(
                None,
                subject,
                "The frozen baseline allows for a second influence that the current window has no samples of.",
            ),
        }
    }
}

/// A metric that was scored.
#[derive(Debug, Clone)]
pub struct Measured {
    pub kept: KeptBaseline,
    pub shift: Shift,
    pub alarm: Option<Alarm>,
    pub severity: Severity,
    pub caveats: Vec<String>,
    /// Whether a sum was formed.
    prefix: String,
    unit: String,
}

impl Measured {
    /// Fits or reads the baseline, and scores the current window.
    ///
    /// # Errors
    /// There is no baseline, or nothing to compare with it.
    pub fn of(
        case: &Case<'_>,
        measure: &Measure<'_>,
        baseline: &Signal,
        current: &Signal,
    ) -> Result<Self, NotScored> {
        let mut caveats = Vec::new();
        let kept = case
            .baselines
            .get_or_fit(measure.kind, || fitted(measure, baseline, &mut caveats))
            .ok_or(NotScored::NoBaseline)?;
        let current = with_covariate(&kept.baseline, measure, current)?;
        let scope = &measure.fit.scope;
        let shift = Shift::of(&kept.baseline, &current, scope, measure.min_scored)
            .ok_or(NotScored::NothingScoreable)?;
        let alarm = measure
            .alarm
            .and_then(|(rule, watched)| Alarm::of(&kept.baseline, &shift.rows, &rule, watched));
        let severity = measure
            .floors
            .judge(shift.drift, shift.drift_sigma, measure.direction);
        if shift.extrapolated {
            caveats.push(
                "More than 10 % of the rows lie at loads beyond those of the baseline: the shift is partly extrapolated."
                    .to_owned(),
            );
        }
        if shift.covariate_extrapolated {
            caveats.push(
                "More than 10 % of the rows lie beyond the range in which the second influence was fitted.".to_owned(),
            );
        }
        Ok(Self {
            kept,
            shift,
            alarm,
            severity,
            caveats,
            prefix: measure.prefix.to_owned(),
            unit: measure.unit.to_owned(),
        })
    }

    /// Says that the size alone decided, where the baseline has no scatter.
    pub fn note_no_scatter(&mut self) {
        if self.shift.drift_sigma.is_nan() {
            self.caveats.push(
                "The baseline has no scatter at all: the size of the shift alone decides, and no lasting-shift alarm is formed."
                    .to_owned(),
            );
        }
    }

    /// Says that the baseline is a level: what happens at other loads is not judged.
    pub fn note_level(&mut self) {
        if self.kept.baseline.model == super::baseline::LoadModel::Level {
            let left_out = self.shift.n_out_of_scope;
            self.caveats.push(format!(
                "The load hardly varied in the baseline, so that it is a level near that load; {left_out} rows at other loads \
                 were left out."
            ));
        }
    }

    /// A figure's name: prefix, word, and the unit when it has one.
    fn named(&self, before: &str, after: &str) -> String {
        let mut name = format!("{}_{before}", self.prefix);
        if !self.unit.is_empty() {
            name.push('_');
            name.push_str(&self.unit);
        }
        name.push_str(after);
        name
    }

    /// The figures of the shift without direction and alarm.
    pub fn write_shift(&self, metrics: &mut Metrics) {
        let (prefix, shift) = (&self.prefix, &self.shift);
        metrics
            .number(&self.named("drift", ""), shift.drift)
            .number(&format!("{prefix}_drift_sigma"), shift.drift_sigma)
            .number(&self.named("slope", "_per_month"), shift.slope_per_month)
            .number(&format!("{prefix}_pct_outside_2sigma"), shift.outside)
            .count(&format!("{prefix}_n_current"), shift.n_current)
            .number(&self.named("baseline_sigma", ""), self.kept.baseline.sigma)
            .set(
                &format!("{prefix}_baseline_frozen_at"),
                self.kept.frozen_at.as_str(),
            );
    }

    /// All common figures.
    pub fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        self.write_shift(&mut metrics);
        metrics.set(
            &format!("{}_drift_direction", self.prefix),
            direction_word(self.shift.drift),
        );
        if let Some(alarm) = &self.alarm {
            write_alarm(&mut metrics, &self.prefix, alarm);
        }
        note_confidence(&mut metrics, true, self.alarm.is_some());
        metrics
    }

    /// Adds `<prefix>_baseline_model`.
    pub fn write_model(&self, metrics: &mut Metrics) {
        metrics.set(
            &format!("{}_baseline_model", self.prefix),
            self.kept.baseline.model.word(),
        );
    }

    /// Adds the covariate, where one was used.
    pub fn write_covariate(&self, metrics: &mut Metrics) {
        if let Some(covariate) = &self.kept.baseline.covariate {
            metrics
                .set(
                    &format!("{}_covariate", self.prefix),
                    covariate.name.as_str(),
                )
                .number(&format!("{}_covariate_slope", self.prefix), covariate.slope);
        }
    }

    /// Whether the shift goes upward.
    pub fn rises(&self) -> bool {
        self.shift.drift > 0.0
    }

    /// "CH-1: subcooling has moved by -2.10 °F (-4.0 sigma) against the frozen baseline at the same load".
    pub fn told(&self, case: &Case<'_>, subject: &str, unit: &str, matched: &str) -> String {
        let size = told_size(self.shift.drift, unit);
        let sigmas = told_sigmas(self.shift.drift_sigma);
        let basis = case.basis.words();
        match self.severity {
            Severity::Ok => format!(
                "{}: {subject} holds near {basis} at the same {matched} ({size}, {sigmas})",
                case.equip
            ),
            _ => format!(
                "{}: {subject} has moved by {size} ({sigmas}) against {basis} at the same {matched}",
                case.equip
            ),
        }
    }

    /// The residuals behind it.
    pub fn trace(&self) -> Trace {
        Trace {
            name: self.prefix.clone(),
            unit: self.unit.clone(),
            stamps: self.shift.rows.stamps.clone(),
            residuals: self.shift.residuals.clone(),
            sigma: self.kept.baseline.sigma,
            drift: self.shift.drift,
            alarm_at: self
                .alarm
                .as_ref()
                .and_then(|alarm| alarm.first)
                .map(|(_, stamp, _)| stamp),
        }
    }

    /// The verdict with a summary.
    pub fn into_judged(self, metrics: Metrics, summary: String) -> Judged {
        let trace = self.trace();
        Judged::with(self.severity, metrics, summary, self.caveats).traced(trace)
    }
}

/// "+1.50 kW"; three decimals for the small pressures of air.
pub fn told_size(size: f64, unit: &str) -> String {
    let blank = if unit == "%" || unit.is_empty() {
        ""
    } else {
        " "
    };
    match unit {
        "inH2O" => format!("{size:+.3}{blank}{unit}"),
        _ => format!("{size:+.2}{blank}{unit}"),
    }
}

/// "10.6 sigma"; there are none without scatter.
pub fn told_sigmas(sigmas: f64) -> String {
    match sigmas.is_nan() {
        true => "sigma n/a".to_owned(),
        false => format!("{sigmas:.1} sigma"),
    }
}

/// The three figures of an alarm.
pub fn write_alarm(metrics: &mut Metrics, prefix: &str, alarm: &Alarm) {
    let direction = alarm.first.map(|(_, _, direction)| match direction {
        Direction::Down => "down",
        Direction::Up | Direction::Both => "up",
    });
    let at = alarm.first.map(|(_, stamp, _)| spaced(stamp));
    metrics
        .set(&format!("{prefix}_sustained_alarm"), alarm.first.is_some())
        .set(&format!("{prefix}_first_alarm_at"), at.unwrap_or_default())
        .set(&format!("{prefix}_alarm_direction"), direction);
}

/// The first candidate that can be told apart, else the load alone.
fn fitted(
    measure: &Measure<'_>,
    signal: &Signal,
    caveats: &mut Vec<String>,
) -> Option<LoadBaseline> {
    for candidate in &measure.candidates {
        let Some(values) = candidate.baseline else {
            continue;
        };
        let role = candidate.role;
        let with = signal.with_covariate(values);
        match LoadBaseline::fit(&with, &measure.fit, Some(role)) {
            Some(fit) if !measure.rising || fit.covariate.as_ref().is_some_and(|c| c.slope > 0.0) => {
                return Some(fit);
            }
            Some(_) => caveats.push(format!(
                "The metric falls with {role} in the baseline, against all physics: it was normalised by the load alone."
            )),
            None => {
                let spread = covariate_spread(&with.cleaned(&measure.fit.scope).covariate);
                let spread = match spread.is_nan() {
                    true => "no rows with it".to_owned(),
                    false => format!("its 5th and 95th percentile lie {spread:.2} apart"),
                };
                caveats.push(format!(
                    "The effect of {role} could not be told in the baseline ({spread}): the metric was normalised by the load \
                     alone."
                ));
            }
        }
    }
    LoadBaseline::fit(signal, &measure.fit, None)
}

/// The current rows with the covariate that the baseline asks for.
fn with_covariate(
    baseline: &LoadBaseline,
    measure: &Measure<'_>,
    current: &Signal,
) -> Result<Signal, NotScored> {
    let Some(covariate) = &baseline.covariate else {
        return Ok(current.clone());
    };
    let values = measure
        .candidates
        .iter()
        .find(|candidate| candidate.role == covariate.name)
        .and_then(|candidate| candidate.current)
        .ok_or(NotScored::CovariateAbsent)?;
    Ok(current.with_covariate(values))
}
