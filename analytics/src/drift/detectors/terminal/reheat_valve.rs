//! Opening of a reheat valve at the same duty (Drift §5.4).

use crate::drift::baseline::{FitRule, Scope, Signal};
use crate::drift::detector::{Case, Detector, Inputs, Judged};
use crate::drift::detectors::air_handler::coil_valve::{CREDIBLE_DIFFERENCE, SHUT, WATER_CONFOUND};
use crate::drift::measure::{Measure, Measured};
use crate::drift::shift::{Direction, Floors};
use crate::drift::windows::{Side, kept};
use crate::masks;
use crate::numeric;

/// Airflow of a box (cfm), and duties (cfm times °F).
const AIRFLOW: std::ops::RangeInclusive<f64> = 0.0..=1e5;
const LEAST_DUTY: f64 = 1000.0;
const MOST_DUTY: f64 = 6e6;
/// Least rise of the air that is a load (°F).
const LEAST_RISE: f64 = 3.0;
const WATER: &str = "hw_supply_temp";
const SUBJECT: &str = "the reheat valve";

/// The detector.
pub struct ReheatValve;

struct Rows {
    signal: Signal,
    rise: Vec<f64>,
    kept: Vec<bool>,
    /// Percentage of all rows that no gate lets through.
    gated: f64,
}

fn rows(side: &Side<'_>) -> Rows {
    let column = |role: &str| side.column(role).unwrap_or_default();
    let (valve, airflow) = (column("heat_valve"), column("airflow"));
    let rise = masks::paired(
        column("supply_air_temp"),
        column("mixed_air_temp"),
        |supplied, mixed| supplied - mixed,
    );
    let duty = masks::paired(airflow, &rise, |airflow, rise| airflow * rise);
    let mut good = side.running("supply_fan_status");
    masks::narrow(&mut good, &masks::where_value(valve, |value| value > SHUT));
    let credible = masks::where_value(&rise, |value| {
        CREDIBLE_DIFFERENCE.contains(&value) && value >= LEAST_RISE
    });
    masks::narrow(&mut good, &credible);
    masks::narrow(
        &mut good,
        &masks::where_value(airflow, |value| AIRFLOW.contains(&value)),
    );
    masks::narrow(
        &mut good,
        &masks::where_value(&duty, |value| value <= MOST_DUTY),
    );
    let left_out = side.len() - masks::count(&good);
    Rows {
        signal: Signal::new(side.stamps(), kept(valve, &good), duty),
        rise,
        gated: numeric::percent_of(left_out, side.len()),
        kept: good,
    }
}

impl Detector for ReheatValve {
    fn rule(&self) -> &'static str {
        "vav_reheat_valve_drift"
    }

    fn inputs(&self) -> Inputs {
        Inputs::of(
            &["heat_valve", "supply_air_temp", "mixed_air_temp", "airflow"],
            &["supply_fan_status", WATER],
        )
    }

    fn judge(&self, case: &Case<'_>) -> Judged {
        let scope = Scope {
            min_load: LEAST_DUTY,
            low: 0.0,
            high: 100.0,
        };
        let measure = Measure::new(
            "vav_reheat_valve",
            ("vav_reheat_valve", "pct"),
            FitRule::over(scope),
            Direction::Up,
            Floors::of((8.0, 15.0), (2.5, 4.0)),
        );
        let (before, after) = (rows(&case.baseline), rows(&case.current));
        let mut measured = match Measured::of(case, &measure, &before.signal, &after.signal) {
            Ok(measured) => measured,
            Err(why) => return why.declined(case, SUBJECT),
        };
        measured.note_no_scatter();
        let mut metrics = measured.metrics();
        let median = |values: &[f64]| numeric::median(&masks::picked_values(values, &after.kept));
        metrics
            .set("vav_reheat_which", "reheat")
            .set("vav_reheat_load_basis", "duty")
            .rounded("vav_reheat_deltat_median_f", median(&after.rise), 3)
            .rounded("vav_reheat_duty_median_cfmf", median(&after.signal.load), 1)
            .rounded(
                "vav_reheat_valve_gated_excluded_pct",
                before.gated.max(after.gated),
                2,
            );
        if let Some(shift) = case.whole_shift(WATER, 3) {
            metrics.number("water_supply_shift_f", shift);
            if measured.rises() && shift <= -WATER_CONFOUND {
                measured.caveats.push(format!(
                    "The hot water moved by {shift:+.1} °F: part of the opening is the water, not the coil."
                ));
            }
        }
        let summary = measured.told(case, SUBJECT, "%", "duty");
        measured.into_judged(metrics, summary)
    }
}
