//! What our roles and equipment types are called in CAMBER.
//!
//! The vocabulary itself (84 roles, the class templates) is CAMBER's, copied from the store specification §10.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::{KnowledgeModel, shipped};

const ROLES: &str = include_str!("../../knowledge/camber/roles.json");
const MAP: &str = include_str!("../../knowledge/camber-roles.yaml");

static VOCABULARY: LazyLock<Vec<CamberRole>> =
    LazyLock::new(|| shipped::table::<Vocabulary>("camber/roles.json", ROLES).roles);
static ROLE_MAP: LazyLock<RoleMap> = LazyLock::new(|| shipped::table("camber-roles.yaml", MAP));

#[derive(Default, Deserialize)]
struct Vocabulary {
    roles: Vec<CamberRole>,
}

/// A role of CAMBER's vocabulary (store specification §10.1).
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CamberRole {
    /// The slug, for example `supply_air_temp`.
    pub role: String,
    /// The unit that the store holds it in, for example `degF`.
    pub unit: String,
    pub meaning: String,
    /// A two-state signal.
    pub status: bool,
    /// A share, 0 to 100.
    pub percent: bool,
    pub temperature: bool,
    /// A difference of temperatures: converts without offset.
    pub temperature_difference: bool,
    /// Values outside are not physical, in [`CamberRole::unit`].
    pub physical_bounds: Option<(f64, f64)>,
    /// Project Haystack markers, separated by blanks.
    pub haystack_tags: String,
}

impl CamberRole {
    /// The kind of the role's points, as its unit tells it.
    pub fn kind(&self) -> &'static str {
        match self.unit.as_str() {
            _ if self.status => "boolean",
            "degF" => "temperature",
            "degF difference" => "temperature_difference",
            "percent RH" => "humidity",
            "percent" => "percent",
            "cfm" | "gpm" => "flow",
            "inH2O" | "psig" => "pressure",
            unit if unit.starts_with("psi") => "pressure",
            "ppm" => "ppm",
            "kW" => "power",
            unit if unit.starts_with("kBtu/h") => "power",
            _ => "count",
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RoleMap {
    roles: HashMap<String, Option<String>>,
    types: HashMap<String, TypeEntry>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct TypeEntry {
    class: String,
    #[serde(default)]
    roles: HashMap<String, Option<String>>,
}

/// CAMBER's roles in its own order.
pub fn camber_roles() -> &'static [CamberRole] {
    &VOCABULARY
}

/// The role of that slug in CAMBER's vocabulary.
pub fn camber_role_named(slug: &str) -> Option<&'static CamberRole> {
    VOCABULARY.iter().find(|known| known.role == slug)
}

/// The CAMBER role that `role` stands for on equipment whose type lineage is `types` (the type, then its ancestors).
///
/// The nearest type that says something about the role decides, then the general map, then the role's own name.
///
/// ```
/// use niagara_bridge::knowledge::camber_roles::camber_role;
/// assert_eq!(camber_role(&["chiller"], "status"), Some("compressor_status"));
/// assert_eq!(camber_role(&["roof-unit", "ahu"], "room_temp"), Some("space_temp"));
/// assert_eq!(camber_role(&[], "supply_air_temp"), Some("supply_air_temp"));
/// assert_eq!(camber_role(&["ahu"], "freeze_alarm"), None);
/// ```
pub fn camber_role(types: &[&str], role: &str) -> Option<&'static str> {
    let listed = listed(types, role)?;
    listed.map(|slug| slug.role.as_str())
}

/// Whether anything is known about a role: its counterpart in CAMBER, or that it has none.
pub fn is_listed(types: &[&str], role: &str) -> bool {
    listed(types, role).is_some()
}

fn listed(types: &[&str], role: &str) -> Option<Option<&'static CamberRole>> {
    let own = types
        .iter()
        .find_map(|id| ROLE_MAP.types.get(*id)?.roles.get(role));
    match own.or_else(|| ROLE_MAP.roles.get(role)) {
        Some(meant) => Some(meant.as_deref().and_then(camber_role_named)),
        None => camber_role_named(role).map(Some),
    }
}

/// The CAMBER class of equipment whose type lineage is `types`: that of the nearest type in the map.
///
/// ```
/// use niagara_bridge::knowledge::camber_roles::camber_class;
/// assert_eq!(camber_class(&["roof-unit", "rooftop", "ahu"]), Some("RTU"));
/// assert_eq!(camber_class(&["elevator"]), None);
/// ```
pub fn camber_class(types: &[&str]) -> Option<&'static str> {
    types
        .iter()
        .find_map(|id| Some(ROLE_MAP.types.get(*id)?.class.as_str()))
}

/// A type id and those of its ancestors, nearest first; ends where an `extends` cycle closes.
pub fn lineage<'a>(model: &'a KnowledgeModel, type_id: &'a str) -> Vec<&'a str> {
    let mut ids = Vec::new();
    let mut next = Some(type_id);
    while let Some(id) = next.filter(|id| !ids.contains(id)) {
        ids.push(id);
        next = model
            .equipment_type(id)
            .and_then(|entry| entry.extends.as_deref());
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::{STANDARD_SAMPLE, STANDARD_TYPES, decode, format};

    #[test]
    fn the_vocabulary_is_complete_and_the_map_names_only_roles_in_it() {
        assert_eq!(camber_roles().len(), 84);
        assert_eq!(camber_roles().iter().filter(|role| role.status).count(), 10);
        assert_eq!(
            camber_roles().iter().filter(|role| role.percent).count(),
            16
        );
        let of_types = ROLE_MAP.types.values().flat_map(|entry| &entry.roles);
        for (role, meant) in ROLE_MAP.roles.iter().chain(of_types) {
            if let Some(slug) = meant {
                assert!(camber_role_named(slug).is_some(), "{role}: {slug}");
            }
        }
        for role in ROLE_MAP.roles.keys() {
            assert!(
                camber_role_named(role).is_none(),
                "{role} stands for itself"
            );
        }
    }

    #[test]
    fn the_kind_that_a_unit_tells_is_the_one_of_the_standard_types() {
        let (_, tree) = format::parse("standard", STANDARD_TYPES).unwrap();
        let document = decode::decode("standard", tree).unwrap().document;
        for equipment_type in &document.equipment_types {
            for point in &equipment_type.typical_points {
                if let Some(role) = camber_role_named(&point.role) {
                    assert_eq!(Some(role.kind()), point.kind.as_deref(), "{}", point.role);
                }
            }
        }
    }

    #[test]
    fn every_mapped_type_is_a_standard_type_and_its_class_has_a_known_family() {
        let (_, tree) = format::parse("standard", STANDARD_TYPES).unwrap();
        let model = KnowledgeModel::new(decode::decode("standard", tree).unwrap().document);
        for (id, entry) in &ROLE_MAP.types {
            assert!(model.equipment_type(id).is_some(), "{id}");
            // CAMBER has no family for heat exchangers; its rules then run on their roles alone.
            let is_known = niagara_analytics::families::family(&entry.class).is_some();
            assert_eq!(is_known, entry.class != "HeatExchanger", "{}", entry.class);
        }
    }

    #[test]
    fn the_sample_roles_have_their_counterparts() {
        let (_, tree) = format::parse("sample", STANDARD_SAMPLE).unwrap();
        let model = KnowledgeModel::new(decode::decode("sample", tree).unwrap().document);
        let meant = |type_id: &str| -> Vec<Option<&'static str>> {
            let types = lineage(&model, type_id);
            let points = model.typical_points(type_id);
            points
                .iter()
                .map(|point| camber_role(&types, &point.role))
                .collect()
        };
        assert_eq!(
            meant("ahu"),
            [
                Some("supply_air_temp"),
                Some("return_air_temp"),
                Some("supply_fan_status"),
                Some("supply_fan_speed"),
                Some("cool_valve")
            ]
        );
        assert_eq!(
            meant("rooftop")[4..],
            [None, Some("compressor_status"), None]
        );
        assert_eq!(
            meant("chiller"),
            [
                Some("chw_supply_temp"),
                Some("chw_return_temp"),
                None,
                Some("compressor_status")
            ]
        );
        assert_eq!(meant("pump"), [Some("pump_status"), None, None]);
        assert_eq!(meant("fcu"), [Some("space_temp"), None, None, None]);
    }

    #[test]
    fn a_lineage_ends_where_it_closes() {
        let (_, tree) = format::parse(
            "t",
            "equipment_types:\n- {id: a, extends: b}\n- {id: b, extends: a}\n",
        )
        .unwrap();
        let model = KnowledgeModel::new(decode::decode("t", tree).unwrap().document);
        assert_eq!(lineage(&model, "a"), ["a", "b"]);
        assert_eq!(lineage(&model, "elsewhere"), ["elsewhere"]);
    }
}
