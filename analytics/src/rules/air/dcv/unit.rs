//! One air handler, or one zone with outdoor air of its own (Air rules §2.8).

use std::borrow::Cow;

use super::assess::{self, Assessment, Input, Sample, Status};
use super::floor::{BELOW, FanOff};
use super::setting::Setting;
use crate::families;
use crate::finding::Severity;
use crate::frame::Frame;
use crate::gates;
use crate::masks;
use crate::numeric;
use crate::occupancy;
use crate::wall_clock::HOUR;

/// Roles that show outdoor air, best first.
pub(super) const OA_SIGNALS: [&str; 2] = ["oa_airflow", "oa_damper"];
/// Roles that show it on a unit that brings in nothing else.
const FULL_OA_SIGNALS: [&str; 2] = ["airflow", "supply_fan_speed"];

/// A status above is a fan that ran for the whole bin.
const FAN_RUNNING: f64 = 0.95;
/// A heating valve open further rules out free cooling (%).
const HEATING_PCT: f64 = 5.0;

/// Whether an equipment has a signal that shows outdoor air.
pub(super) fn has_outdoor_air(frame: &Frame<'_>, setting: &Setting) -> bool {
    candidates(setting).any(|role| frame.has(role))
}

fn candidates(setting: &Setting) -> impl Iterator<Item = &'static str> {
    let more: &[&'static str] = if setting.full_outdoor_air {
        &FULL_OA_SIGNALS
    } else {
        &[]
    };
    OA_SIGNALS.into_iter().chain(more.iter().copied())
}

/// Occupied samples. A column of occupancy decides even without any sample.
pub(super) fn occupied(frame: &Frame<'_>, setting: &Setting) -> Vec<bool> {
    let mut mask = match frame.column("occupancy") {
        Some(occupancy) => masks::where_value(occupancy, |value| value > 0.5),
        None => occupancy::scheduled(frame, &setting.schedule),
    };
    for role in ["warmup", "cooldown"] {
        if let Some(preparing) = frame.column(role) {
            masks::narrow(&mut mask, &masks::where_value(preparing, |on| !(on > 0.5)));
        }
    }
    mask
}

/// Free cooling is possible in these rows, and what shows it.
struct Economizer {
    mask: Option<Vec<bool>>,
    basis: &'static str,
}

impl Economizer {
    fn of(frame: &Frame<'_>, role: &str, setting: &Setting) -> Self {
        if FULL_OA_SIGNALS.contains(&role) {
            return Self {
                mask: None,
                basis: "full_outdoor_air",
            };
        }
        if let Some(command) = frame.column("econ_cmd") {
            return Self {
                mask: Some(masks::where_value(command, |on| on.is_nan() || on > 0.0)),
                basis: "econ_cmd",
            };
        }
        let Some(oat) = frame.column("oat") else {
            return Self {
                mask: None,
                basis: "none",
            };
        };
        let limit = setting.econ_high_limit_f;
        match frame.column("heat_valve").map(gates::percent) {
            Some(valve) => Self {
                mask: Some(masks::where_pair(oat, &valve, |oat, valve| {
                    !(oat > limit || valve > HEATING_PCT)
                })),
                basis: "oat_heat_valve",
            },
            None => Self {
                mask: Some(masks::where_value(oat, |oat| !(oat > limit))),
                basis: "oat",
            },
        }
    }
}

/// What tells that the fan is off.
enum Fan<'a> {
    /// The samples with the fan off are not judged.
    Status(&'a [f64]),
    /// They are judged, and told apart.
    Speed(Vec<bool>),
    None,
}

impl<'a> Fan<'a> {
    fn of(frame: &Frame<'a>, setting: &Setting) -> Self {
        if let Some(status) = frame.column("supply_fan_status") {
            return Self::Status(status);
        }
        match frame.with_data("supply_fan_speed") {
            Some(speed) => Self::Speed(masks::where_value(&gates::percent(speed), |speed| {
                speed <= setting.fan_off_speed_pct
            })),
            None => Self::None,
        }
    }
}

/// Occupied samples with high CO2 and no outdoor air.
#[derive(Debug, Clone, Default)]
pub(super) struct Unventilated {
    pub pct: f64,
    pub hours: f64,
    pub rows: Vec<usize>,
    pub judged_rows: Vec<usize>,
}

/// One outdoor-air signal and what it says.
pub(super) struct Segment {
    pub role: &'static str,
    pub severity: Severity,
    pub assessment: Assessment,
    pub economizer_basis: &'static str,
    pub unventilated: Option<Unventilated>,
    /// Occupied time with the fan off, and `fan status` or `fan speed`; none when the floor was not checked.
    pub fan_off: Option<(FanOff, &'static str)>,
    /// A floor is configured, but the signal is no airflow.
    pub is_floor_dropped: bool,
    /// Stamps of the first and the last occupied row.
    pub ends: Option<(i64, i64)>,
}

impl Segment {
    pub(super) fn is_proxy(&self) -> bool {
        FULL_OA_SIGNALS.contains(&self.role)
    }
}

/// Everything that was judged of one unit.
pub(super) struct Unit {
    pub segments: Vec<Segment>,
    pub equip_class: String,
    pub has_occupancy: bool,
}

impl Unit {
    /// Judges each outdoor-air signal of a unit against a demand of its rows; none without a signal.
    pub(super) fn of(frame: &Frame<'_>, demand: &[f64], setting: &Setting) -> Option<Self> {
        let occupied = if setting.occupied_only {
            occupied(frame, setting)
        } else {
            vec![true; frame.len()]
        };
        let has_demand = masks::and(&occupied, &masks::present(demand));
        let mut segments = Vec::new();
        for (role, covered) in covered(frame, setting) {
            let n = masks::count(&masks::and(&has_demand, &covered));
            if !segments.is_empty() && n < setting.min_samples {
                continue;
            }
            segments.extend(segment(frame, role, demand, &covered, &occupied, setting));
        }
        (!segments.is_empty()).then(|| Self {
            segments,
            equip_class: frame.equip_class().to_owned(),
            has_occupancy: frame.has("occupancy"),
        })
    }

    /// The segment whose figures are those of the unit: the first that could be judged, or else the first.
    pub(super) fn lead(&self) -> Option<&Segment> {
        self.segments
            .iter()
            .find(|segment| segment.assessment.status.reason().is_none())
            .or_else(|| self.segments.first())
    }

    pub(super) fn severity(&self) -> Severity {
        self.segments
            .iter()
            .map(|segment| segment.severity)
            .min()
            .unwrap_or(Severity::Info)
    }

    /// CO2 of an air handler, or of something unknown, is likely that of its return air.
    pub(super) fn is_return_air(&self) -> bool {
        matches!(
            families::family(&self.equip_class),
            None | Some("air_handler")
        )
    }
}

/// The signals with the rows that each judges: those that no earlier one has.
fn covered(frame: &Frame<'_>, setting: &Setting) -> Vec<(&'static str, Vec<bool>)> {
    let mut taken = vec![false; frame.len()];
    let mut found = Vec::new();
    let mut first = None;
    for role in candidates(setting) {
        let Some(values) = frame.column(role) else {
            continue;
        };
        first = first.or(Some(role));
        let own = masks::and_not(&masks::present(values), &taken);
        if own.contains(&true) {
            taken = masks::or(&taken, &own);
            found.push((role, own));
        }
    }
    match (found.is_empty(), first) {
        (true, Some(role)) => vec![(role, vec![true; frame.len()])],
        _ => found,
    }
}

fn segment(
    frame: &Frame<'_>,
    role: &'static str,
    demand: &[f64],
    covered: &[bool],
    occupied: &[bool],
    setting: &Setting,
) -> Option<Segment> {
    let oa = frame.column(role)?;
    let fan = Fan::of(frame, setting);
    let in_use = masks::and(occupied, covered);
    let mask = match &fan {
        Fan::Status(status) => Cow::Owned(masks::and(
            &in_use,
            &masks::where_value(status, |status| status > FAN_RUNNING),
        )),
        Fan::Speed(_) | Fan::None => Cow::Borrowed(in_use.as_slice()),
    };
    let economizer = Economizer::of(frame, role, setting);
    let configured = setting.floor(frame.equip());
    let is_airflow = matches!(role, "oa_airflow" | "airflow");
    let floor = configured.filter(|_| is_airflow);
    let step = numeric::median_step(frame.stamps()).unwrap_or(0.0);
    let input = Input {
        stamps: frame.stamps(),
        oa,
        demand,
        mask: &mask,
        economizing: economizer.mask.as_deref(),
        floor,
        fan_off: match &fan {
            Fan::Speed(off) => Some(off),
            Fan::Status(_) | Fan::None => None,
        },
        step,
    };
    let assessment = assess::assess(&input, setting);
    let rows = Rows {
        in_use: &in_use,
        oa,
        demand,
        hour: step / numeric::nanos(HOUR),
    };
    let unventilated = unventilated(&rows, &fan, setting);
    let fan_off = assessment.floor.as_ref().and_then(|checked| match &fan {
        Fan::Speed(_) => Some((checked.fan_off?, "fan speed")),
        Fan::Status(status) => Some((fan_off_by_status(&rows, status, floor?), "fan status")),
        Fan::None => None,
    });
    let mut segment = Segment {
        role,
        severity: Severity::Ok,
        assessment,
        economizer_basis: economizer.basis,
        unventilated,
        fan_off,
        is_floor_dropped: configured.is_some() && !is_airflow,
        ends: ends(frame.stamps(), &in_use, covered, demand),
    };
    segment.severity = severity(&segment, setting);
    Some(segment)
}

/// First and last occupied row with demand, or else of the segment.
fn ends(stamps: &[i64], in_use: &[bool], covered: &[bool], demand: &[f64]) -> Option<(i64, i64)> {
    let of = |mask: &[bool]| {
        let mut set = stamps
            .iter()
            .zip(mask)
            .filter(|(_, set)| **set)
            .map(|(stamp, _)| *stamp);
        let first = set.next()?;
        Some((first, set.next_back().unwrap_or(first)))
    };
    of(&masks::and(in_use, &masks::present(demand))).or_else(|| of(covered))
}

/// Occupied rows of a segment.
struct Rows<'a> {
    in_use: &'a [bool],
    oa: &'a [f64],
    demand: &'a [f64],
    /// Hours of a row.
    hour: f64,
}

impl Rows<'_> {
    /// Rows with demand; outdoor air may be missing.
    fn samples(&self) -> Vec<Sample> {
        self.in_use
            .iter()
            .zip(self.oa)
            .zip(self.demand)
            .enumerate()
            .filter(|(_, ((in_use, _), demand))| **in_use && !demand.is_nan())
            .map(|(row, ((_, oa), demand))| Sample {
                row,
                oa: *oa,
                demand: *demand,
            })
            .collect()
    }

    fn hours(&self, count: usize) -> f64 {
        numeric::round(numeric::share_of(count) * self.hour, 1)
    }
}

fn unventilated(rows: &Rows<'_>, fan: &Fan<'_>, setting: &Setting) -> Option<Unventilated> {
    let samples = rows.samples();
    if samples.len() < setting.min_samples || samples.is_empty() {
        return None;
    }
    let known = samples
        .iter()
        .map(|sample| sample.oa)
        .filter(|oa| !oa.is_nan())
        .collect();
    let limit = assess::closed_limit(known);
    let is_fan_off = |row: usize| match fan {
        Fan::Status(status) => !status.get(row).is_some_and(|status| *status > FAN_RUNNING),
        Fan::Speed(_) | Fan::None => false,
    };
    let hits: Vec<usize> = samples
        .iter()
        .filter(|sample| {
            (sample.oa <= limit || is_fan_off(sample.row))
                && sample.demand >= setting.unventilated_ppm
        })
        .map(|sample| sample.row)
        .collect();
    Some(Unventilated {
        pct: numeric::round(numeric::percent_of(hits.len(), samples.len()), 1),
        hours: rows.hours(hits.len()),
        rows: hits,
        judged_rows: samples.iter().map(|sample| sample.row).collect(),
    })
}

/// Occupied time with the fan off by its status, and outdoor air below the floor.
fn fan_off_by_status(rows: &Rows<'_>, status: &[f64], floor: f64) -> FanOff {
    let known: Vec<Sample> = rows
        .samples()
        .into_iter()
        .filter(|sample| !sample.oa.is_nan())
        .collect();
    let hits = known
        .iter()
        .filter(|sample| {
            let is_off = status.get(sample.row).is_some_and(|status| *status < 0.5);
            is_off && sample.oa < floor * BELOW
        })
        .count();
    let share = if known.is_empty() {
        0.0
    } else {
        numeric::percent_of(hits, known.len())
    };
    FanOff {
        pct: numeric::round(share, 1),
        hours: rows.hours(hits),
    }
}

fn severity(segment: &Segment, setting: &Setting) -> Severity {
    let found = &segment.assessment;
    let mut severity = match found.status {
        Status::Insufficient(_) => Severity::Info,
        Status::Functioning => Severity::Ok,
        Status::Uncorrelated if segment.economizer_basis == "none" => Severity::Info,
        Status::Static | Status::Uncorrelated => Severity::Warn,
    };
    let reaches = |value: Option<f64>, limit: f64| value.is_some_and(|value| value >= limit);
    if severity == Severity::Ok && reaches(found.excess_pct, setting.excess_warn_pct) {
        severity = Severity::Warn;
    }
    let floor = found.floor.as_ref();
    let is_fault = reaches(found.breach_pct, setting.breach_fault_pct)
        || reaches(
            floor.map(|floor| floor.total_pct),
            setting.below_floor_fault_pct,
        )
        || setting
            .below_floor_fault_hours
            .is_some_and(|limit| reaches(floor.map(|floor| floor.longest_hours), limit))
        || reaches(
            segment.unventilated.as_ref().map(|found| found.hours),
            setting.unventilated_fault_hours,
        );
    if is_fault { Severity::Fault } else { severity }
}
