//! When a direct-expansion unit cools, and what it should reach then (Plant rules §1.10).

use serde_json::{Map, Value};

use crate::frame::Frame;
use crate::masks;
use crate::parameters::{ParameterError, Parameters};

/// Samples in which every test that is mapped says that the unit cools; all of them when none is mapped.
pub fn cooling_rows(frame: &Frame<'_>) -> Vec<bool> {
    type Test = (&'static str, fn(f64) -> bool);
    let mut rows = vec![true; frame.len()];
    let tests: [Test; 3] = [
        ("compressor_status", |value| value > 0.5),
        ("reversing_valve_cmd", |value| value < 0.5),
        ("supply_fan_status", |value| value > 0.5),
    ];
    for (role, test) in tests {
        if let Some(values) = frame.column(role) {
            masks::narrow(&mut rows, &masks::where_value(values, test));
        }
    }
    if let Some((returned, supplied)) = air(frame) {
        let cooled = masks::where_pair(returned, supplied, |returned, supplied| {
            returned - supplied > 0.0
        });
        masks::narrow(&mut rows, &cooled);
    }
    rows
}

/// Return and supply air.
fn air<'a>(frame: &Frame<'a>) -> Option<(&'a [f64], &'a [f64])> {
    frame
        .column("return_air_temp")
        .zip(frame.column("supply_air_temp"))
}

/// Whether something tells running from standing; a fan or a valve alone does not.
pub fn has_run_gate(frame: &Frame<'_>) -> bool {
    let both = ["return_air_temp", "supply_air_temp"];
    frame.with_data("compressor_status").is_some()
        || both.iter().all(|role| frame.with_data(role).is_some())
}

/// What one unit should reach.
#[derive(Debug, Clone, Copy)]
pub struct Target<'p>(&'p Map<String, Value>);

impl<'p> Target<'p> {
    /// The target of a unit, when there is one. Targets are one for all, or one for each pattern of ids of which the first
    /// that fits counts.
    pub fn of(parameters: &'p Parameters, equip: &str) -> Option<Self> {
        let targets = parameters
            .mapping("targets")
            .filter(|targets| !targets.is_empty())?;
        if !is_by_pattern(targets) {
            return Some(Self(targets));
        }
        targets
            .iter()
            .find(|(pattern, _)| fits(pattern, equip))
            .and_then(|(_, target)| target.as_object())
            .map(Self)
    }

    /// One of its values.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.0.get(name).and_then(Value::as_f64)
    }

    /// Its own tolerance, or that of all.
    pub fn tolerance(&self, parameters: &Parameters) -> f64 {
        self.number("tolerance_f")
            .unwrap_or_else(|| parameters.number("tolerance_f"))
    }
}

fn is_by_pattern(targets: &Map<String, Value>) -> bool {
    targets.values().all(Value::is_object)
}

/// Refuses targets that hold anything but numbers.
pub fn check_targets(parameters: &Parameters) -> Result<(), ParameterError> {
    let Some(targets) = parameters.mapping("targets") else {
        return Ok(());
    };
    let is_target = |target: &Map<String, Value>| {
        target
            .values()
            .all(|value| value.is_number() || value.is_null())
    };
    let all_fit = match is_by_pattern(targets) {
        true => targets.values().filter_map(Value::as_object).all(is_target),
        false => is_target(targets),
    };
    match all_fit {
        true => Ok(()),
        false => Err(parameters.refuse(
            "targets",
            "it must be an object of numbers, or one such object for each pattern of equipment ids",
        )),
    }
}

/// Whether a pattern of a shell fits a whole name: `*` any letters, `?` one, `[a-c]` one of these, `[!a-c]` one of the others.
fn fits(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    // Where to go on when the letters after the last star do not fit.
    let mut retry: Option<(usize, usize)> = None;
    let (mut at, mut letter) = (0, 0);
    loop {
        let rest = pattern.get(at..).unwrap_or_default();
        let next = match (rest.first(), name.get(letter)) {
            (None, None) => return true,
            (Some('*'), _) => {
                retry = Some((at + 1, letter));
                Some((1, 0))
            }
            (Some(_), Some(known)) => one_letter(rest, *known).map(|taken| (taken, 1)),
            _ => None,
        };
        match (next, retry) {
            (Some((taken, read)), _) => (at, letter) = (at + taken, letter + read),
            (None, Some((star, from))) if from < name.len() => {
                retry = Some((star, from + 1));
                (at, letter) = (star, from + 1);
            }
            _ => return false,
        }
    }
}

/// How much of a pattern one letter takes; none when it does not fit.
fn one_letter(pattern: &[char], letter: char) -> Option<usize> {
    match pattern {
        ['?', ..] => Some(1),
        ['[', rest @ ..] => {
            let (is_other, rest, before) = match rest {
                ['!', rest @ ..] => (true, rest, 2),
                _ => (false, rest, 1),
            };
            // A bracket directly after the opening one is a letter of the set.
            let Some(end) = rest
                .iter()
                .skip(1)
                .position(|c| *c == ']')
                .map(|place| place + 1)
            else {
                return (letter == '[').then_some(1);
            };
            let set = rest.get(..end).unwrap_or_default();
            (contains(set, letter) != is_other).then_some(before + end + 1)
        }
        [known, ..] => (*known == letter).then_some(1),
        [] => None,
    }
}

fn contains(set: &[char], letter: char) -> bool {
    match set {
        [from, '-', to, rest @ ..] => (*from..=*to).contains(&letter) || contains(rest, letter),
        [one, rest @ ..] => *one == letter || contains(rest, letter),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::plant::dx_indoor_airflow::RULE;
    use crate::rules::testing::{self, hourly};

    #[test]
    fn every_mapped_test_has_to_say_that_the_unit_cools() {
        let status = |row: usize| [1.0, 1.0, 1.0, f64::NAN, 0.0][row];
        let valve = |row: usize| [0.0, 1.0, 0.0, 0.0, 0.0][row];
        let supply = |row: usize| [55.0, 55.0, 76.0, 55.0, 55.0][row];
        let table = hourly(
            5,
            &[
                ("compressor_status", &status),
                ("reversing_valve_cmd", &valve),
                ("return_air_temp", &|_| 75.0),
                ("supply_air_temp", &supply),
            ],
        );
        let frame = Frame::whole(&table);
        assert_eq!(cooling_rows(&frame), [true, false, false, false, false]);
        assert!(has_run_gate(&frame));
        let bare = hourly(2, &[("supply_fan_status", &|_| 1.0)]);
        assert_eq!(cooling_rows(&Frame::whole(&bare)), [true, true]);
        assert!(!has_run_gate(&Frame::whole(&bare)));
    }

    #[test]
    fn patterns_are_those_of_a_shell() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("E*", "EQ-1", true),
            ("*-1", "EQ-1-1", true),
            ("E?-1", "EQ-1", true),
            ("e*", "EQ-1", false),
            ("DX[1-3]", "DX2", true),
            ("DX[!1-3]", "DX2", false),
            ("DX[]a]", "DX]", true),
            ("DX[", "DX[", true),
            ("a*b*c", "aXbYbc", true),
            ("a*b*c", "aXbYb", false),
            ("", "x", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn the_first_pattern_that_fits_gives_the_target() {
        let targets = json!({"targets": {"Z": {"temp_split_f": 1}, "D*": {"temp_split_f": 20, "tolerance_f": 4}}});
        let parameters = testing::parameters(&RULE, targets);
        let target = Target::of(&parameters, "DX-1").unwrap();
        assert_eq!(target.number("temp_split_f"), Some(20.0));
        assert_eq!(target.tolerance(&parameters), 4.0);
        assert!(Target::of(&parameters, "EQ-1").is_none());
        let all = testing::parameters(&RULE, json!({"targets": {"temp_split_f": 18}}));
        assert_eq!(Target::of(&all, "any").unwrap().tolerance(&all), 3.0);
        let entry = crate::RuleCatalogue::shipped().entry(RULE.id).unwrap();
        let mut mixed = Parameters::of(entry);
        let wrong = json!({"targets": {"temp_split_f": 20, "D*": {}}});
        mixed.set(entry, wrong.as_object().unwrap(), &[]).unwrap();
        assert!(
            check_targets(&mixed)
                .unwrap_err()
                .to_string()
                .contains("object of numbers")
        );
    }
}
