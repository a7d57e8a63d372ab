//! Air over a direct-expansion coil, by what it is cooled (Plant rules §2.18).

use serde_json::json;

use super::dx_cooling::{self, Target};
use crate::finding::{Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::masks;
use crate::numeric;
use crate::parameters::Parameters;
use crate::rules::RuleCode;

/// Differences of return and supply air outside of these are no coil's (°F).
const CREDIBLE_SPLIT: std::ops::RangeInclusive<f64> = 0.0..=45.0;

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("dx_indoor_airflow", analyse)
    .checked_by(dx_cooling::check_targets)
    .judged_by(judge);

/// Cooling samples with a credible split.
struct Splits {
    judged: Vec<bool>,
    split: Vec<f64>,
}

fn splits(frame: &Frame<'_>) -> Option<Splits> {
    let split = masks::paired(
        frame.column("return_air_temp")?,
        frame.column("supply_air_temp")?,
        |returned, supplied| returned - supplied,
    );
    let credible = masks::where_value(&split, |split| CREDIBLE_SPLIT.contains(&split));
    Some(Splits {
        judged: masks::and(&dx_cooling::cooling_rows(frame), &credible),
        split,
    })
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let splits = splits(frame)?;
    let values = masks::picked_values(&splits.split, &splits.judged);
    let needed = parameters.count("min_samples");
    let equip = frame.equip();
    let mut metrics = Metrics::new();
    // Also without any sample, whatever is needed.
    if values.is_empty() || values.len() < needed {
        metrics
            .set("declined", true)
            .set("reason", "too_few_samples");
        let summary =
            format!("{equip}: the air over the coil was not judged: too few cooling samples.");
        return Some(Verdict::info(metrics, summary).with_caveat(format!(
            "{} cooling-mode samples with return and supply air were found, {needed} are needed.",
            values.len()
        )));
    }
    let median = numeric::median(&values);
    let target = Target::of(parameters, equip)
        .and_then(|target| Some((target.number("temp_split_f")?, target.tolerance(parameters))));
    let (severity, verdict, measured, caveat) = match target {
        Some((target, tolerance)) => {
            let deviation = median - target;
            let severity = Severity::at_least(deviation.abs(), tolerance, 2.0 * tolerance);
            let verdict = match severity {
                Severity::Ok => "airflow_ok",
                _ if deviation > 0.0 => "airflow_low",
                _ => "airflow_high",
            };
            metrics
                .set("mode", "target")
                .rounded("temp_split_median_f", median, 2)
                .number("target_temp_split_f", target)
                .number("tolerance_f", tolerance)
                .rounded("deviation_f", deviation, 2);
            let measured = format!(
                "return and supply air differ by {median:.1} °F while cooling (median), {deviation:+.1} °F from the target of \
                 {target} ± {tolerance} °F"
            );
            let caveat = "A fixed target does not allow for humidity: a moist return makes the split smaller.";
            (severity, verdict, measured, caveat)
        }
        None => {
            let (low, high) = (
                parameters.number("min_split_f"),
                parameters.number("max_split_f"),
            );
            let (severity, verdict) = if median > high {
                (Severity::Warn, "airflow_low")
            } else if median < low {
                (Severity::Warn, "split_low")
            } else {
                (Severity::Ok, "airflow_ok")
            };
            metrics
                .set("mode", "limits")
                .rounded("temp_split_median_f", median, 2)
                .set("limits_f", json!([low, high]));
            let measured =
                format!("return and supply air differ by {median:.1} °F while cooling (median)");
            let caveat = "Only a wide band was applied; set targets with the split of the unit to judge it closer.";
            (severity, verdict, measured, caveat)
        }
    };
    metrics
        .count("n_cooling_rows", values.len())
        .set("airflow_verdict", verdict)
        .set("attribution", "indoor_airflow");
    let suspected = match verdict {
        "airflow_low" => ": too little air, check filter, fan and coil for dirt",
        "airflow_high" => {
            ": too much air or too little capacity, check fan speed and refrigerant charge"
        }
        "split_low" => {
            ": too much air or too little capacity, check fan speed, charge and compressor"
        }
        _ => "",
    };
    let summary = format!("{equip}: {measured}{suspected}.");
    Some(Verdict::new(severity, metrics, summary).with_caveat(caveat))
}

fn judge(frame: &Frame<'_>, _: &Parameters) -> Option<crate::finding::Judgement> {
    splits(frame)?;
    Some(crate::finding::Judgement::whole_period(
        "the rule judges the median of the cooling-mode samples of the window and flags no single ones",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{self, hourly};

    /// Ten days, return 75 °F, cooling from 08:00 to 18:00.
    fn verdict(supply: f64, set: serde_json::Value) -> Verdict {
        let on = |row: usize| (8..18).contains(&(row % 24));
        let table = hourly(
            240,
            &[
                ("return_air_temp", &|_| 75.0),
                ("supply_air_temp", &|row| {
                    if on(row) { supply } else { 75.0 }
                }),
                ("compressor_status", &|row| f64::from(u8::from(on(row)))),
            ],
        );
        testing::run(&RULE, &table, set).unwrap()
    }

    fn word(verdict: &Verdict) -> &str {
        verdict
            .metrics
            .get("airflow_verdict")
            .unwrap()
            .as_str()
            .unwrap()
    }

    #[test]
    fn a_wide_band_is_never_a_fault() {
        let good = verdict(55.0, json!({}));
        assert_eq!((good.severity, word(&good)), (Severity::Ok, "airflow_ok"));
        assert_eq!(good.metrics.get("n_cooling_rows"), Some(&json!(100)));
        let dirty = verdict(31.0, json!({}));
        assert_eq!(
            (dirty.severity, word(&dirty)),
            (Severity::Warn, "airflow_low")
        );
        assert!(dirty.summary.contains("44.0 °F") && dirty.summary.contains("filter"));
    }

    #[test]
    fn a_target_tells_both_directions_and_faults() {
        let low = verdict(51.0, json!({"targets": {"temp_split_f": 20}}));
        assert_eq!((low.severity, word(&low)), (Severity::Warn, "airflow_low"));
        assert_eq!(low.metrics.as_number("deviation_f"), Some(4.0));
        let high = verdict(61.0, json!({"targets": {"temp_split_f": 20}}));
        assert_eq!(
            (high.severity, word(&high)),
            (Severity::Fault, "airflow_high")
        );
        assert!(
            high.summary
                .contains("-6.0 °F from the target of 20 ± 3 °F")
        );
    }

    #[test]
    fn warm_supply_leaves_nothing_to_judge() {
        let none = verdict(76.0, json!({"min_samples": 0}));
        assert_eq!(none.metrics.get("reason"), Some(&json!("too_few_samples")));
    }
}
