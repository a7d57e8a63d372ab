//! Hot-water loops with too small a temperature difference (Plant rules §2.3).

use super::hot_water::HotWaterPlant;
use super::run_gates::Firing;
use crate::finding::{Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::parameters::Parameters;
use crate::rules::RuleCode;

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("hw_plant_deltat", analyse).judged_by(judge);

const WARN_PCT: f64 = 20.0;
const FAULT_PCT: f64 = 50.0;

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let equip = frame.equip();
    let design = parameters.number("design_deltaT_min_f");
    let judged = Firing::of(frame).and_then(|firing| {
        // Warm weather is the business of another rule.
        let plant = HotWaterPlant::of(frame, &firing, f64::INFINITY, design)?;
        let delta = plant.delta?;
        Some((firing, plant, delta))
    });
    let Some((firing, plant, delta)) = judged else {
        return Some(Verdict::info(
            Metrics::new(),
            format!(
                "{equip}: the difference of supply and return was not judged, fewer than 10 occupied running samples have \
                 both."
            ),
        ));
    };
    let mut metrics = Metrics::new();
    metrics
        .number("deltaT_median_f", delta.median_f)
        .number("design_deltaT_min_f", design)
        .number("low_deltaT_pct", delta.low_pct)
        .count("n_running", plant.n_running);
    firing.mark(&mut metrics);
    let summary = format!(
        "{equip} has a median difference of {:.1} °F between supply and return; {:.0} % of running samples are below \
         {design:.0} °F.",
        delta.median_f, delta.low_pct
    );
    let severity = Severity::at_least(delta.low_pct, WARN_PCT, FAULT_PCT);
    Some(Verdict::new(severity, metrics, summary).with_caveats(firing.caveat()))
}

fn judge(_: &Frame<'_>, _: &Parameters) -> Option<Judgement> {
    Some(Judgement::whole_period(
        "the rule judges the differences of all boiler-running samples together, not single hours",
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{self, hourly};

    #[test]
    fn a_small_difference_in_a_quarter_of_the_hours_is_a_warning() {
        let table = hourly(
            336,
            &[
                ("boiler_status", &|_| 1.0),
                ("hw_supply_temp", &|_| 160.0),
                ("hw_return_temp", &|row| {
                    if row % 24 < 10 { 145.0 } else { 138.0 }
                }),
            ],
        );
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Warn);
        assert_eq!(verdict.metrics.as_number("low_deltaT_pct"), Some(27.3));
        assert_eq!(verdict.metrics.as_number("deltaT_median_f"), Some(22.0));
    }

    #[test]
    fn hours_without_gas_are_not_judged() {
        let table = hourly(
            336,
            &[
                ("gas_input_rate", &|row| {
                    if row % 24 < 12 { 50.0 } else { 0.0 }
                }),
                ("hw_supply_temp", &|_| 160.0),
                ("hw_return_temp", &|_| 145.0),
            ],
        );
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(
            (verdict.severity, verdict.caveats.len()),
            (Severity::Fault, 1)
        );
        assert_eq!(verdict.metrics.as_number("n_running"), Some(50.0));
        let off = hourly(
            336,
            &[
                ("boiler_status", &|_| 0.0),
                ("hw_supply_temp", &|_| 160.0),
                ("hw_return_temp", &|_| 145.0),
            ],
        );
        let verdict = testing::run(&RULE, &off, json!({})).unwrap();
        assert!(verdict.severity == Severity::Info && verdict.metrics.as_map().is_empty());
    }
}
