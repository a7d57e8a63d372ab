//! What came of each fault condition: applied, reported, or not evaluated and why (Air rules §2.12).

use super::conditions::{CONDITIONS, FaultCondition, Sample};
use super::unit::{HeatingCoil, Unit};
use crate::masks;
use crate::numeric;
use crate::parameters::Parameters;
use crate::wall_clock::MINUTE;

/// A condition that was evaluated; masks are as long as the unit's samples.
pub(super) struct Evaluated {
    pub condition: &'static FaultCondition,
    pub applicable: Vec<bool>,
    pub reported: Vec<bool>,
    /// Samples that a leaking or stuck cooling valve explains instead.
    pub moved: usize,
}

impl Evaluated {
    /// Percent of the applicable samples that were reported.
    pub(super) fn percent(&self) -> f64 {
        numeric::percent_of(masks::count(&self.reported), masks::count(&self.applicable))
    }
}

/// The outcome of one condition.
pub(super) enum Outcome {
    Omitted(&'static str),
    Declined(Reason),
    NotApplicable,
    Evaluated(Evaluated),
}

/// Why a condition is declined.
pub(super) enum Reason {
    Own(&'static str),
    /// Roles that are not trended.
    Missing(Vec<&'static str>),
}

/// The fifteen outcomes, in order.
pub(super) struct Outcomes(pub Vec<(&'static FaultCondition, Outcome)>);

const FC14_INDEX: usize = 13;

impl Outcomes {
    pub(super) fn of(unit: &Unit, parameters: &Parameters) -> Self {
        let delay = parameters.number("alarm_delay_min") * numeric::nanos(MINUTE);
        let samples: Vec<Sample> = (0..unit.stamps.len())
            .map(|row| Sample::of(unit, row))
            .collect();
        let mut outcomes = Self(
            CONDITIONS
                .iter()
                .map(|condition| {
                    (
                        condition,
                        outcome(unit, parameters, condition, &samples, delay),
                    )
                })
                .collect(),
        );
        outcomes.attribute();
        outcomes
    }

    pub(super) fn evaluated(&self) -> impl Iterator<Item = &Evaluated> {
        self.0.iter().filter_map(|(_, outcome)| match outcome {
            Outcome::Evaluated(evaluated) => Some(evaluated),
            _ => None,
        })
    }

    /// Takes from FC8 and FC9 what coincides with a reported FC14, which causes it.
    fn attribute(&mut self) {
        let cause = match self.0.get(FC14_INDEX) {
            Some((_, Outcome::Evaluated(cause))) => cause.reported.clone(),
            _ => return,
        };
        for (condition, outcome) in &mut self.0 {
            let Outcome::Evaluated(evaluated) = outcome else {
                continue;
            };
            if matches!(condition.name, "FC8" | "FC9") {
                evaluated.moved = masks::count(&masks::and(&evaluated.reported, &cause));
                evaluated.reported = masks::and_not(&evaluated.reported, &cause);
            }
        }
    }
}

fn outcome(
    unit: &Unit,
    parameters: &Parameters,
    condition: &'static FaultCondition,
    samples: &[Sample],
    delay: f64,
) -> Outcome {
    if matches!(condition.name, "FC7" | "FC15") && !unit.has_heating_coil() {
        return Outcome::Omitted("the unit has no heating coil");
    }
    if let Some(reason) = own_reason(unit, parameters, condition) {
        return Outcome::Declined(Reason::Own(reason));
    }
    let missing: Vec<&str> = condition
        .inputs
        .iter()
        .filter(|input| !input.is_trended(unit))
        .map(|input| input.role())
        .collect();
    if !missing.is_empty() {
        return Outcome::Declined(Reason::Missing(missing));
    }
    let applicable: Vec<bool> = unit
        .states
        .iter()
        .zip(&unit.evaluable)
        .map(|(state, evaluable)| *evaluable && condition.applies_in(*state))
        .collect();
    if masks::count(&applicable) == 0 {
        return Outcome::NotApplicable;
    }
    let faulty: Vec<bool> = samples
        .iter()
        .zip(&applicable)
        .map(|(sample, applicable)| *applicable && (condition.equation)(sample))
        .collect();
    Outcome::Evaluated(Evaluated {
        condition,
        applicable,
        reported: lasting(unit, &faulty, delay),
        moved: 0,
    })
}

/// Reasons beyond an input that is not trended.
fn own_reason(
    unit: &Unit,
    parameters: &Parameters,
    condition: &FaultCondition,
) -> Option<&'static str> {
    let signals = &unit.signals;
    match condition.name {
        "FC6" if signals.outdoor_fraction.is_none() => Some(
            "it needs the minimum outdoor air (min_oa_pct) and mixed, return and outdoor air temperature",
        ),
        "FC14" if unit.coil == HeatingCoil::Present => Some(
            "mixed and supply air span both coils, so that they do not tell the cooling coil alone",
        ),
        "FC14" if !parameters.flag("mat_sat_as_coil_temps") => Some(
            "mixed and supply air are not to stand for the air entering and leaving the cooling coil",
        ),
        "FC14" if signals.mixed.is_none() || signals.supply.is_none() => Some(
            "mixed and supply air temperature, which stand for the air at the cooling coil, are not both trended",
        ),
        "FC15" => Some(
            "it needs the air entering and leaving the heating coil; mixed and supply air span the cooling coil too",
        ),
        _ => None,
    }
}

/// The samples of episodes that last the alarm delay.
fn lasting(unit: &Unit, faulty: &[bool], delay: f64) -> Vec<bool> {
    let mut kept = vec![false; faulty.len()];
    let mut episode: Vec<usize> = Vec::new();
    let mut first = 0_i64;
    let mut last: Option<i64> = None;
    let mut close = |episode: &mut Vec<usize>, first: i64, last: Option<i64>| {
        let lasts = last
            .is_some_and(|last| numeric::nanos(last.saturating_sub(first)) + unit.step >= delay);
        for row in episode.drain(..) {
            if let Some(kept) = kept.get_mut(row).filter(|_| lasts) {
                *kept = true;
            }
        }
    };
    for (row, (stamp, faulty)) in unit.stamps.iter().zip(faulty).enumerate() {
        let is_apart =
            last.is_some_and(|last| numeric::nanos(stamp.saturating_sub(last)) > 1.5 * unit.step);
        if !*faulty || is_apart {
            close(&mut episode, first, last);
        }
        if *faulty {
            if episode.is_empty() {
                first = *stamp;
            }
            episode.push(row);
            last = Some(*stamp);
        } else {
            last = None;
        }
    }
    close(&mut episode, first, last);
    kept
}
