//! Approach of a cooling tower to the wet bulb at the same load (Drift §5.2).

use super::{CHILLED_WATER, chilled_tons, tons};
use crate::drift::baseline::{FitRule, Signal};
use crate::drift::detector::{Case, Detector, Inputs, Judged};
use crate::drift::measure::{Measure, Measured};
use crate::drift::normaliser::LoadGate;
use crate::drift::shift::{Direction, Floors};
use crate::drift::wet_bulb::wet_bulb;
use crate::drift::windows::Side;
use crate::masks;

const KIND: &str = "cooling_tower_approach";
const SUBJECT: &str = "the tower's approach";

/// What tells the load of a tower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::drift::detectors) enum TowerLoad {
    ChilledTons,
    HeatRejection,
    Range,
}

impl TowerLoad {
    pub const fn word(self) -> &'static str {
        match self {
            Self::ChilledTons => "chw_tons",
            Self::HeatRejection => "cw_heat_rejection",
            Self::Range => "cw_range",
        }
    }

    /// The best one that has samples in a window.
    fn of(side: &Side<'_>) -> Option<Self> {
        let all = |roles: &[&str]| roles.iter().all(|role| side.with_data(role).is_some());
        if all(&CHILLED_WATER) {
            Some(Self::ChilledTons)
        } else if !all(&["cw_supply_temp", "cw_return_temp"]) {
            None
        } else if all(&["cw_flow"]) {
            Some(Self::HeatRejection)
        } else {
            Some(Self::Range)
        }
    }

    /// Tons, or °F of range.
    pub fn values(self, side: &Side<'_>) -> Vec<f64> {
        let none = || vec![f64::NAN; side.len()];
        match self {
            Self::ChilledTons => chilled_tons(side),
            Self::HeatRejection => {
                tons(side, ["cw_flow", "cw_supply_temp", "cw_return_temp"]).unwrap_or_else(none)
            }
            Self::Range => side
                .column("cw_return_temp")
                .zip(side.column("cw_supply_temp"))
                .map_or_else(none, |(warm, cold)| {
                    masks::paired(warm, cold, |warm, cold| warm - cold)
                }),
        }
    }
}

/// The detector.
pub struct TowerApproach;

impl Detector for TowerApproach {
    fn rule(&self) -> &'static str {
        "cooling_tower_approach_drift"
    }

    fn inputs(&self) -> Inputs {
        Inputs::of(
            &[],
            &[
                "chw_supply_temp",
                "chw_return_temp",
                "cw_supply_temp",
                "cw_flow",
                "wetbulb_temp",
                "oat",
                "outdoor_rh",
            ],
        )
        .with_any_of(&["chw_flow", "cw_return_temp"])
    }

    fn judge(&self, case: &Case<'_>) -> Judged {
        let approach = |side: &Side<'_>| {
            let supplied = side.column("cw_supply_temp")?;
            let wet = wet_bulb(side, case.elevation_ft)?;
            Some(masks::paired(supplied, &wet, |supplied, wet| {
                supplied - wet
            }))
        };
        let Some(current) = approach(&case.current) else {
            return case.decline(
                Some("tower_approach_not_available"),
                SUBJECT,
                "The approach needs the water that leaves the tower and a wet bulb, measured or from outdoor temperature and \
                 humidity; one of them is not trended.",
            );
        };
        let before =
            approach(&case.baseline).unwrap_or_else(|| vec![f64::NAN; case.baseline.len()]);
        let sources = (TowerLoad::of(&case.baseline), TowerLoad::of(&case.current));
        let source = match sources {
            (Some(before), Some(after)) if before == after => after,
            _ => {
                return case.decline(
                    Some("no_load"),
                    SUBJECT,
                    "Nothing tells the load of the tower in both windows in the same way.",
                );
            }
        };
        let known_good = Signal::new(
            case.baseline.stamps(),
            before,
            source.values(&case.baseline),
        );
        let current = Signal::new(case.current.stamps(), current, source.values(&case.current));
        let gate = LoadGate::TONS.scaled_to(&known_good.load);
        let fit = FitRule::over(gate.scope(-2.0, 40.0))
            .spanning(gate.min_span)
            .or_level();
        let measure = Measure::new(
            KIND,
            ("tower_approach", "f"),
            fit,
            Direction::Up,
            Floors::of((1.5, 3.0), (2.5, 4.0)),
        );
        let mut of_unknown_load = false;
        if !case.baselines.may_fit()
            && let Some(frozen) = case.baselines.get(KIND)
        {
            match frozen.baseline.load_source.as_deref() {
                Some(known) if known != source.word() => {
                    return case.decline(
                        Some("load_source_mismatch"),
                        SUBJECT,
                        format!(
                            "The frozen baseline goes by {known}, and the current window only tells {}.",
                            source.word()
                        ),
                    );
                }
                Some(_) => {}
                None => of_unknown_load = true,
            }
        }
        let mut measured = match Measured::of(case, &measure, &known_good, &current) {
            Ok(measured) => measured,
            Err(why) => return why.declined(case, SUBJECT),
        };
        measured.note_no_scatter();
        measured.note_level();
        if of_unknown_load {
            measured.caveats.push(format!(
                "The frozen baseline does not say what its load is; it was taken for {}.",
                source.word()
            ));
        }
        let mut metrics = measured.metrics();
        measured.write_model(&mut metrics);
        metrics
            .set("tower_approach_load_source", source.word())
            .number("tower_approach_min_tons", gate.min_load);
        let summary = measured.told(case, SUBJECT, "°F", "load");
        measured.into_judged(metrics, summary)
    }
}
