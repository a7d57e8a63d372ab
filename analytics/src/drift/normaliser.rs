//! What a load must be to count, and floors that scale with a machine (Drift §3.3, §4).

use super::baseline::Scope;
use crate::numeric::{self, round, share_of};

/// Share of the capacity below which a load does not count, and share that it must span.
const GATE_SHARE: f64 = 0.10;
const SPAN_SHARE: f64 = 0.20;
/// A floor that a drive keeps: its percentile, how near it readings lie, how many, and how far the others reach above it.
const FLOOR_PERCENTILE: f64 = 0.02;
const FLOOR_NEAR: f64 = 1.0;
const FLOOR_SHARE: f64 = 0.10;
const FLOOR_REACH: f64 = 20.0;
/// Above a learned floor, and where none is learned (percent of speed).
const ABOVE_FLOOR: f64 = 2.0;
pub const DEFAULT_SPEED_GATE: f64 = 15.0;
/// Span of speeds (percent).
pub const SPEED_SPAN: f64 = 10.0;
/// A constant normaliser holds within this share of its median.
const CONSTANT_SHARE: f64 = 0.05;

/// Least load and least span of loads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadGate {
    pub min_load: f64,
    pub min_span: f64,
}

impl LoadGate {
    /// Cooling in tons.
    pub const TONS: Self = Self {
        min_load: 5.0,
        min_span: 10.0,
    };
    /// Water flow in gpm.
    pub const FLOW: Self = Self {
        min_load: 50.0,
        min_span: 10.0,
    };

    /// The gate of a machine: the full one, or less where its baseline loads are small.
    pub fn scaled_to(self, baseline_loads: &[f64]) -> Self {
        let capacity = positive_quantile(baseline_loads, 0.95);
        if capacity.is_nan() {
            return self;
        }
        Self {
            min_load: round(self.min_load.min(GATE_SHARE * capacity), 6),
            min_span: round(self.min_span.min(SPAN_SHARE * capacity), 6),
        }
    }

    /// The scope of a metric over this load.
    pub fn scope(self, low: f64, high: f64) -> Scope {
        Scope {
            min_load: self.min_load,
            low,
            high,
        }
    }
}

fn positive(values: &[f64]) -> Vec<f64> {
    values
        .iter()
        .copied()
        .filter(|value| value.is_finite() && *value > 0.0)
        .collect()
}

/// Quantile of the finite positive values; NaN without any.
pub fn positive_quantile(values: &[f64], q: f64) -> f64 {
    numeric::quantile_in_place(&mut positive(values), q)
}

/// A floor that grows with the machine: a share of the 95th percentile of its baseline, at most the cap.
pub fn scaled_floor(explicit: Option<f64>, share: f64, cap: f64, baseline: &[f64]) -> f64 {
    if let Some(explicit) = explicit {
        return explicit;
    }
    let size = positive_quantile(baseline, 0.95);
    match size.is_nan() {
        true => cap,
        false => round(cap.min(share * size), 6),
    }
}

/// The speed that a drive never goes below, where readings show one.
pub fn learned_floor(running_speeds: &[f64]) -> Option<f64> {
    let speeds = positive(running_speeds);
    let floor = numeric::quantile(&speeds, FLOOR_PERCENTILE);
    let near = speeds
        .iter()
        .filter(|speed| (**speed - floor).abs() <= FLOOR_NEAR)
        .count();
    // Without speeds every comparison is one with NaN.
    let is_floor = share_of(near) / share_of(speeds.len()) >= FLOOR_SHARE
        && numeric::quantile(&speeds, 0.90) >= floor + FLOOR_REACH;
    is_floor.then(|| round(floor, 1))
}

/// Least speed that counts, and where it is from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpeedGate {
    pub percent: f64,
    pub source: &'static str,
    pub learned_floor: Option<f64>,
}

impl SpeedGate {
    /// The explicit one, else just above the learned floor, else 15 %.
    pub fn of(explicit: Option<f64>, running_speeds: &[f64]) -> Self {
        if let Some(percent) = explicit {
            return Self {
                percent,
                source: "explicit",
                learned_floor: None,
            };
        }
        match learned_floor(running_speeds) {
            Some(floor) => Self {
                percent: floor + ABOVE_FLOOR,
                source: "learned_vfd_floor",
                learned_floor: Some(floor),
            },
            None => Self::DEFAULT,
        }
    }

    /// 15 %.
    pub const DEFAULT: Self = Self {
        percent: DEFAULT_SPEED_GATE,
        source: "default",
        learned_floor: None,
    };
}

/// Whether a normaliser hardly ever changes: its standard deviation is at most that share of its mean.
pub fn is_constant(baseline: &[f64], most_variation: f64) -> bool {
    let values = positive(baseline);
    numeric::std_sample(&values) / numeric::mean(&values) <= most_variation
}

/// The span to ask for of a constant normaliser: more than its own, so that a level is fitted that holds near its median.
pub fn constant_span(usable_loads: &[f64]) -> f64 {
    let span = numeric::max(usable_loads) - numeric::min(usable_loads);
    span + 2.0 * CONSTANT_SHARE * numeric::median(usable_loads)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(from: f64, to: f64, count: u32) -> Vec<f64> {
        (0..count)
            .map(|place| from + (to - from) * f64::from(place) / f64::from(count - 1))
            .collect()
    }

    #[test]
    fn gates_are_smaller_for_small_machines() {
        let few = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, -1.0, f64::NAN];
        let gate = LoadGate::TONS.scaled_to(&few);
        assert_eq!((gate.min_load, gate.min_span), (0.48, 0.96));
        assert_eq!(
            LoadGate::TONS.scaled_to(&line(0.0, 100.0, 101)),
            LoadGate::TONS
        );
        assert_eq!(LoadGate::TONS.scaled_to(&[f64::INFINITY]), LoadGate::TONS);
    }

    #[test]
    fn the_worked_flows_give_their_gate_and_floors() {
        let flow = line(100.0, 400.0, 61);
        let gate = LoadGate::FLOW.scaled_to(&flow);
        assert_eq!((gate.min_load, gate.min_span), (38.5, 10.0));
        assert_eq!(scaled_floor(None, 0.02, 15.0, &flow), 7.7);
        assert_eq!(scaled_floor(None, 0.04, 30.0, &flow), 15.4);
        assert_eq!(scaled_floor(Some(3.0), 0.04, 30.0, &flow), 3.0);
        assert_eq!(scaled_floor(None, 0.04, 30.0, &[]), 30.0);
    }

    #[test]
    fn a_floor_is_learned_where_a_drive_rests_on_it() {
        let mut speeds = line(35.0, 90.0, 100);
        assert_eq!(learned_floor(&speeds), None);
        speeds.extend([35.0; 30]);
        let gate = SpeedGate::of(None, &speeds);
        assert_eq!((gate.percent, gate.source), (37.0, "learned_vfd_floor"));
        assert_eq!(SpeedGate::of(None, &[]), SpeedGate::DEFAULT);
        assert!(is_constant(&[80.0, 80.1, 79.9], 0.02) && !is_constant(&[], 0.02));
        assert_eq!(constant_span(&[79.0, 80.0, 81.0]), 10.0);
        assert!(constant_span(&[]).is_nan());
    }
}
