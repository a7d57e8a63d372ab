//! The mapping file: which name in a file stands for which role and equipment (Store §11.1).

use std::collections::BTreeMap;

use regex::{Regex, RegexBuilder};
use serde::Deserialize;

use super::FilesError;
use crate::knowledge::camber_roles::{CamberRole, camber_role_named};

/// A mapping, read and checked.
#[derive(Debug, Default)]
pub struct Mapping {
    /// By token in lower case.
    aliases: BTreeMap<String, &'static CamberRole>,
    patterns: Vec<(Regex, &'static CamberRole)>,
    equipment: BTreeMap<String, String>,
    classes: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    #[serde(rename = "_comment")]
    _comment: serde_json::Value,
    aliases: BTreeMap<String, String>,
    patterns: Vec<(String, String)>,
    equipment: BTreeMap<String, String>,
    equipment_classes: BTreeMap<String, String>,
}

impl Mapping {
    /// Reads a mapping; `{name}` stands for the variable of that name.
    ///
    /// # Errors
    /// The text is no mapping, names an unknown role, or holds a pattern that repeats a repetition.
    ///
    /// ```
    /// use niagara_bridge::trends::files::Mapping;
    /// let text = r#"{"aliases": {"SAT": "supply_air_temp"}, "patterns": [["^zn.*temp", "space_temp"]],
    ///     "equipment": {"SAT": "{unit}"}, "equipment_classes": {"AHU-7": "AHU"}}"#;
    /// let mapping = Mapping::parse(text, &[("unit".into(), "AHU-7".into())].into()).unwrap();
    /// assert_eq!(mapping.role("sat").unwrap().role, "supply_air_temp");
    /// assert_eq!(mapping.role("ZN-T TEMP").unwrap().role, "space_temp");
    /// assert_eq!(mapping.role("oat").unwrap().role, "oat");
    /// assert!(mapping.role("nothing").is_none());
    /// assert_eq!(mapping.equipment("sat"), Some("AHU-7"));
    /// assert_eq!(mapping.class("AHU-7"), Some("AHU"));
    /// assert!(Mapping::parse(r#"{"patterns": [["(a+)+", "oat"]]}"#, &Default::default()).is_err());
    /// ```
    pub fn parse(text: &str, variables: &BTreeMap<String, String>) -> Result<Self, FilesError> {
        let wrong = FilesError::Mapping;
        let mut text = text.to_owned();
        for (name, value) in variables {
            // Inside of a JSON text, so that quotes in a value cannot end it.
            let quoted = serde_json::Value::from(value.as_str()).to_string();
            let inner = quoted.get(1..quoted.len() - 1).unwrap_or_default();
            text = text.replace(&format!("{{{name}}}"), inner);
        }
        let written: Written =
            serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        let role = |slug: &str| {
            camber_role_named(slug).ok_or_else(|| wrong(format!("there is no role {slug:?}")))
        };
        let mut mapping = Self::default();
        for (token, slug) in &written.aliases {
            mapping
                .aliases
                .insert(token.trim().to_lowercase(), role(slug)?);
        }
        for (pattern, slug) in &written.patterns {
            if repeats_a_repetition(pattern) {
                return Err(wrong(format!(
                    "the pattern {pattern:?} repeats a group that repeats something itself; write it without the inner one"
                )));
            }
            let compiled = RegexBuilder::new(pattern)
                .case_insensitive(true)
                .size_limit(1 << 20)
                .build()
                .map_err(|error| wrong(error.to_string()))?;
            mapping.patterns.push((compiled, role(slug)?));
        }
        let lower = |(token, id): (String, String)| (token.trim().to_lowercase(), id);
        mapping.equipment = written.equipment.into_iter().map(lower).collect();
        mapping.classes = written.equipment_classes;
        Ok(mapping)
    }

    /// The role of a name: by alias, else by the first pattern that it holds, else by itself.
    pub fn role(&self, token: &str) -> Option<&'static CamberRole> {
        let token = token.trim();
        let lower = token.to_lowercase();
        let by_pattern = || {
            let matching = self
                .patterns
                .iter()
                .find(|(pattern, _)| pattern.is_match(token));
            matching.map(|(_, role)| *role)
        };
        self.aliases
            .get(&lower)
            .copied()
            .or_else(by_pattern)
            .or_else(|| camber_role_named(&lower))
    }

    /// The equipment of a name.
    pub fn equipment(&self, token: &str) -> Option<&str> {
        self.equipment
            .get(&token.trim().to_lowercase())
            .map(String::as_str)
    }

    /// The class of an equipment.
    pub fn class(&self, equip: &str) -> Option<&str> {
        self.classes.get(equip).map(String::as_str)
    }
}

/// Whether a group with a quantifier inside has one behind it: such patterns take for ever in other engines, and mapping
/// files are shared (Store §11.1).
fn repeats_a_repetition(pattern: &str) -> bool {
    let mut inner = Vec::new();
    let mut characters = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                characters.next();
            }
            '[' => in_class = true,
            ']' => in_class = false,
            _ if in_class => {}
            '(' => {
                // The mark of a special group is no quantifier.
                characters.next_if_eq(&'?');
                inner.push(false);
            }
            ')' => {
                let repeats = inner.pop().unwrap_or(false);
                let repeated = matches!(characters.peek(), Some('*' | '+' | '{'));
                if repeats && repeated {
                    return true;
                }
                if let Some(outer) = inner.last_mut() {
                    *outer |= repeats || repeated;
                }
            }
            '*' | '+' | '{' => {
                if let Some(group) = inner.last_mut() {
                    *group = true;
                }
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_repeated_repetitions_are_refused() {
        for (pattern, refused) in [
            ("(a+)+", true),
            ("((ab)*c)*", true),
            ("(?:x{2})*", true),
            ("(a|b)+", false),
            ("a+b*", false),
            ("(a+)b", false),
            ("[(+]+", false),
            (r"(\+)+", false),
        ] {
            assert_eq!(repeats_a_repetition(pattern), refused, "{pattern}");
        }
    }

    #[test]
    fn slips_are_named() {
        let none = BTreeMap::new();
        for (text, word) in [
            (r#"{"aliases": {"a": "suply_temp"}}"#, "suply_temp"),
            (r#"{"alias": {}}"#, "alias"),
            (r#"{"patterns": [["(", "oat"]]}"#, "unclosed"),
        ] {
            let error = Mapping::parse(text, &none).expect_err("a slip").to_string();
            assert!(error.contains(word), "{error}");
        }
        let tricky = [("x".to_owned(), "a\"b".to_owned())].into();
        let mapping = Mapping::parse(r#"{"equipment": {"t": "{x}"}}"#, &tricky).expect("quoted");
        assert_eq!(mapping.equipment("T"), Some("a\"b"));
    }
}
