//! Flow of a pump at the same speed (Drift §5.3).

use super::{OverSpeed, PumpMetric, STATUS, Water, defaults, running};
use crate::drift::detector::{Case, Detector, Inputs, Judged};
use crate::drift::normaliser::scaled_floor;
use crate::drift::shift::Direction;

const SUBJECT: &str = "pump flow";

/// The detector.
pub struct PumpFlow(pub Water);

impl Detector for PumpFlow {
    fn rule(&self) -> &'static str {
        self.0.pick("pump_flow_drift", "hw_pump_flow_drift")
    }

    fn inputs(&self) -> Inputs {
        Inputs::of(&[self.0.flow()], &[self.0.pressure()]).with_any_of(&[self.0.speed(), STATUS])
    }

    fn judge(&self, case: &Case<'_>) -> Judged {
        let Some(parameters) = defaults(self.rule()) else {
            return case.no_baseline(None, SUBJECT);
        };
        let over = OverSpeed::of(case, self.0, self.0.flow(), (0.0, 1e6), &parameters);
        let size = running(&case.baseline, self.0.flow());
        let warn = scaled_floor(parameters.optional("warn_gpm"), 0.02, 15.0, &size);
        let fault = scaled_floor(parameters.optional("fault_gpm"), 0.04, 30.0, &size);
        let metric = PumpMetric {
            subject: SUBJECT,
            kind: self.0.pick("pump_flow", "hw_pump_flow"),
            prefix: "pump_flow",
            unit: "gpm",
            direction: Direction::Down,
            floors: (warn, fault),
            notes_no_scatter: true,
        };
        let (_, mut measured, mut metrics) = match metric.measured(case, &over, &parameters) {
            Ok(found) => found,
            Err(declined) => return *declined,
        };
        metrics
            .number("pump_flow_warn_floor_gpm", warn)
            .number("pump_flow_fault_floor_gpm", fault);
        if let Some(shift) = case.running_shift(self.0.pressure(), STATUS, 3) {
            metrics.number("dp_shift", shift);
            if measured.shift.drift < 0.0 && shift >= parameters.number("dp_confound") {
                measured.caveats.push(format!(
                    "The differential pressure of the loop rose by {shift:.1}: less flow at the same speed is then the loop's \
                     resistance as much as the pump."
                ));
            }
        }
        let summary = measured.told(case, SUBJECT, "gpm", "speed");
        measured.into_judged(metrics, summary)
    }
}
