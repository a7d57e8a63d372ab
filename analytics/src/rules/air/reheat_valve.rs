//! The reheat valve of a box, by its measured position where there is one (Air rules §2.16, §2.20).

use crate::frame::Frame;
use crate::masks;
use crate::numeric;

/// A valve is open above this percentage.
pub const OPEN: f64 = 5.0;

/// A valve whose demand is from here on is asked to be fully open.
pub const FULLY_OPEN: f64 = 90.0;

/// Samples with full demand that tell whether the position follows.
const LEAST_SAMPLES: usize = 12;

/// What is read as the valve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReheatValve<'a> {
    pub values: &'a [f64],
    /// `position` or `demand`.
    pub signal: &'static str,
}

impl<'a> ReheatValve<'a> {
    /// The position where it has any sample, else the demand; none without a column.
    pub fn of(frame: &Frame<'a>) -> Option<Self> {
        let position = frame.with_data("heat_valve_position").map(|values| Self {
            values,
            signal: "position",
        });
        position.or_else(|| {
            frame.column("heat_valve").map(|values| Self {
                values,
                signal: "demand",
            })
        })
    }
}

/// How often a valve that is asked to be fully open stays shut.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Divergence {
    pub share: f64,
}

impl Divergence {
    /// Over the kept samples; none when a point is missing or there is too little full demand.
    pub fn of(frame: &Frame<'_>, keep: &[bool]) -> Option<Self> {
        let demand = frame.column("heat_valve")?;
        let position = frame.column("heat_valve_position")?;
        let asked = masks::and(
            keep,
            &masks::where_value(demand, |value| value >= FULLY_OPEN),
        );
        let positions = masks::picked_values(position, &asked);
        if positions.len() < LEAST_SAMPLES {
            return None;
        }
        let shut = positions.iter().filter(|value| **value <= OPEN).count();
        Some(Self {
            share: numeric::share_of(shut) / numeric::share_of(positions.len()),
        })
    }

    /// What is to be said of it; nothing when demand and position agree.
    pub fn caveat(self) -> Option<String> {
        (self.share >= 0.25).then(|| {
            format!(
                "The valve stays shut in {:.0} % of the samples in which it is asked to be fully open: the valve or its \
                 actuator may be stuck.",
                100.0 * self.share
            )
        })
    }
}
