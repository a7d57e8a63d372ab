//! Temperature difference of a loop at the same flow (Drift §5.3).

use super::{OverFlow, STATUS, Water, defaults, running};
use crate::drift::detector::{Case, Detector, Inputs, Judged};
use crate::drift::detectors::air_handler::coil_leak::alarm_rule;
use crate::drift::measure::{Measure, Measured};
use crate::drift::shift::{Direction, Floors};
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
        let floors = Floors::of(
            (parameters.number("warn_f"), parameters.number("fault_f")),
            (
                parameters.number("warn_sigma"),
                parameters.number("fault_sigma"),
            ),
        );
        let mut measure = Measure::new(
            self.0.pick("loop_deltat", "hw_loop_deltat"),
            ("loop_deltat", "f"),
            over.fit,
            Direction::Both,
            floors,
        );
        measure.alarm = Some((alarm_rule(&parameters), Direction::Both));
        let [before, after] = &over.signals;
        let mut measured = match Measured::of(case, &measure, before, after) {
            Ok(measured) => measured,
            Err(why) => return why.declined(case, SUBJECT),
        };
        measured.note_no_scatter();
        measured.note_level();
        let mut metrics = measured.metrics();
        over.write(&measured, "loop_deltat", &mut metrics);
        let summary = measured.told(case, SUBJECT, "°F", "flow");
        measured.into_judged(metrics, summary)
    }
}
