//! Discharge pressure of a chiller at the same tons and condenser water (Drift §5.2).

use super::{CHILLED_WATER, OverTons, over_tons};
use crate::drift::detector::{Case, Detector, Inputs, Judged};
use crate::drift::measure::Candidate;
use crate::drift::shift::{Direction, Floors};
use crate::numeric::round;

const ROLE: &str = "discharge_pressure";
const SUBJECT: &str = "head pressure";
/// Condenser water that warmed by so much explains some of a rise (°F).
pub(in crate::drift) const WATER_CONFOUND: f64 = 2.0;

/// The detector.
pub struct HeadPressure;

impl Detector for HeadPressure {
    fn rule(&self) -> &'static str {
        "chiller_head_pressure_drift"
    }

    fn inputs(&self) -> Inputs {
        let [flow, supply, returned] = CHILLED_WATER;
        Inputs::of(
            &[ROLE, flow, supply, returned],
            &["cw_supply_temp", "oat", "suction_pressure"],
        )
    }

    fn judge(&self, case: &Case<'_>) -> Judged {
        let over = OverTons {
            kind: "chiller_head_pressure",
            names: ("head_pressure", "psi"),
            range: (-15.0, 2000.0),
            direction: Direction::Up,
            floors: Floors::of((2.0, 4.0), (2.5, 4.0)),
        };
        let Some(signals) = over_tons(case, |side| side.column(ROLE).map(<[f64]>::to_vec)) else {
            return case.decline(
                Some("discharge_pressure_not_mapped"),
                SUBJECT,
                "The discharge pressure is not trended.",
            );
        };
        let candidates = ["cw_supply_temp", "oat"].map(|role| Candidate::of(case, role));
        let scored = over.scored(case, &signals, |measure| {
            measure.candidates = candidates.to_vec();
        });
        let (mut measured, mut metrics) = match scored {
            Ok(scored) => scored,
            Err(why) => return why.declined(case, SUBJECT),
        };
        let used = measured.kept.baseline.covariate.clone();
        if used.is_none() {
            measured.caveats.push(
                "Only the load was allowed for: warmer condenser water or weather raises the head pressure too.".to_owned(),
            );
        }
        if let Some(water) = case.whole_shift("cw_supply_temp", 3) {
            metrics.number("cw_supply_shift_f", water);
            let is_allowed_for = used.is_some_and(|one| one.name == "cw_supply_temp");
            if measured.rises() && water >= WATER_CONFOUND && !is_allowed_for {
                measured.caveats.push(format!(
                    "Condenser water was {water:+.1} °F between the windows and is not allowed for: part of the rise is the water."
                ));
            }
        }
        if let Some(suction) = case.whole_shift("suction_pressure", 3) {
            metrics.number("suction_pressure_shift_psi", suction);
        }
        let medians =
            |role: &str| Some(case.current.whole_median(role)? - case.baseline.whole_median(role)?);
        if let Some((discharge, suction)) = medians(ROLE).zip(medians("suction_pressure")) {
            metrics.number("lift_shift_psi", round(discharge - suction, 3));
        }
        let matched = match &measured.kept.baseline.covariate {
            Some(covariate) => format!("tons and {}", covariate.name),
            None => "tons".to_owned(),
        };
        let summary = measured.told(case, SUBJECT, "psi", &matched);
        measured.into_judged(metrics, summary)
    }
}
