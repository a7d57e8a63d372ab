//! Chilled-water plants with a flat supply temperature or too small a difference (Plant rules §2.10).

use super::chilled_water::CREDIBLE_DELTA;
use super::hot_water::slope_over;
use super::run_gates::ChilledWaterGate;
use crate::finding::{Condition, Flagged, Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::masks;
use crate::numeric;
use crate::occupancy::{self, Schedule};
use crate::parameters::Parameters;
use crate::rules::RuleCode;

/// The rule.
pub const RULE: RuleCode = RuleCode::equipment("chw_plant_reset", analyse).judged_by(judge);

const BASIS: &str = "occupied running samples";
const CREDIBLE_SUPPLY: std::ops::RangeInclusive<f64> = 30.0..=80.0;
/// Supply in °F that is held low.
const LOW_SUPPLY: f64 = 46.0;
/// Slope in °F of supply per °F outdoors from which the supply is reset.
const RESET_SLOPE: f64 = 0.05;
const WARN_PCT: f64 = 20.0;
const FAULT_PCT: f64 = 50.0;
/// Flow samples below which a flow is not called constant or variable.
const MIN_FLOW_SAMPLES: usize = 24;

/// How the supply moves with the outdoor temperature.
#[derive(Clone, Copy, PartialEq)]
struct Reset {
    /// 3 decimals.
    slope: f64,
    direction: Direction,
}

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Expected,
    Reverse,
    Flat,
}

impl Direction {
    const fn word(self) -> &'static str {
        match self {
            Self::Expected => "expected",
            Self::Reverse => "reverse",
            Self::Flat => "flat",
        }
    }
}

impl Reset {
    fn of(slope: f64, expected_sign: &str) -> Self {
        let rounded = numeric::round(slope, 3);
        let direction = match expected_sign {
            _ if slope.abs() < RESET_SLOPE || slope.is_nan() => Direction::Flat,
            "negative" if rounded < 0.0 => Direction::Expected,
            "positive" if rounded > 0.0 => Direction::Expected,
            "any" => Direction::Expected,
            _ => Direction::Reverse,
        };
        Self {
            slope: rounded,
            direction,
        }
    }

    fn is_present(self) -> bool {
        self.direction == Direction::Expected
    }
}

/// Differences of return and supply over the judged samples.
struct Delta {
    median_f: f64,
    low_pct: f64,
    /// Judged samples with a difference below the design.
    low: Vec<bool>,
}

/// How the flow of the plant behaves.
struct Flow {
    mode: &'static str,
    /// Standard deviation over mean, 4 decimals.
    variation: Option<f64>,
}

/// What is judged, and what was found in it.
struct Plant {
    gate: ChilledWaterGate,
    judged: Vec<bool>,
    held_low: Vec<bool>,
    supply_median: f64,
    reset: Option<Reset>,
    delta: Option<Delta>,
    flow: Flow,
}

impl Plant {
    fn of(frame: &Frame<'_>, parameters: &Parameters) -> Option<Self> {
        let supply = frame.column("chw_supply_temp")?;
        let gate = ChilledWaterGate::of(frame);
        let mut judged = gate.running(gate.mask.as_deref(), supply);
        masks::narrow(
            &mut judged,
            &occupancy::scheduled(frame, &Schedule::default()),
        );
        masks::narrow(
            &mut judged,
            &masks::where_value(supply, |value| CREDIBLE_SUPPLY.contains(&value)),
        );
        let expected_sign = parameters.word("expected_reset_sign").unwrap_or("negative");
        Some(Self {
            held_low: masks::and(
                &judged,
                &masks::where_value(supply, |value| value <= LOW_SUPPLY),
            ),
            supply_median: numeric::median(&masks::picked_values(supply, &judged)),
            reset: frame
                .column("oat")
                .and_then(|oat| slope_over(oat, supply, &judged))
                .map(|slope| Reset::of(slope, expected_sign)),
            delta: frame.column("chw_return_temp").and_then(|back| {
                delta(
                    back,
                    supply,
                    &judged,
                    parameters.number("design_deltaT_min_f"),
                )
            }),
            flow: flow(frame, &judged, parameters),
            gate,
            judged,
        })
    }

    fn n(&self) -> usize {
        masks::count(&self.judged)
    }

    /// Low differences, where they count: a constant flow sheds load by them.
    fn counted_delta(&self) -> Option<&Delta> {
        self.delta.as_ref().filter(|_| self.flow.mode != "constant")
    }

    /// Whether the supply is known not to be reset.
    fn is_not_reset(&self) -> bool {
        self.reset.is_some_and(|reset| !reset.is_present())
    }
}

fn delta(back: &[f64], supply: &[f64], judged: &[bool], design: f64) -> Option<Delta> {
    let deltas: Vec<f64> = back.iter().zip(supply).map(|(a, b)| a - b).collect();
    let kept = masks::and(
        judged,
        &masks::where_value(&deltas, |delta| CREDIBLE_DELTA.contains(&delta)),
    );
    let low = masks::and(&kept, &masks::where_value(&deltas, |delta| delta < design));
    let n = masks::count(&kept);
    (n > 0).then(|| Delta {
        median_f: numeric::round(numeric::median(&masks::picked_values(&deltas, &kept)), 1),
        low_pct: numeric::round(numeric::percent_by_mean(masks::count(&low), n), 1),
        low,
    })
}

fn flow(frame: &Frame<'_>, judged: &[bool], parameters: &Parameters) -> Flow {
    let values = frame
        .column("chw_flow")
        .map(|flow| masks::picked_values(flow, judged))
        .unwrap_or_default();
    let mean = numeric::mean(&values);
    let variation =
        (mean > 0.0).then(|| numeric::round(numeric::std_population(&values) / mean, 4));
    let mode = match (parameters.word("flow_mode"), variation) {
        (Some("constant"), _) => "constant",
        (Some("variable"), _) => "variable",
        (_, Some(_)) if values.len() < MIN_FLOW_SAMPLES => "unknown",
        (_, Some(cv)) if cv <= parameters.number("constant_flow_cv") => "constant",
        (_, Some(_)) => "variable",
        (_, None) => "unknown",
    };
    Flow { mode, variation }
}

fn analyse(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let equip = frame.equip();
    let plant = Plant::of(frame, parameters)?;
    if plant.n() == 0 {
        let mut metrics = Metrics::new();
        metrics
            .count("n_running", 0)
            .set("run_source", plant.gate.source);
        if plant.gate.is_never_on() {
            let summary = format!("{equip}: not judged, the plant never ran.");
            return Some(Verdict::info(metrics, summary));
        }
        let summary =
            format!("{equip}: not judged, no occupied running sample has a credible supply.");
        return Some(Verdict::info(metrics, summary).with_caveats(plant.gate.caveat()));
    }
    let low = plant.counted_delta().map_or(0.0, |delta| delta.low_pct);
    let severity = match Severity::at_least(low, WARN_PCT, FAULT_PCT) {
        Severity::Ok if plant.is_not_reset() => Severity::Warn,
        severity => severity,
    };
    let design = parameters.number("design_deltaT_min_f");
    let mut metrics = Metrics::new();
    metrics
        .rounded("chwst_median_f", plant.supply_median, 1)
        .number_or_null("chwst_slope_per_F", plant.reset.map(|reset| reset.slope))
        .set("chwst_reset_present", plant.reset.map(Reset::is_present))
        .set(
            "chwst_reset_direction",
            plant.reset.map(|reset| reset.direction.word()),
        )
        .rounded(
            "pct_chwst_low",
            numeric::percent_by_mean(masks::count(&plant.held_low), plant.n()),
            1,
        )
        .number_or_null(
            "deltaT_median_f",
            plant.delta.as_ref().map(|delta| delta.median_f),
        )
        .number_or_null(
            "low_deltaT_pct",
            plant.delta.as_ref().map(|delta| delta.low_pct),
        )
        .number("design_deltaT_min_f", design)
        .set("flow_mode", plant.flow.mode)
        .number_or_null("flow_cv", plant.flow.variation)
        .count("n_running", plant.n())
        .set("run_source", plant.gate.source);
    Some(
        Verdict::new(severity, metrics, summary(equip, &plant, design))
            .with_caveats(caveats(&plant, parameters)),
    )
}

fn summary(equip: &str, plant: &Plant, design: f64) -> String {
    let delta = match (&plant.delta, plant.counted_delta()) {
        (Some(delta), Some(_)) => format!(
            "the difference to the return has a median of {:.1} °F, {:.0} % of samples below {design} °F",
            delta.median_f, delta.low_pct
        ),
        (Some(delta), None) => format!(
            "the difference to the return has a median of {:.1} °F, {:.0} % of samples below {design} °F, not judged at a \
             constant flow",
            delta.median_f, delta.low_pct
        ),
        (None, _) => "the difference to the return was not evaluated".to_owned(),
    };
    let reset = match plant.reset {
        Some(Reset {
            direction: Direction::Expected,
            slope,
        }) => format!("it is reset ({slope:+.2} °F per °F outdoors)"),
        Some(Reset {
            direction: Direction::Reverse,
            slope,
        }) => format!("it is reset the wrong way ({slope:+.2} °F per °F outdoors)"),
        Some(_) => "it is not reset".to_owned(),
        None => "its reset was not evaluated".to_owned(),
    };
    format!(
        "{equip} supplies chilled water at a median of {:.1} °F; {delta}; {reset}.",
        plant.supply_median
    )
}

fn caveats(plant: &Plant, parameters: &Parameters) -> Vec<String> {
    let mut caveats = Vec::from_iter(plant.gate.caveat());
    if plant.delta.is_none() {
        caveats.push(
            "The difference of return and supply was not evaluated: no running sample has both."
                .to_owned(),
        );
    }
    if plant.delta.is_some() && plant.flow.mode == "constant" {
        let known_by = match (parameters.word("flow_mode"), plant.flow.variation) {
            (Some("auto") | None, Some(variation)) => {
                format!("it varies by {:.2} %", 100.0 * variation)
            }
            _ => "it is declared so".to_owned(),
        };
        caveats.push(format!(
            "The flow is constant ({known_by}): a small difference is then how load is shed, and was not judged."
        ));
    }
    match plant.reset {
        None => caveats.push(
            "The reset of the supply was not evaluated: fewer than 10 running samples with a varying outdoor temperature."
                .to_owned(),
        ),
        Some(reset) if reset.direction == Direction::Reverse => caveats.push(format!(
            "The supply moves by {:+.3} °F per °F outdoors, against the expected sign ({}).",
            reset.slope,
            parameters.word("expected_reset_sign").unwrap_or("negative")
        )),
        Some(_) => {}
    }
    caveats
}

fn judge(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let plant = Plant::of(frame, parameters)?;
    let nothing = || vec![false; plant.judged.len()];
    let low = plant
        .counted_delta()
        .map_or_else(nothing, |delta| delta.low.clone());
    let held = match plant.is_not_reset() {
        true => plant.held_low.clone(),
        false => nothing(),
    };
    let condition = |name: &str, flagged: Vec<bool>| Condition {
        name: name.to_owned(),
        judged_basis: BASIS.to_owned(),
        samples: Flagged {
            judged: plant.judged.clone(),
            flagged,
        },
    };
    let mut judgement = Judgement::of(BASIS, plant.judged.clone(), masks::or(&low, &held));
    judgement.conditions = vec![
        condition("low deltaT", low),
        condition("CHWST held low", held),
    ];
    Some(judgement)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{self, Column, hourly, named};

    /// 36 °F at midnight to 82 °F at 23:00.
    fn ramp(row: usize) -> f64 {
        36.0 + 2.0 * f64::from(u32::try_from(row % 24).unwrap())
    }

    fn run(columns: &[Column<'_>], set: serde_json::Value) -> (Verdict, Judgement) {
        let table = hourly(336, columns);
        (
            testing::run(&RULE, &table, set.clone()).unwrap(),
            testing::judge(&RULE, &table, set).unwrap(),
        )
    }

    #[test]
    fn a_flat_supply_is_a_warning_with_both_conditions_flagged() {
        let (verdict, judgement) = run(
            &[
                ("oat", &ramp),
                ("compressor_status", &|_| 1.0),
                ("chw_supply_temp", &|_| 44.0),
                ("chw_return_temp", &|row| {
                    if row % 24 < 10 { 50.0 } else { 54.0 }
                }),
            ],
            json!({}),
        );
        assert_eq!(verdict.severity, Severity::Warn);
        assert_eq!(
            verdict.metrics.get("chwst_reset_direction"),
            Some(&json!("flat"))
        );
        let flagged: Vec<usize> = judgement
            .conditions
            .iter()
            .map(|condition| masks::count(&condition.samples.flagged))
            .collect();
        assert_eq!(flagged, [30, 110]);
        assert_eq!(masks::count(&judgement.samples.flagged), 110);
    }

    #[test]
    fn a_small_difference_at_constant_flow_is_not_judged() {
        let columns: &[Column<'_>] = &[
            ("oat", &ramp),
            ("compressor_status", &|_| 1.0),
            ("chw_supply_temp", &|row| 52.0 - 0.2 * (ramp(row) - 50.0)),
            ("chw_return_temp", &|_| 58.0),
            ("chw_flow", &|_| 500.0),
        ];
        let (verdict, judgement) = run(columns, json!({}));
        assert_eq!((verdict.severity, verdict.caveats.len()), (Severity::Ok, 1));
        assert_eq!(verdict.metrics.as_number("low_deltaT_pct"), Some(45.5));
        assert_eq!(masks::count(&judgement.samples.flagged), 0);
        let (verdict, _) = run(columns, json!({"flow_mode": "variable"}));
        assert_eq!(verdict.severity, Severity::Warn);
        let (verdict, _) = run(columns, json!({"expected_reset_sign": "positive"}));
        assert_eq!(
            verdict.metrics.get("chwst_reset_direction"),
            Some(&json!("reverse"))
        );
    }

    #[test]
    fn supply_alone_claims_neither_check() {
        let (verdict, _) = run(&[("chw_supply_temp", &|_| 44.0)], json!({}));
        assert_eq!((verdict.severity, verdict.caveats.len()), (Severity::Ok, 3));
        assert_eq!(verdict.metrics.get("chwst_slope_per_F"), Some(&json!(null)));
    }

    #[test]
    fn a_loop_runs_by_its_flow() {
        let table = named(
            "LOOP",
            "CHW_LOOP",
            hourly(
                336,
                &[
                    ("chw_supply_temp", &|_| 44.0),
                    ("chw_flow", &|row| if row % 24 >= 12 { 100.0 } else { 0.0 }),
                ],
            ),
        );
        let verdict = testing::run(&RULE, &table, json!({})).unwrap();
        assert_eq!(verdict.metrics.as_number("n_running"), Some(60.0));
        assert_eq!(verdict.metrics.get("run_source"), Some(&json!("flow")));
    }
}
