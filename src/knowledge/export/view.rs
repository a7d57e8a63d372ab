//! What exports have in common: points with their meaning, spaces with the building they are in.

use std::collections::HashSet;

use super::{StationPoint, StationPoints};
use crate::knowledge::camber_roles::{CamberRole, camber_role, camber_role_named, lineage};
use crate::knowledge::kinds::{Kind, ValueForm, kind};
use crate::knowledge::{Equipment, KnowledgeModel, Space, StandalonePoint};
use crate::station::ord::Ord;

/// A model and what the station says about its points.
pub(super) struct SiteView<'a> {
    pub model: &'a KnowledgeModel,
    pub station: &'a StationPoints,
}

/// A mapped point with everything that is known about its meaning.
pub(super) struct PointView<'a> {
    pub owner: Owner<'a>,
    pub role: &'a str,
    pub name: String,
    pub ord: Option<&'a str>,
    pub camber: Option<&'static CamberRole>,
    pub kind: Option<&'static Kind>,
    pub station: Option<&'a StationPoint>,
}

/// What a point belongs to.
pub(super) enum Owner<'a> {
    Equipment(&'a Equipment),
    Nothing(&'a StandalonePoint),
}

/// Whether a point measures, is to be reached, or commands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Sensor,
    Setpoint,
    Command,
}

impl<'a> SiteView<'a> {
    /// The type of equipment and its ancestors, nearest first; empty without a type.
    pub fn types(&self, entry: &'a Equipment) -> Vec<&'a str> {
        let of_type = |id| lineage(self.model, id);
        entry
            .equipment_type
            .as_deref()
            .map_or_else(Vec::new, of_type)
    }

    /// Equipment that serves `entry`; ids that name none are left out, as is the entry itself.
    pub fn served_by(&self, entry: &'a Equipment) -> Vec<&'a Equipment> {
        let mut seen = HashSet::new();
        entry
            .served_by()
            .filter_map(|id| self.model.equipment(id))
            .filter(|other| other.id != entry.id && seen.insert(other.id.as_str()))
            .collect()
    }

    /// The space of that id; none for an id that names no space.
    pub fn space(&self, id: Option<&str>) -> Option<&'a Space> {
        self.model.space(id?)
    }

    /// The building a space is in, or the space itself; none where the chain of parents ends before one.
    pub fn building(&self, space: &'a Space) -> Option<&'a Space> {
        let mut seen = HashSet::new();
        let mut next = Some(space);
        while let Some(at) = next.filter(|at| seen.insert(at.id.as_str())) {
            if is_building(at) {
                return Some(at);
            }
            next = self.space(at.parent.as_deref());
        }
        None
    }

    /// All spaces that have an id, each id once.
    pub fn spaces(&self) -> impl Iterator<Item = &'a Space> + use<'a> {
        let mut seen = HashSet::new();
        let entries = self.model.document().spaces.iter();
        entries.filter(move |space| !space.id.is_empty() && seen.insert(space.id.as_str()))
    }

    /// All equipment that has an id, each id once.
    pub fn equipment(&self) -> impl Iterator<Item = &'a Equipment> + use<'a> {
        let mut seen = HashSet::new();
        let entries = self.model.document().equipment.iter();
        entries.filter(move |entry| !entry.id.is_empty() && seen.insert(entry.id.as_str()))
    }

    /// Points of equipment, role by role.
    pub fn points_of(&self, entry: &'a Equipment) -> Vec<PointView<'a>> {
        let types = self.types(entry);
        let typical = entry.equipment_type.as_deref();
        let typical = typical.map_or_else(Vec::new, |id| self.model.typical_points(id));
        entry
            .points
            .iter()
            .map(|(role, ord)| {
                let camber = camber_role(&types, role).and_then(camber_role_named);
                let named = typical.iter().find(|point| point.role == *role);
                let named = named.and_then(|point| point.kind.as_deref()).and_then(kind);
                PointView {
                    owner: Owner::Equipment(entry),
                    role,
                    name: format!("{} {}", shown(&entry.name, &entry.id), words(role)),
                    ord: Some(ord.as_str()).filter(|ord| !ord.is_empty()),
                    camber,
                    kind: named.or_else(|| camber.and_then(|role| kind(role.kind()))),
                    station: self.station_point(ord),
                }
            })
            .collect()
    }

    /// Points without equipment that have an id, each id once.
    pub fn standalone_points(&self) -> Vec<PointView<'a>> {
        let mut seen = HashSet::new();
        let entries = self.model.document().points.iter();
        entries
            .filter(|point| !point.id.is_empty() && seen.insert(point.id.as_str()))
            .map(|point| {
                let role = point.role_in_space.as_deref().unwrap_or_default();
                let camber = camber_role(&[], role).and_then(camber_role_named);
                let ord = point.ord.as_deref().filter(|ord| !ord.is_empty());
                PointView {
                    owner: Owner::Nothing(point),
                    role,
                    name: shown(&point.name, &point.id).to_owned(),
                    ord,
                    camber,
                    kind: point.kind.as_deref().and_then(kind),
                    station: ord.and_then(|ord| self.station_point(ord)),
                }
            })
            .collect()
    }

    fn station_point(&self, ord: &str) -> Option<&'a StationPoint> {
        self.station.get(&Ord::parse(ord).ok()?.absolute())
    }
}

impl PointView<'_> {
    /// The form of the values: what the station says, else what the role or its kind implies.
    pub fn value_form(&self) -> Option<ValueForm> {
        let by_role = || {
            let role = self.camber?;
            Some(if role.status {
                ValueForm::Boolean
            } else {
                ValueForm::Number
            })
        };
        self.station
            .and_then(|point| point.value)
            .or_else(|| self.kind.map(|kind| kind.value))
            .or_else(by_role)
    }

    /// By the ending of the role, as far as names tell; a point whose role says nothing measures.
    pub fn function(&self) -> Function {
        let last = self.role.rsplit(['_', '-', ' ']).next().unwrap_or_default();
        match last {
            "sp" | "setpoint" | "limit" => Function::Setpoint,
            "cmd" | "command" | "enable" => Function::Command,
            _ => Function::Sensor,
        }
    }
}

/// Whether a space is a building of its own.
pub(super) fn is_building(space: &Space) -> bool {
    space.space_type.as_deref() == Some("building")
}

/// The name of an entry, its id where it has none.
pub(super) fn shown<'a>(name: &'a Option<String>, id: &'a str) -> &'a str {
    name.as_deref()
        .filter(|name| !name.is_empty())
        .unwrap_or(id)
}

fn words(role: &str) -> String {
    role.replace(['_', '-'], " ")
}
