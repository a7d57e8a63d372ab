//! A filter whose pressure drop asks for a change (Air rules §2.11).

use crate::finding::{Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::gates::FanGate;
use crate::masks;
use crate::numeric;
use crate::parameters::{ParameterError, Parameters};
use crate::rules::RuleCode;

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("filter_fouling", analyse)
    .checked_by(check)
    .judged_by(judge);

fn check(parameters: &Parameters) -> Result<(), ParameterError> {
    if parameters.number("fault_factor") < 1.0 {
        return Err(parameters.refuse(
            "fault_factor",
            "a fault cannot begin below the change-out pressure; give 1 or more",
        ));
    }
    Ok(())
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let pressure = frame.column("filter_diff_press")?;
    let gate = FanGate::of(frame, parameters.flag("fan_gate"));
    let judged = masks::picked_values(pressure, &gate.rows(frame.len()));
    let masked = numeric::count(pressure) - judged.len();
    let mut gated = Metrics::new();
    gated
        .set("fan_gate", gate.source)
        .count("n_judged", judged.len())
        .count("n_masked_fan_off", masked);
    // Told even when it is empty: of the optional inputs only a fan signal is ever missed.
    let missing: &[&str] = match gate.is_missing() {
        true => &["supply_fan_status"],
        false => &[],
    };
    gated.set("_missing_optional", missing);
    if judged.is_empty() {
        return Some(Verdict::info(
            gated,
            format!(
                "The filter was not judged: there is no pressure reading among its {}.",
                gate.basis()
            ),
        ));
    }
    let change = parameters.number("change_dp_inwc");
    let fault = change * parameters.number("fault_factor");
    let median = numeric::median(&judged);
    let over = numeric::percent_of(
        judged.iter().filter(|value| **value > change).count(),
        judged.len(),
    );
    let mut metrics = Metrics::new();
    metrics
        .rounded("filter_dp_median_inwc", median, 3)
        .number("change_dp_inwc", change)
        .rounded("fault_dp_inwc", fault, 3)
        .rounded("pct_over_threshold", over, 1)
        .rounded("filter_dp_p95_inwc", numeric::quantile(&judged, 0.95), 3);
    for (name, value) in gated.into_map() {
        metrics.set(&name, value);
    }
    let summary = format!(
        "Median filter pressure drop {median:.2} in. w.c. (change-out {change:.2}, fault {fault:.2}); {over:.0} % of {} \
         lie above change-out.",
        gate.basis()
    );
    let verdict = Verdict::new(Severity::at_least(median, change, fault), metrics, summary);
    Some(if gate.is_missing() {
        verdict.with_caveat(
            "No fan signal is trended: readings with the fan off, about zero, pull the median down.",
        )
    } else {
        verdict
    })
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let pressure = frame.column("filter_diff_press")?;
    let gate = FanGate::of(frame, parameters.flag("fan_gate"));
    let judged = masks::and(&gate.rows(frame.len()), &masks::present(pressure));
    let change = parameters.number("change_dp_inwc");
    let flagged = masks::and(
        &judged,
        &masks::where_value(pressure, |value| value > change),
    );
    Some(Judgement::of(gate.basis(), judged, flagged))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{self, is_occupied, week};

    fn occupied(row: usize) -> f64 {
        f64::from(u8::from(is_occupied(row)))
    }

    #[test]
    fn a_loaded_filter_is_told_from_the_hours_the_fan_runs() {
        let pressure = |row| 1.2 * occupied(row);
        let table = week(&[
            ("filter_diff_press", &pressure),
            ("supply_fan_status", &occupied),
        ]);
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        let metric = |name: &str| verdict.metrics.as_number(name);
        assert_eq!(verdict.severity, Severity::Warn);
        assert_eq!(
            (metric("n_judged"), metric("n_masked_fan_off")),
            (Some(55.0), Some(113.0))
        );
        let judgement = testing::judge(&RULE, &table, json!({})).unwrap();
        assert_eq!(judgement.judged_basis, "fan-on samples");
        assert_eq!(masks::count(&judgement.samples.flagged), 55);

        let blind = week(&[("filter_diff_press", &pressure)]);
        let verdict = testing::run(&RULE, &blind, json!({})).unwrap();
        assert_eq!((verdict.severity, verdict.caveats.len()), (Severity::Ok, 1));
        assert_eq!(
            (
                verdict.metrics.as_number("filter_dp_median_inwc"),
                verdict.metrics.as_number("pct_over_threshold"),
            ),
            (Some(0.0), Some(32.7))
        );
    }

    #[test]
    fn half_as_much_again_is_a_fault() {
        let table = week(&[
            ("filter_diff_press", &|_| 1.6),
            ("supply_fan_status", &|_| 1.0),
        ]);
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Fault);
    }

    #[test]
    fn a_fan_that_never_runs_leaves_nothing_to_judge() {
        let table = week(&[
            ("filter_diff_press", &|_| 1.6),
            ("supply_fan_status", &|_| 0.0),
        ]);
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Info);
        assert_eq!(verdict.metrics.as_number("n_masked_fan_off"), Some(168.0));
    }
}
