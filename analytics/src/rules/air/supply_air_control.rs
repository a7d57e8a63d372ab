//! Supply air off its setpoint (Air rules §2.26).

use crate::finding::{Judgement, Metrics, Severity, Verdict, number};
use crate::frame::Frame;
use crate::gates;
use crate::masks;
use crate::numeric;
use crate::occupancy::{self, Schedule};
use crate::parameters::Parameters;
use crate::rules::RuleCode;

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("supply_air_control", analyse).judged_by(judge);

/// Which samples are judged.
struct Running {
    mask: Vec<bool>,
    occupancy_gate: &'static str,
    is_occupied: bool,
}

/// None when the unit has no fan point at all.
fn running(frame: &Frame<'_>, parameters: &Parameters) -> Option<Running> {
    if !frame.has("supply_fan_status") && !frame.has("supply_fan_speed") {
        return None;
    }
    let Some(fan) = gates::fan_on_without_airflow(frame) else {
        return Some(Running {
            mask: vec![true; frame.len()],
            occupancy_gate: "none trended (fan-on hours only)",
            is_occupied: false,
        });
    };
    let trended = frame.with_data("occupancy");
    let (occupied, occupancy_gate) = match (parameters.word("occupancy_gate"), trended) {
        (Some("off"), _) => (None, "off"),
        (_, Some(occupancy)) => (
            Some(occupancy.iter().map(|value| *value > 0.5).collect()),
            "trended occupancy",
        ),
        (Some("schedule"), None) => (
            Some(occupancy::scheduled(frame, &Schedule::default())),
            "assumed schedule (weekdays 07-18)",
        ),
        _ => (None, "none trended (fan-on hours only)"),
    };
    let is_occupied = occupied.is_some();
    let mask = match occupied {
        Some(occupied) => masks::and(&fan.mask, &occupied),
        None => fan.mask,
    };
    Some(Running {
        mask,
        occupancy_gate,
        is_occupied,
    })
}

fn deviation(frame: &Frame<'_>) -> Option<Vec<f64>> {
    let air = frame.column("supply_air_temp")?;
    let setpoint = frame.column("supply_air_temp_sp")?;
    Some(air.iter().zip(setpoint).map(|(air, sp)| air - sp).collect())
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let tolerance = parameters.number("tol_F");
    let mut metrics = Metrics::new();
    let Some(running) = running(frame, parameters) else {
        for name in [
            "off_setpoint_pct",
            "too_warm_pct",
            "too_cold_pct",
            "mean_abs_dev_F",
            "n_running",
        ] {
            metrics.set(name, serde_json::Value::Null);
        }
        metrics.number("tol_F", tolerance);
        return Some(
            Verdict::info(metrics, "Supply air was not compared with its setpoint: the unit has no fan status or speed.")
                .with_caveat("Without a fan status or speed, hours with the fan off would count as control errors."),
        );
    };
    let deviation = deviation(frame)?;
    let judged: Vec<f64> = deviation
        .iter()
        .zip(&running.mask)
        .filter(|(value, on)| **on && !value.is_nan())
        .map(|(value, _)| *value)
        .collect();
    let n = judged.len();
    if n == 0 {
        metrics
            .count("n_running", 0)
            .set("occupancy_gate", running.occupancy_gate);
        return Some(Verdict::info(
            metrics,
            "Supply air was not compared with its setpoint: no running sample has both.",
        ));
    }
    let share = |counts: fn(f64, f64) -> bool| {
        numeric::percent_of(
            judged
                .iter()
                .filter(|value| counts(**value, tolerance))
                .count(),
            n,
        )
    };
    let off = share(|value, tolerance| value.abs() > tolerance);
    let warm = share(|value, tolerance| value > tolerance);
    let cold = share(|value, tolerance| value < -tolerance);
    let mean = numeric::mean_of(judged.iter().map(|value| value.abs()));
    metrics
        .rounded("off_setpoint_pct", off, 2)
        .rounded("too_warm_pct", warm, 2)
        .rounded("too_cold_pct", cold, 2)
        .rounded("mean_abs_dev_F", mean, 2)
        .count("n_running", n)
        .set("tol_F", number(tolerance))
        .set("occupancy_gate", running.occupancy_gate);
    let basis = if running.is_occupied {
        "occupied running hours"
    } else {
        "running hours"
    };
    let summary = format!(
        "Supply air is more than {tolerance} °F off its setpoint in {off:.0} % of {basis} ({warm:.0} % too warm, \
         {cold:.0} % too cold); mean deviation {mean:.1} °F."
    );
    let severity = Severity::at_least(
        off,
        parameters.number("warn_pct"),
        parameters.number("fault_pct"),
    );
    Some(Verdict::new(severity, metrics, summary))
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let running = running(frame, parameters)?;
    let deviation = deviation(frame)?;
    let tolerance = parameters.number("tol_F");
    let judged: Vec<bool> = running
        .mask
        .iter()
        .zip(&deviation)
        .map(|(on, value)| *on && !value.is_nan())
        .collect();
    let flagged = judged
        .iter()
        .zip(&deviation)
        .map(|(judged, value)| *judged && value.abs() > tolerance)
        .collect();
    let basis = if running.is_occupied {
        "occupied fan-on samples"
    } else {
        "fan-on samples"
    };
    Some(Judgement::of(basis, judged, flagged))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{self, week};

    fn fan(_: usize) -> f64 {
        1.0
    }

    #[test]
    fn air_five_degrees_above_its_setpoint_is_a_fault() {
        let table = week(&[
            ("supply_air_temp", &|_| 60.0),
            ("supply_air_temp_sp", &|_| 55.0),
            ("supply_fan_status", &fan),
        ]);
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Fault);
        assert_eq!(verdict.metrics.as_number("too_warm_pct"), Some(100.0));
        assert_eq!(verdict.metrics.as_number("mean_abs_dev_F"), Some(5.0));
    }

    #[test]
    fn without_a_fan_point_nothing_is_judged() {
        let table = week(&[
            ("supply_air_temp", &|_| 60.0),
            ("supply_air_temp_sp", &|_| 55.0),
        ]);
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(
            (verdict.severity, verdict.caveats.len()),
            (Severity::Info, 1)
        );
        assert_eq!(verdict.metrics.get("off_setpoint_pct"), Some(&json!(null)));
    }

    #[test]
    fn one_hour_a_day_is_nine_percent_of_the_occupied_ones() {
        let occupied = |row| f64::from(u8::from(testing::is_occupied(row)));
        let table = week(&[
            ("supply_air_temp", &|row| {
                if row % 24 == 12 { 59.0 } else { 55.0 }
            }),
            ("supply_air_temp_sp", &|_| 55.0),
            ("supply_fan_status", &occupied),
            ("occupancy", &occupied),
        ]);
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Ok);
        let metric = |name: &str| verdict.metrics.as_number(name).unwrap();
        assert_eq!(
            (
                metric("off_setpoint_pct"),
                metric("mean_abs_dev_F"),
                metric("n_running")
            ),
            (9.09, 0.36, 55.0)
        );
        let judgement = testing::judge(&RULE, &table, json!({})).unwrap();
        let total = |mask: &[bool]| mask.iter().filter(|set| **set).count();
        assert_eq!(
            (
                total(&judgement.samples.flagged),
                total(&judgement.samples.judged)
            ),
            (5, 55)
        );
    }
}
