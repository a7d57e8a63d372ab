//! Terminal reheat in weather or with air that asks for none (Air rules §2.20).
//!
//! - [`valve_check`]: whether the discharge air agrees with the valve.

mod valve_check;

use serde_json::Value;

use self::valve_check::{Agreement, ValveCheck};
use super::reheat_valve::{Divergence, OPEN, ReheatValve};
use crate::finding::{Judgement, Metrics, Severity, Verdict, number};
use crate::frame::Frame;
use crate::masks;
use crate::numeric;
use crate::occupancy::{self, Schedule};
use crate::parameters::{ParameterError, Parameters};
use crate::rules::RuleCode;

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("reheat_penalty", analyse)
    .checked_by(check)
    .judged_by(judge);

/// Air below this is cold supply, °F.
const COLD_SUPPLY: f64 = 60.0;

/// Weather above this asks for no heat, °F.
const WARM_WEATHER: f64 = 65.0;

/// From these shares of samples on it warns, and is a fault; percent.
const WARN: f64 = 5.0;
const FAULT: f64 = 20.0;

/// A gap of the outdoor temperature is filled over at most so many samples.
const FILLED: usize = 4;

fn check(parameters: &Parameters) -> Result<(), ParameterError> {
    if parameters.number("fan_heat_f") < 0.0 {
        return Err(parameters.refuse("fan_heat_f", "a fan only warms the air; give 0 or more"));
    }
    Ok(())
}

/// What the open valve coincides with, among the occupied samples.
struct Reheat<'a> {
    valve: ReheatValve<'a>,
    occupied: Vec<bool>,
    n: usize,
    open: Vec<bool>,
    in_warm_weather: Option<Vec<bool>>,
    of_cold_supply: Option<Vec<bool>>,
    supply_basis: Option<&'static str>,
    above_minimum: Vec<bool>,
    below_cool_setpoint: Vec<bool>,
}

impl<'a> Reheat<'a> {
    fn of(frame: &Frame<'a>, parameters: &Parameters) -> Option<Self> {
        let valve = ReheatValve::of(frame)?;
        let occupied = occupancy::effective(frame, &Schedule::of(parameters), true).mask;
        let open = masks::and(
            &occupied,
            &masks::where_value(valve.values, |value| value > OPEN),
        );
        let outdoors = frame
            .column("oat")
            .map(|oat| filled(oat, &occupied))
            .filter(|oat| !masks::picked_values(oat, &occupied).is_empty());
        let supply = [("mixed_air_temp", "primary"), ("supply_air_temp", "supply")]
            .into_iter()
            .find_map(|(role, basis)| Some((frame.with_data(role)?, basis)));
        let below = |values: &[f64], limit: f64| {
            masks::and(&open, &masks::where_value(values, |value| value < limit))
        };
        Some(Self {
            n: masks::count(&occupied),
            in_warm_weather: outdoors.map(|oat| {
                masks::and(
                    &open,
                    &masks::where_value(&oat, |value| value > WARM_WEATHER),
                )
            }),
            of_cold_supply: supply.map(|(air, _)| below(air, COLD_SUPPLY)),
            supply_basis: supply.map(|(_, basis)| basis),
            above_minimum: above_minimum(frame, &occupied, &open),
            below_cool_setpoint: below_cool_setpoint(frame, &open),
            valve,
            occupied,
            open,
        })
    }

    fn percent(&self, mask: &[bool]) -> f64 {
        numeric::round(numeric::percent_of(masks::count(mask), self.n), 2)
    }

    fn mean_open(&self) -> f64 {
        let open = masks::picked_values(self.valve.values, &self.open);
        if open.is_empty() {
            return 0.0;
        }
        numeric::round(numeric::mean(&open), 1)
    }

    /// The samples that the verdict rests on.
    fn headline(&self) -> Vec<bool> {
        self.in_warm_weather
            .as_ref()
            .or(self.of_cold_supply.as_ref())
            .cloned()
            .unwrap_or_else(|| vec![false; self.open.len()])
    }
}

/// The values of the occupied samples with short gaps filled from before, along those samples only.
fn filled(values: &[f64], occupied: &[bool]) -> Vec<f64> {
    let mut last = f64::NAN;
    let mut age = 0;
    values
        .iter()
        .zip(occupied)
        .map(|(value, occupied)| {
            if !occupied {
                return f64::NAN;
            }
            if value.is_nan() {
                age += 1;
                return if age <= FILLED { last } else { f64::NAN };
            }
            (last, age) = (*value, 0);
            *value
        })
        .collect()
}

fn above_minimum(frame: &Frame<'_>, occupied: &[bool], open: &[bool]) -> Vec<bool> {
    let Some(airflow) = frame.column("airflow") else {
        return vec![false; open.len()];
    };
    let setpoint = frame
        .column("airflow_min_sp")
        .or_else(|| frame.column("airflow_sp"));
    let above: Vec<bool> = match setpoint {
        Some(setpoint) => airflow
            .iter()
            .zip(setpoint)
            .map(|(airflow, setpoint)| *airflow > 1.1 * setpoint)
            .collect(),
        None => {
            let low = numeric::quantile(&masks::picked_values(airflow, occupied), 0.10);
            masks::where_value(airflow, |value| value > 1.5 * low)
        }
    };
    masks::and(open, &above)
}

fn below_cool_setpoint(frame: &Frame<'_>, open: &[bool]) -> Vec<bool> {
    match (frame.column("space_temp"), frame.column("cool_sp")) {
        (Some(temperature), Some(setpoint)) => temperature
            .iter()
            .zip(setpoint)
            .zip(open)
            .map(|((temperature, setpoint), open)| *open && temperature <= setpoint)
            .collect(),
        _ => vec![false; open.len()],
    }
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let Some(reheat) = Reheat::of(frame, parameters).filter(|reheat| reheat.n > 0) else {
        return Some(Verdict::info(
            Metrics::new(),
            "Reheat was not judged: insufficient data, no occupied sample has the valve.",
        ));
    };
    let check = ValveCheck::of(frame, parameters, &reheat.occupied, reheat.valve.values);
    let mut metrics = Metrics::new();
    check.write(&mut metrics);
    let divergence = Divergence::of(frame, &reheat.occupied);
    metrics.set("valve_signal", reheat.valve.signal).set(
        "valve_divergence_share",
        divergence.map_or(Value::Null, |divergence| {
            number(numeric::round(divergence.share, 3))
        }),
    );
    if check.agreement == Agreement::OpenNoRise {
        return Some(declined(metrics, &reheat, &check, divergence));
    }
    Some(judged(metrics, &reheat, &check, divergence))
}

fn declined(
    mut metrics: Metrics,
    reheat: &Reheat<'_>,
    check: &ValveCheck,
    divergence: Option<Divergence>,
) -> Verdict {
    let open = reheat.percent(&reheat.open);
    let rise = check.open_rise.unwrap_or(f64::NAN);
    let reason = format!(
        "the air is only {rise:.1} °F warmer with the valve open, below {:.1} °F: valve and discharge air disagree",
        check.open_bound()
    );
    metrics.set("declined", true).set("reason", reason.as_str());
    for name in [
        "valve_open_pct",
        "reheat_at_high_oat_pct",
        "reheat_and_coldsupply_pct",
        "reheat_above_min_flow_pct",
        "reheat_below_coolsp_pct",
    ] {
        metrics.set(name, Value::Null);
    }
    metrics
        .number("reported_valve_open_pct", open)
        .number("mean_valve_when_open", reheat.mean_open())
        .count("n_considered", reheat.n)
        .set(
            "coldsupply_basis",
            reheat.supply_basis.map_or(Value::Null, Value::from),
        );
    Verdict::info(
        metrics,
        format!(
            "Reheat was not judged: {reason}. The valve reads open in {open:.0} % of occupied samples."
        ),
    )
    .with_caveat(
        "A valve that reads open without warming the air is stuck, without hot water, or not the valve of this box.",
    )
    .with_caveats(divergence.and_then(Divergence::caveat))
}

fn judged(
    mut metrics: Metrics,
    reheat: &Reheat<'_>,
    check: &ValveCheck,
    divergence: Option<Divergence>,
) -> Verdict {
    let open = reheat.percent(&reheat.open);
    let warm = reheat
        .in_warm_weather
        .as_ref()
        .map(|mask| reheat.percent(mask));
    let cold = reheat
        .of_cold_supply
        .as_ref()
        .map(|mask| reheat.percent(mask));
    let mut severity = Severity::at_least(warm.or(cold).unwrap_or(0.0), WARN, FAULT);
    let mut caveats = Vec::new();
    // With weather to judge by, no supply air at all counts as none that is cold.
    let mut told_cold = cold.or(warm.map(|_| 0.0));
    if warm.is_none() && cold.is_none() {
        severity = Severity::Info;
        caveats.push(
            "Neither outdoor nor supply air temperature is trended: whether reheat is a penalty cannot be judged.".to_owned(),
        );
    } else if reheat.supply_basis == Some("supply") {
        if warm.is_none() && severity == Severity::Ok {
            severity = Severity::Info;
            told_cold = None;
        }
        caveats.push(
            "Cold supply is read from the discharge air, which reheat itself warms: the share is a lower bound.".to_owned(),
        );
    }
    if check.agreement == Agreement::ClosedWithRise {
        if severity == Severity::Ok {
            severity = Severity::Info;
        }
        caveats.push(format!(
            "The discharge is well above the reference in {:.0} % of samples with the valve shut: it may leak, or the \
             signal is not this valve's.",
            100.0 * check.closed_share.unwrap_or(f64::NAN)
        ));
    }
    caveats.extend(divergence.and_then(Divergence::caveat));
    metrics
        .number("valve_open_pct", open)
        .number("reheat_at_high_oat_pct", warm.unwrap_or(0.0))
        .number_or_null("reheat_and_coldsupply_pct", told_cold)
        .set(
            "coldsupply_basis",
            reheat.supply_basis.map_or(Value::Null, Value::from),
        )
        .number(
            "reheat_above_min_flow_pct",
            reheat.percent(&reheat.above_minimum),
        )
        .number(
            "reheat_below_coolsp_pct",
            reheat.percent(&reheat.below_cool_setpoint),
        )
        .number("mean_valve_when_open", reheat.mean_open())
        .count("n_considered", reheat.n);
    let signal = match reheat.valve.signal {
        "position" => " by its measured position",
        _ => "",
    };
    let told = match (warm, told_cold) {
        (Some(warm), _) => format!("; {warm:.0} % with outdoor air above {WARM_WEATHER:.0} °F"),
        (None, Some(cold)) => format!("; {cold:.0} % with supply air below {COLD_SUPPLY:.0} °F"),
        _ => String::new(),
    };
    let summary =
        format!("The reheat valve is open{signal} in {open:.0} % of occupied samples{told}.");
    Verdict::new(severity, metrics, summary).with_caveats(caveats)
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let reheat = Reheat::of(frame, parameters)?;
    let check = ValveCheck::of(frame, parameters, &reheat.occupied, reheat.valve.values);
    if check.agreement == Agreement::OpenNoRise {
        return None;
    }
    let flagged = reheat.headline();
    Some(Judgement::of("occupied samples", reheat.occupied, flagged))
}

#[cfg(test)]
mod tests;
