//! Cohorts per air handler, of values as a share of a reference, or with one tail only (Air rules §2.5).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::units::{Scores, Summary, Unit};
use super::{Limits, Subject, severity, told, z_map};
use crate::finding::{Metrics, Verdict, number};
use crate::numeric;
use crate::parameters::Parameters;
use crate::rules::FleetFrames;
use crate::rules::air::grouping::Grouping;

/// The group of all units when nothing groups them.
const ALL: &str = "<all>";

/// What a unit's figure is a share of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Normalisation {
    /// The figure of another unit.
    Reference,
    /// The design airflow, or else the greatest setpoint.
    DesignMax,
}

impl Normalisation {
    pub(super) fn of(parameters: &Parameters) -> Option<Self> {
        match parameters.word("normalise") {
            Some("reference") => Some(Self::Reference),
            Some("design_max") => Some(Self::DesignMax),
            _ => None,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::DesignMax => "design_max",
        }
    }

    const fn caveat(self) -> &'static str {
        match self {
            Self::Reference => {
                "Each unit is compared as a share of its reference unit; a fault of the reference shows in every unit \
                 that is compared with it."
            }
            Self::DesignMax => {
                "Each unit is compared as a share of its design airflow, or of its greatest airflow setpoint where no \
                 design airflow is configured."
            }
        }
    }
}

/// How a cohort is judged.
pub(super) struct Setting<'a> {
    pub subject: &'a Subject,
    pub summary: Summary,
    pub limits: Limits,
    pub normalisation: Option<Normalisation>,
    pub is_grouped: bool,
}

/// Units with their share, and why others have none.
struct Shares<'a> {
    units: Vec<Unit<'a>>,
    left_out: Map<String, Value>,
}

fn shares<'a>(
    normalisation: Normalisation,
    units: Vec<Unit<'a>>,
    fleet: &FleetFrames<'a>,
    parameters: &Parameters,
) -> Shares<'a> {
    match normalisation {
        Normalisation::DesignMax => of_design(units, fleet, parameters),
        Normalisation::Reference => of_reference(units, parameters),
    }
}

fn of_design<'a>(
    units: Vec<Unit<'a>>,
    fleet: &FleetFrames<'a>,
    parameters: &Parameters,
) -> Shares<'a> {
    let design = parameters.mapping("design_max");
    let peaks: BTreeMap<&str, f64> = fleet
        .frames
        .iter()
        .filter_map(|frame| Some((frame.equip(), numeric::max(frame.column("airflow_sp")?))))
        .collect();
    let whole = |unit: &Unit<'a>| {
        design
            .and_then(|design| design.get(unit.equip))
            .and_then(Value::as_f64)
            .or_else(|| peaks.get(unit.equip).copied())
    };
    divided(units, |unit| match whole(unit) {
        Some(whole) if whole > 0.0 => Ok(whole),
        Some(_) => Err("its design airflow is not above zero".to_owned()),
        None => Err("it has no design airflow and no airflow setpoint".to_owned()),
    })
}

fn of_reference<'a>(units: Vec<Unit<'a>>, parameters: &Parameters) -> Shares<'a> {
    let map = parameters.mapping("reference");
    let reference = |equip: &str| map.and_then(|map| map.get(equip)).and_then(Value::as_str);
    let references: BTreeSet<&str> = map
        .into_iter()
        .flat_map(Map::values)
        .filter_map(Value::as_str)
        .collect();
    let values: BTreeMap<&str, f64> = units.iter().map(|unit| (unit.equip, unit.value)).collect();
    let scored = units
        .into_iter()
        .filter(|unit| !references.contains(unit.equip))
        .collect();
    divided(scored, |unit| {
        let Some(reference) = reference(unit.equip) else {
            return Err("no reference unit is configured for it".to_owned());
        };
        match values.get(reference) {
            Some(value) if *value != 0.0 => Ok(*value),
            Some(_) => Err(format!("its reference {reference} is zero")),
            None => Err(format!("its reference {reference} has no samples")),
        }
    })
}

fn divided<'a>(
    units: Vec<Unit<'a>>,
    whole: impl Fn(&Unit<'a>) -> Result<f64, String>,
) -> Shares<'a> {
    let mut shares = Shares {
        units: Vec::new(),
        left_out: Map::new(),
    };
    for unit in units {
        match whole(&unit).map(|whole| unit.value / whole) {
            Ok(value) if value.is_finite() => shares.units.push(Unit { value, ..unit }),
            Ok(_) => {
                let reason = Value::from("its share is no finite number");
                shares.left_out.insert(unit.equip.to_owned(), reason);
            }
            Err(reason) => {
                shares.left_out.insert(unit.equip.to_owned(), reason.into());
            }
        }
    }
    shares
}

/// The outcome over all groups.
#[derive(Default)]
struct Outcome {
    n: usize,
    outliers: Vec<String>,
    by_group: Map<String, Value>,
    z: Map<String, Value>,
    spreads: Map<String, Value>,
    widest: Option<f64>,
    small: Vec<String>,
}

impl Outcome {
    fn add(&mut self, group: String, units: &[Unit<'_>], limits: &Limits) {
        if units.len() < limits.min_cohort {
            self.small
                .extend(units.iter().map(|unit| unit.equip.to_owned()));
            return;
        }
        let scores = Scores::of(units);
        let outliers = scores.outliers(units, limits);
        self.n += units.len();
        self.z.extend(z_map(units, &scores));
        let spread = scores.spread();
        self.widest = match (self.widest, spread) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (one, other) => one.or(other),
        };
        self.spreads
            .insert(group.clone(), spread.map_or(Value::Null, number));
        if !outliers.is_empty() {
            self.by_group.insert(group, json!(outliers));
        }
        self.outliers.extend(outliers);
    }
}

/// Judges each group by itself.
pub(super) fn analyse(
    setting: &Setting<'_>,
    units: Vec<Unit<'_>>,
    fleet: &FleetFrames<'_>,
    parameters: &Parameters,
) -> Verdict {
    let mut caveats = Vec::new();
    let mut limits = setting.limits;
    let mut left_out = Map::new();
    let units = match setting.normalisation {
        None => units,
        Some(normalisation) => {
            limits.min_abs_dev = None;
            limits.max_spread = None;
            let shares = shares(normalisation, units, fleet, parameters);
            left_out = shares.left_out;
            caveats.push(normalisation.caveat().to_owned());
            shares.units
        }
    };
    if !left_out.is_empty() {
        caveats.push(format!(
            "{} units are left out: they have nothing to be a share of.",
            left_out.len()
        ));
    }
    let names: Vec<&str> = units.iter().map(|unit| unit.equip).collect();
    let grouping = setting
        .is_grouped
        .then(|| Grouping::of(&names, fleet.topology));
    if let Some(grouping) = &grouping {
        caveats.extend(grouping.caveats.iter().cloned());
    }
    let grouped = grouping.filter(Grouping::is_grouped);
    let mut outcome = Outcome::default();
    match &grouped {
        None => outcome.add(ALL.to_owned(), &units, &limits),
        Some(grouping) => {
            for (group, places) in grouping.members(names.iter().copied()) {
                let members: Vec<Unit<'_>> = places
                    .iter()
                    .filter_map(|place| units.get(*place).copied())
                    .collect();
                outcome.add(group, &members, &limits);
            }
        }
    }
    outcome.small.sort_unstable();
    let (severity, spread_caveat) = severity(outcome.n, &outcome.outliers, &limits, outcome.widest);
    caveats.extend(spread_caveat);
    if !outcome.small.is_empty() {
        caveats.push(format!(
            "{} units are in groups of fewer than {} and are not compared.",
            outcome.small.len(),
            limits.min_cohort
        ));
    }
    let summary = match outcome.n {
        0 => format!(
            "No cohort of {} units with {} could be compared.",
            limits.min_cohort, setting.subject.words
        ),
        n => told(
            setting.subject,
            setting.summary,
            &limits,
            n,
            &outcome.outliers,
        ),
    };
    let provenance = grouped.and_then(|grouping| grouping.provenance);
    let metrics = metrics(
        setting,
        &limits,
        outcome,
        left_out,
        provenance.map(|known| known.word()),
    );
    Verdict::new(severity, metrics, summary).with_caveats(caveats)
}

fn metrics(
    setting: &Setting<'_>,
    limits: &Limits,
    outcome: Outcome,
    left_out: Map<String, Value>,
    provenance: Option<&str>,
) -> Metrics {
    let mut metrics = Metrics::new();
    let n_groups = outcome.spreads.len();
    let spread = if setting.normalisation.is_some() {
        Value::Null
    } else if n_groups == 0 {
        json!({})
    } else if provenance.is_some() {
        Value::Object(outcome.spreads)
    } else {
        outcome.widest.map_or(Value::Null, number)
    };
    metrics
        .count("n", outcome.n)
        .set("summary", setting.summary.word())
        .number("k", limits.k)
        .set("tail", limits.tail.word())
        .set("normalise", setting.normalisation.map(Normalisation::word))
        .set("group_by_topology", setting.is_grouped)
        .set("grouping_provenance", provenance)
        .count("n_groups", n_groups)
        .set("outliers", outcome.outliers)
        .set("outliers_by_group", outcome.by_group)
        .set("z", outcome.z)
        .set("unscored_small_groups", outcome.small)
        .set("left_out", left_out)
        .number_or_null("min_abs_dev", limits.min_abs_dev)
        .set("cohort_spread", spread);
    metrics
}
