//! What kind of equipment a class name means (Engine §2.2).

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::tables;

const CLASSES: &str = include_str!("../../knowledge/camber/equip-classes.json");

static ALIASES: LazyLock<HashMap<String, &'static str>> = LazyLock::new(|| {
    let file: FamilyFile = tables::table(CLASSES);
    let mut aliases = HashMap::new();
    for entry in file.families {
        let Some(known) = FAMILIES.iter().find(|known| **known == entry.family) else {
            continue;
        };
        aliases.insert(entry.family.replace('_', "").to_uppercase(), *known);
        for spelling in entry.spellings {
            aliases.insert(spelling, *known);
        }
    }
    aliases
});

/// All families.
pub const FAMILIES: [&str; 13] = [
    "air_handler",
    "terminal",
    "fan_coil",
    "heat_pump",
    "chw_plant",
    "hw_plant",
    "cooling_tower",
    "pump",
    "meter",
    "weather",
    "refrigeration",
    "dx",
    "source_loop",
];

#[derive(Default, Deserialize)]
struct FamilyFile {
    families: Vec<FamilyEntry>,
}

#[derive(Deserialize)]
struct FamilyEntry {
    family: String,
    spellings: Vec<String>,
}

/// Upper case, letters and digits of ASCII only.
fn normalised(class: &str) -> String {
    class
        .to_uppercase()
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect()
}

fn without_digits(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit())
}

fn alias(name: &str) -> Option<&'static str> {
    ALIASES.get(name).copied()
}

/// The family of a class name; none when nothing in it is known.
///
/// ```
/// use niagara_analytics::families::family;
/// assert_eq!(family("AHU-2"), Some("air_handler"));
/// assert_eq!(family("chilled water pump"), Some("pump"));
/// assert_eq!(family("WeatherStation"), Some("weather"));
/// assert_eq!(family("Gizmo"), None);
/// ```
pub fn family(class: &str) -> Option<&'static str> {
    let whole = normalised(class);
    if let Some(known) = alias(&whole).or_else(|| alias(without_digits(&whole))) {
        return Some(known);
    }
    let found: Vec<&'static str> = tokens(class)
        .iter()
        .filter_map(|token| {
            let token = normalised(token);
            match without_digits(&token) {
                "" => alias(&token),
                stripped => alias(stripped),
            }
        })
        .collect();
    ["meter", "weather"]
        .into_iter()
        .find(|first| found.contains(first))
        .or_else(|| found.first().copied())
}

/// The words of a class name: split at what is not alphanumeric and before an upper case letter after a lower case one or
/// a digit.
fn tokens(class: &str) -> Vec<String> {
    let mut tokens = vec![String::new()];
    let mut before = ' ';
    for letter in class.chars() {
        if !letter.is_alphanumeric() {
            tokens.push(String::new());
        } else {
            if letter.is_uppercase() && (before.is_lowercase() || before.is_ascii_digit()) {
                tokens.push(String::new());
            }
            if let Some(last) = tokens.last_mut() {
                last.push(letter);
            }
        }
        before = letter;
    }
    tokens.retain(|token| !token.is_empty());
    tokens
}

/// Whether a class names a chilled-water loop rather than a chiller (Engine §2.2).
pub fn is_chilled_water_loop(class: &str) -> bool {
    let whole = normalised(class);
    let name = without_digits(&whole);
    [
        "SECLOOP",
        "PRILOOP",
        "SECONDARYLOOP",
        "PRIMARYLOOP",
        "DISTRIBUTIONLOOP",
    ]
    .contains(&name)
        || (name.contains("LOOP") && family(class) == Some("chw_plant"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_known_by_their_spellings_and_words() {
        for (class, expected) in [
            ("VAV", Some("terminal")),
            ("vav-12", Some("terminal")),
            ("AirHandlerElecMeter", Some("meter")),
            ("RTU weather", Some("weather")),
            ("HW pump", Some("pump")),
            ("HW loop", Some("hw_plant")),
            ("cooling tower 1", Some("cooling_tower")),
            ("", None),
            ("123", None),
        ] {
            assert_eq!(family(class), expected, "{class}");
        }
        for known in FAMILIES {
            assert_eq!(family(known), Some(known), "{known}");
        }
    }

    #[test]
    fn loops_are_told_from_chillers() {
        assert!(is_chilled_water_loop("SecLoop2") && is_chilled_water_loop("CHW loop"));
        assert!(!is_chilled_water_loop("Chiller") && !is_chilled_water_loop("source loop"));
    }
}
