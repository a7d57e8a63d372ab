//! Differential pressure of a loop at the same flow, in the unit in which it is stored (Drift §5.3).

use super::{OverFlow, PumpMetric, STATUS, Water, defaults, running};
use crate::drift::detector::{Case, Detector, Inputs, Judged};
use crate::drift::setpoint::SetpointCorrection;
use crate::drift::shift::Direction;
use crate::numeric;

const SUBJECT: &str = "the loop's differential pressure";
/// Credible values, as multiples of the baseline's median size.
const CREDIBLE: (f64, f64) = (-0.25, 5.0);

/// Credible pressures beside those of the baseline; any where the loop has none most of the time.
fn credible(baseline: &[f64]) -> (f64, f64) {
    let sizes: Vec<f64> = baseline.iter().map(|value| value.abs()).collect();
    let size = numeric::median(&sizes);
    match size > 0.0 {
        true => (CREDIBLE.0 * size, CREDIBLE.1 * size),
        false => (f64::NEG_INFINITY, f64::INFINITY),
    }
}

/// The detector.
pub struct LoopPressure(pub Water);

impl Detector for LoopPressure {
    fn rule(&self) -> &'static str {
        self.0.pick("loop_dp_drift", "hw_loop_dp_drift")
    }

    fn inputs(&self) -> Inputs {
        Inputs::of(
            &[self.0.pressure(), self.0.flow()],
            &[self.0.pressure_setpoint(), STATUS],
        )
    }

    fn judge(&self, case: &Case<'_>) -> Judged {
        let Some(parameters) = defaults(self.rule()) else {
            return case.no_baseline(None, SUBJECT);
        };
        let range = credible(&running(&case.baseline, self.0.pressure()));
        let over = OverFlow::of(
            case,
            self.0,
            |side| running(side, self.0.pressure()),
            range,
            &parameters,
        );
        let metric = PumpMetric {
            subject: SUBJECT,
            kind: self.0.pick("loop_dp", "hw_loop_dp"),
            prefix: "loop_dp",
            unit: "",
            direction: Direction::Both,
            floors: (parameters.number("warn"), parameters.number("fault")),
            notes_no_scatter: false,
        };
        let (measure, mut measured, mut metrics) = match metric.measured(case, &over, &parameters) {
            Ok(found) => found,
            Err(declined) => return *declined,
        };
        let correction = SetpointCorrection {
            setpoint: self.0.pressure_setpoint(),
            status: STATUS,
            least_shift: parameters.number("dp_sp_confound"),
            decimals: 3,
            shift_name: "dp_sp_shift",
            residual_name: "loop_dp_residual_drift",
            driven_name: "loop_dp_setpoint_driven",
        };
        correction.apply(case, &measure, &mut measured, &mut metrics);
        let summary = measured.told(case, SUBJECT, "", "flow");
        measured.into_judged(metrics, summary)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressures_are_bounded_by_the_usual_one_but_not_by_that_of_a_loop_that_mostly_rests() {
        let any = (f64::NEG_INFINITY, f64::INFINITY);
        assert_eq!(credible(&[8.0, -8.0, 8.0]), (-2.0, 40.0));
        assert_eq!(credible(&[0.0, 8.0]), (-1.0, 20.0));
        assert_eq!(credible(&[0.0, 0.0, 8.0]), any);
        assert_eq!(credible(&[f64::NAN, 0.0, -0.0]), any);
        assert_eq!(credible(&[f64::NAN]), any);
        assert_eq!(credible(&[]), any);
    }
}
