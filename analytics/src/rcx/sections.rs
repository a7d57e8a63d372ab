//! The sections of the report that there would be (RCx report §8).

use super::Ground;
use super::issues::Issue;

/// Rules whose findings are of the air distribution.
const AIR_RULES: [&str; 5] = [
    "static_pressure_reset",
    "static_reset_effectiveness",
    "static_rogue_zone_census",
    "damper_census",
    "duct_static_drift",
];
/// Fewer samples of duct pressure show nothing.
const FEWEST_PRESSURES: usize = 24;

/// One section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub id: String,
    pub title: String,
    /// The key of the issue that it is about.
    pub issue: Option<String>,
}

/// The sections of a report, in order.
pub(super) fn all(ground: &Ground<'_>, issues: &[Issue]) -> Vec<Section> {
    let wanted = ground.input.config.report.sections.as_deref();
    let is_wanted = |group: &str| wanted.is_none_or(|ids| ids.iter().any(|id| id == group));
    let is_verified = !issues.is_empty() || ground.items.iter().any(|item| item.is_declined);
    let plain = [
        ("cover", "Cover and provenance", true),
        ("summary", "Executive summary", true),
        ("data", "Data coverage and sensor health", true),
        ("week", "Representative week", true),
        ("economizer", "Economizer", has_economizer(ground)),
        (
            "sat",
            "Supply-air temperature reset census",
            air_unit(ground, &["supply_air_temp"]),
        ),
        ("air", "Air distribution", has_air_distribution(ground)),
        ("mv", "M&V and drift", !ground.input.drift.is_empty()),
    ];
    let mut sections: Vec<Section> = plain
        .into_iter()
        .filter(|(id, _, is_there)| *is_there && is_wanted(id))
        .map(|(id, title, _)| section(id, title))
        .collect();
    if is_wanted("issues") {
        sections.extend(issues.iter().map(|issue| Section {
            id: format!("issue-{}", issue.key),
            title: format!("Issue {}: {}", issue.rank, issue.cause_or_heading()),
            issue: Some(issue.key.clone()),
        }));
    }
    for (id, title) in [("verify", "Verify on site"), ("reading", "Further reading")] {
        if is_verified && is_wanted(id) {
            sections.push(section(id, title));
        }
    }
    if is_wanted("appendix") {
        sections.extend(
            [
                ("appendix-a", "Appendix A — Declines and data gaps"),
                ("appendix-b", "Appendix B — Assumptions used"),
                ("appendix-c", "Appendix C — Rules run"),
                ("appendix-d", "Appendix D — Fact index"),
                ("appendix-e", "Appendix E — Orphaned engineer notes"),
            ]
            .map(|(id, title)| section(id, title)),
        );
    }
    sections
}

fn section(id: &str, title: &str) -> Section {
    Section {
        id: id.to_owned(),
        title: title.to_owned(),
        issue: None,
    }
}

/// Whether an air-side unit has all of these roles.
fn air_unit(ground: &Ground<'_>, roles: &[&str]) -> bool {
    ground
        .input
        .frames
        .iter()
        .zip(&ground.units)
        .any(|(frame, unit)| unit.is_air && roles.iter().all(|role| frame.has(role)))
}

fn has_economizer(ground: &Ground<'_>) -> bool {
    air_unit(ground, &["oat", "mixed_air_temp", "return_air_temp"])
        || air_unit(ground, &["oat", "oa_damper"])
}

fn has_air_distribution(ground: &Ground<'_>) -> bool {
    let has_pressure = ground
        .input
        .frames
        .iter()
        .zip(&ground.units)
        .filter(|(_, unit)| unit.is_air)
        .filter_map(|(frame, _)| frame.table().column("duct_static"))
        .any(|values| crate::numeric::count(values) >= FEWEST_PRESSURES);
    has_pressure
        || ground
            .items
            .iter()
            .any(|item| AIR_RULES.contains(&&*item.rule))
}
