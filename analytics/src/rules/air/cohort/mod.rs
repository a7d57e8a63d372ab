//! Units that differ from their peers in airflow or in space temperature (Air rules §2.5; Engine §4.7).

mod options;
mod units;

use serde_json::{Map, Value};

use self::options::Normalisation;
use self::units::{Scores, Summary, Unit};
use crate::finding::{Metrics, Severity, Verdict, number};
use crate::numeric;
use crate::parameters::{ParameterError, Parameters};
use crate::rules::{FleetFrames, Inputs, RuleCode};

/// Boxes by their airflow.
pub const AIRFLOW: RuleCode = RuleCode::fleet("cohort_airflow", |fleet, parameters| {
    Some(analyse(&OF_AIRFLOW, fleet, parameters))
})
.checked_by(check)
.with_inputs(|parameters| inputs("airflow", parameters));

/// Zones by their temperature.
pub const SPACE_TEMP: RuleCode = RuleCode::fleet("cohort_space_temp", |fleet, parameters| {
    Some(analyse(&OF_SPACE_TEMP, fleet, parameters))
})
.checked_by(check)
.with_inputs(|parameters| inputs("space_temp", parameters));

/// What one of the rules compares.
struct Subject {
    role: &'static str,
    words: &'static str,
    unit: &'static str,
    /// Deviation that a unit must have beside its score, in the unit of the role.
    min_abs_dev: f64,
    /// Spread above which a cohort is no cohort.
    max_spread: Option<f64>,
}

const OF_AIRFLOW: Subject = Subject {
    role: "airflow",
    words: "airflow",
    unit: "cfm",
    min_abs_dev: 0.0,
    max_spread: Some(0.3),
};

const OF_SPACE_TEMP: Subject = Subject {
    role: "space_temp",
    words: "space temperature",
    unit: "°F",
    min_abs_dev: 1.0,
    max_spread: None,
};

/// Which deviations count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tail {
    Both,
    Low,
    High,
}

impl Tail {
    fn of(parameters: &Parameters) -> Self {
        match parameters.word("tail") {
            Some("low") => Self::Low,
            Some("high") => Self::High,
            _ => Self::Both,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::Low => "low",
            Self::High => "high",
        }
    }
}

/// What makes a unit an outlier.
#[derive(Debug, Clone, Copy)]
struct Limits {
    k: f64,
    tail: Tail,
    /// None when values are fractions of something.
    min_abs_dev: Option<f64>,
    max_spread: Option<f64>,
    min_cohort: usize,
}

impl Limits {
    fn of(subject: &Subject, parameters: &Parameters) -> Self {
        Self {
            k: parameters.number("k"),
            tail: Tail::of(parameters),
            min_abs_dev: Some(
                parameters
                    .optional("min_abs_dev")
                    .unwrap_or(subject.min_abs_dev),
            ),
            max_spread: parameters.optional("max_spread").or(subject.max_spread),
            min_cohort: parameters.count("min_cohort"),
        }
    }

    fn is_outlier(&self, z: f64, deviation: f64) -> bool {
        let is_far = match self.tail {
            Tail::Both => z.abs() >= self.k,
            Tail::Low => z <= -self.k,
            Tail::High => z >= self.k,
        };
        let least = self.min_abs_dev.unwrap_or(0.0);
        is_far && (least <= 0.0 || deviation.abs() >= least)
    }

    /// The limit when a spread is above it.
    fn exceeded_by(&self, spread: Option<f64>) -> Option<f64> {
        self.max_spread
            .filter(|limit| spread.is_some_and(|spread| spread > *limit))
    }
}

fn check(parameters: &Parameters) -> Result<(), ParameterError> {
    let has_map = parameters
        .mapping("reference")
        .is_some_and(|map| !map.is_empty());
    if parameters.word("normalise") == Some("reference") && !has_map {
        return Err(parameters.refuse(
            "normalise",
            "it needs the map \"reference\" {unit: its reference unit}, which only a run configuration can set",
        ));
    }
    Ok(())
}

fn inputs(role: &str, parameters: &Parameters) -> Inputs {
    let optional = match parameters.word("normalise") {
        Some("design_max") => vec!["airflow_sp".to_owned()],
        _ => Vec::new(),
    };
    Inputs {
        required: vec![role.to_owned()],
        any_of: Vec::new(),
        optional,
    }
}

fn analyse(subject: &Subject, fleet: &FleetFrames<'_>, parameters: &Parameters) -> Verdict {
    let summary = Summary::of(parameters);
    let units = units::values(fleet, subject.role, summary);
    let limits = Limits::of(subject, parameters);
    let is_grouped = parameters.flag("group_by_topology");
    let normalisation = Normalisation::of(parameters);
    if is_grouped || normalisation.is_some() || limits.tail != Tail::Both {
        let setting = options::Setting {
            subject,
            summary,
            limits,
            normalisation,
            is_grouped,
        };
        return options::analyse(&setting, units, fleet, parameters);
    }
    plain(subject, summary, &limits, &units)
}

fn plain(subject: &Subject, summary: Summary, limits: &Limits, units: &[Unit<'_>]) -> Verdict {
    let n = units.len();
    let mut metrics = Metrics::new();
    if n < limits.min_cohort {
        metrics.count("n", n).count("min_cohort", limits.min_cohort);
        let told = format!(
            "{n} units with {} are too few to compare; {} are needed.",
            subject.words, limits.min_cohort
        );
        return Verdict::info(metrics, told);
    }
    let scores = Scores::of(units);
    let outliers = scores.outliers(units, limits);
    metrics
        .count("n", n)
        .set("summary", summary.word())
        .number("k", limits.k)
        .set("outliers", outliers.clone())
        .set("z", z_map(units, &scores))
        .rounded("median", scores.median, 4)
        .rounded("mad", scores.mad, 4)
        .number("min_abs_dev", limits.min_abs_dev.unwrap_or(0.0))
        .number_or_null("cohort_spread", scores.spread());
    let (severity, caveats) = severity(n, &outliers, limits, scores.spread());
    Verdict::new(
        severity,
        metrics,
        told(subject, summary, limits, n, &outliers),
    )
    .with_caveats(caveats)
}

fn severity(
    n: usize,
    outliers: &[String],
    limits: &Limits,
    spread: Option<f64>,
) -> (Severity, Option<String>) {
    let caveat = limits.exceeded_by(spread).map(|limit| {
        format!(
            "The units differ from each other by {:.3} of their median, above {limit}: they are hardly alike, and a unit \
             that stands out need not be wrong.",
            spread.unwrap_or_default()
        )
    });
    let severity = match (n, outliers.is_empty(), caveat.is_some()) {
        (0, ..) => Severity::Info,
        (_, false, _) => Severity::Warn,
        (_, true, true) => Severity::Info,
        (_, true, false) => Severity::Ok,
    };
    (severity, caveat)
}

fn told(
    subject: &Subject,
    summary: Summary,
    limits: &Limits,
    n: usize,
    outliers: &[String],
) -> String {
    let words = format!("{} {}", summary.words(), subject.words);
    if outliers.is_empty() {
        return format!(
            "All {n} units lie within {} robust deviations of their peers in {words}.",
            limits.k
        );
    }
    format!(
        "{} of {n} units differ from their peers by {} robust deviations or more in {words} ({}): {}.",
        outliers.len(),
        limits.k,
        subject.unit,
        outliers.join(", ")
    )
}

fn z_map(units: &[Unit<'_>], scores: &Scores) -> Map<String, Value> {
    units
        .iter()
        .zip(&scores.z)
        .map(|(unit, z)| (unit.equip.to_owned(), number(numeric::round(*z, 3))))
        .collect()
}

#[cfg(test)]
mod tests;
