//! What the points of one equipment say about each other (Engine §3.6).
//!
//! The checks run in a fixed order, over points that are scored for themselves already.

mod clipped;
mod copied;
mod fan;
mod frozen;
mod mixing;

use super::plant_gates::PlantGates;
use super::point::{FLAWED, FrameCheck, PointTrust};
use crate::frame::RoleFrame;
use crate::roles::{self, TrustTraits};

/// Points of one equipment, scored one by one, with the frame that they are of.
pub(super) struct Points<'a> {
    pub frame: &'a RoleFrame,
    pub plant: &'a PlantGates,
    /// Sorted by role.
    pub scored: &'a mut [PointTrust],
}

/// What a check lays to a point.
struct Mark {
    role: String,
    check: &'static str,
    flag: &'static str,
    explanation: String,
    /// What the trust loses: the share of samples that are wrong; none when only flagged.
    share: Option<f64>,
}

impl Points<'_> {
    /// Runs all checks.
    pub fn check(&mut self) {
        let fan_off = fan::off(self.frame);
        self.lay(fan::pressure_while_off(self.frame, fan_off.as_deref()));
        self.lay(fan::status_against_speed(self.frame));
        self.lay(frozen::all_points(self.frame, self.plant));
        let copies = copied::copies(self.frame);
        self.lay(copied::marks(self.frame, &copies));
        self.lay(mixing::flow_balance(self.frame, &copies));
        self.lay(mixing::temperature_order(self.frame));
        self.lay(clipped::at_limit(self.frame, fan_off.as_deref()));
    }

    fn lay(&mut self, marks: Vec<Mark>) {
        for mark in marks {
            let Ok(place) = self
                .scored
                .binary_search_by(|point| point.role.as_str().cmp(&mark.role))
            else {
                continue;
            };
            let Some(point) = self.scored.get_mut(place) else {
                continue;
            };
            point.flag(mark.flag);
            point.frame_checks.push(FrameCheck {
                check: mark.check,
                explanation: mark.explanation,
            });
            if let Some(share) = mark.share {
                let trust = (point.trust * (1.0 - share)).min(FLAWED);
                point.set_trust(trust);
            }
        }
    }
}

/// The columns of the frame whose role has a trait.
fn columns_where(
    frame: &RoleFrame,
    has: impl Fn(&TrustTraits) -> bool,
) -> impl Iterator<Item = (&str, &[f64])> {
    frame
        .columns
        .iter()
        .filter(move |(slug, _)| roles::role(slug).is_some_and(|role| has(&role.trust)))
        .map(|(slug, values)| (slug.as_str(), values.as_slice()))
}
