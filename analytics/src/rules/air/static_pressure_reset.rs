//! A duct static setpoint that no reset moves (Air rules §2.25).

use crate::finding::{Judgement, Metrics, Severity, Verdict, number};
use crate::frame::Frame;
use crate::gates;
use crate::masks;
use crate::numeric;
use crate::parameters::Parameters;
use crate::rules::RuleCode;
use crate::rules::setpoint_behaviour::{
    BehaviourKind, Driver, Movement, SetpointBehaviour, classify,
};

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("static_pressure_reset", analyse).judged_by(judge);

/// Below this there is nothing to tell a range of.
const MIN_SETPOINTS: usize = 3;

/// The setpoints that are judged.
struct Setpoints<'a> {
    values: &'a [f64],
    judged: Vec<bool>,
    fan_gate: &'static str,
    is_gated: bool,
}

impl<'a> Setpoints<'a> {
    fn of(frame: &Frame<'a>) -> Option<Self> {
        let values = frame.column("duct_static_sp")?;
        let present = masks::not(
            &values
                .iter()
                .map(|value| value.is_nan())
                .collect::<Vec<_>>(),
        );
        let fan = gates::fan_on(frame);
        Some(Self {
            values,
            fan_gate: fan.as_ref().map_or(gates::UNGATED, |fan| fan.source),
            is_gated: fan.is_some(),
            judged: match fan {
                Some(fan) => masks::and(&present, &fan.mask),
                None => present,
            },
        })
    }

    fn judged_values(&self) -> Vec<f64> {
        self.values
            .iter()
            .zip(&self.judged)
            .filter(|(_, judged)| **judged)
            .map(|(value, _)| *value)
            .collect()
    }

    fn behaviour(&self, frame: &Frame<'_>, parameters: &Parameters) -> SetpointBehaviour {
        let movement = Movement {
            min_range: parameters.number("min_range_inwc"),
            move_min: parameters.number("move_min_inwc"),
            units: "in. w.c.",
        };
        let driver = [
            ("static_pressure_requests", "static-pressure requests"),
            ("airflow", "supply airflow"),
        ]
        .into_iter()
        .find_map(|(role, label)| {
            let values = frame.with_data(role)?;
            Some(Driver { values, label })
        });
        classify(frame.stamps(), self.values, &self.judged, movement, driver)
    }

    fn basis(&self) -> &'static str {
        if self.is_gated {
            "fan-on setpoint samples"
        } else {
            "setpoint samples"
        }
    }
}

/// Whether the setpoint is reset, and what that means.
fn verdict_of(
    behaviour: &SetpointBehaviour,
    range: f64,
    min_range: f64,
) -> (bool, Severity, Option<&'static str>) {
    let is_checked = behaviour.is_driver_checked();
    match behaviour.kind {
        BehaviourKind::Insufficient => {
            let resets = range >= min_range;
            let severity = if resets { Severity::Ok } else { Severity::Warn };
            let caveat = "Too few setpoint samples to tell a reset from a change by hand: judged by their range alone.";
            (resets, severity, Some(caveat))
        }
        BehaviourKind::Flat | BehaviourKind::Step => (false, Severity::Warn, None),
        BehaviourKind::Reset => (true, Severity::Ok, None),
        BehaviourKind::Varies if !is_checked => {
            let caveat = "Neither pressure requests nor airflow could be compared: the setpoint moves, but whether it \
                          moves with demand was not tested.";
            (true, Severity::Ok, Some(caveat))
        }
        BehaviourKind::Varies | BehaviourKind::Unclear => (false, Severity::Info, None),
    }
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let setpoints = Setpoints::of(frame)?;
    let mut metrics = Metrics::new();
    if numeric::count(setpoints.values) < MIN_SETPOINTS {
        return Some(Verdict::info(
            metrics,
            "The duct static setpoint was not judged: it has fewer than 3 samples.",
        ));
    }
    let mut values = setpoints.judged_values();
    if values.len() < MIN_SETPOINTS {
        metrics.set("fan_gate", setpoints.fan_gate);
        return Some(Verdict::info(
            metrics,
            "The duct static setpoint was not judged: it has fewer than 3 samples with the fan on.",
        ));
    }
    let min_range = parameters.number("min_range_inwc");
    let behaviour = setpoints.behaviour(frame, parameters);
    let range = numeric::max(&values) - numeric::min(&values);
    let (resets, severity, caveat) = verdict_of(&behaviour, range, min_range);
    let levels: Vec<_> = behaviour.levels.iter().copied().map(number).collect();
    metrics
        .rounded("sp_range_inwc", range, 4)
        .rounded("sp_median_inwc", numeric::median_in_place(&mut values), 4)
        .number("min_range_inwc", min_range)
        .set("resets", resets)
        .set("sp_behaviour", behaviour.kind.word())
        .count("sp_moving_days", behaviour.moving_days.len())
        .count("sp_days", behaviour.days)
        .set("sp_levels_inwc", levels)
        .set("sp_driver", behaviour.driver)
        .number_or_null("sp_driver_rho", behaviour.correlation)
        .set("fan_gate", setpoints.fan_gate);
    let told = match severity {
        Severity::Ok => "it is reset",
        Severity::Warn => "it is not reset",
        _ => "whether it is reset is not clear",
    };
    let summary = format!(
        "The duct static setpoint ranges over {range:.2} in. w.c.; {told}: {}.",
        behaviour.description()
    );
    let verdict = Verdict::new(severity, metrics, summary);
    Some(verdict.with_caveats(caveat.map(str::to_owned)))
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let setpoints = Setpoints::of(frame)?;
    let values = setpoints.judged_values();
    let behaviour = setpoints.behaviour(frame, parameters);
    let range = numeric::max(&values) - numeric::min(&values);
    let (resets, _, _) = verdict_of(&behaviour, range, parameters.number("min_range_inwc"));
    let is_judged = values.len() >= MIN_SETPOINTS;
    let all = matches!(
        behaviour.kind,
        BehaviourKind::Flat | BehaviourKind::Insufficient
    );
    let flagged = frame
        .stamps()
        .iter()
        .zip(&setpoints.judged)
        .map(|(stamp, judged)| {
            *judged && is_judged && !resets && (all || !behaviour.moved_on_day_of(*stamp))
        })
        .collect();
    Some(Judgement::of(setpoints.basis(), setpoints.judged, flagged))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::frame::RoleFrame;
    use crate::rules::testing::{self, Column, hourly, week};

    fn daily(row: usize) -> f64 {
        (numeric::share_of(row) * std::f64::consts::TAU / 24.0).sin()
    }

    fn moving(row: usize) -> f64 {
        1.0 + 0.3 * daily(row)
    }

    fn told(table: &RoleFrame) -> (Severity, String, usize) {
        let verdict = testing::run(&RULE, table, json!({})).unwrap();
        let word = verdict.metrics.get("sp_behaviour").unwrap();
        let judgement = testing::judge(&RULE, table, json!({})).unwrap();
        (
            verdict.severity,
            word.as_str().unwrap().to_owned(),
            masks::count(&judgement.samples.flagged),
        )
    }

    #[test]
    fn a_setpoint_that_stays_is_not_reset() {
        let table = week(&[("duct_static_sp", &|_| 1.5)]);
        assert_eq!(told(&table), (Severity::Warn, "flat".to_owned(), 168));
        let table = week(&[("duct_static_sp", &|row| if row < 84 { 1.0 } else { 1.5 })]);
        assert_eq!(told(&table), (Severity::Warn, "step".to_owned(), 144));
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(
            verdict.metrics.get("sp_levels_inwc"),
            Some(&json!([1.0, 1.5]))
        );
        assert_eq!(verdict.metrics.as_number("sp_moving_days"), Some(1.0));
        assert!(
            verdict.summary.contains("1, 1.5 in. w.c."),
            "{}",
            verdict.summary
        );
    }

    #[test]
    fn a_setpoint_that_follows_the_airflow_is_reset() {
        let airflow = |row| 1000.0 + 300.0 * daily(row);
        let columns: &[Column<'_>] = &[("duct_static_sp", &moving), ("airflow", &airflow)];
        assert_eq!(told(&week(columns)), (Severity::Ok, "reset".to_owned(), 0));
        let verdict = testing::run(&RULE, &week(columns), json!({})).unwrap();
        assert_eq!(
            verdict.metrics.get("sp_driver"),
            Some(&json!("supply airflow"))
        );
        assert_eq!(verdict.metrics.as_number("sp_driver_rho"), Some(1.0));

        let alone = week(&columns[..1]);
        assert_eq!(told(&alone), (Severity::Ok, "varies".to_owned(), 0));
        let verdict = testing::run(&RULE, &alone, json!({})).unwrap();
        assert_eq!(
            (verdict.metrics.get("sp_driver"), verdict.caveats.len()),
            (Some(&json!(null)), 1)
        );
    }

    #[test]
    fn a_setpoint_that_moves_without_its_driver_is_left_open() {
        let table = week(&[
            ("duct_static_sp", &moving),
            ("static_pressure_requests", &|row| {
                f64::from(u8::from(row % 7 == 3)) * 4.0
            }),
        ]);
        let (severity, word, _) = told(&table);
        assert_eq!((severity, word.as_str()), (Severity::Info, "varies"));
    }

    #[test]
    fn few_samples_are_judged_by_their_range() {
        let few = [1.0, 1.0, 1.2, 1.2, 1.2];
        let table = hourly(5, &[("duct_static_sp", &|row| few[row])]);
        assert_eq!(told(&table), (Severity::Ok, "insufficient".to_owned(), 0));
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(verdict.metrics.as_number("sp_range_inwc"), Some(0.2));
        assert_eq!(verdict.caveats.len(), 1);
        let two = hourly(2, &[("duct_static_sp", &|_| 1.0)]);
        let verdict = testing::run(&RULE, &two, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Info);
    }

    #[test]
    fn setpoints_with_the_fan_off_do_not_count() {
        let table = week(&[
            ("duct_static_sp", &|row| {
                if testing::is_occupied(row) { 1.5 } else { 0.0 }
            }),
            ("supply_fan_status", &|row| {
                f64::from(u8::from(testing::is_occupied(row)))
            }),
        ]);
        assert_eq!(told(&table), (Severity::Warn, "flat".to_owned(), 55));
        let judgement = testing::judge(&RULE, &table, json!({})).unwrap();
        assert_eq!(judgement.judged_basis, "fan-on setpoint samples");
    }
}
