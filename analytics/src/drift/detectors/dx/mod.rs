//! Detectors of a direct-expansion unit (Drift §5.7).

pub mod airflow;
pub mod charge;
pub mod discharge_superheat;

use super::chiller::{CHILLED_WATER, chilled_tons};
use crate::drift::baseline::{FitRule, LoadBaseline, Scope, Signal};
use crate::drift::detector::Case;
use crate::drift::normaliser::LoadGate;
use crate::drift::shift::Floors;
use crate::drift::windows::{Side, kept};
use crate::finding::Severity;
use crate::masks;

/// Any outdoor temperature counts (°F); it must span so much.
const LEAST_TEMPERATURE: f64 = -200.0;
const TEMPERATURE_SPAN: f64 = 5.0;
/// Spread below which the effect of a second influence is not told.
const COVARIATE_SPREAD: f64 = 2.0;
pub(super) const BASELINE_ROWS: usize = 30;
pub(super) const SCORED_ROWS: usize = 10;

/// Rows in which the unit cools: every test that is mapped has to say so.
fn cooling(side: &Side<'_>, with_fan: bool) -> Vec<bool> {
    type Test = (&'static str, fn(f64) -> bool);
    let tests: [Test; 2] = [
        ("compressor_status", |value| value > 0.5),
        ("reversing_valve_cmd", |value| value < 0.5),
    ];
    let mut rows = vec![true; side.len()];
    let fan: Test = ("supply_fan_status", |value| value > 0.5);
    for (role, test) in tests.into_iter().chain(with_fan.then_some(fan)) {
        if let Some(values) = side.column(role) {
            masks::narrow(&mut rows, &masks::where_value(values, test));
        }
    }
    if let Some((returned, supplied)) = side
        .column("return_air_temp")
        .zip(side.column("supply_air_temp"))
    {
        let cooled = masks::where_pair(returned, supplied, |returned, supplied| {
            returned - supplied > 0.0
        });
        masks::narrow(&mut rows, &cooled);
    }
    rows
}

/// Whether there is no outdoor temperature to compare at: the unit cools in one of the windows only, or none is there in
/// either while it cools. Weather of one window alone is no missing normaliser, as in the reference.
fn lacks_weather(case: &Case<'_>) -> bool {
    let mut is_told = false;
    for side in [&case.baseline, &case.current] {
        let rows = cooling(side, false);
        if masks::count(&rows) == 0 {
            return true;
        }
        let weather = side.column("oat");
        is_told |= weather.is_some_and(|values| masks::picked(values, &rows).next().is_some());
    }
    !is_told
}

/// Whether something tells running from standing in a window.
fn has_run_gate(side: &Side<'_>) -> bool {
    let both = ["return_air_temp", "supply_air_temp"];
    side.with_data("compressor_status").is_some()
        || both.iter().all(|role| side.with_data(role).is_some())
}

/// What a metric is normalised on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Normaliser {
    Outdoor,
    Tons,
    ReturnAir,
}

impl Normaliser {
    const fn word(self) -> &'static str {
        match self {
            Self::Outdoor => "oat",
            Self::Tons => "tons",
            Self::ReturnAir => "return_air_temp",
        }
    }

    fn load(self, side: &Side<'_>) -> Option<Vec<f64>> {
        match self {
            Self::Outdoor => side.column("oat").map(<[f64]>::to_vec),
            Self::ReturnAir => side.column("return_air_temp").map(<[f64]>::to_vec),
            Self::Tons => CHILLED_WATER
                .iter()
                .all(|role| side.has(role))
                .then(|| chilled_tons(side)),
        }
    }

    fn rule(self, baseline: &Signal, (low, high): (f64, f64)) -> FitRule {
        let gate = match self {
            Self::Tons => LoadGate::TONS.scaled_to(&baseline.load),
            Self::Outdoor | Self::ReturnAir => LoadGate {
                min_load: LEAST_TEMPERATURE,
                min_span: TEMPERATURE_SPAN,
            },
        };
        let scope: Scope = gate.scope(low, high);
        FitRule::over(scope)
            .spanning(gate.min_span)
            .or_level()
            .with_covariate_span(COVARIATE_SPREAD)
    }
}

/// A metric over its normaliser while the unit cools; none without the normaliser's column.
fn signal(
    side: &Side<'_>,
    metric: &[f64],
    normaliser: Normaliser,
    cooling: &[bool],
) -> Option<Signal> {
    Some(Signal::new(
        side.stamps(),
        kept(metric, cooling),
        kept(&normaliser.load(side)?, cooling),
    ))
}

/// With a second influence where its effect can be told, else without.
fn fit_with(
    signal: &Signal,
    rule: &FitRule,
    covariate: Option<(&str, &[f64])>,
) -> Option<LoadBaseline> {
    covariate
        .and_then(|(name, values)| {
            LoadBaseline::fit(&signal.with_covariate(values), rule, Some(name))
        })
        .or_else(|| LoadBaseline::fit(signal, rule, None))
}

/// The severity of a shift to either side: its size must reach the floor and that many sigmas.
fn judge(drift: f64, sigma: f64, floors: &Floors) -> Severity {
    let beyond = |floor: f64, sigmas: f64| {
        let least = if sigma > 0.0 {
            floor.max(sigmas * sigma)
        } else {
            floor
        };
        drift.abs() >= least
    };
    if beyond(floors.fault, floors.fault_sigma) {
        Severity::Fault
    } else if beyond(floors.warn, floors.warn_sigma) {
        Severity::Warn
    } else {
        Severity::Ok
    }
}

/// A covariate of the current window as the baseline names it; `Err` when it is missing.
fn with_current_covariate(
    case: &Case<'_>,
    baseline: &LoadBaseline,
    current: &Signal,
    value: impl FnOnce(&Side<'_>, &str) -> Option<Vec<f64>>,
) -> Option<Signal> {
    match &baseline.covariate {
        None => Some(current.clone()),
        Some(covariate) => {
            let values = value(&case.current, &covariate.name)?;
            Some(current.with_covariate(&values))
        }
    }
}
