//! Gas that a boiler burns for the same heat (Drift §5.5).

use crate::drift::baseline::{FitRule, LoadBaseline, Scope, Signal};
use crate::drift::detector::{Case, Detector, Inputs, Judged, Trace, note_confidence};
use crate::drift::measure::told_sigmas;
use crate::drift::normaliser::positive_quantile;
use crate::drift::shift::Shift;
use crate::drift::windows::{Side, kept};
use crate::finding::{Metrics, Severity};
use crate::gates;
use crate::masks;
use crate::numeric::{self, round};

/// Btu/h of a gpm and a °F, and Btu/h of a kW.
const BTU_PER_GPM_DEGREE: f64 = 500.0;
const BTU_PER_KWH: f64 = 3412.14;
/// Least difference of supply and return (°F).
const LEAST_DIFFERENCE: f64 = 0.5;
/// Least heat and least span of it, as shares of its 95th percentile.
const HEAT_SHARE: f64 = 0.05;
const SPAN_SHARE: f64 = 0.10;
/// Ratios farther than this from the median of the baseline are none.
const CREDIBLE: f64 = 3.0;
const ROWS: usize = 30;
/// Spread of the return water below which its effect is not told (°F).
const RETURN_SPREAD: f64 = 2.0;
/// From where on a rise speaks against the boiler: relative, and in sigmas.
const WARN: (f64, f64) = (0.05, 1.5);
const FAULT: (f64, f64) = (0.15, 3.0);
/// Span of the outdoor temperature over which the gas is compared (°F).
const OUTDOOR_SPAN: f64 = 10.0;
/// The gas must have risen by so much at the same weather, and by that share of the rise of the ratio.
const LEAST_GAS_RISE: f64 = 0.02;
const GAS_SHARE: f64 = 3.0;
const RETURN: &str = "hw_return_temp";
const SUBJECT: &str = "gas per heat";

/// The detector.
pub struct BoilerEfficiency;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeatSource {
    Flow,
    PumpSpeed,
}

impl HeatSource {
    const fn word(self) -> &'static str {
        match self {
            Self::Flow => "flow",
            Self::PumpSpeed => "pump_speed",
        }
    }

    /// One that both windows have.
    fn of(case: &Case<'_>) -> Option<Self> {
        let both = |role: &str| {
            case.baseline.with_data(role).is_some() && case.current.with_data(role).is_some()
        };
        if both("hw_flow") {
            Some(Self::Flow)
        } else if both("hw_pump_speed") {
            Some(Self::PumpSpeed)
        } else {
            None
        }
    }

    /// Heat of every row: kW, or percent of pump speed times °F.
    fn heat(self, side: &Side<'_>, difference: &[f64]) -> Vec<f64> {
        match self {
            Self::Flow => masks::paired(
                side.column("hw_flow").unwrap_or_default(),
                difference,
                |flow, difference| BTU_PER_GPM_DEGREE * flow * difference / BTU_PER_KWH,
            ),
            Self::PumpSpeed => {
                let speed = gates::percent(side.column("hw_pump_speed").unwrap_or_default());
                masks::paired(&speed, difference, |speed, difference| speed * difference)
            }
        }
    }
}

/// Gas over heat of a window; NaN where the boiler does not make heat.
fn ratios(side: &Side<'_>, source: HeatSource) -> Signal {
    let column = |role: &str| side.column(role).unwrap_or_default();
    let gas = column("gas_input_rate");
    let difference = masks::paired(
        column("hw_supply_temp"),
        column(RETURN),
        |supply, returned| supply - returned,
    );
    let heat = source.heat(side, &difference);
    let mut rows = masks::where_value(gas, |value| value > 0.0);
    if let Some(status) = side.with_data("boiler_status") {
        masks::narrow(&mut rows, &masks::where_value(status, |value| value > 0.5));
    }
    masks::narrow(
        &mut rows,
        &masks::where_value(&difference, |value| value > LEAST_DIFFERENCE),
    );
    masks::narrow(&mut rows, &masks::where_value(&heat, |value| value > 0.0));
    let heat = kept(&heat, &rows);
    let ratio = masks::paired(gas, &heat, |gas, heat| gas / heat);
    Signal::new(side.stamps(), ratio, heat)
}

fn fit_rule(baseline: &Signal) -> FitRule {
    let size = positive_quantile(&baseline.load, 0.95);
    let middle = numeric::median(&baseline.metric);
    FitRule::over(Scope {
        min_load: HEAT_SHARE * size,
        low: middle / CREDIBLE,
        high: middle * CREDIBLE,
    })
    .spanning(SPAN_SHARE * size)
    .or_level()
    .with_covariate_span(RETURN_SPREAD)
}

/// Gas over outdoor temperature in the rows that tell a ratio, for comparison at the same weather.
fn gas_by_weather(side: &Side<'_>, ratios: &Signal) -> Option<Signal> {
    let (gas, outdoor) = (side.column("gas_input_rate")?, side.column("oat")?);
    let rows = masks::present(&ratios.metric);
    Some(Signal::new(
        side.stamps(),
        kept(gas, &rows),
        outdoor.to_vec(),
    ))
}

/// By which share the gas rose at the same weather; none when the weather does not tell.
fn gas_rise(case: &Case<'_>, [known_good, current]: [&Signal; 2]) -> Option<f64> {
    let scope = Scope {
        min_load: f64::NEG_INFINITY,
        low: f64::NEG_INFINITY,
        high: f64::INFINITY,
    };
    let known_good = gas_by_weather(&case.baseline, known_good)?;
    let signature = case.baselines.get_or_fit("boiler_gas_signature", || {
        LoadBaseline::fit(
            &known_good,
            &FitRule::over(scope).spanning(OUTDOOR_SPAN),
            None,
        )
    })?;
    let current = gas_by_weather(&case.current, current)?.cleaned(&scope);
    if current.len() < ROWS {
        return None;
    }
    let expected: Vec<f64> = current
        .load
        .iter()
        .map(|outdoor| signature.baseline.at_load(*outdoor))
        .collect();
    let excess = masks::paired(&current.metric, &expected, |gas, expected| gas - expected);
    let rise = numeric::mean(&excess) / numeric::mean(&expected);
    rise.is_finite().then_some(rise)
}

impl Detector for BoilerEfficiency {
    fn rule(&self) -> &'static str {
        "boiler_efficiency_drift"
    }

    fn inputs(&self) -> Inputs {
        Inputs::of(
            &["gas_input_rate", "hw_supply_temp", RETURN],
            &["hw_flow", "hw_pump_speed", "oat", "boiler_status"],
        )
    }

    fn judge(&self, case: &Case<'_>) -> Judged {
        let Some(source) = HeatSource::of(case) else {
            return case.decline(
                Some("no_heat_measure"),
                SUBJECT,
                "Neither the flow of the hot water nor the speed of its pump is trended in both windows.",
            );
        };
        let known_good = ratios(&case.baseline, source);
        let current = ratios(&case.current, source);
        let rule = fit_rule(&known_good);
        let mut caveats = Vec::new();
        let fit = || fitted(case, &known_good, &rule, &mut caveats);
        let Some(known) = case.baselines.get_or_fit("boiler_efficiency", fit) else {
            return case.no_baseline(Some("no_baseline"), SUBJECT);
        };
        let judged = match (&known.baseline.covariate, case.current.column(RETURN)) {
            (Some(_), Some(returned)) => current.with_covariate(returned),
            _ => current.clone(),
        };
        let Some(shift) = Shift::of(&known.baseline, &judged, &rule.scope, ROWS) else {
            return case.nothing_scoreable(Some("nothing_scoreable"), SUBJECT);
        };
        if source == HeatSource::PumpSpeed {
            caveats.push(
                "Heat is taken from the speed of the pump, since no flow is trended: it is relative, and a worn pump reads as a \
                 worse boiler."
                    .to_owned(),
            );
        }
        // The heat of every row that makes some, also of those whose ratio is not credible.
        let level = known.baseline.at_load(numeric::median(&current.load));
        let relative = shift.drift / level;
        let judged = judge(relative, shift.drift_sigma);
        let rise = gas_rise(case, [&known_good, &current]);
        let (severity, attribution) = corroborated(judged, relative, rise, &mut caveats);
        let mut metrics = Metrics::new();
        metrics
            .number("ratio_drift", shift.drift)
            .rounded("ratio_drift_rel", relative, 4)
            .number("ratio_drift_sigma", shift.drift_sigma)
            .rounded("ratio_baseline_level", level, 4)
            .number("ratio_baseline_sigma", known.baseline.sigma)
            .number("ratio_slope_per_month", shift.slope_per_month)
            .count("n_current", shift.n_current)
            .set("heat_source", source.word())
            .set(
                "covariate",
                known.baseline.covariate.as_ref().map_or("", |_| RETURN),
            )
            .set("baseline_model", known.baseline.model.word())
            .number_or_null("gas_rise_at_matched_oat", rise.map(|rise| round(rise, 4)))
            .set("attribution", attribution);
        note_confidence(&mut metrics, true, false);
        let percent = round(100.0 * relative, 1);
        let sigmas = told_sigmas(shift.drift_sigma);
        let basis = case.basis.words();
        let summary = match severity {
            Severity::Ok => format!(
                "{}: gas per heat holds near {basis} ({percent:+.1} %, {sigmas})",
                case.equip
            ),
            _ => format!(
                "{}: gas per heat has moved by {percent:+.1} % ({sigmas}) against {basis} at the same heat",
                case.equip
            ),
        };
        Judged::with(severity, metrics, summary, caveats).traced(Trace {
            name: "ratio".to_owned(),
            sigma: known.baseline.sigma,
            drift: shift.drift,
            stamps: shift.rows.stamps,
            residuals: shift.residuals,
            ..Trace::default()
        })
    }
}

/// With the return water where its effect can be told, else over the heat alone.
fn fitted(
    case: &Case<'_>,
    signal: &Signal,
    rule: &FitRule,
    caveats: &mut Vec<String>,
) -> Option<LoadBaseline> {
    if let Some(returned) = case.baseline.column(RETURN) {
        let with = LoadBaseline::fit(&signal.with_covariate(returned), rule, Some(RETURN));
        let rises = |fit: &LoadBaseline| fit.covariate.as_ref().is_some_and(|one| one.slope > 0.0);
        if let Some(fit) = with.filter(rises) {
            return Some(fit);
        }
    }
    caveats.push(
        "The effect of the return water's temperature could not be told in the baseline: warmer return water alone raises the \
         gas per heat."
            .to_owned(),
    );
    LoadBaseline::fit(signal, rule, None)
}

fn judge(relative: f64, sigmas: f64) -> Severity {
    let reaches = |(least, least_sigmas): (f64, f64)| {
        relative >= least && (sigmas.is_nan() || sigmas >= least_sigmas)
    };
    if reaches(FAULT) {
        Severity::Fault
    } else if reaches(WARN) {
        Severity::Warn
    } else {
        Severity::Ok
    }
}

/// What the gas at the same weather makes of a verdict, and whom it points to.
fn corroborated(
    judged: Severity,
    relative: f64,
    rise: Option<f64>,
    caveats: &mut Vec<String>,
) -> (Severity, &'static str) {
    if judged > Severity::Warn {
        return (judged, "boiler");
    }
    match rise {
        None => {
            caveats.push(
                "The gas could not be compared at the same weather: a heat measurement that reads low looks the same, so that \
                 no more than a warning is given."
                    .to_owned(),
            );
            (Severity::Warn, "uncorroborated")
        }
        Some(rise) if rise < LEAST_GAS_RISE.max(relative / GAS_SHARE) => {
            caveats.push(format!(
                "The gas itself rose by only {:.1} % at the same weather: the heat measurement is to be checked first.",
                100.0 * rise
            ));
            (Severity::Info, "heat_metering")
        }
        Some(_) => (judged, "boiler"),
    }
}
