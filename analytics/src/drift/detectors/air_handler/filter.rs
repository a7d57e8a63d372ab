//! Pressure drop of a filter at the same airflow (Drift §5.1).

use super::fan_power::{LEAST_AIRFLOW, over_airflow};
use crate::drift::baseline::{FitRule, Scope};
use crate::drift::detector::{Case, Detector, Inputs, Judged};
use crate::drift::measure::{Measure, Measured};
use crate::drift::shift::{Direction, Floors};

const SUBJECT: &str = "filter pressure drop";

/// The detector.
pub struct FilterLoading;

impl Detector for FilterLoading {
    fn rule(&self) -> &'static str {
        "filter_loading_drift"
    }

    fn inputs(&self) -> Inputs {
        Inputs::of(&["filter_diff_press", "airflow"], &["supply_fan_status"])
    }

    fn judge(&self, case: &Case<'_>) -> Judged {
        let scope = Scope {
            min_load: LEAST_AIRFLOW,
            low: 0.0,
            high: 8.0,
        };
        let measure = Measure::new(
            "filter_loading",
            ("filter_dp", "inwc"),
            FitRule::over(scope),
            Direction::Up,
            Floors::of((0.15, 0.30), (2.5, 4.0)),
        );
        let [before, after] = over_airflow(case, "filter_diff_press");
        let mut measured = match Measured::of(case, &measure, &before, &after) {
            Ok(measured) => measured,
            Err(why) => return why.declined(case, SUBJECT),
        };
        measured.note_no_scatter();
        let metrics = measured.metrics();
        let summary = measured.told(case, SUBJECT, "inH2O", "airflow");
        measured.into_judged(metrics, summary)
    }
}
