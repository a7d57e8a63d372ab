//! Share of outdoor air at the same damper command (Drift §5.1).

use std::ops::RangeInclusive;

use crate::drift::baseline::{FitRule, Scope, Signal};
use crate::drift::detector::{Case, Detector, Inputs, Judged};
use crate::drift::measure::{Measure, Measured};
use crate::drift::shift::{Direction, Floors};
use crate::drift::windows::{Side, kept};
use crate::masks;
use crate::numeric::{self, round};

/// What is credible of each sensor, °F and percent.
const OUTDOOR: RangeInclusive<f64> = 20.0..=130.0;
const MIXED: RangeInclusive<f64> = 30.0..=120.0;
const RETURN: RangeInclusive<f64> = 40.0..=110.0;
const COMMAND: RangeInclusive<f64> = 0.0..=100.0;
/// Outdoor and return air nearer to each other tell no share of either (°F).
const LEAST_DIFFERENCE: f64 = 10.0;
const SUBJECT: &str = "the share of outdoor air";

/// The detector.
pub struct EconomizerDamper;

/// The rows of a window.
struct Rows {
    signal: Signal,
    kept: Vec<bool>,
    /// Percentage of otherwise good rows with too small a difference.
    degenerate: f64,
}

fn rows(side: &Side<'_>) -> Rows {
    let column = |role: &str| side.column(role).unwrap_or_default();
    let (outdoor, returned) = (column("oat"), column("return_air_temp"));
    let (mixed, command) = (column("mixed_air_temp"), column("oa_damper"));
    let credible: Vec<bool> = side
        .running("supply_fan_status")
        .iter()
        .zip(outdoor.iter().zip(returned))
        .zip(mixed.iter().zip(command))
        .map(|((running, (outdoor, returned)), (mixed, command))| {
            *running
                && OUTDOOR.contains(outdoor)
                && RETURN.contains(returned)
                && MIXED.contains(mixed)
                && COMMAND.contains(command)
        })
        .collect();
    let difference = masks::paired(returned, outdoor, |returned, outdoor| returned - outdoor);
    let tells = masks::where_value(&difference, |value| value.abs() >= LEAST_DIFFERENCE);
    let kept_rows = masks::and(&credible, &tells);
    let share: Vec<f64> = returned
        .iter()
        .zip(mixed)
        .zip(&difference)
        .map(|((returned, mixed), difference)| 100.0 * (returned - mixed) / difference)
        .collect();
    let degenerate = masks::and_not(&credible, &tells);
    Rows {
        signal: Signal::new(side.stamps(), kept(&share, &kept_rows), command.to_vec()),
        degenerate: numeric::percent_of(masks::count(&degenerate), masks::count(&credible)),
        kept: kept_rows,
    }
}

impl Detector for EconomizerDamper {
    fn rule(&self) -> &'static str {
        "economizer_damper_drift"
    }

    fn inputs(&self) -> Inputs {
        Inputs::of(
            &["oat", "return_air_temp", "mixed_air_temp", "oa_damper"],
            &["supply_fan_status", "oa_airflow", "econ_cmd"],
        )
    }

    fn judge(&self, case: &Case<'_>) -> Judged {
        let scope = Scope {
            min_load: 0.0,
            low: -20.0,
            high: 120.0,
        };
        let measure = Measure::new(
            "economizer_damper",
            ("econ_oa_fraction", "pct"),
            FitRule::over(scope),
            Direction::Both,
            Floors::of((10.0, 20.0), (2.5, 4.0)),
        );
        let (before, after) = (rows(&case.baseline), rows(&case.current));
        let mut measured = match Measured::of(case, &measure, &before.signal, &after.signal) {
            Ok(measured) => measured,
            Err(why) => return why.declined(case, SUBJECT),
        };
        let mut metrics = measured.metrics();
        let command = numeric::median(&masks::picked_values(&after.signal.load, &after.kept));
        let degenerate = before.degenerate.max(after.degenerate);
        metrics
            .rounded("econ_damper_median_cmd_pct", command, 3)
            .rounded("econ_degenerate_excluded_pct", degenerate, 2);
        measured.caveats.push(
            "Mixed air is rarely well mixed where its sensor sits: check a shift of the outdoor-air share against a measured \
             airflow where there is one."
                .to_owned(),
        );
        if degenerate > 0.0 {
            measured.caveats.push(format!(
                "{:.0} % of the rows were left out because outdoor and return air were too close to each other.",
                round(degenerate, 0)
            ));
        }
        let summary = measured.told(case, SUBJECT, "pp", "damper command");
        measured.into_judged(metrics, summary)
    }
}
