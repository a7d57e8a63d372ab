//! Which points count only while their plant runs (Engine §3.7).

use std::collections::BTreeMap;

use crate::frame::{Frame, RoleFrame};
use crate::gates::{self, Gate};
use crate::roles::{self, PlantLoop};
use crate::wall_clock::MINUTE;

/// A plant takes this long to settle after its start.
const SETTLING: i64 = 30 * MINUTE;

/// Settled running masks by loop, and which roles each gates.
#[derive(Debug, Clone, Default)]
pub(super) struct PlantGates {
    gates: Vec<Gate>,
    by_role: BTreeMap<String, usize>,
}

impl PlantGates {
    /// The gates of a frame.
    pub fn of(table: &RoleFrame) -> Self {
        let frame = Frame::whole(table);
        let mut found = Self::default();
        found.add(PlantLoop::Chw, gates::chiller_running(&frame), table);
        found.add(PlantLoop::Hw, gates::boiler_running(&frame), table);
        found
    }

    fn add(&mut self, plant: PlantLoop, running: Option<Gate>, table: &RoleFrame) {
        let Some(running) = running else {
            return;
        };
        let place = self.gates.len();
        let of_loop = |role: &&String| {
            roles::role(role).is_some_and(|role| role.trust.plant_loop == Some(plant))
        };
        let gated: Vec<String> = table.columns.keys().filter(of_loop).cloned().collect();
        if gated.is_empty() {
            return;
        }
        // A chiller's power tells its state only where nothing else does.
        if running.source == "chiller status" && table.columns.contains_key("power") {
            self.by_role.insert("power".to_owned(), place);
        }
        for role in gated {
            self.by_role.insert(role, place);
        }
        self.gates.push(Gate {
            mask: settled(&running.mask, &table.stamps),
            source: running.source,
        });
    }

    /// The gate of a role.
    pub fn of_role(&self, role: &str) -> Option<&Gate> {
        self.gates.get(*self.by_role.get(role)?)
    }

    /// Whether a plant runs, settled, at any of the rows.
    pub fn run_within(&self, rows: std::ops::Range<usize>) -> bool {
        self.gates.iter().any(|gate| {
            gate.mask
                .get(rows.clone())
                .is_some_and(|mask| mask.contains(&true))
        })
    }
}

/// The mask without the samples shortly after each start; a first row that is on is a start.
fn settled(running: &[bool], stamps: &[i64]) -> Vec<bool> {
    let mut start = None;
    running
        .iter()
        .zip(stamps)
        .map(|(on, stamp)| {
            if !on {
                start = None;
                return false;
            }
            let start = *start.get_or_insert(*stamp);
            stamp.saturating_sub(start) >= SETTLING
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_left_out_for_half_an_hour() {
        let stamps: Vec<i64> = (0..8).map(|row| row * 10 * MINUTE).collect();
        let running = [true, true, true, true, false, true, true, true];
        assert_eq!(
            settled(&running, &stamps),
            [false, false, false, true, false, false, false, false]
        );
    }

    #[test]
    fn power_is_gated_by_a_status_and_never_by_itself() {
        let stamps: Vec<i64> = (0..3).map(|row| row * 60 * MINUTE).collect();
        let table = |roles: &[&str]| RoleFrame {
            stamps: stamps.clone(),
            columns: roles
                .iter()
                .map(|role| ((*role).to_owned(), vec![1.0; 3]))
                .collect(),
            ..RoleFrame::default()
        };
        let by_status = PlantGates::of(&table(&["chw_supply_temp", "compressor_status", "power"]));
        assert_eq!(
            by_status.of_role("power").unwrap().mask,
            [false, true, true]
        );
        let by_power = PlantGates::of(&table(&["chw_supply_temp", "power"]));
        assert!(by_power.of_role("power").is_none() && by_power.run_within(0..3));
        assert_eq!(
            by_power.of_role("chw_supply_temp").unwrap().source,
            "chiller power proxy"
        );
        assert!(
            PlantGates::of(&table(&["power", "compressor_status"]))
                .of_role("power")
                .is_none()
        );
    }
}
