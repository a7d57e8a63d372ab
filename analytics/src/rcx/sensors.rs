//! Sensors that cannot be taken at their word, and the findings that rest on them (RCx report §5).

use std::collections::BTreeSet;

use super::ReportInput;
use super::items::Item;
use super::units::{OUTDOOR, OutdoorSource, Unit};
use crate::finding::Severity;
use crate::trust::TrustVerdict;

/// One sensor of these serves a whole site.
const SHARED: [&str; 4] = ["oat", "wetbulb_temp", "outdoor_rh", "outdoor_co2"];
/// Roles whose mixing does not add up.
const MIXED: [&str; 3] = ["mixed_air_temp", "oat", "return_air_temp"];
/// Flags of points that hold what another point says.
const COPIED: &str = "copied_signal";

/// Which findings rest on a sensor.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Reach {
    /// Every equipment.
    Site,
    Equips(BTreeSet<String>),
}

impl Reach {
    fn covers(&self, equip: &str) -> bool {
        match self {
            Self::Site => true,
            Self::Equips(equips) => equips.contains(equip),
        }
    }
}

/// A sensor that speaks against the findings that read it.
#[derive(Debug, Clone)]
pub(super) struct Cause {
    pub roles: Vec<String>,
    reach: Reach,
    /// What `conditional_on` says.
    pub label: String,
    /// The comparison that it comes from, as an item.
    pub item: Option<usize>,
}

impl Cause {
    /// Whether the verdict of a finding rests on the sensor.
    pub fn taints(&self, item: &Item<'_>) -> bool {
        self.reach.covers(&item.equip) && self.roles.iter().any(|role| item.reads(role))
    }

    /// Whether only the cost of a finding rests on the sensor.
    pub fn taints_cost(&self, item: &Item<'_>) -> bool {
        self.reach.covers(&item.equip)
            && self
                .roles
                .iter()
                .any(|role| item.costs_by(role) && !item.reads(role))
    }
}

/// All causes: comparisons, then points, then mixing.
pub(super) fn causes(
    input: &ReportInput<'_>,
    items: &[Item<'_>],
    units: &[Unit],
    sources: &[OutdoorSource],
) -> Vec<Cause> {
    let mut causes: Vec<Cause> = items
        .iter()
        .enumerate()
        .filter(|(_, item)| item.is_actionable())
        .filter_map(|(place, item)| of_comparison(input, place, item))
        .collect();
    for (frame, unit) in input.frames.iter().zip(units) {
        for point in &unit.points {
            if let Some(reason) = reason(point, unit) {
                causes.push(Cause {
                    roles: vec![point.role.clone()],
                    reach: reach_of_point(&point.role, frame.equip(), sources),
                    label: format!(
                        "{} {} ({reason})",
                        input.words.name(frame.equip()),
                        point.role
                    ),
                    item: None,
                });
            }
        }
    }
    for (frame, unit) in input.frames.iter().zip(units) {
        let Some(mixing) = unit
            .mixing
            .filter(|mixing| mixing.severity <= Severity::Warn)
        else {
            continue;
        };
        causes.push(Cause {
            roles: MIXED.map(str::to_owned).to_vec(),
            reach: Reach::Equips([frame.equip().to_owned()].into()),
            label: format!(
                "{} mixing of outdoor and return air ({}: {} of {} fan-on samples)",
                input.words.name(frame.equip()),
                mixing.severity,
                mixing.outside,
                mixing.judged
            ),
            item: None,
        });
    }
    causes
}

fn of_comparison(input: &ReportInput<'_>, place: usize, item: &Item<'_>) -> Option<Cause> {
    let role = item.sensor_role()?;
    let reach = match &item.scope {
        Some(equips) => Reach::Equips(equips.iter().cloned().collect()),
        None if SHARED.contains(&role) => Reach::Site,
        None => Reach::Equips([item.equip.to_string()].into()),
    };
    // What it is compared with: a sensor may have two references.
    let against = item.verdict.summary.split(": ").next().unwrap_or_default();
    Some(Cause {
        roles: vec![role.to_owned()],
        reach,
        label: format!(
            "{} {} ({}), {}",
            input.words.name(&item.equip),
            item.rule,
            item.severity(),
            input.words.text(against)
        ),
        item: Some(place),
    })
}

/// Why a point is a cause; none for one that is not.
fn reason(point: &crate::trust::PointTrust, unit: &Unit) -> Option<String> {
    let has = |flag: &str| point.flags.contains(&flag);
    if point.verdict == TrustVerdict::Untrusted {
        return Some(format!("untrusted, {:.2}", point.trust));
    }
    if has("stuck") {
        return Some("stuck".to_owned());
    }
    let has_mixing = unit
        .mixing
        .is_some_and(|mixing| mixing.severity <= Severity::Warn);
    let mut flags: Vec<&str> = [COPIED, "mixing_balance", "mixing_order"]
        .into_iter()
        .filter(|flag| has(flag))
        .collect();
    // The mixing of the unit says it better, unless the point is a copy as well.
    if flags == ["mixing_order"] && has_mixing {
        flags.clear();
    }
    (!flags.is_empty()).then(|| flags.join(", ").replace('_', " "))
}

fn reach_of_point(role: &str, equip: &str, sources: &[OutdoorSource]) -> Reach {
    if role == OUTDOOR && sources.len() > 1 {
        let of_source = sources
            .iter()
            .find(|source| source.equips.iter().any(|known| known == equip));
        let equips = match of_source {
            Some(source) => source.equips.iter().cloned().collect(),
            None => [equip.to_owned()].into(),
        };
        return Reach::Equips(equips);
    }
    match SHARED.contains(&role) {
        true => Reach::Site,
        false => Reach::Equips([equip.to_owned()].into()),
    }
}

/// The causes that a finding rests on.
pub(super) fn tainting<'c>(
    causes: &'c [Cause],
    item: &'c Item<'_>,
) -> impl Iterator<Item = usize> + 'c {
    causes
        .iter()
        .enumerate()
        .filter(|(_, cause)| cause.taints(item))
        .map(|(place, _)| place)
}
