//! Dampers and valves of zones that stay put while the zone asks for movement (Air rules §2.1).

mod cause;
mod runs;

use serde_json::{Map, Value, json};

use self::cause::{Actuator, Cause, Limits, Reason, Tier, ZoneSignals};
use self::runs::FlatRun;
use crate::finding::{Condition, Flagged, Judgement, Metrics, Severity, Verdict, number};
use crate::frame::Frame;
use crate::gates;
use crate::masks;
use crate::numeric;
use crate::occupancy::{self, OccupancyBasis, Schedule};
use crate::parameters::{ParameterError, Parameters};
use crate::rules::{Inputs, RuleCode};
use crate::wall_clock::spaced;

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("actuator_stuck", |frame, parameters| {
    Some(analyse(frame, parameters))
})
.checked_by(check)
.with_inputs(inputs)
.judged_by(judge);

/// Runs that are listed of each actuator.
const LISTED_RUNS: usize = 10;

const POSITION: &str = "heat_valve_position";
const VALVE: &str = "heat_valve";

fn check(parameters: &Parameters) -> Result<(), ParameterError> {
    if parameters.words("roles").is_empty() {
        return Err(parameters.refuse("roles", "it must name at least one actuator"));
    }
    let share = parameters.number("whole_day_share");
    if !(share > 0.0 && share <= 1.0) {
        return Err(parameters.refuse("whole_day_share", "it must be above 0 and at most 1"));
    }
    let (warn, fault) = (
        parameters.number("warn_pct"),
        parameters.number("fault_pct"),
    );
    if !(0.0 <= warn && warn <= fault) {
        return Err(parameters.refuse("warn_pct", "it must be 0 or more and at most fault_pct"));
    }
    Ok(())
}

/// Configured roles in their order, each once.
fn configured(parameters: &Parameters) -> Vec<&str> {
    let mut roles = Vec::new();
    for role in parameters.words("roles") {
        if !roles.contains(&role) {
            roles.push(role);
        }
    }
    roles
}

fn inputs(parameters: &Parameters) -> Inputs {
    let mut group: Vec<String> = configured(parameters)
        .into_iter()
        .map(str::to_owned)
        .collect();
    let has = |role: &str| group.iter().any(|known| known == role);
    if has(POSITION) && !has(VALVE) {
        group.push(VALVE.to_owned());
    }
    let optional = [
        "space_temp",
        "cool_sp",
        "heat_sp",
        "airflow",
        "airflow_sp",
        "occupancy",
        "supply_fan_status",
    ];
    Inputs {
        required: Vec::new(),
        any_of: vec![group],
        optional: optional.map(str::to_owned).to_vec(),
    }
}

/// When the zone should be served.
struct Active {
    mask: Vec<bool>,
    basis: OccupancyBasis,
    has_fan: bool,
}

impl Active {
    fn of(frame: &Frame<'_>, parameters: &Parameters) -> Self {
        let occupied = occupancy::effective(frame, &Schedule::of(parameters), false);
        let mut mask = occupied.mask;
        let fan = frame.with_data("supply_fan_status");
        if let Some(fan) = fan {
            masks::narrow(&mut mask, &masks::where_value(fan, |status| status > 0.5));
        }
        Self {
            mask,
            basis: occupied.basis,
            has_fan: fan.is_some(),
        }
    }
}

/// One actuator as it was judged.
struct Judged {
    role: String,
    valid: Vec<bool>,
    n_active: usize,
    longest_hours: f64,
    /// Runs that speak against it, by time.
    flagged: Vec<(FlatRun, Cause)>,
    severity: Severity,
    stuck_share: f64,
    contradicted_share: f64,
}

impl Judged {
    fn of(
        frame: &Frame<'_>,
        role: &str,
        active: &Active,
        zone: &ZoneSignals<'_>,
        parameters: &Parameters,
    ) -> Option<Self> {
        let tolerance = parameters.number("tol_pct");
        let position = gates::percent(frame.with_data(role)?);
        let signal: Vec<f64> = position
            .iter()
            .map(|value| {
                if tolerance > 0.0 {
                    (value / tolerance).round_ties_even() * tolerance
                } else {
                    *value
                }
            })
            .collect();
        let twin = match role {
            POSITION => frame.with_data(VALVE).map(gates::percent),
            _ => None,
        };
        let actuator = Actuator {
            is_heating: matches!(role, POSITION | VALVE),
            is_damper: role == "damper",
            demand: twin.as_deref(),
        };
        let valid = masks::and(&active.mask, &masks::present(&signal));
        let n_active = masks::count(&valid);
        let (runs, longest_hours) = runs::flat_runs(
            frame.stamps(),
            &signal,
            &active.mask,
            parameters.number("min_flat_hours"),
        );
        let limits = Limits::of(parameters);
        let per_day = runs::samples_per_day(frame.stamps(), &valid);
        let flagged: Vec<(FlatRun, Cause)> = runs
            .into_iter()
            .filter_map(|run| {
                let day = per_day.get(&run.day()).copied().unwrap_or(0);
                let cause = cause::classify(&run, day, &actuator, zone, &limits)?;
                Some((run, cause))
            })
            .collect();
        let share = |counts: fn(Tier) -> bool| {
            let held = flagged
                .iter()
                .filter(|(_, cause)| counts(cause.tier))
                .map(|(run, _)| run.rows.len())
                .sum();
            match n_active {
                0 => 0.0,
                n => numeric::percent_of(held, n),
            }
        };
        let stuck_share = share(|_| true);
        let contradicted_share = share(|tier| tier == Tier::Contradicted);
        let mut judged = Self {
            role: role.to_owned(),
            valid,
            n_active,
            longest_hours,
            flagged,
            severity: Severity::Ok,
            stuck_share,
            contradicted_share,
        };
        judged.severity = judged.rate(parameters);
        Some(judged)
    }

    fn rate(&self, parameters: &Parameters) -> Severity {
        let Some((_, cause)) = self.worst() else {
            return Severity::Ok;
        };
        if cause.tier == Tier::Contradicted
            && self.contradicted_share >= parameters.number("fault_pct")
        {
            Severity::Fault
        } else if self.stuck_share >= parameters.number("warn_pct") {
            Severity::Warn
        } else {
            Severity::Info
        }
    }

    /// The longest of the runs that are contradicted, or else of those that are only unexplained.
    fn worst(&self) -> Option<&(FlatRun, Cause)> {
        let rank = |(run, cause): &(FlatRun, Cause)| (cause.tier, run.rows.len());
        self.flagged.iter().fold(None, |worst, run| match worst {
            Some(worst) if rank(worst) >= rank(run) => Some(worst),
            _ => Some(run),
        })
    }

    fn figures(&self) -> Map<String, Value> {
        let worst = self.worst();
        let cause = worst.map(|(_, cause)| cause);
        let mut metrics = Metrics::new();
        metrics
            .count("flat_runs", self.flagged.len())
            .rounded("stuck_share", self.stuck_share, 2)
            .rounded("contradicted_share", self.contradicted_share, 2)
            .number_or_null("value", worst.map(|(run, _)| run.value))
            .set("tier", cause.map(|cause| cause.tier.word()))
            .set("reason", cause.map(|cause| cause.reason.word()))
            .set("driver", cause.and_then(|cause| cause.driver))
            .rounded("longest_flat_hours", self.longest_hours, 2)
            .count("n_active", self.n_active);
        metrics.into_map()
    }

    fn runs(&self) -> Vec<Value> {
        self.flagged
            .iter()
            .take(LISTED_RUNS)
            .map(|(run, cause)| {
                json!({
                    "start": spaced(run.start),
                    "end": spaced(run.end),
                    "hours": number(numeric::round(run.hours, 2)),
                    "value": number(run.value),
                    "n": run.rows.len(),
                    "tier": cause.tier.word(),
                    "reason": cause.reason.word(),
                    "driver": cause.driver,
                    "detail": cause.detail.map_or(Value::Null, number),
                })
            })
            .collect()
    }

    fn name(&self) -> &'static str {
        match self.role.as_str() {
            "damper" => "The damper",
            "cool_valve" => "The cooling valve",
            _ => "The heating valve",
        }
    }

    fn summary(&self) -> String {
        let name = self.name();
        let Some((run, cause)) = self.worst() else {
            return format!(
                "{name} moves: its longest flat run in active time is {:.1} h.",
                self.longest_hours
            );
        };
        format!(
            "{name} stood at {:.1} % for {:.1} h {}; it is stuck in {:.0} % of active samples.",
            run.value,
            run.hours,
            cause.words(),
            self.stuck_share
        )
    }
}

/// Every configured actuator that has data.
fn judged(frame: &Frame<'_>, active: &Active, parameters: &Parameters) -> Vec<Judged> {
    let roles = configured(parameters);
    let zone = ZoneSignals::of(frame);
    let mut judged: Vec<Judged> = Vec::new();
    for role in &roles {
        let falls_back =
            *role == POSITION && frame.with_data(POSITION).is_none() && !roles.contains(&VALVE);
        let role = if falls_back { VALVE } else { role };
        if judged.iter().any(|known| known.role == role) {
            continue;
        }
        judged.extend(Judged::of(frame, role, active, &zone, parameters));
    }
    judged
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Verdict {
    let active = Active::of(frame, parameters);
    let actuators = judged(frame, &active, parameters);
    let mut metrics = Metrics::new();
    if actuators.is_empty() {
        return Verdict::info(
            metrics,
            "Actuators were not judged: none of them has a sample.",
        );
    }
    let mut rows = Map::new();
    for actuator in &actuators {
        let mut row = actuator.figures();
        row.insert("runs".to_owned(), actuator.runs().into());
        rows.insert(actuator.role.clone(), row.into());
    }
    if actuators.iter().all(|actuator| actuator.n_active == 0) {
        metrics
            .set("roles", rows)
            .set("active_basis", active.basis.words());
        return Verdict::info(
            metrics,
            "Actuators were not judged: none has a sample in active time.",
        );
    }
    let lead = actuators
        .iter()
        .fold(None, |lead: Option<&Judged>, actuator| match lead {
            Some(lead) if !is_worse(actuator, lead) => Some(lead),
            _ => Some(actuator),
        });
    let Some(lead) = lead else {
        return Verdict::info(metrics, "Actuators were not judged.");
    };
    for (name, value) in lead.figures() {
        metrics.set(&name, value);
    }
    metrics
        .set("role", lead.role.as_str())
        .set("roles", rows)
        .set("active_basis", active.basis.words());
    Verdict::new(lead.severity, metrics, lead.summary())
        .with_caveats(caveats(frame, &active, &actuators, parameters))
}

fn is_worse(one: &Judged, other: &Judged) -> bool {
    match one.severity.cmp(&other.severity) {
        std::cmp::Ordering::Equal => one.stuck_share > other.stuck_share,
        order => order.is_lt(),
    }
}

fn caveats(
    frame: &Frame<'_>,
    active: &Active,
    actuators: &[Judged],
    parameters: &Parameters,
) -> Vec<String> {
    let mut caveats = Vec::new();
    if !frame.has("space_temp") {
        caveats.push(
            "No space temperature is trended: whether the zone asked for movement was not checked."
                .to_owned(),
        );
    }
    for actuator in actuators {
        let is_by_mode = actuator
            .worst()
            .is_some_and(|(_, cause)| cause.reason == Reason::ClosedOccupied);
        if is_by_mode {
            caveats.push(format!(
                "{} is judged by the occupied mode alone: nothing tells what airflow the zone asked for.",
                actuator.name()
            ));
        }
    }
    if active.basis == OccupancyBasis::Assumed {
        let schedule = Schedule::of(parameters);
        let days: Vec<String> = schedule.days.iter().map(u32::to_string).collect();
        caveats.push(format!(
            "Occupancy is not trended: {} to {} h on weekdays {} (Monday is 0) are taken as occupied.",
            schedule.start_hour,
            schedule.end_hour,
            days.join(", ")
        ));
    }
    caveats
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let active = Active::of(frame, parameters);
    let basis = if active.has_fan {
        "active samples (occupied, fan on)"
    } else {
        "active samples (occupied)"
    };
    let conditions: Vec<Condition> = judged(frame, &active, parameters)
        .into_iter()
        .map(|actuator| {
            let mut flagged = vec![false; frame.len()];
            for row in actuator.flagged.iter().flat_map(|(run, _)| &run.rows) {
                if let Some(set) = flagged.get_mut(*row) {
                    *set = true;
                }
            }
            Condition {
                name: actuator.role,
                judged_basis: basis.to_owned(),
                samples: Flagged {
                    judged: actuator.valid,
                    flagged,
                },
            }
        })
        .collect();
    let mut judgement = Judgement::of(basis, vec![false; frame.len()], vec![false; frame.len()]);
    for condition in &conditions {
        let samples = &condition.samples;
        judgement.samples.judged = masks::or(&judgement.samples.judged, &samples.judged);
        judgement.samples.flagged = masks::or(&judgement.samples.flagged, &samples.flagged);
    }
    (!conditions.is_empty()).then_some(Judgement {
        conditions,
        ..judgement
    })
}

#[cfg(test)]
mod tests;
