//! Power of a fan at the same airflow (Drift §5.1).

use crate::drift::baseline::{FitRule, Scope, Signal};
use crate::drift::detector::{Case, Detector, Inputs, Judged};
use crate::drift::measure::{Measure, Measured};
use crate::drift::shift::{Direction, Floors};
use crate::drift::windows::{Side, kept};

/// Less air counts as no flow (cfm).
pub(super) const LEAST_AIRFLOW: f64 = 200.0;
/// A static pressure that rose by so much explains some of the power (inH2O).
const STATIC_CONFOUND: f64 = 0.2;
const SUBJECT: &str = "fan power";

/// The detector.
pub struct FanPower;

impl Detector for FanPower {
    fn rule(&self) -> &'static str {
        "fan_efficiency_drift"
    }

    fn inputs(&self) -> Inputs {
        Inputs::of(&["power", "airflow"], &["duct_static", "supply_fan_status"])
    }

    fn judge(&self, case: &Case<'_>) -> Judged {
        let scope = Scope {
            min_load: LEAST_AIRFLOW,
            low: 0.0,
            high: 1e7,
        };
        let measure = Measure::new(
            "fan_efficiency",
            ("fan_power", "kw"),
            FitRule::over(scope),
            Direction::Up,
            Floors::of((0.5, 1.0), (2.5, 4.0)),
        );
        let [before, after] = over_airflow(case, "power");
        let mut measured = match Measured::of(case, &measure, &before, &after) {
            Ok(measured) => measured,
            Err(why) => return why.declined(case, SUBJECT),
        };
        measured.note_no_scatter();
        let mut metrics = measured.metrics();
        if let Some(shift) = case.running_shift("duct_static", "supply_fan_status", 4) {
            metrics.number("duct_static_shift", shift);
            if measured.rises() && shift >= STATIC_CONFOUND {
                measured.caveats.push(format!(
                    "Duct static rose by {shift:.2} inH2O: part of the power is the pressure that the fan now works against, \
                     not the fan."
                ));
            }
        }
        let summary = measured.told(case, SUBJECT, "kW", "airflow");
        measured.into_judged(metrics, summary)
    }
}

/// A role over the airflow in both windows, while the fan runs.
pub(super) fn over_airflow(case: &Case<'_>, role: &str) -> [Signal; 2] {
    let of = |side: &Side<'_>| {
        let running = side.running("supply_fan_status");
        Signal::new(
            side.stamps(),
            kept(side.column(role).unwrap_or_default(), &running),
            side.column("airflow").unwrap_or_default().to_vec(),
        )
    };
    [of(&case.baseline), of(&case.current)]
}
