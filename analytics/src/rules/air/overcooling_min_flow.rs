//! A satisfied zone that is cooled on by its minimum airflow (Air rules §2.16).

use serde_json::Value;

use super::reheat_valve::{Divergence, OPEN, ReheatValve};
use crate::finding::{Condition, Flagged, Judgement, Metrics, Severity, Verdict, number};
use crate::frame::Frame;
use crate::masks;
use crate::numeric;
use crate::occupancy::{self, Schedule};
use crate::parameters::Parameters;
use crate::rules::RuleCode;

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("overcooling_min_flow", analyse).judged_by(judge);

/// The airflow is at its minimum up to this ratio to the setpoint.
const AT_MINIMUM: f64 = 1.15;

/// A damper this far shut, percent, confirms it.
const LOW_DAMPER: f64 = 30.0;

/// Samples of a zone, as far as there are inputs.
struct Zone<'a> {
    occupied: Vec<bool>,
    considered: Vec<bool>,
    satisfied: Vec<bool>,
    flow: Option<Flow<'a>>,
}

struct Flow<'a> {
    airflow: &'a [f64],
    setpoint: &'a [f64],
    valve: Option<ReheatValve<'a>>,
    overcooled: Vec<bool>,
    with_reheat: Vec<bool>,
}

impl<'a> Zone<'a> {
    fn of(frame: &Frame<'a>, parameters: &Parameters) -> Option<Self> {
        let temperature = frame.column("space_temp")?;
        let setpoint = frame.column("cool_sp")?;
        let occupied = occupancy::effective(frame, &Schedule::of(parameters), true).mask;
        let present = masks::and(&masks::present(temperature), &masks::present(setpoint));
        let considered = masks::and(&occupied, &present);
        let satisfied: Vec<bool> = temperature
            .iter()
            .zip(setpoint)
            .zip(&considered)
            .map(|((temperature, setpoint), considered)| *considered && temperature <= setpoint)
            .collect();
        let flow = Flow::of(frame, &considered, &satisfied);
        Some(Self {
            occupied,
            considered,
            satisfied,
            flow,
        })
    }
}

fn minimum_setpoint<'a>(frame: &Frame<'a>) -> Option<&'a [f64]> {
    frame
        .column("airflow_min_sp")
        .or_else(|| frame.column("airflow_sp"))
}

impl<'a> Flow<'a> {
    /// None when no considered sample has both airflow and setpoint.
    fn of(frame: &Frame<'a>, considered: &[bool], satisfied: &[bool]) -> Option<Self> {
        let airflow = frame.column("airflow")?;
        let setpoint = minimum_setpoint(frame)?;
        let both = masks::and(&masks::present(airflow), &masks::present(setpoint));
        if masks::count(&masks::and(considered, &both)) == 0 {
            return None;
        }
        let mut overcooled: Vec<bool> = airflow
            .iter()
            .zip(setpoint)
            .zip(satisfied)
            .map(|((airflow, setpoint), satisfied)| *satisfied && *airflow <= AT_MINIMUM * setpoint)
            .collect();
        if let Some(damper) = frame.column("damper") {
            // A missing damper reading counts as shut.
            let low = masks::where_value(damper, |value| !(value > LOW_DAMPER));
            overcooled = masks::and(&overcooled, &low);
        }
        let valve = ReheatValve::of(frame);
        let with_reheat = match valve {
            Some(valve) => masks::and(
                &overcooled,
                &masks::where_value(valve.values, |value| value > OPEN),
            ),
            None => vec![false; frame.len()],
        };
        Some(Self {
            airflow,
            setpoint,
            valve,
            overcooled,
            with_reheat,
        })
    }

    /// Median setpoint as a share of the greatest airflow.
    fn minimum_share(&self, considered: &[bool]) -> Option<f64> {
        let peak = numeric::max(&masks::picked_values(self.airflow, considered));
        if !(peak > 0.0) {
            return None;
        }
        let shares: Vec<f64> = masks::picked_values(self.setpoint, considered)
            .into_iter()
            .map(|setpoint| setpoint / peak)
            .collect();
        let median = numeric::round(numeric::median(&shares), 3);
        (!median.is_nan()).then_some(median)
    }
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let zone = Zone::of(frame, parameters)?;
    let n = masks::count(&zone.considered);
    let mut metrics = Metrics::new();
    if n == 0 {
        metrics.set("declined", true);
        return Some(Verdict::info(
            metrics,
            "Overcooling was not judged: no occupied sample has both zone temperature and cooling setpoint.",
        ));
    }
    let percent = |mask: &[bool]| numeric::round(numeric::percent_of(masks::count(mask), n), 2);
    let satisfied = percent(&zone.satisfied);
    let Some(flow) = &zone.flow else {
        metrics
            .set("declined", true)
            .number("satisfied_pct", satisfied)
            .set("overcool_at_minflow_pct", Value::Null)
            .set("overcool_with_reheat_pct", Value::Null)
            .set("median_minflow_fraction", Value::Null)
            .count("n_considered", n);
        return Some(
            Verdict::info(
                metrics,
                format!(
                    "Overcooling at minimum airflow was not judged: the airflow and its setpoint are needed together. The \
                     zone is at or below its cooling setpoint in {satisfied:.0} % of occupied samples."
                ),
            )
            .with_caveat(missing_inputs(frame)),
        );
    };
    let overcooled = percent(&flow.overcooled);
    let with_reheat = percent(&flow.with_reheat);
    let minimum = flow.minimum_share(&zone.considered);
    let divergence = Divergence::of(frame, &zone.occupied);
    metrics
        .number("satisfied_pct", satisfied)
        .number("overcool_at_minflow_pct", overcooled)
        .number("overcool_with_reheat_pct", with_reheat)
        .number_or_null("median_minflow_fraction", minimum)
        .count("n_considered", n)
        .set(
            "valve_signal",
            flow.valve.map_or(Value::Null, |valve| valve.signal.into()),
        )
        .set(
            "valve_divergence_share",
            divergence.map_or(Value::Null, |divergence| {
                number(numeric::round(divergence.share, 3))
            }),
        );
    let mut severity = Severity::at_least(
        if flow.valve.is_some() {
            with_reheat
        } else {
            overcooled
        },
        5.0,
        15.0,
    );
    let mut caveats = Vec::new();
    if !frame.has("damper") {
        if severity == Severity::Fault {
            severity = Severity::Warn;
        }
        caveats.push(
            "No damper is trended to confirm the minimum position; this rule then never goes beyond warn.".to_owned(),
        );
    }
    caveats.extend(divergence.and_then(Divergence::caveat));
    let reheat = match flow.valve {
        Some(_) => format!(", {with_reheat:.0} % with reheat open"),
        None => String::new(),
    };
    let share = minimum.map_or_else(String::new, |share| {
        format!("; the minimum is {:.0} % of peak airflow", 100.0 * share)
    });
    let summary = format!(
        "The zone is satisfied and still cooled at minimum airflow in {overcooled:.0} % of occupied samples{reheat}{share}."
    );
    Some(Verdict::new(severity, metrics, summary).with_caveats(caveats))
}

fn missing_inputs(frame: &Frame<'_>) -> String {
    let mut missing = Vec::new();
    if !frame.has("airflow") {
        missing.push("airflow");
    }
    if minimum_setpoint(frame).is_none() {
        missing.push("airflow_min_sp or airflow_sp");
    }
    match missing.is_empty() {
        true => "No occupied sample has airflow and its setpoint at the same time.".to_owned(),
        false => format!("Not trended: {}.", missing.join(", ")),
    }
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let zone = Zone::of(frame, parameters)?;
    let flow = zone.flow?;
    let condition = |name: &str, flagged: &[bool]| Condition {
        name: name.to_owned(),
        judged_basis: "occupied samples".to_owned(),
        samples: Flagged {
            judged: zone.considered.clone(),
            flagged: flagged.to_vec(),
        },
    };
    let mut conditions = vec![condition("overcooling at min flow", &flow.overcooled)];
    if flow.valve.is_some() {
        conditions.push(condition("with reheat", &flow.with_reheat));
    }
    let flagged = match flow.valve {
        Some(_) => flow.with_reheat,
        None => flow.overcooled,
    };
    Some(Judgement {
        conditions,
        ..Judgement::of("occupied samples", zone.considered, flagged)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::frame::RoleFrame;
    use crate::rules::testing::{self, Column, week};

    fn zone(temperature: f64, airflow: f64, more: &[Column<'_>]) -> RoleFrame {
        let temperature = move |_| temperature;
        let airflow = move |_| airflow;
        let mut columns: Vec<Column<'_>> = vec![
            ("space_temp", &temperature),
            ("cool_sp", &|_| 74.0),
            ("airflow", &airflow),
            ("airflow_sp", &|_| 200.0),
        ];
        columns.extend_from_slice(more);
        week(&columns)
    }

    #[test]
    fn reheat_at_minimum_airflow_in_a_satisfied_zone_is_a_fault() {
        let table = zone(
            70.0,
            200.0,
            &[
                ("damper", &|_| 20.0),
                ("heat_valve", &|row| {
                    if row.is_multiple_of(2) { 30.0 } else { 0.0 }
                }),
            ],
        );
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        let metric = |name: &str| verdict.metrics.as_number(name).unwrap();
        assert_eq!(verdict.severity, Severity::Fault);
        assert_eq!(
            (metric("satisfied_pct"), metric("overcool_at_minflow_pct")),
            (100.0, 100.0)
        );
        assert_eq!(metric("overcool_with_reheat_pct"), 45.45);
        assert_eq!(
            (metric("median_minflow_fraction"), metric("n_considered")),
            (1.0, 55.0)
        );
        let judgement = testing::judge(&RULE, &table, json!({})).unwrap();
        assert_eq!(masks::count(&judgement.samples.flagged), 25);
        assert_eq!(judgement.conditions.len(), 2);
    }

    #[test]
    fn without_a_damper_it_is_a_warning_at_most() {
        let verdict = testing::run(
            &RULE,
            &zone(70.0, 200.0, &[("heat_valve", &|_| 30.0)]),
            json!({}),
        )
        .unwrap();
        assert_eq!(
            (verdict.severity, verdict.caveats.len()),
            (Severity::Warn, 1)
        );
    }

    #[test]
    fn without_airflow_it_is_not_judged() {
        let table = week(&[("space_temp", &|_| 70.0), ("cool_sp", &|_| 74.0)]);
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Info);
        assert_eq!(
            verdict.metrics.get("overcool_at_minflow_pct"),
            Some(&json!(null))
        );
        assert_eq!(
            verdict.caveats,
            ["Not trended: airflow, airflow_min_sp or airflow_sp."]
        );
    }

    #[test]
    fn a_zone_above_its_setpoint_is_not_overcooled() {
        let verdict = testing::run(&RULE, &zone(76.0, 400.0, &[]), json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Ok);
        assert_eq!(
            verdict.metrics.as_number("median_minflow_fraction"),
            Some(0.5)
        );
    }

    #[test]
    fn a_valve_that_ignores_its_demand_is_told() {
        let table = zone(
            70.0,
            200.0,
            &[
                ("damper", &|_| 20.0),
                ("heat_valve", &|_| 100.0),
                ("heat_valve_position", &|_| 0.0),
            ],
        );
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Ok);
        assert_eq!(
            verdict.metrics.get("valve_signal"),
            Some(&json!("position"))
        );
        assert_eq!(
            verdict.metrics.as_number("valve_divergence_share"),
            Some(1.0)
        );
    }
}
