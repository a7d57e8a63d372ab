//! Box airflow off its setpoint (Air rules §2.2).

use crate::finding::{Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::gates;
use crate::masks;
use crate::numeric;
use crate::parameters::Parameters;
use crate::rules::RuleCode;

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("airflow_tracking", analyse).judged_by(judge);

/// The samples that count, and those that are off.
struct Tracking {
    /// Error as a fraction of the setpoint; missing where the setpoint is no more than `min_sp`.
    error: Vec<f64>,
    judged: Vec<bool>,
    low: Vec<bool>,
    high: Vec<bool>,
    fan_gate: Option<&'static str>,
    is_occupied: bool,
}

impl Tracking {
    fn of(frame: &Frame<'_>, parameters: &Parameters) -> Option<Self> {
        let airflow = frame.column("airflow")?;
        let setpoint = frame.column("airflow_sp")?;
        let least = parameters.number("min_sp");
        let tolerance = parameters.number("tol_frac");
        let absolute = parameters.number("abs_tol");
        let error: Vec<f64> = airflow
            .iter()
            .zip(setpoint)
            .map(|(flow, sp)| {
                if sp.abs() > least {
                    (flow - sp) / sp
                } else {
                    f64::NAN
                }
            })
            .collect();
        let fan = gates::fan_on_without_airflow(frame);
        let mut judged = masks::present(&error);
        if let Some(fan) = &fan {
            masks::narrow(&mut judged, &fan.mask);
        }
        let occupancy = frame.with_data("occupancy");
        if let Some(occupancy) = occupancy {
            masks::narrow(&mut judged, &masks::where_value(occupancy, |on| on > 0.5));
        }
        let is_far = masks::where_pair(&error, setpoint, |error, sp| (error * sp).abs() > absolute);
        let off = masks::and(&judged, &is_far);
        let low = masks::and(
            &off,
            &masks::where_value(&error, |error| error < -tolerance),
        );
        let high = masks::and(&off, &masks::where_value(&error, |error| error > tolerance));
        Some(Self {
            error,
            judged,
            low,
            high,
            fan_gate: fan.map(|fan| fan.source),
            is_occupied: occupancy.is_some(),
        })
    }

    /// The judged samples by name.
    fn samples(&self) -> String {
        self.hours().replace("hours", "samples")
    }

    const fn hours(&self) -> &'static str {
        match (self.fan_gate.is_some(), self.is_occupied) {
            (false, false) => "active hours",
            (false, true) => "occupied hours",
            (true, false) => "fan-on hours",
            (true, true) => "occupied fan-on hours",
        }
    }
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let tracking = Tracking::of(frame, parameters)?;
    let n = masks::count(&tracking.judged);
    let fan_gate = tracking.fan_gate.unwrap_or(gates::UNGATED);
    let occupancy_gate = if tracking.is_occupied {
        "trended occupancy"
    } else {
        "none trended"
    };
    let mut metrics = Metrics::new();
    let verdict = if n == 0 {
        metrics
            .count("n_active", 0)
            .set("fan_gate", fan_gate)
            .set("occupancy_gate", occupancy_gate);
        Verdict::info(
            metrics,
            "Airflow was not compared with its setpoint: no sample that counts has both.",
        )
    } else {
        let under = numeric::percent_of(masks::count(&tracking.low), n);
        let over = numeric::percent_of(masks::count(&tracking.high), n);
        let off = under + over;
        let error =
            numeric::mean_of(masks::picked(&tracking.error, &tracking.judged).map(f64::abs));
        metrics
            .rounded("off_setpoint_pct", off, 2)
            .rounded("undershoot_pct", under, 2)
            .rounded("overshoot_pct", over, 2)
            .rounded("mean_abs_rel_error", error, 3)
            .count("n_active", n)
            .number("tol_frac", parameters.number("tol_frac"))
            .set("fan_gate", fan_gate)
            .set("occupancy_gate", occupancy_gate);
        let severity = Severity::at_least(
            off,
            parameters.number("warn_pct"),
            parameters.number("fault_pct"),
        );
        let summary = format!(
            "Airflow is off its setpoint in {off:.0} % of {} (starved {under:.0} %, over-supplied {over:.0} %); the mean \
             error is {:.0} % of the setpoint.",
            tracking.hours(),
            100.0 * error
        );
        Verdict::new(severity, metrics, summary)
    };
    if tracking.fan_gate.is_none() && !tracking.is_occupied {
        return Some(verdict.with_caveat(
            "Neither a fan signal nor occupancy is trended: every sample with a setpoint counts, so hours with the air \
             handler off may read as starved.",
        ));
    }
    Some(verdict)
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let tracking = Tracking::of(frame, parameters)?;
    let flagged = masks::or(&tracking.low, &tracking.high);
    Some(Judgement::of(tracking.samples(), tracking.judged, flagged))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{self, is_occupied, week};

    #[test]
    fn a_box_with_half_its_air_is_starved() {
        let table = week(&[("airflow", &|_| 250.0), ("airflow_sp", &|_| 500.0)]);
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Fault);
        assert_eq!(
            serde_json::Value::Object(verdict.metrics.clone().into_map()),
            json!({
                "off_setpoint_pct": 100.0, "undershoot_pct": 100.0, "overshoot_pct": 0.0,
                "mean_abs_rel_error": 0.5, "n_active": 168, "tol_frac": 0.2,
                "fan_gate": "ungated — no fan signal", "occupancy_gate": "none trended",
            })
        );
        assert_eq!(verdict.caveats.len(), 1);
        assert!(verdict.summary.contains("100 % of active hours"));
    }

    #[test]
    fn only_hours_with_the_fan_on_count() {
        let on = |row| f64::from(u8::from(is_occupied(row)));
        let table = week(&[
            ("supply_fan_status", &on),
            ("airflow_sp", &|_| 500.0),
            ("airflow", &|row| match (is_occupied(row), row % 24) {
                (true, 7 | 8) => 350.0,
                (true, _) => 500.0,
                _ => 0.0,
            }),
        ]);
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Warn);
        let metric = |name: &str| verdict.metrics.as_number(name).unwrap();
        assert_eq!(
            (
                metric("off_setpoint_pct"),
                metric("undershoot_pct"),
                metric("mean_abs_rel_error"),
                metric("n_active")
            ),
            (18.18, 18.18, 0.055, 55.0)
        );
        assert!(verdict.caveats.is_empty());
        let judgement = testing::judge(&RULE, &table, json!({})).unwrap();
        assert_eq!(judgement.judged_basis, "fan-on samples");
        assert_eq!(masks::count(&judgement.samples.judged), 55);
        assert_eq!(masks::count(&judgement.samples.flagged), 10);
        let lax = testing::run(&RULE, &table, json!({"abs_tol": 200})).unwrap();
        assert_eq!(lax.severity, Severity::Ok);
    }

    #[test]
    fn a_box_without_a_setpoint_above_zero_is_not_judged() {
        let table = week(&[("airflow", &|_| 250.0), ("airflow_sp", &|_| 0.0)]);
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Info);
        assert_eq!(verdict.metrics.as_number("n_active"), Some(0.0));
    }
}
