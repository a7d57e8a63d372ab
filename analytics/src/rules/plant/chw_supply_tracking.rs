//! Chilled water that stays above its setpoint (Plant rules §2.11).

use super::chilled_water::CREDIBLE_DELTA;
use super::chiller_staging_fleet::grouped;
use super::run_gates::ChilledWaterGate;
use crate::finding::{Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::masks;
use crate::numeric::{self, share_of};
use crate::parameters::Parameters;
use crate::rules::RuleCode;

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("chw_supply_tracking", analyse).judged_by(judge);

/// Credible supply temperatures and setpoints, °F.
const CREDIBLE_SUPPLY: std::ops::RangeInclusive<f64> = 30.0..=80.0;
const CREDIBLE_SETPOINT: std::ops::RangeInclusive<f64> = 30.0..=70.0;

/// Which samples are judged, and by how much the supply is above its setpoint.
struct Tracking<'a> {
    gate: ChilledWaterGate,
    supply: &'a [f64],
    setpoint: &'a [f64],
    judged: Vec<bool>,
    /// Supply less setpoint, °F.
    excess: Vec<f64>,
    above: Vec<bool>,
}

impl<'a> Tracking<'a> {
    fn of(frame: &Frame<'a>, parameters: &Parameters) -> Option<Self> {
        let supply = frame.column("chw_supply_temp")?;
        let setpoint = frame.column("chw_supply_temp_sp")?;
        let gate = ChilledWaterGate::of(frame);
        let settled = gate
            .mask
            .as_ref()
            .map(|on| settled(on, parameters.count("settle_intervals")));
        let mut judged = gate.running(settled.as_deref(), supply);
        masks::narrow(
            &mut judged,
            &masks::where_pair(supply, setpoint, |supply, setpoint| {
                CREDIBLE_SUPPLY.contains(&supply) && CREDIBLE_SETPOINT.contains(&setpoint)
            }),
        );
        let excess: Vec<f64> = supply.iter().zip(setpoint).map(|(a, b)| a - b).collect();
        let limit = parameters.number("above_f");
        let above = masks::and(&judged, &masks::where_value(&excess, |value| value > limit));
        Some(Self {
            gate,
            supply,
            setpoint,
            judged,
            excess,
            above,
        })
    }
}

/// Running samples without the first so many after each start; the first sample counts as a start.
fn settled(on: &[bool], intervals: usize) -> Vec<bool> {
    let mut ran_for = 0_usize;
    on.iter()
        .map(|on| {
            ran_for = if *on { ran_for.saturating_add(1) } else { 0 };
            ran_for > intervals
        })
        .collect()
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let equip = frame.equip();
    let tracking = Tracking::of(frame, parameters)?;
    let limit = parameters.number("above_f");
    let n = masks::count(&tracking.judged);
    let not_judged = |n: usize, why: &str| {
        let mut metrics = Metrics::new();
        metrics
            .set("run_source", tracking.gate.source)
            .number("above_f", limit)
            .count("n_running", n)
            .set("above_pct", serde_json::Value::Null);
        Verdict::info(
            metrics,
            format!("{equip}: chilled water was not compared with its setpoint, {why}."),
        )
    };
    if tracking.gate.is_never_on() {
        return Some(not_judged(0, "the plant never ran"));
    }
    let least = parameters.count("min_running");
    if n < least.max(1) {
        let why = format!("{n} settled running samples of {least} needed");
        return Some(not_judged(n, &why).with_caveats(tracking.gate.caveat()));
    }
    Some(judged(frame, parameters, &tracking))
}

fn judged(frame: &Frame<'_>, parameters: &Parameters, tracking: &Tracking<'_>) -> Verdict {
    let limit = parameters.number("above_f");
    let n = masks::count(&tracking.judged);
    let n_above = masks::count(&tracking.above);
    let step = frame.step_hours();
    let share = numeric::round(numeric::percent_by_mean(n_above, n), 1);
    let median = |values: &[f64], within: &[bool]| -> Option<f64> {
        let median = numeric::median(&masks::picked_values(values, within));
        (!median.is_nan()).then(|| numeric::round(median, 1))
    };
    let excess_above = median(&tracking.excess, &tracking.above);
    let supply_median = numeric::median(&masks::picked_values(tracking.supply, &tracking.judged));
    let setpoint_median =
        numeric::median(&masks::picked_values(tracking.setpoint, &tracking.judged));
    let deltas: Option<Vec<f64>> = frame.column("chw_return_temp").map(|back| {
        back.iter()
            .zip(tracking.supply)
            .map(|(back, supply)| back - supply)
            .map(|delta| match CREDIBLE_DELTA.contains(&delta) {
                true => delta,
                false => f64::NAN,
            })
            .collect()
    });
    let delta_over = |within: &[bool]| deltas.as_ref().and_then(|deltas| median(deltas, within));
    let delta = delta_over(&tracking.judged);
    let delta_above = delta_over(&tracking.above);
    let hours = share_of(n) * step;
    let mut metrics = Metrics::new();
    metrics
        .set("run_source", tracking.gate.source)
        .number("above_f", limit)
        .count("n_running", n)
        .rounded("running_hours", hours, 2)
        .number("above_pct", share)
        .rounded("above_hours", share_of(n_above) * step, 2)
        .rounded(
            "mean_excess_f",
            numeric::mean(&masks::picked_values(&tracking.excess, &tracking.judged)),
            2,
        )
        .number_or_null("median_excess_above_f", excess_above)
        .rounded("chwst_median_f", supply_median, 1)
        .rounded("setpoint_median_f", setpoint_median, 1)
        .number_or_null("deltaT_median_f", delta)
        .number_or_null("deltaT_median_above_f", delta_above)
        .set(
            "n_status_on",
            tracking.gate.mask.as_ref().map(|on| masks::count(on)),
        );
    let mut caveats = Vec::from_iter(tracking.gate.caveat());
    let mut severity = Severity::at_least(
        share,
        parameters.number("warn_pct"),
        parameters.number("fault_pct"),
    );
    if severity == Severity::Fault && tracking.gate.mask.is_none() {
        severity = Severity::Warn;
        caveats.push(
            "A fault was lowered to a warning: running is inferred from the supply temperature alone.".to_owned(),
        );
    }
    if delta.is_none() {
        caveats.push(
            "The difference of return and supply is not reported: no return temperature."
                .to_owned(),
        );
    }
    let mut summary = format!(
        "{}: chilled water is more than {limit} °F above its setpoint in {share:.0} % of {} running hours ({})",
        frame.equip(),
        grouped(hours),
        tracking.gate.words()
    );
    if let Some(excess) = excess_above {
        summary.push_str(&format!(", then by a median of {excess:.1} °F"));
    }
    summary.push_str(&format!(
        "; median supply {supply_median:.1} °F, setpoint {setpoint_median:.1} °F"
    ));
    if let Some(delta) = delta {
        summary.push_str(&format!("; median difference to the return {delta:.1} °F"));
    }
    if let Some(delta) = delta_above {
        summary.push_str(&format!(" ({delta:.1} °F while above)"));
    }
    summary.push('.');
    Verdict::new(severity, metrics, summary).with_caveats(caveats)
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let Tracking { judged, above, .. } = Tracking::of(frame, parameters)?;
    Some(Judgement::of("settled running samples", judged, above))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{self, hourly, named};

    fn on(row: usize) -> f64 {
        f64::from(u8::from((6..18).contains(&(row % 24))))
    }

    #[test]
    fn the_pull_down_after_a_start_counts_only_when_it_does_not_end() {
        let table = hourly(
            336,
            &[
                ("compressor_status", &on),
                ("chw_supply_temp_sp", &|_| 44.0),
                ("chw_supply_temp", &|row| match row % 24 {
                    6 => 55.0,
                    0..9 => 50.0,
                    _ => 44.0,
                }),
                ("chw_return_temp", &|_| 56.0),
            ],
        );
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(
            (verdict.severity, verdict.caveats.len()),
            (Severity::Warn, 0)
        );
        let metric = |name: &str| verdict.metrics.as_number(name).unwrap();
        assert_eq!(
            (
                metric("n_running"),
                metric("above_pct"),
                metric("mean_excess_f")
            ),
            (154.0, 18.2, 1.09)
        );
        let judgement = testing::judge(&RULE, &table, json!({})).unwrap();
        assert_eq!(masks::count(&judgement.samples.flagged), 28);
        assert_eq!(masks::count(&judgement.samples.judged), 154);
    }

    #[test]
    fn a_fault_by_temperature_alone_is_a_warning() {
        let table = hourly(
            336,
            &[
                ("chw_supply_temp_sp", &|_| 44.0),
                ("chw_supply_temp", &|_| 48.0),
            ],
        );
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(
            (verdict.severity, verdict.caveats.len()),
            (Severity::Warn, 3)
        );
        assert_eq!(verdict.metrics.get("n_status_on"), Some(&json!(null)));
    }

    #[test]
    fn a_loop_is_judged_while_its_pump_draws_power_and_too_few_samples_are_not() {
        let table = named(
            "LOOP",
            "SECLOOP",
            hourly(
                336,
                &[
                    ("power", &|row| if on(row) > 0.5 { 30.0 } else { 2.0 }),
                    ("chw_supply_temp_sp", &|_| 44.0),
                    ("chw_supply_temp", &|_| 44.5),
                ],
            ),
        );
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Ok);
        assert_eq!(
            verdict.metrics.get("run_source"),
            Some(&json!("pump_power"))
        );
        let few = json!({"min_running": 500});
        let verdict = testing::run(&RULE, &table, few).unwrap();
        assert_eq!(verdict.severity, Severity::Info);
        assert_eq!(verdict.metrics.get("above_pct"), Some(&json!(null)));
    }

    #[test]
    fn no_sample_is_no_share_even_when_none_is_needed() {
        let table = hourly(
            48,
            &[
                ("compressor_status", &|row| f64::from(u8::from(row == 5))),
                ("chw_supply_temp_sp", &|_| 44.0),
                ("chw_supply_temp", &|_| 48.0),
            ],
        );
        let verdict = testing::run(&RULE, &table, json!({"min_running": 0})).unwrap();
        assert_eq!(verdict.severity, Severity::Info);
        assert_eq!(verdict.metrics.as_number("n_running"), Some(0.0));
    }
}
