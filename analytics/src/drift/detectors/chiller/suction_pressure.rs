//! Suction pressure of a chiller at the same tons and chilled water (Drift §5.2).

use super::{CHILLED_WATER, OverTons, over_tons};
use crate::drift::detector::{Case, Detector, Inputs, Judged};
use crate::drift::measure::Candidate;
use crate::drift::shift::{Direction, Floors};
use crate::finding::Severity;

const ROLE: &str = "suction_pressure";
const SUBJECT: &str = "suction pressure";
/// Chilled water that moved by so much explains some of a shift (°F).
const WATER_CONFOUND: f64 = 1.0;

/// The detector.
pub struct SuctionPressure;

impl Detector for SuctionPressure {
    fn rule(&self) -> &'static str {
        "chiller_suction_pressure_drift"
    }

    fn inputs(&self) -> Inputs {
        Inputs::of(&CHILLED_WATER, &[ROLE])
    }

    fn judge(&self, case: &Case<'_>) -> Judged {
        let over = OverTons {
            kind: "chiller_suction_pressure",
            names: ("suction_pressure", "psi"),
            range: (-15.0, 1000.0),
            direction: Direction::Both,
            floors: Floors::of((2.0, 4.0), (2.5, 4.0)),
        };
        let Some(signals) = over_tons(case, |side| side.column(ROLE).map(<[f64]>::to_vec)) else {
            return case.decline(
                Some("suction_pressure_not_mapped"),
                SUBJECT,
                "The suction pressure is not trended.",
            );
        };
        let candidate = Candidate::of(case, "chw_supply_temp");
        let scored = over.scored(case, &signals, |measure| {
            measure.candidates = vec![candidate];
        });
        let (mut measured, mut metrics) = match scored {
            Ok(scored) => scored,
            Err(why) => return why.declined(case, SUBJECT),
        };
        let is_allowed_for = measured.kept.baseline.covariate.is_some();
        if let Some(water) = case.whole_shift("chw_supply_temp", 3) {
            metrics.number("chw_supply_shift_f", water);
            if measured.severity <= Severity::Warn
                && water.abs() >= WATER_CONFOUND
                && !is_allowed_for
            {
                measured.caveats.push(format!(
                    "Chilled water moved by {water:+.1} °F between the windows and is not allowed for: part of the shift is the \
                     water."
                ));
            }
        }
        let matched = match is_allowed_for {
            true => "tons and chilled-water temperature",
            false => "tons",
        };
        let summary = measured.told(case, SUBJECT, "psi", matched);
        measured.into_judged(metrics, summary)
    }
}
