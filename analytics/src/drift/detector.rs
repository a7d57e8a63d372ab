//! What a detector is, and what it is given (Drift §2.3, §5).

use super::book::{Baselines, Basis};
use super::windows::Side;
use crate::finding::{Metrics, Severity, Verdict};
use crate::numeric::round;

/// Roles that a detector reads; it sees no others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inputs {
    pub required: Vec<&'static str>,
    /// Groups of which one role each must be there.
    pub any_of: Vec<Vec<&'static str>>,
    pub optional: Vec<&'static str>,
}

impl Inputs {
    /// Required and optional roles.
    pub fn of(required: &[&'static str], optional: &[&'static str]) -> Self {
        Self {
            required: required.to_vec(),
            any_of: Vec::new(),
            optional: optional.to_vec(),
        }
    }

    /// The same with a group of which one must be there.
    #[must_use]
    pub fn with_any_of(mut self, group: &[&'static str]) -> Self {
        self.any_of.push(group.to_vec());
        self
    }

    /// All roles, each once, in this order.
    pub fn all(&self) -> Vec<&'static str> {
        let mut all = Vec::new();
        let groups = self.any_of.iter().flatten();
        for role in self.required.iter().chain(groups).chain(&self.optional) {
            if !all.contains(role) {
                all.push(*role);
            }
        }
        all
    }

    /// Whether everything that must be there is.
    pub fn are_there(&self, has: impl Fn(&str) -> bool) -> bool {
        self.required.iter().all(|role| has(role))
            && self
                .any_of
                .iter()
                .all(|group| group.iter().any(|role| has(role)))
    }
}

/// One equipment before a detector.
pub struct Case<'a> {
    pub equip: &'a str,
    /// The known-good window; of another equipment when that is the reference.
    pub baseline: Side<'a>,
    pub current: Side<'a>,
    pub baselines: &'a Baselines<'a>,
    pub basis: &'a Basis,
    /// Of the site; none for sea level.
    pub elevation_ft: Option<f64>,
}

impl<'a> Case<'a> {
    /// Whether the equipment has a column for a role.
    pub fn has(&self, role: &str) -> bool {
        self.current.has(role)
    }

    /// The values of a role in the known-good window and in the other one; none when a column is missing.
    pub fn columns(&self, role: &str) -> Option<(&'a [f64], &'a [f64])> {
        self.baseline.column(role).zip(self.current.column(role))
    }

    /// Median of the current window minus that of the known-good one, over whole windows.
    pub fn whole_shift(&self, role: &str, decimals: usize) -> Option<f64> {
        let (before, after) = (
            self.baseline.whole_median(role)?,
            self.current.whole_median(role)?,
        );
        Some(round(after - before, decimals))
    }

    /// The same over the rows in which a status says that the machine runs.
    pub fn running_shift(&self, role: &str, status: &str, decimals: usize) -> Option<f64> {
        let of = |side: &Side<'_>| side.median(role, &side.running(status));
        Some(round(of(&self.current)? - of(&self.baseline)?, decimals))
    }

    /// Nothing is judged, and why.
    pub fn decline(
        &self,
        reason: Option<&str>,
        subject: &str,
        caveat: impl Into<String>,
    ) -> Judged {
        let mut metrics = Metrics::new();
        metrics.set("declined", true);
        if let Some(reason) = reason {
            metrics.set("reason", reason);
        }
        Judged::of(
            Verdict::info(
                metrics,
                format!("{}: declined, {subject} was not judged", self.equip),
            )
            .with_caveat(caveat),
        )
    }

    /// There is no baseline, and none can be fitted.
    pub fn no_baseline(&self, reason: Option<&str>, subject: &str) -> Judged {
        let caveat = match self.baselines.may_fit() {
            true => {
                "The known-good window does not have enough rows of enough load to tell what is right."
            }
            false => {
                "No frozen baseline of this kind is kept for the equipment, and a run does not fit one in its place."
            }
        };
        self.decline(reason, subject, caveat)
    }

    /// The current window has too few rows that can be compared.
    pub fn nothing_scoreable(&self, reason: Option<&str>, subject: &str) -> Judged {
        self.decline(
            reason,
            subject,
            "The current window has too few rows at loads that the baseline covers.",
        )
    }
}

/// Residuals of the current window, for a chart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trace {
    /// What is drawn: the prefix of its figures.
    pub name: String,
    pub unit: String,
    pub stamps: Vec<i64>,
    /// Actual minus expected.
    pub residuals: Vec<f64>,
    /// Scatter of the baseline.
    pub sigma: f64,
    /// Median residual.
    pub drift: f64,
    /// When the alarm of a lasting shift sounded.
    pub alarm_at: Option<i64>,
}

/// What a detector says.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    pub verdict: Verdict,
    /// One for each metric that was scored.
    pub traces: Vec<Trace>,
}

impl Judged {
    /// A verdict without residuals.
    pub fn of(verdict: Verdict) -> Self {
        Self {
            verdict,
            traces: Vec::new(),
        }
    }

    /// A verdict over one scored metric.
    pub fn with(
        severity: Severity,
        metrics: Metrics,
        summary: String,
        caveats: Vec<String>,
    ) -> Self {
        Self::of(Verdict::new(severity, metrics, summary).with_caveats(caveats))
    }

    /// The same with the residuals behind it.
    #[must_use]
    pub fn traced(mut self, trace: Trace) -> Self {
        self.traces.push(trace);
        self
    }
}

/// One detector of a family.
pub trait Detector: Send + Sync {
    /// Its name in findings.
    fn rule(&self) -> &'static str;

    /// What it reads.
    fn inputs(&self) -> Inputs;

    /// Families of equipment that it is written for; empty for any.
    fn equip_families(&self) -> &'static [&'static str] {
        &[]
    }

    /// Judges an equipment that has its inputs and rows in both windows.
    fn judge(&self, case: &Case<'_>) -> Judged;
}

/// What every scored finding says of its thresholds (Drift §3.6).
pub fn note_confidence(metrics: &mut Metrics, magnitude: bool, temporal: bool) {
    const MAGNITUDE: &str = "the sizes from which a shift is told are good enough to rank machines of this kind, but are not \
                             established on this one";
    const TEMPORAL: &str = "the settings of the alarm on lasting shifts are provisional: how often it is false and how late it \
                            comes has not been measured, so that an alarm asks to look and decides nothing";
    metrics.set("thresholds_provisional", true);
    let mut notes = Vec::new();
    if magnitude {
        metrics.set("magnitude_threshold_confidence", "screening-grade");
        notes.push(MAGNITUDE);
    }
    if temporal {
        metrics.set("temporal_threshold_confidence", "provisional-untuned");
        notes.push(TEMPORAL);
    }
    metrics.set("threshold_confidence_note", notes.join("; "));
}
