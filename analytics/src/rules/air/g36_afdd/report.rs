//! The verdict over the fifteen conditions in figures and words (Air rules §2.12).

use serde_json::{Map, Value, json};

use super::super::monthly::months_metric;
use super::outcome::{Evaluated, Outcome, Outcomes, Reason};
use super::unit::{DamperSource, HeatingCoil, State, Unit};
use crate::finding::{Metrics, Severity, Verdict, number};
use crate::masks;
use crate::numeric;
use crate::parameters::Parameters;

/// At most so many conditions are named in the summary.
const NAMED: usize = 4;

/// The conditions that applied long enough to be graded.
struct Graded<'a> {
    /// Worst first; equal ones in order.
    by_share: Vec<&'a Evaluated>,
    warn: f64,
}

impl<'a> Graded<'a> {
    fn of(unit: &Unit, outcomes: &'a Outcomes, parameters: &Parameters) -> Self {
        let least = parameters.number("min_applicable_hours");
        let mut by_share: Vec<&Evaluated> = outcomes
            .evaluated()
            .filter(|it| unit.hours(masks::count(&it.applicable)) >= least)
            .collect();
        by_share.sort_by(|one, other| other.percent().total_cmp(&one.percent()));
        Self {
            by_share,
            warn: parameters.number("warn_pct"),
        }
    }

    fn worst(&self) -> Option<&'a Evaluated> {
        self.by_share
            .first()
            .copied()
            .filter(|it| it.percent() > 0.0)
    }

    fn flagged(&self) -> impl Iterator<Item = &'a Evaluated> {
        self.by_share
            .iter()
            .copied()
            .filter(|it| it.percent() >= self.warn)
    }
}

/// The finding.
pub(super) fn verdict(unit: &Unit, outcomes: &Outcomes, parameters: &Parameters) -> Verdict {
    let graded = Graded::of(unit, outcomes, parameters);
    let worst = graded.worst().map_or(0.0, Evaluated::percent);
    let severity = Severity::at_least(worst, graded.warn, parameters.number("fault_pct"));
    let metrics = metrics(unit, outcomes, &graded, parameters);
    let summary = summary(unit, outcomes, &graded, parameters);
    Verdict::new(severity, metrics, summary).with_caveats(caveats(unit, outcomes, parameters))
}

fn rounded_hours(unit: &Unit, mask: &[bool]) -> f64 {
    numeric::round(unit.hours(masks::count(mask)), 2)
}

fn metrics(
    unit: &Unit,
    outcomes: &Outcomes,
    graded: &Graded<'_>,
    parameters: &Parameters,
) -> Metrics {
    let hours = |mask: &[bool]| rounded_hours(unit, mask);
    let in_state = |state: State| {
        let rows: Vec<bool> = unit.states.iter().map(|other| *other == state).collect();
        hours(&masks::and(&unit.on, &rows))
    };
    let free_cooling = in_state(State::FreeCooling);
    let has_damper = unit.damper_source != DamperSource::NoDamper;
    let worst = graded.worst();
    let flagged: Vec<&str> = graded.flagged().map(|it| it.condition.name).collect();
    let mut metrics = Metrics::new();
    metrics
        .set(
            "worst_fc",
            worst.map_or(Value::Null, |it| it.condition.name.into()),
        )
        .rounded("worst_pct", worst.map_or(0.0, Evaluated::percent), 2)
        .set("flagged_fcs", flagged)
        .set("fc", by_condition(unit, outcomes))
        .set("fan_gate", unit.fan_gate)
        .number("fan_on_hours", hours(&unit.on))
        .number("suspended_hours", hours(&unit.suspended))
        .set(
            "os_hours",
            json!({
                "OS1": in_state(State::Heating),
                "OS2": free_cooling,
                "OS3": in_state(State::EconomizerAndMechanicalCooling),
                "OS4": in_state(State::MechanicalCooling),
                "OS5": in_state(State::Other),
            }),
        )
        .number("free_cooling_hours", free_cooling)
        .number_or_null(
            "oa_damper_min",
            has_damper.then(|| numeric::round(unit.damper_minimum, 2)),
        )
        .set("oa_damper_min_source", damper_source(unit.damper_source));
    let months = months_metric(parameters, "oa_damper_min_by_month");
    if has_damper && !months.is_null() {
        metrics.set("oa_damper_min_by_month", months);
    }
    metrics
        .number("idle_at_min_oa_hours", hours(&unit.idle_at_minimum))
        .number(
            "heating_above_min_oa_hours",
            hours(&unit.heating_above_minimum),
        )
        .set("occupancy_gate", unit.occupancy_gate)
        .number("unoccupied_hours", hours(&unit.unoccupied))
        .set(
            "attributed_to_fc14_hours",
            Value::Object(moved(unit, outcomes)),
        )
        .number("mode_delay_min", parameters.number("mode_delay_min"))
        .number("alarm_delay_min", parameters.number("alarm_delay_min"))
        .count("n_intervals", unit.stamps.len());
    metrics
}

fn damper_source(source: DamperSource) -> String {
    match source {
        DamperSource::NoDamper => String::new(),
        DamperSource::Caller => "caller".to_owned(),
        DamperSource::Learned(n) => {
            format!("learned: median of {n} samples of mechanical cooling with the fan on")
        }
        DamperSource::AssumedShut(n) => format!(
            "assumed 0 %: only {n} samples of mechanical cooling below the economizer position to learn it from"
        ),
    }
}

/// Hours that FC14 took from others, by condition.
fn moved(unit: &Unit, outcomes: &Outcomes) -> Map<String, Value> {
    outcomes
        .evaluated()
        .filter(|it| it.moved > 0)
        .map(|it| {
            let hours = numeric::round(unit.hours(it.moved), 2);
            (it.condition.name.to_owned(), number(hours))
        })
        .collect()
}

fn by_condition(unit: &Unit, outcomes: &Outcomes) -> Value {
    let rows = outcomes.0.iter().map(|(condition, outcome)| {
        let row = match outcome {
            Outcome::Omitted(reason) => json!({"status": "omitted", "reason": reason}),
            Outcome::Declined(Reason::Own(reason)) => {
                json!({"status": "declined", "reason": reason})
            }
            Outcome::Declined(Reason::Missing(roles)) => json!({
                "status": "declined",
                "reason": format!("not trended: {}", roles.join(", ")),
            }),
            Outcome::NotApplicable => json!({
                "status": "not applicable",
                "reason": "none of its operating states occurred",
            }),
            Outcome::Evaluated(it) => json!({
                "status": "evaluated",
                "pct": number(numeric::round(it.percent(), 2)),
                "hours": rounded_hours(unit, &it.reported),
                "applicable_hours": rounded_hours(unit, &it.applicable),
                "description": condition.description,
            }),
        };
        (condition.name.to_owned(), row)
    });
    Value::Object(rows.collect())
}

fn summary(
    unit: &Unit,
    outcomes: &Outcomes,
    graded: &Graded<'_>,
    parameters: &Parameters,
) -> String {
    let flagged: Vec<String> = graded
        .flagged()
        .take(NAMED)
        .map(|it| {
            format!(
                "{} ({}) in {:.0} % of its hours ({:.1} h)",
                it.condition.name,
                it.condition.description,
                it.percent(),
                unit.hours(masks::count(&it.reported))
            )
        })
        .collect();
    let told = if flagged.is_empty() {
        format!("none was reported in {} % of its hours", graded.warn)
    } else {
        flagged.join("; ")
    };
    format!(
        "{} of 15 fault conditions were evaluated: {told}. Fan gate: {}; mode delay {} min, alarm delay {} min.",
        outcomes.evaluated().count(),
        unit.fan_gate,
        parameters.number("mode_delay_min"),
        parameters.number("alarm_delay_min"),
    )
}

fn caveats(unit: &Unit, outcomes: &Outcomes, parameters: &Parameters) -> Vec<String> {
    let mut caveats = preparation_caveats(unit);
    let is_evaluated = |name: &str| {
        outcomes
            .evaluated()
            .any(|evaluated| evaluated.condition.name == name)
    };
    if is_evaluated("FC14") {
        caveats.push(
            "FC14 takes mixed and supply air for the air entering and leaving the cooling coil, less the heat of the fan."
                .to_owned(),
        );
    }
    if is_evaluated("FC6") {
        caveats.push(format!(
            "FC6 compares the outdoor air by the temperatures with {}; Guideline 36 compares with the setpoint in force.",
            minimum_words(parameters, "min_oa_pct", "min_oa_pct_by_month", "minimum")
        ));
    }
    if unit.damper_source == DamperSource::Caller
        && !months_metric(parameters, "oa_damper_min_by_month").is_null()
    {
        caveats.push(format!(
            "The damper counts as shut by {}.",
            minimum_words(
                parameters,
                "oa_damper_min",
                "oa_damper_min_by_month",
                "position"
            )
        ));
    }
    let mut lacking = Vec::new();
    for (condition, outcome) in &outcomes.0 {
        match outcome {
            Outcome::Declined(Reason::Own(reason)) => {
                caveats.push(format!("{} was not evaluated: {reason}.", condition.name));
            }
            Outcome::Declined(Reason::Missing(_)) => lacking.push(condition.name),
            _ => {}
        }
    }
    if !lacking.is_empty() {
        caveats.push(format!(
            "Not evaluated for want of a trended input: {}.",
            lacking.join(", ")
        ));
    }
    let moved = moved(unit, outcomes);
    if !moved.is_empty() {
        let told: Vec<String> = moved
            .iter()
            .map(|(name, hours)| format!("{name} {hours} h"))
            .collect();
        caveats.push(format!(
            "Hours that coincide with FC14, which explains them, are counted there: {}.",
            told.join(", ")
        ));
    }
    caveats
}

fn minimum_words(parameters: &Parameters, all_year: &str, by_month: &str, what: &str) -> String {
    let all_year = parameters.number(all_year);
    match months_metric(parameters, by_month) {
        Value::Object(months) => {
            let months: Vec<String> = months
                .iter()
                .map(|(month, value)| format!("{month}: {value} %"))
                .collect();
            format!(
                "a seasonal {what} of {all_year} % (month {})",
                months.join(", ")
            )
        }
        _ => format!("a fixed {what} of {all_year} %"),
    }
}

fn preparation_caveats(unit: &Unit) -> Vec<String> {
    let mut caveats = Vec::new();
    match unit.coil {
        HeatingCoil::Present => {}
        HeatingCoil::Ignored => caveats.push(
            "A heating valve is trended and ignored, as the unit is said to have no heating coil.".to_owned(),
        ),
        HeatingCoil::Absent => caveats
            .push("The unit is said to have no heating coil: FC7 and FC15 are left out.".to_owned()),
        HeatingCoil::Assumed => caveats.push(
            "No heating valve is trended, so the unit is taken to have no heating coil: FC7 and FC15 are left out."
                .to_owned(),
        ),
    }
    if !unit.has_mode {
        caveats.push(
            "No occupancy, warm-up or cool-down is trended: samples are suspended after fan starts only.".to_owned(),
        );
    }
    match unit.occupancy_gate {
        "off" => {}
        "trended occupancy" => caveats
            .push("Only hours that the trended occupancy marks as occupied are judged.".to_owned()),
        _ => caveats.push(
            "Occupied hours were asked for and no occupancy is trended: every fan-on hour is judged.".to_owned(),
        ),
    }
    match unit.damper_source {
        DamperSource::NoDamper => caveats.push(
            "No outdoor-air damper is trended: heating counts as heating at minimum outdoor air, and neither coil active as \
             free cooling."
                .to_owned(),
        ),
        DamperSource::AssumedShut(_) => caveats.push(
            "The least damper position could not be learned: 0 % stands for it; oa_damper_min gives the unit's own.".to_owned(),
        ),
        DamperSource::Caller | DamperSource::Learned(_) => {}
    }
    caveats
}
