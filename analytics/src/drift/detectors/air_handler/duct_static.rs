//! Static pressure of a duct at the same airflow (Drift §5.1).

use super::fan_power::{LEAST_AIRFLOW, over_airflow};
use crate::drift::baseline::{FitRule, Scope};
use crate::drift::detector::{Case, Detector, Inputs, Judged};
use crate::drift::measure::{Measure, Measured};
use crate::drift::setpoint::SetpointCorrection;
use crate::drift::shift::{Direction, Floors};

const SUBJECT: &str = "duct static";

const CORRECTION: SetpointCorrection<'_> = SetpointCorrection {
    setpoint: "duct_static_sp",
    status: "supply_fan_status",
    least_shift: 0.10,
    decimals: 4,
    shift_name: "static_sp_shift",
    residual_name: "duct_static_residual_drift",
    driven_name: "duct_static_setpoint_driven",
};

/// The detector.
pub struct DuctStatic;

impl Detector for DuctStatic {
    fn rule(&self) -> &'static str {
        "duct_static_drift"
    }

    fn inputs(&self) -> Inputs {
        Inputs::of(
            &["duct_static", "airflow"],
            &["duct_static_sp", "supply_fan_status"],
        )
    }

    fn judge(&self, case: &Case<'_>) -> Judged {
        let scope = Scope {
            min_load: LEAST_AIRFLOW,
            low: 0.0,
            high: 6.0,
        };
        let measure = Measure::new(
            "duct_static",
            ("duct_static", "inwc"),
            FitRule::over(scope),
            Direction::Both,
            Floors::of((0.15, 0.30), (2.5, 4.0)),
        );
        let [before, after] = over_airflow(case, "duct_static");
        let mut measured = match Measured::of(case, &measure, &before, &after) {
            Ok(measured) => measured,
            Err(why) => return why.declined(case, SUBJECT),
        };
        let mut metrics = measured.metrics();
        CORRECTION.apply(case, &measure, &mut measured, &mut metrics);
        let summary = measured.told(case, SUBJECT, "inH2O", "airflow");
        measured.into_judged(metrics, summary)
    }
}
