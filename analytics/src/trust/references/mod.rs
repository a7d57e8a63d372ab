//! Points against reference instruments that a configuration names (Engine §3.8).

mod comparison;

use std::collections::BTreeMap;

pub use self::comparison::{Comparison, ReferenceSeries, compare};
use super::{PointTrust, TrustVerdict};
use crate::families;
use crate::run_config::{ReferenceSource, ReferenceSpec, References, SharedOat};
use crate::run_frame::RunFrame;

const OUTDOOR: &str = "oat";

/// Reference samples that lie outside of a run's frames: a stored point over the window and on the grid of the run, or a
/// file.
pub trait ReferenceData {
    /// The samples.
    ///
    /// # Errors
    /// They are not there, or cannot be read; the problem for people.
    fn samples(&self, source: &ReferenceSource) -> Result<ReferenceSeries, String>;
}

/// A configured comparison that could not be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotCompared {
    pub equip: String,
    pub role: String,
    pub reference: String,
    /// Why, for people.
    pub problem: String,
}

/// All comparisons of a run, sorted by equipment and role.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Comparisons {
    pub made: Vec<Comparison>,
    pub failed: Vec<NotCompared>,
}

impl Comparisons {
    /// The comparisons that a finding on an equipment is conditional on. `reads` tells whether its rule reads a role:
    /// required, optional or any-of, not those that only cost.
    pub fn conditional(&self, equip: &str, reads: impl Fn(&str) -> bool) -> Vec<&Comparison> {
        self.made
            .iter()
            .filter(|made| made.speaks_against() && reads(&made.role))
            .filter(|made| made.read_by.iter().any(|reader| reader == equip))
            .collect()
    }

    /// Flags the points of an equipment that comparisons speak against: at most suspect, whatever their score, since an
    /// offset has no shape in the trend. The score stays.
    pub fn mark(&self, equip: &str, points: &mut [PointTrust]) {
        for comparison in self.made.iter().filter(|made| made.equip == equip) {
            let Some(flag) = comparison.flag() else {
                continue;
            };
            for point in points
                .iter_mut()
                .filter(|point| point.role == comparison.role)
            {
                point.flag(flag);
                point.verdict = point.verdict.max(TrustVerdict::Suspect);
            }
        }
    }
}

/// Makes all comparisons of a configuration over the frames of a run, by equipment.
///
/// `shared` is where outdoor temperature comes from that equipment does not store itself.
pub fn compare_all(
    references: &References,
    frames: &BTreeMap<&str, &RunFrame>,
    shared: Option<&SharedOat>,
    data: &dyn ReferenceData,
) -> Comparisons {
    let mut found = Comparisons::default();
    let readings = Readings { frames, data };
    for ((equip, role), spec) in &references.points {
        let point = Point {
            equip: equip.clone(),
            role: role.clone(),
            column_of: equip.clone(),
            column: role.clone(),
            read_by: vec![equip.clone()],
        };
        readings.compare(&point, spec, &mut found);
    }
    if let Some(spec) = &references.outdoor {
        for point in outdoor_points(frames, shared) {
            readings.compare(&point, spec, &mut found);
        }
    }
    let key = |equip: &String, role: &String| (equip.clone(), role.clone());
    found
        .made
        .sort_by_cached_key(|made| key(&made.equip, &made.role));
    found
        .failed
        .sort_by_cached_key(|failed| key(&failed.equip, &failed.role));
    found
}

/// A point to compare, and where its samples are.
struct Point {
    equip: String,
    role: String,
    column_of: String,
    column: String,
    read_by: Vec<String>,
}

/// Every distinct outdoor temperature of the air handlers; of all equipment when there is no air handler.
fn outdoor_points(frames: &BTreeMap<&str, &RunFrame>, shared: Option<&SharedOat>) -> Vec<Point> {
    let has = |frame: &&RunFrame| frame.table().column(OUTDOOR).is_some();
    let all: Vec<&RunFrame> = frames.values().copied().filter(has).collect();
    let mut readers: Vec<&RunFrame> = all
        .iter()
        .copied()
        .filter(|frame| families::family(frame.equip_class()) == Some("air_handler"))
        .collect();
    if readers.is_empty() {
        readers = all;
    }
    let mut points: BTreeMap<(String, String), Point> = BTreeMap::new();
    for frame in readers {
        let reader = frame.equip().to_owned();
        let (equip, role) = match shared.filter(|_| !frame.stores(OUTDOOR)) {
            Some(SharedOat::Point { equip, role }) => (equip.clone(), role.clone()),
            Some(SharedOat::File { file, .. }) => (file.clone(), OUTDOOR.to_owned()),
            None => (reader.clone(), OUTDOOR.to_owned()),
        };
        let own_frame = frames
            .get(equip.as_str())
            .is_some_and(|frame| frame.stores(&role));
        let point = points
            .entry((equip.clone(), role.clone()))
            .or_insert_with(|| Point {
                // The source's own frame where the run has it, else the column as it was merged.
                column_of: if own_frame {
                    equip.clone()
                } else {
                    reader.clone()
                },
                column: if own_frame {
                    role.clone()
                } else {
                    OUTDOOR.to_owned()
                },
                equip,
                role,
                read_by: Vec::new(),
            });
        point.read_by.push(reader);
    }
    let mut points: Vec<Point> = points.into_values().collect();
    for point in &mut points {
        if !point.read_by.contains(&point.equip) {
            point.read_by.push(point.equip.clone());
        }
    }
    points
}

struct Readings<'a> {
    frames: &'a BTreeMap<&'a str, &'a RunFrame>,
    data: &'a dyn ReferenceData,
}

impl Readings<'_> {
    fn compare(&self, point: &Point, spec: &ReferenceSpec, found: &mut Comparisons) {
        let compared = self.samples(point).and_then(|(stamps, values)| {
            let reference = self.reference(spec)?;
            let place = (point.equip.as_str(), point.role.as_str());
            let samples = (stamps, values);
            Ok(compare(
                place,
                samples,
                &spec.label,
                &reference,
                &spec.limits,
            ))
        });
        match compared {
            Ok(comparison) => found.made.push(Comparison {
                read_by: point.read_by.clone(),
                ..comparison
            }),
            Err(problem) => found.failed.push(NotCompared {
                equip: point.equip.clone(),
                role: point.role.clone(),
                reference: spec.label.clone(),
                problem,
            }),
        }
    }

    fn samples(&self, point: &Point) -> Result<(&[i64], &[f64]), String> {
        let frame = self
            .frames
            .get(point.column_of.as_str())
            .ok_or("the equipment is not part of the run")?;
        let values = frame
            .table()
            .column(&point.column)
            .ok_or("the equipment has no data for the role in the window")?;
        Ok((&frame.table().stamps, values))
    }

    fn reference(&self, spec: &ReferenceSpec) -> Result<ReferenceSeries, String> {
        let ReferenceSource::Point { equip, role } = &spec.source else {
            return self.data.samples(&spec.source);
        };
        let Some(frame) = self.frames.get(equip.as_str()) else {
            return self.data.samples(&spec.source);
        };
        let values = frame
            .table()
            .column(role)
            .ok_or("the reference has no data for its role in the window")?;
        Ok(ReferenceSeries {
            stamps: frame.table().stamps.clone(),
            values: values.to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::finding::Severity;
    use crate::frame::RoleFrame;
    use crate::numeric::share_of;
    use crate::run_config::Section;
    use crate::run_frame::SharedPoint;
    use crate::trust::{View, scores};
    use crate::wall_clock::HOUR;

    struct Outside;

    impl ReferenceData for Outside {
        fn samples(&self, source: &ReferenceSource) -> Result<ReferenceSeries, String> {
            match source {
                ReferenceSource::Point { equip, .. } if equip != "LOGGER" => {
                    Err("it is not stored".to_owned())
                }
                ReferenceSource::File { path, .. } if path != "airport.csv" => {
                    Err("there is no such file".to_owned())
                }
                _ => Ok(ReferenceSeries {
                    stamps: stamps(),
                    values: (0..240).map(outdoors).collect(),
                }),
            }
        }
    }

    fn stamps() -> Vec<i64> {
        (0..240).map(|row| row * HOUR).collect()
    }

    fn outdoors(row: usize) -> f64 {
        50.0 + 10.0 * (share_of(row) / 4.0).sin()
    }

    fn frame(
        equip: &str,
        class: &str,
        columns: &[(&str, f64)],
        shared: &[SharedPoint],
    ) -> RunFrame {
        let column = |offset: f64| (0..240).map(|row| outdoors(row) + offset).collect();
        let table = RoleFrame {
            equip: equip.to_owned(),
            equip_class: class.to_owned(),
            stamps: stamps(),
            columns: columns
                .iter()
                .map(|(role, offset)| ((*role).to_owned(), column(*offset)))
                .collect(),
        };
        RunFrame::of_resampled(table, shared)
    }

    fn compared(rcx: serde_json::Value) -> (Comparisons, Vec<RunFrame>) {
        let weather = SharedPoint {
            role: "oat".to_owned(),
            stamps: stamps(),
            values: (0..240).map(|row| outdoors(row) - 3.0).collect(),
        };
        let shared = [weather];
        let frames = vec![
            frame(
                "AHU-1",
                "AHU",
                &[("supply_air_temp", 6.0), ("oat", 0.5)],
                &shared,
            ),
            frame("AHU-2", "AHU", &[("supply_air_temp", 0.0)], &shared),
            frame("AHU-3", "AHU", &[("supply_air_temp", 0.0)], &shared),
            frame("WX", "WEATHER", &[("oat", -3.0)], &shared),
        ];
        let by_equip = frames.iter().map(|frame| (frame.equip(), frame)).collect();
        let references = References::read(&Section::of(&rcx, "report.rcx").unwrap()).unwrap();
        let oat = SharedOat::Point {
            equip: "WX".to_owned(),
            role: "oat".to_owned(),
        };
        (
            compare_all(&references, &by_equip, Some(&oat), &Outside),
            frames,
        )
    }

    #[test]
    fn a_sensor_that_reads_high_makes_findings_conditional_and_its_point_suspect() {
        let (found, frames) = compared(json!({"references": {
            "AHU-1": {"supply_air_temp": {"equip": "LOGGER"}},
            "AHU-2": {"supply_air_temp": {"equip": "WX", "role": "oat", "label": "roof"}},
        }}));
        let told: Vec<_> = found
            .made
            .iter()
            .map(|made| (made.equip.as_str(), made.severity, made.reference.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                ("AHU-1", Severity::Fault, "LOGGER supply_air_temp"),
                ("AHU-2", Severity::Warn, "roof")
            ]
        );
        let conditional = |equip: &str, roles: &[&str]| {
            found.conditional(equip, |role| roles.contains(&role)).len()
        };
        assert_eq!(conditional("AHU-1", &["oat", "supply_air_temp"]), 1);
        assert_eq!(conditional("AHU-1", &["oat"]), 0);
        assert_eq!(conditional("AHU-3", &["oat", "supply_air_temp"]), 0);
        let mut points = scores(frames[0].table(), View::Rules);
        let trust = points[1].trust;
        found.mark("AHU-1", &mut points);
        assert_eq!(points[1].flags, ["reference_fault"]);
        assert_eq!(
            (points[1].verdict, points[1].trust),
            (TrustVerdict::Suspect, trust)
        );
        assert!(points[0].flags.is_empty());
    }

    #[test]
    fn the_outdoor_reference_judges_every_source_once() {
        let (found, _) = compared(json!({"oat_reference": {"csv": "airport.csv"}}));
        let told: Vec<_> = found
            .made
            .iter()
            .map(|made| (made.equip.as_str(), made.bias, made.read_by.clone()))
            .collect();
        let readers = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(
            told,
            [
                ("AHU-1", Some(0.5), readers(&["AHU-1"])),
                ("WX", Some(-3.0), readers(&["AHU-2", "AHU-3", "WX"]))
            ]
        );
        assert_eq!(found.conditional("AHU-3", |role| role == "oat").len(), 1);
    }

    #[test]
    fn what_cannot_be_compared_is_told() {
        let (found, _) = compared(json!({"references": {
            "AHU-1": {"co2": {"equip": "LOGGER"}, "oat": {"equip": "NONE"}},
            "AHU-2": {"supply_air_temp": {"csv": "none.csv"}},
            "AHU-9": {"oat": {"equip": "LOGGER"}},
        }}));
        assert!(found.made.is_empty());
        let problems: Vec<_> = found
            .failed
            .iter()
            .map(|failed| failed.problem.as_str())
            .collect();
        assert_eq!(
            problems,
            [
                "the equipment has no data for the role in the window",
                "it is not stored",
                "there is no such file",
                "the equipment is not part of the run"
            ]
        );
    }
}
