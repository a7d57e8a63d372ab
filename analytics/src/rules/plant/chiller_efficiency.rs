//! Chillers that take more power per ton than they should (Plant rules §2.7).

use super::chilled_water::tons;
use crate::finding::{Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::numeric;
use crate::parameters::Parameters;
use crate::rules::RuleCode;

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("chiller_efficiency", analyse).judged_by(judge);

const MIN_SAMPLES: usize = 10;
const WARN_RATIO: f64 = 1.2;
const FAULT_RATIO: f64 = 1.5;
/// Hours above so much of the design count as inefficient.
const INEFFICIENT_RATIO: f64 = 1.15;

/// One loaded sample.
struct Loaded {
    tons: f64,
    kw_per_ton: f64,
}

/// Samples with all four readings in credible ranges (°F, kW, gpm), under load.
fn loaded(frame: &Frame<'_>) -> Option<Vec<Loaded>> {
    let power = frame.column("power")?;
    let supply = frame.column("chw_supply_temp")?;
    let back = frame.column("chw_return_temp")?;
    let flow = frame.column("chw_flow")?;
    let rows = power.iter().zip(supply).zip(back.iter().zip(flow));
    Some(
        rows.filter(|((power, supply), (back, flow))| {
            **power >= 0.0
                && (35.0..=60.0).contains(*supply)
                && (38.0..=80.0).contains(*back)
                && **flow >= 0.0
        })
        .map(|((power, supply), (back, flow))| (*power, back - supply, tons(*flow, *back, *supply)))
        .filter(|(power, delta, tons)| *power >= 2.0 && *delta >= 0.5 && *tons >= 5.0)
        .map(|(power, _, tons)| Loaded {
            tons,
            kw_per_ton: power / tons,
        })
        .collect(),
    )
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let equip = frame.equip();
    let design = parameters.number("design_kw_per_ton");
    let mut loaded = loaded(frame)?;
    if loaded.len() >= MIN_SAMPLES {
        loaded.retain(|sample| sample.kw_per_ton > 0.0 && sample.kw_per_ton < 5.0);
    }
    let n = loaded.len();
    if n < MIN_SAMPLES {
        let mut metrics = Metrics::new();
        metrics.set("declined", true);
        return Some(Verdict::info(
            metrics,
            format!("{equip}: not judged, fewer than 10 loaded running samples ({n})."),
        ));
    }
    let inefficient = loaded
        .iter()
        .filter(|sample| sample.kw_per_ton > INEFFICIENT_RATIO * design)
        .count();
    let inefficient = numeric::round(numeric::percent_by_mean(inefficient, n), 1);
    let mut ratios: Vec<f64> = loaded.iter().map(|sample| sample.kw_per_ton).collect();
    let median = numeric::round(numeric::median_in_place(&mut ratios), 3);
    let mut loads: Vec<f64> = loaded.iter().map(|sample| sample.tons).collect();
    let peak = numeric::max(&loads);
    let load = numeric::median_in_place(&mut loads);
    let mut metrics = Metrics::new();
    metrics
        .number("kw_per_ton_median", median)
        .number("design_kw_per_ton", design)
        .rounded("tons_median", load, 1)
        .rounded("load_factor_median_pct", 100.0 * load / peak, 1)
        .number("pct_hours_inefficient", inefficient)
        .count("n_running", n);
    let summary = format!(
        "{equip} takes a median of {median:.2} kW/ton (design {design:.2}) at {load:.0} tons; {inefficient:.0} % of loaded \
         hours are inefficient."
    );
    let severity = Severity::at_least(median / design, WARN_RATIO, FAULT_RATIO);
    Some(Verdict::new(severity, metrics, summary))
}

fn judge(_: &Frame<'_>, _: &Parameters) -> Option<Judgement> {
    Some(Judgement::whole_period(
        "the rule judges the median of all loaded running samples, not single hours",
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{self, hourly};

    fn verdict(power: f64, flow: f64) -> Verdict {
        let on = |row: usize| (8..20).contains(&(row % 24));
        let table = hourly(
            240,
            &[
                ("power", &|row| if on(row) { power } else { 0.0 }),
                ("chw_supply_temp", &|_| 44.0),
                ("chw_return_temp", &|row| if on(row) { 54.0 } else { 44.2 }),
                ("chw_flow", &|row| {
                    if row % 24 < 14 { flow } else { 1.2 * flow }
                }),
            ],
        );
        testing::run(&RULE, &table, json!({})).unwrap()
    }

    #[test]
    fn more_power_per_ton_than_designed_is_told_with_the_load() {
        let poor = verdict(120.0, 240.0);
        assert_eq!(poor.severity, Severity::Warn);
        let metric = |name: &str| poor.metrics.as_number(name).unwrap();
        assert_eq!(
            (
                metric("kw_per_ton_median"),
                metric("tons_median"),
                metric("load_factor_median_pct")
            ),
            (1.1, 110.0, 91.7)
        );
        assert_eq!(verdict(60.0, 240.0).severity, Severity::Ok);
    }

    #[test]
    fn a_chiller_without_load_is_not_judged() {
        let idle = verdict(1.0, 240.0);
        assert_eq!(idle.severity, Severity::Info);
        assert_eq!(idle.metrics.get("declined"), Some(&json!(true)));
    }
}
