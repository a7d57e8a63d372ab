//! A heat-pump source loop that pumps without taking up or giving off heat (Plant rules §2.25).

use crate::finding::{Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::masks;
use crate::numeric;
use crate::parameters::Parameters;
use crate::rules::RuleCode;

/// The best differences of a flat loop stay below this share of the design: fault, warn.
const LOW_PEAK: (f64, f64) = (0.25, 0.5);

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("source_loop_deltat", analyse).judged_by(judge);

/// The loop while it is pumped.
struct Pumping {
    /// All samples that count as pumping, temperatures or not.
    running: Vec<bool>,
    /// Those with both temperatures.
    judged: Vec<bool>,
    /// Return minus supply.
    rise: Vec<f64>,
    is_gated: bool,
}

fn pumping(frame: &Frame<'_>, parameters: &Parameters) -> Option<Pumping> {
    let rise = masks::paired(
        frame.column("source_loop_return_temp")?,
        frame.column("source_loop_supply_temp")?,
        |returned, supplied| returned - supplied,
    );
    let running = match (
        frame.column("pump_status"),
        frame.column("source_loop_pump_speed"),
    ) {
        (Some(status), _) => Some(masks::where_value(status, |status| status > 0.5)),
        (None, Some(speed)) => {
            let least = parameters.number("min_pump_speed_pct");
            Some(masks::where_value(speed, |speed| speed > least))
        }
        (None, None) => None,
    };
    let is_gated = running.is_some();
    let running = running.unwrap_or_else(|| vec![true; frame.len()]);
    Some(Pumping {
        judged: masks::and(&running, &masks::present(&rise)),
        running,
        rise,
        is_gated,
    })
}

/// Median gap in hours; one hour for a single row.
fn step_hours(frame: &Frame<'_>) -> f64 {
    match frame.step_hours() {
        step if step > 0.0 => step,
        _ => 1.0,
    }
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let pumping = pumping(frame, parameters)?;
    let (flat_limit, design) = (
        parameters.number("flat_deltat_f"),
        parameters.number("design_deltat_f"),
    );
    let equip = frame.equip();
    let rises = masks::picked_values(&pumping.rise, &pumping.judged);
    let n = rises.len();
    let hours = numeric::share_of(n) * step_hours(frame);
    let mut metrics = Metrics::new();
    let ungated = (!pumping.is_gated).then(|| {
        "No pump status or speed is trended: hours with the loop pump off are judged like the others.".to_owned()
    });
    // Also without any sample, whatever the least hours are.
    if n == 0 || hours < parameters.number("min_hours") {
        metrics
            .set("declined", true)
            .set("reason", "too_few_pumping_hours");
        return Some(
            Verdict::info(
                metrics,
                format!("{equip}: the loop was not judged: it pumped {hours:.1} h with both temperatures."),
            )
            .with_caveats(ungated)
            .with_caveat(format!(
                "At least {} pumping hours with both temperatures are needed.",
                parameters.number("min_hours")
            )),
        );
    }
    let percent = |counts: &dyn Fn(f64) -> bool| {
        numeric::percent_of(rises.iter().filter(|rise| counts(**rise)).count(), n)
    };
    let differences: Vec<f64> = rises.iter().map(|rise| rise.abs()).collect();
    let flat = percent(&|rise| rise.abs() < flat_limit);
    let peak = numeric::quantile(&differences, 0.9);
    let median = numeric::median(&differences);
    let share = numeric::percent_of(masks::count(&pumping.running), frame.len());
    metrics
        .rounded("deltat_median_f", median, 2)
        .rounded("deltat_p90_f", peak, 2)
        .rounded("flat_pct", flat, 1)
        .rounded("pumping_pct_of_time", share, 1)
        .rounded("pumping_hours", hours, 1)
        .number("design_deltat_f", design)
        .rounded("return_warmer_pct", percent(&|rise| rise > flat_limit), 1)
        .rounded("return_colder_pct", percent(&|rise| rise < -flat_limit), 1);
    if let Some(pressure) = frame.column("source_loop_diff_press") {
        let pressure: Vec<f64> = masks::picked_values(pressure, &pumping.judged);
        metrics.rounded("diff_press_median", numeric::median(&pressure), 2);
    }
    let severity = if flat >= parameters.number("fault_flat_pct") && peak < LOW_PEAK.0 * design {
        Severity::Fault
    } else if flat >= parameters.number("warn_flat_pct") && peak < LOW_PEAK.1 * design {
        Severity::Warn
    } else {
        Severity::Ok
    };
    let summary = match severity {
        Severity::Ok => format!(
            "{equip}: the loop moves heat: difference of supply and return {median:.1} °F (median), {peak:.1} °F (90th \
             percentile)."
        ),
        _ => format!(
            "{equip}: the loop is pumped {share:.0} % of the time, and its supply and return differ by less than \
             {flat_limit} °F in {flat:.0} % of that (90th percentile {peak:.1} °F, design {design} °F)."
        ),
    };
    Some(Verdict::new(severity, metrics, summary).with_caveats(ungated))
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    pumping(frame, parameters)?;
    Some(Judgement::whole_period(
        "the rule judges the differences of all pumping samples of the window together and flags no single ones",
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{self, hourly};

    #[test]
    fn a_loop_pumped_without_load_is_flat() {
        let table = hourly(
            240,
            &[
                ("source_loop_supply_temp", &|_| 60.0),
                ("source_loop_return_temp", &|row| {
                    if row % 24 < 21 { 60.3 } else { 62.0 }
                }),
                ("pump_status", &|_| 1.0),
            ],
        );
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Fault);
        assert_eq!(verdict.metrics.as_number("flat_pct"), Some(87.5));
        assert_eq!(verdict.metrics.as_number("return_warmer_pct"), Some(12.5));
        let judgement = testing::judge(&RULE, &table, json!({})).unwrap();
        assert!(judgement.note.unwrap().contains("pumping samples"));
    }

    #[test]
    fn a_status_without_samples_is_a_pump_that_never_runs() {
        let table = hourly(
            240,
            &[
                ("source_loop_supply_temp", &|_| 60.0),
                ("source_loop_return_temp", &|_| 60.0),
                ("pump_status", &|_| f64::NAN),
                ("source_loop_pump_speed", &|_| 80.0),
            ],
        );
        let verdict = testing::run(&RULE, &table, json!({"min_hours": 0.0})).unwrap();
        assert_eq!(verdict.severity, Severity::Info);
        assert_eq!(
            verdict.metrics.get("reason"),
            Some(&json!("too_few_pumping_hours"))
        );
        assert_eq!(verdict.caveats.len(), 1);
    }
}
