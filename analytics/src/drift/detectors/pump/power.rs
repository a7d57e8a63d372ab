//! Power of a pump at the same flow (Drift §5.3).

use super::{OverFlow, PumpMetric, STATUS, Water, defaults, running};
use crate::drift::detector::{Case, Detector, Inputs, Judged};
use crate::drift::normaliser::scaled_floor;
use crate::drift::shift::Direction;

const SUBJECT: &str = "pump power";

/// The detector.
pub struct PumpPower(pub Water);

impl Detector for PumpPower {
    fn rule(&self) -> &'static str {
        self.0.pick("pump_power_drift", "hw_pump_power_drift")
    }

    fn inputs(&self) -> Inputs {
        Inputs::of(&["power", self.0.flow()], &[STATUS])
    }

    fn judge(&self, case: &Case<'_>) -> Judged {
        let Some(parameters) = defaults(self.rule()) else {
            return case.no_baseline(None, SUBJECT);
        };
        let power = |side: &crate::drift::windows::Side<'_>| running(side, "power");
        let over = OverFlow::of(case, self.0, power, (0.0, 1e7), &parameters);
        let size = power(&case.baseline);
        let warn = scaled_floor(parameters.optional("warn_kw"), 0.055, 1.0, &size);
        let fault = scaled_floor(parameters.optional("fault_kw"), 0.11, 2.0, &size);
        let metric = PumpMetric {
            subject: SUBJECT,
            kind: self.0.pick("pump_power", "hw_pump_power"),
            prefix: "pump_power",
            unit: "kw",
            direction: Direction::Up,
            floors: (warn, fault),
            notes_no_scatter: true,
        };
        let (_, measured, mut metrics) = match metric.measured(case, &over, &parameters) {
            Ok(found) => found,
            Err(declined) => return *declined,
        };
        metrics
            .number("pump_power_warn_floor_kw", warn)
            .number("pump_power_fault_floor_kw", fault);
        let summary = measured.told(case, SUBJECT, "kW", "flow");
        measured.into_judged(metrics, summary)
    }
}
