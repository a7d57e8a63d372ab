//! Ids and names of siblings, made from those of the pattern.

use std::collections::HashSet;

use crate::knowledge::suggestion::name_parts;

/// Makes an id differ from those in use by a number.
pub fn with_suffix(id: &str, used: &HashSet<String>) -> String {
    (2..)
        .map(|number: usize| format!("{id}-{number}"))
        .find(|id| !used.contains(id))
        .unwrap_or_default()
}

/// A text of the pattern, such as its id, for a sibling: if it holds the parts of the pattern's component name, in the
/// same order, those that differ are exchanged.
///
/// None when text and component name have too little in common to tell.
pub(super) fn transferred(text: &str, own: &str, other: &str) -> Option<String> {
    let (own, other) = (name_parts(own), name_parts(other));
    if own.is_empty() || own.len() != other.len() {
        return None;
    }
    let changed: Vec<(&str, &str)> = own
        .iter()
        .zip(&other)
        .filter(|(own, other)| own != other)
        .map(|(own, other)| (own.as_str(), other.as_str()))
        .collect();
    // Only numbers may differ: other words are another name altogether.
    if changed
        .iter()
        .any(|(own, other)| !is_number(own) || !is_number(other))
    {
        return None;
    }
    let numbers: Vec<&str> = own
        .iter()
        .map(String::as_str)
        .filter(|part| is_number(part))
        .collect();
    let new_numbers: Vec<&str> = other
        .iter()
        .map(String::as_str)
        .filter(|part| is_number(part))
        .collect();
    let runs = number_runs(text);
    let value = |digits: &str| digits.trim_start_matches('0').to_owned();
    let same = runs.len() == numbers.len()
        && runs
            .iter()
            .zip(&numbers)
            .all(|(run, number)| text.get(run.clone()).map(value) == Some(value(number)));
    if !same || numbers.is_empty() {
        return None;
    }
    let mut result = String::new();
    let mut end = 0;
    for ((run, number), new) in runs.iter().zip(&numbers).zip(new_numbers) {
        result.push_str(text.get(end..run.start)?);
        if *number == new {
            result.push_str(text.get(run.clone())?);
        } else {
            result.push_str(new);
        }
        end = run.end;
    }
    result.push_str(text.get(end..)?);
    Some(result)
}

fn is_number(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
}

fn number_runs(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut runs: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, letter) in text.char_indices() {
        if !letter.is_ascii_digit() {
            continue;
        }
        match runs.last_mut() {
            Some(run) if run.end == at => run.end = at + 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_names_follow_the_numbers_of_the_component() {
        for (text, own, other, expected) in [
            ("vav-2-01", "VAV_2_01", "VAV_2_08", Some("vav-2-08")),
            ("vav-3-01", "3-01 VAV", "3-12 VAV", Some("vav-3-12")),
            ("Box 3-1", "3-01 VAV", "3-02 VAV", Some("Box 3-02")),
            ("ahu-north", "AHU1", "AHU2", None),
            ("vav-1", "VAV_1", "FCU_2", None),
            ("rtu-hp1", "RTU-HP1", "RTU-HP2", Some("rtu-hp2")),
            ("chiller", "Chiller", "Boiler", None),
        ] {
            assert_eq!(transferred(text, own, other).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_taken_id_gets_the_next_number() {
        let used = ["vav-1", "vav-1-2"].map(str::to_owned).into();
        assert_eq!(with_suffix("vav-1", &used), "vav-1-3");
    }
}
