//! What a point's type, status and values say about a role.

use super::clues::Clue;
use super::quantity::ValueKind;
use crate::knowledge::camber_roles::{CamberRole, camber_role_named};
use crate::station::units::{Unit, unit_by_name};

/// A value outside what is physically possible for the role.
const IMPOSSIBLE: f64 = 0.35;
/// A sensor in fault is seldom the one to map.
const NO_GOOD_VALUE: f64 = 0.8;
/// A block of logic stands beside the equipment rather than in it.
const LOGIC: f64 = 0.5;
/// A measured value that people can write.
const WRITABLE_SENSOR: f64 = 0.97;
/// Doubt that is left when a day of values is possible and moves.
const PLAUSIBLE_HISTORY: f64 = 0.8;

/// Type, status and value of a point.
#[derive(Debug, Clone)]
pub(super) struct Facts<'a> {
    pub type_spec: &'a str,
    pub kind: ValueKind,
    pub unit: Option<&'a Unit>,
    /// The value now, when it can be relied on.
    pub value: Option<f64>,
    /// Fault, down, or without any value.
    pub is_bad: bool,
    /// Least and greatest value of the last day, when they were asked for.
    pub recent: Option<(f64, f64)>,
}

/// What the facts leave of a confidence, with the reasons that people should see.
pub(super) fn weigh(facts: &Facts<'_>, clue: &Clue, confidence: f64) -> (f64, Vec<String>) {
    let mut confidence = confidence;
    let mut reasons = Vec::new();
    if facts.type_spec.starts_with("kitControl:") {
        confidence *= LOGIC;
        reasons.push(format!("{} is a block of logic", facts.type_spec));
    }
    let is_writable = facts.type_spec.ends_with("Writable");
    if is_writable && !clue.is_commanded() && facts.kind == ValueKind::Numeric {
        confidence *= WRITABLE_SENSOR;
    } else if is_writable && clue.is_commanded() {
        reasons.push(format!("{} can be commanded", facts.type_spec));
    }
    if facts.is_bad {
        confidence *= NO_GOOD_VALUE;
        reasons.push("it has no good value now".to_owned());
    }
    let Some((role, unit)) =
        camber_role_named(&clue.role).and_then(|role| Some((role, store_unit(&role.unit)?)))
    else {
        return (confidence, reasons);
    };
    let converted = |value: f64| {
        facts
            .unit
            .filter(|own| !own.is_null())
            .and_then(|own| own.convert(value, unit).ok())
            .or_else(|| facts.unit.is_none().then_some(value))
    };
    if let Some(value) = facts.value.and_then(converted)
        && !is_possible(role, value)
    {
        confidence *= IMPOSSIBLE;
        reasons.push(format!(
            "its value of {value:.1} {} is not possible for {}",
            unit.symbol(),
            clue.role
        ));
    }
    if let Some((least, most)) = facts.recent
        && let (Some(low), Some(high)) = (converted(least), converted(most))
    {
        if !is_possible(role, low) || !is_possible(role, high) {
            confidence *= IMPOSSIBLE;
            reasons.push(format!(
                "values of the last day, {low:.1} to {high:.1} {}, are not possible for {}",
                unit.symbol(),
                clue.role
            ));
        } else if high > low {
            confidence = 1.0 - (1.0 - confidence) * PLAUSIBLE_HISTORY;
            reasons.push(format!(
                "values of the last day, {low:.1} to {high:.1} {}, are plausible",
                unit.symbol()
            ));
        } else {
            reasons.push("its value did not change within a day".to_owned());
        }
    }
    (confidence, reasons)
}

fn is_possible(role: &CamberRole, value: f64) -> bool {
    role.physical_bounds
        .is_none_or(|(least, most)| (least..=most).contains(&value))
}

/// The station's unit for the unit of CAMBER's role table; none where the table leaves it open.
fn store_unit(unit: &str) -> Option<&'static Unit> {
    let name = match unit {
        "degF" => "fahrenheit",
        "percent" | "percent RH" => "percent",
        "inH2O" => "inches_of_water",
        "cfm" => "cubic_feet_per_minute",
        "gpm" => "gallons_per_minute",
        "psi" | "psig" => "pounds_per_square_inch",
        "kW" => "kilowatt",
        "ppm" => "parts_per_million",
        _ => return None,
    };
    unit_by_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::suggestion::shipped;

    fn weighed(role: &str, unit: &str, value: Option<f64>, recent: Option<(f64, f64)>) -> f64 {
        let clue = shipped()
            .clues
            .iter()
            .find(|clue| clue.role == role)
            .unwrap();
        let facts = Facts {
            type_spec: "control:NumericPoint",
            kind: ValueKind::Numeric,
            unit: unit_by_name(unit),
            value,
            is_bad: false,
            recent,
        };
        weigh(&facts, clue, 0.8).0
    }

    #[test]
    fn impossible_values_speak_against_a_role_and_plausible_days_for_it() {
        assert_eq!(weighed("chw_supply_temp", "celsius", Some(6.5), None), 0.8);
        assert!(weighed("chw_supply_temp", "celsius", Some(65.0), None) < 0.3);
        assert!(weighed("chw_supply_temp", "celsius", None, Some((5.0, 9.0))) > 0.8);
        assert_eq!(
            weighed("chw_supply_temp", "celsius", None, Some((6.0, 6.0))),
            0.8
        );
        assert!(weighed("space_temp", "fahrenheit", None, Some((70.0, 900.0))) < 0.3);
        assert_eq!(weighed("energy_rate", "kilowatt", Some(1e9), None), 0.8);
    }
}
