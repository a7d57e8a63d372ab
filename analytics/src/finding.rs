//! What a rule says of an equipment (Engine §4.4).

use std::cmp::Ordering;
use std::fmt;

use serde_json::{Map, Number, Value};

/// How bad a finding is, worst first in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    Fault,
    Warn,
    Info,
    Ok,
}

impl Severity {
    /// The word on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fault => "fault",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Ok => "ok",
        }
    }

    /// Fault from `fault` on, warn from `warn` on, else ok; a NaN value is ok (a comparison with it is false).
    ///
    /// ```
    /// use niagara_analytics::Severity;
    /// assert_eq!(Severity::at_least(25.0, 10.0, 25.0), Severity::Fault);
    /// assert_eq!(Severity::at_least(f64::NAN, 10.0, 25.0), Severity::Ok);
    /// ```
    pub fn at_least(value: f64, warn: f64, fault: f64) -> Self {
        if value >= fault {
            Self::Fault
        } else if value >= warn {
            Self::Warn
        } else {
            Self::Ok
        }
    }

    /// The worse of two.
    pub fn worse(self, other: Self) -> Self {
        match self.cmp(&other) {
            Ordering::Greater => other,
            _ => self,
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

/// A number as JSON; null when it is not finite (Engine §1), and 0 for the negative zero of a sum that cancels.
pub fn number(value: f64) -> Value {
    Number::from_f64(value + 0.0).map_or(Value::Null, Value::Number)
}

/// The figures of a finding, in the order in which they were set.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metrics(Map<String, Value>);

impl Metrics {
    /// No figures.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets any value.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) -> &mut Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// Sets a number as it is; null when it is not finite.
    pub fn number(&mut self, name: &str, value: f64) -> &mut Self {
        self.set(name, number(value))
    }

    /// Sets a number that may be missing.
    pub fn number_or_null(&mut self, name: &str, value: Option<f64>) -> &mut Self {
        self.set(name, value.map_or(Value::Null, number))
    }

    /// Sets a number rounded to that many decimals, half to even on the binary value.
    pub fn rounded(&mut self, name: &str, value: f64, decimals: usize) -> &mut Self {
        self.number(name, crate::numeric::round(value, decimals))
    }

    /// Sets a count.
    pub fn count(&mut self, name: &str, count: usize) -> &mut Self {
        self.set(name, count)
    }

    /// Takes a figure away.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }

    /// The value of a figure.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// A figure as a number.
    pub fn as_number(&self, name: &str) -> Option<f64> {
        self.get(name).and_then(Value::as_f64)
    }

    /// All figures.
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }

    /// All figures.
    pub fn into_map(self) -> Map<String, Value> {
        self.0
    }
}

/// What a rule answers for one equipment, or for a fleet.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub severity: Severity,
    pub metrics: Metrics,
    /// One line; says what the section of the rule says it must.
    pub summary: String,
    pub caveats: Vec<String>,
    /// What a fleet rule calls the fleet, when it is not `<fleet>`.
    pub fleet_name: Option<&'static str>,
}

impl Verdict {
    /// A verdict without caveats.
    pub fn new(severity: Severity, metrics: Metrics, summary: impl Into<String>) -> Self {
        Self {
            severity,
            metrics,
            summary: summary.into(),
            caveats: Vec::new(),
            fleet_name: None,
        }
    }

    /// Nothing could be judged, and why.
    pub fn info(metrics: Metrics, summary: impl Into<String>) -> Self {
        Self::new(Severity::Info, metrics, summary)
    }

    /// The verdict with one more caveat.
    #[must_use]
    pub fn with_caveat(mut self, caveat: impl Into<String>) -> Self {
        self.caveats.push(caveat.into());
        self
    }

    /// The verdict with more caveats.
    #[must_use]
    pub fn with_caveats(mut self, caveats: impl IntoIterator<Item = String>) -> Self {
        self.caveats.extend(caveats);
        self
    }
}

/// Samples that a rule flags among those that it judged; both as long as the frame (Engine §4.9).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Flagged {
    pub judged: Vec<bool>,
    /// Only where `judged`.
    pub flagged: Vec<bool>,
}

/// One of several things that a rule looks for, with its own samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    pub name: String,
    pub judged_basis: String,
    pub samples: Flagged,
}

/// Something that is counted rather than timed: a start, a stage change, a reversal.
#[derive(Debug, Clone, PartialEq)]
pub struct EventCount {
    /// What is counted, in the plural: "boiler starts".
    pub name: String,
    pub count: usize,
    /// When, nanoseconds of the wall clock.
    pub stamps: Vec<i64>,
}

/// Which samples a verdict rests on, and which of them speak against the equipment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Judgement {
    /// What is judged, as the summary words it: "fan-on samples".
    pub judged_basis: String,
    /// The samples of the rule; of a rule with conditions the union of theirs.
    pub samples: Flagged,
    pub conditions: Vec<Condition>,
    pub events: Vec<EventCount>,
    /// Why there are no samples: the rule judges the period as a whole.
    pub note: Option<String>,
}

impl Judgement {
    /// One mask over one set of judged samples.
    pub fn of(judged_basis: impl Into<String>, judged: Vec<bool>, flagged: Vec<bool>) -> Self {
        Self {
            judged_basis: judged_basis.into(),
            samples: Flagged { judged, flagged },
            ..Self::default()
        }
    }

    /// A rule whose verdict belongs to the whole period: no sample is flagged.
    pub fn whole_period(note: impl Into<String>) -> Self {
        Self {
            note: Some(note.into()),
            ..Self::default()
        }
    }

    /// Whether any sample was judged.
    pub fn judges_any(&self) -> bool {
        self.samples.judged.contains(&true)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn severities_are_ordered_worst_first() {
        assert!(Severity::Fault < Severity::Warn && Severity::Info < Severity::Ok);
        assert_eq!(Severity::Ok.worse(Severity::Warn), Severity::Warn);
        assert_eq!(Severity::Fault.worse(Severity::Warn).to_string(), "fault");
    }

    #[test]
    fn figures_keep_floats_whole_and_turn_what_is_not_finite_into_null() {
        let mut metrics = Metrics::new();
        metrics
            .rounded("pct", 55.0, 2)
            .number("none", f64::NAN)
            .count("n", 3)
            .number_or_null("gone", None);
        assert_eq!(
            Value::Object(metrics.into_map()).to_string(),
            json!({"pct": 55.0, "none": null, "n": 3, "gone": null}).to_string()
        );
    }
}
