//! The 84 roles and what the engine knows of each (Store §10.1; Engine §3.2).

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::tables;

const ROLES: &str = include_str!("../../knowledge/camber/roles.json");
const TRUST: &str = include_str!("../../knowledge/camber/role-trust.json");

static VOCABULARY: LazyLock<HashMap<String, Role>> = LazyLock::new(|| {
    let trust: RoleFile<NamedTrait> = tables::table(TRUST);
    let mut traits: HashMap<String, TrustTraits> = trust
        .roles
        .into_iter()
        .map(|named| (named.role, named.traits))
        .collect();
    let file: RoleFile<Role> = tables::table(ROLES);
    let with_traits = |mut role: Role| {
        role.trust = traits.remove(&role.role).unwrap_or_default();
        (role.role.clone(), role)
    };
    file.roles.into_iter().map(with_traits).collect()
});

#[derive(Deserialize)]
struct RoleFile<T> {
    roles: Vec<T>,
}

impl<T> Default for RoleFile<T> {
    fn default() -> Self {
        Self { roles: Vec::new() }
    }
}

#[derive(Deserialize)]
struct NamedTrait {
    role: String,
    #[serde(flatten)]
    traits: TrustTraits,
}

/// One role.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Role {
    pub role: String,
    /// `degF`, `percent`, `cfm`, …
    pub unit: String,
    /// Two states, or the share of a bin that it was on.
    pub status: bool,
    /// A bin keeps the greatest value (warm-up, cool-down).
    pub any_on_resample: bool,
    pub percent: bool,
    pub temperature: bool,
    pub temperature_difference: bool,
    /// What is physical, in the unit.
    pub physical_bounds: Option<(f64, f64)>,
    /// How its trends are scored.
    #[serde(skip)]
    pub trust: TrustTraits,
}

/// How the trends of a role are scored (Engine §3.2).
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct TrustTraits {
    pub scale_floor: ScaleFloor,
    /// A flat line is suspicious.
    pub analog: bool,
    /// It cycles between two levels: each is judged apart.
    pub two_regimes: bool,
    /// Meaningful only while the fan runs.
    pub fan_gated: bool,
    /// Meaningful only while the plant of this loop runs.
    pub plant_loop: Option<PlantLoop>,
    /// The longest credible run of one value, hours.
    pub stuck_hours: Option<f64>,
    /// Runs near zero are rest, never a stuck sensor.
    pub idle: bool,
    /// The ends at which a sensor's limit shows.
    pub clip: Option<ClipEnds>,
    /// A measurement, which may be a copy of another point.
    pub measured: bool,
    /// Levels differ by operating mode; outliers are judged within each.
    pub by_mode: bool,
}

/// The least spread of a point's samples that counts as one (Engine §3.1.3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub enum ScaleFloor {
    /// 0.005 of the 99th percentile of the magnitudes.
    #[default]
    Relative,
    /// In the unit of the role.
    Fixed(f64),
    None,
}

impl TryFrom<serde_json::Value> for ScaleFloor {
    type Error = String;

    fn try_from(value: serde_json::Value) -> Result<Self, Self::Error> {
        match (value.as_str(), value.as_f64()) {
            (Some("relative"), _) => Ok(Self::Relative),
            (Some("none"), _) => Ok(Self::None),
            (_, Some(number)) => Ok(Self::Fixed(number)),
            _ => Err(format!("{value} is no scale floor")),
        }
    }
}

/// Which plant has to run for a point to mean something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlantLoop {
    /// Chilled water and condenser water.
    Chw,
    /// Heating hot water.
    Hw,
}

/// The ends of its range at which a sensor's limit shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClipEnds {
    High,
    Both,
}

/// The role of that slug; none for slugs outside of the vocabulary.
pub fn role(slug: &str) -> Option<&'static Role> {
    VOCABULARY.get(slug)
}

/// Whether a slug is of a percent role.
pub fn is_percent(slug: &str) -> bool {
    role(slug).is_some_and(|role| role.percent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vocabulary_is_whole() {
        assert_eq!(VOCABULARY.len(), 84);
        assert_eq!(role("oat").unwrap().physical_bounds, Some((-40.0, 140.0)));
        assert!(is_percent("oa_damper") && !is_percent("oat") && !is_percent("fan"));
    }

    #[test]
    fn every_role_says_how_its_trends_are_scored() {
        let traits: RoleFile<NamedTrait> = tables::table(TRUST);
        let mut named: Vec<&str> = traits.roles.iter().map(|row| row.role.as_str()).collect();
        named.sort_unstable();
        let mut all: Vec<&str> = VOCABULARY.keys().map(String::as_str).collect();
        all.sort_unstable();
        assert_eq!(named, all);
        let of = |slug: &str| &role(slug).unwrap().trust;
        assert_eq!(of("co2").scale_floor, ScaleFloor::Fixed(30.0));
        assert_eq!(of("co2").stuck_hours, Some(48.0));
        assert_eq!(of("occupancy").scale_floor, ScaleFloor::None);
        assert_eq!(of("cool_sp").scale_floor, ScaleFloor::Relative);
        assert_eq!(of("hw_supply_temp").plant_loop, Some(PlantLoop::Hw));
        assert_eq!(of("oa_airflow").clip, Some(ClipEnds::High));
        let count = |has: fn(&TrustTraits) -> bool| {
            let known = VOCABULARY.values();
            known.filter(|role| has(&role.trust)).count()
        };
        assert_eq!(count(|traits| traits.by_mode), 8);
        assert_eq!(count(|traits| traits.fan_gated), 10);
    }
}
