//! A sensor at the end of its range (Engine §3.6.3).

use super::{Mark, columns_where};
use crate::frame::RoleFrame;
use crate::numeric;
use crate::roles::{self, ClipEnds, Role};
use crate::trust::quality::part_of;

/// Fewer samples are not judged.
const FEWEST: usize = 24;
/// Samples at the limit that are needed.
const FEWEST_AT_LIMIT: usize = 12;

pub(super) fn at_limit(frame: &RoleFrame, fan_off: Option<&[bool]>) -> Vec<Mark> {
    columns_where(frame, |traits| traits.clip.is_some())
        .filter_map(|(slug, values)| {
            let role = roles::role(slug)?;
            let clip = limit(values, role, fan_off)?;
            Some(Mark {
                role: slug.to_owned(),
                check: "clipped_at_limit",
                flag: "clipped",
                explanation: format!(
                    "{} of {} samples stand at its {} end {} {}",
                    clip.at,
                    clip.n,
                    clip.side.word(),
                    numeric::round(clip.extreme, 4),
                    role.unit
                ),
                share: None,
            })
        })
        .collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Low,
    High,
}

impl Side {
    const fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::High => "high",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Clip {
    side: Side,
    extreme: f64,
    at: usize,
    n: usize,
}

fn limit(values: &[f64], role: &Role, fan_off: Option<&[bool]>) -> Option<Clip> {
    let all: Vec<f64> = numeric::present(values).collect();
    let sides: &[Side] = match role.trust.clip? {
        ClipEnds::High => &[Side::High],
        ClipEnds::Both => &[Side::Low, Side::High],
    };
    let mut best: Option<Clip> = None;
    for side in sides {
        let Some(clip) = clip_at(&all, *side, role.temperature) else {
            continue;
        };
        if best.is_none_or(|best| clip.at > best.at) {
            best = Some(clip);
        }
    }
    let best = best?;
    match fan_off.filter(|_| role.trust.fan_gated) {
        Some(off) => {
            // Still air rests at one value, which is no limit of the sensor.
            let on: Vec<f64> = values
                .iter()
                .zip(off)
                .filter(|(value, off)| !**off && !value.is_nan())
                .map(|(value, _)| *value)
                .collect();
            clip_at(&on, best.side, role.temperature).map(|_| best)
        }
        None => Some(best),
    }
}

fn clip_at(values: &[f64], side: Side, temperature: bool) -> Option<Clip> {
    let n = values.len();
    if n < FEWEST {
        return None;
    }
    let (low, high) = (numeric::min(values), numeric::max(values));
    let span = high - low;
    if !(span > 0.0) || !span.is_finite() {
        return None;
    }
    let extreme = match side {
        Side::Low => low,
        Side::High => high,
    };
    let edge = 0.001 * span;
    let within = |distance: f64| {
        values
            .iter()
            .filter(|value| (**value - extreme).abs() <= distance)
            .count()
    };
    let at = within(edge);
    let band = within(0.05 * span) - at;
    let piles_up = numeric::share_of(at) / edge >= 10.0 * numeric::share_of(band) / (0.049 * span);
    if at < FEWEST_AT_LIMIT || part_of(at, n) < 0.005 || !piles_up {
        return None;
    }
    let round =
        is_round(extreme, edge) || (temperature && is_round((extreme - 32.0) / 1.8, edge / 1.8));
    round.then_some(Clip {
        side,
        extreme,
        at,
        n,
    })
}

/// Whether a value is one of two significant figures: ends of ranges are.
fn is_round(value: f64, edge: f64) -> bool {
    let nearest: f64 = format!("{value:.1e}").parse().unwrap_or(value);
    let tolerance = if nearest == 0.0 {
        edge
    } else {
        edge.min(1e-4 * nearest.abs())
    };
    (value - nearest).abs() <= tolerance
}
