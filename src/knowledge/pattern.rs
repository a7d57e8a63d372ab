//! One mapped piece of equipment as the pattern for others: where each of its points lies on a sibling, and what differs.
//!
//! Nothing here asks a station or edits the model; see the tool `applyPattern`.

mod naming;

use std::collections::{HashMap, HashSet};

pub use naming::with_suffix;

use naming::transferred;

use super::document::Equipment;
use super::suggestion::{ValueKind, kebab, name_parts};
use crate::station::ord::{Ord, SlotName, SlotPath};
use crate::station::units::Unit;

/// A point of the station, as far as patterns compare it.
#[derive(Debug, Clone, PartialEq)]
pub struct StationPoint {
    pub path: SlotPath,
    /// `control:NumericWritable` and the like.
    pub type_spec: String,
    pub unit: Option<Unit>,
}

/// A mapped piece of equipment taken as the pattern.
#[derive(Debug)]
pub struct Pattern<'a> {
    equipment: &'a Equipment,
    base: SlotPath,
    points: Vec<PatternPoint>,
    /// All points of the station below the equipment, without its own path.
    below: HashMap<Vec<SlotName>, StationPoint>,
}

/// One role of the pattern.
#[derive(Debug, Clone, PartialEq)]
struct PatternPoint {
    role: String,
    place: Place,
}

#[derive(Debug, Clone, PartialEq)]
enum Place {
    /// Below the equipment: the names from there to the point, and on to a slot of the point.
    Below {
        names: Vec<SlotName>,
        slot: Vec<SlotName>,
    },
    /// Somewhere else; siblings share it.
    Elsewhere { ord: String },
}

/// Why equipment cannot serve as a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("The equipment '{id}' has no ord; set it with updateEquipment.")]
    NoOrd { id: String },
    #[error("The ord '{ord}' of the equipment '{id}' cannot be used: {detail}.")]
    Ord {
        id: String,
        ord: String,
        detail: String,
    },
    #[error(
        "The equipment '{id}' has no points below its component {ord}; map them with assignPointToEquipment first."
    )]
    NoPoints { id: String, ord: String },
    #[error(
        "The station has no point {ord}, which the equipment '{id}' has as {role}; correct it with assignPointToEquipment."
    )]
    Gone {
        id: String,
        role: String,
        ord: String,
    },
}

/// How a point of a sibling was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// At the same place under the same name.
    Same,
    /// Under a name that differs in case, separators or the number of the equipment only.
    Similar,
    /// Not on the equipment: all siblings have the pattern's own.
    Shared,
}

/// A point of a sibling that takes a role.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedPoint {
    pub role: String,
    /// Absolute ord.
    pub ord: String,
    pub found: Found,
}

/// A role that no point of a sibling has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingPoint {
    pub role: String,
    /// Where it was expected.
    pub ord: String,
}

/// A point that is there, but not as in the pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub role: String,
    pub ord: String,
    pub what: &'static str,
    pub pattern: String,
    pub here: String,
    /// The values mean something else, so the point does not take the role.
    pub is_other_kind: bool,
}

/// What the pattern makes of one sibling.
#[derive(Debug, Clone, PartialEq)]
pub struct SiblingPlan {
    pub path: SlotPath,
    /// Name and id as the pattern's are made from the name of its component.
    pub name: String,
    pub id: String,
    pub points: Vec<PlannedPoint>,
    pub missing: Vec<MissingPoint>,
    pub differences: Vec<Difference>,
    /// Points that the pattern's component does not have.
    pub extra: Vec<StationPoint>,
}

impl SiblingPlan {
    /// Points found on the sibling itself.
    pub fn own_points(&self) -> usize {
        self.points
            .iter()
            .filter(|point| point.found != Found::Shared)
            .count()
    }
}

impl<'a> Pattern<'a> {
    /// The pattern of a piece of equipment, proved against the points that the station has below it.
    ///
    /// # Errors
    /// No component, no points below it, or points that are gone.
    pub fn of(equipment: &'a Equipment, station: &[StationPoint]) -> Result<Self, PatternError> {
        let base = component(equipment)?;
        let below: HashMap<Vec<SlotName>, StationPoint> = station
            .iter()
            .filter_map(|point| Some((below(&base, &point.path)?, point.clone())))
            .collect();
        let mut points = Vec::new();
        for (role, text) in &equipment.points {
            let wrong = |detail: String| PatternError::Ord {
                id: equipment.id.clone(),
                ord: text.clone(),
                detail,
            };
            let ord = Ord::component(text).map_err(|error| wrong(error.to_string()))?;
            let place = match ord.slot_path().and_then(|path| self::below(&base, path)) {
                Some(names) => split(&below, names).ok_or_else(|| PatternError::Gone {
                    id: equipment.id.clone(),
                    role: role.clone(),
                    ord: text.clone(),
                })?,
                None => Place::Elsewhere {
                    ord: ord.absolute(),
                },
            };
            points.push(PatternPoint {
                role: role.clone(),
                place,
            });
        }
        if !points
            .iter()
            .any(|point| matches!(point.place, Place::Below { .. }))
        {
            return Err(PatternError::NoPoints {
                id: equipment.id.clone(),
                ord: Ord::slot(base).absolute(),
            });
        }
        Ok(Self {
            equipment,
            base,
            points,
            below,
        })
    }

    /// Roles of the pattern.
    pub fn role_count(&self) -> usize {
        self.points.len()
    }

    /// Roles whose points lie on the equipment itself.
    pub fn own_count(&self) -> usize {
        self.points
            .iter()
            .filter(|point| matches!(point.place, Place::Below { .. }))
            .count()
    }

    /// Looks for the points of the pattern below a sibling.
    pub fn plan(&self, sibling: &SlotPath, station: &[StationPoint]) -> SiblingPlan {
        let own: Vec<(Vec<SlotName>, &StationPoint)> = station
            .iter()
            .filter_map(|point| Some((below(sibling, &point.path)?, point)))
            .collect();
        let exact: HashMap<&[SlotName], &StationPoint> = own
            .iter()
            .map(|(names, point)| (names.as_slice(), *point))
            .collect();
        let similar = by_likeness(sibling, &own);
        let mut plan = SiblingPlan {
            name: self.renamed(self.equipment.name.as_deref(), sibling, |name| {
                name.to_owned()
            }),
            id: self.renamed(Some(&self.equipment.id), sibling, kebab),
            path: sibling.clone(),
            points: Vec::new(),
            missing: Vec::new(),
            differences: Vec::new(),
            extra: Vec::new(),
        };
        let mut used: HashSet<&SlotPath> = HashSet::new();
        for point in &self.points {
            let (names, slot) = match &point.place {
                Place::Elsewhere { ord } => {
                    plan.points.push(PlannedPoint {
                        role: point.role.clone(),
                        ord: ord.clone(),
                        found: Found::Shared,
                    });
                    continue;
                }
                Place::Below { names, slot } => (names, slot),
            };
            let found = match exact.get(names.as_slice()) {
                Some(here) => Some((*here, Found::Same)),
                None => similar
                    .get(&likeness(&self.base, names))
                    .and_then(|here| (*here).map(|here| (here, Found::Similar)))
                    .filter(|(here, _)| !self.is_elsewhere_in_pattern(sibling, here)),
            };
            let Some((here, found)) = found else {
                plan.missing.push(MissingPoint {
                    role: point.role.clone(),
                    ord: ord_of(sibling, names.iter().chain(slot)),
                });
                continue;
            };
            used.insert(&here.path);
            let ord = ord_of(&here.path, slot.iter());
            let differences = self.differences(&point.role, names, here, &ord);
            if !differences
                .iter()
                .any(|difference| difference.is_other_kind)
            {
                plan.points.push(PlannedPoint {
                    role: point.role.clone(),
                    ord,
                    found,
                });
            }
            plan.differences.extend(differences);
        }
        plan.extra = own
            .iter()
            .filter(|(names, point)| !used.contains(&point.path) && !self.below.contains_key(names))
            .map(|(_, point)| (*point).clone())
            .collect();
        plan
    }

    /// Whether a point stands exactly where the pattern has another of its points.
    fn is_elsewhere_in_pattern(&self, sibling: &SlotPath, here: &StationPoint) -> bool {
        below(sibling, &here.path).is_some_and(|names| {
            self.points.iter().any(
                |point| matches!(&point.place, Place::Below { names: known, .. } if *known == names),
            )
        })
    }

    fn differences(
        &self,
        role: &str,
        names: &[SlotName],
        here: &StationPoint,
        ord: &str,
    ) -> Vec<Difference> {
        let Some(there) = self.below.get(names) else {
            return Vec::new();
        };
        let mut differences = Vec::new();
        let mut add = |what, pattern: &str, here: &str, is_other_kind| {
            differences.push(Difference {
                role: role.to_owned(),
                ord: ord.to_owned(),
                what,
                pattern: pattern.to_owned(),
                here: here.to_owned(),
                is_other_kind,
            });
        };
        if there.type_spec != here.type_spec {
            let kind = |point: &StationPoint| ValueKind::of_type(&point.type_spec);
            add(
                "type",
                &there.type_spec,
                &here.type_spec,
                kind(there) != kind(here),
            );
        }
        let unit = |point: &StationPoint| {
            point
                .unit
                .clone()
                .filter(|unit| !unit.is_null())
                .unwrap_or_else(Unit::null)
        };
        let (one, two) = (unit(there), unit(here));
        if one.name() != two.name() {
            // A unit that cannot be converted may still be a misspelt one: people decide.
            add("unit", shown(&one), shown(&two), false);
        }
        differences
    }

    /// A text of the pattern with the sibling's numbers in place of its own; made from the sibling's name otherwise.
    fn renamed(
        &self,
        text: Option<&str>,
        sibling: &SlotPath,
        otherwise: impl Fn(&str) -> String,
    ) -> String {
        let own = display(&self.base);
        let other = display(sibling);
        text.and_then(|text| transferred(text, &own, &other))
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| otherwise(&other))
    }
}

/// The component of a piece of equipment.
///
/// # Errors
/// No ord, or one that is no slot path.
pub fn component(equipment: &Equipment) -> Result<SlotPath, PatternError> {
    let text = equipment
        .ord
        .as_deref()
        .filter(|ord| !ord.is_empty())
        .ok_or_else(|| PatternError::NoOrd {
            id: equipment.id.clone(),
        })?;
    let wrong = |detail: String| PatternError::Ord {
        id: equipment.id.clone(),
        ord: text.to_owned(),
        detail,
    };
    let ord = Ord::component(text).map_err(|error| wrong(error.to_string()))?;
    ord.slot_path()
        .cloned()
        .ok_or_else(|| wrong("a handle does not tell the place; give the slot path".to_owned()))
}

/// The names from a component down to something below it.
fn below(base: &SlotPath, path: &SlotPath) -> Option<Vec<SlotName>> {
    let names = path.names().strip_prefix(base.names())?;
    (!names.is_empty()).then(|| names.to_vec())
}

/// The longest beginning that is a point, and the slots of it that follow.
fn split(points: &HashMap<Vec<SlotName>, StationPoint>, names: Vec<SlotName>) -> Option<Place> {
    (1..=names.len()).rev().find_map(|length| {
        let (point, slot) = names.split_at_checked(length)?;
        points.contains_key(point).then(|| Place::Below {
            names: point.to_vec(),
            slot: slot.to_vec(),
        })
    })
}

fn ord_of<'n>(base: &SlotPath, names: impl Iterator<Item = &'n SlotName>) -> String {
    let path = names.fold(base.clone(), |path, name| path.child(name.clone()));
    Ord::slot(path).absolute()
}

fn display(path: &SlotPath) -> String {
    path.name().map(SlotName::display).unwrap_or_default()
}

fn shown(unit: &Unit) -> &str {
    if unit.is_null() {
        "none"
    } else if unit.symbol().is_empty() {
        unit.name()
    } else {
        unit.symbol()
    }
}

/// Points of a sibling by what their names have in common with equal points elsewhere; none where several are alike.
fn by_likeness<'p>(
    sibling: &SlotPath,
    own: &[(Vec<SlotName>, &'p StationPoint)],
) -> HashMap<String, Option<&'p StationPoint>> {
    let mut found: HashMap<String, Option<&StationPoint>> = HashMap::new();
    for (names, point) in own {
        found
            .entry(likeness(sibling, names))
            .and_modify(|known| *known = None)
            .or_insert(Some(*point));
    }
    found
}

/// The last name without case and separators, and without the name of the equipment at its beginning.
fn likeness(base: &SlotPath, names: &[SlotName]) -> String {
    let Some(last) = names.last() else {
        return String::new();
    };
    let own = name_parts(&display(base));
    let parts = name_parts(last.as_str());
    let parts = match parts.strip_prefix(own.as_slice()) {
        Some(rest) if !rest.is_empty() => rest.to_vec(),
        _ => parts,
    };
    parts.concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::units::unit_by_name;

    fn point(path: &str, type_name: &str, unit: &str) -> StationPoint {
        StationPoint {
            path: path.parse().unwrap(),
            type_spec: format!("control:{type_name}"),
            unit: unit_by_name(unit).cloned(),
        }
    }

    fn pattern() -> Equipment {
        let points = [
            ("space_temp", "station:|slot:/N/VAV_1_01/points/ZN_T"),
            ("airflow", "slot:/N/VAV_1_01/points/VAV_1_01_Flow"),
            ("damper", "station:|slot:/N/VAV_1_01/points/Dmpr/out"),
            ("oat", "station:|slot:/N/Weather/points/OA_T"),
        ];
        Equipment {
            id: "vav-1-01".into(),
            name: Some("VAV 1-01".into()),
            equipment_type: Some("vav".into()),
            ord: Some("station:|slot:/N/VAV_1_01".into()),
            points: points
                .into_iter()
                .map(|(role, ord)| (role.to_owned(), ord.to_owned()))
                .collect(),
            ..Equipment::default()
        }
    }

    fn station() -> Vec<StationPoint> {
        vec![
            point("slot:/N/VAV_1_01/points/ZN_T", "NumericPoint", "fahrenheit"),
            point(
                "slot:/N/VAV_1_01/points/VAV_1_01_Flow",
                "NumericPoint",
                "cubic_feet_per_minute",
            ),
            point("slot:/N/VAV_1_01/points/Dmpr", "NumericWritable", "percent"),
            point("slot:/N/VAV_1_01/points/Mode", "EnumPoint", "null"),
            point("slot:/N/VAV_1_02/points/ZN$2dT", "NumericPoint", "celsius"),
            point(
                "slot:/N/VAV_1_02/points/VAV_1_02_Flow",
                "NumericPoint",
                "cubic_feet_per_minute",
            ),
            point("slot:/N/VAV_1_02/points/Dmpr", "BooleanWritable", "null"),
            point("slot:/N/VAV_1_02/points/Mode", "EnumPoint", "null"),
            point(
                "slot:/N/VAV_1_02/points/CO2",
                "NumericPoint",
                "parts_per_million",
            ),
        ]
    }

    #[test]
    fn a_sibling_gets_what_is_alike_and_is_told_what_is_not() {
        let equipment = pattern();
        let station = station();
        let pattern = Pattern::of(&equipment, &station).unwrap();
        let plan = pattern.plan(&"slot:/N/VAV_1_02".parse().unwrap(), &station);
        assert_eq!(
            (plan.id.as_str(), plan.name.as_str()),
            ("vav-1-02", "VAV 1-02")
        );
        let found: Vec<(&str, &str, Found)> = plan
            .points
            .iter()
            .map(|point| (point.role.as_str(), point.ord.as_str(), point.found))
            .collect();
        assert_eq!(
            found,
            [
                (
                    "space_temp",
                    "station:|slot:/N/VAV_1_02/points/ZN$2dT",
                    Found::Similar
                ),
                (
                    "airflow",
                    "station:|slot:/N/VAV_1_02/points/VAV_1_02_Flow",
                    Found::Similar
                ),
                ("oat", "station:|slot:/N/Weather/points/OA_T", Found::Shared),
            ]
        );
        let differences: Vec<(&str, &str, &str, &str, bool)> = plan
            .differences
            .iter()
            .map(|one| {
                (
                    one.role.as_str(),
                    one.what,
                    one.pattern.as_str(),
                    one.here.as_str(),
                    one.is_other_kind,
                )
            })
            .collect();
        assert_eq!(
            differences,
            [
                ("space_temp", "unit", "°F", "°C", false),
                (
                    "damper",
                    "type",
                    "control:NumericWritable",
                    "control:BooleanWritable",
                    true
                ),
                ("damper", "unit", "%", "none", false),
            ]
        );
        let extra: Vec<String> = plan
            .extra
            .iter()
            .map(|point| point.path.to_string())
            .collect();
        assert_eq!(extra, ["slot:/N/VAV_1_02/points/CO2"]);
        assert!(plan.missing.is_empty());

        let empty = pattern.plan(&"slot:/N/VAV_1_03".parse().unwrap(), &station);
        let missing: Vec<&str> = empty.missing.iter().map(|one| one.ord.as_str()).collect();
        assert_eq!(
            missing,
            [
                "station:|slot:/N/VAV_1_03/points/ZN_T",
                "station:|slot:/N/VAV_1_03/points/VAV_1_01_Flow",
                "station:|slot:/N/VAV_1_03/points/Dmpr/out",
            ]
        );
    }

    #[test]
    fn a_pattern_whose_points_are_gone_is_none() {
        let equipment = pattern();
        let station: Vec<StationPoint> = station().into_iter().skip(1).collect();
        assert!(matches!(
            Pattern::of(&equipment, &station),
            Err(PatternError::Gone { role, .. }) if role == "space_temp"
        ));
        let elsewhere = Equipment {
            ord: Some("slot:/Other".into()),
            ..pattern()
        };
        assert!(matches!(
            Pattern::of(&elsewhere, &station),
            Err(PatternError::NoPoints { .. })
        ));
        let nowhere = Equipment {
            ord: None,
            ..pattern()
        };
        assert!(matches!(
            Pattern::of(&nowhere, &station),
            Err(PatternError::NoOrd { .. })
        ));
    }
}
