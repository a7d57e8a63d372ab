//! Approach of condenser and evaporator at the same tons (Drift §5.2).

use super::{CHILLED_WATER, OverTons, over_tons};
use crate::drift::detector::{Case, Detector, Inputs, Judged, note_confidence};
use crate::drift::measure::{Measured, told_sigmas, told_size};
use crate::drift::shift::{Direction, Floors};
use crate::finding::{Metrics, Severity};

pub(in crate::drift) const FLOORS: Floors = Floors::of((1.0, 2.0), (2.0, 3.0));
const SUBJECT: &str = "the approach";

/// One heat exchanger.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leg {
    pub role: &'static str,
    pub kind: &'static str,
    pub prefix: &'static str,
    pub word: &'static str,
}

pub(super) const LEGS: [Leg; 2] = [
    Leg {
        role: "cond_approach_temp",
        kind: "chiller_approach_cond",
        prefix: "cond",
        word: "condenser",
    },
    Leg {
        role: "evap_approach_temp",
        kind: "chiller_approach_evap",
        prefix: "evap",
        word: "evaporator",
    },
];

impl Leg {
    pub fn over_tons(&self) -> OverTons<'static> {
        OverTons {
            kind: self.kind,
            names: (self.prefix, "f"),
            range: (0.0, 50.0),
            direction: Direction::Up,
            floors: FLOORS,
        }
    }
}

/// What both detectors of the approach read.
pub(super) fn inputs() -> Inputs {
    let [flow, supply, returned] = CHILLED_WATER;
    Inputs::of(
        &["cond_approach_temp", flow, supply, returned],
        &["evap_approach_temp"],
    )
}

/// The detector.
pub struct Approach;

impl Detector for Approach {
    fn rule(&self) -> &'static str {
        "chiller_approach_drift"
    }

    fn inputs(&self) -> Inputs {
        inputs()
    }

    fn judge(&self, case: &Case<'_>) -> Judged {
        let mut metrics = Metrics::new();
        let mut caveats = Vec::new();
        let mut told = Vec::new();
        let mut traces = Vec::new();
        let mut severity = Severity::Ok;
        for leg in LEGS {
            match scored(case, leg) {
                Some(measured) => {
                    measured.write_shift(&mut metrics);
                    measured.write_model(&mut metrics);
                    severity = severity.worse(measured.severity);
                    told.push(format!(
                        "{} {} ({})",
                        leg.word,
                        told_size(measured.shift.drift, "°F"),
                        told_sigmas(measured.shift.drift_sigma)
                    ));
                    traces.push(measured.trace());
                    caveats.extend(measured.caveats);
                }
                None => caveats.push(format!(
                    "The approach of the {} could not be scored: it is not trended, or has too few rows of enough load.",
                    leg.word
                )),
            }
        }
        if told.is_empty() {
            return case.no_baseline(None, SUBJECT);
        }
        note_confidence(&mut metrics, true, false);
        let moved = match severity {
            Severity::Ok => "the approach holds near",
            _ => "the approach has moved against",
        };
        let summary = format!(
            "{}: {moved} {} at the same tons: {}",
            case.equip,
            case.basis.words(),
            told.join(", ")
        );
        let mut judged = Judged::with(severity, metrics, summary, caveats);
        judged.traces = traces;
        judged
    }
}

fn scored(case: &Case<'_>, leg: Leg) -> Option<Measured> {
    let signals = over_tons(case, |side| side.column(leg.role).map(<[f64]>::to_vec))?;
    let over = leg.over_tons();
    let (_, mut measure) = over.measure(&signals[0]);
    measure.alarm = None;
    let mut measured = Measured::of(case, &measure, &signals[0], &signals[1]).ok()?;
    measured.note_no_scatter();
    measured.note_level();
    Some(measured)
}
