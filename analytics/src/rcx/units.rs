//! What the report knows of each equipment: its kind, when its fan runs, and how far its points can be trusted
//! (RCx report §3.1).

use crate::families;
use crate::finding::Severity;
use crate::frame::{Frame, RoleFrame};
use crate::gates::{self, Gate};
use crate::numeric;
use crate::run_frame::RunFrame;
use crate::trust::{self, PointTrust, View};

/// Roles that make an equipment an air-side one.
pub(super) const AIR_ROLES: [&str; 10] = [
    "supply_air_temp",
    "supply_air_temp_sp",
    "mixed_air_temp",
    "return_air_temp",
    "oa_damper",
    "cool_valve",
    "heat_valve",
    "supply_fan_speed",
    "duct_static",
    "duct_static_sp",
];

/// The outdoor temperature.
pub(super) const OUTDOOR: &str = "oat";

/// Fewer fan-on samples say nothing about mixing.
const FEWEST_MIXED: usize = 10;

/// One equipment of the report.
#[derive(Debug, Clone)]
pub(super) struct Unit {
    pub is_air: bool,
    pub fan: Option<Gate>,
    /// Sorted by role.
    pub points: Vec<PointTrust>,
    /// How mixed air fits outdoor and return air; none where it cannot be told.
    pub mixing: Option<Mixing>,
}

/// Mixed air outside of outdoor and return air.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Mixing {
    pub outside: usize,
    pub judged: usize,
    pub severity: Severity,
}

impl Unit {
    /// Looks at one frame.
    pub fn of(frame: &RunFrame) -> Self {
        let whole = frame.whole();
        let fan = gates::fan_on(&whole);
        let family = families::family(frame.equip_class());
        let is_air = matches!(family, None | Some("air_handler"))
            && AIR_ROLES.iter().any(|role| frame.has(role));
        Self {
            is_air,
            points: trust::scores(frame.table(), View::Report),
            mixing: is_air
                .then(|| mixing(frame.table(), fan.as_ref()))
                .flatten(),
            fan,
        }
    }

    /// The trust in a point.
    pub fn point(&self, role: &str) -> Option<&PointTrust> {
        let place = self
            .points
            .binary_search_by(|point| point.role.as_str().cmp(role))
            .ok()?;
        self.points.get(place)
    }
}

fn mixing(table: &RoleFrame, fan: Option<&Gate>) -> Option<Mixing> {
    let frame = Frame::whole(table);
    let mixed = frame.column("mixed_air_temp")?;
    let outdoor = frame.column(OUTDOOR)?;
    let returned = frame.column("return_air_temp")?;
    let fan = fan?;
    let (mut judged, mut outside) = (0, 0);
    for (((mixed, outdoor), returned), on) in mixed.iter().zip(outdoor).zip(returned).zip(&fan.mask)
    {
        if !on || mixed.is_nan() || outdoor.is_nan() || returned.is_nan() {
            continue;
        }
        judged += 1;
        let within = outdoor.min(*returned) - 5.0..=outdoor.max(*returned) + 5.0;
        outside += usize::from(!within.contains(mixed));
    }
    if judged < FEWEST_MIXED {
        return None;
    }
    let share = numeric::share_of(outside) / numeric::share_of(judged);
    Some(Mixing {
        outside,
        judged,
        severity: Severity::at_least(share, 0.05, 0.20),
    })
}

/// Pieces of equipment of the air side that read one and the same outdoor temperature.
#[derive(Debug, Clone)]
pub(super) struct OutdoorSource {
    /// In the order of the run.
    pub places: Vec<usize>,
    pub equips: Vec<String>,
}

/// The distinct outdoor temperatures of the air side; of all equipment when the air side has none. Two are one when they are
/// equal on 99 % of their common samples.
pub(super) fn outdoor_sources(frames: &[RunFrame], units: &[Unit]) -> Vec<OutdoorSource> {
    let readers = |only_air: bool| -> Vec<usize> {
        frames
            .iter()
            .zip(units)
            .enumerate()
            .filter(|(_, (frame, unit))| {
                (unit.is_air || !only_air) && frame.whole().with_data(OUTDOOR).is_some()
            })
            .map(|(place, _)| place)
            .collect()
    };
    let mut places = readers(true);
    if places.is_empty() {
        places = readers(false);
    }
    let mut sources: Vec<OutdoorSource> = Vec::new();
    for place in places {
        let Some(frame) = frames.get(place) else {
            continue;
        };
        let known = sources.iter_mut().find(|source| {
            source
                .places
                .first()
                .and_then(|first| frames.get(*first))
                .is_some_and(|first| is_same(first.table(), frame.table()))
        });
        match known {
            Some(source) => {
                source.places.push(place);
                source.equips.push(frame.equip().to_owned());
            }
            None => sources.push(OutdoorSource {
                places: vec![place],
                equips: vec![frame.equip().to_owned()],
            }),
        }
    }
    sources
}

fn is_same(one: &RoleFrame, other: &RoleFrame) -> bool {
    let (Some(values), Some(others)) = (one.column(OUTDOOR), other.column(OUTDOOR)) else {
        return false;
    };
    let mut rest = other.stamps.iter().zip(others).peekable();
    let (mut joint, mut equal) = (0, 0);
    for (stamp, value) in one.stamps.iter().zip(values) {
        while rest.next_if(|(known, _)| *known < stamp).is_some() {}
        let Some((_, other)) = rest.peek().filter(|(known, _)| *known == stamp) else {
            continue;
        };
        if value.is_nan() || other.is_nan() {
            continue;
        }
        joint += 1;
        equal += usize::from((value - **other).abs() <= 1e-6);
    }
    joint > 0 && numeric::share_of(equal) >= 0.99 * numeric::share_of(joint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wall_clock::HOUR;

    fn unit(equip: &str, class: &str, columns: &[(&str, &dyn Fn(usize) -> f64)]) -> RunFrame {
        let table = RoleFrame {
            equip: equip.to_owned(),
            equip_class: class.to_owned(),
            stamps: (0..240).map(|row| row * HOUR).collect(),
            columns: columns
                .iter()
                .map(|(role, value)| ((*role).to_owned(), (0..240).map(value).collect()))
                .collect(),
        };
        RunFrame::of_resampled(table, &[])
    }

    #[test]
    fn an_unknown_class_with_air_side_points_is_an_air_side_unit() {
        let temperature = |_: usize| 60.0;
        for (class, is_air) in [
            ("AHU", true),
            ("DUCTLOGGER", true),
            ("VAV", false),
            ("BOILER", false),
        ] {
            let frame = unit("E", class, &[("supply_air_temp", &temperature)]);
            assert_eq!(Unit::of(&frame).is_air, is_air, "{class}");
        }
        assert!(!Unit::of(&unit("E", "AHU", &[("oat", &temperature)])).is_air);
    }

    #[test]
    fn mixed_air_that_nothing_can_give_is_seen_while_the_fan_runs() {
        let on = |row: usize| if row % 24 < 12 { 1.0 } else { 0.0 };
        let impossible = |row: usize| if row % 24 == 3 { 90.0 } else { 65.0 };
        let frame = unit(
            "A",
            "AHU",
            &[
                ("mixed_air_temp", &impossible),
                ("oat", &|_| 50.0),
                ("return_air_temp", &|_| 72.0),
                ("supply_fan_status", &on),
            ],
        );
        let mixing = Unit::of(&frame).mixing.unwrap();
        assert_eq!(
            (mixing.judged, mixing.outside, mixing.severity),
            (120, 10, Severity::Warn)
        );
    }

    #[test]
    fn equal_outdoor_temperatures_are_one_source() {
        let outdoor = |row: usize| numeric::share_of(row);
        let warmer = |row: usize| numeric::share_of(row) + 3.0;
        let frames = [
            unit("A", "AHU", &[("oat", &outdoor), ("oa_damper", &outdoor)]),
            unit("B", "AHU", &[("oat", &warmer), ("oa_damper", &outdoor)]),
            unit("C", "AHU", &[("oat", &outdoor), ("oa_damper", &outdoor)]),
            unit("W", "WEATHER", &[("oat", &|_| 1.0)]),
        ];
        let units: Vec<Unit> = frames.iter().map(Unit::of).collect();
        let sources = outdoor_sources(&frames, &units);
        let equips: Vec<Vec<String>> = sources.into_iter().map(|source| source.equips).collect();
        assert_eq!(equips, [vec!["A", "C"], vec!["B"]]);
        // Without an air-side one, whoever has it.
        let equips: Vec<String> = outdoor_sources(&frames[3..], &units[3..])
            .into_iter()
            .flat_map(|source| source.equips)
            .collect();
        assert_eq!(equips, ["W"]);
    }
}
