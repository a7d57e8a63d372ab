//! What zones ask of the resets of their air handler, cycle by cycle (Air rules §1.7; ASHRAE Guideline 36 §5.14.8).

use std::collections::BTreeMap;

use super::grouping::Grouping;
use crate::frame::Frame;
use crate::numeric::share_of;
use crate::rules::FleetFrames;
use crate::rules::joined_stamps::{places, union};

/// A damper or a cooling loop beyond this is as open as it gets, percent.
pub const WIDE_OPEN: f64 = 95.0;
/// Columns that must read "on" where a zone has them.
const GATES: [&str; 2] = ["supply_fan_status", "occupancy"];

/// Which reset the requests are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResetKind {
    SupplyAir,
    DuctStatic,
}

impl ResetKind {
    /// The word of metrics.
    pub const fn word(self) -> &'static str {
        match self {
            Self::SupplyAir => "sat",
            Self::DuctStatic => "static",
        }
    }

    /// What zones ask for, for texts.
    pub const fn wish(self) -> &'static str {
        match self {
            Self::SupplyAir => "colder air",
            Self::DuctStatic => "more pressure",
        }
    }
}

/// Requests of one zone, for one group of zones.
#[derive(Debug, Clone)]
pub struct ZoneCycles<'a> {
    pub frame: Frame<'a>,
    /// Places among the cycles of the group, ascending.
    pub rows: Vec<usize>,
    /// 0 to 3 for each of `rows`.
    pub requests: Vec<u8>,
    pub total: u64,
}

impl ZoneCycles<'_> {
    /// Id of the zone.
    pub fn zone(&self) -> &str {
        self.frame.equip()
    }
}

/// The zones of one air handler on common cycles: all at which at least one has data.
#[derive(Debug, Clone, Default)]
pub struct GroupCycles<'a> {
    pub zones: Vec<ZoneCycles<'a>>,
    /// By cycle: zones with data.
    pub present: Vec<u32>,
    /// By cycle: zones with a request.
    pub requesting: Vec<u32>,
    /// By cycle: the greatest request.
    pub greatest: Vec<u8>,
}

impl<'a> GroupCycles<'a> {
    fn of(series: Vec<Series<'a>>) -> Self {
        let stamps = union(series.iter().map(|zone| zone.stamps.as_slice()));
        let mut group = Self {
            zones: Vec::with_capacity(series.len()),
            present: vec![0; stamps.len()],
            requesting: vec![0; stamps.len()],
            greatest: vec![0; stamps.len()],
        };
        for zone in series {
            let rows = places(&zone.stamps, &stamps);
            for (row, requests) in rows.iter().zip(&zone.requests) {
                group.add(*row, *requests);
            }
            group.zones.push(ZoneCycles {
                frame: zone.frame,
                total: zone.requests.iter().copied().map(u64::from).sum(),
                rows,
                requests: zone.requests,
            });
        }
        group
    }

    fn add(&mut self, row: usize, requests: u8) {
        if let Some(present) = self.present.get_mut(row) {
            *present += 1;
        }
        if let Some(requesting) = self.requesting.get_mut(row) {
            *requesting += u32::from(requests > 0);
        }
        if let Some(greatest) = self.greatest.get_mut(row) {
            *greatest = (*greatest).max(requests);
        }
    }

    /// Requests of all zones.
    pub fn total(&self) -> u64 {
        self.zones.iter().map(|zone| zone.total).sum()
    }

    /// Cycles with a request of any zone.
    pub fn active(&self) -> usize {
        self.greatest.iter().filter(|most| **most > 0).count()
    }
}

/// The requests of a fleet.
#[derive(Debug, Clone)]
pub struct FleetRequests<'a> {
    pub kind: ResetKind,
    pub grouping: Grouping,
    pub groups: BTreeMap<String, GroupCycles<'a>>,
    /// Zones with too few usable cycles, sorted.
    pub unevaluable: Vec<String>,
    /// How many of those have too few only because of the gates.
    pub gated_out: usize,
    /// Whether any zone carries a fan status or an occupancy.
    is_gated: bool,
    /// Evaluable zones without a cooling loop signal.
    without_loop: usize,
}

impl<'a> FleetRequests<'a> {
    /// Reads the requests of all zones; a zone needs so many usable cycles.
    pub fn of(fleet: &FleetFrames<'a>, kind: ResetKind, min_cycles: usize) -> Self {
        let zones: Vec<&str> = fleet.frames.iter().map(Frame::equip).collect();
        let grouping = Grouping::of(&zones, fleet.topology);
        let mut requests = Self {
            kind,
            grouping,
            groups: BTreeMap::new(),
            unevaluable: Vec::new(),
            gated_out: 0,
            is_gated: false,
            without_loop: 0,
        };
        let mut by_group: BTreeMap<String, Vec<Series<'a>>> = BTreeMap::new();
        for frame in &fleet.frames {
            requests.is_gated |= GATES.iter().any(|role| frame.has(role));
            let series = Series::of(frame, kind);
            let usable = series.as_ref().map_or(0, |series| series.requests.len());
            let Some(series) = series.filter(|_| usable >= min_cycles && usable > 0) else {
                requests.unevaluable.push(frame.equip().to_owned());
                let before = Series::ungated(frame, kind).map_or(0, |series| series.requests.len());
                requests.gated_out += usize::from(before >= min_cycles && usable < before);
                continue;
            };
            requests.without_loop += usize::from(!frame.has("zone_cool_loop"));
            by_group
                .entry(requests.grouping.group(frame.equip()).to_owned())
                .or_default()
                .push(series);
        }
        requests.unevaluable.sort_unstable();
        requests.groups = by_group
            .into_iter()
            .map(|(group, series)| (group, GroupCycles::of(series)))
            .collect();
        requests
    }

    /// Zones with enough usable cycles.
    pub fn evaluated(&self) -> usize {
        self.groups.values().map(|group| group.zones.len()).sum()
    }

    /// Requests of all zones.
    pub fn total(&self) -> u64 {
        self.groups.values().map(GroupCycles::total).sum()
    }

    /// That nothing gates the requests, and how many zones the gates left out.
    pub fn gate_caveats(&self) -> Vec<String> {
        let mut caveats = Vec::new();
        if self.evaluated() > 0 && !self.is_gated {
            caveats.push(
                "No zone has a fan status or an occupancy: requests while the air handler is off are counted too."
                    .to_owned(),
            );
        }
        if self.gated_out > 0 {
            caveats.push(format!(
                "{} zones have too few samples with the fan on and the zone occupied.",
                self.gated_out
            ));
        }
        caveats
    }

    /// That some zones have no cooling loop, whose requests at the limit of the loop are not seen.
    pub fn loop_caveat(&self) -> Option<String> {
        (self.kind == ResetKind::SupplyAir && self.without_loop > 0).then(|| {
            format!(
                "{} of {} zones have no cooling loop signal: a single request at the end of the loop was not tested there.",
                self.without_loop,
                self.evaluated()
            )
        })
    }

    /// That nothing was requested, or that some zones could not be judged.
    pub fn coverage_caveats(&self) -> Vec<String> {
        let mut caveats = Vec::new();
        if self.total() == 0 && self.evaluated() > 0 {
            caveats.push(format!(
                "No zone asked for {} in the whole period.",
                self.kind.wish()
            ));
        }
        if !self.unevaluable.is_empty() {
            caveats.push(format!(
                "{} zones could not be judged: too few samples with all inputs.",
                self.unevaluable.len()
            ));
        }
        caveats
    }
}

/// Usable cycles of one zone.
struct Series<'a> {
    frame: Frame<'a>,
    stamps: Vec<i64>,
    requests: Vec<u8>,
}

impl<'a> Series<'a> {
    fn of(frame: &Frame<'a>, kind: ResetKind) -> Option<Self> {
        let mut series = Self::ungated(frame, kind)?;
        let gates: Vec<&[f64]> = GATES.iter().filter_map(|role| frame.column(role)).collect();
        if gates.is_empty() {
            return Some(series);
        }
        // Both lists are in the order of the frame.
        let on = (0..frame.len())
            .filter(|row| {
                gates
                    .iter()
                    .all(|gate| gate.get(*row).is_some_and(|gate| *gate > 0.5))
            })
            .filter_map(|row| frame.stamps().get(row).copied());
        let mut on = on.peekable();
        let mut kept = Vec::new();
        series.stamps.retain(|stamp| {
            while on.next_if(|next| next < stamp).is_some() {}
            let is_on = on.peek() == Some(stamp);
            kept.push(is_on);
            is_on
        });
        let mut kept = kept.into_iter();
        series.requests.retain(|_| kept.next().unwrap_or(false));
        Some(series)
    }

    fn ungated(frame: &Frame<'a>, kind: ResetKind) -> Option<Self> {
        let of_row: Vec<Option<u8>> = match kind {
            ResetKind::SupplyAir => supply_air_requests(frame)?,
            ResetKind::DuctStatic => duct_static_requests(frame)?,
        };
        let (stamps, requests) = frame
            .stamps()
            .iter()
            .zip(of_row)
            .filter_map(|(stamp, requests)| Some((*stamp, requests?)))
            .unzip();
        Some(Self {
            frame: *frame,
            stamps,
            requests,
        })
    }
}

fn supply_air_requests(frame: &Frame<'_>) -> Option<Vec<Option<u8>>> {
    let temperature = frame.column("space_temp")?;
    let setpoint = frame.column("cool_sp")?;
    let cooling = frame.column("zone_cool_loop");
    let rows = temperature.iter().zip(setpoint).enumerate();
    Some(
        rows.map(|(row, (temperature, setpoint))| {
            let above = temperature - setpoint;
            if above.is_nan() {
                return None;
            }
            let is_at_end = || {
                cooling
                    .and_then(|cooling| cooling.get(row))
                    .is_some_and(|cooling| *cooling > WIDE_OPEN)
            };
            Some(if above >= 5.0 {
                3
            } else if above >= 3.0 {
                2
            } else {
                u8::from(is_at_end())
            })
        })
        .collect(),
    )
}

fn duct_static_requests(frame: &Frame<'_>) -> Option<Vec<Option<u8>>> {
    let airflow = frame.column("airflow")?;
    let setpoint = frame.column("airflow_sp")?;
    let damper = frame.column("damper")?;
    let rows = airflow.iter().zip(setpoint).zip(damper);
    Some(
        rows.map(|((airflow, setpoint), damper)| {
            if airflow.is_nan() || setpoint.is_nan() || damper.is_nan() {
                return None;
            }
            if *damper <= WIDE_OPEN {
                return Some(0);
            }
            let ratio = if *setpoint > 0.0 {
                airflow / setpoint
            } else {
                f64::INFINITY
            };
            Some(if ratio < 0.50 {
                3
            } else if ratio < 0.70 {
                2
            } else {
                1
            })
        })
        .collect(),
    )
}

/// A share of counts; 0 of nothing.
pub fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    let count = |count: u64| share_of(usize::try_from(count).unwrap_or(usize::MAX));
    count(part) / count(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::RoleFrame;
    use crate::rules::testing::{Column, hourly, named};

    fn zone(id: &str, columns: &[Column<'_>]) -> RoleFrame {
        named(id, "VAV", hourly(12, columns))
    }

    fn requests(tables: &[RoleFrame], kind: ResetKind) -> FleetRequests<'_> {
        let fleet = FleetFrames {
            frames: tables.iter().map(Frame::whole).collect(),
            topology: None,
        };
        FleetRequests::of(&fleet, kind, 10)
    }

    #[test]
    fn warm_zones_ask_for_colder_air() {
        let temperatures = [79.0, 77.0, 76.9, 74.0, f64::NAN];
        let table = zone(
            "Z",
            &[
                ("space_temp", &|row| temperatures[row.min(3)]),
                ("cool_sp", &|_| 74.0),
                ("zone_cool_loop", &|row| if row == 2 { 96.0 } else { 95.0 }),
            ],
        );
        let tables = [table];
        let found = requests(&tables, ResetKind::SupplyAir);
        let zone = &found.groups["<fleet>"].zones[0];
        assert_eq!(&zone.requests[..5], [3, 2, 1, 0, 0]);
        assert_eq!((found.total(), found.evaluated()), (6, 1));
    }

    #[test]
    fn starved_boxes_with_open_dampers_ask_for_pressure() {
        let airflow = [240.0, 250.0, 349.0, 350.0, 100.0, 0.0];
        let table = zone(
            "Z",
            &[
                ("airflow", &|row| airflow[row.min(5)]),
                ("airflow_sp", &|row| if row >= 5 { 0.0 } else { 500.0 }),
                ("damper", &|row| if row == 4 { 95.0 } else { 100.0 }),
            ],
        );
        let tables = [table];
        let found = requests(&tables, ResetKind::DuctStatic);
        let zone = &found.groups["<fleet>"].zones[0];
        assert_eq!(&zone.requests[..6], [3, 2, 2, 1, 0, 1]);
    }

    #[test]
    fn cycles_count_with_the_fan_on_and_are_joined_by_their_stamps() {
        let hot: &[Column<'_>] = &[("space_temp", &|_| 80.0), ("cool_sp", &|_| 74.0)];
        let mut late = zone("B", hot);
        late.stamps
            .iter_mut()
            .for_each(|stamp| *stamp += 3_600_000_000_000);
        let mut off = zone("C", hot);
        off.columns
            .insert("supply_fan_status".to_owned(), vec![0.0; 12]);
        let mut gap = zone("D", hot);
        gap.columns
            .insert("space_temp".to_owned(), vec![f64::NAN; 12]);
        let tables = [zone("A", hot), late, off, gap];
        let found = requests(&tables, ResetKind::SupplyAir);
        assert_eq!(found.unevaluable, ["C", "D"]);
        assert_eq!(found.gated_out, 1);
        let group = &found.groups["<fleet>"];
        assert_eq!(group.present.len(), 13);
        assert_eq!(
            (group.present[0], group.present[1], group.present[12]),
            (1, 2, 1)
        );
        assert_eq!((group.active(), found.gate_caveats().len()), (13, 1));
    }
}
