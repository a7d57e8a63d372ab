//! Reheating above the minimum airflow before the heating loop is high (Air rules §2.19).

use super::minimum_airflow::{INFERRED, minimum_airflow};
use crate::finding::{Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::masks;
use crate::numeric;
use crate::occupancy::{self, OccupancyBasis, Schedule};
use crate::parameters::Parameters;
use crate::rules::RuleCode;

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("reheat_minimization_g36", analyse).judged_by(judge);

/// From this share of reheat samples on it warns, and from the other it is a fault; percent.
const WARN: f64 = 15.0;
const FAULT: f64 = 40.0;

struct Reheat {
    considered: Vec<bool>,
    /// Samples left out because the heating loop is missing there.
    without_loop: usize,
    reheating: Vec<bool>,
    above: Vec<bool>,
    high_loop: Vec<bool>,
    basis: &'static str,
    evidence: &'static str,
    occupancy: OccupancyBasis,
}

impl Reheat {
    fn of(frame: &Frame<'_>, parameters: &Parameters) -> Option<Self> {
        let valve = frame.column("heat_valve")?;
        let airflow = frame.column("airflow")?;
        let occupied = occupancy::effective(frame, &Schedule::of(parameters), true);
        let minimum = minimum_airflow(frame, &occupied.mask)?;
        let mut considered = occupied.mask;
        for column in [valve, airflow, &minimum.values] {
            considered = masks::and(&considered, &masks::present(column));
        }
        let heating_loop = frame
            .column("zone_heat_loop")
            .filter(|signal| !masks::picked_values(signal, &considered).is_empty());
        let mut without_loop = 0;
        if let Some(signal) = heating_loop {
            let kept = masks::and(&considered, &masks::present(signal));
            without_loop = masks::count(&considered) - masks::count(&kept);
            considered = kept;
        }
        let threshold = parameters.number("valve_thr");
        let reheating = masks::and(
            &considered,
            &masks::where_value(valve, |value| value > threshold),
        );
        let margin = parameters.number("flow_margin");
        let above = airflow
            .iter()
            .zip(&minimum.values)
            .map(|(airflow, minimum)| *airflow > margin * minimum)
            .collect();
        let (high_loop, evidence) = match heating_loop {
            Some(signal) => (
                masks::where_value(signal, |value| value > 50.0),
                "zone_heat_loop",
            ),
            None => high_loop_by_effect(frame, parameters, valve, &considered),
        };
        Some(Self {
            considered,
            without_loop,
            reheating,
            above,
            high_loop,
            basis: minimum.basis,
            evidence,
            occupancy: occupied.basis,
        })
    }

    fn violation(&self) -> Vec<bool> {
        masks::and_not(&masks::and(&self.reheating, &self.above), &self.high_loop)
    }
}

/// Whether the loop is high, by the valve, or by how warm the discharge is.
fn high_loop_by_effect(
    frame: &Frame<'_>,
    parameters: &Parameters,
    valve: &[f64],
    considered: &[bool],
) -> (Vec<bool>, &'static str) {
    let full = parameters.number("dual_max_valve");
    let by_valve = masks::where_value(valve, |value| value >= full);
    let seen = |role| {
        frame
            .column(role)
            .filter(|values| !masks::picked_values(values, considered).is_empty())
    };
    let (Some(discharge), Some(space)) = (seen("supply_air_temp"), seen("space_temp")) else {
        return (by_valve, "valve");
    };
    let rise = parameters.number("dual_max_dat_rise");
    let warm: Vec<bool> = discharge
        .iter()
        .zip(space)
        .map(|(discharge, space)| discharge - space >= rise)
        .collect();
    (
        masks::or(&by_valve, &warm),
        "valve or discharge temperature",
    )
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let reheat = Reheat::of(frame, parameters)?;
    let n = masks::count(&reheat.considered);
    if n == 0 {
        return Some(Verdict::info(
            Metrics::new(),
            "Reheat was not judged: no occupied sample has the valve, the airflow and its minimum.",
        ));
    }
    let n_reheat = masks::count(&reheat.reheating);
    let share = numeric::percent_of(n_reheat, n);
    let occupancy = match reheat.occupancy {
        OccupancyBasis::Trended => "trended",
        OccupancyBasis::Assumed => "schedule",
    };
    let mut metrics = Metrics::new();
    if n_reheat == 0 {
        metrics
            .number("reheat_hours_pct", 0.0)
            .count("n_considered", n)
            .set("min_flow_basis", reheat.basis)
            .set("occupancy", occupancy);
        return Some(
            Verdict::new(
                Severity::Ok,
                metrics,
                "The box does not reheat in occupied hours (0 %).",
            )
            .with_caveats(loop_caveat(&reheat)),
        );
    }
    let of_reheat =
        |mask: &[bool]| numeric::round(numeric::percent_of(masks::count(mask), n_reheat), 1);
    let violation = of_reheat(&reheat.violation());
    let by_design = of_reheat(&masks::and(
        &masks::and(&reheat.reheating, &reheat.above),
        &reheat.high_loop,
    ));
    let step = Some(frame.step_hours())
        .filter(|step| *step > 0.0)
        .unwrap_or(1.0);
    let hours = numeric::round(numeric::share_of(n_reheat) * step, 2);
    metrics
        .rounded("reheat_hours_pct", share, 1)
        .number("reheat_above_min_pct", violation)
        .number("reheat_high_loop_pct", by_design)
        .number("n_reheat_hours", hours)
        .count("n_reheat_samples", n_reheat)
        .count("n_considered", n)
        .set("min_flow_basis", reheat.basis)
        .set("high_loop_evidence", reheat.evidence)
        .set("occupancy", occupancy);
    let mut severity = Severity::at_least(violation, WARN, FAULT);
    let mut caveats: Vec<String> = loop_caveat(&reheat).into_iter().collect();
    if reheat.basis == INFERRED {
        if severity == Severity::Fault {
            severity = Severity::Warn;
        }
        caveats.push(
            "No minimum airflow is trended: it is read as the low end of an active setpoint, so this goes no further than \
             warn."
                .to_owned(),
        );
    }
    if by_design > 0.0 && reheat.evidence != "zone_heat_loop" {
        caveats.push(format!(
            "{by_design:.1} % of reheat hours lie above the minimum with a high heating loop, as a dual-maximum sequence \
             does; without a trended loop that is read from the {}.",
            reheat.evidence
        ));
    }
    let least = parameters.number("min_reheat_hours");
    if hours < least {
        severity = Severity::Info;
        caveats.push(format!(
            "Only {hours} h of occupied reheat; {least} h are needed for a verdict."
        ));
    }
    let summary = format!(
        "The box reheats in {share:.0} % of occupied hours; {violation:.0} % of those lie above the minimum airflow while \
         the heating loop is not high."
    );
    Some(Verdict::new(severity, metrics, summary).with_caveats(caveats))
}

fn loop_caveat(reheat: &Reheat) -> Option<String> {
    (reheat.without_loop > 0).then(|| {
        format!(
            "{} occupied samples without a heating-loop reading are left out.",
            reheat.without_loop
        )
    })
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let reheat = Reheat::of(frame, parameters)?;
    let flagged = reheat.violation();
    Some(Judgement::of(
        "reheating samples",
        reheat.reheating,
        flagged,
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{self, Column, week};

    fn verdict(columns: &[Column<'_>]) -> Verdict {
        testing::run(&RULE, &week(columns), json!({})).unwrap()
    }

    const FLOW: Column<'static> = ("airflow", &|_| 400.0);
    const MINIMUM: Column<'static> = ("airflow_min_sp", &|_| 200.0);

    #[test]
    fn reheat_at_twice_the_minimum_is_a_fault() {
        let table = week(&[FLOW, MINIMUM, ("heat_valve", &|_| 40.0)]);
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Fault);
        assert_eq!(
            verdict.metrics.as_number("reheat_above_min_pct"),
            Some(100.0)
        );
        assert_eq!(verdict.metrics.as_number("n_reheat_samples"), Some(55.0));
        let judgement = testing::judge(&RULE, &table, json!({})).unwrap();
        assert_eq!(masks::count(&judgement.samples.flagged), 55);
    }

    #[test]
    fn a_valve_fully_open_is_the_second_maximum_by_design() {
        let verdict = verdict(&[
            FLOW,
            MINIMUM,
            ("heat_valve", &|row| {
                if row.is_multiple_of(2) { 95.0 } else { 40.0 }
            }),
        ]);
        let metric = |name: &str| verdict.metrics.as_number(name);
        assert_eq!(verdict.severity, Severity::Fault);
        assert_eq!(
            (
                metric("reheat_above_min_pct"),
                metric("reheat_high_loop_pct")
            ),
            (Some(54.5), Some(45.5))
        );
        assert_eq!(
            verdict.metrics.get("high_loop_evidence"),
            Some(&json!("valve"))
        );
    }

    #[test]
    fn an_inferred_minimum_only_warns() {
        let flow = |row: usize| if row.is_multiple_of(4) { 200.0 } else { 500.0 };
        let verdict = verdict(&[
            ("airflow", &flow),
            ("airflow_sp", &flow),
            ("heat_valve", &|_| 40.0),
        ]);
        assert_eq!(verdict.severity, Severity::Warn);
        assert_eq!(
            verdict.metrics.as_number("reheat_above_min_pct"),
            Some(72.7)
        );
        assert_eq!(
            verdict.metrics.get("min_flow_basis"),
            Some(&json!(INFERRED))
        );
    }

    #[test]
    fn no_reheat_is_fine_and_one_hour_is_too_little() {
        assert_eq!(
            verdict(&[FLOW, MINIMUM, ("heat_valve", &|_| 0.0)]).severity,
            Severity::Ok
        );
        let once = |row| if row == 10 { 40.0 } else { 0.0 };
        assert_eq!(
            verdict(&[FLOW, MINIMUM, ("heat_valve", &once)]).severity,
            Severity::Info
        );
    }
}
