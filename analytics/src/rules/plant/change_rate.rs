//! Compressor stages and reversing valves that change too often (Plant rules §2.13, §2.14).

use super::change_count::Changes;
use super::trend_interval::Resolution;
use crate::finding::{EventCount, Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::parameters::Parameters;
use crate::rules::RuleCode;

/// Stages of compressors.
pub const STAGING: RuleCode =
    RuleCode::equipment("compressor_staging", analyse_staging).judged_by(judge_staging);

/// Reversing valves of heat pumps.
pub const DEFROST: RuleCode =
    RuleCode::equipment("heatpump_defrost", analyse_defrost).judged_by(judge_defrost);

const STAGE_CHANGES: &str = "stage changes";
const REVERSALS: &str = "reversals";

fn stage_changes(frame: &Frame<'_>) -> Option<Changes> {
    Changes::of_stage(frame.stamps(), frame.column("compressor_stage")?)
}

fn reversals(frame: &Frame<'_>) -> Option<Changes> {
    Changes::of_two_states(frame.stamps(), frame.column("reversing_valve_cmd")?)
}

fn analyse_staging(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let equip = frame.equip();
    let Some(changes) = stage_changes(frame) else {
        return Some(Verdict::info(
            Metrics::new(),
            format!("{equip}: insufficient stage samples to count changes."),
        ));
    };
    let limit = parameters.number("max_changes_per_day");
    let rate = changes.per_day();
    let mut metrics = Metrics::new();
    metrics
        .rounded("stage_changes_per_day", rate, 2)
        .number("max_changes_per_day", limit)
        .count("n_changes", changes.count())
        .number("max_stage", changes.largest)
        .rounded("n_days", changes.span_days, 2)
        .number_or_null("interval_min", changes.interval_min)
        .count("n_partial", changes.n_partial);
    let summary = format!(
        "{equip} changes its stage {rate:.1} times a day while it runs (limit {limit:.0}); its top stage is {:.0}.",
        changes.largest
    );
    let severity = Severity::at_least(rate, limit, 2.0 * limit);
    let verdict = Verdict::new(severity, metrics, summary);
    Some(told(verdict, &changes, parameters, STAGE_CHANGES, limit))
}

fn analyse_defrost(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let equip = frame.equip();
    let Some(changes) = reversals(frame) else {
        return Some(Verdict::info(
            Metrics::new(),
            format!("{equip}: insufficient reversing-valve samples to count reversals."),
        ));
    };
    let limit = parameters.number("max_reversals_per_day");
    let rate = changes.per_day();
    let mut metrics = Metrics::new();
    metrics
        .rounded("reversals_per_day", rate, 2)
        .number("max_reversals_per_day", limit)
        .count("n_reversals", changes.count())
        .rounded("n_days", changes.span_days, 2)
        .number_or_null("interval_min", changes.interval_min)
        .count("n_partial", changes.n_partial);
    let severity = Severity::at_least(rate, limit, 2.0 * limit);
    let hint = match severity {
        Severity::Ok => "",
        _ => " Check how defrost is ended.",
    };
    let summary =
        format!("{equip} reverses its valve {rate:.1} times a day (limit {limit:.0}).{hint}");
    let verdict = Verdict::new(severity, metrics, summary);
    Some(told(verdict, &changes, parameters, REVERSALS, limit))
}

/// The verdict with what its trend is too coarse or too short for.
fn told(
    mut verdict: Verdict,
    changes: &Changes,
    parameters: &Parameters,
    counted: &str,
    limit: f64,
) -> Verdict {
    let resolution = Resolution {
        counted,
        interval_min: changes.interval_min,
        max_interval_min: parameters.number("max_interval_min"),
        n_partial: changes.n_partial,
        limit,
    };
    resolution.apply(&mut verdict);
    verdict.with_caveats(changes.short_trend_caveat())
}

fn judge_staging(frame: &Frame<'_>, _: &Parameters) -> Option<Judgement> {
    Some(judged(
        "the rule judges the rate of changes over all stage samples, not single hours",
        STAGE_CHANGES,
        stage_changes(frame),
    ))
}

fn judge_defrost(frame: &Frame<'_>, _: &Parameters) -> Option<Judgement> {
    Some(judged(
        "the rule judges the rate of reversals over all reversing-valve samples, not single hours",
        REVERSALS,
        reversals(frame),
    ))
}

fn judged(note: &str, name: &str, changes: Option<Changes>) -> Judgement {
    let mut judgement = Judgement::whole_period(note);
    judgement.events = Vec::from_iter(changes.map(|changes| EventCount {
        name: name.to_owned(),
        count: changes.count(),
        stamps: changes.stamps,
    }));
    judgement
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{self, every};
    use crate::wall_clock::MINUTE;

    #[test]
    fn a_stage_that_changes_every_ten_minutes_is_a_fault() {
        let table = every(
            5 * MINUTE,
            288,
            &[("compressor_stage", &|row| {
                if row % 4 < 2 { 1.0 } else { 2.0 }
            })],
        );
        let verdict = testing::run(&STAGING, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Fault);
        assert_eq!(
            verdict.metrics.as_number("stage_changes_per_day"),
            Some(143.0)
        );
        assert_eq!(verdict.caveats.len(), 1);
        let judgement = testing::judge(&STAGING, &table, json!({})).unwrap();
        assert_eq!(
            (judgement.events[0].name.as_str(), judgement.events[0].count),
            ("stage changes", 143)
        );
    }

    #[test]
    fn to_start_and_to_stop_is_no_stage_change() {
        let table = every(
            5 * MINUTE,
            288,
            &[("compressor_stage", &|row| f64::from(u8::from(row % 12 < 6)))],
        );
        let verdict = testing::run(&STAGING, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Ok);
        assert_eq!(verdict.metrics.as_number("n_changes"), Some(0.0));
    }

    #[test]
    fn an_hourly_defrost_is_a_warning_and_a_coarse_trend_declines() {
        let table = every(
            5 * MINUTE,
            288,
            &[("reversing_valve_cmd", &|row| {
                f64::from(u8::from(row % 12 != 0))
            })],
        );
        let verdict = testing::run(&DEFROST, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Warn);
        assert_eq!(verdict.metrics.as_number("reversals_per_day"), Some(47.0));
        assert!(verdict.summary.contains("defrost"));
        let coarse = every(
            15 * MINUTE,
            96,
            &[("reversing_valve_cmd", &|row| {
                if row % 16 == 4 { 0.67 } else { 1.0 }
            })],
        );
        let verdict = testing::run(&DEFROST, &coarse, json!({})).unwrap();
        assert_eq!(
            (verdict.severity, verdict.caveats.len()),
            (Severity::Info, 2)
        );
        assert!(!verdict.summary.contains("defrost"));
        let judgement = testing::judge(&DEFROST, &coarse, json!({})).unwrap();
        assert_eq!(judgement.events[0].count, 12);
    }
}
