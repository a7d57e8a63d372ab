//! How sure the report is of an issue, and why (RCx report §5.3).

use std::fmt;

use super::ReportInput;
use super::cost::uses_default_line;
use super::items::{Item, has_site_params};
use super::units::Unit;
use crate::trust::TrustVerdict;

/// Low, medium, high.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    Low,
    Medium,
    High,
}

impl Confidence {
    /// The letter on the wire.
    pub const fn letter(self) -> &'static str {
        match self {
            Self::Low => "L",
            Self::Medium => "M",
            Self::High => "H",
        }
    }

    /// The word for people.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

/// Hours of samples of a rule from which on they are enough, and plenty.
const ENOUGH: f64 = 48.0;
const PLENTY: f64 = 168.0;
/// Coverage below which samples are too few, and no longer plenty.
const THIN: f64 = 0.5;
const FULL: f64 = 0.8;

/// Figures that tell how many samples a rule judged, the first one counts.
const COUNTS: [&str; 6] = [
    "n",
    "n_valid",
    "n_considered",
    "n_above_limit",
    "n_cooling",
    "n_checked",
];

/// Rules whose benchmark finds every fault and raises no false alarm: a property of the rules, not of a site.
const BENCHMARKED: [&str; 47] = [
    "actuator_stuck",
    "airflow_tracking",
    "boiler_short_cycle",
    "boiler_summer_lockout",
    "chiller_approach_fouling",
    "chiller_efficiency",
    "chiller_staging",
    "chw_plant_reset",
    "chw_pump_dp_reset",
    "chw_supply_tracking",
    "co2_ventilation",
    "compressor_short_cycle",
    "compressor_staging",
    "condenser_bypass_leak",
    "condenser_water_reset",
    "control_hunting",
    "cooling_tower_approach",
    "dcv_verification",
    "dx_indoor_airflow",
    "dx_refrigerant_charge",
    "economizer_high_limit",
    "filter_fouling",
    "free_cooling_missed",
    "g36_afdd",
    "heatpump_defrost",
    "hp_capacity_shortfall",
    "hp_mode_vs_need",
    "hw_plant_deltat",
    "hw_pump_dp_reset",
    "hw_pump_summer_lockout",
    "leaking_valve",
    "night_weekend_setback",
    "outdoor_air_fraction",
    "overcooling_min_flow",
    "overcooling_severity",
    "reheat_capacity_shortfall",
    "reheat_minimization_g36",
    "reheat_penalty",
    "sat_reset_effectiveness",
    "simultaneous_heat_cool",
    "source_loop_deltat",
    "static_pressure_reset",
    "static_reset_effectiveness",
    "supply_air_control",
    "supply_air_reset",
    "supply_air_reset_compliance",
    "unmet_setpoint_hours",
];

/// One thing that confidence rests on.
struct Component {
    /// None: it could not be assessed.
    level: Option<Confidence>,
    told: String,
}

/// The confidence in an issue with this root, and the reasons in order.
pub(super) fn of_root(
    input: &ReportInput<'_>,
    root: &Item<'_>,
    units: &[Unit],
    is_conditional: bool,
) -> (Confidence, Vec<String>) {
    let unit = root.place.and_then(|place| units.get(place));
    let components = [
        Some(input_trust(root, unit, is_conditional)),
        Some(mapping(root, unit, input.from_store)),
        Some(assumptions(input, root)),
        Some(sample(root, unit)),
        corroboration(input, root),
    ];
    let components: Vec<Component> = components.into_iter().flatten().collect();
    let overall = components
        .iter()
        .filter_map(|component| component.level)
        .min()
        .unwrap_or(Confidence::Medium);
    let why = components
        .into_iter()
        .map(|component| match component.level {
            Some(level) => format!("{} ({level})", component.told),
            None => component.told,
        })
        .collect();
    (overall, why)
}

fn input_trust(root: &Item<'_>, unit: Option<&Unit>, is_conditional: bool) -> Component {
    if is_conditional {
        return Component {
            level: Some(Confidence::Low),
            told: "Input trust: it rests on a sensor that cannot be taken at its word".to_owned(),
        };
    }
    let worst = unit.and_then(|unit| {
        root.needed_roles()
            .filter_map(|role| unit.point(role))
            .max_by_key(|point| point.verdict)
    });
    let Some(worst) = worst else {
        return Component {
            level: None,
            told: "Input trust: not assessed, no single equipment has its inputs".to_owned(),
        };
    };
    let level = match worst.verdict {
        TrustVerdict::Trusted => Confidence::High,
        TrustVerdict::Suspect => Confidence::Medium,
        TrustVerdict::Untrusted => Confidence::Low,
    };
    Component {
        level: Some(level),
        told: format!(
            "Input trust: {} is {} at {:.2}",
            worst.role,
            worst.verdict.word(),
            worst.trust
        ),
    }
}

fn mapping(root: &Item<'_>, unit: Option<&Unit>, from_store: bool) -> Component {
    let doubtful = unit.and_then(|unit| {
        let rule = root.chosen?;
        rule.wanted
            .iter()
            .filter_map(|role| unit.point(role))
            .find(|point| point.flags.contains(&"scale_suspect"))
    });
    let (level, told) = match doubtful {
        Some(point) => (
            Confidence::Low,
            format!("Mapping: the scale of {} is doubtful", point.role),
        ),
        None if from_store => (
            Confidence::High,
            "Mapping: the points are stored by their roles".to_owned(),
        ),
        None => (
            Confidence::Medium,
            "Mapping: the roles are read from names of files".to_owned(),
        ),
    };
    Component {
        level: Some(level),
        told,
    }
}

fn assumptions(input: &ReportInput<'_>, root: &Item<'_>) -> Component {
    let inherits = root.chosen.is_some_and(|rule| !rule.param_basis.is_empty());
    let (level, told) = if root.sensor_role().is_some() {
        (Confidence::Medium, "the usual limits of a comparison")
    } else if uses_default_line(root) {
        (
            Confidence::Low,
            "the reset line of Guideline 36, not the building's own",
        )
    } else if inherits || has_site_params(input, &root.rule) {
        (Confidence::High, "parameters of the site")
    } else {
        (Confidence::Medium, "default parameters")
    };
    Component {
        level: Some(level),
        told: format!("Assumptions: {told}"),
    }
}

fn sample(root: &Item<'_>, unit: Option<&Unit>) -> Component {
    let Some(count) = COUNTS.iter().find_map(|name| root.number(name)) else {
        return Component {
            level: None,
            told: "Sample: not assessed, the rule tells no number of samples".to_owned(),
        };
    };
    let coverage = unit.and_then(|unit| {
        root.needed_roles()
            .filter_map(|role| unit.point(role))
            .map(|point| point.coverage)
            .min_by(f64::total_cmp)
    });
    let of_count = match count {
        count if count >= PLENTY => Confidence::High,
        count if count >= ENOUGH => Confidence::Medium,
        _ => Confidence::Low,
    };
    let level = match coverage {
        Some(coverage) if coverage < THIN => Confidence::Low,
        Some(coverage) if coverage < FULL => of_count.min(Confidence::Medium),
        _ => of_count,
    };
    let covered = coverage
        .map(|coverage| format!(", its inputs covered {:.0} %", coverage * 100.0))
        .unwrap_or_default();
    Component {
        level: Some(level),
        told: format!("Sample: {count} samples judged{covered}"),
    }
}

fn corroboration(input: &ReportInput<'_>, root: &Item<'_>) -> Option<Component> {
    if !input.config.report.corroboration {
        return None;
    }
    if !BENCHMARKED.contains(&&*root.rule) {
        return Some(Component {
            level: None,
            told: format!(
                "Corroboration: not assessed, no benchmark is of {}",
                root.rule
            ),
        });
    }
    Some(Component {
        level: Some(Confidence::High),
        told: "Corroboration: its benchmark finds every fault without a false alarm".to_owned(),
    })
}
