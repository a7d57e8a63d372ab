//! Fan effort of a cooling tower at the same load and weather (Drift §5.6).

use super::chiller::tower_approach::TowerLoad;
use crate::drift::baseline::{FitRule, LoadBaseline, Signal};
use crate::drift::detector::{Case, Detector, Inputs, Judged, Trace, note_confidence};
use crate::drift::measure::told_sigmas;
use crate::drift::normaliser::LoadGate;
use crate::drift::shift::Shift;
use crate::drift::wet_bulb::wet_bulb;
use crate::drift::windows::{Side, kept};
use crate::finding::{Metrics, Severity};
use crate::gates;
use crate::masks;
use crate::numeric::{self, round};

const KIND: &str = "cooling_tower_fan_effort";
const SUBJECT: &str = "fan effort";
/// The name of the covariate.
const WET_BULB: &str = "wetbulb";
const FAN: &str = "tower_fan_speed";
/// A fan below this stands (percent), and one above that runs as hard as it can.
const RUNNING: f64 = 5.0;
const HARD: f64 = 90.0;
/// Credible efforts (percent).
const RANGE: (f64, f64) = (5.0, 101.0);
const ROWS: usize = 30;
/// Spread of the wet bulb below which its effect is not told (°F).
const SPREAD: f64 = 2.0;
/// Rises that warn and that are faults (percent).
const WARN: f64 = 5.0;
const FAULT: f64 = 10.0;
/// A range of the condenser water as load: least and span (°F).
const RANGE_GATE: LoadGate = LoadGate {
    min_load: 0.5,
    min_span: 2.0,
};
/// A bypass open by no more is shut (percent), and sensors that moved apart by so much (°F).
const BYPASS_SHUT: f64 = 2.0;
const SENSOR_SHIFT: f64 = 1.0;

/// The detector.
pub struct TowerFanEffort;

/// What tells the load of the fan: condenser water first.
fn source(side: &Side<'_>) -> Option<TowerLoad> {
    if side.has("cw_return_temp") {
        return Some(match side.with_data("cw_flow") {
            Some(_) => TowerLoad::HeatRejection,
            None => TowerLoad::Range,
        });
    }
    let chilled = super::chiller::CHILLED_WATER;
    chilled
        .iter()
        .all(|role| side.has(role))
        .then_some(TowerLoad::ChilledTons)
}

fn fan(side: &Side<'_>) -> Vec<f64> {
    gates::percent(side.column(FAN).unwrap_or_default()).into_owned()
}

fn signal(side: &Side<'_>, source: TowerLoad) -> Signal {
    let fan = fan(side);
    let running = masks::where_value(&fan, |value| value > RUNNING);
    Signal::new(side.stamps(), kept(&fan, &running), source.values(side))
}

/// Share of the running rows in which the fan runs as hard as it can.
fn hard_share(side: &Side<'_>) -> f64 {
    let fan = fan(side);
    let running = masks::where_value(&fan, |value| value > RUNNING);
    let hard = masks::where_value(&fan, |value| value >= HARD);
    round(masks::percent_within(&hard, &running) / 100.0, 4)
}

/// Median of tower leaving minus machine entering water, with the bypass shut.
fn sensor_difference(side: &Side<'_>) -> Option<f64> {
    let (leaving, entering) = (
        side.column("cw_supply_temp")?,
        side.column("cond_entering_water_temp")?,
    );
    let mut rows = masks::where_value(&fan(side), |value| value > RUNNING);
    if let Some(bypass) = side.column("cw_bypass_valve") {
        let bypass = gates::percent(bypass);
        masks::narrow(
            &mut rows,
            &masks::where_value(&bypass, |value| value <= BYPASS_SHUT),
        );
    }
    let difference = masks::paired(leaving, entering, |leaving, entering| leaving - entering);
    let values = masks::picked_values(&difference, &rows);
    (values.len() >= ROWS).then(|| numeric::median(&values))
}

impl Detector for TowerFanEffort {
    fn rule(&self) -> &'static str {
        "cooling_tower_fan_effort_drift"
    }

    fn inputs(&self) -> Inputs {
        Inputs::of(
            &[FAN, "cw_supply_temp"],
            &[
                "cw_return_temp",
                "cw_flow",
                "chw_flow",
                "chw_supply_temp",
                "chw_return_temp",
                "wetbulb_temp",
                "oat",
                "outdoor_rh",
                "cond_entering_water_temp",
                "cw_bypass_valve",
            ],
        )
    }

    fn judge(&self, case: &Case<'_>) -> Judged {
        let source = match (source(&case.baseline), source(&case.current)) {
            (Some(before), Some(after)) if before == after => after,
            _ => {
                return case.decline(
                    Some("no_load"),
                    SUBJECT,
                    "Nothing tells the load of the tower in both windows in the same way.",
                );
            }
        };
        let known_good = signal(&case.baseline, source);
        let mut current = signal(&case.current, source);
        let gate = match source {
            TowerLoad::Range => RANGE_GATE,
            _ => LoadGate::TONS.scaled_to(&known_good.load),
        };
        let rule = FitRule::over(gate.scope(RANGE.0, RANGE.1))
            .spanning(gate.min_span)
            .or_level()
            .with_covariate_span(SPREAD);
        let mut caveats = Vec::new();
        let fit = || fitted(case, &known_good, &rule, source, &mut caveats);
        let Some(kept) = case.baselines.get_or_fit(KIND, fit) else {
            return case.no_baseline(Some("no_baseline"), SUBJECT);
        };
        if let Some(known) = &kept.baseline.load_source
            && known != source.word()
        {
            return case.decline(
                Some("load_source_mismatch"),
                SUBJECT,
                format!(
                    "The frozen baseline goes by {known}, and the current window only tells {}.",
                    source.word()
                ),
            );
        }
        if kept.baseline.covariate.is_some() {
            let Some(wet) = wet_bulb(&case.current, case.elevation_ft) else {
                return case.decline(
                    Some("no_wetbulb"),
                    SUBJECT,
                    "The baseline allows for the wet bulb, and nothing tells that of the current window.",
                );
            };
            current = current.with_covariate(&wet);
        }
        let Some(shift) = Shift::of(&kept.baseline, &current, &rule.scope, ROWS) else {
            return case.nothing_scoreable(Some("nothing_scoreable"), SUBJECT);
        };
        let judged = Severity::at_least(shift.drift, WARN, FAULT);
        let offset = sensor_difference(&case.current)
            .zip(sensor_difference(&case.baseline))
            .map(|(after, before)| after - before);
        let (severity, attribution) = attributed(judged, offset, &mut caveats);
        let mut metrics = Metrics::new();
        metrics
            .rounded("fan_effort_drift_pct", shift.drift, 2)
            .number("fan_effort_drift_sigma", shift.drift_sigma)
            .number("fan_baseline_sigma_pct", kept.baseline.sigma)
            .number("fan_effort_slope_pct_per_month", shift.slope_per_month)
            .count("n_current", shift.n_current)
            .set("load_source", source.word())
            .set(
                "covariate",
                kept.baseline.covariate.as_ref().map_or("", |_| WET_BULB),
            )
            .set("baseline_model", kept.baseline.model.word())
            .number("high_fan_share_baseline", hard_share(&case.baseline))
            .number("high_fan_share_current", hard_share(&case.current))
            .number_or_null(
                "sensor_offset_shift_f",
                offset.map(|offset| round(offset, 2)),
            )
            .set("attribution", attribution);
        note_confidence(&mut metrics, true, false);
        let size = round(shift.drift, 1);
        let sigmas = told_sigmas(shift.drift_sigma);
        let basis = case.basis.words();
        let summary = match severity {
            Severity::Ok => format!(
                "{}: the tower's fan works as hard as in {basis} ({size:+.1} %, {sigmas})",
                case.equip
            ),
            _ => format!(
                "{}: the tower's fan works by {size:+.1} % ({sigmas}) harder than in {basis} at the same load",
                case.equip
            ),
        };
        Judged::with(severity, metrics, summary, caveats).traced(Trace {
            name: "fan_effort".to_owned(),
            unit: "pct".to_owned(),
            sigma: kept.baseline.sigma,
            drift: shift.drift,
            stamps: shift.rows.stamps,
            residuals: shift.residuals,
            alarm_at: None,
        })
    }
}

/// With the wet bulb where its effect can be told, else over the load alone.
fn fitted(
    case: &Case<'_>,
    signal: &Signal,
    rule: &FitRule,
    source: TowerLoad,
    caveats: &mut Vec<String>,
) -> Option<LoadBaseline> {
    let with = wet_bulb(&case.baseline, case.elevation_ft)
        .and_then(|wet| LoadBaseline::fit(&signal.with_covariate(&wet), rule, Some(WET_BULB)));
    let fit = with.or_else(|| {
        caveats.push(
            "The wet bulb is not trended or hardly varied in the baseline: the effort was normalised by the load alone, and \
             damper weather reads as drift."
                .to_owned(),
        );
        LoadBaseline::fit(signal, rule, None)
    })?;
    Some(LoadBaseline {
        load_source: Some(source.word().to_owned()),
        ..fit
    })
}

/// Whether two sensors that moved apart explain a rise.
fn attributed(
    judged: Severity,
    offset: Option<f64>,
    caveats: &mut Vec<String>,
) -> (Severity, &'static str) {
    let Some(offset) = offset else {
        caveats.push(
            "The tower's leaving water could not be checked against the water that enters the machines: a sensor that drifts \
             makes the fan work harder too."
                .to_owned(),
        );
        return (judged, "tower");
    };
    if judged <= Severity::Warn && offset.abs() >= SENSOR_SHIFT {
        caveats.push(format!(
            "Tower leaving and machine entering water moved apart by {offset:+.1} °F: the sensor that controls the fan is to be \
             checked first."
        ));
        return (Severity::Info, "sensor_offset");
    }
    (judged, "tower")
}
