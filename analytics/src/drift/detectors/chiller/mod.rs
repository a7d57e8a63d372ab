//! Detectors of a chiller and its condenser water (Drift §5.2).

pub mod approach;
pub mod approach_alarm;
pub mod condenser_range;
pub mod head_pressure;
pub mod refrigerant;
pub mod suction_pressure;
pub mod tower_approach;

use crate::drift::baseline::{FitRule, Signal};
use crate::drift::detector::Case;
use crate::drift::measure::{Measure, Measured, NotScored};
use crate::drift::normaliser::LoadGate;
use crate::drift::shift::{Direction, Floors};
use crate::drift::windows::Side;
use crate::finding::Metrics;

/// gpm times °F that make a ton.
pub(super) const GPM_DEGREES_PER_TON: f64 = 24.0;

/// Chilled water: what tells the tons.
pub(super) const CHILLED_WATER: [&str; 3] = ["chw_flow", "chw_supply_temp", "chw_return_temp"];

/// Heat that a flow takes up between two temperatures, in tons.
pub(super) fn tons(side: &Side<'_>, [flow, cold, warm]: [&str; 3]) -> Option<Vec<f64>> {
    let (flow, cold, warm) = (side.column(flow)?, side.column(cold)?, side.column(warm)?);
    Some(
        flow.iter()
            .zip(warm.iter().zip(cold))
            .map(|(flow, (warm, cold))| flow * (warm - cold) / GPM_DEGREES_PER_TON)
            .collect(),
    )
}

/// Tons of chilled water; rows without any when a column is missing.
pub(super) fn chilled_tons(side: &Side<'_>) -> Vec<f64> {
    tons(side, CHILLED_WATER).unwrap_or_else(|| vec![f64::NAN; side.len()])
}

/// A metric over the tons in both windows.
pub(super) fn over_tons(
    case: &Case<'_>,
    metric: impl Fn(&Side<'_>) -> Option<Vec<f64>>,
) -> Option<[Signal; 2]> {
    let of = |side: &Side<'_>| {
        let values = metric(side)?;
        Some(Signal::new(side.stamps(), values, chilled_tons(side)))
    };
    let current = of(&case.current)?;
    let none = || Signal::new(&[], Vec::new(), Vec::new());
    Some([of(&case.baseline).unwrap_or_else(none), current])
}

/// One metric of a chiller over its tons.
pub(super) struct OverTons<'m> {
    pub kind: &'m str,
    pub names: (&'m str, &'m str),
    /// Credible values of the metric.
    pub range: (f64, f64),
    pub direction: Direction,
    pub floors: Floors,
}

impl OverTons<'_> {
    /// The gate of the machine, and the measure with it.
    pub fn measure<'m>(&'m self, baseline: &Signal) -> (LoadGate, Measure<'m>) {
        let gate = LoadGate::TONS.scaled_to(&baseline.load);
        let (low, high) = self.range;
        let fit = FitRule::over(gate.scope(low, high))
            .spanning(gate.min_span)
            .or_level()
            .with_covariate_span(COVARIATE_SPREAD);
        let measure = Measure::new(self.kind, self.names, fit, self.direction, self.floors);
        (gate, measure)
    }

    /// Scores it and writes the figures that all such metrics have.
    pub fn scored<'m>(
        &'m self,
        case: &Case<'_>,
        [baseline, current]: &[Signal; 2],
        prepare: impl FnOnce(&mut Measure<'m>),
    ) -> Result<(Measured, Metrics), NotScored> {
        let (gate, mut measure) = self.measure(baseline);
        prepare(&mut measure);
        let mut measured = Measured::of(case, &measure, baseline, current)?;
        measured.note_no_scatter();
        measured.note_level();
        let mut metrics = measured.metrics();
        measured.write_model(&mut metrics);
        measured.write_covariate(&mut metrics);
        metrics.number(&format!("{}_min_tons", self.names.0), gate.min_load);
        Ok((measured, metrics))
    }
}

/// Spread below which the effect of a second temperature is not told (°F).
pub(super) const COVARIATE_SPREAD: f64 = 2.0;
