//! Temperature range of the condenser water at the same tons (Drift §5.2).

use super::{CHILLED_WATER, OverTons, over_tons};
use crate::drift::detector::{Case, Detector, Inputs, Judged};
use crate::drift::shift::{Direction, Floors};
use crate::drift::windows::Side;
use crate::masks;

const SUBJECT: &str = "the condenser-water range";

/// The detector.
pub struct CondenserRange;

fn range(side: &Side<'_>) -> Option<Vec<f64>> {
    let (warm, cold) = (
        side.column("cw_return_temp")?,
        side.column("cw_supply_temp")?,
    );
    Some(masks::paired(warm, cold, |warm, cold| warm - cold))
}

impl Detector for CondenserRange {
    fn rule(&self) -> &'static str {
        "chiller_cw_range_drift"
    }

    fn inputs(&self) -> Inputs {
        Inputs::of(&CHILLED_WATER, &["cw_supply_temp", "cw_return_temp"])
    }

    fn judge(&self, case: &Case<'_>) -> Judged {
        let over = OverTons {
            kind: "chiller_cw_range",
            names: ("cw_range", "f"),
            range: (0.5, 40.0),
            direction: Direction::Both,
            floors: Floors::of((1.0, 2.0), (2.5, 5.0)),
        };
        let Some(signals) = over_tons(case, range) else {
            return case.decline(
                Some("cw_range_not_mapped"),
                SUBJECT,
                "The range needs the condenser water's temperature on both sides of the machine; one of them is not trended.",
            );
        };
        let (measured, metrics) = match over.scored(case, &signals, |_| ()) {
            Ok(scored) => scored,
            Err(why) => return why.declined(case, SUBJECT),
        };
        let summary = measured.told(case, SUBJECT, "°F", "tons");
        measured.into_judged(metrics, summary)
    }
}
