//! Temperature difference of a loop at the same flow (Drift §5.3).

use super::{OverFlow, PumpMetric, STATUS, Water, defaults, running};
use crate::drift::detector::{Case, Detector, Inputs, Judged};
use crate::drift::shift::Direction;
use crate::masks;

const SUBJECT: &str = "the loop's temperature difference";

/// The detector.
pub struct LoopDeltaT(pub Water);

impl Detector for LoopDeltaT {
    fn rule(&self) -> &'static str {
        self.0.pick("loop_deltat_drift", "hw_loop_deltat_drift")
    }

    fn inputs(&self) -> Inputs {
        let [supply, returned] = match self.0 {
            Water::Chilled => ["chw_supply_temp", "chw_return_temp"],
            Water::Hot => ["hw_supply_temp", "hw_return_temp"],
        };
        Inputs::of(&[self.0.flow(), supply, returned], &[STATUS])
    }

    fn judge(&self, case: &Case<'_>) -> Judged {
        let Some(parameters) = defaults(self.rule()) else {
            return case.no_baseline(None, SUBJECT);
        };
        let over = OverFlow::of(
            case,
            self.0,
            |side| {
                let (warm, cool) = (running(side, self.0.warm()), running(side, self.0.cool()));
                masks::paired(&warm, &cool, |warm, cool| warm - cool)
            },
            (0.5, 60.0),
            &parameters,
        );
        let metric = PumpMetric {
            subject: SUBJECT,
            kind: self.0.pick("loop_deltat", "hw_loop_deltat"),
            prefix: "loop_deltat",
            unit: "f",
            direction: Direction::Both,
            floors: (parameters.number("warn_f"), parameters.number("fault_f")),
            notes_no_scatter: true,
        };
        let (_, measured, metrics) = match metric.measured(case, &over, &parameters) {
            Ok(found) => found,
            Err(declined) => return *declined,
        };
        let summary = measured.told(case, SUBJECT, "°F", "flow");
        measured.into_judged(metrics, summary)
    }
}
