//! The zones of a fleet on common rows, and how many heat and cool at each (Air rules §2.30).

use serde_json::{Value, json};

use super::super::minimum_airflow::{INFERRED, minimum_airflow};
use crate::finding::number;
use crate::frame::Frame;
use crate::masks;
use crate::numeric::{round, share_of};
use crate::occupancy::{self, Schedule};
use crate::parameters::Parameters;
use crate::rules::FleetFrames;
use crate::rules::joined_stamps::{places, union};

/// A heating valve beyond this heats, percent.
const HEATING: f64 = 5.0;
/// Airflow beyond its minimum by this factor cools.
const COOLING: f64 = 1.1;
const COLUMNS: [&str; 9] = [
    "heat_valve",
    "airflow",
    "airflow_sp",
    "airflow_min_sp",
    "space_temp",
    "cool_sp",
    "warmup",
    "cooldown",
    "occupancy",
];

/// One zone; masks by row of its frame.
pub(super) struct Zone<'a> {
    pub(super) frame: Frame<'a>,
    /// Places of the rows among those of the fleet.
    rows: Vec<usize>,
    heating: Vec<bool>,
    /// None when nothing tells whether the zone cools.
    pub(super) cooling: Option<Vec<bool>>,
    pub(super) has_inferred_minimum: bool,
}

impl<'a> Zone<'a> {
    fn of(frame: &Frame<'a>, stamps: &[i64]) -> Option<Self> {
        let heating = masks::where_value(frame.column("heat_valve")?, |valve| valve > HEATING);
        let minimum = frame
            .column("airflow")
            .and_then(|airflow| Some((airflow, minimum_airflow(frame, &vec![true; frame.len()])?)));
        let has_inferred_minimum = minimum
            .as_ref()
            .is_some_and(|(_, minimum)| minimum.basis == INFERRED);
        let cooling = match minimum {
            Some((airflow, minimum)) => Some(masks::where_pair(
                airflow,
                &minimum.values,
                |airflow, minimum| airflow > COOLING * minimum,
            )),
            None => frame.column("space_temp").zip(frame.column("cool_sp")).map(
                |(temperature, setpoint)| {
                    masks::where_pair(temperature, setpoint, |temperature, setpoint| {
                        temperature >= setpoint
                    })
                },
            ),
        };
        Some(Self {
            frame: *frame,
            rows: places(frame.stamps(), stamps),
            heating,
            cooling,
            has_inferred_minimum,
        })
    }

    /// Row of the fleet, whether the zone heats and whether it cools.
    fn states(&self) -> impl Iterator<Item = (usize, bool, bool)> + '_ {
        self.rows
            .iter()
            .zip(&self.heating)
            .enumerate()
            .map(|(place, (row, heating))| {
                let cooling = self
                    .cooling
                    .as_ref()
                    .and_then(|cooling| cooling.get(place))
                    .is_some_and(|cooling| *cooling);
                (*row, *heating, cooling)
            })
    }

    /// Whether the zone has any sample, by row of its frame.
    fn has_data(&self) -> Vec<bool> {
        COLUMNS
            .iter()
            .filter_map(|role| self.frame.column(role))
            .fold(vec![false; self.frame.len()], |any, column| {
                masks::or(&any, &masks::present(column))
            })
    }
}

/// Zones by state, at one row of the fleet.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) zones: u32,
    pub(super) heating: u32,
    pub(super) cooling: u32,
    pub(super) both: u32,
    /// Heating, of the zones that are not among the drivers.
    pub(super) heating_without_drivers: u32,
}

impl Counts {
    pub(super) fn cooling_only(self) -> u32 {
        self.cooling - self.both
    }

    fn is_mixed(self) -> bool {
        self.heating > 0 && self.cooling_only() > 0
    }
}

/// The fleet on common rows.
pub(super) struct Census<'a> {
    stamps: Vec<i64>,
    pub(super) zones: Vec<Zone<'a>>,
    counts: Vec<Counts>,
    occupied: Vec<bool>,
}

impl<'a> Census<'a> {
    pub(super) fn of(fleet: &FleetFrames<'a>, parameters: &Parameters) -> Self {
        let stamps = union(fleet.frames.iter().map(Frame::stamps));
        let zones: Vec<Zone<'a>> = fleet
            .frames
            .iter()
            .filter_map(|frame| Zone::of(frame, &stamps))
            .collect();
        let mut counts = vec![Counts::default(); stamps.len()];
        for zone in &zones {
            for ((row, heating, cooling), has_data) in zone.states().zip(zone.has_data()) {
                if let Some(counts) = counts.get_mut(row) {
                    counts.zones += u32::from(has_data);
                    counts.heating += u32::from(heating);
                    counts.cooling += u32::from(cooling);
                    counts.both += u32::from(heating && cooling);
                }
            }
        }
        let occupied = occupied(&zones, &stamps, parameters);
        Self {
            stamps,
            zones,
            counts,
            occupied,
        }
    }

    /// Counts of the occupied rows.
    pub(super) fn judged(&self) -> impl Iterator<Item = Counts> + Clone + '_ {
        self.counts
            .iter()
            .zip(&self.occupied)
            .filter(|(_, occupied)| **occupied)
            .map(|(counts, _)| *counts)
    }

    pub(super) fn mixed(&self) -> impl Iterator<Item = Counts> + Clone + '_ {
        self.judged().filter(|counts| counts.is_mixed())
    }

    /// By zone: the share of the mixed rows in which it heats.
    pub(super) fn heating_shares(&self) -> Vec<f64> {
        let mixed = self.mixed().count();
        let is_mixed: Vec<bool> = self
            .counts
            .iter()
            .zip(&self.occupied)
            .map(|(counts, occupied)| *occupied && counts.is_mixed())
            .collect();
        self.zones
            .iter()
            .map(|zone| {
                let heating = zone
                    .states()
                    .filter(|(row, heating, _)| {
                        *heating && is_mixed.get(*row).is_some_and(|mixed| *mixed)
                    })
                    .count();
                share_of(heating) / share_of(mixed.max(1))
            })
            .collect()
    }

    /// Counts the heating zones once more, without these.
    pub(super) fn leave_out(&mut self, drivers: &[usize]) {
        for counts in &mut self.counts {
            counts.heating_without_drivers = counts.heating;
        }
        for zone in drivers.iter().filter_map(|place| self.zones.get(*place)) {
            for (row, heating, _) in zone.states() {
                if let Some(counts) = self.counts.get_mut(row) {
                    counts.heating_without_drivers -= u32::from(heating);
                }
            }
        }
    }

    /// Means by hour of the week, Monday 00:00 first, as columns.
    pub(super) fn week_profile(&self) -> Value {
        let mut hours: Vec<(u32, [f64; 4])> = vec![(0, [0.0; 4]); 168];
        let rows = self.stamps.iter().zip(&self.counts).zip(&self.occupied);
        for ((stamp, counts), _) in rows.filter(|(_, occupied)| **occupied) {
            let Some((rows, sums)) = hours.get_mut(hour_of_week(*stamp)) else {
                continue;
            };
            *rows += 1;
            let values = [counts.zones, counts.heating, counts.cooling, counts.both];
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += f64::from(value);
            }
        }
        let there: Vec<(usize, [f64; 4])> = hours
            .into_iter()
            .enumerate()
            .filter(|(_, (rows, _))| *rows > 0)
            .map(|(hour, (rows, sums))| (hour, sums.map(|sum| sum / f64::from(rows))))
            .collect();
        let column = |place: usize| -> Vec<Value> {
            there
                .iter()
                .filter_map(|(_, means)| means.get(place))
                .map(|mean| number(round(*mean, 2)))
                .collect()
        };
        json!({
            "hour": there.iter().map(|(hour, _)| *hour).collect::<Vec<_>>(),
            "n_zones": column(0),
            "n_heating": column(1),
            "n_cooling": column(2),
            "n_both": column(3),
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an hour of the day is 0 to 24"
)]
fn hour_of_week(stamp: i64) -> usize {
    occupancy::weekday(stamp) as usize * 24 + occupancy::hour(stamp) as usize
}

/// Where any zone trends its occupancy, the greatest of all zones; else the schedule.
fn occupied(zones: &[Zone<'_>], stamps: &[i64], parameters: &Parameters) -> Vec<bool> {
    let mut is_trended = false;
    let mut occupied = vec![false; stamps.len()];
    for zone in zones {
        let Some(occupancy) = zone.frame.with_data("occupancy") else {
            continue;
        };
        is_trended = true;
        for (row, value) in zone.rows.iter().zip(occupancy) {
            if let Some(occupied) = occupied.get_mut(*row) {
                *occupied |= *value > 0.5;
            }
        }
    }
    if is_trended {
        return occupied;
    }
    let schedule = Schedule::of(parameters);
    stamps
        .iter()
        .map(|stamp| schedule.contains(*stamp))
        .collect()
}
