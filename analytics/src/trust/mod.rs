//! How far each trend can be trusted: what it says of itself, and what the points of an equipment say about each other.
//!
//! - [`scores`]: all points of one equipment, in one of two views.
//! - [`references`]: points against reference instruments.
//!
//! Source: CAMBER analytic engine §3.

mod frame_checks;
mod modes;
mod plant_gates;
mod point;
mod quality;
pub mod references;
mod regimes;
mod spread;
mod stuck;
mod trim;
mod verdict;

#[cfg(test)]
mod tests;

use crate::frame::{Frame, RoleFrame};
use crate::gates;

use self::frame_checks::Points;
use self::plant_gates::PlantGates;
use self::point::Signals;
use self::quality::Series;

pub use self::point::{FrameCheck, PointTrust, StuckInterval};
pub use self::trim::Stray;
pub use self::verdict::TrustVerdict;

/// What the scores are for (Engine §3.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum View {
    /// What gates the rules: fan-gated points are judged over all hours.
    #[default]
    Rules,
    /// What a report shows: fan-gated points are judged while the fan runs.
    Report,
}

impl View {
    /// The word on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Rules => "rules",
            Self::Report => "report",
        }
    }
}

/// Scores every column of one equipment, sorted by role.
///
/// For the gate of rules hand in the *run frame* — all roles of the equipment at the resample of the run, over its window,
/// percent roles normalised, shared points merged — with [`View::Rules`]; a rule is declined when one of its gated inputs has
/// `trust` below the floor. The same frame gives the same scores as the capability `sensor_trust` shows.
///
/// ```
/// use niagara_analytics::RoleFrame;
/// use niagara_analytics::trust::{TrustVerdict, View, scores};
/// let frame = RoleFrame {
///     stamps: (0..48).map(|hour| hour * 3_600_000_000_000).collect(),
///     columns: [("oat".to_owned(), vec![55.0; 48])].into(),
///     ..RoleFrame::default()
/// };
/// let oat = &scores(&frame, View::Rules)[0];
/// assert_eq!((oat.verdict, oat.flags.as_slice()), (TrustVerdict::Untrusted, ["stuck"].as_slice()));
/// ```
pub fn scores(frame: &RoleFrame, view: View) -> Vec<PointTrust> {
    let plant = PlantGates::of(frame);
    let fan = match view {
        View::Rules => None,
        View::Report => gates::fan_on(&Frame::whole(frame)),
    };
    let modes = match (view, &fan) {
        (View::Report, None) => modes::inferred(frame),
        _ => None,
    };
    let mut scored: Vec<PointTrust> = frame
        .columns
        .iter()
        .map(|(role, values)| {
            let series = Series {
                stamps: &frame.stamps,
                values,
            };
            let signals = Signals {
                fan: fan.as_ref(),
                plant: plant.of_role(role),
                modes: modes.as_deref(),
            };
            point::score(role, series, signals)
        })
        .collect();
    Points {
        frame,
        plant: &plant,
        scored: &mut scored,
    }
    .check();
    scored
}
