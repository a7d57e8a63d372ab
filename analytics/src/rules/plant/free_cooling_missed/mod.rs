//! Mechanical cooling in weather that would cool for nothing (Plant rules §2.20).
//!
//! - [`economizer`]: whether the outdoor-air damper helps meanwhile. - `cause`: why free cooling was missed.

mod cause;
pub mod economizer;

use serde_json::json;

use self::cause::Cause;
use self::economizer::{IntegratedEconomizer, MIN_DAMPER_PCT, MIN_DELTA_F, MIN_FRACTION_PCT};
use crate::finding::{Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::gates::{self, FanGate};
use crate::masks;
use crate::numeric;
use crate::parameters::{ParameterError, Parameters};
use crate::rules::RuleCode;

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("free_cooling_missed", analyse)
    .checked_by(check)
    .judged_by(judge);

/// Optional roles that the rule names when they are absent.
const MIXING_ROLES: [&str; 3] = ["oa_damper", "mixed_air_temp", "return_air_temp"];

fn check(parameters: &Parameters) -> Result<(), ParameterError> {
    match parameters.optional("low_limit_f") {
        Some(low) if !(low < parameters.number("high_limit_f")) => {
            Err(parameters.refuse("low_limit_f", "it must be below high_limit_f"))
        }
        _ => Ok(()),
    }
}

/// What is judged of a unit.
struct FreeCooling {
    fan: FanGate,
    /// Free-cooling weather with the fan on.
    available: Vec<bool>,
    n_masked_fan_off: usize,
    integrated: Option<IntegratedEconomizer>,
    /// Available, with the cooling valve open.
    cooling: Vec<bool>,
    /// The same without an economizer that helps.
    missed: Vec<bool>,
    lockout: Option<Lockout>,
}

/// What a low limit leaves out.
struct Lockout {
    limit_f: f64,
    n_excluded: usize,
    n_cooling: usize,
}

impl FreeCooling {
    fn of(frame: &Frame<'_>, parameters: &Parameters) -> Option<Self> {
        let oat = frame.column("oat")?;
        let valve = gates::percent(frame.column("cool_valve")?);
        let (high, low) = (
            parameters.number("high_limit_f"),
            parameters.optional("low_limit_f"),
        );
        let fan = FanGate::of(frame, parameters.flag("fan_gate"));
        let fan_on = fan.rows(frame.len());
        let valid = masks::where_pair(oat, &valve, |oat, valve| !oat.is_nan() && !valve.is_nan());
        let mild = masks::where_value(oat, |oat| oat < high && low.is_none_or(|low| oat >= low));
        let weather = masks::and(&valid, &mild);
        let available = masks::and(&weather, &fan_on);
        let open = masks::where_value(&valve, |valve| valve > parameters.number("active"));
        let cooling = masks::and(&available, &open);
        let integrated = IntegratedEconomizer::of(frame, oat);
        let missed = match &integrated {
            Some(integrated) => masks::and_not(&cooling, &integrated.mask),
            None => cooling.clone(),
        };
        let lockout = low.map(|limit_f| {
            let below = masks::where_value(oat, |oat| oat < limit_f);
            let excluded = masks::and(&masks::and(&valid, &fan_on), &below);
            Lockout {
                limit_f,
                n_excluded: masks::count(&excluded),
                n_cooling: masks::count(&masks::and(&excluded, &open)),
            }
        });
        Some(Self {
            n_masked_fan_off: masks::count(&masks::and_not(&weather, &fan_on)),
            fan,
            available,
            integrated,
            cooling,
            missed,
            lockout,
        })
    }
}

/// Counts of samples as hours; none when the step of the samples is unknown.
struct Hours(Option<f64>);

impl Hours {
    fn of(frame: &Frame<'_>) -> Self {
        Self(Some(frame.step_hours()).filter(|step| *step > 0.0))
    }

    fn of_samples(&self, samples: usize) -> Option<f64> {
        self.0.map(|step| numeric::share_of(samples) * step)
    }

    fn rounded(&self, samples: usize) -> Option<f64> {
        self.of_samples(samples)
            .map(|hours| numeric::round(hours, 1))
    }

    /// "12 h", or "12 samples".
    fn words(&self, samples: usize) -> String {
        match self.of_samples(samples) {
            Some(hours) => format!("{hours:.0} h"),
            None => format!("{samples} samples"),
        }
    }
}

fn write_lockout(metrics: &mut Metrics, lockout: Option<&Lockout>, hours: &Hours) {
    if let Some(lockout) = lockout {
        metrics
            .number("low_limit_f", lockout.limit_f)
            .count("n_low_limit_excluded_samples", lockout.n_excluded)
            .number_or_null(
                "low_limit_excluded_hours",
                hours.rounded(lockout.n_excluded),
            )
            .number_or_null("low_limit_cooling_hours", hours.rounded(lockout.n_cooling));
    }
}

/// The rule names absent roles itself: of the fan signals it misses one only when there is none.
fn write_fan(metrics: &mut Metrics, frame: &Frame<'_>, judged: &FreeCooling) {
    metrics
        .set("fan_gate", judged.fan.source)
        .count("n_masked_fan_off", judged.n_masked_fan_off);
    let no_fan = gates::fan_on(frame).is_none();
    let missing: Vec<&str> = MIXING_ROLES
        .into_iter()
        .filter(|role| !frame.has(role))
        .chain(no_fan.then_some("supply_fan_status"))
        .collect();
    if !missing.is_empty() {
        metrics.set("_missing_optional", json!(missing));
    }
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let judged = FreeCooling::of(frame, parameters)?;
    let hours = Hours::of(frame);
    let n = masks::count(&judged.available);
    let equip = frame.equip();
    let high = parameters.number("high_limit_f");
    let mut metrics = Metrics::new();
    if n == 0 {
        write_lockout(&mut metrics, judged.lockout.as_ref(), &hours);
        write_fan(&mut metrics, frame, &judged);
        let with_fan = match judged.n_masked_fan_off {
            0 => "",
            _ => " with the fan on",
        };
        let summary = format!(
            "{equip}: free cooling was not judged: no sample is in its weather (outdoor air below {high} °F){with_fan}."
        );
        return Some(Verdict::info(metrics, summary));
    }
    let missed = masks::count(&judged.missed);
    let share = numeric::percent_of(missed, n);
    let active = parameters.number("active");
    metrics
        .rounded("missed_pct", share, 2)
        .number("high_limit_f", high)
        .number("active_pct", active)
        .count("n_free_cooling_samples", n)
        .number_or_null("n_free_cooling_hours", hours.rounded(n));
    let integrated = judged
        .integrated
        .as_ref()
        .map(|economizer| masks::count(&masks::and(&judged.cooling, &economizer.mask)));
    metrics
        .set(
            "integrated_economizer_basis",
            json!(
                judged
                    .integrated
                    .as_ref()
                    .map(|economizer| economizer.basis)
            ),
        )
        .set("n_integrated_economizer_samples", json!(integrated))
        .number_or_null(
            "integrated_economizer_hours",
            integrated.and_then(|samples| hours.rounded(samples)),
        )
        .number("econ_damper_min_pct", MIN_DAMPER_PCT)
        .number("econ_oaf_min_pct", MIN_FRACTION_PCT)
        .number("econ_min_delta_f", MIN_DELTA_F);
    Cause::of(frame, &judged.missed, &hours, parameters).write(&mut metrics);
    for name in [
        "cmd_open_pct",
        "oaf_open_pct",
        "stuck_min_share_pct",
        "stuck_min_hours",
        "stuck_low_oaf_pct",
    ] {
        metrics.number(name, parameters.number(name));
    }
    write_lockout(&mut metrics, judged.lockout.as_ref(), &hours);
    write_fan(&mut metrics, frame, &judged);
    let mut caveats = Vec::new();
    if judged.integrated.is_none() {
        caveats.push(
            "Neither an outdoor-air damper nor mixed and return air are trended: hours in which the economizer helps the \
             cooling coil count as missed."
                .to_owned(),
        );
    }
    let mut summary = format!(
        "{equip}: in {share:.0} % of {} of free-cooling weather (outdoor air below {high} °F) the cooling valve is open beyond \
         {active} % without full outdoor air",
        hours.words(n)
    );
    if let Some(samples) = integrated.filter(|samples| *samples > 0) {
        let share = numeric::percent_of(samples, n);
        let share = match share {
            share if share < 1.0 => "<1%".to_owned(),
            share => format!("{share:.0} %"),
        };
        summary += &format!("; in another {share} the economizer helps it");
    }
    if let Some(lockout) = judged
        .lockout
        .as_ref()
        .filter(|lockout| lockout.n_excluded > 0)
    {
        summary += &format!(
            "; {} below the low limit of {} °F are left out",
            hours.words(lockout.n_excluded),
            lockout.limit_f
        );
        caveats.push(format!(
            "The low limit of {} °F leaves out {}, in {} of which the valve cools; whether the unit has that limit was not \
             verified.",
            lockout.limit_f,
            hours.words(lockout.n_excluded),
            hours.words(lockout.n_cooling)
        ));
    }
    summary.push('.');
    let severity = Severity::at_least(
        share,
        parameters.number("warn_pct"),
        parameters.number("fault_pct"),
    );
    Some(Verdict::new(severity, metrics, summary).with_caveats(caveats))
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let judged = FreeCooling::of(frame, parameters)?;
    (masks::count(&judged.available) > 0)
        .then(|| Judgement::of("free-cooling samples", judged.available, judged.missed))
}

#[cfg(test)]
mod tests;
