//! Boilers that fire in warm weather (Plant rules §2.2).

use super::hot_water::{self, HotWaterPlant};
use super::run_gates::Firing;
use crate::finding::{Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::parameters::Parameters;
use crate::rules::RuleCode;

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("boiler_summer_lockout", analyse).judged_by(judge);

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let equip = frame.equip();
    let lockout = parameters.number("summer_lockout_oat_f");
    let judged = Firing::of(frame).and_then(|firing| {
        // The difference of the loop is the business of another rule.
        let plant = HotWaterPlant::of(frame, &firing, lockout, 0.0)?;
        Some((firing, plant))
    });
    let Some((firing, plant)) = judged else {
        return Some(Verdict::info(
            Metrics::new(),
            format!("{equip}: insufficient data, no occupied sample has a firing reading."),
        ));
    };
    let mut metrics = Metrics::new();
    metrics
        .number("boiler_running_pct", plant.running_pct)
        .number_or_null("summer_run_pct", plant.summer_run_pct)
        .number("lockout_oat_f", lockout)
        .number_or_null("hws_median_f", plant.supply_median_f)
        .number_or_null("hws_slope_per_F", plant.supply_slope)
        .set("hws_reset_present", plant.has_supply_reset)
        .count("n_running", plant.n_running)
        .count("n_considered", plant.n_considered)
        .number_or_null("max_oat_running_f", plant.max_oat_running_f);
    firing.mark(&mut metrics);
    let severity = match plant.summer_run_pct {
        Some(share) => hot_water::summer_severity(share),
        None => Severity::Info,
    };
    let mut caveats = Vec::from_iter(firing.caveat());
    if plant.summer_run_pct.is_none() {
        caveats.push(
            "The summer lockout was not evaluated: no outdoor temperature while the boiler fires."
                .to_owned(),
        );
    }
    if plant.has_supply_reset.is_none() {
        caveats.push(
            "The reset of the supply temperature was not evaluated: fewer than 10 running samples with it and a varying \
             outdoor temperature."
                .to_owned(),
        );
    }
    Some(Verdict::new(severity, metrics, summary(equip, &plant, lockout)).with_caveats(caveats))
}

fn summary(equip: &str, plant: &HotWaterPlant, lockout: f64) -> String {
    let summer = match plant.summer_run_pct {
        Some(share) => format!("{share:.0} % of its firing was above {lockout:.0} °F outdoors"),
        None => "firing in warm weather was not evaluated".to_owned(),
    };
    let reset = match plant.has_supply_reset {
        Some(true) => "is reset with the outdoor temperature",
        Some(false) => "is hardly reset with the outdoor temperature",
        None => "was not evaluated for a reset",
    };
    let slope = plant
        .supply_slope
        .map(|slope| format!(" ({:+.2} °F per °F)", slope + 0.0))
        .unwrap_or_default();
    format!(
        "{equip} fired {:.0} % of occupied hours; {summer}; its supply {reset}{slope}.",
        plant.running_pct
    )
}

fn judge(_: &Frame<'_>, _: &Parameters) -> Option<Judgement> {
    Some(Judgement::whole_period(
        "the rule judges the share of all occupied boiler-running samples, weighted by duty, not single hours",
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::frame::RoleFrame;
    use crate::rules::testing::{self, Column, hourly};

    /// 36 °F at midnight to 82 °F at 23:00, two weeks.
    fn ramp(row: usize) -> f64 {
        50.0 + 2.0 * (testing_hour(row) - 7.0)
    }

    fn testing_hour(row: usize) -> f64 {
        f64::from(u32::try_from(row % 24).unwrap())
    }

    fn plant(columns: &[Column<'_>]) -> RoleFrame {
        hourly(336, columns)
    }

    #[test]
    fn a_boiler_that_runs_through_the_warm_afternoon_is_a_fault() {
        let table = plant(&[
            ("oat", &ramp),
            ("boiler_status", &|_| 1.0),
            ("hw_supply_temp", &|row| 180.0 - 0.5 * (ramp(row) - 50.0)),
            ("hw_return_temp", &|row| 160.0 - 0.5 * (ramp(row) - 50.0)),
        ]);
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(
            (verdict.severity, verdict.caveats.len()),
            (Severity::Fault, 0)
        );
        assert_eq!(verdict.metrics.as_number("summer_run_pct"), Some(27.27));
        assert_eq!(verdict.metrics.as_number("hws_slope_per_F"), Some(-0.5));
        assert!(
            verdict.summary.contains("(-0.50 °F per °F)"),
            "{}",
            verdict.summary
        );
    }

    #[test]
    fn firing_for_a_quarter_of_the_hour_counts_for_a_quarter() {
        let table = plant(&[
            ("oat", &ramp),
            ("boiler_status", &|row| {
                if ramp(row) > 65.0 { 0.25 } else { 1.0 }
            }),
            ("hw_supply_temp", &|_| 180.0),
        ]);
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Warn);
        assert_eq!(verdict.metrics.as_number("summer_run_pct"), Some(8.57));
        assert_eq!(
            verdict.metrics.get("hws_reset_present"),
            Some(&json!(false))
        );
    }

    #[test]
    fn without_outdoor_temperature_neither_check_is_claimed() {
        let table = plant(&[("boiler_status", &|_| 1.0), ("hw_supply_temp", &|_| 180.0)]);
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(
            (verdict.severity, verdict.caveats.len()),
            (Severity::Info, 2)
        );
        assert_eq!(verdict.metrics.get("summer_run_pct"), Some(&json!(null)));
    }
}
