//! The 84 roles and what the engine knows of each (Store §10.1; Engine §3.2).

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::tables;

const ROLES: &str = include_str!("../../knowledge/camber/roles.json");

static VOCABULARY: LazyLock<HashMap<String, Role>> = LazyLock::new(|| {
    let file: RoleFile = tables::table(ROLES);
    file.roles
        .into_iter()
        .map(|role| (role.role.clone(), role))
        .collect()
});

#[derive(Default, Deserialize)]
struct RoleFile {
    roles: Vec<Role>,
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
}
