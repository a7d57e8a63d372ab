//! Water that leaves a cooling tower too far above the wet bulb (Plant rules §2.17).

use std::borrow::Cow;

use serde_json::{Value, json};

use super::run_gates;
use super::wet_bulb_source::{self, WetBulb, WetBulbBasis};
use crate::finding::{Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::gates;
use crate::masks;
use crate::numeric;
use crate::parameters::Parameters;
use crate::rules::RuleCode;

/// Fewer operating samples tell nothing.
const MIN_SAMPLES: usize = 10;
/// An approach below is limited to it: sensors may cross by a little (°F).
const LEAST_APPROACH: f64 = -2.0;
/// An approach that much above design is high (°F).
const HIGH_ABOVE_DESIGN: f64 = 3.0;
/// Multiples of the design approach: warn, fault.
const LIMITS: (f64, f64) = (1.3, 1.7);
/// Share of the 95th percentile above which condenser water flows.
const FLOWING_SHARE: f64 = 0.05;
/// Credible return water (°F).
const CREDIBLE_RETURN: std::ops::RangeInclusive<f64> = 40.0..=130.0;

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("cooling_tower_approach", analyse).judged_by(judge);

/// The strongest signal that tells running, with its name.
fn run_gate(frame: &Frame<'_>) -> Option<(&'static str, Vec<bool>)> {
    let named = |name| move |mask| (name, mask);
    run_gates::status_on(frame, "pump_status")
        .map(named("pump_status"))
        .or_else(|| run_gates::status_on(frame, "compressor_status").map(named("chiller_status")))
        .or_else(|| {
            let flow = frame.with_data("cw_flow")?;
            run_gates::above_peak_share(flow, FLOWING_SHARE).map(named("cw_flow"))
        })
}

fn fan_speed<'a>(frame: &Frame<'a>) -> Option<Cow<'a, [f64]>> {
    frame.column("tower_fan_speed").map(gates::percent)
}

/// Operating samples of a tower, and how near they come to the wet bulb.
struct Operation {
    judged: Vec<bool>,
    approach: Vec<f64>,
    basis: WetBulbBasis,
    /// Samples with the fan on below its effort, where effort counts.
    n_low_effort: Option<usize>,
}

/// None without a wet bulb or with too few samples.
fn operation(
    frame: &Frame<'_>,
    parameters: &Parameters,
    running: Option<&[bool]>,
) -> Option<Operation> {
    let wet_bulb = WetBulb::of(frame, parameters)?;
    let mut judged = wet_bulb_source::credible_rows(frame, &wet_bulb.values)?;
    if let Some(returned) = frame.column("cw_return_temp") {
        let credible = masks::where_value(returned, |water| CREDIBLE_RETURN.contains(&water));
        masks::narrow(&mut judged, &credible);
    }
    if let Some(running) = running {
        masks::narrow(&mut judged, running);
    }
    let mut n_low_effort = None;
    match fan_speed(frame) {
        Some(speed) => {
            masks::narrow(&mut judged, &wet_bulb_source::fan_runs(&speed));
            if let Some(least) = parameters.optional("min_effort_pct") {
                let n_running = masks::count(&judged);
                masks::narrow(
                    &mut judged,
                    &masks::where_value(&speed, |speed| speed >= least),
                );
                n_low_effort = Some(n_running - masks::count(&judged));
            }
        }
        None => masks::narrow(&mut judged, &wet_bulb_source::water_is_cooled(frame)),
    }
    if masks::count(&judged) < MIN_SAMPLES {
        return None;
    }
    let approach = masks::paired(
        frame.column("cw_supply_temp")?,
        &wet_bulb.values,
        |water, wet_bulb| (water - wet_bulb).max(LEAST_APPROACH),
    );
    Some(Operation {
        judged,
        approach,
        basis: wet_bulb.basis,
        n_low_effort,
    })
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let gate = run_gate(frame);
    let tells = |role: &str| frame.with_data(role).is_some();
    if gate.is_none() && !tells("tower_fan_speed") && !tells("cw_return_temp") {
        let mut metrics = Metrics::new();
        metrics
            .set("declined", true)
            .set("reason", "no_operating_signal");
        return Some(decline(
            frame,
            metrics,
            "nothing tells when the tower operates",
            "Map a pump or chiller status, the flow, the fan speed or the return of the condenser water: standing water tells \
             nothing of a tower.",
        ));
    }
    let running = gate.as_ref().map(|(_, mask)| mask.as_slice());
    let Some(operation) = operation(frame, parameters, running) else {
        return Some(without_operation(frame, parameters, gate));
    };
    Some(judged_verdict(
        frame,
        parameters,
        &operation,
        gate.map(|(name, _)| name),
    ))
}

fn decline(frame: &Frame<'_>, metrics: Metrics, why: &str, caveat: &str) -> Verdict {
    let summary = format!(
        "{}: the tower's approach was not judged: {why}.",
        frame.equip()
    );
    Verdict::info(metrics, summary).with_caveat(caveat)
}

/// Why there are too few samples.
fn without_operation(
    frame: &Frame<'_>,
    parameters: &Parameters,
    gate: Option<(&'static str, Vec<bool>)>,
) -> Verdict {
    let mut metrics = Metrics::new();
    if let Some((name, _)) = gate.filter(|(_, mask)| !mask.contains(&true)) {
        metrics
            .set("declined", true)
            .set("reason", "never_running")
            .set("run_gate", name);
        return decline(
            frame,
            metrics,
            "the plant never runs in the window",
            "The run signal is never on; check its mapping when the tower was in use.",
        );
    }
    let (Some(speed), Some(least)) = (fan_speed(frame), parameters.optional("min_effort_pct"))
    else {
        let summary = format!(
            "{}: the tower's approach was not judged: insufficient data, fewer than {MIN_SAMPLES} operating samples have water \
             and wet bulb.",
            frame.equip()
        );
        return Verdict::info(metrics, summary);
    };
    metrics.set("declined", true);
    if WetBulb::of(frame, parameters).is_none() {
        return decline(
            frame,
            metrics,
            "no wet bulb is known",
            "Map the wet bulb, or outdoor temperature with humidity.",
        );
    }
    let n_high = speed.iter().filter(|speed| **speed >= least).count();
    metrics.count("n_high_effort", n_high);
    let why = match n_high {
        0 => format!(
            "the fan never reached {least} % (at most {:.0} %)",
            numeric::max(&speed)
        ),
        _ => format!("too few usable samples have the fan at {least} % or more"),
    };
    decline(
        frame,
        metrics,
        &why,
        "An approach is compared with its design at full fan only: at less the controls may hold the water warmer on purpose.",
    )
}

fn judged_verdict(
    frame: &Frame<'_>,
    parameters: &Parameters,
    operation: &Operation,
    run_gate: Option<&str>,
) -> Verdict {
    let design = parameters.number("design_approach_f");
    let approach = masks::picked_values(&operation.approach, &operation.judged);
    let n = approach.len();
    let median = numeric::round(numeric::median(&approach), 1);
    let high = approach
        .iter()
        .filter(|approach| **approach > design + HIGH_ABOVE_DESIGN)
        .count();
    let high = numeric::percent_of(high, n);
    let range = wet_bulb_source::range(frame).map(|range| {
        let range = masks::picked_values(&range, &operation.judged);
        numeric::round(numeric::median(&range), 1)
    });
    let is_effort_gated = operation.n_low_effort.is_some();
    let mut metrics = Metrics::new();
    metrics
        .number("approach_median_f", median)
        .number("design_approach_f", design)
        .number_or_null("range_median_f", range)
        .rounded("pct_hours_high_approach", high, 1)
        .set("wetbulb_source", operation.basis.source())
        .count("n_operating", n)
        .set(
            "effort_gated",
            match is_effort_gated {
                true => Value::Bool(true),
                false => Value::Null,
            },
        )
        .set("wetbulb_pressure_basis", operation.basis.pressure())
        .set("n_low_effort_excluded", json!(operation.n_low_effort))
        .set("run_gate", json!(run_gate));
    let severity = match design == 0.0 {
        true => Severity::Ok,
        false => Severity::at_least(median / design, LIMITS.0, LIMITS.1),
    };
    let mut caveats = Vec::new();
    if operation.basis == WetBulbBasis::SeaLevel {
        caveats.push(
            "The wet bulb is formed from temperature and humidity at sea level: at altitude it reads high, which understates \
             the approach. Set elevation_ft or pressure_psia."
                .to_owned(),
        );
    }
    if !is_effort_gated {
        caveats.push(
            "No fan speed was judged: hours in which the controls hold the water at a least condenser temperature could not be \
             left out."
                .to_owned(),
        );
    }
    let effort = match is_effort_gated {
        true => " at high fan speed",
        false => "",
    };
    let summary = format!(
        "{}: water leaves the tower {median:.1} °F above the {} wet bulb{effort} (median; design {design:.1} °F); {high:.0} % of \
         {n} samples are more than {HIGH_ABOVE_DESIGN} °F above design.",
        frame.equip(),
        operation.basis.source()
    );
    Verdict::new(severity, metrics, summary).with_caveats(caveats)
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let gate = run_gate(frame);
    let tells = |role: &str| frame.with_data(role).is_some();
    if gate.is_none() && !tells("tower_fan_speed") && !tells("cw_return_temp") {
        return None;
    }
    let running = gate.as_ref().map(|(_, mask)| mask.as_slice());
    let operation = operation(frame, parameters, running)?;
    let limit = parameters.number("design_approach_f") + HIGH_ABOVE_DESIGN;
    let high = masks::where_value(&operation.approach, |approach| approach > limit);
    let flagged = masks::and(&operation.judged, &high);
    let basis = match operation.n_low_effort {
        Some(_) => "operating samples at high fan effort",
        None => "operating samples",
    };
    Some(Judgement::of(basis, operation.judged, flagged))
}

#[cfg(test)]
mod tests;
