//! Head of a pump at the same speed (Drift §5.3).

use super::{OverSpeed, PumpMetric, STATUS, Water, defaults, running};
use crate::drift::detector::{Case, Detector, Inputs, Judged};
use crate::drift::normaliser::scaled_floor;
use crate::drift::shift::Direction;

const ROLE: &str = "pump_head";
const SUBJECT: &str = "pump head";

/// The detector.
pub struct PumpHead(pub Water);

impl Detector for PumpHead {
    fn rule(&self) -> &'static str {
        self.0.pick("pump_head_drift", "hw_pump_head_drift")
    }

    fn inputs(&self) -> Inputs {
        Inputs::of(&[], &[ROLE, self.0.flow()]).with_any_of(&[self.0.speed(), STATUS])
    }

    fn judge(&self, case: &Case<'_>) -> Judged {
        if !case.has(ROLE) {
            return case.decline(
                Some("pump_head_not_mapped"),
                SUBJECT,
                "The head of the pump is not trended: a differential pressure of the loop does not stand for it.",
            );
        }
        let Some(parameters) = defaults(self.rule()) else {
            return case.no_baseline(None, SUBJECT);
        };
        let over = OverSpeed::of(case, self.0, ROLE, (-5.0, 300.0), &parameters);
        let metric = PumpMetric {
            subject: SUBJECT,
            kind: self.0.pick("pump_head", "hw_pump_head"),
            prefix: "pump_head",
            unit: "psi",
            direction: Direction::Down,
            floors: (
                parameters.number("warn_psi"),
                parameters.number("fault_psi"),
            ),
            notes_no_scatter: true,
        };
        let (_, mut measured, mut metrics) = match metric.measured(case, &over, &parameters) {
            Ok(found) => found,
            Err(declined) => return *declined,
        };
        if let Some(shift) = case.running_shift(self.0.flow(), STATUS, 3) {
            metrics.number("flow_shift", shift);
            let size = running(&case.baseline, self.0.flow());
            let confound = scaled_floor(parameters.optional("flow_confound"), 0.025, 20.0, &size);
            if measured.shift.drift < 0.0 && shift >= confound {
                measured.caveats.push(format!(
                    "The flow rose by {shift:.0} gpm: less head at the same speed is then where the pump runs on its curve, \
                     not wear."
                ));
            }
        }
        let summary = measured.told(case, SUBJECT, "psi", "speed");
        measured.into_judged(metrics, summary)
    }
}
